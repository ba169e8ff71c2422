# SPDX-License-Identifier: MIT
"""test_bundle.py - pages of real traces: every number in them against the trace and the report.

    CORPUS_BUGGY, CORPUS_CLEAN: the programs of the corpus
"""
from pages import *


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
