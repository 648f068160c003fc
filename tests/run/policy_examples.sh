#!/bin/bash
# The policies of examples/policies: each without a finding and in canonical form, and those for this
# host's own sandbox do what their first lines say. For each thing that one of them denies another one
# is asked the same, where it works.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

host_policies "$TMP/nowhere"
cp "$ROOT"/examples/policies/*.yaml "$TMP/policy/"
chmod 644 "$TMP"/policy/*.yaml
cd "$TMP/policy" || exit 1
set -- $CALLERS
caller=$1

count=0
for file in *.yaml; do
	count=$((count + 1))
	stack=("$file")
	[ "$file" != team-on-org.yaml ] || stack=(org-base.yaml "$file")
	status_is "$file: no finding" 0 as "$caller" "$LAUNCH" policy check --stack --fail-on warning "${stack[@]/#/$TMP/policy/}"
	status_is "$file: in canonical form" 0 as "$caller" "$LAUNCH" policy fmt --check "$TMP/policy/$file"
	like "$file: says what it is for" "$(head -1 "$file")" '^# [A-Z]'
done
if [ "$count" -ge 10 ]; then pass "there are ten"; else fail "there are ten" "$count"; fi
status_is "a team without its base is refused" 1 "$LAUNCH" policy check team-on-org.yaml
like "a team without its base: the code" "$out" '\[HLP-24\]'

# under NAME TEXT: what bash says there, and its status in $status
under() {
	status=0
	out=$(as "$caller" "$LAUNCH" run -q -p "$TMP/policy/$1.yaml" -c "$2" 2>&1) || status=$?
}

mkdir -p "$TMP/work.$caller"
as "$caller" sh -c 'mkdir -p secrets; echo key-of-the-project >.env; chmod 666 .env; echo text >page; chmod 666 page'

under developer-laptop 'echo more >>page && cat page'
is "developer-laptop: the project can be written" "$status" 0
for name in untrusted-code read-only-review; do
	under $name 'echo more >>page'
	if [ "$status" -ne 0 ]; then pass "$name: the project cannot be written"; else fail "$name: the project cannot be written" "$out"; fi
	under $name 'cat page'
	like "$name: it can be read" "$out" '^text$'
done
under trial 'cat .env'
like "trial: .env can be read" "$out" key-of-the-project
for name in developer-laptop read-only-review; do
	under $name 'cat .env'
	unlike "$name: .env is covered" "$out" key-of-the-project
done

export LANG=C.UTF-8 OTHER_VARIABLE=seen-outside
under developer-laptop 'echo "$LANG/$OTHER_VARIABLE"'
is "developer-laptop: LANG passes and others do not" "$out" "C.UTF-8/"
under untrusted-code 'echo "$LANG/$OTHER_VARIABLE"'
is "untrusted-code: no variable passes" "$out" "/"

host=$(wc -l </proc/net/dev)
under package-install 'wc -l </proc/net/dev'
is "package-install: the host's network" "$out" "$host"
under untrusted-code 'wc -l </proc/net/dev'
is "untrusted-code: a network of its own" "$out" 3

status_is "developer-laptop: an override is refused" 125 as "$caller" "$LAUNCH" run -p "$TMP/policy/developer-laptop.yaml" --timeout 2h -- true
status_is "trial: the same override wins" 0 as "$caller" "$LAUNCH" run -p "$TMP/policy/trial.yaml" --timeout 2h -- true
like "trial: and that is told" "$out" 'ran with a weaker setting'

done_testing
