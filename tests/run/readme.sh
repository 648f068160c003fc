#!/bin/bash
# The README is true: its first policy is written as it stands there, and each of its commands is run as
# it stands there, from the root of the checkout. The docker commands get an engine of our own. POLICY.md
# is true as far as its policy is one, and it names each key.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/docker.sh
. "$(dirname "$0")/../lib/docker.sh"

project=$TMP/work/project
mkdir -p "$project/.hermes"
cd "$project" || exit 1
cp -r "$ROOT/examples" examples
export HERMES_LAUNCH_STATE=$TMP/state.readme PATH=$TMP/bin:$PATH

awk '/^```yaml$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$ROOT/README.md" >.hermes/policy.yaml
like "the README holds a policy" "$(cat .hermes/policy.yaml)" '^version: 1$'

all=$(awk '/^```yaml$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$ROOT/POLICY.md" | policy all)
status_is "POLICY.md holds a policy" 0 hermes-launch policy check "$all"
is "POLICY.md: its policy has no warning" "$out" "$all: ok (0 warnings)"
while IFS= read -r key; do
	like "POLICY.md names $key" "$(cat "$ROOT/POLICY.md")" "^\\| \`$key\` "
done < <(sed -n 's/^POLICY_FIELD([A-Z_]*,[[:space:]]*"\([a-z._]*\)".*/\1/p' "$ROOT/policy/fields.def")

docker_up "$TMP/engine"
commands=0
while IFS= read -r line; do
	command=${line#    }
	command=${command%%   #*}
	case $command in
	make*) continue ;; # run by the continuous check itself
	esac
	commands=$((commands + 1))
	status_is "README: $command" 0 env DOCKER_HOST="unix://$docker_socket" bash -c "$command"
done < <(grep -E '^    (hermes-launch|sh |make)' "$ROOT/README.md")
docker_down
if [ "$commands" -ge 8 ]; then pass "the README's commands were found"; else fail "the README's commands were found" "$commands"; fi
done_testing
