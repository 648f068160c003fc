/*
 * hl-engine against clients of an engine that misbehave: a script that does what a client would,
 * but for the commands that a case has of its own. Each start that fails has its own code and
 * leaves nothing, and so has each end; what a client is told, by words and by variables, is
 * compared exactly.
 */
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
	static const char *const left[] = { "made", "started", "ended", "log" };
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

/* ------------------------------------------------------------------------------------------------
 * Starts that fail
 */
struct bad_start {
	const char *name, *rules, *code;
	bool is_removed; /* a removal followed */
};

static const struct bad_start bad_starts[] = {
	{ "version that is not JSON", "version) echo hello;;\n", "HLB-43", false },
	{ "version of nothing", "version) echo '{}';;\n", "HLB-43", false },
	{ "no engine behind it", "version) echo \"no \033[31mengine\" >&2; exit 1;;\n", "HLB-40",
	    false },
	{ "no engine, and success all the same",
	    "version) echo '{\"Client\":{\"Version\":\"1\"},\"Server\":null}';;\n", "HLB-40",
	    false },
	{ "another engine's client",
	    "version) echo '{\"Client\":{\"Version\":\"4.3.1\",\"APIVersion\":\"4.3.1\"}}';;\n",
	    "HLB-66", false },
	{ "old engine",
	    "version) echo '{\"Client\":{\"Version\":\"1\"},\"Server\":{\"Version\":\"18\","
	    "\"ApiVersion\":\"1.39\"}}';;\n",
	    "HLB-44", false },
	{ "silence", "version) exec sleep 600;;\n", "HLB-42", false },
	{ "endless output", "version) exec cat /dev/zero;;\n", "HLB-43", false },
	{ "endless errors", "version) head -c 9999999 /dev/zero >&2; exit 1;;\n", "HLB-40", false },
	{ "killed", "version) kill -9 $$;;\n", "HLB-40", false },
	{ "no image", "image) echo '[]'; exit 1;;\n", "HLB-45", false },
	{ "two images", "image) echo '[{},{}]';;\n", "HLB-43", false },
	{ "image that is not JSON", "image) echo '[{';;\n", "HLB-43", false },
	{ "id that is none", "image) echo '[{\"Id\":\"../x\"}]';;\n", "HLB-43", false },
	{ "create refused", "create) echo 'unknown flag' >&2; exit 125;;\n", "HLB-51", false },
	{ "create refused behind the creation", "create) : >made; exit 1;;\n", "HLB-51", true },
	{ "create refused, and the name is another's",
	    "create) : >made; exit 1;;\n"
	    "inspect) echo '[{\"Id\":\"" OTHER "\",\"Name\":\"/" NAME
	    "\",\"Config\":{\"Labels\":{\"dev.hermes-launch.run\":\"x\"}}}]';;\n",
	    "HLB-51", false },
	{ "created, and no id", "create) : >made;;\n", "HLB-43", true },
	{ "created, and more than an id", "create) : >made; echo " ID "; echo " ID ";;\n", "HLB-43",
	    true },
	{ "success, and no container", "create) echo " ID ";;\n", "HLB-51", true },
	{ "inspection that is not JSON", "inspect) echo nothing;;\n", "HLB-43", true },
	{ "inspection of another container",
	    "inspect) sed 's/" ID "/" OTHER "/; s/" NAME "/other/' created.json;;\n", "HLB-43",
	    true },
	{ "container with a capability",
	    "inspect) sed 's/\"HostConfig\":{/&\"CapAdd\":[\"SYS_ADMIN\"],/g' created.json;;\n",
	    "HLB-53", true },
	{ "container with less than was asked",
	    "inspect) sed 's/no-new-privileges/nothing/g' created.json;;\n", "HLB-53", true },
	{ "start refused", "start) echo 'no runtime' >&2; exit 1;;\n", "HLB-52", true },
	{ "start that does nothing", "start) ;;\n", "HLB-52", true },
};

static void
test_bad_starts(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(bad_starts); i++) {
		const struct bad_start *bad = &bad_starts[i];
		struct sandbox sandbox;
		put_client(f, bad->rules);
		uint64_t begin = hl_now_mono_ms();
		if (start(f, &sandbox) == 0)
			fail_msg("%s: started", bad->name);
		assert_true(hl_now_mono_ms() - begin < 60000);
		check_code(f, bad->name, bad->code);
		if ((times_told(f, "rm --force --volumes ") > 0) != bad->is_removed)
			fail_msg("%s: removed: %d", bad->name, !bad->is_removed);
		if (bad->is_removed && is_there(f, "made"))
			fail_msg("%s: a container is left", bad->name);
		if (times_told(f, "create ") > 1 || times_told(f, "start ") > 1)
			fail_msg("%s: a command was run twice", bad->name);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Ends
 */
struct bad_end {
	const char *name, *rules;
	const char *code; /* NULL: none */
	size_t said;      /* by the runner */
};

static const struct bad_end bad_ends[] = {
	{ "a good end (sibling)", "", NULL, 2 },
	{ "a runner that never spoke", "start) : >started; : >ended; echo why >&2; exit 1;;\n",
	    "HLB-61", 0 },
	{ "a client that ends before the container", "start) : >started; printf hi; exit 0;;\n",
	    "HLB-54", 2 },
	{ "a container that cannot be removed", "rm) echo busy >&2; exit 1;;\n", "HLB-56", 2 },
	{ "one that is gone already", "rm) rm made; exit 1;;\n", NULL, 2 },
	{ "more errors than anybody reads",
	    "start) : >started; printf hi; head -c 9999999 /dev/zero >&2; cat >/dev/null; : >ended;;\n",
	    NULL, 2 },
};

static void
test_ends(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(bad_ends); i++) {
		const struct bad_end *bad = &bad_ends[i];
		struct sandbox sandbox;
		char bytes[16];
		put_client(f, bad->rules);
		if (start(f, &sandbox) != 0)
			fail_msg("%s: %s", bad->name, f->err.msg);
		ssize_t n = read(sandbox.stream, bytes, sizeof(bytes));
		assert_int_equal(n, bad->said);
		assert_string_equal(sandbox.id, ID);
		int status = backend_docker.stop(&sandbox, &f->err);
		sandbox_done(&sandbox);
		if ((status == 0) != (bad->code == NULL))
			fail_msg("%s: status %d: %s", bad->name, status, f->err.msg);
		if (bad->code != NULL)
			check_code(f, bad->name, bad->code);
		assert_true(times_told(f, "rm --force --volumes " ID) > 0);
	}
}

/* All 256 bytes, more than any buffer on the way has, come back as they are. */
static void
test_stream_is_exact(void **state)
{
	struct fixture *f = *state;
	struct sandbox sandbox;
	static unsigned char sent[16 * 1024], got[sizeof(sent)];

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (unsigned char)(i ^ i >> 8);
	/* Whoever starts it waits for a first word. */
	put_client(f, "start) : >started; printf h; cat; : >ended;;\n");
	assert_int_equal(start(f, &sandbox), 0);
	assert_int_equal(read(sandbox.stream, got, 1), 1);
	assert_int_equal(hl_write_full(sandbox.stream, sent, sizeof(sent)), 0);
	assert_int_equal(hl_read_full(sandbox.stream, got, sizeof(got)), sizeof(got));
	assert_memory_equal(got, sent, sizeof(sent));
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
}

/* ------------------------------------------------------------------------------------------------
 * What a client is told
 */
static void
test_words_and_variables(void **state)
{
	struct fixture *f = *state;
	HL_AUTO(hl_buf_done) struct hl_buf log;
	struct sandbox sandbox;
	char bytes[16], socket[128];

	assert_int_equal(setenv("HL_CANARY", "S3CRET", 1), 0);
	assert_int_equal(setenv("DOCKER_CONTEXT", "elsewhere", 1), 0);
	put_client(f, "");
	assert_int_equal(start(f, &sandbox), 0);
	assert_int_equal(read(sandbox.stream, bytes, sizeof(bytes)), 2);
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
	assert_int_equal(times_told(f, "version --format {{json .}} \n"), 1);
	assert_int_equal(times_told(f, "image inspect tools:1 \n"), 1);
	assert_int_equal(times_told(f, "create --interactive=true --name " NAME " --pull never "),
	    1);
	assert_int_equal(times_told(f, "inspect --type container " ID " \n"), 3);
	assert_int_equal(times_told(f, "start --attach --interactive " ID " \n"), 1);
	assert_int_equal(times_told(f, "rm --force --volumes " ID " \n"), 1);
	snprintf(socket, sizeof(socket), "DOCKER_HOST=unix://%s\n", f->socket);
	assert_int_equal(times_told(f, socket), 8);
	assert_int_equal(times_told(f, "DOCKER_CONFIG=/proc/none\n"), 8);
	assert_int_equal(times_told(f, "DOCKER_CONTEXT="), 0);
	read_log(f, &log);
	assert_null(strstr(log.data, "S3CRET"));
	/* And no other: eight commands, two lines each, and what an account has. */
	size_t variables = 0;
	for (const char *at = log.data; (at = strchr(at, '\n')) != NULL; at++)
		variables++;
	assert_int_equal(variables % 8, 0);
	assert_int_equal(variables / 8 - 1, times_told(f, "PATH=") / 8 +
						times_told(f, "HOME=") / 8 +
						times_told(f, "XDG_RUNTIME_DIR=") / 8 + 2);
}

static void
test_no_socket_is_the_clients_own(void **state)
{
	struct fixture *f = *state;
	struct sandbox sandbox;

	f->plan.endpoint = f->client;
	f->plan.is_endpoint_program = true;
	put_client(f, "start) exit 1;;\n");
	assert_int_equal(start(f, &sandbox), -1);
	check_code(f, "start refused", "HLB-52");
	assert_int_equal(times_told(f, "DOCKER_HOST="), 0);
	assert_true(times_told(f, "DOCKER_CONFIG=/proc/none\n") > 0);
}

static void
test_unsafe_client(void **state)
{
	struct fixture *f = *state;
	struct sandbox sandbox;

	put_client(f, "version) exit 1;;\n");
	assert_int_equal(start(f, &sandbox), -1);
	check_code(f, "a safe one (sibling)", "HLB-40");
	assert_int_equal(chmod(f->client, 0777), 0);
	assert_int_equal(start(f, &sandbox), -1);
	check_code(f, "one that anybody may write", "HLB-68");
	assert_int_equal(chmod(f->client, 0755), 0);
	hl_strv_init(&f->plan.registry_shown, 1);
	hl_strv_add(&f->plan.registry_shown, f->dir);
	assert_int_equal(start(f, &sandbox), -1);
	check_code(f, "one that a command may write", "HLB-68");
	hl_strv_done(&f->plan.registry_shown);
	assert_int_equal(unlink(f->client), 0);
	assert_int_equal(start(f, &sandbox), -1);
	check_code(f, "none", "HLB-68");
	put_file(f, "client", "\177ELF", 0755);
	assert_int_equal(start(f, &sandbox), -1);
	check_code(f, "one that cannot be executed", "HLB-68");
}

static void
test_what_a_client_cannot(void **state)
{
	struct fixture *f = *state;
	struct lowered *lowered = &f->lowered;
	struct sandbox sandbox;

	put_client(f, "version) exit 1;;\n");
	f->plan.pull = PLAN_PULL_ALWAYS;
	assert_int_equal(start(f, &sandbox), -1);
	check_code(f, "a pull each time", "HLB-67");
	f->plan.pull = PLAN_PULL_MISSING;
	f->plan.keep = (struct plan_keep){ .session = "s",
		.profile = "0123456789abcdef",
		.is_kept = true,
		.lease_ms = 1000 };
	assert_int_equal(start(f, &sandbox), -1);
	check_code(f, "a container that stays", "HLB-67");
	f->plan.keep = (struct plan_keep){ 0 };
	f->plan.backend = "podman";
	assert_int_equal(backend_podman.lower(&f->plan, lowered, &f->err), -1);
	check_code(f, "podman's client", "HLB-67");
	f->plan.client = NULL;
	assert_int_equal(backend_podman.lower(&f->plan, lowered, &f->err), 0);
	lowered_done(lowered);
	lowered_init(lowered);
	f->plan.backend = "docker";
	f->plan.client = f->client;
	assert_int_equal(backend_docker.lower(&f->plan, lowered, &f->err), 0);
	assert_string_equal(lowered->argv.v[0], f->client);
	assert_string_equal(lowered->argv.v[1], "-H");
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_bad_starts),
		CASE(test_ends),
		CASE(test_stream_is_exact),
		CASE(test_words_and_variables),
		CASE(test_no_socket_is_the_clients_own),
		CASE(test_unsafe_client),
		CASE(test_what_a_client_cannot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
