#!/bin/sh
# Files under 600 lines, functions under 60, at most five parameters. Tables are exempt by being .def.
set -eu

status=0
for file in $(git ls-files '*.c' '*.h'); do
	awk -v file="$file" '
	function check(len) {
		if (len > 60) {
			printf "%s:%d: function of %d lines (60 at most)\n", file, start, len
			bad = 1
		}
	}
	/^[^ \t#\/*{}]/ { head = head " " $0; if (head_line == 0) head_line = NR }
	/^[ \t]+[^ \t]/ && head_line && !inside { head = head " " $0 }
	/^$/ || /;$/ { if (!inside) { head = ""; head_line = 0 } }
	/^{/ {
		inside = 1
		start = NR
		args = head
		if (file ~ /\.c$/ && args ~ /\(/ && args !~ /=/) {
			sub(/^[^(]*\(/, "", args)
			gsub(/\([^()]*\)/, "", args)
			n = gsub(/,/, ",", args) + 1
			# foreign.c has the signatures of another library.
			if (n > 5 && file !~ /\/foreign\.c$/) {
				printf "%s:%d: %d parameters (five at most)\n", file, NR, n
				bad = 1
			}
		}
		head = ""
		head_line = 0
	}
	/^}/ { if (inside) check(NR - start + 1); inside = 0 }
	END {
		if (NR > 600) {
			printf "%s: %d lines (600 at most)\n", file, NR
			bad = 1
		}
		exit bad
	}' "$file" || status=1
done
exit $status
