#!/bin/bash
# The ledger from outside: one pair of records a run, labels, the chain, and that tampering shows.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

good=$(policy good <<'Y'
version: 1
id: test/good
level: baseline@1
backends: [local]
limits: {wall: 1s}
Y
)

for caller in $CALLERS; do
	audit() { as "$caller" "$LAUNCH" audit "$@"; }

	status_is "$caller: verify of nothing is 66 or 2, never ok" 66 audit verify
	as "$caller" "$LAUNCH" --policy "$good" --label ticket=T-1 -- sh -c 'exit 3'
	as "$caller" "$LAUNCH" --policy "$good" --network host -- true 2>/dev/null
	as "$caller" "$LAUNCH" --policy "$good" -- sleep 10 2>/dev/null
	log=$(audit show --format json)
	is "$caller: U130 one start for each run that started" "$(grep -c '"ev":"run.start"' <<<"$log")" 2
	is "$caller: U130 one end for each start" "$(grep -c '"ev":"run.end"' <<<"$log")" 2
	is "$caller: U130 the refused run has its record" "$(grep -c '"ev":"conflict"' <<<"$log")" 1
	like "$caller: the end says how" "$log" '"ev":"run.end".*"how":"exited","code":3'
	like "$caller: the timeout says how" "$log" '"ev":"run.end".*"how":"timed_out"'
	like "$caller: labels are recorded" "$log" 'ticket=T-1'
	like "$caller: the first record opens the log" "$(head -n 1 <<<"$log")" '"seq":0,.*"ev":"log.open"'
	status_is "$caller: verify" 0 audit verify
	like "$caller: verify says ok" "$out" '^ok: [0-9]+ records'
	like "$caller: show is one line a record" "$(audit show)" 'run\.start'
	id=$(sed -n 's/.*"ev":"run.end","run":"\([0-9A-Z]*\)".*"timed_out".*/\1/p' <<<"$log")
	as "$caller" "$LAUNCH" -q --policy "$good" -- true "\"run\":\"$id\"" " $id "
	is "$caller: one run's records, and no other's" "$(audit show --run "$id" | awk '{ print $4, $5 }')" \
		"$(printf '%s '"$id"'\n' policy.load run.start run.sandbox run.end)"
	is "$caller: the same as JSON" "$(audit show --format json --run "$id")" "$(grep "\"ev\":\"[a-z.]*\",\"run\":\"$id\"" <<<"$log")"
	status_is "$caller: a run that is not in the log is not found" 66 audit show --run 01NONE
	like "$caller: and that is told" "$out" "no record of run '01NONE' is in the log \[HLA-09\]"

	segment=$(ls "$TMP/state.$caller"/audit/*/*.jsonl)
	cp "$segment" "$TMP/segment"
	sed -i 's/"code":3/"code":0/' "$segment"
	status_is "$caller: a changed record is tampering" 1 audit verify
	like "$caller: and the place is told" "$out" '^tampered: .*seq [0-9]+'
	sed '3d' "$TMP/segment" >"$segment"
	status_is "$caller: a removed record is tampering" 1 audit verify
	head -n -1 "$TMP/segment" >"$segment"
	audit verify >/dev/null 2>&1
	cut=$?
	if [ "$cut" = 1 ] || [ "$cut" = 2 ]; then pass "$caller: a cut tail is not ok"; else fail "$caller: a cut tail is not ok" "$cut"; fi
	cp "$TMP/segment" "$segment"
	status_is "$caller: the original verifies again (sibling)" 0 audit verify

	for _ in 1 2 3 4 5 6 7 8; do as_exec "$caller" "$LAUNCH" --policy "$good" -- true & done
	wait
	status_is "$caller: eight runs at once keep the chain" 0 audit verify
	is "$caller: and lose no record" "$(audit show --format json | grep -c '"ev":"run.end"')" 11
	is "$caller: files are private" "$(find "$TMP/state.$caller" -perm /077 | wc -l)" 0
done
done_testing
