# SPDX-License-Identifier: MIT
"""test_parquet.py - pyarrow and DuckDB read the Parquet files, and find what the other exports have.

They come from PyPI into a folder of the build, once; skipped if they cannot be installed.
"""
import atexit
import csv
import functools
import random
import resource

import traces
from harness import *
from venvs import python_with

FILES = ("coroutines", "events", "frames", "run", "sites", "switches", "waits")
ROWS_OF_A_GROUP = 131072

# Runs once for all cases, because the readers take long to load: each line of its input is a name and words, each line of its
# output the result.  tables: every file with both readers: rows as text, the types, and problems of the ranges.  many: compares the
# rows of three row groups with the equal CSV in DuckDB; as text they would take long.
PROGRAM = r'''
import json, os, sys, traceback
import duckdb, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
duckdb.sql("SET TimeZone='UTC'")
def text(v):
    return None if v is None else str(int(v)) if isinstance(v, (bool, int)) else v
def as_numbers(table):
    for i, f in enumerate(table.schema):
        if pa.types.is_timestamp(f.type):
            table = table.set_column(i, f.name, table.column(i).cast(pa.int64()))
    return table
def ranges(f):
    wrong = []
    for g in range(f.metadata.num_row_groups):
        columns = f.read_row_group(g)
        for c in range(f.metadata.num_columns):
            s, values = f.metadata.row_group(g).column(c).statistics, columns.column(c)
            if s is None or s.null_count != values.null_count:
                wrong.append((g, c, "nulls"))
            elif values.null_count == len(values) or pa.types.is_timestamp(values.type):
                continue
            elif s.has_min_max and (s.min, s.max) != tuple(pc.min_max(values).as_py().values()):
                wrong.append((g, c, s.min, s.max))
            elif not s.has_min_max and not any(len(str(v)) > 60 for v in values):
                wrong.append((g, c, "none"))
    return wrong
def table_of(path):
    f = pq.ParquetFile(path, page_checksum_verification=True)
    table = as_numbers(f.read())
    arrow = [[text(v) for v in row] for row in zip(*(c.to_pylist() for c in table.columns))]
    described = duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    columns = ", ".join(f'epoch_ns("{d[0]}")' if "TIMESTAMP" in d[1] else f'"{d[0]}"' for d in described)
    duck = [[text(v) for v in row] for row in duckdb.sql(f"SELECT {columns} FROM '{path}'").fetchall()]
    return {"columns": table.column_names, "rows": arrow, "same": arrow == duck, "types": {d[0]: d[1] for d in described},
            "groups": [f.metadata.row_group(g).num_rows for g in range(f.metadata.num_row_groups)], "wrong_ranges": ranges(f),
            "facts": {k.decode(): v.decode() for k, v in (f.metadata.metadata or {}).items() if k.startswith(b"corotracer")}}
def tables(*folders):
    return [{n[:-8]: table_of(f"{folder}/{n}") for n in sorted(os.listdir(folder)) if n.endswith(".parquet")} for folder in folders]
def many(path, csv):
    types = "{'probe_id':'UBIGINT','tid':'UBIGINT','addr':'VARCHAR','seq':'UBIGINT','is_active':'BOOLEAN','ts':'UBIGINT'}"
    equal = duckdb.sql(f"""SELECT count(*) FROM '{path}' e POSITIONAL JOIN read_csv('{csv}', columns={types}, header=true) c
        WHERE e.probe_id = c.probe_id AND e.tid = c.tid AND '0x' || lpad(lower(hex(e.addr)), 16, '0') = c.addr AND e.seq = c.seq
        AND (e.kind = 'resume') = c.is_active AND e.ts = c.ts""").fetchall()[0][0]
    m = pq.ParquetFile(path).metadata
    groups = [m.row_group(g) for g in range(m.num_row_groups)]
    return {"equal": equal, "groups": [g.num_rows for g in groups], "rows": m.num_rows,
            "ts": [(g.column(0).statistics.min, g.column(0).statistics.max) for g in groups]}
for line in sys.stdin:
    name, *words = json.loads(line)
    try:
        result = {"result": {"tables": tables, "many": many}[name](*words)}
    except Exception:
        result = {"error": traceback.format_exc()}
    print(json.dumps(result), flush=True)
'''


def python():
    """A Python with what reads tables."""
    return python_with(os.environ.get("EXPORT_VENV", "build/tests/export/venv"), "pandas", "duckdb", "pyarrow", "pytz")


@functools.cache
def reader():
    p = subprocess.Popen([python(), "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    KEPT.add(p.pid)
    atexit.register(p.communicate)
    return p


def ask_reader(*words):
    p = reader()
    p.stdin.write(json.dumps(words) + "\n")
    p.stdin.flush()
    answer = json.loads(p.stdout.readline())
    assert "error" not in answer, answer["error"]
    return answer["result"]


def read_all(*folders):
    all_files = ask_reader("tables", *folders)
    for files in all_files:
        for name, f in files.items():
            assert f["same"], f"{name}: DuckDB and pyarrow differ"
            equal(f["wrong_ranges"], [], f"ranges of {name}")
    return all_files


def read(folder):
    return read_all(folder)[0]


def export(trace, folder, *options, status=0, **kwargs):
    got, _, err = tool("export", "parquet", "-i", trace, "-o", folder, *options, **kwargs)
    equal(got, status, f"status: {err}")
    return err


def exported(trace, folder, *options):
    export(trace, folder, *options)
    return read(folder)


def rows(file, *names):
    """Rows as dictionaries, or as tuples of some columns."""
    if not names:
        return [dict(zip(file["columns"], r)) for r in file["rows"]]
    at = [file["columns"].index(n) for n in names]
    return [tuple(r[i] for i in at) for r in file["rows"]]


def transitions(file):
    """As traces.expected() has them."""
    return [(e["probe_id"], e["tid"], f"0x{int(e['addr']):016x}", e["seq"], "1" if e["kind"] == "resume" else "0", e["ts"])
            for e in rows(file) if e["kind"] in ("suspend", "resume")]


def csv_rows(path):
    with open(path, encoding="utf-8", newline="") as f:
        return [{k: v or None for k, v in r.items()} for r in csv.DictReader(f)]


def equal_to_csv(dir, trace, files, *options):
    """Every column of every row that `export csv --full` has, too."""
    stem = f"{dir}/equal"
    status, _, err = tool("export", "csv", "-i", trace, "-o", stem + ".csv", "--full", "--no-formula-guard", *options)
    equal(status, 0, err)
    with open(stem + ".csv", encoding="utf-8", newline="") as f:
        want = [(*r[:4], "1" if r[4] == "true" else "0", r[5]) for r in list(csv.reader(f))[1:]]
    same(transitions(files["events"]), want, "transitions")
    details = csv_rows(stem + ".details.csv")
    names = [n for n in (details[0] if details else []) if n != "run"]
    told = [tuple(e[n] for n in names) for e in rows(files["events"])
            if e["kind"] not in ("suspend", "resume") or any(e[n] for n in ("station", "site", "reason", "resource", "flags"))]
    same(told, [tuple(d[n] for n in names) for d in details], "details")
    for name in ("coroutines", "sites", "switches", "frames"):
        want = csv_rows(f"{stem}.{name}.csv")
        columns = list(want[0]) if want else []
        columns = [c for c in columns if c != "run"]
        got = [tuple(v or None for v in r) for r in rows(files[name], *columns)] if want else files[name]["rows"]
        same(got, [tuple(r[c] for c in columns) for r in want], name)


def query(trace, sql):
    status, out, err = tool("query", trace, sql, "--json")
    equal(status, 0, err)
    return [tuple(None if v is None else str(v) for v in (r.values() if isinstance(r, dict) else r)) for r in json.loads(out)["rows"]]


def same(got, wanted, what):
    """As equal(), for lists: shows the first difference only."""
    first = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
    equal((len(got), got[first:first + 1]), (len(wanted), wanted[first:first + 1]), f"{what}, row {first}")


@test
def a_real_run_is_the_same_in_every_column_of_every_row(dir):
    trace = dir + "/t.jsonl"
    status, _, err = tool("run", "-q", "-o", trace, "--", os.environ["CHANNELS"], "--seconds", "0.5")
    equal(status, 0, err)
    files = exported(trace, dir + "/out", "--full")
    equal(tuple(files), FILES, "files")
    summary = json.loads(next(l for l in export(trace, dir + "/out", "--full", "--json").splitlines() if l.startswith("{")))
    equal((summary["rows"], summary["bytes"]), (len(files["events"]["rows"]), sum(os.path.getsize(f"{dir}/out/{n}.parquet") for n in FILES)), "summary")
    assert len(files["events"]["rows"]) > 100, len(files["events"]["rows"])
    equal_to_csv(dir, trace, files)
    common = ("probe_id", "from_ts", "to_ts", "duration_ns", "woken_ts", "waker", "tid", "to_tid", "site", "reason", "resource", "addr", "station")
    sql = f"SELECT {', '.join(common)} FROM waits WHERE ended_by IS NOT 'lost'"
    told = [w for w in rows(files["waits"], *common, "state") if w[-1] != "lost"]
    want = [(*r[:11], str(int(r[11], 16)) if r[11].startswith("0x") else r[11], r[12]) for r in query(trace, sql)]
    same(sorted((t[:-1] for t in told), key=str), sorted(want, key=str), "waits")
    run = rows(files["run"])[0]
    totals = query(trace, "SELECT written, collected, lost, others_written, others_lost FROM totals")[0]
    equal(tuple(run[k] for k in ("written", "collected", "lost", "others_written", "others_lost")), totals, "totals")
    equal(run["verdict"], "complete", "verdict")
    # Wall-clock time, from the two times of the start.
    with open(trace + ".meta", encoding="utf-8") as f:
        start = next(r for r in map(json.loads, f) if r["type"] == "run")
    offset = start["start_realtime"] - start["start_ts"]
    equal({int(t) - int(ts) for t, ts in rows(files["events"], "time", "ts")}, {offset}, "time of day of events")
    equal({int(t) - int(ts) for t, ts in rows(files["waits"], "from_time", "from_ts")}, {offset}, "time of day of waits")
    equal({int(t) - int(ts) for t, ts in rows(files["coroutines"], "birth_time", "birth_ts")}, {offset}, "time of day of creations")
    equal(files["events"]["facts"], {"corotracer.start_ts": str(start["start_ts"]), "corotracer.start_realtime": str(start["start_realtime"])}, "facts")
    equal({r for (r,) in rows(files["events"], "run")}, {str(start["start_realtime"])}, "run")
    types = files["events"]["types"]
    equal([types[c] for c in ("ts", "probe_id", "kind")], ["UBIGINT", "UBIGINT", "VARCHAR"], "types")
    contains(types["time"], "TIMESTAMP")


@test
def values_at_the_limits_stay_what_they_are(dir):
    trace = traces.limits(dir)
    files = exported(trace, dir + "/out", "--full")
    same(transitions(files["events"]), traces.expected(trace), "rows")
    # Without a start of the run there is no time of day.
    equal({t for (t,) in rows(files["events"], "time")}, {None}, "time of day")
    equal(files["events"]["facts"], {}, "facts")


@test
def names_of_all_bytes_and_nulls(dir):
    trace = traces.named(dir)
    files = exported(trace, dir + "/out")
    plain = {name: [{k: v for k, v in r.items()} for r in rows(f)] for name, f in files.items()}
    traces.check_full(plain["coroutines"], [d for d in plain["events"] if d["kind"] != "resume"], plain["sites"])
    equal_to_csv(dir, trace, files)
    # Every byte that a name may have.
    name = "".join(chr(c) for c in range(1, 256)) + "\u7d05\U0001f600" * 10
    meta = [{"type": "run", "format": 1, "tool": name, "command": [name, "b"], "pid": 5, "start_ts": 2**63 + 20, "start_realtime": 77, "arch": "x"},
            {"type": "birth", "ts": 5, "probe_id": 2**64 - 1, "tid": 1, "name": name, "pid": 5}]
    trace = traces.write(dir + "/b.jsonl", traces.line(2**64 - 1, 1, 0, 2, True, 10))
    traces.write(trace + ".meta", *(json.dumps(m) + "\n" for m in meta))
    files = exported(trace, dir + "/bytes", "--full")
    equal(rows(files["coroutines"], "name", "probe_id"), [(name, str(2**64 - 1))], "coroutine")
    equal(rows(files["run"], "tool", "command"), [(name, name + " b")], "run")
    # The run begins after these events, by more than a time of day can say.
    equal(rows(files["events"], "time"), [(None,), (None,)], "time of day")


@test
def no_events_and_one_event(dir):
    files = exported(traces.write(dir + "/e.jsonl"), dir + "/empty")
    equal({n: len(f["rows"]) for n, f in files.items()}, {n: int(n == "run") for n in FILES}, "rows")
    one = traces.write(dir + "/o.jsonl", traces.line(7, 1, 16, 2, False, 100))
    files = exported(one, dir + "/one")
    same(transitions(files["events"]), traces.expected(one), "rows")
    equal(rows(files["waits"], "probe_id", "from_ts", "to_ts", "duration_ns", "state"), [("7", "100", None, None, "open")], "waits")


@test
def row_groups_have_ranges_by_which_readers_skip(dir):
    nr = 2 * ROWS_OF_A_GROUP + 1000
    trace = traces.many(dir + "/t.jsonl", nr, coroutines=60000)
    export(trace, dir + "/out")
    equal(tool("export", "csv", "-i", trace, "-o", dir + "/t.csv")[0], 0, "status of csv")
    got, size = ask_reader("many", dir + "/out/events.parquet", dir + "/t.csv"), ROWS_OF_A_GROUP
    equal((got["rows"], got["equal"], got["groups"]), (nr, nr, [size, size, 1000]), "rows, equal rows, groups")
    equal(got["ts"], [[10**12 + size * i, 10**12 + min(nr, size * (i + 1)) - 1] for i in range(3)], "ranges of ts")


@test
def numbers_of_any_kind_come_back(dir):
    rng = random.Random(4)
    kinds = (lambda: rng.getrandbits(64), lambda: rng.getrandbits(rng.randrange(1, 65)), lambda: 2**63 + rng.randrange(-3, 3), lambda: 5,
             lambda: rng.choice((0, 2**64 - 1)))
    made = []
    for nr in (1, 2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 130, 1000, 5000):
        a, b, c = (kinds[rng.randrange(len(kinds))] for _ in range(3))
        lines = [traces.line(a(), rng.randrange(1, 2**31), b(), rng.randrange(1, 2**64), rng.randrange(2), 1000 + rng.randrange(2**60),
                             f',"resource":{c()}' if rng.randrange(3) else "") for _ in range(nr)]
        trace = traces.write(f"{dir}/{nr}.jsonl", *lines)
        export(trace, f"{dir}/{nr}")
        made.append((trace, f"{dir}/{nr}", lines))
    for (trace, folder, lines), files in zip(made, read_all(*(m[1] for m in made))):
        same(transitions(files["events"]), traces.expected(trace), folder)
        want = [str(json.loads(text)["resource"]) if "resource" in text else None for text in lines]
        same([r for (r,) in rows(files["events"], "resource")], want, f"resources of {folder}")


@test
def a_part_of_the_trace(dir):
    trace = traces.named(dir)
    for options in (("--coro", "1"), ("--from", "1us"), ("--from", "0.2us", "--to", "1us")):
        folder = f"{dir}/{'_'.join(options)}"
        equal_to_csv(dir, trace, exported(trace, folder, *options), *options)
    # Without the ends of the waits there are none, also none of an earlier export.
    err = export(trace, folder, "--kind", "suspend")
    contains(err, "no waits.parquet")
    files = read(folder)
    equal(sorted(files), sorted(set(FILES) - {"waits"}), "files")
    equal({k for (k,) in rows(files["events"], "kind")}, {"suspend"}, "kinds")


@test
def a_damaged_trace_is_reported_and_exported_as_far_as_it_goes(dir):
    whole = traces.many(dir + "/whole.jsonl", 1000)
    with open(whole, encoding="ascii") as f:
        text = f.read()
    cut = traces.write(dir + "/cut.jsonl", text[:-20])
    contains(export(cut, dir + "/cut", status=1), "ends in the middle of a line")
    same(transitions(read(dir + "/cut")["events"]), traces.expected(whole)[:-1], "rows")
    r = run(dir, "events", "20", "2000", "0", options=("-o", dir + "/t.ct"))
    equal(r.status, 0, r.err)
    with open(dir + "/t.ct", "r+b") as f:
        f.seek(os.path.getsize(dir + "/t.ct") // 2)
        f.write(b"\xff" * 64)
    contains(export(dir + "/t.ct", dir + "/torn", status=1), "incomplete")
    equal(rows(read(dir + "/torn")["run"], "verdict"), [("incomplete",)], "verdict")


def limited(size):
    """Limits the file size: a write beyond it fails, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def precious(folder):
    os.makedirs(folder, exist_ok=True)
    for name in FILES:
        traces.write(f"{folder}/{name}.parquet", "precious")


def untouched(folder):
    equal(sorted(os.listdir(folder)), [f"{n}.parquet" for n in FILES], "files")
    for name in FILES:
        with open(f"{folder}/{name}.parquet", encoding="ascii") as f:
            equal(f.read(), "precious", name)


@test
def a_full_disk_and_signals_leave_what_was_there(dir):
    rng = random.Random(1)
    trace = traces.write(dir + "/t.jsonl", *(traces.line(rng.getrandbits(64), 1, rng.getrandbits(64), i + 1, i % 2, 10**9 + i) for i in range(30000)))
    precious(dir + "/old")
    contains(export(trace, dir + "/old", status=1, preexec_fn=lambda: limited(100 * 1024)), "cannot write")
    untouched(dir + "/old")
    export(trace, dir + "/new", status=1, preexec_fn=lambda: limited(100 * 1024))
    assert not os.path.exists(dir + "/new"), os.listdir(dir + "/new")
    for sig in (signal.SIGINT, signal.SIGTERM):
        for folder in (dir + "/old", dir + "/new"):
            p = popen(TOOL, "export", "parquet", "-i", "-", "-o", folder, stdin=subprocess.PIPE)
            p.stdin.write(traces.line(1, 1, 0, 2, True, 100))
            p.stdin.flush()
            wait_until(lambda folder=folder: os.path.isdir(folder) and any("run.parquet." in n for n in os.listdir(folder)), "temporary files")
            p.send_signal(sig)
            equal(p.wait(300), -sig, "what ended the export")
        untouched(dir + "/old")
        assert not os.path.exists(dir + "/new"), os.listdir(dir + "/new")


def peak(trace, folder):
    p = subprocess.run([sys.executable, "-c", "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], check=True)\n"
                        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", TOOL, "export", "parquet", "-q", "-i", trace, "-o", folder],
                       capture_output=True, text=True, check=True)
    return int(p.stdout)


@test
def memory_is_that_of_a_row_group(dir):
    once, thrice = (peak(traces.many(f"{dir}/{n}.jsonl", n * ROWS_OF_A_GROUP), f"{dir}/{n}") for n in (1, 3))
    assert thrice <= 1.2 * once, f"{once} KB, {thrice} KB with three times the events"


@test
def what_is_asked_for_wrongly_is_explained(dir):
    trace = traces.many(dir + "/t.jsonl", 5)
    contains(export(trace, "-", status=1), "does not go to standard output")
    contains(export(trace, dir + "/no/where", status=1), "cannot make the folder")
    contains(export(trace, trace, status=1), "is the trace itself")
    contains(export(trace, traces.write(dir + "/file", "x"), status=1), "ot a directory")
    status, _, err = tool("export", "parquet", "-i", trace)
    equal(status, 0, err)
    equal(sorted(os.listdir(dir + "/t.parquet")), [f"{n}.parquet" for n in FILES], "files without -o")


if __name__ == "__main__":
    main()
