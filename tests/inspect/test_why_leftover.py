#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Frames of callees that are left in the memory of a caller that has not started are not shown."""
import sys
import tempfile

import test_why as common


def check(label, found):
    stacks = [(g["count"], [level["function"] for level in g["stack"]]) for g in found["groups"]]
    if stacks != [(5, ["root_second"])] or found["coroutines"] != 5:
        common.fail("%s: %s, expected 5 x root_second" % (label, stacks))


def main():
    clangs = [c for c in common.COMPILERS if c.startswith("clang")]
    compilers = common.COMPILERS if common.FULL else clangs[:1]
    if not compilers:
        print("no clang++ here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        for compiler in compilers:
            for level in ("-O2", "-O3") if common.FULL else ("-O2",):
                path = common.build(work, "leftover", compiler, [level, "-g"])
                if not path:
                    continue
                with common.Target(path) as target:
                    check("%s %s" % (compiler, level), common.why("-p", str(target.process.pid)))
    print("%d faults" % len(common.faults))
    return 1 if common.faults else 0


if __name__ == "__main__":
    sys.exit(main())
