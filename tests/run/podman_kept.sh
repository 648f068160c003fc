#!/bin/bash
# Containers that are kept, on podman: what docker's test of the same asks; and what podman has of its own: an
# inspection that does not tell all, so that only one that we made is used, and an engine that is a program.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016,SC2154
ENGINE=podman
docker_pids_part=resource_limits.pids.limit
# As high as they go by default, which not everybody may set.
docker_by_hand=(--ulimit nofile=256 --ulimit nproc=4096)

# Of one that has ended nothing can be changed; it can be started.
engine_changes() {
	local name
	docker_cli start "$three" >/dev/null
	is "one that somebody starts" "$(status_of "$three")" running
	status_is "is stopped first" 0 run_with "$tight" --name a -c 'grep -q 3 /var/here; echo 5 >/var/here'
	is "and is the same one, with nothing to tell" "$(status_of "$three")$(cat "$TMP/err")" running
	end a
	name=$(name_of "$three")
	docker_cli rename "$three" elsewhere
	status_is "one that has another name now is not found" 0 run_with "$tight" --name a -c 'test ! -e /var/here'
	end a
	remove "$(ended_of a 50 | grep -v "$three")"
	docker_cli rename "$three" "$name"
	status_is "with its name back it is, but is not the last one that we made" 0 \
		run_with "$tight" --name a -c 'test ! -e /var/here'
	like "which is told" "$(cat "$TMP/err")" 'begins anew.*it is not the container that we made'
	is "and it is gone" "$(docker_has "$three")" no
	end a
}

# forge [MEMBER=JSON]...: in the place of the kept one another like it, with changes: $forged. forge_known: and
# our record says that it is the one that we made.
forge() {
	local id name told=$TMP/told
	id=$(id_of forged)
	docker_cli inspect "$id" >"$told"
	name=$(name_of "$id")
	remove "$id"
	as root "$LAUNCH" explain --format json --policy "$task" -- true >"$TMP/explained"
	forged=$(python3 "$ROOT/tests/lib/podman_forge.py" "$docker_socket" "$name" "$TMP/explained" "$@" <"$told" 2>&1) || fail "forged" "$forged"
	is "one is forged${*:+ with ${1%%=*}}" "$(docker_has "$forged")" yes
}
known() {
	printf '%s' "$forged" >"$TMP/state.root/kept/$(name_of "$forged")"
}
# by_client WORD...: by podman's own client
by_client() {
	local id name labels=() key
	id=$(id_of forged)
	name=$(name_of "$id")
	for key in managed run owner session profile place lease spec; do
		labels+=(--label "dev.hermes-launch.$key=$(label "$id" "$key")")
	done
	remove "$id"
	docker_cli create --name "$name" "${docker_by_hand[@]}" "${labels[@]}" "$@" "$image" true >/dev/null
	forged=$(id_of forged)
	is "one is made by hand with $1" "$(docker_has "$forged")" yes
}

engine_forgeries() {
	local change
	forge
	forged_is_refused "nothing else" 'it is not the container that we made'
	forge 'unmask=["ALL"]'
	forged_is_refused "what podman does not tell" 'it is not the container that we made'
	for change in --privileged --cap-add=SYS_ADMIN --volume=/etc:/host; do
		by_client "$change"
		forged_is_refused "$change" 'it is not the container that we made'
		by_client "$change"
		known
		forged_is_refused "$change in our record" 'was changed behind our back'
	done
	forge
	known
	status_is "with our record too it is what we would make (sibling)" 0 run --name forged -c true
	is "and is used" "$(id_of forged)" "$forged"
	end forged
	while read -r change part <&3; do
		forge "$change"
		known
		forged_is_refused "${change%%=*}" "'$part' was changed behind our back"
	done 3<<-'Y'
		privileged=true HostConfig.Privileged
		cap_add=["SYS_ADMIN"] cap_add
		mounts+=[{"destination":"/host","type":"bind","source":"/etc","options":["rw","bind"]}] mounts
		env={"LD_PRELOAD":"/var/x.so"} Config.Env
		annotations={"run.oci.keep_original_groups":"1"} Config.Annotations
		restart_policy="always" HostConfig.RestartPolicy
		umask="0000" Config.Umask
		stop_signal=9 Config.StopSignal
		r_limits+=[{"type":"stack","hard":99999999,"soft":99999999}] HostConfig.Ulimits
	Y
}

# --- no socket: the program is started for the run, for gc and for stop
services() { pgrep -fx '/usr/(local/)?bin/podman system service --time=0'; }
no_service() { ! services >/dev/null; }
engine_cases() {
	local own id service
	if ! "$podman_private" true 2>/dev/null; then
		skip "a service of a run's own" "there can be no mount namespace here"
		return
	fi
	own=$(grep -v '^docker:' "$task" | policy own)
	own() { as root "$podman_private" timeout 60 "$LAUNCH" "$@"; }
	status_is "without a socket" 0 own run -q --policy "$own" --name own -c 'echo 9 >/var/here'
	id=$(id_of own)
	is "there is a container" "$(status_of "$id")" running
	end own
	is "it is stopped" "$(status_of "$id")" exited
	if no_service; then pass "with no service"; else fail "with no service" "$(services)"; fi
	is "the next session has its files" "$(own run -q --policy "$own" --name own -c 'cat /var/here')" 9
	is "in the same container, by another service" "$(id_of own)" "$id"
	service=$(services)
	kill -9 "$(keeper_pid root own)"
	if wait_until 20 no_service; then pass "kill -9 of its keeper ends the service"; else fail "kill -9 of its keeper ends the service" "$(services)"; fi
	is_stopped() { [ "$(status_of "$id")" = exited ]; }
	if wait_until 20 is_stopped; then pass "and stops the container"; else fail "and stops the container" "$(status_of "$id")"; fi
	status_is "which is used again" 0 own run -q --policy "$own" --name own -c 'grep -q 9 /var/here'
	isnt_same "by a third service" "$(services)" "$service"
	kill -9 "$(services)"
	if wait_until 20 is_stopped; then pass "a killed service: it is stopped too"; else fail "a killed service: it is stopped too" "$(status_of "$id")"; fi
	wait_until 20 eval '! as root "$LAUNCH" ps | grep -q "^own .*lives"' || fail "its keeper ends"
	status_is "and used again" 0 own run -q --policy "$own" --name own -c 'grep -q 9 /var/here'
	is "in the same container still" "$(id_of own)" "$id"
	end own
	own gc >/dev/null # what the killed ones left
	like "gc starts the program to ask, and leaves what is not over" "$(own gc)" ' 0 containers'
	is "it is there" "$(docker_has "$id")" yes
	over create own-over 0 "$place" "$image" sleep 600
	sleep 1
	like "and takes away what is (sibling)" "$(own gc)" ' 1 containers'
	is "which is gone" "$(docker_has own-over)$(docker_list --format '{{.Names}}' | grep -c '^own-over$')" no0
	status_is "stop starts it too" 0 own stop own
	is "and takes it away" "$(docker_has "$id")" no
	status_is "once" 66 own stop own
	is "with our record of it" "$(grep -rc "$id" "$TMP/state.root/kept" | grep -vc ':0$')" 0
	if no_service; then pass "no service is left"; else fail "no service is left" "$(services)"; fi
}
isnt_same() {
	if [ -n "$2" ] && [ "$2" != "$3" ]; then pass "$1"; else fail "$1" "got $2" "and $3"; fi
}
# shellcheck source=docker_kept.sh
. "$(dirname "$0")/docker_kept.sh"
