/*
 * The end of a session whose container is kept: it is stopped when the engine says so after it was
 * asked to kill, and else whoever ends it is told that it may still run.
 */
#include "tests/unit/backends/kept_engine.h"

#include "base/banned.h"

#define LOOK "GET /v1.41/containers/" ID
#define RUNS HEAD("200 OK") "{\"Id\":\"" ID "\",\"State\":{\"Running\":true}}"
#define SINCE(time) \
 HEAD("200 OK") "{\"Id\":\"" ID "\",\"State\":{\"Running\":true,\"StartedAt\":\"" time "\"}}"
#define STOPPED HEAD("200 OK") "{\"Id\":\"" ID "\",\"State\":{\"Running\":false}}"
#define REFUSED HEAD("500 Error") "{\"message\":\"no\"}"

static const struct {
	const char *name;
	struct rule rules[4];
	bool is_killed;
	const char *code, *says; /* NULL: it is stopped */
} ends[] = {
	{ "one that has ended", { { LOOK, STOPPED, ANSWER } }, false, NULL, NULL },
	{ "one that is gone", { { LOOK, HEAD("404 Not Found") "{}", ANSWER } }, false, NULL, NULL },
	{ "one that is killed", { { LOOK, RUNS, UNTIL_KILL }, { LOOK, STOPPED, ANSWER } }, true,
	    NULL, NULL },
	{ "one that nobody could look at, but kill",
	    { { LOOK, REFUSED, UNTIL_KILL }, { LOOK, STOPPED, ANSWER } }, true, NULL, NULL },
	{ "a kill that came too late",
	    { { LOOK, RUNS, UNTIL_KILL }, { LOOK, STOPPED, ANSWER },
		{ "/kill", HEAD("409 Conflict") "{}", ANSWER } },
	    true, NULL, NULL },
	{ "one that runs to the end", { { LOOK, RUNS, ANSWER } }, true, "HLB-56",
	    "may still run: it was killed" },
	{ "a kill that is refused", { { LOOK, RUNS, ANSWER }, { "/kill", REFUSED, ANSWER } }, true,
	    "HLB-56", "may still run: the engine refused to kill it" },
	{ "one that nobody can look at", { { LOOK, REFUSED, ANSWER } }, true, "HLB-56",
	    "may still run: the engine cannot look at" },
	{ "one that runs since we started it", { { LOOK, SINCE(STARTED), ANSWER } }, true, "HLB-56",
	    "may still run: it was killed" },
	{ "one that another has started again", { { LOOK, SINCE("2026-11-30T08:00:01Z"), ANSWER } },
	    false, NULL, NULL },
	{ "an engine that hangs up", { { LOOK, "", HANG_UP } }, true, "HLB-56", "may still run" },
};

static void
test_the_engine_has_to_say_that_it_is_over(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(ends); i++) {
		struct sandbox sandbox;
		begin(f, none_kept, &sandbox);
		change_daemon(f, ends[i].rules);
		int status = backend_docker.stop(&sandbox, &f->err);
		sandbox_done(&sandbox);
		if ((status == 0) != (ends[i].code == NULL))
			fail_msg("%s: %d %s", ends[i].name, status, f->err.msg);
		if (status != 0 && (strcmp(hl_code_info(f->err.code)->id, ends[i].code) != 0 ||
				       strstr(f->err.msg, ends[i].says) == NULL))
			fail_msg("%s: %s", ends[i].name, f->err.msg);
		if (was_asked(f, ID "/kill") != ends[i].is_killed)
			fail_msg("%s: killed: %d", ends[i].name, !ends[i].is_killed);
		assert_false(was_asked(f, "DELETE "));
	}
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup_kept, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_the_engine_has_to_say_that_it_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
