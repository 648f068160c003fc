#!/bin/bash
# How an image comes to the engine: when the policy lets it be pulled, from a registry that wants
# credentials, with credentials of the caller's own, which are seen by nobody but the engine.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
# shellcheck source=../lib/registry.sh
. "$ROOT/tests/lib/registry.sh"
docker_begin
trap 'registry_down; docker_down; rm -rf "$TMP"' EXIT
mkdir -p "$TMP/work.root"
chmod 777 "$TMP/work.root"

export HL_REGISTRY_PASSWORD=canary-password-5d1 HL_REGISTRY_IDENTITY=canary-identity-7e2
pair=$(printf 'puller:%s' "$HL_REGISTRY_PASSWORD" | base64 -w0)
unset DOCKER_CONFIG REGISTRY_AUTH_FILE XDG_CONFIG_HOME
export XDG_RUNTIME_DIR=$TMP/runtime
# What a registry answers, podman tells in words only, within a report that it has begun.
denied=HLB-63 server='Docker/20.10.24 (linux)'
unauthorized='HLB-(63|46)' # 46 of docker before it told a refusal by its status
store() { echo "\"credsStore\": \"$1\""; }
if [ "$ENGINE" = podman ]; then
	denied=HLB-46 unauthorized=HLB-46 server='Libpod/4.3.1 (linux)'
	# Its client asks no program for all registries.
	store() { echo "\"credHelpers\": {\"@\": \"$1\"}"; }
fi

# image REPOSITORY PULL [MORE]: a policy that wants that one; $file is its file
image() {
	file=$(docker_policy image <<Y
level: baseline@1
process: {user: "1000:1000"}
${3:-}
Y
	)
	sed -i "s|{default: hl-test:1, digest: false, pull: never}|{default: \"$1\", digest: false, pull: $2}|" "$file"
}
# The launcher alone, without what the registry's environment holds.
run() { as root env -u HL_REGISTRY_PASSWORD -u HL_REGISTRY_IDENTITY "$LAUNCH" --policy "$file" "$@"; }
forget() { docker_cli image rm -f "$@" >/dev/null 2>&1; }
# What the help of a code is about.
advice_of() {
	case $1 in
	HLB-45) echo 'pull it by hand' ;;
	HLB-46 | *63*) echo "$ENGINE login" ;;
	HLB-64) echo '[Mm]end it' ;;
	HLB-65) echo "(say 'docker-credential-|install it|Try it by hand)" ;;
	*) echo "no advice is known for $1" ;;
	esac
}
fails() {
	local name=$1 code=$2
	shift 2
	status_is "$name" 125 "$@"
	like "$name: its own code" "$out" "\\[$code\\]"
	like "$name: what to do" "$out" "^  help: .*$(advice_of "$code")"
}
is_here() { docker_cli image inspect "$1" >/dev/null 2>&1; }

# --- when
registry_up open || exit 1
tools=$registry/tools:1
image "$tools" never
fails "never: nothing is pulled" HLB-45 run -- true
is "never: nobody was asked" "$(cat "$registry_log")" ''
image "$tools" missing
status_is "missing: it is pulled" 0 run -- true
like "a line says that it begins" "$out" "^hermes-launch: pulling image '$tools'\$"
like "and a line that it has ended" "$out" "^hermes-launch: pulled image '$tools' in [0-9.]+ s\$"
is "without a terminal nothing is written twice" "$(grep -c pull <<<"$out") $(grep -c $'\r' <<<"$out")" '2 0'
asked=$(wc -l <"$registry_log")
status_is "missing: the second run has it" 0 run -- true
is "missing: and asks nobody" "$(wc -l <"$registry_log")" "$asked"
unlike "and tells nothing of it" "$out" pull
image "$tools" always
: >"$registry_log"
status_is "always: it is asked for again" 0 run -- true
is "always: once a run" "$(grep -c '^[A-Z]* /v2/tools/manifests/1 ' "$registry_log")" 1
forget "$tools"
status_is "quiet" 0 run --quiet -- true
unlike "quiet: nothing is told" "$out" pull

# --- the digest, where it is kept
digest=$(docker_cli image inspect --format '{{index .RepoDigests 0}}' "$tools" | sed 's/.*@//')
like "the registry's digest is known" "$digest" '^sha256:[0-9a-f]{64}$'
last() { as root "$LAUNCH" audit show --format json | grep '"run.sandbox"' | tail -n 1; }
status_is "the label" 0 run -- true
like "the record has the digest" "$(last)" "\"image\":\"$digest\""
as_exec root "$LAUNCH" --policy "$file" -- sleep 20 >"$TMP/out" 2>&1 &
launcher=$!
wait_until 20 docker_is_running || fail "a run began" "$(cat "$TMP/out")"
is "the container's label has the digest" "$(docker_cli inspect --format \
	'{{index .Config.Labels "dev.hermes-launch.image"}}' "$(docker_ours)")" "$digest"
kill -TERM "$launcher"
wait "$launcher"
# The same content under another name, with a digest of that name's own: not taken for ours.
docker_cli tag "$tools" hl-other:1
image "$registry/tools@$digest" missing
sed -i 's/digest: false/digest: true/' "$file"
status_is "by digest" 0 run -- true
like "by digest: explain says it" "$(as root "$LAUNCH" explain --policy "$file" -- true)" "$digest"
wrong=sha256:$(printf '%064d' 7)
image "$registry/tools@$wrong" missing
fails "a digest that the registry does not have" "$denied" run -- true
forget "$registry/tools@$digest" "$tools" hl-other:1

# --- what fails
image "$registry/tools:2" missing
fails "no such tag" "$denied" run -- true
image "$registry/none:1" missing
fails "no such repository" "$denied" run -- true
image "$registry/alien:1" missing
fails "an image for another machine: an error in a report that began well" HLB-46 run -- true
image "$registry/torn:1" missing
fails "a layer that is not what its digest says" HLB-46 run -- true
unlike "and is told as an error, not as pulled" "$out" 'pulled image'
image "$registry/busy:1" missing
fails "a registry that is overloaded" HLB-46 run -- true
image "127.0.0.1:9/tools:1" missing
fails "no registry" HLB-46 run -- true
is "nothing of any of them is left" "$(docker_ours)$(docker_cli image ls -q --filter reference="$registry/*")" ''

# --- on a terminal: one line, written again
image "$registry/slow:1" missing
cd "$TMP/work.root" || exit 1
script -qec "$(printf '%q ' env -i PATH="$PATH" HOME="$TMP/home.root" HERMES_LAUNCH_STATE="$TMP/state.root" \
	"$LAUNCH" --policy "$file" -- true)" /dev/null >"$TMP/tty" 2>&1 </dev/null
is "a pull on a terminal" "$?" 0
like "numbers" "$(tr '\r' '\n' <"$TMP/tty")" "pulling '.*': 0 of 1 layers, [0-9.]+ of [0-9.]+ MiB"
like "more than one of them" "$(grep -o 'of 1 layers' "$TMP/tty" | wc -l)" '^([2-9]|[1-9][0-9]+)$'
is "on one line" "$(grep -c "pulling '" "$TMP/tty")" 1
like "it ends on a line of its own" "$(tr -d '\n' <"$TMP/tty" | sed 's/.*\r.\[K//')" '^hermes-launch: pulled image'
forget "$registry/slow:1"

# --- a signal
for signal in INT TERM; do
	: >"$registry_log"
	as_exec root "$LAUNCH" --policy "$file" -- touch "/workspace/ran" >"$TMP/out" 2>&1 &
	launcher=$!
	wait_until 20 grep -q 'slow/blobs' "$registry_log" || fail "$signal: a pull began" "$(cat "$TMP/out")"
	sleep 0.5
	begun=$SECONDS
	kill -$signal "$launcher"
	wait "$launcher"
	is "$signal in a pull ends the run" "$?" 125
	like "$signal: its own code" "$(cat "$TMP/out")" '\[HLB-60\]'
	if [ $((SECONDS - begun)) -le 5 ]; then pass "$signal: at once"; else fail "$signal: at once" "$((SECONDS - begun)) s"; fi
	if wait_until 10 grep -q broken-off "$registry_log"; then pass "$signal: the engine's pull is broken off"; else fail "$signal: the engine's pull is broken off" "$(cat "$registry_log")"; fi
	is "$signal: nothing is here" "$(is_here "$registry/slow:1" && echo it)$(ls "$TMP/work.root")" ''
done

# --- credentials
registry_up basic || exit 1
tools=$registry/tools:1
image "$tools" missing
config=$TMP/config
# with CONFIG: what the caller's own client would use
with() { DOCKER_CONFIG=$config run "$@"; }
good() {
	local name=$1
	: >"$registry_log"
	status_is "$name" 0 with -- true
	like "$name: they were right" "$(cat "$registry_log")" ' (right|token-right)$'
	forget "$tools"
}
rm -rf "$config"
fails "no config.json: anonymous, and denied" "$unauthorized" with -- true
unlike "nobody sent any" "$(cat "$registry_log")" 'right|wrong'
registry_config "$config" <<<'{"auths": {"@": {"auth": "'"$pair"'"}}, "proxies": {"default": {"httpsProxy": "http://corp:1"}}}'
good "an entry of the file (sibling)"
registry_config "$config" <<<'{"auths": {"https://@/v1/": {"auth": "'"$pair"'"}}}'
good "an entry by an older client"
registry_config "$config" <<<'{"auths": {"registry.example": {"auth": "'"$pair"'"}}}'
: >"$registry_log"
fails "those of another registry are not sent" "$unauthorized" with -- true
unlike "to nobody" "$(cat "$registry_log")" 'right|wrong'
registry_config "$config" <<<'{"auths": {"@": {"auth": "'"$(printf puller:no | base64 -w0)"'"}}}'
fails "a wrong password" "$unauthorized" with -- true

# --- a program that keeps them
mkdir -p "$TMP/programs"
cat >"$TMP/programs/docker-credential-hltest" <<P
#!/bin/sh
{ env; ls -l /proc/\$\$/fd | sed 's/.*-> //'; } >"$TMP/programs/seen" 2>/dev/null
read -r server
printf '%s\n' "\$1 \$server" >"$TMP/programs/asked"
. "$TMP/programs/answer"
P
chmod 755 "$TMP/programs/docker-credential-hltest"
answer() { printf '%s\n' "$1" >"$TMP/programs/answer"; }
keeper() { PATH=$TMP/programs:$PATH OPENAI_API_KEY=canary-key-9 DOCKER_CONFIG=$config run "$@"; }
registry_config "$config" <<<"{$(store hltest), \"auths\": {\"@\": {}}}"
answer "printf '{\"ServerURL\":\"%s\",\"Username\":\"puller\",\"Secret\":\"$HL_REGISTRY_PASSWORD\"}' \"\$server\""
status_is "the program for all" 0 keeper -- true
is "it is asked as its protocol says" "$(cat "$TMP/programs/asked")" "get $registry"
is "it has nothing else of the caller's" "$(grep -vE '^(PATH|HOME|LANG|USER|LOGNAME|PWD|SHLVL|_|OLDPWD|GNUPGHOME|DISPLAY|DBUS_[A-Z_]*|XDG_RUNTIME_DIR)=' \
	"$TMP/programs/seen" | grep "=")" ''
unlike "no descriptor of ours" "$(cat "$TMP/programs/seen")" 'socket:'
forget "$tools"
registry_config "$config" <<<'{"credHelpers": {"@": "hltest"}, "auths": {"@": {"auth": "AAAA"}}}'
status_is "the registry's program comes first" 0 keeper -- true
forget "$tools"
answer 'echo "credentials not found in native keychain"; exit 1'
fails "it has none: anonymous" "$unauthorized" keeper -- true
for bad in 'echo secret-words; exit 1' 'echo {' 'echo "[1]"' 'echo "{\"Username\":\"a\"}"' 'head -c 100000 /dev/zero' \
	'kill -9 $$'; do
	answer "$bad"
	fails "a program that answers badly: $bad" HLB-65 keeper -- true
	unlike "its words are not told" "$out" 'secret-words'
done
# One that asks a person, when both who wait for it are killed.
answer "echo \$\$ >'$TMP/programs/pid'; exec sleep 60"
PATH=$TMP/programs:$PATH DOCKER_CONFIG=$config as_exec root env -u HL_REGISTRY_PASSWORD -u HL_REGISTRY_IDENTITY \
	"$LAUNCH" --policy "$file" -- true >"$TMP/out" 2>&1 &
launcher=$!
wait_until 20 test -s "$TMP/programs/pid" || fail "a program is asked" "$(cat "$TMP/out")"
asked=$(cat "$TMP/programs/pid")
is "a program is asked" "$(tr '\0' ' ' <"/proc/$asked/cmdline")" 'sleep 60 '
helper=$(pgrep -P "$launcher" -x hl-engine)
kill -STOP "$helper"
kill -9 "$launcher" "$helper"
wait "$launcher" 2>/dev/null
is_gone() { ! kill -0 "$asked" 2>/dev/null; }
if wait_until 10 is_gone; then pass "both killed: it ends with them"; else fail "both killed: it ends with them" "$(ps -p "$asked")"; fi
registry_config "$config" <<<"{$(store hltest-none)}"
fails "a program that is not there" HLB-65 keeper -- true
registry_config "$config" <<<"{$(store hltest)}"
answer "printf '{\"ServerURL\":\"%s\",\"Username\":\"puller\",\"Secret\":\"$HL_REGISTRY_PASSWORD\"}' \"\$server\""
# A program that others, or a command in a sandbox, could have put there.
not_run() {
	rm -f "$TMP/programs/asked"
	fails "$1" HLB-65 keeper -- true
	is "$1: it is not run" "$(ls "$TMP/programs/asked" 2>/dev/null)" ''
}
chmod 777 "$TMP/programs"
not_run "a program in a directory that anybody can write"
chmod 755 "$TMP/programs"
chown 65534 "$TMP/programs/docker-credential-hltest"
not_run "a program that is somebody else's"
chown 0 "$TMP/programs/docker-credential-hltest"
mkdir -p "$TMP/work.root/bin"
cp -p "$TMP/programs/docker-credential-hltest" "$TMP/work.root/bin/docker-credential-hlwork"
registry_config "$config" <<<"{$(store hlwork)}"
PATH=$TMP/work.root/bin:$PATH not_run "a program in a directory that the sandbox writes"
ln -s "$TMP/work.root/bin/docker-credential-hlwork" "$TMP/programs/docker-credential-hlwork"
not_run "a link to a program that the sandbox writes"
rm -f "$TMP/programs/docker-credential-hlwork"
registry_config "$config" <<<"{$(store hltest)}"
status_is "it is run where nobody else can write (sibling)" 0 keeper -- true
forget "$tools"
rm -rf "$TMP/programs/answer" "$TMP/work.root/bin"

# --- what podman login writes, where docker's client looks for nothing
other=$(printf puller:no | base64 -w0)
# finds NAME FILE VARIABLE=VALUE...: those of FILE, which a caller with these variables has
finds() {
	local name=$1 place=$2 verdict=right
	shift 2
	[ "$ENGINE" = podman ] || verdict='anonymous'
	mkdir -p "$(dirname "$place")"
	registry_config "$(dirname "$place")" "$(basename "$place")" <<<'{"auths": {"@": {"auth": "'"$other"'"}, "@/tools": {"auth": "'"$pair"'"}}}'
	: >"$registry_log"
	status_is "$name" "$([ "$ENGINE" = podman ] && echo 0 || echo 125)" run_with "$@"
	like "$name: what was sent" "$(cat "$registry_log")" " $verdict\$"
	unlike "$name: those of the part, which is nearer" "$(cat "$registry_log")" ' wrong$'
	rm -f "$place"
	forget "$tools"
}
run_with() { as root env -u HL_REGISTRY_PASSWORD -u HL_REGISTRY_IDENTITY "$@" "$LAUNCH" --policy "$file" -- true; }
finds "REGISTRY_AUTH_FILE" "$TMP/named.json" "REGISTRY_AUTH_FILE=$TMP/named.json"
finds "the runtime directory" "$TMP/runtime/containers/auth.json"
finds "XDG_CONFIG_HOME" "$TMP/xdg/containers/auth.json" "XDG_CONFIG_HOME=$TMP/xdg"
finds "the home" "$TMP/home.root/.config/containers/auth.json"
registry_config "$TMP/home.root/.docker" <<<'{"auths": {"@": {"auth": "'"$pair"'"}}}'
: >"$registry_log"
status_is "docker's file, which both ask" 0 run -- true
like "docker's file: they were used" "$(cat "$registry_log")" ' right$'
forget "$tools"
: >"$registry_log"
fails "a file that is named is the only one" "$unauthorized" run_with "$([ "$ENGINE" = podman ] && echo REGISTRY_AUTH_FILE || echo DOCKER_CONFIG)=$TMP/none"
like "a file that is named is the only one: it was asked without" "$(cat "$registry_log")" ' (anonymous|empty)$'
unlike "a file that is named is the only one: nor with others" "$(cat "$registry_log")" ' (right|wrong)$'
rm -rf "$TMP/home.root/.docker"
if [ "$ENGINE" = podman ]; then
	registry_config "$TMP" part.json <<<'{"auths": {"@/other": {"auth": "'"$pair"'"}}}'
	: >"$registry_log"
	fails "those of another part are not sent" HLB-46 run_with "REGISTRY_AUTH_FILE=$TMP/part.json"
	like "those of another part: it was asked without" "$(cat "$registry_log")" ' (anonymous|empty)$'
	unlike "those of another part: to nobody" "$(cat "$registry_log")" ' (right|wrong)$'
	own=$(grep -v '^docker:' "$file" | policy own)
	registry_config "$TMP" part.json <<<'{"auths": {"@/tools": {"auth": "'"$pair"'"}}}'
	if "$podman_private" true 2>/dev/null; then
		status_is "a service of the run's own pulls with them" 0 as root env "REGISTRY_AUTH_FILE=$TMP/part.json" \
			"$podman_private" "$LAUNCH" --policy "$own" -- true
		forget "$tools"
		fails "and without them does not (sibling)" HLB-46 as root "$podman_private" "$LAUNCH" --policy "$own" -- true
	else
		skip "a service of the run's own pulls" "there can be no mount namespace here"
	fi
fi

# --- who gets them, and what is repeated of them
mkdir "$TMP/echo"
cp "$ROOT/tests/lib/echo_engine.py" "$TMP/echo/engine.py"
chmod 644 "$TMP/echo/engine.py"
chown 65534 "$TMP/echo"
# echo_engine NAME USER [OTHER]
echo_engine() {
	HL_ECHO=$said HL_ECHO_SERVER=$server setpriv --reuid "$2" --clear-groups \
		/usr/bin/python3 "$TMP/echo/engine.py" "$TMP/echo/$1" "$TMP/echo/$1.log" "${@:3}" 2>"$TMP/echo/$1.err" &
	echo_pid=$!
	wait_until 10 test -S "$TMP/echo/$1" || fail "an engine that repeats" "$(cat "$TMP/echo/$1.err")"
	sed "s|^docker: .*|docker: {endpoint: $TMP/echo/$1}|" "$file" | policy "echo-$1" >/dev/null
}
registry_config "$config" <<<'{"auths": {"@": {"auth": "'"$pair"'"}}}'
with_engine() { DOCKER_CONFIG=$config as root env -u HL_REGISTRY_PASSWORD -u HL_REGISTRY_IDENTITY "$LAUNCH" --policy "$@"; }
# pulls NAME WANT: of the engine of that name, which has got WANT
pulls() {
	status_is "an engine $1" 125 with_engine "$TMP/policy/echo-$1.yaml" -- true
	is "an engine $1: what it got" "$(cat "$TMP/echo/$1.log" 2>/dev/null)" "$2"
	unlike "an engine $1: no password is told" "$out" "$HL_REGISTRY_PASSWORD"
	unlike "an engine $1: nor the header" "$out" 'eyJ'
	kill "$echo_pid"
	wait "$echo_pid" 2>/dev/null
}
# What an engine repeats of them: the header, the password, both as they are sent, and a password that the end of
# what is kept of a message (400 bytes) cuts.
cut=$(printf '%0390d' 0)
for said in 'cannot parse @' "the password is $HL_REGISTRY_PASSWORD" "Authorization: Basic $pair" "$cut$HL_REGISTRY_PASSWORD"; do
	echo_engine of-root 0
	pulls of-root credentials
	unlike "an engine of-root: nor the beginning of a password" "$out" "${HL_REGISTRY_PASSWORD:0:5}"
	unlike "an engine of-root: nor as it is sent" "$out" "${pair:0:20}"
	like "an engine of-root: why nothing is told" "$out" 'its words are withheld'
	rm -f "$TMP/echo/of-root" "$TMP/echo/of-root.log"
done
said='no such thing'
echo_engine of-root 0
pulls of-root credentials
like "an engine of-root: other words are told (sibling)" "$out" 'no such thing'
said='cannot parse @'
echo_engine of-nobody 65534
pulls of-nobody none
like "an engine of-nobody: what it did not get, and why" "$out" "credentials were withheld: the engine's socket is neither"
echo_engine that-swaps 65534 "$docker_socket"
: >"$registry_log"
status_is "an engine that changes what its name means" 125 with_engine "$TMP/policy/echo-that-swaps.yaml" -- true
is "has got nothing" "$(cat "$TMP/echo/that-swaps.log" 2>/dev/null)" ''
like "what its name means then has, which is root's" "$(cat "$registry_log")" 'right$'
kill "$echo_pid"
wait "$echo_pid" 2>/dev/null
forget "$tools"

# --- a configuration that cannot be used
bad() {
	fails "$1" HLB-64 with -- true
	unlike "$1: its content is not told" "$out" canary
}
for text in '{' '[]' '{"auths": []}' '{"auths": {"@": "canary"}}' '{"auths": {"@": {"auth": "canary"}}}' \
	'{"auths": {"@": {"auth": 5}}}' '{"auths": {}, "auths": {}}' "{$(store ../canary)}" \
	'{"credHelpers": {"@": ["canary"]}}' '{"credHelpers": "canary"}'; do
	registry_config "$config" <<<"$text"
	bad "config.json: $text"
done
{ printf '{"auths": {"x": "'; head -c 2000000 /dev/zero | tr '\0' a; printf '"}}'; } >"$config/config.json"
fails "config.json: too large" HLB-64 with -- true
registry_config "$config" <<<'{"auths": {"@": {"auth": "'"$pair"'"}}}'
chmod 666 "$config/config.json"
bad "config.json: others can write it"
chmod 600 "$config/config.json"
chown 65534 "$config/config.json"
bad "config.json: somebody else's"
rm -f "$config/config.json"
mkfifo "$config/config.json"
bad "config.json: no regular file"
rm -f "$config/config.json"
good_text='{"auths": {"@": {"auth": "'"$pair"'"}}, "proxies": {"default": {"httpsProxy": "http://corp:1"}}}'
registry_config "$config" <<<'{'
image hl-test:1 never
status_is "config.json that is broken is nobody's business where nothing is pulled (sibling)" 0 with -- true

# --- an identity token
registry_up token || exit 1
tools=$registry/tools:1
image "$tools" missing
registry_config "$config" <<<'{"auths": {"@": {"identitytoken": "'"$HL_REGISTRY_IDENTITY"'"}}}'
good "an identity token"
registry_config "$config" <<<'{"auths": {"@": {"auth": "'"$pair"'"}}}'
good "a password, traded for a token"
PATH=$TMP/programs:$PATH
answer "printf '{\"Username\":\"<token>\",\"Secret\":\"$HL_REGISTRY_IDENTITY\"}'"
registry_config "$config" <<<"{$(store hltest)}"
good "an identity token of a program's"

# --- nobody sees them: argv of every process and what a sandbox shows, while one that has pulled runs
registry_config "$config" <<<"$good_text"
image "$tools" missing
DOCKER_CONFIG=$config as_exec root env -u HL_REGISTRY_PASSWORD -u HL_REGISTRY_IDENTITY "$LAUNCH" -v --policy "$file" \
	-- sh -c 'env; echo begun; sleep 30' >"$TMP/out" 2>&1 &
launcher=$!
wait_until 30 grep -q begun "$TMP/out" || fail "a run began" "$(cat "$TMP/out")"
seen=$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n')
like "what is looked for can be found" "$(cat "$config/config.json")" "$pair"
for secret in "$HL_REGISTRY_PASSWORD" "$pair" corp:1; do
	is "$secret is in no argument" "$(grep -cF -- "$secret" <<<"$seen")" 0
	is "$secret is in no message and not in the sandbox" "$(grep -cF -- "$secret" "$TMP/out")" 0
	is "$secret is in no file of ours" "$(grep -rlF -- "$secret" "$TMP/state.root" "$TMP/work.root")" ''
	is "$secret is not in the container" "$(docker_cli inspect "$(docker_ours)" | grep -cF -- "$secret")" 0
	is "$secret is not in a plan" "$(DOCKER_CONFIG=$config as root "$LAUNCH" explain --policy "$file" --format json -- true 2>&1 | grep -cF -- "$secret")" 0
done
kill -TERM "$launcher"
wait "$launcher"

# --- where they lie is covered, and no mount shows it
file=$(docker_policy covered <<Y
level: baseline@1
process: {user: "1000:1000"}
fs: {mounts: [{src: $config, dst: /mnt/config, access: ro}]}
Y
)
status_is "a folder with them in it: the file is covered" 0 \
	with -- sh -c 'cat /mnt/config/config.json'
unlike "and shows nothing" "$out" auths
chmod 644 "$config/config.json"
like "which a run without DOCKER_CONFIG shows (sibling)" "$(run -- cat /mnt/config/config.json 2>&1)" auths
is "nothing is left" "$(docker_ours)" ''
done_testing
