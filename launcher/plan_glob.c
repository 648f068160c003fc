/*
 * Patterns of fs.deny against this host. Unlike glob(3) this matcher knows `**`, counts the
 * directories it reads so that one line of a policy cannot walk a whole disk, lets `*` match a
 * leading dot, and fails closed: a directory that the caller may not read is covered as a whole,
 * since somebody else (a container's root) might read it.
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

enum {
	GLOB_DEPTH_MAX = 128
};

struct glob_walk {
	char path[PATH_MAX]; /* what has matched so far; "" is the root */
	size_t len;
	unsigned depth;
	unsigned *dirs_read;
	struct hl_strv *out;
};

static int walk_from(struct glob_walk *walk, const char *rest, struct hl_err *err);

static bool
has_wildcard(const char *component, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (component[i] == '*' || component[i] == '?')
			return true;
	return false;
}

static int
push(struct glob_walk *walk, const char *name, size_t n, struct hl_err *err)
{
	if (walk->len + 1 + n >= sizeof(walk->path))
		return hl_err_set(err, HLI_03, "a path that fs.deny leads to is too long");
	walk->path[walk->len] = '/';
	memcpy(walk->path + walk->len + 1, name, n);
	walk->len += n + 1;
	walk->path[walk->len] = '\0';
	return 0;
}

static void
pop(struct glob_walk *walk, size_t len)
{
	walk->len = len;
	walk->path[len] = '\0';
}

static const char *
name_of(const struct glob_walk *walk)
{
	return walk->len > 0 ? walk->path : "/";
}

/* The end of the pattern, or a place beyond which we cannot look: the deepest part of the path that
 * can be reached is the answer. */
static void
take(const struct glob_walk *walk)
{
	char path[PATH_MAX];
	struct stat st;
	size_t len = walk->len;

	memcpy(path, walk->path, len + 1);
	while (len > 0 && lstat(path, &st) != 0) {
		if (errno != EACCES)
			return;
		while (path[len - 1] != '/')
			len--;
		path[--len] = '\0';
	}
	const char *deepest = len > 0 ? path : "/";
	size_t n = walk->out->len;
	if (n == 0 || strcmp(walk->out->v[n - 1], deepest) != 0)
		hl_strv_add(walk->out, deepest);
}

/* One entry of a directory against the component; across is true for `**`. */
static int
visit(struct glob_walk *walk, const struct dirent *entry, const char *rest, bool across,
    struct hl_err *err)
{
	size_t len = walk->len;
	size_t n = strcspn(rest, "/");
	struct stat st;

	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return 0;
	if (!across) {
		char pattern[NAME_MAX + 1];
		if (n > NAME_MAX)
			return 0;
		memcpy(pattern, rest, n);
		pattern[n] = '\0';
		if (!hl_glob_match(pattern, entry->d_name))
			return 0;
	}
	if (push(walk, entry->d_name, strlen(entry->d_name), err) != 0)
		return -1;
	int rc = 0;
	if (!across)
		rc = walk_from(walk, rest[n] == '/' ? rest + n + 1 : "", err);
	else if (lstat(walk->path, &st) == 0 && S_ISDIR(st.st_mode))
		rc = walk_from(walk, rest, err);
	pop(walk, len);
	return rc;
}

/* Reads the directory that has matched so far. */
static int
walk_directory(struct glob_walk *walk, const char *rest, bool across, struct hl_err *err)
{
	if (++*walk->dirs_read > PLAN_DENY_WALK_MAX || ++walk->depth > GLOB_DEPTH_MAX) {
		hl_err_set(err, HLI_03, "fs.deny reaches more than %d directories or %d levels",
		    PLAN_DENY_WALK_MAX, GLOB_DEPTH_MAX);
		return hl_err_help(err, "put more of the path before the first '**'");
	}
	const struct dirent *entry;
	DIR *dir HL_AUTO_DIR = opendir(name_of(walk));
	if (dir == NULL) {
		walk->depth--;
		if (errno == EACCES)
			take(walk);
		else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
			return hl_err_sys(err, HLU_10, "cannot read '%s' for fs.deny",
			    name_of(walk));
		return 0;
	}
	int rc = 0, more = 0;
	while (rc == 0 && (more = hl_dir_next(dir, &entry)) > 0)
		rc = visit(walk, entry, rest, across, err);
	if (more < 0)
		rc = hl_err_sys(err, HLU_10, "cannot read '%s' for fs.deny", name_of(walk));
	walk->depth--;
	return rc;
}

static int
walk_from(struct glob_walk *walk, const char *rest, struct hl_err *err)
{
	size_t start = walk->len;

	while (*rest != '\0') {
		size_t n = strcspn(rest, "/");
		const char *after = rest[n] == '/' ? rest + n + 1 : rest + n;
		int rc;
		if (n == 2 && strncmp(rest, "**", 2) == 0) {
			if (*after == '\0')
				break; /* "/a/" and two stars: all of it, the directory itself */
			rc = walk_from(walk, after, err);
			if (rc == 0)
				rc = walk_directory(walk, rest, true, err);
			pop(walk, start);
			return rc;
		}
		if (has_wildcard(rest, n)) {
			rc = walk_directory(walk, rest, false, err);
			pop(walk, start);
			return rc;
		}
		if (push(walk, rest, n, err) != 0)
			return -1;
		rest = after;
	}
	take(walk);
	pop(walk, start);
	return 0;
}

int
plan_glob_expand(const char *pattern, unsigned *dirs_read, struct hl_strv *ret_paths,
    struct hl_err *err)
{
	struct glob_walk walk = { .dirs_read = dirs_read, .out = ret_paths };

	for (const char *p = strstr(pattern, "**"); p != NULL; p = strstr(p + 2, "**")) {
		if (p > pattern && p[-1] == '/' && (p[2] == '/' || p[2] == '\0'))
			continue;
		hl_err_set(err, HLU_11, "fs.deny: '**' in '%.200s' is not a component of its own",
		    pattern);
		return hl_err_help(err, "write '/**/' between two slashes or '/**' at the end");
	}
	if (pattern[0] != '/')
		return hl_err_set(err, HLU_11,
		    "fs.deny: '%.200s' is neither absolute nor below '~/'", pattern);
	if (walk_from(&walk, pattern + 1, err) != 0)
		return -1;
	return hl_strv_check(ret_paths, "fs.deny", err);
}
