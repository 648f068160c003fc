/*
 * The memory of revisions: whole or refused, never lower, and right when many write at once.
 */
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

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
#include "policy/revisions.h"

#include "base/banned.h"

#define HEAD "hermes-launch/revisions/v1\n"

static char dir[64];
static struct hl_err err;

static uint64_t
remembered(const char *id)
{
	struct revisions all;

	assert_int_equal(policy_revisions_read(dir, &all, &err), 0);
	uint64_t revision = policy_revisions_of(&all, id);
	policy_revisions_done(&all);
	return revision;
}

static void
raise_to(const char *id, uint64_t revision)
{
	struct revision seen = { .revision = revision };

	snprintf(seen.id, sizeof(seen.id), "%s", id);
	assert_int_equal(policy_revisions_raise(dir, &seen, 1, &err), 0);
}

static void
it_grows_and_never_shrinks(void **state)
{
	(void)state;
	assert_int_equal(remembered("acme/base"), 0);
	raise_to("acme/base", 7);
	raise_to("acme/team", 3);
	raise_to("a", 1);
	raise_to("acme/base", 5);
	assert_int_equal(remembered("acme/base"), 7);
	raise_to("acme/base", 8);
	assert_int_equal(remembered("acme/base"), 8);
	assert_int_equal(remembered("acme/team"), 3);
	assert_int_equal(remembered("a"), 1);
	assert_int_equal(remembered("acme"), 0);
}

static void
many_at_once_lose_nothing(void **state)
{
	enum {
		WRITERS = 6,
		ROUNDS = 12
	};
	char id[32];

	(void)state;
	for (int i = 0; i < WRITERS; i++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid != 0)
			continue;
		for (int round = 1; round <= ROUNDS; round++) {
			snprintf(id, sizeof(id), "crowd/%d", i);
			raise_to(id, (uint64_t)round);
			raise_to("crowd/all", (uint64_t)(i * 100 + round));
		}
		_exit(0);
	}
	for (int i = 0; i < WRITERS; i++) {
		int status = -1;
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < WRITERS; i++) {
		snprintf(id, sizeof(id), "crowd/%d", i);
		assert_int_equal(remembered(id), ROUNDS);
	}
	assert_int_equal(remembered("crowd/all"), (WRITERS - 1) * 100 + ROUNDS);
}

/* By one that was stopped, say: what is to be written is an error, and what is not needs no lock.
 */
static void
a_lock_that_is_held_is_not_waited_for_for_ever(void **state)
{
	struct revision seen = { .id = "locked", .revision = 2 };
	char path[128];

	(void)state;
	raise_to("locked", 1);
	snprintf(path, sizeof(path), "%s/revisions.lock", dir);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	raise_to("locked", 1);
	const uint64_t begin = hl_now_mono_ms();
	assert_int_equal(policy_revisions_raise(dir, &seen, 1, &err), -1);
	assert_in_range(hl_now_mono_ms() - begin, 1000, 20000);
	assert_int_equal(err.code, HLS_14);
	assert_non_null(strstr(err.msg, "locked by another process"));
	assert_int_equal(remembered("locked"), 1);
	close(fd);
	raise_to("locked", 2);
	assert_int_equal(remembered("locked"), 2);
}

static void
damaged_texts_are_refused(void **state)
{
	static const char *const bad[] = { "", "\n", "hermes-launch/revisions/v1", "acme/base 7\n",
		HEAD "acme/base 7", HEAD "acme/base\n", HEAD " 7\n", HEAD "acme/base 0\n",
		HEAD "acme/base 07\n", HEAD "acme/base 7 \n", HEAD "acme/base -7\n",
		HEAD "acme/base 9007199254740992\n", HEAD "acme/base 7\nacme/base 7\n",
		HEAD "b 1\na 1\n", HEAD "\n", HEAD "acme/base 7\n\n" };
	struct revisions all;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		assert_int_equal(policy_revisions_parse(bad[i], strlen(bad[i]), &all, &err), -1);
		assert_int_equal(err.code, HLS_14);
	}
	assert_int_equal(policy_revisions_parse(HEAD "a\0b 7\n", strlen(HEAD) + 6, &all, &err), -1);
	assert_int_equal(policy_revisions_parse(HEAD "a 1\nb 2\n", strlen(HEAD) + 8, &all, &err),
	    0);
	assert_int_equal(policy_revisions_of(&all, "b"), 2);
	policy_revisions_done(&all);
}

static void
what_others_can_write_is_refused(void **state)
{
	struct revision seen = { .id = "acme/new", .revision = 1 };
	struct revisions all;
	char path[128];

	(void)state;
	raise_to("acme/base", 9);
	snprintf(path, sizeof(path), "%s/revisions", dir);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(policy_revisions_read(dir, &all, &err), -1);
	assert_int_equal(err.code, HLS_14);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(policy_revisions_read(dir, &all, &err), -1);
	assert_int_equal(policy_revisions_raise(dir, &seen, 1, &err), -1);
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(remembered("acme/base"), 9);
	/* What a crash has left is in nobody's way, and a link goes nowhere. */
	snprintf(path, sizeof(path), "%s/revisions.new", dir);
	assert_int_equal(symlink("/nonexistent/target", path), 0);
	raise_to("acme/base", 10);
	assert_int_equal(remembered("acme/base"), 10);
	/* No directory: nothing was seen, and it is made. */
	snprintf(path, sizeof(path), "%s/deeper", dir);
	assert_int_equal(policy_revisions_read(path, &all, &err), 0);
	assert_int_equal(all.len, 0);
	assert_int_equal(policy_revisions_raise(path, &seen, 1, &err), 0);
	assert_int_equal(policy_revisions_read(path, &all, &err), 0);
	assert_int_equal(policy_revisions_of(&all, "acme/new"), 1);
	policy_revisions_done(&all);
}

static void
remove_at(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	(void)remove(path);
}

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/hl-revisions-XXXXXX");
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	remove_at("deeper/revisions");
	remove_at("deeper/revisions.lock");
	remove_at("deeper");
	remove_at("revisions");
	remove_at("revisions.lock");
	return rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_grows_and_never_shrinks),
		cmocka_unit_test(many_at_once_lose_nothing),
		cmocka_unit_test(a_lock_that_is_held_is_not_waited_for_for_ever),
		cmocka_unit_test(damaged_texts_are_refused),
		cmocka_unit_test(what_others_can_write_is_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
