/*
 * What the tests of conflicts share: a policy from a text, a request from a few words, the answer.
 */
#ifndef HL_TESTS_LAUNCHER_CONFLICTS_CASE_H
#define HL_TESTS_LAUNCHER_CONFLICTS_CASE_H

#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/launcher.h"

enum {
	CASE_FIRST_ARGUMENT = 5
};

/* One judging; big, so never on the stack. */
struct trial {
	char dir[64];
	struct policy *policy;
	struct request request;
	struct conflicts conflicts;
	struct hl_err err;
	int status;
	int next; /* number of the next argument */
};

static inline void
trial_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

/* yaml: without the frame's first keys. */
static inline struct trial *
trial_new(const char *mode, const char *yaml)
{
	struct trial *trial = calloc(1, sizeof(*trial));
	struct policy_findings findings = { 0 };
	struct policy_load_request load = { 0 };
	char path[128], text[4096];
	const char *files[] = { path };

	assert_non_null(trial);
	snprintf(trial->dir, sizeof(trial->dir), "/tmp/hl-conflicts-XXXXXX");
	assert_non_null(mkdtemp(trial->dir));
	snprintf(path, sizeof(path), "%s/policy.yaml", trial->dir);
	snprintf(text, sizeof(text), "version: 1\nid: test/conflicts\nmode: %s\n%s", mode, yaml);
	trial_write(path, text);
	load.files = files;
	load.files_len = 1;
	load.cwd = trial->dir;
	load.caller = getuid();
	if (policy_load(&load, &trial->policy, &findings, &trial->err) == -1) {
		for (size_t i = 0; i < findings.len; i++)
			print_error("%u:%u: %s\n", findings.items[i].where.line,
			    findings.items[i].where.column, findings.items[i].message);
		fail_msg("the policy of the test: %s", trial->err.msg);
	}
	policy_findings_done(&findings);
	trial->request.state_dir = "/tmp/hl-conflicts-state";
	trial->next = CASE_FIRST_ARGUMENT;
	return trial;
}

static inline void
trial_free(struct trial *trial)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/policy.yaml", trial->dir);
	(void)unlink(path);
	(void)rmdir(trial->dir);
	if (trial->status == 0)
		conflicts_done(&trial->conflicts);
	policy_free(trial->policy);
	free(trial);
}

static inline void
trial_add(struct trial *trial, struct request_items *items, const char *text)
{
	items->items[items->len++] = (struct request_item){ text, trial->next++ };
}

static inline void
trial_set(struct trial *trial, struct request_item *item, const char *text)
{
	*item = (struct request_item){ text, trial->next++ };
}

static inline void
trial_judge(struct trial *trial)
{
	trial->status =
	    conflicts_judge(trial->policy, &trial->request, &trial->conflicts, &trial->err);
}

/* args: ends with NULL. */
static inline struct trial *
trial_engine(const char *mode, const char *yaml, const char *const *args)
{
	struct trial *trial = trial_new(mode, yaml);

	for (; *args != NULL; args++)
		trial_add(trial, &trial->request.engine_args, *args);
	trial_judge(trial);
	return trial;
}

static inline bool
trial_has(const struct trial *trial, enum hl_code code)
{
	for (size_t i = 0; i < trial->conflicts.len; i++) {
		if (trial->conflicts.items[i].code == code)
			return true;
	}
	return false;
}

/* Bounds of every kind of request. */
static const char bounded[] __attribute__((unused)) =
    "level: baseline@1\n"
    "backends: [local, docker]\n"
    "process: {caps: [CHOWN], allow_root: false}\n"
    "limits: {memory: {max: 1GiB, default: 512MiB}, wall: {max: 10m, default: 60s}}\n"
    "fs: {mounts: {allowed: [{src: /usr/share, dst: /data, access: ro}], default: []}}\n"
    "env: {pass: {allowed: [LANG, \"APP_*\"], default: [LANG]}, set: {FIXED: \"one\"}}\n"
    "image: [\"busybox:1\", \"debian:12\"]\n";

/* One item of a repeatable option, or one scalar, by name. */
static inline struct trial *
trial_ask(const char *mode, const char *yaml, const char *option, const char *text)
{
	struct trial *trial = trial_new(mode, yaml);
	struct request *request = &trial->request;
	const struct {
		const char *name;
		struct request_items *items;
		struct request_item *item;
	} options[] = {
		{ "--env", &request->env, NULL },
		{ "--mount", &request->mounts, NULL },
		{ "--limit", &request->limits, NULL },
		{ "--engine-arg", &request->engine_args, NULL },
		{ "--backend", NULL, &request->backend },
		{ "--network", NULL, &request->network },
		{ "--image", NULL, &request->image },
		{ "--user", NULL, &request->user },
		{ "--timeout", NULL, &request->timeout },
		{ "--name", NULL, &request->name },
		{ "--mode", NULL, &request->mode },
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(options); i++) {
		if (strcmp(options[i].name, option) != 0)
			continue;
		if (options[i].items != NULL)
			trial_add(trial, options[i].items, text);
		else
			trial_set(trial, options[i].item, text);
	}
	assert_int_equal(trial->next, CASE_FIRST_ARGUMENT + 1);
	trial_judge(trial);
	return trial;
}

static inline void
assert_is_fine(const char *yaml, const char *option, const char *text, size_t tightened)
{
	struct trial *trial = trial_ask("enforce", yaml, option, text);

	if (trial->status == -1)
		fail_msg("%s %s: %s", option, text, trial->err.msg);
	if (trial->conflicts.len > 0)
		fail_msg("%s %s: [%s]", option, text,
		    hl_code_info(trial->conflicts.items[0].code)->id);
	if (trial->conflicts.tightened != tightened)
		fail_msg("%s %s: %zu tightened", option, text, trial->conflicts.tightened);
	trial_free(trial);
}

/* Refused in enforce by that code; in warn the action is as told. */
static inline void
assert_conflict(const char *yaml, const char *option, const char *text, enum hl_code code,
    enum conflict_action action)
{
	struct trial *trial = trial_ask("enforce", yaml, option, text);
	const struct conflict *conflict = &trial->conflicts.items[0];

	if (trial->status == -1)
		fail_msg("%s %s: %s", option, text, trial->err.msg);
	if (trial->conflicts.refused == 0)
		fail_msg("%s %s: passed", option, text);
	if (conflict->code != code)
		fail_msg("%s %s: [%s]", option, text, hl_code_info(conflict->code)->id);
	assert_int_equal(conflict->action, CONFLICT_REFUSED);
	assert_string_equal(conflict->door, "argument 5");
	trial_free(trial);
	trial = trial_ask("warn", yaml, option, text);
	assert_int_equal(trial->status, 0);
	if (trial->conflicts.items[0].action != action)
		fail_msg("%s %s: action %d in warn", option, text,
		    trial->conflicts.items[0].action);
	assert_int_equal(trial->conflicts.refused > 0, action == CONFLICT_REFUSED);
	trial_free(trial);
}

static inline void
assert_malformed(const char *option, const char *text)
{
	struct trial *trial = trial_ask("enforce", bounded, option, text);

	if (trial->status == 0)
		fail_msg("%s %s: was read", option, text);
	assert_int_equal(trial->err.code, HLC_09);
	assert_non_null(strstr(trial->err.msg, "argument 5"));
	trial_free(trial);
}

#define ARGS(...)      \
 (const char *const[]) \
 {                     \
  __VA_ARGS__, NULL    \
 }

/* Those of whoever runs the test, which are requests of a caller. */
static inline void
forget_engine_variables(void)
{
	unsetenv("DOCKER_HOST");
	unsetenv("DOCKER_CONFIG");
	unsetenv("DOCKER_CONTEXT");
	unsetenv("CONTAINER_HOST");
	unsetenv("CONTAINER_CONNECTION");
	unsetenv("CONTAINERS_CONF");
	unsetenv("CONTAINERS_CONF_OVERRIDE");
	unsetenv("CONTAINERS_STORAGE_CONF");
}

#endif
