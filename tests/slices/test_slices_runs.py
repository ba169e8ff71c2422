# SPDX-License-Identifier: MIT
"""A file that the existing coroTracer appended to holds several runs: each is judged by itself."""
from slices import *

MS, S = 1_000_000, 1_000_000_000
LEVELS = ["info", "suspect", "strong", "proven"]


class Appended:
    """Lines as that tool writes them: seq counts laps of eight slots, a resume has no address."""

    def __init__(self, name):
        self.path, self.lines, self.nr = f"{SCRATCH.name}/{name}.jsonl", [], {}

    def line(self, ts, id, tid, is_active, addr=0):
        nr = self.nr[id] = self.nr.get(id, 0) + 1
        self.lines.append({"probe_id": id, "tid": tid, "addr": f"0x{addr:016x}", "seq": 2 * ((nr - 1) // 8 + 1),
                           "is_active": is_active, "ts": ts})

    def run(self, start, tid, stuck, rounds=40, clients=50):
        """Clients that wait 2 ms at a time, on two threads; the first ones stop after half of it."""
        self.nr = {}
        for i in range(rounds):
            for client in range(clients):
                ts, id, of = start + (i * clients + client) * 50_000, 0x55550000 + client * 64, tid + client % 2
                if i > rounds // 2 and client < stuck:
                    continue
                self.line(ts, id, of, True)
                self.line(ts + 1000, id, of, True)  # an await that did not suspend
                self.line(ts + 2000, id, of, False, 0x7f0000000000 + tid * 4096 + client * 64)
        # The others go on for two seconds.
        for i in range(1000):
            client = stuck + i % (clients - stuck)
            ts = start + rounds * clients * 50_000 + i * 2 * MS
            id, of = 0x55550000 + client * 64, tid + client % 2
            self.line(ts, id, of, True)
            self.line(ts + 1000, id, of, False, 0x7f0000000000 + tid * 4096 + client * 64)
        return ts

    def report(self):
        with open(self.path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in self.lines)
        done = subprocess.run([TOOL, "report", "--json", self.path], capture_output=True, text=True, timeout=300)
        return json.loads(done.stdout)


def brief_of(report):
    return [(f["detector"], f["confidence"], f["kind"], f["count"], f["seen"]) for f in report["findings"]]


def check_three_runs():
    t = Appended("three")
    end = t.run(1000 * S, 4000, 0)
    end = t.run(end + 79 * 60 * S, 5000, 49)
    # Records read eight bytes too far.
    for i in range(26):
        t.lines.insert(3000 + 40 * i, {"probe_id": 0x55550000, "tid": 0, "addr": "0x0000000000000002",
                                       "seq": 1, "is_active": True, "ts": 5000})
    t.run(end + 17 * 60 * S, 6000, 0)
    report = t.report()
    brief = brief_of(report)
    assert not [f for f in report["findings"] if LEVELS.index(f["confidence"]) >= 2], brief
    assert not [f for f in report["findings"] if f["detector"] in ("blocking", "double-resume")], brief
    lost = [f for f in report["findings"] if f["detector"] == "lost-wakeup"]
    assert [(f["kind"], f["count"]) for f in lost] == [("run 2 of the trace", 49)], brief
    assert report["totals"]["coroutines"] == 150 and report["totals"]["garbage"] == 26, report["totals"]
    assert report["totals"]["duration_ns"] < 20 * S, report["totals"]


def check_one_run():
    # A thread that comes later is no new run: the others go on.
    t = Appended("one")
    end = t.run(1000 * S, 4000, 0)
    for i in range(300):
        t.line(end + 5 * S + i * MS, 0x66660000, 4002, True)
        t.line(end + 5 * S + i * MS + 1000, 0x66660000, 4002, False, 0x7f0000900000)
        if i == 200:
            t.line(end + 5 * S + i * MS + 2000, 0x55550000, 4000, True)
            t.line(end + 5 * S + i * MS + 3000, 0x55550000, 4000, False, 0x7f0000000000 + 4000 * 4096)
    report = t.report()
    assert report["totals"]["coroutines"] == 51 and report["totals"]["threads"] == 3, report["totals"]
    assert report["totals"]["duration_ns"] > 5 * S, report["totals"]


check_three_runs()
check_one_run()
