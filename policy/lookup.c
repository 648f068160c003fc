/*
 * Which files make the stack: the host directory first, then those that were named, each a path or
 * an id; with none named, every .hermes/policy.yaml upward from the working directory, the
 * outermost first. All of them, because a command may write where it works: a policy that it leaves
 * in a subdirectory can then only tighten the one above. There is no run without a policy.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "policy/file.h"

#include "base/banned.h"

static const char system_dir[] = "/etc/hermes-launch/policies";
static const char user_dir[] = ".config/hermes-launch/policies";
static const char local_name[] = ".hermes/policy.yaml";

void
policy_file_list_done(struct policy_file_list *list)
{
	hl_strv_done(&list->paths);
	hl_strv_done(&list->names);
}

static bool
has_suffix(const char *text, const char *suffix)
{
	size_t len = strlen(text), n = strlen(suffix);

	return len > n && strcmp(text + len - n, suffix) == 0;
}

/* The name is what the caller wrote; the path is absolute, so that its parents can be checked. */
static int
add(struct policy_file_list *list, const char *cwd, const char *path, const char *name,
    struct hl_err *err)
{
	HL_AUTO_FREE char *full = hl_path_normalise(cwd, path);

	if (full == NULL)
		return hl_err_oom(err);
	hl_strv_add(&list->paths, full);
	hl_strv_add(&list->names, name);
	if (hl_strv_check(&list->paths, "policy files", err) != 0)
		return -1;
	return hl_strv_check(&list->names, "policy files", err);
}

/* *.yaml of the host directory, by name. A directory that is there and cannot be read is an error:
 * the host's own rules must not get lost. */
static int
add_host(struct policy_file_list *list, const char *dir, struct hl_err *err)
{
	const struct dirent *entry;
	struct hl_strv found;
	int result = 0, more;
	DIR *stream HL_AUTO_DIR = opendir(dir);

	if (stream == NULL && errno == ENOENT)
		return 0;
	if (stream == NULL)
		return hl_err_sys(err, HLU_02, "cannot read the host policies in '%s'", dir);
	hl_strv_init(&found, POLICY_LAYERS_MAX);
	while ((more = hl_dir_next(stream, &entry)) > 0) {
		if (entry->d_name[0] != '.' && has_suffix(entry->d_name, ".yaml"))
			hl_strv_addf(&found, "%s/%s", dir, entry->d_name);
	}
	if (more < 0)
		result = hl_err_sys(err, HLU_02, "cannot read the host policies in '%s'", dir);
	hl_strv_sort(&found);
	if (result == 0)
		result = hl_strv_check(&found, "host policies", err);
	for (size_t i = 0; result == 0 && i < found.len; i++)
		result = add(list, "/", found.v[i], found.v[i], err);
	list->host_len = list->paths.len;
	hl_strv_done(&found);
	return result;
}

/* A path is written like one; everything else may be an id. */
static bool
is_path_like(const char *text)
{
	return text[0] == '/' || text[0] == '.' || has_suffix(text, ".yaml") ||
	       has_suffix(text, ".yml");
}

/* Only this says that nothing is there; whatever else went wrong leaves it open. */
static bool
is_absence(int sys_errno)
{
	return sys_errno == ENOENT || sys_errno == ENOTDIR;
}

/* One that may be there is the one: reading it then says what is wrong. */
static bool
may_be_there(const char *path)
{
	return access(path, F_OK) == 0 || !is_absence(errno);
}

static int
find_id(const char *id, const char *home, char **ret_path, struct hl_err *err)
{
	struct hl_buf path;

	*ret_path = NULL;
	hl_buf_init(&path, 4096);
	hl_buf_putf(&path, "%s/%s.yaml", system_dir, id);
	if (!path.failed && !may_be_there(path.data) && home != NULL) {
		hl_buf_reset(&path);
		hl_buf_putf(&path, "%s/%s/%s.yaml", home, user_dir, id);
	}
	if (!path.failed && may_be_there(path.data))
		*ret_path = hl_buf_take(&path);
	bool is_oom = path.failed;
	hl_buf_done(&path);
	return is_oom ? hl_err_set(err, HLU_02, "the policy id '%.200s' is too long", id) : 0;
}

/* An id wins over a file of that name in the working directory, which may not be the caller's. */
static int
add_named(struct policy_file_list *list, const struct policy_load_request *request,
    const char *name, struct hl_err *err)
{
	HL_AUTO_FREE char *path = NULL;

	if (name[0] == '\0')
		return hl_err_set(err, HLU_02, "the name of a policy is empty");
	if (!is_path_like(name) && strstr(name, "..") == NULL &&
	    find_id(name, request->home, &path, err) != 0)
		return -1;
	return add(list, request->cwd, path != NULL ? path : name, path != NULL ? path : name, err);
}

/* Made by a run that could write there and found no policy (launcher/plan_protect.c): the directory
 * and all below it may hold what a command left. An empty .hermes that somebody else made says the
 * same, and one with anything in it does not. */
static bool
is_closed(const char *dir)
{
	const struct dirent *entry;
	struct hl_buf path;
	bool is_empty = true;

	hl_buf_init(&path, 4096);
	hl_buf_putf(&path, "%s/.hermes", strcmp(dir, "/") == 0 ? "" : dir);
	errno = ENAMETOOLONG;
	DIR *stream HL_AUTO_DIR = path.failed ? NULL : opendir(path.data);
	bool is_absent = stream == NULL && is_absence(errno);
	hl_buf_done(&path);
	if (stream == NULL)
		return !is_absent;
	while (is_empty && hl_dir_next(stream, &entry) > 0)
		is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	/* Also one in which nothing was seen before the list broke off. */
	return is_empty;
}

static int
refuse_closed(const char *dir, const char *found, struct hl_err *err)
{
	hl_err_set(err, HLC_74,
	    "policy '%.150s' lies below '%.150s', where a command could write and no policy was",
	    found, dir);
	return hl_err_help(err,
	    "move the policy to .hermes/ there, name it with --policy, or remove the empty .hermes");
}

/* Adds the policy of this directory; also one that may be there: reading it says what is wrong. */
static int
find_here(const char *dir, struct hl_strv *found, struct hl_err *err)
{
	HL_AUTO(hl_buf_done) struct hl_buf path;
	struct stat st;

	hl_buf_init(&path, 4096);
	hl_buf_putf(&path, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, local_name);
	if (hl_buf_check(&path, "the path of a policy", err) != 0)
		return -1;
	bool is_here = lstat(path.data, &st) == 0;
	bool is_absent = !is_here && is_absence(errno);
	if (!is_here && found->len > 0 && is_closed(dir))
		return refuse_closed(dir, found->v[found->len - 1], err);
	if (!is_absent)
		hl_strv_add(found, path.data);
	return 0;
}

/* Every local policy from dir upward, the nearest first. */
static int
find_local(const char *cwd, struct hl_strv *found, struct hl_err *err)
{
	HL_AUTO_FREE char *dir = strdup(cwd);

	if (dir == NULL)
		return hl_err_oom(err);
	for (;;) {
		if (find_here(dir, found, err) != 0)
			return -1;
		char *slash = strrchr(dir, '/');
		if (slash == NULL || strcmp(dir, "/") == 0)
			return hl_strv_check(found, "policy files", err);
		slash[slash == dir ? 1 : 0] = '\0';
	}
}

static int
add_local(struct policy_file_list *list, const char *cwd, struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv found;

	hl_strv_init(&found, POLICY_LAYERS_MAX);
	if (find_local(cwd, &found, err) != 0)
		return -1;
	for (size_t i = found.len; i-- > 0;)
		if (add(list, "/", found.v[i], found.v[i], err) != 0)
			return -1;
	if (found.len > 0)
		return 0;
	hl_err_set(err, HLU_03, "no policy was named, and there is no '%s' from '%.200s' upward",
	    local_name, cwd);
	return hl_err_help(err, "name one with --policy FILE");
}

int
policy_file_list_find(const struct policy_load_request *request, struct policy_file_list *ret_list,
    struct hl_err *err)
{
	struct policy_file_list list = { 0 };
	int result = 0;

	hl_strv_init(&list.paths, POLICY_LAYERS_MAX);
	hl_strv_init(&list.names, POLICY_LAYERS_MAX);
	if (request->host_dir != NULL)
		result = add_host(&list, request->host_dir, err);
	for (size_t i = 0; result == 0 && i < request->files_len; i++)
		result = add_named(&list, request, request->files[i], err);
	if (result == 0 && request->files_len == 0)
		result = add_local(&list, request->cwd, err);
	if (result != 0) {
		policy_file_list_done(&list);
		return -1;
	}
	*ret_list = list;
	return 0;
}
