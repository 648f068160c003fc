/*
 * The report of a pull, and names of images: what an engine writes, what a broken or a hostile one
 * does, cut anywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/docker/engine/pull.h"

#include "base/banned.h"

static struct pull_stream stream;

/* Whether it is well-formed; in pieces of size bytes. */
static bool
read_report(const char *text, size_t len, size_t size)
{
	bool is_good = true;

	pull_stream_done(&stream);
	pull_stream_init(&stream);
	for (size_t at = 0; at < len && is_good; at += size)
		is_good = pull_stream_take(&stream, text + at, len - at < size ? len - at : size);
	bool is_whole = pull_stream_end(&stream);
	assert_true(is_good || !is_whole);
	return is_whole;
}

static bool
read_text(const char *text)
{
	bool is_good = read_report(text, strlen(text), strlen(text) + 1);

	for (size_t size = 1; size < 4; size++)
		assert_int_equal(read_report(text, strlen(text), size), is_good);
	return is_good;
}

static const char usual[] =
    "{\"status\":\"Pulling from tools\",\"id\":\"1\"}\r\n"
    "{\"status\":\"Pulling fs layer\",\"progressDetail\":{},\"id\":\"aa\"}\r\n"
    "{\"status\":\"Pulling fs layer\",\"progressDetail\":{},\"id\":\"bb\"}\r\n"
    "{\"status\":\"Already exists\",\"progressDetail\":{},\"id\":\"cc\"}\r\n"
    "{\"status\":\"Downloading\",\"progressDetail\":{\"current\":10,\"total\":100},\"id\":\"aa\"}\r\n"
    "{\"status\":\"Downloading\",\"progressDetail\":{\"current\":20,\"total\":50},\"id\":\"bb\"}\r\n"
    "{\"status\":\"Download complete\",\"progressDetail\":{},\"id\":\"bb\"}\r\n"
    "{\"status\":\"Extracting\",\"progressDetail\":{\"current\":1,\"total\":50},\"id\":\"bb\"}\r\n";

static void
test_numbers(void **state)
{
	struct pull_sum sum;

	(void)state;
	assert_true(read_text(usual));
	assert_false(stream.has_error);
	pull_stream_sum(&stream, &sum);
	assert_int_equal(sum.layers, 3);
	assert_int_equal(sum.done, 1);
	assert_int_equal(sum.bytes, 60);
	assert_int_equal(sum.total, 150);
	assert_true(read_text(
	    "{\"status\":\"Pull complete\",\"id\":\"aa\"}\n{\"status\":\"Status: Downloaded\"}"));
	pull_stream_sum(&stream, &sum);
	assert_int_equal(sum.layers, 1);
	assert_int_equal(sum.done, 1);
	assert_true(read_text(""));
	assert_true(read_text("\r\n\r\n"));
}

struct error_row {
	const char *text, *error;
	long code;
};

static const struct error_row errors[] = {
	{ "{\"errorDetail\":{\"message\":\"no space\"},\"error\":\"no space\"}\n", "no space", 0 },
	{ "{\"errorDetail\":{\"message\":\"alone\"}}", "alone", 0 },
	{ "{\"error\":\"alone\"}", "alone", 0 },
	{ "{\"error\":\"\"}", "", 0 },
	{ "{\"errorDetail\":{}}", "", 0 },
	{ "{\"error\":\"first\"}\n{\"error\":\"second\"}\n{\"status\":\"Pull complete\",\"id\":\"a\"}",
	    "first", 0 },
	{ "{\"errorDetail\":{\"code\":401,\"message\":\"no\"},\"error\":\"no\"}", "no", 401 },
	{ "{\"errorDetail\":{\"code\":1000},\"error\":\"no\"}", "no", 0 },
	{ "{\"errorDetail\":{\"code\":-1},\"error\":\"no\"}", "no", 0 },
	{ "{\"errorDetail\":{\"code\":\"401\"},\"error\":\"no\"}", "no", 0 },
};

static void
test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(errors); i++) {
		assert_true(read_text(errors[i].text));
		assert_true(stream.has_error);
		assert_string_equal(stream.error, errors[i].error);
		assert_int_equal(stream.error_code, errors[i].code);
	}
	/* A report has no such member: only an answer that is none does. */
	assert_true(read_text("{\"message\":\"denied\"}"));
	assert_false(stream.has_error);
	assert_string_equal(stream.refusal, "denied");
}

static const char *const malformed[] = {
	"{",
	"{\"status\":\"Downloading\"",
	"[]",
	"5",
	"\"error\"",
	"null",
	"x",
	"HTTP/1.1 200 OK",
	"{} {}",
	"{\"error\":5}",
	"{\"error\":{}}",
	"{\"errorDetail\":\"x\"}",
	"{\"errorDetail\":{\"message\":[]}}",
	"{\"error\":\"a\",\"error\":\"b\"}",
	"{\"status\":[],\"id\":\"a\"}",
	"{\"status\":\"Waiting\",\"id\":7}",
	"{\"error\":\"\\u0000\"}",
	"{\"error\":\"\xff\"}",
	"{\"status\":\"Waiting\",\"id\":\"a\"}\n{\"status\":\"Wai",
};

static void
test_malformed(void **state)
{
	char *bytes = malloc(PULL_LINE_MAX + 64);

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(malformed); i++) {
		if (read_text(malformed[i]))
			fail_msg("'%s' is taken", malformed[i]);
	}
	assert_false(read_report("{}\0{}", 5, 5));
	/* A line at its maximum, and one past it. */
	memset(bytes, ' ', PULL_LINE_MAX + 64);
	bytes[0] = '{';
	bytes[PULL_LINE_MAX - 2] = '}';
	assert_true(read_report(bytes, PULL_LINE_MAX - 1, 1000));
	assert_false(read_report(bytes, PULL_LINE_MAX + 1, 1000));
	memset(bytes, '[', PULL_LINE_MAX);
	assert_false(read_report(bytes, PULL_LINE_MAX - 1, 4096));
	free(bytes);
}

/* What is taken after the end of all patience is nothing. */
static void
test_endless(void **state)
{
	char blank[65536];
	uint64_t rounds = 0;

	(void)state;
	memset(blank, '\n', sizeof(blank));
	pull_stream_done(&stream);
	pull_stream_init(&stream);
	while (pull_stream_take(&stream, blank, sizeof(blank)))
		rounds++;
	assert_int_equal(rounds, PULL_REPORT_MAX / sizeof(blank));
	assert_false(pull_stream_take(&stream, "{}\n", 3));
	assert_false(pull_stream_end(&stream));
}

/* Numbers that lie, and more layers than are shown. */
static void
test_hostile_numbers(void **state)
{
	static const char *const lies[] = {
		"{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":{\"current\":-5,\"total\":-1}}",
		"{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":{\"current\":9223372036854775807,"
		"\"total\":9223372036854775807}}",
		"{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":{\"current\":\"x\",\"total\":[]}}",
		"{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":[1,2]}",
		"{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":{\"current\":1.5,\"total\":2.5}}",
	};
	struct pull_sum sum;
	char line[256];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(lies); i++) {
		assert_true(read_text(lies[i]));
		pull_stream_sum(&stream, &sum);
		assert_int_equal(sum.total, 0);
		assert_int_equal(sum.bytes, 0);
	}
	assert_true(read_text("{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":"
			      "{\"current\":500,\"total\":100}}"));
	pull_stream_sum(&stream, &sum);
	assert_int_equal(sum.bytes, 100);
	pull_stream_done(&stream);
	pull_stream_init(&stream);
	for (int i = 0; i < 2 * PULL_LAYERS_MAX; i++) {
		int len = snprintf(line, sizeof(line),
		    "{\"status\":\"Downloading\",\"id\":\"%d\",\"progressDetail\":{\"total\":1125899906842624}}\n",
		    i);
		assert_true(pull_stream_take(&stream, line, (size_t)len));
	}
	pull_stream_sum(&stream, &sum);
	assert_int_equal(sum.layers, PULL_LAYERS_MAX);
	assert_true(sum.total == (uint64_t)PULL_LAYERS_MAX << 50);
	snprintf(line, sizeof(line), "{\"status\":\"Waiting\",\"id\":\"%0120d\"}", 1);
	assert_true(read_text(line));
	pull_stream_sum(&stream, &sum);
	assert_int_equal(sum.layers, 0);
}

struct registry_row {
	const char *image, *registry;
};

static const struct registry_row registries[] = {
	{ "busybox", "docker.io" },
	{ "busybox:1", "docker.io" },
	{ "team/tools", "docker.io" },
	{ "docker.io/library/busybox", "docker.io" },
	{ "index.docker.io/team/tools", "docker.io" },
	{ "localhost/tools", "localhost" },
	{ "localhost:5000/tools:1", "localhost:5000" },
	{ "registry.example/a/b@sha256:00", "registry.example" },
	{ "Registry:5000/tools", "Registry:5000" },
	{ "registry.example", "docker.io" },
	{ "", "docker.io" },
	{ "sha256:00", "docker.io" },
};

static void
test_registries(void **state)
{
	char registry[REGISTRY_HOST_MAX + 1], image[600];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(registries); i++) {
		assert_true(reference_registry(registries[i].image, registry));
		assert_string_equal(registry, registries[i].registry);
	}
	snprintf(image, sizeof(image), "a.%0253d/tools", 1);
	assert_true(reference_registry(image, registry));
	snprintf(image, sizeof(image), "a.%0254d/tools", 1);
	assert_false(reference_registry(image, registry));
	assert_false(reference_is_same_repository(image, image));
}

static void
test_names(void **state)
{
	static const struct {
		const char *image, *name;
	} names[] = {
		{ "busybox", "docker.io/library/busybox" },
		{ "busybox:1", "docker.io/library/busybox" },
		{ "library/busybox", "docker.io/library/busybox" },
		{ "index.docker.io/team/tools:1", "docker.io/team/tools" },
		{ "docker.io/library/team/tools", "docker.io/library/team/tools" },
		{ "r.example:5000/tools", "r.example:5000/tools" },
		{ "r.example:5000/a/b:1@sha256:00", "r.example:5000/a/b" },
		{ "localhost/a", "localhost/a" },
	};
	char image[600];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++) {
		char *name HL_AUTO_FREE = reference_name(names[i].image);
		assert_non_null(name);
		assert_string_equal(name, names[i].name);
	}
	snprintf(image, sizeof(image), "a.%0254d/tools", 1);
	assert_null(reference_name(image));
}

static void
test_full_names(void **state)
{
	static const struct {
		const char *image, *full;
	} names[] = {
		{ "busybox", "docker.io/library/busybox:latest" },
		{ "team/app:1", "docker.io/team/app:1" },
		{ "r.example:5000/tools", "r.example:5000/tools:latest" },
		{ "r.example:5000/a/b:1@sha256:00", "r.example:5000/a/b:1@sha256:00" },
		{ "busybox@sha256:00", "docker.io/library/busybox@sha256:00" },
		/* No client takes it for a folder of the hub. */
		{ "EVIL/team/app:1", "EVIL/team/app:1" },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++) {
		char *full HL_AUTO_FREE = reference_full(names[i].image);
		assert_non_null(full);
		assert_string_equal(full, names[i].full);
	}
}

static void
test_repositories(void **state)
{
	(void)state;
	assert_true(reference_is_same_repository("busybox", "docker.io/library/busybox:1"));
	assert_true(reference_is_same_repository("busybox:1", "busybox@sha256:00"));
	assert_true(
	    reference_is_same_repository("r.example:5000/a/b:1", "r.example:5000/a/b@sha256:1"));
	assert_false(reference_is_same_repository("busybox", "team/busybox"));
	assert_false(reference_is_same_repository("r.example/busybox", "busybox"));
	assert_false(
	    reference_is_same_repository("r.example/library/busybox", "r.example/busybox"));
	assert_false(reference_is_same_repository("tools", "tools2"));
	assert_false(reference_is_same_repository("tools", "<none>@sha256:00"));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_hostile_numbers),
		cmocka_unit_test(test_registries),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_full_names),
		cmocka_unit_test(test_repositories),
	};
	int status = cmocka_run_group_tests(tests, NULL, NULL);

	pull_stream_done(&stream);
	return status;
}
