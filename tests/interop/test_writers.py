#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_writers.py - programs without corotracer's SDK under its collector.

At a gentle pace every event is present, once and in order; at full speed missing events are
counted exactly; and the collector reports which document a program follows.
"""
import platform

from interop import *  # noqa: F403

# The store order of cTP 0.x writers lets a payload be seen before its mark, except where the
# processor keeps stores in order.  A record that such a writer tears cannot be repaired by a reader.
IN_ORDER = platform.machine() == "x86_64"

FULL_SPEED = ["-c", "6", "-e", "100000"]


@test
def seed_002_in_c_is_complete(dir):
    run = collect_all(dir, program("writer_002"), *GENTLE)
    check_writers(run, seed_002=32)


@test
def seed_002_on_several_threads_is_complete(dir):
    run = collect_all(dir, program("writer_002"), *GENTLE_THREADS, "-i", "counter")
    check_writers(run, seed_002=32)


@test
def seed_002_with_one_id_for_all_is_told_apart(dir):
    run = collect_all(dir, program("writer_002"), *GENTLE, "-i", "same")
    equal(run.summary["coroutines"], 32, "coroutines")


@test
def seed_002_in_cpp_is_complete(dir):
    run = collect_all(dir, program("writer_002_cpp"), *GENTLE)
    check_writers(run, seed_002=32)


@test
def seed_002_in_cpp_on_several_threads_is_complete(dir):
    run = collect_all(dir, program("writer_002_cpp"), *GENTLE_THREADS)
    assert len({e["tid"] for e in run.events}) > 1, "no coroutine ever moved"


@test
def promises_at_the_same_address_are_told_apart(dir):
    run = collect_all(dir, program("writer_002_cpp"), "-c", "16", "-e", "24", "-p", "2000", "-r", "3")
    equal(run.summary["coroutines"], 48, "coroutines")
    assert len({c["probe_id"] for c in run.written}) < 48, "no address was ever used again"


@test
def seed_000_is_complete(dir):
    run = collect_all(dir, program("writer_000"), *GENTLE)
    check_writers(run, seed_000=32)


@test
def seed_000_on_several_threads_is_complete(dir):
    run = collect_all(dir, program("writer_000"), *GENTLE_THREADS)
    check_writers(run, seed_000=32)


def full_speed(dir, name, *more):
    run = collect(dir, program(name), *FULL_SPEED, *more)
    equal(run.status, 0, f"exit status; stderr was\n{run.err}")
    equal(run.total_written(), 600000, "what the writer wrote")
    check_counts(run)
    return run


@test
def seed_002_at_full_speed_loses_nothing_in_silence(dir):
    run = full_speed(dir, "writer_002")
    check_writers(run, seed_002=6)
    if IN_ORDER:
        check_partial(run)


@test
def seed_002_at_full_speed_on_two_threads_loses_nothing_in_silence(dir):
    run = full_speed(dir, "writer_002", "-t", "2")
    if IN_ORDER:
        check_partial(run)


@test
def seed_002_in_cpp_at_full_speed_loses_nothing_in_silence(dir):
    check_writers(full_speed(dir, "writer_002_cpp", "-t", "2"), seed_002=6)


@test
def seed_000_at_full_speed_loses_nothing_in_silence(dir):
    run = full_speed(dir, "writer_000")
    check_writers(run, seed_000=6)
    if IN_ORDER:
        check_partial(run)


@test
def short_lives_are_counted_to_the_last_event(dir):
    """Fewer events than slots, as many, and a few more: boundary cases of the counting."""
    for name in "writer_002", "writer_000":
        for events in 1, 2, 7, 8, 9, 16, 17:
            run = collect(dir, program(name), "-c", "5", "-e", events)
            equal(run.total_written(), 5 * events, "what the writer wrote")
            check_counts(run)
            check_partial(run)
            if events <= 7:
                equal(run.summary["lost"], 0, f"lost of {events} events")


@test
def a_coroutine_without_a_station_is_counted(dir):
    for name in "writer_002", "writer_000", "writer_002_cpp":
        run = collect(dir, program(name), "-c", "20", "-e", "8", "-p", "1000", stations=12)
        check_counts(run)
        equal(run.summary["without_station"], 8, "without a station")
        equal(run.summary["coroutines"], 12, "coroutines")


@test
def an_unfinished_write_is_no_event(dir):
    run = collect_all(dir, program("writer_002"), *GENTLE, "--leave-odd")
    equal(run.summary["unfinished"], 1, "unfinished")


@test
def an_unfinished_write_of_seed_000_is_no_event(dir):
    run = collect_all(dir, program("writer_000"), *GENTLE, "--leave-odd")


@test
def what_a_killed_program_wrote_is_there(dir):
    for name in "writer_002", "writer_000":
        run = collect_all(dir, program(name), *GENTLE, "--die", status=-9)
        equal(run.summary["signal"], 9, "signal")
        equal(run.summary["exit_status"], 137, "exit_status of the summary")


@test
def writers_of_all_kinds_share_a_region(dir):
    gentle = ["-c", "16", "-e", "24", "-p", "2000"]
    run = collect_all(dir, *together(
        [program("writer_002"), *gentle],
        [program("writer_000"), *gentle],
        [program("sdk_writer"), *gentle]))
    check_writers(run, seed_002=16, seed_000=16)


@test
def writers_of_all_kinds_share_the_stations(dir):
    gentle = ["-c", "16", "-e", "24", "-p", "2000"]
    run = collect_all(dir, *together(
        [program("writer_002"), *gentle],
        [program("writer_000"), *gentle],
        [program("sdk_writer"), *gentle]), env=STATIONS_ONLY)
    check_writers(run, corotracer=16, seed_002=16, seed_000=16)


main()
