# SPDX-License-Identifier: MIT
"""test_flight.py - flight recorder, snapshots, and what is left after the program or the collector is killed.

Other collectors may run on the machine at the same time (other tests): the tests
here always name theirs by pid or region.
"""
import contextlib
import shutil
import socket

from harness import *

FULL = os.environ.get("COROTRACER_FULL") == "1"
FLIGHT = os.path.join(os.path.dirname(TARGET), "flight_target")
REGIONS = []
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "flight_target.c")


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def start(dir, *target, options=("--flight-recorder", "256K", "--buffer", "16M"), trace="t.jsonl", **kwargs):
    """A collector and its program, which has printed that it is ready; returns both pids, too."""
    p = popen(TOOL, "run", "--json", "-o", os.path.join(dir, trace), *options, "--", FLIGHT, *target, **kwargs)
    word, pid = p.stdout.readline().split()
    equal(word, "ready", "the program's first word")
    return p, int(pid)


def end(p, program=None):
    """End the program, or wait for it; returns the collector's summary and the program's own counts."""
    if program:
        os.kill(program, signal.SIGTERM)
    out, err = p.communicate(timeout=300)
    summary = json.loads([line for line in err.splitlines() if line.startswith("{")][-1])
    made = [line.split() for line in out.splitlines() if line.startswith("made")]
    return summary, (int(made[0][1]) if made else None), (int(made[0][3]) if made else None)


def snapshot(*args, **kwargs):
    status, out, err = tool("snapshot", "--json", *args, **kwargs)
    return status, json.loads(out) if out.strip() else None, err


@contextlib.contextmanager
def stopped(pid):
    """A program at full speed does nothing while the test looks at files, or waits for a clock."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def wait_for_events(pid, nr=1, coroutines=1):
    """Wait until the collector has read nr events of that many coroutines."""
    def enough():
        all = json.loads(tool("snapshot", "-l", "--json")[1])
        return any(r["written"] >= nr and r["coroutines"] >= coroutines for r in all if pid in r.get("pids", ()))
    wait_until(enough, "events")


def region_of(pid):
    status, out, err = tool("snapshot", "-l", "--json")
    equal(status, 0, "status of snapshot -l: " + err)
    region = [r["region"] for r in json.loads(out) if r.get("pid") == pid or pid in r.get("pids", ())][0]
    REGIONS.append(region)
    return region


def recover(*args):
    status, out, err = tool("recover", "--json", *args)
    equal((status, err if "--remove" not in args else ""), (0, ""), "status and stderr of recover")
    return json.loads(out)


def check_snapshot(s, path):
    """The snapshot's counts add up, and match the file."""
    equal(s["collected"] + s["lost"] + s["forgotten"], s["written"], "collected + lost + forgotten")
    events = lines_of(path)
    equal(len(events), s["collected"], "events in the snapshot")
    check_order(events)
    meta = lines_of(path + ".meta")
    equal((meta[0]["type"], meta[-1]["type"]), ("run", "totals"), "first and last of the sidecar")
    for key in ("written", "collected", "lost", "forgotten"):
        equal(meta[-1][key], s[key], key)
    status, out, _ = tool("info", "--json", path)
    equal(status, 0, "status of info")
    equal(json.loads(out)["forgotten"], s["forgotten"], "what info says of forgotten")
    return events, meta


# ---- the recorder ----------------------------------------------------------------------


@test
def nothing_is_written_before_the_end_and_forgotten_is_exact(dir):
    p, pid = start(dir, "flood", 2, 0)
    wait_for_events(pid, 1000000 if FULL else 200000)
    equal(os.listdir(dir), [], "files while it runs")
    s, made, _ = end(p, pid)
    equal(s["written"], made, "written")
    assert s["forgotten"] > 100000, s
    check_snapshot(s, dir + "/t.jsonl")


@test
def what_fits_is_not_forgotten(dir):
    p, _ = start(dir, "flood", 1, 1000)
    s, made, _ = end(p)
    equal((s["written"], s["collected"], s["forgotten"], s["lost"], made), (1000, 1000, 0, 0, 1000), "counts")
    check_snapshot(s, dir + "/t.jsonl")


@test
def a_ctf_trace_holds_the_same(dir):
    p, _ = start(dir, "flood", 2, 200000, trace="t.ctf")
    s, made, _ = end(p)
    equal(s["collected"] + s["lost"] + s["forgotten"], made, "collected + lost + forgotten")
    assert s["forgotten"] > 0, s
    status, out, err = tool("info", "--json", dir + "/t.ctf")
    equal(status, 0, "status of info: " + err)
    info = json.loads(out)
    equal((info["events"], info["forgotten"]), (s["collected"], s["forgotten"]), "events, forgotten")


@test
def every_coroutine_in_it_has_its_birth(dir):
    p = popen(TOOL, "run", "--json", "--flight-recorder", "64K", "-o", dir + "/t.jsonl", "--", FLIGHT, "churn", 20000)
    _, err = p.communicate(timeout=300)
    s = json.loads(err.splitlines()[-1])
    events, meta = check_snapshot(s, dir + "/t.jsonl")
    assert s["forgotten"] > 10000, s
    births = {m["probe_id"]: m["name"] for m in meta if m["type"] == "birth"}
    equal({e["probe_id"] for e in events} - set(births), set(), "coroutines without a birth")
    contains(list(births.values()), "stays")
    contains(list(births.values()), "guest 19999")
    assert "guest 0" not in births.values(), "the first guest was not forgotten"
    ends = [m for m in meta if m["type"] in ("birth", "end", "wake", "destroy")]
    totals = meta[-1]
    equal(len(ends), totals["others_collected"], "births, wakes and ends")
    equal(totals["others_collected"] + totals["others_lost"] + totals["others_forgotten"], totals["others_written"],
          "others")
    equal(totals["others_written"], 2 * 20000 + 1, "births and ends, by the program")


@test
def a_size_or_an_output_that_cannot_be_is_refused(dir):
    for options, part in ((["--flight-recorder", "1K"], "from 64K"), (["--flight-recorder", "x"], "expected a size"),
                          (["--flight-recorder", "1M", "-o", "-"], "replaces its trace each time"),
                          (["--flight-recorder", "1M", "-o", "/dev/null"], "replaces its trace each time"),
                          (["--flight-recorder", "1M", "-o", dir + "/no/such"], "No such file")):
        status, _, err = tool("run", *options, "--", "touch", dir + "/ran")
        assert status in (1, 2), status
        contains(err, part)
    assert not os.path.exists(dir + "/ran"), "the program ran"


@test
def stations_are_recorded_too(dir):
    p, _ = start(dir, "flood", 1, 3000, env={**os.environ, "COROTRACER_NO_LANES": "1"})
    s, made, _ = end(p)
    equal(s["written"], made, "written")
    check_snapshot(s, dir + "/t.jsonl")


# ---- snapshots ----------------------------------------------------------------------------


@test
def snapshots_while_it_runs_at_full_speed(dir):
    # Two threads at full speed leave the collector and the requests little of two processors.
    p, pid = start(dir, "flood", 2 if FULL else 1, 0, options=("--flight-recorder", "1M" if FULL else "256K", "--buffer", "16M"))
    path, before = dir + "/t.jsonl", 0
    wait_for_events(pid)
    for i in range(3 if FULL else 2):
        status, s, err = snapshot("-p", pid if i % 2 else p.pid)
        equal((status, err, s.get("error")), (0, "", None), "status, stderr, error")
        equal((s["trace"], s["pid"]), (path, p.pid), "trace, pid")
        with stopped(pid):
            check_snapshot(s, path)
        assert s["written"] > before, (s, before)
        assert s["coroutines"] <= 32, s
        before = s["written"]
        equal(os.path.exists(path + ".old"), i > 0, "the one before is kept")
    assert p.poll() is None, "the collector ended"
    s, made, _ = end(p, pid)
    equal(s["written"], made, "written")
    equal(s["collected"] + s["lost"] + s["forgotten"], made, "collected + lost + forgotten")
    check_snapshot(s, path)


@test
def a_snapshot_says_what_every_coroutine_does(dir):
    p, pid = start(dir, "stuck")
    status, s, _ = snapshot("-p", pid)
    equal((status, s["coroutines"]), (0, 5), "status, coroutines")
    _, meta = check_snapshot(s, dir + "/t.jsonl")
    states = {m["name"]: m for m in meta if m["type"] == "coroutine"}
    sites = {m["id"]: m for m in meta if m["type"] == "site"}
    equal({n: m["state"] for n, m in states.items()},
          {"runner": "running", "reader": "suspended", "locker": "suspended", "woken": "suspended",
           "a name of more than thirty-two b": "new"}, "states")
    reader = states["reader"]
    equal((reader["reason"], reader["resource"]), ("io-read", 7), "why, on what")
    with open(SOURCE, encoding="utf-8") as f:
        line = [i for i, text in enumerate(f, 1) if "the reader waits here" in text][0]
    equal((sites[reader["site"]]["line"], sites[reader["site"]]["function"]), (line, "do_stuck"), "where")
    # Once more: a snapshot contains all sites again, though the program registered them long ago.
    status, s, _ = snapshot("-p", pid)
    equal(len([m for m in lines_of(dir + "/t.jsonl.meta") if m["type"] == "site"]), len(sites), "sites")
    end(p, pid)


@test
def sigusr2_takes_one_and_does_not_reach_the_program(dir):
    p, pid = start(dir, "flood", 1, 0)
    wait_for_events(pid)
    os.kill(p.pid, signal.SIGUSR2)
    wait_until(lambda: os.path.exists(dir + "/t.jsonl.meta")
               and '"totals"' in open(dir + "/t.jsonl.meta", encoding="utf-8").read(), "the snapshot")
    wait_until(lambda: "snapshot" in p.stderr.readline(), "the talk about it")
    os.kill(p.pid, signal.SIGUSR2)
    wait_until(lambda: os.path.exists(dir + "/t.jsonl.meta.old"), "the second snapshot")
    s, made, usr2 = end(p, pid)
    equal((s["written"], usr2), (made, 0), "written, SIGUSR2 in the program")


@test
def without_a_recorder_sigusr2_is_the_programs(dir):
    p, pid = start(dir, "flood", 1, 0, options=("--buffer", "16M"))
    wait_for_events(pid)
    os.kill(p.pid, signal.SIGUSR2)
    equal(p.stdout.readline(), "usr2\n", "what the program says")
    s, made, usr2 = end(p, pid)
    equal((s["written"], usr2), (made, 1), "written, SIGUSR2 in the program")


@test
def a_killed_program_leaves_a_whole_trace(dir):
    p, pid = start(dir, "flood", 2, 0)
    wait_for_events(pid, 100000, 32)
    os.kill(pid, signal.SIGKILL)
    _, err = p.communicate(timeout=300)
    s = json.loads([line for line in err.splitlines() if line.startswith("{")][-1])
    equal((p.returncode, s["signal"]), (-signal.SIGKILL, signal.SIGKILL), "status, signal")
    _, meta = check_snapshot(s, dir + "/t.jsonl")
    equal(len([m for m in meta if m["type"] == "coroutine"]), 32, "coroutines that were there")


@test
def a_snapshot_goes_where_it_is_asked_to(dir):
    p, pid = start(dir, "stuck")
    status, s, _ = snapshot("-p", pid, "-o", "else where.jsonl", cwd=dir)
    equal((status, s["trace"]), (0, dir + "/else where.jsonl"), "status, trace")
    check_snapshot(s, dir + "/else where.jsonl")
    assert not os.path.exists(dir + "/t.jsonl"), "the output was written, too"
    status, s, _ = snapshot("-p", pid, "-o", dir + "/no/such/place.jsonl")
    equal(status, 1, "status")
    contains(s["error"], "No such file")
    status, out, _ = tool("snapshot", "-p", pid)
    equal(status, 0, "status")
    contains(out, dir + "/t.jsonl")
    contains(out, "5 coroutines are there")
    end(p, pid)


@test
def of_several_collectors_one_is_chosen_by_pid(dir):
    a, first = start(dir, "stuck", trace="a.jsonl")
    b, second = start(dir, "stuck", trace="b.jsonl")
    c, third = start(dir, "stuck", trace="c.jsonl", options=())
    status, out, err = tool("snapshot")
    equal((status, out), (1, ""), "status, stdout")
    for part in (str(a.pid), str(b.pid), "collectors are running", "-p PID"):
        contains(err, part)
    equal(snapshot("-p", second)[1]["trace"], dir + "/b.jsonl", "of the second program")
    equal(snapshot("-p", a.pid)[1]["trace"], dir + "/a.jsonl", "of the first collector")
    status, s, _ = snapshot("-p", third)
    equal(status, 1, "status without a recorder")
    contains(s["error"], "has no flight recorder")
    contains(s["hint"], "--flight-recorder")
    region = region_of(third)
    contains(tool("snapshot", "--shm", region)[2], "has no flight recorder")
    end(a, first), end(b, second), end(c, third)


@test
def a_pid_that_nobody_has_is_told_so(dir):
    p = popen("true")
    p.wait()
    status, out, err = tool("snapshot", "-p", p.pid)
    equal((status, out), (1, ""), "status, stdout")
    contains(err, "no collector of yours")
    for args in (["-p", "x"], ["-p", "0"], ["extra"], ["--shm", ""]):
        equal(tool("snapshot", *args)[0], 2, f"status of {args}")
    status, _, err = tool("snapshot", "--shm", dir + "/none")
    equal(status, 1, "status")
    contains(err, "no collector takes requests")


@test
def a_stopped_collector_is_told_so(dir):
    p, pid = start(dir, "stuck")
    region = region_of(pid)
    p.send_signal(signal.SIGSTOP)
    status, _, err = tool("snapshot", "--shm", region)
    p.send_signal(signal.SIGCONT)
    equal(status, 1, "status")
    contains(err, "does not answer")
    end(p, pid)


@test
def a_region_in_a_place_of_its_own_is_named(dir):
    options = ("--flight-recorder", "1M", "--shm", dir + "/my region", "--sock", dir + "/my socket")
    p, pid = start(dir, "stuck", options=options)
    status, s, _ = snapshot("--shm", dir + "/my region")
    equal((status, s["coroutines"]), (0, 5), "status, coroutines")
    equal(len(recover(dir + "/my region")["coroutines"]), 5, "coroutines")
    end(p, pid)
    equal(sorted(os.listdir(dir)), ["t.jsonl", "t.jsonl.meta", "t.jsonl.meta.old", "t.jsonl.old"], "what is left")


# ---- untrusted clients ------------------------------------------------------------------------


def talk(region, text):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(300)
    s.connect(region + ".control")
    try:
        s.sendall(text)
        return s.recv(1 << 16)
    except (BrokenPipeError, ConnectionResetError):
        return b""
    finally:
        s.close()


@test
def garbage_at_the_control_socket_harms_nobody(dir):
    p, pid = start(dir, "flood", 1, 0)
    region = region_of(pid)
    equal(os.stat(region + ".control").st_mode & 0o777, 0o600, "mode of the socket")
    for text in (b"\n", b"what\n", b"snapshotx\n", b"snapshot relative\n", b"snapshot \n", b"snapshot /" + b"x" * 5000 + b"\n"):
        contains(json.loads(talk(region, text))["error"], "does not understand")
    for text in (b"x" * 10000, b"status\nstatus\n", b"sta\0tus\n", b"\0" * 9000):
        equal(talk(region, text), b"", f"answer to {text[:10]}")
    idle = [socket.socket(socket.AF_UNIX) for _ in range(40)]
    for s in idle:
        s.setblocking(False)
        try:
            s.connect(region + ".control")
        except BlockingIOError:
            pass
    with stopped(pid):
        time.sleep(1.5)  # an idle connection is dropped after a second when another one needs its place
    wait_until(lambda: snapshot("--shm", region)[0] == 0, "an answer among idlers")
    for s in idle:
        s.close()
    gone = socket.socket(socket.AF_UNIX)  # sends a request and disconnects
    gone.connect(region + ".control")
    gone.sendall(b"snapshot\n")
    gone.close()
    status, s, _ = snapshot("--shm", region)
    equal(status, 0, "status")
    s, made, _ = end(p, pid)
    equal(s["written"], made, "written")


def as_nobody(function):
    """The result or the exception of the function, called as another user."""
    out, back = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            answer = repr(function())
        except BaseException as e:  # noqa: BLE001 - reported to the parent
            answer = type(e).__name__
        os.write(back, answer.encode())
        os._exit(0)
    os.close(back)
    os.waitpid(child, 0)
    with os.fdopen(out) as f:
        return f.read()


@test
def another_user_is_not_served(dir):
    if os.geteuid() != 0:
        raise Skip("only root can be somebody else")
    os.chmod(dir, 0o755)
    options = ("--flight-recorder", "1M", "--shm", dir + "/r", "--sock", dir + "/s")
    p, pid = start(dir, "stuck", options=options)
    equal(as_nobody(lambda: talk(dir + "/r", b"snapshot\n")), "PermissionError", "what another user gets")
    os.chmod(dir + "/r.control", 0o666)
    equal(as_nobody(lambda: talk(dir + "/r", b"snapshot\n")), "b''", "what another user gets even then")
    assert not os.path.exists(dir + "/t.jsonl"), "a snapshot was taken"
    end(p, pid)


# ---- what is left after a crash -----------------------------------------------------------------


def kill_collector(p):
    p.kill()
    p.wait()


@test
def a_killed_collector_leaves_everything_and_the_program_goes_on(dir):
    before = private_places()
    p, pid = start(dir, "later", 2, 300000, options=("--buffer", "1M"), stdin=subprocess.PIPE)
    region = region_of(pid)
    kill_collector(p)
    p.stdin.write("x")
    p.stdin.close()
    made = p.stdout.read().split()  # until the program has ended, by itself
    equal((made[0], made[1]), ("made", "600000"), "what the program says")
    r = recover(region)
    equal((r["live"], r["collector_pid"]), (False, p.pid), "live, collector's pid")
    equal(len(r["threads"]), 2, "threads")
    found = r["events"] - 2 * (16 + 16) + r["dropped_others"]
    equal(found + r["dropped"], 600000, "transitions found and dropped")
    assert r["dropped"] > 0, r["dropped"]
    for t in r["threads"]:
        equal((t["read"], t["unread"], t["kept"]), (0, t["written"], 0), "read, not read, kept")
        assert t["last"] == sorted(t["last"], key=lambda e: e["ts"]), "order"
    equal([q["state"] for q in r["processes"]], ["gone"], "the program")
    r = recover("-o", dir + "/r.jsonl", "--remove", region)
    trace = lines_of(dir + "/r.jsonl")
    equal(len(trace) + r["dropped"], 600000, "in the trace, and dropped")
    check_order(trace)
    totals = lines_of(dir + "/r.jsonl.meta")[-1]
    equal((totals["collected"], totals["lost"], totals["complete"]), (len(trace), r["dropped"], False), "totals")
    equal(tool("info", dir + "/r.jsonl")[0], 0, "status of info")
    assert not os.path.exists(os.path.dirname(region)), "the directory is still there"
    equal(private_places() & {os.path.dirname(region)} - before, set(), "left behind")


@test
def a_program_that_may_wait_does_not_wait_for_a_dead_collector(dir):
    p, pid = start(dir, "later", 2, 300000, options=("--buffer", "1M", "--on-full", "block=100"), stdin=subprocess.PIPE)
    region = region_of(pid)
    kill_collector(p)
    p.stdin.write("x")
    p.stdin.close()
    equal(p.stdout.read().split()[1], "600000", "what the program made, to its end")
    r = recover("--remove", region)
    equal(r["events"] - 2 * (16 + 16) + r["dropped_others"] + r["dropped"], 600000, "found and dropped")


@test
def both_killed_at_full_speed(dir):
    p, pid = start(dir, "flood", 2, 0, options=("--buffer", "4M" if FULL else "1M"))
    wait_for_events(pid, 100000, 32)
    region = region_of(pid)
    p.kill()
    os.kill(pid, signal.SIGKILL)
    p.wait()
    wait_until(lambda: recover(region)["processes"][0]["state"] == "gone", "the program's end")
    r = recover("-o", dir + "/new.jsonl", region)
    equal((r["garbage"], r["live"]), (0, False), "garbage, live")
    equal(len(r["coroutines"]), 32, "coroutines")
    assert all(t["written"] >= t["read"] > 0 and not t["broken"] for t in r["threads"]), r["threads"]
    # A collector that is killed during a poll has not stored its position yet: the part that counts
    # as unread begins no later than the end of its file, and continues from there.
    with open(dir + "/t.jsonl", encoding="utf-8") as f:
        old = json.loads([line for line in f if line.endswith("}\n")][-1])
    new = lines_of(dir + "/new.jsonl")
    equal(len(new), r["trace_events"], "events in the trace")
    assert not new or new[-1]["ts"] + r["clock_error_ns"] >= old["ts"], (old, new[-1])
    check_order(new)
    everything = recover("--all", "-o", dir + "/all.jsonl", region)
    equal(everything["trace_events"] >= r["trace_events"], True, "--all has no less")
    # Not by its time: that is computed from the current state of the clock, and differs a little
    # later.
    last = [(e["probe_id"], e["seq"], e["tid"]) for e in lines_of(dir + "/all.jsonl")]
    assert not new or (new[-1]["probe_id"], new[-1]["seq"], new[-1]["tid"]) in last[-64:], (new[-1], last[-3:])
    recover("--remove", region)


@test
def the_state_of_every_coroutine_is_told(dir):
    p, pid = start(dir, "stuck", options=())
    region = region_of(pid)
    wait_until(lambda: not any(t["unread"] for t in recover(region)["threads"]), "that everything has been read")
    time.sleep(0.25)  # the shortest time that the reader is suspended, see below
    kill_collector(p)
    r = recover(region)
    states = {c.get("name"): c for c in r["coroutines"]}
    equal([(c["name"][:6], c["state"]) for c in r["coroutines"]],
          [("reader", "suspended"), ("locker", "suspended"), ("woken", "suspended"), ("a name", "new"),
           ("runner", "running")], "coroutines, the longest suspended first")
    equal((states["reader"]["reason"], states["reader"]["resource"], states["reader"]["site"]["function"]),
          ("io-read", 7, "do_stuck"), "the reader")
    equal(states["reader"]["parent"], states["runner"]["id"], "its parent")
    assert "woken_ts" in states["woken"] and "woken_ts" not in states["locker"], "who was woken"
    assert 200_000_000 < states["reader"]["for_ns"] < 60_000_000_000, states["reader"]
    equal([q["state"] for q in r["processes"]], ["running"], "the program")
    last = r["threads"][0]["last"]
    equal(([e["kind"] for e in last[-5:]], {e["unread"] for e in last}),
          (["wake", "birth", "resume", "end", "birth"], {False}), "last events")
    status, out, _ = tool("recover", os.path.dirname(region))
    equal(status, 0, "status")
    for part in ("io-read fd 7", "flight_target.c:", "3 suspended (1 of them woken, and not resumed)", "still running: flight_target",
                 "mutex 0xabcdef00", "gone; last awake at"):
        contains(out, part)
    assert all(len(line) <= 120 for line in out.splitlines()), out
    contains(tool("recover")[1], region)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: recover(region)["processes"][0]["state"] == "gone", "the program's end")
    tool("recover", "--remove", region)
    assert region not in tool("recover")[1], "it is still listed"


@test
def times_are_those_of_the_clock(dir):
    p, pid = start(dir, "stuck", options=())
    region = region_of(pid)
    wait_until(lambda: os.path.exists(dir + "/t.jsonl") and os.path.getsize(dir + "/t.jsonl"), "events in the trace")
    wait_until(lambda: recover(region)["clock"] == "published", "the clock")
    time.sleep(0.3)  # the clock is read several times
    kill_collector(p)
    a = recover(region)
    trace = {(e["probe_id"], e["is_active"]): e["ts"] for e in lines_of(dir + "/t.jsonl")} if os.path.getsize(dir + "/t.jsonl") else {}
    assert trace, "the collector wrote nothing"
    worst = 0
    for e in a["threads"][0]["last"]:
        key = (e["id"], e["kind"] == "resume")
        if e["kind"] in ("suspend", "resume") and key in trace:
            worst = max(worst, abs(e["ts"] - trace[key]))
    assert worst <= a["clock_error_ns"], (worst, a["clock_error_ns"])
    equal(a["clock"], "published", "clock")
    os.kill(pid, signal.SIGKILL)
    recover("--remove", region)


@test
def plain_stations_are_recovered(dir):
    p, pid = start(dir, "stuck", options=(), env={**os.environ, "COROTRACER_NO_LANES": "1"})
    region = region_of(pid)
    kill_collector(p)
    r = recover("-o", dir + "/r.jsonl", region)
    equal({c["name"][:6]: c["state"] for c in r["coroutines"]},
          {"runner": "running", "reader": "suspended", "locker": "suspended", "woken": "suspended", "a name": "new"},
          "states")
    # runner 1, reader 2, locker 2, woken 2, gone 1
    equal(([t["tid"] for t in r["threads"]], r["events"], len(lines_of(dir + "/r.jsonl"))), ([pid], 8, 8),
          "threads, events, in the trace")
    status, out, _ = tool("recover", region)
    contains(out, "coroutines (5): 3 suspended, 1 running, 1 new")
    os.kill(pid, signal.SIGKILL)
    recover("--remove", region)


@test
def a_live_region_is_only_looked_at(dir):
    p, pid = start(dir, "flood", 2, 0, options=("--buffer", "4M"))
    wait_for_events(pid, 100000, 32)
    region = region_of(pid)
    for _ in range(5 if FULL else 2):
        r = recover(region)
        equal((r["live"], r["garbage"], len(r["coroutines"]) <= 32), (True, 0, True), "live, garbage, coroutines")
        for t in r["threads"]:
            assert t["last"] == sorted(t["last"], key=lambda e: e["ts"]), "order"
    status, _, err = tool("recover", "--remove", region)
    equal(status, 1, "status of --remove")
    contains(err, "a collector has the region")
    s, made, _ = end(p, pid)
    equal((s["written"], s["garbage"]), (made, 0), "written, garbage")


@test
def a_region_cut_short_or_overwritten_is_read_as_far_as_it_goes(dir):
    buffer = 8 if FULL else 2
    p, pid = start(dir, "flood", 2, 0, options=("--buffer", f"{buffer}M"))
    wait_for_events(pid, 100000, 32)
    region = region_of(pid)
    kill_collector(p)
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    copy = dir + "/copy"
    subprocess.run(["cp", "--sparse=always", region, copy], check=True)
    whole = recover(copy)
    equal(len(whole["coroutines"]), 32, "coroutines in the copy")
    size = os.path.getsize(copy)
    for part in (0.9, 0.5, 0.01, 0.0005):
        os.truncate(copy, int(size * part))
        status, out, err = tool("recover", "--json", copy)
        equal((status, json.loads(out)["cut"] if status == 0 else None), (0, True), f"status, cut at {part}: {err}")
    os.truncate(copy, 500)
    contains(tool("recover", copy)[2], "too short to be a region")
    state = 12345
    for _ in range(60 if FULL else 15):  # fuzz/recover tries thousands of them in one process
        subprocess.run(["cp", "--sparse=always", region, copy], check=True)
        with open(copy, "r+b") as f:
            for _ in range(20):
                state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                f.seek(16 + (state >> 20) % ((1 << 10) if state & 1 << 40 else (buffer << 19)))
                f.write(state.to_bytes(8, "little")[: 1 + state % 8])
        status, out, err = tool("recover", "-o", dir + "/o.jsonl", copy)
        assert status in (0, 1), (status, out, err)
        assert status == 0 or err.startswith("corotracer recover: "), err
    recover("--remove", region)


@test
def what_is_no_region_is_said_to_be_none(dir):
    with open(dir + "/random", "wb") as f:
        f.write(os.urandom(100000))
    os.mkfifo(dir + "/fifo")
    os.mkdir(dir + "/empty")
    for path, part in (("random", "is not a region"), ("fifo", "is not a file"), ("empty", "cannot open"), ("none", "cannot open")):
        status, out, err = tool("recover", os.path.join(dir, path))
        equal((status, out), (1, ""), f"status, stdout of {path}")
        contains(err, part)
    contains(tool("recover", dir + "/random")[2], "hint: ")
    for args in (["a", "b"], ["--remove"], ["-o", "x"]):
        equal(tool("recover", *args)[0], 2, f"status of {args}")
    assert os.path.exists(dir + "/random"), "it was removed"


def remove_what_is_left():
    """A case that failed half-way leaves no region."""
    for region in REGIONS:
        if os.path.exists(region) and is_left_behind(os.path.dirname(region)):
            shutil.rmtree(os.path.dirname(region), ignore_errors=True)


if __name__ == "__main__":
    try:
        main()
    finally:
        remove_what_is_left()
