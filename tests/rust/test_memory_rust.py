#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_rust.py - accesses of Rust futures: a program that counts what its futures access, built with the memory runtime.

The instrumentation of Rust code is not part of stable Rust: RUSTC_BOOTSTRAP=1 enables it here.  Code in C that a Rust program
calls needs only `mem cc`.
"""
import collections

from rust import *

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(TOOL)), "lib", "libcacheray.a")
INSTRUMENTED = ["-Zsanitizer=thread", "-Zexternal-clangrt", "-Cunsafe-allow-abi-mismatch=sanitizer"]
BUILT = {}
FULL = os.environ.get("COROTRACER_FULL") == "1"


def build(name, flags, *args, env=None):
    """memory_polls, linked with the memory runtime."""
    if name not in BUILT:
        need_cargo()
        if not os.path.exists(LIBRARY):
            raise Skip(f"there is no {LIBRARY}")
        target = os.path.join(BUILD, "target-" + name)
        env = {"CARGO_TARGET_DIR": target, "RUSTFLAGS": " ".join([*flags, "-Clink-arg=" + LIBRARY]), **(env or {})}
        status, out = cargo("build", "--offline", "--release", "-p", "corotracer-rust-tests", "--bin", "memory_polls", *args,
                            root=plain(), env=env)
        if status != 0 and ("unknown unstable option" in out or "unknown codegen option" in out or "not supported for this target" in out):
            raise Skip(f"this rustc does not instrument accesses: {out.strip().splitlines()[0]}")
        equal(status, 0, f"status of cargo, which said\n{out}")
        BUILT[name] = os.path.join(target, "release", "memory_polls")
    return BUILT[name]


def instrumented():
    # Without COROTRACER_FULL=1 a little optimized: the optimizer takes most of the build.
    return build("memory", INSTRUMENTED, env={"RUSTC_BOOTSTRAP": "1", "CARGO_PROFILE_RELEASE_OPT_LEVEL": "3" if FULL else "1"})


def with_c_code(dir):
    """Only the function that makes the accesses is instrumented: it is C."""
    object = dir + "/memory_touch.o"
    status, out, err = tool("mem", "cc", "--compiler=gcc", "-O1", "-g", "-c", os.path.join(TESTS, "memory_touch.c"), "-o", object)
    equal(status, 0, f"status of mem cc ({out}{err})")
    kept = os.path.join(BUILD, "memory_touch.o")  # cargo builds again if its path changes
    shutil.copyfile(object, kept)
    return build("memory-c", ["-Clink-arg=" + kept], "--features", "touch_in_c", env={"CARGO_PROFILE_RELEASE_OPT_LEVEL": "0"})


def records_of(trace):
    status, out, err = tool("mem", "dump", "--json", trace)
    equal(status, 0, f"status of mem dump ({err})")
    return [json.loads(line) for line in out.splitlines()]


def array_of(truth, address):
    return next((name for name in ("cells", "table", "short", "queue") if truth[name][0] <= address < sum(truth[name])), None)


def compare(trace, truth):
    """Each array is used by the futures that the program says, after the awaits that it says."""
    have, runs, records = collections.defaultdict(lambda: [0, 0]), {}, records_of(trace)
    for r in records:
        if r["kind"] == "coro":
            runs[r["thread"]] = (r["name"], r.get("line", 0)) if r["coroutine"] else ("", 0)
        elif r["kind"] in ("read", "write"):
            array = array_of(truth, int(r["address"], 16))
            if array:
                have[(*runs.get(r["thread"], ("", 0)), array)][r["kind"] == "write"] += 1
    equal(dict(have), {(kind, after, array): [reads, writes] for kind, after, array, reads, writes in truth["counts"]}, "uses of arrays")
    return records


def check_blame(trace, truth):
    rows = {row["kind"]: row for row in json.loads(tool("mem", "sim", "--json", "--blame", trace)[1])["coroutines"]}
    equal(set(rows), {"writer", "outer", "inner", "short", None}, "kinds")
    for kind in "writer", "outer", "inner":
        lines = {after for k, after, *_ in truth["counts"] if k == kind}
        equal({a["line"] for a in rows[kind]["awaits"]}, lines, f"awaits of {kind}")
        assert all(not a["line"] or a["file"].endswith("memory_polls.rs") for a in rows[kind]["awaits"]), rows[kind]


@test
def accesses_are_those_of_the_future_that_is_polled(dir):
    status, out, err = tool("mem", "run", "-o", dir + "/m", "--", instrumented(), 20)
    equal(status, 0, f"status of mem run ({err})")
    truth = json.loads(out)
    compare(dir + "/m", truth)
    check_blame(dir + "/m", truth)


@test
def one_run_has_both_traces_with_the_same_ids(dir):
    status, out, err = tool("run", "--mem", "-o", dir + "/t.jsonl", "--", instrumented(), 20)
    equal(status, 0, f"status of run --mem ({err})")
    records = compare(dir + "/t.jsonl.memory", json.loads(out))
    stamps = [r for r in records if r["kind"] == "coro" and r["cause"] == "resumed"]
    assert stamps and all(r["traced"] for r in stamps), "coroutines without an id of the trace"
    with open(dir + "/t.jsonl.meta", encoding="utf-8") as f:
        births = {line["probe_id"]: line["name"] for line in map(json.loads, f) if line["type"] == "birth"}
    equal({r["coroutine"] for r in stamps}, set(births), "ids")
    for r in stamps:
        equal(births[r["coroutine"]].rstrip("0123456789").rstrip("- "), r["name"], "kind")


@test
def code_in_c_that_a_rust_program_calls_is_enough(dir):
    status, out, err = tool("mem", "run", "-o", dir + "/m", "--", with_c_code(dir), 20)
    equal(status, 0, f"status of mem run ({err})")
    truth = json.loads(out)
    compare(dir + "/m", truth)
    check_blame(dir + "/m", truth)


@test
def a_program_without_the_runtime_does_the_same(dir):
    p = popen(program("memory_polls"), 20)
    out, err = p.communicate(timeout=300)
    equal((p.returncode, err), (0, ""), "status and stderr")
    assert json.loads(out)["counts"], out


main()
