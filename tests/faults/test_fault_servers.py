# SPDX-License-Identifier: MIT
"""test_fault_servers.py - commands that talk to servers: calls fail, and the server has everything once, or the command says what it has not.

Real servers are started once: PostgreSQL, MariaDB, ClickHouse, NATS.  After each fault
  - the command has ended, by itself, with status 0 or with a message;
  - with status 0, the server holds what it holds after a run without faults, read with the server's own client;
  - otherwise it holds nothing of it, or all, or (ClickHouse, NATS) a part that the same command sets right when it is run again;
  - nothing is left in TMPDIR and /dev/shm.

Left out: runs in which a library (libpq, libmariadb, libcurl, libnats, libmicrohttpd and what they load) made the failing call and crashed in
its own code, or, of libpq, waits there for ever (fault_stack_owner()).  They are counted and printed: no change here can help them.

Usually FAULT_SAMPLE call sites of each command fail, and those where there were faults; with COROTRACER_FULL=1 all call stacks.
"""
import gzip
import http.client
import http.server
import threading

import servers
import ship_receiver
import traces
from fault_runs import *
from fleet_servers import ClickHouse, Nats, QueryFailed
from harness import line_of

SAMPLE = int(os.environ.get("FAULT_SAMPLE", "2"))  # call sites of each command
LANES_TARGET = os.environ.get("LANES_TARGET", "build/tests/lanes_target")
SERVERS = {}
LEFT_OUT = collections.Counter()


def server(kind, *args):
    """Started once, for all cases; Skip if it cannot be started."""
    if kind not in SERVERS:
        try:
            SERVERS[kind] = kind(*args)
        except Skip as why:
            SERVERS[kind] = why
    if isinstance(SERVERS[kind], Skip):
        raise SERVERS[kind]
    return SERVERS[kind]


def make_trace(dir, name="t.ct"):
    trace = os.path.join(dir, name)
    equal(tool("run", "-q", "-o", trace, "--", LANES_TARGET, "turns", 5, 200)[0], 0, "status of run")
    return trace


def explore(dir, command, *others):
    """Call sites of @others, which faults/files covers, do not count."""
    if not is_wanted(command.name):
        return
    for name, *args in others:
        Command(dir, name, *args, calls=ALL_CALLS).pass_over()
    LEFT_OUT.clear()
    wrong = command.explore()
    for what, nr in sorted(LEFT_OUT.items()):
        print(f"    left out: {nr} times, {what}", flush=True)
    if wrong:
        raise AssertionError(f"{len(wrong)} faults:\n" + "\n".join(wrong[:100]))


class Guarded(Command):
    """
    Knows which library made the failing call, and which one crashed or hangs.
    @always: functions of the tool whose calls fail in any sample: there have been faults.
    """
    limit = 30

    def __init__(self, dir, name, *args, always=(), **options):
        self.always = always
        self.may_hang = name.startswith("postgresql")  # libpq has no time limit for an answer
        super().__init__(dir, name, *args, calls=ALL_CALLS, sample=SAMPLE, **options)

    def choose(self, result, calls):
        names = functions_of({frame for stack in result.stacks for frame in stack.frames[:4]}) if self.always and not FULL else {}
        chosen = super().choose(result, calls)
        for function in self.always:
            there = [s for s in result.stacks if s.call == "malloc" or s.call == "open" if function in [names.get(f) for f in s.frames[:4]]]
            assert there or not names, f"{self.name}: {function}() makes no call"
            chosen += [fault for stack in there[:3] for fault in faults_of_stack(stack)]
        return chosen

    def environment(self, settings):
        return dict(super().environment(settings), FAULT_OWNER="1", XDG_STATE_HOME=os.path.join(self.dir, "xdg"))

    def fresh(self):
        super().fresh()
        shutil.rmtree(os.path.join(self.dir, "xdg"), ignore_errors=True)

    def outputs(self, p):
        """The limit counts while this test runs, too: not while all of it is stopped."""
        for _ in range(2 * self.limit):
            try:
                return p.communicate(self.given, timeout=0.5)
            except subprocess.TimeoutExpired as error:
                late = error
        raise late

    def stop(self, p):
        p.send_signal(signal.SIGABRT)
        try:
            return p.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            return super().stop(p)

    def hangs(self, result, why):
        result.err = why + result.err
        result.status = -signal.SIGABRT
        return result

    def judge(self, result, wanted, settings, shm):
        ours = os.path.basename(TOOL)
        hangs = "hangs with" in result.err
        if result.status < 0 and result.failed_in not in ("", ours) and result.crashed_in not in ("", ours) and (not hangs or self.may_hang):
            how = "waits for ever" if hangs else "crashes"
            LEFT_OUT[f"{result.crashed_in} {how} after a failing {settings['FAULT_CALL']} of {result.failed_in}"] += 1
            return None
        if result.status < 0:
            return f"signal {-result.status} in {result.crashed_in} after a fault in {result.failed_in}: {result.err[-600:]!r}"
        if "%s" in result.err:
            return f"a message without its contents: {result.err[-600:]!r}"
        return self.judge_end(result, wanted, settings) or super().judge(result, wanted, settings, shm)

    def difference(self, result, wanted):
        """Where the two begin to differ."""
        one, two = str(result.seen), str(wanted.seen)
        at = max(len(os.path.commonprefix((one, two))) - 30, 0)
        return f"at {at}, {one[at:at + 100]!r} ({len(one)} characters) instead of {two[at:at + 100]!r} ({len(two)})"

    def judge_end(self, result, wanted, settings):
        if result.status == wanted.status and result.seen != wanted.seen:
            return f"status {result.status}, but {self.difference(result, wanted)}; stderr {result.err[-400:]!r}"
        return None


class Stored(Guarded):
    """
    @store: clear() before each run, look() after it.  A run that failed leaves nothing or all, or a state that the store permits():
    permits(seen, wanted, err) is False, True, or "again": the same command without faults then has to set it right.
    """

    def __init__(self, dir, name, store, *args, **options):
        self.store, self.before = store, None
        super().__init__(dir, name, *args, same=lambda result: store.look(), **options)

    def fresh(self):
        super().fresh()
        self.store.clear()
        if self.before is None:
            self.before = self.store.look()

    def judge_end(self, result, wanted, settings):
        err = result.err[-600:]
        if result.status == wanted.status:
            return super().judge_end(result, wanted, settings)
        if result.seen == wanted.seen and "nothing of it is in" in err:
            return f"says that nothing was stored, but all of it was: {err!r}"
        permitted = result.seen in (self.before, wanted.seen) or self.store.permits(result.seen, wanted.seen, err)
        if not permitted:
            return f"half of it is in the store: {self.difference(result, wanted)}, status {result.status}, stderr {err!r}"
        return self.run_again(wanted, err) if permitted == "again" else None

    def run_again(self, wanted, err):
        p = subprocess.run([TOOL, *self.args], cwd=os.path.join(self.dir, "out"), env=dict(self.environment({}), LD_PRELOAD=""),
                           capture_output=True, text=True, check=False, timeout=LIMIT)
        seen = self.store.look()
        if p.returncode == wanted.status and seen == wanted.seen:
            return None
        return f"after {err!r} another run does not set it right: status {p.returncode}, {p.stderr[-400:]!r}, {seen!r} instead of {wanted.seen!r}"[:3000]


# ---- PostgreSQL and MariaDB -----------------------------------------------------------------------------------

TABLES = "coro_tracer"


class PostgresRows:
    """All rows and all indexes of the database; None: there is no database."""
    LOOK = r"""SELECT tablename, regexp_replace(indexdef, '^.* USING', '') FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2;
        SELECT format('SELECT %L, row_to_json(t)::jsonb - ''id'' FROM %I t ORDER BY id', relname, relname) FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname \gexec"""

    def __init__(self, server, is_new):
        self.server, self.is_new = server, is_new

    def clear(self):
        if self.is_new:
            self.server.query(f"DROP DATABASE IF EXISTS {TABLES} WITH (FORCE)")
        else:
            self.server.query("TRUNCATE coro_trace_events, coro_trace_events_coroutines, coro_trace_events_details, coro_trace_events_sites", TABLES)

    def look(self):
        try:
            return self.server.query(self.LOOK, TABLES)
        except AssertionError as error:
            if "does not exist" in str(error):
                return None
            raise

    def permits(self, seen, wanted, err):
        return "again" if seen == "" else False  # a database without tables


class MariaRows:
    NAMES = "information_schema.columns WHERE table_schema = 'coro_tracer' AND column_name != 'id' GROUP BY table_name ORDER BY table_name"
    INDEXES = """SELECT table_name, GROUP_CONCAT(column_name ORDER BY seq_in_index) AS c FROM information_schema.statistics
        WHERE table_schema = 'coro_tracer' GROUP BY table_name, index_name ORDER BY 1, 2;"""

    def __init__(self, server, is_new):
        self.server, self.is_new = server, is_new

    def tables(self):
        return self.server.rows("SELECT table_name, GROUP_CONCAT('`', column_name, '`' ORDER BY ordinal_position) FROM " + self.NAMES, "")

    def clear(self):
        self.server.query(f"DROP DATABASE IF EXISTS {TABLES}" if self.is_new else "".join(f"DELETE FROM {TABLES}.{t};" for t, _ in self.tables()))

    def look(self):
        """Indexes and rows: tables and indexes cannot be made in the transaction of the rows."""
        rows = "".join(f"SELECT '{t}', {columns} FROM {TABLES}.{t} ORDER BY id;" for t, columns in self.tables())
        return self.server.query(self.INDEXES), self.server.query(rows)

    def permits(self, seen, wanted, err):
        if seen[1] == wanted[1]:
            return "the rows are in the database" in err
        return "again" if seen[1] == "" else False


def large_trace(dir):
    """Names of all kinds, and more events than fit into one message."""
    trace = traces.named(dir)
    with open(trace, "a", encoding="ascii") as f:
        f.write("".join(traces.line(i % 7 + 1, 100, 4096, i // 7 * 2 + 4, i % 2 == 0, 2000 + i) for i in range(2500)))
    return trace


def explore_database(dir, kind, sink, rows, client, *always):
    """Tables that exist first: an index that is made twice can be seen."""
    s, trace = server(kind), large_trace(dir)
    export = ("export", sink, "-q", "-i", trace, "--full", *s.options())
    rows(s, True).clear()
    equal(tool(*export)[0], 0, "status of the first export")
    explore(dir, Stored(dir, f"{sink} again", rows(s, False), *export, always=always), ("export csv", "export", "csv", "-q", "--full", "-i", trace, "-o", "x.csv"))
    explore(dir, Stored(dir, f"{sink} client", rows(s, False), *export, "--db-cli", client(s),
                        always=("put_pg_database", "quoted_conninfo") if sink == "postgresql" else ()))
    explore(dir, Stored(dir, f"{sink} new", rows(s, True), *export))
    return s, rows(s, False), export


@test
def postgresql(dir):
    explore_database(dir, servers.Postgres, "postgresql", PostgresRows, lambda s: s.psql)


@test
def mysql(dir):
    s, rows, export = explore_database(dir, servers.MariaDB, "mysql", MariaRows, lambda s: s.client + " --no-defaults",
                                       "mysql_server_ask_about", "load_spool")
    s.query("SET GLOBAL local_infile = 0")
    explore(dir, Stored(dir, "mysql inserts", rows, *export))


# ---- ClickHouse and NATS -----------------------------------------------------------------------------------

DATABASE = "faults"


class ClickHouseRows:
    """What the tables of the store say.  @before: what else to do before each run."""
    TABLES = {"waits": "count(), sum(wait_ns), sum(cityHash64(probe_id, ts, wait_ns, site, toString(state), toString(reason)))",
              "waits_10s": "sum(count), sum(wait_ns), sum(marks), uniqExact(mark)",
              "events": "count(), sum(cityHash64(probe_id, ts, toString(kind), tid))",
              "sites": "uniqExact(site, file, line, function)",
              "runs FINAL": "count(), sum(waits), sum(transitions), sum(collected), sum(blocks), sum(blocks_missing), sum(complete)",
              "blocks FINAL": "arraySort(groupArray((block, transitions, waits)))"}

    def __init__(self, server, is_new, before=lambda: None):
        self.server, self.is_new, self.before = server, is_new, before

    def clear(self):
        if self.is_new:
            self.server.query(f"DROP DATABASE IF EXISTS {DATABASE}")
        else:
            for table in self.TABLES:
                self.server.query(f"TRUNCATE TABLE {DATABASE}.{table.split()[0]}")
        self.before()

    def look(self):
        """None: there are no tables."""
        try:
            return [self.server.query(f"SELECT {what} FROM {DATABASE}.{table}") for table, what in self.TABLES.items()]
        except QueryFailed as error:
            if "doesn't exist" in str(error):
                return None
            raise

    def permits(self, seen, wanted, err):
        return "again"


class NatsBlocks:
    """The blocks of each run in the stream.  @trace is sent: it was not, before."""

    def __init__(self, nats, trace, is_new):
        self.nats, self.trace, self.is_new = nats, trace, is_new
        self.config = {"name": "COROTRACER", "subjects": ["corotracer.blocks.>"], "storage": "file", "retention": "workqueue", "discard": "new"}

    def clear(self):
        client = ship_receiver.NatsClient(self.nats.port)
        client.request("$JS.API.STREAM.DELETE.COROTRACER")
        if not self.is_new:
            client.request("$JS.API.STREAM.CREATE.COROTRACER", json.dumps(self.config).encode())
        client.close()
        if os.path.exists(self.trace + ".shipped"):
            os.unlink(self.trace + ".shipped")

    def look(self):
        """Fails if a block arrived twice."""
        runs = ship_receiver.shipped_nats(self.nats.port)
        return [(sorted(r.blocks), r.final and r.final["blocks"]) for r in runs.values()]

    def permits(self, seen, wanted, err):
        return "again"


class Streamed(Stored):
    """libnats does not find the end of a line if its two bytes are read one by one: every connection times out."""
    spared = (("short", "recv"),)


def nats_or_skip():
    if "without libnats" in tool("ship", "nats://127.0.0.1:1", "/dev/null")[2]:
        raise Skip("the tool was built without libnats")
    return server(Nats)


def spool_of(dir, trace):
    spool = os.path.join(dir, "spool")
    os.mkdir(spool)
    equal(tool("ship", "-q", f"file:{spool}", trace)[0], 0, "status of ship")
    return spool


def load_args(store, *args):
    return "load", "-q", "--wait", "2", "--into", store.url(DATABASE), *args


@test
def clickhouse(dir):
    store, trace = server(ClickHouse), make_trace(dir)
    load = load_args(store, "--events", trace)
    rows = ClickHouseRows(store, False)
    equal(tool(*load)[0], 0, "status of the first load")
    explore(dir, Stored(dir, "load again", rows, *load), ("info", "info", trace))
    explore(dir, Stored(dir, "load file", rows, *load_args(store, "--source", "file:" + spool_of(dir, trace)), always=["ship_labels_parse"]))
    explore(dir, Stored(dir, "export clickhouse", rows, "export", "clickhouse", "-q", "-i", trace, "--into", store.url(DATABASE)))

    def unsent():
        if os.path.exists(trace + ".shipped"):
            os.unlink(trace + ".shipped")
    explore(dir, Stored(dir, "ship clickhouse", ClickHouseRows(store, False, unsent), "ship", "-q", "--wait", "2", store.url(DATABASE), trace),
            ("ship", "ship", "-q", "--again", "file:x", trace))
    explore(dir, Stored(dir, "load new", ClickHouseRows(store, True), *load))
    for question in ("slowest", "lost", "latency", "graph", "findings") if FULL else ("slowest",):
        explore(dir, Guarded(dir, f"fleet {question}", "fleet", question, "--json", "--since", "2020-01-01 00:00", "--from", store.url(DATABASE),
                             same=lambda result: result.out, statuses=(0, 1)))


@test
def nats(dir):
    nats, trace = nats_or_skip(), make_trace(dir)
    ship = ("ship", "-q", "--wait", "2", nats.url(), trace)
    explore(dir, Streamed(dir, "ship nats new", NatsBlocks(nats, trace, True), *ship, always=["nats_connect"]), ("ship", "ship", "-q", "--again", "file:x", trace))
    if FULL:
        explore(dir, Streamed(dir, "ship nats again", NatsBlocks(nats, trace, False), *ship))
    store, stream = server(ClickHouse), NatsBlocks(nats, trace, True)

    def fill():
        stream.clear()
        equal(tool("ship", "-q", nats.url(), trace)[0], 0, "status of ship")
    equal(tool(*load_args(store, "--events", trace))[0], 0, "status of the first load")
    explore(dir, Streamed(dir, "load nats", ClickHouseRows(store, False, fill), *load_args(store, "--source", nats.url(), "--idle", "1"),
                          always=["ship_labels_parse"]),
            ("load file", *load_args(store, "--source", "file:" + spool_of(dir, trace))))


# ---- metrics for Prometheus ----------------------------------------------------------------------------------


class Scraped(Guarded):
    """A server of metrics that is asked, as Prometheus does, until it has read the trace; then it is ended."""

    def __init__(self, dir, name, *args, **options):
        self.samples = None
        super().__init__(dir, name, *args, same=lambda result: self.samples, **options)

    def scrape(self, port):
        """The samples about coroutines; None: no answer, or the trace is still being read."""
        try:
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            c.request("GET", "/metrics")
            r = c.getresponse()
            text = r.read().decode()
            c.close()
        except (OSError, http.client.HTTPException):
            return None
        if r.status != 200 or not re.search(r"^corotracer_collecting\S* 0$", text, re.M):
            return None
        return sorted(line for line in text.splitlines() if line.startswith(("coroutine", "corotracer_events")))

    def outputs(self, p):
        self.samples, said = None, ""
        while "metrics are at" not in said and (line := line_of(p.stderr.fileno())):
            said += line
        port = re.search(r"http://.*:(\d+)/metrics", said)
        tries = 5 if port else 0
        while tries and not self.samples and p.poll() is None:
            self.samples = self.scrape(int(port[1]))
            tries -= 1
            time.sleep(0.05)
        p.send_signal(signal.SIGTERM)
        out, err = super().outputs(p)
        return out, said.encode() + err

    def judge_end(self, result, wanted, settings):
        lines = [re.sub(r":\d+/", ":PORT/", r.err).splitlines() for r in (result, wanted)]
        if result.status == 0 and set(lines[0]) - set(lines[1]):
            return None  # it says that there are no metrics, and serves the page
        return super().judge_end(result, wanted, settings)


@test
def metrics(dir):
    trace = make_trace(dir)
    explore(dir, Scraped(dir, "serve metrics", "serve", "--metrics", "0", trace, always=["is_compact"]), ("html", "html", "-q", "-o", "x.html", trace))


# ---- a receiver of OTLP ------------------------------------------------------------------------------------


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps the requests that arrived completely."""

    def __init__(self):
        receiver, self.bodies = self, []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                size = int(self.headers["Content-Length"])
                body = self.rfile.read(size)
                if len(body) == size:
                    receiver.bodies.append(gzip.decompress(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # the command hung up

    def clear(self):
        self.bodies.clear()

    def look(self):
        return len(self.bodies)

    def permits(self, seen, wanted, err):
        return False


class Sent(Stored):
    """A request that was not answered is sent again."""

    def judge_end(self, result, wanted, settings):
        if result.status == 0 and result.seen > wanted.seen and "may have them twice" in result.err:
            return None
        return super().judge_end(result, wanted, settings)


@test
def otlp(dir):
    trace, receiver = make_trace(dir), Receiver()
    command = Sent(dir, "otlp", receiver, "export", "otlp", "-q", "--slower-than", "0", "-i", trace, "-o", f"http://127.0.0.1:{receiver.server_port}")
    explore(dir, command, ("export otlp", "export", "otlp", "-q", "-i", trace, "-o", "x.otlp"))
    receiver.shutdown()


if __name__ == "__main__":
    main()
