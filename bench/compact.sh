#!/bin/bash
# SPDX-License-Identifier: MIT
#
# compact.sh - compact traces: bytes per event, and write and read rates, against CTF and memcpy.
#
# usage: bench/compact.sh [--build DIR] [--requests N] [--seconds S] [--json]
#
# The trace is that of mini-redis under redis-benchmark.  All numbers come from one run of
# bench-compact, in which the formats take turns; times are those of the processor.  No time fails
# the benchmark.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
requests=100000 seconds=8 json=0
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?--build wants a directory}; shift ;;
	--requests) requests=${2:?--requests wants a number}; shift ;;
	--seconds) seconds=${2:?--seconds wants a number}; shift ;;
	--json) json=1 ;;
	*) echo "usage: bench/compact.sh [--build DIR] [--requests N] [--seconds S] [--json]" >&2; exit 2 ;;
	esac
	shift
done
server=$build/examples/cpp/mini-redis
for program in "$build/corotracer" "$build/bench/bench-compact" "$server"; do
	if [ ! -x "$program" ]; then
		echo "bench/compact.sh: no '$program'" >&2
		echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
		exit 1
	fi
done
if ! command -v redis-benchmark >/dev/null; then
	echo "bench/compact.sh: no redis-benchmark" >&2
	echo "hint: install the package redis-tools" >&2
	exit 1
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$build/corotracer" run -q -o "$dir/redis.jsonl" -- \
	"$server" --port 0 --port-file "$dir/port" >/dev/null 2>&1 &
pid=$!
until [ -e "$dir/port" ]; do
	kill -0 "$pid" 2>/dev/null || { echo "bench/compact.sh: mini-redis did not start" >&2; exit 1; }
	sleep 0.1
done
redis-benchmark -p "$(cat "$dir/port")" -c 50 -n "$requests" -t set,get -q >/dev/null
kill -TERM "$pid"
wait "$pid"

BENCH_OUT=$dir/values "$build/bench/bench-compact" "$dir/redis.jsonl" --seconds="$seconds"
size=$(stat -c %s "$dir/redis.jsonl")
awk -v json="$json" -v size="$size" '
	{ v[$1] = $2 }
	function row(what, key, unit, yard, name, wanted) {
		ratio = yard ? v[key] / v[yard] : 0
		if (json)
			printf "%s{\"what\":\"%s\",\"value\":%g,\"yardstick\":%g,\"ratio\":%g}", (n++ ? "," : "["), what, v[key],
				yard ? v[yard] : 0, ratio
		else
			printf "%-38s %10.4g %-4s %8s  %-26s %s\n", what, v[key], unit,
				yard ? sprintf("%.2f x", ratio) : "", name, wanted
	}
	END {
		v["jsonl"] = size * v["compact.ct_bytes_per_transition"] / v["compact.ct_bytes"] / v["compact.events"]
		row("JSON lines, per transition", "jsonl", "B")
		row("CTF, per event", "compact.ctf_bytes", "B")
		row("compact, per event", "compact.ct_bytes", "B", "compact.ctf_zstd_bytes", "CTF + zstd", "")
		row("compact, per transition", "compact.ct_bytes_per_transition", "B", "jsonl", "JSON lines", "<= 4 B")
		row("write compact", "compact.ct_write_per_s", "/s", "compact.ctf_zstd_write_per_s", "CTF + zstd", ">= 10 M/s")
		row("write compact", "compact.ct_write_per_s", "/s", "compact.ctf_write_per_s", "CTF", "")
		row("write compact", "compact.ct_write_per_s", "/s", "compact.memcpy_per_s", "memcpy of 32 bytes", "")
		row("read compact", "compact.ct_read_per_s", "/s", "compact.ctf_zstd_read_per_s", "CTF + zstd", "")
		row("read compact", "compact.ct_read_per_s", "/s", "compact.ctf_read_per_s", "CTF", "")
		row("read compact", "compact.ct_read_per_s", "/s", "compact.memcpy_per_s", "memcpy of 32 bytes", "")
		if (json)
			print "]"
	}' "$dir/values"
