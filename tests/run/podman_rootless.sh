#!/bin/bash
# podman as an ordinary user has it: without root, in a user namespace of ids that are lent to the account.
# The account, its ids and its storage are of this test's own: it runs in namespaces of mounts and processes,
# where its files lie over the host's, and all that it starts ends with them.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
apart=(unshare --mount --pid --fork --kill-child --mount-proc)
if [ -z "${HL_ROOTLESS_APART:-}" ] && [ "$(id -u)" = 0 ] && "${apart[@]}" true 2>/dev/null; then
	HL_ROOTLESS_APART=1 exec "${apart[@]}" bash "$0" "$@"
fi
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=../lib/static_root.sh
. "$ROOT/tests/lib/static_root.sh"
# shellcheck source=../lib/own_service.sh
. "$ROOT/tests/lib/own_service.sh"
# shellcheck source=../lib/groups.sh
. "$ROOT/tests/lib/groups.sh"

missing=
for program in podman conmon runc newuidmap newgidmap busybox bash-static setpriv; do
	command -v "$program" >/dev/null || [ -x "/bin/$program" ] || missing="$missing $program"
done
[ -n "${HL_ROOTLESS_APART:-}" ] || missing=" root, and namespaces of mounts and processes"
if [ -n "$missing" ]; then
	skip "podman without root" "there is no$missing"
	done_testing
	exit
fi

# --- the account
account=hl-rootless-test uid=61327 lent=1500000000 lent_len=65536
getent passwd "$uid" >/dev/null && fail "a number for an account" "$uid is somebody's"
home=$TMP/account runtime=/run/user/$uid state=$TMP/account.state work=$TMP/account.work
made=()
a_group=hl-rootless-$$-$RANDOM
trap 'groups_take "$a_group"; rm -rf "$TMP"; [ ${#made[@]} = 0 ] || rm -f "${made[@]}"' EXIT
mkdir -p "$TMP/etc" /run/user
mount --make-rshared / # as a service manager has it, for podman; of this namespace alone
lend() { # LINE...: the ranges of all accounts
	printf '%s\n' "$@" >/etc/subuid
	printf '%s\n' "$@" >/etc/subgid
}
for file in passwd group subuid subgid; do
	[ -e "/etc/$file" ] || { : >"/etc/$file" && made+=("/etc/$file"); }
	cp "/etc/$file" "$TMP/etc/$file"
	mount --bind "$TMP/etc/$file" "/etc/$file"
done
echo "$account:x:$uid:$uid::$home:/bin/sh" >>/etc/passwd
echo "$account:x:$uid:" >>/etc/group
echo "$account-more:x:$((uid + 1)):$account" >>/etc/group
lend "$account:$lent:$lent_len"
mount -t tmpfs -o mode=755 none /run/user
mkdir -p "$home/.config/containers" "$state" "$work" "$runtime"

# A runtime that tells one thing and does another, where lie says so (docker_lies.sh has more of them).
lie=$TMP/lie
cat >"$TMP/liar" <<Y
#!/bin/sh
[ ! -s "$lie" ] || python3 "$TMP/liar.py" "$lie" "\$@" || exit 1
exec $(command -v runc) "\$@"
Y
chmod 755 "$TMP/liar"
cat >"$TMP/liar.py" <<'Y'
import json
import os
import sys

words = sys.argv[2:]
if "create" in words:
    path = os.path.join(words[words.index("--bundle") + 1], "config.json")
    with open(path) as file:
        config = json.load(file)
    process, linux = config["process"], config["linux"]
    with open(sys.argv[1]) as file:
        exec(file.read())
    with open(path, "w") as file:
        json.dump(config, file)
Y
: >"$lie"
configure() { # DRIVER
	printf '[storage]\ndriver = "%s"\n' "$1" >"$home/.config/containers/storage.conf"
	printf '[engine]\ncgroup_manager = "cgroupfs"\nruntime = "%s"\nevents_logger = "none"\n' "$TMP/liar" \
		>"$home/.config/containers/containers.conf"
	echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$home/.config/containers/policy.json"
	chown -R "$uid:$uid" "$home" "$state" "$work" "$runtime"
	chmod 700 "$home" "$state" "$runtime"
}

# me COMMAND...: as the account, as it would be after a login; in the group that is given to it, where one is
me_exec() {
	cd "$work" || exit 1
	[ -z "$given" ] || groups_enter "$given" || exit 99
	exec setpriv --reuid="$uid" --regid="$uid" --init-groups --inh-caps=-all env -i PATH="$PATH" \
		HOME="$home" XDG_RUNTIME_DIR="$runtime" HERMES_LAUNCH_STATE="$state" ${engine:+CONTAINER_HOST=$engine} "$@"
}
me() { (me_exec "$@"); }
engine=
given=
cli() { me podman "$@"; }
image() {
	local root=$TMP/root
	static_root "$root"
	mkdir -p "$root/keep"
	chmod 1777 "$root/keep"
	printf 'root:x:0:0:root:/:/bin/sh\n' >"$root/etc/passwd"
	printf 'root:x:0:\n' >"$root/etc/group"
	tar -C "$root" -cf "$TMP/image.tar" .
	chmod 644 "$TMP/image.tar"
	rm -rf "$root"
}
image
# Layers are shared where the kernel lets a user namespace mount overlayfs (Linux 5.13), else copied.
for driver in overlay vfs; do
	configure "$driver"
	cli import --change 'ENV PATH=/bin' --change 'CMD ["/bin/sh"]' "$TMP/image.tar" \
		docker.io/library/hl-test:1 >"$TMP/import" 2>&1 &&
		[ "$(cli run --rm --network none hl-test:1 echo works 2>>"$TMP/import")" = works ] && break
	driver=none
	rm -rf "$home/.local"
done
if [ "$driver" = none ]; then
	fail "podman works without root" "$(tail -n 5 "$TMP/import")"
	done_testing
	exit 1
fi
echo "# storage: $driver"

# a_policy NAME [LINE...]
a_policy() {
	local name=$1
	shift
	printf '%s\n' 'version: 1' "id: test/$name" 'level: baseline@1' 'backends: [podman]' \
		'image: {default: hl-test:1, digest: false, pull: never}' "$@" | policy "$name"
}
base=$(a_policy base)
run() { me "$LAUNCH" -q --policy "$base" "$@"; }
owner() { stat -c %u:%g "$work/$1" 2>&1; }
services() { pgrep -u "$uid" -fx '/usr/(local/)?bin/podman system service --time=0'; }
no_service() { ! services >/dev/null; }
containers() { cli ps -a --filter label=dev.hermes-launch.managed=1 --format '{{.Names}} {{.State}}' || echo "no answer"; }
none_left() { [ -z "$(containers)" ]; }
ends() {
	if wait_until 20 no_service; then pass "$1: no service is left"; else fail "$1: no service is left" "$(services)"; fi
	if wait_until 20 none_left; then pass "$1: no container is left"; else fail "$1: no container is left" "$(containers)"; fi
}

# --- who the command is
status_is "a run" 42 run -- sh -c 'exit 42'
is "the command is the caller" "$(run -- sh -c 'echo $(id -u) $(id -g)')" "$uid $uid"
status_is "U53 it writes in the working directory" 0 run -- sh -c 'umask 077; echo made >made; mkdir -p down/further; chmod 4755 down; ln -s made link'
is "U53 what it makes is the caller's" "$(owner made) $(owner down/further) $(owner link)" "$uid:$uid $uid:$uid $uid:$uid"
is "U53 and inside as well" "$(run -- stat -c %u:%g made)" "$uid:$uid"
echo mine >"$work/mine"
chown "$uid:$uid" "$work/mine"
chmod 600 "$work/mine"
is "U53 it reads what is the caller's alone" "$(run -- cat mine)" mine
echo roots >"$work/roots"
chmod 600 "$work/roots"
status_is "and nothing else" 1 run -- cat roots
echo groups >"$work/groups"
chown "0:$((uid + 1))" "$work/groups"
chmod 640 "$work/groups"
is "what a group of the account's may read" "$(me cat groups)" groups
status_is "is not for the command" 1 run -- cat groups
is "nor is the group" "$(run -- id -G)" "$uid"
status_is "U53 podman does otherwise unless it is told (sibling)" 1 cli run --rm --network none --user "$uid:$uid" \
	-v "$work:/work" hl-test:1 touch /work/not-made
like "U53 which an ordinary program tells so" "$out" 'Permission denied'
like "the ids are kept in a namespace of the container's own" "$(run -- cat /proc/self/uid_map | tr -s ' ')" "^ ?$uid 0 1\$"
is "explain says it" "$(me "$LAUNCH" explain --format argv --policy "$base" -- true | grep -A1 -xF -e --userns | tr '\n' ' ')" '--userns keep-id '
like "and whose the engine is" "$(me "$LAUNCH" explain --policy "$base" -- true)" "runs as +user $uid, without root"

required=$(a_policy required 'docker: {rootless: required}')
needs() { me "$LAUNCH" -q --policy "$required" -- echo begun; }
is "an engine without root may be required, and is one" "$(needs)" begun
like "explain says by which line" "$(me "$LAUNCH" explain --policy "$required" -- true)" 'rootless +required .*required\.yaml:[0-9]+'
is "root in the container is not root here" "$(me "$LAUNCH" -q --policy "$(a_policy rootneeds 'docker: {rootless: required}' \
	'process: {user: "0:0", allow_root: true}')" -- id -u)" 0

numbers=$(a_policy numbers 'process: {user: "1000:1000"}')
status_is "another user than the caller" 1 me "$LAUNCH" --policy "$numbers" -- touch other
like "is told to be one that is lent, and what that means" "$out" "1000:1000 is an id that is lent to its account $uid, and cannot write"
chmod 1777 "$work"
status_is "where all may write it may, and nothing is told (sibling)" 0 me "$LAUNCH" -q --policy "$numbers" -- touch other
is "its files are the lent id's" "$(owner other)" "$((lent + 999)):$((lent + 999))"
chmod 755 "$work"
root=$(a_policy root 'process: {user: "0:0", allow_root: true}')
is "root in the container" "$(me "$LAUNCH" -q --policy "$root" -- sh -c 'id -u; touch by-root' 2>/dev/null)" 0
is "is the caller outside" "$(owner by-root)" "$uid:$uid"

# --- an engine that does something else
lies() { # NAME SUBJECT PYTHON
	printf '%s\n' "$3" >"$lie"
	status_is "$1 is found" 125 run -- echo begun
	like "$1: what is wrong" "$out" "$2"
	unlike "$1: nothing was started" "$out" '^begun'
	: >"$lie"
}
# The caller is there, and the command is the one beside them.
swapped="[{'containerID': 0, 'hostID': 1, 'size': $((uid - 1))}, {'containerID': $((uid - 1)), 'hostID': 0, 'size': 1}, {'containerID': $uid, 'hostID': $uid, 'size': 1}]"
lies "U53 ids that are not kept" 'not the caller.*HLB-53' \
	"linux['uidMappings'] = $swapped"
lies "U53 a group that is not kept" 'not the caller.*HLB-53' \
	"linux['gidMappings'] = $swapped"
lies "another user" 'Uid: *.*HLB-02' "process['user']['uid'] = 0"
lies "no filter of system calls" 'Seccomp: *.*HLB-02' "del linux['seccomp']"
lies "a directory of the host" 'not asked for.*HLB-02' \
	"config['mounts'].append({'destination': '/mnt', 'type': 'bind', 'source': '/etc', 'options': ['rbind', 'ro']})"
lies "U32 another limit of processes" 'limits.pids.*HLB-02' \
	"[limit.update(hard=9000, soft=9000) for limit in process['rlimits'] if limit['type'] == 'RLIMIT_NPROC']"
is "the same engine, honest again (sibling)" "$(run -- echo begun)" begun

# --- limits
few=$(a_policy few 'limits: {pids: 20}')
many='i=0; while [ $i -lt 15 ]; do sleep 3 & i=$((i + 1)); done; echo fifteen; sleep 1'
me_exec "$LAUNCH" -q --policy "$few" -- sh -c "$many" >"$TMP/first" &
first=$!
wait_until 20 test -s "$TMP/first"
is "limits.pids counts each container by itself" "$(me "$LAUNCH" -q --policy "$few" -- sh -c "$many")" fifteen
wait "$first"
is "both of them" "$(cat "$TMP/first")" fifteen
status_is "and holds" 2 me "$LAUNCH" -q --policy "$few" -- sh -c "${many//15/25}"
is "which it does not with a higher one (sibling)" \
	"$(sed 's/pids: 20/pids: 60/' "$few" | policy more >/dev/null; me "$LAUNCH" -q --policy "$TMP/policy/more.yaml" -- sh -c "${many//15/25}")" fifteen
memory=$(a_policy memory 'limits: {memory: 64MiB, cpus: 1}')
without=$(a_policy without 'limits: {memory: 64MiB, cpus: 1}' 'degrade: {allow: [limits.memory, limits.cpus]}')
is_unified=false
[ "$(stat -f -c %T /sys/fs/cgroup)" != cgroup2fs ] || is_unified=true
if $is_unified; then
	# As a service manager gives one to a login session (Delegate=).
	given=$a_group
	if groups_give "$given" "$uid"; then pass "U32 the account is given a group"; else fail "U32 the account is given a group"; fi
	status_is "U32 limits that this group gives" 0 me "$LAUNCH" -q --policy "$memory" --result limited -- cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max
	is "U32 are the kernel's" "$out" $'67108864\n100000 100000'
	like "U32 and told" "$(cat "$work/limited")" '"degraded":\[\],"limits_applied":\["limits.cpus","limits.memory"'
	status_is "U32 memory ends at the limit" 137 me "$LAUNCH" --policy "$memory" -- sh -c 'exec tail /dev/zero'
	like "U32 which is told" "$out" 'HLB-55'
	cli system migrate >/dev/null 2>&1
	given=
fi
# Whatever was possible in another group, here it is not.
status_is "U31 a limit that this engine does not have is refused" 125 me "$LAUNCH" --policy "$memory" -- echo begun
like "U31 with its code, and what is to be done" "$(tr '\n' ' ' <<<"$out")" \
	"limits\.(memory|cpus) cannot be applied.*HLD-01.*$($is_unified && echo 'Delegate=' || echo unified_cgroup_hierarchy).*endpoint.*degrade"
unlike "U31 nothing was started" "$out" '^begun'
if ! $is_unified; then # without asking the engine
	status_is "U31 explain says so before" 0 me "$LAUNCH" explain --policy "$memory" -- true
	like "U31 in the place of the value" "$out" 'limits\.memory +engine +not applied here'
fi
status_is "U31 a policy that can do without (sibling)" 0 me "$LAUNCH" --policy "$without" -- echo begun
like "U31 is told each time" "$out" 'degraded: limits.memory is not applied: .*HLD-01'
like "U31 and recorded" "$(me "$LAUNCH" audit show | grep degraded)" 'control=limits.memory'
low() { (ulimit -n 300 && run -- sh -c 'ulimit -n'); }
is "an account with low limits of its own: ours are no higher" "$(low)" 300
status_is "the host's network is refused" 125 me "$LAUNCH" -q --policy "$(a_policy net 'level: open@1' 'network: {mode: host}' | xargs sed -i '3d;$!b' && echo "$TMP/policy/net.yaml")" -- true
like "with the cause" "$out" "network.mode cannot be applied.*/sys.*HLD-01"

# --- it ends
# The first start of a login makes the namespace: what is told to end then ends as well.
cli system migrate >/dev/null 2>&1
status_is "the first run of a login" 0 run -- true
ends "the first run of a login"
began() { [ -n "$(cli ps -q --filter label=dev.hermes-launch.managed=1)" ]; }
begin() {
	me_exec "$LAUNCH" -q --policy "$base" -- sleep 60 >"$TMP/out" 2>&1 &
	launcher=$!
	wait_until 30 began || fail "a run began" "$(cat "$TMP/out")"
}
status_is "a time that is over" 124 run --timeout 1s -- sleep 60
ends "timed out"
begin
# Fields of stat(5) behind the name: utime and stime are the 12th and the 13th.
spent() { services | sed 's|.*|/proc/&/stat|' | xargs cat 2>/dev/null | sed 's/.*) //' | awk '{ n += $12 + $13 } END { print n + 0 }'; }
before=$(spent)
sleep 2
after=$(spent)
if [ "$after" -lt $((before + 50)) ]; then pass "a run that does nothing costs nothing"; else fail "a run that does nothing costs nothing" "$((after - before)) ticks in 2 s"; fi
end_told
begin
end_killed
cli system migrate >/dev/null 2>&1
begin
end_both_killed me "$LAUNCH" gc

# --- sessions
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"exec","params":{"command":"cd /tmp; export WHERE=here; echo $WHERE >$OLDPWD/said"}}' >"$TMP/one"
printf '%s\n' '{"jsonrpc":"2.0","id":2,"method":"exec","params":{"command":"pwd; echo $WHERE; id -u"}}' \
	'{"jsonrpc":"2.0","id":3,"method":"close","params":{"wait":true}}' >"$TMP/two"
out=$({ cat "$TMP/one"; wait_until 20 test -s "$work/said"; sleep 0.5; cat "$TMP/two"; } | me "$LAUNCH" session -q --policy "$base" 2>&1)
like "a session keeps its state from call to call" "$out" "\"/tmp[^\"]*here[^\"]*${uid}[^\"]*\""
is "U53 its files are the caller's" "$(owner said)" "$uid:$uid"
ends "a session"
kept=$(a_policy kept 'fs: {root: writable}' 'session: {persist: task, reuse: identical, lease: 1h}')
call() { me "$LAUNCH" run -q --policy "$kept" --name task -c "$1"; }
status_is "a session that is kept" 0 call 'cd /tmp; export WHERE=here; echo 7 >/keep/here'
is "has its state" "$(call 'pwd; echo $WHERE')" $'/tmp\nhere'
like "ps has it" "$(me "$LAUNCH" ps)" '^task +lives +.*podman'
kill -9 "$(me "$LAUNCH" ps | awk '$1 == "task" { print $3 }')"
stopped() { containers | grep -qi exited; }
if wait_until 20 stopped; then pass "kill -9 of its keeper stops the container"; else fail "kill -9 of its keeper stops the container" "$(containers)"; fi
like "gc leaves it" "$(me "$LAUNCH" gc)" ' 0 containers'
is "the next session has its files" "$(call 'cat /keep/here; stat -c %u /keep/here')" $'7\n'"$uid"
status_is "stop" 0 me "$LAUNCH" stop task
ends "a session that was kept"

# --- an engine of the account's that is there already, by its socket
(me_exec podman system service --time=0 "unix://$runtime/engine.sock") >"$TMP/service" 2>&1 &
service=$!
wait_until 20 test -S "$runtime/engine.sock" || fail "a service of the account's" "$(cat "$TMP/service")"
engine=unix://$runtime/engine.sock
status_is "by a socket of the account's" 0 run -- sh -c 'touch by-socket'
is "U53 the caller's all the same" "$(owner by-socket)" "$uid:$uid"
is "which is what may be required" "$(needs)" begun
# Somebody of the account's who hands on, and tells of a container's process what $TMP/told holds.
: >"$TMP/told"
chmod 755 "$TMP"
python3 "$ROOT/tests/lib/forward.py" "$uid" "$runtime/between.sock" "$runtime/engine.sock" "$TMP/told" >"$TMP/between" 2>&1 &
between=$!
wait_until 20 test -S "$runtime/between.sock" || fail "somebody between listens" "$(cat "$TMP/between")"
engine=unix://$runtime/between.sock
is "somebody of the account's between (sibling)" "$(needs)" begun
echo 0 >"$TMP/told"
status_is "U53 who does not tell the process is refused" 125 run -- echo begun
like "U53 which is told" "$out" 'does not tell which process.*HLB-53'
status_is "where no root is required as well" 125 needs
like "which is told too" "$out" 'docker.rootless is required, and .*not to be seen.*HLB-53'
kill "$between"
wait "$between" 2>/dev/null
engine=unix://$runtime/engine.sock
mkdir -p "$TMP/roots" "$TMP/roots.state"
chmod 1777 "$TMP/roots"
chmod 700 "$TMP/roots.state"
status_is "another account's launcher cannot use it" 125 \
	env -C "$TMP/roots" CONTAINER_HOST="$engine" HERMES_LAUNCH_STATE="$TMP/roots.state" "$LAUNCH" --policy "$base" -- true
like "which is told with the cause" "$(tr '\n' ' ' <<<"$out")" "HLB-51.*engine is user $uid's"
kill "$service"
wait "$service" 2>/dev/null
engine=

# --- an engine of root's that the account may use: there the caller is the caller without more
cat >"$TMP/etc/containers.conf" <<Y
[engine]
cgroup_manager = "cgroupfs"
runtime = "$TMP/liar"
events_logger = "none"
tmp_dir = "$TMP/rootful/tmp"
Y
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/data"\nrunroot = "%s/run"\n' "$TMP/rootful" "$TMP/rootful" >"$TMP/etc/storage.conf"
rootful() {
	(cd "$TMP/rootful" && CONTAINERS_CONF=$TMP/etc/containers.conf CONTAINERS_STORAGE_CONF=$TMP/etc/storage.conf exec podman "$@")
}
mkdir -p "$TMP/rootful/tmp"
rootful import --change 'ENV PATH=/bin' --change 'CMD ["/bin/sh"]' "$TMP/image.tar" docker.io/library/hl-test:1 >"$TMP/import" 2>&1 ||
	fail "an image for root's engine" "$(cat "$TMP/import")"
rootful system service --time=0 "unix://$TMP/rootful.sock" >"$TMP/service" 2>&1 &
service=$!
wait_until 20 test -S "$TMP/rootful.sock" || fail "a service of root's" "$(cat "$TMP/service")"
chmod 666 "$TMP/rootful.sock"
engine=unix://$TMP/rootful.sock
status_is "by a socket of root's" 0 run -- sh -c 'touch by-rootful'
is "the caller's as well" "$(owner by-rootful)" "$uid:$uid"
status_is "which is refused where it has to be without root" 125 needs
like "by the kernel's word" "$out" "docker.rootless cannot be applied.*the engine is root's.*HLD-01"
unlike "with nothing to map" "$(me "$LAUNCH" explain --policy "$base" -- true)" 'userns|without root'
lies "U53 users that root's engine maps" "not the caller $uid:$uid on this host, but $lent:$uid.*HLB-53" \
	"linux['namespaces'].append({'type': 'user'}); linux['uidMappings'] = [{'containerID': 0, 'hostID': 0, 'size': 1000}, {'containerID': $uid, 'hostID': $lent, 'size': 1}]; linux['gidMappings'] = [{'containerID': 0, 'hostID': 0, 'size': 65536}]"
kill "$service"
wait "$service" 2>/dev/null
engine=

# --- doctor, and an account that nothing is lent to
out=$(me "$LAUNCH" doctor --policy "$base")
like "doctor says what there is" "$out" "podman without root +ok +$lent_len ids are lent to '$account'"
unlike "and needs nothing more" "$out" 'needed'
out=$(me "$LAUNCH" doctor --policy "$memory")
$is_unified ||
	like "and what a policy needs, with what mends it" "$(grep -A1 '^limits.memory' <<<"$out")" 'mend +boot with systemd.unified_cgroup_hierarchy=1'
cli system migrate >/dev/null 2>&1
lend "somebody-else:$lent:$lent_len"
out=$(me "$LAUNCH" doctor)
like "without a range it says what mends that" "$(grep -A1 '^podman without root' <<<"$out" | tr '\n' ' ')" 'gap +no ids are lent.*mend +usermod --add-subuids'
status_is "and a run is refused" 125 run -- true
like "with the same words" "$(tr '\n' ' ' <<<"$out")" '(subuid|subordinate).*usermod --add-subuids'
lend "$account:$lent:$lent_len"
cli system migrate >/dev/null 2>&1
status_is "with its range again all is well (sibling)" 0 run -- true
ends "the end"
done_testing
