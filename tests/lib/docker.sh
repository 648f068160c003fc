# A docker engine of the tests' own, so that nothing of the host's engine is touched: own socket, data
# root, exec root and pid file, no bridge, no firewall rules. Sourced by tests/run/docker_*.sh.
#
#	docker_up DIR		starts it below DIR; sets docker_socket, docker_pid, docker_data
#	docker_image NAME	imports an image made of static busybox and bash
#				docker_daemon: what its daemon.json says
#				docker_drivers: storage drivers to try, in this order
#	docker_down		ends it and unmounts what is left
#	docker_cli ARG...	the docker client on that engine
# shellcheck shell=bash
# docker_socket, docker_data and the like are read by the scripts that source this file.
# shellcheck disable=SC2034
# shellcheck source=static_root.sh
. "${BASH_SOURCE%/*}/static_root.sh"

docker_dir=
docker_pid=
docker_kept=() # where the engine keeps what it knows of a container
docker_words="docker -H" # how explain names the engine's socket
docker_remove=(rm -f) # at once
docker_home_mode=700 # of the private home
docker_programs=(dockerd docker containerd runc) # that it cannot be without
docker_registry= # before the names of imported images

docker_missing()
{
	local program
	for program in "${docker_programs[@]}"; do
		command -v "$program" >/dev/null || {
			echo "$program is not installed"
			return 0
		}
	done
	[ "$(id -u)" = 0 ] || {
		echo "an engine of our own needs root"
		return 0
	}
	return 1
}

# docker_client COMMAND...: the engine's client as it is called, without the tests' caller's own settings
docker_client()
{
	DOCKER_CONFIG="$docker_dir/config" "$@"
}

docker_cli()
{
	docker_client docker -H "unix://$docker_socket" "$@"
}

docker_try()
{
	local driver=$1 i
	dockerd --host "unix://$docker_socket" --data-root "$docker_data" \
		--exec-root "$docker_dir/exec" --pidfile "$docker_dir/pid" \
		--config-file "$docker_dir/daemon.json" --storage-driver "$driver" \
		--bridge=none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
		>"$docker_dir/log" 2>&1 </dev/null &
	docker_pid=$!
	for i in $(seq 150); do
		kill -0 "$docker_pid" 2>/dev/null || return 1
		docker_cli version >/dev/null 2>&1 && return 0
		sleep 0.2
	done
	return 1
}

docker_up()
{
	local driver
	docker_dir=$1
	docker_socket=$docker_dir/docker.sock
	docker_data=$docker_dir/data
	docker_kept=("$docker_data/containers")
	mkdir -p "$docker_dir/config" "$docker_data" "$docker_dir/exec"
	printf '%s\n' "${docker_daemon:-{\}}" >"$docker_dir/daemon.json"
	for driver in ${docker_drivers:-overlay2 vfs}; do
		docker_try "$driver" && return 0
		docker_down
	done
	echo "# the engine did not come up:" >&2
	tail -n 20 "$docker_dir/log" | sed 's/^/# /' >&2
	return 1
}

docker_down()
{
	local i path
	[ -n "$docker_pid" ] || return 0
	kill "$docker_pid" 2>/dev/null || true
	for i in $(seq 100); do
		kill -0 "$docker_pid" 2>/dev/null || break
		sleep 0.1
	done
	kill -9 "$docker_pid" 2>/dev/null || true
	wait "$docker_pid" 2>/dev/null || true
	docker_pid=
	# What outlives a killed daemon: its containerd and the shims, known by our own directory.
	for path in $(pgrep -f -- "$docker_dir/exec/containerd"); do
		kill -9 "$path" 2>/dev/null || true
	done
	# A number that nobody has reaped yet would be taken for a containerd that lives.
	rm -f "$docker_dir/exec/containerd/containerd.pid" "$docker_dir/pid"
	# Deepest first: what the engine mounted lies below its own directories.
	while read -r path; do
		umount -l "$path" 2>/dev/null || true
	done < <(awk -v top="$docker_dir/" 'index($5, top) == 1 { print $5 }' /proc/self/mountinfo |
		sort -r)
}

# The same engine, ended and started.
docker_again()
{
	docker_down
	docker_up "$docker_dir"
}

# The tests of an engine begin with this: a skip where there can be none.
docker_begin()
{
	local missing
	if missing=$(docker_missing); then
		skip "an engine of our own" "$missing"
		done_testing
		exit
	fi
	trap 'docker_down; rm -rf "$TMP"' EXIT
	if ! docker_up "$TMP/docker" || ! docker_image hl-test:1; then
		fail "an engine of our own"
		done_testing
		exit 1
	fi
}

# How a policy says that the engine is reached: by its API, or with CLIENT=cli by its client.
docker_reach()
{
	printf 'endpoint: %s%s' "$docker_socket" "${CLIENT:+, client: $CLIENT}"
}

# docker_policy NAME <<TEXT: a policy for that engine and image; TEXT is the rest of it
docker_policy()
{
	{
		printf 'version: 1\nid: test/%s\nbackends: [%s]\n' "$1" "${ENGINE:-docker}"
		printf 'docker: {%s}\n' "$(docker_reach)"
		printf 'image: {default: hl-test:1, digest: false, pull: never}\n'
		cat
	} | policy "$1"
}

# Names of containers of ours, running or not. An engine that does not answer has not said that none is.
# docker_list ARG...: of containers, by the words of ps. No list is no empty one.
docker_list()
{
	docker_cli ps -a "$@" || echo "the engine does not answer"
}

docker_ours()
{
	docker_list --filter label=dev.hermes-launch.managed=1 --format '{{.Names}}'
}

# docker_has ID: yes or no, of a whole id; else why nobody can say
docker_has()
{
	local all
	[ -n "$1" ] || { echo "no id"; return; }
	all=$(docker_list -q --no-trunc)
	case $all in
	*'does not answer'*) echo "$all" ;;
	*) grep -qxF -e "$1" <<<"$all" && echo yes || echo no ;;
	esac
}

docker_is_running()
{
	[ -n "$(docker_cli ps --filter label=dev.hermes-launch.managed=1 --format '{{.Names}}')" ]
}

docker_none_left()
{
	[ -z "$(docker_ours)" ]
}

# A root of two static programs and the accounts a shell expects.
docker_image()
{
	local name=$1 root=$docker_dir/root
	static_root "$root"
	mkdir -p "$root/work"
	printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' \
		>"$root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
	tar -C "$root" -c . | docker_cli import --change 'ENV FROM_IMAGE=yes' \
		--change 'ENV PATH=/bin' --change 'CMD ["/bin/sh"]' - "$docker_registry$name" >/dev/null 2>"$docker_dir/import" || {
		cat "$docker_dir/import" >&2
		return 1
	}
	rm -rf "$root"
}
