#!/bin/bash
# Named sessions: one sandbox, several launchers; who may attach; what is left when a keeper is killed.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/session.sh
. "$ROOT/tests/lib/session.sh"

plain=$(policy plain <<'Y'
version: 1
id: test/plain
level: baseline@1
backends: [local]
limits: {pids: 200}
Y
)
token=$(policy token <<'Y'
version: 1
id: test/token
level: baseline@1
backends: [local]
env: {pass: [GITLAB_TOKEN]}
Y
)
other=$(policy other <<'Y'
version: 1
id: test/other
level: baseline@1
backends: [local]
limits: {pids: 100}
Y
)

names() {
	as "$caller" "$LAUNCH" ps | awk '{ print $1, $2 }'
}

# What a connection to a keeper is answered.
greet=$(
	cat <<'P'
import socket, sys
peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1])
peer.settimeout(5)
peer.sendall(b'{"hermes-launch":"0","protocol":"control"}\n')
print("answer:", peer.recv(100))
P
)

not_running() {
	! pgrep -fx "$1" >/dev/null
}

gone() {
	! kill -0 "$1" 2>/dev/null
}

no_groups() {
	[ -z "$(find /sys/fs/cgroup -type d -path '*/hermes-launch/*' -newer "$TMP/before" 2>/dev/null)" ]
}

for caller in $CALLERS; do
	run() { as "$caller" timeout 60 "$LAUNCH" run -q --policy "$plain" "$@"; }
	as "$caller" true
	touch "$TMP/before"

	# One sandbox, one state, many launchers.
	status_is "$caller: no session yet (HLU-24)" 66 as "$caller" "$LAUNCH" stop one
	like "$caller: HLU-24 is told" "$out" 'HLU-24'
	is "$caller: ps lists none" "$(names)" ""
	status_is "$caller: the first one makes it" 0 run --name one -c 'cd /tmp; export KEPT=7; echo made >/tmp/mark'
	status_is "$caller: the next one finds state and files" 5 run --name one -c 'pwd; echo $KEPT; cat /tmp/mark; exit 5'
	is "$caller: as they were left" "$out" $'/tmp\n7\nmade'
	out=$(run --name one --label ticket=L-77 -c true 2>&1)
	like "$caller: a label comes too late for one that has begun" "$out" "label is recorded where a session begins, and 'one' has begun"
	is "$caller: and a call without one says nothing (sibling)" "$(run --name one -c true 2>&1)" ''
	is "$caller: ps" "$(names)" "one lives"
	id=$(as "$caller" "$LAUNCH" ps --format json | sed -n 's/.*"run":"\([0-9A-Z]*\)".*/\1/p')
	like "$caller: ps tells by what the log has it" "$(as "$caller" "$LAUNCH" audit show --run "$id")" 'session\.open .* name=one'
	is "$caller: argv form" "$(run --name one -- printf '%s|' 'a b' '$x')" 'a b|$x|'
	is "$caller: argv, byte for byte" "$(run --name one -e "V=$(printf '\376')" -- sh -c 'printf %s "$1$V"' - "$(printf 'a\377')" | od -An -tx1)" " 61 ff fe"
	is "$caller: stdin and stdout, byte for byte" "$(head -c 300000 /dev/urandom | tee "$TMP/bytes.$caller" | run --name one -- cat | cksum)" "$(cksum <"$TMP/bytes.$caller")"
	is "$caller: stderr apart" "$(run --name one -c 'echo out; echo err >&2' 2>/dev/null)" "out"
	status_is "$caller: program not found (HLB-04)" 127 run --name one -- no-such-program
	status_is "$caller: U67 timeout" 124 run --name one --timeout 1s -c 'setsid sleep 71 & sleep 71'
	wait_until 5 not_running 'sleep 71'
	is "$caller: U67 nothing of it is left" $? 0
	as "$caller" timeout 20 "$LAUNCH" run -q --policy "$plain" --name one --result "$TMP/work.$caller/result" -c 'kill -9 $$'
	is "$caller: status of a signal" $? 137
	like "$caller: --result of a session's call" "$(cat "$TMP/work.$caller/result")" '"how":"signaled","stage":"command","status":137'
	like "$caller: with the limits of its sandbox" "$(cat "$TMP/work.$caller/result")" '"degraded":\[\],"limits_applied":\[[^]]*"limits.pids"'
	is "$caller: --env of one call" "$(run --name one -e EXTRA=x -c 'echo $EXTRA'; run --name one -c 'echo ${EXTRA-none}')" $'x\nnone'
	status_is "$caller: a protected name is refused at this door too (HLC-05)" 125 run --name one -e OPENAI_API_KEY -c true
	{ echo '{"jsonrpc":"2.0","id":1,"method":"exec","params":{"command":"echo ${KEPT-none}"}}'; sleep 1; } |
		as "$caller" timeout 20 "$LAUNCH" session -q --policy "$plain" --name one >"$TMP/rpc.out"
	like "$caller: whoever attaches has a state of its own" "$(cat "$TMP/rpc.out")" '"stdout":"none'

	# The answers come before the connection goes, also those that are longer than a socket holds.
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"exec","params":{"command":"sleep 0.2; head -c 900000 /dev/zero | tr \\\\0 x"}}' \
		'{"jsonrpc":"2.0","id":2,"method":"close","params":{"wait":true}}' >"$TMP/close.in"
	as "$caller" timeout 20 "$LAUNCH" session -q --policy "$plain" --name one <"$TMP/close.in" | { sleep 1; cat; } >"$TMP/close.out"
	like "$caller: close with wait: answered first" "$(head -n 1 "$TMP/close.out")" '"id":2,"result":\{\}'
	like "$caller: and then what it waited for, whole" "$(sed -n 2p "$TMP/close.out" | cut -c 1-120)" '"id":1,"result":\{"how":"exited".*"out_bytes":900000'
	like "$caller: to its end" "$(tail -c 40 "$TMP/close.out")" '"error":null\}\}$'
	echo '{"jsonrpc":"2.0","id":1,"method":"exec","params":{"command":"sleep 72"}}' |
		as "$caller" timeout 20 "$LAUNCH" session -q --policy "$plain" --name one >"$TMP/close.out"
	like "$caller: the end of standard input: told as cancelled" "$(cat "$TMP/close.out")" '"id":1,"result":\{"how":"cancelled"'

	# Who may attach.
	status_is "$caller: another policy is refused (HLU-23)" 125 as "$caller" "$LAUNCH" run -q --policy "$other" --name one -c true
	like "$caller: HLU-23 is told" "$out" 'HLU-23'
	mkdir -p "$TMP/work.$caller/sub"
	[ "$caller" != user ] || chown $NOBODY:$NOBODY "$TMP/work.$caller/sub"
	status_is "$caller: from another directory it would be another sandbox" 125 \
		as "$caller" sh -c 'cd sub && exec "$@"' - "$LAUNCH" run -q --policy "$plain" --name one -c true
	like "$caller: and the right one is named" "$out" "work.$caller'"
	for bad in '' '../x' '.x' 'a/b' '-x' "$(printf '%065d' 0)"; do
		status_is "$caller: '$bad' is no name (HLU-21)" 125 run --name="$bad" -c true
		like "$caller: HLU-21 is told" "$out" 'HLU-21'
	done
	# Root at the user's keeper, and the user at root's: the one may connect, the other may not even that.
	as_other=()
	[ "$caller" = user ] || as_other=(setpriv "--reuid=$NOBODY" "--regid=$NOBODY" --clear-groups)
	out=$("${as_other[@]}" timeout 20 python3 - "$TMP/state.$caller/sessions/one/sock" <<<"$greet" 2>&1)
	if [ "$caller" = self ]; then
		skip "$caller: another uid gets no answer" "only root can be another user"
	else
		like "$caller: another uid, root even, gets no answer" "$out" \
			"answer: b''|reset|Broken pipe|Permission denied"
	fi
	like "$caller: its own does" \
		"$(as "$caller" timeout 20 python3 - "$TMP/state.$caller/sessions/one/sock" <<<"$greet" 2>&1)" \
		'answer: b.\{"hermes-launch":'
	(exec 9>"$TMP/lock.$caller"; flock 9; run --name held -c true)
	flock -n "$TMP/lock.$caller" true
	is "$caller: U116 a lock of the caller's is not the keeper's" $? 0
	run --name held2 --result fd:8 -c true 8>&1 | timeout 10 cat >/dev/null
	is "$caller: U116 nor is the end of a pipe" "${PIPESTATUS[1]}" 0
	as "$caller" timeout 20 "$LAUNCH" stop held >/dev/null
	as "$caller" timeout 20 "$LAUNCH" stop held2 >/dev/null
	is "$caller: its place is the caller's alone" "$(stat -c %a "$TMP/state.$caller/sessions/one")" 700
	is "$caller: its socket too" "$(stat -c %a "$TMP/state.$caller/sessions/one/sock")" 600

	# A value that the policy passes is in the calls, and nowhere else.
	for _ in 1 2 3; do
		GITLAB_TOKEN=canary-S3CRET-777 as "$caller" timeout 60 "$LAUNCH" run -q --policy "$token" --name token \
			-c 'echo "$GITLAB_TOKEN"; export N=$((N + 1))'
	done >"$TMP/token.out"
	is "$caller: U17 the value is in each call" "$(sort "$TMP/token.out" | uniq -c | tr -s ' ')" " 3 canary-S3CRET-777"
	is "$caller: U17 and in no file of the state" "$(grep -rl 'S3CRET-777' "$TMP/state.$caller" | wc -l)" 0
	out=$(as "$caller" timeout 60 "$LAUNCH" run -q --policy "$token" --name token -c 'grep -rl "S3CRET-[7]77" /tmp /run /var/tmp ~ 2>/dev/null; echo $N')
	is "$caller: U17 nor in one of the sandbox" "$out" 3
	is "$caller: U20 nor in an argument of any process" "$(grep -lz 'canary-S3CRET-[7]77' /proc/[0-9]*/cmdline 2>/dev/null | wc -l)" 0
	is "$caller: U17 files of the state are the caller's alone" "$(find "$TMP/state.$caller" -type f -perm /077 | wc -l)" 0
	if [ "$caller" != root ]; then
		out=$(as "$caller" sh -c 'cat "/proc/$1/environ"' - "$(keeper_pid "$caller" token)" 2>&1)
		like "$caller: U02 the keeper's environment cannot be read by its own user" "$out" 'Permission denied'
	fi
	as "$caller" timeout 20 "$LAUNCH" stop token >/dev/null

	# Nor is what the first caller has typed in the keeper that stays.
	GITLAB_TOKEN='' as "$caller" timeout 60 "$LAUNCH" run -q --policy "$token" --name typed --env GITLAB_TOKEN=canary-typed-777 -c ': canary-text-777'
	is "$caller: U20 what the first caller typed is in no argument of any process" \
		"$(grep -lzE 'canary-(typed|text)-[7]77' /proc/[0-9]*/cmdline 2>/dev/null | wc -l)" 0
	is "$caller: U20 the keeper shows the name" "$(tr -d '\0' <"/proc/$(keeper_pid "$caller" typed)/cmdline")" \
		'hermes-launch: session typed'
	as "$caller" timeout 20 "$LAUNCH" stop typed >/dev/null

	# Two at the same time make one.
	run --name two -c 'echo $$' >"$TMP/a" & first=$!
	run --name two -c 'echo $$' >"$TMP/b" & second=$!
	wait $first; status=$?
	wait $second; status=$((status + $?))
	is "$caller: two that make it at once both get in" $status 0
	is "$caller: into one sandbox" "$(names | grep -c two)" 1

	# Ends.
	status_is "$caller: stop" 0 as "$caller" timeout 30 "$LAUNCH" stop two
	is "$caller: ps after stop" "$(names)" "one lives"
	status_is "$caller: a short idle time" 0 run --name brief --idle 1s -c 'true'
	wait_until 10 eval '! names | grep -q brief'
	is "$caller: an idle session ends by itself" $? 0
	run --name one --result "$TMP/work.$caller/lost" -c 'sleep 72' & waiting=$!
	wait_until 5 pgrep -fx 'sleep 72' >/dev/null || fail "$caller: it began"
	pid=$(keeper_pid "$caller" one)
	kill -9 "$pid"
	wait $waiting
	is "$caller: kill -9 of the keeper is told to whoever waits" $? 125
	like "$caller: as what may have begun" "$(cat "$TMP/work.$caller/lost")" '"how":"backend_error","stage":"backend".*HLB-07'
	wait_until 5 not_running 'sleep 72'
	is "$caller: kill -9 of the keeper leaves no process" $? 0
	wait_until 5 no_groups
	is "$caller: and no control group" $? 0
	is "$caller: ps knows that it is dead" "$(names)" "one dead"
	like "$caller: gc removes its place" "$(as "$caller" "$LAUNCH" gc)" 'removed: 1 sessions'
	is "$caller: ps after gc" "$(names)" ""
	status_is "$caller: the name can be used again" 0 run --name one -c 'test ! -e /tmp/mark'
	kill -9 "$(keeper_pid "$caller" one)"
	status_is "$caller: also without gc" 0 run --name one -c true
	status_is "$caller: TERM ends a keeper in order" 0 as "$caller" kill -TERM "$(keeper_pid "$caller" one)"
	wait_until 5 eval '[ -z "$(names)" ]' || fail "$caller: it is not told as alive"
	is "$caller: and nothing is left" "$(find "$TMP/state.$caller/sessions" -mindepth 1)" ""

	# Whoever relays to a session says that it is lost, and that it has ended in order by 0.
	for end in kill stop close; do
		mkfifo "$TMP/in.$caller.$end"
		run --name "$end" -c true
		as "$caller" timeout 60 "$LAUNCH" session --policy "$plain" --name "$end" \
			<"$TMP/in.$caller.$end" >"$TMP/out.$caller.$end" 2>&1 & relay=$!
		exec 7>"$TMP/in.$caller.$end"
		echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' >&7
		wait_until 10 test -s "$TMP/out.$caller.$end" || fail "$caller: it is attached"
		case $end in
		kill) kill -9 "$(keeper_pid "$caller" kill)" ;;
		stop) as "$caller" timeout 30 "$LAUNCH" stop stop ;;
		close) exec 7>&- ;;
		esac
		wait $relay
		is "$caller: session --name after $end" $? "$([ $end = kill ] && echo 69 || echo 0)"
		exec 7>&-
	done
	like "$caller: and a killed keeper is told" "$(cat "$TMP/out.$caller.kill")" 'its keeper was killed \[HLB-07\]'
	as "$caller" timeout 30 "$LAUNCH" stop close
	as "$caller" "$LAUNCH" gc >/dev/null

	# A keeper that is stopped does not answer, and stop ends it all the same.
	run --name mute -c true
	kill -STOP "$(keeper_pid "$caller" mute)"
	if [ "$caller" != root ]; then
		status_is "$caller: a keeper that does not answer (HLU-25)" 125 run --name mute -c true
		like "$caller: HLU-25 is told" "$out" 'HLU-25'
	fi
	status_is "$caller: a keeper that does not answer is killed" 0 as "$caller" timeout 60 "$LAUNCH" stop mute
	is "$caller: and gone" "$(names)" ""
	log=$(as "$caller" "$LAUNCH" audit show --format json)
	like "$caller: the log names the session" "$log" '"ev":"session.open".*"face":"keeper","name":"one"'
	like "$caller: and its calls" "$log" '"ev":"call.start".*"argv":\["bash","-c","cd /tmp; export KEPT=7'
	status_is "$caller: the log is whole" 0 as "$caller" "$LAUNCH" audit verify
done

# What the sandbox goes without is told by each call's result, also to who came later. An ordinary
# caller has no control group here.
soft=$(policy soft <<'Y'
version: 1
id: test/soft
level: open@1
backends: [local]
limits: {memory: 256MiB}
degrade: {allow: [limits.memory]}
Y
)
caller=root
[ "$(id -u)" != 0 ] || caller=user
for who in maker comer; do
	as $caller timeout 30 "$LAUNCH" run -q --policy "$soft" --name soft --result "$TMP/work.$caller/soft" -c true
	like "$caller: a control that is missing is in the $who's result" "$(cat "$TMP/work.$caller/soft")" \
		'"degraded":\["local.isolation","limits.memory"\],"limits_applied":\[\]'
done
as $caller timeout 30 "$LAUNCH" stop soft >/dev/null

# --- gc: what an engine's socket has become is not started
as root mkdir -p "$TMP/state.root/engines"
printf '#!/bin/sh\ntouch %s/started\n' "$TMP" >"$TMP/was-a-socket"
chmod 755 "$TMP/was-a-socket"
printf %s "$TMP/was-a-socket" >"$TMP/state.root/engines/$(printf %s "$TMP/was-a-socket" | sha256sum | cut -d' ' -f1)"
status_is "gc with a remembered engine that is a program now" 0 as root "$LAUNCH" gc
is "does not start it" "$(ls "$TMP/started" 2>/dev/null)" ''
# What is remembered so is asked, where it is a socket.
rm "$TMP/was-a-socket"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$TMP/was-a-socket"
out=$(as root timeout 60 "$LAUNCH" gc 2>&1)
is "a socket in its place is asked (sibling)" $? 69
like "and answers nothing" "$out" "was-a-socket"
rm "$TMP/was-a-socket"
# Nor can one be asked that is not there, and it may keep a container of the name.
out=$(as root timeout 30 "$LAUNCH" stop gone 2>&1)
is "stop with an engine that was used from here and is gone" $? 69
like "says what may be kept" "$out" "was-a-socket.*may keep a container of session 'gone'.*HLB-40"
done_testing
