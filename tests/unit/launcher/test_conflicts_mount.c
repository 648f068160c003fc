/*
 * Mounts that a caller asks for: how they are written, what the policy bounds, where they may not
 * stand, and the floor that no mode opens.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/unit/launcher/conflicts_case.h"

#include "base/banned.h"

static void
test_u34_sources_with_separators(void **state)
{
	static const char open[] = "level: open@1\nbackends: [docker]\n";
	struct trial *trial;

	(void)state;
	assert_is_fine(open, "--mount", "/t/a,b:/dst", 1);
	assert_is_fine(open, "--mount", "/t/a b\"c':/dst:ro", 1);
	trial = trial_ask("enforce", open, "--mount", "/t/a:b:/dst");
	assert_int_equal(trial->status, 0);
	assert_int_equal(trial->conflicts.tightened, 1);
	assert_string_equal(policy_get(trial->policy, POLICY_FS_MOUNTS)->items[0].mount.src,
	    "/t/a:b");
	assert_string_equal(policy_get(trial->policy, POLICY_FS_MOUNTS)->items[0].mount.dst,
	    "/dst");
	assert_int_equal(policy_get(trial->policy, POLICY_FS_MOUNTS)->items[0].mount.access,
	    POLICY_ACCESS_RW);
	trial_free(trial);
	assert_malformed("--mount", "/t/a\nb:/dst");
	assert_malformed("--mount", "/t/a:/b:/dst");
	assert_malformed("--mount", "/t/a:/b:wo");
	assert_malformed("--mount", "/t/a");
	assert_malformed("--mount", "/t/a:dst");
	assert_malformed("--mount", ":/dst");
}

static void
test_mounts_against_their_bound(void **state)
{
	(void)state;
	assert_is_fine(bounded, "--mount", "/usr/share:/data:ro", 1);
	assert_is_fine(bounded, "--mount", "/usr/./share/../share:/data/:ro", 1);
	assert_conflict(bounded, "--mount", "/usr/share:/data", HLC_20, CONFLICT_WON);
	assert_conflict(bounded, "--mount", "/usr/share:/data:rw", HLC_20, CONFLICT_WON);
	assert_conflict(bounded, "--mount", "/opt:/data:ro", HLC_20, CONFLICT_WON);
	assert_conflict(bounded, "--mount", "/usr/share:/elsewhere:ro", HLC_20, CONFLICT_WON);
}

static void
test_targets_that_the_sandbox_stands_on(void **state)
{
	static const char open[] = "level: open@1\nbackends: [docker]\n";

	(void)state;
	assert_conflict(open, "--mount", "/opt:/etc/ssl", HLC_20, CONFLICT_WON);
	assert_malformed("--mount", "/opt:/");
	assert_conflict(open, "--mount", "/opt:/x/../usr/bin", HLC_20, CONFLICT_WON);
	assert_malformed("--mount", "/opt:/x/../proc/sys");
	assert_conflict(open, "--mount", "/opt:/.hermes-runner", HLC_20, CONFLICT_WON);
	assert_is_fine(open, "--mount", "/opt:/opt/tools:ro", 1);
	assert_is_fine("level: baseline@1\nfs: {mounts: {allowed: [{src: /opt, dst: /etc/tool, "
		       "access: ro}], default: []}}\n",
	    "--mount", "/opt:/etc/tool:ro", 1);
}

static void
test_u44_an_empty_list_binds(void **state)
{
	struct trial *trial;

	(void)state;
	assert_int_equal(setenv("HERMES_MOUNTS", "/opt:/data", 1), 0);
	trial = trial_ask("enforce", "level: baseline@1\nfs: {mounts: []}\n", "--mount",
	    "/opt:/data:ro");
	assert_int_equal(trial->status, 0);
	assert_int_equal(trial->conflicts.refused, 1);
	assert_int_equal(trial->conflicts.items[0].origin.where.line, 5);
	assert_int_equal(policy_get(trial->policy, POLICY_FS_MOUNTS)->items_len, 0);
	trial_free(trial);
	unsetenv("HERMES_MOUNTS");
	/* Sibling: where no list is written, nothing is bounded. */
	assert_is_fine("level: baseline@1\n", "--mount", "/opt:/data:ro", 1);
}

static void
test_the_floor_under_mounts(void **state)
{
	static const char open[] = "level: open@1\nbackends: [docker]\n"
				   "docker: {endpoint: /tmp/hl-conflicts-engine.sock}\n";
	static const char *const floors[] = { "/var/run/docker.sock:/s",
		"/var/run/../run/docker.sock:/s", "/run/docker.sock:/s:ro", "/:/host:ro",
		"/proc:/p", "/proc/1/root:/p", "/sys/fs:/p:ro", "/usr/../proc/self:/p",
		"/tmp/hl-conflicts-link:/s", "/tmp/hl-conflicts-hard:/s",
		"/tmp/hl-conflicts-engine.sock:/s", "/etc/hermes-launch:/p:ro",
		"/tmp/hl-conflicts-state:/p:ro", "/tmp/hl-conflicts-state/audit:/p:ro",
		"/tmp/hl-conflicts-up/run/docker.sock:/s" };
	struct sockaddr_un address = { .sun_family = AF_UNIX,
		.sun_path = "/tmp/hl-conflicts-engine.sock" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	(void)unlink("/tmp/hl-conflicts-link");
	(void)unlink("/tmp/hl-conflicts-hard");
	(void)unlink("/tmp/hl-conflicts-up");
	(void)unlink(address.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(symlink("/run/docker.sock", "/tmp/hl-conflicts-link"), 0);
	assert_int_equal(symlink("/", "/tmp/hl-conflicts-up"), 0);
	assert_int_equal(link(address.sun_path, "/tmp/hl-conflicts-hard"), 0);
	for (size_t i = 0; i < HL_ARRAY_SIZE(floors); i++) {
		char engine[256];

		assert_conflict(open, "--mount", floors[i], HLC_01, CONFLICT_REFUSED);
		snprintf(engine, sizeof(engine), "-v%s", floors[i]);
		assert_conflict(open, "--engine-arg", engine, HLC_01, CONFLICT_REFUSED);
	}
	/* Siblings: the same shapes, with nothing to protect behind them. */
	assert_is_fine(open, "--mount", "/usr/../opt:/s", 1);
	(void)unlink("/tmp/hl-conflicts-link");
	assert_int_equal(symlink("/opt", "/tmp/hl-conflicts-link"), 0);
	assert_is_fine(open, "--mount", "/tmp/hl-conflicts-link:/s", 1);
	(void)unlink("/tmp/hl-conflicts-link");
	(void)unlink("/tmp/hl-conflicts-hard");
	(void)unlink("/tmp/hl-conflicts-up");
	(void)unlink(address.sun_path);
	(void)close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u34_sources_with_separators),
		cmocka_unit_test(test_mounts_against_their_bound),
		cmocka_unit_test(test_targets_that_the_sandbox_stands_on),
		cmocka_unit_test(test_u44_an_empty_list_binds),
		cmocka_unit_test(test_the_floor_under_mounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
