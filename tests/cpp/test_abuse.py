#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_abuse.py - incorrect or unusual use: the program continues, and the trace is true."""
from cpp_traces import *

# For the scenario that leaks one on purpose.
MAY_LEAK = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
TWICE = "S@first R S@second R end"


@test
def untraced_nothing_happens(dir):
    for scenario in ("init-never", "init-twice", "init-late", "copies", "outlives", "strangers", "many", "values", "by-hand", "fork", "family"):
        p = popen(CPP_TARGET, scenario, env=MAY_LEAK)
        out, err = p.communicate(timeout=300)
        equal((p.returncode, err), (0, ""), f"{scenario} without the tool")


@test
def InitTracer_never_called(dir):
    equal(story(dir, "init-never").one("never"), TWICE, "the coroutine")


@test
def InitTracer_called_more_than_once(dir):
    s = story(dir, "init-twice")
    equal(s.one("never"), TWICE, "the coroutine")
    equal(s.run.summary["connected"], 1, "connections")


@test
def InitTracer_called_after_coroutines_exist(dir):
    s = story(dir, "init-late")
    equal((s.one("before"), s.one("never")), (TWICE, TWICE), "coroutines")


@test
def copies_of_a_promise_are_nobody(dir):
    s = story(dir, "copies")
    equal(len(s.births), 1, "coroutines")
    equal([w for words in s.words_of.values() for w in words], ["S", "R", "end"], "its events")


@test
def coroutines_that_outlive_main(dir):
    s = story(dir, "outlives", env=MAY_LEAK)
    equal(s.one("static"), "S@first end(was_suspended)", "destroyed after main")
    equal(s.one("local static"), "S@first R S@second end(was_suspended)", "resumed and destroyed after main")
    equal(s.one("leaked"), "S@first", "never destroyed")
    left = [c for c in s.run.sidecar if c["type"] == "coroutine"]
    equal([(c["name"], c["state"], s.place(c["site"])) for c in left], [("leaked", "suspended", "first")], "alive at exit")


@test
def threads_that_never_touched_the_SDK(dir):
    s = story(dir, "strangers")
    equal(s.all("visited"), [TWICE] * 20, "coroutines")
    equal(len({e["tid"] for e in s.run.events}) > 1, True, "other threads")


@test
def the_last_breath_of_a_thread(dir):
    equal(story(dir, "last-breath").one("breath"), TWICE, "the coroutine")


@test
def ten_thousand_tasks_in_one_tick(dir):
    s = story(dir, "many")
    equal(len(s.births), 10000, "born")
    equal({" ".join(words) for words in s.words_of.values()}, {"S@many R end"}, "their stories")
    equal(len(s.run.events), 20000, "events")


@test
def a_child_of_fork_does_not_speak_for_its_parent(dir):
    s = story(dir, "fork")
    equal(s.one("inherited"), TWICE, "the parent's")
    equal(s.one("never"), TWICE, "the child's own")


@test
def the_collector_is_gone(dir):
    """Killed in the middle: the program continues, and ends normally."""
    collector = popen(TOOL, "run", "-o", os.path.join(dir, "t.jsonl"), "--", CPP_TARGET, "endless")
    equal(collector.stdout.readline(), "running\n", "it runs")
    with open(f"/proc/{collector.pid}/task/{collector.pid}/children", encoding="ascii") as f:
        # The witness, which is the tool itself, and the program.
        kids = [int(k) for k in f.read().split()]
    target = [k for k in kids if os.path.basename(os.readlink(f"/proc/{k}/exe")) == os.path.basename(CPP_TARGET)]
    equal(len(target), 1, "the program")
    time.sleep(0.2)
    collector.kill()
    collector.wait()
    time.sleep(0.5)
    with open(f"/proc/{target[0]}/stat", encoding="ascii") as f:
        assert f.read().rsplit(")", 1)[1].split()[0] in "RSD", "the program died with its collector"
    os.kill(target[0], signal.SIGTERM)
    wait_until(lambda: os.waitpid(target[0], os.WNOHANG)[0] == target[0], "the end of the program")
    sweep(collector)


@test
def a_region_that_is_full_under_a_collector_without_lanes(dir):
    trace = os.path.join(dir, "t.jsonl")
    status, out, err = tool("run", "--json", "-n", "100", "-o", trace, "--", CPP_TARGET, "many", env=STATIONS_ONLY)
    r = Run(status, out, err, trace)
    equal((status, r.summary["without_station"], r.summary["written"]), (0, 9900, 200), "full, and counted")
    equal(len(r.events), 200, "events of those who had a station")


@test
def the_plain_protocol_says_what_it_can(dir):
    """Under a collector without lanes: transitions in stations; an await_suspend() that returns
    false is a pair there."""
    def plain(scenario):
        trace = os.path.join(dir, f"{scenario}.jsonl")
        status, out, err = tool("run", "--json", "-o", trace, "--", CPP_TARGET, scenario, env=STATIONS_ONLY)
        r = Run(status, out, err, trace)
        equal((status, r.summary["lost"], r.summary["garbage"]), (0, 0, 0), scenario)
        return {c["name"]: [("R" if e["is_active"] else "S") for e in r.events if e["probe_id"] == c["probe_id"]]
                for c in r.coroutines()}
    equal(plain("void"), {"void": list("SRSR")}, "void")
    equal(plain("ready"), {"ready": []}, "ready")
    equal(plain("lazy"), {"whole": list("SRSR"), "plain": list("SR"), "never started": list("S"), "dropped": list("SRS")}, "lazy")
    equal(plain("handle")["to itself"], list("SR"), "handle")


main()
