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
wait_until 10 test -s "$TMP/planted" || echo "nothing was planted"
read -r PORT KEY <"$TMP/planted"
planted=("/tmp/hl-attack-$TAG" "/dev/shm/hl-attack-$TAG" "/run/hl-attack-$TAG"
	"/var/lib/hl-attack-$TAG" "/root/.hl-attack-$TAG")
cleanup() {
	rm -f "${planted[@]}"
	exec 9>&-
	wait "$PLANT_PID"
	rm -rf "$TMP"
}
trap cleanup EXIT
for file in "${planted[@]}"; do
	echo canary >"$file" 2>/dev/null
done
chmod 600 "/var/lib/hl-attack-$TAG" 2>/dev/null

prepare() {
	as "$1" true
	local dir=$TMP/work.$1
	mkdir -p "$dir/.hermes" "$dir/secret"
	echo canary | tee "$dir/.hermes/policy.yaml" "$dir/secret/key" >/dev/null
	ln -sfn "/tmp/hl-attack-$TAG" "$dir/link-out"
	cp "$ATTACK" "$dir/attack"
	[ "$1" != user ] || chown -R -h $NOBODY:$NOBODY "$dir"
	# A root caller's command is another user: it may write where that one may.
	[ "$1" != root ] || chmod -R a+rwX "$dir"
}

# level_policy NAME ISOLATION SECCOMP [PIDS FILES SHM TMP VAR-TMP-EXEC]; without a filter it starts from
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
  workdir: {access: rw}
  tmpfs:
    - {dst: /tmp, size: ${7:-64MiB}, exec: true}
    - {dst: /var/tmp, size: 16MiB, exec: ${8:-false}}
    - {dst: /run, size: 16MiB, exec: false}
Y
}

# inside CALLER POLICY: with a descriptor, a secret and a loader variable to leak
inside() {
	SECRET_TOKEN=canary LD_PRELOAD='' BASH_ENV=/x as "$1" "$LAUNCH" --policy "$2" -- \
		./attack inside "$TAG" "$PORT" "$KEY" 7</ 9>&- 2>"$TMP/err" </dev/null
}

confined=$(level_policy confined confined default)
strict=$(level_policy strict strict strict)
open=$(level_policy open confined none)
loose=$(level_policy loose confined default 2000 4096 256MiB 256MiB true)

for caller in $CALLERS; do
	prepare "$caller"
	answers=$(inside "$caller" "$confined")
	is "$caller confined: the attempts ran to their end" $? 0
	is "$caller confined: nothing was said" "$(cat "$TMP/err")" ""
	judge "$caller confined" 2 "$answers"
	answers=$(inside "$caller" "$strict")
	is "$caller strict: the attempts ran to their end" $? 0
	judge "$caller strict" 3 "$answers"
	must_work "$caller without the filter" open "$(inside "$caller" "$open")"
	must_work "$caller with the limit given away" loose "$(inside "$caller" "$loose")"

	# A daemon that left its session is gone when the launcher returns.
	as "$caller" "$LAUNCH" --policy "$confined" -- sh -c 'setsid sh -c "setsid sleep 86399 &" & sleep 0.2'
	is "$caller confined: nothing survives" "$(pgrep -fx 'sleep 86399')" ""
done

# Outside, as root, everything that is marked so works: the attempts are real.
if [ "$(id -u)" = 0 ]; then
	mapfile -t outside < <(ids out)
	answers=$(cd "$TMP/work.root" && SECRET_TOKEN=canary LD_PRELOAD='' "$ATTACK" outside "$TAG" "$PORT" "$KEY" \
		"${outside[@]}" 7</)
	must_work "outside as root" out "$answers"
else
	skip "outside as root" "this run is not root"
fi

# The launcher's own files are what they were.
is "the runner is unchanged" "$(cmp "$ROOT/build/hermes-runner" "$TMP/bin/hermes-runner" 2>&1)" ""
done_testing
