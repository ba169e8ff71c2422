# SPDX-License-Identifier: MIT
"""test_run.py - `corotracer run` on correct programs."""
from harness import *


@test
def every_event_of_a_gentle_program_is_collected_in_order(dir):
    r = run(dir, "events", 10, 40, 100)
    equal(r.status, 0, "status")
    equal(r.summary["written"], 400, "written")
    equal(r.summary["collected"], 400, "collected")
    equal(r.summary["lost"], 0, "lost")
    equal(r.summary["coroutines"], 10, "coroutines")
    equal(r.summary["garbage"], 0, "garbage")
    equal(len(r.events), 400, "events in the file")
    check_order(r.events)
    by_id = {}
    for e in r.events:
        by_id.setdefault(e["probe_id"], []).append(e)
    equal(len(by_id), 10, "distinct ids")
    for events in by_id.values():
        equal([e["is_active"] for e in events], [k % 2 == 0 for k in range(40)], "turns")
        equal([int(e["addr"], 16) for e in events], [0 if k % 2 == 0 else k + 1 for k in range(40)], "addresses")
        equal([e["seq"] for e in events], [2 * (k // 8) + 2 for k in range(40)], "seqs")


@test
def a_line_is_exactly_the_six_keys(dir):
    import re
    r = run(dir, "events", 2, 4, 0)
    form = re.compile(r'^\{"probe_id":\d+,"tid":\d+,"addr":"0x[0-9a-f]{16}","seq":\d+,'
                      r'"is_active":(true|false),"ts":\d+\}$')
    with open(r.trace, encoding="ascii") as f:
        lines = f.read().split("\n")
    equal(lines.pop(), "", "end of the file")
    equal(len(lines), 8, "lines")
    for line in lines:
        assert form.match(line), line


@test
def the_sidecar_tells_names_births_deaths_and_totals(dir):
    r = run(dir, "events", 3, 10, 100)
    kinds = [record["type"] for record in r.sidecar]
    equal(kinds[0], "run", "first record")
    equal(kinds[-1], "totals", "last record")
    equal([c["name"] for c in r.coroutines()], ["co 0", "co 1", "co 2"], "names")
    for c in r.coroutines():
        events = [e for e in r.events if e["probe_id"] == c["probe_id"]]
        assert c["dead"] and c["birth_ts"] < events[0]["ts"] <= events[-1]["ts"] < c["death_ts"], c
        equal((c["written"], c["collected"], c["lost"]), (10, 10, 0), "counts")
        equal(c["writer"], "corotracer", "writer")
    totals = r.sidecar[-1]
    equal((totals["written"], totals["collected"], totals["lost"], totals["exit_status"]), (30, 30, 0, 0), "totals")
    contains(json.dumps(r.sidecar[0]["command"]), "events")


@test
def at_full_speed_what_is_lost_is_counted_to_the_event(dir):
    r = run(dir, "events", 4, 200000, 0, env=STATIONS_ONLY)
    s = r.summary
    equal(s["written"], 800000, "written")
    equal(s["collected"] + s["lost"], s["written"], "collected + lost")
    equal(len(r.events), s["collected"], "events in the file")
    equal(len(r.coroutines()), 4, "coroutines in the sidecar")
    for c in r.coroutines():
        equal(c["written"], 200000, "written by one coroutine")
        equal(len([1 for e in r.events if e["probe_id"] == c["probe_id"]]), c["collected"], "its events")
    check_order(r.events)


@test
def standard_input_and_output_are_the_programs_own(dir):
    text = "a line\nand another without an end"
    status, out, err = tool("run", "-o", dir + "/t", "--", TARGET, "echo", input=text)
    equal(status, 0, "status")
    equal(out, text, "stdout")
    contains(err, "on stderr\n")


@test
def the_exit_status_is_the_programs(dir):
    for code in (0, 3, 255):
        r = run(dir, "then-exit", 1, 4, code)
        equal(r.status, code, "status")
        equal(r.summary["exit_status"], code, "exit_status")
        equal(r.summary["collected"], 4, "collected")


@test
def a_program_killed_after_its_last_event_loses_nothing(dir):
    for _ in range(10):
        r = run(dir, "then-kill", 16, 8)
        equal(r.status, -signal.SIGKILL, "status")
        equal((r.summary["written"], r.summary["collected"]), (128, 128), "events")
        equal(r.summary["signal"], signal.SIGKILL, "signal")


@test
def a_forked_child_writes_its_own_stations_and_not_its_parents(dir):
    r = run(dir, "fork", 3, 8)
    equal(r.summary["connected"], 2, "processes")
    equal(r.summary["coroutines"], 6, "coroutines")
    equal((r.summary["written"], r.summary["collected"]), (48, 48), "events")
    assert not [e for e in r.events if int(e["addr"], 16) == 0xBAD], "the child wrote into a parent's station"
    for who in ("parent", "child"):
        mine = [c for c in r.coroutines() if c["name"].startswith(who)]
        equal(len(mine), 3, who)
        equal(len({c["pid"] for c in mine}), 1, "pids of " + who)


@test
def a_process_left_behind_is_told_and_wait_all_waits_for_it(dir):
    r = run(dir, "orphan")
    equal(r.summary["still_connected"], 1, "still connected")
    equal(r.summary["collected"], 4, "collected")
    r = run(dir, "orphan", options=["--wait-all"])
    equal(r.summary["still_connected"], 0, "still connected")
    equal(r.summary["collected"], 6, "collected")


@test
def more_coroutines_than_stations_are_no_matter_with_lanes(dir):
    r = run(dir, "events", 2000, 4, 0, options=["-n", 7])
    equal((r.summary["coroutines"], r.summary["without_station"]), (2000, 0), "coroutines, without a station")
    equal((r.summary["written"], r.summary["collected"]), (8000, 8000), "events")
    equal(len({e["probe_id"] for e in r.events}), 2000, "distinct ids")


@test
def more_coroutines_than_stations_are_counted(dir):
    r = run(dir, "events", 20, 4, 0, options=["-n", 7], env=STATIONS_ONLY)
    equal(r.summary["coroutines"], 7, "coroutines")
    equal(r.summary["without_station"], 13, "without a station")
    equal(r.summary["collected"], 28, "collected")
    status, _, err = tool("run", "-n", 7, "-o", dir + "/t", "--", TARGET, "events", 20, 4, 0, env=STATIONS_ONLY)
    equal(status, 0, "status")
    contains(err, "13 coroutines that found no room")
    contains(err, "-n 20 would have been enough")
    status, _, _ = tool("run", "-n", 7, "--fail-on-loss", "-o", dir + "/t", "--", TARGET, "events", 20, 4, 0,
                        env=STATIONS_ONLY)
    equal(status, 1, "status with --fail-on-loss")


@test
def loss_fails_only_when_asked(dir):
    for options, wanted in (([], 0), (["--fail-on-loss"], 1)):
        r = run(dir, "events", 1, 400000, 0, options=options, env=STATIONS_ONLY)
        assert r.summary["lost"] > 0, "nothing was lost, so nothing was tested"
        equal(r.status, wanted, "status")


@test
def a_program_that_never_joins_is_told(dir):
    status, _, err = tool("run", "-o", dir + "/t", "--", "true")
    equal(status, 0, "status")
    contains(err, "connected: no")
    contains(err, "CTP_VERBOSE=1")


@test
def an_earlier_trace_is_kept(dir):
    first = run(dir, "events", 1, 2, 0)
    with open(first.trace, encoding="ascii") as f:
        old = f.read()
    second = run(dir, "events", 1, 6, 0)
    equal(len(second.events), 6, "events of the second run")
    with open(second.trace + ".old", encoding="ascii") as f:
        equal(f.read(), old, "the earlier trace")


@test
def nothing_is_left_behind_on_tmpfs(dir):
    before = private_places()
    p = popen(TOOL, "run", "-q", "-o", dir + "/t", "--", TARGET, "events", 1, 1, 0)
    p.communicate(timeout=300)
    equal(p.returncode, 0, "status")
    # Other tests kill collectors meanwhile, which leave directories.
    left = [path for path in private_places() - before if is_left_behind(path) and collector_of(path) == p.pid]
    equal(left, [], "directories left")


def collector_of(path):
    status, out, _ = tool("recover", "--json", path)
    return json.loads(out)["collector_pid"] if status == 0 else None


@test
def a_failed_start_leaves_the_earlier_trace_where_it_was(dir):
    first = run(dir, "events", 1, 2, 0)
    with open(first.trace, encoding="ascii") as f:
        old = f.read()
    for wanted, extra in ((127, ["--", "no-such-program-here"]), (1, ["--shm", dir + "/no/such", "--", "true"])):
        status, _, _ = tool("run", "-o", first.trace, *extra)
        equal(status, wanted, "status")
        with open(first.trace, encoding="ascii") as f:
            equal(f.read(), old, "the trace")
        equal(sorted(os.listdir(dir)), ["trace.jsonl", "trace.jsonl.meta"], "files")


@test
def two_collectors_do_not_write_one_trace(dir):
    p = popen(TOOL, "run", "--json", "-o", dir + "/t", "--", TARGET, "events", 2, 100, 2000)
    wait_until(lambda: os.path.exists(dir + "/t.meta"), "the first collector")
    status, _, err = tool("run", "-o", dir + "/t", "--", "true")
    equal(status, 1, "status of the second")
    contains(err, "another collector is writing")
    _, err = p.communicate(timeout=300)
    equal(json.loads(err.splitlines()[-1])["collected"], 200, "collected by the first")
    with open(dir + "/t", encoding="ascii") as f:
        equal(len(f.readlines()), 200, "lines")


@test
def without_membarrier_programs_fence_and_nothing_is_lost(dir):
    env = dict(os.environ, COROTRACER_NO_MEMBARRIER="1", CTP_VERBOSE="1")
    r = run(dir, "events", 10, 40, 100, env=env)
    contains(r.err, "a fence per event")
    equal((r.summary["written"], r.summary["collected"]), (400, 400), "events")
    env.pop("COROTRACER_NO_MEMBARRIER")
    contains(run(dir, "events", 1, 1, 0, env=env).err, "no fence per event")


@test
def links_and_standard_output_are_written_through(dir):
    os.symlink(dir + "/real", dir + "/link")
    with open(dir + "/real", "w", encoding="ascii") as f:
        f.write("old\n")
    status, _, _ = tool("run", "-q", "-o", dir + "/link", "--", TARGET, "events", 1, 3, 0)
    equal(status, 0, "status")
    assert os.path.islink(dir + "/link"), "the link was replaced"
    with open(dir + "/real", encoding="ascii") as f:
        equal(len(f.readlines()), 3, "events behind the link")
    status, out, _ = tool("run", "-q", "-o", "-", "--", TARGET, "events", 1, 3, 0)
    equal((status, len(out.splitlines())), (0, 3), "events on stdout")
    with open(dir + "/out", "w", encoding="ascii") as f:
        tool("run", "-q", "-o", "/dev/stdout", "--", TARGET, "events", 1, 3, 0, stdout=f)
    with open(dir + "/out", encoding="ascii") as f:
        equal(len(f.readlines()), 3, "events on /dev/stdout")
    assert not os.path.exists("/dev/stdout.old") and not os.path.exists("/dev/stdout.meta")


@test
def closed_standard_files_do_no_harm(dir):
    p = subprocess.run(["sh", "-c", words(TOOL, "run", "--json", "-o", dir + "/t", "--", TARGET, "events", 2, 8, 0)
                        + " <&- >&-"], capture_output=True, text=True, check=False)
    equal(p.returncode, 0, "status")
    equal(json.loads(p.stderr.splitlines()[-1])["collected"], 16, "collected")
    collector = popen("sh", "-c", "exec " + words(TOOL, "collect", "--json", "-o", dir + "/u", "--shm", dir + "/shm",
                                                  "--sock", dir + "/sock") + " <&- >&-")
    wait_until(lambda: os.path.exists(dir + "/sock"), "the collector")
    env = dict(os.environ, CTP_SHM_PATH=dir + "/shm", CTP_SOCK_PATH=dir + "/sock", CTP_MAX_STATIONS="128")
    subprocess.run([TARGET, "events", "1", "5", "0"], env=env, check=True)
    collector.send_signal(signal.SIGTERM)
    _, err = collector.communicate(timeout=300)
    equal(json.loads(err.splitlines()[-1])["collected"], 5, "collected")


@test
def the_flags_of_the_existing_tool_work_word_for_word(dir):
    trace = dir + "/legacy.jsonl"
    status, out, err = tool("-n", 256, "-cmd", f"echo hello; {words(TARGET)} events 2 4 0; exit 5", "-out", trace)
    equal((status, out), (5, "hello\n"), "status and stdout")
    with open(trace, encoding="ascii") as f:
        equal(len(f.readlines()), 8, "events")
    contains(err, "8 events of 2 coroutines")
    status, _, err = tool("-shm", dir + "/s", "-sock=" + dir + "/k", "--n=4", "-cmd",
                          f'test "$CTP_SHM_PATH" = {dir}/s && test "$CTP_SOCK_PATH" = {dir}/k && test $CTP_MAX_STATIONS = 4',
                          "-out", trace)
    equal(status, 0, "status")
    for bad in (["-cmd"], ["-out", "x"], ["-frobnicate"], ["-n", "0", "-cmd", "true"]):
        status, _, err = tool(*bad, cwd=dir)
        equal(status, 2, f"status of {bad}")


@test
def two_collectors_at_once_do_not_meet(dir):
    a = popen(TOOL, "run", "--json", "-o", dir + "/a", "--", TARGET, "events", 5, 40, 1000)
    b = popen(TOOL, "run", "--json", "-o", dir + "/b", "--", TARGET, "events", 5, 40, 1000)
    for p in (a, b):
        _, err = p.communicate(timeout=300)
        s = json.loads([line for line in err.splitlines() if line.startswith("{")][0])
        equal((s["written"], s["collected"], s["connected"]), (200, 200, 1), "written, collected, connected")


@test
def collect_serves_programs_that_join(dir):
    p = popen(TOOL, "collect", "--json", "-o", dir + "/t")
    line = p.stdout.readline()
    contains(line, "export CTP_SHM_PATH=")
    for _ in range(3):
        subprocess.run(["sh", "-c", f"{line.strip()}; exec {words(TARGET)} events 2 8 0"], check=True)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=300)
    equal(p.returncode, 0, "status")
    s = json.loads(err.splitlines()[-1])
    equal((s["collected"], s["connected"], s["coroutines"]), (48, 3, 6), "collected, connected, coroutines")
    equal(s["exit_status"], None, "exit status")


@test
def an_idle_collector_sleeps(dir):
    """Few context switches in a second of idleness, where a timer would cause hundreds."""
    p = popen(TOOL, "run", "-o", dir + "/t", "--", TARGET, "wait")
    p.stdout.readline()
    child = int(open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii").read().split()[-1])

    def switches():
        with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
            return int([line for line in f if line.startswith("voluntary_ctxt")][0].split()[1])

    def quiet():
        before = switches()
        time.sleep(1)
        return switches() - before <= 5

    wait_until(quiet, "a second with at most five switches")
    os.kill(child, signal.SIGKILL)
    p.communicate(timeout=300)


if __name__ == "__main__":
    main()
