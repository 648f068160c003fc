/*
 * import hermes: the settings of hermes-agent, from its config.yaml and from variables, as a policy
 * on standard output. What has no counterpart is told, on standard error or as comments. Its extra
 * arguments for docker are not written into a policy: they are judged by it, as --engine-arg is,
 * and the verdict is told.
 */
#include "launcher/import.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/launcher.h"

#include "base/banned.h"

enum {
	CONFIG_MAX = 1 << 20,
	VARIABLES_MAX = 1024,
};

/* ------------------------------------------------------------------------------------------------
 * Sources
 */

static int
read_named(const char *path, struct hl_buf *bytes, struct hl_err *err)
{
	HL_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return hl_err_sys(err, HLU_02, "cannot open '%s'", path);
	return hl_read_file(fd, bytes, path, HLU_40, err);
}

/* Where hermes-agent looks for it: $HERMES_HOME, or ~/.hermes. */
static char *
default_config(const struct host *host)
{
	const char *home = getenv("HERMES_HOME");

	if (home != NULL && home[0] == '/')
		return hl_path_normalise(home, "config.yaml");
	return hl_path_normalise(host->home, ".hermes/config.yaml");
}

static int
find_config(const struct request *request, const struct host *host, struct hl_buf *bytes,
    char **ret_name, struct hl_err *err)
{
	HL_AUTO_FREE char *path =
	    request->config != NULL ? strdup(request->config) : default_config(host);

	if (path == NULL)
		return hl_err_oom(err);
	/* Variables alone will do when nobody named a file. */
	if (request->config == NULL && request->env_file != NULL && access(path, F_OK) != 0 &&
	    errno == ENOENT)
		return 0;
	if (read_named(path, bytes, err) != 0) {
		if (request->config == NULL)
			hl_err_help(err, "name the file with --config, or variables with "
					 "--env-file");
		return -1;
	}
	*ret_name = HL_TAKE_PTR(path);
	return 0;
}

static int
find_variables(const struct request *request, const struct host *host, struct hl_strv *variables,
    struct hl_err *err)
{
	struct hl_buf bytes HL_AUTO(hl_buf_done_secret) = { 0 };

	if (request->env_file == NULL)
		return 0;
	if (strcmp(request->env_file, "environment") == 0) {
		for (char *const *v = host->environ_; *v != NULL; v++)
			import_variable_keep(variables, *v, strlen(*v));
		return hl_strv_check(variables, "variables", err);
	}
	hl_buf_init(&bytes, CONFIG_MAX);
	if (read_named(request->env_file, &bytes, err) != 0)
		return -1;
	return import_variables_read(request->env_file, bytes.data, bytes.len, variables, err);
}

/* ------------------------------------------------------------------------------------------------
 * Arguments for the engine
 */

/* A value may be a credential (--log-opt, --health-cmd): only where it cannot be is it told. */
static int
shown_of(const struct conflict *conflict)
{
	static const char *const plain[] = { "limits.", "network.mode", "process.caps",
		"process.namespaces", "process.no_new_privs" };
	const char *value = strchr(conflict->asked, '=');

	for (size_t i = 0; i < HL_ARRAY_SIZE(plain); i++) {
		if (strncmp(conflict->control, plain[i], strlen(plain[i])) == 0)
			return (int)strlen(conflict->asked);
	}
	/* Behind "--engine-arg=" stands the flag, and then its value. */
	value = value != NULL ? strchr(value + 1, '=') : NULL;
	return (int)(value != NULL ? (size_t)(value - conflict->asked) : strlen(conflict->asked));
}

/* The caller's own DOCKER_HOST is no setting of hermes-agent's: only arguments are told. */
static size_t
note_conflict(const struct conflict *conflict, struct hl_strv *notes)
{
	if (strncmp(conflict->door, "argument", 8) != 0)
		return 0;
	hl_strv_addf(notes, "terminal.docker_extra_args: %.*s is outside the policy [%s]: %s. %s",
	    shown_of(conflict), conflict->asked, hl_code_info(conflict->code)->id, conflict->effect,
	    conflict->code == HLC_01 || conflict->code == HLC_02 || conflict->code == HLC_05
		? "No policy permits it"
		: "Whoever wants it changes the policy's bound");
	return 1;
}

/* All of them together, as the engine's own grammar reads them. */
static int
judge_arguments(struct policy_import *import, struct hl_err *err)
{
	static struct conflicts conflicts; /* too large for a stack */
	static struct request asked;
	struct policy *policy = NULL;
	struct policy_findings findings;
	struct hl_err cause = { 0 };
	size_t len = import->engine_args.len, outside = 0;

	if (len == 0)
		return 0;
	if (len > REQUEST_ITEMS_MAX)
		return hl_err_set(err, HLU_41,
		    "terminal.docker_extra_args has more than %d members", REQUEST_ITEMS_MAX);
	int result =
	    policy_load_text("the imported policy", &import->text, &policy, &findings, err);
	policy_findings_done(&findings);
	if (result != 0)
		return -1;
	for (size_t i = 0; i < len; i++)
		asked.engine_args.items[i] =
		    (struct request_item){ import->engine_args.v[i], (int)i + 1 };
	asked.engine_args.len = len;
	if (conflicts_judge(policy, &asked, &conflicts, &cause) != 0) {
		hl_strv_addf(&import->notes, "terminal.docker_extra_args: not taken over: %s",
		    cause.msg);
		policy_free(policy);
		return 0;
	}
	for (size_t i = 0; i < conflicts.len; i++)
		outside += note_conflict(&conflicts.items[i], &import->notes);
	hl_strv_addf(&import->notes,
	    "terminal.docker_extra_args: not written: arguments inside the policy are given to run "
	    "by --engine-arg (%zu of them outside)",
	    outside);
	conflicts_done(&conflicts);
	policy_free(policy);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The answer
 */

/* A comment ends with its line, so a line end in it would begin a key: escaped like every control.
 */
static void
put_comments(const struct hl_strv *notes, struct hl_buf *out)
{
	for (size_t i = 0; i < notes->len; i++) {
		hl_buf_puts(out, "# ");
		hl_buf_printable(out, notes->v[i], strlen(notes->v[i]));
		hl_buf_putc(out, '\n');
	}
}

static int
tell(const struct request *request, const struct policy_import *import, struct hl_err *err)
{
	struct hl_err ignored = { 0 };
	struct hl_buf out;

	hl_buf_init(&out, 16U << 20);
	hl_buf_put(&out, import->text.data, import->text.len);
	if (request->has_comments)
		put_comments(&import->notes, &out);
	if (verb_answer(&out, err) != 0)
		return -1;
	for (size_t i = 0; !request->has_comments && i < import->notes.len; i++)
		report_note("%s", import->notes.v[i]);
	if (backend_find(import->backend, &ignored) == NULL)
		report_warning("nothing runs under this policy yet: the backend %s is not in this "
			       "version",
		    import->backend);
	return 0;
}

int
verb_import_hermes(const struct request *request)
{
	struct hl_buf config HL_AUTO(hl_buf_done_secret) = { 0 };
	struct hl_strv variables HL_AUTO(hl_strv_done_secret) = { 0 };
	HL_AUTO_FREE char *config_name = NULL;
	struct policy_import import;
	struct host host;
	struct hl_err err = { 0 };

	hl_buf_init(&config, CONFIG_MAX);
	hl_strv_init(&variables, VARIABLES_MAX);
	if (host_facts(request, &host, &err) != 0 ||
	    find_config(request, &host, &config, &config_name, &err) != 0 ||
	    find_variables(request, &host, &variables, &err) != 0)
		return verb_fail(&err);
	const struct policy_import_source source = {
		.config_name = config_name,
		.config = config_name != NULL ? config.data : NULL,
		.config_len = config.len,
		.environment = request->env_file != NULL ? hl_strv_argv(&variables) : NULL,
	};
	if (policy_import_hermes(&source, &import, &err) != 0)
		return verb_fail(&err);
	int status = judge_arguments(&import, &err);
	if (status == 0)
		status = hl_strv_check(&import.notes, "notes", &err);
	if (status == 0)
		status = tell(request, &import, &err);
	policy_import_done(&import);
	return status == 0 ? 0 : verb_fail(&err);
}
