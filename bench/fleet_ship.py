# SPDX-License-Identifier: MIT
"""fleet_ship.py - what shipping costs: the traced program, the collector, and how fast a spool is written and sent.

usage: fleet_ship.py BUILD [RUNS [EVENTS]]

Prints one JSON object.  Runs with a file (the yardstick) and with --ship are taken in turns; ratios are of medians.

  program        time of a program that writes events as fast as it can, with --ship / with a file
  cpu            processor time of collector and shipper / of the collector that writes a file
  spool_write    MB/s of the blocks of a trace, appended to a file as the collector does, and synced at the end
  send_file      MB/s of blocks, `corotracer ship file:DIR`
  send_nats      MB/s of blocks, acknowledged by a NATS server; null without nats-server
"""
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", d) for d in ("fleet", "cli")]
from ship_receiver import blocks_of  # noqa: E402

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 7
EVENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 4000000
TOOL, PROGRAM = BUILD + "/corotracer", BUILD + "/tests/lanes_target"


def children_cpu():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def one_run(dir, *options):
    """(seconds of the program, processor time of collector and shipper)."""
    # The shell says how much processor time the program took.
    program = ["bash", "-c", f"TIMEFORMAT='cpu %U %S'; time '{PROGRAM}' turns 1000 {EVENTS}"]
    before = children_cpu()
    p = subprocess.run([TOOL, "run", "--json", *options, "--", *program], capture_output=True, text=True, check=False)
    cpu = children_cpu() - before
    user, system = re.search(r"^cpu ([\d.]+) ([\d.]+)$", p.stderr, re.M).groups()
    s = json.loads([line for line in p.stderr.splitlines() if line.startswith("{")][0])
    if s["lost"] or ("ship" in s and not s["ship"]["finished"]):
        sys.exit(f"fleet_ship.py: events were lost: {p.stderr}")
    shutil.rmtree(dir + "/out", ignore_errors=True)
    return s["duration_ns"] / 1e9, cpu - float(user) - float(system)


def alternate(dir, kinds):
    results = {name: [] for name in kinds}
    names = list(kinds)
    for i in range(RUNS):
        for k in range(len(names)):
            name = names[(i + k) % len(names)] # each one is first in turn
            results[name].append(one_run(dir, *kinds[name]))
    return {name: [statistics.median(r[i] for r in list_) for i in (0, 1)] for name, list_ in results.items()}


def make_trace(path):
    subprocess.run([TOOL, "run", "-q", "-o", path, "--", PROGRAM, "wander", "4", "2000", str(EVENTS * 5)], check=True, stderr=subprocess.DEVNULL)
    return os.path.getsize(path)


def rate(size, seconds):
    return round(size / 1e6 / seconds, 1)


def spool_write(dir, trace):
    """Whole blocks, one write each."""
    blocks = list(blocks_of(trace).values())
    size, began = sum(map(len, blocks)), time.monotonic()
    fd = os.open(dir + "/copy", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for b in blocks:
        os.write(fd, b)
    os.fsync(fd)
    seconds = time.monotonic() - began
    os.close(fd)
    return rate(size, seconds)


def send(url, trace, size):
    began = time.monotonic()
    subprocess.run([TOOL, "ship", "--again", "-q", url, trace], check=True)
    return rate(size, time.monotonic() - began)


def main():
    with tempfile.TemporaryDirectory(prefix="bench-ship-") as dir:
        os.environ["XDG_STATE_HOME"] = dir + "/state"
        kinds = {"file": ["-o", dir + "/t.ct"], "ship": ["-o", dir + "/t.ct", "--ship", f"file:{dir}/out"]}
        nats = None
        if shutil.which("nats-server") or os.path.exists("/usr/sbin/nats-server"):
            from fleet_servers import Nats
            nats = Nats()
            kinds["nats"] = ["-o", dir + "/t.ct", "--ship", nats.url()]
        m = alternate(dir, kinds)
        result = {"runs": RUNS, "events": EVENTS, "program_seconds": m["file"][0], "collector_cpu_seconds": m["file"][1]}
        for name in [n for n in kinds if n != "file"]:
            result["program_" + name] = round(m[name][0] / m["file"][0], 3)
            result["cpu_" + name] = round(m[name][1] / m["file"][1], 3)
        size = make_trace(dir + "/big.ct")
        result["trace_megabytes"] = round(size / 1e6, 1)
        result["spool_write"] = max(spool_write(dir, dir + "/big.ct") for _ in range(3))
        result["send_file"] = max(send(f"file:{dir}/out{i}", dir + "/big.ct", size) for i in range(3))
        result["send_nats"] = max(send(nats.url(), dir + "/big.ct", size) for _ in range(3)) if nats else None
        print(json.dumps(result))
        if nats:
            nats.remove()


main()
