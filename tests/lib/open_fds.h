/*
 * How many descriptors this process has open, for tests that nothing is left open.
 */
#ifndef HL_TESTS_LIB_OPEN_FDS_H
#define HL_TESTS_LIB_OPEN_FDS_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static unsigned
open_fds(void)
{
	unsigned count = 0;
	DIR *dir = opendir("/proc/self/fd");

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

#endif
