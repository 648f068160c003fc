#!/bin/bash
# podman without a socket: the program is started as a service of the run's own and ends with it, however
# that ends; and who is asked on a socket is told. Nothing is left of any of them.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
ENGINE=podman
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
# shellcheck source=../lib/own_service.sh
. "$ROOT/tests/lib/own_service.sh"
docker_begin

mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"
named=$(docker_policy named <<'Y'
level: baseline@1
process: {user: "1000:1000"}
Y
)
own=$(grep -v '^docker:' "$named" | policy own)
run() { as root "$podman_private" "$LAUNCH" -q --policy "$own" "$@"; }
# What was started as a service: the tests' own has a socket's address behind it.
services() { pgrep -fx '/usr/(local/)?bin/podman system service --time=0'; }
no_service() { ! services >/dev/null; }

if ! "$podman_private" true 2>/dev/null; then
	skip "a service of a run's own" "there can be no mount namespace here"
	done_testing
	exit
fi

status_is "no socket is named: a run" 0 run -- true
is "is podman's" "$(run -- cat /proc/1/comm)" .hermes-runner
status_is "with the command's own status" 42 run -- sh -c 'exit 42'
export https_proxy=http://corp.example:1
is "U52 the caller's proxy is not handed on" "$(run -- env | grep -i proxy)" ''
is "U52 nor that of a service which somebody else started" \
	"$(as root "$LAUNCH" -q --policy "$named" -- env | grep -i proxy)" ''
is "U52 which podman does unless it is told not to (sibling)" \
	"$(docker_cli run --rm --network none --ulimit nofile=256 --ulimit nproc=4096 "${docker_registry}hl-test:1" env | grep -i proxy)" \
	"https_proxy=http://corp.example:1"
unset https_proxy
if no_service; then pass "no service is left"; else fail "no service is left" "$(services)"; fi
is "nor a file of its socket" "$(find /tmp -maxdepth 1 -name 'hl-engine.??????' -newer "$own")" ''
is "explain starts the client without an address" \
	"$(as root "$podman_private" "$LAUNCH" explain --format argv --policy "$own" -- true | head -n 2 | tr '\n' ' ')" 'podman run '
is "and with the address that a policy names (sibling)" \
	"$(as root "$LAUNCH" explain --format argv --policy "$named" -- true | head -n 3 | tr '\n' ' ')" \
	"podman --url unix://$docker_socket "

# --- it ends with us
begin() {
	as_exec root "$podman_private" "$LAUNCH" -q --policy "$own" -- sleep 60 >"$TMP/out" 2>&1 &
	launcher=$!
	wait_until 30 docker_is_running || fail "a run began" "$(cat "$TMP/out")"
}
ends() {
	if wait_until 20 no_service; then pass "$1: no service is left"; else fail "$1: no service is left" "$(services)"; fi
	if wait_until 20 docker_none_left; then pass "$1: no container is left"; else fail "$1: no container is left" "$(docker_ours)"; fi
}
begin
end_told
begin
end_killed
begin
kill -9 "$(pgrep -P "$launcher" -x hl-engine)"
wait "$launcher"
is "a killed helper is the backend's fault" "$?" 125
ends "a killed helper"
begin
end_both_killed as root "$podman_private" "$LAUNCH" gc

# --- which engine it is
docker=$(sed 's/^backends: .*/backends: [docker]/' "$named" | policy docker)
status_is "podman where docker is asked for" 125 as root "$LAUNCH" --policy "$docker" -- true
like "is told (HLB-66), with what mends it" "$(tr '\n' ' ' <<<"$out")" "is podman .*, not docker .*HLB-66.*backend 'podman'"
status_is "the same socket as podman's (sibling)" 0 as root "$LAUNCH" --policy "$named" -- true
none=$(sed "s|$docker_socket|$TMP/none.sock|" "$named" | policy none)
status_is "no engine at a socket that is named" 125 as root "$LAUNCH" --policy "$none" -- true
like "is not replaced by a service" "$out" 'HLB-40'
export CONTAINER_HOST=unix://$docker_socket
status_is "a socket that CONTAINER_HOST names" 0 as root "$LAUNCH" --policy "$own" -- true
CONTAINER_HOST=tcp://me:canary-p4@127.0.0.1:9
status_is "an address of another kind in CONTAINER_HOST" 125 as root "$LAUNCH" --policy "$own" -- true
like "says what is taken" "$(tr '\n' ' ' <<<"$out")" 'HLC-51.*a unix socket of this host only.*let it say unix://'
unlike "and does not repeat what it says" "$out" 'canary-p4'
unset CONTAINER_HOST
echo 'nonsense = [' >"$docker_dir/etc/storage.conf"
status_is "a service that cannot start" 125 run -- true
like "says why" "$out" 'podman says: .*nonsense'
if no_service; then pass "and none is left of it"; else fail "and none is left of it" "$(services)"; fi

# --- what podman cannot say
owner=$(sed '$a fs: {tmpfs: [{dst: /x, size: 1MiB, exec: false, mode: "700"}]}' "$named" | policy owner)
status_is "a tmpfs that only its user may use is refused" 125 as root "$LAUNCH" --policy "$owner" -- true
like "with its code" "$out" 'HLB-58'
done_testing
