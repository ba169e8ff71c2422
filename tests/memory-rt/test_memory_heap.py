# SPDX-License-Identifier: MIT
"""test_memory_heap.py - blocks of the heap, their allocation sites and call stacks: compared with the program's counts."""
import bisect
import json
import os
import subprocess

from rt import CLEAN, PROGRAMS, TOOL, alone, check, chosen_levels, collected, compile, contains, dump, each_compiler, each_cxx_compiler, each_family, equal, main

CACHES = ["--cache", "L1=32K,8", "--cache", "LL=1M,16"]


def counted(output):
    """{function: [blocks, bytes]} as the program prints it."""
    rows = [line.split() for line in output.splitlines()]
    return {row[0]: [int(row[1]), int(row[2])] for row in rows if len(row) == 3}


def sites(trace, *options):
    """The allocation sites of `mem sim`."""
    r = subprocess.run([TOOL, "mem", "sim", "--blame", "--top", "1000", "--json", *CACHES, *options, trace],
                       capture_output=True, text=True, env=CLEAN)
    equal(r.returncode, 0, f"status of mem sim ({r.stderr})")
    return json.loads(r.stdout)["allocation_sites"]


def by_function(rows):
    sums = {}
    for row in rows:
        sum = sums.setdefault((row["function"] or "").split("(")[0], [0, 0])
        sum[0] += row["blocks"]
        sum[1] += row["bytes"]
    return sums


def compare(trace, output):
    """All that the program counted is there, once."""
    wanted, got = counted(output), by_function(sites(trace))
    assert wanted, output
    for function, numbers in wanted.items():
        equal(got.get(function), numbers, f"blocks and bytes of {function}, of {got}")


def live_blocks(records):
    """Fails if an access to memory of any block is not in a block that lives at that time.  Returns how many are in one."""
    ever = [(int(r["address"], 16), int(r["address"], 16) + r["bytes"]) for r in records if r["kind"] == "alloc"]
    heap = set(line for start, end in ever for line in range(start // 16, (end + 15) // 16))
    live, starts, inside = {}, [], 0
    for r in records:
        address = int(r["address"], 16)
        at = bisect.bisect_right(starts, address) - 1
        if r["kind"] == "alloc":
            live[address] = address + r["bytes"]
            starts.insert(at + 1, address)
        elif r["kind"] == "free":
            assert address in live, f"record {r['n']} frees {r['address']}, which is no block"
            del live[address], starts[at]
        elif address // 16 in heap:
            assert at >= 0 and address < live[starts[at]], f"record {r['n']} is in no block that lives: {r}"
            inside += 1
    return inside


def accesses_and_blocks(trace):
    return [r for r in dump(trace, "-k", "read,write,alloc,free") if int(r["address"], 16) > 0]


@each_compiler
def blocks_are_counted_at_the_functions_that_allocate_them(dir, cc, _cxx):
    for level in chosen_levels(cc, "-O0", "-O2"):
        program = compile(dir, "heap_blocks_of.c", cc, level, "-no-pie")  # as in other cases; those below have a PIE
        trace = os.path.join(dir, f"{cc}{level}")
        run = subprocess.run([TOOL, "mem", "run", "-q", "-o", trace, "--", program, "plain"], capture_output=True,
                             text=True, env=CLEAN, timeout=120)
        equal(run.returncode, 0, f"status ({run.stderr})")
        compare(trace, run.stdout)
        assert live_blocks(accesses_and_blocks(trace)) > 200
        nodes = [row for row in sites(trace) if row["function"] == "node_new"]
        contains(" ".join(row["callers"] for row in nodes), "main")
        equal(check(trace)["allocations_with_stack"] >= 127, True, "allocations with a stack")


@each_family
def a_program_that_writes_alone_records_the_same(dir, cc, _cxx):
    program = compile(dir, "heap_blocks_of.c", cc, "-O1")
    trace = os.path.join(dir, f"{cc}.trace")
    compare(trace, alone(program, "plain", trace=trace).stdout)
    # Not asked for, or switched off.
    alone(program, "plain", trace=trace, options="heap=0")
    c = check(trace)
    equal([c["allocations"], c["frees"], c["calls"]], [0, 0, 0], "blocks with heap=0")
    collected(program, "plain", trace=trace, options=["--no-heap"])
    equal(check(trace)["allocations"], 0, "blocks with --no-heap")


@each_family
def blocks_before_main_in_libraries_and_in_children_are_there(dir, cc, _cxx):
    program = compile(dir, "heap_blocks_of.c", cc, "-O1")
    plugin = compile(dir, "heap_plugin.c", cc, "-shared", "-fPIC", "-O1", out=f"{cc}-plugin.so", source=PROGRAMS / "heap_plugin.c")
    trace = os.path.join(dir, f"{cc}.trace")
    run = subprocess.run([TOOL, "mem", "run", "-q", "-o", trace, "--", program, "library", plugin], capture_output=True,
                         text=True, env=CLEAN, timeout=120)
    equal(run.returncode, 0, f"status ({run.stderr})")
    compare(trace, run.stdout)
    rows = sites(trace)
    contains(" ".join(row["callers"] for row in rows if row["function"] == "node_new"), "before_main")
    contains(" ".join(row["module"] or "" for row in rows if row["function"] == "plugin_block"), "plugin.so")
    run = subprocess.run([TOOL, "mem", "run", "-q", "-o", trace, "--", program, "fork"], capture_output=True, text=True,
                         env=CLEAN, timeout=120)
    equal(run.returncode, 0, f"status ({run.stderr})")
    lines = run.stdout.splitlines()
    child = next(line.split()[1] for line in lines if line.startswith("child"))
    at = lines.index(f"child {child}")
    compare(f"{trace}.{child}", lines[at + 1])
    compare(trace, lines[at + 2])
    contains(" ".join(row["callers"] for row in sites(f"{trace}.{child}") if row["function"] == "node_new"), "in_child")


@each_compiler
def stacks_survive_longjmp_and_deep_recursion(dir, cc, _cxx):
    for level in chosen_levels(cc, "-O0", "-O2"):
        program = compile(dir, "heap_blocks_of.c", cc, level, "-no-pie")
        trace = os.path.join(dir, f"{cc}{level}")
        for how, wanted in (("jump", {"after_jump < main": 20}), ("deep", {"after_depth < main": 2, "with_array < main": 2})):
            collected(program, how, trace=trace)
            found = {}
            for r in dump(trace, "-k", "alloc"):
                names = functions_of(program, [r["pc"], *r["stack"]])
                # At -O2 the functions between may be part of their callers.
                text = " < ".join(n for n in names if n in ("after_jump", "after_depth", "with_array", "leave", "main"))
                found[text] = found.get(text, 0) + 1
            for text, number in wanted.items():
                equal(found.get(text), number, f"{how}: stacks of {text}, of {found}")


SYMBOLS = {}


def symbols_of(program):
    """([start], [name]) of the functions in the program's file, sorted."""
    if program not in SYMBOLS:
        rows = []
        for line in subprocess.run(["nm", "-n", program], capture_output=True, text=True, check=True).stdout.splitlines():
            parts = line.split()
            if len(parts) == 3 and parts[1] in "tTwW":
                rows.append((int(parts[0], 16), parts[2].split(".")[0]))
        SYMBOLS[program] = [start for start, _ in rows], [name for _, name in rows]
    return SYMBOLS[program]


def functions_of(program, addresses):
    """The functions of a program (built with -no-pie) at return addresses; adjacent ones once."""
    starts, names = symbols_of(program)
    found = []
    for text in addresses:
        address = int(text, 16)
        if starts[0] < address < starts[-1] + 65536:
            name = names[bisect.bisect_right(starts, address - 1) - 1]
            if not found or found[-1] != name:
                found.append(name)
    return found


@each_family
def no_access_crosses_an_allocation_of_another_thread(dir, cc, _cxx):
    program = compile(dir, "heap_blocks_of.c", cc, "-O1")
    trace = os.path.join(dir, f"{cc}.trace")
    run = subprocess.run([TOOL, "mem", "run", "-q", "-o", trace, "--", program, "threads"], capture_output=True, text=True,
                         env=CLEAN, timeout=120)
    equal(run.returncode, 0, f"status ({run.stderr})")
    compare(trace, run.stdout)
    assert live_blocks(accesses_and_blocks(trace)) > 4 * 300 * 3


@each_family
def signals_while_blocks_are_recorded_do_not_stop_the_program(dir, cc, _cxx):
    program = compile(dir, "heap_blocks_of.c", cc, "-O1")
    trace = os.path.join(dir, f"{cc}.trace")
    for run in (lambda: collected(program, "signals", trace=trace, options=["--stacks"]),
                lambda: alone(program, "signals", trace=trace), lambda: alone(program, "signals", trace=trace, options="onfull=drop:buffer=256K:stacks=1")):
        run()
        c = check(trace, sound=None)
        assert c["allocations"] > 60000 or c["lost"] > 0, c


@each_cxx_compiler
def objects_of_cpp_are_counted_at_their_function(dir, cc, cxx):
    for level in chosen_levels(cxx, "-O0", "-O2"):
        program = compile(dir, "heap_objects.cc", cxx, level, "-no-pie", cxx=True)
        trace = os.path.join(dir, f"{cxx}{level}")
        run = subprocess.run([TOOL, "mem", "run", "-q", "-o", trace, "--", program], capture_output=True, text=True,
                             env=CLEAN, timeout=120)
        equal(run.returncode, 0, f"status ({run.stderr})")
        compare(trace, run.stdout)
        rows = {}
        for r in dump(trace, "-k", "alloc"):
            names = functions_of(program, [r["pc"], *r["stack"]])
            text = " < ".join(n for n in names if "after_exception" in n or "thrower" in n or n == "main")
            rows[text] = rows.get(text, 0) + 1
        equal(rows.get("_Z15after_exceptionv < main"), 10, f"stacks after an exception, of {rows}")


@each_compiler
def each_access_is_in_the_function_that_was_entered_last(dir, cc, _cxx):
    for level in chosen_levels(cc, "-O0", "-O2"):
        program = compile(dir, "heap_blocks_of.c", cc, level, "-no-pie")
        trace = os.path.join(dir, f"{cc}{level}")
        collected(program, "plain", trace=trace, options=["--stacks"])
        stack, entered, checked = [], {}, 0
        for r in dump(trace):
            if r["kind"] == "enter":
                stack.append(r["function"])
                if not r.get("repeated"):
                    name = functions_of(program, [r["function"]])
                    entered[name[0]] = entered.get(name[0], 0) + 1
            elif r["kind"] == "exit":
                del stack[len(stack) - r["functions"] if r["functions"] else 0:]
            elif r["kind"] in ("read", "write"):
                here = functions_of(program, [r["pc"]])
                if here and here[0] in ("main", "node_new", "grow", "note", "plain", "checked_alloc", "zeros_new"):
                    equal(functions_of(program, [stack[-1]]), here, f"innermost function at record {r['n']}")
                    checked += 1
        equal(stack, [], "functions at the end")
        equal([entered.get(f) for f in ("main", "node_new", "grow", "my_malloc")], [1, 101, 1, 101], f"entries, of {entered}")
        assert checked > 500, checked


@each_family
def a_static_program_records_its_blocks(dir, cc, cxx):
    for name, compiler, is_cxx in (("heap_blocks_of.c", cc, False), ("heap_objects.cc", cxx, True)):
        program = compile(dir, name, compiler, "-static", "-O1", cxx=is_cxx)
        trace = os.path.join(dir, f"{compiler}.trace")
        run = subprocess.run([TOOL, "mem", "run", "-q", "-o", trace, "--", program, "plain"], capture_output=True, text=True,
                             env=CLEAN, timeout=120)
        equal(run.returncode, 0, f"status ({run.stderr})")
        compare(trace, run.stdout)


if __name__ == "__main__":
    main()
