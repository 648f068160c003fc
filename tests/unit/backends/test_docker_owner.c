/*
 * Whose container it is: this process, one that has ended, and those of whom nobody here can know.
 */
#include <sys/wait.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/docker/start.h"

#include "base/banned.h"

static void
we_live(void **state)
{
	char owner[DOCKER_OWNER_SIZE];

	(void)state;
	docker_owner(owner);
	assert_int_equal(docker_owner_look(owner), DOCKER_OWNER_LIVES);
}

/* Same id, another start: the number was used again. */
static void
a_number_that_was_used_again_is_dead(void **state)
{
	char owner[DOCKER_OWNER_SIZE], other[2 * DOCKER_OWNER_SIZE];

	(void)state;
	docker_owner(owner);
	const char *rest = strchr(strchr(owner, ':') + 1, ':');
	snprintf(other, sizeof(other), "%d:1%s", (int)getpid(), rest);
	assert_int_equal(docker_owner_look(other), DOCKER_OWNER_DEAD);
}

static void
a_zombie_is_dead(void **state)
{
	char owner[DOCKER_OWNER_SIZE] = { 0 };
	int ends[2];
	siginfo_t info;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		docker_owner(owner);
		_exit(write(ends[1], owner, sizeof(owner)) == sizeof(owner) ? 0 : 1);
	}
	assert_int_equal(read(ends[0], owner, sizeof(owner)), sizeof(owner));
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(docker_owner_look(owner), DOCKER_OWNER_DEAD);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(docker_owner_look(owner), DOCKER_OWNER_DEAD);
	close(ends[0]);
	close(ends[1]);
}

static void
elsewhere_nobody_knows(void **state)
{
	char owner[DOCKER_OWNER_SIZE], other[2 * DOCKER_OWNER_SIZE];

	(void)state;
	docker_owner(owner);
	const char *space = strchr(strchr(owner, ':') + 1, ':');
	const char *boot = strrchr(owner, ':');
	snprintf(other, sizeof(other), "%.*s:1%s", (int)(space - owner), owner, boot);
	assert_int_equal(docker_owner_look(other), DOCKER_OWNER_ELSEWHERE);
	/* Who could not read its own start wrote 0: nobody's, which proves nothing. */
	snprintf(other, sizeof(other), "%d:0%s", (int)getpid(), space);
	assert_int_equal(docker_owner_look(other), DOCKER_OWNER_ELSEWHERE);
	snprintf(other, sizeof(other), "%.*s:another-boot", (int)(boot - owner), owner);
	assert_int_equal(docker_owner_look(other), DOCKER_OWNER_ELSEWHERE);
}

static void
what_we_did_not_write_is_malformed(void **state)
{
	static const char *const texts[] = { "", ":", "x", "1", "1:", "1:x:2:b", "1::2:b",
		"-1:5:2:b", "12345678901:5:2:b", "1:123456789012345678901:2:b" };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(texts); i++)
		assert_int_equal(docker_owner_look(texts[i]), DOCKER_OWNER_MALFORMED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(we_live),
		cmocka_unit_test(a_number_that_was_used_again_is_dead),
		cmocka_unit_test(a_zombie_is_dead),
		cmocka_unit_test(elsewhere_nobody_knows),
		cmocka_unit_test(what_we_did_not_write_is_malformed),
	};

	return cmocka_run_group_tests_name("docker owner", tests, NULL, NULL);
}
