# SPDX-License-Identifier: MIT
"""test_host.py - without cache information from the kernel, a default machine is simulated, and a message says so.

In a mount namespace of its own, /sys/devices/system/cpu is a directory of the test.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/cli")
from harness import *  # noqa: E402

CPU = "/sys/devices/system/cpu"
WARNING = "simulating the default machine"
WORDS = "the default machine: no cache information in /sys"


def sysfs(dir, *caches):
    """Caches as (level, type, size or None)."""
    root = os.path.join(dir, "cpu")
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    with open(root + "/online", "w", encoding="ascii") as f:
        f.write("0-1\n")
    for i, (level, type, size) in enumerate(caches):
        path = f"{root}/cpu0/cache/index{i}"
        os.makedirs(path)
        for name, text in (("level", level), ("type", type), ("size", size), ("coherency_line_size", 64),
                           ("ways_of_associativity", 8), ("shared_cpu_list", 0)):
            if text is not None:
                with open(f"{path}/{name}", "w", encoding="ascii") as f:
                    f.write(f"{text}\n")
    return root


def with_sysfs(root, *command):
    script = f'mount --bind "$1" {CPU} || exit 125; shift; exec "$@"'
    p = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", root, TOOL, *command], capture_output=True, text=True,
                       timeout=300)
    if p.returncode == 125 or p.stderr.startswith("unshare:"):
        raise Skip(f"no mount namespace here: {p.stderr.strip()}")
    return p.returncode, p.stdout, p.stderr


def trace(dir):
    """Accesses of a program: enough to simulate."""
    path = os.path.join(dir, "t.cray")
    source = os.path.join(dir, "p.c")
    with open(source, "w", encoding="ascii") as f:
        f.write("static long a[64]; int main(void) { for (int i = 0; i < 64; i++) a[i] += i; return 0; }\n")
    status, _, err = tool("mem", "cc", "-O1", source, "-o", source + ".out")
    equal(status, 0, f"status of mem cc: {err}")
    status, _, err = tool("mem", "run", "-q", "-o", path, "--", source + ".out")
    equal(status, 0, f"status of mem run: {err}")
    return path


@test
def without_cache_information_the_default_machine_is_named(dir):
    t, root = trace(dir), sysfs(dir)
    for command in (["sim"], ["sim", "--json"], ["sim", "--csv"], ["sim", "--show"], ["layout"], ["layout", "--json"],
                    ["html", "-o", os.path.join(dir, "t.html")]):
        status, out, err = with_sysfs(root, "mem", *command, t)
        equal(status, 0, f"status of {command}: {err}")
        contains(err, WARNING)
        contains(err, "hint: name the caches")
        if command[-1] not in ("--csv", "--show") and command[0] != "html":
            contains(out, WORDS)
    assert os.path.getsize(os.path.join(dir, "t.html")) > 1000 # its data, that of mem sim --json, is packed
    status, out, err = with_sysfs(root, "mem", "sim", "--host", t)
    equal((status != 0, out), (True, ""), "status and output of --host")


@test
def one_cache_that_cannot_be_read_is_not_left_out(dir):
    t, root = trace(dir), sysfs(dir, (1, "Data", "32K"), (1, "Instruction", None), (2, "Unified", None), (3, "Unified", "8M"))
    status, out, err = with_sysfs(root, "mem", "sim", "--json", t)
    equal(status, 0, "status")
    contains(err, "cpu0/cache/index2/size")
    contains(err, WARNING)
    equal(json.loads(out)["machine_from"], WORDS, "where the machine comes from")


@test
def what_the_kernel_tells_is_simulated_without_a_word(dir):
    t, root = trace(dir), sysfs(dir, (1, "Data", "48K"), (1, "Instruction", "32K"), (2, "Unified", "2M"))
    status, out, err = with_sysfs(root, "mem", "sim", "--json", t)
    equal((status, err), (0, ""), "status, stderr")
    r = json.loads(out)
    equal(r["machine_from"], "this computer", "where the machine comes from")
    equal(len(r["machine"]["levels"]), 2, "levels")


if __name__ == "__main__":
    main()
