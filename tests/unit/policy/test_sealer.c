/*
 * Both ends of the socket between launcher and hl-seal: answers that are none are not believed, and
 * requests that are none are not answered.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "policy/seal/seal.h"
#include "policy/sealer.h"

#include "base/banned.h"

static struct hl_err err;
static const struct note_key key = { .name = "a.example" };
static const unsigned char signature[NOTE_SIGNATURE_SIZE];

/* Asks about two claims somebody whose answer lies in the socket already. */
static int
verify_with(const void *answer, size_t len, bool is_right[2])
{
	const struct sealer_claim claims[2] = { { "a\n", 2, &key, signature },
		{ "b\n", 2, &key, signature } };
	struct hl_peer sealer = { .kind = &policy_sealer, .cancel_fd = -1, .answer_ms = 1000 };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	if (answer != NULL)
		assert_int_equal(send(ends[1], answer, len, MSG_NOSIGNAL), (ssize_t)len);
	assert_int_equal(shutdown(ends[1], SHUT_WR), 0);
	sealer.control = ends[0];
	err = (struct hl_err){ 0 };
	is_right[0] = is_right[1] = true;
	int status = policy_sealer_verify(&sealer, claims, 2, is_right, &err);
	close(ends[0]);
	close(ends[1]);
	return status;
}

static void
answers_that_are_none_are_not_believed(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{ NULL, 0 },
		{ "\x06", 1 },
		{ "\x06\2\0\0\0", 5 },
		{ "\x06\2\0\0\0\1", 6 },
		{ "\x06\2\0\0\0\1\1\1", 8 },
		{ "\x06\2\0\0\0\1\2", 7 },
		{ "\x06\1\0\0\0\1", 6 },
		{ "\x06\3\0\0\0\1\1\1", 8 },
		{ "\x05\2\0\0\0\1\1", 7 },
		{ "\x03\2\0\0\0\1\1", 7 },
		{ "\xff\2\0\0\0\1\1", 7 },
		{ "\x07", 1 },
		{ "\x07\xff\xff\xff\xff", 5 },
	};
	bool is_right[2];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		assert_int_equal(verify_with(bad[i].bytes, bad[i].len, is_right), -1);
		assert_int_equal(err.code, HLS_13);
	}
	assert_int_equal(verify_with("\x06\2\0\0\0\1\0", 7, is_right), 0);
	assert_true(is_right[0]);
	assert_false(is_right[1]);
}

static void
a_failure_may_have_codes_of_signing_only(void **state)
{
	static const struct {
		const char *id;
		enum hl_code code;
	} rows[] = { { "HLS-12", HLS_12 }, { "HLI-02", HLI_02 }, { "HLC-12", HLS_13 },
		{ "HL-00", HLS_13 }, { "x", HLS_13 } };
	bool is_right[2];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		struct hl_buf packet;
		hl_buf_init(&packet, 256);
		hl_wire_put_u8(&packet, SEAL_FAILED);
		hl_wire_put_string(&packet, rows[i].id);
		hl_wire_put_string(&packet, "why");
		hl_wire_put_string(&packet, "help");
		assert_int_equal(verify_with(packet.data, packet.len, is_right), -1);
		assert_int_equal(err.code, rows[i].code);
		assert_string_equal(err.msg, "why");
		hl_buf_done(&packet);
	}
}

/* A shell script in hl-seal's place is asked twice; how long that and its end took. */
static uint64_t
ask_script(const char *text, int status[2], bool is_right[2])
{
	const struct sealer_claim claims[2] = { { "a\n", 2, &key, signature },
		{ "b\n", 2, &key, signature } };
	char path[] = "/tmp/hl-seal.XXXXXX";
	const struct sealer_start start = { path, -1, -1 };
	struct hl_peer sealer;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(hl_write_full(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	err = (struct hl_err){ 0 };
	assert_int_equal(policy_sealer_start(&sealer, &start, &err), 0);
	assert_in_range(sealer.answer_ms, 1, 60 * 1000);
	assert_in_range(sealer.end_ms, 1, 60 * 1000);
	sealer.answer_ms = sealer.end_ms = 500;
	const uint64_t begin = hl_now_mono_ms();
	for (size_t i = 0; i < 2; i++)
		status[i] = policy_sealer_verify(&sealer, claims, 2, is_right, &err);
	const pid_t pid = sealer.pid;
	policy_sealer_end(&sealer);
	policy_sealer_end(&sealer);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(unlink(path), 0);
	return hl_now_mono_ms() - begin;
}

/* The first byte that comes: a request is one packet, and what is not taken of it is gone. */
#define TAKE "head -c 1 <&3 >/dev/null; "

static void
one_that_never_answers_is_given_up(void **state)
{
	int status[2];
	bool is_right[2];

	(void)state;
	/* Ends when it is told to, and does not. */
	uint64_t ms = ask_script("#!/bin/sh\nexec sleep 60\n", status, is_right);
	assert_int_equal(status[0], -1);
	assert_int_equal(status[1], -1);
	assert_int_equal(err.code, HLS_13);
	assert_in_range(ms, 500, 10000);
	ms = ask_script("#!/bin/sh\ntrap '' TERM\nsleep 60\n", status, is_right);
	assert_int_equal(status[0], -1);
	assert_int_equal(err.code, HLS_13);
	assert_in_range(ms, 1000, 10000);
}

/* Signals that the caller holds back; the one that it ignores is not to end anything. */
static void
a_signal_that_is_held_back_ends_the_wait(void **state)
{
	static const struct {
		int number;
		void (*action)(int);
		bool is_held, is_ended;
	} rows[] = { { SIGTERM, SIG_DFL, true, true }, { SIGINT, SIG_DFL, true, true },
		{ SIGHUP, SIG_IGN, true, false }, { SIGUSR1, SIG_DFL, true, false },
		{ SIGTERM, SIG_IGN, false, false } };
	int status[2];
	bool is_right[2];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		sigset_t set, before, waiting;
		sigemptyset(&set);
		if (rows[i].is_held)
			sigaddset(&set, rows[i].number);
		assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
		assert_true(signal(rows[i].number, rows[i].action) != SIG_ERR);
		assert_int_equal(kill(getpid(), rows[i].number), 0);
		/* Would end when it is told to; half a second is waited for an answer. */
		uint64_t ms = ask_script("#!/bin/sh\nexec sleep 60\n", status, is_right);
		assert_int_equal(status[0], -1);
		assert_int_equal(err.code, HLS_13);
		assert_in_range(ms, rows[i].is_ended ? 0 : 500, rows[i].is_ended ? 499 : 10000);
		/* It is there for the caller. */
		assert_int_equal(sigpending(&waiting), 0);
		assert_int_equal(sigismember(&waiting, rows[i].number), rows[i].is_held);
		assert_true(signal(rows[i].number, SIG_IGN) != SIG_ERR);
		assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
		assert_true(signal(rows[i].number, SIG_DFL) != SIG_ERR);
	}
}

static void
one_that_answers_half_is_given_up(void **state)
{
	int status[2];
	bool is_right[2] = { true, true };

	(void)state;
	uint64_t ms = ask_script("#!/bin/sh\n" TAKE "printf '\\006\\002\\000' >&3\nexec sleep 60\n",
	    status, is_right);
	assert_int_equal(status[0], -1);
	assert_int_equal(status[1], -1);
	assert_false(is_right[0] || is_right[1]);
	assert_int_equal(err.code, HLS_13);
	/* At once, and what comes later is not taken for the second answer. */
	assert_in_range(ms, 0, 10000);
}

static void
one_that_answers_is_believed(void **state)
{
	int status[2];
	bool is_right[2];

	(void)state;
	uint64_t ms = ask_script("#!/bin/sh\nfor i in 1 2; do " TAKE
				 "printf '\\006\\002\\000\\000\\000\\001\\000' >&3; done\n",
	    status, is_right);
	assert_int_equal(status[0], 0);
	assert_int_equal(status[1], 0);
	assert_true(is_right[0]);
	assert_false(is_right[1]);
	assert_in_range(ms, 0, 10000);
}

/* No descriptor stays of one that could not be started, whatever failed. */
static void
nothing_is_left_of_one_that_did_not_start(void **state)
{
	const struct sealer_start start = { "/nonexistent/hl-seal", -1, -1 };
	struct rlimit before, none;
	struct hl_peer sealer;

	(void)state;
	int lowest = dup(0);
	assert_true(lowest >= 0);
	close(lowest);
	assert_int_equal(policy_sealer_start(&sealer, &start, &err), -1);
	assert_int_equal(err.code, HLS_13);
	/* fork(2) fails, but not for root. */
	assert_int_equal(getrlimit(RLIMIT_NPROC, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NPROC, &none), 0);
	assert_int_equal(policy_sealer_start(&sealer, &start, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_NPROC, &before), 0);
	assert_int_equal(err.code, HLS_13);
	/* Descriptors end, at each one that it makes. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (rlim_t n = (rlim_t)lowest; n < (rlim_t)lowest + 16; n++) {
		none = (struct rlimit){ n, before.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		int status = policy_sealer_start(&sealer, &start, &err);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_int_equal(status, -1);
		assert_int_equal(err.code, HLS_13);
	}
	int again = dup(0);
	assert_int_equal(again, lowest);
	close(again);
}

/* ------------------------------------------------------------------------------------------------
 * hl-seal's end
 */

/* The answer's type; 0 = hl-seal ends. */
static unsigned
answer_to(const struct hl_buf *request)
{
	unsigned char *exact = malloc(request->len > 0 ? request->len : 1);
	struct hl_buf out;
	unsigned type = 0;

	assert_non_null(exact);
	if (request->len > 0)
		memcpy(exact, request->data, request->len);
	hl_buf_init(&out, SEAL_PACKET_MAX);
	if (seal_answer(exact, request->len, &out) == 0)
		type = (unsigned char)out.data[0];
	hl_buf_done(&out);
	free(exact);
	return type;
}

static void
what_is_no_request_ends_it(void **state)
{
	struct hl_buf request;

	(void)state;
	hl_buf_init(&request, 2 * SEAL_PACKET_MAX);
	assert_int_equal(answer_to(&request), 0);
	for (unsigned type = 0; type < 256; type++) {
		if (type >= SEAL_KEYGEN && type <= SEAL_VERIFY)
			continue;
		hl_buf_reset(&request);
		hl_wire_put_u8(&request, (uint8_t)type);
		assert_int_equal(answer_to(&request), 0);
	}
	/* Larger than its type allows. */
	hl_buf_reset(&request);
	hl_wire_put_u8(&request, SEAL_KEYGEN);
	while (request.len <= 256)
		hl_buf_putc(&request, 'a');
	assert_int_equal(answer_to(&request), 0);
	hl_buf_done(&request);
}

static void
malformed_requests_fail(void **state)
{
	struct hl_buf request;

	(void)state;
	hl_buf_init(&request, SEAL_PACKET_MAX);
	/* Each request, cut off at each byte. */
	for (unsigned type = SEAL_KEYGEN; type <= SEAL_VERIFY; type++) {
		for (size_t len = 0; len < 8; len++) {
			hl_buf_reset(&request);
			hl_wire_put_u8(&request, (uint8_t)type);
			for (size_t i = 0; i < len; i++)
				hl_buf_putc(&request, '\xff');
			assert_int_equal(answer_to(&request), SEAL_FAILED);
		}
	}
	/* A name that no key can have. */
	hl_buf_reset(&request);
	hl_wire_put_u8(&request, SEAL_KEYGEN);
	hl_wire_put_u8(&request, SEAL_PASSPHRASE_NONE);
	hl_wire_put_string(&request, "a b");
	assert_int_equal(answer_to(&request), SEAL_FAILED);
	/* A signature of another size. */
	hl_buf_reset(&request);
	hl_wire_put_u8(&request, SEAL_VERIFY);
	hl_wire_put_u32(&request, 1);
	hl_wire_put_bytes(&request, "a\n", 2);
	hl_wire_put_bytes(&request, key.bytes, NOTE_KEY_SIZE);
	hl_wire_put_bytes(&request, signature, NOTE_SIGNATURE_SIZE - 1);
	assert_int_equal(answer_to(&request), SEAL_FAILED);
	hl_buf_done(&request);
}

/* Whoever asks cannot have anything else signed than what the request is for. */
static void
only_statements_about_policies_are_signed(void **state)
{
	static const char text[] = "hermes-launch/host/log\n48213\nAAAA\n";
	struct hl_buf request, out;
	struct hl_wire wire;

	(void)state;
	hl_buf_init(&request, SEAL_PACKET_MAX);
	hl_buf_init(&out, SEAL_PACKET_MAX);
	hl_wire_put_u8(&request, SEAL_SIGN_POLICY);
	hl_wire_put_u8(&request, SEAL_PASSPHRASE_NONE);
	hl_wire_put_bytes(&request, text, sizeof(text) - 1);
	assert_int_equal(seal_answer((const unsigned char *)request.data, request.len, &out), 0);
	hl_wire_init(&wire, out.data, out.len);
	assert_int_equal(hl_wire_u8(&wire), SEAL_FAILED);
	assert_string_equal(hl_wire_string(&wire), "HLS-04");
	hl_buf_done(&request);
	hl_buf_done(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_that_are_none_are_not_believed),
		cmocka_unit_test(a_failure_may_have_codes_of_signing_only),
		cmocka_unit_test(one_that_never_answers_is_given_up),
		cmocka_unit_test(a_signal_that_is_held_back_ends_the_wait),
		cmocka_unit_test(one_that_answers_half_is_given_up),
		cmocka_unit_test(one_that_answers_is_believed),
		cmocka_unit_test(nothing_is_left_of_one_that_did_not_start),
		cmocka_unit_test(what_is_no_request_ends_it),
		cmocka_unit_test(malformed_requests_fail),
		cmocka_unit_test(only_statements_about_policies_are_signed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
