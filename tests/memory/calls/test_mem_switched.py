#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_mem_switched.py - call stacks of programs that switch stacks or continue in other threads: exactly those of the program."""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "memory-rt"))
from rt import CLEAN, TOOL, collected, compile, each_family, equal, main  # noqa: E402

CACHES = ("--cache", "L1=4K,4", "--cache", "LL=64K,8")
TURNS = 20
LEVELS = ("-O0", "-O1", "-O2", "-O3") if os.environ.get("COROTRACER_FULL") == "1" else ("-O0", "-O2")


def tool(*args):
    r = subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True, env=CLEAN, timeout=300)
    equal(r.returncode, 0, f"status of {args}: {r.stderr}")
    return r.stdout


def stacks_of(trace):
    """{functions, the outermost first: accesses}"""
    out = trace + ".folded"
    tool("export", "folded", "--event", "accesses", *CACHES, "-i", trace, "-o", out)
    with open(out, encoding="utf-8") as f:
        return {tuple(line.rsplit(" ", 1)[0].split(";")): int(line.rsplit(" ", 1)[1]) for line in f}


def calls_of(trace):
    found = json.loads(tool("mem", "calls", "--json", "--sort", "inclusive", "-n", 1000, *CACHES, trace))["functions"]
    return {f["name"]: f["calls"] for f in found}


def leaves_in(stacks, name):
    return {s: n for s, n in stacks.items() if s[-1] == name}


def switched(dir, cc, level, *options):
    program = compile(dir, "switched", cc, level, *options, "-pthread", source=HERE / "switched.c", out=f"switched-{cc}{level}{''.join(options)}")
    trace = program + ".trace"
    collected(program, trace=trace, options=("--stacks",))
    return trace


@each_family
def a_coroutine_has_the_functions_of_its_own_stack(dir, cc, cxx):
    for level in LEVELS:
        for options in ((), ("-DBY_HAND",)):
            what = f"{cc} {level} {options}"
            trace = switched(dir, cc, level, *options)
            leaves = leaves_in(stacks_of(trace), "leaf")
            equal(set(leaves), {(f"body_{x}", f"outer_{x}", f"inner_{x}", "leaf") for x in "abcd"}, f"{what}: stacks of leaf")
            # Each call reads and writes 50 numbers, more without optimization; c is given up in the middle of one more turn.
            per_call = leaves[("body_a", "outer_a", "inner_a", "leaf")] / (2 * TURNS)
            want = {x: per_call * (2 * TURNS + (x == "c")) for x in "abcd"}
            equal({s[0][-1]: n for s, n in leaves.items()}, want, f"{what}: accesses of leaf")
            ticks = leaves_in(stacks_of(trace), "tick")
            equal(set(ticks), {("run", "schedule", "tick"), ("run", "tick")}, f"{what}: stacks of tick")
            calls = calls_of(trace)
            equal({n: calls[n] for n in ("leaf", "body_a", "body_d", "inner_c", "run")},
                  {"leaf": 8 * TURNS + 1, "body_a": 1, "body_d": 1, "inner_c": TURNS + 1, "run": 1}, f"{what}: calls")


@each_family
def allocations_in_coroutines_have_the_stack_of_the_coroutine(dir, cc, cxx):
    trace = switched(dir, cc, "-O1")
    sites = json.loads(tool("mem", "sim", "--blame", "--json", "-n", 1000, *CACHES, trace))["allocation_sites"]
    callers = {s["function"]: s["callers"] for s in sites if s["function"] in ("leaf", "tick")}
    equal("schedule" in str(callers["leaf"]) or "run" in str(callers["leaf"]), False, f"callers of leaf: {callers}")
    equal("body" in str(callers["tick"]), False, f"callers of tick: {callers}")


@each_family
def coroutines_of_cxx20_continue_in_other_threads(dir, cc, cxx):
    for level in LEVELS:
        program = compile(dir, "resumed", cxx, level, "-std=c++20", "-pthread", cxx=True, source=HERE / "resumed.cc", out=f"resumed-{cxx}{level}")
        trace = program + ".trace"
        threads = int(collected(program, trace=trace, options=("--stacks",)).stdout)
        stacks = stacks_of(trace)
        for stack in leaves_in(stacks, next(s[-1] for s in stacks if s[-1].startswith("leaf"))):
            equal("main" in stack, False, f"{cxx} {level}: a thread is not called by main: {stack}")
            equal(any(f.startswith("worker") for f in stack), True, f"{cxx} {level}: {stack}")
            equal(len(stack) <= 60, True, f"{cxx} {level}: functions that were left are gone: {stack}")
        calls = {n: c for n, c in calls_of(trace).items() if n.startswith(("leaf", "worker"))}
        equal(sorted(calls.values()), sorted((threads, threads + 3 * 8)), f"{cxx} {level}: calls {calls}")


main()
