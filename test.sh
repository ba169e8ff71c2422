#!/usr/bin/env bash
# test.sh - install what the tests need, build, run every test, and tell what came of it.
#
#   ./test.sh           everything: style, the proofs, the plain build, ASan+UBSan, TSan
#   ./test.sh --quick   the plain build's fast tests, for the inner loop
#
# The last line is "N passed, N failed" (", N skipped", with the reasons above it).
set -eu
cd "$(dirname "$0")"
. scripts/lib.sh

quick=no
case "${1:-}" in
"") ;;
--quick) quick=yes ;;
*) die "unknown option '$1'" "./test.sh or ./test.sh --quick" ;;
esac

packages=("${BUILD_PACKAGES[@]}" "${EXAMPLE_PACKAGES[@]}" libasio-dev python3 babeltrace2)
if [ $quick = no ]; then
	packages+=(clang clang-format clang-tidy shellcheck man-db git util-linux coq spin binutils make tcl procps)
	# Whoever has a Rust of his own has a newer one; and a real client for the server.
	command -v cargo >/dev/null 2>&1 || packages+=(cargo rustc)
	packages+=(apache2-utils tmux)
	# The page, in a real browser.
	command -v npm >/dev/null 2>&1 || packages+=(npm)
	packages+=(chromium)
	# The other architecture's compiler, to look at the code it makes of the fast path.
	case "$(uname -m)" in
	x86_64) packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross) ;;
	aarch64) packages+=(gcc-x86-64-linux-gnu libc6-dev-amd64-cross) ;;
	esac
fi
need "${packages[@]}"
if [ $quick = no ]; then
	# Coroutines want clang 16 or newer; which there are is the distribution's affair.
	for version in 16 19; do
		if apt-cache show "clang-$version" >/dev/null 2>&1; then
			need "clang-$version"
		fi
	done
fi

jobs=$(nproc)
logs=()
status=0

# suite PRESET CTEST ARGUMENT...: build it, run its tests, keep the log for the tally.
suite() {
	local preset=$1 dir=build
	shift
	[ "$preset" = dev ] || dir=build/$preset
	say "== $preset: building"
	build "$preset"
	say "== $preset: testing"
	ctest --test-dir "$dir" --output-on-failure -j "$jobs" "$@" >&2 || status=1
	logs+=("$dir/Testing/Temporary/LastTest.log")
}

if [ $quick = yes ]; then
	suite dev -L quick
else
	suite dev
	suite asan -LE once
	suite tsan -L threads
fi
scripts/tally "${logs[@]}" || status=1
exit $status
