/*
 * The caller's account: from /etc/passwd, and for a uid that nobody knows.
 */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/launcher.h"

static void
test_same_as_getpwuid(void **state)
{
	(void)state;
	static const uid_t uids[] = { 0, 1, 33, 65534 };

	for (size_t i = 0; i < HL_ARRAY_SIZE(uids); i++) {
		const struct passwd *entry = getpwuid(uids[i]);
		struct account account;
		struct hl_err err;
		if (entry == NULL)
			continue;
		assert_int_equal(host_account(uids[i], &account, &err), 0);
		assert_string_equal(account.user, entry->pw_name);
		assert_string_equal(account.home, entry->pw_dir);
		host_account_done(&account);
	}
	assert_non_null(getpwuid(0));
}

static void
test_unknown_uid(void **state)
{
	(void)state;
	struct account account;
	struct hl_err err;

	assert_null(getpwuid(3999999999U));
	assert_int_equal(host_account(3999999999U, &account, &err), 0);
	assert_string_equal(account.user, "3999999999");
	assert_string_equal(account.home, "/");
	host_account_done(&account);
	host_account_done(&account);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_getpwuid),
		cmocka_unit_test(test_unknown_uid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
