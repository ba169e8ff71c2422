# SPDX-License-Identifier: MIT
"""test_frames_faults.py - killed programs, killed collectors, full systems, hostile programs."""
import random

from frames_live import *

random.seed(8)


@test
def a_program_killed_while_attached_is_an_end_like_any_other(dir):
    before = segments()
    for i in range(20):
        p = start(("live_busy", "live_fixed")[i % 2], 2, 5000)
        c = attach_start(dir, p, "--size", 256)
        time.sleep(random.random() * 0.05)
        p.kill()
        p.wait()
        _, err = c.communicate(timeout=300)
        if c.returncode == 0:
            frames, _ = decode(os.path.join(dir, "frames.ppt"))
            check_busy(frames)
        else:
            # It died before it was inspected, or meanwhile.
            equal(c.returncode, 1, f"status ({err})")
            assert str(p.pid) in err, err
    equal(segments(), before, "shared memory")


@test
def a_collector_killed_at_any_moment_leaves_no_memory(dir):
    before = segments()
    p = start("live_busy", 2, 20000)
    for i in range(60):
        c = attach_start(dir, p, "--size", 256, "-q")
        time.sleep(random.random() * 0.02)
        c.kill()
        c.wait()
    # The program still has the old segment mapped; the next collector ends that.
    equal(attach(dir, p, "--count", 10).status, 0, "status of the one that lives")
    wait_until(lambda: segments() == before, "shared memory gone")
    end(p)


@test
def a_collector_killed_while_resizing_leaves_no_memory(dir):
    before = segments()
    p = start("live_busy", 4, 5000)
    for i in range(30):
        c = attach_start(dir, p, "--size", 256, "-q")
        attached(dir, c, p)
        for _ in range(random.randrange(1, 4)):
            c.send_signal(signal.SIGUSR1)
            time.sleep(random.random() * 0.003)
        c.kill()
        c.wait()
    equal(p.poll(), None, "the program's status")
    a = attach(dir, p, "--count", 100)
    check_busy(decode(a.file)[0])
    wait_until(lambda: segments() == before, "shared memory gone")
    end(p)
    equal(segments(), before, "shared memory")


@test
def a_program_that_ends_takes_the_dead_collectors_memory_with_it(dir):
    before = segments()
    p = start("live_fixed", 2, 20000)
    c = attach_start(dir, p)
    attached(dir, c, p)
    c.kill()
    c.wait()
    assert segments() != before, "the program still has the ring"
    end(p)
    equal(segments(), before, "shared memory")


def limited(dir, **limits):
    """Attach inside an IPC namespace with such limits."""
    need_root()
    if not has("unshare"):
        raise Skip("no unshare here")
    sets = "".join(f"echo {value} > /proc/sys/kernel/{name}; " for name, value in limits.items())
    script = f"""{sets}rm -f "$3/out"; "$1" 1 50000 > "$3/out" & P=$!; while ! grep -q ready "$3/out" 2>/dev/null; do :; done
        "$2" attach -p $P -o "$3/f.ppt" --count 10 --json; echo $? >&2; kill $P; wait $P; ipcs -m | grep -c 0x >&2"""
    q = popen("unshare", "-i", "bash", "-c", script, "-", program("live_busy"), TOOL, dir)
    _, err = q.communicate(timeout=300)
    return err


@test
def limits_of_the_system_are_named(dir):
    err = limited(dir, shmmni=1)
    contains(err, "No space left on device")
    contains(err, "kernel.shmmni")
    equal(err.split()[-2:], ["1", "0"], "status, and segments left")
    err = limited(dir, shmmax=100000)
    contains(err, "kernel.shmmax")
    contains(err, "--size")
    equal(err.split()[-2:], ["1", "0"], "status, and segments left")
    err = limited(dir, shmall=2)
    contains(err, "kernel.shmall")
    equal(err.split()[-2:], ["1", "0"], "status, and segments left")
    err = limited(dir)  # a new namespace: the first id is 0
    contains(err, '"recorded":10')
    equal(err.split()[-2:], ["0", "0"], "status, and segments left")


@test
def a_resize_that_finds_no_memory_leaves_the_ring_as_it_is(dir):
    need_root()
    limit = "/proc/sys/kernel/shmmni"
    p = start("live_busy", 2, 20000)
    with open(limit, encoding="ascii") as f:
        usual = f.read()
    with open(limit, "w", encoding="ascii") as f:
        f.write(str(len(segments()) + 2))
    try:
        c = attach_start(dir, p)
        attached(dir, c, p)
        c.send_signal(signal.SIGUSR1)
        line = c.stderr.readline()
        contains(line, "the ring stays as it is")
        c.terminate()
        _, err = c.communicate(timeout=300)
        equal(c.returncode, 0, f"status ({err})")
        frames, _ = decode(os.path.join(dir, "frames.ppt"))
        check_busy(frames)
    finally:
        with open(limit, "w", encoding="ascii") as f:
            f.write(usual)
    end(p)


@test
def a_program_of_another_version_is_told_apart(dir):
    p = start("live_hostile", "abi2")
    status, _, err = tool("attach", "-p", p.pid, "-b", "Evil", "-o", os.path.join(dir, "x.ppt"))
    equal(status, 1, "status")
    contains(err, "speaks version '2.0.0' of the protocol, and we speak 1")
    p.kill()
    # A newer minor version with unknown keys: the same protocol.
    p = start("live_hostile", "newer")
    a = attach(dir, p, "-b", "Evil", "--duration", 0.2)
    equal(a.status, 0, f"status ({a.err})")
    p.kill()


@test
def hostile_descriptions_are_refused_in_words(dir):
    for mode in ("garbage", "deep", "endless", "cliff", "null", "kernel"):
        p = start("live_hostile", mode)
        status, _, err = tool("attach", "-p", p.pid, "-b", "Evil", "-o", os.path.join(dir, "x.ppt"))
        equal(status, 1, f"status with {mode} ({err})")
        assert err.startswith("corotracer attach: "), err
        status, out, _ = tool("query", "-p", p.pid)
        equal(status, 0, "status of query")
        contains(out, "unreadable")
        contains(out, "Fixed")
        p.kill()
        p.wait()


@test
def hostile_control_blocks_harm_nobody(dir):
    before = segments()
    for mode in ("jump", "shrink", "elsewhere", "more"):
        p = start("live_hostile", mode)
        status, _, err = tool("attach", "-p", p.pid, "-b", "Evil", "-o", os.path.join(dir, "x.ppt"), "--duration", 5)
        equal(status, 1, f"status with {mode} ({err})")
        contains(err, "makes no sense")
        p.kill()
        p.wait()
    for seed in range(25):
        p = start("live_hostile", "scribble", seed)
        file = os.path.join(dir, "x.ppt")
        if os.path.exists(file):
            os.unlink(file)
        status, _, err = tool("attach", "-p", p.pid, "-b", "Evil", "-o", file, "--duration", 0.1, "--size", 1024)
        assert status in (0, 1), f"seed {seed}: {status} {err}"
        if os.path.exists(file):
            decode(file)
        p.kill()
        p.wait()
    equal(segments(), before, "shared memory")


@test
def a_full_disk_ends_the_attach_and_not_the_program(dir):
    p = start("live_fixed", 2, 5000)
    before = segments()
    status, _, err = tool("attach", "-p", p.pid, "-o", "/dev/full", "--duration", 5)
    equal(status, 1, "status")
    contains(err, "No space left on device")
    wait_until(lambda: segments() == before, "shared memory gone")
    equal(attach(dir, p, "--count", 10).status, 0, "status of the next")
    end(p)


@test
def a_pipe_that_nobody_reads_does_not_keep_the_program_attached(dir):
    p = start("live_fixed", 2, 50000)
    q = popen(TOOL, "monitor", "-p", p.pid, "--json")
    q.stdout.readline()
    q.stdout.close()
    q.wait(timeout=300)
    equal(q.returncode, 0, "status of monitor")
    equal(attach(dir, p, "--count", 10).status, 0, "status of the next")
    end(p)


if __name__ == "__main__":
    main()
