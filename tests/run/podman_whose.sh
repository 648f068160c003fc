#!/bin/bash
# Whose podman's service is: what docker's test of the same asks.
ENGINE=podman
# shellcheck source=docker_whose.sh
. "$(dirname "$0")/docker_whose.sh"
