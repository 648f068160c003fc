#!/bin/sh
# base/codes.def: families in order, numbers ascending without repetition, and each code provoked by a
# test, which names it.
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
exit $status
