/*
 * What the tests of policy/ share: a private directory, files in it, and a load of some of them.
 * Each test program includes this once.
 */
#ifndef HL_TEST_POLICY_STACK_H
#define HL_TEST_POLICY_STACK_H

#include <sys/stat.h>
#include <sys/types.h>

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "policy/policy.h"

#define HEAD "version: 1\nid: acme/team\n"
#define OPEN HEAD "level: open@1\n"
#define BASE "version: 1\nid: acme/base\nlayer: org\nlevel: open@1\n"

struct stack_test {
	char dir[64];
	struct policy *policy;
	struct policy_findings findings;
	struct hl_err err;
	struct hl_buf text; /* all findings as a person reads them */
	int result;
};

static struct stack_test t;

static void
stack_reset(void)
{
	policy_free(t.policy);
	t.policy = NULL;
	policy_findings_done(&t.findings);
	hl_buf_done(&t.text);
	t.err = (struct hl_err){ 0 };
}

static void
stack_path(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", t.dir, name);
}

static void
stack_write(const char *name, const char *bytes, size_t len)
{
	char path[256];

	stack_path(path, sizeof(path), name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(hl_write_full(fd, bytes, len), 0);
	close(fd);
}

static int
stack_load_request(const struct policy_load_request *request)
{
	stack_reset();
	hl_buf_init(&t.text, 1 << 20);
	t.result = policy_load(request, &t.policy, &t.findings, &t.err);
	for (size_t i = 0; i < t.findings.len; i++)
		policy_finding_format(&t.findings.items[i], &t.text);
	assert_int_equal(t.text.failed, false);
	/* A failure has an error finding or at least its cause; success has no error. */
	if (t.result == 0) {
		assert_non_null(t.policy);
		assert_int_equal(t.findings.errors, 0);
	} else {
		assert_null(t.policy);
		assert_int_not_equal(t.err.code, HL_OK);
	}
	return t.result;
}

static int
stack_load_files(const char *const *files, size_t n)
{
	struct policy_load_request request = {
		.files = files,
		.files_len = n,
		.cwd = t.dir,
		.caller = getuid(),
	};

	return stack_load_request(&request);
}

/* One file of len bytes. */
static int
stack_load_bytes(const char *bytes, size_t len)
{
	static const char *const file = "p.yaml";

	stack_write(file, bytes, len);
	return stack_load_files(&file, 1);
}

static int
stack_load(const char *text)
{
	return stack_load_bytes(text, strlen(text));
}

/* A base layer and a team's file above it. */
static int
stack_load_two(const char *base, const char *team)
{
	static const char *const files[] = { "base.yaml", "team.yaml" };

	stack_write(files[0], base, strlen(base));
	stack_write(files[1], team, strlen(team));
	return stack_load_files(files, 2);
}

static const char *
stack_text(void)
{
	return t.text.data != NULL ? t.text.data : "";
}

/* The first finding of that code, or NULL. */
static const struct policy_finding *
stack_find(const char *id)
{
	for (size_t i = 0; i < t.findings.len; i++) {
		if (hl_code_from_id(id) == t.findings.items[i].code)
			return &t.findings.items[i];
	}
	return NULL;
}

static void
expect_code(const char *id)
{
	if (stack_find(id) == NULL)
		fail_msg("no %s in:\n%s", id, stack_text());
}

static void
expect_error(const char *text, const char *id)
{
	assert_int_equal(stack_load(text), -1);
	expect_code(id);
}

static void
expect_error_at(const char *text, const char *id, uint32_t line, uint32_t column)
{
	expect_error(text, id);
	const struct policy_finding *finding = stack_find(id);
	if (finding->where.line != line || finding->where.column != column)
		fail_msg("%s is at %u:%u, not at %u:%u:\n%s", id, finding->where.line,
		    finding->where.column, line, column, stack_text());
}

static void
expect_good(const char *text)
{
	if (stack_load(text) != 0)
		fail_msg("refused: %s\n%s", t.err.msg, stack_text());
}

static const struct policy_value *
value_of(enum policy_field field)
{
	return policy_get(t.policy, field);
}

/* The value in a policy's own spelling. */
static const char *
spelled(enum policy_field field)
{
	static char text[4096];
	struct hl_buf buf;

	hl_buf_init(&buf, sizeof(text));
	policy_value_format(value_of(field), field, &buf);
	snprintf(text, sizeof(text), "%s", buf.data);
	hl_buf_done(&buf);
	return text;
}

static int
stack_setup(void **state)
{
	(void)state;
	snprintf(t.dir, sizeof(t.dir), "/tmp/hl-policy-XXXXXX");
	return mkdtemp(t.dir) != NULL ? 0 : -1;
}

static int
stack_teardown(void **state)
{
	char command[128];
	DIR *stream = opendir(t.dir);

	(void)state;
	(void)command;
	stack_reset();
	for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;) {
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(stream), entry->d_name, 0);
	}
	if (stream != NULL)
		closedir(stream);
	return rmdir(t.dir);
}

#endif
