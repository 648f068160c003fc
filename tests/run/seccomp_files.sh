#!/bin/bash
# process.seccomp.files in a real sandbox: what a file denies is denied, and works without it; what an
# engine is given denies the same; a file whose content is another one starts nothing.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

host_policies "$TMP/nowhere"
cd "$TMP/policy" || exit 1
profile='{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO"}]}'
printf '%s' "$profile" >"$TMP/policy/profile.json"
chmod 644 "$TMP/policy/profile.json"
sha256=$(sha256sum <"$TMP/policy/profile.json" | cut -d' ' -f1)

policy without >/dev/null <<'Y'
version: 1
id: acme/without
level: baseline@1
Y
policy with >/dev/null <<Y
version: 1
id: acme/with
level: baseline@1
process: {seccomp: {files: [{file: $TMP/policy/profile.json, sha256: $sha256}]}}
Y
policy engine-without >/dev/null <<Y
version: 1
id: acme/engine-without
level: baseline@1
backends: [docker]
image: ["x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"]
Y
policy engine >/dev/null <<Y
version: 1
id: acme/engine
level: baseline@1
backends: [docker]
image: ["x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"]
process: {seccomp: {files: [{file: $TMP/policy/profile.json, sha256: $sha256}]}}
Y

for caller in $CALLERS; do
	status_is "$caller: without a file a directory is made" 0 as "$caller" "$LAUNCH" run -q -p "$TMP/policy/without.yaml" -- mkdir /tmp/made
	status_is "$caller: with it none is" 1 as "$caller" "$LAUNCH" run -q -p "$TMP/policy/with.yaml" -- mkdir /tmp/made
	like "$caller: the command is told" "$out" 'Operation not permitted'
	status_is "$caller: what it does not name works" 0 as "$caller" "$LAUNCH" run -q -p "$TMP/policy/with.yaml" -- touch /tmp/made
	out=$(as "$caller" "$LAUNCH" explain -p "$TMP/policy/with.yaml" -- true)
	like "$caller: explain names the file" "$out" "seccomp file $TMP/policy/profile.json sha256 $sha256"
	like "$caller: and what it denies" "$out" 'denied call  mkdirat .*with.yaml:4:'
	given=()
	for at in engine engine-without; do
		out=$(as "$caller" "$LAUNCH" explain -p "$TMP/policy/$at.yaml" -- true 2>&1)
		given+=("$(grep -oE 'security-opt seccomp=[^ ]*\.json' <<<"$out")")
	done
	like "$caller: an engine is given a profile" "${given[0]}" 'seccomp=/'
	like "$caller: without the file too (sibling)" "${given[1]}" 'seccomp=/'
	unlike "$caller: which is another one" "${given[1]}" "^${given[0]}\$"
	out=$(as "$caller" "$LAUNCH" explain -p "$TMP/policy/engine.yaml" -- true 2>&1)
	like "$caller: by the engine" "$out" 'process.seccomp.files +engine'
done

# What would leave a command hanging is told, whichever key denies it.
narrow='{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["read","write","execve"],"action":"SCMP_ACT_ALLOW"}]}'
printf '%s' "$narrow" >"$TMP/policy/narrow.json"
chmod 644 "$TMP/policy/narrow.json"
sed -e "s/$sha256/$(sha256sum <"$TMP/policy/narrow.json" | cut -d' ' -f1)/" -e 's/profile.json/narrow.json/' with.yaml | policy narrow >/dev/null
printf 'version: 1\nid: acme/deny\nlevel: baseline@1\nprocess: {seccomp: {deny: [exit_group]}}\n' | policy deny >/dev/null
printf 'version: 1\nid: acme/poll\nlevel: baseline@1\nprocess: {seccomp: {deny: [poll]}}\n' | policy poll >/dev/null
for at in narrow deny; do
	status_is "$at: no end is let through" 125 as root timeout 20 "$LAUNCH" run -p "$TMP/policy/$at.yaml" -- true
	like "$at: the call is named" "$out" "'exit_group' is denied, which every command needs.*HLD-21"
done
# The runner's own: it would hear nothing more.
if [ "$(uname -m)" = x86_64 ]; then
	status_is 'poll: nothing would hear the end' 125 as root timeout 20 "$LAUNCH" run -p "$TMP/policy/poll.yaml" -- true
	like 'poll: the call is named' "$out" "'poll' is denied, which every command needs.*HLD-21"
fi

# A command that cannot start says which file may be why; without one nothing is said of files.
printf '%s' "${profile/\"mkdir\",\"mkdirat\"/\"clone\",\"fork\",\"vfork\"}" >"$TMP/policy/profile.json"
sed -i "s/$sha256/$(sha256sum <"$TMP/policy/profile.json" | cut -d' ' -f1)/" with.yaml
status_is "no process can be made" 126 as root timeout -s KILL 20 "$LAUNCH" run -p "$TMP/policy/with.yaml" -- true
like "the file is named" "$out" "help: a call that it needs may be denied by process.seccomp.files: $TMP/policy/profile.json"
status_is "a program that is none (sibling)" 126 as root "$LAUNCH" run -p "$TMP/policy/without.yaml" -- /etc
unlike "no file is named" "$out" 'seccomp'

# No profile at all is no profile that denies a call more.
policy loose >/dev/null <<'Y'
version: 1
id: acme/loose
level: open@1
backends: [docker]
Y
status_is "without a file an engine may go without a profile" 0 "$LAUNCH" policy why -p "$TMP/policy/loose.yaml" --arg=--security-opt=seccomp=unconfined
like "it is let through" "$out" '^yes'
echo "process: {seccomp: {files: [{file: $TMP/policy/profile.json, sha256: $sha256}]}}" >>"$TMP/policy/loose.yaml"
"$LAUNCH" policy why -p "$TMP/policy/loose.yaml" --arg=--security-opt=seccomp=unconfined >"$TMP/why" 2>&1
like "with one it may not" "$(cat "$TMP/why")" '^no: .* is refused'

echo >>"$TMP/policy/profile.json"
for caller in $CALLERS; do
	status_is "$caller: another content starts nothing" 125 as "$caller" "$LAUNCH" run -q -p "$TMP/policy/with.yaml" -- true
	like "$caller: the code and the place" "$out" 'with.yaml:4:.* is another file than the policy names \[HLD-23\]'
done
done_testing
