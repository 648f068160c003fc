#!/bin/bash
# Fail closed: in mode enforce nothing is started when the policy has one error, when a control cannot
# be applied, when an override goes past a bound, or when the log cannot be written. Each with its code,
# its record, and a marker file that the command would have made.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

# refused NAME CODE ARGS...: status 125, the code is told, the marker was not made, the log verifies
refused() {
	local name=$1 code=$2
	shift 2
	rm -f "$TMP/work.$caller/marker"
	status_is "$name is refused" 125 as "$caller" "$LAUNCH" "$@" -- sh -c 'echo ran >marker'
	like "$name: code" "$out" "\\[$code\\]"
	if [ -e "$TMP/work.$caller/marker" ]; then fail "$name: nothing ran"; else pass "$name: nothing ran"; fi
}

good=$(policy good <<'Y'
version: 1
id: test/good
level: baseline@1
backends: [local]
Y
)
unknown=$(policy unknown <<'Y'
version: 1
id: test/unknown
level: baseline@1
netwrok: {mode: none}
Y
)
bridge=$(policy bridge <<'Y'
version: 1
id: test/bridge
level: baseline@1
backends: [local]
network: {mode: proxy}
Y
)
podman=$(policy podman <<'Y'
version: 1
id: test/podman
level: baseline@1
backends: [podman]
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
degrade=$(policy degrade <<'Y'
version: 1
id: test/degrade
level: baseline@1
backends: [local]
degrade: {allow: ["limits.memory"]}
limits: {memory: 64MiB}
Y
)

nolog=$(policy nolog <<'Y'
version: 1
id: test/nolog
level: baseline@1
backends: [local]
audit: {required: false}
Y
)

for caller in $CALLERS; do
	status_is "$caller: the good policy runs (sibling)" 0 as "$caller" "$LAUNCH" --policy "$good" -- sh -c 'echo ran >marker'
	is "$caller: and the marker is made" "$(cat "$TMP/work.$caller/marker")" ran

	refused "$caller: an unknown key (U41)" 'HLP-[0-9]+' --policy "$unknown"
	like "$caller: U41 the nearest key is named" "$out" 'did you mean "?network'
	is "$caller: what is wrong is told once" "$(grep -c 'unknown key' <<<"$out")" 1
	like "$caller: and then that the policy is refused" "$out" '^hermes-launch: the policy is refused: 1 error \[HLP-04\]$'
	refused "$caller: a looser mode" HLC-06 --policy "$good" --mode warn
	like "$caller: it is shown as it was asked" "$out" 'refused: --mode=warn loosens mode'
	status_is "$caller: a check of a file that is not there" 66 as "$caller" "$LAUNCH" policy check "$TMP/policy/none.yaml"
	status_is "$caller: a check of a bad policy (sibling)" 1 as "$caller" "$LAUNCH" policy check "$unknown"
	status_is "$caller: a program that is named by a path" 127 as "$caller" "$LAUNCH" --policy "$good" -- ./none
	like "$caller: is not looked for in PATH" "$out" "cannot start './none': no such program inside"
	refused "$caller: a control without an enforcer" 'HL[CD]-[0-9]+' --policy "$bridge"
	refused "$caller: a backend that is not in this version" 'HLB-[0-9]+' --policy "$podman"
	refused "$caller: an argument of its engine, past the bound" HLC-04 --policy "$podman" --engine-arg=--uidmap=0:0:1
	refused "$caller: one that tightens (sibling)" HLB-47 --policy "$podman" --engine-arg=--unsetenv-all
	refused "$caller: an override past the bound" 'HLC-[0-9]+' --policy "$good" --network host
	like "$caller: both places are told" "$out" 'policy .*\.yaml|policy .*baseline@1'

	log=$(as "$caller" "$LAUNCH" audit show --format json)
	like "$caller: what cannot be done is recorded with its code" "$log" '"ev":"policy\.refuse".*"code":"HL[BD]-[0-9]+","codes":\[\]'
	is "$caller: an override is recorded once" "$(grep -c '"ev":"policy\.refuse".*"code":"HLC-' <<<"$log")" 0

	: >"$TMP/not-a-directory"
	chmod 666 "$TMP/not-a-directory"
	refused "$caller: a log that cannot be written" 'HLA-[0-9]+' --policy "$good" --state-dir "$TMP/not-a-directory/state"

	chmod 666 "$good"
	refused "$caller: U49 a policy that others can write" 'HLP-[0-9]+' --policy "$good"
	chmod 644 "$good"
	if [ "$(id -u)" = 0 ]; then
		cp "$good" "$TMP/policy/foreign.yaml"
		chown 12345 "$TMP/policy/foreign.yaml"
		refused "$caller: U49 a policy of another uid" 'HLP-[0-9]+' --policy "$TMP/policy/foreign.yaml"
	fi
	cp "$good" "$TMP/work.$caller/inside.yaml"
	[ "$caller" != user ] || chown $NOBODY "$TMP/work.$caller/inside.yaml"
	[ "$caller" != root ] || chmod 755 "$TMP/work.root"
	refused "$caller: U49 a policy inside the writable workdir" 'HL[CP]-[0-9]+' --policy inside.yaml
	like "$caller: U49 it says where to put it" "$out" '\.hermes/'
	mkdir -p "$TMP/work.$caller/.hermes"
	cp "$good" "$TMP/work.$caller/.hermes/policy.yaml"
	[ "$caller" != user ] || chown -R $NOBODY "$TMP/work.$caller/.hermes"
	status_is "$caller: U49 .hermes/policy.yaml is found and used" 0 as "$caller" "$LAUNCH" -- true
	status_is "$caller: U49 and cannot be changed from inside" 1 as "$caller" "$LAUNCH" -- sh -c 'echo x >>.hermes/policy.yaml || exit 1'
	status_is "$caller: a policy as stdin would be open for writing (HLB-23)" 125 as "$caller" bash -c '"$1" -- true <.hermes/policy.yaml' - "$LAUNCH"
	like "$caller: HLB-23 is told" "$out" 'HLB-23'
	echo data >"$TMP/work.$caller/data"
	status_is "$caller: another file as stdin is fine (sibling)" 0 as "$caller" bash -c '"$1" -- cat <data' - "$LAUNCH"
	mkdir -p "$TMP/house.$caller/.hermes"
	echo planted >"$TMP/house.$caller/.hermes/policy.yaml"
	echo data >"$TMP/house.$caller/data"
	[ "$caller" != user ] || chown -R $NOBODY "$TMP/house.$caller"
	bound=$(policy "bound-$caller" <<Y
version: 1
id: test/bound
level: open@1
backends: [local]
local: {isolation: confined}
fs: {home: {kind: bind, src: "$TMP/house.$caller"}}
Y
	)
	status_is "$caller: a policy of a bound home as stdin (HLB-23)" 125 as "$caller" bash -c '"$1" --policy "$2" -- cat <"$3/.hermes/policy.yaml"' - "$LAUNCH" "$bound" "$TMP/house.$caller"
	like "$caller: it is told so" "$out" 'HLB-23'
	status_is "$caller: another file of that home is fine (sibling)" 0 as "$caller" bash -c '"$1" --policy "$2" -- cat <"$3/data"' - "$LAUNCH" "$bound" "$TMP/house.$caller"
	rm -rf "$TMP/work.$caller/.hermes" "$TMP/work.$caller/inside.yaml" "$TMP/work.$caller/data" "$TMP/house.$caller"
	[ "$caller" != root ] || chmod 777 "$TMP/work.root"

	if [ "$caller" = user ]; then
		refused "$caller: a memory limit without a cgroup (HLD-01)" HLD-01 --policy "$memory"
		status_is "$caller: runs when degrade.allow names it (sibling)" 0 as "$caller" "$LAUNCH" --policy "$degrade" -- true
		like "$caller: and is told" "$out" 'degraded: limits\.memory.*HLD-01'
		like "$caller: and recorded" "$(as "$caller" "$LAUNCH" audit show --format json)" '"ev":"degraded".*limits\.memory'
	else
		status_is "$caller: the memory limit holds" 0 as "$caller" "$LAUNCH" --policy "$memory" --result rmem -- true
		like "$caller: and is reported as applied" "$(cat "$TMP/work.$caller/rmem")" '"limits_applied":\[[^]]*limits.memory'
		out=$(as "$caller" "$LAUNCH" --policy "$memory" -- sh -c 'head -c 200000000 /dev/zero | tail -c 199999999 >/dev/null' 2>&1)
		isnt=$?
		if [ "$isnt" -ne 0 ]; then pass "$caller: 200 MB do not fit into 64 MiB"; else fail "$caller: 200 MB do not fit into 64 MiB"; fi
		like "$caller: and that is told" "$out" 'the memory limit of 64MiB was reached \[HLB-55\]'
		status_is "$caller: without the limit they do (sibling)" 0 as "$caller" "$LAUNCH" --policy "$good" -- sh -c 'head -c 200000000 /dev/zero | tail -c 199999999 >/dev/null'
	fi

	status_is "$caller: a policy that is not there cannot be judged" 66 as "$caller" "$LAUNCH" policy check "$TMP/no-such.yaml"
	status_is "$caller: one with a finding can (sibling)" 1 as "$caller" "$LAUNCH" policy check "$unknown"
	if [ -w /dev/full ]; then
		status_is "$caller: an answer that is cut off is none" 66 as "$caller" sh -c "'$LAUNCH' policy show --level baseline@1 >/dev/full"
	fi

	# More values to hide than the log can know: it is not written at all, not even where it may be missing.
	before=$(as "$caller" "$LAUNCH" audit show | wc -l)
	many='i=0; while [ $i -lt 4200 ]; do export OP_SESSION_$i=hunter2-$i; i=$((i + 1)); done; exec "$@"'
	status_is "$caller: too many values to hide refuse" 125 as "$caller" sh -c "$many" sh "$LAUNCH" --policy "$good" -- true
	status_is "$caller: also where a log may be missing: it is past other limits" 125 as "$caller" sh -c "$many" sh "$LAUNCH" --policy "$nolog" -- true
	like "$caller: the log is told of first" "$out" 'without an audit log'
	is "$caller: and nothing was written" "$(as "$caller" "$LAUNCH" audit show | wc -l)" "$before"

	log=$(as "$caller" "$LAUNCH" audit show --format json)
	like "$caller: refusals are recorded" "$log" '"ev":"policy\.refuse"'
	like "$caller: conflicts are recorded" "$log" '"ev":"conflict".*"action":"refused"'
	status_is "$caller: the log verifies" 0 as "$caller" "$LAUNCH" audit verify
done
done_testing
