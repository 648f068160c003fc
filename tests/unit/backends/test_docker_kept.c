/*
 * Containers that are kept, on an engine that is a child of the test: one is used again only when
 * it is ours, stopped, and what would be made; what becomes of the others, of one that cannot be
 * started, and of one whose session ends; and what gc takes away.
 */
#include <time.h>

#include "tests/unit/backends/kept_engine.h"

#include "base/banned.h"

static int
asked_times(const struct fixture *f, const char *part)
{
	HL_AUTO(hl_buf_done) struct hl_buf log;
	struct hl_err err;
	int fd HL_AUTO_FD = open(f->log, O_RDONLY | O_CLOEXEC);
	int times = 0;

	hl_buf_init(&log, 1024 * 1024);
	assert_true(fd >= 0);
	assert_int_equal(hl_read_file(fd, &log, f->log, HLI_02, &err), 0);
	for (const char *at = log.data; (at = strstr(at, part)) != NULL; at++)
		times++;
	return times;
}

static void
test_one_is_stopped_and_not_removed(void **state)
{
	static char body[REQUEST_MAX];
	struct fixture *f = *state;
	struct sandbox sandbox;

	make_first(f, body);
	assert_false(was_asked(f, "DELETE "));
	/* the same without persistence (sibling), and when it is discarded */
	f->plan.keep.is_kept = false;
	begin(f, (const struct rule[]){ { 0 } }, &sandbox);
	end(f, &sandbox);
	assert_true(was_asked(f, "DELETE "));
	f->plan.keep.is_kept = true;
	begin(f, none_kept, &sandbox);
	sandbox.is_discarded = true;
	end(f, &sandbox);
	assert_true(was_asked(f, "DELETE "));
}

static void
test_the_same_is_used_again(void **state)
{
	static char body[REQUEST_MAX];
	struct fixture *f = *state;
	struct sandbox sandbox;

	make_first(f, body);
	say_kept(body, "", NULL, NULL);
	/* another run, which another process makes */
	memcpy(f->plan.run_id, "01ARZ3NDEKTSV4RRFFQ69G5FAX", HL_ULID_SIZE);
	begin(f, one_kept, &sandbox);
	assert_int_equal(sandbox.reuse, SANDBOX_REUSED);
	assert_string_equal(sandbox.id, ID);
	end(f, &sandbox);
	/* only what it was compared with is made, and taken away */
	assert_true(was_asked(f, "-01ARZ3NDEKTSV4RRFFQ69G5FAX"));
	assert_int_equal(asked_times(f, "/containers/create"), 1);
	assert_false(was_asked(f, TWIN "/start"));
	assert_true(was_asked(f, "DELETE /v1.41/containers/" TWIN));
	assert_int_equal(asked_times(f, "DELETE "), 1);
	assert_true(was_asked(f, ID "/start"));
}

static const struct {
	const char *name, *part, *other, *why;
} changes[] = {
	{ "a limit", "\"Memory\":67108864", "\"Memory\":671088640",
	    "'HostConfig.Memory' was changed" },
	{ "a capability", "\"CapDrop\"", "\"CapAdd\":[\"CAP_SYS_ADMIN\"],\"CapDrop\"",
	    "'HostConfig.CapAdd' was changed" },
	{ "privileges", "\"CapDrop\"", "\"Privileged\":true,\"CapDrop\"",
	    "'HostConfig.Privileged' was changed" },
	{ "U58 a network", "\"NetworkMode\":\"none\"", "\"NetworkMode\":\"bridge\"",
	    "'HostConfig.NetworkMode' was changed" },
	{ "a restart by the engine", "\"CapDrop\"",
	    "\"RestartPolicy\":{\"Name\":\"always\"},\"CapDrop\"",
	    "'HostConfig.RestartPolicy' was changed" },
	{ "a second network", "{\"none\":{}}", "{\"none\":{},\"other\":{}}",
	    "'NetworkSettings.Networks' was changed" },
	{ "the image", "\"Image\":\"" IMAGE "\",\"State\"", "\"Image\":\"sha256:cc\",\"State\"",
	    "'Image' was changed" },
	{ "the user", "\"User\":\"1000:1000\"", "\"User\":\"0:0\"", "'User' was changed" },
	/* what nobody asked, and a container that was made by hand can have all the same */
	{ "what is masked", "\"MaskedPaths\":[\"/proc/keys\"]", "\"MaskedPaths\":[]",
	    "'HostConfig.MaskedPaths' was changed" },
	{ "a runtime", "\"CapDrop\"", "\"Runtime\":\"other\",\"CapDrop\"",
	    "'HostConfig.Runtime' was changed" },
	{ "devices by request", "\"CapDrop\"",
	    "\"DeviceRequests\":[{\"Driver\":\"any\"}],\"CapDrop\"",
	    "'HostConfig.DeviceRequests' was changed" },
	{ "a namespace", "\"CapDrop\"", "\"CgroupnsMode\":\"host\",\"CapDrop\"",
	    "'HostConfig.CgroupnsMode' was changed" },
	{ "one more tmpfs", "\"Tmpfs\":{", "\"Tmpfs\":{\"/usr\":\"rw,exec,suid\",",
	    "'HostConfig.Tmpfs' was changed" },
	{ "variables", "\"Config\":{", "\"Config\":{\"Env\":[\"LD_PRELOAD=/var/x.so\"],",
	    "'Config.Env' was changed" },
	{ "a mount", "\"Config\":{", "\"Mounts\":[{\"Type\":\"bind\"}],\"Config\":{",
	    "'Mounts' was changed" },
	{ "the program", "\"Config\":{", "\"Path\":\"/var/x\",\"Config\":{", "'Path' was changed" },
	{ "one more label", "\"dev.hermes-launch.managed\":\"1\"",
	    "\"dev.hermes-launch.managed\":\"1\",\"x\":\"1\"", "'Labels' was changed" },
};

static void
test_what_was_changed_is_replaced(void **state)
{
	static char body[REQUEST_MAX];
	struct fixture *f = *state;

	make_first(f, body);
	for (size_t i = 0; i < HL_ARRAY_SIZE(changes); i++) {
		struct sandbox sandbox;
		say_kept(body, "", changes[i].part, changes[i].other);
		/* After its removal the new one is told as it was asked. */
		const struct rule rules[] = { { "GET /v1.41" KEPT, answer, ANSWER }, { 0 } };
		begin(f, rules, &sandbox);
		if (sandbox.reuse != SANDBOX_REPLACED ||
		    strstr(sandbox.reuse_why, changes[i].why) == NULL)
			fail_msg("%s: %d %s", changes[i].name, (int)sandbox.reuse,
			    sandbox.reuse_why);
		end(f, &sandbox);
		assert_true(was_asked(f, "DELETE /v1.41/containers/" ID "?force=1"));
		assert_true(was_asked(f, "/containers/create"));
	}
}

static void
replaced_because(struct fixture *f, const char *why)
{
	const struct rule rules[] = { { "GET /v1.41" KEPT, answer, ANSWER }, { 0 } };
	struct sandbox sandbox;

	begin(f, rules, &sandbox);
	assert_int_equal(sandbox.reuse, SANDBOX_REPLACED);
	if (strstr(sandbox.reuse_why, why) == NULL)
		fail_msg("'%s' is not in '%s'", why, sandbox.reuse_why);
	end(f, &sandbox);
}

/* That there is nothing to compare it with is not its fault. */
static void
test_without_a_comparison_it_is_left(void **state)
{
	static char body[REQUEST_MAX];
	struct fixture *f = *state;
	struct sandbox sandbox;

	make_first(f, body);
	say_kept(body, "", NULL, NULL);
	const struct rule rules[] = { one_kept[0],
		{ "/containers/create", HEAD("500 Error") "{\"message\":\"no\"}", ANSWER }, { 0 } };
	start_daemon(f, rules);
	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-51");
	assert_false(was_asked(f, "DELETE "));
	assert_false(was_asked(f, "/start"));
	/* and what was made for it is removed when it cannot be looked at */
	const struct rule blind[] = { one_kept[0],
		{ "GET /v1.41/containers/" TWIN, HEAD("500 Error") "{}", ANSWER }, { 0 } };
	start_daemon(f, blind);
	assert_int_equal(start(f, &sandbox), -1);
	assert_int_equal(asked_times(f, "DELETE "), 1);
	assert_true(was_asked(f, "-01ARZ3NDEKTSV4RRFFQ69G5FAV?force=1"));
}

/* An engine that was started again tells an empty list as none. */
static void
test_nothing_is_nothing(void **state)
{
	static char body[REQUEST_MAX];
	struct fixture *f = *state;
	struct sandbox sandbox;

	make_first(f, body);
	say_kept(body, "", "\"CapDrop\"", "\"Dns\":[],\"Links\":null,\"Sysctls\":{},\"CapDrop\"");
	begin(f, one_kept, &sandbox);
	assert_int_equal(sandbox.reuse, SANDBOX_REUSED);
	end(f, &sandbox);
	say_kept(body, "", "\"CapDrop\"", "\"Sysctls\":{\"a\":\"1\"},\"CapDrop\"");
	begin(f, (const struct rule[]){ one_kept[0], { 0 } }, &sandbox);
	assert_int_equal(sandbox.reuse, SANDBOX_REPLACED);
	end(f, &sandbox);
}

/* Everything that is fixed when one is made is in its label. */
static void
test_what_would_be_different_is_replaced(void **state)
{
	static char body[REQUEST_MAX];
	struct fixture *f = *state;

	make_first(f, body);
	say_kept(body, "", NULL, NULL);
	f->plan.limits[PLAN_LIMIT_MEMORY].value = 134217728;
	replaced_because(f, "'HostConfig.Memory' would be different now");
	f->plan.limits[PLAN_LIMIT_MEMORY].value = 67108864;
	f->plan.network = PLAN_NETWORK_BRIDGE;
	replaced_because(f, "'HostConfig.NetworkMode' would be different now");
	f->plan.network = PLAN_NETWORK_NONE;
	f->plan.keep.lease_ms = 60000;
	replaced_because(f, "runner, version or lease would be different now");
	f->plan.keep.lease_ms = 3600000;
	f->plan.runner_path = "/bin/false";
	replaced_because(f, "would be different now");
}

/* Whatever its name is. */
static void
test_what_is_not_ours_is_left_alone(void **state)
{
	static const char *const labels[] = { "\"dev.hermes-launch.managed\":\"1\"",
		"\"dev.hermes-launch.session\":\"s\"",
		"\"dev.hermes-launch.profile\":\"0123456789abcdef\"" };
	static char body[REQUEST_MAX];
	struct fixture *f = *state;

	make_first(f, body);
	for (size_t i = 0; i < HL_ARRAY_SIZE(labels); i++) {
		struct sandbox sandbox;
		say_kept(body, "", labels[i], "\"x\":\"1\"");
		start_daemon(f, one_kept);
		assert_int_equal(start(f, &sandbox), -1);
		assert_string_equal(hl_code_info(f->err.code)->id, "HLB-50");
		assert_false(was_asked(f, "DELETE "));
		assert_false(was_asked(f, "/kill"));
		assert_false(was_asked(f, "/start"));
	}
}

/* What still runs has nobody: it is ended, and one that does not end is no stopped one. */
static void
test_one_that_runs_is_ended_first(void **state)
{
	static char body[REQUEST_MAX];
	struct fixture *f = *state;
	struct sandbox sandbox;

	make_first(f, body);
	say_kept(body, ",\"Running\":true", NULL, NULL);
	begin(f, one_kept, &sandbox);
	assert_int_equal(sandbox.reuse, SANDBOX_REPLACED);
	assert_non_null(strstr(sandbox.reuse_why, "it could not be stopped"));
	/* nor is the new one, of which the engine says the same */
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-56");
	sandbox_done(&sandbox);
	/* by its id: its name can be another's while we wait */
	assert_true(was_asked(f, "/containers/" ID "/kill"));
}

/* What it holds is not ours to throw away for a fault of the engine's. */
static void
test_one_that_does_not_start_is_left(void **state)
{
	static char body[REQUEST_MAX];
	struct fixture *f = *state;
	struct sandbox sandbox;

	make_first(f, body);
	say_kept(body, "", NULL, NULL);
	const struct rule rules[] = { one_kept[0], one_kept[1],
		{ "/start", HEAD("500 Error") "{\"message\":\"no\"}", ANSWER }, { 0 } };
	start_daemon(f, rules);
	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-52");
	assert_non_null(strstr(f->err.help, "hermes-launch stop s"));
	assert_false(was_asked(f, "DELETE /v1.41/containers/" ID));
	/* One that was made for this start has nothing in it (sibling). */
	const struct rule fresh[] = { none_kept[0],
		{ "/start", HEAD("500 Error") "{\"message\":\"no\"}", ANSWER }, { 0 } };
	start_daemon(f, fresh);
	assert_int_equal(start(f, &sandbox), -1);
	assert_true(was_asked(f, "DELETE "));
}

/* ------------------------------------------------------------------------------------------------
 * gc
 */
struct holder {
	bool may_hold;
	unsigned held, released;
};

static bool
hold(void *context, const char *session)
{
	struct holder *holder = context;

	assert_string_equal(session, "s");
	holder->held += holder->may_hold;
	return holder->may_hold;
}

static void
release(void *context)
{
	struct holder *holder = context;

	holder->released++;
}

static char listed[4096], looked[1024];

/* One container, of an owner that is dead or elsewhere. */
static void
list_one(const struct fixture *f, bool is_own, const char *lease, const char *state)
{
	char place[HL_SHA256_HEX_SIZE];

	docker_place(is_own ? f->plan.state_dir : "/somewhere/else", place);
	snprintf(listed, sizeof(listed),
	    HEAD("200 OK") "[{\"Id\":\"" ID "\",\"Names\":[\"/hermes-launch-kept-1\"],"
			   "\"State\":\"%s\",\"Created\":1000,\"Labels\":{"
			   "\"dev.hermes-launch.managed\":\"1\",\"dev.hermes-launch.run\":\"R\","
			   "\"dev.hermes-launch.owner\":\"4194300:1:1:elsewhere\","
			   "\"dev.hermes-launch.session\":\"s\",\"dev.hermes-launch.place\":\"%s\","
			   "\"dev.hermes-launch.lease\":\"%s\"}}]",
	    state, place, lease);
}

static void
look_at(bool is_running, const char *started, const char *finished)
{
	snprintf(looked, sizeof(looked),
	    HEAD("200 OK") "{\"Id\":\"" ID "\",\"Created\":\"1971-01-01T00:00:00Z\","
			   "\"State\":{\"Running\":%s,\"StartedAt\":\"%s\",\"FinishedAt\":\"%s\"},"
			   "\"Config\":{\"Labels\":{\"dev.hermes-launch.run\":\"R\"}}}",
	    is_running ? "true" : "false", started, finished);
}

static const struct rule a_list[] = { { "/containers/json", listed, ANSWER },
	{ "GET /v1.41/containers/", looked, ANSWER }, { 0 } };

static size_t
sweep(struct fixture *f, struct holder *holder)
{
	const struct engine_place place = {
		.helper_path = f->plan.helper_path,
		.endpoint = f->socket,
		.state_dir = f->plan.state_dir,
		.hold = hold,
		.release = release,
		.context = holder,
	};
	size_t removed = 0;

	holder->held = holder->released = 0;
	start_daemon(f, a_list);
	if (engine_sweep(&place, &removed, &f->err) != 0)
		fail_msg("sweep: %s", f->err.msg);
	assert_int_equal(holder->held, holder->released);
	assert_int_equal(was_asked(f, "DELETE "), removed > 0);
	return removed;
}

#define OLD  "2001-02-03T04:05:06.789Z"
#define LATE "2999-01-01T00:00:00Z"
#define ZERO "0001-01-01T00:00:00Z"

static void
test_gc_asks_the_lease_and_the_session(void **state)
{
	struct fixture *f = *state;
	struct holder free_one = { .may_hold = true }, busy = { 0 };

	list_one(f, true, "60", "exited");
	look_at(false, OLD, OLD);
	assert_int_equal(sweep(f, &free_one), 1);
	assert_int_equal(sweep(f, &busy), 0);
	look_at(false, OLD, LATE);
	assert_int_equal(sweep(f, &free_one), 0);
	/* one that runs: since it began; one that never did: since it was made */
	look_at(true, OLD, ZERO);
	assert_int_equal(sweep(f, &free_one), 1);
	look_at(true, LATE, OLD);
	assert_int_equal(sweep(f, &free_one), 0);
	look_at(false, ZERO, ZERO);
	assert_int_equal(sweep(f, &free_one), 1);
	/* what cannot be read is not over */
	list_one(f, true, "-1", "exited");
	look_at(false, OLD, OLD);
	assert_int_equal(sweep(f, &free_one), 0);
	/* an end that nobody can read: since it was made */
	list_one(f, true, "60", "exited");
	look_at(false, OLD, "2001-02-03 04:05:06");
	assert_int_equal(sweep(f, &free_one), 1);
}

/* What the list told may be older than the hold: who had the session before used the container. */
static void
test_gc_asks_again_when_it_holds_the_session(void **state)
{
	struct fixture *f = *state;
	static char before[sizeof(looked)];
	struct holder holder = { .may_hold = true };
	const struct engine_place place = {
		.helper_path = f->plan.helper_path,
		.endpoint = f->socket,
		.state_dir = f->plan.state_dir,
		.hold = hold,
		.release = release,
		.context = &holder,
	};
	const struct rule rules[] = { a_list[0], { "GET /v1.41/containers/", before, ANSWER_ONCE },
		a_list[1], { 0 } };
	size_t removed = 0;

	list_one(f, true, "60", "exited");
	look_at(false, OLD, OLD);
	memcpy(before, looked, sizeof(before));
	look_at(false, OLD, LATE);
	start_daemon(f, rules);
	assert_int_equal(engine_sweep(&place, &removed, &f->err), 0);
	assert_int_equal(removed, 0);
	assert_int_equal(holder.held, 1);
	assert_int_equal(holder.released, 1);
	assert_false(was_asked(f, "DELETE "));
	/* nobody used it (sibling) */
	look_at(false, OLD, OLD);
	start_daemon(f, rules);
	assert_int_equal(engine_sweep(&place, &removed, &f->err), 0);
	assert_int_equal(removed, 1);
	assert_int_equal(asked_times(f, "/containers/json"), 2);
}

/* Nobody here can take its session: what runs is left, and the rest is asked for without force. */
static void
test_gc_of_another_state_directory(void **state)
{
	struct fixture *f = *state;
	struct holder holder = { .may_hold = true };

	list_one(f, false, "60", "exited");
	look_at(false, OLD, OLD);
	assert_int_equal(sweep(f, &holder), 1);
	assert_true(was_asked(f, "?force=0"));
	assert_int_equal(holder.held, 0);
	look_at(false, OLD, LATE);
	assert_int_equal(sweep(f, &holder), 0);
	list_one(f, false, "60", "running");
	look_at(true, OLD, ZERO);
	assert_int_equal(sweep(f, &holder), 0);
	/* our own is forced, because its session is held (sibling) */
	list_one(f, true, "60", "running");
	assert_int_equal(sweep(f, &holder), 1);
	assert_true(was_asked(f, "?force=1"));
}

/* Times as engines write them, at the edge of an hour. */
static void
test_times_have_their_offset(void **state)
{
	struct fixture *f = *state;
	struct holder holder = { .may_hold = true };
	char text[64];
	time_t now = time(NULL), hour = 3600;
	const struct {
		time_t shift;
		const char *zone;
		bool is_over;
	} rows[] = { { 0, "Z", false }, { 0, "+01:00", true }, { 0, "-01:00", false },
		{ -2 * hour, "Z", true }, { -2 * hour, "-02:00", false },
		{ -2 * hour, "-00:30", true } };

	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		char when[HL_ISO_TIME_SIZE];
		hl_iso_time((uint64_t)(now + rows[i].shift) * 1000000, when);
		snprintf(text, sizeof(text), "%.19s.5%s", when, rows[i].zone);
		list_one(f, true, "1800", "exited");
		look_at(false, OLD, text);
		if (sweep(f, &holder) != (rows[i].is_over ? 1 : 0))
			fail_msg("%s", text);
	}
}

static void
test_forget_takes_one_session_of_ours(void **state)
{
	struct fixture *f = *state;
	const struct engine_place place = {
		.helper_path = f->plan.helper_path,
		.endpoint = f->socket,
		.state_dir = f->plan.state_dir,
	};
	size_t removed = 0;

	list_one(f, true, "86400", "exited");
	look_at(false, OLD, LATE);
	start_daemon(f, a_list);
	assert_int_equal(engine_forget(&place, "other", &removed, &f->err), 0);
	assert_int_equal(removed, 0);
	assert_int_equal(engine_forget(&place, "s", &removed, &f->err), 0);
	assert_int_equal(removed, 1);
	list_one(f, false, "86400", "exited");
	start_daemon(f, a_list);
	assert_int_equal(engine_forget(&place, "s", &removed, &f->err), 0);
	assert_int_equal(removed, 0);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup_kept, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_one_is_stopped_and_not_removed),
		CASE(test_the_same_is_used_again),
		CASE(test_what_was_changed_is_replaced),
		CASE(test_without_a_comparison_it_is_left),
		CASE(test_nothing_is_nothing),
		CASE(test_what_would_be_different_is_replaced),
		CASE(test_what_is_not_ours_is_left_alone),
		CASE(test_one_that_runs_is_ended_first),
		CASE(test_one_that_does_not_start_is_left),
		CASE(test_gc_asks_the_lease_and_the_session),
		CASE(test_gc_asks_again_when_it_holds_the_session),
		CASE(test_gc_of_another_state_directory),
		CASE(test_times_have_their_offset),
		CASE(test_forget_takes_one_session_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
