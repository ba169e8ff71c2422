#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_processes.py - threads and processes of all kinds, under one collector."""
from interop import *  # noqa: F403


@test
def one_thread_is_complete(dir):
    run = collect_all(dir, program("sdk_writer"), *GENTLE)
    check_writers(run)  # no station was used


@test
def one_thread_is_complete_without_lanes(dir):
    run = collect_all(dir, program("sdk_writer"), *GENTLE, env=STATIONS_ONLY)
    check_writers(run, corotracer=32)


@test
def coroutines_that_wander_between_threads_are_complete(dir):
    run = collect_all(dir, program("sdk_writer"), *GENTLE_THREADS)
    wandered = {}
    for event in run.events:
        wandered.setdefault(event["probe_id"], set()).add(event["tid"])
    assert any(len(tids) > 1 for tids in wandered.values()), "no coroutine ever moved"


@test
def names_and_processes_are_told(dir):
    run = collect(dir, program("sdk_writer"), *GENTLE, env=STATIONS_ONLY)
    told = {c["station"]: (c["name"], c["pid"], c["dead"]) for c in run.coroutines()}
    pid = run.reports[0]["pid"]
    equal(told, {c["station"]: (f"coroutine {c['nr']}", pid, True) for c in run.written},
          "name, pid and death by station")


@test
def time_goes_forward_strictly(dir):
    run = collect(dir, program("sdk_writer"), "-c", "8", "-e", "5000", "-t", "4")
    check_counts(run)
    check_partial(run)
    last = {}
    for event in run.events:
        assert event["ts"] > last.get(event["probe_id"], 0), f"not later: {event}"
        last[event["probe_id"]] = event["ts"]


@test
def full_speed_loses_nothing_in_silence(dir):
    for threads, env in (("1", None), ("2", None), ("4", None), ("1", STATIONS_ONLY), ("4", STATIONS_ONLY)):
        run = collect(dir, program("sdk_writer"), "-c", "6", "-e", "10000", "-t", threads, env=env)
        equal(run.status, 0, "exit status")
        equal(run.total_written(), 60000, "what the program wrote")
        check_counts(run)
        check_partial(run)


@test
def parent_forked_child_and_execed_child_are_complete(dir):
    run = collect_all(dir, program("sdk_writer"), "-c", "16", "-e", "24", "-p", "2000", "-f", "-x")
    equal(len({report["pid"] for report in run.reports}), 3, "processes that reported")
    equal(run.summary["coroutines"], 48, "coroutines")
    equal(run.summary["connected"], 3, "connected")
    tids = {}
    for event in run.events:
        tids.setdefault(event["probe_id"], set()).add(event["tid"])
    for report in run.reports:
        own = set().union(*(tids[c["probe_id"]] for c in report["coroutines"]))
        others = set().union(*(tids[c["probe_id"]] for other in run.reports
                               if other is not report for c in other["coroutines"]))
        assert not own & others, "a thread of one process in the events of another"


@test
def many_processes_at_full_speed_lose_nothing_in_silence(dir):
    run = collect(dir, program("sdk_writer"), "-c", "4", "-e", "10000", "-t", "2", "-f", "-x")
    equal(len(run.reports), 3, "processes that reported")
    equal(run.total_written(), 120000, "what they wrote")
    check_counts(run)
    check_partial(run)


@test
def two_programs_of_the_seed_are_complete(dir):
    gentle = ["-c", "16", "-e", "24", "-p", "2000", "-i", "counter"]
    run = collect(dir, *together([program("writer_002"), *gentle], [program("writer_002"), *gentle]))
    equal(len(run.reports), 2, "programs that reported")
    check_counts(run)
    equal(run.summary["lost"], 0, "lost")
    check_complete(run)


main()
