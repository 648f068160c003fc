#!/bin/bash
# docker.client: cli: the same sandbox, made by the engine's own client. What it is told, what it is not,
# how it ends with us, and clients that do something else than they were told.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
CLIENT=cli
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"
docker_begin
# What follows is of this run alone: a client that is another than the host's is one for one mount namespace.
if ! unshare -m true 2>/dev/null; then
	skip "an engine's client" "there can be no mount namespace here"
	done_testing
	exit
fi

mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"
python_files run/face_session.py

base=$(docker_policy base <<'Y'
level: baseline@1
process: {user: "1000:1000"}
env: {pass: [GITLAB_TOKEN]}
Y
)
run() { as root "$LAUNCH" -q --policy "$base" "$@"; }
fails() {
	local name=$1 code=$2
	shift 2
	status_is "$name" 125 "$@"
	like "$name: its own code" "$out" "\\[$code\\]"
}
none_left() {
	if wait_until 20 docker_none_left; then pass "$1: no container is left"; else fail "$1: no container is left" "$(docker_ours)"; fi
	if wait_until 20 no_client; then pass "$1: no client is left"; else fail "$1: no client is left" "$(clients)"; fi
}
# The client that has a container's streams, be it one in the place of the host's: not the tests' own.
clients() { pgrep -f "^(/bin/sh )?($client|$TMP/bin/real) start --attach"; }
no_client() { ! clients >/dev/null; }

# --- which
argv=$(as root "$LAUNCH" explain --format argv --policy "$base" -- true)
client=$(head -n 1 <<<"$argv")
like "explain's command line is the client's" "$client" "^/usr/(local/)?bin/$ENGINE\$"
like "explain says the client" "$(as root "$LAUNCH" explain --policy "$base" -- true)" "^  client +$client "
is "explain's JSON says it" "$(as root "$LAUNCH" explain --format json --policy "$base" -- true |
	python3 -c 'import json,sys; print(json.load(sys.stdin)["engine"]["client"])')" "$client"
api=$(sed '/^docker:/s/.*/docker: {client: api, endpoint: '"${docker_socket//\//\\/}"'}/' "$base" | policy api)
like "with the API it says that (sibling)" \
	"$(as root "$LAUNCH" explain --policy "$api" -- true)" "^  client +the engine's API"
like "doctor tells the client" "$(as root "$LAUNCH" doctor 2>&1)" "$client"

# --- a run
status_is "a run" 0 run -- true
is "is our runner's" "$(run -- cat /proc/1/comm)" .hermes-runner
for code in 1 125 137; do
	status_is "exit $code is the command's own" "$code" run -- sh -c "exit $code"
done
status_is "a signal is 128 and its number" 143 run -- sh -c 'kill -TERM $$'
is "standard output is exact" "$(run -- sh -c 'printf "a b"; echo x >&2' 2>/dev/null)" 'a b'
is "standard error is its own stream" "$(run -- sh -c 'echo y; echo x >&2' 2>&1 >/dev/null)" x
head -c 3000000 /dev/urandom >"$TMP/bytes"
printf '\020\021\020\021' >>"$TMP/bytes"
run -- cat <"$TMP/bytes" >"$TMP/back"
if cmp -s "$TMP/bytes" "$TMP/back"; then pass "3 MB come back as they are"; else fail "3 MB come back as they are" "$(wc -c <"$TMP/back")"; fi
for keys in '\020\021x' '\020'; do
	is "keys that detach a terminal are bytes: $keys" \
		"$(printf '%b' "$keys" | run -- od -An -c | tr -s ' ')" "$(printf '%b' "$keys" | od -An -c | tr -s ' ')"
done
limits=$(sed '$a limits: {wall: 2s, memory: 64MiB, pids: 32}' "$base" | policy limits)
status_is "a call past its time is ended inside" 124 \
	as root "$LAUNCH" -q --policy "$limits" -- sh -c 'sleep 61 & setsid sleep 62; sleep 63'
is "a run with limits, by the read-back" "$(as root "$LAUNCH" --policy "$limits" -- echo here)" here
none_left "after these"

# --- what the client is told
export GITLAB_TOKEN=S3CRET-777-of-test HL_CANARY=S3CRET-777-of-caller
run -- sh -c 'echo "$GITLAB_TOKEN"; sleep 6' >"$TMP/secret.out" 2>"$TMP/err" &
pid=$!
wait_until 30 grep -q . "$TMP/secret.out" || fail "the command began" "$(cat "$TMP/err")"
for of in $(clients); do
	tr '\0' '\n' <"/proc/$of/cmdline" >>"$TMP/told"
	tr '\0' '\n' <"/proc/$of/environ" >>"$TMP/variables"
done
wait "$pid"
unset GITLAB_TOKEN HL_CANARY
is "the command has the value (sibling)" "$(cat "$TMP/secret.out")" S3CRET-777-of-test
like "the client was looked at" "$(cat "$TMP/told")" '^start$'
unlike "no value is in its words or variables" "$(cat "$TMP/told" "$TMP/variables")" S3CRET
is "no variable of the caller's is" "$(sed 's/=.*//' "$TMP/variables" | grep -vxE 'DOCKER_HOST|XDG_RUNTIME_DIR' | sort | tr '\n' ' ')" \
	'DOCKER_CONFIG HOME PATH '
status_is "nor in what is kept below the state directory" 1 grep -rq S3CRET "$TMP/state.root/engines" "${docker_kept[@]}"

# --- a session
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
PYTHONDONTWRITEBYTECODE=1 conversation JSON-RPC as root timeout 300 python3 "$TMP/py/run/face_session.py" \
	"$ENGINE" "$LAUNCH" "$plain" "$tight"
none_left "after a session"

# --- who ends
begin() {
	as_exec root "$LAUNCH" -q --policy "$base" -- sh -c 'echo up; sleep 60' >"$TMP/out" 2>&1 &
	launcher=$!
	wait_until 30 grep -q '^up' "$TMP/out" || fail "a run began" "$(cat "$TMP/out")"
}
begin
kill -9 "$launcher"
wait "$launcher" 2>/dev/null
none_left "kill -9 of the launcher"

begin
kill -9 "$(pgrep -P "$launcher")" "$launcher"
wait "$launcher" 2>/dev/null
if wait_until 20 no_client; then pass "a killed helper takes its client along"; else fail "a killed helper takes its client along" "$(clients)"; fi
wait_until 20 eval '! docker_is_running' || fail "what ran has ended with them" "$(docker_ours)"
like "gc asks the client and removes what is left" "$(as root "$LAUNCH" gc)" '1 containers'
none_left "gc"

begin
kill -9 "$(clients)"
wait "$launcher"
is "kill -9 of the client is an end that is not known" "$?" 125
like "and is told" "$(cat "$TMP/out")" '\[HLB-07\]'
none_left "kill -9 of the client"

# --- what a client does not do
absent=$(sed 's|hl-test:1|hl-absent:1|; s|pull: never|pull: missing|' "$base" | policy absent)
fails "an image that is not there" HLB-45 as root "$LAUNCH" --policy "$absent" -- true
like "is not pulled, which is told" "$out" 'pull it first'
always=$(sed 's|pull: never|pull: always|' "$base" | policy always)
fails "a pull each time" HLB-67 as root "$LAUNCH" --policy "$always" -- true
disk=$(sed '$a limits: {disk: 20MiB}' "$base" | policy disk)
fails "limits.disk" HLD-01 as root "$LAUNCH" --policy "$disk" -- true
nowhere=$(sed "s|$docker_socket|$TMP/none.sock|" "$base" | policy nowhere)
fails "no engine" HLB-40 as root "$LAUNCH" --policy "$nowhere" -- true
podman=$(sed 's|^backends: .*|backends: [podman]|' "$base" | policy podman)
fails "podman's client" HLB-67 as root "$LAUNCH" --policy "$podman" -- true

# --- clients that are something else
cp "$client" "$TMP/bin/real"
# other MODE <<TEXT: a client in the place of the host's
other() {
	cat >"$TMP/bin/other"
	chmod "$1" "$TMP/bin/other"
}
with_other() {
	as root unshare -m sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' \
		"$TMP/bin/other" "$client" "$LAUNCH" --policy "$base" "$@"
}
other 755 <<Y
#!/bin/sh
exec "$TMP/bin/real" "\$@"
Y
status_is "one that hands on what it is told works (sibling)" 7 with_other -- sh -c 'exit 7'
other 777 <"$TMP/bin/other"
fails "one that anybody may write" HLB-68 with_other -- true
other 755 <<Y
#!/bin/sh
[ "\$1" = create ] || exec "$TMP/bin/real" "\$@"
shift
exec "$TMP/bin/real" create --privileged "\$@"
Y
fails "one that gives more than was asked" HLB-53 with_other -- true
none_left "one that gives more"
other 755 <<Y
#!/bin/sh
[ "\$1" = create ] || exec "$TMP/bin/real" "\$@"
shift
exec "$TMP/bin/real" create --no-such-option "\$@"
Y
fails "one whose create is refused" HLB-51 with_other -- true
like "says the client's words" "$out" 'no-such-option'
# As a packaged client does under a profile of its own.
other 755 <<Y
#!/bin/sh
echo "\$*" >>"$TMP/asked"
case " \$* " in *' --init '* | *no-new-privileges*) echo 'operation not permitted' >&2; exit 126 ;; esac
exec "$TMP/bin/real" "\$@"
Y
: >"$TMP/asked"
fails "U26 one that refuses no-new-privileges" HLB-51 with_other -- true
is "U26 is asked once" "$(grep -c '^create ' "$TMP/asked")" 1
is "U26 and never without it" "$(grep '^create ' "$TMP/asked" | grep -vc no-new-privileges)" 0
is "U26 --init is not asked for: pid 1 is our runner" "$(grep -c -e ' --init ' "$TMP/asked")" 0
other 755 <<Y
#!/bin/sh
[ "\$1" = start ] || exec "$TMP/bin/real" "\$@"
exit 0
Y
fails "one that starts nothing" HLB-52 with_other -- true
none_left "one that starts nothing"
done_testing
