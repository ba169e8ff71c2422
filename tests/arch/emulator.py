# SPDX-License-Identifier: MIT
"""emulator.py - run programs for another processor, and the tool of this one."""
import os
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TREE, "tests", "cli"))
from harness import Run, Skip, contains, equal, main, test  # noqa: E402,F401

BUILD = os.environ["ARCH_BUILD"]
EMULATOR = os.environ["ARCH_EMULATOR"].split()
COMPILER = os.environ["ARCH_COMPILER"]
NATIVE = os.environ["ARCH_NATIVE"]
OTHER = os.path.join(BUILD, "corotracer")
LIMIT = 600  # seconds


def emulated(*command):
    return [*EMULATOR, *map(str, command)]


def ordered(command, **options):
    """Standard output of a command that must succeed, without questions and for a bounded time."""
    p = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL, **options)
    equal(p.returncode, 0, f"status of {shlex.join(command)}, which said\n{p.stdout[-2000:]}{p.stderr[-2000:]}")
    return p.stdout
