#!/bin/bash
# What went wrong for users of other sandboxes, against the native one, as root and as an ordinary user.
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
strict=$(cases_policy strict <<<'local: {isolation: strict}')
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

	unsandboxed=$(cases_policy "unsandboxed-$caller" <<<'unsandboxed: ["git *"]')
	status_is "$caller: U124 no list of commands goes without the sandbox" 125 run --policy "$unsandboxed" -- true
	like "$caller: U124 the key is named" "$out" 'unsandboxed'

	# U127: what was mounted before is not there under any name.
	out=$(run --policy "$strict" -- cat /proc/self/mountinfo | awk '{ print $5 }' |
		grep -vE "^(/|/(bin|sbin|lib|lib32|lib64|libx32|usr|etc|proc|dev)(/.*)?|/tmp|/tmp/home|/var/tmp|/run|/root|$TMP/(work|home)\.$caller(/\.hermes)?)$")
	is "$caller: U127 only mounts of the list are seen" "$out" ""
	like "$caller: U127 and these are" "$(run --policy "$strict" -- cat /proc/self/mountinfo)" " $work "
done
done_testing
