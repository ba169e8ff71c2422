# SPDX-License-Identifier: MIT
"""cases.py - the commands whose outputs are compared: {group: {name: arguments}}.

{kinds}, {server} ... are inputs, see make_inputs() in test_expected.py; {out} is a new folder, and the working directory.
"""

from dataclasses import dataclass

import live_commands
import machines
import more
import recorder
import refused
import wrong_specs


@dataclass
class Served:
    """A command that sends to http://127.0.0.1:{port}; @answers: see recorder.py."""
    args: list
    answers: list
    body_lines: int = 10000  # of each request that are compared
    skipped: tuple = ()  # beginnings of requests that are not compared


@dataclass
class Several:
    """Commands whose outputs are in one file, one after the other."""
    commands: list


SMALL = ["-l", "1k,2", "-l", "8k,4"]
FLEET = ["fleet", "--print-sql", "--from", "clickhouse://host/db", "--since", "2026-01-31 12:00"]
STORE = "clickhouse://host:9000/db"
CLIENT = "sh {here}/client.sh {out}/sent"


def in_forms(name, command, *forms):
    return {f"{name}-{form.strip('-').split()[0] if form else 'plain'}": [*command, *form.split()] for form in forms}


def on_inputs(name, command, *inputs):
    return {f"{name}-{i}": [*command, "{" + i + "}"] for i in inputs}


INFO = {
    **on_inputs("info", ["info"], "kinds", "server", "damaged", "incomplete", "scattered"),
    **on_inputs("info-json", ["info", "--json"], "kinds", "server", "damaged", "incomplete", "scattered"),
    "info-part-of-time": ["info", "--from", "10ms", "--to", "140ms", "{kinds}"],
    "info-one-coroutine": ["info", "--coro", "2", "{kinds}"],
    "info-one-site": ["info", "--site", "queue.c", "{server}"],
    "info-one-kind": ["info", "--kind", "wake,birth", "{server}"],
    "info-missing-file": ["info", "none.jsonl"],
    "info-no-argument": ["info"],
    "info-bad-time": ["info", "--from", "soon", "{kinds}"],
    "info-bad-kind": ["info", "--kind", "sleep", "{kinds}"],
}

REPORT = {
    **in_forms("report", ["report", "{server}"], "--text", "--markdown", "--json", "--sarif", "--junit", "--gen-suppressions"),
    **in_forms("report-kinds", ["report", "{kinds}"], "--text --all", "--markdown --all", "--json"),
    "report-all": ["report", "--text", "--all", "{server}"],
    "report-color": ["report", "--text", "--color", "always", "{server}"],
    "report-list": ["report", "--list"],
    "report-strong": ["report", "--text", "--min-confidence", "strong", "{server}"],
    "report-gate": ["report", "--text", "--fail-on", "deadlock", "{server}"],
    "report-gate-open": ["report", "--text", "--fail-on", "leak", "{server}"],
    "report-gate-unknown": ["report", "--fail-on", "noise", "{server}"],
    "report-young": ["report", "--text", "--min-age", "100000", "{server}"],
    "report-one-coroutine": ["report", "--text", "--coro", "13", "{server}"],
    **on_inputs("report-text", ["report", "--text"], "damaged", "incomplete", "fine"),
    "report-json-incomplete": ["report", "--json", "{incomplete}"],
    "report-junit-incomplete": ["report", "--junit", "--fail-on", "all", "{incomplete}"],
}

DIFF = {
    **in_forms("diff", ["diff", "{fine}", "{slow}"], "--text", "--markdown", "--json", "--all"),
    "diff-same": ["diff", "{fine}", "{fine}"],
    "diff-faults": ["diff", "--fail-on-regression", "{fine}", "{server}"],
    "diff-threshold": ["diff", "--threshold", "900", "--min-change", "100", "{fine}", "{slow}"],
    "diff-groups": ["diff", "{fine}", "{fine}", "{fine}", "--", "{slow}", "{slow}", "{slow}"],
    "diff-incomplete": ["diff", "{fine}", "{incomplete}"],
    "diff-one-input": ["diff", "{fine}"],
    "merge": ["merge", "{kinds}", "{other}", "-o", "{out}/both.jsonl"],
    "merge-json": ["merge", "--json", "{kinds}", "{incomplete}", "-o", "{out}/both.jsonl"],
    "merge-refused": ["merge", "{kinds}", "{elsewhere}", "-o", "{out}/both.jsonl"],
    "merge-no-output": ["merge", "{kinds}", "{server}"],
}

FILES = {"chrome": "o.json", "perfetto": "o.pftrace", "speedscope": "o.json", "folded": "o.folded", "pprof": "o.pb.gz", "graphviz": "o.dot", "jsonl": "o.jsonl",
         "ctf": "o.ctf", "parquet": "o"}
ODD = {
    **{f"{i}-{kind}": ["export", kind, "-i", "{" + i + "}", "-o", "{out}/" + name] for i in ("odd", "older") for kind, name in FILES.items()
       if i == "odd" or kind not in ("ctf", "parquet")},
    **{f"odd-{kind}": ["export", kind, "--full", "-i", "{odd}", "-o", "{out}/o." + kind] for kind in ("csv", "sqlite")},
    "odd-mysql": ["export", "mysql", "--full", "-i", "{odd}", "--db-cli", CLIENT],
    "odd-postgresql": ["export", "postgresql", "--full", "-i", "{odd}", "--db-cli", CLIENT],
    "odd-chrome-part": ["export", "chrome", "-i", "{odd}", "-o", "{out}/o.json", "--from", "5ms", "--to", "12ms"],
    "odd-folded-one": ["export", "folded", "-i", "{odd}", "-o", "{out}/o.folded", "--coro", "1"],
    "odd-otlp": ["export", "otlp", "-i", "{odd}", "--slower-than", "0", "--host", "h", "-o", "{out}/o.otlp"],
    **on_inputs("odd-info", ["info"], "odd", "older"),
    **on_inputs("odd-info-json", ["info", "--json"], "odd", "older"),
    **on_inputs("odd-report", ["report", "--text", "--all"], "odd", "older"),
    "odd-query-waits": ["query", "--csv", "{odd}", "SELECT * FROM waits ORDER BY probe_id, from_ts"],
    "odd-query-slices": ["query", "--csv", "{odd}", "SELECT * FROM slices ORDER BY probe_id, from_ts"],
}

EXPORT = {
    "export-csv": ["export", "csv", "-i", "{kinds}", "-o", "{out}/o.csv"],
    "export-csv-full": ["export", "csv", "--full", "-i", "{kinds}", "-o", "{out}/o.csv"],
    "export-sqlite": ["export", "sqlite", "--full", "-i", "{kinds}", "-o", "{out}/o.sqlite"],
    "export-chrome": ["export", "chrome", "-i", "{kinds}", "-o", "{out}/o.json"],
    "export-perfetto": ["export", "perfetto", "-i", "{kinds}", "-o", "{out}/o.pftrace"],
    "export-speedscope": ["export", "speedscope", "-i", "{kinds}", "-o", "{out}/o.json"],
    "export-folded": ["export", "folded", "-i", "{kinds}", "-o", "{out}/o.folded"],
    "export-pprof": ["export", "pprof", "-i", "{kinds}", "-o", "{out}/o.pb.gz"],
    "export-graphviz": ["export", "graphviz", "-i", "{server}", "-o", "{out}/o.dot"],
    "export-ctf": ["export", "ctf", "-i", "{kinds}", "-o", "{out}/o.ctf"],
    "export-parquet": ["export", "parquet", "-i", "{kinds}", "-o", "{out}/o"],
    "export-jsonl": ["export", "jsonl", "-i", "{kinds}", "-o", "{out}/o.jsonl"],
    "export-json-summary": ["export", "csv", "--json", "-i", "{incomplete}", "-o", "{out}/o.csv"],
    "export-quiet": ["export", "csv", "-q", "-i", "{server}", "-o", "{out}/o.csv", "--coro", "13"],
    "export-standard-output": ["export", "csv", "-q", "-i", "{kinds}", "-o", "-"],
    "export-mysql": ["export", "mysql", "--full", "-i", "{kinds}", "--db-cli", CLIENT, "--db-name", "traces", "--db-table", "ev"],
    "export-postgresql": ["export", "postgresql", "--full", "-i", "{kinds}", "--db-cli", CLIENT, "--db-name", "traces", "--db-table", "ev"],
    "export-client-fails": ["export", "mysql", "-i", "{kinds}", "--db-cli", "false"],
    "export-client-loud": ["export", "mysql", "-i", "{kinds}", "--coro", "1", "--db-cli", CLIENT + " --loud"],
    "export-client-silent": ["export", "mysql", "-i", "{kinds}", "--db-cli", "sh -c 'cat > /dev/null'"],
    "export-mysql-plain": ["export", "mysql", "-i", "{kinds}", "--db-cli", CLIENT, "--db-host", "h", "--db-port", "33", "--db-user", "u", "--db-name", "a`b"],
    "export-postgresql-plain": ["export", "postgresql", "-i", "{kinds}", "--db-cli", CLIENT, "--db-host", "h", "--db-port", "33", "--db-user", "u'", "--pg-sslmode",
                                "require", "--pg-maintenance-db", "m"],
    **{f"schema-{db}": ["export", "schema", db, "--full"] for db in ("sqlite", "mysql", "postgresql")},
    "schema-plain": ["export", "schema", "mysql"],
    "schema-json": ["export", "schema", "--json"],
    "export-unknown": ["export", "xml", "-i", "{kinds}"],
    "export-no-input": ["export", "csv"],
}

FRAMES = {
    "decode-csv": ["decode", "{frames}", "{out}/csv"],
    "decode-jsonl": ["decode", "-f", "jsonl", "{frames}", "{out}/o.jsonl"],
    "decode-sqlite": ["decode", "-f", "sqlite", "{frames}", "{out}/o.sqlite"],
    "decode-one": ["decode", "--frame", "tick", "--crlf", "--json", "{frames}", "{out}/csv"],
    "decode-gapped": ["decode", "{gapped}", "{out}/csv"],
    "decode-gapped-json": ["decode", "--json", "-f", "jsonl", "{gapped}", "{out}/o.jsonl"],
    "decode-every": ["decode", "{every}", "{out}/csv"],
    "decode-every-jsonl": ["decode", "-f", "jsonl", "{every}", "{out}/o.jsonl"],
    "decode-every-sqlite": ["decode", "-f", "sqlite", "{every}", "{out}/o.sqlite"],
    "decode-every-unguarded": ["decode", "--no-formula-guard", "{every}", "{out}/csv"],
    "decode-every-output": ["decode", "-q", "--frame", "other", "{every}", "-"],
    "decode-ticks": ["decode", "--json", "{ticks}", "{out}/csv"],
    "query-ticks": ["query", "-d", "-f", "{ticks}"],
    **{f"ticks-{kind}": ["export", kind, "-i", "{ticks}", "-o", "{out}/" + name] for kind, name in (("sqlite", "o.sqlite"), ("chrome", "o.json"), ("parquet", "o"))},
    "decode-half": ["decode", "{half}", "{out}/csv"],
    "decode-half-json": ["decode", "--json", "{half}", "{out}/csv"],
    "decode-no-frame": ["decode", "--frame", "none", "{every}", "{out}/csv"],
    **{f"every-{kind}": ["export", kind, "-i", "{every}", "-o", "{out}/" + name]
       for kind, name in (("csv", "o.csv"), ("sqlite", "o.sqlite"), ("jsonl", "o.jsonl"), ("chrome", "o.json"), ("perfetto", "o.pftrace"))},
    **{f"every-{db}": ["export", db, "-i", "{every}", "--db-cli", CLIENT] for db in ("mysql", "postgresql")},
    **{f"clock-{clock}": ["export", "pprof", "-i", "{" + clock + "}", "-o", "{out}/o.pb.gz"] for clock in ("boottime", "realtime")},
    **{f"decode-quiet-{name}": ["decode", "-q", "{" + name + "}", "{out}/csv"] for name in ("frames", "gapped", "half", "short")},
    "query-every": ["query", "-d", "-t", "-f", "{every}"],
    "query-every-sql": ["query", "-f", "{every}", "SELECT * FROM frame_every"],
    "query-every-csv": ["query", "--csv", "-f", "{every}", "SELECT text, f, d, how, odd FROM frame_every"],
    "decode-no-recording": ["decode", "{kinds}", "{out}/csv"],
    **{f"frames-{kind}": ["export", kind, "-i", "{gapped}", "-o", "{out}/" + name]
       for kind, name in (("csv", "o.csv"), ("sqlite", "o.sqlite"), ("jsonl", "o.jsonl"), ("chrome", "o.json"), ("perfetto", "o.pftrace"))},
    "query-recording": ["query", "-f", "{frames}"],
    "query-recording-tags": ["query", "-t", "-f", "{frames}"],
    "query-recording-json": ["query", "--json", "-f", "{frames}"],
    "generate-layout": ["generate", "-n", "{here}/every.spec"],
    "generate-layout-json": ["generate", "-n", "--json", "{here}/every.spec"],
    "generate-ticks-json": ["generate", "-n", "--json", "--option", "time counter", "{here}/every.spec"],
    "generate-plain": ["generate", "-n", "{here}/plain.spec"],
    "generate-c": ["generate", "-o", "{out}", "{here}/every.spec"],
    "generate-cpp": ["generate", "-o", "{out}", "{here}/plain.spec"],
    "generate-counter": ["generate", "-o", "{out}", "--prefix", "ppt-x-", "--option", "time counter", "--option", "runtime multithread false", "--option",
                         "debug true", "{here}/plain.spec"],
    "generate-ppt": ["generate", "-o", "{out}", "--dialect", "ppt", "--option", "buffer resize off", "{here}/plain.spec"],
    "generate-clock": ["generate", "-n", "--json", "--option", "time timespec boottime", "{here}/plain.spec"],
    "generate-wrong": ["generate", "{here}/wrong.spec"],
    "generate-options": ["generate", "-n", "--tag", "a", "b", "--option", "time counter", "{here}/every.spec"],
}

SPECS = {f"spec-{name}": ["generate", "-n", name + ".spec"] for name in wrong_specs.SPECS}

MEMORY = {
    **on_inputs("mem-check", ["mem", "check"], "walk", "cut", "broken", "raw"),
    **on_inputs("mem-check-json", ["mem", "check", "--json"], "walk", "cut", "broken", "raw"),
    "mem-check-structure": ["mem", "check", "-s", "{broken}"],
    "mem-check-quiet": ["mem", "check", "-q", "{broken}"],
    "mem-dump": ["mem", "dump", "-n", "60", "{walk}"],
    "mem-dump-end": ["mem", "dump", "--skip", "400", "{walk}"],
    "mem-dump-csv": ["mem", "dump", "--csv", "-n", "60", "{walk}"],
    "mem-dump-json": ["mem", "dump", "--json", "-k", "add,remove,mark,gap,coro,alloc,free,enter,exit", "{walk}"],
    "mem-dump-thread": ["mem", "dump", "-t", "501", "{walk}"],
    "mem-dump-range": ["mem", "dump", "-r", "0x700000+16", "{walk}"],
    "mem-dump-type": ["mem", "dump", "--type", "counter", "{walk}"],
    "mem-dump-atomic": ["mem", "dump", "--atomic", "--json", "{walk}"],
    "mem-dump-bad-kind": ["mem", "dump", "-k", "jump", "{walk}"],
    "mem-stat": ["mem", "stat", "{walk}"],
    "mem-stat-json": ["mem", "stat", "--json", "--per-thread", "-n", "3", "{walk}"],
    "mem-stat-options": ["mem", "stat", "--per-thread", "--line", "32", "-w", "100", "-n", "3", "{walk}"],
    "mem-stat-sampled": ["mem", "stat", "--lines-max", "16", "{walk}"],
    "mem-sim": ["mem", "sim", *SMALL, "{walk}"],
    "mem-sim-blame": ["mem", "sim", *SMALL, "-b", "--tlb", "4", "{walk}"],
    "mem-sim-json": ["mem", "sim", *SMALL, "-b", "--json", "{walk}"],
    "mem-sim-csv": ["mem", "sim", *SMALL, "--csv", "{walk}"],
    "mem-sim-one-core": ["mem", "sim", *SMALL, "--cores", "1", "--no-classes", "{walk}"],
    "mem-sim-map": ["mem", "sim", *SMALL, "--cores", "2", "--map", "500=1,501=0", "-n", "1", "{walk}"],
    "mem-sim-lines": ["mem", "sim", "-l", "1k,2,32", "-l", "8k,4,128", "{walk}"],
    "mem-sim-part": ["mem", "sim", *SMALL, "--from-mark", "begin", "--to-mark", "end", "-t", "500", "--type", "struct node", "{walk}"],
    "mem-sim-range": ["mem", "sim", *SMALL, "-r", "0x700000-0x70003f", "{walk}"],
    "mem-sim-show": ["mem", "sim", *SMALL, "--tlb", "64,4", "--show"],
    "mem-sim-show-trace": ["mem", "sim", *SMALL, "--tlb", "first=8", "--tlb", "16,4", "--page", "64K", "--show", "{walk}"],
    "mem-sim-blame-csv": ["mem", "sim", *SMALL, "-b", "--csv", "{walk}"],
    "mem-sim-none": ["mem", "sim", *SMALL, "-n", "0", "--no-formula-guard", "{walk}"],
    **{f"mem-sim-map-{name}": ["mem", "sim", *SMALL, "--cores", "2", "--map", value, "{walk}"] for name, value in (
        ("empty", ""), ("word", "x=1"), ("no-core", "500="), ("no-id", "=1"), ("below", "500=-1"), ("below-id", "-5=1"), ("rest", "500=1x"), ("one", "500"),
        ("absent", "500=0,501=2"), ("most", "500=1024"), ("large", "99999999999999999999=1"), ("comma", "500=1,"), ("twice", "500=1,500=0"))},
    "mem-sim-map-auto": ["mem", "sim", *SMALL, "--map", "500=63", "{walk}"],
    "mem-sim-map-beyond": ["mem", "sim", *SMALL, "--map", "500=64", "{walk}"],
    "mem-sim-no-first-mark": ["mem", "sim", *SMALL, "--from-mark", "none", "--to-mark", "end", "{walk}"],
    "mem-sim-no-last-mark": ["mem", "sim", *SMALL, "--from-mark", "begin", "--to-mark", "none", "{walk}"],
    "mem-sim-no-mark": ["mem", "sim", *SMALL, "--to-mark", "none", "{walk}"],
    "mem-sim-no-blame": ["mem", "sim", *SMALL, "--program", "x", "{walk}"],
    "mem-sim-no-types": ["mem", "sim", *SMALL, "-b", "--program", "/nonexistent", "{walk}"],
    "mem-sim-bad-tlb": ["mem", "sim", *SMALL, "--tlb", "x", "{walk}"],
    "mem-sim-bad-page": ["mem", "sim", *SMALL, "--page", "5000", "{walk}"],
    "mem-sim-nothing": ["mem", "sim", *SMALL],
    "mem-sim-absent": ["mem", "sim", *SMALL, "/nonexistent"],
    "mem-sim-raw": ["mem", "sim", *SMALL, "-b", "{raw}"],
    "mem-sim-cut": ["mem", "sim", *SMALL, "{cut}"],
    "mem-sim-bad-cache": ["mem", "sim", "-l", "1000,3", "{walk}"],
    "mem-calls": ["mem", "calls", *SMALL, "{walk}"],
    "mem-calls-json": ["mem", "calls", *SMALL, "--json", "{walk}"],
    "mem-calls-inclusive": ["mem", "calls", *SMALL, "-s", "inclusive", "-n", "2", "{walk}"],
    "mem-calls-unknown": ["mem", "calls", *SMALL, "-f", "none", "{walk}"],
    "mem-callgrind": ["export", "callgrind", *SMALL, "-i", "{walk}", "-o", "{out}/o.callgrind"],
    "mem-folded": ["export", "folded", *SMALL, "-i", "{walk}", "-o", "{out}/o.folded"],
    "mem-diff": ["mem", "diff", *SMALL, "{walk}", "{wide}"],
    "mem-diff-better": ["mem", "diff", *SMALL, "{wide}", "{walk}"],
    "mem-diff-markdown": ["mem", "diff", *SMALL, "--markdown", "{walk}", "{wide}"],
    "mem-diff-json": ["mem", "diff", *SMALL, "--json", "--fail-on-regression", "{walk}", "{wide}"],
    "mem-diff-new": ["mem", "diff", *SMALL, "{raw}", "{walk}"],
    "mem-diff-gone": ["mem", "diff", *SMALL, "{walk}", "{broken}"],
    "mem-diff-same": ["mem", "diff", *SMALL, "--fail-on-regression", "{walk}", "{walk}"],
    "mem-diff-few": ["mem", "diff", *SMALL, "-n", "1", "--min-share", "20", "--cores", "1", "{walk}", "{wide}"],
    "mem-diff-fields": ["mem", "diff", *SMALL, "--by", "field,site", "-o", "{out}/o.txt", "{walk}", "{wide}"],
    "mem-diff-bad": ["mem", "diff", *SMALL, "--by", "colour", "{walk}", "{wide}"],
    "mem-diff-types": ["mem", "diff", *SMALL, "--by", "type", "--threshold", "90", "{walk}", "{wide}"],
    "mem-layout": ["mem", "layout", *SMALL, "{walk}"],
    "mem-layout-json": ["mem", "layout", *SMALL, "--json", "{walk}"],
    "mem-layout-one": ["mem", "layout", *SMALL, "-t", "struct node", "{wide}"],
    "mem-layout-top": ["mem", "layout", *SMALL, "-n", "1", "{walk}"],
    "mem-layout-remap": ["mem", "layout", *SMALL, "-r", "{here}/node.remap", "{walk}"],
    "mem-layout-bad-remap": ["mem", "layout", *SMALL, "-r", "{here}/wrong.remap", "{walk}"],
    "mem-layout-unknown": ["mem", "layout", *SMALL, "-t", "struct none", "{walk}"],
    "mem-layout-raw": ["mem", "layout", *SMALL, "{raw}"],
    "mem-calls-one": ["mem", "calls", *SMALL, "-f", "walk_all", "{walk}"],
    "mem-calls-one-json": ["mem", "calls", *SMALL, "-f", "touch_counter", "--json", "{walk}"],
    "mem-dump-field": ["mem", "dump", "-r", "0x405000+256", "{walk}"],
    "mem-convert": ["mem", "convert", "-o", "{out}/o.raw", "{walk}"],
    "mem-recover": ["mem", "recover", "{cut}"],
}

COMPILER = {
    **{f"mem-cc-{name}": ["mem", language, "--show", "--compiler", "gcc", *words] for name, language, words in (
        ("compile", "cc", ["-O2", "-c", "a.c", "-o", "a.o"]), ("link", "cc", ["-o", "a", "a.o", "-lm"]), ("both", "cc", ["-g", "a.c"]),
        ("shared", "cc", ["-shared", "-fPIC", "a.c", "-o", "a.so"]), ("static", "cc", ["-static", "a.c"]), ("preprocess", "cc", ["-E", "a.c"]),
        ("version", "cc", ["--version"]), ("thread", "cc", ["-fsanitize=thread", "a.c"]), ("address", "cc", ["-fsanitize=address", "a.c"]),
        ("lto", "cc", ["-flto", "a.c"]), ("assembler", "cc", ["-c", "a.S"]), ("only", "cc", ["--only", "src/*", "-c", "src/a.c"]),
        ("other", "cc", ["--only", "src/*", "-c", "lib/b.c"]), ("nothing", "cc", []), ("avx", "cc", ["-mavx512f", "-c", "a.c"]), ("cpp", "c++", ["a.cpp"]))},
    "mem-cc-itself": ["mem", "cc", "--show", "--compiler", "{tool}", "-c", "a.c"],
}

FLEETS = {
    **{f"fleet-{q}": [*FLEET, q] for q in ("slowest", "lost", "latency", "graph", "findings")},
    "fleet-compare": [*FLEET, "compare", "v1", "v2"],
    "fleet-compare-newest": [*FLEET, "compare", "--raw"],
    "fleet-coroutine": [*FLEET, "coroutine", "17"],
    "fleet-chosen": [*FLEET, "slowest", "-s", "it's", "-b", "abc", "--site", "a.c:1", "--host", "h", "--run", "3", "-n", "5", "--raw",
                     "--until", "2026-01-31 13:00"],
    "fleet-latency-step": [*FLEET, "latency", "--step", "60", "--raw"],
    "fleet-unknown": [*FLEET, "weather"],
    "fleet-no-store": ["fleet", "slowest"],
    "load-nothing": ["load", "--into", STORE],
    "load-bad-url": ["load", "--into", "http://host", "{kinds}"],
    "load-bad-keep": ["load", "--into", STORE, "--keep", "waits=x", "{kinds}"],
    "ship-file": ["ship", "--host", "h", "file:store", "{kinds_ct}"],
    "ship-not-compact": ["ship", "file:store", "{kinds}"],
    "ship-bad-url": ["ship", "ftp://x", "{kinds}"],
}

DB = "clickhouse://me@127.0.0.1:{port}/db"
OTLP = ["export", "otlp", "-i", "{kinds}", "--host", "h"]
NEW = [("SELECT version()", "25.8.1.1\n"), ("system.columns", recorder.columns_of), ("SELECT toUInt64(toUnixTimestamp(now", "1700000100\n"), ("SELECT count()", "0\n")]
OLD = ("SELECT version()", "21.8.1.1\n")
LOAD = ["load", "--into", DB, "--state", "{out}.state", "--host", "h", "--wait", "0"]
DEFINITIONS = (b"CREATE", b"SELECT name, type", b"SELECT version", b"SELECT count() FROM system", b"ALTER", b"INSERT INTO schema_version",
               b"SELECT DISTINCT partition")


class Loaded(Served):
    """The tables are those of load-new."""

    def __init__(self, *args):
        super().__init__([*LOAD, *args], NEW, skipped=DEFINITIONS)


STORES = {
    "otlp-file": [*OTLP, "-o", "{out}/o.otlp"],
    "otlp-all": ["export", "otlp", "-i", "{server}", "--slower-than", "0", "--per-site", "2", "--service", "s", "--region", "r", "--version-label", "v",
                 "--host", "h", "-o", "{out}/o.otlp"],
    "otlp-sent": Served([*OTLP, "--json", "-o", "http://127.0.0.1:{port}/v1/traces"], []),
    "otlp-refused": Served([*OTLP, "--slower-than", "0.14", "-o", "http://127.0.0.1:{port}/v1/traces"], [("", (400, "no\n"))]),
    **{f"otlp-status-{status}": Served([*OTLP, "--slower-than", "0.14", "-o", "http://127.0.0.1:{port}/"], [("", (status, ""))], 0)
       for status in (202, 299, 300, 401, 403, 404, 405, 500)},
    "load-new": Served([*LOAD, "--json", "{kinds}"], NEW),
    "load-events": Served([*LOAD, "--events", "--no-findings", "--keep", "waits=1,events=2,sums=3,findings=4", "--service", "s", "--build", "b",
                           "--version-label", "v", "--region", "r", "{kinds}"], NEW),
    "load-old": Served([*LOAD, "-q", "{kinds}"], [OLD, *NEW[1:]]),
    "load-session-ended": Served([*LOAD, "{kinds}"], [("INSERT INTO waits ", (404, "Code: 372, e.displayText() = DB::Exception: Session not found.")), OLD, *NEW[1:]],
                                 skipped=DEFINITIONS),
    "load-session-locked": Served([*LOAD, "{kinds}"], [("INSERT INTO waits ", (500, "Code: 373, e.displayText() = DB::Exception: Session is locked.")), OLD, *NEW[1:]],
                                  skipped=DEFINITIONS),
    **{f"load-{name.replace('_', '-')}": Loaded("--json", "--source", "file:{" + name + "}")
       for name in ("kinds_shipped", "kinds_sampled", "odd_shipped", "server_sampled")},
    "load-shipped-events": Loaded("--events", "--source", "file:{odd_shipped}"),
    "load-findings": Loaded("--service", "shop", "--build", "b1", "--version-label", "v1", "--region", "r1", "{server}"),
    "load-nowhere": Loaded("{nowhere}"),
    "load-compact": Loaded("--no-findings", "{odd_ct}"),
    "load-part": Loaded("--no-findings", "--from", "5ms", "--coro", "1", "{odd}"),
    "ship-text": ["ship", "--host", "h", "file:again", "{server_ct}"],
    "load-denied": Served([*LOAD, "{kinds}"], [("", (403, "Code: 516. DB::Exception: me: Authentication failed\n"))]),
    "load-unknown": Served([*LOAD, "{kinds}"], [("", "hello\n")]),
}



class Asked(Served):
    """The SQL is that of fleet --print-sql: its beginning is enough here."""

    def __init__(self, args, answers):
        super().__init__(args, answers, 2)


def answer(columns, *rows):
    """A table as ClickHouse sends it; @columns: name, type, name, type ..."""
    words = columns.split()
    return "\n".join("\t".join(str(v) for v in row) for row in (words[::2], words[1::2], *rows)) + "\n"


ACCOUNT = ("runs UInt64 hosts UInt64 running UInt64 transitions_loaded UInt64 transitions_lost UInt64 transitions_given_up UInt64 transitions_not_loaded UInt64 "
           "missing_blocks UInt64 damaged_blocks UInt64 incomplete UInt64 sampled UInt64 sample_most UInt64 clocks_off UInt64")
WHOLE = ("transitions_loaded", answer(ACCOUNT, (3, 2, 0, 5000, 0, 0, 0, 0, 0, 0, 0, 1, 0)))
LACKING = ("transitions_loaded", answer(ACCOUNT, (3, 2, 1, 5000, 7, 8, 9, 2, 1, 2, 1, 16, 1)))
KNOWN = ("arrayReverseSort", answer("service String builds Array(String) versions Array(String) names Array(String) last_s UInt64 first String last String",
                                    ("web", "['b2','b1']", "['','v1']", "['b2','v1']", 1769860800, "2026-01-31 11:00:00", "2026-01-31 12:00:00")))
RUNS = "run_id String service_name String host_name String waits UInt64 from_utc String"
ONE = ("waits_all", answer("one UInt64 clustered UInt64", (1, 0)))
SLOWEST = answer("waits UInt64 p50_ns UInt64 p99_ns UInt64 max_ns UInt64 total_ns UInt64 site String",
                 (1234567, 999, 1500000, 2500000000, 61000000000000, "src/a.c:1 f"), (1, 0, 1, 60000000000, 3600000000000, "tab\\there \\\\ 'q'"))
COMPARE = answer("verdict String sigmas Float64 base_waits UInt64 waits UInt64 p99_percent Float64 change Int64 site String",
                 ("slower", 4.5, 100, 200, 25, -7, "src/a.c:1 f"), ("gone", "nan", 3, 0, "nan", 0, "src/b.c:2 g"), ("faster", -12.3, 5, 6, -50, 7, "c"))
FOUND = answer("confidence String detector String count UInt64 builds Array(String) last_seen_utc String site String seen String fingerprint String",
               ("strong", "deadlock", 2, "['b1','it\\'s']", "2026-01-31 12:00:00", "src/a.c:1 f", "2 wait for each other", "00ff"))
NOTHING = answer("waits UInt64 site String")
ASK = ["fleet", "--from", DB, "--since", "2026-01-31 12:00"]
ASKED = {
    "ask-slowest": Asked([*ASK, "slowest"], [ONE, KNOWN, WHOLE, ("FROM", SLOWEST)]),
    "ask-slowest-json": Asked([*ASK, "slowest", "--json", "-s", "web"], [ONE, KNOWN, LACKING, ("FROM", SLOWEST)]),
    "ask-lacking": Asked([*ASK, "slowest", "--raw"], [ONE, KNOWN, LACKING, ("FROM", SLOWEST)]),
    "ask-compare": Asked([*ASK, "compare", "-s", "web"], [ONE, KNOWN, WHOLE, ("FROM", COMPARE)]),
    "ask-compare-json": Asked([*ASK, "compare", "b1", "b2", "--json"], [ONE, KNOWN, WHOLE, ("FROM", COMPARE)]),
    "ask-findings": Asked([*ASK, "findings"], [ONE, KNOWN, WHOLE, ("FROM", FOUND)]),
    "ask-findings-json": Asked([*ASK, "findings", "--json"], [ONE, KNOWN, WHOLE, ("FROM", FOUND)]),
    "ask-nothing": Asked([*ASK, "slowest", "-s", "web"], [ONE, KNOWN, WHOLE, ("FROM", NOTHING)]),
    "ask-unknown-service": Asked([*ASK, "slowest", "-s", "wbe"], [ONE, KNOWN, WHOLE, ("FROM", NOTHING)]),
    "ask-old": Asked([*ASK, "slowest"], [ONE, ("arrayReverseSort", KNOWN[1].replace("1769860800", "1769000000")), WHOLE, ("FROM", NOTHING)]),
    "ask-unknown-build": Asked([*ASK, "slowest", "-b", "b7"], [ONE, KNOWN, WHOLE, ("FROM", NOTHING)]),
    "ask-no-service": Asked([*ASK, "compare"], [ONE, ("arrayReverseSort", KNOWN[1].split("\n", 2)[0] + "\n" + KNOWN[1].split("\n", 2)[1] + "\n"), WHOLE]),
    "ask-other-columns": Asked([*ASK, "compare", "-s", "web"], [ONE, ("arrayReverseSort", WHOLE[1])]),
    "ask-coroutine": Asked([*ASK, "coroutine", "7"], [ONE, ("run_id", answer(RUNS, ("aa11", "web", "h", 3, "2026-01-31 12:00:00"))), WHOLE, ("FROM", SLOWEST)]),
    "ask-coroutine-runs": Asked([*ASK, "coroutine", "7"], [ONE, ("run_id", answer(RUNS, *((f"{i:032x}", "web", f"h{i}", 3, "t") for i in range(7))))]),
    "ask-cut": Asked([*ASK, "slowest"], [ONE, KNOWN, WHOLE, ("FROM", SLOWEST[:-5])]),
    "ask-no-tables": Asked([*ASK, "slowest"], [("waits_all", answer("one UInt64 clustered UInt64", (0, 0)))]),
    "ask-busy": Asked([*ASK, "slowest"], [("", (503, "busy\n"))]),
    **{f"ask-status-{status}": Asked([*ASK, "slowest"], [("", (status, "why\n"))]) for status in (400, 401, 403, 404, 429, 502, 504)},
    **{f"ask-code-{code}": Asked([*ASK, "slowest"], [("", (500, f"Code: {code}. DB::Exception: why. (NAME) (version 25.8)\n"))])
       for code in (16, 47, 60, 81, 159, 192, 193, 202, 209, 210, 241, 252, 497)},
    "ask-shard-away": Asked([*ASK, "slowest"], [ONE, ("FROM", (500, "Code: 279. DB::Exception: All connection tries failed. (ALL_CONNECTION_TRIES_FAILED)\n"))]),
}

PAGES = {
    "html-kinds": ["html", "-q", "-o", "{out}/o.html", "{kinds}"],
    "html-odd": ["html", "-q", "-o", "{out}/o.html", "{odd}"],
    "html-one": ["html", "-q", "--coro", "10", "-o", "{out}/o.html", "{server}"],
    "html-diff": ["diff", "--html", "{out}/o.html", "{fine}", "{slow}"],
    "html-diff-faults": ["diff", "--html", "{out}/o.html", "{fine}", "{kinds}", "--", "{server}", "{server}"],
    "html-mem": ["mem", "html", *SMALL, "-o", "{out}/o.html", "{walk}"],
    "html-mem-few": ["mem", "html", *SMALL, "--json", "--title", "a <b>", "-n", "1", "--no-source", "-o", "{out}/o.html", "{walk}"],
    "html-quiet": ["html", "-q", "-o", "{out}/o.html", "{incomplete}", "--to", "100ms"],
    "html-missing": ["html", "-o", "{out}/o.html", "none.jsonl"],
    "html-mem-raw": ["mem", "html", *SMALL, "-o", "{out}/o.html", "{raw}"],
}

TOOL = {
    "help": ["help"],
    "version-bad": ["version", "x"],
    "no-command": ["frobnicate"],
    **{f"help-{c}": ["help", c] for c in ("run", "attach", "monitor", "top", "why", "snapshot", "recover", "serve")},
    "run-bad-option": ["run", "--wobble"],
    "run-no-program": ["run"],
    "query-tables": ["query", "{kinds}"],
    "query-waits": ["query", "{kinds}", "SELECT * FROM waits ORDER BY 1, 2, 3"],
    "query-csv": ["query", "--csv", "{kinds}", "SELECT * FROM events ORDER BY ts, probe_id"],
    "query-json": ["query", "--json", "--stats", "{kinds}", "SELECT probe_id, name FROM coroutines ORDER BY 1"],
    "query-wrong": ["query", "{kinds}", "SELECT nothing FROM nowhere"],
}

REFUSED = {
    "refused-run": Several(refused.of_run()),
    "refused-frames": Several(refused.of_frames()),
    "refused-looks": Several(refused.of_looks()),
    "refused-memory": Several(refused.of_memory()),
    "completed": Several(refused.completed()),
    "told": Several(refused.told("{story}")),
}

MORE = {
    "more-info": Several(more.of_info()),
    "more-report": Several(more.of_report()),
    "more-diff": Several(more.of_diff()),
    "more-pages": Several(more.of_pages()),
    "more-query": Several(more.of_query()),
    "more-exports": Several(more.of_exports()),
    "more-memory": Several(more.of_memory()),
    "more-machines": Several(machines.simulated()),
    "more-stores": Several(more.of_stores()),
    "more-generate": Several(more.of_generate()),
}

GROUPS = {"more": MORE, "live": live_commands.GROUP, "refused": REFUSED, "info": INFO, "report": REPORT, "diff_and_merge": DIFF, "export": EXPORT, "odd_traces": ODD, "frames": FRAMES, "specs": SPECS, "memory": MEMORY, "compiler": COMPILER, "fleet": FLEETS, "stores": STORES, "asked": ASKED, "pages": PAGES, "tool": TOOL}
# Groups with commands that need libraries which a build may leave out.
WITH_LIBRARIES = ("more", "refused", "export", "odd_traces", "frames", "fleet", "stores", "asked", "tool")
