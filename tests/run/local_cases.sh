#!/bin/bash
# What went wrong for users of other sandboxes, against the native one, as root and as an ordinary user.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

# cases_policy NAME [LINES]
cases_policy() {
	{
		printf 'version: 1\nid: cases/%s\nlevel: baseline@1\nbackends: [local]\n' "$1"
		cat
	} | policy "$1"
}
plain=$(cases_policy plain </dev/null)
passing=$(cases_policy passing <<<'env: {pass: [HL_U113]}')
# Says which of its arguments it could write.
write_all='for file; do mkdir -p "$(dirname "$file")"; { echo planted >"$file"; } && echo "$file"; done 2>/dev/null; true'
other_token=$(cases_policy other-token <<<'env: {pass: [CLAUDE_CODE_OAUTH_TOKEN]}')

for caller in $CALLERS; do
	run() { as "$caller" "$LAUNCH" "$@"; }
	as "$caller" true
	work=$TMP/work.$caller

	if command -v node >/dev/null; then
		NODE_OPTIONS=--no-such-option run --policy "$plain" -- node -e 1 >/dev/null 2>&1
		is "$caller: U11 the caller's NODE_OPTIONS do not reach node" $? 0
		NODE_OPTIONS=--no-such-option node -e 1 >/dev/null 2>&1
		is "$caller: U11 outside they stop it" $? 9
	else
		skip "$caller: U11" "node is not installed"
	fi
	out=$(CLAUDE_CODE_OAUTH_TOKEN=own run --policy "$other_token" -- sh -c 'echo "$CLAUDE_CODE_OAUTH_TOKEN"')
	is "$caller: U13 another program's own token passes when listed" "$out" own

	mkdir -p "$work/hidden" "$work/seen"
	echo canary | tee "$work/hidden/key" >"$work/seen/key"
	chmod -R a+rwX "$work/hidden" "$work/seen"
	hidden=$(cases_policy "hidden-$caller" <<<"fs: {deny: [\"$work/hidden\", \"$work/absent\"], protect: [.gitconfig]}")
	out=$(run --policy "$hidden" -- sh -c 'for d in hidden seen; do cat $d/key; echo x >$d/new && echo "$d written"; done' 2>/dev/null)
	is "$caller: U118 what is hidden cannot be written either, and its sibling can" "$out" $'canary\nseen written'
	is "$caller: U118 nothing came into it" "$(ls "$work/hidden")" key

	run --policy "$hidden" -- true
	is "$caller: U121 what was denied and is not there is not made" "$(find "$work" -maxdepth 1 "(" -name absent -o -name .gitconfig ")")" ""
	as_exec "$caller" "$LAUNCH" --policy "$hidden" -- sh -c 'echo up; sleep 5' >"$TMP/up.$caller" 2>/dev/null &
	pid=$!
	wait_until 10 grep -qs up "$TMP/up.$caller" || fail "$caller: U121 it began"
	kill -KILL $pid
	wait $pid 2>/dev/null
	as "$caller" "$LAUNCH" gc >/dev/null
	is "$caller: U121 nor after a kill -9" "$(find "$work" -maxdepth 1 "(" -name absent -o -name .gitconfig ")")" ""

	# A home that stays is laid over the account's own, and the working directory is in it. Only root's
	# account has a home here.
	if [ "$caller" = root ]; then
		stays=$(cases_policy stays <<<'fs: {home: {kind: persist}}')
		mkdir -p "$TMP/state.home"
		deep=$(mktemp -d "$(getent passwd root | cut -d: -f6)/hl-test.XXXXXX")
		mkdir -p "$deep/a/b"
		chmod 755 "$deep" "$deep/a"
		chmod 777 "$deep/a/b"
		at_home() { (cd "$deep/a/b" && HERMES_LAUNCH_STATE=$TMP/state.home "$LAUNCH" -q --policy "$stays" -- "$@" 2>&1); }
		out=$(at_home sh -c 'pwd; echo here >f; echo kept >>~/note; cat f ~/note; ls -A ~ | grep -v hl-test')
		is "a home that stays holds the working directory" "$out" "$deep/a/b"$'\nhere\nkept\nnote'
		is "the file is the host's" "$(cat "$deep/a/b/f")" here
		out=$(at_home sh -c "cat ~/note; mv $deep ~/away && ln -s /etc $deep; ls -d $deep")
		is "and what was kept is there again" "$(head -n 1 <<<"$out")" kept
		out=$(at_home pwd)
		like "a link that a command put in the place of a directory is not followed" "$out" "mount point .$deep/a/b.: .*HLB-02"
		is "nothing came to where it leads" "$(ls -d /etc/a 2>/dev/null)" ""
		rm -rf "$deep"
	fi

	unsandboxed=$(cases_policy "unsandboxed-$caller" <<<'unsandboxed: ["git *"]')
	status_is "$caller: U124 no list of commands goes without the sandbox" 125 run --policy "$unsandboxed" -- true
	like "$caller: U124 the key is named" "$out" 'unsandboxed'

	# U113: what the launcher's own environment holds is in no process' environment inside. The name is
	# no protected one: it is not the list that keeps it out.
	out=$(HL_U113=canary-u113 run --policy "$plain" -- sh -c 'cat /proc/[0-9]*/environ /proc/*/task/*/environ' 2>/dev/null | tr '\0' '\n')
	unlike "$caller: U113 the caller's variables are in no environ inside" "$out" 'canary-u113'
	like "$caller: U113 those that the command has are" "$out" '^PATH='
	status_is "$caller: U113 that of process 1 cannot even be opened" 1 run --policy "$plain" -- sh -c 'cat /proc/1/environ'
	out=$(HL_U113=canary-u113 run --policy "$passing" -- sh -c 'cat /proc/[0-9]*/environ' 2>/dev/null | tr '\0' '\n')
	like "$caller: U113 one that the policy lets pass is found so (sibling)" "$out" 'canary-u113'

	# U125: what the next run, or the caller's own shell, obeys. "$@" is tried inside: each is written
	# where it is there, and made where it is not.
	home=$(getent passwd "$(as "$caller" id -u)" | cut -d: -f6)
	state=$TMP/state.$caller
	mark=hl-u125-$$
	repo=$(cases_policy "repo-$caller" <<<"fs: {workdir: {path: $work/repo}}")
	linked=$(cases_policy "linked-$caller" <<<"fs: {workdir: {path: $work/linked}}")
	sloppy=$(cases_policy "sloppy-$caller" <<<"fs: {workdir: {path: $work/repo}, protect: [.git/hooks]}")
	mkdir -p "$work/.git/hooks"
	obeyed=("$work/.hermes/policy.yaml" "$work/.hermes/$mark" "$work/.git/hooks/pre-commit"
		"$work/.git/hooks/$mark" "$work/.git/config" "$work/.bashrc" "$work/.envrc")
	outside=("$TMP/policy/plain.yaml" "$TMP/policy/$mark.yaml" "$state/audit/$mark" "$state/$mark"
		"$home/.bashrc.$mark" "$home/.config/hermes-launch/policies/$mark.yaml"
		"/etc/hermes-launch/policy.d/$mark.yaml")
	for file in "${obeyed[@]}"; do
		[ "${file##*/}" = "$mark" ] || printf 'version: 1\nid: cases/u125\n' >"$file"
	done
	chmod -R a+rwX "$work/.git" "$work/.bashrc" "$work/.envrc"
	before=$(cat "${obeyed[@]}" "$TMP/policy/plain.yaml" 2>/dev/null | sha256sum)
	status_is "$caller: U125 a policy in force, hooks and settings are not written" 0 \
		run --policy "$plain" -- sh -c "$write_all" sh "${obeyed[@]}"
	is "$caller: U125 not one of them" "$out" ""
	run --policy "$plain" -- sh -c "$write_all" sh "${outside[@]}" >/dev/null 2>&1
	is "$caller: U125 and are what they were" \
		"$(cat "${obeyed[@]}" "$TMP/policy/plain.yaml" 2>/dev/null | sha256sum)" "$before"
	out=
	for file in "${outside[@]}" "${obeyed[@]}"; do
		[ "${file%"$mark"*}" = "$file" ] || [ ! -e "$file" ] || out="$out $file"
	done
	is "$caller: U125 what was absent is not made" "$out" ""
	# A repository without hooks, and one that is not where it seems to be.
	for at in repo linked; do
		mkdir -p "$work/$at"
		as "$caller" git -C "$work/$at" init -q --template= 2>/dev/null || mkdir -p "$work/$at/.git"
	done
	mv "$work/linked/.git" "$work/real.git" && ln -s ../real.git "$work/linked/.git"
	chmod -R a+rwX "$work/repo" "$work/linked" "$work/real.git"
	out=$(run --policy "$repo" -- sh -c 'mkdir -p .git/hooks; echo x >.git/hooks/pre-commit; mv .git/hooks .git/other; rmdir .git/hooks; mv .git away; touch .git/index && ls .git/hooks | wc -l' 2>/dev/null)
	is "$caller: U125 absent hooks of a repository cannot be made" "$out" 0
	rmdir "$work/repo/.git/hooks"
	out=$(run --policy "$sloppy" -- sh -c 'mkdir .git/hooks && echo x >.git/hooks/pre-commit && ls .git/hooks' 2>/dev/null)
	is "$caller: U125 with a list that does not say so they can (sibling)" "$out" pre-commit
	status_is "$caller: U125 a repository that is a link is run in" 0 run --policy "$linked" -- true
	is "$caller: U125 none are made behind a link" "$(ls -d "$work/real.git/hooks" 2>/dev/null)" ""
	# With the state directory in the working directory, and with a home of the host's.
	mkdir -p "$TMP/home125.$caller/.config" "$work/state"
	chmod 700 "$work/state"
	[ "$caller" != user ] || chown $NOBODY:$NOBODY "$TMP/home125.$caller" "$work/state"
	[ "$caller" != root ] || chmod 777 "$TMP/home125.$caller"
	echo own >"$TMP/home125.$caller/.bashrc"
	chmod 666 "$TMP/home125.$caller/.bashrc"
	status_is "$caller: U125 a state directory in the working directory is refused" 125 \
		run --state-dir "$work/state" --policy "$plain" -- true
	like "$caller: U125 with its name (HLC-70)" "$out" "$work/state.*HLC-70"
	bound=$(
		printf 'version: 1\nid: cases/bound\nlevel: open@1\nbackends: [local]\nlocal: {isolation: confined}\n' |
			cat - <(echo "fs: {home: {kind: bind, src: $TMP/home125.$caller}}") | policy "bound-$caller"
	)
	out=$(run --policy "$bound" -- sh -c 'echo planted >~/.bashrc; echo kept >~/note' 2>/dev/null)
	is "$caller: U125 .bashrc of a home of the host's is as it was, and its neighbour can be made (sibling)" \
		"$(cat "$TMP/home125.$caller/.bashrc" "$TMP/home125.$caller/note")" $'own\nkept'
	unprotected=$(cases_policy "unprotected-$caller" <<<'fs: {protect: []}')
	out=$(run --policy "$unprotected" -- sh -c "$write_all" sh "$work/.git/hooks/$mark" "$work/.bashrc")
	is "$caller: U125 without fs.protect they are written (sibling)" "$out" "$work/.git/hooks/$mark"$'\n'"$work/.bashrc"
	rm -rf "${work:?}/.git" "$work/repo" "$work/linked" "$work/real.git" "$work/.bashrc" "$work/.envrc" "$work/.hermes/policy.yaml" "$work/state"

	# U128: a size is a limit, and no cover for more.
	for size in 1 4; do
		small=$(cases_policy "small-$size" <<<"fs: {tmpfs: [{dst: /scratch, size: ${size}MiB, exec: true, mode: \"1777\"}]}")
		out=$(run --policy "$small" -- sh -c 'head -c 2097152 /dev/zero >/scratch/x && echo fits' 2>&1)
		case $size in
		1) like "$caller: U128 two MiB do not fit into one" "$out" 'No space left' ;;
		*) is "$caller: U128 and do into four (sibling)" "$out" fits ;;
		esac
	done
	out=$(run --policy "$small" -- grep ' /scratch ' /proc/self/mountinfo)
	like "$caller: U128 nosuid and nodev are in force, whatever was said" "$out" 'nosuid,nodev'
done

# U128: the order in which things are asked changes nothing of what is done.
permute() { # permute DONE REST...: explains each order of the rest
	local done_=$1 i
	shift
	if [ $# = 0 ]; then
		# Words of no spaces.
		# shellcheck disable=SC2086
		as "${CALLERS%% *}" "$LAUNCH" explain --format json $done_ -- true |
			sed -E 's/"run_?id":"[^"]*"//; s/hermes-launch-[0-9a-z]{26}//g; s/argument [0-9]+//g; s/"layers":\[[^]]*\]//; s/01[0-9A-Z]{24}//g' | sha256sum
		return
	fi
	for i in $(seq $#); do
		permute "$done_ ${!i}" "${@:1:i-1}" "${@:i+1}"
	done
}
first=$(cases_policy order <<<'env: {pass: [A_VALUE, LANG]}')
second=$(cases_policy order-second <<<'limits: {pids: 90}')
permute "" "--policy=$first --limit=pids=50" "--policy=$second" "--env=A_VALUE=1 --user=caller" --timeout=9s >"$TMP/orders"
is "U128 options in every order" "$(wc -l <"$TMP/orders")" 24
is "U128 are one plan" "$(sort -u "$TMP/orders" | wc -l)" 1
for value in 50 51; do
	permute "--policy=$first --policy=$second --env=A_VALUE=1 --limit=pids=$value --user=caller --timeout=9s" >>"$TMP/orders"
done
is "U128 and another value is another plan (sibling)" "$(sort -u "$TMP/orders" | wc -l)" 2

# U128: who is root has no groups for that reason alone.
limited=$(cases_policy limited <<<'limits: {pids: 50, memory: 64MiB}')
without=$(cases_policy without <<<$'limits: {pids: 50, memory: 64MiB}\ndegrade: {allow: ["limits.*"]}')
# Asked of the host, and not of what is tested: a group of each kind can be made.
has_groups() {
	local place=/sys/fs/cgroup each
	for each in pids memory; do
		if grep -qw "$each" "$place/cgroup.controllers" 2>/dev/null; then
			mkdir "$place/hl-try-$$" && rmdir "$place/hl-try-$$" || return 1
		else
			mkdir "$place/$each/hl-try-$$" && rmdir "$place/$each/hl-try-$$" || return 1
		fi 2>/dev/null
	done
}
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null && has_groups; then
	status_is "U128 where there are groups a limit is applied (sibling)" 0 as root "$LAUNCH" --policy "$limited" -- true
	without_groups() {
		as root unshare -m sh -c '
			for place in $(awk "\$5 ~ \"^/sys/fs/cgroup\" { print \$5 }" /proc/self/mountinfo); do
				mount -o remount,bind,ro "$place" || exit 99
			done
			exec "$@"' sh "$LAUNCH" "$@"
	}
	status_is "U128 with read-only groups a limit is refused, not forgotten" 125 without_groups --policy "$limited" -- true
	like "U128 and the cause is told (HLD-01)" "$out" 'limits\.(pids|memory) cannot be applied.*Read-only file system.*HLD-01'
	status_is "U128 degrade.allow goes without" 0 without_groups --policy "$without" -- true
	like "U31 and it is told" "$out" 'degraded: limits.pids is not applied'
else
	skip "U128 read-only groups" "root with groups of its own is needed"
fi
done_testing
