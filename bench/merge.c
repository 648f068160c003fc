/*
 * What merging costs, without reading: five layers of which each sets as many keys as a policy can,
 * folded and settled, and a hundred requests judged by the result. Reading is in the rows of
 * `policy check`. Prints one line: name, min, median, p95 in microseconds, processor time the same.
 *
 *	merge ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policy/state.h"

#include "base/banned.h"

enum {
	LAYERS = 5,
	REQUESTS = 100,
	TEXT_MAX = 1 << 16
};

static void
die(const char *what)
{
	fprintf(stderr, "merge: %s\n", what);
	exit(1);
}

static double
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Each level's whole policy, printed: every key that has a value is there. */
static void
write_layer(int number, char text[TEXT_MAX])
{
	static const char *const levels[LAYERS] = { "open@1", "open@1", "baseline@1", "baseline@1",
		"restricted@1" };
	struct policy *policy;
	struct hl_err err = { 0 };
	struct hl_buf out;

	hl_buf_init(&out, TEXT_MAX);
	if (policy_load_level(levels[number], &policy, &err) != 0 ||
	    policy_show(policy, 0, &out, &err) != 0)
		die(err.msg);
	snprintf(text, TEXT_MAX, "%s", out.data);
	hl_buf_done(&out);
	policy_free(policy);
}

static struct policy *
merge(const struct policy *read)
{
	struct policy *policy = calloc(1, sizeof(*policy));
	struct policy_findings ignored = { 0 };
	struct hl_err err = { 0 };
	struct diag diag;

	if (policy == NULL)
		die("no memory");
	policy_diag_init(&diag, &ignored, "merge");
	for (size_t i = 0; i < read->layers_len; i++)
		if (policy_fold_layer(policy, read->layers[i], &diag, &err) != 0)
			die(err.msg);
	if (policy_settle(policy, &err) != 0)
		die(err.msg);
	policy_findings_done(&ignored);
	return policy;
}

static void
judge(const struct policy *policy)
{
	static const struct {
		enum policy_field field;
		const char *text;
	} requests[] = {
		{ POLICY_PROCESS_CAPS, "SYS_ADMIN" },
		{ POLICY_NETWORK_MODE, "host" },
		{ POLICY_LIMITS_MEMORY, "8GiB" },
		{ POLICY_ENV_PASS, "SOME_NAME" },
		{ POLICY_IMAGE, "registry.example/a:1" },
	};
	struct policy_judgement judgement;
	struct hl_err err = { 0 };

	for (size_t i = 0; i < REQUESTS; i++) {
		size_t which = i % HL_ARRAY_SIZE(requests);
		if (policy_judge(policy, requests[which].field, requests[which].text, &judgement,
			&err) != 0)
			die(err.msg);
	}
}

int
main(int argc, char **argv)
{
	static char layers[LAYERS][TEXT_MAX];
	static const char *const names[LAYERS] = { "a", "b", "c", "d", "e" };
	struct policy_text texts[LAYERS];
	struct policy_findings findings;
	struct hl_err err = { 0 };
	struct policy *read;
	uint64_t rounds = 0;

	if (argc != 2 || hl_parse_u64(argv[1], 1, 1000000, &rounds, &err) != 0)
		die("usage: merge ROUNDS");
	double *us = calloc(rounds, sizeof(*us));
	for (int i = 0; i < LAYERS; i++) {
		write_layer(i, layers[i]);
		texts[i] = (struct policy_text){ names[i], layers[i], strlen(layers[i]) };
	}
	if (us == NULL || policy_load_texts(texts, LAYERS, &read, &findings, &err) != 0)
		die(err.msg);
	for (uint64_t i = 0; i < rounds; i++) {
		double begin = now_us();
		struct policy *policy = merge(read);
		judge(policy);
		us[i] = now_us() - begin;
		policy_free(policy);
	}
	qsort(us, rounds, sizeof(*us), compare);
	printf("merge-of-%zu-layers %.0f %.0f %.0f %.0f 0\n", read->layers_len, us[0],
	    us[rounds / 2], us[rounds * 95 / 100], us[rounds / 2]);
	policy_findings_done(&findings);
	policy_free(read);
	free(us);
	return 0;
}
