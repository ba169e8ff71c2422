#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_build.py - the programs of the other tests compile without a warning."""
from rust import *


def build(root):
    need_cargo()
    out = fetched("build", "--release", "--bins", root=root)
    assert "warning" not in out, out


@test
def programs_that_need_nothing_but_a_compiler(dir):
    build(plain())
    for name in "hand", "buggy", "clean", "unreachable":
        program(name)


@test
def programs_on_tokio(dir):
    build(everything())
    program("scenarios")
    program("tokio-server")


main()
