/*
 * Backend, engine, limits and command of the plan.
 */
#include "plan_fixture.h"

#define DOCKER "backends: [docker]\nimage: [\"x@sha256:" DIGEST "\"]\n"
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
test_backend(void **state)
{
	struct fixture *fixture = *state;

	assert_planned(fixture, "");
	assert_string_equal(fixture->plan.backend, "local");
	assert_planned(fixture, "backends: [docker, local]\nimage: [\"x@sha256:" DIGEST "\"]\n");
	assert_string_equal(fixture->plan.backend, "docker");
	assert_planned(fixture, "backends: [podman]\nimage: [\"x@sha256:" DIGEST "\"]\n");
	assert_string_equal(fixture->plan.backend, "podman");
	assert_int_equal(plan_of(fixture, "backends: [singularity]\n"), -1);
	assert_int_equal(hl_code_info(fixture->err.code)->id[2], 'B');
	if (load_text(fixture, "baseline@1", "backends: []\n") == 0) {
		assert_int_equal(build_plan(fixture), -1);
		assert_int_equal(fixture->err.code, HLD_21);
	}
}

static void
test_network(void **state)
{
	struct fixture *fixture = *state;

	assert_planned(fixture, "");
	assert_int_equal(fixture->plan.network, PLAN_NETWORK_NONE);
	assert_refused(fixture, "network: {mode: proxy}\n", HLD_21, "proxy");
	assert_refused(fixture, DOCKER "network: {mode: proxy}\n", HLD_21, "proxy");
	assert_int_equal(load_text(fixture, "open@1",
			     "network: {mode: bridge}\nlocal: {isolation: confined}\n"),
	    0);
	assert_int_equal(build_plan(fixture), -1);
	assert_int_equal(fixture->err.code, HLD_21);
	assert_int_equal(load_text(fixture, "open@1", DOCKER "network: {mode: bridge}\n"), 0);
	assert_int_equal(build_plan(fixture), 0);
	assert_int_equal(fixture->plan.network, PLAN_NETWORK_BRIDGE);
}

static void
test_limits(void **state)
{
	struct fixture *fixture = *state;
	const struct plan_number *limits = fixture->plan.limits;

	assert_planned(fixture, "");
	assert_false(limits[PLAN_LIMIT_WALL].has || limits[PLAN_LIMIT_MEMORY].has);
	assert_true(limits[PLAN_LIMIT_PIDS].has);
	assert_false(limits[PLAN_LIMIT_PIDS].is_explicit);
	assert_true(limits[PLAN_LIMIT_PIDS].may_degrade);
	assert_int_equal(limits[PLAN_LIMIT_PIDS].value, 4096);
	assert_int_equal(limits[PLAN_LIMIT_SHM].value, 64 << 20);
	assert_planned(fixture,
	    "limits: {wall: 90s, cpus: 0.5, memory: 512MiB, pids: 32, files: 64, shm: 1MiB}\n"
	    "degrade: {allow: [limits.cpus]}\n");
	assert_int_equal(limits[PLAN_LIMIT_WALL].value, 90000);
	assert_int_equal(limits[PLAN_LIMIT_CPUS].value, 500);
	assert_int_equal(limits[PLAN_LIMIT_MEMORY].value, 512 << 20);
	assert_int_equal(limits[PLAN_LIMIT_PIDS].value, 32);
	assert_int_equal(limits[PLAN_LIMIT_FILES].value, 64);
	assert_int_equal(limits[PLAN_LIMIT_SHM].value, 1 << 20);
	assert_true(limits[PLAN_LIMIT_MEMORY].is_explicit);
	assert_false(limits[PLAN_LIMIT_MEMORY].may_degrade);
	assert_true(limits[PLAN_LIMIT_CPUS].may_degrade);
	assert_int_equal(limits[PLAN_LIMIT_PIDS].origin.where.line, 4);
	assert_planned(fixture, "mode: warn\nlimits: {memory: 512MiB}\n");
	assert_true(limits[PLAN_LIMIT_MEMORY].may_degrade);
}

static void
test_endpoint(void **state)
{
	struct fixture *fixture = *state;

	assert_planned(fixture, DOCKER);
	assert_string_equal(fixture->plan.endpoint, "/var/run/docker.sock");
	assert_string_equal(fixture->plan.endpoint_origin.layer, "built-in");
	set_variable(fixture, "DOCKER_HOST=unix:///t/x.sock");
	assert_planned(fixture, DOCKER);
	assert_string_equal(fixture->plan.endpoint, "/t/x.sock");
	assert_string_equal(fixture->plan.endpoint_origin.layer, "caller");
	assert_planned(fixture, DOCKER "docker: {endpoint: /t/y.sock}\n");
	assert_string_equal(fixture->plan.endpoint, "/t/y.sock");
	assert_planned(fixture, "");
	assert_null(fixture->plan.endpoint);
}

/* Which files of credentials a client asks, in its order: a variable each, and what it leaves. */
static void
assert_files(struct fixture *fixture, const char *policy, const char *wanted)
{
	char files[1024] = "";

	assert_planned(fixture, policy);
	for (size_t i = 0; i < fixture->plan.registry_files.len; i++) {
		const char *path = fixture->plan.registry_files.v[i];
		bool is_ours = hl_path_is_beneath(path, fixture->root);
		size_t len = strlen(files);
		snprintf(files + len, sizeof(files) - len, "%s ",
		    path + (is_ours ? strlen(fixture->root) : 0));
	}
	assert_string_equal(files, wanted);
}

static void
test_registry_files(void **state)
{
	static const char podman[] = "backends: [podman]\nimage: [\"x@sha256:" DIGEST "\"]\n";
	static const struct {
		const char *variable, *docker, *podman;
	} rows[] = {
		{ "", "/home/.docker/config.json ",
		    "/run/containers/1000/auth.json /home/.config/containers/auth.json "
		    "/home/.docker/config.json " },
		{ "XDG_CONFIG_HOME=/x", "/home/.docker/config.json ",
		    "/run/containers/1000/auth.json /x/containers/auth.json "
		    "/home/.docker/config.json " },
		{ "XDG_RUNTIME_DIR=/r", "/home/.docker/config.json ",
		    "/r/containers/auth.json /x/containers/auth.json "
		    "/home/.docker/config.json " },
		{ "HOME=/h", "/h/.docker/config.json ",
		    "/r/containers/auth.json /x/containers/auth.json /h/.docker/config.json " },
		{ "DOCKER_CONFIG=conf", "/work/conf/config.json ", "/work/conf/config.json " },
		{ "REGISTRY_AUTH_FILE=/a/auth.json", "/work/conf/config.json ", "/a/auth.json " },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		if (rows[i].variable[0] != '\0')
			set_variable(fixture, rows[i].variable);
		assert_files(fixture, DOCKER, rows[i].docker);
		assert_files(fixture, podman, rows[i].podman);
		assert_files(fixture, "", "");
	}
}

static void
test_bad_endpoint(void **state)
{
	static const char *const values[] = { "DOCKER_HOST=tcp://user:pa55w0rd@h:2375",
		"DOCKER_HOST=ssh://h", "DOCKER_HOST=unix://relative", "DOCKER_HOST=unix:///" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(values); i++) {
		struct fixture *fixture = *state;
		free(fixture->environment[0]);
		fixture->environment[0] = strdup(values[i]);
		fixture->environment_len = 1;
		assert_refused(fixture, DOCKER, HLD_22, "DOCKER_HOST");
		assert_null(strstr(fixture->err.msg, "pa55w0rd"));
		/* U43: nobody asks the engine on local */
		assert_planned(fixture, "");
	}
}

static void
test_command(void **state)
{
	struct fixture *fixture = *state;
	static char first[] = "make", second[] = "a b";
	char *argv[] = { first, second, NULL };

	fixture->request.argv = argv;
	fixture->request.argv_len = 2;
	assert_planned(fixture, "");
	assert_int_equal(fixture->plan.argv.len, 2);
	assert_string_equal(fixture->plan.argv.v[1], "a b");
	fixture->request.argv_len = 0;
	fixture->request.shell_text = "echo 'x'; exit 3";
	assert_int_equal(build_plan(fixture), 0);
	assert_int_equal(fixture->plan.argv.len, 3);
	assert_string_equal(fixture->plan.argv.v[0], "bash");
	assert_string_equal(fixture->plan.argv.v[2], "echo 'x'; exit 3");
}

static void
test_image(void **state)
{
	struct fixture *fixture = *state;

	assert_planned(fixture, DOCKER);
	assert_string_equal(fixture->plan.image, "x@sha256:" DIGEST);
	assert_true(fixture->plan.image_digest);
	assert_int_equal(fixture->plan.pull, PLAN_PULL_MISSING);
}

static void
test_done_twice(void **state)
{
	struct fixture *fixture = *state;

	assert_planned(fixture, DOCKER);
	plan_done(&fixture->plan);
	plan_done(&fixture->plan);
	assert_null(fixture->plan.mounts);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_backend, setup, teardown),
		cmocka_unit_test_setup_teardown(test_network, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_endpoint, setup, teardown),
		cmocka_unit_test_setup_teardown(test_registry_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_endpoint, setup, teardown),
		cmocka_unit_test_setup_teardown(test_command, setup, teardown),
		cmocka_unit_test_setup_teardown(test_image, setup, teardown),
		cmocka_unit_test_setup_teardown(test_done_twice, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
