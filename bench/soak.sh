#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# soak.sh [--minutes N] [--rate EVENTS] [--burst EVENTS] [--coroutines N] [--build DIR] - a long run at a steady rate, with default settings.
#
# Prints the memory of the collector (its own, and what it has mapped of the region) and the region's memory over time.
# In the first third of the run the collector is stopped, and a burst fills the region; afterwards its memory returns.
# The burst also creates N coroutines and destroys them: their entries (128 bytes each) keep their memory, see docs/ctp.md.
# Exit status 1 if an event was lost, if the region's memory did not return (within 96 MiB of that before the burst and the
# memory of these entries),
# or if the collector's own memory grew by more than 32 MiB after the burst was read.
set -eu
minutes=2 rate=1000000 burst=15000000 coroutines=500000 build=build
while [ $# -gt 1 ]; do
	case $1 in
	--minutes) minutes=$2 ;;
	--rate) rate=$2 ;;
	--burst) burst=$2 ;;
	--coroutines) coroutines=$2 ;;
	--build) build=$2 ;;
	*) break ;;
	esac
	shift 2
done
if [ $# -gt 0 ]; then
	echo "usage: bench/soak.sh [--minutes N] [--rate EVENTS] [--burst EVENTS] [--coroutines N] [--build DIR]" >&2
	exit 2
fi
tool=${COROTRACER:-$build/corotracer}
dir=$(mktemp -d)
run=
cleanup() {
	[ -z "$run" ] || kill -CONT "$run" 2>/dev/null || true
	[ -z "$run" ] || kill "$run" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT

# until_true COMMAND...: at most a minute
until_true() {
	local i=0
	until "$@"; do
		if [ $((i += 1)) -ge 1200 ] || ! kill -0 "$run" 2>/dev/null; then
			echo "bench/soak.sh: never came: $*" >&2
			exit 1
		fi
		sleep 0.05
	done
}

seconds=$(awk -v m="$minutes" 'BEGIN { print m * 60 }')
"$tool" run --json -o "$dir/t.ct" -- "$build/bench/bench-soak" "--rate=$rate" "--seconds=$seconds" "--burst=$burst" "--coroutines=$coroutines" >"$dir/out" 2>"$dir/summary" &
run=$!
until_true grep -q ready "$dir/out"
program=$(pgrep -P "$run" -x bench-soak)
region=$(awk '$6 ~ /\/region$/ { print $6; exit }' "/proc/$run/maps")

own() { awk '/^RssAnon/ { print int($2 / 1024) }' "/proc/$run/status"; }
mapped() { awk '/^RssShmem/ { print int($2 / 1024) }' "/proc/$run/status"; }
held() { echo $(($(stat -c %b "$region") * 512 / 1048576)); }
show() { printf '%7d s %12s %12s %12s  %s\n' "$(($(date +%s) - begin))" "$(own)" "$(mapped)" "$(held)" "$1"; }

begin=$(date +%s)
echo "$rate events/s for $seconds s, default settings, burst of $burst events and $coroutines coroutines; load $(cut -d' ' -f1 /proc/loadavg)"
printf '%9s %12s %12s %12s\n' time "own MiB" "mapped MiB" "region MiB"
third=$(awk -v s="$seconds" 'BEGIN { print int(s / 3) }')
step=$((third / 5 + 1))
while [ $(($(date +%s) - begin)) -lt $((third / 2)) ]; do
	show ""
	sleep "$step"
done
before=$(held)
show "before the burst"
kill -STOP "$run"
kill -USR1 "$program"
until_true grep -q burst "$dir/out"
full=$(held)
show "collector stopped, burst written"
kill -CONT "$run"
sleep 2
settled=$(own) most=0 region_end=$full own_end=$settled
while kill -0 "$program" 2>/dev/null && [ $(($(date +%s) - begin)) -lt $((${seconds%.*} - 1)) ]; do
	region_end=$(held) own_end=$(own)
	show ""
	[ "$own_end" -le "$most" ] || most=$own_end
	sleep "$step"
done
wait "$run" || true
run=
entries=$((coroutines * 128 / 1048576))
lost=$(grep -o '"lost":[0-9]*' "$dir/summary" | head -1 | cut -d: -f2)
written=$(grep -o '"written":[0-9]*' "$dir/summary" | head -1 | cut -d: -f2)
echo "written $written, lost $lost; region $before MiB before the burst, $full MiB full, $region_end MiB at the end, $entries MiB of them for the entries of coroutines; own memory $settled MiB after the burst, $most MiB at most"
status=0
[ "$lost" = 0 ] || { echo "not ok: events were lost" && status=1; }
[ "$region_end" -le $((before + entries + 96)) ] || { echo "not ok: the region keeps its memory" && status=1; }
[ "$most" -le $((settled + 32)) ] || { echo "not ok: the collector's memory grows" && status=1; }
[ $status = 0 ]
