# SPDX-License-Identifier: MIT
"""test_fault_collect.py - collect, recover and mem ctl: calls of the tool fail; programs run on, and nothing is lost in silence."""
import select

from fault_runs import *

SAMPLE = 14


def explore(command):
    if not is_wanted(command.name):
        return
    wrong = command.explore()
    if wrong:
        raise AssertionError(f"{len(wrong)} faults:\n" + "\n".join(wrong[:100]))


# ---- collect -----------------------------------------------------------------------------------------------


class Collect(Command):
    """A program connects while the collector runs; then the collector is asked to end."""

    def outputs(self, p):
        if not select.select([p.stdout], [], [], LIMIT)[0]:
            raise subprocess.TimeoutExpired(self.args, LIMIT)
        line = p.stdout.readline().decode()
        if line.startswith("export "):
            env = dict(os.environ, **dict(word.split("=", 1) for word in line.split()[1:]))
            program = subprocess.run([TARGET, "events", "3", "40", "0"], env=env, capture_output=True, timeout=LIMIT, check=False)
            assert (program.returncode, program.stdout) == (0, b""), f"the program is changed: {program}"
            if p.poll() is None:
                p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=LIMIT)
        return line.split()[0].encode() if line else b"", err


def trace_facts(path):
    status, out, _ = tool("info", "--json", path)
    facts = json.loads(out) if out.startswith("{") else {}
    return status, {k: facts.get(k) for k in ("events", "coroutines", "lost", "complete", "garbage")}


@test
def collect(dir):
    run_of = Command(dir, "run", "run", "-q", "-o", "t.ct", "--", TARGET, "events", "3", "40", "0")
    run_of.pass_over()  # faults/live
    explore(Collect(dir, "collect", "collect", "-q", "-o", "t.ct", calls=ALL_CALLS, sample=SAMPLE,
                    same=lambda result: (result.out, trace_facts(os.path.join(dir, "out", "t.ct")))))


# ---- recover -----------------------------------------------------------------------------------------------


def left_region(dir):
    """The region of a collector that was killed, with its trace; the program has ended."""
    done, trace = os.path.join(dir, "done"), os.path.join(dir, "killed.jsonl")
    p = popen(TOOL, "run", "-q", "--buffer", "2M", "-o", trace, "--", "sh", "-c", f"{words(TARGET, 'events', 3, 40, 20)}; echo > {done}; exec sleep 1000",
              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: os.path.exists(done), "the program's end")
    os.kill(p.pid, signal.SIGSTOP)
    p.kill()
    p.wait(timeout=LIMIT)
    reap()
    regions = [r["region"] for r in json.loads(tool("recover", "--json")[1]) if r["collector_pid"] == p.pid]
    equal(len(regions), 1, "regions of the killed collector")
    return regions[0]


def copy_region(source, target):
    """A region has holes."""
    subprocess.run(["cp", "-a", "--sparse=always", source, target], check=True)


class Recover(Command):
    """Each run finds a copy of the region, in the place of the first one."""

    def __init__(self, dir, name, region, *args, **options):
        self.folder = os.path.dirname(region)
        self.saved = os.path.join(dir, "saved")
        if not os.path.exists(self.saved):
            copy_region(self.folder, self.saved)
        super().__init__(dir, name, "recover", *args, calls=ALL_CALLS, sample=SAMPLE // 2, **options)

    def fresh(self):
        super().fresh()
        shutil.rmtree(self.folder, ignore_errors=True)
        copy_region(self.saved, self.folder)

    def left_behind(self, shm):
        """Without the region, what is left of it is not found again."""
        is_region_there = os.path.exists(os.path.join(self.folder, "region"))
        return [n for n in super().left_behind(shm) if not (is_region_there and os.path.basename(self.folder) in n)]


def without_times(out):
    """What recover prints, without times: they are computed with another clock in each run."""
    return re.sub(rb'"(\w*_ns|\w*ts|age\w*|made)": ?[-\d.]+', b"", out)


@test
def recover(dir):
    if not IS_SHM_PRIVATE:
        raise Skip("no /dev/shm of its own")
    region = left_region(dir)
    rest = {"same": lambda result: (without_times(result.out), trace_facts(os.path.join(dir, "out", "r.jsonl")))}
    explore(Recover(dir, "recover", region, "--json", region, same=lambda result: without_times(result.out)))
    # Regions of other collectors come and go.
    explore(Recover(dir, "recover list", region, "--json", same=lambda result: result.out.count(region.encode())))
    explore(Recover(dir, "recover -o", region, "--json", "-o", "r.jsonl", region, **rest))
    explore(Recover(dir, "recover --join", region, "--json", "--join", "-o", "r.jsonl", region, **rest))
    explore(Recover(dir, "recover --remove", region, "--remove", region,
                    same=lambda result: os.path.exists(os.path.dirname(region))))
    shutil.rmtree(os.path.dirname(region), ignore_errors=True)


# ---- mem ctl -----------------------------------------------------------------------------------------------

SERVED = """
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char byte;

	printf("%d\\n", getpid());
	fflush(stdout);
	while (read(0, &byte, 1) == 1)
		;
	return 0;
}
"""


class Marks(Command):
    """Each run that succeeds has added one mark; one that fails, none or one."""

    nr_least = nr_most = 0

    def run(self, **settings):
        result = super().run(**settings)
        self.nr_least += result.status == 0
        self.nr_most += 1
        return result


@test
def mem_ctl(dir):
    source, app, trace = (os.path.join(dir, n) for n in ("app.c", "app", "t.trace"))
    with open(source, "w", encoding="ascii") as f:
        f.write(SERVED)
    status, _, err = tool("mem", "cc", "-O1", "-g", "-o", app, source)
    equal(status, 0, "status of mem cc: " + err)
    p = popen(TOOL, "mem", "run", "-q", "-o", trace, "--", app, stdin=subprocess.PIPE, env=dict(os.environ, CACHERAY_OPTIONS="control=1"))
    pid = int(p.stdout.readline())
    KEPT.update((p.pid, pid))
    try:
        marks = Marks(dir, "mem ctl mark", "mem", "ctl", pid, "mark", "here", calls=ALL_CALLS, sample=SAMPLE // 2)
        explore(marks)
        explore(Command(dir, "mem ctl stop", "mem", "ctl", pid, "stop", calls=ALL_CALLS, sample=SAMPLE // 4))
        explore(Command(dir, "mem ctl start", "mem", "ctl", "--for", "1", pid, "start", calls=ALL_CALLS, sample=SAMPLE // 4))
    finally:
        KEPT.clear()
        p.stdin.close()
        equal(p.wait(timeout=LIMIT), 0, "status of the program")
    found = json.loads(tool("mem", "check", "--json", trace)[1])
    assert found["sound"] and marks.nr_least <= found["marks"] <= marks.nr_most, f"{found['marks']} marks, not {marks.nr_least} to {marks.nr_most}"


if __name__ == "__main__":
    main()
