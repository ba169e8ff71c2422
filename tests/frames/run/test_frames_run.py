# SPDX-License-Identifier: MIT
"""`run --frames`: every frame from the first instruction on, with its thread, time and coroutine."""
import base64
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TOOL = os.environ.get("COROTRACER", os.path.join(os.environ["TRACED"], "../../../corotracer"))
TRACED = os.environ["TRACED"]
LIVE = os.environ["LIVE"]
SCRATCH = tempfile.TemporaryDirectory(prefix="ct.")


def program(kind):
    return os.path.join(TRACED, f"frames_traced_{kind}")


def run(*words, status=0):
    done = subprocess.run([TOOL, *words], capture_output=True, text=True, timeout=300)
    assert status in (None, done.returncode), (words, done.returncode, done.stderr)
    return done


def summary_of(done):
    return json.loads(next(line for line in done.stderr.splitlines() if line.startswith("{")))


def lines_of(trace):
    with open(trace + ".meta", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def frames_of(trace):
    frames = [line for line in lines_of(trace) if line["type"] == "frame"]
    for f in frames:
        if "fields" in f:
            f["fields"] = json.loads(f["fields"])
    return frames


def saves_of(text):
    keys = ("number", "tid", "coro", "where", "before", "after")
    lines = [dict(zip(keys, line.split())) for line in text.splitlines()]
    return [{k: v if k == "where" else int(v) for k, v in line.items()} for line in lines]


def check_frames(saves, frames):
    """The program's own list against the trace, frame by frame."""
    steps = {f["fields"]["number"]: f for f in frames if f.get("frame") == "step"}
    assert len(steps) == len(saves), (len(steps), len(saves))
    for s in saves:
        f = steps[s["number"]]
        fields = f["fields"]
        assert f["buffer"] == "Traced" and f["tid"] == s["tid"] == fields["tid"], (s, f)
        assert fields["where"] == s["where"] and fields["text"] == f'"{s["number"]}"\n', (s, f)
        # The clock of the trace is CLOCK_MONOTONIC: the save is between the program's own readings.
        assert s["before"] - 1000 <= f["ts"] <= s["after"] + 1000, (s, f)
        assert fields["before"] <= s["before"], (s, f)
        assert f.get("probe_id", 0) == s["coro"] == fields["coro"], (s, f)
        assert "late" not in f, f
    assert len({f["ticket"] for f in frames}) == len(saves) + 1, "two frames with one ticket"
    note, = [f for f in frames if f.get("frame") == "note"]
    assert note["fields"] == {"value": -7, "ratio": 0.1} and "probe_id" not in note, note


def check_linked(kind, rounds):
    """From the constructor on, however the program is linked."""
    trace = f"{SCRATCH.name}/{kind}.jsonl"
    done = run("run", "--frames", "--json", "-o", trace, "--", program(kind), str(rounds))
    saves = saves_of(done.stdout)
    check_frames(saves, frames_of(trace))
    s = summary_of(done)["frames"]
    inside = sum(1 for x in saves if x["coro"])
    assert s["recorded"] == s["issued"] == len(saves) + 1 and s["in_coroutine"] == inside, s
    assert s["lost"] == s["dropped"] == s["late"] == 0 and s["buffers"] == 1, s
    assert [x["where"] for x in saves[:3]] == ["constructor", "constructor", "start"]
    return trace, saves


def check_formats(trace, saves):
    """CTF and the compact format carry the same items, also when recorded there; and back."""
    for name in ("copy.ctf", "copy.ct"):
        copy, back = f"{SCRATCH.name}/{name}", f"{SCRATCH.name}/{name}.jsonl"
        run("export", "ctf" if name.endswith("ctf") else "ct", trace, "-o", copy)
        run("export", "jsonl", copy, "-o", back)
        assert frames_of(back) == frames_of(trace), name
        made = f"{SCRATCH.name}/made.{name}"
        done = run("run", "--frames=Traced", "-o", made, "--", program("pie"), "30")
        run("export", "jsonl", made, "-o", back)
        check_frames(saves_of(done.stdout), frames_of(back))
    assert saves


def section_of(page, name):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    data = text.split(f'id="ct-{name}"', 1)[1].split(">", 1)[1].split("<", 1)[0]
    return json.loads(gzip.decompress(base64.b64decode(data)))


def check_filters(trace):
    """A range and a coroutine choose the same frames in JSON lines and in a compact trace."""
    compact, frames = f"{SCRATCH.name}/filtered.ct", frames_of(trace)
    run("export", "ct", trace, "-o", compact)
    start = min(e["start_ts"] for e in lines_of(trace) if e["type"] == "run")
    times = sorted(f["ts"] for f in frames)
    low, high = times[len(times) // 3], times[len(times) // 2]
    coro = max(f.get("probe_id", 0) for f in frames)
    for source in (trace, compact):
        for options, passes in ((["--from", f"{low - start}ns", "--to", f"{high - start}ns"], lambda f: low <= f["ts"] <= high),
                                (["--coro", str(coro)], lambda f: f.get("probe_id") == coro)):
            out = f"{SCRATCH.name}/part.jsonl"
            run("export", "jsonl", source, *options, "-o", out, status=None)
            wanted = {f["ticket"] for f in frames if passes(f)}
            got = {f["ticket"] for f in frames_of(out)}
            assert wanted and len(wanted) < len(frames) and got == wanted, (source, options, len(got), len(wanted))


def check_page(trace, saves):
    """The page has the frames of each coroutine; of too many an even part."""
    page = f"{SCRATCH.name}/page.html"
    run("html", trace, "-o", page)
    frames, meta = section_of(page, "frames"), section_of(page, "meta")
    assert frames["of"] == len(saves) + 1 and frames["lost"] == 0, frames["of"]
    by_number = {json.loads(f["fields"]).get("number"): f for f in frames["frames"]}
    step = 1
    while (len(saves) + 1 + step - 1) // step > 8192:
        step *= 2
    assert len(frames["frames"]) == (len(saves) + 1 + step - 1) // step, (len(frames["frames"]), step)
    for s in saves:
        f = by_number.get(s["number"])
        if f:
            assert (f["id"], f["tid"], f["frame"]) == (str(s["coro"] or ""), s["tid"], "step"), (s, f)
            assert s["before"] - 1000 <= f["ts"] + int(meta["origin"]) <= s["after"] + 1000, (s, f)


def check_running():
    """Of a running program: from then on."""
    trace = f"{SCRATCH.name}/running.jsonl"
    for seconds in 0.7, 5, 40:  # a busy machine may need longer until the program saves
        with subprocess.Popen([program("pie"), "90000", "1000"], stdout=subprocess.PIPE, text=True) as p:
            time.sleep(0.3)
            done = run("run", "--frames", "--json", "--no-snapshot", "-p", str(p.pid), "--duration", str(seconds), "-o", trace)
            p.kill()
            p.communicate()
        frames = frames_of(trace)
        if len(frames) > 100:
            break
    s = summary_of(done)["frames"]
    assert s["recorded"] == s["issued"] == len(frames) > 100 and s["lost"] == 0, (s, len(frames))
    # A coroutine from before is known from its first resume on, at the latest.
    known = [f for f in frames if f.get("probe_id")]
    assert len(known) > 50 and all(f["fields"]["where"] in ("inside", "nested") for f in known), len(known)
    assert all(f["fields"]["coro"] in (0, f["probe_id"]) for f in known)


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "X"


def check_loss():
    """A collector that is stopped loses frames: as many as the program's list has more, in summary and trace."""
    trace, out = f"{SCRATCH.name}/loss.jsonl", f"{SCRATCH.name}/loss.out"
    with open(out, "w", encoding="utf-8") as f, \
            subprocess.Popen([TOOL, "run", "--frames", "--fail-on-loss", "--json", "-o", trace, "--", program("pie"), "40000", "0", "1"],
                             stdout=f, stderr=subprocess.PIPE, text=True) as p:
        children = []
        while not children:
            time.sleep(0.05)
            with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="utf-8") as c:
                children = [pid for pid in c.read().split() if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(program("pie"))]
        time.sleep(0.3)
        p.send_signal(signal.SIGSTOP)
        deadline = time.monotonic() + 40
        while state_of(children[0]) not in "ZX" and time.monotonic() < deadline:
            time.sleep(0.05)
        p.send_signal(signal.SIGCONT)
        _, err = p.communicate(timeout=240)
    assert p.returncode == 1, (p.returncode, err)
    s = json.loads(next(line for line in err.splitlines() if line.startswith("{")))["frames"]
    with open(out, encoding="utf-8") as f:
        saves = saves_of(f.read())
    frames = frames_of(trace)
    assert s["issued"] == len(saves) + 1 == s["recorded"] + s["lost"] and s["lost"] > 0, (s, len(saves))
    assert sum(f["lost"] for f in frames if "frame" not in f) == s["lost"], s
    # What is there is right.
    by_number = {x["number"]: x for x in saves}
    for f in frames:
        if f.get("frame") == "step":
            x = by_number[f["fields"]["number"]]
            assert (f["tid"], f.get("probe_id", 0)) == (x["tid"], x["coro"]), (f, x)


def check_counters():
    """Counters: measured in an interval of one thread; null where the coroutine changed its thread, or none was open."""
    trace = f"{SCRATCH.name}/counted.jsonl"
    done = run("run", "--frames", "--counter", "TASK-CLOCK", "-o", trace, "--", program("pie"), "40", "0", "0", status=None)
    if "counter" in done.stderr and done.returncode:
        print("no counters here:", done.stderr)
        return
    key = "work_0_delta[TASK-CLOCK]"
    for f in (f for f in frames_of(trace) if f.get("frame") == "step"):
        value = f["fields"][key]
        if f["fields"]["where"] == "moved":
            assert value is None, f
        else:
            assert value is not None and value >= 0, f
    moved = [f for f in frames_of(trace) if f.get("frame") == "step" and f["fields"]["where"] == "moved"]
    assert len(moved) == 5 and len({f["tid"] for f in moved}) == 1, moved
    # Not asked for: there are no such fields.
    assert all(key not in f["fields"] for f in frames_of(f"{SCRATCH.name}/pie.jsonl"))


def check_alone():
    """Programs without coroutines, with several threads, with the buffer in a library."""
    trace = f"{SCRATCH.name}/alone.jsonl"
    done = run("run", "--frames", "--json", "-o", trace, "--", f"{LIVE}/live_quick", "return", "700")
    s = summary_of(done)["frames"]
    frames = frames_of(trace)
    assert s["recorded"] == s["issued"] == len(frames) == 700 and s["in_coroutine"] == 0, (s, len(frames))
    assert all("probe_id" not in f and f["tid"] for f in frames)
    assert [f["fields"]["n"] for f in frames] == list(range(frames[0]["fields"]["n"], frames[0]["fields"]["n"] + 700))


def check_sandbox():
    """Refused gettid(2), and also the lock that says a thread's id: frames and events still have the same thread."""
    for sandbox in "no-gettid", "no-thread-id":
        trace = f"{SCRATCH.name}/{sandbox}.jsonl"
        done = subprocess.run([os.environ["OLD_KERNEL"], sandbox, TOOL, "run", "--frames", "-o", trace, "--", program("pie"), "60"],
                              capture_output=True, text=True, timeout=300)
        if done.returncode == 77:
            print("no seccomp here")
            return
        assert done.returncode == 0, (sandbox, done.stderr)
        with open(trace, encoding="utf-8") as f:
            events = {json.loads(line)["tid"] for line in f}
        frames = frames_of(trace)
        saves = {s["number"]: s for s in saves_of(done.stdout)}
        steps = [f for f in frames if f.get("frame") == "step"]
        tids = {f["tid"] for f in frames}
        assert len(steps) == len(saves) and tids <= events and len(tids) == 2, (sandbox, tids, events)
        assert {tid >= 1 << 30 for tid in tids} == {sandbox == "no-thread-id"}, (sandbox, tids)
        for f in steps:
            assert f.get("probe_id", 0) == saves[f["fields"]["number"]]["coro"], (sandbox, f)


def check_errors():
    trace = f"{SCRATCH.name}/none.jsonl"
    done = run("run", "--frames", "-o", trace, "--", "/bin/echo", "never", status=1)
    assert "'echo' has no frame buffer" in done.stderr and "hint:" in done.stderr, done.stderr
    assert done.stdout == "" and not os.path.exists(trace)
    done = run("run", "--frames=Other", "-o", trace, "--", program("pie"), status=1)
    assert "'Other'" in done.stderr and done.stdout == "", done.stderr
    done = run("run", "--frames", "-o", trace, "--", "/nonexistent", status=127)
    assert "cannot run" in done.stderr, done.stderr
    done = run("run", "--counter", "x", "-o", trace, "--", program("pie"), status=2)
    assert "--counter needs --frames" in done.stderr, done.stderr


def main():
    if sys.argv[1:] == ["loss"]:
        check_loss()
        return
    for kind in () if os.environ.get("SANITIZE") else ("fixed", "static", "static_pie"):
        check_linked(kind, 60)
    trace, saves = check_linked("pie", 1200)
    check_formats(trace, saves)
    check_filters(trace)
    check_page(trace, saves)
    check_counters()
    check_running()
    check_alone()
    if "OLD_KERNEL" in os.environ:
        check_sandbox()
    check_errors()


if __name__ == "__main__":
    sys.exit(main())
