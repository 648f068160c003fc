/*
 * struct hl_loop: readiness, deadlines in order, removal at any moment, regular files.
 */
#include <sys/epoll.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

enum {
	MANY = 300
};

struct bench {
	struct hl_loop *loop;
	struct hl_source *sources[MANY];
	int pipes[MANY][2];
	size_t len;
	size_t calls, order[MANY * 2];
};

struct seat {
	struct bench *bench;
	size_t number;
};

static struct seat seats[MANY];

static void
begin(struct bench *bench, size_t pipes)
{
	struct hl_err err;

	memset(bench, 0, sizeof(*bench));
	bench->len = pipes;
	assert_int_equal(hl_loop_new(&bench->loop, &err), 0);
	for (size_t i = 0; i < pipes; i++)
		assert_int_equal(pipe2(bench->pipes[i], O_CLOEXEC), 0);
	for (size_t i = 0; i < MANY; i++)
		seats[i] = (struct seat){ .bench = bench, .number = i };
}

static void
end(struct bench *bench)
{
	hl_loop_free(bench->loop);
	for (size_t i = 0; i < bench->len; i++) {
		close(bench->pipes[i][0]);
		close(bench->pipes[i][1]);
	}
}

static void
watch(struct bench *bench, size_t i, hl_loop_fn *fn)
{
	struct hl_err err;
	const struct hl_watch row = { .fd = bench->pipes[i][0],
		.events = EPOLLIN,
		.fn = fn,
		.context = &seats[i] };

	assert_int_equal(hl_loop_add(bench->loop, &row, &bench->sources[i], &err), 0);
}

static void
deadline(struct bench *bench, size_t i, uint64_t when_ms, hl_loop_fn *fn)
{
	struct hl_err err;
	const struct hl_watch row = { .fd = -1,
		.when_ms = when_ms,
		.fn = fn,
		.context = &seats[i] };

	assert_int_equal(hl_loop_add(bench->loop, &row, &bench->sources[i], &err), 0);
}

static void
run(struct bench *bench)
{
	struct hl_err err;

	assert_int_equal(hl_loop_run(bench->loop, &err), 0);
}

static void
note(struct bench *bench, size_t number)
{
	bench->order[bench->calls++] = number;
}

static void
on_byte(void *context, uint32_t events)
{
	struct seat *seat = context;
	char byte;

	assert_true(events & EPOLLIN);
	assert_int_equal(read(seat->bench->pipes[seat->number][0], &byte, 1), 1);
	note(seat->bench, seat->number);
	if (byte == '!')
		hl_loop_stop(seat->bench->loop);
}

static void
on_stop(void *context, uint32_t events)
{
	struct seat *seat = context;

	assert_int_equal(events, 0);
	note(seat->bench, seat->number);
	hl_loop_stop(seat->bench->loop);
}

static void
on_time(void *context, uint32_t events)
{
	struct seat *seat = context;

	assert_int_equal(events, 0);
	note(seat->bench, seat->number);
}

static void
test_readiness(void **state)
{
	struct bench bench;

	(void)state;
	begin(&bench, 2);
	watch(&bench, 0, on_byte);
	watch(&bench, 1, on_byte);
	assert_int_equal(write(bench.pipes[1][1], "!", 1), 1);
	run(&bench);
	assert_int_equal(bench.calls, 1);
	assert_int_equal(bench.order[0], 1);
	end(&bench);
}

/* Sibling: without the event asked for, the same byte is not told. */
static void
test_events_can_be_changed(void **state)
{
	struct bench bench;

	(void)state;
	begin(&bench, 1);
	watch(&bench, 0, on_byte);
	hl_source_events(bench.sources[0], 0);
	assert_int_equal(write(bench.pipes[0][1], "!", 1), 1);
	deadline(&bench, 1, hl_now_mono_ms() + 30, on_stop);
	run(&bench);
	assert_int_equal(bench.calls, 1);
	assert_int_equal(bench.order[0], 1);
	hl_source_events(bench.sources[0], EPOLLIN);
	run(&bench);
	assert_int_equal(bench.calls, 2);
	assert_int_equal(bench.order[1], 0);
	end(&bench);
}

static void
test_deadlines_in_order(void **state)
{
	struct bench bench;
	uint64_t begun = hl_now_mono_ms();

	(void)state;
	begin(&bench, 0);
	/* Every third is removed again; the rest must come in the order of their times. */
	for (size_t i = 0; i + 1 < MANY; i++)
		deadline(&bench, i, begun + (i * 7919) % 50, on_time);
	for (size_t i = 0; i + 1 < MANY; i += 3)
		hl_source_remove(bench.sources[i]);
	deadline(&bench, MANY - 1, begun + 60, on_stop);
	run(&bench);
	assert_true(hl_now_mono_ms() >= begun + 60);
	assert_int_equal(bench.calls, MANY - 1 - 100 + 1);
	for (size_t i = 0; i + 2 < bench.calls; i++) {
		assert_true((bench.order[i] * 7919) % 50 <= (bench.order[i + 1] * 7919) % 50);
		assert_int_not_equal(bench.order[i] % 3, 0);
	}
	end(&bench);
}

/* Whoever is called first removes all others, its own included. */
static void
on_byte_remove_all(void *context, uint32_t events)
{
	struct seat *seat = context;

	assert_true(events & EPOLLIN);
	note(seat->bench, seat->number);
	for (size_t i = 0; i < seat->bench->len; i++)
		hl_source_remove(seat->bench->sources[i]);
}

static void
test_removed_is_not_called(void **state)
{
	struct bench bench;

	(void)state;
	begin(&bench, 20);
	for (size_t i = 0; i < bench.len; i++) {
		watch(&bench, i, on_byte_remove_all);
		assert_int_equal(write(bench.pipes[i][1], "x", 1), 1);
	}
	deadline(&bench, 100, hl_now_mono_ms() + 30, on_stop);
	run(&bench);
	assert_int_equal(bench.calls, 2);
	assert_int_equal(bench.order[1], 100);
	end(&bench);
}

static void
on_time_again(void *context, uint32_t events)
{
	struct seat *seat = context;

	(void)events;
	note(seat->bench, seat->number);
	if (seat->bench->calls < 5)
		deadline(seat->bench, seat->number, 0, on_time_again);
}

/* A deadline that sets itself again in the past does not starve a descriptor. */
static void
test_deadline_cannot_starve(void **state)
{
	struct bench bench;

	(void)state;
	begin(&bench, 1);
	watch(&bench, 0, on_byte);
	deadline(&bench, 1, 0, on_time_again);
	assert_int_equal(write(bench.pipes[0][1], "!", 1), 1);
	run(&bench);
	assert_true(bench.calls <= 2);
	end(&bench);
}

static void
test_two_on_one_descriptor_is_hli_02(void **state)
{
	struct bench bench;
	struct hl_err err;
	struct hl_source *source;

	(void)state;
	begin(&bench, 1);
	watch(&bench, 0, on_byte);
	const struct hl_watch row = { .fd = bench.pipes[0][0], .events = EPOLLIN, .fn = on_byte };
	assert_int_equal(hl_loop_add(bench.loop, &row, &source, &err), -1);
	assert_int_equal(err.code, HLI_02);
	hl_source_remove(bench.sources[0]);
	watch(&bench, 0, on_byte);
	end(&bench);
}

static void
on_file(void *context, uint32_t events)
{
	struct seat *seat = context;

	(void)events;
	note(seat->bench, seat->number);
	if (seat->bench->calls == 3)
		hl_loop_stop(seat->bench->loop);
}

static void
test_regular_file_is_always_ready(void **state)
{
	char path[] = "/tmp/test_loop.XXXXXX";
	struct bench bench;
	struct hl_err err;

	(void)state;
	begin(&bench, 0);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path);
	const struct hl_watch row = { .fd = fd,
		.events = EPOLLIN,
		.fn = on_file,
		.context = &seats[0] };
	assert_int_equal(hl_loop_add(bench.loop, &row, &bench.sources[0], &err), 0);
	run(&bench);
	assert_int_equal(bench.calls, 3);
	hl_source_events(bench.sources[0], 0);
	deadline(&bench, 1, hl_now_mono_ms() + 20, on_stop);
	run(&bench);
	assert_int_equal(bench.calls, 4);
	hl_source_remove(bench.sources[0]);
	close(fd);
	end(&bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readiness),
		cmocka_unit_test(test_events_can_be_changed),
		cmocka_unit_test(test_deadlines_in_order),
		cmocka_unit_test(test_removed_is_not_called),
		cmocka_unit_test(test_deadline_cannot_starve),
		cmocka_unit_test(test_two_on_one_descriptor_is_hli_02),
		cmocka_unit_test(test_regular_file_is_always_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
