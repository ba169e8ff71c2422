#!/usr/bin/env bash
# demo.sh - install what the demo needs, build, trace two examples, show what came of it.
set -eu
cd "$(dirname "$0")"
. scripts/lib.sh

need "${BUILD_PACKAGES[@]}" "${EXAMPLE_PACKAGES[@]}"
need_npm
say "building..."
build dev -DCOROTRACER_BUILD_TESTS=OFF

dir=build/demo
mkdir -p "$dir"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || :' EXIT

show() {
	printf '\n$ %s\n' "$*"
	"$@"
}

# The part of info on coroutines that were created and that have not ended.
show_lives() {
	printf '\n$ build/corotracer info %s | grep -A 3 lives\n' "$1"
	build/corotracer info "$1" | grep -A 3 lives
}

# Findings that are more than a suspicion.
show_report() {
	show build/corotracer report --text --min-confidence strong "$1"
}

# serve TRACE [OPTION...]: mini redis under the tool, while redis-benchmark runs against it.
serve() {
	local trace=$1
	shift
	rm -f "$dir/port"
	printf '\n$ build/corotracer run -q -o %s -- mini-redis%s &\n' "$trace" "${*:+ $*}"
	build/corotracer run -q -o "$trace" -- \
		build/examples/cpp/mini-redis --port 0 --port-file "$dir/port" "$@" &
	server=$!
	until [ -e "$dir/port" ]; do
		kill -0 "$server" 2>/dev/null || die "mini-redis did not start"
		sleep 0.1
	done
	printf '$ redis-benchmark -c 23 -n 20000 -t set,get\n'
	# It overwrites its line as it goes; the last state of each is what counts.
	redis-benchmark -p "$(cat "$dir/port")" -c 23 -n 20000 -t set,get -q |
		sed -e 's/.*\r\(.\)/\1/' -e '/^$/d'
	sleep 0.3 # until the server has seen the last of them go
	printf '$ kill %%1\n'
	kill -TERM "$server"
	wait "$server"
	server=
}

printf '\nAn M:N scheduler in C whose coroutines pass words through channels, traced from another\n'
printf 'process while it runs:\n'
show build/corotracer run -o "$dir/trace.jsonl" -- build/examples/c/channels
printf '\nThe trace has one line per suspend and resume:\n'
show head -n 4 "$dir/trace.jsonl"
printf '\nWhat it contains, and whether it is complete:\n'
show build/corotracer info "$dir/trace.jsonl"
printf '\nThe same program with a bug: it loses wake-ups.  Which coroutines are never resumed?\n'
show build/corotracer run -q -o "$dir/lost.jsonl" -- build/examples/c/channels --lose-wakeup
show_lives "$dir/lost.jsonl"

printf '\n\nA small Redis in C++20, a coroutine per client on four threads, under load from the\n'
printf 'real redis-benchmark:\n'
serve "$dir/redis.jsonl"
show_lives "$dir/redis.jsonl"
printf '\nEvery coroutine has ended.  Now with a bug: when a client disconnects, its descriptor is\n'
printf 'closed and the coroutine that waits for it is not resumed.  Every request is answered,\n'
printf 'and no sanitizer reports anything.  But:\n'
serve "$dir/phantoms.jsonl" --lose-wakeups
show_lives "$dir/phantoms.jsonl"

printf '\nThese coroutines will never run again.  Why?\n'
show_report "$dir/phantoms.jsonl"
printf '\nThe same as a page for a browser:\n'
show build/corotracer html -o "$dir/phantoms.html" "$dir/phantoms.jsonl"
printf '\nThe traces are in %s.  Next: ./test.sh runs every test; build/corotracer help shows\n' "$dir"
printf 'the commands.\n'
