# SPDX-License-Identifier: MIT
"""test_profiles.py - time by stack (folded, pprof, speedscope) and the wait graph, read by the programs that they are for."""
import re
import shutil
from collections import Counter

import packages
import profiles
import reading
import recordings
from harness import *
from harness import TESTS
from test_perfetto import BUGGY, CHANNELS, ENV, line, trace_of, write

TESTS.clear()

BEGINS = {"new": "birth", "running": "resume", "waiting": "suspend", "ready": "wake"}


def export(kind, trace, out, *options, status=0):
    got, _, err = tool("export", kind, "-q", "-i", trace, "-o", out, *options)
    equal(got, status, f"status of {kind} {options}: {err}")
    return out


def states_of(trace, from_ns=None, to_ns=None, coro=None, site=None, kind=None):
    """{(state, await site or None): [number, ns]}, from the lines of the trace."""
    events, facts = reading.load(trace)
    sites = {f["id"]: f for f in facts if f["type"] == "site"}
    start = next((f["start_ts"] for f in facts if f["type"] == "run"), events[0]["ts"])
    end = max([f["end_ts"] for f in facts if f["type"] == "totals"] + [events[-1]["ts"]])
    low = start + from_ns if from_ns is not None else 0
    high = start + to_ns if to_ns is not None else end
    out, open_ = {}, {}

    def count(id, state, where, begin, to):
        begin, to = max(begin, low), min(to, high)
        if begin > to or (coro is not None and id != coro) or (kind and BEGINS[state] != kind):
            return
        if site and (where is None or sites[where]["function"] != site):
            return
        where = where if state in ("waiting", "ready") else None
        entry = out.setdefault((state, sites[where]["function"] if where else None), [0, 0])
        entry[0] += 1
        entry[1] += to - begin

    def leave(id, ts):
        state, since, where, woken = open_.pop(id, (None, 0, None, None))
        if state == "waiting" and woken is not None:
            count(id, "waiting", where, since, woken)
            count(id, "ready", where, woken, ts)
        elif state:
            count(id, state, where, since, ts)

    for e in events:
        id = e["probe_id"]
        if e["kind"] == "birth":
            open_[id] = ("new", e["ts"], None, None)
        elif e["kind"] == "wake" and open_.get(id, ("",))[0] == "waiting" and open_[id][3] is None:
            open_[id] = (*open_[id][:3], e["ts"])
        elif e["kind"] in ("resume", "suspend", "end", "destroy"):
            leave(id, e["ts"])
        if e["kind"] == "resume":
            open_[id] = ("running", e["ts"], None, None)
        elif e["kind"] == "suspend":
            open_[id] = ("waiting", e["ts"], e.get("site"), None)
    for id in list(open_):
        leave(id, end)
    return {key: tuple(value) for key, value in out.items()}


def read_states(path):
    """The same, from pprof: the place below the state is the await."""
    out = {}
    for (state, stack), (count, ns) in profiles.read_pprof(path, "states")[0].items():
        where = stack[1][0] if state in ("waiting", "ready") else None
        entry = out.setdefault((state, where), [0, 0])
        entry[0] += count
        entry[1] += ns
    return {key: tuple(value) for key, value in out.items()}


@test
def time_by_state_and_await_is_that_of_the_events(dir):
    for command in ([CHANNELS, "--seconds", "1"], [BUGGY, "deadlock/locks"]):
        trace = trace_of(dir, *command, env=ENV)
        equal(read_states(export("pprof", trace, dir + "/p.pb.gz")), states_of(trace), f"states of {command}")


@test
def the_filter_selects_states_and_cuts_them(dir):
    trace = trace_of(dir, CHANNELS, "--seconds", "1")
    for options in ({"from_ns": 300_000_000, "to_ns": 400_000_000}, {"coro": 5}, {"site": "worker"}, {"kind": "wake"},
                    {"from_ns": 100_000_000, "site": "producer", "kind": "suspend"}):
        flags = [f"--{name.removesuffix('_ns')}={value}{'ns' if name.endswith('_ns') else ''}" for name, value in options.items()]
        wanted = states_of(trace, **options)
        assert wanted, options
        equal(read_states(export("pprof", trace, dir + "/p.pb.gz", *flags)), wanted, f"states with {flags}")


@test
def the_three_formats_hold_the_same(dir):
    trace = trace_of(dir, CHANNELS, "--seconds", "1")
    of_pprof, _ = profiles.read_pprof(export("pprof", trace, dir + "/p.pb.gz"), "states")
    of_speedscope = profiles.read_speedscope(export("speedscope", trace, dir + "/p.speedscope.json"))
    equal({(k[0], k[1][1:]): v[1] for k, v in of_pprof.items()}, {(k[0].split(" ")[0], k[1]): v for k, v in of_speedscope.items()}, "speedscope")
    of_folded = profiles.read_folded(export("folded", trace, dir + "/p.folded"))
    wanted = {}
    for (state, stack), ns in of_speedscope.items():
        if ns >= 500:
            wanted[state, tuple(f"{n} ({f}:{l})" if f else n for n, f, l in stack)] = (ns + 500) // 1000
    equal(of_folded, wanted, "folded")


@test
def speedscope_reads_all_of_them(dir):
    trace = trace_of(dir, CHANNELS, "--seconds", "1")
    wanted = sum(ns for _, ns in states_of(trace).values())
    for kind, name, took in (("speedscope", "p.speedscope.json", "speedscope json file"), ("pprof", "p.pb.gz", "protobuf encoded pprof file"),
                             ("folded", "p.folded", "collapsed stack format")):
        read = packages.speedscope(export(kind, trace, f"{dir}/{name}"))
        equal(read["as"], took, f"what speedscope takes {name} for")
        total = read["profiles"][0]["total"] * (1000 if kind == "folded" else 1)
        assert abs(total - wanted) <= 1000 * 500, (kind, total, wanted)
        assert any(call[0].startswith("worker") and call[3] == 1 for call in read["profiles"][0]["calls"]), "workers above batches"


@test
def pprof_of_go_reads_it(dir):
    if os.environ.get("COROTRACER_FULL") != "1":
        raise Skip("new versions of go build pprof first: only with COROTRACER_FULL=1")
    if not shutil.which("go"):
        raise Skip("no go here (package golang-go)")
    trace = trace_of(dir, CHANNELS, "--seconds", "1")
    export("pprof", trace, dir + "/p.pb.gz")
    p = subprocess.run(["go", "tool", "pprof", "-raw", dir + "/p.pb.gz"], capture_output=True, text=True, timeout=300, check=False,
                       env=dict(os.environ, GOFLAGS="-mod=mod", PPROF_TMPDIR=dir, HOME=dir))
    equal(p.returncode, 0, "status of pprof: " + p.stderr)
    samples = re.findall(r"^\s+(\d+)\s+(\d+): [\d ]+$", p.stdout, re.M)
    wanted = states_of(trace)
    equal((sum(int(n) for n, _ in samples), sum(int(ns) for _, ns in samples)),
          (sum(n for n, _ in wanted.values()), sum(ns for _, ns in wanted.values())), "states and their time")


@test
def intervals_of_frames_are_a_profile_too(dir):
    path = dir + "/r.ppt"
    with open(path, "wb") as f:
        f.write(recordings.header(recordings.FRAMES) + recordings.body(400, at_ns=5 * 10**9))
    jobs = [(5 * 10**9 + n * 1000, 700 + n % 7) for n in range(1, 401) if n % 4]
    first = min(at for at, _ in jobs)
    read, _ = profiles.read_pprof(export("pprof", path, dir + "/f.pb.gz"), "frames")
    equal(read, {(None, (("run", "", 0), ("job", "", 0))): (300, sum(ns for _, ns in jobs))}, "frames")
    read, _ = profiles.read_pprof(export("pprof", path, dir + "/f.pb.gz", "--from=100us", "--to=200us"), "frames")
    inside = [ns for at, ns in jobs if at + ns >= first + 100_000 and at <= first + 200_000]
    equal(read, {(None, (("run", "", 0), ("job", "", 0))): (len(inside), sum(inside))}, "frames of a range")
    for option in ("--coro=1", "--site=x", "--kind=wake"):
        status, _, err = tool("export", "csv", "-i", path, "-o", dir + "/no", option)
        equal(status, 1, "status with " + option)
        contains(err, "a recording has none")
    status, _, err = tool("export", "graphviz", "-i", path, "-o", dir + "/no")
    equal(status, 1, "status of graphviz")
    contains(err, "it is a recording of frames")


# ---- the wait graph -----------------------------------------------------------------


def dot(path):
    """(label of each node, {(tail, head): label}), as dot read them."""
    if not shutil.which("dot"):
        raise Skip("no dot here (package graphviz)")
    p = subprocess.run(["dot", "-Tjson0", path], capture_output=True, text=True, timeout=300, check=False)
    equal((p.returncode, p.stderr), (0, ""), "dot")
    graph = json.loads(p.stdout)
    names = [o["label"] for o in graph.get("objects", [])]
    edges = {(names[e["tail"]].split("\\n")[0], names[e["head"]].split("\\n")[0]): e for e in graph.get("edges", [])}
    return names, edges


@test
def a_ring_of_joins_is_drawn_in_red(dir):
    trace = trace_of(dir, BUGGY, "deadlock", env=ENV)
    names, edges = dot(export("graphviz", trace, dir + "/g.dot"))
    equal(sorted(n.split("\\n")[0] for n in names), ["link #1", "link #2", "link #3"], "nodes")
    equal(sorted(edges), [("link #1", "link #2"), ("link #2", "link #3"), ("link #3", "link #1")], "edges")
    assert all(e["color"] == "red" and e["label"] == "join" for e in edges.values()), edges
    names, _ = dot(export("graphviz", trace, dir + "/g.dot", "--coro", "2"))
    equal(len(names), 3, "nodes of a ring that has it")
    for option in ("--site=nothing", "--kind=wake", "--to=0s"):
        equal(dot(export("graphviz", trace, dir + "/g.dot", option)), ([], {}), "graph with " + option)


@test
def locks_have_their_holders(dir):
    trace = trace_of(dir, BUGGY, "deadlock/locks", env=ENV)
    names, edges = dot(export("graphviz", trace, dir + "/g.dot"))
    waiters = [n.split("\\n")[0] for n in names if not n.startswith("mutex")]
    locks = [n for n in names if n.startswith("mutex")]
    equal((len(waiters), len(locks)), (2, 2), f"coroutines and locks of {names}")
    held = {(a, b) for (a, b), e in edges.items() if e["label"] == "held by"}
    waits = {(a, b) for (a, b), e in edges.items() if not e["label"]}
    equal((len(held), len(waits)), (2, 2), "edges")
    for waiter in waiters:
        lock, = [b for a, b in waits if a == waiter]
        other, = [w for w in waiters if w != waiter]
        assert (lock, other) in held, (lock, other, held)


@test
def waiters_that_are_alike_are_one_node_and_names_are_harmless(dir):
    meta = [b'{"type":"run","format":1,"tool":"t","command":["a\\"b"],"pid":7,"start_ts":900,"start_realtime":1700000000000000900,"stations":1}']
    meta += [b'{"type":"birth","ts":%d,"probe_id":%d,"tid":7,"pid":7,"name":"w\\"\\\\\\u001b %d"}' % (950 + i, i, i) for i in range(1, 41)]
    write(dir + "/t.jsonl", [line(1 + i % 40, 2000 + 1000 * i, i < 40) for i in range(80)], meta)
    names, edges = dot(export("graphviz", dir + "/t.jsonl", dir + "/g.dot"))
    # Without a site an await is told from others by its address, of which there are forty.
    equal((len(names), edges), (40, {}), "nodes")
    write(dir + "/t.jsonl", [line(1 + i % 40, 2000 + 1000 * i, i < 40).replace(b"0x%016x" % (4096 + 1 + i % 40), b"0x%016x" % 4096) for i in range(80)], meta)
    names, edges = dot(export("graphviz", dir + "/t.jsonl", dir + "/g.dot"))
    equal((len(names), edges), (1, {}), "nodes")
    assert names[0].startswith('40 x w'), names
    assert "\x1b" not in names[0], names


if __name__ == "__main__":
    main()
