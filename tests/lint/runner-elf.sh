#!/bin/sh
# The runner must run where there is no library: a static, not position-independent ELF file of at most
# 256 KiB. musl's own static-pie yields a dynamic file on Debian 12, hence the look at the header.
set -eu

runner=$1
type=$(readelf -h "$runner" | sed -n 's/^ *Type: *\([A-Z]*\).*/\1/p')
[ "$type" = EXEC ] || { echo "$runner: ELF type is $type, not EXEC"; exit 1; }
if readelf -lW "$runner" | grep -qE 'INTERP|DYNAMIC'; then
	echo "$runner: is linked dynamically"
	exit 1
fi
size=$(stat -c %s "$runner")
[ "$size" -le 262144 ] || { echo "$runner: $size bytes (262144 at most)"; exit 1; }
