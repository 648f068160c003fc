/*
 * Credentials of the caller's own configuration: every form that clients have written, every way in
 * which a file or a program can be wrong, and that no message repeats what was read.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/docker/engine/pull.h"

#include "base/banned.h"

#define CANARY "canary-3c1"

struct scene {
	char dir[64], config[96], second[96], program[96], path[96];
	struct hl_strv files, env;
	struct hl_err err;
	struct registry_source source;
	char json[1024]; /* of the header, decoded */
};

static void
write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(hl_write_full(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int
setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	snprintf(s->dir, sizeof(s->dir), "/tmp/hl-registry.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->config, sizeof(s->config), "%s/config.json", s->dir);
	snprintf(s->second, sizeof(s->second), "%s/second.json", s->dir);
	snprintf(s->program, sizeof(s->program), "%s/docker-credential-own", s->dir);
	snprintf(s->path, sizeof(s->path), "PATH=relative:%s:/usr/bin:/bin", s->dir);
	hl_strv_init(&s->env, 8);
	hl_strv_add(&s->env, s->path);
	hl_strv_init(&s->files, 4);
	hl_strv_add(&s->files, s->config);
	s->source = (struct registry_source){ .client = "docker",
		.has_store = true,
		.files = &s->files,
		.env = &s->env,
		.watch = -1 };
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct scene *s = *state;

	unlink(s->config);
	unlink(s->second);
	unlink(s->program);
	rmdir(s->dir);
	hl_strv_done(&s->files);
	hl_strv_done(&s->env);
	free(s);
	return 0;
}

/* The header's JSON is in s->json, "" when there is none. */
static int
ask(struct scene *s, const char *image)
{
	struct hl_buf header;
	size_t len = 0;

	s->json[0] = '\0';
	memset(&s->err, 0, sizeof(s->err));
	int status = registry_auth(&s->source, image, &header, &s->err);
	for (size_t i = 0; i < header.len; i++) {
		assert_null(memchr("+/ \r\n", header.data[i], 5));
		header.data[i] = (char)(header.data[i] == '-'   ? '+'
					: header.data[i] == '_' ? '/'
								: header.data[i]);
	}
	if (header.len > 0) {
		assert_true(hl_base64_read(header.data, header.len, (unsigned char *)s->json,
		    sizeof(s->json) - 1, &len));
		assert_true(len < sizeof(s->json));
	}
	s->json[len] = '\0';
	hl_buf_done_secret(&header);
	assert_null(strstr(s->err.msg, CANARY));
	assert_null(strstr(s->err.help, CANARY));
	return status;
}

static void
expect(struct scene *s, const char *config, const char *image, const char *json)
{
	write_file(s->config, config, 0600);
	if (ask(s, image) != 0)
		fail_msg("%s: %s", config, s->err.msg);
	assert_string_equal(s->json, json);
}

static void
refuse(struct scene *s, const char *config, const char *code)
{
	write_file(s->config, config, 0600);
	if (ask(s, "r.example/tools") == 0)
		fail_msg("%s: taken", config);
	assert_string_equal(hl_code_info(s->err.code)->id, code);
	assert_string_equal(s->json, "");
}

/* base64 of "me:it's" and of "me:it's" with two zero bytes behind it. */
#define PAIR        "bWU6aXQncw=="
#define PAIR_ZEROES "bWU6aXQncwAA"
#define ME          "{\"username\":\"me\",\"password\":\"it's\",\"serveraddress\":\"r.example\"}"
#define HUB \
 "{\"username\":\"me\",\"password\":\"it's\",\"serveraddress\":\"https://index.docker.io/v1/\"}"

static void
test_entries(void **state)
{
	struct scene *s = *state;

	assert_int_equal(ask(s, "r.example/tools"), 0); /* no file */
	assert_string_equal(s->json, "");
	expect(s, "{}", "r.example/tools", "");
	expect(s, "{\"auths\":null,\"credsStore\":\"\"}", "r.example/tools", "");
	expect(s, "{\"auths\":{\"r.example\":{\"auth\":\"" PAIR "\"}}}", "r.example/tools:1", ME);
	expect(s, "{\"auths\":{\"r.example\":{\"auth\":\"" PAIR_ZEROES "\"}}}", "r.example/tools",
	    ME);
	expect(s, "{\"auths\":{\"https://r.example/v1/\":{\"auth\":\"" PAIR "\"}}}",
	    "r.example/tools", ME);
	expect(s, "{\"auths\":{\"r.example\":{\"username\":\"me\",\"password\":\"it's\"}}}",
	    "r.example/tools", ME);
	expect(s, "{\"auths\":{\"r.example\":{}}}", "r.example/tools", "");
	expect(s, "{\"auths\":{\"r.example:5000\":{\"auth\":\"" PAIR "\"}}}", "r.example/tools",
	    "");
	expect(s, "{\"auths\":{\"r.example\":{\"auth\":\"" PAIR "\"}}}", "r.example.evil/tools",
	    "");
	expect(s, "{\"auths\":{\"r.example\":{\"auth\":\"" PAIR "\"}}}", "r.example:5000/tools",
	    "");
	expect(s, "{\"auths\":{\"\":{\"auth\":\"" PAIR "\"}}}", "tools", "");
	expect(s, "{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"" PAIR "\"}}}", "tools",
	    HUB);
	expect(s, "{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"" PAIR "\"}}}",
	    "docker.io/team/tools", HUB);
	/* As it is written comes before what means the same. */
	expect(s,
	    "{\"auths\":{\"https://r.example\":{\"auth\":\"AAAA\"},\"r.example\":{\"auth\":\"" PAIR
	    "\"}}}",
	    "r.example/tools", ME);
	expect(s,
	    "{\"auths\":{\"r.example\":{\"auth\":\"" PAIR "\",\"identitytoken\":\"" CANARY "\"}}}",
	    "r.example/tools",
	    "{\"identitytoken\":\"" CANARY "\",\"serveraddress\":\"r.example\"}");
	/* Of the rest of the file nothing is looked at. */
	expect(s,
	    "{\"proxies\":[],\"HttpHeaders\":5,\"plugins\":\"" CANARY
	    "\",\"auths\":{\"other\":5,\"r.example\":{\"auth\":\"" PAIR "\"}}}",
	    "r.example/tools", ME);
}

static const char *const bad_files[] = {
	"",
	"{",
	"[]",
	"\"" CANARY "\"",
	CANARY,
	"{\"auths\":5}",
	"{\"auths\":[\"" CANARY "\"]}",
	"{\"auths\":{},\"auths\":{}}",
	"{\"auths\":{\"r.example\":\"" CANARY "\"}}",
	"{\"auths\":{\"r.example\":{\"auth\":5}}}",
	"{\"auths\":{\"r.example\":{\"auth\":\"" CANARY "\"}}}",
	"{\"auths\":{\"r.example\":{\"auth\":\"bWU=\"}}}",     /* no colon */
	"{\"auths\":{\"r.example\":{\"auth\":\"OnB3\"}}}",     /* no name */
	"{\"auths\":{\"r.example\":{\"auth\":\"bWUAOng=\"}}}", /* a zero byte within */
	"{\"auths\":{\"r.example\":{\"auth\":\"bWU6/w==\"}}}", /* no text */
	"{\"auths\":{\"r.example\":{\"password\":[]}}}",
	"{\"auths\":{\"r.example\":{\"identitytoken\":{}}}}",
	"{\"credsStore\":5}",
	"{\"credsStore\":\"../" CANARY "\"}",
	"{\"credsStore\":\"a b\"}",
	"{\"credsStore\":\"a\\nb\"}",
	"{\"credHelpers\":[]}",
	"{\"credHelpers\":{\"r.example\":{}}}",
	"{\"credHelpers\":{\"r.example\":\"/bin/sh\"}}",
	"{\"credHelpers\":{\"r.example\":\"\"}}",
	"{}\n{}",
};

static void
test_bad_files(void **state)
{
	struct scene *s = *state;
	char *big = malloc(REGISTRY_FILE_MAX + 16);

	for (size_t i = 0; i < HL_ARRAY_SIZE(bad_files); i++)
		refuse(s, bad_files[i], "HLB-64");
	memset(big, ' ', REGISTRY_FILE_MAX + 15);
	big[REGISTRY_FILE_MAX + 15] = '\0';
	big[0] = '{';
	big[1] = '}';
	refuse(s, big, "HLB-64");
	big[REGISTRY_FILE_MAX - 1] = '\0';
	expect(s, big, "r.example/tools", "");
	/* A text past what a registry gives. */
	snprintf(big, REGISTRY_FILE_MAX, "{\"auths\":{\"r.example\":{\"identitytoken\":\"%0*d\"}}}",
	    REGISTRY_SECRET_MAX + 1, 5);
	refuse(s, big, "HLB-64");
	memset(big, '[', REGISTRY_FILE_MAX / 2);
	big[REGISTRY_FILE_MAX / 2] = '\0';
	refuse(s, big, "HLB-64");
	free(big);
}

static void
test_bad_places(void **state)
{
	struct scene *s = *state;
	char inside[128];

	write_file(s->config, "{}", 0660);
	assert_int_equal(ask(s, "r.example/tools"), -1);
	assert_string_equal(hl_code_info(s->err.code)->id, "HLB-64");
	write_file(s->config, "{}", 0644);
	assert_int_equal(ask(s, "r.example/tools"), 0);
	unlink(s->config);
	assert_int_equal(mkdir(s->config, 0700), 0);
	assert_int_equal(ask(s, "r.example/tools"), -1);
	assert_string_equal(hl_code_info(s->err.code)->id, "HLB-64");
	rmdir(s->config);
	assert_int_equal(mkfifo(s->config, 0600), 0);
	assert_int_equal(ask(s, "r.example/tools"), -1); /* and does not wait for a writer */
	assert_string_equal(hl_code_info(s->err.code)->id, "HLB-64");
	unlink(s->config);
	write_file(s->config, "{}", 0600);
	snprintf(inside, sizeof(inside), "%s/config.json", s->config);
	hl_strv_done(&s->files);
	hl_strv_init(&s->files, 4);
	hl_strv_add(&s->files, inside);
	assert_int_equal(ask(s, "r.example/tools"), 0);
	s->source.files = NULL;
	assert_int_equal(ask(s, "r.example/tools"), 0);
}

/* ------------------------------------------------------------------------------------------------
 * Podman's
 */

/* base64 of "NAME:pw" */
#define ENTRY(key, pair) "\"" key "\":{\"auth\":\"" pair "\"}"
#define A                "YTpwdw=="
#define B                "Yjpwdw=="
#define C                "Yzpwdw=="
#define D                "ZDpwdw=="

static const char scoped[] = "{\"auths\":{" ENTRY("r.example", A) "," ENTRY("r.example/team",
    B) "," ENTRY("r.example/team/deep/tools", C) "," ENTRY("docker.io",
    D) "," ENTRY("docker.io/library/own", B) "}}";

static const struct scoped_row {
	const char *image, *user;
} scoped_rows[] = {
	{ "r.example/tools:1", "a" },
	{ "r.example/team", "b" },
	{ "r.example/team:1", "b" },
	{ "r.example/team/tools@sha256:00", "b" },
	{ "r.example/team/deep", "b" },
	{ "r.example/team/deep/tools:1", "c" },
	{ "r.example/team/deep/tools/more:1", "c" },
	{ "r.example/team/deep/toolset", "b" },
	{ "r.example/teams/tools", "a" },
	{ "busybox", "d" },
	{ "docker.io/team/busybox", "d" },
	{ "index.docker.io/team/busybox", "d" },
	{ "own:1", "b" },
	{ "r.example:5000/team/tools", NULL },
	{ "other.example/r.example/team", NULL },
};

static void
expect_user(struct scene *s, const char *config, const char *image, const char *user)
{
	char wanted[64] = "";

	if (user != NULL)
		snprintf(wanted, sizeof(wanted), "{\"username\":\"%s\",\"password\":\"pw\",", user);
	write_file(s->config, config, 0600);
	assert_int_equal(ask(s, image), 0);
	if (user == NULL ? s->json[0] != '\0' : strncmp(s->json, wanted, strlen(wanted)) != 0)
		fail_msg("%s: %s", image, s->json);
}

static void
test_scopes(void **state)
{
	struct scene *s = *state;

	/* Docker's client knows registries only: an entry of a part counts for all (sibling). */
	expect_user(s, "{\"auths\":{" ENTRY("r.example/team", B) "}}", "r.example/tools", "b");
	expect_user(s, scoped, "r.example/team/tools", "a");
	expect_user(s, scoped, "busybox", NULL);
	s->source.client = "podman";
	s->source.has_scopes = true;
	s->source.has_store = false;
	for (size_t i = 0; i < HL_ARRAY_SIZE(scoped_rows); i++)
		expect_user(s, scoped, scoped_rows[i].image, scoped_rows[i].user);
	/* Of a part, they are sent nowhere else. */
	expect_user(s, "{\"auths\":{" ENTRY("r.example/team", B) "}}", "r.example/tools", NULL);
	/* What docker's client wrote. */
	expect_user(s, "{\"auths\":{" ENTRY("https://r.example/v1/", A) "}}",
	    "r.example/team/tools", "a");
	expect_user(s, "{\"auths\":{" ENTRY("https://index.docker.io/v1/", A) "}}", "busybox", "a");
	/* Its store is not asked by podman. */
	expect_user(s, "{\"credsStore\":\"none\",\"auths\":{" ENTRY("r.example", A) "}}",
	    "r.example/tools", "a");
	refuse(s, "{\"auths\":5}", "HLB-64");
	assert_non_null(strstr(s->err.help, "'podman login r.example'"));
	/* A program keeps those of a registry, whatever part of it is asked for. */
	write_file(s->program,
	    "#!/bin/sh\nread -r server\nprintf '{\"Username\":\"a\",\"Secret\":\"pw\"}'\n"
	    "[ \"$server\" = docker.io ]\n",
	    0755);
	expect_user(s, "{\"credHelpers\":{\"docker.io\":\"own\"}}", "busybox", "a");
}

/* The next file is asked when one has none, and not when it cannot be read. */
static void
test_order(void **state)
{
	struct scene *s = *state;

	hl_strv_add(&s->files, s->second);
	write_file(s->second, "{\"auths\":{" ENTRY("r.example", B) "}}", 0600);
	assert_int_equal(ask(s, "r.example/tools"), 0);
	assert_non_null(strstr(s->json, "\"b\""));
	expect_user(s, "{\"auths\":{" ENTRY("r.example", A) "}}", "r.example/tools", "a");
	expect_user(s, "{\"auths\":{" ENTRY("other.example", A) "}}", "r.example/tools", "b");
	expect_user(s, "{\"auths\":{\"r.example\":{}}}", "r.example/tools", "b");
	refuse(s, "{", "HLB-64");
	assert_non_null(strstr(s->err.msg, s->config));
	write_file(s->second, "{", 0600);
	refuse(s, "{}", "HLB-64");
	assert_non_null(strstr(s->err.msg, s->second));
	expect_user(s, "{\"auths\":{" ENTRY("r.example", A) "}}", "r.example/tools", "a");
}

/* ------------------------------------------------------------------------------------------------
 * Programs
 */
static const char store[] =
    "{\"credsStore\":\"own\",\"auths\":{\"r.example\":{\"auth\":\"" PAIR "\"}}}";

static void
test_program(void **state)
{
	struct scene *s = *state;

	write_file(s->program,
	    "#!/bin/sh\nread -r server\n[ \"$1 $#\" = 'get 1' ] || exit 3\n"
	    "printf '{\"ServerURL\":\"%s\",\"Username\":\"%s\",\"Secret\":\"'" CANARY
	    "'\"}' \"$server\" \"$server\"\n",
	    0755);
	expect(s, store, "r.example/tools",
	    "{\"username\":\"r.example\",\"password\":\"" CANARY
	    "\",\"serveraddress\":\"r.example\"}");
	expect(s, store, "tools",
	    "{\"username\":\"https://index.docker.io/v1/\",\"password\":\"" CANARY
	    "\",\"serveraddress\":\"https://index.docker.io/v1/\"}");
	/* The registry's own comes first, also under the name that people write. */
	expect(s, "{\"credsStore\":\"none\",\"credHelpers\":{\"r.example\":\"own\"}}",
	    "r.example/tools",
	    "{\"username\":\"r.example\",\"password\":\"" CANARY
	    "\",\"serveraddress\":\"r.example\"}");
	write_file(s->program, "#!/bin/sh\necho '{\"Username\":\"<token>\",\"Secret\":\"t\"}'\n",
	    0755);
	expect(s, store, "r.example/tools",
	    "{\"identitytoken\":\"t\",\"serveraddress\":\"r.example\"}");
	write_file(s->program,
	    "#!/bin/sh\necho 'credentials not found in native keychain'; exit 1\n", 0755);
	expect(s, store, "r.example/tools", "");
	/* One that stays, and has said all. */
	write_file(s->program,
	    "#!/bin/sh\necho '{\"Username\":\"<token>\",\"Secret\":\"t\"}'\nexec >&-\nsleep 60\n",
	    0755);
	uint64_t begin = hl_now_mono_ms();
	refuse(s, store, "HLB-65");
	assert_true(hl_now_mono_ms() - begin < 10000);
}

static const char *const bad_programs[] = {
	"exit 0",
	"exec <&-; sleep 0.2", /* nobody reads the server's name */
	"echo " CANARY,
	"echo '{'",
	"echo '[]'",
	"echo '{\"Username\":\"a\"}'",
	"echo '{\"Username\":\"a\",\"Secret\":5}'",
	"echo '{\"Username\":\"a\",\"Username\":\"b\",\"Secret\":\"c\"}'",
	"echo '{\"Username\":\"\",\"Secret\":\"c\"}'",
	"echo " CANARY "; exit 1",
	"echo " CANARY " >&2; exit 1",
	"head -c 40000 /dev/zero",
	"yes",
	"kill -9 $$",
	"echo '{\"Username\":\"a\",\"Secret\":\"c\"}'; exit 1",
};

static void
test_bad_programs(void **state)
{
	struct scene *s = *state;
	char text[256];

	refuse(s, store, "HLB-65"); /* there is none */
	write_file(s->program, "#!/bin/sh\nexit 0\n", 0644);
	refuse(s, store, "HLB-65");
	write_file(s->program, "#!/none/such\n", 0755);
	refuse(s, store, "HLB-65");
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad_programs); i++) {
		snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", bad_programs[i]);
		write_file(s->program, text, 0755);
		refuse(s, store, "HLB-65");
	}
}

#define ANSWER   "#!/bin/sh\necho '{\"Username\":\"a\",\"Secret\":\"b\"}'\n"
#define ANSWERED "{\"username\":\"a\",\"password\":\"b\",\"serveraddress\":\"r.example\"}"

/* A program is where its links lead, and whoever can change a directory on the way to it, or a
 * link, decides what runs with the server's name and hands out the password. */
static void
test_places_of_programs(void **state)
{
	struct scene *s = *state;
	char below[96], inner[128], middle[128];
	struct hl_strv shown;

	snprintf(below, sizeof(below), "%s/below", s->dir);
	snprintf(inner, sizeof(inner), "%s/program", below);
	snprintf(middle, sizeof(middle), "%s/link", below);
	assert_int_equal(mkdir(below, 0755), 0);
	write_file(inner, ANSWER, 0755);
	assert_int_equal(symlink(inner, s->program), 0);
	hl_strv_init(&shown, 4);
	s->source.shown = &shown;
	expect(s, store, "r.example/tools", ANSWERED);
	/* Beneath what a command writes, as a directory and as that one file. */
	hl_strv_add(&shown, below);
	refuse(s, store, "HLB-65");
	hl_strv_done(&shown);
	hl_strv_init(&shown, 4);
	hl_strv_add(&shown, inner);
	refuse(s, store, "HLB-65");
	hl_strv_done(&shown);
	/* Beside it is another place. */
	hl_strv_init(&shown, 4);
	hl_strv_add(&shown, middle);
	expect(s, store, "r.example/tools", ANSWERED);
	hl_strv_done(&shown);
	/* A link on the way there is the command's, what it leads to now is not. */
	assert_int_equal(unlink(s->program), 0);
	assert_int_equal(rename(inner, s->second), 0);
	assert_int_equal(symlink("../second.json", middle), 0);
	assert_int_equal(symlink("below/link", s->program), 0);
	hl_strv_init(&shown, 4);
	expect(s, store, "r.example/tools", ANSWERED);
	hl_strv_add(&shown, below);
	refuse(s, store, "HLB-65");
	hl_strv_done(&shown);
	s->source.shown = NULL;
	/* A group's directory on the way; root's group is root. */
	expect(s, store, "r.example/tools", ANSWERED);
	assert_int_equal(chmod(below, 0775), 0);
	if (geteuid() == 0) {
		expect(s, store, "r.example/tools", ANSWERED);
		assert_int_equal(chown(below, 0, 65534), 0);
	}
	refuse(s, store, "HLB-65");
	assert_int_equal(chmod(below, 01777), 0);
	refuse(s, store, "HLB-65");
	assert_int_equal(unlink(middle), 0);
	assert_int_equal(rmdir(below), 0);
}

/* The launcher ends while it waits for a person. */
static void
test_gone(void **state)
{
	struct scene *s = *state;
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	close(pipes[1]);
	s->source.watch = pipes[0];
	write_file(s->program, "#!/bin/sh\nsleep 60\n", 0755);
	uint64_t begin = hl_now_mono_ms();
	refuse(s, store, "HLB-60");
	assert_true(hl_now_mono_ms() - begin < 10000);
	close(pipes[0]);
}

/* It has what it was given, and standard error is nobody's. */
static void
test_environment(void **state)
{
	struct scene *s = *state;

	assert_int_equal(setenv("OPENAI_API_KEY", CANARY, 1), 0);
	int leak = open("/etc/passwd", O_RDONLY); /* NOLINT: without O_CLOEXEC on purpose */
	assert_true(leak > 2);
	hl_strv_add(&s->env, "HOME=/nowhere");
	write_file(s->program,
	    "#!/bin/sh\nn=$(ls /proc/self/fd | wc -l)\n"
	    "printf '{\"Username\":\"%s\",\"Secret\":\"%s\"}' \"$n\" \"$HOME$OPENAI_API_KEY\"\n",
	    0755);
	/* 0, 1, 2 and the directory that ls reads. */
	expect(s, store, "r.example/tools",
	    "{\"username\":\"4\",\"password\":\"/nowhere\",\"serveraddress\":\"r.example\"}");
	close(leak);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scopes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_program, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_programs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_places_of_programs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
	};

	/* As hl-engine has it: a program may end before it reads the server's name. */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
