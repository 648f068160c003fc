#!/bin/bash
# policy why: one question, the line that decides, and the same answer that a run gives.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

host_policies "$TMP/nowhere"
why=$(policy why <<'Y'
version: 1
id: acme/why
level: open@1
backends: [local, docker, singularity, ssh]
process: {caps: {allowed: [CHOWN, KILL], default: [CHOWN]}}
fs:
  mounts: [{src: /usr/share, dst: /data}]
  deny: [/usr/share/doc]
network: {mode: none}
env: {pass: {allowed: [LANG, "CI_*", X_1], default: [LANG, "CI_*"]}, set: {SHIFT: do-not-show-1}}
local: {isolation: confined}
Y
)
set -- $CALLERS
caller=$1

# asks NAME STATUS REGEX OPTION...
asks() {
	local name=$1 status=$2 regex=$3
	shift 3
	status_is "$name: status" "$status" as "$caller" "$LAUNCH" policy why -p "$why" "$@"
	like "$name: answer" "$out" "$regex"
}

asks "a variable that passes" 0 'why.yaml:10:54 \(task, acme/why\) +env.pass LANG$' --env LANG
asks "a variable by a pattern" 0 'env.pass CI_\*$' --env CI_JOB
asks "a variable that may be asked for" 1 'not given, but a caller may ask' --env X_1
asks "a variable outside the bound" 1 '^no: OTHER is outside the bound$' --env OTHER
asks "a credential never passes" 1 'carries a credential' --env GITHUB_TOKEN
asks "a loader variable never passes" 1 'runs code before the command' --env LD_PRELOAD
asks "a fixed variable" 0 'is set to a fixed value' --env SHIFT
unlike "a fixed variable: its value is not told" "$out" 'do-not-show'
asks "a built variable" 0 'is built by the launcher' --env PATH
asks "a capability" 0 'why.yaml:5:51 .* process.caps: \[CHOWN\]$' --cap CAP_CHOWN
asks "a capability that may be asked for" 1 'a caller may ask' --cap KILL
asks "a capability outside the bound" 1 'why.yaml:5:27 .*allows \[CHOWN, KILL\]$' --cap SYS_ADMIN
asks "a capability that is none" 78 'did you mean' --cap CHWON
asks "a host" 1 'why.yaml:9:17 .* network.mode: none$' --host example.org:443
asks "an argument that loosens" 1 'is refused: it loosens .*\[HLC-1' --backend docker --arg --privileged
asks "an argument of ssh" 1 '^no: -CvA is refused: it loosens ssh.forward \[HLC-52\]$' --backend ssh --arg=-CvA
asks "a keyword of ssh" 1 '^no: -oStrictHostKeyChecking=no is refused' --backend ssh --arg=-oStrictHostKeyChecking=no
asks "a keyword of ssh that only tightens" 0 'it loosens nothing' --backend ssh --arg=-oForwardAgent=no
asks "an argument of apptainer" 1 'it loosens fs.root \[HLC-21\]$' --backend singularity --arg=-w
asks "one that cuts off more" 0 'it loosens nothing' --backend apptainer --arg=-C
status_is "a variable that apptainer would read" 125 \
	as "$caller" env APPTAINER_NV=1 "$LAUNCH" run -p "$why" --backend singularity -- true
like "a variable that apptainer would read: its name" "$out" 'refused: APPTAINER_NV as --nv=true loosens fs.devices \[HLC-15\]'
asks "an argument that does not" 0 'it loosens nothing' --backend docker --arg --memory=1g
asks "two questions" 64 'one question is asked at a time' --env A --cap KILL
asks "no question" 64 'one question is asked at a time'
mapfile -t many < <(yes "$why" | head -256)
asks "more files than are taken" 64 'more than 256 files' --env LANG "${many[@]}"
asks "as json" 0 '^\{"env":"LANG","allowed":true,.*"file":"[^"]*why.yaml","line":10,"column":54\}$' --format json --env LANG

# Of paths the run itself is asked as well.
agrees() {
	local name=$1 path=$2 want=$3 seen
	shift 3
	seen=$(as "$caller" "$LAUNCH" run -q -p "$why" -c "if [ ! -r '$path' ]; then echo no; elif [ -w '$path' ]; then echo writable; else echo read-only; fi" 2>&1)
	is "$name: the run" "$seen" "$want"
}
mkdir -p "$TMP/work.$caller"
as "$caller" sh -c 'echo 1 >here; chmod 666 here'
asks "a path of the working directory" 0 'here is writable$' --path here
is "a question makes no folder in the working directory" "$(find "$TMP/work.$caller" -name .hermes | wc -l)" 0
agrees "a path of the working directory" here writable
is "the run does" "$(find "$TMP/work.$caller" -name .hermes | wc -l)" 1
asks "a path of a mount" 0 'data/man is read-only' --path /data/man
like "a path of a mount: the rule" "$out" 'why.yaml:7:12 .* fs.mounts at /data from /usr/share$'
agrees "a path of a mount" /data/man read-only
asks "a path that fs.deny covers" 1 'why.yaml:8:10 .* covers /usr/share/doc$' --path /usr/share/doc/bash
asks "a path that fs.deny covers, under another name" 1 'is covered' --path /data/doc/bash
asks "a path of the system" 0 'fs.root: this host' --path /usr/bin/env
asks "a value with a variable's name" 64 "^hermes-launch: 'A' is not a variable name" --env A=do-not-show
unlike "a value with a variable's name: it is not told" "$out" 'do-not-show'
asks "a value of an argument" 1 '^no: --env=A=[.]{3} is' --arg=-eA=do-not-show --backend docker
unlike "a value of an argument: it is not told" "$out" 'do-not-show'
# The launcher knows ~ where no shell has.
# shellcheck disable=SC2088
asks "a path of the home" 0 'rule +.*fs.home' --path '~/any'
asks "a path of the system that is not there" 1 '^no: /usr/no-such is not there' --path /usr/no-such
asks "a path of the working directory that can be made" 0 'not-yet is writable$' --path not-yet
asks "a path of a tmpfs" 0 '/tmp/x is writable' --path /tmp/x
asks "a credential of this host" 1 'is covered' --path /etc/shadow
asks "the kernel's own" 0 "/proc/1 is the sandbox's own, and not this host's" --path /proc/1
as "$caller" ln -sfn /etc/shadow covered-link
as "$caller" ln -sfn /usr/bin plain-link
asks "a link to what is covered" 1 'is covered' --path covered-link
asks "a link to what can be read" 0 'plain-link is read-only' --path plain-link
agrees "a link to what can be read" plain-link read-only
asks "an option behind a file" 66 'why.yaml.no' --env LANG "$why.no" --format json
out=$(as "$caller" "$LAUNCH" policy why "$why" --env LANG --format json)
like "options behind a file" "$out" '^\{"env":"LANG","allowed":true'

done_testing
