#!/bin/bash
# The escape suite: every attempt of attack.c inside the sandbox, at each level, started by each kind of
# caller, against expected.txt; then the siblings, in which the control is away and the same attempt
# works.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

EXPECTED=$ROOT/tests/attack/expected.txt
TAG=t$$

# Static: it must run in any root, also in one without libraries.
ATTACK=$TMP/bin/attack
make -C "$ROOT" -s build/kernel-headers/.done >/dev/null
if ! "${MUSL_CC:-musl-gcc}" -static -std=gnu17 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -I"$ROOT" \
	-isystem "$ROOT/build/kernel-headers" -o "$ATTACK" "$ROOT"/tests/attack/*.c; then
	fail "the attempts are built"
	done_testing
	exit 1
fi

# ids SIBLING: the attempts whose refusal that sibling proves
ids() {
	awk -v kind="$1" '!/^#/ && $4 == kind { print $1 }' "$EXPECTED"
}

# judge NAME COLUMN ANSWERS: "id answer" lines against a column of the table. One awk for all of it;
# an attempt without a row would be an attempt without a judge, and is "none".
judge() {
	local id got want verdict
	while read -r id got want verdict; do
		if [ "$verdict" = right ]; then
			pass "$1: $id $got"
		else
			fail "$1: $id" "got  $got" "want $want"
		fi
	done < <(awk -v column="$2" '
		FNR == NR { if ($1 !~ /^#/ && NF) { want[$1] = $column; order[++n] = $1 }; next }
		{ got[$1] = $2 }
		END {
			for (i = 1; i <= n; i++) {
				id = order[i]
				answer = id in got ? got[id] : "nothing"
				print id, answer, want[id], answer ~ "^(" want[id] ")$" ? "right" : "wrong"
				delete got[id]
			}
			for (id in got)
				print id, got[id], "none", "wrong"
		}' "$EXPECTED" - <<<"$3")
}

# must_work NAME KIND ANSWERS: the siblings of that kind are all ALLOWED
must_work() {
	local id got
	for id in $(ids "$2"); do
		got=$(sed -n "s/^$id //p" <<<"$3")
		is "$1: $id works" "$got" ALLOWED
	done
}

# ---------------------------------------------------------------------------------------------------
# What is outside, for the attempts to look for
mkfifo "$TMP/plant"
"$ATTACK" plant "$TAG" <"$TMP/plant" >"$TMP/planted" &
PLANT_PID=$!
exec 9>"$TMP/plant"
wait_until 10 test -s "$TMP/planted" || fail "something is planted"
read -r PORT KEY PLANTED <"$TMP/planted"
planted=("/tmp/hl-attack-$TAG" "/dev/shm/hl-attack-$TAG" "/run/hl-attack-$TAG"
	"/var/lib/hl-attack-$TAG" "/root/.hl-attack-$TAG")
node=/dev/hl-attack-$TAG
cleanup() {
	rm -f "${planted[@]}" "$node"
	exec 9>&-
	wait "$PLANT_PID"
	rm -rf "$TMP"
}
trap cleanup EXIT
for file in "${planted[@]}"; do
	echo canary >"$file" 2>/dev/null
done
chmod 600 "/var/lib/hl-attack-$TAG" 2>/dev/null

has_node=false
mknod -m 666 "$node" c 10 200 2>/dev/null && (exec 3<>"$node") 2>/dev/null && has_node=true

prepare() {
	as "$1" true
	local dir=$TMP/work.$1
	mkdir -p "$dir/.hermes" "$dir/secret" "$dir/.git/hooks"
	echo canary | tee "$dir/.hermes/policy.yaml" "$dir/secret/key" "$dir/.git/config" \
		"$dir/.git/hooks/pre-commit" >/dev/null
	ln -sfn "/tmp/hl-attack-$TAG" "$dir/link-out"
	cp "$ATTACK" "$dir/attack"
	[ "$1" != user ] || chown -R -h $NOBODY:$NOBODY "$dir"
	# A root caller's command is another user: it may write where that one may.
	[ "$1" != root ] || chmod -R a+rwX "$dir"
}

# level_policy NAME ISOLATION SECCOMP [PIDS FILES SHM TMP VAR-TMP-EXEC PROTECT]; without a filter it starts from
# the level that bounds nothing, since a policy cannot loosen what its own level closes.
level_policy() {
	local level=baseline@1
	[ "$3" != none ] || level=open@1
	policy "$1" <<Y
version: 1
id: attack/$1
level: $level
backends: [local]
process: {seccomp: {profile: $3}}
limits: {pids: ${4:-100}, files: ${5:-128}, shm: ${6:-16MiB}}
local: {isolation: $2}
env: {pass: [LANG]}
fs:
  deny: ["$TMP/*/secret"]
  protect: ${9:-[.git/hooks, .git/config]}
  workdir: {access: rw}
  tmpfs:
    - {dst: /tmp, size: ${7:-64MiB}, exec: true}
    - {dst: /var/tmp, size: 16MiB, exec: ${8:-false}}
    - {dst: /run, size: 16MiB, exec: false}
Y
}

# The variables by which a program runs something else first, and one that is secret.
leaks=(SECRET_TOKEN=canary LD_PRELOAD='' BASH_ENV=/x ENV=/x LD_AUDIT='' GIT_SSH_COMMAND=/x NODE_OPTIONS=x
	PERL5OPT=x PROMPT_COMMAND=x PYTHONSTARTUP=/x)

# inside CALLER POLICY: with a directory, a socket, a namespace and variables to leak
inside() {
	(
		exec 8<>"/dev/tcp/127.0.0.1/$PORT"
		as "$1" env "${leaks[@]}" "$ATTACK" keyed "$TAG" "$LAUNCH" --policy "$2" -- \
			./attack inside "$TAG" "$PORT" "$KEY" "$PLANTED" 7</ 9>&- 10</proc/self/ns/mnt \
			2>"$TMP/err" </dev/null
	)
}

# sibling CALLER POLICY: a second sandbox of the same user, until sibling_end
sibling() {
	mkfifo "$TMP/sibling"
	as "$1" "$LAUNCH" --policy "$2" -- ./attack sibling "$TAG" <"$TMP/sibling" >"$TMP/sibling.$1" 2>&1 9>&- &
	SIBLING_PID=$!
	exec 6>"$TMP/sibling"
	wait_until 10 grep -qsx ready "$TMP/sibling.$1" || fail "$1: a sibling runs" "$(cat "$TMP/sibling.$1")"
}
sibling_end() {
	exec 6>&-
	wait "$SIBLING_PID"
	rm -f "$TMP/sibling"
}

confined=$(level_policy confined confined default)
strict=$(level_policy strict strict strict)
open=$(level_policy open confined none)
loose=$(level_policy loose confined default 2000 4096 256MiB 256MiB true '[]')
device=$(sed "s,^id:.*,id: attack/device,; s,^fs:,&\n  devices: [$node]," "$confined" | policy device)
scrub=$(policy scrub <<Y
version: 1
id: attack/scrub
level: open@1
backends: [local]
Y
)

for caller in $CALLERS; do
	prepare "$caller"
	sibling "$caller" "$confined"
	answers=$(inside "$caller" "$confined")
	is "$caller confined: the attempts ran to their end" $? 0
	is "$caller confined: nothing was said" "$(cat "$TMP/err")" ""
	judge "$caller confined" 2 "$answers"
	answers=$(inside "$caller" "$strict")
	is "$caller strict: the attempts ran to their end" $? 0
	judge "$caller strict" 3 "$answers"
	answers=$(inside "$caller" "$open")
	must_work "$caller without the filter" open "$answers"
	is "$caller without the filter: caller_key" "$(sed -n 's/^caller_key //p' <<<"$answers")" ENOKEY
	must_work "$caller with the limit given away" loose "$(inside "$caller" "$loose")"

	if $has_node; then
		must_work "$caller with the device in the policy" device "$(inside "$caller" "$device")"
	else
		skip "$caller with the device in the policy" "no node of it can be made and opened here"
	fi

	# Without a boundary nothing of this is stopped, and that is what is promised: whatever the
	# command's user may do on the host, it may do here.
	mapfile -t free < <(awk '!/^#/ && $5 == "scrub" { print $1 }' "$EXPECTED")
	answers=$(SECRET_TOKEN=canary as "$caller" "$ATTACK" keyed "$TAG" "$LAUNCH" --policy "$scrub" -- \
		./attack outside "$TAG" "$PORT" "$KEY" "$PLANTED" "${free[@]}" 9>&- 2>"$TMP/err" </dev/null)
	for id in "${free[@]}"; do
		is "$caller scrub: $id is not stopped" "$(sed -n "s/^$id //p" <<<"$answers")" ALLOWED
	done
	sibling_end

	# A daemon that left its session is gone when the launcher returns.
	as "$caller" "$LAUNCH" --policy "$confined" -- sh -c 'setsid sh -c "setsid sleep 86399 &" & sleep 0.2'
	is "$caller confined: nothing survives" "$(pgrep -fx 'sleep 86399')" ""
done

# Outside, as root, everything that is marked so works: the attempts are real.
if [ "$(id -u)" = 0 ]; then
	mapfile -t outside < <(ids out)
	mkfifo "$TMP/sibling"
	"$ATTACK" sibling "$TAG" <"$TMP/sibling" >"$TMP/sibling.outside" 9>&- &
	SIBLING_PID=$!
	exec 6>"$TMP/sibling"
	wait_until 10 grep -qsx ready "$TMP/sibling.outside" || fail "a sibling runs outside"
	answers=$(cd "$TMP/work.root" && env "${leaks[@]}" "$ATTACK" keyed "$TAG" "$ATTACK" outside "$TAG" "$PORT" "$KEY" "$PLANTED" \
		"${outside[@]}" 7</)
	sibling_end
	must_work "outside as root" out "$answers"
else
	skip "outside as root" "this run is not root"
fi

# A value that passes is in no process' arguments, anywhere on this host, while the command runs.
token=$(policy token <<Y
version: 1
id: attack/token
level: baseline@1
backends: [local]
env: {pass: [PASSED_TOKEN]}
Y
)
echo "value-$TAG" >"$TMP/value" # not in the arguments of the search itself
in_arguments() {
	grep -lszf "$TMP/value" /proc/[0-9]*/cmdline | wc -l
}
for caller in $CALLERS; do
	PASSED_TOKEN=value-$TAG as "$caller" "$LAUNCH" --policy "$token" -- \
		sh -c 'test "$PASSED_TOKEN" && echo ready && sleep 86398' >"$TMP/ready.$caller" 2>/dev/null 9>&- &
	pid=$!
	wait_until 10 test -s "$TMP/ready.$caller"
	is "$caller: the value is there" "$(cat "$TMP/ready.$caller")" ready
	is "$caller: a value that passes is in nobody's arguments" "$(in_arguments)" 0
	pkill -TERM -P $pid -f hermes-launch || kill $pid
	wait $pid 2>/dev/null
done
# The same value where it would be found.
sh -c 'sleep 1; :' "value-$TAG" &
sleep 0.2
is "its sibling is found" "$(in_arguments)" 1
wait $!

# The launcher's own files are what they were.
is "the runner is unchanged" "$(cmp "$ROOT/build/hermes-runner" "$TMP/bin/hermes-runner" 2>&1)" ""
done_testing
