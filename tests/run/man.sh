#!/bin/bash
# The manual pages: clean for mandoc, and with every verb, option, key and code of the tables in what
# a reader sees.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

cd "$ROOT" || exit 1
if ! command -v mandoc >/dev/null; then
	skip "manual pages" "the package mandoc is not installed"
	done_testing
	exit
fi

for page in build/man/*.[157]; do
	is "$(basename "$page"): no warning" "$(mandoc -T lint -W warning "$page" 2>&1)" ""
	mandoc -T ascii -O width=200 "$page" | col -b >"$TMP/$(basename "$page").txt"
done

# absent PAGE WORD...: those that the page does not name
absent() {
	local page=$TMP/$1.txt word
	shift
	for word; do
		grep -qF -- "$word" "$page" || printf '%s\n' "$word"
	done
}

mapfile -t verbs < <(sed -n 's/^VERB([A-Z_]*,[[:space:]]*"\([^"]*\)".*/\1/p' launcher/verbs.def)
mapfile -t options < <(sed -n 's/^OPTION("\([^"]*\)".*/--\1/p' launcher/options.def)
mapfile -t keys < <(sed -n 's/^POLICY_FIELD([A-Z_]*,[[:space:]]*"\([^"]*\)".*/\1/p' policy/fields.def)
mapfile -t codes < <(sed -n 's/^HL_CODE(\([A-Z]\), \([0-9]*\),.*/HL\1-\2/p' base/codes.def)
is "every verb" "$(absent hermes-launch.1 "${verbs[@]}")" ""
is "every option" "$(absent hermes-launch.1 "${options[@]}")" ""
is "every key" "$(absent hermes-launch-policy.5 "${keys[@]}")" ""
is "every code" "$(absent hermes-launch-errors.7 "${codes[@]}")" ""
if [ ${#verbs[@]} -ge 9 ] && [ ${#options[@]} -ge 20 ] && [ ${#keys[@]} -ge 30 ] && [ ${#codes[@]} -ge 100 ]; then
	pass "there are many"
else
	fail "there are many" "${#verbs[@]} ${#options[@]} ${#keys[@]} ${#codes[@]}"
fi
shown=$(grep -E '^     [a-z]+\.?[a-z_.]*( |$)' "$TMP/hermes-launch-policy.5.txt" | sed -n '/audit.required/,$p' |
	awk '{print $1}' | grep -E '^(audit|docker|env|fs|image|limits|local|network|process)\.')
is "keys are in order" "$(LC_ALL=C sort -c 2>&1 <<<"$shown")" ""
if [ "$(wc -l <<<"$shown")" -ge 30 ]; then pass "and many"; else fail "and many" "$shown"; fi

make -s install DESTDIR="$TMP/root" PREFIX=/usr >/dev/null 2>&1
for page in man1/hermes-launch.1 man5/hermes-launch-policy.5 man7/hermes-launch-errors.7; do
	if [ -s "$TMP/root/usr/share/man/$page" ]; then pass "$page is installed"; else fail "$page is installed"; fi
done

done_testing
