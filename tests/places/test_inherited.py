# SPDX-License-Identifier: MIT
"""test_inherited.py - programs that no path leads to the collector: other users, mounts and root directories.

The collector leaves two descriptors open in the program (include/corotracer/inherit.h).  Programs that
close them use the paths; if these do not lead there either, the summary says so.
"""
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import *  # noqa: E402

PROGRAM = os.environ["PLACE_PROGRAM"]
STATIC = os.environ.get("PLACE_STATIC", "")
EVENTS, COROUTINES = 1000, 50


def root_only():
    if os.geteuid() != 0:
        raise Skip("not root")
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("no namespaces here")


def run(dir, *steps, options=(), before=(), program=PROGRAM, hold=0.0):
    """The program under the tool; @hold: end its standard input after that time."""
    trace = os.path.join(dir, "t.jsonl")
    p = popen(TOOL, "run", "--json", "-o", trace, *options, "--", *before, program, *steps, stdin=subprocess.PIPE)
    time.sleep(hold)
    out, err = p.communicate(timeout=300)
    return Run(p.returncode, out, err, trace)


def traced(r, processes=1):
    equal(r.status, 0, r.err)
    s = r.summary
    equal((s["written"], s["collected"], s["lost"]), (EVENTS, EVENTS, 0), "events")
    equal(s["coroutines"], COROUTINES, "coroutines")
    equal(s["connected"], processes, "connections")
    equal(len(r.events), EVENTS, "events in the trace")
    equal(s["unconnected"], [], "processes that did not connect")
    return s


def refused(dir, *steps, reason, status=1, **kwargs):
    """A process is looked at while it runs: it has to run long enough, on a loaded machine, too."""
    for hold in (0.2, 1, 5, 20):
        r = run(dir, *steps, hold=hold, **kwargs)
        s = r.summary
        equal(s["written"], 0, "events")
        if [u["reason"] for u in s["unconnected"]] == [reason]:
            break
    equal([u["reason"] for u in s["unconnected"]], [reason], f"the reason after {hold} s")
    equal((r.status, s["status"]), (status, status), "status")
    return s["unconnected"][0]


@test
def with_nothing_in_the_way(dir):
    traced(run(dir))
    traced(run(dir, "fork"))


@test
def with_paths_only(dir):
    traced(run(dir, options=["--no-inherit"]))


@test
def after_privileges_are_dropped(dir):
    root_only()
    traced(run(dir, "user"))
    traced(run(dir, "user", "fork"))


@test
def with_a_private_or_read_only_dev_shm(dir):
    root_only()
    traced(run(dir, "shm"))
    traced(run(dir, "read-only"))


@test
def in_its_own_root_directory(dir):
    root_only()
    traced(run(dir, "chroot=" + dir))
    traced(run(dir, "shm", "chroot=/usr", "user", "fork"))


if STATIC:
    @test
    def executed_in_another_root_directory(dir):
        root_only()
        shutil.copy(STATIC, os.path.join(dir, "static"))
        traced(run(dir, "user", before=["chroot", dir], program="/static"))


@test
def in_its_own_pid_and_user_namespace(dir):
    root_only()
    r = run(dir, before=["unshare", "-U", "-r", "-m", "-p", "--fork", "--mount-proc"])
    traced(r)
    pids = {e["pid"] for e in r.sidecar if e["type"] in ("birth", "process")}
    equal((len(pids), 1 in pids), (1, False), f"pids in the trace, the collector's numbers: {pids}")


@test
def closed_descriptors_leave_the_paths(dir):
    traced(run(dir, "close"))


@test
def reused_descriptors_are_not_touched(dir):
    traced(run(dir, "reuse"))


@test
def a_wrong_variable_is_not_used(dir):
    for value in ("", ":", "200", "200:1", "zz:1:2:3:4:5:", "3:1:2:4:5:6:/another/region", "ffffffffff:1:2:3:4:5:$CTP_SHM_PATH",
                  "-1:1:1:-1:1:1:$CTP_SHM_PATH", "0:0:0:0:0:0:$CTP_SHM_PATH", "0:1:1:1:1:1:$CTP_SHM_PATH"):
        traced(run(dir, options=["--no-inherit"], before=["sh", "-c", f'export CTP_FDS="{value}"; exec "$0" "$@"']))


HOSTILE = r"""
import array, os, socket, struct, sys
numbers = os.environ["CTP_FDS"].split(":")
door = socket.socket(fileno=os.dup(int(numbers[3], 16)))
door.setblocking(True)
pair, pipe = socket.socketpair(), os.pipe()
hello = lambda kind, pid=77, magic=0x314f4c4c48505443: struct.pack("=QIIII", magic, kind, 0, pid, 0)

def send(data, *fds):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    door.sendmsg([data], rights)

for i in range(20):
    send(b"")
    send(b"x" * 5000)
    send(hello(1)[:-1], pair[0].fileno())
    send(hello(1, magic=5), pair[0].fileno())
    send(hello(9), pair[0].fileno())
    send(hello(1))
    send(hello(1), pipe[0])
    send(hello(1), 0, 1, 2, pipe[0], pipe[1], pair[0].fileno())
    send(hello(1), door.fileno())
    send(hello(2, pid=i), pipe[0])
    send(hello(2)[:12])
os.execv(sys.argv[1], sys.argv[1:])
"""


@test
def what_a_hostile_program_sends_is_ignored(dir):
    before = len(os.listdir("/proc/self/fd"))
    r = run(dir, before=[sys.executable, "-c", HOSTILE])
    s = r.summary
    equal((r.status, s["written"], s["collected"], s["lost"]), (0, EVENTS, EVENTS, 0), r.err)
    equal(s["coroutines"], COROUTINES, "coroutines")
    equal(len(os.listdir("/proc/self/fd")), before, "descriptors of this process")


@test
def a_program_without_a_coroutine_is_named(dir):
    one = refused(dir, "wait", "stop", reason="no-coroutine", status=0)
    equal(one["program"], os.path.basename(PROGRAM)[:15], "its name")


@test
def a_cleared_environment_is_named(dir):
    refused(dir, "clear", "linger", reason="no-environment")
    refused(dir, "linger", reason="no-environment", before=["env", "-i"])


@test
def closed_descriptors_and_no_path_are_named(dir):
    root_only()
    one = refused(dir, "close", "user", "linger", reason="not-opened")
    equal(one["error"], "Permission denied", "the reason of the kernel")
    one = refused(dir, "close", "shm", "linger", reason="not-opened")
    equal(one["error"], "No such file or directory", "the reason of the kernel")
    refused(dir, "user", "linger", reason="not-opened", options=["--no-inherit"])


@test
def the_summary_has_a_hint(dir):
    for hold in (0.2, 1, 5, 20):
        p = popen(TOOL, "run", "-o", os.path.join(dir, "t.jsonl"), "--", "env", "-i", PROGRAM, "linger", stdin=subprocess.PIPE)
        time.sleep(hold)
        _, err = p.communicate(timeout=300)
        if p.returncode:
            break
    equal(p.returncode, 1, err)
    contains(err, f"({os.path.basename(PROGRAM)[:15]}) has the SDK and did not connect: CTP_SHM_PATH is not set in it\nhint: ")


@test
def a_descriptor_that_stays_open_does_not_keep_memory(dir):
    """A daemon that the program starts, without the SDK, inherits the descriptors."""
    trace = os.path.join(dir, "t.jsonl")
    script = '"$0"; sleep 300 >/dev/null 2>&1 & echo $! $CTP_FDS'
    p = popen(TOOL, "run", "-q", "-o", trace, "--", "sh", "-c", script, PROGRAM)
    out, err = p.communicate(timeout=300)
    pid, fds = out.split()
    try:
        equal(p.returncode, 0, err)
        at = f"/proc/{pid}/fd/{int(fds.split(':')[0], 16)}"
        contains(os.readlink(at), "(deleted)")
        kept = os.stat(at).st_blocks * 512
        equal(kept <= 8192, True, f"bytes that the daemon keeps: {kept}")
    finally:
        os.kill(int(pid), 9)


main()
