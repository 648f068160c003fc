/*
 * struct confinement as bytes: what goes in comes out, and nothing else comes in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "confine/confine.h"

#include "base/banned.h"

static struct confine_op ops[] = {
	{ .kind = CONFINE_OP_BIND,
	    .flags = CONFINE_OP_RDONLY | CONFINE_OP_RECURSIVE,
	    .dev = 7,
	    .ino = UINT64_MAX,
	    .src = "/usr",
	    .dst = "/usr" },
	{ .kind = CONFINE_OP_SYMLINK, .src = "usr/bin", .dst = "/bin" },
	{ .kind = CONFINE_OP_TMPFS, .mode = 01777, .size = 1 << 20, .src = "", .dst = "/tmp" },
	{ .kind = CONFINE_OP_PROC, .flags = CONFINE_OP_SUBSET, .src = "", .dst = "/proc" },
};

static struct confine_rule rules[] = { { CONFINE_READ | CONFINE_EXEC, "/" } };

static struct confine_bpf bpf[] = { { 0x20, 0, 0, 4 }, { 0x15, 1, 255, 0xc000003e },
	{ 0x06, 0, 0, 0x7fff0000 } };

static struct confinement
sample(void)
{
	return (struct confinement){
		.flags = CONFINE_MOUNTS | CONFINE_IDENTITY | CONFINE_CAPS | CONFINE_SECCOMP |
			 CONFINE_HOSTNAME,
		.uid = 65534,
		.gid = 100,
		.caps_bounding = UINT64_C(0x180000000f),
		.caps_effective = 3,
		.hostname = "sandbox",
		.groups = { "/sys/fs/cgroup/pids/a/tasks", "/sys/fs/cgroup/cpu/a/tasks" },
		.groups_len = 2,
		.ops = ops,
		.ops_len = HL_ARRAY_SIZE(ops),
		.rules = rules,
		.rules_len = HL_ARRAY_SIZE(rules),
		.bpf = bpf,
		.bpf_len = HL_ARRAY_SIZE(bpf),
	};
}

static void
encode(const struct confinement *confinement, struct hl_buf *out)
{
	struct hl_err err;

	hl_buf_init(out, 1 << 20);
	assert_int_equal(confine_encode(confinement, out, &err), 0);
}

static void
test_round_trip(void **state)
{
	const struct confinement in = sample();
	struct confinement out;
	struct hl_buf bytes;
	struct hl_err err;

	(void)state;
	encode(&in, &bytes);
	assert_int_equal(confine_decode(bytes.data, bytes.len, &out, &err), 0);
	assert_int_equal(out.flags, in.flags);
	assert_int_equal(out.uid, in.uid);
	assert_int_equal(out.gid, in.gid);
	assert_int_equal(out.caps_bounding, in.caps_bounding);
	assert_int_equal(out.caps_effective, in.caps_effective);
	assert_string_equal(out.hostname, in.hostname);
	assert_int_equal(out.groups_len, in.groups_len);
	for (size_t i = 0; i < out.groups_len; i++)
		assert_string_equal(out.groups[i], in.groups[i]);
	assert_int_equal(out.ops_len, in.ops_len);
	for (size_t i = 0; i < out.ops_len; i++) {
		assert_int_equal(out.ops[i].kind, ops[i].kind);
		assert_int_equal(out.ops[i].flags, ops[i].flags);
		assert_int_equal(out.ops[i].mode, ops[i].mode);
		assert_int_equal(out.ops[i].size, ops[i].size);
		assert_int_equal(out.ops[i].dev, ops[i].dev);
		assert_int_equal(out.ops[i].ino, ops[i].ino);
		assert_string_equal(out.ops[i].src, ops[i].src);
		assert_string_equal(out.ops[i].dst, ops[i].dst);
	}
	assert_int_equal(out.rules_len, 1);
	assert_int_equal(out.rules[0].access, rules[0].access);
	assert_string_equal(out.rules[0].path, "/");
	assert_int_equal(out.bpf_len, in.bpf_len);
	assert_memory_equal(out.bpf, bpf, sizeof(bpf));
	confinement_done(&out);
	confinement_done(&out);
	hl_buf_done(&bytes);
}

/* Cut at every byte, and one byte too many: HLB-01 each time. */
static void
test_lengths(void **state)
{
	const struct confinement in = sample();
	struct confinement out;
	struct hl_buf bytes;
	struct hl_err err;

	(void)state;
	encode(&in, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		/* of its own, so that a read behind the end is seen */
		char *copy = malloc(len > 0 ? len : 1);
		memcpy(copy, bytes.data, len);
		assert_int_equal(confine_decode(copy, len, &out, &err), -1);
		assert_string_equal(hl_code_info(err.code)->id, "HLB-01");
		free(copy);
	}
	hl_buf_putc(&bytes, '\0');
	assert_int_equal(confine_decode(bytes.data, bytes.len, &out, &err), -1);
	hl_buf_done(&bytes);
}

/* Every byte changed in turn: an error or a confinement, never a fault of memory. */
static void
test_mutations(void **state)
{
	const struct confinement in = sample();
	struct confinement out;
	struct hl_buf bytes;
	struct hl_err err;

	(void)state;
	encode(&in, &bytes);
	for (size_t i = 0; i < bytes.len; i++)
		for (unsigned change = 1; change < 256; change += 37) {
			bytes.data[i] = (char)((unsigned char)bytes.data[i] ^ change);
			if (confine_decode(bytes.data, bytes.len, &out, &err) == 0)
				confinement_done(&out);
			bytes.data[i] = (char)((unsigned char)bytes.data[i] ^ change);
		}
	hl_buf_done(&bytes);
}

/* A count that promises more than there is allocates nothing. */
static void
test_counts(void **state)
{
	struct confinement out;
	struct hl_buf bytes;
	struct hl_err err;

	(void)state;
	hl_buf_init(&bytes, 4096);
	for (int i = 0; i < 3; i++)
		hl_wire_put_u32(&bytes, 0);
	hl_wire_put_u64(&bytes, 0);
	hl_wire_put_u64(&bytes, 0);
	hl_wire_put_string(&bytes, "");
	hl_wire_put_u32(&bytes, CONFINE_OPS_MAX);
	assert_int_equal(confine_decode(bytes.data, bytes.len, &out, &err), -1);
	hl_buf_done(&bytes);
}

struct fault {
	const char *name;
	void (*make)(struct confinement *confinement, struct confine_op *op);
};

static void
unknown_flag(struct confinement *confinement, struct confine_op *op)
{
	(void)op;
	confinement->flags |= 1U << 30;
}

static void
unknown_kind(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	op->kind = CONFINE_OP_MAX;
}

static void
unknown_op_flag(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	op->flags = 1U << 20;
}

static void
bad_mode(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	op->mode = 010000;
}

static void
relative_place(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	op->dst = "usr";
}

static void
climbing_place(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	op->dst = "/a/../b";
}

static void
climbing_source(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	op->src = "/a/../b";
}

static void
tmpfs_as_root(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	op->kind = CONFINE_OP_TMPFS;
	op->dst = "/";
}

static void
empty_link(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	op->kind = CONFINE_OP_SYMLINK;
	op->src = "";
}

static void
filter_without_program(struct confinement *confinement, struct confine_op *op)
{
	(void)op;
	confinement->bpf_len = 0;
}

static void
program_without_filter(struct confinement *confinement, struct confine_op *op)
{
	(void)op;
	confinement->flags &= ~(uint32_t)CONFINE_SECCOMP;
}

static void
no_hostname(struct confinement *confinement, struct confine_op *op)
{
	(void)op;
	confinement->hostname = "";
}

static void
many_groups(struct confinement *confinement, struct confine_op *op)
{
	(void)op;
	confinement->groups_len = CONFINE_GROUPS_MAX + 1;
}

static void
relative_group(struct confinement *confinement, struct confine_op *op)
{
	(void)op;
	confinement->groups[1] = "pids/tasks";
}

static void
climbing_group(struct confinement *confinement, struct confine_op *op)
{
	(void)op;
	confinement->groups[0] = "/sys/../tasks";
}

static void
caps_outside(struct confinement *confinement, struct confine_op *op)
{
	(void)op;
	confinement->caps_effective = UINT64_C(1) << 21;
}

static void
no_user(struct confinement *confinement, struct confine_op *op)
{
	(void)op;
	confinement->uid = UINT32_MAX;
}

static void
no_access(struct confinement *confinement, struct confine_op *op)
{
	(void)op;
	confinement->rules[0].access = 0;
}

enum {
	DEVICE = CONFINE_OP_DEVICE | CONFINE_OP_FILE | CONFINE_OP_RDONLY | CONFINE_OP_NOEXEC
};

static void
writable_device(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	*op = (struct confine_op){ .kind = CONFINE_OP_BIND,
		.flags = DEVICE & ~CONFINE_OP_RDONLY,
		.src = "/dev/fuse",
		.dst = "/dev/fuse" };
}

static void
device_elsewhere(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	*op = (struct confine_op){ .kind = CONFINE_OP_BIND,
		.flags = DEVICE,
		.src = "/dev/fuse",
		.dst = "/tmp/fuse" };
}

static void
device_and_below(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	*op = (struct confine_op){ .kind = CONFINE_OP_BIND,
		.flags = DEVICE | CONFINE_OP_RECURSIVE,
		.src = "/dev/fuse",
		.dst = "/dev/fuse" };
}

static void
device_of_memory(struct confinement *confinement, struct confine_op *op)
{
	(void)confinement;
	*op = (struct confine_op){ .kind = CONFINE_OP_TMPFS, .flags = DEVICE, .dst = "/dev/fuse" };
}

static const struct fault faults[] = {
	{ "a device whose node can be written", writable_device },
	{ "a device outside of /dev", device_elsewhere },
	{ "a device with what is below it", device_and_below },
	{ "a device that is no bind", device_of_memory },
	{ "unknown flag", unknown_flag },
	{ "unknown kind", unknown_kind },
	{ "unknown flag of an operation", unknown_op_flag },
	{ "bad mode", bad_mode },
	{ "relative place", relative_place },
	{ "climbing place", climbing_place },
	{ "climbing source", climbing_source },
	{ "a tmpfs as root", tmpfs_as_root },
	{ "empty link", empty_link },
	{ "filter without program", filter_without_program },
	{ "program without filter", program_without_filter },
	{ "no host name", no_hostname },
	{ "more groups than limits", many_groups },
	{ "relative group", relative_group },
	{ "climbing group", climbing_group },
	{ "capabilities outside of the bounding set", caps_outside },
	{ "no user", no_user },
	{ "rule without access", no_access },
};

/* The host refuses to send what the runner would refuse to read. */
static void
test_faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(faults); i++) {
		struct confinement confinement = sample();
		struct confine_op op = ops[0];
		struct confine_rule rule = rules[0];
		struct hl_buf bytes;
		struct hl_err err;
		confinement.ops = &op;
		confinement.ops_len = 1;
		confinement.rules = &rule;
		faults[i].make(&confinement, &op);
		hl_buf_init(&bytes, 1 << 20);
		if (confine_encode(&confinement, &bytes, &err) == 0)
			fail_msg("%s was sent", faults[i].name);
		assert_string_equal(hl_code_info(err.code)->id, "HLI-02");
		hl_buf_done(&bytes);
	}
}

static void
test_step_texts(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CONFINE_STEP_MAX; i++)
		assert_true(strlen(confine_step_text((enum confine_step)i)) > 3);
	assert_string_equal(confine_step_text(CONFINE_STEP_PROC), "mount /proc");
	assert_string_equal(confine_step_text(CONFINE_STEP_MAX), "an unknown step");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_step_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
