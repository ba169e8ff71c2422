# SPDX-License-Identifier: MIT
"""query.py - the measurements of query.sh.

usage: query.py TRACE DIRECTORY RUNS JSON
"""
import json
import math
import os
import resource
import subprocess
import sys
import time

import duckdb

TOOL = os.environ["COROTRACER"]
TRACE, DIR, RUNS, JSON = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "1"


def processor_time(whose):
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime


def ours(sql):
    """(seconds, processor seconds, rows, stats) of one process."""
    before, start = processor_time(resource.RUSAGE_CHILDREN), time.monotonic()
    out = subprocess.run([TOOL, "query", "--json", TRACE, sql], check=True, capture_output=True).stdout
    took, used = time.monotonic() - start, processor_time(resource.RUSAGE_CHILDREN) - before
    got = json.loads(out)
    return took, used, [tuple(r.values()) for r in got["rows"]], got["stats"]


def theirs(db, sql):
    before, start = processor_time(resource.RUSAGE_SELF), time.monotonic()
    rows = db.sql(sql).fetchall()
    return time.monotonic() - start, processor_time(resource.RUSAGE_SELF) - before, rows, None


def make_parquet(db, table):
    """The table as Parquet, by way of our CSV; returns the seconds."""
    start = time.monotonic()
    csv, parquet = f"{DIR}/{table}.csv", f"{DIR}/{table}.parquet"
    with open(csv, "wb") as f:
        subprocess.run([TOOL, "query", "--csv", TRACE, f"SELECT * FROM {table}"], check=True, stdout=f)
    db.sql(f"COPY (SELECT * FROM read_csv('{csv}', sample_size=-1)) TO '{parquet}' (FORMAT parquet)")
    return time.monotonic() - start


def same(a, b):
    """Equal rows; reals within rounding."""
    def equal(x, y):
        return math.isclose(x, y, rel_tol=1e-9) if isinstance(x, (int, float)) and isinstance(y, (int, float)) else x == y
    key = lambda r: [str(v) for v in r]
    a, b = sorted(a, key=key), sorted(b, key=key)
    return len(a) == len(b) and all(len(x) == len(y) and all(map(equal, x, y)) for x, y in zip(a, b))


def main():
    db = duckdb.connect()
    imports = {t: make_parquet(db, t) for t in ("events", "waits", "sites")}
    first, last, nr = ours("SELECT min(ts), max(ts), count(*) FROM events")[2][0]
    second = first + (last - first) // 2
    id = ours("SELECT probe_id FROM events GROUP BY probe_id ORDER BY count(*) DESC LIMIT 1 OFFSET 3")[2][0][0]
    files = {t: f"'{DIR}/{t}.parquet'" for t in imports}
    between = f"BETWEEN {second} AND {second + 10**9}"
    questions = [
        ("events in a window of 1 s", f"SELECT count(*) FROM events WHERE ts {between}"),
        ("kinds in a window of 1 s", f"SELECT kind, count(*) FROM events WHERE ts {between} GROUP BY kind"),
        ("events of one coroutine", f"SELECT count(*), min(ts), max(ts) FROM events WHERE probe_id = {id}"),
        ("p99 of waits in 1 s by site", f"SELECT site, count(*), percentile(duration_ns, 99) FROM waits WHERE from_ts {between} GROUP BY site"),
        ("events by kind, all", "SELECT kind, count(*) FROM events GROUP BY kind"),
        ("p99 of waits by site, all", "SELECT site, count(*), percentile(duration_ns, 99) FROM waits GROUP BY site"),
    ]
    results = []
    for name, sql in questions:
        other = sql.replace("percentile(duration_ns, 99)", "quantile_cont(duration_ns, 0.99)")
        for table, file in files.items():
            other = other.replace(f"FROM {table}", f"FROM {file}")
        best = None
        for _ in range(RUNS):
            a, b = ours(sql), theirs(db, other)
            if not same(a[2], b[2]):
                sys.exit(f"bench/query.sh: different answers to {name!r}: {a[2][:5]} and {b[2][:5]}")
            pair = (a[0], b[0], a[1], b[1])
            best = tuple(map(min, best, pair)) if best else pair
        results.append({"question": name, "ours_s": best[0], "duckdb_s": best[1], "ours_cpu_s": best[2], "duckdb_cpu_s": best[3],
                        "ratio": best[0] / best[1], "blocks_read": a[3].get("blocks_read"), "blocks": a[3].get("blocks")})
    size = sum(os.path.getsize(f"{DIR}/{t}.parquet") for t in imports)
    if JSON:
        print(json.dumps({"events": nr, "import_s": imports, "trace_bytes": os.path.getsize(TRACE), "parquet_bytes": size, "results": results}))
        return
    print(f"{nr:,} events; the trace has {os.path.getsize(TRACE):,} bytes, Parquet {size:,}; making Parquet took {sum(imports.values()):.1f} s\n")
    print(f"{'':30}{'time':>21}{'':>8}{'processor time':>22}\n"
          f"{'question':30}{'query':>10}{'DuckDB':>11}{'ratio':>8}{'query':>11}{'DuckDB':>11}{'ratio':>8}{'block reads':>13}  with Parquet to make")
    for r in results:
        table = "waits" if "waits" in r["question"] else "events"
        first_answer = (imports[table] + r["duckdb_s"]) / r["ours_s"]
        cpu = r["ours_cpu_s"] / r["duckdb_cpu_s"] if r["duckdb_cpu_s"] else 0
        print(f"{r['question']:30}{r['ours_s'] * 1e3:>7.1f} ms{r['duckdb_s'] * 1e3:>8.1f} ms{r['ratio']:>8.2f}"
              f"{r['ours_cpu_s'] * 1e3:>8.0f} ms{r['duckdb_cpu_s'] * 1e3:>8.0f} ms{cpu:>8.2f}{r['blocks_read']:>6} of {r['blocks']:<3}"
              f"  {first_answer:>6.0f} times earlier")


main()
