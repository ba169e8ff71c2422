# SPDX-License-Identifier: MIT
"""test_short.py - an incomplete trace: every command that reads it says so.

What was recorded is known from the whole trace, counted by this script.  Then a part is removed,
cut, or made unreadable, and every reader must say what is missing, in words and in JSON, and exit
with 1; and a finding that the missing part may explain is a suspicion.
"""
import gzip
import shutil
import sys
import urllib.request

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/view")
from harness import *  # noqa: E402
from bundle import Bundle  # noqa: E402

LANES_TARGET = os.environ.get("LANES_TARGET", "build/tests/lanes_target")
THREADS, EVENTS = 4, 1000  # one coroutine each
TRANSITIONS, OTHERS = THREADS * EVENTS, 2 * THREADS
FILE_SINKS = ("csv", "sqlite", "perfetto", "chrome", "ctf", "jsonl")


def record(dir, name):
    trace = os.path.join(dir, name)
    # many-threads: all threads are alive at once, so that each has its own stream.
    status, _, err = tool("run", "-q", "--fail-on-loss", "-o", trace, "--", LANES_TARGET, "many-threads", THREADS, EVENTS)
    equal(status, 0, f"status of run: {err}")
    return trace


def counted(trace):
    """The number of transitions and of other events in a complete trace."""
    status, out, err = tool("info", "--json", trace)
    equal(status, 0, f"status of info: {err}")
    info = json.loads(out)
    return info["events"], sum(info["others"].values())


def copied(trace, to):
    if os.path.isdir(trace):
        shutil.copytree(trace, to)
        return to
    for suffix in ("", ".meta"):
        shutil.copyfile(trace + suffix, to + suffix)
    return to


def read_text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def template(dir):
    path = os.path.join(dir, "template.html")
    write_text(path, "<!doctype html><title>t</title>\n<!--corotracer-data-->\n<p>end</p>\n")
    return path


# ---- every reader -----------------------------------------------------------------------


def info_of(trace):
    status, out, _ = tool("info", "--json", trace)
    return status, json.loads(out)["completeness"], tool("info", trace)[1]


def report_of(trace):
    status, out, err = tool("report", "--json", trace)
    return status, json.loads(out)["completeness"], err


def exported(trace, kind, dir):
    out = os.path.join(dir, f"out-{kind}")
    status, _, err = tool("export", kind, "--json", "-i", trace, "-o", out)
    lines = [line for line in err.splitlines() if line.startswith("{")]
    if os.path.isdir(out):
        shutil.rmtree(out)
    return status, json.loads(lines[0])["completeness"], err


def page_of(trace, dir):
    out = os.path.join(dir, "page.html")
    status, said, err = tool("html", "--json", "--page", template(dir), "-o", out, trace)
    bundle = Bundle(out)
    equal(json.loads(said)["completeness"], bundle.meta["completeness"], "completeness in the page")
    return status, bundle.meta["completeness"], err


def readings(trace, dir):
    """(command, status, completeness, text for people) of every reader."""
    yield "info", *info_of(trace)
    yield "report", *report_of(trace)
    for kind in FILE_SINKS:
        yield f"export {kind}", *exported(trace, kind, dir)
    yield "html", *page_of(trace, dir)


def says_incomplete(trace, dir, *, words=(), transitions=None, others=None):
    for who, status, c, text in readings(trace, dir):
        equal(status, 1, f"status of {who} on {trace}: {text}")
        equal(c["verdict"], "incomplete", f"verdict of {who}")
        if who != "info":
            contains(text, "incomplete")
        for word in words:
            contains(c["missing"] + text, word)
        if transitions is not None:
            equal(c["expected"] - c["read"], transitions, f"transitions missing, says {who}")
            equal(c["expected_others"] - c["read_others"], others, f"other events missing, says {who}")


def says_complete(trace, dir):
    for who, status, c, text in readings(trace, dir):
        equal(status, 0, f"status of {who}: {text}")
        equal((c["verdict"], c["missing"]), ("complete", None), f"verdict of {who}")
        equal((c["read"], c["read_others"]), (c["expected"], c["expected_others"]), f"counts of {who}")
        if "incomplete" in text or "unfinished" in text:
            raise AssertionError(f"{who} says of a whole trace:\n{text}")


# ---- CTF ----------------------------------------------------------------------------------


def lanes_of(trace):
    return sorted(name for name in os.listdir(trace) if name.startswith("lane_"))


def without(trace, dir, name):
    """The result of removing stream @name: counted from the trace of the rest."""
    rest = copied(trace, os.path.join(dir, f"without-{name}"))
    os.unlink(os.path.join(rest, name))
    return rest


@test
def a_whole_trace_is_complete(dir):
    for name in ("trace.jsonl", "trace.ctf"):
        trace = record(dir, name)
        equal(counted(trace), (TRANSITIONS, OTHERS), f"events of {name}")
        says_complete(trace, dir)


@test
def a_stream_that_was_removed_is_missed(dir):
    trace = record(dir, "trace.ctf")
    lanes = lanes_of(trace)
    if len(lanes) < 2:
        raise Skip("all threads share one stream")
    rest = without(trace, dir, lanes[-1])
    _, out, _ = tool("info", "--json", rest)
    info = json.loads(out)
    missing, others = TRANSITIONS - info["events"], OTHERS - sum(info["others"].values())
    equal(missing > 0, True, "the stream held something")
    says_incomplete(rest, dir, words=("transitions are missing", "stream file"), transitions=missing, others=others)


@test
def every_stream_removed_is_an_incomplete_trace(dir):
    trace = record(dir, "trace.ctf")
    for name in lanes_of(trace):
        os.unlink(os.path.join(trace, name))
    says_incomplete(trace, dir, transitions=TRANSITIONS, others=OTHERS)


@test
def a_stream_that_cannot_be_read_is_named(dir):
    trace = record(dir, "trace.ctf")
    name = lanes_of(trace)[0]
    path = os.path.join(trace, name)
    os.rename(path, os.path.join(dir, "kept"))
    os.mkdir(path)
    says_incomplete(trace, dir, words=(f"'{name}'", "Is a directory", "transitions are missing"))
    os.rmdir(path)
    os.symlink(os.path.join(dir, "kept"), path)
    says_incomplete(trace, dir, words=(f"'{name}'",))
    os.unlink(path)
    os.rename(os.path.join(dir, "kept"), path)
    os.chmod(path, 0)
    if os.getuid() != 0:
        says_incomplete(trace, dir, words=(f"'{name}'", "Permission denied"))
    else:
        denied_to_another_user(trace, dir, name)
    os.chmod(path, 0o600)
    says_complete(trace, dir)


def denied_to_another_user(trace, dir, name):
    """Root may read everything, so the tool runs as another user."""
    os.chmod(dir, 0o755)
    os.chmod(trace, 0o755)
    for file in os.listdir(trace):
        if file != name:
            os.chmod(os.path.join(trace, file), 0o644)
    for command in ("info", "report"):
        try:
            status, out, err = tool(command, "--json", trace, user=65534, group=65534)
        except PermissionError:
            return  # only root can reach the directory of the tool
        equal(status, 1, f"status of {command}: {err}")
        contains(json.loads(out)["completeness"]["missing"], f"'{name}' cannot be read: Permission denied")


@test
def a_stream_that_is_cut_is_missed(dir):
    trace = record(dir, "trace.ctf")
    path = os.path.join(trace, lanes_of(trace)[0])
    whole = os.path.getsize(path)
    for size in (whole - 1, whole // 2, 100, 1, 0):
        os.truncate(path, size)
        says_incomplete(trace, dir, words=("missing",))


@test
def a_ctf_trace_without_its_totals_is_unfinished(dir):
    for gone in (("totals",), ("totals", "facts")):
        trace = copied(record(dir, f"{len(gone)}.ctf"), os.path.join(dir, f"cut{len(gone)}.ctf"))
        for name in gone:
            os.unlink(os.path.join(trace, name))
        for who, status, c, text in readings(trace, dir):
            equal((status, c["verdict"]), (0, "unfinished"), f"status and verdict of {who}: {text}")
            contains(c["missing"], "totals are missing")
        status, _, err = tool("report", "--fail-on", "all", trace)
        equal(status, 1, "status of a gate on an unfinished trace")
        contains(err, "unfinished")


# ---- JSON lines --------------------------------------------------------------------------


@test
def lines_that_were_cut_off_are_missed(dir):
    trace = record(dir, "trace.jsonl")
    lines = read_text(trace).splitlines(keepends=True)
    equal(len(lines), TRANSITIONS, "lines")
    for what, kept in (("head", lines[:100]), ("tail", lines[-100:]), ("without one", lines[:50] + lines[51:])):
        short = copied(trace, os.path.join(dir, f"{what}.jsonl"))
        write_text(short, "".join(kept))
        says_incomplete(short, dir, words=("transitions are missing",), transitions=TRANSITIONS - len(kept), others=0)
    short = copied(trace, os.path.join(dir, "inside.jsonl"))
    write_text(short, "".join(lines[:100]) + lines[100][:20])
    says_incomplete(short, dir, words=("cut",), transitions=TRANSITIONS - 100, others=0)


@test
def a_trace_with_more_than_its_totals_is_of_another_run(dir):
    trace = record(dir, "trace.jsonl")
    with open(trace, encoding="utf-8") as f:
        last = f.readlines()[-1]
    with open(trace, "a", encoding="utf-8") as f:
        f.write(last)
    says_incomplete(trace, dir, words=("another run",))


@test
def a_sidecar_that_is_cut_or_gone_is_no_proof(dir):
    trace = record(dir, "trace.jsonl")
    lines = read_text(trace + ".meta").splitlines(keepends=True)
    short = copied(trace, os.path.join(dir, "cut.jsonl"))
    write_text(short + ".meta", "".join(lines[:len(lines) // 2]))
    for who, status, c, text in readings(short, dir):
        equal((status, c["verdict"]), (0, "unfinished"), f"status and verdict of {who}: {text}")
    write_text(short + ".meta", "".join(lines[:len(lines) // 2]) + lines[len(lines) // 2][:15])
    says_incomplete(short, dir, words=("sidecar",))
    os.unlink(short + ".meta")
    for who, status, c, text in readings(short, dir):
        equal((status, c["verdict"], c["expected"]), (0, "unknown", None), f"status and verdict of {who}: {text}")
    # Without a sidecar the sequence numbers show that the start is missing.
    seen, kept = {}, []
    for text in read_text(short).splitlines(keepends=True):
        id = json.loads(text)["probe_id"]
        seen[id] = seen.get(id, 0) + 1
        if seen[id] > EVENTS // 2:
            kept.append(text)
    write_text(short, "".join(kept))
    status, out, _ = tool("report", "--text", short)
    equal(status, 0, "status")
    contains(" ".join(out.split()), "transitions are missing")


# ---- the server ---------------------------------------------------------------------------


@test
def the_server_says_it_and_so_does_its_page(dir):
    trace = record(dir, "trace.jsonl")
    lines = read_text(trace).splitlines(keepends=True)
    write_text(trace, "".join(lines[:100]))
    p = popen(TOOL, "serve", trace)
    url = p.stdout.readline().strip()
    if not url.startswith("http"):
        err = p.communicate(timeout=300)[1]
        raise Skip("there is no server in this build") if "libmicrohttpd" in err else AssertionError(err)
    with urllib.request.urlopen(url + "api/meta", timeout=300) as answer:
        data = answer.read()
    meta = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    equal(meta["completeness"]["verdict"], "incomplete", "verdict of the server")
    equal(meta["completeness"]["read"], 100, "transitions that it read")
    p.send_signal(signal.SIGINT)
    err = p.communicate(timeout=300)[1]
    contains(err, "incomplete")
    contains(err, f"{TRANSITIONS - 100:,} of {TRANSITIONS:,} transitions are missing")


# ---- findings -----------------------------------------------------------------------------

SECOND = 10**9
T0 = 10**12


def event(id, tid, active, ts, more=""):
    return ts, (f'{{"probe_id":{id},"tid":{tid},"addr":"0x00007f0000000010","seq":2,"is_active":{"true" if active else "false"},'
                f'"ts":{ts}{more}}}\n')


def woken_and_resumed(dir):
    """Twenty coroutines wait for a mutex, are woken and continue, while another runs all the time: no bug."""
    path = os.path.join(dir, "woken.jsonl")
    lines, meta, last = [], [], []
    for i in range(1, 21):
        t = T0 + i
        meta.append({"type": "birth", "ts": t, "probe_id": i, "tid": 7, "pid": 5})
        meta.append({"type": "wake", "ts": t + SECOND, "probe_id": i, "tid": 7})
        lines += [event(i, 7, True, t + 100), event(i, 7, False, t + 200, ',"reason":"mutex","resource":77'),
                  event(i, 7, True, t + SECOND + 100), event(i, 7, False, t + SECOND + 200, ',"reason":"accept"')]
    for i in range(1000):
        t = T0 + 1000 + i * 3 * SECOND // 1000
        lines += [event(50, 8, True, t), event(50, 8, False, t + 100, ',"reason":"timer"')]
    for i in [*range(1, 21), 50]:
        n = sum(f'"probe_id":{i},' in text for _, text in lines)
        last.append({"type": "coroutine", "station": None, "probe_id": i, "pid": 5, "name": None, "birth_ts": T0, "death_ts": None, "dead": False,
                     "writer": "corotracer", "written": n, "collected": n, "lost": 0, "garbage": 0})
    facts = [{"type": "run", "format": 1, "tool": "test", "command": ["x"], "pid": 5, "start_ts": T0, "start_realtime": 77, "arch": "x86_64",
              "stations": 1}]
    facts += sorted(meta, key=lambda m: m["ts"]) + last
    facts.append({"type": "totals", "complete": True, "written": len(lines), "collected": len(lines), "lost": 0, "others_written": len(meta),
                  "others_collected": len(meta), "others_lost": 0, "coroutines": 21, "exit_status": 0, "signal": 0, "end_ts": T0 + 3 * SECOND})
    write_text(path, "".join(text for _, text in sorted(lines)))
    write_text(path + ".meta", "".join(json.dumps(f, separators=(",", ":")) + "\n" for f in facts))
    return path


def without_the_resumes(trace):
    """As if the stream of the thread that resumed them were missing."""
    lines = read_text(trace).splitlines(keepends=True)
    kept = [text for text in lines if not ('"tid":7' in text and json.loads(text)["ts"] > T0 + SECOND)]
    equal(len(lines) - len(kept), 40, "lines that are removed")
    write_text(trace, "".join(kept))


def findings(trace):
    status, out, _ = tool("report", "--json", trace)
    return status, json.loads(out)


@test
def what_the_missing_part_explains_is_a_suspicion(dir):
    trace = woken_and_resumed(dir)
    status, report = findings(trace)
    equal(status, 0, "status of the whole trace")
    equal([f["detector"] for f in report["findings"] if f["confidence"] in ("strong", "proven")], [], "findings of the whole trace")
    without_the_resumes(trace)
    status, report = findings(trace)
    equal(status, 1, "status of the short trace")
    found = report["findings"]
    equal(any(f["detector"] == "lost-wakeup" for f in found), True, "the coroutines look stuck")
    for f in found:
        equal(f["confidence"] in ("info", "suspect"), True, f"confidence of {f['detector']}: {f['confidence']}")
        contains(f["doubt"] or "", "missing")
    equal(report["totals"]["missing"], 40, "events missing")
    contains(" ".join(report["notes"]), "40 of 2,080 transitions are missing")


@test
def no_form_of_the_report_passes_for_a_good_one(dir):
    trace = woken_and_resumed(dir)
    without_the_resumes(trace)
    for form, words in ((("--text",), "40 of 2,080 transitions are missing"), ((), "40 of 2,080 transitions are missing"),
                        (("--sarif",), '"executionSuccessful":false'), (("--junit",), 'errors="1"')):
        status, out, err = tool("report", *form, trace)
        equal(status, 1, f"status of report {form}: {err}")
        contains(" ".join(out.split()), words)
    status, out, _ = tool("report", "--text", trace)
    if "lost          none\n" in out:
        raise AssertionError("it says that nothing was lost")
    status, _, err = tool("report", "--fail-on", "all", trace)
    equal(status, 1, "status of the gate")
    contains(err, "incomplete")


if __name__ == "__main__":
    main()
