#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# memory_counters.sh [--quick] [--build DIR] - simulated misses beside those that the processor counts.
#
# A matrix product, a quicksort and a hash table (bench/memory/work.c): `mem sim` with the caches of this computer
# replays a trace of the instrumented program, and the plain program runs under the processor's counters. They
# differ where the simulator is simpler than the processor: prefetchers, replacement, accesses of the libraries and
# of the compiler's spills, which no callback reports. Where counters cannot be read, that is said, and the
# simulated column is printed alone.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
part=1
while [ $# -gt 0 ]; do
	case $1 in
	--quick) part=10 ;;
	--build) build=$2 && shift ;;
	*) echo "usage: memory_counters.sh [--quick] [--build DIR]" >&2 && exit 2 ;;
	esac
	shift
done
tool=$build/corotracer
dir=$(mktemp -d /dev/shm/corotracer-bench.XXXXXX)
trap 'rm -rf "$dir"' EXIT

cc -O2 "$here/memory/work.c" -o "$dir/plain"
cc -O2 "$here/memory/count_misses.c" -o "$dir/count"
"$tool" mem cc -O2 "$here/memory/work.c" -o "$dir/traced"

printf '%-12s %-18s %14s %14s %8s\n' program loads simulated measured ratio
for work in matmul:300 quicksort:1000000 hash:500000; do
	kind=${work%:*} scale=$((${work#*:} / part))
	"$tool" mem run -q -o "$dir/trace" -- "$dir/traced" "$kind" "$scale" >/dev/null
	"$tool" mem sim --no-classes --json "$dir/trace" >"$dir/sim"
	rm -f "$dir/measured"
	"$dir/count" "$dir/measured" "$dir/plain" "$kind" "$scale" >/dev/null 2>"$dir/why" || true
	touch "$dir/measured"
	python3 - "$kind" "$dir/sim" "$dir/measured" <<'END'
import json
import sys

kind, sim, measured = sys.argv[1], json.load(open(sys.argv[2])), dict(line.split() for line in open(sys.argv[3]))
levels = sim["levels"]
rows = (("all", sim["reads"], "loads"), (f"missed {levels[0]['name']}", levels[0]["read_misses"], "l1"),
        (f"missed {levels[-1]['name']}", levels[-1]["read_misses"], "last"))
for what, simulated, name in rows:
    count = int(measured[name]) if name in measured else None
    print(f"{kind:12} {what:18} {simulated:14,} {'-' if count is None else f'{count:,}':>14} "
          f"{f'{simulated / count:.2f}' if count else '-':>8}")
END
done
[ ! -s "$dir/why" ] || sed 's/^/not measured: /' "$dir/why"
