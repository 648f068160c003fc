/*
 * doctor's answer: fixed columns for a person, one object for a program.
 */
#include <stdio.h>
#include <string.h>

#include "launcher/doctor.h"

#include "base/banned.h"

static const char *const states[] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_GAP] = "gap",
	[DOCTOR_ABSENT] = "absent",
};

static void
put_text(const struct doctor *doctor, struct hl_buf *out)
{
	for (size_t i = 0; i < doctor->len; i++) {
		const struct doctor_row *row = &doctor->rows[i];
		hl_buf_putf(out, "%-22s %-7s", row->check,
		    row->is_needed ? "needed" : states[row->state]);
		hl_buf_printable(out, row->detail, strlen(row->detail));
		hl_buf_putc(out, '\n');
		if (row->state != DOCTOR_OK && row->mend != NULL)
			hl_buf_putf(out, "%-22s %-7s%s\n", "", "mend", row->mend);
	}
}

static void
put_json(const struct doctor *doctor, struct hl_buf *out)
{
	struct hl_json json;

	hl_json_init(&json, out);
	hl_json_object(&json);
	hl_json_key(&json, "v");
	hl_json_u64(&json, 1);
	hl_json_key(&json, "checks");
	hl_json_array(&json);
	for (size_t i = 0; i < doctor->len; i++) {
		const struct doctor_row *row = &doctor->rows[i];
		hl_json_object(&json);
		hl_json_key(&json, "check");
		hl_json_string(&json, row->check);
		hl_json_key(&json, "state");
		hl_json_string(&json, states[row->state]);
		hl_json_key(&json, "needed");
		hl_json_bool(&json, row->is_needed);
		hl_json_key(&json, "detail");
		hl_json_string(&json, row->detail);
		hl_json_key(&json, "mend");
		hl_json_string(&json, row->state != DOCTOR_OK ? row->mend : NULL);
		hl_json_end_object(&json);
	}
	hl_json_end_array(&json);
	hl_json_end_object(&json);
	hl_buf_putc(out, '\n');
}

int
doctor_tell(const struct doctor *doctor, bool is_json, struct hl_err *err)
{
	struct hl_buf text;

	hl_buf_init(&text, 1U << 18);
	if (is_json)
		put_json(doctor, &text);
	else
		put_text(doctor, &text);
	return verb_answer(&text, err);
}
