# SPDX-License-Identifier: MIT
"""test_fault_files.py - commands that read and write files: every failing call ends in an error, or changes nothing."""
import ship_receiver
from fault_runs import *

MAKE_TRACE = os.environ.get("MAKE_TRACE", "build/tests/view/make_trace")
EXPORTS = {"csv": "x.csv", "sqlite": "x.db", "perfetto": "x.pftrace", "chrome": "x.json", "speedscope": "x.speedscope.json", "folded": "x.folded",
           "pprof": "x.pb.gz", "graphviz": "x.dot", "jsonl": "x.jsonl", "ctf": "x.ctf", "ct": "x.ct", "parquet": "x.parquet", "otlp": "x.otlp"}


def make_trace(dir, name="t"):
    trace = os.path.join(dir, name + ".jsonl")
    equal(tool("run", "-q", "-o", trace, "--", TARGET, "events", 6, 30, 100)[0], 0, "status of run")
    return trace


def make_copy(dir, kind, trace):
    path = os.path.join(dir, "t." + kind)
    equal(tool("export", kind, "-q", "-i", trace, "-o", path)[0], 0, f"status of export {kind}")
    return path


def reads_back(dir, name):
    """For traces with a number of their own in each run: what they say to a reader.  Compact ones may lack their index."""
    def look(result):
        status, out, _ = tool("info", "--json", os.path.join(dir, "out", name))
        return result.out, status, {k: v for k, v in json.loads(out or "{}").items() if k not in ("size", "ct")}
    return {"same": look}


def shipped(result):
    """Also of a run that failed: what has left is whole, with labels."""
    for name, data in result.files.items():
        if data.startswith(ship_receiver.MAGIC):
            try:
                ship_receiver.Envelope(data)
            except ValueError as error:
                raise AssertionError(f"{name} cannot be read: {error}") from None
    return result.out, len(result.files)


@test
def every_form_of_a_trace_is_read(dir):
    trace = make_trace(dir)
    for kind, path in (("jsonl", trace), ("ctf", make_copy(dir, "ctf", trace)), ("ct", make_copy(dir, "ct", trace))):
        explore_all(dir, (f"info {kind}", "info", "--json", path), (f"report {kind}", "report", path))


@test
def commands_on_a_trace(dir):
    trace = make_trace(dir)
    compact = make_copy(dir, "ct", trace)
    other, merged = make_trace(dir, "u"), os.path.join(dir, "both.jsonl")
    equal(tool("merge", "-q", "-o", merged, trace, other)[0], 0, "status of merge")
    explore_all(dir, ("report --json", "report", "--json", merged),
                ("html", "html", "-q", "-o", "x.html", compact),
                ("diff", "diff", "--html", "x.html", "--from", "1us", trace, compact),
                ("merge", "merge", "-q", "-o", "m.jsonl", trace, other, reads_back(dir, "m.jsonl")),
                ("query", "query", compact, "select count(*), max(ts) from events"),
                ("ship", "ship", "-q", "--wait", 1, "--again", "file:x", compact, {"same": shipped}))


@test
def exports_of_a_trace(dir):
    trace = make_trace(dir)
    own = {"ctf", "ct"}
    explore_all(dir, *[(f"export {kind}", "export", kind, "-q", "-i", trace, "-o", out, reads_back(dir, out) if kind in own else {})
                       for kind, out in EXPORTS.items()],
                ("export schema", "export", "schema"))


MEMORY_PROGRAM = """
#include <stdlib.h>
struct point { int x; long y; char z; };
int main(void)
{
	struct point *p = calloc(200, sizeof(*p));
	long sum = 0;
	for (int i = 0; i < 200; i++)
		sum += p[i].x + p[i * 7 % 200].y;
	free(p);
	return sum != 0;
}
"""


@test
def commands_on_memory_accesses(dir):
    source, app, trace, raw = (os.path.join(dir, n) for n in ("app.c", "app", "app.trace", "app.raw"))
    with open(source, "w", encoding="ascii") as f:
        f.write(MEMORY_PROGRAM)
    status, _, err = tool("mem", "cc", "-O1", "-g", "-o", app, source)
    equal(status, 0, "status of mem cc: " + err)
    equal(tool("mem", "run", "-q", "-o", trace, "--", app)[0], 0, "status of mem run")
    equal(tool("mem", "convert", "-q", "-o", raw, trace)[0], 0, "status of mem convert")
    small = ("--cache", "4K,2,64")  # not that of this machine: fast, and the same everywhere
    # mem layout has 190 call sites of its own, and a run takes long: without COROTRACER_FULL=1 a part of them.
    explore_all(dir, ("mem check", "mem", "check", "--json", trace), ("mem dump", "mem", "dump", trace), ("mem stat", "mem", "stat", "--json", trace),
                ("mem sim", "mem", "sim", *small, "--json", trace), ("mem layout", "mem", "layout", *small, "--json", trace, {"sample": 70}), ("mem calls", "mem", "calls", trace),
                ("mem diff", "mem", "diff", *small, trace, trace), ("mem html", "mem", "html", *small, "-o", "x.html", trace),
                ("mem convert", "mem", "convert", "-q", "-o", "x.raw", trace), ("mem check raw", "mem", "check", raw),
                ("mem recover", "mem", "recover", trace, {"statuses": (1,)}), ("mem cc", "mem", "cc", "-O1", "-g", "-o", "app", source))


SPEC = """
emit C;
buffer Small 64;
option time timespec monotonic;
frame f { uint64 n; interval time took; }
"""


@test
def commands_on_frames(dir):
    spec, recording = os.path.join(dir, "a.spec"), os.path.join(dir, "r.ppt")
    with open(spec, "w", encoding="ascii") as f:
        f.write(SPEC)
    equal(subprocess.run([os.environ["MAKE_RECORDING"], recording, "50"], check=False, stdout=subprocess.DEVNULL).returncode, 0, "make")
    explore_all(dir, ("generate", "generate", "-o", ".", spec), ("decode", "decode", recording, "x"), ("decode jsonl", "decode", "--format", "jsonl", recording, "-"),
                ("decode sqlite", "decode", "--format", "sqlite", recording, "x.sqlite"), ("export frames", "export", "csv", "-q", "-i", recording, "-o", "x.csv"),
                ("query frames", "query", "-f", recording))


if __name__ == "__main__":
    main()
