# SPDX-License-Identifier: MIT
"""export.py - the measurements of export.sh; see there."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from harness import Skip
from servers import PASSWORD, MariaDB, Postgres

TOOL, TARGET = os.environ["COROTRACER"], os.environ["TARGET"]
EVENTS, RUNS, JSON = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1"
COLUMNS = "probe_id,tid,addr,seq,is_active,ts"
ROWS = []


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(*args, **kwargs):
    p = subprocess.run([str(a) for a in args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                       **kwargs)
    if p.returncode:
        raise SystemExit(f"{args} failed:\n{p.stderr}")


def seconds(function, *args, **kwargs):
    start = time.perf_counter()
    function(*args, **kwargs)
    return time.perf_counter() - start


def compare(what, ours, theirs, name, wanted, rate=None, before=lambda: None, times=None):
    """Both sides take turns; the best run of each counts."""
    say(what)
    best = [1e9, 1e9]
    for _ in range(times or RUNS):
        for side, function in enumerate((theirs, ours)):
            before()
            best[side] = min(best[side], seconds(function))
    theirs_s, ours_s = best
    if rate:
        ROWS.append((what, rate / ours_s / 1e6, "MB/s", rate / theirs_s / 1e6, name, theirs_s / ours_s, wanted))
    else:
        ROWS.append((what, ours_s, "s", theirs_s, name, ours_s / theirs_s, wanted))


def export(kind, trace, *options, **kwargs):
    run(TOOL, "export", kind, "-q", "-i", trace, *options, **kwargs)


def make_trace(path, per_coroutine):
    run(TOOL, "run", "-q", "-o", path, "--", TARGET, "events", 1000, per_coroutine, 0)


def schema(kind, table):
    p = subprocess.run([TOOL, "export", "schema", kind, "--db-table", table], capture_output=True, text=True, check=True)
    return p.stdout


def indexes(kind, table):
    return "".join(line + ";\n" for line in schema(kind, table).split(";\n") if line.startswith("CREATE INDEX"))


# ---- csv, sqlite -------------------------------------------------------------


def bench_csv(dir, trace):
    size = os.path.getsize(trace)
    compare("JSON lines to csv", lambda: export("csv", trace, "-o", dir + "/out.csv"), lambda: run("wc", "-l", trace),
            "wc -l", ">= 0.15", rate=size, times=4 * RUNS)
    compare("JSON lines to csv, into a pipe", lambda: export("csv", trace, "-o", "-"), lambda: run("wc", "-l", trace),
            "wc -l", "", rate=size, times=4 * RUNS)


def bench_viewers(dir, trace):
    size = os.path.getsize(trace)
    for kind in ("perfetto", "ctf"):
        compare(f"JSON lines to {kind}", lambda kind=kind: export(kind, trace, "-o", f"{dir}/out.{kind}"),
                lambda: run("wc", "-l", trace), "wc -l", "", rate=size)


def bench_sqlite(dir, trace, csv):
    if not shutil.which("sqlite3"):
        return say("left out: no sqlite3 here")
    other = dir + "/theirs.sqlite"
    # An import cannot leave out the id column: its table has one column less.
    script = (f"CREATE TABLE t (probe_id TEXT NOT NULL, tid INTEGER NOT NULL, addr TEXT NOT NULL, seq INTEGER NOT NULL,"
              f" is_active INTEGER NOT NULL, ts INTEGER NOT NULL);\n.mode csv\n.import --skip 1 {csv} t\n"
              + indexes("sqlite", "t"))

    def clean():
        for path in (other, dir + "/ours.sqlite"):
            if os.path.exists(path):
                os.unlink(path)

    compare("JSON lines to sqlite", lambda: export("sqlite", trace, "-o", dir + "/ours.sqlite"),
            lambda: run("sqlite3", other, input=script), "sqlite3 .import + indexes", "<= 1.1", before=clean)
    clean()


# ---- parquet -----------------------------------------------------------------

# DuckDB reads the same rows from CSV into memory, and then writes them: only that is timed.
DUCKDB_PROGRAM = """
import sys, time
import duckdb
csv, out, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
duckdb.sql("SET threads=1")
duckdb.sql(f"CREATE TABLE t AS SELECT * FROM read_csv('{csv}', header=true)")
best = 1e9
for _ in range(runs):
    start = time.process_time()
    duckdb.sql(f"COPY t TO '{out}' (FORMAT parquet, COMPRESSION zstd)")
    best = min(best, time.process_time() - start)
print(best)
"""


def redis_trace(dir):
    """A trace of mini-redis under redis-benchmark; None without these programs."""
    server, port, trace = os.environ["MINI_REDIS"], dir + "/port", dir + "/redis.ct"
    if not os.path.exists(server) or not shutil.which("redis-benchmark"):
        return None
    with subprocess.Popen([TOOL, "run", "-q", "-o", trace, "--", server, "--port", "0", "--port-file", port],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        while not os.path.exists(port) and p.poll() is None:
            time.sleep(0.1)
        with open(port, encoding="ascii") as f:
            run("redis-benchmark", "-p", f.read().strip(), "-c", 50, "-n", max(EVENTS // 6, 1000), "-t", "set,get", "-q")
        p.terminate()
    return trace


def duckdb_seconds(dir, trace):
    """Processor time in which DuckDB writes the same events; None if it cannot be installed."""
    python, csv = dir + "/venv/bin/python", dir + "/events.csv"
    with open(csv, "w", encoding="ascii") as f:
        subprocess.run([TOOL, "query", trace, "--csv", "SELECT ts, kind, probe_id, tid, addr, seq, station, site, reason, resource, peer, flags FROM events"],
                       stdout=f, stderr=subprocess.DEVNULL, check=True)
    for command in ([sys.executable, "-m", "venv", dir + "/venv"], [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "duckdb"]):
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
    p = subprocess.run([python, "-c", DUCKDB_PROGRAM, csv, dir + "/theirs.parquet", str(RUNS)], capture_output=True, text=True, check=False)
    return float(p.stdout) if p.returncode == 0 else None


def cpu_seconds(function, *args):
    before = os.times()
    function(*args)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def bench_parquet(dir):
    trace = redis_trace(dir)
    if not trace:
        return say("left out: no mini-redis, or no redis-benchmark here")
    say("compact trace to parquet")
    out, ours = dir + "/parquet", 1e9
    for _ in range(RUNS):
        ours = min(ours, cpu_seconds(export, "parquet", trace, "-o", out))
    info = json.loads(subprocess.run([TOOL, "info", "--json", trace], capture_output=True, text=True, check=True).stdout)
    transitions, rows = info["events"], info["events"] + sum(info["others"].values())
    size = os.path.getsize(out + "/events.parquet")
    ROWS.append(("events.parquet, bytes per transition", size / transitions, "B", 6, "the goal", size / transitions / 6, "<= 1"))
    ROWS.append(("events.parquet, bytes per event", size / rows, "B", 6, "the goal", size / rows / 6, "<= 1"))
    theirs = duckdb_seconds(dir, trace)
    if not theirs:
        return say("left out: DuckDB cannot be installed here")
    ROWS.append(("compact trace to parquet, all files", rows / ours / 1e3, "k/s", rows / theirs / 1e3, "DuckDB: COPY, events only", theirs / ours, ">= 1"))
    theirs_size = os.path.getsize(dir + "/theirs.parquet")
    ROWS.append(("events.parquet, size", size / rows, "B", theirs_size / rows, "DuckDB", size / theirs_size, ""))
    return None


# ---- servers -----------------------------------------------------------------


def bench_postgresql(trace, csv):
    server = Postgres("shared_buffers=256MB", "max_wal_size=4GB")
    server.query("CREATE DATABASE coro_tracer")
    create = schema("postgresql", "theirs").split(";\n")[0]
    script = (f"BEGIN;\n{create};\n\\copy theirs ({COLUMNS}) from '{csv}' csv header\n" + indexes("postgresql", "theirs")
              + "COMMIT;\n")

    def clean():
        server.query("DROP TABLE IF EXISTS theirs, coro_trace_events; CHECKPOINT", "coro_tracer")

    def theirs():
        run(server.psql, "-Xq", "-v", "ON_ERROR_STOP=1", input=script, env=server.environment(PGDATABASE="coro_tracer"))

    compare("JSON lines to postgresql", lambda: export("postgresql", trace, *server.options()), theirs,
            "psql \\copy + indexes", "<= 1.1", before=clean)
    server.remove()


def mysql_script(csv):
    create = schema("mysql", "theirs")
    plain = "\n".join(line for line in create.splitlines() if "KEY `" not in line).replace("NOT NULL,\n)", "NOT NULL\n)")
    keys = ", ".join(f"ADD INDEX ({c})" for c in ("probe_id, seq", "tid, ts", "ts"))
    return (f"{plain}\nLOAD DATA LOCAL INFILE '{csv}' INTO TABLE theirs FIELDS TERMINATED BY ',' IGNORE 1 LINES "
            f"(probe_id,tid,addr,seq,@active,ts) SET is_active = (@active = 'true');\nALTER TABLE theirs {keys};\n")


def bench_mysql(trace, csv):
    server = MariaDB("--innodb-buffer-pool-size=512M", "--innodb-log-file-size=512M", "--local-infile=1")
    server.query("CREATE DATABASE coro_tracer")
    script = mysql_script(csv)

    def clean():
        server.query("DROP TABLE IF EXISTS theirs, coro_trace_events", "coro_tracer")

    def theirs():
        run(server.client, "--no-defaults", "--local-infile=1", "--host=127.0.0.1", f"--port={server.port}", "--user=tester",
            "coro_tracer", input=script, env=dict(os.environ, MYSQL_PWD=PASSWORD))

    def ours():
        export("mysql", trace, *server.options())

    compare("JSON lines to mysql, LOAD DATA", ours, theirs, "client's LOAD DATA LOCAL + indexes", "<= 1.1", before=clean)
    server.query("SET GLOBAL local_infile = 0")
    inserted = []
    for _ in range(RUNS):
        clean()
        inserted.append(seconds(ours))
    ROWS.append(("JSON lines to mysql, INSERT", min(inserted), "s", ROWS[-1][1], "LOAD DATA", min(inserted) / ROWS[-1][1], ""))
    server.remove()


# ---- memory ------------------------------------------------------------------


def peak(kind, trace, output):
    """Peak memory in kilobytes, as the kernel reports it."""
    code = ("import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], check=True)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    p = subprocess.run([sys.executable, "-c", code, TOOL, "export", kind, "-q", "-i", trace, "-o", output],
                       capture_output=True, text=True, check=True)
    return int(p.stdout)


def bench_memory(dir, small, large):
    for kind in ("csv", "sqlite"):
        say(f"memory of {kind}")
        once, ten = peak(kind, small, f"{dir}/m.{kind}"), peak(kind, large, f"{dir}/m.{kind}")
        ROWS.append((f"peak memory of {kind}, 10 times the events", ten, "KB", once, "a tenth of them", ten / once, "<= 1.2"))


# ---- all of it ---------------------------------------------------------------


def print_rows():
    if JSON:
        print(json.dumps([dict(zip(("what", "measured", "unit", "yardstick", "name", "ratio", "wanted"), r)) for r in ROWS]))
        return
    print(f"{'what':46} {'measured':>11} {'yardstick':>11} {'ratio':>6}  {'wanted':8} against")
    for what, ours, unit, theirs, name, ratio, wanted in ROWS:
        form = ".2f" if unit in ("s", "B") else ".0f"
        print(f"{what:46} {ours:>{8}{form}} {unit:4}{theirs:>{7}{form}} {unit:4}{ratio:>6.2f}  {wanted:8} {name}")


def main():
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=base) as dir:
        os.chmod(dir, 0o755)
        small, trace, csv = dir + "/small.jsonl", dir + "/trace.jsonl", dir + "/equal.csv"
        make_trace(trace, EVENTS // 1000)
        make_trace(small, EVENTS // 10000)
        export("csv", trace, "-o", csv)
        bench_csv(dir, trace)
        bench_viewers(dir, trace)
        bench_sqlite(dir, trace, csv)
        bench_parquet(dir)
        bench_memory(dir, small, trace)
        for bench in (bench_postgresql, bench_mysql):
            try:
                bench(trace, csv)
            except Skip as why:
                say(f"left out: {why}")
    with open("/proc/loadavg", encoding="ascii") as f:
        say(f"{EVENTS:,} events; load of the machine: {f.read().strip()}")
    print_rows()


main()
