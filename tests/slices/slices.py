# SPDX-License-Identifier: MIT
"""slices.py - run slices_program under the tool, and read the trace and the report."""
import json
import os
import signal
import subprocess
import tempfile
import time

TOOL = os.environ["COROTRACER"]
SCRATCH = tempfile.TemporaryDirectory(prefix="corotracer-slices-")


def start_program(trace, program, *words):
    return subprocess.Popen([TOOL, "run", "-q", "-o", trace, "--", program, *words], start_new_session=True)


def pid_of_program(trace):
    """The pid from the description of the run, once it is written."""
    for _ in range(5000):
        try:
            for line in open(trace + ".meta"):
                item = json.loads(line)
                if item["type"] == "process":
                    return item["pid"]
        except (OSError, ValueError):
            pass
        time.sleep(0.02)
    raise AssertionError("the program did not connect")


class TooLittle(AssertionError):
    """Less than wanted was measured: a loaded machine may need more time."""


def at_least(got, least, what):
    if got < least:
        raise TooLittle(f"{got}, expected at least {least}: {what}")


def patiently(check):
    """check(seconds) of a run; again with longer runs while too little is measured."""
    for seconds in (1.2, 5):
        try:
            return check(seconds)
        except TooLittle as why:
            print(f"in {seconds} s: {str(why)[:300]}")
    return check(20)


def trace_of(program, mode, seconds=1.2, form="jsonl"):
    trace = f"{SCRATCH.name}/{mode}.{form}"
    run = start_program(trace, program, mode, str(seconds))
    assert run.wait(timeout=300) == 0, mode
    return trace


def trace_with_stop(program, mode, seconds, stop_seconds):
    """As trace_of(), and the program is stopped for some time after half a second; it runs longer on a loaded machine."""
    for more in (0, 5, 30):
        trace = f"{SCRATCH.name}/{mode}-stopped-{more}.jsonl"
        run = start_program(trace, program, mode, str(seconds + more))
        pid = pid_of_program(trace)
        time.sleep(0.5)
        is_stopped = stop_process(pid, run)
        if is_stopped:
            time.sleep(stop_seconds)
            os.kill(pid, signal.SIGCONT)
        assert run.wait(timeout=300) == 0
        if is_stopped:
            return trace
    raise AssertionError("the program always ended before it was stopped")


def stop_process(pid, run):
    """False: it has ended."""
    try:
        os.kill(pid, signal.SIGSTOP)
        while run.poll() is None:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                state = f.read().rsplit(")", 1)[1].split()[0]
            if state == "T":
                return True
            if state == "Z":
                return False
            time.sleep(0.005)
    except (ProcessLookupError, FileNotFoundError):
        pass
    return False


def cpu_lines(trace):
    if trace.endswith(".ctf"):
        flat = trace + ".jsonl"
        subprocess.run([TOOL, "export", "jsonl", "-i", trace, "-o", flat], check=True, timeout=300,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        trace = flat
    with open(trace + ".meta", encoding="utf-8") as f:
        items = [json.loads(line) for line in f]
    return [item for item in items if item["type"] == "cpu"]


def findings_of(trace, *options):
    done = subprocess.run([TOOL, "report", "--json", *options, trace], capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)["findings"]


def stolen_ticks(cpu=""):
    """What the host of a virtual machine took from a processor, or from all: the kernel adds it to the time of the thread that had it, and
    a switch may last that long."""
    with open("/proc/stat", encoding="ascii") as f:
        return next(int(line.split()[8]) for line in f if line.startswith(f"cpu{cpu} "))
