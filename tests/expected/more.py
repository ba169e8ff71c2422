# SPDX-License-Identifier: MIT
"""more.py - options of commands that print or write a trace in another way, one file for each command."""


def each(command, *lines):
    return [[*command, *line.split()] for line in lines]


def of_info():
    return each(["info"], "{merged}", "--json {merged}", "--part 1 {merged}", "--part 2 --json {merged}", "--part 9 {merged}", "--part x {merged}", "--part 1 {kinds}", "{kinds_ct}",
                "--json {odd_ct}", "--json={out}/o.json {kinds}", "--coro 2 --kind wake --json {kinds}", "--site queue.c:* --from 20ms --json {server}", "--coro x {kinds}",
                "--site nothing {kinds}", "--to 1ms {server}", "--from 9s {server}", "{every}", "{walk}")


def of_report():
    return each(["report"], "--text {merged}", "--markdown {merged}", "--json {merged}", "--text --part 2 {merged}", "--junit {merged}", "--sarif {merged}", "-o {out}/o.md {server}",
                "--text --json={out}/o.json {server}", "--text --site queue.c {server}", "--text --kind wake {server}", "--text --from 50ms --to 80ms {server}",
                "--text --suppressions {here}/known.supp {server}", "--text --suppressions {kinds} {server}", "--text --source-root {here} {server}", "--fail-on all --text {fine}",
                "--min-confidence proven --text --all {server}", "--min-confidence wrong {server}", "--min-age x {server}", "--color wrong {server}", "--text {server_ct}",
                "--text --mem {server}", "--list --json", "--text --junit {server}", "{server} {kinds}")


def of_diff():
    return each(["diff"], "-o {out}/o.txt {fine} {slow}", "--json={out}/o.json {fine} {slow}", "--color always {fine} {slow}", "--part 1 {merged} {merged}",
                "--from 10ms --to 80ms {fine} {slow}", "--coro 1 {fine} {slow}", "--site queue.c {fine} {slow}", "--kind wake {fine} {slow}", "--threshold x {fine} {slow}",
                "--threshold 0 --min-change 0 {fine} {slow}", "--fail-on-regression --json {slow} {fine}", "--markdown --all {kinds} {server}", "{fine} -- ", "-- {fine}", "{fine} none.jsonl",
                "{fine} {damaged}", "--json {fine} {fine} -- {slow} {slow}")


def of_pages():
    return each(["html", "-q", "-o", "{out}/o.html"], "--site queue.c {server}", "--kind acquire {server}",
                "--coro 10 --from 10ms --to 90ms {server}", "--max-size 1k {server}", "--max-size 1M {server}", "--min-age 1 {server}", "--notes {here}/notes.json {kinds}",
                "--notes {kinds} {kinds}", "--notes none {kinds}", "--page none {kinds}", "--part 1 {merged}", "{damaged}", "{every}")


def of_query():
    return [*each(["query", "{merged}"], "", "--json", "--csv"), *each(["query"], "", "-p 0", "-p x", "-p 4194304", "-f none", "-l -f {every}", "-d --json -f {every}", "-t --json -f {every}",
                  "-b none -f {every}", "-b B -d -f {every}", "-f {every} {kinds}", "{walk}", "{kinds_ct}"),
            *(["query", "--stats", "{" + trace + "}", sql] for trace, sql in (
                ("kinds", "SELECT count(*), min(ts) > 0 FROM events WHERE probe_id = 2"), ("kinds_ct", "SELECT count(*) FROM events WHERE ts < 0"),
                ("server_ct", "SELECT kind, count(*) FROM events GROUP BY 1 ORDER BY 1"), ("server", "SELECT site_name(site), percentile(duration_ns, 50) FROM waits GROUP BY 1 ORDER BY 1"),
                ("kinds", "SELECT * FROM run"), ("odd", "SELECT * FROM gaps"), ("kinds", "SELECT * FROM switches"), ("kinds", "SELECT name, NULL, 1.5, x'00ff', '=a' FROM coroutines"),
                ("kinds", "DELETE FROM events"), ("kinds", "SELECT 1; SELECT 2"), ("kinds", ""))),
            ["query", "--csv", "--no-formula-guard", "{kinds}", "SELECT '=1', 'a,b', 'q\"q'"], ["query", "--csv", "{kinds}", "SELECT '=1', 'a,b', 'q\"q'"],
            *(["query", form, "{kinds}", "SELECT 1 AS x, 2 AS x, 3 AS x_2, 4 AS x, 5"] for form in ("--json", "--csv", "--stats")),
            ["query", "--json", "{kinds}", "SELECT NULL AS n, 1.5 AS r, x'00ff' AS b, 'text' AS t"]]


def of_exports():
    return [*each(["export"], "callgrind --json -i {walk} -o {out}/o -l 1k,2", "folded --json -i {walk} -o {out}/o -l 1k,2", "folded -i {walk} -o - -l 1k,2 -q", "callgrind -i {kinds} -o {out}/o",
                  "csv -i {kinds_ct} -o {out}/o.csv --from 10ms", "csv -i {merged} --part 2 -o {out}/o.csv",
                  "folded --kind wake -i {server} -o {out}/o", "graphviz -i {kinds} -o -", "csv -i {kinds} -o /nonexistent/o.csv", "csv -i {kinds} -o {kinds}",
                  "parquet -i {kinds} -o /nonexistent/o", "parquet -i {kinds} -o {kinds}", "sqlite -i {every} -o {other}", "folded -i {cut} -o - -l 1k,2", "folded -i {broken} -o - -l 1k,2",
                  "otlp -i {older} --slower-than 0 --per-site 1 --host h -o {out}/o.otlp"),
            *each(["-export"], "csv -in {kinds} -csv-out {out}/o.csv", "csv -out {kinds} -csv-out={out}/o.csv", "sqlite -in {kinds} -sqlite-out {out}/o.sqlite", "csv", "xml -in {kinds}",
                  "csv -in", "csv -in {kinds} extra", "csv -in {kinds} -n 3 -cmd x -csv-out {out}/o.csv", "csv -in {kinds} -wobble", "sqlite -in {kinds} -csv-out {out}/o.csv")]


def of_memory():
    small = ["-l", "1k,2", "-l", "8k,4"]
    return [*each(["mem", "dump"], "--csv --skip 440 {walk}", "--json --skip 440 {walk}", "--csv --no-formula-guard -k add,mark,coro {walk}", "-k read,write -n 5 {raw}", "-r 0x700000 {walk}", "-r 0x700000-0x70000f {walk}",
                  "-r x {walk}", "-r 5- {walk}", "-r 5+ {walk}", "-r 5-4 {walk}", "-t x {walk}", "-n 0 {walk}", "-n 20 {broken}", "{kinds}", "--json={out}/o.json -n 3 {walk}"),
            *each(["mem", "sim", *small], "--csv -b {walk}", "--json --tlb 4 --tlb 16,2 {walk}", "--threads 2 -b {walk}", "--page 1024 --tlb 4 {walk}", "--map 500=x {walk}", "--map 500=0,501=0 {walk}",
                  "--map 9=1 {walk}", "--cores 0 {walk}", "--from-mark none {walk}", "--to-mark none {walk}", "-t 501 --json {walk}", "--type none {walk}", "-b {raw}", "-b {broken}", "-b {cut}",
                  "--program {kinds} {raw}", "--dwarf none {raw}"),
            *each(["mem", "sim"], "-l 1k,2,64,fifo -l 2k,4,64,plru,share=2 -l 4k,4,64,inclusive {walk}", "-l 1k,2,write-through,no-allocate {walk}", "-l 1k,full,random {walk}", "-l L=1k,2,next-line {walk}",
                  "-l 1k,2,tagged -l 4k,4,exclusive {walk}", "-l 1k,2,wrong {walk}", "-l 1k,2,64,wrong {walk}", "-l 1k,2,64,64 {walk}", "-l 1k {walk}", "-l x,2 {walk}", "-l 1k,0 {walk}", "--tlb x -l 1k,2 {walk}"),
            *each(["mem", "stat"], "--json={out}/o.json {walk}", "--line 48 {walk}", "--line 64 -n 0 {raw}", "{broken}", "--json {cut}", "-w 0 {walk}", "--per-thread {raw}"),
            *each(["mem", "calls", *small], "-n 1 --json {walk}", "-f make_nodes {walk}", "-s wrong {walk}", "{raw}", "{kinds}"),
            *each(["mem", "convert"], "{walk}", "-o {out}/o {kinds}"),
            *each(["mem", "recover"], "{walk}", "none", "{kinds}"),
            *each(["mem", "check"], "-s {walk}", "-q {walk}", "-s --json {broken}", "{kinds}", "none")]


def of_stores():
    return [*each(["ship", "--host", "h"], "--json file:j1 {sent_server}", "--json --sample 2 file:j2 {sent_odd}", "--json file:j1 {sent_server}", "--again -q file:j1 {sent_server}", "--json={out}/o.json file:j3 {sent_kinds}",
                  "--wait x file:j4 {sent_kinds}", "--sample 0 file:j4 {sent_kinds}", "file:j4 none.ct", "file:j4", "file:/proc/none {sent_kinds}"),
            *each(["fleet", "--print-sql", "--from", "clickhouse://host/db", "--since", "2026-01-31T12:00"], "", "compare a", "compare a b c", "coroutine", "coroutine x", "slowest x", "slowest --since x", "slowest -n 0", "slowest --step 0",
                  "slowest --until x", "latency --step 5 -n 3 -s s -b b", "--sql-dir none slowest"),
            ["fleet", "--write-sql", "{sql}"], ["fleet", "--print-sql", "--from", "clickhouse://host/db", "--since", "2026-01-31T12:00", "--sql-dir", "{sql}", "lost"],
            ["fleet", "--write-sql", "{sql}"], ["fleet", "--write-sql", "/proc/none/x"], ["fleet", "slowest", "--from", "http://host"], ["fleet", "slowest", "--from", "clickhouse://"]]


def of_generate():
    return each(["generate"], "none.spec", "-o none {here}/plain.spec", "-o {out} -q {here}/plain.spec", "--json -o {out} {here}/every.spec", "--dialect wrong {here}/plain.spec", "--prefix a/b -o {out} {here}/plain.spec",
                "--option wrong {here}/plain.spec", "--option {here}/plain.spec", "--tag a {here}/plain.spec", "-n -o {out} {here}/plain.spec", "{here}/plain.spec {here}/every.spec", "")
