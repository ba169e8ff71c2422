# SPDX-License-Identifier: MIT
"""test_layout_examples.py - the improved records of the examples have the advised layout, and its predicted effect."""
from studies import HERE, advice, one_type, study
from rt import collected, compile, equal, main, test

EXAMPLES = HERE.parent.parent.parent / "examples" / "memory"


def before_and_after(dir, name, type_name, *args):
    """Studies both; checks that the second has the layout that was advised for the first."""
    results = []
    for flag in ("", "-DAFTER"):
        program = compile(dir, name, "gcc", "-O2", *([flag] if flag else []), source=EXAMPLES / name, out=name + flag)
        collected(program, *args, trace=program + ".trace")
        results.append(study(program + ".trace", "--type", type_name))
    before, after = results
    best = advice(one_type(before, type_name))
    now = one_type(after, type_name)
    equal(now["size"], best["size"], f"sizeof {type_name}")
    equal({m["name"]: m["offset"] for m in now["members"]}, {o["name"]: o["offset"] for o in best["offsets"]},
          f"offsets of {type_name}")
    return before, after, best


@test
def particles_follows_the_advice(dir):
    before, after, best = before_and_after(dir, "particles.c", "struct particle", 4000, 8)
    for level, predicted in best["after"]["misses"].items():
        measured = after["traced"]["misses"][level]
        assert abs(measured - predicted) <= 0.05 * predicted, f"{level}: {predicted} predicted, {measured} measured"
    assert after["traced"]["cost"] < 0.9 * before["traced"]["cost"], after["traced"]


@test
def tally_follows_the_advice(dir):
    before, after, best = before_and_after(dir, "tally.c", "struct tally", 2, 20000, 100)
    assert best["gain"] > 0.9, best["gain"]
    assert after["traced"]["cost"] < 0.1 * before["traced"]["cost"], after["traced"]


if __name__ == "__main__":
    main()
