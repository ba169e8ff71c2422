# SPDX-License-Identifier: MIT
"""test_c_loops.py - the C examples on libuv, on io_uring and on fibers: exactly what each of them does is traced."""
import collections

from harness import *

C_EXAMPLES = os.environ.get("C_EXAMPLES", "build/examples/c")
CLIENTS, REQUESTS = 4, 10
VALUES = 10
BLOCK = 4096


def run_example(dir, name, *args):
    """Its output and its trace."""
    program = os.path.join(C_EXAMPLES, name)
    if not os.path.exists(program):
        raise Skip(f"no {name} here: its library is not installed")
    trace = os.path.join(dir, "trace.jsonl")
    status, out, err = tool("run", "--json", "--on-full", "block", "-o", trace, "--", program, *args)
    if status == 77:
        raise Skip("the system does not permit io_uring")
    equal(status, 0, f"status of {name}, with {err!r}")
    run = Run(status, out, err, trace)
    equal(run.summary["lost"], 0, f"events lost by {name}")
    return run


def by_name(run):
    """Name of a coroutine to the reasons of its suspends, counted, for each such coroutine."""
    names = {r["probe_id"]: r.get("name") for r in run.sidecar if r["type"] == "birth"}
    reasons = {id: collections.Counter() for id in names}
    for e in run.events:
        if not e["is_active"]:
            reasons[e["probe_id"]][e.get("reason", "")] += 1
    found = collections.defaultdict(list)
    for id, counts in reasons.items():
        found[names[id]].append(dict(counts))
    return found


def findings(run):
    """Names of the coroutines in the findings of the report."""
    status, out, err = tool("report", "--json", "--min-age", 1, run.trace)
    equal(status, 0, f"status of the report, with {err!r}")
    names = {r["probe_id"]: r.get("name") for r in run.sidecar if r["type"] == "birth"}
    return sorted(names[c["probe_id"]] for f in json.loads(out)["findings"] for c in f["coroutines"])


@test
def every_operation_on_libuv_is_a_wait(dir):
    run = run_example(dir, "uv-echo")
    equal(run.out, f"{CLIENTS * REQUESTS} answers\n", "output")
    equal(by_name(run), {
        "client": [{"connect": 1, "io-write": REQUESTS, "io-read": REQUESTS}] * CLIENTS,
        "connection": [{"io-write": REQUESTS, "io-read": REQUESTS + 1}] * CLIENTS,
    }, "reasons")
    equal(findings(run), [], "findings")


@test
def connections_that_the_server_forgot_are_reported(dir):
    run = run_example(dir, "uv-echo", "--forget", 2)
    equal(findings(run), ["client", "client", "connection", "connection"], "coroutines in the findings")


@test
def every_operation_on_io_uring_is_a_wait(dir):
    source, copy, blocks = os.path.join(dir, "from"), os.path.join(dir, "to"), 13
    with open(source, "wb") as f:
        f.write(os.urandom(blocks * BLOCK - 100))
    run = run_example(dir, "uring-copy", source, copy)
    with open(source, "rb") as a, open(copy, "rb") as b:
        equal(a.read() == b.read(), True, "the copy is equal")
    operations = int(run.out.split()[0])
    copiers = by_name(run)
    equal(sorted(copiers), [f"copier {i}" for i in range(4)], "copiers")
    total = sum((collections.Counter(c[0]) for c in copiers.values()), collections.Counter())
    equal(sum(total.values()), operations, "waits, and operations that the program counted")
    equal(total["io-read"] >= blocks and total["io-write"] >= blocks, True, f"reads and writes in {total}")
    equal(findings(run), [], "findings")


@test
def fibers_that_are_switched_by_hand(dir):
    run = run_example(dir, "fibers")
    equal(run.out, "sum 165\n", "output")
    # A fiber waits for its first resume, without a reason; then it yields.
    equal(by_name(run), {name: [{"": 1, "yield": VALUES}] * 3 for name in ("producer", "consumer")}, "reasons")
    names = {r["probe_id"]: r.get("name") for r in run.sidecar if r["type"] == "birth"}
    wakers = collections.Counter((names[r["probe_id"]], names.get(r.get("waker"))) for r in run.sidecar if r["type"] == "wake")
    equal(wakers, {("producer", "consumer"): 3 * (VALUES + 1), ("consumer", None): 3 * (VALUES + 1)}, "wakers")
    equal(findings(run), [], "findings")


@test
def a_fiber_that_is_dropped_is_reported(dir):
    run = run_example(dir, "fibers", "--drop")
    equal(findings(run), ["consumer", "producer"], "coroutines in the findings")


main()
