/*
 * Where outputs that are larger than the window are kept, when --spill asks for it: files in the
 * state directory, which no sandbox shows, with the values that the audit log does not show either
 * left out. They are for a person or an agent to read soon; a week later they go.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/serve.h"

#include "base/banned.h"

enum {
	KEEP_SECONDS = 7 * 24 * 60 * 60
};

static void *
begin(void *context)
{
	const struct serve *serve = context;

	return audit_stream_new(serve->run->audit);
}

static int
pass(void *stream, const char *bytes, size_t len, bool is_end, struct hl_buf *out)
{
	return audit_stream_pass(stream, bytes, len, is_end, out);
}

static void
end(void *stream)
{
	audit_stream_free(stream);
}

static const struct session_filter filter = { .begin = begin, .pass = pass, .end = end };

static bool
is_ours(const char *name)
{
	size_t len = strlen(name);

	return strncmp(name, "output-", 7) == 0 && len > 11 && strcmp(name + len - 4, ".log") == 0;
}

/* Best effort: a file that stays is removed another time. */
static void
prune(int dir_fd)
{
	const struct dirent *entry;
	struct stat st;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir HL_AUTO_DIR = fd >= 0 ? fdopendir(fd) : NULL;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (hl_dir_next(dir, &entry) > 0)
		if (is_ours(entry->d_name) &&
		    fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && time(NULL) - st.st_mtime > KEEP_SECONDS)
			unlinkat(dir_fd, entry->d_name, 0);
}

/* As it was made: outputs are the caller's alone. */
static int
check_private(int dir, const char *name, struct hl_err *err)
{
	struct stat st;

	if (fstat(dir, &st) != 0)
		return hl_err_sys(err, HLU_28, "cannot look at '%.300s'", name);
	if (st.st_uid == geteuid() && (st.st_mode & (S_IRWXG | S_IRWXO)) == 0)
		return 0;
	hl_err_set(err, HLU_28, "'%.300s' is open to others than its user", name);
	return hl_err_help(err, "chmod 700, or remove it: it is made anew");
}

int
spill_prepare(struct serve *serve, struct session_config *config, struct hl_err *err)
{
	const struct request *request = serve->run->request;
	int n = snprintf(serve->spill_dir, sizeof(serve->spill_dir), "%s/output",
	    serve->run->host.state_dir);

	if (!request->keeps_output)
		return 0;
	if (serve->run->audit == NULL)
		return hl_err_set(err, HLU_28,
		    "--spill needs the audit log, which knows what must not be written");
	if (n < 0 || (size_t)n >= sizeof(serve->spill_dir))
		return hl_err_set(err, HLU_28, "the state directory's name is too long");
	if (mkdir(serve->spill_dir, 0700) != 0 && errno != EEXIST)
		return hl_err_sys(err, HLU_28, "cannot make '%.300s'", serve->spill_dir);
	HL_AUTO_FD int dir =
	    open(serve->spill_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return hl_err_sys(err, HLU_28, "cannot open '%.300s'", serve->spill_dir);
	if (check_private(dir, serve->spill_dir, err) != 0)
		return -1;
	prune(dir);
	config->spill_dir = serve->spill_dir;
	config->filter = &filter;
	return 0;
}
