/*
 * Graphics processors for the command ("gpu:all" and "gpu:0" in fs.devices). An engine is asked for
 * them by number, because what their driver needs besides nodes its own runtime knows. On this host
 * they are the nodes that the vendors' drivers have made: those of the processor, and those by
 * which all of one vendor are controlled. Each is a device like one that the policy names itself,
 * and is judged as one. A host that has none is no reason to run without.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

enum {
	NODE_MAX = 128 /* bytes of a node's path */
};

static const struct gpu_node {
	const char *dir, *prefix;
	bool is_numbered; /* digits follow, and nothing else */
	uint32_t base;    /* the first processor's number */
	const char *of;   /* the prefix beside which it is shared; NULL: a processor's own */
} nodes[] = {
	{ "/dev", "nvidia", true, 0, NULL },
	/* The kernel numbers nodes to render with from 128 on (its drm_minor_alloc()). */
	{ "/dev/dri", "renderD", true, 128, NULL },
	{ "/dev", "nvidiactl", false, 0, "nvidia" },
	{ "/dev", "nvidia-uvm", false, 0, "nvidia" },
	{ "/dev", "nvidia-uvm-tools", false, 0, "nvidia" },
	{ "/dev", "nvidia-modeset", false, 0, "nvidia" },
	{ "/dev/nvidia-caps", "nvidia-cap", true, 0, "nvidia" },
	{ "/dev", "kfd", false, 0, "renderD" },
};

struct walk {
	const struct fs_scope *scope;
	const struct policy_item *item;
	const struct plan_gpus *wanted; /* by this member */
	bool has[HL_ARRAY_SIZE(nodes)]; /* something of the row is there */
};

/* Whether a name in the row's directory is one of those that are wanted. */
static bool
is_wanted(const struct gpu_node *node, const char *name, const struct plan_gpus *wanted)
{
	size_t len = strlen(node->prefix);
	struct hl_err ignored = { 0 };
	uint64_t number;

	if (!node->is_numbered)
		return strcmp(name, node->prefix) == 0;
	if (strncmp(name, node->prefix, len) != 0 ||
	    hl_parse_u64(name + len, node->base, UINT32_MAX, &number, &ignored) != 0)
		return false;
	number -= node->base;
	return node->of != NULL || wanted->is_all ||
	       (number < POLICY_GPUS_MAX && (wanted->numbers >> number & 1U) != 0);
}

static bool
is_shared_in_vain(const struct walk *walk, const struct gpu_node *node)
{
	for (size_t i = 0; node->of != NULL && i < HL_ARRAY_SIZE(nodes); i++)
		if (nodes[i].of == NULL && strcmp(nodes[i].prefix, node->of) == 0)
			return !walk->has[i];
	return false;
}

static bool
has_device(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->devices_len; i++)
		if (strcmp(plan->devices[i].dst, path) == 0)
			return true;
	return false;
}

static int
add_node(const struct walk *walk, const char *path, struct hl_err *err)
{
	const struct policy_item item = { .text = path, .origin = walk->item->origin };

	if (has_device(walk->scope->plan, path))
		return 0;
	return plan_device_add(walk->scope, &item, err);
}

/* What this host has of a row; not even the directory where there is no such driver. */
static int
add_nodes(struct walk *walk, size_t row, struct hl_err *err)
{
	const struct gpu_node *node = &nodes[row];
	DIR *dir HL_AUTO_DIR = opendir(node->dir);
	const struct dirent *entry;
	char path[PATH_MAX];
	int status;

	if (dir == NULL && errno == ENOENT)
		return 0;
	if (dir == NULL)
		return hl_err_sys(err, HLU_10, "cannot read '%s'", node->dir);
	while ((status = hl_dir_next(dir, &entry)) > 0) {
		if (!is_wanted(node, entry->d_name, walk->wanted))
			continue;
		snprintf(path, sizeof(path), "%s/%s", node->dir, entry->d_name);
		if (add_node(walk, path, err) != 0)
			return -1;
		walk->has[row] = true;
	}
	return status == 0 ? 0 : hl_err_sys(err, HLU_10, "cannot read '%s'", node->dir);
}

static int
add_here(struct walk *walk, struct hl_err *err)
{
	bool is_there = false;

	for (size_t i = 0; i < HL_ARRAY_SIZE(nodes); i++) {
		if (is_shared_in_vain(walk, &nodes[i]))
			continue;
		if (add_nodes(walk, i, err) != 0)
			return -1;
		is_there |= nodes[i].of == NULL && walk->has[i];
	}
	if (is_there)
		return 0;
	hl_err_set(err, HLU_10, "this host has no device of '%s' (/dev/nvidia*, /dev/dri/renderD*)",
	    walk->item->text);
	return hl_err_help(err,
	    "name only what this host has ('ls /dev/nvidia* /dev/dri'), or let the "
	    "policy say devices: {allowed: [...], default: []}");
}

/* A pattern for the path, or for a directory that it is in. */
static bool
is_covered(const char *pattern, const char *path)
{
	char part[NODE_MAX];

	for (size_t i = 0; i < sizeof(part); i++) {
		part[i] = '\0';
		if ((path[i] == '/' || path[i] == '\0') && hl_glob_match(pattern, part))
			return true;
		part[i] = path[i];
		if (path[i] == '\0')
			break;
	}
	return false;
}

static int
check_name(const struct walk *walk, const char *path, struct hl_err *err)
{
	const struct policy_value *denied = policy_get(walk->scope->policy, POLICY_FS_DENY);

	for (size_t i = 0; i < denied->items_len; i++) {
		const struct policy_item *item = &denied->items[i];
		if (!is_covered(item->text, path))
			continue;
		hl_err_set(err, HLC_72, "device '%s' of '%s' is covered by '%.200s'", path,
		    walk->item->text, item->text);
		err->where = item->origin.where;
		return hl_err_help(err, "take it out of fs.deny, or out of fs.devices");
	}
	return 0;
}

/* An engine finds the nodes by itself, and its driver makes some of them when they are first used:
 * what the policy covers by name it would give all the same. */
static int
check_not_denied(const struct walk *walk, struct hl_err *err)
{
	char name[NODE_MAX / 2], path[NODE_MAX];

	for (size_t i = 0; i < HL_ARRAY_SIZE(nodes) * POLICY_GPUS_MAX; i++) {
		const struct gpu_node *node = &nodes[i / POLICY_GPUS_MAX];
		unsigned number = i % POLICY_GPUS_MAX;
		if (node->is_numbered)
			snprintf(name, sizeof(name), "%s%u", node->prefix, node->base + number);
		else
			snprintf(name, sizeof(name), "%s", node->prefix);
		snprintf(path, sizeof(path), "%s/%s", node->dir, name);
		if ((node->is_numbered || number == 0) && is_wanted(node, name, walk->wanted) &&
		    check_name(walk, path, err) != 0)
			return -1;
	}
	return 0;
}

int
plan_gpu_add(const struct fs_scope *scope, const struct policy_item *item, struct hl_err *err)
{
	const char *which = item->text + strlen(POLICY_GPU);
	struct plan_gpus wanted = { .is_all = strcmp(item->text, POLICY_GPU_ALL) == 0 };
	struct plan_gpus *gpus = &scope->plan->gpus;
	struct walk walk = { .scope = scope, .item = item, .wanted = &wanted };
	uint64_t number = 0;

	if (!wanted.is_all && hl_parse_u64(which, 0, POLICY_GPUS_MAX - 1, &number, err) != 0)
		return -1;
	wanted.numbers = wanted.is_all ? 0 : UINT64_C(1) << number;
	if (plan_is_local(scope->plan))
		return add_here(&walk, err);
	if (check_not_denied(&walk, err) != 0)
		return -1;
	if (!gpus->is_all && gpus->numbers == 0)
		gpus->origin = item->origin;
	gpus->is_all |= wanted.is_all;
	gpus->numbers = gpus->is_all ? 0 : gpus->numbers | wanted.numbers;
	return 0;
}
