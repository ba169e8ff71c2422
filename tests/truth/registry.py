# SPDX-License-Identifier: MIT
"""registry.py - the numbers that commands print, and the rule that each one is checked.

docs/numbers.md has a row for every number.  A Numbers object wraps the JSON output of one
command.  Checks compare its numbers with values computed another way; done() fails when the
output holds a number that no check compared, or that has no row.  At the end of a test file,
verify_rows() fails when a row names a check of that file that did not compare the number.
"""
import functools
import os
import re

SOURCE = os.environ.get("SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
REGISTRY = os.path.join(SOURCE, "docs", "numbers.md")
CHECKS = {}          # name: function, of the file that runs
COMPARED = set()     # (command, path, name of the check)
CURRENT = []         # names of the checks that run now


class Wrong(AssertionError):
    pass


# ---- the registry -------------------------------------------------------------------


class Row:
    """One row of docs/numbers.md: the number, how exact it is, and the check that proves it."""

    def __init__(self, command, cells, line):
        self.command, self.line = command, line
        self.path, self.text, self.meaning, self.exactness = cells[0].strip("`"), cells[1], cells[2], cells[3]
        file, _, self.check = cells[4].strip("`").partition(":")
        self.file = f"test_truth_{file}.py"

    def __repr__(self):
        return f"docs/numbers.md:{self.line}: {self.command} {self.path}"


def parse_registry(text):
    """The rows of the tables; a heading "## `COMMAND`" says what command the next table is of."""
    rows, command = [], None
    for number, line in enumerate(text.splitlines(), 1):
        heading = re.match(r"## `([^`]+)`", line)
        if heading:
            command = heading[1]
        if not command or not line.startswith("| `"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5:
            raise Wrong(f"docs/numbers.md:{number}: {len(cells)} cells, expected 5: {line}")
        rows.append(Row(command, cells, number))
    return rows


@functools.cache
def registry():
    with open(REGISTRY, encoding="utf-8") as f:
        return parse_registry(f.read())


def rows_of(command, rows=None):
    return {row.path: row for row in (registry() if rows is None else rows) if row.command == command}


# ---- leaves of a JSON value -------------------------------------------------------------


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_text(value):
    return isinstance(value, str)


def leaves(value, path="", is_wanted=is_number):
    """(path, number) of every number in a JSON value: "a.b[3].c"; so for other wanted values."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, f"{path}.{key}" if path else key, is_wanted)
    elif isinstance(value, list):
        for i, member in enumerate(value):
            yield from leaves(member, f"{path}[{i}]", is_wanted)
    elif is_wanted(value):
        yield path, value


def normalise(path):
    """The path of a row: without the positions in arrays."""
    return re.sub(r"\[\d+\]", "[]", path)


def find_row(rows, path):
    """The row of a path; in a row, "*" stands for one key that the run names (a frame, a cache)."""
    wanted = normalise(path)
    if wanted in rows:
        return rows[wanted]
    for pattern, row in rows.items():
        if "*" in pattern and re.fullmatch(re.escape(pattern).replace(r"\*", r"[^.\[\]]+"), wanted):
            return row
    return None


def unregistered(command, output, rows=None):
    """Paths of numbers in an output that have no row."""
    known = rows_of(command, rows)
    return sorted({normalise(path) for path, _ in leaves(output) if not find_row(known, path)})


# ---- one output, compared ------------------------------------------------------------------


class Numbers:
    """The JSON output of one command, with what was compared."""

    def __init__(self, command, output):
        self.command, self.output = command, output
        self.values = dict(leaves(output))
        self.texts = dict(leaves(output, is_wanted=is_text))
        self.compared = set()
        missing = unregistered(command, output)
        if missing:
            raise Wrong(f"`{command}` prints numbers that docs/numbers.md does not list: {', '.join(missing)}")

    def __getitem__(self, path):
        if path not in self.values:
            raise Wrong(f"{self.command}: no number at {path}")
        return self.values[path]

    def mark(self, path):
        self.compared.add(path)
        row = find_row(rows_of(self.command), path)
        for name in CURRENT:
            COMPARED.add((self.command, row.path, name))

    def equal(self, path, expected):
        got = self[path]
        if got != expected:
            raise Wrong(f"{self.command}: {path} is {got}, the independent value is {expected}")
        self.mark(path)

    def within(self, path, low, high):
        got = self[path]
        if not low <= got <= high:
            raise Wrong(f"{self.command}: {path} is {got}, the independent bounds are {low} to {high}")
        self.mark(path)

    def says(self, path, expected):
        """A sentence that has numbers in it."""
        if path not in self.texts:
            raise Wrong(f"{self.command}: no text at {path}")
        if self.texts[path] != expected:
            raise Wrong(f"{self.command}: {path} says {self.texts[path]!r}, the independent sentence is {expected!r}")
        self.mark(path)

    def close(self, path, expected, relative):
        slack = abs(expected) * relative
        self.within(path, expected - slack, expected + slack)

    def equal_all(self, prefix, expected):
        """@expected maps paths below @prefix to values; None stands for null."""
        for key, value in expected.items():
            path = f"{prefix}.{key}" if prefix else key
            if value is None:
                if path in self.values:
                    raise Wrong(f"{self.command}: {path} is {self.values[path]}, expected null")
                continue
            self.equal(path, value)

    def has(self, path):
        return path in self.values

    def done(self):
        """Every number of the output was compared."""
        left = sorted(set(self.values) - self.compared)
        if left:
            raise Wrong(f"{self.command}: no check compares {', '.join(left[:12])} ({len(left)} in all)")


def check(function):
    """A function that compares numbers; docs/numbers.md names it."""
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        CURRENT.append(function.__name__)
        try:
            return function(*args, **kwargs)
        finally:
            CURRENT.pop()
    CHECKS[function.__name__] = wrapper
    return wrapper


# ---- the rows that a test file must prove ------------------------------------------------------


def unproven_rows(file, rows=None, compared=None, checks=None):
    """What is wrong with the rows of one test file, as sentences."""
    faults = []
    for row in registry() if rows is None else rows:
        if row.file != file:
            continue
        if row.check not in (CHECKS if checks is None else checks):
            faults.append(f"{row}: {file} has no check named {row.check}")
        elif (row.command, row.path, row.check) not in (COMPARED if compared is None else compared):
            faults.append(f"{row}: {row.check} never compared it")
    return faults


# ---- numbers in text -----------------------------------------------------------------------------

SCALES = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "days": 86400e9}


def count_text(value):
    return f"{value:,}"


def duration_text(ns):
    """A duration as text output has it: three decimals of the largest unit that is not over."""
    if ns < 1000:
        return f"{ns} ns"
    for unit, limit in (("us", 1e6), ("ms", 1e9), ("s", 600e9)):
        if ns < limit:
            return f"{ns / SCALES[unit]:.3f} {unit}"
    return f"{ns / 60e9:.1f} min" if ns < 172800e9 else f"{ns / 86400e9:.1f} days"


def share_text(part, whole):
    return f"{100.0 * part / whole:.3g} %"


class Text:
    """The text output of a command: every line with a digit must be claimed by a template."""

    def __init__(self, text):
        self.lines = text.splitlines()
        self.claimed = set()

    def line(self, pattern, *values):
        """The first unclaimed line that matches; its groups are these texts, in order."""
        for i, line in enumerate(self.lines):
            found = None if i in self.claimed else re.search(pattern, line)
            if found:
                self.claimed.add(i)
                wanted = tuple(str(value) for value in values)
                if found.groups() != wanted:
                    raise Wrong(f"text says {found.groups()} in {line!r}, the independent values are {wanted}")
                return
        raise Wrong(f"no line of the text matches {pattern!r}:\n" + "\n".join(self.lines))

    def skip(self, pattern):
        """Lines whose digits are no numbers about the run: names, commands, dates."""
        for i, line in enumerate(self.lines):
            if re.search(pattern, line):
                self.claimed.add(i)

    def done(self):
        left = [line for i, line in enumerate(self.lines) if i not in self.claimed and re.search(r"\d", line)]
        if left:
            raise Wrong("no check compares these lines of the text:\n" + "\n".join(left))
