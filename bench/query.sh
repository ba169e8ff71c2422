#!/bin/bash
# SPDX-License-Identifier: MIT
#
# query.sh - SQL on a compact trace, against the same query in DuckDB on Parquet files of the same events.
#
# usage: bench/query.sh [--build DIR] [--requests N] [--runs N] [--trace FILE] [--json]
#
# The trace is that of mini-redis under redis-benchmark, or FILE.  DuckDB comes from PyPI, into a
# temporary directory.  Both sides take turns, the best run of each counts.  A time of ours is that of
# the whole process; a time of DuckDB is that of the query alone, in a process that runs already.
# No time fails the benchmark; different answers do.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
requests=200000 runs=5 json=0 trace=
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?--build wants a directory}; shift ;;
	--requests) requests=${2:?--requests wants a number}; shift ;;
	--runs) runs=${2:?--runs wants a number}; shift ;;
	--trace) trace=${2:?--trace wants a file}; shift ;;
	--json) json=1 ;;
	*) echo "usage: bench/query.sh [--build DIR] [--requests N] [--runs N] [--trace FILE] [--json]" >&2; exit 2 ;;
	esac
	shift
done
server=$build/examples/cpp/mini-redis
for program in "$build/corotracer" "$server"; do
	if [ ! -x "$program" ]; then
		echo "bench/query.sh: no '$program'" >&2
		echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
		exit 1
	fi
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

if ! { python3 -m venv "$dir/venv" && "$dir/venv/bin/pip" install -q --disable-pip-version-check duckdb; } >"$dir/log" 2>&1; then
	echo "bench/query.sh: cannot install DuckDB: $(tail -1 "$dir/log")" >&2
	exit 1
fi
if [ -z "$trace" ]; then
	if ! command -v redis-benchmark >/dev/null; then
		echo "bench/query.sh: no redis-benchmark" >&2
		echo "hint: install the package redis-tools, or give --trace FILE" >&2
		exit 1
	fi
	trace=$dir/redis.ct
	"$build/corotracer" run -q -o "$trace" -- "$server" --port 0 --port-file "$dir/port" >/dev/null 2>&1 &
	pid=$!
	until [ -e "$dir/port" ]; do
		kill -0 "$pid" 2>/dev/null || { echo "bench/query.sh: mini-redis did not start" >&2; exit 1; }
		sleep 0.1
	done
	redis-benchmark -p "$(cat "$dir/port")" -c 50 -n "$requests" -t set,get -q >/dev/null
	kill -TERM "$pid"
	wait "$pid"
fi
COROTRACER=$build/corotracer "$dir/venv/bin/python" "$here/query.py" "$trace" "$dir" "$runs" "$json"
