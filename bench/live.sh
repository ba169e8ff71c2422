#!/usr/bin/env bash
# live.sh BUILD - the cost of observing a run: for the run itself and for the observer.
#
#   program   wall time of a flood of events under `run`: alone, with --serve, with `top` running
#   top       CPU of one screen with 100 coroutines and with 100,000, against `recover --json`
#
# Median of five, taken in turns; the first of each block is the yardstick.
set -eu
build=${1:-build}
tool=$build/corotracer
flood=$build/tests/flight_target
told=$build/tests/live/live_target
dir=$(mktemp -d)
pids=()
cleanup() {
	for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT
TIMEFORMAT='%R %U %S'

median() { sort -n "$1" | sed -n '3p'; }

# timed_run WHAT COMMAND...: append the run time of the program in ms to the file WHAT
timed_run() {
	local what=$1 start end
	shift
	start=$(date +%s%N)
	"$tool" run -q "$@" -o "$dir/t.jsonl" -- sh -c "\"$flood\" flood 1 2000000 >/dev/null; date +%s%N >\"$dir/end\"" 2>/dev/null &
	local run=$!
	case $what in
	top)
		sleep 0.05
		for _ in 1 2 3 4 5; do "$tool" top -p "$run" --once -n 0 >/dev/null 2>&1 || true; done
		;;
	esac
	while [ ! -s "$dir/end" ]; do sleep 0.02; done
	end=$(cat "$dir/end")
	rm -f "$dir/end"
	# The server of the page runs until it gets a signal.
	sleep 0.2
	kill -INT "$run" 2>/dev/null || true
	wait "$run" 2>/dev/null || true
	echo $(((end - start) / 1000000)) >>"$dir/$what"
}

for _ in 1 2 3 4 5; do
	timed_run alone
	timed_run serve --serve
	timed_run top
done
alone=$(median "$dir/alone")
echo "program, 2,000,000 transitions: alone $alone ms, with --serve $(median "$dir/serve") ms, with top $(median "$dir/top") ms" \
	"(ratios $(awk -v a="$alone" -v b="$(median "$dir/serve")" -v c="$(median "$dir/top")" 'BEGIN { printf "%.2f, %.2f", b / a, c / a }'))"

cpu() { # CPU in ms of a command, median of five
	local file=$dir/cpu
	: >"$file"
	for _ in 1 2 3 4 5; do
		{ time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print ($2 + $3) * 1000 }' >>"$file"
	done
	median "$file"
}

for n in 100 100000; do
	mkfifo "$dir/fifo$n"
	"$tool" run -q -n "$n" -o /dev/null -- "$told" <"$dir/fifo$n" >/dev/null 2>&1 &
	run=$!
	pids+=("$run")
	exec 3>"$dir/fifo$n"
	echo "many $n" >&3
	until "$tool" top -p "$run" --json -n 0 2>/dev/null | grep -q "\"matching\":$n,"; do sleep 0.1; done
	region=$("$tool" top -p "$run" --json -n 0 | sed 's/.*"region":"\([^"]*\)".*/\1/')
	echo "$n coroutines: recover --json $(cpu "$tool" recover --json "$region") ms, top --once $(cpu "$tool" top --once "$region") ms"
	exec 3>&-
	wait "$run" 2>/dev/null || true
done
