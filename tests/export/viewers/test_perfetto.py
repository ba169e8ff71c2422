# SPDX-License-Identifier: MIT
"""test_perfetto.py - every slice, flow and counter of a Perfetto trace, compared with an
independent reading of the JSON lines."""
import re
import shutil

import drawn
import packages
import reading
from harness import *

CHANNELS = os.environ.get("CHANNELS", "build/examples/c/channels")
CHANNELS_FOR_A_MOMENT = (CHANNELS, "--seconds", "0.5")  # some 4,000 events
BUGGY = os.environ.get("CORPUS_BUGGY", "build/tests/detectors/corpus_buggy")
SERVER = os.environ.get("SERVER", "build/examples/cpp/mini-redis")
FIXTURES = os.environ.get("FIXTURES", "tests/fixtures")
TRACE_TOOL = os.environ.get("TRACE_TOOL", "build/tests/trace_tool")
LAG = 20000  # the most that a counter lags, in ns
# A coroutine that is never resumed is a leak, which is intended.
ENV = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", ""))


def export(trace, out=None, kind="perfetto", status=0, **kwargs):
    out = out or trace + "." + kind
    got, _, err = tool("export", kind, "--json", "-i", trace, "-o", out, **kwargs)
    equal(got, status, "status of export: " + err)
    return json.loads([line for line in err.splitlines() if line.startswith("{")][0]), err


def draw(trace, **kwargs):
    packages.schema()
    summary, _ = export(trace, **kwargs)
    return load_drawn(trace, summary)


def load_drawn(trace, summary):
    """What an export of the trace has drawn."""
    with open(trace + ".perfetto", "rb") as f:
        data = f.read()
    equal(summary["bytes"], len(data), "bytes")
    return drawn.Drawn(packages.schema(), data)


def same(got, wanted, what):
    """Two lists have the same elements, in any order."""
    got, wanted = sorted(got, key=repr), sorted(wanted, key=repr)
    if got != wanted:
        more = [g for g in got if g not in wanted][:5]
        less = [w for w in wanted if w not in got][:5]
        raise AssertionError(f"{what}: {len(got)} drawn, {len(wanted)} wanted; too many {more}, missing {less}")


def check_counter(samples, steps, name):
    """Each sample is a value that occurred, and lags by at most LAG."""
    taken = {}
    for ts, value in steps:
        taken.setdefault(ts, set()).add(value)
    for ts, value in samples:
        assert value in taken.get(ts, ()), (name, ts, value)
    at = 0
    for i, (ts, value) in enumerate(steps):
        if i + 1 < len(steps) and steps[i + 1][0] <= ts + LAG:
            continue
        while at < len(samples) and samples[at][0] <= ts + LAG:
            at += 1
        equal(samples[at - 1][1], value, f"{name} at {ts}")


def compare_turns(got, wanted):
    same(got, wanted, "threads and who ran on them")
    for key, intervals in wanted.items():
        equal(reading.joined(got[key]), reading.joined(intervals), f"turns of {key}")


def compare(r, d):
    """Compare the reading with what is drawn."""
    compare_turns(d.turns(), r.turns)
    lives = {(s[4]["coroutine"], s[2]): t for t, s in d.lives().items()}
    same([(*k, d.lives()[t][3]) for k, t in lives.items()], [(v.id, v.begin, v.end) for v in r.lives], "lives")
    states = d.states()
    for v in r.lives:
        same(states[lives[v.id, v.begin]], v.states, f"states of {v.id}")
    same([(d.lives()[i[0]][4]["coroutine"], i[1], i[2]) for i in d.instants if d.is_coroutine(i[0]) and i[1] != "events lost"],
         [(v.id, *i) for v in r.lives for i in v.instants], "instants")
    same([(d.tid(i[0]), i[4]["coroutine"], i[2]) for i in d.instants_named("wake")], r.wakes, "wakes")
    same(d.flows(), r.flows, "flows")
    for name, steps in r.steps.items():
        check_counter(d.counter(name), steps, name)


def check_sites(r, d):
    sites = {f["id"]: (f["file"], f["line"], f["function"]) for f in r.facts if f["type"] == "site"}
    wanted = [(e["ts"], sites.get(e.get("site"))) for e in r.suspends]
    same([(s[2], s[5]) for s in d.slices if s[1].startswith("suspended")], wanted, "places of suspensions")


def trace_of(dir, *command, name="t.jsonl", options=(), **kwargs):
    path = f"{dir}/{name}"
    status, _, err = tool("run", "-q", "-o", path, *options, "--", *command, **kwargs)
    equal(status, 0, "status of run: " + err)
    return path


@test
def everything_of_a_real_run_is_drawn(dir):
    trace = trace_of(dir, *CHANNELS_FOR_A_MOMENT)
    r, d = reading.Reading(trace), draw(trace)
    assert len(r.flows) > 100 and len(r.turns) > 50
    compare(r, d)
    check_sites(r, d)
    run_fact = next(f for f in r.facts if f["type"] == "run")
    equal({(c.clock_id, c.timestamp) for c in d.clock.clocks},
          {(3, run_fact["start_ts"]), (1, run_fact["start_realtime"])}, "clocks")
    equal(d.clock.primary_trace_clock, 3, "the trace's clock")
    process = next(t for t in d.tracks.values() if t.HasField("process"))
    equal((process.process.pid, process.process.process_name), (run_fact["pid"], os.path.basename(CHANNELS)), "process")
    totals = next(f for f in r.facts if f["type"] == "totals")
    end, = d.instants_named("end of the run")
    equal((end[2], end[4]["transitions"], end[4]["lost"]), (totals["end_ts"], totals["written"], 0), "end of the run")


@test
def every_bug_of_the_corpus_is_drawn_as_it_was(dir):
    scenarios = re.findall(r"^  (\S+)$", subprocess.run([BUGGY], capture_output=True, text=True, check=False).stderr, re.M)
    assert len(scenarios) > 20, scenarios
    if not os.environ.get("COROTRACER_FULL"):
        scenarios.remove("busy-yield")  # one coroutine that yields 5,000 times
    for scenario in scenarios:
        trace = trace_of(dir, BUGGY, scenario, name=scenario.replace("/", "-") + ".jsonl", env=ENV)
        r, d = reading.Reading(trace), draw(trace)
        try:
            compare(r, d)
            check_sites(r, d)
        except AssertionError as why:
            raise AssertionError(f"{scenario}: {why}") from why


@test
def a_server_with_many_connections_is_drawn(dir):
    if not os.path.exists(SERVER):
        raise Skip("no mini-redis here")
    import socket
    port_file, trace = dir + "/port", dir + "/s.jsonl"
    p = popen(TOOL, "run", "-q", "--on-full", "block", "-o", trace, "--", SERVER, "--port", 0, "--port-file", port_file)
    wait_until(lambda: os.path.exists(port_file) or p.poll() is not None, "a port")
    with open(port_file, encoding="ascii") as f:
        port = int(f.read())
    for _ in range(5):
        many = [socket.create_connection(("127.0.0.1", port), timeout=300) for _ in range(60)]
        for i, s in enumerate(many):
            s.sendall(b"SET k%d v\r\nGET k%d\r\n" % (i, i))
        for s in many:
            answer = b""
            while not answer.endswith(b"v\r\n"):
                answer += s.recv(4096)
            s.close()
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=300)
    r, d = reading.Reading(trace), draw(trace)
    assert len(r.lives) > 300
    each = os.path.getsize(trace + ".perfetto") / sum(e["kind"] in ("suspend", "resume") for e in r.events)
    assert each < 60, f"{each} bytes per transition"
    compare(r, d)
    check_sites(r, d)
    # More than a hundred of a kind: the others share rows, in a group of their own.
    packed = [t for t in d.tracks.values() if t.sibling_merge_key]
    assert len(packed) >= 100, len(packed)
    for t in packed:
        equal(re.sub(r"[0-9,]+", "N", d.tracks[t.parent_uuid].name), "N to N", "group")


@test
def stations_have_their_order_mended(dir):
    """Programs without lanes: events in scan order, names and ends in the last records."""
    trace = trace_of(dir, TARGET, "events", 20, 50, 100, env=STATIONS_ONLY)
    r, d = reading.Reading(trace), draw(trace)
    assert [e["ts"] for e in map(json.loads, open(trace, encoding="utf-8"))] != sorted(e["ts"] for e in r.events), "in order already"
    ends = {f["probe_id"]: f for f in r.facts if f["type"] == "coroutine"}
    # Twenty that run on one thread at once: each has its own track.
    ran = {life[4]["coroutine"]: [(b, e) for name, b, e in d.states()[t] if name == "running"] for t, life in d.lives().items()}
    for v in r.lives:
        wanted = [(b, e if e is not None else ran[v.id][-1][1]) for name, b, e in v.states if name == "running"]
        assert len(wanted) >= 20, wanted
        equal(ran[v.id], wanted, f"when {v.id} ran")
    for t, life in d.lives().items():
        fact = ends[life[4]["coroutine"]]
        equal(d.name(t), f"{fact['name'] or 'coroutine'} #{fact['probe_id']}", "name of a track")
        equal(life[3] is not None, fact["dead"], "has an end")
    same(d.flows(), [], "flows")


@test
def the_trace_processor_finds_the_same(dir):
    trace = trace_of(dir, *CHANNELS_FOR_A_MOMENT)
    r, d = reading.Reading(trace), draw(trace)
    errors, turns, coroutines, flows, counters, bounds, names = packages.processor(packages.convert_flows(trace + ".perfetto", dir + "/old"), [
        "select name, value from stats where value != 0 and severity in ('error', 'data_loss')",
        "select tid, ts, dur, slice.name from slice join thread_track on track_id = thread_track.id join thread using (utid)",
        "select ts, dur, slice.name, process_track.name from slice join process_track on track_id = process_track.id",
        "select a.ts, b.ts from flow join slice a on slice_out = a.id join slice b on slice_in = b.id",
        "select process_counter_track.name, ts, cast(value as int) from counter join process_counter_track on track_id = process_counter_track.id",
        "select start_ts, end_ts from trace_bounds",
        "select pid, name from process where pid > 0",
    ])
    equal(errors, [], "what the trace processor complains of")
    sliced = [s for s in d.slices + d.instants if d.tid(s[0]) is not None]
    same([(t[0], t[1], t[2], t[3]) for t in turns], [(d.tid(s[0]), s[2], (s[3] or s[2]) - s[2], s[1]) for s in sliced], "slices of threads")
    others = [s for s in d.slices + d.instants if d.tid(s[0]) is None and not d.tracks[s[0]].HasField("process")]
    same([c for c in coroutines if c[3]], [(s[2], (s[3] or s[2]) - s[2], s[1], d.name(s[0])) for s in others], "slices of coroutines")
    # A flow leads from the wake to "ready", and from there to the turn.
    wakes = {(f[1], f[1]) for f in r.flows} | {(f[1], f[3]) for f in r.flows}
    # The trace processor reads compressed packets, too.
    packed, = packages.processor(trace + ".perfetto", ["select count(*) from slice"])
    equal(packed, [(len(d.slices) + len(d.instants),)], "slices in the file as it is")
    assert flows and all(f in wakes for f in flows), "flows"
    assert {f[1] for f in r.flows} == {f[0] for f in flows}, "wakes that lead somewhere"
    same(counters, [(d.name(t), *s) for t, all in d.counters.items() for s in all], "counters")
    run_fact = next(f for f in r.facts if f["type"] == "run")
    equal(names, [(run_fact["pid"], os.path.basename(CHANNELS))], "process")
    totals = next(f for f in r.facts if f["type"] == "totals")
    equal(bounds, [(r.events[0]["ts"], totals["end_ts"])], "time line")


def write(path, lines, meta=None):
    with open(path, "wb") as f:
        f.write(b"".join(line + b"\n" for line in lines))
    if meta is not None:
        with open(path + ".meta", "wb") as f:
            f.write(b"".join(line + b"\n" for line in meta))


def line(id, ts, active, tid=7):
    return b'{"probe_id":%d,"tid":%d,"addr":"0x%016x","seq":2,"is_active":%s,"ts":%d}' % (id, tid, 4096 + id % 4096, b"true" if active else b"false", ts)


@test
def a_trace_of_another_tool_is_drawn_with_what_it_has(dir):
    shutil.copy(FIXTURES + "/older-tool.jsonl", dir + "/t.jsonl")
    d = draw(dir + "/t.jsonl", status=1)
    good = []
    for text in open(dir + "/t.jsonl", encoding="utf-8"):
        e = json.loads(text)
        if e["ts"] & 0xffffffffffff and e["tid"] < 2**31 and e["seq"]:
            good.append(e)
    write(dir + "/good.jsonl", [json.dumps(e).encode() for e in good])
    r = reading.Reading(dir + "/good.jsonl")
    compare(r, d)
    assert not any(t.HasField("process") or t.HasField("thread") for t in d.tracks.values()), "a process that nobody told of"
    garbage, = d.instants_named("unreadable parts of the trace")
    equal((garbage[4], garbage[2]), ({"lines": 3}, r.events[-1]["ts"]), "garbage, and no time of its own")
    equal(max(s[2] for s in d.slices + d.instants), r.events[-1]["ts"], "end of the time line")
    equal(min(s[2] for s in d.slices + d.instants), r.events[0]["ts"], "its beginning")


@test
def hostile_names_and_numbers_stay_what_they_are(dir):
    big = 2**64 - 1
    name = b'q"uo\\\\te \\u0001 <b> \xe2\x82\xac'
    write(dir + "/t.jsonl",
          [line(1, 1000, True), line(big, 1000, True, 8), line(big, 2000, False, 8), line(0, 3000, True), line(5, 2**63 + 5, True), line(5, 4000, True)],
          [b'{"type":"run","format":1,"tool":"t","command":["./a b"],"pid":77,"start_ts":900,"start_realtime":1700000000000000900,"stations":1}',
           b'{"type":"site","id":3,"file":"d/\\u0007.c","line":12,"function":"f\\"g","pid":77}',
           b'{"type":"birth","ts":950,"probe_id":1,"tid":7,"site":3,"pid":77,"name":"%s"}' % name.replace(b'"', b'\\"')])
    d = draw(dir + "/t.jsonl", status=1)
    lives = {s[4]["coroutine"]: s for s in d.lives().values()}
    assert {big, 0, 1, 5} == set(lives), lives
    equal(lives[1][1], 'q"uo\\te \x01 <b> \u20ac #1', "name")
    equal(lives[big][1], "coroutine #18446744073709551615", "name of the largest")
    equal(lives[1][5], ("d/\x07.c", 12, 'f"g'), "place of birth")
    assert all(s[2] <= 4000 for s in d.slices + d.instants), "the time line is stretched"
    got, _, err = tool("export", "perfetto", "-q", "-i", dir + "/t.jsonl", "-o", dir + "/x")
    equal(got, 1, "status: " + err)
    contains(err, "1 events are too far out of order or have impossible times")
    export(dir + "/t.jsonl", kind="chrome", status=1)
    with open(dir + "/t.jsonl.chrome", "rb") as f:
        events = json.loads(f.read().decode("utf-8"))["traceEvents"]
    assert any(e["name"] == 'q"uo\\te \x01 <b> \u20ac #1' for e in events if e["ph"] == "b")


@test
def no_events_and_half_lines_are_no_trouble(dir):
    write(dir + "/empty.jsonl", [])
    d = draw(dir + "/empty.jsonl")
    equal((d.slices, d.instants, d.counters), ([], [], {}), "drawn of nothing")
    shutil.copy(FIXTURES + "/cut.jsonl", dir + "/cut.jsonl")
    d = draw(dir + "/cut.jsonl", status=1)
    assert d.slices
    equal(d.instants_named("unreadable parts of the trace")[0][4], {"lines": 1}, "the cut line")


@test
def a_pipe_will_do(dir):
    trace = trace_of(dir, TARGET, "events", 3, 5, 0)
    with open(trace, "rb") as f:
        lines = f.read()
    p = subprocess.run([TOOL, "export", "perfetto", "-q", "-i", "-", "-o", "-"], input=lines, capture_output=True, check=False)
    equal((p.returncode, p.stderr), (0, b""), "export of a pipe")
    d = drawn.Drawn(packages.schema(), p.stdout)
    os.unlink(trace + ".meta")
    compare(reading.Reading(trace), d)


@test
def what_is_too_late_is_told_and_not_drawn(dir):
    """A window of 65,536 events is sorted; events further out of order are counted."""
    lines = [line(i % 50, 10**9 + 1000 * i, (i // 50) % 2 == 0) for i in range(70000)]
    lines.append(line(1, 10**9 + 5, True))
    write(dir + "/t.jsonl", lines)
    summary, err = export(dir + "/t.jsonl", status=1)
    equal((summary["left_out"], summary["rows"]), (1, 70000), "left out")
    contains(err, "1 events are too far out of order")
    d = load_drawn(dir + "/t.jsonl", summary)
    told, = d.instants_named("unreadable parts of the trace")
    equal(told[4]["events too late to be drawn"], 1, "told in the trace")
    # Fifty coroutines that run at once on one thread do not nest; the export reports that too.
    assert told[4]["turns too entangled to be drawn in full"] > 0, told


@test
def loss_is_drawn_where_it_was(dir):
    """A gap ends what ran on its thread: what the thread did afterwards is unknown."""
    write(dir + "/t.jsonl", [line(1, 1000, True, 7), line(2, 1500, True, 8), line(1, 9000, True, 7), line(1, 9500, False, 7)],
          [b'{"type":"run","format":1,"tool":"t","command":["a"],"pid":7,"start_ts":900,"start_realtime":1700000000000000900,"stations":1}',
           b'{"type":"gap","lane":0,"pid":7,"tid":7,"from_ts":2000,"to_ts":8000,"transitions":11,"others":2}',
           b'{"type":"totals","complete":true,"written":15,"collected":4,"lost":11,"others_lost":2,"garbage":0,"exit_status":0,"end_ts":9900}'])
    d = draw(dir + "/t.jsonl")
    gap, = [s for s in d.slices if s[1] == "events lost"]
    equal((d.name(gap[0]), gap[2:5]), ("lost by thread 7", [2000, 8000, {"transitions": 11, "other events": 2}]), "gap")
    equal(d.turns()[7, 1], [(1000, 2000), (9000, 9500)], "turns around the gap")
    equal(d.turns()[8, 2], [(1500, None)], "another thread's")
    end, = d.instants_named("end of the run")
    equal((end[2], end[4]["lost"], end[4]["other events lost"]), (9900, 11, 2), "totals")


def peak(*command):
    """In KiB, from a separate process: a fork of this one would start with its size."""
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); " \
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    p = popen(sys.executable, "-S", "-c", script, *command)
    out, err = p.communicate(timeout=300)
    equal(p.returncode, 0, "status: " + err)
    return int(out)


@test
def memory_follows_who_is_there(dir):
    """Five times the events: a peak of at most 1.2 times."""
    if os.environ.get("SANITIZE"):
        raise Skip("a sanitizer keeps what was freed")
    peaks = {}
    for nr in (100000, 500000):
        with open(dir + "/t.jsonl", "wb") as f:
            for i in range(nr // 1000):
                f.write(b"\n".join(line(k % 100, 10**9 + 1000 * (1000 * i + k), k // 100 % 2 == 0) for k in range(1000)) + b"\n")
        for kind in ("perfetto", "ctf", "jsonl"):
            peaks.setdefault(kind, []).append(peak(TOOL, "export", kind, "-q", "-i", dir + "/t.jsonl", "-o", dir + "/out." + kind))
    print(f"  peak in KiB, five times the events: {peaks}")
    for small, large in peaks.values():
        assert large <= 1.2 * small, peaks


if __name__ == "__main__":
    main()
