/*
 * hl-engine and a client of an engine, beside a run: which containers there are, what it says at a
 * create that succeeds, which client a second request is for, and what is kept of an answer.
 */
#include "tests/unit/backends/client_scene.h"

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * Which containers there are
 */

/* Made, and its owner is another process than the one of that number now. */
#define OF_THE_DEAD "sed 's/\\(hermes-launch.owner\":\"\\)[0-9]*:[0-9]*/\\11:1/g' created.json"

struct sweep_case {
	const char *name, *rules;
	const char *code; /* NULL: none */
	size_t removed;
};

static const struct sweep_case sweeps[] = {
	{ "one is left (sibling)", "inspect) " OF_THE_DEAD ";;\n", NULL, 1 },
	{ "one that is gone meanwhile",
	    "ps) [ -e asked ] || echo '" ID " " NAME "'; : >asked;;\n"
	    "inspect) echo '[]'; exit 1;;\n",
	    NULL, 0 },
	{ "one that is there, and nothing is said of it", "inspect) echo '[]'; exit 1;;\n",
	    "HLB-43", 0 },
	{ "the same, with success", "inspect) echo '[]';;\n", "HLB-43", 0 },
	{ "an engine that is gone meanwhile",
	    "ps) [ ! -e asked ] || exit 1; : >asked; echo '" ID " " NAME "';;\n"
	    "inspect) echo '[]'; exit 1;;\n",
	    "HLB-43", 0 },
	{ "another one that has no name",
	    "ps) echo '" OTHER " '; [ ! -e made ] || echo '" ID " " NAME "';;\n"
	    "inspect) " OF_THE_DEAD " | { [ $# -gt 4 ] && sed 's/^\\[/[{\"Id\":\"" OTHER
	    "\",\"Name\":\"\",\"Config\":{\"Labels\":{}}},/' || cat; };;\n",
	    NULL, 1 },
	{ "a line that is none", "ps) echo '" ID "';;\n", "HLB-43", 0 },
};

static void
test_sweeps(void **state)
{
	struct fixture *f = *state;
	char *endpoint HL_AUTO_FREE = docker_endpoint_text(&f->plan);
	const struct engine_place place = { .helper_path = f->plan.helper_path,
		.endpoint = endpoint,
		.state_dir = f->dir };

	for (size_t i = 0; i < HL_ARRAY_SIZE(sweeps); i++) {
		const struct sweep_case *one = &sweeps[i];
		size_t removed = 99;
		put_client(f, one->rules);
		put_file(f, "made", "", 0600);
		memset(&f->err, 0, sizeof(f->err));
		int status = engine_sweep(&place, &removed, &f->err);
		if ((status == 0) != (one->code == NULL))
			fail_msg("%s: status %d: %s", one->name, status, f->err.msg);
		if (one->code != NULL)
			check_code(f, one->name, one->code);
		if (removed != one->removed)
			fail_msg("%s: removed %zu", one->name, removed);
		assert_int_equal(is_there(f, "made"), removed == 0);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Warnings
 */
#define SAYS(text) "create) : >made; echo " ID "; printf '" text "' >&2;;\n"

static void
test_warnings(void **state)
{
	struct fixture *f = *state;
	struct sandbox sandbox;

	f->plan.limits[PLAN_LIMIT_PIDS] = (struct plan_number){ .has = true, .value = 64 };
	put_client(f, SAYS("a word\\nWARNING: no pids limit: \033[31mdiscarded\\nanother\\n"));
	assert_int_equal(start(f, &sandbox), -1);
	check_code(f, "a limit that is not applied", "HLB-53");
	assert_non_null(strstr(f->err.msg,
	    "the engine did not apply a limit: WARNING: no pids limit:  [31mdiscarded"));
	assert_null(strstr(f->err.msg, "another"));
	assert_false(is_there(f, "made"));
	assert_int_equal(times_told(f, "start "), 0);
	/* Of what is not asked it may say what it likes (sibling). */
	put_client(f, SAYS("WARNING: no cpu shares support\\n"));
	assert_int_equal(start(f, &sandbox), 0);
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
}

/* ------------------------------------------------------------------------------------------------
 * What is kept of an answer
 */

/* A trial has a run of its own and no digest, and so another specification. */
static const char for_trials[] =
    "create) : >made; echo " ID "\n"
    " printf '%s\\n' \"$@\" | sed -n 's/.*hermes-launch.run=//p' >run\n"
    " printf '%s\\n' \"$@\" | sed -n 's/.*hermes-launch.spec=//p' >spec;;\n"
    "inspect) of=created\n"
    " [ ! -e started ] || of=running\n"
    " [ ! -e ended ] || of=ended\n"
    " sed \"s/01ARZ3NDEKTSV4RRFFQ69G5FAV/$(cat run)/g; s/,.dev.hermes-launch.image[^,}]*//g\n"
    "  s/\\(hermes-launch.spec...\\)[0-9a-f]*/\\1$(cat spec)/g\" $of.json;;\n";

static size_t
trials(struct fixture *f)
{
	struct control_gaps gaps = { 0 };

	put_client(f, for_trials);
	memset(&f->err, 0, sizeof(f->err));
	if (backend_docker.probe(&f->plan, &gaps, &f->err) != 0)
		fail_msg("%s", f->err.msg);
	return times_told(f, "create ");
}

static void
test_kept_by_the_socket(void **state)
{
	struct fixture *f = *state;

	f->plan.limits[PLAN_LIMIT_PIDS] = (struct plan_number){ .has = true, .value = 64 };
	put_file(f, "engine.sock", "", 0600);
	assert_int_equal(trials(f), 1);
	assert_int_equal(trials(f), 0);
	/* Without a socket of its own nothing says which engine it was. */
	f->plan.endpoint = f->client;
	f->plan.is_endpoint_program = true;
	assert_int_equal(trials(f), 1);
	assert_int_equal(trials(f), 1);
}

/* ------------------------------------------------------------------------------------------------
 * Which client
 */
static void
test_opened_again(void **state)
{
	struct fixture *f = *state;
	struct docker_helper helper;
	struct docker_opened opened = { 0 };

	put_client(f, "");
	assert_int_equal(docker_helper_start(&helper, f->plan.helper_path, -1, &f->err), 0);
	assert_int_equal(docker_helper_open(&helper, &f->plan, &opened, &f->err), 0);
	docker_opened_done(&opened);
	assert_int_equal(docker_helper_open(&helper, &f->plan, &opened, &f->err), 0);
	docker_opened_done(&opened);
	/* What was a safe client is judged again. */
	assert_int_equal(chmod(f->client, 0777), 0);
	assert_int_equal(docker_helper_open(&helper, &f->plan, &opened, &f->err), -1);
	check_code(f, "one that anybody may write", "HLB-68");
	docker_helper_end(&helper);
}

/* What is only told to be ours is not removed. */
static void
test_the_id_of_anothers_container(void **state)
{
	struct fixture *f = *state;
	struct sandbox sandbox;

	put_client(f, "create) : >made; echo '" OTHER "';;\n"
		      "inspect) echo '[{\"Id\":\"" OTHER
		      "\",\"Name\":\"/theirs\",\"Config\":{\"Labels\":{}}}]';;\n");
	assert_int_equal(start(f, &sandbox), -1);
	check_code(f, "the id of another's", "HLB-53");
	assert_int_equal(times_told(f, "rm --force --volumes " OTHER), 0);
	assert_int_equal(times_told(f, "rm --force --volumes " NAME), 1);
	assert_false(is_there(f, "made"));
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_the_id_of_anothers_container),
		CASE(test_sweeps),
		CASE(test_warnings),
		CASE(test_kept_by_the_socket),
		CASE(test_opened_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
