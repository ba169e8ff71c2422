#!/bin/bash
# SPDX-License-Identifier: MIT
#
# merge.sh - merge of two large traces: events per second and peak memory.
#
# usage: bench/merge.sh [--build DIR] [--events N] [--coroutines N] [--json]
#
# The inputs are made by this script: N events each, of coroutines with small numbers, and with
# random numbers of 64 bits, which the merge replaces.  The yardstick is an export of both inputs,
# one after the other, as compact traces.  Times are those of the processor.  No time fails the
# benchmark.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
events=3000000 coroutines=1000000 json=0
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?--build wants a directory}; shift ;;
	--events) events=${2:?--events wants a number}; shift ;;
	--coroutines) coroutines=${2:?--coroutines wants a number}; shift ;;
	--json) json=1 ;;
	*) echo "usage: bench/merge.sh [--build DIR] [--events N] [--coroutines N] [--json]" >&2; exit 2 ;;
	esac
	shift
done
if [ ! -x "$build/corotracer" ]; then
	echo "bench/merge.sh: no '$build/corotracer'" >&2
	echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
	exit 1
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 - "$build/corotracer" "$dir" "$events" "$coroutines" "$json" <<'END'
import json, os, random, resource, subprocess, sys

tool, dir, events, coroutines = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def make(name, seed, is_random):
    """A compact trace of JSON lines with its run and its totals."""
    choose = random.Random(seed)
    ids = [choose.getrandbits(64) | 1 << 63 if is_random else i + 1 for i in range(coroutines)]
    states, ts, path = bytearray(coroutines), 10**9, f"{dir}/{name}.jsonl"
    with open(path, "w", encoding="utf-8") as out:
        for _ in range(events):
            i = choose.randrange(coroutines)
            ts += choose.randrange(1000)
            states[i] ^= 1
            out.write('{"probe_id":%d,"tid":%d,"addr":"0x0000000000001234","seq":2,"is_active":%s,"ts":%d}\n'
                      % (ids[i], seed * 100 + i % 4, "true" if states[i] else "false", ts))
    with open(path + ".meta", "w", encoding="utf-8") as out:
        run = {"type": "run", "format": 1, "tool": "merge.sh", "command": [name], "pid": seed, "start_ts": 10**9,
               "start_realtime": 17 * 10**17, "hostname": "box", "arch": "any", "stations": 0}
        totals = {"type": "totals", "complete": True, "written": events, "collected": events, "exit_status": 0, "end_ts": ts}
        for fact in run, {"type": "process", "pid": seed, "uid": 0, "connected_ts": 10**9}, totals:
            out.write(json.dumps(fact) + "\n")
    subprocess.run([tool, "export", "ct", "-q", "-i", path, "-o", f"{dir}/{name}.ct"], check=True)
    os.unlink(path)
    os.unlink(path + ".meta")
    return f"{dir}/{name}.ct"


def cost(*commands):
    """(seconds of the processor, largest resident size of a command)"""
    seconds = largest = 0
    for command in commands:
        pid = os.posix_spawn(tool, [tool, *command], os.environ)
        _, status, usage = os.wait4(pid, 0)
        if status:
            sys.exit(f"bench/merge.sh: corotracer {' '.join(command)} failed")
        seconds += usage.ru_utime + usage.ru_stime
        largest = max(largest, usage.ru_maxrss * 1024)
    return seconds, largest


rows = []
for what, is_random in ("small numbers", False), ("random numbers", True):
    first, second = make("a", 1, is_random), make("b", 2, is_random)
    copies = [("export", "ct", "-q", "-i", trace, "-o", dir + "/copy.ct") for trace in (first, second)]
    copied, _ = cost(*copies)
    merged, size = cost(("merge", "-q", "-o", dir + "/m.ct", first, second))
    rows.append({"what": f"merge, {what}", "events_per_s": 2 * events / merged, "copy_events_per_s": 2 * events / copied,
                 "ratio": merged / copied, "peak_bytes": size})
if sys.argv[5] == "1":
    print(json.dumps(rows))
for row in rows if sys.argv[5] != "1" else ():
    print("%-24s %10.3g events/s  %5.2f x the time of two exports  %6.0f MB" % (row["what"], row["events_per_s"], row["ratio"], row["peak_bytes"] / 1e6))
END
