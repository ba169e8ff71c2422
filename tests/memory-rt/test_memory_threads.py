#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_threads.py - many threads, a storm of signals, and annotations that move between threads."""
import os
import re

from rt import FULL, alone, check, collected, compile, compilers, dump, each_family, equal, main, sizes, test

MANY = 1000000 if FULL else 150000  # accesses of a thread
STORM = 700 if FULL else 300  # milliseconds with signals


@each_family
def eight_threads_of_many_accesses_are_all_there(dir, cc, _cxx):
    program = compile(dir, "threads.c", cc)
    for under in ("alone", "collected"):
        trace = os.path.join(dir, f"{cc}-{under}")
        if under == "alone":
            alone(program, 8, MANY, trace=trace)
        else:
            collected(program, 8, MANY, trace=trace)
        c = check(trace)
        equal(sizes(c)[4][1], 8 * MANY, f"writes of four bytes, {under}")
        equal(c["lost"], 0, "lost")
        mine = [t for t in c["threads"] if t["writes"] == MANY]
        equal(len(mine), 8, f"threads with {MANY} writes, {under}")
        equal(len({t["id"] for t in c["threads"]}), 9, "thread ids")


@test
def several_packing_threads_write_the_same_accesses(dir):
    """Any number of packing threads leaves the blocks of each thread complete and in order."""
    program = compile(dir, "threads.c", compilers()[0][0])
    seen, nr = [], 300000 if FULL else 60000
    for packers in (1, 2, 9):
        trace = os.path.join(dir, f"packers-{packers}")
        collected(program, 8, nr, trace=trace, options=("--packers", str(packers), "--buffer", "2M"))
        c = check(trace)
        equal((c["lost"], c["sound"]), (0, True), f"lost and sound, {packers} packers")
        equal(sizes(c)[4][1], 8 * nr, f"writes of four bytes, {packers} packers")
        seen.append(sorted((t["reads"], t["writes"]) for t in c["threads"]))
    equal(seen[1:], [seen[0]] * 2, "reads and writes of each thread")


@each_family
def threads_that_come_and_go_share_the_slots(dir, cc, _cxx):
    program = compile(dir, "threads.c", cc)
    trace = os.path.join(dir, f"{cc}.trace")
    # At most 64 at a time; small buffers, so that they wait for each other.
    alone(program, 64, 20000, trace=trace, options="buffer=256K")
    c = check(trace)
    equal(sizes(c)[4][1], 64 * 20000, "writes")
    equal(c["lost"], 0, "lost")


@each_family
def a_trace_that_a_program_writes_alone_is_as_small(dir, cc, _cxx):
    program = compile(dir, "quicksort.c", cc)
    size = {}
    # The program is faster than the compression, so that it waits for room.
    for under, options in ((alone, "buffer=256K"), (collected, ())):
        trace = os.path.join(dir, f"{cc}-{under.__name__}")
        under(program, 300000 if FULL else 60000, trace=trace, options=options)
        equal(check(trace)["lost"], 0, "lost")
        size[under] = os.path.getsize(trace)
    if size[alone] > 1.5 * size[collected]:
        raise AssertionError(f"{size[alone]} bytes alone, {size[collected]} with the collector")


@each_family
def any_number_of_short_threads_is_recorded_whole(dir, cc, _cxx):
    program = compile(dir, "short_threads.c", cc)
    # More at a time than there are slots in a machine with little shared memory.
    threads, at_once = (10000, 2500) if FULL else (2600, 1300)
    for under in (alone, collected):
        trace = os.path.join(dir, f"{cc}-{under.__name__}")
        under(program, threads, at_once, 100, trace=trace)
        c = check(trace)
        equal((c["lost"], len(c["threads"])), (0, threads + 1), f"lost, and threads, {under.__name__}")
        equal(sizes(c)[4][1] // 100, threads, f"hundreds of writes, {under.__name__}")


@test
def threads_that_all_live_and_have_no_slot_are_counted_once(dir):
    program = compile(dir, "short_threads.c", compilers()[0][0])
    few, many = os.path.join(dir, "few"), os.path.join(dir, "many")
    # With large buffers there are 1,024 slots; the 76 threads beyond them get one later, or none.
    writes = 6000 if FULL else 1500
    alone(program, 1100, 1100, writes, "hold", trace=few, options="buffer=64M")
    alone(program, 1100, 1100, writes, "hold", trace=many)
    few, many = check(few), check(many)
    equal(many["lost"], 0, "lost")
    equal(len(many["threads"]), 1101, "threads")
    if not few["lost"]:
        raise AssertionError("all threads had a slot")
    equal(few["reads"]["all"] + few["writes"]["all"] + few["lost"], many["reads"]["all"] + many["writes"]["all"], "recorded and lost together")


@each_family
def what_does_not_fit_is_dropped_if_asked_and_counted(dir, cc, _cxx):
    program = compile(dir, "threads.c", cc)
    trace = os.path.join(dir, f"{cc}.trace")
    alone(program, 4, MANY, trace=trace, options="buffer=256K:onfull=drop")
    c = check(trace)
    # Some compilers read `accesses` in each round; lost records may be of either kind.
    whole = c["reads"]["all"] + c["writes"]["all"] + c["lost"]
    trace = os.path.join(dir, f"{cc}-all.trace")
    alone(program, 4, MANY, trace=trace)
    full = check(trace)
    equal(whole, full["reads"]["all"] + full["writes"]["all"], "recorded and lost together")


@each_family
def a_signal_handler_may_come_anywhere(dir, cc, _cxx):
    program = compile(dir, "storm.c", cc)
    for under in ("alone", "collected"):
        trace = os.path.join(dir, f"{cc}-{under}")
        r = alone(program, STORM, trace=trace) if under == "alone" else collected(program, STORM, trace=trace)
        mine, handlers = map(int, r.stdout.split())
        c = check(trace)
        equal(sizes(c)[4][1], mine, f"writes of the program, {under}")
        equal(sizes(c)[8][1], handlers, f"writes of the handler, {under}")
        equal(c["lost"], 0, "lost")
        if handlers < 1000:
            raise AssertionError(f"only {handlers} writes in handlers: that was no storm")


@each_family
def no_access_crosses_an_annotation(dir, cc, _cxx):
    program = compile(dir, "order.c", cc)
    blocks = 3000 if FULL else 1500
    for under in ("alone", "collected", "alone", "alone", "alone"):  # which threads meet is chance
        trace = os.path.join(dir, f"{cc}-{under}")
        alone(program, blocks, trace=trace) if under == "alone" else collected(program, blocks, trace=trace)
        c = check(trace)
        equal(c["added"]["all"], blocks, "annotations added")
        equal(c["removed"]["all"], blocks, "annotations removed")
        equal(c["annotations_left"], 0, "annotations left")
        # The reader merges threads: the type of each write is that of its block.
        seen = {}
        for r in dump(trace, "-k", "write"):
            if "type" not in r:
                raise AssertionError(f"{under}: a write outside of its annotation: {r}")
            equal(re.fullmatch(r"long\d+", r["type"]) is not None, True, "type")
            seen[r["type"]] = seen.get(r["type"], 0) + 1
        equal(len(seen), blocks, f"types written to, {under}")
        equal(set(seen.values()), {8}, f"writes per block, {under}")


main()
