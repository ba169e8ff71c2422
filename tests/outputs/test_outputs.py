# SPDX-License-Identifier: MIT
"""test_outputs.py - every command that writes a file: the file is complete, or it does not exist.

For each: a limit of the file size, a full file system, a signal, a pipe in place of a file.
"""
import atexit
import resource
import shutil
import stat
import tempfile

import recordings
import traces
from harness import *

INPUTS = {}
SPEC = "emit C;\nbuffer Made 64;\nframe f { int a; }\n"


class Case:
    """A command that writes @files into a folder."""

    def __init__(self, name, args, *files, limit=20000, replaces=True):
        self.name, self.args, self.files, self.limit, self.replaces = name, args, files, limit, replaces

    def command(self, inputs, place):
        return [a.format(**inputs, place=place) if isinstance(a, str) else a for a in self.args]


CASES = [
    Case("decode to CSV", ["decode", "-q", "{ppt}", "{place}"], "job.csv", "tick.csv"),
    Case("decode to JSON lines", ["decode", "-q", "-f", "jsonl", "{ppt}", "{place}/o.jsonl"], "o.jsonl"),
    # An existing database is rejected.
    Case("decode to SQLite", ["decode", "-q", "-f", "sqlite", "{ppt}", "{place}/o.sqlite"], "o.sqlite", replaces=False),
    Case("mem convert to a container", ["mem", "convert", "-q", "--level", "0", "-o", "{place}/o.cray", "{raw}"], "o.cray"),
    Case("mem convert to raw", ["mem", "convert", "-q", "-o", "{place}/o.raw", "{cray}"], "o.raw", "o.raw.meta"),
    Case("mem convert to raw.zst", ["mem", "convert", "-q", "--format", "raw.zst", "--level", "1", "-o", "{place}/o.zst", "{cray}"],
         "o.zst", "o.zst.meta"),
    Case("mem html", ["mem", "html", "-o", "{place}/o.html", "{raw}"], "o.html", limit=1000),
    Case("html", ["html", "-q", "-o", "{place}/o.html", "{jsonl}"], "o.html"),
    Case("report", ["report", "--json", "-o", "{place}/o.json", "{jsonl}"], "o.json", limit=100),
    Case("generate", ["generate", "-o", "{place}", "{spec}"], "ppt-Made.h", "ppt-Made.c", limit=2000),
    Case("export to CSV", ["export", "csv", "-q", "-i", "{jsonl}", "-o", "{place}/o.csv"], "o.csv"),
    Case("export to SQLite", ["export", "sqlite", "-q", "-i", "{jsonl}", "-o", "{place}/o.sqlite"], "o.sqlite"),
    Case("export to Perfetto", ["export", "perfetto", "-q", "-i", "{jsonl}", "-o", "{place}/o.trace"], "o.trace"),
    Case("export to Chrome", ["export", "chrome", "-q", "-i", "{jsonl}", "-o", "{place}/o.json"], "o.json"),
    Case("export to Parquet", ["export", "parquet", "-q", "-i", "{jsonl}", "-o", "{place}"], "coroutines.parquet", "events.parquet",
         "frames.parquet", "run.parquet", "sites.parquet", "switches.parquet", "waits.parquet", limit=1000),
    Case("export to JSON lines", ["export", "jsonl", "-q", "-i", "{ctf}", "-o", "{place}/o.jsonl"], "o.jsonl", "o.jsonl.meta"),
]


def make_inputs():
    """One of each kind of trace, made once for all tests."""
    if INPUTS:
        return INPUTS
    dir = tempfile.mkdtemp(prefix="corotracer-test-")
    atexit.register(shutil.rmtree, dir, True)
    at = {name: os.path.join(dir, "in." + name) for name in ("ppt", "raw", "cray", "jsonl", "ctf", "spec")}
    recordings.recording(at["ppt"], 20000)
    recordings.memory_trace(at["raw"], 60000)
    traces.many(at["jsonl"], 20000)
    traces.write(at["spec"], SPEC)
    for args in (["mem", "convert", "-q", "-o", at["cray"], at["raw"]], ["export", "ctf", "-q", "-i", at["jsonl"], "-o", at["ctf"]]):
        status, _, err = tool(*args)
        equal(status, 0, f"status of {args} ({err})")
    INPUTS.update(at)
    return INPUTS


def contents(place):
    found = {}
    for name in sorted(os.listdir(place)):
        with open(os.path.join(place, name), "rb") as f:
            found[name] = f.read()
    return found


def earlier(case, place):
    """Create earlier files with the same names."""
    os.mkdir(place)
    for name in case.files if case.replaces else ():
        traces.write(os.path.join(place, name), "precious")
    return {name: b"precious" for name in sorted(case.files)} if case.replaces else {}


def limited(size):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


def check_refused(case, status, err, found, before):
    equal(status, 1, f"status of {case.name} ({err})")
    contains(err, "cannot write")
    contains(err, "hint: ")
    equal({n: d[:100] for n, d in found.items()}, before, f"files after {case.name}")


@test
def files_are_there_when_all_went_well_and_replace_earlier_ones(dir):
    inputs = make_inputs()
    for i, case in enumerate(CASES):
        place = os.path.join(dir, f"out{i}")
        earlier(case, place)
        status, _, err = tool(*case.command(inputs, place))
        equal(status, 0, f"status of {case.name} ({err})")
        found = contents(place)
        equal(list(found), sorted(case.files), f"files of {case.name}")
        for name, data in found.items():
            assert len(data) > 20 and not data.startswith(b"precious"), (case.name, name, data[:40])


@test
def a_limit_of_the_file_size_leaves_no_part_and_keeps_what_was_there(dir):
    inputs = make_inputs()
    for i, case in enumerate(CASES):
        place = os.path.join(dir, f"out{i}")
        before = earlier(case, place)
        status, _, err = tool(*case.command(inputs, place), preexec_fn=limited(case.limit))
        check_refused(case, status, err, contents(place), before)


@test
def a_full_file_system_leaves_no_part_and_keeps_what_was_there(dir):
    inputs = make_inputs()
    place, copy = os.path.join(dir, "small"), os.path.join(dir, "copy")
    os.mkdir(place)
    # A mount that ends with its shell; 16 pages, of which the earlier files and a filler take all
    # but two.
    script = ('mount -t tmpfs -o size=64k tmpfs "$1" || exit 99; cp "$2"/* "$1"/ 2>/dev/null; head -c 49152 /dev/zero > "$1/filler"; '
              'place=$1 copy=$2; shift 2; "$@"; status=$?; rm -f "$place/filler"; rm -rf "$copy"; cp -r "$place" "$copy"; exit $status')
    for case in CASES:
        if case.limit < 8192:
            continue # fits into the remaining room
        subprocess.run(["rm", "-rf", copy], check=True)
        before = earlier(case, copy)
        p = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", place, copy, TOOL, *case.command(inputs, place)],
                           capture_output=True, text=True, timeout=300, check=False)
        if p.returncode == 99 or "unshare" in p.stderr:
            raise Skip("no file systems can be mounted here")
        check_refused(case, p.returncode, p.stderr, contents(copy), before)


def wait_for_temporary(place, names):
    """Wait for a file with an unexpected name that is not empty."""
    wait_until(lambda: any(n not in names and os.path.getsize(os.path.join(place, n)) for n in os.listdir(place)), "a temporary file")


@test
def a_signal_removes_what_was_begun(dir):
    for i, (case, data, more, args) in enumerate([
            (CASES[0], recordings.header(recordings.FRAMES), recordings.body, ["decode", "-", "{place}"]),
            (CASES[1], recordings.header(recordings.FRAMES), recordings.body, ["decode", "-f", "jsonl", "-", "{place}/o.jsonl"]),
            (CASES[3], b"", recordings.accesses, ["mem", "convert", "--format", "container", "-o", "{place}/o.cray", "-"])]):
        for sig in (signal.SIGINT, signal.SIGTERM):
            place = os.path.join(dir, f"out{i}-{sig}")
            before = earlier(case, place)
            p = subprocess.Popen([TOOL, *(a.format(place=place) for a in args)], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
            p.stdin.write(data + more(60000))
            p.stdin.flush()
            wait_for_temporary(place, before)
            p.send_signal(sig)
            p.wait(300)
            p.stdin.close()
            equal(p.returncode, -sig, f"status of {case.name}")
            equal(contents(place), before, f"files after {case.name}")


@test
def links_and_modes_are_kept(dir):
    inputs = make_inputs()
    for i, case in enumerate(CASES):
        if len(case.files) > 1 or not case.replaces:
            continue
        place, real = os.path.join(dir, f"out{i}"), os.path.join(dir, f"real{i}")
        os.mkdir(place)
        traces.write(real, "old")
        os.chmod(real, 0o640)
        os.symlink(real, os.path.join(place, case.files[0]))
        status, _, err = tool(*case.command(inputs, place))
        equal(status, 0, f"status of {case.name} ({err})")
        assert os.path.islink(os.path.join(place, case.files[0])), f"the link is gone after {case.name}"
        assert os.path.getsize(real) > 20, case.name
        equal(stat.S_IMODE(os.stat(real).st_mode), 0o640, f"mode after {case.name}")


@test
def pipes_and_devices_are_written_directly(dir):
    inputs = make_inputs()
    for args in (["decode", "-q", "-f", "jsonl", "{ppt}", "{fifo}"], ["mem", "convert", "-q", "-o", "{fifo}", "{raw}"],
                 ["mem", "html", "-o", "{fifo}", "{raw}"], ["html", "-q", "-o", "{fifo}", "{jsonl}"],
                 ["export", "perfetto", "-q", "-i", "{jsonl}", "-o", "{fifo}"]):
        fifo = os.path.join(dir, "fifo")
        if not os.path.exists(fifo):
            os.mkfifo(fifo)
        p = popen(TOOL, *(a.format(**inputs, fifo=fifo) for a in args))
        with open(fifo, "rb") as f:
            size = len(f.read())
        equal(p.wait(300), 0, f"status of {args}")
        assert size > 1000 and stat.S_ISFIFO(os.stat(fifo).st_mode), (args, size)
        status, _, err = tool(*(a.format(**inputs, fifo="/dev/full") for a in args))
        equal(status, 1, f"status of {args} to a full device")
        contains(err, "No space left")
        contains(err, "hint: ")


@test
def a_descriptor_in_the_place_of_a_name_is_the_open_file(dir):
    inputs = make_inputs()
    for name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        with open(os.path.join(dir, "all"), "wb") as f:
            f.write(b"before\n")
            f.flush()
            subprocess.run([TOOL, "decode", "-q", "-f", "jsonl", inputs["ppt"], name], stdout=f, check=True, timeout=300)
        with open(os.path.join(dir, "all"), "rb") as f:
            lines = f.read().splitlines()
        equal((lines[0], len(lines)), (b"before", 20001), f"lines in the file that is standard output, as {name}")


if __name__ == "__main__":
    main()
