# SPDX-License-Identifier: MIT
"""drawn.py - a Perfetto trace parsed with Perfetto's own schema: tracks, slices, instants, flows, counters.

All rules of the format for a writer are checked on the way: one sequence that begins with a
cleared state, interned before used, tracks declared, time in order on each, slices that nest.
"""
from collections import defaultdict

import packages


class Drawn:
    def __init__(self, pb, data):
        data = packages.expanded(pb, data)
        trace = pb.Trace()
        trace.ParseFromString(data)
        # A field that the schema does not know would have a wrong number.
        trace.DiscardUnknownFields()
        assert trace.ByteSize() == len(data), (trace.ByteSize(), len(data))
        self.pb = pb
        self.tracks, self.names = {}, {}
        self.categories, self.keys, self.places = {}, {}, {}
        self.slices = []                       # [track, name, begin, end or None, args, place, flows in, flows out]
        self.instants, self.counters = [], defaultdict(list)
        self.open, self.last = defaultdict(list), {}
        self.clock = None
        for i, packet in enumerate(trace.packet):
            self.take(i, packet)

    def take(self, i, p):
        assert p.trusted_packet_sequence_id == 1, p
        if p.HasField("clock_snapshot"):
            assert i == 0
            self.clock = p.clock_snapshot
            return
        assert p.sequence_flags == (1 if i == 1 else 2), p
        if i == 1:
            assert p.first_packet_on_sequence and p.trace_packet_defaults.timestamp_clock_id == 3
        self.intern(p.interned_data)
        if p.HasField("track_descriptor"):
            self.take_track(p.track_descriptor)
        elif p.HasField("track_event"):
            self.take_event(p.timestamp, p.track_event)

    def intern(self, d):
        for table, entries in ((self.names, d.event_names), (self.categories, d.event_categories), (self.keys, d.debug_annotation_names)):
            for e in entries:
                assert e.iid and e.iid not in table, e
                table[e.iid] = e.name
        for e in d.source_locations:
            self.places[e.iid] = (e.file_name, e.line_number, e.function_name)

    def take_track(self, d):
        before = self.tracks.get(d.uuid)
        assert d.uuid and (not d.parent_uuid or d.parent_uuid in self.tracks), d
        if before is not None:
            assert not before.name and d.name and before.parent_uuid == d.parent_uuid, (before, d)
        self.tracks[d.uuid] = d

    def args(self, e):
        out = {}
        for a in e.debug_annotations:
            key = self.keys[a.name_iid]
            assert key not in out, e
            out[key] = getattr(a, a.WhichOneof("value"))
        return out

    def take_event(self, ts, e):
        t, types = e.track_uuid, self.pb.TrackEvent
        assert t in self.tracks, e
        assert ts >= self.last.get(t, 0), (self.tracks[t], ts, self.last[t])
        self.last[t] = ts
        if e.type == types.TYPE_COUNTER:
            assert self.tracks[t].HasField("counter")
            self.counters[t].append((ts, e.counter_value))
            return
        if e.type == types.TYPE_SLICE_END:
            self.open[t].pop()[3] = ts
            return
        assert e.category_iids and all(c in self.categories for c in e.category_iids)
        entry = [t, self.names[e.name_iid], ts, None, self.args(e),
                 self.places[e.source_location_iid] if e.source_location_iid else None,
                 list(e.terminating_flow_ids), list(e.flow_ids)]
        if e.type == types.TYPE_SLICE_BEGIN:
            self.slices.append(entry)
            self.open[t].append(entry)
        else:
            assert e.type == types.TYPE_INSTANT, e
            self.instants.append(entry)

    # ---- accessors for the comparison --------------------------------------

    def name(self, uuid):
        d = self.tracks[uuid]
        return d.process.process_name or d.name

    def tid(self, uuid):
        """The tid of a thread's track; for other tracks None."""
        d = self.tracks[uuid]
        if d.HasField("thread"):
            return d.thread.tid
        return int(d.name[7:]) if d.name.startswith("thread ") else None

    def is_coroutine(self, uuid):
        """A coroutine's track has its life as the first slice."""
        return uuid in self.lives()

    def lives(self):
        if not hasattr(self, "_lives"):
            self._lives = {s[0]: s for s in self.slices if "coroutine" in s[4] and self.tid(s[0]) is None}
        return self._lives

    def turns(self):
        out = defaultdict(list)
        for t, _, begin, end, args, *_ in self.slices:
            if self.tid(t) is not None:
                out[self.tid(t), args["coroutine"]].append((begin, end))
        return out

    def states(self):
        """The states drawn in each life."""
        out = defaultdict(list)
        for s in self.slices:
            if self.is_coroutine(s[0]) and s is not self.lives()[s[0]]:
                out[s[0]].append((s[1], s[2], s[3]))
        return out

    def flows(self):
        begins, ends = {}, {}
        for t, name, ts, _, _, _, terminated, begun in self.instants + self.slices:
            for f in begun:
                if self.tid(t) is not None:
                    assert name == "wake" and f not in begins
                    begins[f] = (self.tid(t), ts)
            for f in terminated:
                assert f not in ends
                ends[f] = (self.tid(t), ts)
        return [(*begins[f], *end) for f, end in ends.items()]

    def counter(self, name):
        """The counter of the only process that has counters."""
        found = [self.counters[t] for t, d in self.tracks.items() if d.name == "coroutines " + name and self.counters[t]]
        assert len(found) <= 1, "several processes count"
        return found[0] if found else []

    def instants_named(self, *names):
        return [i for i in self.instants if i[1] in names]

