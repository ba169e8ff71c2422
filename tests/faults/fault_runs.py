# SPDX-License-Identifier: MIT
"""fault_runs.py - run a command while its calls fail, one after the other, and judge each run.

Which calls fail does not depend on their number, which differs from machine to machine: a run
without faults notes the call stacks of all calls (fault_stacks.h), and
  - usually, each call site with its caller (DEPTH functions) fails once over all commands of a test,
    or a sample of them where a run takes long;
  - with COROTRACER_FULL=1, each call stack of each command fails at its first and at its last call,
    and once together with all calls of this kind after it;
  - with FAULT_EVERY=1, each call fails, by its number.

FAULT_CALLS: the library of fault_calls.c
FAULT_ONLY: pattern of the commands to look at, as in "mem *"
"""
import atexit
import collections
import ctypes
import fnmatch
import functools
import re
import shutil
import struct
import tempfile

from harness import *

LIBRARY = os.environ.get("FAULT_CALLS", "build/tests/faults/fault_calls.so")
FULL = os.environ.get("COROTRACER_FULL") == "1"
EVERY = os.environ.get("FAULT_EVERY") == "1"
CALLS = ("write", "pwrite", "read", "mmap", "fsync", "rename", "open", "accept", "malloc", "fork", "thread", "flush", "room")
NET_CALLS = ("socket", "connect", "send", "recv")
ALL_CALLS = CALLS + NET_CALLS  # in the order of enum fault_call
LIMIT = 120
DEPTH = 2
SITES_DONE = set()
# struct fault_state: counters of the calls, two more counters, two names, call stacks.
NR_STACKS, STACK = 4096, struct.Struct("2Q2I24Q")
HEAD = struct.Struct(f"{len(ALL_CALLS) + 2}Q32s32s")
HEAD_SIZE = HEAD.size
STATE_SIZE = HEAD_SIZE + NR_STACKS * STACK.size


def private_folders():
    """A /dev/shm and a temporary folder of this test alone: collectors of other tests come and go, and a
    folder in memory takes no time to fsync.  False if that is not permitted."""
    CLONE_NEWNS, MS_PRIVATE_REC = 0x00020000, 0x44000
    libc = ctypes.CDLL(None)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_PRIVATE_REC, None) != 0 or \
       libc.mount(b"none", b"/dev/shm", b"tmpfs", 0, b"size=1g") != 0:
        return False
    folder = tempfile.mkdtemp(prefix="corotracer-faults-")
    atexit.register(os.rmdir, folder)
    if libc.mount(b"none", folder.encode(), b"tmpfs", 0, b"size=1g") == 0:
        atexit.register(libc.umount2, folder.encode(), 2)
        tempfile.tempdir = folder
    return True


IS_SHM_PRIVATE = private_folders()

Stack = collections.namedtuple("Stack", "id count call frames")


def is_wanted(name):
    return fnmatch.fnmatch(name, os.environ.get("FAULT_ONLY", "*"))


def read_stacks(state):
    """The call stacks that a run noted, in an order that depends on the program only."""
    found = []
    for i in range(NR_STACKS):
        number, count, call, nr, *frames = STACK.unpack_from(state, HEAD_SIZE + i * STACK.size)
        if number:
            found.append(Stack(number, count, ALL_CALLS[call], tuple(frames[:nr])))
    assert len(found) < NR_STACKS, "more call stacks than the table holds"
    return sorted(found, key=lambda stack: (stack.call, stack.frames))


def faults_of_stack(stack):
    """The settings of fault_calls.c for the faults of one call stack."""
    first = {"FAULT_CALL": stack.call, "FAULT_STACK": str(stack.id), "FAULT_NTH": "1"}
    if not FULL:
        return [first]
    last = [dict(first, FAULT_NTH=str(stack.count))] if stack.count > 1 else []
    return [first, *last, dict(first, FAULT_KIND="from")]


def chosen_faults(result, calls, sample):
    """The faults to try after a run that noted its call stacks; @sample: the number to take, spread over all, unless FULL."""
    if EVERY:
        return [{"FAULT_CALL": call, "FAULT_NTH": str(nth)} for call in calls for nth in range(1, result.counts[call] + 1)]
    chosen = []
    for stack in result.stacks:
        site = stack.call, stack.frames[:DEPTH]
        if stack.call in calls and (FULL or site not in SITES_DONE):
            SITES_DONE.add(site)
            chosen += faults_of_stack(stack)
    if FULL or not sample or len(chosen) <= sample:
        return chosen
    return [chosen[i * len(chosen) // sample] for i in range(sample)]


class Result:
    def __init__(self, status, out, err, files, state):
        *counts, self.injected, _, failed_in, crashed_in = HEAD.unpack_from(state)
        self.status, self.out, self.err, self.files, self.counts = status, out, err, files, dict(zip(ALL_CALLS, counts))
        self.failed_in, self.crashed_in = (name.split(b"\0")[0].decode() for name in (failed_in, crashed_in))
        self.stacks, self.seen = (), None


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
    limit = LIMIT  # seconds
    spared = ()  # pairs of explore_harmless() that a library cannot do

    def __init__(self, dir, name, *args, same=None, statuses=(0,), exe="corotracer", env=None, given=None, calls=CALLS, sample=0):
        self.dir, self.name, self.args = dir, name, [str(a) for a in args]
        self.same = same or (lambda result: (result.out, result.files))
        self.statuses, self.exe, self.env, self.given = statuses, exe, env or {}, given
        self.calls, self.sample = calls, sample
        self.nr_met, self.frames = 0, {}

    def fresh(self):
        for name in ("out", "tmp"):
            shutil.rmtree(os.path.join(self.dir, name), ignore_errors=True)
            os.mkdir(os.path.join(self.dir, name))
        with open(os.path.join(self.dir, "state"), "wb") as f:
            f.truncate(STATE_SIZE)

    def environment(self, settings):
        env = dict(os.environ, TMPDIR=os.path.join(self.dir, "tmp"), LD_PRELOAD=LIBRARY, FAULT_STATE=os.path.join(self.dir, "state"), **settings)
        if self.exe:
            env["FAULT_EXE"] = self.exe
        env.update(self.env)
        return env

    def start(self, settings):
        return subprocess.Popen([TOOL, *self.args], cwd=os.path.join(self.dir, "out"), env=self.environment(settings), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, stdin=subprocess.PIPE if self.given is not None else subprocess.DEVNULL)

    def outputs(self, p):
        """Let a started command run to its end."""
        return p.communicate(self.given, timeout=self.limit)

    def run(self, **settings):
        self.fresh()
        p = self.start(settings)
        try:
            out, err = self.outputs(p)
        except subprocess.TimeoutExpired:
            out, err = self.stop(p)
            hung = f"{self.name}: hangs with {settings}; stderr: {err[-2000:].decode(errors='replace')}"
        else:
            hung = None
        with open(os.path.join(self.dir, "state"), "rb") as f:
            state = f.read(STATE_SIZE if "FAULT_NOTE" in settings else HEAD_SIZE)
        result = Result(p.returncode, out, err.decode(errors="replace"), contents(os.path.join(self.dir, "out")), state)
        if hung:
            return self.hangs(result, hung)
        result.seen = self.same(result)
        if "FAULT_NOTE" in settings:
            result.stacks = read_stacks(state)
        return result

    def stop(self, p):
        """End a command that takes too long."""
        p.kill()
        return p.communicate()

    def hangs(self, result, why):
        raise AssertionError(why)

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

    def pass_over(self):
        """Another test covers this command: its call sites do not count as new."""
        for stack in () if FULL else self.run(FAULT_NOTE="1").stacks:
            SITES_DONE.add((stack.call, stack.frames[:DEPTH]))

    def choose(self, result, calls):
        return chosen_faults(result, calls, self.sample)

    def explore(self, calls=None):
        """Every fault of a sample; returns the list of what is wrong."""
        wanted = self.run()
        assert wanted.status in self.statuses, f"{self.name}: status {wanted.status} without faults: {wanted.err}"
        again = self.run(FAULT_NOTE="1")
        if again.seen != wanted.seen:
            raise AssertionError(f"{self.name}: two runs without faults differ: {self.difference(again, wanted)}")
        wrong, self.nr_met = [], 0
        faults = self.choose(again, calls or self.calls)
        self.frames = {str(stack.id): stack.frames for stack in again.stacks}
        for settings in faults:
            wrong += self.one_fault(wanted, **settings)
        nr_met = self.nr_met
        assert nr_met or len(faults) < 10, f"{self.name}: none of {len(faults)} faults was met"
        wrong += self.explore_harmless(wanted)
        print(f"  {self.name}: {len(faults)} faults, {len(faults) - nr_met} not met, {len(wrong)} wrong", flush=True)
        return wrong

    def explore_harmless(self, wanted):
        """Short and interrupted calls change nothing."""
        wrong = []
        for how, call in (("short", "write"), ("short", "pwrite"), ("short", "read"), ("interrupt", "read"), ("interrupt", "write"), ("interrupt", "accept"),
                          ("short", "recv"), ("short", "send")):
            if (how, call) not in self.spared and call in CALLS + self.calls and wanted.counts[call] and (FULL or how == "short" or call == "accept"):
                wrong += self.one_fault(wanted, is_harmless=True, FAULT_CALL=call, FAULT_NTH="3" if how == "interrupt" else "1", FAULT_KIND="every", FAULT_HOW=how)
        return wrong

    def one_fault(self, wanted, is_harmless=False, **settings):
        shm = private_places()
        try:
            result = self.run(**settings)
            self.nr_met += result.injected > 0
            why = self.judge(result, wanted, settings, shm)
            if not why and is_harmless and result.status != wanted.status:
                why = f"failed: status {result.status}, {result.err[-600:]!r}"
        except AssertionError as error:
            self.nr_met += 1
            why = str(error)
        left = reap()
        if left and not why:
            why = f"left running {left}"
        return [f"{self.name} {' '.join(self.args)}\n    {settings}: {why}\n    {self.call_stack(settings)}"] if why else []

    def call_stack(self, settings):
        """The functions of the tool that made the call, the inner one first."""
        frames = self.frames.get(settings.get("FAULT_STACK"))
        if not frames:
            try:
                result = self.run(FAULT_SHOW="1", **settings)
            except AssertionError:
                return "it hangs"
            reap()
            frames = [int(offset, 16) for offset in re.findall(r"corotracer\(\+(0x[0-9a-f]+)\)", result.err)]
        return " < ".join(place_of(offset) for offset in frames[:12]) or "no call stack"


def functions_of(offsets):
    """The functions of the tool at these return addresses, by address; {} if they cannot be found."""
    if not shutil.which("addr2line"):
        return {}
    given = "".join(f"{offset - 1:#x}\n" for offset in offsets)
    out = subprocess.run(["addr2line", "-fse", TOOL], input=given, capture_output=True, text=True, check=False).stdout.split("\n")
    return dict(zip(offsets, out[::2]))


@functools.cache
def place_of(offset):
    """Function and line of a return address in the tool."""
    if not shutil.which("addr2line"):
        return hex(offset)
    out = subprocess.run(["addr2line", "-fse", TOOL, hex(offset - 1)], capture_output=True, text=True, check=False).stdout.split("\n")
    return f"{out[0]} {out[1]}"


def explore_all(dir, *commands):
    wrong = []
    for name, *args in commands:
        if not is_wanted(name):
            continue
        options = args.pop() if isinstance(args[-1], dict) else {}
        wrong += Command(dir, name, *args, **options).explore()
    if wrong:
        raise AssertionError(f"{len(wrong)} faults:\n" + "\n".join(wrong[:200]))


def says_loss(err, wanted_err):
    """The run says something that the run without faults does not."""
    return err != wanted_err and any(word in err for word in ("cannot", "error", "lost", "not ", "incomplete", "warning", "failed", "no memory"))


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
