/*
 * A spill file: all of an output that the window could not hold, for a person to look at later.
 * Made exclusively and without following links, readable by its owner only, never longer than its
 * limit, and filtered, because it outlives the run that knows which values must not be written
 * down.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/machine.h"

#include "base/banned.h"

struct spill {
	int fd;
	uint64_t left; /* bytes that it may still grow by */
	bool is_cut;
	const struct session_filter *filter;
	void *stream; /* of the filter */
};

enum {
	FILTERED_MAX = 4 * SESSION_IN_MAX
};

static int
make_file(const char *dir, char **ret_path)
{
	char id[HL_ULID_SIZE], *path = NULL;
	struct hl_err err;

	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir_fd < 0)
		return -1;
	int fd = -1;
	if (hl_ulid(id, &err) == 0 && asprintf(&path, "%s/output-%s.log", dir, id) >= 0) {
		fd = openat(dir_fd, path + strlen(dir) + 1,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			*ret_path = path;
		else
			free(path);
	}
	close(dir_fd);
	return fd;
}

struct spill *
spill_open(const struct session_config *config, char **ret_path)
{
	struct spill *spill = calloc(1, sizeof(*spill));

	if (spill == NULL)
		return NULL;
	spill->filter = config->filter;
	spill->left = config->spill_bytes > 0 ? config->spill_bytes : SESSION_SPILL_BYTES;
	if (spill->filter != NULL)
		spill->stream = spill->filter->begin(config->context);
	if (spill->filter == NULL || spill->stream != NULL)
		spill->fd = make_file(config->spill_dir, ret_path);
	else
		spill->fd = -1;
	if (spill->fd >= 0)
		return spill;
	if (spill->stream != NULL)
		spill->filter->end(spill->stream);
	free(spill);
	return NULL;
}

static void
store(struct spill *spill, const char *bytes, size_t len)
{
	if (len > spill->left) {
		len = (size_t)spill->left;
		spill->is_cut = true;
	}
	if (len == 0)
		return;
	if (hl_write_full(spill->fd, bytes, len) == 0) {
		spill->left -= len;
		return;
	}
	/* The disk is full: what stands there stays, and nothing more is tried. */
	spill->is_cut = true;
	spill->left = 0;
}

static void
pass(struct spill *spill, const char *bytes, size_t len, bool is_end)
{
	struct hl_buf out;

	hl_buf_init(&out, FILTERED_MAX);
	if (spill->filter->pass(spill->stream, bytes, len, is_end, &out) != 0 || out.failed) {
		spill->is_cut = true;
		spill->left = 0;
	} else {
		store(spill, out.data, out.len);
	}
	hl_buf_done_secret(&out);
}

void
spill_put(struct spill *spill, const char *bytes, size_t len)
{
	if (spill->left == 0) {
		spill->is_cut = spill->is_cut || len > 0;
		return;
	}
	if (spill->filter == NULL)
		store(spill, bytes, len);
	else
		pass(spill, bytes, len, false);
}

bool
spill_close(struct spill *spill)
{
	if (spill->filter != NULL) {
		/* What the filter still holds is missing too where there is no room for it. */
		if (!spill->is_cut)
			pass(spill, "", 0, true);
		spill->filter->end(spill->stream);
	}
	if (close(spill->fd) != 0)
		spill->is_cut = true;
	bool is_cut = spill->is_cut;
	free(spill);
	return is_cut;
}
