# SPDX-License-Identifier: MIT
"""test_load_current.py - the same loader and the schema with codecs, on the current engine of ClickHouse (PyPI chdb)."""
from ask_store import chdb_python
from fleet_servers import *
from sql import *

HERE = os.path.dirname(os.path.abspath(__file__))
LANES_TARGET = os.environ.get("LANES_TARGET", "build/tests/lanes_target")


class CurrentEngine(ClickHouse):
    """As a server, with the statements executed by chdb."""

    def __init__(self):
        self.python = chdb_python()
        FleetServer.__init__(self)
        self.http, self.password, self.shards = free_port(), "", [self]
        self.start()

    def command(self):
        return [self.python, HERE + "/chdb_server.py", str(self.http), self.dir + "/data"]

    def bytes_of(self, table):
        return self.value(f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'current' AND table = '{table}'")


SERVERS = []


def engine():
    if not SERVERS:
        SERVERS.append(CurrentEngine())
    return SERVERS[0]


@test
def the_current_engine_stores_the_same_waits_once_and_small(dir):
    server = engine()
    trace, large = dir + "/c.ct", dir + "/l.ct"
    equal(tool("run", "-q", "-o", trace, "--", CHANNELS)[0], 0, "run")
    equal(tool("run", "-q", "-o", large, "--", LANES_TARGET, "turns", "100", "200000")[0], 0, "run")
    for again in range(2):
        status, out, err = tool("load", "--into", server.url("current"), "--events", "--json", trace, large)
        equal(status, 0, out + err)
    assert json.loads(out)["found"] >= 4, out
    nr, total = 0, 0
    for t in (trace, large):
        n, ns = rows(t, "SELECT count(*), sum(duration_ns) FROM waits")[0]
        nr, total = nr + n, total + ns
    one = lambda sql: [int(x) for x in server.rows(sql)[0]]
    equal(one("SELECT count(), sum(wait_ns) FROM current.waits"), [nr, total], "waits")
    equal(one("SELECT sum(count), sum(wait_ns) FROM current.waits_10s"), [nr, total], "sums")
    equal(one("SELECT max(wait_ns), max(ready_ns) FROM current.waits"),
          one("SELECT maxMerge(max_wait), maxMerge(max_ready) FROM current.waits_10s"), "the longest")
    equal(server.rows("SELECT toYear(max(time)) = toYear(now()) FROM current.waits"), [("1",)], "the alias for people")
    contains(server.query("SELECT create_table_query FROM system.tables WHERE database = 'current' AND name = 'waits'"), "toIntervalDay(7)")
    status, out, err = tool("load", "--into", server.url("current"), "--keep", "waits=30", trace)
    equal(status, 0, out + err)
    contains(server.query("SELECT create_table_query FROM system.tables WHERE database = 'current' AND name = 'waits'"), "toIntervalDay(30)")
    transitions = sum(rows(t, "SELECT collected FROM totals")[0][0] for t in (trace, large))
    equal(one("SELECT countIf(kind IN ('suspend', 'resume')) FROM current.events"), [transitions], "transitions")
    # At most 4 bytes per transition; the trace of an example has wakes, births and ends as well.
    server.query("OPTIMIZE TABLE current.events FINAL")
    server.query("OPTIMIZE TABLE current.waits FINAL")
    size = server.bytes_of("events") / one("SELECT count() FROM current.events")[0]
    print(f"# {size:.2f} bytes per event, {server.bytes_of('waits') / nr:.2f} per wait")
    assert 0 < size <= 4, size


@test
def the_current_engine_stores_findings(dir):
    server, trace = engine(), dir + "/d.ct"
    tool("run", "-q", "-o", trace, "--", os.environ["CORPUS_BUGGY"], "deadlock")
    status, out, err = tool("load", "--into", server.url("found"), "--json", trace)
    equal(status, 0, out + err)
    assert ("deadlock",) in server.rows("SELECT DISTINCT detector FROM found.findings"), server.query("SELECT * FROM found.findings")


main()
