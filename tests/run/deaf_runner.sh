#!/bin/bash
# A runner that is stopped answers nothing: the wall limit and a signal end the run all the same, within
# seconds, and it is recorded as what it was. Beside each the same run with a runner that answers.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

plain=$(policy plain <<'Y'
version: 1
id: test/plain
level: baseline@1
backends: [local]
Y
)
short=$(policy short <<'Y'
version: 1
id: test/short
level: baseline@1
backends: [local]
limits: {wall: 2s}
Y
)

# begin NAME POLICY: $pid, of a run whose result goes to $TMP/NAME.json
begin() {
	touch "$TMP/$1.json"
	chmod 666 "$TMP/$1.json"
	as_exec "$caller" timeout -s KILL 40 "$LAUNCH" run -q -p "$2" --result "$TMP/$1.json" -- \
		sh -c "echo begun; exec sleep 30" >"$TMP/$1.out" 2>&1 &
	pid=$!
	if wait_until 10 grep -qs begun "$TMP/$1.out"; then pass "$caller: $1: it runs"; else fail "$caller: $1: it runs" "$(cat "$TMP/$1.out")"; fi
	launcher=$(pgrep -P "$pid")
}

# stop_runner NAME: the launcher's child that is no janitor
stop_runner() {
	local child state=none
	for child in $(pgrep -P "$launcher"); do
		[ "$(cat "/proc/$child/comm")" != hl-janitor ] || continue
		kill -STOP "$child"
		is_stopped() { grep -q '^State:.T' "/proc/$child/status"; }
		wait_until 5 is_stopped && state=stopped
	done
	is "$caller: $1: the runner is stopped" "$state" stopped
}

# ends NAME HOW STATUS
ends() {
	local status=0 begun=$SECONDS
	wait "$pid" || status=$?
	is "$caller: $1: status" "$status" "$3"
	like "$caller: $1: what it is recorded as" "$(cat "$TMP/$1.json")" "\"how\": ?\"$2\""
	if [ $((SECONDS - begun)) -lt 15 ]; then pass "$caller: $1: within seconds"; else fail "$caller: $1: within seconds"; fi
}

for caller in $CALLERS; do
	begin wall-deaf "$short"
	stop_runner wall-deaf
	ends wall-deaf timed_out 124
	begin wall "$short"
	ends wall timed_out 124
	begin term-deaf "$plain"
	stop_runner term-deaf
	kill -TERM "$launcher"
	ends term-deaf cancelled 130
	begin term "$plain"
	kill -TERM "$launcher"
	ends term signaled 143
done

done_testing
