/*
 * policy test: the tests of *.test.yaml files and the examples in policies, one by one. The layer
 * of this host and the caller's environment are left out, so that a test says the same everywhere;
 * the working directory is that of the file (for a file in .hermes/, the one above).
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/tester.h"

#include "base/banned.h"

static const char suffix[] = ".test.yaml";

static bool
is_test_file(const char *name)
{
	size_t len = strlen(name), n = sizeof(suffix) - 1;

	return len > n && strcmp(name + len - n, suffix) == 0;
}

/* What is printed is buffered, so a stack's findings come before the line that tells of it. */
static void
keep_status(struct tester *tester, int status)
{
	if (tester->status == 0)
		tester->status = status;
}

static volatile sig_atomic_t stop_signal; /* then nothing more is asked, and nothing told */

/* ------------------------------------------------------------------------------------------------
 * One test
 */

static void
run_expectations(struct tester *tester, struct trial *trial,
    const struct policy_expectations *expectations, struct verdict *verdict)
{
	for (size_t i = 0; i < expectations->len && stop_signal == 0; i++) {
		const struct policy_expectation *expectation = &expectations->v[i];
		struct hl_err err = { 0 };
		char message[600] = "";
		bool is_met = false;
		trial->expectation = expectation;
		if (trial_run(trial, &is_met, message, &err) != 0)
			snprintf(message, sizeof(message), "it cannot be told: %.400s [%s]",
			    err.msg, hl_code_info(err.code)->id);
		if (is_met)
			continue;
		tester_why(tester, expectation, message, verdict);
	}
}

/* A stack that does not load fails every test of it once, and says why. */
static struct policy *
load_stack(struct tester *tester, const struct request_items *files, const struct host *host,
    int *ret_status)
{
	struct policy *policy = NULL;
	struct policy_findings findings;
	struct hl_err err = { 0 };
	int status = load_policy_alone(files, host, &policy, &findings, &err);

	if (status == 0 && (status = policy_keep(policy, &err)) != 0) {
		policy_free(policy);
		policy = NULL;
	}
	if (status != 0)
		report_findings(&findings, tester->request);
	if (status != 0 && findings.errors == 0)
		report_error(&err);
	*ret_status = status != 0 ? hl_code_info(err.code)->exit_status : 0;
	policy_findings_done(&findings);
	return policy;
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

/* Where a file's paths begin: its own directory. */
static int
place_of(const struct tester *tester, const char *file, struct host *ret_host, char **ret_own,
    struct hl_err *err)
{
	HL_AUTO_FREE char *full = hl_path_normalise(tester->host.cwd, file);

	if (full == NULL)
		return hl_err_oom(err);
	char *slash = strrchr(full, '/');
	slash[slash == full] = '\0';
	*ret_host = tester->host;
	*ret_own = HL_TAKE_PTR(full);
	ret_host->cwd = *ret_own;
	return 0;
}

/* Paths of the stack, absolute, so that the working directory may be another. */
static int
stack_of(const struct policy_tests *tests, const char *dir, struct hl_strv *names,
    struct request_items *ret_files, struct hl_err *err)
{
	size_t len;
	const char *const *files = policy_tests_files(tests, &len);

	hl_strv_init(names, REQUEST_ITEMS_MAX);
	for (size_t i = 0; i < len; i++) {
		/* An id is looked up where ids are; a file is beside the tests. */
		bool is_file = strchr(files[i], '.') != NULL || files[i][0] == '/';
		HL_AUTO_FREE char *path =
		    is_file ? hl_path_normalise(dir, files[i]) : strdup(files[i]);
		if (path == NULL)
			return hl_err_oom(err);
		hl_strv_add(names, path);
	}
	if (hl_strv_check(names, "policies", err) != 0)
		return -1;
	ret_files->len = names->len;
	for (size_t i = 0; i < names->len; i++)
		ret_files->items[i] = (struct request_item){ .text = names->v[i] };
	return 0;
}

static void
run_tests(struct tester *tester, const char *file, const struct policy_tests *tests)
{
	static struct request_items stack;
	struct hl_strv names HL_AUTO(hl_strv_done) = { 0 };
	HL_AUTO_FREE char *own = NULL;
	struct host host;
	struct hl_err err = { 0 };

	if (place_of(tester, file, &host, &own, &err) != 0 ||
	    stack_of(tests, own, &names, &stack, &err) != 0) {
		keep_status(tester, verb_fail(&err));
		return;
	}
	struct conflicts_kept kept = { 0 };
	int ignored;
	struct trial trial = {
		.host = &host,
		.workdir = tester->workdir,
		.policy = load_stack(tester, &stack, &host, &ignored),
		.kept = &kept,
		.coverage = &tester->coverage,
	};
	for (size_t i = 0; i < policy_tests_len(tests); i++) {
		const struct policy_test *test = policy_tests_at(tests, i);
		struct verdict verdict HL_AUTO(verdict_done) = { 0 };
		verdict_init(&verdict);
		if (trial.policy != NULL)
			run_expectations(tester, &trial, &test->expectations, &verdict);
		else
			tester_why(tester, NULL, "its policies cannot be loaded", &verdict);
		tester_case(tester, file, test->name, &verdict);
	}
	conflicts_kept_done(&kept);
	policy_free(trial.policy);
}

static void
test_file(struct tester *tester, const char *file)
{
	const struct policy_load_request what = {
		.files = &file,
		.files_len = 1,
		.cwd = tester->host.cwd,
		.caller = tester->host.uid,
	};
	struct policy_tests *tests = NULL;
	struct policy_findings findings;
	struct hl_err err = { 0 };

	if (policy_tests_load(&what, &tests, &findings, &err) == 0)
		run_tests(tester, file, tests);
	else if (findings.errors > 0)
		keep_status(tester, hl_code_info(err.code)->exit_status);
	else
		keep_status(tester, verb_fail(&err));
	report_findings(&findings, tester->request);
	policy_findings_done(&findings);
	policy_tests_free(tests);
}

/* ------------------------------------------------------------------------------------------------
 * Examples
 */

enum {
	/* Twice what the dearest two hundred take that anybody would write (ARCHITECTURE.md). */
	EXAMPLES_US = 50000,
};

/* What is not judged is no pass: the example at which it stopped fails, and says why. */
static bool
is_in_time(struct tester *tester, const struct trial *trial,
    const struct policy_expectation *example, const char *file)
{
	struct verdict verdict HL_AUTO(verdict_done) = { 0 };
	struct hl_buf name HL_AUTO(hl_buf_done) = { 0 };
	char message[200];

	if (*trial->spent_us < EXAMPLES_US)
		return true;
	verdict_init(&verdict);
	hl_buf_init(&name, TESTER_OUT_MAX);
	trial_name(example, &name);
	snprintf(message, sizeof(message),
	    "the examples before it took %llu ms of processor time, of %d; it and those behind it were not tried [%s]",
	    (unsigned long long)(*trial->spent_us / 1000), EXAMPLES_US / 1000,
	    hl_code_info(HLP_30)->id);
	tester_why(tester, example, message, &verdict);
	tester->out.failed |= name.failed;
	tester_case(tester, file, name.data, &verdict);
	return false;
}

/* Those of one layer: files are known by the name that they were given by. */
static void
run_examples(struct tester *tester, struct trial *trial, const char *file)
{
	for (size_t i = 0; i < policy_layers_len(trial->policy); i++) {
		const struct policy_expectations *examples = policy_examples(trial->policy, i);
		for (size_t j = 0; j < examples->len; j++) {
			const struct policy_expectations one = { &examples->v[j], 1 };
			struct verdict verdict HL_AUTO(verdict_done) = { 0 };
			struct hl_buf name HL_AUTO(hl_buf_done) = { 0 };
			if (strcmp(examples->v[j].where.file, file) != 0)
				continue;
			if (!is_in_time(tester, trial, &examples->v[j], file))
				return;
			verdict_init(&verdict);
			hl_buf_init(&name, TESTER_OUT_MAX);
			trial_name(&examples->v[j], &name);
			run_expectations(tester, trial, &one, &verdict);
			tester->out.failed |= name.failed;
			tester_case(tester, file, name.data, &verdict);
		}
	}
}

/* Of the last of the files; the others are below it. */
static void
test_examples(struct tester *tester, const struct request_items *files)
{
	const char *file = files->items[files->len - 1].text;
	struct conflicts_kept kept = { 0 };
	uint64_t spent_us = 0;
	int status;
	struct trial trial = {
		.host = &tester->host,
		.workdir = tester->workdir,
		.policy = load_stack(tester, files, &tester->host, &status),
		.kept = &kept,
		.coverage = &tester->coverage,
		.spent_us = &spent_us,
	};
	size_t before = tester->count;

	if (trial.policy == NULL) {
		keep_status(tester, status);
		return;
	}
	run_examples(tester, &trial, file);
	if (tester->count == before)
		report_note("%s: there are no examples in it", file);
	conflicts_kept_done(&kept);
	policy_free(trial.policy);
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

/* The tests in a directory; one that is not there has none. A list that breaks off is not its end:
 * tests would be left out, and what is left be fine. */
static int
find_tests(const char *dir, struct hl_strv *files, struct hl_err *err)
{
	const struct dirent *entry;
	struct hl_strv found HL_AUTO(hl_strv_done) = { 0 };
	DIR *stream HL_AUTO_DIR = opendir(dir);
	int more;

	if (stream == NULL && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (stream == NULL)
		return hl_err_sys(err, HLU_02, "cannot list '%.300s'", dir);
	hl_strv_init(&found, REQUEST_ITEMS_MAX);
	while ((more = hl_dir_next(stream, &entry)) > 0) {
		if (is_test_file(entry->d_name))
			hl_strv_addf(&found, "%s%s%s", strcmp(dir, ".") == 0 ? "" : dir,
			    strcmp(dir, ".") == 0 ? "" : "/", entry->d_name);
	}
	if (more < 0)
		return hl_err_sys(err, HLU_02, "cannot list '%.300s'", dir);
	hl_strv_sort(&found);
	for (size_t i = 0; i < found.len; i++)
		hl_strv_add(files, found.v[i]);
	files->failed = files->failed || found.failed;
	return 0;
}

static int
list_files(const struct request *request, struct hl_strv *files, struct hl_err *err)
{
	struct stat st;

	hl_strv_init(files, REQUEST_ITEMS_MAX);
	for (size_t i = 0; i < request->argv_len; i++) {
		if (stat(request->argv[i], &st) != 0 || !S_ISDIR(st.st_mode))
			hl_strv_add(files, request->argv[i]);
		else if (find_tests(request->argv[i], files, err) != 0)
			return -1;
	}
	if (request->argv_len == 0 &&
	    (find_tests(".", files, err) != 0 || find_tests(".hermes", files, err) != 0))
		return -1;
	if (hl_strv_check(files, "files", err) != 0)
		return -1;
	if (files->len > 0)
		return 0;
	hl_err_set(err, HLU_02, "there is no file of tests");
	return hl_err_help(err, "name one, or a policy with examples; tests are called NAME%s",
	    suffix);
}

static void
note_signal(int signal)
{
	stop_signal = signal;
}

/* What ends the program before its time also removes the places; SIGKILL leaves them. */
static void
catch_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct sigaction action = { .sa_handler = note_signal }, before;

	for (size_t i = 0; i < HL_ARRAY_SIZE(signals); i++)
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &action, NULL);
}

static void
pass_signal(void)
{
	if (stop_signal == 0)
		return;
	(void)signal(stop_signal, SIG_DFL);
	(void)raise(stop_signal);
}

/* Policies alone, or each upon those before it. */
static void
run_all(struct tester *tester, const struct hl_strv *files)
{
	static struct request_items stack;

	for (size_t i = 0; i < files->len && stop_signal == 0; i++) {
		if (is_test_file(files->v[i])) {
			test_file(tester, files->v[i]);
			continue;
		}
		if (!tester->request->is_stack)
			stack.len = 0;
		stack.items[stack.len++] = (struct request_item){ .text = files->v[i] };
		test_examples(tester, &stack);
	}
}

/* A plan makes what it needs in the working directory and in the state directory. */
static int
make_places(struct tester *tester, struct hl_err *err)
{
	if (mkdtemp(tester->root) == NULL) {
		tester->root[0] = '\0'; /* a name that it tried may be somebody's */
		return hl_err_sys(err, HLU_02, "cannot make a directory in '/tmp'");
	}
	snprintf(tester->workdir, sizeof(tester->workdir), "%s/work", tester->root);
	snprintf(tester->state, sizeof(tester->state), "%s/state", tester->root);
	if (mkdir(tester->workdir, 0700) != 0 || mkdir(tester->state, 0700) != 0)
		return hl_err_sys(err, HLU_02, "cannot make a directory in '%s'", tester->root);
	tester->host.state_dir = tester->state;
	return 0;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
	(void)st;
	(void)type;
	(void)place;
	remove(path);
	return 0;
}

int
verb_policy_test(const struct request *request)
{
	static struct tester tester = { .root = "/tmp/hermes-launch-policy-test.XXXXXX" };
	static char *nothing[] = { NULL };
	struct hl_strv files HL_AUTO(hl_strv_done) = { 0 };
	struct hl_err err = { 0 };

	tester.request = request;
	if (host_facts(request, &tester.host, &err) != 0 || list_files(request, &files, &err) != 0)
		return verb_fail(&err);
	/* A variable of the caller's must not decide whether a test holds. */
	environ = nothing;
	tester.host.environ_ = nothing;
	hl_buf_init(&tester.out, TESTER_OUT_MAX);
	catch_signals();
	if (make_places(&tester, &err) == 0)
		run_all(&tester, &files);
	else
		keep_status(&tester, verb_fail(&err));
	if (tester.root[0] != '\0')
		nftw(tester.root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	pass_signal();
	if (tester_finish(&tester, &err) != 0)
		keep_status(&tester, verb_fail(&err));
	hl_buf_done(&tester.out);
	if (tester.status != 0)
		return tester.status;
	if (tester.failed > 0)
		return 1;
	return tester.count == 0 ? 2 : 0;
}
