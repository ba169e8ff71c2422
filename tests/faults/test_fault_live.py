# SPDX-License-Identifier: MIT
"""test_fault_live.py - commands on running programs: calls of the tool fail, and the program runs on undisturbed."""
import urllib.request

from fault_runs import *


def trace_facts(dir, name):
    """What a trace says that is the same in every run."""
    path = os.path.join(dir, "out", name)
    if not os.path.exists(path):
        return None
    out = tool("info", "--json", path)[1]
    facts = json.loads(out) if out.startswith("{") else {}
    return {k: facts.get(k) for k in ("events", "coroutines", "lost", "complete", "garbage")}


class Live(Command):
    """The program's output and, if the command succeeds, the trace are those of a run without faults."""

    def judge(self, result, wanted, settings, shm):
        if result.out != wanted.out and not says_loss(result.err, wanted.err):
            return f"the program's output is {result.out!r} without a message, status {result.status}, stderr {result.err[-400:]!r}"
        return super().judge(result, wanted, settings, shm)


def explore_run(dir, name, *args, statuses=(0,), trace="t.jsonl"):
    wrong = Live(dir, name, *args, statuses=statuses, same=lambda result: (result.out, trace_facts(dir, trace))).explore()
    if wrong:
        raise AssertionError(f"{len(wrong)} faults:\n" + "\n".join(wrong[:100]))


@test
def run_in_every_form(dir):
    for trace in ("t.jsonl", "t.ctf", "t.ct"):
        explore_run(dir, f"run {trace}", "run", "-q", "-o", trace, "--", TARGET, "then-exit", "3", "40", "5", statuses=(5,), trace=trace)


@test
def mem_run(dir):
    source, app = os.path.join(dir, "app.c"), os.path.join(dir, "app")
    with open(source, "w", encoding="ascii") as f:
        f.write("int a[100]; int main(void) { int s = 0; for (int i = 0; i < 100; i++) s += a[i]; return s; }\n")
    status, _, err = tool("mem", "cc", "-O1", "-g", "-o", app, source)
    equal(status, 0, "status of mem cc: " + err)

    def facts(result):
        out = tool("mem", "check", "--json", os.path.join(dir, "out", "t.trace"))[1]
        found = json.loads(out) if out.startswith("{") else {}
        return result.out, found.get("accesses"), found.get("complete")
    wrong = Live(dir, "mem run", "mem", "run", "-q", "-o", "t.trace", "--", app, same=facts).explore()
    if wrong:
        raise AssertionError(f"{len(wrong)} faults:\n" + "\n".join(wrong[:100]))


def explore_watcher(dir, name, *args, statuses=(0,)):
    """What it prints differs from run to run: it must print something, or say why not."""
    wrong = Command(dir, name, *args, statuses=statuses, sample=60, same=lambda result: (bool(result.out), sorted(result.files))).explore()
    if wrong:
        raise AssertionError(f"{len(wrong)} faults:\n" + "\n".join(wrong[:100]))


@test
def commands_that_look_at_a_traced_program(dir):
    collector = popen(TOOL, "run", "-q", "--flight-recorder", "16M", "-o", os.path.join(dir, "f.ct"), "--", TARGET, "wait")
    equal(collector.stdout.readline(), "ready\n", "first words")
    program = int(subprocess.run(["pgrep", "-P", str(collector.pid), "-x", "target"], capture_output=True, text=True, check=True).stdout.split()[0])
    KEPT.update((collector.pid, program))
    try:
        explore_watcher(dir, "top", "top", "--once", "-p", program)
        explore_watcher(dir, "snapshot", "snapshot", "--json", "-p", program, "-o", "s.ct")
        explore_watcher(dir, "why", "why", "--json", "-p", program, statuses=(0, 1))
        equal(collector.poll(), None, "the collector's end")
    finally:
        KEPT.clear()
        os.kill(program, signal.SIGKILL)
        collector.communicate(timeout=LIMIT)


@test
def commands_that_look_at_frames(dir):
    program = popen(os.environ["FRAMES_PROGRAM"], "1", "1000000")
    equal(program.stdout.readline(), "ready\n", "first words")
    KEPT.add(program.pid)
    try:
        explore_watcher(dir, "query -p", "query", "-p", program.pid, "--json")
        explore_watcher(dir, "attach", "attach", "-q", "-p", program.pid, "--count", "20", "-o", "r.ppt")
        explore_watcher(dir, "monitor", "monitor", "-p", program.pid, "--count", "20", "--json")
        equal(program.poll(), None, "the program's end")
    finally:
        KEPT.clear()
        program.kill()
        program.communicate(timeout=LIMIT)


def served(p):
    """One page of a server, or None if it ended."""
    line = p.stdout.readline()
    if "http://" not in line:
        return None
    address = line[line.index("http://"):].split()[0]
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.status
    except OSError:
        return "refused"


@test
def serve_answers_or_says_why_not(dir):
    trace = os.path.join(dir, "t.jsonl")
    equal(tool("run", "-q", "-o", trace, "--", TARGET, "events", 3, 30, 0)[0], 0, "status of run")
    command = Command(dir, "serve", "serve", trace)
    for call, nth in (("accept", 1), ("malloc", 3), ("malloc", 60), ("malloc", 200), ("thread", 1), ("mmap", 1), ("open", 2), ("read", 1)):
        command.fresh()
        p = popen(TOOL, *command.args, env=command.environment({"FAULT_CALL": call, "FAULT_NTH": str(nth)}))
        got = served(p)
        if p.poll() is None and got is not None:
            p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=LIMIT)
        what = f"serve with {call} {nth}: page {got}, status {p.returncode}, stderr {err[-500:]!r}"
        assert p.returncode >= 0, what
        assert got is not None or err.strip(), what


@test
def serve_says_that_it_cannot_ask_the_collector(dir):
    """Without memory for the question, the page of a trace that grows looks as if there were no collector."""
    trace, log = os.path.join(dir, "t.jsonl"), os.path.join(dir, "log")
    collector = popen(TOOL, "run", "-q", "-o", trace, "--", TARGET, "wait")
    equal(collector.stdout.readline(), "ready\n", "first words")
    command, sites = Command(dir, "serve a growing trace", "serve", "-q", trace), {}

    def warned():
        with open(log, encoding="utf-8") as f:
            return "cannot ask the collector" in f.read()

    def asked():
        """The call stacks of malloc() in the thread that asks, if it has got as far as that."""
        with open(os.path.join(dir, "state"), "rb") as f:
            stacks = read_stacks(f.read(STATE_SIZE))
        names = {s: " ".join(place_of(frame) for frame in s.frames) for s in stacks if s.call == "malloc"}
        return any("watch_ask" in n for n in names.values()) and [s for s, n in names.items() if "watch_run" in n]

    def serve(condition, **settings):
        command.fresh()
        with open(log, "w", encoding="utf-8") as f:
            p = popen(TOOL, *command.args, env=command.environment(settings), stderr=f)
        equal(served(p), 200, "page")
        what = " < ".join(place_of(frame) for frame in sites.get(settings.get("FAULT_STACK"), ()))
        got = wait_until(condition, f"{condition.__name__} with {settings}: {what}")
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=LIMIT)
        equal(p.returncode, 0, f"status of serve with {settings}")
        return got

    try:
        stacks = serve(asked, FAULT_NOTE="1")
        assert not warned(), "a warning without a fault"
        sites.update({str(stack.id): stack.frames for stack in {s.frames[0]: s for s in stacks}.values()})
        assert sites, "no calls were noted"
        for number in sites if FULL else list(sites)[:2]:
            serve(warned, FAULT_CALL="malloc", FAULT_STACK=number, FAULT_KIND="every")
    finally:
        collector.send_signal(signal.SIGINT)
        collector.communicate(timeout=LIMIT)


if __name__ == "__main__":
    main()
