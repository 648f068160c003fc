#!/bin/bash
# session: JSON-RPC over a real sandbox, as root and as an ordinary user; and what the log says of it. The
# conversation is face_session.py; among others it provokes HLU-20, HLU-26, HLU-27, HLU-28, HLC-05, HLC-30, HLC-40.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"

python_files run/face_session.py

plain=$(policy plain <<'Y'
version: 1
id: test/plain
level: baseline@1
backends: [local]
env: {set: {FIXED: "fixed-value"}}
process: {umask: "027"}
limits: {output: 4KiB}
Y
)
tight=$(policy tight <<'Y'
version: 1
id: test/tight
level: baseline@1
backends: [local]
limits: {wall: 1s}
Y
)

masked=$(policy masked <<'Y'
version: 1
id: test/masked
level: baseline@1
backends: [local]
process: {umask: "077"}
Y
)

scrub=$(policy scrub <<'Y'
version: 1
id: test/scrub
level: open@1
backends: [local]
Y
)
# Two calls at once of one session: can the second one end what the first one runs?
cat >"$TMP/two.in" <<'J'
{"jsonrpc":"2.0","id":1,"method":"exec","params":{"command":"export KEPT=7; cd /"}}
{"jsonrpc":"2.0","id":2,"method":"exec","params":{"command":"setsid sleep 86421 & exec sleep 86421","timeout":"4s"}}
{"jsonrpc":"2.0","id":3,"method":"exec","params":{"command":"sleep 1; echo $KEPT $PWD; pkill -fx 'sleep 86421'; echo $?"}}
J

# Signal scopes are of ABI 6, Linux 6.12: by the kernel's own word (landlock_create_ruleset(2), VERSION).
abi=$(python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))')

for caller in $CALLERS; do
	# Without no_new_privs, which is scrub, the kernel gives a call no signal scope.
	for policy in "$scrub" "$plain"; do
		{ sed -n 1p "$TMP/two.in"; sleep 1; sed 1d "$TMP/two.in"; sleep 5; } |
			as "$caller" timeout 30 "$LAUNCH" session -q --policy "$policy" >"$TMP/two.out" 2>/dev/null
		kind=$(basename "$policy" .yaml)
		third=$(grep '"id":3,' "$TMP/two.out")
		like "$caller: $kind: a call has the state of the one before" "$third" '"stdout":"7 /.u000a[01].u000a"'
		if [ "$kind" = scrub ] || [ "$abi" -lt 6 ]; then
			like "$caller: $kind: and can end another call's processes (sibling)" "$third" 'u000a0.u000a"'
		else
			like "$caller: $kind: and cannot end another call's processes" "$third" 'u000a1.u000a"'
			like "$caller: $kind: which its timeout does" "$(grep '"id":2,' "$TMP/two.out")" '"how":"timed_out"'
		fi
		if pgrep -fx "sleep 86421" >/dev/null; then fail "$caller: $kind: nothing is left"; else pass "$caller: $kind: nothing is left"; fi
	done
	out=$(as "$caller" timeout 20 "$LAUNCH" session -q --policy "$masked" \
		<<<'{"jsonrpc":"2.0","id":1,"method":"exec","params":{"command":"umask; umask 000"}}
{"jsonrpc":"2.0","id":2,"method":"exec","params":{"command":"umask"}}
{"jsonrpc":"2.0","id":3,"method":"close","params":{"wait":true}}')
	is "$caller: process.umask holds in each call of a session" "$(grep -c '"stdout":"0077' <<<"$out")" 2
	PYTHONDONTWRITEBYTECODE=1 conversation "$caller" as "$caller" timeout 300 python3 \
		"$TMP/py/run/face_session.py" "$caller" "$LAUNCH" "$plain" "$tight"
	# Sessions whose sandbox cannot be started, for want of a descriptor here or there.
	for files in $(seq 12 23); do
		as "$caller" prlimit --nofile="$files" "$LAUNCH" session -q --policy "$plain" </dev/null >/dev/null 2>&1
	done
	log=$(as "$caller" "$LAUNCH" audit show --format json)
	like "$caller: the record of one that could not be started says so" "$log" '"ev":"session.close".*"err":"HLB-24"'
	is "$caller: each session has its beginning and its end" \
		"$(grep -c '"ev":"session.open"' <<<"$log")" "$(grep -c '"ev":"session.close"' <<<"$log")"
	is "$caller: each call has its beginning and its end" \
		"$(grep -c '"ev":"call.start"' <<<"$log")" "$(grep -c '"ev":"call.end"' <<<"$log")"
	like "$caller: a refused variable is in the log by name" "$log" '"ev":"conflict".*"asked":"env OPENAI_API_KEY='
	unlike "$caller: U17 U130 and never by value" "$(cat "$TMP/state.$caller"/audit/*/*.jsonl)" 's3cret-value-77'
	status_is "$caller: the log is whole" 0 as "$caller" "$LAUNCH" audit verify
done

mkdir -p "$TMP/spill.state"
: >"$TMP/spill.state/output"
chmod 700 "$TMP/spill.state"
status_is "files where their directory cannot be are refused (HLU-28)" 74 env -C "$TMP/work" "$LAUNCH" session --spill \
	--state-dir "$TMP/spill.state" --policy "$plain" </dev/null
like "and the message says so" "$out" 'HLU-28'
rm "$TMP/spill.state/output"
mkdir -m 750 "$TMP/spill.state/output"
status_is "so is a directory that others can read (HLU-28)" 74 env -C "$TMP/work" "$LAUNCH" session --spill \
	--state-dir "$TMP/spill.state" --policy "$plain" </dev/null
like "and the message says which" "$out" 'spill.state/output.*open to others.*HLU-28'
chmod 700 "$TMP/spill.state/output"
status_is "the caller's own is taken" 0 env -C "$TMP/work" "$LAUNCH" session --spill \
	--state-dir "$TMP/spill.state" --policy "$plain" </dev/null

status_is "session takes no command (HLU-01)" 64 as "${CALLERS%% *}" "$LAUNCH" session --policy "$plain" -- true
like "and says so" "$out" 'HLU-01'
status_is "a policy that is refused has its own exit status" 66 as "${CALLERS%% *}" "$LAUNCH" session --policy "$TMP/none.yaml"

done_testing
