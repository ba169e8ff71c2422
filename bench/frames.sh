#!/bin/bash
# SPDX-License-Identifier: MIT
#
# frames.sh - how fast a recording of frames is decoded, how long an attach stops the program, and what a save
# costs if several threads save at the same time.
#
# usage: bench/frames.sh [--build DIR] [--json]
#
# The yardstick for decoding is `wc -c` reading the same file through a pipe (for a file it would only read
# the size).  Times are reported; no time fails the benchmark.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
json=0
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?--build wants a directory}; shift ;;
	--json) json=1 ;;
	*) echo "usage: bench/frames.sh [--build DIR] [--json]" >&2; exit 2 ;;
	esac
	shift
done

tool=$build/corotracer
if [ ! -x "$build/bench/bench-frames-recording" ]; then
	echo "bench/frames.sh: no '$build/bench/bench-frames-recording'" >&2
	echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
	exit 1
fi

dir=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
pid=
trap 'rm -rf "$dir"; [ -z "$pid" ] || kill "$pid"' EXIT
values=$dir/values

# best KEY COMMAND...: MB/s of the recording, the best of three runs.
best()
{
	local key=$1 from to
	shift
	for _ in 1 2 3; do
		rm -rf "$dir/out"
		from=$EPOCHREALTIME
		"$@" >/dev/null
		to=$EPOCHREALTIME
		echo "$from $to"
	done | awk -v key="$key" -v bytes="$size" '
		{ rate = bytes / ($2 - $1) / 1e6; if (rate > top) top = rate }
		END { print key, top }' >>"$values"
}

"$build/bench/bench-frames-recording" "$dir/frames.ppt" 3000000
size=$(stat -c %s "$dir/frames.ppt")
best wc sh -c "cat '$dir/frames.ppt' | wc -c"
best csv "$tool" decode -q "$dir/frames.ppt" "$dir/out"
best jsonl "$tool" decode -q -f jsonl "$dir/frames.ppt" "$dir/out"
best sqlite "$tool" decode -q -f sqlite "$dir/frames.ppt" "$dir/out"

if [ -x "$build/tests/frames/live/live_fixed" ]; then
	"$build/tests/frames/live/live_fixed" 1 100000 >/dev/null &
	pid=$!
	for _ in 1 2 3 4 5; do
		"$tool" attach -p $pid -o "$dir/live.ppt" --duration 0.2 --json 2>&1 |
			sed -n 's/.*"stopped_ns":\([0-9]*\).*/\1/p'
	done | sort -n | awk '{ last = $1 } END { print "stopped", last }' >>"$values"
	kill $pid
	pid=
fi

if [ -x "$build/bench/bench-frames-threads" ]; then
	"$build/bench/bench-frames-threads" >>"$values"
fi

cat >"$dir/rows" <<'END'
decode to CSV|csv|MB/s|wc|wc -c|>= 0.05
decode to JSON lines|jsonl|MB/s|wc|wc -c|>= 0.05
decode to SQLite|sqlite|MB/s|wc|wc -c|
an attach stops the program for|stopped|ns|||<= 0
save, 1 thread, a ticket each|frames.threads.single.1_ns|ns|frames.threads.clock_ns|clock_gettime|
save, 2 threads, a ticket each|frames.threads.single.2_ns|ns|frames.threads.single.1_ns|1 thread|
save, 4 threads, a ticket each|frames.threads.single.4_ns|ns|frames.threads.single.1_ns|1 thread|
save, 8 threads, a ticket each|frames.threads.single.8_ns|ns|frames.threads.single.1_ns|1 thread|
save, 1 thread, tickets in blocks|frames.threads.block.1_ns|ns|frames.threads.clock_ns|clock_gettime|
save, 2 threads, tickets in blocks|frames.threads.block.2_ns|ns|frames.threads.block.1_ns|1 thread|<= 1.5
save, 4 threads, tickets in blocks|frames.threads.block.4_ns|ns|frames.threads.block.1_ns|1 thread|<= 1.5
save, 8 threads, tickets in blocks|frames.threads.block.8_ns|ns|frames.threads.block.1_ns|1 thread|<= 1.5
END
awk -F'|' -v json=$json -v quick=0 -v arch="$(uname -m)" -v cpus="$(nproc)" \
	-f "$here/table.awk" "$values" "$dir/rows"
