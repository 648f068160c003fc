#!/bin/bash
# import hermes: config.yaml and variables in, a policy that the other verbs take out, everything that has
# no counterpart told, and no secret anywhere.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

cd "$TMP/policy" || exit 1
export HERMES_LAUNCH_STATE=$TMP/state HERMES_HOME=$TMP/hermes
host_policies "$TMP/nowhere"
mkdir -m 700 "$TMP/state" "$TMP/hermes"
unset "${!TERMINAL_@}" SUDO_PASSWORD

# import OPTION...: the policy in $made and imported.yaml, what is told in $told, the status in $status
import() {
	status=0
	made=$("$LAUNCH" import hermes "$@" 2>"$TMP/told") || status=$?
	told=$(cat "$TMP/told")
	printf '%s\n' "$made" >imported.yaml
	chmod 644 imported.yaml
}

cat >"$HERMES_HOME/config.yaml" <<'Y'
model: {default: some/model, api_key: sentinel-model}
agent:
  system_prompt: |
    Many lines, with "backend: local" in them.

    And emptiness.
terminal:
  backend: docker
  timeout: 120
  docker_image: registry.example/agent:1
  docker_volumes: ["/srv/data:/data:ro", "/var/run/docker.sock:/var/run/docker.sock"]
  docker_env: {BUILD_KIND: sentinel-env, GITHUB_TOKEN: sentinel-token}
  docker_forward_env: [CI, OPENAI_API_KEY]
  docker_extra_args: ["--cap-add", "SYS_ADMIN", "--cpus=0.5", "-e", "X=sentinel-extra", "--frobnicate=sentinel-unknown", "--log-opt=token=sentinel-log", "--health-cmd", "sentinel-health"]
  docker_mount_cwd_to_workspace: true
  sudo_password: sentinel-sudo
  container_disk: 51200
  brand_new_setting: sentinel-new
proxy:
  enabled: false
Y

import
is "the file of HERMES_HOME is read" "$status" 0
status_is "the policy has no finding" 0 "$LAUNCH" policy check --fail-on warning imported.yaml
status_is "it is in canonical form" 0 "$LAUNCH" policy fmt --check imported.yaml
status_is "it is a policy" 0 "$LAUNCH" policy show imported.yaml
like "show: the image" "$out" 'registry.example/agent:1'
unlike "no secret in the policy" "$made" sentinel
unlike "no secret in what is told" "$told" sentinel
like "a limit of time" "$made" '^  wall: \{max: 10m, default: 2m\}$'
like "a mount" "$made" '^    - \{src: /srv/data, dst: /data, access: ro\}$'
unlike "no engine socket" "$made" docker.sock
like "the names of variables pass, but not the protected ones" "$made" '^  pass: \[LANG, "LC_\*", TERM, TZ, BUILD_KIND, CI\]$'
for name in terminal.docker_volumes terminal.docker_env terminal.docker_forward_env terminal.docker_image \
	terminal.docker_extra_args terminal.sudo_password terminal.container_disk terminal.brand_new_setting; do
	like "told: $name" "$told" "^hermes-launch: $name: "
done
like "an argument outside the policy has its code" "$told" 'docker_extra_args: .*cap-add=SYS_ADMIN.*\[HLC-12\]'
like "an argument that nobody knows, too" "$told" 'docker_extra_args: .*--frobnicate.*\[HLC-03\]'
like "an argument with a value that may be a credential" "$told" 'docker_extra_args: --engine-arg=--log-opt is outside'
unlike "an argument inside is not told as one outside" "$told" 'cpus=0.5 is outside'
status_is "an argument inside is taken by run's own judgement" 0 "$LAUNCH" policy why -p imported.yaml --arg=--cpus=0.5
status_is "an argument outside is not" 1 "$LAUNCH" policy why -p imported.yaml --arg=--cap-add=SYS_ADMIN

as_stderr=$told
import --comments
is "--comments: nothing on standard error" "$told" ""
is "--comments: each note is a comment" "$(grep -c '^# [A-Za-z_.]*[:,] ' imported.yaml)" "$(grep -c '^hermes-launch: ' <<<"$as_stderr")"
status_is "--comments: still a policy" 0 "$LAUNCH" policy check --fail-on warning imported.yaml
status_is "--comments: still in canonical form" 0 "$LAUNCH" policy fmt --check imported.yaml
import -q
is "--quiet: no notes" "$told" ""

# Every backend, by the file and by a variable; the imported policy says that and nothing else.
for pair in local:local docker:docker singularity:singularity ssh:ssh modal:modal daytona:daytona vercel_sandbox:vercel; do
	printf 'terminal:\n  backend: %s\n' "${pair%:*}" >config.yaml
	import --config config.yaml
	like "${pair%:*}: the backend" "$made" "^backends: \\[${pair#*:}\\]\$"
	status_is "${pair%:*}: the policy has no finding" 0 "$LAUNCH" policy check --fail-on warning imported.yaml
	TERMINAL_ENV=${pair%:*} import --config /dev/null --env-file environment
	like "${pair%:*}: by a variable" "$made" "^backends: \\[${pair#*:}\\]\$"
done
printf 'terminal:\n  backend: kubernetes\n' >config.yaml
import --config config.yaml
is "an unknown backend is 78" "$status" 78
is "an unknown backend: nothing is printed" "$made" ""
like "an unknown backend: code and place" "$told" '^hermes-launch: .*config.yaml:2:12: .*\[HLU-42\]$'
TERMINAL_ENV=kubernetes import --config /dev/null --env-file environment
is "an unknown backend of a variable is 78" "$status" 78
import --config /dev/null
like "no backend at all is told" "$told" 'terminal.backend: not given, and no variables were read'

printf 'export TERMINAL_ENV="docker"\nOPENAI_API_KEY=sentinel\nTERMINAL_DOCKER_VOLUMES='"'"'["/a:/b"]'"'"' # x\nSUDO_PASSWORD=sentinel\n' >hermes.env
import --config /dev/null --env-file hermes.env
like "a .env file" "$made" 'src: /a, dst: /b'
like "a .env file: a password is told" "$told" '^hermes-launch: SUDO_PASSWORD: never taken over'
unlike "a .env file: no secret" "$made$told" sentinel
printf 'TERMINAL_ENV=docker\nTERMINAL_TIMEOUT='"'"'sentinel\n' >hermes.env
import --config /dev/null --env-file hermes.env
is "a .env file with half a quote is 78" "$status" 78
like "a .env file with half a quote: the place" "$told" 'hermes.env:2:1: .*\[HLU-40\]'
unlike "a .env file with half a quote: not shown" "$told" sentinel
printf 'terminal: {backend: docker, timeout: sentinel}\n' >config.yaml
import --config config.yaml
is "a value that says nothing is 78" "$status" 78
like "a value that says nothing: the code" "$told" 'terminal.timeout must be a whole number of seconds.*\[HLU-41\]'
unlike "a value that says nothing: not shown" "$told" sentinel
import --config absent.yaml
is "no file is 66" "$status" 66
rm "$HERMES_HOME/config.yaml"
import
is "no file where hermes-agent has it is 66" "$status" 66
TERMINAL_ENV=docker import --env-file environment
is "no file, but variables" "$status" 0
import "$HERMES_HOME"
is "an operand is 64" "$status" 64

# What is imported runs: the command is confined as the policy says, and goes where the setting says.
set -- $CALLERS
mkdir -p "$TMP/work.$1/project"
printf 'terminal:\n  backend: local\n  cwd: %s\n  timeout: 5\n  env_passthrough: [IMPORTED_NAME]\n' "$TMP/work.$1/project" >config.yaml
import --config config.yaml
cp imported.yaml "$TMP/policy/run.yaml"
chmod 644 "$TMP/policy/run.yaml"
IMPORTED_NAME=passes OTHER_NAME=does-not status_is "run: it runs" 0 as "$1" "$LAUNCH" run -q -p "$TMP/policy/run.yaml" \
	-c 'pwd; echo "$IMPORTED_NAME/$OTHER_NAME"; wc -l </proc/net/dev'
is "run: directory, variables, network" "$out" "$TMP/work.$1/project
passes/
3"

done_testing
