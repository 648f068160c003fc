/*
 * struct confinement as bytes and back. The encoder runs on the host, the decoder in the sandbox;
 * both refuse the same things, so that a fault shows on the side where it can be explained. The
 * runner holds the sender for hostile: every count is capped before anything is allocated, every
 * path is normal, every flag is known.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "confine/confine.h"

#include "base/banned.h"

enum {
	FLAGS_KNOWN = CONFINE_MOUNTS | CONFINE_LOOPBACK | CONFINE_IDENTITY | CONFINE_CAPS |
		      CONFINE_NO_NEW_PRIVS | CONFINE_KEYRING | CONFINE_LANDLOCK | CONFINE_SECCOMP |
		      CONFINE_HOSTNAME | CONFINE_CGROUP_NS | CONFINE_SEEN_IDENTITY |
		      CONFINE_SEEN_CAPS | CONFINE_SEEN_SECCOMP | CONFINE_SEEN_MOUNTS |
		      CONFINE_SEEN_LIMITS | CONFINE_SEEN_ENV | CONFINE_SEEN_GROUPS |
		      CONFINE_NO_TCP | CONFINE_SEEN_DRIVER | CONFINE_SEEN_KEPT_ID |
		      CONFINE_SEEN_NPROC | CONFINE_SEEN_NOT_ROOT | CONFINE_SEEN_NO_ROOT_GROUP,
	OP_FLAGS_KNOWN = CONFINE_OP_RDONLY | CONFINE_OP_NOEXEC | CONFINE_OP_RECURSIVE |
			 CONFINE_OP_FILE | CONFINE_OP_OPTIONAL | CONFINE_OP_SUBSET |
			 CONFINE_OP_DEVICE | CONFINE_OP_PLACES,
	/* What a device is bound with: all of it, and nothing else. */
	DEVICE_FLAGS = CONFINE_OP_DEVICE | CONFINE_OP_FILE | CONFINE_OP_RDONLY | CONFINE_OP_NOEXEC,
	ACCESS_KNOWN = CONFINE_READ | CONFINE_WRITE | CONFINE_EXEC,
	HOSTNAME_MAX = 64, /* __NEW_UTS_LEN */
};

static const char *const step_texts[CONFINE_STEP_MAX] = {
	[CONFINE_STEP_NONE] = "nothing",
#define CONFINE_STEP(symbol, text) [CONFINE_STEP_##symbol] = text,
#include "confine/steps.def"
#undef CONFINE_STEP
};

const char *
confine_step_text(enum confine_step step)
{
	return (unsigned)step < CONFINE_STEP_MAX ? step_texts[step] : "an unknown step";
}

/* NULL, or what is wrong with it. */
static const char *
op_fault(const struct confine_op *op)
{
	if ((unsigned)op->kind < CONFINE_OP_DIR || op->kind >= CONFINE_OP_MAX)
		return "unknown kind of mount operation";
	if ((op->flags & ~(uint32_t)OP_FLAGS_KNOWN) != 0)
		return "unknown flag of a mount operation";
	if ((op->mode & ~07777U) != 0)
		return "bad mode of a mount operation";
	if (op->dst == NULL || !hl_path_is_normal(op->dst))
		return "a mount operation's place is not a normal path";
	bool may_be_root = op->kind == CONFINE_OP_BIND;
	if (!may_be_root && op->dst[1] == '\0')
		return "only a bind can be the root";
	if (op->kind == CONFINE_OP_BIND && (op->src == NULL || !hl_path_is_normal(op->src)))
		return "a bind's source is not a normal path";
	if ((op->flags & CONFINE_OP_DEVICE) != 0 &&
	    (op->kind != CONFINE_OP_BIND || op->flags != DEVICE_FLAGS ||
		strncmp(op->dst, "/dev/", 5) != 0))
		return "a device is bound as a file below /dev, and nothing else is one";
	if (op->kind == CONFINE_OP_SYMLINK && (op->src == NULL || op->src[0] == '\0'))
		return "a symbolic link without a target";
	return NULL;
}

static const char *
counts_fault(const struct confinement *confinement)
{
	if (confinement->ops_len > CONFINE_OPS_MAX)
		return "too many mount operations";
	if (confinement->rules_len > CONFINE_RULES_MAX)
		return "too many Landlock rules";
	if (confinement->bpf_len > CONFINE_BPF_MAX)
		return "the seccomp program is too long";
	if (confinement->groups_len > CONFINE_GROUPS_MAX)
		return "too many control groups";
	return NULL;
}

static const char *
scalars_fault(const struct confinement *confinement)
{
	uint32_t flags = confinement->flags;

	if ((flags & ~(uint32_t)FLAGS_KNOWN) != 0)
		return "unknown flag";
	if (((flags & CONFINE_SECCOMP) != 0) != (confinement->bpf_len > 0))
		return "a seccomp program and its flag must come together";
	if ((flags & CONFINE_MOUNTS) != 0 && (flags & CONFINE_SEEN_MOUNTS) != 0)
		return "mounts are made or looked at, not both";
	if ((flags & CONFINE_SEEN_DRIVER) != 0 && (flags & CONFINE_SEEN_MOUNTS) == 0)
		return "a driver's mounts are among those that are looked at";
	if ((flags & CONFINE_SEEN_KEPT_ID) != 0 && (flags & CONFINE_SEEN_IDENTITY) == 0)
		return "whose an id is outside is asked of one that is known inside";
	if ((flags & CONFINE_SEEN_NPROC) != 0 && confinement->seen_pids == 0)
		return "a resource limit that is looked at has a value";
	if ((flags & CONFINE_NO_TCP) != 0 && (flags & CONFINE_LANDLOCK) == 0)
		return "TCP is refused by Landlock only";
	if ((flags & CONFINE_HOSTNAME) != 0 &&
	    (confinement->hostname == NULL || confinement->hostname[0] == '\0' ||
		strlen(confinement->hostname) > HOSTNAME_MAX))
		return "bad host name";
	if ((confinement->caps_effective & ~confinement->caps_bounding) != 0)
		return "effective capabilities outside of the bounding set";
	/* (uid_t)-1 means "leave as it is" to setresuid(2): never an identity. */
	if ((flags & (CONFINE_IDENTITY | CONFINE_SEEN_IDENTITY)) != 0 &&
	    (confinement->uid == UINT32_MAX || confinement->gid == UINT32_MAX))
		return "bad user or group";
	return NULL;
}

static const char *
fault_of(const struct confinement *confinement)
{
	const char *fault = counts_fault(confinement);

	if (fault == NULL)
		fault = scalars_fault(confinement);
	for (size_t i = 0; i < confinement->groups_len && fault == NULL; i++)
		if (confinement->groups[i] == NULL || !hl_path_is_normal(confinement->groups[i]))
			fault = "a control group's file is not a normal path";
	for (size_t i = 0; i < confinement->ops_len && fault == NULL; i++)
		fault = op_fault(&confinement->ops[i]);
	for (size_t i = 0; i < confinement->rules_len && fault == NULL; i++) {
		const struct confine_rule *rule = &confinement->rules[i];
		if (rule->path == NULL || !hl_path_is_normal(rule->path))
			fault = "a Landlock rule's path is not a normal path";
		else if (rule->access == 0 || (rule->access & ~(uint32_t)ACCESS_KNOWN) != 0)
			fault = "bad access of a Landlock rule";
	}
	return fault;
}

static void
put_op(struct hl_buf *out, const struct confine_op *op)
{
	hl_wire_put_u8(out, (uint8_t)op->kind);
	hl_wire_put_u32(out, op->flags);
	hl_wire_put_u32(out, op->mode);
	hl_wire_put_u64(out, op->size);
	hl_wire_put_u64(out, op->dev);
	hl_wire_put_u64(out, op->ino);
	hl_wire_put_string(out, op->src);
	hl_wire_put_string(out, op->dst);
}

int
confine_encode(const struct confinement *confinement, struct hl_buf *out, struct hl_err *err)
{
	const char *fault = fault_of(confinement);

	if (fault != NULL)
		return hl_err_set(err, HLI_02, "the confinement is not valid: %s", fault);
	hl_wire_put_u32(out, confinement->flags);
	hl_wire_put_u32(out, confinement->uid);
	hl_wire_put_u32(out, confinement->gid);
	hl_wire_put_u64(out, confinement->caps_bounding);
	hl_wire_put_u64(out, confinement->caps_effective);
	hl_wire_put_string(out, confinement->hostname);
	hl_wire_put_u32(out, (uint32_t)confinement->groups_len);
	for (size_t i = 0; i < confinement->groups_len; i++)
		hl_wire_put_string(out, confinement->groups[i]);
	hl_wire_put_u32(out, (uint32_t)confinement->ops_len);
	for (size_t i = 0; i < confinement->ops_len; i++)
		put_op(out, &confinement->ops[i]);
	hl_wire_put_u32(out, (uint32_t)confinement->rules_len);
	for (size_t i = 0; i < confinement->rules_len; i++) {
		hl_wire_put_u32(out, confinement->rules[i].access);
		hl_wire_put_string(out, confinement->rules[i].path);
	}
	hl_wire_put_u32(out, (uint32_t)confinement->bpf_len);
	for (size_t i = 0; i < confinement->bpf_len; i++) {
		const struct confine_bpf *bpf = &confinement->bpf[i];
		hl_wire_put_u32(out,
		    (uint32_t)bpf->code | (uint32_t)bpf->jt << 16 | (uint32_t)bpf->jf << 24);
		hl_wire_put_u32(out, bpf->k);
	}
	hl_wire_put_u64(out, confinement->seen_pids);
	hl_wire_put_u64(out, confinement->seen_memory);
	hl_wire_put_u64(out, confinement->seen_cpus);
	hl_wire_put_string(out, confinement->seen_env);
	return hl_buf_check(out, "the confinement", err);
}

static void
get_op(struct hl_wire *wire, struct confine_op *op)
{
	op->kind = (enum confine_op_kind)hl_wire_u8(wire);
	op->flags = hl_wire_u32(wire);
	op->mode = hl_wire_u32(wire);
	op->size = hl_wire_u64(wire);
	op->dev = hl_wire_u64(wire);
	op->ino = hl_wire_u64(wire);
	op->src = hl_wire_string(wire);
	op->dst = hl_wire_string(wire);
}

/* Reads a count and makes room for so many. A count that the bytes left cannot hold fails before
 * it allocates: no item is smaller than eight bytes. */
static void *
get_array(struct hl_wire *wire, size_t max, size_t item_size, size_t *ret_len)
{
	size_t len = hl_wire_u32(wire);

	*ret_len = 0;
	if (len > max || len > wire->left / 8)
		wire->failed = true;
	if (wire->failed || len == 0)
		return NULL;
	void *items = calloc(len, item_size);
	if (items == NULL)
		wire->failed = true;
	else
		*ret_len = len;
	return items;
}

static void
get_groups(struct hl_wire *wire, struct confinement *confinement)
{
	const size_t len = hl_wire_u32(wire);

	if (len > CONFINE_GROUPS_MAX)
		wire->failed = true;
	for (size_t i = 0; i < len && !wire->failed; i++)
		confinement->groups[confinement->groups_len++] = hl_wire_string(wire);
}

static void
get_arrays(struct hl_wire *wire, struct confinement *confinement)
{
	confinement->ops =
	    get_array(wire, CONFINE_OPS_MAX, sizeof(*confinement->ops), &confinement->ops_len);
	for (size_t i = 0; i < confinement->ops_len && !wire->failed; i++)
		get_op(wire, &confinement->ops[i]);
	confinement->rules = get_array(wire, CONFINE_RULES_MAX, sizeof(*confinement->rules),
	    &confinement->rules_len);
	for (size_t i = 0; i < confinement->rules_len && !wire->failed; i++) {
		confinement->rules[i].access = hl_wire_u32(wire);
		confinement->rules[i].path = hl_wire_string(wire);
	}
	confinement->bpf =
	    get_array(wire, CONFINE_BPF_MAX, sizeof(*confinement->bpf), &confinement->bpf_len);
	for (size_t i = 0; i < confinement->bpf_len && !wire->failed; i++) {
		uint32_t head = hl_wire_u32(wire);
		confinement->bpf[i] = (struct confine_bpf){ .code = (uint16_t)(head & 0xffff),
			.jt = (uint8_t)(head >> 16 & 0xff),
			.jf = (uint8_t)(head >> 24),
			.k = hl_wire_u32(wire) };
	}
}

int
confine_decode(const void *bytes, size_t len, struct confinement *ret_confinement,
    struct hl_err *err)
{
	struct confinement confinement = { 0 };
	struct hl_wire wire;

	hl_wire_init(&wire, bytes, len);
	confinement.flags = hl_wire_u32(&wire);
	confinement.uid = hl_wire_u32(&wire);
	confinement.gid = hl_wire_u32(&wire);
	confinement.caps_bounding = hl_wire_u64(&wire);
	confinement.caps_effective = hl_wire_u64(&wire);
	confinement.hostname = hl_wire_string(&wire);
	get_groups(&wire, &confinement);
	get_arrays(&wire, &confinement);
	confinement.seen_pids = hl_wire_u64(&wire);
	confinement.seen_memory = hl_wire_u64(&wire);
	confinement.seen_cpus = hl_wire_u64(&wire);
	confinement.seen_env = hl_wire_string(&wire);
	const char *fault = "it is cut short or too long";
	if (hl_wire_is_complete(&wire))
		fault = fault_of(&confinement);
	if (fault != NULL) {
		confinement_done(&confinement);
		return hl_err_set(err, HLB_01, "the confinement cannot be read: %s", fault);
	}
	*ret_confinement = confinement;
	return 0;
}

void
confinement_done(struct confinement *confinement)
{
	free(confinement->ops);
	free(confinement->rules);
	free(confinement->bpf);
	confinement->ops = NULL;
	confinement->rules = NULL;
	confinement->bpf = NULL;
	confinement->ops_len = confinement->rules_len = confinement->bpf_len = 0;
}
