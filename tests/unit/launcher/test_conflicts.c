/*
 * Requests against a policy: each door of the command line and of the environment, in both modes,
 * and the cases that other launchers got wrong.
 */
#include "backends/docker/docker.h"
#include "launcher/conflicts_parts.h"
#include "tests/unit/launcher/conflicts_case.h"

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * Doors
 */
static void
test_every_request_door(void **state)
{
	(void)state;
	assert_is_fine(bounded, "--limit", "memory=512MiB", 0);
	assert_is_fine(bounded, "--limit", "limits.memory=1GiB", 1);
	assert_conflict(bounded, "--limit", "memory=2GiB", HLC_30, CONFLICT_WON);
	assert_conflict(bounded, "--limit", "memory=unlimited", HLC_30, CONFLICT_WON);
	assert_malformed("--limit", "memory");
	assert_malformed("--limit", "=1");
	assert_malformed("--limit", "memory=lots");
	assert_malformed("--limit", "colour=red");
	assert_malformed("--limit", "mode=warn");
	assert_is_fine(bounded, "--timeout", "60s", 0);
	assert_is_fine(bounded, "--timeout", "30s", 1);
	assert_conflict(bounded, "--timeout", "11m", HLC_30, CONFLICT_WON);
	assert_malformed("--timeout", "10");
	assert_is_fine(bounded, "--network", "none", 0);
	assert_is_fine(bounded, "--network", "proxy", 1);
	assert_conflict(bounded, "--network", "host", HLC_31, CONFLICT_WON);
	assert_malformed("--network", "HOST");
	assert_is_fine(bounded, "--user", "1000:1000", 1);
	assert_conflict(bounded, "--user", "0:0", HLC_14, CONFLICT_WON);
	assert_conflict(bounded, "--user", "1000:0", HLC_14, CONFLICT_WON);
	assert_malformed("--user", "root");
	assert_is_fine(bounded, "--image", "debian:12", 1);
	assert_conflict(bounded, "--image", "debian:11", HLC_50, CONFLICT_WON);
	assert_is_fine(bounded, "--backend", "docker", 1);
	assert_conflict(bounded, "--backend", "podman", HLC_60, CONFLICT_WON);
	assert_conflict(bounded, "--backend", "apptainer", HLC_60, CONFLICT_WON);
}

/* A name asks for two things, each of which a policy can keep. */
static void
test_a_name_is_a_request(void **state)
{
	static const char base[] = "level: baseline@1\nbackends: [docker]\n";
	char text[256];
	struct trial *trial;

	(void)state;
	trial = trial_ask("enforce", base, "--name", "n");
	assert_int_equal(trial->conflicts.len, 0);
	assert_int_equal(policy_get(trial->policy, POLICY_SESSION_PERSIST)->number, 1);
	assert_int_equal(policy_get(trial->policy, POLICY_SESSION_REUSE)->number, 1);
	trial_free(trial);
	snprintf(text, sizeof(text), "%ssession: {persist: none}\n", base);
	assert_conflict(text, "--name", "n", HLC_61, CONFLICT_WON);
	snprintf(text, sizeof(text), "%ssession: {reuse: never}\n", base);
	assert_conflict(text, "--name", "n", HLC_61, CONFLICT_WON);
	/* What the policy gives beyond it stays (sibling). */
	snprintf(text, sizeof(text), "%ssession: {persist: task}\n", base);
	trial = trial_ask("enforce", text, "--name", "n");
	assert_int_equal(trial->conflicts.len, 0);
	assert_int_equal(policy_get(trial->policy, POLICY_SESSION_PERSIST)->number, 2);
	trial_free(trial);
}

static void
test_root_where_the_policy_permits_it(void **state)
{
	(void)state;
	assert_is_fine("level: baseline@1\nprocess: {allow_root: true}\n", "--user", "0:0", 1);
	assert_is_fine("level: hermes@1\nbackends: [docker]\n", "--user", "0:0", 1);
}

static void
test_mode_is_only_raised(void **state)
{
	struct trial *trial;

	(void)state;
	assert_is_fine(bounded, "--mode", "enforce", 0);
	assert_malformed("--mode", "off");
	trial = trial_ask("enforce", bounded, "--mode", "warn");
	assert_int_equal(trial->status, 0);
	assert_int_equal(trial->conflicts.refused, 1);
	assert_int_equal(trial->conflicts.items[0].code, HLC_06); /* HLC-06 */
	trial_free(trial);
	/* Raised, and what else is asked is judged in the mode that was asked for. */
	trial = trial_new("warn", bounded);
	trial_set(trial, &trial->request.network, "host");
	trial_set(trial, &trial->request.mode, "enforce");
	trial_judge(trial);
	assert_int_equal(trial->conflicts.refused, 1);
	trial_free(trial);
	trial = trial_ask("warn", bounded, "--network", "host");
	assert_int_equal(trial->conflicts.refused, 0);
	assert_int_equal(policy_get(trial->policy, POLICY_NETWORK_MODE)->number, PLAN_NETWORK_HOST);
	trial_free(trial);
}

static void
test_a_refused_request_changes_nothing(void **state)
{
	struct trial *trial = trial_ask("enforce", bounded, "--network", "host");

	(void)state;
	assert_int_equal(policy_get(trial->policy, POLICY_NETWORK_MODE)->number, PLAN_NETWORK_NONE);
	trial_free(trial);
}

static void
test_the_conflict_tells_both_places(void **state)
{
	struct trial *trial = trial_ask("enforce", bounded, "--engine-arg", "--cap-add=SYS_ADMIN");
	const struct conflict *conflict;

	(void)state;
	/* The default backend has no engine. */
	assert_int_equal(trial->status, -1);
	assert_int_equal(trial->err.code, HLC_07);
	trial_free(trial);

	trial = trial_new("enforce", bounded);
	trial_set(trial, &trial->request.backend, "docker");
	trial_add(trial, &trial->request.engine_args, "--cap-add");
	trial_add(trial, &trial->request.engine_args, "sys_admin");
	trial_judge(trial);
	assert_int_equal(trial->status, 0);
	assert_int_equal(trial->conflicts.len, 1);
	conflict = &trial->conflicts.items[0];
	assert_int_equal(conflict->code, HLC_12); /* HLC-12 */
	assert_string_equal(conflict->control, "process.caps");
	assert_string_equal(conflict->asked, "--engine-arg=--cap-add=sys_admin");
	assert_string_equal(conflict->door, "argument 6");
	assert_string_equal(conflict->effect,
	    "the command could mount file systems and leave its namespaces");
	assert_non_null(conflict->origin.where.file);
	assert_true(conflict->origin.where.line > 0);
	trial_free(trial);
}

static void
test_locked_fields_refuse_every_touch(void **state)
{
	static const char locked[] = "level: open@1\n"
				     "backends: [docker]\n"
				     "limits: {memory: 1GiB, pids: 100}\n"
				     "process: {caps: [CHOWN, KILL]}\n"
				     "fs: {tmpfs: [{dst: /scratch, size: 64MiB, exec: false}]}\n"
				     "lock: [limits.memory, process.caps, env.set, fs.tmpfs]\n";
	static const struct {
		const char *option, *text;
	} touches[] = {
		{ "--limit", "memory=512MiB" },
		{ "--engine-arg", "--memory=512m" },
		{ "--engine-arg", "--memory-reservation=16m" },
		{ "--engine-arg", "--cap-drop=KILL" },
		{ "--engine-arg", "--cap-drop=ALL" },
		{ "--engine-arg", "--tmpfs=/scratch:size=1m" },
		{ "--env", "APP_LEVEL=3" },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(touches); i++) {
		struct trial *trial =
		    trial_ask("enforce", locked, touches[i].option, touches[i].text);

		if (trial->status != 0 || trial->conflicts.refused != 1)
			fail_msg("%s was not refused", touches[i].text);
		assert_true(trial->conflicts.items[0].is_locked);
		trial_free(trial);
	}
	/* A field beside them may be tightened as ever. */
	assert_is_fine(locked, "--limit", "pids=50", 1);
}

/* ------------------------------------------------------------------------------------------------
 * Variables
 */
static void
test_variables(void **state)
{
	struct trial *trial;

	(void)state;
	assert_is_fine(bounded, "--env", "LANG", 0);
	assert_is_fine(bounded, "--env", "APP_LEVEL", 1);
	assert_is_fine(bounded, "--env", "APP_LEVEL=3", 1);
	assert_conflict(bounded, "--env", "OTHER", HLC_40, CONFLICT_WON);
	assert_conflict(bounded, "--env", "OTHER=1", HLC_40, CONFLICT_WON);
	assert_malformed("--env", "=x");
	assert_malformed("--env", "A-B=x");
	assert_malformed("--env", "");
	/* A protected name passes in no mode. */
	assert_conflict(bounded, "--env", "ANTHROPIC_API_KEY", HLC_05, CONFLICT_DROPPED);
	assert_conflict(bounded, "--env", "LD_PRELOAD=/tmp/x.so", HLC_05, CONFLICT_DROPPED);
	trial = trial_ask("warn", bounded, "--env", "ANTHROPIC_API_KEY");
	for (size_t i = 0; i < policy_get(trial->policy, POLICY_ENV_PASS)->items_len; i++)
		assert_string_not_equal(policy_get(trial->policy, POLICY_ENV_PASS)->items[i].text,
		    "ANTHROPIC_API_KEY");
	trial_free(trial);
	/* A value that the policy has fixed. */
	trial = trial_ask("enforce", "level: baseline@1\nenv: {set: {FIXED: \"one\"}}\n", "--env",
	    "FIXED=two");
	assert_int_equal(trial->conflicts.refused, 1);
	assert_string_equal(trial->conflicts.items[0].control, "env.set");
	trial_free(trial);
	assert_is_fine("level: baseline@1\nenv: {set: {FIXED: \"one\"}}\n", "--env", "FIXED=one",
	    0);
}

static void
test_no_value_of_a_variable_is_told(void **state)
{
	static const char *const asked[][2] = {
		{ "--env", "OTHER=S3CRET-777" },
		{ "--env", "ANTHROPIC_API_KEY=S3CRET-777" },
		{ "--env", "0=S3CRET-777" },
		{ "--engine-arg", "-eOTHER=S3CRET-777" },
		{ "--engine-arg", "--environ=OTHER=S3CRET-777" },
		{ "--engine-arg", "-zOTHER=S3CRET-777" },
		{ "--engine-arg", "S3CRET-777" },
		{ "--engine-arg", "--privileged=S3CRET-777" },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(asked); i++) {
		struct trial *trial = trial_ask("enforce",
		    "level: baseline@1\nbackends: [docker]\n"
		    "env: {pass: [LANG]}\n",
		    asked[i][0], asked[i][1]);

		assert_true(trial->status == -1 || trial->conflicts.refused > 0);
		assert_null(strstr(trial->err.msg, "S3CRET"));
		assert_null(strstr(trial->err.help, "S3CRET"));
		for (size_t k = 0; k < trial->conflicts.len; k++)
			assert_null(memmem(&trial->conflicts.items[k],
			    sizeof(trial->conflicts.items[k]), "S3CRET", 6));
		trial_free(trial);
	}
}

static void
test_u19_names_are_compared_without_case(void **state)
{
	static const char proxied[] = "level: baseline@1\nbackends: [docker]\n"
				      "network: {mode: proxy}\n";

	(void)state;
	assert_conflict(proxied, "--env", "openai_api_key", HLC_05, CONFLICT_DROPPED);
	assert_conflict(proxied, "--env", "https_proxy=http://x", HLC_40, CONFLICT_WON);
	assert_conflict(proxied, "--env", "Https_Proxy=http://x", HLC_40, CONFLICT_WON);
	assert_conflict(proxied, "--env", "no_proxy=*", HLC_40, CONFLICT_WON);
	assert_conflict(proxied, "--env", "ssl_cert_file=/x", HLC_40, CONFLICT_WON);
	assert_is_fine(proxied, "--env", "http_proxies_seen=1", 1);
	/* Where a layer names it, its author has decided. */
	assert_is_fine("level: baseline@1\nenv: {pass: [HTTPS_PROXY]}\n", "--env", "HTTPS_PROXY=x",
	    1);
}

/* ------------------------------------------------------------------------------------------------
 * Engine arguments that others let pass
 */
static void
assert_list_is_refused(const char *yaml, const char *const (*list)[3], size_t len)
{
	for (size_t i = 0; i < len; i++) {
		struct trial *trial = trial_engine("enforce", yaml, list[i]);
		struct trial *warned = trial_engine("warn", yaml, list[i]);

		if (trial->status != 0 || trial->conflicts.refused == 0)
			fail_msg("%s %s passed", list[i][0], list[i][1] != NULL ? list[i][1] : "");
		assert_int_equal(strncmp(trial->conflicts.items[0].door, "argument ", 9), 0);
		assert_true(strlen(trial->conflicts.items[0].control) > 0);
		/* In warn each is told as well, whatever becomes of it. */
		assert_int_equal(warned->status, 0);
		assert_true(warned->conflicts.len > 0);
		trial_free(trial);
		trial_free(warned);
	}
}

static void
test_u46_extra_arguments_with_egress_on(void **state)
{
	static const char *const list[][3] = { { "-e", "HTTPS_PROXY=x" }, { "-eHTTPS_PROXY=x" },
		{ "-ite", "HTTPS_PROXY=x" }, { "--env=https_proxy=x" }, { "--env-file", "f" },
		{ "--env-file=f" }, { "--net=host" }, { "--network", "c1" },
		{ "--add-host=host.docker.internal:6.6.6.6" }, { "--dns=6.6.6.6" },
		{ "-v", "/x:/etc/ssl/certs/hermes-egress-ca.crt" },
		{ "--mount", "type=bind,src=/opt,dst=/etc/ssl" } };

	(void)state;
	assert_list_is_refused("level: baseline@1\nbackends: [docker]\nnetwork: {mode: proxy}\n",
	    list, HL_ARRAY_SIZE(list));
}

static void
test_u47_dangerous_options(void **state)
{
	static const char *const list[][3] = { { "--privileged" },
		{ "--security-opt", "no-new-privileges:false" },
		{ "--security-opt=seccomp=unconfined" }, { "--security-opt=apparmor=unconfined" },
		{ "--cap-add", "ALL" }, { "--cap-add=cap_sys_admin" }, { "--pid=host" },
		{ "--ipc=host" }, { "--userns=host" }, { "--cgroupns=host" },
		{ "--device", "/dev/sda" }, { "--network", "container:x" },
		{ "-v", "/var/run/docker.sock:/s" }, { "-v", "/var/run/../run/docker.sock:/s" },
		{ "-v", "/proc:/p" }, { "-v", "/tmp/hl-conflicts-sock:/s" },
		{ "--volumes-from", "x" } };

	(void)state;
	(void)unlink("/tmp/hl-conflicts-sock");
	assert_int_equal(symlink("/var/run/docker.sock", "/tmp/hl-conflicts-sock"), 0);
	assert_list_is_refused("level: baseline@1\nbackends: [docker]\n", list,
	    HL_ARRAY_SIZE(list));
	(void)unlink("/tmp/hl-conflicts-sock");
}

static void
test_u38_a_working_directory_comes_by_one_door(void **state)
{
	static const char docker[] = "level: baseline@1\nbackends: [docker]\n";

	(void)state;
	assert_conflict(docker, "--engine-arg", "-w/nope", HLC_02, CONFLICT_DROPPED);
	assert_conflict(docker, "--engine-arg", "--workdir=/workspace/..", HLC_02,
	    CONFLICT_DROPPED);
}

static void
test_u56_a_named_engine_that_is_not_there(void **state)
{
	(void)state;
	assert_malformed("--backend", "/opt/none/podman");
	assert_conflict("level: baseline@1\nbackends: [docker]\n", "--engine-arg",
	    "--runtime=/opt/none/podman", HLC_04, CONFLICT_WON);
}

static void
test_unknown_options_go_on_in_warn_only(void **state)
{
	static const char docker[] = "level: baseline@1\nbackends: [docker]\n";
	struct trial *trial;

	(void)state;
	assert_conflict(docker, "--engine-arg", "--frobnicate=1", HLC_03,
	    CONFLICT_WON); /* HLC-03 */
	trial = trial_ask("warn", docker, "--engine-arg", "--frobnicate=1");
	assert_int_equal(trial->conflicts.engine_args.len, 1);
	assert_string_equal(trial->conflicts.engine_args.v[0], "--frobnicate=1");
	trial_free(trial);
	trial = trial_ask("warn", docker, "--engine-arg", "--device-cgroup-rule=c 1:1 r");
	assert_string_equal(trial->conflicts.engine_args.v[0], "--device-cgroup-rule=c 1:1 r");
	trial_free(trial);
}

/* ------------------------------------------------------------------------------------------------
 * Environment
 */
static struct trial *
with_variable(const char *mode, const char *yaml, const char *name, const char *value)
{
	struct trial *trial = trial_new(mode, yaml);

	assert_int_equal(setenv(name, value, 1), 0);
	trial_judge(trial);
	assert_int_equal(unsetenv(name), 0);
	assert_int_equal(trial->status, 0);
	return trial;
}

static void
test_engine_variables(void **state)
{
	static const char named[] = "level: baseline@1\nbackends: [docker]\n"
				    "docker: {endpoint: /run/a.sock}\n";
	static const char unnamed[] = "level: baseline@1\nbackends: [docker]\n";
	static const char *const noted[] = { "DOCKER_CONFIG", "DOCKER_CONTEXT" };
	struct trial *trial;

	(void)state;
	trial = with_variable("enforce", named, "DOCKER_HOST", "unix:///run/a.sock");
	assert_int_equal(trial->conflicts.len, 0);
	trial_free(trial);
	trial = with_variable("enforce", named, "DOCKER_HOST", "unix:///run/b.sock");
	assert_int_equal(trial->conflicts.refused, 1);
	assert_int_equal(trial->conflicts.items[0].code, HLC_51); /* HLC-51 */
	assert_string_equal(trial->conflicts.items[0].door, "environment");
	trial_free(trial);
	trial = with_variable("enforce", named, "CONTAINER_HOST", "unix:///run/b.sock");
	assert_int_equal(trial->conflicts.refused, 1);
	trial_free(trial);
	trial = with_variable("warn", named, "DOCKER_HOST", "unix:///run/b.sock");
	assert_int_equal(trial->conflicts.items[0].action, CONFLICT_WON);
	assert_string_equal(policy_get(trial->policy, POLICY_DOCKER_ENDPOINT)->text, "/run/b.sock");
	trial_free(trial);
	/* Where the policy names none the variable is a request like any other. */
	trial = with_variable("enforce", unnamed, "DOCKER_HOST", "unix:///run/b.sock");
	assert_int_equal(trial->conflicts.len, 0);
	assert_string_equal(policy_get(trial->policy, POLICY_DOCKER_ENDPOINT)->text, "/run/b.sock");
	trial_free(trial);
	/* An address that cannot be followed is refused in every mode, and not repeated. */
	trial = with_variable("warn", unnamed, "DOCKER_HOST", "tcp://user:S3CRET@h:1");
	assert_int_equal(trial->conflicts.refused, 1);
	assert_null(strstr(trial->conflicts.items[0].asked, "S3CRET"));
	assert_int_equal(trial->conflicts.items[0].code, HLC_51);
	assert_string_equal(trial->conflicts.items[0].bound, "a unix socket of this host only");
	assert_non_null(strstr(trial->conflicts.items[0].help, "let it say unix://"));
	trial_free(trial);
	for (size_t i = 0; i < HL_ARRAY_SIZE(noted); i++) {
		trial = with_variable("enforce", named, noted[i], "somewhere");
		assert_int_equal(trial->conflicts.len, 0);
		assert_int_equal(trial->conflicts.notes.len, 1);
		assert_non_null(strstr(trial->conflicts.notes.v[0], noted[i]));
		trial_free(trial);
	}
	/* Another backend has no such door. */
	trial = with_variable("enforce", "level: baseline@1\n", "DOCKER_HOST", "tcp://h:1");
	assert_int_equal(trial->conflicts.len, 0);
	trial_free(trial);
}

static void
test_engine_variables_of_podman(void **state)
{
	static const char named[] =
	    "level: baseline@1\nbackends: [podman]\ndocker: {endpoint: /run/a.sock}\n";
	static const char unnamed[] = "level: baseline@1\nbackends: [podman]\n";
	static const char dockers[] = "level: baseline@1\nbackends: [docker]\n";
	static const char *const noted[] = { "CONTAINERS_CONF", "CONTAINERS_CONF_OVERRIDE",
		"CONTAINERS_STORAGE_CONF", "CONTAINER_CONNECTION" };
	struct trial *trial;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(noted); i++) {
		trial = with_variable("enforce", named, noted[i], "/tmp/S3CRET");
		assert_int_equal(trial->conflicts.len, 0);
		assert_int_equal(trial->conflicts.notes.len, 1);
		assert_non_null(strstr(trial->conflicts.notes.v[0], noted[i]));
		assert_null(strstr(trial->conflicts.notes.v[0], "S3CRET"));
		trial_free(trial);
		/* Docker's client knows nothing of it. */
		trial = with_variable("enforce", dockers, noted[i], "/tmp/S3CRET");
		assert_int_equal(trial->conflicts.notes.len, 0);
		trial_free(trial);
	}
	/* What podman reads is a wish, docker's variable only what it must not differ from. */
	trial = with_variable("enforce", unnamed, "CONTAINER_HOST", "unix:///run/b.sock");
	assert_int_equal(trial->conflicts.len, 0);
	assert_string_equal(policy_get(trial->policy, POLICY_DOCKER_ENDPOINT)->text, "/run/b.sock");
	trial_free(trial);
	trial = with_variable("enforce", unnamed, "DOCKER_HOST", "unix:///run/b.sock");
	assert_int_equal(trial->conflicts.len, 0);
	assert_false(policy_get(trial->policy, POLICY_DOCKER_ENDPOINT)->is_explicit);
	assert_int_equal(trial->conflicts.notes.len, 1);
	trial_free(trial);
	trial = with_variable("enforce", named, "CONTAINER_HOST", "unix:///run/b.sock");
	assert_int_equal(trial->conflicts.refused, 1);
	assert_int_equal(trial->conflicts.items[0].code, HLC_51);
	trial_free(trial);
	trial = with_variable("warn", unnamed, "CONTAINER_HOST", "ssh://me@h/run/b.sock");
	assert_int_equal(trial->conflicts.refused, 1);
	trial_free(trial);
	trial = with_variable("enforce", unnamed, "DOCKER_CONTEXT", "somewhere");
	assert_int_equal(trial->conflicts.notes.len, 0);
	trial_free(trial);
}

/* ------------------------------------------------------------------------------------------------
 * The table
 */
static void
test_the_table_is_sorted_and_complete(void **state)
{
	(void)state;
	for (size_t i = 0; i < conflict_controls_len(); i++) {
		const struct conflict_control *row = conflict_control_at(i);

		if (i > 0 && strcmp(conflict_control_at(i - 1)->control, row->control) >= 0)
			fail_msg("%s is out of order", row->control);
		assert_int_equal(strncmp(hl_code_info(row->code)->id, "HLC-", 4), 0);
		assert_true(strlen(row->effect) > 10 && strlen(row->effect) < 140);
		/* The bound is the field's where somebody applies it, else it is said here. */
		bool is_said = policy_field_find(row->control) == POLICY_FIELD_MAX;
		for (unsigned j = 0; j < CONTROL_MAX; j++)
			if (strcmp(control_info((enum control)j)->name, row->control) == 0)
				is_said = !control_is_applied_somewhere((enum control)j);
		assert_int_equal(is_said, row->bound[0] != '\0');
	}
	for (size_t i = 0; i < DOCKER_OPTION_MAX; i++) {
		const struct docker_option *option = docker_option((enum docker_option_id)i);

		if (conflict_control_find(option->control) == NULL)
			fail_msg("%s: no row for %s", option->flag, option->control);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_request_door),
		cmocka_unit_test(test_a_name_is_a_request),
		cmocka_unit_test(test_root_where_the_policy_permits_it),
		cmocka_unit_test(test_mode_is_only_raised),
		cmocka_unit_test(test_a_refused_request_changes_nothing),
		cmocka_unit_test(test_the_conflict_tells_both_places),
		cmocka_unit_test(test_locked_fields_refuse_every_touch),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_no_value_of_a_variable_is_told),
		cmocka_unit_test(test_u19_names_are_compared_without_case),
		cmocka_unit_test(test_u46_extra_arguments_with_egress_on),
		cmocka_unit_test(test_u47_dangerous_options),
		cmocka_unit_test(test_u38_a_working_directory_comes_by_one_door),
		cmocka_unit_test(test_u56_a_named_engine_that_is_not_there),
		cmocka_unit_test(test_unknown_options_go_on_in_warn_only),
		cmocka_unit_test(test_engine_variables),
		cmocka_unit_test(test_engine_variables_of_podman),
		cmocka_unit_test(test_the_table_is_sorted_and_complete),
	};

	forget_engine_variables();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
