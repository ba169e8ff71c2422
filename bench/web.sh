#!/bin/bash
# SPDX-License-Identifier: MIT
#
# web.sh - how responsive the dashboard is with a large trace, in Chromium.
#
# usage: bench/web.sh [--build DIR] [--json] [--events N] [--coroutines N]
#
# The yardstick is the page of a trace of 1,000 events, in the same browser.  A task keeps the page from
# responding; tasks below 50 ms are not reported and count as 0.  Times are reported; no time fails the
# benchmark.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
json=0 events=10000000 coroutines=100000
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?--build wants a directory}; shift ;;
	--json) json=1 ;;
	--events) events=${2:?--events wants a number}; shift ;;
	--coroutines) coroutines=${2:?--coroutines wants a number}; shift ;;
	*) echo "usage: bench/web.sh [--build DIR] [--json] [--events N] [--coroutines N]" >&2; exit 2 ;;
	esac
	shift
done

tool=$build/corotracer
maker=$build/tests/view/make_trace
for program in "$tool" "$maker"; do
	if [ ! -x "$program" ]; then
		echo "bench/web.sh: no '$program'" >&2
		echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
		exit 1
	fi
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$maker" "$dir/big.ctf" "$events" "$coroutines" 8 >/dev/null
"$maker" "$dir/small.ctf" 1000 50 8 >/dev/null
for name in big small; do
	"$tool" html -q -o "$dir/$name.html" "$dir/$name.ctf" 2>/dev/null
done
[ $json = 1 ] || echo "$events events, $(stat -c %s "$dir/big.html" | numfmt --to=si)B, load $(cut -d' ' -f1 /proc/loadavg)"
node "$here/web.mjs" "$dir/big.html" "$dir/small.html" $json
