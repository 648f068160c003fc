/*
 * /proc/self/mountinfo against the plan, mount by mount: also those that came along with a
 * recursive bind. A line is judged by the operation that governs its place; a mount that no
 * operation explains is a fault.
 */
#include <errno.h>
#include <string.h>

#include "confine/apply/apply.h"
#include "confine/apply/verify.h"

#include "base/banned.h"

/* The nth field (from 1) of a line of fields with one space between; NUL-terminated in place. */
static char *
field(char *line, unsigned nth)
{
	for (unsigned i = 1; i < nth; i++) {
		line = strchr(line, ' ');
		if (line == NULL)
			return NULL;
		line++;
	}
	return line;
}

/* The kernel writes space, tab, newline and backslash as \ooo. */
static void
unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
		    from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

bool
verify_has_option(const char *options, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = options; at != NULL; at = strchr(at, ',')) {
		if (*at == ',')
			at++;
		if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == '\0'))
			return true;
	}
	return false;
}

/* Below a DEV operation only the two file systems of ours may be written. */
static bool
may_write(const struct confine_op *op, const char *place)
{
	size_t len = strlen(op->dst);

	switch (op->kind) {
	case CONFINE_OP_BIND:
	case CONFINE_OP_TMPFS:
		return (op->flags & CONFINE_OP_RDONLY) == 0;
	case CONFINE_OP_PROC:
		return place[len] == '\0';
	case CONFINE_OP_DEV:
		return strcmp(place + len, "/pts") == 0 || strcmp(place + len, "/shm") == 0;
	case CONFINE_OP_MASK:
	case CONFINE_OP_DIR:
	case CONFINE_OP_SYMLINK:
	case CONFINE_OP_MAX:
		break;
	}
	return false;
}

/* A device has to be one where the device operation put it; in shm everybody writes. */
static bool
may_have_devices(const struct confine_op *op, const char *place)
{
	const char *name = place + strlen(op->dst);

	if (op->kind == CONFINE_OP_BIND)
		return (op->flags & CONFINE_OP_DEVICE) != 0 && *name == '\0';
	return op->kind == CONFINE_OP_DEV && *name == '/' && strcmp(name, "/shm") != 0;
}

static bool
must_be_noexec(const struct confine_op *op)
{
	if (op->kind == CONFINE_OP_BIND || op->kind == CONFINE_OP_TMPFS)
		return (op->flags & CONFINE_OP_NOEXEC) != 0;
	return true;
}

static bool
satisfies(const struct confine_op *op, const char *place, const char *options)
{
	bool is_device = op->kind == CONFINE_OP_BIND && (op->flags & CONFINE_OP_DEVICE) != 0;

	/* A device that nobody could open would be there by name only. */
	if (is_device && verify_has_option(options, "nodev"))
		return false;
	return verify_has_option(options, "nosuid") &&
	       (verify_has_option(options, "nodev") || may_have_devices(op, place)) &&
	       (verify_has_option(options, "ro") || may_write(op, place)) &&
	       (verify_has_option(options, "noexec") || !must_be_noexec(op));
}

/* An operation counts as done when a mount at its place has what it asked for. */
static void
note_seen(struct verify_mounts *mounts, const char *place, const char *options)
{
	const struct confinement *confinement = mounts->confinement;

	for (size_t i = 0; i < confinement->ops_len; i++)
		if (strcmp(confinement->ops[i].dst, place) == 0 &&
		    satisfies(&confinement->ops[i], place, options))
			mounts->seen[i / 8] |= (unsigned char)(1 << (i % 8));
}

/* Of operations at one place the later covers the earlier, and mounts that came with a recursive
 * bind may be covered as a whole; all of them are listed. One that could have put it there fits. */
static bool
is_explained(const struct confinement *confinement, const struct confine_op *governing,
    const char *place, const char *options)
{
	for (size_t i = 0; i < confinement->ops_len; i++) {
		const struct confine_op *op = &confinement->ops[i];
		if (op->kind == CONFINE_OP_DIR || op->kind == CONFINE_OP_SYMLINK)
			continue;
		bool is_there = strcmp(op->dst, governing->dst) == 0;
		bool is_above = op->kind == CONFINE_OP_BIND &&
				(op->flags & CONFINE_OP_RECURSIVE) != 0 &&
				apply_is_beneath(place, op->dst);
		if ((is_there || is_above) && satisfies(op, place, options))
			return true;
	}
	return false;
}

/* A mount that an engine made: asked for, or one of its own. */
static int
check_seen(struct verify_mounts *mounts, const struct verify_mount *mount,
    struct confine_failure *ret_failure)
{
	const struct confinement *confinement = mounts->confinement;
	const char *subject = NULL;

	if (!verify_seen_mount(confinement, mount, &subject))
		return verify_differs(ret_failure, subject);
	for (size_t i = 0; i < confinement->ops_len; i++)
		if (strcmp(confinement->ops[i].dst, mount->place) == 0)
			mounts->seen[i / 8] |= (unsigned char)(1 << (i % 8));
	if (strcmp(mount->place, "/proc/sys") == 0)
		mounts->has_read_only_sys = verify_has_option(mount->options, "ro");
	return 0;
}

static int
check_line(struct verify_mounts *mounts, struct confine_failure *ret_failure)
{
	/* id parent major:minor root place options ... */
	char *root = field(mounts->line, 4);
	char *place = root != NULL ? strchr(root, ' ') : NULL;
	char *options = place != NULL ? strchr(place + 1, ' ') : NULL;

	if (options == NULL)
		return verify_differs(ret_failure, "/proc/self/mountinfo");
	*place++ = '\0';
	*options++ = '\0';
	char *end = strchr(options, ' ');
	if (end != NULL)
		*end = '\0';
	unescape(place);
	if ((mounts->confinement->flags & CONFINE_SEEN_MOUNTS) != 0) {
		const struct verify_mount mount = { root, place, options,
			end != NULL ? end + 1 : "" };
		return check_seen(mounts, &mount, ret_failure);
	}
	const struct confine_op *op =
	    apply_governing(mounts->confinement, mounts->confinement->ops_len, place);
	bool is_fine;
	if (op == NULL)
		is_fine = strcmp(place, "/") == 0 && verify_has_option(options, "ro") &&
			  verify_has_option(options, "nosuid") &&
			  verify_has_option(options, "nodev");
	else
		is_fine = is_explained(mounts->confinement, op, place, options);
	/* A second mount at "/" would be the old root, or a part of it, left behind. */
	bool is_root = strcmp(place, "/") == 0;
	if (!is_fine || (is_root && mounts->has_root))
		return verify_differs(ret_failure, op != NULL ? op->dst : "/");
	mounts->has_root = mounts->has_root || is_root;
	note_seen(mounts, place, options);
	if (op != NULL && op->kind == CONFINE_OP_PROC && verify_has_option(options, "ro") &&
	    strcmp(place + strlen(op->dst), "/sys") == 0)
		mounts->has_read_only_sys = true;
	return 0;
}

int
verify_mounts_feed(struct verify_mounts *mounts, const char *bytes, size_t len,
    struct confine_failure *ret_failure)
{
	for (size_t at = 0; at < len;) {
		const char *newline = memchr(bytes + at, '\n', len - at);
		size_t n = newline != NULL ? (size_t)(newline - (bytes + at)) : len - at;
		if (n >= sizeof(mounts->line) - mounts->len)
			return verify_differs(ret_failure, "/proc/self/mountinfo");
		memcpy(mounts->line + mounts->len, bytes + at, n);
		mounts->len += n;
		at += n;
		if (newline == NULL)
			break;
		at++;
		mounts->line[mounts->len] = '\0';
		mounts->len = 0;
		if (check_line(mounts, ret_failure) != 0)
			return -1;
	}
	return 0;
}

int
verify_mounts_end(const struct verify_mounts *mounts, struct confine_failure *ret_failure)
{
	const struct confinement *confinement = mounts->confinement;

	/* Without a cover the kernel's settings are open to whoever may write them. */
	if ((confinement->flags & CONFINE_SEEN_MOUNTS) != 0 && !mounts->has_read_only_sys)
		return verify_differs(ret_failure, "/proc/sys");
	for (size_t i = 0; i < confinement->ops_len; i++) {
		const struct confine_op *op = &confinement->ops[i];
		if (op->kind == CONFINE_OP_DIR || op->kind == CONFINE_OP_SYMLINK ||
		    (op->kind == CONFINE_OP_MASK && (op->flags & CONFINE_OP_OPTIONAL) != 0))
			continue;
		if ((mounts->seen[i / 8] & 1 << (i % 8)) == 0)
			return verify_differs(ret_failure, op->dst);
		if (op->kind == CONFINE_OP_PROC && (op->flags & CONFINE_OP_SUBSET) == 0 &&
		    !mounts->has_read_only_sys)
			return verify_differs(ret_failure, "/proc/sys");
	}
	return 0;
}
