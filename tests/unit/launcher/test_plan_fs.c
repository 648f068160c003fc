/*
 * Working directory, mounts and tmpfs of the plan. Each refusal stands beside the same input
 * without its fault, which is planned.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "plan_fixture.h"

static const char *
mounts_text(const char *fields)
{
	static char text[8192];

	snprintf(text, sizeof(text), "fs:\n  mounts:\n    - {%s}\n", fields);
	return text;
}

static const char *
mount_text(const char *src, const char *dst, const char *rest)
{
	static char fields[4096];

	snprintf(fields, sizeof(fields), "src: \"%s\", dst: \"%s\"%s", src, dst, rest);
	return mounts_text(fields);
}

static void
test_workdir(void **state)
{
	struct fixture *fixture = *state;

	assert_planned(fixture, "");
	const struct plan_mount *work = mount_of(fixture, fixture->work);
	assert_non_null(work);
	assert_true(work->is_workdir && work->is_writable && work->is_exec && !work->is_file);
	assert_string_equal(work->src, fixture->work);
	assert_string_equal(fixture->plan.cwd, fixture->work);
	assert_planned(fixture, "fs: {workdir: {access: ro, at: /w}}\n");
	work = mount_of(fixture, "/w");
	assert_non_null(work);
	assert_false(work->is_writable);
	assert_string_equal(fixture->plan.cwd, "/w");
	assert_string_equal(work->origin.layer, "task");
}

static void
test_workdir_elsewhere(void **state)
{
	struct fixture *fixture = *state;
	char text[256];

	make_dir(at(fixture, "work/sub"));
	make_dir(at(fixture, "other"));
	fixture->host.cwd = at(fixture, "work/sub");
	snprintf(text, sizeof(text), "fs: {workdir: {path: %s}}\n", fixture->work);
	/* the caller stands in a part of it, and so does the command */
	assert_planned(fixture, text);
	assert_string_equal(fixture->plan.cwd, at(fixture, "work/sub"));
	fixture->host.cwd = at(fixture, "other");
	assert_planned(fixture, text);
	assert_string_equal(fixture->plan.cwd, fixture->work);
}

/* U37: what is never shared as a whole, also through a symbolic link. */
static void
test_u37_broad_workdir(void **state)
{
	static const char *const places[] = { "/", "/etc", "/usr", "/var", "/home", "/root",
		"/tmp" };
	struct fixture *fixture = *state;
	char text[256];

	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++) {
		fixture->host.cwd = places[i];
		if (access(places[i], X_OK) != 0)
			continue;
		assert_refused(fixture, "", HLC_71, "too broad");
	}
	fixture->host.cwd = fixture->home;
	assert_refused(fixture, "", HLC_71, "home");
	assert_int_equal(symlink("/etc", at(fixture, "work/link")), 0);
	snprintf(text, sizeof(text), "fs: {workdir: {path: %s/link}}\n", fixture->work);
	fixture->host.cwd = fixture->work;
	assert_refused(fixture, text, HLC_71, "too broad");
	make_dir(at(fixture, "home/project"));
	fixture->host.cwd = at(fixture, "home/project");
	assert_planned(fixture, "");
}

/* U40: a door of the kernel is no working directory. */
static void
test_u40_kernel_workdir(void **state)
{
	static const char *const places[] = { "/proc/self/fd/0", "/proc/1/root", "/proc/self/cwd",
		"/sys", "/dev/fd", "/dev" };
	struct fixture *fixture = *state;

	assert_int_equal(chdir(fixture->work), 0);
	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++) {
		fixture->host.cwd = places[i];
		assert_int_not_equal(plan_of(fixture, ""), 0);
		assert_true(fixture->err.code == HLC_70 || fixture->err.code == HLU_10);
	}
	assert_int_equal(chdir("/"), 0);
}

static void
test_workdir_and_state(void **state)
{
	struct fixture *fixture = *state;

	/* U91: what holds the state directory is no working directory, nor is a part of it */
	make_dir(at(fixture, "state/audit"));
	fixture->host.cwd = at(fixture, "state/audit");
	assert_refused(fixture, "", HLC_70, "lies in");
	fixture->host.cwd = fixture->root;
	assert_refused(fixture, "", HLC_70, "contains");
	fixture->host.cwd = fixture->work;
	fixture->host.state_dir = at(fixture, "work/not-yet/state");
	assert_refused(fixture, "", HLC_70, "contains");
	fixture->host.state_dir = fixture->state;
	assert_planned(fixture, "");
}

static void
test_workdir_denied(void **state)
{
	struct fixture *fixture = *state;
	char text[256];

	make_dir(at(fixture, "home/.ssh/x"));
	fixture->host.cwd = at(fixture, "home/.ssh/x");
	assert_refused(fixture, "", HLC_72, "private keys");
	fixture->host.cwd = fixture->work;
	snprintf(text, sizeof(text), "fs: {deny: [\"%s/w*\"]}\n", fixture->root);
	assert_refused(fixture, text, HLC_72, "fs.deny");
	assert_planned(fixture, "fs: {deny: [\"/no-such-place/w*\"]}\n");
}

/* U35: a missing source is refused, and not made. */
static void
test_u35_missing_source(void **state)
{
	struct fixture *fixture = *state;
	struct stat st;

	assert_refused(fixture, mount_text(at(fixture, "no/such.crt"), "/etc/ca.crt", ""), HLU_10,
	    "no/such.crt");
	assert_int_not_equal(stat(at(fixture, "no"), &st), 0);
	assert_planned(fixture,
	    mount_text(at(fixture, "no/such.crt"), "/etc/ca.crt", ", required: false"));
	assert_null(mount_of(fixture, "/etc/ca.crt"));
	assert_int_not_equal(stat(at(fixture, "no"), &st), 0);
	make_file(at(fixture, "such.crt"), "x");
	assert_planned(fixture, mount_text(at(fixture, "such.crt"), "/etc/ca.crt", ""));
	assert_true(mount_of(fixture, "/etc/ca.crt")->is_file);
	assert_false(mount_of(fixture, "/etc/ca.crt")->is_writable);
}

/* U35: a file is not put over a directory, nor the reverse. */
static void
test_u35_kind(void **state)
{
	struct fixture *fixture = *state;

	make_file(at(fixture, "such.crt"), "x");
	make_dir(at(fixture, "dir"));
	assert_refused(fixture, mount_text(at(fixture, "dir"), "/etc/passwd", ""), HLU_10,
	    "is a directory");
	assert_refused(fixture, mount_text(at(fixture, "such.crt"), "/usr/lib", ""), HLU_10,
	    "is a file");
	assert_planned(fixture, mount_text(at(fixture, "such.crt"), "/etc/passwd", ""));
	assert_planned(fixture, mount_text(at(fixture, "dir"), "/usr/lib", ""));
}

/* U34: colons, commas, spaces and quotes are parts of names like any other. */
static void
test_u34_odd_names(void **state)
{
	static const char *const names[] = { "a:b", "a,b", "a b", "a'b", "a=b" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++) {
		make_dir(at(fixture, names[i]));
		assert_planned(fixture,
		    mount_text(at(fixture, names[i]), "/mnt/x", ", access: rw"));
		assert_string_equal(mount_of(fixture, "/mnt/x")->src, at(fixture, names[i]));
		assert_true(mount_of(fixture, "/mnt/x")->is_writable);
	}
	make_dir(at(fixture, "new\nline"));
	assert_int_equal(symlink("new\nline", at(fixture, "clean")), 0);
	assert_refused(fixture, mount_text(at(fixture, "clean"), "/mnt/x", ""), HLU_11, "control");
}

/* U47: engine sockets, under any name. */
static void
test_u47_engine_sockets(void **state)
{
	static const char *const sources[] = { "/var/run/docker.sock", "/run/docker.sock", "/run",
		"/var/run", "/run/podman/podman.sock", "/proc", "/sys/fs", "/dev", "/dev/null", "/",
		"/etc/hermes-launch", "/etc" };
	struct fixture *fixture = *state;
	char text[512];

	for (size_t i = 0; i < HL_ARRAY_SIZE(sources); i++)
		assert_refused(fixture, mount_text(sources[i], "/mnt/x", ""), HLC_70, sources[i]);
	/* in mode warn as well: a floor has no mode */
	snprintf(text, sizeof(text), "mode: warn\n%s",
	    mount_text("/run/docker.sock", "/mnt/x", ""));
	assert_refused(fixture, text, HLC_70, "docker.sock");
	assert_planned(fixture, mount_text("/usr/share", "/mnt/x", ""));
}

static void
test_u47_endpoint(void **state)
{
	struct fixture *fixture = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char text[1024];

	make_dir(at(fixture, "engine"));
	make_dir(at(fixture, "links"));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", at(fixture, "engine/own.sock"));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(symlink(at(fixture, "engine/own.sock"), at(fixture, "links/soft")), 0);
	assert_int_equal(link(at(fixture, "engine/own.sock"), at(fixture, "links/hard")), 0);
	const char *const sources[] = { "engine/own.sock", "engine", "links/soft", "links/hard" };
	for (size_t i = 0; i < HL_ARRAY_SIZE(sources); i++) {
		snprintf(text, sizeof(text),
		    "backends: [docker]\nimage: [\"x@sha256:%064d\"]\ndocker: {endpoint: %s}\n%s",
		    1, at(fixture, "engine/own.sock"),
		    mount_text(at(fixture, sources[i]), "/mnt/x", ""));
		assert_refused(fixture, text, HLC_70, "own.sock");
	}
	/* on local nobody speaks to that socket: it is a socket like any other */
	assert_planned(fixture, mount_text(at(fixture, "links/hard"), "/mnt/x", ""));
	close(fd);
}

static void
test_secrets_are_no_source(void **state)
{
	struct fixture *fixture = *state;

	make_dir(at(fixture, "home/.aws"));
	make_dir(at(fixture, "home/.awsome"));
	make_file(at(fixture, "home/.aws/credentials"), "x");
	assert_refused(fixture, mount_text("${home}/.aws", "/mnt/x", ""), HLC_72,
	    "cloud credentials");
	assert_refused(fixture, mount_text("${home}/.aws/credentials", "/mnt/x", ""), HLC_72,
	    "lies in");
	assert_refused(fixture, mount_text("${home}", "/mnt/x", ""), HLC_71, "home");
	assert_planned(fixture, mount_text("${home}/.awsome", "/mnt/x", ""));
	assert_string_equal(mount_of(fixture, "/mnt/x")->src, at(fixture, "home/.awsome"));
}

static void
test_one_place(void **state)
{
	struct fixture *fixture = *state;

	make_dir(at(fixture, "a"));
	/* HLC-73: the working directory and HOME are places too */
	assert_refused(fixture, mount_text(at(fixture, "a"), fixture->work, ""), HLC_73,
	    "two mounts");
	assert_refused(fixture, mount_text(at(fixture, "a"), fixture->home, ""), HLC_73,
	    "two mounts");
	/* the default tmpfs gives way */
	assert_planned(fixture, mount_text(at(fixture, "a"), "/tmp", ""));
	for (size_t i = 0; i < fixture->plan.tmpfs_len; i++)
		assert_string_not_equal(fixture->plan.tmpfs[i].dst, "/tmp");
	assert_planned(fixture, mount_text(at(fixture, "a"), "/mnt/x", ""));
}

static void
test_places_are_sorted(void **state)
{
	struct fixture *fixture = *state;
	char text[2048];
	char a[96], b[96];

	snprintf(a, sizeof(a), "%s", at(fixture, "a"));
	snprintf(b, sizeof(b), "%s", at(fixture, "b"));
	make_dir(a);
	make_dir(b);
	/* U119: the deeper mount comes last, in any order of the file */
	for (int order = 0; order < 2; order++) {
		snprintf(text, sizeof(text),
		    "fs:\n  mounts:\n    - {src: %s, dst: %s, access: %s}\n"
		    "    - {src: %s, dst: %s, access: %s}\n",
		    order ? a : b, order ? "/mnt/w" : "/mnt/w/p", order ? "ro" : "rw",
		    order ? b : a, order ? "/mnt/w/p" : "/mnt/w", order ? "rw" : "ro");
		assert_planned(fixture, text);
		size_t outer = (size_t)(mount_of(fixture, "/mnt/w") - fixture->plan.mounts);
		size_t inner = (size_t)(mount_of(fixture, "/mnt/w/p") - fixture->plan.mounts);
		assert_true(outer < inner);
		assert_true(fixture->plan.mounts[inner].is_writable);
		assert_false(fixture->plan.mounts[outer].is_writable);
	}
}

/* U28: exec or noexec, size and mode are all there. */
static void
test_u28_tmpfs(void **state)
{
	struct fixture *fixture = *state;

	assert_planned(fixture, "");
	assert_int_equal(fixture->plan.tmpfs_len, 3);
	assert_string_equal(fixture->plan.tmpfs[0].dst, "/run");
	assert_string_equal(fixture->plan.tmpfs[1].dst, "/tmp");
	assert_true(fixture->plan.tmpfs[1].is_exec);
	assert_int_equal(fixture->plan.tmpfs[1].size, 512 << 20);
	assert_int_equal(fixture->plan.tmpfs[1].mode, 01777);
	assert_planned(fixture,
	    "fs: {tmpfs: [{dst: /tmp, size: 16MiB, exec: false, mode: \"1777\"}]}\n");
	assert_int_equal(fixture->plan.tmpfs_len, 1);
	assert_false(fixture->plan.tmpfs[0].is_exec);
	assert_int_equal(fixture->plan.tmpfs[0].size, 16 << 20);
}

static void
test_volumes(void **state)
{
	struct fixture *fixture = *state;
	char text[1024];

	assert_refused(fixture, mount_text("cache", "/mnt/c", ", kind: volume"), HLD_21, "volume");
	assert_non_null(strstr(fixture->err.msg, "no engine to keep it"));
	assert_non_null(strstr(fixture->err.help, "kind: bind"));
	snprintf(text, sizeof(text), "backends: [docker]\nimage: [\"x@sha256:%064d\"]\n%s", 1,
	    mount_text("cache", "/mnt/c", ", kind: volume"));
	assert_planned(fixture, text);
	assert_true(mount_of(fixture, "/mnt/c")->is_volume);
	assert_string_equal(mount_of(fixture, "/mnt/c")->src, "cache");
	assert_string_equal(fixture->plan.cwd, "/workspace");
}

static void
test_place_of_the_kernel(void **state)
{
	struct fixture *fixture = *state;

	make_dir(at(fixture, "a"));
	assert_int_not_equal(plan_of(fixture, mount_text(at(fixture, "a"), "/mnt/x", "")), -1);
	if (load_text(fixture, "baseline@1", mount_text(at(fixture, "a"), "/proc/x", "")) == 0) {
		assert_int_equal(build_plan(fixture), -1);
		assert_int_equal(fixture->err.code, HLC_70);
	}
}

/* What a bound allows is a tree of files, not what a symbolic link in it leads to. */
static void
test_link_out_of_bound(void **state)
{
	struct fixture *fixture = *state;
	char inside[256], outside[256], own[256], text[2048];

	make_dir(at(fixture, "data"));
	make_dir(at(fixture, "data/v2"));
	make_dir(at(fixture, "other"));
	assert_int_equal(symlink("v2", at(fixture, "data/now")), 0);
	assert_int_equal(symlink("../other", at(fixture, "data/out")), 0);
	snprintf(inside, sizeof(inside), "%s", at(fixture, "data/now"));
	snprintf(outside, sizeof(outside), "%s", at(fixture, "data/out"));
	snprintf(own, sizeof(own), "%s", at(fixture, "data"));
	static const char form[] = "fs:\n  mounts:\n    allowed: [{src: \"%s\", dst: /mnt/d}]\n"
				   "    default: [{src: \"%s\", dst: \"/mnt/d%s\"}]\n";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), form, own, inside, "/now");
	assert_planned(fixture, text);
	assert_string_equal(mount_of(fixture, "/mnt/d/now")->src, at(fixture, "data/v2"));
	snprintf(text, sizeof(text), form, own, outside, "/out");
	assert_refused(fixture, text, HLC_20, "leads to");
	/* The link itself is what the bound allows. */
	snprintf(text, sizeof(text), form, outside, outside, "");
	assert_planned(fixture, text);
#pragma GCC diagnostic pop
	assert_planned(fixture, mount_text(outside, "/mnt/d/out", ""));
	snprintf(text, sizeof(text), "fs:\n  mounts: [{src: \"%s\", dst: /mnt/d}]\n", own);
	assert_planned(fixture, text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_workdir, setup, teardown),
		cmocka_unit_test_setup_teardown(test_workdir_elsewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u37_broad_workdir, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u40_kernel_workdir, setup, teardown),
		cmocka_unit_test_setup_teardown(test_workdir_and_state, setup, teardown),
		cmocka_unit_test_setup_teardown(test_workdir_denied, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u35_missing_source, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u35_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u34_odd_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u47_engine_sockets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u47_endpoint, setup, teardown),
		cmocka_unit_test_setup_teardown(test_secrets_are_no_source, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_places_are_sorted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u28_tmpfs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_volumes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_place_of_the_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link_out_of_bound, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
