/*
 * Lowering to the native sandbox: plan and host in, confinement out. Nothing is started and nothing
 * of this machine is looked at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/backends.h"
#include "backends/local/local.h"

#include "base/banned.h"

/* A plan and a host as most tests want them; every string is a literal, nothing is freed. */
struct scene {
	struct plan plan;
	struct local_host host;
	struct local_entry entries[16];
	struct local_bind binds[4];
	struct plan_mount mounts[8];
	struct plan_tmpfs tmpfs[4];
	struct lowered lowered;
	struct hl_err err;
};

/* The structs have `char *` because they own; here they borrow. */
static char *
text(const char *literal)
{
	union {
		const char *in;
		char *out;
	} both = { .in = literal };

	return both.out;
}

static void
add_entry(struct scene *scene, const char *path, const char *target)
{
	struct local_entry *entry = &scene->entries[scene->host.entries_len++];

	*entry = (struct local_entry){
		.kind = target == NULL ? LOCAL_ENTRY_DIR : LOCAL_ENTRY_SYMLINK,
		.path = text(path),
		.target = text(target),
		.dev = 9,
		.ino = 100 + scene->host.entries_len,
	};
}

static struct plan_mount *
add_mount(struct scene *scene, const char *src, const char *dst, bool is_writable)
{
	struct plan_mount *mount = &scene->mounts[scene->plan.mounts_len++];

	*mount = (struct plan_mount){
		.src = text(src),
		.dst = text(dst),
		.is_writable = is_writable,
		.is_exec = true,
		.dev = 8,
		.ino = 77,
		.origin = { .layer = "team", .where = { .line = 12 } },
	};
	return mount;
}

static int
setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->host.entries = scene->entries;
	scene->host.binds = scene->binds;
	scene->plan.mounts = scene->mounts;
	scene->plan.tmpfs = scene->tmpfs;
	add_entry(scene, "/bin", "usr/bin");
	add_entry(scene, "/dev", NULL);
	add_entry(scene, "/etc", NULL);
	add_entry(scene, "/home", NULL);
	add_entry(scene, "/lost+found", NULL);
	add_entry(scene, "/proc", NULL);
	add_entry(scene, "/root", NULL);
	add_entry(scene, "/run", NULL);
	add_entry(scene, "/srv", NULL);
	add_entry(scene, "/sys", NULL);
	add_entry(scene, "/tmp", NULL);
	add_entry(scene, "/usr", NULL);
	scene->plan.uid = 65534;
	scene->plan.gid = 65534;
	scene->plan.isolation = PLAN_ISOLATION_CONFINED;
	scene->plan.no_new_privs = true;
	scene->plan.landlock = true;
	scene->plan.seccomp = CONFINE_PROFILE_DEFAULT;
	scene->plan.network = PLAN_NETWORK_NONE;
	scene->tmpfs[0] = (struct plan_tmpfs){ .dst = text("/tmp"),
		.size = 1 << 20,
		.is_exec = true,
		.mode = 01777 };
	scene->plan.tmpfs_len = 1;
	scene->plan.home =
	    (struct plan_home){ .kind = PLAN_HOME_TMPFS, .path = text("/home/agent") };
	hl_strv_init(&scene->plan.deny, 64);
	add_mount(scene, "/srv/work", "/srv/work", true)->is_workdir = true;
	lowered_init(&scene->lowered);
	*state = scene;
	return 0;
}

static int
teardown(void **state)
{
	struct scene *scene = *state;

	lowered_done(&scene->lowered);
	hl_strv_done(&scene->plan.deny);
	free(scene);
	return 0;
}

static int
lower(struct scene *scene)
{
	lowered_done(&scene->lowered);
	lowered_init(&scene->lowered);
	return local_lower(&scene->plan, &scene->host, &scene->lowered, &scene->err);
}

/* Index of the op at dst, -1 = none. */
static int
find(const struct scene *scene, enum confine_op_kind kind, const char *dst)
{
	const struct confinement *confinement = &scene->lowered.confinement;

	for (size_t i = 0; i < confinement->ops_len; i++)
		if (confinement->ops[i].kind == kind && strcmp(confinement->ops[i].dst, dst) == 0)
			return (int)i;
	return -1;
}

static const struct confine_op *
must(const struct scene *scene, enum confine_op_kind kind, const char *dst)
{
	int i = find(scene, kind, dst);

	assert_true(i >= 0);
	return &scene->lowered.confinement.ops[i];
}

static uint32_t
rule(const struct scene *scene, const char *path)
{
	const struct confinement *confinement = &scene->lowered.confinement;

	for (size_t i = 0; i < confinement->rules_len; i++)
		if (strcmp(confinement->rules[i].path, path) == 0)
			return confinement->rules[i].access;
	return 0;
}

static bool
has_line(const struct scene *scene, const char *line)
{
	for (size_t i = 0; i < scene->lowered.lines_len; i++)
		if (strcmp(scene->lowered.lines[i].text, line) == 0)
			return true;
	return false;
}

static void
the_host_is_read_only_and_what_is_private_is_replaced(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(lower(scene), 0);
	const struct confine_op *usr = must(scene, CONFINE_OP_BIND, "/usr");
	assert_int_equal(usr->flags, CONFINE_OP_RDONLY | CONFINE_OP_RECURSIVE);
	assert_int_equal(usr->dev, 9);
	assert_int_equal(usr->ino, 112);
	assert_string_equal(must(scene, CONFINE_OP_SYMLINK, "/bin")->src, "usr/bin");
	static const char *const absent[] = { "/home", "/root", "/run", "/sys", "/tmp", "/dev",
		"/proc", "/lost+found" };
	for (size_t i = 0; i < HL_ARRAY_SIZE(absent); i++)
		assert_int_equal(find(scene, CONFINE_OP_BIND, absent[i]), -1);
	must(scene, CONFINE_OP_DIR, "/sys");
	must(scene, CONFINE_OP_DIR, "/root");
	must(scene, CONFINE_OP_PROC, "/proc");
	must(scene, CONFINE_OP_DEV, "/dev");
	assert_int_equal(must(scene, CONFINE_OP_TMPFS, "/tmp")->mode, 01777);
	assert_int_equal(must(scene, CONFINE_OP_TMPFS, "/home/agent")->mode, 0700);
	assert_int_equal(find(scene, CONFINE_OP_DIR, "/lost+found"), -1);
	assert_true(has_line(scene, "bind /usr read-only exec"));
	assert_true(has_line(scene, "tmpfs /tmp mode=1777 size=1MiB exec"));
	assert_true(has_line(scene, "network none but loopback"));
}

static void
parents_come_before_children(void **state)
{
	struct scene *scene = *state;
	const struct confinement *confinement = &scene->lowered.confinement;

	add_mount(scene, "/srv/data", "/opt2/deep/er/data", false);
	add_mount(scene, "/srv/x", "/tmp/a/b", true);
	hl_strv_add(&scene->plan.deny, "/etc/shadow");
	assert_int_equal(lower(scene), 0);
	for (size_t i = 0; i < confinement->ops_len; i++)
		for (size_t j = 0; j < i; j++)
			assert_false(
			    strcmp(confinement->ops[i].dst, confinement->ops[j].dst) != 0 &&
			    hl_path_is_beneath(confinement->ops[j].dst, confinement->ops[i].dst));
	/* Parents are made where the file system is ours, and nowhere else. */
	must(scene, CONFINE_OP_DIR, "/opt2");
	must(scene, CONFINE_OP_DIR, "/opt2/deep/er");
	must(scene, CONFINE_OP_DIR, "/tmp/a");
	must(scene, CONFINE_OP_DIR, "/home");
	assert_int_equal(find(scene, CONFINE_OP_DIR, "/srv"), -1);
	assert_true(
	    find(scene, CONFINE_OP_MASK, "/etc/shadow") > find(scene, CONFINE_OP_BIND, "/etc"));
}

static void
writable_places_and_only_they_are_writable_by_rule(void **state)
{
	struct scene *scene = *state;
	const uint32_t all = CONFINE_READ | CONFINE_WRITE | CONFINE_EXEC;

	add_mount(scene, "/srv/ro", "/srv/ro", false);
	add_mount(scene, "/srv/data", "/srv/data", true)->is_exec = false;
	assert_int_equal(lower(scene), 0);
	assert_int_equal(rule(scene, "/"), CONFINE_READ | CONFINE_EXEC);
	assert_int_equal(rule(scene, "/srv/work"), all);
	assert_int_equal(rule(scene, "/tmp"), all);
	assert_int_equal(rule(scene, "/home/agent"), all);
	assert_int_equal(rule(scene, "/dev"), CONFINE_READ | CONFINE_WRITE);
	assert_int_equal(rule(scene, "/srv/ro"), 0);
	assert_int_equal(rule(scene, "/proc"), 0);
	assert_int_equal(rule(scene, "/srv/data"), CONFINE_READ | CONFINE_WRITE);
	assert_int_equal(must(scene, CONFINE_OP_BIND, "/srv/data")->flags,
	    CONFINE_OP_RECURSIVE | CONFINE_OP_NOEXEC);
	/* The sibling: a writable root is writable, mount and rule. */
	scene->plan.root = PLAN_ROOT_WRITABLE;
	assert_int_equal(lower(scene), 0);
	assert_int_equal(rule(scene, "/"), all);
	assert_int_equal(must(scene, CONFINE_OP_BIND, "/usr")->flags, CONFINE_OP_RECURSIVE);
}

/* A denied path is covered wherever a bind shows it: under its own name and under another. */
static void
denied_paths_are_covered_in_every_view(void **state)
{
	struct scene *scene = *state;

	add_mount(scene, "/srv/work", "/mirror", true);
	hl_strv_add(&scene->plan.deny, "/etc/shadow");
	hl_strv_add(&scene->plan.deny, "/srv/work/.env");
	hl_strv_add(&scene->plan.deny, "/root/.ssh"); /* not shown: nothing to cover */
	hl_strv_add(&scene->plan.deny, "/tmp/x");     /* ours: nothing of the host there */
	assert_int_equal(lower(scene), 0);
	assert_int_equal(must(scene, CONFINE_OP_MASK, "/etc/shadow")->flags, CONFINE_OP_OPTIONAL);
	must(scene, CONFINE_OP_MASK, "/srv/work/.env");
	must(scene, CONFINE_OP_MASK, "/mirror/.env");
	assert_int_equal(find(scene, CONFINE_OP_MASK, "/root/.ssh"), -1);
	assert_int_equal(find(scene, CONFINE_OP_MASK, "/tmp/x"), -1);
	/* One cover per view: the bind of /srv does not show what the deeper bind covers. */
	int count = 0;
	for (size_t i = 0; i < scene->lowered.confinement.ops_len; i++)
		count += scene->lowered.confinement.ops[i].kind == CONFINE_OP_MASK;
	assert_int_equal(count, 3);
}

/* A host directory as a whole can be denied; what the policy mounts cannot, nor what holds it. */
static void
covers_and_mounts_that_undo_each_other_are_refused(void **state)
{
	struct scene *scene = *state;

	hl_strv_add(&scene->plan.deny, "/etc");
	assert_int_equal(lower(scene), 0);
	must(scene, CONFINE_OP_MASK, "/etc");
	hl_strv_add(&scene->plan.deny, "/srv/work");
	assert_int_equal(lower(scene), -1);
	assert_string_equal(hl_code_info(scene->err.code)->id, "HLB-28");
	hl_strv_done(&scene->plan.deny);
	hl_strv_init(&scene->plan.deny, 64);
	hl_strv_add(&scene->plan.deny, "/srv");
	assert_int_equal(lower(scene), -1);
	assert_string_equal(hl_code_info(scene->err.code)->id, "HLB-28");
	assert_non_null(strstr(scene->err.msg, "/srv"));
}

static void
policies_in_a_writable_directory_are_read_only(void **state)
{
	struct scene *scene = *state;

	scene->binds[0] = (struct local_bind){ .src = text("/srv/work/.hermes"),
		.dst = text("/srv/work/.hermes"),
		.dev = 3,
		.ino = 4 };
	scene->host.binds_len = 1;
	assert_int_equal(lower(scene), 0);
	const struct confine_op *op = must(scene, CONFINE_OP_BIND, "/srv/work/.hermes");
	assert_int_equal(op->flags, CONFINE_OP_RDONLY | CONFINE_OP_RECURSIVE);
	assert_int_equal(op->ino, 4);
	assert_true(find(scene, CONFINE_OP_BIND, "/srv/work/.hermes") >
		    find(scene, CONFINE_OP_BIND, "/srv/work"));
}

static void
strict_shows_only_what_runs_programs(void **state)
{
	struct scene *scene = *state;

	add_entry(scene, "/opt", NULL);
	assert_int_equal(lower(scene), 0);
	must(scene, CONFINE_OP_BIND, "/opt");
	must(scene, CONFINE_OP_BIND, "/srv");
	scene->plan.isolation = PLAN_ISOLATION_STRICT;
	assert_int_equal(lower(scene), 0);
	assert_int_equal(find(scene, CONFINE_OP_BIND, "/opt"), -1);
	assert_int_equal(find(scene, CONFINE_OP_BIND, "/srv"), -1);
	must(scene, CONFINE_OP_DIR, "/srv"); /* the way to the working directory */
	must(scene, CONFINE_OP_BIND, "/srv/work");
	must(scene, CONFINE_OP_BIND, "/usr");
	must(scene, CONFINE_OP_SYMLINK, "/bin");
	assert_true(must(scene, CONFINE_OP_PROC, "/proc")->flags & CONFINE_OP_SUBSET);
}

static void
the_working_directory_goes_before_tmpfs_and_home(void **state)
{
	struct scene *scene = *state;

	add_mount(scene, "/tmp", "/tmp", true);
	assert_int_equal(lower(scene), 0);
	must(scene, CONFINE_OP_BIND, "/tmp");
	assert_int_equal(find(scene, CONFINE_OP_TMPFS, "/tmp"), -1);
	scene->plan.home = (struct plan_home){ .kind = PLAN_HOME_BIND,
		.path = text("/home/agent"),
		.src = text("/srv/h"),
		.ino = 5 };
	assert_int_equal(lower(scene), 0);
	const struct confine_op *home = must(scene, CONFINE_OP_BIND, "/home/agent");
	assert_string_equal(home->src, "/srv/h");
	assert_int_equal(home->ino, 5);
}

static void
identity_and_capabilities_follow_the_caller(void **state)
{
	struct scene *scene = *state;
	const struct confinement *confinement = &scene->lowered.confinement;

	scene->plan.caps = 3;
	assert_int_equal(lower(scene), 0);
	assert_true(confinement->flags & CONFINE_IDENTITY);
	assert_int_equal(confinement->uid, 65534);
	assert_int_equal(confinement->caps_bounding, 0); /* not root: no capability is kept */
	assert_true(has_line(scene, "capabilities none"));
	scene->plan.uid = 0;
	assert_int_equal(lower(scene), 0);
	assert_int_equal(confinement->caps_bounding, 3);
	assert_int_equal(confinement->caps_effective, 3);
	assert_true(has_line(scene, "capabilities CHOWN DAC_OVERRIDE"));
	/* An ordinary caller is itself and nobody else. */
	scene->host.uid = 1000;
	scene->host.gid = 1000;
	assert_int_equal(lower(scene), -1);
	assert_string_equal(hl_code_info(scene->err.code)->id, "HLB-28");
	scene->plan.uid = 1000;
	scene->plan.gid = 1000;
	assert_int_equal(lower(scene), 0);
	assert_false(confinement->flags & CONFINE_IDENTITY);
	assert_int_equal(confinement->caps_bounding, 0);
	assert_true(has_line(scene, "namespaces user mount pid ipc uts cgroup"));
}

static void
locks_follow_the_plan(void **state)
{
	struct scene *scene = *state;
	const uint32_t locks = CONFINE_NO_NEW_PRIVS | CONFINE_LANDLOCK | CONFINE_SECCOMP |
			       CONFINE_CAPS | CONFINE_MOUNTS | CONFINE_KEYRING | CONFINE_LOOPBACK;

	assert_int_equal(lower(scene), 0);
	assert_int_equal(scene->lowered.confinement.flags & locks, locks);
	assert_true(scene->lowered.confinement.bpf_len > 0);
	scene->plan.seccomp = CONFINE_PROFILE_NONE;
	scene->plan.landlock = false;
	scene->plan.network = PLAN_NETWORK_HOST;
	assert_int_equal(lower(scene), 0);
	assert_int_equal(scene->lowered.confinement.flags &
			     (CONFINE_LANDLOCK | CONFINE_SECCOMP | CONFINE_LOOPBACK),
	    0);
	scene->plan.no_new_privs = false;
	assert_int_equal(lower(scene), 0);
	assert_false(scene->lowered.confinement.flags & CONFINE_NO_NEW_PRIVS);
	/* The kernel takes no filter from a process without it: said here, not found out later. */
	scene->plan.seccomp = CONFINE_PROFILE_STRICT;
	assert_int_equal(lower(scene), -1);
	assert_string_equal(hl_code_info(scene->err.code)->id, "HLB-28");
}

static void
volumes_are_refused_and_shm_of_nothing_is_small(void **state)
{
	struct scene *scene = *state;

	scene->plan.limits[PLAN_LIMIT_SHM] = (struct plan_number){ .has = true, .value = 0 };
	assert_int_equal(lower(scene), 0);
	assert_int_equal(must(scene, CONFINE_OP_DEV, "/dev")->size, 1);
	scene->plan.limits[PLAN_LIMIT_SHM].value = 4096;
	assert_int_equal(lower(scene), 0);
	assert_int_equal(must(scene, CONFINE_OP_DEV, "/dev")->size, 4096);
	add_mount(scene, "cache", "/srv/cache", true)->is_volume = true;
	assert_int_equal(lower(scene), -1);
	assert_string_equal(hl_code_info(scene->err.code)->id, "HLB-28");
}

static void
lines_carry_their_origin(void **state)
{
	struct scene *scene = *state;

	scene->plan.limits[PLAN_LIMIT_PIDS] = (struct plan_number){ .has = true,
		.value = 64,
		.origin = { .layer = "org", .where = { .line = 3 } } };
	scene->plan.limits[PLAN_LIMIT_MEMORY] =
	    (struct plan_number){ .has = true, .value = 1 << 30 };
	assert_int_equal(lower(scene), 0);
	assert_true(has_line(scene, "limit pids=64"));
	assert_true(has_line(scene, "limit memory=1GiB"));
	for (size_t i = 0; i < scene->lowered.lines_len; i++) {
		const struct lowered_line *line = &scene->lowered.lines[i];
		if (strcmp(line->text, "bind /srv/work writable exec") == 0)
			assert_int_equal(line->origin.where.line, 12);
		if (strcmp(line->text, "limit pids=64") == 0)
			assert_string_equal(line->origin.layer, "org");
	}
	assert_true(has_line(scene, "bind /srv/work writable exec"));
}

static void
more_parts_than_fit_are_refused(void **state)
{
	struct scene *scene = *state;

	hl_strv_done(&scene->plan.deny);
	hl_strv_init(&scene->plan.deny, 4096);
	for (int i = 0; i < 1000; i++)
		hl_strv_addf(&scene->plan.deny, "/etc/secret%d", i);
	assert_int_equal(lower(scene), 0);
	must(scene, CONFINE_OP_MASK, "/etc/secret999");
	for (int i = 1000; i < 3000; i++)
		hl_strv_addf(&scene->plan.deny, "/etc/secret%d", i);
	assert_int_equal(lower(scene), -1);
	assert_string_equal(hl_code_info(scene->err.code)->id, "HLI-03");
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* Strict refuses TCP as well where there is no network; the default level keeps its loopback. */
static void
strict_without_network_has_no_tcp(void **state)
{
	struct scene *scene = *state;
	const struct {
		enum plan_isolation isolation;
		enum plan_network network;
		bool has_no_tcp;
	} rows[] = {
		{ PLAN_ISOLATION_STRICT, PLAN_NETWORK_NONE, true },
		{ PLAN_ISOLATION_STRICT, PLAN_NETWORK_HOST, false },
		{ PLAN_ISOLATION_CONFINED, PLAN_NETWORK_NONE, false },
	};

	scene->host.landlock_abi = 7;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		lowered_done(&scene->lowered);
		lowered_init(&scene->lowered);
		scene->plan.isolation = rows[i].isolation;
		scene->plan.network = rows[i].network;
		assert_int_equal(local_lower(&scene->plan, &scene->host, &scene->lowered,
				     &scene->err),
		    0);
		assert_int_equal((scene->lowered.confinement.flags & CONFINE_NO_TCP) != 0,
		    rows[i].has_no_tcp);
	}
}

/* Nothing of the sandbox: a root caller's command is still another user. */
static void
scrub_has_the_user_and_nothing_else(void **state)
{
	struct scene *scene = *state;

	scene->plan.isolation = PLAN_ISOLATION_SCRUB;
	assert_int_equal(local_lower(&scene->plan, &scene->host, &scene->lowered, &scene->err), 0);
	assert_int_equal(scene->lowered.confinement.flags, CONFINE_IDENTITY);
	assert_int_equal(scene->lowered.confinement.ops_len, 0);
	assert_int_equal(scene->lowered.confinement.bpf_len, 0);
	scene->host.uid = scene->host.gid = 1000;
	lowered_done(&scene->lowered);
	lowered_init(&scene->lowered);
	assert_int_equal(local_lower(&scene->plan, &scene->host, &scene->lowered, &scene->err), -1);
	assert_int_equal(scene->err.code, HLB_28);
	scene->plan.uid = scene->plan.gid = 1000;
	assert_int_equal(local_lower(&scene->plan, &scene->host, &scene->lowered, &scene->err), 0);
	assert_int_equal(scene->lowered.confinement.flags, 0);
}

/* Devices come into the /dev that was made before them, as files that only the kernel writes. */
static void
devices_stand_in_dev(void **state)
{
	struct scene *scene = *state;
	struct plan_device devices[] = {
		{ .src = text("/dev/dri/renderD128"), .dst = text("/dev/gpu"), .rdev = 0xe280 },
		{ .src = text("/dev/net/tun"), .dst = text("/dev/net/tun"), .dev = 6, .ino = 77 },
	};

	assert_int_equal(lower(scene), 0);
	assert_int_equal(find(scene, CONFINE_OP_BIND, "/dev/net/tun"), -1);
	lowered_done(&scene->lowered);
	lowered_init(&scene->lowered);
	scene->plan.devices = devices;
	scene->plan.devices_len = HL_ARRAY_SIZE(devices);
	assert_int_equal(lower(scene), 0);
	const struct confine_op *tun = must(scene, CONFINE_OP_BIND, "/dev/net/tun");
	assert_int_equal(tun->flags,
	    CONFINE_OP_DEVICE | CONFINE_OP_FILE | CONFINE_OP_RDONLY | CONFINE_OP_NOEXEC);
	assert_int_equal(tun->dev, 6);
	assert_int_equal(tun->ino, 77);
	assert_int_equal(must(scene, CONFINE_OP_BIND, "/dev/gpu")->size, 0xe280);
	assert_true(find(scene, CONFINE_OP_BIND, "/dev/gpu") > find(scene, CONFINE_OP_DEV, "/dev"));
	assert_true(has_line(scene, "device /dev/net/tun"));
	assert_true(has_line(scene, "device /dev/dri/renderD128 at /dev/gpu"));
	struct hl_buf bytes;
	hl_buf_init(&bytes, 1 << 20);
	assert_int_equal(confine_encode(&scene->lowered.confinement, &bytes, &scene->err), 0);
	hl_buf_done(&bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(the_host_is_read_only_and_what_is_private_is_replaced),
		SCENE(parents_come_before_children),
		SCENE(writable_places_and_only_they_are_writable_by_rule),
		SCENE(denied_paths_are_covered_in_every_view),
		SCENE(covers_and_mounts_that_undo_each_other_are_refused),
		SCENE(policies_in_a_writable_directory_are_read_only),
		SCENE(strict_shows_only_what_runs_programs),
		SCENE(the_working_directory_goes_before_tmpfs_and_home),
		SCENE(identity_and_capabilities_follow_the_caller),
		SCENE(locks_follow_the_plan),
		SCENE(volumes_are_refused_and_shm_of_nothing_is_small),
		SCENE(lines_carry_their_origin),
		SCENE(more_parts_than_fit_are_refused),
		SCENE(strict_without_network_has_no_tcp),
		SCENE(scrub_has_the_user_and_nothing_else),
		SCENE(devices_stand_in_dev),
	};

	return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
