#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_sim.py - mem sim: tiny traces computed by hand, textbook cases, and the command itself."""
import csv
import io
import json
import os
import random
import subprocess

from simulate import CLEAN, HERE, TOOL, compile, contains, equal, level, main, raw, result, sim, test

ROOT = HERE.parent.parent.parent


def lines(text, size=8):
    """"0r5 1w5": thread 0 reads line 5, thread 1 writes it; "0r5+16" at byte 16 of it."""
    out = []
    for word in text.split():
        thread, _, rest = word.partition("w" if "w" in word else "r")
        line, _, offset = rest.partition("+")
        out.append((int(thread), int(line) * 64 + int(offset or 0), size, "w" in word))
    return out


def check_rows(dir, rows):
    """(what, machine, trace, {key: count}): keys of levels are "L1.misses", others of coherence or memory."""
    for what, levels, text, wanted in rows:
        got = result(dir, {"levels": levels}, lines(text))
        for key, count in wanted.items():
            where, _, name = key.rpartition(".")
            if where.startswith("L"):
                value = got["levels"][int(where[1:]) - 1][name]
            else:
                value = got["memory" if where == "memory" else "coherence"][name]
            equal(value, count, f"{what}: {key}")


# ---- computed by hand ----------------------------------------------------------------

# One set of four lines. 0 1 2 3 fill it, then 0 is used again, 4 is inserted, and then all are
# requested.
FOUR = "0r0 0r1 0r2 0r3 0r0 0r4 "


@test
def replacement_worked_out_by_hand(dir):
    def one(policy):
        return [level(256, 4, policy=policy)]
    check_rows(dir, [
        # 4 replaces 1, the least recently used
        ("lru", one("lru"), FOUR + "0r0 0r2 0r3 0r4", {"L1.misses": 5, "L1.hits": 5}),
        ("lru, the victim", one("lru"), FOUR + "0r1", {"L1.misses": 6}),
        # 4 replaces 0, the first inserted
        ("fifo", one("fifo"), FOUR + "0r1 0r2 0r3 0r4", {"L1.misses": 5, "L1.hits": 5}),
        ("fifo, the victim", one("fifo"), FOUR + "0r0", {"L1.misses": 6}),
        # 4 replaces 3, the last inserted
        ("lifo", one("lifo"), FOUR + "0r0 0r1 0r2 0r4", {"L1.misses": 5, "L1.hits": 5}),
        ("lifo, the victim", one("lifo"), FOUR + "0r3", {"L1.misses": 6}),
        # After 0 1 2 3 0 the root points to the right half, its node to the left one of it: 2
        ("plru", one("plru"), FOUR + "0r0 0r1 0r3 0r4", {"L1.misses": 5, "L1.hits": 5}),
        ("plru, the victim", one("plru"), FOUR + "0r2", {"L1.misses": 6}),
    ])
    a = result(dir, {"levels": [level(256, 4, policy="random")], "seed": 1}, lines("0r0 0r1 0r2 0r3 0r4 " * 50))
    b = result(dir, {"levels": [level(256, 4, policy="random")], "seed": 1}, lines("0r0 0r1 0r2 0r3 0r4 " * 50))
    c = result(dir, {"levels": [level(256, 4, policy="random")], "seed": 2}, lines("0r0 0r1 0r2 0r3 0r4 " * 50))
    equal(a["levels"], b["levels"], "random, the same seed")
    assert 5 < a["levels"][0]["misses"] < 250, a["levels"][0]
    assert a["levels"] != c["levels"], "another seed makes no difference"


@test
def writing_worked_out_by_hand(dir):
    check_rows(dir, [
        # 0 is dirty, and is evicted by 1 (one line); the second level has it, so memory is not
        # written
        ("write-back", [level(64, 1), level(512, 8)], "0w0 0r1 0r0",
         {"L1.misses": 3, "L1.write_backs": 1, "L2.hits": 1, "L2.misses": 2, "memory.writes": 0, "memory.reads": 2}),
        # the same without a second level
        ("write-back to memory", [level(64, 1)], "0w0 0r1 0w1 0r0", {"L1.write_backs": 2, "memory.writes": 2}),
        # each write is passed on; the line is clean when it is evicted
        ("write-through", [level(64, 1, write="through")], "0w0 0w0 0r1", {"L1.hits": 1, "L1.writes_through": 2,
                                                                            "L1.write_backs": 0, "memory.writes": 2}),
        ("write-through into a second level", [level(64, 1, write="through"), level(512, 8)], "0w0 0w0 0r1",
         {"L2.hits": 1, "L2.misses": 2, "memory.writes": 0, "L1.writes_through": 2}),
        # a write that misses inserts nothing
        ("no allocation", [level(256, 4, allocate=False)], "0w0 0w0 0r0 0w0", {"L1.misses": 3, "L1.hits": 1, "memory.reads": 1,
                                                                               "memory.writes": 2}),
        ("no allocation above one that does", [level(256, 4, allocate=False), level(512, 8)], "0w0 0w0 0r0",
         {"L1.misses": 3, "L2.misses": 1, "L2.hits": 2, "memory.writes": 0}),
    ])


@test
def inclusion_worked_out_by_hand(dir):
    def two(inclusion):
        return [level(128, 2), level(128, 2, inclusion=inclusion, share="all")]
    # 0 stays in the first level by being used, and is the oldest of the second, which does not see
    # that use.
    text = "0r0 0r1 0r0 0r2 "
    check_rows(dir, [
        ("neither", two("non-inclusive"), text + "0r0", {"L1.misses": 3, "L1.hits": 2, "L2.back_invalidations": 0}),
        # 2 evicts 0 from the second level; and when 0 is inserted again, it evicts 1
        ("inclusive", two("inclusive"), text, {"L1.misses": 3, "L1.hits": 1, "L2.back_invalidations": 1}),
        ("inclusive, asked again", two("inclusive"), text + "0r0", {"L1.misses": 4, "L1.hits": 1, "L2.back_invalidations": 2}),
        ("inclusive, dirty", two("inclusive"), "0w0 0r1 0r0 0r2", {"L2.back_invalidations": 1, "memory.writes": 1}),
        # both levels together hold four lines
        ("exclusive", two("exclusive"), "0r0 0r1 0r2 0r3 0r0 0r1 0r2 0r3", {"L1.misses": 8, "L2.hits": 4, "memory.reads": 4}),
        ("exclusive, dirty there and back", two("exclusive"), "0w0 0r1 0r2 0r0 0r1 0r3 0r4 0r5 0r6",
         {"memory.writes": 1, "L1.write_backs": 2, "L2.write_backs": 1}),
    ])


@test
def coherence_worked_out_by_hand(dir):
    two = [level(512, 8), level(4096, 8, share="all")]
    none = {"invalidations": 0, "upgrades": 0, "interventions": 0, "dirty_transfers": 0}

    def row(what, text, **counts):
        return (what, two, text, {("." + k if "." not in k else k): v for k, v in {**none, **counts}.items()})
    check_rows(dir, [
        row("I to E, E to M without a word", "0r0 0w0"),
        row("E to S: another reads", "0r0 1r0"),
        row("E to I: another writes", "0r0 1w0", invalidations=1),
        row("M to S: another reads what was written", "0w0 1r0", interventions=1, dirty_transfers=1),
        row("M to I: another writes what was written", "0w0 1w0", invalidations=1, interventions=1, dirty_transfers=1),
        row("S to M: one of two writes", "0r0 1r0 0w0", invalidations=1, upgrades=1),
        row("S to M, three have it", "0r0 1r0 2r0 2w0", invalidations=2, upgrades=1),
        row("after that it is M: no more words", "0r0 1r0 0w0 0w0 0w0", invalidations=1, upgrades=1),
        row("S, the other lost it: still S until written", "0r0 1r0 0w0 0w0", invalidations=1, upgrades=1),
        row("to and fro", "0w0 1w0 0w0 1w0", invalidations=3, interventions=3, dirty_transfers=3),
        row("different lines have nothing to do with each other", "0w0 1w1 0w0 1w1"),
    ])
    check_rows(dir, [
        ("the shared level keeps what was written", two, "0w0 1r0", {"L1.write_backs": 1, "memory.writes": 0}),
        ("a line that was taken is a coherence miss", two, "0r0 1w0 0r0", {"L1.coherence": 1, "L1.cold": 2}),
        ("no shared level: memory gets it", [level(512, 8)], "0w0 1r0", {"memory.writes": 1, "memory.reads": 1}),
        ("no shared level: the other core has it, clean", [level(512, 8)], "0r0 1r0", {".interventions": 1, "memory.reads": 1}),
        ("one core: no coherence at all", [level(512, 8, share="all")], "0w0 1w0 0w0", {".invalidations": 0, "L1.misses": 1}),
    ])


@test
def classes_worked_out_by_hand(dir):
    # Two sets of one line: 0 and 2 compete for one while the other is free; 0 1 2 do not fit at
    # all.
    direct = [level(128, 1)]
    check_rows(dir, [
        ("conflict", direct, "0r0 0r2 0r0 0r2", {"L1.cold": 2, "L1.conflict": 2, "L1.capacity": 0}),
        ("capacity", direct, "0r0 0r1 0r2 0r0", {"L1.cold": 3, "L1.conflict": 0, "L1.capacity": 1}),
        ("fully associative: no conflicts", [level(128, "full")], "0r0 0r2 0r0 0r4 0r0 0r2", {"L1.conflict": 0, "L1.capacity": 1}),
    ])


@test
def false_and_true_sharing_worked_out_by_hand(dir):
    two = [level(512, 8), level(4096, 8, share="all")]
    check_rows(dir, [
        ("two counters in one line", two, "0w0+0 1w0+8 " * 10, {".false_sharing": 18, ".true_sharing": 0}),
        ("one counter", two, "0w0+0 1w0+0 " * 10, {".false_sharing": 0, ".true_sharing": 18}),
        ("two counters in two lines", two, "0w0 1w1 " * 10, {".false_sharing": 0, ".true_sharing": 0, ".invalidations": 0}),
        # the miss is for a byte that no core wrote, but a written byte is read before the line is
        # lost again
        ("true, as it turns out", two, "0r0+0 0r0+8 1w0+8 0r0+0 0r0+8", {".false_sharing": 0, ".true_sharing": 1}),
        ("false, as nothing else is read", two, "0r0+0 0r0+8 1w0+8 0r0+0 0r0+16", {".false_sharing": 1, ".true_sharing": 0}),
    ])
    got = result(dir, {"levels": two}, lines("7w0+0 9w0+8 " * 10 + "7w5 9r5"))
    worst = got["shared_lines"][0]
    equal((worst["address"], worst["invalidations"], worst["false_misses"]), ("0x0", 19, 18), "the line")
    equal({t["id"]: t["bytes_written"] for t in worst["threads"]}, {7: [[0, 7]], 9: [[8, 15]]}, "bytes")
    equal({(t["by"], t["from"]): t["invalidations"] for t in worst["taken"]}, {(9, 7): 10, (7, 9): 9}, "who from whom")


@test
def accesses_over_several_lines(dir):
    got = result(dir, {"levels": [level(4096, 4)]}, [(0, 60, 8, False)] * 3 + [(0, 0, 255, True), (0, 300, 0, False)])
    l1 = got["levels"][0]
    equal((l1["read_misses"], l1["read_hits"], l1["write_misses"], l1["write_hits"]), (2, 4, 2, 2), "lines")
    equal((got["accesses"], got["straddles"], got["empty"]), (5, 4, 1), "accesses")


# ---- textbook cases ----------------------------------------------------------------------

@test
def beladys_anomaly_shows_under_fifo_and_not_under_lru(dir):
    text = " ".join(f"0r{n}" for n in (1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5))
    faults = {(p, n): result(dir, {"levels": [level(64 * n, "full", policy=p)]}, lines(text))["levels"][0]["misses"]
              for p in ("fifo", "lru") for n in (3, 4)}
    equal(faults, {("fifo", 3): 9, ("fifo", 4): 10, ("lru", 3): 10, ("lru", 4): 8}, "misses with 3 and 4 frames")


@test
def a_larger_lru_cache_never_misses_more(dir):
    rng = random.Random(4)
    for sets in (1, 4, 16):
        accesses = [(0, int(rng.paretovariate(0.7)) % 4096 * 64, 8, rng.random() < 0.3) for _ in range(6000)]
        misses = [result(dir, {"levels": [level(64 * sets * ways, ways)]}, accesses)["levels"][0]["misses"]
                  for ways in (1, 2, 3, 4, 8, 16, 40, 64)]
        equal(misses, sorted(misses, reverse=True), f"misses of growing caches of {sets} sets")
        assert misses[0] > misses[-1], misses


# They take turns, so that they run at the same time on any machine.
FALSE_SHARING = """
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#define PAD %d
struct counters { long a; char pad[PAD]; long b; } __attribute__((aligned(64))) c;
static atomic_int turn __attribute__((aligned(64)));
static void *count(void *p)
{
	volatile long *n = p;
	int me = p == &c.b;
	for (int i = 0; i < 400; i++) {
		while (atomic_load(&turn) != me)
			sched_yield();
		for (int k = 0; k < 100; k++)
			++*n;
		atomic_store(&turn, !me);
	}
	return p;
}
int main(void)
{
	pthread_t a, b;
	pthread_create(&a, 0, count, &c.a);
	pthread_create(&b, 0, count, &c.b);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
"""


@test
def two_counters_of_a_real_program(dir):
    lines_of = {}
    for pad in (8, 120):
        source, trace = os.path.join(dir, f"fs{pad}.c"), os.path.join(dir, f"fs{pad}.trace")
        with open(source, "w", encoding="utf-8") as f:
            f.write(FALSE_SHARING % pad)
        program = compile(dir, f"fs{pad}", "gcc", "-O1", source=source)
        subprocess.run([TOOL, "mem", "run", "-q", "-o", trace, "--", program], check=True, env=CLEAN, capture_output=True)
        got = json.loads(sim("--json", "--blame", "--cache", "32K,8", "--cache", "8M,16", trace).stdout)
        lines_of[pad] = [line for line in got["shared_lines"] if {f["name"] for f in line.get("fields", [])} & {"c.a", "c.b"}]
    assert lines_of[8] and lines_of[8][0]["false_misses"] > 100, lines_of[8]
    equal({f["name"] for f in lines_of[8][0]["fields"]}, {"c.a", "c.b"}, "fields that share a line")
    assert lines_of[8][0]["true_misses"] * 10 < lines_of[8][0]["false_misses"], lines_of[8][0]
    equal([line for line in lines_of[120] if line["false_misses"] > 2], [], "lines falsely shared with padding")


# ---- the command -----------------------------------------------------------------------------

@test
def machines_from_everywhere(dir):
    trace = raw(os.path.join(dir, "t"), lines("0r0 0r1 1w0"))
    shown = json.loads(sim("--show", "--cache", "L1=48K,12,64,plru,next-line".replace("12", "16").replace("48K", "64K"),
                           "--cache", "LL=3M,12,64,inclusive", "--tlb", "64,4", "--page", "2M").stdout)
    equal([(x["name"], x["size"], x["ways"], x["policy"], x["share"]) for x in shown["levels"]],
          [("L1", 65536, 16, "plru", 1), ("LL", 3 << 20, 12, "lru", "all")], "levels of the command line")
    machine = os.path.join(dir, "m.json")
    with open(machine, "w", encoding="utf-8") as f:
        json.dump(shown, f)
    equal(json.loads(sim("--show", "--config", machine).stdout), shown, "what --show prints, read again")
    suite = os.path.join(dir, "suite.json")
    with open(suite, "w", encoding="utf-8") as f:
        json.dump({"caches": [{"name": "L1", "cache_size": 15, "block_size": 6, "write_policy": 0, "set_assoc": 8, "rep_policy": p}
                              for p in range(5)]}, f)
    got = json.loads(sim("--json", "--config", suite, trace).stdout)
    equal([x["policy"] for x in got["machine"]["levels"]], ["lru", "fifo", "lifo", "lifo", "random"], "the suite's policies")
    equal((got["cores"], got["machine"]["levels"][0]["size"]), (1, 32768), "one chain for all threads")
    host = sim("--show", "--host", status=None)
    if host.returncode == 0:
        assert json.loads(host.stdout)["levels"][0]["size"] >= 4096, host.stdout
    else:
        contains(host.stderr, "describes no data cache")


@test
def every_form_says_the_same(dir):
    trace = raw(os.path.join(dir, "t"), lines("5r0 5w1 6w0 6r1 5r0 " * 20))
    args = ("--cache", "1K,4", "--cache", "4K,8", trace)
    got = json.loads(sim("--json", *args).stdout)
    rows = list(csv.DictReader(io.StringIO(sim("--csv", *args).stdout)))
    equal([r["thread"] for r in rows], ["all", "all", "5", "5", "6", "6"], "rows of CSV")
    for k in (0, 1):
        equal(int(rows[k]["read_misses"]) + int(rows[k]["write_misses"]), got["levels"][k]["misses"], "misses in CSV")
        equal(sum(t["levels"][k]["misses"] for t in got["threads"]), got["levels"][k]["misses"], "misses of threads")
        equal(got["levels"][k]["hits"] + got["levels"][k]["misses"],
              sum(int(rows[k][key]) for key in ("reads", "writes")), "hits and misses")
        l = got["levels"][k]
        equal(l["cold"] + l["capacity"] + l["conflict"] + l["coherence"], l["misses"], "classes add up")
    text = sim(*args).stdout
    contains(text, "2 threads on 2 cores")
    contains(text, "lines that cores take from each other")
    assert max(map(len, text.splitlines())) <= 100, text
    bare = json.loads(sim("--json", "--no-classes", *args).stdout)
    equal([l["misses"] for l in bare["levels"]], [l["misses"] for l in got["levels"]], "misses without classes")
    equal(bare["levels"][0]["coherence"], got["levels"][0]["coherence"], "coherence without classes")
    for threads in (1, 2):
        equal(json.loads(sim("--json", "--threads", threads, *args).stdout), got, f"with --threads {threads}")


@test
def a_second_thread_of_the_tool_changes_no_result(dir):
    # More accesses of one thread than a batch has.
    text = " ".join(f"5{'rw'[i % 3 == 0]}{i * 37 % 900}" for i in range(30000))
    trace = raw(os.path.join(dir, "t"), lines(text))
    for caches in (("--cache", "1K,4", "--cache", "16K,8"), ("--cache", "2K,8", "--cache", "8K,16", "--cache", "24K,full")):
        one, two = (json.loads(sim("--json", "--threads", n, *caches, trace).stdout) for n in (1, 2))
        equal(two, one, "with two threads")
        assert one["levels"][0]["capacity"] and one["levels"][-1]["cold"], one["levels"]


@test
def threads_are_put_where_one_wants_them(dir):
    trace = raw(os.path.join(dir, "t"), lines("5w0 6w0 7w0 8w0 " * 10))
    args = ("--json", "--cache", "1K,4", "--cache", "4K,8")
    equal(json.loads(sim(*args, trace).stdout)["cores"], 4, "one core each")
    equal(json.loads(sim(*args, "--cores", 1, trace).stdout)["coherence"]["invalidations"], 0, "one core")
    got = json.loads(sim(*args, "--cores", 2, "--map", "5=1,6=1", "--map", "7=0,8=0", trace).stdout)
    equal({t["id"]: t["core"] for t in got["threads"]}, {5: 1, 6: 1, 7: 0, 8: 0}, "cores of threads")
    equal(got["coherence"]["invalidations"], 19, "from core to core")
    contains(sim("--cores", 2, "--map", "5=2", trace, status=2).stderr, "--map: core 2")
    for bad in ("5", "5=", "=1", "5=x", "5=1;6=1", "5=1,", ",5=1", "-5=1", "5=-1", ""):
        contains(sim("--map", bad, trace, status=2).stderr, "--map")


@test
def only_what_is_wanted(dir):
    trace = raw(os.path.join(dir, "t"), lines("5r0 5r1 6r2 6r9"))
    args = ("--json", "--cache", "4K,8")
    got = json.loads(sim(*args, "--thread", 5, trace).stdout)
    equal((got["simulated"], got["left_aside"]), (2, 2), "one thread")
    equal(json.loads(sim(*args, "--range", "0x40+128", trace).stdout)["simulated"], 2, "a range")
    contains(sim("--cache", "4K,8", "--from-mark", "here", trace, status=1).stderr, "no mark 'here'")
    marks = os.path.join(dir, "marks.c")
    with open(marks, "w", encoding="utf-8") as f:
        f.write("#include <cacheray.h>\nvolatile int x[1000];\nint main(void)\n{\n"
                "for (int i = 0; i < 1000; i++) x[i] = i;\ncacheray_mark(1, \"begin\");\n"
                "for (int i = 0; i < 500; i++) x[i] = i;\ncacheray_mark(2, \"end\");\n"
                "for (int i = 0; i < 1000; i++) x[i] = i;\nreturn 0;\n}\n")
    program = compile(dir, "marks", "gcc", "-O1", f"-I{ROOT / 'include'}", source=marks)
    trace = os.path.join(dir, "marks.trace")
    subprocess.run([TOOL, "mem", "run", "-q", "-o", trace, "--", program], check=True, env=CLEAN)
    got = {key: json.loads(sim(*args, *more, trace).stdout)["writes"] for key, more in
           (("all", ()), ("between", ("--from-mark", "begin", "--to-mark", "end")), ("from", ("--from-mark", "end")))}
    equal(got, {"all": 2500, "between": 500, "from": 1000}, "writes")


@test
def samples_stand_for_more_and_what_is_missing_is_told(dir):
    source, trace = os.path.join(dir, "s.c"), os.path.join(dir, "s.trace")
    with open(source, "w", encoding="utf-8") as f:
        f.write("volatile int x[4096];\nint main(void)\n{\nfor (int k = 0; k < 50; k++)\n"
                "for (int i = 0; i < 4096; i++) x[i] = i;\nreturn 0;\n}\n")
    program = compile(dir, "s", "gcc", "-O1", source=source)
    subprocess.run([TOOL, "mem", "run", "-q", "-o", trace, "--", program], check=True,
                   env=dict(CLEAN, CACHERAY_OPTIONS="sample=1000/10000"))
    got = json.loads(sim("--json", "--cache", "4K,8", trace).stdout)
    equal(got["sampled"], True, "sampled")
    assert abs(got["writes"] - 204800) < 20480, got["writes"]
    assert got["simulated"] < 40000 and got["left_out"] > 100000, got
    contains(sim("--cache", "4K,8", trace).stdout, "the trace is a sample")


@test
def damaged_traces_are_read_as_far_as_they_go(dir):
    trace = raw(os.path.join(dir, "t"), lines("0r0 0r1 0r2"))
    with open(trace, "ab") as f:
        f.write(b"\x01\x02\x03")
    r = sim("--json", "--cache", "4K,8", trace, status=1)
    equal(json.loads(r.stdout)["simulated"], 3, "what could be read")
    contains(r.stderr, "mem check")
    contains(sim(os.path.join(dir, "none"), status=1).stderr, "cannot open")
    contains(sim(status=2).stderr, "missing argument TRACE")


@test
def bad_machines_are_refused_with_the_name_of_what_is_wrong(dir):
    for spec, words in (("32K", "SIZE,WAYS"), ("32K,0x8", "ways"), ("32K,8,60", "power of two"), ("32K,8,16", "power of two"),
                        ("33K,7", "sets of 7 ways"), ("100,1", "multiple of the line size"), ("-1,8", "size"), ("32K,8,64,lruu", "lruu"),
                        ("99999999999999999999,8", "size"), ("64G,8", "GiB"), ("32K,600", "600 ways"), ("48K,12,64,plru", "plru"),
                        ("32K,128", "at most 64"), ("32K,8,64,inclusive", "first level")):
        contains(sim("--show", "--cache", spec, status=2).stderr, words)
    for more, words in ((("--cache", "32K,8", "--cache", "1M,8,32"), "shorter"), (("--cache", "32K,8", "--host"), "exclude"),
                        (("--cache", "32K,8,64,share=all", "--cache", "1M,8,64,share=1"), "shared by all"),
                        (("--cache", "32K,8", "--cache", "1M,8,128,share=1"), "cores have their own"),
                        (("--cache", "32K,8,64,write-through", "--cache", "1M,8,64,exclusive"), "write-back"),
                        (("--tlb", "0"), "entries"), (("--tlb", "64,7"), "sets of 7"), (("--page", "5000"), "power of two"),
                        (("--cores", "0"), "--cores"), (("--cores", "5000"), "--cores"), (("--config", "/nonexistent"), "cannot open")):
        contains(sim("--show", *more, status=2).stderr, words)


@test
def bad_configurations_name_the_key(dir):
    path = os.path.join(dir, "m.json")
    good = {"size": "32K", "ways": 8}
    for config, words in (
            ("", "line 1"), ("[]", "no \"levels\""), ("{}", "no \"levels\""), ("{\"levels\": 3}", "levels: expected a list"),
            ("{\"levels\": []}", "0 levels"), ("{\"levels\": [{}]}", "levels[0].size: it is missing"),
            ("{\"levels\": [1]}", "levels[0]: expected an object"), ("{\"levels\": [{\"size\": 1024}]}", "levels[0].ways"),
            (json.dumps({"levels": [good] * 7}), "too many"), (json.dumps({"levels": [dict(good, sise=3)]}), "levels[0].sise"),
            (json.dumps({"levels": [good, dict(good, size=-1)]}), "levels[1].size"),
            (json.dumps({"levels": [dict(good, size=1.5)]}), "levels[0].size"),
            (json.dumps({"levels": [dict(good, size="32Q")]}), "levels[0].size"),
            (json.dumps({"levels": [dict(good, ways="many")]}), "levels[0].ways"),
            (json.dumps({"levels": [dict(good, ways=1 << 40)]}), "levels[0].ways"),
            (json.dumps({"levels": [dict(good, line=48)]}), "power of two"),
            (json.dumps({"levels": [dict(good, policy="mru")]}), "levels[0].policy"),
            (json.dumps({"levels": [dict(good, write="around")]}), "levels[0].write"),
            (json.dumps({"levels": [dict(good, allocate=1)]}), "levels[0].allocate"),
            (json.dumps({"levels": [dict(good, name="x" * 99)]}), "levels[0].name"),
            (json.dumps({"levels": [dict(good, name="a\nb")]}), "levels[0].name"),
            (json.dumps({"levels": [good], "cores": -1}), "cores"), (json.dumps({"levels": [good], "cores": 99999}), "99999 cores"),
            (json.dumps({"levels": [good], "page": 3}), "page"), (json.dumps({"levels": [good], "tlb": [{}]}), "tlb[0].entries"),
            (json.dumps({"levels": [good], "speed": 3}), "speed: there is no such key"),
            ("{\"levels\": [], \"levels\": []}", "duplicate"),
            (json.dumps({"caches": [{"cache_size": 15}]}), "caches[0].block_size"),
            (json.dumps({"caches": [{"cache_size": 99, "block_size": 6, "set_assoc": 8, "rep_policy": 0}]}), "caches[0].cache_size"),
            (json.dumps({"caches": [{"cache_size": 15, "block_size": 6, "set_assoc": 8, "rep_policy": 9}]}), "caches[0].rep_policy"),
            (json.dumps({"caches": [{"cache_size": 15, "block_size": 2, "set_assoc": 8, "rep_policy": 0}]}), "power of two")):
        with open(path, "w", encoding="utf-8") as f:
            f.write(config)
        r = sim("--show", "--config", path, status=2)
        equal(r.stdout, "", f"stdout for {config}")
        contains(r.stderr, words)


if __name__ == "__main__":
    main()
