#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# memory_sim.sh [--quick] [--json] [--build DIR] - the speed of `mem sim`, and whether its memory stays constant.
#
# The yardstick is cachegrind, with the same two levels, on the same programs (bench/memory/work.c, built by
# gcc): data accesses per second of user CPU time, and of elapsed time. `mem sim` reads the trace from tmpfs,
# decompresses, decodes and simulates. Without classes it has one thread; with classes a second one finds
# them (--threads), so three figures are printed: both threads elapsed, their CPU time together, and the CPU
# time with one thread. Cachegrind also simulates the instruction cache and runs the program, which is the
# price of its figures. All take turns, several rounds, the least time of each: other load on the machine
# only adds time. Elapsed times mean something on an idle machine only. No further round begins after
# 80 seconds of one program. Memory: peak resident size with the same records ten times.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
rounds=5 json=0 scale=1 longest=80
while [ $# -gt 0 ]; do
	case $1 in
	--quick) rounds=3 scale=2 ;;
	--json) json=1 ;;
	--build) build=$2 && shift ;;
	*) echo "usage: memory_sim.sh [--quick] [--json] [--build DIR]" >&2 && exit 2 ;;
	esac
	shift
done
tool=$build/corotracer
if ! command -v valgrind >/dev/null; then
	echo "memory_sim.sh: no valgrind here" >&2
	echo "hint: apt-get install valgrind" >&2
	exit 1
fi
dir=$(mktemp -d /dev/shm/corotracer-bench.XXXXXX)
trap 'rm -rf "$dir"' EXIT

gcc -O2 -g "$here/memory/work.c" -o "$dir/plain"
COROTRACER_CC=gcc "$tool" mem cc -O2 -g "$here/memory/work.c" -o "$dir/traced"

# cost COMMAND...: seconds of user CPU, peak kilobytes and elapsed seconds of the command.
cost()
{
	python3 -c 'import resource, subprocess, sys, time
start = time.monotonic()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{r.ru_utime:.3f} {r.ru_maxrss} {time.monotonic() - start:.3f}")' "$@"
}

# least FILE [COLUMN]: CPU time, or the given column of cost.
least() { awk -v c="${2:-1}" '{ print $c }' "$dir/$1" | sort -n | head -n 1; }
caches=(--cache "32K,8,64" --cache "8M,16,64")
grind=(valgrind --tool=cachegrind --cache-sim=yes "--I1=32768,8,64" "--D1=32768,8,64" "--LL=8388608,16,64")

results=$dir/results
for work in matmul:400 quicksort:2000000 hash:1000000; do
	kind=${work%:*} size=$((${work#*:} / scale))
	echo "memory_sim.sh: $kind" >&2
	"$tool" mem run -q -o "$dir/trace" -- "$dir/traced" "$kind" "$size" >/dev/null
	rm -f "$dir"/{grind,full,single,bare,blame}
	started=$SECONDS
	for ((i = 0; i < rounds && (i == 0 || SECONDS - started < longest); i++)); do
		cost "${grind[@]}" --cachegrind-out-file="$dir/out" "$dir/plain" "$kind" "$size" >>"$dir/grind"
		cost "$tool" mem sim --threads 2 "${caches[@]}" "$dir/trace" >>"$dir/full"
		cost "$tool" mem sim --threads 1 "${caches[@]}" "$dir/trace" >>"$dir/single"
		cost "$tool" mem sim --no-classes "${caches[@]}" "$dir/trace" >>"$dir/bare"
		cost "$tool" mem sim --blame "${caches[@]}" "$dir/trace" >>"$dir/blame"
	done
	ours=$("$tool" mem sim --no-classes --json "${caches[@]}" "$dir/trace" | sed 's/.*"simulated":\([0-9]*\).*/\1/')
	theirs=$(awk '/^summary:/ { print $5 + $8 }' "$dir/out")
	echo "$kind $ours $theirs $(least grind) $(least full) $(least bare) $(least blame)" \
		"$(least grind 3) $(least full 3) $(least single)" >>"$results"
done

# The same accesses once and ten times: raw records can be concatenated.
"$tool" mem run -q -o "$dir/trace" -- "$dir/traced" hash $((200000 / scale)) >/dev/null
"$tool" mem convert --format raw -o "$dir/once" "$dir/trace" 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do cat "$dir/once"; done >"$dir/tenfold"
once=$(cost "$tool" mem sim "${caches[@]}" "$dir/once" | awk '{ print $2 }')
tenfold=$(cost "$tool" mem sim "${caches[@]}" "$dir/tenfold" | awk '{ print $2 }')

awk -v json="$json" -v busy="$(cut -d' ' -f1-3 /proc/loadavg)" -v once="$once" -v tenfold="$tenfold" '
function row(what, value, against, wanted) {
	ratio = value / against
	if (json) printf "%s{\"what\":\"%s\",\"value\":%.3f,\"yardstick\":%.3f,\"ratio\":%.3f,\"wanted\":\"%s\"}", n++ ? ",\n" : "[", what, value, against, ratio, wanted
	else printf "%-60s %9.2f %9.2f %8.2f  %s\n", what, value, against, ratio, wanted
}
BEGIN { if (!json) printf "%-60s %9s %9s %8s  %s\n", "million accesses per second: mem sim / cachegrind", "measured", "yardstick", "ratio", "wanted" }
{
	row($1 ", --no-classes, CPU of one thread", $2 / $6 / 1e6, $3 / $4 / 1e6, ">= 3")
	row($1 ", classes, two threads, elapsed", $2 / $9 / 1e6, $3 / $8 / 1e6, ">= 2")
	row($1 ", classes, two threads, CPU of both", $2 / $5 / 1e6, $3 / $4 / 1e6, "")
	row($1 ", classes, one thread, CPU", $2 / $10 / 1e6, $3 / $4 / 1e6, "")
	row($1 ", seconds of CPU, one thread: --blame / without", $7, $10, "<= 1.5")
}
END {
	row("peak memory in MB: ten times the trace / once", tenfold / 1024, once / 1024, "<= 1.1")
	if (json) print "]"
	else print "load average: " busy
}' "$results"
