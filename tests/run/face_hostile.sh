#!/bin/bash
# Peers of a session that do not keep to the rules: deaf, vanished, asking for what cannot be. The
# conversation is face_hostile.py; among others it provokes HLB-05.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"

python_files run/face_hostile.py

plain=$(policy plain <<'Y'
version: 1
id: test/plain
level: baseline@1
backends: [local]
Y
)
large=$(policy large <<'Y'
version: 1
id: test/large
level: baseline@1
backends: [local]
limits: {output: 24MiB}
Y
)

for caller in $CALLERS; do
	PYTHONDONTWRITEBYTECODE=1 conversation "$caller" as "$caller" timeout 300 python3 \
		"$TMP/py/run/face_hostile.py" "$caller" "$LAUNCH" "$plain" "$large" "$TMP/state.$caller"
	log=$(as "$caller" "$LAUNCH" audit show --format json)
	begun=$(grep -c '"ev":"call.start"' <<<"$log")
	is "$caller: each call has its beginning and its end" \
		"$((begun > 0)) $(grep -c '"ev":"call.end"' <<<"$log")" "1 $begun"
	is "$caller: also those that were refused" \
		"$(grep '"ev":"call.end"' <<<"$log" | grep -c '"err":"HLB-05"')" 3
	status_is "$caller: the log is whole" 0 as "$caller" "$LAUNCH" audit verify
done

done_testing
