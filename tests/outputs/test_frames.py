# SPDX-License-Identifier: MIT
"""test_frames.py - recordings of frames as the source of every export; other commands reject them."""
import csv
import sqlite3
import struct

import packages
import recordings
from harness import *

AT = 1_700_000_000_123_456_789  # a time of day whose nanoseconds a double cannot hold
NR = 400


def make(dir, clock="ETimeClockMonotonic", at_ns=5 * 10**9, nr=NR):
    path = os.path.join(dir, "r.ppt")
    with open(path, "wb") as f:
        f.write(recordings.header(recordings.FRAMES, clock=clock) + recordings.body(nr, at_ns=at_ns))
    return path


def jobs(at_ns, nr=NR):
    return [(n, at_ns + n * 1000, 700 + n % 7, n / 8) for n in range(1, nr + 1) if n % 4]


def ticks(at_ns, nr=NR):
    return [(n, at_ns + n * 1000, n % 50) for n in range(4, nr + 1, 4)]


def export(kind, path, out, *options):
    status, _, err = tool("export", kind, "-i", path, "-o", out, "--json", *options)
    equal(status, 0, f"status of {kind} ({err})")
    return json.loads(next(line for line in err.splitlines() if line.startswith("{")))


def track_events(path):
    pb = packages.schema()
    trace = pb.Trace()
    with open(path, "rb") as f:
        trace.ParseFromString(packages.expanded(pb, f.read()))
    return trace


@test
def perfetto_gets_its_own_format_and_its_processor_finds_every_frame(dir):
    for clock, at in (("ETimeClockMonotonic", 5 * 10**9), ("ETimeClockRealtime", AT), ("ETimeClockMonotonicRaw", 7 * 10**9)):
        path, out = make(dir, clock, at), os.path.join(dir, "r.trace")
        summary = export("perfetto", path, out)
        equal((summary["frames"], summary["slices"], summary["instants"], summary["counters"]), (NR, 300, 100, 100), "summary")
        errors, slices, instants, counters, loads, process = packages.processor(out, [
            "select name, value from stats where value != 0 and severity in ('error', 'data_loss')",
            "select ts, dur, category from slice where name = 'run' order by ts",
            "select ts, dur, category from slice where name = 'tick' order by ts",
            "select ts, cast(value as int), t.name from counter c join counter_track t on c.track_id = t.id order by ts",
            "select real_value from args join slice using (arg_set_id) where key = 'debug.load' order by slice.ts",
            "select pid, name from process where pid > 0",
        ])
        equal(errors, [], f"what the trace processor complains of ({clock})")
        equal([tuple(s) for s in slices], [(at, dur, "job") for _, at, dur, _ in jobs(at)], f"slices ({clock})")
        equal([tuple(i) for i in instants], [(at, 0, "tick") for _, at, _ in ticks(at)], f"instants ({clock})")
        equal([tuple(c) for c in counters], [(at, depth, "tick.depth") for _, at, depth in ticks(at)], f"counters ({clock})")
        equal([v for v, in loads], [load for *_, load in jobs(at)], "loads")
        equal([name for _, name in process], ["Hand"], "process")


@test
def slices_that_overlap_are_in_rows_of_their_own(dir):
    # In the order in which programs save them: by their end.  Three threads, nested starts, one
    # that spans all, one of length 0.
    spans = [(100, 200), (150, 250), (120, 300), (300, 400), (300, 300), (0, 1000), (250, 1000)]
    path = os.path.join(dir, "o.ppt")
    with open(path, "wb") as f:
        f.write(recordings.header(recordings.FRAMES))
        f.write(b"".join(recordings.job(i + 1, 10**9 + a, 10**9 + b, 0.5) for i, (a, b) in enumerate(spans)))
    export("perfetto", path, path + ".trace")
    trace = track_events(path + ".trace")
    open_at, rows, seen = {}, {}, []
    for p in trace.packet:
        e = p.track_event
        if e.type == e.TYPE_SLICE_BEGIN:
            assert e.track_uuid not in open_at, "a slice begins inside another one of its row"
            open_at[e.track_uuid] = p.timestamp
        elif e.type == e.TYPE_SLICE_END:
            begin = open_at.pop(e.track_uuid)
            assert begin >= rows.get(e.track_uuid, 0), "rows go back in time"
            rows[e.track_uuid] = p.timestamp
            seen.append((begin - 10**9, p.timestamp - 10**9))
    equal(seen, spans, "slices")
    keys = {p.track_descriptor.uuid: p.track_descriptor.sibling_merge_key for p in trace.packet if p.HasField("track_descriptor")}
    equal({keys[r] for r in rows}, {"job.run"}, "the group of the rows")
    errors, found = packages.processor(path + ".trace", [
        "select name, value from stats where value != 0 and severity in ('error', 'data_loss')",
        "select ts, dur from slice where name = 'run'"])
    equal((errors, sorted((a - 10**9, a - 10**9 + d) for a, d in found)), ([], sorted(spans)), "slices in the trace processor")


@test
def more_rows_than_there_is_room_for_are_drawn_all_the_same(dir):
    nr = 700
    path = os.path.join(dir, "w.ppt")
    with open(path, "wb") as f:
        f.write(recordings.header(recordings.FRAMES) + b"".join(recordings.job(n, 10**9 - n, 2 * 10**9, n) for n in range(1, nr + 1)))
    export("perfetto", path, path + ".trace")
    errors, found = packages.processor(path + ".trace", [
        "select name, value from stats where value != 0 and severity in ('error', 'data_loss')", "select ts, ts + dur from slice where name = 'run'"])
    equal((errors, sorted(tuple(f) for f in found)), ([], sorted((10**9 - n, 2 * 10**9) for n in range(1, nr + 1))), "slices")


@test
def chrome_keeps_every_nanosecond_of_the_time_of_day(dir):
    path, out = make(dir, "ETimeClockRealtime", AT), os.path.join(dir, "r.json")
    export("chrome", path, out)
    with open(out, encoding="utf-8") as f:
        events = json.load(f, parse_float=str)["traceEvents"]

    def ns(e):
        whole, _, part = str(e["ts"]).partition(".")
        return int(whole) * 1000 + int(part.ljust(3, "0") or 0)
    begins = {e["id"]: ns(e) for e in events if e["ph"] == "b"}
    ends = {e["id"]: ns(e) for e in events if e["ph"] == "e"}
    equal([(n, begins[n], ends[n] - begins[n]) for n in begins], [(n, at, dur) for n, at, dur, _ in jobs(AT)], "slices")
    equal([(ns(e), e["args"]["value"]) for e in events if e["ph"] == "C"], [(at, depth) for _, at, depth in ticks(AT)], "counters")


@test
def cpu_time_is_a_value_and_no_position(dir):
    for clock in ("ETimeClockThreadCputimeId", "ETimeClockProcessCputimeId"):
        # As on threads that started at different times: their clocks are unrelated.
        path = os.path.join(dir, "c.ppt")
        frames = [(1, 5_000, 6_000), (2, 900, 1_000), (3, 6_000, 9_000), (4, 1_000, 1_050)]
        with open(path, "wb") as f:
            f.write(recordings.header(recordings.FRAMES, clock=clock) + b"".join(recordings.job(n, a, b, n) for n, a, b in frames))
        status, _, err = tool("export", "perfetto", "-i", path, "-o", path + ".trace")
        equal(status, 0, "status")
        contains(err, "CPU time")
        slices, durations = packages.processor(path + ".trace", [
            "select ts, dur from slice where dur > 0",
            "select ts, cast(value as int) from counter c join counter_track t on c.track_id = t.id where t.name = 'job.run_duration' order by ts"])
        equal((slices, [tuple(d) for d in durations]), ([], [(n * 1000, b - a) for n, a, b in frames]), f"slices and durations ({clock})")
        export("chrome", path, path + ".json")
        with open(path + ".json", encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
        equal([e for e in events if e["ph"] in "be"], [], "slices in JSON")
        equal([e["args"]["value"] for e in events if e["name"] == "job.run_duration"], [b - a for _, a, b in frames], "durations in JSON")


@test
def tables_and_lines_hold_the_same(dir):
    path = make(dir)
    export("csv", path, dir + "/csv")
    with open(dir + "/csv/job.csv", newline="", encoding="utf-8") as f:
        rows = [(int(r["ppt_seqno"]), int(r["run_start"]), int(r["run_duration"]), float(r["load"])) for r in csv.DictReader(f)]
    equal(rows, jobs(5 * 10**9), "CSV")
    export("sqlite", path, dir + "/r.sqlite")
    db = sqlite3.connect(dir + "/r.sqlite")
    equal(db.execute("select ppt_seqno, run_start, run_duration, load from job").fetchall(), jobs(5 * 10**9), "SQLite")
    equal(db.execute("select ppt_seqno, at, depth from tick").fetchall(), ticks(5 * 10**9), "SQLite, the other table")
    db.close()
    export("jsonl", path, dir + "/r.jsonl")
    with open(dir + "/r.jsonl", encoding="utf-8") as f:
        frames = [json.loads(line) for line in f]
    equal([(f["ppt_seqno"], f["at"], f["depth"]) for f in frames if f["frame"] == "tick"], ticks(5 * 10**9), "JSON lines")


@test
def a_recording_may_come_from_standard_input(dir):
    path = make(dir)
    with open(path, "rb") as f:
        data = f.read()
        f.seek(0)
        p = subprocess.run([TOOL, "export", "jsonl", "-q", "-i", "-", "-o", "-"], stdin=f, capture_output=True, check=True, timeout=300)
    equal(len(p.stdout.splitlines()), NR, "lines from a file")
    p = subprocess.run([TOOL, "export", "perfetto", "-q", "-i", "-"], input=data, capture_output=True, check=True, timeout=300)
    with open(dir + "/piped", "wb") as f:
        f.write(p.stdout)
    equal(sum(1 for p in track_events(dir + "/piped").packet if p.track_event.type == 1), 300, "slices from a pipe")
    # A trace from a pipe is still a trace.
    p = subprocess.run([TOOL, "export", "csv", "-q", "-i", "-", "-o", "-"], capture_output=True, timeout=300, check=False,
                       input=b'{"probe_id":1,"tid":7,"addr":"0x0000000000000010","seq":2,"is_active":true,"ts":5}\n')
    equal((p.returncode, len(p.stdout.splitlines())), (0, 2), f"a trace from a pipe ({p.stderr})")


@test
def what_a_recording_cannot_become_is_refused_with_what_it_can(dir):
    path = make(dir)
    status, out, err = tool("export", "graphviz", "-i", path)
    equal((status, out), (1, ""), "status of graphviz")
    contains(err, "recording of frames")
    contains(err, "csv, jsonl, sqlite, postgresql, mysql, parquet, ct, ctf, perfetto, chrome, speedscope, folded and pprof")
    equal(os.listdir(dir), ["r.ppt"], "files")
    equal(tool("export", "nonsense", "-i", path)[0], 2, "status of a kind that does not exist")


@test
def commands_for_traces_refuse_recordings_and_name_others(dir):
    path = make(dir)
    memory = recordings.memory_trace(dir + "/raw", 100)
    equal(tool("mem", "convert", "-q", "-o", dir + "/cray", memory)[0], 0, "status of mem convert")
    for command in (["info"], ["report"], ["html", "-o", dir + "/page"], ["serve"]):
        p = popen(TOOL, *command, path)
        out, err = p.communicate(timeout=300)
        equal((p.returncode, out), (1, ""), f"status of {command}")
        contains(err, "it is a recording of frames, not a trace of coroutines")
        contains(err, "corotracer decode")
        p = popen(TOOL, *command, dir + "/cray")
        equal(p.wait(300), 1, f"status of {command} on a memory trace")
        contains(p.stderr.read(), "it is a memory trace")
    assert not os.path.exists(dir + "/page"), "a page of nothing"


@test
def damage_is_said_and_the_rest_is_exported(dir):
    path = make(dir)
    with open(path, "ab") as f:
        f.write(struct.pack("<II40xI", 500, 1, 501) + struct.pack("<II40xI", 501, 9, 501) + b"cut")
    status, _, err = tool("export", "perfetto", "-i", path, "-o", dir + "/d.trace")
    equal(status, 1, "status")
    for words in ("1 torn frames", "1 frames of unknown types", "the last 3 bytes"):
        contains(err, words)
    equal(sum(1 for p in track_events(dir + "/d.trace").packet if p.track_event.type == 1), 300, "slices")


@test
def frames_that_the_recording_counts_and_does_not_hold_are_missing(dir):
    path = os.path.join(dir, "m.ppt")
    for recorded, status in ((100, 0), (107, 1)):
        with open(path, "wb") as f:
            f.write(recordings.header(recordings.FRAMES, corotracer={"format": 1}) + recordings.body(100) + recordings.mark(4, a=110, b=recorded, c=3))
        got, _, err = tool("export", "jsonl", "--json", "-i", path, "-o", dir + "/m.jsonl")
        summary = json.loads(next(line for line in err.splitlines() if line.startswith("{")))
        equal((got, summary["missing"], summary["lost"], summary["torn"]), (status, recorded - 100, 3, 0), "status, missing, lost, torn")
    contains(err, "7 frames were recorded and are not in the file")


@test
def traces_have_the_frames_with_their_times_and_members(dir):
    path = make(dir)
    with open(path, "ab") as f:  # numbers 401 to 409 are missing
        f.write(recordings.tick(NR + 10, 6 * 10**9, 3))
    at = 5 * 10**9
    want = sorted([(n, start + took, "job", {"run_start": start, "run_end": start + took, "run_duration": took, "load": load}) for n, start, took, load in jobs(at)] +
                  [(n, ts, "tick", {"at": ts, "depth": depth}) for n, ts, depth in ticks(at)] +
                  [(NR + 10, 6 * 10**9, "tick", {"at": 6 * 10**9, "depth": 3})], key=lambda f: f[0])
    for kind in ("ct", "ctf", "jsonl"):
        out = os.path.join(dir, f"frames.{kind}")
        if kind == "jsonl":  # by way of ct: a recording's own JSON lines have a line per frame
            equal(tool("export", "jsonl", "-q", "-i", os.path.join(dir, "frames.ct"), "-o", out)[0], 0, "status of jsonl")
        else:
            equal(export(kind, path, out)["frames"], NR + 1, f"frames of the summary of {kind}")
        status, text, err = tool("query", out, "--json", "SELECT ticket, ts, frame, fields, lost, buffer, late FROM frames ORDER BY ticket")
        equal(status, 0, err)
        rows = [tuple(r.values()) for r in json.loads(text)["rows"]]
        equal([(r[0], r[1], r[2], json.loads(r[3])) for r in rows if r[2]], want, f"frames of {kind}")
        equal([r[4] for r in rows if not r[2]], [9], f"lost frames of {kind}")
        equal({r[5] for r in rows}, {"Hand"}, f"buffers of {kind}")
        status, text, err = tool("info", "--json", out)
        equal((status, json.loads(text)["completeness"]["verdict"]), (0, "complete"), f"verdict of {kind}: {err}")


@test
def parquet_of_a_recording_has_its_frames(dir):
    out = os.path.join(dir, "r.parquet")
    export("parquet", make(dir), out)
    equal(sorted(os.listdir(out)), [f"{n}.parquet" for n in ("coroutines", "events", "frames", "run", "sites", "switches", "waits")], "files")
    with open(os.path.join(out, "frames.parquet"), "rb") as f:
        data = f.read()
    equal((data[:4], data[-4:]), (b"PAR1", b"PAR1"), "the format")


@test
def what_a_recording_cannot_become_is_refused_with_the_reason(dir):
    for kind, clock, words in (("graphviz", "ETimeClockMonotonic", "do not wait for each other"), ("otlp", "ETimeClockMonotonic", "recording of frames"),
                               ("ct", "ETimeClockRealtime", "not of CLOCK_MONOTONIC"), ("ctf", "ETimeClockRealtime", "not of CLOCK_MONOTONIC"),
                               ("parquet", "ETimeClockThreadCputimeId", "not of CLOCK_MONOTONIC")):
        path, out = make(dir, clock=clock), os.path.join(dir, "refused")
        status, _, err = tool("export", kind, "-i", path, "-o", out)
        equal(status, 1, f"status of {kind}")
        contains(err, words)
        contains(err, "hint: ")
        assert not os.path.exists(out), f"{kind} left an output"


if __name__ == "__main__":
    main()
