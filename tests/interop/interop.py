# SPDX-License-Identifier: MIT
"""interop.py - run writers under collectors, and compare the trace with what was written.

Every writer ends with a JSON object on stdout: which coroutines it had, and how many events it
really wrote into each.  This report, and never the collector's count, is the number written.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import *  # noqa: E402,F403

BIN = os.environ.get("INTEROP_BIN", "build/tests/interop")

# Eight events fit in a station.  With these, a coroutine's ninth comes a quarter of a second
# after its first, and a collector that sleeps longer has been starved by the machine.
GENTLE = ["-c", "32", "-e", "24", "-p", "1000"]
GENTLE_THREADS = ["-c", "32", "-e", "24", "-p", "4000", "-t", "4"]


def program(name):
    path = os.path.join(BIN, name)
    if name == "writer_002_cpp" and not os.path.exists(path):
        raise Skip("the compiler has no coroutines")
    return path


class Interop(Run):
    """A finished run of some writers: their reports, the trace, the collector's output."""

    def __init__(self, status, out, err, trace, started):
        super().__init__(status, out, err, trace)
        self.started, self.ended = started, time.monotonic_ns()
        self.reports = [json.loads(line) for line in out.splitlines() if line.startswith("{")]

    @property
    def written(self):
        return [c for report in self.reports for c in report["coroutines"]]

    def total_written(self):
        return sum(c["events"] for c in self.written)


class ForeignInterop(Interop):
    """Its trace is in slot order; the order of a coroutine's events is that of time."""

    @property
    def events(self):
        return sorted(super().events, key=lambda e: e["ts"])


def collect(dir, *command, stations=64, **kwargs):
    """The command under corotracer's collector."""
    trace = os.path.join(dir, "trace.jsonl")
    started = time.monotonic_ns()
    status, out, err = tool("run", "--json", "-n", stations, "-o", trace, "--", *command, **kwargs)
    return Interop(status, out, err, trace, started)


def collect_foreign(dir, *command, stations=64):
    """The command under a cTP 0.x collector."""
    trace = os.path.join(dir, "foreign.jsonl")
    started = time.monotonic_ns()
    p = popen(program("reader_002"), "-n", stations, "-o", trace, *command)
    out, err = p.communicate(timeout=300)
    return ForeignInterop(p.returncode, out, err, trace, started)


def together(*commands):
    """Several commands in parallel, as words for a shell."""
    return ["sh", "-c", " & ".join(words(*c) for c in commands) + " & wait"]


def place_of(coroutine):
    """Its station; under a collector with lanes it has no station, but an id of its own."""
    return coroutine["station"] if coroutine["station"] >= 0 else f"id {coroutine['probe_id']}"


def by_place(run):
    """Events of each coroutine, in the order of the trace.

    Where coroutines share an id, all but the first one found have their station in the event.
    """
    named, unnamed = {}, {}
    for event in run.events:
        if "station" in event:
            named.setdefault(event["station"], []).append(event)
        else:
            unnamed.setdefault(event["probe_id"], []).append(event)
    for probe_id, events in unnamed.items():
        left = [place_of(c) for c in run.written
                if c["probe_id"] == probe_id and place_of(c) not in named]
        equal(len(left), 1, f"places that the events of probe {probe_id} can be from")
        named[left[0]] = events
    return named


def number_of(coroutine, event, seq_kind):
    """The number of this event in its coroutine: from its payload, if that holds it."""
    if seq_kind == "seed-000":
        return event["seq"] - 1
    addr = int(event["addr"], 16)
    equal(event["is_active"], addr == 0, "a resume, by its address")
    if "nr" not in coroutine or not addr:
        return None
    equal(addr >> 32, coroutine["nr"] + 1, "the coroutine in the address")
    return addr & 0xFFFFFFFF


def check_event(coroutine, event, k, kind):
    """Event k, with its payload."""
    equal(list(event)[:6], ["probe_id", "tid", "addr", "seq", "is_active", "ts"], "keys")
    equal(event["probe_id"], coroutine["probe_id"], "probe_id")
    equal(event["seq"], k + 1 if kind == "seed-000" else 2 * (k // 8) + 2, f"seq of event {k}")
    equal(event["is_active"], k % 2 == 1, f"is_active of event {k}")
    if k % 2:
        equal(event["addr"], "0x%016x" % 0, f"addr of resume {k}")
    elif "nr" in coroutine:
        equal(event["addr"], "0x%016x" % ((coroutine["nr"] + 1) << 32 | k), f"addr of suspend {k}")
    else:
        assert int(event["addr"], 16) != 0, f"suspend {k} has no address"
    assert event["tid"] > 0


def check_time(run, events):
    """Time goes forward, and is the time of the run."""
    for before, after in zip(events, events[1:]):
        assert after["ts"] >= before["ts"], f"time went back: {before} then {after}"
    if events:
        slack = 1_000_000
        assert run.started - slack <= events[0]["ts"], "an event from before the run"
        assert events[-1]["ts"] <= run.ended + slack, "an event from after the run"


def check_complete(run):
    """Every event was collected, once, in order, with its payload."""
    stations = by_place(run)
    for report in run.reports:
        for coroutine in report["coroutines"]:
            events = stations.pop(place_of(coroutine), [])
            equal(len(events), coroutine["events"], f"events of {coroutine}")
            check_time(run, events)
            for k, event in enumerate(events):
                check_event(coroutine, event, k, report["writer"])
    equal(stations, {}, "events that nobody wrote")


def check_partial(run):
    """The collected events are right, though many are missing."""
    stations = by_place(run)
    for report in run.reports:
        for coroutine in report["coroutines"]:
            events = stations.pop(place_of(coroutine), [])
            assert len(events) <= coroutine["events"], f"too many events of {coroutine}"
            check_time(run, events)
            last = -1
            for event in events:
                k = number_of(coroutine, event, report["writer"])
                if k is None:
                    continue
                assert k > last, f"event {k} after event {last}"
                check_event(coroutine, event, k, report["writer"])
                last = k
    equal(stations, {}, "events that nobody wrote")


def check_counts(run):
    """Every loss is counted: the written count of each station is that of the writer."""
    summary = run.summary
    equal(summary["written"], run.total_written(), "written")
    equal(summary["collected"] + summary["lost"], summary["written"], "collected + lost")
    equal(summary["collected"], len(run.events), "lines in the trace")
    equal(summary["garbage"], 0, "garbage")
    told = {c["station"]: c["written"] for c in run.coroutines() if c["station"] is not None}
    equal(told, {c["station"]: c["events"] for c in run.written if c["station"] >= 0},
          "written per station")


def check_writers(run, **wanted):
    got = {name.replace("-", "_"): nr for name, nr in run.summary["writers"].items() if nr}
    equal(got, wanted, "stations by writer")


def collect_all(*args, status=0, **kwargs):
    """A gentle run under corotracer's collector: nothing lost, everything right.

    Eight slots last for some milliseconds, and a busy machine may poll too late: then missing events
    must be counted, and the run is repeated.
    """
    for _ in range(5):
        run = collect(*args, **kwargs)
        equal(run.status, status, f"exit status; stderr was\n{run.err}")
        check_counts(run)
        if run.summary["lost"] == 0:
            check_complete(run)
            return run
        assert any(run.summary["writers"].values()), f"lanes lose nothing: {run.summary}"
        check_partial(run)
    raise AssertionError(f"events are lost each time: {run.summary}")
