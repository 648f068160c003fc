#!/bin/bash
# Containers that are kept (session.persist: task): stopped when their session ends and started again by
# the next one of that name, when it is what it would make itself and the engine holds it so; else replaced,
# and told. Who may have a name, whose it is, what gc and stop take away, and what happens to one whose
# launcher is killed.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"
# shellcheck source=../lib/docker.sh
. "$ROOT/tests/lib/docker.sh"
docker_begin

mkdir -p "$TMP/work.root" "$TMP/work.two"
chmod 777 "$TMP/work.root" "$TMP/work.two"
# kept NAME [LINE]: a policy that keeps, with one more line
kept() {
	docker_policy "$1" <<Y
level: baseline@1
process: {user: "0:0", allow_root: true}
fs: {root: writable}
session: {persist: task${lease:+, lease: $lease}}
${2:-}
Y
}
task=$(kept task)
run() { as root timeout 60 "$LAUNCH" run -q --policy "$task" "$@"; }
run_with() { as root timeout 60 "$LAUNCH" run -q --policy "$@" 2>"$TMP/err"; }
# end NAME: its keeper ends as after --idle: what is to be kept is
end() {
	local pid
	pid=$(keeper_pid root "$1")
	kill -TERM "$pid"
	wait_until 15 eval "! kill -0 $pid 2>/dev/null" || fail "the keeper of $1 ended"
}
inspect() { docker_cli inspect --format "$2" "$1"; }
status_of() { inspect "$1" '{{.State.Status}}'; }
label() { inspect "$1" "{{index .Config.Labels \"dev.hermes-launch.$2\"}}"; }
id_of() { docker_list -q --no-trunc --filter "label=dev.hermes-launch.session=$1"; }
last_sandbox() { as root "$LAUNCH" audit show --format json | grep '"ev":"run.sandbox"' | tail -n 1; }

# --- it stays, stopped, and is started again
status_is "a session whose policy keeps it" 0 run --name a -c 'echo 1 >/var/here; echo 2 >/tmp/there; sleep 173 & :'
one=$(id_of a)
if wait_until 10 pgrep -fx 'sleep 173' >/dev/null; then pass "with what it leaves running"; else fail "with what it leaves running"; fi
is "one container" "$(wc -w <<<"$one")" 1
is "its name says nothing of the session's" \
	"$(inspect "$one" '{{.Name}}' | grep -Ec '^/hermes-launch-kept-[0-9a-f]{32}$')" 1
is "its labels: session, lease" "$(label "$one" session) $(label "$one" lease)" "a 86400"
is "whose, and made from what, are digests" \
	"$(printf '%s\n' "$(label "$one" profile)" "$(label "$one" spec)" | grep -Ec '^[0-9a-f]{64}$')" 2
end a
is "its session ends: it is stopped, and there" "$(status_of "$one")" exited
if pgrep -fx 'sleep 173' >/dev/null; then fail "nothing runs in it"; else pass "nothing runs in it"; fi
is "the next session of that name has what was written" "$(run --name a -c 'cat /var/here')" 1
is "in the same container" "$(id_of a)" "$one"
is "and what was temporary is gone" "$(run --name a -c 'ls /tmp')" ''
like "the log says so" "$(last_sandbox)" '"reuse":"reused"'
end a

# --- U58, U59: only what is the same
status_is "another working directory, the same name" 0 \
	as root sh -c "cd '$TMP/work.two' && exec '$LAUNCH' run -q --policy '$task' --name a -c 'test ! -e /var/here'"
is "has a container of its own" "$(id_of a | wc -w)" 2
is "and the first is as it was" "$(status_of "$one")" exited
two=$(id_of a | grep -v "$one")
end a
other=$(kept other)
status_is "another policy, the same name, finds nothing" 0 run_with "$other" --name a -c 'test ! -e /var/here'
end a
is "and left the first alone" "$(status_of "$one")" exited
tight=$(kept tight 'limits: {pids: 50}')
sed -i 's|^id: .*|id: test/task|' "$tight"
status_is "the same policy's id with another limit" 0 run_with "$tight" --name a -c 'test ! -e /var/here; echo 3 >/var/here'
like "is told to begin anew, and why" "$(cat "$TMP/err")" "session 'a' begins anew.*'HostConfig.PidsLimit' would be different now"
like "and the log says so" "$(last_sandbox)" '"reuse":"replaced: .HostConfig.PidsLimit. would be'
is "the old one is gone" "$(docker_has "$one")" no
end a
three=$(docker_cli ps -aq --no-trunc --filter label=dev.hermes-launch.session=a --filter status=exited |
	while read -r id; do [ "$(label "$id" lease)" = 86400 ] && [ "$(inspect "$id" '{{.HostConfig.PidsLimit}}')" = 50 ] && echo "$id"; done)
status_is "and the new one is kept in its turn (sibling)" 0 run_with "$tight" --name a -c 'grep -q 3 /var/here'
is "with nothing to tell" "$(cat "$TMP/err")" ''
end a

# --- the engine's own word: what was changed behind our back is not used
docker_cli update --pids-limit 4000 "$three" >/dev/null
status_is "a limit that was raised at the engine" 0 run_with "$tight" --name a -c 'test ! -e /var/here; echo 4 >/var/here'
like "is found" "$(cat "$TMP/err")" "'HostConfig.PidsLimit' was changed behind our back"
end a
four=$(docker_cli ps -aq --no-trunc --filter label=dev.hermes-launch.session=a --filter status=exited |
	while read -r id; do [ "$(inspect "$id" '{{.HostConfig.PidsLimit}}')" = 50 ] && echo "$id"; done)
docker_cli update --restart always "$four" >/dev/null
status_is "so is a restart by the engine" 0 run_with "$tight" --name a -c 'test ! -e /var/here; echo 5 >/var/here'
like "and found" "$(cat "$TMP/err")" "'HostConfig.RestartPolicy' was changed behind our back"
end a
status_is "without a change nothing is told (sibling)" 0 run_with "$tight" --name a -c 'grep -q 5 /var/here'
is "nothing" "$(cat "$TMP/err")" ''
end a

# --- a container that somebody else made, with our name and our labels
status_is "one to copy" 0 run --name forged -c 'echo theirs >/var/here'
end forged
# forge [PATH=JSON]...: in its place one like it, with changes: $forged
forge() {
	local id name told=$TMP/told
	id=$(id_of forged)
	docker_cli inspect "$id" >"$told"
	name=$(inspect "$id" '{{.Name}}')
	docker_cli rm -f "$id" >/dev/null
	forged=$(python3 "$ROOT/tests/lib/docker_forge.py" "$docker_socket" "${name#/}" "$@" <"$told" 2>&1) || fail "forged" "$forged"
	is "one is forged${*:+ with ${1%%=*}}" "$(docker_has "$forged")" yes
}
forge
status_is "with nothing else: it is what we would make" 0 run --name forged -c true
is "and is used" "$(id_of forged)" "$forged"
end forged
for change in 'HostConfig.MaskedPaths=[]' 'HostConfig.PortBindings={"80/tcp":[{"HostPort":"8080"}]}' \
	'HostConfig.UsernsMode="host"' 'Config.Env=["PATH=/bin","LD_PRELOAD=/var/x.so"]' \
	'Config.Volumes={"/data":{}}'; do
	key=${change%%=*}
	forge "$change"
	status_is "with $key" 0 run_with "$task" --name forged -c 'test ! -e /var/here'
	like "it is not used, and why is told" "$(cat "$TMP/err")" \
		"begins anew.*'(${key//./\\.}|Mounts)' was changed behind our back"
	is "but removed" "$(docker_has "$forged")" no
	end forged
done
is "what they were compared with is gone" \
	"$(docker_list --format '{{.Names}}' | grep -E '^hermes-launch-kept-[0-9a-f]*-|does not answer')" ''
docker_cli rm -f "$(id_of forged)" >/dev/null

# --- a name that somebody else's container has
name=$(inspect "$two" '{{.Name}}')
docker_cli rm -f "$two" >/dev/null
docker_cli create --name "${name#/}" --network none --label dev.hermes-launch.managed=1 \
	--label dev.hermes-launch.session=a hl-test:1 true >/dev/null
status_is "a container of that name that is not ours" 125 \
	as root sh -c "cd '$TMP/work.two' && exec '$LAUNCH' run -q --policy '$task' --name a -c true"
like "HLB-50 is told" "$out" 'HLB-50'
is "and is left alone" "$(status_of "${name#/}")" created
docker_cli rm -f "${name#/}" >/dev/null

# --- U64: removed behind our back
status_is "one more" 0 run --name gone -c true
end gone
docker_cli rm -f "$(id_of gone)" >/dev/null
status_is "U64 one that is gone is made again" 0 run --name gone -c true
end gone

# --- two that begin at once
pids=()
for i in 1 2 3 4; do
	run --name race -c "echo $i >>/var/all; sleep 0.3; echo $i" >"$TMP/race.$i" 2>&1 &
	pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=$((failed + 1)); done
is "four launchers that race for one: all are served" "$failed $(cat "$TMP"/race.* | sort | tr '\n' ' ')" '0 1 2 3 4 '
is "by one container" "$(id_of race | wc -w)" 1
end race
is "which is kept" "$(run --name race -c 'wc -l </var/all')" 4
end race

# --- kills
run --name killed -c 'echo 6 >/var/here; sleep 174' >/dev/null 2>&1 &
call=$!
wait_until 15 pgrep -fx 'sleep 174' >/dev/null || fail "a call began"
victim=$(id_of killed)
kill -9 "$(keeper_pid root killed)"
wait "$call"
is "kill -9 of a keeper: the call is lost" $? 125
status_is "the next session waits for the end of what ran, and has the files" 0 \
	run --name killed -c 'grep -q 6 /var/here'
is "in the same container" "$(id_of killed)" "$victim"
helper=$(pgrep -P "$(keeper_pid root killed)")
pid=$(keeper_pid root killed)
kill -STOP "$helper"
kill -9 "$pid" "$helper"
is_stopped() { [ "$(status_of "$victim")" = exited ]; }
if wait_until 15 is_stopped; then pass "with its helper killed too it stops by itself"; else fail "it stops" "$(status_of "$victim")"; fi
status_is "and is used again" 0 run --name killed -c 'grep -q 6 /var/here'
end killed

# --- an engine that is started again
status_is "one more" 0 run --name again -c 'echo 8 >/var/here'
end again
docker_down
docker_up "$TMP/docker" || fail "the engine came up again"
status_is "tells of it in the same words" 0 run_with "$task" --name again -c 'grep -q 8 /var/here'
is "nothing else" "$(cat "$TMP/err")" ''
end again
docker_cli rm -f "$(id_of again)" >/dev/null

# --- gc: the lease
lease=1m
brief=$(kept brief)
lease=
before=$(docker_ours)
like "something is kept" "$before" '^hermes-launch-kept-'
like "gc leaves what is kept and not over" "$(as root "$LAUNCH" gc)" ' 0 containers'
is "all of it" "$(docker_ours)" "$before"
# over NAME OWNER STATE-DIR VERB [RUN...]: one like those, whose lease was over as it began
over() {
	docker_cli "$4" -d --name "$1" --network none --label dev.hermes-launch.managed=1 \
		--label dev.hermes-launch.run=R --label "dev.hermes-launch.owner=$2" \
		--label "dev.hermes-launch.session=$1" --label "dev.hermes-launch.place=$3" \
		--label "dev.hermes-launch.lease=${over_lease:-0}" hl-test:1 sleep "${5:-600}" >/dev/null
}
dead=$(label "$victim" owner)
place=$(label "$victim" place)
create() { # like docker create, which has no -d
	docker_cli create --name "$1" --network none --label dev.hermes-launch.managed=1 \
		--label dev.hermes-launch.run=R --label "dev.hermes-launch.owner=$2" \
		--label "dev.hermes-launch.session=$1" --label "dev.hermes-launch.place=$3" \
		--label "dev.hermes-launch.lease=${over_lease:-0}" hl-test:1 sleep 600 >/dev/null
}
create x-created "$dead" "$place"
over x-exited "$dead" "$place" run 0
over x-running "$dead" "$place" run
over_lease=86400 over x-leased "$dead" "$place" run
over_lease=86400 create x-leased-created "$dead" "$place"
over x-elsewhere "$dead" 11111111111111111111111111111111 run
over_lease=never over x-odd "$dead" "$place" run
docker_cli run -d --name x-foreign --network none hl-test:1 sleep 600 >/dev/null
wait_until 15 eval '[ "$(status_of x-exited)" = exited ]' || fail "one has exited"
sleep 1
like "gc removes what is over and nobody uses: created, exited, running" "$(as root "$LAUNCH" gc)" ' 3 containers'
is "and leaves the leased, another state directory's that runs, what cannot be read, and the foreign" \
	"$(docker_list --format '{{.Names}}' | grep '^x-' | sort | tr '\n' ' ')" \
	'x-elsewhere x-foreign x-leased x-leased-created x-odd '
docker_cli rm -f x-elsewhere x-foreign x-leased x-leased-created x-odd >/dev/null
# One that is in use is nobody's to remove, however long it has run: its session is held.
status_is "one with a short lease" 0 run_with "$brief" --name brief -c true
is "says it" "$(label "$(id_of brief)" lease)" 60
over brief "$dead" "$place" run
over_other=$(docker_list -q --no-trunc --filter name='^/brief$')
is "beside another of it" "$(docker_has "$over_other")" yes
sleep 1
like "gc leaves a session's that is in use" "$(as root "$LAUNCH" gc)" ' 0 containers'
end brief
like "and not when it is in use no more (sibling)" "$(as root "$LAUNCH" gc)" ' 1 containers'
is "which is gone" "$(docker_has "$over_other")" no

# --- stop takes it away
status_is "stop of one that lives" 0 eval 'run --name a -c true && as root timeout 30 "$LAUNCH" stop a'
is "and nothing of that session of this policy is kept" \
	"$(docker_list --format '{{.Label "dev.hermes-launch.session"}}' | grep -c '^killed$')" 1
status_is "stop of one that is kept" 0 as root timeout 30 "$LAUNCH" stop killed
is "takes it away" "$(id_of killed)" ''
status_is "once" 66 as root timeout 30 "$LAUNCH" stop killed
like "HLU-24 is told" "$out" 'HLU-24'

# --- who may have a name
none=$(docker_policy none <<'Y'
level: baseline@1
process: {user: "1000:1000"}
session: {persist: none}
Y
)
never=$(docker_policy never <<'Y'
level: baseline@1
process: {user: "1000:1000"}
session: {reuse: never}
Y
)
usual=$(docker_policy usual <<'Y'
level: baseline@1
process: {user: "1000:1000"}
Y
)
status_is "session.persist: none refuses a name (HLC-61)" 125 \
	as root timeout 60 "$LAUNCH" run -q --policy "$none" --name n -c true
like "HLC-61 is told" "$out" 'HLC-61'
status_is "session.reuse: never too" 125 as root timeout 60 "$LAUNCH" run -q --policy "$never" --name n -c true
like "by its own key" "$out" 'session.reuse'
status_is "a run without a name is none of that (sibling)" 0 \
	as root timeout 60 "$LAUNCH" run -q --policy "$none" -c true
status_is "where no policy says a word a name is let through (sibling)" 0 \
	as root timeout 60 "$LAUNCH" run -q --policy "$usual" --name n -c true
n=$(id_of n)
is "and its container is not kept" "$(label "$n" lease)" ''
end n
is "but removed" "$(docker_has "$n")" no
status_is "a run without a name keeps nothing" 0 run -c 'echo 7 >/var/here'
is "nothing" "$(docker_list -q --filter label=dev.hermes-launch.session=)" ''

status_is "the log is whole" 0 as root "$LAUNCH" audit verify
docker_cli ps -aq --filter label=dev.hermes-launch.managed=1 | while read -r id; do docker_cli rm -f "$id" >/dev/null; done
is "nothing is left" "$(docker_ours)" ''
done_testing
