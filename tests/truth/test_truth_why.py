# SPDX-License-Identifier: MIT
"""test_truth_why.py - the numbers of `why`, compared with what a program says of itself."""
from truth import *

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "inspect", "forgotten.cpp")
CLIENTS, FORGOTTEN = 1000, 10


def line_of(marker):
    with open(SOURCE, encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if line.rstrip().endswith(f"// @{marker}"))


@check
def why_finds_what_the_program_created(n, pid, wall_ns):
    n.equal("pid", pid)
    n.equal("coroutines", 2 * CLIENTS)
    for key in "finished", "running", "changed":
        n.equal(key, 0)
    counts = [FORGOTTEN, CLIENTS - FORGOTTEN]
    equal(len(n.output["groups"]), len(counts), "groups")
    for i, group in enumerate(n.output["groups"]):
        path = f"groups[{i}]"
        n.equal(f"{path}.count", counts[i])
        equal(len(group["members"]), counts[i], "members")
        # Two frames each, with two addresses, a promise and an awaiter at least.
        n.within(f"{path}.bytes", counts[i] * 2 * 40, counts[i] * 2 * 4096)
        for k, marker in enumerate(("message", "client")):
            n.equal(f"{path}.stack[{k}].line", line_of(marker))
    for i, thread in enumerate(n.output["threads"]):
        n.equal(f"threads[{i}].tid", pid)
        for k, frame in enumerate(thread.get("stack") or []):
            if frame["function"] == "main":
                n.within(f"threads[{i}].stack[{k}].line", line_of("client"), 60)
            elif frame["line"] is not None:
                n.within(f"threads[{i}].stack[{k}].line", 1, 100000)
    n.within("stopped_ns", 0, wall_ns)


@test
def numbers_of_why_are_those_of_the_program(dir):
    if not shutil.which("g++"):
        raise Skip("no g++ here")
    program = os.path.join(dir, "forgotten")
    subprocess.run(["g++", "-std=c++20", "-O2", "-g", SOURCE, "-o", program], check=True, timeout=120)
    for options in (), ("--stacks",):
        with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if line == "ready\n":
                    break
            start = time.monotonic_ns()
            n = Numbers("why", output_of("why", "--json", *options, "-p", process.pid))
            why_finds_what_the_program_created(n, process.pid, time.monotonic_ns() - start)
            n.done()
            process.kill()


if __name__ == "__main__":
    main()
