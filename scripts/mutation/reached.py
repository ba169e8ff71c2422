# SPDX-License-Identifier: MIT
"""reached.py - which tests reach a line: one run of every test with an instrumented build of src/ and tool/.

The instrumented build is a layer over the tree.  Each block of its code sets a bit when it runs (reached.c), and the line
tables of the programs say which line that is.  Lines are kept by their text, so that the map outlives changes above them.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
OBJECT = re.compile(r"^build \S+\.o: \S+ (\S+)")
CALL_SITE = re.compile(r"^\s*[0-9a-f]+:\s+call\s.*<__sanitizer_cov_trace_pc>")
ADDRESS = re.compile(r"^\s*([0-9a-f]+):")


def instrument(root, build, runtime):
    """Change the flags in build.ninja."""
    path = pathlib.Path(build, "build.ninja")
    out, is_object = [], False
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("build "):
            m = OBJECT.match(line)
            is_object = bool(m) and m.group(1).startswith((root + "/src/", root + "/tool/"))
        elif is_object and line.startswith("  FLAGS = "):
            line = line.replace(" -O2 ", " -O0 ") + " -w -fsanitize-coverage=trace-pc"
        elif line.startswith("  LINK_LIBRARIES = "):
            line += " " + runtime
        out.append(line)
    path.write_text("\n".join(out), encoding="utf-8")


def compile_runtime(dir):
    runtime = os.path.join(dir, "reached.o")
    subprocess.run(["cc", "-O2", "-fPIC", "-c", os.path.join(HERE, "reached.c"), "-o", runtime], check=True)
    return runtime


def reached_bits(path):
    """Offsets of the bits that are set."""
    data = pathlib.Path(path).read_bytes()
    return [8 * i + bit for i, byte in enumerate(data) if byte for bit in range(8) if byte >> bit & 1]


def pack(dir):
    """{program: offsets, compressed} of a folder that a test left."""
    return {name: zlib.compress(",".join(map(str, reached_bits(os.path.join(dir, name)))).encode()).hex() for name in os.listdir(dir)}


def unpack(text):
    numbers = zlib.decompress(bytes.fromhex(text)).decode()
    return [int(n) for n in numbers.split(",") if n]


def blocks_of(program):
    """Addresses after each call that sets a bit: all blocks of a program."""
    out, is_next = [], False
    with subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", program], stdout=subprocess.PIPE, text=True) as p:
        for line in p.stdout:
            m = ADDRESS.match(line)
            if is_next and m:
                out.append(int(m.group(1), 16))
            if m:
                is_next = bool(CALL_SITE.match(line))
    return out


def lines_of(program, addresses):
    """{address: (path, line)}"""
    addresses = sorted(addresses)
    text = "\n".join(f"{a - 1:#x}" for a in addresses)
    out = subprocess.run(["addr2line", "-e", program], input=text, capture_output=True, text=True, check=True).stdout
    found = {}
    for address, line in zip(addresses, out.splitlines()):
        path, _, number = line.split(" ")[0].rpartition(":")
        if number.isdigit() and int(number):
            found[address] = (os.path.normpath(path), int(number))
    return found


class LineKeys:
    """Names of lines that stay when other lines change."""

    def __init__(self, root):
        self.root, self.files, self.ends = root, {}, {}

    def of_file(self, name):
        if name not in self.files:
            path, seen, keys, ends = pathlib.Path(self.root, name), collections.Counter(), [""], [False]
            for line in path.read_text(encoding="utf-8").split("\n") if path.is_file() else []:
                seen[line.strip()] += 1
                keys.append(f"{seen[line.strip()]} {line.strip()}")
                ends.append(line.startswith("}"))
            self.files[name], self.ends[name] = keys, ends
        return self.files[name]

    def is_function_end(self, name, line):
        self.of_file(name)
        return self.ends[name][line]

    def key(self, name, line):
        keys = self.of_file(name)
        return keys[line] if 0 < line < len(keys) else ""


class ReachedLines:
    """The map: {file: {line: [tests]}}, where a line without tests begins a block that no test reaches."""

    def __init__(self, path, root):
        self.path, self.keys = path, LineKeys(root)
        data = json.loads(pathlib.Path(path).read_text(encoding="utf-8")) if os.path.exists(path) else {"tests": [], "files": {}}
        self.tests, self.files, self.known = data["tests"], data["files"], set(data["tests"])

    def tests_of(self, file, line):
        """Names of the tests that reach the block of a line; None where the map does not know the file or the function."""
        rows = self.files.get(file)
        if rows is None:
            return None
        keys = self.keys.of_file(file)
        for number in range(min(line, len(keys) - 1), 0, -1):
            if keys[number] in rows:
                return {self.tests[i] for i in rows[keys[number]]}
            if self.keys.is_function_end(file, number):
                return None
        return None

    def save(self):
        text = json.dumps({"tests": self.tests, "files": self.files})
        pathlib.Path(self.path).write_text(text, encoding="utf-8")


class MapMaker:
    """Puts together what the tests reached."""

    def __init__(self, path, root, programs):
        self.map = ReachedLines(path, root)
        self.map.tests, self.map.files = [], {}
        self.root, self.programs = root, programs
        self.lines = {}  # program: {address: (path, line)}

    def read_program(self, name):
        program = self.programs.get(name)
        self.lines[name] = lines_of(program, blocks_of(program)) if program else {}
        for path, line in self.lines[name].values():
            self.rows_of(path, line)

    def rows_of(self, path, line):
        """The list of tests of a line of the tree."""
        if not path.startswith(self.root + "/"):
            return None
        name = os.path.relpath(path, self.root)
        key = self.map.keys.key(name, line)
        return self.map.files.setdefault(name, {}).setdefault(key, []) if key else None

    def add(self, test, packed):
        index = len(self.map.tests)
        self.map.tests.append(test)
        for name, text in packed.items():
            if name not in self.lines:
                self.read_program(name)
            for address in unpack(text):
                rows = self.rows_of(*self.lines[name].get(address, ("", 0)))
                if rows is not None and index not in rows[-1:]:
                    rows.append(index)
