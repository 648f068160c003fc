#!/bin/bash
# mcp: the official client of the Model Context Protocol drives the three tools, as root and as an
# ordinary user, over a sandbox of our own and over a named session.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

client=$ROOT/build/mcp
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	skip "mcp" "node and npm are not installed"
	done_testing
	exit
fi
mkdir -p "$client"
cp "$ROOT"/tests/mcp/package.json "$ROOT"/tests/mcp/package-lock.json "$client/"
if [ ! -e "$client/.done" ] || [ "$ROOT/tests/mcp/package-lock.json" -nt "$client/.done" ]; then
	if ! npm ci --prefix "$client" --ignore-scripts --no-audit --no-fund >"$TMP/npm" 2>&1; then
		skip "mcp" "the client cannot be installed: $(tail -n 1 "$TMP/npm")"
		done_testing
		exit
	fi
	touch "$client/.done"
fi
cp -r "$client" "$TMP/mcp"
cp "$ROOT/tests/mcp/client.mjs" "$TMP/mcp/"
chmod -R a+rX "$TMP/mcp"

plain=$(policy plain <<'Y'
version: 1
id: test/plain
level: baseline@1
backends: [local]
Y
)

for caller in $CALLERS; do
	as "$caller" timeout 120 node "$TMP/mcp/client.mjs" "$caller" "$LAUNCH" mcp -q --policy "$plain" 2>"$TMP/err"
	is "$caller: the conversation came to its end" $? 0
	[ "$caller" = user ] || continue
	as "$caller" timeout 120 node "$TMP/mcp/client.mjs" "$caller, named" "$LAUNCH" mcp -q --policy "$plain" --name agent 2>"$TMP/err"
	is "$caller: and over a named session" $? 0
	status_is "$caller: which lives on" 0 as "$caller" "$LAUNCH" stop agent
done

# Before the handshake nothing is done.
out=$(echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"terminal","arguments":{"command":"true"}}}' |
	as "${CALLERS%% *}" timeout 20 "$LAUNCH" mcp -q --policy "$plain" 2>&1)
like "mcp: initialize comes first (HLU-20)" "$out" '"code":-32600.*HLU-20'

done_testing
