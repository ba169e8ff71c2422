#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# rust.sh - the cost of an event of the Rust SDK, and of one of the C SDK in the same process; and the
# cost of a yield of a Tokio task: plain, traced under a collector, and with console-subscriber.
#
# usage: bench/rust.sh [--build DIR] [--json] [--seconds N]
#
# The yields need crates (tokio, console-subscriber) and a compiler that builds them; without them these
# rows are left out.  The three programs take turns, and the best turn of each counts.
#
# All output of cargo goes to the build folder.  Times are reported; no time fails the benchmark.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tree=$(dirname "$here")
build=$tree/build
json=0
seconds=3
turns=8 # of each program whose tasks yield
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$(cd "${2:?--build wants a directory}" && pwd); shift ;;
	--seconds) seconds=${2:?--seconds wants a number}; shift ;;
	--json) json=1 ;;
	*) echo "usage: bench/rust.sh [--build DIR] [--json] [--seconds N]" >&2; exit 2 ;;
	esac
	shift
done

if [ ! -f "$build/bench/libbench_rust_loops.a" ]; then
	echo "bench/rust.sh: no '$build/bench/libbench_rust_loops.a'" >&2
	echo "hint: cmake -B build -DCOROTRACER_LEAN=OFF && cmake --build build, or --build DIR" >&2
	exit 1
fi
if ! command -v cargo >/dev/null; then
	echo "bench/rust.sh: no cargo here" >&2
	exit 1
fi

# As in tests/rust/rust.py: a workspace in the build folder with the layout of the source tree.
stage=$build/rust/bench
mkdir -p "$stage/sdk" "$stage/bench"
ln -sfn "$tree/sdk/rust" "$stage/sdk/rust"
ln -sfn "$tree/bench/rust" "$stage/bench/rust"
printf '[workspace]\nmembers = ["sdk/rust", "bench/rust"]\nresolver = "2"\n' >"$stage/Cargo.toml"
export CARGO_TARGET_DIR=$build/rust/target-bench
(cd "$stage" && cargo rustc --quiet --offline --release -p corotracer-rust-bench --bin bench-rust -- \
	-L "native=$build/bench" -l static=bench_rust_loops)

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$CARGO_TARGET_DIR/release/bench-rust" "$seconds" >"$dir/values"

# Build bench-yields in target folder $1 with the flags $2 and the options that follow.
build_yields() {
	local target=$1 flags=$2
	shift 2
	(cd "$stage" && CARGO_TARGET_DIR=$target RUSTFLAGS=$flags \
		cargo build --quiet --release -p corotracer-rust-yields "$@") >"$dir/cargo" 2>&1 && return
	echo "bench/rust.sh: bench-yields $* cannot be built: $(grep -m1 '^error' "$dir/cargo")" >&2
	return 1
}

# The smallest number of file $1, as the value of key $2.
least() {
	[ ! -s "$1" ] || echo "$2 $(sort -n "$1" | head -1)" >>"$dir/values"
}

# One turn of each program; the collector's trace is thrown away.
yield_turn() {
	"$yields" plain 0.5 >>"$dir/plain"
	"$build/corotracer" run -o "$dir/trace.jsonl" -- "$yields" traced 0.5 2>"$dir/said" | grep -m1 '^[0-9.]*$' >>"$dir/traced"
	grep -q 'lost: none' "$dir/said" || echo "bench/rust.sh: the collector lost events" >&2
	rm -f "$dir"/trace.jsonl*
	[ ! -x "$console" ] || "$console" console 0.5 >>"$dir/console"
}

stage=$build/rust/yields
mkdir -p "$stage/sdk" "$stage/bench"
ln -sfn "$tree/sdk/rust" "$stage/sdk/rust"
ln -sfn "$tree/bench/rust_yields" "$stage/bench/rust_yields"
printf '[workspace]\nmembers = ["sdk/rust", "bench/rust_yields"]\nresolver = "2"\n' >"$stage/Cargo.toml"
yields=$build/rust/target-yields/release/bench-yields
console=$build/rust/target-yields-console/release/bench-yields
if build_yields "$build/rust/target-yields" ""; then
	build_yields "$build/rust/target-yields-console" "--cfg tokio_unstable" --features console || rm -f "$console"
	for _ in $(seq 1 $turns); do
		yield_turn
	done
	least "$dir/plain" rust.yield_plain_ns
	least "$dir/traced" rust.yield_ns
	least "$dir/console" rust.yield_console_ns
	awk '{ v[$1] = $2 } END { if ("rust.yield_ns" in v) print "rust.yield_more_ns", v["rust.yield_ns"] - v["rust.yield_plain_ns"]
		if ("rust.yield_console_ns" in v) print "rust.yield_console_more_ns", v["rust.yield_console_ns"] - v["rust.yield_plain_ns"] }' \
		"$dir/values" >"$dir/more"
	cat "$dir/more" >>"$dir/values"
fi
cat >"$dir/rows" <<'END'
bare cycle counter|rust.ticks_ns|ns|rust.clock_ns|clock_gettime|
one event, C SDK|rust.c_ns|ns|rust.clock_ns|clock_gettime|
one event, Rust SDK|rust.rust_ns|ns|rust.clock_ns|clock_gettime|
one event, Rust SDK|rust.rust_ns|ns|rust.c_ns|C SDK's event|<= 1.3
a traced poll that keeps no waker: three events|rust.poll_ns|ns|rust.c_ns|C SDK's event|
the same with a waker cloned and woken: three events|rust.wake_ns|ns|rust.c_ns|C SDK's event|
the same without tracing|rust.wake_plain_ns|ns|rust.c_ns|C SDK's event|
a poll of an untraced one|rust.poll_untraced_ns|ns|rust.c_ns|C SDK's event|
a poll of a plain one|rust.poll_plain_ns|ns|rust.c_ns|C SDK's event|
a yield of a Tokio task|rust.yield_plain_ns|ns|rust.c_ns|C SDK's event|
the same, traced: three events|rust.yield_ns|ns|rust.yield_plain_ns|plain yield|
the same with console-subscriber|rust.yield_console_ns|ns|rust.yield_plain_ns|plain yield|
what tracing adds to a yield|rust.yield_more_ns|ns|||<= 75
what console-subscriber adds|rust.yield_console_more_ns|ns|rust.yield_more_ns|what tracing adds|
END
awk -F'|' -v json=$json -v quick=0 -v arch="$(uname -m)" -v cpus="$(nproc)" \
	-f "$here/table.awk" "$dir/values" "$dir/rows"
