#!/bin/bash
# doctor: what this host can enforce, as root and as an ordinary user, with and without a policy.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

plain=$(policy plain <<'Y'
version: 1
id: test/plain
level: baseline@1
backends: [local]
Y
)
engine=$(policy engine <<Y
version: 1
id: test/engine
level: baseline@1
backends: [docker]
docker: {endpoint: $TMP/no.sock}
image: {default: x:1, digest: false}
Y
)
broken=$(policy broken <<'Y'
version: 1
id: test/broken
nonsense: 1
Y
)

row() {
	awk -v check="$1" 'index($0, check) == 1 { print $0 }' <<<"$out"
}

field() {
	python3 -c 'import json, sys
for row in json.loads(sys.argv[1])["checks"]:
    if row["check"] == sys.argv[2]:
        print(row[sys.argv[3]])' "$out" "$1" "$2"
}

for caller in $CALLERS; do
	doctor() { as "$caller" "$LAUNCH" doctor "$@"; }

	status_is "$caller: doctor answers" 0 doctor
	like "$caller: the kernel is named" "$(row kernel)" "ok +Linux $(uname -r)"
	abi=$(row landlock)
	like "$caller: Landlock's ABI, or what mends its absence" "$abi" 'ok +ABI [0-9]+|gap'
	like "$caller: each limit is tried" "$(row 'limit memory')" 'ok +control group|gap +.+'
	if grep -q '^limit memory *gap' <<<"$out"; then
		like "$caller: a gap comes with what mends it" "$(grep -A1 '^limit memory' <<<"$out")" 'mend +[a-z]'
	fi
	like "$caller: processes are limited, by a group or without one" "$(row 'limit pids')" 'ok +(control group|resource limit, by user namespace)'
	like "$caller: the runner" "$(row runner)" "ok +$TMP/bin/hermes-runner"
	like "$caller: the state directory" "$(row 'state directory')" 'ok'
	is "$caller: nothing was written" "$(find "$TMP/state.$caller" | wc -l)" 1
	status_is "$caller: doctor for a program" 0 doctor --format json
	is "$caller: the same facts" "$(field runner detail)" "$TMP/bin/hermes-runner"
	status_is "$caller: a backend is for a policy (HLU-01)" 64 doctor --backend local
	status_is "$caller: a policy that can be kept" 0 doctor --policy "$plain"
	like "$caller: and its backend" "$(row policy)" 'backend local'
	is "$caller: a question makes no folder in the working directory" "$(find "$TMP/work.$caller" -name .hermes | wc -l)" 0
	status_is "$caller: a run" 0 as "$caller" "$LAUNCH" run -q --policy "$plain" -- true
	is "$caller: does" "$(find "$TMP/work.$caller" -name .hermes | wc -l)" 1
	own=$TMP/own.$caller
	mkdir -p "$own/.hermes"
	cp "$plain" "$own/.hermes/policy.yaml"
	[ "$caller" != user ] || chown -R "$NOBODY" "$own"
	status_is "$caller: a policy that run would find is asked about as well" 0 \
		as "$caller" sh -c "cd '$own' && '$LAUNCH' doctor"
	like "$caller: and it is told" "$(row policy)" 'ok +backend local'
	status_is "$caller: also where it is broken (HLP-04)" 78 \
		as "$caller" sh -c "cp '$broken' '$own/.hermes/policy.yaml' && cd '$own' && '$LAUNCH' doctor"
	status_is "$caller: none is found" 0 doctor
	like "$caller: which is told too" "$(row policy)" 'absent +none was named'
	log=$(echo "$TMP/state.$caller"/audit/*/*.jsonl)
	as "$caller" cp "$log" kept
	as "$caller" sh -c "echo changed >>'$log'"
	status_is "$caller: a log that was changed is a gap" 0 doctor
	like "$caller: with its code" "$(row 'state directory')" 'gap +.*HLA-05'
	status_is "$caller: and 1 where a policy needs a log" 1 doctor --policy "$plain"
	like "$caller: the row says so" "$(row 'state directory')" 'needed'
	status_is "$caller: as run says" 125 as "$caller" "$LAUNCH" run -q --policy "$plain" -- true
	like "$caller: for the same cause" "$out" 'HLA-05'
	as "$caller" sh -c "cat kept >'$log'; rm kept"
	status_is "$caller: put back it is no gap" 0 doctor --policy "$plain"
	status_is "$caller: a backend that the policy does not name is refused, as by run" 77 doctor --policy "$plain" --backend docker
	like "$caller: and the cause is told" "$out" 'refused: .*backends \[HLC-60\]'
	status_is "$caller: one that it names is not" 0 doctor --policy "$plain" --backend local
	status_is "$caller: a policy that is none (HLP-04)" 78 doctor --policy "$broken"
	status_is "$caller: a policy whose engine is not there (HLB-40)" 69 doctor --policy "$engine"
	like "$caller: is told so" "$out" 'HLB-40|HLD-22'
done

# A policy that needs a limit which the host cannot apply: an ordinary user without a control group.
if [ "$CALLERS" = "root user" ] && as user "$LAUNCH" doctor | grep -q '^limit memory *gap'; then
	needs=$(policy needs <<'Y'
version: 1
id: test/needs
level: baseline@1
backends: [local]
limits: {memory: 256MiB}
Y
)
	status_is "user: a limit that the policy needs and the host has not is 1" 1 as user "$LAUNCH" doctor --policy "$needs"
	like "user: and the row says so" "$(row limits.memory)" 'needed'
	status_is "root: who can apply it has no such gap" 0 as root "$LAUNCH" doctor --policy "$needs"
else
	skip "a limit that the policy needs" "needs root, to be a caller who cannot apply it"
fi

# An engine that answers nonsense, and none at all.
python3 - "$TMP/bad.sock" <<'P' &
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
server.listen(8)
server.settimeout(20)
try:
    while True:
        peer = server.accept()[0]
        peer.recv(4096)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")
        peer.close()
except OSError:
    pass
P
server=$!
wait_until 5 test -S "$TMP/bad.sock" || fail "a bad engine listens"
out=$(DOCKER_HOST=unix://$TMP/bad.sock as "${CALLERS%% *}" "$LAUNCH" doctor 2>&1)
like "what is no engine is a gap" "$(row 'engine (DOCKER_HOST)')" 'gap'
kill "$server" 2>/dev/null
wait "$server" 2>/dev/null
out=$(DOCKER_HOST=unix://$TMP/none.sock as "${CALLERS%% *}" "$LAUNCH" doctor 2>&1)
like "a socket that is named and not there is a gap" "$(row 'engine (DOCKER_HOST)')" 'gap .*none.sock'
out=$(as "${CALLERS%% *}" "$LAUNCH" doctor 2>&1)
unlike "one that is not named has no row" "$out" 'DOCKER_HOST'

done_testing
