# SPDX-License-Identifier: MIT
"""test_dataframes.py - pandas and DuckDB load an export, and find every event in it.

They come from PyPI into a folder of the build, once; skipped if they cannot be installed.
"""
import traces
from harness import *
from venvs import python_with

PROGRAM = r'''
import json, sys
import duckdb, pandas
csv, sqlite, full = sys.argv[1:]
types = {"probe_id": "uint64", "tid": "uint64", "addr": "string", "seq": "uint64", "is_active": "bool", "ts": "uint64"}
frame = pandas.read_csv(csv, dtype=types)
rows = lambda d: [[str(v) for v in (r.probe_id, r.tid, r.addr, r.seq, int(r.is_active), r.ts)] for r in d.itertuples()]
guessed = pandas.read_csv(csv)
import sqlite3
from_sqlite = pandas.read_sql("SELECT CAST(probe_id AS TEXT) probe_id, tid, addr, CAST(seq AS TEXT) seq, is_active, CAST(ts AS TEXT) ts "
                              "FROM coro_trace_events ORDER BY id", sqlite3.connect(sqlite))
duck = duckdb.sql(f"SELECT probe_id, tid, addr, seq, is_active, ts FROM read_csv('{csv}', "
                  "columns={'probe_id':'UBIGINT','tid':'UBIGINT','addr':'VARCHAR','seq':'UBIGINT','is_active':'BOOLEAN','ts':'UBIGINT'}, header=true)")
names = pandas.read_csv(full, keep_default_na=False)
print(json.dumps({
    "pandas": rows(frame), "sqlite": rows(from_sqlite), "duckdb": [[str(int(v)) if isinstance(v, bool) else str(v) for v in r] for r in duck.fetchall()],
    "guessed": [str(t) for t in guessed.dtypes], "auto": duckdb.sql(f"SELECT count(*) FROM '{csv}'").fetchall()[0][0],
    "names": dict(zip(map(str, names["probe_id"]), names["name"])),
    "duck_names": dict((str(i), n) for i, n in duckdb.sql(f"SELECT probe_id, name FROM read_csv('{full}', header=true, delim=',', quote='\"', escape='\"')").fetchall()),
}))
'''


def python():
    """A Python with what reads tables."""
    return python_with(os.environ.get("EXPORT_VENV", "build/tests/export/venv"), "pandas", "duckdb", "pyarrow", "pytz")


@test
def pandas_and_duckdb_find_every_event(dir):
    interpreter = python()
    trace = traces.limits(dir)
    for kind in ("csv", "sqlite"):
        equal(tool("export", kind, "-i", trace)[0], 0, f"status of {kind}")
    named = traces.named(dir)
    equal(tool("export", "csv", "-i", named, "--full")[0], 0, "status of --full")
    p = subprocess.run([interpreter, "-c", PROGRAM, dir + "/limits.csv", dir + "/limits.sqlite", dir + "/named.coroutines.csv"],
                       capture_output=True, text=True, check=False)
    equal(p.returncode, 0, p.stderr)
    got = json.loads(p.stdout)
    want = [list(row) for row in traces.expected(trace)]
    for reader in ("pandas", "duckdb", "sqlite"):
        equal(got[reader], want, f"rows by {reader}")
    # Without explicit types pandas infers numbers, not text.
    equal([got["guessed"][i] for i in (0, 1, 3, 4, 5)], ["uint64", "int64", "uint64", "bool", "uint64"], "types that pandas guessed")
    equal(got["auto"], len(want), "rows by duckdb alone")
    names = {str(i): wanted or "" for i, (_, wanted) in traces.NAMES.items()}
    equal(got["names"], names, "names by pandas")
    equal({i: n or "" for i, n in got["duck_names"].items()}, names, "names by duckdb")


if __name__ == "__main__":
    main()
