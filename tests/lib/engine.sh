# The engine that a test is run with: docker, or the one that ENGINE names. The functions have docker's
# names whichever it is.
# shellcheck shell=bash
ENGINE=${ENGINE:-docker}
# shellcheck source=docker.sh
. "$ROOT/tests/lib/docker.sh"
# shellcheck source=/dev/null
[ "$ENGINE" = docker ] || . "$ROOT/tests/lib/$ENGINE.sh"
