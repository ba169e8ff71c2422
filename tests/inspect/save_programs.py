#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Save programs of this folder while they sleep, for test_saved_programs.c: $TEST_PROGRAMS/saved/NAME.

Without random addresses, so that what depends on them is the same every time.  NAME.compiler is the compiler's version.
"""
import os
import shutil
import subprocess
import sys

import programs
import test_why_tokio_tasks as tasks
from test_why import FULL, TOOL, Target, build

GCC, GCC_FAST, CLANG = ("g++", ["-O0", "-g"]), ("g++", ["-O2", "-g"]), ("clang++", ["-O0", "-g"])
# Name, source, compiler, arguments.
PROGRAMS = [
    ("rings-own", "rings", GCC, ("own", "3")),
    ("rings-guards", "rings", GCC, ("cppcoro", "2")),
    ("rings-guards-clang", "rings", CLANG, ("cppcoro", "2")),
    ("rings-family", "rings", GCC, ("family",)),
    ("rings-shared", "rings", GCC, ("shared",)),
    ("rings-choice", "rings", GCC, ("choice",)),
    ("rings-released", "rings", GCC, ("released",)),
    ("rings-released-clang", "rings", CLANG, ("released",)),
    ("rings-handed", "rings", GCC, ("handed",)),
    ("rings-kinds", "rings", GCC_FAST, ("kinds",)),
    ("rings-loop", "rings", GCC, ("loop",)),
    ("locals", "locals", GCC, ()),
    ("locals-fast", "locals", GCC_FAST, ()),
    ("locals-clang", "locals", CLANG, ()),
    ("rare", "rare_locals", GCC, ()),
    ("rare-types", "rare_locals", ("g++", ["-O0", "-gdwarf-4", "-fdebug-types-section"]), ()),
    ("rare-clang", "rare_locals", CLANG, ()),
    ("rare-clang-fast", "rare_locals", ("clang++", ["-O2", "-g"]), ()),
    ("stacks", "stacks", GCC_FAST, ()),
    ("stacks-clang", "stacks", CLANG, ()),
    ("stacks-plain", "stacks", ("g++", ["-O2"]), ()),  # without debug information
    ("stacks-clang-plain", "stacks", ("clang++", ["-O0"]), ()),
    ("generators", "generators", GCC, ()),
    ("futures", "futures", ("g++", ["-O1", "-g"]), ()),
    ("forged-nested", "forged", GCC, ("nested",)),
    ("forged-ring", "forged", GCC, ("ring",)),
    ("forgotten", "forgotten", GCC_FAST, ()),
]
# Compiled for this test alone, and slowly: only with COROTRACER_FULL=1.
SLOW = ("futures", "locals-fast", "stacks-clang-plain")
TOKIO = [(mode, (mode, "current")) for mode in ("branches", "faults", "calm")]
FIXED = shutil.which("setarch")


def version(compiler):
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0] + "\n"


def save(name, path, args, compiler, quiet_s=0.06):
    where = os.path.join(programs.programs_directory(), "saved")
    os.makedirs(where, exist_ok=True)
    out = os.path.join(where, name)
    command = [FIXED, "-R", path, *args] if FIXED else [path, *args]
    with Target(command[0], args=command[1:], quiet_s=quiet_s) as target:
        subprocess.run([TOOL, "why", "-p", str(target.process.pid), "--save", out], check=True, timeout=300,
                       stderr=subprocess.DEVNULL)
    with open(out + ".compiler", "w", encoding="utf-8") as f:
        f.write(version(compiler))


def main():
    for name, source, (compiler, flags), args in PROGRAMS:
        path = build(None, source, compiler, flags) if shutil.which(compiler) and (FULL or name not in SLOW) else None
        if path:
            save(name, path, args, compiler)
    path = tasks.build(None, "own") if shutil.which("cargo") else None
    for mode, args in TOKIO if path else ():
        save("tokio-" + mode, path, args, "rustc", quiet_s=0.4)
    # Its crates take a minute to build.
    path = tasks.build(None, "smol", source=os.path.join(tasks.HERE, "smol")) if path and FULL else None
    if path:
        save("smol", path, (), "rustc", quiet_s=0.4)
    return 0


if __name__ == "__main__":
    sys.exit(main())
