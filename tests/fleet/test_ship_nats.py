# SPDX-License-Identifier: MIT
"""test_ship_nats.py - shipping to a real NATS server that is away, restarted, stalled, full, or refuses: nothing twice, all counted.

COROTRACER_FULL=1: the server is killed and restarted all the time.
"""
from fleet_servers import *
from harness import *
from ship_receiver import *
from ship_runs import *

FULL = os.environ.get("COROTRACER_FULL") == "1"


class NatsWith(Nats):
    """With further options on the command line."""

    def __init__(self, *options, begin=True):
        self.options = options
        super().__init__(begin=begin)

    def command(self):
        return super().command() + list(self.options)


class NatsPlain(Nats):
    def command(self):
        return super().command()[:5]


def shared_server():
    """One for all tests that leave it as it was; each run has a number of its own."""
    if not hasattr(shared_server, "nats"):
        shared_server.nats = Nats()
    return shared_server.nats


def arrived(nats, run, **user):
    return shipped_nats(nats.port, **user)[run]


@test
def blocks_arrive_once_in_a_stream_that_is_created(dir):
    nats = shared_server()
    r = run_ship(dir, nats.url(), "-o", dir + "/t.ct", "--service", "a.b c", "--host", "h.1")
    equal(r.status, 0, r.err)
    s = r.summary
    check_account(s)
    got = arrived(nats, s["ship"]["run"])
    equal(got.blocks, blocks_of(dir + "/t.ct"), "blocks")
    check_final(got)
    check_arrived(got, s["ship"]["shipped"], "in the stream")
    equal((got.labels["service"], got.labels["host"]), ("a.b c", "h.1"), "labels")
    client = NatsClient(nats.port)
    equal({m[0] for m in client.stream()}, {"corotracer.blocks.a_b_c.h_1"}, "subject")
    config = client.request("$JS.API.STREAM.INFO.COROTRACER")["config"]
    equal((config["discard"], config["retention"], config["storage"]), ("new", "workqueue", "file"), "the stream")
    before = len(client.stream())
    # Progress that was not saved: what is sent again is recognized.
    os.unlink(dir + "/t.ct.shipped")
    with open(dir + "/t.ct.shipped", "w", encoding="utf-8") as f:
        json.dump({"labels": dict(got.labels, final=got.final), "place": {}, "pending": []}, f)
    r, (again,) = ship(nats.url(), dir + "/t.ct")
    equal((r.status, again["run"], again["shipped"]["blocks"]), (0, s["ship"]["run"], len(got.blocks)), r.err)
    equal(len(client.stream()), before, "messages after it was sent again")
    client.close()


@test
def a_server_that_comes_later_gets_everything(dir):
    nats = Nats(begin=False)
    p = start_ship(dir, nats.url(), "--ship-wait", "60", program=(LANES, "turns", 50, 500000))
    wait_until(lambda: spools(dir) and os.path.exists(spools(dir)[0] + ".shipped") and state_of(spools(dir)[0])["trouble"], "trouble")
    nats.start()
    out, err = p.communicate(timeout=240)
    s = Run(p.returncode, out, err, None).summary
    check_account(s)
    equal((s["ship"]["finished"], s["ship"]["shipped"]["transitions"]), (True, 500000), err)
    contains(err, "cannot connect to " + nats.url())
    contains(err, "accepts blocks again")
    check_final(arrived(nats, s["ship"]["run"]))
    equal(spools(dir), [], "spools")
    nats.remove()


@test
def a_server_that_is_killed_and_restarted_gets_every_block_once(dir):
    nats = shared_server()
    p = start_ship(dir, nats.url(), "--ship-wait", "60", program=(LANES, "endless", 20))
    for _ in range(20 if FULL else 2):
        before = None

        def moves():
            nonlocal before
            state = state_of(spools(dir)[0])["shipped"]["blocks"] if spools(dir) and os.path.exists(spools(dir)[0] + ".shipped") else 0
            before = state if before is None else before
            return state > before
        wait_until(moves, "blocks that arrive")
        nats.kill()
        nats.start()
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=240)
    s = Run(p.returncode, out, err, None).summary
    check_account(s)
    # At full speed the program may fill the buffer of a collector without a processor; nothing else may be lost.
    equal((s["lost"], s["ship"]["finished"]), (s["lost_full"], True), err)
    got = arrived(nats, s["ship"]["run"]) # fails if a block is there twice
    check_final(got)
    check_arrived(got, s["ship"]["shipped"], "with a restarted server")
    equal(got.final["given_up_blocks"], 0, "given up")


@test
def a_stalled_connection_stops_neither_program_nor_collector(dir):
    nats = shared_server()
    proxy = Proxy(nats.port)
    p = start_ship(dir, f"nats://127.0.0.1:{proxy.port}", "--ship-wait", "1", program=(LANES, "turns", 1000, 3000000))
    wait_until(lambda: proxy.passed > 100, "a connection")
    proxy.stall()
    out, err = p.communicate(timeout=240)
    s = Run(p.returncode, out, err, None).summary
    check_account(s)
    equal((p.returncode, s["written"], s["lost"], s["lanes"]["waits"]), (0, 3000000, 0, 0), err)
    proxy.resume()
    if not s["ship"]["finished"]:
        equal(ship(nats.url(), spools(dir)[0])[0].status, 0, "ship")
    check_final(arrived(nats, s["ship"]["run"]))


@test
def a_host_that_comes_back_after_its_spool_overflowed_counts_what_is_missing(dir):
    nats = Nats(begin=False)
    r = run_ship(dir, nats.url(), "--ship-wait", "0", "--spool-size", "1M", program=(LANES, "wander", 4, 2000, 5000000))
    s = r.summary
    check_account(s)
    assert s["ship"]["given_up"]["blocks"] > 0, s["ship"]
    nats.start()
    r, (sent,) = ship(nats.url(), spools(dir)[0])
    equal((r.status, sent["given_up"]), (0, s["ship"]["given_up"]), r.err)
    got = arrived(nats, sent["run"])
    check_final(got)
    equal(got.final["given_up_transitions"], s["ship"]["given_up"]["transitions"], "given up")
    nats.remove()


@test
def large_blocks_travel_in_parts(dir):
    config = dir + "/nats.conf"
    with open(config, "w", encoding="utf-8") as f:
        f.write("max_payload: 40000\n")
    nats = NatsWith("-c", config)
    # A collector that is kept from a processor reads often and little, and cuts small blocks.
    for _ in range(10):
        r = run_ship(dir, nats.url(), "-o", dir + "/t.ct", program=(LANES, "wander", 4, 2000, 500000))
        equal(r.status, 0, r.err)
        s = r.summary
        client = NatsClient(nats.port)
        parts = [Envelope(data).parts for _, _, data in client.stream()]
        client.close()
        if max(parts) > 1:
            break
    assert max(parts) > 1, parts
    equal(arrived(nats, s["ship"]["run"]).blocks, blocks_of(dir + "/t.ct"), "blocks")
    nats.remove()


@test
def refusals_are_said_and_spooled(dir):
    trace = dir + "/t.ct"
    equal(popen(TOOL, "run", "-q", "-o", trace, "--", LANES, "wander", 4, 2000, 300000).wait(timeout=240), 0, "run")
    nats = NatsPlain()
    r, (s,) = ship("--wait", "0.2", nats.url(), trace)
    equal((r.status, s["shipped"]["blocks"]), (1, 0), r.err)
    contains(r.err, "has no JetStream")
    nats.remove()
    nats = NatsWith("--user", "bob", "--pass", "right")
    r, (s,) = ship("--wait", "0.2", f"nats://bob:wrong@127.0.0.1:{nats.port}", trace)
    equal((r.status, s["shipped"]["blocks"]), (1, 0), r.err)
    contains(r.err, "Authorization")
    assert "wrong" not in r.err + r.out, r.err
    # A full stream: blocks are refused, none of the old ones is dropped.
    client = NatsClient(nats.port, "bob", "right")
    stream = {"name": "COROTRACER", "subjects": ["corotracer.blocks.>"], "storage": "file", "discard": "new", "max_bytes": 60000}
    assert "error" not in client.request("$JS.API.STREAM.CREATE.COROTRACER", json.dumps(stream).encode())
    env = dict(os.environ, NATS_PASSWORD="right")
    url = f"nats://bob@127.0.0.1:{nats.port}"
    r, (s,) = ship("--wait", "1", url, trace, env=env)
    equal(r.status, 1, r.err)
    contains(r.err, "refuses blocks: maximum bytes exceeded")
    assert s["spooled"]["blocks"] > 0, s
    stream["max_bytes"] = -1
    assert "error" not in client.request("$JS.API.STREAM.UPDATE.COROTRACER", json.dumps(stream).encode())
    client.close()
    r, (s,) = ship(url, trace, env=env)
    equal((r.status, s["spooled"]["blocks"]), (0, 0), r.err)
    got = arrived(nats, s["run"], user="bob", password="right")
    equal(got.blocks, blocks_of(trace), "blocks")
    client = NatsClient(nats.port, "bob", "right")
    numbers = [Envelope(data).number for _, _, data in client.stream()]
    client.close()
    equal(numbers, sorted(numbers), "order of the blocks")
    check_final(got)
    nats.remove()


try:
    installed("nats-server")
    if "without libnats" in tool("ship", "nats://127.0.0.1:1", "/dev/null")[2]:
        raise Skip("the tool was built without libnats")
except Skip as why:
    print(f"skipped: {why}")
    sys.exit(77)
main()
