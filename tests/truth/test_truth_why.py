# SPDX-License-Identifier: MIT
"""test_truth_why.py - the numbers of `why`, compared with what a program says of itself."""
import programs
from truth import *

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "inspect", "forgotten.cpp")
VARIABLES_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "variables.cpp")
CLIENTS, FORGOTTEN, VARIABLES = 1000, 10, 1003


def compiled(*command, inputs=()):
    """A program that other tests use too."""
    source = next(word for word in command if word.endswith((".c", ".cpp")))
    path = programs.compile_program(os.path.basename(source).split(".")[0], list(command), inputs)
    assert path, source
    return path


def line_of(marker, source=SOURCE):
    with open(source, encoding="utf-8") as f:
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


@check
def why_shows_the_values_of_variables(n, pid, members):
    """A variable is computed from the number of its coroutine: `number`, `text`, `pair`, `list`."""
    n.equal("pid", pid)
    n.equal("coroutines", VARIABLES)
    for key in "finished", "running", "changed":
        n.equal(key, 0)
    group = n.output["groups"][0]
    n.equal("groups[0].count", VARIABLES)
    n.within("groups[0].bytes", VARIABLES * 80, VARIABLES * 4096)
    n.equal("groups[0].stack[0].line", line_of("client", VARIABLES_SOURCE))
    numbers = set()
    for path, stack in [("groups[0].stack[0]", group["stack"][0])] + [
            (f"groups[0].member_locals[{i}].stack[0]", m["stack"][0]) for i, m in enumerate(group["member_locals"])]:
        equal([v["name"] for v in stack["locals"]], ["number", "text", "pair", "list"], "variables")
        number = stack["locals"][0]["value"]
        numbers.add(number)
        n.equal(f"{path}.locals[0].value", number)
        n.equal(f"{path}.locals[1].length", number % 50)
        n.equal(f"{path}.locals[2].members[0].value", 2 * number)
        n.equal(f"{path}.locals[3].length", 2)
        n.equal(f"{path}.locals[3].elements[0].value", number)
        n.equal(f"{path}.locals[3].elements[1].value", -number)
    # Every coroutine is there once.
    equal(len(numbers), members, "different numbers")
    if not 0 <= min(numbers) <= max(numbers) < VARIABLES:
        raise Wrong(f"numbers from {min(numbers)} to {max(numbers)}")
    if members < VARIABLES:
        n.equal("groups[0].member_locals_left_out", VARIABLES - members)
    n.equal("threads[0].tid", pid)
    n.equal("stopped_ns", 0)


@test
def variables_of_why_are_those_of_the_program(dir):
    if not shutil.which("g++"):
        raise Skip("no g++ here")
    program = compiled("g++", "-std=c++20", "-O2", "-g", VARIABLES_SOURCE)
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line == "ready\n":
                break
        programs.wait_asleep(process.pid)
        for options, members in (("--locals",), 1000), (("--locals", "--all"), VARIABLES):
            n = Numbers("why", output_of("why", "--json", *options, "-p", process.pid))
            why_shows_the_values_of_variables(n, process.pid, members)
            n.done()
        process.kill()


@test
def numbers_of_why_are_those_of_the_program(dir):
    if not shutil.which("g++"):
        raise Skip("no g++ here")
    program = compiled("g++", "-std=c++20", "-fcoroutines", "-O2", "-g", SOURCE, "-pthread")
    for options in (), ("--stacks",):
        with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if line == "ready\n":
                    break
            programs.wait_asleep(process.pid)
            start = time.monotonic_ns()
            n = Numbers("why", output_of("why", "--json", *options, "-p", process.pid))
            why_finds_what_the_program_created(n, process.pid, time.monotonic_ns() - start)
            n.done()
            process.kill()


TRACED = os.path.join(os.path.dirname(SOURCE), "traced")
TREE = os.path.join(os.path.dirname(SOURCE), "..", "..")
NR_TRACED = 4


def marker_line(source, marker):
    with open(source, encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if f"@{marker}" in line)


def check_traced(n, path, number, site, suspensions, limits):
    """One coroutine; @limits: ns since its program was started."""
    n.equal(f"{path}.id", number)
    n.within(f"{path}.age_ns", 0, limits)
    n.within(f"{path}.state_ns", 0, limits)
    n.equal(f"{path}.suspensions", suspensions)
    if site:
        n.equal(f"{path}.suspended_at.line", site)


@check
def why_joins_what_the_collector_knows(n, facts, source, since_ns):
    """Clients with the resources 1000, 1001 and so on; of C++ in frames, of C only in the region."""
    is_c = source.endswith(".c")
    n.equal("collector.pid", facts["collector"])
    nr = NR_TRACED + (1 if is_c else 2)
    n.equal("collector.coroutines", nr)
    n.equal("collector.joined", 0 if is_c else nr)
    places = [(f"collector.others[{i}]", one) for i, one in enumerate(n.output["collector"]["others"])]
    places += [(f"groups[{g}].traced[{i}]", one) for g, group in enumerate(n.output["groups"])
               for i, one in enumerate(group["traced"])]
    equal(len(places), nr, "coroutines")
    first, waker = (2, "parent") if is_c else (1, "waker")
    for path, one in places:
        if not is_c:
            n.equal(f"{path}.created_at.line", marker_line(source, "created"))
        if one["name"] == waker:
            check_traced(n, path, facts["waker_id"], None if is_c else marker_line(source, "waker"), 0 if is_c else 2, since_ns)
        elif one["name"] == "child":
            check_traced(n, path, facts["waker_id"] + 1, marker_line(source, "child"), 1, since_ns)
            n.equal(f"{path}.resource", 2000)
            n.equal(f"{path}.parent", facts["waker_id"])
        else:
            number = int(one["name"].split()[1])
            check_traced(n, path, first + number, marker_line(source, "await" if is_c else "client"), 1 if is_c else 2, since_ns)
            n.equal(f"{path}.resource", 1000 + number)
            n.equal(f"{path}.last_waker", facts["waker_id"])
            if is_c:
                n.equal(f"{path}.created_at.line", marker_line(source, "spawn"))
                n.equal(f"{path}.parent", facts["waker_id"])


def build_traced(source):
    include = os.path.join(TREE, "include")
    if source.endswith(".c"):
        library = os.path.join(os.path.dirname(os.path.abspath(os.environ["COROTRACER"])), "sdk", "c", "libcorotracer.a")
        return compiled("gcc", "-g", "-I", include, source, library, "-pthread", inputs=[library])
    return compiled("g++", "-std=c++20", "-fcoroutines", "-O0", "-g", "-I", include, source, "-pthread")


@test
def numbers_of_the_collector_are_those_of_the_program(dir):
    if not shutil.which("g++"):
        raise Skip("no g++ here")
    for source in TRACED + ".cpp", TRACED + ".c":
        program = build_traced(source)
        start, facts = time.monotonic_ns(), {}
        with subprocess.Popen([os.environ["COROTRACER"], "run", "-o", os.path.join(dir, "t.jsonl"), "--", "sh", "-c",
                               f'echo pid $$; exec "$0" {NR_TRACED}', program], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as process:
            for line in process.stdout:
                if line == "ready\n":
                    break
                facts[line.split()[0]] = int(line.split()[1])
            facts["collector"] = process.pid
            programs.wait_asleep(facts["pid"])
            n = Numbers("why", output_of("why", "--json", "-p", facts["pid"]))
            why_joins_what_the_collector_knows(n, facts, source, time.monotonic_ns() - start)
            os.kill(facts["pid"], 15)


RINGS = os.path.join(os.path.dirname(SOURCE), "rings.cpp")
TYPES = os.path.join(os.path.dirname(SOURCE), "rings.types")


@check
def why_counts_waiters_and_finds_holders(n, first_due_ms, wall_ms):
    for i, group in enumerate(n.output["groups"]):
        for k, waiters in enumerate(sorted((3, 2) if group["waits_for"]["kind"] == "event" else ())):
            objects = group["waits_for"]["objects"]
            order = sorted(range(len(objects)), key=lambda o: objects[o]["waiters"])
            n.equal(f"groups[{i}].waits_for.objects[{order[k]}].waiters", waiters)
        if group["waits_for"]["kind"] == "timer":
            n.within(f"groups[{i}].waits_for.due_in_ms", first_due_ms - wall_ms, first_due_ms)


@check
def why_names_the_thread_that_holds_a_mutex(n, holders):
    for i, thread in enumerate(n.output["threads"]):
        n.equal(f"threads[{i}].waits_for.holder", holders[thread["tid"]])


def started(program, what):
    process = subprocess.Popen([program, what], stdout=subprocess.PIPE, text=True)
    facts = {}
    for line in process.stdout:
        if line == "ready\n":
            break
        words = line.split()
        facts[words[0]] = int(words[1])
    programs.wait_asleep(process.pid)
    return process, facts


@test
def waiters_deadlines_and_holders_are_those_of_the_program(dir):
    if not shutil.which("g++"):
        raise Skip("no g++ here")
    program = compiled("g++", "-std=c++20", "-fcoroutines", "-O0", "-g", RINGS, "-pthread")
    start = time.monotonic_ns()
    process, _ = started(program, "kinds")
    with process:
        n = Numbers("why", output_of("why", "--json", "--types", TYPES, "-p", process.pid))
        why_counts_waiters_and_finds_holders(n, 3600000, (time.monotonic_ns() - start) // 1000000 + 1)
        process.kill()
    process, facts = started(program, "threads")
    with process:
        n = Numbers("why", output_of("why", "--json", "-p", process.pid))
        why_names_the_thread_that_holds_a_mutex(
            n, {facts["first"]: facts["second"], facts["second"]: facts["first"]})
        process.kill()


WAITING = os.path.join(TREE, "tests", "attach", "waiting_cpp.cpp")


@check
def report_lists_coroutines_that_did_not_run(n, stacks):
    equal(len(n.output["waiting"]), 1, "stacks")
    n.equal("waiting[0].count", 2 * stacks)
    n.equal("waiting[0].unmoved", 2 * stacks)
    n.equal("waiting[0].line", marker_line(WAITING, "inner"))


@test
def numbers_of_coroutines_that_did_not_run_are_those_of_the_program(dir):
    if not shutil.which("g++"):
        raise Skip("no g++ here")
    trace = os.path.join(dir, "waiting.jsonl")
    program = compiled("g++", "-std=c++20", "-O1", "-g", "-I", os.path.join(TREE, "include"), WAITING, "-pthread")
    # The looks are made with a low priority: on a loaded machine they take longer.
    for seconds in ("1", "6", "20", "20"):
        with subprocess.Popen([program, "6", "1"], stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            subprocess.run([os.environ["COROTRACER"], "run", "-q", "-p", str(process.pid), "--duration", seconds, "-o", trace],
                           check=True, timeout=300)
            process.kill()
        output = output_of("report", "--json", trace)
        if output.get("waiting") and all(w["unmoved"] is not None for w in output["waiting"]):
            break
    report_lists_coroutines_that_did_not_run(Numbers("report", output), 6)


if __name__ == "__main__":
    main()
