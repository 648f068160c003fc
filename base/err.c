/*
 * Errors: stable codes with their texts, and the small object that carries one upward. Nothing here
 * allocates, so that running out of memory can be reported.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/base.h"

#include "base/banned.h"

static const struct hl_code_info codes[HL_CODE_MAX] = {
	[HL_OK] = { "HL-00", "ok", "No error.", 0 },
#define HL_CODE(family, number, exit_status, name, help) \
 [HL##family##_##number] = { "HL" #family "-" #number, name, help, exit_status },
#include "base/codes.def"
#undef HL_CODE
};

#define HL_CODE(family, number, exit_status, name_, help_) \
 HL_FITS("HL" #family "-" #number, codes[0].id);           \
 HL_FITS(name_, codes[0].name);                            \
 HL_FITS(help_, codes[0].help);
#include "base/codes.def"
#undef HL_CODE

const struct hl_code_info *
hl_code_info(enum hl_code code)
{
	HL_BUG_ON((unsigned)code >= HL_CODE_MAX);
	return &codes[code];
}

enum hl_code
hl_code_from_id(const char *id)
{
	for (unsigned i = 1; i < HL_CODE_MAX; i++)
		if (strcasecmp(codes[i].id, id) == 0)
			return (enum hl_code)i;
	return HL_OK;
}

void
hl_bug(const char *file, int line, const char *condition)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "hermes-launch: bug at %s:%d: %s\n", file, line,
	    condition);

	if (n > 0 &&
	    write(STDERR_FILENO, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1) < 0)
		abort();
	abort();
}

static void HL_PRINTF(4, 0)
    fill(struct hl_err *err, enum hl_code code, int sys_errno, const char *format, va_list ap)
{
	memset(err, 0, sizeof(*err));
	err->code = code;
	err->sys_errno = sys_errno;
	vsnprintf(err->msg, sizeof(err->msg), format, ap);
}

int
hl_err_set(struct hl_err *err, enum hl_code code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fill(err, code, 0, format, ap);
	va_end(ap);
	return -1;
}

int
hl_err_sys(struct hl_err *err, enum hl_code code, const char *format, ...)
{
	int sys_errno = errno;
	va_list ap;

	va_start(ap, format);
	fill(err, code, sys_errno, format, ap);
	va_end(ap);
	size_t len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", strerror(sys_errno));
	return -1;
}

int
hl_err_wrap(struct hl_err *err, const char *format, ...)
{
	char context[sizeof(err->msg)];
	va_list ap;

	va_start(ap, format);
	int n = vsnprintf(context, sizeof(context), format, ap);
	va_end(ap);
	if (n < 0)
		return -1;
	/* The context may use half; the cause, which says more, keeps the rest. */
	size_t len = (size_t)n < sizeof(context) / 2 ? (size_t)n : sizeof(context) / 2;
	size_t rest = strlen(err->msg);
	size_t room = sizeof(err->msg) - len - 3;
	if (rest > room)
		rest = room;
	memmove(err->msg + len + 2, err->msg, rest);
	memcpy(err->msg, context, len);
	err->msg[len] = ':';
	err->msg[len + 1] = ' ';
	err->msg[len + 2 + rest] = '\0';
	return -1;
}

int
hl_err_help(struct hl_err *err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(err->help, sizeof(err->help), format, ap);
	va_end(ap);
	return -1;
}

int
hl_err_oom(struct hl_err *err)
{
	return hl_err_set(err, HLI_01, "out of memory");
}

void
hl_free_ptr(void *pointer_to_pointer)
{
	int saved = errno;
	void *pointer;

	/* The attribute hands us a char ** or any other; memcpy reads it without an aliasing fault.
	 */
	memcpy(&pointer, pointer_to_pointer, sizeof(pointer));
	free(pointer);
	errno = saved;
}
