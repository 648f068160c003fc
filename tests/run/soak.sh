#!/bin/bash
# A short soak of sessions, as root and as an ordinary user; `make soak` is the long one.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

mkdir -p "$TMP/py/soak" "$TMP/py/lib"
cp "$ROOT/tests/soak/session.py" "$TMP/py/soak/"
cp "$ROOT/tests/lib/session.py" "$TMP/py/lib/"
chmod -R a+rX "$TMP/py"
plain=$(policy plain <<'Y'
version: 1
id: test/plain
level: baseline@1
backends: [local]
Y
)

for caller in $CALLERS; do
	as "$caller" true
	while IFS= read -r line; do
		case $line in
		'ok - '*) pass "$caller: ${line#ok - }" ;;
		'not ok - '*) fail "$caller: ${line#not ok - }" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done < <(PYTHONDONTWRITEBYTECODE=1 as "$caller" timeout 3600 python3 "$TMP/py/soak/session.py" "$LAUNCH" "$plain" \
		"${SOAK_CALLS:-200}" "${SOAK_SESSIONS:-8}" 2>&1)
	is "$caller: the soak came to its end" "$(((tap_count % 8) == 7))" 1
done

done_testing
