# SPDX-License-Identifier: MIT
"""test_diff.py - `corotracer diff` on real runs of a server whose handler gets slower.

DIFF_TARGET, DIFF_TARGET_MOVED: diff_target.c, and the same with its code at other lines
"""
from harness import *

SAME, SLOW, BUSY = [], ["3000", "30000"], ["500", "2000"]


def record(dir, name, *args, moved=False):
    trace = f"{dir}/{name}.jsonl"
    program = os.environ["DIFF_TARGET_MOVED" if moved else "DIFF_TARGET"]
    status, _, err = tool("run", "-q", "-o", trace, "--", program, *args)
    equal(status, 0, f"status of run: {err}")
    return trace


def record_in_turn(dir, nr, base, head, **kwargs):
    """Traces of both versions, one after the other in turn: load on the machine changes both."""
    pairs = [(record(dir, f"base{i}", *base), record(dir, f"head{i}", *head, **kwargs)) for i in range(nr)]
    return [b for b, _ in pairs], [h for _, h in pairs]


def diff(base, head, *options, status=0):
    got, out, err = tool("diff", "--json", *options, *base, "--", *head)
    equal((got, err), (status, ""), "status, stderr of diff")
    return json.loads(out)


def changes(r, **wanted):
    return [c for c in r["changes"] if all(c[k] == v for k, v in wanted.items())]


def function(change):
    return change["place"]["text"].split(" ")[-1]


@test
def the_same_program_has_no_difference(dir):
    base, head = record_in_turn(dir, 3, SAME, SAME)
    r = diff(base, head, "--fail-on-regression")
    equal((r["changes"], r["worse"], r["sites_compared"] >= 3), ([], 0, True), "changes, worse, sites")
    equal((r["base"], r["head"], r["notes"]), (base, head, []), "traces and notes")
    status, out, _ = tool("diff", *base, "--", *head)
    equal(status, 0, "status")
    contains(out, "no difference beyond noise")


@test
def a_slower_handler_is_found_though_all_lines_moved(dir):
    # A busy machine delays the faster handler, too; then the slower one must be slower still.
    for slow in SLOW:
        base, head = record_in_turn(dir, 3, SAME, [slow], moved=True)
        if all(diff(b, h)["worse"] for b, h in ((base, head), (base[:1], head[:1]))):
            break
    for b, h in (base, head), (base[:1], head[:1]):
        r = diff(b, h, "--fail-on-regression", status=1)
        worse = changes(r, what="wait", **{"class": "worse"})
        equal("handle_request" in map(function, worse), True, f"the handler is found: {r['changes']}")
        handler, = [c for c in worse if function(c) == "handle_request"]
        equal(handler["place"]["line"] > 1000, True, "the line is that of the new version")
        assert handler["head"]["p50_ns"] >= 3000000 > handler["base"]["least_run_ns"], handler
        equal([c for c in r["changes"] if c["class"] in ("new", "gone")], [], "new or gone")
        equal(diff(b, h)["worse"], r["worse"], "without the gate")
    # The other way round it is an improvement, and fails nothing.
    r = diff(head, base, "--fail-on-regression")
    equal("handle_request" in map(function, changes(r, what="wait", **{"class": "better"})), True, "the handler is better")
    status, out, _ = tool("diff", "--markdown", "--fail-on-regression", *base, "--", *head)
    equal(status, 1, "status")
    contains(out, "| **worse** | waits longer | ")
    contains(out, "3 base runs, 3 head runs")
    status, out, _ = tool("diff", *base, "--", *head, "--color=always")
    contains(out, "\033[1;31mWORSE")


@test
def more_cpu_time_is_found_where_it_is_spent(dir):
    base, head = record_in_turn(dir, 3, SAME, BUSY)
    longer = changes(diff(base, head), what="run", **{"class": "worse"})
    # The time between the wait in the handler and the next wait of the server.
    equal("serve" in map(function, longer) or "handle_request" in map(function, longer), True, f"found in {longer}")


@test
def what_is_left_and_what_is_new_is_found(dir):
    base, head = record(dir, "base"), record(dir, "head", "500", "20", "60", "1")
    r = diff([base], [head], "--fail-on-regression", status=1)
    left, = changes(r, what="left")
    equal((left["class"], left["base"]["count"], left["head"]["count"]), ("worse", 0, 60), "coroutines left")
    contains(left["place"]["text"], "left, ")
    equal({function(c) for c in changes(r, what="site", **{"class": "new"})}, {"handle_request", "wait_for_nothing"}, "new sites")
    equal({function(c) for c in changes(diff([head], [base]), what="site", **{"class": "gone"})},
          {"handle_request", "wait_for_nothing"}, "sites that are gone")


@test
def a_new_strong_finding_is_a_regression(dir):
    buggy = os.environ["CORPUS_BUGGY"]
    traces = []
    for scenario in "deadlock", "suspended-at-exit":
        traces.append(f"{dir}/{scenario}.jsonl")
        equal(tool("run", "-q", "-o", traces[-1], "--", buggy, scenario)[0], 0, "status of run")
    new = changes(diff(traces[1:], traces[:1], "--fail-on-regression", status=1), what="finding", **{"class": "worse"})
    equal([c["detector"] for c in new], ["deadlock"], "new findings")
    gone = changes(diff(traces[:1], traces[1:]), what="finding", **{"class": "better"})
    equal([c["detector"] for c in gone], ["deadlock"], "findings that are gone")


@test
def the_command_line_is_checked(dir):
    trace = record(dir, "t")
    for wrong in ([], [trace], [trace, trace, trace], ["--", trace], [trace, "--"], ["--color=red", trace, trace],
                  ["--threshold", "0", trace, trace], ["--no-such", trace, trace]):
        status, out, err = tool("diff", *wrong)
        equal((status, out), (2, ""), f"status, stdout of {wrong}")
        contains(err, "corotracer diff: ")
    status, out, err = tool("diff", trace, dir + "/none.jsonl")
    equal((status, out), (1, ""), "status without a trace")
    contains(err, "cannot open")
    equal(tool("diff", "-o", dir + "/out", trace, trace)[:2], (0, ""), "status, stdout with a file")
    with open(dir + "/out", encoding="utf-8") as f:
        contains(f.read(), "no difference beyond noise")
    # A trace from which events are missing must not pass for a good one.
    with open(trace, encoding="utf-8") as f:
        lines = f.readlines()
    with open(trace, "w", encoding="utf-8") as f:
        f.writelines(lines[:len(lines) // 2])
    other = record(dir, "other")
    status, out, _ = tool("diff", other, trace)
    equal(status, 1, "status with an incomplete trace")
    contains(out, "is incomplete")


if __name__ == "__main__":
    main()
