# SPDX-License-Identifier: MIT
"""test_fields.py - accesses are attributed to their fields, and to no other."""
import functools
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "memory-rt"))
from rt import BUILT, CLEAN, FULL, TOOL, collected, compile, compiler_ends, contains, each_compiler, each_family, equal, is_clang, main, test  # noqa: E402

CACHES = ("--cache", "L1=32K,8", "--cache", "LL=256K,8")


def traced_in(dir, name, cc, *options, cxx=False):
    program = compile(dir, name, cc, *options, cxx=cxx, source=HERE / "programs" / name,
                      out=f"{name}-{cc}{'-'.join(options)}")
    trace = program + ".trace"
    collected(program, trace=trace)
    return trace


@functools.cache
def built_and_traced(*words, **kwargs):
    return traced_in(BUILT.name, *words, **kwargs)


def traced(name, cc, *options, cxx=False):
    """A trace of a program, which is built and run once for all cases."""
    return built_and_traced(name, cc, *(options or ("-O1",)), cxx=cxx)


@functools.cache
def layout(trace, *options):
    r = subprocess.run([TOOL, "mem", "layout", "--json", "--top", "32", *CACHES, *options, trace],
                       capture_output=True, text=True, env=CLEAN)
    equal(r.returncode, 0, f"status of mem layout: {r.stderr}")
    return json.loads(r.stdout)


def fields(result, name):
    """{field: (reads, writes)} of those that were used"""
    types = [t for t in result["types"] if t["type"] == name]
    equal(len(types), 1, f"types called {name} among {[t['type'] for t in result['types']]}")
    return {f["name"]: (f["reads"], f["writes"]) for f in types[0]["fields"] if f["reads"] or f["writes"]}


def check_c(result, by_code=True):
    equal(fields(result, "struct plain"), {
        "tag": (0, 100), "a": (200, 0), "pos.x": (0, 30), "pos.y": (0, 40), "whole": (0, 50), "half": (0, 60),
        "name[]": (0, 70)}, "struct plain")
    # Elements of an array inside a record belong to their own type: of table, of around, and of two
    # blocks.
    equal(fields(result, "struct inner"), {"weight": (0, 95), "kind": (0, 92)}, "struct inner")
    equal(fields(result, "struct around"), {"before": (0, 11), "after": (0, 13)}, "struct around")
    # 1,000 of them without an annotation: the code says what they access.
    without = fields(result, "nameless_t")["first"][1]
    assert without == 1021 or (without == 21 and not by_code), f"nameless_t.first: {without} writes"
    equal(fields(result, "nameless_t"), {"first": (0, without), "second": (0, 14)}, "nameless_t")
    equal(fields(result, "struct tail"), {"nr": (0, 22), "item[]": (0, 200)}, "struct tail")


@each_compiler
def every_field_has_its_accesses_in_c(dir, cc, _):
    result = layout(traced("fields.c", cc))
    check_c(result)
    one = fields(result, "struct one")
    # main reads p once; a copy of the whole reads or writes each field.
    equal(one, {"p": (26, 26), "q": (25, 25), "r[]": (25, 25)}, "a copied structure")


@each_compiler
def older_and_other_debug_information_says_the_same(dir, cc, _):
    kinds = [("-O1", "-gdwarf-4"), ("-O1", "-gdwarf-4", "-fdebug-types-section"), ("-O1", "-gsplit-dwarf"), ("-O2", "-gz")]
    if not FULL:  # each kind with one compiler; the reader of both families is the same
        kinds = kinds[::2] if not is_clang(cc) else kinds[1:2] if cc == compiler_ends()[-1][0] else kinds[3:]
    for options in kinds:
        check_c(layout(traced("fields.c", cc, *options)), by_code=False)


@each_compiler
def every_field_has_its_accesses_in_cxx(dir, _, cxx):
    # clang omits types that it assumes are described elsewhere, unless -fstandalone-debug is set.
    whole = ("-O1", "-fstandalone-debug") if "clang" in cxx else ("-O1",)
    result = layout(traced("fields.cc", cxx, *whole, cxx=True))
    item = fields(result, "shop::Item")
    # Constructors run before recording: only those of volatile members are known.
    equal({k: v[1] for k, v in item.items() if k in ("id", "state", "discount", "cost")},
          {"id": 60 + 4 * started(result), "state": 40 + 4 * started(result), "cost": 40 + 4 * started(result),
           "discount": 50 + 4 * started(result)}, "shop::Item")
    equal(fields(result, "shop::Box<double>"), {"value": (0, 80), "used": (0, 120)}, "shop::Box<double>")
    equal(fields(result, "shop::(anonymous namespace)::Hidden"), {"y": (0, 25)}, "a hidden one")


@each_compiler
def a_base_that_nobody_describes_still_has_its_bytes(dir, _, cxx):
    item = fields(layout(traced("fields.cc", cxx, cxx=True)), "shop::Item")
    base = sum(w for name, (_, w) in item.items() if name not in ("cost", "discount"))
    assert base >= 100, f"id and state, under whatever name: {item}"


def started(result):
    """1 if the constructors of the array ran at run time (they do, with volatile members)."""
    writes = fields(result, "shop::Item")["id"][1]
    assert writes in (60, 64), writes
    return 1 if writes == 64 else 0


@test
def variables_and_blocks_without_fields_are_told_by_name(dir):
    trace = traced("fields.c", "gcc")
    result = json.loads(subprocess.run([TOOL, "mem", "sim", *CACHES, "--blame", "--json", trace], capture_output=True,
                                       text=True, env=CLEAN, check=True).stdout)
    counts = {row["name"]: [row["reads"], row["writes"]] for row in result["types"]}
    equal(counts["numbers"], [0, 300], "a variable")
    equal(counts["globals::calls"], [0, 15], "a static variable of a function")
    equal(counts["i32*"], [0, 64], "a type that only the trace knows")
    equal(counts["nameless_t"], [0, 21 + 14 + 1000], "what is annotated no longer has the type of the code")


@each_family
def arrays_of_any_length_have_their_type(dir, cc, _):
    trace = traced("array_lengths.c", cc)
    r = subprocess.run([TOOL, "mem", "sim", "--blame", "--json", "-n", "100", *CACHES, trace], capture_output=True, text=True, env=CLEAN)
    equal((r.returncode, r.stderr), (0, ""), "mem sim")
    found = {t["name"]: (t["writes"], t["size"]) for t in json.loads(r.stdout)["types"] if t["name"].startswith("of_")}
    lengths = (100, 128, 200, 256, 257, 32768, 40000, 65536, 65537)
    equal(found, {f"of_{n}": (3, 8) for n in lengths}, "arrays, and the size of their elements")


@test
def a_program_without_debug_information_has_variables_and_says_so(dir):
    trace = traced("fields.c", "gcc", "-O1", "-g0")
    r = subprocess.run([TOOL, "mem", "layout", *CACHES, trace], capture_output=True, text=True, env=CLEAN)
    equal(r.returncode, 0, "status")
    contains(r.stdout, "no access is to a type with fields")
    contains(r.stderr, "has no debug information")
    contains(r.stderr, "-g")


@test
def debug_information_may_lie_in_a_file_of_its_own(dir):
    program = compile(dir, "fields.c", "gcc", source=HERE / "programs" / "fields.c", out="apart")
    for command in (["objcopy", "--only-keep-debug", program, program + ".debug"], ["strip", program],
                    ["objcopy", f"--add-gnu-debuglink={program}.debug", program]):
        subprocess.run(command, check=True, cwd=dir)
    collected(program, trace=program + ".trace")
    check_c(layout(program + ".trace"))
    # Without that file only code is left.
    os.remove(program + ".debug")
    r = subprocess.run([TOOL, "mem", "layout", *CACHES, program + ".trace"], capture_output=True, text=True, env=CLEAN)
    equal(r.returncode, 0, f"status: {r.stderr}")
    contains(r.stdout, "no access is to a type with fields: compile with -g")
    contains(r.stderr, "stripped")


@test
def a_program_that_was_built_anew_is_not_believed(dir):
    trace = traced_in(dir, "fields.c", "gcc", "-O1")
    program = trace[:-len(".trace")]
    compile(dir, "fields.c", "gcc", "-O2", source=HERE / "programs" / "fields.c", out=os.path.basename(program))
    r = subprocess.run([TOOL, "mem", "layout", *CACHES, trace], capture_output=True, text=True, env=CLEAN)
    equal(r.returncode, 0, "status")
    contains(r.stderr, "was rebuilt after the trace was recorded")
    os.remove(program)
    r = subprocess.run([TOOL, "mem", "layout", *CACHES, trace], capture_output=True, text=True, env=CLEAN)
    contains(r.stderr, "no longer exists")


@test
def types_of_libraries_are_found_too(dir):
    library = os.path.join(dir, "lib.c")
    with open(library, "w", encoding="ascii") as f:
        f.write("struct far { int a; volatile int b; }; static struct far there[5];\n"
                "void touch(int n) { for (int i = 0; i < n; i++) there[i % 5].b = i; }\n")
    with open(os.path.join(dir, "main.c"), "w", encoding="ascii") as f:
        f.write("void touch(int); int main(void) { touch(33); return 0; }\n")
    so = os.path.join(dir, "libfar.so")
    for command in ([TOOL, "mem", "cc", "-g", "-O1", "-fPIC", "-shared", "-o", so, library],
                    [TOOL, "mem", "cc", "-g", "-O1", "-o", os.path.join(dir, "far"), os.path.join(dir, "main.c"),
                     so, f"-Wl,-rpath,{dir}"]):
        subprocess.run(command, check=True, capture_output=True, env=CLEAN)
    trace = os.path.join(dir, "far.trace")
    collected(os.path.join(dir, "far"), trace=trace)
    equal(fields(layout(trace), "struct far"), {"b": (0, 33)}, "struct far")


if __name__ == "__main__":
    main()
