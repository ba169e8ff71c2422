# SPDX-License-Identifier: MIT
"""simulate.py - traces for `mem sim` made by hand, and its results."""
import json
import os
import pathlib
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "memory-rt"))
from rt import CLEAN, Skip, TOOL, compile, contains, equal, main, test  # noqa: E402,F401

LEVEL = {"line": 64, "policy": "lru", "write": "back", "allocate": True, "inclusion": "non-inclusive", "prefetch": "none",
         "share": 1}


def level(size, ways, **more):
    return dict(LEVEL, size=size, ways=ways, **more)


def raw(path, accesses):
    """(thread, address, size, write) as raw records, whose order is the order of the file."""
    with open(path, "wb") as f:
        for thread, address, size, write in accesses:
            f.write(struct.pack("<BQBQ", 1 if write else 0, address, size, thread))
    return path


def sim(*args, status=0):
    r = subprocess.run([TOOL, "mem", "sim", *map(str, args)], capture_output=True, text=True, env=CLEAN, timeout=300)
    if status is not None and r.returncode != status:
        raise AssertionError(f"mem sim {args}: {r.returncode}\n{r.stdout}{r.stderr}")
    return r


def result(dir, config, accesses, *args):
    """The result of `mem sim --json` for @accesses on the machine @config."""
    machine, trace = os.path.join(dir, "machine.json"), os.path.join(dir, "trace")
    with open(machine, "w", encoding="utf-8") as f:
        json.dump(config, f)
    raw(trace, accesses)
    return json.loads(sim("--json", "--config", machine, *args, trace).stdout)
