#!/bin/bash
# Cases that users of such programs met, on a real engine: what a reused container kept, whose files are
# made, a command that is run twice, an engine that goes and comes back under a session.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
docker_begin

base=$(docker_policy base <<'Y'
level: baseline@1
process: {user: "1000:1000"}
Y
)
work=$TMP/work.root
mkdir -p "$work"
chmod 777 "$work"
run() { as root timeout 120 "$LAUNCH" -q --policy "$base" "$@"; }

# --- U65: words of an engine's in a command's output mean nothing
status_is "U65 a command that speaks like an engine" 1 \
	run -- sh -c 'echo x >>/workspace/once; echo "Error: No such container: is not running"; exit 1'
is "U65 is run once" "$(cat "$work/once")" x
status_is "U65 in a session" 1 \
	run --name words -c 'echo x >>/workspace/twice; echo "No such container" >&2; exit 1'
is "U65 is run once there" "$(cat "$work/twice")" x
as root "$LAUNCH" stop words

# --- U58: the network of a container is that of its own policy
host=$(docker_policy host <<'Y'
level: open@1
network: {mode: host}
process: {user: "1000:1000"}
Y
)
names='cut -d: -f1 -s /proc/net/dev | tr -d " " | sort | tr "\n" " "'
open=$(as root "$LAUNCH" -q --policy "$host" -- sh -c "$names")
here=$(cut -d: -f1 -s /proc/net/dev | tr -d ' ' | sort | tr '\n' ' ')
is "U58 a run with the host's network (sibling)" "$open" "$here"
is "U58 the next one has none" "$(run -- sh -c "$names")" "lo "

# --- U53: what is made in a mount belongs to the caller
chmod 666 "$docker_socket"
caller=$(sed 's|user: "1000:1000"|user: caller|' "$base" | policy caller)
status_is "U53 an ordinary caller" 0 as user "$LAUNCH" -q --policy "$caller" -- touch /workspace/mine
is "U53 owns what the command made" "$(stat -c %u:%g "$TMP/work.user/mine")" "$NOBODY:$NOBODY"
chmod 660 "$docker_socket"

# --- an engine that ends under a session, and is there again
has_begun() { [ -s "$work/begun" ]; }
status_is "a session" 0 run --name stays -c 'echo a >>/workspace/n'
run --name stays -c 'echo b >>/workspace/n; echo x >/workspace/begun; sleep 60' >"$TMP/out" 2>&1 &
call=$!
wait_until 30 has_begun || fail "the call began"
kill -9 "$docker_pid"
wait "$call"
is "an engine that ends under a call is the backend's fault" "$?" 125
like "and told" "$(cat "$TMP/out")" 'HLB-(54|07)'
status_is "without an engine the next call is refused" 125 run --name stays -c 'echo c >>/workspace/n'
like "by its own code" "$out" 'HLB-(40|42)'
docker_down
docker_up "$docker_dir" || fail "the engine comes back"
status_is "with the engine the session is a new one" 0 run --name stays -c 'echo d >>/workspace/n'
is "no command was run twice, none that was refused was run" "$(tr '\n' ' ' <"$work/n")" 'a b d '
as root timeout 60 "$LAUNCH" stop stays
as root timeout 60 "$LAUNCH" gc >/dev/null
is "nothing is left" "$(docker_ours)" ''
done_testing
