#!/bin/sh
# What `make demo` shows: the plan, a run, a refused override, a missing program, and the verified log.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
launch=$here/../build/hermes-launch
policy=$here/demo.yaml
HERMES_LAUNCH_STATE=$(mktemp -d)
export HERMES_LAUNCH_STATE
# A working directory of its own: a policy that lies where the command can write would be refused. Open
# to all, because root's command runs as another user.
work=$(mktemp -d)
chmod 777 "$work"
cd "$work"
trap 'rm -rf "$HERMES_LAUNCH_STATE" "$work"' EXIT

step() {
	printf '\n$ %s\n' "$*"
}

step "hermes-launch explain --policy examples/demo.yaml -- id"
"$launch" explain --policy "$policy" -- id

step "hermes-launch --policy examples/demo.yaml -- sh -c 'id; grep -E \"Cap(Eff|Bnd)|NoNewPrivs|Seccomp:\" /proc/self/status; ls -A ~'"
"$launch" --policy "$policy" -- sh -c 'id; grep -E "Cap(Eff|Bnd)|NoNewPrivs|Seccomp:" /proc/self/status; ls -A ~'

step "hermes-launch --policy examples/demo.yaml --network host -- true     # refused: 125"
status=0
"$launch" --policy "$policy" --network host -- true || status=$?
[ "$status" = 125 ] || { echo "the override was not refused (status $status)"; exit 1; }

step "hermes-launch audit show"
"$launch" audit show

step "hermes-launch audit verify"
"$launch" audit verify
