/*
 * JSON in a C text without backslashes: ' stands for ". One copy for each test program, as a static
 * function.
 */
#ifndef HL_TESTS_UNIT_BACKENDS_QUOTED_JSON_H
#define HL_TESTS_UNIT_BACKENDS_QUOTED_JSON_H

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/base.h"

static json_t *
read_json(const char *text)
{
	char copy[4096];
	size_t len = strlen(text);

	assert_true(len < sizeof(copy));
	for (size_t i = 0; i <= len; i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	json_t *value = json_loads(copy, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(value);
	return value;
}

#endif
