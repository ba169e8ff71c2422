#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_emulated_rust.py - the tests of the SDK for Rust for another processor, run by an emulator."""
import re
import shutil

from emulator import *

RUST_TARGET = "aarch64-unknown-linux-gnu"


@test
def the_rust_sdk_passes_its_tests(dir):
    if not shutil.which("rustup"):
        raise Skip("no rustup here")
    if RUST_TARGET not in ordered(["rustup", "target", "list", "--installed"]):
        raise Skip(f"rustup has no target {RUST_TARGET}")
    name = RUST_TARGET.upper().replace("-", "_")
    env = dict(os.environ, CARGO_TERM_COLOR="never", CARGO_TARGET_DIR=os.path.join(BUILD, "rust"),
               **{f"CARGO_TARGET_{name}_LINKER": COMPILER, f"CARGO_TARGET_{name}_RUNNER": " ".join(EMULATOR)})
    out = ordered(["cargo", "test", "--offline", "--lib", "--target", RUST_TARGET], cwd=os.path.join(TREE, "sdk", "rust"), env=env)
    passed = sum(int(n) for n in re.findall(r"(\d+) passed", out))
    assert passed >= 20, f"only {passed} tests ran:\n{out}"


main()
