#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_real_ways.py - real programs with known answers, built and run in the ways that programs are.

zlib linked statically, with link-time optimization and loaded by dlopen; in a child of fork, under a timer's signals and in
10,000 short threads.  SQLite, Lua and Redis answer known questions (Redis also saves in a child).  Nothing is lost, and the answers
are those of the plain programs.  Without COROTRACER_FULL=1 only zlib, not optimized, with less text and fewer threads.
"""
import glob
import json
import os
import re
import subprocess
import zlib

from real_programs import (REAL, build_lua, build_redis, build_sqlite, build_zlib, built_once, fetch_source, link_program,
                           unpack_source)
from redis_client import RedisServer
from rt import CLEAN, TOOL, alone, check, collected, compiler_families, compilers, contains, equal, main, test

FULL = os.environ.get("COROTRACER_FULL") == "1"
ZLIB = ["adler32", "compress", "crc32", "deflate", "infback", "inffast", "inflate", "inftrees", "trees", "uncompr", "zutil"]
THREADS = 10000 if FULL else 200
BYTES = 60000 if FULL else 8000  # of the text that zlib packs
# How zlib is linked and run is what counts here; memory-rt/real and memory-rt/real-types have it optimized.
LEVEL = "-O2" if FULL else "-O0"
TEXTS = 40 if FULL else 3  # packed while signals come


def each_family(function, alone=1):
    """gcc and clang; without COROTRACER_FULL one of them, so that each program is built once: @alone is 0 or 1."""
    def one(dir):
        families = compiler_families()[:2] if not FULL else [c for c in compilers() if c[0] in ("gcc", "clang")]
        for cc in families if FULL else [families[alone % len(families)]]:
            try:
                function(dir, cc)
            except AssertionError as e:
                raise AssertionError(f"with {cc[0]}: {e}") from e
    one.__name__ = function.__name__
    return test(one)


def gcc_alone(function):
    return each_family(function, alone=0)


def only_full(function):
    return each_family(function) if FULL else function


def zlib_ways(cc):
    """A folder with the program `ways`, which has zlib inside, and `plugged`, which loads libz-traced.so."""
    fetch_source("zlib")
    with built_once("zlib-ways", cc[0], LEVEL) as (where, ready):
        if not ready:
            src = unpack_source("zlib", os.path.join(where, "zlib"))
            sources = [os.path.join(src, f"{name}.c") for name in ZLIB]
            flags = [LEVEL, "-w", f"-I{src}", "-DHAVE_UNISTD_H", "-pthread"]
            link_program(cc, os.path.join(where, "ways"), *flags, "-DWITH_ZLIB", str(REAL / "zlib_ways.c"), *sources, "-ldl", cwd=where)
            link_program(cc, os.path.join(where, "libz-traced.so"), *flags, "-fPIC", "-shared", *sources, cwd=where)
            link_program(cc, os.path.join(where, "plugged"), *flags, str(REAL / "zlib_ways.c"), "-ldl", cwd=where)
        return where


def answer_of_zlib():
    """What zlib_round.c prints."""
    text, x = bytearray(), 7
    for _ in range(BYTES):
        x = (x * 1103515245 + 12345) % 2**32
        text.append(b"etaoin shrdlu"[(x >> 16) % 13])
    return f"{BYTES} {zlib.adler32(text):08x} 1\n"


def whole(trace):
    c = check(trace)
    equal(c["lost"], 0, f"lost accesses of {trace}")
    return c


def answer(program, *args, trace, cwd=None):
    r = subprocess.run([TOOL, "mem", "run", "-o", trace, "--", program, *map(str, args)], capture_output=True, text=True,
                       env=CLEAN, timeout=600, cwd=cwd)
    equal(r.returncode, 0, f"status of {program}: {r.stderr}")
    return r.stdout


@gcc_alone
def zlib_gives_its_answer_however_it_is_linked(dir, cc):
    plain = os.path.join(dir, "plain.trace")
    equal(answer(build_zlib(cc, LEVEL), BYTES, trace=plain), answer_of_zlib(), "answer")
    all_of_it = whole(plain)["accesses"]
    for flags in (("-static",), ("-flto",)):
        trace = os.path.join(dir, flags[0] + ".trace")
        equal(answer(build_zlib(cc, LEVEL, flags=flags), BYTES, trace=trace), answer_of_zlib(), f"answer with {flags}")
        got = whole(trace)["accesses"]
        # Without memcpy (-static), and with other decisions of the optimizer.
        equal(0.8 * all_of_it < got < 1.2 * all_of_it, True, f"accesses with {flags}: {got}, plain {all_of_it}")


@each_family
def a_library_that_is_loaded_later_is_traced(dir, cc):
    where = zlib_ways(cc)
    trace = os.path.join(dir, "trace")
    equal(answer("./plugged", "dlopen", trace=trace, cwd=where), "same\n", "answer")
    whole(trace)
    r = subprocess.run([TOOL, "mem", "sim", "--blame", "--json", "-n", "1000", trace], capture_output=True, text=True, env=CLEAN)
    functions = {line["function"] for line in json.loads(r.stdout)["source_lines"]}
    for name in ("deflate_slow", "inflate_fast"):
        equal(any(name in (f or "") for f in functions), True, f"{name} of the library among {sorted(f for f in functions if f)}")


@each_family
def a_child_of_fork_has_a_trace_of_its_own(dir, cc):
    where = zlib_ways(cc)
    trace = os.path.join(dir, "trace")
    contains(answer(os.path.join(where, "ways"), "fork", trace=trace), "same\n")
    traces = sorted(glob.glob(trace + "*"))
    equal(len(traces), 2, f"traces of parent and child: {traces}")
    parent, child = (whole(t)["accesses"] for t in traces)
    # The parent packs and unpacks, the child only unpacks.
    equal(1000 < child < parent, True, f"accesses of the parent {parent}, of the child {child}")


@each_family
def signal_handlers_change_nothing(dir, cc):
    where = zlib_ways(cc)
    for under in (collected, alone):
        trace = os.path.join(dir, f"{under.__name__}.trace")
        r = under(os.path.join(where, "ways"), "signals", TEXTS, trace=trace)
        contains(r.stdout, "same\n")
        whole(trace)
        ticks = int(re.search(r"ticks (\d+)", r.stderr).group(1))
        dumped = subprocess.run([TOOL, "mem", "sim", "--blame", "--json", "--no-classes", "-n", "1000", trace], capture_output=True, text=True, env=CLEAN)
        rows = [t for t in json.loads(dumped.stdout)["types"] if t["name"] == "ticks"]
        equal(len(rows), 1, "the handler's array")
        equal(rows[0]["writes"], ticks, f"writes of the handler, {under.__name__}")


@each_family
def many_short_threads_are_recorded_whole(dir, cc):
    where = zlib_ways(cc)
    trace = os.path.join(dir, "trace")
    equal(answer(os.path.join(where, "ways"), "threads", THREADS, trace=trace), "same\n", "answer")
    c = whole(trace)
    equal(len(c["threads"]), THREADS + 1, "threads")
    each = {t["reads"] + t["writes"] for t in c["threads"][1:]}
    equal(len(each) <= 2 and min(each) > 1000, True, f"every thread does the same: {each}")


@only_full
def sqlite_answers_known_queries(dir, cc):
    for flags in (("-DSQLITE_THREADSAFE=0",), ("-DSQLITE_THREADSAFE=0", "-static")):
        trace = os.path.join(dir, "trace")
        got = answer(build_sqlite(cc, flags=flags), 20011, trace=trace)
        equal(got.split(), ["20011", "66747386", "name-10310", "960351", "99"], f"answers with {flags}")
        whole(trace)


@only_full
def lua_computes_known_results(dir, cc):
    trace = os.path.join(dir, "trace")
    got = answer(build_lua(cc), REAL / "tables.lua", 20011, trace=trace)
    equal(got.split(), ["200230066", "0", "20010", "10898", "200230066", "400460132"], "results")
    whole(trace)


@only_full
def redis_answers_and_saves_in_a_child(dir, cc):
    trace = os.path.join(dir, "trace")
    with RedisServer(dir, build_redis(cc), trace) as redis:
        redis.fill(5003)
        redis.ask(("BGSAVE",))
        redis.wait_saved()
    traces = sorted(glob.glob(trace + "*"))
    equal(len(traces), 2, f"traces of the server and of the child that saves: {traces}")
    for path in traces:
        equal(whole(path)["accesses"] > 10000, True, f"accesses in {path}")
    equal(os.path.getsize(os.path.join(dir, "dump.rdb")) > 100000, True, "the saved file")


main()
