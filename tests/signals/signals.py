# SPDX-License-Identifier: MIT
"""signals.py - runs of the programs of this folder, and what their traces hold.

SIGNALS_TARGET, SIGNALS_TARGET_CPP: the programs
"""
from harness import *
from harness import line_of

SIGNALS_TARGET = os.environ.get("SIGNALS_TARGET", "build/tests/signals/signals_target")
SIGNALS_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "signals_target.c")
SIGNALS_TARGET_CPP = os.environ.get("SIGNALS_TARGET_CPP", "build/tests/signals/signals_target_cpp")
# A coroutine that is never destroyed is also a leak; here that is intended.
ENV = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", ""))

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECOND = "00-11111111111111111111111111111111-2222222222222222-00"


def record(dir, name="t.jsonl", *program):
    """A trace of a finished run."""
    trace = os.path.join(dir, name)
    status, _, err = tool("run", "-q", "-o", trace, "--", *(program or (SIGNALS_TARGET, 3, 200)), env=ENV)
    equal(status, 0, f"status of run: {err}")
    return trace


def rows(trace, sql):
    status, out, err = tool("query", "--json", trace, sql)
    equal(status, 0, f"status of query: {err}")
    return [list(row.values()) for row in json.loads(out)["rows"]]


# ---- written traces: no time is real -------------------------------------------------

START = 10 ** 12


class Written:
    """A trace that a test writes event by event; times are in nanoseconds after the start."""

    def __init__(self, dir, name="written.jsonl", **run):
        self.path = os.path.join(dir, name)
        self.lines, self.meta, self.sites, self.steps, self.end = [], [], {}, {}, 0
        self.run = {"type": "run", "format": 1, "tool": "t", "command": ["/srv/bin/shop"], "pid": 7, "start_ts": START,
                    "start_realtime": 1_700_000_000_000_000_000, "hostname": "web1", "arch": "x86_64", "stations": 0, **run}

    def site(self, file, line, function):
        key = (file, line, function)
        if key not in self.sites:
            self.sites[key] = len(self.sites) + 1
            self.meta.append({"type": "site", "id": self.sites[key], "file": file, "line": line, "function": function, "pid": 7})
        return self.sites[key]

    def other(self, kind, at, id, **more):
        self.end = max(self.end, at)
        self.meta.append({"type": kind, "ts": START + at, "probe_id": id, "tid": 7, **more})

    def step(self, at, id, active, **more):
        self.end = max(self.end, at)
        n = self.steps[id] = self.steps.get(id, 0) + 1
        self.lines.append({"probe_id": id, "tid": 7, "addr": "0x0", "seq": 2 * ((n - 1) // 8) + 2, "is_active": active,
                           "ts": START + at, **more})

    def waits(self, at, id, ns, ready=0, site=("shop.c", 10, "pay"), reason="timer"):
        self.step(at, id, False, site=self.site(*site), reason=reason)
        if ready:
            self.other("wake", at + ns - ready, id, seen=1)
        self.step(at + ns, id, True)

    def write(self, totals=None):
        self.lines.sort(key=lambda e: e["ts"])
        kinds = [m for m in self.meta if "ts" in m]
        counts = {"complete": True, "written": len(self.lines), "collected": len(self.lines), "lost": 0,
                  "others_written": len(kinds), "others_collected": len(kinds), "others_lost": 0,
                  "end_ts": START + self.end, **(totals or {})}
        facts = sorted(self.meta, key=lambda m: m.get("ts", 0))
        with open(self.path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in self.lines)
        with open(self.path + ".meta", "w", encoding="utf-8") as f:
            f.writelines(json.dumps(m, separators=(",", ":")) + "\n" for m in [self.run, *facts, {"type": "totals", **counts}])
        return self.path
