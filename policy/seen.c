/*
 * Which item has a name or a text first. A list may have a thousand members and a stack many
 * layers, so each new one is looked up in a table and not compared with all that came before.
 */
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

static const char *
key_of(const struct policy_seen *seen, const struct policy_item *item)
{
	return seen->is_by_name ? item->name : item->text;
}

/* FNV-1a. */
static size_t
hash(const char *text)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (; *text != '\0'; text++)
		sum = (sum ^ (unsigned char)*text) * 0x100000001b3;
	return (size_t)(sum ^ sum >> 32);
}

bool
policy_seen_init(struct policy_arena *arena, size_t n, bool is_by_name,
    struct policy_seen *ret_seen)
{
	size_t slots = 4;

	/* Half of them stay free. */
	while (slots / 2 < n)
		slots *= 2;
	*ret_seen = (struct policy_seen){
		.slots = policy_arena_array(arena, slots, sizeof(struct policy_item *)),
		.mask = slots - 1,
		.is_by_name = is_by_name,
	};
	return ret_seen->slots != NULL;
}

const struct policy_item *
policy_seen_first(struct policy_seen *seen, const struct policy_item *item)
{
	const char *key = key_of(seen, item);
	size_t i = hash(key) & seen->mask;

	while (seen->slots[i] != NULL && strcmp(key_of(seen, seen->slots[i]), key) != 0)
		i = (i + 1) & seen->mask;
	if (seen->slots[i] != NULL)
		return seen->slots[i];
	seen->slots[i] = item;
	return NULL;
}
