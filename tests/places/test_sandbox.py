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
SANDBOX = os.environ["OLD_KERNEL"]
THREADS = os.environ.get("THREADS_PROGRAM", "")
EVENTS = 1000
OWN_NUMBERS = 1 << 30  # CTP_TID_OWN


def documented():
    """(calls of each row of the table, calls that nearly every program makes)"""
    with open(os.path.join(HERE, "..", "..", "docs", "containers.md"), encoding="utf-8") as f:
        text = f.read().split("## System calls that a traced program makes")[1].split("\n## ")[0]
    rows = [re.findall(r"`(\w+)`", calls) for calls in re.findall(r"^\| (`.*?) \|", text, re.M)]
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
    known = usual.union(*rows)
    alone = os.path.join(dir, "alone")
    subprocess.run(["strace", "-f", "-qq", "-o", alone, PROGRAM], check=True, capture_output=True, timeout=300)
    for options in [], ["--no-inherit"]:
        log = os.path.join(dir, "traced")
        status, summary, err = run_traced(dir, "-o", log, options=options)
        equal((status, summary["collected"]), (0, EVENTS), err)
        new = calls_of(log) - calls_of(alone)
        # It wakes the collector by sendto only if that sleeps already.
        assert new & {"sendmsg", "connect"}, f"the program was not traced: {new}"
        equal(new - known, set(), "calls that docs/containers.md does not have")


@test
def refused_calls_cost_no_event(dir):
    needs_strace()
    for calls in documented()[0]:
        for options in [], ["--no-inherit"]:
            names = ",".join(calls)
            status, summary, err = run_traced(dir, "-o", "/dev/null", "-e", f"trace={names}", "-e", f"inject={names}:error=EPERM", options=options)
            equal((status, summary["collected"], summary["lost"]), (0, EVENTS, 0), f"without {names} {options}: {err}")


def run_in_sandbox(dir, sandbox, *program):
    """(events, thread ids of the trace, pid) of a program that the sandbox runs.  Fails if anything was lost."""
    trace, log = os.path.join(dir, "t.jsonl"), os.path.join(dir, "pids")
    shell = 'echo $$ >"$0"; exec "$@"'
    status, _, err = tool("run", "--json", "-o", trace, "--", "sh", "-c", shell, log, SANDBOX, sandbox, *program)
    if status == 77:
        raise Skip("no seccomp here")
    summary = json.loads([line for line in err.splitlines() if line.startswith("{")][-1])
    equal((status, summary["lost"], summary["garbage"], summary["lanes"]["broken"]), (0, 0, 0, 0), f"{sandbox}: {err}")
    with open(trace, encoding="utf-8") as f:
        tids = {json.loads(line)["tid"] for line in f}
    with open(log, encoding="utf-8") as f:
        return summary["collected"], tids, int(f.read())


@test
def threads_learn_their_ids_without_gettid(dir):
    collected, tids, pid = run_in_sandbox(dir, "no-gettid", PROGRAM)
    equal((collected, tids), (EVENTS, {pid}), "events, threads")


@test
def threads_have_own_numbers_if_no_call_says_their_ids(dir):
    collected, tids, _ = run_in_sandbox(dir, "no-thread-id", PROGRAM)
    equal((collected, len(tids), min(tids) >= OWN_NUMBERS), (EVENTS, 1, True), f"events, threads: {tids}")


@test
def threads_at_one_time_have_different_numbers(dir):
    if not THREADS:
        raise Skip("no program with threads in this language")
    for sandbox in "no-gettid", "no-thread-id":
        collected, tids, _ = run_in_sandbox(dir, sandbox, THREADS, "30", "30")
        equal((collected, len(tids)), (180, 30), f"events, threads: {sandbox}")
        equal({tid >= OWN_NUMBERS for tid in tids}, {sandbox == "no-thread-id"}, f"own numbers: {sandbox}")


main()
