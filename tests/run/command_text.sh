#!/bin/bash
# `run -c TEXT`: text for a shell, byte for byte, without state; and what is said when there is no
# shell inside to read it.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

base=$(policy base <<'Y'
version: 1
id: test/base
level: baseline@1
backends: [local]
env: {set: {NOWHERE: /nowhere}}
Y
)
nobash=$(policy nobash <<'Y'
version: 1
id: test/nobash
level: baseline@1
backends: [local]
env: {set: {PATH: /nowhere}}
Y
)

result() {
	python3 -c 'import json,sys; r=json.load(open(sys.argv[1]))
for k in sys.argv[2:]: r=r[k]
print(r)' "$@"
}

for caller in $CALLERS; do
	run() { as "$caller" "$LAUNCH" --quiet --policy "$base" "$@"; }
	work=$TMP/work.$caller

	status_is "$caller: hermes 1: output is what was written" 0 run -c 'printf hello'
	is "$caller: hermes 1: nothing is added" "$out" hello
	status_is "$caller: hermes 25: quotes reach bash as they are" 0 run -c "echo 'hello world' \"it's\" \\\\ \\\$x"
	is "$caller: hermes 25: quotes" "$out" "hello world it's \\ \$x"
	status_is "$caller: hermes 23: a here-document works" 0 run -c $'cat <<E\na\n  $((1+1))\nE'
	is "$caller: hermes 23: its text" "$out" $'a\n  2'
	status_is "$caller: hermes 22: a syntax error is bash's own 2" 2 run -c "echo 'open"
	is "$caller: hermes 50: stdin reaches the whole command" "$(printf 'a\n\nb' | run -c 'cat; echo .')" $'a\n\nb.'
	status_is "$caller: there is no state to keep and no trace of one" 0 \
		run -c 'trap -p; declare -F; alias; echo "${BASH_ENV-none}"; [ ! -e /proc/self/fd/99 ] && echo "no 99"'
	is "$caller: no trace" "$out" $'none\nno 99'
	status_is "$caller: U73: the command's own 127 is the command's" 127 run --result r -c 'exit 127'
	is "$caller: U73: its stage" "$(result "$work/r" stage)" command

	status_is "$caller: no bash inside is an error of its own (HLB-15)" 127 \
		as "$caller" "$LAUNCH" --policy "$nobash" --result r -c 'echo ran'
	like "$caller: HLB-15 is told" "$out" 'no bash inside the sandbox \[HLB-15\]'
	like "$caller: HLB-15 says what to do" "$out" 'give a program and its arguments'
	is "$caller: HLB-15 is in the result" "$(result "$work/r" error code)" HLB-15
	is "$caller: HLB-15: how" "$(result "$work/r" how)" launcher_error
	status_is "$caller: a program that is missing stays HLB-04" 127 \
		as "$caller" "$LAUNCH" --policy "$nobash" -- bash -c 'echo ran'
	like "$caller: HLB-04 for the argv form" "$out" 'HLB-04'
done
done_testing
