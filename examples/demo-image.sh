#!/bin/sh
# Makes the image of examples/docker.yaml out of two static programs of this host, so that no registry is
# needed: demo-image.sh [SOCKET], else DOCKER_HOST's. Debian packages: busybox-static, bash-static.
set -eu

socket=${1:-${DOCKER_HOST:-unix:///var/run/docker.sock}}
socket=${socket#unix://}
name=hermes-launch-demo:1

for program in busybox bash-static docker; do
	command -v "$program" >/dev/null || {
		echo "demo-image.sh: $program is not installed" >&2
		exit 1
	}
done
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root" # it is the image's own /
mkdir -p "$root/bin" "$root/etc" "$root/dev" "$root/proc" "$root/sys" "$root/root"
mkdir -m 1777 "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$(command -v bash-static)" "$root/bin/bash"
for applet in $("$root/bin/busybox" --list); do
	[ -e "$root/bin/$applet" ] || ln -s busybox "$root/bin/$applet"
done
printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
tar -C "$root" -c . | docker -H "unix://$socket" import --change 'ENV PATH=/bin' \
	--change 'CMD ["/bin/bash"]' - "$name" >/dev/null
echo "$name is on unix://$socket"
