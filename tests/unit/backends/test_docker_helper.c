/*
 * The launcher's half of talking to hl-engine, against helpers that are none: missing, ending at
 * once, saying nothing sensible.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/docker/helper.h"
#include "backends/docker/prepare.h"

#include "base/banned.h"

static struct plan plan = {
	.endpoint = (char[]){ "/nonexistent/engine.sock" },
	.image = (char[]){ "tools:1" },
};

static void
test_missing_program(void **state)
{
	struct docker_helper helper;
	struct hl_err err = { 0 };

	(void)state;
	assert_int_equal(docker_helper_start(&helper, "/nonexistent/hl-engine", -1, &err), -1);
	assert_string_equal(hl_code_info(err.code)->id, "HLB-59");
	assert_non_null(strstr(err.msg, "No such file"));
	assert_int_equal(helper.peer.pid, 0);
	assert_int_equal(helper.peer.control, -1);
}

static void
open_fails(const char *program, const char *code)
{
	struct docker_opened opened = { 0 };
	struct docker_helper helper;
	struct hl_err err = { 0 };

	assert_int_equal(docker_helper_start(&helper, program, -1, &err), 0);
	assert_int_equal(docker_helper_open(&helper, &plan, &opened, &err), -1);
	assert_string_equal(hl_code_info(err.code)->id, code);
	docker_helper_end(&helper);
	docker_helper_end(&helper);
}

static void
test_program_that_ends(void **state)
{
	(void)state;
	open_fails("/bin/true", "HLB-59");
}

/* A shell script in the helper's place, with the protocol's descriptors. */
static void
with_script(const char *text, const char *code)
{
	char path[] = "/tmp/hl-helper.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(hl_write_full(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	open_fails(path, code);
	assert_int_equal(unlink(path), 0);
}

static void
test_program_that_talks_nonsense(void **state)
{
	(void)state;
	with_script("#!/bin/sh\nprintf nonsense >&3\nexec sleep 1\n", "HLB-59");
	with_script("#!/bin/sh\nprintf '\\002' >&3\nexec sleep 1\n", "HLB-59"); /* OPENED, cut */
	with_script("#!/bin/sh\nprintf '\\013' >&3\nexec sleep 1\n", "HLB-59"); /* FAILED, cut */
}

static void
test_failure_of_another_family_is_not_believed(void **state)
{
	(void)state;
	/* FAILED "HLP-01" "x" "": lengths are little-endian and count the NUL. */
	with_script("#!/bin/sh\n"
		    "printf '\\013\\007\\000\\000\\000HLP-01\\000\\002\\000\\000\\000x\\000"
		    "\\001\\000\\000\\000\\000' >&3\nexec sleep 1\n",
	    "HLB-59");
}

static void
test_nothing_of_ours_is_inherited(void **state)
{
	(void)state;
	assert_int_equal(setenv("HL_SECRET_OF_TEST", "x", 1), 0);
	int null HL_AUTO_FD = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int leak = fcntl(null, F_DUPFD, 9); /* without close-on-exec, on purpose */
	assert_true(leak >= 9);
	/* Ends with an answer that says which one failed. */
	with_script(
	    "#!/bin/sh\n"
	    "[ -z \"$HL_SECRET_OF_TEST\" ] || { printf nonsense >&3; exec sleep 1; }\n"
	    "for fd in /proc/self/fd/[6-9] /proc/self/fd/[1-9][0-9]; do\n"
	    "[ -e \"$fd\" ] && [ \"${fd##*/}\" != 255 ] && "
	    "case $(readlink \"$fd\") in /dev/null) printf nonsense >&3; exec sleep 1;; esac\n"
	    "done\n"
	    "printf '\\013\\007\\000\\000\\000HLB-45\\000\\002\\000\\000\\000x\\000"
	    "\\001\\000\\000\\000\\000' >&3\nexec sleep 1\n",
	    "HLB-45");
	close(leak);
	assert_int_equal(unsetenv("HL_SECRET_OF_TEST"), 0);
}

static void
test_cancelled(void **state)
{
	struct docker_opened opened = { 0 };
	struct docker_helper helper;
	struct hl_err err = { 0 };
	int cancel[2];

	(void)state;
	assert_int_equal(pipe2(cancel, O_CLOEXEC), 0);
	assert_int_equal(write(cancel[1], "x", 1), 1);
	assert_int_equal(docker_helper_start(&helper, "/bin/cat", cancel[0], &err), 0);
	int status = docker_helper_open(&helper, &plan, &opened, &err);
	assert_int_equal(status, -1);
	/* cat ends at once on /dev/null: either way nothing was opened. */
	const char *code = hl_code_info(err.code)->id;
	assert_true(strcmp(code, "HLB-60") == 0 || strcmp(code, "HLB-59") == 0);
	docker_helper_end(&helper);
	close(cancel[0]);
	close(cancel[1]);
}

static void
test_limits_named(void **state)
{
	const uint32_t memory = 1U << PLAN_LIMIT_MEMORY, cpus = 1U << PLAN_LIMIT_CPUS,
		       pids = 1U << PLAN_LIMIT_PIDS;

	(void)state;
	assert_int_equal(docker_limits_named("Your kernel does not support memory limit "
					     "capabilities or the cgroup is not mounted. "
					     "Limitation discarded."),
	    memory);
	assert_int_equal(docker_limits_named("Range of CPUs is from 0.01 to 2.00"), cpus);
	assert_int_equal(docker_limits_named("Your kernel does not support PIDs limit"), pids);
	assert_int_equal(docker_limits_named("cgroups: cannot find cgroup mount"),
	    memory | cpus | pids);
	assert_int_equal(docker_limits_named("--storage-opt is supported only for overlay over xfs "
					     "with 'pquota' mount option"),
	    1U << PLAN_LIMIT_DISK);
	assert_int_equal(docker_limits_named("IPv4 forwarding is disabled."), 0);
	assert_int_equal(docker_limits_named("no such image"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing_program),
		cmocka_unit_test(test_program_that_ends),
		cmocka_unit_test(test_program_that_talks_nonsense),
		cmocka_unit_test(test_failure_of_another_family_is_not_believed),
		cmocka_unit_test(test_nothing_of_ours_is_inherited),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_limits_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
