#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# memory.sh [--quick] [--json] [--build DIR] [--compiler NAME] - the cost of a memory trace.
#
# A matrix product, a quicksort and a hash table (bench/memory/work.c), each compiled four times: plain, with
# empty callbacks, for real ThreadSanitizer, and with the runtime, which runs disabled and writing a complete
# trace, alone and under `mem run`. All variants take turns, several rounds, the median of each; a slowdown is
# against the plain program of the same run. The time is that from the start
# of the work to its end as the program sees it; "whole" is the process, trace complete on disk.
# CPU time is user and system time, the least of all rounds: it depends less on what else runs.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
rounds=5 json=0 quick=0 compilers=(gcc clang)
while [ $# -gt 0 ]; do
	case $1 in
	--quick) rounds=3 quick=1 ;;
	--json) json=1 ;;
	--build) build=$2 && shift ;;
	--compiler) compilers=("$2") && shift ;;
	*) echo "usage: memory.sh [--quick] [--json] [--build DIR] [--compiler NAME]" >&2 && exit 2 ;;
	esac
	shift
done
tool=$build/corotracer
dir=$(mktemp -d /dev/shm/corotracer-bench.XXXXXX)
trap 'rm -rf "$dir"' EXIT
export TSAN_OPTIONS=report_bugs=0

# On some systems real ThreadSanitizer fails under address space randomisation.
still=()
if setarch -R true 2>/dev/null; then still=(setarch -R); fi

# empty NAME: empty callbacks for every function that this compiler calls.
empty()
{
	nm -u "$dir/$1.o" | awk '/__tsan_/ { print "void " $2 "(void);\nvoid " $2 "(void) {}" }' >"$dir/empty.c"
	"$1" -O2 -w -c "$dir/empty.c" -o "$dir/$1-empties.o"
}

build_all()
{
	local cc=$1 source=$here/memory/work.c
	"$cc" -O2 "$source" -o "$dir/$cc-plain"
	COROTRACER_CC=$cc "$tool" mem cc -O2 -c "$source" -o "$dir/$cc.o"
	empty "$cc"
	"$cc" "$dir/$cc.o" "$dir/$cc-empties.o" -o "$dir/$cc-empty"
	"$cc" -O2 -fsanitize=thread "$source" -o "$dir/$cc-tsan"
	COROTRACER_CC=$cc "$tool" mem cc "$dir/$cc.o" -o "$dir/$cc-ours"
}

# one FILE COMMAND...: a line with the work's seconds, the process's, its CPU time, and that with the collector's.
one()
{
	local out=$1 TIMEFORMAT='%R %U %S'
	shift
	{ time "$@" >"$dir/out" 2>"$dir/err"; } 2>"$dir/time" || true
	[ -s "$dir/out" ] || { cat "$dir/err" >&2; echo "memory.sh: failed: $*" >&2; exit 1; }
	awk 'NR == 1 { work = $1; cpu = $3; next } { print work, $1, cpu, $2 + $3 }' "$dir/out" "$dir/time" >>"$out"
}

measure()
{
	local cc=$1 kind=$2 scale=$3 i p=$dir/$1
	for ((i = 0; i < rounds; i++)); do
		one "$dir/plain" "$p-plain" "$kind" "$scale"
		one "$dir/empty" "$p-empty" "$kind" "$scale"
		one "$dir/tsan" "${still[@]}" "$p-tsan" "$kind" "$scale"
		CACHERAY_OPTIONS=enabled=0 one "$dir/off" "$p-ours" "$kind" "$scale"
		CACHERAY_OPTIONS=tracefile=$dir/trace one "$dir/alone" "$p-ours" "$kind" "$scale"
		one "$dir/run" "$tool" mem run -q -o "$dir/run.trace" -- "$p-ours" "$kind" "$scale"
	done
}

median() { sort -n -k"$2" "$dir/$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'; }
least() { sort -n -k"$2" "$dir/$1" | awk -v c="$2" 'NR == 1 { print $c }'; }
field() { "$tool" mem check --json "$1" | sed "s/.*\"$2\":\([0-9]*\).*/\1/"; }

results=$dir/results
for cc in "${compilers[@]}"; do
	command -v "$cc" >/dev/null || continue
	build_all "$cc"
	for work in matmul:400 quicksort:2000000 hash:1000000; do
		kind=${work%:*} scale=${work#*:}
		[ $quick = 0 ] || scale=$((scale / 2))
		rm -f "$dir"/{plain,empty,tsan,off,alone,run}
		echo "memory.sh: $cc, $kind" >&2
		measure "$cc" "$kind" "$scale"
		accesses=$(field "$dir/trace" accesses)
		echo "$cc $kind $(median plain 1) $(median empty 1) $(median tsan 1) $(median off 1) $(median alone 1)" \
			"$(median run 1) $accesses $(stat -c %s "$dir/trace") $(stat -c %s "$dir/run.trace")" \
			"$(median plain 2) $(median tsan 2) $(median alone 2) $(median run 2)" \
			"$(least tsan 3) $(least run 3) $(least run 4) $(least alone 4)" >>"$results"
	done
done

awk -v json="$json" -v busy="$(cut -d' ' -f1-3 /proc/loadavg)" '
function row(what, value, against, wanted) {
	ratio = value / against
	if (json) printf "%s{\"what\":\"%s\",\"value\":%.3f,\"yardstick\":%.3f,\"ratio\":%.3f,\"wanted\":\"%s\"}", n++ ? ",\n" : "[", what, value, against, ratio, wanted
	else printf "%-58s %9.2f %9.2f %8.2f  %s\n", what, value, against, ratio, wanted
}
BEGIN { if (!json) printf "%-58s %9s %9s %8s  %s\n", "slowdown, or seconds of CPU: what / against what", "measured", "yardstick", "ratio", "wanted" }
{
	cc = $1; k = $2; plain = $3
	row(cc " " k ": complete trace, alone / ThreadSanitizer", $7 / plain, $5 / plain, "<= 1.5")
	row(cc " " k ": complete trace, mem run / ThreadSanitizer", $8 / plain, $5 / plain, "<= 1.5")
	row(cc " " k ": the same, whole process, alone", $14 / $12, $13 / $12, "")
	row(cc " " k ": the same, whole process, mem run", $15 / $12, $13 / $12, "")
	row(cc " " k ": CPU time of the program, mem run / ThreadSanitizer", $17, $16, cc == "gcc" ? "<= 0.6" : "<= 0.8")
	row(cc " " k ": CPU time with the collector / ThreadSanitizer", $18, $16, "<= 1.5")
	row(cc " " k ": CPU time, alone / ThreadSanitizer", $19, $16, "")
	row(cc " " k ": not enabled / empty callbacks", $6 / plain, $4 / plain, "<= 1.2")
	row(cc " " k ": bytes per access on disk, alone", $10 / $9, 1, "")
	row(cc " " k ": bytes per access on disk, mem run", $11 / $9, 1, "")
	alone += $10 / $9; run += $11 / $9; all++
}
END {
	row("bytes per access on disk, mean, alone", alone / all, 1, "<= 1.5")
	row("bytes per access on disk, mean, mem run", run / all, 1, "<= 1.5")
	if (json) print "]"
	else print "load average: " busy
}' "$results"
