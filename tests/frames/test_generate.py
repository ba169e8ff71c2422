# SPDX-License-Identifier: MIT
"""test_generate.py - specs, and the code generated from them.

The rules of the layout are stated here a second time, from their description and not from
the code: 50 random specs (300 with COROTRACER_FULL=1) must give the same layout, and the
compiler must give their structs that layout.
"""
import json
import os
import random
import resource
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from harness import TOOL, contains, equal, main, test

FULL = os.environ.get("COROTRACER_FULL") == "1"
HERE = os.path.dirname(os.path.abspath(__file__))
WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def generate(text, *args, folder=None):
    p = subprocess.run([TOOL, "generate", *(["-n"] if folder is None else ["-o", folder]), *args, "-"],
                       input=text, capture_output=True, text=True, timeout=300)
    return p


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


def description(text, *args):
    p = generate(text, "--json", *args)
    if p.returncode:
        raise AssertionError(p.stderr)
    return json.loads(p.stdout)["description"]


# ---- the layout, restated -------------------------------------------------------------

SIZES = {"int": 4, "float": 4, "double": 8, "time": 16, "counter": 8, "int8": 1, "int16": 2,
         "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "uint": 4,
         "bool": 1, "string": 1, "enum": 4}


def cost(sizes, front, room):
    bins, used = 0, room + 1
    for size in [front] + sizes + [4]:
        if used + size > room:
            bins, used = bins + 1, size
        else:
            used += size
    return bins


def ordered(members, front, size):
    room = max([4] + [size(m) for m in members])
    order = sorted(members, key=lambda m: -size(m))
    for _ in members:
        turned = order[-1:] + order[:-1]
        if cost([size(m) for m in turned], front, room) > cost([size(m) for m in order], front, room):
            break
        order = turned
    return order


def expanded(member):
    interval, kind, name, _ = member
    ends = ["_start", "_end"] if interval else [""]
    if kind == "counter":
        return [f"{name}_{i}{end}" for i in range(3) for end in ends]
    return [name + end for end in ends]


def layout(frames, ticks=False):
    """[(frame, [(name, offset, size)])] and the frame's size."""
    def size(member):
        return 8 if ticks and member[1] == "time" else SIZES[member[1]]

    front = 8 if len(frames) > 1 else 4
    out = []
    for name, members in frames:
        fields = [("__ppt_seqno", 0, 4)] + ([("__ppt_type", 4, 4)] if len(frames) > 1 else [])
        at = front
        for m in ordered(members, front, size):
            for field in expanded(m):
                gap = -at % size(m)
                if gap:
                    fields.append((f"__pad_{at}", at, gap))
                at += gap
                fields.append((field, at, size(m) * (m[3] or 1)))
                at += size(m) * (m[3] or 1)
        out.append((name, fields, at))
    end = max(at for _, _, at in out)
    end += -end % 4
    for _, fields, at in out:
        if at < end:
            fields.append((f"__ppt_endpad_{end - at}", at, end - at))
        fields.append(("__ppt_seqno_back", end, 4))
    return [(name, fields) for name, fields, _ in out], end + 4


def told(desc):
    frames = desc["buffer"]["frames"] if "buffer" in desc else desc["frames"]
    return [(f["_flName"], [(e["_lName"], e["_lOffset"], e["_lSize"]) for e in f["_flLayout"]])
            for f in frames]


def random_frames(rng, classic):
    kinds = ["int", "float", "double", "time", "counter"]
    if not classic:
        kinds += ["int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "string",
                  "enum", "uint", "int32"]
    frames = []
    for i in range(rng.randint(1, 4)):
        members = []
        for j in range(rng.randint(0, 9)):
            kind = rng.choice(kinds)
            interval = kind not in ("bool", "string", "enum") and rng.random() < 0.4
            length = None
            if kind == "string" or (not classic and not interval and kind not in ("time", "counter")
                                    and rng.random() < 0.2):
                length = rng.randint(1, 20)
            members.append((interval, kind, f"m{j}", length))
        frames.append((f"f{i}", members))
    return frames


def spec_of(frames, language="C", buffer="B", options=()):
    lines = [f"emit {language};", f"buffer {buffer} 64;", *[f"option {o};" for o in options],
             "enum colour { red, green = 3 };"]
    for name, members in frames:
        lines.append(f"frame {name} {{")
        for interval, kind, member, length in members:
            lines.append("\t" + ("interval " if interval else "") +
                         ("enum colour" if kind == "enum" else kind) + " " + member +
                         (f"[{length}]" if length else "") + ";")
        lines.append("}")
    return "\n".join(lines) + "\n"


@test
def the_existing_minimal_spec_has_its_layout(_dir):
    with open(os.path.join(HERE, "minimal.spec"), encoding="utf-8") as f:
        text = f.read()
    desc = description(text, "--dialect", "ppt")
    first = [("__ppt_seqno", 0, 4), ("__ppt_type", 4, 4), ("b", 8, 4), ("c", 12, 4),
             ("duration_start", 16, 16), ("duration_end", 32, 16)]
    first += [(f"events_{i}_{end}", 48 + 16 * i + 8 * (end == "end"), 8)
              for i in range(3) for end in ("start", "end")]
    first += [("a", 96, 4), ("__ppt_seqno_back", 100, 4)]
    second = [("__ppt_seqno", 0, 4), ("__ppt_type", 4, 4)]
    second += [(f"foos_{i}_{end}", 8 + 16 * i + 8 * (end == "end"), 8)
               for i in range(3) for end in ("start", "end")]
    second += [("__ppt_endpad_44", 56, 44), ("__ppt_seqno_back", 100, 4)]
    equal(told(desc), [("first", first), ("second", second)], "the layout")
    equal(desc["abi"], "1.0.0", "abi")
    equal(desc["tags"], [], "tags")
    equal(desc["metadata"], [], "metadata")
    equal(desc["emit"]["_eTimeRep"], {"tag": "ETimeSpec", "contents": "ETimeClockRealtime"}, "clock")
    equal(desc["emit"]["_eOptions"], [{"tag": "EDebug", "contents": True}], "options")
    equal(desc["corotracer"]["stride"], 104, "stride")


def all_of(jobs):
    """Run the jobs two at a time; raises the first failure."""
    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda job: job(), jobs):
            pass


@test
def random_specs_are_laid_out_by_the_rules(dir):
    rng = random.Random(20170302)
    compilers = [c for c in ("gcc", "clang") if shutil.which(c)]

    def check(i, frames):
        folder = os.path.join(dir, str(i))
        os.mkdir(folder)
        ticks = i % 5 == 0
        language = "C++" if i % 3 == 0 else "C"
        text = spec_of(frames, language, options=["time counter"] if ticks else [])
        p = generate(text, "--json", folder=folder)
        equal(p.returncode, 0, p.stderr + text)
        wanted, size = layout(frames, ticks)
        desc = json.loads(p.stdout)["description"]
        equal(told(desc), wanted, text)
        equal(desc["metadata"]["frame_size"], size, "size of\n" + text)
        equal(desc["metadata"]["stride"], size + -size % 8, "stride of\n" + text)
        if i % 7 == 0 or i < 20: # alternating between dialects, languages and clocks
            compile_asserts(folder, language, compilers[(i + i // 7) % len(compilers)], wanted)

    specs = [random_frames(rng, classic=i % 2 == 0) for i in range(300 if FULL else 50)]
    all_of([partial(check, i, frames) for i, frames in enumerate(specs)])


def compile_asserts(folder, language, compiler, frames):
    """The compiler's layout of the struct equals that of the rules."""
    cpp = language == "C++"
    lines = ['#include "ppt-B.hh"' if cpp else '#include "ppt-B.h"']
    for name, fields in frames:
        for field, offset, size in fields:
            struct = f"ppt::B::{name}" if cpp else f"struct ppt_B_{name}"
            said = "static_assert" if cpp else "_Static_assert"
            lines.append(f"{said}(offsetof({struct}, {field}) == {offset}, \"\");")
            lines.append(f"{said}(sizeof((({struct} *)0)->{field}) == {size}, \"\");")
    compiler = {"gcc": "g++", "clang": "clang++"}[compiler] if cpp else compiler
    p = subprocess.run([compiler, "-std=c++17" if cpp else "-std=c11", *WARN, "-fsyntax-only", "-x",
                        "c++" if cpp else "c", "-I", folder, "-"], input="\n".join(lines) + "\n",
                       capture_output=True, text=True, timeout=300)
    equal(p.returncode, 0, p.stderr)


@test
def generated_code_compiles_without_a_warning(dir):
    rng = random.Random(3)
    frames = [("all", [(True, "time", "took", None), (True, "counter", "work", None),
                       (False, "counter", "now", None), (False, "int8", "a", None),
                       (False, "uint16", "b", 3), (False, "string", "c", 5), (False, "bool", "d", None),
                       (False, "float", "e", None), (False, "double", "f", 2), (False, "enum", "g", None),
                       (False, "enum", "h", 2), (True, "uint64", "i", None), (False, "time", "when", None)]),
              ("little", [(False, "int", "x", None)]), ("nothing", [])]
    variants = [(language, time, threads, resize, dialect)
                for language in ("C", "C++") for time in ("timespec boottime", "timeval", "counter")
                for threads in ("true", "false") for resize, dialect in
                (("on", "seed"), ("off", "seed"), ("off", "ppt"))]

    def check(i, used):
        language, time, threads, resize, dialect = variants[i]
        folder = os.path.join(dir, str(i))
        os.mkdir(folder)
        options = [f"time {time}", f"runtime multithread {threads}", f"buffer resize {resize}",
                   f"debug {'true' if i % 4 == 0 else 'false'}", f"native_counter {'true' if i % 3 else 'false'}"]
        p = generate(spec_of(used, language, options=options), "--dialect", dialect, folder=folder)
        equal(p.returncode, 0, p.stderr)
        cpp = language == "C++"
        compilers = ("g++", "clang++") if cpp else ("gcc", "clang")
        for k, compiler in enumerate(compilers):
            if (i + k) % 2 or not shutil.which(compiler):
                continue
            p = subprocess.run([compiler, "-std=c++17" if cpp else "-std=c11", *WARN, f"-O{i // 2 % 3}", "-c",
                                "ppt-B.cc" if cpp else "ppt-B.c", "-o", "/dev/null"],
                               cwd=folder, capture_output=True, text=True, timeout=300)
            equal((p.returncode, p.stderr), (0, ""), f"{compiler} on {variants[i]}")

    used = [frames if i % 2 else random_frames(rng, classic=False) for i in range(len(variants))]
    # Of the variants every fifth: each language, clock, threading and dialect is among them.
    all_of([partial(check, i, frames) for i, frames in enumerate(used) if FULL or i % 5 == 0])


# ---- errors -----------------------------------------------------------------------------

HEAD = "emit C;\nbuffer B 8;\n"
ERRORS = [
    # text, line, column, a part of the message
    ("", 1, 1, "the language is missing"),
    ("emit C;\n", 2, 1, "no frames"),
    ("emit C;\nemit C++;\nframe f { int a; }", 2, 1, "was said before"),
    ("emit Pascal;", 1, 6, "expected C or C++, got 'Pascal'"),
    ("emit C", 1, 7, "expected ';', got the end"),
    ("frame f { int a; }", 1, 1, "the language is missing"),
    ("emit C; buffer B 8; buffer D 9;", 1, 21, "was said before"),
    ("emit C; buffer B 0;", 1, 18, "from 1 to"),
    ("emit C; buffer B 99999999999999999999;", 1, 18, "from 1 to"),
    ("emit C; buffer B 12x;", 1, 20, "not a digit"),
    ("emit C; buffer B;", 1, 17, "the buffer's size"),
    ("emit C; buffer _B 8;", 1, 16, "does not begin with '_'"),
    ("emit C; buffer frame 8;", 1, 16, "a word of this language"),
    ("emit C; buffer class 8;", 1, 16, "means something else"),
    ("emit C; buffer a__b 8;", 1, 16, "belongs to the compiler"),
    ("emit C; buffer it's 8;", 1, 18, "ASCII letters"),
    ("emit C; buffer n\u00e9 8;", 1, 17, "ASCII letters"),
    (HEAD + "option colour red;", 3, 8, "expected an option"),
    (HEAD + "option time;", 3, 12, "timespec, timeval or counter"),
    (HEAD + "option time timespec noon;", 3, 22, "expected a clock"),
    (HEAD + "option time timeval;\noption time timeval;", 4, 8, "was said before"),
    (HEAD + "option runtime multithread maybe;", 3, 28, "true or false"),
    (HEAD + "option runtime multithread true; option runtime multithread true;", 3, 41, "said before"),
    (HEAD + "option runtime single true;", 3, 16, "expected multithread"),
    (HEAD + "option buffer resize perhaps;", 3, 22, "on or off"),
    (HEAD + "option buffer size 3;", 3, 15, "expected resize"),
    (HEAD + "option debug;", 3, 13, "true or false"),
    (HEAD + "option tag \"a;", 3, 12, "no closing quote"),
    (HEAD + "option debug true frame f { }", 3, 19, "expected ';'"),
    (HEAD + "enum e { };", 3, 10, "without values"),
    (HEAD + "enum e { a, a };", 3, 13, "in this enum before"),
    (HEAD + "enum e { a = 3000000000 };", 3, 14, "from 0 to"),
    (HEAD + "enum e { a = 2147483647, b };", 3, 26, "does not fit"),
    (HEAD + "enum e { a }; enum e { b };", 3, 20, "of this name before"),
    (HEAD + "frame f { int a }", 3, 17, "expected ',' or ';'"),
    (HEAD + "frame f { int; }", 3, 14, "expected a name"),
    (HEAD + "frame f { integer a; }", 3, 11, "expected a type"),
    (HEAD + "frame f { int a, a; }", 3, 18, "in this frame before"),
    (HEAD + "frame f { interval int a; int a_start; }", 3, 31, "both become 'a_start'"),
    (HEAD + "frame f { counter a; int a_1; }", 3, 26, "both become 'a_1'"),
    (HEAD + "frame f { time a; int snapshot_a; }", 3, 23, "both become"),
    (HEAD + "frame f { int while; }", 3, 15, "means something else"),
    (HEAD + "frame f { int mean; }", 3, 15, "a word of this language"),
    (HEAD + "frame f { int save; }", 3, 15, "'save'"),
    (HEAD + "frame f { int a; } frame f { int a; }", 3, 26, "a frame 'f' before"),
    (HEAD + "frame f { int a; };\nframe g { int a; }", 3, 19, "expected frame or the end"),
    (HEAD + "frame f { int a; }\nhello", 4, 1, "expected frame or the end"),
    (HEAD + "frame f { int a; }\noption debug true;", 4, 1, "comes before the first frame"),
    (HEAD + "frame f { int a;", 3, 17, "expected a member or '}'"),
    (HEAD + "frame f int a; }", 3, 9, "expected '{'"),
    (HEAD + "frame { int a; }", 3, 7, "the frame's name"),
    (HEAD + "frame f { string s; }", 3, 18, "a string has a length"),
    (HEAD + "frame f { string s[0]; }", 3, 20, "from 1 to 65536"),
    (HEAD + "frame f { int a[3; }", 3, 18, "expected ']'"),
    (HEAD + "frame f { time t[3]; }", 3, 17, "arrays of times"),
    (HEAD + "frame f { interval int a[3]; }", 3, 25, "not a length"),
    (HEAD + "frame f { interval bool a; }", 3, 20, "intervals of this type"),
    (HEAD + "frame f { enum e a; }", 3, 16, "declared before"),
    (HEAD + "/* a /* b */\nframe f { int a; }", 3, 1, "comment has no end"),
    (HEAD + "frame f { int a; } @", 3, 20, "does not belong here"),
    (HEAD + "frame f { int " + "x" * 101 + "; }", 3, 15, "more than 100"),
    ("emit C++; frame f { int f; }", 1, 25, "called like its class"),
    # Specs that would not compile.
    (HEAD + "frame handle { int a; }", 3, 7, "generated C has itself"),
    (HEAD + "enum handle { a };\nframe f { int a; }", 3, 6, "generated C has itself"),
    ("emit C++; frame attached { int a; }", 1, 17, "generated C++ has itself"),
    ("enum attached { a }; emit C++; frame f { int a; }", 1, 6, "generated C++ has itself"),
    ("emit C++; frame save { int a; }", 1, 17, "generated C++ has itself"),
    (HEAD + "enum a { b_c }; enum a_b { c };\nframe f { int a; }", 3, 28, "'ppt_B_a_b_c' as well"),
    (HEAD + "enum a_snapshot { x };\nframe a { time x; }", 4, 16, "'ppt_B_a_snapshot_x' as well"),
    (HEAD + "frame a { time x_save; }\nframe a_snapshot_x { int b; }", 4, 7, "'ppt_B_a_snapshot_x_save'"),
    (HEAD + "frame a { time b; interval time c; } frame a_snapshot { int b; }\nx", 4, 1, "or the end"),
]


@test
def errors_are_told_by_their_place(_dir):
    for text, line, column, part in ERRORS:
        p = generate(text, "--json")
        equal(p.returncode, 1, f"status of {text!r}")
        equal(p.stdout, "", f"output of {text!r}")
        first, source, caret = p.stderr.splitlines()[:3]
        contains(first, f"-:{line}:{column}: ")
        contains(first, part)
        wanted = (text.split("\n") + [""])[line - 1]
        if len(wanted.encode()) < 120:
            equal(source, "  " + wanted, "the line")
            equal(caret.index("^"), column + 1, f"the caret below {source!r}")


@test
def comments_and_options_are_as_in_the_existing_language(_dir):
    desc = description("/* a /* nested */ comment */ emit C++; // to the end\n"
                       "option tag a b; option tag \"x y\" \"\\\"; option tag k;\n"
                       "option native_counter True; option debug false; option debug true;\n"
                       "option time timespec monotonic_course;\nframe f { int a; }\n")
    emit = desc["buffer"]["emit"]
    equal(emit["_eBuffer"], {"ebName": "unlisted", "ebMinElements": None}, "buffer")
    equal(desc["tags"], [["a", "b"], ["x y", "\\"], ["k", ""]], "tags")
    equal(emit["_eOptions"], [{"tag": "ENativeCounter", "contents": True},
                              {"tag": "EDebug", "contents": True}], "options")
    equal(emit["_eTimeRep"]["contents"], "ETimeClockMonotonicCoarse", "clock")
    equal(emit["_eRuntime"], {"erMultithread": False}, "threads")


@test
def options_of_several_words_may_follow_the_spec(dir):
    spec = dir + "/f.spec"
    with open(spec, "w", encoding="utf-8") as f:
        f.write("emit C;\noption time timeval;\nframe f { time t; }\n")
    words = ("--tag", "b", "2", "--option", "runtime", "multithread", "true")
    for args in ((spec, *words), (*words, spec)):
        p = subprocess.run([TOOL, "generate", "-n", "--json", *args], capture_output=True, text=True, timeout=300)
        equal((p.returncode, p.stderr), (0, ""), f"status, stderr of {args}")
        equal(json.loads(p.stdout)["description"]["tags"], [["b", "2"]], f"tags of {args}")
        contains(p.stdout, '"erMultithread":true')


@test
def the_command_line_overrides_the_spec(_dir):
    text = "emit C;\noption time timeval;\noption tag a 1;\nframe f { time t; }\n"
    desc = description(text, "--option", "time", "timespec", "boottime", "--option", "buffer resize on",
                       "--tag", "b", "2", "--tag", "c=3", "--option", "runtime", "multithread", "true")
    emit = desc["buffer"]["emit"]
    equal(emit["_eTimeRep"]["contents"], "ETimeClockBoottime", "clock")
    equal(emit["_eRuntime"], {"erMultithread": True}, "threads")
    equal(desc["tags"], [["a", "1"], ["b", "2"], ["c", "3"]], "tags")
    equal(desc["metadata"]["resize"], True, "resize")
    desc = description(text, "--option", "time counter")
    entry = desc["buffer"]["frames"][0]["_flLayout"][-2]
    equal(entry["_lKind"]["tag"], "LKPadding", "what an older reader sees of ticks")
    equal(entry["ext"]["type"], "ticks", "what a newer one sees")
    p = generate(text, "--option", "time never")
    equal(p.returncode, 1, "status")
    contains(p.stderr, "--option:1:6: ")
    p = generate(text, "--dialect", "ppt", "--option", "buffer resize on")
    equal(p.returncode, 1, "status")
    contains(p.stderr, "knows no resizing")


@test
def files_go_where_they_are_wanted(dir):
    text = "emit C;\nbuffer B default;\nframe f { int a; }\n"
    equal(generate(text, "--prefix", "my_", folder=dir).returncode, 0, "status")
    equal(sorted(os.listdir(dir)), ["my_B.c", "my_B.h"], "files")
    before = read(dir, "my_B.c")
    contains(before, '#include "my_B.h"')
    # An error leaves the files unchanged.
    equal(generate(text + "x", "--prefix", "my_", folder=dir).returncode, 1, "status")
    equal(read(dir, "my_B.c"), before, "the file")
    p = generate(text, folder=os.path.join(dir, "nowhere"))
    equal(p.returncode, 1, "status")
    contains(p.stderr, "nowhere")
    p = generate(text, "--prefix", "a/b", folder=dir)
    equal(p.returncode, 2, "status")
    equal(sorted(os.listdir(dir)), ["my_B.c", "my_B.h"], "files")


@test
def both_files_are_new_or_none(dir):
    text = "emit C;\nbuffer B default;\nframe f { int a; }\n"
    equal(generate(text, folder=dir).returncode, 0, "status")
    before = [read(dir, name) for name in ("ppt-B.h", "ppt-B.c")]
    # Room for the header, and not for the source: as on a disk that becomes full.
    room = len(before[0]) + 2000
    assert room < len(before[1]), (room, len(before[1]))
    p = subprocess.run([TOOL, "generate", "-o", dir, "-"], input=text.replace("int a", "double other"),
                       capture_output=True, text=True, timeout=300, restore_signals=False, # SIGXFSZ stays ignored
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)))
    equal(p.returncode, 1, "status")
    contains(p.stderr, "cannot write")
    equal(sorted(os.listdir(dir)), ["ppt-B.c", "ppt-B.h"], "files")
    equal([read(dir, name) for name in ("ppt-B.h", "ppt-B.c")], before, "what is in them")


main()
