#!/bin/bash
# podman that does something else than it tells: what docker's test of the same asks.
ENGINE=podman
# shellcheck source=docker_lies.sh
. "$(dirname "$0")/docker_lies.sh"
