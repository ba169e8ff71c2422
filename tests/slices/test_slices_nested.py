# SPDX-License-Identifier: MIT
"""Slices without a resume of their own, slices inside of others, and coroutines that stop together."""
from scripted import *

US, MS = 1_000, 1_000_000
START = 10_000 * MS


def wake(s, ts, id, waker=0):
    s.other("wake", ts, id, waker=waker)


def serve(s, ts, id, length=100 * US, **more):
    s.transition(ts, id, True)
    s.transition(ts + length, id, False, **more)


def born_running(s, ts, id, name, site=2):
    """Created at a site, and running at once: its first event is a suspension at site 1."""
    s.other("birth", ts, id, pid=7, name=name, site=site)
    s.transition(ts + 500, id, False, reason="channel-recv")


def names_of(findings, detector):
    return {c["name"] for f in findings if f["detector"] == detector for c in f["coroutines"]}


def second_slice(name, site):
    """600 ms on a processor after the first resume, and another coroutine is ready meanwhile."""
    s, now = Script(name), START + 200 * MS
    s.birth(START, 2, "ticker")
    serve(s, START + 1000, 2, 500, reason="channel-recv")
    born_running(s, now, 1, "worker", site)
    now += 20 * MS
    s.transition(now, 1, True)
    wake(s, now + MS, 2)
    s.cpu(now + 4 * MS, now + 600 * MS, cpu=595 * MS)
    s.transition(now + 600 * MS, 1, False, reason="channel-recv")
    serve(s, now + 601 * MS, 2, reason="channel-recv")
    return s.findings(now + 650 * MS)


def check_first_slice():
    # Where the creation suspends, the first resume begins the first slice: it may be preparation.
    assert best_of(second_slice("lazy", 1), "blocking") == 1
    assert best_of(second_slice("eager", 2), "blocking") == 2


def shared_thread(name, site):
    """The others of the thread ran only when they were created."""
    s, now = Script(name), START
    for id in range(2, 6):
        born_running(s, now + id * MS, id, f"user-{id}", site)
    now += 200 * MS
    s.birth(now, 1, "worker")
    for i in range(4):
        serve(s, now, 1, 100 * MS if i else 1000, reason="channel-recv")
        s.cpu(now + 4 * MS, now + 100 * MS, cpu=95 * MS)
        now += 200 * MS
    return best_of(s.findings(now), "blocking")


def check_shared_thread():
    assert shared_thread("created-only", 1) == 0
    assert shared_thread("created-running", 2) == 1


def check_nested():
    """Children that their parent polls once in 70 ms; the thread serves one other at a time."""
    s, now = Script("nested"), START
    s.birth(now, 1, "parent")
    serve(s, now + 1000, 1, 500, reason="timer")
    for id in range(2, 6):
        s.birth(now, id, f"child-{id}")
    for id in range(10, 14):
        s.birth(now, id, f"worker-{id}")
        serve(s, now + id * US, id, 500, reason="channel-recv")
    now += 10 * MS
    for _ in range(8):
        s.transition(now, 1, True)
        for id in range(2, 6):
            serve(s, now + id * US, id, 500, reason="timer")
        s.transition(now + 10 * US, 1, False, reason="timer")
        for id in range(2, 6):
            wake(s, now + MS + id, id)
        for i in range(60):
            wake(s, now + 2 * MS + i * MS, 10 + i % 4)
            serve(s, now + 2 * MS + i * MS + 5000, 10 + i % 4, reason="channel-recv")
        now += 70 * MS
    findings = s.findings(now)
    assert names_of(findings, "starvation") == {f"child-{id}" for id in range(2, 6)}, brief_of(findings)
    assert best_of(findings, "unfair-order") < 0, brief_of(findings)


def check_busy():
    """3,000 wakes by itself: in three milliseconds, and then it waits; or in a second, to the end."""
    for name, step, rest, want in (("burst", US, 1100 * MS, -1), ("polls", 300 * US, 10 * MS, 2)):
        s, now = Script(name), START
        s.birth(now, 1, "poller")
        s.transition(now + 10, 1, True)
        for i in range(3000):
            wake(s, now + i * step + 20, 1, waker=1)
            s.transition(now + i * step + 30, 1, False, reason="user")
            s.transition(now + (i + 1) * step, 1, True)
        now += 3000 * step
        s.transition(now + 100, 1, False, reason="mutex", resource=99)
        assert best_of(s.findings(now + rest), "busy-yield") == want, name


def check_busy_and_stopped():
    """A stop of a second inside of one of its slices makes the poller no better."""
    s, now = Script("stopped"), START
    s.birth(now, 1, "poller")
    s.transition(now + 10, 1, True)
    for i in range(4000):
        length = 1000 * MS if i == 2000 else 50
        wake(s, now + 20, 1, waker=1)
        s.transition(now + length, 1, False, reason="user")
        if i == 2000:
            s.cpu(now + 100, now + 1000 * MS - 100, "stopped", tid=0)
        now += length + 100 * US
        s.transition(now, 1, True)
    assert best_of(s.findings(now), "busy-yield") == 2


def dropped_waiter(name, after, others):
    """A coroutine is woken at each turn of another one, then not any more; its waits vary."""
    s, now = Script(name), START
    s.birth(now, 1, "config")
    for id in [2, *others]:
        s.birth(now, id, "metrics" if id == 2 else "other")
    serve(s, now, 2, 500, reason="user", resource=99)
    for i in range(16 + after):
        now += 90 * MS if i in (3, 7, 11) else 40 * MS
        s.transition(now, 1, True)
        for id in [2] if i < 16 else others:
            wake(s, now + 100, id, waker=1)
        s.transition(now + 200, 1, False, site=2)
        for id in [2] if i < 16 else others:
            serve(s, now + 1000, id, 500, reason="user", resource=99, site=1 if id == 2 else 3)
    return names_of(s.findings(now + 10 * MS), "lost-wakeup")


def check_dropped_waiter():
    assert dropped_waiter("dropped", 30, []) == {"metrics"}  # 90 ms, twice: no rhythm
    assert dropped_waiter("not-long", 15, []) == set()
    assert "metrics" not in dropped_waiter("others-served", 30, [3])


def kept_sender(name, comes_and_goes, rest=500 * MS):
    """The reader's wakers have all ended: for the first time, or as they did before."""
    s, now, nr = Script(name), START, 10
    s.birth(now, 1, "reader")
    serve(s, now, 1, 500, reason="user")
    for turn in range(2):
        for id in range(nr, nr + 4):
            s.birth(now, id, f"writer-{id}")
        for i in range(12):
            id = nr + i % 4
            now += 150 * MS if i == 5 else 9 * MS
            s.transition(now, id, True)
            wake(s, now + 100, 1, waker=id)
            s.transition(now + 200, id, False, site=2)
            serve(s, now + 1000, 1, 500, reason="user")
        if comes_and_goes or turn:
            for id in range(10 if turn else nr, nr + 4):
                if not comes_and_goes or id >= nr:
                    s.other("end", now + 2000 + id, id, destroyed=True)
        nr += 4
    return names_of(s.findings(now + rest), "lost-wakeup")


def check_kept_sender():
    assert kept_sender("kept", False) == {"reader"}
    assert kept_sender("next-ones", True) == set()
    assert kept_sender("just-ended", False, rest=200 * MS) == set()


def check_together():
    """One with a rhythm and one without stop within a millisecond; a third had stopped earlier."""
    s, now = Script("together"), START
    unknown = {"site": 0, "reason": "unknown"}
    for id, name in ((1, "merge"), (2, "compact"), (3, "idle"), (4, "ticker")):
        s.birth(now, id, name)
    steps = [(now + i * 4 * MS, 1) for i in range(60)]
    steps += [(now + i * 4 * MS + 10 * US, 4) for i in range(400)]
    steps += [(now, 2), (now + 180 * MS, 2), (now + 236 * MS + 300 * US, 2)]
    steps += [(now + 1, 3), (now + 60 * MS, 3), (now + 120 * MS, 3)]
    for ts, id in sorted(steps):
        s.transition(ts, id, True, **unknown)
        s.transition(ts + 1000, id, False, addr=f"0x{0x7f0000000000 + id * 4096:016x}", **unknown)
    findings = s.findings(now + 1600 * MS)
    named = names_of(findings, "lost-wakeup")
    assert {"merge", "compact"} <= named and "ticker" not in named, brief_of(findings)
    said = {f["example"]["name"]: f["seen"] for f in findings if f["detector"] == "lost-wakeup"}
    assert "it stopped" in said["compact"] and "merge" in said["compact"], said
    assert "it stopped" not in said.get("idle", ""), said


check_first_slice()
check_shared_thread()
check_nested()
check_busy()
check_busy_and_stopped()
check_dropped_waiter()
check_kept_sender()
check_together()
