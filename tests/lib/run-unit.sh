#!/bin/sh
# Runs unit-test programs, each printing its own TAP, and says how many failed. ASan's leak check needs
# ptrace, which tests of confinement may forbid: those programs say so themselves.
set -u

failed=0
passed=0
for program in "$@"; do
	if CMOCKA_MESSAGE_OUTPUT=TAP "$program" >"$program.out" 2>&1; then
		passed=$((passed + 1))
		if grep -q '# SKIP' "$program.out"; then
			grep '# SKIP' "$program.out"
			if [ "${HL_MUST_WORK:-0}" = 1 ]; then
				echo "$program: a skip where everything must work"
				failed=$((failed + 1))
				passed=$((passed - 1))
			fi
		fi
	else
		failed=$((failed + 1))
		echo "--- $program failed"
		cat "$program.out"
	fi
done
echo "unit: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
