#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_foreign.py - corotracer's SDK under a cTP 0.x collector.

Such a collector keeps no count of what it lost, so losses show in the numbers that the program
reports.  A raw writer runs next to the SDK as a control: what it cannot do, no writer can.
"""
from interop import *  # noqa: F403


def word(run):
    """The foreign collector's final report."""
    equal(run.status, 0, f"status of the collector; stderr was\n{run.err}")
    said = run.summary
    equal(said["exit_status"], 0, "exit status of the program")
    equal(said["strange_bytes"], 0, "bytes that are no wake-up")
    return said


def check_gentle(run):
    said = word(run)
    equal(said["written"], run.total_written(), "written")
    equal(said["collected"] + said["after_end"], run.total_written(), "collected")
    equal(said["dead"], len(run.written), "dead coroutines at the end")
    equal(said["allocated"], len(run.written), "stations claimed")
    check_complete(run)
    return said


@test
def a_raw_writer_is_complete(dir):
    check_gentle(collect_foreign(dir, program("writer_002"), *GENTLE))


@test
def the_sdk_is_complete(dir):
    check_gentle(collect_foreign(dir, program("sdk_writer"), *GENTLE))


@test
def the_sdk_on_several_threads_is_complete(dir):
    check_gentle(collect_foreign(dir, program("sdk_writer"), *GENTLE_THREADS))


@test
def the_sdk_wakes_a_foreign_collector(dir):
    """It polls by itself every 50 ms; at an event per millisecond that alone is 2 % of them."""
    said = check_gentle(collect_foreign(dir, program("sdk_writer"), *GENTLE))
    equal(said["connections"], 1, "connections")
    assert said["wakeups"] >= 32 * 24 // 10, f"only {said['wakeups']} wake-ups for 768 events"


@test
def the_sdk_keeps_to_the_plain_protocol(dir):
    said = check_gentle(collect_foreign(dir, program("sdk_writer"), *GENTLE))
    equal(said["bytes_beyond_protocol"], 0, "bytes in what the seeds call padding")


@test
def the_sdk_at_full_speed_writes_what_it_says(dir):
    run = collect_foreign(dir, program("sdk_writer"), "-c", "6", "-e", "100000", "-t", "2")
    equal(word(run)["written"], run.total_written(), "written")
    check_partial(run)


@test
def children_of_the_sdk_have_stations_of_their_own(dir):
    run = collect_foreign(dir, program("sdk_writer"), "-c", "16", "-e", "24", "-p", "2000", "-f", "-x")
    equal(len({report["pid"] for report in run.reports}), 3, "processes that reported")
    said = word(run)
    equal(said["written"], run.total_written(), "written")
    equal(said["allocated"], 48, "stations claimed")


@test
def the_sdk_beyond_the_stations_does_no_harm(dir):
    run = collect_foreign(dir, program("sdk_writer"), "-c", "20", "-e", "8", "-p", "1000", stations=12)
    said = word(run)
    equal(said["allocated"], 20, "stations asked for")
    equal(said["written"], run.total_written(), "written")
    equal(run.total_written(), 12 * 8, "what the program wrote")


main()
