# How a run ends that has an engine of its own, by each of those who can end it. Sourced by scripts that say:
#
#	begin			a run begins: $launcher
#	services, no_service	its engine's processes; that there are none
#	ends WHAT		nothing is left of it
#
#	begin; end_told			TERM
#	begin; end_killed		the launcher
#	begin; end_both_killed GC...	the launcher and the helper; GC is the command that tidies
# shellcheck shell=bash

launcher=

end_told()
{
	like "while it runs there is its service (sibling)" "$(services)" '^[0-9]+'
	kill -TERM "$launcher"
	wait "$launcher"
	is "TERM goes to the command" "$?" 143
	ends "TERM"
}

end_killed()
{
	kill -9 "$launcher"
	wait "$launcher" 2>/dev/null
	ends "a killed launcher"
}

end_both_killed()
{
	local helper
	helper=$(pgrep -P "$launcher" -x hl-engine)
	kill -STOP "$helper"
	kill -9 "$launcher" "$helper"
	wait "$launcher" 2>/dev/null
	if wait_until 20 no_service; then pass "both killed: no service is left"; else fail "both killed: no service is left" "$(services)"; fi
	like "both killed: gc starts the engine and takes the container away" "$("$@")" ' 1 containers'
	ends "both killed, after gc"
}
