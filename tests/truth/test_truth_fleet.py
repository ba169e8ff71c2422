# SPDX-License-Identifier: MIT
"""test_truth_fleet.py - `fleet`: a trace in a real ClickHouse server, asked; against the waits that Python pairs in the same trace.

tests/fleet compares every column of every question on rows of many hosts.
"""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fleet"))
from fleet_servers import ClickHouse  # noqa: E402
from truth import *  # noqa: E402


def waits_of(trace):
    """By site: the lengths of the waits, None for one without an end."""
    begun, waits = {}, collections.defaultdict(list)
    for e in trace.events:
        if e["kind"] in ("suspend", "resume", "end", "destroy") and e["id"] in begun:
            site, ts = begun.pop(e["id"])
            waits[site].append(e["ts"] - ts)
        if e["kind"] == "suspend":
            begun[e["id"]] = (e.get("site", 0), e["ts"])
    for site, _ in begun.values():
        waits[site].append(None)
    return waits


def percentile(values, share):
    return sorted(values)[max(0, -(-int(share * 100) * len(values) // 100) - 1)]


@check
def fleet_answers_with_the_waits_of_the_trace(n, waits):
    """Sums are exact; a percentile from the histograms is in the same step of two."""
    rows = sorted(([w for w in lengths if w is not None], len(lengths)) for lengths in waits.values())
    rows.sort(key=lambda r: -sum(r[0]))
    for i, (ended, nr) in enumerate(rows):
        n.equal(f"rows[{i}].waits", nr)
        n.equal(f"rows[{i}].total_ns", sum(ended))
        n.equal(f"rows[{i}].max_ns", max(ended, default=0))
        for share, key in ((0.5, "p50_ns"), (0.99, "p99_ns")):
            true = percentile(ended, share) if ended else 0
            n.within(f"rows[{i}].{key}", true // 2, 2 * true)


@check
def fleet_gives_the_account_of_the_runs(n, trace, began_s):
    n.equal_all("account", {"runs": 1, "hosts": 1, "running": 0, "transitions_loaded": len(trace.transitions), "transitions_lost": 0,
                            "transitions_given_up": 0, "transitions_not_loaded": 0, "missing_blocks": 0, "damaged_blocks": 0, "incomplete": 0,
                            "sampled": 0, "sample_most": 1, "clocks_off": 0})
    n.within("since_s", began_s - 3600, time.time() - 3600)
    n.equal("until_s", 2**32 - 1)


@test
def fleet_of_one_host_is_exact(dir):
    server = ClickHouse()
    run = TracedRun(dir, name="t.ct")
    trace = read_trace(run.trace)
    status, _, err = tool("load", "--into", server.url(), "--state", dir + "/state", "--no-findings", run.trace)
    equal(status, 0, err)
    began = int(time.time())
    status, out, err = tool("fleet", "slowest", "--json", "--limit", "1000", "--from", server.url())
    equal(status, 0, err)
    n = Numbers("fleet", json.loads(out))
    fleet_answers_with_the_waits_of_the_trace(n, waits_of(trace))
    fleet_gives_the_account_of_the_runs(n, trace, began)
    n.done()


if __name__ == "__main__":
    main()
