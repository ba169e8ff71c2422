#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_mem_diff.py - mem diff: what changed between two traces, by name, and the exit status for CI."""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "memory-rt"))
from rt import CLEAN, TOOL, collected, compile, contains, equal, main, test  # noqa: E402

CACHES = ("--cache", "L1=4K,4", "--cache", "LL=32K,8")


def traced(dir, name, *options):
    program = compile(dir, "nodes", "gcc", "-O1", "-g", *options, source=HERE / "nodes.c", out=name)
    trace = os.path.join(dir, name + ".trace")
    collected(program, trace=trace)
    return trace


def run_diff(*args, status=0):
    r = subprocess.run([TOOL, "mem", "diff", *CACHES, *args], capture_output=True, text=True, env=CLEAN)
    equal(r.returncode, status, f"status of mem diff {args}: {r.stderr}")
    return r


def diff(*args, status=0):
    return json.loads(run_diff("--json", *args, status=status).stdout)


def rows(d):
    return {(c["kind"], c["name"], c["part"]): c for c in d["changes"]}


@test
def a_trace_is_equal_to_itself(dir):
    trace = traced(dir, "same")
    d = diff("--fail-on-regression", "--threshold", "0", "--min-share", "0", trace, trace)
    equal((d["changes"], d["total_verdict"], d["regressed"]), ([], "same", False), "changes")
    assert d["same"] >= 7, d["same"]
    contains(run_diff(trace, trace).stdout, "no change")


@test
def a_larger_record_is_worse_in_its_type_field_and_function(dir):
    base, head = traced(dir, "small"), traced(dir, "large", "-DEXTRA=56")
    d = diff(base, head)
    found = rows(d)
    for key in (("type", "struct node", None), ("field", "struct node", "key"), ("function", "read_nodes", "nodes.c"),
                ("function", "walk_list", "nodes.c"), ("site", "make_list", "nodes.c")):
        equal(found[key]["verdict"], "worse", str(key))
        assert found[key]["head"]["cost"] > 1.5 * found[key]["base"]["cost"], found[key]
    equal([found["type", "struct node", None][side]["size"] for side in ("base", "head")], [16, 64], "sizes")
    assert not any(name == "struct other" for _, name, _ in found), "what did not change is not listed"
    text = run_diff(base, head).stdout
    contains(text, "64 bytes, was 16")
    contains(text, "field    struct node.key")


@test
def the_exit_status_says_that_something_is_worse(dir):
    base, head = traced(dir, "before"), traced(dir, "after", "-DEXTRA=56")
    run_diff(base, head)
    run_diff("--fail-on-regression", base, head, status=1)
    run_diff("--fail-on-regression", head, base)
    run_diff("--fail-on-regression", "--threshold", "100000", base, head)
    for kinds in ("type", "site", "field,function"):
        equal({c["kind"] for c in diff("--by", kinds, base, head)["changes"]}, set(kinds.split(",")), kinds)


@test
def the_numbers_are_those_of_mem_sim(dir):
    sides = traced(dir, "one"), traced(dir, "two", "-DEXTRA=56")
    d = diff("--threshold", "0", "--min-share", "0", *sides)
    for side, trace in zip(("base", "head"), sides):
        r = subprocess.run([TOOL, "mem", "sim", "--blame", "--json", "-n", "1000", *CACHES, trace], capture_output=True, text=True, env=CLEAN)
        sim = json.loads(r.stdout)
        equal(d[side]["total"]["accesses"], sim["accesses"], "accesses")
        equal(d[side]["total"]["misses"], [level["misses"] for level in sim["levels"]], "misses")
        # What the next level takes: 10 and 200 cycles.
        cost = lambda misses: misses[0] * 10 + misses[1] * 200  # noqa: E731
        equal(d[side]["total"]["cost"], cost(d[side]["total"]["misses"]), "cost")
        types = {t["name"]: t for t in sim["types"]}
        lines = [s for s in sim["source_lines"] if s["function"] == "read_nodes"]
        for (kind, name, _), c in rows(d).items():
            if kind == "type" and c[side]:
                equal((c[side]["accesses"], c[side]["misses"]),
                      (types[name]["reads"] + types[name]["writes"], types[name]["misses"]), name)
            if kind == "site":
                site, = [s for s in sim["allocation_sites"] if s["function"] == name]
                equal((c[side]["accesses"], c[side]["misses"]), (site["reads"] + site["writes"], site["misses"]), name)
            if name == "read_nodes":
                equal(c[side]["misses"], [sum(s["misses"][i] for s in lines) for i in range(2)], name)
                equal(c[side]["cost"], cost(c[side]["misses"]), name)


@test
def a_renamed_function_is_new_and_gone_and_no_regression(dir):
    base, head = traced(dir, "named"), traced(dir, "renamed", "-DRENAMED")
    d = diff("--fail-on-regression", "--by", "function", "--min-share", "0", base, head)
    found = rows(d)
    equal(found["function", "write_elsewhere", "nodes.c"]["verdict"], "new", "the new name")
    equal(found["function", "write_others", "nodes.c"]["verdict"], "gone", "the old name")
    equal(found["function", "write_others", "nodes.c"]["head"], None, "the old name in the head")
    text = run_diff("--min-share", "0", base, head).stdout
    contains(text, "\ngone ")
    contains(text, "\nnew ")


@test
def markdown_is_one_table(dir):
    base, head = traced(dir, "md-base"), traced(dir, "md-head", "-DEXTRA=56")
    out = os.path.join(dir, "diff.md")
    run_diff("--markdown", "-o", out, base, head)
    with open(out, encoding="utf-8") as f:
        lines = f.read().splitlines()
    contains(lines[0], "worse")
    cells = [line.count("|") for line in lines[2:]]
    equal(set(cells), {8}, "cells of all rows")
    assert any("`struct node.key`" in line for line in lines), lines


@test
def what_cannot_be_compared_is_refused(dir):
    trace = traced(dir, "only")
    contains(run_diff(trace, status=2).stderr, "expected two traces")
    contains(run_diff("--by", "line", trace, trace, status=2).stderr, "type, field, site and function")
    contains(run_diff(trace, os.path.join(dir, "none"), status=1).stderr, "none")
    cut = os.path.join(dir, "cut")
    with open(trace, "rb") as f, open(cut, "wb") as g:
        data = f.read()
        g.write(data[:len(data) // 2])
    run_diff(trace, cut, status=1)


main()
