/*
 * Paths as text: normal form, containment by component, and the kernel's own name of an open file.
 */
#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#include "base/banned.h"

bool
hl_path_is_normal(const char *path)
{
	size_t len = strlen(path);

	if (path[0] != '/' || len >= PATH_MAX)
		return false;
	if (len == 1)
		return true;
	if (path[len - 1] == '/')
		return false;
	for (const char *part = path; part != NULL; part = strchr(part + 1, '/')) {
		size_t n = strcspn(part + 1, "/");
		if (n == 0 || (n == 1 && part[1] == '.') ||
		    (n == 2 && part[1] == '.' && part[2] == '.'))
			return false;
	}
	return true;
}

/* Appends the components of path to out, which holds a normal path or nothing ("/"). */
static void
append_components(struct hl_buf *out, const char *path)
{
	while (*path != '\0') {
		size_t n = strcspn(path, "/");
		if (n == 2 && path[0] == '.' && path[1] == '.') {
			while (out->len > 0 && out->data[out->len - 1] != '/')
				out->len--;
			if (out->len > 0)
				out->len--;
		} else if (n > 0 && !(n == 1 && path[0] == '.')) {
			hl_buf_putc(out, '/');
			hl_buf_put(out, path, n);
		}
		path += n;
		path += strspn(path, "/");
	}
}

char *
hl_path_normalise(const char *base, const char *path)
{
	struct hl_buf out;

	hl_buf_init(&out, (size_t)2 * PATH_MAX);
	if (path[0] != '/')
		append_components(&out, base);
	append_components(&out, path);
	if (out.len == 0)
		hl_buf_putc(&out, '/');
	if (!out.failed && out.capacity > 0)
		out.data[out.len] = '\0';
	return hl_buf_take(&out);
}

bool
hl_path_is_beneath(const char *path, const char *parent)
{
	size_t len = strlen(parent);

	if (len == 1 && parent[0] == '/')
		return path[0] == '/';
	return strncmp(path, parent, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

char *
hl_path_of_fd(int fd)
{
	char link[32];
	char target[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, target, sizeof(target));
	if (n < 0 || (size_t)n >= sizeof(target))
		return NULL;
	return strndup(target, (size_t)n);
}

int
hl_mkdirs(const char *path, mode_t mode, struct hl_err *err)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	struct stat st;

	if (!hl_path_is_normal(path))
		return hl_err_set(err, HLI_02, "'%s' is not a normal absolute path", path);
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, mode) != 0 && errno != EEXIST)
			return hl_err_sys(err, HLU_02, "cannot create directory '%s'", part);
	}
	/* EEXIST is also said of a file. */
	int rc = stat(path, &st);
	if (rc == 0 && S_ISDIR(st.st_mode))
		return 0;
	if (rc == 0)
		errno = ENOTDIR;
	return hl_err_sys(err, HLU_02, "cannot create directory '%s'", path);
}
