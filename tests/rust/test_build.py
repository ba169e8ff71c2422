#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_build.py - the programs of the other tests compile without a warning."""
from rust import *


def build(root):
    need_cargo()
    out = fetched("build", "--release", "--bins", root=root, timeout=1500)
    assert "warning" not in out, out


@test
def programs_on_tokio(dir):
    """And, in the same workspace, those that need nothing but a compiler."""
    build(everything())
    for name in "scenarios", "tokio-server", "hand", "buggy", "clean", "unreachable":
        program(name)


@test
def programs_that_need_nothing_but_a_compiler(dir):
    """Their own workspace has no crate to fetch.  Where the crates of the others are missing, it is built."""
    need_cargo()
    status, out = cargo("metadata", "--offline", "--format-version", "1", root=plain())
    equal(status, 0, f"status of cargo metadata --offline, which said\n{out}")
    equal([p["name"] for p in json.loads(out)["packages"] if p["source"]], [], "packages that must be fetched")
    names = "hand", "buggy", "clean", "unreachable"
    if not all(os.path.exists(os.path.join(BUILD, "target", "release", name)) for name in names):
        build(plain())
    for name in names:
        program(name)


main()
