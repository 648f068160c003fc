/*
 * What is covered inside, and the table behind it.
 */
#include "plan_fixture.h"

struct row {
	const char *class, *base, *path, *reason;
};

static const struct row rows[] = {
#define DENY(class_, base_, path_, reason_) { #class_, #base_, path_, reason_ },
#include "launcher/deny.def"
#undef DENY
};

static int
rank(const char *word, const char *const *order, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(order[i], word) == 0)
			return i;
	return -1;
}

static void
test_table(void **state)
{
	static const char *const classes[] = { "FLOOR", "SOCKET", "SECRET", "HIDE" };
	static const char *const bases[] = { "ROOT", "HOME", "RUNTIME" };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		bool is_absolute = strcmp(rows[i].base, "ROOT") == 0;
		assert_true(rows[i].reason[0] != '\0');
		assert_true(
		    rank(rows[i].class, classes, 4) >= 0 && rank(rows[i].base, bases, 3) >= 0);
		assert_int_equal(rows[i].path[0] == '/', is_absolute);
		if (i == 0)
			continue;
		int order = rank(rows[i].class, classes, 4) - rank(rows[i - 1].class, classes, 4);
		if (order == 0)
			order = rank(rows[i].base, bases, 3) - rank(rows[i - 1].base, bases, 3);
		if (order == 0)
			order = strcmp(rows[i].path, rows[i - 1].path);
		assert_true(order > 0);
	}
}

static bool
is_covered(const struct fixture *fixture, const char *path)
{
	return hl_strv_contains(&fixture->plan.deny, path);
}

/* Secrets below a mount are covered; below the private home there is nothing to cover. */
static void
test_builtin(void **state)
{
	struct fixture *fixture = *state;
	char text[512];

	make_dir(at(fixture, "home/.ssh"));
	make_dir(at(fixture, "home/.cargo/bin"));
	make_file(at(fixture, "home/.cargo/credentials.toml"), "x");
	make_file(at(fixture, "home/.netrc"), "x");
	snprintf(text, sizeof(text), "fs: {mounts: [{src: %s, dst: /mnt/c}]}\n",
	    at(fixture, "home/.cargo"));
	assert_planned(fixture, text);
	assert_false(is_covered(fixture, at(fixture, "home/.ssh")));
	assert_false(is_covered(fixture, at(fixture, "home/.netrc")));
	assert_true(is_covered(fixture, at(fixture, "home/.cargo/credentials.toml")));
	/* without the mount it is not seen, and not covered */
	assert_planned(fixture, "");
	assert_false(is_covered(fixture, at(fixture, "home/.cargo/credentials.toml")));
	assert_true(is_covered(fixture, "/etc/shadow"));
}

/* Files of credentials that a client would ask, whichever the backend is. */
static void
test_registry_files(void **state)
{
	static const struct {
		const char *variable, *below, *file;
	} named[] = {
		{ "DOCKER_CONFIG", "work/conf", "work/conf/config.json" },
		{ "REGISTRY_AUTH_FILE", "work/a.json", "work/a.json" },
		{ "XDG_CONFIG_HOME", "work/xdg", "work/xdg/containers/auth.json" },
		{ "XDG_RUNTIME_DIR", "work/run", "work/run/containers/auth.json" },
	};
	struct fixture *fixture = *state;

	make_dir(at(fixture, "work/conf"));
	make_dir(at(fixture, "work/xdg/containers"));
	make_dir(at(fixture, "work/run/containers"));
	for (size_t i = 0; i < HL_ARRAY_SIZE(named); i++) {
		char entry[256];
		const char *file = at(fixture, named[i].file);
		make_file(file, "{}");
		assert_planned(fixture, "");
		assert_false(is_covered(fixture, file));
		snprintf(entry, sizeof(entry), "%s=%s", named[i].variable,
		    at(fixture, named[i].below));
		set_variable(fixture, entry);
		assert_planned(fixture, "");
		assert_true(is_covered(fixture, at(fixture, named[i].file)));
	}
}

/* All of it: nothing is left to run in, and that is said. A pattern of some of it is not. */
static void
test_everything(void **state)
{
	static const char *const patterns[] = { "/", "/**", "/*" };
	struct fixture *fixture = *state;
	char text[128];

	for (size_t i = 0; i < HL_ARRAY_SIZE(patterns); i++) {
		snprintf(text, sizeof(text), "fs: {deny: [\"%s\"]}\n", patterns[i]);
		assert_refused(fixture, text, HLC_72, "fs.deny");
	}
	assert_planned(fixture, "fs: {deny: [\"/srv/**\"]}\n");
}

/* An account that has none, or another, leaves its programs' credentials below $HOME. */
static void
test_home_of_the_environment(void **state)
{
	struct fixture *fixture = *state;
	char text[512];

	make_dir(at(fixture, "other/.ssh"));
	make_file(at(fixture, "other/.netrc"), "x");
	snprintf(text, sizeof(text), "fs: {mounts: [{src: %s, dst: /mnt/o}]}\n",
	    at(fixture, "other"));
	assert_planned(fixture, text);
	assert_false(is_covered(fixture, at(fixture, "other/.ssh")));
	HL_AUTO_FREE char *home = NULL;
	assert_true(asprintf(&home, "HOME=%s/./", at(fixture, "other")) > 0);
	fixture->environment[0] = home;
	assert_planned(fixture, text);
	assert_true(is_covered(fixture, at(fixture, "other/.ssh")));
	assert_true(is_covered(fixture, at(fixture, "other/.netrc")));
	snprintf(text, sizeof(text), "fs: {mounts: [{src: %s, dst: /mnt/o}]}\n",
	    at(fixture, "other/.ssh"));
	assert_refused(fixture, text, HLC_72, ".ssh");
	fixture->environment[0] = NULL;
}

static void
test_authored(void **state)
{
	struct fixture *fixture = *state;
	char text[512];

	make_dir(at(fixture, "work/a/secrets/in"));
	make_file(at(fixture, "work/a/.env"), "x");
	make_file(at(fixture, "work/b.pem"), "x");
	make_dir(at(fixture, "home/notes"));
	snprintf(text, sizeof(text),
	    "fs: {deny: [\"%s/**/.env\", \"%s/*.pem\", \"%s/a/secrets/**\", \"~/notes\"]}\n",
	    fixture->work, fixture->work, fixture->work);
	assert_planned(fixture, text);
	assert_true(is_covered(fixture, at(fixture, "work/a/.env")));
	assert_true(is_covered(fixture, at(fixture, "work/b.pem")));
	assert_true(is_covered(fixture, at(fixture, "work/a/secrets")));
	assert_false(is_covered(fixture, at(fixture, "work/a/secrets/in")));
	assert_false(is_covered(fixture, at(fixture, "work/a")));
	for (size_t i = 0; i < fixture->plan.deny.len; i++) {
		bool is_ours = hl_path_is_beneath(fixture->plan.deny.v[i], fixture->work);
		const struct hl_origin *origin = &fixture->plan.deny_origins[i];
		assert_int_equal(origin->where.line, is_ours ? 4 : 0);
		assert_string_equal(origin->layer, is_ours ? "task" : "built-in");
	}
	assert_planned(fixture, "");
	assert_false(is_covered(fixture, at(fixture, "work/a/.env")));
}

/* A placeholder names the same places as the path that it stands for. */
static void
test_authored_placeholders(void **state)
{
	struct fixture *fixture = *state;
	char text[512];

	make_dir(at(fixture, "work/a"));
	make_file(at(fixture, "work/a/.env"), "x");
	make_file(at(fixture, "work/b.pem"), "x");
	assert_planned(fixture, "fs: {deny: [\"${workdir}/**/.env\", \"${workdir}/b.pem\"]}\n");
	assert_true(is_covered(fixture, at(fixture, "work/a/.env")));
	assert_true(is_covered(fixture, at(fixture, "work/b.pem")));
	assert_false(is_covered(fixture, at(fixture, "work/a")));
	/* The working directory is the policy's, where it names one. */
	snprintf(text, sizeof(text),
	    "fs: {workdir: {path: \"%s/a\", access: rw}, deny: [\"${workdir}/.env\"]}\n",
	    fixture->work);
	assert_planned(fixture, text);
	assert_true(is_covered(fixture, at(fixture, "work/a/.env")));
}

/* On docker only what a mount shows is covered. */
static void
test_container(void **state)
{
	struct fixture *fixture = *state;
	char text[1024];

	make_file(at(fixture, "work/.env"), "x");
	make_dir(at(fixture, "elsewhere"));
	snprintf(text, sizeof(text),
	    "backends: [docker]\nimage: [\"x@sha256:%064d\"]\n"
	    "fs: {deny: [\"%s/.env\", \"%s/elsewhere\"]}\n",
	    1, fixture->work, fixture->root);
	assert_planned(fixture, text);
	assert_true(is_covered(fixture, at(fixture, "work/.env")));
	assert_false(is_covered(fixture, at(fixture, "elsewhere")));
	assert_false(is_covered(fixture, "/etc/shadow"));
}

static void
test_state_is_covered(void **state)
{
	struct fixture *fixture = *state;

	/* below /tmp it is hidden already; elsewhere it is covered, also before it exists */
	assert_planned(fixture, "");
	assert_false(is_covered(fixture, fixture->state));
	fixture->host.state_dir = "/var/tmp-not-there/hl-state";
	assert_int_equal(build_plan(fixture), 0);
	assert_true(is_covered(fixture, "/var/tmp-not-there/hl-state"));
	fixture->host.state_dir = fixture->state;
}

/* A policy in a writable mount. */
static void
write_policy(struct fixture *fixture, const char *name, const char *extra)
{
	char text[512];

	snprintf(text, sizeof(text),
	    "version: 1\nid: test/inside\nlevel: baseline@1\nbackends: [local]\n%s", extra);
	make_file(at(fixture, name), text);
	assert_int_equal(load_file(fixture, at(fixture, name)), 0);
}

static void
test_u49_policy_in_workdir(void **state)
{
	struct fixture *fixture = *state;
	char ro[128];

	write_policy(fixture, "work/p.yaml", "");
	assert_int_equal(build_plan(fixture), -1);
	assert_int_equal(fixture->err.code, HLC_74);
	assert_non_null(strstr(fixture->err.help, "move it to .hermes/"));
	/* what cannot be written may hold it */
	snprintf(ro, sizeof(ro), "fs: {workdir: {access: ro}}\n");
	write_policy(fixture, "work/p.yaml", ro);
	assert_int_equal(build_plan(fixture), 0);
	/* in warn it is told */
	write_policy(fixture, "work/p.yaml", "mode: warn\n");
	assert_int_equal(build_plan(fixture), 0);
	struct plan_notes notes;
	assert_int_equal(plan_notes(fixture->policy, &fixture->host, &fixture->plan, &notes,
			     &fixture->err),
	    0);
	assert_int_equal(notes.warnings.len, 1);
	assert_non_null(strstr(notes.warnings.v[0], ".hermes/"));
	plan_notes_done(&notes);
	/* and covered, so that it cannot be written all the same */
	assert_true(is_covered(fixture, at(fixture, "work/p.yaml")));
}

static void
test_u49_hermes_folder(void **state)
{
	struct fixture *fixture = *state;
	char text[512];

	make_dir(at(fixture, "work/.hermes"));
	write_policy(fixture, "work/.hermes/policy.yaml", "");
	assert_int_equal(build_plan(fixture), 0);
	const struct plan_mount *folder = mount_of(fixture, at(fixture, "work/.hermes"));
	assert_non_null(folder);
	assert_false(folder->is_writable);
	assert_false(is_covered(fixture, at(fixture, "work/.hermes")));
	/* the folder is read-only also when the policy came from elsewhere: the next run looks
	 * there */
	assert_planned(fixture, "");
	assert_non_null(mount_of(fixture, at(fixture, "work/.hermes")));
	/* so it is in any other mount that can be written */
	make_dir(at(fixture, "other/.hermes"));
	snprintf(text, sizeof(text), "fs: {mounts: [{src: %s, dst: /mnt/o, access: rw}]}\n",
	    at(fixture, "other"));
	assert_planned(fixture, text);
	folder = mount_of(fixture, "/mnt/o/.hermes");
	assert_non_null(folder);
	assert_false(folder->is_writable);
	/* nor can it be mounted for writing under another name */
	write_policy(fixture, "work/.hermes/policy.yaml", "");
	snprintf(text, sizeof(text), "fs: {mounts: [{src: %s, dst: /mnt/x, access: rw}]}\n",
	    at(fixture, "work/.hermes"));
	write_policy(fixture, "work/.hermes/policy.yaml", text);
	assert_int_equal(build_plan(fixture), -1);
	assert_int_equal(fixture->err.code, HLC_70);
}

/* Directories on the way to the folder become mount points: they cannot be renamed then. */
static void
test_u49_way_to_the_folder(void **state)
{
	struct fixture *fixture = *state;

	make_dir(at(fixture, "work/a/b/.hermes"));
	write_policy(fixture, "work/a/b/.hermes/policy.yaml", "");
	assert_int_equal(build_plan(fixture), 0);
	assert_true(mount_of(fixture, at(fixture, "work/a"))->is_writable);
	assert_true(mount_of(fixture, at(fixture, "work/a/b"))->is_writable);
	assert_false(mount_of(fixture, at(fixture, "work/a/b/.hermes"))->is_writable);
}

static void
test_u49_linked_folder(void **state)
{
	struct fixture *fixture = *state;

	make_dir(at(fixture, "work/real"));
	assert_planned(fixture, "");
	assert_int_equal(symlink("real", at(fixture, "work/.hermes")), 0);
	assert_int_equal(build_plan(fixture), -1);
	assert_int_equal(fixture->err.code, HLC_74);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test_setup_teardown(test_builtin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_registry_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_everything, setup, teardown),
		cmocka_unit_test_setup_teardown(test_home_of_the_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_authored, setup, teardown),
		cmocka_unit_test_setup_teardown(test_authored_placeholders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_container, setup, teardown),
		cmocka_unit_test_setup_teardown(test_state_is_covered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u49_policy_in_workdir, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u49_hermes_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u49_way_to_the_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u49_linked_folder, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
