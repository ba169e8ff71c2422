# SPDX-License-Identifier: MIT
"""test_files.py - csv and sqlite, row for row; and every export under failures."""
import csv
import resource
import shutil
import sqlite3
import stat
import threading

import traces
from harness import *

HEADER = ["probe_id", "tid", "addr", "seq", "is_active", "ts"]
KINDS = {"csv": ".csv", "sqlite": ".sqlite"}


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))
    equal(rows[0], HEADER, "header")
    return [(*r[:4], {"true": "1", "false": "0"}[r[4]], r[5]) for r in rows[1:]]


def read_sqlite(path, table="coro_trace_events"):
    db = sqlite3.connect(path)
    db.text_factory = str
    rows = db.execute(f'SELECT CAST(probe_id AS TEXT), CAST(tid AS TEXT), addr, CAST(seq AS TEXT), is_active, CAST(ts AS TEXT) '
                      f'FROM "{table}" ORDER BY id').fetchall()
    db.close()
    return [tuple(str(v) for v in r) for r in rows]


READERS = {"csv": read_csv, "sqlite": read_sqlite}


def export(kind, trace, *options, **kwargs):
    status, out, err = tool("export", kind, "-i", trace, *options, **kwargs)
    return status, out, err


def exported(kind, trace, output, *options):
    status, _, err = export(kind, trace, "-o", output, *options)
    equal(status, 0, f"status of {kind}: {err}")
    return READERS[kind](output)


def left_in(dir, *wanted):
    equal(sorted(os.listdir(dir)), sorted(wanted), "files that are there")


@test
def every_event_of_a_real_run_is_a_row(dir):
    r = run(dir, "events", "20", "200", "0")
    equal(r.status, 0, "status of the run")
    want = traces.expected(r.trace)
    assert len(want) >= 4000, len(want)
    for kind, suffix in KINDS.items():
        equal(exported(kind, r.trace, f"{dir}/out{suffix}"), want, f"rows of {kind}")


@test
def values_at_the_limits_stay_what_they_are(dir):
    trace = traces.limits(dir)
    want = traces.expected(trace)
    equal(exported("csv", trace, dir + "/l.csv"), want, "rows of csv")
    status, _, err = export("sqlite", trace, "-o", dir + "/l.sqlite")
    equal(status, 0, "status")
    equal(read_sqlite(dir + "/l.sqlite"), want, "rows of sqlite")
    # They do not fit into a signed integer; a message says how they are stored.
    contains(err, "5 numbers over 2^63-1 are blobs of digits")
    db = sqlite3.connect(dir + "/l.sqlite")
    types = db.execute("SELECT DISTINCT typeof(probe_id), typeof(addr), typeof(is_active) FROM coro_trace_events").fetchall()
    equal(types, [("text", "text", "integer")], "types")
    equal(db.execute("SELECT count(*) FROM coro_trace_events WHERE typeof(ts) = 'real'").fetchone(), (0,), "rounded numbers")
    equal(db.execute("SELECT typeof(ts) FROM coro_trace_events WHERE id = 4").fetchone(), ("integer",), "type of 2^63-1")


@test
def the_table_is_the_one_that_queries_expect(dir):
    exported("sqlite", traces.many(dir + "/t.jsonl", 10), dir + "/t.sqlite")
    db = sqlite3.connect(dir + "/t.sqlite")
    columns = [(r[1], r[2]) for r in db.execute("PRAGMA table_info(coro_trace_events)")]
    equal(columns, [("id", "INTEGER"), ("probe_id", "TEXT"), ("tid", "INTEGER"), ("addr", "TEXT"), ("seq", "INTEGER"),
                    ("is_active", "INTEGER"), ("ts", "INTEGER")], "columns")
    indexes = sorted(tuple(c[2] for c in db.execute(f'PRAGMA index_info("{i[1]}")')) for i in db.execute("PRAGMA index_list(coro_trace_events)"))
    equal(indexes, [("probe_id", "seq"), ("tid", "ts"), ("ts",)], "indexes")
    equal(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "integrity")
    equal(db.execute("SELECT seq FROM sqlite_sequence").fetchall(), [(10,)], "the next id")
    # The SQL that `schema` prints creates the same tables.
    script = tool("export", "schema", "sqlite", "--full")[1]
    exported("sqlite", dir + "/t.jsonl", dir + "/f.sqlite", "--full")
    made, printed = sqlite3.connect(dir + "/f.sqlite"), sqlite3.connect(":memory:")
    printed.executescript(script)
    ask = "SELECT name, sql FROM sqlite_schema ORDER BY name"
    equal(made.execute(ask).fetchall(), printed.execute(ask).fetchall(), "schema")
    equal(list(json.loads(tool("export", "schema", "--json")[1])), ["sqlite", "mysql", "postgresql"], "databases")
    equal(tool("export", "schema", "oracle")[0], 2, "status for a database that is not there")


@test
def a_trace_cut_in_mid_line_is_exported_up_to_there(dir):
    whole = traces.many(dir + "/whole.jsonl", 1000)
    with open(whole, encoding="ascii") as f:
        text = f.read()
    cut = traces.write(dir + "/cut.jsonl", text[:-20])
    want = traces.expected(whole)[:-1]
    for kind, suffix in KINDS.items():
        status, _, err = export(kind, cut, "-o", dir + "/c" + suffix)
        equal(status, 1, "status")
        contains(err, "ends in the middle of a line")
        equal(READERS[kind](dir + "/c" + suffix), want, f"rows of {kind}")
    # A last line without its newline is complete.
    equal(exported("csv", traces.write(dir + "/n.jsonl", text[:-1]), dir + "/n.csv"), traces.expected(whole), "rows")


@test
def what_is_no_event_is_left_out_and_counted(dir):
    good = [traces.line(i, 1, 0, 2, True, 100 + i) for i in range(1, 6)]
    trace = traces.write(dir + "/g.jsonl", good[0], "garbage\n", good[1], '{"probe_id":0,"tid":0,"addr":"0x0","seq":5,"is_active":false,"ts":0}\n',
                         "\n", *good[2:])
    for kind, suffix in KINDS.items():
        status, _, err = export(kind, trace, "-o", dir + "/g" + suffix)
        equal(status, 1, "status")
        contains(err, "2 parts of the trace are not events")
        contains(err, "line 2: it is not JSON")
        equal(len(READERS[kind](dir + "/g" + suffix)), 5, "rows")
    status, _, err = export("csv", trace, "-o", dir + "/g.csv", "--json")
    summary = json.loads(next(l for l in err.splitlines() if l.startswith("{")))
    equal((summary["rows"], summary["garbage"], summary["cut"], summary["lost"]), (5, 2, False, None), "summary")


@test
def no_events_make_an_empty_table(dir):
    trace = traces.write(dir + "/e.jsonl")
    for kind, suffix in KINDS.items():
        equal(exported(kind, trace, dir + "/e" + suffix, "--full"), [], f"rows of {kind}")


@test
def what_is_no_trace_is_refused_and_replaces_nothing(dir):
    trace = traces.write(dir + "/x.jsonl", "this is\n", "a letter\n")
    for kind, suffix in KINDS.items():
        traces.write(dir + "/old" + suffix, "precious")
        status, _, err = export(kind, trace, "-o", dir + "/old" + suffix)
        equal(status, 1, "status")
        contains(err, "is it a trace?")
        with open(dir + "/old" + suffix, encoding="ascii") as f:
            equal(f.read(), "precious", "the file that was there")
    left_in(dir, "x.jsonl", "old.csv", "old.sqlite")


@test
def names_come_from_the_trace_if_none_is_given(dir):
    trace = traces.many(dir + "/my.trace.jsonl", 5)
    for kind in ("csv", "dataframe", "sqlite"):
        equal(export(kind, trace)[0], 0, "status")
    left_in(dir, "my.trace.jsonl", "my.trace.csv", "my.trace.sqlite")
    # Standard input has no name.
    with open(trace, encoding="ascii") as f:
        text = f.read()
    status, out, _ = tool("export", "csv", "-i", "-", input=text)
    equal((status, out.splitlines()[0], len(out.splitlines())), (0, ",".join(HEADER), 6), "csv of standard input")
    status, _, err = tool("export", "sqlite", "-i", "-", input=text)
    equal(status, 1, "status")
    contains(err, "name a file")
    contains(export("csv", trace, "-o", trace)[2], "is the trace itself")
    equal(traces.expected(trace)[0][0], "1", "the trace, still")


@test
def the_old_flags_do_the_same(dir):
    trace = traces.many(dir + "/t.jsonl", 50)
    want = traces.expected(trace)
    for args, out in ((["-export", "sqlite", "-in", trace], "t.sqlite"),
                      (["-export", "sqlite", "-in", trace, "-sqlite-out", dir + "/b.sqlite", "-csv-out", "/nowhere"], "b.sqlite"),
                      (["-export=csv", "-in=" + trace, "-csv-out=" + dir + "/b.csv"], "b.csv"),
                      (["--export", "dataframe", "-out", trace, "-csv-out", dir + "/c.csv"], "c.csv"),
                      (["-n", "256", "-export", "csv", "-out", trace, "-db-host", "", "-db-port", "0"], "t.csv")):
        status, _, err = tool(*args)
        equal(status, 0, f"status of {args}: {err}")
        equal(READERS["csv" if out.endswith("csv") else "sqlite"](f"{dir}/{out}"), want, f"rows of {args}")
    status, _, err = tool("-cmd", "true", "-export", "sqlite", "-in", trace)
    equal(status, 2, "status of -cmd with -export")
    contains(err, "do not go together")
    equal(tool("-export", "sqlite", "-in", trace, "-nonsense", "1")[0], 2, "status of an unknown flag")
    equal(tool("-export")[0], 2, "status without a kind")
    equal(tool("-export", "oracle", "-in", trace)[0], 2, "status of an unknown kind")


@test
def what_is_asked_for_wrongly_is_explained(dir):
    trace = traces.many(dir + "/t.jsonl", 5)
    equal(tool("export")[0], 2, "status without a kind")
    equal(tool("export", "csv")[0], 2, "status without a trace")
    equal(tool("export", "csv", trace, "more")[0], 2, "status of a word too many")
    equal(tool("export", "mysql", trace, "--db-port", "70000")[0], 2, "status of a port that is none")
    contains(tool("export", "nonsense", trace)[2], "formats: csv, sqlite")
    contains(tool("export", "csv", trace, "--db-cli", "x")[2], "no command line client")
    contains(tool("export", "csv", dir + "/missing.jsonl")[2], "cannot open")
    contains(tool("export", "csv", trace, "-o", dir)[2], "it is a directory")
    contains(tool("export", "csv", trace, "-o", dir + "/no/where.csv")[2], "its directory must exist")
    contains(tool("export", "csv", trace, "-o", "-", "--full")[2], "several files")
    left_in(dir, "t.jsonl")


@test
def a_file_behind_a_link_is_replaced_and_keeps_its_mode(dir):
    trace = traces.many(dir + "/t.jsonl", 5)
    for kind, suffix in KINDS.items():
        real, link = dir + "/real" + suffix, dir + "/link" + suffix
        traces.write(real, "old")
        os.chmod(real, 0o640)
        os.symlink(real, link)
        equal(len(exported(kind, trace, link)), 5, "rows")
        assert os.path.islink(link), "the link is gone"
        equal(stat.S_IMODE(os.stat(real).st_mode), 0o640, "mode")


def limited(size):
    """Limits the file size: a write beyond it fails, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@test
def a_full_disk_leaves_what_was_there(dir):
    trace = traces.many(dir + "/t.jsonl", 20000)
    for kind, suffix in KINDS.items():
        old = dir + "/old" + suffix
        traces.write(old, "precious")
        status, _, err = export(kind, trace, "-o", old, preexec_fn=lambda: limited(300 * 1024))
        equal(status, 1, f"status of {kind}: {err}")
        contains(err, "cannot write")
        with open(old, encoding="ascii") as f:
            equal(f.read(), "precious", "the file that was there")
    status, _, err = export("csv", trace, "-o", "/dev/full")
    equal(status, 1, "status of /dev/full")
    contains(err, "No space left")
    left_in(dir, "t.jsonl", "old.csv", "old.sqlite")


@test
def a_real_file_system_that_is_full_is_told(dir):
    trace = traces.many(dir + "/t.jsonl", 50000)
    place = dir + "/small"
    os.mkdir(place)
    if os.getuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, check=False).returncode:
        raise Skip("no file systems can be mounted here")
    try:
        for kind, suffix in KINDS.items():
            status, _, err = export(kind, trace, "-o", place + "/out" + suffix)
            equal(status, 1, "status")
            contains(err, "cannot write")
            left_in(place)
    finally:
        subprocess.run(["umount", place], check=True)


def wait_for_rows(path_part, dir):
    """Wait for a temporary file that has grown."""
    def grown():
        return any(path_part in name and os.path.getsize(f"{dir}/{name}") > 100000 for name in os.listdir(dir) if os.path.exists(f"{dir}/{name}"))
    wait_until(grown, "rows in a temporary file")


@test
def ctrl_c_leaves_nothing_half_made(dir):
    part = "".join(traces.line(i + 1, 1, 0, 2, True, 100 + i) for i in range(100000))
    for kind, suffix in KINDS.items():
        for sig in (signal.SIGINT, signal.SIGTERM):
            for goes_on in (True, False):
                interrupt(dir, kind, dir + "/old" + suffix, sig, part, goes_on)


def interrupt(dir, kind, output, sig, part, goes_on):
    """While it works (@goes_on), and while it waits for a silent pipe."""
    traces.write(output, "precious")
    p = popen(TOOL, "export", kind, "-i", "-", "-o", output, stdin=subprocess.PIPE)
    stop = threading.Event()

    def feed():
        try:
            p.stdin.write(part)
            p.stdin.flush()
            while goes_on and not stop.is_set():
                p.stdin.write(part)
        except (BrokenPipeError, ValueError):
            pass

    feeder = threading.Thread(target=feed)
    feeder.start()
    wait_for_rows(os.path.basename(output) + ".", dir)
    p.send_signal(sig)
    status = p.wait(300)
    stop.set()
    feeder.join()
    equal(status, -sig, f"what ended the export to {kind}")
    with open(output, encoding="ascii") as f:
        equal(f.read(), "precious", "the file that was there")
    equal([n for n in os.listdir(dir) if os.path.basename(output) + "." in n], [], "what was left behind")


@test
def a_signal_that_was_ignored_stays_so(dir):
    trace = traces.many(dir + "/t.jsonl", 5)
    with open(trace, encoding="ascii") as f:
        text = f.read()
    p = popen(TOOL, "export", "csv", "-i", "-", "-o", "-", stdin=subprocess.PIPE,
              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    p.send_signal(signal.SIGHUP)
    out, _ = p.communicate(text)
    equal((p.returncode, len(out.splitlines())), (0, 6), "status and lines")


@test
def a_reader_that_goes_away_is_no_crash(dir):
    trace = traces.many(dir + "/t.jsonl", 50000)
    p = popen(TOOL, "export", "csv", "-i", trace, "-o", "-")
    p.stdout.close()
    err = p.stderr.read()
    equal(p.wait(300), 1, "status")
    contains(err, "Broken pipe")


# ---- --full ------------------------------------------------------------------


def full_rows(path, table):
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    return [dict(r) for r in db.execute(f"SELECT * FROM coro_trace_events_{table} ORDER BY id")]


@test
def all_that_a_trace_tells_goes_into_tables_of_its_own(dir):
    trace = traces.named(dir)
    exported("sqlite", trace, dir + "/n.sqlite", "--full")
    traces.check_full(*(traces.as_text(full_rows(dir + "/n.sqlite", t)) for t in ("coroutines", "details", "sites")))
    equal(len(read_sqlite(dir + "/n.sqlite")), 3, "rows of the first table")
    # Without --full there is one table.
    exported("sqlite", trace, dir + "/one.sqlite")
    equal([r[0] for r in sqlite3.connect(dir + "/one.sqlite").execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")],
          ["coro_trace_events"], "tables")


@test
def csv_has_a_file_for_each_table(dir):
    exported("csv", traces.named(dir), dir + "/n.csv", "--full")

    def rows(table):
        with open(f"{dir}/n.{table}.csv", encoding="utf-8", newline="") as f:
            return [{k: v or None for k, v in r.items()} for r in csv.DictReader(f)]

    sites = [{k: v or "" for k, v in s.items()} for s in rows("sites")]
    traces.check_full(rows("coroutines"), rows("details"), sites)


@test
def every_coroutine_of_a_real_run_is_told(dir):
    trace = dir + "/t.jsonl"
    status, _, err = tool("run", "-q", "-o", trace, "--", os.environ["CHANNELS"])
    equal(status, 0, err)
    exported("sqlite", trace, dir + "/t.sqlite", "--full")
    with open(trace + ".meta", encoding="utf-8") as f:
        meta = [json.loads(l) for l in f]
    births = {r["probe_id"]: r for r in meta if r["type"] == "birth"}
    ends = {r["probe_id"]: r for r in meta if r["type"] == "end"}
    assert len(births) > 20, len(births)
    got = {int(c["probe_id"]): c for c in full_rows(dir + "/t.sqlite", "coroutines")}
    equal(sorted(got), sorted(births), "coroutines")
    for i, c in got.items():
        equal((c["birth_ts"], c["name"], c["birth_site"], c["end_ts"]),
              (births[i]["ts"], births[i].get("name"), births[i].get("site"), ends.get(i, {}).get("ts")), f"coroutine {i}")
    wakes = [(str(r["probe_id"]), r["ts"]) for r in meta if r["type"] == "wake"]
    told = [(d["probe_id"], d["ts"]) for d in full_rows(dir + "/t.sqlite", "details") if d["kind"] == "wake"]
    equal(sorted(told), sorted(wakes), "wakes")
    equal([(s["site"], s["file"], s["line"]) for s in full_rows(dir + "/t.sqlite", "sites")],
          [(r["id"], r["file"], r["line"]) for r in meta if r["type"] == "site"], "sites")


@test
def a_ctf_trace_makes_the_same_rows(dir):
    subprocess.run([os.environ["TRACE_TOOL"], "make", dir + "/t.ctf", "3000"], check=True)
    dump = subprocess.run([os.environ["TRACE_TOOL"], "dump", dir + "/t.ctf"], capture_output=True, text=True, check=True)
    events = [e for e in map(json.loads, dump.stdout.splitlines()) if e.get("kind") in ("suspend", "resume")]
    assert len(events) > 500, len(events)
    want = [(str(e["probe_id"]), str(e["tid"]), str(e["seq"]), "1" if e["kind"] == "resume" else "0", str(e["ts"])) for e in events]
    for kind, suffix in KINDS.items():
        rows = exported(kind, dir + "/t.ctf", dir + "/c" + suffix, "--full")
        equal([(r[0], r[1], r[3], r[4], r[5]) for r in rows], want, f"rows of {kind}")
    equal(export("csv", dir + "/t.ctf/")[0], 0, "status without a name")
    assert os.path.isfile(dir + "/t.csv"), os.listdir(dir)


# ---- a command line client ---------------------------------------------------


@test
def a_client_makes_the_same_database(dir):
    if not shutil.which("sqlite3"):
        raise Skip("no sqlite3 here")
    trace = traces.limits(dir)
    for table in ("coro_trace_events", "we'ird \"t` \\"):
        status, _, err = export("sqlite", trace, "-o", dir + "/cli.sqlite", "--db-cli", "sqlite3", "--db-table", table)
        equal(status, 0, err)
        equal(read_sqlite(dir + "/cli.sqlite", table.replace('"', '""')), traces.expected(trace), "rows")
    named = traces.named(dir)
    equal(export("sqlite", named, "-o", dir + "/cli.sqlite", "--db-cli", "sqlite3", "--full")[0], 0, "status of --full")
    traces.check_full(*(traces.as_text(full_rows(dir + "/cli.sqlite", t)) for t in ("coroutines", "details", "sites")))


@test
def a_client_that_fails_is_told_with_its_own_words(dir):
    trace = traces.many(dir + "/t.jsonl", 30000)
    traces.write(dir + "/old.sqlite", "precious")
    for client, words_of_it in (("false", "ended with status 1"), ("sh -c 'echo ouch >&2; exit 7' sh", "status 7: ouch"),
                                ("no-such-client", "status 127"), ("sh -c 'kill -9 $$'", "killed by signal 9"),
                                ("true", "before it had all"), ("sh -c 'cat >/dev/null' sh", "does not say that it loaded")):
        status, _, err = export("sqlite", trace, "-o", dir + "/old.sqlite", "--db-cli", client)
        equal(status, 1, f"status with {client}")
        contains(err, words_of_it)
    left_in(dir, "t.jsonl", "old.sqlite")


# ---- memory ------------------------------------------------------------------


def peak(kind, trace, output):
    p = subprocess.run([sys.executable, "-c", "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], check=True)\n"
                        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", TOOL, "export", kind, "-q", "-i", trace, "-o", output],
                       capture_output=True, text=True, check=True)
    return int(p.stdout)


@test
def memory_does_not_grow_with_the_events(dir):
    if os.environ.get("SANITIZE"):
        raise Skip("a sanitizer keeps memory of its own")
    small, large = traces.many(dir + "/s.jsonl", 60000), traces.many(dir + "/l.jsonl", 600000)
    for kind, suffix in KINDS.items():
        once, ten = peak(kind, small, dir + "/m" + suffix), peak(kind, large, dir + "/m" + suffix)
        assert ten <= 1.2 * once, f"{kind}: {once} KB, {ten} KB with ten times the events"


if __name__ == "__main__":
    main()
