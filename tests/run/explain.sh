#!/bin/bash
# explain: what run would do, with origins, in three forms; it starts nothing, records nothing, and
# knows no value of a variable.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

good=$(policy explained <<'Y'
version: 1
id: test/explained
level: baseline@1
backends: [local]
limits: {wall: 90s}
fs: {mounts: []}
env: {pass: [LANG, GITLAB_TOKEN], set: {FIXED: canary-fixed}}
Y
)
image=$(policy image <<'Y'
version: 1
id: test/image
level: baseline@1
backends: [local]
image: ["x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"]
Y
)
memory=$(policy memory <<'Y'
version: 1
id: test/memory
level: baseline@1
backends: [local]
limits: {memory: 64MiB}
Y
)

for caller in $CALLERS; do
	run() { as "$caller" "$@"; }
	export GITLAB_TOKEN=canary-token WITHHELD_NAME=canary-withheld
	status_is "$caller: explain" 0 run "$LAUNCH" explain --policy "$good" -- sh -c 'echo ran >marker'
	like "$caller: U44 an empty list and its place" "$out" 'mounts +none +.*explained\.yaml:6:[0-9]+ \(task, test/explained\)'
	like "$caller: a limit and its place" "$out" 'wall +1m30s|wall +90s'
	like "$caller: what passed, by name" "$out" 'passed +GITLAB_TOKEN .*explained\.yaml:7:'
	like "$caller: U07 what was withheld, by name" "$out" 'withheld.* WITHHELD_NAME'
	unlike "$caller: no value" "$out" canary
	like "$caller: who applies what" "$out" 'process\.caps +runner'
	like "$caller: and what nobody applies here" "$out" 'image +none +there is no image'
	like "$caller: what a run would make on the host" "$out" "a run makes an empty '$TMP/work.$caller/\.hermes'"
	status_is "$caller: nothing was started" 1 test -e "$TMP/work.$caller/marker"
	is "$caller: nothing was written" "$(find "$TMP/state.$caller" -mindepth 1 | wc -l)" 0
	is "$caller: which explain does not" "$(find "$TMP/work.$caller" -name .hermes | wc -l)" 0
	out=$(run "$LAUNCH" explain --format json --policy "$good" -- true)
	like "$caller: json" "$out" '^\{"backend":"local",.*"controls":\[.*\}$'
	unlike "$caller: no value in json" "$out" canary
	status_is "$caller: a backend without a command line has no argv form" 64 run "$LAUNCH" explain --format argv --policy "$good" -- true
	status_is "$caller: U131 a key without effect is refused as run would" 69 run "$LAUNCH" explain --policy "$image" -- true
	like "$caller: U131 by name" "$out" 'image has no effect on backend local.*HLD-20'
	status_is "$caller: U38 a start directory that is not there" 66 run "$LAUNCH" explain --policy "$good" --cwd /nope -- true
	status_is "$caller: U40 a door of the kernel" 77 run "$LAUNCH" explain --policy "$good" --cwd /proc/self/fd/7 -- true
	like "$caller: U40 code" "$out" 'HLC-70'
	unset GITLAB_TOKEN WITHHELD_NAME
	status_is "$caller: the arguments of run are explain's too" 0 run "$LAUNCH" explain --policy "$good" --label ticket=1 -- true
	if [ "$caller" = user ]; then
		status_is "user: what cannot be applied is told" 0 run "$LAUNCH" explain --policy "$memory" -- true
		like "user: and that run refuses it" "$out" 'run would be refused here: limits\.memory .*HLD-01'
	fi
done
done_testing
