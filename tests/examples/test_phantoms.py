# SPDX-License-Identifier: MIT
"""test_phantoms.py - mini redis with its bug: each coroutine that it lost is named, with site and descriptor."""
from example_servers import *

FILE = "examples/cpp/mini-redis/server.cpp"
READS = line_of(FILE, "co_await AsyncRead(")
WRITES = line_of(FILE, "co_await AsyncWritable(")
DRAINS = line_of(FILE, "co_await make(server, name(), drain")


def lost(run):
    """The groups of info that are at the lines above, by line."""
    found = {}
    for g in info(run)["not_ended_by_place"]:
        place = g["place"].split()[0]
        file, line = place.rsplit(":", 1)
        equal(file, FILE, "file")
        found[int(line)] = g
    return found


def go_and_wait(s, clients, leave):
    """The clients disconnect; waits until the server has closed their sockets.  Returns their descriptors."""
    listening = s.sockets()
    them = [s.connect() for _ in range(clients)]
    for c in them:
        equal(c.ask("ping"), b"PONG", "ping")
    fds = s.sockets() - listening
    equal(len(fds), clients, "descriptors")
    for c in them:
        leave(c)
    wait_until(lambda: s.sockets() == listening, "descriptors closed")
    return fds


def check_lost_by(dir, leave):
    s = Server(dir, "--lose-wakeups", traced=True)
    fds = go_and_wait(s, 47, leave)
    equal(s.connect().ask("ping"), b"PONG", "somebody else")
    run = s.end()
    census = check_counts(s, run)
    groups = lost(run)
    equal(set(groups), {READS}, "lines where coroutines were left")
    equal(groups[READS]["resources"], sorted(fds), "their descriptors")
    equal(groups[READS]["reason"], "io-read", "what they wait for")
    equal(groups[READS]["state"], "suspended", "what they do")
    forgotten = {name for name, r in census.items() if not r["ended"]}
    equal(groups[READS]["coroutines"], len(forgotten), "as many as the server forgot")
    alive = {r["name"] for r in run.sidecar if r["type"] == "coroutine" and not r["dead"]}
    equal(alive, forgotten, "they are those")
    assert {f"client {i}" for i in range(1, 48)} <= forgotten
    # They got no wake after their last suspend: that is the bug.
    ids = {r["probe_id"]: r for r in run.sidecar if r["type"] == "coroutine" and not r["dead"]}
    for r in run.sidecar:
        if r["type"] == "wake" and r["probe_id"] in ids:
            assert r["ts"] < ids[r["probe_id"]]["since_ts"], f"woken: {r}"


@test
def who_closes_leaves_a_phantom(dir):
    check_lost_by(dir, Client.close)


@test
def who_resets_leaves_a_phantom(dir):
    check_lost_by(dir, Client.reset)


@test
def a_benchmark_leaves_one_for_each_of_its_clients(dir):
    s = Server(dir, "--lose-wakeups", traced=True)
    listening = s.sockets()
    s.benchmark("-t", "set,get", "-c", "23", "-n", "5000")
    wait_until(lambda: s.sockets() == listening, "descriptors closed")
    run = s.end()
    check_counts(s, run)
    groups = lost(run)
    equal(groups[READS]["coroutines"], 2 * 23 + 1, "phantoms")
    status, out, _ = tool("info", run.trace)
    equal(status, 0, "status of info")
    contains(out, f"not ended     47 suspended at {FILE}:{READS} serve (io-read)\n                  on fds ")


@test
def the_same_without_the_bug_is_clean(dir):
    s = Server(dir, traced=True)
    listening = s.sockets()
    s.benchmark("-t", "set,get", "-c", "23", "-n", "5000")
    wait_until(lambda: s.sockets() == listening, "descriptors closed")
    go_and_wait(s, 20, Client.reset)
    run = s.end()
    census = check_counts(s, run)
    equal(len(census), 2 + 47 + 20, "coroutines")
    equal(info(run)["not_ended"], 0, "phantoms")
    status, out, _ = tool("info", run.trace)
    assert "not ended" not in out


@test
def who_goes_while_it_is_being_answered_leaves_two(dir):
    s = Server(dir, "--lose-wakeups", traced=True)
    listening = s.sockets()
    setter, slow = s.connect(), s.connect()
    equal(setter.ask("set", "v", b"v" * (1 << 20)), b"OK", "set")
    slow.send(bulk("get", "v") * 30)
    slow.wait_until_nothing_comes()
    slow.reset()
    wait_until(lambda: len(s.sockets()) == len(listening) + 1, "its descriptor closed")
    run = s.end()
    check_counts(s, run)
    groups = lost(run)
    equal(set(groups), {WRITES, DRAINS}, "lines where coroutines were left")
    equal(groups[WRITES]["names_first"], ["client 2 answers 1"], "who waits to write")
    equal(groups[WRITES]["reason"], "io-write", "what for")
    equal(groups[DRAINS]["names_first"], ["client 2"], "who waits for it")
    equal(groups[DRAINS]["reason"], "join", "what for")
    child = next(r for r in run.sidecar if r["type"] == "coroutine" and r["name"] == "client 2 answers 1")
    equal(groups[DRAINS]["resources"], [child["probe_id"]], "on whom")


@test
def no_more_clients_than_allowed(dir):
    s = Server(dir, "--max-clients", 5)
    clients = [s.connect() for _ in range(5)]
    for c in clients:
        equal(c.ask("ping"), b"PONG", "ping")
    c = s.connect()
    equal(str(c.reply()), "ERR max number of clients reached", "the sixth")
    assert c.is_closed()
    clients[0].send(b"quit\r\n")
    equal(clients[0].reply(), b"OK", "quit")
    assert clients[0].is_closed()
    # Whether it is destroyed when the next one starts is a matter of microseconds.
    def enters():
        answer = None
        try:
            answer = s.connect().ask("ping")
        except (OSError, AssertionError):
            pass
        return answer == b"PONG"
    wait_until(enters, "a place")
    s.end()


@test
def phantoms_fill_the_server_up(dir):
    s = Server(dir, "--lose-wakeups", "--max-clients", 3)
    go_and_wait(s, 3, Client.close)
    equal(str(s.connect().reply()), "ERR max number of clients reached", "what the next one is told")
    s.end()


main()
