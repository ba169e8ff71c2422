# SPDX-License-Identifier: MIT
"""test_waits.py - why a coroutine does not continue: the class, the victims and the evidence.

The traces are written here, event by event: what the program did is exact, and no time is real.
"""
from harness import *

MS = 10 ** 6
START = 10 ** 12
RUN = {"type": "run", "format": 1, "tool": "t", "command": ["x"], "pid": 1, "start_ts": START, "start_realtime": 1, "stations": 0}


class Trace:
    """Events of a program with one thread per loop; times are in milliseconds."""

    def __init__(self):
        self.lines, self.meta, self.sites, self.counts, self.ids = [], [], {}, {}, {}
        self.end_ms = 0

    def site(self, line, function="work"):
        key = (line, function)
        if key not in self.sites:
            self.sites[key] = len(self.sites) + 1
            self.meta.append({"type": "site", "id": self.sites[key], "file": "p.c", "line": line, "function": function, "pid": 1})
        return self.sites[key]

    def other(self, kind, ms, who, **more):
        self.end_ms = max(self.end_ms, ms)
        self.meta.append({"type": kind, "ts": START + int(ms * MS), "probe_id": self.ids.get(who, 0), "tid": 1, **more})

    def step(self, ms, name, active, tid, **more):
        self.end_ms = max(self.end_ms, ms)
        count = self.counts[name] = self.counts.get(name, 0) + 1
        self.lines.append({"probe_id": self.ids[name], "tid": tid, "addr": "0x0", "seq": 2 * ((count - 1) // 8) + 2,
                           "is_active": active, "ts": START + int(ms * MS), **more})

    def create(self, ms, name, parent=None, at=1):
        self.ids[name] = len(self.ids) + 1
        self.other("birth", ms, name, pid=1, name=name, site=self.site(at, "spawn"), parent=self.ids.get(parent, 0))

    def resume(self, ms, name, tid=1):
        self.step(ms, name, True, tid)

    def suspend(self, ms, name, reason=None, resource=None, at=10, tid=1):
        more = {"site": self.site(at)}
        if reason:
            more["reason"] = reason
        if resource is not None:
            more["resource"] = self.ids[resource] if isinstance(resource, str) else resource
        self.step(ms, name, False, tid, **more)

    def wake(self, ms, name, by=None, tid=1, at=90):
        self.other("wake", ms, name, waker=self.ids.get(by, 0), site=self.site(at, "wake"), seen=1)
        self.meta[-1]["tid"] = tid

    def lock(self, kind, ms, name, resource, at=50):
        self.other(kind, ms, name, pid=1, resource=resource, site=self.site(at, "lock"))

    def end(self, ms, name):
        self.other("end", ms, name)
        self.other("destroy", ms + 0.001, name)

    def start(self, ms, name, **more):
        self.create(ms, name, **more)
        self.resume(ms + 0.001, name)

    def waits(self, ms, name, for_ms, reason=None, resource=None, at=10, by=None):
        """One wait of a running coroutine, that ends."""
        self.suspend(ms, name, reason, resource, at)
        self.wake(ms + for_ms, name, by)
        self.resume(ms + for_ms + 0.01, name)

    def tick(self, begin, end, name="ticker"):
        """Another coroutine is active all the time."""
        self.start(begin, name, at=2)
        for ms in range(int(begin) + 1, int(end) - 10, 10):
            self.waits(ms, name, 9, "timer", at=3)
        self.suspend(end - 1, name, "timer", at=3)

    def report(self, dir, end_ms=None):
        end_ts = START + int((end_ms or self.end_ms + 1) * MS)
        path = dir + "/t.jsonl"
        others = sum(m["type"] != "site" for m in self.meta)
        totals = {"type": "totals", "complete": True, "written": len(self.lines), "collected": len(self.lines), "lost": 0,
                  "others_written": others, "others_collected": others, "exit_status": 0, "end_ts": end_ts}
        with open(path, "w", encoding="ascii") as f:
            f.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in sorted(self.lines, key=lambda l: l["ts"]))
        sites = [m for m in self.meta if m["type"] == "site"]
        events = sorted((m for m in self.meta if m["type"] != "site"), key=lambda m: m["ts"])
        with open(path + ".meta", "w", encoding="ascii") as f:
            f.writelines(json.dumps(m, separators=(",", ":")) + "\n" for m in [RUN, *sites, *events, totals])
        status, out, err = tool("report", "--json", path)
        equal((status, err), (0, ""), "status, stderr")
        self.findings = json.loads(out)["findings"]
        return self.findings

    def found(self, detector):
        return [f for f in self.findings if f["detector"] == detector]


def names(finding):
    return sorted(c["name"] for c in finding["coroutines"])


def suspects(t):
    return [(f["detector"], f["confidence"], names(f)) for f in t.findings if f["confidence"] != "info"]


def strong(t):
    return [s for s in suspects(t) if s[1] in ("strong", "proven")]


@test
def a_wake_with_the_time_of_its_resume_is_not_early(dir):
    """Symmetric transfer: the wake and the resume have one time, and the chain is idle at the end."""
    t = Trace()
    t.start(0, "session")
    for k in range(30):
        t.suspend(10 * k + 1, "session", "io-read", 7)
        t.wake(10 * k + 5, "session", tid=1)
        t.resume(10 * k + 5, "session")
    t.suspend(301, "session", "io-read", 7)
    t.tick(0, 3000)
    t.report(dir)
    equal(t.found("wake-before-suspend"), [], "wake-before-suspend")
    equal(strong(t), [], "strong findings")


@test
def a_wake_while_it_ran_is_strong_only_if_no_other_was_without_effect(dir):
    for absorbed in False, True:
        t = Trace()
        t.start(0, "producer", at=4)
        t.suspend(0.5, "producer", "timer", at=5)
        t.start(0, "consumer")
        for k in range(30):
            if absorbed:
                t.wake(10 * k + 0.9, "consumer", "producer", tid=2)
            t.waits(10 * k + 1, "consumer", 5, "channel-recv", 0x1000000, by="producer")
        t.wake(301, "consumer", "producer", tid=2)
        t.suspend(301.01, "consumer", "channel-recv", 0x1000000)
        t.tick(0, 1500)
        t.report(dir)
        race, = t.found("wake-before-suspend")
        equal((race["confidence"], names(race)), ("suspect" if absorbed else "strong", ["consumer"]), "the race")
        contains(race["seen"], "from coroutine 1 'producer'")


@test
def the_only_waiter_of_its_kind_is_found_by_its_own_rhythm(dir):
    t = Trace()
    t.start(0, "writer", at=4)
    t.suspend(0.5, "writer", "timer", at=5)
    t.start(0, "flusher")
    for k in range(25):
        t.waits(20 * k + 1, "flusher", 17, "user", 0x1000000, by="writer")
    t.suspend(501, "flusher", "user", 0x1000000)
    t.tick(0, 12000)
    t.report(dir)
    lost, = t.found("lost-wakeup")
    equal((lost["confidence"], names(lost), lost["place"]["text"]), ("suspect", ["flusher"], "p.c:10 work"), "the victim")
    contains(lost["seen"], "its 25 earlier waits took at most 17.010 ms")
    contains("\n".join(lost["evidence"]), "25 of its 25 wakes came from coroutine 1 'writer'")
    contains("\n".join(lost["evidence"]), "p.c:90 wake")


@test
def wakes_by_several_of_a_kind_are_not_credited_to_one(dir):
    t = Trace()
    for writer in ("writer-1", "writer-2"):
        t.start(0, writer, at=4)
        t.suspend(0.5, writer, "timer", at=5)
    t.start(0, "flusher")
    for k in range(24):
        t.waits(20 * k + 1, "flusher", 17, "user", 0x1000000, by=f"writer-{k % 2 + 1}")
    t.suspend(501, "flusher", "user", 0x1000000)
    t.tick(0, 12000)
    t.report(dir)
    lost, = t.found("lost-wakeup")
    contains("\n".join(lost["evidence"]), "24 of its 24 wakes came from coroutines of one kind, the last from coroutine 2 'writer-2'")


@test
def one_stop_of_the_program_is_not_a_rhythm(dir):
    t = Trace()
    t.start(0, "flusher")
    for k in range(25):
        t.waits(20 * k + 1, "flusher", 17, "user", 0x1000000)
    t.waits(501, "flusher", 1000, "user", 0x1000000)  # stopped
    t.suspend(1502, "flusher", "user", 0x1000000)
    t.tick(1510, 12000)
    t.report(dir)
    equal([names(f) for f in t.found("lost-wakeup")], [["flusher"]], "the victim")


@test
def the_one_that_was_served_last_is_named(dir):
    t = Trace()
    for k in range(12):
        t.start(0, f"conn-{k}")
        for i in range(20):
            t.waits(20 * i + 1 + k, f"conn-{k}", 5, "io-read", 10 + k)
        t.suspend(420 + k, f"conn-{k}", "io-read", 10 + k)
    t.tick(0, 3000)
    t.report(dir)
    lost, = t.found("lost-wakeup")
    equal((lost["confidence"], "conn-11" in names(lost), lost["count"]), ("suspect", True, 12), "all that are idle")


@test
def woken_and_not_run_while_the_loop_sleeps_is_found(dir):
    t = Trace()
    t.start(0, "query")
    t.suspend(1, "query", "user", 0x1000000)
    t.wake(50, "query", tid=2)
    t.report(dir, end_ms=1700)
    lost, = t.found("lost-wakeup")
    equal((lost["confidence"], names(lost)), ("suspect", ["query"]), "nothing else runs")
    t.tick(0, 1700)
    t.report(dir)
    lost, = t.found("lost-wakeup")
    equal((lost["confidence"], names(lost)), ("strong", ["query"]), "the loop sleeps between timers")
    contains(lost["seen"], "it was never run")


@test
def woken_and_not_run_while_others_run_is_starvation(dir):
    t = Trace()
    t.start(0, "backup")
    t.suspend(1, "backup", "user", 0x1000000)
    t.wake(50, "backup")
    t.start(0, "stream")
    for k in range(2000):
        t.suspend(k + 1.9, "stream", "yield", at=20)
        t.resume(k + 1.95, "stream")
    t.report(dir)
    equal(t.found("lost-wakeup"), [], "lost-wakeup")
    starved, = t.found("starvation")
    equal((starved["confidence"] in ("suspect", "strong"), names(starved)), (True, ["backup"]), "starvation")


@test
def a_thread_that_does_nothing_does_not_lose_wakeups(dir):
    """Its own thread woke it, and nothing ran since: blocked, stopped or about to exit."""
    t = Trace()
    t.start(0, "request")
    t.suspend(1, "request", "timer", START + 50 * MS)
    t.wake(50, "request", tid=1)
    t.report(dir, end_ms=1000)
    equal(suspects(t), [], "findings")


@test
def a_lock_whose_holder_ended_is_abandoned(dir):
    t = Trace()
    t.start(0, "thrower", at=4)
    t.lock("acquire", 10, "thrower", 0x1000000, at=51)
    t.end(20, "thrower")
    for k in range(3):
        t.start(30 + k, f"waiter-{k}")
        t.suspend(40 + k, f"waiter-{k}", "mutex", 0x1000000)
    t.tick(0, 1000)
    t.report(dir)
    lock, = t.found("abandoned-lock")
    equal((lock["confidence"], names(lock)), ("strong", ["waiter-0", "waiter-1", "waiter-2"]), "its waiters")
    contains(lock["seen"], "coroutine 1 'thrower' ended and did not release it")
    contains("\n".join(lock["evidence"]), "p.c:51 lock")
    equal(strong(t), [("abandoned-lock", "strong", names(lock))], "strong findings")


@test
def permits_that_were_not_released_are_no_deadlock(dir):
    t = Trace()
    for k in range(4):
        t.start(k, f"query-{k}")
        t.lock("acquire", 10 + k, f"query-{k}", 0x1000000)
        t.suspend(20 + k, f"query-{k}", "semaphore", 0x1000000)
    t.tick(0, 1000)
    t.report(dir)
    kept, = t.found("abandoned-lock")
    equal((kept["confidence"], len(names(kept)), t.found("deadlock")), ("strong", 4, []), "kept permits")
    t = Trace()
    t.start(0, "holder", at=4)
    t.lock("acquire", 5, "holder", 0x1000000)
    t.suspend(6, "holder", "timer", at=6)
    t.start(0, "gone", at=5)
    t.lock("acquire", 5, "gone", 0x1000000)
    t.end(10, "gone")
    t.start(11, "waiter")
    t.suspend(12, "waiter", "semaphore", 0x1000000)
    t.tick(0, 1000)
    t.report(dir)
    equal(suspects(t), [("abandoned-lock", "suspect", ["waiter"])], "one holder may release")


@test
def a_lock_that_is_free_has_no_waiters(dir):
    t = Trace()
    t.start(0, "first", at=4)
    t.lock("acquire", 1, "first", 0x1000000)
    t.start(2, "second")
    t.suspend(3, "second", "mutex", 0x1000000)
    t.lock("release", 10, "first", 0x1000000, at=52)
    t.suspend(11, "first", "timer", at=6)
    t.tick(0, 1000)
    t.report(dir)
    lost, = t.found("lost-wakeup")
    equal((lost["confidence"], names(lost)), ("strong", ["second"]), "the waiter")
    contains(lost["seen"], "is free: coroutine 1 'first' released it")


@test
def a_waiter_of_a_held_lock_is_not_the_victim(dir):
    """The holder is: it waits for what does not come, and the others wait for it."""
    t = Trace()
    t.start(0, "holder", at=4)
    for k in range(20):
        t.waits(20 * k + 1, "holder", 5, "channel-recv", 0x2000000)
    t.lock("acquire", 401, "holder", 0x1000000)
    t.suspend(402, "holder", "channel-recv", 0x2000000)
    t.start(0, "behind", at=5)
    for k in range(20):
        t.waits(20 * k + 1, "behind", 5, "mutex", 0x1000000, at=11)
    t.suspend(420, "behind", "mutex", 0x1000000, at=11)
    t.tick(0, 1400)
    t.report(dir)
    equal([names(f) for f in t.found("lost-wakeup")], [["holder"]], "the victims")


@test
def a_ring_is_one_finding_with_names_and_places(dir):
    t = Trace()
    for name, mine, other, at in (("left", 0x1000000, 0x2000000, 11), ("right", 0x2000000, 0x1000000, 12)):
        t.start(0, name)
        t.lock("acquire", 1, name, mine, at=40 + at)
        t.suspend(2, name, "mutex", other, at=at)
    t.start(3, "behind", at=5)
    t.suspend(4, "behind", "mutex", 0x1000000, at=13)
    t.tick(0, 200)
    t.report(dir)
    equal(suspects(t), [("deadlock", "proven", ["left", "right"])], "findings")
    ring = t.found("deadlock")[0]
    contains(ring["seen"], "'left' -> 'right' -> 'left'")
    equal(ring["count"], 1, "count")
    for part in ("coroutine 1 'left' waits for mutex 0x2000000, which coroutine 2 'right' took", "p.c:52 lock", "p.c:51 lock"):
        contains("\n".join(ring["evidence"]), part)


@test
def a_reader_that_enters_again_is_named_with_the_writer(dir):
    t = Trace()
    t.start(0, "reader")
    t.lock("acquire", 1, "reader", 0x1000000)
    t.start(0, "writer", at=4)
    t.suspend(2, "writer", "mutex", 0x1000000, at=12)
    t.suspend(3, "reader", "mutex", 0x1000000)
    t.tick(0, 200)
    t.report(dir)
    equal(suspects(t), [("deadlock", "proven", ["reader", "writer"])], "findings")
    contains(t.found("deadlock")[0]["seen"], "which it holds itself")


@test
def two_full_channels_are_a_ring(dir):
    t = Trace()
    t.start(0, "client")
    t.start(0, "server", at=4)
    t.waits(1, "server", 2, "channel-recv", 0x1000000, at=20, by="client")
    t.waits(1, "client", 2, "channel-recv", 0x2000000, at=21, by="server")
    t.suspend(10, "client", "channel-send", 0x1000000, at=22)
    t.suspend(11, "server", "channel-send", 0x2000000, at=23)
    t.tick(0, 500)
    t.report(dir)
    equal(suspects(t), [("deadlock", "suspect", ["client", "server"])], "findings")


@test
def a_receiver_whose_senders_ended_is_found(dir):
    t = Trace()
    t.start(0, "collector")
    t.start(0, "sender", at=4)
    t.waits(1, "collector", 5, "channel-recv", 0x1000000, by="sender")
    t.suspend(7, "collector", "channel-recv", 0x1000000)
    t.end(10, "sender")
    t.tick(0, 1500)
    t.report(dir)
    equal(suspects(t), [("lost-wakeup", "suspect", ["collector"])], "findings")
    contains(t.found("lost-wakeup")[0]["seen"], "coroutine 2 'sender' ended")


@test
def everybody_asleep_is_stalled(dir):
    def program(outside):
        t = Trace()
        for k in range(3):
            t.start(0, f"stage-{k}", at=k + 4)
        for k in range(3):
            t.waits(1 + k, f"stage-{k}", 2, "channel-recv", 0x1000000 + k, by=None if outside else f"stage-{(k + 2) % 3}")
            t.suspend(10 + k, f"stage-{k}", "channel-recv", 0x1000000 + k)
        t.report(dir, end_ms=900)
        return t
    t = program(outside=False)
    equal(sorted(n for f in t.found("stalled") for n in names(f)), ["stage-0", "stage-1", "stage-2"], "stalled")
    equal(strong(t), [], "strong findings")
    equal(program(outside=True).found("stalled"), [], "if the main thread feeds them")


@test
def created_and_never_run_is_its_own_class(dir):
    t = Trace()
    t.create(1, "audit-1", at=7)
    for k in range(20):  # others of its kind run
        t.start(20 * k, f"audit-{k + 2}", at=7)
        t.end(20 * k + 5, f"audit-{k + 2}")
    t.create(2, "lazy-1", at=8)  # suspended at once, as a lazy task is
    t.suspend(2.001, "lazy-1", at=8)
    t.lines[-1]["site"] = t.sites[(8, "spawn")]
    t.create(3, "root", at=9)  # in its first poll: it has created another one
    t.create(4, "child", parent="root", at=10)
    t.resume(5, "child")
    t.suspend(6, "child", "timer", at=11)
    t.tick(0, 900)
    t.report(dir)
    equal(sorted(n for f in t.found("never-run") for n in names(f)), ["audit-1", "lazy-1"], "never-run")
    equal(t.found("lost-wakeup"), [], "lost-wakeup")


@test
def one_that_outlives_its_kind_is_suspect_in_its_first_wait(dir):
    t = Trace()
    for k in range(20):
        t.start(10 * k, f"upload-{k}")
        if k == 3:
            t.suspend(10 * k + 1, f"upload-{k}", "io-read", 5, at=30)
            continue
        t.end(10 * k + 5, f"upload-{k}")
    t.tick(0, 2000)
    t.report(dir)
    equal(suspects(t), [("lost-wakeup", "suspect", ["upload-3"])], "findings")


@test
def two_readers_of_one_descriptor_are_legal(dir):
    t = Trace()
    t.start(0, "old")
    t.suspend(1, "old", "io-read", 5)
    t.start(10, "young", at=4)  # created later, and served
    for k in range(30):
        t.waits(20 * k + 11, "young", 15, "io-read", 5)
    t.suspend(700, "young", "io-read", 5)
    t.tick(0, 1000)
    t.report(dir)
    equal(strong(t), [], "strong findings")


@test
def a_close_with_waiters_is_proven_only_if_the_program_went_on(dir):
    for went_on in True, False:
        t = Trace()
        for name in "reader-0", "reader-1":
            t.start(0, name)
            t.suspend(1, name, "io-read", 5)
        t.tick(0, 500)
        t.lock("close", 500, "closer", 5, at=60)
        if went_on:
            t.tick(501, 700, name="ticker-2")
        t.report(dir)
        closed, = t.found("closed-under-waiter")
        equal((closed["confidence"], names(closed)), ("proven" if went_on else "suspect", ["reader-0", "reader-1"]), "waiters")
        contains("\n".join(closed["evidence"]), "p.c:60 lock")


@test
def silent_users_that_arrive_are_no_strong_leak(dir):
    t = Trace()
    for k in range(300):
        t.start(10 * k, f"user-{k}")
        t.suspend(10 * k + 1, f"user-{k}", "io-read", 100 + k)
    t.report(dir)
    leak, = t.found("leak")
    equal((leak["confidence"], leak["count"]), ("suspect", 300), "leak")
    equal(strong(t), [], "strong findings")


@test
def a_pool_that_serves_the_newest_waiter_is_correct(dir):
    for reason in "semaphore", "channel-recv":
        t = Trace()
        for k in range(4):
            t.start(0, f"worker-{k}")
            t.suspend(1 + k, f"worker-{k}", reason, 0x1000000)
        for k in range(150):
            t.wake(10 * k + 10, "worker-3")
            t.resume(10 * k + 10.1, "worker-3")
            t.suspend(10 * k + 12, "worker-3", reason, 0x1000000)
        t.report(dir)
        equal(strong(t), [], f"strong findings, {reason}")
    equal(suspects(t), [], "findings on a channel")


@test
def parents_that_wait_for_the_victim_are_not_victims(dir):
    t = Trace()
    t.start(0, "main", at=4)
    t.start(1, "session", parent="main", at=5)
    for k in range(20):
        t.waits(20 * k + 2, "session", 17, "channel-recv", 0x1000000)
    t.suspend(2, "main", "join", "session", at=12)
    t.suspend(403, "session", "channel-recv", 0x1000000)
    t.tick(0, 14000)
    t.report(dir)
    equal(suspects(t), [("lost-wakeup", "suspect", ["session"])], "findings")
    equal([c["name"] for c in t.findings[0]["example"]["awaited_by"]], ["main"], "the chain")


@test
def a_join_on_a_child_that_ended_is_strong(dir):
    t = Trace()
    t.start(0, "parent", at=4)
    t.start(1, "child", parent="parent", at=5)
    t.suspend(2, "parent", "join", "child", at=12)
    t.end(10, "child")
    t.tick(0, 500)
    t.report(dir)
    equal(suspects(t), [("lost-wakeup", "strong", ["parent"])], "findings")
    contains(t.found("lost-wakeup")[0]["seen"], "coroutine 2 'child', which ended")


@test
def a_semaphore_that_counts_has_no_holders(dir):
    """Those who add a job give a permit, those who do a job take one and keep it."""
    t = Trace()
    t.start(0, "source", at=4)
    for k in range(3):
        t.start(0, f"worker-{k}")
    for k in range(30):
        t.lock("release", 10 * k + 1, "source", 0x1000000)
        t.lock("acquire", 10 * k + 2, f"worker-{k % 3}", 0x1000000)
    for k in range(3):
        t.suspend(310, f"worker-{k}", "semaphore", 0x1000000)
    t.suspend(311, "source", "timer", at=6)
    t.tick(0, 1000)
    t.report(dir)
    equal(strong(t), [], "strong findings")
    equal((t.found("abandoned-lock"), t.found("deadlock")), ([], []), "claims about holders")


@test
def permits_taken_in_pieces_are_a_deadlock(dir):
    t = Trace()
    for k in range(3):
        t.start(k, f"transfer-{k}")
        for _ in range(2):
            t.lock("acquire", 2 + k, f"transfer-{k}", 0x1000000)
        t.suspend(5 + k, f"transfer-{k}", "semaphore", 0x1000000)
    t.tick(0, 500)
    t.report(dir)
    equal(suspects(t), [("deadlock", "strong", ["transfer-0", "transfer-1", "transfer-2"])], "findings")


@test
def what_sleeps_because_of_a_lost_wakeup_is_not_suspect(dir):
    t = Trace()
    for k in range(4):
        t.start(0, f"session-{k}")
        for i in range(20):
            t.waits(10 * i + 1, f"session-{k}", 9, "user", 0x1000000 + k)
        t.suspend(201 + k, f"session-{k}", "user", 0x1000000 + k)
    t.wake(202.5, "session-0", by="session-3")
    t.report(dir, end_ms=1700)
    equal(suspects(t), [("lost-wakeup", "suspect", ["session-0"])], "findings")


@test
def a_future_without_wakers_is_proven(dir):
    for woken, mark, wanted in ((False, 0x57414b45, "proven"), (False, 0x57414b49, "suspect"), (True, 0x57414b45, None)):
        t = Trace()
        t.create(0, "mirror", at=4)
        t.resume(0.5, "mirror", tid=2)
        t.create(1, "indexer")
        t.suspend(2, "indexer", "user")  # the first poll has no resume
        t.lock("release", 5, "indexer", mark << 32 | 1)
        t.meta[-1].pop("site")
        t.meta[-1]["tid"] = 2
        if woken:
            t.wake(6, "indexer")
            t.resume(7, "indexer")
            t.suspend(8, "indexer", "user")
        t.suspend(9, "mirror", "timer", at=6, tid=2)
        t.tick(0, 200)
        t.report(dir)
        lost = t.found("lost-wakeup")
        equal([f["confidence"] for f in lost], [wanted] if wanted else [], "confidence")
        if wanted:
            contains(lost[0]["seen"], "coroutine 1 'mirror' dropped the last one")


@test
def one_that_goes_on_only_at_exit_is_found(dir):
    """The end of the program drops the last sender."""
    t = Trace()
    t.start(0, "collector")
    for k in range(20):
        t.waits(20 * k + 1, "collector", 15, "channel-recv", 0x1000000)
    t.suspend(402, "collector", "channel-recv", 0x1000000)
    t.tick(0, 1500)
    t.wake(1499.4, "collector")
    t.resume(1499.5, "collector")
    t.end(1499.6, "collector")
    t.report(dir)
    equal(suspects(t), [("lost-wakeup", "suspect", ["collector"])], "findings")


@test
def one_that_is_cancelled_at_exit_is_found(dir):
    t = Trace()
    t.start(0, "collector")
    for k in range(20):
        t.waits(20 * k + 1, "collector", 15, "channel-recv", 0x1000000)
    t.suspend(402, "collector", "channel-recv", 0x1000000)
    t.tick(0, 1500)
    t.other("end", 1499.5, "collector", cancelled=True, was_suspended=True)
    t.other("destroy", 1499.6, "collector")
    t.report(dir)
    equal(suspects(t), [("lost-wakeup", "suspect", ["collector"])], "findings")
    contains("\n".join(t.found("lost-wakeup")[0]["evidence"]), "with the program")


if __name__ == "__main__":
    main()
