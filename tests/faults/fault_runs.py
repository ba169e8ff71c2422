# SPDX-License-Identifier: MIT
"""fault_runs.py - run a command while its calls fail, one after the other, and judge each run.

FAULT_CALLS: the library of fault_calls.c
COROTRACER_FULL=1: every call of every command; otherwise a sample of them
"""
import ctypes
import hashlib
import re
import shutil
import struct

from harness import *

LIBRARY = os.environ.get("FAULT_CALLS", "build/tests/faults/fault_calls.so")
FULL = os.environ.get("COROTRACER_FULL") == "1"
# In the order of enum fault_call.
CALLS = ("write", "pwrite", "read", "mmap", "fsync", "rename", "open", "accept", "malloc", "fork", "thread", "flush", "room")
SAMPLES = {"malloc": 3}
LIMIT = 120


def private_shm():
    """A /dev/shm of this test alone: collectors of other tests come and go.  False if that is not permitted."""
    CLONE_NEWNS, MS_PRIVATE_REC = 0x00020000, 0x44000
    libc = ctypes.CDLL(None)
    return (libc.unshare(CLONE_NEWNS) == 0 and libc.mount(b"none", b"/", None, MS_PRIVATE_REC, None) == 0 and
            libc.mount(b"none", b"/dev/shm", b"tmpfs", 0, b"size=1g") == 0)


IS_SHM_PRIVATE = private_shm()


def sampled(name, call, count):
    """Which of a command's calls fail: one of each kind, three for malloc, the same in every run."""
    if FULL:
        step = max(1, count // 3000)
        return list(range(1, count + 1, step))
    nr = min(SAMPLES.get(call, 1), count)
    picks = set()
    seed = int(hashlib.sha256(f"{name} {call}".encode()).hexdigest()[:8], 16)
    while len(picks) < nr:
        picks.add(1 + seed % count)
        seed = seed * 1103515245 + 12345 & 0x7FFFFFFF
    return sorted(picks)


class Result:
    def __init__(self, status, out, err, files, counts, injected):
        self.status, self.out, self.err, self.files, self.counts, self.injected = status, out, err, files, counts, injected
        self.seen = None


def contents(folder):
    """Files and their contents; the folders, too."""
    found = {}
    for base, folders, names in os.walk(folder):
        for name in folders:
            found[os.path.relpath(os.path.join(base, name), folder) + "/"] = b""
        for name in names:
            path = os.path.join(base, name)
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    found[os.path.relpath(path, folder)] = f.read()
            else:
                found[os.path.relpath(path, folder)] = b"not a file"
    return found


class Command:
    """A command of the tool that runs to its end, with its output files in the current folder."""

    def __init__(self, dir, name, *args, same=None, statuses=(0,), exe="corotracer", env=None, given=None):
        self.dir, self.name, self.args = dir, name, [str(a) for a in args]
        self.same = same or (lambda result: (result.out, result.files))
        self.statuses, self.exe, self.env, self.given = statuses, exe, env or {}, given

    def fresh(self):
        for name in ("out", "tmp"):
            shutil.rmtree(os.path.join(self.dir, name), ignore_errors=True)
            os.mkdir(os.path.join(self.dir, name))
        with open(os.path.join(self.dir, "state"), "wb") as f:
            f.write(bytes(8 * (len(CALLS) + 1)))

    def environment(self, settings):
        env = dict(os.environ, TMPDIR=os.path.join(self.dir, "tmp"), LD_PRELOAD=LIBRARY, FAULT_STATE=os.path.join(self.dir, "state"), **settings)
        if self.exe:
            env["FAULT_EXE"] = self.exe
        env.update(self.env)
        return env

    def run(self, **settings):
        self.fresh()
        p = subprocess.Popen([TOOL, *self.args], cwd=os.path.join(self.dir, "out"), env=self.environment(settings), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, stdin=subprocess.PIPE if self.given is not None else subprocess.DEVNULL)
        try:
            out, err = p.communicate(self.given, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            raise AssertionError(f"{self.name}: hangs with {settings}; stderr: {err[-2000:].decode(errors='replace')}") from None
        with open(os.path.join(self.dir, "state"), "rb") as f:
            counts = struct.unpack(f"{len(CALLS) + 1}Q", f.read(8 * (len(CALLS) + 1)))
        result = Result(p.returncode, out, err.decode(errors="replace"), contents(os.path.join(self.dir, "out")), dict(zip(CALLS, counts)), counts[-1])
        result.seen = self.same(result)
        return result

    def left_behind(self, shm):
        left = [n for n in os.listdir(os.path.join(self.dir, "tmp"))]
        left += [n for n in contents(os.path.join(self.dir, "out")) if os.path.basename(n.rstrip("/")).startswith(".") or ".tmp" in n or n.endswith(".part")]
        left += [n for n in private_places() - shm if IS_SHM_PRIVATE and is_left_behind(n)]
        return left

    def judge(self, result, wanted, settings, shm):
        """What is wrong with this run; None if nothing is."""
        text = f"status {result.status}, stderr {result.err[-600:]!r}"
        if result.status < 0:
            return f"killed by signal {-result.status}: {text}"
        if result.status == wanted.status and result.seen != wanted.seen:
            if not says_loss(result.err, wanted.err):
                return f"silently wrong: {text}; {self.difference(result, wanted)}"
        if result.status != wanted.status and not result.err.strip() and not says_loss(result.out.decode(errors="replace"), wanted.out.decode(errors="replace")):
            return f"failed without a message: {text}"
        left = self.left_behind(shm)
        if left:
            return f"left behind {left}: {text}"
        return None

    def difference(self, result, wanted):
        one, two = result.seen, wanted.seen
        if isinstance(one, tuple) and isinstance(one[-1], dict):
            names = [n for n in set(one[-1]) | set(two[-1]) if one[-1].get(n) != two[-1].get(n)]
            return f"files that differ: {names}; stdout differs: {one[0] != two[0]}"
        return f"{one!r} instead of {two!r}"[:1500]

    def explore(self, calls=CALLS):
        """Every fault of a sample; returns the list of what is wrong."""
        wanted = self.run()
        assert wanted.status in self.statuses, f"{self.name}: status {wanted.status} without faults: {wanted.err}"
        again = self.run()
        if again.seen != wanted.seen:
            raise AssertionError(f"{self.name}: two runs without faults differ: {self.difference(again, wanted)}")
        wrong, nr = [], 0
        for call in calls:
            for nth in sampled(self.name, call, wanted.counts[call]):
                wrong += self.one_fault(wanted, FAULT_CALL=call, FAULT_NTH=str(nth))
                nr += 1
        for how, call in (("short", "write"), ("short", "pwrite"), ("short", "read"), ("interrupt", "read"), ("interrupt", "write"), ("interrupt", "accept")):
            if wanted.counts[call] and (FULL or how == "short" or call == "accept"):
                wrong += self.one_fault(wanted, is_harmless=True, FAULT_CALL=call, FAULT_NTH="3" if how == "interrupt" else "1", FAULT_KIND="every", FAULT_HOW=how)
                nr += 1
        print(f"  {self.name}: {nr} faults, {len(wrong)} wrong", flush=True)
        return wrong

    def one_fault(self, wanted, is_harmless=False, **settings):
        shm = private_places()
        try:
            result = self.run(**settings)
            why = self.judge(result, wanted, settings, shm)
            if not why and is_harmless and result.status != wanted.status:
                why = f"failed: status {result.status}, {result.err[-600:]!r}"
        except AssertionError as error:
            why = str(error)
        left = reap()
        if left and not why:
            why = f"left running {left}"
        return [f"{self.name} {' '.join(self.args)}\n    {settings}: {why}\n    {self.call_stack(settings)}"] if why else []

    def call_stack(self, settings):
        """The functions of the tool that made the call, the inner one first."""
        try:
            result = self.run(FAULT_SHOW="1", **settings)
        except AssertionError:
            return "it hangs"
        reap()
        addresses = re.findall(r"corotracer\(\+(0x[0-9a-f]+)\)", result.err)[:12]
        if not addresses or not shutil.which("addr2line"):
            return "no call stack"
        out = subprocess.run(["addr2line", "-fse", TOOL, *addresses], capture_output=True, text=True, check=False).stdout.split("\n")
        return " < ".join(f"{name} {line}" for name, line in zip(out[::2], out[1::2]))


def says_loss(err, wanted_err):
    """The run says something that the run without faults does not."""
    return err != wanted_err and any(word in err for word in ("cannot", "error", "lost", "not ", "incomplete", "warning", "failed"))


def reap():
    """End and name the orphans of a command."""
    me = os.getpid()
    with open(f"/proc/{me}/task/{me}/children", encoding="ascii") as f:
        pids = [int(pid) for pid in f.read().split() if int(pid) not in KEPT]
    names = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                stat = f.read()
            if stat.rsplit(")", 1)[1].split()[0] != "Z":
                names.append(stat.split(" ", 2)[1])
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (OSError, ChildProcessError):
            pass
    return names
