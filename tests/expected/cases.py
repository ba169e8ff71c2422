# SPDX-License-Identifier: MIT
"""cases.py - the commands whose outputs are compared: {group: {name: arguments}}.

{kinds}, {server} ... are inputs, see make_inputs() in test_expected.py; {out} is a new folder, and the working directory.
"""

SMALL = ["-l", "1k,2", "-l", "8k,4"]
FLEET = ["fleet", "--print-sql", "--from", "clickhouse://host/db", "--since", "2026-01-31 12:00"]
STORE = "clickhouse://host:9000/db"
CLIENT = "sh {here}/client.sh {out}/sent"


def in_forms(name, command, *forms):
    return {f"{name}-{form.strip('-').split()[0] if form else 'plain'}": [*command, *form.split()] for form in forms}


def on_inputs(name, command, *inputs):
    return {f"{name}-{i}": [*command, "{" + i + "}"] for i in inputs}


INFO = {
    **on_inputs("info", ["info"], "kinds", "server", "damaged", "incomplete"),
    **on_inputs("info-json", ["info", "--json"], "kinds", "server", "damaged", "incomplete"),
    "info-part-of-time": ["info", "--from", "10ms", "--to", "140ms", "{kinds}"],
    "info-one-coroutine": ["info", "--coro", "2", "{kinds}"],
    "info-one-site": ["info", "--site", "queue.c", "{server}"],
    "info-one-kind": ["info", "--kind", "wake,birth", "{server}"],
    "info-missing-file": ["info", "{dir}/none.jsonl"],
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
    "export-jsonl": ["export", "jsonl", "-i", "{kinds}", "-o", "{out}/o.jsonl"],
    "export-json-summary": ["export", "csv", "--json", "-i", "{incomplete}", "-o", "{out}/o.csv"],
    "export-quiet": ["export", "csv", "-q", "-i", "{server}", "-o", "{out}/o.csv", "--coro", "13"],
    "export-standard-output": ["export", "csv", "-q", "-i", "{kinds}", "-o", "-"],
    "export-mysql": ["export", "mysql", "--full", "-i", "{kinds}", "--db-cli", CLIENT, "--db-name", "traces", "--db-table", "ev"],
    "export-postgresql": ["export", "postgresql", "--full", "-i", "{kinds}", "--db-cli", CLIENT, "--db-name", "traces", "--db-table", "ev"],
    "export-client-fails": ["export", "mysql", "-i", "{kinds}", "--db-cli", "false"],
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
    "decode-no-recording": ["decode", "{kinds}", "{out}/csv"],
    **{f"frames-{kind}": ["export", kind, "-i", "{gapped}", "-o", "{out}/" + name]
       for kind, name in (("csv", "o.csv"), ("sqlite", "o.sqlite"), ("jsonl", "o.jsonl"), ("chrome", "o.json"), ("perfetto", "o.pftrace"))},
    "query-recording": ["query", "-f", "{frames}"],
    "query-recording-tags": ["query", "-t", "-f", "{frames}"],
    "query-recording-json": ["query", "--json", "-f", "{frames}"],
    "generate-layout": ["generate", "-n", "{here}/every.spec"],
    "generate-layout-json": ["generate", "-n", "--json", "{here}/every.spec"],
    "generate-plain": ["generate", "-n", "{here}/plain.spec"],
    "generate-wrong": ["generate", "{here}/wrong.spec"],
    "generate-options": ["generate", "-n", "--tag", "a", "b", "--option", "time counter", "{here}/every.spec"],
}

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
    "mem-sim-part": ["mem", "sim", *SMALL, "--from-mark", "begin", "--to-mark", "end", "-t", "500", "--type", "struct node", "{walk}"],
    "mem-sim-range": ["mem", "sim", *SMALL, "-r", "0x700000-0x70003f", "{walk}"],
    "mem-sim-show": ["mem", "sim", *SMALL, "--tlb", "64,4", "--show"],
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
    "mem-diff-types": ["mem", "diff", *SMALL, "--by", "type", "--threshold", "90", "{walk}", "{wide}"],
    "mem-layout": ["mem", "layout", *SMALL, "{walk}"],
    "mem-convert": ["mem", "convert", "-o", "{out}/o.raw", "{walk}"],
    "mem-recover": ["mem", "recover", "{cut}"],
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
    "ship-file": ["ship", "--host", "h", "file:{dir}/store", "{ct}"],
    "ship-not-compact": ["ship", "file:{dir}/store", "{kinds}"],
    "ship-bad-url": ["ship", "ftp://x", "{kinds}"],
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

GROUPS = {"info": INFO, "report": REPORT, "diff_and_merge": DIFF, "export": EXPORT, "frames": FRAMES, "memory": MEMORY, "fleet": FLEETS, "tool": TOOL}
