/*
 * Who the sandbox is: groups, namespaces' own settings, user and groups, capabilities,
 * no_new_privs.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "confine/apply/apply.h"
#include "confine/apply/sys.h"

#include "base/banned.h"

/* By itself, not by the launcher: "0" is the writer (cgroups(7)), and it alone is cheap to move. */
int
apply_groups(struct apply *apply)
{
	for (size_t i = 0; i < apply->confinement->groups_len; i++) {
		const char *path = apply->confinement->groups[i];
		HL_AUTO_FD int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			return apply_fail(apply, CONFINE_STEP_GROUPS, path);
	}
	return 0;
}

int
apply_cgroup_ns(struct apply *apply)
{
	if (unshare(CLONE_NEWCGROUP) != 0)
		return apply_fail(apply, CONFINE_STEP_CGROUP, "");
	return 0;
}

int
apply_hostname(struct apply *apply)
{
	const char *name = apply->confinement->hostname;

	if (sethostname(name, strlen(name)) != 0)
		return apply_fail(apply, CONFINE_STEP_HOSTNAME, name);
	return 0;
}

int
apply_keyring(struct apply *apply)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL, 0, 0, 0) < 0)
		return apply_fail(apply, CONFINE_STEP_KEYRING, "");
	return 0;
}

int
apply_bounding(struct apply *apply)
{
	uint64_t keep = apply->confinement->caps_bounding;

	/* Numbers past the kernel's last capability answer EINVAL. */
	for (unsigned cap = 0; cap < 64; cap++) {
		if ((keep >> cap & 1) != 0)
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL && cap > 0)
			break;
		return apply_fail(apply, CONFINE_STEP_BOUNDING, "");
	}
	return 0;
}

unsigned
apply_securebits_wanted(const struct confinement *confinement)
{
	unsigned bits = SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED |
			SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
			SECBIT_NOROOT_LOCKED;

	/* A command that is root gets its capabilities from exec's rule for user 0; any other gets
	 * none from being, or becoming, user 0. */
	if (confinement->caps_effective == 0)
		bits |= SECBIT_NOROOT;
	return bits;
}

int
apply_securebits(struct apply *apply)
{
	unsigned long bits = apply_securebits_wanted(apply->confinement);

	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) != 0)
		return apply_fail(apply, CONFINE_STEP_SECUREBITS, "");
	return 0;
}

/* A user namespace that an ordinary user made must deny setgroups (user_namespaces(7)); then the
 * caller's groups cannot be left, by anybody. A caller who holds CAP_SETGID meets EPERM nowhere
 * else, so that this is the one refusal that is no fault. */
static int
leave_groups(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (getgroups(0, NULL) == 0 || setgroups(0, NULL) == 0)
		return 0;
	int saved = errno;
	if (saved == EPERM && syscall(SYS_capget, &header, data) == 0 &&
	    (data[0].effective & 1U << CAP_SETGID) != 0)
		return 0;
	errno = saved;
	return -1;
}

int
apply_identity(struct apply *apply)
{
	uid_t uid = apply->confinement->uid, uids[3];
	gid_t gid = apply->confinement->gid, gids[3];

	if (leave_groups() != 0)
		return apply_fail(apply, CONFINE_STEP_IDENTITY, "groups");
	if (syscall(SYS_setresgid, gid, gid, gid) != 0 ||
	    getresgid(&gids[0], &gids[1], &gids[2]) != 0)
		return apply_fail(apply, CONFINE_STEP_IDENTITY, "group");
	/* Not setresuid(3), which stops threads first: there are none. */
	if (syscall(SYS_setresuid, uid, uid, uid) != 0 ||
	    getresuid(&uids[0], &uids[1], &uids[2]) != 0)
		return apply_fail(apply, CONFINE_STEP_IDENTITY, "user");
	for (int i = 0; i < 3; i++)
		if (uids[i] != uid || gids[i] != gid) {
			errno = EPERM;
			return apply_fail(apply, CONFINE_STEP_IDENTITY, "user");
		}
	return 0;
}

int
apply_caps(struct apply *apply)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	uint64_t caps = apply->confinement->caps_effective;
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)caps, .permitted = (uint32_t)caps },
		{ .effective = (uint32_t)(caps >> 32), .permitted = (uint32_t)(caps >> 32) },
	};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return apply_fail(apply, CONFINE_STEP_CAPS, "ambient");
	if (syscall(SYS_capset, &header, data) != 0)
		return apply_fail(apply, CONFINE_STEP_CAPS, "");
	return 0;
}

int
apply_no_new_privs(struct apply *apply)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return apply_fail(apply, CONFINE_STEP_NO_NEW_PRIVS, "");
	return 0;
}
