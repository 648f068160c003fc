/*
 * Where the groups of this process are: /proc/self/cgroup names them, /proc/self/mountinfo says
 * where their hierarchies are mounted (cgroups(7), proc(5)). A controller is in one hierarchy only:
 * a v1 mount of its own, or the unified one. Both files come from the kernel, but the names in them
 * are chosen by whoever made the groups: a line that does not parse or does not fit is passed over,
 * and then the controller is "not there", which fails closed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/limits.h"

#include "base/banned.h"

enum {
	PROC_FILE_MAX = 4 * 1024 * 1024,
	MOUNT_FIELDS = 6
};

static int
read_text(const char *path, struct hl_buf *ret_text)
{
	struct hl_err ignored = { 0 };
	HL_AUTO_FD int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	hl_buf_init(ret_text, PROC_FILE_MAX);
	if (hl_read_file(fd, ret_text, path, HLI_03, &ignored) != 0) {
		hl_buf_done(ret_text);
		return -1;
	}
	return 0;
}

/* Is word one of the comma-separated words of list? */
static bool
has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += len) {
		bool starts = at == list || at[-1] == ',';
		if (starts && (at[len] == '\0' || at[len] == ','))
			return true;
	}
	return false;
}

/* Cuts the next line off *text; NULL at the end. */
static char *
next_line(char **text)
{
	return *text == NULL || **text == '\0' ? NULL : strsep(text, "\n");
}

/* Path of our group in the v1 hierarchy with the controller, else in the unified one. */
static bool
find_group(char *text, const char *controller, const char **ret_path, bool *ret_is_v2)
{
	char *line;
	const char *unified = NULL;

	while ((line = next_line(&text)) != NULL) {
		strsep(&line, ":");
		const char *controllers = strsep(&line, ":");
		if (controllers == NULL || line == NULL || line[0] != '/')
			continue;
		if (has_word(controllers, controller)) {
			*ret_path = line;
			*ret_is_v2 = false;
			return true;
		}
		if (controllers[0] == '\0')
			unified = line;
	}
	*ret_path = unified;
	*ret_is_v2 = true;
	return unified != NULL;
}

struct mount_line {
	const char *root, *point, *type, *options;
};

static bool
parse_mount(char *line, struct mount_line *ret_mount)
{
	const char *field[MOUNT_FIELDS];

	for (size_t i = 0; i < MOUNT_FIELDS; i++) {
		field[i] = strsep(&line, " ");
		if (field[i] == NULL)
			return false;
	}
	/* Optional fields end at a lone dash: then type, source, options of the file system. */
	const char *word;
	while ((word = strsep(&line, " ")) != NULL && strcmp(word, "-") != 0)
		;
	const char *type = strsep(&line, " ");
	const char *source = strsep(&line, " ");
	if (type == NULL || source == NULL || line == NULL)
		return false;
	*ret_mount = (struct mount_line){ .root = field[3],
		.point = field[4],
		.type = type,
		.options = line };
	return true;
}

static bool
find_mount(char *text, const char *controller, bool is_v2, struct mount_line *ret_mount)
{
	char *line;

	while ((line = next_line(&text)) != NULL) {
		if (!parse_mount(line, ret_mount))
			continue;
		if (is_v2 ? strcmp(ret_mount->type, "cgroup2") == 0
			  : strcmp(ret_mount->type, "cgroup") == 0 &&
				has_word(ret_mount->options, controller))
			return true;
	}
	return false;
}

/* The group's directory: its path is told from the hierarchy's root, the mount may show less of it.
 */
static bool
join(const struct mount_line *mount, const char *group, struct cgroup_place *place)
{
	if (!hl_path_is_normal(mount->root) || !hl_path_is_normal(group) ||
	    !hl_path_is_normal(mount->point) || !hl_path_is_beneath(group, mount->root))
		return false;
	const char *rest = strcmp(mount->root, "/") == 0 ? group : group + strlen(mount->root);
	if (strcmp(rest, "/") == 0)
		rest = "";
	int len = snprintf(place->own, sizeof(place->own), "%s%s", mount->point, rest);
	if (len < 0 || (size_t)len >= sizeof(place->own))
		return false;
	len = snprintf(place->root, sizeof(place->root), "%s", mount->point);
	return len > 0 && (size_t)len < sizeof(place->root);
}

bool
cgroup_place_find(const struct cgroup_host *host, const char *controller,
    struct cgroup_place *ret_place, char reason[160])
{
	struct hl_buf groups = { 0 }, mounts = { 0 };
	struct mount_line mount;
	const char *group;
	bool is_found = false;

	if (read_text(host->self_cgroup, &groups) != 0 || read_text(host->mountinfo, &mounts) != 0)
		snprintf(reason, 160, "the groups of this process cannot be read from /proc");
	else if (!find_group(groups.data, controller, &group, &ret_place->is_v2))
		snprintf(reason, 160, "this kernel has no cgroup controller '%s'", controller);
	else if (!find_mount(mounts.data, controller, ret_place->is_v2, &mount))
		snprintf(reason, 160, "cgroup controller '%s' is not mounted", controller);
	else if (!join(&mount, group, ret_place))
		snprintf(reason, 160, "this process's %s group is outside the mounted tree",
		    controller);
	else
		is_found = true;
	hl_buf_done(&groups);
	hl_buf_done(&mounts);
	return is_found;
}
