# SPDX-License-Identifier: MIT
"""sql.py - shared by the tests of this folder: queries, and the tables computed from JSON lines in Python."""
import bisect
import random

from harness import *

TRACE_TOOL = os.environ.get("TRACE_TOOL", "build/tests/trace_tool")
CHANNELS = os.environ.get("CHANNELS", "build/examples/c/channels")
NO_STATION = 2**32 - 1


def query(trace, sql, *options, status=0, **kwargs):
    """The JSON object of a query."""
    got, out, err = tool("query", *([trace] if trace else []), "--json", *options, sql, **kwargs)
    equal(got, status, f"status of {sql!r}: {out[:500]}{err}")
    return json.loads(out)


def rows(trace, sql, *options, **kwargs):
    """The rows as tuples."""
    got = query(trace, sql, *options, **kwargs)
    return [tuple(r[c] for c in got["columns"]) for r in got["rows"]]


def failed(trace, sql, *options):
    """The message of a query that fails."""
    status, out, err = tool("query", trace, *options, sql)
    equal(status, 1, f"status of {sql!r}: {out[:500]}")
    return err


def export(kind, trace, output):
    status, _, err = tool("export", kind, "-q", "-i", trace, "-o", output)
    assert status in (0, 1), err
    return output


def in_every_format(dir, jsonl):
    """The trace in every format, JSON lines compressed by both programs included."""
    paths = [jsonl, export("ct", jsonl, dir + "/f.ct"), export("ctf", jsonl, dir + "/f.ctf")]
    for program, suffix in (("zstd", "zst"), ("gzip", "gz")):
        for name in ("", ".meta"):
            data = open(jsonl + name, "rb").read()
            packed = subprocess.run([program, "-c"], input=data, capture_output=True, check=True).stdout
            with open(f"{dir}/{suffix}.jsonl{name}" + ("." + suffix if not name else ""), "wb") as f:
                f.write(packed if not name else data)
        paths.append(f"{dir}/{suffix}.jsonl.{suffix}")
    return paths


# ---- the tables, computed another way ---------------------------------------------------------------------


class Trace:
    """The events and facts of JSON lines, merged by time."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            transitions = [json.loads(line) for line in f]
        with open(path + ".meta", encoding="utf-8") as f:
            facts = [json.loads(line) for line in f]
        self.facts = facts
        kinds = {"birth", "wake", "end", "destroy", "close", "acquire", "release"}
        for t in transitions:
            t["kind"] = "resume" if t["is_active"] else "suspend"
        others = [dict(f, kind=f["type"]) for f in facts if f["type"] in kinds]
        self.events = sorted(transitions + others, key=lambda e: e["ts"])
        self.sites = {}
        first = {}
        for s in (f for f in facts if f["type"] == "site"):
            place = (s["file"], s["line"], s["function"])
            self.sites[s["id"]] = first.setdefault(place, s["id"])
        for e in self.events:
            if e.get("site"):
                e["site"] = self.sites.get(e["site"], e["site"])

    def of(self, type):
        return [f for f in self.facts if f["type"] == type]


def flags(e):
    names = [n.replace("_", "-") for n in ("destroyed", "was_suspended", "cancelled") if e.get(n)]
    return ",".join(names) or None


def events(t):
    """Rows of events: probe_id, tid, addr, seq, is_active, ts, kind, station, site, reason, resource, peer, flags, pid, name."""
    return [(e["probe_id"], e["tid"], e.get("addr"), e.get("seq"), int(e["is_active"]) if "is_active" in e else None, e["ts"],
             e["kind"], e.get("station"), e.get("site") or None, e.get("reason"), e.get("resource"),
             e.get("waker", e.get("parent")), flags(e), e.get("pid"), e.get("name")) for e in t.events]


def intervals(t, begin):
    """Rows of waits or slices: for each event that begins one, the next of its coroutine that ends it."""
    by_coroutine = {}
    for e in t.events:
        by_coroutine.setdefault((e["probe_id"], e.get("station")), []).append(e)
    result = []
    for (id, station), list in by_coroutine.items():
        for i, e in enumerate(list):
            if e["kind"] != begin:
                continue
            n, wake = i + 1, None
            while n < len(list) and list[n]["kind"] not in ("suspend", "resume", "end", "destroy"):
                if list[n]["kind"] == "wake" and wake is None:
                    wake = list[n]
                n += 1
            ended = list[n] if n < len(list) else None
            lost = ended is not None and ended["kind"] == begin
            to = ended["ts"] if ended and not lost else None
            s = e if begin == "suspend" else ended if ended and ended["kind"] == "suspend" else {}
            row = (id, e["ts"], to, to - e["ts"] if to is not None else None, e["tid"], s.get("site") or None, s.get("reason"),
                   s.get("resource"), s.get("addr"), "lost" if lost else ended["kind"] if ended else None, station)
            if begin == "suspend":
                row += (ended["tid"] if to is not None else None, wake["ts"] if wake else None, wake.get("waker") if wake else None)
            result.append(row)
    return result


def same_rows(got, wanted, what):
    """As sets with counts; the first difference is the message."""
    key = lambda r: tuple((v is None, str(v)) for v in r)
    got, wanted = sorted(got, key=key), sorted(wanted, key=key)
    for g, w in zip(got, wanted):
        equal(g, w, what)
    equal(len(got), len(wanted), f"number of {what}")


__all__ = [n for n in dir() if not n.startswith("_")]
