#!/bin/bash
# mcp: the official client of the Model Context Protocol drives the three tools, as root and as an
# ordinary user, over a sandbox of our own and over a named session.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

# shellcheck source=../lib/mcp.sh
. "$ROOT/tests/lib/mcp.sh"
if ! mcp_install; then
	skip "mcp" "$mcp_missing"
	done_testing
	exit
fi

plain=$(policy plain <<'Y'
version: 1
id: test/plain
level: baseline@1
backends: [local]
Y
)

for caller in $CALLERS; do
	conversation "$caller" as "$caller" timeout 120 node "$TMP/mcp/client.mjs" "$caller" \
		"$LAUNCH" mcp -q --policy "$plain" 2>"$TMP/err"
	[ "$caller" != root ] || continue # a named session is the same to it
	conversation "$caller, named" as "$caller" timeout 120 node "$TMP/mcp/client.mjs" "$caller, named" \
		"$LAUNCH" mcp -q --policy "$plain" --name agent 2>"$TMP/err"
	status_is "$caller: which lives on" 0 as "$caller" "$LAUNCH" stop agent
done

# Before the handshake nothing is done.
out=$(echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"terminal","arguments":{"command":"true"}}}' |
	as "${CALLERS%% *}" timeout 20 "$LAUNCH" mcp -q --policy "$plain" 2>&1)
like "mcp: initialize comes first (HLU-20)" "$out" '"code":-32600.*HLU-20'

done_testing
