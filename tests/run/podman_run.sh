#!/bin/bash
# Runs in a container of podman's: what docker's test of the same asks, of a service of podman's API.
ENGINE=podman
# shellcheck source=docker_run.sh
. "$(dirname "$0")/docker_run.sh"
