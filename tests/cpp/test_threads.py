#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_threads.py - coroutines that wander between threads: every step is traced, once, in order."""
from cpp_traces import *


@test
def each_step_of_a_hundred_wanderers(dir):
    s = story(dir, "wander")
    turn = "S@hop R S@perhaps R S@handle R "
    for words in s.all("wanderer"):
        equal(words, turn * 200 + "end", "a wanderer")
    equal(len(s.all("wanderer")), 100, "wanderers")
    equal(len(s.run.events), 100 * 200 * 6, "events")
    assert len({e["tid"] for e in s.run.events}) > 1, "they stayed on one thread"


@test
def finished_elsewhere_before_await_suspend_returns(dir):
    s = story(dir, "meanwhile")
    for kind in ("void", "bool", "handle"):
        equal(s.all(f"meanwhile {kind}"), ["S@meanwhile R end"] * 20, kind)
    equal(s.all("outer"), ["S@outer R end"] * 20, "outer")
    equal(s.all("inner"), ["S@inner R end"] * 20, "inner, meanwhile")


@test
def a_lock_is_waited_for_as_often_as_it_was_held(dir):
    s = story(dir, "lock")
    contended = int(s.run.out.split()[1])
    waits = [e for e in s.run.events if e.get("reason") == "mutex"]
    equal(len(waits), contended, "waits for the lock")
    equal(len(s.run.events), 2 * contended + 2 * 50, "events")
    for words in s.all("contender"):
        assert re.fullmatch(r"S@start R (S@lock:mutex=\d+ R )*end", words), words


@test
def a_tree_over_threads(dir):
    s = story(dir, "tree")
    leaf = "S@- <branch R S@leaf R done gone"
    branch = "S@- <root R " + "S@branch:join=leaf <leaf R " * 2 + "done gone"
    root = "S@- R S@root R " + "S@awaits branch:join=branch <branch R " * 20 + "done gone"
    for name, words, nr in (("leaf", leaf, 800), ("branch", branch, 400), ("root", root, 20)):
        stories = s.all(name)
        equal(len(stories), nr, name)
        for got in stories:
            equal(got, words, name)
    equal(set(s.parents("leaf")) | set(s.parents("branch")), {"branch", "root"}, "parents")


main()
