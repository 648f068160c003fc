#!/bin/bash
# docs/policy-guide.md is true. Each yaml block is a file, called as its first line says: policies have no
# finding and are in canonical form (or have the mistakes that the line announces), tests hold. Each command
# of a console block is run, and what it prints is what stands there.
#
#	# NAME				a policy, alone
#	# NAME (upon A, B)		as the last of a stack
#	# NAME (..., with a warning)	has warnings and no error
#	# NAME (..., has mistakes)	has errors
#	# NAME (of ...)			no policy
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

umask 022
mkdir -p "$TMP/guide" "$TMP/blocks"
mkdir -m 700 "$TMP/state"
cd "$TMP/guide" || exit 1
export HERMES_LAUNCH_STATE=$TMP/state PATH=$TMP/bin:$PATH
host_policies "$TMP/nowhere"
unset DOCKER_HOST

# 001.yaml, 002.console ... in the order of the guide
awk -v dir="$TMP/blocks" '
/^```(yaml|console)$/ { file = sprintf("%s/%03d.%s", dir, ++n, substr($0, 4)); inside = 1; next }
/^```$/ { inside = 0 }
inside { print >file }
' "$ROOT/docs/policy-guide.md"

# check_policy NAME WHAT: as its first line says
check_policy() {
	local name=$1 what=$2 below stack
	below=$(sed -n 's/^upon \([^,]*\(, [^ ,]*\.yaml\)*\).*/\1/p' <<<"$what")
	read -ra stack <<<"${below//,/} $name"
	case $what in
	*"has mistakes"*)
		status_is "$name: has mistakes" 1 hermes-launch policy check --stack "${stack[@]}"
		return
		;;
	*"with a warning"*)
		status_is "$name: has warnings" 2 hermes-launch policy check --stack --fail-on warning "${stack[@]}"
		;;
	*)
		status_is "$name: no finding" 0 hermes-launch policy check --stack --fail-on warning "${stack[@]}"
		;;
	esac
	status_is "$name: in canonical form" 0 hermes-launch policy fmt --check "$name"
}

write_file() {
	local line name what
	line=$(head -1 "$1")
	name=$(sed -n 's/^# \([a-z.-]*\.yaml\)\( (.*)\)\{0,1\}$/\1/p' <<<"$line")
	what=$(sed -n 's/^# [^ ]* (\(.*\))$/\1/p' <<<"$line")
	if [ -z "$name" ]; then
		fail "a yaml block names its file" "$line"
		return
	fi
	cp "$1" "$name"
	files=$((files + 1))
	case $name in
	*.test.yaml) status_is "$name: its tests hold" 0 hermes-launch policy test "$name" ;;
	*) case $what in of*) ;; *) check_policy "$name" "$what" ;; esac ;;
	esac
}

run_console() {
	local line
	while IFS= read -r line; do
		case $line in
		'$ '*)
			printf '%s\n' "$line"
			bash -c "${line#??}" 2>&1
			;;
		esac
	done <"$1" >"$TMP/printed"
	commands=$((commands + $(grep -c '^\$ ' "$1")))
	is "$(head -1 "$1") ..." "$(cat "$TMP/printed")" "$(cat "$1")"
}

files=0 commands=0
for block in "$TMP"/blocks/*; do
	case $block in
	*.yaml) write_file "$block" ;;
	*.console) run_console "$block" ;;
	esac
done
if [ "$files" -ge 15 ] && [ "$commands" -ge 20 ]; then
	pass "the guide's files and commands were found"
else
	fail "the guide's files and commands were found" "$files files, $commands commands"
fi

# Links within the guide and to what stands beside it.
while IFS= read -r link; do
	case $link in
	'#'*) like "the guide has $link" "$(sed -n 's/^#* //p' "$ROOT/docs/policy-guide.md" | tr 'A-Z ' 'a-z-' | tr -d "'")" "^${link#?}\$" ;;
	*) if [ -e "$ROOT/docs/$link" ]; then pass "there is $link"; else fail "there is $link"; fi ;;
	esac
done < <(grep -o '](\([^)]*\))' "$ROOT/docs/policy-guide.md" | sed 's/^](//; s/)$//')

done_testing
