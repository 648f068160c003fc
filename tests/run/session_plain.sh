#!/bin/bash
# Commands that cannot change what is kept go a shorter way: with the same result as by the long one. The
# comparison is session_plain.py.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"

python_files run/session_plain.py

base=$(policy base <<'Y'
version: 1
id: test/base
level: baseline@1
backends: [local]
Y
)

for caller in $CALLERS; do
	PYTHONDONTWRITEBYTECODE=1 conversation "$caller" as "$caller" timeout 200 python3 \
		"$TMP/py/run/session_plain.py" "$caller" "$LAUNCH" "$base"
done
done_testing
