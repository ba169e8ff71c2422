# SPDX-License-Identifier: MIT
"""test_follow.py - a trace that is looked at while it grows: what is sent adds up to what there is in the end.

    FOLLOW: the program that looks; CORPUS_BUGGY, CORPUS_CLEAN: the programs of the corpus
"""
import math

import pages
from pages import *

# Sums of what is going on, which are up to the end of the picture that brought them.
GROWING = {"running": ["ran"], "suspended": ["waited"], "ready": ["waited", "ready"]}


def follow(trace, every, stall_ns=0):
    out = subprocess.run([os.environ["FOLLOW"], trace, str(every), str(stall_ns)], capture_output=True, text=True, check=False)
    equal(out.returncode, 0, f"status of follow on {trace}: {out.stderr}")
    lines = [json.loads(line) for line in out.stdout.splitlines()]
    equal(lines.pop(), {"looked": "twice"}, "the last line")
    return lines


class Page:
    """What a live page has after each delta."""

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
        """As it is now: what goes on has gone on since."""
        row = dict(self.coros[nr])
        since = self.meta["end"] - row.pop("at")
        for name in GROWING.get(self.meta["states"][row["state"]], []):
            row[name] += since
            # The longest may be the one that goes on.
            if name == "waited":
                del row["longest"], row["longest_site"]
        return row


SERIES = ["alive", "running", "suspended", "ready", "alive_mean", "running_mean", "suspended_mean", "ready_mean",
          "events", "births", "ends", "wakes", "lost"]


def check_page(page, bundle):
    """All that came bit by bit against the page of the whole trace."""
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


@test
def what_is_sent_adds_up(dir):
    for program in ("CORPUS_BUGGY", "CORPUS_CLEAN"):
        for scenario, trace in traces(dir, program, ("jsonl", "ctf")):
            deltas, page = follow(trace, 1 + os.path.getsize(trace) % 300), Page()
            for d in deltas:
                page.take(d)
            try:
                check_page(page, pages.page(dir, trace)[0])
            except AssertionError as why:
                raise AssertionError(f"{scenario}: {why}") from why


@test
def findings_appear_when_they_become_true(dir):
    trace = trace_of(dir, "CORPUS_BUGGY", "lost-wakeup/timer", "jsonl")
    seen = [len(d["report"]["findings"]) for d in follow(trace, 10) if "report" in d]
    equal((seen[0], seen[-1]), (0, 1), "findings in the first look and in the last")
    equal(seen, sorted(seen), "findings over time")
    trace = trace_of(dir, "CORPUS_BUGGY", "closed-under-waiter/told", "ctf")
    told = [[f["detector"] for f in d["report"]["findings"]] for d in follow(trace, 1) if "report" in d]
    assert "closed-under-waiter" not in told[0] and "closed-under-waiter" in told[-2], told


@test
def a_program_that_has_stopped_is_seen_to(dir):
    """No event comes any more; only the time that passes tells."""
    trace = trace_of(dir, "CORPUS_CLEAN", corpus("CORPUS_CLEAN")[0], "jsonl")
    events = [e for e in open(trace, encoding="utf-8")]
    stopped = os.path.join(dir, "stopped.jsonl")
    with open(stopped, "w", encoding="utf-8") as f:
        f.writelines(events[:len(events) // 2])
    with open(trace + ".meta", encoding="utf-8") as f, open(stopped + ".meta", "w", encoding="utf-8") as to:
        last = json.loads(events[len(events) // 2 - 1])["ts"]
        for line in f:
            r = json.loads(line)
            if r["type"] in ("run", "site", "coroutine") or r.get("ts", last + 1) <= last:
                to.write(line)
    equal(follow(stopped, 1000000)[0]["report"]["findings"], [], "findings at once")
    deltas = follow(stopped, 1000000, 20_000_000_000)
    equal(len(deltas), 2, "looks")
    findings = deltas[0]["report"]["findings"]
    assert any(f["fault"] for f in findings), findings
    assert all(f["oldest_ns"] >= 20_000_000_000 for f in findings if f["fault"]), findings
    # In the end there was no such time: the trace has no totals.
    assert deltas[0]["meta"]["end"] - deltas[1]["meta"]["end"] == 20_000_000_000


if __name__ == "__main__":
    main()
