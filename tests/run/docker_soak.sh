#!/bin/bash
# A short soak of sessions in containers, under kills of launchers and ends of the engine;
# `make soak-docker` is the long one.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"
# shellcheck source=../lib/docker.sh
. "$ROOT/tests/lib/docker.sh"
docker_begin

python_files soak/engine.py
mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"
plain=$(
	docker_policy plain <<Y
level: baseline@1
process: {user: "1000:1000"}
env: {set: {WORDS: "/workspace/words"}}
Y
)
# The last engine may be another than the one that was begun here.
take_engine() {
	[ ! -s "$TMP/work.root/engine.pid" ] || docker_pid=$(cat "$TMP/work.root/engine.pid")
}
trap 'take_engine; docker_down; rm -rf "$TMP"' EXIT

PYTHONDONTWRITEBYTECODE=1 conversation "the soak" as root timeout 5400 python3 "$TMP/py/soak/engine.py" \
	"$LAUNCH" "$plain" "$docker_pid" "${SOAK_CALLS:-60}" "${SOAK_SESSIONS:-3}" "${SOAK_RESTARTS:-2}"
status_is "the log is whole" 0 as root "$LAUNCH" audit verify
done_testing
