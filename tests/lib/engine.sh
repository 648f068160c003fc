# The engine that a test is run with: docker, or the one that ENGINE names. The functions have docker's
# names whichever it is.
# shellcheck shell=bash
ENGINE=${ENGINE:-docker}
# shellcheck source=../lib/docker.sh
. "$ROOT/tests/lib/docker.sh"
if [ "$ENGINE" != docker ]; then
	# shellcheck source=../lib/podman.sh
	. "$ROOT/tests/lib/$ENGINE.sh"
fi
