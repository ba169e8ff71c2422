#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# memory_blame.sh [--quick] [--json] [--build DIR] - the CPU time of the analyses of a memory trace, relative to `mem sim`.
#
# The trace is that of SQLite: 61 million accesses (--quick: 6 million, where reading DWARF dominates). SQLite is built
# from the distribution's source package by the code of tests/memory-rt, and kept in the build folder. The commands take turns,
# several rounds, the least CPU time (user and system) of each: other load on the machine only adds time.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
rounds=5 json=0 rows=27500
while [ $# -gt 0 ]; do
	case $1 in
	--quick) rounds=3 rows=3000 ;;
	--json) json=1 ;;
	--build) build=$2 && shift ;;
	*) echo "usage: memory_blame.sh [--quick] [--json] [--build DIR]" >&2 && exit 2 ;;
	esac
	shift
done
build=$(cd "$build" && pwd)
tool=$build/corotracer
dir=$(mktemp -d /dev/shm/corotracer-bench.XXXXXX)
trap 'rm -rf "$dir"' EXIT

mkdir -p "$build/bench-programs"
program=$(COROTRACER=$tool TEST_PROGRAMS=$build/bench-programs PYTHONPATH=$here/../tests/memory-rt python3 -c '
from real_programs import build_sqlite
from rt import Skip
try:
    print(build_sqlite(("gcc", "g++"), "-O2", flags=("-DSQLITE_THREADSAFE=0",)))
except Skip as e:
    raise SystemExit(f"memory_blame.sh: cannot build SQLite: {e}")')
"$tool" mem run -q -o "$dir/trace" -- "$program" "$rows" >/dev/null

# cost COMMAND...: seconds of CPU.
cost()
{
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{r.ru_utime + r.ru_stime:.3f}")' "$@"
}

least() { sort -n "$dir/$1" | head -1; }

for ((i = 0; i < rounds; i++)); do
	cost "$tool" mem sim "$dir/trace" >>"$dir/sim"
	cost "$tool" mem sim --blame "$dir/trace" >>"$dir/blame"
	cost "$tool" mem stat "$dir/trace" >>"$dir/stat"
	cost "$tool" mem layout "$dir/trace" >>"$dir/layout"
done
accesses=$("$tool" mem check --json "$dir/trace" | python3 -c 'import json, sys; print(json.load(sys.stdin)["accesses"])')
awk -v json=$json -v n="$accesses" -v sim="$(least sim)" -v blame="$(least blame)" -v stat="$(least stat)" -v layout="$(least layout)" 'BEGIN {
	if (json) {
		printf "{\"accesses\":%d,\"sim\":%s,\"blame\":%s,\"stat\":%s,\"layout\":%s}\n", n, sim, blame, stat, layout
		exit
	}
	printf "SQLite, %d accesses: mem sim takes %.2f s of CPU\n", n, sim
	printf "  %-18s %6.2f s   / sim %5.2f\n", "mem sim --blame", blame, blame / sim
	printf "  %-18s %6.2f s   / sim %5.2f\n", "mem stat", stat, stat / sim
	printf "  %-18s %6.2f s   / sim %5.2f\n", "mem layout", layout, layout / sim
}'
