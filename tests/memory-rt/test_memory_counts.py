#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_counts.py - traces hold exactly the accesses of the program: by kind, size and attribute."""
import os

from rt import alone, check, collected, compile, dump, each_compiler, equal, main, sizes

N = 1000


def wanted(case, gcc):
    """{size: (reads, writes)} of a case of counts.c."""
    if case == "reads":
        return {s: (N, 0) for s in (1, 2, 4, 8, 16)}
    if case == "writes":
        return {s: (0, N) for s in (1, 2, 4, 8, 16)}
    if case == "increments":
        return {s: (N, N) for s in (1, 2, 4, 8)}
    if case == "unaligned":
        return {4: (N, 0), 8: (0, N)}
    if case == "volatiles":
        return {4: (N, N)}
    if case == "atomics":
        return {1: (0, 10), 2: (10, 10), 4: (30, 20), 8: (20, 10)}
    if case == "atomics128":
        return {16: (7, 6)}
    if case == "structs":
        # 1000 bytes from any address: pieces that end at multiples of 64.
        return None
    if case == "calls":
        return {100: (1, 1), 50: (1, 1), 30: (0, 1), 64: (0, 10)}
    return {}


def run_case(case, program, dir, cc, under):
    trace = os.path.join(dir, f"{case}-{cc}-{under}.trace")
    env = {"CACHERAY_OPTIONS": "start=0"}
    if under == "alone":
        r = alone(program, case, trace=trace, options="start=0")
    else:
        r = collected(program, case, trace=trace, env=env)
    equal(r.stdout, "", f"what {case} has to say")
    return trace, check(trace)


def pieces(address, size):
    """How a range longer than one record is split: at multiples of 64."""
    out = []
    while size:
        n = min(64 - address % 64, size)
        out.append(n)
        address, size = address + n, size - n
    return out


@each_compiler
def every_access_is_counted_once_by_kind_and_size(dir, cc, _cxx):
    program = compile(dir, "counts.c", cc)
    for case in ("reads", "writes", "increments", "unaligned", "volatiles", "atomics", "atomics128", "calls",
                 "nothing"):
        for under in ("alone", "collected"):
            _, c = run_case(case, program, dir, cc, under)
            equal(sizes(c), wanted(case, cc == "gcc"), f"{case}, {under}")
            equal(c["lost"], 0, f"lost in {case}, {under}")


@each_compiler
def flags_and_attributes_are_told(dir, cc, _cxx):
    program = compile(dir, "counts.c", cc)
    trace, c = run_case("atomics", program, dir, cc, "alone")
    equal(c["reads"]["atomic"], c["reads"]["all"], "atomic reads")
    equal(c["writes"]["atomic"], c["writes"]["all"], "atomic writes")
    trace, c = run_case("unaligned", program, dir, cc, "alone")
    if cc != "gcc":  # gcc has no callback for it
        equal(c["reads"]["unaligned"], N, "unaligned reads")
    trace, c = run_case("volatiles", program, dir, cc, "alone")
    equal(c["with_attributes"], 2 * N, "volatile accesses")
    trace, c = run_case("reads", program, dir, cc, "alone")
    equal(c["with_code_address"], 5 * N, "accesses with a code address")
    equal(len({r["pc"] for r in dump(trace, "-k", "read")}), 5, "places in the code that read")


@each_compiler
def a_structure_is_one_record_or_pieces_of_one(dir, cc, _cxx):
    program = compile(dir, "counts.c", cc)
    trace, c = run_case("structs", program, dir, cc, "alone")
    records = dump(trace)
    for kind in ("read", "write"):
        got = [r for r in records if r["kind"] == kind]
        equal(got[0]["size"], 200, f"{kind} of 200 bytes")
        first = int(str(got[1]["address"]), 0)
        equal([r["size"] for r in got[1:]], pieces(first, 1000), f"{kind} of 1000 bytes at {first:#x}")


@each_compiler
def a_structure_that_memcpy_copies_is_recorded_once(dir, cc, _cxx):
    for option in ("-O0", "-O2"):
        trace = os.path.join(dir, "large")
        alone(compile(dir, "large_struct.c", cc, option), trace=trace)
        equal(sizes(check(trace)).get(64), (10240, 10240), f"reads and writes of cache lines, {option}")


@each_compiler
def objects_have_types_until_they_are_deleted(dir, cc, cxx):
    program = compile(dir, "virtual.cc", cxx, "-O1", "-std=c++17", cxx=True)
    for under in ("alone", "collected"):
        trace = os.path.join(dir, under)
        alone(program, trace=trace) if under == "alone" else collected(program, trace=trace)
        c = check(trace)
        records = dump(trace)
        types = {r["type"] for r in records if r["kind"] == "add"}
        equal(types, {"square", "circle", "long"}, "types")
        adds = sum(r["kind"] == "add" for r in records)
        # 100 shapes, 11 sizes of a vector, one array.
        equal(adds, 112, "annotations added")
        equal(c["removed"]["all"], adds, "annotations removed")
        equal(c["marks"], 1, "marks")


main()
