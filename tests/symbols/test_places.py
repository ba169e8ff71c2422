# SPDX-License-Identifier: MIT
"""test_places.py - one site has one name, one path and one number, with every compiler.

The programs print the sites where their coroutines wait; every command must print the same.

    PLACES_SOURCE: the folder of the programs; PLACES_LIB: the C SDK, static; COROTRACER_FULL: all compilers
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/cli")
from harness import *  # noqa: E402

SOURCE = os.environ["PLACES_SOURCE"]
LIB = os.environ["PLACES_LIB"]
INCLUDE = os.environ["PLACES_INCLUDE"]
FULL = os.environ.get("COROTRACER_FULL") == "1"


def compilers(cxx):
    """gcc, and each clang that supports it; without --full only the oldest and the newest of these."""
    oldest = 16 if cxx else 14
    name = "clang++" if cxx else "clang"
    clangs = [f"{name}-{v}" for v in range(oldest, 30) if shutil.which(f"{name}-{v}")]
    gcc = ["g++" if cxx else "gcc"]
    if FULL:
        return gcc + clangs
    return gcc + (clangs[-1:] if cxx else clangs[:1] + clangs[1:][-1:])


def compiled(dir, cc, sources, *options, name="program"):
    program = os.path.join(dir, name)
    p = subprocess.run([cc, *options, "-I", INCLUDE, *sources, *([] if "++" in cc else [LIB]), "-pthread", "-o", program],
                       capture_output=True, text=True, cwd=dir)
    equal((p.returncode, p.stderr), (0, ""), f"{cc} {options}")
    return program


def run(dir, program, *options):
    """The trace, and the sites that the program printed for its coroutines: name to (file, line, function)."""
    trace = os.path.join(dir, "t.jsonl")
    status, out, err = tool("run", "-q", *options, "-o", trace, "--", program)
    equal((status, err), (0, ""), "status, stderr of run")
    told = {}
    for line in out.splitlines():
        _, name, file, number, function = line.split(" ", 4)
        told.setdefault(name, set()).add((os.path.basename(file), int(number), function))
    return trace, told


def reported(trace):
    """Of each finding: the names of its example, its site, the count."""
    status, out, err = tool("report", "--json", "--min-confidence", "info", trace)
    equal((status, err), (0, ""), "status, stderr of report")
    return [f for f in json.loads(out)["findings"] if f["detector"] == "suspended-at-exit"]


def text_of(place):
    file, line, function = place
    return f"{file}:{line} {function}"


def sites(trace):
    with open(trace + ".meta", encoding="utf-8") as f:
        return [json.loads(line) for line in f if '"type":"site"' in line]


def short(text):
    """A site with the last part of its path."""
    return re.sub(r"^\S*/", "", text)


def same_everywhere(dir, trace, wanted):
    """Every site in any output is one of these."""
    status, out, _ = tool("info", "--json", trace)
    equal(status, 0, "status of info")
    status, _, err = tool("export", "sqlite", "-q", "-i", trace, "-o", os.path.join(dir, "t.sqlite"))
    equal(status, 0, f"status of export: {err}")
    p = subprocess.run(["sqlite3", os.path.join(dir, "t.sqlite"),
                        "select file || ':' || line || ' ' || function from coro_trace_events_sites"],
                       capture_output=True, text=True)
    if p.returncode == 0:
        got = sorted(short(line) for line in p.stdout.splitlines())
        equal(got, sorted(set(got)), "places of the export, each once")
        assert set(got) <= wanted, (got, wanted)


def variants():
    yield "-O2", "-g"
    if FULL:
        yield "-O0", "-g"
        yield "-O2", "-g", "-gdwarf-4"
        yield "-O2", "-g", "-gdwarf-5"
        yield "-O2", "-g", "-gsplit-dwarf"
        yield "-O2", "-g1"


@test
def places_by_address_are_those_that_the_program_tells(dir):
    for cc in compilers(False):
        for options in variants():
            sources = [os.path.join(SOURCE, f) for f in ("places.c", "places_other.c")]
            trace, told = run(dir, compiled(dir, cc, sources, *options))
            groups = reported(trace)
            got = {f["example"]["name"]: short(f["place"]["text"]) for f in groups}
            for name in ("by_address", "inlined"):
                equal(got.get(name), text_of(*told[name]), f"{cc} {options}: place of {name}")
            # One line, given by name and by address: one site, two coroutines in each of two
            # processes.
            both = [f for f in groups if short(f["place"]["text"]) == text_of(*told["told"])]
            equal([f["count"] for f in both], [4], f"{cc} {options}: coroutines at the place told twice")
            equal(told["told"], told["untold"], "the program's own word")
            equal(len(got), len(groups), f"{cc} {options}: groups, each of a place of its own")


@test
def a_place_has_one_number(dir):
    """In two files, by two threads at once, by two processes; and under two paths."""
    for cc in compilers(False)[:2]:
        os.makedirs(os.path.join(dir, "a/b"), exist_ok=True)
        for f in ("places.c", "places.h"):
            shutil.copy(os.path.join(SOURCE, f), os.path.join(dir, "a"))
        shutil.copy(os.path.join(SOURCE, "places_other.c"), os.path.join(dir, "a/b"))
        program = compiled(dir, cc, ["a/places.c", "a/b/../b/places_other.c"], "-I", "./a/b/..", "-O1", "-g")
        for format in ("t.jsonl", "t.ctf"):
            status, out, err = tool("run", "-q", "-o", os.path.join(dir, format), "--", program)
            equal((status, err), (0, ""), "status, stderr of run")
            header = [f for f in reported(os.path.join(dir, format)) if "places.h" in f["place"]["text"]]
            equal([(f["count"], f["place"]["text"]) for f in header],
                  [(6, header[0]["place"]["text"])], f"{cc}: coroutines that wait in the header, in {format}")
        told = sites(os.path.join(dir, "t.jsonl"))
        names = [(os.path.basename(s["file"]), s["line"], s["function"]) for s in told]
        equal(sorted(names), sorted(set(names)), f"{cc}: places, each told once")
        assert not [s for s in told if "./" in s["file"] or ".." in s["file"]], told


@test
def an_address_of_a_process_without_modules_is_a_place(dir):
    """A process can end before the collector reads its maps: what it wrote as an address is shown as one."""
    sources = [os.path.join(SOURCE, f) for f in ("places.c", "places_other.c")]
    trace, _ = run(dir, compiled(dir, compilers(False)[0], sources, "-O1", "-g"))
    with open(trace + ".meta", encoding="utf-8") as f:
        lines = f.readlines()
    child = [json.loads(line)["pid"] for line in lines if '"type":"process"' in line][-1]
    with open(trace + ".meta", "w", encoding="utf-8") as f:
        f.writelines(line for line in lines if '"type":"module"' not in line or json.loads(line)["pid"] != child)
    found = reported(trace)
    assert all(f["place"] for f in found), [f for f in found if not f["place"]]
    bare = [f["example"]["pid"] for f in found if f["place"]["text"].startswith("0x")]
    assert bare and set(bare) == {child}, f"processes with bare addresses: {bare}, wanted {child}"


@test
def an_older_trace_with_a_place_told_twice_has_it_once(dir):
    trace = os.path.join(dir, "old.jsonl")
    with open(trace, "w", encoding="ascii") as f:
        for probe in (1, 2):
            f.write('{"probe_id":%d,"tid":7,"addr":"0x%016x","seq":2,"is_active":false,"ts":%d}\n' % (probe, 0, 1000 + probe))
    with open(trace + ".meta", "w", encoding="ascii") as f:
        f.write(json.dumps({"type": "run", "format": 1, "tool": "corotracer 0.1.0", "command": ["x"], "pid": 9,
                            "start_ts": 900, "start_realtime": 1, "hostname": "h", "arch": "x86_64", "stations": 8}) + "\n")
        for id, file, function in ((5, "src/../inc/fd.h", "Task<> net::Fd<T>::read(int) [T = long]"),
                                   (7, "inc/fd.h", "net::Fd::read")):
            f.write(json.dumps({"type": "site", "id": id, "file": file, "line": 29, "function": function, "pid": 9}) + "\n")
        for probe, site in ((1, 5), (2, 7)):
            f.write(json.dumps({"type": "coroutine", "station": None, "probe_id": probe, "pid": 9, "name": f"c{probe}",
                                "birth_ts": 950, "death_ts": None, "dead": False, "writer": "corotracer", "written": 1,
                                "collected": 1, "lost": 0, "garbage": 0, "state": "suspended", "since_ts": 1000 + probe,
                                "addr": "0x0000000000000000", "site": site}) + "\n")
    status, out, _ = tool("info", trace)
    contains(out, "2 suspended at inc/fd.h:29 net::Fd::read")
    same_everywhere(dir, trace, {"fd.h:29 net::Fd::read"})


@test
def functions_of_coroutines_have_their_whole_plain_name(dir):
    for cc in compilers(True):
        program = compiled(dir, cc, [os.path.join(SOURCE, "names.cpp")], "-std=c++20", "-O0")
        trace, told = run(dir, program)
        wanted = {text_of(p) for places in told.values() for p in places}
        equal(sorted(short(text_of((s["file"], s["line"], s["function"]))) for s in sites(trace)), sorted(wanted),
              f"{cc}: sites in the trace")
        status, out, _ = tool("info", trace)
        for place in wanted:
            contains(out, place)
        equal({short(f["place"]["text"]) for f in reported(trace)}, wanted, f"{cc}: places of the report")
        same_everywhere(dir, trace, wanted)


if __name__ == "__main__":
    main()
