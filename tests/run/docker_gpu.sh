#!/bin/bash
# Graphics processors by an engine's own means (gpu:all and gpu:0 in fs.devices). No machine of the tests
# has one, so that an engine which knows none must refuse, and one whose driver is a program of the tests'
# own gives what such a driver gives: a variable and a library, mounted as NVIDIA's does it.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"
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
policies() {
	one=$(gpu one '[gpu:0]')
	two=$(gpu two '[gpu:0, gpu:2]')
	all=$(gpu all '[gpu:all]')
	none=$(gpu none '["gpu:none"]')
}
run() {
	local policy=$1
	shift
	as root "$LAUNCH" --policy "$policy" "$@"
}

policies
explain() { as root "$LAUNCH" explain --policy "$1" -- true 2>&1; }
like "explain has the client's words for one" "$(explain "$one")" 'docker +--gpus device=0 '
like "for two of them, as one request" "$(explain "$two")" "--gpus '\"device=0,2\"'"
like "and for all" "$(explain "$all")" '--gpus all '
unlike "none are no request" "$(explain "$none")" '--gpus'
for policy in "$one" "$two" "$all"; do
	name=$(basename "$policy" .yaml)
	status_is "an engine that knows no processor starts nothing: $name" 125 run "$policy" -- true
	like "it is told by its code: $name" "$out" 'HLB-52'
	like "in the engine's words: $name" "$out" 'could not select device driver'
	like "and what is to be done: $name" "$out" 'help: if the engine has no driver for .* of fs.devices: .*Container Toolkit'
done
status_is "gpu:none asks for nothing (sibling)" 0 run "$none" -- true
status_is "nothing is left" 0 docker_none_left

# --- a driver
docker_down
rm -f "$TMP"/state.root/engines/* # that one is gone for good
# What it mounts is in $TMP/source and made in $TMP/place; $TMP/options says how.
driver=$TMP/driver/nvidia-container-runtime-hook
mkdir -p "$TMP/driver"
echo 'the library' >"$TMP/library"
cat >"$driver" <<D
#!/bin/bash
exec 2>>"$TMP/driver.log"
state=\$(cat)
pid=\$(sed 's/.*"pid": *\([0-9]*\).*/\1/' <<<"\$state")
bundle=\$(sed 's/.*"bundle": *"\([^"]*\)".*/\1/' <<<"\$state")
root=\$(sed 's/.*"root":{"path":"\([^"]*\)".*/\1/' "\$bundle/config.json")
grep -o 'NVIDIA[^"]*' "\$bundle/config.json" >>"$TMP/driver.asked"
place=\$root\$(cat "$TMP/place")
source=\$(cat "$TMP/source")
in_it() { nsenter -t "\$pid" -m "\$@"; }
in_it mkdir -p "\$(dirname "\$place")" && if [ -d "\$source" ]; then in_it mkdir -p "\$place"; else in_it touch "\$place"; fi &&
	in_it mount --bind "\$source" "\$place" &&
	in_it mount -o "remount,bind,\$(cat "$TMP/options")" "\$place"
D
chmod 755 "$driver"
if ! PATH=$TMP/driver:$PATH docker_up "$TMP/docker2" || ! docker_image hl-test:1; then
	fail "an engine with a driver"
	done_testing
	exit 1
fi
policies
# given PLACE OPTIONS [SOURCE]: what the driver mounts from now on
given() {
	echo "$1" >"$TMP/place"
	echo "$2" >"$TMP/options"
	echo "${3:-$TMP/library}" >"$TMP/source"
	: >"$TMP/driver.asked"
}
given /usr/lib/libhl.so ro,nosuid,nodev
status_is "an engine that knows a driver starts it" 0 run "$two" -- cat /usr/lib/libhl.so
is "the driver's files are there" "$out" 'the library'
like "it was asked for those of the policy, and for no others" "$(cat "$TMP/driver.asked")" '^NVIDIA_VISIBLE_DEVICES=0,2$'
like "the command has no variable of the driver's" "$(run "$one" -- sh -c 'env | grep -c NVIDIA')" '^0$'
given /usr/lib/libhl.so ro,nosuid,nodev
status_is "all of them" 0 run "$all" -- true
like "are asked for as all" "$(cat "$TMP/driver.asked")" '^NVIDIA_VISIBLE_DEVICES=all$'
given /usr/lib/libhl.so ro,nosuid,nodev
status_is "without one the driver is not asked" 0 run "$none" -- true
is "and gives nothing (sibling)" "$(cat "$TMP/driver.asked")" ''
for options in rw,nosuid,nodev ro,suid,nodev ro,nosuid,dev; do
	given /usr/lib/libhl.so "$options"
	status_is "what a driver mounts with $options is no driver's" 125 run "$one" -- true
	like "and it is told" "$out" 'not asked for.*HLB-02'
done
mkdir -p "$TMP/nvidia-persistenced" "$TMP/firmware/nvidia/550"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$TMP/nvidia-persistenced/socket"
given /run/nvidia-persistenced/socket ro,nosuid,nodev "$TMP/nvidia-persistenced/socket"
status_is "the socket of a service of the driver's passes" 0 run "$one" -- test -S /run/nvidia-persistenced/socket
given /usr/lib/firmware/nvidia/550 ro,nosuid,nodev "$TMP/firmware/nvidia/550"
status_is "so does its firmware" 0 run "$one" -- test -d /usr/lib/firmware/nvidia/550
# refused WHAT PLACE SOURCE
refused() {
	given "$2" ro,nosuid,nodev "$3"
	status_is "$1 does not" 125 run "$one" -- true
	like "and it is told: $1" "$out" 'not asked for.*HLB-02'
}
refused "the engine's socket at its own name" /run/docker.sock "$docker_socket"
refused "the engine's socket among libraries" /usr/lib/docker.sock "$docker_socket"
refused "the engine's socket at the service's name" /run/nvidia-persistenced/socket "$docker_socket"
refused "a directory of the host's in the place of the firmware" /usr/lib/firmware/nvidia/550 "$TMP"
refused "a directory beside the firmware" /usr/lib/firmware/x "$TMP/firmware/nvidia/550"
given /work/libhl.so ro,nosuid,nodev
status_is "nor is what it mounts elsewhere" 125 run "$one" -- true
like "which is told" "$out" 'not asked for.*HLB-02'

# --- a kept container that has one is found again, and what cannot be started of it is told
given /usr/lib/libhl.so ro,nosuid,nodev
kept=$(docker_policy kept <<Y
level: baseline@1
process: {user: "0:0", allow_root: true}
fs: {root: writable, devices: [gpu:0]}
session: {persist: task}
Y
)
# session COMMAND: in the kept container, which is left as after --idle
session() {
	local pid status
	as root timeout 60 "$LAUNCH" run -q --policy "$kept" --name a -c "$1"
	status=$?
	pid=$(keeper_pid root a)
	[ -z "$pid" ] || kill -TERM "$pid"
	[ -z "$pid" ] || wait_until 15 eval "! kill -0 $pid 2>/dev/null" || return 1
	return $status
}
status_is "a session with a processor is kept" 0 session 'echo 1 >/var/here'
is "the next one finds what it wrote" "$(session 'cat /var/here /usr/lib/libhl.so' 2>&1)" $'1\nthe library'
given /proc/version ro,nosuid,nodev /nowhere
status_is "when it cannot be started" 125 session true
like "how to give it up is told first" "$out" 'help: .hermes-launch stop a. gives up'
status_is "which can be done" 0 as root "$LAUNCH" stop a
status_is "nothing is left of it" 0 docker_none_left
done_testing
