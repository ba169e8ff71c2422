#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_real_types.py - types of heap blocks of real programs, found without annotations, compared with a truth made by hand.

Where SQLite, zlib, Lua and Redis allocate their hot structs, the test adds annotations to the sources that are made only if
TRUTH is set.  One program runs with them (each access to the struct is attributed by address) and without (the type is
found from the accessing instructions): the accesses of each field must agree.
Without COROTRACER_FULL=1: SQLite with gcc, and zlib with clang.
"""
import json
import os
import subprocess

from real_programs import REAL, build_lua, build_redis, build_sqlite, build_zlib
from redis_client import RedisServer
from rt import CLEAN, TOOL, collected, compilers, equal, main, test

FULL = os.environ.get("COROTRACER_FULL") == "1"
CACHES = ("--cache", "L1=32K,8", "--cache", "L2=1M,16")
FOUND = 0.90  # of the accesses that the truth has, at least
WRONG = 0.05  # of the accesses found, at most, are to another field or to no such struct


def each(*short):
    """Once per family of compilers; without COROTRACER_FULL with the given ones."""
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


def accesses_by_field(trace):
    """{type: {field: accesses}}"""
    r = subprocess.run([TOOL, "mem", "sim", "--blame", "--json", "--no-classes", "-n", "1000", *CACHES, trace],
                       capture_output=True, text=True, env=CLEAN, timeout=600)
    equal(r.returncode, 0, f"status of mem sim: {r.stderr}")
    return {t["name"]: {f["name"]: f["reads"] + f["writes"] for f in t["fields"]}
            for t in json.loads(r.stdout)["types"] if t.get("fields")}


def compare(what, truth, found, types):
    """@types: names, each with the members that are structs and may be named as such: their type and the member."""
    for name, inner in types.items():
        right = truth.get(name, {})
        got = dict(found.get(name, {}))
        for inner_name, member in inner.items():
            for field, n in found.get(inner_name, {}).items():
                got[f"{member}.{field}"] = got.get(f"{member}.{field}", 0) + n
        total, named = sum(right.values()), sum(got.values())
        same = sum(min(n, got.get(field, 0)) for field, n in right.items())
        print(f"# {what} {name}: {total} accesses, {same / max(total, 1):.1%} found, {1 - same / max(named, 1):.1%} of {named} wrong", flush=True)
        equal(total > 1000, True, f"{name} is used: {total} accesses")
        missing = {f: (n, got.get(f, 0)) for f, n in right.items() if got.get(f, 0) < n * FOUND}
        equal(same >= FOUND * total, True, f"{name}: {same} of {total} accesses found; fields: {missing}")
        equal(named - same <= WRONG * named, True, f"{name}: {named - same} of {named} are not in the truth: {got} {right}")


def both_runs(dir, program, *args):
    runs = []
    for env in ({"TRUTH": "1"}, {}):
        trace = os.path.join(dir, f"{'truth' if env else 'found'}.trace")
        collected(program, *args, trace=trace, env=env)
        runs.append(accesses_by_field(trace))
    return runs


@each("gcc")
def structs_of_sqlite_are_found(dir, cc):
    program = build_sqlite(cc, "-O2" if FULL else "-O1", truth=True, flags=("-DSQLITE_THREADSAFE=0",))
    truth, found = both_runs(dir, program, 3001)
    compare("sqlite", truth, found, {
        "struct MemPage": {}, "struct PgHdr": {}, "struct PgHdr1": {"struct sqlite3_pcache_page": "page"}})


@each("clang")
def structs_of_zlib_are_found(dir, cc):
    truth, found = both_runs(dir, build_zlib(cc, truth=True), 60000)
    compare("zlib", truth, found, {
        "struct internal_state": {}, "struct inflate_state": {}, "struct ct_data_s": {}})


@each()
def structs_of_lua_are_found(dir, cc):
    truth, found = both_runs(dir, build_lua(cc, truth=True), REAL / "tables.lua", 3001)
    compare("lua", truth, found, {"struct Table": {}, "union Node": {}, "struct TString": {}})


@each()
def structs_of_redis_are_found(dir, cc):
    runs = []
    for env in ({"TRUTH": "1"}, {}):
        trace = os.path.join(dir, f"{'truth' if env else 'found'}.trace")
        with RedisServer(dir, build_redis(cc, truth=True), trace, env) as redis:
            redis.fill(2003)
        runs.append(accesses_by_field(trace))
    compare("redis", *runs, {"struct dictEntry": {}, "struct redisObject": {}, "struct zskiplistNode": {}})


main()
