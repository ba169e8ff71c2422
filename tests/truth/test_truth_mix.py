# SPDX-License-Identifier: MIT
"""test_truth_mix.py - one run with all instruments, compared with what the program counts itself.

`run --cpu --frames --mem` of mix.c, which sleeps, computes, is preempted, saves frames and uses memory.  Times are compared with the
program's own clocks around each slice, never with a fixed time: a busy machine makes them longer for both.
"""
import atexit
import csv
import tempfile

from truth import *

MS = 1_000_000
# Events are converted from the cycle counter to CLOCK_MONOTONIC within windows of 16 ms.
CLOCK_NS = 50_000
# The kernel updates the processor time of a thread and the records of context switches at slightly different times;
# on a busy virtual machine 36 microseconds per switch were seen.
SWITCH_NS = 100_000
QUEUED = "preempted", "ready"
FORMS = "t.ct", "t.jsonl"
WORKERS = "sleeper", "burner", "squeezed", "reader"
LIBRARY = os.environ["COROTRACER_LIBRARY"]
BUILT = {}


def built_program():
    """mix.c by `mem cc`; its counting and the generated code for frames without instrumentation."""
    if "path" not in BUILT:
        place = tempfile.mkdtemp(prefix="corotracer-test-")
        atexit.register(shutil.rmtree, place, True)
        here = os.path.join(SOURCE, "tests", "truth")
        equal(tool("generate", here + "/mix.spec", cwd=place)[0], 0, "status of generate")
        plain = subprocess.run([os.environ.get("CC", "cc"), "-g", "-O1", "-D_GNU_SOURCE", "-I" + place, "-c", here + "/mix_count.c",
                                place + "/ppt-Mix.c"], cwd=place, capture_output=True, text=True, check=False, timeout=300)
        equal(plain.returncode, 0, f"status of cc ({plain.stderr})")
        BUILT["path"] = place + "/truth_mix"
        status, out, err = tool("mem", "cc", "--compiler=gcc", "-g", "-O1", "-I" + os.path.join(SOURCE, "include"), here + "/mix.c",
                                place + "/mix_count.o", place + "/ppt-Mix.o", "-o", BUILT["path"], LIBRARY, "-pthread")
        equal(status, 0, f"status of mem cc ({out}{err})")
    return BUILT["path"]


def rows_of_query(trace, sql):
    return output_of("query", "--json", trace, sql)["rows"]


class MixRun:
    """A run: the program's counts, the summary, and the tables of the trace."""

    def __init__(self, dir, name, words=("6",)):
        self.trace, self.memory = f"{dir}/{name}", f"{dir}/{name}.memory"
        status, out, err = tool("run", "--cpu", "--frames", "--mem", "--json", "-o", self.trace, "--", built_program(), *words)
        equal(status, 0, f"status of run ({err})")
        self.truth = json.loads(out)
        self.summary = json.loads(next(line for line in err.splitlines() if line.startswith("{")))
        self.slices = sorted(self.truth["slices"], key=lambda s: s["from"])
        self.rows = rows_of_query(self.trace, "SELECT s.*, c.name, t.line FROM slices s JOIN coroutines c USING (probe_id) "
                                  "LEFT JOIN sites t ON t.site = s.site ORDER BY s.from_ts")
        self.switches = rows_of_query(self.trace, "SELECT * FROM switches WHERE tid > 0 ORDER BY from_ts")
        self.join_waits()
        self.frames = rows_of_query(self.trace, "SELECT * FROM frames ORDER BY ticket")

    def join_waits(self):
        """Where wake-ups are recorded, a wait has a part before the wake-up, a part after it, or both."""
        ends = {(w["tid"], w["to_ts"]) for w in self.switches if w["state"] == "blocked"}
        self.waits = [w for w in self.switches if w["state"] != "ready" or (w["tid"], w["from_ts"]) not in ends]

    def of_kind(self, kind):
        return [(s, row) for s, row in zip(self.slices, self.rows) if s["kind"] == kind]

    def count_waits(self, tid, states, begin, end):
        return sum(w["tid"] == tid and w["state"] in states and w["from_ts"] < end and w["to_ts"] > begin for w in self.waits)

    def away_ns(self, tid, states, begin, end):
        return sum(min(w["to_ts"], end) - max(w["from_ts"], begin) for w in self.switches
                   if w["tid"] == tid and w["state"] in states and w["from_ts"] < end and w["to_ts"] > begin)


def all_forms(dir, names=FORMS):
    for name in names:
        yield MixRun(dir, name)


# ---- coroutines ------------------------------------------------------------------------------------------------------


def compare_slices(run):
    """The same slices: coroutine, thread, site, and both ends between the program's readings around them."""
    equal(len(run.rows), len(run.slices), "slices")
    for s, row in zip(run.slices, run.rows):
        name = f"saver-{s['number']}" if s["kind"] == "saver" else s["kind"]
        equal((row["probe_id"], row["name"], row["tid"], row["line"] or 0), (s["id"], name, s["tid"], s["line"]), f"slice {s}")
        equal(row["ended_by"], "suspend" if s["line"] else "end", "end of a slice")
        assert s["from"][0] - CLOCK_NS <= row["from_ts"] <= s["from"][1] + CLOCK_NS, (s, row)
        assert s["to"][0] - CLOCK_NS <= row["to_ts"] <= s["to"][1] + CLOCK_NS, (s, row)
    wakes = rows_of_query(run.trace, "SELECT count(*) AS nr FROM events WHERE kind = 'wake'")[0]["nr"]
    equal(wakes, run.truth["wakes"], "wakes")
    equal(run.summary["lost"], 0, "lost")
    equal(run.summary["coroutines"], len({s["id"] for s in run.slices}), "coroutines")


# ---- processor time ----------------------------------------------------------------------------------------------------


def is_steady(s):
    """Whether the kernel's own times of the slice add up.  On a virtual machine its host takes processors away: the clock of the thread
    may leave that time out, and a switch may last that long."""
    wall, known = s["to"][0] - s["from"][1], s["cpu"] + s["ready"] + (s["slept"] if s["waited"] else 0)
    slack = CLOCK_NS + SWITCH_NS * (s["forced"] + s["waited"] + 1)
    return known <= wall + slack and (s["waited"] > bool(s["slept"]) or wall <= known + slack)


def compare_counters(run, s, row):
    """Switches in the slice: the thread's own counters are read inside of the slice, and just inside of the readings of the clock."""
    for states, counted in ((("preempted",), s["forced"]), (("blocked", "ready"), s["waited"])):
        inner = run.count_waits(s["tid"], states, s["from"][1], s["to"][0])
        outer = run.count_waits(s["tid"], states, s["from"][0] - CLOCK_NS, s["to"][1] + CLOCK_NS)
        assert inner <= counted <= outer, (states, inner, counted, outer, s)
    parts = [run.away_ns(s["tid"], states, row["from_ts"], row["to_ts"]) for states in (QUEUED, ("blocked",))]
    equal([row[key] for key in ("queued_ns", "blocked_ns", "cpu_ns")], [*parts, row["duration_ns"] - sum(parts)], "parts of a slice")


def is_like_the_counters(run, s, row):
    """The kernel's own sums of the thread: time on a processor, and time without one in slices that do not sleep."""
    # Each switch adds the time of the switch itself.
    slack = CLOCK_NS + SWITCH_NS * (s["forced"] + s["waited"] + 1)
    is_like = row["cpu_ns"] >= s["cpu"] - slack and row["queued_ns"] + row["blocked_ns"] <= s["to"][1] - s["from"][0] - s["cpu"] + slack
    if s["waited"] or not any(x["ready"] for x in run.slices):
        return is_like
    before = run.away_ns(s["tid"], QUEUED, s["ready_in"][0], row["from_ts"])
    behind = run.away_ns(s["tid"], QUEUED, row["to_ts"], s["ready_in"][1])
    return is_like and s["ready"] - before - behind - slack <= row["queued_ns"] <= s["ready"] + slack


def compare_sums(run):
    """In the middle of a switch the host of a virtual machine may take the processor away: that slice differs, others do not."""
    unlike = [(s, row) for s, row in zip(run.slices, run.rows) if is_steady(s) and not is_like_the_counters(run, s, row)]
    assert len(unlike) <= len(run.slices) // 20, unlike
    assert sum(map(is_steady, run.slices)) > len(run.slices) / 2, "the machine's own times do not add up, so nothing was tested"


def compare_processor_times(run):
    compare_sums(run)
    for s, row in zip(run.slices, run.rows):
        compare_counters(run, s, row)
    for s, row in run.of_kind("sleeper"):
        # Without wake-ups, a thread counts as blocked until it has a processor; it may be preempted on the way into the sleep.
        away = row["blocked_ns"] + row["queued_ns"]
        assert s["asked"] - CLOCK_NS <= away or not s["asked"], (s, row)
        if s["waited"] == 1:
            assert row["blocked_ns"] <= s["slept"] + CLOCK_NS, (s, row)
    for kind, burnt in (("burner", 14 * MS), ("squeezed", 6 * MS)):
        for s, row in run.of_kind(kind):
            assert not s["line"] or burnt <= s["cpu"], s
            assert s["waited"] or row["blocked_ns"] <= CLOCK_NS, (s, row)
    queued = sum(row["queued_ns"] for _, row in run.of_kind("squeezed"))
    assert sum(s["forced"] for s, _ in run.of_kind("squeezed")) and queued, "the neighbour never ran, so nothing was tested"
    recorded = [w for w in run.switches if w["state"] in ("blocked", "preempted", "ready")]
    equal(run.summary["switches"]["recorded"], len(recorded), "switches")


# ---- frames --------------------------------------------------------------------------------------------------------------


def compare_frames(run):
    """Every frame: type, values, thread, coroutine, and the time of the save between the program's readings."""
    want = run.truth["frames"]
    by_number = {json.loads(f["fields"])["number"]: f for f in run.frames}
    equal(len(run.frames), len(want), "frames")
    for number, kind, tid, coro, before, after in want:
        f = by_number[number]
        fields = {"number": number, "value": number * number + 7, "half": number / 2, "tid": tid} if kind == "step" else \
            {"number": number, "text": f"note {number % 10000}"}
        equal(json.loads(f["fields"]), fields, "fields")
        equal((f["buffer"], f["frame"], f["tid"], f["probe_id"] or 0), ("Mix", kind, tid, coro), f"frame {number}")
        assert before - 1000 <= f["ts"] <= after + 1000, (f, before, after)
    typed = rows_of_query(run.trace, "SELECT number, value, half, probe_id FROM frame_step")
    equal({(f["number"], f["value"], f["half"], f["probe_id"] or 0) for f in typed},
          {(f[0], f[0] * f[0] + 7, f[0] / 2, f[3]) for f in want if f[1] == "step"}, "table of steps")
    in_slices = sum(s["frames"] for s in run.slices)
    equal([run.summary["frames"][key] for key in ("issued", "recorded", "in_coroutine", "lost", "buffers")],
          [len(want), len(want), in_slices, 0, 1], "frames of the summary")


# ---- memory ----------------------------------------------------------------------------------------------------------------


def sums_of_truth(run, key):
    sums = collections.defaultdict(collections.Counter)
    for s in run.slices:
        sums[key(s)].update(slices=1, reads=s["reads"], writes=s["writes"], allocations=s["allocations"], allocated_bytes=s["allocated"])
    return {k: {name: c[name] for name in ("slices", "reads", "writes", "allocations", "allocated_bytes")} for k, c in sums.items()}


def compare_memory(run):
    """Accesses, slices and allocations by kind, and by the await before, are those that the program counted."""
    rows = [row for row in output_of("mem", "sim", "--json", "--blame", "-n", "100", run.memory)["coroutines"] if row["kind"]]
    for have, key in (({row["kind"]: row for row in rows}, lambda s: s["kind"]),
                      ({(row["kind"], a["line"]): a for row in rows for a in row["awaits"]}, lambda s: (s["kind"], s["after"]))):
        want = sums_of_truth(run, key)
        equal({k: {name: row[name] for name in next(iter(want.values()))} for k, row in have.items()}, want, "accesses of coroutines")


# ---- report -------------------------------------------------------------------------------------------------------------------


def compare_report(run):
    """What kept its thread is named, with the reason; what was preempted is not."""
    findings = [f for f in output_of("report", "--json", run.trace, status=None)["findings"] if f["detector"] == "blocking"]
    kinds = collections.Counter()
    for f in findings:
        kind = f["kind"].split(",")[0]
        kinds[kind] += f["count"]
        if kind == "sleeper":
            assert "in clock_nanosleep" in f["seen"] or "system call not known" in f["seen"], f
        else:
            contains(f["seen"], "on a processor")
    for kind in WORKERS:
        own = [(row["cpu_ns"] + row["blocked_ns"] >= 10 * MS, s["ready"]) for s, row in run.of_kind(kind)]
        # Without wake-ups the report takes from a sleep what samples show as time without a processor: an estimate on a busy machine.
        assert sum(is_long and ready < MS for is_long, ready in own) <= kinds[kind] <= sum(is_long for is_long, _ in own), (kind, kinds, own)
    kept = sum(s["cpu"] >= 10 * MS or not is_steady(s) for s, _ in run.of_kind("squeezed"))
    assert kinds["burner"] and kinds["squeezed"] <= kept and set(kinds) <= set(WORKERS), kinds


def compare_memory_sites(run):
    """Only the reader can wait on memory: it alone reads lines that no cache has, and each such read is a miss of every cache."""
    memory = output_of("report", "--json", "--mem", run.trace, status=None)["memory"]
    slices = collections.defaultdict(list)
    for s in run.slices:
        slices[s["kind"], s["after"]].append(s)
    equal({(row["kind"], row["line"]): row["slices"] for row in memory["sites"]}, {k: len(v) for k, v in slices.items()}, "sites")
    for row in memory["sites"]:
        mine = slices[row["kind"], row["line"]]
        inner, outer = (sum(s["to"][k] - s["from"][1 - k] for s in mine) / len(mine) for k in (0, 1))
        assert inner - CLOCK_NS <= row["slice_ns"] <= outer + CLOCK_NS, (row, inner, outer)
        streams = row["kind"] == "reader" and any(s["line"] < row["line"] or not row["line"] for s in mine if s["reads"])
        if streams:
            equal(round(row["misses_per_slice"] * len(mine)), sum(s["reads"] for s in mine), "misses of the reader")
        equal(row["waits_on_memory"], streams and row["share"] >= 0.1, f"waits on memory: {row}")
    out = tool("report", "--text", "--mem", run.trace)[1]
    for row in memory["sites"]:
        place = f"mix.c:{row['line']} run_{row['kind']}" if row["line"] else "its start"
        found = any(line.startswith(f"- {row['kind']} after ") and f"{place}: {row['misses_per_slice']:.1f} " in line for line in out.splitlines())
        equal(found, row["waits_on_memory"], f"is listed: {row}")


# ---- files and the page ----------------------------------------------------------------------------------------------------------


def compare_tables(run, dir):
    """`export csv --full` has the same rows."""
    out = dir + "/tables.csv"
    equal(tool("export", "csv", "--full", run.trace, "-o", out)[0], 0, "status of export")
    for table, rows in (("switches", len(run.switches)), ("frames", len(run.frames))):
        with open(f"{dir}/tables.{table}.csv", encoding="utf-8", newline="") as f:
            lines = [line for line in csv.DictReader(f) if line["tid"] != "0"]
        equal(len(lines), rows, f"rows of {table}")


def compare_page(run, dir):
    """The page has each slice with its parts, and each frame under its coroutine."""
    sys.path.insert(0, os.path.join(SOURCE, "tests", "view"))
    import bundle
    page = dir + "/page.html"
    equal(tool("html", "-q", run.trace, "-o", page)[0], 0, "status of html")
    page = bundle.Bundle(page)
    origin, threads = int(page.meta["origin"]), [t["tid"] for t in page.meta["threads"]]
    have = sorted((s["start"] + origin, s["dur"], threads[s["thread"]], s["queued"], s["blocked"]) for s in page.slices())
    equal(have, [(row["from_ts"], row["duration_ns"], row["tid"], row["queued_ns"], row["blocked_ns"]) for row in run.rows],
          "slices of the page")
    frames = collections.Counter(f["id"] for f in page.sections["frames"]["frames"])
    equal(frames, collections.Counter(str(f[3] or "") for f in run.truth["frames"]), "frames of the page by coroutine")


@test
def each_instrument_agrees_with_the_program(dir):
    for run in all_forms(dir):
        compare_slices(run)
        compare_processor_times(run)
        compare_frames(run)
        compare_memory(run)
        compare_report(run)
        compare_memory_sites(run)
        compare_tables(run, dir)
        compare_page(run, dir)


# ---- Perfetto ------------------------------------------------------------------------------------------------------------------------


def life_of(alias):
    """The coroutine whose life is the lowest slice of the track; none on a thread's track."""
    return (f"(select extract_arg(l.arg_set_id, 'debug.coroutine') from slice l where l.track_id = {alias}.track_id and l.depth = 0 "
            f"and l.category = 'life' and l.dur > 0)")


PERFETTO = [
    "select name, value from stats where value != 0 and severity in ('error', 'data_loss')",
    "select tid, s.ts, s.dur, extract_arg(s.arg_set_id, 'debug.coroutine') from slice s join thread_track t on s.track_id = t.id "
    "join thread using (utid) where s.category = 'running' order by s.ts",
    f"select {life_of('s')}, s.name from slice s where s.category = 'suspended'",
    "select t.name, s.name, s.ts, s.dur from slice s join track t on s.track_id = t.id where s.category = 'processor' order by s.ts",
    "select s.name, s.ts, extract_arg(s.arg_set_id, 'debug.thread'), extract_arg(s.arg_set_id, 'debug.fields.number'), "
    f"extract_arg(s.arg_set_id, 'debug.fields.value'), extract_arg(s.arg_set_id, 'debug.fields.text'), {life_of('s')} "
    "from slice s where s.category = 'frame'",
    "select distinct a.ts from flow join slice a on slice_out = a.id where a.name = 'wake'",
    "select distinct b.id, b.ts from flow join slice b on slice_in = b.id join thread_track t on b.track_id = t.id where b.category = 'running'",
]


def compare_perfetto(run, answers):
    """One file has them all: slices on threads, states and frames under coroutines, switches, and wakes that lead to slices."""
    errors, turns, suspended, away, frames, wakes, woken = answers
    equal(errors, [], "what the trace processor complains of")
    equal(turns, [(row["tid"], row["from_ts"], row["duration_ns"], row["probe_id"]) for row in run.rows], "slices of threads")
    counts = collections.Counter(s["id"] for s in run.slices if s["line"])
    equal(collections.Counter(int(id) for id, _ in suspended), counts, "suspensions of coroutines")
    names = {"blocked": "blocked", "preempted": "waits for a processor", "ready": "waits for a processor"}
    equal(sorted(away), sorted((f"thread {w['tid']} without a processor", names[w["state"]], w["from_ts"], w["to_ts"] - w["from_ts"])
                               for w in run.switches), "times without a processor")
    times = {json.loads(f["fields"])["number"]: f["ts"] for f in run.frames}
    want = {(kind, times[number], tid, number, number * number + 7 if kind == "step" else None,
             f"note {number % 10000}" if kind == "note" else None, coro or None) for number, kind, tid, coro, _, _ in run.truth["frames"]}
    equal(set(frames), want, "frames")
    equal(len(frames), len(want), "number of frames")
    # Every slice of this program is the result of a wake.
    equal((len(wakes), len(woken)), (run.truth["wakes"], len(run.slices)), "wakes, and slices that they lead to")


@test
def perfetto_reads_all_tracks_of_one_file(dir):
    sys.path.insert(0, os.path.join(SOURCE, "tests", "export", "viewers"))
    import packages
    for run in all_forms(dir, FORMS if FULL else FORMS[:1]):
        out = run.trace + ".pftrace"
        equal(tool("export", "perfetto", run.trace, "-o", out)[0], 0, "status of export")
        compare_perfetto(run, packages.processor(packages.convert_flows(out, out + ".old"), PERFETTO))


@test
def time_after_a_wake_up_is_time_without_a_processor(dir):
    """Wake-ups may not be recorded here: the same from a trace that is written by hand."""
    trace, line = dir + "/t.jsonl", {"pid": 7, "tid": 7, "cpu": 0}
    events = [{"probe_id": 1, "tid": 7, "addr": "0x0000000000401000", "seq": n, "is_active": n == 1, "ts": ts} for n, ts in ((1, 1000), (2, 9000))]
    facts = [{"type": "run", "format": 1, "tool": "test", "command": ["x"], "pid": 7, "start_ts": 1, "start_realtime": 1, "arch": "x86_64", "stations": 1}]
    for begin, end, state in ((1, 2, "recorded"), (1, 2, "wakes"), (2000, 5000, "blocked"), (5000, 5700, "ready"), (6000, 6040, "preempted")):
        facts.append({"type": "switch", **line, "tid": 0 if end == 2 else 7, "from_ts": begin, "to_ts": end, "state": state})
    for path, lines in ((trace, events), (trace + ".meta", facts)):
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(x, separators=(",", ":")) + "\n" for x in lines)
    row, = output_of("query", "--json", trace, "SELECT cpu_ns, queued_ns, blocked_ns FROM slices", status=None)["rows"]
    equal(row, {"cpu_ns": 8000 - 3740, "queued_ns": 740, "blocked_ns": 3000}, "parts of the slice")


@test
def nothing_is_said_of_a_program_without_faults(dir):
    for name in FORMS if FULL else FORMS[1:]:
        run = MixRun(dir, name, words=("16", "clean"))
        compare_slices(run)
        compare_frames(run)
        compare_memory(run)
        output = output_of("report", "--json", "--mem", run.trace)
        equal([f for f in output["findings"] if f["confidence"] in ("strong", "proven")], [], "findings")
        equal([row for row in output["memory"]["sites"] if row["waits_on_memory"]], [], "sites that wait on memory")
        contains(tool("report", "--text", "--mem", run.trace)[1], "None: misses of the last level take less than 10 %")


main()
