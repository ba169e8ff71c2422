#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rings of Tokio's locks, and which lock or channel tasks wait for, in a program that prints the truth."""
import shutil
import sys
import tempfile

import test_why as common
import test_why_tokio as tokio

KINDS = ("semaphore", "notify", "barrier", "lock", "channel")


def look(path, *args):
    with common.Target(path, args=args, quiet_s=tokio.QUIET_S) as target:
        found = common.why("-p", str(target.process.pid))
        return found, target


def functions_in_rings(found):
    return sorted(m["function"] for ring in found["rings"] for m in ring["members"])


def test_rings(path):
    for count in (2, 5):
        found, _ = look(path, "ring", str(count))
        if functions_in_rings(found) != ["take_two"] * count or len(found["rings"]) != 1:
            common.fail("ring %d: %s" % (count, found["rings"]))
        for ring in found["rings"]:
            objects = {m["object"] for m in ring["members"]}
            holders = {m["holder"] for m in ring["members"]}
            if ring["confidence"] != "strong" or len(objects) != count or len(holders) != count:
                common.fail("ring %d: %s" % (count, ring))
    found, _ = look(path, "join")
    if functions_in_rings(found) != ["join_child", "join_holder"]:
        common.fail("join: %s" % found["rings"])
    if not all(g["verdict"] == "deadlock" for g in found["groups"]):
        common.fail("join: %s" % [(g["verdict"], g["stack"][-1]["function"]) for g in found["groups"]])


def test_no_rings(path):
    """Guards that are gone, and waits that end by themselves."""
    for what in ("released", "limited"):
        found, _ = look(path, what, "2")
        common.check_no_alarm(what, found)
        if found["rings"] or found["coroutines"] != 2:
            common.fail("%s: %s" % (what, found["rings"]))


def test_clean(path):
    with common.Target(path, args=("clean", "6"), quiet_s=None) as target:
        for _ in range(100 if common.FULL else 5):
            for ring in common.why("-p", str(target.process.pid))["rings"]:
                if ring["confidence"] in ("proven", "strong"):
                    common.fail("clean: a %s ring: %s" % (ring["confidence"], ring["members"]))


def test_kinds(path):
    """Tasks that wait for the same object are counted together."""
    found, _ = look(path, "kinds")
    waiters = {kind: [] for kind in KINDS}
    for group in found["groups"]:
        wait = group["waits_for"]
        waiters.setdefault(wait["kind"], []).extend(o["waiters"] for o in wait["objects"])
    expected = {"semaphore": [2], "notify": [2], "barrier": [2], "lock": [1], "channel": [1, 1]}
    if waiters != expected:
        common.fail("kinds: waiters %s, expected %s" % (waiters, expected))


def main():
    if not shutil.which("cargo"):
        print("no cargo here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        for debug, optimization in tokio.variants():
            path = tokio.build(work, debug, optimization)
            if not path:
                return 77
            path = path.replace("corotracer-inspected-tokio", "rings")
            for test in (test_rings, test_no_rings, test_kinds, test_clean):
                print(test.__name__, "optimization", optimization)
                test(path)
    print("%d faults" % len(common.faults))
    return 1 if common.faults else 0


if __name__ == "__main__":
    sys.exit(main())
