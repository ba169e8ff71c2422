# SPDX-License-Identifier: MIT
"""test_signals.py - a signal to the tool reaches the program exactly once."""
import fcntl
import pty
import select
import termios

from harness import *


def start(dir, **kwargs):
    p = popen(TOOL, "run", "--json", "-o", dir + "/t", "--", TARGET, "signals", dir + "/heard", **kwargs)
    pid = int(p.stdout.readline().split()[1])
    return p, pid


def heard(dir, nr):
    """Wait for nr signals, and 0.3 s longer: one signal too many would show."""
    wait_until(lambda: os.path.getsize(dir + "/heard") >= nr, f"{nr} signals")
    time.sleep(0.3)


def finish(p, pid):
    os.kill(pid, signal.SIGUSR2)
    out, err = p.communicate(timeout=300)
    equal(p.returncode, 7, "the program's exit status")
    equal(json.loads(err.splitlines()[-1])["collected"], 1, "the trace is finished: events")
    return out.strip()


@test
def a_signal_to_the_tool_alone_is_passed_on_once(dir):
    p, pid = start(dir)
    p.send_signal(signal.SIGINT)
    heard(dir, 1)
    p.send_signal(signal.SIGTERM)
    heard(dir, 2)
    equal(finish(p, pid), "int 1 term 1", "signals that the program got")


@test
def a_signal_to_the_whole_group_arrives_once(dir):
    p, pid = start(dir, start_new_session=True)
    os.killpg(p.pid, signal.SIGINT)
    heard(dir, 1)
    os.killpg(p.pid, signal.SIGINT)
    heard(dir, 2)
    os.killpg(p.pid, signal.SIGTERM)
    heard(dir, 3)
    equal(finish(p, pid), "int 2 term 1", "signals that the program got")


@test
def a_signal_to_the_whole_group_arrives_once_on_a_busy_machine(dir):
    """The child that notes the signals of the group gets no processor for a while."""
    p, pid = start(dir, start_new_session=True)
    with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
        children = [int(word) for word in f.read().split()]
    witness, = [child for child in children if child != pid]
    os.kill(witness, signal.SIGSTOP)
    os.killpg(p.pid, signal.SIGINT)
    heard(dir, 1)
    os.kill(witness, signal.SIGCONT)
    p.send_signal(signal.SIGTERM)
    heard(dir, 2)
    equal(finish(p, pid), "int 1 term 1", "signals that the program got")


def later_one_arrives(dir, pause):
    """False: it became one with the signal before it, which the tool had not handled @pause seconds later."""
    dir = f"{dir}/{pause}"
    os.mkdir(dir)
    p, pid = start(dir, start_new_session=True)
    os.killpg(p.pid, signal.SIGINT)
    heard(dir, 1)
    time.sleep(pause)
    p.send_signal(signal.SIGINT)
    until = time.monotonic() + 5 + pause
    while os.path.getsize(dir + "/heard") < 2 and time.monotonic() < until:
        time.sleep(0.01)
    return finish(p, pid) == "int 2 term 0"


@test
def a_group_signal_does_not_swallow_a_later_one_to_the_tool(dir):
    """On a busy machine the tool may take seconds to handle the first one."""
    assert any(later_one_arrives(dir, pause) for pause in (0, 1, 4, 15)), "it never arrived"


@test
def ctrl_c_at_a_terminal_arrives_once(dir):
    main_fd, terminal = pty.openpty()

    def own_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    p, pid = start(dir, stdin=terminal, preexec_fn=own_terminal)
    os.write(main_fd, b"\x03")
    heard(dir, 1)
    os.write(main_fd, b"\x03")
    heard(dir, 2)
    equal(finish(p, pid), "int 2 term 0", "signals that the program got")
    os.close(terminal)
    os.close(main_fd)


@test
def timeout_ends_the_program_and_the_trace_is_whole(dir):
    """SIGALRM is what timeout(1) gets when its time is over: here, as soon as there is an event."""
    p = popen("timeout", "--signal=TERM", "600", TOOL, "run", "--json", "-o", dir + "/t", "--", TARGET, "wait")
    wait_until(lambda: os.path.exists(dir + "/t") and os.path.getsize(dir + "/t"), "the event")
    p.send_signal(signal.SIGALRM)
    _, err = p.communicate(timeout=300)
    s = json.loads(err.splitlines()[-1])
    equal((s["signal"], s["collected"]), (signal.SIGTERM, 1), "signal, collected")


@test
def a_signal_that_ends_the_program_ends_the_tool(dir):
    for sig in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
        p = popen(TOOL, "run", "--json", "-o", dir + "/t", "--", "sh", "-c", f"kill -{int(sig)} $$")
        _, err = p.communicate(timeout=300)
        equal(p.returncode, -sig, "status")
        equal(json.loads(err.splitlines()[-1])["signal"], sig, "signal")


@test
def the_programs_signal_mask_and_handlers_are_those_without_us(dir):
    show = ["grep", "-E", "^Sig(Blk|Ign|Cgt):", "/proc/self/status"]
    alone = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    _, out, _ = tool("run", "-o", dir + "/t", "--", *show)
    equal(out, alone, "masks")


@test
def a_tool_killed_in_mid_run_leaves_the_program_unharmed(dir):
    for pause in (0, 100, 3000):
        done = dir + "/done"
        started = f"{dir}/started-{pause}"
        p = popen(TOOL, "run", "-o", dir + "/t", "--", "sh", "-c",
                  f"echo > {started}; {words(TARGET)} events 4 {300000 if not pause else 1000 * 1000 // pause // 4} {pause}; echo $? > {done}")
        wait_until(lambda: os.path.exists(started), "the program")
        time.sleep(0.2)
        p.kill()
        p.wait()
        wait_until(lambda: os.path.exists(done) and os.path.getsize(done), "the program's end")
        with open(done, encoding="ascii") as f:
            equal(f.read(), "0\n", "the program's exit status")
        os.unlink(done)
        p.stdout.close()
        p.stderr.close()
        sweep(p)
    # The kernel may have cut the last write short; everything before it is whole.
    lines = open(dir + "/t", encoding="ascii").readlines()
    equal([line for line in lines[:-1] if not line.endswith("}\n")], [], "cut lines")


@test
def a_group_signal_arrives_once_even_when_the_tool_is_late(dir):
    p, pid = start(dir, start_new_session=True)
    p.send_signal(signal.SIGSTOP)
    os.killpg(p.pid, signal.SIGINT)
    time.sleep(0.3)
    p.send_signal(signal.SIGCONT)
    heard(dir, 1)
    equal(finish(p, pid), "int 1 term 0", "signals that the program got")


@test
def an_inherited_ignored_sigchld_does_not_hang_the_tool(dir):
    p = popen(TOOL, "run", "--json", "-o", dir + "/t", "--", TARGET, "events", 1, 3, 0,
              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    _, err = p.communicate(timeout=300)
    equal((p.returncode, json.loads(err.splitlines()[-1])["collected"]), (0, 3), "status, collected")


@test
def collecting_under_nohup_goes_on_after_a_hangup(dir):
    p = popen(TOOL, "collect", "--json", "-o", dir + "/t",
              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    p.stdout.readline()
    p.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    equal(p.poll(), None, "still there")
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=300)
    equal(p.returncode, 0, "status")


@test
def a_reader_that_does_not_read_cannot_keep_the_tool(dir):
    reader, writer = os.pipe()
    p = popen(TOOL, "run", "--json", "-o", "-", "--", TARGET, "events", 100, 400, 50, stdout=writer)
    wait_until(lambda: not select.select([], [writer], [], 0)[1], "a full pipe")
    p.send_signal(signal.SIGTERM)
    wait_until(lambda: p.poll() is not None, "the tool's end")
    s = json.loads(p.stderr.read().splitlines()[-1])
    equal((p.returncode, s["signal"]), (-signal.SIGTERM, signal.SIGTERM), "status, the program's signal")
    assert s["lost_output"] > 0, s
    equal(s["collected"] + s["lost"], s["written"], "collected + lost")
    os.close(reader)
    os.close(writer)


@test
def a_broken_stderr_does_not_hide_the_programs_status(dir):
    p = subprocess.run(["bash", "-c", words(TOOL, "run", "-o", dir + "/t", "--", TARGET, "then-exit", 1, 1, 3)
                        + " 2> >(exec true); echo status $?"], capture_output=True, text=True, check=False)
    contains(p.stdout, "status 3")


if __name__ == "__main__":
    main()
