# SPDX-License-Identifier: MIT
"""test_unchanged.py - programs without a line of tracing, compiled with -include corotracer/cpp/trace_all.h."""
import collections

from cpp_traces import *

PROGRAMS = os.environ.get("UNCHANGED_PROGRAMS", "build/tests/cpp/unchanged_")


def run_unchanged(dir, name, *args):
    """Its trace; None if the program was not built, for lack of its library."""
    if not os.path.exists(PROGRAMS + name):
        print(f"# {name} was not built: its library is not installed, or this is a build with sanitizers")
        return None
    trace = os.path.join(dir, "trace.jsonl")
    status, out, err = tool("run", "--json", "--on-full", "block", "-o", trace, "--", PROGRAMS + name, *args)
    equal((status, out), (0, "right\n"), f"status and output of {name}, with {err!r}")
    run = Run(status, out, err, trace)
    equal(run.summary["lost"], 0, f"events lost by {name}")
    kinds = collections.Counter(r["type"] for r in run.sidecar)
    ended = {r["probe_id"] for r in run.sidecar if r["type"] in ("end", "destroy")}
    equal(len(ended), kinds["birth"], f"coroutines of {name} that ended, of those created")
    return run


def by_function(run):
    """Function to a list of (suspends, resumes), one per coroutine that suspended there."""
    function = {r["id"]: r["function"] for r in run.sidecar if r["type"] == "site"}
    per = collections.defaultdict(lambda: [None, 0, 0])
    for e in run.events:
        mine = per[e["probe_id"]]
        mine[2 if e["is_active"] else 1] += 1
        if not e["is_active"] and mine[0] is None:
            mine[0] = function[e["site"]]
    found = collections.defaultdict(list)
    for name, suspends, resumes in per.values():
        found[name].append((suspends, resumes))
    return {name: sorted(counts) for name, counts in found.items()}


def reasons_of(run, function):
    """Reason to number, of the suspends in @function."""
    sites = {r["id"] for r in run.sidecar if r["type"] == "site" and r["function"] == function}
    return collections.Counter(e.get("reason", "") for e in run.events if not e["is_active"] and e["site"] in sites)


@test
def promises_of_every_kind(dir):
    run = run_unchanged(dir, "shapes")
    found = by_function(run)
    name, = [f for f in found if "lambda" in f]
    equal(found, {
        "final_root": [(5, 5)],        # its start, and four tasks
        "final_leaf": [(2, 2)] * 4,
        "numbers": [(5, 5)],           # its start, and four values
        "lines": [(3, 3)],
        "weighs": [(2, 2)],
        "Scale::method": [(1, 1)],
        name: [(1, 1)],
        "start": [(1, 1)],             # the second one had no memory
    }, "suspends and resumes")
    equal(reasons_of(run, "final_root")["join"], 4, "tasks that were recognised in co_await")


@test
def a_program_on_asio(dir):
    flows, rounds = 8, 20
    run = run_unchanged(dir, "asio_flows", flows, rounds)
    if run:
        found = by_function(run)
        equal(found["flow"], [(1 + 2 * rounds, 1 + 2 * rounds)] * flows, "flows")
        equal(found["turn"], [(2, 2)] * (flows * rounds), "turns")


@test
def a_program_on_qcoro(dir):
    run = run_unchanged(dir, "qcoro_tasks")
    if run:
        equal(by_function(run), {"adds": [(5, 5)], "after_a_timer": [(1, 1)] * 5}, "suspends and resumes")
        equal(reasons_of(run, "adds"), {"join": 5}, "tasks that were recognised in co_await")


@test
def all_of_them_run_untraced(dir):
    for name in "shapes", "asio_flows", "qcoro_tasks":
        if os.path.exists(PROGRAMS + name):
            run = subprocess.run([PROGRAMS + name], capture_output=True, text=True, timeout=300)
            equal((run.returncode, run.stdout, run.stderr), (0, "right\n", ""), f"status and output of {name}")


main()
