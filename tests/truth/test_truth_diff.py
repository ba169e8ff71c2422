# SPDX-License-Identifier: MIT
"""test_truth_diff.py - the numbers of `diff`, compared with durations computed from the raw traces.

DIFF_TARGET: a server whose handler waits and computes as long as its arguments say
"""
from truth import *


def record(dir, name, *args):
    trace = f"{dir}/{name}"
    status, _, err = tool("run", "-q", "-o", trace, "--", os.environ["DIFF_TARGET"], *args)
    equal(status, 0, f"status of run: {err}")
    return trace


class Run:
    """Durations of one run by line, and the coroutines that it left."""

    def __init__(self, path):
        trace = read_trace(path)
        self.wait, self.run, self.ready = (collections.defaultdict(list) for _ in range(3))
        last, woken = {}, {}
        for e in sorted(trace.events, key=lambda e: e["ts"]):
            before = last.get(e["id"])
            if e["kind"] == "wake" and before and before["kind"] == "suspend":
                woken[e["id"]] = e["ts"]
            if e["kind"] not in ("suspend", "resume"):
                continue
            if e["kind"] == "resume" and e["id"] in woken:
                self.ready[trace.sites[before["site"]]["line"]].append(e["ts"] - woken.pop(e["id"]))
            if before and e["kind"] == "resume" and before["kind"] == "suspend":
                self.wait[trace.sites[before["site"]]["line"]].append(e["ts"] - before["ts"])
            if before and e["kind"] == "suspend" and before["kind"] == "resume":
                self.run[trace.sites[e["site"]]["line"]].append(e["ts"] - before["ts"])
            last[e["id"]] = e
        self.left = len({e["id"] for e in trace.others if e["kind"] == "birth"}) - \
            len({e["id"] for e in trace.others if e["kind"] == "end"})
        self.lines = set(self.wait) | set(self.run)


def quantile(values, permille):
    ordered = sorted(values)
    return ordered[-(-len(ordered) * permille // 1000) - 1]


def close_to(n, path, exact):
    """A histogram's value: at most 1/64 above."""
    n.within(path, exact, exact + exact // 64 + 1)


@check
def diff_compares_what_the_traces_hold(n, base, head):
    counts = collections.Counter(c["class"] for c in n.output["changes"])
    n.equal_all("", {key: counts[key] for key in ("worse", "better", "new", "gone")})
    lines = [set.union(*(r.lines for r in side)) for side in (base, head)]
    n.equal("sites_compared", len(lines[0] & lines[1]))
    for i, change in enumerate(n.output["changes"]):
        path = f"changes[{i}]"
        if "line" in change["place"]:
            equal(change["place"]["line"] in lines[0] | lines[1], True, "line of a place")
            n.equal(f"{path}.place.line", change["place"]["line"])
        for key, runs in ("base", base), ("head", head):
            if key in change:
                check_side(n, f"{path}.{key}", change, runs)


def check_side(n, path, change, runs):
    if change["what"] == "left":
        left = [r.left for r in runs]
        n.equal_all(path, {"count": sum(left) // len(left), "least_run": min(left), "greatest_run": max(left)})
        return
    line = change["place"]["line"]
    each = [{"run": r.run, "ready": r.ready}.get(change["what"], r.wait)[line] for r in runs]
    values = sum(each, [])
    n.equal(f"{path}.count", len(values))
    for permille in 500, 900, 990:
        close_to(n, f"{path}.p{permille // 10}_ns", quantile(values, permille) if values else 0)
    if change["what"] == "site":
        return
    n.equal(path.rpartition(".")[0] + ".quantile", {50: 50, 90: 90}[change["quantile"]])
    of_runs = [quantile(v, 10 * change["quantile"]) for v in each]
    close_to(n, f"{path}.least_run_ns", min(of_runs))
    close_to(n, f"{path}.greatest_run_ns", max(of_runs))


@test
def numbers_of_diff_are_those_of_the_traces(dir):
    for form in "jsonl", "ctf":
        base = [record(dir, f"base{i}.{form}") for i in range(3)]
        head = [record(dir, f"head{i}.{form}", "4000", "1000", "60", "1") for i in range(3)]
        n = Numbers("diff", output_of("diff", "--json", *base, "--", *head))
        what = {(c["class"], c["what"]) for c in n.output["changes"]}
        assert {("worse", "wait"), ("worse", "left"), ("new", "site")} <= what, what
        diff_compares_what_the_traces_hold(n, [Run(b) for b in base], [Run(h) for h in head])
        n.done()


if __name__ == "__main__":
    main()
