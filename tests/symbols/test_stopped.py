# SPDX-License-Identifier: MIT
"""test_stopped.py - for a trace of another SDK the report names the coroutines that stopped.

WRITER_STOPS: a program that writes as that SDK does
"""
import os
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/cli")
from harness import *  # noqa: E402

WRITER = os.environ["WRITER_STOPS"]


def report(trace):
    status, out, err = tool("report", "--json", trace)
    equal((status, err), (0, ""), "status, stderr of report")
    return json.loads(out)


def run(dir, coroutines, stop, rounds, pause_us, long_every):
    """The trace as the existing coroTracer writes it (no sidecar), and the coroutines that stopped."""
    trace = os.path.join(dir, "t.jsonl")
    status, out, err = tool("run", "-q", "-n", coroutines, "-o", trace, "--", WRITER, coroutines, stop, rounds, pause_us,
                            long_every)
    equal(status, 0, f"status of run: {err}")
    return trace, {int(line) for line in out.split()}


def check(r, stopped):
    found, = [f for f in r["findings"] if f["detector"] == "lost-wakeup"]
    equal((found["confidence"], found["count"]), ("suspect", len(stopped)), "the coroutines that stopped")
    assert found["example"]["probe_id"] in stopped, found["example"]
    blocking = [f for f in r["findings"] if f["detector"] == "blocking"]
    assert len(blocking) <= 1, f"{len(blocking)} groups of blocking"
    equal(sorted({f["detector"] for f in r["findings"]} - {"blocking", "lost-wakeup", "suspended-at-exit"}), [], "other findings")
    assert any("belong each to one coroutine" in n for n in r["notes"]), r["notes"]


@test
def coroutines_of_another_sdk_that_stopped_are_one_suspicion(dir):
    trace, stopped = run(dir, 64, 47, 80, 35000, 8)
    equal(len(stopped), 47, "coroutines that stopped")
    # The collector knows the code of the program, so its addresses are not sites either.
    check(report(trace), stopped)
    os.remove(trace + ".meta")
    check(report(trace), stopped)


@test
def where_all_go_on_none_has_stopped(dir):
    trace, _ = run(dir, 32, 0, 20, 20000, 1000)
    os.remove(trace + ".meta")
    equal([f for f in report(trace)["findings"] if f["detector"] == "lost-wakeup"], [], "suspicions")


if __name__ == "__main__":
    main()
