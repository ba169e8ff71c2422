# SPDX-License-Identifier: MIT
"""test_load_stream.py - blocks of many hosts through a real NATS server into a real ClickHouse server, with kills of everything between."""
import random
import socket
import struct
import threading
import zlib

from fleet_servers import *
from sql import *

FULL = os.environ.get("COROTRACER_FULL") == "1"
LANES_TARGET = os.environ.get("LANES_TARGET", "build/tests/lanes_target")
SMALL = [LANES_TARGET, "turns", "50", "20000"]


def loader(server, database, *args, **env):
    return popen(TOOL, "load", "--into", server.url(database), "--json", *map(str, args),
                 env=dict(os.environ, CLICKHOUSE_PASSWORD=server.password, **env))


def ship_run(dir, number, url, *options, program=None):
    trace = f"{dir}/t{number}.ct"
    p = subprocess.run([TOOL, "run", "-q", "-o", trace, "--ship", url, "--host", f"host{number}", "--service", "svc", "--ship-wait", "100",
                        *options, "--", *(program or SMALL)], capture_output=True, text=True, check=False, timeout=240)
    equal(p.returncode, 0, p.stderr)
    return trace


def truth(traces):
    result = [0, 0]
    for trace in traces:
        waits, total = rows(trace, "SELECT count(*), sum(duration_ns) FROM waits")[0]
        result = [result[0] + waits, result[1] + (total or 0)]
    return tuple(result)


def stored(server, database):
    waits = tuple(int(x) for x in server.rows(f"SELECT count(), sum(wait_ns) FROM {database}.waits")[0])
    sums = tuple(int(x) for x in server.rows(f"SELECT sum(count), sum(wait_ns) FROM {database}.waits_10s")[0])
    equal(sums, waits, "sums against waits")
    return waits


def complete(server, database):
    return server.value(f"SELECT count() FROM system.tables WHERE database = '{database}' AND name = 'runs'") and \
        server.value(f"SELECT count() FROM {database}.runs FINAL WHERE complete")


@test
def everything_arrives_once_while_loader_broker_and_store_are_killed(dir):
    server, nats = ClickHouse("secret"), Nats()
    nr = 12 if FULL else 6
    dice = random.Random(3)
    args = ("--source", nats.url(), "--state", dir + "/state")
    p = loader(server, "stream", *args)
    traces = {}
    threads = [threading.Thread(target=lambda n=n: traces.update({n: ship_run(dir, n, nats.url())})) for n in range(nr)]
    for t in threads:
        t.start()
    for number in range(9 if FULL else 3):
        time.sleep(dice.random())
        victim = ("loader", "broker", "store")[number % 3]
        if victim == "loader":
            p.kill()
            p.communicate(timeout=240)
            p = loader(server, "stream", *args)
        elif victim == "broker":
            nats.kill()
            nats.start()
        else:
            server.kill()
            server.start()
    for t in threads:
        t.join()
    equal(len(traces), nr, "traces")
    wait_until(lambda: complete(server, "stream") == nr, "complete runs")
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=120)
    equal(p.returncode, 0, out + err)
    equal(stored(server, "stream"), truth(traces.values()), "waits")
    equal(server.rows("SELECT sum(blocks_missing), sum(written - collected - lost), sum(collected - transitions - given_up) FROM stream.runs FINAL"),
          [("0", "0", "0")], "accounts")
    # All messages were acknowledged: the next loader finds nothing.
    p = loader(server, "stream", *args, "--idle", "1")
    out, err = p.communicate(timeout=120)
    equal(p.returncode, 0, out + err)
    equal(json.loads(out)["blocks"], 0, "blocks that came again")


# ---- messages as a shipper would send them ------------------------------------------------------------------


def envelope(number, labels, block, part=0, parts=1):
    labels = json.dumps(labels).encode()
    head = b"\211CTSHIP\n" + struct.pack("<HHIQIII", 1, 40, len(labels), number, part, parts, len(block))
    return head + struct.pack("<I", zlib.crc32(head + labels + block)) + labels + block


def opened(path):
    """Number, labels and block of an envelope in a file."""
    with open(path, "rb") as f:
        data = f.read()
    labels_size, number = struct.unpack("<IQ", data[12:24])
    return number, json.loads(data[40:40 + labels_size]), data[40 + labels_size:]


def publish(nats, messages):
    with socket.create_connection(("127.0.0.1", nats.port), timeout=60) as s:
        f = s.makefile("rwb")
        f.readline()
        f.write(b'CONNECT {"verbose":false}\r\n')
        for m in messages:
            f.write(b"PUB corotracer.blocks.svc.host %d\r\n%s\r\n" % (len(m), m))
        f.write(b"PING\r\n")
        f.flush()
        while f.readline() != b"PONG\r\n":
            pass


@test
def parts_of_blocks_are_joined_and_a_clock_that_is_ahead_is_noted(dir):
    server, nats = ClickHouse(), Nats()
    spools, traces = [], []
    for n in range(2):
        os.mkdir(f"{dir}/spool{n}")
        traces.append(ship_run(dir, n, f"file:{dir}/spool{n}"))
        files = sorted(f"{root}/{f}" for root, _, files in os.walk(f"{dir}/spool{n}") for f in files)
        spools.append([opened(f) for f in files])
    for _, labels, _ in spools[1]:
        labels["start_realtime"] += 3600 * 10**9
    # Two runs that take turns, the blocks of one in three parts.
    messages = [b"no envelope"]
    for i in range(max(map(len, spools))):
        if i < len(spools[1]):
            messages.append(envelope(*spools[1][i]))
        if i < len(spools[0]):
            number, labels, block = spools[0][i]
            cuts = [0, len(block) // 3, len(block) // 2, len(block)]
            parts = [envelope(number, labels, block[a:b], k, 3) for k, (a, b) in enumerate(zip(cuts, cuts[1:]))]
            messages += parts if block else [envelope(number, labels, block)]
            if block and i == 0:
                messages.append(parts[0])  # one that came again, alone
    equal(loader(server, "parts", "--source", nats.url(), "--state", dir + "/s", "--idle", "1").wait(120), 0, "makes the stream")
    publish(nats, messages)
    p = loader(server, "parts", "--source", nats.url(), "--state", dir + "/s", "--idle", "2")
    out, err = p.communicate(timeout=120)
    equal(p.returncode, 1, out + err)
    equal(json.loads(out)["unreadable"], 1, "messages that are no envelopes")
    equal(stored(server, "parts"), truth(traces), "waits")
    offsets = [int(x) / 1e9 for x, in server.rows("SELECT clock_offset_ns FROM parts.runs FINAL ORDER BY host")]
    equal(offsets[0], 0.0, "offset of the right clock")
    assert 3400 < offsets[1] <= 3600, offsets
    equal(server.value("SELECT count() FROM parts.runs FINAL WHERE complete AND blocks_missing = 0"), 2, "complete runs")


@test
def a_run_is_shipped_straight_into_the_store_also_when_it_comes_late(dir):
    server = ClickHouse(begin=False)
    server.configure()
    os.environ["XDG_STATE_HOME"] = dir + "/state"
    traces = {}
    t = threading.Thread(target=lambda: traces.update({0: ship_run(dir, 0, server.url("direct"))}))
    t.start()
    time.sleep(1)
    server.start()
    traces[1] = ship_run(dir, 1, server.url("direct"), program=[CHANNELS])
    t.join()
    equal(len(traces), 2, "traces")
    wait_until(lambda: complete(server, "direct") == 2, "complete runs")
    equal(stored(server, "direct"), truth(traces.values()), "waits")
    equal(server.rows("SELECT sum(blocks_missing), sum(collected - transitions), max(abs(clock_offset_ns)) FROM direct.runs FINAL"),
          [("0", "0", "0")], "accounts")
    # Once more, by hand: everything is there.
    status, out, err = tool("ship", "--json", server.url("direct"), traces[1])
    equal(status, 0, out + err)
    equal(stored(server, "direct"), truth(traces.values()), "waits after the second time")
    equal(os.listdir(dir + "/state/corotracer/load-ship"), [], "states of complete runs")


main()
