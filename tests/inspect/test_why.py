#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`corotracer why` on programs that print what it must find, built by several compilers."""
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import programs

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.environ["COROTRACER"]
FULL = os.environ.get("COROTRACER_FULL") == "1"
COMPILERS = [c for c in ("g++", "clang++-14", "clang++-16", "clang++-19", "clang++") if shutil.which(c)]
faults = []
# Processes that sleep until they are killed, and how long they must have slept before a look at them.
sleepers = {}


def fail(what):
    faults.append(what)
    print("FAIL:", what)


def markers(*sources):
    """Lines that end with `// @name`: name to (file, line)."""
    found = {}
    for source in sources:
        with open(os.path.join(HERE, source), encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                m = re.search(r"// @(\w+)$", line.rstrip())
                if m:
                    found[m.group(1)] = (source, number)
    return found


def build(_, program, compiler, flags, libs=(), inputs=()):
    """Path of a program that other tests use too: copy it to change it."""
    command = [compiler, "-std=c++20", *flags, os.path.join(HERE, program + ".cpp"), "-pthread", *libs]
    if compiler.startswith("g++"):
        command.insert(2, "-fcoroutines")
    return programs.compile_program(program, command, inputs)


class Target:
    """A program that has said what to expect, and sleeps.

    @quiet_s: its threads have slept that long; None: they never sleep for long.
    """

    def __init__(self, path, env=None, args=(), quiet_s=0.06):
        self.expected, self.facts = [], {}
        self.process = subprocess.Popen([path, *args], stdout=subprocess.PIPE, text=True, env=env)
        for line in self.process.stdout:
            words = line.split()
            if words[:1] == ["expect"]:
                self.expected.append((int(words[1]), words[2:]))
            elif words == ["ready"]:
                break
            elif len(words) == 2 and words[1].isdigit():
                self.facts[words[0]] = int(words[1])
        self.wait_asleep(quiet_s)

    def wait_asleep(self, quiet_s):
        if quiet_s is not None:
            programs.wait_asleep(self.process.pid, quiet_s)
            sleepers[str(self.process.pid)] = quiet_s

    def __enter__(self):
        return self

    def __exit__(self, *_):
        sleepers.pop(str(self.process.pid), None)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


def wait_sleepers(args):
    """A look that stops the threads wakes them: before the next one they sleep again."""
    for arg in args:
        if arg in sleepers:
            programs.wait_asleep(int(arg), sleepers[arg])


def why(*args, status=0):
    wait_sleepers(args)
    r = subprocess.run([TOOL, "why", "--json", *args], capture_output=True, text=True, timeout=300)
    if r.returncode != status:
        fail("why %s: exit %d: %s" % (" ".join(args), r.returncode, r.stderr.strip()))
        return {"coroutines": -1, "groups": []}
    return json.loads(r.stdout)


def place_matches(level, word, lines):
    if word == "*":
        return True
    source, line = lines[word]
    return bool(level["file"]) and os.path.basename(level["file"]) == source and level["line"] == line


def stack_matches(stack, words, lines):
    return len(stack) == len(words) and all(place_matches(s, w, lines) for s, w in zip(stack, words))


def check_stacks(label, found, target, lines):
    """Every expected stack with its count, and nothing else."""
    groups = list(found["groups"])
    for count, words in target.expected:
        matching = [g for g in groups if stack_matches(g["stack"], words, lines)]
        groups = [g for g in groups if g not in matching]
        got = sum(g["count"] for g in matching)
        if got != count:
            fail("%s: %s found %d times, expected %d" % (label, " < ".join(words), got, count))
    for g in groups:
        fail("%s: unexpected %d x %s" % (label, g["count"], " < ".join(
            "%s %s:%s" % (s["function"], os.path.basename(s["file"] or "?"), s["line"]) for s in g["stack"])))


def check_no_alarm(label, found):
    for g in found["groups"]:
        if g["verdict"] != "waiting":
            fail("%s: %s %s on a clean program" % (label, g["confidence"], g["verdict"]))


def look(label, path, sources, core=False, env=None, clean=True):
    lines = markers(*sources)
    with Target(path, env) as target:
        found = why("-p", str(target.process.pid))
        check_stacks(label, found, target, lines)
        if clean:
            check_no_alarm(label, found)
        if core and shutil.which("gcore"):
            with tempfile.TemporaryDirectory() as where:
                subprocess.run(["gcore", "-o", os.path.join(where, "core"), str(target.process.pid)],
                               capture_output=True, timeout=300, check=False)
                name = os.path.join(where, "core.%d" % target.process.pid)
                if os.path.exists(name):
                    check_stacks(label + ", core", why(name), target, lines)
        return found, target


def variants():
    """Compilers and flags: one representative per axis, or all of them."""
    modes = (["-O0", "-g"], ["-O2", "-g"], ["-O3", "-flto", "-g"])
    links = ([], ["-no-pie"], ["-static"])
    if FULL:
        return [(c, m + l, True) for c, m, l in itertools.product(COMPILERS, modes, links)]
    chosen = [("g++", ["-O2", "-g"], True)]
    clangs = [c for c in COMPILERS if c.startswith("clang")]
    if clangs:
        chosen.append((clangs[-1], ["-O0", "-g", "-no-pie"], False))
        chosen.append((clangs[-2] if len(clangs) > 1 else clangs[-1], ["-O2", "-g", "-static"], True))
    return [v for v in chosen if v[0] in COMPILERS]


def test_stacks(work):
    for compiler, flags, core in variants():
        for program, sources in (("stacks", ("stacks.cpp", "tasks.h")), ("generators", ("generators.cpp",))):
            path = build(work, program, compiler, flags)
            if path:
                look("%s, %s %s" % (program, compiler, " ".join(flags)), path, sources, core)


def test_debug_forms(work):
    """DWARF versions, split DWARF, compressed sections, a separate debug file."""
    forms = (["-gdwarf-4"], ["-gdwarf-5"], ["-g", "-gsplit-dwarf"], ["-g", "-gz"])
    for form in forms if FULL else forms[2:3]:
        path = build(work, "stacks", "g++", ["-O2", *form])
        if path:
            look("stacks, g++ " + " ".join(form), path, ("stacks.cpp", "tasks.h"))
    path, linked = build(work, "stacks", "g++", ["-O2", "-g"]), os.path.join(work, "linked")
    subprocess.run(["objcopy", "--only-keep-debug", path, linked + ".debug"], check=True)
    subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink=" + linked + ".debug", path, linked], check=True)
    look("stacks, debug link", linked, ("stacks.cpp", "tasks.h"))


def test_stripped(work):
    path = os.path.join(work, "no_symbols")
    subprocess.run(["strip", "-o", path, build(work, "stacks", "g++", ["-O2", "-g"])], check=True)
    with Target(path) as target:
        r = subprocess.run([TOOL, "why", "-p", str(target.process.pid)], capture_output=True, text=True, timeout=300)
        if "has no symbols" not in r.stdout + r.stderr:
            fail("stripped: nothing says so: %r" % (r.stdout + r.stderr))


def test_saved(work):
    """A stripped program is saved, and looked at where its debug files are."""
    path = build(work, "stacks", "g++", ["-O2", "-g"])
    lines = markers("stacks.cpp", "tasks.h")
    debug, saved = os.path.join(work, "debug"), os.path.join(work, "saved.core")
    os.mkdir(debug)
    stripped = os.path.join(work, "stripped")
    subprocess.run(["objcopy", "--only-keep-debug", path, os.path.join(debug, os.path.basename(stripped) + ".debug")], check=True)
    subprocess.run(["objcopy", "--strip-all", path, stripped], check=True)
    with Target(stripped) as target:
        wait_sleepers([str(target.process.pid)])
        subprocess.run([TOOL, "why", "-p", str(target.process.pid), "--save", saved], check=True, capture_output=True, timeout=300)
        check_stacks("debug-dir", why("-p", str(target.process.pid), "--debug-dir", debug), target, lines)
    check_stacks("saved", why(saved, "--debug-dir", debug), target, lines)
    if os.stat(saved).st_mode & 0o077:
        fail("saved: others can read the memory of the process")


def test_mini_redis(_):
    """Clients that a server has forgotten: live, and from a saved process."""
    server = os.environ.get("MINI_REDIS")
    if not server or not os.path.exists(server):
        print("no mini-redis here")
        return
    with tempfile.TemporaryDirectory() as where:
        port_file, saved = os.path.join(where, "port"), os.path.join(where, "saved.core")
        process = subprocess.Popen([server, "--port", "0", "--port-file", port_file, "--lose-wakeups"],
                                   stdout=subprocess.PIPE, text=True)
        try:
            process.stdout.readline()
            with open(port_file, encoding="utf-8") as f:
                port = int(f.read())
            clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
            for c in clients:
                c.sendall(b"*1\r\n$4\r\nPING\r\n")
                c.recv(64)
            for c in clients[:6]:
                c.close()
            for _ in range(50):
                found = why("-p", str(process.pid))
                lost = [g for g in found["groups"] if g["verdict"] == "closed-under-waiter"]
                if sum(g["count"] for g in lost) == 6 and all(g["confidence"] == "proven" for g in lost):
                    break
                programs.wait_asleep(process.pid)
            for label, result in (("live", found), ("saved", save_and_look(process.pid, saved))):
                lost = [g for g in result["groups"] if g["verdict"] == "closed-under-waiter"]
                if sum(g["count"] for g in lost) != 6 or any(g["confidence"] != "proven" for g in lost):
                    fail("mini-redis %s: %s" % (label, [(g["count"], g["verdict"], g["confidence"]) for g in result["groups"]]))
                if [g for g in result["groups"] if g["verdict"] not in ("waiting", "closed-under-waiter")]:
                    fail("mini-redis %s: another verdict" % label)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def save_and_look(pid, saved):
    programs.wait_asleep(pid)
    subprocess.run([TOOL, "why", "-p", str(pid), "--save", saved], check=True, capture_output=True, timeout=300)
    return why(saved)


def build_library():
    return programs.compile_program("libinspected.so", ["g++", "-std=c++20", "-O2", "-g", "-fPIC", "-shared",
                                                        os.path.join(HERE, "library.cpp")])


def test_library(work):
    lib = build_library()
    where = os.path.dirname(lib)
    path = build(work, "uses_library", "g++", ["-O2", "-g"], ["-L" + where, "-linspected", "-Wl,-rpath," + where], [lib])
    look("shared library", path, ("library.cpp", "uses_library.cpp"))


def test_asio(work):
    # Without optimization it takes half the time to build, and why_types looks at the same program.
    for compiler, flags in [("g++", ["-O0", "-g"])] + ([("g++", ["-O2", "-g"])] if FULL else []):
        path = build(work, "awaitables", compiler, flags)
        if path:
            look("asio, %s %s" % (compiler, " ".join(flags)), path, ("awaitables.cpp",))


def test_forgotten(work):
    path = build(work, "forgotten", "g++", ["-O2", "-g"])
    found, target = look("forgotten", path, ("forgotten.cpp",), clean=False)
    with Target(path) as again:
        sure = why("-p", str(again.process.pid), "--stacks")
        proven = sum(g["count"] for g in sure["groups"] if (g["verdict"], g["confidence"]) == ("unreachable", "proven"))
        if proven != again.facts["forgotten"]:
            fail("forgotten, --stacks: %d coroutines proven unreachable, %d are" % (proven, again.facts["forgotten"]))
    lost = sum(g["count"] for g in found["groups"] if g["verdict"] == "unreachable")
    if lost != target.facts["forgotten"]:
        fail("forgotten: %d coroutines unreachable, %d are" % (lost, target.facts["forgotten"]))


# Where a handle is, and the most that may be claimed, without and with --stacks.
HIDDEN = {
    "nowhere": ("proven", "proven"),
    "epoll": ("none", "none"), "register": ("suspect", "none"), "vector": ("suspect", "none"), "low-tag": ("none", "none"),
    "high-tag": ("none", "none"), "shared": ("none", "none"), "queues": ("suspect", "suspect"), "signal-stack": ("none", "none"),
    "fiber": ("none", "none"), "thread-local": ("none", "none"), "mapping": ("none", "none"), "packed": ("none", "none"),
    "shifted": ("none", "none"), "protected": ("none", "none"), "no-access": ("suspect", "suspect"),
    "other-process": ("suspect", "suspect"), "unmapped-shared": ("suspect", "suspect"), "eventfd": ("none", "none"),
    "pipe": ("suspect", "suspect"), "socket": ("suspect", "suspect"), "timer": ("none", "none"), "signal": ("suspect", "suspect"),
    "io-uring": ("suspect", "suspect"), "aio": ("suspect", "suspect"), "pool": ("proven", "proven"),
}
GRADES = ("none", "suspect", "strong", "proven")


def check_hidden(label, where, found, most):
    for g in found["groups"]:
        if GRADES.index(g["confidence"]) > GRADES.index(most):
            fail("%s: %s %s" % (label, g["confidence"], g["verdict"]))
        if (g["confidence"] == "suspect") != bool(g.get("doubt")):
            fail("%s: suspected without a reason, or proven with one: %s" % (label, g.get("doubt")))
    # Otherwise copies of the handle may hide everything, and nothing is tested.
    if where == "nowhere" and not found["busy"] and [g["verdict"] for g in found["groups"]] != ["unreachable"]:
        fail("%s: a handle that is nowhere is found" % label)
    if sum(g["count"] for g in found["groups"] if g["confidence"] == "proven") > 1:
        fail("%s: what is left of a coroutine in a pool is proven unreachable" % label)


def test_hidden(work):
    """A handle in an unusual place: no coroutine is called unreachable with certainty."""
    path = build(work, "hidden", "g++", ["-O2", "-g"])
    lines = markers("hidden.cpp")
    for where, most in HIDDEN.items():
        with Target(path, args=[where], quiet_s=None if where == "queues" else 0.06) as target:
            for options in ((), ("--stacks",)) if FULL or where in ("nowhere", "register", "vector") else ((),):
                found = why("-p", str(target.process.pid), *options)
                check_hidden("hidden %s %s" % (where, options), where, found, most[bool(options)])
                if where not in ("queues", "pool"):
                    check_stacks("hidden " + where, found, target, lines)
            if where in ("epoll", "timer", "shared") and shutil.which("gcore"):
                name = os.path.join(work, "hidden.%d" % target.process.pid)
                subprocess.run(["gcore", "-o", os.path.join(work, "hidden"), str(target.process.pid)], capture_output=True,
                               timeout=300, check=False)
                check_hidden("hidden %s, core" % where, where, why(name), "suspect")
            elif target.process.poll() is not None:
                fail("hidden %s: the program ended" % where)


def test_restless(work):
    """The program changes while it is read: no crash, no coroutine that is certainly lost."""
    path = build(work, "restless", "g++", ["-O2", "-g"])
    lines = markers("restless.cpp")
    with Target(path, quiet_s=None) as target:
        for _ in range(100 if FULL else 5):
            found = why("-p", str(target.process.pid))
            for g in found["groups"]:
                if g["confidence"] == "proven":
                    fail("restless: %s proven" % g["verdict"])
                if len(g["stack"]) == 2 and not stack_matches(g["stack"], ["inner", "outer"], lines):
                    fail("restless: wrong stack %s" % g["stack"])
                if len(g["stack"]) > 2:
                    fail("restless: a stack of %d" % len(g["stack"]))
    for _ in range(5 if FULL else 2):
        with Target(path, args=["exit"], quiet_s=None) as target:
            while target.process.poll() is None:
                r = subprocess.run([TOOL, "why", "--json", "-p", str(target.process.pid)], capture_output=True, text=True,
                                   timeout=300)
                if r.returncode not in (0, 1) or (r.returncode == 1 and not r.stderr):
                    fail("restless exit: status %d, %r" % (r.returncode, r.stderr))


def looks_at_blocked(pid, where):
    """Live with a stop, live without (as root the registers are known), and a core file."""
    yield "stop", why("-p", str(pid), "--stacks")
    if os.geteuid() == 0:
        yield "no stop", why("-p", str(pid))
    if shutil.which("gcore"):
        subprocess.run(["gcore", "-o", os.path.join(where, "core"), str(pid)], capture_output=True, timeout=300, check=False)
        name = os.path.join(where, "core.%d" % pid)
        if os.path.exists(name):
            yield "core", why(name, "--stacks")


def check_blocked(label, how, found, target, lines):
    thread = found["threads"][0]
    # Without BPF nothing may be known.
    if how != "idle" and label.endswith("no stop") and not thread["runs"]:
        return
    check_stacks(label, found, target, lines)
    if "stack" in thread and "main" not in [s["function"] for s in thread["stack"]]:
        fail("%s: main is not in the native stack: %s" % (label, [s["function"] for s in thread["stack"]]))
    if how == "idle":
        if thread["runs"] is not None or found["running"]:
            fail("%s: runs %r" % (label, thread["runs"]))
    elif thread["runs"] != "blocks" or not thread["frame"] or found["running"] != 1:
        fail("%s: runs %r, frame %r, %d running" % (label, thread["runs"], thread["frame"], found["running"]))


def test_blocked(work):
    """Which coroutine a thread runs, and native stacks."""
    lines = markers("blocked.cpp", "tasks.h")
    for compiler, flags, _ in variants():
        if "-no-pie" in flags and not FULL:
            continue  # test_stacks has one
        path = build(work, "blocked", compiler, flags)
        for how in ("read", "child", "idle") if path else ():
            label = "blocked %s, %s %s" % (how, compiler, " ".join(flags))
            with Target(path, args=(how,)) as target, tempfile.TemporaryDirectory() as where:
                for kind, found in looks_at_blocked(target.process.pid, where):
                    check_blocked("%s, %s" % (label, kind), how, found, target, lines)


def test_gate(work):
    path = build(work, "forgotten", "g++", ["-O2", "-g"])
    with Target(path) as target:
        r = subprocess.run([TOOL, "why", "-p", str(target.process.pid), "--fail-on", "nonsense"], capture_output=True,
                           text=True, timeout=300)
        if r.returncode != 2 or "expected" not in r.stderr:
            fail("--fail-on nonsense: exit %d %r" % (r.returncode, r.stderr))


def test_errors():
    for args, words in ((["-p", "4194303"], "there is no process"), ([], "is required"), (["/nonexistent"], "cannot open")):
        r = subprocess.run([TOOL, "why", *args], capture_output=True, text=True, timeout=300)
        if r.returncode == 0 or words not in r.stderr:
            fail("why %s: exit %d, %r" % (" ".join(args), r.returncode, r.stderr))


def main():
    if not COMPILERS or "g++" not in COMPILERS:
        print("no g++ here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        test_stacks(work)
        test_debug_forms(work)
        test_stripped(work)
        test_saved(work)
        test_mini_redis(work)
        test_library(work)
        test_asio(work)
        test_forgotten(work)
        test_hidden(work)
        test_restless(work)
        test_blocked(work)
        test_gate(work)
        test_errors()
    print("%d faults" % len(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
