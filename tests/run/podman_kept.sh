#!/bin/bash
# What is docker's alone: a container that is kept (session.persist: task) and a quota of the root
# (limits.disk). On podman both are refused before anything is started, and told by explain; where the policy
# says so it goes on without them.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
ENGINE=podman
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"
docker_begin

mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"
# keeps NAME LINE...: a policy, with the lines
keeps() {
	local name=$1
	shift
	{
		printf 'level: baseline@1\nprocess: {user: "0:0", allow_root: true}\nfs: {root: writable}\n'
		printf '%s\n' "$@"
	} | docker_policy "$name"
}
run() { as root timeout 60 "$LAUNCH" run -q --policy "$@"; }
explain() { as root "$LAUNCH" explain --policy "$@" -- true; }

task=$(keeps task 'session: {persist: task}')
status_is "a name where the policy wants its container kept (HLD-20)" 125 run "$task" --name a -c true
like "HLD-20 is told, with the key" "$out" 'session.persist: task has no effect on backend podman.*HLD-20'
is "nothing was started" "$(docker_ours)" ''
status_is "and there is" 0 as root "$LAUNCH" ps --format json
is "no session" "$out" ''
status_is "without a name nothing would be kept (sibling)" 0 run "$task" -c true
like "explain says it" "$(explain "$task")" "session.persist: task keeps nothing: only a container of docker's is kept"
like "and that nobody applies a lease there" "$(explain "$task")" 'session.lease .*none'

degrades=$(keeps degrades 'session: {persist: task}' 'degrade: {allow: [session.persist]}')
status_is "a policy that names it goes on" 0 as root timeout 60 "$LAUNCH" run --policy "$degrades" --name b -c 'echo 1 >/var/here'
like "and is told" "$out" 'session.persist: task keeps nothing'
status_is "as a session is (sibling)" 0 run "$degrades" --name b -c 'grep -q 1 /var/here'
pid=$(keeper_pid root b)
kill -TERM "$pid"
wait_until 15 eval "! kill -0 $pid 2>/dev/null" || fail "its keeper ended"
is "at whose end nothing is left" "$(docker_ours)" ''

shared=$(keeps shared 'session: {persist: session}')
status_is "session.persist: session is offered (sibling)" 0 run "$shared" --name c -c true
status_is "and ends" 0 as root timeout 30 "$LAUNCH" stop c
is "with its container" "$(docker_ours)" ''

lease=$(keeps lease 'session: {persist: session, lease: 2h}')
status_is "session.lease has nothing to say there (HLD-20)" 125 run "$lease" -c true
like "HLD-20 is told, with the key of a lease" "$out" 'session.lease has no effect on backend podman.*HLD-20'

disk=$(keeps disk 'limits: {disk: 20MiB}')
status_is "limits.disk (HLD-20)" 125 run "$disk" -c true
like "HLD-20 is told, with the key of a limit" "$out" 'limits.disk has no effect on backend podman.*HLD-20'
is "nothing was started either" "$(docker_ours)" ''
status_is "a caller's own limit is no other" 125 run "$shared" --limit disk=20MiB -c true
like "and told as well" "$out" 'limits.disk has no effect on backend podman.*HLD-20'
without=$(keeps without 'limits: {disk: 20MiB}' 'degrade: {allow: [limits.disk]}')
status_is "a policy that gives it up goes on" 0 as root timeout 60 "$LAUNCH" run --policy "$without" -c true
like "and is told of the limit" "$out" 'limits.disk has no effect on backend podman'
status_is "which is explained" 0 as root "$LAUNCH" explain --format argv --policy "$without" -- true
like "as a container with a limit of processes" "$out" '^--pids-limit$'
unlike "and podman is not asked for one of its root" "$out" 'storage-opt'
like "and the log does not say that it was applied" \
	"$(as root "$LAUNCH" audit show --format json | grep '"ev":"run.sandbox"' | tail -n 1 | grep -vc '"disk"')" '^1$'
done_testing
