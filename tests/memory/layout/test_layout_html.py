# SPDX-License-Identifier: MIT
"""test_layout_html.py - the file of `mem html`: self-contained, inert, with the data of `mem sim`.

tests/web/test_memory.mjs tests what a browser shows of it.
"""
import base64
import gzip
import hashlib
import html.parser
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "memory-rt"))
from rt import CLEAN, Skip, TOOL, collected, compile, contains, equal, main, test  # noqa: E402

CACHES = ("--cache", "L1=32K,8", "--cache", "LL=256K,16")
VOID = {"meta", "br", "link"}
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Page(html.parser.HTMLParser):
    """The elements of a page: balanced, with their attributes; the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attrs, self.inside = [], [], {"script": [], "style": []}
        self.feed(text)
        self.close()
        equal(self.open, [], "elements that were not closed")

    def handle_starttag(self, tag, attrs):
        self.attrs.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        equal(self.open and self.open[-1], tag, "the element that ends")
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in self.inside:
            self.inside[self.open[-1]].append(data)


def run_tool(*args):
    return subprocess.run([TOOL, *args], capture_output=True, text=True, env=CLEAN)


def page_of(trace, *options):
    r = run_tool("mem", "html", *CACHES, "-o", "-", *options, trace)
    if "built without its pages" in r.stderr:
        raise Skip("built without the pages")
    equal(r.returncode, 0, f"status of mem html: {r.stderr}")
    return r.stdout


def traced(dir, name):
    program = compile(dir, name, "gcc", "-O2", source=HERE / "corpus" / name, out=pathlib.Path(name).stem)
    collected(program, trace=program + ".trace")
    return program + ".trace"


def check_inert(text):
    """One script may run, and nothing is loaded; returns the data."""
    page = Page(text)
    for tag, attrs in page.attrs:
        assert tag not in ("img", "iframe", "object", "svg", "base", "form"), f"<{tag}>"
        for key, value in attrs.items():
            assert not key.startswith("on") and key not in ("src", "style"), f"{tag} {key}={value}"
            assert key != "href" or value in ("#main", "data:,"), f"{tag} {key}={value}"
    csp = [a["content"] for t, a in page.attrs if a.get("http-equiv") == "Content-Security-Policy"]
    equal(len(csp), 1, "content policies")
    equal(len(page.inside["script"]), 2, "the data and the script")
    policy = dict(part.split(" ", 1) for part in csp[0].split("; "))
    equal(policy["default-src"], "'none'", "other sources")
    for kind, element in ("script-src", page.inside["script"][1]), ("style-src", page.inside["style"][0]):
        digest = base64.b64encode(hashlib.sha256(element.encode()).digest()).decode()
        equal(policy[kind], f"'sha256-{digest}'", kind)
    data = next(a for t, a in page.attrs if t == "script")
    equal(data, {"type": "application/octet-stream", "id": "ct-data"}, "the first script")
    return json.loads(gzip.decompress(base64.b64decode(page.inside["script"][0], validate=True)))


def check_contains(page, sim, path=""):
    """Everything that `mem sim` says is in the data of the page, which has more keys and unused fields."""
    if isinstance(sim, dict):
        for key, value in sim.items():
            check_contains(page[key], value, f"{path}.{key}")
    elif isinstance(sim, list):
        if path.endswith(".fields"):
            page = [f for f in page if "thread" in f or f["reads"] + f["writes"]]
        equal(len(page), len(sim), f"entries of {path}")
        for i, value in enumerate(sim):
            check_contains(page[i], value, f"{path}[{i}]")
    else:
        equal(page, sim, path)


@test
def the_page_has_the_data_of_the_simulator(dir):
    for program, options in ("hot_cold.c", ()), ("thread_counters.c", ("-n", "2")), ("union.c", ()):
        trace = traced(dir, program)
        data = check_inert(page_of(trace, *options))
        sim = run_tool("mem", "sim", "-b", "--json", *CACHES, *(options or ("-n", "30")), trace)
        equal(sim.returncode, 0, sim.stderr)
        want = json.loads(sim.stdout)
        # The page has another list of functions, with callers: the same exclusive costs.
        functions = {f["function"]: (f["reads"], f["writes"], f["misses"]) for f in want.pop("functions")}
        equal({f["name"]: (f["reads"], f["writes"], f["misses"]) for f in data["functions"] if f["name"] in functions}, functions, "functions")
        check_contains(data, want)
        equal(data["title"], os.path.basename(trace), "title")
        contains(data["command"][0], pathlib.Path(program).stem)
        assert data["types_of"] >= len(data["types"]) and data["source_lines_of"] >= len(data["source_lines"]), data


@test
def every_field_has_its_place_in_the_type(dir):
    data = check_inert(page_of(traced(dir, "hot_cold.c")))
    particle = next(t for t in data["types"] if t["name"] == "struct particle")
    equal(particle["layout"]["bytes"], 168, "size of the type")
    contains(particle["layout"]["file"], "hot_cold.c")
    fields = {f["name"]: f for f in particle["fields"]}
    assert {"x", "vx", "name[]", "created"} <= set(fields), list(fields)
    equal((fields["x"]["offset"], fields["x"]["size"], fields["x"]["type"]), (40, 8, "double"), "offset, size and type of x")
    equal(particle["misses"][0], data["levels"][0]["misses"], "misses of the only type, and of the level")
    equal(sum(f["cost"] for f in particle["fields"]), particle["cost"], "cost of the fields, and of the type")
    assert abs(sum(t["cost"] for t in data["types"]) - data["cost"]) < 1e-6 * data["cost"], "cost of all types"
    assert all(s["data"] for s in data["source_lines"][:3]) and any("hot_cold.c" in (s["file"] or "") for s in data["source_lines"])


@test
def names_are_text_whatever_is_in_them(dir):
    source = os.path.join(dir, "evil.c")
    quoted = EVIL.replace('"', '\\"')
    with open(source, "w", encoding="ascii") as f:
        f.write("#define _GNU_SOURCE\n#include <pthread.h>\n#include <stdlib.h>\n#include <cacheray.h>\n"
                "int main(void) {\n"
                "\tvolatile int *p = malloc(4000);\n"
                "\tpthread_setname_np(pthread_self(), \"<b>x</b>\");\n"
                f"\tcacheray_rtta_add((void *)p, 4, 1000, \"{quoted}\\x1b[31m\\xff\");\n"
                "\tfor (int i = 0; i < 1000; i++) p[i] = i;\n\treturn 0;\n}\n")
    program = compile(dir, "evil", "gcc", "-O1", source=source)
    trace = os.path.join(dir, "<i>evil&.trace")
    collected(program, EVIL, trace=trace)
    text = page_of(trace, "--title", EVIL)
    data = check_inert(text)
    equal(data["title"], EVIL, "title")
    assert EVIL in data["command"] and any(t["name"] == "<b>x</b>" for t in data["threads"]), data
    assert "\x1b" not in text and "alert(1)" not in text, "a name outside of the data"
    rows = [t for t in data["types"] if t["name"].startswith("<script>")]
    equal([t["writes"] for t in rows], [1000], "accesses of the type")
    check_inert(page_of(trace))


@test
def the_page_goes_where_it_is_told(dir):
    trace = traced(dir, "small.c")
    page_of(trace)
    r = run_tool("mem", "html", *CACHES, trace)
    equal((r.returncode, r.stdout), (0, ""), f"status and output: {r.stderr}")
    contains(r.stderr, f"accesses; wrote {trace}.html\n")
    with open(trace + ".html", encoding="utf-8") as f:
        check_inert(f.read())
    r = run_tool("mem", "html", "-o", os.path.join(dir, "no", "where"), trace)
    equal(r.returncode, 1, "status without a folder")
    contains(r.stderr, "cannot write")
    r = subprocess.run(["sh", "-c", f"cat '{trace}' | '{TOOL}' mem html {' '.join(CACHES)} - | tail -1"],
                       capture_output=True, text=True, env=CLEAN)
    contains(r.stdout, "</html>")
    if os.path.exists("/dev/full"):
        r = run_tool("mem", "html", "-o", "/dev/full", trace)
        equal(r.returncode, 1, "status with a full disk")


if __name__ == "__main__":
    main()
