#!/bin/bash
# The launcher without any other file of ours: it carries the runner, so the native sandbox works, and
# what needs another program says which.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

native=$(policy native <<'Y'
version: 1
id: one/native
level: baseline@1
backends: [local]
Y
)
strict=$(policy strict <<'Y'
version: 1
id: one/strict
level: baseline@1
backends: [local]
local: {isolation: strict}
Y
)
engine=$(policy engine <<'Y'
version: 1
id: one/engine
level: baseline@1
backends: [docker]
image: ['busybox@sha256:0000000000000000000000000000000000000000000000000000000000000000']
Y
)

rm "$TMP/bin/hermes-runner" "$TMP/bin/hl-engine"
for caller in $CALLERS; do
	for file in "$native" "$strict"; do
		status_is "one file, ${file##*/}, $caller: the command's own status" 42 \
			as "$caller" "$LAUNCH" run --policy "$file" -- sh -c 'echo "pid $PPID"; exit 42'
		is "one file, ${file##*/}, $caller: under the runner" "$out" "pid 1"
	done
	status_is "one file, $caller: the runner cannot be written, nor seen by its name" 0 \
		as "$caller" "$LAUNCH" run --policy "$native" -- \
		sh -c '! ls -l /proc/1/exe 2>/dev/null && ! (: >/proc/1/exe) 2>/dev/null'
	status_is "one file, $caller: an engine's helper is missed by name [HLB-59]" 125 \
		as "$caller" "$LAUNCH" run --policy "$engine" -- true
	like "one file, $caller: which one" "$out" "hl-engine.*HLB-59"
	like "one file, $caller: doctor misses no runner" "$(as "$caller" "$LAUNCH" doctor)" '^runner +ok +the one inside'
	status_is "one file, $caller: explain names the runner that it would write" 0 \
		as "$caller" "$LAUNCH" explain --format argv --policy "$engine" -- true
	like "one file, $caller: below the state directory, by digest" "$out" \
		"$TMP/state.$caller/runner/[0-9a-f]{64}"
	if [ -e "$TMP/state.$caller/runner" ]; then
		fail "one file, $caller: explain writes nothing"
	else
		pass "one file, $caller: explain writes nothing"
	fi
done
# the sibling: beside the launcher it is the file that runs
cp "$ROOT/build/hermes-runner" "$TMP/bin/"
chmod 666 "$TMP/bin/hermes-runner"
for caller in $CALLERS; do
	status_is "a runner file that others can write is refused, not passed over, $caller [HLB-22]" 125 \
		as "$caller" "$LAUNCH" run --policy "$native" -- true
	like "the code, $caller" "$out" "HLB-22"
done
done_testing
