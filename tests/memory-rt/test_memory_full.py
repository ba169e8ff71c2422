#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_full.py - a full /dev/shm: the program goes on, and what is lost is counted."""
import functools
import json
import os
import subprocess

from rt import CLEAN, TOOL, Skip, check, compile, contains, each_family, equal, filter_calls, main, sizes

MIB = 1 << 20


@functools.lru_cache(1)
def prefix():
    """Starts a command with mounts of its own."""
    for words in (["unshare", "-m"], ["unshare", "-r", "-m"]):
        try:
            if subprocess.run([*words, "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], capture_output=True).returncode == 0:
                return words
        except FileNotFoundError:
            break
    raise Skip("no mount namespace here")


def run_in(size, command, **kwargs):
    """Run @command, a shell script, with a /dev/shm of @size bytes."""
    script = f"mount -t tmpfs -o size={size} tmpfs /dev/shm || exit 99\n{command}"
    return subprocess.run([*prefix(), "sh", "-c", script], capture_output=True, text=True, env=CLEAN, timeout=300, **kwargs)


def without_populate():
    """madvise(MADV_POPULATE_WRITE) fails from here on, as in a kernel before 5.14."""
    number = {"x86_64": 28, "aarch64": 233}[os.uname().machine]
    code = ((0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 32), (0x15, 0, 1, 23), (0x06, 0, 0, 0x50016),
            (0x06, 0, 0, 0x7FFF0000))
    filter_calls(code)


@each_family
def a_program_alone_needs_no_dev_shm(dir, cc, _cxx):
    program, trace = compile(dir, "threads.c", cc), os.path.join(dir, f"{cc}.trace")
    r = run_in(MIB, f"CACHERAY_OPTIONS=tracefile={trace} {program} 2 1000")
    equal((r.returncode, r.stderr), (0, ""), "status, messages")
    equal(sizes(check(trace))[4][1], 2000, "writes")


@each_family
def threads_without_room_do_not_end_the_program(dir, cc, _cxx):
    program, trace = compile(dir, "threads.c", cc), os.path.join(dir, f"{cc}-many.trace")
    r = run_in(18 * MIB, f"CACHERAY_OPTIONS=tracefile={trace} {program} 60 20000")
    equal(r.returncode, 0, f"status ({r.stderr})")
    written = sizes(check(trace, sound=None))[4][1]
    equal(written == 60 * 20000 or "accesses are lost" in r.stderr, True, f"{written} writes, {r.stderr}")


def fill_but(left):
    """Leave @left bytes of /dev/shm: what the program of `mem run` does before it is traced."""
    return (f'free=$(df --output=avail -B1 /dev/shm | tail -1); head -c $((free - {left})) /dev/zero > /dev/shm/fill; exec "$@"')


def run_while_full(dir, cc, left, preexec_fn=None):
    """`mem run` of a program whose /dev/shm is filled up to @left bytes after the region was made."""
    program, trace = compile(dir, "threads.c", cc), os.path.join(dir, f"{cc}-{left}.trace")
    command = f"{TOOL} mem run --json --buffer 256K -o {trace} -- sh -c '{fill_but(left)}' sh {program} 2 100000"
    r = run_in(70 * MIB, command, preexec_fn=preexec_fn)
    told = [line for line in r.stderr.splitlines() if line.startswith("{")]
    return r, json.loads(told[-1]) if told else None, trace


@each_family
def a_full_dev_shm_at_the_start_leaves_the_program_alone(dir, cc, _cxx):
    r, told, _ = run_while_full(dir, cc, 0)
    contains(r.stderr, "its file system is full; not tracing")
    equal(told["program_status"], 0, f"status of the program ({r.stderr})")


@each_family
def what_has_no_room_later_is_counted(dir, cc, _cxx):
    for old in (None, without_populate):
        r, told, trace = run_while_full(dir, cc, 160 << 10, preexec_fn=old)
        equal(told["program_status"], 0, f"status of the program ({r.stderr})")
        equal(r.stderr.count("accesses are lost"), 1, f"said once: {r.stderr}")
        written = sizes(check(trace, sound=None)).get(4, (0, 0))[1]
        equal([f["file"] for f in told["files"]], [trace], "files")
        lost = told["files"][0]["lost"]
        equal(lost > 0 and written < 200000, True, f"{lost} lost, {written} of 200000 writes in the trace")
        equal(told["files"][0]["lost"] + written >= 200000, True, f"{lost} lost and {written} recorded")


if __name__ == "__main__":
    main()
