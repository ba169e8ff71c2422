# SPDX-License-Identifier: MIT
"""truth.py - runs of the program that counts its own events, and their traces read without the tool.

A Truth is what the program wrote about itself.  A Trace is the trace as an independent reader
sees it: JSON lines by the json module, CTF by babeltrace2, compact traces by compact_decoder.py.  Nothing in here calls the readers
of the tool.
"""
import collections
import contextlib
import re
import shutil
import threading

from compact_decoder import decode
from harness import *
from harness import main as run_tests
from registry import CHECKS, SOURCE, Numbers, Text, Wrong, check, count_text, duration_text, share_text, unproven_rows

PROGRAM = os.environ.get("TRUTH_PROGRAM", "build/tests/truth/truth_program")
FULL = bool(os.environ.get("COROTRACER_FULL"))
SANITIZE = bool(os.environ.get("SANITIZE"))
OTHER_KINDS = ("birth", "wake", "end", "destroy", "close", "acquire", "release", "context")
# The exit of a process is noticed late on a busy machine, by this script and by the collector.
LATE_NS = 3_000_000_000


def repeats():
    """Once; with COROTRACER_FULL=1, ten times."""
    return range(10 if FULL else 1)


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


# ---- load ------------------------------------------------------------------------------


@contextlib.contextmanager
def busy_machine(processes=2):
    """Processes that use a processor each, while the block runs.  Without COROTRACER_FULL=1 none where other programs, such as
    tests that run in parallel, keep all processors busy."""
    if not FULL and os.getloadavg()[0] >= 2 * os.cpu_count():
        processes = 0
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for p in started:
            p.kill()
            p.wait()


def with_load(load):
    return busy_machine() if load else contextlib.nullcontext()


# ---- what the program reports ----------------------------------------------------------------


class Truth:
    """The object that truth_program wrote."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            said = json.load(f)
        self.pid, self.threads, self.kinds, self.exit = said["pid"], said["threads"], said["kinds"], said["exit"]
        self.start = said["start"]
        self.coroutines = {co["id"]: co for co in said["coroutines"] if co["id"]}
        self.untraced = [co for co in said["coroutines"] if not co["id"]]
        self.all = said["coroutines"]

    @property
    def transitions(self):
        return sum(co["resumes"] + co["suspends"] for co in self.coroutines.values())

    @property
    def others(self):
        return sum(self.kinds.values())

    @property
    def left(self):
        """Coroutines that existed when the program ended."""
        return {id: co for id, co in self.coroutines.items() if not co["gone"]}


class ExitWatch(threading.Thread):
    """Records when a process has ended: the upper bound of its exit."""

    def __init__(self, path):
        super().__init__(daemon=True)
        os.mkfifo(path)
        self.path, self.gone = path, None
        self.start()

    def run(self):
        with open(self.path, "rb") as f:
            f.read()
        self.gone = now_ns()


class TracedRun:
    """One finished `corotracer run` of the program: truth, summary, trace, the times around it."""

    def __init__(self, dir, options=(), program=(), name="t.jsonl", load=False, json_summary=True, while_running=None,
                 preload=None):
        self.trace = os.path.join(dir, name)
        self.truth_path = os.path.join(dir, name + ".truth")
        fifo = os.path.join(dir, name + ".fifo")
        watch = ExitWatch(fifo)
        summary = ["--json"] if json_summary else []
        with with_load(load):
            self.began = now_ns()
            # The shell opens the pipe and becomes the program: the pipe closes when the program ends.
            words = ["env", f"LD_PRELOAD={preload}"] if preload else []
            p = popen(TOOL, "run", *summary, "-o", self.trace, *options, "--", "sh", "-c", 'exec 9>"$0"; exec "$@"', fifo,
                      *words, PROGRAM, self.truth_path, *program)
            if while_running:
                while_running(p, watch, self)
            self.out, self.err = p.communicate(timeout=300)
            self.ended = now_ns()
        self.status = p.returncode
        watch.join(300)
        self.exit_seen = watch.gone
        self.truth = Truth(self.truth_path)

    @property
    def summary(self):
        lines = [line for line in self.err.splitlines() if line.startswith("{")]
        equal(len(lines), 1, f"JSON objects in {self.err!r}")
        return json.loads(lines[0])


# ---- a trace, read without the tool ----------------------------------------------------------


class Trace:
    """Events and other records of a trace; events have "kind", "ts", "id", "tid" and the fields of their kind."""

    def __init__(self):
        self.events, self.gaps = [], []
        self.facts = collections.defaultdict(list)

    @property
    def transitions(self):
        return [e for e in self.events if e["kind"] in ("resume", "suspend")]

    @property
    def others(self):
        return [e for e in self.events if e["kind"] not in ("resume", "suspend")]

    @property
    def totals(self):
        return self.facts["totals"][0]

    @property
    def run(self):
        return self.facts["run"][0]

    @property
    def sites(self):
        return {site["id"]: site for site in self.facts["site"]}

    def sort(self):
        self.events.sort(key=lambda e: e["ts"])
        return self


def read_json_lines(path):
    """JSON lines and their sidecar."""
    trace = Trace()
    with open(path, encoding="utf-8") as f:
        for line in f:
            e = json.loads(line)
            e["kind"] = "resume" if e["is_active"] else "suspend"
            e["id"], e["addr"] = e["probe_id"], int(e["addr"], 16)
            trace.events.append(e)
    with open(path + ".meta", encoding="utf-8") as f:
        for line in f:
            fact = json.loads(line)
            kind = fact.pop("type")
            if kind in OTHER_KINDS:
                trace.events.append(dict(fact, kind=kind, id=fact["probe_id"]))
            elif kind == "gap":
                trace.gaps.append(fact)
            elif kind != "room":
                if "probe_id" in fact:
                    fact["id"] = fact["probe_id"]
                trace.facts[kind].append(fact)
    return trace.sort()


FIELD = re.compile(r'(\w+) = (?:\( "([^"]*)" : container = \d+ \)|"([^"]*)"|(0x[0-9A-F]+|-?\d+))')
LINE = re.compile(r"^\[(\d+)\] \(\+\S+\) (?:\S+ )?(\w+): (\{.*?\}), (\{.*\})$")


def ctf_fields(text):
    found = {}
    for m in FIELD.finditer(text):
        label, string, number = m.group(2), m.group(3), m.group(4)
        found[m.group(1)] = int(number, 0) if number else label if label is not None else string
    return found


def read_ctf(path):
    """A CTF trace by babeltrace2."""
    if not shutil.which("babeltrace2"):
        raise Skip("no babeltrace2 here")
    p = subprocess.run(["babeltrace2", "--clock-cycles", path], capture_output=True, text=True, check=False, timeout=300)
    equal(p.returncode, 0, f"status of babeltrace2 ({p.stderr})")
    trace = Trace()
    for line in p.stdout.splitlines():
        m = LINE.match(line)
        assert m, line
        add_ctf_record(trace, m.group(2), int(m.group(1)), ctf_fields(m.group(3)), ctf_fields(m.group(4)))
    return trace.sort()


def add_ctf_record(trace, name, ts, packet, payload):
    kind = name.split("_")[0]
    if kind in OTHER_KINDS or kind in ("resume", "suspend"):
        trace.events.append(dict({"tid": packet["tid"]}, **payload, kind=kind, ts=ts, id=payload["probe_id"]))
    elif kind == "gap":
        trace.gaps.append(dict(packet, **payload))
    else:
        if "probe_id" in payload:
            payload["id"] = payload["probe_id"]
        if kind == "site":
            payload["id"] = payload["site"]
        if "dead" in payload:
            payload["dead"] = bool(payload["dead"])
        if payload.get("has_resource") == 0:
            payload.pop("resource")
        if payload.get("station") == 0xFFFFFFFF:
            payload["station"] = None
        if kind == "totals" and not payload["signal"]:
            payload["signal"] = None
        trace.facts[kind].append(payload)


def read_compact(path):
    """A compact trace by the reader that was written from the document of the format."""
    with open(path, "rb") as f:
        facts, items, _ = decode(f.read())
    trace = Trace()
    for item in items:
        if "kind" not in item:
            trace.gaps.append(item)
            continue
        e = dict(item, id=item["probe_id"])
        if not e["flags"] & 1:
            e.pop("resource")
        for key in ("parent", "waker"):
            e[key] = e["peer"]
        trace.events.append(e)
    for fact in facts:
        kind = fact.pop("type")
        if "probe_id" in fact:
            fact["id"] = fact["probe_id"]
        trace.facts[kind].append(fact)
    return trace.sort()


def read_trace(path):
    if path.endswith(".ct"):
        return read_compact(path)
    return read_ctf(path) if os.path.isdir(path) else read_json_lines(path)


def output_of(*args, status=0, stream="stdout"):
    """The JSON object that a command prints."""
    got, out, err = tool(*args)
    if status is not None:
        equal(got, status, f"status of {args}: {out}{err}")
    text = out if stream == "stdout" else "\n".join(line for line in err.splitlines() if line.startswith("{"))
    return json.loads(text)


def compare_completeness(n, trace):
    """A complete trace: as many events as its totals say."""
    if n.has("completeness.read"):
        n.equal_all("completeness", {"expected": len(trace.transitions), "expected_others": len(trace.others),
                                     "read": len(trace.transitions), "read_others": len(trace.others), "unreadable_files": 0})


# ---- the end of a test file ---------------------------------------------------------------------


def main():
    """Run the tests of the file; then every row of docs/numbers.md that names it must be proven."""
    status = 0
    try:
        run_tests()
    except SystemExit as end:
        status = end.code
    faults = unproven_rows(os.path.basename(sys.argv[0])) if status == 0 else []
    for fault in faults:
        print(f"not ok - {fault}", flush=True)
    sys.exit(1 if faults else status)


__all__ = [name for name in dir() if not name.startswith("__")]
