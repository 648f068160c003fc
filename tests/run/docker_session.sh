#!/bin/bash
# Sessions in a container of a real engine: the conversations of the native sandbox's tests, over the attach
# stream (JSON-RPC, MCP, a person's terminal); what the policy asks of each call; a launcher without its
# runner beside it. Nothing is left of any of them.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"
# shellcheck source=../lib/mcp.sh
. "$ROOT/tests/lib/mcp.sh"
docker_begin

mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"
python_files run/face_session.py run/face_shell.py run/face_levels.py

plain=$(docker_policy plain <<'Y'
level: baseline@1
process: {user: "1000:1000", umask: "027"}
env: {set: {FIXED: "fixed-value"}}
limits: {output: 4KiB}
Y
)
tight=$(docker_policy tight <<'Y'
level: baseline@1
process: {user: "1000:1000"}
limits: {wall: 1s}
Y
)
wide=$(docker_policy wide <<'Y'
level: baseline@1
process: {user: "1000:1000"}
Y
)
talk() {
	PYTHONDONTWRITEBYTECODE=1 conversation "$1" as root timeout 300 python3 "$TMP/py/run/$2" "$ENGINE" "$LAUNCH" "${@:3}"
}

talk JSON-RPC face_session.py "$plain" "$tight"
is "JSON-RPC: no container is left" "$(docker_ours)" ''
log=$(as root "$LAUNCH" audit show --format json)
begun=$(grep -c '"ev":"call.start"' <<<"$log")
is "each call has its beginning and its end in the log" \
	"$((begun > 0)) $(grep -c '"ev":"call.end"' <<<"$log")" "1 $begun"
status_is "the log is whole" 0 as root "$LAUNCH" audit verify

# Every face at the other levels, one of them without no_new_privs: there the kernel gives a call no signal scope.
image_id=$(docker_cli image inspect --format '{{.Id}}' hl-test:1)
image_id=${image_id#sha256:}
for level in open hermes restricted; do
	file=$(policy "level-$level" <<Y
version: 1
id: test/level-$level
level: $level@1
backends: [$ENGINE]
docker: {endpoint: $docker_socket}
image: {default: "sha256:$image_id", digest: true, pull: never}
process: {user: "1000:1000", no_new_privs: $([ $level = open ] && echo false || echo true)}
env: {set: {LEVEL: "$level"}}
Y
	)
	PYTHONDONTWRITEBYTECODE=1 conversation "level" as root timeout 300 python3 "$TMP/py/run/face_levels.py" \
		"$level" "$LAUNCH" "$file"
	is "$level: no container is left" "$(docker_ours)" ''
done

talk shell face_shell.py "$wide"
status_is "shell: its named session ends" 0 as root timeout 30 "$LAUNCH" stop term
is "shell: no container is left" "$(docker_ours)" ''

if mcp_install; then
	conversation mcp as root timeout 120 node "$TMP/mcp/client.mjs" docker "$LAUNCH" mcp -q --policy "$wide" 2>"$TMP/err"
	conversation "mcp over a named session" as root timeout 120 node "$TMP/mcp/client.mjs" "docker, named" \
		"$LAUNCH" mcp -q --policy "$wide" --name agent 2>"$TMP/err"
	status_is "mcp: which lives on" 0 as root timeout 30 "$LAUNCH" stop agent
	is "mcp: no container is left" "$(docker_ours)" ''
else
	skip "mcp" "$mcp_missing"
fi

# --- what the policy asks of each call
mkdir -p "$TMP/work.root/.git/hooks"
chmod -R 777 "$TMP/work.root/.git"
tools=$(docker_policy tools <<'Y'
level: baseline@1
process: {user: "1000:1000", umask: "077", seccomp: {deny: [mkdir, mkdirat]}}
Y
)
line() { printf '{"jsonrpc":"2.0","id":%d,"method":"exec","params":{"command":"%s"}}\n' "$1" "$2"; }
field() {
	python3 -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line)
    if row["id"] == int(sys.argv[1]):
        print(row["result"][sys.argv[2]], end="")' "$@" <<<"$out"
}
calls() {
	out=$({
		line 1 'umask; umask 000'
		line 2 'umask; : >made; stat -c %a made; rm -f made'
		line 3 'mkdir /tmp/d'
		line 4 'echo x >.hermes/policy.yaml'
		line 5 'echo x >.git/hooks/pre-commit'
		line 6 'echo x >.git/other'
		echo '{"jsonrpc":"2.0","id":9,"method":"close","params":{"wait":true}}'
	} | as root timeout 60 "$LAUNCH" session -q --policy "$1")
}
calls "$tools"
is "process.umask holds" "$(field 1 stdout)" 0077
is "process.umask holds in each call" "$(field 2 stdout | tr '\n' ' ')" '0077 600 '
is "seccomp.deny holds" "$(field 3 status)" 1
like "seccomp.deny says so" "$(field 3 stderr)" 'Operation not permitted'
is ".hermes is read-only" "$(field 4 status)" 1
like "fs.protect: git's hooks are read-only" "$(field 5 stderr)" 'Read-only'
is "fs.protect: their neighbour is not (sibling)" "$(field 6 status)" 0
calls "$wide"
is "without these, the usual mask (sibling)" "$(field 1 stdout)" 0022
is "without these, a directory can be made (sibling)" "$(field 3 status)" 0

# --- no runner beside the launcher: the one that it carries
mkdir "$TMP/alone"
cp "$TMP/bin/hermes-launch" "$TMP/bin/hl-engine" "$TMP/alone/"
out=$(as root "$TMP/alone/hermes-launch" --policy "$wide" -- \
	sh -c 'cat /proc/1/comm; echo x >/.hermes-runner; stat -c "%U %a" /.hermes-runner' 2>&1)
like "a launcher without its runner carries one" "$out" '^.hermes-runner$'
like "which is there read-only" "$out" '/.hermes-runner: (Read-only|Permission)'
like "and is root's" "$out" '^root 755$'
sha=$(find "$TMP/state.root/runner" -type f -printf '%f\n')
is "it is named by its content" "$(sha256sum <"$TMP/state.root/runner/$sha" | cut -d' ' -f1)" "$sha"
is "and is the one that would be beside it" "$sha" "$(sha256sum <"$TMP/bin/hermes-runner" | cut -d' ' -f1)"
echo 'echo bad' >>"$TMP/state.root/runner/$sha"
out=$(as root "$TMP/alone/hermes-launch" --policy "$wide" -- cat /proc/1/comm 2>&1)
is "one that was changed is written anew" "$out" .hermes-runner

is "nothing is left" "$(docker_ours)" ''
done_testing
