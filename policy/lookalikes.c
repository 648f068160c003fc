/*
 * Letters that look like others (lookalikes.def): "/srv/payroll" with a Cyrillic "a" is not
 * the directory that whoever reads the policy sees. The rest of Unicode may be in a path, and a
 * word of another script is no finding: only a word that reads as ASCII and is something else.
 */
#include <string.h>

#include "base/base.h"
#include "policy/layer.h"

#include "base/banned.h"

/* Texts and no pointers: see struct hl_code_info. */
static const struct {
	uint32_t first, last;
	char ascii;
	char what[11];
} rows[] = {
#define LOOKALIKE(first, last, ascii, what) { first, last, ascii, what },
#include "policy/lookalikes.def"
#undef LOOKALIKE
};

#define LOOKALIKE(first, last, ascii, text) HL_FITS(text, rows[0].what);
#include "policy/lookalikes.def"
#undef LOOKALIKE

/* One word: letters and digits without anything between them. */
struct word {
	struct policy_lookalike found; /* the first, or code 0 */
	size_t lookalikes, digits, ascii, others;
};

static bool
is_ascii_letter(uint32_t point)
{
	return (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z');
}

static bool
is_ascii_digit(uint32_t point)
{
	return point >= '0' && point <= '9';
}

/* Signs of ASCII and Latin-1, general punctuation, and that of Chinese and Japanese. */
static bool
is_between_words(uint32_t point)
{
	return (point < 0x80 && !is_ascii_letter(point) && !is_ascii_digit(point)) ||
	       (point >= 0x80 && point <= 0xbf) || (point >= 0x2000 && point <= 0x206f) ||
	       (point >= 0x3000 && point <= 0x303f);
}

static bool
look_up(uint32_t point, struct policy_lookalike *ret_lookalike)
{
	for (size_t i = 0; point >= 0x80 && i < HL_ARRAY_SIZE(rows); i++) {
		if (point < rows[i].first || point > rows[i].last)
			continue;
		*ret_lookalike = (struct policy_lookalike){
			.code = point,
			.ascii = (char)(rows[i].ascii + (char)(point - rows[i].first)),
			.what = rows[i].what,
		};
		return true;
	}
	return false;
}

/* Beside letters of ASCII, or when there is nothing else in the word. One letter alone may be a
 * symbol, as of a formula. */
static bool
is_misleading(const struct word *word)
{
	return word->lookalikes > 0 &&
	       (word->ascii > 0 || (word->others == 0 && word->lookalikes + word->digits > 1));
}

bool
policy_find_lookalike(const char *text, struct policy_lookalike *ret_lookalike)
{
	struct word word = { 0 };
	size_t len = strlen(text);
	uint32_t point;

	for (size_t n; len > 0; text += n, len -= n) {
		struct policy_lookalike one;
		n = hl_utf8_next(text, len, &point);
		if (n == 0)
			return false;
		bool is_one = look_up(point, &one);
		if (is_one && !is_ascii_letter((uint32_t)one.ascii) &&
		    !is_ascii_digit((uint32_t)one.ascii)) {
			*ret_lookalike = one;
			return true;
		}
		if (is_between_words(point)) {
			if (is_misleading(&word))
				break;
			word = (struct word){ 0 };
			continue;
		}
		if (is_one && word.lookalikes == 0)
			word.found = one;
		word.lookalikes += is_one;
		word.ascii += is_ascii_letter(point);
		word.digits += is_ascii_digit(point);
		word.others += !is_one && point >= 0x80;
	}
	if (!is_misleading(&word))
		return false;
	*ret_lookalike = word.found;
	return true;
}

void
policy_lint_path(struct policy_reader *r, const char *key, const struct node *node,
    const char *text)
{
	struct policy_lookalike found;

	/* Of what a private key holds nothing is told, no letter either. */
	if (policy_key_is_private(key) || !policy_find_lookalike(text, &found))
		return;
	policy_diag_warn(r->diag, HLP_28, policy_at(node),
	    "%s has U+%04X (%s), which looks like \"%c\"", key, found.code, found.what,
	    found.ascii);
	policy_diag_help(r->diag,
	    "write \"%c\" as ASCII has it where that is meant, or rename what is named so",
	    found.ascii);
}
