# SPDX-License-Identifier: MIT
"""test_frames_viewers.py - one trace with coroutines, context switches and frames in Perfetto's own trace processor,
and in Chrome's format: every frame is on the track of its coroutine, with its fields."""
import sqlite3

import packages
from harness import *

TRACED = os.environ["TRACED"]


def record(dir):
    trace = dir + "/t.ct"
    status, out, err = tool("run", "--frames", "--cpu", "-o", trace, "--", TRACED, "40")
    equal(status, 0, err)
    return trace, [line.split() for line in out.splitlines()]


def export(kind, trace, out):
    status, _, err = tool("export", kind, trace, "-o", out)
    equal(status, 0, err)
    return out


@test
def perfetto_reads_frames_under_their_coroutines(dir):
    trace, saves = record(dir)
    errors, frames, switches, turns = packages.processor(export("perfetto", trace, dir + "/p"), [
        "select name, value from stats where severity = 'error' and value > 0",
        "select extract_arg(s.arg_set_id, 'debug.fields.number'), extract_arg(s.arg_set_id, 'debug.fields.where'), "
        "extract_arg(s.arg_set_id, 'debug.fields.text'), extract_arg(s.arg_set_id, 'debug.thread'), s.dur, s.depth, "
        "(select extract_arg(l.arg_set_id, 'debug.coroutine') from slice l where l.track_id = s.track_id and l.depth = 0 "
        "and l.ts <= s.ts order by l.ts desc limit 1), s.ts from slice s where s.name = 'step' and s.category = 'frame'",
        "select count() from slice where category = 'processor'",
        "select count() from slice where category = 'running'",
    ])
    equal(errors, [], "errors of the trace processor")
    equal(len(frames), len(saves), "frames")
    by_number = {int(f[0]): f for f in frames}
    for number, tid, coro, where, before, after in saves:
        f = by_number[int(number)]
        equal((f[1], f[2], int(f[3]), int(f[4])), (where, f'"{number}"\n', int(tid), 0), "fields of a frame")
        if int(coro):
            equal(int(f[6]), int(coro), f"coroutine of frame {number}")
        assert int(before) - 1000 <= int(f[7]) <= int(after) + 1000, f
    assert int(switches[0][0]) >= 0 and int(turns[0][0]) > 0


@test
def chrome_has_frames_with_their_fields(dir):
    trace, saves = record(dir)
    with open(export("chrome", trace, dir + "/c"), encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    steps = {e["args"]["fields"]["number"]: e for e in events if e.get("name") == "step"}
    equal(len(steps), len(saves), "frames")
    lives = {e["id"]: e["args"]["coroutine"] for e in events if e["ph"] == "b" and "coroutine" in e.get("args", {})}
    for number, tid, coro, where, *_ in saves:
        e = steps[int(number)]
        equal((e["ph"], e["args"]["fields"]["where"]), ("n" if int(coro) else "i", where), "an instant")
        if int(coro):
            equal(lives[e["id"]], int(coro), f"coroutine of frame {number}")
        else:
            equal(e["tid"], int(tid), "thread")


@test
def tables_have_a_row_per_frame(dir):
    trace, saves = record(dir)
    status, _, err = tool("export", "sqlite", "--full", trace, "-o", dir + "/t.db")
    equal(status, 0, err)
    with sqlite3.connect(dir + "/t.db") as db:
        rows = db.execute("select json_extract(fields, '$.number'), tid, coalesce(probe_id, 0), ts from "
                          "coro_trace_events_frames where frame = 'step' order by 1").fetchall()
    equal([(n, t, int(c)) for n, t, c, _ in rows], [(int(s[0]), int(s[1]), int(s[2])) for s in saves], "rows of frames")


main()
