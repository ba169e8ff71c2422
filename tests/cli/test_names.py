# SPDX-License-Identifier: MIT
"""test_names.py - names from hostile programs: kept whole, never a formula, no hidden characters.

A real program names its coroutines, the tool records and exports them, and other programs (the csv
and sqlite3 modules, a JSON and an XML parser) read the result.
"""
import csv
import shutil
import sqlite3
import xml.etree.ElementTree
import zlib

from harness import *  # noqa: E402

NAMED_TARGET = os.environ.get("NAMED_TARGET", "build/tests/named_target")
LONG = ["n" * n for n in (1, 31, 32, 33, 60, 199)] + ["\u7d05" * 11, "worker of the connection to db-7.example.org:5432/inventory"]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "''-1", '=HYPERLINK("http://x","y")']
PLAIN = ["plain", "it's", "'quoted'", "a=b", "1-2", "\u2212 5", " =1"]
BIDI = ["a\u202eb", "a\u2066b", "zero\u200bwidth", "\u061cmark", "esc\x1b[2J", "c1\x9b31m", "bom\ufeff"]


def record(dir, name, names, left=()):
    trace = os.path.join(dir, name)
    status, _, err = tool("run", "-q", "--fail-on-loss", "-o", trace, "--", NAMED_TARGET, *names, "left", *left)
    equal(status, 0, f"status of run: {err}")
    return trace


def names_in_csv(dir, trace, *options):
    out = os.path.join(dir, "out.csv")
    status, _, err = tool("export", "csv", "--full", *options, "-i", trace, "-o", out)
    equal(status, 0, f"status of export: {err}")
    with open(os.path.join(dir, "out.coroutines.csv"), encoding="utf-8", newline="") as f:
        return sorted(row["name"] for row in csv.DictReader(f))


def names_in_sqlite(dir, trace, *options):
    out = os.path.join(dir, "out.sqlite")
    status, _, err = tool("export", "sqlite", "--full", *options, "-i", trace, "-o", out)
    equal(status, 0, f"status of export: {err}")
    db = sqlite3.connect(out)
    names = sorted(row[0] for row in db.execute("SELECT name FROM coro_trace_events_coroutines"))
    db.close()
    return names


def guarded(name):
    return "'" + name if name.lstrip("'")[:1] in tuple("=+-@\t\r\n") else name


def as_it_was(cell):
    """What docs/export.md advises a reader to do."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'")[:1] in tuple("=+-@\t\r\n") else cell


# ---- number --------------------------------------------------------------------------------


@test
def each_of_many_names_is_kept(dir):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "view"))
    import bundle
    names = [f"{i:05x}." for i in range(70000)]
    trace, page = record(dir, "t.ct", names, left=("the last one",)), os.path.join(dir, "t.html")
    equal(tool("html", "-q", trace, "-o", page)[0], 0, "status of html")
    page = bundle.Bundle(page)
    equal({page.strings[row["name"]] for row in page.coroutines().values()}, set(names) | {"the last one"}, "names of the page")


# ---- length --------------------------------------------------------------------------------


@test
def a_long_name_is_whole_in_every_table(dir):
    """For a coroutine that was not destroyed, the region keeps 32 bytes of the name; the create
    event has all of it."""
    for trace in ("t.jsonl", "t.ctf"):
        path = record(dir, trace, LONG, LONG)
        for make in (names_in_csv, names_in_sqlite):
            equal(make(dir, path), sorted(LONG + LONG), f"names of {trace}")
        status, out, _ = tool("info", "--json", path)
        equal(status, 0, "status of info")
        left = json.loads(out)["sidecar"]["not_ended_first"]
        for one in left:
            equal(one["name"] in LONG, True, f"name {one['name']!r} of one that is left")


def unpacked(data):
    """The packets of a Perfetto file, whose compressed parts are zlib streams."""
    out = b""
    while (at := data.find(b"\x78\x01")) >= 0:
        stream = zlib.decompressobj()
        out += stream.decompress(data[at:])
        data = stream.unused_data
    return out


@test
def a_long_name_is_whole_for_viewers_and_other_formats(dir):
    path = record(dir, "t.jsonl", LONG, LONG)
    for kind, name in (("chrome", "t.json"), ("perfetto", "t.perfetto"), ("jsonl", "again.jsonl")):
        out = os.path.join(dir, name)
        status, _, err = tool("export", kind, "-i", path, "-o", out)
        equal(status, 0, f"status of export {kind}: {err}")
        data = b""
        for suffix in ("", ".meta"):
            if os.path.exists(out + suffix):
                with open(out + suffix, "rb") as f:
                    data += f.read()
        data = unpacked(data) if kind == "perfetto" else data
        for one in LONG[3:]:
            text = one.encode() if kind != "chrome" or one.isascii() else one.encode()
            if text not in data and json.dumps(one).strip('"').encode() not in data:
                raise AssertionError(f"{one!r} is not in the export to {kind}")


# ---- formulas ------------------------------------------------------------------------------


@test
def a_name_that_looks_like_a_formula_is_none_in_a_spreadsheet(dir):
    path = record(dir, "t.jsonl", FORMULAS, PLAIN)
    for make in (names_in_csv, names_in_sqlite):
        got = make(dir, path)
        equal(got, sorted(guarded(n) for n in FORMULAS + PLAIN), "names")
        for name in got:
            equal(name[:1] in tuple("=+-@\t\r\n"), False, f"{name!r} is a formula")
        equal(sorted(map(as_it_was, got)), sorted(FORMULAS + PLAIN), "names as they were")
        equal(make(dir, path, "--no-formula-guard"), sorted(FORMULAS + PLAIN), "names without the guard")


@test
def a_command_line_client_guards_too(dir):
    if not shutil.which("sqlite3"):
        raise Skip("there is no sqlite3")
    path = record(dir, "t.jsonl", FORMULAS, PLAIN)
    equal(names_in_sqlite(dir, path, "--db-cli", "sqlite3"), sorted(guarded(n) for n in FORMULAS + PLAIN), "names")


@test
def numbers_are_not_touched(dir):
    path = record(dir, "t.jsonl", ["=1"])
    names_in_csv(dir, path)
    for name in ("out.csv", "out.details.csv"):
        with open(os.path.join(dir, name), encoding="utf-8") as f:
            if "'" in f.read():
                raise AssertionError(f"an apostrophe in {name}")


# ---- hidden characters ----------------------------------------------------------------------

UNSAFE = [chr(c) for c in [*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2070),
                           0xFEFF] if chr(c) not in "\n\t"]


def is_safe(text, what):
    for c in UNSAFE:
        if c in text:
            raise AssertionError(f"{what} has U+{ord(c):04X}: {text[max(0, text.index(c) - 40):text.index(c) + 40]!r}")


@test
def no_form_for_people_shows_a_character_that_hides(dir):
    path = record(dir, "t.jsonl", BIDI, BIDI)
    for form in ((), ("--text",), ("--junit",), ("--sarif",)):
        status, out, err = tool("report", *form, path)
        equal(status, 0, f"status of report {form}: {err}")
        is_safe(out, f"report {form}")
        if form == ():
            contains(out, "u202e")
    is_safe(tool("info", path)[1], "info")
    status, out, _ = tool("report", "--junit", path)
    xml.etree.ElementTree.fromstring(out)


@test
def json_is_exact(dir):
    path = record(dir, "t.jsonl", BIDI, BIDI)
    _, out, _ = tool("report", "--json", path)
    found = [f["example"]["name"] for f in json.loads(out)["findings"] if "example" in f]
    equal(bool(found), True, "there are findings")
    for name in found:
        equal(name in BIDI, True, f"{name!r}")


@test
def a_name_with_a_line_end_makes_no_rule(dir):
    """A finding about a kind of coroutine has the name in its rule."""
    path = os.path.join(dir, "t.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        for i in range(2000):
            f.write(f'{{"probe_id":1,"tid":{7 + i // 2 % 2},"addr":"0x0000000000000000","seq":2,"is_active":{"false" if i % 2 else "true"},'
                    f'"ts":{10**9 + i * 1000}}}\n')
    with open(path + ".meta", "w", encoding="utf-8") as f:
        f.write('{"type":"run","format":1,"tool":"t","command":["x"],"pid":5,"start_ts":1,"start_realtime":7,"arch":"x","stations":1}\n'
                '{"type":"birth","ts":5,"probe_id":1,"tid":7,"name":"x\\n*:*y"}\n')
    status, out, err = tool("report", "--gen-suppressions", path)
    equal(status, 0, f"status: {err}")
    contains(out, "migration:kind:x")
    for line in out.splitlines():
        equal(line.startswith("*:"), False, f"a rule of the program's: {line!r}")


@test
def a_message_does_not_steer_the_terminal(dir):
    status, _, err = tool("info", os.path.join(dir, "no\x1b[2J\u202esuch"))
    equal(status, 1, "status")
    is_safe(err, "the message")


if __name__ == "__main__":
    main()
