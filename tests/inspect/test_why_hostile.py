#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`corotracer why` on programs that change, lie, or cannot be read."""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import programs
import test_why
from test_why import FULL, TOOL, Target, build, fail, faults, markers, why


def look(*args, timeout=300):
    return subprocess.run([TOOL, "why", *args], capture_output=True, text=True, timeout=timeout)


# ---- clean programs under load -------------------------------------------------------


class Load:
    """Two processes that need all processors."""

    def __enter__(self):
        self.busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]

    def __exit__(self, *_):
        for process in self.busy:
            process.kill()
            process.wait()


def test_load(work):
    """No look at a clean program proves anything; the handle of `hidden` can be anywhere."""
    path = build(work, "hidden", "g++", ["-O2", "-g"])
    places = [p for p, most in test_why.HIDDEN.items() if "proven" not in most]
    if not FULL:
        places = ["queues"]
    with Load():
        for where in places:
            with Target(path, args=[where], quiet_s=None) as target:
                for i in range(100 if FULL else 2):
                    found = why("-p", str(target.process.pid), *(["--stacks"] if i % 2 else []))
                    if [g for g in found["groups"] if g["confidence"] == "proven"]:
                        fail("load, %s, look %d: proven" % (where, i))
                        break


def test_allocators(work):
    """Other allocators: coroutines are found, and nothing is proven."""
    path = build(work, "forgotten", "g++", ["-O2", "-g"])
    for name in ("libjemalloc.so.2", "libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"):
        library = os.path.join("/usr/lib/x86_64-linux-gnu", name)
        if not os.path.exists(library):
            continue
        with Target(path, env=dict(os.environ, LD_PRELOAD=library)) as target:
            found = why("-p", str(target.process.pid), "--stacks")
            if [g for g in found["groups"] if g["confidence"] == "proven"]:
                fail("%s: proven" % name)
            if found["coroutines"] < target.facts["forgotten"]:
                fail("%s: %d coroutines" % (name, found["coroutines"]))


# ---- races --------------------------------------------------------------------------


def check_families(label, found):
    order = ["leaf", "middle", "root"]
    for g in found["groups"]:
        names = [re.match(r"([a-z]+)(\d)$", s["function"]) for s in g["stack"]]
        kinds = [n.group(1) for n in names]
        if len({n.group(2) for n in names}) != 1:
            fail("%s: families are mixed: %s" % (label, [s["function"] for s in g["stack"]]))
        if kinds != order[order.index(kinds[0]):][:len(kinds)]:
            fail("%s: wrong order: %s" % (label, kinds))
        if g["confidence"] == "proven":
            fail("%s: %s proven" % (label, g["verdict"]))


def look_at_race(label, pid, *options):
    r = look("--json", "-p", str(pid), *options)
    if r.returncode == 0:
        check_families(label, json.loads(r.stdout))
    elif r.returncode != 1 or not re.search("ended|executed another|no process|no program", r.stderr):
        fail("%s: status %d, %r" % (label, r.returncode, r.stderr))
    return r.returncode == 0


def test_races(work):
    for compiler in test_why.COMPILERS if FULL else ["g++"]:
        path = build(work, "races", compiler, ["-O2", "-g"])
        if not path:
            continue
        seen = 0
        for end in ("", "exec", "exit"):
            for _ in range(20 if FULL else 1):
                with Target(path, args=[end] if end else [], quiet_s=None) as target:
                    for i in range(10 if FULL else 3):
                        seen += look_at_race("races %s" % end, target.process.pid, *(["--stacks"] if i % 3 == 2 else []))
                        if target.process.poll() is not None:
                            break
        if not seen:
            fail("races: no look succeeded")


# ---- the coroutine that runs ----------------------------------------------------------------


def start_running(path, arg):
    """The program, and the numbers and names that it prints."""
    process = subprocess.Popen([path, arg], stdout=subprocess.PIPE, text=True)
    facts = []
    for line in process.stdout:
        words = line.split()
        if words == ["ready"]:
            break
        facts.append(words)
    return process, facts


def check_running(label, path, seed):
    process, facts = start_running(path, str(seed))
    known = dict(facts)
    if "frame" in known:
        programs.wait_asleep(process.pid)
        thread = why("-p", str(process.pid), "--stacks")["threads"][0]
        if thread["runs"] not in (None, known["name"]) or (thread["frame"] and int(thread["frame"], 16) != int(known["frame"])):
            fail("%s, seed %d: %s %s runs, expected %s" % (label, seed, thread["runs"], thread["frame"], known))
    process.kill()
    process.wait()
    process.stdout.close()


def check_fresh(label, path, rounds):
    process, facts = start_running(path, "fresh")
    sleepers = {int(words[1]) for words in facts}
    for _ in range(rounds):
        thread = why("-p", str(process.pid), "--stacks")["threads"][0]
        if thread["frame"] and int(thread["frame"], 16) in sleepers:
            fail("%s: a suspended coroutine is said to run" % label)
    process.kill()
    process.wait()
    process.stdout.close()


def test_running(work):
    """The coroutine that a thread runs is right, or not named."""
    variants = [(c, [o, "-g"]) for c in test_why.COMPILERS for o in ("-O0", "-O2")] if FULL else [("g++", ["-O2", "-g"])]
    for compiler, flags in variants:
        path = build(work, "running", compiler, flags)
        label = "running, %s %s" % (compiler, " ".join(flags))
        for seed in range(40 if FULL else 3) if path else ():
            check_running(label, path, seed)
        if path:
            check_fresh(label, path, 20 if FULL else 2)


# ---- forged frames -----------------------------------------------------------------------


def test_forged(work):
    path = build(work, "forged", "g++", ["-O2", "-g"])
    cases = [(["ring", "3"], 4), (["ring", "1000"], 1001), (["self"], 2), (["nested"], 2), (["sizes"], 9), (["chain", "5000"], 5001),
             (["pairs", "200000"], 2)]
    if FULL:
        cases += [(["chain", "300000"], 300001), (["pairs", "10000000"], 1 << 20)]
    for args, least in cases:
        with Target(path, args=args) as target:
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            found = why("-p", str(target.process.pid))
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            label = "forged " + " ".join(args)
            if found["coroutines"] < least:
                fail("%s: %d coroutines" % (label, found["coroutines"]))
            if [g for g in found["groups"] if g["confidence"] == "proven"]:
                fail("%s: proven" % label)
            if args[0] == "ring" and max(len(g["stack"]) for g in found["groups"]) != int(args[1]):
                fail("%s: the ring is not shown: %s" % (label, [len(g["stack"]) for g in found["groups"]]))
            if args == ["pairs", "10000000"] and not found["incomplete"]:
                fail("%s: nothing says that some were left out" % label)
            if used.ru_utime - before > 60 or used.ru_maxrss > 1500000:
                fail("%s: %.0f s, %d KiB" % (label, used.ru_utime - before, used.ru_maxrss))


# ---- damaged files --------------------------------------------------------------------------


def make_saved(work):
    """A small core file; a large part of it is the memory of the C library."""
    path = build(work, "generators", "g++", ["-O1", "-g", "-static"])
    saved = os.path.join(work, "damaged.core")
    with Target(path) as target:
        subprocess.run([TOOL, "why", "-p", str(target.process.pid), "--save", saved], check=True, capture_output=True, timeout=300)
    return saved


def look_at_damaged(label, path):
    r = look("--json", path, timeout=300)
    if r.returncode == 0:
        json.loads(r.stdout)
    elif r.returncode != 1 or not r.stderr.startswith("corotracer why: "):
        fail("%s: status %d, %r" % (label, r.returncode, r.stderr[:300]))


def test_damaged(work):
    """Cut anywhere, or with random bytes: an error or an answer, never a crash."""
    saved = make_saved(work)
    with open(saved, "rb") as f:
        whole = f.read()
    cut = os.path.join(work, "cut.core")
    headers = int.from_bytes(whole[32:40], "little")
    sizes = list(range(0, 64, 1 if FULL else 13)) + [len(whole) - n for n in range(1, 3000, 1 if FULL else 331)]
    sizes += list(range(0, len(whole), max(1, len(whole) // (300 if FULL else 6))))
    for size in sizes:
        with open(cut, "wb") as f:
            f.write(whole[:size])
        look_at_damaged("cut after %d of %d" % (size, len(whole)), cut)
    state = 1
    for i in range(1000 if FULL else 15):
        data = bytearray(whole)
        for _ in range(8):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            at = (state >> 20) % (len(data) - headers) + headers if i % 2 else (state >> 20) % len(data)
            data[at] = (state >> 56) & 0xff
        with open(cut, "wb") as f:
            f.write(data)
        look_at_damaged("damaged, round %d" % i, cut)


# ---- what cannot be looked at ------------------------------------------------------------------


def check_error(label, args, words, hint=None, prefix=()):
    r = subprocess.run([*prefix, TOOL, "why", *args], capture_output=True, text=True, timeout=300)
    if r.returncode not in (1, 2) or words not in r.stderr or (hint and hint not in r.stderr):
        fail("%s: status %d, %r" % (label, r.returncode, r.stderr or r.stdout))


def test_other_machines(work):
    """32-bit programs, and files of another machine."""
    with open("/proc/self/exe", "rb") as f:
        header = bytearray(f.read(64))
    header[16:18] = (4).to_bytes(2, "little")  # a core
    path = os.path.join(work, "foreign.core")
    for offset, value, words in ((18, 183, "aarch64"), (18, 243, "RISC-V"), (4, 1, "32-bit"), (5, 2, "big-endian")):
        data = bytearray(header)
        data[offset] = value
        with open(path, "wb") as f:
            f.write(data + bytes(4096))
        check_error("core of another machine", [path], words, "hint: ")
    with open(path, "wb") as f:
        f.write(b"#!/bin/sh\n" * 100)
    check_error("a script", [path], "not a core file", "hint: ")
    source, program = os.path.join(work, "small.c"), os.path.join(work, "small")
    with open(source, "w", encoding="utf-8") as f:
        f.write("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
    if subprocess.run(["gcc", "-m32", source, "-o", program], capture_output=True, check=False).returncode == 0:
        with subprocess.Popen([program]) as process:
            check_error("32 bits", ["-p", str(process.pid)], "32-bit", "hint: ")
            process.kill()


# Ends the main thread alone, as pthread_exit() in main() does; the other thread goes on.
MAIN_THREAD_ENDS = """
import ctypes, os, threading, time
threading.Thread(target=time.sleep, args=(300,)).start()
ctypes.CDLL(None).syscall(93 if os.uname().machine == "aarch64" else 60, 0)
"""


def check_ended_main_thread():
    with subprocess.Popen([sys.executable, "-c", MAIN_THREAD_ENDS]) as p:
        try:
            for _ in range(3000):
                with open(f"/proc/{p.pid}/stat", encoding="utf-8") as f:
                    if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                        break
                time.sleep(0.1)
            check_error("main thread ended", ["-p", str(p.pid)], "its memory cannot be read, though 1 thread of it runs", "hint: ")
        finally:
            p.kill()


def test_not_a_target(work):
    """No rights, no program, no coroutines."""
    path = build(work, "forgotten", "g++", ["-O2", "-g"])
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    check_error("zombie", ["-p", str(zombie.pid)], "it has ended", "hint: ")
    zombie.wait()
    check_ended_main_thread()
    if os.path.exists("/proc/2/comm") and not os.path.exists("/proc/2/exe"):
        check_error("kernel thread", ["-p", "2"], "kernel", "hint: ")
    check_error("directory", [work], "it is not a file")
    with subprocess.Popen(["sleep", "60"]) as process:
        r = look("-p", str(process.pid))
        if r.returncode or "0 suspended coroutines" not in r.stdout:
            fail("sleep: status %d, %r" % (r.returncode, r.stdout + r.stderr))
        if "no C++20 coroutines" not in r.stdout and "no symbols" not in r.stdout:
            fail("sleep: nothing says that the program has no coroutines: %r" % r.stdout)
        process.kill()
    if os.geteuid() == 0 and shutil.which("setpriv"):
        with Target(path) as target:
            os.chmod(work, 0o755)
            check_error("another user", ["-p", str(target.process.pid)], "belongs to user 0", "hint: run corotracer as that user",
                        prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))


def test_without_bpf(work):
    """A user without rights: registers only with a stop, after which the thread must stay in its call."""
    path = os.path.join(work, "hidden")
    shutil.copy(build(work, "hidden", "g++", ["-O2", "-g"]), path)
    user = ("--reuid=65534", "--regid=65534", "--clear-groups")
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return
    os.chmod(work, 0o755)
    for where, most in (("nowhere", "proven"), ("register", "none"), ("vector", "none")):
        with Target("setpriv", args=[*user, path, where]) as target:
            for options, limit in (((), "suspect"), (("--stacks",), most)):
                r = subprocess.run(["setpriv", *user, TOOL, "why", "--json", "-p", str(target.process.pid), *options],
                                   capture_output=True, text=True, timeout=300)
                if "not permit" in r.stderr:
                    return
                test_why.check_hidden("without BPF, %s %s" % (where, options), where, json.loads(r.stdout), limit)


def test_replaced(work):
    """The program was deleted, or replaced by another one, since it was started."""
    path = build(work, "stacks", "g++", ["-O2", "-g"])
    other = build(work, "generators", "g++", ["-O2", "-g"])
    lines = markers("stacks.cpp", "tasks.h")
    for how in ("deleted", "replaced", "link"):
        copy = os.path.join(work, "program-" + how)
        shutil.copy(path, copy)
        started = copy
        if how == "link":
            started = copy + "-link"
            os.symlink(copy, started)
        with Target(started) as target:
            if how != "link":
                os.unlink(copy)
            if how == "replaced":
                shutil.copy(other, copy)
            if how == "link":
                os.unlink(started)
                os.symlink(other, started)
            test_why.check_stacks(how, why("-p", str(target.process.pid)), target, lines)


def main():
    if "g++" not in test_why.COMPILERS:
        print("no g++ here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        for test in (test_load, test_allocators, test_races, test_running, test_forged, test_damaged, test_other_machines, test_not_a_target,
                     test_without_bpf, test_replaced):
            since = time.time()
            test(work)
            print("%s: %.1f s, %d faults" % (test.__name__, time.time() - since, len(faults)), flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
