# SPDX-License-Identifier: MIT
"""What the report says about long slices: only what their coroutine did is its fault."""
import sys

from scripted import *

PROGRAM = sys.argv[1]
MS = 1_000_000


def slices_script(name, account, with_others=True, length=100 * MS, nr=4):
    """A worker with slices of some length; account(script, from, to) says where their time went."""
    s, now = Script(name), 10_000 * MS
    s.birth(now, 1, "worker")
    if with_others:
        s.birth(now, 2, "ticker")
        s.transition(now + 1, 2, True)
        s.transition(now + 2, 2, False, resource=now + 20 * MS)
    now += 200 * MS
    for i in range(nr + 1):
        s.transition(now, 1, True)
        end = now + (length if i else 1000)  # the first slice is short
        account(s, now, end) if i else None
        s.transition(end, 1, False, resource=end + 50 * MS)
        if with_others:
            s.transition(end + 1000, 2, True)
            s.transition(end + 2000, 2, False, resource=end + 20 * MS)
        now = end + 50 * MS
    return s.findings(now)


def check_accounts():
    def says(state, cpu=0.0, queued=0.0, **more):
        return lambda s, a, b: s.cpu(a + 4 * MS, b, state, int((b - a) * cpu), int((b - a) * queued), **more)

    cases = [("computes", says("running", cpu=0.95), "strong"),
             ("sleeps", says("blocked", call="nanosleep"), "strong"),
             ("preempted", says("running", cpu=0.02, queued=0.93), None),
             ("loaded", says("running", cpu=0.055, queued=0.9), None),
             ("stopped", says("stopped"), None),
             ("process-stopped", says("stopped", tid=0), None),
             ("page", says("page"), None),
             ("tracer", says("tracer"), None),
             ("not-measured", lambda s, a, b: None, "suspect")]
    for name, account, want in cases:
        findings = slices_script(name, account)
        assert best_of(findings, "blocking") == (LEVELS.index(want) if want else -1), (name, brief_of(findings))
        assert want == "strong" or not strong_of(findings), (name, brief_of(findings))
    # Where slices are measured, a short one that is not says little.
    assert best_of(slices_script("short", lambda s, a, b: None, length=30 * MS), "blocking") == 0
    # One slice is no pattern; without others on its thread there is nobody to wait.
    assert best_of(slices_script("once", says("running", cpu=0.95), nr=1), "blocking") == 1
    assert best_of(slices_script("no_others", says("running", cpu=0.95), with_others=False), "blocking") == 0


def check_calls():
    """All of the time is not said to be of the call in which a part of it was spent."""
    def account(s, a, b):
        s.cpu(a, a + 30 * MS, "blocked", call="nanosleep")
        s.cpu(a + 30 * MS, b, "blocked", call="read")
    seen = next(f["seen"] for f in slices_script("calls", account) if f["detector"] == "blocking")
    assert seen.endswith("100.0 ms in read and other system calls"), seen


def check_found(seconds, mode, word, form="jsonl"):
    findings = findings_of(trace_of(PROGRAM, mode, seconds, form))
    at_least(best_of(findings, "blocking"), 1, (mode, brief_of(findings)))
    seen = " ".join(f["seen"] for f in findings if f["detector"] == "blocking")
    assert word in seen, seen


def away_slices(name, parts, wakes=True, samples=None, **more):
    """Slices with context switches: parts are (share of the begin, of the end, state)."""
    def account(s, a, b):
        if not any(l["type"] == "switch" for l in s.meta):
            s.switch(1, 1, "recorded", tid=0)
            s.switch(1, 1, "wakes", tid=0) if wakes else None
        for begin, end, state in parts:
            s.switch(int(a + (b - a) * begin), int(a + (b - a) * end), state)
        samples(s, a, b) if samples else None
    return slices_script(name, account, **more)


def check_switches():
    """Exact times: no tick is late, and no slice is too short."""
    cases = [("sw-preempted", [(0.02, 0.98, "preempted")], None),
             ("sw-woken", [(0.02, 0.05, "blocked"), (0.05, 0.98, "ready")], None),
             ("sw-half", [(0.1, 0.6, "preempted")], "strong"),
             ("sw-computes", [], "strong"),
             ("sw-blocked", [(0.1, 0.9, "blocked")], "strong")]
    for name, parts, want in cases:
        findings = away_slices(name, parts)
        assert best_of(findings, "blocking") == (LEVELS.index(want) if want else -1), (name, brief_of(findings))
    # 12 ms, half of them preempted: the coroutine did not keep its thread for 10 ms.
    short = {"length": 12 * MS, "nr": 1}
    assert best_of(away_slices("sw-short", [(0.2, 0.7, "preempted")], **short), "blocking") < 0
    assert best_of(away_slices("sw-short-burn", [], **short), "blocking") == 1
    # One blocking call of 15 ms is enough, where the wake-up or the call was seen.
    once = {"length": 18 * MS, "nr": 1}
    call = lambda s, a, b: s.cpu(a + 4 * MS, b, "blocked", call="nanosleep")
    queued = lambda s, a, b: s.cpu(a + 4 * MS, b, "blocked", queued=13 * MS, call="nanosleep")
    blocked = [(0.05, 0.95, "blocked")]
    findings = away_slices("sw-once", blocked, **once)
    assert best_of(findings, "blocking") == 2 and "system call not known" in str(brief_of(findings)), brief_of(findings)
    findings = away_slices("sw-once-call", blocked, wakes=False, samples=call, **once)
    assert best_of(findings, "blocking") == 2 and "ms in nanosleep" in str(brief_of(findings)), brief_of(findings)
    assert best_of(away_slices("sw-once-unseen", blocked, wakes=False, **once), "blocking") == 1
    # The kernel's counter says that it was ready most of the time.
    assert best_of(away_slices("sw-once-queued", blocked, wakes=False, samples=queued, **once), "blocking") < 0


def runner_script(name, state):
    """A coroutine that is resumed and never suspends, for two seconds; another one is ready."""
    s, now = Script(name), 10_000 * MS
    s.switch(1, 1, "recorded", tid=0)
    s.birth(now, 1, "worker")
    s.birth(now, 2, "other")
    for id in (1, 2):
        s.transition(now + id * 1000, id, True)
        s.transition(now + id * 1000 + 500, id, False, resource=now + 400 * MS)
    s.transition(now + 300 * MS, 1, True)
    if state:
        s.switch(now + 310 * MS, now + 2290 * MS, state)
    return s.findings(now + 2300 * MS)


def check_runner():
    assert best_of(runner_script("runs", None), "never-yielded") == 2
    assert best_of(runner_script("runner-blocked", "blocked"), "never-yielded") == 2
    assert best_of(runner_script("runner-preempted", "preempted"), "never-yielded") < 0


def check_program():
    patiently(lambda seconds: check_found(seconds, "sleep", "nanosleep"))
    patiently(lambda seconds: check_found(seconds, "mutex", "futex"))
    patiently(lambda seconds: check_found(seconds, "burn", "", form="ctf"))
    assert best_of(findings_of(trace_of(PROGRAM, "alone")), "blocking") <= 0
    for mode in ("light", "start"):
        findings = findings_of(trace_of(PROGRAM, mode))
        assert not strong_of(findings), (mode, brief_of(findings))
    findings = findings_of(trace_with_stop(PROGRAM, "light", 1.8, 0.7))
    assert not strong_of(findings) and best_of(findings, "blocking") < 0, brief_of(findings)


def check_forever(seconds):
    trace = f"{SCRATCH.name}/forever.jsonl"
    run = start_program(trace, PROGRAM, "forever")
    pid = pid_of_program(trace)
    time.sleep(1.5 * seconds)
    os.kill(pid, signal.SIGTERM)
    run.wait(timeout=300)
    findings = findings_of(trace)
    at_least(best_of(findings, "never-yielded"), 1, brief_of(findings))


check_accounts()
check_calls()
check_switches()
check_runner()
check_program()
patiently(check_forever)
