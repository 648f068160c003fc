#!/bin/bash
# A quota of the root (limits.disk) is docker's alone. On podman it is refused before anything is started, and
# told by explain; where the policy says so it goes on without.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
ENGINE=podman
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
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

shared=$(keeps shared 'session: {persist: session}')

disk=$(keeps disk 'limits: {disk: 20MiB}')
status_is "limits.disk (HLD-20)" 125 run "$disk" -c true
like "HLD-20 is told, with the key of a limit" "$out" 'limits.disk has no effect on backend podman.*HLD-20'
is "nothing was started" "$(docker_ours)" ''
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
