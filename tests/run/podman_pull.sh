#!/bin/bash
# How an image comes to podman: what docker's test of the same asks.
ENGINE=podman
# shellcheck source=docker_pull.sh
. "$(dirname "$0")/docker_pull.sh"
