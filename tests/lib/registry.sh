# Registries of the tests' own: see tests/lib/registry.py. Sourced behind docker.sh; needs an engine that is
# up and has hl-test:1. What they serve is that image.
#
#	registry_up MODE	open, basic or token; sets registry (host:port) and registry_log
#	registry_config DIR [NAME] <<TEXT	a config.json, for DOCKER_CONFIG=DIR; $registry is put in for @
#	registry_down		ends all of them
# shellcheck shell=bash
# shellcheck disable=SC2034

registry_pids=()

registry_up()
{
	local mode=$1 n=${#registry_pids[@]}
	registry_log=$TMP/registry.$n.log
	: >"$registry_log"
	[ -f "$TMP/saved.tar" ] || docker_cli save hl-test:1 >"$TMP/saved.tar"
	python3 "$ROOT/tests/lib/registry.py" "$mode" "$TMP/registry.$n.port" "$registry_log" \
		<"$TMP/saved.tar" >"$TMP/registry.$n.out" 2>&1 &
	registry_pids+=($!)
	wait_until 20 test -f "$TMP/registry.$n.port" || {
		fail "a registry" "$(cat "$TMP/registry.$n.out")"
		return 1
	}
	registry=127.0.0.1:$(cat "$TMP/registry.$n.port")
}

registry_config()
{
	mkdir -p "$1"
	sed "s|@|$registry|g" >"$1/${2:-config.json}"
	chmod 600 "$1/${2:-config.json}"
}

registry_down()
{
	local pid
	for pid in "${registry_pids[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	registry_pids=()
}
