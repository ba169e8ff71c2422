# SPDX-License-Identifier: MIT
"""test_compact.py - compact traces: another reader, conversions, killed collectors, filters."""
import random
import shutil

from compact_decoder import count, decode, index_of
from harness import *

TRACE_TOOL = os.environ.get("TRACE_TOOL", "build/tests/trace_tool")
CHANNELS = os.environ.get("CHANNELS", "build/examples/c/channels")
REASONS = ["unknown", "io-read", "io-write", "accept", "connect", "timer", "mutex", "semaphore", "channel-send",
           "channel-recv", "join", "yield", "signal", "user"]
FULL = os.environ.get("COROTRACER_FULL")
RUN = [CHANNELS] if FULL else [CHANNELS, "--seconds", "0.5"]
DECODED = 3 if FULL else 1  # of the first traces of killed writers
EVENTS = 60000 if FULL else 40000
FACTS = ("run", "process", "site", "module", "cpu", "descriptor", "coroutine", "totals")


def slurp(path):
    with open(path, "rb") as f:
        return f.read()


def dump(path):
    p = subprocess.run([TRACE_TOOL, "dump", path], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in p.stdout.splitlines()]


def canonical(item):
    """An item of the other reader in the form of the dump of trace_tool."""
    if "type" in item:
        return {"kind": "gap", **{k: item.get(k) for k in ("from_ts", "to_ts", "tid", "transitions", "others")}}
    return {**item, "reason": REASONS[item["reason"]]}


def info(path, *options, status=0):
    got, out, err = tool("info", "--json", *options, path)
    equal(got, status, f"status of info {options}: {out}{err}")
    return json.loads(out)


def export(kind, trace, output, *options):
    status, _, err = tool("export", kind, "-q", "-i", trace, "-o", output, *options)
    equal(status, 0, f"status of export {kind}: {err}")
    return output


def sidecar(path):
    with open(path + ".meta", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def same_items(ours, theirs):
    """Compared one by one: a list of thousands is no message."""
    equal(len(ours), len(theirs), "items")
    for mine, other in zip(ours, theirs):
        equal(mine, other, "item")


@test
def another_reader_reads_every_kind_of_event_as_we_do(dir):
    subprocess.run([TRACE_TOOL, "make", dir + "/t.ctf", "5000"], check=True)
    data = slurp(export("ct", dir + "/t.ctf", dir + "/t.ct"))
    facts, items, rest = decode(data)
    ours = dump(dir + "/t.ct")
    same_items(ours, [canonical(i) for i in items])
    equal(len(rest), 32, "bytes behind the index")
    equal(facts[-1]["type"], "totals", "the last fact")


@test
def another_reader_reads_a_run_and_its_index(dir):
    trace = dir + "/t.ct"
    status, _, err = tool("run", "-q", "-o", trace, "--", *RUN)
    equal(status, 0, err)
    data = slurp(trace)
    facts, items, _ = decode(data)
    events = [i for i in items if "kind" in i]
    same_items([canonical(i) for i in items], dump(trace))
    export("jsonl", trace, dir + "/t.jsonl")
    meta = [m for m in sidecar(dir + "/t.jsonl") if m["type"] in FACTS]
    equal(sorted(map(str, facts)), sorted(map(str, meta)), "facts")
    blocks = [e for e in index_of(data) if e["type"] == 2]
    equal(sum(e["events"] for e in blocks), len(events), "events in the index")
    equal(set().union(*(e["coroutines"] for e in blocks)), {e["probe_id"] for e in events}, "coroutines in the index")
    equal(set().union(*(e["sites"] for e in blocks)) - {0}, {e["site"] for e in events} - {0}, "sites in the index")
    got = info(trace)
    equal((got["format"], got["events"], got["completeness"]["verdict"]),
          ("ct", sum(e["kind"] in ("suspend", "resume") for e in events), "complete"), "info")


@test
def another_reader_reads_the_switches_of_a_run(dir):
    trace = dir + "/t.ct"
    status, _, err = tool("run", "-q", "--cpu", "-o", trace, "--", *RUN)
    if "cannot record context switches" in err:
        print("not tested: " + err)
        return
    equal(status, 0, err)
    data = slurp(trace)
    ours = [f for f in decode(data)[0] if f["type"] == "switch"]
    export("jsonl", trace, dir + "/t.jsonl")
    same_items(ours, [m for m in sidecar(dir + "/t.jsonl") if m["type"] == "switch"])
    assert any(e["type"] == 4 for e in index_of(data)), index_of(data)
    export("ct", dir + "/t.jsonl", dir + "/back.ct")
    same_items(ours, [f for f in decode(slurp(dir + "/back.ct"))[0] if f["type"] == "switch"])


@test
def every_format_turns_into_every_other_without_loss(dir):
    subprocess.run([TRACE_TOOL, "make", dir + "/0.ctf", "2000"], check=True)
    export("jsonl", dir + "/0.ctf", dir + "/0.jsonl")
    export("ct", dir + "/0.jsonl", dir + "/1.ct")
    export("jsonl", dir + "/1.ct", dir + "/2.jsonl")
    assert slurp(dir + "/2.jsonl") == slurp(dir + "/0.jsonl"), "other lines"
    assert slurp(dir + "/2.jsonl.meta") == slurp(dir + "/0.jsonl.meta"), "another sidecar"
    export("ct", dir + "/2.jsonl", dir + "/3.ct")
    assert slurp(dir + "/3.ct") == slurp(dir + "/1.ct"), "another compact trace"
    export("ct", dir + "/0.ctf", dir + "/4.ct")
    same_items(dump(dir + "/4.ct"), dump(dir + "/0.ctf"))
    export("ctf", dir + "/4.ct", dir + "/5.ctf")
    # CTF has a stream per thread: events of the same time may change places.
    same_items(sorted(dump(dir + "/5.ctf"), key=str), sorted(dump(dir + "/0.ctf"), key=str))


@test
def a_compact_trace_is_found_by_its_content(dir):
    status, _, err = tool("run", "-q", "--format", "ct", "-o", dir + "/trace.jsonl", "--", *RUN)
    equal(status, 0, err)
    equal(info(dir + "/trace.jsonl")["format"], "ct", "format")
    equal(os.path.exists(dir + "/trace.jsonl.meta"), False, "a sidecar")
    for command in (["report", "--json"], ["html", "-o", dir + "/page.html"], ["export", "csv", "-o", dir + "/t.csv", "-i"]):
        status, _, err = tool(*command, dir + "/trace.jsonl")
        equal(status, 0, f"{command}: {err}")
    equal(tool("diff", dir + "/trace.jsonl", dir + "/trace.jsonl")[0], 0, "diff")


@test
def a_compact_trace_goes_to_a_pipe(dir):
    with open(dir + "/t.ct", "wb") as out:
        p = popen(TOOL, "run", "-q", "--format", "ct", "-o", "-", "--", *RUN, stdout=out)
        _, err = p.communicate(timeout=300)
    equal(p.returncode, 0, err)
    equal(info(dir + "/t.ct")["completeness"]["verdict"], "complete", "verdict")


@test
def a_compact_trace_does_not_go_to_a_terminal(dir):
    for command in (["run", "--format", "ct", "-o", "-", "--", "/bin/true"], ["export", "ct", "-o", "-", "-i", export_small(dir)]):
        control, terminal = os.openpty()
        p = popen(TOOL, *command, stdout=terminal)
        os.close(terminal)
        _, err = p.communicate(timeout=240)
        os.close(control)
        assert p.returncode not in (0, None), command
        contains(err, "refusing to write a binary trace to a terminal")


def compare_killed(trace, is_decoded, end_is_known=False):
    """info against another reader, of a file whose writer was killed; returns what info says.  Decoding in Python takes a
    second: mostly the heads of the blocks and their checksums are compared."""
    data = slurp(trace)
    if is_decoded:
        facts, items, rest = decode(data)
        events = sum(i.get("kind") in ("suspend", "resume") for i in items)
    else:
        facts, events, rest = count(data)
    # 32 bytes behind the index; others are the part of a block that the file ends in.
    got = info(trace, status=0 if not rest or (end_is_known and len(rest) == 32) else 1)
    equal(got["events"], events, "events")
    equal(got["ct"]["torn"], int(bool(rest) and not got["ct"]["index"]), "a cut block")
    types = [f["type"] for f in facts]
    equal(got["completeness"]["verdict"] in ("unfinished", "incomplete"), "totals" not in types, f"a verdict ({got['completeness']})")
    equal(types[:1], ["run"][:len(types)], "the first fact")
    return got


@test
def a_killed_collector_leaves_whole_blocks(dir):
    """Everything up to the last block is there, and counted the same way by another reader."""
    rng, kills, partly, killed = random.Random(7), 1000 if FULL else 3, 0, []
    # On a loaded machine the collector may finish before it is killed: then more often.
    for k in range(kills + 30):
        if k >= kills and partly:
            break
        trace = f"{dir}/{k}.ct"
        p = popen(TOOL, "run", "-q", "-o", trace, "--", TARGET, "events", 4, EVENTS, 0)
        wait_until(lambda: p.poll() is not None or (os.path.exists(trace) and os.path.getsize(trace) > 4096), "blocks")
        time.sleep(rng.random() * 0.05)
        p.kill()
        p.communicate()
        killed.append(p)
        if len(killed) == 20:
            sweep(*killed)
            killed.clear()
        got = compare_killed(trace, k % 50 < DECODED, end_is_known=True)
        partly += not got["ct"]["index"] and 0 < got["events"]
        os.unlink(trace)
    sweep(*killed)
    print(f"{kills} collectors were killed, {partly} of them between two blocks of events")
    assert partly, "no collector was killed while it was at work: nothing was tested"


@test
def a_writer_that_is_killed_leaves_whole_blocks(dir):
    """The process that writes the file alone, killed at a random time."""
    rng, kills, partly, torn, trace = random.Random(11), 1000 if FULL else 30, 0, 0, dir + "/k.ct"
    for n in range(kills):
        p = popen(TRACE_TOOL, "make", trace, 100000000)
        time.sleep((0.002 + rng.random() * 0.01) * (1 + n % 30 / 6))  # a busy machine starts it late
        p.kill()
        p.communicate()
        if not os.path.exists(trace) or os.path.getsize(trace) < 32:
            continue
        got = compare_killed(trace, n % 30 < DECODED)
        partly += 0 < got["events"]
        torn += got["ct"]["torn"]
        os.unlink(trace)
    print(f"{kills} writers were killed, {partly} of them between two blocks of events, {torn} inside of a block")
    assert partly, "no writer was killed while it was at work: nothing was tested"


@test
def a_filter_finds_the_same_in_every_format_and_reads_few_blocks(dir):
    events = 140000 if FULL else 40000
    subprocess.run([TRACE_TOOL, "make", dir + "/t.ctf", str(events)], check=True)
    export("ct", dir + "/t.ctf", dir + "/t.ct")
    export("jsonl", dir + "/t.ctf", dir + "/t.jsonl")
    blocks = info(dir + "/t.ct")["ct"]
    equal(blocks["blocks"], blocks["blocks_read"], "blocks read")
    end = info(dir + "/t.ct")["last_ts"]
    id = dump(dir + "/t.ct")[events // 2]["probe_id"]
    for options in (["--from", f"{end // 2}ns", "--to", f"{end // 2 + 10**9}ns"], ["--coro", id],
                    ["--site", "a.c:1", "--kind", "suspend,wake", "--to", f"{end // 10}ns"]):
        parts = []
        for suffix in ("ctf", "ct", "jsonl"):
            part = export("jsonl", f"{dir}/t.{suffix}", f"{dir}/part.jsonl", *options)
            parts.append((slurp(part), slurp(part + ".meta")))
            equal(info(part)["completeness"]["verdict"], "complete", f"part of {suffix}")
        assert parts[0] == parts[1], f"CTF and compact differ: {options}"
        assert parts[2] == parts[1], f"JSON lines and compact differ: {options}"
    got = info(dir + "/t.ct", "--from", f"{end // 2}ns", "--to", f"{end // 2 + 1000}ns")
    assert got["ct"]["blocks_read"] < blocks["blocks"], got["ct"]
    equal(got["completeness"]["verdict"], "complete", "verdict")
    equal(tool("info", "--from", "soon", dir + "/t.ct")[0], 2, "status of a bad time")
    equal(tool("info", "--kind", "nap", dir + "/t.ct")[0], 2, "status of a bad kind")


def reads_of(trace, *command):
    """(system calls that read the trace, standard output)"""
    log = trace + ".strace"
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")  # LeakSanitizer is a debugger, too
    p = subprocess.run(["strace", "-f", "-o", log, "-e", "trace=pread64", "-P", trace, TOOL, *map(str, command)],
                       capture_output=True, text=True, timeout=300, env=env)
    equal(p.returncode, 0, f"status of {command}: {p.stderr}")
    with open(log, encoding="utf-8", errors="replace") as f:
        return sum("pread64" in line for line in f), p.stdout


def without_names(text, *names):
    for name in names:
        text = text.replace(name, "TRACE")
    return text


@test
def a_filter_is_the_same_on_every_command_and_reads_few_blocks(dir):
    """What a command says of a part of a compact trace is what it says of that part of JSON lines and of CTF, which are scanned."""
    status, _, err = tool("run", "-q", "-o", dir + "/t.ctf", "--", *RUN)
    equal(status, 0, err)
    export("ct", dir + "/t.ctf", dir + "/t.ct")
    export("jsonl", dir + "/t.ctf", dir + "/t.jsonl")
    whole = info(dir + "/t.ct")
    end, id = whole["duration_ns"], 10
    times = [["--from", f"{end // 2}ns"], ["--to", f"{end // 3}ns"], ["--from", f"{end // 2}ns", "--to", f"{end // 2 + 10**8}ns"],
             ["--coro", id], ["--coro", id, "--from", f"{end // 3}ns", "--to", f"{end // 2}ns"]]
    kinds = [["--site", "pipeline.c:*"], ["--kind", "birth"], ["--site", "worker", "--kind", "wake,suspend", "--from", f"{end // 2}ns"],
             ["--coro", id, "--kind", "suspend", "--site", "*.c", "--to", f"{end // 2}ns"]]
    # The commands, and what they print without the names of the traces and the time that they took.
    commands = {
        "report": (["report", "--json"], times + kinds),
        "html": (["html", "-q", "--json", "-o", dir + "/page.html"], times + kinds),
        "diff": (["diff", "--json", dir + "/t.ctf"], times + kinds),
        "csv": (["export", "csv", "-q", "-o", "-", "-i"], times + kinds),
    }
    for name, (command, filters) in commands.items():
        for options in filters if os.environ.get("COROTRACER_FULL") else filters[-2:]:
            said = []
            for suffix in ("ctf", "ct", "jsonl"):
                trace = f"{dir}/t.{suffix}"
                status, out, err = tool(*command, trace, *options)
                equal(status, 0, f"{name} {options}: {err}")
                if name == "html":
                    out = json.dumps({k: v for k, v in json.loads(out).items() if k not in ("bytes", "thinned")})
                said.append(without_names(out, *(f"{dir}/t.{s}" for s in ("ctf", "jsonl", "ct"))))
            equal(said[1] == said[0], True, f"{name} {options}: compact as CTF")
            equal(said[1] == said[2], True, f"{name} {options}: compact as JSON lines")
    if not shutil.which("strace"):
        raise Skip("no strace here: reads are not counted")
    trace = dir + "/many.ct"
    subprocess.run([TRACE_TOOL, "make", trace, "20000"], check=True)
    end = info(trace)["last_ts"]
    narrow = ["--from", f"{end // 2}ns", "--to", f"{end // 2 + 1000}ns"]
    for command in (["info"], ["report"], ["html", "-q", "-o", dir + "/page.html"], ["diff", trace],
                    ["export", "csv", "-q", "-o", dir + "/o.csv", "-i"], ["export", "perfetto", "-q", "-o", dir + "/o.pftrace", "-i"]):
        whole, _ = reads_of(trace, *command, trace)
        part, _ = reads_of(trace, *command, trace, *narrow)
        assert part * 4 < whole * 3 and part > 0, f"{command}: {part} of {whole} reads for a microsecond"


@test
def json_lines_that_are_compressed_are_read_as_they_are(dir):
    subprocess.run([TRACE_TOOL, "make", dir + "/t.ctf", "20000" if FULL else "8000"], check=True)
    export("jsonl", dir + "/t.ctf", dir + "/t.jsonl")
    wanted = dump(dir + "/t.jsonl")
    for suffix, command in ((".gz", ["gzip", "-1k"]), (".zst", ["zstd", "-q", "-1k"])):
        if not shutil.which(command[0]):
            raise Skip(f"no {command[0]} here")
        subprocess.run([*command, dir + "/t.jsonl"], check=True)
        same_items(dump(dir + "/t.jsonl" + suffix), wanted)
        equal(info(dir + "/t.jsonl" + suffix)["completeness"]["verdict"], "complete", "verdict")
        # Two files compressed one after the other are one.
        half = slurp(dir + "/t.jsonl").index(b"\n", os.path.getsize(dir + "/t.jsonl") // 2) + 1
        with open(dir + "/two.jsonl" + suffix, "wb") as out:
            for part in (slurp(dir + "/t.jsonl")[:half], slurp(dir + "/t.jsonl")[half:]):
                out.write(subprocess.run([command[0], "-c"], input=part, capture_output=True, check=True).stdout)
        equal(info(dir + "/two.jsonl" + suffix)["events"], info(dir + "/t.jsonl")["events"], "events of two parts")
        data = slurp(dir + "/t.jsonl" + suffix)
        for cut in (len(data) // 2, len(data) - 1):
            os.makedirs(dir + "/cut", exist_ok=True)
            with open(dir + "/cut/t.jsonl" + suffix, "wb") as out:
                out.write(data[:cut])
            got = info(dir + "/cut/t.jsonl" + suffix, status=1)
            equal(got["completeness"]["verdict"], "incomplete", f"verdict on {cut} of {len(data)} bytes")
            contains(got["completeness"]["missing"], "the compressed data is damaged or cut off")
    # The sidecar may be compressed, too.
    subprocess.run(["gzip", dir + "/t.jsonl.meta"], check=True)
    same_items(dump(dir + "/t.jsonl.gz"), wanted)
    equal(tool("report", "--json", dir + "/t.jsonl.gz")[0], 0, "report")


@test
def a_trace_of_a_later_version_is_refused(dir):
    shutil.copy(export_small(dir), dir + "/later.ct")
    data = bytearray(slurp(dir + "/later.ct"))
    data[8] = 2
    data[28:32] = zlib_crc(data[:28])
    with open(dir + "/later.ct", "wb") as f:
        f.write(data)
    status, _, err = tool("info", dir + "/later.ct")
    equal(status, 1, "status")
    contains(err, "format version 2")


def zlib_crc(data):
    import zlib
    return zlib.crc32(bytes(data)).to_bytes(4, "little")


def export_small(dir):
    subprocess.run([TRACE_TOOL, "make", dir + "/small.ctf", "100"], check=True)
    return export("ct", dir + "/small.ctf", dir + "/small.ct")


if __name__ == "__main__":
    main()
