# shellcheck shell=bash
# TAP for shell tests, and the things that every test of the launcher needs: a place of its own, a
# policy, a state directory, and two callers (root, and an ordinary user without any right).
#
#	. tests/lib/tap.sh
#	is "name" "$got" "$want"
#	status_is "name" 42 command...
#	conversation "name" command...
#	done_testing

set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export ROOT

tap_count=0
tap_failed=0
out=

pass() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s\n' "$tap_count" "$1"
}

fail() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/#   /'
}

skip() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

# is NAME GOT WANT
is() {
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "got  $2" "want $3"; fi
}

# like NAME TEXT EXTENDED-REGEX
like() {
	if grep -qE -- "$3" <<<"$2"; then pass "$1"; else fail "$1" "no match for: $3" "in: $2"; fi
}

# unlike NAME TEXT EXTENDED-REGEX
unlike() {
	if grep -qE -- "$3" <<<"$2"; then fail "$1" "match for: $3" "in: $2"; else pass "$1"; fi
}

# status_is NAME STATUS COMMAND...: output is kept in $out (both streams)
status_is() {
	local name=$1 want=$2 status=0
	shift 2
	out=$("$@" 2>&1) || status=$?
	if [ "$status" = "$want" ]; then
		pass "$name"
	else
		fail "$name" "status $status, not $want" "$out"
	fi
}

# conversation NAME COMMAND...: a program that checks things by itself (lib/session.py, mcp/client.mjs). Its
# lines "ok - ..." and "not ok - ..." are counted here; its last one says how many it said.
conversation() {
	local name=$1 said=0 last='' line failed=$tap_failed status=0
	shift
	while IFS= read -r line; do
		last=$line
		case $line in
		'ok - '*) pass "${line#ok - }" ;;
		'not ok - '*) fail "${line#not ok - }" ;;
		*)
			printf '%s\n' "$line"
			continue
			;;
		esac
		said=$((said + 1))
	done < <("$@")
	wait $! || status=$?
	is "$name: the conversation came to its end" "$((said > 0)) $last; status $status" \
		"1 # the end, $said checks; status $((tap_failed > failed))"
}

done_testing() {
	printf '1..%d\n' "$tap_count"
	[ "$tap_failed" -eq 0 ]
}

TMP=$(mktemp -d /tmp/hermes-launch-test.XXXXXX)
chmod 755 "$TMP"
trap 'rm -rf "$TMP"' EXIT

# The programs, where an ordinary user can reach them whatever the checkout's own mode is.
mkdir -p "$TMP/bin" "$TMP/work" "$TMP/policy"
cp "$ROOT/build/hermes-launch" "$ROOT/build/hermes-runner" "$ROOT/build/hl-engine" "$ROOT/build/hl-seal" \
	"$TMP/bin/"
export LAUNCH=$TMP/bin/hermes-launch

# host_policies DIR: from now on $LAUNCH takes the host's policies from there, and the trust file beside
# it, so that what this host has in /etc decides nothing. Another build: the real one has no such door.
host_policies() {
	cp "$ROOT/build/test/hermes-launch" "$TMP/bin/"
	export HL_TEST_HOST_DIR=$1
}

# The callers that this run can be: as root both, else only oneself.
NOBODY=65534
if [ "$(id -u)" = 0 ]; then
	CALLERS="root user"
else
	CALLERS="self"
fi
export CALLERS

# as CALLER COMMAND...: in that caller's own state and home, in its own working directory. For a
# command in the background use as_exec, whose process is the command itself.
as() {
	(as_exec "$@")
}

as_exec() {
	local caller=$1 home=$TMP/home.$1
	shift
	if [ ! -d "$home" ]; then
		mkdir -p "$home" "$TMP/state.$caller" "$TMP/work.$caller"
		chmod 700 "$TMP/state.$caller"
		[ "$caller" != user ] || chown $NOBODY:$NOBODY "$home" "$TMP/state.$caller" "$TMP/work.$caller"
		[ "$caller" != root ] || chmod 777 "$TMP/work.$caller"
	fi
	cd "$TMP/work.$caller" || exit 1
	if [ "$caller" = user ]; then
		HOME=$home HERMES_LAUNCH_STATE=$TMP/state.$caller exec setpriv --reuid=$NOBODY \
			--regid=$NOBODY --clear-groups --inh-caps=-all --bounding-set=-all "$@"
	fi
	HOME=$home HERMES_LAUNCH_STATE=$TMP/state.$caller exec "$@"
}

# policy NAME <<TEXT: writes $TMP/policy/NAME.yaml, owned by root, and prints its path
policy() {
	cat >"$TMP/policy/$1.yaml"
	chmod 644 "$TMP/policy/$1.yaml"
	printf '%s\n' "$TMP/policy/$1.yaml"
}

# wait_until SECONDS COMMAND...: true as soon as the command is
wait_until() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}
