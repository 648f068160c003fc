#!/bin/bash
# What a run costs, side by side, in one table: hermes-launch, the floor (bench/floor.c), bubblewrap
# with a like profile, and the bare command. Interleaved; min, median and p95; ratios of medians.
# Prints and never fails by time. The last table worth keeping is in bench/RESULTS.md.
#
#	make bench			ROUNDS=200 CROWD=1000 by default
set -eu
cd "$(dirname "$0")/.."
HERE=$PWD

B=build/bench
ROUNDS=${ROUNDS:-200}
mkdir -p "$B"
make -s build/kernel-headers/.done build/gen/profiles.h
"${MUSL_CC:-musl-gcc}" -static -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -I. -Ibuild/gen \
	-isystem build/kernel-headers -o "$B/floor" bench/floor.c confine/profiles.c base/*.c
"${CC:-gcc}" -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$B/measure" bench/measure.c
"${CC:-gcc}" -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Wno-maybe-uninitialized -I. -Ibuild/gen \
	-o "$B/merge" bench/merge.c base/*.c policy/*.c -lyaml
"${CC:-gcc}" -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$B/events" bench/events.c -lyaml
echo 'int main(void) { return 0; }' >"$B/empty.c"
"${CC:-gcc}" -O2 -o "$B/empty" "$B/empty.c"

# A place that every caller can reach, with a policy and a ledger of its own.
TMP=$(mktemp -d /tmp/hermes-launch-bench.XXXXXX)
trap 'rm -rf "$TMP"' EXIT
chmod 755 "$TMP"
mkdir -m 777 "$TMP/work"
mkdir "$TMP/bin"
cp build/hermes-launch build/hermes-runner "$B/floor" "$B/measure" "$B/empty" "$B/events" "$TMP/bin/"
cat >"$TMP/policy.yaml" <<'Y'
version: 1
id: bench/plain
level: baseline@1
backends: [local]
Y
# The same policy, four kilobytes long.
{
	cat "$TMP/policy.yaml"
	echo 'env:'
	echo '  set:'
	for i in $(seq 1 130); do
		printf '    BENCH_VARIABLE_%03d: "value %03d"\n' "$i" "$i"
	done
} >"$TMP/big.yaml"
"$TMP/bin/floor" --filter >"$TMP/filter.bpf"
export HERMES_LAUNCH_STATE=$TMP/state
TRUE=$(readlink -f /bin/true)
HL=$TMP/bin/hermes-launch

# table BASE: rows of measure, with the ratio to the row named BASE
table() {
	awk -v base="$1" '
	{ name[NR] = $1; min[NR] = $2; median[NR] = $3; p95[NR] = $4; cpu[NR] = $5; rss[NR] = $6
		note[NR] = $7; time_of[$1] = $3; cpu_of[$1] = $5 }
	function ratio(a, b) { return b > 0 ? sprintf("%.2f", a / b) : "-" }
	END {
		print "| what | min us | median us | p95 us | x " base " | cpu us | x " base " | peak KiB |"
		print "|---|---|---|---|---|---|---|---|"
		for (i = 1; i <= NR; i++)
			print "| " name[i] " | " min[i] " | " median[i] " | " p95[i] " | " ratio(median[i], time_of[base]) \
				" | " cpu[i] " | " ratio(cpu[i], cpu_of[base]) " | " rss[i] " | " note[i]
	}'
}

echo "commit $(git rev-parse --short HEAD 2>/dev/null || echo none), $(uname -srm), $(nproc) processors, load $(cut -d' ' -f1 </proc/loadavg), $ROUNDS rounds, uid $(id -u)"
echo
echo "## One confined run of true"
echo
cd "$TMP/work"
# What bubblewrap can do of the same profile: a usual call of it, and with the places covered and read-only
# that the launcher covers. No Landlock, no control group, no ledger, no read-back in either.
USUAL=(--unshare-all --die-with-parent --new-session --ro-bind / / --tmpfs /tmp --tmpfs /var/tmp --tmpfs /run
	--tmpfs /home --tmpfs /root --proc /proc)
COVER=()
for path in /proc/sys /proc/irq /proc/bus /proc/fs; do
	[ ! -e "$path" ] || COVER+=(--ro-bind "$path" "$path")
done
for path in /proc/{acpi,asound,kallsyms,kcore,keys,key-users,kmsg,kpagecgroup,kpagecount,kpageflags,timer_list} \
	/etc/{,g}shadow{,-}; do
	[ ! -d "$path" ] || COVER+=(--tmpfs "$path" --remount-ro "$path")
	[ ! -f "$path" ] || COVER+=(--ro-bind /dev/null "$path")
done
REST=(--dev /dev --bind "$PWD" "$PWD" --cap-drop ALL --clearenv --seccomp 0 "$TRUE")
BWRAP=$(command -v bwrap)
"$TMP/bin/measure" "$ROUNDS" \
	bare "$TRUE" , \
	floor "$TMP/bin/floor" "$TMP/ledger" "$TRUE" , \
	hermes-launch "$HL" --policy "$TMP/policy.yaml" -- "$TRUE" , \
	bubblewrap-usual "<$TMP/filter.bpf" "$BWRAP" "${USUAL[@]}" "${REST[@]}" , \
	bubblewrap-same "<$TMP/filter.bpf" "$BWRAP" "${USUAL[@]}" "${COVER[@]}" "${REST[@]}" | table floor
echo
echo "## The launcher itself"
echo
"$TMP/bin/measure" "$ROUNDS" \
	empty "$TMP/bin/empty" , \
	version "$HL" version , \
	policy-check-4KiB "$HL" policy check "$TMP/big.yaml" | table empty

# The rounds of an input that is refused are told as failed, which is what they are there for.
hostile() {
	local rows=() file
	for file in "$TMP"/hostile/*.yaml; do
		[ ${#rows[@]} -eq 0 ] || rows+=(',')
		rows+=("$(basename "$file" .yaml)" "$HL" policy check "$file")
		if [ ${#rows[@]} -ge 60 ]; then
			"$TMP/bin/measure" 10 "${rows[@]}"
			rows=()
		fi
	done
	[ ${#rows[@]} -eq 0 ] || "$TMP/bin/measure" 10 "${rows[@]}"
}
mkdir "$TMP/stack" "$TMP/hostile"
cp "$HERE"/examples/policies/org-base.yaml "$HERE"/examples/policies/team-on-org.yaml "$TMP/stack/"
python3 "$HERE/bench/hostile.py" "$TMP/hostile"
chmod 644 "$TMP"/stack/* "$TMP"/hostile/*
echo
echo "## A policy"
echo
{
	"$TMP/bin/measure" "$ROUNDS" \
		version "$HL" version , \
		policy-check-stack "$HL" policy check --stack "$TMP/stack/org-base.yaml" "$TMP/stack/team-on-org.yaml"
	"$HERE/$B/merge" "$ROUNDS"
} | table version
python3 "$HERE/bench/valid.py" "$TMP/valid.yaml"
chmod 644 "$TMP/valid.yaml"
echo
echo "## A valid policy of one MiB, beside a bare loop over libyaml's events"
echo
"$TMP/bin/measure" "$ROUNDS" \
	events "$TMP/bin/events" "$TMP/valid.yaml" , \
	events-of-nothing "$TMP/bin/events" /dev/null , \
	version "$HL" version , \
	policy-check-1MiB "$HL" policy check "$TMP/valid.yaml" | table events
echo
echo "## A policy of one MiB that means no good"
echo
hostile | sed 's/ FAILED//' | table brackets

# A session, asked over JSON-RPC by one Python program that also runs the bare commands.
export PYTHONDONTWRITEBYTECODE=1
session() {
	python3 "$HERE/bench/session.py" "$1" "$HL" "$TMP/policy.yaml" "${@:2}"
}
echo
echo "## A call of a session"
echo
session calls "$ROUNDS"
echo
echo "## Output through a session"
echo
session output
echo
session idle
session crowd "${CROWD:-1000}"
echo
bash "$HERE/bench/docker.sh"
