#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_emulated.py - the tool and the SDKs for C and C++ for another processor, run by an emulator."""
import collections
import json
import re

from emulator import *


def trace_of(dir, program, *args):
    """The events of a program, by the tool of the same processor, and the summary."""
    trace = os.path.join(dir, "trace.jsonl")
    p = subprocess.run(emulated(OTHER, "run", "--json", "--on-full", "block", "-o", trace, "--",
                                *emulated(program, *args)),
                       capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    return Run(p.returncode, p.stdout, p.stderr, trace)


@test
def the_tool_names_its_processor(dir):
    elf = ordered(["readelf", "-h", OTHER])
    contains(elf, "AArch64")
    contains(ordered(emulated(OTHER, "version")), "corotracer")


@test
def coroutines_of_cpp_are_traced(dir):
    """The number of events is that of tests/cpp/test_unchanged.py and of the installed package."""
    traced = trace_of(dir, os.path.join(BUILD, "tests", "cpp", "unchanged_shapes"))
    equal((traced.status, traced.out), (0, "right\n"), f"status and output, with {traced.err!r}")
    equal(traced.summary["lost"], 0, "lost events")
    equal(len(traced.events), 52, "events")


@test
def coroutines_of_c_are_traced(dir):
    """A scheduler with four threads: what it counts itself is in the trace."""
    traced = trace_of(dir, os.path.join(BUILD, "examples", "c", "channels"))
    equal(traced.status, 0, f"status, with {traced.err!r}")
    equal(traced.summary["lost"], 0, "lost events")
    batches, each = map(int, re.search(r"of (\d+), (\d+) coroutines each", traced.out).groups())
    born = [r for r in traced.sidecar if r["type"] == "birth"]
    ended = {r["probe_id"] for r in traced.sidecar if r["type"] in ("end", "destroy")}
    equal({r["probe_id"] for r in born}, ended, "coroutines created and ended")
    assert len(born) >= batches * each, f"only {len(born)} of {batches} x {each} coroutines"
    times = collections.defaultdict(list)
    for e in traced.events:
        times[e["probe_id"]].append(e["ts"])
    assert all(t == sorted(t) for t in times.values()), "times of a coroutine are not in order"


@test
def memory_accesses_are_recorded_and_simulated(dir):
    """The runtime writes a file by itself; both tools read the same from it, and simulate the same."""
    program, trace = os.path.join(dir, "touch"), os.path.join(dir, "touch.trace")
    ordered(emulated(OTHER, "mem", "cc", f"--compiler={COMPILER}", "-O1", "-g", os.path.join(HERE, "touch.c"),
                     "-o", program))
    said = json.loads(ordered(emulated(program), env=dict(os.environ, CACHERAY_OPTIONS=f"tracefile={trace}")))
    for command in (["mem", "stat"], ["mem", "sim", "--cache", "L1=32K,8", "--cache", "L2=256K,8"]):
        native, other = (json.loads(ordered([*tool, *command, "--json", trace]))
                         for tool in ([NATIVE], emulated(OTHER)))
        equal(native, other, f"{' '.join(command)} of both tools")
        assert said["accesses"] <= native["accesses"] <= said["accesses"] + 100, f"{native['accesses']} of {said}"


main()
