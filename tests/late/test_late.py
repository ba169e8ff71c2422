# SPDX-License-Identifier: MIT
"""test_late.py - the program's first call of the SDK is slow, and its other threads do not wait.

slow.c, preloaded, delays open() of the region or connect() by half a second, and in two tests until the other threads have begun.  The program
counts its events: all of them are collected, or counted as lost, and with --fail-on-loss a loss
changes the exit status.  Its threads are there before its first coroutine, so it registers for membarrier when
it starts, or not at all: later the kernel would make it wait, on an overloaded machine for minutes.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import *  # noqa: E402

PROGRAM = os.environ["LATE_PROGRAM"]
SLOW = os.environ["LATE_SLOW"]
THREADS = 8
# The runtime of a sanitizer wants to be the first library; here slow.c is.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"


class Late(Run):
    def __init__(self, dir, call, ms=500, options=(), env=os.environ, others=0):
        trace = os.path.join(dir, "t.jsonl")
        env = dict(env, SLOW_CALL=call, SLOW_MS=str(ms), SLOW_OTHERS=str(others), ASAN_OPTIONS=os.environ["ASAN_OPTIONS"])
        status, out, err = tool("run", "--json", "--fail-on-loss", "--no-inherit", "-o", trace, *options, "--", "env",
                                f"LD_PRELOAD={SLOW}", PROGRAM, str(THREADS), str(ms + 300), env=env)
        super().__init__(status, out, err, trace)
        contains(err, f"slow: {call}\n")  # otherwise nothing was tested
        assert "a process with threads registers" not in err, err
        said = re.search(r"^target: (\d+) events of (\d+)$", err, re.M)
        if not said:
            raise AssertionError(f"status {status}; stderr was\n{err}")
        self.written, self.begun = int(said[1]), int(said[2])


def accounted(r):
    s = r.summary
    equal(s["written"], r.written, "written, by the program's own count")
    equal(s["collected"] + s["lost"], r.written, "collected + lost")
    equal(s["coroutines"] + s["without_station"], r.begun, "traced and untraced coroutines")
    equal(len(r.events), s["collected"], "events in the trace")
    equal(s["garbage"], 0, "garbage")
    lost = s["lost"] or s["others"]["lost"] or s["without_station"]
    equal(r.status, 1 if lost else 0, f"status where {lost} are lost")


@test
def nobody_waits_for_a_slow_connection_and_all_is_accounted_for(dir):
    r = Late(dir, "connect")
    accounted(r)
    equal(len({e["tid"] for e in r.events}), THREADS, "threads in the trace")


@test
def a_program_registers_for_membarrier_when_it_starts(dir):
    r = Late(dir, "connect", 50, env=dict(os.environ, CTP_VERBOSE="1"))
    accounted(r)
    contains(r.err, "no fence per event")


@test
def a_program_that_cannot_register_at_its_start_does_without(dir):
    r = Late(dir, "membarrier", 50, env=dict(os.environ, CTP_VERBOSE="1"))
    accounted(r)
    contains(r.err, ", a fence per event")
    equal(len({e["tid"] for e in r.events}), THREADS, "threads in the trace")


@test
def what_happens_before_the_region_is_mapped_is_counted(dir):
    r = Late(dir, "open", others=THREADS - 1)
    accounted(r)
    s = r.summary
    assert s["lost"] > 0 and s["lost_untraced"] == s["lost"], f"nothing was lost before the attach: {s}"
    equal(s["lost_full"], s["lost"], "lost for want of a place to write to")
    equal(r.status, 1, "status")


@test
def coroutines_of_a_slow_start_are_traced_from_the_attach_on(dir):
    r = Late(dir, "open", others=THREADS - 1)
    accounted(r)
    equal(len({e["tid"] for e in r.events}), THREADS, "threads in the trace")
    # One coroutine of each thread exists from the start: it ends in the trace, with its losses
    # counted.
    ends = [e for e in r.sidecar if e["type"] == "end" and e.get("lost", 0) > 0]
    assert len(ends) >= THREADS - 1, f"{len(ends)} coroutines that were begun before the attach ended in the trace"
    for e in ends:
        assert e["lost"] < e["written"], f"no event of this coroutine was traced: {e}"


@test
def the_summary_says_when_it_was_lost(dir):
    trace = os.path.join(dir, "t.jsonl")
    env = dict(os.environ, SLOW_CALL="open", SLOW_MS="300")
    status, _, err = tool("run", "--no-inherit", "-o", trace, "--", "env", f"LD_PRELOAD={SLOW}", PROGRAM, "2", "400", env=env)
    equal(status, 0, "status without --fail-on-loss")
    contains(err, "before the program connected to the collector")
    contains(err, "hint: the program's first call of the SDK took long")


@test
def under_a_collector_without_lanes_the_program_runs_as_well(dir):
    # Each short coroutine takes a station for good: enough of them for a thread that begins late.
    r = Late(dir, "open", 200, env=STATIONS_ONLY, options=["-n", "65536"])
    assert r.summary["collected"] > 0, "nothing was collected"
    equal(len({e["tid"] for e in r.events}), THREADS, "threads in the trace")


@test
def threads_that_come_and_go_take_lanes_over_from_each_other(dir):
    threads = 60
    trace = os.path.join(dir, "t.jsonl")
    status, out, err = tool("run", "--json", "--fail-on-loss", "-o", trace, "--", PROGRAM, str(threads), "0")
    r = Run(status, out, err, trace)
    said = re.search(r"^target: (\d+) events of (\d+)$", err, re.M)
    equal((status, len(r.events), r.summary["lost"]), (0, int(said[1]), 0), "status, events in the trace, lost")
    equal(r.summary["lanes"]["opened"], threads, "threads that wrote")
    tids = {}
    for e in r.events:
        tids.setdefault(e["probe_id"], set()).add(e["tid"])
    equal({len(t) for t in tids.values()}, {1}, "threads of a coroutine")
    equal(len({next(iter(t)) for t in tids.values()}), threads, "threads in the trace")


@test
def without_a_collector_it_is_untraced(dir):
    env = dict(os.environ, LD_PRELOAD=SLOW, SLOW_CALL="open", SLOW_MS="100", CTP_SHM_PATH=dir + "/none")
    p = popen(PROGRAM, str(THREADS), "300", env=env)
    _, err = p.communicate(timeout=300)
    equal(p.returncode, 0, err)


if not os.path.exists(PROGRAM):
    print(f"skipped: {PROGRAM} was not built")
    sys.exit(77)
main()
