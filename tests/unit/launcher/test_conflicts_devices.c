/*
 * Devices that a caller asks an engine for, against fs.devices: by path, and graphics processors by
 * the words that engines have for them.
 */
#include "tests/unit/launcher/conflicts_case.h"

#include "base/banned.h"

/* A device is given by a list and by nothing else: a level that bounds none lets none through. In
 * warn it becomes one of the policy's, so that what is never given stays so. */
static void
test_devices(void **state)
{
	static const char closed[] = "level: open@1\nbackends: [docker]\n";
	static const char listed[] =
	    "level: open@1\nbackends: [docker]\n"
	    "fs: {devices: {allowed: [/dev/fuse, /dev/kvm], default: [/dev/fuse]}}\n";
	const struct policy_value *value;
	struct trial *trial;

	(void)state;
	assert_conflict(closed, "--engine-arg", "--device=/dev/kvm", HLC_15, CONFLICT_WON);
	trial = trial_ask("warn", closed, "--engine-arg", "--device=/dev/kvm:/dev/kvm:rwm");
	value = policy_get(trial->policy, POLICY_FS_DEVICES);
	assert_int_equal(trial->conflicts.engine_args.len, 0);
	assert_int_equal(value->items_len, 1);
	assert_string_equal(value->items[0].text, "/dev/kvm");
	trial_free(trial);
	trial = trial_ask("enforce", listed, "--engine-arg", "--device=/dev/kvm");
	assert_int_equal(trial->conflicts.len, 0);
	assert_int_equal(policy_get(trial->policy, POLICY_FS_DEVICES)->items_len, 2);
	trial_free(trial);
	trial = trial_ask("enforce", listed, "--engine-arg", "--device=/dev/fuse");
	assert_int_equal(trial->conflicts.len, 0);
	assert_int_equal(policy_get(trial->policy, POLICY_FS_DEVICES)->items_len, 1);
	trial_free(trial);
	assert_conflict(listed, "--engine-arg", "--device=/dev/net/tun", HLC_15, CONFLICT_WON);
}

/* An engine's words for graphics processors are members of the same list. */
static void
test_gpus(void **state)
{
	static const char closed[] = "level: open@1\nbackends: [docker]\n";
	static const char all[] = "level: open@1\nbackends: [docker]\n"
				  "fs: {devices: {allowed: [gpu:all], default: []}}\n";
	static const char some[] = "level: open@1\nbackends: [docker]\n"
				   "fs: {devices: {allowed: [gpu:1, gpu:2], default: [gpu:1]}}\n";
	static const struct {
		const char *policy, *arg;
		size_t given; /* members in the end; 0: a conflict */
	} cases[] = {
		{ closed, "--gpus=all", 0 },
		{ closed, "--device=nvidia.com/gpu=0", 0 },
		{ all, "--gpus=all", 1 },
		{ all, "--gpus=device=63", 1 },
		{ all, "--gpus=device=64", 0 },
		{ all, "--gpus=\"device=0,5\"", 2 },
		{ all, "--gpus=device=0,5", 0 },
		{ all, "--gpus=2", 0 },
		{ all, "--gpus=device=GPU-3a23c669", 0 },
		{ all, "--gpus=device=00", 0 },
		{ all, "--gpus=device=", 0 },
		{ all, "--gpus=\"device=0,\"", 0 },
		{ all, "--gpus=all,capabilities=utility", 0 },
		{ all, "--gpus=driver=nvidia,count=1", 0 },
		{ all, "--device=nvidia.com/gpu=all", 1 },
		{ all, "--device=nvidia.com/gpu=4", 1 },
		{ all, "--device=nvidia.com/gpu=", 0 },
		{ all, "--device=amd.com/gpu=4", 0 },
		{ all, "--device=/dev/nvidia0", 0 },
		{ some, "--gpus=device=1", 1 },
		{ some, "--gpus=\"device=1,2\"", 2 },
		{ some, "--gpus=\"device=1,3\"", 0 },
		{ some, "--gpus=all", 0 },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++) {
		if (cases[i].given == 0) {
			assert_conflict(cases[i].policy, "--engine-arg", cases[i].arg, HLC_15,
			    CONFLICT_WON);
			continue;
		}
		struct trial *trial =
		    trial_ask("enforce", cases[i].policy, "--engine-arg", cases[i].arg);
		if (trial->conflicts.len != 0 || trial->conflicts.engine_args.len != 0 ||
		    policy_get(trial->policy, POLICY_FS_DEVICES)->items_len != cases[i].given)
			fail_msg("%s", cases[i].arg);
		trial_free(trial);
	}
	struct trial *trial = trial_ask("warn", closed, "--engine-arg", "--gpus=all");
	const struct policy_value *value = policy_get(trial->policy, POLICY_FS_DEVICES);
	assert_int_equal(trial->conflicts.engine_args.len, 0);
	assert_int_equal(value->items_len, 1);
	assert_string_equal(value->items[0].text, "gpu:all");
	trial_free(trial);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_gpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
