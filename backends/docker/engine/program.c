/*
 * hl-engine: whose a program is, before it is started with the caller's rights: nobody but root and
 * the caller may decide what it is, and no command of a sandbox may write it. So it is with a
 * program that keeps credentials, and with an engine's client.
 */
#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	PATH_TEXT_MAX = 4096,
	LINKS_MAX = 40, /* path_resolution(7) */
};

/* Whether nobody but root and the caller decides what path is, which is a real path: not beneath
 * what a command can write, and neither it nor a directory above it another's to change. What
 * stands in a sticky directory above is only its owner's to change; real itself may be none, where
 * anybody could put what is not there yet. */
static bool
is_ours(const char *real, const struct hl_strv *shown)
{
	HL_AUTO_FREE char *at = strdup(real);
	const size_t len = strlen(real);
	struct stat st;

	for (size_t i = 0; shown != NULL && i < shown->len; i++)
		if (hl_path_is_beneath(real, shown->v[i]))
			return false;
	while (at != NULL) {
		bool has_others = stat(at, &st) != 0 || (st.st_uid != 0 && st.st_uid != geteuid());
		bool is_sticky = strlen(at) < len && (st.st_mode & S_ISVTX) != 0;
		bool is_open =
		    (st.st_mode & S_IWOTH) != 0 || ((st.st_mode & S_IWGRP) != 0 && st.st_gid != 0);
		if (has_others || (is_open && !is_sticky))
			return false;
		if (at[1] == '\0')
			return true;
		char *slash = strrchr(at, '/');
		slash[slash == at ? 1 : 0] = '\0';
	}
	return false;
}

/* The text of the link at path, made absolute in dir; NULL = it is none, or cannot be followed. */
static char *
follow(const char *path, const char *dir)
{
	char text[PATH_TEXT_MAX];
	char *next = NULL;
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	if (n <= 0)
		return NULL;
	text[n] = '\0';
	/* Not normalised: ".." behind a link is another directory. */
	if (text[0] == '/')
		return strdup(text);
	return asprintf(&next, "%s/%s", dir, text) < 0 ? NULL : next;
}

char *
program_settle(const char *path, const struct hl_strv *shown)
{
	HL_AUTO_FREE char *at = strdup(path);

	for (int links = 0; at != NULL && links < LINKS_MAX; links++) {
		char *slash = strrchr(at, '/');
		HL_AUTO_FREE char *above = strndup(at, slash == at ? 1 : (size_t)(slash - at));
		HL_AUTO_FREE char *dir = above != NULL ? realpath(above, NULL) : NULL;
		if (dir == NULL || !is_ours(dir, shown))
			return NULL;
		char *next = follow(at, dir);
		if (next == NULL)
			break;
		free(at);
		at = next;
	}
	HL_AUTO_FREE char *real = realpath(path, NULL);
	return real != NULL && is_ours(real, shown) ? HL_TAKE_PTR(real) : NULL;
}
