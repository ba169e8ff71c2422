# SPDX-License-Identifier: MIT
"""test_servers.py - export to real PostgreSQL and MariaDB servers: every row, or no row."""
import threading
import time

import recordings
import traces
from harness import *
from servers import PASSWORD, MariaDB, Postgres

SERVERS = {}
TABLE = "coro_trace_events"
ODD = "we\"ird \\ `t'; --"


def server(name):
    """Started once, for all cases; Skip if it cannot be started."""
    if name not in SERVERS:
        try:
            SERVERS[name] = Postgres() if name == "postgresql" else MariaDB()
        except Skip as why:
            SERVERS[name] = why
    if isinstance(SERVERS[name], Skip):
        raise SERVERS[name]
    return SERVERS[name]


def each(function):
    """Registers a case for each server."""
    for name in ("postgresql", "mysql"):
        def case(dir, name=name):
            fresh(server(name), name)
            function(dir, name, server(name))
        case.__name__ = f"{name}: {function.__name__}"
        test(case)
    return function


def fresh(s, name):
    if name == "postgresql":
        s.query("DROP DATABASE IF EXISTS coro_tracer WITH (FORCE)")
    else:
        s.query("DROP DATABASE IF EXISTS coro_tracer")


def quote(name, table):
    return "`" + table.replace("`", "``") + "`" if name == "mysql" else '"' + table.replace('"', '""') + '"'


def rows(s, name, table=TABLE, database="coro_tracer"):
    is_active = "is_active" if name == "mysql" else "is_active::int"
    return s.rows(f"SELECT probe_id, tid, addr, seq, {is_active}, ts FROM {quote(name, table)} ORDER BY id", database)


def export(name, s, trace, *options, **kwargs):
    return tool("export", name, "-i", trace, *s.options(), *options, **kwargs)


def exported(name, s, trace, *options):
    status, _, err = export(name, s, trace, *options)
    equal(status, 0, f"status of {name}: {err}")
    return err


def count(s, name, table=TABLE):
    """-1 if the table does not exist."""
    there = s.rows(f"SELECT count(*) FROM information_schema.tables WHERE table_name = '{table}'", "coro_tracer")
    return int(s.rows(f"SELECT count(*) FROM {quote(name, table)}", "coro_tracer")[0][0]) if there == [("1",)] else -1


# ---- content -------------------------------------------------------------------


@each
def every_event_of_a_real_run_is_a_row(dir, name, s):
    r = run(dir, "events", "20", "100", "0")
    exported(name, s, r.trace)
    want = traces.expected(r.trace)
    assert len(want) >= 2000, len(want)
    equal(rows(s, name), want, "rows")
    # The second export appends.
    exported(name, s, r.trace)
    equal(rows(s, name), want + want, "rows of two exports")
    exported(name, s, r.trace, "--db-cli", s.psql if name == "postgresql" else s.client + " --no-defaults")
    equal(rows(s, name), want * 3, "rows of two exports and one through a client")


@each
def values_at_the_limits_stay_what_they_are(dir, name, s):
    trace = traces.limits(dir)
    exported(name, s, trace)
    equal(rows(s, name), traces.expected(trace), "rows")


@each
def the_table_is_the_one_that_queries_expect(dir, name, s):
    exported(name, s, traces.many(dir + "/t.jsonl", 10))
    exported(name, s, dir + "/t.jsonl")
    if name == "postgresql":
        equal(s.rows("SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a WHERE a.attrelid = "
                     "'public.coro_trace_events'::regclass AND a.attnum > 0 ORDER BY a.attnum"),
              [("id", "bigint"), ("probe_id", "numeric(20,0)"), ("tid", "numeric(20,0)"), ("addr", "character varying(18)"),
               ("seq", "numeric(20,0)"), ("is_active", "boolean"), ("ts", "numeric(20,0)")], "columns")
        indexes = s.rows("SELECT substring(indexdef from '\\(.*\\)') FROM pg_indexes WHERE tablename = 'coro_trace_events' ORDER BY 1")
        equal(indexes, [("(id)",), ("(probe_id, seq)",), ("(tid, ts)",), ("(ts)",)], "indexes")
        return
    columns = s.rows("SELECT column_name, column_type FROM information_schema.columns WHERE table_schema = 'coro_tracer' ORDER BY ordinal_position")
    equal(columns, [("id", "bigint(20) unsigned"), ("probe_id", "decimal(20,0)"), ("tid", "decimal(20,0)"), ("addr", "varchar(18)"),
                    ("seq", "decimal(20,0)"), ("is_active", "tinyint(1)"), ("ts", "decimal(20,0)")], "columns")
    indexes = s.rows("SELECT GROUP_CONCAT(column_name ORDER BY seq_in_index) FROM information_schema.statistics "
                     "WHERE table_schema = 'coro_tracer' GROUP BY index_name ORDER BY 1")
    equal(indexes, [("id",), ("probe_id,seq",), ("tid,ts",), ("ts",)], "indexes")
    equal(s.rows("SELECT engine, table_collation LIKE 'utf8mb4%' FROM information_schema.tables WHERE table_schema = 'coro_tracer'"),
          [("InnoDB", "1")], "engine")


@each
def the_printed_schema_is_what_an_export_finds_fit(dir, name, s):
    s.query("CREATE DATABASE coro_tracer")
    s.query(tool("export", "schema", name, "--full")[1], "coro_tracer")
    exported(name, s, traces.many(dir + "/t.jsonl", 10), "--full")
    equal(count(s, name), 10, "rows")


@each
def odd_names_are_only_names(dir, name, s):
    trace = traces.many(dir + "/t.jsonl", 7)
    client = s.psql if name == "postgresql" else s.client + " --no-defaults"
    database = "odd \"d` b'\\"
    for more in ([], ["--db-cli", client]):
        exported(name, s, trace, "--db-name", database, "--db-table", ODD, "--full", *more)
    equal(rows(s, name, ODD, database), traces.expected(trace) * 2, f"rows in {database}")
    s.query(f"DROP DATABASE {quote(name, database)}")


@each
def frames_of_a_recording_are_rows_of_a_table_per_type(dir, name, s):
    path, ends = dir + "/r.ppt", [float("nan"), float("inf"), -2.5e-300]
    with open(path, "wb") as f:
        f.write(recordings.header(recordings.FRAMES, frComment="a \"comment\" with \\ in it") + recordings.body(200))
        f.write(b"".join(recordings.job(201 + i, 10**9, 2 * 10**9, load) for i, load in enumerate(ends)))
    frames = [json.loads(line) for line in tool("decode", "-q", "-f", "jsonl", path, "-")[1].splitlines()]
    client = s.psql if name == "postgresql" else s.client + " --no-defaults"
    for nr, more in ((1, []), (2, ["--db-cli", client])):
        err = exported(name, s, path, "--json", *more)
        equal(json.loads(err.splitlines()[-1])["frames"], 203, "frames in the summary")
        tick = s.rows(f"SELECT ppt_seqno, {quote(name, 'at')}, depth FROM tick ORDER BY 1", "coro_tracer")
        equal([tuple(map(int, r)) for r in tick],
              [(f["ppt_seqno"], f["at"], f["depth"]) for f in frames if f["frame"] == "tick" for _ in range(nr)], "ticks")
        load = quote(name, "load")
        job = s.rows(f"SELECT ppt_seqno, run_start, run_duration, {load} FROM job WHERE ppt_seqno <= 200 ORDER BY 1", "coro_tracer")
        equal([(*map(int, r[:3]), float(r[3])) for r in job],
              [(f["ppt_seqno"], f["run_start"], f["run_duration"], f["load"])
               for f in frames if f["frame"] == "job" and f["ppt_seqno"] <= 200 for _ in range(nr)], "jobs")
        equal(float(s.rows(f"SELECT {load} FROM job WHERE ppt_seqno = 203", "coro_tracer")[0][0]), -2.5e-300, "a small number")
        # MySQL has neither of them.
        null = s.rows(f"SELECT count(*) FROM job WHERE {load} IS NULL", "coro_tracer")
        equal(null, [("0",)] if name == "postgresql" else [(str(2 * nr),)], "values that are no number")
        header = dict(s.rows(f"SELECT {quote(name, 'key')}, value FROM recording", "coro_tracer"))
        equal(header["buffer"], "Hand", "the recording's buffer")
    exported(name, s, path, "--db-table", "first")
    equal((count(s, name, "first_tick"), count(s, name, "first_recording")), (50, 3), "rows with a prefix")


def full_of(s, name):
    """As JSON: names may have tabs."""
    got = []
    for table in ("coroutines", "details", "sites"):
        if name == "postgresql":
            text = s.query(f"SELECT row_to_json(t) FROM (SELECT * FROM coro_trace_events_{table} ORDER BY id) t", "coro_tracer")
            got.append(traces.as_text(json.loads(l) for l in text.splitlines()))
            continue
        columns = [c[0] for c in s.rows(f"SELECT column_name FROM information_schema.columns WHERE table_name = 'coro_trace_events_{table}' "
                                        "AND table_schema = 'coro_tracer' ORDER BY ordinal_position")]
        fields = ", ".join(f"IF({c} IS NULL, '-', HEX(CAST({c} AS CHAR)))" for c in columns)
        got.append([{c: None if v == "-" else bytes.fromhex(v).decode() for c, v in zip(columns, row)}
                    for row in s.rows(f"SELECT {fields} FROM coro_trace_events_{table} ORDER BY id")])
    return got


@each
def all_that_a_trace_tells_goes_into_tables_of_its_own(dir, name, s):
    client = s.psql if name == "postgresql" else s.client + " --no-defaults"
    for more in ([], ["--db-cli", client]):
        fresh(s, name)
        exported(name, s, traces.named(dir), "--full", *more)
        traces.check_full(*full_of(s, name))
        equal(count(s, name), 3, "rows of the first table")


@test
def mysql_without_load_data_gets_the_same(dir):
    s = server("mysql")
    fresh(s, "mysql")
    s.query("SET GLOBAL local_infile = 0")
    try:
        trace = traces.many(dir + "/t.jsonl", 12000)
        exported("mysql", s, trace)
        equal(rows(s, "mysql"), traces.expected(trace), "rows")
        fresh(s, "mysql")
        exported("mysql", s, traces.named(dir), "--full")
        traces.check_full(*full_of(s, "mysql"))
    finally:
        s.query("SET GLOBAL local_infile = 1")


@each
def no_events_make_an_empty_table(dir, name, s):
    exported(name, s, traces.write(dir + "/e.jsonl"), "--full")
    equal(count(s, name), 0, "rows")


@each
def a_trace_cut_in_mid_line_is_exported_up_to_there(dir, name, s):
    whole = traces.many(dir + "/t.jsonl", 5000)
    with open(whole, encoding="ascii") as f:
        text = f.read()
    status, _, err = export(name, s, traces.write(dir + "/cut.jsonl", text[:-20]))
    equal(status, 1, "status")
    contains(err, "ends in the middle of a line")
    equal(rows(s, name), traces.expected(whole)[:-1], "rows")


@test
def mysql_is_reached_by_its_socket(dir):
    s = server("mysql")
    fresh(s, "mysql")
    trace = traces.many(dir + "/t.jsonl", 3)
    status, _, err = tool("export", "mysql", trace, "--mysql-socket", s.socket, "--db-user", s.user, "--db-host", "nowhere.invalid",
                          "--db-port", "1", env=dict(os.environ, MYSQL_PWD=PASSWORD))
    equal(status, 0, err)
    equal(count(s, "mysql"), 3, "rows")
    # The old flags, and the password from a file.
    home = dir + "/home"
    os.mkdir(home)
    with open(home + "/.my.cnf", "w", encoding="utf-8") as f:
        f.write('[client]\npassword="' + PASSWORD.replace("\\", "\\\\").replace('"', '\\"') + '"\n')
    status, _, err = tool("-export", "mysql", "-in", trace, "-mysql-socket", s.socket, "-db-user", s.user, "-db-name", "coro_tracer",
                          "-db-table", TABLE, env=dict(os.environ, HOME=home))
    equal(status, 0, err)
    equal(count(s, "mysql"), 6, "rows")


@test
def postgresql_takes_its_password_from_where_libpq_does(dir):
    s = server("postgresql")
    fresh(s, "postgresql")
    trace = traces.many(dir + "/t.jsonl", 3)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    with open(dir + "/pgpass", "w", encoding="utf-8") as f:
        f.write("127.0.0.1:*:*:tester:" + PASSWORD.replace("\\", "\\\\").replace(":", "\\:") + "\n")
    os.chmod(dir + "/pgpass", 0o600)
    address = ["-db-host", "127.0.0.1", "-db-port", s.port, "-db-user", s.user]
    for how in ({"PGPASSWORD": PASSWORD}, {"PGPASSFILE": dir + "/pgpass"}):
        status, _, err = tool("-export", "postgresql", "-in", trace, *address, "-pg-sslmode", "disable", "-pg-maintenance-db", "template1",
                              env=dict(env, **how))
        equal(status, 0, err)
    # By the socket: its directory is the host.
    status, _, err = tool("export", "postgres", trace, "--db-host", s.dir, "--db-port", s.port, "--db-user", s.user, env=dict(env, PGPASSWORD=PASSWORD))
    equal(status, 0, err)
    equal(count(s, "postgresql"), 9, "rows")
    # A server without TLS is rejected if TLS is required.
    equal(export("postgresql", s, trace, "--pg-sslmode", "require")[0], 1, "status with sslmode=require")


# ---- failures ------------------------------------------------------------------


@each
def a_server_that_is_not_there_is_told(dir, name, s):
    trace = traces.many(dir + "/t.jsonl", 3)
    status, _, err = tool("export", name, trace, "--db-host", "127.0.0.1", "--db-port", "1", "--db-user", "x")
    equal(status, 1, "status")
    contains(err, "cannot connect to")
    contains(err, "hint: see --db-host")


@each
def a_wrong_password_is_told_and_not_repeated(dir, name, s):
    trace = traces.many(dir + "/t.jsonl", 3)
    client = s.psql if name == "postgresql" else s.client + " --no-defaults"
    for more in ([], ["--db-cli", client]):
        status, _, err = tool("export", name, trace, "--db-host", "127.0.0.1", "--db-port", s.port, "--db-user", s.user,
                              "--db-password", "hunter2-wrong", *more)
        equal(status, 1, "status")
        assert "hunter2" not in err, err
        contains(err, "password")


@each
def who_has_no_rights_is_told(dir, name, s):
    trace = traces.many(dir + "/t.jsonl", 3)
    if name == "postgresql":
        s.query("DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN PASSWORD 'poor'")
    else:
        s.query("CREATE OR REPLACE USER poor@'%' IDENTIFIED BY 'poor'")
    poor = ["--db-host", "127.0.0.1", "--db-port", s.port, "--db-user", "poor", "--db-password", "poor"]
    status, _, err = tool("export", name, trace, *poor)
    equal(status, 1, "status without a database")
    contains(err, "cannot make the database")
    exported(name, s, trace)
    status, _, err = tool("export", name, trace, *poor)
    equal(status, 1, "status with another's table")
    contains(err.lower(), "denied")
    equal(count(s, name), 3, "rows")


@each
def a_table_of_another_shape_is_refused(dir, name, s):
    trace = traces.many(dir + "/t.jsonl", 3)
    s.query("CREATE DATABASE coro_tracer")
    number = "NUMERIC(20,0)" if name == "postgresql" else "DECIMAL(20,0)"
    good = f"probe_id {number}, tid {number}, addr VARCHAR(18), seq {number}, is_active BOOLEAN"
    for columns, why in ((f"{good}, ts INT", "its column ts is int"), (good, "its column ts is not there"), ("a INT", "its column probe_id is not there")):
        s.query(f"DROP TABLE IF EXISTS {TABLE}; CREATE TABLE {TABLE} ({columns})", "coro_tracer")
        status, _, err = export(name, s, trace)
        equal(status, 1, "status")
        contains(err, why)
        contains(err, "--db-table")
        equal(count(s, name), 0, "rows")


def feed(dir, name, s, *more):
    """An export in the middle of a load: it reads a pipe, and the server has uncommitted rows."""
    exported(name, s, traces.many(dir + "/first.jsonl", 3))
    p = popen(TOOL, "export", name, "-i", "-", *s.options(), *more, stdin=subprocess.PIPE)
    part = "".join(traces.line(i + 1, 1, 0, 2, True, 100 + i) for i in range(2000))
    stop = threading.Event()

    def write():
        # Until the case is over, and a little longer: a server that aborted a LOAD reads to its
        # end.
        left = 15
        try:
            while left:
                left -= stop.is_set()
                time.sleep(0.1)
                p.stdin.write(part)
                p.stdin.flush()
            p.stdin.close()
        except (BrokenPipeError, ValueError):
            pass

    thread = threading.Thread(target=write)
    thread.start()
    wait_until(lambda: is_loading(s, name) or p.poll() is not None, "a load")
    if p.poll() is not None:
        raise AssertionError(f"the export ended: {p.stderr.read()}")

    def end():
        stop.set()
        status = p.wait(100)
        thread.join()
        return status, p.stderr.read()

    return p, end


def is_loading(s, name):
    if name == "postgresql":
        return s.query("SELECT coalesce(max(tuples_processed), 0) > 5000 FROM pg_stat_progress_copy") == "t\n"
    # The server recomputes this table only if it was not read for 0.1 s.
    time.sleep(0.2)
    return int(s.query("SELECT coalesce(max(trx_rows_modified), 0) FROM information_schema.innodb_trx")) > 5000


def cut_connection(s, name):
    if name == "postgresql":
        s.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name IN ('corotracer', 'psql') AND pid <> pg_backend_pid() "
                "AND datname = 'coro_tracer'")
        return
    for (number,) in s.rows("SELECT id FROM information_schema.processlist WHERE user = 'tester'", ""):
        s.query(f"KILL {number}", check=False)


@each
def a_connection_that_is_cut_leaves_nothing_half_loaded(dir, name, s):
    client = s.psql if name == "postgresql" else s.client + " --no-defaults"
    for more in ([], ["--db-cli", client]):
        fresh(s, name)
        _, end = feed(dir, name, s, *more)
        cut_connection(s, name)
        status, err = end()
        equal(status, 1, f"status: {err}")
        contains(err, "nothing of it is in the database")
        equal(count(s, name), 3, "rows")


@each
def a_server_that_crashes_leaves_nothing_half_loaded(dir, name, s):
    _, end = feed(dir, name, s)
    s.kill()
    status, err = end()
    equal(status, 1, f"status: {err}")
    s.start()
    equal(count(s, name), 3, "rows")


@each
def ctrl_c_leaves_nothing_half_loaded(dir, name, s):
    client = s.psql if name == "postgresql" else s.client + " --no-defaults"
    for more in ([], ["--db-cli", client]):
        fresh(s, name)
        p, end = feed(dir, name, s, *more)
        p.send_signal(signal.SIGINT)
        status, err = end()
        equal(status, -signal.SIGINT, f"what ended it: {err}")
        wait_until(lambda: not is_loading(s, name), "the server to give up")
        equal(count(s, name), 3, "rows")


@each
def ctrl_c_works_while_the_server_does_not_answer(dir, name, s):
    p, end = feed(dir, name, s)
    os.kill(s.process.pid, signal.SIGSTOP)
    backends = children_of(s.process.pid)
    for pid in backends:
        os.kill(pid, signal.SIGSTOP)
    try:
        p.send_signal(signal.SIGINT)
        equal(end()[0], -signal.SIGINT, "what ended it")
    finally:
        for pid in (*backends, s.process.pid):
            os.kill(pid, signal.SIGCONT)
    wait_until(lambda: not is_loading(s, name), "the server to give up")
    equal(count(s, name), 3, "rows")


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(c) for c in f.read().split()]


if __name__ == "__main__":
    main()
