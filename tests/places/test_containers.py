# SPDX-License-Identifier: MIT
"""test_containers.py - the ways of docs/containers.md, with the kernel's namespaces as containers have them.

The commands and variables are those of examples/containers.
"""
import os
import re
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import *  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples", "containers")
PROGRAM = os.path.abspath(os.environ["PLACE_PROGRAM"])
ATTACH = os.path.abspath(os.environ["ATTACH_PROGRAM"])
TOOL = os.path.abspath(TOOL)  # noqa: F405
OWN_MOUNTS = "mount -t tmpfs t /dev/shm && mount -t tmpfs t /run"
CONTAINER = ["unshare", "-m", "-p", "--fork", "--mount-proc", "sh", "-c"]


def example(name):
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as f:
        return f.read()


def root_only():
    if os.geteuid() != 0:
        raise Skip("not root")
    if subprocess.run(["unshare", "-m", "-p", "--fork", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("no namespaces here")


def container(dir, command, **kwargs):
    """A shell command in its own mount and pid namespace, with its own /dev/shm."""
    return popen(*CONTAINER, f"{OWN_MOUNTS} && {command}", cwd=dir, **kwargs)


def summary_of(err):
    return json.loads([line for line in err.splitlines() if line.startswith("{")][-1])


def in_folder(dir, words):
    """The words of an example, with the tool and the folders of this test."""
    words = [TOOL if w == "corotracer" else w.replace("/traces/", dir + "/").replace("/shared/", dir + "/shared/") for w in words]
    return words


@test
def the_collector_is_the_first_process_of_the_container(dir):
    root_only()
    entry = json.loads(re.search(r"^ENTRYPOINT (\[.*\])$", example("Dockerfile"), re.M)[1])
    words = in_folder(dir, entry)
    words.insert(words.index("run") + 1, "--json")
    p = container(dir, "exec " + shlex.join([*words, PROGRAM]))
    _, err = p.communicate(timeout=300)
    s = summary_of(err)
    equal((p.returncode, s["collected"], s["lost"]), (0, 1000, 0), err)


@test
def a_stop_of_the_container_reaches_the_program(dir):
    """As `docker stop`: SIGTERM to the first process."""
    root_only()
    p = container(dir, f"exec {TOOL} run --json -o t.jsonl -- {ATTACH} 1 1000 i", stdin=subprocess.PIPE)
    equal(p.stdout.readline(), "ready\n", "the program's first line")
    with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
        first = int(f.read().split()[0])
    os.kill(first, signal.SIGTERM)
    p.wait(timeout=300)  # its standard input stays open
    err = p.stderr.read()
    s = summary_of(err)
    equal((s["exit_status"], s["signal"]), (128 + signal.SIGTERM, signal.SIGTERM), err)


@test
def a_sidecar_attaches_in_the_same_pid_namespace(dir):
    root_only()
    args = shlex.split(re.search(r'command: \["sh", "-c", "exec (corotracer run .*)"\]', example("sidecar-attach.yaml"))[1].replace("$(pidof -s app)", "PID"))
    words = in_folder(dir, args)
    words[words.index("--duration") + 1] = "0.5"
    words.insert(words.index("run") + 1, "--json")
    sidecar = shlex.join(words).replace("PID", "$(pidof -s attach_c)")
    # Both have their own mounts; the second one waits until the first one's program is ready.  The end of the first
    # process of the namespace ends the program, too.
    os.mkfifo(dir + "/ready")
    pod = (f'unshare -m sh -c \'{OWN_MOUNTS} && exec "$0" 2\' {ATTACH} >ready <hold & '
           f'read line <ready; unshare -m sh -c \'{OWN_MOUNTS} && exec {sidecar}\'')
    os.mkfifo(dir + "/hold")
    p = container(dir, "{ exec 3<>hold; " + pod + "; }")
    _, err = p.communicate(timeout=100)
    s = summary_of(err)
    equal((p.returncode, s["collected"] > 0, s["lost"]), (0, True, 0), err)


@test
def a_sidecar_collects_through_a_shared_folder(dir):
    root_only()
    text = example("sidecar-collect.yaml")
    command = re.search(r'command: \["sh", "-c", ".*exec (corotracer collect .*)"\]', text)[1]
    words = in_folder(dir, shlex.split(command))
    words.insert(words.index("collect") + 1, "--json")
    env = dict(re.findall(r"name: (CTP_\w+)\n\s+value: \"?([^\"\n]+)", text))
    env = {name: value.replace("/shared/", dir + "/shared/") for name, value in env.items()}
    equal(sorted(env), ["CTP_MAX_STATIONS", "CTP_SHM_PATH", "CTP_SOCK_PATH"], "variables of the program")
    os.mkdir(dir + "/shared")
    collector = container(dir, "exec " + shlex.join(words))
    wait_until(lambda: os.path.exists(dir + "/shared/wake"), "the socket exists")
    p = container(dir, shlex.join(["exec", "env", *(f"{n}={v}" for n, v in env.items()), PROGRAM]))
    p.communicate(timeout=300)
    equal(p.returncode, 0, "status of the program")
    with open(f"/proc/{collector.pid}/task/{collector.pid}/children", encoding="ascii") as f:
        os.kill(int(f.read().split()[0]), signal.SIGTERM)
    _, err = collector.communicate(timeout=300)
    s = summary_of(err)
    equal((s["collected"], s["lost"], s["connected"]), (1000, 0, 1), err)


main()
