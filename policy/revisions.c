/*
 * The memory of revisions: read whole or not at all, written to a file beside it that then takes
 * its name (rename(2)), so that a crash leaves the old or the new one.
 */
#include "policy/revisions.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

static const char file_name[] = "revisions";
static const char new_name[] = "revisions.new";
static const char lock_name[] = "revisions.lock";
static const char head[] = "hermes-launch/revisions/v1\n";

enum {
	/* An id, a space, sixteen digits and a newline each. */
	FILE_MAX = REVISIONS_MAX * (NOTE_POLICY_ID_MAX + 24) + 64,
	/* Whoever holds the lock writes one small file; this is for a crowd, and a stopped one. */
	LOCK_WAIT_MS = 5 * 1000,
};

void
policy_revisions_done(struct revisions *revisions)
{
	free(revisions->v);
	*revisions = (struct revisions){ 0 };
}

/* ------------------------------------------------------------------------------------------------
 * Text
 */
static bool
parse_line(const char *line, size_t len, struct revision *ret_revision)
{
	const char *space = memchr(line, ' ', len);
	char number[24];
	struct hl_err ignored = { 0 };

	if (space == NULL || space == line)
		return false;
	size_t id_len = (size_t)(space - line), rest = len - id_len - 1;
	if (id_len > NOTE_POLICY_ID_MAX || rest >= sizeof(number) ||
	    memchr(line, '\0', len) != NULL)
		return false;
	memcpy(ret_revision->id, line, id_len);
	ret_revision->id[id_len] = '\0';
	memcpy(number, space + 1, rest);
	number[rest] = '\0';
	return hl_parse_u64(number, 1, POLICY_REVISION_MAX, &ret_revision->revision, &ignored) == 0;
}

static int
damaged(struct hl_err *err)
{
	hl_err_set(err, HLS_14, "the file '%s' in the state directory is damaged", file_name);
	return hl_err_help(err, "the audit log's policy.load events tell what it should say");
}

int
policy_revisions_parse(const char *text, size_t len, struct revisions *ret_revisions,
    struct hl_err *err)
{
	struct revisions all = { 0 };
	size_t head_len = sizeof(head) - 1;
	const char *at = text + head_len, *end = text + len;

	if (len < head_len || memcmp(text, head, head_len) != 0 || text[len - 1] != '\n')
		return damaged(err);
	all.v = calloc(REVISIONS_MAX, sizeof(*all.v));
	if (all.v == NULL)
		return hl_err_oom(err);
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		bool is_good =
		    newline != NULL && all.len < REVISIONS_MAX &&
		    parse_line(at, (size_t)(newline - at), &all.v[all.len]) &&
		    (all.len == 0 || strcmp(all.v[all.len - 1].id, all.v[all.len].id) < 0);
		if (!is_good) {
			policy_revisions_done(&all);
			return damaged(err);
		}
		all.len++;
		at = newline + 1;
	}
	*ret_revisions = all;
	return 0;
}

static int
compare_ids(const void *id, const void *revision)
{
	return strcmp(id, ((const struct revision *)revision)->id);
}

static struct revision *
find(const struct revisions *revisions, const char *id)
{
	return revisions->len > 0
		   ? bsearch(id, revisions->v, revisions->len, sizeof(*revisions->v), compare_ids)
		   : NULL;
}

uint64_t
policy_revisions_of(const struct revisions *revisions, const char *id)
{
	const struct revision *found = find(revisions, id);

	return found != NULL ? found->revision : 0;
}

/* ------------------------------------------------------------------------------------------------
 * The file
 */
/* *ret_dir: -1 when there is none. */
static int
open_dir(const char *state_dir, int *ret_dir, struct hl_err *err)
{
	struct stat st;
	int fd HL_AUTO_FD = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret_dir = -1;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) != 0)
		return hl_err_sys(err, HLS_14, "cannot open '%s'", state_dir);
	/* Who can write there can make us forget. */
	if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return hl_err_set(err, HLS_14, "others can write in the state directory '%s'",
		    state_dir);
	*ret_dir = hl_take_fd(&fd);
	return 0;
}

static int
read_at(int dir, struct revisions *ret_revisions, struct hl_err *err)
{
	HL_AUTO(hl_buf_done) struct hl_buf bytes = { 0 };
	struct stat st;

	hl_buf_init(&bytes, FILE_MAX);
	int fd HL_AUTO_FD =
	    openat(dir, file_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT) {
		*ret_revisions = (struct revisions){ 0 };
		return 0;
	}
	if (fd < 0)
		return hl_err_sys(err, HLS_14, "cannot open the state's '%s'", file_name);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 || (st.st_uid != geteuid() && st.st_uid != 0))
		return hl_err_set(err, HLS_14, "the state's '%s' is no file of ours alone",
		    file_name);
	if (hl_read_file(fd, &bytes, file_name, HLS_14, err) != 0)
		return -1;
	return policy_revisions_parse(bytes.len > 0 ? bytes.data : "", bytes.len, ret_revisions,
	    err);
}

int
policy_revisions_read(const char *state_dir, struct revisions *ret_revisions, struct hl_err *err)
{
	int dir HL_AUTO_FD = -1;

	if (open_dir(state_dir, &dir, err) != 0)
		return -1;
	if (dir >= 0)
		return read_at(dir, ret_revisions, err);
	*ret_revisions = (struct revisions){ 0 };
	return 0;
}

/* At its place in the order. */
static int
insert(struct revisions *all, const struct revision *new, struct hl_err *err)
{
	size_t at = 0;

	if (all->len == REVISIONS_MAX)
		return hl_err_set(err, HLS_14, "more than %d signed policies were seen",
		    REVISIONS_MAX);
	if (all->v == NULL)
		all->v = calloc(REVISIONS_MAX, sizeof(*all->v));
	if (all->v == NULL)
		return hl_err_oom(err);
	while (at < all->len && strcmp(all->v[at].id, new->id) < 0)
		at++;
	memmove(&all->v[at + 1], &all->v[at], (all->len - at) * sizeof(*all->v));
	all->v[at] = *new;
	all->len++;
	return 0;
}

static int
raise_all(struct revisions *all, const struct revision *seen, size_t n, bool *ret_is_changed,
    struct hl_err *err)
{
	*ret_is_changed = false;
	for (size_t i = 0; i < n; i++) {
		struct revision *known = find(all, seen[i].id);
		if (known != NULL && known->revision >= seen[i].revision)
			continue;
		*ret_is_changed = true;
		if (known != NULL)
			known->revision = seen[i].revision;
		else if (insert(all, &seen[i], err) != 0)
			return -1;
	}
	return 0;
}

static int
write_at(int dir, const struct revisions *all, struct hl_err *err)
{
	HL_AUTO(hl_buf_done) struct hl_buf text = { 0 };

	hl_buf_init(&text, FILE_MAX);
	hl_buf_puts(&text, head);
	for (size_t i = 0; i < all->len; i++)
		hl_buf_putf(&text, "%s %llu\n", all->v[i].id,
		    (unsigned long long)all->v[i].revision);
	if (hl_buf_check(&text, file_name, err) != 0)
		return -1;
	/* What a crash has left; we hold the lock. */
	(void)unlinkat(dir, new_name, 0);
	int fd HL_AUTO_FD =
	    openat(dir, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || hl_write_full(fd, text.data, text.len) != 0 || fsync(fd) != 0 ||
	    renameat(dir, new_name, dir, file_name) != 0 || fsync(dir) != 0)
		return hl_err_sys(err, HLS_14, "cannot write the state's '%s'", file_name);
	return 0;
}

/* The lock goes with its descriptor. Never a blocking flock(2): a holder that was stopped (SIGSTOP)
 * would stop everybody for ever. */
static int
open_lock(int dir, struct hl_err *err)
{
	static const struct timespec nap = { 0, 5000000 };
	const uint64_t end_ms = hl_now_mono_ms() + LOCK_WAIT_MS;
	int fd HL_AUTO_FD = openat(dir, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return hl_err_sys(err, HLS_14, "cannot lock the state's '%s'", file_name);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return hl_err_sys(err, HLS_14, "cannot lock the state's '%s'", file_name);
		if (hl_now_mono_ms() >= end_ms)
			return hl_err_set(err, HLS_14,
			    "the state's '%s' is locked by another process", file_name);
		nanosleep(&nap, NULL);
	}
	return hl_take_fd(&fd);
}

static int
raise_at(int dir, const struct revision *seen, size_t n, struct hl_err *err)
{
	struct revisions all = { 0 };
	bool is_changed = false;
	int lock HL_AUTO_FD = open_lock(dir, err);

	if (lock < 0 || read_at(dir, &all, err) != 0)
		return -1;
	int status = raise_all(&all, seen, n, &is_changed, err);
	if (status == 0 && is_changed)
		status = write_at(dir, &all, err);
	policy_revisions_done(&all);
	return status;
}

int
policy_revisions_raise(const char *state_dir, const struct revision *seen, size_t n,
    struct hl_err *err)
{
	struct revisions all = { 0 };
	bool is_changed = true;
	int dir HL_AUTO_FD = -1;

	if (n == 0)
		return 0;
	/* As a rule there is nothing to write, and no lock to wait for. */
	if (policy_revisions_read(state_dir, &all, err) != 0)
		return -1;
	int status = raise_all(&all, seen, n, &is_changed, err);
	policy_revisions_done(&all);
	if (status != 0 || !is_changed)
		return status;
	if (hl_mkdirs(state_dir, 0700, err) != 0 || open_dir(state_dir, &dir, err) != 0)
		return -1;
	return dir >= 0 ? raise_at(dir, seen, n, err)
			: hl_err_set(err, HLS_14, "the state directory '%s' vanished", state_dir);
}
