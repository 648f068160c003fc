#!/bin/bash
# Named sessions in a container: several attachers, the end, and what is left when launchers, keepers and
# their helpers are killed: nothing, or what gc takes away, and nothing else. doctor and engines.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"
# shellcheck source=../lib/docker.sh
. "$ROOT/tests/lib/docker.sh"
docker_begin

mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"
plain=$(docker_policy plain <<'Y'
level: baseline@1
process: {user: "1000:1000"}
Y
)
other=$(docker_policy other <<'Y'
level: baseline@1
process: {user: "1000:1000"}
limits: {pids: 100}
Y
)
run() { as root timeout 60 "$LAUNCH" run -q --policy "$plain" "$@"; }
containers() { docker_ours | wc -l; }
not_running() { ! pgrep -fx "$1" >/dev/null; }
no_container() {
	if wait_until 15 docker_none_left; then pass "$1"; else fail "$1" "$(docker_cli ps -a)"; fi
}

# --- one container, many launchers
status_is "the first one makes it" 0 run --name one -c 'cd /tmp; export KEPT=7; echo made >mark'
is "the next one finds state and files" "$(run --name one -c 'pwd; echo $KEPT; cat /tmp/mark')" $'/tmp\n7\nmade'
is "it is one container" "$(containers)" 1
pids=()
for i in 1 2 3; do
	run --name one -c "sleep 1; echo $i; head -c 200000 /dev/zero | md5sum" >"$TMP/out.$i" &
	pids+=($!)
done
wait "${pids[@]}"
want=$(head -c 200000 /dev/zero | md5sum)
is "three at the same time" "$(cat "$TMP"/out.[123])" "1
$want
2
$want
3
$want"
is "stdin, byte for byte" \
	"$(head -c 300000 /dev/urandom | tee "$TMP/bytes" | run --name one -- cat | cksum)" "$(cksum <"$TMP/bytes")"
status_is "a timeout ends the tree" 124 run --name one --timeout 1s -c 'setsid sleep 171 & sleep 171'
if wait_until 5 not_running 'sleep 171'; then pass "also what left its group"; else fail "also what left its group"; fi
status_is "and not the session" 0 run --name one -c 'test -e /tmp/mark'
status_is "another policy is refused (HLU-23)" 125 \
	as root timeout 30 "$LAUNCH" run -q --policy "$other" --name one -c true
like "HLU-23 is told" "$out" 'HLU-23'
status_is "stop" 0 as root timeout 30 "$LAUNCH" stop one
is "stop leaves no container" "$(docker_ours)" ''

# --- killed
as_exec root "$LAUNCH" session -q --policy "$plain" <> <(sleep 30) >/dev/null 2>&1 &
launcher=$!
wait_until 15 docker_is_running || fail "a session began"
kill -9 "$launcher"
wait "$launcher" 2>/dev/null
no_container "kill -9 of a session's launcher leaves no container"
run --name one -c 'sleep 172' 2>"$TMP/err" &
waiting=$!
wait_until 15 pgrep -fx 'sleep 172' >/dev/null || fail "a call began" "$(cat "$TMP/err")"
kill -9 "$(keeper_pid root one)"
wait "$waiting"
is "kill -9 of a keeper is told to whoever waits" $? 125
no_container "kill -9 of a keeper leaves no container"
if wait_until 5 not_running 'sleep 172'; then pass "nor a process"; else fail "nor a process"; fi
run --name one -c true
pid=$(keeper_pid root one)
kill -9 "$(pgrep -P "$pid")"
wait_until 15 eval '! kill -0 "$pid" 2>/dev/null' || fail "kill -9 of the helper ends the keeper"
no_container "kill -9 of the helper ends the session and leaves no container"
as root "$LAUNCH" gc >/dev/null

# --- what only gc can take away
# leave KIND: a container whose keeper and helper were killed together
leave() {
	local pid helper
	run --name "$1" -c true
	pid=$(keeper_pid root "$1")
	helper=$(pgrep -P "$pid")
	left=$(docker_cli ps --filter label=dev.hermes-launch.managed=1 --format '{{.Names}}' | head -n 1)
	[ "$1" != running ] || docker_cli pause "$left" >/dev/null
	kill -STOP "$helper"
	kill -9 "$pid"
	kill -9 "$helper"
	rm -rf "$TMP/state.root/sessions/$1"
}
label() { docker_cli inspect --format "{{index .Config.Labels \"dev.hermes-launch.$2\"}}" "$1"; }
is_exited() { [ "$(docker_cli inspect --format '{{.State.Status}}' "$1")" = exited ]; }
# mine NAME OWNER VERB: a container that says of itself that it is ours
mine() {
	docker_cli "$3" -d --name "$1" --network none --label dev.hermes-launch.managed=1 \
		--label dev.hermes-launch.run=R --label "dev.hermes-launch.owner=$2" hl-test:1 sleep 600
}
leave exited
exited=$left
wait_until 15 is_exited "$exited" || fail "one is left that has exited"
dead=$(label "$exited" owner)
leave running
running=$left
is "one is left that has not ended" "$(docker_cli inspect --format '{{.State.Status}}' "$running")" paused
created=hl-test-created
docker_cli create --name $created --network none --label dev.hermes-launch.managed=1 \
	--label dev.hermes-launch.run=R --label "dev.hermes-launch.owner=$dead" hl-test:1 sleep 600 >/dev/null
mine hl-test-up "$dead" run >/dev/null
mine hl-test-boot "${dead%:*}:11111111-2222-3333-4444-555555555555" run >/dev/null
mine hl-test-space "$(cut -d: -f1,2 <<<"$dead"):1:${dead##*:}" run >/dev/null
mine hl-test-odd "nobody" run >/dev/null
docker_cli run -d --name hl-test-foreign --network none hl-test:1 sleep 600 >/dev/null
docker_cli create --name hl-test-half --network none --label dev.hermes-launch.managed=1 hl-test:1 true >/dev/null
run --name lives -c true
lives=$(docker_cli ps --filter label=dev.hermes-launch.managed=1 --format '{{.Names}}' --no-trunc | grep hermes-launch- | grep -v "$running")
like "U62 gc removes what the dead left: exited, not ended, created, running" \
	"$(as root "$LAUNCH" gc)" 'removed: 0 sessions, .* 4 containers'
is "U62 gc leaves a living owner's, another host's, another pid namespace's, and what is not ours" \
	"$(docker_cli ps -a --format '{{.Names}}' | sort)" \
	"$(printf '%s\n' "$lives" hl-test-boot hl-test-foreign hl-test-half hl-test-odd hl-test-space | sort)"
status_is "the living one lives" 0 run --name lives -c true
like "gc again has nothing to do" "$(as root "$LAUNCH" gc)" ' 0 containers'
status_is "stop of the living one" 0 as root timeout 30 "$LAUNCH" stop lives
docker_cli rm -f hl-test-boot hl-test-foreign hl-test-half hl-test-odd hl-test-space >/dev/null

# A launcher whose parent does not look: it is dead all the same.
python3 - "$LAUNCH" "$plain" "$TMP/state.root" "$TMP/zombie" <<'P' &
import os, subprocess, sys, time
launch, policy, state, ready = sys.argv[1:]
run = subprocess.Popen([launch, "-q", "--policy", policy, "--", "sleep", "600"],
                       env={"HERMES_LAUNCH_STATE": state, "PATH": os.environ["PATH"], "HOME": "/"},
                       cwd=os.path.dirname(state) + "/work.root")
open(ready, "w").write("%d" % run.pid)
time.sleep(60)
P
parent=$!
wait_until 15 test -s "$TMP/zombie" || fail "a launcher began"
wait_until 15 docker_is_running || fail "its container runs"
launcher=$(cat "$TMP/zombie")
docker_cli pause "$(docker_ours)" >/dev/null
helper=$(pgrep -P "$launcher")
kill -STOP "$helper"
kill -9 "$launcher" "$helper"
like "gc: a zombie owns nothing" "$(as root "$LAUNCH" gc)" ' 1 containers'
kill "$parent"
wait "$parent" 2>/dev/null

# --- doctor
row() { awk -v check="$1" 'index($0, check) == 1 { print $0 }' <<<"$out"; }
export DOCKER_HOST=unix://$docker_socket
status_is "doctor" 0 as root "$LAUNCH" doctor
like "doctor: an engine that answers" "$(row 'engine (DOCKER_HOST)')" "ok +docker [0-9.]+.* unix://$docker_socket"
status_is "doctor: a policy that it can keep" 0 as root "$LAUNCH" doctor --policy "$plain"
like "doctor: and its backend" "$(row policy)" 'backend docker'
chmod 660 "$docker_socket"
status_is "doctor: an engine that is not ours to use is a gap" 0 as user "$LAUNCH" doctor
like "doctor: and told so" "$(row 'engine (DOCKER_HOST)')" 'gap +.*permission'
like "doctor: with what mends it" "$(grep -A1 'DOCKER_HOST' <<<"$out")" 'socket.s group'
status_is "doctor: a policy that needs it (HLB-41)" 69 as user "$LAUNCH" doctor --policy "$plain"
like "doctor: HLB-41 is told" "$out" 'HLB-41'
is "doctor wrote nothing" "$(find "$TMP/state.user" | wc -l)" 1
DOCKER_HOST=unix://$TMP/none.sock
status_is "doctor: a socket that is named and not there is a gap" 0 as root "$LAUNCH" doctor
like "doctor: and told so" "$(row 'engine (DOCKER_HOST)')" 'gap .*none.sock'
unset DOCKER_HOST
status_is "gc of somebody who never used an engine" 0 as user "$LAUNCH" gc

is "nothing is left" "$(docker_ours)" ''
done_testing
