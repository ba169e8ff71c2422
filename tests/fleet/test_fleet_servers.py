# SPDX-License-Identifier: MIT
"""test_fleet_servers.py - the servers that the other tests of this folder rely on behave as those expect."""
import socket
import struct

from fleet_servers import *
from harness import *


@test
def two_shards_answer_as_one_and_a_killed_shard_is_an_error(dir):
    a, b = ClickHouse.cluster(2, "secret")
    for number, shard in enumerate((a, b)):
        shard.query("CREATE TABLE t (x UInt64, d Date) ENGINE = MergeTree PARTITION BY d ORDER BY x")
        shard.query(f"CREATE TABLE t_all AS t ENGINE = Distributed({CLUSTER}, default, t)")
        shard.query(f"INSERT INTO t VALUES ({number}, '2020-01-01')")
    equal(a.rows("SELECT x FROM t_all ORDER BY x"), [("0",), ("1",)], "rows of both")
    b.kill()
    try:
        a.query("SELECT x FROM t_all")
        raise AssertionError("half an answer")
    except QueryFailed as e:
        contains(str(e), "127.0.0.1")
    b.start()
    equal(b.value("SELECT count() FROM t_all"), 2, "rows after the restart")


def insert_cut(server, format, data, size):
    """The first @size bytes of an INSERT whose head announces all of them, and the end of the connection."""
    with socket.create_connection(("127.0.0.1", server.http), timeout=60) as s:
        s.sendall(b"POST /?query=INSERT+INTO+cut+FORMAT+%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (format.encode(), len(data)))
        s.sendall(data[:size])
        s.shutdown(socket.SHUT_WR)
        return s.recv(4096).split()[1]


@test
def a_native_block_that_is_cut_is_refused(dir):
    """The loader relies on it.  Rows of RowBinary that are cut between two rows are accepted: it must not use them."""
    server = ClickHouse()
    server.query("CREATE TABLE cut (x UInt64) ENGINE = MergeTree ORDER BY x")
    rows = struct.pack("<10Q", *range(10))
    native = b"\x01\x0a\x01x\x06UInt64" + rows
    for size in range(1, len(native), 8):
        equal(insert_cut(server, "Native", native, size), b"500", f"status after {size} bytes")
    equal(server.value("SELECT count() FROM cut"), 0, "rows of cut blocks")
    equal(insert_cut(server, "Native", native, len(native)), b"200", "status of a whole block")
    equal(server.value("SELECT count() FROM cut"), 10, "rows of a whole block")


@test
def a_nats_server_offers_streams_and_survives_a_kill(dir):
    nats = Nats()
    assert nats.ping()
    nats.kill()
    assert not nats.ping()
    nats.start()


main()
