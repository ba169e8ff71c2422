#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_cachegrind.py - the same programs and caches, simulated by cachegrind and from a trace.

Function by function: cachegrind sees the whole process, with libc, its loader and everything that
compilers put on the stack; a trace has the loads and stores of the program itself.  In functions
that work on arrays and lists both are the same.
"""
import json
import os
import re
import shutil
import subprocess

from simulate import CLEAN, HERE, Skip, TOOL, compile, main, sim, test

WORK = HERE.parent.parent.parent / "bench" / "memory" / "work.c"
OPTIONS = ("-O1", "-g", "-fno-inline")
# The last level is small, so that no array fits: then misses hardly depend on the addresses of
# arrays.
D1, LL = (32768, 8), (131072, 8)
# malloc touches a new block first and writes its head: the trace, without libc, has that miss in
# hash().
RUNS = (("matmul", 160, "matmul", ()), ("quicksort", 200000, "sort", ()),
        ("hash", 60000, "hash", ("malloc", "_int_malloc", "sysmalloc", "calloc")))
TOLERANCE = 0.02


def cachegrind(dir, *command):
    """{function: [misses of the first level, of the last]}"""
    out = os.path.join(dir, "cg")
    r = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=yes", f"--cachegrind-out-file={out}", "--I1=32768,8,64",
                        f"--D1={D1[0]},{D1[1]},64", f"--LL={LL[0]},{LL[1]},64", *map(str, command)],
                       capture_output=True, text=True, env=CLEAN, timeout=600)
    if r.returncode != 0:
        raise Skip(f"valgrind does not run here: {r.stderr[-300:]}")
    found, function, names = {}, None, []
    with open(out, encoding="utf-8") as f:
        for line in f:
            if line.startswith("events:"):
                names = line.split()[1:]
            elif line.startswith("fn="):
                function = line[3:].strip()
            elif re.match(r"[0-9]", line):
                n = dict(zip(names, map(int, line.split()[1:])))
                counts = found.setdefault(function, [0, 0])
                counts[0] += n["D1mr"] + n["D1mw"]
                counts[1] += n["DLmr"] + n["DLmw"]
    return found


def ours(trace):
    r = sim("--json", "--blame", "--no-classes", "--top", 1000, "--cache", f"{D1[0]},{D1[1]}", "--cache", f"{LL[0]},{LL[1]}", trace)
    found = {}
    for line in json.loads(r.stdout)["source_lines"]:
        counts = found.setdefault(line["function"], [0, 0])
        counts[0] += line["misses"][0]
        counts[1] += line["misses"][1]
    return found


@test
def misses_of_each_function_are_those_of_cachegrind(dir):
    if not shutil.which("valgrind"):
        raise Skip("no valgrind")
    plain, traced = os.path.join(dir, "plain"), compile(dir, "work", "gcc", *OPTIONS, source=WORK)
    subprocess.run(["gcc", *OPTIONS, str(WORK), "-o", plain], check=True)
    trace = os.path.join(dir, "t")
    for kind, scale, function, callees in RUNS:
        subprocess.run([TOOL, "mem", "run", "-q", "-o", trace, "--", traced, kind, str(scale)], check=True, env=CLEAN,
                       capture_output=True)
        all, mine = cachegrind(dir, plain, kind, scale), ours(trace)[function]
        theirs = [sum(all.get(f, (0, 0))[k] for f in (function, *callees)) for k in (0, 1)]
        for name, a, b in zip(("first", "last"), mine, theirs):
            print(f"  {function}, {name} level: {a} misses, cachegrind {b}: {100 * (a / b - 1):+.2f} %", flush=True)
            assert b > 1000, f"{function} hardly misses the {name} level: nothing is compared"
            assert abs(a - b) <= TOLERANCE * b, f"{function}, {name} level: {a} misses, cachegrind has {b}"


if __name__ == "__main__":
    main()
