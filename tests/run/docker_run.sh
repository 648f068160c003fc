#!/bin/bash
# Runs in a container of a real engine: what the command sees, may and may not, how it ends, and that
# nothing of it is left.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/engine.sh
. "$ROOT/tests/lib/engine.sh"
docker_begin

base=$(docker_policy base <<'Y'
level: baseline@1
process: {user: "1000:1000"}
fs:
  root: read_only
  tmpfs:
    - {dst: /tmp, size: 16MiB, exec: true, mode: "1777"}
    - {dst: /scratch, size: 16MiB, exec: false, mode: "1777"}
    - {dst: /run, size: 1MiB, exec: false, mode: "755"}
limits: {pids: 64, memory: 128MiB, cpus: 0.5, files: 256}
Y
)
token=$(
	sed 's/^id: .*/id: test\/token/' "$base" | cat - <(echo 'env: {pass: [GITLAB_TOKEN]}') | policy token
)
run() { as root "$LAUNCH" --policy "$base" "$@"; }
inside() { out=$(run -- sh -c "$1" 2>"$TMP/err"); }

# --- contract
for code in 0 1 7 125 126 127 137 255; do
	status_is "U73 exit $code is the command's own" "$code" run -- sh -c "exit $code"
done
inside 'printf "a b"'
is "standard output is exact" "$out" 'a b'
out=$(run -- sh -c 'echo x >&2' 2>&1 >/dev/null)
is "standard error is its own stream" "$out" x
is "standard input reaches the command" "$(printf 'l1\nl2' | run -- cat)" $'l1\nl2'
status_is "127: no such program" 127 run -- no-such-program
like "U73 and it is told whose number that is" "$out" 'HLB-04'
status_is "a signal is 128 and its number" 143 run -- sh -c 'kill -TERM $$'
is "arguments are exact" "$(run -- printf '%s|' 'a b' 'c;id' "it's" '')" "a b|c;id|it's||"
is "20 MiB are all there" "$(run -- head -c 20971520 /dev/zero | wc -c)" 20971520
result=$TMP/result
run --result "$result" -- sh -c 'exit 125' 2>/dev/null
like "U73 the result says that it was the command's" "$(cat "$result")" '"stage":"command"'

# --- who it is
inside 'id -u; id -g; cat /proc/self/status'
like "the user" "$(head -n 2 <<<"$out" | tr '\n' ' ')" '^1000 1000 $'
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
	like "U25 $set is empty" "$out" "^$set:[[:space:]]+0000000000000000$"
done
like "no_new_privs" "$out" '^NoNewPrivs:[[:space:]]+1$'
like "a filter of system calls" "$out" '^Seccomp:[[:space:]]+2$'
is "the runner is process 1" "$(run -- cat /proc/1/comm)" .hermes-runner
is "the runner has no command in its arguments" \
	"$(run -- sh -c 'tr "\0" " " </proc/1/cmdline')" '/.hermes-runner --stdio '
status_is "the root is read-only" 1 run -- sh -c 'echo x >/bin/x'
is "there is no network but loopback" "$(run -- sh -c 'ls /sys/class/net')" lo
like "the image's variables are below ours" "$(run -- env)" '^FROM_IMAGE=yes$'
is "the host name is fixed" "$(run -- hostname)" hermes

# --- files
status_is "U28 exec where the policy says exec" 0 \
	run -- sh -c 'cp /bin/busybox /tmp/busybox && /tmp/busybox true'
status_is "U28 noexec where it says not" 126 \
	run -- sh -c 'cp /bin/busybox /scratch/busybox && /scratch/busybox true'
status_is "U29 a private file system can be written by its user" 0 run -- touch /scratch/a /tmp/a
status_is "U29 one that is for root cannot" 1 run -- touch /run/a
status_is "a size is a limit" 1 run -- sh -c 'head -c 33554432 /dev/zero >/scratch/a'
status_is "the home is there and is private" 0 run -- sh -c 'cd && touch a && [ "$(stat -c %a .)" = '"$docker_home_mode ]"
for cwd in "$TMP/work.root/none" rel/x '/workspace/..???' /proc/self/fd/7; do
	status_is "U38 U40 a working directory that is none: $cwd" 125 run --cwd "$cwd" -- true
done
# Only the empty directory that keeps a command from leaving a policy there.
is "U38 nothing was made" "$(ls -A "$TMP/work.root")$(ls -A "$TMP/work.root/.hermes")" .hermes

mkdir -p "$TMP/work.root/in" "$TMP/m/a:b" "$TMP/m/a,b" "$TMP/m/a b" "$TMP/m/q\"x'y"
chmod -R 777 "$TMP/work.root" "$TMP/m"
i=0
for name in 'a:b' 'a,b' 'a b' "q\"x'y"; do
	i=$((i + 1))
	mounts=$(docker_policy "mount$i" <<Y
level: baseline@1
process: {user: "1000:1000"}
fs:
  mounts:
    - {src: '$TMP/m/${name//\'/\'\'}', dst: /data, access: rw}
Y
	)
	status_is "U34 a source named <$name>" 0 \
		as root "$LAUNCH" --policy "$mounts" -- sh -c 'echo here >/data/file'
	is "U34 is the one that was meant <$name>" "$(cat "$TMP/m/$name/file")" here
done
read_only=$(docker_policy read-only <<Y
level: baseline@1
process: {user: "1000:1000"}
fs:
  mounts: [{src: '$TMP/m/a b', dst: /data, access: ro}]
Y
)
status_is "a read-only mount" 1 as root "$LAUNCH" --policy "$read_only" -- sh -c 'echo x >/data/n'
missing=$(docker_policy missing <<Y
level: baseline@1
process: {user: "1000:1000"}
fs:
  mounts: [{src: '$TMP/m/no/such.crt', dst: /etc/ca.crt, access: ro}]
Y
)
status_is "U35 a source that is missing is refused" 125 as root "$LAUNCH" --policy "$missing" -- true
status_is "U35 and is not made" 1 test -e "$TMP/m/no"

mkdir -p "$TMP/work.root/secret" "$TMP/work.root/open"
echo hidden >"$TMP/work.root/secret/key"
echo shown >"$TMP/work.root/open/key"
chmod -R a+rX "$TMP/work.root"
deny=$(docker_policy deny <<Y
level: baseline@1
process: {user: "1000:1000"}
fs:
  deny: ['$TMP/work.root/secret']
Y
)
at=$(as root "$LAUNCH" --policy "$deny" -- pwd)
out=$(as root "$LAUNCH" --policy "$deny" -- sh -c 'ls secret; echo x >secret/n' 2>&1)
like "U118 a covered directory is empty and read-only" "$out" 'Read-only'
unlike "and shows nothing" "$out" key
is "its neighbour is there (sibling)" "$(as root "$LAUNCH" --policy "$deny" -- cat "$at/open/key")" shown

# --- devices
node=/dev/hl-test-$$
if mknod -m 666 "$node" c 10 200 2>/dev/null && (exec 3<>"$node") 2>/dev/null; then
	trap 'docker_down; rm -rf "$TMP" "$node"' EXIT
	device=$(docker_policy device <<Y
level: baseline@1
process: {user: "1000:1000"}
fs: {devices: [$node]}
Y
	)
	like "a device that the policy does not name is not there" \
		"$(run -- sh -c "exec 3<>$node" 2>&1)" "No such file|nonexistent|Permission|Read-only"
	status_is "and one that it names can be used (sibling)" 0 \
		as root "$LAUNCH" --policy "$device" -- sh -c "exec 3<>$node"
	is "as the host's" "$(as root "$LAUNCH" --policy "$device" -- stat -c '%t:%T %a' "$node")" 'a:c8 666'
	status_is "one that is not its own cannot be made of it" 1 \
		as root "$LAUNCH" --policy "$device" -- mknod /tmp/node c 10 200
	status_is "--device on the command line is a loosening" 125 \
		as root "$LAUNCH" --policy "$base" --engine-arg="--device=$node" -- true
	like "and is told so" "$out" 'fs.devices.*HLC-15'
	status_is "one that the policy has already is not" 0 \
		as root "$LAUNCH" --policy "$device" --engine-arg="--device=$node" -- sh -c "exec 3<>$node"
else
	skip "devices" "no node of one can be made and opened here"
fi
rm -f "$node"

# --- limits
out=$(run -- sh -c 'cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null')
is "U32 the kernel has the limit" "$out" 64
# The shell's own fork fails at the limit: what started before it is counted.
out=$(run -- sh -c 'for i in $(seq 100); do sleep 5 & done; wait' 2>&1)
like "U32 processes end at the limit" "$out" "fork|Resource temporarily"
out=$(run -- sh -c 'for i in $(seq 20); do sleep 0 & done; wait; echo all' 2>&1)
is "U32 and do not below it (sibling)" "$out" all
is "open files" "$(run -- sh -c 'ulimit -n')" 256
is "no core files, and no program of core_pattern" "$(run -- sed -n "s/^Max core file size *\([0-9]*\) .*/\1/p" /proc/self/limits)" 1
out=$(run --result "$result" -- sh -c 'x=$(head -c 400000000 /dev/zero | tr "\0" x); echo $?' 2>&1)
like "memory ends at the limit, and it is told" "$out" 'HLB-55'
status_is "a time limit" 124 run --timeout 1s -- sleep 60

# --- nothing private on the way
export GITLAB_TOKEN=S3CRET-777-of-test
as root "$LAUNCH" --policy "$token" -- true 2>/dev/null # the limits are tried here, not below
as root "$LAUNCH" --policy "$token" -- \
	sh -c 'printf %s "$GITLAB_TOKEN" >/tmp/t; sleep 12; cat /tmp/t; cat /proc/1/environ' \
	>"$TMP/secret.out" 2>"$TMP/err" &
pid=$!
wait_until 30 docker_is_running || fail "U20 a container runs" "$(cat "$TMP/err")"
sleep 2
for file in /proc/[0-9]*/cmdline; do
	{ tr '\0' ' ' <"$file"; } 2>/dev/null
	echo
done >"$TMP/cmdlines"
ls -d "${docker_kept[@]}" "$docker_dir/log" >"$TMP/kept" 2>&1
grep -rl S3CRET-777 "${docker_kept[@]}" "$docker_dir/log" >"$TMP/found" 2>/dev/null
if docker_is_running; then pass "U20 it ran while it was looked at"; else fail "U20 it ran while it was looked at"; fi
wait "$pid"
unset GITLAB_TOKEN
is "U20 U92 the command has the value, process 1 has not" "$(cat "$TMP/secret.out")" S3CRET-777-of-test
unlike "U20 it is in no argument" "$(grep -v grep "$TMP/cmdlines")" 'S3CRET-777'
is "U92 the engine's disk was looked at" "$(cat "$TMP/kept")" "$(printf '%s\n' "${docker_kept[@]}" "$docker_dir/log" | sort)"
is "U92 it is nowhere on the engine's disk" "$(cat "$TMP/found")" ''
is "U92 nor in the state directory" "$(grep -rl S3CRET-777 "$TMP/state.root" 2>/dev/null)" ''

# --- capabilities of a root command
root_caps() {
	docker_policy "$1" <<Y
level: open@1
process: {user: "0:0", allow_root: true, no_new_privs: true, caps: $2}
Y
}
none=$(root_caps none '[]')
drop=$(root_caps drop '[SETUID, SETGID]')
status_is "U23 a root command without SETUID cannot become another" 1 \
	as root "$LAUNCH" --policy "$none" -- su -s /bin/sh -c id nobody
status_is "U23 with SETUID and SETGID it can (sibling)" 0 \
	as root "$LAUNCH" --policy "$drop" -- su -s /bin/sh -c id nobody
like "U23 and becomes it" "$out" 'uid=65534'
like "U23 NoNewPrivs stays" "$(as root "$LAUNCH" --policy "$drop" -- cat /proc/self/status)" \
	'^NoNewPrivs:[[:space:]]+1$'
like "explain says what is added" "$(as root "$LAUNCH" explain --policy "$drop" -- true)" 'CAP_SETUID'

is "nothing is left" "$(docker_ours)" ''
done_testing
