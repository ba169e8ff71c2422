# SPDX-License-Identifier: MIT
"""scripted.py - traces that a test writes event by event, and what the report says about them."""
from slices import *

LEVELS = ["info", "suspect", "strong", "proven"]


class Script:
    """A trace of one thread, event by event, with its sidecar."""

    def __init__(self, name):
        self.path = f"{SCRATCH.name}/{name}.jsonl"
        self.lines, self.seq, self.written = [], {}, 0
        self.meta = [{"type": "run", "format": 1, "tool": "test", "command": ["x"], "pid": 7, "start_ts": 1,
                      "start_realtime": 1, "arch": "x86_64", "stations": 1},
                     {"type": "process", "pid": 7, "uid": 0, "connected_ts": 1},
                     {"type": "site", "id": 1, "file": "loop.c", "line": 10, "function": "serve", "pid": 7}]
        self.others = 0

    def other(self, type, ts, id, **more):
        self.others += 1
        self.meta.append({"type": type, "ts": ts, "probe_id": id, "tid": more.pop("tid", 7), **more})

    def birth(self, ts, id, name, tid=7):
        self.other("birth", ts, id, pid=7, name=name, tid=tid)

    def transition(self, ts, id, is_active, tid=7, **more):
        self.seq[id] = self.seq.get(id, 0) + 1
        self.written += 1
        line = {"probe_id": id, "tid": tid, "addr": more.pop("addr", "0x0000000000401000"), "seq": self.seq[id],
                "is_active": is_active, "ts": ts}
        if not is_active:
            line |= {"site": 1, "reason": "timer", **more}
        self.lines.append({key: value for key, value in line.items() if key != "site" or value})

    def cpu(self, start, end, state="running", cpu=0, queued=0, tid=7, **more):
        self.meta.append({"type": "cpu", "pid": 7, "tid": tid, "from_ts": start, "to_ts": end, "cpu_ns": cpu,
                          "queued_ns": queued, "state": state, **more})

    def switch(self, start, end, state, tid=7):
        self.meta.append({"type": "switch", "pid": 7, "tid": tid, "from_ts": start, "to_ts": end, "cpu": 0, "state": state})

    def findings(self, end_ts):
        self.meta.append({"type": "totals", "complete": True, "written": self.written, "collected": self.written,
                          "lost": 0, "others_written": self.others, "others_collected": self.others,
                          "others_lost": 0, "exit_status": 0, "end_ts": end_ts})
        for path, lines in ((self.path, self.lines), (self.path + ".meta", self.meta)):
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        return findings_of(self.path)


def brief_of(findings):
    return [(f["detector"], f["confidence"], f["seen"], f["doubt"]) for f in findings]


def best_of(findings, detector):
    return max((LEVELS.index(f["confidence"]) for f in findings if f["detector"] == detector), default=-1)


def strong_of(findings):
    return [(f["detector"], f["seen"]) for f in findings if LEVELS.index(f["confidence"]) >= 2]
