# SPDX-License-Identifier: MIT
"""test_load_faults.py - loaders and servers killed at every step, missing and damaged blocks, twenty collectors: nothing is counted twice.

With COROTRACER_FULL=1 the loader is killed at each of its calls, otherwise at a few of them.
"""
import random
import threading

from fleet_servers import *
from late_proxy import LateProxy
from sql import *

FULL = os.environ.get("COROTRACER_FULL") == "1"
KILL_AT = os.environ.get("KILL_AT_SO", "build/tests/fleet/libkill_at.so")
LANES_TARGET = os.environ.get("LANES_TARGET", "build/tests/lanes_target")
BLOCKS = [LANES_TARGET, "turns", "50", "70000"]  # two blocks of events
SMALL = [LANES_TARGET, "turns", "50", "20000"]
SERVERS = {}


def store():
    if not SERVERS:
        SERVERS["one"] = ClickHouse("secret")
    return SERVERS["one"]


def loader(server, database, *args, **env):
    """A loader that was started."""
    return popen(TOOL, "load", "--into", server.url(database), "--json", *map(str, args),
                 env=dict(os.environ, CLICKHOUSE_PASSWORD=server.password, **env))


def load(server, database, *args, status=0, **env):
    p = loader(server, database, *args, **env)
    out, err = p.communicate(timeout=240)
    equal(p.returncode, status, f"status of load {args}: {out}{err}")
    return json.loads(out) if out.strip() else {}


def ship_run(dir, number, spool, program=None, options=()):
    """A run that is kept as a trace, and shipped; its numbers, by `query`."""
    trace = f"{dir}/t{number}.ct"
    p = subprocess.run([TOOL, "run", "-q", "-o", trace, "--ship", f"file:{spool}", "--host", f"host{number}", "--service", "svc",
                        "--region", "r1", *options, "--", *(program or BLOCKS)], capture_output=True, text=True, check=False, timeout=240)
    equal(p.returncode, 0, p.stderr)
    return trace


def truth(traces):
    """Waits, their total time and transitions of the traces."""
    result = [0, 0, 0]
    for trace in traces:
        waits, total = rows(trace, "SELECT count(*), sum(duration_ns) FROM waits")[0]
        written = rows(trace, "SELECT collected FROM totals")[0][0]
        result = [result[0] + waits, result[1] + (total or 0), result[2] + written]
    return tuple(result)


def stored(server, database):
    """The same by the store: from the rows, from the sums, from the accounts."""
    one = lambda sql: tuple(int(x) for x in server.rows(sql)[0])
    waits = one(f"SELECT count(), sum(wait_ns) FROM {database}.waits")
    sums = one(f"SELECT sum(count), sum(wait_ns) FROM {database}.waits_10s")
    runs = one(f"SELECT sum(waits), sum(transitions), sum(collected), sum(blocks) FROM {database}.runs FINAL")
    blocks = one(f"SELECT sum(transitions), sum(waits) FROM {database}.blocks FINAL")
    equal(sums, waits, "sums against waits")
    equal((runs[0], runs[1]), (waits[0], blocks[0]), "accounts against waits and blocks")
    equal(blocks[1], waits[0], "waits of the blocks")
    equal(server.value(f"SELECT count() FROM (SELECT mark, sum(marks) AS n FROM {database}.waits_10s WHERE mark != '' GROUP BY mark) WHERE n != 1"),
          0, "marks that are not there once")
    return waits[0], waits[1], runs[1]


def empty(server, database):
    for table in ("waits", "waits_10s", "runs", "blocks", "events", "sites"):
        server.query(f"TRUNCATE TABLE {database}.{table}")


@test
def a_loader_that_is_killed_at_any_step_counts_everything_once(dir):
    server, spool = store(), dir + "/spool"
    os.mkdir(spool)
    traces = [ship_run(dir, n, spool) for n in range(2)]
    want = truth(traces)
    args = ("--source", f"file:{spool}", "--events")
    load(server, "killed", *args, "--state", dir + "/first")
    equal(stored(server, "killed"), want, "without a kill")
    events = server.value("SELECT count() FROM killed.events")
    empty(server, "killed")
    load(server, "killed", *args, "--state", dir + "/count", LD_PRELOAD=KILL_AT, KILL_COUNT=dir + "/n")
    with open(dir + "/n", encoding="ascii") as f:
        calls = int(f.read())
    assert calls > 30, calls
    points = range(1, calls + 1) if FULL else sorted(random.Random(7).sample(range(calls // 3, calls + 1), 5))
    kills = 0
    for i, point in enumerate(points):
        for how in ("before", "half", "after") if FULL else (("before", "half", "after")[i % 3],):
            empty(server, "killed")
            state = f"{dir}/state-{point}-{how}"
            p = loader(server, "killed", *args, "--state", state, LD_PRELOAD=KILL_AT, KILL_AT=str(point), KILL_HOW=how)
            p.communicate(timeout=120)
            kills += p.returncode == -signal.SIGKILL
            load(server, "killed", *args, "--state", state)
            equal(stored(server, "killed"), want, f"after a kill {how} call {point}")
            equal(server.value("SELECT count() FROM killed.events"), events, f"events after a kill {how} call {point}")
            # A loader without this state asks the store.
            if i % 4 == 0:
                load(server, "killed", *args, "--state", state + "-other")
                equal(stored(server, "killed"), want, "with another state")
    assert kills >= len(points), kills


@test
def a_server_that_is_killed_during_inserts_counts_everything_once(dir):
    server, spool = store(), dir + "/spool"
    os.mkdir(spool)
    traces = [ship_run(dir, n, spool) for n in range(3)]
    want = truth(traces)
    os.mkdir(dir + "/none")
    for number in range(15 if FULL else 2):
        # A database each: rows of a table that was truncated come back when the server is killed.
        database = f"crash{number}"
        if number % 3:
            load(server, database, "--source", f"file:{dir}/none", "--state", dir + "/s")  # the schema
        p = loader(server, database, "--source", f"file:{spool}", "--state", f"{dir}/s{number}")
        time.sleep(random.Random(number).random() * 0.3)
        server.kill()
        time.sleep(0.3)
        server.start()
        out, err = p.communicate(timeout=240)
        equal(p.returncode, 0, out + err)
        equal(stored(server, database), want, f"after crash {number}")


@test
def a_server_that_is_down_at_the_start_is_waited_for_or_reported(dir):
    server = ClickHouse(begin=False)
    server.configure()
    trace = dir + "/t.ct"
    equal(tool("run", "-q", "-o", trace, "--", CHANNELS)[0], 0, "run")
    p = loader(server, "late", trace, "--wait", "100")
    time.sleep(1)
    server.start()
    out, err = p.communicate(timeout=240)
    equal(p.returncode, 0, out + err)
    contains(err, "trying again")
    equal(stored(server, "late"), truth([trace]), "after the wait")
    server.kill()
    p = loader(server, "late", trace, "--wait", "0")
    out, err = p.communicate(timeout=240)
    equal(p.returncode, 1, out + err)
    contains(err, "hint: is the server running")


@test
def a_server_that_stalls_is_asked_before_the_insert_is_repeated(dir):
    server, spool = store(), dir + "/spool"
    os.mkdir(spool)
    traces = [ship_run(dir, n, spool) for n in range(2)]
    load(server, "stalled", "--source", f"file:{spool}", "--state", dir + "/s0")
    empty(server, "stalled")
    p = loader(server, "stalled", "--source", f"file:{spool}", "--state", dir + "/s1", COROTRACER_CLICKHOUSE_MS="1500")
    time.sleep(0.15)
    server.pause()
    time.sleep(3)
    server.resume()
    out, err = p.communicate(timeout=240)
    equal(p.returncode, 0, out + err)
    equal(stored(server, "stalled"), truth(traces), "after the stall")


def load_with_a_late_insert(dir, database, deliver_at, is_killed):
    """The first INSERT into waits reaches the server late: its answer, after everything was loaded."""
    server, spool = store(), dir + "/spool"
    os.mkdir(spool)
    want = truth([ship_run(dir, 0, spool, SMALL)])
    proxy = LateProxy(server.http, deliver_at)
    command = (TOOL, "load", "--into", f"clickhouse://default@127.0.0.1:{proxy.port}/{database}", "--source", f"file:{spool}",
               "--state", dir + "/state")
    env = dict(os.environ, CLICKHOUSE_PASSWORD=server.password)
    p = popen(*command, env=dict(env, COROTRACER_CLICKHOUSE_MS="700"))
    if is_killed:
        assert proxy.is_held.wait(60), "no INSERT came"
        p.kill()
        p.communicate()
        p = popen(*command, env=env)
    out, err = p.communicate(timeout=240)
    equal(p.returncode, 0, out + err)
    assert proxy.late_status is not None, "the late INSERT was not delivered"
    equal(stored(server, database), want, f"after a late INSERT, which got {proxy.late_answer}")
    proxy.close()
    return proxy.late_answer.decode()


@test
def an_insert_that_arrives_late_is_refused_or_found(dir):
    store()
    cases = {"limit": ("INSERT INTO waits ", False, "Session not found"),   # asked for, and then sent again
             "killed": ("INSERT INTO waits ", True, "Session not found"),
             "found": ("session_check=1 SELECT", False, "")}                 # before it is asked for
    answers = {}

    def one(name, deliver_at, is_killed):
        os.mkdir(f"{dir}/{name}")
        answers[name] = load_with_a_late_insert(f"{dir}/{name}", "late_" + name, deliver_at, is_killed)

    threads = [threading.Thread(target=one, args=(name, *case[:2])) for name, case in cases.items()]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for name, (_, _, answer) in cases.items():
        assert name in answers, f"{name} failed"
        contains(answers[name], answer)
    equal(answers["found"], "", "answer of an INSERT that was found")


@test
def missing_and_damaged_blocks_are_counted(dir):
    server, spool = store(), dir + "/spool"
    os.mkdir(spool)
    trace = ship_run(dir, 0, spool)
    want = truth([trace])
    folder = next(root for root, _, files in os.walk(spool) if files)
    files = sorted(os.listdir(folder))
    assert len(files) >= 3, files
    load(server, "whole", "--source", f"file:{spool}", "--state", dir + "/s0")
    sizes = {int(b): int(n) for b, n in server.rows("SELECT block, transitions FROM whole.blocks FINAL")}
    victim = max(sizes, key=sizes.get)
    # Moved away: waited for, then passed over.
    hidden = dir + "/hidden"
    os.rename(f"{folder}/{victim:020}.ctblock", hidden)
    got = load(server, "holes", "--source", f"file:{spool}", "--state", dir + "/s1", status=1)
    equal(got["waiting"], len(files) - victim - 1, "blocks that wait")
    got = load(server, "holes", "--source", f"file:{spool}", "--state", dir + "/s1", "--gap", "0", status=1)
    equal(got["missing"], 1, "missing blocks")
    waits, _, transitions = stored(server, "holes")
    equal(transitions, want[2] - sizes[victim], "transitions without the block")
    equal(server.rows("SELECT blocks_missing, collected - transitions - given_up FROM holes.runs FINAL"), [("1", str(sizes[victim]))], "the account")
    # A flipped bit in the block, with the checksum of the envelope right: of the block's own checksum.
    with open(hidden, "rb") as f:
        data = bytearray(f.read())
    data[-5] ^= 1
    import zlib
    data[36:40] = zlib.crc32(bytes(data[:36] + data[40:])).to_bytes(4, "little")
    with open(f"{folder}/{victim:020}.ctblock", "wb") as f:
        f.write(data)
    got = load(server, "flipped", "--source", f"file:{spool}", "--state", dir + "/s2", status=1)
    equal(got["damaged"], 1, "damaged blocks")
    equal(server.rows("SELECT blocks_damaged, transitions FROM flipped.runs FINAL"), [("1", str(want[2] - sizes[victim]))], "the account")
    # And one that is no envelope at all.
    with open(f"{folder}/{victim:020}.ctblock", "wb") as f:
        f.write(b"nonsense")
    got = load(server, "nonsense", "--source", f"file:{spool}", "--state", dir + "/s3", "--gap", "0", status=1)
    equal(got["unreadable"], 1, "files that are no envelopes")
    equal(got["missing"], 1, "missing blocks")


@test
def a_sample_is_scaled_and_coroutines_with_findings_are_whole(dir):
    server, spool = store(), dir + "/spool"
    os.mkdir(spool)
    ship_run(dir, 0, spool, options=("--sample", "4"))
    ship_run(dir, 1, spool, [os.environ["CORPUS_BUGGY"], "deadlock"], options=("--sample", "4"))
    got = load(server, "sampled", "--source", f"file:{spool}", "--state", dir + "/state")
    equal((got["missing"], got["complete_runs"]), (0, 2), "missing blocks, complete runs")
    equal(server.rows("SELECT collected - transitions - given_up - left_out, left_out > 0 FROM sampled.runs FINAL"), [("0", "1")] * 2, "accounts")
    assert server.value("SELECT sum(whole) FROM sampled.runs FINAL") > 0
    equal(server.rows("SELECT sum(sample), sum(wait_ns * sample) FROM sampled.waits"),
          server.rows("SELECT sum(count), sum(wait_ns) FROM sampled.waits_10s"), "scaled sums")
    equal(server.rows("SELECT DISTINCT sample FROM sampled.waits ORDER BY sample"), [("1",), ("4",)], "samples")
    equal(server.value("SELECT countIf(sample = 4) FROM sampled.runs FINAL"), 2, "runs that were sampled")


@test
def a_killed_shard_is_an_error_and_the_load_goes_on_when_it_is_back(dir):
    shards = ClickHouse.cluster(2, "secret")
    spool = dir + "/spool"
    os.mkdir(spool)
    traces = [ship_run(dir, n, spool) for n in range(4)]
    args = ("--source", f"file:{spool}", "--state", dir + "/state")
    url = "corotracer?cluster=" + CLUSTER
    load(shards[0], url, *args)
    want = truth(traces)
    both = lambda: shards[1].rows("SELECT count(), sum(wait_ns) FROM corotracer.waits_all")[0]
    equal(both(), tuple(str(x) for x in want[:2]), "waits of both shards")
    assert all(s.value("SELECT count() FROM corotracer.waits") for s in shards), "each shard has some"
    equal(shards[0].value("SELECT count() FROM (SELECT run FROM corotracer.runs_all GROUP BY run)"), 4, "runs")
    shards[1].kill()
    p = loader(shards[0], url, "--source", f"file:{spool}", "--state", dir + "/other", "--wait", "1")
    out, err = p.communicate(timeout=240)
    equal(p.returncode, 1, out + err)
    contains(err, f"127.0.0.1:{shards[1].http}")
    try:
        shards[0].query("SELECT count() FROM corotracer.waits_all")
        raise AssertionError("half an answer")
    except QueryFailed:
        pass
    shards[1].start()
    load(shards[0], url, "--source", f"file:{spool}", "--state", dir + "/other")
    equal(both(), tuple(str(x) for x in want[:2]), "waits after the second load")


@test
def twenty_collectors_at_once_and_one_loader_beside_them(dir):
    server, spool = store(), dir + "/spool"
    os.mkdir(spool)
    p = loader(server, "twenty", "--source", f"file:{spool}", "--state", dir + "/state", "--follow", "--remove")
    traces = {}
    threads = [threading.Thread(target=lambda n=n: traces.update({n: ship_run(dir, n, spool, SMALL, options=("--version-label", f"v{n % 3}"))}))
               for n in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(len(traces), 20, "traces")
    want = truth(traces.values())
    complete = "SELECT count() FROM twenty.runs FINAL WHERE complete"
    wait_until(lambda: server.value("EXISTS TABLE twenty.runs") and server.value(complete) == 20, "twenty complete runs")
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=240)
    equal(p.returncode, 0, out + err)
    equal(stored(server, "twenty"), want, "twenty runs")
    equal(sum(len(f) for _, _, f in os.walk(spool)), 0, "files that are left")
    equal(server.value("SELECT uniq(host) FROM twenty.waits"), 20, "hosts")
    equal(server.value("SELECT sum(written - collected - lost) FROM twenty.runs FINAL"), 0, "written = collected + lost")


main()
