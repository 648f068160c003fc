/*
 * ps, stop, gc: what lives, the end of it, and what the dead have left.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/keeper.h"

#include "base/banned.h"

enum {
	SESSIONS_MAX = 4096
};

/* Sorted. None is an empty list. */
static int
list_names(const char *state_dir, struct hl_strv *ret_names, struct hl_err *err)
{
	struct hl_err ignored;
	int root = keeper_root_open(state_dir);

	hl_strv_init(ret_names, SESSIONS_MAX);
	if (root < 0)
		return errno == ENOENT ? 0
				       : hl_err_sys(err, HLU_02,
					     "cannot read the sessions in '%.200s'", state_dir);
	DIR *dir HL_AUTO_DIR = fdopendir(root);
	if (dir == NULL) {
		close(root);
		return hl_err_oom(err);
	}
	const struct dirent *entry;
	int more;
	while ((more = hl_dir_next(dir, &entry)) > 0)
		if (keeper_check_name(entry->d_name, &ignored) == 0)
			hl_strv_add(ret_names, entry->d_name);
	if (more < 0)
		return hl_err_sys(err, HLU_02, "cannot read the sessions in '%.200s'", state_dir);
	hl_strv_sort(ret_names);
	return hl_strv_check(ret_names, "sessions", err);
}

static bool
is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* A socket, a program that is started as the engine, or a client. */
static bool
is_engine(const char *path)
{
	return engine_is_program(path) || engine_is_client(path) ? engine_has_program(path)
								 : is_socket(path);
}

/* ------------------------------------------------------------------------------------------------
 * ps
 */
struct session_line {
	const char *name, *run, *backend, *started, *directory;
	long long pid;
	bool lives;
};

static const char *
text_of(const json_t *info, const char *name)
{
	const char *text = json_string_value(json_object_get(info, name));

	return text != NULL ? text : "-";
}

static void
put_text(const struct session_line *line, struct hl_buf *out)
{
	hl_buf_putf(out, "%-20s %-6s %-8lld ", line->name, line->lives ? "lives" : "dead",
	    line->pid);
	hl_buf_printable(out, line->backend, strlen(line->backend));
	hl_buf_putc(out, ' ');
	hl_buf_printable(out, line->started, strlen(line->started));
	hl_buf_putc(out, ' ');
	hl_buf_printable(out, line->directory, strlen(line->directory));
	hl_buf_putc(out, '\n');
}

static void
put_json(const struct session_line *line, struct hl_buf *out)
{
	struct hl_json json;

	hl_json_init(&json, out);
	hl_json_object(&json);
	hl_json_key(&json, "name");
	hl_json_string(&json, line->name);
	hl_json_key(&json, "lives");
	hl_json_bool(&json, line->lives);
	hl_json_key(&json, "pid");
	hl_json_i64(&json, line->pid);
	hl_json_key(&json, "run");
	hl_json_string(&json, line->run);
	hl_json_key(&json, "backend");
	hl_json_string(&json, line->backend);
	hl_json_key(&json, "started");
	hl_json_string(&json, line->started);
	hl_json_key(&json, "directory");
	hl_json_string(&json, line->directory);
	hl_json_end_object(&json);
	hl_buf_putc(out, '\n');
}

static int
show(const struct request *request, const char *name, struct hl_err *err)
{
	struct keeper_place place;

	if (keeper_place_look(request->state_dir, name, &place, err) != 0)
		return err->code == HLU_24 || err->code == HLU_25 ? 0 : -1; /* it went just now */
	json_t *info = keeper_info_read(&place);
	const struct session_line line = {
		.name = name,
		.lives = !place.is_ours,
		.pid = json_integer_value(json_object_get(info, "pid")),
		.run = text_of(info, "run"),
		.backend = text_of(info, "backend"),
		.started = text_of(info, "started"),
		.directory = text_of(info, "directory"),
	};
	struct hl_buf out;
	hl_buf_init(&out, 65536);
	(request->format == FORMAT_JSON ? put_json : put_text)(&line, &out);
	json_decref(info);
	keeper_place_close(&place);
	return verb_answer(&out, err);
}

int
verb_ps(const struct request *request)
{
	HL_AUTO(hl_strv_done) struct hl_strv names = { 0 };
	struct hl_err err = { 0 };

	if (list_names(request->state_dir, &names, &err) != 0)
		return verb_fail(&err);
	for (size_t i = 0; i < names.len; i++)
		if (show(request, names.v[i], &err) != 0)
			return verb_fail(&err);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * stop
 */

static int
not_asked(const struct host *host, const char *endpoint, const char *name, struct hl_err *err)
{
	hl_err_set(err, HLB_40,
	    "engine %s, which was used from here, %s: it may keep a container of session '%s'",
	    endpoint, host->helper_path == NULL ? "needs hl-engine to be asked" : "is not there",
	    name);
	return hl_err_help(err,
	    "%s it and ask again; where it is gone for good, remove its file from '%s/engines'",
	    engine_is_program(endpoint) ? "install" : "start", host->state_dir);
}

/* What is kept of a session, on every engine that was used from here; one that is a program is
 * started to be asked. We hold the session. One that is not there may keep it still, which is no
 * answer. */
static int
forget(const struct host *host, const char *name, size_t *ret_removed, struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv known = { 0 };
	int status = 0;

	*ret_removed = 0;
	if (engine_endpoints(host->state_dir, &known, err) != 0)
		return -1;
	for (size_t i = 0; i < known.len; i++) {
		const struct engine_place engine = {
			.helper_path = host->helper_path,
			.endpoint = known.v[i],
			.state_dir = host->state_dir,
		};
		size_t n = 0;
		if (engine_is_client(known.v[i]))
			continue; /* nothing is kept through a client */
		if (host->helper_path == NULL || !is_engine(known.v[i]))
			status = not_asked(host, known.v[i], name, err);
		else if (engine_forget(&engine, name, &n, err) != 0)
			status = -1;
		*ret_removed += n;
	}
	return status;
}

/* Nobody keeps the session, and we hold it: what is there can only be what was kept. */
static int
stop_kept(const struct host *host, const char *name, struct hl_err *err)
{
	size_t removed = 0;

	if (forget(host, name, &removed, err) != 0)
		return -1;
	return removed > 0 ? 0 : hl_err_set(err, HLU_24, "session '%s' had ended already", name);
}

/* Of one that has ended there is no place any more; it is made to be held. *ret_held: nobody has
 * it. */
static int
hold_and_forget(const struct host *host, const char *name, bool *ret_held, size_t *ret_removed,
    struct hl_err *err)
{
	struct keeper_place place;
	int status = 0;

	*ret_removed = 0;
	if (keeper_place_open(host->state_dir, name, true, &place, err) != 0)
		return -1;
	*ret_held = place.is_ours;
	if (place.is_ours) {
		status = forget(host, name, ret_removed, err);
		keeper_place_remove(host->state_dir, name, &place);
	}
	keeper_place_close(&place);
	return status;
}

static int
stop_ended(const struct host *host, const char *name, struct hl_err *err)
{
	size_t removed = 0;
	bool is_held = false;

	if (hold_and_forget(host, name, &is_held, &removed, err) != 0)
		return -1;
	if (!is_held)
		return hl_err_set(err, HLU_24, "session '%s' begins just now", name);
	return removed > 0 ? 0 : hl_err_set(err, HLU_24, "there is no session '%s'", name);
}

/* What was kept of that name under other policies, and in other directories, goes too; not when
 * somebody has begun it anew. */
static int
stop_living(const struct host *host, const char *name, struct keeper_place *place,
    struct hl_err *err)
{
	size_t removed = 0;
	bool is_held = false;

	int status = keeper_stop(place, err);
	/* Whoever was killed for it has tidied nothing up. */
	if (status == 0)
		keeper_place_remove(host->state_dir, name, place);
	keeper_place_close(place);
	return status == 0 ? hold_and_forget(host, name, &is_held, &removed, err) : -1;
}

static int
stop(const struct host *host, const char *name, struct hl_err *err)
{
	struct keeper_place place;

	if (keeper_place_open(host->state_dir, name, false, &place, err) != 0)
		return err->code == HLU_24 ? stop_ended(host, name, err) : -1;
	if (!place.is_ours)
		return stop_living(host, name, &place, err);
	int status = stop_kept(host, name, err);
	keeper_place_remove(host->state_dir, name, &place);
	keeper_place_close(&place);
	return status;
}

int
verb_stop(const struct request *request)
{
	struct hl_err err = { 0 };
	struct host host;
	int status = 0;

	if (request->argv_len == 0) {
		hl_err_set(&err, HLU_01, "no session is named");
		hl_err_help(&err, "'hermes-launch ps' lists them");
		return verb_fail(&err);
	}
	if (host_facts(request, &host, &err) != 0)
		return verb_fail(&err);
	for (size_t i = 0; i < request->argv_len; i++)
		if (stop(&host, request->argv[i], &err) != 0)
			status = verb_fail(&err);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * gc
 */
static int
sweep_sessions(const char *state_dir, size_t *removed, struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv names = { 0 };

	if (list_names(state_dir, &names, err) != 0)
		return -1;
	for (size_t i = 0; i < names.len; i++) {
		struct keeper_place place;
		if (keeper_place_open(state_dir, names.v[i], false, &place, err) != 0) {
			if (err->code != HLU_24)
				return -1;
			continue;
		}
		if (place.is_ours) {
			keeper_place_remove(state_dir, names.v[i], &place);
			++*removed;
		}
		keeper_place_close(&place);
	}
	return 0;
}

/* The session of a container that is kept, while gc looks at it. */
struct held_session {
	const char *state_dir, *name;
	struct keeper_place place;
};

static bool
hold_session(void *context, const char *session)
{
	struct held_session *held = context;
	struct hl_err ignored;

	if (keeper_place_open(held->state_dir, session, true, &held->place, &ignored) != 0)
		return false;
	held->name = session;
	if (held->place.is_ours)
		return true;
	keeper_place_close(&held->place);
	return false;
}

static void
release_session(void *context)
{
	struct held_session *held = context;

	keeper_place_remove(held->state_dir, held->name, &held->place);
	keeper_place_close(&held->place);
}

/* One that we may not speak to has nothing of ours, unless we did before. */
static int
sweep_engine(const struct host *host, const char *endpoint, bool is_known, size_t *removed,
    struct hl_err *err)
{
	struct held_session held = { .state_dir = host->state_dir };
	const struct engine_place place = {
		.helper_path = host->helper_path,
		.endpoint = endpoint,
		.state_dir = host->state_dir,
		.hold = hold_session,
		.release = release_session,
		.context = &held,
	};
	size_t n = 0;

	if (!is_engine(endpoint))
		return 0;
	int status = engine_sweep(&place, &n, err);
	*removed += n;
	return status != 0 && err->code == HLB_41 && !is_known ? 0 : status;
}

/* Those that were used from this state directory, and the one that would be used by default. */
static int
sweep_engines(const struct host *host, size_t *removed)
{
	HL_AUTO(hl_strv_done) struct hl_strv known = { 0 };
	const char *variable = host_docker_host(host);
	const char *named = variable != NULL ? engine_socket(variable) : NULL;
	const char *usual = named != NULL ? named : "/var/run/docker.sock";
	struct hl_err err = { 0 };
	int status = 0;

	if (host->helper_path == NULL)
		return 0;
	if (engine_endpoints(host->state_dir, &known, &err) != 0)
		return verb_fail(&err);
	for (size_t i = 0; i < known.len; i++)
		if (sweep_engine(host, known.v[i], true, removed, &err) != 0)
			status = verb_fail(&err);
	if (!hl_strv_contains(&known, usual) &&
	    sweep_engine(host, usual, named != NULL, removed, &err) != 0)
		status = verb_fail(&err);
	return status;
}

int
verb_gc(const struct request *request)
{
	size_t sessions = 0, groups, containers = 0;
	struct hl_err err = { 0 };
	struct host host;
	int status = 0;

	if (host_facts(request, &host, &err) != 0)
		return verb_fail(&err);
	if (sweep_sessions(request->state_dir, &sessions, &err) != 0)
		status = verb_fail(&err);
	groups = confine_cgroup_sweep();
	int engines = sweep_engines(&host, &containers);
	status = engines != 0 ? engines : status;
	if (request->format == FORMAT_JSON)
		printf("{\"sessions\":%zu,\"control_groups\":%zu,\"containers\":%zu}\n", sessions,
		    groups, containers);
	else
		printf("removed: %zu sessions, %zu control groups, %zu containers\n", sessions,
		    groups, containers);
	return status;
}
