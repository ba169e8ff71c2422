# SPDX-License-Identifier: MIT
"""test_layout_layout.py - a better layout is found where one exists, and the program compiled with it
confirms the replay."""
import json
import os
import re
import subprocess

from studies import CACHES, CORPUS, advice, corpus_trace, one_type, study, tool, traced
from rt import CLEAN, FULL, TOOL, collected, compile, contains, equal, main, test

# Words of corpus_trace(): a program with the same types and few accesses, for what is refused.
SHORT = ("hot_cold.c", "gcc", "-O2", "-DSTEPS=0")


def pasted(dir, source, text, name):
    """The program with the text in place of its own layout."""
    with open(source, encoding="ascii") as f:
        code = f.read()
    if str(source).endswith(".cc"):  # a class: its members, between the braces
        text = text[text.index("{") + 1:text.rindex("}")]
        text = text[text.index("\n"):]
        new, nr = re.subn(r"// layout\n.*?// end\n", lambda _: text + "\n", code, flags=re.S)
    else:
        new, nr = re.subn(r"/\* layout \*/\n.*?/\* end \*/\n", lambda _: text, code, flags=re.S)
    equal(nr, 1, "layouts in the source")
    out = os.path.join(dir, name)
    with open(out, "w", encoding="ascii") as f:
        f.write(new)
    return out


def confirm(dir, name, type_name, cc="gcc", tolerance=0.05, shared=False, least=0.2):
    """Checks the advice for a type, and that the program which follows it behaves as predicted."""
    source = CORPUS / name
    base = f"{source.stem}-{cc}"
    before = study(corpus_trace(name, cc))
    t = one_type(before, type_name)
    best = advice(t)
    assert best["gain"] >= least, f"gain of {best['name']}: {best['gain']}"
    changed = pasted(dir, source, best["text"], f"{base}-after{source.suffix}")
    after = study(traced(dir, changed, f"{base}-after", cc), "--type", type_name)
    now = one_type(after, type_name)
    equal(now["size"], best["size"], f"sizeof {type_name}")
    equal({m["name"]: m["offset"] for m in now["members"] if m["name"] in {o["name"] for o in best["offsets"]}},
          {o["name"]: o["offset"] for o in best["offsets"]}, f"offsets of {type_name}")
    for level, was in best["before"]["misses"].items():
        predicted, measured = best["after"]["misses"][level], after["traced"]["misses"][level]
        if shared:  # the schedule varies; that threads no longer take lines does not
            assert measured < 0.1 * before["traced"]["misses"]["L1"], f"{level}: {measured}"
        else:
            assert abs(measured - predicted) <= tolerance * predicted + 40, \
                f"{level} misses: {was} before, {predicted} predicted, {measured} measured"
    assert after["traced"]["cost"] < before["traced"]["cost"] * (1 - least / 2), \
        f"cost {before['traced']['cost']} became {after['traced']['cost']}"
    return best


@test
def hot_fields_come_together(dir):
    for cc in ("gcc", "clang") if FULL else ("gcc",):
        best = confirm(dir, "hot_cold.c", "struct particle", cc, least=0.4)
        offsets = {o["name"]: o["offset"] for o in best["offsets"]}
        assert max(offsets[f] for f in ("x", "y", "z", "vx", "vy", "vz")) < 64, offsets


@test
def holes_are_closed(dir):
    equal(confirm(dir, "holes.c", "struct holes")["size"], 32, "size without holes")


@test
def the_gain_does_not_depend_on_where_the_blocks_are(dir):
    program, gains = compile(dir, "heap_holes.c", "gcc", "-O2", source=CORPUS / "heap_holes.c", out="heap_holes"), []
    for between in (0, 40, 1000) if FULL else (0, 1000):
        trace = os.path.join(dir, f"heap-{between}.trace")
        collected(program, between, trace=trace)
        t = one_type(study(trace), "struct item")
        gains.append((t["cost"], advice(t)["gain"]))
    costs, shares = zip(*gains)
    assert max(costs) > 1.5 * min(costs), f"the blocks are at the same places: {gains}"
    assert max(shares) - min(shares) < 0.03 and min(shares) > 0.3, f"cost and gain of the same cure: {gains}"


@test
def elements_stop_straddling_lines(dir):
    best = confirm(dir, "straddle.c", "struct entry", least=0.1, tolerance=0.1)
    equal(best["size"], 64, "size that fits")


@test
def a_pair_that_is_used_together_lies_together(dir):
    best = confirm(dir, "far_pair.c", "struct record")
    offsets = {o["name"]: o["offset"] for o in best["offsets"]}
    equal(offsets["key"] // 64, offsets["value"] // 64, "the line of key and value")


@test
def groups_that_are_used_apart_lie_apart(dir):
    best = confirm(dir, "clusters.c", "struct mixed", least=0.4)
    lines = {}
    for o in best["offsets"]:
        lines.setdefault(o["offset"] // 64, set()).add(o["name"][0])
    equal(sorted(map(sorted, lines.values())), [["a"], ["b"]], "groups by line")
    equal(best["size"], 128, "size")


@test
def nodes_of_malloc_are_arranged_too(dir):
    best = confirm(dir, "list.c", "struct node")
    offsets = {o["name"]: o["offset"] for o in best["offsets"]}
    assert max(offsets["key"], offsets["next"]) < 16, offsets


@test
def counters_of_threads_get_lines_of_their_own(dir):
    equal(confirm(dir, "thread_counters.c", "struct counter", shared=True, least=0.8)["align"], 64, "alignment")


@test
def the_two_ends_of_a_queue_come_apart(dir):
    best = confirm(dir, "ends.c", "struct queue", shared=True, least=0.8)
    offsets = {o["name"]: o["offset"] for o in best["offsets"]}
    assert offsets["head"] // 64 != offsets["tail"] // 64, offsets


@test
def a_class_keeps_its_base_and_its_words(dir):
    for cc in ("gcc", "clang") if FULL else ("clang",):
        best = confirm(dir, "klass.cc", "Account", cc, least=0.15)
        contains(best["text"], "Account : public Named {")
        contains(best["text"], "private:")


@test
def where_nothing_is_better_that_is_said(dir):
    for name, type_name in (("dense.c", "struct dense"), ("small.c", "struct small")):
        trace = corpus_trace(name)
        t = one_type(study(trace), type_name)
        equal(t["advice"], None, f"advice for {type_name}")
        assert t["tried"], "something was tried"
        if FULL or name == "small.c":
            contains(tool("mem", "layout", *CACHES, trace).stdout, "no gain")
    trace = corpus_trace("union.c")
    t = one_type(study(trace), "union value")
    equal((t["advice"], t["tried"]), (None, []), "advice for a union")
    contains(tool("mem", "layout", *CACHES, trace).stdout, "no other layout is possible")


@test
def a_type_without_cost_is_not_replayed(dir):
    trace = corpus_trace("small.c", "gcc", "-O2", "-DSTEPS=5000")
    t = one_type(study(trace), "struct small")
    equal((t["advice"], t["tried"]), (None, []), "what is tried for a type without cost")
    assert t["not_tried"], "the reason is missing"
    contains(tool("mem", "layout", *CACHES, trace).stdout, "no other layout was tried")
    asked = study(trace, "--type", "struct small")
    t = one_type(asked, "struct small")
    equal(t["not_tried"], None, "the reason, if the type is asked for")
    assert t["tried"], "--type tries"
    needed = 0.01 * (asked["accesses"] + asked["traced"]["cost"])
    for c in t["tried"]:  # nothing was missed
        assert c["before"]["cost"] - c["after"]["cost"] < needed, c


@test
def the_text_shows_what_was_found(dir):
    trace = corpus_trace("hot_cold.c")
    out = tool("mem", "layout", *CACHES, trace).stdout
    for part in ("struct particle, ", "corpus/hot_cold.c:", "bytes are used", "together: ", "advice: ", "L1 misses",
                 "LL misses", "/* hot */", "/* cold */", "the whole run, with all advice"):
        contains(out, part)
    contains(tool("mem", "layout", *CACHES, "--type", "nothing", corpus_trace(*SHORT), status=1).stderr, "has no type")
    for args in (["--top", "0"], ["--cache", "x"], ["--config", "/nowhere"], ["--cores", "0"], []):
        assert tool("mem", "layout", *args, *([trace] if args else []), status=None).returncode == 2, args
    r = subprocess.run(["sh", "-c", f"'{TOOL}' mem layout - < '{trace}'"], capture_output=True, text=True, env=CLEAN)
    equal(r.returncode, 2, "status with a trace on standard input")
    contains(r.stderr, "hint: ")


@test
def a_layout_of_the_users_is_replayed(dir):
    trace = corpus_trace("hot_cold.c")
    remap = os.path.join(dir, "remap")

    def with_file(text, status=0, trace=trace):
        with open(remap, "w", encoding="ascii") as f:
            f.write(text)
        return tool("mem", "layout", "--json", *CACHES, "--remap", remap, trace, status=status)

    # The format of the existing suite: members and new offsets.  Here the hot ones come first.
    moved = "x,0;y,8;z,16;vx,24;vy,32;vz,40;name,48;note,88;id,0x98;created,0xa0"
    result = json.loads(with_file("# a remark\n\nstruct particle=" + moved + "\n").stdout)
    assert result["changed"]
    assert result["after"]["misses"]["L1"] < 0.8 * result["before"]["misses"]["L1"], result["after"]
    wide = json.loads(with_file("struct particle=" + moved + ";sizeof=192;align=64\n").stdout)
    assert wide["after"]["misses"]["L1"] < 0.9 * result["after"]["misses"]["L1"], wide["after"]
    # Nothing moves: no count changes.
    same = json.loads(with_file("struct particle=name,0\n").stdout)
    equal(same["after"], same["before"], "the same layout")
    # A member of another size.
    json.loads(with_file("particle=note,64,8;sizeof=168\n").stdout)
    for text, part in (
            ("struct particle=x,0;y,0\n", "overlap"),
            ("struct particle=x,168\n", "behind its 168 bytes"),
            ("struct particle=x,1000\n", "'sizeof=1008'"),
            ("\nstruct particle=q,0\n", ":2: 'struct particle' has no member 'q'"),
            ("struct nobody=x,0\n", "is not a type of the traced program"),
            ("struct particle=x,zero\n", "is no number of bytes"),
            ("struct particle=x,-8\n", "is no number of bytes"),
            ("struct particle=x,0;x,8\n", "has a place already"),
            ("struct particle=weight=3\n", "is nothing that can be set"),
            ("struct particle=align=3\n", "is no alignment"),
            ("struct particle\n", "has no '='"),
            ("struct particle=x\n", "is neither"),
            ("struct particle=sizeof=0\n", "is no size"),
            ("struct particle=x,40\nstruct particle=x,40\n", "has a line already"),
            ("# only a remark\n", "has no layout in it")):
        r = with_file(text, status=1, trace=corpus_trace(*SHORT))
        contains(r.stderr, part)
    contains(tool("mem", "layout", "--remap", os.path.join(dir, "no"), corpus_trace(*SHORT), status=1).stderr, "cannot open")


@test
def damaged_traces_are_studied_as_far_as_they_go(dir):
    trace = corpus_trace("hot_cold.c")
    with open(trace, "rb") as f:
        whole = f.read()
    bad = os.path.join(dir, "bad.trace")
    for damage in (whole[:len(whole) // 2], whole[:-100] + b"x" * 100, b"hello", b""):
        with open(bad, "wb") as f:
            f.write(damage)
        for command in ("layout", "html"):
            r = tool("mem", command, *CACHES, *(("-o", "-") if command == "html" else ()), bad, status=None)
            assert r.returncode in (0, 1), f"{command}: {r.returncode} {r.stderr}"
            if damage not in (b"",):
                equal(r.returncode, 1, f"status of {command}: {r.stderr}")
                contains(r.stderr, "mem " + command)


if __name__ == "__main__":
    main()
