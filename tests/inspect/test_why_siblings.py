#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debug information whose siblings are a ring: a look must come to an end."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import test_why as common

SECONDS = 60


def section_offset(path):
    """Where .debug_info begins in the file."""
    r = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True)
    return int(re.search(r"\.debug_info\s+PROGBITS\s+\S+\s+(\S+)", r.stdout).group(1), 16)


def sibling_attributes(path):
    """(offset of the attribute's value, offset of its DIE, offset of its unit), all in .debug_info."""
    r = subprocess.run(["readelf", "--wide", "--debug-dump=info", path], capture_output=True, text=True, check=True)
    unit = die = 0
    for line in r.stdout.splitlines():
        m = re.match(r"\s+Compilation Unit @ offset (?:0x)?([0-9a-f]+)", line)
        if m:
            unit = int(m.group(1), 16)
        m = re.match(r"\s*<[0-9a-f]+><([0-9a-f]+)>: Abbrev", line)
        if m:
            die = int(m.group(1), 16)
        m = re.match(r"\s*<([0-9a-f]+)>\s+DW_AT_sibling\s", line)
        if m:
            yield int(m.group(1), 16), die, unit


def write_rings(path, out, back):
    """A copy in which every sibling that is named is the DIE itself, or the one that was named @back before."""
    start, nr, dies = section_offset(path), 0, []
    with open(path, "rb") as f:
        data = bytearray(f.read())
    for value, die, unit in sibling_attributes(path):
        dies = [d for d in dies if d[1] == unit] + [(die, unit)]
        target = dies[max(0, len(dies) - 1 - back)][0]
        data[start + value:start + value + 4] = (target - unit).to_bytes(4, "little")
        nr += 1
    with open(out, "wb") as f:
        f.write(data)
    os.chmod(out, 0o755)
    return nr


def look(label, pid, *options):
    command = [common.TOOL, "why", "--no-cache", "--json", "-p", str(pid), *options]
    try:
        r = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        common.fail("%s: no end after %d s" % (label, SECONDS))
        return
    if r.returncode != 0:
        common.fail("%s: status %d, %r" % (label, r.returncode, r.stderr))


def test_cpp(work):
    path = common.build(work, "locals", "g++", ["-O0", "-g", "-gdwarf-4", "-gstrict-dwarf"])
    for back in (0, 7):
        ring = os.path.join(work, "ring-%d" % back)
        if not write_rings(path, ring, back):
            common.fail("the program has no siblings to change")
        with common.Target(ring) as target:
            look("siblings, %d back" % back, target.process.pid, "--locals", "--stacks")


def wait_asleep(pid):
    for _ in range(3000):
        with open("/proc/%d/syscall" % pid, encoding="utf-8") as f:
            if f.read().split()[0] == "34":  # pause
                return
        time.sleep(0.01)


def test_rust(work):
    path = os.path.join(work, "sibling_ring")
    subprocess.run(["gcc", os.path.join(common.HERE, "sibling_ring.s"), "-o", path, "-no-pie"], check=True)
    with subprocess.Popen([path]) as process:
        wait_asleep(process.pid)
        look("Rust", process.pid)
        process.kill()


def main():
    if "g++" not in common.COMPILERS or not shutil.which("readelf"):
        print("no g++ or no readelf here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        test_rust(work)
        test_cpp(work)
    print("%d faults" % len(common.faults))
    return 1 if common.faults else 0


if __name__ == "__main__":
    sys.exit(main())
