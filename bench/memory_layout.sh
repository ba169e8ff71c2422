#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# memory_layout.sh [--quick] [--json] [--build DIR] - the gain from `mem layout`, and its cost.
#
# The two examples of examples/memory, each with its original record and with the one that `mem layout`
# printed: simulated cost (`mem layout --json` on a trace of each), and real time of the program without
# tracing, in turns, several rounds, the best of each (other load only adds time). Then the peak memory of
# `mem layout` on a trace, and on one ten times as long.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
rounds=15 json=0
while [ $# -gt 0 ]; do
	case $1 in
	--quick) rounds=5 ;;
	--json) json=1 ;;
	--build) build=$2 && shift ;;
	*) echo "usage: memory_layout.sh [--quick] [--json] [--build DIR]" >&2 && exit 2 ;;
	esac
	shift
done
tool=$build/corotracer
source=$here/../examples/memory
dir=$(mktemp -d /dev/shm/corotracer-bench.XXXXXX)
trap 'rm -rf "$dir"' EXIT
caches=(--cache "L1=32K,8" --cache "L2=256K,8" --cache "LL=8M,16")

# cost NAME FLAG ARGS...: the simulated cost of a traced run of the example.
cost()
{
	local name=$1 flag=$2
	shift 2
	"$tool" mem cc -O2 -g ${flag:+"$flag"} -pthread -o "$dir/$name-traced" "$source/$name.c"
	"$tool" mem run -q -o "$dir/$name.trace" -- "$dir/$name-traced" "$@" >/dev/null 2>&1
	"$tool" mem layout --json --top 1 "${caches[@]}" "$dir/$name.trace" 2>/dev/null |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["traced"]["cost"])'
}

# best NAME FLAG ARGS...: the example's own figure, without tracing.
build_plain()
{
	gcc -O2 -DCACHERAY_OFF -I"$here/../include" ${2:+"$2"} -pthread -o "$dir/$1$2" "$source/$1.c"
}

best()
{
	sort -g "$1" | head -1
}

# example NAME TRACED-ARGS -- REAL-ARGS
example()
{
	local name=$1 i flag
	shift
	local traced=()
	while [ "$1" != -- ]; do traced+=("$1") && shift; done
	shift
	cost_before=$(cost "$name" "" "${traced[@]}")
	cost_after=$(cost "$name" -DAFTER "${traced[@]}")
	build_plain "$name" "" && build_plain "$name" -DAFTER
	: >"$dir/before" && : >"$dir/after"
	for ((i = 0; i < rounds; i++)); do
		"$dir/$name" "$@" 2>&1 >/dev/null | awk '{ print $1 }' >>"$dir/before"
		"$dir/$name-DAFTER" "$@" 2>&1 >/dev/null | awk '{ print $1 }' >>"$dir/after"
	done
	real_before=$(best "$dir/before") real_after=$(best "$dir/after")
	if [ $json = 1 ]; then
		printf '{"example":"%s","cost_before":%s,"cost_after":%s,"time_before":%s,"time_after":%s}\n' \
			"$name" "$cost_before" "$cost_after" "$real_before" "$real_after"
	else
		awk -v n="$name" -v a="$cost_before" -v b="$cost_after" -v c="$real_before" -v d="$real_after" 'BEGIN {
			printf "%-10s simulated cost %12d -> %12d  ratio %.3f   real time %9.3f -> %9.3f  ratio %.3f\n",
				n, a, b, b / a, c, d, d / c }'
	fi
}

peak()
{
	/usr/bin/time -f %M -o "$dir/peak" "$tool" mem layout "${caches[@]}" "$1" >/dev/null 2>&1
	cat "$dir/peak"
}

example particles 20000 10 -- 100000 20
example tally 2 20000 100 -- 2 20000000
"$tool" mem cc -O2 -g -o "$dir/particles-traced" "$source/particles.c"
"$tool" mem run -q -o "$dir/short.trace" -- "$dir/particles-traced" 20000 3 >/dev/null 2>&1
"$tool" mem run -q -o "$dir/long.trace" -- "$dir/particles-traced" 20000 30 >/dev/null 2>&1
short=$(peak "$dir/short.trace") long=$(peak "$dir/long.trace")
if [ $json = 1 ]; then
	printf '{"peak_kib":%s,"peak_kib_of_ten_times":%s}\n' "$short" "$long"
else
	awk -v a="$short" -v b="$long" 'BEGIN {
		printf "peak memory of mem layout: %d KiB, of ten times the steps %d KiB, ratio %.2f\n", a, b, b / a }'
fi
