# SPDX-License-Identifier: MIT
"""test_attach_places.py - `corotracer run -p` where the program is elsewhere: containers, other users, libraries.

Needs root: namespaces and other users.  The programs and the check of what is in a trace are those of
test_attach.py.
"""
import os
import runpy
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
os.environ["ATTACH_IMPORTED"] = "1"
base = runpy.run_path(os.path.join(HERE, "test_attach.py"))
from harness import *  # noqa: E402
import harness  # noqa: E402

harness.TESTS.clear()
Program, Collector, detach, no_gaps = (base[n] for n in ("Program", "Collector", "detach", "no_gaps"))
PROGRAM = base["PROGRAM"]
OTHER = 65534


def child_of(program):
    """The pid of the test program below unshare or a shell."""
    def found():
        todo = [program.pid]
        while todo:
            pid = todo.pop()
            if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(PROGRAM):
                return pid
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                todo += [int(n) for n in f.read().split()]
        return None
    wait_until(lambda: found() is not None, "the program runs")
    return found()


def traced(dir, program, pid, command=None, name="t.jsonl"):
    c = Collector(program, dir, command=command, pid=pid, name=name)
    c.wait_for_events(500)
    r = detach(c)
    equal(r.status, 0, r.err)
    no_gaps(r)
    return r


def root_only():
    if os.geteuid() != 0:
        raise Skip("not root")
    status = subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode
    if status:
        raise Skip("no namespaces here")


@test
def in_its_own_mount_and_pid_namespace_with_a_private_dev_shm(dir):
    root_only()
    mounts = "mount -t tmpfs t /dev/shm && mount -t tmpfs t /tmp && exec \"$0\" \"$@\""
    p = Program(command=["unshare", "-m", "-p", "--fork", "--mount-proc", "sh", "-c", mounts, PROGRAM])
    pid = child_of(p)
    for i in range(2):
        r = traced(dir, p, pid, name=f"{i}.jsonl")
        pids = {e["pid"] for e in r.sidecar if e["type"] in ("birth", "site", "process", "coroutine")}
        equal(pids, {pid}, "pids in the trace")
    equal([n for n in os.listdir(os.path.join("/proc", str(pid), "root", "dev", "shm")) if n.startswith("corotracer")], [], "left behind there")
    p.end()


@test
def in_its_own_root_directory(dir):
    root_only()
    root = os.path.join(dir, "root")
    os.makedirs(root + "/tmp")
    bind = "; ".join(f"mkdir -p {root}{d}; mount --rbind {d} {root}{d}" for d in ("/usr", "/lib", "/lib64", "/work")
                     if os.path.isdir(d))
    top = "/" + os.path.realpath(PROGRAM).split("/")[1]
    bind += f"; mkdir -p {root}{top}; mountpoint -q {root}{top} || mount --rbind {top} {root}{top}"
    p = Program(command=["unshare", "-m", "sh", "-c", bind + f'; exec chroot {root} "$0" "$@"', PROGRAM])
    traced(dir, p, p.pid)  # each of these executes the next
    p.end()


@test
def in_a_user_namespace(dir):
    root_only()
    p = Program(command=["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", "unshare", "-U", "-r", "-m",
                         "sh", "-c", "mount -t tmpfs t /dev/shm && exec \"$0\" \"$@\"", PROGRAM])
    traced(dir, p, child_of(p))
    p.end()


@test
def of_another_user_after_a_privilege_drop(dir):
    root_only()
    p = Program(command=["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", PROGRAM])
    r = traced(dir, p, p.pid)
    equal(os.stat(r.trace).st_uid, 0, "owner of the trace")
    p.end()


@test
def of_root_by_another_user_is_refused_with_a_hint(dir):
    root_only()
    p = Program()
    c = Collector(p, dir, json_summary=False,
                  command=["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"])
    r = c.result()
    equal(r.status, 1, r.err)
    contains(r.err, "hint: run corotracer as that user, or with sudo")
    p.end()


for variant in os.environ.get("ATTACH_VARIANTS", "").split(","):
    name, _, path = variant.partition("=")
    if not path:
        continue

    def as_variant(dir, path=path):
        p = Program(command=[path])
        traced(dir, p, p.pid)
        p.end()

    as_variant.__name__ = f"a_program_that_is_{name}"
    test(as_variant)


@test
def a_program_with_forged_notes_is_refused_or_waited_for(dir):
    for kind, status in (("wild", 1), ("size", 1), ("version", 1), ("attached", 0), ("idle", 0)):
        p = popen(os.environ["ATTACH_FORGED"], kind, stdin=subprocess.PIPE)
        equal(p.stdout.readline(), "ready\n", "the program's first line")
        c = Collector(p, dir, "--duration", "0.2")
        r = c.result()
        equal(r.status, status, f"{kind}: {r.err}")
        if status:
            contains(r.err, "contains no corotracer SDK")
        else:
            equal(r.summary["written"], 0, "events")
        p.communicate()
        equal(p.returncode, 0, f"{kind}: status of the program")


def two_copies(dir):
    p = subprocess.Popen([os.environ["ATTACH_COPIES"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    harness.STARTED.append(p)
    equal(p.stdout.readline(), "ready\n", "the program's first line")
    c = Collector(None, dir, pid=p.pid)
    c.wait_for_events(500, threads=0)
    r = detach(c)
    equal((r.status, r.summary["lost"]), (0, 0), r.err)
    files = {os.path.basename(e["file"]) for e in r.sidecar if e["type"] == "site"}
    equal(files >= {"copies_c.c", "copies_cpp.cpp"}, True, f"copies of the SDK that were traced: {files}")
    p.communicate()


if os.environ.get("ATTACH_COPIES"):
    two_copies.__name__ = "every_copy_of_the_SDK_in_a_program_is_attached"
    test(two_copies)

main()
