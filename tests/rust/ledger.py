# SPDX-License-Identifier: MIT
"""ledger.py - compare a trace with the program's own record.

Every test program keeps a ledger of its own, independent of the SDK: how often each future was
polled, how often it was pending, how it ended.  The ledger decides, never the collector.
"""
from rust import *  # noqa: F403

READER_002 = os.environ.get("READER_002", "build/tests/interop/reader_002")


class Traced(Run):
    """A finished run: the trace, its sidecar, and the program's ledger."""

    def __init__(self, status, out, err, trace):
        super().__init__(status, out, err, trace)
        words = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        equal(len(words), 1, f"ledgers in\n{out}\nstderr was\n{err}")
        self.words = words[0]
        self.rows = self.words["coroutines"]

    def by_id(self, what):
        """Events of the sidecar of that type, by coroutine."""
        found = {}
        for record in self.sidecar:
            if record["type"] == what:
                found.setdefault(record["probe_id"], []).append(record)
        return found

    def sites(self):
        return {r["id"]: r for r in self.sidecar if r["type"] == "site"}

    def one(self, name):
        rows = [row for row in self.rows if row["name"] == name]
        equal(len(rows), 1, f"rows named {name}")
        return rows[0]


def collect(dir, name, *args, options=(), **kwargs):
    """Run a test program under the tool."""
    trace = os.path.join(dir, "trace.jsonl")
    status, out, err = tool("run", "--json", "-o", trace, *options, "--", program(name), *args, **kwargs)
    return Traced(status, out, err, trace)


def collect_foreign(dir, name, *args, stations=64):
    """The same under a cTP 0.x collector."""
    trace = os.path.join(dir, "foreign.jsonl")
    p = popen(READER_002, "-n", stations, "-o", trace, program(name), *args)
    out, err = p.communicate(timeout=300)
    return Traced(p.returncode, out, err, trace)


def transitions(run):
    """is_active of each event, by coroutine, in order of time."""
    found = {}
    for event in sorted(run.events, key=lambda e: e["ts"]):
        found.setdefault(event["probe_id"], []).append(event)
    return found


def resumes(row):
    """Every poll except the first."""
    return max(row["polls"] - 1, 0)


def check_transitions(run, rows=None):
    """Suspends and resumes of each coroutine match the ledger, and alternate."""
    events = transitions(run)
    for row in run.rows if rows is None else rows:
        mine = events.pop(row["id"], [])
        kinds = [e["is_active"] for e in mine]
        equal(kinds.count(False), row["pendings"], f"suspends of {row}")
        equal(kinds.count(True), resumes(row), f"resumes of {row}")
        equal(kinds, [k % 2 == 1 for k in range(len(kinds))], f"turns of {row}")
        for e in mine:
            equal(int(e["addr"], 16) == 0, e["is_active"], f"a resume, by its address: {e}")
        for before, after in zip(mine, mine[1:]):
            assert before["ts"] < after["ts"], f"time went back: {before} then {after}"
    return events


def end_of(row):
    """The expected end in the trace: (cancelled, was_suspended, destroyed with it)."""
    if row["state"] == "returned":
        return (False, False, False)
    if row["state"] == "panicked":
        return (True, False, False)
    return (True, row["pendings"] > 0, True)


def check_lives(run):
    """Each was created once, and ended as in the ledger: returned, panicked, dropped; or still exists."""
    births, ends, destroys = run.by_id("birth"), run.by_id("end"), run.by_id("destroy")
    for row in run.rows:
        birth = births.pop(row["id"])
        equal((len(birth), birth[0].get("name")), (1, row["name"]), f"births of {row}")
        if row["state"] == "alive":
            equal((ends.get(row["id"]), destroys.get(row["id"])), (None, None), f"ends of {row}")
            continue
        end, = ends.pop(row["id"])
        told = tuple(bool(end.get(flag)) for flag in ("cancelled", "was_suspended", "destroyed"))
        equal(told, end_of(row), f"end of {row}: {end}")
        equal(len(destroys.pop(row["id"], [])), 0 if told[2] else 1, f"destructions of {row}")
    return births, ends, destroys


def check_all(run):
    """No event is lost, and no event is made up."""
    equal(run.status, 0, f"status; stderr was\n{run.err}")
    equal(run.words["enabled"], True, "is it traced")
    s = run.summary
    equal((s["lost"], s["garbage"], s["others"]["lost"]), (0, 0, 0), "lost, garbage, lost of others")
    equal(s["written"], sum(row["pendings"] + resumes(row) for row in run.rows), "transitions in all")
    equal(check_transitions(run), {}, "events that nobody wrote")
    equal(check_lives(run), ({}, {}, {}), "births, ends, destructions of nobody")
