#!/bin/sh
# The arrows between rooms: who may open whose door. Another room's door is <room>/<room>.h and
# nothing else of it may be included; a room's own headers and tables are its own. man/ is no room: it
# reads every table at build time.
set -eu

arrows='
base:
policy: base
confine: base
runner: confine base
backends: confine runner base
session: runner backends confine base
proxy-ca: base
audit: base
launcher: policy confine runner backends session proxy-ca audit base
'

failed=0
for file in $(git ls-files '*.c' '*.h' | grep -v -e '^tests/' -e '^bench/' -e '^man/'); do
	room=${file%%/*}
	allowed=$(printf '%s\n' "$arrows" | sed -n "s/^$room://p")
	for include in $(sed -n 's/^# *include "\([^"]*\)".*/\1/p' "$file"); do
		other=${include%%/*}
		case $include in
		*/*) ;;
		*) continue ;; # generated, in build/gen
		esac
		[ "$other" = "$room" ] && continue
		if [ "$include" != "$other/$other.h" ] && [ "$include" != "base/banned.h" ]; then
			echo "$file: opens '$include', which is not the door of $other"
			failed=1
		elif ! printf '%s\n' "$allowed" | grep -qw -- "$other"; then
			echo "$file: $room may not open $other"
			failed=1
		fi
	done
	# What every start loads has no library for keys in it.
	case $file in
	policy/seal/* | proxy-ca/*) ;;
	*)
		if grep -q '^# *include *<openssl/' "$file"; then
			echo "$file: only hl-seal and the proxy may open OpenSSL"
			failed=1
		fi
		;;
	esac
	case $file in
	*.c)
		last=$(sed -n 's/^# *include *[<"]\([^">]*\)[">].*/\1/p' "$file" | grep -v '\.def$' | tail -n 1)
		if [ "$last" != "base/banned.h" ]; then
			echo "$file: 'base/banned.h' is not its last include"
			failed=1
		fi
		;;
	esac
done
exit $failed
