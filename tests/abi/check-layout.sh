#!/bin/sh
# SPDX-License-Identifier: MIT
# check-layout.sh PROGRAM EXPECTED HEADER... - does PROGRAM print the layout in EXPECTED?
# And does EXPECTED know every constant, struct and field of the HEADERs?
set -eu

program=$1
expected=$2
shift 2

if ! "$program" | diff -u "$expected" -; then
	echo "the layout changed: this breaks every program in the field" >&2
	exit 1
fi

# Every struct must be asserted field by field; the check below relies on that.
cat "$@" | sed -n 's/^struct \([a-z_]*\) {$/\1/p' | {
	missing=0
	while read -r name; do
		if ! cat "$@" | grep -q "^CTP_SIZE($name,"; then
			echo "the size of 'struct $name' is not asserted" >&2
			missing=1
		fi
	done
	exit $missing
}

# Constants are macros without parameters; the structs are asserted field by field.
cat "$@" | sed -n -e 's/^#define \(CTP_[A-Z_]*\)[[:space:]].*/\1/p' \
	-e 's/^CTP_FIELD(\([a-z_]*\), \([a-z_0-9]*\),.*/\1.\2/p' \
	-e 's/^CTP_SIZE(\([a-z_]*\),.*/struct \1/p' | {
	missing=0
	while read -r name; do
		if ! grep -q "^$name " "$expected"; then
			echo "$expected does not know '$name'" >&2
			missing=1
		fi
	done
	exit $missing
}
