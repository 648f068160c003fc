/*
 * HLB-53: what docker tells of graphics processors against the request for them. A request that
 * comes back with more than was asked is a device that no policy gave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

/* A container's settings with more of them; in its text ' stands for ". */
static json_t *
read_json(const char *more)
{
	char text[1024];

	assert_true((size_t)snprintf(text, sizeof(text), "{'HostConfig':{'Memory':1%s}}", more) <
		    sizeof(text));
	for (char *c = text; *c != '\0'; c++)
		*c = *c == '\'' ? '"' : *c;
	json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(value);
	return value;
}

static int
compare(const char *asked_requests, const char *kept_requests, struct hl_err *err)
{
	json_t *asked = read_json(asked_requests), *kept = read_json(kept_requests);
	char part[KEPT_PART_MAX];
	int status = inspect_compare(asked, kept, part, err);

	json_decref(asked);
	json_decref(kept);
	return status;
}

#define REQUEST(driver, count, ids, more)                                        \
 "{'Driver':" driver ",'Count':" count ",'DeviceIDs':" ids ",'Capabilities':[['" \
 "gpu']],'Options':{}" more "}"
#define LIST(text) ",'DeviceRequests':[" text "]"
#define ONE        REQUEST("''", "0", "['0']", "")

static const char asked_one[] = LIST(ONE);
static const char asked_all[] = LIST(REQUEST("''", "-1", "[]", ""));

static void
test_as_asked(void **state)
{
	struct hl_err err = { 0 };

	(void)state;
	assert_int_equal(compare("", "", &err), 0);
	assert_int_equal(compare("", ",'DeviceRequests':null", &err), 0);
	assert_int_equal(compare("", ",'DeviceRequests':[]", &err), 0);
	assert_int_equal(compare(asked_one, asked_one, &err), 0);
	assert_int_equal(compare(asked_all,
			     LIST("{'Driver':'','Count':-1,'DeviceIDs':null,"
				  "'Capabilities':[['gpu']],'Options':null}"),
			     &err),
	    0);
	assert_int_equal(compare(asked_all, LIST("{'Count':-1,'Capabilities':[['gpu']]}"), &err),
	    0);
}

static const struct {
	const char *asked, *kept;
} lies[] = {
	{ "", LIST(ONE) },
	{ "", ",'DeviceRequests':'all'" },
	{ "", ",'DeviceRequests':{'a':1}" },
	{ "", LIST("{}") },
	{ asked_one, "" },
	{ asked_one, ",'DeviceRequests':null" },
	{ asked_one, LIST("") },
	{ asked_one, LIST("null") },
	{ asked_one, LIST("'0'") },
	{ asked_one, LIST("{}") },
	{ asked_one, LIST(ONE "," ONE) },
	{ asked_one, LIST(REQUEST("''", "-1", "[]", "")) },
	{ asked_one, LIST(REQUEST("''", "1", "['0']", "")) },
	{ asked_one, LIST(REQUEST("''", "0", "['1']", "")) },
	{ asked_one, LIST(REQUEST("''", "0", "['0','1']", "")) },
	{ asked_one, LIST(REQUEST("''", "0", "['all']", "")) },
	{ asked_one, LIST(REQUEST("''", "0", "[0]", "")) },
	{ asked_one, LIST(REQUEST("'cdi'", "0", "['0']", "")) },
	{ asked_one, LIST(REQUEST("''", "0", "['0']", ",'Other':true")) },
	{ asked_one,
	    LIST("{'Driver':'','Count':0,'DeviceIDs':['0'],'Capabilities':[['gpu','display']],"
		 "'Options':{}}") },
	{ asked_one, LIST("{'Driver':'','Count':0,'DeviceIDs':['0'],'Capabilities':[['gpu']],"
			  "'Options':{'a':'b'}}") },
	{ asked_all, LIST(ONE) },
};

static void
test_anything_else_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(lies); i++) {
		struct hl_err err = { 0 };
		if (compare(lies[i].asked, lies[i].kept, &err) == 0)
			fail_msg("passed: %s", lies[i].kept);
		assert_int_equal(err.code, HLB_53);
		assert_non_null(strstr(err.msg, "HostConfig.DeviceRequests"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_asked),
		cmocka_unit_test(test_anything_else_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
