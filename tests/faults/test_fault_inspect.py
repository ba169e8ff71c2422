# SPDX-License-Identifier: MIT
"""test_fault_inspect.py - `why` on a saved process: a failing call ends in an error, or changes nothing.

The saved process is the same in every run, unlike a living one.
"""
from fault_runs import *
import programs

INSPECT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "inspect")


def saved_process(dir):
    """A program with coroutines of many types and variables, written to a file."""
    path = programs.compile_program("locals", ["g++", "-std=c++20", "-fcoroutines", "-O2", "-g", os.path.join(INSPECT, "locals.cpp"), "-pthread"])
    if not path:
        raise Skip("no compiler with coroutines here")
    saved = os.path.join(dir, "saved.core")
    program = popen(path)
    while program.stdout.readline() not in ("ready\n", ""):
        pass
    programs.wait_asleep(program.pid)
    status, _, err = tool("why", "-p", program.pid, "--save", saved)
    equal(status, 0, f"status of why --save: {err}")
    program.kill()
    program.communicate(timeout=LIMIT)
    return saved


@test
def why_on_a_saved_process(dir):
    saved = saved_process(dir)
    explore_all(dir, ("why saved", "why", "--json", "--no-cache", saved),
                ("why locals", "why", "--json", "--no-cache", "--locals", saved),
                ("why html", "why", "--no-cache", "--html", "x.html", saved),
                ("why cache", "why", "--json", saved, {"env": {"XDG_CACHE_HOME": os.path.join(dir, "out", "cache")}, "same": lambda result: result.out}))


if __name__ == "__main__":
    main()
