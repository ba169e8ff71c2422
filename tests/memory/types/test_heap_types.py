# SPDX-License-Identifier: MIT
"""test_heap_types.py - types of heap blocks without annotations: compared with what the program says."""
import collections
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "memory-rt"))
from rt import BUILT, CLEAN, FULL, TOOL, chosen_levels, compile, each_compiler, each_cxx_compiler, equal, main, test  # noqa: E402

LIST = pathlib.Path(TOOL).resolve().parent / "tests" / "memory" / "types" / "list_access_types"
CACHES = ("--cache", "L1=4K,4", "--cache", "LL=64K,8")
LEVELS = ("-O0", "-O1", "-O2", "-O3") if FULL else ("-O0", "-O2")


@functools.cache
def traced(name, cc, *options, cxx=False):
    """Trace and output of a program, which is built and run once for all cases."""
    program = compile(BUILT.name, name, cc, *options, cxx=cxx, source=HERE / "programs" / name,
                      out=f"{name}-{cc}{''.join(options)}")
    trace = program + ".trace"
    r = subprocess.run([TOOL, "mem", "run", "-o", trace, "--", program], capture_output=True, text=True, env=CLEAN,
                       timeout=120)
    equal(r.returncode, 0, f"status of {program}: {r.stderr}")
    return trace, r.stdout


def blamed(trace):
    r = subprocess.run([TOOL, "mem", "sim", "--json", "--blame", "-n", "100", *CACHES, trace], capture_output=True,
                       text=True, env=CLEAN, timeout=120)
    equal(r.returncode, 0, f"status of mem sim: {r.stderr}")
    return json.loads(r.stdout)


class Truth:
    """What the program printed about its types and blocks."""

    def __init__(self, text):
        self.size, self.fields, self.inside = {}, collections.defaultdict(list), collections.defaultdict(list)
        self.blocks = []
        for line in text.splitlines():
            w = line.split()
            if w[0] == "type":
                self.size["struct " + w[2]] = int(w[3])
            elif w[0] == "field":
                self.fields["struct " + w[2]].append((w[3], int(w[4]), int(w[5])))
            elif w[0] == "inside":
                for i in range(int(w[5])):
                    self.inside["struct " + w[2]].append((int(w[3]) + i * int(w[4]), "struct " + w[7]))
            elif w[0] == "block":
                self.blocks.append((int(w[1], 16), int(w[2]), int(w[3]), line.split(None, 4)[4]))

    def block_at(self, address):
        for block in self.blocks:
            if block[0] <= address < block[0] + block[1]:
                return block
        return None

    def field_at(self, name, offset):
        for field, at, size in self.fields[name]:
            if at <= offset < at + size:
                return field
        return None

    def is_true(self, block, address, name, offset):
        """Is an object of type @name there, with the same field at the address as at @offset?"""
        start, _, header, of = block
        at = address - start - header
        if at < 0 or name not in self.size or of not in self.size:
            return False
        wanted = self.field_at(name, offset)
        at = at % self.size[of] if of != "struct tail" else at
        for place, inner in [(0, of)] + self.inside[of]:
            if inner == name and at >= place and self.field_at(name, at - place) == wanted:
                return True
        return False


def claims(trace):
    r = subprocess.run([str(LIST), trace], capture_output=True, text=True, env=CLEAN, timeout=120)
    equal(r.returncode, 0, f"status of list_access_types: {r.stderr}")
    for line in r.stdout.splitlines():
        address, size, _, claim = line.split(None, 3)
        claim = claim.rsplit(None, 1)[0]
        yield int(address, 16), int(size), None if claim == "-" else claim.split("|")


def check_claims(trace, text, what):
    truth = Truth(text)
    of_records = typed = 0
    for address, _, claim in claims(trace):
        block = truth.block_at(address)
        if not block:
            continue
        in_record = block[3] in truth.size and address - block[0] >= block[2]
        of_records += in_record
        if not claim:
            continue
        typed += in_record
        if not claim[0].startswith("struct ") or claim[0].endswith("*"):
            continue  # a number or a pointer somewhere
        assert truth.is_true(block, address, claim[0], int(claim[1])), \
            f"{what}: {claim} at byte {address - block[0]} of a block of {block[3]}"
    return typed / of_records


@each_compiler
def no_instruction_has_a_wrong_type(dir, cc, _):
    for level in chosen_levels(cc, *LEVELS):
        trace, text = traced("heap_types.c", cc, level)
        share = check_claims(trace, text, f"{cc} {level}")
        assert share > 0.6, f"{cc} {level}: only {share:.2f} of the accesses to records have a type"


BLOCKS = ("struct node", "struct cell", "struct derived", "struct tail", "struct boxed")


def counts(result):
    """{type: {field: (reads, writes)}} of the structs"""
    return {t["name"]: {f["name"]: (f["reads"], f["writes"]) for f in t["fields"]}
            for t in result["types"] if t["name"].startswith("struct ") and t["fields"]}


@each_compiler
def blocks_have_the_types_of_their_annotated_twins(dir, cc, _):
    for level in chosen_levels(cc, *LEVELS):
        plain = blamed(traced("heap_types.c", cc, level)[0])
        twin = counts(blamed(traced("heap_types.c", cc, level, "-DANNOTATED")[0]))
        found = counts(plain)
        for name in BLOCKS:
            equal(found.get(name), twin[name], f"{cc} {level}: fields of {name}")
        for t in plain["types"]:
            if t["name"] in BLOCKS:
                assert t["certainty"] >= 0.9, f"{cc} {level}: {t['name']} is only {t['certainty']} certain"
        # A block of bytes has no type, although the program once reads it as numbers.
        names = [t["name"] for t in plain["types"]]
        assert not any("int[]" in n for n in names), names
        cost = plain["heap_cost"]
        named = cost["by_vote"] + cost["by_code"]
        assert named / sum(cost.values()) > 0.8, cost


@each_compiler
def objects_with_a_tail_and_common_first_members_are_told_apart(dir, cc, _):
    for level in chosen_levels(cc, *LEVELS):
        plain = blamed(traced("tail_types.c", cc, level)[0])
        found, twin = counts(plain), counts(blamed(traced("tail_types.c", cc, level, "-DANNOTATED")[0]))
        for name in ("struct text", "struct pair"):
            equal(found.get(name), twin[name], f"{cc} {level}: fields of {name}")
        # Each text has a final zero; compilers may copy the rest at once.
        assert found["struct text"]["content[]"][1] > 301, f"{cc} {level}: {found['struct text']}"
        equal("struct object" in found, False, f"{cc} {level}: objects that have only the type of their first members")
        buffers = [t for t in plain["types"] if t["name"].startswith("bytes from tail_types.c:")]
        equal([t["name"].split(" (")[1] for t in buffers], ["buffer_new)"], f"{cc} {level}: buffers")


@each_compiler
def an_access_to_several_fields_has_the_same_ones_in_each_object(dir, cc, _):
    met = 0
    for level in LEVELS:
        for t in blamed(traced("arena_types.c", cc, level)[0])["types"]:
            # Some code copies the fields in a way that does not say their type.
            if t["name"] == "struct item":
                assert t.get("certainty") is None, f"{cc} {level}: the block has a type by vote: {t}"
                found = {f["name"]: f["reads"] for f in t["fields"] if f["reads"]}
                equal(found, {f"flags.{name}": 50 for name in "abcd"}, f"{cc} {level}: reads of the fields")
                met += 1
    assert met, f"{cc}: no code with a type reads several fields at once"


@test
def layouts_keep_common_first_members_and_the_tail(dir):
    trace = traced("tail_types.c", "gcc", "-O1")[0]
    r = subprocess.run([TOOL, "mem", "layout", "--json", "--type", "struct text", *CACHES, trace], capture_output=True, text=True, env=CLEAN, timeout=120)
    equal(r.returncode, 0, f"status of mem layout: {r.stderr}")
    text = json.loads(r.stdout)["types"][0]
    equal(text["front_like"], "struct pair", "a type that begins with the same members")
    assert text["tried"], "no layout was tried"
    for shape in text["tried"]:
        at = {o["name"]: o["offset"] for o in shape["offsets"]}
        equal((at["next"], at["kind"], at["marked"]), (0, 8, 9), f"common first members with {shape['name']}")
        equal(max(at, key=at.get), "content", f"the last member with {shape['name']}")


NODES = {"std::_Rb_tree_node<std::pair<K, point>>": ("_M_storage.first", "_M_storage.second.x", "_M_left"),
         "std::_List_node<point>": ("_M_storage.weight", "_M_next"),
         "std::__detail::_Hash_node<std::pair<K, point>, false>": ("_M_storage.second.y", "_M_nxt"),
         "point": ("x", "weight"),
         "derived": ("id", "p.weight", "extra[]")}


def folded(name):
    return name.replace("int const", "K").replace("const int", "K").replace("> >", ">>").replace("> >", ">>")


@each_cxx_compiler
def nodes_of_containers_have_their_types(dir, cc, cxx):
    for level in chosen_levels(cxx, *LEVELS):
        trace, _ = traced("containers.cc", cxx, level, cxx=True)
        types = {folded(t["name"]): {f["name"] for f in t["fields"]} for t in blamed(trace)["types"]}
        for name, fields in NODES.items():
            assert name in types, f"{cxx} {level}: no {name} among {sorted(types)}"
            missing = set(fields) - types[name]
            assert not missing, f"{cxx} {level}: {name} has no {missing}: {sorted(types[name])}"


CODE = {"struct table.nr", "struct table.slots", "struct node.left", "struct node.right", "struct node.key", "struct node.hits",
        "struct node.weight[]", "struct table.pairs[].b"}
COMPILERS = {"gcc": ("gcc",), "clang": ("clang",), "aarch64 gcc": ("aarch64-linux-gnu-gcc",),
             "aarch64 clang": ("clang", "--target=aarch64-linux-gnu")}


def code_types(dir, name, cc, level):
    """The fields that the instructions of code_types.c access; the program is not run."""
    path = os.path.join(dir, f"{name}{level}".replace(" ", "-"))
    common = ("-nostdlib", "-fno-stack-protector", "-ffreestanding", "-c")
    steps = [(*cc, "-g", level, "-fsanitize=thread", *common, str(HERE / "programs" / "code_types.c"), "-o", path + "1.o"),
             (*cc, *common, str(HERE / "programs" / "code_hooks.c"), "-o", path + "2.o"),
             ("aarch64-linux-gnu-ld" if "aarch64" in name else "ld", "-e_start", path + "1.o", path + "2.o", "-o", path)]
    for command in steps:
        r = subprocess.run(command, capture_output=True, text=True)
        equal(r.returncode, 0, f"status of {command}: {r.stderr}")
    r = subprocess.run([str(LIST), "--code", path, "0x400000", "0x404000"], capture_output=True, text=True)
    equal(r.returncode, 0, f"status of list_access_types: {r.stderr}")
    return {"{0}.{2}".format(*line.split("|")) for line in r.stdout.splitlines()}


@test
def instructions_of_both_machines_have_their_types(dir):
    for name, cc in COMPILERS.items():
        if not shutil.which(cc[0]) or ("aarch64" in name and not shutil.which("aarch64-linux-gnu-ld")):
            continue
        for level in LEVELS:
            found = code_types(dir, name, cc, level)
            assert not found - CODE, f"{name} {level}: wrong: {sorted(found - CODE)}"
            assert len(CODE - found) <= 4, f"{name} {level}: missing: {sorted(CODE - found)}"


if __name__ == "__main__":
    main()
