#!/bin/bash
# A container of ours against the container checks of the CIS Docker Benchmark (tests/lib/docker_bench.py says
# which do not apply, and why). Each check has a sibling: a container that an engine was asked for in another
# way, and that fails it.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/docker.sh
. "$ROOT/tests/lib/docker.sh"
docker_begin
mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"

policy=$(docker_policy bench <<'Y'
level: restricted@1
process: {user: "1000:1000"}
limits: {memory: 64MiB, cpus: 0.5, pids: 64, files: 256}
degrade: {allow: [landlock]}
Y
)
sed -i "s|{default: hl-test:1, digest: false|{default: \"$(docker_cli image inspect --format '{{.Id}}' hl-test:1)\", digest: true|" \
	"$policy"
bench() { docker_cli inspect "$1" | python3 "$ROOT/tests/lib/docker_bench.py" check "${@:2}"; }

# The limits are tried once, in a container of their own: not the one below.
status_is "a run" 0 as root "$LAUNCH" --policy "$policy" -- true
as_exec root "$LAUNCH" --policy "$policy" -- sleep 60 >"$TMP/out" 2>&1 &
launcher=$!
wait_until 20 docker_is_running || fail "a run began" "$(cat "$TMP/out")"
ours=$(bench "$(docker_ours)")
numbers=$(python3 "$ROOT/tests/lib/docker_bench.py" list)
is "every check is made" "$(cut -d' ' -f1 <<<"$ours")" "$numbers"
while read -r number verdict; do
	is "$number: a container of ours" "$verdict" pass
done <<<"$ours"
kill -TERM "$launcher"
wait "$launcher"
is "nothing is left" "$(docker_ours)" ''

seen=
# other NUMBER ARGUMENT...: a container that was made so fails that check
other() {
	local number=$1 id
	shift
	id=$(docker_cli create "$@" 2>/dev/null)
	is "$number: one that is made with '$*' (sibling)" "$(bench "$id" "$number")" "$number fail"
	seen="$seen$number"$'\n'
	docker_cli rm "$id" >/dev/null 2>&1
}
other 5.1 --security-opt apparmor=unconfined hl-test:1 true
other 5.2 --security-opt label=disable hl-test:1 true
other 5.3 --cap-drop ALL --cap-add NET_ADMIN hl-test:1 true
other 5.4 --privileged hl-test:1 true
other 5.5 -v /etc:/host hl-test:1 true
other 5.6 hl-test:1 /usr/sbin/sshd
other 5.7 -p 127.0.0.1:80:80 hl-test:1 true
other 5.8 -p 127.0.0.1:8080:8080 hl-test:1 true
other 5.9 --network host hl-test:1 true
other 5.10 hl-test:1 true
other 5.11 hl-test:1 true
other 5.12 hl-test:1 true
other 5.13 -p 8080:8080 hl-test:1 true
other 5.14 --restart always hl-test:1 true
other 5.15 --pid host hl-test:1 true
other 5.16 --ipc host hl-test:1 true
other 5.17 --device /dev/null hl-test:1 true
other 5.18 hl-test:1 true
other 5.19 --mount type=bind,source=/tmp,target=/host,bind-propagation=rshared hl-test:1 true
other 5.20 --uts host hl-test:1 true
other 5.21 --security-opt seccomp=unconfined hl-test:1 true
other 5.24 --cgroup-parent /elsewhere hl-test:1 true
other 5.25 hl-test:1 true
other 5.28 hl-test:1 true
other 5.29 hl-test:1 true
other 5.30 --userns host hl-test:1 true
other 5.31 -v "$docker_socket:/engine.sock" hl-test:1 true
is "every check has a sibling" "$seen" "$numbers"$'\n'
done_testing
