# SPDX-License-Identifier: MIT
"""view_live.py - a trace as a live page receives it: in pieces, and complete at the end.

FOLLOW: the program that reads a trace while it grows
"""
import math

from pages import *

# Sums of present states, which count up to the end of their picture.
GROWING = {"running": ["ran"], "suspended": ["waited"], "ready": ["waited", "ready"]}


def follow(trace, every, stall_ns=0):
    out = subprocess.run([os.environ["FOLLOW"], trace, str(every), str(stall_ns)], capture_output=True, text=True, check=False)
    equal(out.returncode, 0, f"status of follow on {trace}: {out.stderr}")
    lines = [json.loads(line) for line in out.stdout.splitlines()]
    equal(lines.pop(), {"looked": "twice"}, "the last line")
    return lines


class Page:
    """The content of a live page after each delta."""

    def __init__(self):
        self.series, self.strings, self.coros, self.report, self.tick = [], [""], {}, None, 0

    def take(self, d):
        equal(d["tick"], self.tick + 1, "tick")
        self.tick, self.meta = d["tick"], d["meta"]
        self.report = d.get("report", self.report)
        s = d["series"]
        assert s["from"] <= len(self.series), "a hole in the series"
        self.series[s["from"]:] = s["rows"]
        self.header = {k: s[k] for k in ("start", "width", "end")}
        equal(d["strings"]["from"], len(self.strings), "strings")
        self.strings += d["strings"]["add"]
        if "coros" not in d:
            assert "coros" in d["reload"]
            self.coros = None
        for row in d["coros"]["rows"] if self.coros is not None else []:
            row = dict(zip(d["coros"]["columns"], row))
            row["at"] = d["meta"]["end"]
            self.coros[row["nr"]] = row

    def row(self, nr):
        """As of now: the present state has lasted since."""
        row = dict(self.coros[nr])
        since = self.meta["end"] - row.pop("at")
        for name in GROWING.get(self.meta["states"][row["state"]], []):
            row[name] += since
            # The longest may be the present one.
            if name == "waited":
                del row["longest"], row["longest_site"]
        return row


SERIES = ["alive", "running", "suspended", "ready", "alive_mean", "running_mean", "suspended_mean", "ready_mean",
          "events", "births", "ends", "wakes", "lost"]


def check_page(page, bundle):
    """Compares all pieces with the page of the complete trace."""
    equal(page.report, bundle.report, "report")
    equal(page.strings, bundle.strings, "strings")
    equal(page.header, {k: bundle.series.header[k] for k in page.header}, "axis of the series")
    rows = [[bundle.series[name][i] for name in SERIES] for i in range(bundle.series.rows)]
    equal(len(page.series), len(rows), "length of the series")
    for got, wanted in zip(page.series, rows):
        assert all(math.isclose(g, w, rel_tol=1e-9, abs_tol=1e-9) for g, w in zip(got, wanted)), (got, wanted)
    meta = dict(page.meta, tick=bundle.meta["tick"])
    equal(meta, bundle.meta, "meta")
    if page.coros is None:
        return
    rows = bundle.coroutines()
    equal(sorted(page.coros), sorted(rows), "coroutines")
    for nr, row in rows.items():
        for name, value in page.row(nr).items():
            wanted = None if isinstance(row[name], float) and math.isnan(row[name]) else row[name]
            equal(value, wanted, f"{name} of coroutine {nr}")


def check_live(trace, bundle):
    """A trace that is read while it grows gives the same result as at its end."""
    page = Page()
    for d in follow(trace, 1 + os.path.getsize(trace) % 300):
        page.take(d)
    check_page(page, bundle)
