# SPDX-License-Identifier: MIT
"""test_ask.py - every question on rows with known answers: two real servers as two shards, and the current engine.

chdb, the current engine, comes from PyPI into a folder of the build, once; its case is skipped if it cannot be installed.
"""
import re

import ask_checks
import ask_data
from ask_store import API, FLEET, SQL, ask_current_engine, inserts, statements
from fleet_servers import CLUSTER, ClickHouse
from harness import *

BUGGY = os.environ.get("CORPUS_BUGGY", "build/tests/detectors/corpus_buggy")
STEP = 600
WAIT = next(w for w in FLEET.waits if w["service"] == "api" and w["state"] == "resumed" and
            sum((v["run"], v["probe_id"]) == (w["run"], w["probe_id"]) for v in FLEET.waits) > 1)
SINCE = ("--since", "2d")
# The arguments of each question, and its check.
QUESTIONS = {
    "slowest": (["slowest"], lambda rows: ask_checks.slowest(rows, API, False)),
    "slowest raw": (["slowest", "--raw"], lambda rows: ask_checks.slowest(rows, API, True)),
    "lost": (["lost"], lambda rows: ask_checks.lost(rows, FLEET)),
    "latency": (["latency", "--step", STEP], lambda rows: ask_checks.latency(rows, API, STEP, False)),
    "latency raw": (["latency", "--raw", "--step", STEP], lambda rows: ask_checks.latency(rows, API, STEP, True)),
    "graph": (["graph", "--limit", 1000], lambda rows: ask_checks.graph(rows, API)),
    "compare": (["compare", "v1.0", "v1.1", "--step", 60], lambda rows: ask_checks.compare(rows, API, False)),
    "compare raw": (["compare", "v1.0", "v1.1", "--raw"], lambda rows: ask_checks.compare(rows, API, True)),
    "coroutine": (["coroutine", WAIT["probe_id"], "--run", WAIT["run"]], lambda rows: ask_checks.coroutine(rows, FLEET, WAIT)),
    "findings": (["findings"], lambda rows: ask_checks.findings(rows, FLEET)),
    # Only some of the rows:
    "slowest site": (["slowest", "--site", "DB_QUERY"],
                     lambda rows: ask_checks.slowest(rows, [w for w in API if w["site"] == 13], False)),
    "slowest build": (["slowest", "--build", "b2b2"],
                      lambda rows: ask_checks.slowest(rows, [w for w in API if w["version"] == "v1.1"], False)),
    "slowest host": (["slowest", "--host", "host03"],
                     lambda rows: ask_checks.slowest(rows, [w for w in API if w["host"] == "host03"], True)),
}


class Cluster:
    """Two servers with half of the hosts each; started once."""
    shards = None

    @classmethod
    def get(cls):
        if cls.shards is None:
            cls.shards = ClickHouse.cluster(2)
            hosts = sorted({r["host"] for r in FLEET.runs})
            for number, shard in enumerate(cls.shards):
                shard.query("CREATE DATABASE corotracer")
                for sql in statements("old"):
                    shard.query(sql, database="corotracer", allow_experimental_low_cardinality_type=1)
                    table = re.match(r"CREATE TABLE IF NOT EXISTS (\w+)", sql)[1]
                    shard.query(f"CREATE TABLE {table}_all AS {table} ENGINE = Distributed({CLUSTER}, corotracer, {table})", database="corotracer",
                                allow_experimental_low_cardinality_type=1)
                for sql in inserts(FLEET, hosts[number::2]):
                    shard.query(sql, database="corotracer")
        return cls.shards

    @classmethod
    def url(cls):
        return cls.get()[0].url()


def fleet(*args, url=None, status=0, **kwargs):
    got, out, err = tool("fleet", *map(str, args), "--from", url or Cluster.url(), **kwargs)
    equal(got, status, f"status of fleet {args}: {out[-500:]}{err}")
    return out if status == 0 else err


def ask(*args, **kwargs):
    return json.loads(fleet(*args, "--service", "api", *SINCE, "--json", **kwargs))


@test
def two_shards_answer_every_question(_dir):
    for key, (args, check) in QUESTIONS.items():
        answer = ask(*args)
        equal(answer["question"], args[0], "question")
        try:
            check(answer["rows"])
        except AssertionError as e:
            raise AssertionError(f"{key}: {e}") from None


@test
def the_current_engine_answers_every_question(_dir):
    questions = {}
    for key, (args, _) in QUESTIONS.items():
        status, out, err = tool("fleet", *map(str, args), "--service", "api", *SINCE, "--print-sql")
        equal(status, 0, err)
        questions[key] = out
    answers = ask_current_engine(questions)
    for key, (_, check) in QUESTIONS.items():
        try:
            check(answers[key]["rows"])
        except AssertionError as e:
            raise AssertionError(f"{key}: {e}") from None


@test
def each_answer_has_the_account_of_its_runs(_dir):
    answer = ask("slowest")
    ask_checks.account(answer["account"], FLEET)
    text = fleet("slowest", "--service", "api", *SINCE)
    for part in ("from 80 runs on 40 hosts", "have not ended, or are not loaded completely: 1\n", "lost before they reached a trace: 20\n", "given up because a host's spool was full: 500\n",
                 "within a factor of 2"):
        contains(text, part)


@test
def sampled_waits_are_scaled_and_named(_dir):
    web = [w for w in FLEET.waits if w["service"] == "web"]
    for raw in ((), ("--raw",)):
        answer = json.loads(fleet("slowest", "--service", "web", *SINCE, "--json", *raw))
        ask_checks.slowest(answer["rows"], web, bool(raw))
        equal(sum(r["waits"] for r in answer["rows"]), 10 * len(web), "each wait counts ten times")
    contains(fleet("slowest", "--service", "web", *SINCE), "sampled runs, whose counts and sums are scaled: 1\n")


@test
def a_table_has_units_names_and_aligned_columns(_dir):
    lines = fleet("slowest", "--service", "api", *SINCE).splitlines()
    head = next(i for i, line in enumerate(lines) if line.endswith("total  site"))
    equal(lines[head].split(), ["waits", "p50", "p99", "max", "total", "site"], "headings")
    contains(lines[head + 1], "db.c:120 db_query")
    at = lines[head].index("site")
    names = [ask_data.name(s) for s in ask_data.SITES]
    for line in lines[head + 1:head + 8]:
        assert line[at:].replace("\\x09", "\t").replace("\\t", "\t") in names, line[at:]
        assert re.search(r"\d (ns|us|ms|s)  ", line[:at]) or " -  " in line[:at], line
    contains(fleet("lost", "--service", "api", *SINCE), "queue.c:77 queue_pop")
    contains(fleet("findings", "--service", "api", *SINCE), "fingerprint: feed:1")


@test
def a_comparison_of_few_intervals_has_no_verdict(_dir):
    verdicts = {row["verdict"] for row in ask("compare", "v1.0", "v1.1", "--step", 3600)["rows"]}
    assert not verdicts & {"slower", "faster", "same"} and "too few" in verdicts, verdicts


@test
def a_comparison_takes_the_two_newest_builds(_dir):
    answer = ask("compare")
    equal((answer["base"], answer["build"]), (ask_data.BUILDS[0][1], ask_data.BUILDS[1][1]), "builds")
    ask_checks.compare(answer["rows"], API, False)
    contains(fleet("compare", *SINCE, status=1), "there are 2 services")
    contains(fleet("compare", "--service", "web", *SINCE, status=1), "'web' has only one build")


@test
def a_coroutine_of_several_runs_needs_one(_dir):
    err = fleet("coroutine", WAIT["probe_id"], "--service", "api", *SINCE, status=1)
    contains(err, f"coroutine {WAIT['probe_id']} is in")
    contains(err, "--run")
    answer = ask("coroutine", WAIT["probe_id"], "--run", WAIT["run"][:12])
    ask_checks.coroutine(answer["rows"], FLEET, WAIT)


@test
def no_data_says_what_there_is(_dir):
    err = fleet("slowest", "--service", "apis", *SINCE, status=1)
    contains(err, "no data: there is no service 'apis'")
    contains(err, "hint: services known: api, web")
    contains(fleet("slowest", "--service", "api", "--build", "v9", *SINCE, status=1), "no build or version 'v9'")
    contains(fleet("slowest", "--service", "api", "--since", "1s", status=1), "no data in this time: the newest of 'api' is of")
    # That there is nothing may be the answer.
    contains(fleet("lost", "--service", "api", "--host", "host01", "--site", "db_query", *SINCE), "every wait ended")
    contains(fleet("slowest", "--service", "it's \\ ; DROP TABLE waits --", *SINCE, status=1), "there is no service 'it's \\ ; DROP TABLE waits --'")


@test
def files_can_be_changed(dir):
    equal(tool("fleet", "--write-sql", dir)[0], 0, "status of --write-sql")
    files = sorted(os.listdir(dir))
    equal(files, sorted(n for n in os.listdir(SQL) if n.startswith("ask_")), "files")
    with open(dir + "/ask_slowest.sql", "w", encoding="utf-8") as f:
        f.write("-- {service:String} in a comment stays\nSELECT '{service:String}' AS text, {service:String} AS given, "
                "toUInt64({limit:UInt32}) AS took_ns, [1, 2] AS list")
    equal(ask("slowest", "--sql-dir", dir)["rows"], [{"text": "{service:String}", "given": "api", "took_ns": 20, "list": ["1", "2"]}], "own question")
    contains(fleet("slowest", "--service", "it's", "--sql-dir", dir), "it's")
    with open(dir + "/ask_slowest.sql", "w", encoding="utf-8") as f:
        f.write("SELECT {servce:String}")
    contains(fleet("slowest", "--sql-dir", dir, status=1), "cannot use 'ask_slowest.sql': unknown parameter 'servce'")
    contains(tool("fleet", "--write-sql", dir)[2], "File exists")


@test
def one_server_needs_no_cluster(_dir):
    server = Cluster.get()[0]
    server.query("CREATE DATABASE one")
    url = f"clickhouse://default@127.0.0.1:{server.http}/one"
    contains(fleet("slowest", url=url, status=1), "the database has no tables of corotracer")
    for sql in statements("old"):
        server.query(sql, database="one", allow_experimental_low_cardinality_type=1)
    contains(fleet("slowest", url=url, status=1), "no data: no run is loaded yet")
    for sql in inserts(FLEET):
        server.query(sql, database="one")
    ask_checks.slowest(ask("slowest", url=url)["rows"], API, False)
    # Two addresses without Distributed tables would give half an answer.
    contains(fleet("slowest", url=server.url("one"), status=1), "cannot ask 2 shards: the store has no Distributed tables")


@test
def findings_of_reports_are_stored_once(dir):
    """Two runs of a program with a deadlock, loaded as of two hosts, one of them twice; a third one is shipped."""
    server = Cluster.get()[0]
    url = f"clickhouse://default@127.0.0.1:{server.http}/reports"
    traces = [f"{dir}/{n}.ct" for n in range(3)]
    for trace in traces:
        status, _, err = tool("run", "-q", "-o", trace, "--", BUGGY, "deadlock")
        equal(status, 0, err)
    for trace, host in ((traces[0], "one"), (traces[1], "two"), (traces[0], "one")):
        status, _, err = tool("load", "--into", url, "--state", dir + "/state", "--host", host, "--service", "ring", "--version-label", host, trace)
        equal(status, 0, err)
    contains(fleet("add-findings", traces[2], url=url, status=1), "it was not shipped")
    status, _, err = tool("ship", f"file:{dir}/spool", traces[2], "--host", "three", "--service", "ring", "--version-label", "three")
    equal(status, 0, err)
    contains(fleet("add-findings", traces[2], url=url), "findings stored")
    # A run that is checked and shipped stores its findings by itself.
    status, _, err = tool("run", "-q", "--check", "--ship", f"file:{dir}/spool", "--host", "four", "--service", "ring", "--version-label", "four",
                          "-o", dir + "/3.ct", "--", BUGGY, "deadlock", env=dict(os.environ, COROTRACER_FLEET=url))
    equal(status, 1, f"--check finds the deadlock: {err}")
    rows = json.loads(fleet("findings", "--service", "ring", "--json", url=url))["rows"]
    row = next(r for r in rows if r["detector"] == "deadlock")
    equal((row["confidence"], row["hosts"], row["runs"], row["builds"]), ("proven", 4, 4, ["four", "one", "three", "two"]), "the deadlock")
    # The same problem has the same fingerprint in the SARIF report.
    sarif = json.loads(tool("report", "--sarif", traces[0])[1])
    marks = [r["partialFingerprints"]["corotracerFinding/v1"] for r in sarif["runs"][0]["results"] if r["ruleId"] == "deadlock"]
    equal(marks, [row["fingerprint"]], "fingerprint")
    contains(row["site"], "buggy.c:")
    example = json.loads(server.query("SELECT any(example) FROM reports.findings WHERE detector = 'deadlock' FORMAT TSVRaw"))
    equal((example["detector"], example["confidence"]), ("deadlock", "proven"), "the example")


@test
def errors_have_hints(_dir):
    contains(fleet("slowest", url="clickhouse://127.0.0.1:1/x", status=1), "127.0.0.1:1")
    contains(fleet("slowes", url="clickhouse://127.0.0.1:1/x", status=2), "did you mean 'slowest'")
    contains(tool("fleet", "slowest", "--since", "yesterday")[2], "expected 30m, 6h, 7d or")
    contains(tool("fleet", "coroutine")[2], "COROUTINE")


@test
def a_killed_shard_is_an_error(_dir):
    """The last case: the second shard stays down."""
    shards = Cluster.get()
    url = f"clickhouse://default@127.0.0.1:{shards[0].http}/corotracer"
    ask("slowest", url=url)
    shards[1].kill()
    for question in ("slowest", "lost", "findings"):
        status, out, err = tool("fleet", question, "--service", "api", *SINCE, "--from", url)
        equal((status, out), (1, ""), f"{question}: no half answer")
        contains(err, "hint: a shard does not answer: without it the answer would not be whole")


if __name__ == "__main__":
    main()
