#!/bin/sh
# Installs what is missing, and only that: deps.sh build|test|lint|fuzz|bench. Debian and Ubuntu packages;
# asks for sudo when not root. Says nothing when everything is there.
set -eu

build='gcc make libc6-dev libyaml-dev libcap-dev libseccomp-dev libcurl4-openssl-dev libjansson-dev libssl-dev musl-tools linux-libc-dev'
case $1 in
build) want=$build ;;
test) want="$build libcmocka-dev libasan8 libubsan1 docker.io containerd runc podman uidmap openssh-client iptables btrfs-progs busybox-static bash-static util-linux procps python3 python3-jsonschema python3-yaml mandoc openssl" ;;
lint) want="$build clang-format shellcheck git binutils gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;;
fuzz) want="$build clang libclang-rt-dev" ;;
bench) want="$build bubblewrap" ;;
*) echo "deps.sh: build, test, lint, fuzz or bench" >&2; exit 64 ;;
esac

# From Debian 13 on docker.io only recommends its client, which is a package of its own there.
client() # prints what is missing by program and not by package
{
	[ "$what" = test ] || return 0
	! command -v docker >/dev/null && apt-cache show docker-cli >/dev/null 2>&1 && echo docker-cli
	# The client of the Model Context Protocol comes from npm; a node of another origin brings its own.
	command -v node >/dev/null || echo nodejs
	command -v npm >/dev/null || echo npm
	# Where the kernel has AppArmor docker loads a profile, by a program that docker.io only recommends.
	[ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" != Y ] ||
		[ -x /sbin/apparmor_parser ] || echo apparmor
	return 0
}

what=$1
missing=
for package in $want; do
	dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $package"
done
[ -n "$missing$(client)" ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "install what these Debian packages hold, by your system's own means:$missing" >&2
	exit 1
fi
echo "installing:$missing"
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
$as_root apt-get update -qq
missing="$missing $(client)"
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
