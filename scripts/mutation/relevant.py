# SPDX-License-Identifier: MIT
"""relevant.py - which tests belong to a source file: programs that contain its code, then scripts that run the tool.

What a program contains comes from its symbol table, which names each source file that was linked; for a header, ninja
knows the objects that include it, and the programs that have code of the line come first.  A script's relation comes from the words of its name and text, and from FOLDERS.
Where a map (reached.py) says which tests reach the line, only those count, and tests that are newer than the map.
"""
import json
import math
import os
import pathlib
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

# Scripts that test a folder as a whole, the fast ones first.
FOLDERS = {
    "src/analyze": "expected/outputs cli/report detectors/c cli/diff truth/run slices/judged corpus/c",
    "src/base": "cli/help outputs/files cli/faults cli/report memory/mem",
    "src/collect": "cli/run cli/lanes cli/flight cli/signals slices/runs slices/order cli/recover",
    "src/export": "expected/outputs export/files export/traces truth/export export/frames_viewers",
    "src/fleet": "expected/outputs fleet/ask_examples truth/fleet truth/load fleet/load",
    "src/frames": "expected/outputs frames/generate frames/run frames/live/decode truth/frames frames/live/quick frames/live/faults",
    "src/inspect": "inspect/why_leftover inspect/why_threads inspect/why truth/why",
    "src/memory": "expected/outputs memory/mem memory/mem_calls memory/mem_diff truth/memory",
    "src/memory/calls": "expected/outputs memory/mem_calls truth/calls memory/mem_diff",
    "src/memory/diff": "expected/outputs memory/mem_diff",
    "src/memory/sim": "expected/outputs memory/sim_sim memory/sim_host memory/sim_cachegrind memory/sim_reference",
    "src/memory/layout": "expected/outputs memory/layout-layout memory/layout-examples memory/layout-html",
    "src/memory/types": "expected/outputs memory/fields memory/raw-types memory/layout-layout",
    "src/memory/blame": "expected/outputs memory/fields memory/mem_calls memory/heap-types",
    "src/memory/collect": "memory-rt/options memory-rt/control memory-rt/process",
    "src/memory/compiler": "expected/outputs memory-rt/wrapper",
    "src/otlp": "expected/outputs signals/otlp signals/traceparent",
    "src/page": "expected/outputs view/html view/bundle",
    "src/process": "cli/run slices/kinds slices/switches inspect/why_leftover attach/places cli/signals",
    "src/query": "expected/outputs signals/traceparent query/hostile query/tables query/pushed truth/query",
    "src/serve": "live/serve live/guests live/live signals/metrics",
    "src/ship": "expected/outputs fleet/ship truth/ship fleet/ship_nats",
    "src/symbols": "symbols/stopped symbols/places inspect/why_leftover inspect/why_types inspect/why symbols/hostile",
    "src/top": "live/top truth/live",
    "src/trace": "expected/outputs cli/merge cli/filters cli/short cli/waits cli/ctf cli/compact truth/trace",
    "src/view": "expected/outputs view/bundle view/html view/follow",
    "runtime/memory": "memory-rt/counters memory-rt/counts memory-rt/control memory-rt/threads memory-rt/heap memory-rt/options memory-rt/process",
    "include": "cpp/awaits cpp/existing cpp/together cli/run late/c",
    "tool": "expected/outputs cli/help cli/report cli/run cli/faults",
    "sdk/c": "cli/run late/c interop/foreign cli/lanes",
}
# Compares whole outputs: the first where FOLDERS names it, whatever the words of a file are.
WHOLE_OUTPUTS = "expected/outputs"
# What scripts use of a folder without naming it.
LIBRARIES = {"runtime/": "runtime/memory/all", "sdk/c/": "sdk/c/all", "include/": "sdk/c/all"}
IDENTIFIER = re.compile(r"[a-z]{3,}")
COMMON = {"the", "src", "test", "tests", "file", "files", "read", "write", "json", "text", "time", "table", "data", "list", "main"}


class CTest:
    """One test as ctest would run it."""

    def __init__(self, entry, build):
        self.name = entry["name"]
        self.command = entry.get("command", [])
        self.properties = {p["name"]: p["value"] for p in entry["properties"]}
        self.environment = dict(v.split("=", 1) for v in self.properties.get("ENVIRONMENT", []))
        self.build = build
        self.is_program = bool(self.command) and self.command[0].startswith(build + "/")

    def files(self):
        """Files of the build that the command or the environment names."""
        words = [w for part in self.command + list(self.environment.values()) for w in re.split(r"[=;:, ]", part)]
        return [os.path.relpath(w, self.build) for w in words if w.startswith(self.build + "/") and os.path.isfile(w)]

    def script(self):
        """The text of the script that the test runs."""
        for word in self.command[1:]:
            if word.endswith((".py", ".mjs")) and os.path.isfile(word):
                return pathlib.Path(word).read_text(encoding="utf-8")
        return ""

    def can_run(self):
        """Alone, without fixtures that other tests set up, and not for hours."""
        return bool(self.command) and os.path.exists(self.command[0]) and not self.properties.get("FIXTURES_SETUP") and \
            "full" not in self.properties.get("LABELS", []) and \
            not self.name.startswith(("style/", "proof/", "distro/", "web/", "docs/"))


def words_of(path):
    return {w for w in IDENTIFIER.findall(path.lower()) if w not in COMMON}


def singular(words):
    return {w.removesuffix("s") for w in words}


def linked_files(program):
    """Names of the source files that a program was linked from."""
    out = subprocess.run(["readelf", "-sW", program], capture_output=True, text=True, check=False).stdout
    return {line.split()[-1] for line in out.splitlines() if " FILE " in line and not line.endswith(" ")}


def lines_of(binary, name):
    """Numbers of the lines of the file @name that a program or an object has code of, as its debugging information says."""
    out = subprocess.run(["readelf", "--wide", "--debug-dump=decodedline", binary], capture_output=True, text=True, check=False).stdout
    return {int(row[1]) for row in map(str.split, out.splitlines()) if len(row) > 2 and row[0] == name and row[1].isdigit()}


def function_around(path, line):
    """Numbers of the lines of the function: not every line has instructions of its own."""
    text = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    first = next((i for i in range(line - 1, 0, -1) if text[i - 1].strip() == "{"), line)
    end = text[first - 1].replace("{", "}")
    return range(first, next((i for i in range(line, len(text) + 1) if text[i - 1] in (end, end + ";")), line) + 1)


class Relevance:
    """@ask runs a command on a copy of the tree, and returns what it prints."""

    def __init__(self, root, build, costs, ask, map=None, dearest=math.inf):
        self.root, self.build, self.costs, self.map, self.dearest = root, build, costs, map, dearest
        entries = json.loads(ask(["ctest", "--test-dir", build, "--show-only=json-v1"]))["tests"]
        self.tests = {t.name: t for t in (CTest(e, build) for e in entries) if t.can_run()}
        programs = sorted({t.command[0] for t in self.tests.values() if t.is_program})
        with ThreadPoolExecutor(2) as pool:
            self.linked = dict(zip(programs, pool.map(linked_files, programs)))
        self.includers, self.compiled = self.read_dependencies(ask(["ninja", "-C", build, "-t", "deps"]))
        self.scripts = {t.name: set(IDENTIFIER.findall(t.script().lower())) for t in self.tests.values() if not t.is_program}
        self.sources = self.read_test_sources()
        self.has_code_of = {}  # {(program, file): lines}, of headers that were asked for

    def read_dependencies(self, deps):
        """({file: names of the sources whose objects include it}, {file: its objects})"""
        includers, compiled, target = {}, {}, ""
        for line in deps.splitlines():
            if not line.startswith(" "):
                target = line.split(":")[0]
                continue
            path = os.path.normpath(os.path.join(self.build, line.strip()))
            if path.startswith(self.root + "/"):
                name = os.path.relpath(path, self.root)
                includers.setdefault(name, set()).add(os.path.basename(re.sub(r"\.o$", "", target)))
                compiled.setdefault(name, set()).add(target)
        return includers, compiled

    def objects(self, path):
        """Objects made of a source file; none for a header, which may be in hundreds."""
        return sorted(self.compiled.get(path, ())) if path.endswith((".c", ".cpp")) else []

    def read_test_sources(self):
        """{name of a test's source: what it includes, directly or through a header of the tests}"""
        include = re.compile(r'#include ["<]([^">]+)[">]')
        files = [p for p in pathlib.Path(self.root, "tests").rglob("*") if p.suffix in (".c", ".cpp", ".h", ".hpp")]
        direct = {p.name: set(include.findall(p.read_text(encoding="utf-8"))) for p in files}
        return {p.name: direct[p.name].union(*(direct.get(os.path.basename(h), ()) for h in direct[p.name]))
                for p in files if p.suffix in (".c", ".cpp")}

    def cost(self, test):
        """Seconds; where ctest has not measured it, a guess."""
        return self.costs.get(test.name, 0.5 if test.is_program else 10.0)

    def closeness(self, test, path):
        """3: its source includes the file's header, 2: a header of the folder, 1: it contains the code."""
        stem, folder = os.path.splitext(os.path.basename(path))[0], os.path.basename(os.path.dirname(path))
        best = 1
        for name in self.linked[test.command[0]]:
            for header in self.sources.get(name, ()):
                if os.path.splitext(os.path.basename(header))[0] == stem:
                    return 3
                if os.path.basename(os.path.dirname(header)) == folder:
                    best = 2
        return best

    def may_reach(self, path, line):
        """A function that says whether a test may reach the line."""
        is_mapped = self.map and path.startswith(("src/", "tool/")) and path.endswith(".c")
        reaching = self.map.tests_of(path, line) if is_mapped else None
        return (lambda name: True) if reaching is None else lambda name: name in reaching or name not in self.map.known

    def has_one_of(self, program, path, lines):
        key = program, os.path.basename(path)
        if key not in self.has_code_of:
            self.has_code_of[key] = lines_of(*key)
        return not self.has_code_of[key].isdisjoint(lines)

    def programs_of(self, path, line, most, may_reach):
        names = self.includers.get(path, set())
        found = [t for t in self.tests.values() if t.is_program and may_reach(t.name) and names & self.linked[t.command[0]]]
        words = singular(words_of(os.path.splitext(os.path.basename(path))[0]))
        if path.startswith(("include/corotracer/", "sdk/c/")):
            words.add("sdk")  # hundreds of programs include these headers, the unit tests of the SDK are about them
        found.sort(key=lambda t: (-len(words & singular(words_of(t.name))) if "sdk" in words else 0, -self.closeness(t, path),
                                  -len(words & singular(words_of(t.name))), self.cost(t), t.name))
        if not path.endswith((".c", ".cpp")):  # most programs that include a header leave out the most of its functions
            lines = function_around(os.path.join(self.root, path), line)
            found.sort(key=lambda t: not self.has_one_of(t.command[0], path, lines))
        return found[:most]

    def weight(self, word):
        having = sum(word in text for text in self.scripts.values())
        return math.log((1 + len(self.scripts)) / (1 + having)) if having else 0

    def hints(self, path):
        folder = os.path.dirname(path)
        while folder:
            if folder in FOLDERS:
                return FOLDERS[folder].split()
            folder = os.path.dirname(folder)
        return []

    def scripts_of(self, path, most, may_reach):
        """Of the folder's scripts those that share rare words with the file, then the others."""
        words = {w: self.weight(w) for w in words_of(path)}
        hints = self.hints(path)
        scores = {}
        for name, text in self.scripts.items():
            score = sum(weight * (3 * (w in name) + (w in text)) for w, weight in words.items())
            score += 4 - 0.3 * hints.index(name) if name in hints else 0
            score += 100 if name in hints and name == WHOLE_OUTPUTS else 0
            is_mapped = self.map and name in self.map.known
            if may_reach(name) and self.cost(self.tests[name]) <= self.dearest and (score > 3 or is_mapped):
                scores[name] = score - self.cost(self.tests[name]) / (3 if is_mapped else 10)
        found = [self.tests[n] for n in sorted(scores, key=lambda n: (-scores[n], n))[:most]]
        return sorted(found, key=self.cost)

    def of_line(self, path, line, programs, scripts):
        may_reach = self.may_reach(path, line)
        return self.programs_of(path, line, programs, may_reach) + self.scripts_of(path, scripts, may_reach)

    def targets(self, test, path):
        """What ninja has to build before the test runs."""
        if test.is_program:
            return [os.path.relpath(test.command[0], self.build)]
        return sorted({*test.files(), *(t for start, t in LIBRARIES.items() if path.startswith(start))})
