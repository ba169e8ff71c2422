# SPDX-License-Identifier: MIT
"""test_query_hostile.py - statements that must not do anything but read, damaged traces, and errors."""
import resource
import shutil

from sql import *

SANITIZE = os.environ.get("SANITIZE")


def small_trace(dir):
    subprocess.run([TRACE_TOOL, "make", dir + "/t.ctf", "4000"], check=True)
    return export("jsonl", dir + "/t.ctf", dir + "/t.jsonl"), export("ct", dir + "/t.ctf", dir + "/t.ct")


@test
def a_statement_can_only_read(dir):
    jsonl, ct = small_trace(dir)
    before = {name: os.stat(f"{dir}/{name}").st_mtime_ns for name in os.listdir(dir)}
    refused = ["ATTACH 'new.db' AS x", f"ATTACH '{ct}' AS x", "DETACH main", "CREATE TABLE x(y)", "CREATE TEMP TABLE x(y)",
               "CREATE VIEW x AS SELECT 1", "CREATE VIRTUAL TABLE x USING fts5(y)", "INSERT INTO events VALUES (1)", "DELETE FROM events",
               "UPDATE sites SET line = 1", "DROP TABLE events", "VACUUM INTO 'new.db'", "PRAGMA journal_mode = WAL",
               "PRAGMA writable_schema = 1", "PRAGMA temp_store_directory = '.'", "BEGIN", "SAVEPOINT x", "REINDEX", "ANALYZE",
               "SELECT load_extension('/tmp/x.so')", "SELECT * FROM pragma_journal_mode('x')", "ALTER TABLE events RENAME TO x",
               "SELECT fts3_tokenizer('simple')", "INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5)"]
    for sql in refused:
        status, out, err = tool("query", ct, sql, cwd=dir)
        equal(status, 1, f"status of {sql}: {out}{err}")
        equal(out, "", f"output of {sql}")
        contains(err, "corotracer query: ")
    for sql in ("SELECT writefile('new', 'x')", "SELECT readfile('/etc/passwd')", "SELECT edit('x')"):
        contains(failed(ct, sql), "corotracer query: ")
    equal({name: os.stat(f"{dir}/{name}").st_mtime_ns for name in os.listdir(dir)}, before, "files")
    contains(failed(ct, "ATTACH 'x' AS y"), "can only read")


@test
def a_wrong_statement_is_answered_with_its_place_and_the_names(dir):
    _, ct = small_trace(dir)
    err = failed(ct, "SELECT *\nFROM events\nWHERE sight = 3")
    contains(err, "no such column: sight")
    contains(err, "  WHERE sight = 3\n        ^\n")
    contains(err, "hint: the columns are probe_id, tid")
    contains(failed(ct, "SELECT * FROM wait"), "hint: the tables are events, waits, slices")
    contains(failed(ct, "SELEKT 1"), "syntax error")
    contains(failed(ct, 'SELECT * FROM events WHERE kind = "wake"'), "no such column")
    contains(failed(ct, "SELECT 1; SELECT 2"), "a second statement")
    contains(failed(ct, " -- nothing"), "the statement is empty")
    equal(rows(ct, "SELECT 1 AS x; -- the end"), [(1,)], "a comment at the end")
    contains(failed(dir + "/none.ct", "SELECT 1"), "none.ct")
    for args in (["-"], [ct, "SELECT 1", "SELECT 2"], ["-l", ct, "SELECT 1"], ["--csv", "--json", ct, "SELECT 1"], []):
        status, out, err = tool("query", *args)
        assert status in (1, 2) and err and not out, (args, status, out, err)
    contains(failed("-", "SELECT 1"), "save the trace to a file")


@test
def statements_without_end_or_measure_are_stopped(dir):
    _, ct = small_trace(dir)
    p = popen(TOOL, "query", ct, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
    wait_until(lambda: open(f"/proc/{p.pid}/stat").read().split()[13] != "0", "a running query")
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=240)
    equal(p.returncode, -signal.SIGINT, "status after Ctrl-C")
    contains(failed(ct, "SELECT length(zeroblob(900000000))"), "too big")
    contains(failed(ct, "SELECT " + "(" * 2000 + "1" + ")" * 2000), "corotracer query: ")
    deep = " UNION ALL ".join(["SELECT 1"] * 600)
    contains(failed(ct, deep), "corotracer query: ")
    full = open("/dev/full", "w")
    status, _, err = tool("query", ct, "SELECT * FROM events", stdout=full)
    equal(status, 1, err)
    contains(err, "cannot write to standard output")


@test
def a_cut_trace_is_queried_up_to_the_cut_and_says_so(dir):
    _, ct = small_trace(dir)
    subprocess.run([TRACE_TOOL, "make", dir + "/big.ctf", "140000"], check=True)
    big = export("ct", dir + "/big.ctf", dir + "/big.ct")
    whole = rows(big, "SELECT count(*), min(ts) FROM events")[0]
    data = open(big, "rb").read()
    with open(dir + "/cut.ct", "wb") as f:
        f.write(data[:len(data) * 2 // 3])
    sql = "SELECT count(*), min(ts) FROM events"
    status, out, err = tool("query", "--json", dir + "/cut.ct", sql)
    equal(status, 1, f"status of a cut trace: {err}")
    got = json.loads(out)
    assert 0 < got["rows"][0]["count(*)"] < whole[0], got
    equal(got["rows"][0]["min(ts)"], whole[1], "the begin is there")
    equal(got["completeness"]["verdict"], "incomplete", "verdict")
    contains(err, "the trace is incomplete")
    with open(dir + "/t.jsonl", "rb") as f:
        lines = f.read()
    with open(dir + "/t.jsonl", "wb") as f:
        f.write(lines[:len(lines) // 2])
    status, _, err = tool("query", dir + "/t.jsonl", sql)
    equal(status, 1, err)
    contains(err, "the trace is incomplete")


@test
def damaged_traces_never_crash_a_query(dir):
    jsonl, ct = small_trace(dir)
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31)) if not SANITIZE else None
    rng = random.Random(11)
    data = open(ct, "rb").read()
    sql = ("SELECT (SELECT count(*) || max(ts) || max(site) FROM events), (SELECT sum(duration_ns) FROM waits), (SELECT sum(cpu_ns) FROM slices), "
           "(SELECT count(name) FROM coroutines), (SELECT count(*) FROM events WHERE probe_id = 5), (SELECT count(*) FROM gaps)")
    for i in range(60 if os.environ.get("COROTRACER_FULL") else 15):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 8)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        if i % 3 == 0:
            del damaged[rng.randrange(len(damaged)):]
        with open(dir + "/x.ct", "wb") as f:
            f.write(damaged)
        status, _, err = tool("query", dir + "/x.ct", sql, preexec_fn=limit)
        assert status in (0, 1), (status, err)
        assert status == 0 or "corotracer query: " in err, err
    text = open(jsonl, "rb").read()
    shutil.copy(jsonl + ".meta", dir + "/y.jsonl.meta")
    for i in range(5):
        damaged = bytearray(text)
        for _ in range(40):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with open(dir + "/y.jsonl", "wb") as f:
            f.write(damaged)
        status, _, err = tool("query", dir + "/y.jsonl", sql)
        assert status in (0, 1), (status, err)
    with open(dir + "/z.jsonl", "w", encoding="ascii") as f:
        f.write("this is no trace\n" * 3)
    contains(failed(dir + "/z.jsonl", "SELECT 1"), "is it a trace?")


@test
def numbers_beyond_63_bits_are_exact(dir):
    with open(dir + "/t.jsonl", "w", encoding="ascii") as f:
        for i, id in enumerate((2**64 - 1, 2**63, 5)):
            f.write(json.dumps({"probe_id": id, "tid": 1, "addr": "0x" + "f" * 16, "seq": 2, "is_active": False, "ts": 1000 + i},
                               separators=(",", ":")) + "\n")
    equal(rows(dir + "/t.jsonl", "SELECT CAST(probe_id AS TEXT), addr FROM events ORDER BY ts"),
          [(str(2**64 - 1), "0x" + "f" * 16), (str(2**63), "0x" + "f" * 16), ("5", "0x" + "f" * 16)], "ids")
    equal(rows(dir + "/t.jsonl", "SELECT ts FROM events WHERE probe_id = 5"), [(1002,)], "a small one")


main()
