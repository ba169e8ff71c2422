#!/bin/bash
# SPDX-License-Identifier: MIT
#
# report.sh - how fast a report is made, and whether its memory depends on the coroutines only.
#
# usage: bench/report.sh [--build DIR] [--events N] [--json]
#
# The yardstick is `wc -l` on the same JSON lines.  Times are processor times, which other programs
# beside it change little.  They are reported; no time fails the benchmark.  10,000,000 events should
# take at most 3 s and 20 MB.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
json=0
events=1000000
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?--build wants a directory}; shift ;;
	--events) events=${2:?--events wants a number}; shift ;;
	--json) json=1 ;;
	*) echo "usage: bench/report.sh [--build DIR] [--events N] [--json]" >&2; exit 2 ;;
	esac
	shift
done

tool=$build/corotracer
target=$build/tests/target
for program in "$tool" "$target"; do
	if [ ! -x "$program" ]; then
		echo "bench/report.sh: no '$program'" >&2
		echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
		exit 1
	fi
done

dir=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$dir"' EXIT

# make NAME EVENTS: a trace of a thousand coroutines with EVENTS events each.
make()
{
	"$tool" run -q -o "$dir/$1" -- "$target" events 1000 "$2" 0
}

# best COMMAND...: milliseconds of processor time, the best of five runs.
best()
{
	local TIMEFORMAT='%U %S'
	for _ in 1 2 3 4 5; do
		{ time "$@" >/dev/null 2>&1; } 2>&1
	done | awk '{ ms = ($1 + $2) * 1000; if (!n++ || ms < top) top = ms } END { printf "%.1f", top }'
}

# peak COMMAND...: peak memory in kilobytes, as the kernel reports it.
peak()
{
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}

make small.jsonl $((events / 10000))
make large.jsonl $((events / 1000))
make large.ctf $((events / 1000))
wc=$(best wc -l "$dir/large.jsonl")
jsonl=$(best "$tool" report "$dir/large.jsonl")
ctf=$(best "$tool" report "$dir/large.ctf")
small_kb=$(peak "$tool" report "$dir/small.jsonl")
large_kb=$(peak "$tool" report "$dir/large.jsonl")

awk -v json="$json" -v events="$events" -v wc="$wc" -v jsonl="$jsonl" -v ctf="$ctf" -v small="$small_kb" -v large="$large_kb" 'BEGIN {
	if (json == 1) {
		printf "{\"events\":%s,\"wc_ms\":%s,\"jsonl_ms\":%s,\"ctf_ms\":%s,\"small_kb\":%s,\"large_kb\":%s}\n", events, wc, jsonl, ctf, small, large
		exit
	}
	printf "%-46s %10s %10s %7s\n", "what", "measured", "yardstick", "ratio"
	printf "%-46s %7.1f ms %7.1f ms %7.2f\n", "report of " events " events / wc -l", jsonl, wc, jsonl / wc
	printf "%-46s %7.1f ms %7.1f ms %7.2f\n", "the same from CTF / wc -l of the JSON lines", ctf, wc, ctf / wc
	printf "%-46s %7d KB %7d KB %7.2f\n", "memory with 10 times the events", large, small, large / small
}'
