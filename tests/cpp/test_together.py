#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_together.py - several files, the C library and a plugin: one trace, one session for all of C++."""
from cpp_traces import *

HERE_TOO = "S@- R S@other:join=in the other file <in the other file R done gone"


def check(dir, program):
    trace = os.path.join(dir, os.path.basename(program) + ".jsonl")
    status, out, err = tool("run", "--json", "-o", trace, "--", program, os.environ["CPP_PLUGIN"])
    equal(status, 0, f"{program}: {err}")
    s = Story(Run(status, out, err, trace))
    s.complete()
    equal(s.one("here"), HERE_TOO, "this file")
    equal(s.one("in the other file"), "S@- <here R S@in other R done gone", "the other file")
    equal((s.one("in C"), s.one("in C, elsewhere")), ("S R end", "S R end"), "the C SDK")
    equal(s.one("calls the plugin"), "S@- R S@plugin:join=in the plugin <in the plugin R done gone", "caller")
    equal(s.one("in the plugin"), "S@- <calls the plugin R S@in plugin R done gone", "the plugin")
    equal(s.parents("in the plugin"), ["calls the plugin"], "its parent")
    # One thread: a lane of C++, shared with the plugin, and one of the C SDK.
    equal((s.run.summary["lanes"]["opened"], s.run.summary["connected"]), (2, 2), "lanes and sessions")


@test
def with_the_shared_library(dir):
    check(dir, os.environ["CPP_TOGETHER_SHARED"])


@test
def with_the_static_library(dir):
    check(dir, os.environ["CPP_TOGETHER_STATIC"])


main()
