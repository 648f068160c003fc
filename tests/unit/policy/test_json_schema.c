/*
 * The JSON Schema has every key of the frame and of the fields; a validator of somebody else's
 * reads it in tests/run/policy_schema.sh.
 */
#include "policy/layer.h"
#include "stack.h"

#include "base/banned.h"

static void
every_key_has_its_place(void **state)
{
	struct hl_buf out;
	struct hl_err err = { 0 };
	char quoted[96];
	size_t n;
	const char *const *frame = policy_frame_keys(&n);

	(void)state;
	hl_buf_init(&out, 1 << 20);
	assert_int_equal(policy_json_schema(&out, &err), 0);
	for (size_t i = 0; i < n; i++) {
		snprintf(quoted, sizeof(quoted), "\"%s\":{", frame[i]);
		if (strstr(out.data, quoted) == NULL)
			fail_msg("%s is not in the schema", frame[i]);
	}
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const char *key = policy_field_key((enum policy_field)i);
		const char *last = strrchr(key, '.');
		snprintf(quoted, sizeof(quoted),
		    "\"%s\":{\"description\":", last != NULL ? last + 1 : key);
		if (strstr(out.data, quoted) == NULL)
			fail_msg("%s is not in the schema", key);
	}
	hl_buf_done(&out);
}

static void
it_does_not_fit_everywhere(void **state)
{
	struct hl_buf small;
	struct hl_err err = { 0 };

	(void)state;
	hl_buf_init(&small, 64);
	assert_int_equal(policy_json_schema(&small, &err), -1);
	hl_buf_done(&small);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_has_its_place),
		cmocka_unit_test(it_does_not_fit_everywhere),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
