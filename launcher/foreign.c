/*
 * What libjansson.a, which the distribution compiled for glibc with _FORTIFY_SOURCE, calls by names
 * that only glibc has. The launcher is linked with musl: these are the same calls, and the sizes
 * that the compiler knew are still looked at. Only the launcher links this file.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"

int __snprintf_chk(char *out, size_t len, int flag, size_t size, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
int __vsnprintf_chk(char *out, size_t len, int flag, size_t size, const char *format, va_list ap)
    __attribute__((format(printf, 5, 0)));
char *__strncpy_chk(char *out, const char *in, size_t len, size_t size);

/* As glibc: a size that does not fit is the end. */
static void
check(size_t len, size_t size)
{
	if (len > size)
		abort();
}

int
__vsnprintf_chk(char *out, size_t len, int flag, size_t size, const char *format, va_list ap)
{
	(void)flag;
	check(len, size);
	return vsnprintf(out, len, format, ap);
}

int
__snprintf_chk(char *out, size_t len, int flag, size_t size, const char *format, ...)
{
	va_list ap;

	(void)flag;
	check(len, size);
	va_start(ap, format);
	int n = vsnprintf(out, len, format, ap);
	va_end(ap);
	return n;
}

char *
__strncpy_chk(char *out, const char *in, size_t len, size_t size)
{
	size_t i = 0;

	check(len, size);
	for (; i < len && in[i] != '\0'; i++)
		out[i] = in[i];
	for (; i < len; i++)
		out[i] = '\0';
	return out;
}
