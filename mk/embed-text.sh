#!/bin/sh
# Text files as C string literals: embed-text.sh policy/levels/baseline.1.yaml ... prints rows
# LEVEL("baseline@1", "text") for an X-macro.
set -eu
for file in "$@"; do
	name=$(basename "$file" .yaml | sed 's/\.\([0-9]*\)$/@\1/')
	printf 'LEVEL("%s",\n' "$name"
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/\t"/' -e 's/$/\\n"/' "$file"
	printf ')\n'
done
