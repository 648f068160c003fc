#!/bin/bash
# Exit statuses, signals, the wall limit and the result object of one local run, as root and as an
# ordinary user.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

base=$(policy base <<'Y'
version: 1
id: test/base
level: baseline@1
backends: [local]
Y
)
wall=$(policy wall <<'Y'
version: 1
id: test/wall
level: baseline@1
backends: [local]
limits: {wall: 1s}
Y
)

# Of this host's mounts, those that were there before are not ours.
mount_points() {
	cut -d ' ' -f 3-6 /proc/self/mountinfo
}
mounts=$(mount_points)

result() {
	python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"
}

sleepers() {
	pgrep -fx "sleep $1" >/dev/null
}

no_sleepers() {
	! sleepers "$1"
}

for caller in $CALLERS; do
	run() { as "$caller" "$LAUNCH" --policy "$base" "$@"; }

	status_is "$caller: exit status 0" 0 run -- true
	is "$caller: nothing is printed on success" "$out" ""
	status_is "$caller: exit status 42" 42 run -- sh -c 'exit 42'
	status_is "$caller: the command's own 125 is the command's (U73)" 125 run --result r125 -- sh -c 'exit 125'
	is "$caller: U73 stage of a command's own 125" "$(result "$TMP/work.$caller/r125" stage)" command
	status_is "$caller: killed by its own TERM" 143 run --result rterm -- sh -c 'kill -TERM $$'
	is "$caller: how is signaled" "$(result "$TMP/work.$caller/rterm" how)" signaled
	status_is "$caller: killed by its own KILL" 137 run -- sh -c 'kill -KILL $$'
	status_is "$caller: a child's TERM is the shell's 143" 143 run -- sh -c 'sh -c "kill -TERM \$\$"; exit $?'
	status_is "$caller: program not found (HLB-04)" 127 run --result r127 -- no-such-program
	like "$caller: HLB-04 is told" "$out" 'HLB-04'
	is "$caller: U73 stage of a missing program" "$(result "$TMP/work.$caller/r127" stage)" launcher
	status_is "$caller: program not executable (HLB-05)" 126 run -- /etc/passwd
	like "$caller: HLB-05 is told" "$out" 'HLB-05'
	status_is "$caller: usage is 125 (HLU-01)" 125 run --no-such-option -- true
	like "$caller: HLU-01 is told" "$out" 'HLU-01'
	status_is "$caller: a missing policy is 125 (HLU-02)" 125 as "$caller" "$LAUNCH" --policy "$TMP/none.yaml" -- true
	like "$caller: HLU-02 is told" "$out" 'HLU-02'
	status_is "$caller: no policy at all is 125 (HLU-03)" 125 as "$caller" "$LAUNCH" -- true
	like "$caller: HLU-03 is told" "$out" 'HLU-03'
	status_is "$caller: a result that cannot be written is 125 (HLU-04)" 125 run --result /proc/none -- true
	like "$caller: HLU-04 is told" "$out" 'HLU-04'
	status_is "$caller: argv reaches the program byte for byte" 0 run -- printf '%s|' 'a b' 'c;id -u' "it's" '$x'
	is "$caller: argv bytes" "$out" "a b|c;id -u|it's|\$x|"
	status_is "$caller: -c reaches bash byte for byte" 0 run -c 'x=1; printf "%s" "$((x + 1))"; [[ -n $BASH_VERSION ]]'
	is "$caller: -c output" "$out" 2
	is "$caller: stdin is passed" "$(printf 'a\0b' | run -- od -An -c | tr -d ' ')" 'a\0b'
	is "$caller: stdout and stderr are separate" "$(run -- sh -c 'echo o; echo e >&2' 2>/dev/null)" o
	is "$caller: no zombie stays" "$(run -- sh -c '(sh -c "sleep 0.1 & exit") ; sleep 0.3; grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l')" 0

	begin=$(date +%s%N)
	status_is "$caller: the wall limit is 124" 124 as "$caller" "$LAUNCH" --policy "$wall" --result rwall -- sh -c 'sleep 86301 & sleep 86301'
	took=$((($(date +%s%N) - begin) / 1000000))
	is "$caller: how is timed_out" "$(result "$TMP/work.$caller/rwall" how)" timed_out
	if [ "$took" -lt 5000 ]; then pass "$caller: it ended in time"; else fail "$caller: it ended in time" "$took ms"; fi
	if no_sleepers 86301; then pass "$caller: nothing is left after a timeout"; else fail "$caller: nothing is left after a timeout"; fi
	status_is "$caller: a command that ignores TERM is killed" 124 as "$caller" "$LAUNCH" --policy "$wall" -- sh -c 'trap "" TERM; setsid sleep 86302 & sleep 86302; sleep 86302'
	if no_sleepers 86302; then pass "$caller: U67 setsid children do not survive"; else fail "$caller: U67 setsid children do not survive"; fi

	for signal in TERM INT HUP; do
		# A background job of a shell ignores INT; the launcher must be started with it at default.
		as_exec "$caller" env --default-signal=INT "$LAUNCH" --policy "$base" -- \
			sh -c "trap 'exit 55' $signal; echo up; while :; do sleep 0.05; done" >"$TMP/up.$caller.$signal" 2>/dev/null &
		pid=$!
		wait_until 10 grep -qs up "$TMP/up.$caller.$signal" || fail "$caller: it began, for $signal"
		kill -$signal $pid
		status=0
		wait $pid || status=$?
		is "$caller: $signal is forwarded" "$status" 55
	done

	# hermes 43: an interrupt from the terminal is the whole tree's end.
	as_exec "$caller" env --default-signal=INT "$LAUNCH" --policy "$base" -- \
		sh -c 'setsid sleep 86305 & sleep 86305 & echo up; wait' >"$TMP/up.$caller" 2>/dev/null &
	pid=$!
	wait_until 10 grep -qs up "$TMP/up.$caller" || fail "$caller: hermes 43 it began"
	kill -INT $pid
	status=0
	wait $pid || status=$?
	is "$caller: hermes 43 an interrupt is told" "$status" 130
	if wait_until 5 no_sleepers 86305; then pass "$caller: hermes 43 and nothing is left"; else fail "$caller: hermes 43 and nothing is left"; fi

	as_exec "$caller" "$LAUNCH" --policy "$base" -- sh -c 'echo up; setsid sleep 86303 & sleep 86303' >"$TMP/up.$caller" 2>/dev/null &
	pid=$!
	wait_until 10 grep -qs up "$TMP/up.$caller" || fail "$caller: it began, to be killed"
	kill -KILL $pid
	wait $pid 2>/dev/null
	if wait_until 5 no_sleepers 86303; then pass "$caller: kill -9 of the launcher leaves no process"; else fail "$caller: kill -9 of the launcher leaves no process"; fi

	as "$caller" "$LAUNCH" --policy "$base" -- sh -c 'echo done; sleep 86304 &' >"$TMP/up"
	is "$caller: U68 a background child does not hold the run" "$(cat "$TMP/up")" "done"
	if wait_until 3 no_sleepers 86304; then pass "$caller: background children end with the run"; else fail "$caller: background children end with the run"; fi
done

groups=$(find /sys/fs/cgroup -type d -path '*hermes-launch/*' 2>/dev/null)
is "no cgroup is left" "$groups" ""
is "no mount is left" "$(comm -13 <(sort <<<"$mounts") <(mount_points | sort))" ""

status_is "version" 0 "$LAUNCH" version
like "version text" "$out" '^hermes-launch [0-9]'
status_is "help" 0 "$LAUNCH" help
status_is "help of each verb" 0 "$LAUNCH" help policy
status_is "explain-code" 0 "$LAUNCH" explain-code hlb-04
like "explain-code text" "$out" 'program-not-found'
status_is "explain-code of nothing is 64" 64 "$LAUNCH" explain-code HLX-99
status_is "an unknown verb is 125, as of run" 125 "$LAUNCH" frobnicate
done_testing
