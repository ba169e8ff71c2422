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
    for _ in range(200):
        try:
            for line in open(trace + ".meta"):
                item = json.loads(line)
                if item["type"] == "process":
                    return item["pid"]
        except (OSError, ValueError):
            pass
        time.sleep(0.02)
    raise AssertionError("the program did not connect")


def trace_of(program, mode, seconds="1.2", form="jsonl"):
    trace = f"{SCRATCH.name}/{mode}.{form}"
    run = start_program(trace, program, mode, seconds)
    assert run.wait(timeout=60) == 0, mode
    return trace


def trace_with_stop(program, mode, seconds, stop_seconds):
    """As trace_of(), and the program is stopped for some time after half a second."""
    trace = f"{SCRATCH.name}/{mode}-stopped.jsonl"
    run = start_program(trace, program, mode, seconds)
    pid = pid_of_program(trace)
    time.sleep(0.5)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(stop_seconds)
    os.kill(pid, signal.SIGCONT)
    assert run.wait(timeout=60) == 0
    return trace


def cpu_lines(trace):
    if trace.endswith(".ctf"):
        flat = trace + ".jsonl"
        subprocess.run([TOOL, "export", "jsonl", "-i", trace, "-o", flat], check=True, timeout=60,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        trace = flat
    with open(trace + ".meta", encoding="utf-8") as f:
        items = [json.loads(line) for line in f]
    return [item for item in items if item["type"] == "cpu"]


def findings_of(trace, *options):
    done = subprocess.run([TOOL, "report", "--json", *options, trace], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)["findings"]
