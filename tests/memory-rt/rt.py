# SPDX-License-Identifier: MIT
"""rt.py - build programs with `mem cc`, run them traced, and inspect the trace."""
import ctypes
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from harness import Skip, TOOL, contains, equal, main, test, wait_until  # noqa: E402,F401

TOOL = os.path.abspath(TOOL)
PROGRAMS = HERE / "programs"
BUILT = tempfile.TemporaryDirectory(prefix="corotracer-test-built-")
FULL = os.environ.get("COROTRACER_FULL") == "1"
# Settings of an outer traced run must not reach these programs.
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("CACHERAY_", "COROTRACER_"))}


def compilers():
    """The (cc, c++) pairs that are installed, newer clangs included."""
    pairs = [("gcc", "g++"), ("clang", "clang++")] + [(f"clang-{v}", f"clang++-{v}") for v in (15, 16, 17, 18, 19)]
    found = [p for p in pairs if shutil.which(p[0]) and shutil.which(p[1])]
    if not found:
        raise Skip("no compiler")
    return found


def compiler_families():
    """gcc and the newest clang; all compilers with COROTRACER_FULL=1."""
    found = compilers()
    if FULL:
        return found
    clangs = [p for p in found if is_clang(p[0])]
    return [p for p in found if not is_clang(p[0])] + clangs[-1:]


def is_clang(cc):
    return cc.startswith("clang")


def compiler_ends():
    """gcc, the oldest and the newest clang; all compilers with COROTRACER_FULL=1."""
    found = compilers()
    clangs = [p for p in found if is_clang(p[0])]
    return [p for p in found if FULL or p not in clangs[1:-1]]


def chosen_levels(cc, *levels):
    """The levels of optimisation to use with @cc: all; without COROTRACER_FULL=1 the first with the oldest clang and the last with
    the newest and with gcc, if there are two clangs."""
    clangs = [c for c, _ in compiler_ends() if is_clang(c)]
    if FULL or len(clangs) < 2:
        return levels
    return levels[:1] if cc.replace("clang++", "clang") == clangs[0] else levels[-1:]


def each_compiler(function):
    """A test that runs once per compiler: what the compiler makes of the program matters.  A sanitizer build runs it
    once per family: there the tool is tested."""
    return with_compilers(function, compiler_families if os.environ.get("SANITIZE") else compiler_ends)


def each_cxx_compiler(function):
    """The same for C++: without COROTRACER_FULL=1 not the newest clang, which has the headers of g++, and they take the longest."""
    return with_compilers(function, lambda: compiler_ends() if FULL else compiler_ends()[:2])


def both_families(function):
    """A test that runs with gcc and the newest clang, and with all compilers with COROTRACER_FULL=1."""
    return with_compilers(function, compiler_families)


def each_family(function):
    """A test that runs once per family of compilers with COROTRACER_FULL=1, else with one of them, by its name: the
    runtime does the work, which is the same for all."""
    def choose():
        families = compiler_families()
        if FULL:
            return families
        return [families[zlib.crc32(function.__name__.encode()) % len(families)]]
    return with_compilers(function, choose)


def with_compilers(function, choose):
    def run(dir):
        for cc, cxx in choose():
            try:
                function(dir, cc, cxx)
            except Skip:
                raise
            except Exception as e:
                raise AssertionError(f"with {cc}: {e}") from e
    run.__name__ = function.__name__
    return test(run)


def compile(dir, name, cc, *options, out=None, cxx=False, source=None):
    """tests/memory-rt/programs/NAME built by `mem cc` (or c++) of compiler @cc; the program's path."""
    # The programs of this folder are built once for all cases of a test.
    shared = not out and not source
    out = os.path.join(BUILT.name if shared else dir, out or "-".join([pathlib.Path(name).stem, cc, *options]).replace("/", "_"))
    if shared and os.path.exists(out):
        return out
    command = [TOOL, "mem", "c++" if cxx else "cc", f"--compiler={cc}", "-g", *(options or ("-O1",)),
               str(source or PROGRAMS / name), "-o", out, "-pthread", "-ldl"]
    r = subprocess.run(command, capture_output=True, text=True, env=CLEAN)
    if r.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{r.stdout}{r.stderr}")
    return out


def alone(program, *args, trace=None, options="", status=0, **kwargs):
    """Run it without a collector."""
    env = dict(CLEAN, CACHERAY_OPTIONS=(f"tracefile={trace}:" if trace else "") + options)
    env.update(kwargs.pop("env", {}))
    r = subprocess.run([program, *map(str, args)], capture_output=True, text=True, env=env, timeout=300, **kwargs)
    if status is not None:
        equal(r.returncode, status, f"status of {program} ({r.stderr})")
    return r


def collected(program, *args, trace, options=(), status=0, env=None):
    """Run it under `mem run`."""
    r = subprocess.run([TOOL, "mem", "run", "-o", trace, "--json", *options, "--", program, *map(str, args)],
                       capture_output=True, text=True, env=dict(CLEAN, **(env or {})), timeout=300)
    if status is not None:
        equal(r.returncode, status, f"status of mem run {program} ({r.stderr})")
    return r


def check(trace, *options, sound=True):
    """The result of `mem check` for a trace."""
    r = subprocess.run([TOOL, "mem", "check", "--json", *options, trace], capture_output=True, text=True)
    if not r.stdout:
        raise AssertionError(f"mem check {trace}: {r.stderr}")
    c = json.loads(r.stdout)
    if sound is not None and c["sound"] != sound:
        raise AssertionError(f"{trace}: sound is {c['sound']}: {r.stdout} {r.stderr}")
    return c


def sizes(c):
    """{size: (reads, writes)}"""
    return {s["size"]: (s["reads"], s["writes"]) for s in c["sizes"]}


def dump(trace, *options):
    r = subprocess.run([TOOL, "mem", "dump", "--json", *options, trace], capture_output=True, text=True)
    return [json.loads(line) for line in r.stdout.splitlines()]


def left_behind():
    """Regions of programs that ran alone; a test that kills one removes them."""
    return sorted(str(p) for p in pathlib.Path("/dev/shm").glob(f"cacheray-{os.getuid()}-*"))


def live_file(trace):
    """The region of a program alone that writes @trace."""
    st = os.stat(trace)
    return f"/dev/shm/cacheray-{os.getuid()}-{st.st_dev:x}-{st.st_ino:x}"


def filter_calls(code):
    """A seccomp filter for this process and its children: @code has the instructions."""
    filter = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *c) for c in code))
    program = struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(filter))
    libc = ctypes.CDLL(None)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        raise OSError("no seccomp")
