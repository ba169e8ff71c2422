# SPDX-License-Identifier: MIT
"""test_traces.py - a trace converted: to CTF for babeltrace2, back to JSON lines; no partial output."""
import shutil

import test_ctf
from harness import *
from harness import TESTS
from test_ctf import babeltrace, dump, in_own_mounts, same_events
from test_perfetto import BUGGY, CHANNELS, ENV, FIXTURES, TRACE_TOOL, export, line, trace_of, write

TESTS.clear()


def files(dir):
    return sorted(os.listdir(dir))


def content(path):
    with open(path, "rb") as f:
        return f.read()


def facts(path):
    """The lines of a sidecar, without the line that only reserves room."""
    return sorted(text for text in content(path + ".meta").splitlines() if b'"type":"room"' not in text)


@test
def babeltrace_reads_field_by_field_what_the_lines_hold(dir):
    traces = [trace_of(dir, CHANNELS, name="a.jsonl"),
              trace_of(dir, TARGET, "events", 20, 50, 100, name="b.jsonl", env=STATIONS_ONLY)]
    traces += [trace_of(dir, BUGGY, s, name=s + ".jsonl", env=ENV) for s in ("deadlock", "double-resume", "never-destroyed")]
    for trace in traces:
        summary, _ = export(trace, trace + ".ctf", "ctf")
        ours = dump(trace)
        equal(summary["rows"], len([e for e in ours if e["kind"] != "gap"]), "events")
        theirs, told = babeltrace(trace + ".ctf")
        same_events(sorted(ours, key=lambda e: e.get("ts", 0)), theirs)
        with open(trace + ".meta", encoding="utf-8") as f:
            wanted = [json.loads(text) for text in f]
        for kind in ("run", "process", "site", "coroutine", "totals", "module"):
            equal(sum(k == kind for k, _ in told), sum(r["type"] == kind for r in wanted), "facts: " + kind)
        totals = next(p for k, p in told if k == "totals")
        for key in ("written", "collected", "lost", "others_written", "end_ts"):
            equal(totals[key], next(r for r in wanted if r["type"] == "totals")[key], key)
        status, out, err = tool("info", "--json", trace + ".ctf")
        equal((status, json.loads(out)["agrees"]), (0, True), "info: " + err)


@test
def there_and_back_is_the_same(dir):
    """Traces of lanes are in order: identical to the byte."""
    for i, target in enumerate(([CHANNELS], [BUGGY, "deadlock/locks"])):
        trace = trace_of(dir, *target, name=f"{i}.jsonl", env=ENV)
        export(trace, trace + ".ctf", "ctf")
        export(trace + ".ctf", dir + "/again.ctf", "ctf")
        export(dir + "/again.ctf", f"{dir}/back{i}.jsonl", "jsonl")
        assert content(trace) == content(f"{dir}/back{i}.jsonl"), "lines differ"
        equal(facts(f"{dir}/back{i}.jsonl"), facts(trace), "facts")
        p = subprocess.run([TOOL, "export", "jsonl", "-q", "-i", trace + ".ctf", "-o", "-"], capture_output=True, check=False)
        equal((p.returncode, p.stderr), (0, b""), "to standard output")
        assert p.stdout == content(trace)
    equal(files(dir), sorted(["0.jsonl", "0.jsonl.meta", "0.jsonl.ctf", "1.jsonl", "1.jsonl.meta", "1.jsonl.ctf", "again.ctf",
                              "back0.jsonl", "back0.jsonl.meta", "back1.jsonl", "back1.jsonl.meta"]), "files")


@test
def every_kind_of_event_and_gaps_go_over(dir):
    subprocess.run([TRACE_TOOL, "make", dir + "/t.ctf", "5000"], check=True)
    for kind in ("ctf", "jsonl"):
        export(dir + "/t.ctf", f"{dir}/u.{kind}", kind)
    wanted, got = dump(dir + "/t.ctf"), dump(dir + "/u.ctf")

    def key(e):
        return json.dumps(e, sort_keys=True)
    equal(sorted(map(key, got)), sorted(map(key, wanted)), "events")
    write(dir + "/g.jsonl", [line(1, 1000, True), line(1, 9000, False)],
          [b'{"type":"run","format":1,"tool":"t","command":["a"],"pid":7,"start_ts":900,"start_realtime":1700000000000000900,"stations":1}',
           b'{"type":"gap","lane":0,"pid":7,"tid":7,"from_ts":2000,"to_ts":8000,"transitions":11,"others":2}'])
    export(dir + "/g.jsonl", dir + "/g.ctf", "ctf")
    gap, = [e for e in dump(dir + "/g.ctf") if e["kind"] == "gap"]
    equal([gap[k] for k in ("tid", "from_ts", "to_ts", "transitions", "others")], [7, 2000, 8000, 11, 2], "gap")
    status, out, _ = tool("info", "--json", dir + "/g.ctf")
    p = subprocess.run(["babeltrace2", dir + "/g.ctf"], capture_output=True, text=True, check=False) if shutil.which("babeltrace2") else None
    if p:
        contains(p.stdout, "transitions = 11, others = 2")


@test
def other_tools_lines_become_a_trace_that_babeltrace_reads(dir):
    shutil.copy(FIXTURES + "/older-tool.jsonl", dir + "/t.jsonl")
    _, err = export(dir + "/t.jsonl", dir + "/t.ctf", "ctf", status=1)
    contains(err, "3 parts of the trace are not events")
    theirs, told = babeltrace(dir + "/t.ctf")
    equal(told, [], "facts of nobody")
    same_events(sorted(dump(dir + "/t.jsonl"), key=lambda e: e["ts"]), theirs)


@test
def only_a_trace_of_ours_is_replaced(dir):
    trace = trace_of(dir, TARGET, "events", 3, 5, 0)
    os.makedirs(dir + "/mine/sub")
    status, _, err = tool("export", "ctf", "-i", trace, "-o", dir + "/mine")
    equal(status, 1, "status")
    contains(err, "exists and is not a corotracer trace")
    equal(files(dir + "/mine"), ["sub"], "what was there")
    write(dir + "/file", [b"precious"])
    equal(tool("export", "ctf", "-i", trace, "-o", dir + "/file")[0], 1, "over a file")
    equal(content(dir + "/file"), b"precious\n", "the file")
    os.mkdir(dir + "/empty")
    export(trace, dir + "/empty/", "ctf")
    before = content(dir + "/empty/metadata")
    export(trace, dir + "/empty", "ctf")
    assert content(dir + "/empty/metadata") != before, "another uuid"
    equal(dump(dir + "/empty"), dump(trace), "events")
    status, _, err = tool("export", "ctf", "-i", dir + "/empty", "-o", dir + "/empty")
    contains(err, "is the trace itself")
    status, _, err = tool("export", "ctf", "-i", dir + "/empty/metadata", "-o", dir + "/empty")
    contains(err, "is the trace itself")
    os.symlink("empty", dir + "/link")
    export(trace, dir + "/link", "ctf")
    assert os.path.islink(dir + "/link"), "the link is gone"
    equal(files(dir), ["empty", "file", "link", "mine", "t.jsonl", "t.jsonl.meta"], "nothing is left behind")


@test
def a_full_disk_leaves_nothing(dir):
    write(dir + "/t.jsonl", [line(i % 50, 10**9 + 1000 * i, (i // 50) % 2 == 0) for i in range(60000)])
    for kind in ("perfetto", "chrome", "ctf", "jsonl"):
        os.makedirs(dir + "/disk", exist_ok=True)
        p = in_own_mounts(f"mount -t tmpfs -o size=512k none {words(dir + '/disk')} && cd {words(dir + '/disk')} && "
                          f"{words(os.path.abspath(TOOL), 'export', kind, '-i', dir + '/t.jsonl', '-o', 'out')}; echo status $?; ls -A")
        equal(p.stdout, "status 1\n", f"{kind}: status, and what is left: {p.stderr}")
        contains(p.stderr, "No space left on device")


@test
def a_signal_leaves_nothing_and_what_was_there(dir):
    """The trace comes through an endless pipe, so that the signal arrives in the middle."""
    for kind in ("perfetto", "chrome", "ctf", "jsonl"):
        os.mkdir(f"{dir}/{kind}")
        out = f"{dir}/{kind}/out"
        if kind == "ctf":
            write(dir + "/one.jsonl", [line(1, 1000, True)])
            export(dir + "/one.jsonl", out, "ctf")
        else:
            write(out, [b"before"])
        before = files(dir + "/" + kind)
        p = popen(TOOL, "export", kind, "-i", "-", "-o", out, stdin=subprocess.PIPE)
        p.stdin.write("".join(line(i % 50, 10**9 + 1000 * i, (i // 50) % 2 == 0).decode() + "\n" for i in range(20000)))
        p.stdin.flush()
        wait_until(lambda: len(files(dir + "/" + kind)) > len(before), "a temporary file")
        p.send_signal(signal.SIGINT)
        try:
            for i in range(200):  # the reader blocks in read() and is woken by the next line, too
                p.stdin.write(line(1, 10**12 + i, True).decode() + "\n")
                p.stdin.flush()
                if p.poll() is not None:
                    break
                time.sleep(0.02)
        except BrokenPipeError:
            pass
        p.stdin = None
        _, err = p.communicate(timeout=300)
        equal(p.returncode, -signal.SIGINT, f"{kind}: ended by {err}")
        equal(files(dir + "/" + kind), before, f"{kind}: files")
        if kind != "ctf":
            equal(content(out), b"before\n", kind)
        else:
            equal(len(dump(out)), 1, "the trace that was there")


if __name__ == "__main__":
    main()
