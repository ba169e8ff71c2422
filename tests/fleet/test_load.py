# SPDX-License-Identifier: MIT
"""test_load.py - traces in a real ClickHouse server: every row, twice the same trace, wrong passwords and schemas."""
from fleet_servers import *
from sql import *

SERVERS = {}


def store(password="se'cret&%"):
    """The server that the cases share."""
    if not SERVERS:
        SERVERS["one"] = ClickHouse(password)
    return SERVERS["one"]


def load(server, *args, database="corotracer", status=0, password=None, **kwargs):
    """The summary of `load --json`."""
    env = dict(os.environ, CLICKHOUSE_PASSWORD=server.password if password is None else password)
    got, out, err = tool("load", "--into", server.url(database), "--json", *args, env=env, **kwargs)
    equal(got, status, f"status of load {args}: {out}{err}")
    return json.loads(out) if out else err


KEPT_TRACES = {}


def channels(dir):
    trace = dir + "/c.jsonl"
    if not KEPT_TRACES:
        status, _, err = tool("run", "-q", "-o", trace, "--", CHANNELS)
        equal(status, 0, err)
        for name in ("", ".meta"):
            with open(trace + name, "rb") as f:
                KEPT_TRACES[name] = f.read()
    for name, data in KEPT_TRACES.items():
        with open(trace + name, "wb") as f:
            f.write(data)
    return trace


STATES = {"resume": "resumed", "end": "closed", "destroy": "closed", "lost": "lost"}


def stored_waits(server, database):
    """The waits of table `waits`, with the columns of `query` that both have."""
    sql = f"""SELECT probe_id, ts, wait_ns, ready_ns, toString(state), toString(reason), resource, waker, file, line, function
        FROM {database}.waits ANY LEFT JOIN (SELECT site, any(file) AS file, any(line) AS line, any(function) AS function
        FROM {database}.sites GROUP BY site) USING site"""
    return [tuple(int(x) if x.lstrip("-").isdigit() else x for x in r) for r in server.rows(sql)]


def wanted_waits(trace):
    """The same from `corotracer query`."""
    run = rows(trace, "SELECT start_ts, start_realtime FROM run")[0]
    sites = {s: (f, l, n) for s, f, l, n in rows(trace, "SELECT site, file, line, function FROM sites")}
    result = []
    for id, begin, end, woken, by, reason, resource, waker, site in rows(
            trace, "SELECT probe_id, from_ts, to_ts, woken_ts, ended_by, reason, resource, waker, site FROM waits"):
        state = STATES[by] if by else "woken" if woken else "open"
        ready = end - woken if state == "resumed" and woken and woken <= end else 0
        result.append((id, run[1] + begin - run[0], end - begin if end else 0, ready, state, reason or "unknown", resource or 0,
                       waker or 0, *sites.get(site, ("", 0, ""))))
    return result


def sums_are_those_of_the_waits(server, database):
    got = server.rows(f"""SELECT site, toString(reason), ts, sum(count), sum(resumed), sum(woken), sum(open), sum(closed), sum(lost), sum(readied),
        sum(wait_ns), sum(ready_ns), maxMerge(max_wait), maxMerge(max_ready), sumMap(waitMap.bucket, waitMap.n),
        sumMap(readyMap.bucket, readyMap.n) FROM {database}.waits_10s WHERE mark = '' GROUP BY site, reason, ts ORDER BY site, reason, ts""")
    bucket = lambda x: f"toUInt8(if({x} = 0, 0, floor(log2({x})) + 1))"
    want = server.rows(f"""SELECT site, toString(reason), intDiv(ts, 10000000000) * 10000000000 AS t, count(), countIf(state = 'resumed'),
        countIf(state = 'woken'), countIf(state = 'open'), countIf(state = 'closed'), countIf(state = 'lost'),
        countIf(ready_ns > 0), sum(wait_ns), sum(ready_ns), max(wait_ns), max(ready_ns)
        FROM {database}.waits GROUP BY site, reason, t ORDER BY site, reason, t""")
    assert want
    equal(len(got), len(want), "rows of the sums")
    for g, w in zip(got, want):
        equal(g[:9] + g[10:14], w[:9] + w[10:14], "a sum")
        ended = int(w[4]) + int(w[7])
        counts = json.loads("[" + g[14].strip("()") + "]")
        equal(sum(counts[1]), ended, "waits in the histogram")
        equal(sum(json.loads("[" + g[15].strip("()") + "]")[1]), int(g[9]), "ready times in the histogram")
    equal(server.value(f"SELECT count() FROM (SELECT mark, sum(marks) AS n FROM {database}.waits_10s WHERE mark != '' GROUP BY mark) WHERE n != 1"),
          0, "marks that are not there once")
    # Exact buckets, once more from the rows.
    got = server.rows(f"""SELECT b, sum(n) FROM (SELECT b, n FROM {database}.waits_10s ARRAY JOIN waitMap.bucket AS b, waitMap.n AS n)
        GROUP BY b ORDER BY b""")
    want = server.rows(f"SELECT {bucket('wait_ns')} AS b, count() FROM {database}.waits WHERE state IN ('resumed', 'closed') GROUP BY b ORDER BY b")
    equal(got, want, "the histogram of waits")


def export_part(server, trace, *options, database):
    """The summary of `export clickhouse` with a filter."""
    env = dict(os.environ, CLICKHOUSE_PASSWORD=server.password)
    status, out, err = tool("export", "clickhouse", "-i", trace, *options, "--into", server.url(database), "--json", env=env)
    equal(status, 0, f"status of export clickhouse {options}: {out}{err}")
    return json.loads(out)


@test
def a_part_of_a_trace_is_a_run_of_its_own(dir):
    server, trace = store(), channels(dir)
    want = wanted_waits(trace)
    id = want[len(want) // 2][0]
    export_part(server, trace, "--coro", str(id), database="part")
    same_rows(stored_waits(server, "part"), [w for w in want if w[0] == id], "waits of one coroutine")
    duration = rows(trace, "SELECT max(ts) - min(ts) FROM events")[0][0]
    times = ("--from", f"{duration // 4}ns", "--to", f"{duration // 2}ns")
    for number, options in enumerate((times, ("--kind", "suspend"), ("--site", "*sched*"))):
        csv = dir + f"/{number}.csv"
        equal(tool("export", "csv", "-q", "-i", trace, "-o", csv, *options)[0], 0, f"status of export csv {options}")
        with open(csv, encoding="utf-8") as f:
            nr = len(f.readlines()) - 1
        summary = export_part(server, trace, *options, database=f"part{number}")
        equal((summary["transitions"], summary["complete_runs"]), (nr, 1), f"transitions with {options}")
    # The whole run is another one, and is not there yet.
    equal(load(server, trace, database="part")["waits"], len(want), "waits of the whole trace")
    equal(server.value("SELECT count() FROM part.runs FINAL"), 2, "runs")
    status, _, err = tool("load", "--into", server.url("part"), "--source", "file:" + dir, "--from", "1s")
    equal(status, 2, "status with a source")
    contains(err, "for traces")


@test
def the_waits_in_the_store_are_those_of_query_in_every_format(dir):
    server = store()
    jsonl = channels(dir)
    want = wanted_waits(jsonl)
    assert len(want) > 1000, len(want)
    for number, trace in enumerate(in_every_format(dir, jsonl)):
        database = f"format{number}"
        summary = load(server, trace, database=database)
        equal(summary["waits"], len(want), "waits of the summary")
        equal(summary["complete_runs"], 1, "complete runs")
        same_rows(stored_waits(server, database), want, f"waits of {trace}")
        sums_are_those_of_the_waits(server, database)
    t = Trace(jsonl).of("totals")[0]
    equal(server.rows("SELECT written, collected, lost, transitions, waits, complete, blocks, blocks_missing FROM format0.runs FINAL"),
          [tuple(str(x) for x in (t["written"], t["collected"], t["lost"], t["collected"], len(want), 1, summary["blocks"], 0))], "the account")
    equal(server.value("SELECT sum(transitions) FROM format0.blocks"), t["collected"], "transitions by block")


@test
def a_trace_that_is_loaded_twice_counts_once(dir):
    server = store()
    jsonl = channels(dir)
    load(server, jsonl, database="twice")
    first = stored_waits(server, "twice")
    again = load(server, jsonl, database="twice")
    assert again["found"] >= 2, again
    same_rows(stored_waits(server, "twice"), first, "waits after the second load")
    sums_are_those_of_the_waits(server, "twice")
    equal(server.value("SELECT count() FROM twice.runs FINAL"), 1, "runs")


@test
def every_event_is_stored_on_request(dir):
    server = store()
    jsonl = channels(dir)
    t = Trace(jsonl)
    load(server, "--events", jsonl, database="events")
    load(server, "--events", jsonl, database="events")
    run = t.of("run")[0]
    got = [(int(a), int(b), k, int(c)) for a, b, k, c in server.rows("SELECT probe_id, ts, toString(kind), tid FROM events.events")]
    want = [(e["probe_id"], run["start_realtime"] + e["ts"] - run["start_ts"], e["kind"], e["tid"]) for e in t.events]
    same_rows(got, want, "events")


@test
def errors_say_what_to_do_and_never_the_password(dir):
    server = store()
    jsonl = channels(dir)
    for password in ("wrong-secret", ""):
        err = load(server, jsonl, status=1, password=password)
        contains(err, "hint: check the user in the address and CLICKHOUSE_PASSWORD")
        assert "wrong-secret" not in err, err
    port = free_port()
    status, _, err = tool("load", "--into", f"clickhouse://me:hidden-word@127.0.0.1:{port}/x", "--wait", "0", jsonl)
    equal(status, 1, err)
    contains(err, f"cannot use ClickHouse at 127.0.0.1:{port}")
    contains(err, "hint: is the server running")
    assert "hidden-word" not in err, err
    for url in ("clickhouse://", "clickhouse://h:99999/x", "clickhouse://a:hidden-word@h/x;y", "http://h/x", "clickhouse://h/x?other=1"):
        status, _, err = tool("load", "--into", url, jsonl)
        equal(status, 1, url)
        contains(err, "cannot use the address of ClickHouse")
        assert "hidden-word" not in err, err
    nats = Nats()
    status, _, err = tool("load", "--into", f"clickhouse://127.0.0.1:{nats.port}/x", "--wait", "0", jsonl)
    equal(status, 1, err)
    contains(err, "cannot use ClickHouse at")


@test
def a_wrong_schema_is_refused(dir):
    server = store()
    jsonl = channels(dir)
    server.query("CREATE DATABASE foreign")
    server.query("CREATE TABLE foreign.waits (x UInt64) ENGINE = MergeTree ORDER BY x")
    err = load(server, jsonl, database="foreign", status=1)
    contains(err, "cannot use table foreign.waits: it has no column service")
    load(server, jsonl, database="newer")
    server.query("INSERT INTO newer.schema_version SELECT 99, now()")
    err = load(server, jsonl, database="newer", status=1)
    contains(err, "its schema has version 99")
    contains(err, "hint: use a newer corotracer")
    load(server, jsonl, database="changed")
    server.query("ALTER TABLE changed.waits DROP COLUMN region")
    server.query("ALTER TABLE changed.waits ADD COLUMN region UInt8")
    err = load(server, jsonl, database="changed", status=1)
    contains(err, "column region has type UInt8")


@test
def rows_are_dropped_after_their_time(dir):
    server = store()
    jsonl = channels(dir)
    # The same run twelve days ago.
    with open(jsonl + ".meta", encoding="utf-8") as f:
        lines = f.read().splitlines(keepends=True)
    run = json.loads(lines[0])
    for days in (12, 0):
        run["start_realtime"] = (int(time.time()) - days * 86400) * 10**9
        with open(jsonl + ".meta", "w", encoding="utf-8") as f:
            f.writelines([json.dumps(run) + "\n", *lines[1:]])
        load(server, "--keep", "waits=30", jsonl, database="keep")
    nr = "SELECT uniq(run) FROM keep.waits"
    equal(server.value(nr), 2, "runs before")
    load(server, "--keep", "waits=30", jsonl, database="keep")
    equal(server.value(nr), 2, "runs with a longer time")
    load(server, jsonl, database="keep")
    equal(server.value(nr), 1, "runs after a week")
    status, _, err = tool("load", "--into", "clickhouse://h/x", "--keep", "waits=x", jsonl)
    equal(status, 2, err)
    contains(err, "invalid value 'waits=x' for --keep")


main()
