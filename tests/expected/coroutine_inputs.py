# SPDX-License-Identifier: MIT
"""coroutine_inputs.py - small traces of coroutines, written line by line: the same bytes every time."""
import json
import os

S, MS, US = 10 ** 9, 10 ** 6, 10 ** 3
START = 5000 * S
EARLY, LATE = ("run", "process", "site"), 2 ** 64  # facts before and after the events
SITES = [("src/server.c", 41, "serve"), ("src/server.c", 68, "accept_loop"), ("src/queue.c", 12, "queue_take"), ("src/queue.c", 30, "queue_put"),
         ("src/lock.c", 9, "lock_take"), ("src/timer.c", 77, "sleep_until"), ("src/main.c", 5, "start_all"), ("src/join.c", 3, "wait_child")]


class Program:
    """The events of a program.  Times count from its start."""

    def __init__(self, pid=4000, command=("./server", "--port", "80"), hostname="box", start=START):
        self.pid, self.start, self.lines, self.meta, self.nr, self.others, self.lost = pid, start, [], [], {}, 0, 0
        self.born, self.state, self.ended = {}, {}, set()
        self.fact("run", format=1, tool="corotracer 0.9.0", command=list(command), pid=pid, start_ts=start, start_realtime=1700000000 * S,
                  hostname=hostname, arch="x86_64", stations=16)
        self.fact("process", pid=pid, uid=1000, connected_ts=start + 5 * US)
        for i, (file, line, function) in enumerate(SITES):
            self.fact("site", id=i + 1, file=file, line=line, function=function, pid=pid)

    def fact(self, type, **members):
        self.meta.append({"type": type, **members})

    def other(self, type, t, co, tid, **members):
        self.others += 1
        self.fact(type, ts=self.start + t, probe_id=co, tid=tid, **members)

    def birth(self, t, co, name, site=7, parent=0, tid=101):
        self.born[co] = (self.start + t, name, site, parent)
        self.other("birth", t, co, tid, site=site, **({"parent": parent} if parent else {}), pid=self.pid, name=name)

    def transition(self, t, co, tid, is_active, addr=0, **members):
        k = self.nr.get(co, 0)
        self.nr[co] = k + 1
        active = "true" if is_active else "false"
        more = "".join(f',"{key}":{json.dumps(value)}' for key, value in members.items())
        self.lines.append((self.start + t, f'{{"probe_id":{co},"tid":{tid},"addr":"0x{addr:016x}","seq":{2 * (k // 8) + 2},"is_active":{active},'
                          f'"ts":{self.start + t}{more}}}\n'))
        self.state[co] = ("running" if is_active else "suspended", self.start + t, members)

    def resume(self, t, co, tid=101):
        self.transition(t, co, tid, True)

    def suspend(self, t, co, site, reason, resource=None, tid=101):
        self.transition(t, co, tid, False, 0x401000 + site * 16, site=site, reason=reason, **({} if resource is None else {"resource": resource}))

    def slice(self, t, length, co, site, reason, resource=None, tid=101):
        self.resume(t, co, tid)
        self.suspend(t + length, co, site, reason, resource, tid)

    def wake(self, t, co, waker=0, site=4, tid=101, **members):
        self.other("wake", t, co, tid, site=site, **({"waker": waker} if waker else {}), seen=self.nr.get(co, 0), **members)

    def end(self, t, co, tid=101):
        self.ended.add(co)
        self.other("end", t, co, tid, written=self.nr.get(co, 0), destroyed=True)

    def totals(self, t, **members):
        for co, (state, since, at) in sorted(self.state.items()):
            if co not in self.ended:
                birth_ts, name, site, parent = self.born[co]
                self.fact("coroutine", station=None, probe_id=co, pid=self.pid, name=name, birth_ts=birth_ts, death_ts=None, dead=False,
                          writer="corotracer", written=self.nr[co], collected=self.nr[co], lost=0, garbage=0,
                          **({"parent": parent} if parent else {}), birth_site=site, state=state, since_ts=since, **at)
        nr = len(self.lines)
        self.fact("totals", **{**dict(complete=True, written=nr + self.lost, collected=nr, lost=self.lost, lost_overwritten=0, lost_full=self.lost,
                                      lost_output=0, garbage=0, unfinished=0, coroutines=len(self.born), without_station=0, others_written=self.others,
                                      others_collected=self.others, others_lost=0, forgotten=0, others_forgotten=0, waits=3, wait_ns=1500,
                                      exit_status=0, signal=None, end_ts=self.start + t), **members})

    def write(self, path):
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(text for _, text in sorted(self.lines, key=lambda line: line[0]))
        with open(path + ".meta", "w", encoding="utf-8") as f:
            ordered = sorted(self.meta, key=lambda m: m.get("ts", 0 if m["type"] in EARLY else LATE))
            f.writelines(json.dumps(m, separators=(",", ":")) + "\n" for m in ordered)
        return path


def every_kind(dir, name="kinds.jsonl", **kwargs):
    """One of every kind of event and fact, in few lines."""
    p = Program(**kwargs)
    p.birth(1 * MS, 1, "acceptor")
    p.birth(2 * MS, 2, "reader, \"a\"", parent=1)
    p.birth(3 * MS, 3, "writer <b>", parent=1, tid=102)
    p.slice(4 * MS, 250 * US, 1, 2, "accept", 5)
    p.other("context", 5 * MS, 2, 101, trace_high="0x0123456789abcdef", trace_low="0xfedcba9876543210", span="0x00000000000000aa", trace_flags=1)
    p.slice(5 * MS, 1500 * US, 2, 3, "channel-recv", 7001)
    p.other("acquire", 7 * MS, 3, 102, site=5, resource=9001, pid=p.pid)
    p.slice(7 * MS, 20 * MS, 3, 5, "mutex", 9002, tid=102)
    p.other("release", 28 * MS, 3, 102, site=5, resource=9001, pid=p.pid)
    p.wake(29 * MS, 2, waker=3, tid=102, reason="channel-recv", resource=7001)
    p.slice(30 * MS, 10 * US, 2, 6, "timer", p.start + 130 * MS, tid=102)
    p.wake(130 * MS, 2)
    p.slice(131 * MS, 2 * MS, 2, 3, 200, 1)
    p.slice(140 * MS, 3 * MS, 1, 8, "join", 2)
    p.other("close", 150 * MS, 1, 101, site=2, resource=5, pid=p.pid)
    p.resume(160 * MS, 2)
    p.end(161 * MS, 2)
    p.resume(170 * MS, 3, tid=102)
    p.other("destroy", 171 * MS, 3, 102, was_suspended=True, written=3)
    p.ended.add(3)
    p.fact("cpu", pid=p.pid, tid=102, from_ts=p.start + 8 * MS, to_ts=p.start + 26 * MS, cpu_ns=15 * MS, queued_ns=1 * MS, state="blocked", call="read")
    p.fact("switch", pid=p.pid, tid=0, from_ts=p.start, to_ts=p.start + 1 * MS, cpu=0, state="recorded")
    p.fact("switch", pid=p.pid, tid=102, from_ts=p.start + 9 * MS, to_ts=p.start + 11 * MS, cpu=1, state="preempted")
    p.fact("switch", pid=p.pid, tid=102, from_ts=p.start + 12 * MS, to_ts=p.start + 15 * MS, cpu=3, state="blocked")
    p.fact("frame", pid=p.pid, tid=101, ts=p.start + 5500 * US, probe_id=2, ticket=3, buffer="Server", frame="request",
           fields='{"status":200,"work_delta[cycles]":null,"path":"/a,b"}')
    p.fact("frame", pid=p.pid, ts=p.start + 6000 * US, lost=4, buffer="Server")
    p.fact("descriptor", pid=p.pid, probe_id=1, from_ts=p.start + 5 * MS, to_ts=p.start + 135 * MS, fd=5, unread=32, kind="socket", ready="read", watch="edge")
    p.fact("waiting", pid=p.pid, ts=p.start + 100, count=12, checked=True, unmoved=10, function="read", file="server.cpp", line=41,
           stack="read server.cpp:41 <- serve server.cpp:68", verdict="waiting")
    p.fact("gap", from_ts=p.start + 50 * MS, to_ts=p.start + 60 * MS, lane=1, pid=p.pid, tid=102, transitions=5, others=0)
    p.lost = 5
    p.fact("module", pid=p.pid, start=0x400000, end=0x500000, offset=0, path="/nonexistent/server", build_id="00112233445566778899aabbccddeeff00112233")
    p.totals(200 * MS)
    return p.write(os.path.join(dir, name))


def workers(p, first, factor=1):
    """Twenty turns of four workers that take from a queue: waits of 1 to 4 ms times @factor."""
    for w in range(4):
        p.birth(MS + w * US, first + w, f"worker {w}", tid=101 + w % 2)
        p.slice(2 * MS + w * US, 100, first + w, 3, "channel-recv", 7001, tid=101 + w % 2)
    for turn in range(20):
        for w in range(4):
            t, co, tid = (10 + turn * 40 + w * 10) * MS, first + w, 101 + w % 2
            p.wake(t, co, waker=first + (w + 1) % 4, tid=tid)
            p.slice(t + (w + 1) * 100 * US * factor, 50 * US * factor, co, 3 if turn % 2 else 6, "channel-recv" if turn % 2 else "timer",
                    7001 if turn % 2 else p.start + t + 30 * MS, tid=tid)


def server(dir, name="server.jsonl", factor=1, has_faults=True, **kwargs):
    """A program with a ring of locks, a lock whose holder ended, a long slice, and workers."""
    p = Program(**kwargs)
    workers(p, 1, factor)
    if has_faults:
        for co, own, other in ((10, 9001, 9002), (11, 9002, 9001)):
            p.birth((20 + co) * MS, co, f"transfer {co}")
            p.resume((40 + co) * MS, co)
            p.other("acquire", (40 + co) * MS + 10 * US, co, 101, site=5, resource=own, pid=p.pid)
            p.suspend((40 + co) * MS + 20 * US, co, 6, "timer", p.start + 70 * MS)
            p.slice((70 + co) * MS, 30 * US, co, 5, "mutex", other)
        p.birth(100 * MS, 12, "holder")
        p.resume(101 * MS, 12)
        p.other("acquire", 102 * MS, 12, 101, site=5, resource=9100, pid=p.pid)
        p.end(103 * MS, 12)
        p.birth(104 * MS, 13, "heir")
        p.slice(105 * MS, 20 * US, 13, 5, "mutex", 9100)
        p.birth(106 * MS, 14, "slow")
        p.slice(900 * MS, 700 * MS, 14, 2, "io-read", 33, tid=102)
        p.fact("cpu", pid=p.pid, tid=102, from_ts=p.start + 900 * MS, to_ts=p.start + 1600 * MS, cpu_ns=690 * MS, queued_ns=2 * MS, state="running")
        p.birth(107 * MS, 15, "never")
    for turn in range(20):
        p.slice((1700 + turn * 100) * MS, 10 * US, 1 + turn % 4, 6, "timer", p.start + (1790 + turn * 100) * MS, tid=101 + turn % 2)
    for co in (1, 2, 3, 4):
        p.resume((4000 + co) * MS, co, 101)
        p.end((4001 + co) * MS, co)
    p.totals(4100 * MS)
    return p.write(os.path.join(dir, name))


def damaged(dir):
    """A trace without totals, with lines that are no events."""
    p = Program(pid=4400)
    workers(p, 1)
    p.lines[5:5] = [(p.lines[5][0], "{not json}\n"), (p.lines[5][0], '{"probe_id":1}\n')]
    return p.write(os.path.join(dir, "damaged.jsonl"))


def incomplete(dir):
    """Totals that count more events than there are."""
    p = Program(pid=4500)
    workers(p, 1)
    p.lost = 7
    p.totals(900 * MS, collected=len(p.lines) + 9, written=len(p.lines) + 16, exit_status=None, signal=11, complete=False)
    return p.write(os.path.join(dir, "incomplete.jsonl"))


def odd(dir):
    """What is rare: stations, events in the wrong order, unknown coroutines, long names, coroutines without events, no totals."""
    p = Program(pid=4600, command=["/usr/bin/odd \"one\""])
    p.birth(1 * MS, 1, "n" * 300)
    p.birth(1 * MS, 2, "nul\0inside", parent=77)
    p.birth(2 * MS, 3, "", parent=2, site=99)
    p.slice(3 * MS, 1 * MS, 1, 3, "channel-send", 0)
    p.resume(5 * MS, 1, tid=102)
    p.resume(6 * MS, 1, tid=103)
    p.suspend(7 * MS, 1, 4, "semaphore", 2 ** 64 - 1, tid=103)
    p.wake(6 * MS, 50, waker=51, site=98)
    p.wake(8 * MS, 1, waker=1, reason="user")
    p.wake(8 * MS, 1, waker=2)
    p.suspend(9 * MS, 2, 0, "unknown")
    p.suspend(10 * MS, 2, 5, "io-write", 9)
    p.end(11 * MS, 2)
    p.resume(12 * MS, 2)
    p.transition(13 * MS, 7, 104, True, station=3)
    p.transition(14 * MS, 7, 104, False, 0x7fff00001234, station=3)
    p.transition(13500 * US, 7, 105, True, station=4)
    p.transition(14500 * US, 7, 105, False, 0x10, station=4, reason="yield")
    p.transition(15 * MS, 8, 105, False, 0x401000)
    p.transition(16 * MS, 8, 105, True)
    p.other("destroy", 17 * MS, 3, 101, written=0)
    p.other("release", 18 * MS, 1, 103, site=5, resource=(0x57414b45 << 32) + 1, pid=p.pid)
    p.other("close", 19 * MS, 0, 103, resource=7001, pid=p.pid)
    p.transition(-p.start, 9, 101, True)
    p.fact("gap", from_ts=p.start + 5 * MS, to_ts=p.start + 6 * MS, pid=p.pid, tid=103, transitions=0, others=3)
    p.fact("coroutine", station=3, probe_id=7, pid=p.pid, name="on a station", birth_ts=p.start + 12 * MS, death_ts=None, dead=False, writer="seed-002",
           written=4, collected=2, lost=2, garbage=1)
    p.fact("coroutine", station=4, probe_id=7, pid=p.pid, name=None, birth_ts=p.start + 12 * MS, death_ts=p.start + 20 * MS, dead=True, writer="corotracer",
           written=2, collected=2, lost=0, garbage=0)
    p.fact("coroutine", station=None, probe_id=60, pid=p.pid, name="silent 60", birth_ts=p.start + 1 * MS, death_ts=None, dead=False, writer="corotracer", written=1,
           collected=0, lost=1, garbage=0, birth_site=7, parent=1, state="suspended", since_ts=p.start + 4 * MS, addr="0x0000000000401060", site=6, reason="timer",
           resource=p.start + 40 * MS)
    p.fact("switch", pid=p.pid, tid=0, from_ts=p.start, to_ts=p.start + 1, cpu=0, state="wakes")
    p.fact("switch", pid=p.pid, tid=0, from_ts=p.start + 2 * MS, to_ts=p.start + 3 * MS, cpu=0, state="lost", lost=12)
    p.fact("switch", pid=p.pid, tid=103, from_ts=p.start + 5 * MS, to_ts=p.start + 6500 * US, cpu=2, state="ready")
    p.fact("cpu", pid=p.pid, tid=0, from_ts=p.start + 1 * MS, to_ts=p.start + 2 * MS, cpu_ns=0, queued_ns=0, state="stopped")
    p.fact("cpu", pid=p.pid, tid=102, from_ts=p.start + 5 * MS, to_ts=p.start + 6 * MS, cpu_ns=10, queued_ns=20, state="page")
    p.fact("frame", pid=p.pid, ts=p.start + 8 * MS, buffer="B", frame="late", fields='{"a":1}', late=True)
    p.fact("memory", pid=p.pid, from_ts=p.start, to_ts=p.start + 9 * MS, accesses=512, writes=100, allocations=3, allocated=4096, size=8192,
           file="odd.jsonl.memory", build_id="2f1c")
    p.fact("memory", pid=p.pid, tid=102, probe_id=1, from_ts=p.start + 5 * MS, to_ts=p.start + 6 * MS, accesses=64, writes=20, allocations=0, allocated=0, offset=4096)
    p.fact("waiting", pid=p.pid, ts=p.start + 100, count=0, checked=False, unmoved=0, line=0, missing="could not look at the program")
    return p.write(os.path.join(dir, "odd.jsonl"))


def scattered(dir):
    """Coroutines that had not ended, at more places than are shown."""
    p = Program(pid=4700)
    for i in range(12):
        p.birth(i * MS, 20 + i, f"lost {i}")
        p.slice((20 + i) * MS, 10 * US, 20 + i, 1 + i % 8, "mutex" if i < 8 else "timer", 300 + i)
    p.totals(90 * MS)
    return p.write(os.path.join(dir, "scattered.jsonl"))


def nowhere(dir):
    """Two that wait for each other's lock, and no event says where."""
    p = Program(pid=4800)
    for co, own, other in ((1, 9001, 9002), (2, 9002, 9001)):
        p.other("birth", co * MS, co, 101, pid=p.pid, name=f"lost {co}")
        p.resume((10 + co) * MS, co)
        p.other("acquire", (10 + co) * MS + 10 * US, co, 101, resource=own, pid=p.pid)
        p.transition((20 + co) * MS, co, 101, False, reason="mutex", resource=other)
    return p.write(os.path.join(dir, "nowhere.jsonl"))
