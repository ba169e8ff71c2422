#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fleet.sh - many hosts: how fast traces are loaded into the store, and questions answered.
#
# usage: bench/fleet.sh [--build DIR] [--requests N] [--trace FILE] [--waits N] [--runs N] [--json] [PART...]
#
# Parts:
# ship (fleet_ship.py): what shipping costs the traced program and the collector, against writing the same file.
# load (fleet_load.py): waits per second from a trace (of mini-redis under redis-benchmark, or FILE) into a real server, processor
# time of loader and server apart, and bytes per wait.
# ask (fleet_ask.py): the questions in the current ClickHouse engine, which is installed from PyPI into the build folder.
# Times are reported; no time fails the benchmark.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
requests=200000 trace='' waits=8000000 runs=5 json=0 parts=()
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?--build wants a directory}; shift ;;
	--requests) requests=${2:?--requests wants a number}; shift ;;
	--trace) trace=${2:?--trace wants a file}; shift ;;
	--waits) waits=${2:?--waits wants a number}; shift ;;
	--runs) runs=${2:?--runs wants a number}; shift ;;
	--json) json=1 ;;
	ship | load | ask) parts+=("$1") ;;
	*) echo "usage: bench/fleet.sh [--build DIR] [--requests N] [--trace FILE] [--waits N] [--runs N] [--json] [ship] [load] [ask]" >&2; exit 2 ;;
	esac
	shift
done
if [ ! -x "$build/corotracer" ]; then
	echo "bench/fleet.sh: no '$build/corotracer'" >&2
	echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
	exit 1
fi

# The trace of a server under load.
record_redis() {
	local server=$build/examples/cpp/mini-redis pid
	if [ ! -x "$server" ] || ! command -v redis-benchmark >/dev/null; then
		echo "bench/fleet.sh: no '$server' or no redis-benchmark" >&2
		echo "hint: install the package redis-tools and build the examples, or give --trace FILE" >&2
		exit 1
	fi
	"$build/corotracer" run -q -o "$1/redis.ct" -- "$server" --port 0 --port-file "$1/port" >/dev/null 2>&1 &
	pid=$!
	until [ -e "$1/port" ]; do
		kill -0 "$pid" 2>/dev/null || { echo "bench/fleet.sh: mini-redis did not start" >&2; exit 1; }
		sleep 0.1
	done
	redis-benchmark -p "$(cat "$1/port")" -c 50 -n "$requests" -t set,get -q >/dev/null
	kill -TERM "$pid"
	wait "$pid"
}

bench_load() {
	local dir
	dir=$(mktemp -d)
	# shellcheck disable=SC2064 # the directory of now
	trap "rm -rf '$dir'" EXIT
	if [ -z "$trace" ]; then
		record_redis "$dir"
	fi
	PYTHONDONTWRITEBYTECODE=1 python3 "$here/fleet_load.py" "$build/corotracer" "${trace:-$dir/redis.ct}"
}

bench_ship() {
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here/../tests/fleet:$here/../tests/cli python3 "$here/fleet_ship.py" "$build" "$runs"
}

bench_ask() {
	local venv=$build/tests/fleet/venv-chdb
	if [ ! -e "$venv/ready" ]; then
		python3 -m venv "$venv"
		"$venv/bin/pip" install --quiet --disable-pip-version-check chdb
		echo yes >"$venv/ready"
	fi
	COROTRACER=$build/corotracer PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here/../tests/fleet \
		"$venv/bin/python" "$here/fleet_ask.py" "$waits" "$runs" "$json"
}

[ ${#parts[@]} -gt 0 ] || parts=(ship load ask)
for part in "${parts[@]}"; do
	"bench_$part"
done
