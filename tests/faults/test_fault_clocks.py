# SPDX-License-Identifier: MIT
"""test_fault_clocks.py - the clocks change during a run: the trace is right, and the summary says what happened.

CLOCK_SHIFT_SO: the library of clock_shift.c
"""
from harness import *

SHIFT = os.environ.get("CLOCK_SHIFT_SO", "build/tests/faults/clock_shift.so")


def run_with(dir, boot, wall, *options):
    """Events, then the change, then events: (status, stderr, trace)."""
    moment, trace = os.path.join(dir, "now"), os.path.join(dir, "t.jsonl")
    if os.path.exists(moment):
        os.unlink(moment)
    env = dict(os.environ, LD_PRELOAD=SHIFT, CLOCK_SHIFT_WHEN=moment, CLOCK_SHIFT_BOOT=str(boot), CLOCK_SHIFT_WALL=str(wall))
    script = f"{words(TARGET)} events 3 20 0; touch {moment}; {words(TARGET)} events 3 20 0"
    status, _, err = tool("run", *options, "-o", trace, "--", "env", "-u", "LD_PRELOAD", "sh", "-c", script, env=env)
    return status, err, trace


def check_trace(trace):
    with open(trace, encoding="utf-8") as f:
        events = [json.loads(line) for line in f]
    equal(len(events), 120, "events")
    check_order(events)
    times = [e["ts"] for e in events]
    assert max(times) - min(times) < 1000 * 10**9, "the time between two events includes the change"


@test
def a_suspension_is_reported_and_not_part_of_times(dir):
    status, err, trace = run_with(dir, 3600, 3600, "--json")
    equal(status, 0, "status")
    clocks = json.loads(err.splitlines()[-1])["clocks"]
    assert 3599 * 10**9 <= clocks["suspended_ns"] <= 3700 * 10**9, clocks
    equal((clocks["wall_step_ns"], clocks["counter_changes"]), (0, 0), "others")
    check_trace(trace)
    _, err, _ = run_with(dir, 3600, 3600)
    contains(err, "the machine was suspended for")


@test
def a_wall_clock_that_is_set_back_is_reported(dir):
    status, err, trace = run_with(dir, 0, -7200, "--json")
    equal(status, 0, "status")
    clocks = json.loads(err.splitlines()[-1])["clocks"]
    assert 7199 * 10**9 <= clocks["wall_step_ns"] <= 7300 * 10**9, clocks
    equal(clocks["suspended_ns"], 0, "suspended")
    check_trace(trace)
    _, err, _ = run_with(dir, 0, -7200)
    contains(err, "the wall clock was set")


@test
def clocks_that_go_on_are_not_mentioned(dir):
    _, err, trace = run_with(dir, 0, 0)
    check_trace(trace)
    for word in ("suspended", "wall clock", "cycle counter"):
        assert word not in err, err


if __name__ == "__main__":
    main()
