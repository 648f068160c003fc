#!/bin/bash
# The table of ssh's options against the ssh that is installed: every letter of its usage has a row of the same
# kind, every keyword of its configuration has one, and every keyword of the table is read, or is one of those
# that are named here. Connects to nothing: ssh only prints its configuration.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

table=$ROOT/backends/ssh/options.def

# Letters that the usage does not show, and keywords that an older ssh, or one without GSSAPI, has not.
hidden='-1 -2 -P'
newer='ChannelTimeout ObscureKeystrokeTiming Tag GSSAPIClientIdentity GSSAPIKexAlgorithms GSSAPIKeyExchange
	GSSAPIRenewalForcesRekey GSSAPIServerIdentity GSSAPITrustDns'

if ! command -v ssh >/dev/null; then
	skip "options of ssh" "ssh is not installed"
	done_testing
	exit
fi

# has WORDS WORD
has() {
	local word
	for word in $1; do
		[ "$word" != "$2" ] || return 0
	done
	return 1
}

rows=$(sed -nE 's/^SSH_OPTION\("(-.)", ([A-Z]+),.*/\1 \2/p' "$table" | sed 's/KEYWORD/TEXT/')
usage=$(ssh 2>&1 | tr '\n' ' ')
letters=$(sed -nE 's/^usage: ssh \[-([A-Za-z0-9]+)\].*/\1/p' <<<"$usage" | sed 's/./-& BOOL\n/g')
letters+=$'\n'$(grep -oE '\[-[A-Za-z0-9] +[^] ]' <<<"$usage" | sed -E 's/\[(-.).*/\1 TEXT/')
is "the usage is read" "$([ "$(grep -c . <<<"$letters")" -ge 35 ] && echo yes)" yes
while read -r row; do
	[ -n "$row" ] || continue
	is "$row has a row" "$(grep -xF -e "$row" <<<"$rows")" "$row"
done <<<"$letters"
while read -r row; do
	grep -qxF -e "$row" <<<"$letters" && continue
	is "${row% *}, which the usage does not show, is named here" "$(has "$hidden" "${row% *}" && echo yes)" yes
done <<<"$rows"

keywords=$(sed -nE 's/^SSH_KEYWORD\("-o([A-Za-z0-9]+)",.*/\1/p' "$table")
is "the keywords are read" "$(grep -c . <<<"$keywords")" "$(grep -c '^SSH_KEYWORD' "$table")"
configuration=$(ssh -G -F none localhost </dev/null 2>/dev/null | cut -d' ' -f1 | sort -u)
is "the configuration is read" "$([ "$(grep -c . <<<"$configuration")" -ge 60 ] && echo yes)" yes
while read -r keyword; do
	is "$keyword has a row" "$(grep -cixF -e "$keyword" <<<"$keywords")" 1
done <<<"$configuration"
# A value that most keywords refuse: what is asked is whether the keyword is known.
knows() {
	local said
	said=$(ssh -G -F none -o "$1=x" localhost </dev/null 2>&1)
	case ${said,,} in
	*'bad configuration option'*) echo no ;;
	'') echo "ssh says nothing" ;;
	*) echo yes ;;
	esac
}
is "NoSuchKeyword is none (sibling)" "$(knows NoSuchKeyword)" no
while read -r keyword; do
	known=$(knows "$keyword")
	if [ "$known" = no ]; then
		is "$keyword is of another ssh" "$(has "$newer" "$keyword" && echo yes)" yes
	else
		is "$keyword is a keyword of ssh" "$known" yes
	fi
done <<<"$keywords"
# How a keyword is parted from its value, as the table's reader has it; -A beats -o in either order.
agent() {
	ssh -G -F none "$@" localhost </dev/null 2>/dev/null | sed -n 's/^forwardagent //p'
}
is "a keyword by '='" "$(agent -oForwardAgent=yes)" yes
is "a keyword by a blank, in any case" "$(agent -o 'forwardAGENT yes')" yes
is "a keyword by blanks and '='" "$(agent -o ' ForwardAgent  =  yes ')" yes
is "a keyword in a chain" "$(agent -CvoForwardAgent=yes)" yes
is "the first of two counts" "$(agent -oForwardAgent=no -oForwardAgent=yes)" no
is "a letter beats a keyword before it" "$(agent -oForwardAgent=no -A)" yes
is "a letter beats a keyword behind it" "$(agent -A -oForwardAgent=no)" yes
done_testing
