#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`corotracer why` on Tokio's tasks that await several futures, sockets, or what cannot come."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import programs
import test_why as common

HERE = os.path.dirname(os.path.abspath(__file__))
CRATE = os.path.join(HERE, "tokio_tasks")
LINES = {name: ("main.rs", line) for name, (_, line) in
         common.markers(os.path.join("tokio_tasks", "src", "main.rs")).items()}
# While tasks sleep, which is the same each time, and while they run.
LOOKS = {"calm": 100, "busy": 100} if common.FULL else {"calm": 1, "busy": 4}
# Futures that a task awaits together: the places of each branch, innermost first, or its kind.
BRANCHES = {
    "selecting": [(1, ["leaf"]), (1, ["leaf", "middle"]), (1, ["*"])],
    "joining": [(1, ["leaf"]), (1, ["leaf", "middle"])],
    "trying": [(1, ["leaf", "one"]), (1, ["leaf", "middle", "two"])],
    "unordered": [(5, ["leaf", "middle"])],
    "all": [(3, ["leaf", "middle"])],
    "set": [(3, "task")],
    "either": [(1, "descriptor"), (1, ["leaf"])],
}
STACKS = {
    "boxed": ["leaf", "middle", "boxed"],
    "serving": ["leaf", "middle", "call", "serving"],
    "limited": ["limited"],
    "blocking": ["blocking"],
    "reading": ["reading"],
    "lines": ["lines"],
    "exact": ["exact"],
}
KINDS = {"boxed": "timer", "limited": "notify", "ticking": "timer", "blocking": "task", "accepting": "descriptor",
         "reading": "descriptor", "lines": "descriptor", "exact": "descriptor", "datagram": "descriptor"}
FAULTS = {"forgotten": ("unreachable", "proven", 2), "cleared": ("ready-not-taken", "strong", 1),
          "closed": ("closed-under-waiter", "proven", 1), "overdue": ("deadline-passed", "strong", 1)}


class Program:
    """The program in one mode, after it has said what there is."""

    def __init__(self, path, *args, quiet_s=0.4):
        self.tasks, self.descriptors = None, {}
        self.process = subprocess.Popen([path, *args], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "descriptor":
                self.descriptors[words[1]] = int(words[2])
            elif words[0] == "tasks":
                self.tasks = int(words[1])
            elif words[0] == "ready":
                break
        if quiet_s is not None:
            programs.wait_asleep(self.process.pid, quiet_s)
            common.sleepers[str(self.process.pid)] = quiet_s

    def __enter__(self):
        return self

    def __exit__(self, *_):
        common.sleepers.pop(str(self.process.pid), None)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def look(self, *args):
        return common.why("-p", str(self.process.pid), *args)


def other_version(version):
    """A change of the manifest: other versions of Tokio and of what it needs."""
    def edit(text):
        # The other pins are for one version: cargo chooses them.
        text = re.sub(r"(?s)# Not used directly.*?\n\n", "\n", text.replace("=1.38.2", version))
        return text.replace('libc = "=0.2.183"', 'libc = "0.2"').replace('"=0.3.31"', '"0.3"')
    return edit


def build(_, label, version=None, debug=2, optimization=0, toolchain=None, flags="", source=CRATE):
    """The program with one version of Tokio; None: it cannot be built here."""
    env = {"RUSTFLAGS": flags, "CARGO_PROFILE_DEV_DEBUG": str(debug), "CARGO_PROFILE_DEV_OPT_LEVEL": str(optimization)}
    if toolchain:
        # The newest cargo with another compiler: an old cargo wants another index.
        r = subprocess.run(["rustup", "which", "--toolchain", toolchain, "rustc"], capture_output=True, text=True,
                           check=False) if shutil.which("rustup") else None
        if not r or r.returncode:
            print("no compiler here:", toolchain)
            return None
        env["RUSTC"] = r.stdout.strip()
    where = programs.build_crate("tasks-" + label, source, other_version(version) if version else None, **env)
    return where and os.path.join(where, "corotracer-inspected-" + os.path.basename(source).replace("tokio_", ""))


def group_of(found, function):
    """The group whose stack has the function of the program with that name as its outermost place."""
    groups = [g for g in found["groups"] if g["stack"] and g["stack"][-1]["function"] == function]
    return groups[0] if len(groups) == 1 else None


def branch_matches(branch, count, words):
    if branch["count"] != count:
        return False
    if isinstance(words, str):
        return branch["kind"] == words
    return common.stack_matches(branch["stack"], words, LINES)


def check_branches(label, found):
    for function, expected in BRANCHES.items():
        group = group_of(found, function)
        branches = group["stack"][0].get("branches", []) if group else []
        if len(branches) != len(expected) or not all(
                any(branch_matches(b, *e) for b in branches) for e in expected):
            common.fail("%s: branches of %s: %s" % (label, function, branches))
    for function, words in STACKS.items():
        group = group_of(found, function)
        if not group or not common.stack_matches(group["stack"], words, LINES):
            common.fail("%s: stack of %s: %s" % (label, function, group and group["stack"]))


def check_waits(label, found, program):
    for function, kind in KINDS.items():
        group = group_of(found, function)
        waits = group["waits_for"] if group else None
        if not waits or waits["kind"] != kind:
            common.fail("%s: %s waits for %s, expected %s" % (label, function, waits, kind))
    for function, fd in program.descriptors.items():
        group = group_of(found, function)
        waits = group["waits_for"] if group else None
        listed = [(d["descriptor"], d["in_awaiter"]) for d in (waits or {}).get("descriptors", [])]
        if listed != [(fd, True)]:
            common.fail("%s: %s has the descriptor %d: %s" % (label, function, fd, listed))


def check_due(label, found):
    for function in ("boxed", "limited", "ticking", "selecting", "unordered"):
        group = group_of(found, function)
        due = (group["waits_for"] or {}).get("due_in_ms") if group else None
        if due is None or not 3500 * 1000 < due <= 3600 * 1000:
            common.fail("%s: %s is due in %s ms, expected an hour" % (label, function, due))


def check_main(label, found):
    """The future of block_on(), on the stack of a thread."""
    stacks = [t["block_on"] for t in found["threads"] if t.get("block_on")]
    if len(stacks) != 1 or not common.place_matches(stacks[0][0], "main", LINES):
        common.fail("%s: block_on: %s" % (label, stacks))


def look_core(label, program, check):
    """The same from a core file: nothing of the kernel, and no time."""
    if not shutil.which("gcore"):
        return
    with tempfile.TemporaryDirectory() as where:
        subprocess.run(["gcore", "-o", os.path.join(where, "core"), str(program.process.pid)],
                       capture_output=True, timeout=300, check=False)
        name = os.path.join(where, "core.%d" % program.process.pid)
        if os.path.exists(name):
            check(label + ", core", common.why(name))


def look_branches(label, path, mode=(), core=False, has_main=True):
    with Program(path, "branches", *mode) as program:
        found = program.look()
        check_branches(label, found)
        check_waits(label, found, program)
        check_due(label, found)
        common.check_no_alarm(label, found)
        if has_main:
            check_main(label, found)
        if found["coroutines"] != program.tasks:
            common.fail("%s: %d tasks, expected %d" % (label, found["coroutines"], program.tasks))
        if core:
            look_core(label, program, check_branches)


def check_faults(label, found, faults):
    for function, (verdict, confidence, count) in faults.items():
        group = group_of(found, function)
        got = (group["verdict"], group["confidence"], group["count"]) if group else None
        if got != (verdict, confidence, count):
            common.fail("%s: %s is %s, expected %s" % (label, function, got, (verdict, confidence, count)))


def check_core_faults(label, found):
    check_faults(label, found, {"forgotten": FAULTS["forgotten"]})


def look_faults(label, path, core=False):
    with Program(path, "faults") as program:
        for _ in range(20):
            found = program.look()
            if not found["busy"]:
                break
            time.sleep(0.2)
        check_faults(label, found, FAULTS)
        woken = group_of(found, "woken")
        if not woken or woken["state"] != "ready" or woken["waits_for"]["kind"] != "processor":
            common.fail("%s: woken is not ready: %s" % (label, woken))
        if found["coroutines"] != program.tasks:
            common.fail("%s: %d tasks, expected %d" % (label, found["coroutines"], program.tasks))
        if core:
            look_core(label, program, check_core_faults)


def look_calm(label, path):
    """Nothing is proven, and nothing is strong, where nothing is wrong: idle, and under load."""
    for mode, looks in LOOKS.items():
        with Program(path, mode, quiet_s=None) as program:
            for _ in range(looks):
                for g in program.look()["groups"]:
                    if g["confidence"] not in ("none", "suspect"):
                        common.fail("%s, %s: %s %s: %s" % (label, mode, g["confidence"], g["verdict"], g["stack"]))
                        return


def look_untyped(label, path, has_names=True):
    """Without types: the number, the functions, and tasks without a waker."""
    with Program(path, "faults") as program:
        found = program.look()
        if found["coroutines"] != program.tasks or "debug = 2" not in (found["problem"] or ""):
            common.fail("%s: %d tasks, expected %d; %s" % (label, found["coroutines"], program.tasks, found["problem"]))
        if has_names:
            check_faults(label, found, {"forgotten": FAULTS["forgotten"]})
            if not group_of(found, "cleared"):
                common.fail("%s: the function of a task is not named" % label)


def look_stripped(work, path):
    stripped = os.path.join(work, "stripped")
    subprocess.run(["strip", "-o", stripped, path], check=True)
    with Program(stripped, "faults") as program:
        problem = program.look()["problem"]
        if "stripped" not in (problem or ""):
            common.fail("stripped: nothing says so: %s" % problem)


def test_versions(work):
    """Other versions of Tokio, and other compilers that are installed."""
    for version in ("=1.21.2", "1"):
        path = build(work, "tokio" + version.strip("="), version)
        if path:
            look_branches("Tokio " + version, path)
            look_faults("Tokio " + version, path)
            look_calm("Tokio " + version, path)
    for toolchain in ("1.63", "nightly"):
        path = build(work, "rustc-" + toolchain, toolchain=toolchain)
        if path:
            look_branches("rustc " + toolchain, path)
            look_faults("rustc " + toolchain, path)


def test_debug_forms(work):
    """Types without optimization and with it, functions only, symbols only."""
    path = build(work, "o3", optimization=3)
    if path:
        look_branches("optimized", path, has_main=False)
        look_faults("optimized", path)
    path = build(work, "debug1", debug=1)
    if path:
        look_untyped("debug = 1", path)
    path = build(work, "debug0", debug=0)
    if path:
        look_untyped("debug = 0", path, has_names=False)
    path = build(work, "v0", debug=0, flags="-C symbol-mangling-version=v0")
    if path:
        look_untyped("debug = 0, v0", path)


def test_smol(work):
    """Tasks of another executor."""
    path = build(work, "smol", source=os.path.join(HERE, "smol"))
    if not path:
        return
    lines = {name: ("main.rs", line) for name, (_, line) in
             common.markers(os.path.join("smol", "src", "main.rs")).items()}
    with common.Target(path) as target:
        found = common.why("-p", str(target.process.pid))
        common.check_stacks("smol", found, target, lines)
        common.check_no_alarm("smol", found)


def main():
    if not shutil.which("cargo"):
        print("no cargo here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        path = build(work, "own")
        if not path:
            return 77
        look_branches("two workers", path, core=True)
        look_branches("one thread", path, ["current"])
        look_faults("faults", path, core=True)
        look_calm("calm", path)
        look_stripped(work, path)
        if common.FULL:
            test_debug_forms(work)
            test_versions(work)
            test_smol(work)
    print("%d faults" % len(common.faults))
    return 1 if common.faults else 0


if __name__ == "__main__":
    sys.exit(main())
