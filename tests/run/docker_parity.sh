#!/bin/bash
# What explain prints is what runs: one container from explain's own arguments with the docker client, one
# through the API, and the engine's inspection of both, compared.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
docker_begin

mkdir -p "$TMP/work.root" "$TMP/m/a,b"
chmod 777 "$TMP/work.root"
cat >"$TMP/compare.py" <<'P'
import json, sys

# What differs by nature: the run's own labels, and what is the same in two spellings. Nothing is left out but
# what podman's client notes of itself: how it was called.
OURS = "dev.hermes-launch."


def without(*names):
    return lambda value: {k: v for k, v in (value or {}).items() if k not in names}


SPELT = {
    "RestartPolicy": lambda value: {**value, "Name": value["Name"] or "no"},
    "Labels": without(OURS + "run", OURS + "owner", OURS + "image"),
    "Annotations": without("io.kubernetes.cri-o.Created", "io.kubernetes.cri-o.TTY", "io.podman.annotations.seccomp"),
}
EMPTY = (None, [], {}, "", 0, False)

def settle(value):
    if isinstance(value, dict):
        return {k: settle(v) for k, v in value.items()}
    if isinstance(value, list):
        return sorted((json.dumps(settle(v), sort_keys=True) for v in value))
    return value

def load(path):
    item = json.load(open(path))[0]
    host = item["HostConfig"]
    # Options of a bind in any order.
    host["Binds"] = [b.rpartition(":")[::2] for b in host.get("Binds") or []]
    host["Binds"] = [[place, sorted(options.split(","))] for place, options in host["Binds"]]
    if sys.argv[4] == "podman":
        # A path here is a note of podman's client to itself. What the kernel is told is in the runtime's
        # own configuration, which the container had while it was looked at.
        host["SecurityOpt"] = [o for o in host.get("SecurityOpt") or [] if not o.startswith("seccomp=/")]
        host["Seccomp"] = json.load(open(path + ".seccomp"))
        assert host["Seccomp"]["syscalls"], "no filter in the runtime's configuration"
    # By name or by id: which it is the engine says besides.
    item["Config"]["Image"] = item["Image"]
    assert item["Image"] and item["Config"]["Labels"][OURS + "run"], "no container of ours"
    notes = item["Config"].pop("CreateCommand", None)
    assert (notes is None) == (path == sys.argv[1] or sys.argv[4] != "podman"), "whose container is this"
    return {part: {k: settle(SPELT.get(k, lambda value: value)(v)) for k, v in item[part].items()}
            for part in ("HostConfig", "Config")}

a, b = load(sys.argv[1]), load(sys.argv[2])
# What is asked of docker has the inspection's own names; of podman others, which inspect_podman.c compares.
body = json.load(open(sys.argv[3]))
if sys.argv[4] == "podman":
    assert body["image"] and body["cap_drop"] and body["seccomp_profile_path"], "no request in explain"
    lowered = set()
else:
    lowered = set(body["HostConfig"]) - {"Labels"}
    assert lowered, "no request in explain"
bad = 0
for part in ("HostConfig", "Config"):
    for key in sorted(set(a[part]) | set(b[part])):
        x, y = a[part].get(key), b[part].get(key)
        if x != y and not (x in EMPTY and y in EMPTY):
            print(part, key, x, y)
            bad += 1
missing = lowered - set(a["HostConfig"])
print("lowered", len(lowered), "missing", sorted(missing))
sys.exit(1 if bad or missing else 0)
P

# inspect_into FILE CONTAINER
inspect_into() {
	docker_cli inspect "$2" >"$1"
	[ "$ENGINE" != podman ] || python3 -c 'import json,sys
path = json.load(open(sys.argv[1]))[0]["OCIConfigPath"]
json.dump(json.load(open(path))["linux"]["seccomp"], open(sys.argv[1] + ".seccomp", "w"))' "$1"
}

parity() {
	local name=$1 policy=$2 api cli names
	# The limits are tried once, in a container of their own, which is not the one to look at.
	status_is "$name: a run" 0 as root "$LAUNCH" --policy "$policy" -- true
	as root "$LAUNCH" --policy "$policy" -- sleep 8 >/dev/null 2>"$TMP/err" &
	api=$!
	wait_until 10 docker_is_running || { fail "$name: the API's container" "$(cat "$TMP/err")"; return; }
	names=$(docker_ours)
	inspect_into "$TMP/api.json" "$names"
	wait "$api"

	mapfile -t argv < <(as root "$LAUNCH" explain --format argv --policy "$policy" -- sleep 8)
	is "$name: one argument a line" "${argv[0]} ${argv[1]} ${argv[2]}" "$docker_words unix://$docker_socket"
	as root "$LAUNCH" explain --format json --policy "$policy" -- sleep 8 >"$TMP/explain.json"
	python3 -c 'import json,sys
def find(v):
    if isinstance(v, dict):
        if "HostConfig" in v or "cap_drop" in v: return v
        v = list(v.values())
    for i in v if isinstance(v, list) else []:
        f = find(i)
        if f: return f
print(json.dumps(find(json.load(sys.stdin))))' <"$TMP/explain.json" >"$TMP/body.json"
	mkfifo "$TMP/fifo"
	docker_client "${argv[@]}" <"$TMP/fifo" >"$TMP/cli.out" 2>"$TMP/cli.err" &
	cli=$!
	exec 9>"$TMP/fifo"
	wait_until 10 docker_is_running || fail "$name: the client's container" "$(cat "$TMP/cli.err")"
	names=$(docker_ours)
	inspect_into "$TMP/cli.json" "$names"
	exec 9>&-
	wait "$cli"
	docker_cli "${docker_remove[@]}" "$names" >/dev/null
	rm "$TMP/fifo"
	like "$name: the client's container has our runner" "$(head -c 8 "$TMP/cli.out" | od -An -tx1)" '8f 48 4c'
	status_is "$name: the engine sees the same" 0 \
		python3 "$TMP/compare.py" "$TMP/api.json" "$TMP/cli.json" "$TMP/body.json" "$ENGINE"
	sed -i 's/"MaximumRetryCount": 0/"MaximumRetryCount": 1/' "$TMP/cli.json"
	status_is "$name: what is not the same is found (sibling)" 1 \
		python3 "$TMP/compare.py" "$TMP/api.json" "$TMP/cli.json" "$TMP/body.json" "$ENGINE"
	like "$name: by its key" "$out" '^HostConfig RestartPolicy '
}

parity smallest "$(docker_policy smallest <<'Y'
level: baseline@1
process: {user: "1000:1000"}
Y
)"
parity everything "$(docker_policy everything <<Y
level: hermes@1
process: {user: "0:0", allow_root: true, caps: [CHOWN, FOWNER]}
limits: {memory: 128MiB, cpus: 0.5, pids: 64, files: 256, shm: 8MiB}
fs:
  mounts: [{src: '$TMP/m/a,b', dst: '/data/one two', access: ro}]
Y
)"
parity image-user "$(docker_policy image-user <<'Y'
level: hermes@1
Y
)"
is "nothing is left" "$(docker_ours)" ''
done_testing
