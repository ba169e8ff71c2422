# SPDX-License-Identifier: MIT
"""test_bundle.py - pages of real traces: every number compared with the trace and the report,
and with the pieces that a live page receives of the same trace.

    CORPUS_BUGGY, CORPUS_CLEAN: the programs of the corpus
"""
from view_live import *


@test
def programs_with_bugs(dir):
    for scenario, trace in traces(dir, "CORPUS_BUGGY", ("jsonl", "ctf")):
        bundle = check(dir, trace)
        check_live(trace, bundle)
        name = scenario.split("/")[0]
        detectors = [d["name"] for d in bundle.meta["detectors"]]
        examples = {f["example"]["probe_id"] for f in bundle.report["findings"] if f["detector"] == name and "example" in f}
        for row in bundle.coroutines().values():
            if row["id_lo"] in examples:
                assert row["findings"] >> detectors.index(name) & 1, f"{scenario}: {row} is the example"


@test
def programs_without_bugs(dir):
    for _, trace in traces(dir, "CORPUS_CLEAN", ("ctf", "jsonl")):
        check_live(trace, check(dir, trace))


@test
def traces_of_other_tools_with_garbage(dir):
    bundle = check(dir, os.path.join(FIXTURES, "older-tool.jsonl"))
    equal(bundle.meta["garbage"]["lines"], 3, "garbage")
    equal([g["line"] for g in bundle.meta["garbage"]["first"]], [6, 12, 18], "lines of garbage")
    equal(bundle.meta["run"], None, "run")
    with open(os.path.join(FIXTURES, "garbage.jsonl"), "rb") as f, open(os.path.join(dir, "last.jsonl"), "wb") as last:
        last.write(f.readlines()[-1])
    bundle = check(dir, os.path.join(FIXTURES, "garbage.jsonl"), oracle.read_jsonl(os.path.join(dir, "last.jsonl")))
    equal((bundle.meta["garbage"]["lines"], bundle.meta["slices"]["of"]), (20, 1), "garbage and slices")
    check(dir, os.path.join(FIXTURES, "crlf.jsonl"))
    bundle = check(dir, os.path.join(FIXTURES, "cut.jsonl"))


def told(kind, ts, id, **more):
    return dict({"type": kind, "ts": ts, "probe_id": id, "tid": 9}, **more)


@test
def steps_that_programs_of_the_corpus_do_not_take(dir):
    """Woken twice, woken too early, resumed twice, first seen when it suspends, ended in every state, ids used again."""
    r, s = (lambda id, ts, **m: transition(id, ts, True, **m)), (lambda id, ts, **m: transition(id, ts, False, **m))
    lines = [r(1, 1000), s(1, 1100, site=1, reason="timer", resource=0), r(1, 2000), s(1, 2100, site=2), r(1, 2500),
             s(2, 2600, site=1), r(2, 2700), r(2, 2800, tid=5), s(2, 2900, site=2, reason="mutex", resource=2 ** 63),
             r(3, 3000), r(4, 3100), s(4, 3200, site=1), r(1, 3300), s(3, 3400), r(3, 5000), s(5, 5100, site=1), s(6, 5200, site=2)]
    sidecar = [RUN_FACT,
               {"type": "site", "id": 1, "file": "a.c", "line": 1, "function": "f", "pid": 7},
               {"type": "site", "id": 2, "file": "b.c", "line": 2, "function": "g", "pid": 7},
               told("birth", 900, 1, pid=7, name="one"), told("birth", 950, 3, pid=7, name="three", parent=1),
               told("wake", 1500, 1, waker=3), told("wake", 1700, 1), told("wake", 2050, 1, waker=3),
               told("end", 2550, 1, written=5, destroyed=True),  # while it ran; its id is reused
               told("wake", 3150, 99, waker=1), told("wake", 3250, 4, waker=3), told("end", 3260, 4, written=2),  # ready
               told("destroy", 3350, 4), told("end", 3500, 3, written=2), told("wake", 5300, 6), told("wake", 5350, 6, waker=5),
               told("end", 5400, 5, written=1, destroyed=True, cancelled=True, was_suspended=True)]
    bundle = check(dir, write(dir, "steps.jsonl", lines, sorted(sidecar, key=lambda e: e.get("ts", 0))))
    rows = bundle.coroutines()
    equal(len(rows), 7, "coroutines: the id 1 was two")
    equal([(rows[n]["ready"], rows[n]["waited"]) for n in (0, 5)], [(2000 - 1700, 900 + 400), (0, 300)], "sums of 1 and 5")
    equal(bundle.meta["states"][rows[6]["state"]], "ready", "state of the last")


if __name__ == "__main__":
    main()
