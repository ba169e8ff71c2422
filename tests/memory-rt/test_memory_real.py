#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_real.py - real programs from Debian's source packages, built with `mem cc` and `mem c++`,
run their own tests under tracing.

zlib, lz4, SQLite, and ninja (C++, 25,000 lines), each with gcc and clang if COROTRACER_FULL=1; else zlib with
clang.  The sources are kept in the build folder; if they cannot be
fetched, and no earlier run did, the test is skipped.  Traces are bounded (a size cap, or bursts): the test takes minutes.
"""
import glob
import os
import shutil

from real_programs import JOBS, run, unpack_source, wrapper
from rt import Skip, TOOL, check, compilers, equal, main, test

FULL = os.environ.get("COROTRACER_FULL") == "1"


def unpack(dir, package, name):
    return unpack_source(package, os.path.join(dir, name))


def traced(dir, what, *command, cwd, options="maxsize=40M", least=1000):
    """Run one of their tests; every trace of it is valid and not empty."""
    place = os.path.join(dir, what)
    os.makedirs(place)
    run(*command, cwd=cwd, env={"CACHERAY_OPTIONS": f"tracefile={place}/%p.trace:{options}"})
    traces = glob.glob(os.path.join(place, "*"))
    accesses = 0
    for trace in traces:
        accesses += check(trace)["accesses"]
    print(f"# {what}: {len(traces)} traces, {accesses} accesses recorded", flush=True)
    if accesses < least:
        raise AssertionError(f"{what}: only {accesses} accesses in {traces}")
    shutil.rmtree(place)


def each(*short):
    """Once per family of compilers, or with the given ones without --full; the first test fetches the sources."""
    def wrap(function):
        def one(dir):
            for cc in [c for c in compilers() if c[0] in (("gcc", "clang") if FULL else short)]:
                try:
                    function(dir, cc)
                except AssertionError as e:
                    raise AssertionError(f"with {cc[0]}: {e}") from e
        one.__name__ = function.__name__
        return test(one) if FULL or short else one
    return wrap


@each("clang")
def zlib_passes_its_tests(dir, cc):
    src = unpack(dir, "zlib", f"zlib-{cc[0]}")
    run("./configure", "--static", cwd=src, env=wrapper(cc))
    run("make", "-j", JOBS, cwd=src, env=wrapper(cc))
    traced(dir, f"zlib-{cc[0]}-test", "make", "test", cwd=src)
    traced(dir, f"zlib-{cc[0]}-test-in-bursts", "make", "test", cwd=src, options="sample=1K/100K")


@each()
def lz4_passes_its_tests(dir, cc):
    src = unpack(dir, "lz4", f"lz4-{cc[0]}")
    w = wrapper(cc)
    run("make", "-j", JOBS, "-C", "tests", f"CC={w['CC']}", "DEBUGFLAGS=", "CFLAGS=-O2", "frametest", "fuzzer", cwd=src, env=w)
    traced(dir, f"lz4-{cc[0]}-fuzzer", "./fuzzer", "-i10", "-s1", cwd=os.path.join(src, "tests"))
    traced(dir, f"lz4-{cc[0]}-frametest", "./frametest", "-i10", "-s1", cwd=os.path.join(src, "tests"),
           options="sample=1K/100K")


@each()
def sqlite_passes_its_tests(dir, cc):
    if not shutil.which("tclsh"):
        raise Skip("SQLite's build needs tclsh")
    whole = os.path.join(dir, "sqlite")  # the same for both compilers
    if not os.path.exists(whole):  # one C file, made once
        unpack(dir, "sqlite3", "sqlite")
        run("./configure", "--disable-tcl", cwd=whole)
        run("make", "sqlite3.c", cwd=whole)
    src = os.path.join(dir, f"sqlite-{cc[0]}")
    os.makedirs(src)
    sources = ["test/fuzzcheck.c", "test/ossfuzz.c", "test/fuzzinvariants.c", "ext/recover/dbdata.c",
               "ext/recover/sqlite3recover.c", "test/vt02.c", "sqlite3.c"]
    flags = ["-O1", "-I.", "-Itest", "-Iext/recover", "-DSQLITE_ENABLE_MEMSYS5", "-DSQLITE_OSS_FUZZ", "-DSQLITE_THREADSAFE=0",
             "-DSQLITE_OMIT_LOAD_EXTENSION", "-DSQLITE_MAX_MEMORY=50000000", "-DSQLITE_PRINTF_PRECISION_LIMIT=1000",
             "-DSQLITE_ENABLE_FTS4", "-DSQLITE_ENABLE_FTS5", "-DSQLITE_ENABLE_RTREE", "-DSQLITE_ENABLE_DBSTAT_VTAB",
             "-DSQLITE_ENABLE_BYTECODE_VTAB", "-DSQLITE_ENABLE_GEOPOLY", "-DSQLITE_ENABLE_FTS3_PARENTHESIS"]
    out = os.path.join(src, "fuzzcheck")
    run(TOOL, "mem", "cc", f"--compiler={cc[0]}", *flags, *[s for s in sources if os.path.exists(os.path.join(whole, s))],
        "-o", out, "-lm", cwd=whole)
    traced(dir, f"sqlite-{cc[0]}-fuzzcheck", out, "--limit-mem", "100M", "--timeout", "60000", "test/fuzzdata4.db", cwd=whole,
           options="sample=10K/1M")


@each()
def a_large_cxx_program_passes_its_tests(dir, cc):
    if not shutil.which("cmake"):
        raise Skip("ninja's build needs cmake")
    src = unpack(dir, "ninja-build", f"ninja-{cc[0]}")
    lines = 0
    for path in glob.glob(os.path.join(src, "src", "*.cc")) + glob.glob(os.path.join(src, "src", "*.h")):
        with open(path, "rb") as f:
            lines += len(f.readlines())
    equal(lines >= 20000, True, f"{lines} lines of C++")
    build = os.path.join(src, "build")
    run("cmake", "-S", src, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1", cwd=src,
        env=wrapper(cc))
    run("cmake", "--build", build, "-j", JOBS, "--target", "ninja_test", cwd=src, env=wrapper(cc))
    traced(dir, f"ninja-{cc[0]}-test", "./ninja_test", cwd=build, options="maxsize=60M", least=1000000)


main()
