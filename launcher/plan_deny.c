/*
 * Places that no mount may open and no command may see: the built-in list of deny.def, what only a
 * run knows (state directory, engine endpoint, the policies in force), and fs.deny of the policy.
 *
 * Everything is compared after both sides have been resolved, so that neither `..` nor a symbolic
 * link gets around it, and an engine's socket is recognised by its inode under any other name.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

enum deny_base {
	DENY_BASE_ROOT,
	DENY_BASE_HOME,
	DENY_BASE_RUNTIME
};

struct deny_row {
	enum deny_class class;
	enum deny_base base;
	char path[40];
	char reason[56];
};

static const struct deny_row deny_rows[] = {
#define DENY(class_, base_, path_, reason_) { DENY_##class_, DENY_BASE_##base_, path_, reason_ },
#include "launcher/deny.def"
#undef DENY
};

#define DENY(class_, base_, path_, reason_) \
 HL_FITS(path_, deny_rows[0].path);         \
 HL_FITS(reason_, deny_rows[0].reason);
#include "launcher/deny.def"
#undef DENY

void
deny_list_done(struct deny_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		free(list->items[i].path);
	free(list->items);
	free(list->home);
	free(list->env_home);
	for (size_t i = 0; i < list->parents_len; i++) {
		free(list->parents[i].path);
		free(list->parents[i].settled);
	}
	for (size_t i = 0; i < DENY_HOMES; i++)
		hl_strv_done(&list->homes[i].names);
	*list = (struct deny_list){ 0 };
}

/* plan_path_settle() of a directory. Rows share few directories, many of which are not there, so
 * what was found is kept, and of one that is not there the one above is asked. Borrowed; NULL = no
 * memory. */
static const char *
settle_parent(struct deny_list *list, const char *path, size_t len)
{
	HL_AUTO_FREE char *name = strndup(path, len);
	HL_AUTO_FREE char *settled = NULL;
	struct stat st;

	for (size_t i = 0; name != NULL && i < list->parents_len; i++)
		if (strcmp(list->parents[i].path, name) == 0)
			return list->parents[i].settled;
	size_t above = name != NULL ? (size_t)(strrchr(name, '/') - name) : 0;
	bool is_missing = above > 0 && lstat(name, &st) != 0 && errno == ENOENT;
	if (is_missing) {
		const char *there = settle_parent(list, path, above);
		settled = there != NULL ? hl_path_normalise(there, name + above + 1) : NULL;
	} else if (name != NULL) {
		settled = plan_path_settle(name);
	}
	if (settled == NULL)
		return NULL;
	/* The last place is for whatever comes when the others are taken. */
	if (list->parents_len == DENY_PARENTS) {
		list->parents_len--;
		free(list->parents[list->parents_len].path);
		free(list->parents[list->parents_len].settled);
	}
	list->parents[list->parents_len].path = HL_TAKE_PTR(name);
	list->parents[list->parents_len].settled = HL_TAKE_PTR(settled);
	return list->parents[list->parents_len++].settled;
}

/* The last component costs one call unless it is a link. Fills exists, dev and ino. */
static char *
settle(struct deny_list *list, const char *path, struct deny_entry *entry)
{
	size_t len = (size_t)(strrchr(path, '/') - path);
	struct stat st;

	const char *parent = settle_parent(list, path, len > 0 ? len : 1);
	if (parent == NULL)
		return NULL;
	char *settled = hl_path_normalise(parent, strrchr(path, '/') + 1);
	if (settled == NULL || lstat(settled, &st) != 0)
		return settled;
	if (S_ISLNK(st.st_mode)) {
		free(settled);
		settled = plan_path_settle(path);
		if (settled == NULL || lstat(settled, &st) != 0)
			return settled;
	}
	entry->exists = true;
	entry->dev = st.st_dev;
	entry->ino = st.st_ino;
	return settled;
}

/* path: normal; as found by a pattern, or a name that may not exist yet. */
static int
add(struct deny_list *list, const char *path, const struct deny_entry *like, struct hl_err *err)
{
	struct deny_entry entry = *like;

	if (list->len >= PLAN_DENY_MAX)
		return hl_err_set(err, HLI_03, "fs.deny covers more than %d paths", PLAN_DENY_MAX);
	if (list->len == list->capacity) {
		size_t capacity = list->capacity > 0 ? list->capacity * 2 : 64;
		struct deny_entry *items = reallocarray(list->items, capacity, sizeof(*items));
		if (items == NULL)
			return hl_err_oom(err);
		list->items = items;
		list->capacity = capacity;
	}
	entry.path = settle(list, path, &entry);
	if (entry.path == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; i < list->len; i++) {
		if (list->items[i].class == like->class &&
		    strcmp(list->items[i].path, entry.path) == 0) {
			free(entry.path);
			return 0;
		}
	}
	list->items[list->len++] = entry;
	return 0;
}

/* A pattern that starts at the root; places to hide leave the caller's own home alone. */
static int
add_pattern(struct deny_list *list, const char *pattern, const struct deny_entry *like,
    struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv found;

	hl_strv_init(&found, PLAN_DENY_MAX);
	if (plan_glob_expand(pattern, &list->dirs_read, &found, err) != 0)
		return -1;
	for (size_t i = 0; i < found.len; i++) {
		if (like->class == DENY_HIDE && strcmp(found.v[i], list->home) == 0)
			continue;
		if (add(list, found.v[i], like, err) != 0)
			return -1;
	}
	return 0;
}

/* Most of what is listed below a home is not there: one look into it answers for all rows. A home
 * that cannot be read, or is very full, is asked row by row. */
static void
read_home(const char *home, struct deny_home *ret_home)
{
	DIR *dir HL_AUTO_DIR = opendir(home);
	const struct dirent *entry;
	int more;

	ret_home->is_read = true;
	ret_home->has_names = dir != NULL || errno == ENOENT;
	hl_strv_init(&ret_home->names, DENY_HOME_NAMES_MAX);
	if (dir == NULL)
		return;
	while ((more = hl_dir_next(dir, &entry)) > 0)
		hl_strv_add(&ret_home->names, entry->d_name);
	if (more < 0 || ret_home->names.failed)
		ret_home->has_names = false;
}

/* False only when nothing of that name is in the home. */
static bool
may_be_there(const struct deny_home *home, const char *rest)
{
	char name[NAME_MAX + 1];
	size_t len = strcspn(rest, "/");

	if (!home->has_names || len > NAME_MAX || strcspn(rest, "*?") < len)
		return true;
	memcpy(name, rest, len);
	name[len] = '\0';
	return hl_strv_contains(&home->names, name);
}

/* $HOME is where programs left their credentials, whatever the account says. */
static int
find_env_home(struct deny_list *list, const struct host *host, struct hl_err *err)
{
	static const char name[] = "HOME=";

	for (char *const *entry = host->environ_; entry != NULL && *entry != NULL; entry++) {
		const char *value = *entry + sizeof(name) - 1;
		if (strncmp(*entry, name, sizeof(name) - 1) != 0 || value[0] != '/')
			continue;
		HL_AUTO_FREE char *home = plan_path_settle(value);
		if (home == NULL)
			return hl_err_oom(err);
		if (strcmp(home, "/") != 0 && strcmp(home, list->home) != 0 &&
		    strcmp(home, "/root") != 0)
			list->env_home = HL_TAKE_PTR(home);
		return 0;
	}
	return 0;
}

/* What must stay outside as a whole is below the account's home; what is secret, below any. */
static bool
is_for_any_home(const struct deny_entry *entry)
{
	return entry->class != DENY_FLOOR && entry->class != DENY_SOCKET;
}

/* rest below each home that we know. */
static int
add_homes(struct deny_list *list, const char *rest, const struct deny_entry *like,
    struct hl_err *err)
{
	const char *const homes[DENY_HOMES] = { list->home, "/root",
		is_for_any_home(like) ? list->env_home : NULL };

	for (size_t i = 0; i < DENY_HOMES; i++) {
		if (homes[i] == NULL || (i > 0 && strcmp(homes[i], list->home) == 0))
			continue;
		if (!list->homes[i].is_read)
			read_home(homes[i], &list->homes[i]);
		if (is_for_any_home(like) && !may_be_there(&list->homes[i], rest))
			continue;
		HL_AUTO_FREE char *path = hl_path_normalise(homes[i], rest);
		if (path == NULL)
			return hl_err_oom(err);
		int rc = like->class == DENY_FLOOR ? add(list, path, like, err)
						   : add_pattern(list, path, like, err);
		if (rc != 0)
			return -1;
	}
	return 0;
}

static int
add_row(struct deny_list *list, const struct deny_row *row, const struct host *host,
    struct hl_err *err)
{
	char runtime[48];
	const struct deny_entry like = {
		.class = row->class,
		.reason = row->reason,
		.origin = plan_built_in(),
	};

	if (row->base == DENY_BASE_HOME)
		return add_homes(list, row->path, &like, err);
	if (row->base == DENY_BASE_ROOT && strpbrk(row->path, "*?") != NULL)
		return add_pattern(list, row->path, &like, err);
	if (row->base == DENY_BASE_ROOT)
		return row->class == DENY_HIDE && strcmp(row->path, list->home) == 0
			   ? 0
			   : add(list, row->path, &like, err);
	(void)snprintf(runtime, sizeof(runtime), "/run/user/%u", (unsigned)host->uid);
	HL_AUTO_FREE char *path = hl_path_normalise(runtime, row->path);
	return path == NULL ? hl_err_oom(err) : add(list, path, &like, err);
}

/* Folders of policies: a `.hermes` folder as a whole, so that no mount opens it for writing. A file
 * elsewhere is covered where it lies. */
static int
add_policies(struct deny_list *list, const struct policy *policy, struct hl_err *err)
{
	for (size_t i = 0; i < policy_layers_len(policy); i++) {
		const struct policy_layer *layer = policy_layer_at(policy, i);
		if (layer->file == NULL)
			continue;
		HL_AUTO_FREE char *file = plan_path_settle(layer->file);
		if (file == NULL)
			return hl_err_oom(err);
		char *folder = strstr(file, "/.hermes/");
		const struct deny_entry like = {
			.class = folder != NULL ? DENY_KEEP : DENY_HIDE,
			.reason = "a policy in force",
			.origin = plan_built_in(),
		};
		if (folder != NULL)
			folder[strlen("/.hermes")] = '\0';
		if (add(list, file, &like, err) != 0)
			return -1;
	}
	return 0;
}

/* Where no variable names another they are at places of deny.def. */
static int
add_registry(struct deny_list *list, const struct host *host, struct hl_err *err)
{
	const struct deny_entry registry = { .class = DENY_SECRET,
		.reason = "registry credentials",
		.origin = plan_built_in() };
	HL_AUTO(hl_strv_done) struct hl_strv files;

	if (plan_registry_named(host, &files, err) != 0)
		return -1;
	for (size_t i = 0; i < files.len; i++) {
		if (add(list, files.v[i], &registry, err) != 0)
			return -1;
	}
	return 0;
}

static int
add_run(struct deny_list *list, const struct policy *policy, const struct host *host,
    const struct plan *plan, struct hl_err *err)
{
	const struct deny_entry state = { .class = DENY_FLOOR,
		.exists = true, /* the audit log will be in it before the command starts */
		.reason = "state of the launcher",
		.origin = plan_built_in() };
	const struct deny_entry socket = { .class = DENY_SOCKET,
		.reason = "controls the container engine",
		.origin = plan->endpoint_origin };

	if (add(list, host->state_dir, &state, err) != 0)
		return -1;
	if (plan->endpoint != NULL && !plan->is_endpoint_program &&
	    add(list, plan->endpoint, &socket, err) != 0)
		return -1;
	return add_registry(list, host, err) != 0 ? -1 : add_policies(list, policy, err);
}

/* Where the working directory will be: the list is made before it, because it is judged by it. */
static int
workdir_of(const struct policy *policy, const struct host *host, char **ret_path,
    struct hl_err *err)
{
	const char *asked = policy_get(policy, POLICY_FS_WORKDIR)->items[0].mount.src;
	bool has_path = asked != NULL && asked[0] != '\0';
	HL_AUTO_FREE char *text = NULL;

	if (has_path && plan_text_expand(asked, host, NULL, &text, err) != 0)
		return hl_err_wrap(err, "fs.workdir.path");
	*ret_path = plan_path_settle(has_path ? text : host->cwd);
	return *ret_path != NULL ? 0 : hl_err_oom(err);
}

static int
expand(const struct policy *policy, const struct host *host, const char *text, char **ret_text,
    struct hl_err *err)
{
	HL_AUTO_FREE char *workdir = NULL;

	if (workdir_of(policy, host, &workdir, err) != 0)
		return -1;
	if (plan_text_expand(text, host, workdir, ret_text, err) != 0)
		return hl_err_wrap(err, "fs.deny");
	return 0;
}

static int
add_authored(struct deny_list *list, const struct policy *policy, const struct host *host,
    struct hl_err *err)
{
	const struct policy_value *value = policy_get(policy, POLICY_FS_DENY);

	for (size_t i = 0; i < value->items_len; i++) {
		const struct policy_item *item = &value->items[i];
		const struct deny_entry like = {
			.class = DENY_AUTHORED,
			.reason = "covered by fs.deny",
			.origin = item->origin,
		};
		HL_AUTO_FREE char *text = NULL;
		if (expand(policy, host, item->text, &text, err) != 0)
			return -1;
		/* A name with a wildcard in it covers what it matches, itself among it. */
		int rc = strncmp(text, "~/", 2) == 0 ? add_homes(list, text + 2, &like, err)
						     : add_pattern(list, text, &like, err);
		if (rc != 0)
			return -1;
	}
	return 0;
}

int
deny_list_build(const struct policy *policy, const struct host *host, const struct plan *plan,
    struct deny_list *ret_list, struct hl_err *err)
{
	HL_AUTO(deny_list_done) struct deny_list list = { .home = plan_path_settle(host->home) };

	if (list.home == NULL)
		return hl_err_oom(err);
	if (find_env_home(&list, host, err) != 0)
		return -1;
	for (size_t i = 0; i < HL_ARRAY_SIZE(deny_rows); i++)
		if (add_row(&list, &deny_rows[i], host, err) != 0)
			return -1;
	if (add_run(&list, policy, host, plan, err) != 0 ||
	    add_authored(&list, policy, host, err) != 0)
		return -1;
	*ret_list = list;
	list = (struct deny_list){ 0 };
	return 0;
}

const struct deny_entry *
deny_list_forbids_name(const struct deny_list *list, const char *path)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct deny_entry *entry = &list->items[i];
		bool is_whole = entry->class == DENY_FLOOR || entry->class == DENY_SOCKET;
		if (is_whole && hl_path_is_beneath(entry->path, path))
			return entry; /* it contains, or is, what must stay outside */
		if (entry->class == DENY_HIDE ? strcmp(path, entry->path) == 0
					      : hl_path_is_beneath(path, entry->path))
			return entry;
	}
	return NULL;
}

const struct deny_entry *
deny_list_forbids(const struct deny_list *list, const struct plan_source *source)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct deny_entry *entry = &list->items[i];
		if (entry->class == DENY_SOCKET && entry->exists && entry->dev == source->dev &&
		    entry->ino == source->ino)
			return entry;
	}
	return deny_list_forbids_name(list, source->path);
}

/* ------------------------------------------------------------------------------------------------
 * What of it shows inside
 */
static bool
is_covered(const struct plan *plan, const char *path)
{
	if (plan->home.path != NULL && hl_path_is_beneath(path, plan->home.path))
		return true;
	for (size_t i = 0; i < plan->tmpfs_len; i++)
		if (hl_path_is_beneath(path, plan->tmpfs[i].dst))
			return true;
	for (size_t i = 0; i < plan->mounts_len; i++)
		if (hl_path_is_beneath(path, plan->mounts[i].dst))
			return true;
	return false;
}

static bool
is_mounted(const struct plan *plan, const char *path)
{
	if (plan->home.src != NULL && hl_path_is_beneath(path, plan->home.src))
		return true;
	for (size_t i = 0; i < plan->mounts_len; i++)
		if (!plan->mounts[i].is_volume && hl_path_is_beneath(path, plan->mounts[i].src))
			return true;
	return false;
}

/* Beneath another covered path, with no mount that would show it again in between. */
static bool
is_implied(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->deny.len; i++) {
		const char *above = plan->deny.v[i];
		bool is_shown_again = false;
		if (!hl_path_is_beneath(path, above))
			continue;
		for (size_t m = 0; m < plan->mounts_len && !is_shown_again; m++)
			is_shown_again = !plan->mounts[m].is_volume &&
					 strcmp(plan->mounts[m].src, above) != 0 &&
					 hl_path_is_beneath(plan->mounts[m].src, above) &&
					 hl_path_is_beneath(path, plan->mounts[m].src);
		if (!is_shown_again)
			return true;
	}
	return false;
}

static void
apply_entry(const struct deny_entry *entry, struct plan *plan)
{
	/* A mount under a name of its own is judged by its source: covered by name says nothing. */
	bool is_shown = is_mounted(plan, entry->path) ||
			(plan_is_local(plan) && !is_covered(plan, entry->path));

	if (is_shown && !is_implied(plan, entry->path))
		hl_strv_add(&plan->deny, entry->path);
}

/* The kernel's own file systems are not covered but made anew by every backend. */
static bool
is_remade(const char *path)
{
	return strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0 || strcmp(path, "/dev") == 0;
}

/* The first entry decides, as it did when the path was taken. */
static int
keep_origins(const struct deny_list *list, struct plan *plan, struct hl_err *err)
{
	plan->deny_origins = calloc(plan->deny.len + 1, sizeof(*plan->deny_origins));
	if (plan->deny_origins == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; i < plan->deny.len; i++) {
		const struct deny_entry *entry = list->items;
		while (entry->class == DENY_KEEP || strcmp(entry->path, plan->deny.v[i]) != 0)
			entry++;
		plan->deny_origins[i] = entry->origin;
	}
	return 0;
}

int
deny_list_apply(const struct deny_list *list, struct plan *plan, struct hl_err *err)
{
	/* Shorter first, so that what lies beneath something covered is left out. */
	for (size_t depth = 1; depth < PATH_MAX / 2; depth++) {
		size_t left = 0;
		for (size_t i = 0; i < list->len; i++) {
			const struct deny_entry *entry = &list->items[i];
			size_t parts = 0;
			for (const char *p = entry->path; *p != '\0'; p++)
				parts += *p == '/';
			left += parts > depth;
			if (parts != depth || !entry->exists || entry->class == DENY_KEEP ||
			    is_remade(entry->path))
				continue;
			apply_entry(entry, plan);
		}
		if (left == 0)
			break;
	}
	hl_strv_sort(&plan->deny);
	if (hl_strv_check(&plan->deny, "fs.deny", err) != 0)
		return -1;
	return keep_origins(list, plan, err);
}
