#!/bin/sh
# SPDX-License-Identifier: MIT
# warnings.sh SOURCE - programs of the existing coroTracer header compile without a warning, with the
# warnings that careful C++ projects turn on, whether the headers count as the system's or not.
#
# With COROTRACER_FULL=1 every program both ways, with every compiler from g++ 11 and clang 16 on; else
# all programs as one file, with g++ and the oldest clang.
set -u

source=$1
common='-std=c++20 -Wall -Wextra -Wold-style-cast -Wconversion -Wshadow -Wsign-conversion -Werror'
failed=0
tried=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# compile HOW FILE COMPILER FLAG...: HOW is -I or -isystem.
compile()
{
	how=$1 file=$2
	shift 2
	tried=$((tried + 1))
	# shellcheck disable=SC2086 # several words
	"$@" $common "$how" "$source/include" -fsyntax-only "$file" || {
		echo "not ok - $* $how: $(basename "$file")"
		failed=$((failed + 1))
	}
}

compilers()
{
	for name in g++ clang++-16 clang++-17 clang++-18 clang++-19 clang++-20 clang++-21 clang++; do
		command -v $name >/dev/null || continue
		case $name in
		clang*) [ "$($name -dumpversion | cut -d. -f1)" -ge 16 ] || continue ;;
		esac
		echo $name
	done
}

# The option that traces all coroutines has no effect on C and on earlier C++.
for language in c:c11 c++:c++11 c++:c++17; do
	command -v g++ >/dev/null || continue
	tried=$((tried + 1))
	echo 'extern int one;' | g++ -x "${language%:*}" -std="${language#*:}" -Wall -Wextra -Wpedantic -Werror \
		-I "$source/include" -include corotracer/cpp/trace_all.h -fsyntax-only - || {
		echo "not ok - trace_all.h in ${language#*:}"
		failed=$((failed + 1))
	}
done
used=$(compilers)
place=$source/tests/cpp/existing
if [ "${COROTRACER_FULL:-}" != 1 ]; then
	used=$(compilers | head -n 2)
	for file in "$place"/*.cpp; do
		printf '#define main main_of_%s\n#include "%s"\n#undef main\n' "$(basename "$file" .cpp)" "$file"
	done >"$tmp/all.cpp"
	place=$tmp
fi
for compiler in $used; do
	extra=
	case $compiler in g++*) extra=-Wuseless-cast ;; esac
	for file in "$place"/*.cpp; do
		for how in -I -isystem; do
			# shellcheck disable=SC2086 # none or one
			compile "$how" "$file" "$compiler" $extra
		done
	done
done
if [ $tried -eq 0 ]; then
	echo "skipped: no compiler with coroutines"
	exit 77
fi
echo "$tried compilations, $failed failed"
[ $failed -eq 0 ]
