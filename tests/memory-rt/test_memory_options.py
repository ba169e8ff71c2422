#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_options.py - CACHERAY_OPTIONS: valid options take effect; invalid ones are reported, and the program runs."""
import json
import os
import subprocess

from rt import TOOL, alone, check, collected, compile, contains, each_family, equal, main, sizes

GARBAGE = ["nonsense", "=", "enabled", "enabled=", "unknown=1", "sample=5", "sample=0/5", "sample=6/5", "sample=a/b", "sample=lines/", "sample=lines/1",
           "sample=lines/3", "sample=lines/128",
           "maxsize=", "maxsize=12Q", "ring=-1", "onfull=explode", "region=12", "region=20-10", "region=zz-10",
           "region=1-2,", "buffer=1", "buffer=9999999999999999999999", "level=99", "tracefile=", "tracefile=" + "x" * 5000,
           "\xff\xfe=\x01", "%n%s%p", "start=" + "1" * 2000]


@each_family
def garbage_is_said_and_nothing_is_traced(dir, cc, _cxx):
    program = compile(dir, "threads.c", cc)
    for options in GARBAGE:
        trace = os.path.join(dir, "garbage")
        r = alone(program, 1, 10, options=f"tracefile={trace}:{options}")
        contains(r.stderr, "not tracing")
        equal(os.path.exists(trace), False, f"a trace in spite of {options!r}")
    r = alone(program, 1, 10, trace=os.path.join(dir, "no", "such", "directory"))
    contains(r.stderr, "cannot open the trace")


@each_family
def disabled_means_nothing_happens(dir, cc, _cxx):
    program = compile(dir, "threads.c", cc)
    trace = os.path.join(dir, f"{cc}.trace")
    r = alone(program, 2, 1000, trace=trace, options="enabled=0")
    equal((r.stderr, os.path.exists(trace)), ("", False), "words and trace")
    # Empty items are ignored.
    alone(program, 2, 1000, options=f"::tracefile={trace}::enabled=1:")
    equal(sizes(check(trace))[4][1], 2000, "writes")
    # The program starts recording itself.
    counts = compile(dir, "counts.c", cc)
    trace += "2"
    alone(counts, "writes", trace=trace, options="enabled=0")
    equal(sizes(check(trace)), {s: (0, 1000) for s in (1, 2, 4, 8, 16)}, "writes after cacheray_start")


@each_family
def a_cap_on_the_size_holds_and_is_told(dir, cc, _cxx):
    program = compile(dir, "threads.c", cc)
    trace = os.path.join(dir, f"{cc}.trace")
    r = alone(program, 2, 3000000, trace=trace, options="maxsize=300K:level=0")
    contains(r.stderr, "maxsize")
    equal(os.path.getsize(trace) <= 300 << 10, True, f"size {os.path.getsize(trace)}")
    c = check(trace)
    equal(c["lost_unknown"], True, "something unknown is missing")
    equal([m["cause"] for m in c["missing"]][:1] != [], True, f"missing: {c['missing']}")


@each_family
def a_ring_keeps_the_newest(dir, cc, _cxx):
    program = compile(dir, "threads.c", cc)
    trace, whole = os.path.join(dir, f"{cc}.trace"), os.path.join(dir, f"{cc}-whole.trace")
    alone(program, 1, 3000000, trace=trace, options="ring=512K:level=0")
    alone(program, 1, 3000000, trace=whole)
    c, all = check(trace), check(whole)
    equal(os.path.getsize(trace) < 600 << 10, True, f"size {os.path.getsize(trace)}")
    equal(c["accesses"] + c["lost"], all["accesses"], "kept and overwritten together")
    equal(0 < c["accesses"] < all["accesses"], True, f"kept {c['accesses']}")


@each_family
def blocks_that_do_not_fit_into_the_ring_are_counted(dir, cc, _cxx):
    program = compile(dir, "threads.c", cc)
    trace, whole = os.path.join(dir, f"{cc}.trace"), os.path.join(dir, f"{cc}-whole.trace")
    alone(program, 2, 1000000, trace=trace, options="ring=4K:level=0")
    alone(program, 2, 1000000, trace=whole)
    c, all = check(trace), check(whole)
    equal(c["accesses"] + c["lost"], all["accesses"], "kept and lost together")


@each_family
def bursts_have_weights_and_count_what_they_skip(dir, cc, _cxx):
    program = compile(dir, "threads.c", cc)
    trace, whole = os.path.join(dir, f"{cc}.trace"), os.path.join(dir, f"{cc}-whole.trace")
    alone(program, 3, 1000000, trace=trace, options="sample=1000/100000")
    alone(program, 3, 1000000, trace=whole)
    c, all = check(trace), check(whole)
    equal(c["accesses"] + c["left_out"], all["accesses"], "recorded and left out together")
    share = all["accesses"] / c["accesses"]
    equal(90 < share < 101, True, f"one of {share}")
    equal(c["lost"], 0, "lost")


def misses(trace):
    r = subprocess.run([TOOL, "mem", "sim", "--json", "--cache", "L1=32K,8", "--cache", "L2=256K,16", trace], capture_output=True, text=True, check=True)
    return [level["misses"] for level in json.loads(r.stdout)["levels"]]


@each_family
def a_sample_of_lines_has_the_misses_of_the_whole(dir, cc, _cxx):
    program = compile(dir, "quicksort.c", cc)
    whole, lines, bursts = (os.path.join(dir, f"{cc}-{n}.trace") for n in ("whole", "lines", "bursts"))
    alone(program, 300000, trace=whole)
    alone(program, 300000, trace=lines, options="sample=lines/8")
    collected(program, 300000, trace=bursts, env={"CACHERAY_OPTIONS": "sample=10000/100000"})
    c, all = check(lines), check(whole)
    equal((c["accesses"] + c["left_out"], c["lost"]), (all["accesses"], 0), "recorded and left out together, and lost")
    want, got, cold = misses(whole), misses(lines), misses(bursts)
    for level, (a, b) in enumerate(zip(want, got)):
        if abs(b / a - 1) > 0.03:
            raise AssertionError(f"misses of level {level}: {b} by the sample, {a} are right")
    if cold[1] < 1.3 * want[1]:
        raise AssertionError(f"bursts have {cold[1]} misses, {want[1]} are right: the sample of lines is not needed")
    for trace, text in ((lines, "sample of cache lines"), (bursts, "over-estimated")):
        contains(subprocess.run([TOOL, "mem", "sim", trace], capture_output=True, text=True, check=True).stdout, text)
    collected(program, 1000, trace=lines, env={"CACHERAY_OPTIONS": "sample=lines/8"})
    contains(subprocess.run([TOOL, "mem", "sim", lines], capture_output=True, text=True, check=True).stdout, "sample of cache lines")


@each_family
def a_region_leaves_out_what_is_elsewhere(dir, cc, _cxx):
    program = compile(dir, "threads.c", cc)
    trace, whole = os.path.join(dir, f"{cc}.trace"), os.path.join(dir, f"{cc}-whole.trace")
    alone(program, 2, 100000, trace=trace, options="region=0x1-0x2,ffffffffff000000-ffffffffff000010")
    alone(program, 2, 100000, trace=whole)
    c, all = check(trace), check(whole)
    equal(c["accesses"], 0, "accesses in regions that nobody uses")
    equal(c["left_out"], all["accesses"], "left out")
    alone(program, 2, 100000, trace=trace, options="region=0-ffffffffffffffff")
    equal(check(trace)["accesses"], all["accesses"], "accesses anywhere")


main()
