#!/bin/bash
# Containers that are kept (session.persist: task): stopped when their session ends and started again by
# the next one of that name, when it is what it would make itself and the engine holds it so; else replaced,
# and told. Who may have a name, whose it is, what gc and stop take away, and what happens to one whose
# launcher is killed. The same on docker and, by podman_kept.sh, on podman.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
docker_begin

# What an engine has of its own; podman_kept.sh defines these before it comes here.
image=${docker_registry}hl-test:1
if [ "$ENGINE" = docker ]; then
	docker_pids_part=HostConfig.PidsLimit
	docker_by_hand=()
	engine_changes() {
		docker_cli update --pids-limit 4000 "$three" >/dev/null
		status_is "a limit that was raised at the engine" 0 run_with "$tight" --name a -c 'test ! -e /var/here; echo 4 >/var/here'
		like "is found" "$(cat "$TMP/err")" "'HostConfig.PidsLimit' was changed behind our back"
		end a
		four=$(ended_of a 50)
		docker_cli update --restart always "$four" >/dev/null
		status_is "so is a restart by the engine" 0 run_with "$tight" --name a -c 'test ! -e /var/here; echo 5 >/var/here'
		like "and found" "$(cat "$TMP/err")" "'HostConfig.RestartPolicy' was changed behind our back"
		end a
		status_is "without a change nothing is told (sibling)" 0 run_with "$tight" --name a -c 'grep -q 5 /var/here'
		is "nothing" "$(cat "$TMP/err")" ''
		end a
	}
	# forge [PATH=JSON]...: in the place of the kept one another like it, with changes: $forged
	forge() {
		local id name told=$TMP/told
		id=$(id_of forged)
		docker_cli inspect "$id" >"$told"
		name=$(name_of "$id")
		remove "$id"
		forged=$(python3 "$ROOT/tests/lib/docker_forge.py" "$docker_socket" "$name" "$@" <"$told" 2>&1) || fail "forged" "$forged"
		is "one is forged${*:+ with ${1%%=*}}" "$(docker_has "$forged")" yes
	}
	engine_forgeries() {
		local change key
		forge
		status_is "with nothing else: it is what we would make" 0 run --name forged -c true
		is "and is used" "$(id_of forged)" "$forged"
		end forged
		for change in 'HostConfig.MaskedPaths=[]' 'HostConfig.PortBindings={"80/tcp":[{"HostPort":"8080"}]}' \
			'HostConfig.UsernsMode="host"' 'Config.Env=["PATH=/bin","LD_PRELOAD=/var/x.so"]' \
			'Config.Volumes={"/data":{}}'; do
			key=${change%%=*}
			forge "$change"
			forged_is_refused "$key" "'(${key//./\\.}|Mounts)' was changed behind our back"
		done
	}
	engine_cases() { :; }
fi

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
name_of() { inspect "$1" '{{.Name}}' | sed 's|^/||'; }
remove() { docker_cli "${docker_remove[@]}" "$@" >/dev/null; }
status_of() { inspect "$1" '{{.State.Status}}'; }
label() { inspect "$1" "{{index .Config.Labels \"dev.hermes-launch.$2\"}}"; }
id_of() { docker_list -q --no-trunc --filter "label=dev.hermes-launch.session=$1"; }
# ended_of NAME LIMIT: of those that have ended, the one with that limit of processes
ended_of() {
	docker_cli ps -aq --no-trunc --filter "label=dev.hermes-launch.session=$1" --filter status=exited |
		while read -r id; do [ "$(inspect "$id" '{{.HostConfig.PidsLimit}}')" = "$2" ] && echo "$id"; done
}
# by_hand VERB NAME WORD...: a container of the tests' own
by_hand() {
	local verb=$1 name=$2
	shift 2
	docker_cli "$verb" --name "$name" --network none "${docker_by_hand[@]}" "$@" >/dev/null
}
last_sandbox() { as root "$LAUNCH" audit show --format json | grep '"ev":"run.sandbox"' | tail -n 1; }

# --- it stays, stopped, and is started again
status_is "a session whose policy keeps it" 0 run --name a -c 'echo 1 >/var/here; echo 2 >/tmp/there; sleep 173 & :'
one=$(id_of a)
if wait_until 10 pgrep -fx 'sleep 173' >/dev/null; then pass "with what it leaves running"; else fail "with what it leaves running"; fi
is "one container" "$(wc -w <<<"$one")" 1
is "its name says nothing of the session's" \
	"$(name_of "$one" | grep -Ec '^hermes-launch-kept-[0-9a-f]{32}$')" 1
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
like "is told to begin anew, and why" "$(cat "$TMP/err")" "session 'a' begins anew.*'$docker_pids_part' would be different now"
like "and the log says so" "$(last_sandbox)" "\"reuse\":\"replaced: .$docker_pids_part. would be"
is "the old one is gone" "$(docker_has "$one")" no
end a
three=$(ended_of a 50)
status_is "and the new one is kept in its turn (sibling)" 0 run_with "$tight" --name a -c 'grep -q 3 /var/here'
is "with nothing to tell" "$(cat "$TMP/err")" ''
end a

# --- the engine's own word: what was changed behind our back is not used
engine_changes

# --- a container that somebody else made, with our name and our labels
status_is "one to copy" 0 run --name forged -c 'echo theirs >/var/here'
end forged
# forged_is_refused NAME PART: the forged one is not used, and why is told
forged_is_refused() {
	status_is "with $1" 0 run_with "$task" --name forged -c 'test ! -e /var/here'
	like "it is not used, and why is told: $1" "$(cat "$TMP/err")" "begins anew.*$2"
	is "but removed: $1" "$(docker_has "$forged")" no
	end forged
}
engine_forgeries
is "what they were compared with is gone" \
	"$(docker_list --format '{{.Names}}' | grep -E '^hermes-launch-kept-[0-9a-f]*-|does not answer')" ''
remove "$(id_of forged)"

# --- a name that somebody else's container has
name=$(name_of "$two")
remove "$two"
by_hand create "$name" --label dev.hermes-launch.managed=1 --label dev.hermes-launch.session=a "$image" true
status_is "a container of that name that is not ours" 125 \
	as root sh -c "cd '$TMP/work.two' && exec '$LAUNCH' run -q --policy '$task' --name a -c true"
like "HLB-50 is told" "$out" 'HLB-50'
is "and is left alone" "$(status_of "$name")" created
remove "$name"

# --- U64: removed behind our back
status_is "one more" 0 run --name gone -c true
end gone
remove "$(id_of gone)"
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
docker_again || fail "the engine came up again"
status_is "tells of it in the same words" 0 run_with "$task" --name again -c 'grep -q 8 /var/here'
is "nothing else" "$(cat "$TMP/err")" ''
end again
remove "$(id_of again)"

# --- gc: the lease
lease=1m
brief=$(kept brief)
lease=
before=$(docker_ours)
like "something is kept" "$before" '^hermes-launch-kept-'
like "gc leaves what is kept and not over" "$(as root "$LAUNCH" gc)" ' 0 containers'
is "all of it" "$(docker_ours)" "$before"
dead=$(label "$victim" owner)
place=$(label "$victim" place)
# over VERB NAME LEASE STATE-DIR WORD...: one like those, whose lease was over as it began where it is 0
over() {
	local verb=$1 name=$2 lease=$3 place=$4
	shift 4
	by_hand "$verb" "$name" --label dev.hermes-launch.managed=1 --label dev.hermes-launch.run=R \
		--label "dev.hermes-launch.owner=$dead" --label "dev.hermes-launch.session=$name" \
		--label "dev.hermes-launch.place=$place" --label "dev.hermes-launch.lease=$lease" "$@"
}
elsewhere=11111111111111111111111111111111
over create x-created 0 "$place" "$image" sleep 600
over run x-exited 0 "$place" -d "$image" sleep 0
over run x-running 0 "$place" -d "$image" sleep 600
over run x-leased 86400 "$place" -d "$image" sleep 600
over create x-leased-created 86400 "$place" "$image" sleep 600
over run x-elsewhere 0 "$elsewhere" -d "$image" sleep 600
over run x-odd never "$place" -d "$image" sleep 600
by_hand run x-foreign -d "$image" sleep 600
wait_until 15 eval '[ "$(status_of x-exited)" = exited ]' || fail "one has exited"
sleep 1
like "gc removes what is over and nobody uses: created, exited, running" "$(as root "$LAUNCH" gc)" ' 3 containers'
is "and leaves the leased, another state directory's that runs, what cannot be read, and the foreign" \
	"$(docker_list --format '{{.Names}}' | grep '^x-' | sort | tr '\n' ' ')" \
	'x-elsewhere x-foreign x-leased x-leased-created x-odd '
remove x-elsewhere x-foreign x-leased x-leased-created x-odd
# One that is in use is nobody's to remove, however long it has run: its session is held.
status_is "one with a short lease" 0 run_with "$brief" --name brief -c true
is "says it" "$(label "$(id_of brief)" lease)" 60
over run brief 0 "$place" -d "$image" sleep 600
over_other=$(inspect brief '{{.Id}}')
is "beside another of it" "$(docker_has "$over_other")" yes
sleep 1
like "gc leaves a session's that is in use" "$(as root "$LAUNCH" gc)" ' 0 containers'
end brief
like "and not when it is in use no more (sibling)" "$(as root "$LAUNCH" gc)" ' 1 containers'
is "which is gone" "$(docker_has "$over_other")" no

# --- stop takes it away
status_is "one that lives" 0 run --name a -c true
one=$(docker_cli ps -q --no-trunc --filter label=dev.hermes-launch.session=a)
is "has a container, which is there" "$(docker_has "$one")" yes
status_is "stop of it" 0 as root timeout 30 "$LAUNCH" stop a
is "takes that away too" "$(docker_has "$one")" no
as root sh -c "cd '$TMP/work.two' && exec '$LAUNCH' run -q --policy '$task' --name killed -c true"
is "two of a name, one of which lives" "$(id_of killed | wc -w)" 2
status_is "stop of that one" 0 as root timeout 30 "$LAUNCH" stop killed
is "takes both away" "$(id_of killed)" ''
status_is "one that is kept" 0 run --name killed -c true
end killed
is "is there" "$(id_of killed | wc -w)" 1
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
before=$(docker_ours)
status_is "a run without a name keeps nothing" 0 run -c 'echo 7 >/var/here'
is "what there was is there, and nothing else" "$(docker_ours)" "$before"

engine_cases

status_is "the log is whole" 0 as root "$LAUNCH" audit verify
done_testing
