# SPDX-License-Identifier: MIT
"""test_bundle.py - pages of real traces: every number in them against the trace and the report.

    CORPUS_BUGGY, CORPUS_CLEAN: the programs of the corpus
"""
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/cli")
from harness import *  # noqa: E402,F403

import oracle  # noqa: E402
from bundle import Bundle  # noqa: E402
from checks import Check  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIXTURES = os.path.join(ROOT, "tests", "fixtures")
# A coroutine that nobody will resume is also a leak; here it is meant.
ENV = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", ""))


def page(dir, trace, *options):
    """The bundle of the page that the tool makes, and what it said of it."""
    template, out = os.path.join(dir, "template.html"), os.path.join(dir, "page.html")
    with open(template, "w", encoding="utf-8") as f:
        f.write("<!doctype html><title>t</title>\n<!--corotracer-data-->\n<p>end</p>\n")
    status, said, err = tool("html", "--json", "--page", template, "-o", out, *options, trace)
    equal(status, 0, f"status of html: {err}")
    return Bundle(out), json.loads(said)


def check(dir, trace, parsed=None):
    bundle, said = page(dir, trace)
    status, report, err = tool("report", "--json", trace)
    equal(status, 0, f"status of report: {err}")
    if parsed is None:
        parsed = oracle.read_ctf(trace) if os.path.isdir(trace) else oracle.read_jsonl(trace)
    Check(bundle, parsed, json.loads(report)).all()
    equal(said["bytes"], os.path.getsize(os.path.join(dir, "page.html")), "size that was told")
    equal(said["thinned"], bundle.meta["thinned"], "thinned")
    return bundle


def traces(dir, program, forms):
    """A trace per scenario of the corpus.  Most of them sleep most of the time, so several at once."""
    scenarios = corpus(program)
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


@test
def programs_with_bugs(dir):
    for scenario, trace in traces(dir, "CORPUS_BUGGY", ("jsonl", "ctf")):
        bundle = check(dir, trace)
        name = scenario.split("/")[0]
        detectors = [d["name"] for d in bundle.meta["detectors"]]
        examples = {f["example"]["probe_id"] for f in bundle.report["findings"] if f["detector"] == name and "example" in f}
        for row in bundle.coroutines().values():
            if row["id_lo"] in examples:
                assert row["findings"] >> detectors.index(name) & 1, f"{scenario}: {row} is the example"


@test
def programs_without_bugs(dir):
    for _, trace in traces(dir, "CORPUS_CLEAN", ("ctf", "jsonl")):
        check(dir, trace)


@test
def traces_of_other_tools_with_garbage(dir):
    bundle = check(dir, os.path.join(FIXTURES, "older-tool.jsonl"))
    equal(bundle.meta["garbage"]["lines"], 3, "garbage")
    equal([g["line"] for g in bundle.meta["garbage"]["first"]], [6, 12, 18], "lines of garbage")
    equal(bundle.meta["run"], None, "run")
    with open(os.path.join(FIXTURES, "garbage.jsonl"), "rb") as f, open(os.path.join(dir, "last.jsonl"), "wb") as last:
        last.write(f.readlines()[-1])
    bundle = check(dir, os.path.join(FIXTURES, "garbage.jsonl"), oracle.read_jsonl(os.path.join(dir, "last.jsonl")))
    equal((bundle.meta["garbage"]["lines"], bundle.meta["slices"]["of"]), (20, 1), "garbage and slices")
    check(dir, os.path.join(FIXTURES, "crlf.jsonl"))
    bundle = check(dir, os.path.join(FIXTURES, "cut.jsonl"))


if __name__ == "__main__":
    main()
