#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_tokio.py - traced futures on real Tokio, both of its schedulers, and a server under load."""
import re

from ledger import *

TASKS = ["twelve", "panic", "abort", "timeout", "root"]
# sleep, concurrent, several, oneshot, mpsc, barrier, yield, mixed, stress, chain, low-level, dropped
TWELVE = 1 + 20 + 1 + 2 + 6 + 6 + 3 + 4 + 100 + 4 + 1 + 3


def prefix(row):
    return re.sub(r"-\d+$", "", row["name"])


def check_scenarios(run):
    rows = [row for row in run.rows if row["name"] != "root"]
    # yield_now().traced() has no name, and no row: one suspend, one resume.
    nameless, = [b[0] for b in run.by_id("birth").values() if "name" not in b[0]]
    equal([e["is_active"] for e in transitions(run)[nameless["probe_id"]]], [False, True], "the nameless")
    equal(run.by_id("birth")[run.one("root")["id"]][0].get("parent"), None, "root's parent")
    equal(nameless["parent"], run.one("root")["id"], "whose child the nameless is")
    left = check_transitions(run)
    equal(set(left), {nameless["probe_id"]}, "coroutines without a row")
    births, ends, destroys = check_lives(run)
    equal([set(d) for d in (births, ends, destroys)], [{nameless["probe_id"]}] * 3, "lives without a row")
    twelve = rows[:TWELVE]
    equal((twelve[-1]["name"], len(rows)), ("taken-apart", TWELVE + 3 + 10 + 5), "all of the twelve, and the rest")
    for row in rows:
        kind = prefix(row)
        if kind == "yield":
            equal(row["pendings"], 10, f"suspends of {row}")
        if kind in ("aborted", "dropped-suspended"):
            equal((row["state"], row["pendings"]), ("dropped", 1), f"{row}")
        if kind == "timeout":  # polled again after the timeout
            equal((row["state"], row["pendings"] >= 1), ("dropped", True), f"{row}")
        if kind in ("panic-at-once", "panic-later", "panic-nested"):
            equal(row["state"], "panicked", f"{row}")


def check_summary(run):
    equal(run.status, 0, f"status; stderr was\n{run.err}")
    s = run.summary
    equal((s["lost"], s["garbage"], s["others"]["lost"], s["without_station"]), (0, 0, 0, 0), "lost in any way")
    equal(s["others"]["birth"], len(run.rows) + 1, "births")
    equal(s["others"]["end"], s["others"]["birth"], "ends")


@test
def the_scenarios_on_the_multi_thread_runtime_are_what_they_did(dir):
    run = collect(dir, "scenarios", "multi", *TASKS)
    check_summary(run)
    check_scenarios(run)


@test
def the_scenarios_on_the_current_thread_runtime_are_what_they_did(dir):
    run = collect(dir, "scenarios", "current", *TASKS)
    check_summary(run)
    check_scenarios(run)
    equal(len({e["tid"] for e in run.events}), 1, "threads")


@test
def what_every_resume_was_woken_for(dir):
    """Tokio polls a task because it was woken: each resume has its own wake before it."""
    for kind in "multi", "current":
        run = collect(dir, "scenarios", kind, "twelve")
        wakes = run.by_id("wake")
        # Programs that report their own transitions report no wakes; inner futures are polled with
        # their outer ones.
        for row in run.rows:
            if row["name"] == "low-level" or row["name"].startswith("chain"):
                continue
            mine = wakes.get(row["id"], [])
            woken = [e["ts"] for e in transitions(run).get(row["id"], []) if e["is_active"]]
            assert len(mine) >= len(woken), f"{row}: {len(woken)} resumes, wakes {mine}"
            for nr, ts in enumerate(woken):
                # Seen: its transitions at that time. 2k or 2k+1 belongs to this suspension.
                assert any(w.get("seen", 0) in (2 * nr, 2 * nr + 1) and w["ts"] < ts for w in mine), \
                    f"{row}: nobody woke it for resume {nr}: {mine}"


@test
def who_woke_whom(dir):
    run = collect(dir, "scenarios", "multi", "wakes")
    check_all(run)
    wakes = {run_id: w for run_id, w in run.by_id("wake").items()}
    waker = run.one("the-waker")["id"]
    by_task = wakes[run.one("woken-by-task")["id"]]
    equal([w.get("waker") for w in by_task], [waker], "who woke it")
    by_thread = wakes[run.one("woken-by-thread")["id"]]
    equal([w.get("waker") for w in by_thread], [None], "woken by nobody that is traced")
    tids = {e["tid"] for e in run.events}
    assert by_thread[0]["tid"] not in tids, "it was not a thread of its own that woke it"
    first, = wakes[run.one("woken-first")["id"]]
    equal((first.get("waker"), first.get("seen")), (run.one("woken-first")["id"], None),
          "woken by itself, before it was suspended")
    births = {b[0]["name"]: b[0] for b in run.by_id("birth").values()}
    parent = run.one("parent")["id"]
    equal([births[name].get("parent") for name in ("spawned-child", "inline-child", "parent")],
          [parent, parent, None], "parents")


@test
def where_and_why_it_waits(dir):
    run = collect(dir, "scenarios", "current", "wakes")
    sites, suspends = run.sites(), {}
    for e in run.events:
        if not e["is_active"]:
            suspends.setdefault(e["probe_id"], []).append(e)
    with open(os.path.join(TREE, "tests/rust/tokio/src/main.rs"), encoding="utf-8") as f:
        lines = f.read().splitlines()

    def line_of(text):
        found = [nr for nr, line in enumerate(lines, 1) if text in line]
        equal(len(found), 1, f"lines with {text}")
        return found[0]

    thread, = suspends[run.one("woken-by-thread")["id"]]
    equal((thread["reason"], thread["resource"]), ("user", 77), "why, on what")
    site = sites[thread["site"]]
    equal((site["file"], site["line"]), ("tests/rust/tokio/src/main.rs", line_of("awaiting_on(Reason::User")),
          "where")
    birth = run.by_id("birth")[run.one("the-waker")["id"]][0]
    site = sites[birth["site"]]
    equal((site["file"], site["line"]), ("tests/rust/tokio/src/main.rs", line_of('"the-waker"')), "where born")
    equal(site["function"], "Counted<wakes>", "what it is")
    # A future that awaits a traced one waits for it.
    child = run.one("inline-child")["id"]
    assert any(s.get("resource") == child and s.get("reason") == "join" for s in suspends[run.one("parent")["id"]]), \
        f"it does not say whom it waits for: {suspends}"


@test
def ten_thousand_spawned_in_one_tick_are_all_there(dir):
    run = collect(dir, "scenarios", "multi", "burst")
    equal(len(run.rows), 10_000, "rows")
    check_all(run)


@test
def tasks_that_outlive_main_are_told_as_alive(dir):
    run = collect(dir, "scenarios", "current", "outlive", "exit")
    equal([row["state"] for row in run.rows], ["alive"] * 5, "states")
    check_all(run)
    alive = [r for r in run.sidecar if r["type"] == "coroutine"]
    equal(sorted(r["probe_id"] for r in alive), sorted(row["id"] for row in run.rows), "alive at the end")
    equal({r["state"] for r in alive}, {"suspended"}, "what they do")
    # Without awaiting() the place is that of the creation: the line of the spawn, and the type.
    with open(os.path.join(TREE, "tests/rust/tokio/src/main.rs"), encoding="utf-8") as f:
        line, = [nr for nr, text in enumerate(f, 1) if '"outlive-{i}"' in text]
    created = f"tests/rust/tokio/src/main.rs:{line} Counted<outlive>"
    status, out, _ = tool("info", "--json", run.trace)
    groups = json.loads(out)["sidecar"]["not_ended_by_place"]
    equal((status, [g["created"] for g in groups]), (0, [created] * 5), "where they were created")
    status, out, _ = tool("info", run.trace)
    equal((status, out.count(f", created at {created}, for ")), (0, 5), f"the same as text:\n{out}")


# ---- the server --------------------------------------------------------------------------------


def load(port, requests, clients):
    p = popen("ab", "-q", "-k", "-n", requests, "-c", clients, f"http://127.0.0.1:{port}/")
    out, err = p.communicate(timeout=300)
    equal(p.returncode, 0, f"status of ab; it said\n{out}\n{err}")
    failed = re.search(r"^Failed requests:\s+(\d+)", out, re.M)
    # The length of the answer changes with its number; ab may complain of nothing else.
    complete = int(re.search(r"^Complete requests:\s+(\d+)", out, re.M)[1])
    equal(complete, requests, f"requests that were answered; ab said\n{out}")
    return int(failed[1])


def ask(port, path):
    """One request on a connection that stays open: the socket and the answer."""
    import socket
    s = socket.create_connection(("127.0.0.1", port), timeout=300)
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    got = b""
    while b"connected\n" not in got:
        part = s.recv(4096)
        assert part, f"it hung up: {got}"
        got += part
    return s, got


def is_open(port, client):
    """The server at @port has a socket for this client."""
    with open("/proc/net/tcp", encoding="ascii") as f:
        rows = [line.split()[1:4] for line in f]
    return any(local.endswith(f":{port:04X}") and remote.endswith(f":{client:04X}") and state in ("01", "08", "09")
               for local, remote, state in rows[1:])


def until_left(port, connected):
    """Wait until the server has noticed that the clients left; returns the number of requests needed."""
    for asked in range(1, 1000):
        s, got = ask(port, "/")
        own = s.getsockname()[1]
        s.close()
        if f" {connected} connected" in got.decode():
            # The last client, which asked, must be gone as well: the server has closed its socket.
            wait_until(lambda: not is_open(port, own), "the end of the last connection")
            time.sleep(0.3)  # and its task ends
            return asked
        time.sleep(0.02)
    raise AssertionError(f"never came: {connected} connected; the last was {got}")


@test
def every_task_of_a_server_under_load_is_accounted_for(dir):
    if not shutil.which("ab"):
        raise Skip("no ab here (apache2-utils)")
    trace = os.path.join(dir, "trace.jsonl")
    p = popen(TOOL, "run", "--json", "-o", trace, "--", program("tokio-server"), "0")
    port = int(re.search(r":(\d+)$", p.stdout.readline().strip())[1])
    load(port, 2000, 20)
    load(port, 500, 5)
    idle = [ask(port, "/") for _ in range(3)]  # stay connected, and send nothing
    asked = until_left(port, len(idle) + 1)
    last, _ = ask(port, "/quit")
    out, err = p.communicate(timeout=300)
    equal(p.returncode, 0, f"status; stderr was\n{err}")
    accepted, served = (int(n) for n in re.search(r"accepted (\d+) served (\d+)", out).groups())
    equal((served, accepted >= 29), (2504 + asked, True), "served, connections")
    run = Run(p.returncode, out, err, trace)
    summary = run.summary
    equal((summary["lost"], summary["garbage"], summary["others"]["lost"]), (0, 0, 0), "lost in any way")
    check_balance(run, accepted, len(idle) + 1)
    for s, _ in [*idle, (last, None)]:
        s.close()


def check_balance(run, accepted, connected):
    """Created = ended + alive, in all and for each kind; and each has alternating events in the trace."""
    births, ends, alive = {}, {}, {}
    for r in run.sidecar:
        if r["type"] == "birth":
            births[r["probe_id"]] = r["name"]
        elif r["type"] == "end":
            ends[r["probe_id"]] = r
        elif r["type"] == "coroutine":
            alive[r["probe_id"]] = r
    equal(set(births), set(ends) | set(alive), "born, and ended or alive")
    equal(set(ends) & set(alive), set(), "ended and alive")
    names = list(births.values())
    equal({n: names.count(n) for n in set(names)},
          {"acceptor": 1, "counter": 1, "ticker": 1, "connection": accepted}, "born, by name")
    kept = [births[i] for i in alive]
    equal({n: kept.count(n) for n in set(kept)},
          {"acceptor": 1, "counter": 1, "ticker": 1, "connection": connected}, "alive at exit, by name")
    equal([e for e in ends.values() if e.get("cancelled")], [], "connections that did not come to their own end")
    events = {}
    for e in sorted(run.events, key=lambda e: e["ts"]):
        events.setdefault(e["probe_id"], []).append(e["is_active"])
    for probe_id, kinds in events.items():
        equal(kinds, [k % 2 == 1 for k in range(len(kinds))], f"turns of {births[probe_id]} {probe_id}")
        if probe_id in ends:
            equal(ends[probe_id].get("written", 0), len(kinds), f"transitions of {probe_id}, by its own count")
    reasons = {e["reason"] for e in run.events if "reason" in e}
    assert {"io-read", "accept", "timer", "channel-recv"} <= reasons, f"reasons told: {reasons}"


main()
