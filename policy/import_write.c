/*
 * The imported policy as text, in canonical form: the order of fields.def, a line a key, two
 * columns a level. What several settings decide together is put together here.
 */
#include <string.h>

#include "policy/field.h"
#include "policy/import.h"
#include "policy/state.h"

#include "base/banned.h"

/* A call may ask for more than the default, up to hermes-agent's longest foreground call. */
static void
put_wall(struct import *im, struct hl_buf *out)
{
	uint64_t max = im->wall_max > im->wall ? im->wall_max : im->wall;

	hl_buf_puts(out, "{max: ");
	policy_put_number(out, POLICY_LIMITS_WALL, max);
	hl_buf_puts(out, ", default: ");
	policy_put_number(out, POLICY_LIMITS_WALL, im->wall);
	hl_buf_putc(out, '}');
}

static void
put_workdir(struct import *im, struct hl_buf *out)
{
	bool is_docker = im->backend == IMPORT_DOCKER;
	bool is_at = im->is_workspace && !im->has_workspace_mount;

	hl_buf_putc(out, '{');
	if (im->workdir != NULL) {
		hl_buf_puts(out, "path: ");
		policy_put_scalar(out, im->workdir);
		hl_buf_puts(out, ", ");
	}
	if (is_at)
		hl_buf_puts(out, "at: /workspace, ");
	hl_buf_putf(out, "access: %s", !is_docker || im->is_workspace ? "rw" : "ro");
	hl_buf_putc(out, '}');
}

/* The level's own names and those that were named. */
static void
put_pass(struct import *im, struct hl_buf *out)
{
	hl_buf_puts(out, "[LANG, \"LC_*\", TERM, TZ");
	for (size_t i = 0; i < im->pass.len; i++) {
		hl_buf_puts(out, ", ");
		policy_put_scalar(out, im->pass.v[i]);
	}
	hl_buf_putc(out, ']');
}

static void
put_mounts(struct import *im, struct hl_buf *out)
{
	for (size_t i = 0; i < im->mounts.len; i++) {
		struct policy_items one = { &im->mounts.v[i], 1 };
		struct hl_buf list HL_AUTO(hl_buf_done) = { 0 };
		hl_buf_init(&list, 16384);
		policy_put_items(&list, POLICY_KIND_MOUNTS, &one);
		/* Without the brackets of a list of one. */
		hl_buf_puts(out, "\n    - ");
		if (list.len > 2)
			hl_buf_put(out, list.data + 1, list.len - 2);
	}
}

static void
put_image(const char *reference, struct hl_buf *out)
{
	hl_buf_puts(out, "  allowed: [");
	policy_put_scalar(out, reference);
	hl_buf_puts(out, "]\n  default: ");
	policy_put_scalar(out, reference);
	hl_buf_putc(out, '\n');
}

/* Values that more than one setting makes. */
static int
compose(struct import *im)
{
	const struct {
		enum policy_field field;
		bool is_there;
		void (*put)(struct import *, struct hl_buf *);
	} parts[] = {
		{ POLICY_LIMITS_WALL, true, put_wall },
		{ POLICY_FS_WORKDIR, true, put_workdir },
		{ POLICY_FS_MOUNTS, im->mounts.len > 0, put_mounts },
		{ POLICY_ENV_PASS, im->pass.len > 0, put_pass },
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(parts); i++) {
		struct hl_buf text HL_AUTO(hl_buf_done) = { 0 };
		if (!parts[i].is_there)
			continue;
		hl_buf_init(&text, POLICY_FILE_MAX);
		parts[i].put(im, &text);
		if (hl_buf_check(&text, "the imported policy", im->err) != 0)
			return -1;
		im->values[parts[i].field] = import_keep(im, text.data);
		if (im->values[parts[i].field] == NULL)
			return hl_err_oom(im->err);
	}
	return 0;
}

static void
put_field(struct import *im, enum policy_field field, struct hl_buf *out)
{
	static const char block[] = "\n";
	const char *key = policy_field_key(field), *value = im->values[field];
	const char *dot = strchr(key, '.');

	if (field == POLICY_IMAGE)
		put_image(value, out);
	else if (dot == NULL)
		hl_buf_putf(out, "%s: %s\n", key, value);
	else
		hl_buf_putf(out, "  %s:%s%s\n", dot + 1, strncmp(value, block, 1) == 0 ? "" : " ",
		    value);
}

static void
put_fields(struct import *im, struct hl_buf *out)
{
	const char *section = "";
	size_t section_len = 0;

	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const char *key = policy_field_key((enum policy_field)i);
		size_t len = strcspn(key, ".");
		bool is_section = key[len] == '.' || i == POLICY_IMAGE;
		if (im->values[i] == NULL || i == POLICY_BACKENDS)
			continue;
		if (is_section && (len != section_len || strncmp(section, key, section_len) != 0))
			hl_buf_putf(out, "%.*s:\n", (int)len, key);
		section = key;
		section_len = len;
		put_field(im, (enum policy_field)i, out);
	}
}

int
import_write(struct import *im)
{
	const struct import_backend *backend = &import_backends[im->backend];
	struct hl_buf *out = &im->out->text;

	if (compose(im) != 0)
		return -1;
	if (im->has_workspace_mount && im->is_workspace)
		import_note(im, "terminal.docker_mount_cwd_to_workspace",
		    "a volume has /workspace: the working directory is at its own path");
	hl_buf_puts(out, "# Made from hermes-agent's settings by hermes-launch import hermes.\n");
	if (im->defaults.len > 0)
		hl_buf_putf(out, "# As hermes-agent has it when nobody says it: %s.\n",
		    im->defaults.data);
	hl_buf_putf(out, "version: 1\nid: hermes/imported\nlevel: %s\nbackends: [%s]\n",
	    backend->level, backend->ours);
	put_fields(im, out);
	return hl_buf_check(out, "the imported policy", im->err);
}
