# SPDX-License-Identifier: MIT
"""test_fleet_servers.py - the servers that the other tests of this folder rely on behave as those expect."""
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


@test
def a_nats_server_offers_streams_and_survives_a_kill(dir):
    nats = Nats()
    assert nats.ping()
    nats.kill()
    assert not nats.ping()
    nats.start()


main()
