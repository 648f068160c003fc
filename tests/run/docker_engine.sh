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
cp "$TMP/bin/runner.away" "$TMP/bin/hermes-runner"

# --- who ends, and what is left
begin() {
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
