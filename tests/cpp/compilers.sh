#!/bin/sh
# SPDX-License-Identifier: MIT
# compilers.sh SOURCE BUILD - the same tests with every other compiler that has coroutines, and
# without exceptions, RTTI and optimisation.  77: there is none.
#
# With COROTRACER_FULL=1 all of it; else one build that differs in everything: the oldest clang, with
# as little as can be.  Without such a clang: gcc.
set -u

source=$1
build=$2
here=$source/tests/cpp
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
failed=0
tried=0

# The files of the target; without COROTRACER_FULL=1 as one, which takes a third of the time.
files='target awaits lives threads abuses handles'
place=$here
for file in $files; do
	printf '#define scenarios scenarios_of_%s\n#include "%s.cpp"\n#undef scenarios\n' "$file" "$file"
done >"$tmp/all.cpp"
if [ "${COROTRACER_FULL:-}" != 1 ]; then
	files=all
	place=$tmp
fi

# unchanged COMPILER FLAG...: build the program that is traced by an option.
unchanged()
{
	# shellcheck disable=SC2086 # several words
	"$@" -std=c++20 -g $warnings -I "$source/include" -include corotracer/cpp/trace_all.h \
		"$here/unchanged/shapes.cpp" -o "$tmp/unchanged_shapes"
}

# with NAME COMPILER FLAG...: build the target so, and run the tests on it.
with()
{
	name=$1
	shift
	tried=$((tried + 1))
	objects=
	for file in $files; do
		# shellcheck disable=SC2086 # several words
		"$@" -std=c++20 -g $warnings -D_GNU_SOURCE -I "$source/include" -I "$here" \
			-c "$place/$file.cpp" -o "$tmp/$file.o" || {
			echo "not ok - $name: $file.cpp"
			failed=$((failed + 1))
			return
		}
		objects="$objects $tmp/$file.o"
	done
	# shellcheck disable=SC2086
	"$1" $objects -o "$tmp/cpp_target" -pthread || {
		echo "not ok - $name: does not link"
		failed=$((failed + 1))
		return
	}
	unchanged "$@" || {
		echo "not ok - $name: shapes.cpp, traced by an option"
		failed=$((failed + 1))
		return
	}
	no_exceptions=
	case "$*" in *-fno-exceptions*) no_exceptions=1 ;; esac
	for test in awaits threads abuse handles unchanged; do
		if UNCHANGED_PROGRAMS=$tmp/unchanged_ CPP_TARGET=$tmp/cpp_target CPP_NO_EXCEPTIONS=$no_exceptions \
			"${PYTHON3:-python3}" "$here/test_$test.py" >"$tmp/log" 2>&1; then
			echo "ok - $name: test_$test"
		else
			cat "$tmp/log"
			echo "not ok - $name: test_$test"
			failed=$((failed + 1))
		fi
	done
}

is_new_enough()
{
	command -v "$1" >/dev/null && [ "$("$1" -dumpversion | cut -d. -f1)" -ge 16 ]
}

export COROTRACER="${COROTRACER:-$build/corotracer}"
# The oldest that will do, and the newest that is here.
oldest=''
newest=''
for clang in clang++-16 clang++-17 clang++-18 clang++-19 clang++-20 clang++-21 clang++; do
	is_new_enough $clang || continue
	[ -n "$oldest" ] || oldest=$clang
	newest=$clang
done
if [ -n "$oldest" ]; then
	with "$oldest, as little as can be" "$oldest" -O0 -fno-exceptions -fno-rtti
fi
if command -v g++ >/dev/null && { [ -z "$oldest" ] || [ "${COROTRACER_FULL:-}" = 1 ]; }; then
	with "g++, as little as can be" g++ -O0 -fno-exceptions -fno-rtti
fi
if [ -n "$oldest" ] && [ "${COROTRACER_FULL:-}" = 1 ]; then
	with "$oldest" "$oldest" -O2
fi
if [ "$newest" != "$oldest" ] && [ "${COROTRACER_FULL:-}" = 1 ]; then
	with "$newest" "$newest" -O3
fi
if [ -z "$oldest" ]; then
	echo "no clang from 16 on here: only gcc was tried"
fi
if [ $tried -eq 0 ]; then
	echo "skipped: no compiler with coroutines"
	exit 77
fi
[ $failed -eq 0 ]
