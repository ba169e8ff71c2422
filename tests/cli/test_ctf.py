# SPDX-License-Identifier: MIT
"""test_ctf.py - CTF traces in other tools: babeltrace2, full disks, killed collectors, earlier traces."""
import re
import shutil

from harness import *

TRACE_TOOL = os.environ.get("TRACE_TOOL", "build/tests/trace_tool")
CHANNELS = os.environ.get("CHANNELS", "build/examples/c/channels")
KINDS = {"suspend": "suspend", "resume": "resume", "wake": "wake", "birth": "birth", "end": "end", "destroy": "destroy",
         "close": "close", "acquire": "acquire", "release": "release", "context": "context", "gap": "gap"}
FIELD = re.compile(r'(\w+) = (?:\( "([^"]*)" : container = \d+ \)|"([^"]*)"|(0x[0-9A-F]+|-?\d+))')
LINE = re.compile(r"^\[(\d+)\] \(\+\S+\) (?:\S+ )?(\w+): (\{.*?\}), (\{.*\})$")


def in_own_mounts(script):
    """Root needs no user namespace for a private mount namespace."""
    flags = "-m" if os.geteuid() == 0 else "-rm"
    p = subprocess.run(["unshare", flags, "sh", "-c", script], capture_output=True, text=True, check=False)
    if "unshare:" in p.stderr or "mount:" in p.stderr:
        raise Skip("no user namespaces here: " + p.stderr.strip())
    return p


def fields(text):
    found = {}
    for m in FIELD.finditer(text):
        label, string, number = m.group(2), m.group(3), m.group(4)
        found[m.group(1)] = int(number, 0) if number else label if label is not None else string
    return found


def babeltrace(path):
    """(events and gaps, other records) as babeltrace2 reads them; it must not print a warning."""
    if not shutil.which("babeltrace2"):
        raise Skip("no babeltrace2 here")
    p = subprocess.run(["babeltrace2", "--clock-cycles", path], capture_output=True, text=True, check=False)
    equal(p.stderr, "", "what babeltrace2 has to say")
    equal(p.returncode, 0, "status of babeltrace2")
    events, facts = [], []
    for line in p.stdout.splitlines():
        m = LINE.match(line)
        assert m, line
        name, packet, payload = m.group(2), fields(m.group(3)), fields(m.group(4))
        kind = KINDS.get(name.split("_")[0])
        if not kind:
            facts.append((name, payload))
            continue
        events.append(canonical(kind, int(m.group(1)), packet, payload))
    return events, facts


def canonical(kind, ts, packet, f):
    """An event of babeltrace2 in the form of the dump of trace_tool."""
    if kind == "gap":
        return {"kind": "gap", "tid": packet["tid"], **{k: f[k] for k in ("from_ts", "to_ts", "transitions", "others")}}
    e = {"kind": kind, "ts": ts, "tid": f.get("tid", packet["tid"]), "station": f.get("station", 0xFFFFFFFF),
         "reason": f.get("reason", "unknown"), "name": f.get("name", ""), "peer": f.get("parent", f.get("waker", 0))}
    for k in ("probe_id", "addr", "seq", "site", "flags", "resource", "seen", "pid", "written", "lost"):
        e[k] = f.get(k, 0)
    if kind == "context":
        e.update(written=f["trace_high"], lost=f["trace_low"], resource=f["span"], seen=f["trace_flags"])
    return e


def dump(path):
    p = subprocess.run([TRACE_TOOL, "dump", path], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in p.stdout.splitlines()]


def same_events(ours, theirs):
    """Events of the same time may be in a different order."""
    def key(e):
        return (e.get("ts", e.get("to_ts")), json.dumps(e, sort_keys=True))
    times = [key(e)[0] for e in ours]
    equal(times, sorted(times), "order of time")
    equal(len(ours), len(theirs), "number of events")
    for a, b in zip(sorted(ours, key=key), sorted(theirs, key=key)):
        equal(a, b, "event")


def ctf(dir, *target, options=(), **kwargs):
    trace = dir + "/t.ctf"
    status, out, err = tool("run", "--json", "-o", trace, *options, "--", *target, **kwargs)
    return Run(status, out, err, trace)


def info(path, status=0):
    got, out, err = tool("info", "--json", path)
    equal(got, status, "status of info: " + out + err)
    return json.loads(out)


@test
def babeltrace_reads_every_kind_of_event_as_we_do(dir):
    subprocess.run([TRACE_TOOL, "make", dir + "/t.ctf", "20000"], check=True)
    ours = dump(dir + "/t.ctf")
    equal(len(ours), 20000, "events")
    equal({e["kind"] for e in ours}, set(KINDS) - {"gap"}, "kinds")
    theirs, facts = babeltrace(dir + "/t.ctf")
    same_events(ours, theirs)
    equal([f for f, _ in facts].count("run"), 1, "runs")
    equal([f for f, _ in facts][-1], "totals", "last fact")


@test
def babeltrace_shows_times_of_day_and_the_environment(dir):
    if not shutil.which("babeltrace2"):
        raise Skip("no babeltrace2 here")
    subprocess.run([TRACE_TOOL, "make", dir + "/t.ctf", "10"], check=True)
    p = subprocess.run(["babeltrace2", "--clock-seconds", "--fields=trace:hostname", dir + "/t.ctf"],
                       capture_output=True, text=True, check=True)
    assert p.stdout.startswith("[1700000000.000005000]"), p.stdout[:200]
    contains(p.stdout, " box ")
    p = subprocess.run(["babeltrace2", "-c", "sink.text.details", dir + "/t.ctf"], capture_output=True, text=True, check=True)
    for text in ("tracer_name: corotracer", 'command: ./app with "quotes" and', "arch: any"):
        contains(p.stdout, text)
    # babeltrace2 2.0 and 2.1 word it differently.
    assert re.search("^ *Origin( is Unix epoch: Yes|: Unix epoch)$", p.stdout, re.M), p.stdout[:2000]


@test
def a_real_run_is_the_same_for_babeltrace_and_for_us(dir):
    for target in ([TARGET, "events", 20, 400, 0], [CHANNELS]):
        r = ctf(dir, *target)
        equal(r.status, 0, "status")
        ours = dump(r.trace)
        theirs, _ = babeltrace(r.trace)
        same_events(ours, theirs)
        transitions = [e for e in ours if e["kind"] in ("suspend", "resume")]
        equal(len(transitions), r.summary["collected"], "transitions")
        equal(r.summary["lost"], 0, "lost")
        got = info(r.trace)
        equal((got["format"], got["sound"], got["agrees"]), ("ctf", True, True), "info")
        equal(got["events"], r.summary["collected"], "events")
        equal(sum(got["others"].values()), len(ours) - len(transitions), "others")


@test
def both_formats_hold_the_same_run(dir):
    """Not the same run, but another one of the same deterministic program."""
    a = ctf(dir, TARGET, "events", 5, 40, 10)
    b = run(dir, "events", 5, 40, 10)

    def facts(path):
        i = info(path)
        return [i[k] for k in ("events", "others", "coroutines", "threads", "lost", "sites")] + \
            [i["sidecar"][k] for k in ("coroutines", "dead", "names")]
    equal(facts(a.trace), facts(b.trace), "info of both")
    keys = ("kind", "probe_id", "addr", "seq", "station", "site", "reason", "flags")
    equal([[e[k] for k in keys] for e in dump(a.trace)], [[e[k] for k in keys] for e in dump(b.trace)], "events of both")


@test
def a_full_disk_keeps_what_is_there_readable_and_counts_the_rest(dir):
    script = (f"mkdir {dir}/small && mount -t tmpfs -o size=256k none {dir}/small && "
              f"{words(TOOL)} run --json -o {dir}/small/t.ctf -- "
              + words("sh", "-c", f"{words(TARGET)} events 10 4000 10; echo done > {dir}/done") +
              f"; echo status $? >&2; cp -r {dir}/small/t.ctf {dir}/copy")
    p = in_own_mounts(script)
    contains(p.stderr, "status 1")
    s = json.loads([line for line in p.stderr.splitlines() if line.startswith("{")][0])
    equal(s["collected"] + s["lost"], 40000, "collected + lost")
    assert s["lost_output"] > 0 and "No space" in s["error"], s
    assert os.path.exists(dir + "/done"), "the program did not finish"
    got = info(dir + "/copy")
    equal((got["events"], got["lost"], got["sound"]), (s["collected"], s["lost"], True), "info of what is there")
    theirs, facts = babeltrace(dir + "/copy")
    equal(len([e for e in theirs if e["kind"] in ("suspend", "resume")]), s["collected"], "babeltrace2's events")
    equal(facts[-1][1]["lost"], s["lost"], "totals")


@test
def a_killed_collector_leaves_a_trace_up_to_its_last_flush(dir):
    p = popen(TOOL, "run", "-o", dir + "/t.ctf", "--", TARGET, "events", 4, 1000000, 500)
    lane = dir + "/t.ctf/lane_0"
    wait_until(lambda: os.path.exists(lane) and os.path.getsize(lane), "events of a lane")
    p.kill()
    p.wait()
    sweep(p)
    got = info(dir + "/t.ctf", status=0)
    assert got["events"] > 0 and got["lost"] is None, got
    equal(got["sidecar"]["finished"], False, "finished")
    theirs, _ = babeltrace(dir + "/t.ctf")
    same_events(dump(dir + "/t.ctf"), theirs)
    contains(tool("info", dir + "/t.ctf")[1], "the collector was killed or is still running")


@test
def a_lane_that_was_full_says_so_to_babeltrace(dir):
    if not shutil.which("babeltrace2"):
        raise Skip("no babeltrace2 here")
    r = ctf(dir, TARGET, "events", 1, 700000, 0, options=["--buffer", "512K"])
    s = r.summary
    equal(s["written"], s["collected"] + s["lost"], "written = collected + lost")
    if not s["lost"]:
        raise Skip("nothing was lost: the collector was too fast")
    got = info(r.trace)
    equal(got["ctf"]["discarded"], s["lost"] + s["others"]["lost"], "events_discarded")
    equal(sum(lane["lost"] for lane in got["lanes_lost_most"]), s["lost"], "lost, lane by lane")
    p = subprocess.run(["babeltrace2", r.trace], capture_output=True, text=True, check=True)
    told = re.findall(r"Tracer discarded (\d+) events?", p.stderr)
    equal(sum(int(n) for n in told), s["lost"] + s["others"]["lost"], "what babeltrace2 says is lost:\n" + p.stderr[:500])


@test
def an_earlier_trace_is_kept_and_only_a_trace(dir):
    for n in (10, 20, 30):
        equal(ctf(dir, TARGET, "events", 1, n, 0).status, 0, "status")
    equal(info(dir + "/t.ctf")["events"], 30, "the last")
    equal(info(dir + "/t.ctf.old")["events"], 20, "the one before")
    equal(sorted(os.listdir(dir)), ["t.ctf", "t.ctf.old"], "what there is")
    # Trailing slashes make no difference; an empty directory is used as it is.
    os.mkdir(dir + "/empty")
    equal(tool("run", "-o", dir + "/empty///", "--", TARGET, "events", 1, 4, 0)[0], 0, "status")
    equal(info(dir + "/empty")["events"], 4, "in the empty one")


@test
def what_is_no_trace_is_refused_and_left_alone(dir):
    os.mkdir(dir + "/precious.ctf")
    with open(dir + "/precious.ctf/thesis", "w", encoding="ascii") as f:
        f.write("chapter 1")
    with open(dir + "/file.ctf", "w", encoding="ascii") as f:
        f.write("a file")
    equal(ctf(dir, TARGET, "events", 1, 10, 0).status, 0, "status")
    os.symlink(dir + "/t.ctf", dir + "/link.ctf")
    ran = dir + "/ran"
    for name in ("precious.ctf", "precious.ctf/", "file.ctf", "link.ctf"):
        status, _, err = tool("run", "-o", dir + "/" + name, "--", "touch", ran)
        equal(status, 1, "status of " + name)
        contains(err, "is not a corotracer trace")
        contains(err, "hint: ")
    # A trace directory with a foreign file, and one for which the name of the earlier trace is
    # taken.
    with open(dir + "/t.ctf/notes", "w", encoding="ascii") as f:
        f.write("mine")
    equal(tool("run", "-o", dir + "/t.ctf", "--", "touch", ran)[0], 1, "status with notes")
    os.remove(dir + "/t.ctf/notes")
    shutil.copytree(dir + "/precious.ctf", dir + "/t.ctf.old")
    equal(tool("run", "-o", dir + "/t.ctf", "--", "touch", ran)[0], 1, "status with .old")
    assert not os.path.exists(ran), "the program ran"
    equal(os.listdir(dir + "/precious.ctf"), ["thesis"], "what was there")
    equal(os.listdir(dir + "/t.ctf.old"), ["thesis"], "what was there")
    equal(info(dir + "/t.ctf")["events"], 10, "the trace")
    status, _, err = tool("run", "--format", "ctf", "-o", "-", "--", "touch", ran)
    equal(status, 1, "status of stdout")
    contains(err, "a directory")


@test
def a_trace_being_written_is_not_disturbed(dir):
    p = popen(TOOL, "run", "--json", "-o", dir + "/t.ctf", "--", TARGET, "events", 2, 100, 5000)
    wait_until(lambda: os.path.exists(dir + "/t.ctf/facts"), "the first collector")
    status, _, err = tool("run", "-o", dir + "/t.ctf", "--", "true")
    equal(status, 1, "status of the second")
    contains(err, "another collector is writing")
    _, err = p.communicate(timeout=300)
    equal(json.loads(err.splitlines()[-1])["collected"], 200, "collected by the first")
    equal(info(dir + "/t.ctf")["events"], 200, "events")


@test
def a_run_that_never_was_leaves_everything_as_it_was(dir):
    equal(ctf(dir, TARGET, "events", 1, 10, 0).status, 0, "status")
    equal(tool("run", "-o", dir + "/t.ctf", "--", "no-such-program-here")[0], 127, "status")
    equal(info(dir + "/t.ctf")["events"], 10, "the trace is back")
    equal(os.listdir(dir), ["t.ctf"], "nothing else")
    equal(tool("run", "-o", dir + "/new.ctf", "--", "no-such-program-here")[0], 127, "status")
    equal(os.listdir(dir), ["t.ctf"], "nothing else")


@test
def a_trace_of_another_tool_is_for_another_tool(dir):
    os.mkdir(dir + "/lttng")
    with open(dir + "/lttng/metadata", "w", encoding="ascii") as f:
        f.write("/* CTF 1.8 */\n\ntrace { major = 1; minor = 8; };\n")
    status, out, err = tool("info", dir + "/lttng")
    equal((status, out), (1, ""), "status, stdout")
    contains(err, "another tool")
    contains(err, "hint: 'babeltrace2 ")
    equal(tool("info", dir)[0], 1, "status of a directory without a trace")


if __name__ == "__main__":
    main()
