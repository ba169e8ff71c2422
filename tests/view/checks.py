# SPDX-License-Identifier: MIT
"""checks.py - every number of a page compared with its trace."""
from bundle import same_time
from oracle import World, gauge_changes, mean, overlap

OPEN, NO_START, LAST, CUT, HAS_RESOURCE = 1, 2, 4, 8, 16
HOW = {"open": OPEN, "no start": NO_START, "end": LAST, "cut": CUT, "suspend": 0}


def equal(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def near(got, wanted, what):
    if abs(got - wanted) > 1e-6 * max(1, abs(wanted)):
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def as_in_the_page(report):
    """The page has the first coroutines of a finding, without their history: all are in its own table."""
    for finding in report["findings"]:
        finding["coroutines_omitted"] += max(0, len(finding["coroutines"]) - 100)
        finding["coroutines"] = [{k: v for k, v in c.items() if k not in ("last", "awaited_by")} for c in finding["coroutines"][:100]]
    return report


class Check:
    def __init__(self, bundle, trace, report):
        self.b, self.trace, self.report = bundle, trace, report
        self.meta, self.world = bundle.meta, World(trace)
        self.origin = int(self.meta["origin"])
        self.rows = bundle.coroutines()
        self.tids = [t["tid"] for t in self.meta["threads"]]
        self.numbers = {}

    def all(self):
        self.check_meta()
        self.check_coroutines()
        self.check_slices()
        self.check_holds()
        self.check_index()
        self.check_series()
        self.check_lod()
        self.check_sites()

    def off(self, ts):
        return None if ts is None else ts - self.origin

    # ---- meta and report

    def check_meta(self):
        m = self.meta
        equal(m["format"], 1, "format")
        equal(self.b.report, as_in_the_page(self.report), "the report")
        equal(m["totals"], self.report["totals"], "totals")
        equal(m["notes"], self.report["notes"], "notes")
        equal((m["live"], m["ended"]), (False, True), "live, ended")
        if not self.world.all:
            return
        equal(self.origin, self.world.first_ts, "origin")
        if self.trace.totals or not self.trace.run:
            equal(m["end"], self.off(self.world.end_ts), "end")
        equal(m["coros"]["of"], len(self.world.all), "coroutines")
        equal(m["alive"], sum(co.state != "ended" for co in self.world.all), "alive")
        equal(set(self.tids), self.world.tids, "threads")
        resumes = [e.tid for e in self.trace.events if e.kind == "resume"]
        slices = [s["tid"] for co in self.world.all for s in co.slices if s["how"] != "no start"]
        for t in m["threads"]:
            equal((t["resumes"], t["slices"]), (resumes.count(t["tid"]), slices.count(t["tid"])), f"resumes and slices of {t['tid']}")
            ran = sum(s["dur"] or 0 for co in self.world.all for s in co.slices if s["tid"] == t["tid"] and s["how"] != "open")
            equal(t["busy"], ran, f"busy of {t['tid']}")
        self.end = m["end"]

    # ---- coroutines

    def place(self, index):
        return self.b.sites["sites"][index]

    def check_place(self, index, place, what):
        if place is None:
            equal(index, 0, what)
            return
        kind, value = place
        site = self.place(index)
        if kind == "addr":
            equal(site["addr"], f"0x{value:016x}", what)
        elif value in self.trace.sites:
            s = self.trace.sites[value]
            equal((site["file"], site["line"], site["function"]), (s["file"], s["line"], s["function"]), what)
        else:
            assert index > 0, what

    def pair(self):
        """Match rows with coroutines: by id and station, in order of time."""
        by = {}
        for nr, row in sorted(self.rows.items()):
            by.setdefault((row["id_lo"] | row["id_hi"] << 32, row["station"]), []).append(nr)
        for co in self.world.all:
            numbers = by[(co.id, co.station)]
            yield co, numbers.pop(0)
        equal([k for k, v in by.items() if v], [], "rows of nobody")

    def check_coroutines(self):
        equal(self.meta["coros"]["kept"], len(self.rows), "rows")
        for co, nr in self.pair():
            self.numbers[nr] = co
            co.number = nr
            co.row = self.rows[nr]
        for co in self.world.all:
            self.check_coroutine(co, co.row)

    def check_coroutine(self, co, row):
        what = f"coroutine {co.id}/{co.number}"
        for name in ("first", "birth", "end", "since", "woken"):
            assert same_time(row[name], self.off(getattr(co, name))), (what, name, row[name], self.off(getattr(co, name)))
        equal(self.meta["states"][row["state"]], co.state, what + " state")
        for name in ("suspends", "resumes", "migrations", "wakes"):
            equal(row[name], getattr(co, name), f"{what} {name}")
        equal(row["threads"], len(co.tids), what + " threads")
        equal(self.b.strings[row["name"]], co.name or "", what + " name")
        self.check_sums(co, row, what)
        self.check_place(row["site"], co.place, what + " site")
        equal(self.meta["reasons"][row["reason"]], co.reason, what + " reason")
        if row["flags"] & 1:
            equal(row["res_lo"] | row["res_hi"] << 32, co.resource, what + " resource")
        else:
            equal(co.resource, None, what + " resource")
        equal([bool(row["flags"] & f) for f in (2, 8, 16)], [co.destroyed, co.ended_suspended, co.cancelled], what + " flags")
        for name in ("parent", "waker"):
            if row[name]:
                equal(self.numbers[row[name] - 1].id, getattr(co, name), f"{what} {name}")
            else:
                equal(getattr(co, name), None, f"{what} {name}")
        if co.tid is not None:
            equal(self.tids[row["thread"]], co.tid, what + " thread")

    def check_sums(self, co, row, what):
        """Present states count up to the end."""
        waited, ready, ran, longest, place = co.waited, co.ready, co.ran, co.longest, co.longest_place
        end = self.origin + self.end
        if co.state in ("suspended", "ready"):
            waited += end - co.suspended
            if end - co.suspended > longest:
                longest, place = end - co.suspended, co.place
        if co.state == "ready":
            ready += end - co.woken
        if co.state == "running":
            ran += end - co.open["start"]
        equal((row["waited"], row["ready"], row["ran"], row["longest"]), (waited, ready, ran, longest), what + " sums")
        self.check_place(row["longest_site"], place, what + " longest_site")

    # ---- slices

    def check_slices(self):
        mine = {}
        slices = self.b.slices()
        equal(self.meta["slices"], {"kept": len(slices), "of": sum(len(co.slices) for co in self.world.all)}, "slices")
        for s in slices:
            mine.setdefault(s["coro"], []).append(s)
        for co in self.world.all:
            got = mine.get(co.number, [])
            got.sort(key=lambda s: (s["start"], s["start"] + s["dur"]))
            wanted = sorted(co.slices, key=lambda s: (s["start"], s["start"] + (s["dur"] or 0)))
            equal(len(got), len(wanted), f"slices of {co.id}")
            equal([s["n"] for s in got], list(range(len(wanted))), f"numbers of slices of {co.id}")
            for g, w in zip(got, wanted):
                self.check_slice(g, w, f"slice of {co.id} at {g['start']}")

    def check_slice(self, got, wanted, what):
        equal(got["start"], self.off(wanted["start"]), what + " start")
        dur = wanted["dur"] if wanted["how"] != "open" else self.end - self.off(wanted["start"])
        equal(got["dur"], dur, what + " dur")
        equal(got["flags"] & ~HAS_RESOURCE, HOW[wanted["how"]], what + " flags")
        equal(self.tids[got["thread"]], wanted["tid"], what + " thread")
        self.check_place(got["site"], wanted["place"], what + " site")
        equal(self.meta["reasons"][got["reason"]], wanted["reason"], what + " reason")
        resource = got["res_lo"] | got["res_hi"] << 32 if got["flags"] & HAS_RESOURCE else None
        equal(resource, wanted["resource"], what + " resource")
        wake = None if not got["wake"] else got["start"] - (got["wake"] - 1)
        equal(wake, None if wanted["wake"] is None else min(self.off(wanted["wake"]), got["start"]), what + " wake")
        waker = self.numbers[got["waker"] - 1].id if got["waker"] else None
        equal(waker, wanted["waker"], what + " waker")

    def check_holds(self):
        """Which coroutine held which lock, from when to when."""
        holds = self.b.holds
        wanted = [(h["co"].number, h["resource"], self.off(h["from"]), self.off(h["to"])) for h in self.world.holds]
        equal(self.meta["holds"], {"kept": len(wanted), "of": len(wanted)}, "holds")
        equal((holds.header["of"], holds.header["since"]), (len(wanted), None), "header of holds")
        got = [holds.row(i) for i in range(holds.rows)]
        equal([(h["coro"], h["res_lo"] | h["res_hi"] << 32, h["from"], None if h["to"] != h["to"] else h["to"]) for h in got], wanted, "holds")

    def check_index(self):
        index = self.b.index
        equal(index.rows, self.meta["blocks"], "blocks")
        bits = index.header["bits"]
        for n in range(index.rows):
            block = self.b.sections[f"slices/{n}"]
            equal((index["nr"][n], index["of"][n]), (block.rows, block.header["of"]), f"nr and of of block {n}")
            if not block.rows:
                continue
            starts = [s + block.header["base"] for s in block["start"]]
            equal(starts, sorted(starts), f"order of block {n}")
            equal((index["from"][n], index["last"][n]), (starts[0], starts[-1]), f"from and last of block {n}")
            equal(index["to"][n], max(s + d for s, d in zip(starts, block["dur"])), f"to of block {n}")
            wanted = bytearray(bits // 8)
            for c in block["coro"]:
                wanted[c % bits >> 3] |= 1 << (c % bits & 7)
            equal(bytes(index["coros"][n * bits // 8:(n + 1) * bits // 8]), bytes(wanted), f"coroutines of block {n}")

    # ---- series

    def check_series(self):
        s = self.b.series
        assert s.rows <= 2048, s.rows
        if not s.rows:
            return
        start, width, end = s.header["start"], s.header["width"], s.header["end"]
        equal(end, self.end, "end of series")
        assert start <= 0 and start + (s.rows - 1) * width <= end < start + s.rows * width, (start, width, s.rows, end)
        counts = {
            "events": self.world.events, "wakes": self.world.wakes,
            "births": [co.first for co in self.world.all], "ends": [co.end for co in self.world.all if co.end is not None],
        }
        for name, times in counts.items():
            wanted = [0] * s.rows
            for ts in times:
                wanted[(self.off(ts) - start) // width] += 1
            equal(s[name], wanted, "series of " + name)
        lost = sum(g["transitions"] + g["others"] for g in self.trace.gaps)
        equal(sum(s["lost"]), lost, "lost in the series")
        for name, changes in gauge_changes(self.world).items():
            self.check_gauge(s, name, sorted((self.off(ts), by) for ts, by in changes))

    def check_gauge(self, s, name, changes):
        start, width = s.header["start"], s.header["width"]
        values, means = s[name], s[name + "_mean"]
        before, at = 0, 0
        for i in range(s.rows):
            low, high = start + i * width, start + (i + 1) * width
            end = min(high, self.end)
            inside = []
            while at < len(changes) and changes[at][0] < high:
                inside.append(changes[at])
                at += 1
            if end > low:
                near(means[i], before + (mean(inside, low, end) if inside else 0), f"mean of {name} in bucket {i}")
            before += sum(by for _, by in inside)
            equal(values[i], before, f"{name} at the end of bucket {i}")
        equal(at, len(changes), f"changes of {name} in the series")

    # ---- levels of detail

    def check_lod(self):
        lod = self.b.lod
        slices = [s for s in self.b.slices() if not s["flags"] & NO_START]
        for before, level in zip(lod.header["levels"], lod.header["levels"][1:]):
            equal(level["width"], 2 * before["width"], "width of a level")
        for level in lod.header["levels"]:
            if lod.header["threads"]:
                self.check_level(lod, level, slices)

    def check_level(self, lod, level, slices):
        """Most cells are empty: the others are computed, and the columns compared as a whole."""
        start, width, count = level["start"], level["width"], level["count"]
        cells, nr = {}, count * lod.header["threads"]
        busy, switches = [0] * nr, [0] * nr
        for s in slices:
            row, begin, dur, coro = s["thread"] * count, s["start"], s["dur"], s["coro"]
            first, last = (begin - start) // width, (begin + dur - start) // width
            switches[row + first] += 1
            for b in range(first, last + 1):
                part = dur if first == last else overlap(begin, begin + dur, start + b * width, start + (b + 1) * width)
                cell = cells.get(row + b)
                if cell is None:
                    cells[row + b] = {coro: part}
                else:
                    cell[coro] = cell.get(coro, 0) + part
        who = lod["coro"]
        for i, cell in cells.items():
            ran = sum(cell.values())
            busy[i] = 0 if not ran and not switches[i] else 1 + min(254, int(254 * ran / width))
            most = max(cell, key=cell.get) if len(cell) > 1 else next(iter(cell))
            if 2 * cell[most] > ran:
                equal(who[level["row"] + i], 1 + most, f"who ran most in cell {i} of width {width}")
        for name, wanted in (("busy", busy), ("switches", switches)):
            got = lod[name][level["row"]:level["row"] + nr]
            for i, (mine, other) in enumerate(zip(got, wanted, strict=True)) if got != wanted else ():
                equal(mine, other, f"{name} in cell {i} of width {width}")

    # ---- sites

    def check_sites(self):
        sites = self.b.sites["sites"]
        waiting, waits = [0] * len(sites), [0] * len(sites)
        for co in self.world.all:
            if co.state in ("suspended", "ready"):
                waiting[co.row["site"]] += 1
        by = {}
        for s in sorted(self.b.slices(), key=lambda s: s["start"]):
            before = by.get(s["coro"])
            if before is not None and not s["flags"] & NO_START and not before["flags"] & (LAST | CUT):
                waits[before["site"]] += 1
            by[s["coro"]] = s
        for i, site in enumerate(sites):
            equal(site["waiting"], waiting[i], f"waiting at {site['text']}")
            equal(site["waits"]["nr"], waits[i], f"waits at {site['text']}")
            for h in ("waits", "ready", "slices"):
                equal(sum(n for _, n in site[h]["steps"]), site[h]["nr"], f"{h} at {site['text']}")
            equal(len(site["oldest"]), min(10, waiting[i]), f"oldest at {site['text']}")
            since = [o["since"] for o in site["oldest"]]
            equal(since, sorted(since), "oldest first")
            for o in site["oldest"]:
                co = self.numbers[o["nr"]]
                equal((o["id"], o["since"]), (str(co.id), self.off(co.suspended)), "one of the oldest")
