#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_corpus.py - the report on real programs: each bug is found and its victims are named, and a
correct program has no strong finding and passes the gate.

usage: test_corpus.py [OPTIONS] SOURCES PROGRAMS

SOURCES is a folder of bug_* and clean_* files, PROGRAMS the folder with the programs built from them.
The comment at the top of a source says the truth, a key per line:

    corpus: bug | clean
    class: lost-wakeup|stalled   accepted detectors, the best one first
    at: @stuck|@other            lines with this marker in a trailing comment; nothing: any place
    victims: flusher, conn-3     names of coroutines, with * and ?; or
    count: 12                    so many coroutines, where they have no names
    also: parent-*               coroutines that may be named beside the victims
    never: leak, blocking        detectors that must not report a suspicion
    confidence: info             the least that is accepted; suspect if not given
    run: --on-full block         options of `corotracer run`
    signal: TERM 1.0             the program is sent SIGTERM after 1.0 s
    known: victims               an answer that is known to be weak: other coroutines are named, too, or
                                 not all; `class`: another class.  The totals count it as a miss
    needs: asio                  not built everywhere: skipped where it is missing

A bug is found when a finding has the class, the place or a victim.  It is right when one finding has
an accepted class and the place; its victims are named when such findings name all of them, and
no other coroutine.  A strong finding of another class or place is wrong.  A program whose bug is a
race exits with status 75 if the bug did not happen; it is then run again.  With --stop, CORPUS_EXTRA_MS
says by how many milliseconds a program must run longer.
"""
import argparse
import concurrent.futures
import fnmatch
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOOL = os.environ.get("COROTRACER", "corotracer")
LEVELS = ["info", "suspect", "strong", "proven"]
KEYS = ("corpus", "class", "at", "victims", "count", "also", "never", "confidence", "run", "signal", "needs", "known")
DID_NOT_HAPPEN = 75  # exit status of a program whose race had a good end: run it again
LONGEST = 240  # seconds that a program may take, on a busy machine
STOP_AFTER, STOP_FOR = 0.4, 1.0
# A coroutine that is never resumed is also memory that is never freed; here that is intended.
ENV = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", ""))


class Wrong(Exception):
    """The program or the tool did not do what every program does."""


class DidNotHappen(Exception):
    """The race that is the bug had a good end."""


class Truth:
    """What the comment at the top of a source says."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding="utf-8") as f:
            lines = f.read().split("\n")
        self.keys, length = self.read_header(lines)
        if self.keys.get("corpus") not in ("bug", "clean"):
            raise SystemExit(f"{path}: read truth: the comment at the top has no 'corpus: bug' or 'corpus: clean'")
        self.is_bug = self.keys["corpus"] == "bug"
        self.classes = split(self.keys.get("class", ""), "|")
        self.victims = split(self.keys.get("victims", ""), ",")
        self.also = split(self.keys.get("also", ""), ",")
        self.never = split(self.keys.get("never", ""), ",")
        self.lines = self.find_lines(lines, length)
        if self.is_bug and not self.classes:
            raise SystemExit(f"{path}: read truth: a bug without 'class:'")

    @staticmethod
    def read_header(lines):
        """The keys, and the number of lines of the comment."""
        keys, number = {}, 0
        for number, line in enumerate(lines):
            if line.strip() and not re.match(r"\s*(/\*|\*|//)", line):
                break
            said = re.match(r"\s*(?:/\*+|\*|//[!/]?)\s*([a-z]+): *(\S.*?)\s*(?:\*/)?$", line)
            if said and said.group(1) in KEYS:
                keys[said.group(1)] = said.group(2)
        return keys, number

    def find_lines(self, lines, start):
        found = set()
        for marker in split(self.keys.get("at", ""), "|"):
            at = [n + 1 for n, line in enumerate(lines) if n >= start and re.search(rf"(//|/\*).*{marker}\b", line)]
            if not at:
                raise SystemExit(f"{self.path}: read truth: no line has the marker {marker}")
            found.update(at)
        return found

    def is_at(self, finding):
        place = finding.get("place") or {}
        if not self.lines:
            return True
        same = os.path.basename(place.get("file") or "") == os.path.basename(self.path)
        return same and place.get("line") in self.lines

    def has_class(self, finding):
        least = LEVELS.index(self.keys.get("confidence", "suspect"))
        return finding["detector"] in self.classes and level(finding) >= least

    def expected(self):
        if not self.is_bug:
            return "clean"
        return "|".join(self.classes) + (" :" + ",".join(map(str, sorted(self.lines))) if self.lines else "")


class Verdict:
    """What the report said, compared with the truth."""

    def __init__(self, truth, findings=(), failure=None):
        self.truth, self.failure = truth, failure
        self.found = self.right = self.named = self.gate_failed = False
        self.findings = list(findings)
        self.wrong = []
        if failure is None and truth.is_bug:
            self.judge_bug()
        elif failure is None:
            self.wrong = [f for f in self.findings if level(f) >= 2]
        self.wrong += [f for f in self.findings if f["detector"] in truth.never and level(f) >= 1 and f not in self.wrong]

    def judge_bug(self):
        truth = self.truth
        placed = [f for f in self.findings if truth.has_class(f) and truth.is_at(f)]
        self.right = bool(placed)
        self.found = self.right or any(
            level(f) >= 1 and (truth.has_class(f) or (truth.lines and truth.is_at(f)) or self.names_victim(f))
            for f in self.findings)
        self.named = self.right and self.names_all(placed)
        self.wrong = [f for f in self.findings if level(f) >= 2 and f not in placed and not self.is_consequence(f)]

    def names_victim(self, finding):
        return any(matches(name, self.truth.victims) for name in names(finding))

    def is_consequence(self, finding):
        """An accepted class, and only coroutines that may be named."""
        allowed = self.truth.victims + self.truth.also
        return bool(allowed) and self.truth.has_class(finding) and all(matches(n, allowed) for n in names(finding))

    def names_all(self, placed):
        truth = self.truth
        if "count" in truth.keys:
            return count_named(placed) == int(truth.keys["count"])
        said = [name for f in placed for name in names(f)]
        missing = [v for v in truth.victims if not fnmatch.filter(said, v)]
        return not missing and (not truth.victims or all(matches(n, truth.victims + truth.also) for n in said))

    def is_ok(self):
        if self.failure or self.wrong or self.gate_failed:
            return False
        return self.named or self.is_known() if self.truth.is_bug else True

    def is_known(self):
        """A weakness that the header admits: the totals still count it as a miss."""
        known = self.truth.keys.get("known")
        return self.right if known == "victims" else self.found and known == "class"

    def faults(self):
        if self.failure:
            return [self.failure]
        out = [f"{f['detector']} {f['confidence']} is wrong" for f in self.wrong]
        if self.truth.is_bug and not self.named:
            out.append("wrong victims" if self.right else "wrong class or place" if self.found else "MISSED")
        return out + (["fails the gate"] if self.gate_failed else [])

    def said(self):
        return "; ".join(brief(f) for f in self.findings if level(f) >= 1 or self.truth.has_class(f)) or "-"


def split(text, separator):
    return [word.strip() for word in text.split(separator) if word.strip()]


def level(finding):
    return LEVELS.index(finding["confidence"])


def names(finding):
    rows = finding.get("coroutines") or [finding.get("example") or {}]
    return [row.get("name") or "" for row in rows]


def count_named(findings):
    """The coroutines of these findings, each once, however often it was reported."""
    ids = {row["probe_id"] for f in findings for row in f.get("coroutines") or []}
    return len(ids) + sum(f.get("coroutines_omitted", 0) for f in findings)


def matches(name, globs):
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def brief(finding):
    place = finding.get("place") or {}
    line = f":{place['line']}" if place.get("line") else ""
    shown = sorted(set(names(finding)))
    more = f"+{len(shown) - 3}" if len(shown) > 3 else ""
    return f"{finding['detector']} {finding['confidence']}{line} [{','.join(shown[:3])}{more}] x{finding['count']}"


# ---- running -----------------------------------------------------------------


def program_of(tool, program):
    """The pid of the program that `corotracer run` started; None if it has ended."""
    deadline = time.monotonic() + LONGEST
    while tool.poll() is None and time.monotonic() < deadline:
        try:
            with open(f"/proc/{tool.pid}/task/{tool.pid}/children", encoding="ascii") as f:
                children = f.read().split()
        except OSError:
            return None
        for child in children:
            if runs(child, program):
                return int(child)
        time.sleep(0.01)
    return None


def runs(pid, program):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


def send(pid, name):
    try:
        os.kill(pid, getattr(signal, f"SIG{name}"))
    except ProcessLookupError:
        pass  # it has ended


def disturb(tool, program, truth, options):
    """Stop the program for a second, or send it the signal of its header."""
    plan = []
    if options.stop:
        plan += [(STOP_AFTER, "STOP"), (STOP_AFTER + STOP_FOR, "CONT")]
    if "signal" in truth.keys:
        name, after = truth.keys["signal"].split()
        plan += [(float(after) + (STOP_FOR if options.stop else 0), name)]
    pid = program_of(tool, program) if plan else None
    start = time.monotonic()
    for after, name in sorted(plan) if pid else []:
        time.sleep(max(0, start + after - time.monotonic()))
        if tool.poll() is not None:
            break
        send(pid, name)


def record(truth, program, trace, options):
    extra = truth.keys.get("run", "").split()
    env = dict(ENV, CORPUS_EXTRA_MS=str(int(1000 * STOP_FOR))) if options.stop else ENV
    tool = subprocess.Popen([TOOL, "run", "-q", "-o", trace, *extra, "--", program],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    helper = threading.Thread(target=disturb, args=(tool, program, truth, options))
    helper.start()
    try:
        out, _ = tool.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        pid = program_of(tool, program)
        send(pid or tool.pid, "KILL")
        tool.communicate(timeout=LONGEST)
        raise Wrong(f"runs for more than {LONGEST} s") from None
    finally:
        helper.join()
    allowed = (0, 143, -15) if "signal" in truth.keys else (0,)
    if tool.returncode == DID_NOT_HAPPEN:
        raise DidNotHappen
    if tool.returncode not in allowed:
        raise Wrong(f"exit status {tool.returncode}: {out.strip()[-200:]}")


def read_report(trace):
    """The findings, and whether a gate that fails on all kinds of them lets the program pass."""
    done = subprocess.run([TOOL, "report", "--json", "--fail-on", "all", trace], capture_output=True, text=True, timeout=LONGEST)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        raise Wrong(f"report: {done.stderr.strip()[-200:]}") from None
    if report["totals"]["lost"] or report["totals"]["coroutines"] == 0:
        raise Wrong(f"incomplete trace: {report['totals']}")
    return report["findings"], done.returncode == 0


def examine(truth, options, folder):
    program = os.path.join(options.programs, truth.name)
    trace = os.path.join(folder, f"{truth.name}.{options.format}")
    if not os.path.exists(program):
        return None if "needs" in truth.keys else Verdict(truth, failure="not built")
    try:
        for _ in range(5):
            try:
                record(truth, program, trace, options)
                break
            except DidNotHappen:
                continue
        else:
            return Verdict(truth, failure="the bug did not happen in five runs")
        findings, passes = read_report(trace)
        verdict = Verdict(truth, findings)
        verdict.gate_failed = not truth.is_bug and not passes
        return verdict
    except Wrong as wrong:
        return Verdict(truth, failure=str(wrong))


def examine_twice(truth, options, folder):
    """With --second: a wrong answer counts if it is given twice. The first one is printed, too."""
    verdict = examine(truth, options, folder)
    if verdict is None or verdict.is_ok() or not options.second:
        return verdict
    second = examine(truth, options, folder)
    second.first = verdict
    return second


class BusyProcesses:
    """Two processes that use all the time that they get, for the length of a with block."""

    LOOP = f"import time\nend = time.monotonic() + {20 * LONGEST}\nwhile time.monotonic() < end: pass"

    def __init__(self, wanted):
        self.wanted = wanted
        self.started = []

    def __enter__(self):
        if self.wanted:
            self.started = [subprocess.Popen([sys.executable, "-c", self.LOOP]) for _ in range(2)]

    def __exit__(self, *_):
        for process in self.started:
            process.kill()
            process.wait()


# ---- printing ----------------------------------------------------------------


def print_row(verdict, width, verbose):
    truth = verdict.truth
    state = ("ok" if verdict.named or not truth.is_bug else "known to be weak") if verdict.is_ok() else "NO: " + ", ".join(verdict.faults())
    first = getattr(verdict, "first", None)
    if first:
        state += " (second run; the first: " + ", ".join(first.faults()) + "; said: " + first.said() + ")"
    print("%-*s  %-38s  %s" % (width, truth.name, truth.expected(), state))
    if verbose or not verdict.is_ok():
        print("%-*s  said: %s" % (width, "", verdict.said()))


def print_totals(verdicts):
    bugs = [v for v in verdicts if v.truth.is_bug]
    clean = [v for v in verdicts if not v.truth.is_bug]
    blamed = sum(len(v.wrong) for v in bugs)
    gate = sum(v.gate_failed for v in clean)
    failures = sum(v.failure is not None for v in verdicts)
    again = sum(hasattr(v, "first") for v in verdicts)
    if again:
        print(f"programs that were run a second time: {again}")
    print(f"wrong findings on bugs: {blamed}; clean programs that fail the gate: {gate}; programs that did not run: {failures}")
    print(f"bugs found {sum(v.found for v in bugs)} of {len(bugs)}, right class and place {sum(v.right for v in bugs)}, "
          f"victims named {sum(v.named for v in bugs)}, strong false alarms {sum(len(v.wrong) for v in clean)} "
          f"on {len(clean)} clean programs")


def parse_options():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--busy", action="store_true", help="two busy processes beside the programs")
    options.add_argument("--stop", action="store_true", help="stop each program for a second in the middle")
    options.add_argument("--second", action="store_true", help="run a program with a wrong answer a second time")
    options.add_argument("--only", metavar="GLOB", default="*", help="only programs with such a name")
    options.add_argument("--every", type=int, default=1, metavar="N", help="only the first of each N programs")
    options.add_argument("--jobs", type=int, default=1, help="programs that run at the same time")
    options.add_argument("--format", choices=("jsonl", "ctf"), default="jsonl")
    options.add_argument("--keep", metavar="DIR", help="keep the traces there")
    options.add_argument("--verbose", action="store_true", help="print what was said also for right answers")
    options.add_argument("sources")
    options.add_argument("programs")
    return options.parse_args()


def main():
    options = parse_options()
    sources = sorted(p for kind in ("bug", "clean") for p in glob.glob(os.path.join(options.sources, f"{kind}_*.*")))
    truths = [t for t in map(Truth, sources[::options.every]) if fnmatch.fnmatch(t.name, options.only)]
    if not truths:
        sys.exit(f"run corpus: no program matches '{options.only}' in {options.sources}")
    if not shutil.which(TOOL):
        sys.exit(f"run corpus: {TOOL} is not a program\nhint: set COROTRACER to the path of corotracer")
    width = max(len(t.name) for t in truths)
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="corotracer-corpus-") as scratch, BusyProcesses(options.busy):
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for truth, verdict in zip(truths, pool.map(lambda t: examine_twice(t, options, folder), truths)):
                if verdict is None:
                    print("%-*s  skipped: %s is missing" % (width, truth.name, truth.keys["needs"]))
                    continue
                verdicts.append(verdict)
                print_row(verdict, width, options.verbose)
                sys.stdout.flush()
    print_totals(verdicts)
    sys.exit(0 if all(v.is_ok() for v in verdicts) else 1)


if __name__ == "__main__":
    main()
