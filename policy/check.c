/*
 * What one key of a file says against itself: a default outside its own bound, one thing named in
 * two ways. What two keys say against each other is in contradict.c.
 */
#include <string.h>

#include "base/base.h"
#include "policy/records.h"
#include "policy/state.h"

#include "base/banned.h"

static bool
is_allowed(enum policy_kind kind, const struct policy_given *given, const struct policy_item *item)
{
	if (!policy_kind_is_set(kind))
		return policy_place_is_inside(kind, &given->allowed, item);
	for (size_t i = 0; i < given->allowed.len; i++) {
		if (policy_item_is_inside(item, &given->allowed.v[i]))
			return true;
	}
	return false;
}

static void
check_list(const struct policy_given *given, enum policy_field field, struct diag *diag)
{
	for (size_t i = 0; i < given->items.len; i++) {
		if (is_allowed(policy_field_kind(field), given, &given->items.v[i]))
			continue;
		policy_diag_error(diag, HLP_17, policy_at_item(&given->items.v[i]),
		    "the default of %s is not among those allowed", policy_field_key(field));
		policy_diag_help(diag, "add it to allowed or remove it from default");
		return;
	}
}

static void
check_number(const struct policy_given *given, enum policy_field field, struct diag *diag)
{
	if (policy_number_is_inside(field, given->number, given->bound))
		return;
	policy_diag_error(diag, HLP_17, given->default_at,
	    "the default of %s is outside its own bound", policy_field_key(field));
	policy_diag_help(diag, policy_field_info(field)->merge == MERGE_BITS
				   ? "give the default each bit of min"
			       : policy_field_is_least(field) ? "raise the default or lower min"
							      : "lower the default or raise max");
}

/* A default that the same key's own bound refuses. */
static void
check_defaults(const struct policy_read *layer, struct diag *diag)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const struct policy_given *given = &layer->given[i];
		if (given->is_short || !given->has_bound || !given->has_default)
			continue;
		if (policy_kind_is_list(policy_field_kind((enum policy_field)i)))
			check_list(given, (enum policy_field)i, diag);
		else
			check_number(given, (enum policy_field)i, diag);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Records
 */

static void
report_again(struct diag *diag, enum policy_field field, const struct policy_item *second,
    const struct policy_item *first, const char *member)
{
	if (member != NULL)
		policy_diag_error(diag, HLP_15, policy_at_item(second),
		    "two members of %s have the same %s", policy_field_key(field), member);
	else
		policy_diag_error(diag, HLP_15, policy_at_item(second),
		    "a member of %s is there twice", policy_field_key(field));
	policy_diag_other(diag, first->origin.where, "the first is here");
	policy_diag_help(diag, "keep one");
}

/* The same text, or where a member is given the same value of it. */
static bool
is_again(const struct policy_item *a, const struct policy_item *b, size_t member)
{
	if (member == RECORD_INDEX_MAX)
		return strcmp(a->text, b->text) == 0;
	return strcmp(policy_record_text(a->record, (enum record_index)member),
		   policy_record_text(b->record, (enum record_index)member)) == 0;
}

static bool
check_again(enum policy_field field, const struct policy_items *items, size_t member,
    struct diag *diag)
{
	for (size_t i = 0; i < items->len; i++) {
		for (size_t j = 0; j < i; j++) {
			if (!is_again(&items->v[i], &items->v[j], member))
				continue;
			report_again(diag, field, &items->v[i], &items->v[j],
			    member != RECORD_INDEX_MAX ? policy_record_member(member)->key : NULL);
			return false;
		}
	}
	return true;
}

/* A bound may name one thing in several ways; what is used may not. */
static void
check_records(const struct policy_read *layer, enum policy_field field, struct diag *diag)
{
	const struct policy_given *given = &layer->given[field];

	if (!check_again(field, &given->items, RECORD_INDEX_MAX, diag) ||
	    (!given->is_short && !check_again(field, &given->allowed, RECORD_INDEX_MAX, diag)))
		return;
	for (size_t i = 0; i < RECORD_INDEX_MAX; i++) {
		const struct record_member *member = policy_record_member(i);
		if (member->field == field && member->rule == RECORD_RULE_UNIQUE)
			check_again(field, &given->items, i, diag);
	}
}

void
policy_check_file(const struct policy_read *layer, struct diag *diag)
{
	check_defaults(layer, diag);
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++)
		if (policy_field_kind((enum policy_field)i) == POLICY_KIND_RECORDS)
			check_records(layer, (enum policy_field)i, diag);
}
