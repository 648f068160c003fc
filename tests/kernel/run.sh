#!/bin/sh
# Runs the kernel tests as root and as an ordinary user, from a copy that both can read.
# Arguments: the test programs. HL_MUST_WORK=1 makes a run that cannot happen a failure.
set -eu

[ $# -gt 0 ] || {
	echo "no test program is named" >&2
	exit 1
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
mkdir -p "$dir/build/kernel"
cp build/hermes-runner "$dir/build/"
cp build/kernel/probe "$dir/build/kernel/"
cp "$@" "$dir/"
chmod -R a+rX "$dir"

failed=0
skip() {
	echo "# skip: $1"
	if [ "${HL_MUST_WORK:-0}" = 1 ]; then
		failed=1
	fi
}

run_all() {
	for program in "$@"; do
		name=$(basename "$program")
		echo "# $name as $($as id -u)"
		(cd "$dir" && CMOCKA_MESSAGE_OUTPUT=TAP $as "./$name") >"$dir/out" 2>&1 || failed=1
		cat "$dir/out"
		if grep -q '# SKIP' "$dir/out"; then
			skip "inside $name"
		fi
	done
}

as=
run_all "$@"
if [ "$(id -u)" = 0 ]; then
	if command -v setpriv >/dev/null; then
		as='setpriv --reuid 65534 --regid 65534 --clear-groups --'
		run_all "$@"
	else
		skip "no setpriv to become an ordinary user"
	fi
else
	skip "not root: nothing was tried as root"
fi
exit "$failed"
