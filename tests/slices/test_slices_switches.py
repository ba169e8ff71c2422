# SPDX-License-Identifier: MIT
"""`run --cpu`: every context switch of a slice is in the trace, by the thread's own counters and clocks."""
import sys

from slices import *

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../view"))
import bundle  # noqa: E402

PROGRAM = sys.argv[1]
MS = 1_000_000


def busy_process(cpu):
    """Takes processor time on @cpu."""
    return subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"])


def slices_told(text):
    keys = ("tid", "from", "to", "cpu", "waited", "forced", "ready")
    return [dict(zip(keys, map(int, line.split()))) for line in text.splitlines()]


def run_traced(name, *options, words=(), prefix=()):
    """(slices by the program, trace, summary)"""
    trace = f"{SCRATCH.name}/{name}"
    done = subprocess.run([*prefix, TOOL, "run", "--cpu", "--json", "-o", trace, *options, "--", PROGRAM, *words],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    summary = json.loads(next(line for line in done.stderr.splitlines() if line.startswith("{")))
    return slices_told(done.stdout), trace, summary


def switch_lines(trace):
    if trace.endswith((".ctf", ".ct")):
        copy = trace + ".jsonl"
        subprocess.run([TOOL, "export", "jsonl", trace, "-o", copy], check=True, capture_output=True)
        trace = copy
    with open(trace + ".meta", encoding="utf-8") as f:
        return [line for line in map(json.loads, f) if line["type"] == "switch"]


def check_slices(slices, lines):
    """Each slice has exactly the switches that the kernel counted for its thread, and the rest is processor time."""
    for s in slices:
        inside = [l for l in lines if l["tid"] == s["tid"] and s["from"] <= l["from_ts"] and l["to_ts"] <= s["to"]]
        states = [l["state"] for l in inside]
        # A switch between the clock and the counter is in one of the two.
        outside = [l for l in lines if l["tid"] == s["tid"] and l not in inside
                   and (s["from"] - MS <= l["to_ts"] <= s["from"] or s["to"] <= l["from_ts"] <= s["to"] + MS)]
        # A wait has a part before the wake-up, a part after it, or both.
        joined = {l["from_ts"] for l in inside if l["state"] == "blocked"} | {l["from_ts"] for l in inside if l["state"] == "ready"
                  and not any(b["state"] == "blocked" and b["to_ts"] == l["from_ts"] for b in inside)}
        for state, told, counted in (("blocked", len(joined), s["waited"]), ("preempted", states.count("preempted"), s["forced"])):
            assert told <= counted <= told + len(outside), (state, s, inside, outside)
        away = sum(l["to_ts"] - l["from_ts"] for l in inside)
        # The rest of the slice is processor time; interrupts and a stop of the virtual machine are in it, too.
        assert s["to"] - s["from"] - away >= s["cpu"] - 2 * MS, (s, away)


def check_order(lines):
    last = {}
    for l in lines:
        if l["state"] in ("blocked", "preempted", "ready"):
            assert last.get(l["tid"], 0) <= l["from_ts"] < l["to_ts"], l
            last[l["tid"]] = l["to_ts"]
    return last


def every_switch_is_in_the_trace(form):
    slices, trace, summary = run_traced("plain." + form)
    lines = switch_lines(trace)
    check_order(lines)
    check_slices(slices, lines)
    equal_counts(lines, summary)
    recorded = [l for l in lines if l["state"] == "recorded"]
    assert len(recorded) == 1 and recorded[0]["to_ts"] < slices[0]["from"], recorded


def equal_counts(lines, summary):
    written = [l for l in lines if l["state"] in ("blocked", "preempted", "ready")]
    lost = sum(l.get("lost", 0) for l in lines if l["state"] == "lost")
    assert (summary["switches"]["recorded"], summary["switches"]["lost"]) == (len(written), lost), summary["switches"]


def preemption_by_a_neighbour_is_told_from_waiting():
    cpu = min(os.sched_getaffinity(0))
    neighbour = busy_process(cpu)
    try:
        slices, trace, _ = run_traced("busy.jsonl", words=["24", str(cpu)])
    finally:
        neighbour.kill()
        neighbour.wait()
    lines = switch_lines(trace)
    check_slices(slices, lines)
    queued = sum(l["to_ts"] - l["from_ts"] for l in lines if l["state"] == "preempted")
    assert queued > 20 * MS, f"preempted for {queued} ns beside a busy process"


TRACEFS = "/sys/kernel/tracing"
MOUNTED = f"mount -t tracefs tracefs {TRACEFS} 2>/dev/null; exec \"$@\""


def may_record_wakes():
    """Root with tracefs, which is mounted for the test alone."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "sh", "-c", MOUNTED, "sh", "test", "-r", f"{TRACEFS}/events/sched/sched_waking/format"],
                                                capture_output=True).returncode == 0


def times_with_wakes(words):
    """Of a run with wake-ups: time without a processor by its lines and by the kernel, time in sleeps, and the slices."""
    slices, trace, summary = run_traced("wakes.jsonl", words=words, prefix=["unshare", "-m", "sh", "-c", MOUNTED, "sh"])
    assert summary["switches"]["why_no_wakes"] is None, summary["switches"]
    lines = switch_lines(trace)
    check_order(lines)
    check_slices(slices, lines)
    equal_counts(lines, summary)
    assert [l["state"] for l in lines if not l["tid"]] == ["recorded", "wakes"]
    ours = blocked = 0
    for s in slices:
        for l in lines:
            if l["tid"] == s["tid"] and s["from"] <= l["from_ts"] and l["to_ts"] <= s["to"]:
                ours += l["to_ts"] - l["from_ts"] if l["state"] != "blocked" else 0
                blocked += l["to_ts"] - l["from_ts"] if l["state"] == "blocked" else 0
    return ours, sum(s["ready"] for s in slices), blocked, slices


def wake_ups_divide_waits(words=()):
    """Ready and preempted together are what the kernel counts as time without a processor."""
    if not may_record_wakes():
        print("not tested: wake-ups need root and tracefs")
        return
    for _ in range(5):
        stolen = stolen_ticks()
        ours, kernels, blocked, slices = times_with_wakes(words)
        is_like = not kernels or abs(ours - kernels) < 2 * MS + 0.05 * kernels
        if is_like or stolen_ticks() == stolen:
            break
    assert is_like, f"{ours} ns, and the kernel counts {kernels}"
    # Half of the slices sleep for 3 ms; a virtual machine may be late.
    sleeps = len(slices) / 2 * 3 * MS
    assert sleeps * 0.99 <= blocked < sleeps * 4 + 200 * MS, f"{blocked} ns blocked in sleeps of {sleeps} ns"


def without_wake_ups_the_summary_says_so():
    done = subprocess.run([TOOL, "run", "--cpu", "-o", f"{SCRATCH.name}/no-wakes.jsonl", "--", PROGRAM, "2"], capture_output=True, text=True)
    wakes = any(l["state"] == "wakes" for l in switch_lines(f"{SCRATCH.name}/no-wakes.jsonl"))
    said = [l for l in done.stderr.splitlines() if "wake-ups" in l or "hint" in l]
    assert len(said) == (0 if wakes else 2), done.stderr


def a_running_program_is_recorded_from_the_attach_on():
    """All threads that exist, and those that they create."""
    # On a loaded machine the program has more slices, so that both threads have some after the attach.
    for nr in (200, 1000, 5000):
        later, lines = attach_to_slices(nr)
        if len({s["tid"] for s in later}) == 2:
            break
    assert len({s["tid"] for s in later}) == 2, "both threads have slices after the attach"
    check_slices(later, lines)


def attach_to_slices(nr):
    """(slices after the attach, switches)"""
    program = subprocess.Popen([PROGRAM, str(nr)], stdout=subprocess.PIPE, text=True)
    trace = f"{SCRATCH.name}/attached.jsonl"
    time.sleep(0.3)
    done = subprocess.run([TOOL, "run", "--cpu", "--json", "-p", str(program.pid), "-o", trace],
                          capture_output=True, text=True, timeout=300)
    out = program.communicate(timeout=300)[0]
    if "there is no process" in done.stderr or "has ended" in done.stderr and done.returncode:
        return [], []  # before the attach
    assert done.returncode == 0, done.stderr
    lines = switch_lines(trace)
    check_order(lines)
    since = next(l for l in lines if l["state"] == "recorded")["to_ts"]
    return [s for s in slices_told(out) if s["from"] > since + MS], lines


def viewers_and_tables_have_them():
    _, trace, summary = run_traced("exported.jsonl")
    nr = summary["switches"]["recorded"]
    subprocess.run([TOOL, "export", "chrome", trace, "-o", trace + ".json"], check=True, capture_output=True)
    with open(trace + ".json", encoding="utf-8") as f:
        drawn = [e for e in json.load(f)["traceEvents"] if e.get("cat") == "processor" and e["ph"] == "b"]
    assert len(drawn) == nr, f"{len(drawn)} of {nr} drawn"
    subprocess.run([TOOL, "export", "csv", "--full", trace, "-o", trace + ".csv"], check=True, capture_output=True)
    with open(f"{SCRATCH.name}/exported.jsonl.switches.csv", encoding="utf-8") as f:
        assert len(f.readlines()) in (nr + 2, nr + 3), "the table has a head, and rows that say since when"


def page_of(trace):
    subprocess.run([TOOL, "html", "-q", trace, "-o", trace + ".html"], check=True, capture_output=True)
    return bundle.Bundle(trace + ".html")


def the_page_splits_each_slice():
    """Computed here from the lines of the trace, for each slice, coroutine and site."""
    _, trace, _ = run_traced("page.jsonl")
    lines = [l for l in switch_lines(trace) if l["tid"]]
    page = page_of(trace)
    origin, tids = int(page.meta["origin"]), [t["tid"] for t in page.meta["threads"]]
    sums = {}
    for s in page.slices():
        assert s["flags"] & 32, f"not measured: {s}"
        away = {"blocked": 0, "preempted": 0, "ready": 0}
        for l in (l for l in lines if l["tid"] == tids[s["thread"]]):
            away[l["state"]] += max(0, min(l["to_ts"], origin + s["start"] + s["dur"]) - max(l["from_ts"], origin + s["start"]))
        # Time in which the process was stopped is moved to blocked; here it was not.
        assert (s["queued"], s["blocked"]) == (away["preempted"] + away["ready"], away["blocked"]), (s, away)
        sums.setdefault(s["coro"], []).append((s["dur"], s["queued"], s["blocked"]))
    assert sum(x[1] for l in sums.values() for x in l) > 0 and sum(x[2] for l in sums.values() for x in l) > 20 * MS
    for nr, co in page.coroutines().items():
        assert (co["cpu_measured"], co["cpu_queued"], co["cpu_blocked"]) == tuple(map(sum, zip(*sums[nr]))), co
    sites = [s["cpu"] for s in page.sites["sites"] if "cpu" in s]
    everything = [x for l in sums.values() for x in l]
    assert [sum(s[k] for s in sites) for k in ("slices", "measured", "queued", "blocked")] == \
        [len(everything), *map(sum, zip(*everything))], sites


def a_page_without_switches_says_nothing():
    trace = f"{SCRATCH.name}/without.jsonl"
    subprocess.run([TOOL, "run", "-q", "-o", trace, "--", PROGRAM, "2"], check=True, capture_output=True)
    page = page_of(trace)
    assert page.meta["cpu"] is None
    assert not any("cpu" in s for s in page.sites["sites"]) and "queued" not in page.sections["slices/0"].columns
    assert all(c["cpu_measured"] == 0 for c in page.coroutines().values())


def a_flight_recorder_keeps_them():
    slices, trace, _ = run_traced("flight.jsonl", "--flight-recorder", "64M")
    lines = switch_lines(trace)
    check_order(lines)
    check_slices(slices, lines)
    assert [l["state"] for l in lines].count("recorded") == 1, "it is said since when they are recorded"


def main():
    for form in ("jsonl", "ctf", "ct"):
        every_switch_is_in_the_trace(form)
    preemption_by_a_neighbour_is_told_from_waiting()
    wake_ups_divide_waits()
    without_wake_ups_the_summary_says_so()
    if "thread" not in os.environ.get("SANITIZE", ""):  # it reports the first use of a mapping that another thread made
        a_running_program_is_recorded_from_the_attach_on()
    viewers_and_tables_have_them()
    the_page_splits_each_slice()
    a_page_without_switches_says_nothing()
    a_flight_recorder_keeps_them()


main()
