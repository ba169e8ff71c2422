#!/bin/bash
# SPDX-License-Identifier: MIT
#
# export.sh - how fast a trace gets into tables, against the databases' own loaders.
#
# usage: bench/export.sh [--build DIR] [--events N] [--runs N] [--json]
#
# Yardsticks, in the same run, of the equal CSV: `wc -l` of the JSON lines; sqlite3's .import;
# psql's \copy; LOAD DATA LOCAL of the mariadb client; each with the same indexes.  Both sides take
# turns, the best run of each counts.  Parquet: the bytes per event of a trace of mini-redis, and the
# rate of DuckDB's COPY.  The servers are started here with temporary data directories, and skipped
# where the packages are missing.  Times are reported; no time fails the benchmark.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
events=1000000 runs=3 json=0
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?--build wants a directory}; shift ;;
	--events) events=${2:?--events wants a number}; shift ;;
	--runs) runs=${2:?--runs wants a number}; shift ;;
	--json) json=1 ;;
	*) echo "usage: bench/export.sh [--build DIR] [--events N] [--runs N] [--json]" >&2; exit 2 ;;
	esac
	shift
done
for program in "$build/corotracer" "$build/tests/target"; do
	if [ ! -x "$program" ]; then
		echo "bench/export.sh: no '$program'" >&2
		echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
		exit 1
	fi
done
MINI_REDIS=$build/examples/cpp/mini-redis COROTRACER=$build/corotracer TARGET=$build/tests/target PYTHONDONTWRITEBYTECODE=1 \
	PYTHONPATH=$here/../tests/cli:$here/../tests/export \
	exec python3 "$here/export.py" "$events" "$runs" "$json"
