/*
 * Paths of this host, resolved once. Whatever the plan names as a source of a mount passes here:
 * placeholders are replaced, the path is opened (O_PATH, so that neither a fifo nor a device is
 * touched), and from then on only the kernel's own name of it counts, with device and inode beside
 * it, because a name with symbolic links in it can mean another file a moment later. Nothing is
 * ever created for a source that is missing.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

void
plan_source_done(struct plan_source *source)
{
	free(source->path);
	*source = (struct plan_source){ 0 };
}

int
plan_source_resolve(const char *path, struct plan_source *ret_source, struct hl_err *err)
{
	struct stat opened, named;

	HL_AUTO_FD int fd = openat(AT_FDCWD, path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return hl_err_sys(err, HLU_10, "cannot use '%s'", path);
	if (fstat(fd, &opened) != 0)
		return hl_err_sys(err, HLU_10, "cannot use '%s'", path);
	HL_AUTO_FREE char *name = hl_path_of_fd(fd);
	/* An object without a name (deleted, or outside our root) is reported by proc(5) with a
	 * name that is another object's or nobody's: compare. */
	if (name == NULL || !hl_path_is_normal(name) || lstat(name, &named) != 0 ||
	    named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
		return hl_err_set(err, HLU_10, "'%s' has no name of its own on this host", path);
	for (const char *p = name; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return hl_err_set(err, HLU_11,
			    "a control character is in the name that '%s' leads to", path);
	*ret_source = (struct plan_source){
		.path = HL_TAKE_PTR(name),
		.is_dir = S_ISDIR(opened.st_mode),
		.dev = opened.st_dev,
		.ino = opened.st_ino,
		.mode = opened.st_mode,
		.rdev = opened.st_rdev,
	};
	return 0;
}

/* By readlink(2) on each part (realpath(3)): most have none, and the name of a descriptor in /proc
 * costs more than all of them. */
char *
plan_path_settle(const char *path)
{
	char part[PATH_MAX], name[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return strdup(path);
	memcpy(part, path, len + 1);
	while (len > 1) {
		if (realpath(part, name) != NULL)
			return hl_path_normalise(name, path[len] == '/' ? path + len + 1 : ".");
		while (len > 1 && part[len - 1] != '/')
			len--;
		if (len > 1)
			len--;
		part[len] = '\0';
	}
	return strdup(path);
}

struct placeholder {
	const char *name;
	const char *value; /* NULL: not known here */
};

/* Appends the value of the placeholder at text ("${name}..."); returns its length, 0 = none known.
 */
static size_t
put_placeholder(const char *text, const struct placeholder *table, size_t n, struct hl_buf *out)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(table[i].name);
		if (table[i].value != NULL && strncmp(text + 2, table[i].name, len) == 0 &&
		    text[2 + len] == '}') {
			hl_buf_puts(out, table[i].value);
			return len + 3;
		}
	}
	return 0;
}

int
plan_text_expand(const char *text, const struct host *host, const char *workdir, char **ret_text,
    struct hl_err *err)
{
	char uid[16];
	struct hl_buf out;

	(void)snprintf(uid, sizeof(uid), "%u", (unsigned)host->uid);
	const struct placeholder table[] = {
		{ "user", host->user },
		{ "uid", uid },
		{ "home", host->home },
		{ "workdir", workdir },
		{ "state", host->state_dir },
	};
	hl_buf_init(&out, PATH_MAX);
	while (*text != '\0') {
		if ((unsigned char)*text < 0x20 || *text == 0x7f) {
			hl_buf_done(&out);
			return hl_err_set(err, HLU_11, "a path may not hold control characters");
		}
		if (text[0] != '$' || text[1] != '{') {
			hl_buf_putc(&out, *text++);
			continue;
		}
		size_t len = put_placeholder(text, table, HL_ARRAY_SIZE(table), &out);
		if (len == 0) {
			hl_buf_done(&out);
			hl_err_set(err, HLU_11, "unknown placeholder in '%.200s'", text);
			return hl_err_help(err, "those known are ${user} ${uid} ${home} ${workdir} "
						"(not in fs.workdir itself) ${state}");
		}
		text += len;
	}
	if (hl_buf_check(&out, "path", err) != 0) {
		hl_buf_done(&out);
		return -1;
	}
	*ret_text = hl_buf_take(&out);
	return *ret_text != NULL ? 0 : hl_err_oom(err);
}
