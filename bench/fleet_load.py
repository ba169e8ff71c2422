# SPDX-License-Identifier: MIT
"""fleet_load.py - waits per second from traces into a real ClickHouse server, and bytes per transition in the store.

usage: fleet_load.py TOOL TRACE [COPIES]

Prints one JSON object.  Processor time of loader and server are measured apart: `waits_per_second_loader_core` is what one core
that only runs the loader would do, `..._both` what one core that runs both would.
"""
import json
import os
import resource
import subprocess
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", d) for d in ("fleet", "cli")]
from fleet_servers import ClickHouse  # noqa: E402


def cpu_of_children():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def load(tool, server, trace, database, *options):
    before, began, cpu = server.cpu_seconds(), time.monotonic(), cpu_of_children()
    p = subprocess.run([tool, "load", "--no-findings", "--into", server.url(database), "--json", *options, trace], capture_output=True, text=True, check=False)
    if p.returncode:
        sys.exit(f"fleet_load.py: {p.stderr}")
    return json.loads(p.stdout), time.monotonic() - began, cpu_of_children() - cpu, server.cpu_seconds() - before


def bytes_of(server, database, table):
    return server.value(f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = '{database}' AND table = '{table}'")


def main():
    tool, trace = sys.argv[1:3]
    copies = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    server = ClickHouse()
    load(tool, server, trace, "warm")
    waits = wall = loader = engine = 0
    for number in range(copies):
        summary, w, l, e = load(tool, server, trace, f"copy{number}")
        waits, wall, loader, engine = waits + summary["waits"], wall + w, loader + l, engine + e
    summary = load(tool, server, trace, "events", "--events")[0]
    for database in ("copy0", "events"):
        for table in ("waits", "events", "waits_10s"):
            server.query(f"OPTIMIZE TABLE {database}.{table} FINAL")
    transitions = summary["transitions"]
    print(json.dumps({
        "waits": waits, "seconds": wall, "loader_cpu_seconds": loader, "server_cpu_seconds": engine,
        "waits_per_second": waits / wall, "waits_per_second_loader_core": waits / loader,
        "waits_per_second_server_core": waits / max(engine, 0.01), "waits_per_second_both": waits / (loader + engine),
        "server": server.query("SELECT version()").strip(),
        "bytes_per_wait": bytes_of(server, "copy0", "waits") / (waits / copies),
        "bytes_of_sums_per_wait": bytes_of(server, "copy0", "waits_10s") / (waits / copies),
        "bytes_per_transition_events": bytes_of(server, "events", "events") / transitions,
    }, indent=1))


main()
