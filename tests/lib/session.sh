# Sessions, for the tests of what speaks with one. Sourced after tap.sh.
#
#	python_files FILE...	puts files of tests/ into $TMP/py, with the library that they import, where
#				both callers can read them
#	keeper_pid CALLER NAME	the process that keeps the caller's session of that name
# shellcheck shell=bash

python_files() {
	local file
	for file in lib/session.py "$@"; do
		mkdir -p "$TMP/py/$(dirname "$file")"
		cp "$ROOT/tests/$file" "$TMP/py/$file"
	done
	chmod -R a+rX "$TMP/py"
}

keeper_pid() {
	as "$1" "$LAUNCH" ps --format json | python3 -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line)
    if row["name"] == sys.argv[1]:
        print(row["pid"])' "$2"
}
