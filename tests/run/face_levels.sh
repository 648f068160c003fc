#!/bin/bash
# Each way to run a command at each level of a policy: what a level takes away, or does not have, must leave every
# face able to begin.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"

python_files run/face_levels.py

# As the launcher lists them, so that none that is added is left out.
levels=$("$LAUNCH" policy show --level none@1 2>&1 | grep 'the levels are' | grep -o '[a-z]*@1')
is "the levels" "${levels//$'\n'/ }" "open@1 hermes@1 baseline@1 restricted@1"

for level in $levels; do
	name=${level%@1}
	file=$(policy "$name" <<Y
version: 1
id: test/$name
level: $level
backends: [local]
process: {user: caller}
env: {set: {LEVEL: "$name"}}
Y
	)
	for caller in $CALLERS; do
		PYTHONDONTWRITEBYTECODE=1 conversation "$caller" as "$caller" timeout 200 python3 \
			"$TMP/py/run/face_levels.py" "$name" "$LAUNCH" "$file"
	done
done

done_testing
