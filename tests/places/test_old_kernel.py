# SPDX-License-Identifier: MIT
"""test_old_kernel.py - the tool and the SDK as on older kernels: old_kernel.c hides newer system calls.

docs/containers.md has the table of what works there.
"""
import errno
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import *  # noqa: E402

OLD = os.environ["OLD_KERNEL"]
PROGRAM = os.environ["PLACE_PROGRAM"]
ATTACH = os.environ["ATTACH_PROGRAM"]
ATTACH_CPP = os.environ.get("ATTACH_CPP", "")
VERSIONS = ("5.4", "4.18", "least")
SOURCE = "int main(void) { static volatile int a[4096]; for (int i = 0; i < 4096; i++) a[i]++; return 0; }\n"


def under(version, *args, **kwargs):
    """(status, stdout, stderr) of a command as on that kernel."""
    p = popen(OLD, version, *args, **kwargs)
    out, err = p.communicate(timeout=300)
    if p.returncode == 77:
        raise Skip("no seccomp here")
    return p.returncode, out, err


def summary_of(err):
    return json.loads([line for line in err.splitlines() if line.startswith("{")][-1])


def started(*command):
    """A program that runs until end() and can be attached."""
    p = popen(*command, stdin=subprocess.PIPE)
    equal(p.stdout.readline(), "ready\n", "the program's first line")
    return p


def end(p):
    p.communicate(timeout=300)
    equal(p.returncode, 0, "status of the program")


@test
def what_is_newer_is_missing(dir):
    script = "import os, sys; sys.exit(0 if hasattr(os, 'pidfd_open') and os.pidfd_open(os.getpid()) else 1)"
    equal(under("5.4", sys.executable, "-c", script)[0], 0, "5.4 has pidfd_open")
    status, _, err = under("4.18", sys.executable, "-c", script)
    equal(status, 1, err)
    contains(err, os.strerror(errno.ENOSYS))


@test
def version_says_what_is_missing(dir):
    newer = ["madvise(MADV_POPULATE_WRITE)", "close_range", "openat2", "pidfd_getfd"]
    missing = {"5.4": newer, "4.18": newer + ["pidfd_open"], "least": newer + ["pidfd_open", "membarrier(GLOBAL_EXPEDITED)"]}
    here = json.loads(tool("version", "--json")[1])["kernel"]["missing"]
    for version in VERSIONS:
        status, out, err = under(version, TOOL, "version", "--json")
        equal((status, set(json.loads(out)["kernel"]["missing"])), (0, set(missing[version]) | set(here)), err)
        status, out, err = under(version, TOOL, "version")
        for name in missing[version]:
            contains(out, name + " (Linux ")


@test
def run_traces_everything(dir):
    for version in VERSIONS:
        trace = os.path.join(dir, version + ".jsonl")
        for options in [], ["--no-inherit"]:
            status, _, err = under(version, TOOL, "run", "--json", *options, "-o", trace, "--", PROGRAM)
            s = summary_of(err)
            equal((status, s["collected"], s["lost"], s["connected"]), (0, 1000, 0, 1), f"{version}: {err}")


def attached(version, pid, trace):
    """The summary.  On a busy machine the program sees the collector late."""
    for seconds in ("0.5", "3", "12"):
        status, _, err = under(version, TOOL, "run", "--json", "-p", pid, "--duration", seconds, "-o", trace)
        s = summary_of(err)
        if s["collected"]:
            break
    equal((status, s["collected"] > 0, s["lost"]), (0, True, 0), f"{version}: {err}")
    return s


@test
def a_running_program_is_attached(dir):
    for version in VERSIONS:
        p = started(ATTACH, "2")
        attached(version, p.pid, os.path.join(dir, "a.jsonl"))
        end(p)


@test
def a_running_program_with_its_own_mounts_is_attached(dir):
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("no namespaces here")
    p = started("unshare", "-m", "sh", "-c", "mount -t tmpfs t /dev/shm && mount -t tmpfs t /tmp && exec \"$0\" 2", ATTACH)
    for version in VERSIONS:
        s = attached(version, p.pid, os.path.join(dir, "m.jsonl"))
        contains(s["region"], "/proc/self/fd/")
    end(p)


if ATTACH_CPP:
    @test
    def coroutines_without_a_collector_are_found(dir):
        p = started(ATTACH_CPP, "2", "1000", "i")
        newest = json.loads(tool("why", "--json", "-p", str(p.pid))[1])
        for version in VERSIONS:
            status, out, err = under(version, TOOL, "why", "--json", "-p", p.pid)
            equal(status, 0, err)
            old = json.loads(out)
            equal((old["coroutines"], old["coroutines"] > 0), (newest["coroutines"], True), version)
        end(p)


@test
def memory_accesses_are_traced(dir):
    source, program = os.path.join(dir, "sum.c"), os.path.join(dir, "sum")
    with open(source, "w", encoding="ascii") as f:
        f.write(SOURCE)
    status, out, err = tool("mem", "cc", "-O1", "-g", source, "-o", program)
    if status:
        raise Skip(f"no compiler: {err}")
    for version in (*VERSIONS, "no-gettid", "no-thread-id"):
        trace = os.path.join(dir, version + ".cray")
        status, _, err = under(version, TOOL, "mem", "run", "-o", trace, "--", program)
        equal(status, 0, err)
        status, out, err = tool("mem", "sim", "--json", trace)
        equal(json.loads(out)["accesses"], 8192, f"{version}: accesses")


main()
