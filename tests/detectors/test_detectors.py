# SPDX-License-Identifier: MIT
"""The detectors: each finds the scripted events of its bug, and correct ones have no strong finding.

    test_detectors.py BUGGY CLEAN

Each program runs for real under the tool; the report reads its trace.  Prints a table of
what was found, missed and falsely raised.  Other processes decide how long a program is kept from a
processor, which some detectors measure: an answer counts as wrong if it is wrong twice.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

TOOL = os.environ["COROTRACER"]
LEVELS = ["info", "suspect", "strong", "proven"]
AT_A_TIME = 4  # programs; they mostly sleep
# The least confidence with which a bug must be found; strong for the others.
WANTED = {
    "suspended-at-exit": "info", "destroyed-suspended": "info", "imbalance": "info", "migration": "info",
    "long-suspended": "suspect", "suspicious-address": "suspect", "unfair-order": "suspect",
    # Correct programs look the same: a pool, two readers, users that arrive and stay.
    "lost-wakeup/mutex": "suspect", "lost-wakeup/channel": "suspect", "closed-under-waiter": "suspect", "leak": "suspect",
    "deadlock": "proven", "closed-under-waiter/told": "proven", "double-resume": "proven", "resume-after-end": "proven",
}
# Of two findings with the same cause the report gives the better one.
ALSO = {"long-suspended": "lost-wakeup"}
# A coroutine that is never resumed is also a leak; here that is intended.
ENV = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", ""))


def scenarios(program):
    done = subprocess.run([program], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    return re.findall(r"^  (\S+)$", done.stderr, re.M)


def report(dir, program, scenario, form):
    trace = f"{dir}/{scenario.replace('/', '-')}.{form}"
    done = subprocess.run([TOOL, "run", "-q", "--fail-on-loss", "-o", trace, "--", program, scenario],
                          stderr=subprocess.PIPE, text=True, timeout=300, env=ENV)
    assert done.returncode == 0, (scenario, done.returncode, done.stderr)
    done = subprocess.run([TOOL, "report", "--json", trace], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (scenario, done.stderr)
    return json.loads(done.stdout)["findings"]


def judge_bug(scenario, findings):
    name = scenario.split("/")[0]
    want = LEVELS.index(WANTED.get(scenario, WANTED.get(name, "strong")))
    names = {name, ALSO.get(name)}
    got = [f for f in findings if f["detector"] in names]
    best = max((LEVELS.index(f["confidence"]) for f in got), default=-1)
    # Other strong findings are errors: a scenario has one bug.
    wrong = [f for f in findings if f["detector"] not in names and LEVELS.index(f["confidence"]) >= 2]
    return best >= want, (LEVELS[best] if best >= 0 else "-"), wrong


def examine(dir, program, scenario, form, judge):
    """(whether it is as it should be, level, wrong findings) of the first run, or of a second one."""
    for run in ("first", "second"):
        right, level, wrong = judge(scenario, report(dir, program, scenario, form))
        if right and not wrong:
            break
        print(f"{scenario}: {run} run: {level}, wrong: {[f['detector'] for f in wrong]}")
    return right, level, wrong


def examine_all(dir, program, forms, judge):
    """(scenario, whether it is as it should be, level, wrong findings) of each scenario of a program."""
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        started = [(s, pool.submit(examine, dir, program, s, forms[i % 2], judge)) for i, s in enumerate(scenarios(program))]
        return [(s, *future.result()) for s, future in started]


def judge_clean(_, findings):
    return True, "-", [f for f in findings if LEVELS.index(f["confidence"]) >= 2]


def main():
    buggy, clean = sys.argv[1:3]
    missed, raised, rows = [], [], []
    with tempfile.TemporaryDirectory(prefix="corotracer-corpus-") as dir:
        for scenario, found, level, wrong in examine_all(dir, buggy, ("jsonl", "ctf"), judge_bug):
            rows.append((scenario, "found" if found else "MISSED", level, ", ".join(f["detector"] for f in wrong)))
            missed += [] if found else [scenario]
            raised += [(scenario, f["detector"]) for f in wrong]
        for scenario, _, _, wrong in examine_all(dir, clean, ("ctf", "jsonl"), judge_clean):
            rows.append((scenario, "clean" if not wrong else "RAISED", "-",
                         ", ".join(f"{f['detector']} ({f['seen']})" for f in wrong)))
            raised += [(scenario, f["detector"]) for f in wrong]
    for row in rows:
        print("%-26s %-7s %-8s %s" % row)
    print(f"{len(rows)} programs: {len(missed)} missed, {len(raised)} falsely raised")
    sys.exit(1 if missed or raised else 0)


if __name__ == "__main__":
    main()
