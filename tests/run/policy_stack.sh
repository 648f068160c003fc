#!/bin/bash
# What two layers say against each other, each right by itself, is told by whatever reads the stack:
# with both places and the code that one file has for it, before anything is run.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

cd "$TMP/policy" || exit 1
export HERMES_LAUNCH_STATE=$TMP/state
host_policies "$TMP/nowhere"
mkdir -m 700 "$TMP/state"

# layers BASE TASK: what the two say.
layers()
{
	printf 'version: 1\nid: acme/base\nlayer: org\nlevel: baseline@1\n%s\n' "$1" | policy base >/dev/null
	printf 'version: 1\nid: acme/task\n%s\nexamples: {allow: [{limit: pids=5}]}\n' "$2" |
		policy task >/dev/null
}

# over VERB: with these two layers, where it may write nothing of theirs.
over()
{
	(cd "$TMP/work" && "$LAUNCH" "$@" --policy "$TMP/policy/base.yaml" \
		--policy "$TMP/policy/task.yaml" -- true)
}

mount='fs: {mounts: [{src: /usr/share, dst: /data}]}'
layers "$mount" 'fs: {workdir: {at: /data}}'
status_is "each layer is right by itself" 0 "$LAUNCH" policy check base.yaml task.yaml
status_is "check --stack refuses the two" 1 "$LAUNCH" policy check --stack base.yaml task.yaml
like "check: the later place" "$out" '^task.yaml:3:15: error: two things are mounted on "/data" \[HLP-15\]$'
like "check: the earlier place" "$out" '^  note: the first is here: base.yaml:5:15$'
status_is "check --format json" 1 "$LAUNCH" policy check --stack --format json base.yaml task.yaml
like "json: both places" "$out" '"code":"HLP-15","file":"task.yaml","line":3,.*"other":\{"file":"base.yaml","line":5,"column":15,'
status_is "check --format github" 1 "$LAUNCH" policy check --stack --format github base.yaml task.yaml
like "github: both places" "$out" '^::error file=task.yaml,line=3,col=15.*the first is here: base.yaml:5:15'
for verb in "policy show" "policy why --env TZ" "policy test --stack"; do
	# shellcheck disable=SC2086
	status_is "$verb refuses the two" 78 "$LAUNCH" $verb base.yaml task.yaml
	like "$verb: by that code" "$out" 'task.yaml:3:15: error: .*\[HLP-15\]'
	like "$verb: both places" "$out" 'the first is here: base.yaml:5:15'
done
status_is "explain refuses the two" 78 over explain
like "explain: both places" "$out" 'the first is here: .*base.yaml:5:15'
status_is "run refuses the two" 125 over run
like "run: both places" "$out" 'the first is here: .*base.yaml:5:15'
layers "$mount" 'fs: {workdir: {at: /work}}'
status_is "two places are fine (sibling)" 0 "$LAUNCH" policy check --stack --fail-on warning base.yaml task.yaml
for verb in "policy show" "policy why --env TZ" "policy test --stack"; do
	# shellcheck disable=SC2086
	status_is "$verb: two places (sibling)" 0 "$LAUNCH" $verb base.yaml task.yaml
done
status_is "explain: two places (sibling)" 0 over explain
status_is "run: two places (sibling)" 0 over run

# What the stricter layer makes meaningless is told: a warning to whoever wrote it without effect, a
# note of what is inherited.
layers 'network: {mode: none}' 'network: {publish: ["8080"]}'
status_is "written in vain: a warning" 0 "$LAUNCH" policy check --stack base.yaml task.yaml
like "in vain: both places" "$out" '^task.yaml:3:20: warning: network.publish names ports, and network.mode is none \[HLP-29\]$'
like "in vain: what rules it" "$out" '^  note: none is here: base.yaml:5:17$'
status_is "in vain: --fail-on warning" 2 "$LAUNCH" policy check --stack --fail-on warning base.yaml task.yaml
status_is "in vain: a run is told" 0 over run
like "in vain: by the code" "$out" '\[HLP-29\]'
layers 'network: {publish: {default: ["8080"]}}' 'network: {mode: none}'
status_is "inherited: a note" 0 "$LAUNCH" policy check --stack --fail-on warning base.yaml task.yaml
like "inherited: both places" "$out" '^base.yaml:5:30: note: network.publish names ports, and network.mode is none \[HLP-29\]$'
like "inherited: what rules it" "$out" '^  note: none is here: task.yaml:3:17$'
status_is "inherited: show tells it" 0 "$LAUNCH" policy show base.yaml task.yaml
like "inherited: show, by the code" "$out" 'note: .*\[HLP-29\]'
like "inherited: it is not effective" "$out" '^  publish: .*default: \[\]'
status_is "inherited: explain tells it" 0 over explain
like "inherited: explain, by the code" "$out" 'note: .*\[HLP-29\]'
status_is "inherited: a run goes on" 0 over run
unlike "inherited: and says nothing" "$out" 'HLP-29'

# A level is a layer too, for those who look at one file.
printf 'version: 1\nid: acme/task\nlevel: restricted@1\nfs: {workdir: {at: /}}\n' | policy task >/dev/null
for verb in "policy check" "policy show" "policy diff base.yaml" "policy meets baseline@1" "policy test"; do
	status=78
	[ "$verb" != "policy check" ] || status=1
	# shellcheck disable=SC2086
	status_is "$verb: against its own level" $status "$LAUNCH" $verb task.yaml
	like "$verb: both places" "$out" 'note: read_only is here: restricted@1:[0-9]+:9'
done
sed -i 's/restricted@1/baseline@1/' task.yaml
status_is "of a level that does not say it (sibling)" 0 "$LAUNCH" policy check task.yaml

# The layer of the host is one of the stack, also for a file alone.
mkdir -m 755 "$TMP/host"
printf 'version: 1\nid: acme/host\nlevel: baseline@1\n%s\n' "$mount" >"$TMP/host/10.yaml"
chmod 644 "$TMP/host/10.yaml"
host_policies "$TMP/host"
printf 'version: 1\nid: acme/task\nfs: {workdir: {at: /data}}\n' | policy task >/dev/null
status_is "against the host's layer" 1 "$LAUNCH" policy check task.yaml
like "host: both places" "$out" 'the first is here: .*/host/10.yaml:4:15'
host_policies "$TMP/nowhere"
status_is "without the host's layer (sibling)" 0 "$LAUNCH" policy check task.yaml

done_testing
