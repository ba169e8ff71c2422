#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`run -p`: where the coroutines wait that existed before and do not run, in the trace and the report."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "inspect"))
import programs  # noqa: E402

TOOL = os.environ["COROTRACER"]
SOURCE = os.path.join(HERE, "waiting_cpp.cpp")
STILL, MOVING = 20, 3
faults = []


def check(what, got, expected):
    if got != expected:
        faults.append(what)
        print("FAIL: %s is %s, expected %s" % (what, got, expected))


def line_of(marker):
    with open(SOURCE, encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if line.rstrip().endswith("// @" + marker))


class Program:
    def __init__(self, path, *args):
        self.process = subprocess.Popen([path, *map(str, args)], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def attach(pid, trace, *options):
    r = subprocess.run([TOOL, "run", "-p", str(pid), "-o", trace, *options], capture_output=True, text=True, timeout=250,
                       check=False)
    check("exit status (%s)" % r.stderr.strip(), r.returncode, 0)
    return r.stderr


def report(trace):
    return json.loads(subprocess.run([TOOL, "report", "--json", trace], capture_output=True, text=True, timeout=300,
                                     check=False).stdout)


def facts(trace):
    with open(trace + ".meta", encoding="utf-8") as f:
        return [j for j in map(json.loads, f) if j["type"] == "waiting"]


def still_group(rows):
    stack = "(anonymous namespace)::inner waiting_cpp.cpp:%d <- (anonymous namespace)::outer waiting_cpp.cpp:%d" % (
        line_of("inner"), line_of("outer"))
    return [r for r in rows if r["stack"] == stack]


def attach_while_moving(path, trace):
    """Long enough that the program runs its coroutines and both looks are made, on a loaded machine, too."""
    for seconds in ("1.5", "6", "20", "20"):
        with Program(path, STILL, MOVING) as pid:
            attach(pid, trace, "--duration", seconds)
        waiting = report(trace).get("waiting", [])
        if waiting and all(w["unmoved"] is not None for w in waiting):
            return


def test_detach(path, work):
    trace = os.path.join(work, "detach.jsonl")
    attach_while_moving(path, trace)
    found = still_group(facts(trace))
    check("facts of coroutines that do not run", len(found), 1)
    for fact in found:
        # Two coroutines per stack, both traced by the SDK.
        check("count", (fact["count"], fact["unmoved"], fact["checked"]), (2 * STILL, 2 * STILL, True))
        check("line", (os.path.basename(fact["file"]), fact["line"]), ("waiting_cpp.cpp", line_of("inner")))
        check("verdict", fact["verdict"], "waiting")
    check("those that run and are said not to", sum(f["unmoved"] for f in facts(trace)), 2 * STILL)
    result = report(trace)
    check("report", [(w["count"], w["unmoved"], w["line"]) for w in result["waiting"]], [(2 * STILL, 2 * STILL, line_of("inner"))])
    for form, words in ("--text", "%d coroutines existed before" % (2 * STILL)), ("--markdown", "| %d | %d |" % (2 * STILL, 2 * STILL)):
        text = subprocess.run([TOOL, "report", form, trace], capture_output=True, text=True, check=False).stdout
        check(form + ": " + text, words in text and "inner waiting" in text, True)


def test_ctf(path, work):
    trace = os.path.join(work, "trace.ctf")
    attach_while_moving(path, trace)
    check("report of CTF", [(w["unmoved"], w["verdict"]) for w in report(trace).get("waiting", [])], [(2 * STILL, "waiting")])


def wait_for_first_look(collector, trace):
    """A process that the collector starts makes the look; it is a zombie until the end of the run."""
    limit, states = time.monotonic() + 200, []
    while time.monotonic() < limit:
        with open("/proc/%d/task/%d/children" % (collector, collector), encoding="ascii") as f:
            pids = f.read().split()
        states = []
        for pid in pids:
            with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as f:
                states.append(f.read().rsplit(")", 1)[1].split()[0])
        if "Z" in states and os.path.exists(trace) and os.path.getsize(trace):
            return
        time.sleep(0.02)
    check("the look has ended; states of the collector's processes are %s" % states, "Z" in states, True)


def test_program_ends(path, work):
    """The program cannot be looked at again: the number is not known."""
    trace = os.path.join(work, "ends.jsonl")
    with Program(path, STILL, MOVING) as pid, subprocess.Popen([TOOL, "run", "-p", str(pid), "-o", trace],
                                                               stderr=subprocess.DEVNULL) as tool:
        wait_for_first_look(tool.pid, trace)
        os.kill(pid, signal.SIGKILL)
        tool.wait(250)
    found = still_group(facts(trace))
    check("facts", [(f["count"], f["checked"]) for f in found], [(2 * STILL, False)])
    check("report", [w["unmoved"] for w in report(trace)["waiting"]], [None] * len(report(trace)["waiting"]))


def test_idle(path, work):
    """A program without events never attaches; its coroutines are found all the same."""
    trace = os.path.join(work, "idle.jsonl")
    with Program(path, STILL, 0) as pid:
        attach(pid, trace, "--duration", "0.5")
    check("unmoved", [f["unmoved"] for f in facts(trace)], [2 * STILL])


def test_none(path, work):
    trace = os.path.join(work, "none.jsonl")
    with Program(path, STILL, MOVING) as pid:
        attach(pid, trace, "--duration", "0.5", "--no-snapshot")
    check("facts with --no-snapshot", facts(trace), [])
    check("report without facts", "waiting" in report(trace), False)


def look_of(collector):
    """The process group that makes the look."""
    limit = time.monotonic() + 200
    while time.monotonic() < limit:
        with open("/proc/%d/task/%d/children" % (collector, collector), encoding="ascii") as f:
            for pid in map(int, f.read().split()):
                with open("/proc/%d/cmdline" % pid, "rb") as words:
                    if b"\0why\0" in words.read():
                        return pid
        time.sleep(0.002)
    raise AssertionError("the collector makes no look")


def state_of(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def attach_and_stop_the_look(pid, trace, *options):
    while True:
        tool = subprocess.Popen([TOOL, "run", "-p", str(pid), "-o", trace, "--duration", "1", *options], stderr=subprocess.PIPE, text=True)
        look = look_of(tool.pid)
        try:
            os.killpg(look, signal.SIGSTOP)
        except ProcessLookupError:
            pass  # it is not in its group yet
        else:
            while state_of(look) not in "TZ":
                time.sleep(0.002)
            if state_of(look) == "T":
                return tool, look
        tool.communicate(timeout=250)  # it was faster


def let_the_look_run(look):
    """Until it has used the processor; false: it has ended."""
    try:
        with open("/proc/%d/schedstat" % look, encoding="ascii") as f:
            used = f.read()
        os.killpg(look, signal.SIGCONT)
        while state_of(look) != "Z":
            with open("/proc/%d/schedstat" % look, encoding="ascii") as f:
                if f.read() != used:
                    os.killpg(look, signal.SIGSTOP)
                    return True
    except (FileNotFoundError, ProcessLookupError):
        pass
    return False


MISSING = "cannot tell where coroutines wait that existed before the attach: the look at the program made no progress for 5 seconds"


def test_look_is_stopped(path, work):
    """A look that does not come to its end is reported in the summary, the trace and the report."""
    trace = os.path.join(work, "stopped.jsonl")
    with Program(path, STILL, MOVING) as pid:
        tool, _ = attach_and_stop_the_look(pid, trace, "--json")
        err = tool.communicate(timeout=250)[1]
        check("exit status", tool.returncode, 0)
        summary = json.loads(next(line for line in err.splitlines() if line.startswith("{")))
        check("summary", summary["waiting_missing"], MISSING)
        check("facts", [(f["count"], f["missing"]) for f in facts(trace)], [(0, MISSING)])
        check("notes of the report", "The collector %s." % MISSING in report(trace)["notes"], True)
        check("report", report(trace).get("waiting"), None)
        tool, _ = attach_and_stop_the_look(pid, trace + ".2", "-q")
        os.kill(tool.pid, signal.SIGINT)  # ends the run,
        time.sleep(1.5)  # which a second one would cut short
        while tool.poll() is None:
            os.kill(tool.pid, signal.SIGINT)  # and the wait
            time.sleep(0.05)
        check("interrupted", "a signal ended the wait for the look" in tool.communicate()[1], True)


def test_slow_look(path, work):
    """A look that is slower than the limit without progress, and makes some now and then, is waited for."""
    trace = os.path.join(work, "slow.jsonl")
    with Program(path, STILL, 0) as pid:
        tool, look = attach_and_stop_the_look(pid, trace, "--json")
        began = time.monotonic()
        while time.monotonic() - began < 8:
            time.sleep(2)
            if not let_the_look_run(look):
                break
        else:
            os.killpg(look, signal.SIGCONT)
        err = tool.communicate(timeout=250)[1]
        summary = json.loads(next(line for line in err.splitlines() if line.startswith("{")))
    check("summary", summary["waiting_missing"], None)
    check("unmoved", [f["unmoved"] for f in facts(trace)], [2 * STILL])


def main():
    if not shutil.which("g++"):
        print("no g++ here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        path = programs.compile_program("waiting_cpp", ["g++", "-std=c++20", "-O1", "-g", "-I",
                                                        os.path.join(HERE, "..", "..", "include"), SOURCE, "-pthread"])
        if not path:
            return 1
        for test in test_detach, test_ctf, test_program_ends, test_idle, test_none, test_look_is_stopped, test_slow_look:
            test(path, work)
    print("%d faults" % len(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
