# SPDX-License-Identifier: MIT
"""test_layout_html.py - the page: complete, self-contained, accessible, and inert for any names in it."""
import html.parser
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "memory-rt"))
from rt import CLEAN, TOOL, collected, compile, contains, equal, main, test  # noqa: E402

CACHES = ("--cache", "L1=32K,8", "--cache", "LL=256K,16")
VOID = {"meta", "br"}
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Page(html.parser.HTMLParser):
    """The tree as far as the tests need it: balanced, with its content."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attrs, self.texts = [], [], [], []
        self.rows = []
        self.feed(text)
        self.close()
        equal(self.open, [], "elements that were not closed")

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attrs.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        equal(self.open and self.open[-1], tag, "the element that ends")
        self.open.pop()

    def handle_data(self, data):
        self.texts.append(data)
        if self.rows and any(t in ("td", "th") for t in self.open):
            self.rows[-1][-1] += data

    @property
    def text(self):
        return "".join(self.texts)


def page_of(trace, *options):
    r = subprocess.run([TOOL, "mem", "html", *CACHES, "-o", "-", *options, trace], capture_output=True, text=True,
                       env=CLEAN)
    equal(r.returncode, 0, f"status of mem html: {r.stderr}")
    return r.stdout


def traced(dir, name):
    program = compile(dir, name, "gcc", "-O2", source=HERE / "corpus" / name, out=pathlib.Path(name).stem)
    collected(program, trace=program + ".trace")
    return program + ".trace"


def check_inert(text):
    page = Page(text)
    for tag, attrs in page.attrs:
        assert tag not in ("script", "img", "iframe", "object", "link", "svg", "base", "form"), f"<{tag}>"
        for key, value in attrs.items():
            assert not key.startswith("on"), f"{tag} {key}={value}"
            if key in ("href", "src"):
                assert re.fullmatch(r"#t\d+", value), f"{tag} {key}={value}"
    csp = [a["content"] for t, a in page.attrs if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    equal(len(csp), 1, "content policies")
    contains(csp[0], "default-src 'none'")
    assert "script" not in csp[0], csp
    assert "http:" not in text and "https:" not in text and "url(" not in text, "nothing from elsewhere"
    return page


@test
def the_page_is_whole_and_says_what_the_simulator_says(dir):
    trace = traced(dir, "hot_cold.c")
    page = check_inert(page_of(trace))
    sim = subprocess.run([TOOL, "mem", "sim", "--json", *CACHES, trace], capture_output=True, text=True, env=CLEAN,
                         check=True).stdout
    misses = re.search(r'"misses":\s*(\d+)', sim)
    for heading in ("Caches", "Whose misses they are", "Layouts", "Shared lines", "Source lines", "Threads"):
        contains(page.text, heading)
    rows = {row[0]: row for row in page.rows if row}
    particle = rows["struct particle"]
    level = next(row for name, row in rows.items() if name.startswith("L1 "))
    equal(particle[3], level[2], "misses of the only type, and of the level")
    assert misses, sim[:300]
    contains(page.text, "hot_cold.c:")
    # Every field is a block that the keyboard can reach, and a row of a table.
    blocks = [a for t, a in page.attrs if t == "div" and a.get("class", "").startswith("f h")]
    assert len(blocks) >= 10 and all(b.get("tabindex") == "0" for b in blocks), blocks
    for field in ("x", "vx", "name[]", "created"):
        assert field in rows, f"{field} in {list(rows)}"
    equal((rows["x"][2], rows["x"][3]), ("40", "8"), "offset and bytes of x")


@test
def fields_that_threads_fight_for_are_named(dir):
    page = check_inert(page_of(traced(dir, "thread_counters.c")))
    contains(page.text, "by false sharing")
    contains(page.text, "took it from")
    assert {"counters[0].hits", "counters[1].hits"} <= {row[0] for row in page.rows if row}, page.rows


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
    page = check_inert(text)
    contains(page.text, "<script>alert(1)</script>")
    assert "\x1b" not in text, "an escape character"
    rows = [row for row in page.rows if row and row[0].startswith("<script>")]
    assert rows and rows[0][2] == "1,000", page.rows
    check_inert(page_of(trace))


@test
def the_page_goes_where_it_is_told(dir):
    trace = traced(dir, "small.c")
    r = subprocess.run([TOOL, "mem", "html", *CACHES, trace], capture_output=True, text=True, env=CLEAN)
    equal((r.returncode, r.stdout), (0, ""), f"status and output: {r.stderr}")
    with open(trace + ".html", encoding="utf-8") as f:
        check_inert(f.read())
    r = subprocess.run([TOOL, "mem", "html", "-o", os.path.join(dir, "no", "where"), trace], capture_output=True,
                       text=True, env=CLEAN)
    equal(r.returncode, 1, "status without a folder")
    contains(r.stderr, "cannot write")
    r = subprocess.run(["sh", "-c", f"cat '{trace}' | '{TOOL}' mem html {' '.join(CACHES)} - | tail -1"],
                       capture_output=True, text=True, env=CLEAN)
    contains(r.stdout, "</html>")
    if os.path.exists("/dev/full"):
        r = subprocess.run([TOOL, "mem", "html", "-o", "/dev/full", trace], capture_output=True, text=True, env=CLEAN)
        equal(r.returncode, 1, "status with a full disk")


if __name__ == "__main__":
    main()
