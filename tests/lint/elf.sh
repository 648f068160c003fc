#!/bin/sh
# Both programs that a run consists of must run where there is no library. musl's own static-pie yields
# a dynamic file on Debian 12, hence the look at the headers.
#
#	elf.sh RUNNER LAUNCHER
set -eu

status=0
wrong() {
	echo "$1: $2"
	status=1
}
# expect FILE TYPE: static, of that ELF type, with a stack that is not executable
expect() {
	type=$(readelf -h "$1" | sed -n 's/^ *Type: *\([A-Z]*\).*/\1/p')
	[ "$type" = "$2" ] || wrong "$1" "ELF type is $type, not $2"
	readelf -lW "$1" | grep -q INTERP && wrong "$1" "is linked dynamically"
	readelf -dW "$1" | grep -q NEEDED && wrong "$1" "needs a library"
	readelf -lW "$1" | grep -q 'GNU_STACK.*RWE' && wrong "$1" "has an executable stack"
	return 0
}

# The runner: not position-independent, few pages, at most 256 KiB.
expect "$1" EXEC
size=$(stat -c %s "$1")
[ "$size" -le 262144 ] || wrong "$1" "$size bytes (262144 at most)"

# The launcher reads hostile files: position-independent, its tables of pointers read-only.
expect "$2" DYN
readelf -lW "$2" | grep -q GNU_RELRO || wrong "$2" "has no RELRO"
readelf -sW "$2" | grep -q __stack_chk_fail || wrong "$2" "has no stack protector"
exit $status
