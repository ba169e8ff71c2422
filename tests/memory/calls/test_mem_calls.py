#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_mem_calls.py - mem calls, export callgrind and export folded: costs by function, compared with the program,
with `mem sim`, and with what callgrind_annotate reads from the file."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "memory-rt"))
from rt import CLEAN, Skip, TOOL, collected, compile, contains, each_family, equal, main, test  # noqa: E402

CACHES = ("--cache", "L1=4K,4", "--cache", "LL=64K,8")


def tool(*args, status=0):
    r = subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True, env=CLEAN)
    equal(r.returncode, status, f"status of {args}: {r.stderr}")
    return r


def traced(dir, cc="gcc", level="-O1", stacks=True):
    program = compile(dir, "called", cc, level, source=HERE / "called.c", out=f"called-{cc}{level}")
    trace = f"{program}-{stacks}.trace"
    collected(program, trace=trace, options=("--stacks",) if stacks else ())
    return trace


def calls(trace, *options):
    return json.loads(tool("mem", "calls", "--json", "-n", 100000, *CACHES, *options, trace).stdout)


def by_name(result):
    """Exclusive, inclusive and calls of each function."""
    names = collections.Counter(f["name"] for f in result["functions"])
    equal([n for n, times in names.items() if times > 1], [], "names of several functions")
    return {f["name"]: f for f in result["functions"]}


def cost(counts):
    """What the next level takes, 10 and 200 cycles, and 60 for a line of another core."""
    return 10 * counts["misses"][0] + 200 * counts["misses"][1] + 60 * counts["from_peer"]


@each_family
def the_program_calls_what_it_says(dir, cc, cxx):
    for level in ("-O0", "-O1", "-O2"):
        found = by_name(calls(traced(dir, cc, level), "--sort", "inclusive"))
        want = {"main": 1, "work_twice": 20, "write_near": 21, "after_jump": 1, "sort_some": 1, "other_thread": 1}
        equal({n: found[n]["calls"] for n in want if n in found}, {n: want[n] for n in want if n in found}, f"calls with {level}")
        # Loops of known lengths.
        equal(found["read_far"]["inclusive"]["reads"] >= 20 * 600 + 31 * 50 + 300, True, "reads of read_far")
        if level == "-O1":
            equal({n: found[n]["calls"] for n in want}, want, "calls")
            equal(found["read_far"]["calls"], 40 + 31 + 1, "calls of read_far")
            equal(found["read_far"]["exclusive"]["reads"], 20 * 600 + 31 * 50 + 300, "reads of read_far")
            equal(found["write_near"]["exclusive"]["writes"], 20 * 100 + 5000, "writes of write_near")


@each_family
def an_access_is_in_each_function_of_its_stack_once(dir, cc, cxx):
    result = calls(traced(dir, cc), "--sort", "inclusive")
    found, total = by_name(result), result["total"]
    reads = {n: f["inclusive"]["reads"] for n, f in found.items()}
    own = {n: f["exclusive"]["reads"] for n, f in found.items()}
    equal(sum(f["exclusive"]["reads"] for f in by_name(calls(traced(dir, cc))).values()), total["reads"], "all exclusive reads")
    for n, f in found.items():
        assert f["inclusive"]["cost"] <= total["cost"], n
        for part in ("exclusive", "inclusive"):
            equal(f[part]["cost"], cost(f[part]), f"{part} cost of {n}")
    equal(found["main"]["inclusive"]["cost"] + found["other_thread"]["inclusive"]["cost"], total["cost"], "main and the thread")
    equal(reads["work_twice"], own["work_twice"] + 20 * 600, "work_twice with read_far")
    equal(reads["recurse"], own["recurse"] + 31 * 50, "recursion counts once")
    equal(reads["even"], own["even"] + own["odd"], "a circle of two counts once")
    equal(reads["sort_some"], own["sort_some"] + own["compare"], "what the C library calls")
    # The jump left these functions: what follows is not theirs.
    equal(reads["jump_out"], own["jump_out"], "functions that were left by a jump")
    equal(reads["after_jump"], own["after_jump"] + 300, "the function after the jump")


@test
def exclusive_costs_are_those_of_mem_sim(dir):
    for stacks in (True, False):
        trace = traced(dir, stacks=stacks)
        sim = json.loads(tool("mem", "sim", "--blame", "--json", "-n", 1000, *CACHES, trace).stdout)
        want = collections.defaultdict(lambda: [0, 0, 0, 0])
        for s in sim["source_lines"]:
            for i, n in enumerate((s["reads"], s["writes"], *s["misses"])):
                want[s["function"]][i] += n
        result = calls(trace)
        equal({f["name"]: [f["exclusive"][k] for k in ("reads", "writes")] + f["exclusive"]["misses"] for f in result["functions"]},
              dict(want), "counts by function")
        equal((result["has_stacks"], "inclusive" in result["functions"][0]), (stacks, stacks), "stacks")
        equal(result["total"]["misses"], [level["misses"] for level in sim["levels"]], "misses")


@test
def callers_and_callees_add_up(dir):
    trace = traced(dir)
    for name in ("read_far", "recurse", "even", "compare"):
        f, = calls(trace, "-f", name)["functions"]
        for key in ("reads", "writes", "cost"):
            equal(sum(c["inclusive"][key] for c in f["callers"]), f["inclusive"][key], f"{key} of the callers of {name}")
        equal(sum(c["calls"] for c in f["callers"]), f["calls"], f"calls of {name}")
    f, = calls(trace, "-f", "read_far")["functions"]
    source = (HERE / "called.c").read_text(encoding="utf-8").splitlines()
    for c in f["callers"]:
        contains(source[c["line"] - 1], "read_far(")
    equal(len(f["callers"]), 4, "lines that call read_far")
    text = tool("mem", "calls", *CACHES, "-f", "read_far", trace).stdout
    contains(text, "from work_twice")
    contains(tool("mem", "calls", *CACHES, "-f", "nothing", trace, status=1).stderr, "there is no function 'nothing'")


@test
def without_stacks_it_is_said(dir):
    r = tool("mem", "calls", *CACHES, traced(dir, stacks=False))
    contains(r.stderr, "--stacks")
    assert "inclusive" not in r.stdout, r.stdout


# ---- callgrind ---------------------------------------------------------------------------------------------------------


def annotate(file, *options):
    """The table of functions that callgrind_annotate prints: name to (Cost, Dr, Dw)."""
    if not shutil.which("callgrind_annotate"):
        raise Skip("no callgrind_annotate here (package valgrind)")
    r = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", "--show=Cost,Dr,Dw", "--show-percs=no", *options, file],
                       capture_output=True, text=True)
    equal((r.returncode, r.stderr), (0, ""), "callgrind_annotate")
    rows = re.findall(r"^\s*([\d,.]+)\s+([\d,.]+)\s+([\d,.]+)\s+\S+:(\(?\w+\)?) \[", r.stdout, re.M)
    total = re.search(r"^\s*([\d,]+)\s+([\d,]+)\s+([\d,]+)\s+PROGRAM TOTALS", r.stdout, re.M)
    number = lambda text: int(text.replace(",", "").replace(".", "0"))  # noqa: E731
    return {name: tuple(map(number, row)) for *row, name in rows}, tuple(map(number, total.groups()))


def figures(counts):
    return counts["cost"], counts["reads"], counts["writes"]


@each_family
def callgrind_annotate_reads_the_same_costs(dir, cc, cxx):
    for level in ("-O0", "-O2"):
        trace = traced(dir, cc, level)
        file = trace + ".callgrind"
        r = tool("export", "callgrind", *CACHES, "-i", trace, "--json")
        result = calls(trace, "--sort", "inclusive")
        equal(json.loads(r.stderr)["functions"] >= len(result["functions"]), True, "functions in the file")
        for part, options in (("exclusive", ()), ("inclusive", ("--inclusive=yes",))):
            seen, total = annotate(file, *options)
            want = {f["name"]: figures(f[part]) for f in result["functions"]}
            equal(seen.pop("(program)", (0, 0, 0)), figures(result["total"]) if part == "inclusive" else (0, 0, 0), "the root")
            # callgrind_annotate leaves out what costs nothing.
            for name in want:
                equal(seen.get(name, (0, 0, 0)) if want[name][0] or name in seen else want[name], want[name], f"{part} cost of {name} with {level}")
            equal(set(seen) - set(want), set(), "functions of callgrind_annotate")
            equal(total, figures(result["total"]), f"{part} totals")


@test
def callgrind_has_calls_with_lines(dir):
    trace = traced(dir)
    text = tool("export", "callgrind", *CACHES, "-i", trace, "-o", "-").stdout
    contains(text, "events: Cost Dr Dw D1mr D1mw DLmr DLmw")
    names = dict(re.findall(r"^c?fn=\((\d+)\) (.*)$", text, re.M))
    number = next(n for n, name in names.items() if name == "read_far")
    source = (HERE / "called.c").read_text(encoding="utf-8").splitlines()
    sites = re.findall(rf"^cfn=\({number}\).*\ncalls=(\d+) (\d+)\n(\d+) ", text, re.M)
    equal(sorted(int(n) for n, _, _ in sites), [1, 20, 20, 31], "calls of read_far")
    for _, target, line in sites:
        contains(source[int(line) - 1], "read_far(")
        contains("".join(source[int(target) - 2:int(target)]), "long read_far(size_t")


@test
def callgrind_without_stacks_has_exclusive_costs(dir):
    trace = traced(dir, stacks=False)
    tool("export", "callgrind", *CACHES, "-i", trace, "-o", trace + ".cg")
    seen, total = annotate(trace + ".cg")
    result = calls(trace)
    want = {f["name"]: figures(f["exclusive"]) for f in result["functions"]}
    equal({n: v for n, v in seen.items() if v[0]}, {n: v for n, v in want.items() if v[0]}, "exclusive costs")
    equal(total, figures(result["total"]), "totals")
    assert "calls=" not in open(trace + ".cg", encoding="utf-8").read()


# ---- folded ----------------------------------------------------------------------------------------------------------


@test
def folded_stacks_add_up_to_the_tables(dir):
    trace = traced(dir)
    result = calls(trace, "--sort", "inclusive")
    for event, key in (("cost", "cost"), ("reads", "reads"), ("writes", "writes"), ("LL", 1), ("L1", 0)):
        lines = tool("export", "folded", *CACHES, "--event", event, "-i", trace, "-o", "-").stdout.splitlines()
        own, whole = collections.Counter(), collections.Counter()
        for line in lines:
            stack, _, number = line.rpartition(" ")
            names = stack.split(";")
            own[names[-1]] += int(number)
            for name in set(names):
                whole[name] += int(number)
        value = lambda counts: counts["misses"][key] if isinstance(key, int) else counts[key]  # noqa: E731
        for f in result["functions"]:
            equal((own[f["name"]], whole[f["name"]]), (value(f["exclusive"]), value(f["inclusive"])), f"{event} of {f['name']}")
        equal(len(lines), len(set(line.rpartition(" ")[0] for line in lines)), "a stack has one line")
    contains(tool("export", "folded", *CACHES, "--event", "L7", "-i", trace, status=2).stderr, "hint: expected cost, accesses, reads, writes")


@test
def outputs_and_arguments(dir):
    trace = traced(dir)
    contains(tool("export", "callgrind", "-i", trace, "extra", status=2).stderr, "extra")
    contains(tool("export", "folded", status=2).stderr, "-i TRACE")
    tool("export", "folded", *CACHES, "-q", trace)
    assert os.path.getsize(trace + ".folded") > 100
    contains(tool("export", "callgrind", *CACHES, "-i", trace, "-o", os.path.join(dir, "none", "x"), status=1).stderr, "none")


main()
