# SPDX-License-Identifier: MIT
"""fleet_ask.py - how long the questions of `corotracer fleet` take in the current ClickHouse engine (chdb).

usage: fleet_ask.py WAITS RUNS JSON

The waits are made by the engine: 40 hosts, 2 builds, 24 sites, one hour; three hosts have 101 open waits each.  The SQL is
what the tool prints.  Wanted: at most 0.1 s from the sums of 10 s; from single waits no slower than the first experiment with
8 M waits (its figures are in the last column).  CPU is the processor time of all threads: on a busy machine it says more.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import ask_data
from chdb import session

TOOL = os.environ["COROTRACER"]
SQL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../src/fleet/sql")
WAITS, RUNS, JSON = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1"
SITES, HOSTS = 24, 40
BEGIN = int(time.time()) // 600 * 600 - 3600

QUESTIONS = {  # name: arguments, seconds that are wanted
    "slowest": (["slowest"], 0.1),
    "latency": (["latency"], 0.1),
    "compare": (["compare", "v1.0", "v1.1"], 0.1),
    "slowest --raw": (["slowest", "--raw"], 1.65),
    "lost": (["lost"], 0.012),
    "latency --raw": (["latency", "--raw"], 3.4),
    "graph": (["graph"], 3.8),
    "compare --raw": (["compare", "v1.0", "v1.1", "--raw"], 4.5),
}

FILL = f"""
INSERT INTO waits (service, build, version, host, region, run, block, ts, site, wake_site, probe_id, waker, reason, resource,
    wait_ns, ready_ns, state, sample)
SELECT 'api', if(late, repeat('b2', 20), repeat('a1', 20)), if(late, 'v1.1', 'v1.0'), concat('host', toString(number % {HOSTS})), 'eu',
    concat('run', toString(number % {HOSTS}), '-', toString(late)), intDiv(number, 65536), {BEGIN} * 1000000000 + toInt64(part * 3600000000000),
    1000 + bitAnd(cityHash64(number), 0xffff) % {SITES} AS at, 1000 + bitAnd(cityHash64(number + 1), 0xffff) % {SITES},
    1 + number % 100000, 1 + cityHash64(number) % 100000, 'channel-recv', at,
    toUInt64(exp(9 + at % 7 + randNormal(0, 1)) * if(late AND at = 1003, 3, 1)) AS wait, toUInt64(1 + wait * randUniform(0.01, 0.2)), 'resumed', 1
FROM (SELECT number, number / {WAITS} AS part, part >= 0.5 AS late FROM numbers({WAITS}))
"""


def inserts():
    runs = [dict(run=f"run{h}-{b}", service="api", build=("a1", "b2")[b] * 20, version=("v1.0", "v1.1")[b], host=f"host{h}", region="eu", sample=1,
                 start_ts=(BEGIN + 1800 * b) * 10**9, last_ts=(BEGIN + 1800 * (b + 1)) * 10**9, complete=1, updated=1)
            for h in range(HOSTS) for b in range(2)]
    opened = [dict(service="api", build="b2" * 20, version="v1.1", host=f"host{h}", region="eu", run=f"run{h}-1", block=1,
                   ts=(BEGIN + 1800 + n) * 10**9, site=1005, wake_site=0, probe_id=200000 + n, waker=0, reason="channel-recv", resource=0,
                   wait_ns=0, ready_ns=0, state="open", sample=1) for h in (3, 17, 31) for n in range(101)]
    sites = [dict(site=1000 + n, file=f"service/file{n}.c", line=n + 10, function=f"function_{n}") for n in range(SITES)]
    return [ask_data.insert("runs", runs), ask_data.insert("waits", opened), ask_data.insert("sites", sites), FILL, ask_data.ROLLUP,
            "OPTIMIZE TABLE waits_10s FINAL"]


def schema():
    import re
    text = ""
    for step in (1, 2):
        with open(f"{SQL}/schema-{step}.current.sql", encoding="utf-8") as f:
            text += re.sub(r"--[^\n]*", "", f.read())
    return [s for s in text.split(";") if s.strip()]


def sql_of(args):
    return subprocess.run([TOOL, "fleet", *args, "--service", "api", "--since", "2h", "--print-sql"], check=True, capture_output=True, text=True).stdout


def main():
    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as dir:
        engine = session.Session(dir)
        engine.query("CREATE DATABASE corotracer")
        engine.query("USE corotracer")
        for statement in schema() + inserts():
            engine.query(statement)
        stored = int(str(engine.query("SELECT count() FROM waits", "TSV")))
        sums = int(str(engine.query("SELECT count() FROM waits_10s", "TSV")))
        sizes = dict(line.split("\t") for line in str(engine.query(
            "SELECT table, sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'corotracer' GROUP BY table", "TSV")).splitlines())
        times, processor, questions = {}, {}, {name: sql_of(args) for name, (args, _) in QUESTIONS.items()}
        for _ in range(RUNS):  # in turns
            for name, sql in questions.items():
                begin, used = time.monotonic(), time.process_time()
                answer = engine.query(sql, "JSON")
                times.setdefault(name, []).append(time.monotonic() - begin)
                processor.setdefault(name, []).append(time.process_time() - used)
                assert json.loads(str(answer))["rows"], name
        if JSON:
            print(json.dumps({"waits": stored, "sums": sums, "bytes": sizes, "load": os.getloadavg()[0],
                              "seconds": {n: {"best": min(t), "median": statistics.median(t), "processor": min(processor[n])} for n, t in times.items()}}))
            return
        print(f"{stored:,} waits in {int(sizes['waits']) / 1e6:.0f} MB, {sums:,} rows of 10 s in {int(sizes['waits_10s']) / 1e6:.2f} MB, "
              f"load average {os.getloadavg()[0]:.1f}")
        print(f"{'question':16} {'best':>8} {'median':>8} {'CPU':>8} {'wanted':>8}")
        for name, (_, wanted) in QUESTIONS.items():
            print(f"{name:16} {min(times[name]):7.3f}s {statistics.median(times[name]):7.3f}s {min(processor[name]):7.3f}s {wanted:7.3f}s")


if __name__ == "__main__":
    main()
