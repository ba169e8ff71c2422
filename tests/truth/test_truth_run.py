# SPDX-License-Identifier: MIT
"""test_truth_run.py - the summary of `run`, compared with the program's own counts and the raw trace."""
import re
import resource

from truth import *

# One tiny buffer for all faults: the program writes much more than that.
TINY = ["--buffer", "1M"]
STATION_BYTES = 1024
SLOW_CONNECT = os.environ.get("SLOW_CONNECT", "build/tests/truth/libtruth_slow_connect.so")


def lost_of(run, trace):
    """Transitions that each coroutine wrote and that the trace does not hold."""
    held = collections.Counter(e["id"] for e in trace.transitions)
    return {id: co["resumes"] + co["suspends"] - held[id] for id, co in run.truth.coroutines.items()}


# ---- checks -------------------------------------------------------------------------------


@check
def run_counts_what_the_program_wrote_and_the_trace_holds(n, run, trace, forgotten=False):
    written, held = run.truth.transitions, len(trace.transitions)
    n.equal("written", written)
    n.equal("collected", held)
    n.equal("coroutines", len(run.truth.coroutines))
    n.equal("without_station", len(run.truth.untraced))
    missing = written - held
    n.equal("forgotten", missing if forgotten else 0)
    n.equal("lost", 0 if forgotten else missing)
    n.equal("garbage", 0)
    n.equal("unfinished", 0)


@check
def run_gives_each_lost_event_one_cause(n, run, stations):
    lost = n["lost"]
    n.equal("lost_overwritten", lost if stations else 0)
    n.equal("lost_full", 0 if stations else lost)
    n.equal("lost_output", 0)
    if n.has("lost_untraced"):
        n.equal("lost_untraced", 0)


@check
def run_counts_births_wakes_and_ends(n, run, trace, stations, forgotten):
    held = collections.Counter(e["kind"] for e in trace.others)
    n.equal("others.collected", len(trace.others))
    n.equal("others.lost", 0 if stations or forgotten else run.truth.others - len(trace.others))
    for kind in OTHER_KINDS:
        # A flight recorder counts what it read; the trace has the newest part.
        n.equal(f"others.{kind}", 0 if stations else run.truth.kinds[kind] if forgotten else held[kind])


@check
def run_tells_how_the_program_ended(n, run, exit_status, signal_number):
    n.equal("exit_status", exit_status)
    n.equal("status", exit_status)
    n.equal_all("", {"signal": signal_number})
    equal(run.status, -signal_number if signal_number else exit_status, "status of the tool")


@check
def run_takes_the_time_that_passed_outside(n, run, processor_ns):
    n.within("duration_ns", run.truth.exit - run.truth.start, run.ended - run.began)
    n.within("collector_cpu_ns", 1, processor_ns)
    if n.has("collecting_ns"):
        n.within("collecting_ns", n["duration_ns"], run.ended - run.began)


@check
def run_counts_connections_and_wakeups(n, run):
    n.equal("connected", 1)
    n.equal("still_connected", 0)
    n.equal("refused", 0)
    n.equal("turned_away", 0)
    n.equal("modules_left_out", 0)
    n.within("wakeups", 0, run.truth.transitions + run.truth.others)


@check
def run_counts_lanes_and_waits(n, run, stations, blocks):
    n.equal("lanes.opened", 0 if stations else len(run.truth.threads))
    n.equal("lanes.broken", 0)
    n.equal("lanes.lost_sites", 0)
    if not blocks:
        n.equal("lanes.waits", 0)
        n.equal("lanes.wait_ns", 0)
        return
    n.within("lanes.waits", 1, run.truth.transitions)
    n.within("lanes.wait_ns", 1, len(run.truth.threads) * (run.ended - run.began))


def switches_held(trace):
    return len([f for f in trace.facts["switch"] if f["state"] in ("blocked", "preempted", "ready")])


@check
def run_counts_context_switches(n, trace, forgotten):
    """tests/slices/test_slices_switches.py compares each of them with the kernel's counters."""
    if forgotten:
        n.within("switches.recorded", switches_held(trace), 1 << 30)
    else:
        n.equal("switches.recorded", switches_held(trace))
    n.equal("switches.lost", sum(f.get("lost", 0) for f in trace.facts["switch"]))


@check
def run_counts_forgotten_facts(n, trace, forgotten):
    """Times without a processor are counted where they are made, too.  A few others are about descriptors, and times of long slices."""
    gone = n["switches.recorded"] - switches_held(trace)
    n.within("facts.forgotten", gone, gone + 1000 if forgotten else 0)
    n.equal("facts.refused", 0)


@check
def run_counts_frames(n, trace):
    """tests/frames/run/test_frames_run.py compares each of them with the program's own list."""
    facts = trace.facts["frame"]
    frames = [f for f in facts if "frame" in f]
    lost = sum(f.get("lost", 0) for f in facts)
    n.equal_all("frames", {"buffers": len({f["buffer"] for f in facts}), "issued": len(frames) + lost,
                           "recorded": len(frames), "in_coroutine": len([f for f in frames if "probe_id" in f]),
                           "late": len([f for f in frames if "late" in f]), "lost": lost, "dropped": 0})


@check
def run_watches_the_clocks(n):
    """Nothing happens to them here: faults/clocks changes them, unit/clock_watch computes with given readings."""
    n.equal_all("clocks", {"suspended_ns": 0, "wall_step_ns": 0, "counter_changes": 0})


@check
def run_knows_the_size_of_its_region_and_the_writers(n, run, stations, buffer):
    n.within("region_bytes", 128 * STATION_BYTES, 128 * STATION_BYTES + buffer)
    n.equal("writers.corotracer", len(run.truth.coroutines) if stations else 0)
    n.equal("writers.seed-002", 0)
    n.equal("writers.seed-000", 0)


@check
def run_names_the_coroutines_that_lost_most(n, run, trace, stations):
    lost = lost_of(run, trace)
    worst = sorted((nr for nr in lost.values() if nr), reverse=True)[:5]
    rows = n.output["worst"]
    equal([row["lost"] for row in rows], worst, "what the worst lost, most first")
    in_station = {co["id"]: co["station"] for co in trace.facts["coroutine"]}
    for i, row in enumerate(rows):
        co = run.truth.coroutines[row["probe_id"]]
        n.equal_all(f"worst[{i}]", {"probe_id": co["id"], "written": co["resumes"] + co["suspends"],
                                    "lost": lost[co["id"]], "station": in_station[co["id"]] if stations else None})
        equal(row["name"], co["name"], "name of the worst")


@check
def run_names_the_processes_that_did_not_connect(n, pid):
    n.equal("unconnected[0].pid", pid)
    equal(n.output["unconnected"][0]["reason"], "no-environment", "the reason")


def check_summary(run, processor_ns, stations=False, forgotten=False, blocks=False, exit_status=0, signal_number=None,
                  buffer=1 << 40):
    n, trace = Numbers("run", run.summary), read_trace(run.trace)
    run_counts_what_the_program_wrote_and_the_trace_holds(n, run, trace, forgotten)
    run_gives_each_lost_event_one_cause(n, run, stations)
    run_counts_births_wakes_and_ends(n, run, trace, stations, forgotten)
    run_tells_how_the_program_ended(n, run, exit_status, signal_number)
    run_takes_the_time_that_passed_outside(n, run, processor_ns)
    run_counts_connections_and_wakeups(n, run)
    run_counts_lanes_and_waits(n, run, stations, blocks)
    run_counts_context_switches(n, trace, forgotten)
    run_counts_forgotten_facts(n, trace, forgotten)
    run_counts_frames(n, trace)
    run_watches_the_clocks(n)
    run_knows_the_size_of_its_region_and_the_writers(n, run, stations, buffer)
    if not forgotten:
        run_names_the_coroutines_that_lost_most(n, run, trace, stations)
    n.done()
    return n


def processor_time_of(action):
    """(result, processor time of all processes that ended meanwhile)"""
    def used():
        u = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (u.ru_utime + u.ru_stime) * 1e9
    before = used()
    result = action()
    return result, used() - before


def checked_run(dir, **kwargs):
    keys = ("stations", "forgotten", "blocks", "exit_status", "signal_number", "buffer")
    expected = {key: kwargs.pop(key) for key in keys if key in kwargs}
    run, processor_ns = processor_time_of(lambda: TracedRun(dir, **kwargs))
    return run, check_summary(run, processor_ns, **expected)


# ---- runs ------------------------------------------------------------------------------------


@test
def a_quiet_run_is_summed_up_exactly(dir):
    for _ in repeats():
        for name in "t.jsonl", "t.ctf":
            _, n = checked_run(dir, name=name, program=["hold=20", "status=3"], exit_status=3)
            equal(n["lost"], 0, "lost")


@test
def a_run_on_a_busy_machine_is_summed_up_exactly(dir):
    for _ in repeats():
        for name in "t.jsonl", "t.ctf":
            _, n = checked_run(dir, name=name, load=True, options=["--cpu"], program=["threads=4", f"rounds={2000 if FULL else 700}"])
            assert n["switches.recorded"] > 0, "no context switch, so nothing was tested"


@test
def what_a_stopped_collector_lost_is_summed_up_exactly(dir):
    for _ in repeats():
        for name in "t.jsonl", "t.ctf":
            _, n = checked_run(dir, name=name, options=TINY, program=["rounds=8000", "stop=1"], buffer=1 << 21)
            assert n["lost"] > 0, "nothing was lost, so nothing was tested"


@test
def a_run_that_waits_for_room_is_summed_up_exactly(dir):
    _, n = checked_run(dir, options=[*TINY, "--on-full", "block=60000"], program=[f"rounds={10000 if FULL else 5000}"], blocks=True, load=True)
    equal(n["lost"], 0, "lost")


@test
def coroutines_of_a_slow_attach_are_traced_or_counted(dir):
    """One thread attaches for half a second; events of the other threads are traced or counted as lost."""
    run = TracedRun(dir, options=["--no-inherit"], program=["threads=4", "init=0", "hold=1500"], preload=SLOW_CONNECT)
    counted = run.summary["coroutines"] + run.summary["without_station"]
    equal(counted, len(run.truth.all), "coroutines: traced, and not traced")


@test
def a_killed_program_is_summed_up_exactly(dir):
    checked_run(dir, program=["kill=1", "rounds=3000"], exit_status=128 + signal.SIGKILL, signal_number=signal.SIGKILL)


@test
def a_run_with_stations_is_summed_up_exactly(dir):
    os.environ["COROTRACER_NO_LANES"] = "1"
    try:
        _, n = checked_run(dir, program=["rounds=300"], stations=True)
    finally:
        del os.environ["COROTRACER_NO_LANES"]
    assert n["lost"] > 0, "nothing was lost, so nothing was tested"


@test
def a_flight_recorder_is_summed_up_exactly(dir):
    _, n = checked_run(dir, options=["--flight-recorder", "64K"], program=["rounds=3000"], forgotten=True)
    assert n["forgotten"] > 0, "nothing was forgotten, so nothing was tested"


@test
def a_flight_recorder_counts_the_facts_that_it_forgets(dir):
    _, n = checked_run(dir, options=["--flight-recorder", "64K", "--cpu"], program=["threads=4", "rounds=3000"],
                       forgotten=True)
    assert n["facts.forgotten"] > 0, "nothing was forgotten, so nothing was tested"
    # On a machine with nothing else to do there may be no more switches than the recorder keeps.
    for number in range(20):
        run = TracedRun(dir, name=f"text{number}.jsonl", json_summary=False, options=["--flight-recorder", "64K", "--cpu"],
                        program=["threads=4", "rounds=3000"])
        if re.search(r"^corotracer: forgotten: [\d,]+ older facts? about threads, descriptors and frames$", run.err, re.M):
            return
    raise AssertionError(run.err)


def process_of(pid, program):
    """The process below @pid that runs @program, by the kernel's account; None: not yet."""
    todo = [pid]
    while todo:
        pid = todo.pop()
        try:
            if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(program):
                return pid
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                todo += [int(n) for n in f.read().split()]
        except FileNotFoundError:
            pass
    return None


@test
def a_process_that_cannot_connect_is_named(dir):
    for hold in 300, 2000, 10000, 30000:
        p = popen(TOOL, "run", "--json", "-o", dir + "/t.jsonl", "--", "env", "-i", PROGRAM, dir + "/truth", f"hold={hold}")
        wait_until(lambda: process_of(p.pid, PROGRAM) or p.poll() is not None, "the program runs")
        pid = process_of(p.pid, PROGRAM)
        _, err = p.communicate(timeout=300)
        summary = json.loads([line for line in err.splitlines() if line.startswith("{")][0])
        if pid and summary["unconnected"]:
            break
    equal((p.returncode, len(summary["unconnected"])), (1, 1), err)
    run_names_the_processes_that_did_not_connect(Numbers("run", summary), pid)


# ---- the same in text ----------------------------------------------------------------------------


@test
def the_text_of_a_quiet_run_has_the_same_numbers(dir):
    run = TracedRun(dir, json_summary=False, program=["hold=20"])
    held, text = len(read_trace(run.trace).transitions), Text(run.err)
    text.line(r": ([\d,]+) events of ([\d,]+) coroutines in \d+\.\d\d s -> ", count_text(held), len(run.truth.coroutines))
    text.line(r"lost: none of ([\d,]+) written$", count_text(run.truth.transitions))
    text.done()


@test
def the_text_of_a_run_with_loss_has_the_same_numbers(dir):
    run = TracedRun(dir, json_summary=False, options=TINY, program=["rounds=8000", "stop=1"])
    trace, truth, text = read_trace(run.trace), run.truth, Text(run.err)
    held, others = len(trace.transitions), len(trace.others)
    lost = truth.transitions - held
    text.line(r": ([\d,]+) events of ([\d,]+) coroutines in \d+\.\d\d s -> ", count_text(held), len(truth.coroutines))
    text.line(r"lost: ([\d,]+) of ([\d,]+) written \(([\d.]+ %)\), ([\d,]+) because the buffer was full$",
              count_text(lost), count_text(truth.transitions), share_text(lost, truth.transitions), count_text(lost))
    text.line(r"lost too: ([\d,]+) of ([\d,]+) creations", count_text(truth.others - others), count_text(truth.others))
    per_coroutine = lost_of(run, trace)
    worst = sorted(per_coroutine.values(), reverse=True)[:5]
    for line in (line for line in run.err.splitlines() if "worst:" in line):
        id = int(re.search(r"coroutine (\d+)", line)[1])
        co = truth.coroutines[id]
        equal(per_coroutine[id], worst.pop(0), "what the worst lost")
        text.line(r"worst: ([\d,]+) of ([\d,]+) lost by coroutine (\d+) \"([^\"]+)\"", count_text(per_coroutine[id]),
                  count_text(co["resumes"] + co["suspends"]), id, co["name"])
    text.done()


if __name__ == "__main__":
    main()
