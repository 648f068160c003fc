/*
 * What is learned of an engine and its image before a run, and what is made of it: digests, users,
 * pulls, limits that cannot be applied, sources that were replaced.
 */
#include <dirent.h>

#include "tests/unit/backends/bad_engine.h"

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * Images
 */
static void
image_fails(struct fixture *f, const char *json, const char *code)
{
	char answer[1024];
	struct rule rules[] = { { "/images/", answer, ANSWER }, { 0 } };
	struct sandbox sandbox;

	snprintf(answer, sizeof(answer), HEAD("200 OK") "%s", json);
	start_daemon(f, rules);
	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, code);
	assert_false(was_asked(f, "/containers/create"));
}

static void
test_image_of_another_digest(void **state)
{
	struct fixture *f = *state;

	f->plan.image = (char[]){ "tools@" IMAGE };
	image_fails(f,
	    "{\"Id\":\"" IMAGE "\",\"RepoDigests\":[\"tools@sha256:"
	    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\"]}",
	    "HLB-48");
}

static void
test_image_whose_user_is_or_may_be_root(void **state)
{
	static const char *const users[] = { "", "0", "root", "0:1000", "root:tools", "00", "tools",
		"1000:0", "1000:root", "1000:00", "tools:0" };
	struct fixture *f = *state;

	f->plan.user_kind = PLAN_USER_IMAGE;
	for (size_t i = 0; i < HL_ARRAY_SIZE(users); i++) {
		char json[256];
		snprintf(json, sizeof(json), "{\"Id\":\"" IMAGE "\",\"Config\":{\"User\":\"%s\"}}",
		    users[i]);
		image_fails(f, json, "HLB-49");
	}
}

static void
test_u25_image_user_gets_no_capability_unless_root(void **state)
{
	struct fixture *f = *state;
	struct rule rules[] = { { "/images/",
				    HEAD("200 OK") "{\"Id\":\"" IMAGE
						   "\",\"Config\":{\"User\":\"1000\"}}",
				    ANSWER },
		{ 0 } };
	struct sandbox sandbox;

	f->plan.user_kind = PLAN_USER_IMAGE;
	f->plan.caps = 1;
	start_daemon(f, rules);
	if (start(f, &sandbox) != 0)
		fail_msg("%s", f->err.msg);
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
	assert_true(was_asked(f, "CapDrop"));
	assert_false(was_asked(f, "CapAdd"));
	/* Sibling: explain, and a root image where root is allowed, have it. */
	assert_non_null(strstr(f->lowered.body.data, "CapAdd"));
	static const struct rule none[] = { { 0 } };
	f->plan.allow_root = true;
	start_daemon(f, none);
	if (start(f, &sandbox) != 0)
		fail_msg("%s", f->err.msg);
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
	assert_true(was_asked(f, "\"CapAdd\":[\"CAP_CHOWN\"]"));
}

/* A pull whose report, begun well, ends so. */
static void
pull_fails(struct fixture *f, const struct rule *rules, const char *code)
{
	struct sandbox sandbox;

	f->plan.pull = PLAN_PULL_ALWAYS;
	start_daemon(f, rules);
	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, code);
}

static void
test_pull_that_fails_inside_a_good_answer(void **state)
{
	static const struct rule rules[] = {
		{ "/images/create",
		    HEAD(
			"200 OK") "{\"status\":\"Pulling\"}\r\n"
				  "{\"errorDetail\":{},\"error\":\"unauthorized: \\u001b[2J no\"}\r\n",
		    ANSWER },
		{ 0 },
	};
	struct fixture *f = *state;

	pull_fails(f, rules, "HLB-46");
	assert_non_null(strstr(f->err.msg, "unauthorized"));
	assert_null(strstr(f->err.msg, "status"));
	assert_null(strchr(f->err.msg, 0x1b));
	assert_non_null(strstr(f->err.help, "'docker login' as this user"));
	assert_true(was_asked(f, "fromImage=tools%3A1 ")); /* its tag only, never all of them */
}

/* Where the engine says it by a number. */
static void
test_pull_that_is_denied_inside_a_good_answer(void **state)
{
	static const struct rule rules[] = {
		{ "/images/create",
		    HEAD("200 OK") "{\"errorDetail\":{\"code\":401},\"error\":\"any words\"}\r\n",
		    ANSWER },
		{ 0 },
	};
	struct fixture *f = *state;

	pull_fails(f, rules, "HLB-63");
	assert_non_null(strstr(f->err.msg, "any words (status 401)"));
}

/* ------------------------------------------------------------------------------------------------
 * Probe, and sources
 */
static void
test_u31_probe_tells_and_keeps_what_the_engine_lacks(void **state)
{
	static const struct rule rules[] = {
		{ "/containers/create",
		    HEAD("400 Bad") "{\"message\":\"cgroup: no memory controller\"}", ANSWER },
		{ 0 },
	};
	static const struct rule none[] = { { 0 } };
	struct fixture *f = *state;
	struct control_gaps gaps;

	f->plan.limits[PLAN_LIMIT_PIDS] = (struct plan_number){ .has = true, .value = 64 };
	start_daemon(f, rules);
	/* Without the memory limit it is refused for the same reason: not about a limit then. */
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-51");

	start_daemon(f, none);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	assert_int_equal(gaps.len, 0);
	assert_true(was_asked(f, "/containers/create"));
	/* Kept: not tried again, though this engine would now refuse. */
	change_daemon(f, rules);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	assert_false(was_asked(f, "/containers/create"));
	/* Another limit is another question. */
	f->plan.limits[PLAN_LIMIT_PIDS].value = 65;
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), -1);
	/* So is an engine that was started again. */
	f->plan.limits[PLAN_LIMIT_PIDS].value = 64;
	start_daemon(f, rules);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), -1);
	assert_true(was_asked(f, "/containers/create"));
}

static void
test_u31_warning_is_a_gap(void **state)
{
	static const struct rule rules[] = {
		{ "/containers/create",
		    HEAD("201 Created") "{\"Id\":\"" ID "\",\"Warnings\":[\"Your kernel does not "
					"support memory limit capabilities\"]}",
		    ANSWER },
		{ 0 },
	};
	struct fixture *f = *state;
	struct control_gaps gaps;

	start_daemon(f, rules);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	assert_int_equal(gaps.len, 1);
	assert_int_equal(gaps.items[0].control, CONTROL_LIMIT_MEMORY);
	assert_false(gaps.items[0].may_degrade);
	assert_non_null(strstr(gaps.items[0].reason, "memory limit"));
}

/* A quota of the processor is none of the disk. */
static void
test_u31_warning_is_a_gap_of_its_own_limit(void **state)
{
	static const struct rule rules[] = {
		{ "/containers/create",
		    HEAD("201 Created") "{\"Id\":\"" ID "\",\"Warnings\":[\"Your kernel does not "
					"support cpu.cfs_quota_us\"]}",
		    ANSWER },
		{ 0 },
	};
	struct fixture *f = *state;
	struct control_gaps gaps;

	f->plan.limits[PLAN_LIMIT_CPUS] = (struct plan_number){ .has = true, .value = 500 };
	f->plan.limits[PLAN_LIMIT_DISK] = (struct plan_number){ .has = true, .value = 1 << 24 };
	start_daemon(f, rules);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	assert_int_equal(gaps.len, 1);
	assert_int_equal(gaps.items[0].control, CONTROL_LIMIT_CPUS);
}

/* The only file of the cache, for a text of the test's. */
static void
write_kept(const struct fixture *f, const char *text)
{
	char path[512] = "", dir[128];
	size_t files = 0;
	const struct dirent *entry;

	snprintf(dir, sizeof(dir), "%s/probe", f->dir);
	DIR *list = opendir(dir);
	assert_non_null(list);
	while ((entry = readdir(list)) != NULL)
		if (entry->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
			files++;
		}
	closedir(list);
	assert_int_equal(files, 1);
	int fd HL_AUTO_FD = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* A fault of the engine's that passes reads as one of a limit: it is of that one probe. */
static void
test_u31_fault_that_passes_is_not_kept(void **state)
{
	static const char *const answers[] = {
		HEAD("500 Bad") "{\"message\":\"fork/exec runc: Cannot allocate memory\"}",
		HEAD("500 Bad") "{\"message\":\"cgroup: Timeout waiting for systemd\"}",
		HEAD("201 Created") "{\"Id\":\"" ID "\",\"Warnings\":[\"no memory limit\"]}",
	};
	static const struct rule none[] = { { 0 } };
	struct fixture *f = *state;
	struct control_gaps gaps;

	for (size_t i = 0; i < HL_ARRAY_SIZE(answers); i++) {
		const struct rule rules[] = { { "/containers/create", answers[i], ANSWER_ONCE },
			{ 0 } };
		f->plan.limits[PLAN_LIMIT_MEMORY].value = 67108864 + 4096 * i;
		start_daemon(f, rules);
		assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
		assert_int_equal(gaps.len, 1);
		assert_int_equal(gaps.items[0].control, CONTROL_LIMIT_MEMORY);
		change_daemon(f, none);
		assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
		assert_int_equal(gaps.len, 0);
		assert_true(was_asked(f, "/containers/create"));
		/* Sibling: that it has the limit is kept. */
		change_daemon(f, none);
		assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
		assert_int_equal(gaps.len, 0);
		assert_false(was_asked(f, "/containers/create"));
		if (i > 0)
			continue;
		/* As earlier versions wrote it, and anything else. */
		static const char *const others[] = { "memory no reason\ncpus ok\npids ok\n",
			"memory ok\ncpus ok\npids ok\n", "ok\nok\n", "" };
		for (size_t other = 0; other < HL_ARRAY_SIZE(others); other++) {
			change_daemon(f, none);
			write_kept(f, others[other]);
			assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
			assert_int_equal(gaps.len, 0);
			assert_true(was_asked(f, "/containers/create"));
		}
	}
}

static size_t
times_asked(const struct fixture *f, const char *part)
{
	struct hl_buf log;
	struct hl_err err;
	size_t times = 0;
	int fd HL_AUTO_FD = open(f->log, O_RDONLY | O_CLOEXEC);

	hl_buf_init(&log, 1024 * 1024);
	if (fd >= 0 && hl_read_file(fd, &log, f->log, HLI_02, &err) == 0)
		for (const char *at = log.data; (at = strstr(at, part)) != NULL; at++)
			times++;
	hl_buf_done(&log);
	return times;
}

static void
test_engine_and_image_are_asked_once(void **state)
{
	static const struct rule none[] = { { 0 } };
	struct fixture *f = *state;
	struct control_gaps gaps;
	struct sandbox sandbox;

	start_daemon(f, none);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	change_daemon(f, none);
	assert_int_equal(backend_docker.reach(&f->plan, &f->plan.early, &f->err), 0);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	assert_false(was_asked(f, "/containers/"));
	if (start(f, &sandbox) != 0)
		fail_msg("%s", f->err.msg);
	f->plan.early = NULL;
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
	assert_int_equal(times_asked(f, "/_ping"), 1);
	assert_int_equal(times_asked(f, "/images/"), 1);
	/* Sibling: without it both ask. */
	change_daemon(f, none);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	if (start(f, &sandbox) != 0)
		fail_msg("%s", f->err.msg);
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
	assert_int_equal(times_asked(f, "/_ping"), 2);
	/* One that nothing was started with is ended. */
	assert_int_equal(backend_docker.reach(&f->plan, &f->plan.early, &f->err), 0);
	const pid_t helper = f->plan.early->helper.peer.pid;
	backend_docker.abandon(f->plan.early);
	f->plan.early = NULL;
	assert_int_equal(kill(helper, 0), -1);
}

static void
test_source_that_was_replaced(void **state)
{
	static const struct rule none[] = { { 0 } };
	struct fixture *f = *state;
	struct sandbox sandbox;
	struct stat st;

	assert_int_equal(stat(f->dir, &st), 0);
	f->plan.mounts_len = 1;
	f->mounts[0] = (struct plan_mount){
		.src = f->dir,
		.dst = (char[]){ "/work" },
		.is_exec = true,
		.dev = st.st_dev,
		.ino = st.st_ino + 1,
	};
	start_daemon(f, none);
	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-57");
	assert_false(was_asked(f, "/"));
	/* Sibling: as it was, it is mounted. */
	f->mounts[0].ino = st.st_ino;
	if (start(f, &sandbox) != 0)
		fail_msg("%s", f->err.msg);
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
}

static void
test_device_that_was_replaced(void **state)
{
	static const struct rule none[] = { { 0 } };
	struct fixture *f = *state;
	struct sandbox sandbox;
	struct plan_device device = { .src = (char[]){ "/dev/null" },
		.dst = (char[]){ "/dev/given" } };
	struct stat st, dir;

	assert_int_equal(stat("/dev/null", &st), 0);
	assert_int_equal(stat(f->dir, &dir), 0);
	const struct plan_device good = { device.src, device.dst, st.st_dev, st.st_ino, st.st_rdev,
		device.origin };
	struct plan_device bad[] = { good, good, good, good, good };
	bad[0].dev++;
	bad[1].ino++;
	bad[2].rdev++;
	bad[3].src = (char[]){ "/dev/hl-no-such-device" };
	bad[4].src = f->dir; /* no device at all */
	bad[4].dev = dir.st_dev;
	bad[4].ino = dir.st_ino;
	bad[4].rdev = dir.st_rdev;
	f->plan.devices = &device;
	f->plan.devices_len = 1;
	start_daemon(f, none);
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		device = bad[i];
		assert_int_equal(start(f, &sandbox), -1);
		assert_string_equal(hl_code_info(f->err.code)->id, "HLB-57");
		assert_false(was_asked(f, "/"));
	}
	/* Sibling: as it was, the engine is asked for it; but not by the trial of limits. */
	device = good;
	if (start(f, &sandbox) != 0)
		fail_msg("%s", f->err.msg);
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
	assert_true(was_asked(f, "/dev/given"));
	struct control_gaps gaps;
	change_daemon(f, none);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	assert_true(was_asked(f, "/containers/create"));
	assert_false(was_asked(f, "/dev/given"));
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_image_of_another_digest),
		CASE(test_image_whose_user_is_or_may_be_root),
		CASE(test_u25_image_user_gets_no_capability_unless_root),
		CASE(test_pull_that_fails_inside_a_good_answer),
		CASE(test_pull_that_is_denied_inside_a_good_answer),
		CASE(test_u31_probe_tells_and_keeps_what_the_engine_lacks),
		CASE(test_u31_warning_is_a_gap),
		CASE(test_u31_warning_is_a_gap_of_its_own_limit),
		CASE(test_u31_fault_that_passes_is_not_kept),
		CASE(test_engine_and_image_are_asked_once),
		CASE(test_source_that_was_replaced),
		CASE(test_device_that_was_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
