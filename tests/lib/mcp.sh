# The official client of the Model Context Protocol, for the tests of `hermes-launch mcp`. Sourced after
# tap.sh.
#
#	mcp_install	puts it into $TMP/mcp, with tests/mcp/client.mjs; else mcp_missing says why not
# shellcheck shell=bash
# shellcheck disable=SC2034
mcp_missing=

mcp_install()
{
	local client=$ROOT/build/mcp
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		mcp_missing="node and npm are not installed"
		return 1
	fi
	mkdir -p "$client"
	cp "$ROOT"/tests/mcp/package.json "$ROOT"/tests/mcp/package-lock.json "$client/"
	if [ ! -e "$client/.done" ] || [ "$ROOT/tests/mcp/package-lock.json" -nt "$client/.done" ]; then
		if ! npm ci --prefix "$client" --ignore-scripts --no-audit --no-fund >"$TMP/npm" 2>&1; then
			mcp_missing="the client cannot be installed: $(tail -n 1 "$TMP/npm")"
			return 1
		fi
		touch "$client/.done"
	fi
	cp -r "$client" "$TMP/mcp"
	cp "$ROOT/tests/mcp/client.mjs" "$TMP/mcp/"
	chmod -R a+rX "$TMP/mcp"
}
