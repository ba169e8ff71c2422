# SPDX-License-Identifier: MIT
"""test_memory_places.py - accesses of programs that cannot use the path of the collector's region."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import *  # noqa: E402

SOURCE = "int main(void) { static volatile int a[4096]; for (int i = 0; i < 4096; i++) a[i]++; return 0; }\n"
ACCESSES = 8192
OTHER_USER = "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); os.execv(sys.argv[1], sys.argv[1:])"
OTHER_ROOT = "import os, sys; os.chroot(sys.argv[1]); os.chdir('/'); os.execv(sys.argv[2], sys.argv[2:])"
REUSED = ("import os, sys; fd = int(os.environ['CACHERAY_FD'].split(':')[0], 16); "
          "os.dup2(os.open('/dev/null', os.O_RDWR), fd); os.execv(sys.argv[1], sys.argv[1:])")
OTHER_SHM = 'mount -t tmpfs none /dev/shm && mount -t tmpfs none /var/tmp && exec "$@"'


def built(dir, *flags):
    os.chmod(dir, 0o755)
    source, program = os.path.join(dir, "sum.c"), os.path.join(dir, "sum")
    with open(source, "w", encoding="ascii") as f:
        f.write(SOURCE)
    status, _, err = tool("mem", "cc", "-O1", "-g", *flags, source, "-o", program)
    if status:
        raise Skip(f"no compiler: {err}")
    return program


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def accesses(dir, command, options=(), how=("mem", "run")):
    """Accesses in the trace; None: the program was not traced."""
    trace = os.path.join(dir, "t.cray")
    if os.path.exists(trace):
        os.unlink(trace)
    files = ["-o", trace] if how[0] == "mem" else [f"--mem={trace}", "-o", os.path.join(dir, "t.jsonl")]
    status, _, err = tool(*how, *files, *options, "--", *command)
    if not os.path.exists(trace):
        return None
    equal(status, 0, err)
    status, out, err = tool("mem", "sim", "--json", trace)
    equal(status, 0, err)
    return json.loads(out)["accesses"]


def is_traced_only_by_descriptor(dir, command):
    for how in ("mem", "run"), ("run",):
        equal(accesses(dir, command, how=how), ACCESSES, f"accesses: {how}")
        equal(accesses(dir, command, ["--no-inherit"], how), None, f"by its path only: {how}")


@test
def a_program_that_another_user_executes_is_traced(dir):
    need_root()
    is_traced_only_by_descriptor(dir, [sys.executable, "-c", OTHER_USER, built(dir)])


@test
def a_program_with_another_root_directory_is_traced(dir):
    need_root()
    built(dir, "-static")
    is_traced_only_by_descriptor(dir, [sys.executable, "-c", OTHER_ROOT, dir, "/sum"])


@test
def a_program_with_its_own_mounts_is_traced(dir):
    need_root()
    if not shutil.which("unshare"):
        raise Skip("no unshare here")
    is_traced_only_by_descriptor(dir, ["unshare", "-m", "sh", "-c", OTHER_SHM, "sh", built(dir)])


@test
def a_descriptor_that_the_program_reused_is_not_taken(dir):
    equal(accesses(dir, [sys.executable, "-c", REUSED, built(dir)]), ACCESSES, "accesses, by the path")


@test
def a_value_that_makes_no_sense_is_left_alone(dir):
    program = built(dir)
    for value in "", ":", "3", "3:1:2", "3:1:2:/tmp/x", "zz:1:2:3", "-1:0:0:/", "ffffffffffffffffffff:1:1:/", ":" * 5000:
        equal(accesses(dir, ["env", f"CACHERAY_FD={value}", program]), ACCESSES, f"accesses with CACHERAY_FD={value[:40]}")


@test
def without_a_descriptor_the_path_is_used(dir):
    program = built(dir)
    for how in ("mem", "run"), ("run",):
        equal(accesses(dir, [program], ["--no-inherit"], how), ACCESSES, f"accesses: {how}")


main()
