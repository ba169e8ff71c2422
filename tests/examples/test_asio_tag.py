# SPDX-License-Identifier: MIT
"""test_asio_tag.py - Asio coroutines, traced by their first parameter: exactly their awaits."""
import collections

from example_servers import *

FILE = "tests/examples/asio_tag.cpp"
FLOWS, ROUNDS = 20, 30


def trace_of(dir):
    trace = os.path.join(dir, "trace.jsonl")
    status, out, err = tool("run", "--json", "--on-full", "block", "-o", trace, "--", SERVER, FLOWS, ROUNDS,
                            env=SANITIZERS)
    equal((status, out), (0, ""), f"status and output, with {err!r}")
    return Run(status, out, err, trace)


@test
def every_await_of_every_awaitable_is_there_once(dir):
    run = trace_of(dir)
    equal(run.summary["lost"], 0, "events lost")
    check_order(run.events)
    per = collections.defaultdict(lambda: [0, 0])
    for e in run.events:
        per[e["probe_id"]][1 if e["is_active"] else 0] += 1
    # Suspended at the start, then at each co_await; the one that waits for ever has no resume from
    # there.
    equal(collections.Counter(map(tuple, per.values())),
          {(1 + 2 * ROUNDS, 1 + 2 * ROUNDS): FLOWS, (2, 2): FLOWS * ROUNDS, (2, 1): 1}, "suspends and resumes")
    kinds = collections.Counter(r["type"] for r in run.sidecar)
    equal(kinds["birth"], FLOWS + FLOWS * ROUNDS + 1, "births")
    equal(kinds["destroy"] + kinds["end"], 2 * FLOWS + 2 * FLOWS * ROUNDS + 1, "ends and destructions")
    equal(info(run)["not_ended"], 0, "not ended")


@test
def each_is_at_its_line(dir):
    run = trace_of(dir)
    sites = {r["id"]: f"{r['file']}:{r['line']}" for r in run.sidecar if r["type"] == "site"}
    at = collections.Counter(sites[e["site"]] for e in run.events if not e["is_active"])
    awaits = {
        line_of(FILE, "co_await child("): FLOWS * ROUNDS,
        line_of(FILE, "co_await asio::post("): FLOWS * ROUNDS,
    }
    for line, wanted in awaits.items():
        equal(at[f"{FILE}:{line}"], wanted, f"suspends at line {line}")


main()
