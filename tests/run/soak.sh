#!/bin/bash
# A short soak of sessions, as root and as an ordinary user; `make soak` is the long one.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"

python_files soak/session.py
plain=$(policy plain <<'Y'
version: 1
id: test/plain
level: baseline@1
backends: [local]
Y
)

for caller in $CALLERS; do
	PYTHONDONTWRITEBYTECODE=1 conversation "$caller" as "$caller" timeout 3600 python3 "$TMP/py/soak/session.py" \
		"$LAUNCH" "$plain" "${SOAK_CALLS:-200}" "${SOAK_SESSIONS:-8}"
done

done_testing
