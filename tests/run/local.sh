#!/bin/bash
# The native sandbox from outside: limits that the kernel keeps, nothing left after any end, what is
# visible at each level, and what makes it refuse to start.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

# local_policy NAME [LINES]
local_policy() {
	{
		printf 'version: 1\nid: local/%s\nlevel: baseline@1\nbackends: [local]\n' "$1"
		cat
	} | policy "$1"
}
plain=$(local_policy plain </dev/null)
few=$(local_policy few <<<'limits: {pids: 20}')
memory=$(local_policy memory <<<'limits: {memory: 64MiB}')
soft=$(local_policy soft <<'Y'
limits: {memory: 64MiB, cpus: 0.5}
degrade: {allow: [limits.memory, limits.cpus]}
Y
)
strict=$(local_policy strict <<<'local: {isolation: strict}')
proxy=$(local_policy proxy <<<'network: {mode: proxy}')
rooted=$(local_policy rooted <<<'process: {allow_root: true}')
private=$(local_policy private <<<'process: {umask: "077"}')
unprotected=$(local_policy unprotected <<<'fs: {protect: []}')
denied=$(local_policy denied <<<'process: {seccomp: {deny: [mkdir, mkdirat]}}')
scrub=$(policy scrub <<'Y'
version: 1
id: local/scrub
level: open@1
backends: [local]
Y
)

scrub_env=$(policy scrub-env <<'Y'
version: 1
id: local/scrub-env
level: open@1
backends: [local]
env: {pass: [LANG]}
Y
)
scrub_net=$(policy scrub-net <<'Y'
version: 1
id: local/scrub-net
level: open@1
backends: [local]
network: {mode: none}
Y
)
scrub_level=$(policy scrub-level <<'Y'
version: 1
id: local/scrub-level
level: hermes@1
backends: [local]
local: {isolation: scrub}
Y
)
scrub_bound=$(policy scrub-bound <<'Y'
version: 1
id: local/scrub-bound
level: baseline@1
backends: [local]
local: {isolation: scrub}
Y
)

# stale_groups: groups without a process and without a child that are still there a second later. Other
# runs on this machine share the common directory; theirs are in use, or gone by then.
empty_groups() {
	find /sys/fs/cgroup -type d -path '*/hermes-launch*' -links 2 2>/dev/null | while read -r dir; do
		[ -n "$(cat "$dir/cgroup.procs" 2>/dev/null)" ] || echo "$dir"
	done | sort
}
stale_groups() {
	comm -12 <(empty_groups) <(sleep 1 && empty_groups)
}
no_groups() {
	[ -z "$(stale_groups)" ]
}
sleepers() {
	pgrep -fx "sleep $1" >/dev/null
}
gone() {
	! sleepers "$1"
}
# Of other runs on this machine, which are none of ours.
others=$(pgrep -x hl-janitor | tr '\n' ' ')
# A zombie that nobody has reaped yet is gone for our purpose.
no_janitor() {
	local pid
	for pid in $(pgrep -r R,S,D -x hl-janitor); do
		[[ " $others" = *" $pid "* ]] || return 1
	done
}
forks='n=0; while [ $n -lt 60 ]; do sleep 3 & n=$((n + 1)); done 2>/dev/null; echo all'

for caller in $CALLERS; do
	run() { as "$caller" "$LAUNCH" "$@"; }

	out=$(run --policy "$few" -- sh -c "$forks" 2>&1)
	unlike "$caller: U32 the kernel refuses past limits.pids" "$out" '^all$'
	out=$(run --policy "$plain" -- sh -c "$forks" 2>&1)
	like "$caller: U32 with room for it the same command ends" "$out" '^all$'
	if no_groups; then pass "$caller: no group is left after an ordinary end"; else fail "$caller: no group is left after an ordinary end" "$(stale_groups)"; fi

	run --policy "$plain" -- sh -c 'sleep 86411 & sleep 86411' &
	pid=$!
	if wait_until 10 sleepers 86411; then pass "$caller: it runs"; else fail "$caller: it runs"; fi
	# $! is the shell's function: the launcher is what it has become, or its child.
	victim=$(pgrep -P $pid -f hermes-launch || echo $pid)
	kill -KILL "$victim"
	wait $pid 2>/dev/null
	if wait_until 5 gone 86411; then pass "$caller: kill -9 of the launcher ends the command"; else fail "$caller: kill -9 of the launcher ends the command"; fi
	if wait_until 5 no_groups; then pass "$caller: kill -9 of the launcher leaves no group"; else fail "$caller: kill -9 of the launcher leaves no group" "$(stale_groups)"; fi
	if wait_until 5 no_janitor; then pass "$caller: kill -9 of the launcher leaves no janitor"; else fail "$caller: kill -9 of the launcher leaves no janitor"; fi

	out=$(run --policy "$strict" -- ls /)
	unlike "$caller: strict shows no other directory of the host" "$out" '^(opt|srv|boot|work)$'
	like "$caller: strict shows what runs programs" "$out" '^usr$'
	out=$(run --policy "$plain" -- sh -c 'ls -A /run /root /mnt /media /sys 2>&1 | grep -v : | tr -d "\n"')
	is "$caller: what is the host's own is empty" "$out" ""
	status_is "$caller: the resolved tools work" 0 run --policy "$plain" -- sh -c 'ls /usr/bin/env && test -c /dev/null && test -r /proc/self/stat && echo x >/tmp/x'
	# The pipe is the caller's own, as it is when a program starts the launcher.
	out=$(as "$caller" sh -c '"$0" --policy "$1" -- sh -c "echo again >/dev/stderr" 2>&1 | cat' "$LAUNCH" "$plain")
	is "$caller: output through a pipe can be opened again" "$out" again

	# A command cannot leave a policy for the next run: .hermes is there, empty and read-only, and says so.
	is "$caller: an empty .hermes is made where there was none" "$(ls -A "$TMP/work.$caller/.hermes")" ""
	out=$(run --policy "$plain" -- sh -c 'echo x >.hermes/policy.yaml; mv .hermes a; rmdir .hermes; mkdir -p sub/.hermes &&
		printf "version: 1\nid: evil/x\nlevel: open@1\n" >sub/.hermes/policy.yaml && chmod 600 sub/.hermes/policy.yaml && chmod 755 sub sub/.hermes && echo planted' 2>/dev/null)
	is "$caller: one further down can be planted" "$out" planted
	[ "$caller" != root ] || { chown -R 0:0 "$TMP/work.root/sub" && chmod 755 "$TMP/work.root"; }
	sub() { (as_exec "$caller" sh -c 'cd sub && exec "$0" "$@"' "$LAUNCH" "$@"); }
	status_is "$caller: and is not obeyed (HLC-74)" 125 sub -- true
	like "$caller: HLC-74 is told" "$out" 'HLC-74'
	rmdir "$TMP/work.$caller/.hermes"
	status_is "$caller: its sibling without the mark is" 0 sub -- true
	rm -rf "$TMP/work.$caller/sub"
	[ "$caller" != root ] || chmod 777 "$TMP/work.root"

	is "$caller: process.umask is the command's" "$(run --policy "$private" -- sh -c umask)$(run --policy "$plain" -- sh -c umask)" 00770022

	mkdir -p "$TMP/work.$caller/.git/hooks"
	echo old | tee "$TMP/work.$caller/.git/config" >"$TMP/work.$caller/.git/hooks/pre-commit"
	chmod -R a+rwX "$TMP/work.$caller/.git"
	out=$(run --policy "$plain" -- sh -c 'echo new >.git/config; echo new >.git/hooks/pre-commit; rm -f .git/config; mv .git away; touch .git/index && cat .git/config .git/hooks/pre-commit' 2>/dev/null)
	is "$caller: fs.protect keeps hooks and settings of git, and leaves the rest" "$out" "$(printf 'old\nold')"
	out=$(run --policy "$unprotected" -- sh -c 'echo new >.git/config; echo new >.git/hooks/pre-commit; cat .git/config .git/hooks/pre-commit' 2>/dev/null)
	is "$caller: its sibling without fs.protect does not" "$out" "$(printf 'new\nnew')"
	rm -rf "$TMP/work.$caller/.git"

	status_is "$caller: process.seccomp.deny refuses a call" 1 run --policy "$denied" -- sh -c 'mkdir x || exit 1'
	like "$caller: with EPERM" "$out" 'Operation not permitted'
	status_is "$caller: its sibling makes it" 0 run --policy "$plain" -- sh -c 'mkdir x && rmdir x'

	mkdir -p "$TMP/work.$caller/.hermes"
	echo 'version: 1' >"$TMP/work.$caller/.hermes/policy.yaml"
	chmod -R a+rwX "$TMP/work.$caller"
	out=$(run --policy "$plain" -- sh -c 'echo more >>.hermes/policy.yaml; mv .hermes away; rm -rf .hermes; touch beside && echo done' 2>/dev/null)
	is "$caller: beside .hermes the directory is writable" "$out" "done"
	is "$caller: policies in the working directory stay as they are" "$(cat "$TMP/work.$caller/.hermes/policy.yaml")" "version: 1"

	status_is "$caller: a directory as standard input is refused (HLB-23)" 125 run --policy "$plain" -- true </
	like "$caller: HLB-23 is told" "$out" 'HLB-23|standard input'
	status_is "$caller: network.mode proxy has no enforcer here" 125 run --policy "$proxy" --network proxy -- true
	like "$caller: it is told" "$out" 'HLD-01|HLB-29|HLD-2'

	# scrub: the caller's own world, told at every run; what was started ends with the launcher.
	status_is "$caller: scrub runs and gives the status" 42 run --policy "$scrub" -- sh -c 'exit 42'
	like "$caller: scrub is announced as no boundary" "$out" 'local\.isolation.*no boundary'
	out=$(run audit show --format json 2>/dev/null | grep '"degraded"' | tail -n 1)
	like "$caller: and so says the record" "$out" '"control":"local.isolation".*no boundary'
	out=$(run explain --policy "$scrub" -- true)
	like "$caller: and so does explain" "$out" 'no boundary: variables, user and limits only'
	echo seen >"$TMP/work.$caller/../visible"
	is "$caller: scrub shows the host" "$(run --policy "$scrub" -- cat "$TMP/visible" 2>/dev/null)" seen
	is "$caller: its sibling, confined, does not" "$(run --policy "$plain" -- cat "$TMP/visible" 2>/dev/null)" ""
	# The launcher has the variables that did not pass; its /proc file is closed to its own user.
	if [ "$caller" != root ]; then
		out=$(HL_CANARY=x run --policy "$scrub_env" -- sh -c 'pid=$(ps -o ppid= -p $PPID) && cat /proc/$((pid))/environ' 2>&1)
		like "$caller: scrub: the launcher's environment is closed" "$out" 'Permission denied'
	fi
	run --policy "$scrub" -- sh -c 'setsid sh -c "setsid sleep 86412 &" & sleep 0.2' 2>/dev/null
	if sleepers 86412; then fail "$caller: scrub: a daemon ends with the command"; else pass "$caller: scrub: a daemon ends with the command"; fi
	run --policy "$scrub" -- sh -c 'setsid sh -c "setsid sleep 86413 &" & exec sleep 86413' 2>/dev/null &
	pid=$!
	if wait_until 10 sleepers 86413; then pass "$caller: scrub: it runs"; else fail "$caller: scrub: it runs"; fi
	victim=$(pgrep -P $pid -f hermes-launch || echo $pid)
	kill -KILL "$victim"
	wait $pid 2>/dev/null
	if wait_until 5 gone 86413; then pass "$caller: scrub: kill -9 of the launcher ends the tree"; else fail "$caller: scrub: kill -9 of the launcher ends the tree"; fi
	status_is "$caller: scrub with a control that it lacks is refused (HLD-20)" 125 run --policy "$scrub_net" -- true
	like "$caller: the control is named" "$out" 'network\.mode has no effect.*scrub.*HLD-20'
	status_is "$caller: scrub under a level that closes is refused" 125 run --policy "$scrub_level" -- true
	is "$caller: scrub past a level's bound stays confined" "$(run --policy "$scrub_bound" -- cat "$TMP/visible" 2>/dev/null)" ""

	out=$(run explain --policy "$few" -- true)
	like "$caller: explain shows the lowering with its origin" "$out" 'limit pids=20 .*few\.yaml:5'
	like "$caller: explain shows the root" "$out" 'bind /usr read-only'
done

# A host that forbids user namespaces: refused, with the switch that does it (HLD-01). The switch is set in
# a user namespace, where it is the caller's own.
if [ "$(id -u)" = 0 ] && setpriv --reuid=$NOBODY --clear-groups unshare -U --map-current-user --keep-caps true 2>/dev/null; then
	blocked() { as user unshare -U --map-current-user --keep-caps sh -c 'echo "$1" >/proc/sys/user/max_user_namespaces && shift && exec "$@"' sh "$@"; }
	status_is "user: no user namespaces, no start (HLD-01)" 125 blocked 0 "$LAUNCH" --policy "$plain" -- true
	like "user: the switch is named" "$out" 'max_user_namespaces is 0.*HLD-01'
	status_is "user: its sibling starts" 0 blocked 100 "$LAUNCH" --policy "$plain" -- true
else
	skip "user: no user namespaces" "none can be made here, or this run is not root"
fi

if [ "$(id -u)" = 0 ]; then
	if [ -w /sys/fs/cgroup ] || mkdir /sys/fs/cgroup/memory/hermes-launch-try 2>/dev/null; then
		rmdir /sys/fs/cgroup/memory/hermes-launch-try 2>/dev/null
		status_is "root: limits.memory ends what needs more" 137 as root "$LAUNCH" --policy "$memory" -- \
			sh -c 'exec tail /dev/zero'
		status_is "root: and lets live what needs less" 0 as root "$LAUNCH" --policy "$memory" -- true
		status_is "root: degrade.allow changes nothing where the limit can be applied" 137 \
			as root "$LAUNCH" --policy "$soft" -- sh -c 'exec tail /dev/zero'
	else
		skip "root: limits.memory" "no control groups can be made here"
	fi
	status_is "user: a limit that cannot be applied is refused (HLD-01)" 125 as user "$LAUNCH" --policy "$memory" -- true
	like "user: it is named" "$out" 'limits\.memory.*HLD-01'
	status_is "user: unless degrade.allow names it" 0 as user "$LAUNCH" --policy "$soft" -- true
	like "user: and that is told" "$out" 'degraded: limits\.memory'

	# What changed its user is not the runner's to signal: its end is pid 1's, and nobody waits for more.
	changed=$(policy changed <<'Y'
version: 1
id: local/changed
level: open@1
backends: [local]
local: {isolation: confined}
process: {allow_root: true, caps: [SETUID, SETGID], no_new_privs: true, seccomp: {profile: default}}
limits: {wall: 30s}
Y
	)
	status_is "root: a process of another user inside holds up no end" 6 as root "$LAUNCH" --policy "$changed" -- \
		sh -c 'setpriv --reuid=1000 --regid=1000 --clear-groups sleep 86397 & sleep 0.5; exit 6'
	if wait_until 5 gone 86397; then pass "root: and is gone with it"; else fail "root: and is gone with it"; fi

	# A runner that somebody else could have changed.
	chmod 777 "$TMP/bin/hermes-runner"
	status_is "root: a runner that others can write is refused (HLB-22)" 125 as root "$LAUNCH" --policy "$plain" -- true
	like "root: HLB-22 is told" "$out" HLB-22
	chmod 755 "$TMP/bin/hermes-runner"
	status_is "root: the same runner, safe again" 0 as root "$LAUNCH" --policy "$plain" -- true
fi

# A root caller's command is somebody else; a directory that is closed to it is told before it fails.
if [ "$CALLERS" != self ]; then
	as root true
	chmod 755 "$TMP/work.root"
	status_is "root: a working directory of root's cannot be written" 1 as root "$LAUNCH" --policy "$plain" -- touch new
	like "root: and that is told" "$out" 'warning: the command runs as 65534:65534, which cannot write the working directory'
	status_is "root: a command that may be root writes it" 0 as root "$LAUNCH" --policy "$rooted" -- touch new
	is "root: without a warning" "$out" ""
	rm -f "$TMP/work.root/new"
	chmod 1777 "$TMP/work.root"
	status_is "root: one that is open can be (sibling)" 0 as root "$LAUNCH" --policy "$plain" -- touch new
	is "root: and nothing is told" "$out" ""
	rm -f "$TMP/work.root/new"
	chmod 777 "$TMP/work.root"
fi

# Many at once, sharing the common group that the last of them removes.
first=${CALLERS%% *}
as "$first" true
for _ in $(seq 1 12); do
	as "$first" "$LAUNCH" --policy "$few" -- sh -c 'exit 7' &
done
bad=0
for _ in $(seq 1 12); do
	wait -n
	[ $? -eq 7 ] || bad=$((bad + 1))
done
is "$first: twelve at once, each with its own status" "$bad" 0
if no_groups; then pass "$first: and no group is left"; else fail "$first: and no group is left" "$(stale_groups)"; fi
done_testing
