#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cpu.sh BUILD [PAIRS] [REQUESTS] - the cost of `run --cpu` on mini-redis under redis-benchmark.
#
#   requests/s   with --cpu / without, runs in turns: the median of the ratios of PAIRS pairs, and their spread
#   CPU          microseconds of user and system time per request, of the server and of the collector
#
# On a busy machine the rate of requests says little; the CPU per request is steadier.
set -eu
build=${1:-build}
pairs=${2:-7}
requests=${3:-50000}
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

# cpu_of PID: user and system time so far, in microseconds
cpu_of() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) * 1e6 / hz }' "/proc/$1/stat"; }

# one WHAT [OPTION]: append requests/s, and CPU per request of server and collector, to the file WHAT
one() {
	local what=$1 port pid rate i=0
	shift
	rm -f "$dir/port"
	"$build/corotracer" run -q "$@" -o "$dir/t.ct" -- "$server" --port 0 --port-file "$dir/port" >/dev/null 2>&1 &
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
	echo "$rate $(cpu_of "$pid") $(cpu_of "$run")" | awk -v n="$((2 * requests))" '{ print $1, $2 / n, $3 / n }' >>"$dir/$what"
	kill -TERM "$pid"
	wait "$run" || true
	run=
	rm -rf "$dir"/t.ct*
}

# middle COLUMN FILE: median
middle() { awk -v c="$1" '{ print $c }' "$2" | sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

for ((i = 0; i < pairs; i++)); do
	# Neither of the two is always the first.
	if ((i % 2)); then one cpu --cpu; one plain; else one plain; one cpu --cpu; fi
done
paste "$dir/plain" "$dir/cpu" | awk '{ print $4 / $1, $5 / $2, ($5 + $6) / ($2 + $3) }' >"$dir/ratios"
low=$(awk '{ print $1 }' "$dir/ratios" | sort -g | head -1)
high=$(awk '{ print $1 }' "$dir/ratios" | sort -g | tail -1)
printf 'requests/s with --cpu / without: %.3f (%d pairs, from %.3f to %.3f)\n' "$(middle 1 "$dir/ratios")" "$pairs" "$low" "$high"
printf 'CPU of the server per request: %.2f us, with --cpu %.2f us (ratio %.3f)\n' "$(middle 2 "$dir/plain")" "$(middle 2 "$dir/cpu")" "$(middle 2 "$dir/ratios")"
printf 'CPU of the collector per request: %.2f us, with --cpu %.2f us (both together: ratio %.3f)\n' "$(middle 3 "$dir/plain")" "$(middle 3 "$dir/cpu")" "$(middle 3 "$dir/ratios")"
