#!/bin/bash
# Engines that are not there, not ours to use, too slow, or gone in the middle; and that a container never
# outlives its launcher.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
docker_begin

base=$(docker_policy base <<'Y'
level: baseline@1
process: {user: "1000:1000"}
Y
)
mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"

fails() {
	local name=$1 code=$2
	shift 2
	status_is "$name" 125 "$@"
	like "$name: its own code" "$out" "\\[$code\\]"
}

# The limits are tried once, in a container of their own: not one of those below.
status_is "a run" 0 as root "$LAUNCH" --policy "$base" -- true

# --- U55: each cause has its own code
nowhere=$(sed "s|$docker_socket|$TMP/none.sock|" "$base" | policy nowhere)
fails "U55 no engine" HLB-40 as root "$LAUNCH" --policy "$nowhere" -- true
chmod 660 "$docker_socket"
fails "U55 no permission" HLB-41 as user "$LAUNCH" --policy "$base" -- true
absent=$(sed 's|hl-test:1|hl-absent:1|' "$base" | policy absent)
fails "U55 no image, and no pull" HLB-45 as root "$LAUNCH" --policy "$absent" -- true
denied=$(sed -e 's|hl-test:1|127.0.0.1:9/hl-absent:1|' -e 's|pull: never|pull: missing|' "$base" | policy denied)
fails "U55 a pull that fails" HLB-46 as root "$LAUNCH" --policy "$denied" -- true
digest=$(sed 's|digest: false|digest: true|' "$base" | policy digest)
fails "an image by tag where a digest is wanted" HLB-47 as root "$LAUNCH" --policy "$digest" -- true
mv "$TMP/bin/hl-engine" "$TMP/bin/hl-engine.away"
fails "the helper is missing" HLB-59 as root "$LAUNCH" --policy "$base" -- true
mv "$TMP/bin/hl-engine.away" "$TMP/bin/hl-engine"
kill -STOP "$docker_pid"
fails "U55 an engine that hangs" HLB-42 as root "$LAUNCH" --policy "$base" -- true
kill -CONT "$docker_pid"
status_is "the same engine, awake (sibling)" 0 as root "$LAUNCH" --policy "$base" -- true

# --- the image by its id
id=$(docker_cli image inspect --format '{{.Id}}' hl-test:1)
id=sha256:${id#sha256:} # which podman leaves out
by_id=$(sed -e "s|hl-test:1|$id|" -e 's|digest: false|digest: true|' "$base" | policy by-id)
status_is "an image by its id" 0 as root "$LAUNCH" --policy "$by_id" -- true
user_image=$(sed 's|user: "1000:1000"|user: image|' "$base" | policy user-image)
fails "an image whose user is root, where root is not allowed" HLB-49 \
	as root "$LAUNCH" --policy "$user_image" -- true

# --- an image whose user is in root's group: by its own word, by its account file, or because it has none
mkdir -p "$TMP/accounts/etc"
printf 'root:x:0:0::/:/bin/sh\nmember:x:3000:3000::/:/bin/sh\nlisted:x:3001:3001::/:/bin/sh\n' >"$TMP/accounts/etc/passwd"
printf 'root:x:0:listed\nzero:x:0:\nmember:x:3000:\nlisted:x:3001:\n' >"$TMP/accounts/etc/group"
# image_of USER: a policy whose image has that user
image_of() {
	local container name
	name=user-$(tr -c 'a-z0-9\n' - <<<"$1")
	container=$(docker_cli create --network none hl-test:1 true 2>/dev/null)
	docker_cli cp "$TMP/accounts/etc" "$container:/" >/dev/null
	docker_cli commit --change "USER $1" "$container" "${docker_registry}hl-$name:1" >/dev/null 2>&1
	docker_cli rm "$container" >/dev/null
	sed "s|hl-test:1|hl-$name:1|" "$user_image" | policy "$name"
}
allows() { sed 's|user: image|user: image, allow_root: true|' "$1" | policy allows; }
who() { as root "$LAUNCH" -q --policy "$1" -- sh -c 'echo $(id -u) $(id -g) $(id -G)' 2>&1; }
# in_roots_group USER CODE IDS: refused with that code; with allow_root it is this
in_roots_group() {
	local file
	file=$(image_of "$1")
	fails "an image's user $1" "$2" as root "$LAUNCH" -q --policy "$file" -- echo begun
	like "an image's user $1: what to do" "$(tr '\n' ' ' <<<"$out")" "process\.user as uid:gid.*allow_root"
	unlike "an image's user $1: nothing was started" "$out" '^begun'
	is "an image's user $1, where root is allowed (sibling)" "$(who "$(allows "$file")")" "$3"
}
in_roots_group 2000:0 HLB-49 '2000 0 0'
in_roots_group 2000:root HLB-49 '2000 0 0'
in_roots_group 2000:zero HLB-02 '2000 0 0'
in_roots_group 2000 HLB-02 '2000 0 0'
in_roots_group 3001 HLB-02 '3001 3001 3001 0'
is "an image's user with a group (sibling)" "$(who "$(image_of 2000:2000)")" '2000 2000 2000'
is "an image's user whose group its account file tells (sibling)" "$(who "$(image_of 3000)")" '3000 3000 3000'
is "nothing of any of them is left" "$(docker_ours)" ''

# --- U61: a start that fails leaves nothing
bad=$(sed 's|user: "1000:1000"|user: "4294967294:1000"|' "$base" | policy bad)
out=$(as root "$LAUNCH" --policy "$bad" -- true 2>&1)
is "U61 a start that fails leaves no container" "$(docker_ours)" ''
cp "$TMP/bin/hermes-runner" "$TMP/bin/runner.away"
printf 'no program' >"$TMP/bin/hermes-runner"
fails "U61 a runner that cannot be started" HLB-61 as root "$LAUNCH" --policy "$base" -- true
is "U61 leaves no container" "$(docker_ours)" ''
cp /bin/busybox "$TMP/bin/hermes-runner"
fails "a runner that is none" 'HLB-(06|61)' as root "$LAUNCH" --policy "$base" -- true
is "it leaves no container" "$(docker_ours)" ''
mine=$(sed 's|user: "1000:1000"|user: caller, allow_root: true|' "$base" | policy mine)
fails "that is told also where who it is would be looked at" 'HLB-(06|61)' as root "$LAUNCH" --policy "$mine" -- true
cp "$TMP/bin/runner.away" "$TMP/bin/hermes-runner"

# --- who ends, and what is left
begin() {
	: >"$TMP/out" # or what the last one said would be read before this one's file is there
	as_exec root "$LAUNCH" --policy "$base" -- sh -c 'echo up; sleep 60' >"$TMP/out" 2>&1 &
	launcher=$!
	wait_until 15 grep -q '^up' "$TMP/out" || fail "a run began" "$(cat "$TMP/out")"
}

begin
kill -TERM "$launcher"
wait "$launcher"
is "TERM goes to the command" "$?" 143
is "and leaves nothing" "$(docker_ours)" ''

begin
kill -9 "$launcher"
wait "$launcher" 2>/dev/null
if wait_until 15 docker_none_left; then pass "U70 a killed launcher leaves nothing"; else fail "U70 a killed launcher leaves nothing" "$(docker_cli ps -a)"; fi

begin
helper=$(pgrep -P "$launcher")
kill -9 "$helper"
wait "$launcher"
is "a killed helper is the backend's fault" "$?" 125
like "and told" "$(cat "$TMP/out")" 'HLB-(07|59)'
is "and leaves nothing" "$(docker_ours)" ''

# The container taken away behind our back
begin
docker_cli "${docker_remove[@]}" "$(docker_ours)" >/dev/null
wait "$launcher"
is "U64 a container that was taken away ends the run" "$?" 125
status_is "U64 and the next one is fine" 0 as root "$LAUNCH" --policy "$base" -- true

begin
kill -9 "$docker_pid"
wait "$launcher"
is "U55 an engine that ends in the middle" "$?" 125
like "U55 has its own code" "$(cat "$TMP/out")" 'HLB-54'
done_testing
