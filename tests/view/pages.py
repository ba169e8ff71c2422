# SPDX-License-Identifier: MIT
"""pages.py - traces for the tests of pages, and pages of them.

    CORPUS_BUGGY, CORPUS_CLEAN: the programs of the corpus
"""
import re
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/cli")
from harness import *  # noqa: E402

import oracle  # noqa: E402
from bundle import Bundle  # noqa: E402
from checks import Check, as_in_the_page  # noqa: E402,F401

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIXTURES = os.path.join(ROOT, "tests", "fixtures")
# A coroutine that is never resumed is also a leak; here that is intended.
ENV = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", ""))


def page(dir, trace, *options):
    """The bundle of the page that the tool makes, and the output of the tool."""
    template, out = os.path.join(dir, "template.html"), os.path.join(dir, "page.html")
    with open(template, "w", encoding="utf-8") as f:
        f.write("<!doctype html><title>t</title>\n<!--corotracer-data-->\n<p>end</p>\n")
    status, said, err = tool("html", "--json", "--page", template, "-o", out, *options, trace)
    said = json.loads(said)
    equal(status, int(said["completeness"]["verdict"] == "incomplete"), f"status of html: {err}")
    return Bundle(out), said


def check(dir, trace, parsed=None):
    bundle, said = page(dir, trace)
    status, report, err = tool("report", "--json", trace)
    equal(status, int(said["completeness"]["verdict"] == "incomplete"), f"status of report: {err}")
    if parsed is None:
        parsed = oracle.read_ctf(trace) if os.path.isdir(trace) else oracle.read_jsonl(trace)
    Check(bundle, parsed, json.loads(report)).all()
    equal(said["bytes"], os.path.getsize(os.path.join(dir, "page.html")), "size that was told")
    equal(said["thinned"], bundle.meta["thinned"], "thinned")
    return bundle


def traces(dir, program, forms):
    """A trace per scenario of the corpus.  Most of them sleep most of the time, so several run at once.
    Without COROTRACER_FULL=1 not that of one coroutine that yields 5,000 times: Python takes seconds for it."""
    scenarios = [s for s in corpus(program) if s != "busy-yield" or os.environ.get("COROTRACER_FULL")]
    with ThreadPoolExecutor(4) as pool:
        yield from zip(scenarios, pool.map(lambda i: trace_of(dir, program, scenarios[i], forms[i % 2]), range(len(scenarios))))


def corpus(program):
    done = subprocess.run([os.environ[program]], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=False)
    return [line.strip() for line in done.stderr.splitlines() if line.startswith("  ")]


def trace_of(dir, program, scenario, form):
    trace = os.path.join(dir, f"{scenario.replace('/', '-')}.{form}")
    status, _, err = tool("run", "-q", "--fail-on-loss", "-o", trace, "--", os.environ[program], scenario, env=ENV)
    equal(status, 0, f"status of {scenario}: {err}")
    return trace


def write(dir, name, lines, sidecar=None):
    path = os.path.join(dir, name)
    with open(path, "wb") as f:
        f.write("".join(line + "\n" for line in lines).encode())
    if sidecar is not None:
        with open(path + ".meta", "w", encoding="utf-8") as f:
            f.write("".join(json.dumps(r) + "\n" for r in sidecar))
    return path


def transition(id, ts, active, **more):
    return json.dumps({"probe_id": id, "tid": 1, "addr": "0x0000000000000000", "seq": 2, "is_active": active, "ts": ts, **more},
                      separators=(",", ":"))


RUN_FACT = {"type": "run", "format": 1, "tool": "t", "command": ["./<b>app</b>", "</script>"], "pid": 7, "start_ts": 900,
            "start_realtime": 1700000000000000000, "hostname": "<h>", "arch": "any", "stations": 1}
