/*
 * Named sessions: the place of one below the state directory. Whether a session lives is told by a
 * lock and by nothing else, because the kernel drops it whichever way its keeper ends.
 */
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/keeper.h"

#include "base/banned.h"

enum {
	INFO_MAX = 16 * 1024,
	BACKLOG = 16
};

int
keeper_check_name(const char *name, struct hl_err *err)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		bool is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			       (c >= '0' && c <= '9') || c == '_' ||
			       (i > 0 && (c == '.' || c == '-'));
		if (is_good)
			continue;
		hl_err_set(err, HLU_21, "'%.80s' cannot be the name of a session", name);
		return hl_err_help(err, "use A-Z a-z 0-9 . _ -, and no dot or dash in front");
	}
	if (len == 0 || len > KEEPER_NAME_MAX)
		return hl_err_set(err, HLU_21, "the name of a session is 1 to %d characters",
		    KEEPER_NAME_MAX);
	return 0;
}

/* Ours, and nobody else's: what lies there decides whom we talk to. */
static int
check_dir(int fd, const char *name, struct hl_err *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return hl_err_sys(err, HLU_02, "cannot look at '%s'", name);
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return hl_err_set(err, HLA_02, "'%s' is not the caller's alone (mode 0700)", name);
	return 0;
}

int
keeper_root_open(const char *state_dir)
{
	HL_AUTO_FREE char *path = hl_path_normalise(state_dir, "sessions");

	if (path == NULL)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int
make_root(const char *state_dir, struct hl_err *err)
{
	HL_AUTO_FREE char *path = hl_path_normalise(state_dir, "sessions");

	if (path == NULL)
		return hl_err_oom(err);
	return hl_mkdirs(path, 0700, err);
}

static int
open_dir(const char *state_dir, const char *name, bool may_create, struct hl_err *err)
{
	if (may_create && make_root(state_dir, err) != 0)
		return -1;
	HL_AUTO_FD int root = keeper_root_open(state_dir);
	if (root < 0 && errno == ENOENT)
		return hl_err_set(err, HLU_24, "there is no session '%s'", name);
	if (root < 0)
		return hl_err_sys(err, HLU_02, "cannot open the sessions in '%.200s'", state_dir);
	if (check_dir(root, "sessions", err) != 0)
		return -1;
	if (may_create && mkdirat(root, name, 0700) != 0 && errno != EEXIST)
		return hl_err_sys(err, HLU_02, "cannot make the place of session '%s'", name);
	HL_AUTO_FD int dir = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT)
		return hl_err_set(err, HLU_24, "there is no session '%s'", name);
	if (dir < 0)
		return hl_err_sys(err, HLU_02, "cannot open session '%s'", name);
	return check_dir(dir, name, err) != 0 ? -1 : hl_take_fd(&dir);
}

/* The one who removed the directory had the lock of it: a lock of a file that is gone is none. */
static bool
is_there(const struct keeper_place *place)
{
	struct stat held, named;

	return fstat(place->lock, &held) == 0 &&
	       fstatat(place->dir, "lock", &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

enum purpose {
	TO_ASK,
	TO_USE, /* makes a lock where there is none */
	TO_MAKE /* and the place */
};

static int
open_place(const char *state_dir, const char *name, enum purpose purpose,
    struct keeper_place *ret_place, struct hl_err *err)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct keeper_place place = { .dir = -1, .lock = -1 };

	if (keeper_check_name(name, err) != 0)
		return -1;
	for (int i = 0; i < 100; i++) {
		place.dir = open_dir(state_dir, name, purpose == TO_MAKE, err);
		if (place.dir < 0)
			return -1;
		place.lock = openat(place.dir, "lock",
		    O_RDWR | O_NOFOLLOW | O_CLOEXEC | (purpose != TO_ASK ? O_CREAT : 0), 0600);
		if (place.lock < 0 && errno != ENOENT) {
			hl_err_sys(err, HLU_02, "cannot open the lock of session '%s'", name);
			keeper_place_close(&place);
			return -1;
		}
		place.is_ours = place.lock >= 0 && flock(place.lock, LOCK_EX | LOCK_NB) == 0;
		if (place.lock >= 0 && is_there(&place)) {
			*ret_place = place;
			return 0;
		}
		bool is_going = place.lock < 0;
		keeper_place_close(&place);
		if (is_going)
			nanosleep(&nap, NULL);
	}
	return hl_err_set(err, HLU_25, "session '%s' comes and goes", name);
}

int
keeper_place_open(const char *state_dir, const char *name, bool may_create,
    struct keeper_place *ret_place, struct hl_err *err)
{
	return open_place(state_dir, name, may_create ? TO_MAKE : TO_USE, ret_place, err);
}

int
keeper_place_look(const char *state_dir, const char *name, struct keeper_place *ret_place,
    struct hl_err *err)
{
	return open_place(state_dir, name, TO_ASK, ret_place, err);
}

void
keeper_place_close(struct keeper_place *place)
{
	if (place->dir >= 0)
		close(place->dir);
	if (place->lock >= 0)
		close(place->lock);
	place->dir = place->lock = -1;
}

void
keeper_place_remove(const char *state_dir, const char *name, struct keeper_place *place)
{
	static const char *const files[] = { "sock", "info", "info.new", "lock" };

	/* Whoever ended may have removed the lock already, and the next keeper stands there now. */
	if (!is_there(place))
		return;
	for (size_t i = 0; i < HL_ARRAY_SIZE(files); i++)
		if (unlinkat(place->dir, files[i], 0) != 0)
			continue; /* not every session got as far as all of them */
	HL_AUTO_FD int root = keeper_root_open(state_dir);
	if (root >= 0 && unlinkat(root, name, AT_REMOVEDIR) != 0)
		return; /* somebody makes a new one of this name in it */
}

/* ------------------------------------------------------------------------------------------------
 * The socket: named through the directory's descriptor, because a state directory may be deeper
 * than the 107 bytes of a socket's name (unix(7)).
 */
static void
fill_address(const struct keeper_place *place, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/sock", place->dir);
}

int
keeper_listen(const struct keeper_place *place, struct hl_err *err)
{
	struct sockaddr_un address;
	HL_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return hl_err_sys(err, HLI_02, "cannot make a socket");
	fill_address(place, &address);
	if (unlinkat(place->dir, "sock", 0) != 0 && errno != ENOENT)
		return hl_err_sys(err, HLU_02, "cannot remove the socket of a dead keeper");
	mode_t old = umask(0177);
	int status = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	umask(old);
	if (status != 0 || listen(fd, BACKLOG) != 0)
		return hl_err_sys(err, HLU_02, "cannot listen for the session");
	return hl_take_fd(&fd);
}

int
keeper_connect(const struct keeper_place *place)
{
	struct sockaddr_un address;
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	HL_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	fill_address(place, &address);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 || peer.uid != geteuid())
		return -1;
	return hl_take_fd(&fd);
}

/* ------------------------------------------------------------------------------------------------
 * info
 */
int
keeper_info_write(const struct keeper_place *place, const struct hl_buf *text, struct hl_err *err)
{
	HL_AUTO_FD int fd = openat(place->dir, "info.new",
	    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || hl_write_full(fd, text->data, text->len) != 0 ||
	    renameat(place->dir, "info.new", place->dir, "info") != 0)
		return hl_err_sys(err, HLU_02, "cannot write what is told of the session");
	return 0;
}

json_t *
keeper_info_read(const struct keeper_place *place)
{
	struct hl_err ignored;
	json_t *info = NULL;
	HL_AUTO(hl_buf_done) struct hl_buf text;
	HL_AUTO_FD int fd = openat(place->dir, "info", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	hl_buf_init(&text, INFO_MAX);
	if (fd < 0 || hl_read_file(fd, &text, "info", HLU_02, &ignored) != 0 ||
	    json_in_parse(text.data, text.len, &info, &ignored) != 0)
		return NULL;
	return info;
}
