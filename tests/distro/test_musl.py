#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_musl.py - the SDK built with musl, in a static program, traced by the tool of another C library."""
import re
import shutil
import sys

HERE = __file__.rsplit("/", 1)[0]
sys.path.insert(0, HERE + "/../cli")
from harness import *  # noqa: E402,F403

TREE = os.path.abspath(os.path.join(HERE, "..", ".."))


def output_of(*command, **options):
    p = subprocess.run(command, capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL, **options)
    equal(p.returncode, 0, f"status of {' '.join(command)}, which said\n{p.stdout[-3000:]}{p.stderr[-3000:]}")
    return p.stdout


def installed_sdk(dir):
    """The prefix of an installation that musl-gcc has compiled."""
    if not shutil.which("musl-gcc"):
        raise Skip("no musl-gcc here")
    build, prefix = os.path.join(dir, "build"), os.path.join(dir, "prefix")
    output_of("cmake", "-S", TREE, "-B", build, f"-DCMAKE_TOOLCHAIN_FILE={TREE}/scripts/musl.cmake",
              "-DCOROTRACER_WERROR=ON", "-DCOROTRACER_BUILD_TOOL=OFF", "-DCOROTRACER_BUILD_TESTS=OFF",
              "-DCOROTRACER_BUILD_EXAMPLES=OFF", "-DCOROTRACER_BUILD_MEMORY=OFF", f"-DCMAKE_INSTALL_PREFIX={prefix}",
              "-DCMAKE_INSTALL_LIBDIR=lib")
    output_of("cmake", "--build", build)
    output_of("cmake", "--install", build)
    return prefix


@test
def a_static_program_is_traced(dir):
    """The program of tests/install reports two events, and says whether it is traced."""
    prefix, program = installed_sdk(dir), os.path.join(dir, "program")
    output_of("musl-gcc", "-static", "-O2", os.path.join(TREE, "tests", "install", "c", "main.c"), f"-I{prefix}/include",
              f"{prefix}/lib/libcorotracer.a", "-o", program)
    elf = output_of("readelf", "-lW", program)
    assert "INTERP" not in elf, f"the program needs a loader:\n{elf}"
    assert b"GNU C Library" not in open(program, "rb").read(), "the program has the other C library"
    contains(output_of(program), " untraced")
    trace = os.path.join(dir, "trace.jsonl")
    said = output_of(TOOL, "run", "-q", "-o", trace, "--", program)
    assert re.fullmatch(r"[0-9.]+ traced\n", said), f"it said {said!r}"
    with open(trace, encoding="utf-8") as f:
        equal([json.loads(line)["is_active"] for line in f], [False, True], "events")


main()
