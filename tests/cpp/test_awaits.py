#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_awaits.py - every kind of await, and creation and end of coroutines: the trace is exact."""
from cpp_traces import *


def tells(dir, scenario, **stories):
    s = story(dir, scenario)
    names = {s.name(id) for id in s.births}
    wanted = {name.replace("_", " "): words for name, words in stories.items()}
    equal(names, set(wanted), "coroutines")
    for name, words in wanted.items():
        equal(s.all(name), [words] if isinstance(words, str) else words, name)
    return s


@test
def await_suspend_that_returns_nothing(dir):
    tells(dir, "void", void="S@void R S@always R end")


@test
def behind_a_coroutine_that_is_ahead_of_the_counter_times_do_not_go_back(dir):
    """The program looks at its lane.  The trace has all events, though the run ends before the counter has caught up."""
    trace = os.path.join(dir, "ahead.jsonl")
    status, out, err = tool("run", "--json", "-o", trace, "--", CPP_TARGET, "ahead")
    equal(status, 0, f"status, of a program that said\n{out}{err}")
    run = Run(status, out, err, trace)
    for id in (1, 2):
        active = [e["is_active"] for e in run.events if e["probe_id"] == id]
        equal(active, [False, True] * (4 if id == 1 else 6), f"events of {id}")
    equal(run.summary["garbage"], 0, "corrupt records")


@test
def what_is_ready_leaves_no_event(dir):
    tells(dir, "ready", ready="end")


@test
def false_is_not_a_suspension(dir):
    tells(dir, "bool",
          bool="S@yes R S@held:mutex=119 R end",
          # Once other events follow it, it cannot be removed: then it is a pair.
          busily="S@busily R end",
          other="S@yes <busily R S@held:mutex=119 R end")


@test
def symmetric_transfer_tells_who_passed_the_thread_to_whom(dir):
    tells(dir, "handle",
          to_itself="S@pass <to itself R end",
          to_none="S@pass end(was_suspended)",
          to_second="S@pass R end",
          second="S@void <to second R S@always R end")


@test
def operator_co_await_member_and_free(dir):
    tells(dir, "operators", operators="S@lvalue R S@rvalue R S@free R end")


@test
def awaitables_are_neither_copied_nor_moved_and_live_long_enough(dir):
    seven = " ".join(["S@- R"] * 6 + ["S@-:io-read=7 R"])
    s = tells(dir, "values", values=f"{seven} end", values_whole=f"S@- R {seven} done gone")
    # Without tracing there may be more: gcc 12 copies an awaited xvalue.
    for line in ("mixin", "whole"):
        contains(s.run.out, f"{line} copies 0 moves 0\n")


@test
def exceptions_pass_through(dir):
    if os.environ.get("CPP_NO_EXCEPTIONS"):
        raise Skip("built without exceptions")
    s = tells(dir, "exceptions", **{
        # await_ready() threw: nothing.  await_suspend() threw: it was suspended, and runs again.
        "throws void": "S@throws R S@throws R S@after R end",
        "throws bool": "S@throws R S@after R end",
        "throws handle": "S@throws R S@throws <throws handle R S@after R end",
        "catches": "S@- R S@outside:join=? <? R done gone",
        "?": "S@- <catches R S@inside R done gone"})
    equal(s.parents("?"), ["catches"], "parent")


@test
def reasons_and_resources(dir):
    s = story(dir, "reasons")
    reasons = ["io-read=3", "io-write=4", "accept=5", "connect=6", "timer=1000", "mutex=", "semaphore=8",
               "channel-send=9", "channel-recv=10", "join=11", "yield", "signal=12", "user"]
    words = s.one("reasons").split()
    equal(len(words), 2 * len(reasons) + 1, "words")
    for nr, reason in enumerate(reasons):
        assert words[2 * nr].startswith(f"S@{nr + 1}:{reason}"), words[2 * nr]
    # The reason given at the co_await has priority over that of the awaiter.
    equal(s.one("says so"), "S@member:io-read=21 R S@adl:io-write=22 R S@here:accept=23 R end", "says so")
    equal(len(s.births), 2, "coroutines")


@test
def places_have_file_line_and_function(dir):
    s = story(dir, "void")
    sites = {s.place(site["id"]): site for site in s.sites.values()}
    equal(set(sites), {"void", "always"}, "places")
    for site in sites.values():
        assert site["file"].endswith("awaits.cpp"), site
        contains(site["function"], "awaits_void")


@test
def addr_is_the_function_that_resumes_it(dir):
    events = story(dir, "void").run.events
    addrs = {e["addr"] for e in events if not e["is_active"]}
    equal(len(addrs), 1, "addresses of one function")
    symbols = subprocess.run(["nm", "-C", CPP_TARGET], capture_output=True, text=True, check=True).stdout
    mine = [line.split(maxsplit=2) for line in symbols.splitlines() if "awaits_void" in line]
    # The load address is unknown, but the offset within a page is known.
    assert any(int(m[0], 16) % 4096 == int(next(iter(addrs)), 16) % 4096 for m in mine if len(m) == 3), (addrs, mine)


@test
def lazily_started_and_plain(dir):
    tells(dir, "lazy",
          whole="S@- R S@lazy R done gone",
          plain="S@plain R end",
          never_started="S@- end(was_suspended)",
          dropped="S@- R S@lazy end(was_suspended)")


@test
def eager_ones_run_from_their_birth(dir):
    s = tells(dir, "eager", eager_parent="S@parent R end", eager_child="S@child R end", eager_orphan="S@child R end")
    equal([s.parents(n) for n in ("eager parent", "eager child", "eager orphan")], [[None], ["eager parent"], [None]], "parents")


@test
def generators(dir):
    s = tells(dir, "generator",
              consumer="S@- R S@summed R done gone",
              counter="S@- " + "<consumer R S@yield:yield " * 3 + "<consumer R done gone",
              by_hand="S R S@hand:yield R S@hand:yield R done gone",
              twos="S@- R S@braces:yield R S@kept:yield R S@made here:yield end(was_suspended)",
              stopped="S@- R S@yield:yield end(was_suspended)")
    equal(s.parents("counter"), ["consumer"], "parent")


@test
def a_promise_with_its_own_await_transform(dir):
    tells(dir, "transform", opinions="S@number R S@kept R end", transformed="S@made R S@refers R end")


@test
def parents_children_and_who_resumed_whom(dir):
    child = "S@- <parent R S@calls grandchild:join=grandchild <grandchild R done gone"
    grandchild = "S@- <child R S@grandchild R done gone"
    s = tells(dir, "family",
              parent="S@- R " + "S@calls child:join=child <child R " * 2 + "done gone",
              child=[child, child], grandchild=[grandchild, grandchild],
              # The mixin alone does not see creation and destruction, but it sees which coroutine
              # awaits which.
              plain_parent="S@calls plain child:join=plain child R end",
              plain_child="S@plain child R end",
              woken="S@- <waker R end", waker="S@- R S@resumed another R done gone")
    equal(s.parents("child") + s.parents("grandchild"), ["parent", "parent", "child", "child"], "parents")
    equal(s.parents("parent") + s.parents("waker") + s.parents("woken"), [None] * 3, "nobody's children")


@test
def wakes_that_a_scheduler_tells(dir):
    s = tells(dir, "wake", woken="S@- <waker <waker < R end", waker="S@- R done gone")
    wakes = [w for w in s.run.sidecar if w["type"] == "wake"]
    equal([s.place(w["site"]) for w in wakes][0], "wakes", "place of the wake")
    equal((wakes[1].get("reason"), wakes[1].get("resource")), ("io-read", 9), "what woke it")


@test
def names_and_arguments(dir):
    s = story(dir, "names")
    equal(sorted(b.get("name", "?")[:20] for b in s.births.values()), sorted(["arguments", "x" * 20, "?"]), "names")
    equal(max(len(b.get("name", "")) for b in s.births.values()), 408, "a long name is cut")


@test
def told_by_hand(dir):
    s = tells(dir, "by-hand", by_hand="S R S done(was_suspended,cancelled) gone")
    equal([e["addr"] for e in s.run.events], ["0x0000000000001234", "0x" + "0" * 16, "0x0000000000005678"], "addresses")


main()
