#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_real_types.py - types of heap blocks of real programs, found without annotations, compared with a truth made by hand.

Where SQLite, zlib, Lua and Redis allocate their hot structs, the test adds annotations to the sources that are made only if
TRUTH is set.  One program runs with them (each access to the struct is attributed by address) and without (the type is
found from the accessing instructions): the accesses of each field must agree.  And nearly all of the cost of the heap's misses is
named, by type or by allocation site.
Without COROTRACER_FULL=1: SQLite with gcc, not optimized, and zlib with clang, optimized.
"""
import json
import os
import subprocess

from real_programs import REAL, build_lua, build_redis, build_sqlite, build_zlib
from redis_client import RedisServer
from rt import CLEAN, TOOL, collected, compilers, equal, main, test

FULL = os.environ.get("COROTRACER_FULL") == "1"
CACHES = ("--cache", "L1=32K,8", "--cache", "L2=1M,16")
FOUND = 0.95  # of the accesses that the truth has, at least
NAMED = 0.90  # of the cost of the heap's misses, at least, by type or by allocation site
WRONG = 0.01  # of the accesses found, at most, are to another field or to no such struct


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


def simulated(trace):
    r = subprocess.run([TOOL, "mem", "sim", "--blame", "--json", "--no-classes", "-n", "1000", *CACHES, trace],
                       capture_output=True, text=True, env=CLEAN, timeout=600)
    equal(r.returncode, 0, f"status of mem sim: {r.stderr}")
    return json.loads(r.stdout)


def accesses_by_field(result):
    """{type: {field: accesses}}"""
    return {t["name"]: {f["name"]: f["reads"] + f["writes"] for f in t["fields"]} for t in result["types"] if t.get("fields")}


def cost_of(row):
    """As docs/memory-layout.md has it, for two levels."""
    return 10 * row["misses"][0] + 200 * row["misses"][1]


def check_named(what, result):
    """The heap's cost is that of all allocation sites and of what has no site; by type is what is not in rows of sites."""
    sites = sum(cost_of(s) for s in result["allocation_sites"])
    only_site = sum(cost_of(t) for t in result["types"] if t["name"].startswith(("bytes from ", "memory from ")))
    unnamed = sum(cost_of(t) for t in result["types"] if t["name"] == "(heap, not annotated)")
    heap = sites + unnamed
    print(f"# {what}: {(sites - only_site) / heap:.1%} of the heap's cost by type, {only_site / heap:.1%} by allocation site only", flush=True)
    equal(sites >= NAMED * heap, True, f"{what}: cost of named blocks {sites}, of others {unnamed}")


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


def both_runs(dir, what, program, *args):
    runs = []
    for env in ({"TRUTH": "1"}, {}):
        trace = os.path.join(dir, f"{'truth' if env else 'found'}.trace")
        collected(program, *args, trace=trace, env=env)
        result = simulated(trace)
        runs.append(accesses_by_field(result))
    check_named(what, result)
    return runs


@each("gcc")
def structs_of_sqlite_are_found(dir, cc):
    program = build_sqlite(cc, "-O2" if FULL else "-O0", truth=True, flags=("-DSQLITE_THREADSAFE=0",))
    truth, found = both_runs(dir, "sqlite", program, 3001 if FULL else 1009)
    compare("sqlite", truth, found, {
        "struct MemPage": {}, "struct PgHdr": {}, "struct PgHdr1": {"struct sqlite3_pcache_page": "page"}})


@each("clang")
def structs_of_zlib_are_found(dir, cc):
    truth, found = both_runs(dir, "zlib", build_zlib(cc, truth=True), 60000 if FULL else 12000)
    compare("zlib", truth, found, {
        "struct internal_state": {}, "struct inflate_state": {}, "struct ct_data_s": {}})


@each()
def structs_of_lua_are_found(dir, cc):
    truth, found = both_runs(dir, "lua", build_lua(cc, truth=True), REAL / "tables.lua", 3001)
    compare("lua", truth, found, {"struct Table": {}, "union Node": {}, "struct TString": {}})


@each()
def structs_of_redis_are_found(dir, cc):
    program = build_redis(cc, truth=True)
    runs = []
    for env in ({"TRUTH": "1"}, {}):
        trace = os.path.join(dir, f"{'truth' if env else 'found'}.trace")
        with RedisServer(dir, program, trace, env) as redis:
            redis.fill(2003)
        result = simulated(trace)
        runs.append(accesses_by_field(result))
    check_named("redis", result)
    compare("redis", *runs, {"struct dictEntry": {}, "struct redisObject": {}, "struct zskiplistNode": {}})


# Members of Lua's Table behind the header that all objects have, and one more in the middle, which is never used.
TABLE = {"flags": "lu_byte flags;", "lsizenode": "lu_byte lsizenode;", "alimit": "unsigned int alimit;", "unused": "char unused[72];", "array": "TValue *array;",
         "node": "Node *node;", "lastfree": "Node *lastfree;", "metatable": "struct Table *metatable;", "gclist": "GCObject *gclist;"}
ORIGINAL = """  lu_byte flags;  /* 1<<p means tagmethod(p) is not present */
  lu_byte lsizenode;  /* log2 of size of 'node' array */
  unsigned int alimit;  /* "limit" of 'array' array */
  TValue *array;  /* array part */
  Node *node;
  Node *lastfree;  /* any free position is before this position */
  struct Table *metatable;
  GCObject *gclist;
"""


def lua_with_table(dir, cc, names):
    """A trace of Lua whose Table has the members in this order, and its misses."""
    program = build_lua(cc, "-O1", objects=[(ORIGINAL, "".join(f"  {TABLE[n]}\n" for n in names))])
    trace = os.path.join(dir, "lua.trace")
    if os.path.exists(trace):
        os.unlink(trace)
    collected(program, REAL / "tables.lua", 3001, trace=trace)
    result = simulated(trace)
    return trace, [level["misses"] for level in result["levels"]]


@each()
def advice_for_a_real_program_has_the_effect_that_was_replayed(dir, cc):
    trace, before = lua_with_table(dir, cc, TABLE)
    r = subprocess.run([TOOL, "mem", "layout", "--json", "--type", "struct Table", *CACHES, trace], capture_output=True, text=True, env=CLEAN, timeout=600)
    equal(r.returncode, 0, f"status of mem layout: {r.stderr}")
    table = json.loads(r.stdout)["types"][0]
    equal(table["advice"] is not None, True, f"advice for a struct with a hole in the middle: {table['tried']}")
    # Of the orders that need neither another allocator nor other code, and leave blocks where they are.
    advice = max((t for t in table["tried"] if t["align"] == table["align"] and t["size"] == table["size"]), key=lambda t: t["gain"])
    offsets = {o["name"]: o["offset"] for o in advice["offsets"]}
    equal([offsets[n] for n in ("next", "tt", "marked")], [0, 8, 9], "members that all objects of Lua begin with")
    names = [o["name"] for o in sorted(advice["offsets"], key=lambda o: o["offset"]) if o["name"] in TABLE]
    _, after = lua_with_table(dir, cc, names)
    # Blocks that change their size are replayed at other places, before and after the change.
    said = [n + advice["after"]["misses"][level] - advice["before"]["misses"][level] for n, level in zip(before, ("L1", "L2"))]
    print(f"# lua {cc[0]}: misses {before}, advice {advice['name']} ({advice['size']} bytes) says {said}, rebuilt {after}", flush=True)
    equal(after[0] < before[0] and after[1] < before[1], True, f"misses before {before} and after {after}")
    equal(abs(said[0] - after[0]) <= 0.02 * after[0], True, f"L1 misses: replayed {said[0]}, of the rebuilt program {after[0]}")


main()
