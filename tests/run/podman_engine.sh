#!/bin/bash
# Engines that are not there or end in the middle: what docker's test of the same asks, of podman.
ENGINE=podman
# shellcheck source=docker_engine.sh
. "$(dirname "$0")/docker_engine.sh"
