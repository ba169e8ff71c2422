#!/usr/bin/env bash
# test.sh - install the packages that the tests need, build, run the tests, print the totals.
#
#   ./test.sh           style, proofs, fuzzers, the plain build, ASan+UBSan, TSan, what differs on
#                       aarch64 under qemu (25 to 27 minutes on two processors, a third of them builds)
#   ./test.sh --quick   the fast tests of the plain build, for the inner loop (a minute after
#                       the build, which takes about 4 from nothing on two processors)
#   ./test.sh --full    ./test.sh plus the tests with the label "full"; COROTRACER_FULL=1 in the
#                       environment makes the other tests longer (hours; needs root for chroots)
#
# A few failed tests get a second attempt, one at a time; each is printed as "second attempt: ...".
# The last line is "N passed, N failed" (", N skipped", with the reasons above it).
set -eu
cd "$(dirname "$0")"
. scripts/lib.sh

quick=no
full=no
case "${1:-}" in
"") ;;
--quick) quick=yes ;;
--full) full=yes ;;
*) die "unknown option '$1'" "./test.sh, ./test.sh --quick or ./test.sh --full" ;;
esac
unset COROTRACER_FULL
[ $full = no ] || export COROTRACER_FULL=1

packages=("${BUILD_PACKAGES[@]}" "${EXAMPLE_PACKAGES[@]}" libasio-dev libuv1-dev liburing-dev python3 python3-yaml babeltrace2 zstd)
if [ $quick = no ]; then
	packages+=(clang clang-format clang-tidy shellcheck man-db git util-linux coq spin binutils make tcl procps)
	# Whoever has a Rust of his own has a newer one; and a real client for the server.
	command -v cargo >/dev/null 2>&1 || packages+=(cargo rustc)
	packages+=(apache2-utils tmux zsh fish)
	packages+=(qcoro-qt6-dev) # its coroutines are traced unchanged
	packages+=(prometheus) # scrapes the metrics
	packages+=(gdb strace) # core files of running programs; system calls of the tool
	# Perfetto's schema and trace processor, for what is exported to it.
	packages+=(python3-pip python3-dev) # also builds the extension of the package for Python
	packages+=(graphviz) # draws the exported wait graph
	# The page, in a real browser.
	packages+=(chromium)
	# Servers and clients that traces are exported to, and what loads the results.
	packages+=(postgresql mariadb-server mariadb-client sqlite3 python3-venv)
	packages+=(musl-tools) # another C library for the SDK
	[ $full = no ] || packages+=(debootstrap debhelper dpkg-dev lintian make ncurses-bin rpm tcl)
	packages+=(valgrind) # cachegrind, to compare simulated caches with
	# The other architecture's compiler, to look at the code it makes of the fast path.
	case "$(uname -m)" in
	x86_64) packages+=(gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user) ;;
	aarch64) packages+=(gcc-x86-64-linux-gnu libc6-dev-amd64-cross) ;;
	esac
fi
need "${packages[@]}"
need_npm
[ $quick = yes ] || need_if_known firefox-esr chromium-headless-shell # Ubuntu has neither: Firefox's test is then skipped
if [ $quick = no ]; then
	# Coroutines want clang 16 or newer; which there are is the distribution's affair.
	for version in 16 19; do
		need_if_known "clang-$version"
	done
	[ $full = no ] || need_if_known ubuntu-keyring
	# The store of many hosts; not in every distribution.
	need_if_known clickhouse-server
	# Carries blocks of traces there.
	need_if_known nats-server libnats-dev
	# mold links the sanitizers' builds; and programs of users may be linked by either.
	need_if_known mold lld
	# libFuzzer is in a package of its own, for each version of clang.
	if command -v clang >/dev/null 2>&1; then
		need_if_known "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
	fi
fi

jobs=$(($(nproc) * 4)) # places: tests/CMakeLists.txt says how many a test has
logs=()
status=0
# Only the programs of the tests that run; the plain build makes the fuzzers' first inputs.
lean=(-DCOROTRACER_LEAN=ON "-DCOROTRACER_INPUTS=$PWD/build/tests/fuzz")
[ $full = no ] || lean=(-DCOROTRACER_LEAN=OFF)

# suite PRESET CTEST ARGUMENT...: build it, and run its tests; meanwhile build the presets of later.
later=()
suite() {
	say "== $1: building"
	if [ -f "$ahead/$1" ]; then
		built_ahead "$1"
	else
		build "$1" "${lean[@]}"
	fi
	[ ${#later[@]} = 0 ] || build_ahead "${later[@]}"
	later=()
	again "$@"
}

# build_ahead PRESET...: build these in the background, in the time that tests leave: many of them wait.
ahead=$(mktemp -d)
builder=
build_ahead() {
	local preset
	for preset; do
		: >"$ahead/$preset"
	done
	setsid nice -n 19 scripts/build-ahead "$ahead" "$@" -- "${lean[@]}" &
	builder=$!
}

# built_ahead PRESET: wait for it; the tests have ended, so it has the processors for itself.
built_ahead() {
	while [ ! -f "$ahead/$1.result" ]; do
		kill -0 "$builder" 2>/dev/null || [ -f "$ahead/$1.result" ] || die "the $1 build was ended"
		sleep 1
	done
	[ "$(cat "$ahead/$1.result")" = built ] || {
		cat "$ahead/$1.log" >&2
		exit 1
	}
	rm "$ahead/$1"
}

# The builder ends with this script.
# shellcheck disable=SC2317 # the trap calls it
end() {
	[ -z "$builder" ] || kill -- "-$builder" 2>/dev/null || true
	rm -rf "$ahead"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# again PRESET CTEST ARGUMENT...: run tests of a build, keep the log for the tally.
again() {
	local preset=$1 dir=build log passed=yes
	shift
	[ "$preset" = dev ] || dir=build/$preset
	say "== $preset: testing"
	ctest --test-dir "$dir" --output-on-failure -j "$jobs" "$@" >&2 || passed=no
	log=$dir/Testing/Temporary/LastTest-${#logs[@]}.log
	cp "$dir/Testing/Temporary/LastTest.log" "$log"
	[ $passed = yes ] || repeat "$preset" "$dir" "$log" || status=1
	logs+=("$log")
}

# repeat PRESET DIRECTORY LOG: give a few failed tests a second attempt, one at a time.  Other tests
# and a busy machine disturb tests that depend on timing; a real fault fails again.  The tally
# names each test that needed it.
repeat() {
	local failed=$2/Testing/Temporary/LastTestsFailed.log names result=0
	[ -s "$failed" ] && [ "$(wc -l <"$failed")" -le 8 ] || return 1
	say "== $1: second attempt of $(wc -l <"$failed") failed tests, one at a time"
	# By name: ctest's numbers, and so --rerun-failed, depend on the tests that were left out.
	names=$(sed 's/^[0-9]*://; s/[^A-Za-z0-9_/-]/\\&/g' "$failed" | paste -sd '|')
	ctest --test-dir "$2" --output-on-failure -R "^($names)\$" >&2 || result=1
	cat "$2/Testing/Temporary/LastTest.log" >>"$3"
	return $result
}

# The fuzzers under libFuzzer.  Debian's packages are installed above; other systems may lack it.
fuzz() {
	local jobs=$(($(nproc) * 3)) # each of them computes for a given time
	if command -v dpkg-query >/dev/null 2>&1 || has_libfuzzer; then
		suite fuzz
	else
		say "skipped: libfuzzer: clang has no libFuzzer here"
		if [ $full = no ]; then
			lean=(-DCOROTRACER_LEAN=OFF)
			suite asan -R '^fuzz/'
		fi
	fi
}

# The tests of the cross build, run by qemu; with --full all programs and the tool, else those of the
# code that differs between processors.
cross() {
	if [ "$(uname -m)" = aarch64 ]; then
		return # the plain build is one
	fi
	if ! scripts/aarch64-sysroot build/aarch64-sysroot; then
		say "skipped: aarch64: no packages of arm64 can be downloaded here"
		return
	fi
	! command -v rustup >/dev/null 2>&1 || timeout 300 rustup target add aarch64-unknown-linux-gnu >/dev/null 2>&1 ||
		say "rustup has no target for aarch64"
	say "== aarch64: building"
	build aarch64 "${lean[@]}"
	[ $full = no ] || cmake --build build/aarch64 >/dev/null || die "the aarch64 build failed"
	again aarch64 -L '^arch$'
}

has_libfuzzer() {
	printf 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }' |
		clang -x c -fsanitize=fuzzer -o /dev/null - >/dev/null 2>&1
}

if [ $quick = yes ]; then
	suite dev -L quick -LE '^full$'
elif [ $full = yes ]; then
	suite dev
	suite asan -LE '^once$'
	suite tsan -L threads
	cross
	fuzz
	say "== dev: each test 20 times beside two busy processes"
	scripts/repeat-tests || status=1
else
	by=
	later=(asan tsan)
	harnesses='^$' # none
	if has_libfuzzer; then # and the other sanitizers
		by=-clang
		later=(asan-clang tsan-clang fuzz)
		harnesses='^fuzz/' # libFuzzer has the same ones, and starts from their inputs
	fi
	suite dev -LE '^full$' -E "$harnesses"
	suite "asan$by" -LE '^(once|full)$' -E '^fuzz/' # here or below, with the same sanitizers
	suite "tsan$by" -L threads -LE '^full$'
	cross
	fuzz
fi
# Where the packages were installed above, a test that lacks a program is a fault of the lists.
strict=()
[ $quick = yes ] || ! command -v dpkg-query >/dev/null 2>&1 || strict=(--strict)
scripts/tally "${strict[@]}" "${logs[@]}" || status=1
exit $status
