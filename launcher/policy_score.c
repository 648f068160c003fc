/*
 * policy meets --score: what a policy keeps of a level, as a sum of weights (weights.def) that is
 * printed with each of them, so that whoever reads the number sees what it is made of.
 */
#include "launcher/policy_score.h"

#include <stdio.h>
#include <string.h>

#include "launcher/launcher.h"

#include "base/banned.h"

enum {
	WEIGHT_ELSE = 1,
	WEIGHT_DEGRADE = 5,
};

static const unsigned char weights[POLICY_FIELD_MAX] = {
#define WEIGHT(field, weight, why) [POLICY_##field] = (weight),
#include "launcher/weights.def"
#undef WEIGHT
};

static unsigned
weight_of(enum policy_field field)
{
	if (field == POLICY_FIELD_MAX)
		return WEIGHT_DEGRADE;
	return weights[field] != 0 ? weights[field] : WEIGHT_ELSE;
}

/* Of a level there is a row for each key that it bounds, and one for what it lets go missing. */
int
policy_score(const struct policy *policy, const struct policy *level,
    struct policy_score *ret_score, struct hl_err *err)
{
	struct policy_score score = { 0 };

	for (size_t i = 0; i <= POLICY_FIELD_MAX; i++) {
		enum policy_field field = (enum policy_field)i;
		struct policy_score_row *row = &score.rows[score.len];
		if (policy_is_within(policy, level, field, &row->is_met, err) != 0)
			return -1;
		if (row->is_met && field != POLICY_FIELD_MAX &&
		    !policy_get(level, field)->is_bounded)
			continue;
		row->key = field == POLICY_FIELD_MAX ? "degrade.allow" : policy_field_key(field);
		row->weight = weight_of(field);
		score.total += row->weight;
		score.met += row->is_met ? row->weight : 0;
		score.len++;
	}
	*ret_score = score;
	return 0;
}

void
policy_score_put(const struct policy_score *score, struct hl_buf *out)
{
	for (size_t i = 0; i < score->len; i++)
		hl_buf_putf(out, "  %3u  %-3s  %s\n", score->rows[i].weight,
		    score->rows[i].is_met ? "yes" : "no", score->rows[i].key);
	hl_buf_putf(out, "  score %u of %u: the sum of the weights above with yes\n", score->met,
	    score->total);
}

/* {"met":...,"total":...,"rows":[{"key":...,"weight":...,"met":...}]} */
void
policy_score_put_json(const struct policy_score *score, struct hl_json *json)
{
	hl_json_object(json);
	hl_json_key(json, "met");
	hl_json_u64(json, score->met);
	hl_json_key(json, "total");
	hl_json_u64(json, score->total);
	hl_json_key(json, "rows");
	hl_json_array(json);
	for (size_t i = 0; i < score->len; i++) {
		hl_json_object(json);
		hl_json_key(json, "key");
		hl_json_string(json, score->rows[i].key);
		hl_json_key(json, "weight");
		hl_json_u64(json, score->rows[i].weight);
		hl_json_key(json, "met");
		hl_json_bool(json, score->rows[i].is_met);
		hl_json_end_object(json);
	}
	hl_json_end_array(json);
	hl_json_end_object(json);
}
