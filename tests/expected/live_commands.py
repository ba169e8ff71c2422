# SPDX-License-Identifier: MIT
"""live_commands.py - commands on a running program: their words, with N for every number and TIME for every time."""
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass

NUMBER = r"-?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?"
NUMBERS = [(re.compile(pattern), replacement) for pattern, replacement in (
    (r"\b(0x)?[0-9a-f]{8,}\b", "N"), (NUMBER + r" (ns|us|ms|s|min)\b", "TIME"), (NUMBER, "N"), (r"N-?N", "N"), (r" +", " "))]
VARYING = [(re.compile(pattern), replacement) for pattern, replacement in (
    (r"process \d+", "process N"),
    (r"\b(0x)?[0-9a-f]{8,}\b", "N"), (NUMBER + r" (ns|us|ms|s|min)\b", "TIME"), (r' \(reading them took TIME more\)', ""), (r'("(?:\w*_ns|\w*_ts|pid|wakeups|region_bytes|made|waits)":)\d+', r"\1N"), (r" +", " "))]
# Of a region that nobody named: where there is room.
PLACE = re.compile(r'"region":"/[^"]*/corotracer-\w{6}/region","place_holds":[^,]*')
LIMIT = 60  # seconds


@dataclass
class Live:
    """@commands while @program runs; {pid} is its process, {region} that of its collector.  @by_tool: it is a command of the tool."""
    program: list
    commands: list
    is_ready: object  # of the process and the folder
    by_tool: bool = False
    counts: bool = False  # numbers are compared, but not times and processes


def says_ready(p, _folder):
    return p.stdout.readline() == "ready\n"


def has_story(_p, folder):
    """The collector has read all of the story."""
    told = subprocess.run([os.environ["COROTRACER"], "recover", "--json", os.path.join(folder, "region")], capture_output=True, text=True, check=False).stdout
    return '"state":"suspended"' in told and '"unread":true' not in told and '"destroy"' in told


def has_worked(p, _folder):
    """It has made coroutines: it sleeps between their events."""
    with open(f"/proc/{p.pid}/comm", encoding="ascii") as f:
        return f.read().startswith("test_collector") and time.sleep(0.05) is None


def start(live, inputs, folder, tool):
    words = [word.format(folder=folder, **inputs) for word in live.program]
    p = subprocess.Popen([*([tool] if live.by_tool else []), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder)
    until = time.monotonic() + LIMIT
    while not live.is_ready(p, folder):
        assert time.monotonic() < until and p.poll() is None, f"{words} does not start"
        time.sleep(0.005)
    return p


def end(p):
    p.send_signal(signal.SIGTERM)
    try:
        p.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        raise


def masked(live, pid, line):
    """@line without what differs from run to run."""
    line = re.sub(rf"\b{pid}\b", "PID", PLACE.sub('"region":"NAME","place_holds":null', line))
    for pattern, replacement in VARYING if live.counts else NUMBERS:
        line = pattern.sub(replacement, line)
    return line.rstrip()


def of_frames():
    here = ["-p", "{pid}"]
    attach, monitor = ["attach", *here, "-o", "{out}/x.ppt"], ["monitor", *here, "-i", "60", "--count", "20"]
    options = ("--count 20", "--count 20 --json", "--count 5 -q", "--count 5 -v", "--size 4000 --count 9", "--auto-resize --count 9 -d words", "-b Busy --count 3",
               "-b None", "--count 5 -t 2 -v", "--force-attach --count 3", "--resize 64")
    return [*([*attach, *more.split()] for more in options), ["attach", *here, "-l"], ["attach", *here, "-l", "--json"],
            *([*monitor, *more.split()] for more in ("", "--frame tick", "--frame none", "--size 4000 --auto-resize", "-b None")), ["query", *here, "-l"],
            ["run", *here, "-o", "{out}/r.jsonl"]]


def of_run():
    shm = ["--shm", "{region}"]
    return [*(["recover", "{region}", *more.split()] for more in ("", "--json", "--all", "--remove", "-o {out}/r.jsonl", "-o {out}/j.jsonl --join", "-o {out}/a.jsonl --all --json")),
            ["snapshot", *shm], ["snapshot", *shm, "-o", "{out}/s.jsonl"], ["snapshot", *shm, "-o", "{out}/s.jsonl", "--json"], ["snapshot", *shm, "-o", "/nonexistent/s.jsonl"],
            *(["top", "--once", *more.split(), "{region}"] for more in ("", "--json", "-g site", "-g tree", "-g kind --json", "-f parent", "-f none", "-s rate"))]


def of_story():
    story = ["--", "{story}", "child", "story"]
    options = ("", "--json", "-q", "--format ctf", "--format ct --json", "--on-full drop", "--flight-recorder 1M --json", "--check", "--check=all", "--stations 4 --json", "--no-snapshot", "--fail-on-loss",
               "--ship file:{out}/not", "--buffer 1M", "--awaits", "--frames", "--mem", "--wait-all --json")
    return [["run", "-o", f"{{out}}/t{i}", *more.split(), *story] for i, more in enumerate(options)] + \
        [["run", "-o", "{out}/k", more, "--", "{story}", "child", "killed"] for more in ("--json", "--fail-on-loss")] + \
        [["mem", "run", "-o", "{out}/m", *more, "--", "true"] for more in ([], ["--json"], ["-q"])]


def of_frame_runs():
    """A program that saves 20 frames; and runs that ship their trace."""
    busy, story, ct = ["--", "{busy}", "1", "0", "20"], ["--", "{story}", "child", "story"], ["run", "-o", "{out}/s.ct"]
    runs = ("--frames", "--frames --json", "--frames=Busy", "--frames=None", "--frames=Busy,Busy", "--frames -q", "--frames --format ctf")
    ships = ("--ship file:{out}/one", "--ship file:{out}/two --json", "--ship file:{out}/three --service s --host h --region r --version-label v --sample 2 -q", "--ship file:{out}/four --spool {out}/spool",
             "--ship file:{out}/five --ship-wait 1 --spool-size 16M", "--ship none:x", "--metrics none", "--ship file:/nonexistent/x/y")
    return [["run", "-o", f"{{out}}/f{i}", *more.split(), *busy] for i, more in enumerate(runs)] + [[*ct, *more.split(), *story] for more in ships]


def of_asked():
    here = ["-p", "{pid}", "--duration", "0.3"]
    return [["run", "-o", f"{{out}}/r{i}", *here, *more.split()] for i, more in enumerate(("", "--json", "-q", "--flight-recorder 1M", "--format ct", "--no-snapshot", "--fail-on-loss"))] + \
        [["run", "-p", "{pid}", "-o", "/nonexistent/x"], ["run", "-p", "{pid}", "--shm", "/nonexistent/x"]]


def of_looks():
    here = ["-p", "{pid}"]
    return [["why", *here, *more.split()] for more in ("", "--json", "--all", "--locals --json", "--fail-on all", "--save {out}/core", "--html {out}/w.html")] + \
        [["why", "{out}/core"], ["why", "--json", "{out}/core"], ["run", *here], ["query", *here, "-l"], ["mem", "ctl", "{pid}", "stop"], ["attach", *here, "--resize", "64"]]


GROUP = {
    "live-frames": Live(["{busy}", "1", "1000000"], of_frames(), says_ready),
    "live-run": Live(["run", "-q", "--flight-recorder", "1M", "--shm", "{folder}/region", "-o", "t.jsonl", "--", "{story}", "child", "pause", "{folder}/go"], of_run(), has_story, by_tool=True),
    "live-traced": Live(["run", "-q", "--shm", "{folder}/region", "-o", "t.jsonl", "--", "{story}", "child", "pause", "{folder}/go"], of_run(), has_story, by_tool=True),
    "live-looks": Live(["{busy}", "1", "900000000"], of_looks(), says_ready),
    "live-asked": Live(["{story}", "child", "work", "{folder}/go"], of_asked(), has_worked),
    "live-frame-runs": Live(["sleep", "600"], of_frame_runs(), lambda _p, _folder: True, counts=True),
    "live-story": Live(["sleep", "600"], of_story(), lambda _p, _folder: True, counts=True),
}
