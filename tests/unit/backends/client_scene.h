/*
 * A client of an engine that misbehaves, for the tests of hl-engine: a script that does what a
 * client would, but for the commands that a case has of its own, and writes down what it was told.
 * One copy for each test program, as static functions.
 */
#ifndef HL_TESTS_UNIT_BACKENDS_CLIENT_SCENE_H
#define HL_TESTS_UNIT_BACKENDS_CLIENT_SCENE_H

#include <sys/stat.h>

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/docker/prepare.h"
#include "backends/docker/settings.h"
#include "backends/docker/start.h"

#include "base/banned.h"

#define ID    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define OTHER "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define IMAGE "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define NAME  "hermes-launch-01arz3ndektsv4rrffq69g5fav"

enum {
	TEXT_MAX = 256 * 1024
};

struct fixture {
	char dir[64], client[96], socket[96], log[96];
	struct plan plan;
	struct plan_mount mounts[1];
	struct lowered lowered;
	struct control_gaps gaps;
	struct hl_err err;
};

static char home_path[] = "/home/agent";
static char image_name[] = "tools:1";

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *helper = getenv("HL_ENGINE");

	assert_non_null(f);
	snprintf(f->dir, sizeof(f->dir), "/tmp/hl-client.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->client, sizeof(f->client), "%s/client", f->dir);
	snprintf(f->socket, sizeof(f->socket), "%s/engine.sock", f->dir);
	snprintf(f->log, sizeof(f->log), "%s/log", f->dir);
	f->plan = (struct plan){
		.run_id = "01ARZ3NDEKTSV4RRFFQ69G5FAV",
		.backend = "docker",
		.state_dir = f->dir,
		.runner_path = "/bin/true",
		.helper_path = helper != NULL ? helper : "build/san/hl-engine",
		.user_kind = PLAN_USER_NUMERIC,
		.uid = 1000,
		.gid = 1000,
		.no_new_privs = true,
		.seccomp = CONFINE_PROFILE_NONE,
		.mounts = f->mounts,
		.home = { .kind = PLAN_HOME_TMPFS, .path = home_path },
		.image = image_name,
		.pull = PLAN_PULL_MISSING,
		.endpoint = f->socket,
		.client = f->client,
		.cancel_fd = -1,
	};
	lowered_init(&f->lowered);
	*state = f;
	return 0;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
	(void)st;
	(void)kind;
	(void)place;
	return remove(path);
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	lowered_done(&f->lowered);
	nftw(f->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The client
 */
static void
put_file(const struct fixture *f, const char *name, const char *text, mode_t mode)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	(void)unlink(path);
	int fd HL_AUTO_FD = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(hl_write_full(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

/* What a faithful engine would say of the container: all that is asked, in the state's words. */
static void
put_inspection(const struct fixture *f, const char *name, const char *body, const char *words)
{
	char text[TEXT_MAX];
	const char *host = strstr(body, "\"HostConfig\":{");
	size_t len = 0, depth = 0;

	assert_non_null(host);
	host += strlen("\"HostConfig\":");
	do {
		depth += host[len] == '{';
		depth -= host[len] == '}';
	} while (host[++len] != '\0' && depth > 0);
	snprintf(text, sizeof(text),
	    "[{\"Id\":\"" ID "\",\"Name\":\"/" NAME "\",\"Created\":\"2026-11-30T10:00:00Z\","
	    "\"State\":{%s},\"Config\":%s,\"HostConfig\":%.*s}]\n",
	    words, body, (int)len, host);
	put_file(f, name, text, 0644);
}

static void
put_inspections(struct fixture *f)
{
	struct docker_settings settings = { 0 };
	char owner[DOCKER_OWNER_SIZE];
	struct docker_facts facts = { .image = IMAGE,
		.digest = IMAGE,
		.owner = owner,
		.gaps = &f->gaps };
	struct hl_buf body;

	docker_owner(owner);
	hl_buf_init(&body, TEXT_MAX);
	assert_int_equal(docker_settings_fill(&settings, &f->plan, &facts, &f->err), 0);
	docker_settings_body(&settings, IMAGE, &body);
	put_inspection(f, "created.json", body.data,
	    "\"Status\":\"created\",\"StartedAt\":\"0001-01-01T00:00:00Z\"");
	put_inspection(f, "running.json", body.data,
	    "\"Status\":\"running\",\"Running\":true,\"StartedAt\":\"2026-11-30T10:00:01Z\"");
	put_inspection(f, "ended.json", body.data,
	    "\"Status\":\"exited\",\"ExitCode\":7,\"StartedAt\":\"2026-11-30T10:00:01Z\"");
	hl_buf_done(&body);
	docker_settings_done(&settings);
}

static const char usual[] =
    "version) echo '{\"Client\":{\"Version\":\"20.1\",\"ApiVersion\":\"1.41\"},"
    "\"Server\":{\"Version\":\"20.2\",\"ApiVersion\":\"1.41\"}}';;\n"
    "image) echo '[{\"Id\":\"" IMAGE "\",\"RepoDigests\":[],\"Config\":{\"Env\":[\"A=b\"]}}]';;\n"
    "create) : >made; echo " ID ";;\n"
    "inspect) [ -e made ] || { echo '[]'; exit 1; }\n"
    " if [ -e ended ]; then cat ended.json\n"
    " elif [ -e started ]; then cat running.json\n"
    " else cat created.json; fi;;\n"
    "start) : >started; printf hi; cat >/dev/null; : >ended; exit 7;;\n"
    "rm) rm made;;\n"
    "ps) [ ! -e made ] || echo '" ID " " NAME "';;\n"
    "*) exit 99;;\n";

/* rules: arms of a case, before the usual ones. */
static void
put_client(struct fixture *f, const char *rules)
{
	static const char *const left[] = { "made", "started", "ended", "asked", "log" };
	char text[TEXT_MAX];

	for (size_t i = 0; i < HL_ARRAY_SIZE(left); i++) {
		snprintf(text, sizeof(text), "%s/%s", f->dir, left[i]);
		(void)unlink(text);
	}
	put_inspections(f);
	snprintf(text, sizeof(text),
	    "#!/bin/sh\ncd '%s' || exit 98\n"
	    "{ printf '%%s ' \"$@\"; echo; tr '\\0' '\\n' </proc/$$/environ; } >>log\n"
	    "case $1 in\n%s%sesac\n",
	    f->dir, rules, usual);
	put_file(f, "client", text, 0755);
}

static int
start(struct fixture *f, struct sandbox *sandbox)
{
	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	memset(&f->err, 0, sizeof(f->err));
	if (access(f->plan.helper_path, X_OK) != 0)
		fail_msg("'%s' is not built", f->plan.helper_path);
	if (backend_docker.lower(&f->plan, &f->lowered, &f->err) != 0)
		return -1;
	return backend_docker.start(&f->plan, &f->lowered, &f->gaps, sandbox, &f->err);
}

static void
read_log(const struct fixture *f, struct hl_buf *log)
{
	struct hl_err err;
	int fd HL_AUTO_FD = open(f->log, O_RDONLY | O_CLOEXEC);

	hl_buf_init(log, TEXT_MAX);
	if (fd >= 0)
		assert_int_equal(hl_read_file(fd, log, f->log, HLI_02, &err), 0);
}

static size_t
times_told(const struct fixture *f, const char *words)
{
	HL_AUTO(hl_buf_done) struct hl_buf log;
	size_t n = 0;

	read_log(f, &log);
	for (const char *at = log.data; (at = strstr(at, words)) != NULL; at++)
		n += at == log.data || at[-1] == '\n';
	return n;
}

static bool
is_there(const struct fixture *f, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return access(path, F_OK) == 0;
}

static void
check_code(const struct fixture *f, const char *name, const char *code)
{
	if (strcmp(hl_code_info(f->err.code)->id, code) != 0)
		fail_msg("%s: %s, not %s: %s", name, hl_code_info(f->err.code)->id, code,
		    f->err.msg);
	for (const char *c = f->err.msg; *c != '\0'; c++)
		assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
}

#endif
