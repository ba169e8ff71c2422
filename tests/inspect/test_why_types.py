#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What coroutines wait for by description files, and rings of locks, in programs that print the truth."""
import os
import shutil
import subprocess
import sys
import tempfile

import test_why as common

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = os.path.join(HERE, "rings.types")
SOURCES = ("rings.cpp", "tasks.h", "cppcoro_names.h")
HOUR_MS = 3600 * 1000


def why(*args, status=0):
    return common.why("--types", TYPES, *args, status=status)


def verdicts(found):
    return sum(g["count"] for g in found["groups"] if g["verdict"] == "deadlock")


def check_ring(label, found, count, confidence="proven"):
    """One ring of that many coroutines in which each one's lock is held by the next."""
    rings = found.get("rings", [])
    if len(rings) != (1 if count else 0):
        return common.fail("%s: %d rings, expected %d" % (label, len(rings), 1 if count else 0))
    if verdicts(found) != count:
        common.fail("%s: %d coroutines in a deadlock, expected %d" % (label, verdicts(found), count))
    for ring in rings:
        members = ring["members"]
        if len(members) != count or ring["confidence"] != confidence:
            common.fail("%s: a ring of %d, %s (%s)" % (label, len(members), ring["confidence"], ring["doubt"]))
        if len({m["coroutine"] for m in members}) != count or len({m["object"] for m in members}) != count:
            common.fail("%s: a coroutine or a lock is twice in the ring" % label)
    return None


def look(label, path, args, sources=SOURCES, confidence="proven"):
    lines = common.markers(*sources)
    with common.Target(path, args=args) as target:
        found = why("-p", str(target.process.pid))
        common.check_stacks(label, found, target, lines)
        check_ring(label, found, target.facts["ring"], confidence)
        return found


def test_rings(work):
    for compiler, flags in (("g++", ["-O0", "-g"]), ("g++", ["-O2", "-g"]), ("clang++", ["-O0", "-g"])):
        path = common.build(work, "rings", compiler, flags) if shutil.which(compiler) else None
        if not path:
            continue
        all_args = [("own", "2"), ("own", "5"), ("cppcoro", "2"), ("cppcoro", "5"), ("family",), ("again",), ("released",),
                    ("loop",), ("handed",)]
        if compiler == "g++":
            all_args.append(("shared",))
        elif not common.FULL:
            all_args = [("own", "2"), ("cppcoro", "5"), ("released",), ("loop",)]
        for args in all_args:
            look("%s %s %s" % (compiler, flags[0], " ".join(args)), path, args)


def test_family(work):
    """A parent that holds the lock of its child; one that awaits several is not certain."""
    path = common.build(work, "rings", "g++", ["-O0", "-g"])
    found = look("family", path, ("family",))
    member = found["rings"][0]["members"][0]
    if (member["function"], member["holder_function"]) != ("child_locks", "parent_locks"):
        common.fail("family: %s" % member)
    look("choice", path, ("choice",), confidence="suspect")


def test_exit_status(work):
    path = common.build(work, "rings", "g++", ["-O0", "-g"])
    with common.Target(path, args=("own", "2")) as target:
        pid = str(target.process.pid)
        why("--fail-on", "deadlock", "-p", pid, status=1)
        why("--fail-on", "unreachable", "-p", pid)
        # Without the user's description the lock is not known.
        check_ring("own, not described", common.why("-p", pid), 0)


def test_core(work):
    path = common.build(work, "rings", "g++", ["-O2", "-g"])
    with common.Target(path, args=("cppcoro", "5")) as target:
        saved = os.path.join(work, "saved")
        subprocess.run([common.TOOL, "why", "-p", str(target.process.pid), "--save", saved], check=True, timeout=300,
                       stderr=subprocess.DEVNULL)
    check_ring("saved", why(saved), 5)


def test_kinds(work):
    path = common.build(work, "rings", "g++", ["-O2", "-g"])
    found = look("kinds", path, ("kinds",))
    for group in found["groups"]:
        wait = group["waits_for"]
        if wait["kind"] == "event":
            waiters = sorted(o["waiters"] for o in wait["objects"])
            if waiters != [2, 3] or wait["type"] != "cppcoro::async_auto_reset_event_operation":
                common.fail("kinds: waiters of events %s" % wait)
        elif wait["kind"] != "timer" or not HOUR_MS - 120000 < wait["due_in_ms"] <= HOUR_MS:
            common.fail("kinds: %s" % wait)


def test_holders(work):
    """Coroutines in the queue of a lock that is held: no fault, and the holder is named."""
    path = common.build(work, "rings", "g++", ["-O0", "-g"])
    with common.Target(path, args=("handed",)) as target:
        found = why("-p", str(target.process.pid))
        waits = [g["waits_for"] for g in found["groups"] if g["waits_for"]["kind"] == "lock"]
        if len(waits) != 1 or waits[0]["objects"][0]["holder_function"] != "own_one":
            common.fail("handed: %s" % waits)


def test_threads(work):
    path = common.build(work, "rings", "g++", ["-O0", "-g"])
    with common.Target(path, args=("threads",)) as target:
        first, second = target.facts["first"], target.facts["second"]
        threads = why("-p", str(target.process.pid))["threads"]
        holders = {t["tid"]: t["waits_for"]["holder"] for t in threads if t["waits_for"]}
        if holders != {first: second, second: first}:
            common.fail("threads: %s, expected %d and %d to wait for each other" % (holders, first, second))


def test_clean(work):
    """Contended locks, always taken in the same order."""
    path = common.build(work, "rings", "g++", ["-O2", "-g"])
    with common.Target(path, args=("clean",), quiet_s=None) as target:
        for _ in range(100 if common.FULL else 5):
            for ring in why("-p", str(target.process.pid)).get("rings", []):
                if ring["confidence"] in ("proven", "strong"):
                    common.fail("clean: a %s ring: %s" % (ring["confidence"], ring["members"]))


def test_asio(work):
    if not os.path.exists("/usr/include/asio.hpp"):
        print("no Asio here")
        return
    lines = common.markers("awaitables.cpp")
    for compiler in ("g++", "clang++") if common.FULL else ("g++",):
        path = common.build(work, "awaitables", compiler, ["-O0", "-g"])
        if not path:
            continue
        with common.Target(path) as target:
            found = common.why("-p", str(target.process.pid))
        kinds = {}
        for group in found["groups"]:
            for word in ("sleep_long", "read", "listener"):
                if any(common.place_matches(level, word, lines) for level in group["stack"]):
                    kinds[word] = group["waits_for"]
        if kinds["sleep_long"]["kind"] != "timer" or not 0 < kinds["sleep_long"]["due_in_ms"] <= HOUR_MS:
            common.fail("asio, %s: the timer is %s" % (compiler, kinds["sleep_long"]))
        for word, count in (("read", 2), ("listener", 1)):
            sockets = kinds[word].get("descriptors", [])
            if len(sockets) != count or not all(s["type"] == "socket" and s["in_awaiter"] for s in sockets):
                common.fail("asio, %s: %s waits for %s" % (compiler, word, kinds[word]))


def test_errors(work):
    """An error names the file and the line."""
    cases = {
        "await A\n\tkind lock\n\tobjet x\n": "line 3: unknown word 'objet'",
        "\n# comment\n\tkind lock\n": "line 3: no type before 'kind'",
        "await A B\n": "line 1: expected one type after 'await'",
        "wait A\n": "line 1: unknown word 'wait'",
        "await A\n\tkind lok\n": "line 2: unknown kind 'lok'",
        "guard A\n\tholder x\n": "line 2: unexpected word 'holder'",
        "await A\n\tobject a->\n": "line 2: expected members after 'object'",
        "await A\n\twhile x = 1\n": "line 2: invalid condition after 'x'",
        "await A\n\tdescriptor fd both\n": "line 2: unexpected word 'both'",
    }
    path = os.path.join(work, "wrong.types")
    for text, words in cases.items():
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        r = subprocess.run([common.TOOL, "why", "--types", path, "-p", str(os.getpid())], capture_output=True, text=True,
                           timeout=300, check=False)
        if r.returncode != 1 or words not in r.stderr or path not in r.stderr or "hint:" not in r.stderr:
            common.fail("%r: exit %d, %s" % (text, r.returncode, r.stderr.strip()))
    r = subprocess.run([common.TOOL, "why", "--types", work + "/none", "-p", str(os.getpid())], capture_output=True,
                       text=True, timeout=300, check=False)
    if r.returncode != 1 or "cannot open" not in r.stderr:
        common.fail("a missing file: exit %d, %s" % (r.returncode, r.stderr.strip()))


def test_places(work):
    """Descriptions in a directory; and those beside an installed tool."""
    path = common.build(work, "rings", "g++", ["-O0", "-g"])
    folder = os.path.join(work, "folder")
    os.mkdir(folder)
    shutil.copy(TYPES, folder)
    with open(os.path.join(folder, "README"), "w", encoding="utf-8") as f:
        f.write("not a description\n")
    installed = os.path.join(work, "bin", "corotracer")
    os.mkdir(os.path.dirname(installed))
    shutil.copy(common.TOOL, installed)
    shipped = os.path.join(os.path.dirname(os.path.realpath(common.TOOL)), "share")
    shutil.copytree(shipped, os.path.join(work, "share"))
    with common.Target(path, args=("own", "2")) as target:
        check_ring("directory", common.why("--types", folder, "-p", str(target.process.pid)), 2)
    with common.Target(path, args=("cppcoro", "2")) as target:
        r = subprocess.run([installed, "why", "--json", "-p", str(target.process.pid)], capture_output=True, text=True,
                           timeout=300, check=False)
        if '"deadlock"' not in r.stdout:
            common.fail("an installed tool does not find its descriptions: %s" % r.stderr)


def main():
    if not shutil.which("g++"):
        print("no g++ here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        for test in (test_errors, test_rings, test_family, test_exit_status, test_core, test_kinds, test_holders,
                     test_places, test_threads, test_clean, test_asio):
            print(test.__name__)
            test(work)
    print("%d faults" % len(common.faults))
    return 1 if common.faults else 0


if __name__ == "__main__":
    sys.exit(main())
