#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_expected.py - what commands print and write for small inputs, compared with out/NAME.txt line by line.

usage: test_expected.py [--update] [NAME...]

An output that changed on purpose: look at the difference, then run this with --update (COROTRACER is the tool).  Binary files are compared as text, see decoded.py.
"""
import atexit
import difflib
import pathlib
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("cli", "outputs"):
    sys.path.insert(0, str(HERE.parent / folder))
import cases  # noqa: E402
import coroutine_inputs  # noqa: E402
import decoded  # noqa: E402
import frame_inputs  # noqa: E402
import live_commands  # noqa: E402
import machines  # noqa: E402
import memory_inputs  # noqa: E402
import recorder  # noqa: E402
import recordings  # noqa: E402
import wrong_specs  # noqa: E402
from harness import *  # noqa: E402

OUT = HERE / "out"
INPUTS = []
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if not k.startswith(("COROTRACER_", "PG", "MYSQL_"))},
               "TZ": "UTC", "CLICKHOUSE_PASSWORD": "secret", "OTEL_EXPORTER_OTLP_HEADERS": "x-test=one, x-more=two=2,none,=x", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "80"}
# Where things are: on this computer, and in the results.
PLACES = ((str(HERE), "HERE"), (shutil.which("gcc") or "gcc", "GCC"), (os.environ.get("STORY") or "STORY", "STORY"), (os.environ.get("BUSY") or "BUSY", "BUSY"), (os.path.abspath(TOOL), "TOOL"))
RUN_ID = re.compile(r"\b([0-9a-f]{32}|[0-9a-f]{16})\b")


def days_before_today(match):
    """The last partition to drop: partitions have one or ten days."""
    today, number = int(time.time()) // 86400, int(match[2])
    return match[1] + (f"TODAY - {today - number}" if number > 10000 else f"(TODAY - {(today - number * 10) // 10 * 10}) / 10")


# What differs from run to run.
VARYING = [(re.compile(pattern), replacement) for pattern, replacement in (
    (r"corotracer (version )?\d+\.\d+\.\d+", "corotracer VERSION"), (r"'\d+\.\d+\.\d+'", "'VERSION'"), (r'"version":"\d+\.\d+\.\d+"', '"version":"VERSION"'),
    (r"(events|frames|rows?|spans)(.*)( in|,) [\d.]+ (ns|us|ms|s)\b", r"\1\2\3 TIME"), (r'"duration_ns":\d+}', '"duration_ns":TIME}'),
    (r" \(reading them took [\d.]+ s more\)", ""), (r"/\S+/lib(?=/(lib)?cacheray)", "LIB"), (r"-idirafter /\S+", "-idirafter INCLUDE"), (r"-rpath,/\S+", "-rpath,LIB"),
    (r"[\d.]+ (bytes|KiB)(?= in \d+ scans?: )", "SIZE"), (r'"run":"[0-9a-f]{32}"', '"run":"RUN"'), (r'("shipped":{[^}]*"bytes":)\d+', r"\1SIZE"), (r'uuid = "[-0-9a-f]+"', 'uuid = "UUID"'), (r"corotracer/[0-9a-f]{32}/", "corotracer/TOKEN/"),
    (r"corotracer-[0-9a-f]{32}-[0-9a-f]{16}", "corotracer-SESSION"),
    (r"(toInt64OrZero\(partition\) < )(\d+)", days_before_today))]


def make_inputs(dir):
    """{name: path in @dir, which is the working directory of all commands}"""
    at = {"kinds": coroutine_inputs.every_kind(dir), "server": coroutine_inputs.server(dir),
          "slow": coroutine_inputs.server(dir, "slow.jsonl", factor=20, has_faults=False), "damaged": coroutine_inputs.damaged(dir), "odd": coroutine_inputs.odd(dir),
          "fine": coroutine_inputs.server(dir, "fine.jsonl", has_faults=False), "incomplete": coroutine_inputs.incomplete(dir),
          "scattered": coroutine_inputs.scattered(dir), "nowhere": coroutine_inputs.nowhere(dir),
          "other": coroutine_inputs.every_kind(dir, "other.jsonl", command=("./client",), start=coroutine_inputs.START + 500),
          "elsewhere": coroutine_inputs.server(dir, "elsewhere.jsonl", has_faults=False, hostname="barn"),
          "walk": memory_inputs.container(dir), "wide": memory_inputs.container(dir, "wide.cray", 12, 128),
          "cut": memory_inputs.container(dir, "cut.cray", has_end=False), "broken": memory_inputs.broken(dir), "raw": memory_inputs.raw(dir),
          "older": str(shutil.copy(HERE.parent / "fixtures/older-tool.jsonl", dir)), "frames": recordings.recording(os.path.join(dir, "frames.ppt"), 12), "gapped": frame_inputs.gapped(dir),
          "every": frame_inputs.every(dir), "ticks": frame_inputs.ticks(dir),
          **{clock: frame_inputs.with_clock(dir, clock) for clock in ("boottime", "realtime")}, "half": frame_inputs.cut(dir), "short": frame_inputs.short(dir)}
    at.update(make_shipped(dir, at))
    at["sql"] = os.path.join(dir, "sql")
    at["merged"] = os.path.join(dir, "merged.jsonl")
    equal(tool("merge", "-q", at["kinds"], at["other"], "-o", at["merged"])[0] in (0, 1), True, "status of merge")
    wrong_specs.write(dir)
    machines.write(dir)
    return {**{name: os.path.basename(path) for name, path in at.items()}, "here": str(HERE), "tool": os.path.abspath(TOOL), "story": os.environ.get("STORY", ""), "busy": os.environ.get("BUSY", "")}


def make_shipped(dir, at):
    """Compact traces, and folders to which they were shipped."""
    out = {}
    for name in ("kinds", "odd", "server"):
        for more in [], ["--sample", "2"]:
            key = name + ("_sampled" if more else "_shipped")
            out[key], path = os.path.join(dir, key), os.path.join(dir, key + ".ct")
            equal(tool("export", "ct", "-q", "-i", at[name], "-o", path)[0] in (0, 1), True, "status of export ct")
            status, _, err = tool("ship", "-q", "--host", "h", "--service", "s", "--region", "r", "--version-label", "v", *more, "file:" + out[key], path)
            equal((status, err), (0, ""), f"status and errors of ship ({name})")
        out[name + "_ct"] = os.path.join(dir, name + ".ct")
        shutil.copy(path, out[name + "_ct"])
        out["sent_" + name] = shutil.copy(path, os.path.join(dir, f"sent_{name}.ct"))
    return out


def run_command(args, inputs, dir, place):
    """Status, both outputs and all files that the command wrote."""
    os.mkdir(os.path.join(dir, place))
    status, out, err = tool(*(a.format(out=place, **inputs) for a in args), env=ENVIRONMENT, cwd=dir)
    lines = [f"status {status}", *out.splitlines()]
    lines += ["--- stderr", *err.splitlines()] if err else []
    return lines + decoded.of_folder(os.path.join(dir, place))


def run_with_server(served, inputs, dir, place):
    server = recorder.Recorder(served.answers)
    try:
        lines = run_command(served.args, {**inputs, "port": server.port}, dir, place)
        lines = [line.replace(f"127.0.0.1:{server.port}", "127.0.0.1:PORT") for line in lines + server.lines(served.body_lines, served.skipped)]
        # What was shipped has a random run.
        return [RUN_ID.sub("RUN", line) for line in lines] if served.skipped else lines
    finally:
        server.close()


def run_several(several, inputs, dir, place):
    """Each command line, what it printed, and what it wrote."""
    lines = []
    for number, args in enumerate(several.commands):
        here = f"{place}-{number}"
        lines += ["$ corotracer " + " ".join(args), *(line.replace(here, place) for line in run_command(args, inputs, dir, here)), ""]
    return lines


def run_live(case, inputs, dir, place):
    """Commands while a program runs: their words, and no files."""
    folder = os.path.join(dir, place)
    os.mkdir(folder)
    p, lines = live_commands.start(case, inputs, folder, TOOL), []
    at = {**inputs, "pid": p.pid, "region": os.path.join(folder, "region"), "out": folder}
    try:
        for args in case.commands:
            status, out, err = tool(*(a.format(**at) for a in args), env=ENVIRONMENT, cwd=dir)
            told = [*out.splitlines(), *(["--- stderr", *err.splitlines()] if err else [])]
            told = [line.replace(folder, "OUT").replace(inputs["busy"], "BUSY").replace(inputs["story"], "STORY") for line in told]
            lines += ["$ corotracer " + " ".join(args), f"status {status}", *(live_commands.masked(case, p.pid, line) for line in told), ""]
        return lines
    finally:
        live_commands.end(p)


def result_of(case, inputs, dir, place):
    run = run_command if isinstance(case, list) else run_several if isinstance(case, cases.Several) else run_live if isinstance(case, live_commands.Live) else run_with_server
    text = "\n".join(run(case, inputs, dir, place))
    for path, name in PLACES + ((place, "OUT"), (dir, "IN")):
        text = text.replace(path, name)
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return text + "\n"


def compare(name, got):
    path = OUT / (name + ".txt")
    wanted = path.read_text(encoding="utf-8") if path.exists() else ""
    difference = list(difflib.unified_diff(wanted.splitlines(), got.splitlines(), f"out/{name}.txt", "now", lineterm="", n=1))
    return "\n".join(difference[:40])


def inputs_once():
    """(folder, inputs), the same for all tests."""
    if not INPUTS:
        dir = os.path.realpath(tempfile.mkdtemp(prefix="corotracer-test-"))
        atexit.register(shutil.rmtree, dir, True)
        INPUTS.append((dir, make_inputs(dir)))
    return INPUTS[0]


def results(chosen):
    """[(name, case, result)]; a few commands at a time."""
    dir, inputs = inputs_once()
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda item: (*item, result_of(item[1], inputs, dir, "out-" + item[0])), chosen.items()))


def difference_of(name, case, got):
    """'load' sends what it has after a second: on a machine that stops for so long there are more requests, and one more attempt decides.  Live programs may be late, too."""
    text = compare(name, got)
    for attempt in range(2):
        if not text or not isinstance(case, (cases.Served, live_commands.Live)):
            break
        dir, inputs = inputs_once()
        text = compare(name, result_of(case, inputs, dir, f"out-{name}-{attempt}"))
    return text


def chosen_of(group):
    """All; under a sanitizer by default every eighth one."""
    step = 8 if os.environ.get("SANITIZE") and os.environ.get("COROTRACER_FULL") != "1" else 1
    return dict(list(cases.GROUPS[group].items())[::step])


def check_group(group):
    lacking = json.loads(tool("version", "--json")[1])["without"]
    if group in cases.WITH_LIBRARIES and lacking:
        raise Skip(f"the tool was built without {lacking}")
    if group == "compiler" and not shutil.which("gcc"):
        raise Skip("no gcc")
    found = []
    for name, case, got in results(chosen_of(group)):
        text = difference_of(name, case, got)
        if text:
            found.append(f"{name}: corotracer {' '.join(case if isinstance(case, list) else getattr(case, 'args', ['...']))}\n{text}")
    assert not found, f"{len(found)} outputs differ\n" + "\n\n".join(found)


def register(group):
    def each_output_is_the_expected_one(_dir):
        check_group(group)
    each_output_is_the_expected_one.__name__ = f"outputs_of_{group}_are_the_expected_ones"
    test(each_output_is_the_expected_one)


@test
def every_expected_output_belongs_to_a_case(_dir):
    names = {name for group in cases.GROUPS.values() for name in group}
    equal({p.stem for p in OUT.glob("*.txt")} ^ names, set(), "files and cases")


def update(names):
    chosen = {n: a for group in cases.GROUPS.values() for n, a in group.items() if not names or n in names}
    OUT.mkdir(exist_ok=True)
    for name, _, got in results(chosen):
        (OUT / (name + ".txt")).write_text(got, encoding="utf-8")


for each in cases.GROUPS:
    register(each)
if __name__ == "__main__":
    if "--update" in sys.argv:
        update(sys.argv[sys.argv.index("--update") + 1:])
    else:
        main()
