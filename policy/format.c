/*
 * Values as a person would write them in a policy: what is printed here parses again to the same.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

static bool
is_plain_safe(const char *text)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_/";
	static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789_./@+-*";

	return text[0] != '\0' && strchr(first, text[0]) != NULL &&
	       text[strspn(text, rest)] == '\0' && !policy_is_ambiguous(text, strlen(text));
}

void
policy_put_scalar(struct hl_buf *out, const char *text)
{
	if (is_plain_safe(text)) {
		hl_buf_puts(out, text);
		return;
	}
	hl_buf_putc(out, '"');
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			hl_buf_putc(out, '\\');
		hl_buf_putc(out, *text);
	}
	hl_buf_putc(out, '"');
}

/* With the zeros that the largest has no need of. */
static void
put_bits(struct hl_buf *out, const struct policy_field_info *info, uint64_t number)
{
	char longest[32], text[32];

	snprintf(longest, sizeof(longest), "%llo", (unsigned long long)info->max);
	snprintf(text, sizeof(text), "%0*llo", (int)strlen(longest), (unsigned long long)number);
	policy_put_scalar(out, text);
}

void
policy_put_number(struct hl_buf *out, enum policy_field field, uint64_t number)
{
	static const char *const access_words[] = { "ro", "rw" };
	const struct policy_field_info *info = policy_field_info(field);

	if (info->kind == POLICY_KIND_ENUM)
		policy_put_scalar(out, info->words[number]);
	else if (policy_kind_is_ranked(info->kind))
		hl_buf_puts(out, info->words[number]);
	else if (info->kind == POLICY_KIND_WORKDIR)
		hl_buf_puts(out, access_words[number != 0]);
	else if (number == POLICY_UNLIMITED)
		hl_buf_puts(out, "unlimited");
	else if (info->kind == POLICY_KIND_BITS)
		put_bits(out, info, policy_number_turned(field, number));
	else if (info->kind == POLICY_KIND_SIZE)
		hl_buf_put_size(out, number);
	else if (info->kind == POLICY_KIND_DURATION)
		hl_buf_put_duration(out, number);
	else if (info->kind == POLICY_KIND_MILLI)
		hl_buf_put_milli(out, number);
	else
		hl_buf_putf(out, "%llu", (unsigned long long)policy_number_turned(field, number));
}

static void
put_member(struct hl_buf *out, const char *key, const char *text)
{
	hl_buf_putf(out, ", %s: ", key);
	policy_put_scalar(out, text);
}

static void
put_mount(struct hl_buf *out, const struct policy_item *item)
{
	const struct policy_mount *mount = &item->mount;

	hl_buf_puts(out, "{src: ");
	policy_put_scalar(out, mount->src);
	put_member(out, "dst", mount->dst);
	put_member(out, "access", mount->access == POLICY_ACCESS_RW ? "rw" : "ro");
	if (!mount->exec)
		hl_buf_puts(out, ", exec: false");
	if (!mount->is_required)
		hl_buf_puts(out, ", required: false");
	if (mount->is_volume)
		hl_buf_puts(out, ", kind: volume");
	hl_buf_putc(out, '}');
}

static void
put_tmpfs(struct hl_buf *out, const struct policy_item *item)
{
	hl_buf_puts(out, "{dst: ");
	policy_put_scalar(out, item->tmpfs.dst);
	hl_buf_puts(out, ", size: ");
	hl_buf_put_size(out, item->tmpfs.size);
	hl_buf_putf(out, ", exec: %s, mode: \"%o\"}", item->tmpfs.exec ? "true" : "false",
	    item->tmpfs.mode);
}

static void
put_pair(struct hl_buf *out, const struct policy_item *item)
{
	policy_put_scalar(out, item->name);
	hl_buf_puts(out, ": ");
	policy_put_scalar(out, item->text);
}

/* Its text is the form that it is shown in. */
static void
put_record(struct hl_buf *out, const struct policy_item *item)
{
	hl_buf_puts(out, item->text);
}

static void
put_text(struct hl_buf *out, const struct policy_item *item)
{
	policy_put_scalar(out, item->text);
}

void
policy_put_list(struct hl_buf *out, enum policy_kind kind, const struct policy_item *items,
    size_t len)
{
	static const struct {
		void (*put)(struct hl_buf *, const struct policy_item *);
	} writers[POLICY_KIND_MAX] = {
		[POLICY_KIND_SET] = { put_text },
		[POLICY_KIND_RECORDS] = { put_record },
		[POLICY_KIND_NAMED] = { put_record },
		[POLICY_KIND_MAP] = { put_pair },
		[POLICY_KIND_MOUNTS] = { put_mount },
		[POLICY_KIND_TMPFS] = { put_tmpfs },
	};
	bool is_map = kind == POLICY_KIND_MAP || kind == POLICY_KIND_NAMED;

	HL_BUG_ON(writers[kind].put == NULL);
	hl_buf_putc(out, is_map ? '{' : '[');
	for (size_t i = 0; i < len; i++) {
		if (i > 0)
			hl_buf_puts(out, ", ");
		writers[kind].put(out, &items[i]);
	}
	hl_buf_putc(out, is_map ? '}' : ']');
}

void
policy_put_items(struct hl_buf *out, enum policy_kind kind, const struct policy_items *items)
{
	policy_put_list(out, kind, items->v, items->len);
}

static void
put_workdir(struct hl_buf *out, const struct policy_mount *mount)
{
	hl_buf_puts(out, "{access: ");
	hl_buf_puts(out, mount->access == POLICY_ACCESS_RW ? "rw" : "ro");
	if (mount->src != NULL && mount->src[0] != '\0')
		put_member(out, "path", mount->src);
	if (mount->dst != NULL && mount->dst[0] != '\0')
		put_member(out, "at", mount->dst);
	hl_buf_putc(out, '}');
}

static void
put_home(struct hl_buf *out, const struct policy_home_value *home)
{
	static const char *const words[] = { "tmpfs", "persist", "bind" };

	hl_buf_putf(out, "{kind: %s", words[home->kind]);
	if (home->src != NULL)
		put_member(out, "src", home->src);
	if (home->kind == POLICY_HOME_TMPFS && home->size != POLICY_UNLIMITED) {
		hl_buf_puts(out, ", size: ");
		hl_buf_put_size(out, home->size);
	}
	hl_buf_putc(out, '}');
}

/* What is held of a value that is handed out: BOOL is 0 or 1 there. */
static uint64_t
held_of(enum policy_field field, uint64_t number)
{
	const struct policy_field_info *info = policy_field_info(field);

	if (info->kind != POLICY_KIND_BOOL)
		return policy_number_turned(field, number);
	return (uint64_t)policy_word_index(info->words, number != 0 ? "true" : "false",
	    number != 0 ? 4 : 5);
}

void
policy_value_format(const struct policy_value *value, enum policy_field field, struct hl_buf *out)
{
	switch (value->kind) {
	case POLICY_KIND_STRING:
		policy_put_scalar(out, value->text);
		return;
	case POLICY_KIND_WORKDIR:
		put_workdir(out, &value->items[0].mount);
		return;
	case POLICY_KIND_HOME:
		put_home(out, &value->items[0].home);
		return;
	case POLICY_KIND_SET:
	case POLICY_KIND_RECORDS:
	case POLICY_KIND_NAMED:
	case POLICY_KIND_MAP:
	case POLICY_KIND_MOUNTS:
	case POLICY_KIND_TMPFS:
		break;
	case POLICY_KIND_BOOL:
	case POLICY_KIND_ENUM:
	case POLICY_KIND_INT:
	case POLICY_KIND_BITS:
	case POLICY_KIND_SIZE:
	case POLICY_KIND_DURATION:
	case POLICY_KIND_MILLI:
	case POLICY_KIND_MAX:
		policy_put_number(out, field, held_of(field, value->number));
		return;
	}
	policy_put_list(out, value->kind, value->items, value->items_len);
}
