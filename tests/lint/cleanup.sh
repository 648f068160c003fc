#!/bin/sh
# A variable with a cleanup attribute is cleaned up on every way out: it is made before the first of
# them. What the compiler fills it with instead differs from one to the next.
set -eu

awk '
	FNR == 1 || /^}/ { waiting = 0 }
	/^\t+HL_AUTO[(_].*;/ && !/=/ {
		names = $0
		sub(/;.*/, "", names)
		sub(/^\t+HL_AUTO[^ ]* (struct |const |unsigned |char |int )*[a-z_]* *\**/, "", names)
		n = split(names, name, /, */)
		for (i = 1; i <= n; i++)
			pending[++waiting] = name[i]
		next
	}
	waiting {
		for (i = 1; i <= waiting; i++)
			if ($0 ~ "(&" pending[i] "[^a-z_]|(^|[^a-z_.>])" pending[i] " = )")
				pending[i] = pending[waiting--]
		if (waiting && /(^|[^a-z_])return[ ;]/) {
			printf "%s:%d: leaves before %s is made\n", FILENAME, FNR, pending[1]
			bad = 1
			waiting = 0
		}
	}
	END { exit bad }' "$@"
