#!/bin/bash
# Limits that the kernel keeps by control groups, as root and as an ordinary user to whom a group is given: that
# each holds and is told, that one call's end is not another's, and that nothing of them stays. On either version
# of the groups, whichever this host has.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/groups.sh
. "$ROOT/tests/lib/groups.sh"

given=hl-limits-$$
trap 'groups_take "$given"; rm -rf "$TMP"' EXIT
if ! groups_give "$given" $NOBODY; then
	skip "limits by control groups" "root is needed, and groups of its own for pids, memory and cpu"
	done_testing
	exit
fi

# limits NAME LIMITS: a policy
limits() {
	policy "$1" <<Y
version: 1
id: limits/$1
level: baseline@1
backends: [local]
limits: {$2}
Y
}
all=$(limits all 'memory: 64MiB, pids: 40, cpus: 0.2')
wide=$(limits wide 'memory: 1GiB, pids: 400, cpus: 64')
few=$(limits few 'memory: 64MiB, pids: 40')

# who CALLER COMMAND...: as the caller, in the group that is the caller's
who_exec() {
	[ "$1" = root ] || groups_enter "$given" || exit 99
	as_exec "$@"
}
who() { (who_exec "$@"); }

# begin CALLER POLICY COMMAND...: a run in the background: $launcher, $run, $groups
begin() {
	local caller=$1 policy=$2
	shift 2
	: >"$TMP/began"
	who_exec "$caller" "$LAUNCH" -q --policy "$policy" -- sh -c 'echo began; exec "$@"' sh "$@" >"$TMP/began" 2>&1 &
	launcher=$!
	wait_until 30 grep -qs began "$TMP/began" || fail "$caller: a run began" "$(cat "$TMP/began")"
	run=$(who "$caller" "$LAUNCH" audit show --format json | sed -n 's/.*"ev":"run\.start".*"run":"\([^"]*\)".*/\1/p; s/.*"run":"\([^"]*\)".*"ev":"run\.start".*/\1/p' | tail -n 1)
	mapfile -t groups < <(groups_of "${run:-none}")
}
end() {
	kill -TERM "$launcher"
	wait "$launcher" 2>/dev/null
}
no_groups() { [ -z "$(groups_of "$run")" ]; }
# in_groups FILE: the file of that name, in whichever group has it
in_groups() { cat "${groups[@]/%//$1}" 2>/dev/null; }
throttled() { in_groups cpu.stat | sed -n 's/^nr_throttled //p'; }
is_throttled() { [ "$(throttled)" -ge 5 ]; }
sleepers() { pgrep -fx "sleep $1"; }
gone() { ! sleepers "$1" >/dev/null; }

for caller in root user; do
	run_with() { who "$caller" "$LAUNCH" --policy "$@"; }
	result=$TMP/result.$caller
	as "$caller" true
	install -o "$(stat -c %u "$TMP/home.$caller")" -m 600 /dev/null "$result"

	status_is "$caller: a run with all limits" 0 run_with "$all" --result "$result" -- true
	like "$caller: they are told" "$(cat "$result")" '"degraded":\[\],"limits_applied":\["limits\.cpus","limits\.memory","limits\.pids"\]'

	status_is "$caller: limits.memory ends what needs more" 137 run_with "$all" --result "$result" -- sh -c 'exec tail /dev/zero'
	like "$caller: and that is told" "$(cat "$result")" '"code":"HLB-55"'
	status_is "$caller: and nothing else (sibling)" 0 run_with "$wide" -- sh -c 'head -c 150000000 /dev/zero | tail -c 149999999 >/dev/null'

	# Each process of it makes two, for ever.
	bomb='b() { b & b & wait; }; b'
	begin "$caller" "$few" bash -c "$bomb"
	sleep 2
	now=$(in_groups pids.current | sort -n | tail -n 1)
	if [ "${now:-0}" -gt 5 ] && [ "$now" -le 40 ]; then pass "$caller: a fork bomb stays below limits.pids"; else fail "$caller: a fork bomb stays below limits.pids" "$now processes"; fi
	like "$caller: and is refused more" "$(in_groups pids.events)" '^max [1-9]'
	end
	if wait_until 10 no_groups; then pass "$caller: and ends with its run"; else fail "$caller: and ends with its run" "$(groups_of "$run")"; fi
	status_is "$caller: fifty processes are too many" 2 run_with "$few" -- sh -c 'for i in $(seq 50); do sleep 5 & done'
	status_is "$caller: where they are allowed they are made (sibling)" 0 run_with "$wide" -- sh -c 'for i in $(seq 50); do sleep 5 & done'

	begin "$caller" "$all" sh -c 'while :; do :; done'
	if wait_until 30 is_throttled; then pass "$caller: limits.cpus holds up what takes more"; else fail "$caller: limits.cpus holds up what takes more" "$(in_groups cpu.stat)"; fi
	end
	begin "$caller" "$wide" sh -c 'while :; do :; done'
	sleep 1
	is "$caller: and not what may (sibling)" "$(throttled)" 0
	end

	# What becomes of one call is not the others' concern.
	who "$caller" "$LAUNCH" run -q --policy "$few" --name calls -c 'sleep 3; echo alive' >"$TMP/other" 2>&1 &
	other=$!
	sleep 1
	status_is "$caller: a call of a session needs too much memory" 137 who "$caller" "$LAUNCH" run -q --policy "$few" --name calls -c 'exec tail /dev/zero'
	wait "$other"
	is "$caller: another call beside it ends well" "$? $(cat "$TMP/other")" "0 alive"
	is "$caller: and so does the next" "$(who "$caller" "$LAUNCH" run -q --policy "$few" --name calls -c 'echo next' 2>&1)" next
	status_is "$caller: the session ends" 0 who "$caller" "$LAUNCH" stop calls

	# Nobody is left to remove anything.
	begin "$caller" "$all" sleep 86297
	is "$caller: a run has its groups (sibling)" "$((${#groups[@]} > 0))" 1
	kill -9 "$launcher"
	wait "$launcher" 2>/dev/null
	if wait_until 10 no_groups && wait_until 10 gone 86297; then pass "$caller: kill -9 of the launcher leaves none"; else fail "$caller: kill -9 of the launcher leaves none" "$(groups_of "$run")" "$(sleepers 86297)"; fi
	begin "$caller" "$all" sleep 86296
	janitor=$(pgrep -x hl-janitor -P "$launcher")
	kill -9 "$janitor" "$launcher"
	wait "$launcher" 2>/dev/null
	if wait_until 10 gone 86296; then pass "$caller: kill -9 of both leaves no process"; else fail "$caller: kill -9 of both leaves no process"; fi
	like "$caller: gc leaves what may be in use" "$(who "$caller" "$LAUNCH" gc)" ' 0 control groups'
	is "$caller: the groups are there still (sibling)" "$(groups_of "$run")" "$(printf '%s\n' "${groups[@]}")"
	touch -d '2 minutes ago' "${groups[@]}"
	like "$caller: and removes what is old" "$(who "$caller" "$LAUNCH" gc)" ' [1-9] control groups'
	is "$caller: all of it" "$(groups_of "$run")" ""
done

# Who has no such group has no such limit.
status_is "a user without a group is refused (HLD-01)" 125 as user "$LAUNCH" --policy "$all" -- true
like "which is told" "$out" 'limits\.(memory|cpus) cannot be applied.*HLD-01'
done_testing
