# SPDX-License-Identifier: MIT
"""test_handles.py - wakes through std::coroutine_handle<>, and addresses passed by hand."""
from cpp_traces import *


def wakes(s):
    return [w for w in s.run.sidecar if w["type"] == "wake"]


@test
def a_handle_without_a_promise_type_is_enough_to_wake_a_coroutine(dir):
    s = story(dir, "erased")
    for name in "eager", "whole", "plain":
        told = [w for w in wakes(s) if s.name(w["probe_id"]) == name]
        equal([(w.get("reason"), w.get("resource"), s.place(w["site"])) for w in told],
              [("io-read", 7, "wakes by handle")] * 2, f"wakes of '{name}'")


@test
def handles_of_which_nothing_is_known_are_left_alone(dir):
    s = story(dir, "not-known")
    equal([s.name(w["probe_id"]) for w in wakes(s)], ["fresh", "fresh"], "coroutines that were woken")


@test
def an_awaiter_can_wake_by_the_handle_that_it_is_given(dir):
    s = story(dir, "inner")
    equal([(s.name(w["probe_id"]), w.get("resource")) for w in wakes(s)], [("inner", 8)], "wakes")


def addresses(events):
    return [(int(e["addr"], 16), e["is_active"]) for e in events]


WANTED = [(0x1234, False), (0x4321, True), (0x5678, False), (0, True)]


@test
def a_resume_keeps_the_address_it_was_told_with(dir):
    equal(addresses(story(dir, "addresses").run.events), WANTED, "address, running")


@test
def so_it_does_in_a_station(dir):
    trace = os.path.join(dir, "t.jsonl")
    status, out, err = tool("run", "--json", "-o", trace, "--", CPP_TARGET, "addresses", env=STATIONS_ONLY)
    equal(status, 0, f"status; stderr was\n{err}")
    equal(addresses(Run(status, out, err, trace).events), WANTED, "address, running")


main()
