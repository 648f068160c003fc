/*
 * Which engines were used from a state directory: all of them, or an error.
 */
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/backends.h"

#include "base/banned.h"

static char dir[] = "/tmp/test-endpoints-XXXXXX";

static void
path_of(unsigned n, char path[256], char endpoint[64])
{
	char sha256[HL_SHA256_HEX_SIZE];

	snprintf(endpoint, 64, "/run/engine-%03u.sock", n);
	hl_sha256_text(endpoint, strlen(endpoint), sha256);
	snprintf(path, 256, "%s/engines/%s", dir, sha256);
}

static void
remember(unsigned n, const char *other)
{
	char path[256], endpoint[64];

	path_of(n, path, endpoint);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fputs(other != NULL ? other : endpoint, file);
	fclose(file);
}

static void
forget(unsigned n)
{
	char path[256], endpoint[64];

	path_of(n, path, endpoint);
	unlink(path);
}

static void
all_of_them_or_an_error(void **state)
{
	struct hl_err err = { 0 };
	struct hl_strv endpoints;
	char path[256];

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(engine_endpoints(dir, &endpoints, &err), 0);
	assert_int_equal(endpoints.len, 0);
	hl_strv_done(&endpoints);
	snprintf(path, sizeof(path), "%s/engines", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	for (unsigned i = 0; i < ENGINE_ENDPOINTS_MAX; i++)
		remember(i, NULL);
	/* Not what its name says. */
	remember(ENGINE_ENDPOINTS_MAX, "/run/other.sock");
	assert_int_equal(engine_endpoints(dir, &endpoints, &err), 0);
	assert_int_equal(endpoints.len, ENGINE_ENDPOINTS_MAX);
	assert_string_equal(endpoints.v[255], "/run/engine-255.sock");
	hl_strv_done(&endpoints);
	remember(ENGINE_ENDPOINTS_MAX, NULL);
	assert_int_equal(engine_endpoints(dir, &endpoints, &err), -1);
	assert_int_equal(err.code, HLI_03);
	hl_strv_done(&endpoints);
	for (unsigned i = 0; i <= ENGINE_ENDPOINTS_MAX; i++)
		forget(i);
	assert_int_equal(rmdir(path), 0);
	/* A place that cannot be listed is not an empty one. */
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(engine_endpoints(dir, &endpoints, &err), -1);
	assert_int_equal(err.code, HLB_57);
	hl_strv_done(&endpoints);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_them_or_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
