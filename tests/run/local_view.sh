#!/bin/bash
# U127: every mount that a command sees, as a golden file per policy in tests/golden/mounts. What
# differs from host to host is left out of them and judged by rule: the directories of the host's own
# root with the mounts that came along, what is covered in there, and the parts of /proc, of which each
# kernel has others. HL_GOLDEN_WRITE=1 writes the files anew, to be read before they are kept.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

GOLDEN=$ROOT/tests/golden/mounts
mkdir -p "$TMP/data/sub" "$TMP/data/secret"
echo x >"$TMP/data/secret/key"
chmod -R a+rX "$TMP/data"

# view_policy NAME <<TEXT
view_policy() {
	{
		printf 'version: 1\nid: view/%s\nlevel: baseline@1\nbackends: [local]\n' "$1"
		cat
	} | policy "$1"
}
view_policy confined </dev/null >/dev/null
view_policy strict <<<'local: {isolation: strict}' >/dev/null
view_policy read-only <<<'fs: {workdir: {access: ro}, home: {kind: persist}}' >/dev/null
view_policy mounts >/dev/null <<Y
local: {isolation: strict}
fs:
  mounts:
    - {src: $TMP/data, dst: /opt2/data, access: ro, exec: false}
    - {src: $TMP/data/sub, dst: /opt2/data/sub, access: rw}
  deny: [$TMP/data/secret]
  tmpfs:
    - {dst: /tmp, size: 1MiB, exec: true, mode: "1777"}
    - {dst: /scratch, size: 1MiB, exec: false, mode: "700"}
Y

# "place options type" of each line, sorted; options are those that matter, type that of what we mount.
# inside: /proc/self/mountinfo of a command whose home is $2, called from $3
reduce() {
	awk -v home="$1" -v work="$2" -v tmp="$TMP" '
		function has(options, word) { return ("," options ",") ~ ("," word ",") ? word : "" }
		{
			place = $5; options = $6; type = ""
			for (i = 7; i < NF; i++)
				if ($i == "-")
					type = $(i + 1)
			if (place ~ "^/proc/")
				place = "/proc/*"
			if (place == work || index(place, work "/") == 1)
				place = "WORK" substr(place, length(work) + 1)
			if (place == home || index(place, home "/") == 1)
				place = "HOME" substr(place, length(home) + 1)
			if (type !~ /^(tmpfs|proc|devpts)$/)
				type = "bind"
			if (place ~ "^/dev/" && place != "/dev/pts" && place != "/dev/shm")
				type = "device"
			flags = (has(options, "ro") ? "ro" : "rw")
			split("nosuid nodev noexec", words, " ")
			for (i = 1; i <= 3; i++)
				if (has(options, words[i]))
					flags = flags "," words[i]
			print place, flags, type
		}' | sort -u
}
# What is the same everywhere, and what is the host's.
ours='^(/|/dev|/proc|/tmp|/var/tmp|/run|/scratch|/opt2|WORK|HOME)(/.*)? '
is_ours() { grep -E "$ours"; }
is_hosts() { grep -vE "$ours"; }

for caller in $CALLERS; do
	as "$caller" true
	work=$TMP/work.$caller
	for name in confined strict read-only mounts; do
		run() { as "$caller" "$LAUNCH" --policy "$TMP/policy/$name.yaml" "$@" 2>/dev/null; }
		home=$(run -- sh -c 'echo "$HOME"')
		run -- cat /proc/self/mountinfo | reduce "$home" "$work" >"$TMP/view"
		is_ours <"$TMP/view" >"$TMP/view.ours"
		[ "${HL_GOLDEN_WRITE:-0}" != 1 ] || cp "$TMP/view.ours" "$GOLDEN/$name.txt"
		is "$caller: U127 mounts of $name" "$(cat "$TMP/view.ours")" "$(cat "$GOLDEN/$name.txt")"
		# The host's own: read-only, no device, no set-user-ID, and no more than its top level has.
		is "$caller: U127 $name shows the host's own read-only" \
			"$(is_hosts <"$TMP/view" | grep -vE ' ro,nosuid,nodev(,noexec)? (bind|tmpfs)$')" ""
		like "$caller: U127 $name shows some of it" "$(is_hosts <"$TMP/view")" '^/usr ro,nosuid,nodev'
	done
	# The same reading of what is outside finds what no golden file has.
	if [ "$caller" != user ]; then
		like "U127 outside there is more (sibling)" \
			"$(reduce /nowhere /nowhere </proc/self/mountinfo)" '^/ rw'
	fi
done
done_testing
