#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_build_corpus.py - cargo builds the Rust programs of the corpus without a warning."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rust"))
from rust import *  # noqa: E402,F403


@test
def programs_of_the_corpus(dir):
    need_cargo()
    out = fetched("build", "--release", "--bins", "-p", "corotracer-corpus", root=everything(), timeout=1500)
    assert "warning" not in out, out


main()
