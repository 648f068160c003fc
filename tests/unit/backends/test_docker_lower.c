/*
 * Plans as settings of an engine, byte for byte: each case has a folder in tests/golden/docker with
 * the client's arguments, one a line, and the API's body. HL_GOLDEN_UPDATE=1 writes them.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/lower.h"
#include "tests/unit/backends/docker_scene.h"

#include "base/banned.h"

static const struct hl_origin policy_line = {
	.layer = "task",
	.id = "test/docker",
	.where = { .file = "team.yaml", .line = 7, .column = 1 },
};

static void
refuses(struct fixture *f, const char *code)
{
	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	assert_int_equal(docker_lower(&f->plan, &f->lowered, &f->err), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, code);
}

/* ------------------------------------------------------------------------------------------------
 * Golden files
 */
static void
compare(const char *folder, const char *name, const char *text, size_t len)
{
	char path[256];
	struct hl_buf want;
	struct hl_err err;

	snprintf(path, sizeof(path), "tests/golden/docker/%s/%s", folder, name);
	if (getenv("HL_GOLDEN_UPDATE") != NULL) {
		char dir[256];
		snprintf(dir, sizeof(dir), "tests/golden/docker/%s", folder);
		assert_true(mkdir(dir, 0755) == 0 || errno == EEXIST);
		int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		assert_true(out >= 0);
		assert_int_equal(hl_write_full(out, text, len), 0);
		close(out);
		return;
	}
	int fd HL_AUTO_FD = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail_msg("cannot open '%s': %s", path, strerror(errno));
	hl_buf_init(&want, 1024 * 1024);
	assert_int_equal(hl_read_file(fd, &want, path, HLI_02, &err), 0);
	assert_string_equal(text, want.data);
	hl_buf_done(&want);
}

static void
golden(struct fixture *f, const char *folder)
{
	struct hl_buf text;

	lower(f);
	hl_buf_init(&text, 1024 * 1024);
	for (size_t i = 0; i < f->lowered.argv.len; i++)
		hl_buf_putf(&text, "%s\n", f->lowered.argv.v[i]);
	compare(folder, "argv", text.data, text.len);
	hl_buf_reset(&text);
	hl_buf_putf(&text, "%s\n", f->lowered.body.data);
	compare(folder, "body.json", text.data, text.len);
	hl_buf_done(&text);
}

static void
test_golden_smallest(void **state)
{
	golden(*state, "smallest");
}

/* With a service of the run's own, and the limits that podman has of its own. */
static void
test_golden_podman_smallest(void **state)
{
	struct fixture *f = *state;

	f->plan.backend = "podman";
	f->plan.endpoint = (char[]){ "/usr/bin/podman" };
	f->plan.is_endpoint_program = true;
	golden(f, "podman-smallest");
}

/* The caller's command, by an engine that is the caller's own and not root's. */
static void
test_golden_podman_rootless(void **state)
{
	struct fixture *f = *state;

	f->plan.backend = "podman";
	f->plan.endpoint = (char[]){ "/run/user/1000/podman/podman.sock" };
	f->plan.is_rootless = true;
	f->plan.engine_uid = 1000;
	f->plan.user_kind = PLAN_USER_CALLER;
	golden(f, "podman-rootless");
}

static void
set_limit(struct fixture *f, enum plan_limit limit, uint64_t value)
{
	f->plan.limits[limit] =
	    (struct plan_number){ .has = true, .value = value, .origin = policy_line };
}

static void
fill_everything(struct fixture *f)
{
	static char texts[][20] = { "/srv/a:b", "/work", "/srv/a,b", "/data/one two", "/srv/a\"b'c",
		"/data/quotes", "/run", "/tmp" };

	set_limit(f, PLAN_LIMIT_CPUS, 1500);
	set_limit(f, PLAN_LIMIT_MEMORY, 536870912);
	set_limit(f, PLAN_LIMIT_PIDS, 256);
	set_limit(f, PLAN_LIMIT_FILES, 1024);
	set_limit(f, PLAN_LIMIT_SHM, 67108864);
	set_limit(f, PLAN_LIMIT_DISK, 1073741824);
	set_limit(f, PLAN_LIMIT_WALL, 60000);
	f->plan.uid = f->plan.gid = 0;
	f->plan.allow_root = true;
	f->plan.caps = UINT64_C(1) << 0 | UINT64_C(1) << 1 | UINT64_C(1) << 3;
	f->plan.no_new_privs = false;
	f->plan.root = PLAN_ROOT_WRITABLE;
	f->plan.network = PLAN_NETWORK_BRIDGE;
	f->plan.pull = PLAN_PULL_ALWAYS;
	f->mounts[0] = (struct plan_mount){ .src = texts[0],
		.dst = texts[1],
		.is_writable = true,
		.is_exec = true,
		.is_workdir = true };
	f->mounts[1] = (struct plan_mount){ .src = texts[2], .dst = texts[3], .is_exec = true };
	f->mounts[2] = (struct plan_mount){ .src = texts[4], .dst = texts[5], .is_exec = true };
	f->plan.mounts_len = 3;
	f->tmpfs[0] = (struct plan_tmpfs){ .dst = texts[6], .size = 67108864, .mode = 0755 };
	f->tmpfs[1] = (struct plan_tmpfs){ .dst = texts[7],
		.size = 536870912,
		.is_exec = true,
		.mode = 01777 };
	f->plan.tmpfs_len = 2;
}

static void
test_golden_everything(void **state)
{
	fill_everything(*state);
	golden(*state, "everything");
}

static void
test_golden_podman_everything(void **state)
{
	struct fixture *f = *state;

	fill_everything(f);
	f->plan.backend = "podman";
	f->plan.endpoint = (char[]){ "/run/podman/podman.sock" };
	golden(f, "podman-everything");
}

/* A tmpfs of podman's is root's: one that only its owner may use is refused, and not given to
 * nobody. */
static void
test_podman_tmpfs_of_a_user(void **state)
{
	struct fixture *f = *state;

	f->tmpfs[0] = (struct plan_tmpfs){ .dst = (char[]){ "/x" }, .size = 4096, .mode = 0700 };
	f->plan.tmpfs_len = 1;
	lower(f); /* docker's is the user's (sibling) */
	f->plan.backend = "podman";
	refuses(f, "HLB-58");
	f->tmpfs[0].mode = 01777;
	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	lower(f);
}

static void
test_golden_image_user(void **state)
{
	struct fixture *f = *state;

	f->plan.user_kind = PLAN_USER_IMAGE;
	f->plan.image = (char[]){ DIGEST };
	f->plan.pull = PLAN_PULL_NEVER;
	f->plan.caps = UINT64_C(1) << 0;
	f->plan.home = (struct plan_home){ .kind = PLAN_HOME_BIND,
		.path = (char[]){ "/root" },
		.src = (char[]){ "/srv/home" } };
	golden(f, "image-user");
}

/* ------------------------------------------------------------------------------------------------
 * What lines and arguments say
 */
static bool
has_argument(const struct fixture *f, const char *text)
{
	return hl_strv_contains(&f->lowered.argv, text);
}

static void
test_u20_no_command_and_no_environment_in_the_arguments(void **state)
{
	struct fixture *f = *state;
	struct plan_env env[] = {
		{ .name = (char[]){ "CI_TOKEN" },
		    .value = (char[]){ "S3CRET-777" },
		    .is_private = true },
	};

	f->plan.env = env;
	f->plan.env_len = 1;
	hl_strv_init(&f->plan.argv, 8);
	hl_strv_add(&f->plan.argv, "private-program");
	f->plan.cwd = (char[]){ "/private-cwd" };
	lower(f);
	for (size_t i = 0; i < f->lowered.argv.len; i++) {
		assert_null(strstr(f->lowered.argv.v[i], "S3CRET"));
		assert_null(strstr(f->lowered.argv.v[i], "CI_TOKEN"));
		assert_null(strstr(f->lowered.argv.v[i], "private-"));
	}
	assert_null(strstr(f->lowered.body.data, "S3CRET"));
	assert_null(strstr(f->lowered.body.data, "CI_TOKEN"));
	assert_null(strstr(f->lowered.body.data, "private-"));
	hl_strv_done(&f->plan.argv);
}

static void
test_u25_no_capability_for_another_user_than_root(void **state)
{
	struct fixture *f = *state;

	f->plan.caps = UINT64_MAX;
	lower(f);
	assert_true(has_argument(f, "--cap-drop"));
	assert_false(has_argument(f, "--cap-add"));
	assert_null(strstr(f->lowered.body.data, "CapAdd"));
}

static void
test_u25_sibling_root_keeps_what_the_policy_names(void **state)
{
	struct fixture *f = *state;

	f->plan.uid = 0;
	f->plan.allow_root = true;
	f->plan.caps = 1;
	lower(f);
	assert_true(has_argument(f, "CAP_CHOWN"));
	assert_non_null(strstr(f->lowered.body.data, "\"CapAdd\":[\"CAP_CHOWN\"]"));
}

static void
test_u28_u29_tmpfs_always_says_everything(void **state)
{
	struct fixture *f = *state;

	f->tmpfs[0] = (struct plan_tmpfs){ .dst = (char[]){ "/tmp" },
		.size = 16777216,
		.is_exec = true,
		.mode = 01777 };
	f->tmpfs[1] =
	    (struct plan_tmpfs){ .dst = (char[]){ "/run" }, .size = 16777216, .mode = 0755 };
	f->plan.tmpfs_len = 2;
	lower(f);
	assert_true(
	    has_argument(f, "/tmp:rw,nosuid,nodev,exec,size=16777216,mode=1777,uid=1000,gid=1000"));
	assert_true(has_argument(f, "/run:rw,nosuid,nodev,noexec,size=16777216,mode=0755"));
}

static void
test_seccomp_is_a_file_for_the_client_and_text_for_the_api(void **state)
{
	struct fixture *f = *state;
	const char *json = confine_profile_json(CONFINE_PROFILE_DEFAULT);
	char sha256[HL_SHA256_HEX_SIZE], argument[256];
	struct hl_buf text;

	f->plan.seccomp = CONFINE_PROFILE_DEFAULT;
	lower(f);
	hl_sha256_text(json, strlen(json), sha256);
	snprintf(argument, sizeof(argument), "seccomp=/state/seccomp/%s.json", sha256);
	assert_true(has_argument(f, argument));
	hl_buf_init(&text, 1024 * 1024);
	hl_buf_puts(&text, "seccomp=");
	hl_buf_puts(&text, json);
	char *copy = strdup(text.data);
	hl_buf_reset(&text);
	hl_buf_json_string(&text, copy, strlen(copy));
	assert_non_null(strstr(f->lowered.body.data, text.data));
	free(copy);
	hl_buf_done(&text);
}

static void
test_lines_have_the_origin_of_their_value(void **state)
{
	struct fixture *f = *state;
	bool is_found = false;

	set_limit(f, PLAN_LIMIT_PIDS, 64);
	lower(f);
	for (size_t i = 0; i < f->lowered.lines_len; i++) {
		if (strcmp(f->lowered.lines[i].text, "--pids-limit 64") != 0)
			continue;
		is_found = true;
		assert_string_equal(f->lowered.lines[i].origin.layer, "task");
		assert_int_equal(f->lowered.lines[i].origin.where.line, 7);
	}
	assert_true(is_found);
}

/* ------------------------------------------------------------------------------------------------
 * Refusals
 */
static void
test_image_must_be_named_by_digest_when_the_policy_says_so(void **state)
{
	struct fixture *f = *state;
	static const char *const bad[] = { "tools:1", "tools@sha256:00", "tools@md5:00", "@" DIGEST,
		"sha256:short", "" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		char text[128];
		snprintf(text, sizeof(text), "%s", bad[i]);
		f->plan.image = text;
		refuses(f, "HLB-47");
	}
	/* Sibling: without the rule a tag is enough. */
	f->plan.image = (char[]){ "tools:1" };
	f->plan.image_digest = false;
	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	lower(f);
}

static void
test_a_reference_is_never_an_option(void **state)
{
	struct fixture *f = *state;
	static const char *const bad[] = { "--privileged", "a b", "a\nb", "a?b", "a&tag=x" };

	f->plan.image_digest = false;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		char text[128];
		snprintf(text, sizeof(text), "%s", bad[i]);
		f->plan.image = text;
		refuses(f, "HLB-47");
	}
}

/* Whoever made the plan: root and root's group need the policy's word. */
static void
test_root_is_refused_unless_allowed(void **state)
{
	static const struct {
		uint32_t uid, gid;
		bool is_root;
	} rows[] = { { 0, 0, true }, { 0, 1000, true }, { 1000, 0, true }, { 1000, 1000, false } };
	struct fixture *f = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		f->plan.uid = rows[i].uid;
		f->plan.gid = rows[i].gid;
		f->plan.allow_root = false;
		assert_int_equal(backend_docker.lower(&f->plan, &f->lowered, &f->err),
		    rows[i].is_root ? -1 : 0);
		if (rows[i].is_root)
			assert_int_equal(f->err.code, HLB_49);
		lowered_done(&f->lowered);
		lowered_init(&f->lowered);
		f->plan.allow_root = true;
		lower(f);
		lowered_done(&f->lowered);
		lowered_init(&f->lowered);
	}
}

static void
test_u34_newlines_in_paths_are_refused(void **state)
{
	struct fixture *f = *state;

	f->plan.mounts_len = 1;
	f->mounts[0] = (struct plan_mount){ .src = (char[]){ "/srv/a\nb" },
		.dst = (char[]){ "/work" },
		.is_exec = true };
	refuses(f, "HLB-58");
	f->mounts[0].src = (char[]){ "/srv/a" };
	f->mounts[0].dst = (char[]){ "/wo\nrk" };
	refuses(f, "HLB-58");
	f->mounts[0].dst = (char[]){ "/wo\xffrk" };
	refuses(f, "HLB-58");
}

static void
test_targets_that_would_hide_the_runner_are_refused(void **state)
{
	struct fixture *f = *state;
	static const char *const bad[] = { "/", "/.hermes-runner", "/.hermes-runner/x", "work",
		"/a/../b" };

	f->plan.mounts_len = 1;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		char text[64];
		snprintf(text, sizeof(text), "%s", bad[i]);
		f->mounts[0] = (struct plan_mount){ .src = (char[]){ "/srv" }, .dst = text };
		refuses(f, "HLB-58");
	}
	f->plan.mounts_len = 0;
	f->plan.tmpfs_len = 1;
	f->tmpfs[0] = (struct plan_tmpfs){ .dst = (char[]){ "/a:b" }, .mode = 0755 };
	refuses(f, "HLB-58");
}

/* ------------------------------------------------------------------------------------------------
 * Engine arguments
 */
static void
test_engine_arguments_are_in_both_forms(void **state)
{
	static const char *const args[] = { "--cap-drop=NET_RAW", "--memory=256m", "--cpus=0.5",
		"--label=team=a=b", "--cpu-shares=512", "--read-only=true", "--ulimit=nproc=10:10",
		"--tmpfs=/x:rw,size=1m", "--domainname=inside" };
	static const char *const parts[] = { "\"CapDrop\":[\"ALL\",\"NET_RAW\"]",
		"\"Memory\":268435456", "\"NanoCpus\":500000000", "\"team\":\"a=b\"",
		"\"CpuShares\":512", "\"ReadonlyRootfs\":true",
		"{\"Name\":\"nproc\",\"Hard\":10,\"Soft\":10}", "\"/x\":\"rw,size=1m\"",
		"\"Domainname\":\"inside\"" };
	struct fixture *f = *state;
	size_t memories = 0;

	set_limit(f, PLAN_LIMIT_MEMORY, 536870912);
	hl_strv_init(&f->plan.engine_args, 16);
	for (size_t i = 0; i < HL_ARRAY_SIZE(args); i++)
		hl_strv_add(&f->plan.engine_args, args[i]);
	lower(f);
	for (size_t i = 0; i < HL_ARRAY_SIZE(parts); i++) {
		if (strstr(f->lowered.body.data, parts[i]) == NULL)
			fail_msg("no %s in %s", parts[i], f->lowered.body.data);
	}
	assert_true(has_argument(f, "NET_RAW"));
	assert_true(has_argument(f, "268435456"));
	assert_true(has_argument(f, "team=a=b"));
	for (size_t i = 0; i < f->lowered.argv.len; i++)
		memories += strcmp(f->lowered.argv.v[i], "--memory") == 0;
	assert_int_equal(memories, 1); /* in the place of ours, not beside it */
	hl_strv_done(&f->plan.engine_args);
}

static void
test_engine_arguments_without_a_form_are_refused(void **state)
{
	static const char *const args[] = { "--device=/dev/kvm", "--no-such=1", "--gpus=all",
		"--memory=-1", "--memory=1x", "--cap-drop", "--security-opt=seccomp=/etc/passwd",
		"--mount=type=bind,src=/,dst=/x", "--name=x", "--ulimit=nproc=1:2" };
	struct fixture *f = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(args); i++) {
		hl_strv_init(&f->plan.engine_args, 16);
		hl_strv_add(&f->plan.engine_args, args[i]);
		refuses(f, "HLB-62");
		hl_strv_done(&f->plan.engine_args);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Covers
 */
static void
test_denied_paths_are_covered_inside(void **state)
{
	struct fixture *f = *state;
	char top[] = "/tmp/hl-cover.XXXXXX", dir[64], file[64], line[256];

	assert_non_null(mkdtemp(top));
	snprintf(dir, sizeof(dir), "%s/keys", top);
	snprintf(file, sizeof(file), "%s/netrc", top);
	assert_int_equal(mkdir(dir, 0700), 0);
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	f->plan.mounts_len = 1;
	f->mounts[0] =
	    (struct plan_mount){ .src = top, .dst = (char[]){ "/work" }, .is_writable = true };
	hl_strv_add(&f->plan.deny, dir);
	hl_strv_add(&f->plan.deny, file);
	hl_strv_add(&f->plan.deny, "/etc/shadow"); /* not below a mount: nothing to cover */
	lower(f);
	assert_true(has_argument(f,
	    "type=bind,source=/state/empty/dir,target=/work/keys,readonly,bind-nonrecursive"));
	assert_true(has_argument(f,
	    "type=bind,source=/state/empty/file,target=/work/netrc,readonly,bind-nonrecursive"));
	snprintf(line, sizeof(line), "type=bind,source=%s,target=/work,bind-nonrecursive", top);
	assert_true(has_argument(f, line));
	assert_null(strstr(f->lowered.body.data, "shadow"));

	/* A tmpfs above a denied path hides it already. */
	f->plan.tmpfs_len = 1;
	f->tmpfs[0] = (struct plan_tmpfs){ .dst = (char[]){ "/work/keys" }, .mode = 0755 };
	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	lower(f);
	assert_false(has_argument(f,
	    "type=bind,source=/state/empty/dir,target=/work/keys,readonly,bind-nonrecursive"));

	assert_int_equal(unlink(file), 0);
	refuses(f, "HLB-57"); /* what was to be covered is gone */
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rmdir(top), 0);
}

static void
test_a_source_that_is_denied_is_refused(void **state)
{
	struct fixture *f = *state;

	f->plan.mounts_len = 1;
	f->mounts[0] =
	    (struct plan_mount){ .src = (char[]){ "/srv/x" }, .dst = (char[]){ "/work" } };
	hl_strv_add(&f->plan.deny, "/srv");
	refuses(f, "HLB-58");
}

static void
test_one_place_has_one_mount(void **state)
{
	struct fixture *f = *state;
	size_t n = 0;

	f->plan.mounts_len = 1;
	f->mounts[0] =
	    (struct plan_mount){ .src = (char[]){ "/srv" }, .dst = (char[]){ "/home/agent" } };
	f->tmpfs[0] = (struct plan_tmpfs){ .dst = (char[]){ "/home/agent" }, .mode = 0755 };
	f->plan.tmpfs_len = 1;
	lower(f);
	for (size_t i = 0; i < f->lowered.argv.len; i++)
		n += strstr(f->lowered.argv.v[i], "/home/agent") != NULL;
	assert_int_equal(n, 1);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_golden_smallest),
		CASE(test_golden_everything),
		CASE(test_golden_podman_smallest),
		CASE(test_golden_podman_everything),
		CASE(test_golden_podman_rootless),
		CASE(test_podman_tmpfs_of_a_user),
		CASE(test_golden_image_user),
		CASE(test_u20_no_command_and_no_environment_in_the_arguments),
		CASE(test_u25_no_capability_for_another_user_than_root),
		CASE(test_u25_sibling_root_keeps_what_the_policy_names),
		CASE(test_u28_u29_tmpfs_always_says_everything),
		CASE(test_seccomp_is_a_file_for_the_client_and_text_for_the_api),
		CASE(test_lines_have_the_origin_of_their_value),
		CASE(test_image_must_be_named_by_digest_when_the_policy_says_so),
		CASE(test_a_reference_is_never_an_option),
		CASE(test_root_is_refused_unless_allowed),
		CASE(test_u34_newlines_in_paths_are_refused),
		CASE(test_targets_that_would_hide_the_runner_are_refused),
		CASE(test_engine_arguments_are_in_both_forms),
		CASE(test_engine_arguments_without_a_form_are_refused),
		CASE(test_denied_paths_are_covered_inside),
		CASE(test_a_source_that_is_denied_is_refused),
		CASE(test_one_place_has_one_mount),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
