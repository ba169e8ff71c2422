# SPDX-License-Identifier: MIT
"""Which coroutine a thread serves first: a queue in order is no fault, overtaking for long is one."""
from scripted import *

US, MS = 1_000, 1_000_000
START = 10_000 * MS


def wake(s, ts, id, waker=0, tid=7):
    s.other("wake", ts, id, waker=waker, tid=tid)


def serve(s, ts, id, length=100 * US, tid=7, **more):
    s.transition(ts, id, True, tid=tid)
    s.transition(ts + length, id, False, tid=tid, **more)


def waiting(s, ids, name="worker", tid=7, **more):
    for id in ids:
        s.birth(START, id, f"{name}-{id}", tid=tid)
        serve(s, START + id * US, id, 500, tid=tid, **more)


def check_burst():
    """A thousand are woken at once and served in order, for 100 ms, six times."""
    s = Script("burst")
    waiting(s, range(1, 1001), reason="channel-recv")
    now = START + 10 * MS
    for _ in range(6):
        for id in range(1, 1001):
            wake(s, now + id, id)
        now += 5000
        for id in range(1, 1001):
            serve(s, now, id, 90 * US, reason="channel-recv")
            now += 100 * US
        now += 20 * MS
    findings = s.findings(now)
    assert best_of(findings, "starvation") < 0 and best_of(findings, "unfair-order") < 0, brief_of(findings)


def overtaken(name, is_lifo):
    """Number 1 is ready for 60 ms at a time, and the others run again and again."""
    s = Script(name)
    waiting(s, range(1, 12), reason="channel-recv")
    now = START + 10 * MS
    for _ in range(6):
        wake(s, now, 1)
        for i in range(60):
            ids = [2 + (i + k) % 10 for k in range(3)]
            for id in ids:
                wake(s, now + id, id)
            for id in reversed(ids) if is_lifo else ids:
                serve(s, now + 20 * US, id, reason="channel-recv")
                now += 330 * US
        serve(s, now, 1, reason="channel-recv")
        now += 20 * MS
    return s.findings(now)


def check_overtaken():
    for is_lifo, detector in ((True, "unfair-order"), (False, "starvation")):
        findings = overtaken(detector, is_lifo)
        named = {c["name"] for f in findings if f["detector"] == detector for c in f["coroutines"]}
        if not is_lifo:
            assert best_of(findings, detector) == 2 and named == {"worker-1"}, brief_of(findings)
        else:
            both = best_of(findings, detector), best_of(findings, "starvation")
            assert max(both) >= 1, brief_of(findings)


def herd(name, reason, all_at_once):
    """One of twenty gets the lock each time: with a wake for all, or for one."""
    s = Script(name)
    waiting(s, range(1, 21), reason=reason, resource=99)
    now = START + 10 * MS
    for i in range(10):
        ids = range(1, 21) if all_at_once else [1 + i % 20]
        for id in ids:
            wake(s, now + id, id)
        now += 100
        for id in ids:
            serve(s, now, id, 5 * US, reason=reason, resource=99)
            now += 10 * US
        now += 10 * MS
    return s.findings(now)


def check_herd():
    findings = herd("herd", "mutex", True)
    assert best_of(findings, "herd") == 2, brief_of(findings)
    assert [f["count"] for f in findings if f["detector"] == "herd"] == [20], brief_of(findings)
    assert best_of(herd("herd-channel", "channel-recv", True), "herd") == 1
    assert best_of(herd("one", "mutex", False), "herd") < 0


def threads(name, strays, share):
    """Eight coroutines of one thread; some have a share of their resumes on another thread."""
    s = Script(name)
    waiting(s, range(1, 9), reason="channel-recv")
    now = START + 10 * MS
    for i in range(100):
        for id in range(1, 9):
            tid = 8 if id in strays and i % 100 < share and i > 3 else 7
            wake(s, now, id, tid=8)
            serve(s, now + 10 * US, id, 5 * US, tid=tid, reason="channel-recv")
            now += 100 * US
    return s.findings(now)


def check_threads():
    findings = threads("stray", {3}, 6)
    named = [c["name"] for f in findings if f["detector"] == "wrong-thread" for c in f["coroutines"]]
    assert named == ["worker-3"] and best_of(findings, "wrong-thread") == 1, brief_of(findings)
    assert best_of(threads("home", set(), 0), "wrong-thread") < 0
    assert best_of(threads("pool", set(range(1, 9)), 50), "wrong-thread") < 0


def check_generators():
    """Generators that are asked in turn are not ready while they are not asked."""
    s = Script("generators")
    waiting(s, range(1, 11), "generator", reason="yield")
    now = START + 10 * MS
    for i in range(3000):
        serve(s, now, 2 + i % 9, 5 * US, reason="yield")
        now += 100 * US
    serve(s, now, 1, reason="yield")
    findings = s.findings(now + MS)
    assert best_of(findings, "unfair-order") < 0 and best_of(findings, "starvation") < 0, brief_of(findings)


def check_yields():
    """Sixty coroutines yield in turn, 1 ms each; one is woken and waits behind all of them."""
    s = Script("yields")
    waiting(s, range(1, 61), reason="yield")
    waiting(s, [61], "sleeper", reason="timer")
    now = START + 10 * MS
    for _ in range(8):
        wake(s, now, 61)
        for id in range(1, 61):
            serve(s, now + 1000, id, 900 * US, reason="yield")
            now += MS
        serve(s, now, 61, reason="timer")
        now += MS
    findings = s.findings(now)
    assert best_of(findings, "starvation") < 0 and best_of(findings, "unfair-order") < 0, brief_of(findings)


check_burst()
check_yields()
check_overtaken()
check_herd()
check_threads()
check_generators()
