# SPDX-License-Identifier: MIT
"""signals.py - runs of the programs of this folder, and what their traces hold.

SIGNALS_TARGET, SIGNALS_TARGET_CPP: the programs
"""
from harness import *

SIGNALS_TARGET = os.environ.get("SIGNALS_TARGET", "build/tests/signals/signals_target")
SIGNALS_TARGET_CPP = os.environ.get("SIGNALS_TARGET_CPP", "build/tests/signals/signals_target_cpp")
# A coroutine that is never destroyed is also a leak; here that is intended.
ENV = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", ""))

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECOND = "00-11111111111111111111111111111111-2222222222222222-00"


def record(dir, name="t.jsonl", *program):
    """A trace of a finished run."""
    trace = os.path.join(dir, name)
    status, _, err = tool("run", "-q", "-o", trace, "--", *(program or (SIGNALS_TARGET, 3, 200)), env=ENV)
    equal(status, 0, f"status of run: {err}")
    return trace


def rows(trace, sql):
    status, out, err = tool("query", "--json", trace, sql)
    equal(status, 0, f"status of query: {err}")
    return [list(row.values()) for row in json.loads(out)["rows"]]
