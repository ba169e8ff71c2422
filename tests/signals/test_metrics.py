# SPDX-License-Identifier: MIT
"""test_metrics.py - /metrics of run and serve: the numbers, both formats, limits, and a real Prometheus."""
import http.client
import math
import re
import shutil
import urllib.parse

from ports import free_port
from signals import *
from signals import line_of

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)(?: # \{[^}]*\} \S+)?$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
BOUNDS = [m * 10 ** e for e in range(3, 11) for m in (1, 2, 5)] + [10 ** 11]  # ns
TEXT, OPENMETRICS = "text/plain; version=0.0.4; charset=utf-8", "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Served:
    """A command that serves metrics at a port of its choice."""

    def __init__(self, *command, **kwargs):
        self.p = popen(TOOL, *command, env=ENV, **kwargs)
        while "metrics are at" not in (line := line_of(self.p.stderr.fileno())):
            assert line, f"no metrics from {command}: {self.p.wait()}"
        self.host, self.port = re.search(r"http://(.*):(\d+)/metrics", line).groups()

    def request(self, path="/metrics", method="GET", **headers):
        c = http.client.HTTPConnection(self.host.strip("[]"), int(self.port), timeout=120)
        c.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        r = c.getresponse()
        body = r.read()
        c.close()
        return r, body

    def scrape(self, accept=None):
        r, body = self.request(**({"Accept": accept} if accept else {}))
        equal(r.status, 200, "status of /metrics")
        return body.decode()

    def samples(self, accept=None):
        """{(name, labels without those that all have): value}"""
        found = {}
        for line in self.scrape(accept).splitlines():
            if line.startswith("#"):
                continue
            m = SAMPLE.match(line)
            assert m, f"not a sample: {line}"
            labels = dict(LABEL.findall(m.group(2) or ""))
            key = (m.group(1), frozenset(i for i in labels.items() if i[0] not in ("service", "build", "host")))
            assert key not in found, f"twice: {line}"
            found[key] = float(m.group(3))
        return found

    def value(self, name, **labels):
        return self.samples().get((name, frozenset(labels.items())))

    def read_all(self):
        wait_until(lambda: self.value("corotracer_collecting") == 0, "end of the trace")
        return self.samples()

    def end(self):
        self.p.send_signal(signal.SIGTERM)
        self.p.communicate(timeout=120)


def of(samples, name, **labels):
    return samples.get((name, frozenset(labels.items())))


def in_buckets(waits):
    return [sum(w <= b for w in waits) for b in BOUNDS] + [len(waits)]


def quantile(q, waits):
    """As histogram_quantile() of Prometheus, in seconds, computed from the waits themselves."""
    counts, rank = in_buckets(waits), q * len(waits)
    at = next(i for i, c in enumerate(counts) if c >= rank)
    if at == len(BOUNDS):
        return BOUNDS[-1] / 1e9
    low, below = (BOUNDS[at - 1], counts[at - 1]) if at else (0, 0)
    return (low + (BOUNDS[at] - low) * (rank - below) / (counts[at] - below)) / 1e9


WAITS = [1_500_000 + 1000 * i for i in range(90)] + [7_000_000] * 9 + [80_000_000]


def shop(dir):
    """One coroutine with the waits above, one that waits, one that was woken, one that ended."""
    t, at = Written(dir), 1000
    pay = {"site": t.site("shop.c", 3, "main")}
    for id in (1, 2, 3, 4):
        t.other("birth", id, id, pid=7, **pay)
        t.step(10 + id, id, True)
    for n, wait in enumerate(WAITS):
        t.waits(at, 1, wait, ready=1000 * (n + 1) if n % 2 else 0)
        at += wait + 1000
    t.step(at, 2, False, site=t.site("shop.c", 20, "read"), reason="io-read")
    t.step(at, 3, False, site=t.site("shop.c", 20, "read"), reason="io-read")
    t.other("wake", at + 10, 3, seen=2)
    t.other("end", at + 2_000_000_000, 4)
    return t


@test
def a_trace_with_known_waits_has_exactly_these_numbers(dir):
    served = Served("serve", "--metrics", "0", shop(dir).write())
    s = served.read_all()
    pay = {"site": "shop.c:10 pay", "reason": "timer"}
    names = ["%g" % (b / 1e9) if b < 10 ** 9 else "%.1f" % (b / 1e9) for b in BOUNDS] + ["+Inf"]
    for family, waits in (("wait", WAITS), ("ready", [1000 * (n + 1) for n in range(len(WAITS)) if n % 2])):
        for le, count in zip(names, in_buckets(waits)):
            equal(of(s, f"coroutine_{family}_seconds_bucket", le=le, **pay), count, f"bucket {le} of {family}")
        equal(of(s, f"coroutine_{family}_seconds_count", **pay), len(waits), f"count of {family}")
        assert math.isclose(of(s, f"coroutine_{family}_seconds_sum", **pay), sum(waits) / 1e9), family
    equal(of(s, "coroutines", state="running", site="shop.c:3 main"), 1, "running")
    equal(of(s, "coroutines", state="suspended", site="shop.c:20 read"), 1, "suspended")
    equal(of(s, "coroutines", state="ready", site="shop.c:20 read"), 1, "ready")
    equal(of(s, "coroutines", state="ended", site="shop.c:3 main"), 1, "ended")
    equal(of(s, "coroutine_oldest_wait_seconds", site="shop.c:20 read"), 2.0, "the oldest wait")
    equal(of(s, "coroutine_waits_ended_total", state="resumed"), len(WAITS), "waits")
    equal(of(s, "corotracer_events_collected_total", kind="transition"), 206, "transitions")
    equal(of(s, "corotracer_events_collected_total", kind="other"), 56, "other events")
    contains(served.scrape(), '{service="shop",host="web1",')


@test
def written_is_collected_plus_lost(dir):
    t = shop(dir)
    t.meta.append({"type": "gap", "lane": 0, "pid": 7, "tid": 7, "from_ts": START + 5, "to_ts": START + 6, "transitions": 30, "others": 4})
    s = Served("serve", "--metrics", "0", t.write({"lost": 41, "written": 247, "others_lost": 4})).read_all()
    for kind, held, lost in (("transition", 206, 41), ("other", 56, 4)):
        equal(of(s, "corotracer_events_lost_total", kind=kind), lost, f"lost {kind}")
        equal(of(s, "corotracer_events_written_total", kind=kind), held + lost, f"written {kind}")


@test
def sites_beyond_the_limit_are_one(dir):
    t, at = Written(dir), 100
    for n in range(12):
        t.step(at, n + 1, True)
        t.waits(at + 1, n + 1, 3000, site=(f"f{n}.c", n, "f"), reason="mutex")
        t.step(at + 5000, n + 1, False, site=t.site(f"f{n}.c", n, "f"), reason="mutex")
        at += 10000
    s = Served("serve", "--metrics", "0", "--metrics-sites", "5", t.write()).read_all()
    own = {dict(k[1]).get("site") for k in s if k[0] == "coroutine_wait_seconds_count"}
    equal(own, {"other"} | {f"f{n}.c:{n} f" for n in range(5)}, "sites with series")
    equal(of(s, "coroutine_wait_seconds_count", site="other", reason="other"), 7, "waits of the others")
    equal(of(s, "coroutines", state="suspended", site="other"), 7, "coroutines of the others")
    equal(of(s, "corotracer_sites_in_other"), 7, "other sites")


@test
def labels_are_escaped(dir):
    t = Written(dir, command=['/x/odd "name"\\'], hostname="h\nost")
    t.step(100, 1, True)
    t.waits(200, 1, 3000, site=('a"b\\c.cc', 1, "f<char\u00e9>()"))
    served = Served("serve", "--metrics", "0", t.write())
    served.read_all()
    text = served.scrape()
    contains(text, r'service="odd \"name\"\\",host="h\nost"')
    contains(text, r'site="a\"b\\c.cc:1 f')
    check_format(text)


def check_format(text):
    if not shutil.which("promtool"):
        raise Skip("no promtool here")
    p = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    equal((p.returncode, p.stderr), (0, ""), "answer of promtool")


@test
def promtool_has_no_complaint(dir):
    served = Served("serve", "--metrics", "0", shop(dir).write())
    served.read_all()
    check_format(served.scrape())


@test
def the_accept_header_chooses_the_format(dir):
    served = Served("serve", "--metrics", "0", shop(dir).write())
    prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    for accept, wanted in ((None, TEXT), ("*/*", TEXT), ("text/plain", TEXT), (prometheus, OPENMETRICS),
                           ("application/openmetrics-text", OPENMETRICS), ("application/openmetrics-textual", TEXT),
                           ("application/openmetrics-text;q=0.1, text/plain;q=0.9", TEXT), ("application/openmetrics-text;q=0", TEXT)):
        r, body = served.request(**({"Accept": accept} if accept else {}))
        equal(r.getheader("Content-Type"), wanted, f"type for {accept}")
        equal(body.endswith(b"# EOF\n"), wanted == OPENMETRICS, f"end for {accept}")
    served.read_all()
    both = [served.samples(), served.samples(OPENMETRICS)]
    for s in both:
        s.pop(("corotracer_info", frozenset({("corotracer_version", "1.0.0")})), None)
    equal({k for s in both for k in s if k not in both[0] or k not in both[1]}, set(), "series of one format only")
    text = served.scrape(OPENMETRICS)
    contains(text, "# TYPE corotracer_events_lost counter\n")
    contains(text, "# UNIT coroutine_wait_seconds seconds\n")
    packed = served.request(Accept_Encoding="gzip")
    equal(packed[0].getheader("Content-Encoding"), "gzip", "encoding")


@test
def a_bucket_of_openmetrics_names_a_trace_of_the_user(dir):
    t = Written(dir)
    t.step(100, 1, True)
    t.other("context", 150, 1, trace_high="0x0af7651916cd43dd", trace_low="0x8448eb211c80319c", span="0xb7ad6b7169203331", trace_flags=1)
    t.waits(200, 1, 3_000_000)
    t.other("context", 4_000_000, 1)
    t.waits(5_000_000, 1, 70_000)
    served = Served("serve", "--metrics", "0", t.write())
    served.read_all()
    lines = [line for line in served.scrape(OPENMETRICS).splitlines() if " # {" in line]
    equal(len(lines), 1, "buckets with an exemplar")
    contains(lines[0], 'le="0.005"} 2 # {trace_id="0af7651916cd43dd8448eb211c80319c",span_id="b7ad6b7169203331"} 0.003000000')
    equal(" # {" in served.scrape(), False, "exemplars in the text format")


@test
def other_requests_are_rejected(dir):
    served = Served("serve", "--metrics", "0", shop(dir).write())
    equal(served.request("/")[0].status, 200, "status of /")
    equal(served.request("/metricsx")[0].status, 404, "status of another path")
    equal(served.request(method="POST")[0].status, 405, "status of a POST")
    equal(served.request(Host="rebound.example:80")[0].status, 403, "status for another name")
    for value in ("x", ":1", "127.0.0.1:", "70000", ""):
        equal(tool("serve", "--metrics", value, served.p.args[-1])[0], 2, f"status of --metrics '{value}'")
    status, _, err = tool("serve", "--metrics", served.port, served.p.args[-1])
    equal(status, 1, "status with a port in use")
    contains(err, "cannot serve at")


@test
def a_run_is_counted_while_it_goes_on(dir):
    for name in ("t.jsonl", "t.ct"):
        served = Served("run", "-o", os.path.join(dir, name), "--metrics", "127.0.0.1:0", "--", SIGNALS_TARGET, 20, 300,
                        stdin=subprocess.PIPE)
        site = next(f"{n + 1}" for n, line in enumerate(open(SIGNALS_SOURCE, encoding="utf-8")) if "CTP_REASON_TIMER" in line)
        wait_until(lambda: served.value("coroutine_waits_ended_total", state="resumed") == 60, "waits")
        s = served.samples()
        waits = {k: v for k, v in s.items() if k[0] == "coroutine_wait_seconds_count"}
        equal(list(waits.values()), [60.0], "waits by site")
        contains(dict(next(iter(waits))[1])["site"], f"signals_target.c:{site} wait_once")
        equal(sum(v for k, v in s.items() if k[0] == "coroutines"), 4, "coroutines")
        equal(of(s, "corotracer_collecting"), 1, "collecting")
        assert of(s, "corotracer_collector_cpu_seconds_total") > 0
        served.p.stdin.close()
        served.p.stdin = None
        served.p.communicate(timeout=120)
        equal(served.p.returncode, 0, "status of run")


@test
def a_run_that_is_shipped_has_its_labels_and_its_spool(dir):
    served = Served("run", "--ship", f"file:{dir}/shipped", "--spool", dir, "--service", "shop", "--version-label", "1.2", "--host", "web7",
                    "--region", "eu", "--metrics", "0", "--", SIGNALS_TARGET, 20, 300, stdin=subprocess.PIPE)
    wait_until(lambda: "coroutine_wait_seconds_count" in served.scrape(), "waits")
    wait_until(lambda: "corotracer_ship_up" in served.scrape(), "a shipper")
    wait_until(lambda: of(served.samples(), "corotracer_ship_blocks_total", result="acknowledged", version="1.2", region="eu"), "a block")
    for label in ('service="shop"', 'version="1.2"', 'host="web7"', 'region="eu"', 'build="'):
        contains(served.scrape(), label)
    s = served.samples()
    equal(of(s, "corotracer_metrics_missed_blocks_total", version="1.2", region="eu"), 0, "missed blocks")
    served.p.stdin.close()
    served.p.stdin = None
    served.p.communicate(timeout=120)
    equal(served.p.returncode, 0, "status of run")


@test
def what_cannot_be_followed_is_refused(dir):
    for options, why in ((["--flight-recorder", "1M", "-o", "t.jsonl"], "flight recorder"), (["-o", "t.ctf"], "CTF"),
                         (["-o", "-"], "file")):
        status, _, err = tool("run", "--metrics", "0", *options, "--", "true", cwd=dir)
        equal(status, 2, f"status with {options}")
        contains(err, why)
        contains(err, "hint: ")


@test
def the_numbers_of_the_spool_come_from_the_shipper(dir):
    path = shop(dir).write()
    served = Served("serve", "--metrics", "0", path)
    equal([k for k in served.read_all() if "ship" in k[0] or "spool" in k[0]], [], "metrics without a shipper")

    def counts(n):
        return {"blocks": n, "transitions": 10 * n, "others": 3 * n, "bytes": 1000 * n}
    with open(path + ".shipped", "w", encoding="utf-8") as f:
        json.dump({"shipped": counts(5), "spooled": counts(2), "given_up": counts(1), "trouble": "refused"}, f)
    s = served.samples()
    equal(of(s, "corotracer_ship_blocks_total", result="acknowledged"), 5, "shipped blocks")
    equal(of(s, "corotracer_ship_events_total", result="given_up", kind="transition"), 10, "transitions given up")
    equal(of(s, "corotracer_spool_bytes"), 2000, "bytes in the spool")
    equal(of(s, "corotracer_spool_events", kind="other"), 6, "events in the spool")
    equal(of(s, "corotracer_ship_up"), 0, "trouble")
    check_format(served.scrape())


@test
def the_example_files_are_valid(dir):
    if not shutil.which("promtool"):
        raise Skip("no promtool here")
    examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "prometheus")
    for what, name in (("config", "corotracer-scrape.yml"), ("rules", "corotracer-rules.yml")):
        p = subprocess.run(["promtool", "check", what, name], cwd=examples, capture_output=True, text=True, check=False)
        equal(p.returncode, 0, f"answer of promtool to {name}: {p.stdout}{p.stderr}")


class Prometheus:
    """A real server that scrapes one target every second."""

    def __init__(self, dir, target):
        if not shutil.which("prometheus"):
            raise Skip("no prometheus here")
        self.port = free_port()
        config = os.path.join(dir, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as f:
            f.write("global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: corotracer\n  static_configs:\n"
                    f"  - targets: ['{target}']\n")
        equal(subprocess.run(["promtool", "check", "config", config], capture_output=True, check=False).returncode, 0, "config")
        with open(os.path.join(dir, "prometheus.log"), "w", encoding="utf-8") as log:
            self.p = popen("prometheus", f"--config.file={config}", f"--storage.tsdb.path={dir}/tsdb",
                           f"--web.listen-address=127.0.0.1:{self.port}", "--storage.tsdb.retention.size=50MB",
                           stdout=log, stderr=log)

    def ask(self, query):
        try:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            c.request("GET", "/api/v1/query?" + urllib.parse.urlencode({"query": query}))
            answer = json.loads(c.getresponse().read())
            c.close()
        except (OSError, ValueError):
            return None
        return answer["data"]["result"] if answer.get("status") == "success" else None


@test
def prometheus_computes_the_quantiles_of_the_known_waits(dir):
    t = shop(dir)
    t.other("context", 500, 1, trace_high="0x1", trace_low="0x2", span="0x3")  # it has to read exemplars, too
    served = Served("serve", "--metrics", "0", t.write())
    served.read_all()
    contains(served.scrape(OPENMETRICS), " # {trace_id=")
    prometheus = Prometheus(dir, f"127.0.0.1:{served.port}")
    query = "histogram_quantile({}, sum by (le, site, service, host) (coroutine_wait_seconds_bucket))"
    wait_until(lambda: prometheus.ask("corotracer_collecting"), "a scrape", 3000)
    for q in (0.5, 0.9, 0.99, 1):
        found = prometheus.ask(query.format(q))
        equal(len(found), 1, "series of the answer")
        equal(found[0]["metric"], {"site": "shop.c:10 pay", "service": "shop", "host": "web1"}, "labels")
        got = float(found[0]["value"][1])
        assert math.isclose(got, quantile(q, WAITS), rel_tol=1e-9), f"quantile {q}: {got}, wanted {quantile(q, WAITS)}"
    equal(float(prometheus.ask("sum(coroutine_wait_seconds_count)")[0]["value"][1]), len(WAITS), "waits")
    equal(float(prometheus.ask("up")[0]["value"][1]), 1, "up")
    prometheus.p.send_signal(signal.SIGTERM)
    prometheus.p.wait(120)


main()
