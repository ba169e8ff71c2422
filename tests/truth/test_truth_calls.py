# SPDX-License-Identifier: MIT
"""test_truth_calls.py - `mem calls`, `export callgrind` and `mem diff`: the records of the trace with stacks and a simulator
in Python; functions by the symbols that nm prints."""
import atexit
import bisect
import collections
import functools
import tempfile

from truth import *

sys.path.insert(0, os.path.join(SOURCE, "tests", "memory", "sim"))
from reference import Machine  # noqa: E402

LEVELS = [{"name": "L1", "size": 4096, "line": 64, "ways": 4, "policy": "lru", "write": "back", "allocate": True,
           "inclusion": "non-inclusive", "prefetch": "none", "share": 1},
          {"name": "L2", "size": 32768, "line": 64, "ways": 8, "policy": "lru", "write": "back", "allocate": True,
           "inclusion": "non-inclusive", "prefetch": "none", "share": "all"}]
CACHES = ["-l", "L1=4K,4", "-l", "L2=32K,8"]
LIBRARY = "(library)"
CALLED = os.path.join(SOURCE, "tests/memory/calls/called.c")
NODES = os.path.join(SOURCE, "tests/memory/calls/nodes.c")


class Program:
    """A program at fixed addresses, and its functions."""

    def __init__(self, dir, source, name, *options):
        self.path = os.path.join(dir, name)
        status, out, err = tool("mem", "cc", "--compiler=gcc", "-g", "-O1", "-no-pie", *options, source, "-o", self.path, "-pthread")
        equal(status, 0, f"status of mem cc ({out}{err})")
        symbols = subprocess.run(["nm", "-n", "--defined-only", self.path], capture_output=True, text=True, check=True).stdout
        found = [line.split() for line in symbols.splitlines() if line.split()[1] in "tTwW"]
        self.starts, self.names = [int(a, 16) for a, _, _ in found], [name for _, _, name in found]
        self.end = self.starts[-1] + (1 << 16)

    @functools.lru_cache(maxsize=None)  # noqa: B019 - a few programs
    def function(self, address):
        if not self.starts[0] <= address < self.end:
            return LIBRARY
        return self.names[bisect.bisect_right(self.starts, address) - 1]


class Counts(collections.Counter):
    """reads, writes, misses of each level."""

    def add(self, counts):
        """As update(), in a fifth of the time."""
        for key, value in counts:
            self[key] += value

    def cost(self):
        return 10 * self["miss0"] + 200 * self["miss1"]

    def compare(self, n, path):
        n.equal_all(path, {"reads": self["reads"], "writes": self["writes"], "misses[0]": self["miss0"], "misses[1]": self["miss1"],
                           "from_peer": 0, "cost": self.cost()})


class Stacks:
    """The records of a trace of one thread: each access with the functions that it is in."""

    def __init__(self, dir, program, name, *args):
        self.trace = os.path.join(dir, name)
        status, _, err = tool("mem", "run", "--stacks", "-q", "-o", self.trace, "--", program.path, *args)
        equal(status, 0, f"status of mem run ({err})")
        self.own, self.whole = collections.defaultdict(Counts), collections.defaultdict(Counts)
        self.arcs, self.calls, self.arc_calls = collections.defaultdict(Counts), collections.Counter(), collections.Counter()
        self.total = Counts()
        machine, stack = Machine({"levels": LEVELS, "tlb": [], "page": 4096}), []
        _, out, _ = tool("mem", "dump", "--json", self.trace)
        for line in out.splitlines():
            r = json.loads(line)
            if r["kind"] == "enter":
                self.enter(program, stack, r)
            elif r["kind"] == "exit":
                del stack[-r["functions"] if r["functions"] else 0:]
            elif r["kind"] in ("read", "write"):
                self.access(program, machine, stack, r)

    def enter(self, program, stack, r):
        """A stack has (function, how it was called, the function that the trace does not have)."""
        function, site = program.function(int(r["function"], 16)), program.function(int(r["call_site"], 16) - 1)
        between = site if stack and site != stack[-1][0] else None
        caller = between or (stack[-1][0] if stack else None)
        stack.append((function, caller, between))
        if not r.get("repeated"):
            self.calls[function] += 1
            self.arc_calls[caller, function] += 1

    def access(self, program, machine, stack, r):
        before = [level["misses"] for level in machine.counts]
        machine.access(r["thread"], int(r["address"], 16), r["size"], r["kind"] == "write")
        counts = [(r["kind"] + "s", 1)]
        for i, level in enumerate(machine.counts):
            if level["misses"] > before[i]:
                counts.append((f"miss{i}", level["misses"] - before[i]))
        equal(program.function(int(r["pc"], 16) - 1), stack[-1][0], "the innermost function")
        self.total.add(counts)
        self.own[stack[-1][0]].add(counts)
        seen = set()
        for function, caller, between in stack:
            for name, by in (((between, None),) if between else ()) + ((function, caller),):
                if name not in seen:
                    self.whole[name].add(counts)
                    self.arcs[by, name].add(counts)
                seen.add(name)

    @property
    def accesses(self):
        return self.total["reads"] + self.total["writes"]


@functools.cache
def called():
    """The program that calls functions in all ways, traced once for all tests."""
    dir = tempfile.mkdtemp(prefix="corotracer-test-")
    atexit.register(shutil.rmtree, dir, True)
    return Stacks(dir, Program(dir, CALLED, "called"), "called.trace", "alone")


# ---- mem calls -------------------------------------------------------------------------------------------------


def source_has(path, line, word):
    with open(path, encoding="utf-8") as f:
        return word in "".join(f.readlines()[line - 2:line])


def name_of(s, function):
    return function if function in s.whole else LIBRARY


@check
def mem_calls_counts_as_stacks_in_python(n, s):
    n.equal_all("", {"accesses": s.accesses, "lost": 0, "merged_calls": 0, "functions_of": len(s.whole)})
    s.total.compare(n, "total")
    equal({name_of(s, f["name"]) for f in n.output["functions"]}, set(s.whole), "functions")
    for i, f in enumerate(n.output["functions"]):
        name = name_of(s, f["name"])
        s.own[name].compare(n, f"functions[{i}].exclusive")
        s.whole[name].compare(n, f"functions[{i}].inclusive")
        n.equal_all(f"functions[{i}]", {"calls": s.calls[name] or None})
        if n.has(f"functions[{i}].line"):
            if name != LIBRARY:
                equal(source_has(CALLED, f["line"], name + "("), True, f"line of {name}")
            n.equal(f"functions[{i}].line", f["line"])


@check
def mem_calls_counts_callers_and_callees(n, s):
    for kind, other in (("callers", 0), ("callees", 1)):
        sums, times = collections.defaultdict(Counts), collections.Counter()
        f = n.output["functions"][0]
        for k, arc in enumerate(f[kind]):
            path = f"functions[0].{kind}[{k}]"
            pair = (name_of(s, arc["name"]), f["name"]) if other == 0 else (f["name"], name_of(s, arc["name"]))
            c = arc["inclusive"]
            sums[pair].update(Counts(reads=c["reads"], writes=c["writes"], miss0=c["misses"][0], miss1=c["misses"][1]))
            times[pair] += arc["calls"] or 0
            for key in ("reads", "writes", "misses[0]", "misses[1]", "from_peer", "cost"):
                n.within(f"{path}.inclusive.{key}", 0, n[f"functions[0].inclusive.{key}"])
            if arc["calls"] is not None:
                n.within(f"{path}.calls", 1, sum(s.calls.values()))
            if arc["line"] is not None:
                equal(source_has(CALLED, arc["line"], "(" if other == 0 else arc["name"] + "("), True, f"line of a call of {arc['name']}")
                n.equal(f"{path}.line", arc["line"])
        for pair, want in s.arcs.items():
            if pair[1 - other] == f["name"] and pair[other]:
                # Calls of the function by itself have no cost of their own.
                equal({k: v for k, v in sums[pair].items() if v}, {k: v for k, v in want.items() if v}, f"{kind} {pair}")
                equal(times[pair], s.arc_calls[pair], f"calls {pair}")


@check
def export_callgrind_counts_what_it_wrote(n, s, text):
    n.equal_all("", {"accesses": s.accesses, "lost": 0})
    n.equal("functions", len(set(re.findall(r"^fn=\(\d+\) (.*)$", text, re.M)) | set(re.findall(r"^cfn=\(\d+\) (.*)$", text, re.M))) - 1)


@test
def costs_by_function_are_told_exactly(dir):
    s = called()
    n = Numbers("mem calls", output_of("mem", "calls", "--json", "-n", "1000", "-s", "inclusive", *CACHES, s.trace))
    mem_calls_counts_as_stacks_in_python(n, s)
    n.done()
    for name in "read_far", "recurse", "odd", "sort_some", "main":
        n = Numbers("mem calls", output_of("mem", "calls", "--json", "-f", name, *CACHES, s.trace))
        mem_calls_counts_callers_and_callees(n, s)
    for kind in "callgrind", "folded":
        status, _, err = tool("export", kind, "--json", *CACHES, "-i", s.trace)
        equal(status, 0, err)
        with open(s.trace + ".callgrind", encoding="utf-8") as f:
            n = Numbers("export callgrind", json.loads(err))
            export_callgrind_counts_what_it_wrote(n, s, f.read())
        n.done()


@test
def the_text_of_mem_calls_has_the_same_numbers(dir):
    s = called()
    status, out, err = tool("mem", "calls", "-n", "3", *CACHES, s.trace)
    equal(status, 0, err)
    text = Text(out)
    text.line(r"^([\d,]+) accesses", count_text(s.accesses))
    best = sorted((name for name in s.own if s.own[name]), key=lambda name: -s.own[name].cost())
    for name in best[:3]:
        share = lambda c: f"{100 * c.cost() / s.total.cost():.1f}"  # noqa: E731
        text.line(rf"^{name} +([\d,]+) +([\d,]+) +([\d.]+) % +([\d,]+) +([\d.]+) % +([\d,]+)  called.c:\d+$", count_text(s.calls[name]),
                  count_text(s.own[name].cost()), share(s.own[name]), count_text(s.whole[name].cost()), share(s.whole[name]),
                  count_text(s.own[name]["miss1"]))
    text.line(r"^and (\d+) more", len([c for c in s.own.values() if c]) - 3)


# ---- mem diff ----------------------------------------------------------------------------------------------------


@check
def mem_diff_counts_as_both_traces(n, sides, sims):
    for side, s in sides.items():
        n.equal_all(side, {"lost": 0, "total.accesses": s.accesses, "total.misses[0]": s.total["miss0"], "total.misses[1]": s.total["miss1"],
                           "total.cost": s.total.cost()})
        types = {t["name"]: t for t in sims[side]["types"]}
        for i, change in enumerate(n.output["changes"]):
            if change[side] is None:
                continue
            path = f"changes[{i}].{side}"
            if change["kind"] == "function":
                c = s.own[change["name"]]
                n.equal_all(path, {"accesses": c["reads"] + c["writes"], "misses[0]": c["miss0"], "misses[1]": c["miss1"], "cost": c.cost()})
                continue
            if change["kind"] == "site":
                row, = [a for a in sims[side]["allocation_sites"] if a["function"] == change["name"]]
            else:
                row = types[change["name"]]
            if n.has(f"{path}.size"):
                n.equal(f"{path}.size", {"base": 16, "head": 64}[side] if change["name"] == "struct node" else row["size"])
            if change["kind"] == "field":
                row = next(f for f in row["fields"] if f["name"] == change["part"])
            n.equal_all(path, {"accesses": row["reads"] + row["writes"], "misses[0]": row["misses"][0], "misses[1]": row["misses"][1],
                               "cost": 10 * row["misses"][0] + 200 * row["misses"][1]})


@check
def mem_diff_repeats_its_limits(n, percent, share, same):
    n.equal_all("", {"threshold": percent, "min_share": share, "same": same})


@test
def differences_are_told_exactly(dir):
    reads = "-DREADS=" + ("20000" if FULL else "8000")
    sides = {side: Stacks(dir, Program(dir, NODES, side, f"-DEXTRA={extra}", reads), side + ".trace") for side, extra in (("base", 8), ("head", 56))}
    sims = {side: output_of("mem", "sim", "--json", "--blame", "-n", "1000", *CACHES, s.trace) for side, s in sides.items()}
    n = Numbers("mem diff", output_of("mem", "diff", "--json", "--threshold", "7.5", "--min-share", "0.25", *CACHES,
                                      *(s.trace for s in sides.values())))
    everything = output_of("mem", "diff", "--json", "--threshold", "0", "--min-share", "0", *CACHES, *(s.trace for s in sides.values()))
    rows = len(everything["changes"]) + everything["same"]
    mem_diff_counts_as_both_traces(n, sides, sims)
    mem_diff_repeats_its_limits(n, 7.5, 0.25, rows - len(n.output["changes"]))
    assert {c["kind"] for c in n.output["changes"]} == {"type", "field", "site", "function"}, n.output["changes"]
    n.done()


if __name__ == "__main__":
    main()
