#!/bin/bash
# Cases that users of such programs met, on podman: what docker's test of the same asks.
ENGINE=podman
# shellcheck source=docker_cases.sh
. "$(dirname "$0")/docker_cases.sh"
