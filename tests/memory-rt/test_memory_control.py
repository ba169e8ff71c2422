#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_control.py - `mem ctl`: recording starts and stops in a running program, and marks are in its trace."""
import json
import os
import subprocess
import time

from rt import CLEAN, TOOL, check, compile, contains, dump, each_family, equal, main, sizes, test


def ctl(*args, status=0):
    r = subprocess.run([TOOL, "mem", "ctl", *map(str, args)], capture_output=True, text=True, env=CLEAN, timeout=60)
    equal(r.returncode, status, f"mem ctl {args}: {r.stderr}")
    return r


MARK = "in the middle of the work, of forty-eight bytes."  # the longest text


class Served:
    """A program that works once per byte."""

    def __init__(self, program, trace, options, collector, *more):
        command = [TOOL, "mem", "run", "-q", *more, "-o", trace, "--", program] if collector else [program]
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


def simulate(trace):
    r = subprocess.run([TOOL, "mem", "sim", "--json", trace], capture_output=True, text=True, env=CLEAN, timeout=100)
    return json.loads(r.stdout)


def marks(trace):
    return [r.get("text", r.get("name")) for r in dump(trace, "--kind", "mark")]


@each_family
def bursts_record_part_of_the_time(dir, cc, _cxx):
    program = compile(dir, "served.c", cc)
    trace = os.path.join(dir, f"{cc}-bursts")
    p = Served(program, trace, "", True, "--burst", "20ms/40ms")
    end, rounds = time.monotonic() + 0.5, 0
    while time.monotonic() < end:
        p.work()
        rounds += 1
    ctl(p.pid, "stop")
    p.work(3)
    p.end()
    recorded = sizes(check(trace))[2][1]
    if not 0 < recorded < 1000 * rounds:
        raise AssertionError(f"{recorded} of {1000 * rounds} accesses are recorded")
    if len(marks(trace)) < 2 or set(marks(trace)) != {"burst"}:
        raise AssertionError(f"marks: {marks(trace)}")
    equal(simulate(trace)["sampled"], True, "sampled")


@each_family
def an_access_of_a_burst_stands_for_those_of_its_period(dir, cc, _cxx):
    program = compile(dir, "served.c", cc)
    for collector in (True, False):
        trace = os.path.join(dir, f"{cc}-weight-{collector}")
        p = Served(program, trace, "burst=1800s/3600s:start=0", collector)
        p.work()
        ctl(p.pid, "start")
        p.work(2)
        ctl(p.pid, "stop")
        p.work(4)
        p.end()
        equal(sizes(check(trace))[2], (0, 2000), f"accesses of 2 bytes, collector: {collector}")
        equal(marks(trace), ["burst"], "marks")
        sim = simulate(trace)
        equal(sim["reads"] + sim["writes"], 2 * check(trace)["accesses"], "accesses, each of weight 2")


@test
def a_wrong_burst_is_refused(dir):
    for text in ("10ms", "10/1s", "2s/1s", "0ms/1s", "1ms/3601s", "1ms/1s ", "99999999999999999999ms/1s"):
        r = subprocess.run([TOOL, "mem", "run", "--burst", text, "true"], capture_output=True, text=True, env=CLEAN, timeout=60)
        equal(r.returncode, 2, f"status of --burst {text}")
        contains(r.stderr, "10ms/1s")
        r = subprocess.run([compile(dir, "served.c", "gcc")], input="", capture_output=True, text=True, timeout=60,
                           env=dict(CLEAN, CACHERAY_OPTIONS=f"tracefile={dir}/none:burst={text}"))
        contains(r.stderr, "10ms/1s")
        equal((r.returncode, os.path.exists(f"{dir}/none")), (0, False), "the program runs without a trace")


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
