# SPDX-License-Identifier: MIT
"""test_truth_memory.py - `mem run`, `check`, `stat`, `sim`, `layout`, `html` and `recover`: raw records decoded here, a
simulator in Python, and a program whose accesses are known.

Between two annotations the order of accesses of different threads is unknown.  Results that depend on it
(coherence) are compared on raw traces, whose order is that of the file.
"""
import atexit
import struct
import tempfile

from truth import *

sys.path.insert(0, os.path.join(SOURCE, "tests", "memory", "sim"))
from reference import Machine  # noqa: E402

READ, WRITE, ADD, REMOVE = range(4)
FLAGS = {"plain": 0, "atomic": 0x40, "unaligned": 0x80, "atomic_unaligned": 0xC0}
LINE = 64
LEVELS = [{"name": "L1", "size": 4096, "line": 64, "ways": 4, "policy": "lru", "write": "back", "allocate": True,
           "inclusion": "non-inclusive", "prefetch": "none", "share": 1},
          {"name": "L2", "size": 32768, "line": 64, "ways": 8, "policy": "lru", "write": "back", "allocate": True,
           "inclusion": "non-inclusive", "prefetch": "none", "share": "all"}]
CACHES = ["-l", "L1=4K,4", "-l", "L2=32K,8"]
# struct item of memory.c: name, offset, size.
MEMBERS = [("key", 0, 8), ("cold", 8, 80), ("hits", 88, 4), ("value", 96, 8)]
# The cost of a miss in layout: of L1, of the last level, of a line from another core.
COST = {"L1": 10, "L2": 200, "peer": 60}
ITEMS = 64  # NR_ITEMS of memory.c
BUILT = {}


def program(dir):
    """memory.c, built once by `mem cc`."""
    if "path" not in BUILT:
        place = tempfile.mkdtemp(prefix="corotracer-test-")
        atexit.register(shutil.rmtree, place, True)
        BUILT["path"] = os.path.join(place, "truth_memory")
        status, out, err = tool("mem", "cc", "--compiler=gcc", "-g", "-O1", "-I" + os.path.join(SOURCE, "include"),
                                os.path.join(SOURCE, "tests/truth/memory.c"), "-o", BUILT["path"], "-pthread")
        equal(status, 0, f"status of mem cc ({out}{err})")
    return BUILT["path"]


# ---- raw records ---------------------------------------------------------------------------------------


class Raw:
    """The records of a raw trace, in the order of the file."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        self.accesses, self.events, self.records = [], [], []
        at = 0
        while at < len(data):
            at = self.take(data, at)
        self.size = len(data)

    def take(self, data, at):
        tag, kind = data[at], data[at] & 0x3F
        if kind in (READ, WRITE):
            _, address, size, thread = struct.unpack_from("<BQBQ", data, at)
            record = {"kind": kind, "flags": tag & 0xC0, "address": address, "size": size, "thread": thread}
            self.accesses.append(record)
            length = 18
        elif kind == ADD:
            _, address, thread, size, count, name_size = struct.unpack_from("<BQQIII", data, at)
            record = {"kind": kind, "flags": tag & 0xC0, "address": address, "thread": thread, "bytes": size * count,
                      "element": size, "name": data[at + 29:at + 29 + name_size].decode()}
            length = 29 + name_size
        elif kind == REMOVE:
            _, address, thread = struct.unpack_from("<BQQ", data, at)
            record = {"kind": kind, "flags": tag & 0xC0, "address": address, "thread": thread}
            length = 17
        else:
            raise Wrong(f"kind {kind} at {at}")
        self.records.append(record)
        return at + length

    def of(self, kind):
        return [r for r in self.records if r["kind"] == kind]

    @property
    def threads(self):
        return list(dict.fromkeys(r["thread"] for r in self.records))

    def typed(self):
        """(access, annotation or None) in order."""
        there = {}
        for r in self.records:
            if r["kind"] == ADD:
                there[r["address"]] = r
            elif r["kind"] == REMOVE:
                there.pop(r["address"], None)
            else:
                owner = next((a for a in there.values() if a["address"] <= r["address"] < a["address"] + a["bytes"]), None)
                yield r, owner


class MemoryRun:
    """One `mem run` of the program: its output, its trace, and the trace as raw records."""

    def __init__(self, dir, rounds=20, threads=2, options=(), end=(), load=False, name="m.trace", status=0):
        self.rounds, self.nr_threads = rounds, threads
        self.trace = os.path.join(dir, name)
        with with_load(load):
            self.began = now_ns()
            got, out, err = tool("mem", "run", "--json", "-o", self.trace, *options, "--", program(dir), rounds, threads, *end)
            self.ended = now_ns()
        if status is not None:
            equal(got, status, f"status of mem run ({err})")
        self.status = got
        self.truth = json.loads(out)
        self.summary = json.loads([line for line in err.splitlines() if line.startswith("{")][-1])
        self.raw_path = self.trace + ".raw"
        got, out, err = tool("mem", "convert", "--format", "raw", "-q", "-o", self.raw_path, self.trace)
        equal(got, 0, f"status of mem convert ({err})")
        self.raw = Raw(self.raw_path)

    def items(self):
        return [r for r, owner in self.raw.typed() if owner and owner["name"] == "struct item"]


# ---- mem run ------------------------------------------------------------------------------------------------


def accesses_of_program(dir, rounds, threads):
    """The accesses of @rounds: every round has the same ones, so two short runs without loss give the number."""
    few, more = (len(MemoryRun(dir, rounds=r, threads=threads, name=f"short{r}.trace").raw.accesses) for r in (10, 30))
    equal((more - few) % 20, 0, "accesses of twenty rounds, by twenty")
    return few + (rounds - 10) * (more - few) // 20


def lost_items(run):
    """Accesses to the items that the program made and the trace does not hold."""
    t = run.truth
    return t["keys_read"] + t["keys_written"] + t["hits_written"] - len(run.items())


@check
def mem_run_counts_what_the_trace_holds(n, run, exit_status=0, signal_number=0):
    raw = run.raw
    n.equal_all("", {"exit_status": 128 - run.status if run.status < 0 else run.status, "program_status": exit_status, "signal": signal_number,
                     "threads": run.nr_threads + 1, "refused": 0, "broken": 0})
    n.within("recovered", 0, run.nr_threads + 1)
    n.within("duration_ns", 1, run.ended - run.began)
    n.equal_all("files[0]", {"pid": run.truth["pid"], "size": os.path.getsize(run.trace), "threads": run.nr_threads + 1,
                             "accesses": len(raw.accesses), "annotations": len(raw.of(ADD)) + len(raw.of(REMOVE)), "left_out": 0})


@check
def mem_run_counts_what_is_lost(n, run, dir):
    if lost_items(run) == 0:
        n.equal("files[0].lost", 0)
    else:
        # Each thread adds one annotation and removes it.
        made = accesses_of_program(dir, run.rounds, run.nr_threads) + 2 * run.nr_threads
        n.equal("files[0].lost", made - len(run.raw.records))


# ---- mem check -----------------------------------------------------------------------------------------------


@check
def mem_check_counts_records(n, raw, path):
    kinds = {"reads": READ, "writes": WRITE, "added": ADD, "removed": REMOVE}
    for key, kind in kinds.items():
        records = raw.of(kind)
        n.equal(f"{key}.all", len(records))
        for flag, bits in FLAGS.items():
            n.equal(f"{key}.{flag}", sum(r["flags"] == bits for r in records))
    n.equal("accesses", len(raw.accesses))
    n.equal("bytes_read", sum(r["size"] for r in raw.of(READ)))
    n.equal("bytes_written", sum(r["size"] for r in raw.of(WRITE)))
    n.equal("size", os.path.getsize(path))
    equal([row["size"] for row in n.output["sizes"]], sorted({r["size"] for r in raw.accesses}), "sizes")
    for i, row in enumerate(n.output["sizes"]):
        for key, kind in ("reads", READ), ("writes", WRITE):
            n.equal(f"sizes[{i}].{key}", sum(r["size"] == row["size"] for r in raw.of(kind)))
        n.equal(f"sizes[{i}].size", row["size"])


@check
def mem_check_counts_threads(n, raw):
    """Each has a number of its own; a thread that was killed before its first record has one and is not listed.

    Threads are listed by their first records, and numbered when they begin: on a busy machine a later one may be before an earlier one.
    """
    used, most = set(), len(n.output["threads"]) + 8
    equal([row["id"] for row in n.output["threads"]], sorted(raw.threads, key=raw.threads.index), "threads")
    for i, row in enumerate(n.output["threads"]):
        mine = [r for r in raw.records if r["thread"] == row["id"]]
        n.within(f"threads[{i}].number", 0, most)
        assert row["number"] not in used, f"two threads have the number {row['number']}"
        used.add(row["number"])
        n.equal_all(f"threads[{i}]", {
            "id": row["id"], "reads": sum(r["kind"] == READ for r in mine),
            "writes": sum(r["kind"] == WRITE for r in mine), "annotations": sum(r["kind"] in (ADD, REMOVE) for r in mine)})


@check
def mem_check_counts_what_is_missing(n, run):
    lost = run.summary["files"][0]["lost"]
    n.equal("lost", lost)
    n.equal_all("", {"left_out": 0, "nr_faults": 0, "marks": 0, "coroutine_resumes": 0, "annotations_null": 0, "pid": run.truth["pid"]})
    for i, row in enumerate(n.output["missing"]):
        n.equal(f"missing[{i}].count", lost)
        n.within(f"missing[{i}].cause", 1, 15)
    equal(len(n.output["missing"]), int(lost > 0), "causes of loss")
    for i in range(len(n.output["threads"])):
        n.within(f"threads[{i}].lost", 0, lost)
    # The last losses of a thread are known for the trace as a whole only.
    assert sum(row["lost"] for row in n.output["threads"]) <= lost, n.output["threads"]
    n.within("gaps", int(lost > 0), lost)


@check
def mem_check_knows_the_container(n, raw, container):
    there, most = 0, 0
    for r in raw.records:
        there += (r["kind"] == ADD) - (r["kind"] == REMOVE)
        most = max(most, there)
    n.equal_all("", {"annotations_left": there, "annotations_most": most})
    n.within("blocks", 1 if container else 0, len(raw.records) if container else 0)
    # Code addresses, attributes and blocks of the heap are in containers only.
    n.equal("with_code_address", len(raw.accesses) if container else 0)
    n.within("with_attributes", 0, len(raw.accesses) if container else 0)


@check
def mem_check_counts_blocks_of_the_heap(n, run, container):
    """Each thread allocates its items; the libraries allocate a few blocks, too."""
    sure = run.nr_threads if container and not run.summary["files"][0]["lost"] and run.status == 0 else 0
    n.within("allocations", sure, 1000 if container else 0)
    n.within("frees", sure, n["allocations"])
    n.within("bytes_allocated", sure * ITEMS * run.truth["item"], n["allocations"] << 20)
    n.within("allocations_with_stack", sure, n["allocations"])
    n.equal("calls", 0)


def check_check(run, path, container):
    n = Numbers("mem check", output_of("mem", "check", "--json", path))
    mem_check_counts_records(n, run.raw, path)
    mem_check_counts_threads(n, run.raw)
    mem_check_counts_what_is_missing(n, run)
    mem_check_knows_the_container(n, run.raw, container)
    mem_check_counts_blocks_of_the_heap(n, run, container)
    n.done()


# ---- mem stat ------------------------------------------------------------------------------------------------------


def lines_of(r):
    return range(r["address"] // LINE, (r["address"] + r["size"] - 1) // LINE + 1)


def reuse_of(accesses):
    """(first uses, {lower bound: count}) of the reuse distances: different lines since the line was used before."""
    order, first, buckets = [], 0, collections.Counter()
    for r in accesses:
        for line in lines_of(r):
            if line in order:
                distance = len(order) - 1 - order.index(line)
                buckets[1 << distance.bit_length() - 1 if distance else 0] += 1
                order.remove(line)
            else:
                first += 1
            order.append(line)
    return first, buckets


@check
def mem_stat_counts_accesses(n, run, path):
    raw = run.raw
    blocks = [json.loads(line)["bytes"] for line in tool("mem", "dump", "--json", "-k", "alloc", path)[1].splitlines()]
    n.equal_all("", {"allocations": len(blocks), "bytes_allocated": sum(blocks)})
    n.equal_all("", {"accesses": len(raw.accesses), "reads": len(raw.of(READ)), "writes": len(raw.of(WRITE)),
                     "bytes": sum(r["size"] for r in raw.accesses), "weighted_accesses": len(raw.accesses),
                     "annotations": len(raw.of(ADD)) + len(raw.of(REMOVE)), "lost": run.summary["files"][0]["lost"], "left_out": 0,
                     "line_size": LINE, "straddles": sum(len(lines_of(r)) > 1 for r in raw.accesses), "coroutine_resumes": 0, "in_coroutines": 0})
    for i, row in enumerate(n.output["threads"]):
        mine = [r for r in raw.accesses if r["thread"] == row["id"]]
        n.equal_all(f"threads[{i}]", {"id": row["id"], "reads": sum(r["kind"] == READ for r in mine),
                                      "writes": sum(r["kind"] == WRITE for r in mine), "bytes": sum(r["size"] for r in mine)})
        n.within(f"threads[{i}].missing", 0, run.summary["files"][0]["lost"])


@check
def mem_stat_takes_reuse_distances(n, raw):
    reuse_rows(n, "", raw.accesses)
    for i, row in enumerate(n.output["threads"]):
        if "lines" in row:
            reuse_rows(n, f"threads[{i}].", [r for r in raw.accesses if r["thread"] == row["id"]])


def reuse_rows(n, prefix, accesses):
    first, buckets = reuse_of(accesses)
    n.equal_all("", {f"{prefix}lines": first, f"{prefix}first_uses": first, f"{prefix}sampled_one_in": 1})
    rows = n.output["reuse"] if not prefix else n.output["threads"][int(re.search(r"\d+", prefix)[0])]["reuse"]
    for k, row in enumerate(rows):
        low = 1 << k - 1 if k else 0
        n.equal_all(f"{prefix}reuse[{k}]", {"from": low, "below": 1 << k, "count": buckets[low]})
    equal(sum(row["count"] for row in rows), sum(buckets.values()), "uses with a distance")


@check
def mem_stat_counts_types_and_lines(n, raw):
    typed = list(raw.typed())
    for i, row in enumerate(n.output["types"]):
        mine = [r for r, owner in typed if owner and owner["name"] == row["type"]]
        n.equal_all(f"types[{i}]", {
            "reads": sum(r["kind"] == READ for r in mine), "writes": sum(r["kind"] == WRITE for r in mine),
            "bytes": sum(r["size"] for r in mine), "added": sum(r["name"] == row["type"] for r in raw.of(ADD)),
            "removed": len(raw.of(REMOVE))})
    uses = collections.defaultdict(list)
    for r in raw.accesses:
        for line in lines_of(r):
            uses[line].append(r)
    hottest = sorted((len(mine) for mine in uses.values()), reverse=True)[:10]
    equal([row["reads"] + row["writes"] for row in n.output["hot_lines"]], hottest, "uses of the hottest lines")
    for i, row in enumerate(n.output["hot_lines"]):
        mine = uses[int(row["address"], 16) // LINE]
        n.equal_all(f"hot_lines[{i}]", {
            "reads": sum(r["kind"] == READ for r in mine), "writes": sum(r["kind"] == WRITE for r in mine),
            "threads": len({r["thread"] for r in mine}), "writers": len({r["thread"] for r in mine if r["kind"] == WRITE})})


@check
def mem_stat_takes_the_working_set(n, raw, run):
    window = n["window"]
    n.within("window", len(raw.accesses) // 32, len(raw.records) // 32 + 1)
    for i, row in enumerate(n.output["working_set"]):
        mine = raw.accesses[i * window:(i + 1) * window]
        n.equal_all(f"working_set[{i}]", {"accesses": len(mine), "lines": len({line for r in mine for line in lines_of(r)})})
        if "time_ns" in row and row["time_ns"] is not None:
            n.within(f"working_set[{i}].time_ns", run.began, run.ended)


@check
def mem_stat_counts_strides(n, raw):
    """A raw trace has no code addresses: a site is a thread and a kind."""
    last, before, strides = {}, {}, collections.Counter()
    same = sequential = 0
    for r in raw.accesses:
        place = r["thread"], r["kind"]
        if place in last:
            stride = r["address"] - last[place]
            same += before.get(place) == stride
            sequential += stride == r["size"]
            strides[stride] += 1
            before[place] = stride
        last[place] = r["address"]
    n.equal_all("strides", {"all": sum(strides.values()), "same_as_before": same, "zero": strides[0], "sequential": sequential,
                            "not_followed": 0, "counts_low_by_at_most": 0})
    equal([row["count"] for row in n.output["strides"]["top"]], sorted(strides.values(), reverse=True)[:10], "top strides")
    for i, row in enumerate(n.output["strides"]["top"]):
        n.equal_all(f"strides.top[{i}]", {"stride": row["stride"], "count": strides[row["stride"]]})


def check_stat(run, path):
    n = Numbers("mem stat", output_of("mem", "stat", "--json", "--per-thread", path))
    mem_stat_counts_accesses(n, run, path)
    if path == run.raw_path:
        mem_stat_takes_reuse_distances(n, run.raw)
        mem_stat_counts_types_and_lines(n, run.raw)
        mem_stat_takes_the_working_set(n, run.raw, run)
        mem_stat_counts_strides(n, run.raw)
        n.done()
    else:
        for i in range(len(n.output["working_set"])):
            container_times(n, i, run)


@check
def container_times(n, i, run):
    n.within(f"working_set[{i}].time_ns", run.began, run.ended)


# ---- mem sim -----------------------------------------------------------------------------------------------------------


class Simulated:
    """The raw trace through the simulator in Python, with the outcome of each access."""

    CLASSES = ("hits", "misses", "read_misses", "write_misses", "cold", "capacity", "conflict", "coherence")

    def __init__(self, raw):
        self.machine = Machine({"levels": LEVELS, "tlb": [{"entries": 16, "ways": 4}], "page": 4096})
        m = self.machine
        self.steps = []
        for r, owner in raw.typed():
            before = [dict(level) for level in m.counts], dict(m.total), [dict(t) for t in m.tlb_counts]
            m.access(r["thread"], r["address"], r["size"], r["kind"] == WRITE)
            self.steps.append({
                "access": r, "owner": owner,
                "levels": [{key: now[key] - then[key] for key in then} for then, now in zip(before[0], m.counts)],
                "total": {key: m.total[key] - then for key, then in before[1].items()},
                "tlb": [now["misses"] - then["misses"] for then, now in zip(before[2], m.tlb_counts)]})

    def sum(self, steps, level, key):
        return sum(step["levels"][level][key] for step in steps)

    def of_member(self, name):
        offset, size = next((offset, size) for member, offset, size in MEMBERS if member == name)
        return [s for s in self.steps if s["owner"] and
                offset <= (s["access"]["address"] - s["owner"]["address"]) % s["owner"]["element"] < offset + size]

    def peers(self, steps):
        return sum(step["total"]["interventions"] for step in steps)


def is_read(step):
    return step["access"]["kind"] == READ


@check
def mem_sim_repeats_the_machine(n):
    for i, level in enumerate(LEVELS):
        n.equal_all(f"machine.levels[{i}]", {key: level[key] for key in ("size", "line", "ways")})
    n.equal_all("machine", {"levels[0].share": 1, "tlb[0].entries": 16, "tlb[0].ways": 4, "page": 4096, "cores": 0, "seed": 0})


@check
def mem_sim_counts_accesses(n, run):
    raw = run.raw
    n.equal_all("", {"simulated": len(raw.accesses), "left_aside": 0, "lost": run.summary["files"][0]["lost"], "left_out": 0,
                     "accesses": len(raw.accesses), "reads": len(raw.of(READ)), "writes": len(raw.of(WRITE)),
                     "bytes": sum(r["size"] for r in raw.accesses), "straddles": sum(len(lines_of(r)) > 1 for r in raw.accesses),
                     "empty": 0, "cores": len({r["thread"] for r in raw.accesses})})


@check
def mem_sim_counts_hits_and_misses_as_the_simulator_in_python(n, s):
    for i, counts in enumerate(s.machine.counts):
        reads = [step for step in s.steps if is_read(step)]
        read_hits = s.sum(reads, i, "hits")
        n.equal_all(f"levels[{i}]", dict(counts, read_hits=read_hits, write_hits=counts["hits"] - read_hits))
    n.equal_all("", {"tlb[0].hits": s.machine.tlb_counts[0]["hits"], "tlb[0].misses": s.machine.tlb_counts[0]["misses"],
                     "memory.reads": s.machine.total["memory_reads"], "memory.writes": s.machine.total["memory_writes"]})


@check
def mem_sim_counts_coherence_as_the_simulator_in_python(n, s):
    total = s.machine.total
    for key in ("invalidations", "upgrades", "interventions", "dirty_transfers", "false_sharing", "true_sharing"):
        n.equal(f"coherence.{key}", total[key])
    n.equal_all("coherence", {"unknown_sharing": 0, "lines_dropped": 0})


@check
def mem_sim_counts_for_each_thread(n, s):
    for i, row in enumerate(n.output["threads"]):
        mine = [step for step in s.steps if step["access"]["thread"] == row["id"]]
        reads = [step for step in mine if is_read(step)]
        n.equal_all(f"threads[{i}]", {"id": row["id"], "core": s.machine.core_of[row["id"]], "reads": len(reads),
                                      "writes": len(mine) - len(reads), "from_peer": s.peers(mine),
                                      "invalidated": sum(step["total"]["invalidations"] for step in mine),
                                      "tlb_misses[0]": sum(step["tlb"][0] for step in mine)})
        n.within(f"threads[{i}].lost", 0, s.machine.total["invalidations"])
        for k in range(len(LEVELS)):
            sums = {key: s.sum(mine, k, key) for key in s.CLASSES}
            sums["read_hits"] = s.sum(reads, k, "hits")
            sums["write_hits"] = sums["hits"] - sums["read_hits"]
            n.equal_all(f"threads[{i}].levels[{k}]", sums)
    equal(sum(row["lost"] for row in n.output["threads"]), s.machine.total["invalidations"], "lines that threads lost")


@check
def mem_sim_names_lines_that_cores_take_from_each_other(n, s):
    lines = n.output["shared_lines"]
    for i, line in enumerate(lines):
        path, address = f"shared_lines[{i}]", int(line["address"], 16)
        mine = [step for step in s.steps if address // LINE in lines_of(step["access"])]
        n.equal(f"{path}.invalidations", sum(step["total"]["invalidations"] for step in mine))
        n.equal(f"{path}.false_misses", sum(step["total"]["false_sharing"] for step in mine))
        n.equal(f"{path}.true_misses", sum(step["total"]["true_sharing"] for step in mine))
        shared_threads(n, path, line, address, mine)
        for k, taken in enumerate(line["taken"]):
            assert taken["from"] != taken["by"], taken
            n.equal_all(f"{path}.taken[{k}]", {"by": taken["by"], "from": taken["from"]})
            for key, of in ("invalidations", "invalidations"), ("false_misses", "false_sharing"), ("true_misses", "true_sharing"):
                n.within(f"{path}.taken[{k}].{key}", 0, sum(step["total"][of] for step in mine))
        equal(sum(t["invalidations"] for t in line["taken"]), line["invalidations"], "how often the line was taken")
        n.equal_all(path, {"accesses_of_others": 0, "taken_by_others": 0})
        for k, field in enumerate(line.get("fields", [])):
            by = [step for step in mine if step["access"]["thread"] == field["thread"]]
            n.equal(f"{path}.fields[{k}].thread", field["thread"])
            n.within(f"{path}.fields[{k}].offset", 0, LINE - 1)
            n.within(f"{path}.fields[{k}].reads_that_missed", 0, len(by))
            n.within(f"{path}.fields[{k}].writes_that_missed", 0, len(by))


def shared_threads(n, path, line, address, mine):
    """The accesses of each thread to a line since it was shared."""
    for k, thread in enumerate(line["threads"]):
        by = [step["access"] for step in mine if step["access"]["thread"] == thread["id"]]
        n.equal(f"{path}.threads[{k}].id", thread["id"])
        for key, kind in ("reads", READ), ("writes", WRITE):
            n.within(f"{path}.threads[{k}].{key}", 0, sum(r["kind"] == kind for r in by))
        for key, kind in ("bytes_read", READ), ("bytes_written", WRITE):
            touched = {r["address"] - address + i for r in by if r["kind"] == kind for i in range(r["size"])}
            for j, (low, high) in enumerate(thread[key]):
                assert set(range(low, high + 1)) <= touched, f"bytes {low} to {high} of {thread}"
                n.equal_all(f"{path}.threads[{k}].{key}[{j}]", {})
                n.equal(f"{path}.threads[{k}].{key}[{j}][0]", low)
                n.equal(f"{path}.threads[{k}].{key}[{j}][1]", high)


def blamed(s, steps):
    reads = sum(is_read(step) for step in steps)
    sums = {"reads": reads, "writes": len(steps) - reads, "from_peer": s.peers(steps),
            "false_sharing": sum(step["total"]["false_sharing"] for step in steps)}
    for key in ("cold", "capacity", "conflict", "coherence"):
        sums[key] = s.sum(steps, 0, key)
    for k in range(len(LEVELS)):
        sums[f"misses[{k}]"] = s.sum(steps, k, "misses")
    return sums


@check
def mem_sim_blames_types_and_fields(n, s):
    whole = blamed(s, s.steps)
    for i, row in enumerate(n.output["types"]):
        path = f"types[{i}]"
        if "item" not in row["name"]:
            # Variables of the program: each is at most the whole.
            for key, most in whole.items():
                n.within(f"{path}.{key}", 0, most)
            for k, _ in enumerate(row.get("fields", [])):
                for key, most in whole.items():
                    n.within(f"{path}.fields[{k}].{key}", 0, most)
        else:
            mine = [step for step in s.steps if step["owner"]]
            n.equal_all(path, blamed(s, mine))
            for k, field in enumerate(row["fields"]):
                n.equal_all(f"{path}.fields[{k}]", blamed(s, s.of_member(re.split(r"[\[.]", field["name"])[0])))
        if f"{path}.size" in n.values:
            # A stack or a heap has no size of its own.
            n.within(f"{path}.size", 0, 1 << 20)
    if len(n.output["types"]) < 10:
        for key in "reads", "writes":
            equal(sum(row[key] for row in n.output["types"]), whole[key], f"{key} of all types")


@check
def mem_sim_says_how_the_heap_is_named(n, s):
    """The items are annotated; a raw trace has no allocations and no code that could vote."""
    mine, whole = (blamed(s, steps) for steps in ([step for step in s.steps if step["owner"]], s.steps))
    cost, most = (cost_of({"L1": sums["misses[0]"], "L2": sums["misses[1]"]}, sums["from_peer"]) for sums in (mine, whole))
    n.equal_all("heap_cost", {"annotated": cost, "by_vote": 0, "by_code": 0, "by_site": 0})
    n.within("heap_cost.unnamed", 0, most - cost)


@check
def mem_sim_is_certain_of_types(n):
    """The program accesses its blocks only by pointers to their types."""
    for i, _ in enumerate(n.output["types"]):
        n.equal(f"types[{i}].certainty", 1)


@test
def types_of_blocks_without_annotations_are_certain(dir):
    source = os.path.join(SOURCE, "tests", "memory", "types", "programs", "heap_types.c")
    path = os.path.join(dir, "heap_types")
    for args in ("cc", "-g", "-O1", source, "-o", path), ("run", "-o", path + ".trace", path):
        status, out, err = tool("mem", *args)
        equal(status, 0, f"status of mem {args[0]} ({out}{err})")
    types = output_of("mem", "sim", "--json", "-n", "100", *CACHES, "--blame", path + ".trace")["types"]
    voted = [{"certainty": t["certainty"]} for t in types if "certainty" in t]
    assert len(voted) >= 5, types
    n = Numbers("mem sim", {"types": voted})
    mem_sim_is_certain_of_types(n)
    n.done()


@check
def mem_sim_blames_source_lines(n, s):
    whole = blamed(s, s.steps)
    for i, row in enumerate(n.output["source_lines"]):
        equal(row["line"], 0, "line of accesses without a code address")
        n.equal_all(f"source_lines[{i}]", dict(whole, line=0))


@check
def mem_sim_blames_functions(n, s):
    """A raw trace has no code addresses: all accesses are those of an unknown function."""
    equal(len(n.output["functions"]), 1, "functions")
    n.equal_all("functions[0]", blamed(s, s.steps))


@check
def mem_sim_blames_allocation_sites(n, run, whole):
    """The items are allocated in one place, and the program knows how often it uses them."""
    t = run.truth
    for i, row in enumerate(n.output["allocation_sites"]):
        path = f"allocation_sites[{i}]"
        is_items = row["function"] == "work"
        if is_items:
            n.equal_all(path, {"line": site_line("aligned_alloc("), "blocks": run.nr_threads,
                               "bytes": run.nr_threads * ITEMS * t["item"], "reads": t["keys_read"],
                               "writes": t["keys_written"] + t["hits_written"]})
        else:
            n.within(f"{path}.line", 0, 1 << 20)
            n.within(f"{path}.blocks", 1, 1000)
            n.within(f"{path}.bytes", 1, 1 << 30)
            n.equal_all(path, {"reads": 0, "writes": 0})
        for key in "cold", "capacity", "conflict", "coherence", "false_sharing", "from_peer":
            n.within(f"{path}.{key}", 0, whole["accesses"] if is_items else 0)
        for k, level in enumerate(whole["levels"]):
            n.within(f"{path}.misses[{k}]", 0, level["misses"] if is_items else 0)
    assert any(row["function"] == "work" for row in n.output["allocation_sites"]), n.output


def check_allocation_sites(run):
    output = output_of("mem", "sim", "--json", "-n", "100", *CACHES, "--blame", run.trace)
    n = Numbers("mem sim", {"allocation_sites": output["allocation_sites"]})
    mem_sim_blames_allocation_sites(n, run, output)
    n.done()


def check_sim(run):
    n = Numbers("mem sim", output_of("mem", "sim", "--json", *CACHES, "--tlb", "16,4", "--blame", run.raw_path))
    s = Simulated(run.raw)
    mem_sim_repeats_the_machine(n)
    mem_sim_counts_accesses(n, run)
    mem_sim_counts_hits_and_misses_as_the_simulator_in_python(n, s)
    mem_sim_counts_coherence_as_the_simulator_in_python(n, s)
    mem_sim_counts_for_each_thread(n, s)
    mem_sim_names_lines_that_cores_take_from_each_other(n, s)
    mem_sim_blames_types_and_fields(n, s)
    mem_sim_says_how_the_heap_is_named(n, s)
    mem_sim_blames_source_lines(n, s)
    mem_sim_blames_functions(n, s)
    equal(n.output["allocation_sites"], [], "allocation sites of a raw trace")
    n.done()
    return s


# ---- mem layout -----------------------------------------------------------------------------------------------------------


def cost_of(misses, peers):
    """Misses that another core serves are not those of memory."""
    return COST["L1"] * misses["L1"] + COST["L2"] * misses["L2"] + COST["peer"] * peers


@check
def mem_layout_replays_as_the_simulator_in_python(n, s, run):
    misses = {level["name"]: s.machine.counts[i]["misses"] for i, level in enumerate(LEVELS)}
    peers = s.machine.total["interventions"]
    n.equal_all("", {"accesses": len(run.raw.accesses), "lost": run.summary["files"][0]["lost"], "left_out": 0, "line": LINE,
                     "types_used": 1})
    others = blamed(s, [step for step in s.steps if not step["owner"]])
    n.within("unseen_cost", 0, cost_of({"L1": others["misses[0]"], "L2": others["misses[1]"]}, others["from_peer"]))
    for key in "traced", "before":
        n.equal_all(key, {"misses.L1": misses["L1"], "misses.L2": misses["L2"], "from_other_cores": peers,
                          "invalidations": s.machine.total["invalidations"], "cost": cost_of(misses, peers)})
    after = n.output["after"]
    n.within("after.misses.L1", 1, misses["L1"])
    n.within("after.misses.L2", 1, misses["L2"])
    for key in "from_other_cores", "invalidations":
        n.within(f"after.{key}", 0, len(run.raw.accesses))
    n.equal("after.cost", cost_of(after["misses"], after["from_other_cores"]))


@check
def mem_layout_counts_members(n, s):
    mine = [step for step in s.steps if step["owner"]]
    sums = blamed(s, mine)
    fetched = s.sum(mine, 0, "misses")
    n.equal_all("types[0]", {
        "size": 104, "align": 8, "line": site_line("struct item {"), "reads": sums["reads"], "writes": sums["writes"],
        "misses.L1": sums["misses[0]"], "misses.L2": sums["misses[1]"], "coherence_misses": sums["coherence"],
        "false_sharing": sums["false_sharing"], "lines_fetched": fetched,
        "cost": cost_of({"L1": sums["misses[0]"], "L2": sums["misses[1]"]}, sums["from_peer"])})
    # Of a line that is fetched, at least the bytes of one access and at most all of it.
    n.within("types[0].bytes_used_per_line", 4, LINE)
    n.within("types[0].visits", 1, len(mine))
    for i, (name, offset, size) in enumerate(MEMBERS):
        member = blamed(s, s.of_member(name))
        equal(n.output["types"][0]["members"][i]["name"], name, "member")
        n.equal_all(f"types[0].members[{i}]", {"offset": offset, "size": size, "reads": member["reads"], "writes": member["writes"],
                                               "l1_misses": member["misses[0]"]})
        n.within(f"types[0].members[{i}].visits", 0, n["types[0].visits"])
    for i, field in enumerate(n.output["types"][0]["fields"]):
        member = blamed(s, s.of_member(re.split(r"[\[.]", field["name"])[0]))
        n.equal_all(f"types[0].fields[{i}]", {
            "reads": member["reads"], "writes": member["writes"], "misses.L1": member["misses[0]"],
            "misses.L2": member["misses[1]"], "coherence_misses": member["coherence"], "false_sharing": member["false_sharing"]})


@check
def mem_layout_proposes_what_its_replays_say(n):
    t = n.output["types"][0]
    for i, pair in enumerate(t["affinity"]):
        n.within(f"types[0].affinity[{i}].visits", 0, t["visits"])
        n.within(f"types[0].affinity[{i}].affinity", 0, 1)
    for i, tried in enumerate(t["tried"]):
        path = f"types[0].tried[{i}]"
        for key in "before", "after":
            run = tried[key]
            n.equal(f"{path}.{key}.cost", cost_of(run["misses"], run["from_other_cores"]))
            for part in "misses.L1", "misses.L2", "from_other_cores", "invalidations":
                n.within(f"{path}.{key}.{part}", 0, n["accesses"])
        # Of the type's cost in the same run: if its blocks move, all that the run's cost changes is the type's.
        own = t["cost"] + tried["before"]["cost"] - n.output["traced"]["cost"]
        n.close(f"{path}.gain", min(1, (tried["before"]["cost"] - tried["after"]["cost"]) / own), 1e-9)
        layout_of(n, path, tried)
    best = max(range(len(t["tried"])), key=lambda i: t["tried"][i]["gain"] if not t["tried"][i]["cold_size"] else -1)
    n.equal("types[0].advice", best)
    if t["split"] is not None:
        assert t["tried"][t["split"]]["cold_size"] > 0, "a split has a cold part"
        n.equal("types[0].split", t["split"])


def layout_of(n, path, tried):
    """Members of a proposed layout do not overlap, and are inside it."""
    ends = {False: 0, True: 0}
    for k, member in enumerate(tried["offsets"]):
        n.within(f"{path}.offsets[{k}].offset", ends[member["cold"]], tried["cold_size"] if member["cold"] else tried["size"])
        n.equal(f"{path}.offsets[{k}].size", next(size for name, _, size in MEMBERS if name == member["name"]))
        ends[member["cold"]] = member["offset"] + member["size"]
    n.within(f"{path}.size", ends[False], 128)
    n.within(f"{path}.cold_size", ends[True], 128)
    n.within(f"{path}.align", 8, 64)


def site_line(word):
    with open(os.path.join(SOURCE, "tests/truth/memory.c"), encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if word in line)


def check_layout(run, s):
    n = Numbers("mem layout", output_of("mem", "layout", "--json", *CACHES, run.raw_path))
    mem_layout_replays_as_the_simulator_in_python(n, s, run)
    mem_layout_counts_members(n, s)
    mem_layout_proposes_what_its_replays_say(n)
    n.done()


# ---- mem html -----------------------------------------------------------------------------------------------------------------


@check
def mem_html_counts_what_it_read(n, run):
    n.equal_all("", {"accesses": len(run.raw.accesses), "lost": run.summary["files"][0]["lost"]})


# ---- runs ------------------------------------------------------------------------------------------------------------------------


def check_run(dir, run, **kwargs):
    n = Numbers("mem run", run.summary)
    mem_run_counts_what_the_trace_holds(n, run, **kwargs)
    mem_run_counts_what_is_lost(n, run, dir)
    n.done()


@test
def a_quiet_memory_trace_is_told_exactly(dir):
    run = MemoryRun(dir)
    check_run(dir, run)
    for path, container in (run.trace, True), (run.raw_path, False):
        check_check(run, path, container)
        check_stat(run, path)
    check_allocation_sites(run)
    check_layout(run, check_sim(run))
    if output_of("version", "--json")["page"]:  # built with the pages
        n = Numbers("mem html", output_of("mem", "html", "--json", *CACHES, "-o", dir + "/m.html", run.raw_path, stream="stderr"))
        mem_html_counts_what_it_read(n, run)
        n.done()


@test
def a_memory_trace_of_a_busy_machine_is_told_exactly(dir):
    run = MemoryRun(dir, rounds=40 if FULL else 16, threads=3, load=True)
    check_run(dir, run)
    check_check(run, run.trace, True)
    check_stat(run, run.raw_path)
    check_sim(run)


@test
def a_killed_program_is_told_exactly(dir):
    run = MemoryRun(dir, rounds=500 if FULL else 200, end=["kill"], status=None)
    check_run(dir, run, exit_status=128 + signal.SIGKILL, signal_number=signal.SIGKILL)
    check_check(run, run.trace, True)


@test
def dropped_accesses_are_told_exactly(dir):
    for rounds in (2500 if FULL else 1000, 2500, 5000, 10000):  # a quick machine may keep up for once
        run = MemoryRun(dir, rounds=rounds, options=["--on-full", "drop", "--buffer", "256K"], load=True, status=None)
        if run.summary["files"][0]["lost"]:
            break
    assert run.summary["files"][0]["lost"] > 0, "nothing was lost, so nothing was tested"
    check_run(dir, run)
    check_check(run, run.trace, True)


# ---- the same in text ------------------------------------------------------------------------------------------------------------


def text_of(*args):
    status, out, err = tool("mem", *args)
    equal(status, 0, f"status of {args}: {err}")
    return Text(out)


@test
def the_text_of_mem_run_and_check_has_the_same_numbers(dir):
    run = MemoryRun(dir)
    raw, again = run.raw, dir + "/again.trace"
    status, _, err = tool("mem", "run", "-o", again, "--", program(dir), 20, 2)
    equal(status, 0, err)
    text = Text(err)
    text.line(r": ([\d,]+) accesses, (\d+) annotations of (\d+) threads, ([\d.]+) bytes per access", count_text(len(raw.accesses)),
              len(raw.records) - len(raw.accesses), 3, f"{os.path.getsize(again) / len(raw.accesses):.3f}")
    text.done()
    text = text_of("check", run.raw_path)
    text.line(r": raw, (\d+) threads, ([\d.]+) bytes per access$", 3, f"{raw.size / len(raw.accesses):.3f}")
    for label, kind in ("reads", READ), ("writes", WRITE), ("annotations added", ADD), ("annotations removed", REMOVE):
        text.line(rf"^  {label} +([\d,]+)$", count_text(len(raw.of(kind))))
    for size in sorted({r["size"] for r in raw.accesses}):
        text.line(rf"^ +({size}) +([\d,]+) +([\d,]+)$", size, *(count_text(sum(r["size"] == size for r in raw.of(k))) for k in (READ, WRITE)))
    text.done()


@test
def the_text_of_mem_stat_has_the_same_numbers(dir):
    run = MemoryRun(dir)
    said, text = output_of("mem", "stat", "--json", run.raw_path), text_of("stat", run.raw_path)
    text.line(r": ([\d,]+) accesses, ([\d.]+ %) of them writes, (\d+) annotations, (\d+) threads", count_text(said["accesses"]),
              f"{100 * said['writes'] / said['accesses']:.1f} %", said["annotations"], len(said["threads"]))
    text.line(r"^  ([\d,]+) lines of (\d+) bytes, (\d+) KiB; (\d+) accesses straddle two", count_text(said["lines"]), LINE,
              said["lines"] * LINE // 1024, said["straddles"])
    for t in said["threads"]:
        text.line(r"^(\d+) +([\d,]+) +([\d,]+)  \S+$", t["id"], count_text(t["reads"]), count_text(t["writes"]))
    for t in said["types"]:
        text.line(rf"^{t['type']} +([\d,]+) +([\d,]+) +([\d,]+)$", *(count_text(t[key]) for key in ("reads", "writes", "added")))
    for h in said["hot_lines"]:
        text.line(r"^(0x\w+) +([\d,]+) +([\d,]+) +([\d.]+) %  (\d+)", h["address"], count_text(h["reads"]), count_text(h["writes"]),
                  f"{100 * (h['reads'] + h['writes']) / said['accesses']:.2f}", h["threads"])
    text.line(r"^working set, per ([\d,]+) accesses", count_text(said["window"]))
    for i, w in enumerate(said["working_set"]):
        text.line(r"^ +([\d,]+) +([\d.]+) KiB ", count_text(i * said["window"]), f"{w['lines'] * LINE / 1024:.1f}")
    strides = said["strides"]
    text.line(r"^strides: ([\d.]+) % as .*, ([\d.]+) % the same address, ([\d.]+) % the next",
              *(f"{100 * strides[key] / strides['all']:.1f}" for key in ("same_as_before", "zero", "sequential")))
    for top in strides["top"]:
        text.line(r"^ +(-?\d+) +([\d,]+) +([\d.]+) %$", top["stride"], count_text(top["count"]), f"{100 * top['count'] / strides['all']:.2f}")
    hits = 0
    for row in said["reuse"]:
        hits += row["count"]
        text.line(r"^ +< (\d+) +lines +([\d,]+) .*: +([\d.]+) % hits$", row["below"], count_text(row["count"]),
                  f"{100 * hits / said['accesses']:.2f}")
    text.line(r"first use +([\d,]+)$", count_text(said["first_uses"]))
    text.done()


@test
def the_text_of_mem_sim_has_the_same_numbers(dir):
    run = MemoryRun(dir)
    said, text = output_of("mem", "sim", "--json", *CACHES, "--blame", run.raw_path), text_of("sim", *CACHES, "--blame", run.raw_path)
    text.skip(r"ways, lines of|^(thread|by type|by source|by function) ")  # the requested machine, and heads of tables
    text.skip(r"^    (written|read|thread)|^  0x")  # shared lines: the JSON form is checked
    text.line(r": ([\d,]+) accesses, ([\d.]+) % of them writes, (\d+) threads on (\d+) cores", count_text(said["accesses"]),
              f"{100 * said['writes'] / said['accesses']:.1f}", len(said["threads"]), said["cores"])
    for level in said["levels"]:
        uses = [level["read_hits"] + level["read_misses"], level["read_misses"], level["write_hits"] + level["write_misses"],
                level["write_misses"]]
        text.line(rf"^{level['name']} +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d.]+) %$", *map(count_text, uses),
                  f"{100 * level['misses'] / (level['hits'] + level['misses']):.2f}")
    for level in said["levels"]:
        text.line(rf"^{level['name']} +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)$",
                  *(count_text(level[key]) for key in ("cold", "capacity", "conflict", "coherence", "write_backs")))
    text.line(r"^memory: ([\d,]+) lines read, ([\d,]+) written", count_text(said["memory"]["reads"]), count_text(said["memory"]["writes"]))
    coherence = said["coherence"]
    text.line(r"^coherence: ([\d,]+) copies invalidated, ([\d,]+) upgrades, ([\d,]+) lines from another core, ([\d,]+) of them dirty",
              *(count_text(coherence[key]) for key in ("invalidations", "upgrades", "interventions", "dirty_transfers")))
    text.line(r"([\d,]+) by false sharing, ([\d,]+) by true sharing", coherence["false_sharing"], coherence["true_sharing"])
    for t in said["threads"]:
        text.line(rf"^({t['id']}) +(\d+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)  \S+$", t["id"], t["core"],
                  *map(count_text, (t["reads"] + t["writes"], *(level["misses"] for level in t["levels"]), t["lost"], t["invalidated"])))
    for row in [r for t in said["types"] for r in (t, *t["fields"])] + said["source_lines"] + said["functions"]:
        numbers = (row["reads"] + row["writes"], *row["misses"], row["coherence"], row["false_sharing"])
        name = re.escape(row.get("name", "(not known)"))
        text.line(rf"^ *{name} +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)$", *map(count_text, numbers))
    shares = [f"{100 * cost / sum(said['heap_cost'].values()):.1f}" for cost in said["heap_cost"].values() if cost]
    text.line("^cost of the heap's misses: " + ", ".join([r"[a-z() ]+ ([\d.]+) %"] * len(shares)) + "$", *shares)
    text.done()


@test
def the_text_of_mem_layout_has_the_same_numbers(dir):
    run = MemoryRun(dir)
    said, text = output_of("mem", "layout", "--json", *CACHES, run.raw_path), text_of("layout", *CACHES, run.raw_path)
    t = said["types"][0]
    text.skip(r"bytes(, was| \*/|;)|^struct|^\t|^  offset ")  # declarations to paste, and the head of the table
    text.line(r": ([\d,]+) accesses; caches", count_text(said["accesses"]))
    text.line(r"^  ([\d,]+) accesses, ([\d,]+) L1 misses, ([\d.]+) % of the cost", count_text(t["reads"] + t["writes"]),
              count_text(int(t["misses"]["L1"])), f"{100 * t['cost'] / said['before']['cost']:.1f}")
    text.line(r"^  of a line that is fetched, ([\d.]+) of (\d+) bytes", f"{t['bytes_used_per_line']:.1f}", LINE)
    for m in t["members"]:
        text.line(rf"^ +(\d+) +(\d+)  {m['name']} +([\d,]+) +([\d,]+) +([\d,]+) +([\d.]+) %$", m["offset"], m["size"],
                  *(count_text(int(m[key])) for key in ("reads", "writes", "l1_misses")), f"{100 * m['visits'] / t['visits']:.1f}")
    for pair in t["affinity"][:1]:
        text.line(r"^  together: \S+ ([\d.]+)$", f"{pair['affinity']:.2f}")
    for tried in t["tried"]:
        text.line(r"^  tried: .* +(\d+) bytes +([-+][\d.]+) % of its cost$", tried["size"], f"{-100 * tried['gain']:+.1f}")
    advice, split = t["tried"][t["advice"]], t["tried"][t["split"]]
    text.line(r"^  advice: .*, ([\d.]+) % of its cost less$", f"{100 * advice['gain']:.1f}")
    text.line(r"changes to the code: .*, ([\d.]+) % of its cost less$", f"{100 * split['gain']:.1f}")
    changes(text, "", own_change(t, advice) if advice["before"] == said["before"] else (advice["before"], advice["after"]))
    changes(text, " of the run", (split["before"], split["after"]))
    changes(text, "", (said["before"], said["after"]))
    text.line(r"^  cost +([\d,]+) -> +([\d,]+) ", count_text(said["before"]["cost"]), count_text(said["after"]["cost"]))
    text.skip(r"^  (falsely shared|lines from other cores) ")
    text.line(r"^([\d.]+) % of the cost of all misses is in memory without",
              f"{100 * said['unseen_cost'] / said['traced']['cost']:.1f}")
    largest_without_fields(text, run, said)
    text.done()


def largest_without_fields(text, run, said):
    """The names below that line, and their costs as `mem sim --blame` has them."""
    rows = output_of("mem", "sim", "--json", "-n", "1000", *CACHES, "--blame", run.raw_path)["types"]
    costs = sorted(((cost_of({"L1": r["misses"][0], "L2": r["misses"][1]}, r["from_peer"]), r["name"]) for r in rows if not r["fields"]),
                   reverse=True)
    assert costs, rows
    for cost, name in [c for c in costs if c[0] >= 1][:4]:
        text.line(rf"^ +([\d.]+) %  {re.escape(name)}$", f"{100 * cost / said['before']['cost']:.1f}")


def own_change(t, tried):
    """The misses of the type: the reduction of the run is that of the type."""
    before = {key: int(value) for key, value in t["misses"].items()}
    after = {key: before[key] - tried["before"]["misses"][key] + tried["after"]["misses"][key] for key in before}
    return {"misses": before}, {"misses": after}


def changes(text, words, pair):
    for level in "L1", "L2":
        text.line(rf"^  {level} misses{words} +([\d,]+) -> +([\d,]+) ", *(count_text(run["misses"][level]) for run in pair))


# ---- mem recover ------------------------------------------------------------------------------------------------------------------


@check
def mem_recover_counts_what_it_added(n, before, raw, threads):
    n.equal("before", before)
    n.equal("recovered", len(raw.records) - before)
    n.within("threads", 0, threads + 1)
    n.equal("broken", 0)


@test
def a_program_that_was_killed_alone_is_recovered_exactly(dir):
    trace = os.path.join(dir, "alone.trace")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CACHERAY_", "COROTRACER_"))}
    p = popen(program(dir), 300, 2, "kill", env=dict(env, CACHERAY_OPTIONS=f"tracefile={trace}"))
    out, _ = p.communicate(timeout=300)
    truth = json.loads(out)
    n = Numbers("mem recover", output_of("mem", "recover", "--json", trace))
    raw_path = trace + ".raw"
    equal(tool("mem", "convert", "--format", "raw", "-q", "-o", raw_path, trace)[0], 0, "status of mem convert")
    raw = Raw(raw_path)
    items = [r for r, owner in raw.typed() if owner]
    equal(len(items), truth["keys_read"] + truth["keys_written"] + truth["hits_written"], "accesses to items")
    mem_recover_counts_what_it_added(n, n["before"], raw, 2)
    n.done()


if __name__ == "__main__":
    main()
