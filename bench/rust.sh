#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# rust.sh - the cost of an event of the Rust SDK, and of one of the C SDK in the same process.
#
# usage: bench/rust.sh [--build DIR] [--json] [--seconds N]
#
# All output of cargo goes to the build folder.  Times are reported; no time fails the benchmark.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tree=$(dirname "$here")
build=$tree/build
json=0
seconds=3
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
	echo "hint: cmake -B build && cmake --build build, or --build DIR" >&2
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
cat >"$dir/rows" <<'END'
bare cycle counter|rust.ticks_ns|ns|rust.clock_ns|clock_gettime|
one event, C SDK|rust.c_ns|ns|rust.clock_ns|clock_gettime|
one event, Rust SDK|rust.rust_ns|ns|rust.clock_ns|clock_gettime|
one event, Rust SDK|rust.rust_ns|ns|rust.c_ns|C SDK's event|<= 1.3
a poll of a traced future, two events|rust.poll_ns|ns|rust.c_ns|C SDK's event|
the same with a waker cloned and woken|rust.wake_ns|ns|rust.c_ns|C SDK's event|
the same without tracing|rust.wake_plain_ns|ns|rust.c_ns|C SDK's event|
a poll of an untraced one|rust.poll_untraced_ns|ns|rust.c_ns|C SDK's event|
a poll of a plain one|rust.poll_plain_ns|ns|rust.c_ns|C SDK's event|
END
awk -F'|' -v json=$json -v quick=0 -v arch="$(uname -m)" -v cpus="$(nproc)" \
	-f "$here/table.awk" "$dir/values" "$dir/rows"
