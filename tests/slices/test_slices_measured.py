# SPDX-License-Identifier: MIT
"""What the collector writes about long slices: processor time, waits, stops."""
import sys

from slices import *

PROGRAM = sys.argv[1]
MS = 1_000_000


def rest_of(line):
    """Time of the interval that is in its state."""
    return line["to_ts"] - line["from_ts"] - line["cpu_ns"] - line["queued_ns"]


def sums(lines, state, call=None):
    return sum(rest_of(l) for l in lines if l["state"] == state and call in (None, l.get("call")))


def check_lines(lines):
    for l in lines:
        assert l["from_ts"] < l["to_ts"], l
        # The kernel updates the counters of a running thread at its ticks, of 10 ms at most.
        assert l["cpu_ns"] <= l["to_ts"] - l["from_ts"] + 20 * MS, l
    # It counts a wait for a processor when the wait ends, which may have begun before the interval.
    for tid in {l["tid"] for l in lines}:
        own = [l for l in lines if l["tid"] == tid]
        waited = sum(l["cpu_ns"] + l["queued_ns"] for l in own)
        assert waited <= max(l["to_ts"] for l in own) - min(l["from_ts"] for l in own) + 500 * MS, own


def check_sleep(seconds, form):
    lines = cpu_lines(trace_of(PROGRAM, "sleep", seconds, form))
    check_lines(lines)
    # About ten slices of 60 ms; the first milliseconds of each are not measured.
    at_least(sums(lines, "blocked", "clock_nanosleep"), 200 * MS, lines)
    assert sum(l["cpu_ns"] for l in lines) < 42 * MS * seconds, lines


def check_burn(seconds, form):
    lines = cpu_lines(trace_of(PROGRAM, "burn", seconds, form))
    check_lines(lines)
    at_least(sum(l["cpu_ns"] for l in lines), 100 * MS, lines)
    assert sums(lines, "blocked") < 83 * MS * seconds, lines


def check_mutex(seconds):
    lines = cpu_lines(trace_of(PROGRAM, "mutex", seconds))
    at_least(sums(lines, "blocked", "futex"), 150 * MS, lines)


def check_alone(seconds):
    lines = cpu_lines(trace_of(PROGRAM, "alone", seconds))
    at_least(sum(l["cpu_ns"] for l in lines), 100 * MS, lines)
    assert len({l["tid"] for l in lines}) == 1, lines


def main():
    for form in ("jsonl", "ctf"):
        patiently(lambda seconds: check_sleep(seconds, form))
        patiently(lambda seconds: check_burn(seconds, form))
    patiently(check_mutex)
    patiently(check_alone)
    lines = cpu_lines(trace_with_stop(PROGRAM, "light", 1.8, 0.6))
    stopped = [l for l in lines if l["tid"] == 0 and l["state"] == "stopped"]
    assert sum(rest_of(l) for l in stopped) > 500 * MS, lines


main()
