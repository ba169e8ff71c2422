#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What threads wait for: futures of the standard library, and what only looks like one."""
import os
import re
import sys
import tempfile
import time

import test_why as common

# Thread: the kind and the type of what it waits for, and the thread that runs it or holds it.
EXPECTED = {
    "computes": ("future", "std::promise", None),
    "promise": ("future", "std::promise", None),
    "timed": ("future", "std::promise", None),
    "async": ("thread", None, "computes"),
    "async_timed": ("future", "std::async", "computes"),
    "packaged": ("future", "std::packaged_task", None),
    "mutex": ("lock", None, "main"),
    "number": None,
    "main": None,
}


def wait_blocked(pid):
    """Until every thread sleeps in a system call."""
    for _ in range(500):
        states = []
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/stat" % (pid, tid), encoding="utf-8") as f:
                states.append(f.read().rsplit(")", 1)[1].split()[0])
        if set(states) == {"S"}:
            return
        time.sleep(0.02)


def check(label, found, facts):
    names = {tid: name for name, tid in facts.items()}
    for thread in found["threads"]:
        name, waits = names[thread["tid"]], thread["waits_for"]
        got = waits and (waits["kind"], waits.get("type"), names.get(waits["holder"]))
        if got != EXPECTED[name]:
            common.fail("%s: thread %s waits for %s, expected %s" % (label, name, got, EXPECTED[name]))
    states = [t["waits_for"]["object"] for t in found["threads"] if "object" in (t["waits_for"] or {})]
    if len(set(states)) != len(states):
        common.fail("%s: two futures have one state: %s" % (label, states))


def check_text(pid, facts):
    r = common.subprocess.run([common.TOOL, "why", "-p", str(pid)], capture_output=True, text=True, timeout=60, check=True)
    line = re.search(r"^ +%d .*$" % facts["async_timed"], r.stdout, re.M).group(0)
    if not line.endswith(", run by thread %d" % facts["computes"]) or "future of a std::async (0x" not in line:
        common.fail("text: %s" % line)


def main():
    compilers = [c for c in common.COMPILERS if c == "g++" or common.FULL]
    if not compilers:
        print("no g++ here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        for compiler in compilers:
            path = common.build(work, "futures", compiler, ["-O1", "-g"])
            if not path:
                continue
            with common.Target(path) as target:
                pid = target.process.pid
                facts = dict(target.facts, main=pid)
                wait_blocked(pid)
                check(compiler, common.why("-p", str(pid)), facts)
                check_text(pid, facts)
                saved = os.path.join(work, "saved")
                common.subprocess.run([common.TOOL, "why", "--save", saved, "-p", str(pid)], check=True, capture_output=True, timeout=240)
                check(compiler + ", saved", common.why(saved), facts)
    print("%d faults" % len(common.faults))
    return 1 if common.faults else 0


if __name__ == "__main__":
    sys.exit(main())
