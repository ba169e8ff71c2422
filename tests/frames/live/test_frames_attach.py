# SPDX-License-Identifier: MIT
"""test_frames_attach.py - attach to programs of all kinds, and receive exactly their frames."""
import csv
import sqlite3
import struct

from frames_live import *


def attach_to_four_threads(dir, p, seconds):
    """On a busy machine a thread may not have its turn in half a second."""
    for _ in range(10):
        a = attach(dir, p, "--duration", seconds)
        if a.status or a.summary["threads"] == 4:
            break
    return a


@test
def every_frame_of_four_threads_arrives_once(dir):
    for name in ("live_busy", "live_fixed"):
        p = start(name, 4, 50000)
        a = attach_to_four_threads(dir, p, 0.5)
        equal(a.status, 0, f"status ({a.err})")
        frames, summary = decode(a.file)
        check_busy(frames)
        check_exact(frames, summary, a.summary)
        assert len(frames) > 100, len(frames)
        equal(a.summary["lost"], 0, "lost")
        equal(a.summary["threads"], 4, "threads")
        equal((a.summary["stops"], a.summary["stopped_ns"]), (0, 0), "time the program stood still")
        equal(end(p)["stdin_open"], True, "standard input of the program")


@test
def a_program_with_threads_does_not_wait_for_its_registration(dir):
    """tests/late/slow.c tells if a process with threads registers for membarrier, and refuses the first time."""
    if os.environ["SANITIZE"]:
        return  # its runtime wants to be the first library
    for refuse in ("", "membarrier"):
        p = start("live_busy", 4, 50000, env=dict(os.environ, LD_PRELOAD=os.environ["LATE_SLOW"], SLOW_CALL=refuse))
        a = attach_to_four_threads(dir, p, 0.3)
        frames, summary = decode(a.file)
        check_busy(frames)
        check_exact(frames, summary, a.summary)
        equal((a.status, a.summary["lost"], a.summary["threads"]), (0, 0, 4), f"status ({a.err}), lost and threads")
        p.terminate()
        equal(p.communicate(timeout=300)[1], "slow: membarrier\n" if refuse else "", "stderr of the program")


@test
def losses_are_exact_when_four_threads_are_too_fast(dir):
    for name in ("live_busy", "live_fixed"):
        p = start(name, 4, 0)
        a = attach(dir, p, "--count", 20000, "--size", 64)
        frames, summary = decode(a.file)
        check_busy(frames)
        check_exact(frames, summary, a.summary)
        assert a.summary["lost"] > 100, a.summary
        end(p)


@test
def the_last_frames_of_a_program_that_ends_are_there(dir):
    p = start("live_fixed", 2, 30000, 10000)
    a = attach(dir, p)
    equal(a.status, 0, f"status ({a.err})")
    equal(a.summary["end"], "program ended", "the end")
    frames, summary = decode(a.file)
    check_exact(frames, summary, a.summary)
    equal({f["thread"]: 0 for f in frames}.keys() | set(), {0, 1}, "threads")
    equal(max(f["n"] for f in frames), 10000, "the last number")
    equal(a.summary["lost"], 0, "lost")


@test
def signals_and_limits_end_it_cleanly(dir):
    p = start("live_busy", 2, 50000)
    before = segments()
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        c = attach_start(dir, p)
        attached(dir, c, p)
        c.send_signal(sig)
        _, err = c.communicate(timeout=300)
        equal(c.returncode, 0, f"status after {sig} ({err})")
        equal(json.loads(err.splitlines()[-1])["end"], "asked", "the end")
        frames, summary = decode(os.path.join(dir, "frames.ppt"))
        equal(summary["ended"], True, "the last mark")
    a = attach(dir, p, "--count", 123)
    equal(len(decode(a.file)[0]), 123, "frames")
    equal(a.summary["end"], "count", "the end")
    equal(segments(), before, "shared memory afterwards")
    end(p)


def has_pending(pid):
    """A signal is on its way to the process."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return any(int(line.split()[1], 16) for line in f if line.startswith(("SigPnd:", "ShdPnd:")))


@test
def nothing_is_left_when_the_program_never_saves(dir):
    p = start("live_fixed", 1, 1000)
    p.send_signal(signal.SIGUSR1)
    wait_until(lambda: not has_pending(p.pid), "the program stops saving")
    for _ in range(20):  # a frame may have been begun before
        before = segments()
        a = attach(dir, p, "--duration", 0.2)
        if not a.summary["attached"]:
            break
    equal(a.status, 0, f"status ({a.err})")
    contains(a.err, "saved no frame")
    equal(a.summary["attached"], False, "attached")
    equal(segments(), before, "shared memory")
    frames, summary = decode(a.file)
    equal(len(frames), 0, "frames")
    p.send_signal(signal.SIGUSR2)
    time.sleep(0.1)
    equal(attach(dir, p, "--count", 10).summary["recorded"], 10, "frames of the next attach")
    end(p)


@test
def a_second_collector_is_refused_with_the_first_ones_pid(dir):
    p = start("live_busy", 1, 100000)
    c = attach_start(dir, p)
    attached(dir, c, p)
    status, _, err = tool("attach", "-p", p.pid, "-o", os.path.join(dir, "second.ppt"))
    equal(status, 1, "status")
    contains(err, f"process {c.pid} (corotracer) is attached already")
    contains(err, "--force-attach")
    assert not os.path.exists(os.path.join(dir, "second.ppt")), "a file of the one that was refused"
    a = attach(dir, p, "--force-attach", "--count", 50, file="second.ppt")
    equal(a.status, 0, f"status of force ({a.err})")
    equal(len(decode(a.file)[0]), 50, "frames of the second")
    _, err = c.communicate(timeout=300)
    equal(json.loads(err.splitlines()[-1])["end"], "taken over", "the end of the first")
    check_busy(decode(os.path.join(dir, "frames.ppt"))[0])
    end(p)


@test
def a_dead_collector_is_said_and_taken_over_from(dir):
    for name in ("live_busy", "live_fixed"):
        p = start(name, 2, 50000)
        c = attach_start(dir, p)
        attached(dir, c, p)
        c.kill()
        c.wait()
        a = attach(dir, p, "--count", 100, file="next.ppt")
        equal(a.status, 0, f"status ({a.err})")
        contains(a.err, f"its last collector, process {c.pid}, went without detaching")
        frames, summary = decode(a.file)
        check_busy(frames)
        # The killed collector left a file that is readable up to its end.
        frames, summary = decode(os.path.join(dir, "frames.ppt"))
        equal(summary["ended"], False, "the last mark")
        check_busy(frames)
        end(p)


@test
def a_resize_under_load_loses_nothing_by_itself(dir):
    p = start("live_busy", 4, 100000)
    c = attach_start(dir, p, "--size", 65536, "-v")
    attached(dir, c, p)
    for slots in (131072, 32768, 65536, 131072):
        status, _, err = tool("attach", "-p", p.pid, "--resize", slots)
        equal((status, err), (0, ""), f"asking for {slots} slots")
    c.send_signal(signal.SIGUSR1)
    while "uses 262144 slots now" not in c.stderr.readline():
        pass
    c.terminate()
    _, err = c.communicate(timeout=300)
    at = json.loads(err.splitlines()[-1])
    frames, summary = decode(os.path.join(dir, "frames.ppt"))
    check_busy(frames)
    check_exact(frames, summary, at)
    equal(at["resizes"], 5, "resizes")
    equal(at["slots"], 262144, "slots")
    equal(summary["resizes"], 5, "resizes in the file")
    equal(at["lost"], at["dropped"], "lost by the collector")
    end(p)


@test
def auto_resize_ends_the_losses_or_grows(dir):
    p = start("live_busy", 4, 0)
    a = attach(dir, p, "--size", 64, "--auto-resize", "--count", 40000)
    frames, summary = decode(a.file)
    check_busy(frames)
    check_exact(frames, summary, a.summary)
    assert a.summary["resizes"] > 0 and a.summary["slots"] > 64, a.summary
    end(p)
    p = start("live_fixed", 1, 100000)
    status, _, err = tool("attach", "-p", p.pid, "--resize", 64)
    equal(status, 1, "status of a resize of a fixed buffer")
    contains(err, "option buffer resize on")
    end(p)


@test
def programs_of_the_existing_tool_work(dir):
    before = segments()
    p = start("live_existing", 0, 100)
    a = attach(dir, p, "--count", 3000, "-c", "PAGE-FAULTS")
    equal(a.status, 0, f"status ({a.err})")
    equal((a.summary["recorded"], a.summary["lost"]), (3000, 0), "recorded and lost")
    frames, summary = decode(a.file)
    numbers = [f["ppt_seqno"] for f in frames]
    equal(numbers, list(range(numbers[0], numbers[0] + 3000)), "sequence numbers")
    for f in frames:
        if f["frame"] == "work":
            n = f["id"]
            equal((f["code"], f["load"], f["took_duration"]), (-n, n * 0.5, 1000), "a frame")
            assert f["events_0_end[PAGE-FAULTS]"] >= f["events_0_start[PAGE-FAULTS]"], f
        else:
            equal(f["f"], f["n"] * 0.25, "a tick")
    # It keeps the ring: detaching could close its standard input, or crash it.
    equal(a.summary["parked"], True, "parked")
    b = attach(dir, p, "--count", 1000)
    second = [f["ppt_seqno"] for f in decode(b.file)[0]]
    assert second[0] > numbers[-1], (numbers[-1], second[0])
    p.kill()
    p.wait()
    equal(segments(), before, "shared memory when the program is gone")


@test
def a_member_of_every_type_arrives_in_every_format(dir):
    p = start("live_plus", 1000)
    a = attach(dir, p, "--count", 1000, "-d", "a, comment", "-t", "-1")
    end(p)
    frames, summary = decode(a.file)
    equal([f["ppt_seqno"] for f in frames], list(range(1, 1001)), "numbers")
    now = time.time_ns()
    for n, f in enumerate(frames, 1):
        want = {
            "a": struct.unpack("b", struct.pack("B", -n & 0xFF))[0], "b": -n, "c": -n, "d": -n, "e": n & 0xFF, "f": n,
            "g": n | 0x80000000, "h": ~n & (2**64 - 1), "yes": n % 2 == 1, "half": n / 2, "third": n / 3,
            "step_start": n, "step_end": -n, "step_delta": -2 * n, "text": f'{n}, "{n}"'[:12],
            "list": [n, n + 1, n + 2], "is": {0: "idle", 1: "busy", 2: 77}[n % 3],
        }
        for key, value in want.items():
            equal(f[key], value, f"{key} of frame {n}")
        equal(f["took_duration"], f["took_end"] - f["took_start"], "duration")
        assert f["took_start"] <= f["at"] <= f["took_end"], f
        assert now - 4000e9 < f["at"] < now - 3500e9, "an hour earlier than it was"
    equal(tool("decode", "-q", a.file, os.path.join(dir, "out"))[0], 0, "status of CSV")
    with open(os.path.join(dir, "out", "all.csv"), newline="", encoding="utf-8") as f:
        text = f.read()
    assert text.count("\n") == 1001 and "\r" not in text, "line ends"
    rows = list(csv.DictReader(text.splitlines()))
    for row, f in zip(rows, frames):
        equal((row["text"], row["g"], row["h"], row["a"]), (f["text"], str(f["g"]), str(f["h"]), str(f["a"])), "a row")
        equal((float(row["third"]), float(row["half"]), row["yes"]), (f["third"], f["half"], str(f["yes"]).lower()), "a row")
        equal([int(row[f"list[{i}]"]) for i in range(3)], f["list"], "an array")
    db = os.path.join(dir, "x.sqlite")
    equal(tool("decode", "-q", "-f", "sqlite", a.file, db)[0], 0, "status of sqlite")
    with sqlite3.connect(db) as c:
        got = c.execute('SELECT ppt_seqno, d, third, text, "is", g, took_duration FROM "all" ORDER BY 1').fetchall()
        tags = c.execute("SELECT value FROM recording WHERE key = 'tag a key'").fetchall()
    equal(got, [(f["ppt_seqno"], f["d"], f["third"], f["text"], str(f["is"]), f["g"], f["took_duration"]) for f in frames],
          "the table")
    equal(tags, [("a \\value",)], "the tag")
    info = json.loads(tool("query", "-f", a.file, "--json")[1])
    equal((info["comment"], info["time_offset_s"], info["tags"]), ("a, comment", -3600, [["a key", "a \\value"]]), "query")


@test
def times_of_the_cycle_counter_become_nanoseconds(dir):
    p = start("live_ticks", 2, 100000)
    for duration in (0.5, 2, 8):  # a busy machine may leave the program standing for a while
        before = time.monotonic_ns()
        a = attach(dir, p, "--duration", duration, file=f"{duration}.ppt")
        after = time.monotonic_ns()
        frames = [f for f in decode(a.file)[0] if f["frame"] == "work"]
        if len(frames) > 100:
            break
    assert len(frames) > 100, len(frames)
    slack = 5_000_000  # the rate was measured over half a second
    for f in frames:
        assert before - slack < f["took_start"] <= f["took_end"] < after + slack, (before, f, after)
    _, out, _ = tool("monitor", "-p", p.pid, "--json", "--frame", "work", "--duration", 0.3)
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines and all(after - slack < f["took_start"] < time.monotonic_ns() + 50 * slack for f in lines), lines[:1]
    end(p)


@test
def buffers_in_libraries_and_stripped_programs_are_found(dir):
    p = start("live_uses_lib")
    a = attach(dir, p, "--count", 20)
    equal([f["frame"] for f in decode(a.file)[0]], ["tick"] * 20, "frames of a library's buffer")
    contains(tool("query", "-p", p.pid)[1], "liblive_lib.so")
    p.kill()
    if not has("objcopy"):
        raise Skip("no objcopy here")

    def copy(how, debug=None):
        path = os.path.join(dir, "copy")
        subprocess.run(["objcopy", *how, program("live_fixed"), path], check=True)
        p = popen(path, 1, 100000)
        p.stdout.readline()
        out = tool("query", "-p", p.pid)
        p.kill()
        p.wait()
        return out

    status, _, err = copy(["--strip-all"])
    equal(status, 1, "status for a stripped program")
    contains(err, "has no frame buffers")
    contains(err, "debug info")
    os.mkdir(os.path.join(dir, ".debug"))
    debug = os.path.join(dir, ".debug", "copy.debug")
    subprocess.run(["objcopy", "--only-keep-debug", program("live_fixed"), debug], check=True)
    status, out, err = copy(["--strip-all", f"--add-gnu-debuglink={debug}"])
    equal(status, 0, f"status with separate debug info ({err})")
    contains(out, "Fixed")


@test
def counters_are_checked_before_the_program_sees_them(dir):
    p = start("live_fixed", 1, 100000)
    status, _, err = tool("attach", "-p", p.pid, "-c", "NO_SUCH_COUNTER")
    equal(status, 1, "status")
    contains(err, "this machine has no counter 'NO_SUCH_COUNTER'")
    contains(err, "hint: it has ")
    contains(err, "PAGE-FAULTS")
    equal(tool("attach", "-p", p.pid, "-c", "A,B,C,D")[0], 2, "status of four")
    names = ["PAGE-FAULTS", "CONTEXT-SWITCHES", "TASK-CLOCK"]
    assert {"perf::" + n for n in names} <= set(tool("attach", "-c", "list")[1].split()), "the list"
    a = attach(dir, p, "--count", 400, "-c", ",".join(names))
    frames = [f for f in decode(a.file)[0] if f["frame"] == "work"]
    last = frames[-1]
    for i, name in enumerate(names):
        equal(last[f"events_{i}_delta[{name}]"], last[f"events_{i}_end[{name}]"] - last[f"events_{i}_start[{name}]"], "delta")
    assert last["events_2_end[TASK-CLOCK]"] > frames[0]["events_2_start[TASK-CLOCK]"], "task-clock stood still"
    end(p)


@test
def refusals_say_why_and_what_to_do(dir):
    status, _, err = tool("attach", "-p", 999999999)
    equal(status, 1, "status")
    contains(err, "there is no process 999999999")
    status, _, err = tool("attach")
    equal(status, 2, "status without a process")
    p = start("live_fixed", 1, 100000)
    wait_until(lambda: len(os.listdir(f"/proc/{p.pid}/task")) > 1, "a thread")
    thread = [t for t in os.listdir(f"/proc/{p.pid}/task") if t != str(p.pid)][0]
    status, _, err = tool("attach", "-p", thread)
    contains(err, f"{thread} is a thread, of process {p.pid}")
    status, _, err = tool("attach", "-p", p.pid, "-b", "Nobody")
    contains(err, "no frame buffer 'Nobody'")
    contains(err, "Fixed")
    status, _, err = tool("attach", "-p", os.getpid())
    contains(err, "has no frame buffers")
    need_root()
    if not has("setpriv"):
        raise Skip("no setpriv here")
    as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    q = popen(*as_nobody, TOOL, "attach", "-p", p.pid, "-o", "/dev/null")
    _, err = q.communicate(timeout=300)
    if "Permission denied" in err and "setpriv" in err:
        raise Skip("nobody may not run the tool here")
    equal(q.returncode, 1, "status as another user")
    contains(err, "belongs to user 0, and we are user 65534")
    contains(err, "hint: ")
    end(p)


@test
def root_may_attach_to_a_users_program(dir):
    need_root()
    if not has("setpriv"):
        raise Skip("no setpriv here")
    os.chmod(dir, 0o755)
    copy = os.path.join(dir, "program")
    shutil.copy(program("live_fixed"), copy)
    p = popen("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", copy, 1, 50000)
    equal(p.stdout.readline(), "ready\n", "first words")
    a = attach(dir, p, "--count", 100)
    equal((a.status, a.summary["recorded"]), (0, 100), f"status and frames ({a.err})")


@test
def a_program_in_another_ipc_and_pid_namespace_works(dir):
    need_root()
    if not has("unshare"):
        raise Skip("no unshare here")
    p = popen("unshare", "-i", "-p", "-f", program("live_busy"), 2, 50000)
    equal(p.stdout.readline(), "ready\n", "first words")
    with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
        inner = int(f.read().split()[0])

    class Inner:
        pid = inner
    a = attach(dir, Inner, "--count", 300)
    equal((a.status, a.summary["recorded"]), (0, 300), f"status and frames ({a.err})")
    check_busy(decode(a.file)[0])
    os.kill(inner, signal.SIGTERM)
    p.wait()


@test
def without_its_system_calls_it_stops_the_program_and_says_how_long(dir):
    p = start("live_fixed", 2, 50000)
    file = os.path.join(dir, "frames.ppt")
    q = popen(program("live_forbid"), TOOL, "attach", "-p", p.pid, "-o", file, "--json", "--count", 200)
    _, err = q.communicate(timeout=300)
    if q.returncode == 77:
        raise Skip("no seccomp here")
    equal(q.returncode, 0, f"status ({err})")
    at = json.loads(err.splitlines()[-1])
    assert at["stops"] > 0 and at["stopped_ns"] > 0, at
    equal(at["recorded"], 200, "recorded")
    check_busy(decode(file)[0])
    print(f"# {at['stops']} stops, {at['stopped_ns'] / at['stops'] / 1000:.0f} us each")
    # A process can have one tracer only, and has one already.
    tracer = popen(sys.executable, "-c", "import ctypes,sys,time\nc = ctypes.CDLL(None)\n"
                   f"print(c.ptrace(0x4206, {p.pid}, 0, 0), flush=True)\ntime.sleep(60)")
    if tracer.stdout.readline() == "0\n":
        q = popen(program("live_forbid"), TOOL, "attach", "-p", p.pid, "-o", file, "--count", 10)
        _, err = q.communicate(timeout=300)
        equal(q.returncode, 1, f"status ({err})")
        contains(err, f"already traced by process {tracer.pid}")
        # process_vm_readv(2) does not need to trace it.
        equal(attach(dir, p, "--count", 10).status, 0, "status beside a debugger")
    tracer.kill()
    tracer.wait()
    end(p)


@test
def monitor_shows_what_goes_on(dir):
    p = start("live_fixed", 2, 50000)
    status, out, err = tool("monitor", "-p", p.pid, "--json", "--count", 100)
    equal(status, 0, f"status ({err})")
    frames = [json.loads(line) for line in out.splitlines()]
    equal(len(frames), 100, "lines")
    check_busy(frames)
    status, out, err = tool("monitor", "-p", p.pid, "--duration", 0.5, "-i", 0.2)
    equal(status, 0, f"status ({err})")
    contains(out, "took_duration")
    contains(out, "median")
    assert out.count("of process") >= 2, out
    status, out, err = tool("monitor", "-p", p.pid, "--frame", "nothing")
    equal(status, 1, "status with a frame that is not there")
    end(p)


if __name__ == "__main__":
    main()
