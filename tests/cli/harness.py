# SPDX-License-Identifier: MIT
"""harness.py - run the tool on the test target, and check the result.

A test is a function whose name is a sentence, registered by @test; main() runs them all and
exits 0 (passed), 1 (failed) or 77 (every one skipped).  A test may raise Skip("why").
"""
import ctypes
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TOOL = os.environ.get("COROTRACER", "build/corotracer")
TARGET = os.environ.get("TARGET", "build/tests/cli/target")
TESTS = []

# A collector that offers stations only, as in the plain protocol: eight slots each.
STATIONS_ONLY = dict(os.environ, COROTRACER_NO_LANES="1")
STARTED = []
# The processes of a case: those that it started, and their orphans.
PIDS = set()
# Servers that several cases share: end_all() does not kill them.
KEPT = set()


class Skip(Exception):
    pass


def test(function):
    TESTS.append(function)
    return function


def equal(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def contains(text, part):
    if part not in text:
        raise AssertionError(f"{part!r} is not in:\n{text}")


class Run:
    """One finished run of the tool: status, stdout, stderr, summary, events, sidecar."""

    def __init__(self, status, out, err, trace):
        self.status, self.out, self.err, self.trace = status, out, err, trace

    @property
    def summary(self):
        lines = [line for line in self.err.splitlines() if line.startswith("{")]
        equal(len(lines), 1, "JSON objects on stderr")
        return json.loads(lines[0])

    @property
    def events(self):
        with open(self.trace, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    @property
    def sidecar(self):
        with open(self.trace + ".meta", encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def coroutines(self):
        """The sidecar's records of each coroutine: station records, and create, end and leftover records of lanes."""
        lives, stations = {}, []
        for r in self.sidecar:
            if r["type"] == "coroutine" and r["station"] is not None:
                stations.append(r)
                continue
            if r["type"] not in ("birth", "end", "destroy", "coroutine"):
                continue
            c = lives.setdefault(r["probe_id"], {"station": None, "writer": "corotracer", "dead": False, "lost": 0})
            if r["type"] == "end" or r["type"] == "destroy":
                c.update(written=r["written"], lost=r.get("lost", 0), death_ts=r["ts"], dead=True)
                c["collected"] = c["written"] - c["lost"]
            else:
                c.update(r)
                c.setdefault("birth_ts", r.get("ts"))
        return stations + list(lives.values())


def popen(*args, **kwargs):
    kwargs.setdefault("stdout", subprocess.PIPE)
    kwargs.setdefault("stderr", subprocess.PIPE)
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    p = subprocess.Popen([str(a) for a in args], text=True, **kwargs)
    if p.stdout:
        # The default would read more than a line, and communicate() would not see the rest.
        p.stdout.readline = lambda: line_of(p.stdout.fileno())
    STARTED.append(p)
    return p


def line_of(fd):
    """Exactly one line."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            break
        line += byte
    return line.decode()


def adopt_orphans():
    """Make this process the subreaper: orphans (of a collector that a case killed) become its
    children, not init's."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    me = os.getpid()
    with open(f"/proc/{me}/task/{me}/children", encoding="ascii") as f:
        return [int(pid) for pid in f.read().split() if int(pid) not in KEPT]


def end_all():
    """Kill every process that a case left running, whether the case passed or failed."""
    for p in STARTED:
        PIDS.add(p.pid)
        if p.poll() is None:
            p.kill()
            p.wait()
    STARTED.clear()
    # Each process may leave children.
    for _ in range(100):
        left = children()
        PIDS.update(left)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        if not left:
            return


def private_places():
    """Private directories of collectors: those of this test and those of other tests that run in parallel."""
    return {"/dev/shm/" + name for name in os.listdir("/dev/shm") if name.startswith("corotracer-")}


def is_left_behind(path):
    """A living collector holds a lock on its region."""
    import fcntl
    try:
        with open(path + "/region", "rb") as f:
            fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return True
    except OSError:
        return False


def sweep(*collectors):
    """Remove the directories of these collectors, which a test killed; those of others stay."""
    remove_places(private_places(), {p.pid for p in collectors})


def remove_places(places, pids):
    if not os.path.exists(TOOL):  # a cross build without the tool: no collector was started
        return
    for path in places:
        if is_left_behind(path):
            status, out, _ = tool("recover", "--json", path)
            if status == 0 and json.loads(out)["collector_pid"] in pids:
                shutil.rmtree(path, ignore_errors=True)


def words(*args):
    """For a shell: paths may have spaces."""
    return shlex.join(str(a) for a in args)


def tool(*args, **kwargs):
    """Run the tool to its end; returns (status, stdout, stderr)."""
    given = kwargs.pop("input", None)
    if given is not None:
        kwargs["stdin"] = subprocess.PIPE
    p = popen(TOOL, *args, **kwargs)
    out, err = p.communicate(given, timeout=300)
    return p.returncode, out, err


def run(dir, *target, options=(), **kwargs):
    """`corotracer run --json` on the test target."""
    trace = os.path.join(dir, "trace.jsonl")
    status, out, err = tool("run", "--json", "-o", trace, *options, "--", TARGET, *target, **kwargs)
    return Run(status, out, err, trace)


def wait_until(condition, what, tries=9000):
    """The timeout is generous: a slow machine must not fail the test."""
    for _ in range(tries):
        got = condition()
        if got:
            return got
        time.sleep(0.01)
    raise AssertionError(f"never came: {what}")


def check_order(events):
    """Within a coroutine time goes forward, and resumes and suspends take turns."""
    last = {}
    for e in events:
        before = last.get(e["probe_id"])
        if before:
            assert e["ts"] > before["ts"], f"time went back: {before} then {e}"
        last[e["probe_id"]] = e


def main():
    failed, skipped = 0, 0
    adopt_orphans()
    for function in TESTS:
        others = private_places()
        name = function.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory(prefix="corotracer-test-") as dir:
            try:
                function(dir)
                print(f"ok - {name}", flush=True)
            except Skip as why:
                skipped += 1
                print(f"skipped: {name}: {why}", flush=True)
            except Exception:  # noqa: BLE001 - every failure is reported, and the rest runs
                failed += 1
                traceback.print_exc()
                print(f"not ok - {name}", flush=True)
            finally:
                end_all()
                remove_places(private_places() - others, PIDS)
                PIDS.clear()
    if failed:
        sys.exit(1)
    sys.exit(77 if skipped == len(TESTS) else 0)


__all__ = [
    "TOOL", "TARGET", "STATIONS_ONLY", "KEPT", "Skip", "test", "equal", "contains", "Run", "popen", "tool", "run",
    "wait_until", "check_order", "words", "private_places", "is_left_behind", "sweep", "main", "os", "signal", "subprocess", "sys", "time", "json",
]
