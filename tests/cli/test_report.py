# SPDX-License-Identifier: MIT
"""test_report.py - the report: its formats, its exit status, its confidence, its site names."""
import fcntl
import pty
import re
import shutil
import struct
import termios
import xml.etree.ElementTree as xml

from harness import *

BUGGY = os.environ["CORPUS_BUGGY"]
CLEAN = os.environ["CORPUS_CLEAN"]
S = 10 ** 9


def trace_of(dir, scenario, *options, program=None, name="t.jsonl"):
    status, _, err = tool("run", "-q", "-o", f"{dir}/{name}", *options, "--", program or BUGGY, scenario)
    equal((status, err), (0, ""), "status, stderr of run")
    return f"{dir}/{name}"


def report(trace, *options, status=0):
    got, out, err = tool("report", "--json", *options, trace)
    equal((got, err), (status, ""), "status, stderr of report")
    return json.loads(out)


def found(r, detector):
    return [f for f in r["findings"] if f["detector"] == detector]


def failed_cases(trace, *options, status=0):
    got, out, _ = tool("report", "--junit", *options, trace)
    equal(got, status, "status of report --junit")
    return [c.get("name") for c in xml.fromstring(out).find("testsuite") if c.find("failure") is not None]


def line(probe, active, ts, seq=2, tid=7, addr=0, **more):
    text = '{"probe_id":%d,"tid":%d,"addr":"0x%016x","seq":%d,"is_active":%s,"ts":%d' % (
        probe, tid, addr, seq, "true" if active else "false", ts)
    return text + "".join(f',"{k}":{json.dumps(v)}' for k, v in more.items()) + "}\n"


def write(path, *lines):
    with open(path, "w", encoding="ascii") as f:
        f.writelines(lines)
    return path


def seq_of(k):
    """The seq of the k-th transition in a ring of eight slots."""
    return 2 * (k // 8) + 2


def foreign(dir, stuck=47, others=60):
    """A trace as the existing coroTracer writes it: no sidecar, corrupt lines, slots in memory order."""
    lines = []
    for co in range(1, others + 1):
        mine = []
        for k in range(25):  # the last resume is its end, as far as a plain trace shows
            mine.append(line(co, k % 2 == 0, S + co * 1000 + k * 1000000, seq_of(k), addr=0 if k % 2 == 0 else 0x401000))
        for lap in range(0, 24, 8):
            lines += mine[lap + 4:lap + 8] + mine[lap:lap + 4]
        lines.append(mine[24])
    for co in range(1000, 1000 + stuck):
        lines += [line(co, True, S + 5000000, 2), line(co, False, S + 6000000, 2, addr=0x401000)]
    lines.append(line(900000, True, 5 * S, 2))
    lines += [line(1, i % 2 == 1, 5 * S + i * 1000, seq_of(25 + i), addr=0 if i % 2 == 1 else 0x401000) for i in range(20)]
    # Lines with values from a wrong address: they must not affect durations or findings.
    lines += [line(0, False, 0, 9341), line(0, True, 1 << 56, 0, tid=0), "{not json}\n"]
    return write(dir + "/foreign.jsonl", *lines)


@test
def the_forms_hold_the_same(dir):
    trace = trace_of(dir, "closed-under-waiter")
    r = report(trace)
    finding, = found(r, "closed-under-waiter")
    equal((finding["confidence"], finding["count"], finding["fault"]), ("suspect", 1, True), "the finding")
    equal((r["totals"]["lost"], r["totals"]["garbage"], r["notes"]), (0, 0, []), "lost, garbage, notes")
    contains(finding["place"]["text"], "buggy.c:")
    contains(finding["place"]["text"], "wait_here")
    example = finding["example"]
    equal((example["name"], example["reason"], example["state"]), ("connection", "io-read", "suspended"), "the example")
    equal([s["kind"] for s in example["last"]], ["resume", "suspend"], "its last steps")
    one, = finding["coroutines"]
    equal(({k: one[k] for k in example}, one["confidence"]), (example, "suspect"), "the only coroutine")
    for form in [], ["--text", "--all"]:
        status, out, _ = tool("report", *form, trace)
        equal(status, 0, "status")
        for part in ("Closed under a waiter", "suspect" if not form else "SUSPECT", "descriptor", "wait", "connection",
                     finding["advice"].split()[0], "lost", "garbage"):
            contains(out, part)
    for form in [], ["--markdown"]:
        _, out, _ = tool("report", *form, trace)
        assert out.startswith("# DeepDive: "), out[:40]


def on_terminal(*args, rows=24, columns=80, **env):
    """What the tool writes to a terminal of this size."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    p = subprocess.Popen([TOOL, *args], stdout=follower, stdin=subprocess.DEVNULL,
                         env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **env})
    os.close(follower)
    out = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(leader)
    p.wait(timeout=300)
    return out.decode().replace("\r\n", "\n")


def many_groups(dir, nr=60):
    """Coroutines that were resumed twice, one at each of many sites."""
    lines = []
    meta = ['{"type":"run","format":1,"tool":"t","command":["x"],"pid":1,"start_ts":1,"start_realtime":1,"stations":4}\n']
    for g in range(1, nr + 1):
        lines += [line(g, True, S + g * 1000, 2), line(g, True, S + 200 + g * 1000, 2), line(g, False, S + 300 + g * 1000, 2, site=g)]
        meta += ['{"type":"site","id":%d,"file":"a.c","line":%d,"function":"f%d","pid":1}\n' % (g, g, g),
                 '{"type":"coroutine","station":%d,"probe_id":%d,"pid":1,"written":3,"collected":3,"lost":0}\n' % (g - 1, g)]
    meta.append('{"type":"totals","complete":true,"written":%d,"collected":%d,"lost":0,"exit_status":0,"end_ts":%d}\n' % (3 * nr, 3 * nr, 2 * S))
    trace = write(dir + "/many.jsonl", *lines)
    write(trace + ".meta", *meta)
    return trace


@test
def a_terminal_shows_a_screenful_in_color(dir):
    trace = many_groups(dir)
    every = len(report(trace)["findings"])
    for rows in 24, 50:
        out = on_terminal("report", trace, rows=rows)
        shown = re.sub(r"\033\[[0-9;]*m", "", out).splitlines()
        # The first line has the name of the trace, which may be long.
        assert len(shown) + len(shown[0]) // 80 < rows and max(map(len, shown[1:])) <= 80, (len(shown), out)
        contains(out, "\033[1;31mPROVEN\033[0m")
        contains(out, "Resumed twice")
        nr = int(re.search(r"and (\d+) more groups: corotracer report --all", out).group(1))
        equal(sum(bool(re.match(r"[A-Z]+  .*\([a-z-]+\)", s)) for s in shown) + nr, every, "groups that are shown and counted")
    for options, env in ((["--color=never"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})):
        assert "\033" not in on_terminal("report", *options, trace, **env), (options, env)
    out = on_terminal("report", "--all", trace)
    equal(out.count("(double-resume)"), 60, "groups of --all")
    contains(out, "before the end")
    assert on_terminal("report", "--markdown", trace).startswith("# DeepDive"), "Markdown when asked"
    _, out, _ = tool("report", "--text", trace)
    assert "\033" not in out and len(out.splitlines()) <= 50, out
    _, out, _ = tool("report", "--text", "--color=always", trace)
    contains(out, "\033[1;31mPROVEN")
    _, out, _ = tool("report", trace)
    equal((out.count("### "), f"and {every - 10} more groups" in out), (10, True), "groups of Markdown in full, the others counted")
    equal(tool("report", "--color=blue", trace)[0], 2, "status of an unknown color")


@test
def json_names_every_coroutine_of_a_group(dir):
    ring, = found(report(trace_of(dir, "deadlock")), "deadlock")
    equal((ring["count"], ring["coroutines_omitted"]), (1, 0), "count, omitted")
    ids = [c["probe_id"] for c in ring["coroutines"]]
    equal((len(ids), len(set(ids))), (3, 3), "coroutines of the ring, distinct ones")
    for c in ring["coroutines"]:
        equal((set(ring["example"]) - set(c), c["state"], len(c["last"]) > 0), (set(), "suspended", True), "keys, state")
    # The same coroutine at the same place many times is named once.
    lines = [line(9, k % 2 == 0, S + k * 20000000, seq_of(k), addr=0x401000) for k in range(60)]
    slices, = found(report(write(dir + "/one.jsonl", *lines)), "blocking")
    equal((slices["count"] > 20, [c["probe_id"] for c in slices["coroutines"]]), (True, [9]), "count, coroutines")


@test
def the_list_of_coroutines_is_bounded_and_counted(dir):
    trace = foreign(dir, stuck=10050)
    lost, = found(report(trace), "lost-wakeup")
    equal((lost["count"], len(lost["coroutines"]), lost["coroutines_omitted"]), (10050, 10000, 50), "count, listed, omitted")


def check_sarif(run):
    """What the SARIF schema demands of the parts that are used."""
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        equal(rules[result["ruleIndex"]]["id"], result["ruleId"], "rule by its index")
        assert result["message"]["text"] and result["level"] in ("note", "warning", "error"), result
        assert re.fullmatch("[0-9a-f]{16}:[0-9]+", result["partialFingerprints"]["corotracerFinding/v1"]), result
        flows = [step["location"] for flow in result.get("codeFlows", []) for t in flow["threadFlows"] for step in t["locations"]]
        for place in result.get("locations", []) + flows:
            for artifact in [place["physicalLocation"]["artifactLocation"]] if "physicalLocation" in place else []:
                assert re.fullmatch(r"(file://)?[\w\-.~/!$&'()*+,;=@%]+", artifact["uri"]), artifact
                equal("uriBaseId" in artifact, not artifact["uri"].startswith("file://"), "a base for a relative path")
            assert place.keys() <= {"physicalLocation", "logicalLocations", "message"}, place
    prints = [r["partialFingerprints"]["corotracerFinding/v1"] for r in run["results"]]
    equal(len(set(prints)), len(prints), "distinct fingerprints")


@test
def sarif_and_junit_are_what_they_say(dir):
    trace = trace_of(dir, "deadlock")
    _, out, _ = tool("report", "--sarif", trace)
    run, = json.loads(out)["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    result = [r for r in run["results"] if r["ruleId"] == "deadlock"][0]
    equal((result["level"], result["occurrenceCount"]), ("error", 1), "level, count")
    assert {r["ruleId"] for r in run["results"]} <= rules, rules
    check_sarif(run)
    source = os.path.realpath(os.path.dirname(__file__) + "/../..")
    _, out, _ = tool("report", "--sarif", "--source-root", source, trace)
    run, = json.loads(out)["runs"]
    result, = [r for r in run["results"] if r["ruleId"] == "deadlock"]
    equal(run["originalUriBaseIds"]["SRCROOT"]["uri"], "file://" + source + "/", "the root")
    place = result["locations"][0]["physicalLocation"]
    equal((place["artifactLocation"], place["region"]["startLine"] > 1),
          ({"uri": "tests/detectors/buggy.c", "uriBaseId": "SRCROOT"}, True), "the place")
    _, out, _ = tool("report", "--junit", trace)
    suite = xml.fromstring(out).find("testsuite")
    equal(suite.get("failures"), "1", "failures")
    failed = [c.get("name") for c in suite if c.find("failure") is not None]
    equal((failed, {c.get("name") for c in suite}), (["deadlock"], rules), "failed, all")


@test
def the_gate_is_an_exit_status(dir):
    trace = trace_of(dir, "lost-wakeup/join")
    for options, status in ((["--fail-on", "lost-wakeup"], 1), (["--fail-on", "herd,lost-wakeup"], 1),
                            (["--fail-on", "herd"], 0), (["--fail-on", "all"], 1),
                            (["--fail-on", "lost-wakeup", "--min-confidence", "proven"], 0)):
        equal(tool("report", *options, trace)[0], status, f"status of {options}")
    status, out, err = tool("report", "--fail-on", "all", "-o", dir + "/r.md", trace)
    equal((status, out), (1, ""), "status, stdout")
    contains(err, "lost-wakeup: 1 (strong)")
    assert os.path.getsize(dir + "/r.md") > 500
    for wrong in (["--fail-on", "everything"], ["--min-confidence", "sure"], ["--min-age", "x"], []):
        status, out, err = tool("report", *wrong, *([trace] if wrong else []))
        equal((status, out), (2, ""), f"status, stdout of {wrong}")
        contains(err, "hint: " if not wrong or "--fail-on" in wrong else f"for {wrong[0]}: expected")
    status, _, err = tool("report", "-o", dir + "/no/such/place", trace)
    equal(status, 1, "status where it cannot write")
    contains(err, "cannot write")
    equal(tool("report", dir + "/none.jsonl")[0], 1, "status without a trace")
    _, out, _ = tool("report", "--list")
    assert len(out.splitlines()) >= 15 and "deadlock" in out, out


@test
def the_gate_fails_on_strong_findings_unless_asked(dir):
    """A suspicion is shown and fails no gate, also if its detector is named."""
    trace = foreign(dir)
    equal([f["confidence"] for f in found(report(trace), "lost-wakeup")], ["suspect"], "confidence")
    for options, status in ((["lost-wakeup,herd"], 0), (["lost-wakeup"], 0), (["lost-wakeup", "--min-confidence", "suspect"], 1),
                            (["lost-wakeup", "--min-confidence", "info"], 1),
                            (["lost-wakeup", "--min-confidence", "strong"], 0)):
        equal(tool("report", "--fail-on", *options, trace)[0], status, f"status of --fail-on {options}")
    for options, fails in (([], False), (["--min-confidence", "suspect"], True)):
        equal("lost-wakeup" in failed_cases(trace, *options), fails, f"the case lost-wakeup fails with {options}")
    exit_trace = trace_of(dir, "suspended-at-exit")
    for options, status in ((["all"], 0), (["suspended-at-exit"], 1), (["all,suspended-at-exit"], 1)):
        equal(tool("report", "--fail-on", *options, exit_trace)[0], status, f"status of --fail-on {options}")
    equal(failed_cases(exit_trace, "--fail-on", "suspended-at-exit", status=1), ["suspended-at-exit"], "failed cases")
    # A gate that can never be hit is refused.
    status, _, err = tool("report", "--fail-on", "imbalance", trace)
    equal(status, 2, "status of a gate on what is always info")
    contains(err, "--min-confidence info")
    equal(tool("report", "--fail-on", "imbalance", "--min-confidence", "info", trace)[0], 0, "status with that")
    for name in ("long-suspended", "unfair-order", "leak", "stalled", "never-run", "wrong-thread"):
        status, _, err = tool("report", "--fail-on", f"{name},deadlock", trace)
        equal(status, 2, f"status of a gate on {name}")
        contains(err, f"cannot fail on '{name}': its findings are suspect at most, and the gate is strong")
        contains(err, "--min-confidence suspect")
        assert tool("report", "--fail-on", name, "--min-confidence", "suspect", trace)[0] in (0, 1)
    status, _, err = tool("run", "--check=leak", "-o", dir + "/x.jsonl", "--", "true")
    equal(status, 2, "status of run --check=leak")


@test
def workers_that_a_scheduler_forgets_are_named(dir):
    """examples/c/channels forgets workers of a channel that later ones are served from, and that have ended since."""
    status, out, err = tool("run", "-q", "-o", dir + "/t.jsonl", "--", os.environ["CHANNELS"], "--lose-wakeup")
    equal(status, 0, f"status of run: {err}")
    left = int(re.search(r"left: +(\d+) coroutines", out)[1])
    named = {c["probe_id"] for f in found(report(dir + "/t.jsonl"), "lost-wakeup") for c in f["coroutines"]}
    # One of the last batch has not waited for long enough.
    assert 0 < len(named) <= left, f"{len(named)} of {left} forgotten workers are named"


@test
def what_is_suppressed_is_only_counted(dir):
    trace = trace_of(dir, "blocking")
    status, rules, _ = tool("report", "--gen-suppressions", trace)
    equal(status, 0, "status")
    equal(set(rules.splitlines()), {"blocking:function:wait_here", "destroyed-suspended:function:wait_here"}, "rules by detector, function, kind")
    write(dir + "/s", "# meant\n\n", rules)
    r = report(trace, "--suppressions", dir + "/s", "--fail-on", "all")
    equal((r["findings"], r["suppressed"] > 0), ([], True), "findings, suppressed")
    write(dir + "/s", "blocking:*other_function*\n")
    equal(report(trace, "--suppressions", dir + "/s")["suppressed"], 0, "suppressed by another's rule")
    for rule, nr in (("destroyed-suspended:*wait_here*", 1), ("*:function:wait_*", 2), ("destroyed-suspended:*buggy.c:*", 1), ("*:*", 2),
                     ("destroyed-suspended:function:wait", 0), ("*:function:", 0)):
        write(dir + "/s", rule + "\n")
        equal(report(trace, "--suppressions", dir + "/s")["suppressed"], nr, f"suppressed by {rule}")
    write(dir + "/s", "*:kind:blocker*\n")
    equal(report(trace, "--suppressions", dir + "/s")["findings"], [], "by kind")
    for text, words in (("nonsense\n", "is not a suppression"), ("lock:*\n", "unknown detector 'lock'")):
        write(dir + "/s", "# one\n" + text)
        status, _, err = tool("report", "--suppressions", dir + "/s", trace)
        equal(status, 1, "status")
        contains(err, dir + "/s:2: ")
        contains(err, words)


@test
def a_generated_suppression_has_no_path_line_or_wildcard_of_a_name(dir):
    def trace(line_nr, function):
        lines = [line(9, k % 2 == 0, S + k * 20000000, seq_of(k), site=0 if k % 2 == 0 else 1) for k in range(60)]
        path = write(dir + "/t.jsonl", *lines)
        write(path + ".meta", '{"type":"run","format":1,"tool":"t","command":["x"],"pid":1,"start_ts":1,"start_realtime":1,"stations":4}\n',
              json.dumps({"type": "site", "id": 1, "file": "/home/me/src/a.cc", "line": line_nr, "function": function, "pid": 1}) + "\n")
        return path
    name = "grid::operator[]"
    _, rules, _ = tool("report", "--gen-suppressions", trace(3, name))
    contains(rules, "blocking:function:grid::operator\\[]\n")
    assert "a.cc" not in rules and "/home" not in rules, rules
    write(dir + "/s", rules)
    equal(found(report(trace(300, name), "--suppressions", dir + "/s"), "blocking"), [], "found after an edit")
    equal(len(found(report(trace(3, "grid::operator!"), "--suppressions", dir + "/s"), "blocking")), 1, "found in another function")


@test
def run_check_is_run_and_gate_in_one(dir):
    def check(*args):
        return tool("run", "-q", "--check", "-o", dir + "/c.jsonl", *args)
    equal(check("--", CLEAN, "joins"), (0, "", ""), "of a clean one")
    status, out, err = check("--", BUGGY, "double-resume")
    equal((status, out), (1, ""), "of one with a fault")
    contains(err, "PROVEN  Resumed twice")
    equal(check("--", BUGGY, "suspended-at-exit"), (0, "", ""), "of one that ends while a coroutine waits")
    def check_all(*args):
        return tool("run", "-q", "--check=all,suspended-at-exit", "-o", dir + "/c.jsonl", *args)
    status, _, err = check_all("--", BUGGY, "suspended-at-exit")
    equal(status, 1, "if that is asked for")
    contains(err, "Suspended at exit")
    write(dir + "/s", "suspended-at-exit:*wait_here*\n")
    equal(check_all("--suppressions", dir + "/s", "--", BUGGY, "suspended-at-exit")[0], 0, "if that is meant")
    status, _, err = tool("run", "--check=everything", "-o", dir + "/n.jsonl", "--", "touch", dir + "/started")
    equal((status, os.path.exists(dir + "/started")), (2, False), "status, program started, with an unknown detector")
    contains(err, "unknown detector 'everything'")
    equal(check("--", "sh", "-c", "exit 7")[0], 7, "of a program that fails by itself")
    equal(check("-o", dir + "/c.ctf", "--", BUGGY, "deadlock")[0], 1, "on a ctf trace")
    status, _, err = tool("run", "--check", "-o", "-", "--", "true")
    equal(status, 2, "with the trace on stdout")
    contains(err, "--check")


@test
def the_seeds_flag_gives_the_report(dir):
    trace = trace_of(dir, "deadlock")
    for args in (["-deepdive", "-out", trace], ["--deepdive", "--out=" + trace], ["-out", trace, "-deepdive"]):
        status, out, err = tool(*args)
        equal((status, err), (0, ""), f"status, stderr of {args}")
        contains(out, "# DeepDive: ")
        contains(out, "Deadlock (proven)")
    equal(tool("-deepdive", "-html")[0], 2, "with another flag")


@test
def a_trace_of_the_existing_tool(dir):
    r = report(foreign(dir))
    t = r["totals"]
    equal((t["garbage"], t["lost"]), (3, None), "garbage, lost")
    equal((t["coroutines"], t["transitions"]), (108, 60 * 25 + 47 * 2 + 21), "coroutines, transitions")
    assert t["duration_ns"] < 5 * S, t
    lost, = found(r, "lost-wakeup")
    equal((lost["count"], lost["confidence"]), (47, "suspect"), "the phantoms")
    equal(lost["place"]["text"], "0x401000", "their place")
    assert not found(r, "suspicious-address") and not found(r, "never-yielded") and not found(r, "double-resume"), r["findings"]
    contains(r["notes"][0], "no sidecar")


@test
def a_finding_that_touches_a_gap_is_a_suspicion(dir):
    lines = []
    for k in range(60):
        lines.append(line(1, k % 2 == 0, S + k * 1000, seq_of(k), site=1 if k % 2 else 0))
    lines += [line(2, True, S + 100, 2), line(2, True, S + 200, 2), line(3, True, 4 * S)]
    meta = ['{"type":"run","format":1,"tool":"t","command":["x"],"pid":1,"start_ts":1,"start_realtime":1,"stations":4}\n',
            '{"type":"site","id":1,"file":"a.c","line":3,"function":"f","pid":1}\n']
    coroutine = '{"type":"coroutine","station":%d,"probe_id":%d,"pid":1,"written":%d,"collected":%d,"lost":%d}\n'
    totals = '{"type":"totals","complete":true,"written":70,"collected":63,"lost":%d,"exit_status":0,"end_ts":%d}\n'
    for lost, confidence in ((0, "proven"), (7, "suspect")):
        trace = write(dir + "/t.jsonl", *lines)
        write(trace + ".meta", *meta, coroutine % (0, 1, 60, 60, 0), coroutine % (1, 2, 2 + lost, 2, lost), totals % (lost, 4 * S))
        r = report(trace)
        twice, = found(r, "double-resume")
        equal(twice["confidence"], confidence, f"with {lost} lost")
        equal(bool(twice["doubt"]), lost > 0, "doubt")
        equal(any("7 events were lost" in n for n in r["notes"]), lost > 0, "note")


@test
def addresses_become_functions_and_lines(dir):
    program = shutil.copy(BUGGY, dir + "/program")
    trace = trace_of(dir, "suspicious-address", program=program)
    step = found(report(trace), "suspicious-address")[0]["example"]["last"]
    places = [s["place"]["text"] for s in step if "place" in s]
    assert any("buggy.c:" in p and p.endswith(" address") for p in places), places
    subprocess.run(["strip", "--strip-debug", program], check=True)
    r = report(trace)
    places = [s["place"]["text"] for s in found(r, "suspicious-address")[0]["example"]["last"] if "place" in s]
    assert any(p.startswith("address+0x0 in ") for p in places), places
    contains(r["notes"][0], "no debug information")
    shutil.copy(CLEAN, program)
    contains(report(trace)["notes"][0], "was rebuilt after the trace was recorded")
    os.unlink(program)
    contains(report(trace)["notes"][0], "no longer exists")


@test
def both_formats_say_the_same(dir):
    a = report(trace_of(dir, "lost-wakeup/mutex"))
    b = report(trace_of(dir, "lost-wakeup/mutex", name="t.ctf"))

    def summary(r):
        return [(f["detector"], f["confidence"], f["count"], f["place"], f["kind"]) for f in r["findings"]]
    equal(summary(a), summary(b), "findings")


@test
def no_trace_is_said_to_be_none(dir):
    write(dir + "/x", "hello\n", "world\n")
    status, out, err = tool("report", dir + "/x")
    equal((status, out), (1, ""), "status, stdout")
    contains(err, "is it a trace?")
    write(dir + "/empty")
    status, out, _ = tool("report", "--text", dir + "/empty")
    equal(status, 0, "status of an empty one")
    contains(out, "nothing found")


if __name__ == "__main__":
    main()
