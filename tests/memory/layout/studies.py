# SPDX-License-Identifier: MIT
"""studies.py - programs traced and studied by `mem layout`, for the tests of layouts."""
import functools
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "memory-rt"))
from rt import BUILT, CLEAN, TOOL, collected, compile, equal  # noqa: E402

CORPUS = HERE / "corpus"
CACHES = ("--cache", "L1=32K,8", "--cache", "LL=256K,16")


@functools.cache
def corpus_trace(name, cc="gcc", *options):
    """The trace of a program of the corpus, which is built and run once for all cases."""
    return traced(BUILT.name, CORPUS / name, "-".join([name, cc, *options]), cc, *options)


def traced(dir, source, name, cc="gcc", *options):
    cxx = str(source).endswith(".cc")
    program = compile(dir, name, {"gcc": "g++", "clang": "clang++"}[cc] if cxx else cc, *(options or ("-O2",)),
                      cxx=cxx, source=source, out=name)
    trace = program + ".trace"
    collected(program, trace=trace)
    return trace


def tool(*args, status=0):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, env=CLEAN)
    if status is not None:
        equal(r.returncode, status, f"status of {args}: {r.stderr}")
    return r


def study(trace, *options):
    return json.loads(tool("mem", "layout", "--json", *CACHES, *options, trace).stdout)


def one_type(result, name):
    types = [t for t in result["types"] if t["type"] == name]
    equal(len(types), 1, f"types called {name} among {[t['type'] for t in result['types']]}")
    return types[0]


def advice(t):
    assert t["advice"] is not None, f"no advice: {[(c['name'], c['gain']) for c in t['tried']]}"
    return t["tried"][t["advice"]]
