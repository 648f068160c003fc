#!/bin/bash
# Sessions in a container of podman's: what docker's test of the same asks.
ENGINE=podman
# shellcheck source=docker_session.sh
. "$(dirname "$0")/docker_session.sh"
