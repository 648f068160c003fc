#!/bin/bash
# The environment of a local run: built from nothing, protected names never, values nowhere else.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

make_policy() {
	policy "$1" <<Y
version: 1
id: test/$1
level: baseline@1
backends: [local]
mode: ${3:-enforce}
env: {pass: [$2]}
Y
}
plain=$(make_policy plain 'LANG, "LC_*", TERM, TZ')

for caller in $CALLERS; do
	run() { as "$caller" "$@"; }

	out=$(LANG=C.UTF-8 LC_TIME=C TERM=dumb TZ=UTC OPENAI_API_KEY=canary-1 OPENAI_BASE_URL=http://canary-2 \
		ANTHROPIC_TOKEN=canary-3 run "$LAUNCH" --policy "$plain" -- env)
	unlike "$caller: U01 no provider key or base URL" "$out" 'canary|OPENAI|ANTHROPIC'
	for name in PATH HOME USER LANG LC_TIME TERM TZ; do
		like "$caller: U01 $name is there" "$out" "^$name=."
	done

	out=$(SLACK_BOT_TOKEN=canary-4 run "$LAUNCH" --policy "$plain" -- sh -c \
		'tr "\0" "\n" </proc/$PPID/environ; for p in /proc/[0-9]*; do cat $p/environ; done 2>/dev/null | tr "\0" "\n"' 2>/dev/null)
	unlike "$caller: U02 nothing in any /proc/*/environ" "$out" canary-4
	out=$(SLACK_BOT_TOKEN=canary-4 as "$caller" sh -c 'tr "\0" "\n" </proc/$$/environ')
	like "$caller: U02 without the sandbox it is there" "$out" canary-4

	both=$(make_policy both 'ANTHROPIC_TOKEN, TENOR_API_KEY')
	status_is "$caller: U05 a protected name in env.pass is refused in enforce" 125 run "$LAUNCH" --policy "$both" -- true
	like "$caller: U05 it is named" "$out" ANTHROPIC_TOKEN
	warn=$(make_policy warn 'ANTHROPIC_TOKEN, GIPHY_KEY' warn)
	out=$(ANTHROPIC_TOKEN=canary-5 GIPHY_KEY=fine run "$LAUNCH" --policy "$warn" -- env 2>"$TMP/err")
	unlike "$caller: U05 warn drops it" "$out" canary-5
	like "$caller: U05 warn passes the other" "$out" '^GIPHY_KEY=fine$'
	like "$caller: U05 warn says so" "$(cat "$TMP/err")" ANTHROPIC_TOKEN

	out=$(DOCKER_HOST=unix:///canary-6 run "$LAUNCH" -v --policy "$plain" -- sh -c 'test -n "$DOCKER_HOST"' 2>&1)
	is "$caller: U07 the command sees nothing" "$?" 1
	like "$caller: U07 one line says how many were withheld" "$out" '[0-9]+ variables withheld'
	unlike "$caller: U07 no value is told" "$out" canary-6

	harmless='KEYBOARD_LAYOUT, MONKEY_PATH, XAUTHORITY, SSH_AUTH_SOCK, TOKENIZERS_PARALLELISM, GIT_AUTHOR_NAME, PASSWORD_STORE_DIR'
	listed=$(make_policy harmless "$harmless")
	out=$(KEYBOARD_LAYOUT=v MONKEY_PATH=v XAUTHORITY=v SSH_AUTH_SOCK=v TOKENIZERS_PARALLELISM=v GIT_AUTHOR_NAME=v \
		PASSWORD_STORE_DIR=v run "$LAUNCH" --policy "$listed" -- env)
	for name in ${harmless//,/}; do
		like "$caller: U08 $name passes when listed" "$out" "^$name=v$"
	done

	# Names of any case, of other programs' tricks, and those that no list can know.
	out=$(openai_api_key=canary-61 _HERMES_FORCE_OPENAI_API_KEY=canary-62 NOUS_API_KEY=canary-13 \
		AZURE_OPENAI_API_KEY=canary-13 BWS_ACCESS_TOKEN=canary-13 WHAT_NOBODY_LISTED=canary-13 \
		VIRTUAL_ENV=/canary-64 CONDA_PREFIX=/canary-64 PYTHONHOME=/canary-64 \
		PYTHONPATH=/repo:/site:/canary-65 run "$LAUNCH" --policy "$plain" -- env)
	for case in 61 62 W13 64 65; do
		unlike "$caller: hermes $case nothing of it is inside" "$out" "canary-${case#W}"
	done
	unlike "$caller: hermes 62 nor the name that it would force" "$out" 'OPENAI'
	for name in openai_api_key OpenAI_Api_Key _HERMES_FORCE_OPENAI_API_KEY PYTHONPATH PYTHONHOME; do
		forced=$(make_policy forced "$name")
		status_is "$caller: hermes 61 to 65 $name cannot be listed" 125 run "$LAUNCH" --policy "$forced" -- true
		like "$caller: hermes 61 to 65 $name: and why" "$out" "$name, which"
	done
	listed=$(make_policy listed 'VIRTUAL_ENV, SERVICE_TOKEN')
	out=$(VIRTUAL_ENV=/v SERVICE_TOKEN=s run "$LAUNCH" --policy "$listed" -- sh -c 'echo $VIRTUAL_ENV $SERVICE_TOKEN')
	is "$caller: hermes 64 67 what is listed passes (sibling)" "$out" '/v s'
	out=$(SERVICE_TOKEN=s run "$LAUNCH" --policy "$plain" -- sh -c 'echo "${SERVICE_TOKEN-none}"')
	is "$caller: hermes 67 and passes by no other policy" "$out" none
	path=$(make_policy path PATH)
	out=$(PATH=/opt/first:/usr/bin:/bin:/usr/bin run "$LAUNCH" --policy "$path" -- sh -c 'echo $PATH')
	is "$caller: hermes 68 a PATH that is listed is the caller's, as it is" "$out" /opt/first:/usr/bin:/bin:/usr/bin
	out=$(PATH=/opt/first:/usr/bin:/bin run "$LAUNCH" --policy "$plain" -- sh -c 'echo $PATH')
	is "$caller: hermes 68 else it is ours" "$out" "$(run "$LAUNCH" --policy "$plain" -- sh -c 'echo $PATH')"
	unlike "$caller: hermes 68 without the caller's" "$out" '/opt/first'

	# hermes W14: the files that have credentials, in a home of the caller's own.
	out=$(run "$LAUNCH" --policy "$plain" -- sh -c 'cat ~/.aws/credentials ~/.ssh/id_* ~/.hermes/.env /etc/shadow 2>/dev/null; ls -A ~ | grep -v "^\.hermes$"')
	is "$caller: hermes W14 no file with credentials is there" "$out" ""
	# hermes W15: without a word of the policy there is a limit all the same.
	run "$LAUNCH" --result "$TMP/work.$caller/limits" --policy "$plain" -- true
	like "$caller: hermes W15 a limit of processes is in force" "$(cat "$TMP/work.$caller/limits")" 'limits_applied.*pids'

	printf 'echo PWNED\n' >"$TMP/be"
	out=$(as "$caller" env "BASH_FUNC_ls%%=() { echo PWNED; }" BASH_ENV="$TMP/be" ENV="$TMP/be" \
		PROMPT_COMMAND='echo PWNED' PS4=PWNED LD_PRELOAD=/nonexistent.so LD_AUDIT=/nonexistent.so \
		NODE_OPTIONS=--bad PYTHONSTARTUP="$TMP/be" PERL5OPT=-Mbad RUBYOPT=-rbad JAVA_TOOL_OPTIONS=-bad \
		GIT_SSH_COMMAND=PWNED GIT_EXTERNAL_DIFF=PWNED GCONV_PATH=/t IFS=x "$LAUNCH" --policy "$plain" \
		-c 'exec 2>&1; ls /; env; bash -c true; echo end' 2>/dev/null)
	like "$caller: U10 the commands ran" "$out" '^end$'
	unlike "$caller: U10 no loader or interpreter variable" "$out" 'PWNED|LD_PRELOAD|LD_AUDIT|NODE_OPTIONS|PYTHONSTARTUP|PERL5OPT|RUBYOPT|JAVA_TOOL|GIT_SSH|GCONV'
	set_loader=$(policy set-loader <<'Y'
version: 1
id: test/set-loader
level: baseline@1
backends: [local]
env: {set: {BASH_ENV: "/t/be"}}
Y
)
	status_is "$caller: U10 a loader variable in env.set is refused" 125 run "$LAUNCH" --policy "$set_loader" -- true

	missing=$(make_policy missing 'NOT_SET_ANYWHERE')
	out=$(run "$LAUNCH" --policy "$missing" -- sh -c 'echo "${NOT_SET_ANYWHERE-unset}"' 2>"$TMP/err")
	is "$caller: U22 never an empty string" "$out" unset
	like "$caller: U22 it is told" "$(cat "$TMP/err")" NOT_SET_ANYWHERE

	token=$(make_policy token 'GITLAB_TOKEN')
	GITLAB_TOKEN=canary-S3CRET-777 as_exec "$caller" "$LAUNCH" --policy "$token" -- sh -c 'printf %s "$GITLAB_TOKEN" >got; echo up; sleep 2' >"$TMP/up.$caller" 2>"$TMP/err" &
	pid=$!
	wait_until 10 grep -qs up "$TMP/up.$caller" || fail "$caller: U20 it began" "$(cat "$TMP/err")"
	hits=$(grep -lz "canary-S3CRET-[7]77" /proc/[0-9]*/cmdline 2>/dev/null | wc -l)
	wait $pid
	is "$caller: U20 the value arrives" "$(cat "$TMP/work.$caller/got")" canary-S3CRET-777
	is "$caller: U20 the value is in no argv" "$hits" 0
	is "$caller: U17 the value is in no state file" "$(grep -rl 'S3CRET-777' "$TMP/state.$caller" | wc -l)" 0
	GITLAB_TOKEN=canary-S3CRET-777 run "$LAUNCH" --policy "$token" -- sh -c 'echo canary-S3CRET-777 Y2FuYXJ5LVMzQ1JFVC03Nzc=' >/dev/null
	GITLAB_TOKEN=canary-S3CRET-777 run "$LAUNCH" --policy "$token" --mount /canary-S3CRET-777:/usr -- true >/dev/null 2>&1
	like "$caller: a known value in a refused request is redacted" "$(run "$LAUNCH" audit show --format json)" 'asked.*redacted:env:GITLAB_TOKEN'
	is "$caller: a known value in argv is redacted in the log" "$(grep -rlE 'S3CRET-777|Y2FuYXJ5LVMzQ1JFVC03Nzc' "$TMP/state.$caller" | wc -l)" 0
	like "$caller: the redaction names the variable" "$(cat "$TMP"/state."$caller"/audit/*/*.jsonl)" 'redacted:env:GITLAB_TOKEN'
	is "$caller: state files are private" "$(find "$TMP/state.$caller" -type f -perm /077 | wc -l)" 0
done
done_testing
