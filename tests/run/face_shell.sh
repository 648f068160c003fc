#!/bin/bash
# shell: a person's terminal, raw mode and back, window size, job control, exit status.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"

python_files run/face_shell.py

plain=$(policy plain <<'Y'
version: 1
id: test/plain
level: baseline@1
backends: [local]
Y
)

for caller in $CALLERS; do
	PYTHONDONTWRITEBYTECODE=1 conversation "$caller" as "$caller" timeout 200 python3 \
		"$TMP/py/run/face_shell.py" "$caller" "$LAUNCH" "$plain"
	as "$caller" "$LAUNCH" stop term >/dev/null 2>&1
	status_is "$caller: no terminal, no shell (HLU-22)" 125 as "$caller" "$LAUNCH" shell --policy "$plain" </dev/null
	like "$caller: HLU-22 is told" "$out" 'HLU-22'
done

done_testing
