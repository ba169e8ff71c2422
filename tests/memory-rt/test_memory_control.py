#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_control.py - `mem ctl`: recording starts and stops in a running program, and marks are in its trace."""
import os
import subprocess

from rt import CLEAN, TOOL, check, compile, contains, dump, each_family, equal, main, sizes, test


def ctl(*args, status=0):
    r = subprocess.run([TOOL, "mem", "ctl", *map(str, args)], capture_output=True, text=True, env=CLEAN, timeout=60)
    equal(r.returncode, status, f"mem ctl {args}: {r.stderr}")
    return r


MARK = "in the middle of the work, of forty-eight bytes."  # the longest text


class Served:
    """A program that works once per byte."""

    def __init__(self, program, trace, options, collector):
        command = [TOOL, "mem", "run", "-q", "-o", trace, "--", program] if collector else [program]
        env = dict(CLEAN, CACHERAY_OPTIONS=options if collector else f"tracefile={trace}:{options}")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.pid = int(self.process.stdout.readline())

    def work(self, times=1):
        for _ in range(times):
            self.process.stdin.write(b"x")
            self.process.stdin.flush()
            equal(self.process.stdout.read(1), b"x", "the program's answer")

    def end(self):
        self.process.stdin.close()
        equal(self.process.wait(timeout=60), 0, "the program's status")


@each_family
def recording_starts_and_stops_in_a_running_program(dir, cc, _cxx):
    program = compile(dir, "served.c", cc)
    for collector in (True, False):
        trace = os.path.join(dir, f"{cc}-{collector}")
        p = Served(program, trace, "control=1:start=0", collector)
        p.work()
        ctl(p.pid, "start")
        p.work(2)
        ctl(p.pid, "mark", MARK)
        p.work(3)
        ctl(p.pid, "stop")
        p.work(4)
        ctl(p.pid, "start")
        p.work(5)
        ctl("--for", 1, p.pid, "start")
        p.work(6)
        ctl(p.pid, "mark")
        p.end()
        c = check(trace)
        equal(sizes(c)[2], (0, 10000), f"accesses of 2 bytes, collector: {collector}")
        equal(c["marks"], 2, "marks")
        texts = [r.get("text", r.get("name")) for r in dump(trace) if r["kind"] == "mark"]
        equal(texts[0], MARK, "text of the first mark")


@test
def a_process_that_takes_no_requests_is_named(dir):
    program = compile(dir, "served.c", "cc" if os.path.exists("/usr/bin/cc") else "gcc")
    p = Served(program, os.path.join(dir, "trace"), "start=0", True)
    r = ctl(p.pid, "start", status=1)
    contains(r.stderr, f"process {p.pid} takes no requests")
    contains(r.stderr, "control=1")
    p.end()
    r = ctl(os.getpid(), "start", status=1)
    contains(r.stderr, "has no region")
    contains(r.stderr, "hint:")
    r = ctl(p.pid, "start", status=1)
    contains(r.stderr, f"there is no process {p.pid}")
    contains(r.stderr, "hint:")
    contains(ctl(1, "sleep", status=2).stderr, "unknown request 'sleep'")
    contains(ctl("x", "start", status=2).stderr, "invalid process number 'x'")
    contains(ctl(1, status=2).stderr, "missing argument REQUEST")
    contains(ctl(1, "mark", MARK + "x", status=2).stderr, "has 49 bytes: expected at most 48")


main()
