#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_static.py - the tool as a static program with musl: it is built, and used on programs of another C library."""
import shutil
import sys
import tempfile

HERE = __file__.rsplit("/", 1)[0]
sys.path.insert(0, HERE + "/../cli")
from harness import *  # noqa: E402,F403

TREE = os.path.abspath(os.path.join(HERE, "..", ".."))
NEEDED = ("musl-gcc", "apt-get", "dpkg-source", "cmake", "ninja", "tclsh", "npm")
MADE = {}


def output_of(*command, status=0, **options):
    p = subprocess.run(command, capture_output=True, text=True, timeout=3000, stdin=subprocess.DEVNULL, **options)
    equal(p.returncode, status, f"status of {' '.join(command)}, which said\n{p.stdout[-3000:]}{p.stderr[-3000:]}")
    return p.stdout


def installed():
    """The directory of the installation, made once; COROTRACER_STATIC_DIR keeps the libraries for the next run."""
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        raise Skip(f"not here: {' '.join(missing)}")
    if "place" not in MADE:
        MADE["place"] = os.environ.get("COROTRACER_STATIC_DIR") or tempfile.mkdtemp(prefix="corotracer-static.", dir="/var/tmp")
        output_of(os.path.join(TREE, "scripts", "static-tool"), MADE["place"])
    return os.path.join(MADE["place"], "installed")


def static_tool(*arguments, **options):
    return output_of(os.path.join(installed(), "bin", "corotracer"), *arguments, **options)


@test
def the_program_is_static(dir):
    path = os.path.join(installed(), "bin", "corotracer")
    elf = output_of("readelf", "-lW", path)
    assert "INTERP" not in elf and "DYNAMIC" not in elf, f"the program needs a loader:\n{elf}"
    with open(path, "rb") as f:
        assert b"GNU C Library" not in f.read(), "the program has the other C library"
    equal([name for _, _, names in os.walk(installed()) for name in names if ".so" in name], [], "shared libraries")


@test
def version_says_what_is_missing(dir):
    about = json.loads(static_tool("version", "--json"))
    equal([name for name in ("postgresql", "mysql") if name in about["exports"]], [], "exports by clients of databases")
    equal([name for name, version in about["libraries"].items() if not version], [], "libraries that are missing")
    equal(about["page"], True, "it has its pages")
    p = subprocess.run([os.path.join(installed(), "bin", "corotracer"), "fleet", "slowest", "--from", "clickhouse://127.0.0.1:1/x"], capture_output=True, text=True, timeout=60)
    assert p.returncode and "libcurl" in p.stderr, f"fleet said {p.stderr!r}"


@test
def it_records_and_shows_a_program(dir):
    """A program of glibc with many coroutines: the same events as the other tool reads."""
    trace, page = os.path.join(dir, "trace.jsonl"), os.path.join(dir, "page.html")
    static_tool("run", "-q", "-o", trace, "--", TARGET, "events", "20", "40", "100")
    report = json.loads(static_tool("report", "--json", trace))
    other = json.loads(output_of(TOOL, "report", "--json", trace))
    equal(report, other, "report of the other tool")
    with open(trace, encoding="utf-8") as f:
        assert len(f.readlines()) >= 20 * 40, "the trace is too short for a test"
    static_tool("html", trace, "-o", page)
    assert os.path.getsize(page) > 100000, "the page is empty"
    for format in ("csv", "sqlite", "parquet", "perfetto", "ct"):
        static_tool("export", format, "-i", trace, "-o", os.path.join(dir, "out." + format))
    counted = [json.loads(static_tool("query", "--json", file, "select count(*) as nr from events"))["rows"] for file in (os.path.join(dir, "out.ct"), trace)]
    equal(counted[0], counted[1], "events in both formats")


@test
def it_reads_debug_information(dir):
    """mem cc, mem run and mem sim: symbols, lines and types come from libdw."""
    source, program, trace = (os.path.join(dir, name) for name in ("sum.c", "sum", "sum.cray"))
    with open(source, "w", encoding="utf-8") as f:
        f.write("struct pair { int a, b; } p[4096];\n"
                "int main(void) { for (int i = 0; i < 4096; i++) p[i].a++; return 0; }\n")
    output_of(TOOL, "mem", "cc", "-O1", "-g", source, "-o", program)
    static_tool("mem", "run", "-q", "-o", trace, "--", program)
    numbers = [json.loads(run("mem", "sim", "--json", trace)) for run in (static_tool, lambda *a: output_of(TOOL, *a))]
    equal(numbers[0]["accesses"], 8192, "accesses")
    equal(numbers[0], numbers[1], "simulation of the other tool")
    contains(static_tool("mem", "layout", trace), "struct pair")


try:
    main()
finally:
    if "place" in MADE and not os.environ.get("COROTRACER_STATIC_DIR"):
        shutil.rmtree(MADE["place"])
