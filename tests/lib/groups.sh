# Control groups for the tests, of either version, asked of the host and not of what is tested. Sourced after
# tap.sh.
#
#	groups_place CONTROLLER		mount point of the hierarchy that has it
#	groups_give NAME UID		makes a group of that name in each and gives it to the user, as a service
#					manager delegates one; fails where none can be made
#	groups_enter NAME		this process enters it
#	groups_take NAME		removes it
#	groups_of RUN			directories of that run's groups
# shellcheck shell=bash
groups_controllers=(pids memory cpu)

groups_place() {
	local unified
	unified=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
	if [ -n "$unified" ] && grep -qw "$1" "$unified/cgroup.controllers"; then
		echo "$unified"
	else
		awk -v want="$1" '/ - cgroup / { split($NF, options, ","); for (i in options) if (options[i] == want) { print $5; exit } }' \
			/proc/self/mountinfo
	fi
}

groups_places() {
	local each
	for each in "${groups_controllers[@]}"; do groups_place "$each"; done | sort -u
}

# Version 2: the processes are in a group below, since one with processes can hand nothing down.
groups_give() {
	local place each
	[ "$(id -u)" = 0 ] && [ -n "$(groups_places)" ] || return 1
	for each in "${groups_controllers[@]}"; do
		place=$(groups_place "$each")
		[ -n "$place" ] || return 1
		[ ! -e "$place/cgroup.subtree_control" ] || echo "+$each" >"$place/cgroup.subtree_control" || return 1
	done 2>/dev/null
	for place in $(groups_places); do
		mkdir "$place/$1" 2>/dev/null || return 1
		chown "$2" "$place/$1" "$place/$1/cgroup.procs" || return 1
		if [ -e "$place/$1/cgroup.subtree_control" ]; then
			mkdir "$place/$1/own" || return 1
			chown -R "$2" "$place/$1/own"
			chown "$2" "$place/$1/cgroup.subtree_control" || return 1
		fi
	done
}

groups_enter() {
	local place
	for place in $(groups_places); do
		if [ -d "$place/$1/own" ]; then echo "$BASHPID" >"$place/$1/own/cgroup.procs"; else echo "$BASHPID" >"$place/$1/cgroup.procs"; fi || return 1
	done
}

groups_take() {
	local place
	for place in $(groups_places); do
		[ -d "$place/$1" ] || continue
		# Linux 5.14: those that a test has left, as podman does of a login.
		if [ -e "$place/$1/cgroup.kill" ]; then
			echo 1 >"$place/$1/cgroup.kill"
			wait_until 10 grep -qs '^populated 0' "$place/$1/cgroup.events"
		fi
		find "$place/$1" -depth -type d -exec rmdir {} + 2>/dev/null
	done
}

groups_of() {
	local place
	for place in $(groups_places); do
		find "$place" -type d -path "*/hermes-launch/$1" 2>/dev/null
	done
}
