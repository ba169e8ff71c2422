#!/usr/bin/env bash
# demo.sh - install what the demo needs, build, trace the example, show what came of it.
set -eu
cd "$(dirname "$0")"
. scripts/lib.sh

need "${BUILD_PACKAGES[@]}"
say "building..."
build dev -DCOROTRACER_BUILD_TESTS=OFF

dir=build/demo
mkdir -p "$dir"
show() {
	printf '\n$ %s\n' "$*"
	"$@"
}

printf '\nAn M:N scheduler in C, its coroutines passing words through channels.  Traced from\n'
printf 'another process while it runs:\n'
show build/corotracer run -o "$dir/trace.jsonl" -- build/examples/c/channels
printf '\nThe trace: a line per transition.\n'
show head -n 4 "$dir/trace.jsonl"
printf '\nWhat is in it, and what is not:\n'
show build/corotracer info "$dir/trace.jsonl"
printf '\nThe same program, losing wake-ups on purpose.  Who sleeps for ever?\n'
show build/corotracer run -q -o "$dir/lost.jsonl" -- build/examples/c/channels --lose-wakeup
show build/corotracer info "$dir/lost.jsonl"
printf '\nThe traces are in %s.  Next: ./test.sh runs every test; build/corotracer help shows\n' "$dir"
printf 'the commands.\n'
