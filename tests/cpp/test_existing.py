# SPDX-License-Identifier: MIT
"""test_existing.py - programs of the existing coroTracer header: each says what its trace must contain."""
import collections

from cpp_traces import *

PROGRAMS = os.environ.get("EXISTING_PROGRAMS", "build/tests/cpp/existing_")


def run_existing(dir, name):
    """The numbers that the program prints, and its trace."""
    trace = os.path.join(dir, "trace.jsonl")
    status, out, err = tool("run", "--json", "--on-full", "block", "-n", 64, "-o", trace, "--", PROGRAMS + name)
    equal(status, 0, f"status of {name}, with {err!r}")
    words = out.split()
    said = dict(zip(words[::2], map(int, words[1::2])))
    run = Run(status, out, err, trace)
    equal(run.summary["lost"], 0, f"events lost by {name}")
    return said, run


def per_coroutine(run):
    """(suspends, resumes) of each coroutine, counted."""
    per = collections.defaultdict(lambda: [0, 0])
    for e in run.events:
        per[e["probe_id"]][1 if e["is_active"] else 0] += 1
    return collections.Counter(map(tuple, per.values()))


def untraced(name):
    return subprocess.run([PROGRAMS + name], capture_output=True, text=True, timeout=300)


@test
def a_generator_that_awaits(dir):
    said, run = run_existing(dir, "numbers")
    equal((said["sum"], said["events"], said["traced"]), (30, 10, 1), "sum, events, traced")
    equal(per_coroutine(run), {(5, 5): 1}, "suspends and resumes")
    equal({e["probe_id"] for e in run.events}, {said["id"]}, "the id in the station is the one in the trace")


@test
def tasks_with_an_await_transform_of_their_own(dir):
    said, run = run_existing(dir, "tasks")
    equal((said["sum"], said["awaits"]), (55, 20), "sum and awaits")
    equal(per_coroutine(run), {(10, 10): 1, (1, 1): 10}, "suspends and resumes")


@test
def detached_coroutines_and_transitions_by_hand(dir):
    said, run = run_existing(dir, "detached")
    equal((said["sum"], said["by-hand"]), (sum(range(7, 15)), 4), "sum and transitions")
    equal(per_coroutine(run), {(1, 1): 8, (2, 2): 1}, "suspends and resumes")


@test
def coroutines_on_a_pool_of_threads(dir):
    said, run = run_existing(dir, "workers")
    equal((said["turns"], said["took"]), (600, 1), "turns, time")
    equal(per_coroutine(run), {(20, 20): 30}, "suspends and resumes")


@test
def stations_that_the_program_writes_itself(dir):
    said, run = run_existing(dir, "stations")
    equal((said["attached"], said["socket"], said["version"], said["written"]), (1, 1, 1, 16), "what it saw")
    equal(per_coroutine(run), {(4, 4): 2}, "suspends and resumes")
    equal({e["probe_id"] for e in run.events}, {1001, 1002}, "ids")


@test
def all_of_them_run_untraced(dir):
    for name in "numbers", "tasks", "detached", "workers", "stations":
        run = untraced(name)
        equal((run.returncode, run.stderr), (0, ""), f"status and stderr of {name}")
    equal(untraced("stations").stdout, "attached 0 socket 0 version 0\nwritten 0\n", "stations")


main()
