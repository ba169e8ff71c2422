# SPDX-License-Identifier: MIT
"""test_truth_live.py - `top`, `recover` and `snapshot`: a program that still runs, or the region that it left."""
from truth import *

CLOCK_SLACK_NS = 50_000


class Waiting:
    """A traced program that has written its events and waits; the collector may be stopped or killed."""

    def __init__(self, dir, options=(), program=()):
        self.trace, truth = os.path.join(dir, "t.jsonl"), os.path.join(dir, "truth")
        self.began = now_ns()
        self.began_real = time.time_ns()
        self.tool = popen(TOOL, "run", "--json", "-o", self.trace, *options, "--", PROGRAM, truth, "wait=1", *program,
                          stdin=subprocess.PIPE)
        equal(self.tool.stdout.readline(), "ready\n", "first words of the program")
        self.truth = Truth(truth)
        self.region = wait_until(self.find_region, "the region of the collector")

    def find_region(self):
        with open(f"/proc/{self.tool.pid}/maps", encoding="utf-8") as f:
            found = re.search(r"(/dev/shm/corotracer-\w+/region)", f.read())
        return found[1] if found else None

    def read_by_collector(self):
        """Wait until the collector has read everything."""
        wait_until(lambda: sum(t["unread"] for t in recovered(self)["threads"]) == 0, "a collector that has read all")

    def end(self):
        out, err = self.tool.communicate("\n", timeout=300)
        equal(self.tool.returncode, 0, f"status ({out}{err})")

    def kill_collector(self):
        self.tool.kill()
        self.tool.wait()


def recovered(waiting, *options):
    return output_of("recover", "--json", *options, waiting.region)


class Moment:
    """The output of a command, and the times around it."""

    def __init__(self, *args):
        self.before = now_ns()
        self.output = output_of(*args)
        self.after = now_ns()


def site_line(word):
    """The line of the program's source with this word."""
    with open(os.path.join(SOURCE, "tests/truth/program.c"), encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if word in line)


# ---- coroutines, in top and in recover -------------------------------------------------------------


def compare_coroutines(n, rows, w, low, high):
    """Each coroutine that exists, with its state, at a moment between @low and @high."""
    parents = {co["name"]: co["name"].split("-")[0] + "-c0" for co in w.truth.all}
    ids = {co["name"]: id for id, co in w.truth.coroutines.items()}
    equal({row["id"] for row in rows}, set(w.truth.left), "coroutines that are there")
    for i, row in enumerate(rows):
        co, path = w.truth.coroutines[row["id"]], f"coroutines[{i}]"
        n.equal_all(path, {"id": co["id"], "pid": w.truth.pid, "events": co["resumes"] + co["suspends"], "dropped": 0,
                           "birth_site.line": site_line("corotracer_spawn")})
        equal((row["state"], row["name"]), (co["state"], co["name"]), "state and name")
        n.within(f"{path}.since_ts", co["last"][0] - CLOCK_SLACK_NS, co["last"][1] + CLOCK_SLACK_NS)
        n.within(f"{path}.birth_ts", co["birth"][0] - CLOCK_SLACK_NS, co["birth"][1] + CLOCK_SLACK_NS)
        n.within(f"{path}.for_ns", low - row["since_ts"], high - row["since_ts"])
        if "parent" in row:
            n.equal(f"{path}.parent", ids[parents[co["name"]]])
        if co["state"] == "suspended":
            n.equal_all(path, {"site.line": co["line"], "resource": co["resource"]})
        if "addr" in row:
            # The address is in a file that the program has mapped.
            n.equal(f"{path}.addr", in_mapped_file(w.truth.pid, row["addr"]))


def in_mapped_file(pid, addr):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        for line in f:
            low, high = (int(x, 16) for x in line.split()[0].split("-"))
            if low <= addr < high:
                return addr
    raise Wrong(f"address {addr:#x} is not mapped")


# ---- top ------------------------------------------------------------------------------------------------


@check
def top_counts_states_and_events(n, w):
    states = collections.Counter(co["state"] for co in w.truth.left.values())
    n.equal_all("states", {"new": 0, "ready": 0, "running": states["running"], "suspended": states["suspended"], "ended": 0})
    n.equal_all("", {"collector_pid": w.tool.pid, "processes[0].pid": w.truth.pid, "threads": len(w.truth.threads),
                     "events": w.truth.transitions, "births": w.truth.kinds["birth"], "lost": 0, "behind": 0,
                     "matching": len(w.truth.left)})


@check
def top_takes_times_and_rates_to_the_moment(n, w, moment):
    n.within("moment_ts", moment.before, moment.after)
    n.within("up_ns", moment.before - w.truth.start, moment.after - w.began)
    for key, count in ("events_per_second", w.truth.transitions), ("births_per_second", w.truth.kinds["birth"]):
        n.within(key, count * 1e9 / (moment.after - w.began), count * 1e9 / (moment.before - w.truth.start))


@check
def top_shows_each_coroutine(n, w, moment):
    rows = n.output["coroutines"]
    compare_coroutines(n, rows, w, moment.before, moment.after)
    for i, row in enumerate(rows):
        co = w.truth.coroutines[row["id"]]
        events = (co["resumes"] + co["suspends"]) * 1e9
        n.within(f"coroutines[{i}].rate", events / (moment.after - co["birth"][0]), events / (moment.before - co["birth"][1]))
        if "tid" in row:
            n.equal(f"coroutines[{i}].tid", co["tid"])


def slices_of_trace(path, before):
    """(tid, from, to) of finished slices, by coroutine; and waits of threads."""
    slices, begin, waits = {}, {}, []
    with open(path, encoding="utf-8") as f:
        for e in map(json.loads, f):
            if e["is_active"]:
                begin[e["probe_id"]] = e
            elif e["probe_id"] in begin and e["ts"] < before:
                b = begin.pop(e["probe_id"])
                slices.setdefault(e["probe_id"], []).append((b["tid"] if b["tid"] == e["tid"] else 0, b["ts"], e["ts"]))
    with open(path + ".meta", encoding="utf-8") as f:
        waits = [l for l in map(json.loads, f) if l["type"] == "switch" and l["tid"]]
    return slices, waits


@check
def top_measures_processor_time(n, w, moment):
    """By the trace, which is complete now: after the last slice nothing ran before the moment."""
    slices, waits = slices_of_trace(w.trace, moment.before)
    for i, row in enumerate(n.output["coroutines"]):
        ours = [s for s in slices.get(row["id"], []) if s[0]]
        if not ours:
            assert "cpu" not in row, row
            continue
        away = {"blocked": 0, "preempted": 0, "ready": 0}
        for tid, begin, end in ours:
            for l in waits:
                if l["tid"] == tid:
                    away[l["state"]] += max(0, min(l["to_ts"], end) - max(l["from_ts"], begin))
        ready = away["preempted"] + away["ready"]
        n.equal(f"coroutines[{i}].cpu.slices", len(ours))
        n.equal(f"coroutines[{i}].cpu.ready_ns", ready)
        n.equal(f"coroutines[{i}].cpu.blocked_ns", away["blocked"])
        n.equal(f"coroutines[{i}].cpu.on_ns", sum(e - b for _, b, e in ours) - ready - away["blocked"])


def check_top(w):
    time.sleep(0.1)  # context switches are read 50 times a second
    moment = Moment("top", "--once", "--json", "-p", w.tool.pid)
    n = Numbers("top", moment.output)
    top_counts_states_and_events(n, w)
    top_takes_times_and_rates_to_the_moment(n, w, moment)
    top_shows_each_coroutine(n, w, moment)
    w.end()
    top_measures_processor_time(n, w, moment)
    n.done()


@test
def top_shows_a_running_program_exactly(dir):
    for load in False, True:
        with with_load(load):
            w = Waiting(dir, options=["--cpu"], program=["rounds=300"])
            w.read_by_collector()
            check_top(w)


@test
def the_text_of_top_has_the_same_numbers(dir):
    w = Waiting(dir)
    w.read_by_collector()
    text = Text(tool("top", "--once", "-p", w.tool.pid)[1])
    text.skip(r" up [\d.]+ ")  # another moment; the JSON form is checked
    states = collections.Counter(co["state"] for co in w.truth.left.values())
    text.line(r"^(\d+) coroutines: (\d+) running (\d+) suspended$", len(w.truth.left), states["running"], states["suspended"])
    text.line(r"^([\d,]+) events, lost (\d+); (\d+) records behind; (\d+) thread", count_text(w.truth.transitions), 0, 0,
              len(w.truth.threads))
    for id, co in w.truth.left.items():
        place = f"program.c:{co['line']} " if co["state"] == "suspended" else ""
        text.line(rf"^ +({id})  (\w+) .* ({co['name']})\b.*{place}", id, co["state"], co["name"])
    text.done()
    w.end()


# ---- recover --------------------------------------------------------------------------------------------


@check
def recover_counts_what_the_collector_had_not_read(n, w, unread, written_to):
    expected = w.truth.transitions + w.truth.others if unread else 0
    n.equal_all("", {"collector_pid": w.tool.pid, "events": expected, "dropped": 0, "dropped_others": 0, "garbage": 0,
                     "unfinished": 0, "untraced": len(w.truth.untraced), "processes[0].pid": w.truth.pid})
    if written_to:
        trace = read_json_lines(written_to)
        equal((len(trace.transitions), len(trace.others)), (w.truth.transitions, w.truth.others), "events in the trace")
        n.equal_all("", {"trace_events": len(trace.transitions), "trace_others": len(trace.others)})
    if n.has("account.saved"):
        # In the trace of the collector, only in the region, lost, unaccounted: together all that
        # was written.
        parts = {"saved": 0, "others_saved": 0, "unsaved": 0, "others_unsaved": 0}
        parts.update({"unsaved": w.truth.transitions, "others_unsaved": w.truth.others} if unread else
                     {"saved": w.truth.transitions, "others_saved": w.truth.others})
        n.equal_all("account", dict(parts, lost=0, others_lost=0, unaccounted=0, missing=0))


@check
def recover_tells_when_it_was(n, w, moment, unread):
    n.within("made", w.began_real // 10**9 - 1, time.time_ns() // 10**9 + 1)
    n.within("last_look_ts", w.began, moment.after)
    n.within("moment_ts", moment.before, moment.after)
    n.within("clock_error_ns", 1, 500 * (moment.after - w.began) // 1_000_000 + 10_000)
    births = [co["birth"] for co in w.truth.all]
    lasts = [co["last"][1] for co in w.truth.all]
    if not unread:
        n.equal_all("", {"first_ts": None, "last_ts": None})
        return
    n.within("first_ts", min(births)[0] - CLOCK_SLACK_NS, min(births)[1] + CLOCK_SLACK_NS)
    n.within("last_ts", max(lasts) - CLOCK_SLACK_NS, moment.after)


def written_by(w, tid):
    """(transitions, others) that the program wrote in this thread."""
    mine = [co for co in w.truth.coroutines.values() if co["tid"] == tid]
    share = w.truth.others // len(w.truth.threads)  # the threads do the same
    return sum(co["resumes"] + co["suspends"] for co in mine), share


@check
def recover_counts_records_of_each_thread(n, w, unread):
    equal({t["tid"] for t in n.output["threads"]}, set(w.truth.threads), "threads")
    for i, t in enumerate(n.output["threads"]):
        path, events = f"threads[{i}]", sum(written_by(w, t["tid"]))
        n.equal_all(path, {"tid": t["tid"], "pid": w.truth.pid, "dropped": 0, "dropped_others": 0})
        n.within(f"{path}.lane", 0, len(w.truth.threads) - 1)
        # An event is one record, or two.
        n.within(f"{path}.written", events, 2 * events)
        n.equal(f"{path}.read", 0 if unread else t["written"])
        n.equal(f"{path}.unread", t["written"] if unread else 0)
        n.within(f"{path}.kept", 0, t["read"])
        n.within(f"{path}.events", events if unread else 0, events)


@check
def recover_shows_the_last_events_of_each_thread(n, w, trace):
    """As in the recovered trace."""
    for i, t in enumerate(n.output["threads"]):
        mine = [e for e in trace.events if e["tid"] == t["tid"]][-len(t["last"]):]
        for k, (shown, e) in enumerate(zip(t["last"], mine)):
            path = f"threads[{i}].last[{k}]"
            equal(shown["kind"], e["kind"], "kind of an event")
            n.equal_all(path, {"ts": e["ts"], "id": e["id"]})
            for key, value in (("peer", e.get("waker", e.get("parent"))), ("addr", e.get("addr")), ("resource", e.get("resource"))):
                if key in shown:
                    n.equal(f"{path}.{key}", value)
            if "site" in shown:
                n.equal(f"{path}.site.line", trace.sites[e["site"]]["line"])


@check
def recover_shows_each_coroutine(n, w, moment):
    compare_coroutines(n, n.output["coroutines"], w, moment.before, moment.after)


def check_recover(w, unread, written_to=None):
    options = ["-o", written_to] if written_to else []
    moment = Moment("recover", "--json", *options, w.region)
    n = Numbers("recover", moment.output)
    recover_counts_what_the_collector_had_not_read(n, w, unread, written_to)
    recover_tells_when_it_was(n, w, moment, unread)
    recover_counts_records_of_each_thread(n, w, unread)
    if written_to:
        recover_shows_the_last_events_of_each_thread(n, w, read_json_lines(written_to))
    recover_shows_each_coroutine(n, w, moment)
    if written_to or not unread:
        n.done()


@check
def recover_lists_what_was_left_behind(w):
    """`recover` without a region."""
    rows = output_of("recover", "--json")
    n = Numbers("recover list", rows)
    i = next(i for i, row in enumerate(rows) if row["region"] == w.region)
    n.equal(f"[{i}].collector_pid", w.tool.pid)
    n.within(f"[{i}].made", w.began_real // 10**9 - 1, time.time_ns() // 10**9 + 1)
    n.equal(f"[{i}].bytes", os.stat(w.region).st_blocks * 512)


@test
def recover_tells_exactly_what_a_stopped_and_killed_collector_left(dir):
    w = Waiting(dir, program=["stop=1"])
    check_recover(w, unread=True)
    w.kill_collector()
    check_recover(w, unread=True, written_to=dir + "/recovered.jsonl")
    recover_lists_what_was_left_behind(w)
    w.tool.stdin.close()
    status, _, err = tool("recover", "--remove", w.region)
    equal(status, 0, err)


@test
def recover_of_a_collector_that_has_read_all_tells_states(dir):
    w = Waiting(dir)
    w.read_by_collector()
    moment = Moment("recover", "--json", w.region)
    n = Numbers("recover", moment.output)
    recover_tells_when_it_was(n, w, moment, unread=bool(moment.output["threads"] and moment.output["threads"][0]["kept"]))
    recover_shows_each_coroutine(n, w, moment)
    w.end()


# ---- snapshot -----------------------------------------------------------------------------------------------


@check
def snapshot_counts_what_its_trace_holds(w, path):
    n = Numbers("snapshot", output_of("snapshot", "--json", "-p", w.tool.pid, "-o", path))
    trace = read_json_lines(path)
    n.equal_all("", {"written": w.truth.transitions, "collected": len(trace.transitions), "lost": 0,
                     "forgotten": w.truth.transitions - len(trace.transitions), "others": len(trace.others),
                     "others_forgotten": w.truth.others - len(trace.others), "coroutines": len(w.truth.left),
                     "pid": w.tool.pid, "facts_refused": 0})
    n.within("facts_forgotten", 0, 1000)  # without --cpu: looks at descriptors
    n.done()
    return n


@check
def snapshot_list_counts_what_each_collector_read(w):
    rows = output_of("snapshot", "-l", "--json")
    n = Numbers("snapshot list", rows)
    i = next(i for i, row in enumerate(rows) if row.get("pid") == w.tool.pid)
    n.equal_all(f"[{i}]", {"pid": w.tool.pid, "coroutines": len(w.truth.coroutines), "written": w.truth.transitions, "lost": 0,
                           "others_lost": 0, "recorder_size": 65536, "pids[0]": w.truth.pid})
    n.within(f"[{i}].since_ns", w.began_real - LATE_NS, w.began_real + w.truth.start - w.began + LATE_NS)
    n.within(f"[{i}].recorder_used", 1, 65536)
    # The recorder drops more than the file has to: a snapshot repeats what states need.
    n.within(f"[{i}].forgotten", 1, w.truth.transitions)


@test
def a_snapshot_is_counted_exactly(dir):
    for load in False, True:
        with with_load(load):
            w = Waiting(dir, options=["--flight-recorder", "64K"], program=["rounds=3000"])
            w.read_by_collector()
            n = snapshot_counts_what_its_trace_holds(w, dir + "/snapshot.jsonl")
            assert n["forgotten"] > 0, "nothing was forgotten, so nothing was tested"
            snapshot_list_counts_what_each_collector_read(w)
            text = Text(tool("snapshot", "-p", w.tool.pid, "-o", dir + "/again.jsonl")[1])
            text.skip(r"^snapshot of ")
            text.skip(r"^  \d+ older facts? about threads")  # the collector may have looked at descriptors again
            # For what it has seen again, the collector may have forgotten more events.
            with open(dir + "/again.jsonl", encoding="utf-8") as f:
                held = sum(1 for _ in f)
            text.line(r"^  ([\d,]+) events, ([\d,]+) older ones forgotten$", count_text(held), count_text(n["collected"] + n["forgotten"] - held))
            text.line(r"^  (\d+) coroutines are there$", len(w.truth.left))
            text.line(r"^  lost: none of ([\d,]+) written$", count_text(w.truth.transitions))
            text.done()
            w.end()


if __name__ == "__main__":
    main()
