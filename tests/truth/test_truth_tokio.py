# SPDX-License-Identifier: MIT
"""test_truth_tokio.py - the numbers of `why` on Tokio's tasks, compared with what the program says."""
import test_why_tokio_tasks as program
from truth import *

OWN = "main.rs"
HOUR_MS = 3600 * 1000


def compare_line(n, path, place):
    """A line of the program's own file has a marker, or is that of a function with one; others are of Tokio."""
    if place["line"] is None:
        return
    lines = sorted(line for _, line in program.LINES.values())
    if os.path.basename(place["file"]) != OWN:
        n.within(path, 1, 100000)
    elif place["exact"]:
        n.within(path, lines[0], lines[-1])
        equal(n[path] in lines or place["function"] == "branches", True, f"{path} has a marker")
    else:
        n.within(path, 1, program.LINES[place["function"]][1])


@check
def why_says_when_tokio_timers_are_due(n, elapsed_ms):
    """All deadlines are an hour after the start of their wait, but one that has passed."""
    for i, group in enumerate(n.output["groups"]):
        if "due_in_ms" not in (group["waits_for"] or {}):
            continue
        path = f"groups[{i}].waits_for.due_in_ms"
        if group["stack"][-1]["function"] == "overdue":
            n.within(path, -elapsed_ms, 0)
        else:
            n.within(path, HOUR_MS - elapsed_ms - 1, HOUR_MS)


@check
def why_names_the_descriptors_of_tokio_tasks(n, descriptors):
    for i, group in enumerate(n.output["groups"]):
        function = group["stack"][-1]["function"]
        for k, found in enumerate((group["waits_for"] or {}).get("descriptors", [])):
            path = f"groups[{i}].waits_for.descriptors[{k}]"
            if function in descriptors:
                n.equal(f"{path}.descriptor", descriptors[function])
            else:
                n.within(f"{path}.descriptor", 3, 100)
            if found["state"] == "open":
                n.equal(f"{path}.unread", len("unread") if function == "cleared" else 0)


@check
def why_shows_the_branches_of_tokio_tasks(n):
    for i, group in enumerate(n.output["groups"]):
        function = group["stack"][-1]["function"]
        for k, place in enumerate(group["stack"]):
            path = f"groups[{i}].stack[{k}]"
            compare_line(n, f"{path}.line", place)
            counts = sorted(count for count, _ in program.BRANCHES.get(function, []))
            equal(sorted(b["count"] for b in place.get("branches", [])), counts if k == 0 else [], function)
            for b, branch in enumerate(place.get("branches", [])):
                n.within(f"{path}.branches[{b}].count", counts[0], counts[-1])
                for s, inner in enumerate(branch["stack"]):
                    compare_line(n, f"{path}.branches[{b}].stack[{s}].line", inner)
    for i, thread in enumerate(n.output["threads"]):
        for k, place in enumerate(thread.get("block_on", [])):
            compare_line(n, f"threads[{i}].block_on[{k}].line", place)


def compare_rest(n, target, counts):
    n.equal("pid", target.process.pid)
    n.equal("coroutines", target.tasks)
    for key in "finished", "running", "changed", "stopped_ns":
        n.equal(key, 0)
    for i, group in enumerate(n.output["groups"]):
        n.equal(f"groups[{i}].count", counts.get(group["stack"][-1]["function"], 1))
        equal(len(group["members"]), n[f"groups[{i}].count"], "members")
        n.within(f"groups[{i}].bytes", 64 * n[f"groups[{i}].count"], 4096 * n[f"groups[{i}].count"])
    threads = os.listdir(f"/proc/{target.process.pid}/task")
    for i, thread in enumerate(n.output["threads"]):
        equal(str(thread["tid"]) in threads, True, "a thread of the process")
        n.equal(f"threads[{i}].tid", thread["tid"])


@test
def numbers_of_why_are_those_of_a_tokio_program(dir):
    path = program.build(dir, "own") if shutil.which("cargo") else None
    if not path:
        raise Skip("the program cannot be built here")
    for mode, counts in ("branches", {"middle": 3}), ("faults", {"forgotten": 2}):
        start = time.monotonic_ns()
        with program.Program(path, mode) as target:
            n = Numbers("why", output_of("why", "--json", "-p", target.process.pid))
            why_says_when_tokio_timers_are_due(n, (time.monotonic_ns() - start) // 1000000)
            why_names_the_descriptors_of_tokio_tasks(n, target.descriptors)
            why_shows_the_branches_of_tokio_tasks(n)
            for i, group in enumerate(n.output["groups"]):
                for k, _ in enumerate((group["waits_for"] or {}).get("objects", [])):
                    n.within(f"groups[{i}].waits_for.objects[{k}].waiters", 1, group["count"])
            compare_rest(n, target, counts)
            n.done()


if __name__ == "__main__":
    main()
