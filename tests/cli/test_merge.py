# SPDX-License-Identifier: MIT
"""test_merge.py - traces of several processes joined into one, against a merge in Python."""
import base64
import gzip
import random
import re
import tempfile

from harness import *

CHANNELS = os.environ.get("CHANNELS", "build/examples/c/channels")
CORPUS_BUGGY = os.environ.get("CORPUS_BUGGY", "build/tests/corpus/corpus_buggy")
IDS = ("probe_id", "parent", "waker")
STEP = 1000000


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def export(kind, trace, output, status=0):
    got, _, err = tool("export", kind, "-q", "-i", trace, "-o", output)
    equal(got, status, f"status of export {kind}: {err}")
    return output


def merge(output, *args, status=0):
    """The summary of a merge."""
    got, _, err = tool("merge", "--json", "-o", output, *args)
    equal(got, status, f"status of merge {args}: {err}")
    return json.loads([line for line in err.splitlines() if line.startswith("{")][0]), err


def info(path, status=0):
    got, out, err = tool("info", "--json", path)
    equal(got, status, f"status of info {path}: {err}")
    return json.loads(out)


RECORDED = {}


def two_runs(dir, formats=("ct", "jsonl")):
    """Two programs at the same time, recorded once and copied as @formats; names of the traces."""
    if not RECORDED:
        place = RECORDED["place"] = tempfile.TemporaryDirectory(prefix="corotracer-test-")
        RECORDED["first"], RECORDED["second"] = place.name + "/first.ct", place.name + "/second.ct"
        programs = {"first": [CHANNELS, *([] if os.environ.get("COROTRACER_FULL") else ["--seconds", "0.2"])],
                    "second": [TARGET, "fork", "20", "50", "100"]}
        running = [popen(TOOL, "run", "-q", "-o", RECORDED[name], "--", *words, stdout=subprocess.DEVNULL)
                   for name, words in programs.items()]
        for p in running:
            _, err = p.communicate(timeout=120)
            equal(p.returncode, 0, f"status of run: {err}")
    names = [f"{dir}/{name}.{form}" for name, form in zip(("first", "second"), formats)]
    for name, form, path in zip(("first", "second"), formats, names):
        export(form, RECORDED[name], path)
    return names


def same(got, wanted):
    """Compared one by one: a list of thousands is no message."""
    got, wanted = sorted(got), sorted(wanted)
    equal(len(got), len(wanted), "items")
    for mine, other in zip(got, wanted):
        equal(mine, other, "item")


class Items:
    """A trace as JSON lines, read by Python, with sites as places."""

    def __init__(self, path):
        self.events, self.facts = lines_of(path), lines_of(path + ".meta")
        self.sites = {s["id"]: (s["file"], s["line"], s["function"]) for s in self.facts if s["type"] == "site"}
        self.run = self.facts[0]
        self.totals = self.facts[-1]
        self.parts = [f for f in self.facts if f["type"] == "part"]

    def all(self, ids=0, threads=0, time=0):
        """Everything but sites, run, parts and totals, with the numbers raised."""
        for item in self.events + [f for f in self.facts if f["type"] not in ("site", "run", "totals", "room", "part")]:
            item = dict(item)
            if item.get("type") == "process":
                item.pop("part", None)
            for key, value in item.items():
                if not value:
                    continue
                if key in IDS or (key == "resource" and item.get("reason") == "join"):
                    item[key] = value + ids
                elif key in ("pid", "tid"):
                    item[key] = value + threads
                elif key == "ts" or key.endswith("_ts") or (key == "resource" and item.get("reason") == "timer"):
                    item[key] = value + time
                elif key in ("site", "birth_site"):
                    item[key] = self.sites[value]
            item.pop("lane", None)
            yield json.dumps(item, sort_keys=True)


def jsonl(dir, trace, name):
    """The trace as JSON lines, by another way than the merge."""
    return Items(export("jsonl", trace, f"{dir}/{name}.plain.jsonl"))


def check_sum(merged, *parts):
    for key in ("written", "collected", "lost", "coroutines", "others_written", "others_collected", "others_lost", "waits"):
        equal(merged.totals[key], sum(p.totals[key] for p in parts), f"total {key}")
    equal(merged.totals["end_ts"], max(p.totals["end_ts"] for p in parts), "end")


def check_parts(merged, *parts):
    """The description and the totals of each input, and which processes were in it."""
    for number, (got, own) in enumerate(zip(merged.parts, parts), 1):
        for key in ("command", "pid", "start_ts", "start_realtime", "hostname", "tool", "arch", "stations"):
            equal(got[key], own.run[key], f"{key} of part {number}")
        for key, value in own.totals.items():
            equal(got[key], "part" if key == "type" else value, f"{key} of part {number}")
        equal((got["number"], got["whole"], got["has_totals"]), (number, True, True), "part")
        ids = {e["probe_id"] + got["ids_from"] for e in own.events}
        equal(got["ids_to"], max(ids), f"largest number of a coroutine of part {number}")
        pids = {f["pid"] for f in merged.facts if f["type"] == "process" and f["part"] == number}
        equal(pids, {f["pid"] for f in own.facts if f["type"] == "process"}, f"processes of part {number}")


def check_merged(dir, output, first, second, threads=0):
    """The merged trace has the items of both inputs and no others, in order of time."""
    a, b = jsonl(dir, first, "a"), jsonl(dir, second, "b")
    c = jsonl(dir, output, "c")
    same(c.all(), [*a.all(), *b.all(STEP, threads)])
    for lines in (c.events, [f for f in c.facts if "ts" in f and f["type"] != "waiting"]):
        times = [e["ts"] for e in lines]
        assert times == sorted(times), "the events are not in order of time"
    equal(c.run["command"], [*a.run["command"], "+", *b.run["command"]], "command")
    equal(c.run["start_ts"], min(a.run["start_ts"], b.run["start_ts"]), "start")
    return a, b, c


@test
def two_programs_at_the_same_time_become_one_trace_in_every_format(dir):
    first, second = two_runs(dir)
    for name in ("m.ct", "m.jsonl", "m.ctf"):
        output = f"{dir}/{name}"
        summary, _ = merge(output, first, second)
        a, b, c = check_merged(dir, output, first, second)
        check_sum(c, a, b)
        check_parts(c, a, b)
        equal(summary["rows"], sum(i["transitions"] + i["other_events"] for i in summary["inputs"]), "rows")
        equal([i["coroutines_raised_by"] for i in summary["inputs"]], [0, STEP], "coroutines")
        equal([i["processes_raised_by"] for i in summary["inputs"]], [0, 0], "processes")
        got = info(output)
        equal(got["completeness"]["verdict"], "complete", "verdict")
        alone = [info(first), info(second)]
        for key in ("events", "coroutines", "threads"):
            equal(got[key], sum(i[key] for i in alone), key)
        pids = [{p["pid"] for p in i["sidecar"]["processes_first"]} for i in (got, *alone)]
        equal(pids[0], pids[1] | pids[2], "processes")
        equal(len(pids[0]), 3, "number of processes")


def with_random_ids(trace, output, seed):
    """A copy of a trace of JSON lines whose coroutines have random numbers of 64 bits; the numbers."""
    choose, ids = random.Random(seed), {}
    for suffix in ("", ".meta"):
        with open(output + suffix, "w", encoding="utf-8") as out:
            for item in lines_of(trace + suffix):
                for key in IDS + ("resource",):
                    if item.get(key) and (key in IDS or item.get("reason") == "join"):
                        item[key] = ids.setdefault(item[key], choose.getrandbits(64) | 1 << 63)
                out.write(json.dumps(item, separators=(",", ":")) + "\n")
    return ids


@test
def random_ids_are_numbered_again_and_keep_their_parts(dir):
    names = ["deadlock/locks", "leak"]
    running = [popen(TOOL, "run", "-q", "-o", f"{dir}/{i}.jsonl", "--", CORPUS_BUGGY, name, stdout=subprocess.DEVNULL)
               for i, name in enumerate(names)]
    for p in running:
        p.communicate(timeout=120)
    traces = [f"{dir}/{i}.jsonl" for i in range(len(names))]
    ids = [with_random_ids(trace, f"{dir}/r{i}.jsonl", i) for i, trace in enumerate(traces)]
    merge(dir + "/m.ct", dir + "/r0.jsonl", dir + "/r1.jsonl")
    merged = jsonl(dir, dir + "/m.ct", "m")
    equal([(p["number"], p["name"], p["whole"]) for p in merged.parts], [(1, "r0.jsonl", True), (2, "r1.jsonl", True)], "parts")
    # Every coroutine has one number, in the range of its part, and the events in the same order.
    for part, trace in zip(merged.parts, traces):
        own = [e for e in merged.events if part["ids_from"] <= e["probe_id"] <= part["ids_to"]]
        before = lines_of(trace)
        equal([e["ts"] for e in own], [e["ts"] for e in before], f"events of part {part['number']}")
        pairs = {(e["probe_id"], old["probe_id"]) for e, old in zip(own, before)}
        equal(len(pairs), len({new for new, _ in pairs}), "numbers")
        equal(len(pairs), len({old for _, old in pairs}), "coroutines")
        assert max(new for new, _ in pairs) < part["ids_from"] + STEP, "the numbers are not in sequence"
    # The findings are those of the inputs, but for the numbers of their coroutines.
    said = lambda trace: [f[:6] + (len(f[6]),) for f in findings(trace)[0]]
    equal(sorted(said(dir + "/m.ct")), sorted(said(traces[0]) + said(traces[1])), "findings")
    # A merge of it, in which the numbers are small now, keeps its parts.
    equal(tool("run", "-q", "-o", dir + "/2.ct", "--", TARGET, "events", "3", "20", "0")[0], 0, "run")
    merge(dir + "/again.ct", dir + "/m.ct", dir + "/2.ct")
    equal({p["number"]: p["name"] for p in jsonl(dir, dir + "/again.ct", "again").parts}, {1: "r0.jsonl", 2: "r1.jsonl", 3: "2.ct"},
          "parts of the second merge")
    assert ids[0] and ids[1], "no coroutine had its number replaced"


@test
def every_format_is_read(dir):
    first, second = two_runs(dir, ("jsonl", "ctf"))
    os.rename(first, dir + "/z.jsonl")
    os.rename(first + ".meta", dir + "/z.jsonl.meta")
    check = dir + "/check.ct"
    merge(check, dir + "/z.jsonl", second)
    wanted = jsonl(dir, check, "wanted")
    for suffix in ("", ".meta"):
        with open(f"{dir}/z.jsonl{suffix}", "rb") as f, gzip.open(f"{dir}/z.jsonl{suffix}.gz", "wb") as out:
            out.write(f.read())
        os.remove(f"{dir}/z.jsonl{suffix}")
    merge(dir + "/packed.ct", dir + "/z.jsonl.gz", second)
    same(jsonl(dir, dir + "/packed.ct", "packed").all(), wanted.all())
    merge(dir + "/out", "--format", "ct", dir + "/z.jsonl.gz", second)
    equal(info(dir + "/out")["format"], "ct", "format")


@test
def three_traces_and_a_merge_of_merges_are_the_same(dir):
    traces = []
    for i in range(3):
        traces.append(f"{dir}/{i}.ct")
        equal(tool("run", "-q", "-o", traces[-1], "--", TARGET, "events", "3", "20", "0")[0], 0, "run")
    merge(dir + "/all.ct", *traces)
    merge(dir + "/two.ct", *traces[:2])
    merge(dir + "/again.ct", dir + "/two.ct", traces[2])
    got, wanted = jsonl(dir, dir + "/again.ct", "again"), jsonl(dir, dir + "/all.ct", "all")
    equal({e["probe_id"] for e in wanted.events}, {i + k * STEP for k in range(3) for i in (1, 2, 3)}, "coroutines")
    # Of the second merge, the step is larger: its first input has coroutines above a million.
    ids = sorted({e["probe_id"] for e in got.events})
    equal(ids, [1, 2, 3, STEP + 1, STEP + 2, STEP + 3, 10 * STEP + 1, 10 * STEP + 2, 10 * STEP + 3], "coroutines")
    equal([e["ts"] for e in got.events], [e["ts"] for e in wanted.events], "times")


def findings(trace, raised=0):
    """What a report finds, with the numbers of coroutines raised."""
    status, out, err = tool("report", "--json", trace)
    equal(status, 0, f"status of report: {err}")
    got = json.loads(out)
    said = [(g["detector"], g["confidence"], g["count"], json.dumps(g["place"], sort_keys=True), json.dumps(g.get("kind")),
             g["oldest_ns"], tuple(sorted(c["probe_id"] + raised for c in g.get("coroutines", [])))) for g in got["findings"]]
    return said, got["totals"]


@test
def a_merged_trace_has_the_findings_of_its_parts(dir):
    names = ["long-suspended", "suspended-at-exit", "leak", "never-destroyed", "lost-wakeup/join", "deadlock"]
    running = [popen(TOOL, "run", "-q", "-o", f"{dir}/{i}.ct", "--", CORPUS_BUGGY, name, stdout=subprocess.DEVNULL)
               for i, name in enumerate(names)]
    for p in running:
        p.communicate(timeout=120)
    traces = [f"{dir}/{i}.ct" for i in range(len(names))]
    for output in ("m.ct", "m.jsonl", "m.ctf"):
        merge(f"{dir}/{output}", *traces)
        got, totals = findings(f"{dir}/{output}")
        alone = [findings(trace, i * STEP) for i, trace in enumerate(traces)]
        equal(sorted(got), sorted(sum((said for said, _ in alone), [])), "findings")
        for key in ("coroutines", "not_ended", "transitions", "others", "threads", "lost", "garbage", "missing"):
            equal(totals[key], sum(t[key] for _, t in alone), key)
    status, out, _ = tool("report", "--text", f"{dir}/m.ct")
    equal((status, out.count("m.ct, part ")), (0, len(names)), "parts of a report as text")
    status, out, _ = tool("report", "--sarif", f"{dir}/m.ct")
    equal((status, len(json.loads(out)["runs"])), (0, len(names)), "runs in SARIF")
    equal(tool("report", "--fail-on", "deadlock", f"{dir}/m.ct")[0], 1, "status of a gate that a part fails")
    equal(tool("report", "--fail-on", "double-resume", f"{dir}/m.ct")[0], 0, "status of another gate")


@test
def every_command_reads_a_merged_trace(dir):
    first, second = two_runs(dir)
    merge(dir + "/m.ct", first, second)
    for command in (["html", "-o", dir + "/page.html"], ["export", "csv", "-o", dir + "/t.csv", "-i"], ["diff", "--part", 1, dir + "/m.ct"],
                    ["export", "perfetto", "-o", dir + "/t.pftrace", "-i"], ["report"], ["info"]):
        status, _, err = tool(*command, dir + "/m.ct")
        equal(status, 0, f"{command}: {err}")
    with open(dir + "/t.csv", encoding="utf-8") as f:
        equal(sum(1 for _ in f) - 1, info(first)["events"] + info(second)["events"], "rows of CSV")


def trace_query(trace, sql):
    status, out, err = tool("query", "--json", trace, sql)
    equal(status, 0, f"status of query: {err}")
    return [tuple(row.values()) for row in json.loads(out)["rows"]]


def page_names(dir, trace, *options):
    """The names of coroutines on a page."""
    status, _, err = tool("html", "-q", "-o", dir + "/page.html", *options, trace)
    equal(status, 0, f"status of html: {err}")
    with open(dir + "/page.html", encoding="utf-8") as f:
        packed = re.search('id="ct-strings">([^<]*)<', f.read())[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))[1:]


@test
def every_command_shows_the_parts(dir):
    first, second = two_runs(dir)
    for name in ("m.ct", "m.jsonl", "m.ctf"):
        path = f"{dir}/{name}"
        merge(path, first, second)
        alone = [info(first), info(second)]
        # info lists them.
        for part, own, trace in zip(info(path)["parts"], alone, (first, second)):
            equal((part["events"], part["others"], part["coroutines_seen"]), (own["events"], sum(own["others"].values()), own["coroutines"]), "events of a part")
            equal((part["name"], part["command"], part["end_ts"]), (os.path.basename(trace), own["sidecar"]["run"]["command"], own["sidecar"]["totals"]["end_ts"]), "a part")
        contains(tool("info", path)[1], "2 traces were merged")
        # query has a table, a column and a function.
        sizes = [(i + 1, own["events"] + sum(own["others"].values())) for i, own in enumerate(alone)]
        equal(trace_query(path, "SELECT part, count(*) FROM events GROUP BY part"), sizes, "events by part")
        equal(trace_query(path, "SELECT part_of(probe_id), count(*) FROM events GROUP BY 1"), sizes, "events by the part of their coroutine")
        equal(trace_query(path, "SELECT number, name FROM parts ORDER BY number"), [(1, os.path.basename(first)), (2, os.path.basename(second))], "parts")
        # A part is what its input was, but for the numbers of the second one.
        for number, own in enumerate(alone, 1):
            got = json.loads(tool("info", "--json", "--part", number, path)[1])
            for key in ("events", "others", "coroutines", "threads", "duration_ns"):
                equal(got[key], own[key], f"{key} of part {number}")
            equal("parts" in got, False, "parts of a part")
        export_part = dir + "/part.jsonl"
        equal(tool("export", "jsonl", "-q", "--part", 1, "-i", path, "-o", export_part)[0], 0, "export of a part")
        same(Items(export_part).all(), jsonl(dir, first, "one").all())
        status, out, err = tool("diff", "--json", "--part", 1, path, path)
        equal(status, 0, f"diff of a part: {err}")
        status, out, err = tool("diff", path, first)
        equal(status, 1, "diff of a merged trace")
        contains(err, "it is a merge of 2 traces\nhint: --part N")
        contains(tool("report", "--part", 3, path)[2], "it has 2 parts\nhint: 'corotracer info'")
        contains(tool("report", "--part", 1, first)[2], "it has 0 parts\nhint: only a trace that")
    # The page names the part of each coroutine.
    both, one = set(page_names(dir, dir + "/m.ct")), set(page_names(dir, dir + "/m.ct", "--part", 1))
    equal([n for n in both if not n.startswith(("first.ct", "second.jsonl"))], [], "names without a part")
    equal({n[len("first.ct: "):] for n in both if n.startswith("first.ct: ")}, one, "names of the first part")
    assert one and len(both) > len(one), "no names: nothing was tested"


@test
def a_trace_is_merged_once(dir):
    first, second = two_runs(dir)
    status, _, err = tool("merge", first, second, first, "-o", dir + "/m.ct")
    equal(status, 1, "status")
    contains(err, "with itself\nhint: ")
    os.symlink(first, dir + "/link.ct")
    contains(tool("merge", first, dir + "/link.ct", "-o", dir + "/m.ct")[2], "with itself\nhint: ")
    export("jsonl", first, dir + "/copy.jsonl")
    status, _, err = tool("merge", first, second, dir + "/copy.jsonl", "-o", dir + "/m.ct")
    equal(status, 1, "status")
    contains(err, "both are of the same run\nhint: ")
    contains(tool("merge", first, second, "-o", first)[2], "it is one of the traces\nhint: ")
    equal(os.path.exists(dir + "/m.ct"), False, "an output")
    equal(tool("merge", first, "-o", dir + "/m.ct")[0], 2, "status with one trace")
    equal(tool("merge", first, second)[0], 2, "status without an output")
    contains(tool("merge", first, "-", "-o", dir + "/m.ct", stdin=subprocess.DEVNULL)[2], "hint: write it to a file first")


def rewrite(source, target, change):
    """A copy of JSON lines whose items went through @change."""
    for suffix in ("", ".meta"):
        items = [change(item) for item in lines_of(source + suffix)]
        with open(target + suffix, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(i, separators=(",", ":")) + "\n" for i in items)
    return target


@test
def other_clocks_are_refused_and_converted_by_force(dir):
    first, second = two_runs(dir, ("jsonl", "jsonl"))
    hour = 3600 * 10**9

    def earlier_boot(item):
        """The same events of a computer that booted an hour earlier."""
        moved = {k: v + hour if v and (k == "ts" or k.endswith("_ts") or (k == "resource" and item.get("reason") == "timer")) else v
                 for k, v in item.items()}
        return moved | ({"hostname": "elsewhere"} if "hostname" in item else {})

    other = rewrite(second, dir + "/other.jsonl", earlier_boot)
    status, _, err = tool("merge", first, other, "-o", dir + "/m.ct")
    equal(status, 1, "status")
    contains(err, "different clocks\nhint: --force")
    summary, err = merge(dir + "/m.ct", "--force", first, other)
    contains(err, "warning: the traces have different clocks")
    equal(summary["other_clocks"], True, "other clocks")
    a, b = Items(first), Items(other)
    zeros = [x.run["start_realtime"] - x.run["start_ts"] for x in (a, b)]
    got = jsonl(dir, dir + "/m.ct", "m")
    same(got.all(), [*a.all(0, 0, zeros[0] - min(zeros)), *b.all(STEP, 0, zeros[1] - min(zeros))])
    equal(got.run["hostname"], a.run["hostname"] + ",elsewhere", "hosts")
    # A trace without a description has no known clock.
    os.remove(other + ".meta")
    status, _, err = tool("merge", first, other, "-o", dir + "/m.ct")
    equal(status, 1, "status")
    contains(err, "does not say when its clock started\nhint: --force")


@test
def the_same_numbers_of_processes_and_threads_become_different(dir):
    first, second = two_runs(dir, ("jsonl", "jsonl"))
    a = Items(first)
    main, threads = a.run["pid"], sorted({e["tid"] for e in a.events})

    own = Items(second).run["pid"]

    def same_pid(item):
        """The processes of the second trace, in a namespace that counts as the first."""
        return {k: (main if v == own else v) if k in ("pid", "tid") else v for k, v in item.items()}

    other = rewrite(second, dir + "/other.jsonl", same_pid)
    summary, _ = merge(dir + "/m.ct", first, other)
    raised = summary["inputs"][1]["processes_raised_by"]
    equal((raised, summary["inputs"][1]["threads_raised_by"]), (10000000, 10000000), "raised by")
    check_merged(dir, dir + "/m.ct", first, other, raised)
    assert threads[0] < raised, "the numbers of threads are small"


@test
def damaged_and_unfinished_inputs_are_said(dir):
    first, second = two_runs(dir, ("ct", "ct"))
    whole = info(first)["completeness"]
    with open(first, "rb") as f:
        data = f.read()
    with open(dir + "/cut.ct", "wb") as f:
        f.write(data[:len(data) // 2])
    summary, err = merge(dir + "/m.ct", dir + "/cut.ct", second, status=1)
    contains(err, "cut.ct' is ")
    equal([i["whole"] for i in summary["inputs"]], [False, True], "whole")
    cut = info(dir + "/cut.ct", status=1)
    assert cut["events"] < whole["read"], "nothing is missing"
    equal(info(dir + "/m.ct")["events"], cut["events"] + info(second)["events"], "events that are left")
    equal(info(dir + "/m.ct")["sidecar"]["totals"]["complete"], False, "complete")
    whole_rows = info(second)["events"] + sum(info(second)["others"].values())
    for part in range(1, 10):
        with open(dir + "/cut.ct", "wb") as f:
            f.write(data[:len(data) * part // 10])
        summary, _ = merge(dir + "/m.ct", dir + "/cut.ct", second, status=1)
        cut = info(dir + "/cut.ct", status=1)
        equal(summary["rows"], cut["events"] + sum(cut["others"].values()) + whole_rows, f"events of {part} tenths of a trace")
    # A hole in the middle: the totals are there, and say how much is missing.
    for at in range(len(data) // 4, len(data) // 4 + 64):
        data = data[:at] + bytes([data[at] ^ 255]) + data[at + 1:]
    with open(dir + "/hole.ct", "wb") as f:
        f.write(data)
    summary, err = merge(dir + "/n.ct", dir + "/hole.ct", second, status=1)
    contains(err, "hole.ct' is damaged: ")
    missing = info(dir + "/hole.ct", status=1)["completeness"]
    got = info(dir + "/n.ct", status=1)["completeness"]
    equal(got["verdict"], "incomplete", "verdict")
    equal(got["expected"] - got["read"], missing["expected"] - missing["read"], "missing transitions")


if __name__ == "__main__":
    main()
