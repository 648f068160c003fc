/*
 * hl-engine against clients of an engine that misbehave. Each start that fails has its own code and
 * leaves nothing, and so has each end; what a client is told, by words and by variables, is
 * compared exactly.
 */
#include "tests/unit/backends/client_scene.h"

#include "base/banned.h"

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
	{ "another engine behind docker's client",
	    "version) echo '{\"Client\":{\"Version\":\"20.1\",\"ApiVersion\":\"1.41\"},"
	    "\"Server\":{\"Version\":\"4.3.1\",\"ApiVersion\":\"1.41\","
	    "\"Components\":[{\"Name\":\"conmon\"},{\"Name\":\"Podman Engine\"}]}}';;\n",
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
	{ "an engine that is gone when the image is asked for",
	    "version) [ ! -e asked ] || exit 1; : >asked\n"
	    " echo '{\"Client\":{\"Version\":\"20.1\",\"ApiVersion\":\"1.41\"},"
	    "\"Server\":{\"Version\":\"20.2\",\"ApiVersion\":\"1.41\","
	    "\"Components\":[{\"Name\":\"Engine\"}]}}';;\n"
	    "image) echo '[]'; exit 1;;\n",
	    "HLB-40", false },
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
	{ "a removal that removes nothing", "rm) exit 0;;\n", "HLB-56", 2 },
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
	assert_int_equal(times_told(f, socket), 9);
	assert_int_equal(times_told(f, "DOCKER_CONFIG=/proc/none\n"), 9);
	assert_int_equal(times_told(f, "DOCKER_CONTEXT="), 0);
	read_log(f, &log);
	assert_null(strstr(log.data, "S3CRET"));
	/* And no other: nine commands, two lines each, and what an account has. */
	size_t variables = 0;
	for (const char *at = log.data; (at = strchr(at, '\n')) != NULL; at++)
		variables++;
	assert_int_equal(variables % 9, 0);
	assert_int_equal(variables / 9 - 1, times_told(f, "PATH=") / 9 +
						times_told(f, "HOME=") / 9 +
						times_told(f, "XDG_RUNTIME_DIR=") / 9 + 2);
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
