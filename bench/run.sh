#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh - run all benchmarks, print one table.  See README.md.
#
# Times are reported and never judged: the exit status is 0 whatever they are.
set -euo pipefail

usage()
{
	cat <<-'END'
	usage: bench/run.sh [--quick] [--spin] [--json] [--build DIR]

	  --quick      a quarter of the time, and of the idle stations a tenth
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
for program in "$tool" "$build"/bench/bench-{event,pace,jsonl,ctf,flood,idle} \
	"$build"/bench/bench-frames-{one,many,one-ticks,many-ticks}; do
	if [ ! -x "$program" ]; then
		echo "bench/run.sh: no '$program'" >&2
		echo "hint: cmake -B build && cmake --build build, or --build DIR" >&2
		exit 1
	fi
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export BENCH_OUT=$dir/values
: >"$BENCH_OUT"

say()
{
	echo "bench: $*" >&2
}

# The first two CPUs we may use: one for the collector, one for the program.
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

# collected STATIONS PROGRAM [ARGUMENTS]: under the collector; its summary in $dir/summary.
collected()
{
	local stations=$1 program=$2
	shift 2
	if ! "${pin[@]}" "$tool" run -n "$stations" -o /dev/null --json -- \
		"$build/bench/bench-$program" "$@" 2>"$dir/summary"; then
		cat "$dir/summary" >&2
		return 1
	fi
}

# summary KEY: a number from that summary.
summary()
{
	sed -n "s/.*\"$1\":\([0-9][0-9]*\).*/\1/p" "$dir/summary" | head -n 1
}

# seconds N: less when in a hurry.
seconds()
{
	awk -v n="$1" -v quick="$quick" 'BEGIN { print quick ? n / 4 : n }'
}

run_event()
{
	say "events in a loop"
	"$build/bench/bench-event" --seconds="$(seconds 3)"
	collected 100 event --seconds="$(seconds 3)"
}

run_pace()
{
	local rate
	for rate in 100 1000 10000 100000 1000000; do
		say "events at a pace of $rate/s"
		collected 100 pace --rate=$rate --seconds="$(seconds $((rate == 100 ? 8 : 4)))" "$@"
	done
}

run_jsonl()
{
	say "JSON lines"
	"$build/bench/bench-jsonl" --seconds="$(seconds 4)"
	say "CTF"
	"$build/bench/bench-ctf" --seconds="$(seconds 3)"
	"$build/bench/bench-ctf" --seconds="$(seconds 3)" --told=1
	say "a program that writes flat out"
	collected 1000 flood --coroutines=1000 --seconds="$(seconds 3)"
	awk -v collected="$(summary collected)" -v lost="$(summary lost)" \
		-v cpu="$(summary collector_cpu_ns)" '
		$1 == "flood.seconds" { seconds = $2 }
		END {
			print "flood.collected_per_s", collected / seconds
			print "flood.collected_percent", 100 * collected / (collected + lost)
			print "flood.collector_cpu_percent", cpu / seconds / 1e7
		}' "$BENCH_OUT" >"$dir/flood"
	cat "$dir/flood" >>"$BENCH_OUT"
}

run_idle()
{
	local stations=1000000 available
	available=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
	# A station takes 1 KiB of tmpfs.
	if [ "$quick" = 1 ] || [ "${available:-0}" -lt 2000000 ]; then
		stations=100000
	fi
	say "$stations coroutines that do nothing"
	collected $stations idle --stations=$stations --seconds="$(seconds 10)"
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
run_pace
[ "$spin" = 0 ] || run_pace --spin=1
run_jsonl
run_idle

# What is compared with what.  The wanted figure is one for the ratio, or for the
# measured value where there is no yardstick.
rows()
{
	cat <<-'END'
	# what|measured|unit|yardstick|its name|wanted
	event: the bare cycle counter|event.alone.ticks_ns|ns|event.alone.clock_ns|clock_gettime|
	event: one coroutine|event.alone.one_ns|ns|event.alone.clock_ns|clock_gettime|<= 0.5
	event: 100 coroutines|event.alone.hundred_ns|ns|event.alone.clock_ns|clock_gettime|<= 0.5
	event: 100, by corotracer_switch|event.alone.switch_ns|ns|event.alone.clock_ns|clock_gettime|<= 0.5
	event: untraced|event.alone.untraced_ns|ns|event.alone.clock_ns|clock_gettime|<= 0.05
	collected: one coroutine|event.collected.one_median_ns|ns|event.collected.clock_median_ns|clock_gettime|
	collected: 100 coroutines|event.collected.hundred_median_ns|ns|event.collected.clock_median_ns|clock_gettime|
	collected: 100, by corotracer_switch|event.collected.switch_median_ns|ns|event.collected.clock_median_ns|clock_gettime|
	END
	rows_frames
	rows_pace pace ""
	[ "$spin" = 0 ] || rows_pace spin ", spinning"
	cat <<-'END'
	jsonl to /dev/null|jsonl.null.events_per_s|/s|jsonl.null.fprintf_per_s|fprintf|>= 10
	jsonl to a file on tmpfs|jsonl.tmpfs.events_per_s|/s|jsonl.tmpfs.fprintf_per_s|fprintf|>= 10
	ctf on tmpfs: plain transitions|ctf.plain.events_per_s|/s|ctf.plain.memcpy_per_s|memcpy of 32 bytes|>= 0.1
	ctf on tmpfs: with site, reason, resource|ctf.told.events_per_s|/s|ctf.told.memcpy_per_s|memcpy of 32 bytes|
	flat out: collected, end to end|flood.collected_per_s|/s|jsonl.null.fprintf_per_s|fprintf|
	flat out: share collected|flood.collected_percent|%|||
	flat out: cost to the program|flood.event_ns|ns|event.alone.clock_ns|clock_gettime|
	idle: collector's CPU, @idle.stations@ coroutines|idle.collector_cpu_percent|%|||<= 0.5
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
