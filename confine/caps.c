/*
 * Names of capabilities. A table of ours, in the kernel's order: libcap allocates every name it
 * gives, and this one is asked for at each start. A test compares it with libcap's.
 */
#include <string.h>
#include <strings.h>

#include "confine/confine.h"

#include "base/banned.h"

static const char *const names[] = { "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID",
	"KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE",
	"NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO",
	"SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
	"SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE",
	"AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM",
	"BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE" };

const char *
confine_cap_name(unsigned number)
{
	return number < HL_ARRAY_SIZE(names) ? names[number] : NULL;
}

int
confine_cap_parse(const char *name, uint64_t *ret_mask, struct hl_err *err)
{
	const char *bare = strncasecmp(name, "CAP_", 4) == 0 ? name + 4 : name;
	char upper[32];
	size_t len = strlen(bare);

	for (unsigned i = 0; i < HL_ARRAY_SIZE(names); i++)
		if (strcasecmp(bare, names[i]) == 0) {
			*ret_mask = (uint64_t)1 << i;
			return 0;
		}
	hl_err_set(err, HLU_01, "'%.64s' is not a capability", name);
	/* A slip of the pen is mended case-free as well. */
	if (len < sizeof(upper)) {
		for (size_t i = 0; i <= len; i++)
			upper[i] = (char)(bare[i] >= 'a' && bare[i] <= 'z' ? bare[i] - 'a' + 'A'
									   : bare[i]);
		const char *near = hl_nearest(upper, names, HL_ARRAY_SIZE(names));
		if (near != NULL)
			return hl_err_help(err, "did you mean '%s'?", near);
	}
	return hl_err_help(err, "see capabilities(7)");
}
