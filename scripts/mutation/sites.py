# SPDX-License-Identifier: MIT
"""sites.py - where small changes of meaning are possible in a C or C++ file, and what they are."""
import collections
import hashlib
import random
import re
from dataclasses import dataclass

KINDS = ("condition", "bound", "order", "unit", "cleanup", "return", "statement", "arithmetic")

NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.S | re.M)
# scripts/check-barriers and tests/style/test_barriers.py mutate ordered accesses.
ORDERED = re.compile(r"_relaxed|_acquire|_release\(|_acq_rel|_seq_cst|__atomic|memory_order|fence|static_assert|_Static_assert|\bassert\(")
# Only a failing allocation gets there; the tests of faults make them fail, one by one.
NO_MEMORY = re.compile(r"ENOMEM|no_memory|no memory")
LITERAL = re.compile(r"(?<![\w.])(\d+)([uUlL]*)(?![\w.])")
CALL = re.compile(r"^[a-z_]\w*(?:(?:->|\.)\w+)*\(.*\);$")
ASSIGNMENT = re.compile(r"^(\*?[A-Za-z_][\w.]*(?:->[\w.]+|\[[^\]]*\]|\.\w+)*) (?:[-+*/|&^%]|<<|>>)?= .*;$")
STEP = re.compile(r"^(\S+)(?:\+\+|--);$")
CLEANUP = re.compile(r"^(?:\w+_)?(?:free|close|fclose|closedir|flush|fflush|fsync|fdatasync|rename|unlock|unlink|munmap|release|destroy|reset|end|"
                     r"remove|drop|discard|stop|join|decref)(?:_\w+)?\(.*\);$")
KEYWORDS = re.compile(r"^(?:return|break|continue|goto|case|default|else|if|for|while|do|switch|typedef|using|template)\b")
UNITS = {"1000": ("1024", "1000000"), "1024": ("1000",), "1000000": ("1000", "1000000000"), "1000000000": ("1000000",), "60": ("100",), "3600": ("60",)}
SWAPS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&"}
OPERATOR = re.compile(r"(?<=\s)(==|!=|<=|>=|<|>|&&|\|\|)(?=\s)")
SUM = re.compile(r"(?<=[\w)\]]\s)([+-])(?=\s[\w(*&])")
COMPOUND = re.compile(r"(?<=\s)([+-])=(?=\s)")
COUNT = re.compile(r"(?<=[\w)\]])(\+\+|--)|(\+\+|--)(?=[\w(])")
NOT = re.compile(r"(?<![\w)\]=!])!(?=[\w(*])")


def digest(*parts):
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Mutant:
    """One change: characters @start to @end of @file become @text."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    text: str
    before: str
    after: str
    same: int  # how many lines above in the file have the same text

    def name(self):
        """Stays the same when other lines change or move."""
        return digest(self.file, self.kind, self.before, self.after, self.same)


def blank_out(text):
    """The text with comments, strings and preprocessor lines as blanks; every offset stays."""
    return NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def body_lines(code, is_cpp):
    """[(number, offset, line)] of the lines inside functions."""
    out, inside, offset = [], False, 0
    for number, line in enumerate(code.split("\n"), 1):
        if line.rstrip() == "{":
            inside = True
        elif line.startswith("}"):
            inside = False
        elif (inside or is_cpp and line.startswith("\t")) and line.strip():
            out.append((number, offset, line))
        offset += len(line) + 1
    return out


def matching_paren(line, at):
    depth = 0
    for i in range(at, len(line)):
        depth += (line[i] == "(") - (line[i] == ")")
        if not depth:
            return i
    return -1


def conditions(line):
    for m in OPERATOR.finditer(line):
        yield "condition", m.start(), m.end(), SWAPS[m.group(1)]
    for m in re.finditer(r"\b(?:if|while) (\()", line):
        end = matching_paren(line, m.start(1))
        if end > 0:
            yield "condition", m.start(1), end + 1, "(!" + line[m.start(1):end + 1] + ")"
    for m in NOT.finditer(line):
        yield "condition", m.start(), m.end(), ""


def literals(line):
    for m in LITERAL.finditer(line):
        digits, suffix = m.groups()
        value = int(digits)
        if line[:m.start()].endswith("calloc("):
            continue  # room for one more changes nothing
        for other in UNITS.get(digits, ()):
            yield "unit", m.start(), m.end(), other + suffix
        if value >= 256 and not value & (value - 1):
            continue  # the size of a buffer: any other is as good
        is_size = line[:m.start()].endswith("[") and re.search(r"\w \**\w+\[$", line[:m.start()])
        if not is_size:
            yield "bound", m.start(), m.end(), f"{value + 1}{suffix}"
        if value:
            yield "bound", m.start(), m.end(), f"{value - 1}{suffix}"
    for m in re.finditer(r"\bsizeof(\()", line):
        if re.search(r"[ac]lloc\w*\(", line):
            continue  # the allocator rounds up; AddressSanitizer sees those
        end = matching_paren(line, m.start(1))
        if end > 0:
            yield "bound", m.start(), end + 1, f"({line[m.start():end + 1]} - 1)"


def sums(line):
    for m in SUM.finditer(line):
        yield "arithmetic", m.start(), m.end(), "-" if m.group(1) == "+" else "+"
    for m in COMPOUND.finditer(line):
        yield "arithmetic", m.start(), m.end(), "-=" if m.group(1) == "+" else "+="
    for m in COUNT.finditer(line):
        yield "arithmetic", m.start(), m.end(), "--" if m.group(0) == "++" else "++"


def returns(line):
    m = re.search(r"\breturn (.+);$", line.rstrip())
    if not m:
        return
    value = m.group(1)
    start, end = m.span(1)
    if value in ("true", "false"):
        yield "return", start, end, "false" if value == "true" else "true"
    elif value == "0":
        yield "return", start, end, "-1"
    else:
        yield "return", start, end, "0"
        if re.search(r" (?:==|!=|<|>|<=|>=|&&|\|\|) |^!", value):
            yield "return", start, end, f"!({value})"


def is_statement(text):
    return not KEYWORDS.match(text) and bool(CALL.match(text) or ASSIGNMENT.match(text) or STEP.match(text))


def removals(line, previous):
    """A whole statement in one line, or break and continue."""
    text = line.strip()
    start = len(line) - len(line.lstrip())
    if not previous.endswith((";", "{", "}", ")", ":", "else")):
        return
    if is_statement(text):
        yield "cleanup" if CLEANUP.match(text) else "statement", start, start + len(text), ";"
    elif text in ("break;", "continue;"):
        yield "statement", start, start + len(text), ";"


def written_name(text):
    """What a statement changes: the name that is assigned, or the first argument of a call."""
    m = ASSIGNMENT.match(text) or STEP.match(text)
    if m:
        return m.group(1).lstrip("*")
    m = re.match(r"^[\w>.-]+\(&?([A-Za-z_][\w.>-]*)", text)
    return m.group(1) if m else None


def are_dependent(first, second):
    for one, other in ((first, second), (second, first)):
        name = written_name(one)
        if name and re.search(r"(?<![\w.>])" + re.escape(name) + r"(?!\w)", other):
            return True
    return False


def exchange(line, following, previous):
    """Two statements, of which one uses what the other changes, in the other order."""
    first, second = line.strip(), following.strip()
    indent = len(line) - len(line.lstrip())
    if line[:indent] != following[:len(following) - len(second)] or not previous.endswith((";", "{", "}")):
        return
    if first != second and is_statement(first) and is_statement(second) and are_dependent(first, second):
        yield "order", indent, len(line) + 1 + len(following), second + "\n" + line[:indent] + first


def of_line(lines, i):
    """Changes of one line: (kind, start, end, text) with offsets in the line."""
    number, _, line = lines[i]
    previous = lines[i - 1][2].rstrip() if i else "{"
    out = [*conditions(line), *literals(line), *sums(line), *returns(line), *removals(line, previous)]
    if i + 1 < len(lines) and lines[i + 1][0] == number + 1 and not ORDERED.search(lines[i + 1][2]):
        out += exchange(line, lines[i + 1][2], previous)
    return out


def shown(text, start, end):
    """The lines of @text that the range touches, in one line."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return " ".join(text[first:last if last >= 0 else len(text)].split())


def of_file(path, text):
    """[[mutants of one line]]"""
    code = blank_out(text)
    lines = body_lines(code, path.endswith((".hpp", ".cpp")))
    out, seen = [], collections.Counter()
    for i, (number, offset, line) in enumerate(lines):
        seen[line.strip()] += 1
        if ORDERED.search(line) or NO_MEMORY.search(text[offset:offset + len(line)]):
            continue
        found = []
        for kind, start, end, new in of_line(lines, i):
            start, end = offset + start, offset + end
            if kind == "order" and code[start:end] != text[start:end]:
                continue  # a string or a comment would be lost
            if kind == "condition" and len(new) > 3:
                new = f"(!{text[start:end]})"
            elif kind == "return" and new.startswith("!("):
                new = f"!({text[start:end]})"
            elif kind == "bound" and new.startswith("(sizeof"):
                new = f"({text[start:end]} - 1)"
            changed = text[:start] + new + text[end:]
            found.append(Mutant(path, number, kind, start, end, new, shown(text, start, end), shown(changed, start, start + len(new)), seen[line.strip()]))
        if found:
            out.append(found)
    return out


def choose(files, seed, kinds=KINDS):
    """Every line once, with one of its changes, in an order that depends on the seed and on the lines: it stays when others change."""
    chosen = []
    for path, text in sorted(files.items()):
        for line in of_file(path, text):
            line = [m for m in line if m.kind in kinds]
            if line:
                draw = random.Random(digest(seed, path, line[0].before, line[0].same))
                kind = draw.choice(sorted({m.kind for m in line}))
                chosen.append((draw.random(), draw.choice([m for m in line if m.kind == kind])))
    return [mutant for _, mutant in sorted(chosen, key=lambda c: c[0])]


def named(files, names):
    """The mutants with these names."""
    return [m for path, text in sorted(files.items()) for line in of_file(path, text) for m in line if m.name() in names]
