# SPDX-License-Identifier: MIT
"""frames_live.py - shared by the tests of this folder: programs with frames, and attaches to them."""
import ctypes
import shutil

from harness import *

# A private IPC namespace if permitted: other tests use shared memory, too.  Its first id is 0.
CLONE_NEWIPC = 0x08000000
ctypes.CDLL(None).unshare(CLONE_NEWIPC)

LIVE = os.environ.get("LIVE", "build/tests/frames/live")


def program(name):
    return os.path.join(LIVE, name)


def start(name, *args, prefix=(), **kwargs):
    """A program of this folder that has printed that it is ready."""
    p = popen(*prefix, program(name), *args, **kwargs)
    equal(p.stdout.readline(), "ready\n", f"first words of {name}")
    return p


def end(p):
    """Ask it to end; returns its output, as JSON if it is JSON."""
    p.terminate()
    out, err = p.communicate(timeout=300)
    equal(err, "", "stderr of the program")
    equal(p.returncode, 0, "status of the program")
    lines = [line for line in out.splitlines() if line.startswith("{")]
    return json.loads(lines[0]) if lines else out


class Attach:
    """One finished attach."""

    def __init__(self, status, out, err, file):
        self.status, self.out, self.err, self.file = status, out, err, file

    @property
    def summary(self):
        lines = [line for line in self.err.splitlines() if line.startswith("{")]
        equal(len(lines), 1, f"JSON objects in {self.err!r}")
        return json.loads(lines[0])


def attach(dir, p, *options, file="frames.ppt", **kwargs):
    path = os.path.join(dir, file)
    return Attach(*tool("attach", "-p", p.pid, "-o", path, "--json", *options, **kwargs), path)


def attach_start(dir, p, *options, file="frames.ppt", **kwargs):
    path = os.path.join(dir, file)
    if os.path.exists(path):
        os.unlink(path)
    return popen(TOOL, "attach", "-p", p.pid, "-o", path, "--json", *options, **kwargs)


def attached(dir, collector, p, file="frames.ppt"):
    """Wait until that collector receives frames."""
    def look():
        assert collector.poll() is None, f"it ended: {collector.communicate()}"
        if not os.path.exists(os.path.join(dir, file)) or not os.path.getsize(os.path.join(dir, file)):
            return False
        _, out, _ = tool("query", "-p", p.pid, "-l", "--json")
        return any(b.get("owner") == collector.pid and b["attached"] for b in json.loads(out)["buffers"])
    wait_until(look, "a collector that is attached")


def decode(file, *options):
    """(frames, summary) of a recording."""
    status, out, err = tool("decode", "--format", "jsonl", "--json", *options, file, "-")
    equal(status, 0, f"status of decode ({err})")
    return [json.loads(line) for line in out.splitlines()], json.loads(err.splitlines()[-1])


def segments():
    """Ids of the shared memory segments, with the number of attaches of each; without those that other
    processes have created, such as database servers of other tests."""
    with open("/proc/sysvipc/shm", encoding="ascii") as f:
        rows = [line.split() for line in f][1:]
    return {int(r[1]): int(r[6]) for r in rows if not is_foreign(int(r[4]))}


def is_foreign(pid):
    """It runs, and is neither this process nor below it."""
    while pid > 1:
        if pid == os.getpid():
            return False
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                pid = int(f.read().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            return False
    return True


def check_busy(frames):
    """Frames of busy.c: whole, and each once."""
    seen = set()
    for f in frames:
        key = (f["thread"], f["n"])
        assert key not in seen, f"twice: {f}"
        seen.add(key)
        if f["frame"] == "work":
            good = f["minus_n"] == -(f["n"] & 0x3FFFFFFF) and f["half_n"] == f["n"] / 2
        else:
            good = f["not_n"] == ~f["n"] & (2**64 - 1)
        assert good, f"half a frame: {f}"


def check_exact(frames, summary, at):
    """The counts of attach match the sequence numbers, and the saves of the threads."""
    equal(at["recorded"], len(frames), "frames in the file")
    equal(at["issued"], at["recorded"] + at["lost"], "issued")
    equal((summary["torn"], summary["foreign"], summary["cut_bytes"]), (0, 0, 0), "torn, foreign, cut")
    equal(summary["lost"], at["lost"], "lost, in the file")
    numbers = sorted(f["ppt_seqno"] for f in frames)
    equal(len(set(numbers)), len(numbers), "different numbers")
    if numbers:
        assert numbers[0] >= 1 and numbers[-1] <= at["issued"], (numbers[0], numbers[-1], at["issued"])
    # Each thread numbers its own frames: missing numbers were lost.
    threads = {}
    for f in frames:
        threads.setdefault(f["thread"], []).append(f["n"])
    missing = sum(max(ns) - min(ns) + 1 - len(ns) for ns in threads.values())
    assert missing <= at["lost"], f"{missing} are missing, {at['lost']} were counted"
    if at["lost"] == 0:
        equal(missing, 0, "missing between the frames of a thread")


def has(command):
    return shutil.which(command) is not None


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")
