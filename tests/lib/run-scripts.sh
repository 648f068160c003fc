#!/bin/bash
# Runs test scripts one after another. Each prints TAP lines (ok, not ok, "ok ... # SKIP reason"); its
# lines are counted here, so that a script which ends early or asserts nothing is a failure.
set -u

passed=0 failed=0 skipped=0
for script in "$@"; do
	[ -f "$script" ] || continue
	out=$(mktemp)
	started=$(date +%s)
	timeout 900 bash "$script" >"$out" 2>&1
	status=$?
	ok=$(grep -c '^ok ' "$out")
	bad=$(grep -c '^not ok ' "$out")
	skip=$(grep -c '^ok .*# SKIP' "$out")
	plan=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$out" | tail -n 1)
	printf '# %s: %d ok, %d not ok, %d skipped, %ds\n' "$script" $((ok - skip)) "$bad" "$skip" \
		$(($(date +%s) - started))
	grep '# SKIP' "$out"
	if [ "$bad" -gt 0 ] || [ "$status" -ne 0 ] || [ "$ok" -eq 0 ] ||
		[ "${plan:-none}" != $((ok + bad)) ]; then
		cat "$out"
		echo "# status $status; $((ok + bad)) tests, the plan says ${plan:-none}"
		[ "$bad" -gt 0 ] || bad=1
	fi
	if [ "$skip" -gt 0 ] && [ "${HL_MUST_WORK:-0}" = 1 ]; then
		echo "# a skip where everything must work"
		bad=$((bad + skip))
	fi
	passed=$((passed + ok - skip))
	failed=$((failed + bad))
	skipped=$((skipped + skip))
	rm -f "$out"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
