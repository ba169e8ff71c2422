#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_raw_types.py - types and layouts of raw traces that have no program: --program and --dwarf.

The traces are raw records with annotations as LLVM names types; the JSON is as dwarf2json of the Cacheray suite writes it,
with its peculiarities: no size of a struct, arrays of gcc with the size of one element, unions spelled as structs.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "memory-rt"))
from rt import CLEAN, TOOL, contains, equal, main, test  # noqa: E402

CACHES = ("--cache", "L1=32K,8", "--cache", "LL=256K,8")
READ, WRITE, ADD, REMOVE = range(4)


def member(name, spelling, offset, size, id=0):
    m = {"id": id, "memberName": name, "name": spelling, "size": size}
    return m if offset is None else dict(m, offset=offset)


# What dwarf2json makes of foreign.c, built by gcc: char[20] and pair_t[3] have the size of one element.
TYPES = {
    "version": 4,
    "structs": [
        {"id": 45, "name": "struct basic", "members": [
            member("a", "int", 0, 4), member("b", "long int", 8, 8), member("c", "char*", 16, 8)]},
        {"id": 90, "name": "struct pair", "members": [
            member("key", "void*", 0, 8), member("count", "int", 8, 4)]},
        {"id": 150, "name": "struct deep", "members": [
            member("id", "int", 0, 4), member("in", "struct basic", 8, 24, 45),
            member("name", "char[]", 32, 1), member("n", "struct number", 56, 8, 120),
            member("slots", "struct pair[]", 64, 16, 999)]}],
    "unions": [{"id": 120, "name": "number", "members": [
        member("whole", "long int", None, 8), member("real", "double", None, 8)]}],
    "typedefs": [{"type": "pair_t", "def": "struct pair"}, {"type": "uint", "def": "unsigned int"}],
}


def access(kind, address, size=4):
    return struct.pack("<BQBQ", kind, address, size, 0)


def added(address, size, count, name):
    return struct.pack("<BQQIII", ADD, address, 0, size, count, len(name)) + name.encode()


def write_trace(dir, *records):
    path = os.path.join(dir, "raw.trace")
    with open(path, "wb") as f:
        f.write(b"".join(records))
    return path


def json_file(dir, value=None, name="foreign.dwarf.json"):
    path = os.path.join(dir, name)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(TYPES if value is None else value, f, sort_keys=True, indent=4)
    return path


def program(dir, *options):
    out = os.path.join(dir, "foreign" + "".join(options))
    subprocess.run(["gcc", *(options or ("-g",)), str(HERE / "programs" / "foreign.c"), "-o", out], check=True)
    return out


def mem(*args, status=0):
    r = subprocess.run([TOOL, "mem", *args], capture_output=True, text=True, env=CLEAN, timeout=120)
    equal(r.returncode, status, f"status of mem {' '.join(args)}: {r.stderr}")
    return r


def layout(trace, *options):
    return json.loads(mem("layout", "--json", "--top", "32", *CACHES, *options, trace).stdout)


def fields(result, name):
    types = [t for t in result["types"] if t["type"] == name]
    equal(len(types), 1, f"types called {name} among {[t['type'] for t in result['types']]}")
    return {f["name"]: (f["reads"], f["writes"]) for f in types[0]["fields"] if f["reads"] or f["writes"]}


def records_of_every_type(size_of_deep):
    """Blocks as malloc and calloc annotate them: one element of the whole size, or several."""
    basic, pair, deep = 0x10000, 0x20000, 0x30000
    return [added(basic, 5 * 24, 1, "struct.basic"), added(pair, 16, 3, "pair_t"), added(deep, size_of_deep, 1, "struct deep"),
            access(READ, basic + 2 * 24), access(WRITE, basic + 4 * 24 + 8, 8), access(READ, basic + 16, 8),
            access(READ, pair + 2 * 16, 8), access(WRITE, pair + 16 + 8),
            access(WRITE, deep), access(READ, deep + 8 + 8, 8), access(READ, deep + 32 + 19, 1), access(READ, deep + 56, 8),
            access(WRITE, deep + 64), access(READ, deep + 64 + 8),
            struct.pack("<BQQ", REMOVE, basic, 0), access(READ, basic)]


def check_every_type(result, pairs):
    equal(fields(result, "struct basic"), {"a": (1, 0), "b": (0, 1), "c": (1, 0)}, "struct basic")
    equal(fields(result, "struct pair"), pairs, "struct pair")
    deep = fields(result, "struct deep")
    equal({k: deep[k] for k in ("id", "in.b", "name[]")}, {"id": (0, 1), "in.b": (1, 0), "name[]": (1, 0)}, "struct deep")


@test
def a_program_gives_a_raw_trace_its_types(dir):
    trace = write_trace(dir, *records_of_every_type(112))
    equal([t["type"] for t in layout(trace)["types"]], [], "types without the program")
    result = layout(trace, "--program", program(dir, "-g"))
    # The array inside struct deep is counted for its elements.
    check_every_type(result, {"key": (1, 1), "count": (1, 1)})


@test
def a_json_file_gives_a_raw_trace_its_types(dir):
    # An array of gcc at the end has one element in the JSON: what is behind it is not known.
    trace = write_trace(dir, *records_of_every_type(112))
    result = layout(trace, "--dwarf", json_file(dir))
    check_every_type(result, {"key": (1, 0), "count": (0, 1)})
    deep = fields(result, "struct deep")
    equal({k: v for k, v in deep.items() if k.startswith(("n.", "slots"))},
          {"n.whole": (1, 0), "slots[].key": (0, 1), "slots[].count": (1, 0)}, "struct deep, the rest")


@test
def both_name_the_misses_of_sim_and_html(dir):
    trace = write_trace(dir, *records_of_every_type(112))
    for option, file in (("--program", program(dir, "-g")), ("--dwarf", json_file(dir))):
        blame = json.loads(mem("sim", "--blame", "--json", *CACHES, option, file, trace).stdout)
        names = json.dumps(blame)
        contains(names, '"struct basic"')
        contains(names, '"struct pair"')
        # The page has its data compressed: with types it has more of them.
        size = {}
        for options in ((), (option, file)):
            page = os.path.join(dir, "page.html")
            mem("html", "-o", page, *CACHES, *options, trace)
            size[bool(options)] = os.path.getsize(page)
        equal(size[True] > size[False], True, f"size of the page with and without types: {size}")


@test
def remaps_of_the_suite_are_replayed(dir):
    """A line of the file names the members and their new offsets, decimal."""
    accesses = []
    for i in range(512):
        accesses += [access(READ, 0x40000 + i * 24), access(READ, 0x40000 + i * 24 + 16, 8)]
    trace = write_trace(dir, added(0x40000, 512 * 24, 1, "struct.basic"), *accesses)
    remap = os.path.join(dir, "remap")
    with open(remap, "w", encoding="utf-8") as f:
        f.write("struct basic=a,8;b,16;c,0\n")
    for option, file in (("--program", program(dir, "-g")), ("--dwarf", json_file(dir))):
        result = layout(trace, "--remap", remap, option, file)
        contains(json.dumps(result["remap"]), '"struct basic"')
        mem("layout", "--remap", remap, *CACHES, trace, status=1)


@test
def variables_are_known_where_a_program_has_fixed_addresses(dir):
    fixed = program(dir, "-g", "-no-pie")
    moved = program(dir, "-g", "-pie")
    for file, option, bias in ((fixed, fixed, 0), (moved, moved + "@0x555555554000", 0x555555554000)):
        symbols = subprocess.run(["nm", file], capture_output=True, text=True, check=True).stdout
        table = [int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" table")][0] + bias
        trace = write_trace(dir, access(READ, table + 24), access(WRITE, table + 3 * 24 + 16, 8))
        equal(fields(layout(trace, "--program", option), "struct basic"), {"a": (1, 0), "c": (0, 1)}, f"table of {option}")
    equal(layout(trace, "--program", moved)["types"], [], "types of a program that may be anywhere")


@test
def fields_that_overlap_or_have_no_size_are_kept(dir):
    value = {"version": 4, "typedefs": [], "unions": [], "structs": [
        {"id": 1, "name": "struct odd", "members": [
            member("tag", "unsigned char", 0, 1), member("addr", "void*", 1, 8),  # packed
            member("lo", "unsigned int", 12, 4), member("hi", "unsigned int", 12, 4),  # bit-fields
            member("kind", "<unsupported type>", 16, -1), member("<anon_union>", "<anon_union>", 20, 8, 77),
            member("self", "struct odd", 28, 40, 1), member("more", "int[]", 68, -1)]}]}
    trace = write_trace(dir, added(0x1000, 72, 1, "struct.odd.12"), access(READ, 0x1001, 8), access(READ, 0x100c),
                        access(WRITE, 0x1010), access(READ, 0x1014))
    result = layout(trace, "--dwarf", json_file(dir, value))
    equal(fields(result, "struct odd"), {"addr": (1, 0), "lo,hi": (1, 0), "kind": (0, 1), "(anonymous)": (1, 0)}, "struct odd")


@test
def files_that_cannot_be_used_are_refused(dir):
    trace = write_trace(dir, *records_of_every_type(112))
    stripped = program(dir, "-s")
    text = os.path.join(dir, "text")
    with open(text, "w", encoding="utf-8") as f:
        f.write("not json, not a program\n")
    cases = ((("--program", stripped), "has no debug information"), (("--program", text), "is not an ELF file"),
             (("--program", os.path.join(dir, "none")), "cannot open"), (("--dwarf", text), "line 1, column"),
             (("--dwarf", json_file(dir, dict(TYPES, version=3), "old")), "a version other than 4"),
             (("--dwarf", json_file(dir, {"version": 4}, "empty")), "has no structs"),
             (("--dwarf", json_file(dir, dict(TYPES, structs=[{"id": 1}]), "bad")), "structs[0] has no name"),
             (("--dwarf", json_file(dir, dict(TYPES, typedefs=[5]), "bad2")), "typedefs[0] has no type"))
    for options, message in cases:
        for command in (("layout",), ("sim", "--blame"), ("html", "-o", os.path.join(dir, "page"))):
            contains(mem(*command, *CACHES, *options, trace, status=1).stderr, message)
    contains(mem("sim", "--dwarf", text, trace, status=2).stderr, "--blame")


main()
