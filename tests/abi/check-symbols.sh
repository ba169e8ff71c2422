#!/bin/sh
# SPDX-License-Identifier: MIT
# check-symbols.sh SHARED STATIC MAP INCLUDE_DIR - three lists of exported names are equal:
# what the shared library exports, what its map says, what the headers declare for it.
# And no global of the static library can collide with one of the program's own.
set -eu

shared=$1
static=$2
map=$3
include=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# "A" is the map's own version node.
nm -D --defined-only "$shared" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
	sort >"$tmp/exported"

sed 's,/\*.*\*/,,' "$map" |
	awk '/global:/ { on = 1; next } /local:/ { on = 0 } on && NF { sub(/;/, "", $1); print $1 }' |
	sort >"$tmp/mapped"

# A declaration may run over several lines; the name is the last word before "(", ";" or
# an attribute.  CTP_SLOW_LINKAGE marks what the inline fast path calls.
sed -e '/^#define/d' "$include/corotracer.h" "$include/probe.h" | tr '\n\t' '  ' |
	grep -oE '(COROTRACER_API|CTP_SLOW_LINKAGE) [^;{]*;' |
	sed -e 's/ *__attribute__.*//' -e 's/(.*//' -e 's/;.*//' -e 's/ *$//' -e 's/.*[ *]//' |
	sort >"$tmp/declared"

status=0
if [ ! -s "$tmp/exported" ]; then
	echo "nothing is exported from $shared" >&2
	status=1
fi
diff -u "$tmp/mapped" "$tmp/exported" || {
	echo "the map (-) and the shared library (+) differ" >&2
	status=1
}
diff -u "$tmp/mapped" "$tmp/declared" || {
	echo "the map (-) and the headers (+) differ" >&2
	status=1
}
foreign=$(nm -g --defined-only "$static" |
	awk 'NF == 3 && $3 !~ /^(corotracer_|ctp_)/ { print $3 }')
if [ -n "$foreign" ]; then
	echo "globals of $static without a prefix of ours: $foreign" >&2
	status=1
fi
exit $status
