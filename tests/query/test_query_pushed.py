# SPDX-License-Identifier: MIT
"""test_query_pushed.py - conditions that reach the reader of the trace against full scans, and the blocks that are read.

Without COROTRACER_FULL=1 half of the conditions; with a sanitizer a fifth of them, and a third of the groups: each table and each
kind of condition is among them.
"""
from sql import *

KINDS = ["suspend", "resume", "birth", "wake", "end", "destroy", "close", "acquire", "release"]
KEPT_FILES = {}
FULL = bool(os.environ.get("COROTRACER_FULL"))
COROUTINES, EACH = 40, 3600  # three blocks of a compact trace
FEW = bool(os.environ.get("SANITIZE")) and not FULL


def write_trace(path):
    """Events of coroutines that live one after the other, so that a block has few of them and few sites; one coroutine waits
    from the start to the end, one is suspended twice, one ends while it runs, events of one are lost.  Two sites are one place."""
    rng = random.Random(7)
    ts, lines, meta = 10**12, [], []
    meta.append({"type": "run", "format": 1, "tool": "test", "command": ["x"], "pid": 7, "start_ts": ts, "start_realtime": 5, "arch": "x",
                 "stations": 0})
    for id in range(1, 12):
        meta.append({"type": "site", "id": id, "file": f"src/f[{min(id, 10)}].c", "line": min(id, 10), "function": "f", "pid": 7})

    def move(id, active, site):
        nonlocal ts
        ts += rng.randrange(1, 2000)
        line = {"probe_id": id, "tid": 70 + id % 3, "addr": f"0x{id:016x}", "seq": 2, "is_active": active, "ts": ts}
        if site and not active:
            line.update(site=site, reason=rng.choice(["io-read", "timer"]), resource=id)
        lines.append(line)

    def other(type, id, **more):
        nonlocal ts
        ts += rng.randrange(1, 2000)
        meta.append({"type": type, "ts": ts, "probe_id": id, "tid": 71, **more})
    move(900, False, 1)
    for c in range(1, COROUTINES + 1):
        other("birth", c, pid=7, name=f"c {c}", parent=c - 1 if c > 1 else None)
        if c == 1:
            del meta[-1]["parent"]
        for i in range(EACH // 2):
            move(c, True, 0)
            if not (c == 9 and i == 5):
                move(c, False, 10 + c % 2 if c > 30 else 1 + c % 9)
            if i % 3 == 0:
                other("wake", c, waker=c + 1)
        if c == 5:
            move(c, True, 0)
        if c != 6:
            other("end", c, written=EACH, destroyed=True)
    move(900, True, 0)
    meta.append({"type": "totals", "complete": True, "written": len(lines), "collected": len(lines), "lost": 0, "lost_overwritten": 0,
                 "lost_output": 0, "garbage": 0, "unfinished": 0, "coroutines": COROUTINES, "without_station": 0,
                 "others_written": sum(m["type"] in KINDS for m in meta), "others_collected": sum(m["type"] in KINDS for m in meta),
                 "others_lost": 0, "exit_status": 0, "signal": None, "end_ts": ts + 1})
    for name, list in (("", lines), (".meta", meta)):
        with open(path + name, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(x, separators=(",", ":")) + "\n" for x in list)
    return path


def traces(dir):
    """JSON lines, compact, CTF: the same for all tests."""
    if not KEPT_FILES:
        keep = KEPT_FILES["dir"] = __import__("tempfile").TemporaryDirectory(prefix="corotracer-query-")
        jsonl = write_trace(keep.name + "/t.jsonl")
        KEPT_FILES["paths"] = [jsonl, export("ct", jsonl, keep.name + "/t.ct"), export("ctf", jsonl, keep.name + "/t.ctf")]
    return KEPT_FILES["paths"]


def spread(trace):
    """First and last time."""
    return rows(trace, "SELECT min(ts), max(ts) FROM events")[0]


def conditions(first, last):
    """(table, condition as a reader may use it, the same hidden from it by a plus)."""
    rng = random.Random(3)
    result = []

    def add(table, *parts):
        pushed = " AND ".join(f"{c} {rest}" for c, rest in parts)
        # The plus also takes the type of the column away, by which '17' is the number.
        hidden = " AND ".join(f"+{c} {rest}" for c, rest in parts).replace("'17'", "17")
        result.append((table, pushed, hidden))
    for _ in range(3):
        a = rng.randrange(first, last)
        b = a + rng.randrange((last - first) // 10)
        add("events", ("ts", f"BETWEEN {a} AND {b}"))
        add("waits", ("from_ts", f">= {a}"), ("from_ts", f"< {b}"))
        add("slices", ("from_ts", f"> {a}"), ("to_ts", f"<= {b}"))
        add("waits", ("from_ts", f">= {a}.5"), ("to_ts", f"< {b}"), ("probe_id", f"= {rng.randrange(1, 40)}"))
    for id in (0, 1, 5, 6, 9, 40, 900, 12345, -1, "'17'", 3.0, "NULL"):
        add("events", ("probe_id", f"= {id}"))
        add("waits", ("probe_id", f"= {id}"))
        add("coroutines", ("probe_id", f"= {id}"))
    for site in (0, 1, 9, 10, 11, 99):
        add("events", ("site", f"= {site}"))
        add("waits", ("site", f"= {site}"))
        add("sites", ("site", f"= {site}"))
    add("events", ("kind", "= 'wake'"))
    add("events", ("kind", "IN ('birth', 'end', 'nonsense')"), ("probe_id", "< 9"))
    add("events", ("kind", "= 'WAKE' COLLATE NOCASE"))
    add("events", ("kind", "= 'nonsense'"))
    add("events", ("is_active", "= 1"), ("probe_id", "= 7"))
    add("events", ("is_active", "= 0"), ("site", "= 10"), ("ts", f"> {(first + last) // 2}"))
    add("events", ("probe_id", "= 7"), ("probe_id", "= 8"))
    add("events", ("ts", f"> {last}"))
    add("events", ("ts", "< -5"))
    add("events", ("ts", "> 'text'"))
    add("events", ("ts", f"= {last}"))
    return result


@test
def conditions_find_the_same_rows_as_a_full_scan_in_every_format(dir):
    paths = traces(dir)
    for i, (table, pushed, hidden) in enumerate(conditions(*spread(paths[1]))[::1 if FULL else 5 if FEW else 2]):
        # A sum over all columns: 150,000 rows as JSON take their time.
        columns = ", ".join(f"sum(coalesce({c}, 7) * (rowid_ % 97)), count({c})" for c in COLUMNS[table])
        sums = lambda path, where: rows(path, f"WITH x AS (SELECT *, {KEYS[table]} AS rowid_ FROM {table} WHERE {where}) "
                                              f"SELECT count(*), {columns} FROM x")
        want = sums(paths[1], hidden)
        # The other formats are scanned as a whole: every fifth condition will do, another one of each.
        for path in [paths[1], *(paths if FULL else [paths[0]] if i % 5 == 0 else [paths[2]] if i % 5 == 3 else [])]:
            equal(sums(path, pushed), want, f"{table} of {path} where {pushed}")


COLUMNS = {"events": ["probe_id", "ts", "site", "length(kind)", "peer"], "waits": ["probe_id", "from_ts", "to_ts", "site", "woken_ts"],
           "slices": ["probe_id", "from_ts", "to_ts", "site"], "coroutines": ["probe_id", "birth_ts", "end_ts", "length(name)"],
           "sites": ["site", "line"]}
KEYS = {"events": "ts", "waits": "from_ts", "slices": "from_ts", "coroutines": "probe_id", "sites": "site"}


@test
def the_tables_of_this_trace_are_right_too(dir):
    t = Trace(traces(dir)[0])
    some = {1, 5, 6, 9, 33, 900} if FULL else {5, 6, 9, 900}
    part = f"probe_id IN ({', '.join(map(str, some))})"
    t.events = [e for e in t.events if e["probe_id"] in some]
    want, waits, slices = events(t), intervals(t, "suspend"), intervals(t, "resume")
    for path in traces(dir)[:2]:
        same_rows(rows(path, f"SELECT * FROM events WHERE {part}"), want, "events")
        same_rows(rows(path, f"SELECT * FROM waits WHERE {part}"), waits, "waits")
        got = rows(path, f"SELECT probe_id, from_ts, to_ts, ended_by FROM slices WHERE {part}")
        same_rows(got, [(s[0], s[1], s[2], s[9]) for s in slices], "slices")


def blocks(trace, sql):
    stats = query(trace, sql)["stats"]
    return stats["blocks_read"], stats["blocks"], stats["scans"]


@test
def a_compact_trace_is_read_only_where_the_rows_may_be(dir):
    ct = traces(dir)[1]
    first, last = spread(ct)
    facts = blocks(ct, "SELECT 1")[0]  # the facts, which every scan reads
    whole, all, _ = blocks(ct, "SELECT count(*) FROM events")
    nr = all - facts
    equal(whole, 2 * facts + nr, "blocks of a full scan")
    assert nr >= 3, f"{nr} blocks of events are too few for this test"
    middle = (first + last) // 2
    for sql, most in ((f"SELECT count(*) FROM events WHERE ts BETWEEN {middle} AND {middle + 1000}", 1),
                      ("SELECT count(*) FROM events WHERE probe_id = 1", 1),
                      ("SELECT count(*) FROM events WHERE probe_id = 12345", 0),
                      (f"SELECT count(*) FROM events WHERE ts > {last}", 0),
                      ("SELECT count(*) FROM events WHERE kind = 'close'", 0),
                      ("SELECT count(*) FROM waits WHERE probe_id = 1", 1),
                      (f"SELECT count(*) FROM waits WHERE from_ts BETWEEN {middle} AND {middle + 1000}", 2),
                      ("SELECT count(*) FROM events WHERE site = 10", nr - 1),
                      ("SELECT * FROM events LIMIT 5", 1),
                      ("SELECT count(*) FROM sites", 0),
                      ("SELECT name FROM coroutines WHERE probe_id = 2", 1)):
        read, _, scans = blocks(ct, sql)
        events = read - scans * facts
        assert events <= most, f"{events} blocks of events were read, {most} at most are needed: {sql}"


@test
def a_wait_that_ends_far_behind_the_range_is_looked_up(dir):
    ct = traces(dir)[1]
    first, last = spread(ct)
    got = query(ct, f"SELECT probe_id, to_ts FROM waits WHERE from_ts BETWEEN {first} AND {first + 10}")
    equal(got["rows"], [{"probe_id": 900, "to_ts": last}], "the wait from the start to the end")
    assert got["stats"]["scans"] == 3, got["stats"]


@test
def the_limit_ends_a_scan(dir):
    for path in traces(dir):
        got = query(path, "SELECT probe_id FROM events LIMIT 3")
        equal(len(got["rows"]), 3, "rows")
        if path.endswith(".jsonl"):
            equal(got["completeness"], None, "nothing is known of the rest")
        if path.endswith(".ct"):
            equal(got["completeness"]["verdict"], "complete", "the facts tell")


@test
def random_events_of_all_kinds_are_found_by_each_condition(dir):
    subprocess.run([TRACE_TOOL, "make", dir + "/t.ctf", "20000"], check=True)
    ct, jsonl = export("ct", dir + "/t.ctf", dir + "/t.ct"), export("jsonl", dir + "/t.ctf", dir + "/t.jsonl")
    first, last = spread(ct)
    ids = rows(ct, "SELECT probe_id, typeof(probe_id) FROM events GROUP BY probe_id ORDER BY count(*) DESC LIMIT 3")
    same_rows(rows(ct, "SELECT kind, count(*) FROM events GROUP BY kind"), rows(jsonl, "SELECT kind, count(*) FROM events GROUP BY kind"), "kinds")
    for condition in [f"ts > {(first + last) // 2}", "kind = 'acquire'", "site = 1000", *(f"probe_id = {i}" for i, type in ids if type == "integer")]:
        want = rows(ct, f"SELECT count(*), sum(ts % 1000), min(ts), max(ts) FROM events WHERE +{condition}")
        for path in (ct, dir + "/t.ctf", jsonl):
            equal(rows(path, f"SELECT count(*), sum(ts % 1000), min(ts), max(ts) FROM events WHERE {condition}"), want, f"{path}: {condition}")


# GROUP BY of columns comes from the reader group by group; a plus hides it, and SQLite sorts the rows.
GROUPS = [("events", "kind", "count(*)"), ("events", "kind", "count(*), min(ts), max(ts), count(DISTINCT tid)"),
          ("events", "is_active", "count(*), sum(probe_id % 7)"), ("events", "tid, kind", "count(*), sum(ts % 1000)"),
          ("events", "probe_id", "count(*), min(ts), sum(coalesce(site, 5))"), ("events", "site, probe_id", "count(*), count(addr)"),
          ("events", "reason", "count(*), sum(resource)"), ("events", "name", "count(*)"), ("events", "flags", "count(*)"),
          ("waits", "site", "count(*), sum(duration_ns), percentile(duration_ns, 99), count(to_ts)"),
          ("waits", "ended_by, reason", "count(*), count(DISTINCT probe_id)"), ("waits", "waker", "count(*), min(woken_ts)"),
          ("slices", "tid", "count(*), sum(duration_ns), max(from_ts)"), ("slices", "addr", "count(*)")]


@test
def groups_are_the_same_as_those_that_sqlite_sorts(dir):
    paths = traces(dir)
    first, last = spread(paths[1])
    middle = (first + last) // 2
    for i, (table, keys, values) in enumerate(GROUPS[::3 if FEW else 1]):
        time = KEYS[table]
        wheres = ("", f"WHERE {time} > {middle}", "WHERE probe_id IN (1, 7, 900)")
        for where in wheres if FULL else wheres[i % 3:i % 3 + 1]:
            hidden = ", ".join("+" + key.strip() for key in keys.split(","))
            want = rows(paths[1], f"SELECT {keys}, {values} FROM {table} {where} GROUP BY {hidden}")
            plain = f"SELECT {keys}, {values} FROM {table} {where} GROUP BY {keys}"
            for path in paths if FULL or i % 4 == 0 else paths[1:2]:
                same_rows(rows(path, plain), want, f"{plain} of {path}")
            # With little memory groups give their rows up, and are read again.
            small = dict(os.environ, COROTRACER_QUERY_MEMORY="20000")
            if i % 3 == 0 and len(want) < 50:
                same_rows(rows(paths[1], plain, env=small), want, f"{plain} with little memory")
    equal(rows(paths[1], "SELECT kind, count(*) FROM events GROUP BY kind HAVING count(*) > 100 ORDER BY count(*) DESC LIMIT 2"),
          rows(paths[1], "SELECT kind, count(*) FROM events GROUP BY +kind HAVING count(*) > 100 ORDER BY count(*) DESC LIMIT 2"), "HAVING, ORDER BY, LIMIT")
    equal(rows(paths[1], "SELECT upper(kind) AS k, count(*) FROM events GROUP BY kind COLLATE NOCASE"),
          rows(paths[1], "SELECT upper(kind) AS k, count(*) FROM events GROUP BY +kind COLLATE NOCASE"), "another collation")
    equal(rows(paths[1], "SELECT DISTINCT kind FROM events ORDER BY 1"), rows(paths[1], "SELECT DISTINCT +kind FROM events ORDER BY 1"), "DISTINCT")
    joined = "SELECT s.line, e.kind, count(*) FROM sites s JOIN events e ON e.site = s.site WHERE s.site < 4 GROUP BY s.line, e.kind"
    same_rows(rows(paths[1], joined), rows(paths[1], joined.replace("BY s.line, e.kind", "BY +s.line, +e.kind")), "a join")


@test
def gaps_are_rows_in_every_format(dir):
    subprocess.run([TRACE_TOOL, "make", dir + "/t.ctf", "3000"], check=True)
    jsonl = export("jsonl", dir + "/t.ctf", dir + "/t.jsonl")
    first, last = spread(jsonl)
    gaps = [(first + i * (last - first) // 7, first + i * (last - first) // 6, 1, 77, 1000 + i, 3 * i, i) for i in range(1, 5)]
    with open(jsonl + ".meta", "a", encoding="utf-8") as f:
        for gap in gaps:
            names = ("from_ts", "to_ts", "lane", "pid", "tid", "transitions", "others")
            f.write(json.dumps({"type": "gap", **dict(zip(names, gap))}) + "\n")
    for path in (jsonl, export("ct", jsonl, dir + "/u.ct"), export("ctf", jsonl, dir + "/u.ctf")):
        # An export numbers the lanes again.
        equal(rows(path, "SELECT from_ts, to_ts, pid, tid, transitions, others FROM gaps ORDER BY from_ts"),
              [g[:2] + g[3:] for g in gaps], f"gaps of {path}")


main()
