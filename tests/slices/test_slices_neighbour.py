# SPDX-License-Identifier: MIT
"""`run --cpu` and the report: burning and sleeping in a slice are its coroutine's fault, a busy neighbour is not."""
import sys

from scripted import *

PROGRAM = sys.argv[1]
MS = 1_000_000
NEIGHBOURS = 4


def run_measured(mode, *prefix, seconds="1.2"):
    trace = f"{SCRATCH.name}/cpu-{mode}.jsonl"
    done = subprocess.run([*prefix, TOOL, "run", "--cpu", "-q", "-o", trace, "--", PROGRAM, mode, seconds],
                          capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return trace


def blocking_of(findings):
    return [f for f in findings if f["detector"] == "blocking"]


def burning_and_sleeping_are_found():
    for mode, part in (("burn", "on a processor"), ("sleep", "in clock_nanosleep"), ("mutex", "in futex")):
        findings = findings_of(run_measured(mode))
        assert best_of(findings, "blocking") >= 1, (mode, brief_of(findings))
        seen = " ".join(f["seen"] for f in blocking_of(findings))
        assert part in seen, (mode, seen)


def longest_slice(trace):
    """Of the worker, which is the last coroutine; by its events."""
    begin, longest = {}, 0
    with open(trace, encoding="utf-8") as f:
        for e in map(json.loads, f):
            if e["is_active"]:
                begin[e["probe_id"]] = e["ts"]
            elif e["probe_id"] in begin:
                longest = max(longest, e["ts"] - begin.pop(e["probe_id"]))
    return longest


def run_beside_neighbours(cpu):
    others = [subprocess.Popen(["taskset", "-c", cpu, sys.executable, "-c", "while True: pass"]) for _ in range(NEIGHBOURS)]
    try:
        return run_measured("brief", "taskset", "-c", cpu, seconds="2")
    finally:
        for p in others:
            p.kill()
            p.wait()


def a_busy_neighbour_is_no_fault():
    """The worker computes for 4 ms, and other processes on its processor make that longer."""
    cpu = str(min(os.sched_getaffinity(0)))
    for _ in range(10):
        before = stolen_ticks(cpu)
        trace = run_beside_neighbours(cpu)
        assert longest_slice(trace) > 10 * MS, "no slice was long, so nothing was tested"
        findings = findings_of(trace)
        if not blocking_of(findings) or stolen_ticks(cpu) == before:
            break
    assert not blocking_of(findings), brief_of(findings)
    assert best_of(findings, "never-yielded") < 0, brief_of(findings)


burning_and_sleeping_are_found()
a_busy_neighbour_is_no_fault()
