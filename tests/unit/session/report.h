/*
 * A report of a shell's state, as the tests write it. Private to tests/unit/session.
 */
#ifndef HL_TESTS_REPORT_H
#define HL_TESTS_REPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/state.h"

/* Fields of a report, before the NULs are put between them. */
struct fields {
	const char *cwd, *exports, *names, *functions, *aliases, *options;
};

static const struct fields plain = { "/work\n", "", "", "", "", "hashall " };

static void
put_report(struct hl_buf *out, const struct fields *fields)
{
	const char *texts[] = { "HLS2", fields->cwd, fields->exports, fields->names,
		fields->functions, fields->aliases, fields->options, "END" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(texts); i++)
		hl_buf_put(out, texts[i], strlen(texts[i]) + 1);
}

static bool
parses(const struct fields *fields, struct report *ret_report)
{
	struct hl_buf text;
	struct hl_err err = { 0 };

	memset(ret_report, 0, sizeof(*ret_report));
	hl_buf_init(&text, SESSION_STATE_MAX * 2);
	put_report(&text, fields);
	bool is_fine = report_parse(text.data, text.len, ret_report, &err) == 0;
	if (!is_fine)
		assert_int_equal(err.code, HLB_13);
	hl_buf_done(&text);
	return is_fine;
}

#endif
