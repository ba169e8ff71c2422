#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh SOURCE BUILD - install the build, and use it as a user would: C by pkg-config, C++ by
# find_package(), C by add_subdirectory().  Every consumer runs, alone and under the installed tool;
# the source tree is unchanged afterwards.
set -eu

source=$1
build=$2
here=$source/tests/install
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
	echo "not ok - $*" >&2
	exit 1
}

cached() {
	sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

# Names and sizes of the sources: builds must not write among them.
source_tree() {
	find "$source" \( -name .git -o -path "$build" -o -path "$source/build" \) -prune \
		-o -type f -printf '%P %s\n' | sort
}

prefix=$(cached CMAKE_INSTALL_PREFIX)
libdir=$(cached CMAKE_INSTALL_LIBDIR)
root=$tmp/root
CC=$(cached CMAKE_C_COMPILER)
CXX=$(cached CMAKE_CXX_COMPILER)
CMAKE_GENERATOR=$(cached CMAKE_GENERATOR)
export CC CXX CMAKE_GENERATOR
source_tree >"$tmp/before"

DESTDIR=$root cmake --install "$build" >"$tmp/install.log" || {
	cat "$tmp/install.log"
	fail "cmake --install"
}
tool=$root$prefix/bin/corotracer
version=$("$tool" version --json | tr -d ' \n' | sed 's/.*"version":"\([^"]*\)".*/\1/')
"$tool" version | grep -q "$version" || fail "the installed tool does not tell its version"
echo "ok - the installed tool is version $version"

# check PROGRAM: it runs alone, and its two events arrive under the tool.
check() {
	said=$("$1")
	[ "$said" = "$version untraced" ] || fail "$1 said '$said'"
	said=$("$tool" run -o "$tmp/trace.jsonl" -- "$1" 2>"$tmp/summary")
	[ "$said" = "$version traced" ] || fail "$1 said '$said' under the tool"
	[ "$(wc -l <"$tmp/trace.jsonl")" -eq 2 ] || fail "the trace of $1 has not two events"
	rm -f "$tmp/trace.jsonl"*
	echo "ok - $(basename "$1")"
}

# events PROGRAM NUMBER: it runs under the tool, and its trace has NUMBER events.
events() {
	"$tool" run -q -o "$tmp/trace.jsonl" -- "$1" >/dev/null || fail "$1 under the tool"
	[ "$(wc -l <"$tmp/trace.jsonl")" -eq "$2" ] || fail "the trace of $1 has not $2 events"
	rm -f "$tmp/trace.jsonl"*
	echo "ok - $(basename "$1")"
}

# C, by pkg-config, as from a sysroot.
PKG_CONFIG_PATH=$root$prefix/$libdir/pkgconfig
PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
[ "$(pkg-config --modversion corotracer)" = "$version" ] || fail "pkg-config --modversion"
# shellcheck disable=SC2046 # flags are several words
"$CC" "$here/c/main.c" $(pkg-config --cflags --libs corotracer) -o "$tmp/pkg_config_shared"
# shellcheck disable=SC2046
"$CC" -static "$here/c/main.c" $(pkg-config --static --cflags --libs corotracer) \
	-o "$tmp/pkg_config_static"
check "$tmp/pkg_config_static"
LD_LIBRARY_PATH=$root$prefix/$libdir
export LD_LIBRARY_PATH
check "$tmp/pkg_config_shared"
# C++20, by pkg-config, with the headers only.
coroutines=$(cached COROTRACER_HAS_COROUTINES)
if [ -n "$coroutines" ]; then
	# shellcheck disable=SC2046
	"$CXX" -std=c++20 -Wall -Wextra -Wpedantic -Werror "$here/cmake/coroutine.cpp" \
		$(pkg-config --cflags corotracer) -o "$tmp/pkg_config_coroutine"
	check "$tmp/pkg_config_coroutine"
	# A program of the existing coroTracer header, and one that is traced by an option alone.
	# shellcheck disable=SC2046
	"$CXX" -std=c++20 "$source/tests/cpp/existing/detached.cpp" $(pkg-config --cflags corotracer) \
		-o "$tmp/existing" || fail "a program that includes \"coroTracer.h\""
	events "$tmp/existing" 20
	# shellcheck disable=SC2046
	"$CXX" -std=c++20 -include corotracer/cpp/trace_all.h "$source/tests/cpp/unchanged/shapes.cpp" \
		$(pkg-config --cflags corotracer) -o "$tmp/unchanged" || fail "-include trace_all.h"
	events "$tmp/unchanged" 52
fi
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH

# build WHAT NAME CMAKE-OPTION...: a consumer's project, from configuring to programs.
build() {
	what=$1 name=$2
	shift 2
	if ! { cmake -S "$here/$name" -B "$tmp/$name" "$@" && cmake --build "$tmp/$name"; } >"$tmp/log" 2>&1; then
		cat "$tmp/log"
		fail "$what"
	fi
}

# C and C++, by find_package().
build "find_package(corotracer)" cmake -DCMAKE_PREFIX_PATH="$root$prefix" -DCOROUTINES="$coroutines"
for name in c_shared cxx11_shared cxx20_shared cxx11_static cxx20_static cxx11_headers cxx20_headers \
	${coroutines:+cxx20_coroutine cxx20_coroutine_shared}; do
	check "$tmp/cmake/$name"
done

# C, by add_subdirectory().
build "add_subdirectory()" subdirectory -DCOROTRACER_SOURCE="$source"
check "$tmp/subdirectory/sub_corotracer"
check "$tmp/subdirectory/sub_static"

source_tree >"$tmp/after"
diff -u "$tmp/before" "$tmp/after" || fail "the source tree changed"
echo "ok - the source tree is as it was"
