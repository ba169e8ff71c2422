# SPDX-License-Identifier: MIT
"""test_traceparent.py - a traceparent that a program sets, from the SDK to query and report."""
from signals import *

CONTEXTS = "SELECT c.name, e.name FROM events e JOIN coroutines c USING (probe_id) WHERE e.kind = 'context' ORDER BY e.ts"


@test
def every_format_of_a_trace_has_it(dir):
    wanted = [["request", TRACEPARENT], ["stuck", SECOND], ["request", None]]
    for name in ("t.jsonl", "t.ct", "t.ctf"):
        equal(rows(record(dir, name), CONTEXTS), wanted, f"contexts of {name}")
    again = os.path.join(dir, "again.ctf")
    equal(tool("export", "ctf", "-i", os.path.join(dir, "t.ct"), "-o", again)[0], 0, "status of export")
    equal(rows(again, CONTEXTS), wanted, "contexts after an export")
    status, out, _ = tool("info", "--json", os.path.join(dir, "t.ct"))
    contains(out, '"contexts"')


@test
def the_sidecar_has_the_ids_as_hexadecimal_numbers(dir):
    trace = record(dir)
    with open(trace + ".meta", encoding="utf-8") as f:
        events = [json.loads(line) for line in f if '"type":"context"' in line]
    equal(events[0]["trace_high"], "0x0af7651916cd43dd", "upper half of the trace id")
    equal(events[0]["trace_low"], "0x8448eb211c80319c", "lower half of the trace id")
    equal(events[0]["span"], "0xb7ad6b7169203331", "span id")
    equal(events[0]["trace_flags"], 1, "flags")
    equal("trace_flags" in events[1], False, "flags of a trace that is not sampled")
    equal([k for k in events[2] if k.startswith(("trace", "span"))], [], "members of a context that ends")


@test
def the_report_names_the_request_of_a_stuck_coroutine(dir):
    status, out, _ = tool("report", record(dir))
    contains(out, "it works for traceparent " + SECOND)


@test
def cpp_sets_it_for_the_coroutine_that_runs_and_for_a_given_one(dir):
    trace = record(dir, "t.jsonl", SIGNALS_TARGET_CPP)
    equal(rows(trace, "SELECT name FROM events WHERE kind = 'context' ORDER BY ts"),
          [[TRACEPARENT], [SECOND], [None]], "contexts")
    equal(rows(trace, "SELECT count(DISTINCT probe_id) FROM events WHERE kind = 'context'"), [[2]], "coroutines")


@test
def a_flight_recorder_keeps_it(dir):
    trace = os.path.join(dir, "flight.ct")
    equal(tool("run", "-q", "--flight-recorder", "1M", "-o", trace, "--", SIGNALS_TARGET, 3, 200, env=ENV)[0], 0, "status")
    equal(rows(trace, CONTEXTS), [["request", TRACEPARENT], ["stuck", SECOND], ["request", None]], "contexts")


main()
