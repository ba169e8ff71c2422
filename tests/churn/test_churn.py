# SPDX-License-Identifier: MIT
"""test_churn.py - threads that start and end: nothing is lost, and no file or buffer per thread is left.

Every thread names its coroutine after itself, so that the thread of each event can be checked.
COROTRACER_FULL=1: ten times as many threads.
"""
import os
import re
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import *  # noqa: E402

PROGRAM = os.environ["CHURN_PROGRAM"]
TRACE_TOOL = os.environ["TRACE_TOOL"]
MANY = 200000 if os.environ.get("COROTRACER_FULL") else 20000
FILES = 256 + 5  # lanes, and stations, stations_late, facts, totals, metadata


def churn(dir, output, total, alive, options=(), **kwargs):
    """One run: all events that the program counted are collected."""
    trace = os.path.join(dir, output)
    status, out, err = tool("run", "--json", "--fail-on-loss", "-o", trace, *options, "--", PROGRAM, str(total),
                            str(alive), **kwargs)
    r = Run(status, out, err, trace)
    said = re.search(r"^target: (\d+) events of (\d+)$", err, re.M)
    if status != 0 or not said:
        raise AssertionError(f"status {status}; stderr was\n{err}")
    s = r.summary
    equal((s["written"], s["collected"], s["lost"]), (int(said[1]), int(said[1]), 0), "written, collected, lost")
    equal((s["coroutines"], s["without_station"], s["others"]["lost"]), (total, 0, 0), "coroutines, others lost")
    equal((s["garbage"], s["lanes"]["broken"], s["lanes"]["opened"]), (0, 0, total), "garbage, broken lanes, threads")
    return r


def check_owners(events, total):
    """Every event comes from the thread that its coroutine is named after."""
    owners, transitions = {}, 0
    for e in events:
        if e["kind"] == "birth":
            owners[e["probe_id"]] = int(e["name"])
        if e["kind"] in ("suspend", "resume", "birth", "end"):
            equal(e["tid"], owners[e["probe_id"]], f"thread of {e}")
            transitions += e["kind"] in ("suspend", "resume")
    equal((len(owners), transitions), (total, 6 * total), "births and transitions in the trace")


def dump(path):
    p = popen(TRACE_TOOL, "dump", path)
    for line in p.stdout:
        yield json.loads(line)
    equal(p.wait(), 0, "status of trace_tool")


@test
def threads_that_come_and_go_share_the_files_of_a_ctf_trace(dir):
    r = churn(dir, "t.ctf", MANY, 10)
    files = os.listdir(r.trace)
    assert len(files) < 64, f"{len(files)} files for ten threads at a time"
    check_owners(dump(r.trace), MANY)


@test
def and_they_are_complete_in_json_lines(dir):
    churn(dir, "t.jsonl", MANY, 10)


@test
def a_thousand_threads_at_a_time_have_a_bounded_number_of_files(dir):
    r = churn(dir, "t.ctf", 4000, 1000)
    files = os.listdir(r.trace)
    assert len(files) <= FILES, f"{len(files)} files"
    check_owners(dump(r.trace), 4000)


@test
def so_they_do_with_few_descriptors(dir):
    r = churn(dir, "t.ctf", 2000, 500, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48)))
    check_owners(dump(r.trace), 2000)


@test
def a_small_buffer_is_enough_for_threads_that_come_and_go(dir):
    churn(dir, "t.ctf", 2000, 4, options=["--buffer", "16M"])


@test
def threads_beyond_the_files_give_their_buffer_back(dir):
    """More events per thread than the buffer holds: without a chunk that is given back, the program would wait."""
    trace = os.path.join(dir, "t.ctf")
    status, out, err = tool("run", "--json", "--fail-on-loss", "-o", trace, "--buffer", "32M", "--on-full", "block=60000",
                            "--", os.environ["LANES_TARGET"], "many-threads", 300, 2000 if os.environ.get("SANITIZE") else 20000)
    equal(status, 0, f"status; stderr was {err}")
    s = Run(status, out, err, trace).summary
    equal((s["lost"], s["others"]["lost"]), (0, 0), "events lost")


@test
def babeltrace_counts_the_same_events(dir):
    if not shutil.which("babeltrace2"):
        raise Skip("no babeltrace2 here")
    r = churn(dir, "t.ctf", 1500, 600)
    p = subprocess.run(["babeltrace2", r.trace], capture_output=True, text=True, check=False)
    equal((p.returncode, p.stderr), (0, ""), "status of babeltrace2, and what it says")
    for name, number in ("suspend", 3 * 1500), ("resume", 3 * 1500), ("birth", 1500), ("end", 1500):
        found = len(re.findall(rf" {name}(?:_\w+)?: ", p.stdout))
        equal(found, number, f"events '{name}' that babeltrace2 finds")


main()
