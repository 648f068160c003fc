#!/bin/bash
# Overrides, end to end: refused in enforce before anything is started, in force and loud in warn, the
# floor refused in both, and each in the log. Engine arguments are judged before an engine is asked, so
# no daemon is needed.
# shellcheck disable=SC2016 # variables in single quotes are for the shell inside
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

enforce=$(policy enforce <<'Y'
version: 1
id: test/enforce
owner: secteam@acme.example
level: baseline@1
backends: [local, docker]
env: {pass: [LANG]}
Y
)
warn=$(policy warn <<'Y'
version: 1
id: test/warn
level: baseline@1
mode: warn
backends: [local, docker]
env: {pass: [LANG]}
Y
)
image=sha256:$(printf x | sha256sum | cut -c1-64)

# refused NAME CODE ARGUMENTS...
refused() {
	local name=$1 code=$2
	shift 2
	rm -f "$TMP/work.$caller/marker"
	status_is "$name: is refused" 125 as "$caller" "$LAUNCH" "$@" -- sh -c 'echo ran >marker'
	like "$name: code" "$out" "refused: .*\\[$code\\]"
	like "$name: place" "$out" '  override  (argument [0-9]+|environment)'
	if [ -e "$TMP/work.$caller/marker" ]; then fail "$name: nothing ran"; else pass "$name: nothing ran"; fi
}

for caller in $CALLERS; do
	as "$caller" true
	ln -sfn /var/run/docker.sock "$TMP/work.$caller/link"
	while read -r code args; do
		read -ra words <<<"$args"
		refused "$caller: U47 $args" "$code" --policy "$enforce" --backend docker --image "$image" \
			"${words[@]/#/--engine-arg=}"
	done <<'L'
HLC-12 --privileged
HLC-11 --security-opt no-new-privileges:false
HLC-11 --security-opt=apparmor=unconfined
HLC-12 --cap-add ALL
HLC-12 --cap-add=cap_sys_admin
HLC-13 --pid=host
HLC-13 --cgroupns=host
HLC-15 --device /dev/sda
HLC-04 --network container:x
HLC-01 -v /var/run/../run/docker.sock:/s
HLC-01 -v ./link:/s
HLC-01 -v/proc:/p
HLC-04 --volumes-from x
HLC-03 --priv
HLC-02 --entrypoint=/bin/sh
L
	refused "$caller: a variable that does not pass" HLC-40 --policy "$enforce" --env "OTHER=S3CRET-777"
	unlike "$caller: its value is not told" "$out" 'S3CRET-777'
	like "$caller: whom to ask is told" "$out" 'the owner of test/enforce \(secteam@acme\.example\)'
	status_is "$caller: a request inside its bound" 0 as "$caller" "$LAUNCH" --policy "$enforce" --limit pids=99 -- true
	refused "$caller: a mode that is lowered" HLC-06 --policy "$enforce" --mode warn
	refused "$caller: a mount of /proc" HLC-01 --policy "$warn" --mount /proc:/p

	status_is "$caller: in warn the override wins (sibling)" 0 as "$caller" "$LAUNCH" --policy "$warn" \
		--env OTHER=visible -- sh -c 'echo "inside: $OTHER"'
	like "$caller: and is in force" "$out" '^inside: visible$'
	like "$caller: and is told" "$out" 'warning: ran with a weaker setting: --env=OTHER'
	status_is "$caller: a protected name is left out in warn" 0 as "$caller" "$LAUNCH" --policy "$warn" \
		--env LD_PRELOAD=/none.so -- sh -c 'echo "inside: $LD_PRELOAD"'
	like "$caller: nothing of it is inside" "$out" '^inside: $'
	like "$caller: and that is told" "$out" 'warning: left out: --env=LD_PRELOAD'
	refused "$caller: raised to enforce it is refused" HLC-40 --policy "$warn" --mode enforce --env OTHER=1

	log=$(as "$caller" "$LAUNCH" audit show --format json)
	for action in refused won dropped; do
		like "$caller: the log has one that was $action" "$log" "\"ev\":\"conflict\".*\"action\":\"$action\""
	done
	unlike "$caller: and no value" "$log" 'S3CRET-777'
	like "$caller: what tightened is counted" "$log" '"ev":"run\.start".*"tightened":1[,}]'
	status_is "$caller: the log verifies" 0 as "$caller" "$LAUNCH" audit verify
done
done_testing
