#!/bin/bash
# Whose the engine is, and who the command is on this host: what docker.rootless asks, and engines that do not
# tell which process a container is. Somebody between (tests/lib/forward.py) hands on to a real engine of
# root's. Each refusal has its sibling, the same engine where nobody asks or nothing is changed.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
docker_begin
chmod 755 "$TMP" "$docker_dir"
mkdir -p "$TMP/between"
chmod 1777 "$TMP/between"
forwarders=()
# KILL: unshare(1) holds TERM back while it waits, and takes its child along.
trap 'kill -KILL "${forwarders[@]}" 2>/dev/null; docker_down; rm -rf "$TMP"' EXIT

# between NAME USER [COMMAND...]: someone of that user listens at $TMP/between/NAME, and tells of a container's
# process what $TMP/told holds
other=61328 # nobody's number, and not the one that means "no number"
: >"$TMP/told"
between() {
	local name=$1 user=$2
	shift 2
	# The engine's own socket is open to everybody here, for somebody who is not root.
	chmod 666 "$docker_socket"
	"$@" python3 "$ROOT/tests/lib/forward.py" "$user" "$TMP/between/$name" "$docker_socket" "$TMP/told" >"$TMP/between.log" 2>&1 &
	forwarders+=($!)
	wait_until 20 test -S "$TMP/between/$name" || fail "somebody between listens" "$(cat "$TMP/between.log")"
}
# a_policy NAME SOCKET [LINE...]
a_policy() {
	local name=$1 socket=$2
	shift 2
	printf '%s\n' 'level: baseline@1' "$@" | docker_policy "$name" >/dev/null
	sed -i "s|^docker: {endpoint: $docker_socket|docker: {endpoint: $socket|" "$TMP/policy/$name.yaml"
	echo "$TMP/policy/$name.yaml"
}
required() { sed 's|^docker: {|docker: {rootless: required, |' "$1" | policy "required.${1##*/}" >/dev/null; echo "$TMP/policy/required.${1##*/}.yaml"; }
run() { as root "$LAUNCH" -q --policy "$1" -- echo begun; }
# refused NAME POLICY REGEX...: nothing begins, and no container was made that is left
refused() {
	local name=$1 policy=$2
	shift 2
	status_is "$name is refused" 125 run "$policy"
	local said
	said=$(tr '\n' ' ' <<<"$out")
	for pattern; do like "$name: '$pattern'" "$said" "$pattern"; done
	unlike "$name: nothing was started" "$out" '^begun'
	is "$name: no container is left" "$(docker_ours)" ''
}

user='process: {user: "1000:1000"}'
plain=$(a_policy plain "$docker_socket" "$user")
asks=$(required "$plain")

# --- an engine of root's
status_is "an engine of root's, of which nothing is asked (sibling)" 0 run "$plain"
engine_is_left() { # that nothing was even made: the engine counts what it makes
	docker_cli events --since "$1" --until "$(date +%s)" --filter event=create --format '{{.Type}}' 2>/dev/null
}
before=$(date +%s)
sleep 1
refused "an engine of root's where none may be" "$asks" 'docker.rootless cannot be applied' "the engine is root's" \
	'HLD-01' 'docker\.endpoint' 'degrade: \{allow: \[docker\.rootless\]\}'
[ "$ENGINE" = podman ] || is "of which not even a trial was made" "$(engine_is_left "$((before + 1))")" ''
status_is "explain tells all the same" 0 as root "$LAUNCH" explain --policy "$asks" -- true
like "that it is required, and by which line" "$out" '^  rootless +required .*required\.plain\.yaml.*:[0-9]+'
like "that it is not so here" "$out" "docker\.rootless +launcher +not applied here: the engine is root's"
like "and that a run would be refused" "$out" 'run would be refused here: docker\.rootless.*HLD-01'
like "what is not asked it tells as well (sibling)" "$(as root "$LAUNCH" explain --policy "$plain" -- true)" '^  rootless +not required'
is "explain's JSON says it" "$(as root "$LAUNCH" explain --format json --policy "$asks" -- true 2>/dev/null |
	python3 -c 'import json,sys; e = json.load(sys.stdin)["engine"]; print(e["rootless"], e["rootless_required"])')" 'False True'
status_is "policy check finds nothing wrong" 0 as root "$LAUNCH" policy check "$asks"
unlike "and does not call it unenforced" "$out" 'rootless'
like "doctor names the gap, with what mends it" "$(as root "$LAUNCH" doctor --policy "$asks" 2>&1 | tr '\n' ' ')" \
	"docker\.rootless +needed +the engine is root's.*mend +name the socket"
for way in 'degrade: {allow: [docker.rootless]}' 'mode: warn'; do
	{ cat "$asks"; echo "$way"; } | policy degrades >/dev/null
	status_is "where the policy says '$way' it runs (sibling)" 0 run "$TMP/policy/degrades.yaml"
	like "and that is told ($way)" "$out" 'degraded: docker.rootless is not applied: .*HLD-01'
done
like "and recorded" "$(as root "$LAUNCH" audit show | grep degraded)" 'control=docker.rootless'
status_is "on local alone it is a setting without effect" 125 as root "$LAUNCH" --policy \
	"$(printf '%s\n' 'version: 1' 'id: test/local' 'level: baseline@1' 'backends: [local]' 'docker: {rootless: required}' | policy local)" -- true
like "which is refused" "$out" 'docker\.rootless has no effect on backend local.*HLD-20'

# --- whose engine cannot be told
refused "a socket that nobody listens at" "$(required "$(a_policy nobody "$TMP/between/nobody" "$user")")" \
	'whose the engine is cannot be told' 'HLD-01'
between noone 65534
unknown=$(a_policy unknown "$TMP/between/noone" "$user")
refused "somebody who has no number" "$(required "$unknown")" 'whose the engine is cannot be told' 'HLD-01'
status_is "who is used where nobody asks (sibling)" 0 run "$unknown"
if [ "$ENGINE" = podman ]; then
	own=$(printf '%s\n' 'version: 1' 'id: test/own' 'backends: [podman]' 'level: baseline@1' \
		'image: {default: hl-test:1, digest: false, pull: never}' "$user" | policy own)
	# shellcheck disable=SC2086
	own() { as root $podman_private "$LAUNCH" -q --policy "$1" -- echo begun; }
	sed 's|^level|docker: {rootless: required}\nlevel|' "$own" | policy own-asks >/dev/null
	status_is "a service that root starts" 125 own "$TMP/policy/own-asks.yaml"
	like "is root's, which is told before it is started" "$(tr '\n' ' ' <<<"$out")" \
		'the caller is root, and so is the service.*HLD-01.*ordinary user'
	unlike "nothing was started of it" "$out" '^begun'
	status_is "and is used where nobody asks (sibling)" 0 own "$own"
else
	told=$(sed 's|^docker: {|docker: {client: cli, |' "$plain" | policy told)
	status_is "a client that is told root's socket (sibling)" 0 run "$told"
	refused "a client that is told root's socket" "$(required "$told")" "the engine is root's" 'HLD-01'
	untold=$(sed 's|^docker: {.*|docker: {client: cli}|' "$plain" | policy untold)
	refused "a client that is told no socket" "$(required "$untold")" 'told no socket.*nobody knows which' 'HLD-01'
	status_is "of which explain tells as much where nobody asks (sibling)" 0 as root "$LAUNCH" explain --policy "$untold" -- true
fi

# --- somebody without root who hands on to root's engine: the kernel tells, of the container's first process
between user "$other"
handed=$(a_policy handed "$TMP/between/user" "$user")
status_is "somebody without root between (sibling)" 0 run "$handed"
refused "root's engine behind somebody without root" "$(required "$handed")" \
	'docker.rootless is required, and root of this host is in the container' 'HLB-53' 'hands on to another'
echo 0 >"$TMP/told"
refused "the same, where no process is told" "$(required "$handed")" 'not to be seen on this host' 'HLB-53'
echo 1 >"$TMP/told"
refused "the same, where another process is told" "$(required "$handed")" 'not to be seen on this host' 'HLB-53'
status_is "none of it matters where nobody asks (sibling)" 0 run "$handed"
: >"$TMP/told"

# --- who the command is, when it is to be the caller: root, here
mine='process: {user: caller, allow_root: true}'
hands=$(a_policy hands "$TMP/between/user" "$mine")
status_is "U53 an engine that tells the process (sibling)" 0 run "$hands"
unlike "U53 of which there is nothing to tell" "$out" 'word alone'
echo 0 >"$TMP/told"
refused "U53 an engine of this host that tells none" "$hands" 'is a process of this host, and does not tell which process' 'HLB-53' 'process\.user'
status_is "U53 another user than the caller owns nothing here (sibling)" 0 run "$handed"
echo 1 >"$TMP/told"
status_is "U53 one that tells somebody else's, as from a virtual machine, is used" 0 run "$hands"
like "U53 and what nobody could see is told" "$out" 'caller on this host.*word alone: process 1, which the engine tells, is not'
like "U53 and recorded" "$(as root "$LAUNCH" audit show --format json | tail -n 4)" '"unseen":"process 1,'
: >"$TMP/told"
between apart 0 unshare --pid --fork --kill-child
apart=$(a_policy apart "$TMP/between/apart" "$mine")
status_is "U53 somebody in a namespace of processes of their own (sibling)" 0 run "$apart"
like "U53 explain says that it may be its word alone" "$(as root "$LAUNCH" explain --policy "$apart" -- true)" 'word alone'
unlike "U53 and not of one that is seen (sibling)" "$(as root "$LAUNCH" explain --policy "$hands" -- true)" 'word alone'
echo 0 >"$TMP/told"
status_is "U53 of whom no process can be asked" 0 run "$apart"
like "U53 which is told" "$out" 'word alone: the engine does not tell which process'
: >"$TMP/told"
is "nothing of any of them is left" "$(docker_ours)" ''
done_testing
