#!/bin/bash
# SPDX-License-Identifier: MIT
#
# html.sh - how fast a page is made from a large trace, its size, and the memory that it takes.
#
# usage: bench/html.sh [--build DIR] [--json] [--events N] [--coroutines N] [--keep DIR]
#
# The yardstick is `report --json` on the same trace, which reads and analyzes it and writes no page. With
# --keep the page stays in DIR, for a browser.  Times are reported; no time fails the benchmark.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
json=0 events=10000000 coroutines=100000 keep=
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?--build wants a directory}; shift ;;
	--json) json=1 ;;
	--events) events=${2:?--events wants a number}; shift ;;
	--coroutines) coroutines=${2:?--coroutines wants a number}; shift ;;
	--keep) keep=${2:?--keep wants a directory}; shift ;;
	*) echo "usage: bench/html.sh [--build DIR] [--json] [--events N] [--coroutines N] [--keep DIR]" >&2; exit 2 ;;
	esac
	shift
done

tool=$build/corotracer
maker=$build/tests/view/make_trace
for program in "$tool" "$maker"; do
	if [ ! -x "$program" ]; then
		echo "bench/html.sh: no '$program'" >&2
		echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
		exit 1
	fi
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
page=${keep:-$dir}/big.html
options=()
if ! "$tool" version --json | grep -q '"page":true'; then
	echo '<!--corotracer-data-->' >"$dir/page.html"
	options=(--page "$dir/page.html")
fi

# spent COMMAND...: wall clock seconds, CPU seconds, peak memory in kilobytes.
spent()
{
	python3 -c 'import resource, subprocess, sys, time
start = time.monotonic()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{time.monotonic() - start:.2f} {used.ru_utime + used.ru_stime:.2f} {used.ru_maxrss}")' "$@"
}

"$maker" "$dir/big.ctf" "$events" "$coroutines" 4 >/dev/null
read -r report_s report_cpu report_kb < <(spent "$tool" report --json "$dir/big.ctf")
read -r html_s html_cpu html_kb < <(spent "$tool" html "${options[@]}" -o "$page" "$dir/big.ctf")
bytes=$(stat -c %s "$page")

awk -v json="$json" -v events="$events" -v bytes="$bytes" -v busy="$(cut -d' ' -f1 /proc/loadavg)" \
	-v rs="$report_s" -v rc="$report_cpu" -v rk="$report_kb" -v hs="$html_s" -v hc="$html_cpu" -v hk="$html_kb" 'BEGIN {
	if (json == 1) {
		printf "{\"events\":%d,\"bytes\":%d,\"report_s\":%s,\"report_cpu_s\":%s,\"report_kb\":%d,\"html_s\":%s,\"html_cpu_s\":%s,\"html_kb\":%d,\"load\":%s}\n",
			events, bytes, rs, rc, rk, hs, hc, hk, busy
		exit
	}
	printf "%-46s %10s %10s %7s\n", "what (" events " events, load " busy ")", "measured", "yardstick", "ratio"
	printf "%-46s %8.2f s %8.2f s %7.2f\n", "html / report --json, by the clock", hs, rs, hs / rs
	printf "%-46s %8.2f s %8.2f s %7.2f\n", "the same, time of the processor", hc, rc, hc / rc
	printf "%-46s %7d KB %7d KB %7.2f\n", "memory at the peak", hk, rk, hk / rk
	printf "%-46s %7.1f MB\n", "size of the page", bytes / 1e6
	printf "%-46s %7.2f M/s\n", "events", events / hs / 1e6
}'
