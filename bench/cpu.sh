#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cpu.sh BUILD [PAIRS] [REQUESTS] - the cost of `run --cpu` on mini-redis under redis-benchmark.
#
# Runs with and without --cpu in turns; of PAIRS pairs the median, and in brackets the lowest and the highest value.
#
#   requests/s      ratio: what a user notices; on a busy machine it says little
#   server          microseconds of processor time per request: the kernel's records are made there
#   collector       likewise: reading them and writing them to the trace
#   waits           recorded per request: each one is two records of the kernel, so the cost per wait follows
#   wakes           the same with records of wake-ups (sched_waking, of all threads of the machine), where root can mount tracefs
#   load            number of running processes when the bench began and ended: compare figures of equal loads alone
set -eu
build=${1:-build}
pairs=${2:-7}
requests=${3:-50000}
tool=${COROTRACER:-$build/corotracer}
server=$build/examples/cpp/mini-redis
dir=$(mktemp -d)
run=
cleanup() {
	[ -z "$run" ] || kill "$run" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT
if ! command -v redis-benchmark >/dev/null; then
	echo "bench/cpu.sh: no redis-benchmark" >&2
	echo "hint: install the package redis-tools" >&2
	exit 1
fi

# cpu_of PID: processor time so far, in microseconds; by the scheduler's clock, where the kernel has it, and by ticks otherwise
cpu_of() {
	cat /proc/"$1"/task/*/schedstat 2>/dev/null | awk '{ ns += $1 } END { if (!NR) exit 1; print ns / 1e3 }' ||
		awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) * 1e6 / hz }' "/proc/$1/stat"
}

# May wake-ups be recorded?  tracefs is mounted for the run alone.
tracefs=/sys/kernel/tracing
with_tracefs=(unshare -m sh -c "mount -t tracefs tracefs $tracefs 2>/dev/null; exec \"\$@\"" sh)
can_wake() { [ "$(id -u)" = 0 ] && "${with_tracefs[@]}" test -r $tracefs/events/sched/sched_waking/format 2>/dev/null; }

# one WHAT [OPTION]: append to the file WHAT: requests/s; per request: CPU of server and collector, and waits
one() {
	local what=$1 port pid rate line i=0 prefix=()
	shift
	[ "$what" != wakes ] || prefix=("${with_tracefs[@]}")
	rm -f "$dir/port"
	"${prefix[@]}" "$tool" run --json "$@" -o "$dir/t.ct" -- "$server" --port 0 --port-file "$dir/port" >/dev/null 2>"$dir/summary" &
	run=$!
	until [ -s "$dir/port" ]; do
		if ! kill -0 "$run" 2>/dev/null || [ $((i += 1)) -ge 400 ]; then
			echo "bench/cpu.sh: mini-redis did not start" >&2
			exit 1
		fi
		sleep 0.05
	done
	port=$(cat "$dir/port")
	pid=$(pgrep -P "$run" -x mini-redis)
	rate=$(redis-benchmark -p "$port" -c 50 -n "$requests" -t set,get --csv | awk -F'"' 'NR > 1 { n++; t += 1 / $4 } END { print n / t }')
	line="$rate $(cpu_of "$pid") $(cpu_of "$run")"
	kill -TERM "$pid"
	wait "$run" || true
	run=
	line="$line $(sed -n 's/.*"switches":{"recorded":\([0-9]*\).*/\1/p' "$dir/summary")"
	echo "$line" | awk -v n="$((2 * requests))" '{ print $1, $2 / n, $3 / n, $4 / n }' >>"$dir/$what"
	rm -rf "$dir"/t.ct*
}

# spread COLUMN FILE: median [lowest to highest]
spread() {
	awk -v c="$1" '{ print $c }' "$2" | sort -g | awk '{ v[NR] = $1 }
		END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2; printf "%.3f [%.3f to %.3f]", m, v[1], v[NR] }'
}

load=$(cut -d' ' -f1 /proc/loadavg)
# compare WHAT NAME: print the figures of the file WHAT beside those of plain
compare() {
	# columns: ratio of rates; more CPU per request of server, collector, both; in percent of both; per wait of server, collector
	paste "$dir/plain" "$dir/$1" | awk '{ s = $6 - $2; c = $7 - $3; w = $8 ? $8 : 1
		print $5 / $1, s, c, s + c, 100 * (s + c) / ($2 + $3), s / w, c / w }' >"$dir/ratios"
	echo "requests/s with $2 / without: $(spread 1 "$dir/ratios")"
	echo "  server, us CPU per request: $(spread 2 "$dir/plain"), with $2 $(spread 2 "$dir/$1"), more $(spread 2 "$dir/ratios")"
	echo "  collector, us CPU per request: $(spread 3 "$dir/plain"), with $2 $(spread 3 "$dir/$1"), more $(spread 3 "$dir/ratios")"
	echo "  server and collector, more: $(spread 4 "$dir/ratios") us, in percent $(spread 5 "$dir/ratios")"
	echo "  waits per request: $(spread 4 "$dir/$1"); us per wait: server $(spread 6 "$dir/ratios"), collector $(spread 7 "$dir/ratios")"
}

whats=(plain cpu)
[ ! -r $tracefs/events/sched/sched_waking/format ] || echo "tracefs is mounted: all figures of --cpu include wake-ups"
[ -r $tracefs/events/sched/sched_waking/format ] || ! can_wake || whats+=(wakes)
for ((i = 0; i < pairs; i++)); do
	# None of them is always the first.
	for ((k = 0; k < ${#whats[@]}; k++)); do
		what=${whats[(i + k) % ${#whats[@]}]}
		if [ "$what" = plain ]; then one plain; else one "$what" --cpu; fi
	done
done
echo "$pairs rounds of $((2 * requests)) requests; load at the beginning $load, at the end $(cut -d' ' -f1 /proc/loadavg)"
compare cpu --cpu
if [ "${#whats[@]}" = 3 ]; then compare wakes "--cpu and wake-ups"; else echo "wake-ups: not measured (needs root and tracefs)"; fi
