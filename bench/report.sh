#!/bin/bash
# SPDX-License-Identifier: MIT
#
# report.sh - how fast a report is made, and whether its memory depends on the coroutines only.
#
# usage: bench/report.sh [--build DIR] [--json]
#
# The yardstick is `wc -l` on the same JSON lines.  Times are reported; no time fails the benchmark.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
json=0
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?--build wants a directory}; shift ;;
	--json) json=1 ;;
	*) echo "usage: bench/report.sh [--build DIR] [--json]" >&2; exit 2 ;;
	esac
	shift
done

tool=$build/corotracer
target=$build/tests/target
for program in "$tool" "$target"; do
	if [ ! -x "$program" ]; then
		echo "bench/report.sh: no '$program'" >&2
		echo "hint: cmake -B build && cmake --build build, or --build DIR" >&2
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

# best COMMAND...: milliseconds, the best of five runs.
best()
{
	local from to
	for _ in 1 2 3 4 5; do
		from=$EPOCHREALTIME
		"$@" >/dev/null
		to=$EPOCHREALTIME
		echo "$from $to"
	done | awk '{ ms = ($2 - $1) * 1000; if (!n++ || ms < top) top = ms } END { printf "%.1f", top }'
}

# peak COMMAND...: peak memory in kilobytes, as the kernel reports it.
peak()
{
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}

make small.jsonl 100
make large.jsonl 1000
make large.ctf 1000
wc=$(best wc -l "$dir/large.jsonl")
jsonl=$(best "$tool" report "$dir/large.jsonl")
ctf=$(best "$tool" report "$dir/large.ctf")
small_kb=$(peak "$tool" report "$dir/small.jsonl")
large_kb=$(peak "$tool" report "$dir/large.jsonl")

awk -v json="$json" -v wc="$wc" -v jsonl="$jsonl" -v ctf="$ctf" -v small="$small_kb" -v large="$large_kb" 'BEGIN {
	if (json == 1) {
		printf "{\"wc_ms\":%s,\"jsonl_ms\":%s,\"ctf_ms\":%s,\"small_kb\":%s,\"large_kb\":%s}\n", wc, jsonl, ctf, small, large
		exit
	}
	printf "%-46s %10s %10s %7s\n", "what", "measured", "yardstick", "ratio"
	printf "%-46s %7.1f ms %7.1f ms %7.2f\n", "report of 1,000,000 events / wc -l", jsonl, wc, jsonl / wc
	printf "%-46s %7.1f ms %7.1f ms %7.2f\n", "the same from CTF / wc -l of the JSON lines", ctf, wc, ctf / wc
	printf "%-46s %7d KB %7d KB %7.2f\n", "memory with 10 times the events", large, small, large / small
}'
