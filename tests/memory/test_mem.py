#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_mem.py - mem run, check, dump, stat and convert, on traces of a real program."""
import atexit
import csv
import glob
import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "memory-rt"))
from rt import CLEAN, Skip, TOOL, check, collected, compile, contains, dump, equal, main, sizes, test, wait_until  # noqa: E402
from harness import popen, tool  # noqa: E402

ROOT = HERE.parent.parent
PROGRAM = []


def walk(dir):
    """The program, built once for all tests."""
    if not PROGRAM:
        place = tempfile.mkdtemp(prefix="corotracer-test-")
        atexit.register(shutil.rmtree, place, True)
        PROGRAM.append(compile(place, "walk", "gcc", "-O1", f"-I{ROOT / 'include'}", source=HERE / "walk.c"))
    return PROGRAM[0]


def places():
    """Regions of all collectors: other tests run at the same time."""
    return set(glob.glob("/dev/shm/coromem-*"))


def places_of(pid):
    """The regions that a process has mapped."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return set(re.findall(r"/dev/shm/coromem-[^/\s]+", f.read()))


def summary(r):
    return json.loads(r.stderr.splitlines()[-1])


@test
def every_access_of_every_thread_is_in_the_trace(dir):
    trace = os.path.join(dir, "t")
    r = collected(walk(dir), 300000, 4, trace=trace)
    c = check(trace)
    equal(sizes(c)[4][1] >= 1200000, True, f"writes of 4 bytes: {sizes(c)}")
    equal(sum(t["writes"] == 300000 for t in c["threads"]), 4, "threads with all their writes")
    equal((c["added"]["all"], c["removed"]["all"], c["annotations_left"]), (4, 4, 0), "annotations")
    equal(c["lost"], 0, "lost")
    s = summary(r)
    equal(s["files"][0]["accesses"], c["accesses"], "accesses in the summary")
    contains(c["command"][0], "walk")
    assert c["size"] < 1.5 * c["accesses"], f"{c['size']} bytes for {c['accesses']} accesses"


@test
def the_exit_status_is_the_programs(dir):
    trace = os.path.join(dir, "t")
    collected(walk(dir), 10, 1, "status", trace=trace, status=7)
    check(trace)
    r = collected(walk(dir), 10, 1, trace=trace, status=0)
    equal(os.path.exists(trace + ".old"), True, "the earlier trace is kept")
    equal(summary(r)["program_status"], 0, "status in the summary")


@test
def a_killed_program_leaves_all_it_did(dir):
    trace = os.path.join(dir, "t")
    before = places()
    r = collected(walk(dir), 12345, 3, "kill", trace=trace, status=-signal.SIGKILL)
    c = check(trace)
    equal(sorted(t["writes"] for t in c["threads"] if t["annotations"])[-3:], [12345] * 3, "writes of the dead")
    equal(c["lost"], 0, "lost")
    equal(summary(r)["signal"], signal.SIGKILL, "signal in the summary")
    left = places() - before
    wait_until(lambda: not left & places(), "nothing is left in /dev/shm")


@test
def a_killed_collector_does_not_harm_the_program(dir):
    trace = os.path.join(dir, "t")
    p = popen(TOOL, "mem", "run", "-o", trace, "--", walk(dir), 1000000, 1, "wait", stdin=subprocess.PIPE, env=CLEAN)
    equal(p.stdout.readline(), "ready\n", "what the program says")
    wait_until(lambda: os.path.exists(trace) and os.path.getsize(trace) > 64, "the trace")
    own = places_of(p.pid)
    equal(len(own), 1, f"regions of the collector: {own}")
    p.kill()
    p.wait()
    # Four times what a ring holds: the program must not wait for ever for a dead collector.
    p.stdin.write("g")
    p.stdin.close()
    equal(p.stdout.read(), "done\n", "what the program says after that")
    c = check(trace, sound=None)
    assert any(f["kind"] == "truncated" for f in c["faults"]), c["faults"]
    for place in own:
        for name in os.listdir(place):
            os.unlink(os.path.join(place, name))
        os.rmdir(place)


@test
def a_full_disk_is_said_and_the_program_goes_on(dir):
    trace = os.path.join(dir, "t")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    # Files in tmpfs are limited as well: only the region must fit.
    p = subprocess.run([TOOL, "mem", "run", "--level", "0", "-o", trace, "--", walk(dir), "3000000", "2"], capture_output=True,
                       text=True, env=CLEAN, preexec_fn=limit, timeout=300)
    if "cannot size" in p.stderr:
        # The limit applies to shared memory, too: use a full file system instead.
        mount = os.path.join(dir, "small")
        os.mkdir(mount)
        if os.getuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", mount], capture_output=True).returncode:
            raise Skip("no file system to fill")
        try:
            p = subprocess.run([TOOL, "mem", "run", "--level", "0", "-o", os.path.join(mount, "t"), "--", walk(dir), "3000000", "2"],
                               capture_output=True, text=True, env=CLEAN, timeout=300)
            c = check(os.path.join(mount, "t"), sound=None)
        finally:
            subprocess.run(["umount", mount], check=True)
    else:
        c = check(trace, sound=None)
    equal(p.returncode, 1, "status: the program's is 0, the trace is not complete")
    contains(p.stderr, "cannot write")
    contains(p.stderr, "hint:")
    equal([f for f in c["faults"] if f["kind"] == "damage"], [], "damage in what was written")


@test
def a_size_cap_ends_the_trace_and_not_the_program(dir):
    trace = os.path.join(dir, "t")
    r = collected(walk(dir), 3000000, 2, trace=trace, options=("--max-size", "64K", "--level", "0"), status=1)
    equal(summary(r)["capped"], True, "capped")
    c = check(trace)
    assert c["lost"] > 0 or c["lost_unknown"], c
    # No block begins beyond the cap, and none is larger than this.
    assert c["size"] < 2 << 20, c["size"]


@test
def dropped_accesses_are_counted(dir):
    trace = os.path.join(dir, "t")
    r = collected(walk(dir), 3000000, 2, trace=trace, options=("--on-full", "drop", "--buffer", "256K", "--level", "19"), status=None)
    c = check(trace)
    wrote = sum(t["writes"] + t["lost"] for t in c["threads"] if t["annotations"])
    s = summary(r)["files"][0]
    equal(s["lost"], c["lost"], "lost, in summary and trace")
    assert c["accesses"] + c["lost"] >= 6000000, (c["accesses"], c["lost"])
    assert wrote <= c["accesses"] + c["lost"]
    equal(r.returncode, 1 if c["lost"] else 0, "status")


@test
def raw_is_what_convert_makes_and_comes_back_to_the_byte(dir):
    raw, box, back = (os.path.join(dir, n) for n in ("raw", "box", "back"))
    collected(walk(dir), 50000, 3, trace=raw, options=("--format", "raw"))
    equal(check(raw)["format"], "raw", "format")
    with open(raw + ".meta", encoding="utf-8") as f:
        meta = json.load(f)
    equal(meta["byte_order"], "little", "byte order")
    equal(tool("mem", "convert", "-o", box, raw)[0], 0, "status of convert")
    equal(tool("mem", "convert", "-q", "-o", back, box)[0], 0, "status of convert back")
    with open(raw, "rb") as a, open(back, "rb") as b:
        equal(a.read() == b.read(), True, "the same bytes")
    equal(tool("mem", "convert", "-o", box, "--format", "raw.zst", raw)[0], 0, "status of convert to zstd")
    equal(check(box)["accesses"], check(raw)["accesses"], "accesses")
    equal(tool("mem", "convert", "-o", raw, raw)[0], 2, "status of convert onto itself")


@test
def dump_shows_what_is_asked_for(dir):
    trace = os.path.join(dir, "t")
    collected(walk(dir), 5000, 2, trace=trace)
    added = dump(trace, "--kind", "add")
    equal([(a["type"], a["elem_size"], a["elem_count"]) for a in added], [("int", 4, 4096)] * 2, "annotations")
    rows = dump(trace, "--type", "int", "--kind", "write")
    equal(len(rows), 10000, "writes to ints")
    equal({r["size"] for r in rows}, {4}, "their sizes")
    thread = str(added[0]["thread"])
    equal(len(dump(trace, "--type", "int", "--kind", "write", "--thread", thread)), 5000, "of one thread")
    at = int(added[0]["address"], 0)
    inside = dump(trace, "--kind", "write", "--thread", thread, "--range", f"{at:#x}+8")
    equal({int(r["address"], 0) - at for r in inside}, {0, 4}, "addresses in the range")
    equal(len(dump(trace, "-n", "3", "--skip", "2")), 3, "rows with --count")
    status, out, _ = tool("mem", "dump", "--csv", "--kind", "add", trace)
    rows = list(csv.DictReader(io.StringIO(out)))
    equal((status, [r["type"] for r in rows]), (0, ["int", "int"]), "as CSV")
    status, out, _ = tool("mem", "dump", "--kind", "add", trace)
    contains(out, "4096 x 4 bytes  int")
    for bad in (["--kind", "nothing"], ["--range", "x"], ["--range", "5-3"], ["--thread", "-1"], ["--bogus"], []):
        equal(tool("mem", "dump", *bad, *([trace] if bad else []))[0], 2, f"status with {bad}")


@test
def stat_tells_reuse_exactly(dir):
    """A walk over 16 KiB of ints, again and again: the result is known in advance."""
    trace = os.path.join(dir, "t")
    collected(walk(dir), 40960, 1, trace=trace)
    status, out, err = tool("mem", "stat", "--json", trace)
    equal((status, err), (0, ""), "status and stderr")
    s = json.loads(out)
    equal(s["types"][0]["type"], "int", "the type")
    equal(s["types"][0]["writes"], 40960, "its writes")
    lines = 256 + (s["lines"] - 256)  # the array has 256 lines, or 257 if it does not start at one
    reuse = {r["from"]: r["count"] for r in s["reuse"]}
    # 10 rounds over 4096 ints: 15 of 16 accesses stay in the line, 9 rounds reuse each line after
    # all others.
    near, far = reuse[0], sum(reuse.get(b, 0) for b in (128, 256))
    assert 37500 <= near <= 38600, s["reuse"]
    assert 9 * 256 <= far <= 9 * 258 + 20, s["reuse"]
    assert 256 <= s["first_uses"] <= lines, s
    equal([x["stride"] for x in s["strides"]["top"][:1]], [4], "the stride")
    assert all(w["lines"] <= 300 for w in s["working_set"]), s["working_set"]
    sampled = json.loads(tool("mem", "stat", "--json", "--lines-max", "64", trace)[1])
    assert sampled["sampled_one_in"] > 1, sampled["sampled_one_in"]
    assert 128 <= sampled["lines"] <= 512, sampled["lines"]
    status, out, _ = tool("mem", "stat", "--per-thread", trace)
    for part in ("hot lines", "working set", "strides", "reuse distance", "int"):
        contains(out, part)


@test
def hostile_files_are_refused_or_read_in_part(dir):
    trace, bad = os.path.join(dir, "t"), os.path.join(dir, "bad")
    collected(walk(dir), 200000, 2, trace=trace)
    with open(trace, "rb") as f:
        data = f.read()
    whole = check(trace)["accesses"]
    for at in range(70, len(data), len(data) // 7):
        with open(bad, "wb") as f:
            f.write(data[:at])
        c = check(bad, sound=False)
        assert c["accesses"] <= whole
        assert any(x["kind"] == "truncated" for x in c["faults"]), c["faults"]
        for command in ("dump", "stat"):
            status, _, err = tool("mem", command, bad)
            equal(status, 1, f"status of {command}")
            contains(err, "offset ")
    for start, part in ((b"hello", "no memory trace"), (b"\x89CRT\n\x1a\n", "hint:"), (b"\x09" * 100, "no memory trace")):
        with open(bad, "wb") as f:
            f.write(start)
        for command in ("check", "dump", "stat"):
            status, _, err = tool("mem", command, bad)
            equal(status, 1, f"status of {command} on {start}")
            contains(err, part)
    equal(tool("mem", "check", os.path.join(dir, "nowhere"))[0], 1, "status without a file")


@test
def traces_come_through_pipes(dir):
    trace = os.path.join(dir, "t")
    collected(walk(dir), 5000, 2, trace=trace)
    wanted = check(trace)["accesses"]
    for form in ("container", "raw"):
        script = f"'{TOOL}' mem convert -q --format {form} -o - '{trace}' | '{TOOL}' mem check --json -"
        p = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=CLEAN)
        equal((p.returncode, json.loads(p.stdout)["accesses"]), (0, wanted), f"{form} through a pipe: {p.stderr}")


@test
def what_is_wrong_is_said(dir):
    trace = os.path.join(dir, "t")
    status, _, err = tool("mem", "run", "-o", trace, "--", "true", env=CLEAN)
    equal(status, 1, "status of a program that traces nothing")
    contains(err, "mem cc")
    with open(trace, "w", encoding="ascii") as f:
        f.write("precious")
    status, _, err = tool("mem", "run", "-o", trace, "--", walk(dir), env=CLEAN)
    equal(status, 1, "status with a file that is no trace")
    contains(err, "no memory trace")
    with open(trace, encoding="ascii") as f:
        equal(f.read(), "precious", "the file")
    for args in (["--format", "x"], ["--on-full", "x"], ["--max-size", "x"], ["-o", ""], []):
        equal(tool("mem", "run", *args, *(["--", "true"] if args else []))[0], 2, f"status with {args}")
    status, _, err = tool("mem", "run", "-o", os.path.join(dir, "no/where"), "--", "true")
    equal(status, 1, "status without a folder")
    status, _, err = tool("mem", "run", "-o", os.path.join(dir, "u"), "--", "/no/such/program")
    equal(status, 127, "status without a program")
    contains(err, "cannot run")


if __name__ == "__main__":
    main()
