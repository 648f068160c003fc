#!/bin/bash
# limits.disk: the storage driver's quota of the container's own root. Where the driver has none it is refused,
# or given up by name and told; where it has one it holds.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/docker.sh
. "$ROOT/tests/lib/docker.sh"
docker_begin

image=$TMP/btrfs.img
# shellcheck disable=SC2329
cleanup() {
	docker_down
	umount "$TMP/btrfs" 2>/dev/null
	rm -rf "$TMP"
}
trap cleanup EXIT
mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"
# policies: for the engine that runs now
policies() {
	small=$(docker_policy small <<'Y'
level: baseline@1
process: {user: "0:0", allow_root: true}
fs: {root: writable}
limits: {disk: 20MiB}
Y
	)
	without=$(docker_policy without <<'Y'
level: baseline@1
process: {user: "0:0", allow_root: true}
fs: {root: writable}
Y
	)
	degrades=$(docker_policy degrades <<'Y'
level: baseline@1
process: {user: "0:0", allow_root: true}
fs: {root: writable}
limits: {disk: 20MiB}
degrade: {allow: [limits.disk]}
Y
	)
}
run() { as root timeout 120 "$LAUNCH" run --policy "$@"; }
fill='dd if=/dev/zero of=/work/big bs=1M count=60 2>/dev/null && sync'
policies

# --- a driver without quotas
if [ "$(docker_cli info --format '{{.Driver}}')" = overlay2 ] && ! grep -q pquota /proc/mounts; then
	status_is "without quotas it is refused (HLD-01)" 125 run "$small" -c true
	like "HLD-01 is told, by its key" "$out" 'limits.disk cannot be applied by backend docker here.*HLD-01'
	like "with the engine's reason" "$out" 'storage-opt'
	like "and what mends it" "$out" 'degrade: \{allow: \[limits.disk\]\}'
	status_is "a policy that names it goes on" 0 run "$degrades" -c "$fill"
	like "and is told" "$out" 'degraded: limits.disk is not applied'
	like "and recorded" "$(as root "$LAUNCH" audit show --format json | grep '"ev":"degraded"')" '"control":"limits.disk"'
	status_is "one that says nothing of it has nothing to tell (sibling)" 0 run "$without" -c "$fill"
	is "nothing" "$out" ''
else
	skip "a driver without quotas" "this engine's is another one than overlay2, or has them"
fi
is "nothing is left" "$(docker_ours)" ''
status_is "on local there is no root of its own (HLD-20)" 125 as root "$LAUNCH" run --policy "$(
	policy here <<'Y'
version: 1
id: test/here
level: baseline@1
limits: {disk: 20MiB}
Y
)" -c true
like "HLD-20 is told" "$out" 'limits.disk has no effect on backend local'

# --- a driver with quotas
docker_down
if ! command -v mkfs.btrfs >/dev/null || ! grep -qw btrfs /proc/filesystems; then
	skip "a driver with quotas" "mkfs.btrfs is not installed, or the kernel has no btrfs"
	done_testing
	exit
fi
mkdir -p "$TMP/btrfs"
truncate -s 1G "$image"
if ! mkfs.btrfs -q "$image" || ! mount -o loop "$image" "$TMP/btrfs"; then
	skip "a driver with quotas" "a file cannot be mounted here"
	done_testing
	exit
fi
if ! docker_drivers=btrfs docker_up "$TMP/btrfs/docker" || ! docker_image hl-test:1; then
	fail "an engine on btrfs"
	done_testing
	exit 1
fi
policies
status_is "the quota holds" 1 run "$small" -c "$fill"
unlike "and nothing is degraded" "$out" degraded
status_is "below it is room" 0 run "$small" -c 'dd if=/dev/zero of=/work/little bs=1M count=5 2>/dev/null && sync'
like "what was applied is recorded" "$(as root "$LAUNCH" audit show --format json | grep '"ev":"run.sandbox"' | tail -n 1)" '"disk"'
status_is "without it there is more (sibling)" 0 run "$without" -c "$fill"
status_is "and not for more (HLC-30)" 125 run "$small" --limit disk=100MiB -c true
like "HLC-30 is told" "$out" 'HLC-30'
is "nothing is left there" "$(docker_ours)" ''
done_testing
