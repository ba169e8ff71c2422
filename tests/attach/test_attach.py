# SPDX-License-Identifier: MIT
"""test_attach.py - `corotracer run -p PID`: a program that was started plainly is traced from outside.

The program numbers the suspensions of each thread, and puts the number into the event, as its address or its
resource: the numbers in a trace must have no gap, and the last one of a program that ended while it was traced
is the program's own count.
"""
import functools
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import *  # noqa: E402
import harness  # noqa: E402

PROGRAM = os.environ["ATTACH_PROGRAM"]
LANGUAGE = os.environ.get("ATTACH_LANGUAGE", "c")
THREADS = 2
FULL = os.environ.get("COROTRACER_FULL") == "1"
ROUNDS = 200 if FULL else 20


class Program:
    """The test program, started plainly."""

    def __init__(self, pace_us=200, threads=THREADS, command=None, idle=False, env=os.environ):
        words = (command or [PROGRAM]) + [str(threads), str(pace_us)] + (["i"] if idle else [])
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        harness.STARTED.append(self.process)
        equal(self.process.stdout.readline(), "ready\n", "the program's first line")
        self.pid = self.process.pid

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self):
        """End it; returns {thread: count}, by its own count."""
        out, _ = self.process.communicate(timeout=250)
        equal(self.process.returncode, 0, "status of the program")
        return {int(a): int(b) for a, b in re.findall(r"^(\d+) (\d+)$", out, re.M)}

    def kill(self):
        self.process.kill()
        self.process.wait()


class Traced(Run):
    """A finished run; its files are read once."""

    @functools.cached_property
    def events(self):
        return super().events

    @functools.cached_property
    def sidecar(self):
        return super().sidecar


class Collector:
    """`corotracer run -p`, in the background."""

    def __init__(self, program, dir, *options, name="t.jsonl", json_summary=True, command=None, pid=None):
        self.trace = os.path.join(dir, name)
        self.at, self.found = 0, set()
        self.process = subprocess.Popen(
            (command or []) + [TOOL, "run", "-p", str(pid or program.pid), "-o", self.trace,
                               *(["--json"] if json_summary else []), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        harness.STARTED.append(self.process)

    def wait_for_events(self, at_least=1, threads=THREADS):
        """Wait for that many events, and for each thread of the program: on a loaded machine one comes later."""
        end = time.monotonic() + 200
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            if os.path.exists(self.trace) and os.path.getsize(self.trace) >= at_least * 100 \
                    and self.has_threads(threads):
                return
            time.sleep(0.02)
        self.process.kill()
        raise AssertionError(f"no events in the trace: {self.process.communicate()[1]}")

    def has_threads(self, wanted):
        """True if that many threads have suspended a coroutine in the trace.

        It may grow faster than it is read here: each line is read once, and no more lines than are needed.
        """
        with open(self.trace, "rb") as f:
            f.seek(self.at)
            for line in f:
                if len(self.found) >= wanted or not line.endswith(b"}\n"):
                    break
                self.at += len(line)
                event = json.loads(line)
                if not event["is_active"] and (LANGUAGE == "c" or "resource" in event):
                    number = int(event["addr"], 16) if LANGUAGE == "c" else event["resource"]
                    if number >> 48 < 100:
                        self.found.add(number >> 48)
        return len(self.found) >= wanted

    def wait_asked(self):
        """Wait until the program is asked to attach: the description of the run is written after that."""
        wait_until(lambda: self.process.poll() is not None or
                   (os.path.exists(self.trace + ".meta") and os.path.getsize(self.trace + ".meta")), "the request")

    def result(self, sig=None):
        if sig:
            self.process.send_signal(sig)
        out, err = self.process.communicate(timeout=250)
        return Traced(self.process.returncode, out, err, self.trace)


def expects(pid, sig):
    """The process handles the signal itself, or has blocked it for a descriptor."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        masks = [int(line.split()[1], 16) for line in f if line.startswith(("SigBlk:", "SigCgt:"))]
    return any(mask & 1 << int(sig) - 1 for mask in masks)


def detach(c):
    return c.result(signal.SIGINT)


def numbers(r):
    """{thread: [numbers of its suspensions]}, in the order of the trace.

    A coroutine that ran while its program attached says at its first suspension only that it is suspended.
    """
    found = {}
    met = set()
    adopted = {e["probe_id"] for e in r.sidecar if e["type"] == "birth" and e.get("adopted")}
    for e in r.events:
        number = int(e["addr"], 16) if LANGUAGE == "c" else e.get("resource", 0)
        first = e["probe_id"] not in met
        met.add(e["probe_id"])
        if first and LANGUAGE != "c" and "resource" not in e and e["probe_id"] in adopted:
            continue
        if not e["is_active"]:
            found.setdefault(number >> 48, []).append(number & (1 << 48) - 1)
    return found


def no_gaps(r, counts=None, threads=THREADS):
    """Every suspension from the first to the last is in the trace; @counts: the last is the program's last."""
    s = r.summary
    equal((s["lost"], s["others"]["lost"], s["garbage"]), (0, 0, 0), "lost, lost others, garbage")
    found = numbers(r)
    if threads is not None:
        equal(len([t for t in found if t < 100]), threads, "threads in the trace")
    for thread, seen in found.items():
        if thread >= 100:
            continue
        ordered = sorted(seen)
        missing = sorted(set(range(ordered[0], ordered[-1] + 1)) - set(ordered))
        what = f"{ordered[0]} to {ordered[-1]}, {len(missing)} missing"
        equal((missing[:12], len(ordered) - len(set(ordered))), ([], 0), f"missing and double suspensions of thread {thread} ({what})")
        if counts:
            equal(ordered[-1], counts[thread], f"last suspension of thread {thread}, by its own count")
    return found


def findings(r, *names):
    status, out, err = tool("report", "--json", r.trace)
    assert status in (0, 1), err
    found = [f["detector"] for f in json.loads(out).get("findings", [])]
    return [f for f in found if f in names]


@test
def it_is_traced_until_the_tool_is_interrupted_and_goes_on(dir):
    p = Program()
    c = Collector(p, dir)
    c.wait_for_events(500)
    r = detach(c)
    equal(r.status, 0, r.err)
    equal((r.summary["attached"], r.summary["detached"]), (True, True), "attached, detached")
    equal([e["pid"] for e in r.sidecar if e["type"] == "run"], [p.pid], "pid of the run")
    found = no_gaps(r)
    counts = p.end()
    for thread, seen in found.items():
        # On a loaded machine a thread may begin after the attach.
        assert counts[thread] > max(seen) > min(seen), f"not a part of the run: {seen[0]} to {seen[-1]}"


@test
def the_trace_ends_with_the_program(dir):
    p = Program()
    c = Collector(p, dir)
    c.wait_for_events(500)
    counts = p.end()
    r = c.result()
    equal((r.status, r.summary["detached"]), (0, False), "status, detached")
    no_gaps(r, counts)
    totals = [e for e in r.sidecar if e["type"] == "totals"]
    equal((len(totals), totals[0]["complete"], "detached" in totals[0]), (1, True, False), "totals")
    status, out, _ = tool("info", "--json", r.trace)
    equal((status, json.loads(out)["verdict"] if "verdict" in json.loads(out) else "complete"), (0, "complete"),
          "info")


@test
def earlier_coroutines_are_adopted_and_the_report_knows(dir):
    p = Program()
    c = Collector(p, dir)
    c.wait_for_events(2000)
    r = detach(c)
    births = [e for e in r.sidecar if e["type"] == "birth"]
    adopted = {e["probe_id"] for e in births if e.get("adopted")}
    others = [e for e in births if not e.get("adopted")]
    # The four of each thread; and the brief one that a thread may have begun when another one attached.
    assert 4 * THREADS <= len(adopted) <= 5 * THREADS, f"{len(adopted)} adopted coroutines"
    assert others and all(e.get("name", "brief") == "brief" for e in others), others[:3]
    first = {}
    for e in r.events:
        first.setdefault(e["probe_id"], e)
    assert adopted <= set(first), "an adopted coroutine without an event"
    equal(findings(r, "never-run", "leak", "suspended-at-exit", "never-destroyed", "double-resume"), [], "findings")
    p.end()


def later_suspensions(r):
    """All suspensions but the first event of a coroutine, which may be from before the attach."""
    met = set()
    for e in r.events:
        if e["probe_id"] in met and not e["is_active"]:
            yield e
        met.add(e["probe_id"])


@test
def it_attaches_and_detaches_twenty_times_under_load(dir):
    p = Program(pace_us=20)
    last = {}
    suspended = known = 0
    for i in range(ROUNDS + 100):
        # On a loaded machine a round has few events, or none of a thread: as many rounds as it takes.
        if i >= ROUNDS and len(last) == THREADS and suspended > 1000:
            break
        # Looks at waiting coroutines take most of a round: in some rounds.
        c = Collector(p, dir, "--duration", "0.1", *(["--no-snapshot"] if i % 8 and not FULL else []))
        r = c.result()
        equal(r.status, 0, r.err)
        for thread, seen in no_gaps(r, threads=None).items():
            assert min(seen) > last.get(thread, 0), f"round {i}: {min(seen)} comes after {last[thread]}"
            last[thread] = max(seen)
        sites = {e["id"]: e for e in r.sidecar if e["type"] == "site"}
        for e in later_suspensions(r):
            suspended += 1
            known += e.get("site") in sites
    assert known * 10 > suspended * 8, f"{known} of {suspended} suspensions have a site"
    counts = p.end()
    equal(sorted(last), sorted(counts), "threads in the traces")
    assert all(counts[t] >= last[t] for t in last), "the program counted less than was traced"


@test
def a_second_collector_is_refused_with_the_pid_of_the_first(dir):
    p = Program()
    c = Collector(p, dir)
    c.wait_for_events()
    status, _, err = tool("run", "-p", str(p.pid), "-o", dir + "/second.jsonl")
    equal(status, 1, "status of the second")
    contains(err, f"process {p.pid} is traced by another collector, process {c.process.pid}")
    assert not os.path.exists(dir + "/second.jsonl"), "the second one made a trace"
    no_gaps(detach(c))
    p.end()


@test
def a_program_whose_collector_was_killed_can_be_attached_again(dir):
    p = Program()
    c = Collector(p, dir)
    c.wait_for_events(100)
    c.result(signal.SIGKILL)
    c = Collector(p, dir, name="again.jsonl")
    c.wait_for_events(100)
    r = detach(c)
    equal(r.status, 0, r.err)
    no_gaps(r)
    p.end()


@test
def a_program_whose_first_attach_failed_can_be_attached(dir):
    p = Program(env=dict(os.environ, CTP_SHM_PATH=dir + "/none", CTP_SOCK_PATH=dir + "/none.sock"))
    c = Collector(p, dir)
    c.wait_for_events(100)
    no_gaps(detach(c))
    p.end()


@test
def a_program_of_run_can_be_attached_after_its_collector_was_killed(dir):
    first = subprocess.Popen([TOOL, "run", "-o", dir + "/first.jsonl", "--", PROGRAM, str(THREADS), "200"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    harness.STARTED.append(first)
    equal(first.stdout.readline(), "ready\n", "the program's first line")
    with open(f"/proc/{first.pid}/task/{first.pid}/children", encoding="ascii") as f:
        pids = [int(n) for n in f.read().split()]
    pid = [n for n in pids if os.path.realpath(f"/proc/{n}/exe") == os.path.realpath(PROGRAM)][0]
    status, _, err = tool("run", "-p", str(pid), "-o", dir + "/second.jsonl")
    equal(status, 1, err)
    contains(err, f"by another collector, process {first.pid}")
    first.kill()
    first.wait()
    c = Collector(None, dir, pid=pid)
    c.wait_for_events(100)
    no_gaps(detach(c))
    os.kill(pid, signal.SIGKILL)


@test
def a_program_without_events_is_attached_at_its_next_one(dir):
    p = Program(idle=True)
    c = Collector(p, dir)
    c.wait_asked()
    time.sleep(0.2)
    equal(c.process.poll(), None, "the collector waits")
    p.say("go")
    c.wait_for_events(2000)
    found = no_gaps(detach(c))
    equal(min(min(seen) for seen in found.values()) <= 2, True, "the thread that attaches is traced from its first event on")
    p.end()


@test
def a_request_that_was_taken_back_leaves_the_program_alone(dir):
    p = Program(idle=True)
    c = Collector(p, dir)
    c.wait_asked()
    wait_until(lambda: expects(c.process.pid, signal.SIGINT), "the collector")
    r = detach(c)
    equal((r.status, r.summary["written"]), (0, 0), "status, events")
    p.say("go")
    c = Collector(p, dir)
    c.wait_for_events(100)
    no_gaps(detach(c))
    p.end()


@test
def the_program_ends_while_it_is_asked(dir):
    for pause in (0, 0.01, 0.02, 0.05):
        p = Program()
        c = Collector(p, dir)
        time.sleep(pause)
        p.kill()
        r = c.result()
        assert r.status in (0, 1), r.err
        if r.status:
            assert re.search("no process|has ended|has no program", r.err), r.err


if LANGUAGE == "c":
    @test
    def a_child_is_traced_into_the_same_trace(dir):
        p = Program()
        c = Collector(p, dir)
        c.wait_for_events(100)
        p.say("fork")
        equal(p.process.stdout.readline(), "forked\n", "the child has ended")
        r = detach(c)
        found = no_gaps(r)
        # The child's own coroutine; the one that it inherited is untraced there.
        equal(len(found[100]), 1000, "suspensions of the child's coroutine")
        equal(r.summary["connected"], 2, "processes")
        p.end()

    @test
    def a_program_that_executes_another_one_ends_the_trace(dir):
        p = Program()
        c = Collector(p, dir)
        c.wait_for_events(100)
        p.say("x")
        r = c.result()
        equal((r.status, r.summary["replaced"]), (0, True), "status, replaced")
        no_gaps(r)
        p.kill()

    @test
    def a_program_without_its_main_thread_is_traced_to_its_end(dir):
        """A process that is ending looks the same for a while: it has not executed another program."""
        p = Program()
        c = Collector(p, dir)
        c.wait_for_events(100)
        p.say("l")

        def has_left():
            with open(f"/proc/{p.pid}/stat", encoding="utf-8", errors="replace") as f:
                return f.read().rsplit(")", 1)[1].split()[0] == "Z"
        wait_until(has_left, "the end of the main thread")
        size = os.path.getsize(c.trace)
        time.sleep(0.2)  # the collector looks at the program, and sees that
        c.wait_for_events(size // 100 + 1000)
        counts = p.end()
        r = c.result()
        equal((r.status, r.summary["replaced"], r.summary["detached"]), (0, False, False), "status, replaced, detached")
        no_gaps(r, counts)

    @test
    def what_cannot_be_traced_is_said(dir):
        sleeper = popen("sleep", "20")
        for pid, text in ((sleeper.pid, "contains no corotracer SDK"), (4194300, "there is no process 4194300")):
            status, _, err = tool("run", "-p", str(pid), "-o", dir + "/t.jsonl")
            equal(status, 1, err)
            contains(err, text)
        sleeper.kill()
        for words, text in ((["-p", "1", "--", "true"], "unexpected argument 'true'"),
                            (["--duration", "1", "--", "true"], "--duration needs -p PID")):
            status, _, err = tool("run", *words)
            equal(status, 2, err)
            contains(err, text)
        equal(os.listdir(dir), [], "files")


if not os.path.exists(PROGRAM):
    print(f"skipped: {PROGRAM} was not built")
    sys.exit(77)
if "ATTACH_IMPORTED" not in os.environ:
    main()
