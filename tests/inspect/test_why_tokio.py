#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`corotracer why` on a Rust program with Tokio that prints what must be found."""
import os
import shutil
import sys
import tempfile

import programs
import test_why as common

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join("tokio", "src", "main.rs")
QUIET_S = 0.4  # longer than the waits of the programs before they are ready
KINDS = {"leaf": "timer", "answered": "channel", "joined": "task"}


def variants():
    """Level of debug information, level of optimization."""
    return [(2, 0), (2, 3)] if common.FULL else [(2, 0)]


def build(_, debug, optimization):
    """The program, beside others of the same crate; None: it cannot be built here."""
    where = programs.build_crate("tokio-%d-%d" % (debug, optimization), os.path.join(HERE, "tokio"),
                                 beside="tasks-own" if (debug, optimization) == (2, 0) else None,
                                 CARGO_PROFILE_DEV_DEBUG=str(debug), CARGO_PROFILE_DEV_OPT_LEVEL=str(optimization))
    return where and os.path.join(where, "corotracer-inspected-tokio")


def markers():
    return {name: ("main.rs", line) for name, (_, line) in common.markers(SOURCE).items()}


def check_kinds(label, found, lines):
    for group in found["groups"]:
        for word, kind in KINDS.items():
            if common.place_matches(group["stack"][0], word, lines) and group["waits_for"]["kind"] != kind:
                common.fail("%s: %s waits for %s, expected %s" % (label, word, group["waits_for"], kind))
        due = (group["waits_for"] or {}).get("due_in_ms")
        if due is not None and not 0 < due <= 3600 * 1000:
            common.fail("%s: a timer of an hour is due in %d ms" % (label, due))


def look(label, path):
    lines = markers()
    with common.Target(path, quiet_s=QUIET_S) as target:
        found = common.why("-p", str(target.process.pid))
        common.check_stacks(label, found, target, lines)
        common.check_no_alarm(label, found)
        check_kinds(label, found, lines)
        expected = sum(count for count, _ in target.expected)
        if found["coroutines"] != expected:
            common.fail("%s: %d coroutines, expected %d" % (label, found["coroutines"], expected))


def main():
    if not shutil.which("cargo"):
        print("no cargo here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        for debug, optimization in variants():
            path = build(work, debug, optimization)
            if not path:
                return 77
            look("debug %d, optimization %d" % (debug, optimization), path)
    print("%d faults" % len(common.faults))
    return 1 if common.faults else 0


if __name__ == "__main__":
    sys.exit(main())
