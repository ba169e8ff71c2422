#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_process.py - fork, exec, exit, crash: each process has its trace, with all that was recorded."""
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import time

from rt import CLEAN, FULL, TOOL, alone, check, collected, compile, contains, each_family, equal, left_behind, live_file
from rt import Skip, filter_calls, main, sizes, wait_until

N = 1000


def writes(trace, **kwargs):
    return sizes(check(trace, **kwargs)).get(2, (0, 0))[1]


@each_family
def a_child_of_fork_has_a_trace_of_its_own(dir, cc, _cxx):
    program = compile(dir, "ways.c", cc)
    alone(program, "fork", trace=os.path.join(dir, f"{cc}-%p"))
    traces = glob.glob(os.path.join(dir, f"{cc}-[0-9]*"))
    equal(sorted(writes(t) for t in traces), [N, 2 * N], "writes of child and parent")
    # Without a %p the trace of the child has its pid after the name.
    trace = os.path.join(dir, f"{cc}.trace")
    alone(program, "fork", trace=trace)
    equal(writes(trace), 2 * N, "writes of the parent")
    children = glob.glob(trace + ".*")
    equal([writes(t) for t in children], [N], "writes of the child")
    collected(program, "fork", trace=os.path.join(dir, f"{cc}.run"))
    equal(writes(os.path.join(dir, f"{cc}.run")), 2 * N, "writes of the parent, collected")
    equal([writes(t) for t in glob.glob(os.path.join(dir, f"{cc}.run.*"))], [N], "of the child, collected")


@each_family
def a_child_that_nobody_hears_of_leaves_its_parents_trace_alone(dir, cc, _cxx):
    program = compile(dir, "ways.c", cc)
    for under in ("alone", "collected"):
        trace = os.path.join(dir, f"{cc}-{under}")
        alone(program, "clone", trace=trace) if under == "alone" else collected(program, "clone", trace=trace)
        equal(writes(trace), N, f"writes of the parent, {under}")
        trace += "-v"
        alone(program, "vfork", trace=trace) if under == "alone" else collected(program, "vfork", trace=trace)
        equal(writes(trace), N, f"writes after vfork, {under}")


@each_family
def _exit_and_exec_complete_the_trace(dir, cc, _cxx):
    program = compile(dir, "ways.c", cc)
    trace = os.path.join(dir, f"{cc}.trace")
    alone(program, "_exit", trace=trace, status=3)
    equal(writes(trace), N, "writes before _exit")
    alone(program, "execvp", "true", trace=trace)
    equal(writes(trace), N, "writes before execvp")
    alone(program, "execvp", "no-such-program", trace=trace)
    equal(writes(trace), N, "writes before an execvp that fails")
    alone(program, "exec-fails", trace=trace)
    equal(writes(trace), 2 * N, "writes before and after an exec that fails")
    # The new program is traced as well: it has the same pid, and must not overwrite the trace.
    alone(program, "exec", trace=trace)
    equal(writes(trace), N, "writes before exec")
    equal(writes(trace + ".1"), N, "writes after exec")
    collected(program, "exec", trace=os.path.join(dir, f"{cc}.run"))
    runs = glob.glob(os.path.join(dir, f"{cc}.run*"))
    equal(sorted(writes(t) for t in runs), [N, N], "writes before and after exec, collected")


@each_family
def a_library_that_is_not_instrumented_is_named(dir, cc, _cxx):
    place = os.path.join(dir, f"libraries-{cc}")
    os.mkdir(place)
    for name in ("seen", "unseen"):
        with open(f"{place}/{name}.c", "w", encoding="ascii") as f:
            f.write(f"int {name}_cell;\nvoid {name}(void);\nvoid {name}(void) {{ {name}_cell++; }}\n")
    with open(f"{place}/main.c", "w", encoding="ascii") as f:
        f.write("void seen(void);\nvoid unseen(void);\nint main(void) { seen(); unseen(); return 0; }\n")
    traced = [TOOL, "mem", "cc", f"--compiler={cc}"]
    for command in ([*traced, "-shared", "-fPIC", "seen.c", "-o", "libseen.so"], [cc, "-shared", "-fPIC", "unseen.c", "-o", "libunseen.so"],
                    [*traced, "main.c", "-o", "main", "-L.", "-lseen", "-lunseen", f"-Wl,-rpath,{place}"]):
        p = subprocess.run(command, cwd=place, env=CLEAN, capture_output=True, text=True)
        equal(p.returncode, 0, p.stderr)
    trace = place + "/trace"
    p = subprocess.run([TOOL, "mem", "run", "-o", trace, "--", place + "/main"], capture_output=True, text=True, env=CLEAN)
    equal((p.returncode, p.stderr.count("is not instrumented")), (0, 1), f"status and libraries named: {p.stderr}")
    contains(p.stderr, "libunseen.so is not instrumented: its accesses are missing")
    told = json.loads(subprocess.run([TOOL, "mem", "stat", "--json", trace], capture_output=True, text=True, check=True).stdout)
    equal(told["not_instrumented"], [place + "/libunseen.so"], "libraries, in JSON")


def is_locked(path):
    """By any process; looked up in the kernel's list, since to try would disturb it."""
    if not os.path.exists(path):
        return False
    with open("/proc/locks", encoding="ascii") as f:
        return any(line.split()[5].endswith(f":{os.stat(path).st_ino}") for line in f if "->" not in line)


@each_family
def two_programs_in_one_folder_have_a_trace_each(dir, cc, _cxx):
    sleeper, other = compile(dir, "storm.c", cc), compile(dir, "threads.c", cc)
    place = os.path.join(dir, f"two-{cc}")
    os.mkdir(place)
    first = subprocess.Popen([sleeper, "300"], cwd=place, env=CLEAN, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: is_locked(place + "/cacheray.trace"), "the trace of the first")
    first.send_signal(signal.SIGSTOP)  # it lives as long as the second
    second = subprocess.Popen([other, "2", "1000"], cwd=place, env=CLEAN, stderr=subprocess.PIPE, text=True)
    _, err = second.communicate(timeout=300)
    first.send_signal(signal.SIGCONT)
    equal(second.returncode, 0, err)
    if first.poll() is not None:
        raise Skip("the machine is too slow for two at a time")
    contains(err, f"this one is 'cacheray.trace.{second.pid}'")
    equal(sizes(check(f"{place}/cacheray.trace.{second.pid}"))[4][1], 2000, "writes of the second")
    mine = int(first.communicate(timeout=300)[0].split()[0])
    equal(sizes(check(place + "/cacheray.trace"))[4][1], mine, "writes of the first")
    # One after the other: the earlier trace is kept.
    p = subprocess.run([other, "2", "1000"], cwd=place, env=CLEAN, capture_output=True, text=True, check=True)
    equal(p.stderr, "", "messages")
    equal(sizes(check(place + "/cacheray.trace"))[4][1], 2000, "writes of the last")
    equal(sizes(check(place + "/cacheray.trace.old"))[4][1], mine, "writes of the one before")


@each_family
def an_exit_completes_the_trace_while_other_threads_ask_for_it_too(dir, cc, _cxx):
    program = compile(dir, "ways.c", cc)
    for i in range(200 if FULL else 10):
        trace = os.path.join(dir, f"{cc}-{i}.trace")
        alone(program, "exec-storm", trace=trace)
        equal(writes(trace), N, f"writes before the exit, run {i}")


NUMBERS = """#include <fcntl.h>
#include <stdio.h>
short table[1000];
int main(void)
{
	int in = open("/dev/null", O_RDONLY), out = open("/dev/null", O_WRONLY);

	for (int i = 0; i < 1000; i++)
		table[i] = (short)i;
	for (int i = 0; i < 1000; i++)
		printf("not into the trace\\n");
	return in * 10 + out;
}
"""


@each_family
def descriptors_have_the_numbers_that_they_have_without_a_trace(dir, cc, _cxx):
    """Without standard input and output, the program's first files take their places, not the trace."""
    source, trace = os.path.join(dir, "numbers.c"), os.path.join(dir, f"{cc}.numbers")
    with open(source, "w", encoding="utf-8") as f:
        f.write(NUMBERS)
    program = compile(dir, "numbers.c", cc, source=source, out=f"numbers-{cc}")
    alone(program, trace=trace, status=1, preexec_fn=lambda: (os.close(0), os.close(1)))
    equal(writes(trace), N, "writes")


def deny_membarrier():
    """membarrier(2) fails with EPERM from here on, as in a program with a strict seccomp filter."""
    number = {"x86_64": 324, "aarch64": 283}[os.uname().machine]
    code = ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000))
    filter_calls(code)


@each_family
def a_program_that_may_not_call_membarrier_is_traced(dir, cc, _cxx):
    """Threads still run when it ends: their open chunks are taken, or counted as lost."""
    program = compile(dir, "ways.c", cc)
    trace = os.path.join(dir, f"{cc}.trace")
    alone(program, "exec-storm", trace=trace, preexec_fn=deny_membarrier)
    if os.uname().machine == "x86_64":
        equal(writes(trace), N, "writes before the exit")
    else:
        check(trace, sound=None)


@each_family
def a_crash_or_a_kill_loses_nothing_under_a_collector(dir, cc, _cxx):
    program = compile(dir, "ways.c", cc)
    for how, sig in (("crash", signal.SIGSEGV), ("kill", signal.SIGKILL)):
        trace = os.path.join(dir, f"{cc}-{how}")
        collected(program, how, trace=trace, status=-sig)
        equal(writes(trace), N, f"writes before {how}")


@each_family
def a_kill_without_a_collector_leaves_what_can_be_recovered(dir, cc, _cxx):
    program = compile(dir, "ways.c", cc)
    trace = os.path.join(dir, f"{cc}.trace")
    alone(program, "kill", trace=trace, status=-signal.SIGKILL)
    region = live_file(trace)
    equal(region in left_behind(), True, "the region is left behind")
    try:
        # The trace says that it is cut short, and its content is readable.
        check(trace, sound=False)
        r = subprocess.run([TOOL, "mem", "recover", trace], capture_output=True, text=True)
        equal(r.returncode, 0, f"status of mem recover ({r.stderr})")
        equal(writes(trace), N, "writes before SIGKILL, recovered")
        equal(region in left_behind(), False, "the region is left behind after recovering")
    finally:
        if os.path.exists(region):
            os.unlink(region)


@each_family
def what_is_recovered_joins_what_was_written(dir, cc, _cxx):
    program = compile(dir, "ways.c", cc)
    trace = os.path.join(dir, f"{cc}.trace")
    env = dict(CLEAN, CACHERAY_OPTIONS=f"tracefile={trace}")
    recovered = 0
    # A few times, and more often if the ring was always empty.
    least = 4 if FULL else 2
    for i, wait in enumerate((0, 0.02, 0.05, 0.1) * 5):
        if i >= least and recovered:
            break
        run = subprocess.Popen([program, "flood"], stdout=subprocess.PIPE, text=True, env=env)
        equal(run.stdout.readline(), "ready\n", "what the program says")
        time.sleep(wait)
        run.kill()
        run.wait()
        run.stdout.close()
        region = live_file(trace)
        r = subprocess.run([TOOL, "mem", "recover", "--json", trace], capture_output=True, text=True)
        if os.path.exists(region):
            os.unlink(region)
        equal(r.returncode, 0, f"status of mem recover ({r.stderr})")
        told = json.loads(r.stdout)
        c = check(trace)
        equal(c["accesses"], told["before"] + told["recovered"], "accesses")
        recovered += told["recovered"]  # may be 0: killed while the ring was empty
        # 1000 consecutive addresses, again and again: nothing twice, nothing missing.
        raw = trace + ".raw"
        subprocess.run([TOOL, "mem", "convert", "-q", "--format", "raw", "-o", raw, trace], check=True)
        with open(raw, "rb") as f:
            addresses = [a for tag, a, size, _ in struct.iter_unpack("<BQBQ", f.read()) if tag == 1 and size == 2]
        steps = {b - a for a, b in zip(addresses, addresses[1:])}
        equal(steps <= {2, -1998}, True, f"steps {steps}")
        os.unlink(raw)
    equal(recovered > 0, True, "recovered in any of them")


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def regions_of(pid):
    """The directories of the regions that a process has mapped."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        files = {line.split()[5] for line in f if "/dev/shm/" in line}
    return {os.path.dirname(f) for f in files if os.path.dirname(f) != "/dev/shm"}


@each_family
def a_killed_collector_does_not_hurt_the_program(dir, cc, _cxx):
    program = compile(dir, "ways.c", cc)
    trace = os.path.join(dir, f"{cc}.trace")
    run = subprocess.Popen([TOOL, "mem", "run", "-o", trace, "--", program, "flood"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, env=CLEAN)
    equal(run.stdout.readline(), "ready\n", "what the program says")
    found = subprocess.run(["pgrep", "-f", f"^{program} flood"], capture_output=True, text=True).stdout.split()
    equal(len(found), 1, f"programs: {found}")
    child = int(found[0])
    regions = regions_of(child)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    try:
        # It continues: a full buffer blocked it for a moment, and then it uses the CPU again.
        start = cpu_ticks(child)
        wait_until(lambda: cpu_ticks(child) > start + 20, "the program goes on without its collector")
        r = subprocess.run([TOOL, "mem", "recover", trace], capture_output=True, text=True)
        equal(r.returncode, 1, "status of mem recover while the program runs")
        contains(r.stderr, "still runs")
        os.kill(child, signal.SIGKILL)
        wait_until(lambda: not os.path.exists(f"/proc/{child}/maps") or not regions_of(child), "the end of the program")
        r = subprocess.run([TOOL, "recover"], capture_output=True, text=True)
        contains(r.stderr, f"hint: corotracer mem recover {os.path.realpath(trace)}\n")
        # What was in the rings, a full ring at least, is in no trace yet.
        r = subprocess.run([TOOL, "mem", "recover", "--json", trace], capture_output=True, text=True)
        equal(r.returncode, 0, f"status of mem recover ({r.stderr})")
        told = json.loads(r.stdout)
        equal(told["recovered"] > 100000, True, f"recovered: {told}")
        c = check(trace)
        equal(c["accesses"], told["before"] + told["recovered"], "accesses")
        equal([d for d in regions if os.path.exists(d)], [], "regions that are left")
    finally:
        if os.path.exists(f"/proc/{child}"):
            os.kill(child, signal.SIGKILL)
        run.stdout.close()
        for region in regions:
            shutil.rmtree(region, ignore_errors=True)


@each_family
def a_full_disk_is_said_and_the_program_goes_on(dir, cc, _cxx):
    program = compile(dir, "threads.c", cc)
    r = alone(program, 2, 100000, trace="/dev/full")
    contains(r.stderr, "No space left on device")
    contains(r.stderr, "goes on")


@each_family
def a_library_that_is_loaded_is_traced_too(dir, cc, _cxx):
    host = compile(dir, "host.c", cc)
    for late in (False, True):
        # Linked with the shared runtime; the host has the static one, which both then use.
        library = compile(dir, "plugin.c", cc, "-O1", "-fPIC", "-shared", out=f"plugin-{cc}.so")
        trace = os.path.join(dir, f"{cc}-{late}")
        r = alone(host, library, trace=trace) if late else collected(host, library, trace=trace)
        c = check(trace)
        got = sizes(c)
        equal(got[8][1] >= 500, True, f"writes of the library: {got} {r.stderr}")
        equal(got[64][0] >= 62, True, f"its memcpy: {got}")
        equal(any(m.endswith(f"plugin-{cc}.so") for m in c["modules"]), True, f"modules: {c['modules']}")


if __name__ == "__main__":
    main()
