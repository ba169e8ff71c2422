# SPDX-License-Identifier: MIT
"""reading.py - what a timeline of a trace must show, read from the JSON lines and their sidecar.

An independent reader, from the meaning of the events (docs/trace.md), without code of the tool:

    turns      (tid, coroutine) -> intervals in which it ran there
    states     per life: (name, begin, end), end None where the trace ends first
    lives      (coroutine, begin, end)
    instants   birth, end, destroy: (coroutine, name, ts)
    wakes      (tid, coroutine, ts)
    suspends   events that begin one
    flows      (tid and ts of the wake, tid and ts of the turn it brought)
    steps      per counter: the values it takes, in order of time
"""
import json
import os
from collections import defaultdict

FIRST = ("birth", "wake", "close", "acquire", "release")


def load(path):
    """Events in order of time; at the same time first creates and wakes, then transitions, then ends."""
    events, facts = [], []
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            e = json.loads(line)
            e["kind"] = "resume" if e["is_active"] else "suspend"
            events.append((e["ts"], 1, e))
    if os.path.exists(path + ".meta"):
        with open(path + ".meta", encoding="utf-8", errors="replace") as f:
            for line in f:
                r = json.loads(line)
                if r["type"] in FIRST + ("end", "destroy"):
                    r["kind"] = r["type"]
                    events.append((r["ts"], 0 if r["type"] in FIRST else 2, r))
                else:
                    facts.append(r)
    events.sort(key=lambda e: e[:2])
    return [e for _, _, e in events], facts


class Life:
    def __init__(self, event):
        self.id, self.begin, self.end = event["probe_id"], event["ts"], None
        self.name = event.get("name") if event["kind"] == "birth" else None
        self.is_born = event["kind"] == "birth"
        self.states, self.instants = [], []
        self.state, self.since, self.tid = None, None, None
        self.ready = None       # the time since when
        self.wake, self.early = None, None

    def enter(self, state, ts):
        self.leave(ts)
        self.state, self.since = state, ts

    def leave(self, ts):
        if self.ready is not None:
            self.states.append(("ready", self.ready, ts))
        if self.state:
            self.states.append((self.state, self.since, ts))
        self.state = self.ready = None


class Reading:
    def __init__(self, path):
        self.events, self.facts = load(path)
        self.lives, self.alive = [], {}
        self.turns = defaultdict(list)
        self.wakes, self.flows, self.suspends = [], [], []
        self.steps = {"alive": [], "running": [], "suspended": []}
        self.counts = {"alive": 0, "running": 0, "suspended": 0}
        for e in self.events:
            self.add(e)
        for life in self.alive.values():
            self.close_turn(life, None)
            life.leave(None)

    def count(self, name, change, ts):
        self.counts[name] += change
        self.steps[name].append((ts, self.counts[name]))

    def close_turn(self, life, ts):
        if life.state == "running" and life.tid is not None:
            self.turns[life.tid, life.id].append((life.since, ts))
            life.tid = None

    def change(self, life, state, ts):
        """From the present state to another one, or to the end."""
        self.close_turn(life, ts)
        for name, sign, which in (("running", -1, life.state), ("suspended", -1, life.state),
                                  ("running", 1, state), ("suspended", 1, state)):
            if which and which.split(":")[0] == name:
                self.count(name, sign, ts)
        life.enter(state, ts)

    def bear(self, e):
        life = Life(e)
        self.alive[e["probe_id"], e.get("station")] = life
        self.lives.append(life)
        self.count("alive", 1, e["ts"])
        return life

    def end(self, life, ts):
        if life.state != "ended":
            self.change(life, None, ts)
            self.count("alive", -1, ts)
        life.leave(ts)

    def add(self, e):
        kind, ts, key = e["kind"], e["ts"], (e["probe_id"], e.get("station"))
        life = self.alive.get(key)
        if kind == "wake":
            self.add_wake(e, life)
            return
        if kind in ("close", "acquire", "release"):
            return
        if kind == "birth" and life and life.is_born:
            self.end(life, ts)
            life.end = ts
            life = None
        life = life or self.bear(e)
        if kind == "birth":
            life.instants.append(("birth", ts))
            if life.state is None:
                life.enter("new", ts)
        elif kind in ("end", "destroy"):
            self.end(life, ts)
            life.instants.append((kind, ts))
            if kind == "destroy" or e.get("destroyed"):
                life.end = ts
                del self.alive[key]
            else:
                life.enter("ended", ts)
        elif life.state == "ended":
            life.instants.append(("resumed after its end", ts))
        elif kind == "resume":
            if life.state == "running":
                life.instants.append(("resumed while it ran", ts))
            self.change(life, "running", ts)
            life.tid = e["tid"]
            wake = life.wake or life.early
            if wake:
                self.flows.append((*wake, e["tid"], ts))
            life.wake = life.early = None
        else:
            reason = e.get("reason", "unknown")
            self.suspends.append(e)
            self.change(life, "suspended" if reason == "unknown" else f"suspended: {reason}", ts)
            life.wake = None

    def add_wake(self, e, life):
        self.wakes.append((e["tid"], e["probe_id"], e["ts"]))
        if not life:
            return
        if life.state is None or life.state in ("running", "ended"):
            life.early = (e["tid"], e["ts"])
        elif not life.wake:
            life.wake = (e["tid"], e["ts"])
            life.ready = e["ts"]


def joined(intervals):
    """Intervals that touch are merged: a slice that was cut in two is one turn."""
    out = []
    for begin, end in sorted(intervals, key=lambda i: (i[0], i[1] is None, i[1] or 0)):
        if out and out[-1][1] == begin:
            out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
    return out
