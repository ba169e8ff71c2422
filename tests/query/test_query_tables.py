# SPDX-License-Identifier: MIT
"""test_query_tables.py - every table of `query` against a computation in Python; functions, output, recordings, running programs."""
import contextlib
import csv
import fcntl
import io
import math
import pty
import re
import statistics
import struct
import termios

from sql import *

DOCS = os.environ.get("DOCS", "docs")
RUN = [CHANNELS] if os.environ.get("COROTRACER_FULL") else [CHANNELS, "--seconds", "0.7"]
WAITS = "probe_id, from_ts, to_ts, duration_ns, tid, site, reason, resource, addr, ended_by, station"


KEPT_FILES = {}


def channels(dir):
    """A run of an example with timers, channels, names, births and wakes: the same one for all tests."""
    trace = dir + "/c.jsonl"
    if not KEPT_FILES:
        status, _, err = tool("run", "-q", "-o", trace, "--", *RUN)
        equal(status, 0, err)
        for name in ("", ".meta"):
            with open(trace + name, "rb") as f:
                KEPT_FILES[name] = f.read()
    for name, data in KEPT_FILES.items():
        with open(trace + name, "wb") as f:
            f.write(data)
    return trace


@test
def events_waits_and_slices_are_those_of_the_lines_in_every_format(dir):
    jsonl = channels(dir)
    t = Trace(jsonl)
    want = {"events": events(t), "waits": intervals(t, "suspend"), "slices": intervals(t, "resume")}
    assert len(want["waits"]) > 1000, len(want["waits"])
    for trace in in_every_format(dir, jsonl):
        same_rows(rows(trace, "SELECT * FROM events"), want["events"], f"events of {trace}")
        same_rows(rows(trace, f"SELECT {WAITS}, to_tid, woken_ts, waker FROM waits"), want["waits"], f"waits of {trace}")
        same_rows(rows(trace, f"SELECT {WAITS} FROM slices"), want["slices"], f"slices of {trace}")


@test
def coroutines_sites_and_facts_are_those_of_the_lines(dir):
    jsonl = channels(dir)
    t = Trace(jsonl)
    births = {e["probe_id"]: e for e in t.events if e["kind"] == "birth"}
    ends = {e["probe_id"]: e for e in t.events if e["kind"] == "end"}
    destroys = {e["probe_id"]: e for e in t.events if e["kind"] == "destroy" or e.get("destroyed")}
    assert len(births) > 50, len(births)
    left = {c["probe_id"]: c for c in t.of("coroutine")}
    want = [(id, b.get("name"), b.get("parent"), b["ts"], b.get("site") or None, ends.get(id, {}).get("ts"),
             destroys.get(id, {}).get("ts"), left.get(id, {}).get("state")) for id, b in births.items()]
    run, totals = t.of("run")[0], t.of("totals")[0]
    for trace in in_every_format(dir, jsonl):
        same_rows(rows(trace, "SELECT probe_id, name, parent, birth_ts, birth_site, end_ts, destroy_ts, state FROM coroutines"),
                  want, f"coroutines of {trace}")
        places = {(s["file"], s["line"], s["function"]): t.sites[s["id"]] for s in t.of("site")}
        got = rows(trace, "SELECT site, line, function FROM sites")
        same_rows(got, [(id, line, function) for (_, line, function), id in places.items()], f"sites of {trace}")
        equal(rows(trace, "SELECT pid, start_ts, start_realtime FROM run"),
              [(run["pid"], run["start_ts"], run["start_realtime"])], "run")
        equal(rows(trace, "SELECT written, collected, lost, end_ts FROM totals"),
              [(totals["written"], totals["collected"], totals["lost"], totals["end_ts"])], "totals")
        same_rows(rows(trace, "SELECT pid FROM processes"), [(p["pid"],) for p in t.of("process")], "processes")
        equal(rows(trace, "SELECT DISTINCT run FROM coroutines"), [(run["start_realtime"],)], "the hidden run")


@test
def a_coroutine_is_found_alone_and_in_a_join(dir):
    jsonl = channels(dir)
    t = Trace(jsonl)
    names = {e["probe_id"]: e.get("name") for e in t.events if e["kind"] == "birth"}
    ct = export("ct", jsonl, dir + "/t.ct")
    id = sorted(names)[7]
    equal(rows(ct, f"SELECT name FROM coroutines WHERE probe_id = {id}"), [(names[id],)], "one coroutine")
    got = rows(ct, "SELECT w.probe_id, c.name, count(*) FROM waits w JOIN coroutines c USING (probe_id) GROUP BY 1")
    counts = {}
    for w in intervals(t, "suspend"):
        counts[w[0]] = counts.get(w[0], 0) + 1
    same_rows(got, [(i, names[i], n) for i, n in counts.items()], "waits by coroutine")
    status, _, _ = tool("export", "sqlite", "--full", "-q", "-i", jsonl, "-o", dir + "/x.sqlite")
    equal(status, 0, "export")
    import sqlite3
    db = sqlite3.connect(dir + "/x.sqlite")
    columns = [d[0] for d in db.execute("SELECT * FROM coro_trace_events_coroutines").description]
    equal([c for c in query(ct, "SELECT * FROM coroutines")["columns"]], [c for c in columns if c not in ("id", "run")], "columns")
    text = {"probe_id", "parent", "resource"}
    picked = ", ".join(f"CAST({c} AS INTEGER) AS {c}" if c in text else c for c in columns if c not in ("id", "run"))
    same_rows(rows(ct, "SELECT * FROM coroutines"), db.execute(f"SELECT {picked} FROM coro_trace_events_coroutines").fetchall(),
              "coroutines of an export")
    db.close()


@test
def slices_say_how_long_they_had_a_processor(dir):
    trace = dir + "/t.jsonl"
    status, _, err = tool("run", "-q", "--cpu", "-o", trace, "--", *RUN)
    t = Trace(trace) if status == 0 else None
    if not t or not t.of("switch"):
        raise Skip(f"no context switches are recorded here: {err}")
    switches = [tuple(s.get(k) for k in ("pid", "tid", "from_ts", "to_ts", "cpu", "state", "lost")) for s in t.of("switch")]
    same_rows(rows(trace, "SELECT * FROM switches"), switches, "switches")
    off = {}
    for s in t.of("switch"):
        if s["tid"]:
            off.setdefault(s["tid"], []).append((s["from_ts"], s["to_ts"], s["state"]))
    for list in off.values():
        list.sort()
    whole = rows(trace, "SELECT tid, from_ts, to_ts, cpu_ns, queued_ns, blocked_ns FROM slices WHERE cpu_ns IS NOT NULL")
    assert whole, "no slice was measured"
    for tid, a, b, cpu, queued, blocked in whole:
        parts = {"preempted": 0, "blocked": 0}
        list = off.get(tid, [])
        for x, y, state in list[bisect.bisect_left(list, a, key=lambda s: s[1]):bisect.bisect_left(list, (b,))]:
            parts[state] += max(0, min(b, y) - max(a, x))
        equal((queued, blocked), (parts["preempted"], parts["blocked"]), "parts of a slice")
        equal(cpu, b - a - queued - blocked, "the rest of a slice")


# ---- functions ----------------------------------------------------------------------------------------------


@test
def percentiles_and_histograms_are_exact(dir):
    jsonl = channels(dir)
    ct = export("ct", jsonl, dir + "/t.ct")
    values = sorted(w[3] for w in intervals(Trace(jsonl), "suspend") if w[3] is not None)
    for p in (0, 12.5, 50, 90, 99, 99.9, 100):
        at = p / 100 * (len(values) - 1)
        low = values[int(at)]
        want = low + (at - int(at)) * (values[min(int(at) + 1, len(values) - 1)] - low)
        got = rows(ct, f"SELECT percentile(duration_ns, {p}) FROM waits")[0][0]
        assert math.isclose(got, want, rel_tol=1e-12), (p, got, want)
    equal(rows(ct, "SELECT median(duration_ns) FROM waits")[0][0], statistics.median(values), "median")
    buckets = json.loads(rows(ct, "SELECT histogram(duration_ns) FROM waits")[0][0])
    equal(sum(b[2] for b in buckets), len(values), "values of the histogram")
    for low, high, count in buckets:
        equal(count, sum(low <= v < high for v in values), f"values from {low} to {high}")
    equal(rows(ct, "SELECT median(x), histogram(x) FROM (SELECT NULL AS x)"), [(None, None)], "of nothing")
    contains(failed(ct, "SELECT percentile(duration_ns, 101) FROM waits"), "from 0 to 100")
    contains(failed(ct, "SELECT median(ended_by) FROM waits"), "not a number")


@test
def times_count_from_the_start_of_the_run(dir):
    jsonl = channels(dir)
    start = Trace(jsonl).of("run")[0]["start_ts"]
    want = [(start + 10**10, start + 5 * 10**8, start + 1500, start + 15 * 10**8, start + 6 * 10**10)]
    equal(rows(jsonl, "SELECT at('10s'), at('500ms'), at('1.5us'), at(1.5), at('1m')"), want, "times")
    equal(rows(jsonl, "SELECT elapsed(at('1.25s')), elapsed(NULL)"), [(1.25, None)], "seconds")
    contains(failed(jsonl, "SELECT at('soon')"), "expected a time")
    os.unlink(jsonl + ".meta")
    first = json.loads(open(jsonl, encoding="utf-8").readline())["ts"]
    equal(rows(jsonl, "SELECT at(0), min(ts) FROM events"), [(first, first)], "without a run: the first event")


@test
def the_examples_of_the_documentation_run(dir):
    ct = export("ct", channels(dir), dir + "/t.ct")
    with open(DOCS + "/query.md", encoding="utf-8") as f:
        examples = re.findall(r"```sql\n(.*?)```", f.read(), re.S)
    assert len(examples) >= 5, examples
    for sql in examples:
        got = query(ct, sql)
        assert got["rows"], sql
        equal(got["completeness"]["verdict"], "complete", sql)


# ---- output -------------------------------------------------------------------------------------------------


@test
def tables_csv_and_json_have_the_same_values(dir):
    jsonl = channels(dir)
    sql = "SELECT probe_id, name, elapsed(birth_ts) AS s, NULL AS empty, name FROM coroutines ORDER BY 1 LIMIT 30"
    want = query(jsonl, sql)
    equal(want["columns"], ["probe_id", "name", "s", "empty", "name_2"], "names are unique")
    _, out, err = tool("query", "--csv", jsonl, sql)
    equal(err, "", "messages")
    table = list(csv.reader(io.StringIO(out)))
    equal(table[0], want["columns"], "columns of CSV")
    for line, row in zip(table[1:], want["rows"], strict=True):
        equal(line, ["" if v is None else str(v) for v in row.values()], "row of CSV")
    _, out, err = tool("query", "--stats", jsonl, sql)
    contains(err, "30 rows")
    lines = out.splitlines()
    equal(len(lines), 32, "lines of the table")
    for line, row in zip(lines[2:], want["rows"]):
        equal(line.split()[0], str(row["probe_id"]), "first cell")
        contains(line, row["name"])


def on_terminal(columns, *args):
    """What a terminal of that width shows."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(TOOL, [TOOL, *args])
    shown = b""
    with contextlib.suppress(OSError):  # EIO: the other side is closed
        while data := os.read(fd, 65536):
            shown += data
    os.close(fd)
    os.waitpid(pid, 0)
    return shown.decode().replace("\r", "")


@test
def a_table_fits_the_terminal(dir):
    jsonl = channels(dir)
    sql = "SELECT site, site_name(site) || site_name(site) AS place FROM sites"
    for line in on_terminal(70, "query", jsonl, sql).splitlines()[:-1]:
        assert len(line) <= 70, line
    contains(on_terminal(70, "query", jsonl, sql), "...")
    shown = on_terminal(70, "query", jsonl, "SELECT * FROM waits ORDER BY from_ts LIMIT 2")
    first = query(jsonl, "SELECT * FROM waits ORDER BY from_ts LIMIT 1")["rows"][0]
    contains(shown, "-- row 1 ---")
    for name, value in first.items():
        if value is not None:
            assert re.search(f"^{name} +{value}$", shown, re.M), (name, value, shown)
    contains(shown, "2 rows, ")


@test
def text_of_the_program_cannot_control_a_terminal_or_a_spreadsheet(dir):
    jsonl = channels(dir)
    sql = "SELECT char(27) || '[31mred' AS x UNION ALL SELECT '=1+1' UNION ALL SELECT 'a,\"b'"
    _, out, _ = tool("query", jsonl, sql)
    assert "\x1b" not in out, out
    _, out, _ = tool("query", "--csv", jsonl, sql)
    equal(list(csv.reader(io.StringIO(out)))[2:], [["'=1+1"], ['a,"b']], "guarded text")
    _, out, _ = tool("query", "--csv", "--no-formula-guard", jsonl, sql)
    equal(list(csv.reader(io.StringIO(out)))[2:], [["=1+1"], ['a,"b']], "exact text")


@test
def without_sql_the_tables_are_listed(dir):
    jsonl = channels(dir)
    status, out, _ = tool("query", jsonl)
    equal(status, 0, "status")
    for name in ("events", "waits", "slices", "coroutines", "sites", "switches"):
        assert re.search(f"^{name} ", out, re.M), out
    status, out, _ = tool("query", "--json", jsonl)
    tables = json.loads(out)["tables"]
    for name, columns in tables.items():
        equal(list(columns), query(jsonl, f"SELECT * FROM {name} LIMIT 0")["columns"], f"columns of {name}")


# ---- recordings of frames --------------------------------------------------------------------------------


def recording(path, frames):
    """One type of frames by hand: an integer and a double."""
    def entry(name, offset, size, type, kind):
        return {"_lName": name, "_lOffset": offset, "_lSize": size, "_lAlignment": size, "_lType": type, "_lKind": kind}
    integer = {"tag": "PIntegral", "contents": ["PPInt", None]}
    double = {"tag": "PRational", "contents": ["PPDouble", None]}
    members = [{"fmName": n, "fmDifferential": False, "fmType": t} for n, t in (("count", integer), ("load", double))]
    layout = [entry("__ppt_seqno", 0, 4, integer, {"tag": "LKSeqno", "contents": "FrontSeq"}),
              entry("count", 4, 4, integer, {"tag": "LKMember", "contents": [members[0], None]}),
              entry("load", 8, 8, double, {"tag": "LKMember", "contents": [members[1], None]}),
              entry("__ppt_seqno_back", 20, 4, integer, {"tag": "LKSeqno", "contents": "BackSeq"})]
    desc = {"abi": "1.0.0", "tags": [], "metadata": [],
            "frames": [{"_flName": "work", "_flLayout": layout,
                        "_flFrame": {"_frameName": "work", "_frameElements": [{"tag": "FMemberElem", "contents": m} for m in members]}}],
            "emit": {"_eBuffer": {"ebName": "Hand", "ebMinElements": None}, "_eLanguage": "ELangCpp",
                     "_eTimeRep": {"tag": "ETimeSpec", "contents": "ETimeClockMonotonic"}, "_eRuntime": {"erMultithread": True},
                     "_eTags": [], "_eOptions": []},
            "target": {"tDouble": 8, "tFloat": 4, "tInt": 4, "tTime": 16, "tCounter": 8, "tPadTo": 4, "tCounterCount": 3}}
    text = json.dumps({"frFormat": "1.0.0", "frDate": "now", "frComment": "", "frDeltaTime": 0, "frCounters": [], "frJson": desc}).encode()
    with open(path, "wb") as f:
        f.write(b"PPT1" + struct.pack(">I", len(text)) + text)
        for i, (count, load) in enumerate(frames):
            f.write(struct.pack("<Iidii", i + 1, count, load, 0, i + 1))
    return path


@test
def frames_of_a_recording_are_rows_alone_and_beside_a_trace(dir):
    frames = [(i * i - 50, i / 8) for i in range(100)]
    file = recording(dir + "/r.ppt", frames)
    _, out, _ = tool("decode", "--format", "jsonl", file, "-")
    decoded = [json.loads(line) for line in out.splitlines()]
    equal(len(decoded), 100, "frames by decode")
    sql = "SELECT count, load FROM frame_work"
    equal(rows(file, sql), frames, "the recording as the trace")
    equal(rows(None, sql, "-f", file), frames, "with -f")
    jsonl = channels(dir)
    nr = len(Trace(jsonl).events)
    equal(rows(jsonl, "SELECT (SELECT count(*) FROM events), sum(count) FROM frame_work", "-f", file),
          [(nr, sum(c for c, _ in frames))], "both")
    with open(file, "ab") as f:
        f.write(b"half a frame")
    equal(rows(file, "SELECT count(*) FROM frame_work", status=1), [(100,)], "frames before the cut")
    status, out, _ = tool("query", "-f", file)
    contains(out, "Hand")


@test
def frames_of_a_trace_are_rows_of_their_types(dir):
    jsonl = channels(dir)
    start = Trace(jsonl).of("run")[0]["start_ts"]
    frames = [{"type": "frame", "pid": 7, "tid": 8, "ts": start + i, "probe_id": i % 3 + 1, "ticket": i, "buffer": "B",
               "frame": "work" if i % 4 else "odd \"one\"", "fields": json.dumps({"count": i * i, "name": f"n'{i}", "a b": i / 4})}
              for i in range(1, 40)]
    with open(jsonl + ".meta", encoding="utf-8") as f:
        lines = f.readlines()
    with open(jsonl + ".meta", "w", encoding="utf-8") as f:
        f.writelines(lines[:1] + [json.dumps(x) + "\n" for x in frames] + lines[1:])
    for trace in (jsonl, export("ct", jsonl, dir + "/f.ct"), export("ctf", jsonl, dir + "/f.ctf")):
        got = rows(trace, 'SELECT ticket, ts, probe_id, count, name, "a b" FROM frame_work')
        work = [(f["ticket"], f["ts"], f["probe_id"], *json.loads(f["fields"]).values()) for f in frames if f["frame"] == "work"]
        equal(got, work, f"frames of {trace}")
        equal(rows(trace, 'SELECT sum(count) FROM "frame_odd ""one"""'), [(sum(i * i for i in range(4, 40, 4)),)], "another type")
        equal(rows(trace, "SELECT frame, count(*) FROM frames GROUP BY 1 ORDER BY 1"), [('odd "one"', 9), ("work", 30)], "all frames")
        name = dict(rows(trace, "SELECT probe_id, name FROM coroutines"))
        equal(rows(trace, "SELECT DISTINCT c.probe_id, c.name FROM frame_work f JOIN coroutines c USING (probe_id) ORDER BY 1"),
              [(i, name[i]) for i in (1, 2, 3)], "frames beside the coroutine that saved them")
        contains(tool("query", trace)[1], "frame_work")


# ---- running programs --------------------------------------------------------------------------------------


@test
def a_running_program_is_queried_while_its_trace_grows(dir):
    for suffix in ("ct", "jsonl"):
        trace = f"{dir}/live.{suffix}"
        # Its coroutines run, then it waits for the end of its standard input.
        p = popen(TOOL, "run", "-q", "-o", trace, "--", "sh", "-c", f"{words(*RUN)} >/dev/null; read x", stdin=subprocess.PIPE)

        def got():
            status, out, _ = tool("query", "-p", p.pid, "--json", "SELECT kind, count(*) AS n FROM events GROUP BY kind")
            return status == 0 and {r["kind"]: r["n"] for r in json.loads(out)["rows"]}
        counts = wait_until(lambda: (got() or {}).get("end", 0) >= 90 and got(), "events of a running program")
        equal(query(None, "SELECT 1 AS x FROM waits LIMIT 1", "-p", str(p.pid))["rows"], [{"x": 1}], "a wait")
        p.communicate("\n", timeout=240)
        equal(p.returncode, 0, "status of the run")
        end = dict(rows(trace, "SELECT kind, count(*) FROM events GROUP BY kind"))
        for kind, n in counts.items():
            assert n <= end[kind], (kind, n, end)


@test
def what_cannot_be_queried_live_is_said_with_a_hint(dir):
    status, _, err = tool("query", "-p", os.getpid(), "SELECT 1")
    equal(status, 1, "status")
    contains(err, "no collector of yours")
    for options, hint in ((["-o", "/dev/null"], "-o FILE"), (["--flight-recorder", "1M", "-o", dir + "/x.jsonl"], "corotracer snapshot")):
        p = popen(TOOL, "run", "-q", *options, "--", "sh", "-c", "echo ready; read x", stdin=subprocess.PIPE)
        equal(p.stdout.readline(), "ready\n", "the program")
        status, _, err = tool("query", "-p", p.pid, "SELECT 1")
        equal(status, 1, err)
        contains(err, hint)
        p.communicate("\n", timeout=240)


main()
