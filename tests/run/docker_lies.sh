#!/bin/bash
# An engine that tells what it was asked and does something else: between it and the kernel sits a runtime
# of the test's, which changes one thing of the container before runc makes it. Each is found from inside
# before the command is started, and each has its sibling, the same run without the change.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"

lie=$TMP/lie
cat >"$TMP/liar" <<Y
#!/bin/sh
# runc [global options] create --bundle DIR ...
if [ -s "$lie" ]; then
	python3 "$TMP/liar.py" "$lie" "\$@" || exit 1
fi
exec $(command -v runc || echo runc) "\$@"
Y
chmod 755 "$TMP/liar"
cat >"$TMP/liar.py" <<'Y'
import json
import os
import sys

words = sys.argv[2:]
if "create" not in words:
    sys.exit(0)
path = os.path.join(words[words.index("--bundle") + 1], "config.json")
with open(path) as file:
    config = json.load(file)
process, linux = config["process"], config["linux"]
mounts = {mount["destination"]: mount for mount in config["mounts"]}


def without(place, option):
    mounts[place]["options"].remove(option)


with open(sys.argv[1]) as file:
    exec(file.read())
with open(path, "w") as file:
    json.dump(config, file)
Y
# shellcheck disable=SC2034
podman_runtime=$TMP/liar
docker_daemon='{"runtimes": {"liar": {"path": "'$TMP/liar'"}}, "default-runtime": "liar"}'
docker_begin

base=$(docker_policy base <<'Y'
level: baseline@1
process: {user: "1000:1000"}
fs:
  tmpfs:
    - {dst: /tmp, size: 16MiB, exec: true, mode: "1777"}
    - {dst: /run, size: 1MiB, exec: false, mode: "755"}
Y
)
mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"
run() { as root "$LAUNCH" --policy "$base" -- sh -c 'echo begun'; }

: >"$lie"
status_is "an engine that does what it is asked (sibling of all below)" 0 run
like "the command begins" "$out" begun

# lies NAME SUBJECT PYTHON
lies() {
	printf '%s\n' "$3" >"$lie"
	status_is "$1 is found" 125 run
	like "$1: what is wrong" "$out" "$2"
	unlike "$1: nothing was started" "$out" '^begun'
}
lies "another user" 'Uid: *.*HLB-02' 'process["user"]["uid"] = 0'
lies "another group" 'Gid: *.*HLB-02' 'process["user"]["gid"] = 0'
lies "a supplementary group" 'Groups: *.*HLB-02' 'process["user"]["additionalGids"] = [0]'
lies "a capability" 'Cap(Bnd|Prm|Eff|Inh): *.*HLB-02' \
	'process["capabilities"]["bounding"] = ["CAP_NET_ADMIN"]'
lies "no filter of system calls" 'Seccomp: *.*HLB-02' 'del linux["seccomp"]'
lies "a writable root" "'/'.*HLB-02" 'config["root"]["readonly"] = False'
lies "U50 a directory of the host" 'not asked for.*HLB-02' \
	'config["mounts"].append({"destination": "/mnt", "type": "bind", "source": "/etc", "options": ["rbind", "ro"]})'
lies "U50 a directory of the host among devices" 'not asked for.*HLB-02' \
	'config["mounts"].append({"destination": "/dev/host", "type": "bind", "source": "/etc", "options": ["rbind", "ro"]})'
# A file system in memory is a kind that engines have of their own there.
mkdir -p "$TMP/memory"
mount -t tmpfs none "$TMP/memory"
touch "$TMP/memory/file"
trap 'umount "$TMP/memory" 2>/dev/null; docker_down; rm -rf "$TMP"' EXIT
for place in /dev/host /dev/shm/host /sys/kernel; do
	lies "U50 a file system of the host at $place" 'not asked for.*HLB-02' \
		'config["mounts"].append({"destination": "'$place'", "type": "bind", "source": "'"$TMP"'/memory", "options": ["rbind", "rw"]})'
done
mkdir "$TMP/memory/dir"
lies "U50 a directory of one where an engine has its own" 'not asked for.*HLB-02' \
	'mounts["/dev/shm"].update({"type": "bind", "source": "'"$TMP"'/memory/dir", "options": ["rbind", "rw"]})'
lies "U50 a directory where an engine has a file" 'not asked for.*HLB-02' \
	'config["mounts"].append({"destination": "/run/.containerenv", "type": "bind", "source": "/etc", "options": ["rbind", "rw"]})'
lies "U50 a read-only one among devices" 'not asked for.*HLB-02' \
	'config["mounts"].append({"destination": "/dev/host", "type": "bind", "source": "'"$TMP"'/memory", "options": ["rbind", "ro"]})'
lies "U50 a file of one among devices" 'not asked for.*HLB-02' \
	'config["mounts"].append({"destination": "/dev/host", "type": "bind", "source": "'"$TMP"'/memory/file", "options": ["bind", "rw"]})'
umount "$TMP/memory"
lies "U50 a mount that is missing" "'/tmp'.*HLB-02" \
	'config["mounts"] = [m for m in config["mounts"] if m["destination"] != "/tmp"]'
lies "a read-only mount that is writable" "'/workspace/.hermes'.*HLB-02" 'without("/workspace/.hermes", "ro")'
lies "U28 programs where none may be" "'/run'.*HLB-02" 'without("/run", "noexec")'
lies "U29 devices where none may be" "'/tmp'.*HLB-02" 'without("/tmp", "nodev")'
lies "a larger tmpfs" "'/tmp'.*HLB-02" \
	'mounts["/tmp"]["options"] = [o if not o.startswith("size=") else "size=64m" for o in mounts["/tmp"]["options"]]'
lies "kernel settings that are open" "'/proc/sys'.*HLB-02" 'linux["readonlyPaths"] = []'
lies "U52 U74 a variable of the engine's" 'variable.*HLB-02' \
	'process["env"].append("https_proxy=http://corp:1")'
unlike "U52 and its value is not told" "$out" corp
lies "U32 another limit" 'HLB-(02|53)' 'linux["resources"]["pids"]["limit"] = 5000'
# This one the runner makes good by itself.
echo 'process["noNewPrivileges"] = False' >"$lie"
like "no_new_privs is on, whatever the engine did" \
	"$(as root "$LAUNCH" --policy "$base" -- grep NoNewPrivs /proc/self/status)" '1$'
: >"$lie"
status_is "the same engine, honest again" 0 run
is "nothing of any of them is left" "$(docker_ours)" ''

# --- a device that the policy lists takes nothing away from what is looked at
node=/dev/hl-test-$$
if mknod -m 666 "$node" c 10 200 2>/dev/null && (exec 3<>"$node") 2>/dev/null; then
	trap 'docker_down; rm -rf "$TMP" "$node"' EXIT
	plain=$base
	base=$(sed "s|^fs:|fs:\n  devices: [$node]|" "$plain" | policy device)
	status_is "a device of the policy's (sibling)" 0 run
	lies "U50 a directory of the host beside a device" 'not asked for.*HLB-02' \
		'config["mounts"].append({"destination": "/mnt", "type": "bind", "source": "/etc", "options": ["rbind", "ro"]})'
	lies "a mount that is missing beside a device" "'/tmp'.*HLB-02" \
		'config["mounts"] = [m for m in config["mounts"] if m["destination"] != "/tmp"]'
	echo 'config["mounts"].append({"destination": "'$node'", "type": "bind", "source": "'$node'", "options": ["bind", "rw"]})
linux["devices"] = [d for d in linux["devices"] if d["path"] != "'$node'"]' >"$lie"
	status_is "one that is bound, as where no device can be made, is none of them (sibling)" 0 run
	: >"$lie"
	base=$plain
	rm -f "$node"
else
	skip "devices" "no node of one can be made and opened here"
fi

# --- a volume that the image brings is no mount of the policy's
container=$(docker_cli create hl-test:1 true)
docker_cli commit --change 'VOLUME /data' "$container" "${docker_registry}hl-volume:1" >/dev/null 2>&1
docker_cli rm "$container" >/dev/null
volume=$(sed 's|hl-test:1|hl-volume:1|' "$base" | policy volume)
status_is "U50 a volume of the image is refused" 125 as root "$LAUNCH" --policy "$volume" -- true
like "U50 with its place, and what to do" "$(tr '\n' ' ' <<<"$out")" "/data.*HLB-58.*fs.tmpfs"
given=$(
	sed 's|- {dst: /run|- {dst: /data, size: 1MiB, exec: false, mode: "1777"}\n    - {dst: /run|' "$volume" | policy given
)
status_is "U50 what the policy has there is used (sibling)" 0 \
	as root "$LAUNCH" --policy "$given" -- sh -c 'echo x >/data/x && grep -q " /data .* tmpfs " /proc/self/mountinfo'
is "no volume is left" "$(docker_cli volume ls -q)" ''
# --- a helper that is killed while the engine is making the container
echo "import time; open('$TMP/starting', 'w').close(); time.sleep(5)" >"$lie"
as_exec root "$LAUNCH" --policy "$base" -- true >"$TMP/out" 2>&1 &
launcher=$!
wait_until 15 test -e "$TMP/starting" || fail "a slow start" "$(cat "$TMP/out")"
kill -9 "$(pgrep -P "$launcher" -x hl-engine)"
wait "$launcher"
is "a helper that is killed in the middle of a start" "$?" 125
is "leaves no container" "$(docker_ours)" ''
: >"$lie"
done_testing
