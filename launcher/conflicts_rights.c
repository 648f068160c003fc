/*
 * Conflicts: engine options about privileges, namespaces, users, the network and the rest of what
 * is not a number. Every rule knows the few values whose meaning is certain; any other is a value
 * that cannot be compared, and so a conflict. Nothing here is a list of what is bad.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "launcher/conflicts_parts.h"

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * Capabilities
 */
/* What one of them is good for; the others have the control's own sentence. Sorted. */
static const struct {
	const char *name;
	const char *effect;
} cap_effects[] = {
	{ "ALL", "do whatever root on the host can" },
	{ "BPF", "load programs into the kernel" },
	{ "DAC_READ_SEARCH", "open files of the host past every permission and mount" },
	{ "MAC_ADMIN", "change the security module's policy" },
	{ "MKNOD", "make device files" },
	{ "NET_ADMIN", "change routes, addresses and the firewall" },
	{ "NET_RAW", "send forged packets" },
	{ "SETFCAP", "give programs capabilities for others to run" },
	{ "SYS_ADMIN", "mount file systems and leave its namespaces" },
	{ "SYS_BOOT", "restart the host" },
	{ "SYS_MODULE", "load modules into the host's kernel" },
	{ "SYS_PTRACE", "read and change other processes" },
	{ "SYS_RAWIO", "write to the host's hardware" },
	{ "SYS_TIME", "set the host's clock" },
};

static const char *
cap_effect(const char *name)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(cap_effects); i++) {
		if (strcmp(cap_effects[i].name, name) == 0)
			return cap_effects[i].effect;
	}
	return NULL;
}

/* Engines take names in any case, with CAP_ or without. */
static int
cap_name(const char *text, char name[40])
{
	size_t len;

	if (strncasecmp(text, "CAP_", 4) == 0)
		text += 4;
	len = strlen(text);
	if (len == 0 || len >= 40)
		return -1;
	for (size_t i = 0; i <= len; i++) {
		char c = text[i];

		name[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
	}
	return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == len ? 0 : -1;
}

int
rule_cap_add(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	struct cause cause = { .cause = CAUSE_LOOSER, .control = setting->control };
	char name[40];

	if (cap_name(setting->value, name) == -1)
		return engine_opaque(judge, ask, setting, setting->control);
	if (strcmp(name, "ALL") == 0) {
		cause.effect = cap_effect(name);
		return engine_conflict(judge, ask, setting, &cause);
	}
	return judge_field_with(judge, ask, POLICY_PROCESS_CAPS, name, cap_effect(name));
}

int
rule_cap_drop(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	const struct policy_value *caps = policy_get(judge->policy, POLICY_PROCESS_CAPS);
	struct hl_origin origin = ask_origin(ask);
	enum conflict_action action = CONFLICT_WON;
	bool is_there = false;
	char name[40];

	if (cap_name(setting->value, name) == -1)
		return engine_opaque(judge, ask, setting, setting->control);
	for (size_t i = 0; i < caps->items_len; i++)
		is_there |= strcmp(name, "ALL") == 0 || strcmp(caps->items[i].text, name) == 0;
	if (!is_there) {
		conflict_note(judge, ask, "changes nothing: the policy does not give it");
		return 0;
	}
	if (conflict_is_locked(judge, ask, setting->control, &action)) {
		if (action != CONFLICT_WON)
			return 0;
	} else {
		judge->out->tightened++;
	}
	return policy_withdraw(judge->policy, POLICY_PROCESS_CAPS,
	    strcmp(name, "ALL") == 0 ? NULL : name, &origin, judge->err);
}

int
rule_cap_none(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	struct engine_setting all = *setting;

	if (strcmp(setting->value, "false") == 0) {
		conflict_note(judge, ask, "changes nothing");
		return 0;
	}
	all.value = "ALL";
	return rule_cap_drop(judge, ask, &all);
}

/* ------------------------------------------------------------------------------------------------
 * --device
 */
/* Letters of docker's rights. Ours are always "rw": what asks for less cannot be said. */
static bool
is_read_write(const char *rights)
{
	return strspn(rights, "rwm") == strlen(rights) && strchr(rights, 'r') != NULL &&
	       strchr(rights, 'w') != NULL;
}

/* "HOST[:INSIDE][:RIGHTS]": the path when it is to be the same inside, with the usual rights. */
static bool
device_path(const char *value, char path[256])
{
	size_t len = strcspn(value, ":");
	const char *rest = value + len;

	if (len >= 256)
		return false;
	memcpy(path, value, len);
	path[len] = '\0';
	if (rest[0] == ':' && strncmp(rest + 1, path, len) == 0 &&
	    (rest[len + 1] == ':' || rest[len + 1] == '\0'))
		rest += len + 1;
	return rest[0] == '\0' || is_read_write(rest + 1);
}

/* A device is no setting that a bound which nobody wrote lets through: it has to be in the list. */
static int
judge_device(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const char *member)
{
	const struct policy_value *value = policy_get(judge->policy, POLICY_FS_DEVICES);
	struct cause cause = { .cause = CAUSE_LOOSER, .control = setting->control };
	struct policy_judgement judgement;
	struct hl_origin origin = ask_origin(ask);
	struct hl_err ignored = { 0 };

	if (policy_judge(judge->policy, POLICY_FS_DEVICES, member, &judgement, &ignored) != 0)
		return engine_looser(judge, ask, setting, setting->control);
	if (judgement.verdict != POLICY_TIGHTER || value->is_bounded)
		return judge_field(judge, ask, POLICY_FS_DEVICES, member);
	if (conflict_add(judge, ask, &cause, NULL) != CONFLICT_WON)
		return 0;
	return policy_apply(judge->policy, POLICY_FS_DEVICES,
	    &(struct policy_change){ NULL, member, &origin }, judge->err);
}

/* "gpu:" and len bytes of what an engine calls one: a number or "all". */
static bool
gpu_member(const char *which, size_t len, char member[32])
{
	if (len == 0 || len > 8)
		return false;
	snprintf(member, 32, POLICY_GPU "%.*s", (int)len, which);
	return strcmp(member, POLICY_GPU_ALL) == 0 || strspn(which, "0123456789") >= len;
}

int
rule_device(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	static const char described[] = "nvidia.com/gpu=";
	const char *which = setting->value + strlen(described);
	char path[256], member[32];

	/* A name of the Container Device Interface for what fs.devices calls "gpu:0". */
	if (strncmp(setting->value, described, strlen(described)) == 0 &&
	    gpu_member(which, strlen(which), member))
		return judge_device(judge, ask, setting, member);
	if (!device_path(setting->value, path))
		return engine_looser(judge, ask, setting, setting->control);
	return judge_device(judge, ask, setting, path);
}

/* "all", "device=0", and as CSV has it "\"device=0,1\"". How many without saying which, other
 * drivers and what one of them can do are no members of fs.devices. */
int
rule_gpus(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	static const char by_name[] = "device=";
	const char *value = setting->value;
	size_t len = strlen(value);
	char member[32];

	if (strcmp(value, "all") == 0)
		return judge_device(judge, ask, setting, POLICY_GPU_ALL);
	bool is_quoted = len > 2 && value[0] == '"' && value[len - 1] == '"';
	if (is_quoted) {
		value++;
		len -= 2;
	}
	if (len <= strlen(by_name) || strncmp(value, by_name, strlen(by_name)) != 0)
		return engine_looser(judge, ask, setting, setting->control);
	const char *end = value + len;
	for (const char *at = value + strlen(by_name); at <= end;) {
		size_t n = strcspn(at, ",");
		n = n < (size_t)(end - at) ? n : (size_t)(end - at);
		bool is_list = at[n] == ',' && at + n < end;
		if ((is_list && !is_quoted) || !gpu_member(at, n, member))
			return engine_looser(judge, ask, setting, setting->control);
		if (judge_device(judge, ask, setting, member) != 0)
			return -1;
		at += n + 1;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * --security-opt
 */
static int
security_no_new_privs(struct judge *judge, const struct ask *ask,
    const struct engine_setting *setting, const char *value)
{
	bool is_true = true;

	if (value != NULL && engine_bool(value, &is_true) == -1)
		return engine_opaque(judge, ask, setting, "process.no_new_privs");
	return judge_field(judge, ask, POLICY_PROCESS_NO_NEW_PRIVS, is_true ? "true" : "false");
}

static int
security_seccomp(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const char *value)
{
	if (value == NULL || strcmp(value, "unconfined") != 0)
		return engine_opaque(judge, ask, setting, "process.seccomp.profile");
	/* No profile at all is no profile that denies a call more. */
	if (policy_get(judge->policy, POLICY_PROCESS_SECCOMP_DENY)->items_len > 0 ||
	    policy_get(judge->policy, POLICY_PROCESS_SECCOMP_FILES)->items_len > 0)
		return engine_opaque(judge, ask, setting, "process.seccomp.profile");
	return judge_field(judge, ask, POLICY_PROCESS_SECCOMP_PROFILE, "none");
}

static int
security_apparmor(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const char *value)
{
	if (value != NULL && strcmp(value, "unconfined") == 0)
		return engine_looser(judge, ask, setting, "process.apparmor");
	return engine_opaque(judge, ask, setting, "process.apparmor");
}

static int
security_label(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const char *value)
{
	if (value != NULL && (strcmp(value, "disable") == 0 || strncmp(value, "type:", 5) == 0))
		return engine_looser(judge, ask, setting, "process.selinux");
	return engine_opaque(judge, ask, setting, "process.selinux");
}

/* Podman covers more paths by it; docker does not know the word. */
static int
security_mask(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const char *value)
{
	if (strcmp(judge->backend, "podman") != 0 || value == NULL || value[0] != '/')
		return engine_opaque(judge, ask, setting, "process.masks");
	return engine_tighten(judge, ask, setting);
}

static int
security_unmask(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const char *value)
{
	(void)value;
	return engine_looser(judge, ask, setting, "process.masks");
}

static const struct {
	const char *key;
	int (*judge)(struct judge *judge, const struct ask *ask,
	    const struct engine_setting *setting, const char *value);
} securities[] = {
	{ "apparmor", security_apparmor },
	{ "label", security_label },
	{ "mask", security_mask },
	{ "no-new-privileges", security_no_new_privs },
	{ "proc-opts", security_unmask },
	{ "seccomp", security_seccomp },
	{ "systempaths", security_unmask },
	{ "unmask", security_unmask },
};

/* "key", "key=value", and the old "key:value", which the engine reads where there is no '='. */
int
rule_security(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	const char *parting = strchr(setting->value, '=');
	size_t len;

	if (parting == NULL)
		parting = strchr(setting->value, ':');
	len = parting != NULL ? (size_t)(parting - setting->value) : strlen(setting->value);
	for (size_t i = 0; i < HL_ARRAY_SIZE(securities); i++) {
		if (strlen(securities[i].key) == len &&
		    memcmp(securities[i].key, setting->value, len) == 0)
			return securities[i].judge(judge, ask, setting,
			    parting != NULL ? parting + 1 : NULL);
	}
	return engine_opaque(judge, ask, setting, "process.masks");
}

/* ------------------------------------------------------------------------------------------------
 * Namespaces, network, user
 */
int
rule_namespace(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	const char *value = setting->value;

	if (value[0] == '\0' || strcmp(value, "private") == 0) {
		conflict_note(judge, ask, "changes nothing: every namespace is private");
		return 0;
	}
	if (strcmp(setting->flag, "--ipc") == 0 && strcmp(value, "none") == 0)
		return engine_tighten(judge, ask, setting);
	if (strcmp(value, "host") == 0 || strcmp(value, "shareable") == 0 ||
	    strncmp(value, "container:", 10) == 0 || strncmp(value, "ns:", 3) == 0)
		return engine_looser(judge, ask, setting, setting->control);
	return engine_opaque(judge, ask, setting, setting->control);
}

int
rule_network(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	static const struct {
		const char *word;
		const char *mode;
	} words[] = { { "bridge", "bridge" }, { "default", "bridge" }, { "host", "host" },
		{ "none", "none" } };

	/* Docker's default is the bridge, podman's is whatever its configuration says. */
	if (strcmp(judge->backend, "podman") == 0 && strcmp(setting->value, "default") == 0)
		return engine_opaque(judge, ask, setting, setting->control);
	/* The long form (name=host,alias=x) and names of networks are in no word. */
	for (size_t i = 0; i < HL_ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].word, setting->value) == 0)
			return judge_field(judge, ask, POLICY_NETWORK_MODE, words[i].mode);
	}
	return engine_opaque(judge, ask, setting, setting->control);
}

/* A namespace of its own is what every mode but the host's has; alone the engine gives it a bridge.
 */
int
rule_network_own(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	const struct policy_value *mode = policy_get(judge->policy, POLICY_NETWORK_MODE);
	const char *word = policy_field_words(POLICY_NETWORK_MODE)[mode->number];

	if (strcmp(setting->value, "false") == 0)
		return judge_field(judge, ask, POLICY_NETWORK_MODE, "host");
	if (strcmp(word, "host") == 0)
		return judge_field(judge, ask, POLICY_NETWORK_MODE, "bridge");
	conflict_note(judge, ask, "changes nothing: the network is the command's own");
	return 0;
}

/* "0", "00", "+0", "-0": all of them are root to Go's strconv.Atoi(). */
static bool
is_zero(const char *text, size_t len)
{
	size_t i = len > 0 && (text[0] == '+' || text[0] == '-') ? 1 : 0;

	if (i == len)
		return false;
	for (; i < len; i++) {
		if (text[i] != '0')
			return false;
	}
	return true;
}

static bool
is_plain_id(const char *text, size_t len)
{
	return len > 0 && len <= 10 && strspn(text, "0123456789") >= len &&
	       (text[0] != '0' || len == 1);
}

int
rule_user(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	const char *value = setting->value;
	size_t len = strcspn(value, ":");
	const char *group = value[len] == ':' ? value + len + 1 : NULL;
	struct cause cause = { .cause = CAUSE_LOOSER,
		.control = "process.user",
		.effect = "be the image's own user, which is most often root" };
	struct hl_origin origin = ask_origin(ask);

	if (value[0] == '\0') {
		if (conflict_add(judge, ask, &cause, NULL) != CONFLICT_WON)
			return 0;
		return policy_apply(judge->policy, POLICY_PROCESS_USER,
		    &(struct policy_change){ NULL, "image", &origin }, judge->err);
	}
	if (len == 0 || is_zero(value, len) || (len == 4 && memcmp(value, "root", 4) == 0))
		return judge_user(judge, ask, "0:0");
	/* Without a group the image's own account file decides, and that may say anything. */
	if (!is_plain_id(value, len) || group == NULL || !is_plain_id(group, strlen(group)))
		return engine_opaque(judge, ask, setting, setting->control);
	return judge_user(judge, ask, value);
}

int
rule_group(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	/* keep-groups is no group: by that word podman keeps all those of the caller. */
	static const char *const groups[] = { "adm", "disk", "docker", "keep-groups", "kvm", "lxd",
		"root", "shadow", "sudo", "wheel" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(groups); i++) {
		if (strcmp(groups[i], setting->value) == 0)
			return engine_looser(judge, ask, setting, setting->control);
	}
	if (is_zero(setting->value, strlen(setting->value)))
		return engine_looser(judge, ask, setting, setting->control);
	return engine_opaque(judge, ask, setting, setting->control);
}

int
rule_read_only(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	return judge_field(judge, ask, POLICY_FS_ROOT,
	    strcmp(setting->value, "true") == 0 ? "read_only" : "writable");
}

/* ------------------------------------------------------------------------------------------------
 * The rest
 */
int
rule_sysctl(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	if (strncmp(setting->value, "kernel", 6) == 0)
		return engine_looser(judge, ask, setting, setting->control);
	return engine_opaque(judge, ask, setting, setting->control);
}

int
rule_annotation(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	if (strncmp(setting->value, "run.oci.", 8) == 0 ||
	    strncmp(setting->value, "io.podman.", 10) == 0)
		return engine_looser(judge, ask, setting, setting->control);
	return engine_opaque(judge, ask, setting, setting->control);
}

int
rule_label(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	struct cause cause = { .cause = CAUSE_OWNED, .control = setting->control };
	size_t len = strlen(ENGINE_LABEL_PREFIX);

	if (strncmp(setting->value, ENGINE_LABEL_PREFIX, len) == 0)
		return engine_conflict(judge, ask, setting, &cause);
	if (setting->value[0] == '\0' || setting->value[0] == '=')
		return engine_opaque(judge, ask, setting, setting->control);
	/* A name alone is one without a value. */
	if (strchr(setting->value, '=') == NULL)
		hl_strv_addf(&judge->out->engine_args, "%s=%s=", setting->flag, setting->value);
	else
		engine_keep(judge, setting);
	return 0;
}

int
rule_log_driver(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	if (strcmp(setting->value, "none") != 0)
		return engine_opaque(judge, ask, setting, setting->control);
	conflict_note(judge, ask, "changes nothing: the engine keeps no output");
	return 0;
}

int
rule_pull(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	const char *const *words = policy_field_words(POLICY_IMAGE_PULL);

	for (size_t i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], setting->value) == 0)
			return judge_field(judge, ask, POLICY_IMAGE_PULL, setting->value);
	}
	return engine_opaque(judge, ask, setting, setting->control);
}

int
rule_env(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	return judge_env(judge, ask, setting->value);
}
