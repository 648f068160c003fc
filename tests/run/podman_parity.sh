#!/bin/bash
# What explain prints is what podman runs: what docker's test of the same asks.
ENGINE=podman
# shellcheck source=docker_parity.sh
. "$(dirname "$0")/docker_parity.sh"
