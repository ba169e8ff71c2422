# SPDX-License-Identifier: MIT
"""test_commands.py - every command of README.md and docs/ runs, in the folder that a reader would have.

A command is a line that begins with `corotracer` (or `$ corotracer`) in a code block.  The folder has the programs and traces
that the pages speak of; PID is a running server.  A command that runs until Ctrl-C gets a Ctrl-C.
"""
import glob
import re
import shlex
import shutil
import signal
import subprocess

from harness import *

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.abspath(TOOL))

# Not run here, and why.
ELSEWHERE = [
    (r"export (postgresql|mysql)\b", "needs a server: tests/export starts real ones"),
    (r"(nats|clickhouse)://|^corotracer fleet|file:|--metrics", "needs a server: tests/fleet and tests/signals start real ones"),
    (r"\| ssh \.\.\.", "another machine"),
    (r"corotracer-Ab12Cd", "memory of a killed collector: tests/cli/test_recover.py"),
    (r"^corotracer (why|export schema|query) .*(\[| SQL$)|CORE", "a form, not a command: its examples run"),
    (r"\bcore\.4711\b", "a core file: tests/inspect"),
    (r"run --frames -p", "a program with frames and the SDK: tests/frames/live/test_run.py"),
    (r"--config machine\.json|--dwarf app\.dwarf\.json|make CC=|-- target/", "the reader's own file"),
    (r"-m corotracer", "needs the package for Python: tests/python"),
    (r"mem ctl .*pidof app", "a program that runs: tests/memory-rt/test_memory_control.py"),
]
UNTIL_CTRL_C = re.compile(r"^corotracer (attach (?!.*--duration)|monitor|run .*-p (?!.*--duration)|run --serve|run --frames -p|why .*--sample|top|serve|run --flight)")
# Exit statuses other than 0 that the page promises.
GATES = re.compile(r"--fail-on|--check|--hang|^corotracer recover$")

APP = """#include <stdlib.h>
struct node { struct node *next; long value; char name[48]; };
int main(void)
{
	struct node *nodes = calloc(1000, sizeof(*nodes)), *n;
	long sum = 0;

	for (int i = 0; i < 1000; i++)
		nodes[i].next = &nodes[(i + 389) % 1000];
	n = nodes;
	for (int i = 0; i < 20000; i++, n = n->next)
		sum += n->value++;
	return sum < 0;
}
"""


def commands_of(path):
    """(line number, command) of the page."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif (fenced or line.startswith("    ")) and re.match(r"\s*(\$ )?corotracer [a-z-]", line):
            command = re.sub(r"^\s*(\$ )?", "", line)
            yield number, re.sub(r"\s{2,}#.*$|\s{3,}[a-z].*$", "", command)


def pages():
    return [ROOT + "/README.md", *sorted(glob.glob(ROOT + "/docs/*.md"))]


class World:
    """The folder of a reader who has followed the pages so far."""

    def __init__(self, dir):
        self.dir = dir
        os.mkdir(dir + "/bin")
        os.symlink(os.path.abspath(TOOL), dir + "/bin/corotracer")
        self.env = dict(os.environ, PATH=dir + "/bin:" + os.environ["PATH"], HOME=dir)
        os.symlink(ROOT + "/examples", dir + "/examples")
        for name in ("app", "test", "program", "your_program", "server"):
            shutil.copy(BUILD + "/examples/c/channels", f"{dir}/{name}")
        shutil.copy(ROOT + "/examples/frames/server.spec", dir)
        with open(dir + "/app.c", "w", encoding="utf-8") as f:
            f.write(APP)
        self.redis = self.start(BUILD + "/examples/cpp/mini-redis", "--port", "0")
        self.collector, self.collects = None, None
        self.frames = self.start(BUILD + "/examples/frames/server", "300")
        self.make_traces()

    def start(self, *words):
        return popen(*words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

    def collect(self, *options):
        """One collector at a time, which `top`, `query -p` and `snapshot` then find."""
        if self.collects == options:
            return self.collector.pid
        self.stop_collector()
        self.collects = options
        self.collector = self.start(TOOL, "run", "-q", *options, "--", BUILD + "/examples/cpp/mini-redis", "--port", "0")
        assert self.collector.stdout.readline(), "the server did not start"
        return self.collector.pid

    def stop_collector(self):
        """A killed one would leave its memory behind."""
        if self.collector:
            self.collector.send_signal(signal.SIGTERM)
            self.collector.wait(60)

    def make_traces(self):
        self.call("run", "-q", "-o", "trace.jsonl", "--", "./app")
        self.call("run", "-q", "-o", "b.ct", "--", "./app")
        for kind in ("ct", "ctf"):
            self.call("export", "-q", kind, "-i", "trace.jsonl", "-o", "trace." + kind)
        for name in ("a", "base", "head"):
            shutil.copy(self.dir + "/trace.ct", f"{self.dir}/{name}.ct")
        for name in ("base", "head", *(f"{side}{n}" for side in ("base", "head") for n in (1, 2, 3))):
            for suffix in (".jsonl", ".jsonl.meta"):
                shutil.copy(f"{self.dir}/trace{suffix}", f"{self.dir}/{name}{suffix}")
        self.call("attach", "-q", "-p", self.frames.pid, "-b", "Server", "-o", "server.ppt", "--duration", "0.3")
        self.call("mem", "cc", "-O2", "-g", "-o", "memory_app", "app.c")
        self.call("run", "-q", "--mem", "-o", "app.jsonl", "--", "./memory_app")
        self.call("mem", "run", "-q", "-o", "app.trace", "--", "./memory_app")
        shutil.copy(self.dir + "/app.trace", self.dir + "/old.trace")

    def call(self, *words):
        p = subprocess.run([TOOL, *map(str, words)], cwd=self.dir, env=self.env, capture_output=True, text=True, timeout=300, check=False)
        equal(p.returncode, 0, f"status of {words}: {p.stderr}")

    def pid_for(self, command):
        if re.search(r"--frames|^corotracer (attach|monitor)|^corotracer query -p \w+$", command):
            return self.frames.pid
        if re.search(r"^corotracer (top|query)", command):
            return self.collect("-o", self.dir + "/live.ct")
        return self.redis.pid

    def fill(self, command):
        # The only collector for a reader; here other tests may have theirs.
        if command == "corotracer snapshot":
            command += f" -p {self.collect('--flight-recorder', '1M', '-o', self.dir + '/flight.jsonl')}"
        if command in ("corotracer top", "corotracer top --json"):
            command += f" -p {self.collect('-o', self.dir + '/live.ct')}"
        command = re.sub("--duration [123]0", "--duration 1", command)
        # Fewer steps than on the page, whose numbers are those of a long run.
        command = command.replace("./particles 20000 10", "./particles 2000 2")
        command = re.sub(r"\b(PID|25232)\b", str(self.pid_for(command)), command)
        command = re.sub(r"-b NAME\b", "-b Server", command)
        if "decode" in command or "export" in command:
            command = command.replace(" FILE", " server.ppt")
        command = re.sub(r"\bFILE$", "out.ppt", command)
        command = command.replace(" TRACE", " trace.ct")
        if re.search(r"--frames\b.*-- \./server", command):
            command = command.replace("./server", "./frames_server 1")
        return f"script -qec {shlex.quote(command)} /dev/null" if re.match(r"corotracer top(?! --json)", command) else command


def why_not(command):
    return next((why for pattern, why in ELSEWHERE if re.search(pattern, command)), None)


def run_one(world, command):
    """None, or what is wrong."""
    filled = world.fill(command)
    # The server with frames takes a third of a processor, and few commands look at it.
    world.frames.send_signal(signal.SIGCONT if str(world.frames.pid) in filled else signal.SIGSTOP)
    ends = UNTIL_CTRL_C.search(command)
    words = ["timeout", "--preserve-status", "-s", "INT", "1" if ends else "60", "bash", "-c", "exec " + filled if "|" not in filled else filled]
    p = subprocess.run(words, cwd=world.dir, env=world.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=300, check=False)
    allowed = (0, 1) if GATES.search(command) else (0, 130) if ends else (0,)
    return None if p.returncode in allowed else f"{filled}: status {p.returncode}\n{p.stdout[-400:]}{p.stderr[-600:]}"


@test
def every_command_of_the_pages_runs(dir):
    world = World(dir)
    os.symlink(BUILD + "/examples/frames/server", dir + "/frames_server")
    faults, seen = [], {}
    for page in pages():
        for number, command in commands_of(page):
            if why_not(command):
                continue
            if command not in seen:
                seen[command] = run_one(world, command)
            if seen[command]:
                faults.append(f"{os.path.basename(page)}:{number}: {seen[command]}")
    world.stop_collector()
    assert len(seen) > 60, "the commands of the pages were not found"
    assert not faults, "\n".join(faults)


if __name__ == "__main__":
    main()
