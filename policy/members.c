/*
 * Members of sets, texts and maps: each field that takes free text says here what a good one is.
 * Different spellings of one thing (CAP_CHOWN and chown, apptainer and singularity) leave here as
 * one.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "policy/layer.h"

#include "base/banned.h"

/* capabilities(7), as of Linux 6.1. */
static const char *const cap_words[] = { "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER",
	"FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE",
	"NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO",
	"SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
	"SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE",
	"AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM",
	"BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE", NULL };

static const char *const placeholders[] = { "user", "uid", "home", "workdir", "state" };

enum {
	IMAGE_MAX = 512,
	SHA256_HEX = 64,
	SET_MAX = 1024,
};

static bool
bad(struct policy_reader *r, enum hl_code code, const struct node *node, const char *what,
    const char *help)
{
	policy_diag_error(r->diag, code, policy_at(node), "%s", what);
	policy_diag_help(r->diag, "%s", help);
	return false;
}

/* ------------------------------------------------------------------------------------------------
 * Paths
 */

/* Puts a name for each placeholder into buf, so that the rest can be judged as a path. */
static bool
fill_placeholders(struct policy_reader *r, const struct node *node, const char *text,
    struct hl_buf *buf)
{
	while (*text != '\0') {
		char name[16];
		size_t len = 0;
		if (text[0] != '$' || text[1] != '{') {
			hl_buf_putc(buf, *text++);
			continue;
		}
		len = strcspn(text + 2, "}");
		snprintf(name, sizeof(name), "%.*s", (int)(len < 15 ? len : 15), text + 2);
		bool is_known = false;
		for (size_t i = 0; i < HL_ARRAY_SIZE(placeholders); i++)
			is_known = is_known || strcmp(placeholders[i], name) == 0;
		if (!is_known || text[2 + len] != '}') {
			policy_diag_error(r->diag, HLP_14, policy_at(node),
			    "there is no placeholder ${%s}", name);
			policy_diag_help(r->diag,
			    "there are ${user}, ${uid}, ${home}, ${workdir} and ${state}");
			return false;
		}
		bool is_root = strcmp(name, "user") != 0 && strcmp(name, "uid") != 0;
		hl_buf_puts(buf, is_root && buf->len == 0 ? "/p" : "p");
		text += len + 3;
	}
	return !buf->failed;
}

bool
policy_check_path(struct policy_reader *r, const char *key, const struct node *node,
    const char *text)
{
	struct hl_buf buf;
	bool is_normal;

	hl_buf_init(&buf, POLICY_SCALAR_MAX * 2);
	if (!fill_placeholders(r, node, text, &buf)) {
		hl_buf_done(&buf);
		return false;
	}
	is_normal = hl_path_is_normal(buf.data);
	hl_buf_done(&buf);
	if (is_normal) {
		policy_lint_path(r, key, node, text);
		return true;
	}
	if (policy_key_is_private(key))
		policy_diag_error(r->diag, HLP_14, policy_at(node),
		    "%s must be an absolute path in normal form", key);
	else
		policy_diag_error(r->diag, HLP_14, policy_at(node),
		    "%s must be an absolute path in normal form, not \"%.60s\"", key, text);
	policy_diag_help(r->diag,
	    strcmp(key, "fs.deny") == 0
		? "begin with /, ~/ or ${workdir}, ${home} or ${state}; no .., no //, no / at the end"
		: "begin with / or ${workdir}, ${home} or ${state}; no .., no //, no / at the end");
	return false;
}

/* [ab], {a,b}, !(a) and \\* are patterns to other programs. Here they would stand for themselves
 * and deny, as a rule, nothing at all. */
static bool
has_foreign_pattern(const char *text)
{
	while ((text = strpbrk(text, "[]{}(\\")) != NULL) {
		/* A name may have a parenthesis, but not behind what makes a pattern of it. */
		if (*text == '(' && strchr("!*+?@", text[-1]) == NULL) {
			text++;
			continue;
		}
		if (*text != '{' || text[-1] != '$')
			return true;
		text += strcspn(text, "}");
		text += *text == '}';
	}
	return false;
}

static bool
read_deny(struct policy_reader *r, const struct node *node, const char *text, const char **ret_text)
{
	*ret_text = text;
	/* ~/x is judged as ${home}/x, and kept as written. */
	if (!policy_check_path(r, "fs.deny", node,
		text[0] == '~' && text[1] == '/' ? text + 1 : text))
		return false;
	if (!has_foreign_pattern(text))
		return true;
	policy_diag_error(r->diag, HLP_14, policy_at(node),
	    "fs.deny knows the patterns *, ** and ? alone, not those of \"%.60s\"", text);
	policy_diag_help(r->diag, "write an entry each; for such a character in a name write ?");
	return false;
}

static bool
read_endpoint(struct policy_reader *r, const struct node *node, const char *text,
    const char **ret_text)
{
	*ret_text = text;
	return policy_check_path(r, "docker.endpoint", node, text);
}

/* ------------------------------------------------------------------------------------------------
 * Names
 */

static bool
read_backend(struct policy_reader *r, const struct node *node, const char *text,
    const char **ret_text)
{
	uint64_t rank;
	const char *const *words = policy_field_words(POLICY_BACKENDS);

	if (strcmp(text, "apptainer") == 0) {
		*ret_text = "singularity";
		return true;
	}
	if (!policy_read_word(r, "backends", words, node, &rank))
		return false;
	*ret_text = words[rank];
	return true;
}

static bool
read_cap(struct policy_reader *r, const struct node *node, const char *text, const char **ret_text)
{
	const char *name = strncasecmp(text, "CAP_", 4) == 0 ? text + 4 : text;

	for (size_t i = 0; cap_words[i] != NULL; i++) {
		if (strcasecmp(cap_words[i], name) != 0)
			continue;
		*ret_text = cap_words[i];
		return true;
	}
	policy_diag_error(r->diag, HLP_13, policy_at(node), "there is no capability \"%.40s\"",
	    text);
	const char *near = !policy_diag_is_kept(r->diag)
			       ? NULL
			       : hl_nearest(name, cap_words, HL_ARRAY_SIZE(cap_words) - 1);
	if (strcasecmp(name, "ALL") == 0)
		policy_diag_help(r->diag, "ALL can only be dropped; name those that are needed");
	else if (near != NULL)
		policy_diag_help(r->diag, "did you mean \"%s\"?", near);
	return false;
}

/* Which names are system calls is for whoever makes the filter to say: in a file that is loaded for
 * a sandbox, or checked for one. */
static bool
is_call(struct policy_reader *r, const struct node *node, const char *name)
{
	struct hl_err err = { 0 };

	if (r->check_call == NULL || r->check_call(name, &err) == 0)
		return true;
	policy_diag_error(r->diag, HLP_13, policy_at(node), "process.seccomp.deny: %s", err.msg);
	if (err.help[0] != '\0')
		policy_diag_help(r->diag, "%s", err.help);
	return false;
}

static bool
read_syscall(struct policy_reader *r, const struct node *node, const char *text,
    const char **ret_text)
{
	static const char bytes[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	size_t len = strlen(text);

	*ret_text = text;
	if (len < 32 && text[strspn(text, bytes)] == '\0')
		return is_call(r, node, text);
	policy_diag_error(r->diag, HLP_07, policy_at(node),
	    "\"%.40s\" is not the name of a system call", text);
	policy_diag_help(r->diag, "write it as in syscalls(2), in small letters");
	return false;
}

/* Below each writable directory: a path without a beginning. A slash at its end says directory. */
static bool
read_protect(struct policy_reader *r, const struct node *node, const char *text,
    const char **ret_text)
{
	char path[POLICY_SCALAR_MAX + 2];

	*ret_text = text;
	snprintf(path, sizeof(path), "/%s", text);
	size_t len = strlen(path);
	if (len > 2 && path[len - 1] == '/')
		path[len - 1] = '\0';
	if (text[0] != '/' && text[0] != '~' && text[0] != '$' && strpbrk(text, "*?[]{}") == NULL &&
	    hl_path_is_normal(path)) {
		policy_lint_path(r, "fs.protect", node, text);
		return true;
	}
	policy_diag_error(r->diag, HLP_14, policy_at(node),
	    "fs.protect must be a relative path in normal form, not \"%.60s\"", text);
	policy_diag_help(r->diag,
	    "write it as it lies in a writable directory, such as .git/hooks; no pattern, no ..");
	return false;
}

static bool
is_pattern(const char *text)
{
	return strpbrk(text, "*?") != NULL;
}

/* "gpu:all", "gpu:none" or "gpu:0". */
static bool
is_gpu(const char *text)
{
	const char *which = text + strlen(POLICY_GPU);
	struct hl_err ignored = { 0 };
	uint64_t number;

	if (strncmp(text, POLICY_GPU, strlen(POLICY_GPU)) != 0)
		return false;
	return strcmp(text, POLICY_GPU_ALL) == 0 || strcmp(text, POLICY_GPU_NONE) == 0 ||
	       ((which[0] != '0' || which[1] == '\0') &&
		   hl_parse_u64(which, 0, POLICY_GPUS_MAX - 1, &number, &ignored) == 0);
}

/* Which of them are never given is for whoever knows the host to say. */
static bool
read_device(struct policy_reader *r, const struct node *node, const char *text,
    const char **ret_text)
{
	*ret_text = text;
	if (is_gpu(text))
		return true;
	if (strncmp(text, "/dev/", 5) == 0 && hl_path_is_normal(text) && !is_pattern(text) &&
	    strchr(text, '$') == NULL) {
		policy_lint_path(r, "fs.devices", node, text);
		return true;
	}
	policy_diag_error(r->diag, HLP_14, policy_at(node),
	    "fs.devices must be a path below /dev in normal form, not \"%.60s\"", text);
	policy_diag_help(r->diag,
	    strncmp(text, "gpu", 3) == 0
		? "write gpu:all, gpu:none, or the number of one from gpu:0 to gpu:63"
		: "write it as in /dev/fuse; no pattern, no placeholder, no ..");
	return false;
}

/* Of a name in a message: sixty bytes are enough. */
static int
shown_len(const char *name)
{
	int len = policy_name_len(name);

	return len < 60 ? len : 60;
}

/* An enforcing file is wrong when it names a protected variable; a warning one loses the name. */
static bool
report_protected(struct policy_reader *r, const struct node *node, const char *key,
    const char *name, enum policy_name_class class)
{
	bool is_warn = r->layer->is_warn;
	int len = shown_len(name);

	const char *why = class == POLICY_NAME_LOADER ? "runs code before the command"
						      : "carries a credential or redirects one";
	if (is_warn)
		policy_diag_warn(r->diag, HLP_16, policy_at(node), "%s names %.*s, which %s", key,
		    len, name, why);
	else
		policy_diag_error(r->diag, HLP_16, policy_at(node), "%s names %.*s, which %s", key,
		    len, name, why);
	policy_diag_help(r->diag, is_warn
				      ? "the name is dropped: protected names never enter a sandbox"
				      : "remove it: protected names never enter a sandbox");
	return false;
}

static bool
read_pass(struct policy_reader *r, const struct node *node, const char *text, const char **ret_text)
{
	size_t len = strlen(text);
	bool is_good = len >= 1 && len <= 128 && (text[0] < '0' || text[0] > '9') &&
		       text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789_*?")] == '\0';
	enum policy_name_class class = policy_name_class(text, len);

	*ret_text = text;
	/* First the class: BASH_FUNC_x%% is no name either, and the reason matters more. */
	if (class != POLICY_NAME_PLAIN && !is_pattern(text))
		return report_protected(r, node, "env.pass", text, class);
	if (is_good)
		return true;
	policy_diag_error(r->diag, HLP_07, policy_at(node),
	    "env.pass \"%.*s\" is not a variable name", shown_len(text), text);
	policy_diag_help(r->diag,
	    strchr(text, '=') != NULL
		? "env.pass takes names only; a fixed value belongs under env.set"
		: "a name is letters, digits and _, and * or ? in a pattern");
	return false;
}

static bool
is_digest(const char *text)
{
	return strspn(text, "0123456789abcdef") == SHA256_HEX && text[SHA256_HEX] == '\0';
}

static bool
read_image(struct policy_reader *r, const struct node *node, const char *text,
    const char **ret_text)
{
	static const char *const digest_mark = "@sha256:";
	const char *digest = strstr(text, digest_mark);
	bool is_good = strlen(text) <= IMAGE_MAX && text[0] != '-' && text[0] != '/' &&
		       text[0] != '.' && text[0] != '@' &&
		       text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789._/:@*?-")] == '\0';

	*ret_text = text;
	if (is_good && digest != NULL && !is_pattern(text))
		is_good = is_digest(digest + strlen(digest_mark));
	if (is_good)
		return true;
	policy_diag_error(r->diag, HLP_07, policy_at(node),
	    "image \"%.80s\" is not an image reference", text);
	policy_diag_help(r->diag, digest != NULL
				      ? "a digest is sha256: and 64 hexadecimal digits"
				      : "write name:tag, name@sha256:DIGEST, or a pattern with *");
	return false;
}

static bool
is_uid(const char *text, size_t len)
{
	char digits[12];
	uint64_t value;
	struct hl_err ignored = { 0 };

	if (len < 1 || len >= sizeof(digits))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)len, text);
	/* (uid_t)-1 means "no change" to the kernel. */
	return hl_parse_u64(digits, 0, UINT32_MAX - 1, &value, &ignored) == 0;
}

static bool
read_user(struct policy_reader *r, const struct node *node, const char *text, const char **ret_text)
{
	const char *colon = strchr(text, ':');
	size_t uid_len = colon != NULL ? (size_t)(colon - text) : strlen(text);

	*ret_text = text;
	if (strcmp(text, "caller") == 0 || strcmp(text, "image") == 0)
		return true;
	if (is_uid(text, uid_len) && (colon == NULL || is_uid(colon + 1, strlen(colon + 1))))
		return true;
	policy_diag_error(r->diag, HLP_07, policy_at(node), "process.user cannot be \"%.40s\"",
	    text);
	policy_diag_help(r->diag, "it is caller, image, or numbers such as \"1000:1000\"");
	return false;
}

struct member_reader {
	bool (*read)(struct policy_reader *, const struct node *, const char *, const char **);
};

bool
policy_read_member(struct policy_reader *r, enum policy_field field, const struct node *node,
    const char **ret_text)
{
	static const struct member_reader readers[POLICY_FIELD_MAX] = {
		[POLICY_BACKENDS] = { read_backend },
		[POLICY_PROCESS_USER] = { read_user },
		[POLICY_PROCESS_CAPS] = { read_cap },
		[POLICY_PROCESS_SECCOMP_DENY] = { read_syscall },
		[POLICY_FS_DENY] = { read_deny },
		[POLICY_FS_PROTECT] = { read_protect },
		[POLICY_FS_DEVICES] = { read_device },
		[POLICY_ENV_PASS] = { read_pass },
		[POLICY_IMAGE] = { read_image },
		[POLICY_DOCKER_ENDPOINT] = { read_endpoint },
	};
	const char *text;

	if (!policy_read_string(r, policy_field_key(field), node, &text))
		return false;
	if (text[0] == '\0')
		return bad(r, HLP_07, node, "an empty text is not a value here", "remove it");
	if (readers[field].read == NULL) {
		*ret_text = text;
		return policy_read_shaped(r, field, node, text);
	}
	return readers[field].read(r, node, text, ret_text);
}

static bool
read_pair(struct policy_reader *r, const struct node *node, struct policy_item *item)
{
	const struct node *key = node->key;
	static const char prefix[] = "env.set ";
	char subject[sizeof(prefix) + POLICY_KEY_MAX];
	enum policy_name_class class;

	if (key->kind != NODE_SCALAR)
		return false;
	class = policy_name_class(key->text, key->len);
	if (class != POLICY_NAME_PLAIN)
		return report_protected(r, key, "env.set", key->text, class);
	if (!hl_is_env_name(key->text, key->len)) {
		policy_not_a_name(r, node);
		return false;
	}
	/* The value is checked, and no message may show it. */
	memcpy(subject, prefix, sizeof(prefix) - 1);
	memcpy(subject + sizeof(prefix) - 1, key->text, key->len + 1);
	if (!policy_read_string(r, subject, node, &item->text))
		return false;
	item->name = key->text;
	item->origin = policy_origin(r->layer, policy_at(key));
	return true;
}

bool
policy_read_map(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_items *ret_items)
{
	struct policy_items items = { 0 };

	if (!policy_expect(r, policy_field_key(field), node, NODE_MAP) ||
	    !policy_check_count(r, policy_field_key(field), node, SET_MAX))
		return false;
	items.v = policy_arena_array(r->arena, node->children, sizeof(*items.v));
	if (items.v == NULL) {
		r->is_oom = true;
		return false;
	}
	for (const struct node *child = node->first; child != NULL; child = child->next) {
		if (read_pair(r, child, &items.v[items.len]))
			items.len++;
	}
	*ret_items = items;
	return true;
}
