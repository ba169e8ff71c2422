# SPDX-License-Identifier: MIT
"""test_chrome.py - trace events in JSON: valid, balanced, and equal to the Perfetto trace where the format allows."""
import re
from collections import Counter, defaultdict

import packages
import reading
from harness import *
from harness import TESTS
from test_perfetto import BUGGY, CHANNELS, CHANNELS_FOR_A_MOMENT, ENV, compare_turns, export, line, same, trace_of, write

TESTS.clear()


def load(path):
    with open(path, "rb") as f:
        events = json.loads(f.read().decode("utf-8"), parse_float=lambda text: round(float(text) * 1000))["traceEvents"]
    for e in events:
        if e["ph"] != "M":
            assert isinstance(e["ts"], int), e
    return events


class Async:
    """Open slices on async tracks, by category and id."""

    def __init__(self, events):
        self.open, self.done, self.instants = defaultdict(list), [], []
        for e in events:
            if e["ph"] in "ben":
                self.take(e, (e["cat"], e["id"]))

    def take(self, e, key):
        if e["ph"] == "b":
            self.open[key].append((e["name"], e["ts"], e.get("args", {})))
        elif e["ph"] == "n":
            self.instants.append((key, e["name"], e["ts"]))
        else:
            name, ts, args = self.open[key].pop()
            equal(e["name"], name, "name of what ends")
            self.done.append((key, name, ts, e["ts"], args))


def turns(events):
    open_, out = defaultdict(list), defaultdict(list)
    for e in events:
        if e["ph"] == "B":
            open_[e["tid"]].append((e["args"]["coroutine"], e["ts"], e["name"]))
        elif e["ph"] == "E":
            coroutine, ts, name = open_[e["tid"]].pop()
            equal(e["name"], name, "name of the turn that ends")
            out[e["tid"], coroutine].append((ts, e["ts"]))
    for tid, left in open_.items():
        for coroutine, ts, _ in left:
            out[tid, coroutine].append((ts, None))
    return out


def check(trace):
    export(trace, kind="chrome")
    r, events = reading.Reading(trace), load(trace + ".chrome")
    compare_turns(turns(events), r.turns)
    a = Async(events)
    lives = [(k, name, b, e, args) for k, name, b, e, args in a.done if "coroutine" in args]
    lives += [(k, o[0][0], o[0][1], None, o[0][2]) for k, o in a.open.items() if o and k[0] == "coroutine"]
    same([(args["coroutine"], b, e) for _, _, b, e, args in lives], [(v.id, v.begin, v.end) for v in r.lives], "lives")
    states = [(name, b, e) for k, name, b, e, args in a.done if k[0] == "coroutine" and "coroutine" not in args]
    states += [(name, ts, None) for k, o in a.open.items() if k[0] == "coroutine" for name, ts, _ in o[1:]]
    same(states, [s for v in r.lives for s in v.states], "states")
    same([(n, ts) for k, n, ts in a.instants], [i for v in r.lives for i in v.instants], "instants")
    begins = {e["id"]: (e["tid"], e["ts"]) for e in events if e["ph"] == "s"}
    ends = {e["id"]: (e["tid"], e["ts"]) for e in events if e["ph"] == "f"}
    equal(len(ends), sum(e["ph"] == "f" for e in events), "ids of flows that end")
    same([(*begins[i], *end) for i, end in ends.items()], r.flows, "flows")
    assert all(e["bp"] == "e" for e in events if e["ph"] == "f")
    return r, events


@test
def a_real_run_has_the_same_in_it(dir):
    r, events = check(trace_of(dir, *CHANNELS_FOR_A_MOMENT))
    pid = next(f["pid"] for f in r.facts if f["type"] == "run")
    equal({e["pid"] for e in events}, {pid}, "pids")
    names = {(e["name"], e["args"]["name"]) for e in events if e["ph"] == "M"}
    assert ("process_name", os.path.basename(CHANNELS)) in names, names
    equal({e["args"]["name"] for e in events if e.get("name") == "thread_name"}, {f"thread {e['tid']}" for e in events if e["ph"] == "B"} |
          {f"thread {w[0]}" for w in r.wakes}, "threads")
    places = Counter(e["args"].get("place") for e in events if e["ph"] == "b" and e["name"].startswith("suspended"))
    sites = {f["id"]: f"{os.path.basename(f['file'])}:{f['line']} {f['function']}" for f in r.facts if f["type"] == "site"}
    equal(places, Counter(sites.get(e.get("site")) for e in r.suspends), "places")


def nested(turns_of_thread, end):
    """(depth, begin, end) of each turn, from the intervals alone."""
    out, open_ = [], []
    for b, e in sorted(((b, e if e is not None else end) for b, e in turns_of_thread), key=lambda t: (t[0], -t[1])):
        while open_ and open_[-1] <= b:
            open_.pop()
        out.append((len(open_), b, e))
        open_.append(e)
    return out


@test
def speedscope_nests_the_turns_as_they_were(dir):
    """Under the default name, which must not make speedscope take the file for a CPU profile."""
    trace = trace_of(dir, *CHANNELS_FOR_A_MOMENT)
    status, _, err = tool("export", "chrome", "-q", "-i", trace)
    equal(status, 0, "status: " + err)
    read = packages.speedscope(dir + "/t.trace.json")
    equal(read["as"], "Trace Event Format profile", "what speedscope takes the file for")
    drawn = defaultdict(list)
    for (tid, _), all in turns(load(dir + "/t.trace.json")).items():
        drawn[tid] += all
    equal(len(read["profiles"]), len(drawn), "threads")
    for profile in read["profiles"]:
        tid = int(re.search(r"tid (\d+)", profile["name"]).group(1))
        first = min(b for b, _ in drawn[tid])
        wanted = nested(drawn[tid], first + round(profile["total"] * 1000))
        # Times in speedscope are floating point, from the first event on, and turns without time are left out.
        wanted = [(depth, e - b) for depth, b, e in wanted if e - b >= 2000]
        got = [(depth, (to - at) * 1000) for _, _, _, depth, at, to in profile["calls"] if (to - at) * 1000 >= 2000 - 500]
        assert len(wanted) > 100 and len(wanted) <= len(got), (len(wanted), len(got))
        equal(max(depth for depth, _ in got), max(depth for depth, _ in wanted), "depth")
        assert abs(sum(t for _, t in got) - sum(t for _, t in wanted)) < 0.01 * sum(t for _, t in wanted) + 1e6, "time in turns"


def stacked(events):
    """{tid: [(depth, name, begin, end)]} of the turns, from begins and ends alone; times in ns from the first event on."""
    first = min(e["ts"] for e in events if e["ph"] != "M")
    open_, out = defaultdict(list), defaultdict(list)
    for e in events:
        if e["ph"] == "B":
            open_[e["tid"]].append((e["name"], e["ts"] - first))
        elif e["ph"] == "E":
            name, ts = open_[e["tid"]].pop()
            out[e["tid"]].append((len(open_[e["tid"]]), name, ts, e["ts"] - first))
    return out


def compare_with_viewer(events, model, has_ends=True):
    """has_ends: of all coroutines; the viewer warns of tracks without an end."""
    assert all(w.startswith("flow_") or (not has_ends and w == "async_slice_parse_error") for w in model["warnings"]), model["warnings"]
    wanted = stacked(events)
    threads = {t["tid"]: t for t in model["threads"] if t["tid"] is not None}
    for tid, turns_ in wanted.items():
        equal(threads[tid]["name"], f"thread {tid}", "name of a thread")
        drawn = [s for s in threads[tid]["slices"] if s["title"] != "wake"]
        # Times are floating point in milliseconds there, and it nests by microseconds: two short slices in one may share it.
        got = sorted((s["title"], s["start"] * 1e6, s["duration"] * 1e6, s["depth"]) for s in drawn)
        known = sorted((name, b, e - b, depth) for depth, name, b, e in turns_)
        equal([g[0] for g in got], [k[0] for k in known], "names of slices")
        for g, k in zip(got, known):
            assert abs(g[1] - k[1]) < 10 and abs(g[2] - k[2]) < 10 and (g[3] == k[3] or k[2] < 2000), (g, k)
    tracks = Counter(s["title"] for t in model["threads"] for track in t["tracks"] for s in track)
    if has_ends:
        equal(tracks, Counter(e["name"] for e in events if e["ph"] in "bn"), "lives, states and instants of coroutines")
    return wanted, threads


@test
def the_viewer_of_chrome_tracing_has_the_slices_as_they_were(dir):
    # Each resumed by the one before.
    steps = [line(i, 10**9 + 10**5 * i, True) for i in range(1, 6)] + [line(i, 10**9 + 10**5 * (11 - i), False) for i in range(5, 0, -1)]
    write(dir + "/nested.jsonl", steps)
    paths = [trace_of(dir, *CHANNELS_FOR_A_MOMENT), dir + "/nested.jsonl"]
    for path in paths:
        export(path, kind="chrome")
    drawn = [path + ".chrome" for path in paths]
    run_events, nested_events = map(load, drawn)
    run_model, nested_model = packages.trace_viewer(*drawn)
    _, threads = compare_with_viewer(run_events, run_model)
    equal({t["process"] for t in threads.values()}, {os.path.basename(CHANNELS)}, "processes")
    wanted, _ = compare_with_viewer(nested_events, nested_model, has_ends=False)
    equal(sorted(depth for depth, *_ in wanted[7]), [0, 1, 2, 3, 4], "depths")


@test
def bugs_of_the_corpus_are_balanced(dir):
    for scenario in ("double-resume", "resume-after-end", "deadlock", "migration", "never-destroyed", "destroyed-suspended"):
        check(trace_of(dir, BUGGY, scenario, name=scenario + ".jsonl", env=ENV))


@test
def the_trace_processor_reads_the_threads(dir):
    """The version of 2021, which ignores async events in JSON."""
    trace = trace_of(dir, *CHANNELS_FOR_A_MOMENT)
    export(trace, kind="chrome")
    r = reading.Reading(trace)
    errors, slices, flows = packages.processor(trace + ".chrome", [
        "select name, value from stats where value != 0 and severity in ('error', 'data_loss')",
        "select tid, ts, dur, slice.name from slice join thread_track on track_id = thread_track.id join thread using (utid) where dur > 0",
        "select a.ts, b.ts from flow join slice a on slice_out = a.id join slice b on slice_in = b.id",
    ])
    equal(errors, [], "what the trace processor complains of")
    # Its JSON times are floating point: they are exact to the microsecond.
    wanted = sorted((tid, b // 1000) for (tid, _), all in r.turns.items() for b, e in all if e - b >= 1000)
    got = sorted((tid, ts // 1000) for tid, ts, dur, _ in slices if dur >= 1000)
    assert len(wanted) > 500 and abs(len(got) - len(wanted)) <= len(wanted) // 100, (len(got), len(wanted))
    equal(len(flows), len(r.flows), "flows")


@test
def a_large_one_is_told_to_be_large(dir):
    write(dir + "/t.jsonl", [line(i % 5, 10**9 + 1000 * i, (i // 5) % 2 == 0) for i in range(1000)])
    _, _, err = tool("export", "chrome", "-i", dir + "/t.jsonl", "-o", dir + "/small")
    contains(err, "open it with chrome://tracing")
    lines = b"".join(line(i % 5, 10**9 + 1000 * i, (i // 5) % 2 == 0) + b"\n" for i in range(250000))
    p = subprocess.run([TOOL, "export", "chrome", "-i", "-", "-o", "-"], input=lines, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    equal(p.returncode, 0, "status")
    contains(p.stderr.decode(), "large for a viewer of this format: 'export perfetto' suits better")


if __name__ == "__main__":
    main()
