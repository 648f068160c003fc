/*
 * What lowering is told of this host.
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
#include "backends/local/local.h"

#include "base/banned.h"

/* What lowering is told of this host: names in "/", and policies below what is writable. */
static void
the_host_is_gathered(void **state)
{
	struct plan plan = { 0 };
	struct hl_err err = { 0 };
	struct local_host host;
	char top[] = "/tmp/hl-host-XXXXXX", dir[64];
	struct plan_mount mount = { .is_writable = true };

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(dir, sizeof(dir), "%s/.hermes", top);
	mount.src = top;
	mount.dst = top;
	plan.mounts = &mount;
	plan.mounts_len = 1;
	assert_int_equal(local_host_gather(&plan, &host, &err), 0);
	assert_int_equal(host.binds_len, 0);
	bool has_usr = false;
	for (size_t i = 0; i < host.entries_len; i++) {
		assert_true(hl_path_is_normal(host.entries[i].path));
		has_usr = has_usr || (strcmp(host.entries[i].path, "/usr") == 0 &&
					 host.entries[i].kind == LOCAL_ENTRY_DIR);
		if (i > 0)
			assert_true(strcmp(host.entries[i - 1].path, host.entries[i].path) < 0);
	}
	assert_true(has_usr);
	local_host_done(&host);
	assert_int_equal(mkdir(dir, 0755), 0);
	assert_int_equal(local_host_gather(&plan, &host, &err), 0);
	assert_int_equal(host.binds_len, 1);
	assert_string_equal(host.binds[0].dst, dir);
	assert_false(host.binds[0].is_file);
	local_host_done(&host);
	/* A protection that does not fit is an error, never left out. */
	static struct plan_mount many[65];
	for (size_t i = 0; i < HL_ARRAY_SIZE(many); i++)
		many[i] = mount;
	plan.mounts = many;
	plan.mounts_len = HL_ARRAY_SIZE(many);
	assert_int_equal(local_host_gather(&plan, &host, &err), -1);
	assert_string_equal(hl_code_info(err.code)->id, "HLB-27");
	plan.mounts = &mount;
	plan.mounts_len = 1;
	mount.is_writable = false;
	assert_int_equal(local_host_gather(&plan, &host, &err), 0);
	assert_int_equal(host.binds_len, 0);
	local_host_done(&host);
	/* HLB-27: a name that would not fit below is refused, not cut. */
	static char long_path[5000] = "/";
	memset(long_path + 1, 'a', 4090);
	mount.is_writable = true;
	mount.src = long_path;
	assert_int_equal(local_host_gather(&plan, &host, &err), -1);
	assert_string_equal(hl_code_info(err.code)->id, "HLB-27");
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rmdir(top), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_host_is_gathered),
	};

	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
