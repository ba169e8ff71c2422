# SPDX-License-Identifier: MIT
"""test_truth_coroutines.py - memory accesses by coroutine: a program that counts what its coroutines access, on
threads that take over each other's coroutines, nested, ended and killed; and the simulator in Python."""
import atexit
import tempfile

from truth import *

sys.path.insert(0, os.path.join(SOURCE, "tests", "memory", "sim"))
from reference import Machine  # noqa: E402

LEVELS = [{"name": "L1", "size": 1024, "line": 64, "ways": 2, "policy": "lru", "write": "back", "allocate": True,
           "inclusion": "non-inclusive", "prefetch": "none", "share": 1},
          {"name": "L2", "size": 8192, "line": 64, "ways": 4, "policy": "lru", "write": "back", "allocate": True,
           "inclusion": "non-inclusive", "prefetch": "none", "share": "all"}]
CACHES = ["-l", "L1=1K,2", "-l", "L2=8K,4"]
LIBRARY = os.environ["COROTRACER_LIBRARY"]
ROUNDS = 20 if FULL else 8  # of most runs: the simulator in Python takes the longest
BUILT = {}


def program():
    """memory_coroutines.c, built once by `mem cc`."""
    if "path" not in BUILT:
        place = tempfile.mkdtemp(prefix="corotracer-test-")
        atexit.register(shutil.rmtree, place, True)
        BUILT["path"] = os.path.join(place, "truth_memory_coroutines")
        status, out, err = tool("mem", "cc", "--compiler=gcc", "-g", "-O1", "-I" + os.path.join(SOURCE, "include"),
                                os.path.join(SOURCE, "tests/truth/memory_coroutines.c"), "-o", BUILT["path"], LIBRARY, "-pthread")
        equal(status, 0, f"status of mem cc ({out}{err})")
    return BUILT["path"]


def cpp_program(dir):
    path = dir + "/cpp"
    status, out, err = tool("mem", "c++", "--compiler=g++", "-std=c++20", "-g", "-O1" if FULL else "-O0", "-I" + os.path.join(SOURCE, "include"),
                            os.path.join(SOURCE, "tests/truth/memory_coroutines.cpp"), "-o", path, "-pthread")
    equal(status, 0, f"status of mem c++ ({out}{err})")
    return path


def records_of(trace):
    status, out, err = tool("mem", "dump", "--json", trace)
    equal(status, 0, f"status of mem dump ({err})")
    return [json.loads(line) for line in out.splitlines()]


class CoroutineRun:
    """A run of the program: its own counts, and the trace in one order, in which everything below is compared."""

    def __init__(self, dir, rounds=ROUNDS, threads=2, end=(), status=0, how=("mem", "run")):
        self.trace, self.ordered = dir + "/c.trace", dir + "/ordered.trace"
        got, out, err = tool(*how, "-o", self.trace, "--", program(), rounds, threads, *end)
        equal(got, status, f"status of the run ({err})")
        self.read(json.loads(out))

    def read(self, truth):
        self.truth = truth
        status, out, err = tool("mem", "convert", "-q", "--format", "container", "-o", self.ordered, self.trace)
        equal(status, 0, f"status of mem convert ({err})")
        self.records = records_of(self.ordered)
        self.slices = collections.Counter()
        self.accesses = []  # (record, (kind, line of the await before) or None)
        self.allocated = collections.Counter()
        self.slice_ns = collections.Counter()
        self.follow()

    def follow(self):
        runs, since = {}, {}
        for r in self.records:
            now = runs.get(r["thread"])
            if r["kind"] == "coro":
                self.slice_ns[now] += r["time_ns"] - since.get(r["thread"], r["time_ns"])
                since[r["thread"]] = r["time_ns"]
                now = (r["name"], r.get("line", 0)) if r["coroutine"] else None
                runs[r["thread"]] = now
                if r["cause"] == "resumed":
                    self.slices[now] += 1
            elif r["kind"] in ("read", "write"):
                self.accesses.append((r, now))
            elif r["kind"] == "add":
                self.allocated[now] += r["elem_size"] * r["elem_count"]

    def array_of(self, r):
        address = int(r["address"], 16)
        for name in "cells", "table", "queue":
            start, size = self.truth[name]
            if start <= address < start + size:
                return name
        return "items" if r.get("type") == "struct item" else None


def compare_with_program(run):
    """Each array is used by the coroutines that the program says, after the awaits that it says."""
    want = {(kind, after, array): [reads, writes] for kind, after, array, reads, writes, _ in run.truth["counts"]}
    have = collections.defaultdict(lambda: [0, 0])
    for r, now in run.accesses:
        array = run.array_of(r)
        if array:
            have[(*(now or ("", 0)), array)][r["kind"] == "write"] += 1
    equal(dict(have), want, "uses of arrays by coroutines")
    slices = {(kind, after): nr for kind, after, _, _, _, nr in run.truth["counts"] if kind}
    equal(dict(run.slices), slices, "slices of coroutines")
    equal(run.allocated[("short", 0)], run.truth["allocated"], "bytes that coroutines allocated")


# ---- mem check, mem sim ------------------------------------------------------------------------------------------


class SimulatedCoroutines:
    """Sums of the simulator in Python, by (kind, line of the await before)."""

    CLASSES = "cold", "capacity", "conflict", "coherence"

    def __init__(self, run):
        m = Machine({"levels": LEVELS, "tlb": [], "page": 4096})
        self.sums = collections.defaultdict(collections.Counter)
        self.threads = {r["thread"] for r, _ in run.accesses}
        self.since = collections.defaultdict(lambda: collections.defaultdict(set))
        for r, now in run.accesses:
            levels, peers = [dict(level) for level in m.counts], m.total["interventions"]
            m.access(r["thread"], int(r["address"], 16), r["size"], r["kind"] == "write")
            s = self.sums[now]
            s["reads"] += r["kind"] == "read"
            s["writes"] += r["kind"] == "write"
            s["from_peer"] += m.total["interventions"] - peers
            for k, level in enumerate(levels):
                s[f"misses[{k}]"] += m.counts[k]["misses"] - level["misses"]
            for key in self.CLASSES:
                s[key] += m.counts[0][key] - levels[0][key]
            written = self.written_by_others(r)
            if not written:
                s["false_sharing"] += m.counts[0]["coherence"] - levels[0]["coherence"]

    def written_by_others(self, r):
        """Has another thread written bytes of this access since its thread used the line?"""
        touched = range(int(r["address"], 16), int(r["address"], 16) + r["size"])
        found = False
        for line in {byte // 64 for byte in touched}:
            since = self.since[line]
            found |= any(byte in since[r["thread"]] for byte in touched if byte // 64 == line)
            since[r["thread"]] = set()
            if r["kind"] == "write":
                for other in self.threads - {r["thread"]}:
                    since[other].update(byte for byte in touched if byte // 64 == line)
        return found

    def of(self, run, places):
        keys = ["reads", "writes", "misses[0]", "misses[1]", "false_sharing", "from_peer", *self.CLASSES]
        sums = {key: sum(self.sums[place][key] for place in places) for key in keys}
        sums["slices"] = sum(run.slices[place] for place in places)
        sums["allocated_bytes"] = sum(run.allocated[place] for place in places)
        return sums


@check
def mem_sim_blames_coroutines(n, run):
    s = SimulatedCoroutines(run)
    places = set(s.sums) | set(run.slices)
    equal({row["kind"] for row in n.output["coroutines"]}, {place and place[0] for place in places}, "kinds")
    for i, row in enumerate(n.output["coroutines"]):
        mine = [place for place in places if (place and place[0]) == row["kind"]]
        n.equal_all(f"coroutines[{i}]", s.of(run, mine))
        n.within(f"coroutines[{i}].allocations", 0, sum(r["kind"] == "add" for r in run.records))
        equal({a["line"] for a in row["awaits"]}, {place[1] for place in mine if place}, f"awaits of {row['kind']}")
        for k, a in enumerate(row["awaits"]):
            n.equal_all(f"coroutines[{i}].awaits[{k}]", dict(s.of(run, [(row["kind"], a["line"])]), line=a["line"]))
            n.within(f"coroutines[{i}].awaits[{k}].allocations", 0, n[f"coroutines[{i}].allocations"])


def check_coroutines(run):
    output = output_of("mem", "sim", "--json", "--blame", *CACHES, "-n", "100", run.ordered)
    n = Numbers("mem sim", {"coroutines": output["coroutines"]})
    mem_sim_blames_coroutines(n, run)
    n.done()
    sums = collections.Counter()
    for row in output["coroutines"]:
        sums.update({key: row[key] for key in ("reads", "writes", "coherence")})
    equal((sums["reads"], sums["writes"]), (output["reads"], output["writes"]), "accesses of all rows")
    equal(sums["coherence"], output["levels"][0]["coherence"], "coherence misses of all rows")
    for command in "check", "stat":
        equal(output_of("mem", command, "--json", run.ordered)["coroutine_resumes"], sum(run.slices.values()), "resumes")
    equal(output_of("mem", "stat", "--json", run.ordered)["in_coroutines"], sum(now is not None for _, now in run.accesses),
          "accesses in coroutines")
    status, out, err = tool("mem", "sim", "--blame", "--csv", *CACHES, "-n", "100", run.ordered)
    rows = {line.split(",")[1].strip('"'): line.split(",") for line in out.splitlines() if line.startswith("coroutine,")}
    for row in output["coroutines"]:
        cells = rows[row["kind"] or "(outside of all coroutines)"]
        equal(cells[3:7] + cells[-2:], [str(row[key]) for key in ("reads", "writes")] + [str(m) for m in row["misses"]] +
              [str(row[key]) for key in ("slices", "allocated_bytes")], "row in CSV")


# ---- runs ----------------------------------------------------------------------------------------------------------


@test
def accesses_are_those_of_the_coroutine_that_ran(dir):
    run = CoroutineRun(dir)
    compare_with_program(run)
    check_coroutines(run)


@test
def coroutines_that_change_their_thread_keep_their_accesses(dir):
    run = CoroutineRun(dir, rounds=30 if FULL else 15, threads=3)
    compare_with_program(run)
    check_coroutines(run)
    for name in "writer", "outer", "inner":
        threads = {r["thread"] for r in run.records if r["kind"] == "coro" and r.get("name") == name}
        assert len(threads) > 1, f"{name} ran on {threads}"


@test
def a_program_that_is_killed_loses_no_coroutine(dir):
    run = CoroutineRun(dir, rounds=3 * ROUNDS, end=("kill",), status=-9)
    compare_with_program(run)


@test
def a_program_without_the_collector_writes_the_same(dir):
    trace = dir + "/alone.trace"
    out = subprocess.run([program(), str(ROUNDS), "2"], env=dict(os.environ, CACHERAY_OPTIONS="tracefile=" + trace), timeout=240,
                         stdout=subprocess.PIPE, check=True).stdout
    run = CoroutineRun.__new__(CoroutineRun)
    run.trace, run.ordered = trace, dir + "/ordered.trace"
    run.read(json.loads(out))
    compare_with_program(run)


@test
def a_killed_program_without_the_collector_is_recovered(dir):
    trace = dir + "/alone.trace"
    out = subprocess.run([program(), str(3 * ROUNDS), "2", "kill"], env=dict(os.environ, CACHERAY_OPTIONS="tracefile=" + trace), timeout=240,
                         stdout=subprocess.PIPE, check=False).stdout
    status, said, err = tool("mem", "recover", trace)
    equal(status, 0, f"status of mem recover ({said}{err})")
    run = CoroutineRun.__new__(CoroutineRun)
    run.trace, run.ordered = trace, dir + "/ordered.trace"
    run.read(json.loads(out))
    compare_with_program(run)


@test
def blocks_repeat_the_coroutine_that_runs(dir):
    """A long slice: every block of its thread but the first starts with it."""
    run = CoroutineRun(dir, rounds=200, threads=1)
    compare_with_program(run)
    again = [r for r in run.records if r["kind"] == "coro" and r["cause"] == "continued"]
    assert again, "the trace has one block"


def compare_cpp(trace, truth):
    """Writes to the arrays of workers, by the kind of coroutine: the function of its code."""
    kinds = {row["kind"]: row for row in output_of("mem", "sim", "--json", "--blame", trace)["coroutines"]}
    equal(set(kinds), {"worker", "numbers", None}, "kinds")
    runs, names, have = {}, {}, collections.Counter()
    for r in records_of(trace):
        if r["kind"] == "coro":
            runs[r["thread"]] = r["coroutine"] and r["name"]
            if r.get("function"):
                names[r["name"]] = r["function"]
        elif r["kind"] == "write":
            address = int(r["address"], 16)
            start = max((a for a in truth["arrays"] if a <= address), default=0)
            if address - start < 512:
                have["numbers" if address - start >= 256 else "worker", runs.get(r["thread"])] += 1
    codes = {array: {code for a, code in have if a == array} for array in ("worker", "numbers")}
    equal({array: len(found) for array, found in codes.items()}, {"worker": 1, "numbers": 1}, f"kinds that write each array ({have})")
    equal(sum(nr for (array, _), nr in have.items() if array == "worker"), truth["worker"], "writes of workers")
    equal(sum(nr for (array, _), nr in have.items() if array == "numbers"), truth["numbers"], "writes of generators")
    equal(names[next(iter(codes["worker"]))], "worker", "function of the workers' awaits")


@test
def cpp_coroutines_that_move_between_threads_at_any_time(dir):
    path, trace = cpp_program(dir), dir + "/c.trace"
    words = (20, 3, 10) if FULL else (8, 3, 10)
    status, out, err = tool("mem", "run", "-o", trace, "--", path, *words)
    equal(status, 0, f"status of mem run ({err})")
    compare_cpp(trace, json.loads(out))
    both = dir + "/t.jsonl"
    status, out, err = tool("run", "--mem", "-o", both, "--", path, *words)
    equal(status, 0, f"status of run --mem ({err})")
    compare_cpp(both + ".memory", json.loads(out))
    contains(err, "of 4 threads")


class BothRun(CoroutineRun):
    """`run --mem`: the trace of coroutines and the memory trace beside it."""

    def __init__(self, dir, options=(), end=(), status=0, memory=None, **kwargs):
        self.coroutines = dir + "/t.jsonl"
        self.trace, self.ordered = memory or self.coroutines + ".memory", dir + "/ordered.trace"
        if memory:
            os.makedirs(os.path.dirname(memory))
        got, out, err = tool("run", "--mem" + ("=" + memory if memory else ""), *options, "-o", self.coroutines, "--", program(), ROUNDS, 2, *end)
        equal(got, status, f"status of run --mem ({err})")
        self.message = err
        self.read(json.loads(out))


def slices_of_trace(path):
    """Resumes in the trace of coroutines, and the times of each, by id."""
    resumes = collections.defaultdict(list)
    for event in read_trace(path).events:
        if event.get("is_active"):
            resumes[event["probe_id"]].append(event["ts"])
    return resumes


@test
def one_run_writes_both_traces_on_one_clock(dir):
    run = BothRun(dir)
    compare_with_program(run)
    contains(run.message, "accesses")
    resumes = slices_of_trace(run.coroutines)
    stamps = collections.defaultdict(list)
    for r in run.records:
        if r["kind"] == "coro" and r["cause"] == "resumed":
            assert r["traced"], r
            stamps[r["coroutine"]].append(r["time_ns"])
    equal({id: len(times) for id, times in stamps.items()}, {id: len(times) for id, times in resumes.items()}, "slices by id")
    equal(set(run.truth["ids"]) - set(stamps), set(), "writers that the memory trace lacks")
    for id, times in stamps.items():
        for stamp, resume in zip(sorted(times), sorted(resumes[id])):
            # The stamp follows its event; the counter of the event is converted within a window.
            assert -50_000 < stamp - resume < 10_000_000_000, (id, stamp, resume)


@test
def a_killed_program_has_both_traces(dir):
    run = BothRun(dir, end=("kill",), status=-9)
    compare_with_program(run)


@check
def report_lists_sites_that_wait_on_memory(n, run, sim):
    memory = n.output["memory"]
    rows = {(row["kind"], a["line"]): a for row in sim["coroutines"] if row["kind"] for a in row["awaits"]}
    equal({(row["kind"], row["line"]) for row in memory["sites"]}, set(rows), "sites")
    n.equal_all("memory", {"simulated": len(run.accesses), "lost": 0})
    for i, row in enumerate(memory["sites"]):
        a = rows[(row["kind"], row["line"])]
        cost = sum(m * (200 if k == len(a["misses"]) - 1 else [10, 30, 40][k]) for k, m in enumerate(a["misses"])) + 60 * a["from_peer"]
        n.equal_all(f"memory.sites[{i}]", {"line": row["line"], "slices": run.slices[(row["kind"], row["line"])]})
        n.close(f"memory.sites[{i}].misses_per_slice", a["misses"][-1] / row["slices"], 1e-6)
        n.close(f"memory.sites[{i}].cycles_per_slice", cost / row["slices"], 1e-6)
        time = run.slice_ns[(row["kind"], row["line"])] / row["slices"]
        n.close(f"memory.sites[{i}].slice_ns", time, 1e-6)
        n.close(f"memory.sites[{i}].share", min(1, cost / row["slices"] / 3 / time), 1e-6)
        equal(row["waits_on_memory"], a["misses"][-1] >= row["slices"] and row["share"] >= 0.1, "waits on memory")


@test
def report_says_which_sites_wait_on_memory(dir):
    run = BothRun(dir)
    before = output_of("report", "--json", run.coroutines)
    output = output_of("report", "--json", "--mem=" + run.ordered, run.coroutines)
    equal([f["detector"] for f in output["findings"]], [f["detector"] for f in before["findings"]], "findings")
    n = Numbers("report", {"memory": output["memory"]})
    report_lists_sites_that_wait_on_memory(n, run, output_of("mem", "sim", "--json", "--blame", "-n", "100", run.ordered))
    n.done()
    for form in "--text", "--markdown":
        out = tool("report", "--mem", form, run.coroutines)[1]
        contains(out, "Simulated, not measured")
        waits = [row for row in output["memory"]["sites"] if row["waits_on_memory"]]
        for row in waits[:8]:
            contains(out, f"{row['kind']} after ")
            contains(out, f"up to {100 * row['share']:.0f} % of its {duration_text(int(row['slice_ns']))}")
        assert waits or "None: misses of the last level take less than 10 % of the slices" in out, out


@test
def report_refuses_a_memory_trace_of_another_run(dir):
    run = BothRun(dir)
    equal(tool("run", "-q", "-o", run.coroutines, "--", program(), 5, 1)[0], 0, "status of run")
    status, out, err = tool("report", "--mem", run.coroutines)
    equal(status, 1, "status")
    contains(err, "is not in the trace")
    contains(err, "hint: it is of another run")


def sums_of_stamps(run):
    """What the records of a memory trace in order say of each coroutine: accesses, writes, blocks, bytes."""
    sums, runs = collections.defaultdict(lambda: [0, 0, 0, 0]), {}
    for r in run.records:
        if r["kind"] == "coro":
            runs[r["thread"]] = r["coroutine"] if r.get("coroutine") and r["traced"] else 0
        sum = sums[runs.get(r["thread"], 0)]
        if r["kind"] in ("read", "write"):
            sum[0] += 1
            sum[1] += r["kind"] == "write"
        elif r["kind"] == "add":
            sum[2] += 1
            sum[3] += r["elem_size"] * r["elem_count"]
    return {id: tuple(sum) for id, sum in sums.items() if id and any(sum)}


def query(trace, sql):
    status, out, err = tool("query", "--json", trace, sql)
    equal(status, 0, f"status of query ({err})")
    return [tuple(row.values()) for row in json.loads(out)["rows"]]


@test
def the_trace_names_its_memory_trace_and_stamps_its_slices(dir):
    run = BothRun(dir)
    expected = sums_of_stamps(run)
    resumes = slices_of_trace(run.coroutines)
    by_coroutine = "SELECT probe_id, sum(accesses), sum(writes), sum(allocations), sum(allocated) FROM memory GROUP BY probe_id"
    times = query(run.coroutines, "SELECT probe_id, from_ts, to_ts, tid, offset FROM memory ORDER BY from_ts")
    for ending in "jsonl", "ctf", "ct":
        trace = run.coroutines if ending == "jsonl" else dir + "/again." + ending
        if ending != "jsonl":
            equal(tool("export", ending, run.coroutines, "-o", trace)[0], 0, "status of export")
        equal({row[0]: row[1:] for row in query(trace, by_coroutine)}, expected, f"sums by coroutine in {ending}")
        ((file, size, accesses, pid),) = query(trace, "SELECT file, size, accesses, pid FROM memory_traces")
        equal((file, size, accesses), (os.path.basename(run.trace), os.path.getsize(run.trace), len(run.accesses)), "memory trace")
        equal(query(trace, "SELECT pid FROM processes"), [(pid,)], "its process")
        equal(query(trace, "SELECT probe_id, from_ts, to_ts, tid, offset FROM memory ORDER BY from_ts"), times, "stamps")
        # A range of times gives the same rows as a filter of all of them.
        low, high = times[len(times) // 4][1], times[len(times) // 2][1]
        equal(query(trace, f"SELECT probe_id, from_ts FROM memory WHERE from_ts BETWEEN {low} AND {high} ORDER BY from_ts"),
              [row[:2] for row in times if low <= row[1] <= high], "stamps of a range")
    for id, from_ts, to_ts, tid, offset in times:
        assert from_ts <= to_ts and any(-10_000_000_000 < ts - from_ts < 50_000 for ts in resumes[id]), (id, from_ts, to_ts)
        with open(run.trace, "rb") as f:
            f.seek(offset)
            equal(f.read(8), b"\x8bCRchunk", "magic of a chunk at the offset")


@test
def report_uses_the_memory_trace_that_the_trace_names(dir):
    run = BothRun(dir, memory=dir + "/elsewhere/m")
    simulated = lambda *args: output_of("report", "--json", *args)["memory"]
    equal(simulated("--mem", run.coroutines)["simulated"], len(run.accesses), "accesses simulated")
    os.rename(dir + "/elsewhere/m", dir + "/m")
    moved = simulated("--mem", run.coroutines)
    equal((moved["file"], moved["simulated"]), (dir + "/m", len(run.accesses)), "a file that was moved beside the trace")
    slices = lambda memory: sum(row["slices"] for row in memory["sites"])
    some = next(iter(slices_of_trace(run.coroutines).items()))
    equal(slices(simulated("--mem", "--coro", some[0], run.coroutines)), len(some[1]), "slices of a coroutine")
    equal(slices(simulated("--mem", "--to", "0", run.coroutines)), 0, "slices before the start")
    with open(dir + "/m", "ab") as f:
        f.write(b"x")
    status, out, err = tool("report", "--mem", run.coroutines)
    equal(status, 1, "status of a changed file")
    contains(err, "it is not the memory trace of this run: it has")
    contains(err, "hint: it was replaced or changed")
    os.unlink(dir + "/m")
    status, out, err = tool("report", "--mem", run.coroutines)
    equal(status, 1, "status without the file")
    contains(err, "hint: the trace names it")


@test
def a_program_that_was_not_built_for_it_is_named(dir):
    status, out, err = tool("run", "--mem", "-o", dir + "/t.jsonl", "--", "/bin/true")
    equal(status, 1, "status")
    contains(err, "the program recorded no memory accesses")
    contains(err, "hint: build it with 'corotracer mem cc'")
    for args, word in (("-p", "1"), "-p"), (("-o", "-", "--", "true"), "standard output"):
        status, out, err = tool("run", "--mem", *args)
        equal(status, 2, f"status with {args}")
        contains(err, word)
        contains(err, "hint: ")
    status, out, err = tool("run", "--mem=/nonexistent/file", "-o", dir + "/t.jsonl", "--", "true")
    equal(status, 1, "status")
    contains(err, "/nonexistent/file")


@test
def a_program_without_coroutines_has_no_table(dir):
    source, trace = dir + "/plain.c", dir + "/plain.trace"
    with open(source, "w", encoding="utf-8") as f:
        f.write("volatile int a[100]; int main(void) { for (int i = 0; i < 100; i++) a[i] = i; }\n")
    equal(tool("mem", "cc", "--compiler=gcc", "-g", source, "-o", dir + "/plain")[0], 0, "status of mem cc")
    equal(tool("mem", "run", "-o", trace, "--", dir + "/plain")[0], 0, "status of mem run")
    equal(output_of("mem", "sim", "--json", "--blame", trace)["coroutines"], [], "coroutines")
    assert "by coroutine" not in tool("mem", "sim", "--blame", trace)[1]


main()
