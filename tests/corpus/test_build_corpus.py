#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_build_corpus.py - cargo builds the Rust programs of the corpus without a warning: one file, with a name for each."""
import contextlib
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rust"))
from rust import *  # noqa: E402,F403

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rust", "src", "programs")


@test
def programs_of_the_corpus(dir):
    need_cargo()
    # As rust/build does: with another selection of packages Tokio would have other features, and be compiled again.
    out = fetched("build", "--release", "--bins", root=everything(), timeout=1500)
    assert "warning" not in out, out
    whole = program("corotracer-corpus")
    names = subprocess.run([whole], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    equal(sorted(f"{name}.rs" for name in names), sorted(os.listdir(SOURCES)), "programs in src/main.rs")
    for name in names:
        path = os.path.join(os.path.dirname(whole), name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.link(whole, path)


main()
