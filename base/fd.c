/*
 * Descriptors: close-on-exec from birth, EINTR retried here and nowhere else.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"

#include "base/banned.h"

void
hl_close_ptr(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

int
hl_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

int
hl_fd_ensure_std(struct hl_err *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		/* The lowest free number is fd, since those below were found or filled. */
		if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
			return hl_err_sys(err, HLI_02, "cannot open '/dev/null' as descriptor %d",
			    fd);
	}
	return 0;
}

ssize_t
hl_read_full(int fd, void *bytes, size_t len)
{
	char *next = bytes;
	size_t left = len;

	while (left > 0) {
		ssize_t n = read(fd, next, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		next += n;
		left -= (size_t)n;
	}
	return (ssize_t)(len - left);
}

int
hl_write_full(int fd, const void *bytes, size_t len)
{
	const char *next = bytes;

	while (len > 0) {
		ssize_t n = write(fd, next, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		next += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A buffer that grows is copied, and wiped, each time: a file that says its size is read in one
 * piece, which may be less than there is. */
static ssize_t
read_piece(int fd, struct hl_buf *buf)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || st.st_size <= 0 || (uint64_t)st.st_size > buf->max - buf->len ||
	    !hl_buf_reserve(buf, (size_t)st.st_size))
		return 0;
	char *room = buf->data + buf->len;
	ssize_t n = hl_read_full(fd, room, (size_t)st.st_size);
	buf->len += n > 0 ? (size_t)n : 0;
	buf->data[buf->len] = '\0';
	return n;
}

int
hl_read_file(int fd, struct hl_buf *buf, const char *name, enum hl_code code, struct hl_err *err)
{
	char chunk[1024];

	if (read_piece(fd, buf) < 0)
		return hl_err_sys(err, code, "cannot read '%s'", name);
	for (;;) {
		ssize_t n = hl_read_full(fd, chunk, sizeof(chunk));
		if (n < 0)
			return hl_err_sys(err, code, "cannot read '%s'", name);
		hl_buf_put(buf, chunk, (size_t)n);
		if (buf->failed)
			return hl_err_set(err, code, "'%s' is longer than %zu bytes", name,
			    buf->max);
		if ((size_t)n < sizeof(chunk))
			return 0;
	}
}

int
hl_fd_set_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0);
}

int
hl_dir_next(DIR *dir, const struct dirent **ret_entry)
{
	errno = 0;
	*ret_entry = readdir(dir);
	return *ret_entry != NULL ? 1 : errno == 0 ? 0 : -1;
}

void
hl_close_dir(DIR **dir)
{
	int saved = errno;

	if (*dir != NULL)
		closedir(*dir);
	errno = saved;
}
