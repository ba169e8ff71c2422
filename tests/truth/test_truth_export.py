# SPDX-License-Identifier: MIT
"""test_truth_export.py - summaries of `export` and `html`: the output files, counted by other programs."""
import glob
import sqlite3

from truth import *

sys.path.insert(0, os.path.join(SOURCE, "tests", "view"))
import oracle  # noqa: E402
from bundle import Bundle  # noqa: E402
from checks import Check  # noqa: E402


def files_of(kind, output):
    """The files that an export wrote."""
    stem = output[:-len(".csv")]
    return {"csv": [output, *glob.glob(stem + ".*.csv")], "jsonl": [output, output + ".meta"],
            "ctf": glob.glob(output + "/*")}.get(kind, [output])


def csv_rows(path):
    with open(path, encoding="utf-8") as f:
        return sum(1 for _ in f) - 1


def rows_in(kind, output):
    """(events, rows of other tables) that another reader finds in an export."""
    if kind == "csv":
        return csv_rows(output), sum(csv_rows(path) for path in files_of(kind, output)[1:])
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(output)) as db:
            tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'coro%'")]
            counts = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
        return counts.pop("coro_trace_events"), sum(counts.values())
    if kind in ("jsonl", "ctf"):
        return len(read_trace(output).events), 0
    return None, 0


@check
def export_counts_what_it_wrote(n, kind, output, trace, elapsed_ns):
    rows, extra = rows_in(kind, output)
    # Viewers draw events; other tests read their files with another reader.
    n.equal("rows", len(trace.events) if rows is None else rows)
    n.equal("extra_rows", extra)
    n.equal("bytes", sum(os.path.getsize(path) for path in files_of(kind, output)))
    n.within("duration_ns", 1, elapsed_ns)


@check
def export_counts_what_it_read(n, r, trace):
    written, held = r.truth.transitions, len(trace.transitions)
    n.equal_all("", {"transitions": held, "other_events": len(trace.others), "left_out": 0, "garbage": 0,
                     "lost": written - held, "others_lost": r.truth.others - len(trace.others)})
    compare_completeness(n, trace)


def check_export(dir, kind, r, trace, *options):
    output = os.path.join(dir, f"out.{kind}")
    before = now_ns()
    said = output_of("export", kind, "--json", "-i", r.trace, "-o", output, *options, stream="stderr")
    n = Numbers("export", said)
    export_counts_what_it_wrote(n, kind, output, trace, now_ns() - before)
    export_counts_what_it_read(n, r, trace)
    n.done()


def waits_of(trace):
    """(site, ns) of each wait: from a suspend to the next resume, end or destroy, or to the end of the trace."""
    open_waits, waits = {}, []
    for e in sorted(trace.events, key=lambda e: e["ts"]):
        id = e.get("probe_id", e.get("id"))
        if e["kind"] in ("suspend", "resume", "end", "destroy") and id in open_waits:
            site, ts = open_waits.pop(id)
            waits.append((site, e["ts"] - ts))
        if e["kind"] == "suspend":
            open_waits[id] = (e.get("site", 0), e["ts"])
    return waits, open_waits


@check
def export_otlp_counts_waits(n, trace, least_ns, per_site, end_ts):
    ended, still_open = waits_of(trace)
    waits = ended + [(site, end_ts - ts) for site, ts in still_open.values()]
    slow = collections.Counter(site for site, ns in waits if ns >= least_ns)
    n.equal("waits", len(waits))
    n.equal("waits_slow", sum(slow.values()))
    n.equal("waits_exported", sum(min(count, per_site) for count in slow.values()))
    n.equal("spans", n["waits_exported"] + n["findings"])


@check
def export_otlp_counts_findings(n, trace_path, output, elapsed_ns):
    report = output_of("report", "--json", trace_path)
    n.equal("findings", sum(f["confidence"] != "info" for f in report["findings"]))
    n.equal("bytes", os.path.getsize(output))
    n.equal_all("", {"requests": 0, "retries": 0, "rejected": 0, "maybe_twice": 0, "unread_answers": 0})
    n.within("duration_ns", 1, elapsed_ns)


@test
def an_export_of_spans_is_counted_exactly(dir):
    r = TracedRun(dir)
    trace, output, before = read_trace(r.trace), os.path.join(dir, "out.otlp"), now_ns()
    n = Numbers("export otlp", output_of("export", "otlp", "--json", "-i", r.trace, "-o", output, "--slower-than", "0.00001", "--per-site", "30",
                                         stream="stderr"))
    with open(r.trace + ".meta", encoding="utf-8") as f:
        end_ts = next(m["end_ts"] for m in map(json.loads, f) if m["type"] == "totals")
    export_otlp_counts_waits(n, trace, 10_000, 30, end_ts)
    export_otlp_counts_findings(n, r.trace, output, now_ns() - before)
    n.done()


@check
def merge_counts_what_it_wrote(n, output, traces, runs, elapsed_ns):
    merged = read_trace(output)
    n.equal("rows", len(merged.events))
    n.equal("rows", sum(len(trace.events) for trace in traces))
    n.equal("bytes", sum(os.path.getsize(path) for path in files_of("jsonl", output)))
    n.equal("lost", sum(r.truth.transitions - len(trace.transitions) for r, trace in zip(runs, traces)))
    n.equal("others_lost", sum(r.truth.others - len(trace.others) for r, trace in zip(runs, traces)))
    n.within("duration_ns", 1, elapsed_ns)


@check
def merge_counts_its_inputs(n, output, traces, runs):
    """Programs one after the other: no number of a process or thread occurs twice."""
    ids = {e["probe_id"] for e in read_trace(output).transitions}
    for i, (r, trace) in enumerate(zip(runs, traces)):
        at = f"inputs[{i}]."
        n.equal_all(at[:-1], {"transitions": len(trace.transitions), "other_events": len(trace.others),
                              "lost": r.truth.transitions - len(trace.transitions),
                              "others_lost": r.truth.others - len(trace.others),
                              "threads_raised_by": 0, "processes_raised_by": 0, "clock_shift_ns": 0})
        n.equal(at + "coroutines_raised_by", min(ids - {e["probe_id"] for t in traces for e in t.transitions} or {0}) // 10**6 * 10**6 if i else 0)


@test
def a_merge_is_counted_exactly(dir):
    runs = [TracedRun(dir, name="quiet.jsonl"),
            TracedRun(dir, name="loss.jsonl", options=["--buffer", "1M"], program=["rounds=4000", "stop=1"])]
    traces, output, before = [read_trace(r.trace) for r in runs], os.path.join(dir, "both.jsonl"), now_ns()
    n = Numbers("merge", output_of("merge", "--json", "-o", output, *(r.trace for r in runs), stream="stderr"))
    merge_counts_what_it_wrote(n, output, traces, runs, now_ns() - before)
    merge_counts_its_inputs(n, output, traces, runs)
    n.done()


def programs(dir):
    """A quiet run, a run on a busy machine, a run with loss."""
    yield TracedRun(dir, name="quiet.jsonl")
    yield TracedRun(dir, name="busy.ctf", load=True, program=["rounds=300"])
    yield TracedRun(dir, name="loss.jsonl", options=["--buffer", "1M"], program=["rounds=4000", "stop=1"])


@test
def every_export_is_counted_exactly(dir):
    for r in programs(dir):
        trace = read_trace(r.trace)
        for kind in ("csv", "sqlite", "perfetto", "chrome", "ctf" if r.trace.endswith("jsonl") else "jsonl"):
            check_export(dir, kind, r, trace, *(["--full"] if kind in ("csv", "sqlite") else []))


@test
def the_text_of_an_export_has_the_same_numbers(dir):
    r = TracedRun(dir, options=["--buffer", "1M"], program=["rounds=4000", "stop=1"])
    trace = read_trace(r.trace)
    text = Text(tool("export", "csv", "--full", "-i", r.trace, "-o", dir + "/out.csv")[2])
    rows, extra = rows_in("csv", dir + "/out.csv")
    lost = r.truth.transitions + r.truth.others - len(trace.events)
    text.line(r": ([\d,]+) events in [\d.]+ \w+$", count_text(rows))
    text.line(r"other rows +([\d,]+)$", count_text(extra))
    text.line(r"lost +([\d,]+)$", count_text(lost))
    text.done()


# ---- html ---------------------------------------------------------------------------------------


@check
def html_counts_what_it_drew(n, r, trace, page):
    slices = sum(e["kind"] == "resume" for e in trace.transitions)
    lost = r.truth.transitions - len(trace.transitions)
    n.equal_all("", {"bytes": os.path.getsize(page), "transitions": len(trace.transitions), "others": len(trace.others),
                     "coroutines": len(r.truth.coroutines)})
    # A coroutine whose resume was lost runs, too: a slice without a begin.
    n.within("slices", slices, slices + min(lost, len(r.truth.coroutines) + lost))
    n.equal("findings", len(output_of("report", "--json", r.trace)["findings"]))
    compare_completeness(n, trace)


@test
def a_page_is_counted_exactly(dir):
    template, page = dir + "/template.html", dir + "/page.html"
    with open(template, "w", encoding="utf-8") as f:
        f.write("<!doctype html><title>t</title>\n<!--corotracer-data-->\n<p>end</p>\n")
    for r in programs(dir):
        said = output_of("html", "--json", "--page", template, "-o", page, r.trace)
        n, trace = Numbers("html", said), read_trace(r.trace)
        html_counts_what_it_drew(n, r, trace, page)
        n.done()
        parsed = oracle.read_ctf(r.trace) if os.path.isdir(r.trace) else oracle.read_jsonl(r.trace)
        Check(Bundle(page), parsed, output_of("report", "--json", r.trace)).all()


@test
def the_text_of_html_has_the_same_numbers(dir):
    r = TracedRun(dir)
    trace, page = read_trace(r.trace), dir + "/page.html"
    text = Text(tool("html", "-o", page, r.trace)[2] or tool("html", "-o", page, r.trace)[1])
    text.line(r": ([\d.]+) kB, ([\d,]+) events of (\d+) coroutines", f"{os.path.getsize(page) / 1000:.1f}",
              count_text(len(trace.events)), len(r.truth.coroutines))
    text.done()


if __name__ == "__main__":
    main()
