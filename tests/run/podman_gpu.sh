#!/bin/bash
# Graphics processors by podman's means: names of the Container Device Interface. No machine of the tests has
# one, so that a description of the tests' own stands for a driver's.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
ENGINE=podman
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
docker_begin

mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"
# gpu NAME DEVICES
gpu() {
	docker_policy "$1" <<Y
level: baseline@1
process: {user: "1000:1000"}
fs: {devices: $2}
Y
}
one=$(gpu one '[gpu:0]')
two=$(gpu two '[gpu:0, gpu:2]')
all=$(gpu all '[gpu:all]')
none=$(gpu none '["gpu:none"]')
run() {
	local policy=$1
	shift
	as root "$LAUNCH" --policy "$policy" "$@"
}
explain() { as root "$LAUNCH" explain --policy "$1" -- true 2>&1; }
like "explain has the client's words for one" "$(explain "$one")" 'podman +--device nvidia.com/gpu=0 '
like "for each of two" "$(explain "$two")" 'podman +--device nvidia.com/gpu=2 '
like "and for all" "$(explain "$all")" 'podman +--device nvidia.com/gpu=all '
unlike "none are no request" "$(explain "$none")" 'nvidia.com'
for policy in "$one" "$two" "$all"; do
	name=$(basename "$policy" .yaml)
	status_is "an engine that knows no processor starts nothing: $name" 125 run "$policy" -- true
	like "it is told by its code: $name" "$out" 'HLB-5[12]'
	like "in the engine's words: $name" "$out" 'unresolvable CDI devices'
	like "and what is to be done: $name" "$out" 'help: if the engine has no driver for .* of fs.devices: .*nvidia-ctk cdi list'
done
status_is "gpu:none asks for nothing (sibling)" 0 run "$none" -- true
status_is "nothing is left" 0 docker_none_left

# --- a driver's description
node=/dev/hl-test-$$
if [ -e /etc/cdi ] || ! { mknod -m 666 "$node" c 10 200 2>/dev/null && (exec 3<>"$node") 2>/dev/null; }; then
	rm -f "$node"
	skip "a driver's description" "/etc/cdi is the host's own, or no node can be made and opened here"
	done_testing
	exit
fi
trap 'docker_down; rm -rf "$TMP" /etc/cdi "$node"' EXIT
mkdir /etc/cdi
echo 'the library' >"$TMP/library"
chmod 644 "$TMP/library"
# describe PLACE OPTIONS [SOURCE]: what two processors lead to from now on
describe() {
	local device='{"name":"%s","containerEdits":{"env":["NVIDIA_VISIBLE_DEVICES=void"],"deviceNodes":[{"path":"'$node'"}],"mounts":[{"hostPath":"'${3:-$TMP/library}'","containerPath":"'$1'","options":['$2',"bind"]}]}}'
	# shellcheck disable=SC2059
	printf '{"cdiVersion":"0.3.0","kind":"nvidia.com/gpu","devices":['"$device,$device"']}' 0 all >/etc/cdi/nvidia.json
}
describe /usr/lib/libhl.so '"ro","nosuid","nodev"'
for policy in "$one" "$all"; do
	name=$(basename "$policy" .yaml)
	status_is "one that is described is started: $name" 0 run "$policy" -- sh -c "cat /usr/lib/libhl.so && exec 3<>$node"
	is "the driver's files are there: $name" "$out" 'the library'
done
is "the command has no variable of the driver's" "$(run "$one" -- sh -c 'env | grep -c NVIDIA')" 0
status_is "one that is not described is not: two" 125 run "$two" -- true
like "and its name is told" "$out" 'nvidia.com/gpu=2'
status_is "without one there is no node (sibling)" 1 run "$none" -- test -e "$node"
for options in '"rw","nosuid","nodev"' '"ro","nodev"' '"ro","nosuid"'; do
	describe /usr/lib/libhl.so "$options"
	status_is "what is mounted with $options is no driver's" 125 run "$one" -- true
	like "and it is told: $options" "$out" 'not asked for.*HLB-02'
done
mkdir "$TMP/nvidia-persistenced"
for socket in "$TMP/nvidia-persistenced/socket" "$TMP/other.sock"; do
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$socket"
done
describe /run/nvidia-persistenced/socket '"ro","nosuid","nodev"' "$TMP/nvidia-persistenced/socket"
status_is "the socket of a service of the driver's passes" 0 run "$one" -- test -S /run/nvidia-persistenced/socket
for place in /usr/lib/other.sock /run/other.sock /run/nvidia-persistenced/socket; do
	describe "$place" '"ro","nosuid","nodev"' "$TMP/other.sock"
	status_is "another does not: $place" 125 run "$one" -- true
	like "and it is told: $place" "$out" 'not asked for.*HLB-02'
done
describe /work/libhl.so '"ro","nosuid","nodev"'
status_is "nor is what is mounted elsewhere" 125 run "$one" -- true
like "which is told" "$out" 'not asked for.*HLB-02'
kept=$(docker_policy kept <<Y
level: baseline@1
process: {user: "0:0", allow_root: true}
fs: {root: writable, devices: [gpu:0]}
session: {persist: task}
Y
)
status_is "what would not be found again is not kept" 125 run "$kept" --name a -- true
like "which is told" "$out" 'session.persist: task has no effect on backend podman.*HLD-20'
status_is "nothing is left of it" 0 docker_none_left
done_testing
