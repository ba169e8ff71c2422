# SPDX-License-Identifier: MIT
"""test_lanes.py - no loss and no limit: patterns that overrun rings of eight slots, with real processes.

Traces go through a pipe to a checker (lanes_target check), which checks every event: it is
present once, in its coroutine's order, with time going forward.  The program's own count, and
never the collector's alone, is the number of events written.
"""
import re

from harness import *

PROGRAM = os.environ.get("LANES_TARGET", "build/tests/lanes_target")
READER_002 = os.environ.get("READER_002", "build/tests/interop/reader_002")

# A sanitized collector is some ten times slower; the patterns are the same.
SLOW = bool(os.environ.get("SANITIZE"))
FULL = os.environ.get("COROTRACER_FULL") == "1"


def many(n):
    """A tenth of them without COROTRACER_FULL=1: buffers are filled many times over all the same."""
    return n if FULL and not SLOW else n // 10


class Judged:
    """One run: the collector's summary, the program's output, the checker's result."""

    def __init__(self, status, err, report):
        self.status, self.err = status, err
        summaries = [line for line in err.splitlines() if line.startswith("{")]
        equal(len(summaries), 1, f"summaries in\n{err}")
        self.summary = json.loads(summaries[0])
        said = re.search(r"^target: (\d+) events of (\d+)$", err, re.M)
        self.events, self.coroutines = (int(said[1]), int(said[2])) if said else (None, None)
        self.report = json.loads(report)


def judged(*target, options=(), **kwargs):
    """`corotracer run -o -` on the target, the trace piped into the checker."""
    judge = popen(PROGRAM, "check", stdin=subprocess.PIPE)
    p = popen(TOOL, "run", "--json", "-o", "-", *options, "--", PROGRAM, *target, stdout=judge.stdin, **kwargs)
    judge.stdin.close()
    err = p.stderr.read()
    p.wait()
    return Judged(p.returncode, err, judge.stdout.read())


def judge_file(path):
    with open(path, encoding="ascii") as f:
        p = popen(PROGRAM, "check", stdin=f)
        out, err = p.communicate(timeout=300)
    equal(p.returncode, 0, err)
    return json.loads(out)


def check_counts(r):
    """Every loss is counted."""
    s = r.summary
    equal(r.status, 0, f"status; stderr was\n{r.err}")
    equal(s["written"], r.events, "written, by the program's own count")
    equal(s["collected"] + s["lost"], s["written"], "collected + lost")
    equal(r.report["events"], s["collected"], "events in the trace")
    equal((s["garbage"], s["lanes"]["broken"]), (0, 0), "garbage, broken lanes")
    equal((r.report["broken"], r.report["back_coroutine"], r.report["back_thread"]), (0, 0, 0),
          "coroutines with events out of order, times that went back in a coroutine, in a thread")


def check_all(r):
    """Every event of every coroutine, in order."""
    check_counts(r)
    equal((r.summary["lost"], r.summary["without_station"]), (0, 0), "lost, coroutines without room")
    equal(r.summary["coroutines"], r.coroutines, "coroutines")
    equal((r.report["complete"], r.report["in_order"]), (r.report["ids"], 0), "complete coroutines")
    others = r.summary["others"]
    equal((others["lost"], others["birth"], others["end"]), (0, r.coroutines, r.coroutines), "births and ends")


# ---- patterns that overrun rings of eight ---------------------------------------------------


@test
def coroutines_at_full_speed_are_complete_three_times_in_a_row(dir):
    events = 1280000 if FULL else 320000
    for _ in range(3):
        r = judged("turns", 64, events)
        check_all(r)
        equal((r.report["events"], r.report["ids"]), (events, 64), "events, coroutines")


@test
def millions_of_events_of_one_coroutine_are_complete_where_it_waits(dir):
    r = judged("turns", 1, many(10000000), options=["--on-full", "block=60000", "--buffer", "4M"])
    check_all(r)
    assert r.summary["lanes"]["waits"] > 0, "it never had to wait, so nothing was tested"


@test
def millions_of_events_of_one_coroutine_are_counted_where_they_are_dropped(dir):
    r = judged("turns", 1, many(10000000), options=["--buffer", "1M"])
    check_counts(r)
    assert r.summary["lost"] > 0, "nothing was lost, so nothing was tested"
    equal(r.summary["lost"], r.summary["lost_full"], "lost for want of room")
    equal(r.report["ids"], 1, "coroutines")


@test
def one_hot_coroutine_of_a_thousand_is_complete(dir):
    r = judged("one-hot", 1000, 1000000)
    check_all(r)
    equal(r.report["ids"], 1000, "coroutines")


@test
def bursts_of_64_are_complete(dir):
    check_all(judged("bursts", 64, 1000000 if FULL else 250000))


@test
def two_and_four_threads_at_full_speed_are_complete(dir):
    for threads in 2, 4:
        r = judged("threads", threads, many(1000000))
        check_all(r)
        equal(r.summary["lanes"]["opened"], threads, "lanes")


@test
def coroutines_that_wander_between_threads_are_in_order(dir):
    for threads, coroutines in (2, 3), (4, 64):
        check_all(judged("wander", threads, coroutines, 400000 if FULL else 200000))


@test
def without_membarrier_they_are_complete_too(dir):
    r = judged("threads", 2, 100000, env=dict(os.environ, COROTRACER_NO_MEMBARRIER="1"))
    check_all(r)


# ---- exact loss ---------------------------------------------------------------------------------


@test
def what_a_stopped_collector_missed_is_counted_in_all_and_for_each_coroutine(dir):
    trace = dir + "/t"
    status, _, err = tool("run", "--json", "-o", trace, "--buffer", "512K", "--", PROGRAM, "stopped", 20, 200000)
    r = Judged(status, err, json.dumps(judge_file(trace)))
    check_counts(r)
    # The buffer holds eight chunks of 2047 records.
    assert r.summary["lost"] >= 200000 - 8 * 2047, r.summary
    each = {c["probe_id"]: c for c in Run(status, "", err, trace).coroutines()}
    equal(len(each), 20, "coroutines in the sidecar")
    for c in each.values():
        equal((c["written"], c["written"] - c["lost"]), (10000, c["collected"]), f"counts of {c}")
    equal(sum(c["lost"] for c in each.values()), r.summary["lost"], "lost, summed over the coroutines")
    equal(sum(c["collected"] for c in each.values()), r.report["events"], "collected, likewise")
    gaps = [g for g in Run(status, "", err, trace).sidecar if g["type"] == "gap"]
    equal(sum(g["transitions"] for g in gaps), r.summary["lost"], "lost, summed over the gaps")


@test
def coroutines_never_ended_are_counted_for_each_too(dir):
    trace = dir + "/t"
    status, _, err = tool("run", "--json", "-o", trace, "--buffer", "512K", "--", PROGRAM, "untold", 20, 2000000)
    r = Judged(status, err, json.dumps(judge_file(trace)))
    check_counts(r)
    each = Run(status, "", err, trace).coroutines()
    equal(len(each), 20, "coroutines in the sidecar")
    equal(sum(c["written"] for c in each), 2000000, "written, summed over the coroutines")
    equal(sum(c["lost"] for c in each), r.summary["lost"], "lost, summed over the coroutines")


@test
def threads_that_find_no_lane_are_counted_to_the_event(dir):
    r = judged("many-threads", 40, 1000, options=["--buffer", "512K"])
    check_counts(r)
    assert r.summary["lost"] > 0, "every thread found a lane, so nothing was tested"
    equal(r.summary["lost"] % 1000, 0, "lost: whole threads")


@test
def threads_that_need_all_of_the_buffer_wait_and_lose_nothing(dir):
    """Six threads, eight chunks: a chunk that one thread keeps without need blocks another thread for ever."""
    check_all(judged("threads", 6, many(200000), options=["--buffer", "512K", "--on-full", "block=60000"]))


# ---- any number ------------------------------------------------------------------------------------


@test
def short_lived_coroutines_without_end_need_no_more_memory(dir):
    """640, then hundreds of thousands (64 alive at a time); the memory behind the stations does not grow."""
    small = ["--buffer", "4M", "--on-full", "block=60000"]
    few = judged("short", 640, 64, options=small)
    lots = judged("short", many(1000000), 64, options=small)
    for r in few, lots:
        check_all(r)
        # Ids are consecutive: as many ids as the highest id means that all are distinct.
        equal((r.report["ids"], r.report["max_id"]), (r.coroutines, r.coroutines), "distinct ids")
    most = few.summary["region_bytes"] + (4 << 20)
    assert lots.summary["region_bytes"] <= most, f"{few.summary['region_bytes']} then {lots.summary['region_bytes']}"


@test
def with_default_settings_they_are_complete_too(dir):
    r = judged("short", many(1000000), 64)
    check_all(r)
    equal(r.report["ids"], r.coroutines, "distinct ids")


@test
def a_million_coroutines_at_once_are_complete(dir):
    n = 100000 if SLOW else 1000000
    r = judged("alive", n)
    check_all(r)
    equal((r.report["ids"], r.report["max_id"]), (n, n), "distinct ids")
    grew = int(re.search(r"collector grew by (\d+) bytes", r.err)[1])
    print(f"# {n} alive: region {r.summary['region_bytes'] / n:.0f} bytes each (events not read yet included), "
          f"collector {grew / n:.1f} bytes each")
    # A coroutine's own memory does not depend on how many there are.
    assert grew < 64 * n + (16 << 20), f"the collector grew by {grew} bytes"


@test
def coroutines_that_end_where_they_did_not_begin_need_no_more_memory(dir):
    small = ["--buffer", "4M", "--on-full", "block=60000"]
    few = judged("pass", 2000, options=small)
    lots = judged("pass", 30000 if SLOW else 300000 if FULL else 100000, options=small)
    check_all(few)
    check_all(lots)
    most = few.summary["region_bytes"] + (4 << 20)
    assert lots.summary["region_bytes"] <= most, f"{few.summary['region_bytes']} then {lots.summary['region_bytes']}"


@test
def a_thousand_threads_that_come_and_go_are_complete(dir):
    r = judged("churn", 1000)
    check_all(r)
    equal(r.events, 20000, "events")
    equal(r.summary["lanes"]["opened"], 1000, "lanes, one after another")


@test
def a_thousand_threads_need_the_lanes_of_those_there_at_once(dir):
    """Lanes are given back when their thread has ended and they are read, so a small buffer is enough."""
    r = judged("churn", 1000, options=["--buffer", "8M", "--on-full", "block=60000"])
    check_all(r)


# ---- processes ------------------------------------------------------------------------------------------


@test
def forked_children_have_lanes_of_their_own(dir):
    r = judged("forks", 5, 20000)
    check_all_but_inherited(r)
    equal(r.summary["connected"], 6, "processes")


def check_all_but_inherited(r):
    check_counts(r)
    equal(r.summary["lost"], 0, "lost")
    equal((r.report["complete"], r.report["ids"]), (r.coroutines, r.coroutines), "complete coroutines")


@test
def a_process_whose_first_thread_left_is_not_gone(dir):
    r = judged("leader", 500)
    check_counts(r)
    equal((r.events, r.summary["lost"]), (10000, 0), "events, lost")


@test
def a_killed_program_leaves_all_that_it_wrote(dir):
    trace = dir + "/t"
    for _ in range(3):
        p = popen(TOOL, "run", "--json", "-o", trace, "--on-full", "block=60000", "--buffer", "4M", "--",
                  PROGRAM, "endless", 64)
        equal(p.stderr.readline(), "ready\n", "the program")
        # More than 10,000 events, which have 80 bytes and more each.
        wait_until(lambda: os.path.exists(trace) and os.path.getsize(trace) > 2000000, "events")
        children = open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii").read().split()
        os.kill(int(children[-1]), signal.SIGKILL)
        _, err = p.communicate(timeout=300)
        s = json.loads(err.splitlines()[-1])
        report = judge_file(trace)
        equal((s["signal"], s["lost"], s["garbage"]), (9, 0, 0), "signal, lost, garbage")
        equal(report["events"], s["written"], "events in the trace")
        assert s["written"] > 10000, s
        # Every published event is present, and no other.
        equal((report["complete"], report["ids"], report["broken"]), (64, 64, 0), "complete coroutines")


@test
def a_killed_collector_does_not_keep_the_program(dir):
    events, pause_s = (4000000, 0.1) if FULL else (1200000, 0.03)
    for options in [], ["--on-full", "block=200", "--buffer", "1M"]:
        done, started = dir + "/done", f"{dir}/started-{len(options)}"
        p = popen(TOOL, "run", "-o", dir + "/t", *options, "--", "sh", "-c",
                  f"echo > {started}; {words(PROGRAM)} threads 2 {400000 if SLOW else events} 2>/dev/null; echo $? > {done}")
        wait_until(lambda: os.path.exists(started), "the program")
        time.sleep(pause_s)
        p.kill()
        p.wait()
        wait_until(lambda: os.path.exists(done) and os.path.getsize(done), "the program's end")
        with open(done, encoding="ascii") as f:
            equal(f.read(), "0\n", "the program's exit status")
        os.unlink(done)
        p.stdout.close()
        p.stderr.close()
        # The last write may be cut short; everything before it is whole.
        with open(dir + "/t", encoding="ascii") as f:
            lines = f.readlines()
        with open(dir + "/whole", "w", encoding="ascii") as f:
            f.writelines(line for line in lines if line.endswith("}\n"))
        assert all(line.endswith("}\n") for line in lines[:-1]), "a line cut in the middle of the trace"
        report = judge_file(dir + "/whole")
        equal((report["broken"], report["back_coroutine"]), (0, 0), "coroutines out of order")
        sweep(p)


@test
def many_programs_one_after_another_use_the_same_lanes(dir):
    """A thread that runs when its process ends cannot give its lane back."""
    # Room for half of them; the others wait until the collector has freed what the dead ones left.
    p = popen(TOOL, "collect", "--json", "-o", dir + "/t", "--buffer", "2M", "--on-full", "block=20000")
    line = p.stdout.readline()
    for i in range(60):
        kind = "turns 2 100" if i % 2 else "untold 2 100"
        subprocess.run(["sh", "-c", f"{line.strip()}; exec {words(PROGRAM)} {kind}"], check=True, stderr=subprocess.PIPE)
    p.send_signal(signal.SIGTERM)
    _, err = p.communicate(timeout=300)
    s = json.loads(err.splitlines()[-1])
    equal((s["written"], s["collected"], s["lost"]), (6000, 6000, 0), "written, collected, lost")
    equal((s["coroutines"], s["lanes"]["opened"]), (120, 60), "coroutines, lanes")


# ---- no room ------------------------------------------------------------------------------------------------


def on_small_tmpfs(dir, size, command):
    flags = "-m" if os.geteuid() == 0 else "-rm"
    script = f"mkdir {dir}/small && mount -t tmpfs -o size={size} none {dir}/small && {command}"
    p = subprocess.run(["unshare", flags, "sh", "-c", script], capture_output=True, text=True, check=False)
    if "unshare:" in p.stderr or "mount:" in p.stderr:
        raise Skip("no mounts of our own here: " + p.stderr.strip())
    return p


@test
def a_full_tmpfs_is_no_reason_to_die(dir):
    """Events first: chunks run out.  Then coroutines: lives run out."""
    trace = dir + "/t"
    run_it = words(TOOL, "run", "--json", "-n", 16, "--shm", dir + "/small/r", "--buffer", "256M", "-o", trace, "--")
    p = on_small_tmpfs(dir, "4m", f"{run_it} {words(PROGRAM, 'stopped', 10, 1000000)}")
    r = Judged(p.returncode, p.stderr, json.dumps(judge_file(trace)))
    check_counts(r)
    assert r.summary["lost"] > 800000, r.summary
    os.rmdir(dir + "/small")
    n = 100000
    p = on_small_tmpfs(dir, "4m", f"{run_it} {words(PROGRAM, 'alive', n)}")
    equal(p.returncode, 0, p.stderr)
    r = Judged(p.returncode, p.stderr, json.dumps(judge_file(trace)))
    s = r.summary
    equal(s["coroutines"] + s["without_station"], n, "coroutines, with those that found no room")
    assert s["without_station"] > 0, s
    equal(s["collected"] + s["lost"], s["written"], "collected + lost")
    equal(s["written"], 2 * s["coroutines"], "written")
    equal((r.report["broken"], s["garbage"]), (0, 0), "broken, garbage")


@test
def a_full_disk_under_the_trace_is_told_and_the_program_goes_on(dir):
    command = (words(TOOL, "run", "--json", "-o", dir + "/small/t", "--", PROGRAM, "turns", 64, 200000) +
               f"; echo status $? >&2; cp {dir}/small/t {dir}/copy")
    p = on_small_tmpfs(dir, "2m", command)
    contains(p.stderr, "status 1")
    contains(p.stderr, "target: 200000 events of 64")
    s = json.loads([line for line in p.stderr.splitlines() if line.startswith("{")][0])
    report = judge_file(dir + "/copy")
    equal(s["collected"] + s["lost"], 200000, "collected + lost")
    assert s["lost_output"] > 0 and "No space" in s["error"], s
    equal((report["events"], report["broken"]), (s["collected"], 0), "events in the trace, broken")


# ---- time ------------------------------------------------------------------------------------------------------


@test
def every_event_has_the_time_of_the_clock_to_10_us(dir):
    n = 50000
    status, _, err = tool("run", "--json", "-o", dir + "/t", "--", PROGRAM, "clock", n, dir + "/times")
    equal(status, 0, err)
    with open(dir + "/t", encoding="ascii") as f:
        got = [int(line[line.rindex(":") + 1:-2]) for line in f]
    with open(dir + "/times", encoding="ascii") as f:
        wanted = [tuple(map(int, line.split())) for line in f]
    equal(len(got), n, "events")
    equal(got, sorted(got), "order of time")
    off = [max(before - ts, ts - after, 0) for ts, (before, after) in zip(got, wanted)]
    # Where the program was interrupted in between, any time is right.
    tight = sum(1 for before, after in wanted if after - before < 10000)
    assert tight > n // 2, f"only {tight} of {n} events say anything"
    print(f"# {tight} of {n} events within 10 us of two looks at the clock, the worst {max(off)} ns off")
    assert max(off) <= 10000, f"an event {max(off)} ns off"


# ---- a cTP 0.x collector
# ---------------------------------------------------------------------------------------


def foreign(dir, *target, stations=64):
    trace = dir + "/foreign"
    p = popen(READER_002, "-n", stations, "-o", trace, PROGRAM, *target)
    _, err = p.communicate(timeout=300)
    equal(p.returncode, 0, err)
    said = json.loads([line for line in err.splitlines() if line.startswith("{")][0])
    equal((said["exit_status"], said["strange_bytes"], said["bytes_beyond_protocol"]), (0, 0, 0), err)
    by_id = {}
    with open(trace, encoding="ascii") as f:
        for line in f:
            e = json.loads(line)
            by_id.setdefault(e["probe_id"], []).append(e)
    return said, by_id


def check_foreign(by_id):
    """What it read of a coroutine is right: numbers, alternation and times match."""
    for events in by_id.values():
        events.sort(key=lambda e: e["ts"])
        last = -1
        for e in events:
            addr = int(e["addr"], 16)
            equal(addr == 0, e["is_active"], "a resume, by its address")
            if addr:
                assert addr > last and addr % 2 == 1, f"{addr} after {last}"
                equal(e["seq"], 2 * (addr // 8) + 2, "seq")
                last = addr


@test
def a_foreign_collector_finds_what_its_stations_hold(dir):
    said, by_id = foreign(dir, "turns", 64, 128000)
    equal((said["written"], said["allocated"], said["dead"]), (128000, 64, 64), "written, allocated, dead")
    equal(len(by_id), 64, "coroutines")
    check_foreign(by_id)
    said, by_id = foreign(dir, "bursts", 16, 100000)
    equal(said["written"], 100000, "written")
    check_foreign(by_id)
    said, by_id = foreign(dir, "threads", 4, 50000)
    equal((said["written"], said["allocated"]), (200000, 64), "written, allocated")
    check_foreign(by_id)


@test
def a_foreign_collector_has_a_station_for_the_first_and_no_more(dir):
    said, by_id = foreign(dir, "short", 640, 64, stations=128)
    equal((said["allocated"], said["written"], said["dead"]), (640, 4 * 128, 128), "allocated, written, dead")
    check_foreign(by_id)
    said, by_id = foreign(dir, "churn", 100, stations=128)
    equal((said["allocated"], said["written"]), (100, 2000), "allocated, written")
    check_foreign(by_id)


if __name__ == "__main__":
    main()
