#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_hand.py - executors written by hand, rules for wakers, and incorrect use of the SDK."""
from ledger import *


def hand(dir, *args, **kwargs):
    run = collect(dir, "hand", *args, **kwargs)
    check_all(run)
    return run


# ---- executors -------------------------------------------------------------------------------


@test
def a_pool_of_threads_by_hand(dir):
    run = hand(dir, "pool")
    equal([row["pendings"] for row in run.rows], [i % 20 for i in range(200)], "suspends")


@test
def tasks_that_nobody_can_wake_are_dropped_as_without_us(dir):
    run = hand(dir, "unwakeable")
    equal({row["state"] for row in run.rows}, {"dropped"}, "states")


@test
def without_a_collector_the_same_happens_untraced(dir):
    for what in "pool", "unwakeable", "wakers", "threads", "moved", "thread-local":
        p = popen(program("hand"), "init", what)
        out, err = p.communicate(timeout=300)
        equal((p.returncode, err), (0, ""), f"status and stderr of {what}")
        words = json.loads(out)
        equal(words["enabled"], False, "is it traced")
        equal({row["id"] for row in words["coroutines"]} - {0}, set(), "ids")


@test
def a_waker_is_cloned_compared_and_dropped_as_the_executors_own(dir):
    run = hand(dir, "wakers")
    equal({k: v for k, v in run.words.items() if isinstance(v, int) and k != "enabled"},
          {"same": 1, "moved": 1, "woken_first": 1, "woken_second": 3, "held_first": 0, "held_second": 0},
          "times that will_wake() said no, wakes, wakers still held")
    wakes = run.by_id("wake")[run.one("keeps")["id"]]
    equal(len(wakes), 3, "wakes told: those that came before its end")


@test
def polled_by_threads_that_never_touched_the_sdk(dir):
    run = hand(dir, "threads")
    equal(run.one("wanderer")["pendings"], 20, "suspends")
    equal(len({e["tid"] for e in run.events}), 21, "threads")


@test
def a_future_that_a_threads_destructors_drop(dir):
    run = hand(dir, "thread-local")
    equal([row["state"] for row in run.rows], ["dropped"] * 3, "states")


# ---- incorrect use ---------------------------------------------------------------------------


@test
def init_never_called(dir):
    equal(len(hand(dir, "some").rows), 20, "coroutines")


@test
def init_called_twice_and_by_many_threads(dir):
    equal(len(hand(dir, "init", "init", "init-many-times").rows), 16, "coroutines")


@test
def init_called_after_coroutines_exist(dir):
    run = hand(dir, "init-late")
    equal(run.one("early")["pendings"], 4, "suspends")


@test
def moved_where_the_language_allows(dir):
    run = collect(dir, "hand", "moved")
    equal((run.status, run.summary["lost"]), (0, 0), "status, lost")
    births = {b[0]["name"]: i for i, b in run.by_id("birth").items()}
    events = transitions(run)
    for name in "moved-a", "moved-b":
        equal([e["is_active"] for e in events[births[name]]], [False, True] * 3, f"turns of {name}")


@test
def polled_and_finished_more_often_than_it_should_be(dir):
    run = collect(dir, "hand", "too-often")
    births = {b[0]["name"]: i for i, b in run.by_id("birth").items()}
    events, ends = transitions(run), run.by_id("end")
    equal(events.get(births["too-often"]), None, "transitions of one that was never suspended")
    equal([e["is_active"] for e in events[births["manual"]]], [False, True], "transitions told by hand")
    equal([len(ends[i]) for i in births.values()], [1, 1], "ends")


@test
def a_coroutine_that_outlives_main(dir):
    run = hand(dir, "outlives-main")
    alive = [r for r in run.sidecar if r["type"] == "coroutine"]
    equal(sorted(r["name"] for r in alive), ["leaked-0", "leaked-1", "leaked-2"], "alive at the end")


@test
def a_child_after_fork_has_coroutines_of_its_own(dir):
    run = collect(dir, "hand", "fork")
    equal((run.status, run.summary["lost"]), (0, 0), "status, lost")
    left = check_transitions(run)
    equal(sorted(len(events) for events in left.values()), [8, 8, 8], "transitions of the child's own")
    births = [b[0] for b in run.by_id("birth").values()]
    equal(len({b["pid"] for b in births}), 2, "processes")


@test
def the_collector_is_killed_and_nobody_notices(dir):
    trace = os.path.join(dir, "t.jsonl")
    p = popen(TOOL, "run", "-o", trace, "--", program("hand"), "hold", stdin=subprocess.PIPE)
    equal(p.stdout.readline(), "ready\n", "the program's first word")
    p.kill()
    p.wait()
    p.stdin.write("x")
    p.stdin.close()
    equal(p.stdout.read(), "alive\n", "its last word, and no other")
    equal(p.stderr.read(), "", "stderr")
    sweep(p)


@test
def a_stopped_collector_costs_events_and_each_is_counted(dir):
    """Lanes that are full: written = collected + lost."""
    trace = os.path.join(dir, "t.jsonl")
    p = popen(TOOL, "run", "--json", "-o", trace, "--buffer", "512K", "--", program("hand"), "hold",
              stdin=subprocess.PIPE)
    equal(p.stdout.readline(), "ready\n", "the program's first word")
    os.kill(p.pid, signal.SIGSTOP)
    p.stdin.write("x")
    p.stdin.close()
    equal(p.stdout.readline(), "alive\n", "its last word")
    os.kill(p.pid, signal.SIGCONT)
    p.wait()
    run = Run(p.returncode, "", p.stderr.read(), trace)
    s = run.summary
    # The first suspend; 200,000 polls of it; 1,000 others, 20 suspends and resumes each.
    equal(s["written"], 1 + 400_000 + 40_000, "written, by the program's own count")
    equal(s["collected"] + s["lost"], s["written"], "collected + lost")
    assert s["lost"] > 0, "nothing was lost, so nothing was tested"
    equal(len(run.events), s["collected"], "events in the trace")


@test
def a_collector_that_cannot_keep_up_is_waited_for_where_it_asks(dir):
    run = hand(dir, "some", "pool", options=["--on-full", "block=60000", "--buffer", "512K"])
    equal(run.summary["lost"], 0, "lost")


@test
def without_membarrier_nothing_is_lost_either(dir):
    hand(dir, "pool", "threads", env=dict(os.environ, COROTRACER_NO_MEMBARRIER="1"))


# ---- stations ----------------------------------------------------------------------------------


def check_stations(run, rows):
    """A foreign collector counts no losses; it must have what fits into its stations."""
    equal(run.status, 0, f"status of the collector; stderr was\n{run.err}")
    said = run.summary
    equal((said["exit_status"], said["strange_bytes"], said["bytes_beyond_protocol"]), (0, 0, 0), "manners")
    equal(said["written"], sum(row["pendings"] + resumes(row) for row in rows), "written")
    return said


@test
def under_a_foreign_collector(dir):
    run = collect_foreign(dir, "hand", "init-many-times")
    said = check_stations(run, run.rows)
    equal(said["collected"] + said["after_end"], said["written"], "collected: six of each, in eight slots")
    equal(said["dead"], 16, "dead coroutines")
    equal(check_transitions(run), {}, "events that nobody wrote")


@test
def under_a_foreign_collector_that_is_full(dir):
    run = collect_foreign(dir, "hand", "some", stations=12)
    traced = [row for row in run.rows if row["id"]]
    equal((len(traced), len(run.rows)), (12, 20), "coroutines that found a station, of all")
    said = check_stations(run, traced)
    equal((said["allocated"], said["dead"]), (20, 12), "stations asked for, dead coroutines")


@test
def under_a_collector_of_ours_without_lanes(dir):
    run = collect(dir, "hand", "init-many-times", env=STATIONS_ONLY)
    equal(run.status, 0, run.err)
    s = run.summary
    equal((s["lost"], s["garbage"]), (0, 0), "lost, garbage")
    equal(s["writers"]["corotracer"], 16, "stations by writer")
    equal(check_transitions(run), {}, "events that nobody wrote")
    told = sorted(r["name"] for r in run.sidecar if r["type"] == "coroutine")
    equal(told, sorted(row["name"] for row in run.rows), "names")
    equal([r["dead"] for r in run.sidecar if r["type"] == "coroutine"], [True] * 16, "dead")


# ---- invalid regions ---------------------------------------------------------------------------


def region(magic=0x434F524F54524352, version=1, stations=4, size=1024 + 4 * 1024):
    head = magic.to_bytes(8, "little") + version.to_bytes(4, "little") + stations.to_bytes(4, "little")
    return (head + bytes(size))[:size]


def untraced(dir, text, promised="4"):
    """Run with that file as region; returns its output."""
    path = os.path.join(dir, "region")
    with open(path, "wb") as f:
        f.write(text)
    env = dict(os.environ, CTP_SHM_PATH=path, CTP_SOCK_PATH=dir + "/nobody", CTP_MAX_STATIONS=promised)
    for verbose in {}, {"CTP_VERBOSE": "1"}:
        p = popen(program("hand"), "init", "some", env=dict(env, **verbose))
        out, err = p.communicate(timeout=300)
        equal((p.returncode, json.loads(out)["enabled"]), (0, False), f"status, traced; stderr was\n{err}")
        if not verbose:
            equal(err, "", "stderr of one that was not asked")
    with open(path, "rb") as f:
        equal(f.read(), text, "a region that is none is left alone")
    return err


@test
def what_is_no_region_is_left_alone_and_told_when_asked(dir):
    contains(untraced(dir, region(magic=1)), "has magic 0000000000000001")
    contains(untraced(dir, region(version=2)), "speaks version 2, we speak 1")
    contains(untraced(dir, region(stations=0)), "its header says 0")
    contains(untraced(dir, region(stations=4000000000)), "its header says 4000000000")
    contains(untraced(dir, region(), "5"), "CTP_MAX_STATIONS 5")
    contains(untraced(dir, region(), "99999999999999999999999"), "room for 4 stations")
    contains(untraced(dir, region(size=2047)), "too short to be a region")
    contains(untraced(dir, b""), "too short to be a region")
    p = popen(program("hand"), "some", env=dict(os.environ, CTP_SHM_PATH=dir, CTP_VERBOSE="1"))
    contains(p.communicate(timeout=300)[1], "not traced: cannot open")


@test
def lanes_that_cannot_be_where_they_say_are_not_used(dir):
    """A hostile header: stations are used, whatever it says of lanes, and no process crashes."""
    ext = 0x3130545845505443.to_bytes(8, "little") + (1).to_bytes(4, "little") + (8).to_bytes(4, "little")
    for offset, limit, unit in (1 << 40, 4, 128), (5120, 1 << 31, 128), (0, 4, 128), (5121, 1, 128), (5120, 1, 64):
        pool = bytes(16) + limit.to_bytes(4, "little") + unit.to_bytes(4, "little") + offset.to_bytes(8, "little")
        lanes = (0x31454E414C505443.to_bytes(8, "little") + (1).to_bytes(4, "little")).ljust(128, b"\0")
        text = bytearray(region(size=64 * 1024))
        text[0x40:0x50] = ext
        text[0xC0:0xC0 + 128 + 4 * 64] = lanes + pool.ljust(64, b"\0") * 4
        path = os.path.join(dir, "region")
        with open(path, "wb") as f:
            f.write(text)
        p = popen(program("hand"), "init", "some", env=dict(os.environ, CTP_SHM_PATH=path, CTP_VERBOSE="1"))
        out, err = p.communicate(timeout=300)
        equal((p.returncode, json.loads(out)["enabled"]), (0, True), f"status, traced; stderr was\n{err}")
        contains(err, "the lanes are not where they can be")
        with open(path, "rb") as f:
            equal(int.from_bytes(f.read()[0x10:0x14], "little"), 20, "stations asked for")


main()
