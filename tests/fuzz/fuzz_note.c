/*
 * What stands beside a policy or in a state directory: a note, a public key, a statement,
 * remembered revisions. Whatever is taken must come out of another round as it is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/note.h"
#include "policy/revisions.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_statement(const struct note *note)
{
	struct policy_statement statement;
	struct hl_buf out;
	struct hl_err err;

	if (policy_statement_parse(note->text, note->text_len, &statement, &err) != 0) {
		HL_BUG_ON(err.code != HLS_04);
		return;
	}
	hl_buf_init(&out, NOTE_TEXT_MAX);
	policy_statement_put(&out, &statement);
	HL_BUG_ON(out.len != note->text_len || memcmp(out.data, note->text, out.len) != 0);
	hl_buf_done(&out);
}

static void
check_note(const char *bytes, size_t size)
{
	static struct note note;
	struct hl_err err;
	size_t len;

	if (policy_note_parse(bytes, size, &note, &err) != 0) {
		HL_BUG_ON(err.code != HLS_04);
		return;
	}
	HL_BUG_ON(note.len == 0 || note.len > NOTE_SIGNATURES_MAX);
	HL_BUG_ON(note.text_len == 0 || note.text[note.text_len - 1] != '\n');
	len = note.text_len + 1;
	for (size_t i = 0; i < note.len; i++) {
		const struct note_signature *signature = &note.signatures[i];
		HL_BUG_ON(signature->name_len == 0 || signature->name + signature->name_len >
							  signature->line + signature->line_len);
		len += signature->line_len + 1;
	}
	HL_BUG_ON(len != size);
	check_statement(&note);
}

static void
check_key(const char *bytes, size_t size)
{
	struct note_key key;
	struct hl_buf out;
	struct hl_err err;

	if (policy_note_key_parse(bytes, size, &key, &err) != 0) {
		HL_BUG_ON(err.code != HLS_10);
		return;
	}
	hl_buf_init(&out, NOTE_KEY_TEXT_MAX);
	policy_note_put_key(&out, &key);
	HL_BUG_ON(out.failed || out.len > size || memcmp(out.data, bytes, out.len) != 0);
	hl_buf_done(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct revisions all;
	struct hl_err err;

	check_note(bytes, size);
	check_key(bytes, size);
	if (policy_revisions_parse(bytes, size, &all, &err) == 0) {
		for (size_t i = 0; i < all.len; i++)
			HL_BUG_ON(policy_revisions_of(&all, all.v[i].id) != all.v[i].revision);
		policy_revisions_done(&all);
	}
	return 0;
}
