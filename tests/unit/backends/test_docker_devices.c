/*
 * Devices and graphics processors of a plan, as the engine's client and its API are told of them.
 */
#include <string.h>

#include "backends/docker/lower.h"
#include "tests/unit/backends/docker_scene.h"

#include "base/banned.h"

static bool
has_argument(const struct fixture *f, const char *text)
{
	return hl_strv_contains(&f->lowered.argv, text);
}

static void
test_devices_are_in_both_forms(void **state)
{
	struct fixture *f = *state;
	struct plan_device devices[] = {
		{ .src = (char[]){ "/dev/dri/renderD128" }, .dst = (char[]){ "/dev/gpu" } },
		{ .src = (char[]){ "/dev/fuse" }, .dst = (char[]){ "/dev/fuse" } },
	};

	lower(f);
	assert_null(strstr(f->lowered.body.data, "Devices"));
	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	f->plan.devices = devices;
	f->plan.devices_len = HL_ARRAY_SIZE(devices);
	lower(f);
	assert_true(has_argument(f, "/dev/dri/renderD128:/dev/gpu:rw"));
	assert_true(has_argument(f, "/dev/fuse:/dev/fuse:rw"));
	assert_non_null(strstr(f->lowered.body.data,
	    "\"Devices\":[{\"PathOnHost\":\"/dev/dri/renderD128\",\"PathInContainer\":\"/dev/gpu\","
	    "\"CgroupPermissions\":\"rw\"},{\"PathOnHost\":\"/dev/fuse\","));
	/* The client would take what is behind a colon for the place inside. */
	devices[0].src = (char[]){ "/dev/dri/by-path/pci-0000:00" };
	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	assert_int_equal(docker_lower(&f->plan, &f->lowered, &f->err), -1);
	assert_int_equal(f->err.code, HLB_58);
}

/* docker has one request with all of them, podman a device for each. */
static void
test_gpus_are_in_both_forms(void **state)
{
	static const struct {
		const char *backend;
		struct plan_gpus gpus;
		const char *argument, *body;
	} cases[] = {
		{ "docker", { .is_all = true }, "all",
		    "\"DeviceRequests\":[{\"Driver\":\"\",\"Count\":-1,\"DeviceIDs\":[],"
		    "\"Capabilities\":[[\"gpu\"]],\"Options\":{}}]" },
		{ "docker", { .numbers = 4 }, "device=2",
		    "\"DeviceRequests\":[{\"Driver\":\"\",\"Count\":0,\"DeviceIDs\":[\"2\"],"
		    "\"Capabilities\":[[\"gpu\"]],\"Options\":{}}]" },
		{ "docker", { .numbers = UINT64_MAX >> 62 | UINT64_C(1) << 63 },
		    "\"device=0,1,63\"", "\"DeviceIDs\":[\"0\",\"1\",\"63\"]," },
		{ "podman", { .is_all = true }, "nvidia.com/gpu=all",
		    "\"devices\":[{\"path\":\"nvidia.com/gpu=all\"}]" },
		{ "podman", { .numbers = 5 }, "nvidia.com/gpu=2",
		    "\"devices\":[{\"path\":\"nvidia.com/gpu=0\"},{\"path\":\"nvidia.com/gpu=2\"}]" },
	};
	struct fixture *f = *state;

	lower(f);
	assert_null(strstr(f->lowered.body.data, "DeviceRequests"));
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++) {
		lowered_done(&f->lowered);
		lowered_init(&f->lowered);
		f->plan.backend = cases[i].backend;
		f->plan.gpus = cases[i].gpus;
		lower(f);
		if (!has_argument(f, cases[i].argument) ||
		    strstr(f->lowered.body.data, cases[i].body) == NULL)
			fail_msg("%zu: %s", i, f->lowered.body.data);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_devices_are_in_both_forms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gpus_are_in_both_forms, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
