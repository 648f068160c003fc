/*
 * Programs beside us, played by shell scripts: what they are given and what not, how long they are
 * waited for, and that nothing is left of them.
 */
#include <sys/stat.h>
#include <sys/time.h>

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

/* Takes the request; what is not taken of a packet is gone. */
#define TAKE       "head -c 1 <&3 >/dev/null; "
#define SAY(bytes) "printf '" bytes "' >&3\n"

enum {
	WANT = 2,
	NO = 3,
	PROGRESS = 4
};

static const struct hl_peer_kind kind = {
	.name = "hl-peer",
	.broken = HLB_59,
	.cancelled = HLB_60,
	.packet_max = 4096,
	.fds_len = 2,
	.answer_ms = 300,
	.end_ms = 300,
	.failed = NO,
};

struct scene {
	struct hl_peer peer;
	struct hl_err err;
	struct hl_buf request, answer;
	char path[32];
};

static void
scene_start(struct scene *s, const struct hl_peer_kind *of, const char *script, const int *fds)
{
	*s = (struct scene){ .path = "/tmp/hl-peer.XXXXXX" };
	int fd = mkstemp(s->path);
	assert_true(fd >= 0);
	assert_int_equal(hl_write_full(fd, script, strlen(script)), 0);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	hl_buf_init(&s->request, 16);
	hl_wire_put_u8(&s->request, 1);
	if (hl_peer_start(&s->peer, of, s->path, fds, &s->err) != 0)
		fail_msg("%s", s->err.msg);
}

/* How long its end took. */
static uint64_t
scene_end(struct scene *s)
{
	const pid_t pid = s->peer.pid;
	const uint64_t begin = hl_now_mono_ms();

	hl_peer_end(&s->peer);
	const uint64_t took = hl_now_mono_ms() - begin;
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(s->peer.pid, 0);
	assert_int_equal(s->peer.control, -1);
	hl_peer_end(&s->peer);
	hl_buf_done(&s->request);
	assert_int_equal(unlink(s->path), 0);
	return took;
}

static int
ask(struct scene *s)
{
	return hl_peer_ask(&s->peer, &s->request, WANT, &s->answer, &s->err);
}

/* Asks a script once; the answer that was wanted, or the code of the error. */
static void
expect(const char *script, const char *expected)
{
	static const int none[] = { -1, -1 };
	struct scene s;

	scene_start(&s, &kind, script, none);
	if (ask(&s) == 0) {
		assert_string_equal(s.answer.data + 1, expected);
		hl_buf_done(&s.answer);
	} else {
		assert_string_equal(hl_code_info(s.err.code)->id, expected);
	}
	scene_end(&s);
}

static void
test_answers(void **state)
{
	(void)state;
	expect("#!/bin/sh\n" TAKE SAY("\\002yes"), "yes");
	expect("#!/bin/sh\n" TAKE SAY("\\001yes"), "HLB-59");
	expect("#!/bin/sh\n" TAKE "exit 0\n", "HLB-59");
	expect("#!/bin/sh\n" TAKE SAY(
		   "\\003\\007\\000\\000\\000HLB-45\\000\\002\\000\\000\\000x\\000"
		   "\\001\\000\\000\\000\\000"),
	    "HLB-45");
	/* Cut, and of a family that it has no part in. */
	expect("#!/bin/sh\n" TAKE SAY("\\003\\007\\000\\000\\000HLB-45"), "HLB-59");
	expect("#!/bin/sh\n" TAKE SAY(
		   "\\003\\007\\000\\000\\000HLP-01\\000\\002\\000\\000\\000x\\000"
		   "\\001\\000\\000\\000\\000"),
	    "HLB-59");
}

static void
add_number(void *context, struct hl_wire *wire)
{
	uint32_t *sum = context;

	*sum += hl_wire_u8(wire);
	assert_true(hl_wire_is_complete(wire));
}

/* Not an answer: what comes behind it is. Of a program that has none it is a wrong answer. */
static void
test_progress(void **state)
{
	static const char script[] =
	    "#!/bin/sh\n" TAKE SAY("\\004\\050") SAY("\\004\\002") SAY("\\002yes");
	static const int none[] = { -1, -1 };
	struct hl_peer_kind telling = kind;
	uint32_t sum = 0;
	struct scene s;

	(void)state;
	telling.progress = PROGRESS;
	scene_start(&s, &telling, script, none);
	s.peer.on_progress = add_number;
	s.peer.context = &sum;
	assert_int_equal(ask(&s), 0);
	assert_string_equal(s.answer.data + 1, "yes");
	assert_int_equal(sum, 42);
	hl_buf_done(&s.answer);
	scene_end(&s);
	scene_start(&s, &telling, script, none);
	assert_int_equal(ask(&s), 0); /* nobody listens */
	hl_buf_done(&s.answer);
	scene_end(&s);
	expect(script, "HLB-59");
}

static void
test_nothing_of_ours_is_inherited(void **state)
{
	/* One line, because bash writes line by line; 255 is the script, which it has opened. */
	static const char script[] =
	    "#!/bin/bash\n" TAKE "read -r given <&4; read -r nothing <&5\n"
	    "ls /proc/$$/fd >\"$0.out\"\n"
	    "result=$(for fd in 0 1 2 5; do readlink /proc/$$/fd/$fd; done\n"
	    "grep -c . /proc/$$/environ; cat \"$0.out\"; rm \"$0.out\")\n"
	    "result=${result//$'\\n'/ }\n"
	    "printf '\\002%s\\000' \"$given,$nothing,$result\" >&3\n";
	struct scene s;
	int given[2];

	(void)state;
	int leak = fcntl(2, F_DUPFD, 70); /* without close-on-exec, on purpose */
	assert_true(leak >= 70);
	assert_int_equal(pipe2(given, O_CLOEXEC), 0);
	assert_int_equal(write(given[1], "given\n", 6), 6);
	scene_start(&s, &kind, script, (const int[]){ given[0], -1 });
	s.peer.answer_ms = 10000;
	if (ask(&s) != 0)
		fail_msg("%s", s.err.msg);
	assert_string_equal(s.answer.data + 1,
	    "given,,/dev/null /dev/null /dev/null /dev/null 0 0 1 2 255 3 4 5");
	hl_buf_done(&s.answer);
	scene_end(&s);
	close(leak);
	close(given[0]);
	close(given[1]);
}

/* What is told is the cause, whatever it was; and no descriptor is left. */
static void
test_not_started(void **state)
{
	static const int none[] = { -1, -1 };
	struct hl_err err = { 0 };
	struct hl_peer peer;

	(void)state;
	int lowest = dup(0);
	assert_true(lowest >= 0);
	close(lowest);
	assert_int_equal(hl_peer_start(&peer, &kind, "/nonexistent/hl-peer", none, &err), -1);
	assert_int_equal(err.code, HLB_59);
	assert_non_null(strstr(err.msg, "No such file"));
	assert_int_equal(hl_peer_start(&peer, &kind, "/dev/null", none, &err), -1);
	assert_non_null(strstr(err.msg, "Permission denied"));
	assert_int_equal(peer.pid, 0);
	assert_int_equal(peer.control, -1);
	int again = dup(0);
	assert_int_equal(again, lowest);
	close(again);
}

static void
test_session(void **state)
{
	static const char script[] = "#!/bin/sh\n" TAKE "exec sleep 60\n";
	static const int none[] = { -1, -1 };
	struct hl_peer_kind apart = kind;
	struct scene s;

	(void)state;
	scene_start(&s, &kind, script, none);
	assert_int_equal(getsid(s.peer.pid), getsid(0));
	scene_end(&s);
	apart.has_session = true;
	scene_start(&s, &apart, script, none);
	assert_int_equal(getsid(s.peer.pid), s.peer.pid);
	scene_end(&s);
}

static void
on_alarm(int number)
{
	(void)number;
}

/* Signals that come all the time make nobody wait longer. */
static void
test_silence(void **state)
{
	static const int none[] = { -1, -1 };
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval often = { { 0, 50000 }, { 0, 50000 } }, never = { 0 };
	struct scene s;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	scene_start(&s, &kind, "#!/bin/sh\ntrap '' TERM\nsleep 60\n", none);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	const uint64_t begin = hl_now_mono_ms();
	assert_int_equal(ask(&s), -1);
	assert_in_range(hl_now_mono_ms() - begin, 300, 5000);
	assert_int_equal(s.err.code, HLB_59);
	assert_true(s.peer.is_broken);
	/* Its answer would be the last one's. */
	assert_int_equal(ask(&s), -1);
	assert_in_range(hl_now_mono_ms() - begin, 300, 5000);
	assert_in_range(scene_end(&s), 1300, 10000);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	/* One that ends when it is told to needs no more than that. */
	scene_start(&s, &kind, "#!/bin/sh\nexec sleep 60\n", none);
	assert_in_range(scene_end(&s), 300, 1299);
}

static void
test_cancelled(void **state)
{
	static const int none[] = { -1, -1 };
	struct scene s;
	int cancel[2];

	(void)state;
	assert_int_equal(pipe2(cancel, O_CLOEXEC), 0);
	assert_int_equal(write(cancel[1], "x", 1), 1);
	scene_start(&s, &kind, "#!/bin/sh\nexec sleep 60\n", none);
	s.peer.answer_ms = 60000;
	s.peer.cancel_fd = cancel[0];
	assert_int_equal(ask(&s), -1);
	assert_int_equal(s.err.code, HLB_60);
	/* Nor is anything else asked: the answer to the first question may still come. */
	s.peer.cancel_fd = -1;
	assert_int_equal(ask(&s), -1);
	assert_non_null(strstr(s.err.msg, "given up on"));
	scene_end(&s);
	close(cancel[0]);
	close(cancel[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_nothing_of_ours_is_inherited),
		cmocka_unit_test(test_not_started),
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
