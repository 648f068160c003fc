#!/bin/bash
# What a container costs through the launcher, beside the engine's own client: on an engine of our own,
# with the same container, whose command line explain prints. Prints and never fails by time.
#
#	make bench			DOCKER_ROUNDS=30 DOCKER_CROWD=50 by default
set -eu
cd "$(dirname "$0")/.."
HERE=$PWD

# shellcheck source=../tests/lib/docker.sh
. tests/lib/docker.sh
if missing=$(docker_missing); then
	echo "no engine of our own, so nothing is measured: $missing"
	exit 0
fi
TMP=$(mktemp -d /tmp/hermes-launch-bench.XXXXXX)
trap 'docker_down; rm -rf "$TMP"' EXIT
chmod 755 "$TMP"
mkdir -m 777 "$TMP/work"
mkdir "$TMP/bin"
cp build/hermes-launch build/hermes-runner build/hl-engine "$TMP/bin/"
if ! docker_up "$TMP/docker" || ! docker_image hl-bench:1; then
	echo "the engine of our own does not start, so nothing is measured"
	exit 0
fi
cat >"$TMP/policy.yaml" <<Y
version: 1
id: bench/docker
level: baseline@1
backends: [docker]
docker: {endpoint: $docker_socket}
image: {default: hl-bench:1, digest: false, pull: never}
process: {user: "1000:1000"}
Y
export HERMES_LAUNCH_STATE=$TMP/state DOCKER_CONFIG=$TMP/docker/config PYTHONDONTWRITEBYTECODE=1

measure() {
	python3 "$HERE/bench/docker.py" "$1" "$TMP/bin/hermes-launch" "$TMP/policy.yaml" \
		"$docker_socket" "${@:2}"
}
engine=$(docker_cli version --format '{{.Server.Version}}, {{.Client.Version}}')
echo "## A container, engine and client docker $engine, storage $(docker_cli info --format '{{.Driver}}')"
echo
cd "$TMP/work"
measure start "${DOCKER_ROUNDS:-30}"
echo
measure calls "${DOCKER_ROUNDS:-30}"
measure crowd "${DOCKER_CROWD:-50}"
