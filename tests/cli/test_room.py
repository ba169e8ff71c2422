# SPDX-License-Identifier: MIT
"""test_room.py - the region is placed where there is room; without room, a hint says what to do.

Small file systems are mounted in a mount namespace of the test's own.  The collector is stopped
while the program floods (the program's parent is the collector), so that room alone
decides what fits, not the relative speed of the two.
"""
from harness import *

AGES = os.environ.get("AGES_TARGET", os.path.join(os.path.dirname(TARGET), "ages_target"))
EVENTS = 4000000  # 32 bytes each: 122 MiB
SMALL = "64m"     # /dev/shm of a container


def in_namespace(script, **env):
    if os.geteuid() != 0:
        raise Skip("only root can mount")
    p = subprocess.run(["unshare", "-m", "--propagation", "private", "true"], capture_output=True, check=False)
    if p.returncode != 0:
        raise Skip("no mount namespace: " + p.stderr.decode().strip())
    return subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-ec", script], capture_output=True,
                          text=True, timeout=200, check=False, env=dict(os.environ, **env))


def mounts(*places):
    return "".join(f"mount -t tmpfs -o size={SMALL} small {place}; " for place in places)


def flood(*options):
    """Run the program while its collector is stopped."""
    return words(TOOL, "run", *options, "-o", "/dev/null", "--", "sh", "-c",
                 "kill -STOP $PPID; " + words(AGES, EVENTS, 0) + "; kill -CONT $PPID")


def needs_room(path, size):
    fs = os.statvfs(path)
    if fs.f_bavail * fs.f_frsize < size:
        raise Skip(f"{path} has less than {size >> 20} MiB free itself")


@test
def a_small_dev_shm_is_passed_over_for_a_roomier_place(dir):
    needs_room("/tmp", 1 << 30)
    p = in_namespace(mounts("/dev/shm") + flood("--json"), TMPDIR="/tmp", XDG_RUNTIME_DIR="")
    s = json.loads(p.stderr.splitlines()[-1])
    equal((p.returncode, s["lost"], s["written"] >= EVENTS), (0, 0, True), f"status, lost, written in {s['region']}")
    assert not s["region"].startswith("/dev/shm/"), s["region"]
    assert s["place_holds"] is None, s


@test
def a_small_place_that_holds_what_was_asked_for_is_taken(dir):
    p = in_namespace(mounts("/dev/shm") + words(TOOL, "run", "--json", "--buffer", "8M", "-o", "/dev/null", "--", "true"))
    region = json.loads(p.stderr.splitlines()[-1])["region"]
    assert region.startswith("/dev/shm/"), region


@test
def loss_for_want_of_room_in_the_place_has_a_hint_that_helps(dir):
    if TOOL.startswith("/tmp/") or TARGET.startswith("/tmp/"):
        raise Skip("/tmp is mounted over")
    small = mounts("/dev/shm", "/tmp", "/var/tmp")
    p = in_namespace(small + flood(), TMPDIR="/tmp", XDG_RUNTIME_DIR="")
    contains(p.stderr, "because the buffer was full")
    contains(p.stderr, "has room for a buffer of 3")  # half of 64 MiB
    contains(p.stderr, "--shm PATH or TMPDIR=DIR")
    contains(p.stderr, "--shm-size")
    assert "--buffer SIZE holds more" not in p.stderr, p.stderr
    p = in_namespace(small + flood("--shm", "/var/tmp/region"), TMPDIR="/tmp", XDG_RUNTIME_DIR="")
    contains(p.stderr, "name a path with more room with --shm")


@test
def a_region_in_a_roomier_place_is_found_and_removed(dir):
    needs_room("/tmp", 1 << 30)
    script = (mounts("/dev/shm") + words(TOOL, "collect", "-q", "-o", "/dev/null") + f" > {dir}/env & "
              f"while [ ! -s {dir}/env ]; do sleep 0.01; done; " + words(TOOL, "recover", "--json") +
              "; kill -TERM $!; wait $!")
    p = in_namespace(script, TMPDIR=dir, XDG_RUNTIME_DIR="")
    found = [r["region"] for r in json.loads(p.stdout) if r["live"] and r["region"].startswith(dir + "/corotracer-")]
    equal(len(found), 1, f"live regions in {dir}: {p.stdout} {p.stderr}")
    equal([name for name in os.listdir(dir) if name.startswith("corotracer-")], [], "left behind")


@test
def a_program_whose_memory_is_traced_does_not_die_of_a_full_dev_shm(dir):
    needs_room("/tmp", 1 << 30)
    with open(dir + "/m.c", "w", encoding="ascii") as f:
        f.write("int main(void) { static volatile int a[1000]; for (int j = 0; j < 2000; j++)"
                " for (int i = 0; i < 1000; i++) a[i]++; return 0; }\n")
    status, _, err = tool("mem", "cc", "-O1", dir + "/m.c", "-o", dir + "/m")
    if status:
        raise Skip("mem cc does not work here: " + err.strip()[-200:])
    p = in_namespace("mount -t tmpfs -o size=512k small /dev/shm; "
                     + words(TOOL, "mem", "run", "--json", "-o", dir + "/m.cray", "--", dir + "/m"), TMPDIR="/tmp",
                     XDG_RUNTIME_DIR="")
    s = json.loads(p.stderr.splitlines()[-1])
    equal((p.returncode, s["signal"], s["files"][0]["lost"]), (0, 0, 0), f"status, signal, lost: {p.stderr}")


if __name__ == "__main__":
    main()
