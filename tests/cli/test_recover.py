# SPDX-License-Identifier: MIT
"""test_recover.py - a killed collector: its trace and its region together have every event once.

Programs whose every event is known are traced, the collector is killed with SIGKILL at some
moment, the programs run to their end.  Then the trace, the output of `recover` from the region,
and both together are compared with what was written, event by event.
"""
import random
import re
import shutil
import tempfile

from harness import *

LINE = re.compile(rb'(?m)^\{"probe_id":(\d+),"tid":(\d+),"addr":"0x([0-9a-f]+)","seq":(\d+),"is_active":(true|false),"ts":(\d+)')
MANY = 40000 if os.environ.get("COROTRACER_FULL") else 10000  # events of a coroutine
LONGEST = MANY * 1.5e-6  # seconds until the collector is killed, at full speed


def transitions(path):
    """By coroutine: its events, in the order of the file."""
    found = {}
    with open(path, "rb") as f:
        text = f.read()
    lines = LINE.findall(text)
    equal(len(lines), text.count(b"\n"), f"lines of {path} that are events")
    for id, _, address, seq, is_active, _ in lines:
        found.setdefault(id, []).append((is_active == b"true", int(address, 16), int(seq)))
    return {int(id): events for id, events in found.items()}


def wanted(events):
    return [(k % 2 == 0, 0 if k % 2 == 0 else k + 1, 2 * (k // 8) + 2) for k in range(events)]


def kill_collector(dir, output, pause_s, processes, coroutines, events, us):
    """Returns the region that the killed collector left; the programs have ended."""
    done, started = dir + "/done", time.time()
    one = words(TARGET, "events", coroutines, events, us)
    p = popen(TOOL, "run", "-q", "-o", output, "--", "sh", "-c",
              " & ".join([one] * processes) + f" & wait; echo > {done}")
    grows = output + "/lane_0" if output.endswith(".ctf") else output
    least = 4096 if output.endswith(".ct") else 1  # its head and the run are there before any event
    wait_until(lambda: os.path.exists(done) or (os.path.exists(grows) and os.path.getsize(grows) >= least), "events")
    time.sleep(pause_s)
    p.kill()
    p.communicate()
    wait_until(lambda: os.path.exists(done), "the programs' end")
    os.unlink(done)
    _, out, _ = tool("recover", "--json")
    # An older collector that was killed may have had the same pid.
    left = [r["region"] for r in json.loads(out)
            if r["collector_pid"] == p.pid and os.stat(r["region"]).st_mtime >= started - 1]
    return left[0] if left else None  # None: it had finished before


def check(dir, output, region, processes, coroutines, events):
    written = processes * coroutines * events
    status, out, err = tool("recover", "--json", "-o", dir + "/rest.jsonl", region)
    equal(status, 0, f"status: {err}")
    account = json.loads(out)["account"]
    equal((account["unaccounted"], account["missing"], account["lost"]), (0, 0, 0), f"unaccounted, missing, lost in {account}")
    equal(account["saved"] + account["unsaved"], written, f"saved + unsaved in {account}")
    equal(os.path.realpath(account["trace"]), os.path.realpath(output), "the trace's path")
    equal(sum(len(t) for t in transitions(dir + "/rest.jsonl").values()), account["unsaved"], "events in the rest")
    with open("/dev/full", "w", encoding="ascii") as full:
        p = subprocess.run([TOOL, "recover", "--remove", region], stdout=full, stderr=subprocess.PIPE, text=True, timeout=240, check=False)
    equal(p.returncode, 1, "status without room for the account")
    contains(p.stderr, "cannot write to standard output: No space left on device")
    status, out, err = tool("recover", "--json", "--join", "--remove", "-o", dir + "/whole.jsonl", region)
    equal(status, 0, f"status of --join: {err}")
    whole = transitions(dir + "/whole.jsonl")
    equal(len(whole), processes * coroutines, "coroutines")
    for events_of_one in whole.values():
        assert events_of_one == wanted(events), f"{len(events_of_one)} of {events} events: missing, double or out of order"
    with open(dir + "/whole.jsonl.meta", encoding="utf-8") as f:
        meta = [json.loads(line) for line in f]
    for kind in ("birth", "end"):
        equal(sorted(m["probe_id"] for m in meta if m["type"] == kind), sorted(whole), kind)
    totals = meta[-1]
    equal((totals["written"], totals["collected"], totals["lost"], totals["complete"]), (written, written, 0, True), "totals")
    equal([m["type"] for m in meta].count("run"), 1, "runs")
    equal(os.path.exists(os.path.dirname(region)), False, "the region is removed")
    equal(tool("info", dir + "/whole.jsonl")[0], 0, "status of info")
    return account["saved"]


def kill_often(dir, suffix, rounds, seed, *program, longest):
    rng = random.Random(seed)
    partly = 0
    if os.environ.get("COROTRACER_FULL"):
        rounds *= 10
    # As many rounds as asked for, and more until a kill comes while the collector is at work.
    for k in range(rounds + 30):
        if k >= rounds and partly:
            break
        output = f"{dir}/t{seed}-{k}{suffix}"
        region = kill_collector(dir, output, rng.random() * longest, *program)
        if not region:
            continue
        processes, coroutines, events, _ = program
        saved = check(dir, output, region, processes, coroutines, events)
        partly += 0 < saved < processes * coroutines * events
    assert partly, "no collector was killed while it was at work: nothing was tested"


@test
def nothing_is_lost_or_double_at_full_speed(dir):
    kill_often(dir, ".jsonl", 3, 1, 2, 4, MANY, 0, longest=LONGEST)


@test
def nothing_is_lost_or_double_at_a_leisurely_pace(dir):
    kill_often(dir, ".jsonl", 5, 2, 3, 5, 400, 100, longest=0.15)


@test
def nothing_is_lost_or_double_with_ctf(dir):
    kill_often(dir, ".ctf", 2, 3, 2, 4, MANY, 0, longest=LONGEST)
    kill_often(dir, ".ctf", 3, 4, 3, 5, 400, 100, longest=0.15)


@test
def nothing_is_lost_or_double_with_a_compact_trace(dir):
    kill_often(dir, ".ct", 3, 5, 2, 4, MANY, 0, longest=LONGEST)


@test
def a_trace_that_was_moved_is_named_and_one_that_is_gone_is_refused(dir):
    output, region = dir + "/t.jsonl", None
    while not region:  # None: on a loaded machine the collector may finish before it is killed
        region = kill_collector(dir, output, 0.05, 1, 2, 2000, 100)
    os.rename(output, dir + "/moved.jsonl")
    os.rename(output + ".meta", dir + "/moved.jsonl.meta")
    status, _, err = tool("recover", "--join", "-o", dir + "/whole.jsonl", region)
    equal(status, 1, "status")
    contains(err, "cannot read the collector's trace")
    check_moved = tool("recover", "--join", "--trace", dir + "/moved.jsonl", "--remove", "-o", dir + "/whole.jsonl", region)
    equal(check_moved[0], 0, check_moved)
    for one in transitions(dir + "/whole.jsonl").values():
        assert one == wanted(2000), "events are missing or double"
    equal(tool("recover", "--join", region)[0], 2, "status without -o")


@test
def threads_that_come_and_go_leave_nothing_out(dir):
    """Programs that run one after another give lanes back and take them again while the collector reads."""
    for k in range(30):  # on a loaded machine the collector may finish before it is killed
        region = kill_after_many(dir, f"{dir}/t{k}.jsonl")
        if region:
            break
    check(dir, f"{dir}/t{k}.jsonl", region, 12, 2, 3000)


def kill_after_many(dir, output):
    done = output + ".done"
    one = words(TARGET, "events", 2, 3000, 0)
    p = popen(TOOL, "run", "-q", "-o", output, "--", "sh", "-c",
              f"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do {one}; done; echo > {done}")
    wait_until(lambda: os.path.exists(output) and os.path.getsize(output) > 500000, "events")
    p.kill()
    p.communicate()
    wait_until(lambda: os.path.exists(done), "the programs' end")
    _, out, _ = tool("recover", "--json")
    left = [r["region"] for r in json.loads(out) if r["collector_pid"] == p.pid]
    return left[0] if left else None


KILLER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int unlink(const char *path)
{
	static int count;
	int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
	const char *collector = getenv("KILL_COLLECTOR"), *at = getenv("KILL_AT");
	int rc = next(path);

	if (collector && at && access(collector, F_OK) == 0 && ++count == atoi(at))
		raise(SIGKILL);
	return rc;
}
"""


@test
def a_collector_killed_while_it_removes_its_files_leaves_no_region_without_a_journal(dir):
    """The collector is killed after each unlink() that follows the program's end."""
    if os.environ.get("SANITIZE"):
        raise Skip("a sanitizer wants its own library preloaded first")
    with open(dir + "/killer.c", "w", encoding="utf-8") as f:
        f.write(KILLER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", dir + "/killer.so", dir + "/killer.c", "-ldl"], check=True)
    killed = 0
    for at in range(1, 9):
        done = f"{dir}/done{at}"
        # The program runs without the library: only the collector is killed.
        p = popen("env", "LD_PRELOAD=" + dir + "/killer.so", "KILL_COLLECTOR=" + done, f"KILL_AT={at}", TOOL,
                  "run", "-q", "-o", f"{dir}/t{at}.jsonl", "--", "env", "-u", "LD_PRELOAD", "sh", "-c",
                  words(TARGET, "events", 2, 100, 0) + f"; echo $CTP_SHM_PATH > {done}")
        p.communicate()
        killed += p.returncode == -signal.SIGKILL
        with open(done, encoding="utf-8") as f:
            place = os.path.dirname(f.read().strip())
        for region in [r["region"] for r in json.loads(tool("recover", "--json")[1]) if r["collector_pid"] == p.pid]:
            check(dir, f"{dir}/t{at}.jsonl", region, 1, 2, 100)
        shutil.rmtree(place, ignore_errors=True)  # what remains of it is no region
    assert killed > 2, f"the collector was killed {killed} times only"


@test
def a_region_that_was_named_is_listed(dir):
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="named-corotracer-") as apart:
        place, env = os.path.join(apart, "mine"), dict(os.environ, TMPDIR=apart)
        p = popen(TOOL, "run", "-q", "--shm", place, "-o", dir + "/t.jsonl", "--", TARGET, "events", 2, 1000, 2000, env=env)
        wait_until(lambda: os.path.exists(dir + "/t.jsonl") and os.path.getsize(dir + "/t.jsonl"), "events")

        def listed():
            return [(r["live"], r["collector_pid"]) for r in json.loads(tool("recover", "--json", env=env)[1]) if r["region"] == place]
        equal(listed(), [(True, p.pid)], "listed while it is used")
        p.kill()
        p.communicate()
        equal(listed(), [(False, p.pid)], "listed after a kill")
        with open(os.path.join(apart, "other"), "wb") as f:
            f.write(b"no region")
        equal(tool("recover", "--remove", place)[0], 0, "status of --remove")
        equal(listed(), [], "listed after --remove")
        equal(os.listdir(apart), ["other"], "left")


if __name__ == "__main__":
    main()
