# SPDX-License-Identifier: MIT
"""test_example_traces.py - the trace of a server under load equals the counts of the server, for each coroutine."""
from example_servers import *


@test
def every_suspend_and_resume_under_a_benchmark(dir):
    s = Server(dir, traced=True)
    s.benchmark("-t", "ping,set,get,incr", "-n", "5000", "-c", "25")
    s.benchmark("-t", "set,get", "-n", "2000", "-P", "50", "-c", "5", "-d", "2000")
    run = s.end()
    census = check_counts(s, run)
    # Each test of the benchmark has its own clients, and the benchmark first asks for the
    # configuration.
    equal(len(census), 2 + 5 * 25 + 1 + 2 * 5 + 1, "coroutines")
    equal({r["ended"] for r in census.values()}, {True}, "all of them ended")
    equal(info(run)["not_ended"], 0, "coroutines that had not ended")


@test
def answers_that_wait_for_a_slow_client_are_seen_to(dir):
    s = Server(dir, traced=True)
    slow, other = s.connect(), s.connect()
    value = b"v" * (1 << 20)
    equal(other.ask("set", "v", value), b"OK", "set")
    slow.send(bulk("get", "v") * 30)
    slow.wait_until_nothing_comes()
    equal(other.ask("ping"), b"PONG", "ping meanwhile")
    for _ in range(30):
        assert slow.reply() == value
    slow.close()
    run = s.end()
    check_counts(s, run)
    waits = {e.get("reason") for e in run.events if not e["is_active"]}
    assert {"io-read", "io-write", "accept", "signal"} <= waits, f"waited for {waits} only"


@test
def who_is_there_when_it_is_killed_is_told(dir):
    s = Server(dir, traced=True)
    listening = s.sockets()
    clients = [s.connect() for _ in range(12)]
    for c in clients:
        equal(c.ask("ping"), b"PONG", "ping")
    fds = s.sockets() - listening
    gone = [s.connect() for _ in range(5)]
    for c in gone:
        equal(c.ask("quit"), b"OK", "quit")
        assert c.is_closed()
    wait_until(lambda: s.sockets() - listening == fds, "those who quit to be gone")
    wait_until(s.is_at_rest, "nothing to do")
    run = s.end(signal.SIGKILL, status=-signal.SIGKILL)
    births = {r["probe_id"] for r in run.sidecar if r["type"] == "birth"}
    ended = {r["probe_id"] for r in run.sidecar if r["type"] in ("end", "destroy")}
    alive = {r["probe_id"]: r for r in run.sidecar if r["type"] == "coroutine" and not r["dead"]}
    equal(len(births), 2 + 12 + 5, "born")
    equal(births, ended | set(alive), "born is ended and alive")
    equal(ended & set(alive), set(), "both ended and alive")
    # One that quit may have closed its socket without having ended yet.
    assert len(ended) <= 5, f"{len(ended)} ended"
    waiting = [r for r in alive.values() if r["name"].startswith("client ") and r["state"] == "suspended"]
    equal(sorted(r["resource"] for r in waiting), sorted(fds), "descriptors that they wait for")
    equal({r["reason"] for r in waiting}, {"io-read"}, "what for")
    group = info(run)["not_ended_by_place"][0]
    equal(group["coroutines"], 12, "of these at one place")
    equal(group["resources"], sorted(fds), "their descriptors")


@test
def without_the_tool_it_is_the_same_server(dir):
    s = Server(dir)
    s.benchmark("-t", "get", "-n", "2000", "-c", "10")
    s.end()
    equal(len(s.census()), 2 + 10 + 1, "coroutines counted")


@test
def it_goes_on_when_the_collector_is_killed(dir):
    s = Server(dir, traced=True)
    c = s.connect()
    equal(c.ask("ping"), b"PONG", "ping")
    s.process.kill()
    s.process.wait()
    for _ in range(2000):
        equal(c.ask("incr", "n") > 0, True, "incr")
    os.kill(s.pid, signal.SIGTERM)
    wait_until(lambda: os.path.exists(s.census_file), "the server's end")
    equal({r["ended"] for r in s.census().values()}, {True}, "all of them ended")
    sweep(s.process)


main()
