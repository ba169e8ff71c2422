#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`corotracer why --sample`: formats, ends, targets that change or end between looks, states of Tokio's tasks."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import profiles
import test_why as common
import test_why_tokio


def run(*args, status=0, **more):
    r = subprocess.run([common.TOOL, "why", *args], capture_output=True, text=True, timeout=300, check=False, **more)
    if r.returncode != status:
        common.fail("why %s: exit %d, expected %d: %s" % (" ".join(args), r.returncode, status, r.stderr.strip()))
    return r


def sample(target, *args, status=0):
    r = run("--json", "-p", str(target.process.pid), "--sample", "50/s", *args, status=status)
    return json.loads(r.stdout) if r.stdout else {}


def expect(label, got, wanted):
    if got != wanted:
        common.fail("%s: %r, expected %r" % (label, got, wanted))


# ---- formats -------------------------------------------------------------------------------


def functions(key):
    state, stack = key
    return (state, *(place if isinstance(place, str) else place[0] for place in stack))


KNOWN = {("waiting", "sleep_still"), ("waiting", "sleep_in_turns", "client"), ("running", "blocking"),
         ("running", "sleep_in_turns", "client")}


def check_formats(work, program):
    """Each format has the stacks of the program, and 60 coroutines that never move are 60 in each."""
    paths = {}
    with common.Target(program, quiet_s=None) as target:
        for name in ("folded", "pprof", "speedscope"):
            paths[name] = os.path.join(work, "profile." + name)
            r = run("-p", str(target.process.pid), "--sample", "50/s", "--duration", "0.5", "-f", name, "-o", paths[name])
            if not re.search(r"\d+ looks, \d+ left out as too late, 0 failed; \d+ stacks; wrote", r.stderr):
                common.fail("%s: no summary: %s" % (name, r.stderr))
        r = run("-p", str(target.process.pid), "--sample", "50/s", "--duration", "0.2", "-f", "folded")
        if not r.stdout.splitlines()[0].startswith("sleep_still ("):
            common.fail("folded on standard output: " + r.stdout)
    pprof, period = profiles.read_pprof(paths["pprof"])
    expect("period of pprof", period, 20_000_000)
    for key, (samples, ns) in pprof.items():
        expect("time of pprof", ns, samples * period)
        if functions(key) == ("waiting", "sleep_still"):
            expect("samples of 60 coroutines are not a multiple", samples % 60, 0)
    scope = profiles.read_speedscope(paths["speedscope"])
    folded = {(s, tuple(re.sub(r" \(.*", "", p) for p in stack)): v
              for (s, stack), v in profiles.read_folded(paths["folded"]).items()}
    for name, found in (("pprof", pprof), ("speedscope", scope), ("folded", folded)):
        unknown = {functions(key) for key in found} - KNOWN
        if unknown or ("waiting", "sleep_still") not in {functions(key) for key in found}:
            common.fail("%s: %s" % (name, sorted(functions(key) for key in found)))
    check_go(paths["pprof"])


def check_go(path):
    """The reader of pprof's authors, which newer versions of Go compile first."""
    if not shutil.which("go") or os.environ.get("COROTRACER_FULL") != "1":
        return
    r = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=time", path], capture_output=True, text=True,
                       timeout=600, check=False)
    if r.returncode and "no such tool" in r.stderr:
        return
    if r.returncode or "sleep_still" not in r.stdout or "Type: time" not in r.stdout:
        common.fail("go tool pprof: %s%s" % (r.stdout, r.stderr))


def check_page(work, program):
    path = os.path.join(work, "profile.html")
    with common.Target(program, quiet_s=None) as target:
        r = run("-p", str(target.process.pid), "--sample", "50/s", "--duration", "0.3", "--html", path, "--json")
    if "wrote" not in r.stderr or not os.path.getsize(path) or json.loads(r.stdout)["looks"] < 1:
        common.fail("page: " + r.stderr)


# ---- ends -----------------------------------------------------------------------------------


def patiently(check, *args):
    """On a loaded machine the first look comes late: @check gets more time, and returns what is wrong."""
    for seconds in (1.5, 6, 20):
        wrong = check(seconds, *args)
        if not wrong:
            return
    common.fail(wrong)


def end_by_signal(seconds, program, sig):
    with common.Target(program, quiet_s=None) as target:
        with subprocess.Popen([common.TOOL, "why", "--json", "-p", str(target.process.pid), "--sample", "20/s"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True) as tool:
            time.sleep(seconds)
            os.killpg(tool.pid, sig)
            found = tool.communicate(timeout=300)[0]
    found = json.loads(found) if found else {"ended_by": None, "looks": 0}
    if found["ended_by"] != "signal" or found["looks"] < 1 or (sig == signal.SIGINT and tool.returncode):
        return "signal %d: exit %d, %s" % (sig, tool.returncode, found)
    return None


def check_signals(program):
    """A signal ends the sampling and prints what there is."""
    for sig in (signal.SIGINT, signal.SIGTERM):
        patiently(end_by_signal, program, sig)


def end_by_itself(seconds, program):
    r = run("--json", "--sample", "20/s", "--", program, str(round(seconds)), status=7)
    if not r.stdout:
        return "no look before the end: " + r.stderr
    found = json.loads(r.stdout)
    expect("end of the program", found["ended_by"], "exit")
    expect("the end is not a failure", found["failed"], 0)
    if "time still" not in r.stderr:
        common.fail("output of the program with --json: " + r.stderr)
    return None


def check_program_end(program):
    """The end of the program ends the sampling; its status is that of the command."""
    patiently(end_by_itself, program)
    r = run("--json", "--sample", "20/s", "--duration", "0.5", "--", program, "30")
    expect("end after the time", json.loads(r.stdout)["ended_by"], "duration")
    run("--sample", "20/s", "--", "sh", "-c", "exit 5", status=5)
    run("--sample", "20/s", "--", "sh", "-c", "sleep 0.3; exit 6", status=6)
    with common.Target(program, quiet_s=None) as target:
        target.process.kill()
        target.process.wait()
        run("-p", str(target.process.pid), "--sample", "20/s", status=1)


def check_usage(program):
    for args, words in ((["--sample", "0"], "looks per second"), (["--sample", "10/h"], "looks per second"),
                        (["--sample", "nan"], "looks per second"), (["--duration", "3"], "--duration needs --sample"),
                        (["-f", "folded"], "--format needs --sample"), (["--sample", "5", "-o", "x"], "-o needs --format"),
                        (["--sample", "5", "--fail-on", "all"], "cannot use --fail-on with --sample"),
                        (["--sample", "5", "-f", "pprof", "--json"], "both to standard output")):
        r = run("-p", "1", *args, status=2)
        if words not in r.stderr:
            common.fail("%s: %s" % (args, r.stderr))
    r = run("--sample", "5", program, status=2)
    if "--sample needs -p PID or -- CMD" not in r.stderr:
        common.fail("a core file: " + r.stderr)


# ---- targets that change ------------------------------------------------------------------------


def check_late(work):
    """Looks that cannot be made in time are counted, not made up for."""
    program = common.build(work, "forgotten", "g++", ["-O2", "-g"])
    with common.Target(program) as target:
        found = json.loads(run("--json", "-p", str(target.process.pid), "--sample", "1000/s", "--duration", "0.5").stdout)
    expect("looks that were due", found["looks"] + found["late"], 500)
    expect("coroutines of each look", found["samples"], 1000 * found["looks"])


def change_under_sampler(seconds, program, library, sampled):
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
        target.stdout.readline()
        with subprocess.Popen([common.TOOL, "why", "--json", "-p", str(target.pid), "--sample", "20/s"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tool:
            time.sleep(seconds)
            for line in ("load " + library, "execute " + sampled):
                target.stdin.write(line + "\n")
                target.stdin.flush()
                target.stdout.readline()
                time.sleep(seconds)
            target.kill()
            found = tool.communicate(timeout=300)[0]
    found = json.loads(found) if found else {"ended_by": None, "stacks": [], "reloads": 0, "failed": 0}
    names = {stack["stack"][0]["function"] for stack in found["stacks"]}
    if tool.returncode or found["ended_by"] != "exit" or not {"waits", "sleep_still"} <= names or found["reloads"] < 2:
        return "a process that changes: exit %d, %s, %d reloads, %d failed" % (tool.returncode, names, found["reloads"], found["failed"])
    return None


def check_change(work, sampled):
    """A library is loaded, then another program is executed: the samples go on."""
    program = common.build(work, "executes", "g++", ["-O0", "-g"], ["-ldl"])
    patiently(change_under_sampler, program, common.build_library(), sampled)


def check_restless(work):
    """Coroutines, memory, threads and processes come and go; stacks are whole or left out."""
    program = common.build(work, "restless", "g++", ["-O2", "-g"])
    for args in ([], ["die"]):
        with common.Target(program, args=args, quiet_s=None) as target:
            r = subprocess.run([common.TOOL, "why", "--json", "-p", str(target.process.pid), "--sample", "50/s", "--duration",
                                "1.5"], capture_output=True, text=True, timeout=300, check=False)
        if r.returncode not in (0, 1) or (r.returncode == 1 and not args):
            common.fail("restless %s: exit %d: %s" % (args, r.returncode, r.stderr))
        found = json.loads(r.stdout) if r.stdout else {"stacks": []}
        for stack in found["stacks"]:
            names = [level["function"] for level in stack["stack"]]
            if names not in (["inner", "outer"], ["outer"], ["inner"]):
                common.fail("restless: an impossible stack: %s" % names)


def check_forged(work):
    """Rings of frames, a chain of 150,000, and frames that point to themselves: cut, and the rest is right."""
    program = common.build(work, "forged_chains", "g++", ["-O0", "-g"])
    with common.Target(program) as target:
        found = sample(target, "--duration", "0.5")
        text = run("-p", str(target.process.pid), "--sample", "5/s", "--duration", "0.1").stdout
    stacks = {(s["stack"][0]["function"], len(s["stack"])): s["most"] for s in found["stacks"]}
    expect("a chain is cut at its limit", [n for (_, n), most in stacks.items() if n > 1000], [100000])
    expect("real coroutines beside forged ones", stacks.get(("real", 1)), 3)
    if "and 99950 more levels" not in text:
        common.fail("a deep stack in the text: " + text[:400])


# ---- Tokio ------------------------------------------------------------------------------------------


def check_tokio(work):
    """With one worker thread, of three busy tasks one runs and two are ready."""
    if not shutil.which("cargo"):
        print("no cargo here: Tokio is not checked")
        return
    path = test_why_tokio.build(work, 2, 0)
    if not path:
        print("not built: Tokio is not checked")
        return
    with common.Target(os.path.join(os.path.dirname(path), "sampled"), quiet_s=None) as target:
        for seconds in ("2", "10", "40"):
            found = sample(target, "--duration", seconds)
            if found["looks"] >= 30:  # of 100; on a loaded machine most are too late
                break
    looks = found["looks"]
    by = {}
    for s in found["stacks"]:
        key = (s["state"], s["stack"][0]["function"])
        by[key] = by.get(key, 0) + s["samples"]
    expect("tasks that wait", by.get(("waiting", "still")), 20 * looks)
    missing = 3 * looks - sum(n for (_, name), n in by.items() if name == "busy")
    if not 0 <= missing <= found["changed"]:
        common.fail("busy tasks: %d are missing, %d were left out" % (missing, found["changed"]))
    # Between two polls none runs for a moment.
    if by.get(("running", "busy"), 0) < looks * 0.6 or by.get(("ready", "busy"), 0) < looks * 1.2:
        common.fail("states of busy tasks: %s in %d looks" % (found["stacks"], looks))


def main():
    if not shutil.which("g++"):
        print("no g++ here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        program = common.build(work, "sampled", "g++", ["-O0", "-g"])
        check_usage(program)
        check_formats(work, program)
        check_page(work, program)
        check_signals(program)
        check_program_end(program)
        check_late(work)
        check_change(work, program)
        check_restless(work)
        check_forged(work)
        check_tokio(work)
    print("%d faults" % len(common.faults))
    return 1 if common.faults else 0


if __name__ == "__main__":
    sys.exit(main())
