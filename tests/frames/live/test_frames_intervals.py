# SPDX-License-Identifier: MIT
"""test_frames_intervals.py - an interval covers what the program did in it, or is not measured."""
import csv
import resource
import sqlite3

from frames_live import *

BURN = 200_000  # of processor time in each interval: intervals.c
CPU = "TASK-CLOCK"  # nanoseconds of the thread
START, END, DELTA = f"cpu_0_start[{CPU}]", f"cpu_0_end[{CPU}]", f"cpu_0_delta[{CPU}]"


def limit_files(p, most):
    """Set its limit of open files; most=None restores it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (soft if most is None else most, hard))


def works(file):
    return [f for f in decode(file)[0] if f["frame"] == "work"]


def measured(frames, key):
    return [f for f in frames if f[key] is not None]


def check_true(frames, windows=()):
    """No interval contains the set-up of generated code in its thread; processor time is the thread's own."""
    for f in measured(frames, "took_duration"):
        for thread, call, since, until in windows:
            if thread == f["thread"] and not f["moved"]:
                inside = f["took_start"] < until and since < f["took_end"]
                assert not inside, f"{call} of {until - since} ns is in the interval of {f}"
    for f in measured(frames, DELTA):
        assert not f["moved"], f"counters of two threads: {f}"
        # Two clocks of the kernel: interrupts, and what a hypervisor takes, are in the counter and not in a thread's clock.
        assert f[DELTA] >= BURN / 2, f"too little: {f}"
        assert f[DELTA] <= f["wall"] * 1.05 + 100_000, f"more than wall time: {f}"


@test
def no_interval_contains_the_attach(dir):
    for name, threads in (("live_intervals_Wall", 2), ("live_intervals_Single", 1), ("live_intervals_Grow", 2)):
        p = start(name, "nest", threads)
        all_frames = []
        for i in range(2):
            a = attach(dir, p, "-c", CPU, "--count", 300, file=f"{i}.ppt")
            equal(a.status, 0, f"status ({a.err})")
            all_frames += works(a.file)
        # Another collector attaches in the middle of intervals.
        first = attach_start(dir, p, "-c", CPU)
        attached(dir, first, p)
        a = attach(dir, p, "-c", CPU, "--force-attach", "--count", 300, file="second.ppt")
        first.communicate(timeout=300)
        all_frames += works(a.file) + works(os.path.join(dir, "frames.ppt"))
        windows = end(p)["windows"]
        calls = {w[1] for w in windows}
        assert {"shmat", "perf_event_open"} <= calls, calls
        check_true(all_frames, windows)
        for key in ("took_duration", DELTA):
            share = len(measured(all_frames, key)) / len(all_frames)
            assert share > 0.4, f"{key} of {name}: {share:.0%} of {len(all_frames)} are measured"
        assert all(f["took_end"] is not None for f in all_frames), "ends"


@test
def a_resize_is_in_no_interval(dir):
    p = start("live_intervals_Grow", "nest", 2)
    c = attach_start(dir, p, "-c", CPU, "--size", 4096)
    attached(dir, c, p)
    for slots in (8192, 16384):
        equal(tool("attach", "-p", p.pid, "--resize", slots)[0], 0, "status of a resize")
    c.terminate()
    c.communicate(timeout=300)
    frames = works(os.path.join(dir, "frames.ppt"))
    windows = end(p)["windows"]
    equal(sum(w[1] == "shmat" for w in windows), 4, "segments mapped")
    check_true(frames, windows)
    assert len(measured(frames, "took_duration")) > 5, frames


@test
def counters_of_an_interval_in_two_threads_are_not_measured(dir):
    for name in ("live_intervals_Wall", "live_intervals_Cpu", "live_intervals_Single"):
        p = start(name, "move")
        a = attach(dir, p, "-c", CPU, "--count", 300)
        frames = works(a.file)[20:]
        moved = [f for f in frames if f["moved"]]
        stayed = [f for f in frames if not f["moved"]]
        assert len(moved) > 50 and len(stayed) > 50, (len(moved), len(stayed))
        check_true(frames)
        equal(measured(moved, DELTA), [], f"counters of intervals in two threads ({name})")
        assert all(f[END] is not None for f in moved), "the end is a reading"
        equal(len(measured(stayed, DELTA)), len(stayed), f"counters of intervals in one thread ({name})")
        # The clock of a thread is its own as well; the other clocks are shared.
        if name == "live_intervals_Cpu":
            equal(measured(moved, "took_duration"), [], "processor time of intervals in two threads")
            assert all(f["took_duration"] >= 0.9 * BURN for f in stayed), "processor time in one thread"
        elif name == "live_intervals_Wall":
            equal(len(measured(moved, "took_duration")), len(moved), "durations of intervals in two threads")
        end(p)


@test
def threads_that_come_and_go_count_for_themselves(dir):
    for name in ("live_intervals_Wall", "live_intervals_Single"):
        p = start(name, "fresh")
        a = attach(dir, p, "-c", CPU, "--count", 15)
        frames = works(a.file)
        check_true(frames)
        assert len(measured(frames, DELTA)) >= 12, f"measured: {len(measured(frames, DELTA))} of 15"
        assert all(f[DELTA] < 3 * BURN + 20_000_000 for f in measured(frames, DELTA)), frames
        end(p)


@test
def counters_that_cannot_be_opened_are_not_measured(dir):
    for name in ("live_intervals_Wall", "live_intervals_Single"):
        p = start(name, "nest", 2 if "Wall" in name else 1)
        limit_files(p, 3)
        a = attach(dir, p, "-c", CPU, "--count", 30)
        contains(a.err, f"could not open counter '{CPU}': Too many open files")
        equal(a.summary["unmeasured"], [CPU], "unmeasured")
        frames = works(a.file)
        assert all(f[START] is f[END] is f[DELTA] is None for f in frames), frames[0]
        assert measured(frames, "took_duration"), "no durations"
        equal(tool("decode", "-q", a.file, os.path.join(dir, name))[0], 0, "status of decode")
        with open(os.path.join(dir, name, "work.csv"), newline="", encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        equal({(r[START], r[END], r[DELTA]) for r in rows}, {("", "", "")}, "cells of CSV")
        db = os.path.join(dir, name + ".sqlite")
        equal(tool("decode", "-q", "-f", "sqlite", a.file, db)[0], 0, "status of decode")
        with sqlite3.connect(db) as c:
            got = c.execute(f'SELECT DISTINCT "{START}", "{END}", "{DELTA}" FROM work').fetchall()
        equal(got, [(None, None, None)], "cells of SQLite")
        limit_files(p, None)
        end(p)


@test
def a_counter_without_a_snapshot_is_not_measured(dir):
    p = start("live_intervals_Wall", "nest", 1)
    a = attach(dir, p, "-c", CPU, "--count", 60)
    bare = [f for f in decode(a.file)[0] if f["frame"] == "bare"]
    assert len(bare) > 10, len(bare)
    for f in bare:
        equal([f[f"none_0_{e}[{CPU}]"] for e in ("start", "end", "delta")] + [f[f"plain_0[{CPU}]"]], [None] * 4, "counters")
    end(p)


@test
def a_program_of_another_generator_that_opens_none_is_not_measured(dir):
    p = start("live_existing", 0, 100)
    limit_files(p, 3)
    a = attach(dir, p, "--count", 100, "-c", CPU)
    contains(a.err, f"counter '{CPU}' was not measured: the program could not open it")
    for f in works(a.file):
        equal([f[f"events_0_{e}[{CPU}]"] for e in ("start", "end", "delta")], [None] * 3, "counters")
    p.kill()


@test
def a_ring_that_was_kept_counts_what_it_counted_before(dir):
    p = start("live_existing", 0, 100)
    # It keeps the ring and its counters: it has a member of that type.
    equal(attach(dir, p, "--count", 100, "-c", CPU).summary["parked"], True, "parked")
    a = attach(dir, p, "--count", 100, "-c", "PAGE-FAULTS")
    contains(a.err, "counter 'PAGE-FAULTS' was not measured: the program keeps the counters")
    equal(a.summary["unmeasured"], ["PAGE-FAULTS"], "unmeasured")
    for f in works(a.file):
        equal([f[f"events_0_{e}[PAGE-FAULTS]"] for e in ("start", "end", "delta")], [None] * 3, "counters")
    a = attach(dir, p, "--count", 100, "-c", CPU)
    equal(a.summary["unmeasured"], [], "unmeasured of the same counter as before")
    frames = works(a.file)
    assert all(f[f"events_0_end[{CPU}]"] > 0 for f in frames), frames[0]
    p.kill()


if __name__ == "__main__":
    main()
