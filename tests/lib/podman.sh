# podman's service of the tests' own, in the place of docker's daemon (tests/lib/docker.sh): own storage,
# own state, own configuration, so that nothing of the host's containers is touched.
#
#	$podman_private COMMAND...	runs it where that configuration is the host's, so that a service
#				which is started on demand uses the same storage
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154

docker_programs=(podman conmon runc)
docker_registry=docker.io/library/
podman_private=
docker_words="podman --url"
# Without a time podman asks first, by a signal.
docker_remove=(rm -f -t 0)
# podman makes no tmpfs that is a user's: any user may write it, of whom there is one.
docker_home_mode=1777

podman_environment()
{
	export CONTAINERS_CONF=$docker_dir/etc/containers.conf
	export CONTAINERS_STORAGE_CONF=$docker_dir/etc/storage.conf
	export CONTAINERS_REGISTRIES_CONF=$docker_dir/etc/registries.conf
}

docker_client()
{
	(
		podman_environment
		# Its monitors leave files where they are started.
		cd "$docker_dir" || exit 1
		exec "$@"
	)
}

docker_cli()
{
	docker_client podman "$@"
}

# runc and cgroupfs are what works everywhere, also without a service manager.
podman_configure()
{
	mkdir -p "$docker_dir/etc" "$docker_dir/run" "$docker_dir/tmp"
	cat >"$docker_dir/etc/containers.conf" <<-Y
		[engine]
		cgroup_manager = "cgroupfs"
		runtime = "${podman_runtime:-runc}"
		events_logger = "none"
		tmp_dir = "$docker_dir/tmp"
	Y
	cat >"$docker_dir/etc/storage.conf" <<-Y
		[storage]
		driver = "vfs"
		graphroot = "$docker_data"
		runroot = "$docker_dir/run"
	Y
	# The tests' own registries speak no TLS: docker takes that of the loopback by itself.
	cat >"$docker_dir/etc/registries.conf" <<-Y
		[[registry]]
		location = "127.0.0.1"
		insecure = true
	Y
	echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$docker_dir/etc/policy.json"
	podman_private=$docker_dir/private
	cat >"$podman_private" <<-Y
		#!/bin/sh
		exec unshare -m sh -c 'mount --bind "\$0" /etc/containers && exec "\$@"' "$docker_dir/etc" "\$@"
	Y
	chmod 755 "$podman_private"
}

docker_up()
{
	docker_dir=$1
	docker_socket=$docker_dir/podman.sock
	docker_data=$docker_dir/data
	docker_kept=("$docker_data/vfs-containers" "$docker_data/libpod" "$docker_dir/run" "$docker_dir/tmp")
	podman_configure
	# One that was killed leaves it, and nobody behind it.
	rm -f "$docker_socket"
	(
		podman_environment
		cd "$docker_dir" || exit 1
		# It would hand this on to containers, unless it is told not to.
		export https_proxy=http://corp.example:1
		exec podman system service --time=0 "unix://$docker_socket"
	) >"$docker_dir/log" 2>&1 </dev/null &
	docker_pid=$!
	wait_until 30 test -S "$docker_socket" && return 0
	echo "# the engine did not come up:" >&2
	tail -n 20 "$docker_dir/log" | sed 's/^/# /' >&2
	return 1
}

docker_down()
{
	local path
	[ -n "$docker_pid" ] || return 0
	docker_cli rm -af >/dev/null 2>&1 || true
	kill "$docker_pid" 2>/dev/null || true
	wait "$docker_pid" 2>/dev/null || true
	docker_pid=
	while read -r path; do
		umount -l "$path" 2>/dev/null || true
	done < <(awk -v top="$docker_dir/" 'index($5, top) == 1 { print $5 }' /proc/self/mountinfo |
		sort -r)
}
