#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh - run all benchmarks, print one table.  See README.md.
#
# Times are reported; the exit status is 0 whatever they are.
set -euo pipefail

usage()
{
	cat <<-'END'
	usage: bench/run.sh [--quick] [--spin] [--json] [--build DIR]

	  --quick      a quarter of the time, and of the idle coroutines a tenth
	  --spin       the paced events also with busy waiting in between
	  --json       an object instead of a table: rows, and every value measured
	  --build DIR  where the tool and the benchmarks were built (default: build)
	END
}

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
quick=0 spin=0 json=0
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 ;;
	--spin) spin=1 ;;
	--json) json=1 ;;
	--build) build=${2:?--build wants a directory}; shift ;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

tool=$build/corotracer
for program in "$tool" "$build"/bench/bench-{event,lane,pace,jsonl,ctf,flight,flood,idle,busy} \
	"$build"/bench/bench-frames-{one,many,one-ticks,many-ticks}; do
	if [ ! -x "$program" ]; then
		echo "bench/run.sh: no '$program'" >&2
		echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
		exit 1
	fi
done

dir=$(mktemp -d)
shm=$(mktemp -d /dev/shm/corotracer-bench-XXXXXX 2>/dev/null || mktemp -d)
trap 'rm -rf "$dir" "$shm"' EXIT
export BENCH_OUT=$dir/values
: >"$BENCH_OUT"

say()
{
	echo "bench: $*" >&2
}

# The first two CPUs of the affinity mask: one for the collector, one for the program.
allowed_cpus()
{
	awk '/^Cpus_allowed_list:/ {
		n = split($2, ranges, ",")
		for (i = 1; i <= n; i++) {
			if (split(ranges[i], r, "-") == 1)
				r[2] = r[1]
			for (c = r[1]; c <= r[2]; c++)
				print c
		}
	}' /proc/self/status
}

mapfile -t cpus < <(allowed_cpus)
pin=()
if [ "${#cpus[@]}" -ge 2 ]; then
	pin=(taskset -c "${cpus[0]}")
	export BENCH_CPU=${cpus[1]}
else
	say "one CPU only: program and collector share it"
fi

options=()

# collected_to FILE PROGRAM [ARGUMENTS]: run under the collector; its summary goes to $dir/summary.
collected_to()
{
	local file=$1 program=$2
	shift 2
	if ! "${pin[@]}" "$tool" run -n 1000 -o "$file" --json "${options[@]}" -- \
		"$build/bench/bench-$program" "$@" 2>"$dir/summary"; then
		cat "$dir/summary" >&2
		return 1
	fi
}

collected()
{
	collected_to /dev/null "$@"
}

# summary KEY: a number from that summary; the first with that name.
summary()
{
	grep -o "\"$1\":[0-9][0-9]*" "$dir/summary" | head -n 1 | cut -d: -f2
}

# value KEY NUMBER: add a result.
value()
{
	echo "$1 $2" >>"$BENCH_OUT"
}

# per A B: A divided by B.
per()
{
	awk -v a="$1" -v b="$2" 'BEGIN { print (b > 0 ? a / b : 0) }'
}

# seconds N: N, or a quarter of it with --quick.
seconds()
{
	awk -v n="$1" -v quick="$quick" 'BEGIN { print quick ? n / 4 : n }'
}

run_event()
{
	say "events in a loop, into stations"
	"$build/bench/bench-event" --seconds="$(seconds 3)"
	COROTRACER_NO_LANES=1 collected event --seconds="$(seconds 3)"
}

run_lane()
{
	say "events in a loop, into a lane"
	"$build/bench/bench-lane" --seconds="$(seconds 3)"
	collected lane --seconds="$(seconds 6)"
}

run_cpp()
{
	[ -x "$build/bench/bench-cpp" ] || return 0
	say "C++20 coroutines"
	"$build/bench/bench-cpp" --seconds="$(seconds 3)"
}

run_pace()
{
	local rate
	for rate in 100 1000 10000 100000 1000000; do
		say "events at a pace of $rate/s"
		collected pace --rate=$rate --seconds="$(seconds $((rate == 100 ? 8 : 4)))" "$@"
	done
}

run_jsonl()
{
	say "JSON lines"
	"$build/bench/bench-jsonl" --seconds="$(seconds 4)"
	say "CTF"
	"$build/bench/bench-ctf" --seconds="$(seconds 3)"
	"$build/bench/bench-ctf" --seconds="$(seconds 3)" --told=1
	"$build/bench/bench-flight" --seconds="$(seconds 2)"
	"$build/bench/bench-flight" --seconds="$(seconds 2)" --told=1
}

# flood KEY FILE: a program that writes as fast as it can; measures how fast FILE gets the events.
flood()
{
	local events=10000000
	[ "$quick" = 0 ] || events=2500000
	collected_to "$2" flood --coroutines=1000 --seconds=60 --events=$events
	value "flood.$1.collected_per_s" "$(per "$(summary collected)000000000" "$(summary collecting_ns)")"
	value "flood.$1.per_cpu_s" "$(per "$(summary collected)000000000" "$(summary collector_cpu_ns)")"
	value "flood.$1.collected_percent" "$(per "$(summary collected)00" "$(summary written)")"
	rm -rf "$2" "$2.meta"
}

run_flood()
{
	say "a program that writes flat out"
	flood ctf "$shm/flood.ctf"
	flood jsonl "$shm/flood.jsonl"
	COROTRACER_NO_LANES=1 flood stations "$shm/flood.jsonl"
}

# The number of idle coroutines that fits this machine.  One takes about 160 bytes of tmpfs.
crowd()
{
	local available
	available=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
	if [ "$quick" = 1 ] || [ "${available:-0}" -lt 1000000 ]; then
		echo 100000
	else
		echo 1000000
	fi
}

run_idle()
{
	local many few
	many=$(crowd)
	say "$many coroutines that do nothing"
	collected idle --stations="$many" --seconds="$(seconds 10)"
	say "$many that do nothing, and 1000 that do"
	# What the region has for events that are not read yet is not the coroutines'.
	options=(--buffer 8M --on-full block=60000)
	collected busy --seconds="$(seconds 8)"
	few=$(summary region_bytes)
	collected busy --idle="$many" --seconds="$(seconds 8)"
	value busy.region_bytes "$(per $(($(summary region_bytes) - few)) "$many")"
	options=()
}

run_frames()
{
	local kind
	say "frames"
	for kind in one many one-ticks many-ticks; do
		"$build/bench/bench-frames-$kind" --seconds="$(seconds 2)"
	done
}

run_event
run_frames
run_lane
run_cpp
run_pace
[ "$spin" = 0 ] || run_pace --spin=1
run_jsonl
run_flood
run_idle

# The comparisons.  The wanted figure applies to the ratio, or to the measured value if there is
# no yardstick.
rows()
{
	cat <<-'END'
	# what|measured|unit|yardstick|its name|wanted
	the bare cycle counter|event.alone.ticks_ns|ns|event.alone.clock_ns|clock_gettime|
	station: one coroutine|event.alone.one_ns|ns|event.alone.clock_ns|clock_gettime|<= 0.5
	station: 100 coroutines|event.alone.hundred_ns|ns|event.alone.clock_ns|clock_gettime|<= 0.5
	station: 100, by corotracer_switch|event.alone.switch_ns|ns|event.alone.clock_ns|clock_gettime|<= 0.5
	untraced|event.alone.untraced_ns|ns|event.alone.clock_ns|clock_gettime|<= 0.05
	station, collected: one coroutine|event.collected.one_median_ns|ns|event.collected.clock_median_ns|clock_gettime|
	station, collected: 100 coroutines|event.collected.hundred_median_ns|ns|event.collected.clock_median_ns|clock_gettime|
	station, collected: 100, by corotracer_switch|event.collected.switch_median_ns|ns|event.collected.clock_median_ns|clock_gettime|
	lane: the bare cycle counter|lane.alone.ticks_ns|ns|lane.alone.clock_ns|clock_gettime|
	lane: one coroutine|lane.alone.one_ns|ns|lane.alone.clock_ns|clock_gettime|<= 0.35
	lane: one coroutine, less the counter|lane.alone.one_less_ns|ns|lane.alone.clock_ns|clock_gettime|
	lane: 100 coroutines|lane.alone.hundred_ns|ns|lane.alone.clock_ns|clock_gettime|<= 0.35
	lane: 100, by corotracer_switch|lane.alone.switch_ns|ns|lane.alone.clock_ns|clock_gettime|<= 0.35
	lane: with site, reason, resource|lane.alone.await_ns|ns|lane.alone.clock_ns|clock_gettime|
	lane, collected: mean, one coroutine|lane.collected.one_mean_ns|ns|lane.collected.clock_ns|clock_gettime|<= 0.6
	lane, collected: mean, 100 coroutines|lane.collected.hundred_mean_ns|ns|lane.collected.clock_ns|clock_gettime|<= 0.6
	lane, collected: 99.9th percentile|lane.collected.p999_ns|ns|lane.collected.clock_ns|clock_gettime|<= 4
	C++20: an event of a co_await|cpp.alone.await_ns|ns|cpp.alone.c_ns|the C SDK's, with site|<= 1.3
	C++20: the same, by -include trace_all.h|cpp.alone.whole_ns|ns|cpp.alone.c_ns|the C SDK's, with site|
	C++20: the same, with a reason and an fd|cpp.alone.why_ns|ns|cpp.alone.c_why_ns|the C SDK's|<= 1.3
	C++20: await_suspend() that returns bool|cpp.alone.perhaps_ns|ns|cpp.alone.c_ns|the C SDK's, with site|
	END
	rows_frames
	rows_pace pace ""
	[ "$spin" = 0 ] || rows_pace spin ", spinning"
	cat <<-'END'
	jsonl to /dev/null|jsonl.null.events_per_s|/s|jsonl.null.fprintf_per_s|fprintf|>= 10
	jsonl to a file on tmpfs|jsonl.tmpfs.events_per_s|/s|jsonl.tmpfs.fprintf_per_s|fprintf|>= 10
	ctf on tmpfs: plain transitions|ctf.plain.events_per_s|/s|ctf.plain.memcpy_per_s|memcpy of 32 bytes|>= 0.1
	ctf on tmpfs: with site, reason, resource|ctf.told.events_per_s|/s|ctf.told.memcpy_per_s|memcpy of 32 bytes|
	flight recorder, full: plain transitions|flight.plain.events_per_s|/s|flight.plain.memcpy_per_s|memcpy of 32 bytes|
	flight recorder, full: with site, reason, resource|flight.told.events_per_s|/s|flight.told.memcpy_per_s|memcpy of 32 bytes|
	flat out into CTF, end to end|flood.ctf.collected_per_s|/s|ctf.plain.memcpy_per_s|memcpy of 32 bytes|>= 0.1
	flat out into CTF, by the collector's CPU|flood.ctf.per_cpu_s|/s|ctf.plain.memcpy_per_s|memcpy of 32 bytes|>= 0.1
	flat out into CTF: share collected|flood.ctf.collected_percent|%|||>= 100
	flat out into JSON lines, end to end|flood.jsonl.collected_per_s|/s|jsonl.tmpfs.fprintf_per_s|fprintf|
	flat out into JSON lines: share collected|flood.jsonl.collected_percent|%|||>= 100
	flat out, stations only: share collected|flood.stations.collected_percent|%|||
	flat out: cost to the program|flood.event_ns|ns|event.alone.clock_ns|clock_gettime|
	idle: collector's CPU, @idle.stations@ coroutines|idle.collector_cpu_percent|%|||<= 0.5
	1000 busy, @busy.crowd.idle@ idle: collector's CPU|busy.crowd.collector_cpu_percent|%|busy.alone.collector_cpu_percent|the 1000 alone|<= 1.5
	memory of the region per coroutine alive|busy.region_bytes|bytes|||
	END
}

# rows_frames: each kind against the clock in its own run.
rows_frames()
{
	local kind words wanted
	while IFS='|' read -r kind words wanted; do
		echo "frame: $words|frames.$kind.save_ns|ns|frames.$kind.clock_ns|clock_gettime|$wanted"
		echo "frame: not attached, $words|frames.$kind.idle_save_ns|ns|frames.$kind.clock_ns|clock_gettime|<= 0.05"
	done <<-'END'
	one|one thread|<= 1.4
	many|any thread|<= 1.4
	one-ticks|one thread, counter clock|<= 0.5
	many-ticks|any thread, counter clock|<= 0.5
	END
	echo "frame: the bare cycle counter|frames.one-ticks.ticks_ns|ns|frames.one-ticks.clock_ns|clock_gettime|"
	echo "frame: one thread, counter clock|frames.one-ticks.save_ns|ns|frames.one-ticks.ticks_ns|cycle counter|"
	echo "frame: any thread, counter clock|frames.many-ticks.save_ns|ns|frames.many-ticks.ticks_ns|cycle counter|"
}

# rows_pace KEY SUFFIX
rows_pace()
{
	local rate wanted cpu
	for rate in 100:10 1000:3 10000:2 100000:2 1000000:; do
		wanted=${rate#*:} rate=${rate%:*} cpu=
		[ "$rate" != 10000 ] || cpu="<= 3"
		echo "$rate/s$2: an event|$1.$rate.event_ns|ns|event.alone.clock_ns|clock_gettime|${wanted:+<= $wanted}"
		echo "$rate/s$2: an event|$1.$rate.event_ns|ns|$1.$rate.clock_ns|clock_gettime, so paced|"
		echo "$rate/s$2: with a system call|$1.$rate.wakes_percent|%|||"
		echo "$rate/s$2: collector's CPU|$1.$rate.collector_cpu_percent|%|||$cpu"
	done
}

rows >"$dir/rows"
awk -F'|' -v json="$json" -v quick="$quick" -v arch="$(uname -m)" -v cpus="${#cpus[@]}" \
	-f "$here/table.awk" "$BENCH_OUT" "$dir/rows"
