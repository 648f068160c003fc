#!/bin/bash
# podman's client, without a socket: what docker's test of the same asks.
ENGINE=podman
# shellcheck source=docker_cli.sh
. "$(dirname "$0")/docker_cli.sh"
