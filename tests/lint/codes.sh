#!/bin/sh
# base/codes.def: families in order, numbers ascending without repetition, each code provoked by a test,
# which names it, and each text with something to do in it: a sentence that begins with one of these verbs.
set -eu

rows=$(sed -n 's/^HL_CODE(\([A-Z]\), \([0-9]*\),.*/\1 \2/p' base/codes.def)
status=0
if [ "$(printf '%s\n' "$rows" | sort -u)" != "$rows" ]; then
	echo "base/codes.def: rows are not sorted by family and number, or one is there twice"
	status=1
fi
known=$(mktemp)
trap 'rm -f "$known"' EXIT
grep -rhoE 'HL[A-Z][-_][0-9]{2}' tests --include='*.c' --include='*.sh' --include='*.txt' --include='*.yaml' --include='*.def' |
	tr _ - | sort -u >"$known"
printf '%s\n' "$rows" | while read -r family number; do
	if ! grep -qx "HL$family-$number" "$known"; then
		echo "base/codes.def: no test names HL$family-$number"
	fi
done >"$known.missing"
if [ -s "$known.missing" ]; then
	cat "$known.missing"
	status=1
fi
rm -f "$known.missing"
verbs="add ask attach change choose copy drop end give have install keep load look make mend mount move name
open please pull put raise remove report run say see save send set sign start stop take tighten try unset update use
wait write"
silent=$(
	awk -v verbs="$verbs" '
	BEGIN { n = split(verbs, list); for (i = 1; i <= n; i++) is_verb[list[i]] = 1 }
	/^HL_CODE\(/ && !/"reserved"/ {
		rows++
		text = $0
		sub(/^[^"]*"[^"]*"[^"]*"/, "", text)
		sub(/"\).*$/, "", text)
		n = split(text, parts, /[.;:] +/)
		found = 0
		for (i = 1; i <= n; i++) {
			split(parts[i], words, /[ ,.]/)
			found = found || (tolower(words[1]) in is_verb)
		}
		if (!found)
			print "base/codes.def: what to do about HL" substr($0, 9, 1) "-" substr($0, 12, 2) "?"
	}
	END { if (rows < 100) print "base/codes.def: only " rows + 0 " codes were read" }' base/codes.def
)
if [ -n "$silent" ]; then
	echo "$silent"
	status=1
fi
exit $status
