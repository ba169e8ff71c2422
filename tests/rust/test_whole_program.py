#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_whole_program.py - a Tokio program whose tasks are all traced by one line: a layer, or hooks of the runtime.

The program counts the polls of each task itself, under the line that spawns it.  With COROTRACER_FULL=1 only: Tokio is
built once more, with its unstable parts.
"""
from ledger import *

SOURCE = "tests/rust/whole_program/src/main.rs"
UNSTABLE = {"RUSTFLAGS": "--cfg tokio_unstable", "CARGO_TARGET_DIR": os.path.join(BUILD, "target-whole")}


def need_whole():
    if os.environ.get("COROTRACER_FULL") != "1":
        raise Skip("only with COROTRACER_FULL=1")
    if need_cargo() < (1, 85):
        raise Skip("this Tokio needs Rust 1.85")


def collect_whole(dir, how):
    need_whole()
    out = fetched("build", "-p", "corotracer-whole-program", root=whole(), env=UNSTABLE, timeout=1500)
    assert "warning" not in out, out
    trace = os.path.join(dir, "trace.jsonl")
    path = os.path.join(UNSTABLE["CARGO_TARGET_DIR"], "debug", "whole-program")
    status, out, err = tool("run", "--json", "-o", trace, "--", path, how)
    run = Traced(status, out, err, trace)
    equal((run.status, run.summary["lost"], run.summary["garbage"]), (0, 0, 0), f"status, lost; stderr was\n{run.err}")
    return run


def line_of(text):
    with open(os.path.join(TREE, SOURCE), encoding="utf-8") as f:
        found = [nr for nr, line in enumerate(f, 1) if text in line]
    equal(len(found), 1, f"lines with {text}")
    return found[0]


def by_line(run):
    """Ids of the tasks by the line that spawned them."""
    sites, found = run.sites(), {}
    for probe_id, births in run.by_id("birth").items():
        site = sites[births[0]["site"]]
        equal(site["file"], SOURCE, f"the file of {births}")
        found.setdefault(str(site["line"]), []).append(probe_id)
    return found


def check_whole(run, suspends_of, more=0):
    """Each line spawned as many tasks as the ledger has, with as many suspensions, or up to @more more; and all have ended."""
    lines, events = by_line(run), transitions(run)
    for line in {row["name"] for row in run.rows}:
        rows, ids = [row for row in run.rows if row["name"] == line], lines.pop(line, [])
        equal(len(ids), len(rows), f"tasks that line {line} spawned")
        counts = sorted([e["is_active"] for e in events[i]].count(False) for i in ids)
        wanted = sorted(suspends_of(row) for row in rows)
        assert all(least <= count <= least + more for count, least in zip(counts, wanted)), \
            f"suspensions of the tasks of line {line}: {counts}, wanted {wanted}, each with up to {more} more"
    equal(lines, {}, "lines without a row")
    for probe_id, mine in events.items():
        kinds = [e["is_active"] for e in mine]
        equal(kinds, [k % 2 == 1 for k in range(len(kinds))], f"turns of {probe_id}")
    births, ends = run.by_id("birth"), run.by_id("end")
    equal(set(births), set(ends), "created, ended")
    equal([e for e in ends.values() if e[0].get("cancelled")], [], "ends that were called cancelled")


@test
def a_layer_traces_a_program_by_one_line(dir):
    run = collect_whole(dir, "layer")
    # A poll that returned Ready ends with a suspension, too: until the future is dropped.  If it was woken during that
    # poll, the drop cannot be told from a poll.
    check_whole(run, lambda row: row["polls"], more=1)
    lines, wakes = by_line(run), run.by_id("wake")
    for probe_id, mine in transitions(run).items():
        resumed = [e["is_active"] for e in mine].count(True)
        assert len(wakes.get(probe_id, [])) >= resumed - 1, f"{probe_id}: {resumed} resumes, wakes {wakes.get(probe_id)}"
    # The ticker wakes the task that waits for its message, and waits for a timer that one line makes.
    ticker, = lines[str(line_of("here!(tick(20"))]
    waiter, = lines[str(line_of("here!(ticked"))]
    equal([w.get("waker") for w in wakes[waiter]], [ticker], "who woke the waiter")
    timers = [e for e in run.events if e["probe_id"] == ticker and e.get("reason") == "timer"]
    site = run.sites()[timers[0]["site"]]
    equal((site["file"], site["line"]), (SOURCE, line_of("tokio::time::sleep(")), "where it waits")
    acceptor, = lines[str(line_of("here!(accept("))]
    for probe_id in lines[str(line_of("here!(serve("))]:
        equal(run.by_id("birth")[probe_id][0].get("parent"), acceptor, "the parent of a connection")
    reasons = {e["reason"] for e in run.events if "reason" in e}
    assert {"timer", "channel-recv"} <= reasons, f"reasons: {reasons}"


@test
def the_hooks_of_a_runtime_trace_it_as_well(dir):
    run = collect_whole(dir, "hooks")
    check_whole(run, lambda row: row["pendings"])


@test
def the_layer_has_no_lint_and_can_be_packaged(dir):
    need_whole()
    need_tool("clippy")
    fetched("clippy", "-p", "corotracer-tokio", "-p", "corotracer-whole-program", "--all-targets", "--", "-D", "warnings",
            root=whole(), env=UNSTABLE, timeout=1500)
    fetched("test", "-p", "corotracer-tokio", root=whole(), env=UNSTABLE, timeout=1500)
    out = fetched("package", "--list", "-p", "corotracer-tokio", "--allow-dirty", root=whole())
    equal({"LICENSE", "README.md", "src/lib.rs", "src/task_layer.rs"} - set(out.split()), set(), "missing in the package")


main()
