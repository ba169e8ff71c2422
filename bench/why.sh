#!/bin/bash
# SPDX-License-Identifier: MIT
#
# why.sh - what a look at the coroutines of a running program costs, and what it costs the program.
#
# usage: bench/why.sh [--build DIR] [--json] [--quick]
#
#   frames      CPU and memory of `why` for 1,000,000 suspended frames; CPU of one look more at them and
#               at 10,000, which is what --sample adds per look
#   untouched   8 GB of memory of which little is used: the time, and pages that the look has faulted in
#   server      requests per second of a busy server: alone and with --sample 10/s, in turns
#   second      the second look at a program by another process, against the first
#   tokio       CPU of one look more at 10,000 tasks of Tokio, of five kinds; left out without cargo
#
# Yardsticks of the same run: `wc -l` reading 256 MB through a pipe for CPU, `why` with one frame for the
# 8 GB, the same server alone, the first look.  Times are reported; no time fails the benchmark.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
json=0 quick=0 turns=30
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?--build wants a directory}; shift ;;
	--json) json=1 ;;
	--quick) quick=1 turns=8 ;;
	*) echo "usage: bench/why.sh [--build DIR] [--json] [--quick]" >&2; exit 2 ;;
	esac
	shift
done

tool=$build/corotracer
target=$build/bench/bench-why-target
for program in "$tool" "$target"; do
	if [ ! -x "$program" ]; then
		echo "bench/why.sh: no '$program'" >&2
		echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
		exit 1
	fi
done

dir=$(mktemp -d)
pid=
end_target() { # end the program that is looked at
	[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	pid=
}
sampler=
trap '[ -z "$sampler" ] || kill -9 -- "-$sampler" 2>/dev/null; end_target; rm -rf "$dir"' EXIT
values=$dir/values
# What the tool may keep of the programs is its own of this run.
export XDG_CACHE_HOME=$dir/cache
mkdir "$XDG_CACHE_HOME"
mkfifo "$dir/out"

# start ARGUMENTS...: start the program; its output is on descriptor 3
start() { start_program "$target" "$@"; }

start_program()
{
	local line
	"$@" >"$dir/out" &
	pid=$!
	exec 3<"$dir/out"
	read -r line <&3
	[ "$line" = ready ]
}

# spent FILE COMMAND...: wall clock seconds, CPU seconds, peak memory in kilobytes; its output goes to FILE
spent()
{
	python3 -c 'import resource, subprocess, sys, time
start = time.monotonic()
with open(sys.argv[1], "wb") as out:
    subprocess.run(sys.argv[2:], stdout=out, stderr=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{time.monotonic() - start:.4f} {used.ru_utime + used.ru_stime:.4f} {used.ru_maxrss}")' "$@"
}

# least COLUMN TIMES COMMAND...: the smallest value of a column of spent
least()
{
	local column=$1 times=$2
	shift 2
	for _ in $(seq "$times"); do spent /dev/null "$@"; done | sort -g -k "$column" | awk -v c="$column" 'NR == 1 { print $c }'
}

set_value() { echo "$1 $2" >>"$values"; }
compute() { awk "BEGIN { printf \"%.6g\", $1 }"; }

# ---- a yardstick for CPU ----------------------------------------------------------------

set_value wc "$(compute "1000 * $(least 2 3 sh -c 'head -c 268435456 /dev/zero | tr "\0" "\n" | wc -l')")"

# ---- frames -----------------------------------------------------------------------------

# one_more: CPU in ms of each look but the first, which is not counted
one_more()
{
	"$tool" why --json --sample 100/s --duration 2 -p "$pid" | python3 -c 'import json, sys
print(json.load(sys.stdin)["look_cpu_ns"] / 1e6)'
}

for nr in 10000 1000000; do
	start frames $nr
	set_value "frames.$nr" "$(compute "1000 * $(least 2 3 "$tool" why -p "$pid")")"
	set_value "wall.$nr" "$(compute "1000 * $(least 1 3 "$tool" why -p "$pid")")"
	set_value "memory.$nr" "$(compute "$(least 3 1 "$tool" why -p "$pid") / 1024")"
	set_value "look.$nr" "$(one_more)"
	end_target
done

# ---- memory that is not used ------------------------------------------------------------

# Anonymous memory only: the program itself may still read pages of its files.
resident() { awk '/^Anonymous:/ { print $2 }' "/proc/$pid/smaps_rollup"; }

start frames 2
set_value small "$(compute "1000 * $(least 1 3 "$tool" why -p "$pid")")"
end_target
start untouched $((8 << 30))
before=$(resident)
set_value untouched "$(compute "1000 * $(least 1 3 "$tool" why -p "$pid")")"
set_value faulted "$(($(resident) - before))"
end_target

# ---- a busy server ------------------------------------------------------------------------

# requests SECONDS: requests of the server in that time, per second and per second of its CPU
requests()
{
	local n0 t0 c0 n1 t1 c1
	kill -USR1 "$pid"
	read -r n0 t0 c0 <&3
	sleep "$1"
	kill -USR1 "$pid"
	read -r n1 t1 c1 <&3
	echo "$(compute "($n1 - $n0) / ($t1 - $t0) * 1e9") $(compute "($n1 - $n0) / ($c1 - $c0) * 1e9")"
}

# One sampler, which is stopped in every other turn: the start of the tool is not measured.
start server
setsid "$tool" why --json --sample 10/s -p "$pid" >"$dir/json" &
sampler=$!
sleep 3
for _ in $(seq "$turns"); do
	kill -STOP -- "-$sampler"
	requests 0.5 >>"$dir/alone"
	kill -CONT -- "-$sampler"
	requests 0.5 >>"$dir/sampled"
done
kill -INT -- "-$sampler"
wait "$sampler"
sampler=
end_target
sampler_says() { python3 -c 'import json, sys; print(eval(sys.argv[2], json.load(open(sys.argv[1]))))' "$dir/json" "$1"; }
set_value sampler_cpu "$(sampler_says 'look_cpu_ns * 10 / 1e9 * 100')"
set_value look_wall "$(sampler_says 'look_ns / 1e6')"

# median COLUMN FILE...: the middle value; with two files the middle of the ratios of the second to the first.
# Each turn is compared with the one before it: the other load of the machine is about the same for both.
median()
{
	local column=$1
	shift
	paste -d ' ' "$@" | awk -v c="$column" -v files=$# '{ print files == 2 ? $(c + NF / 2) / $c : $c }' | sort -g |
		awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
for column in 1 2; do
	set_value "alone.$column" "$(median $column "$dir/alone")"
	set_value "sampled.$column" "$(compute "$(median $column "$dir/alone") * $(median $column "$dir/alone" "$dir/sampled")")"
done

# ---- the second look ------------------------------------------------------------------------

start frames 2
export XDG_CACHE_HOME=$dir/empty
mkdir "$XDG_CACHE_HOME"
read -r _ first _ < <(spent /dev/null "$tool" why -p "$pid")
set_value first "$(compute "1000 * $first")"
set_value second "$(compute "1000 * $(least 2 3 "$tool" why -p "$pid")")"
end_target

# ---- tasks of Tokio ---------------------------------------------------------------------------

# All output of cargo goes to the build folder.
tokio=$build/rust/target-why/debug/corotracer-bench-why-tokio
cp -r "$here/why_tokio" "$dir/why_tokio"
if command -v cargo >/dev/null && (cd "$dir/why_tokio" &&
	CARGO_TARGET_DIR=$(cd "$build" && pwd)/rust/target-why cargo build --quiet --offline); then
	start_program "$tokio" 10000
	set_value tokio "$(compute "1000 * $(least 2 3 "$tool" why -p "$pid")")"
	set_value tokio_look "$(one_more)"
	end_target
fi

cat >"$dir/rows" <<'END'
1,000,000 frames, CPU (goal 2,000 ms)|frames.1000000|ms|wc|wc -l of 256 MB|
1,000,000 frames, time|wall.1000000|ms|wc|wc -l of 256 MB|
1,000,000 frames, memory|memory.1000000|MB|memory.10000|10,000 frames|
1,000,000 frames, CPU of one look more|look.1000000|ms|wc|wc -l of 256 MB|
10,000 frames, CPU|frames.10000|ms|wc|wc -l of 256 MB|
10,000 frames, CPU of one look more (goal 50)|look.10000|ms|wc|wc -l of 256 MB|
8 GB that are not used, time (goal 3,000 ms)|untouched|ms|small|two frames|
8 GB that are not used, faulted in|faulted|KB|||<= 0
requests per second with --sample 10/s|sampled.1|/s|alone.1|alone, in turns|>= 0.99
requests per second of CPU, the same|sampled.2|/s|alone.2|alone, in turns|>= 0.99
CPU of --sample 10/s, of one processor|sampler_cpu|%|||<= 1
a look at the server, time|look_wall|ms|||
second look at a program, CPU|second|ms|first|first look|
10,000 tasks of Tokio, CPU|tokio|ms|wc|wc -l of 256 MB|
10,000 tasks of Tokio, CPU of one look more (goal 50)|tokio_look|ms|wc|wc -l of 256 MB|
END
awk -F'|' -v json=$json -v quick=$quick -v arch="$(uname -m)" -v cpus="$(nproc)" \
	-f "$here/table.awk" "$values" "$dir/rows"
