# SPDX-License-Identifier: MIT
"""test_truth_sample.py - the numbers of `why --sample`, compared with what a program says of itself."""
import resource

import programs
from truth import *

SOURCE_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "inspect", "sampled.cpp")
RATE = 20
LOOKS = 25  # at least, for a share of them to say something
PERIOD_NS = 1_000_000_000 // RATE
STILL, TURNS, BLOCKED = 60, 40, 1
IN_TURNS = ("longer", "shorter", "start", "turns")


def markers():
    with open(SOURCE_FILE, encoding="utf-8") as f:
        return {m[1]: number for number, line in enumerate(f, 1) if (m := re.search(r"// @(\w+)$", line.rstrip()))}


def cpu_of_children_ns():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * 1e9)


def places_of(stacks, lines):
    """Number of each stack, by the marker of its innermost line."""
    names = {line: name for name, line in lines.items()}
    return {names.get(stack["stack"][0]["line"], "?"): i for i, stack in enumerate(stacks)}


@check
def sample_counts_add_up(n, pid, seconds, wall_ns, cpu_ns):
    out = n.output
    n.equal("pid", pid)
    n.equal("period_ns", PERIOD_NS)
    n.within("looks", 1, RATE * seconds)
    n.within("late", 0, RATE * seconds - 1)
    n.equal("failed", 0)
    equal(out["looks"] + out["late"], RATE * seconds, "looks that were due")
    n.within("elapsed_ns", seconds * 1_000_000_000, wall_ns)
    n.within("look_max_ns", 1, wall_ns)
    n.within("look_ns", 1, out["look_max_ns"])
    n.within("look_cpu_ns", 1, cpu_ns / out["looks"])
    n.within("stopped_ns", 0, wall_ns)
    n.equal("bytes_failed", 0)
    n.equal("reloads", 0)
    samples = sum(stack["samples"] for stack in out["stacks"])
    n.equal("samples", samples)
    n.close("tasks", samples / out["looks"], 1e-9)
    n.close("task_seconds", samples * PERIOD_NS / 1e9, 1e-9)
    for state in ("waiting", "ready", "running"):
        own = sum(stack["samples"] for stack in out["stacks"] if stack["state"] == state)
        n.equal(f"states.{state}.samples", own)
        n.close(f"states.{state}.task_seconds", own * PERIOD_NS / 1e9, 1e-9)
        n.close(f"states.{state}.percent", 100 * own / samples, 1e-9)
    for i, stack in enumerate(out["stacks"]):
        n.close(f"stacks[{i}].task_seconds", stack["samples"] * PERIOD_NS / 1e9, 1e-9)
        n.close(f"stacks[{i}].percent", 100 * stack["samples"] / samples, 1e-9)
        n.close(f"stacks[{i}].tasks", stack["samples"] / out["looks"], 1e-9)


@check
def sample_sees_what_the_program_does(n, lines):
    out = n.output
    looks = out["looks"]
    found = places_of(out["stacks"], lines)
    assert "?" not in found, f"unexpected stacks: {out['stacks']}"
    # The program has two threads; one of them never runs, and its stack is always known.
    n.within("threads_unknown", 0, looks)
    n.within("frames_unknown", 0, looks)
    n.within("changed", 0, looks * TURNS)
    for name, i in found.items():
        for k, outer in enumerate(["client"] if name in IN_TURNS else [], 1):
            n.equal(f"stacks[{i}].stack[{k}].line", lines[outer])
        n.equal(f"stacks[{i}].stack[0].line", lines[name])
        if name in ("still", "blocking"):
            nr = STILL if name == "still" else BLOCKED
            n.equal(f"stacks[{i}].samples", nr * looks)
            n.equal(f"stacks[{i}].most", nr)
            equal(out["stacks"][i]["state"], "waiting" if name == "still" else "running", name)
        else:
            n.within(f"stacks[{i}].samples", 1, TURNS * looks)
            n.within(f"stacks[{i}].most", 1, TURNS)
    turns = sum(out["stacks"][i]["samples"] for name, i in found.items() if name in IN_TURNS)
    # Each task that is missing was counted as changed.
    assert TURNS * looks - out["changed"] <= turns <= TURNS * looks, f"{turns} of {TURNS * looks}, changed {out['changed']}"
    return out["stacks"][found["longer"]]["samples"] / turns


def sample_one(process, options, lines):
    process.stdout.readline()
    time.sleep(0.6)         # the coroutines have different phases then
    # On a loaded machine many looks are too late.
    for seconds in (2, 8, 30):
        start, cpu = time.monotonic_ns(), cpu_of_children_ns()
        n = Numbers("why --sample", output_of("why", "--json", *options, "-p", process.pid, "--sample", f"{RATE}/s",
                                              "--duration", seconds))
        if n.output["looks"] >= LOOKS:
            break
    sample_counts_add_up(n, process.pid, seconds, time.monotonic_ns() - start, cpu_of_children_ns() - cpu)
    share = sample_sees_what_the_program_does(n, lines)
    n.done()
    process.terminate()
    own = {name: int(ns) for name, ns in re.findall(r"time (\w+) (\d+)", process.stdout.read())}
    expected = own["longer"] / (own["longer"] + own["shorter"])
    assert abs(share - expected) < 0.1, f"share of one place is {share}, the program's own is {expected}"


@test
def numbers_of_samples_are_those_of_the_program(dir):
    if not shutil.which("g++"):
        raise Skip("no g++ here")
    program = programs.compile_program("sampled", ["g++", "-std=c++20", "-fcoroutines", "-O0", "-g", SOURCE_FILE, "-pthread"])
    assert program, SOURCE_FILE
    lines = markers()
    for options in (), ("--stacks",):
        with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
            try:
                sample_one(process, options, lines)
            finally:
                process.kill()


if __name__ == "__main__":
    main()
