#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`corotracer why` on programs with the SDK under a collector: what both know is joined."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import programs
import test_why as common

TREE = os.path.join(common.HERE, "..", "..")
BUILD = os.path.dirname(os.path.abspath(common.TOOL))
NR = 7


class Traced:
    """A program under `corotracer run`, which has said that it is ready."""

    def __init__(self, work, program, options=(), more=""):
        self.facts, self.start = {}, time.monotonic()
        self.trace = os.path.join(work, os.path.basename(program) + ".jsonl")
        self.run = subprocess.Popen([common.TOOL, "run", *options, "-o", self.trace, "--", "sh", "-c",
                                     'echo pid $$; exec "$0" %d %s' % (NR, more), program], stdout=subprocess.PIPE, text=True)
        for line in self.run.stdout:
            words = line.split()
            if words == ["ready"]:
                break
            if len(words) == 2 and words[1].isdigit():
                self.facts[words[0]] = int(words[1])
        self.pid = self.facts["pid"]
        programs.wait_asleep(self.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGTERM)
        self.run.stdout.close()
        self.run.wait(300)


def check(label, what, got, expected):
    if got != expected:
        common.fail("%s: %s is %s, expected %s" % (label, what, got, expected))


def check_client(label, one, number, site, traced, suspensions):
    name = "client %d" % number
    check(label, "name", one["name"], name)
    check(label, name + ": state", one["state"], "suspended")
    check(label, name + ": resource", one["resource"], 1000 + number)
    check(label, name + ": suspensions", one["suspensions"], suspensions)
    check(label, name + ": place", (os.path.basename(one["suspended_at"]["file"]), one["suspended_at"]["line"]), site)
    limit = (time.monotonic() - traced.start) * 1e9
    if not 0 < one["state_ns"] <= one["age_ns"] <= limit:
        common.fail("%s: suspended for %d ns, created %d ns ago, started %d ns ago" % (label, one["state_ns"], one["age_ns"], limit))


def by_name(rows):
    return sorted(rows, key=lambda r: r["id"])


def check_collector(label, found, traced, coroutines, joined):
    check(label, "collector's pid", found["collector"]["pid"], traced.run.pid)
    check(label, "coroutines", found["collector"]["coroutines"], coroutines)
    check(label, "joined", found["collector"]["joined"], joined)
    check(label, "others", len(found["collector"]["others"]), coroutines - joined)


def marker(source, name):
    """Line of the comment `@name`."""
    with open(os.path.join(common.HERE, source), encoding="utf-8") as f:
        line = next(i for i, text in enumerate(f, 1) if "@" + name in text)
    return os.path.basename(source), line


def test_cpp(work):
    for compiler, flags in (("g++", ["-O0"]), ("g++", ["-O2"]), ("clang++-16", ["-O0"])):
        if not shutil.which(compiler):
            continue
        label = compiler + " " + " ".join(flags)
        program = common.build(work, "traced", compiler, [*flags, "-g", "-I", os.path.join(TREE, "include")])
        if not program:
            continue
        with Traced(work, program) as traced:
            found = common.why("-p", str(traced.pid))
            check_collector(label, found, traced, NR + 2, NR + 2)
            check(label, "coroutines", found["coroutines"], NR + 2)
            group = next(g for g in found["groups"] if g["count"] == NR)
            rows = by_name(group["traced"])
            check(label, "frames", sorted(r["frame"] for r in rows), sorted(group["members"]))
            for number, one in enumerate(rows):
                check_client(label, one, number, marker("traced.cpp", "client"), traced, 2)
                check(label, "reason", one["reason"], "io-read")
                check(label, "waker", one["last_waker"], traced.facts["waker_id"])
                check(label, "created", one["created_at"]["line"], marker("traced.cpp", "created")[1])
            child = next(r for g in found["groups"] for r in g["traced"] if r["name"] == "child")
            check(label, "parent of child", child["parent"], traced.facts["waker_id"])
            text = subprocess.run([common.TOOL, "why", "-p", str(traced.pid)], capture_output=True, text=True, check=True).stdout
            if '"client 0"' not in text or "and %d more" % (NR - 3) not in text:
                common.fail("%s: the text has no names:\n%s" % (label, text))


def test_c(work):
    library = os.path.join(BUILD, "sdk", "c", "libcorotracer.a")
    if not os.path.exists(library):
        print("no library of the C SDK")
        return
    program = programs.compile_program("traced", ["gcc", "-g", "-I", os.path.join(TREE, "include"),
                                                  os.path.join(common.HERE, "traced.c"), library, "-pthread"], [library])
    with Traced(work, program) as traced:
        found = common.why("-p", str(traced.pid))
        check_collector("C", found, traced, NR + 1, 0)
        check("C", "coroutines", found["coroutines"], 0)
        others = by_name(found["collector"]["others"])
        check("C", "parent", (others[0]["name"], others[0]["state"]), ("parent", "running"))
        for number, one in enumerate(others[1:]):
            check_client("C", one, number, marker("traced.c", "await"), traced, 1)
            check("C", "created", one["created_at"]["line"], marker("traced.c", "spawn")[1])
            check("C", "parent", one["parent"], traced.facts["waker_id"])
    before = os.stat(traced.trace).st_size
    if not before:
        common.fail("C: the trace is empty")


def described(trace):
    """The last site, as file and line, of each coroutine that had not ended, by name; None: it has no site."""
    with open(trace + ".meta", encoding="utf-8") as f:
        items = [json.loads(line) for line in f if line.startswith('{"type":"')]
    sites = {i["id"]: (os.path.basename(i["file"]), i["line"]) for i in items if i["type"] == "site"}
    return {i["name"]: sites.get(i.get("site")) for i in items if i["type"] == "coroutine"}


def looks_of(pid):
    """Processes that the collector has started to look at the program."""
    found = set()
    for children in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            with open(children, encoding="ascii") as f:
                numbers = f.read().split()
            for number in numbers:
                with open("/proc/%s/cmdline" % number, "rb") as f:
                    if f.read().startswith(b"corotracer\0why\0"):
                        found.add(number)
        except OSError:
            continue  # a thread or a look that has ended meanwhile
    return found


def wait_until(done, what):
    limit = time.monotonic() + 300
    while not done():
        if time.monotonic() > limit:
            common.fail("--awaits: %s: not within 300 s" % what)
            return
        time.sleep(0.01)


def wait_looked(pid):
    """Until a look has ended that began after this call."""
    before, seen = looks_of(pid), set()

    def is_over():
        now = looks_of(pid)
        seen.update(now - before)
        return seen - now

    wait_until(is_over, "a look")


def test_awaits(work, program):
    """`run --awaits`: the trace has the line of the .await of a future that does not say it."""
    lines = {name: marker(os.path.join("traced_tokio", "src", "main.rs"), name) for name in ("quiet", "client", "first", "second")}
    file = os.path.join(work, "move")
    with Traced(work, program, ("--awaits",), file) as traced:
        wait_looked(traced.run.pid)
        with open(file, "w", encoding="ascii"):
            pass
        wait_until(lambda: os.path.exists(file + ".done"), "the mover goes on")
    found = described(traced.trace)
    check("--awaits", "place of quiet", found["quiet"], lines["quiet"])
    check("--awaits", "place of client 0", found["client 0"], lines["client"])
    # The wait at the end began after the look; unless another look came in time, its place is unknown.
    check("--awaits", "place of mover is known or not", found["mover"] in (None, lines["second"]), True)
    report = json.loads(subprocess.run([common.TOOL, "report", "--json", traced.trace], capture_output=True, text=True, check=True).stdout)
    places = [(os.path.basename(f["place"]["file"]), f["place"]["line"]) for f in report["findings"] if f.get("place")]
    check("--awaits", "quiet in the report's places", lines["quiet"] in places, True)
    with Traced(work, program, (), file):  # the file exists: the mover does not wait for it
        pass
    check("without --awaits", "place of quiet", described(traced.trace)["quiet"], None)


def test_rust(work):
    if not shutil.which("cargo"):
        return
    sdk = os.path.abspath(os.path.join(TREE, "sdk", "rust"))
    target = programs.build_crate("traced", os.path.join(common.HERE, "traced_tokio"),
                                  lambda text: text.replace('"@SDK@"', '"%s"' % sdk), beside="tasks-own")
    if not target:
        return
    test_awaits(work, os.path.join(target, "corotracer-traced-tokio"))
    with Traced(work, os.path.join(target, "corotracer-traced-tokio")) as traced:
        found = common.why("-p", str(traced.pid))
        check_collector("Rust", found, traced, NR, NR)
        check("Rust", "coroutines", found["coroutines"], NR)
        site = marker(os.path.join("traced_tokio", "src", "main.rs"), "client")
        group = found["groups"][0]
        if not any(s["function"] == "client" and s["line"] == site[1] for s in group["stack"]):
            common.fail("Rust: the stack of a traced task: %s" % group["stack"])
        for number, one in enumerate(by_name(r for g in found["groups"] for r in g["traced"])):
            check_client("Rust", one, int(one["name"].split()[1]), site, traced, 2)
            check("Rust", "reason", one["reason"], "timer")
            check("Rust", "number", one["id"] > 0, True)
            del number


def test_without_collector(work):
    """The same program started plainly: no collector, and no join."""
    program = common.build(work, "traced", "g++", ["-O0", "-g", "-I", os.path.join(TREE, "include")])
    if program:
        with common.Target(program, args=(str(NR),)) as target:
            found = common.why("-p", str(target.process.pid))
            check("no collector", "collector", found["collector"], None)
            check("no collector", "coroutines", found["coroutines"], NR + 2)


def main():
    with tempfile.TemporaryDirectory() as work:
        test_cpp(work)
        test_c(work)
        test_rust(work)
        test_without_collector(work)
    print("%d faults" % len(common.faults))
    return 1 if common.faults else 0


if __name__ == "__main__":
    sys.exit(main())
