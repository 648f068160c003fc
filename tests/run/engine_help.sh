#!/bin/bash
# The table of docker's options against the client that is installed: every option of `docker run` has a
# row, with the same short flag, and is a boolean there exactly when it is one here. Needs no daemon.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

if ! command -v docker >/dev/null; then
	skip "options of docker run" "docker is not installed"
	done_testing
	exit
fi

# "flag letter-or-- BOOL-or-VALUE", one a line
rows=$(sed -nE "s/^DOCKER_OPTION\([A-Z0-9_]+,[[:space:]]*\"(--[a-z0-9-]+)\",[[:space:]]*(0|'(.)'),[[:space:]]*([A-Z]+),.*/\1 -\3 \4/p" \
	"$ROOT/backends/docker/options.def" | sed -E 's/ [A-Z]+$/&/; s/ BOOL$/ B/; s/ [A-Z]{2,}$/ V/')
help=$(DOCKER_CONFIG=$TMP docker run --help 2>&1)
theirs=$(sed -nE 's/^ {2,6}(-(.), +)?(--[a-z0-9-]+)( [a-z0-9-]+)?(  .*|$)/\3 -\2\4/p' <<<"$help" |
	sed -E 's/^(--[^ ]+) (-.?) .+$/\1 \2 V/; t; s/$/ B/')

is "the table is read" "$(grep -c . <<<"$rows")" "$(grep -c '^DOCKER_OPTION(' "$ROOT/backends/docker/options.def")"
if [ "$(grep -c . <<<"$theirs")" -ge 80 ]; then pass "the help is read"; else fail "the help is read" "$help"; fi
while read -r flag letter kind; do
	row=$(grep -E -- "^$flag " <<<"$rows")
	is "$flag has a row with its letter and kind" "$row" "$flag $letter $kind"
done <<<"$theirs"

# What the help hides and the parser reads all the same.
for alias in --dns-opt --net --net-alias; do
	like "$alias has a row" "$rows" "^$alias "
	out=$(DOCKER_CONFIG=$TMP docker -H "unix://$TMP/none.sock" run "$alias=x" image 2>&1)
	unlike "$alias is read by the client" "$out" 'unknown flag'
done
done_testing
