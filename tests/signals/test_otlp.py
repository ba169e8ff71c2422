# SPDX-License-Identifier: MIT
"""test_otlp.py - export otlp: what the published schema decodes, and a receiver that counts, refuses and is away.

The schema comes from PyPI (opentelemetry-proto) into a folder of the build, once; skipped if it cannot be installed.
With COROTRACER_FULL the collector of OpenTelemetry is built from Go modules, and receives.
"""
import gzip
import http.server
import shutil
import socket
import sys
import threading

from ports import free_port
from signals import *
from venvs import python_with

MS = 10 ** 6
REAL = 1_700_000_000_000_000_000
DECODE = r'''
import base64, json, sys
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
found = []
def plain(attributes):
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}
for name in sys.argv[1:]:
    request = ExportTraceServiceRequest()
    with open(name, "rb") as f:
        request.ParseFromString(f.read())
    for r in request.resource_spans:
        for scope in r.scope_spans:
            for s in scope.spans:
                found.append({"resource": plain(r.resource.attributes), "scope": [scope.scope.name, scope.scope.version], "trace": s.trace_id.hex(),
                              "span": s.span_id.hex(), "parent": s.parent_span_id.hex(), "name": s.name, "kind": s.kind,
                              "start": s.start_time_unix_nano, "end": s.end_time_unix_nano, "attributes": plain(s.attributes),
                              "events": [[e.name, e.time_unix_nano, plain(e.attributes)] for e in s.events],
                              "status": [s.status.code, s.status.message]})
print(json.dumps(found))
'''


def python():
    """A Python with the schema."""
    return python_with(os.environ.get("SIGNALS_VENV", "build/tests/signals/venv"), "opentelemetry-proto")


def decode(*files):
    p = subprocess.run([python(), "-c", DECODE, *files], capture_output=True, text=True, check=False)
    equal(p.returncode, 0, p.stderr)
    return json.loads(p.stdout)


def export(trace, *options, status=0, env=None):
    """(summary, other output)"""
    got, _, err = tool("export", "otlp", "--json", "-i", trace, *options, env=dict(ENV, **(env or {})))
    equal(got, status, f"status of export: {err}")
    first = err.split("\n", 1)
    return json.loads(first[0]) if first[0].startswith("{") else None, err


def orders(dir):
    """Coroutine 1 works for a request, 2 is created by it, 3 for none; 4 is stuck from the beginning."""
    t = Written(dir)
    spawn = t.site("orders.c", 3, "main")
    for id, name in ((1, "request"), (2, "helper"), (3, "worker"), (4, "stuck")):
        t.other("birth", 10 * id, id, pid=7, name=name, site=spawn, **({"parent": 1} if id == 2 else {}))
        t.step(10 * id + 1, id, True)
        if id == 1:
            t.other("context", 15, 1, trace_high="0x0af7651916cd43dd", trace_low="0x8448eb211c80319c", span="0xb7ad6b7169203331", trace_flags=1)
    t.step(100, 4, False, site=t.site("orders.c", 40, "recv"), reason="channel-recv", resource=5)
    for n in range(40):
        at = 10 * MS * (n + 1)
        for id in (1, 2, 3):
            t.waits(at, id, (n % 20 + 1) * MS // 10 * id, ready=1000, site=("orders.c", 10 + id, "pay"), reason="timer")
    return t


@test
def the_published_schema_decodes_the_slowest_waits(dir):
    trace, out = orders(dir).write(), os.path.join(dir, "spans.otlp")
    summary, _ = export(trace, "-o", out, "--per-site", 5, "--service", "orders", "--version-label", "1.2", "--region", "eu")
    spans = decode(out)
    waits = [s for s in spans if s["name"].startswith("wait ")]
    # Coroutine N waits N times 0.1 to 2 ms, each length twice; at least 1 ms by default.
    slow = {1: 22, 2: 32, 3: 34}
    for id in (1, 2, 3):
        mine = [s for s in waits if s["attributes"]["corotracer.coroutine.id"] == id]
        lengths = sorted(((n % 20 + 1) * MS // 10 * id for n in range(40)), reverse=True)[:5]
        equal(sorted((s["end"] - s["start"] for s in mine), reverse=True), lengths, f"lengths of the waits of {id}")
        for s in mine:
            a = s["attributes"]
            equal((a["code.file.path"], a["code.line.number"], a["code.function.name"]), ("orders.c", 10 + id, "pay"), "place")
            equal((a["corotracer.site.waits"], a["corotracer.site.slow"], a["corotracer.site.exported"]), (40, slow[id], 5), "rate")
            equal((a["corotracer.wait.reason"], a["corotracer.wait.state"], a["corotracer.wait.ready_ns"]), ("timer", "resumed", 1000), "wait")
            equal(a["corotracer.coroutine.name"], ["", "request", "helper", "worker"][id], "name")
            equal((s["name"], s["kind"], s["scope"][0]), ("wait timer in pay", 1, "corotracer"), "span")
            equal(s["events"][0][:2], ["wake", s["end"] - 1000], "event of the wake")
            equal((s["start"] - REAL) % (10 * MS), 0, "begin, in the clock of the day")
    equal(spans[0]["resource"], {"service.name": "orders", "service.version": "1.2", "host.name": "web1", "cloud.region": "eu", "process.pid": 7,
                                 "process.executable.name": "shop"}, "resource")
    stuck = [s for s in waits if s["attributes"]["corotracer.coroutine.id"] == 4]
    equal(stuck[0]["attributes"]["corotracer.wait.state"], "open", "state of the stuck one")
    equal(stuck[0]["end"] - stuck[0]["start"], rows(trace, "SELECT max(ts) FROM events")[0][0] - START - 100, "length up to the end")
    equal((summary["waits_exported"], summary["waits_slow"], summary["waits"]), (16, sum(slow.values()) + 1, 121), "counts of the summary")
    equal(summary["spans"], len(spans), "spans")


@test
def waits_hang_under_the_span_of_the_request(dir):
    out = os.path.join(dir, "spans.otlp")
    export(orders(dir).write(), "-o", out)
    spans = [s for s in decode(out) if s["name"].startswith("wait timer")]
    for s in spans:
        if s["attributes"]["corotracer.coroutine.id"] in (1, 2):
            equal((s["trace"], s["parent"]), (TRACEPARENT[3:35], TRACEPARENT[36:52]), "trace and parent")
        else:
            equal((s["parent"], len(s["trace"]), s["trace"] != TRACEPARENT[3:35]), ("", 32, True), "a trace of its own")
    equal(len({s["span"] for s in spans}), len(spans), "different spans")
    again = os.path.join(dir, "again.otlp")
    export(os.path.join(dir, "written.jsonl"), "-o", again)
    with open(out, "rb") as a, open(again, "rb") as b:
        equal(a.read() == b.read(), True, "a second export is the same")


@test
def the_threshold_and_the_number_per_site_are_kept(dir):
    trace, out = orders(dir).write(), os.path.join(dir, "spans.otlp")
    for options, wanted in ((["--slower-than", "0.0059"], 3), (["--slower-than", "0", "--per-site", "10000"], 121), (["--slower-than", "1000"], 0)):
        summary, _ = export(trace, "-o", out, *options)
        equal(summary["waits_exported"], wanted, f"waits with {options}")
        equal(len([s for s in decode(out) if s["name"].startswith("wait")]), wanted, f"spans with {options}")


@test
def a_finding_is_a_span_with_its_evidence(dir):
    t = orders(dir)
    t.other("close", 200 * MS, 3, pid=7, resource=9, site=t.site("orders.c", 60, "shut"))
    t.step(500 * MS, 3, False, site=t.site("orders.c", 61, "read"), reason="io-read", resource=9)
    t.other("context", 499 * MS, 3, trace_high="0x1111111111111111", trace_low="0x1111111111111111", span="0x2222222222222222")
    for n in range(400):
        t.waits((510 + 10 * n) * MS, 1, 5 * MS, ready=1000, site=("orders.c", 11, "pay"))
    t.other("close", 600 * MS, 1, pid=7, resource=9, site=t.site("orders.c", 62, "shut"))
    trace, out = t.write(), os.path.join(dir, "spans.otlp")
    export(trace, "-o", out)
    _, text, _ = tool("report", "--json", trace)
    report = json.loads(text)
    said = {f["detector"]: f for f in report["findings"] if f["confidence"] != "info"}
    spans = {s["attributes"]["corotracer.finding.detector"]: s for s in decode(out) if s["name"].startswith("finding ")}
    equal(set(spans), set(said), "findings")
    closed = spans["closed-under-waiter"]
    equal((closed["trace"], closed["parent"]), (SECOND[3:35], SECOND[36:52]), "the request of the stuck coroutine")
    equal(closed["status"][0], 2, "status: error")
    equal(closed["attributes"]["corotracer.finding.confidence"], said["closed-under-waiter"]["confidence"], "confidence")
    equal((closed["attributes"]["code.file.path"], closed["attributes"]["code.line.number"]), ("orders.c", 61), "place")
    contains(str(closed["events"]), "it works for traceparent " + SECOND)


# ---- receivers -----------------------------------------------------------------------------------------


class Receiver:
    """Answers as told, in turn; then with 200.  Keeps the bodies that it accepts.  Status 0: takes the body, and hangs up."""

    def __init__(self, dir, *answers):
        self.answers, self.requests, self.bodies, self.dir = list(answers), [], [], dir
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers)))
                status, headers, answer = receiver.answers.pop(0) if receiver.answers else (200, {}, b"")
                if status in (0, 200):
                    name = os.path.join(receiver.dir, f"body-{len(receiver.bodies)}")
                    with open(name, "wb") as f:
                        f.write(gzip.decompress(body))
                    receiver.bodies.append(name)
                self.close_connection = True
                if not status:
                    return
                self.send_response(status)
                for key, value in dict({"Content-Length": str(len(answer))}, **headers).items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@test
def a_receiver_gets_every_span_once_in_batches(dir):
    trace, receiver = orders(dir).write(), Receiver(dir)
    big = Written(dir, "big.jsonl")
    for id in range(1, 31):
        big.step(id, id, True)
        for n in range(50):
            big.waits(MS + n * 10 * MS + id, id, 2 * MS + n, site=("big.c", id, "f"))
    summary, _ = export(big.write(), "-o", receiver.url + "/", "--per-site", 50)
    equal((summary["spans"], summary["requests"], summary["rejected"]), (1500, 3, 0), "summary")
    spans = decode(*receiver.bodies)
    equal(len({(s["trace"], s["span"]) for s in spans}), 1500, "different spans")
    path, headers = receiver.requests[0]
    equal((path, headers["Content-Type"], headers["Content-Encoding"]), ("/v1/traces", "application/x-protobuf", "gzip"), "request")
    export(trace, "-o", receiver.url + "/v1/traces", env={"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer x,other=y", "OTEL_SERVICE_NAME": "by-env"})
    path, headers = receiver.requests[-1]
    equal((path, headers["authorization"], headers["other"]), ("/v1/traces", "Bearer x", "y"), "path and headers")
    equal(decode(receiver.bodies[-1])[0]["resource"]["service.name"], "by-env", "service of the environment")
    receiver.close()


@test
def a_busy_receiver_is_asked_again_and_nothing_is_sent_twice(dir):
    receiver = Receiver(dir, (503, {"Retry-After": "1"}, b""), (429, {}, b""))
    summary, _ = export(orders(dir).write(), "-o", receiver.url)
    equal((summary["requests"], summary["retries"], len(receiver.bodies)), (1, 2, 1), "requests, repetitions, bodies")
    equal(len(decode(*receiver.bodies)), summary["spans"], "spans")
    receiver.close()


@test
def a_request_that_may_have_arrived_is_named_if_it_is_sent_again(dir):
    receiver = Receiver(dir, (0, {}, b""))
    summary, err = export(orders(dir).write(), "-o", receiver.url)
    equal((summary["requests"], summary["retries"], summary["maybe_twice"], len(receiver.bodies)), (1, 1, 1, 2), "requests, repetitions, bodies")
    contains(err, "the receiver may have them twice")
    receiver.close()


@test
def an_answer_that_breaks_off_is_an_answer(dir):
    receiver = Receiver(dir, (200, {"Content-Length": "100"}, b"x"))
    summary, err = export(orders(dir).write(), "-o", receiver.url, status=1)
    equal((summary["requests"], summary["retries"], summary["unread_answers"], len(receiver.bodies)), (1, 0, 1, 1), "requests, repetitions, bodies")
    contains(err, "what it rejected is not known")
    receiver.close()


@test
def rejected_spans_are_reported(dir):
    message = b"too old"
    partial = bytes([8, 7, 18, len(message)]) + message
    receiver = Receiver(dir, (200, {}, bytes([10, len(partial)]) + partial))
    summary, err = export(orders(dir).write(), "-o", receiver.url, status=1)
    equal(summary["rejected"], 7, "rejected")
    contains(err, "the receiver rejected 7 spans: too old")
    receiver.close()


@test
def failures_say_what_to_do(dir):
    trace = orders(dir).write()
    for status, hint in ((404, "4318"), (401, "OTEL_EXPORTER_OTLP_HEADERS"), (400, "status 400"), (503, "status 503")):
        receiver = Receiver(dir, (status, {"Retry-After": "1000"}, b""))
        _, err = export(trace, "-o", receiver.url, status=1)
        contains(err, hint)
        equal(len(receiver.requests), 1, f"requests after {status}")
        receiver.close()
    _, err = export(os.path.join(dir, "none.jsonl"), status=1)
    contains(err, "none.jsonl")
    equal(tool("export", "otlp")[0], 2, "status without a trace")


@test
def a_receiver_that_is_away_is_an_error(dir):
    if not os.environ.get("COROTRACER_FULL"):
        raise Skip("it takes half a minute: only with COROTRACER_FULL")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        _, err = export(orders(dir).write(), "-o", f"http://127.0.0.1:{s.getsockname()[1]}", status=1)
    contains(err, "hint: start the receiver")


# ---- the collector of OpenTelemetry ---------------------------------------------------------------------

VERSION = "v0.157.0"


def collector():
    """The path of a collector with a receiver of OTLP that prints what it gets; built once."""
    if not os.environ.get("COROTRACER_FULL"):
        raise Skip("its build takes minutes: only with COROTRACER_FULL")
    place = os.path.abspath(os.environ.get("SIGNALS_COLLECTOR", "build/tests/signals/collector"))
    go = shutil.which("go", path=os.environ["PATH"] + ":/usr/local/go/bin")
    if not go:
        raise Skip("no Go here")
    if not os.path.exists(place + "/ready"):
        os.makedirs(place, exist_ok=True)
        with open(place + "/builder.yaml", "w", encoding="utf-8") as f:
            f.write("dist:\n  name: otelcol\n  output_path: ./out\n  module: example.com/otelcol\n"
                    f"receivers:\n  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver {VERSION}\n"
                    f"exporters:\n  - gomod: go.opentelemetry.io/collector/exporter/debugexporter {VERSION}\n")
        p = subprocess.run([go, "run", f"go.opentelemetry.io/collector/cmd/builder@{VERSION}", "--config", "builder.yaml"], cwd=place,
                           env=dict(os.environ, PATH=os.environ["PATH"] + ":" + os.path.dirname(go)), capture_output=True, text=True, check=False,
                           timeout=1800)
        if p.returncode:
            raise Skip(f"the collector cannot be built: {p.stderr.strip()[-200:]}")
        with open(place + "/ready", "w", encoding="utf-8") as f:
            f.write("yes\n")
    return place + "/out/otelcol"


@test
def the_collector_of_opentelemetry_receives_every_span(dir):
    program = collector()
    port = free_port()
    with open(dir + "/config.yaml", "w", encoding="utf-8") as f:
        f.write(f"receivers:\n  otlp:\n    protocols:\n      http:\n        endpoint: 127.0.0.1:{port}\n"
                "exporters:\n  debug:\n    verbosity: detailed\n"
                "service:\n  telemetry:\n    metrics:\n      level: none\n  pipelines:\n    traces:\n      receivers: [otlp]\n      exporters: [debug]\n")
    with open(dir + "/log", "w", encoding="utf-8") as log:
        p = popen(program, "--config", dir + "/config.yaml", stdout=log, stderr=log)

    def said():
        with open(dir + "/log", encoding="utf-8") as f:
            return f.read()
    wait_until(lambda: "Everything is ready" in said(), "start of the collector")
    summary, _ = export(orders(dir).write(), "-o", f"http://127.0.0.1:{port}")
    wait_until(lambda: said().count("Span #") == summary["spans"], "spans")
    for text in (TRACEPARENT[3:35], "Parent ID      : " + TRACEPARENT[36:52], "code.file.path: Str(orders.c)", "service.name: Str(shop)"):
        contains(said(), text)
    p.send_signal(signal.SIGTERM)
    p.wait(120)


main()
