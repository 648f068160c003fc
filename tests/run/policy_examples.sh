#!/bin/bash
# The policies of examples/policies: each without a finding and in canonical form, their tests hold, and
# those for this host's own sandbox do what their first lines say. For each thing that one of them denies
# another one is asked the same, where it works. What waits for a part that this version does not have is
# refused by exactly the codes and keys that are written here.
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
	case $file in *.test.yaml) continue ;; esac
	count=$((count + 1))
	stack=("$file")
	[ "$file" != team-on-org.yaml ] || stack=(org-base.yaml "$file")
	status_is "$file: no finding" 0 as "$caller" "$LAUNCH" policy check --stack --fail-on warning "${stack[@]/#/$TMP/policy/}"
	status_is "$file: in canonical form" 0 as "$caller" "$LAUNCH" policy fmt --check "$TMP/policy/$file"
	like "$file: says what it is for" "$(head -1 "$file")" '^# [A-Z]'
done
if [ "$count" -ge 19 ]; then pass "there are nineteen"; else fail "there are nineteen" "$count"; fi

for file in *.test.yaml; do
	status_is "$file: they hold" 0 as "$caller" "$LAUNCH" policy test "$TMP/policy/$file"
done
for name in ci-docker-registries web-research gpu-data-science hpc-singularity ssh-maintenance docs-build \
	database-migration mcp-agent; do
	if [ -f $name.test.yaml ]; then pass "$name: has tests"; else fail "$name: has tests"; fi
	if grep -q "$name" "$ROOT/POLICY.md"; then pass "$name: POLICY.md has it"; else fail "$name: POLICY.md has it"; fi
done

# Keys without an enforcer yet. In mode warn all of them are told; there the proxy must not be asked for.
unapplied() {
	sed -e '/^id:/a mode: warn' -e 's/mode: proxy/mode: none/' "$1.yaml" >"$TMP/policy/asked.yaml"
	as "$caller" "$LAUNCH" explain -p "$TMP/policy/asked.yaml" --format json -- true 2>/dev/null |
		grep -o '"[a-z_.]* has no effect on backend [a-z]*: this version has no egress proxy' |
		cut -d' ' -f1 | tr -d '"' | sort | tr '\n' ' '
	rm "$TMP/policy/asked.yaml"
}
while read -r name keys; do
	is "$name: what waits for the proxy" "$(unapplied "$name")" "$keys "
	status_is "$name: nothing is started" 125 as "$caller" "$LAUNCH" run -p "$TMP/policy/$name.yaml" -- true
	like "$name: the code" "$out" '\[HLD-20\]$'
	like "$name: a key of these" "$(sed -n 's/.* \([a-z_.]*\) has no effect.*/ \1 /p' <<<"$out")" "^ (${keys// /|}) $"
done <<'E'
ci-docker-registries network.allow network.private_ips network.use secrets
database-migration network.allow network.forward
web-research network.allow network.deny network.dns network.private_ips
E
for name in docs-build mcp-agent; do
	is "$name: waits for nothing" "$(unapplied $name)" ""
	status_is "$name: runs" 0 as "$caller" "$LAUNCH" run -q -p "$TMP/policy/$name.yaml" -- true
done
while read -r name backend; do
	status_is "$name: nothing is started" 125 as "$caller" "$LAUNCH" run -p "$TMP/policy/$name.yaml" -- true
	like "$name: the backend" "$out" "'$backend' is not in this version \[HLB-21\]"
done <<'E'
hpc-singularity singularity
ssh-maintenance ssh
E
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

under docs-build 'echo more >>page'
if [ "$status" -ne 0 ]; then pass "docs-build: the sources cannot be written"; else fail "docs-build: the sources cannot be written" "$out"; fi
as "$caller" sh -c 'mkdir _build && chmod 777 _build'
under docs-build 'echo text >_build/page.html && cat _build/page.html'
is "docs-build: the pages can be" "$out" text
under docs-build 'cp /bin/true _build/run && chmod 755 _build/run && _build/run'
like "docs-build: nothing of them is run" "$out" 'denied'
under mcp-agent 'cp /bin/true run && chmod 755 run && ./run && rm run'
is "mcp-agent: what it builds is" "$status" 0
under mcp-agent 'cat .env'
unlike "mcp-agent: .env is covered" "$out" key-of-the-project

host=$(wc -l </proc/net/dev)
under package-install 'wc -l </proc/net/dev'
is "package-install: the host's network" "$out" "$host"
under untrusted-code 'wc -l </proc/net/dev'
is "untrusted-code: a network of its own" "$out" 3

status_is "developer-laptop: an override is refused" 125 as "$caller" "$LAUNCH" run -p "$TMP/policy/developer-laptop.yaml" --timeout 2h -- true
status_is "trial: the same override wins" 0 as "$caller" "$LAUNCH" run -p "$TMP/policy/trial.yaml" --timeout 2h -- true
like "trial: and that is told" "$out" 'ran with a weaker setting'

done_testing
