#!/bin/bash
# policy test: files of tests, the examples of policies, what is told when one does not hold, formats and
# coverage; and what the tests say of a policy is what run does.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

export HERMES_LAUNCH_STATE=$TMP/state
host_policies "$TMP/nowhere"
mkdir -m 700 "$TMP/state"
cd "$TMP/policy" || exit 1

policy base >/dev/null <<'Y'
version: 1
id: acme/base
layer: org
revision: 3
level: baseline@1
backends: [local, docker]
limits: {memory: {max: 4GiB, default: 2GiB}}
network: {mode: none}
env: {pass: [LANG, CI], set: {SHIFT: do-not-show-1}}
examples:
  allow:
    - {limit: memory=1GiB}
  refuse:
    - {network: host, code: HLC-31}
    - {engine-arg: --privileged, backend: docker}
Y
policy team >/dev/null <<'Y'
version: 1
id: acme/team
requires: [{id: acme/base, revision: 3}]
fs: {workdir: {access: rw}}
examples:
  refuse:
    - {limit: memory=8GiB}
Y
policy team.test >/dev/null <<'Y'
version: 1
policy: [base.yaml, team.yaml]
tests:
  - name: values
    effective: {network.mode: none, limits.memory: 2GiB, env.pass: [CI, LANG], fs.home: tmpfs}
    bound: {limits.memory: 4GiB}
  - name: "what a command has, # and so on"
    pass: [CI, SHIFT]
    withhold: [GITHUB_TOKEN, OTHER]
    hidden: [~/.ssh, /etc/shadow]
    read_only: [/usr/bin, /usr/no-such]
    writable: [a/file, /tmp]
  - name: requests
    allow: [{timeout: 5m}, {env: CI}, {engine-arg: --cpus=1, backend: docker}]
    refuse: [{network: host}, {env: GITHUB_TOKEN, code: HLC-05}, {mode: warn, code: HLC-06}]
Y

status_is "a file of tests" 0 "$LAUNCH" policy test team.test.yaml
is "TAP" "$out" 'ok 1 - team.test.yaml: values
ok 2 - team.test.yaml: what a command has, \# and so on
ok 3 - team.test.yaml: requests
1..3'
status_is "tests of the working directory" 0 "$LAUNCH" policy test
like "tests of the working directory: found" "$out" '^1\.\.3$'
mkdir -p "$TMP/project/.hermes"
cp base.yaml "$TMP/project/.hermes/policy.yaml"
printf 'version: 1\ntests: [{name: x, writable: [src]}]\n' >"$TMP/project/.hermes/policy.test.yaml"
status_is "tests of .hermes/" 0 sh -c "cd '$TMP/project' && exec '$LAUNCH' policy test"
like "tests of .hermes/: the policy beside them" "$out" '^ok 1 - \.hermes/policy\.test\.yaml: x$'
status_is "a directory is its tests" 0 "$LAUNCH" policy test "$TMP/policy"
status_is "examples of a policy" 0 "$LAUNCH" policy test base.yaml
is "examples: each is one test" "$(tail -1 <<<"$out")" 1..3
like "examples: their name" "$out" '^ok 2 - base.yaml: refuse --network=host \[HLC-31\]$'
status_is "a policy that needs another one is 78 alone" 78 "$LAUNCH" policy test team.yaml
status_is "--stack: upon those before it" 0 "$LAUNCH" policy test --stack base.yaml team.yaml
is "--stack: the examples of both" "$(tail -1 <<<"$out")" 1..4
printf 'version: 1\nid: a/b\nlevel: open@1\n' | policy none >/dev/null
# Each of these long sources is compared with every mount that is allowed.
deep=/no-such$(printf '/a%.0s' $(seq 1 900))
{
	printf 'version: 1\nid: acme/slow\nlevel: baseline@1\nfs:\n  mounts:\n'
	for i in $(seq 1 250); do printf '    - {src: %s, dst: /mnt/p%s, required: false}\n' "$deep" "$i"; done
	printf 'examples:\n  refuse:\n'
	for i in $(seq 1 200); do printf '    - {mount: "%s/%s:/x"}\n' "$deep" "$i"; done
} | policy slow >/dev/null
status_is "examples: what takes too long fails" 1 "$LAUNCH" policy test slow.yaml
like "examples: at which it stopped, and that others were not tried" "$out" \
	'slow.yaml:[0-9]+:7: refuse --mount=/no-such[a/]+[0-9]+:/x: the examples before it took [0-9]+ ms of processor time, of 50; .*\[HLP-30\]'
unlike "examples: and no further" "$out" '/200:/x'
sed -i '/[0-9][0-9]:\/x/d; /[3-9]:\/x/d' slow.yaml
status_is "examples: fewer are in time (sibling)" 0 "$LAUNCH" policy test slow.yaml
# The dearest that ordinary policies can have, as many as there may be: each mount is held against
# every denied place and every mount that is allowed, each name against every pattern.
examples() {
	printf 'examples:\n  %s:\n' "$1"
	for i in $(seq 200); do printf "    - {$2}\n" "$i"; done
}
{
	printf 'version: 1\nid: test/mounts\nlevel: baseline@1\nfs:\n  deny:\n'
	printf '    - /srv/data/some/path/number/%s/x.pem\n' $(seq 1000)
	printf '  mounts:\n'
	printf '    - {src: /usr/share, dst: /mnt/p%s}\n' $(seq 250)
	examples refuse 'mount: "/usr/lib:/opt/m%s:ro"'
} | policy mounts >/dev/null
status_is "examples: two hundred mounts are in time (sibling)" 0 "$LAUNCH" policy test mounts.yaml
{
	printf 'version: 1\nid: test/mounts\nlevel: baseline@1\nenv:\n  pass:\n    allowed:\n'
	printf '      - "*A*B*C*D%s_*"\n' $(seq 128)
	printf '      - "*D%s_X"\n' $(seq 800)
	examples refuse 'env: AABBCC_%s_ABCABCABCABCABCABCABC'
} | policy mounts >/dev/null
status_is "examples: two hundred names are in time (sibling)" 0 "$LAUNCH" policy test mounts.yaml
{
	printf 'version: 1\nid: test/mounts\nlevel: baseline@1\n'
	examples allow 'engine-arg: "-v/usr/lib:/opt/m%s:ro", backend: docker'
} | policy mounts >/dev/null
status_is "examples: two hundred arguments are in time (sibling)" 0 "$LAUNCH" policy test mounts.yaml
rm mounts.yaml
status_is "a policy without examples is 2" 2 "$LAUNCH" policy test none.yaml
like "a policy without examples: that is told" "$out" 'there are no examples in it'
mkdir "$TMP/empty"
status_is "no tests at all is 66" 66 sh -c "cd '$TMP/empty' && exec '$LAUNCH' policy test"
status_is "an absent file is 66" 66 "$LAUNCH" policy test absent.test.yaml
printf 'version: 1\ntests: [{name: x, effective: {netwrok.mode: none}}]\n' | policy broken.test >/dev/null
status_is "a broken file of tests is 78" 78 "$LAUNCH" policy test broken.test.yaml
like "a broken file of tests: the place and what was meant" "$out" '^broken.test.yaml:2:31: error: .*\[HLP-04\]$'
like "a broken file of tests: help" "$out" 'did you mean "network.mode"'
rm broken.test.yaml

# One expectation after the other, each turned round: it fails, and says why.
# turned NAME EXPECTATION MESSAGE
turned() {
	printf 'version: 1\npolicy: [base.yaml, team.yaml]\ntests:\n  - name: t\n    %s\n' "$2" | policy turned.test >/dev/null
	status_is "$1: 1" 1 "$LAUNCH" policy test turned.test.yaml
	like "$1: not ok" "$out" '^not ok 1 - turned.test.yaml: t$'
	like "$1: why" "$out" "^#   turned.test.yaml:5:[0-9]+: $3\$"
	unlike "$1: no value of a variable" "$out" do-not-show
}
turned "another value" 'effective: {network.mode: host}' 'effective network.mode: it is none, not host'
turned "another list" 'effective: {env.pass: [LANG]}' 'effective env.pass: it is \[CI, LANG\], not \[LANG\]'
turned "another bound" 'bound: {limits.memory: 2GiB}' 'bound limits.memory: it is 4GiB, not 2GiB'
turned "another value of a variable" 'effective: {env.set: {SHIFT: other}}' 'effective env.set: it is something else, not what is expected'
turned "no request is allowed past a bound" 'allow: [{network: host}]' 'allow --network=host: it is refused: network.mode allows none \[HLC-31\]'
turned "what is allowed is not refused" 'refuse: [{timeout: 5m}]' 'refuse --timeout=5m: it is allowed'
turned "a refusal by another code" 'refuse: [{network: host, code: HLC-30}]' 'refuse --network=host \[HLC-30\]: it is refused: .*\[HLC-31\]'
turned "what is not understood is no refusal" 'refuse: [{timeout: five}]' 'refuse --timeout=five: it is not understood: .*\[HLC-09\]'
turned "an argument of an engine" 'allow: [{engine-arg: --cap-add=SYS_ADMIN, backend: docker}]' 'allow --engine-arg=--cap-add=SYS_ADMIN --backend=docker: it is refused: process.caps .*\[HLC-12\]'
turned "a name that passes" 'withhold: [CI]' 'withhold CI: it passes from the caller: env.pass CI'
turned "a name that does not pass" 'pass: [OTHER]' 'pass OTHER: it is outside the bound: .*'
turned "a path that is seen" 'hidden: [/usr/bin]' 'hidden /usr/bin: it is read-only: fs.root.*'
turned "a path that is read-only" 'writable: [/usr/bin]' 'writable /usr/bin: it is read-only: .*'
turned "a path that is writable" 'read_only: [a]' 'read_only a: it is writable: fs.workdir.*'
turned "a path that is covered" 'read_only: [/etc/shadow]' 'read_only /etc/shadow: it is covered.*'
turned "one of several" 'allow: [{timeout: 5m}, {timeout: 6m}, {network: host}]' 'allow --network=host: .*'
is "one of several: only that is told" "$(grep -c '^#' <<<"$out")" 1
printf 'version: 1\npolicy: [team.yaml]\ntests: [{name: t, pass: [CI]}]\n' | policy turned.test >/dev/null
status_is "a stack that does not load fails" 1 "$LAUNCH" policy test turned.test.yaml
like "a stack that does not load: why" "$out" 'HLP-24'
printf 'version: 1\nid: acme/w\nmode: warn\nlevel: baseline@1\nlimits: {wall: 1m}\nexamples: {refuse: [{timeout: 2m}]}\n' | policy warn >/dev/null
status_is "mode warn refuses nothing" 1 "$LAUNCH" policy test warn.yaml
like "mode warn: why" "$out" 'it is allowed, past the bound, because mode is warn'
# Another engine, another grammar; what run would not show of an argument is not shown here.
printf 'version: 1\nid: acme/base\nrevision: 3\nlevel: baseline@1\nbackends: [podman]\n' | policy engine >/dev/null
of_podman() {
	printf 'version: 1\npolicy: [engine.yaml]\ntests: [{name: t, %s}]\n' "$1" | policy turned.test >/dev/null
}
of_podman 'allow: [{engine-arg: "--cap-drop=CHOWN,FOWNER"}, {engine-arg: --unsetenv-all}], refuse: [{engine-arg: "--uidmap=0:0:1", code: HLC-04}]'
status_is "arguments of podman" 0 "$LAUNCH" policy test turned.test.yaml
of_podman 'allow: [{engine-arg: "--uidmap=0:0:1", backend: podman}]'
status_is "an argument of podman: 1" 1 "$LAUNCH" policy test turned.test.yaml
like "an argument of podman: why" "$out" 'allow --engine-arg=--uidmap=0:0:1 --backend=podman: it is refused: process.namespaces .*\[HLC-04\]'
for argument in --env-merge=A=do-not-show --passwd-entry=do-not-show --health-cmd=do-not-show; do
	for beside in '' ', backend: podman'; do
		of_podman "allow: [{engine-arg: \"$argument\"$beside}]"
		status_is "$argument$beside: 1" 1 "$LAUNCH" policy test turned.test.yaml
		like "$argument$beside: is named" "$out" "allow --engine-arg=${argument%%=*}=.*\\.\\.\\."
		unlike "$argument$beside: its value is not" "$out" do-not-show
	done
done
rm turned.test.yaml

# Every word that a request can have, taken and refused.
printf 'version: 1\nid: acme/all\nlevel: baseline@1\nbackends: [docker, local]\nimage: {allowed: ["a:*"], digest: false}\nlimits: {wall: 1m, pids: 9}\nfs: {mounts: [{src: /usr, dst: /data}]}\nenv: {pass: [CI]}\n' | policy all >/dev/null
asked=0
while read -r word good bad; do
	asked=$((asked + 1))
	printf 'version: 1\npolicy: [all.yaml]\ntests: [{name: t, allow: [{%s: "%s"}], refuse: [{%s: "%s"}]}]\n' "$word" "$good" "$word" "$bad" |
		policy words.test >/dev/null
	status_is "$word: $good is taken, $bad refused" 0 "$LAUNCH" policy test words.test.yaml
	printf 'version: 1\npolicy: [all.yaml]\ntests: [{name: t, allow: [{%s: "%s"}]}]\n' "$word" "$bad" | policy words.test >/dev/null
	status_is "$word: $bad is not taken" 1 "$LAUNCH" policy test words.test.yaml
done <<'W'
backend local ssh
engine-arg --cpus=1 --privileged
env CI GITHUB_TOKEN
image a:1 b:1
limit pids=5 pids=50
mode enforce warn
mount /usr:/data:ro /usr:/data
network none host
timeout 30s 2m
user 1000:1000 0:0
W
is "every word was asked for" "$asked" "$(grep -c '^POLICY_REQUEST(' "$ROOT/policy/expect.def")"
rm words.test.yaml

# The caller's own variables, home and directory decide nothing.
status_is "the environment of the caller is left out" 0 env CI=1 OTHER=1 DOCKER_HOST=tcp://elsewhere:1 "$LAUNCH" policy test team.test.yaml
if [ -z "$(find /tmp -maxdepth 1 -name 'hermes-launch-policy-test.*' -newer base.yaml 2>/dev/null)" ]; then
	pass "nothing is left"
else
	fail "nothing is left"
fi
is "nothing is made in the state directory" "$(ls -A "$TMP/state")" ""

status_is "--format json" 1 "$LAUNCH" policy test --format json team.test.yaml warn.yaml
is "json: one object a test" "$(python3 -c '
import json, sys
for line in sys.stdin:
	row = json.loads(line)
	print(row["file"], row["ok"], [f["line"] for f in row["failures"]])
' <<<"$out")" 'team.test.yaml True []
team.test.yaml True []
team.test.yaml True []
warn.yaml False [6]'
status_is "--format junit" 1 "$LAUNCH" policy test --format junit team.test.yaml warn.yaml
is "junit: sums and cases" "$(python3 -c '
import sys, xml.etree.ElementTree as tree
suite = tree.parse(sys.stdin).getroot()[0]
print(suite.get("tests"), suite.get("failures"), len(suite.findall("testcase")), len(suite.findall("testcase/failure")))
' <<<"$out")" "4 1 4 1"
status_is "--format tap" 0 "$LAUNCH" policy test --format tap team.test.yaml
status_is "--format github is none" 64 "$LAUNCH" policy test --format github team.test.yaml
status_is "tap is no format of check" 64 "$LAUNCH" policy check --format tap base.yaml

status_is "--coverage" 0 "$LAUNCH" policy test --coverage team.test.yaml
like "coverage: keys" "$out" '^# coverage: [0-9]+ of [0-9]+ keys that the policies set$'
like "coverage: conflicts" "$out" '^# coverage: 3 of [0-9]+ controls that a request can go past$'
unlike "coverage: what was touched is not told" "$(grep -A1 'keys that' <<<"$out")" 'network.mode'
status_is "--coverage of examples" 0 "$LAUNCH" policy test --coverage base.yaml
like "coverage: what no test touches" "$(grep -A1 'keys that' <<<"$out")" 'not touched: .*env.set'
status_is "--coverage --format json" 0 "$LAUNCH" policy test --coverage --format json base.yaml
like "coverage: json" "$(tail -1 <<<"$out" | python3 -c '
import json, sys
row = json.load(sys.stdin)
print("env.set" in row["fields"]["missing"], row["conflicts"]["touched"])
')" '^True 2$'

# An end before its time leaves nothing either.
places() {
	find /tmp -maxdepth 1 -name 'hermes-launch-policy-test.*' | sort
}
before=$(places)
new_places() {
	[ "$(places)" != "$before" ]
}
many=()
for ((i = 0; i < 250; i++)); do many+=(team.test.yaml); done
for signal in HUP INT QUIT TERM; do
	env --default-signal "$LAUNCH" policy test "${many[@]}" >"$TMP/ended" 2>&1 &
	pid=$!
	wait_until 5 new_places || fail "SIG$signal: it makes a place for its tests"
	kill -s "$signal" $pid
	status=0
	wait $pid || status=$?
	is "SIG$signal ends it, by that signal" "$status" $((128 + $(kill -l "$signal")))
	is "SIG$signal: its place is gone" "$(places)" "$before"
	is "SIG$signal: half of the tests is no answer" "$(cat "$TMP/ended")" ""
done

# Also in the middle of one file, however long it takes.
{
	printf 'version: 1\npolicy: [base.yaml]\ntests:\n'
	for ((i = 0; i < 190; i++)); do printf '  - {name: t%d, hidden: [/etc/shadow], read_only: [/usr]}\n' "$i"; done
} | policy long.test >/dev/null
whole=$(date +%s%N)
status_is "a long file" 0 "$LAUNCH" policy test long.test.yaml
whole=$((($(date +%s%N) - whole) / 1000000))
before=$(places)
env --default-signal "$LAUNCH" policy test long.test.yaml >"$TMP/ended" 2>&1 &
pid=$!
wait_until 5 new_places || fail "a long file: it begins"
began=$(date +%s%N)
kill -s TERM $pid
status=0
wait $pid || status=$?
took=$((($(date +%s%N) - began) / 1000000))
is "a signal in the middle of a file ends it" "$status" 143
is "a signal in the middle of a file: at once" "$((took < whole / 2 + 200)) of $whole ms" "1 of $whole ms"

# What a test says is what run does.
set -- $CALLERS
status_is "run refuses what is refused" 125 as "$1" "$LAUNCH" run -p "$TMP/policy/base.yaml" -p "$TMP/policy/team.yaml" --network host -- true
like "run: with that code" "$out" '\[HLC-31\]'

done_testing
