# SPDX-License-Identifier: MIT
"""test_truth_trace.py - `info` and `report` of a trace, compared with the program's own times and the raw trace."""
import glob
import itertools
import struct

from compact_decoder import index_of
from truth import *

# An event's time comes from the cycle counter, which the collector compares with the clock.
CLOCK_SLACK_NS = 50_000
PLURALS = {"birth": "births", "wake": "wakes", "end": "ends", "destroy": "destroys", "close": "closes",
           "acquire": "acquires", "release": "releases", "context": "contexts"}
# Detectors of coroutines that were left suspended: each such coroutine is in one of their groups.
AT_EXIT = {"suspended-at-exit", "lost-wakeup", "closed-under-waiter", "long-suspended", "wake-before-suspend", "deadlock",
           "abandoned-lock", "stalled", "leak"}


class Read:
    """A run and its trace, with values computed from both."""

    def __init__(self, run):
        self.run, self.truth, self.trace = run, run.truth, read_trace(run.trace)
        self.held = collections.Counter(e["id"] for e in self.trace.transitions)
        self.times = [e["ts"] for e in self.trace.events]
        self.of = collections.defaultdict(list)
        for e in self.trace.transitions:
            self.of[e["id"]].append(e)

    def written(self, id):
        co = self.truth.coroutines[id]
        return co["resumes"] + co["suspends"]

    def lost(self, id):
        return self.written(id) - self.held[id]

    @property
    def losers(self):
        return {id for id in self.truth.coroutines if self.lost(id)}

    def age_bounds(self, co):
        """How long this coroutine had been in its last state when the program ended."""
        return (self.truth.exit - co["last"][1] - CLOCK_SLACK_NS,
                self.run.exit_seen + LATE_NS - co["last"][0] + CLOCK_SLACK_NS)

    def since_bounds(self, co):
        return co["last"][0] - CLOCK_SLACK_NS, co["last"][1] + CLOCK_SLACK_NS


# ---- info ----------------------------------------------------------------------------------


@check
def info_counts_what_the_trace_holds(n, r):
    kinds = collections.Counter(e["kind"] for e in r.trace.events)
    n.equal("events", len(r.trace.transitions))
    for kind, key in PLURALS.items():
        n.equal(f"others.{key}", kinds[kind])
    n.equal("coroutines", len({e["id"] for e in r.trace.events if e["id"]}))
    n.equal("threads", len({e["tid"] for e in r.trace.events}))
    n.equal("sites", len(r.trace.sites))
    n.equal("first_ts", min(r.times))
    n.equal("last_ts", max(r.times))
    n.equal("duration_ns", max(r.times) - min(r.times))
    compare_completeness(n, r.trace)


@check
def info_counts_what_the_program_wrote_and_what_is_lost(n, r, prefix=""):
    written, held = r.truth.transitions, len(r.trace.transitions)
    n.equal_all(prefix, {"written": written, "collected": held, "lost": written - held, "forgotten": 0})


@check
def info_counts_gaps_by_thread(n, r):
    gaps = collections.defaultdict(lambda: [0, 0, 0])
    for gap in r.trace.gaps:
        sums = gaps[gap["tid"]]
        for i, more in enumerate((1, gap["transitions"], gap["others"])):
            sums[i] += more
    n.equal("lanes_with_loss", len(gaps))
    equal(len(n.output["lanes_lost_most"]), min(10, len(gaps)), "threads with gaps")
    for i, row in enumerate(n.output["lanes_lost_most"]):
        tid = row["tid"]
        nr, lost, others_lost = gaps[tid]
        by_program = sum(r.lost(id) for id, co in r.truth.coroutines.items() if co["tid"] == tid)
        equal(lost, by_program, f"lost by thread {tid}: the gaps, and what the program wrote there")
        n.equal_all(f"lanes_lost_most[{i}]", {"pid": r.truth.pid, "tid": tid, "gaps": nr, "lost": lost,
                                              "others_lost": others_lost})
        n.within(f"lanes_lost_most[{i}].lane", 0, len(r.truth.threads) - 1)


@check
def info_counts_lines(n, path, garbage_lines=()):
    lines = 0
    if not os.path.isdir(path) and not path.endswith(".ct"):
        with open(path, "rb") as f:
            lines = sum(1 for _ in f)
    n.equal("lines", lines)
    n.equal("garbage", len(garbage_lines))
    equal(len(n.output["garbage_first"]), len(garbage_lines), "lines that are named")
    for i, line in enumerate(garbage_lines):
        n.equal(f"garbage_first[{i}].line", line)


def packets_of(path):
    """(streams, packets, events discarded) of a CTF trace, from the packets' heads."""
    streams, packets, discarded = 0, 0, 0
    for name in glob.glob(os.path.join(path, "*")):
        if os.path.basename(name) == "metadata":
            continue
        with open(name, "rb") as f:
            data = f.read()
        streams += 1
        at = last = 0
        while at + 88 <= len(data):
            magic, = struct.unpack_from("<I", data, at)
            equal(magic, 0xC1FC1FC1, f"magic of the packet at {at} of {name}")
            size_bits, _, last = struct.unpack_from("<QQQ", data, at + 48)
            packets += 1
            at += size_bits // 8
        discarded += last
    return streams, packets, discarded


@check
def info_counts_packets(n, path, torn=0):
    if not os.path.isdir(path):
        return
    streams, packets, discarded = packets_of(path)
    n.equal_all("ctf", {"streams": streams, "packets": packets - torn, "damaged": 0, "torn": torn, "missing": 0,
                        "unknown": 0, "discarded": discarded})


@check
def info_counts_blocks(n, path, torn=0):
    """All blocks are read without a filter; with the time of one, the blocks that have it."""
    if not path.endswith(".ct"):
        return
    with open(path, "rb") as f:
        data = f.read()
    blocks = sum(e["type"] in (1, 2) for e in index_of(data))
    n.equal_all("ct", {"blocks": blocks, "blocks_read": blocks, "damaged": 0, "torn": torn, "missing": 0, "unknown": 0})


@check
def info_tells_when_the_run_was(n, r):
    run = r.run
    n.equal("sidecar.garbage", 0)
    n.equal("sidecar.run.format", 1)
    n.equal("sidecar.run.pid", r.truth.pid)
    n.equal("sidecar.run.stations", 128)
    n.within("sidecar.run.start_ts", run.began, r.truth.start)
    wall = time.time_ns() - now_ns()
    n.within("sidecar.run.start_realtime", wall + run.began - LATE_NS, wall + r.truth.start + LATE_NS)
    n.within("sidecar.totals.end_ts", r.truth.exit, run.exit_seen + LATE_NS)
    n.equal("sidecar.processes", 1)
    n.equal("sidecar.processes_first[0].pid", r.truth.pid)
    n.equal("sidecar.processes_first[0].uid", os.getuid())
    n.within("sidecar.processes_first[0].connected_ts", r.truth.start, run.exit_seen + LATE_NS)


@check
def info_repeats_the_totals(n, r, stations=False):
    held, others = len(r.trace.transitions), len(r.trace.others)
    lost, wrote_others = r.truth.transitions - held, 0 if stations else r.truth.others
    n.equal_all("sidecar.totals", {
        "lost_overwritten": lost if stations else 0, "lost_full": 0 if stations else lost, "lost_output": 0,
        "garbage": 0, "unfinished": 0, "coroutines": len(r.truth.coroutines), "without_station": len(r.truth.untraced),
        "others_written": wrote_others, "others_collected": others, "others_lost": wrote_others - others,
        "others_forgotten": 0, "waits": 0, "wait_ns": 0, "exit_status": 0, "signal": None})


@check
def info_counts_lives_and_names(n, r):
    names = collections.Counter(co["name"] for co in r.truth.coroutines.values())
    n.equal("sidecar.coroutines", len(r.truth.coroutines))
    n.equal("sidecar.dead", sum(co["gone"] for co in r.truth.coroutines.values()))
    n.equal("sidecar.names", len(names))
    for i, row in enumerate(n.output["sidecar"]["names_most"]):
        n.equal(f"sidecar.names_most[{i}].coroutines", names[row["name"]])


def place_of(co):
    return f"program.c:{co['line']} suspend" if co["state"] == "suspended" else None


@check
def info_groups_what_was_left_by_place(n, r, ages=True):
    left, groups = r.truth.left.values(), n.output["sidecar"]["not_ended_by_place"]
    n.equal("sidecar.not_ended", len(left))
    n.equal("sidecar.not_ended_places", len({place_of(co) for co in left}))
    for i, group in enumerate(groups):
        path = f"sidecar.not_ended_by_place[{i}]"
        members = [co for co in left if (place_of(co) or "") == (group["place"] or "").split("/")[-1]]
        n.equal(f"{path}.coroutines", len(members))
        oldest, newest = min(members, key=lambda co: co["last"]), max(members, key=lambda co: co["last"])
        for key, co in ("oldest", oldest), ("newest", newest):
            n.within(f"{path}.{key}_ts", *r.since_bounds(co))
            n.within(f"{path}.{key}_ns", *r.age_bounds(co))
        resources = sorted({co["resource"] for co in members}) if group["place"] else []
        equal(sorted(group["resources"]), resources, "resources of a place")
        for k in range(len(resources)):
            n.equal(f"{path}.resources[{k}]", group["resources"][k])


@check
def info_groups_stations_by_address(n, r):
    """Without sites: the last transition of each coroutine in the trace."""
    left = {id: r.of[id][-1] for id in r.truth.left}
    n.equal("sidecar.not_ended", len(left))
    n.equal("sidecar.not_ended_places", len({e["addr"] if e["kind"] == "suspend" else None for e in left.values()}))
    for i, group in enumerate(n.output["sidecar"]["not_ended_by_place"]):
        path, addr = f"sidecar.not_ended_by_place[{i}]", group["addr"]
        times = [e["ts"] for e in left.values() if (e["addr"] if e["kind"] == "suspend" else None) == addr]
        n.equal_all(path, {"coroutines": len(times), "addr": addr, "oldest_ts": min(times), "newest_ts": max(times)})
        for key, ts in ("oldest_ns", min(times)), ("newest_ns", max(times)):
            n.within(f"{path}.{key}", r.truth.exit - ts - CLOCK_SLACK_NS, r.run.exit_seen + LATE_NS - ts)
    for i, row in enumerate(n.output["sidecar"]["not_ended_first"]):
        last = left[row["probe_id"]]
        n.equal_all(f"sidecar.not_ended_first[{i}]", {"probe_id": last["id"], "since_ts": last["ts"], "addr": last["addr"]})


@check
def info_lists_what_was_left(n, r):
    rows = n.output["sidecar"]["not_ended_first"]
    equal(len(rows), min(10, len(r.truth.left)), "coroutines that are listed")
    for i, row in enumerate(rows):
        co, path = r.truth.coroutines[row["probe_id"]], f"sidecar.not_ended_first[{i}]"
        last = r.trace.facts["coroutine"]
        fact = next(fact for fact in last if fact["id"] == co["id"])
        n.equal(f"{path}.probe_id", co["id"])
        n.within(f"{path}.since_ts", *r.since_bounds(co))
        addr = fact.get("addr", 0)
        n.equal(f"{path}.addr", int(addr, 16) if isinstance(addr, str) else addr)
        if co["state"] == "suspended":
            n.equal(f"{path}.site", next(id for id, site in r.trace.sites.items() if site["line"] == co["line"]))
            n.equal(f"{path}.resource", co["resource"])


@check
def info_names_the_coroutines_that_lost_most(n, r):
    worst = sorted((r.lost(id) for id in r.losers), reverse=True)[:10]
    n.equal("sidecar.coroutines_with_loss", len(r.losers))
    rows = n.output["sidecar"]["lost_most"]
    equal([row["lost"] for row in rows], worst, "what the worst lost, most first")
    for i, row in enumerate(rows):
        id = row["probe_id"]
        n.equal_all(f"sidecar.lost_most[{i}]", {"probe_id": id, "written": r.written(id), "collected": r.held[id],
                                                "lost": r.lost(id)})
        station = next((fact["station"] for fact in r.trace.facts["coroutine"] if fact["id"] == id), None)
        n.equal_all(f"sidecar.lost_most[{i}]", {"station": station})


def check_info(r, stations=False):
    n = Numbers("info", output_of("info", "--json", r.run.trace))
    info_counts_what_the_trace_holds(n, r)
    info_counts_what_the_program_wrote_and_what_is_lost(n, r)
    info_counts_what_the_program_wrote_and_what_is_lost(n, r, "sidecar.totals")
    info_counts_gaps_by_thread(n, r)
    info_counts_lines(n, r.run.trace)
    info_counts_packets(n, r.run.trace)
    info_counts_blocks(n, r.run.trace)
    info_tells_when_the_run_was(n, r)
    info_repeats_the_totals(n, r, stations)
    info_counts_lives_and_names(n, r)
    if stations:
        info_groups_stations_by_address(n, r)
        info_names_the_coroutines_that_lost_most(n, r)
        n.done()
        return n
    info_groups_what_was_left_by_place(n, r)
    info_lists_what_was_left(n, r)
    info_names_the_coroutines_that_lost_most(n, r)
    n.done()
    return n


# ---- report ------------------------------------------------------------------------------------


@check
def report_counts_what_the_trace_holds(n, r, suppressed=0, below=0):
    written, held = r.truth.transitions, len(r.trace.transitions)
    n.equal_all("totals", {
        "coroutines": len(r.truth.coroutines), "not_ended": len(r.truth.left), "transitions": held,
        "others": len(r.trace.others), "threads": len({e["tid"] for e in r.trace.events}),
        "duration_ns": max(r.times) - min(r.times), "lost": written - held,
        "others_lost": r.truth.others - len(r.trace.others), "garbage": 0})
    n.equal("suppressed", suppressed)
    n.equal("below", below)
    compare_completeness(n, r.trace)
    if n.has("totals.missing"):
        n.equal("totals.missing", 0)


BLOCKING_NS = 10_000_000  # a slice of running that is worth a finding


def kind_of(finding):
    """The name of the coroutines of a group, without the number."""
    return finding["kind"].split(",")[0]


def members_of(r, finding):
    """The coroutines that a group can hold: its site, its kind, its state."""
    is_left = finding["detector"] in AT_EXIT
    return [co for co in r.truth.coroutines.values()
            if co["line"] == finding["place"]["line"] and co["name"].startswith(kind_of(finding)) and co["gone"] != is_left
            and (co["state"] == "suspended" if is_left else co["resumes"] == co["suspends"])]


def slices_of(r, finding):
    """(coroutine, nanoseconds) of every time that a coroutine of this kind ran before it suspended at this site."""
    for id, co in r.truth.coroutines.items():
        if co["name"].startswith(kind_of(finding)):
            for before, e in zip(r.of[id], r.of[id][1:]):
                if e["kind"] == "suspend" and r.trace.sites[e["site"]]["line"] == finding["place"]["line"]:
                    yield id, e["ts"] - before["ts"]


def readiness_of(r, finding):
    """How long each coroutine of this kind was ready before it ran."""
    for id, co in r.truth.coroutines.items():
        if co["name"].startswith(kind_of(finding)):
            events = [e for e in r.trace.events if e["id"] == id and e["kind"] in ("wake", "resume")]
            for before, e in zip(events, events[1:]):
                if before["kind"] == "wake" and e["kind"] == "resume":
                    yield e["ts"] - before["ts"]


@check
def report_counts_each_left_coroutine_once(n, r):
    """Those that were left suspended, those that were destroyed while suspended, slices that were too long."""
    groups = collections.defaultdict(int)
    for i, finding in enumerate(n.output["findings"]):
        path, line = f"findings[{i}]", finding["place"]["line"]
        n.equal(f"{path}.place.line", next(s["line"] for s in r.trace.sites.values() if s["line"] == line))
        if finding["detector"] == "blocking":
            n.equal(f"{path}.count", sum(ns >= BLOCKING_NS for _, ns in slices_of(r, finding)))
        elif finding["detector"] in AT_EXIT or finding["detector"] == "destroyed-suspended":
            groups[line, finding["kind"], finding["detector"] in AT_EXIT] += finding["count"]
            n.within(f"{path}.count", 1, len(members_of(r, finding)))
        else:
            n.within(f"{path}.count", 1, len(r.trace.transitions))
    for finding in n.output["findings"]:
        key = (finding["place"]["line"], finding["kind"], finding["detector"] in AT_EXIT)
        if key in groups and (key[2] or finding["detector"] == "destroyed-suspended"):
            equal(groups[key], len(members_of(r, finding)), f"coroutines of {key} in all groups")
    left = sum(co["state"] == "suspended" for co in r.truth.left.values())
    equal(sum(nr for key, nr in groups.items() if key[2]), left, "coroutines that were left suspended")


def show_age(n, r, finding, path, co):
    """A coroutine that was left is as it is at the end of the program; any other as it was when the finding was made."""
    if finding["detector"] in AT_EXIT:
        n.within(f"{path}.at_ts", r.truth.exit - CLOCK_SLACK_NS, r.run.exit_seen + LATE_NS)
    elif finding["detector"] == "blocking":
        n.equal(f"{path}.at_ts", next(e["ts"] for e in r.of[co["probe_id"]] if e["ts"] > co["since_ts"]))
    else:
        n.equal(f"{path}.at_ts", next(e["ts"] for e in r.trace.events if e["ts"] == co["at_ts"]))
    n.equal(f"{path}.age_ns", co["at_ts"] - co["since_ts"])


@check
def report_takes_ages_to_the_end_of_the_program(n, r):
    for i, finding in enumerate(n.output["findings"]):
        path, example, members = f"findings[{i}]", finding["example"], members_of(r, finding)
        show_age(n, r, finding, f"{path}.example", example)
        if finding["detector"] in AT_EXIT:
            ages = [r.age_bounds(co) for co in members]
            n.within(f"{path}.oldest_ns", min(low for low, _ in ages), max(high for _, high in ages))
        elif finding["detector"] == "destroyed-suspended":
            n.equal(f"{path}.oldest_ns", max(suspended_before_end(r, co["id"]) for co in members))
        elif finding["detector"] == "blocking":
            n.equal(f"{path}.oldest_ns", max(ns for _, ns in slices_of(r, finding)))
        elif finding["detector"] == "starvation":
            n.equal(f"{path}.oldest_ns", min(readiness_of(r, finding), key=lambda ns: abs(ns - finding["oldest_ns"])))
        else:
            n.within(f"{path}.oldest_ns", 0, r.run.exit_seen + LATE_NS - r.truth.start)


def suspended_before_end(r, id):
    end = next(e for e in r.trace.others if e["kind"] == "end" and e["id"] == id)
    return end["ts"] - r.of[id][-1]["ts"]


@check
def report_names_all_coroutines_of_a_group(n, r):
    """Each once; those that were left or destroyed while suspended are exactly the findings of the group."""
    for i, finding in enumerate(n.output["findings"]):
        listed = finding["coroutines"]
        n.equal(f"findings[{i}].coroutines_omitted", 0)
        equal(len({c["probe_id"] for c in listed}), len(listed), "coroutines that are listed twice")
        if finding["detector"] in AT_EXIT or finding["detector"] == "destroyed-suspended":
            equal(len(listed), finding["count"], "coroutines of a group")
        for k, c in enumerate(listed):
            path = f"findings[{i}].coroutines[{k}]"
            show_age(n, r, finding, path, c)
            show_coroutine(n, r, finding, path, c)


@check
def report_shows_an_example_as_the_trace_has_it(n, r):
    for i, finding in enumerate(n.output["findings"]):
        show_coroutine(n, r, finding, f"findings[{i}].example", finding["example"])


def show_coroutine(n, r, finding, path, example):
    parents = {e["id"]: e.get("parent", 0) for e in r.trace.others if e["kind"] == "birth"}
    co = r.truth.coroutines[example["probe_id"]]
    n.equal_all(path, {"probe_id": co["id"], "pid": r.truth.pid, "tid": co["tid"], "lost": r.lost(co["id"])})
    if "resource" in example:
        n.equal(f"{path}.resource", co["resource"])
    if "parent" in example:
        n.equal(f"{path}.parent", parents[co["id"]])
    events = [e for e in r.trace.events if e["id"] == co["id"] and e["kind"] in STEPS]
    if finding["detector"] in AT_EXIT:
        n.within(f"{path}.since_ts", *r.since_bounds(co))
    else:
        n.equal(f"{path}.since_ts", next(e["ts"] for e in events if e["ts"] == example["since_ts"]))
    if example["last"]:
        show_steps(n, path, example["last"], events, r)


STEPS = ("wake", "resume", "suspend", "end", "destroy", "birth")


def show_steps(n, path, steps, events, r):
    """Consecutive events of a coroutine, as in the raw trace."""
    last = next(i for i, e in enumerate(events) if (e["ts"], e["kind"]) == (steps[-1]["ts"], steps[-1]["kind"]))
    for k, (step, e) in enumerate(zip(steps, events[last + 1 - len(steps):])):
        equal(step["kind"], e["kind"], "kind of a step")
        n.equal_all(f"{path}.last[{k}]", {"ts": e["ts"], "tid": e["tid"]})
        if "waker" in step:
            n.equal(f"{path}.last[{k}].waker", e["waker"])
        if "place" in step:
            n.equal(f"{path}.last[{k}].place.line", r.trace.sites[e["site"]]["line"])


def milliseconds(ns):
    return f"{ns / 1e6:.3f} ms"


def waker_sentence(r, id, end):
    """Who woke the coroutine most often, and when last."""
    wakes = [e for e in r.trace.others if e["kind"] == "wake" and e["id"] == id]
    equal(len(wakes), r.truth.coroutines[id]["wakes"], f"wakes of coroutine {id}: the trace, and what the program called")
    (waker, nr), *less = collections.Counter(e.get("waker", 0) for e in wakes).most_common()
    assert all(few < nr for _, few in less), f"two wakers of coroutine {id} are equally frequent, so nothing was tested"
    last = max((e for e in wakes if e.get("waker", 0) == waker), key=lambda e: e["ts"])
    who, site = "code outside of all coroutines", r.trace.sites[last["site"]]
    if waker:
        co = r.truth.coroutines[waker]
        who = f"coroutine {waker} '{co['name']}' (it is {co['state']})"
    if len(wakes) == 1:
        return (f"its only wake came from {who}, {milliseconds(end - last['ts'])} before the end"
                f" at {site['file']}:{site['line']} {site['function']}")
    return (f"{nr} of its {len(wakes)} wakes came from {who}, the last {milliseconds(end - last['ts'])} before the end"
            f" at {site['file']}:{site['line']} {site['function']}")


def waits_sentence(r, id, end):
    """The waits at the place where the coroutine is: those that have ended, and the one that has not."""
    events = r.of[id]
    now = events[-1]
    equal(now["kind"], "suspend", f"last transition of coroutine {id}")
    before = [e["ts"] - s["ts"] for s, e in zip(events, events[1:]) if s["kind"] == "suspend" and s["site"] == now["site"]]
    if len(before) == 1:
        return f"it waited here once before, for {milliseconds(before[0])}; now {milliseconds(end - now['ts'])}"
    return (f"it waited here {len(before)} times before, at most {milliseconds(max(before))};"
            f" now {milliseconds(end - now['ts'])}")


IS_WAKER, IS_WAITS = re.compile(r"wakes? came from"), re.compile(r"^it waited here")


@check
def report_says_who_woke_it_and_how_long_it_waited(n, r):
    """Both sentences, once each, of every example that was left suspended; in no other finding."""
    end, of_stuck = r.trace.totals["end_ts"], 0
    for i, finding in enumerate(n.output["findings"]):
        is_left, id = finding["detector"] in AT_EXIT, finding["example"]["probe_id"]
        of_stuck += is_left
        for pattern, sentence in (IS_WAKER, waker_sentence), (IS_WAITS, waits_sentence):
            found = [k for k, said in enumerate(finding["evidence"]) if pattern.search(said)]
            equal(len(found), int(is_left), f"sentences with {pattern.pattern!r} in {finding['evidence']}")
            for k in found:
                n.says(f"findings[{i}].evidence[{k}]", sentence(r, id, end))
    assert of_stuck, "no coroutine was left suspended, so nothing was tested"


def check_report(r, *options, suppressed=0, below=0):
    n = Numbers("report", output_of("report", "--json", *options, r.run.trace))
    report_counts_what_the_trace_holds(n, r, suppressed, below)
    if not options and r.truth.transitions == len(r.trace.transitions):
        report_counts_each_left_coroutine_once(n, r)
        report_takes_ages_to_the_end_of_the_program(n, r)
        report_shows_an_example_as_the_trace_has_it(n, r)
        report_names_all_coroutines_of_a_group(n, r)
        report_says_who_woke_it_and_how_long_it_waited(n, r)
        n.done()
    return n


# ---- runs ------------------------------------------------------------------------------------------


@test
def a_quiet_trace_is_told_exactly(dir):
    for _ in repeats():
        for name in "t.jsonl", "t.ctf", "t.ct":
            r = Read(TracedRun(dir, name=name, program=["hold=50"]))
            check_info(r)
            check_report(r)


@test
def a_trace_of_a_busy_machine_is_told_exactly(dir):
    for _ in repeats():
        for name in "t.jsonl", "t.ctf":
            r = Read(TracedRun(dir, name=name, load=True, program=["threads=3", "rounds=600"]))
            check_info(r)
            check_report(r)


@test
def a_trace_with_loss_is_told_exactly(dir):
    for _ in repeats():
        for name in "t.jsonl", "t.ctf":
            r = Read(TracedRun(dir, name=name, options=["--buffer", "1M"], program=["rounds=4000", "stop=1"]))
            assert r.losers, "nothing was lost, so nothing was tested"
            check_info(r)
            check_report(r)


@test
def a_trace_of_stations_is_told_exactly(dir):
    os.environ["COROTRACER_NO_LANES"] = "1"
    try:
        r = Read(TracedRun(dir, program=["rounds=100"]))
    finally:
        del os.environ["COROTRACER_NO_LANES"]
    check_info(r, stations=True)


def stop_while_it_drains(tool_process, watch, run):
    """The program has ended, the collector knows it and drains: it is stopped there for a while."""
    watch.join(300)
    pid = Truth(run.truth_path).pid
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "a collector that has seen the end of the program")
    os.kill(tool_process.pid, signal.SIGSTOP)
    time.sleep(2 * LATE_NS / 1e9)
    os.kill(tool_process.pid, signal.SIGCONT)


@test
def ages_end_with_the_program_and_not_with_the_collector(dir):
    """The collector drains for a long time after the program ended: no age grows by that."""
    run = TracedRun(dir, program=["rounds=40000", "stop=1"], options=["--buffer", "512M"], while_running=stop_while_it_drains)
    assert run.ended > run.exit_seen + 2 * LATE_NS, "the collector ended with the program, so nothing was tested"
    n = Numbers("info", output_of("info", "--json", run.trace))
    n.within("sidecar.totals.end_ts", run.truth.exit, run.exit_seen + LATE_NS)
    for i, group in enumerate(n.output["sidecar"]["not_ended_by_place"]):
        left = [co for co in run.truth.left.values() if (place_of(co) or "") == (group["place"] or "").split("/")[-1]]
        oldest = min(co["last"][0] for co in left)
        n.within(f"sidecar.not_ended_by_place[{i}].oldest_ns", 0, run.exit_seen + LATE_NS - oldest)


@check
def info_lists_the_parts(n, runs):
    for i, run in enumerate(runs):
        trace, own = read_trace(run.trace), output_of("info", "--json", run.trace)
        facts = {**own["sidecar"]["run"], **own["sidecar"]["totals"]}
        ids = {e["probe_id"] for e in trace.transitions + trace.others if e.get("probe_id")}
        n.equal_all(f"parts[{i}]", {"number": i + 1, "ids_from": i * 1000000, "ids_to": i * 1000000 + max(ids), "events": len(trace.transitions),
                                    "others": len(trace.others), "coroutines_seen": len(ids)})
        for key in n.output["parts"][i]:
            if n.has(f"parts[{i}].{key}") and key in facts and key not in ("events", "others"):
                n.equal(f"parts[{i}].{key}", facts[key])


@test
def the_parts_of_a_merged_trace_are_told_exactly(dir):
    runs = []
    for name in "a.jsonl", "b.jsonl":
        runs.append(TracedRun(dir, name=name, program=["rounds=20"]))
    equal(tool("merge", "-q", "-o", dir + "/m.ct", *(r.trace for r in runs))[0], 0, "status of merge")
    n = Numbers("info", {"parts": output_of("info", "--json", dir + "/m.ct")["parts"]})
    info_lists_the_parts(n, runs)
    n.done()


@test
def lines_that_are_no_events_are_counted(dir):
    run = TracedRun(dir)
    with open(run.trace, "rb") as f:
        lines = f.readlines()
    with open(run.trace, "wb") as f:
        f.writelines(lines[:5] + [b"what\n"] + lines[5:9] + [b"{}\n"] + lines[9:])
    n = Numbers("info", output_of("info", "--json", run.trace, status=1))
    info_counts_lines(n, run.trace, garbage_lines=(6, 11))


@test
def findings_that_are_not_shown_are_counted(dir):
    r = Read(TracedRun(dir))
    found = output_of("report", "--json", r.run.trace)["findings"]
    weak = sum(f["confidence"] == "info" for f in found)
    check_report(r, "--min-confidence", "suspect", below=weak)
    with open(dir + "/known", "w", encoding="utf-8") as f:
        f.write("destroyed-suspended:*\n")
    known = sum(f["detector"] == "destroyed-suspended" for f in found)
    check_report(r, "--suppressions", dir + "/known", suppressed=known)


# ---- the same in text ----------------------------------------------------------------------------


@test
def the_text_of_info_has_the_same_numbers(dir):
    r = Read(TracedRun(dir, options=["--buffer", "1M"], program=["rounds=4000", "stop=1"]))
    held, lost = len(r.trace.transitions), r.truth.transitions - len(r.trace.transitions)
    said = output_of("info", "--json", r.run.trace)
    text = Text(tool("info", r.run.trace)[1])
    text.skip(r"^(/| +command| +started| +recorded by| +names | {18}t\d)")
    text.line(r"^  events +([\d,]+)$", count_text(held))
    kinds = collections.Counter(e["kind"] for e in r.trace.others)
    for line in text.lines:
        for nr, kind in re.findall(r"([\d,]+) (birth|wake|end|destruction|close|lock taken|lock released|trace context)s?\b", line):
            key = {"destruction": "destroy", "lock taken": "acquire", "lock released": "release", "trace context": "context"}.get(kind, kind)
            if line.startswith("  and "):
                equal(nr, count_text(kinds[key]), f"{kind} in the text")
    text.skip(r"^  and ")
    text.line(r"^  coroutines +([\d,]+)$", count_text(len(r.truth.coroutines)))
    text.line(r"^  threads +([\d,]+)$", len(r.truth.threads))
    text.line(r"^  duration +(.+)$", duration_text(max(r.times) - min(r.times)))
    text.line(r"^  lost +([\d,]+) of ([\d,]+) written \((.+ %)\)$", count_text(lost), count_text(r.truth.transitions),
              share_text(lost, r.truth.transitions))
    text.line(r"^ +([\d,]+) found no room in their lane$", count_text(lost))
    text.line(r"^ +and ([\d,]+) creations, wakes, ends$", count_text(r.truth.others - len(r.trace.others)))
    for row in said["lanes_lost_most"]:
        text.line(r"thread (\d+) of process (\d+): ([\d,]+) events and ([\d,]+) others in (\d+) gap", row["tid"], row["pid"],
                  count_text(row["lost"]), count_text(row["others_lost"]), row["gaps"])
    text.line(r"^  ended +exit status (\d+)$", 0)
    text.line(r"^  pid +(\d+)$", r.truth.pid)
    text.line(r"^  lives +(\d+) coroutines created, (\d+) ended$", len(r.truth.coroutines),
              len(r.truth.coroutines) - len(r.truth.left))
    for group in said["sidecar"]["not_ended_by_place"]:
        text.line(r"(\d+) (?:suspended|running)", group["coroutines"])
        text.line(r"for (.+) to (.+)$", duration_text(group["newest_ns"]), duration_text(group["oldest_ns"]))
    for row in said["sidecar"]["lost_most"]:
        text.line(r"^ +([\d,]+) of +([\d,]+) +- +(\d+)  (.+)$", count_text(row["lost"]), count_text(row["written"]),
                  row["probe_id"], row["name"])
    text.line(r"^ +(\d+) more lost some$", len(r.losers) - 10)
    text.done()


def unwrapped(text):
    """Each labelled line in one piece, without the breaks at the width of the screen."""
    return re.sub(r"\n {12}(?=\S)", " ", text)


def label_of(sentence):
    return "waker" if IS_WAKER.search(sentence) else "(?:because|resource|holder)"


@test
def the_text_of_the_report_has_the_same_numbers(dir):
    r = Read(TracedRun(dir, program=["hold=50"]))
    said = output_of("report", "--json", r.run.trace)
    report_says_who_woke_it_and_how_long_it_waited(Numbers("report", said), r)
    end = r.trace.totals["end_ts"]
    text = Text(unwrapped(tool("report", "--text", "--all", r.run.trace)[1]))
    text.skip(r"^  (at|of|waits for|awaited by|seen|but|means|next) ")
    text.line(r": (\d+) findings at (\d+) places", sum(f["count"] for f in said["findings"]), len(said["findings"]))
    text.line(r"^  coroutines +(\d+); (\d+) had not ended$", len(r.truth.coroutines), len(r.truth.left))
    text.line(r"^  events +([\d,]+) transitions, ([\d,]+) others$", count_text(len(r.trace.transitions)),
              count_text(len(r.trace.others)))
    text.line(r"^  duration +(.+)$", duration_text(max(r.times) - min(r.times)))
    text.line(r"^  threads +(\d+)$", len(r.truth.threads))
    for f in said["findings"]:
        times = "once" if f["count"] == 1 else f"{f['count']} times"
        text.line(rf"\({f['detector']}\)  (.+?), (?:oldest|longest) (.+)$", times, duration_text(f["oldest_ns"]))
        named = f["coroutines"][:6]
        text.line(r"^  coroutine (.+?)(?:;| and |$)", ", ".join(f"{c['probe_id']} '{c['name']}'" for c in named))
        for label, sentences in itertools.groupby(f["evidence"], label_of):
            text.line(rf"^  {label} +(.+)$", " ".join(sentences))
        example = f["example"]
        text.line(r"for example coroutine (\d+) '(.+?)'", example["probe_id"], example["name"])
        if "parent" in example:
            text.line(r"child of coroutine (\d+) ", example["parent"])
        for step in example["last"]:
            text.line(r"^ +(.+) before the end +(\w+) +thread (\d+)", duration_text(end - step["ts"]), step["kind"], step["tid"])
    text.done()


if __name__ == "__main__":
    main()
