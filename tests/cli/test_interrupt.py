# SPDX-License-Identifier: MIT
"""test_interrupt.py - Ctrl-C at any moment ends every command that reads a file, and leaves no temporary file.

A command that was interrupted in its first half must not finish its work: if it does, a stage does not look at the
signal.  The times from the signal to the end are printed, and nothing is asserted about them: the machine may be busy.

MAKE_TRACE: the program that writes a large trace; MAKE_RECORDING: the one that writes a recording of frames
COROTRACER_FULL=1: a larger input and more moments
"""
import glob
import random
import select
import shutil

from harness import *

MAKE_TRACE = os.environ.get("MAKE_TRACE", "build/tests/view/make_trace")
MAKE_RECORDING = os.environ.get("MAKE_RECORDING", "")
FULL = os.environ.get("COROTRACER_FULL") == "1"
EVENTS = "3000000" if FULL else "50000"
MOMENTS = 8 if FULL else 2
CORPUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "memory/layout/corpus/holes.c")
# None: without an output file.
EXPORTS = {"csv": "x.csv", "sqlite": "x.db", "perfetto": "x.pftrace", "chrome": "x.json", "speedscope": "x.speedscope.json", "folded": "x.folded",
           "pprof": "x.pb.gz", "graphviz": "x.dot", "jsonl": "x.jsonl", "ctf": "x.ctf", "ct": "x.ct", "parquet": "x.parquet", "otlp": "x.otlp"}
TIMES = {}


def run_for(dir, args, seconds):
    """Start it, interrupt it as a terminal does; its status, and the time that it took to end."""
    env = dict(os.environ, TMPDIR=os.path.join(dir, "tmp"))
    p = popen(TOOL, *args, cwd=os.path.join(dir, "out"), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        p.wait(seconds)
    except subprocess.TimeoutExpired:
        pass
    asked = time.monotonic()
    if p.poll() is None:
        os.killpg(p.pid, signal.SIGINT)
    status = p.wait(300)
    return status, time.monotonic() - asked


def leftovers(dir):
    """Temporary files, anywhere that the command may write to."""
    hidden = [f for f in glob.glob(os.path.join(dir, "out", "**", ".*"), recursive=True) + glob.glob(os.path.join(dir, "out", ".*"))]
    return hidden + glob.glob(os.path.join(dir, "out", "*.tmp*")) + glob.glob(os.path.join(dir, "out", "*.??????.part")) + os.listdir(os.path.join(dir, "tmp"))


def fresh(dir):
    for name in ("out", "tmp"):
        shutil.rmtree(os.path.join(dir, name), ignore_errors=True)
        os.mkdir(os.path.join(dir, name))


def whole_time(dir, args):
    """How long it takes without an interrupt."""
    fresh(dir)
    start = time.monotonic()
    p = popen(TOOL, *args, cwd=os.path.join(dir, "out"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        p.wait(300)
    finally:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
    return time.monotonic() - start


def check(dir, name, *args):
    chance = random.Random(name)
    whole = whole_time(dir, args)
    for i in range(MOMENTS):
        part = chance.uniform(0.02, 0.5)
        fresh(dir)
        status, took = run_for(dir, args, whole * part)
        TIMES.setdefault(name, []).append(took)
        # On a busy machine the measured time may be too long, and the work done by then.
        if status in (0, 1) and whole * part > 0.2 and took > whole * 0.4:
            raise AssertionError(f"{name} went on to its end, interrupted after {part:.0%} of {whole:.2f} s: status {status}, {took:.2f} s later")
        equal(leftovers(dir), [], f"temporary files of {name}, interrupted after {whole * part:.2f} s")


def show_times():
    for name, all_times in sorted(TIMES.items(), key=lambda item: -max(item[1])):
        print(f"  {max(all_times):7.3f} s  {name}", flush=True)
    TIMES.clear()


@test
def commands_on_a_trace_end(dir):
    trace, compact = os.path.join(dir, "big.ctf"), os.path.join(dir, "big.ct")
    subprocess.run([MAKE_TRACE, trace, EVENTS, "20000", "4"], check=True, stdout=subprocess.DEVNULL)
    equal(tool("export", "ct", "-q", "-i", trace, "-o", compact)[0], 0, "status of export ct")
    for kind, out in EXPORTS.items():
        check(dir, f"export {kind}", "export", kind, "-i", compact, "-o", out)
    check(dir, "info", "info", compact)
    check(dir, "report", "report", compact)
    check(dir, "report --json", "report", "--json", trace)
    check(dir, "html", "html", "-o", "x.html", compact)
    check(dir, "diff", "diff", compact, trace)
    check(dir, "merge", "merge", "-o", "m.ct", compact, compact)
    check(dir, "query", "query", compact, "select count(*), max(ts) from events")
    show_times()


@test
def serve_ends_while_it_reads(dir):
    """It ends by the signal if it has not begun to serve; later it ends with status 0."""
    trace = os.path.join(dir, "big.ctf")
    subprocess.run([MAKE_TRACE, trace, "1000000", "20000", "4"], check=True, stdout=subprocess.DEVNULL)
    for pause in (0.3, 0.2, 0.1, 0.05, 0.3, 0.2, 0.1, 0.05):
        p = popen(TOOL, "serve", trace, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(pause)
        serves = select.select([p.stdout], [], [], 0)[0] != []
        os.killpg(p.pid, signal.SIGINT)
        status = p.wait(300)
        if not serves and status == -signal.SIGINT:
            return
    raise AssertionError(f"it read on to the end each time: status {status}")


@test
def commands_on_accesses_end(dir):
    program, trace = os.path.join(dir, "p"), os.path.join(dir, "p.trace")
    status, _, err = tool("mem", "cc", "-O1", "-g", CORPUS, "-o", program)
    if status:
        raise Skip(f"no compiler for memory accesses: {err[:80]}")
    equal(tool("mem", "run", "-q", "-o", trace, "--", program)[0], 0, "status of mem run")
    for name in ("stat", "sim", "check", "calls", "layout", "dump"):
        check(dir, f"mem {name}", "mem", name, trace)
    check(dir, "mem html", "mem", "html", "-o", "x.html", trace)
    check(dir, "mem diff", "mem", "diff", trace, trace)
    check(dir, "mem convert", "mem", "convert", "-o", "x.raw", trace)
    show_times()


@test
def commands_on_frames_end(dir):
    if not os.path.exists(MAKE_RECORDING):
        raise Skip("no program that writes a recording")
    recording = os.path.join(dir, "r.ppt")
    subprocess.run([MAKE_RECORDING, recording, "2000000" if FULL else "50000"], check=True, stdout=subprocess.DEVNULL)
    check(dir, "decode", "decode", recording)
    for kind in ("csv", "sqlite", "perfetto", "chrome", "jsonl"):
        check(dir, f"export {kind} of frames", "export", kind, "-i", recording, "-o", EXPORTS[kind])
    show_times()


if __name__ == "__main__":
    main()
