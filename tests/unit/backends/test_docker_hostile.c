/*
 * hl-engine against engines that misbehave: each start that fails has its own code and leaves
 * nothing, and so has each end.
 */
#include "tests/unit/backends/bad_engine.h"

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * Starts that fail
 */
struct bad_start {
	const char *name;
	struct rule rule;
	const char *code;
	bool is_removed; /* a DELETE followed */
};

static const struct bad_start bad_starts[] = {
	{ "another protocol", { "/_ping", "SSH-2.0-OpenSSH_9.2\r\n", ANSWER }, "HLB-43", false },
	{ "another web server", { "/_ping", HEAD("200 OK") "OK", ANSWER }, "HLB-43", false },
	{ "version that is none",
	    { "/_ping", "HTTP/1.1 200 OK\r\nApi-Version: 1.99999\r\nContent-Length: 0\r\n\r\n",
		ANSWER },
	    "HLB-43", false },
	{ "old engine",
	    { "/_ping", "HTTP/1.1 200 OK\r\nApi-Version: 1.39\r\nContent-Length: 0\r\n\r\n",
		ANSWER },
	    "HLB-44", false },
	{ "endless head", { "/_ping", "", FLOOD_HEAD }, "HLB-43", false },
	{ "silence", { "/_ping", "", HANG }, "HLB-42", false },
	{ "hang up", { "/_ping", "", HANG_UP }, "HLB-54", false },
	{ "endless image", { "/images/", "", FLOOD_BODY }, "HLB-43", false },
	{ "image that is not JSON", { "/images/", HEAD("200 OK") "{\"Id\":", ANSWER }, "HLB-43",
	    false },
	{ "two ids",
	    { "/images/", HEAD("200 OK") "{\"Id\":\"" IMAGE "\",\"Id\":\"" IMAGE "\"}", ANSWER },
	    "HLB-43", false },
	{ "id that is none", { "/images/", HEAD("200 OK") "{\"Id\":\"../x\"}", ANSWER }, "HLB-43",
	    false },
	{ "user that is a number",
	    { "/images/", HEAD("200 OK") "{\"Id\":\"" IMAGE "\",\"Config\":{\"User\":5}}", ANSWER },
	    "HLB-43", false },
	{ "no image", { "/images/", HEAD("404 Not Found") "{}", ANSWER }, "HLB-45", false },
	{ "U61 name taken",
	    { "/containers/create", HEAD("409 Conflict") "{\"message\":\"in use\"}", ANSWER },
	    "HLB-50", false },
	{ "create refused",
	    { "/containers/create", HEAD("500 Error") "{\"message\":\"\\u001b[31mno\"}", ANSWER },
	    "HLB-51", false },
	{ "U61 id that is a path",
	    { "/containers/create", HEAD("201 Created") "{\"Id\":\"../../images/x\"}", ANSWER },
	    "HLB-43", true },
	{ "U61 limit left out with a warning",
	    { "/containers/create",
		HEAD("201 Created") "{\"Id\":\"" ID "\",\"Warnings\":[\"Your kernel does not "
				    "support memory limit capabilities\"]}",
		ANSWER },
	    "HLB-53", true },
	{ "U61 container that is not what was asked",
	    { "GET /v1.41/containers/", HEAD("200 OK") "{\"HostConfig\":{\"Privileged\":true}}",
		ANSWER },
	    "HLB-53", true },
	{ "U61 container without its settings",
	    { "GET /v1.41/containers/", HEAD("200 OK") "{\"HostConfig\":{},\"Config\":{}}",
		ANSWER },
	    "HLB-53", true },
	{ "U61 streams refused", { "/attach", "HTTP/1.1 404 Not Found\r\n\r\n", ANSWER }, "HLB-52",
	    true },
	{ "U61 streams in another language", { "/attach", "hello\r\n\r\n", ANSWER }, "HLB-52",
	    true },
	{ "U61 streams with an endless head", { "/attach", "", FLOOD_HEAD }, "HLB-43", true },
	{ "U61 wait refused", { "/wait", HEAD("500 Error") "{}", ANSWER }, "HLB-52", true },
	{ "U61 start refused",
	    { "/start", HEAD("400 Bad") "{\"message\":\"exec: no such file\"}", ANSWER }, "HLB-52",
	    true },
	{ "U61 hang up at start", { "/start", "", HANG_UP }, "HLB-54", true },
};

static void
test_u55_u61_bad_starts(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(bad_starts); i++) {
		const struct bad_start *bad = &bad_starts[i];
		const struct rule rules[] = { bad->rule, { 0 } };
		struct sandbox sandbox;
		start_daemon(f, rules);
		memset(&f->err, 0, sizeof(f->err));
		if (start(f, &sandbox) == 0)
			fail_msg("%s: started", bad->name);
		const char *code = hl_code_info(f->err.code)->id;
		if (strcmp(code, bad->code) != 0)
			fail_msg("%s: %s, not %s: %s", bad->name, code, bad->code, f->err.msg);
		if (was_asked(f, "DELETE ") != bad->is_removed)
			fail_msg("%s: removed: %d", bad->name, !bad->is_removed);
		for (const char *c = f->err.msg; *c != '\0'; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
}

static void
test_u55_no_engine(void **state)
{
	struct fixture *f = *state;
	struct sandbox sandbox;

	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-40");
	int fd = open(f->socket, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(fd);
	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-40");
	unlink(f->socket);
}

/* The checkout may be private to root: the other user needs a helper that it can start. */
static void
copy_helper(struct fixture *f, char path[128])
{
	struct hl_buf bytes;
	struct hl_err err;

	snprintf(path, 128, "%s/hl-engine", f->dir);
	int from HL_AUTO_FD = open(helper_path(), O_RDONLY | O_CLOEXEC);
	int to HL_AUTO_FD = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_true(from >= 0 && to >= 0);
	hl_buf_init(&bytes, 64 * 1024 * 1024);
	assert_int_equal(hl_read_file(from, &bytes, "helper", HLI_02, &err), 0);
	assert_int_equal(hl_write_full(to, bytes.data, bytes.len), 0);
	assert_int_equal(fchmod(to, 0755), 0);
	hl_buf_done(&bytes);
}

/* As another user: the socket's mode means nothing to root. */
static void
test_u55_no_permission(void **state)
{
	static const struct rule none[] = { { 0 } };
	struct fixture *f = *state;
	struct sandbox sandbox;
	char helper[128];
	int status;

	start_daemon(f, none);
	copy_helper(f, helper);
	assert_int_equal(chmod(f->socket, 0), 0);
	assert_int_equal(chmod(f->dir, 0755), 0);
	f->plan.helper_path = helper;
	pid_t child = fork();
	if (child == 0) {
		if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(3);
		if (start(f, &sandbox) == 0)
			_exit(2);
		_exit(strcmp(hl_code_info(f->err.code)->id, "HLB-41") == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ------------------------------------------------------------------------------------------------
 * Ends
 */
struct bad_end {
	const char *name;
	struct rule rules[3];
	const char *code;  /* NULL: none */
	bool is_half_done; /* the runner said something */
};

static const char silent_attach[] = "HTTP/1.1 200 OK\r\n\r\n";

static const struct bad_end bad_ends[] = {
	{ "a good end (sibling)", { { 0 } }, NULL, true },
	{ "stream that is not multiplexed",
	    { { "/attach", "HTTP/1.1 200 OK\r\n\r\nhello, this is not framed", ANSWER } }, "HLB-43",
	    false },
	{ "runner that never spoke", { { "/attach", silent_attach, ANSWER } }, "HLB-61", false },
	{ "engine that breaks off the wait",
	    { { "/wait", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", LATER } }, "HLB-54",
	    true },
	{ "container that cannot be removed",
	    { { "DELETE ", HEAD("500 Error") "{\"message\":\"busy\"}", ANSWER } }, "HLB-56", true },
};

static void
test_ends(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(bad_ends); i++) {
		const struct bad_end *bad = &bad_ends[i];
		struct sandbox sandbox;
		char bytes[16];
		start_daemon(f, bad->rules);
		memset(&f->err, 0, sizeof(f->err));
		if (start(f, &sandbox) != 0)
			fail_msg("%s: %s", bad->name, f->err.msg);
		ssize_t n = read(sandbox.stream, bytes, sizeof(bytes));
		assert_int_equal(n, bad->is_half_done ? 2 : 0);
		assert_string_equal(sandbox.id, ID);
		assert_string_equal(sandbox.image_digest, IMAGE);
		assert_int_equal(sandbox.image_env.len, 1);
		int status = backend_docker.stop(&sandbox, &f->err);
		sandbox_done(&sandbox);
		assert_true(was_asked(f, "DELETE "));
		if ((status == 0) != (bad->code == NULL))
			fail_msg("%s: status %d: %s", bad->name, status, f->err.msg);
		if (bad->code != NULL && strcmp(hl_code_info(f->err.code)->id, bad->code) != 0)
			fail_msg("%s: %s", bad->name, f->err.msg);
	}
}

/* Whoever only cleans up says how long it waits; an engine that hangs does not decide it. */
static void
test_patience_with_an_engine_that_hangs(void **state)
{
	struct fixture *f = *state;
	struct docker_opened opened = { 0 };
	struct docker_helper helper;
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/hung", f->dir);
	int fd HL_AUTO_FD = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 4), 0);
	uint64_t begin = hl_now_mono_ms();
	assert_int_equal(docker_helper_reach(&helper,
			     &(struct docker_reach){ helper_path(), at.sun_path, 500 }, &opened,
			     &f->err),
	    -1);
	assert_int_equal(f->err.code, HLB_59);
	assert_true(hl_now_mono_ms() - begin < 4000);
	unlink(at.sun_path);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_u55_u61_bad_starts),
		CASE(test_u55_no_engine),
		CASE(test_u55_no_permission),
		CASE(test_ends),
		CASE(test_patience_with_an_engine_that_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
