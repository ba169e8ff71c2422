# SPDX-License-Identifier: MIT
"""test_sandbox.py - the system calls of a traced program are those of docs/containers.md, and may be refused as it says."""
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from harness import *  # noqa: E402

PROGRAM = os.environ["PLACE_PROGRAM"]
EVENTS = 1000


def documented():
    """(rows of the table: calls and whether they are required; calls that nearly every program makes)"""
    with open(os.path.join(HERE, "..", "..", "docs", "containers.md"), encoding="utf-8") as f:
        text = f.read().split("## System calls that a traced program makes")[1].split("\n## ")[0]
    rows = [([c for c in re.findall(r"`(\w+)`", calls)], last.strip().startswith("required"))
            for calls, last in re.findall(r"^\| (`.*?) \|.*\|([^|]*)\|$", text, re.M)]
    assert rows, "no table in docs/containers.md"
    return rows, set(re.findall(r"`(\w+)`", text[text.index("Calls that nearly every"):]))


def needs_strace():
    if not shutil.which("strace"):
        raise Skip("no strace here")
    if subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, timeout=60).returncode:
        raise Skip("no ptrace here")


def calls_of(log):
    with open(log, encoding="utf-8", errors="replace") as f:
        return set(re.findall(r"^\d+ +(\w+)\(", f.read(), re.M))


def run_traced(dir, *strace, options=()):
    status, _, err = tool("run", "--json", *options, "-o", os.path.join(dir, "t.jsonl"), "--", "strace", "-f", "-qq", *strace, PROGRAM)
    return status, json.loads([line for line in err.splitlines() if line.startswith("{")][-1]), err


@test
def other_calls_are_not_made(dir):
    needs_strace()
    rows, usual = documented()
    known = usual.union(*(calls for calls, _ in rows))
    alone = os.path.join(dir, "alone")
    subprocess.run(["strace", "-f", "-qq", "-o", alone, PROGRAM], check=True, capture_output=True, timeout=300)
    for options in [], ["--no-inherit"]:
        log = os.path.join(dir, "traced")
        status, summary, err = run_traced(dir, "-o", log, options=options)
        equal((status, summary["collected"]), (0, EVENTS), err)
        new = calls_of(log) - calls_of(alone)
        assert "sendto" in new, f"the program was not traced: {new}"
        equal(new - known, set(), "calls that docs/containers.md does not have")


@test
def refused_calls_cost_no_event(dir):
    needs_strace()
    for calls, required in documented()[0]:
        if required:
            continue
        for options in [], ["--no-inherit"]:
            names = ",".join(calls)
            status, summary, err = run_traced(dir, "-o", "/dev/null", "-e", f"trace={names}", "-e", f"inject={names}:error=EPERM", options=options)
            equal((status, summary["collected"], summary["lost"]), (0, EVENTS, 0), f"without {names} {options}: {err}")


main()
