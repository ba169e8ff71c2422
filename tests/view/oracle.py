# SPDX-License-Identifier: MIT
"""oracle.py - what a page must show, computed a second time from the trace, slowly and plainly.

Knows the formats of traces (docs/trace.md) and of the bundle (docs/view-format.md), nothing of the C code.
"""
import json
import math
import os
import subprocess

NO_STATION = 4294967295
TRANSITIONS = ("suspend", "resume")
RESOURCE_KINDS = ("close", "acquire", "release")
NO_WAKERS = (0x57414B45, 0x57414B49)  # in the upper half of a release's resource: no waker exists any more
# At the same time: create and wake first, then resume, then end.
LAST = ("end", "destroy")


class Event:
    def __init__(self, kind, ts, id, tid, station=NO_STATION, site=0, addr=0, reason="unknown", resource=None, peer=0,
                 name=None, destroyed=False, cancelled=False, pid=0):
        self.kind, self.ts, self.id, self.tid, self.station = kind, ts, id, tid, station
        self.site, self.addr, self.reason, self.resource, self.peer = site, addr, reason, resource, peer
        self.name, self.cancelled, self.pid = name, cancelled, pid
        self.destroyed = destroyed or kind == "destroy"


class Trace:
    """Events in the order of the reader, gaps, other records."""

    def __init__(self):
        self.events, self.gaps, self.coroutines, self.sites = [], [], [], {}
        self.run = self.totals = None


def is_possible(e):
    """Records that older collectors read from a wrong address are ignored."""
    return e["ts"] & 0xffffffffffff and e["seq"] and e["tid"] <= 0x7fffffff


def line_event(e):
    return Event("resume" if e["is_active"] else "suspend", e["ts"], e["probe_id"], e["tid"], e.get("station", NO_STATION),
                 e.get("site", 0), int(e["addr"], 16), e.get("reason", "unknown"), e.get("resource"))


def told_event(r):
    return Event(r["type"], r["ts"], r.get("probe_id", 0), r["tid"], r.get("station") if r.get("station") is not None else NO_STATION,
                 r.get("site", 0), 0, r.get("reason", r.get("source", "unknown")), r.get("resource"),
                 r.get("parent", 0) if r["type"] == "birth" else r.get("waker", 0),
                 r.get("name"), r.get("destroyed", False), r.get("cancelled", False), r.get("pid", 0))


def merge(lines, told):
    """As they are in the file, each sidecar record before the first line that is not earlier."""
    out, t = [], 0
    for e in lines:
        while t < len(told) and (told[t].ts < e.ts or (told[t].ts == e.ts and told[t].kind not in LAST)):
            out.append(told[t])
            t += 1
        out.append(e)
    return out + told[t:]


def read_jsonl(path):
    trace, lines, told = Trace(), [], []
    with open(path, encoding="utf-8", errors="replace") as f:
        for text in f:
            try:
                e = json.loads(text)
                if is_possible(e):
                    lines.append(line_event(e))
            except (ValueError, KeyError, TypeError):
                pass
    if os.path.exists(path + ".meta"):
        with open(path + ".meta", encoding="utf-8") as f:
            for text in f:
                r = json.loads(text)
                kind = r["type"]
                if kind in ("birth", "wake", *LAST, *RESOURCE_KINDS):
                    told.append(told_event(r))
                elif kind == "gap":
                    trace.gaps.append(r)
                elif kind == "coroutine":
                    trace.coroutines.append(r)
                elif kind == "site":
                    trace.sites[r["id"]] = r
                elif kind in ("run", "totals"):
                    setattr(trace, kind, r)
    trace.events = merge(lines, told)
    if not trace.run:
        put_in_order(trace)
    return trace


def put_in_order(trace):
    """Of traces without a sidecar each coroutine's events by time (they are not far out of order here)."""
    by = {}
    for e in trace.events:
        by.setdefault((e.id, e.station), []).append(e)
    for events in by.values():
        events.sort(key=lambda e: e.ts)
    trace.events = [by[(e.id, e.station)].pop(0) for e in trace.events]


def read_ctf(path):
    """Through the dump of the reader, which other tests compare with babeltrace2."""
    trace = Trace()
    out = subprocess.run([os.environ["TRACE_TOOL"], "dump", path], capture_output=True, text=True, check=True).stdout
    for text in out.splitlines():
        r = json.loads(text)
        if r["kind"] == "gap":
            trace.gaps.append(r)
            continue
        trace.events.append(Event(r["kind"], r["ts"], r["probe_id"], r["tid"], r["station"], r["site"], r["addr"], r["reason"],
                                  r["resource"] if r["flags"] & 1 or r["kind"] in RESOURCE_KINDS else None, r["peer"], r["name"] or None, bool(r["flags"] & 2),
                                  bool(r["flags"] & 16), r["pid"]))
    trace.run = True
    return trace


class Coroutine:
    def __init__(self, e):
        self.id, self.station, self.first = e.id, e.station, e.ts
        self.birth = self.end = self.woken = self.waker = self.parent = self.name = None
        self.state, self.since = "unknown", None
        self.suspends = self.resumes = self.migrations = self.wakes = self.waited = self.ready = self.ran = self.longest = 0
        self.tid, self.tids, self.place, self.reason, self.resource = None, set(), None, "unknown", None
        self.suspended = self.open = self.longest_place = None
        self.destroyed = self.cancelled = self.ended_suspended = False
        self.fresh_wake = None
        self.slices, self.history = [], []

    def enter(self, state, ts):
        self.history.append((ts, self.state, state))
        self.state, self.since = state, ts

    def end_wait(self, ts):
        wait = max(0, ts - self.suspended)
        self.waited += wait
        if self.state == "ready":
            self.ready += max(0, ts - self.woken)
        if wait > self.longest:
            self.longest, self.longest_place = wait, self.place

    def end_slice(self, ts, how):
        s = self.open
        s["dur"], s["how"] = max(0, ts - s["start"]), how
        s["place"], s["reason"], s["resource"] = (self.place, self.reason, self.resource) if how == "suspend" else (None, "unknown", None)
        self.ran += s["dur"]
        self.open = None


class World:
    """All coroutines, the present ones by id, and the effect of each event."""

    def __init__(self, trace):
        self.all, self.present, self.events, self.wakes = [], {}, [], []
        self.tids, self.first_ts, self.last_ts, self.holds = set(), None, 0, []
        for e in trace.events:
            self.take(e)
        for r in trace.coroutines:
            self.fact(r)
        end = trace.totals["end_ts"] if trace.totals else 0
        self.end_ts = max(self.last_ts, end)

    def hold(self, e):
        """A lock is taken, or given back: by the coroutine itself, else for the one that has it longest."""
        co = next((c for (id, _), c in self.present.items() if id == e.id), None)
        if e.kind == "acquire" and co:
            self.holds.append({"co": co, "resource": e.resource, "from": e.ts, "to": None})
        if e.kind == "release":
            held = [h for h in self.holds if h["resource"] == e.resource and h["to"] is None]
            mine = [h for h in held if h["co"] is co]
            for h in mine[-1:] or held[:1]:
                h["to"] = e.ts

    def take(self, e):
        self.tids.add(e.tid)
        self.first_ts = e.ts if self.first_ts is None else min(self.first_ts, e.ts)
        self.last_ts = max(self.last_ts, e.ts)
        if e.kind in TRANSITIONS:
            self.events.append(e.ts)
        if e.kind == "wake":
            self.wakes.append(e.ts)
        if e.kind in ("acquire", "release") and e.resource >> 32 not in NO_WAKERS:
            self.hold(e)
        if e.kind in RESOURCE_KINDS or e.kind == "context":
            return
        key = (e.id, e.station)
        co = self.present.get((e.id, NO_STATION) if e.kind == "wake" else key)
        if co is None:
            if e.kind == "wake":
                return
            co = self.present[key] = Coroutine(e)
            self.all.append(co)
        getattr(self, e.kind)(co, e)
        if e.kind in LAST and e.destroyed:
            del self.present[key]

    def id_of(self, id):
        return id if id and (id, NO_STATION) in self.present else None

    @staticmethod
    def is_moot(co, e):
        late = co.state not in ("unknown", "new") and e.ts < (co.suspended if co.state in ("suspended", "ready") else co.since)
        return late or co.state == "ended"

    def suspend(self, co, e):
        if self.is_moot(co, e):
            return
        place = ("site", e.site) if e.site else ("addr", e.addr) if e.addr else None
        co.place, co.reason, co.resource = place, e.reason, e.resource
        if co.open:
            co.end_slice(e.ts, "suspend")
        else:
            co.slices.append({"start": e.ts, "dur": 0, "tid": e.tid, "how": "no start", "place": place, "reason": e.reason,
                              "resource": e.resource, "wake": None, "waker": None})
        co.suspends += 1
        co.tid = e.tid
        co.enter("suspended", e.ts)
        co.suspended = e.ts

    def resume(self, co, e):
        if self.is_moot(co, e):
            return
        if co.open:
            co.end_slice(e.ts, "cut")
        if co.state in ("suspended", "ready"):
            co.end_wait(e.ts)
        if co.resumes and co.tid != e.tid:
            co.migrations += 1
        co.resumes += 1
        co.tid = e.tid
        co.tids.add(e.tid)
        wake, waker = co.fresh_wake or (None, None)
        co.fresh_wake = None
        co.open = {"start": e.ts, "dur": None, "tid": e.tid, "how": "open", "place": None, "reason": "unknown", "resource": None,
                   "wake": wake, "waker": waker}
        co.slices.append(co.open)
        co.enter("running", e.ts)

    def birth(self, co, e):
        co.birth, co.name, co.parent = e.ts, e.name, self.id_of(e.peer)
        if co.state == "unknown":
            co.enter("new", e.ts)

    def wake(self, co, e):
        co.woken, co.waker = e.ts, self.id_of(e.peer)
        co.fresh_wake = (e.ts, co.waker)
        co.wakes += 1
        if co.state == "suspended" and e.ts >= co.suspended:
            co.enter("ready", e.ts)

    def finish(self, co, ts):
        if co.state == "ended":
            return
        if co.open:
            co.end_slice(ts, "end")
        if co.state in ("suspended", "ready"):
            co.end_wait(ts)
            co.ended_suspended = True
        co.end = ts
        co.enter("ended", ts)

    def end(self, co, e):
        self.finish(co, e.ts)
        co.cancelled |= e.cancelled
        co.destroyed |= e.destroyed

    destroy = end

    def fact(self, r):
        station = r["station"] if r.get("station") is not None else NO_STATION
        co = self.present.get((r["probe_id"], NO_STATION)) or self.present.get((r["probe_id"], station))
        if co is None:
            return
        co.name = co.name or r.get("name")
        co.birth = co.birth or r.get("birth_ts") or None
        if r["dead"] and co.state != "ended":
            self.finish(co, min(r["death_ts"] or co.since, self.last_ts))


def overlap(a, b, c, d):
    return max(0, min(b, d) - max(a, c))


def gauge_changes(world):
    """The changes of each gauge: (ts, by)."""
    changes = {"alive": [], "running": [], "suspended": [], "ready": []}
    for co in world.all:
        changes["alive"].append((co.first, 1))
        for ts, before, after in co.history:
            if before in changes:
                changes[before].append((ts, -1))
            if after in changes:
                changes[after].append((ts, 1))
            if after == "ended":
                changes["alive"].append((ts, -1))
    return changes


def mean(changes, start, end):
    """A gauge's average from @start to @end."""
    area = sum(by * (end - max(ts, start)) for ts, by in changes if ts < end)
    return area / (end - start) if end > start else math.nan
