/*
 * A NULL-terminated vector of owned strings, with the same sticky error as the buffer. Argument
 * vectors and environments are made with it and with nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#include "base/banned.h"

void
hl_strv_init(struct hl_strv *strv, size_t max)
{
	*strv = (struct hl_strv){ .max = max };
}

static void
release(struct hl_strv *strv, bool is_secret)
{
	for (size_t i = 0; i < strv->len; i++) {
		if (is_secret)
			explicit_bzero(strv->v[i], strlen(strv->v[i]));
		free(strv->v[i]);
	}
	free(strv->v);
	*strv = (struct hl_strv){ .max = strv->max };
}

void
hl_strv_done(struct hl_strv *strv)
{
	release(strv, false);
}

void
hl_strv_done_secret(struct hl_strv *strv)
{
	release(strv, true);
}

/* Takes string over; NULL counts as memory that ended. */
static void
add_owned(struct hl_strv *strv, char *string)
{
	if (string == NULL || strv->failed || strv->len >= strv->max) {
		free(string);
		strv->failed = true;
		return;
	}
	if (strv->len + 2 > strv->capacity) {
		size_t capacity = strv->capacity > 0 ? strv->capacity * 2 : 16;
		char **v = reallocarray(strv->v, capacity, sizeof(*v));
		if (v == NULL) {
			free(string);
			strv->failed = true;
			return;
		}
		strv->v = v;
		strv->capacity = capacity;
	}
	strv->v[strv->len++] = string;
	strv->v[strv->len] = NULL;
}

void
hl_strv_add(struct hl_strv *strv, const char *string)
{
	add_owned(strv, strdup(string));
}

void
hl_strv_addn(struct hl_strv *strv, const char *string, size_t len)
{
	add_owned(strv, strndup(string, len));
}

void
hl_strv_addf(struct hl_strv *strv, const char *format, ...)
{
	va_list ap;
	char *string = NULL;

	va_start(ap, format);
	int n = vasprintf(&string, format, ap);
	va_end(ap);
	add_owned(strv, n < 0 ? NULL : string);
}

static int
compare(const void *a, const void *b)
{
	const char *const *left = a;
	const char *const *right = b;

	return strcmp(*left, *right);
}

void
hl_strv_sort(struct hl_strv *strv)
{
	if (strv->len > 1)
		qsort(strv->v, strv->len, sizeof(*strv->v), compare);
}

bool
hl_strv_contains(const struct hl_strv *strv, const char *string)
{
	for (size_t i = 0; i < strv->len; i++)
		if (strcmp(strv->v[i], string) == 0)
			return true;
	return false;
}

int
hl_strv_check(const struct hl_strv *strv, const char *what, struct hl_err *err)
{
	if (!strv->failed)
		return 0;
	return hl_err_set(err, HLI_03, "%s: more than %zu entries, or memory ended", what,
	    strv->max);
}

char *const *
hl_strv_argv(const struct hl_strv *strv)
{
	static char *const none[1];

	return strv->v != NULL ? strv->v : none;
}
