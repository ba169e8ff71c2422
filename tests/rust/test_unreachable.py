#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_unreachable.py - a suspended future without a waker is recorded, and no other future."""
from rust import *

DROPPED, DROPPED_INNER = 0x57414B45, 0x57414B49  # CTP_WAKERS_DROPPED, in lanes.h


@test
def futures_that_nothing_can_wake(dir):
    need_cargo()
    trace = os.path.join(dir, "trace.jsonl")
    status, out, err = tool("run", "--json", "-o", trace, "--", program("unreachable"))
    equal((status, out), (0, ""), f"status and stdout; stderr was\n{err}")
    run = Run(status, out, err, trace)
    names = {r["probe_id"]: r["name"] for r in run.sidecar if r["type"] == "birth"}
    transitions = {id: sum(e["probe_id"] == id for e in run.events) for id in names}
    marks = [(names[r["probe_id"]], r["resource"] >> 32) for r in run.sidecar if r["type"] == "release"]
    equal(sorted(marks), [("dropped", DROPPED), ("dropped-elsewhere", DROPPED), ("inner", DROPPED_INNER),
                          ("not-kept", DROPPED), ("not-kept-later", DROPPED)], "futures without a waker")
    for r in run.sidecar:
        if r["type"] == "release":
            equal(r["resource"] & 0xFFFFFFFF, transitions[r["probe_id"]], f"transitions of {names[r['probe_id']]}")


main()
