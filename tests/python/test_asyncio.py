# SPDX-License-Identifier: MIT
"""test_asyncio.py - asyncio programs traced by the Python package: an unchanged aiohttp server with
faults, and tasks that must behave as without tracing.
"""
import os
import shutil
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import *  # noqa: E402,F403
from ports import free_port  # noqa: E402
from venvs import pip_install, python_with  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
PLACE = os.environ.get("PYTHON_VENV", "build/tests/python/venv")
INSTALLED = []
FULL = os.environ.get("COROTRACER_FULL") == "1"


def copy_tree(dir):
    """A copy of what the package is built from: a build writes beside its sources."""
    tree = os.path.join(dir, "tree")
    for name in ("include", "sdk/c", "sdk/python"):
        shutil.copytree(os.path.join(SOURCE, name), os.path.join(tree, name))
    for name in ("CMakeLists.txt", "LICENSE"):
        shutil.copy(os.path.join(SOURCE, name), tree)
    return tree


def source_distribution(dir, python):
    """Its archive, without the files that it was made of."""
    tree, place = copy_tree(dir), os.path.join(dir, "dist")
    p = popen(python, "setup.py", "-q", "sdist", "-d", place, cwd=os.path.join(tree, "sdk/python"))
    out, err = p.communicate(timeout=300)
    equal(p.returncode, 0, f"exit of sdist: {out}{err}")
    shutil.rmtree(tree)
    return os.path.join(place, os.listdir(place)[0])


def install(python, *words):
    p = popen(*pip_install(python), "--no-deps", "--no-build-isolation", *words)
    out, err = p.communicate(timeout=300)
    equal(p.returncode, 0, f"exit of pip: {out}{err}")


def traced_python(dir):
    """An interpreter with aiohttp and the package, installed once: with COROTRACER_FULL=1 from a folder, else from a source distribution."""
    python = os.path.abspath(python_with(PLACE, "aiohttp", "setuptools", "wheel"))
    if not INSTALLED:
        source = os.path.join(copy_tree(dir), "sdk/python") if FULL else source_distribution(dir, python)
        install(python, "--force-reinstall", source)
        if FULL:
            shutil.rmtree(os.path.join(dir, "tree"))
        INSTALLED.append(python)
    return python


def connect(port):
    try:
        return socket.create_connection(("127.0.0.1", port), timeout=300)
    except ConnectionRefusedError:
        return None


def ask(port, path):
    """An open connection whose request was sent."""
    s = wait_until(lambda: connect(port), "the server")
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    return s


def answer(s):
    text = b""
    while part := s.recv(65536):
        text += part
    s.close()
    return text.decode()


def names_in(trace):
    with open(trace + ".meta", encoding="utf-8") as f:
        return [r.get("name", "") for r in map(json.loads, f) if r["type"] == "birth"]


def last_reason(trace, reasons):
    """The number of coroutines whose newest event is a wait for one of the reasons."""
    last = {}
    with open(trace, encoding="utf-8") as f:
        for line in f:
            if line.endswith("\n"):
                e = json.loads(line)
                last[e["probe_id"]] = e
    return sum(not e["is_active"] and e.get("reason") in reasons for e in last.values())


def program_of(pid):
    """The server among the collector's children, which are also copies of the collector itself."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        for child in f.read().split():
            with open(f"/proc/{child}/cmdline", encoding="utf-8") as command:
                if "python" in command.read().split("\0")[0]:
                    return int(child)
    raise AssertionError("the collector has no program")


@test
def faults_of_an_unchanged_aiohttp_server_are_found(dir):
    python, port = traced_python(dir), free_port()
    trace = os.path.join(dir, "trace.jsonl")
    collector = popen(TOOL, "run", "--json", "-o", trace, "--", python, "-m", "corotracer", os.path.join(HERE, "bank_server.py"), port)
    for _ in range(20):
        contains(answer(ask(port, "/")), "hello")
    stuck = [ask(port, path) for path in ("/pay/a/b", "/pay/b/a", "/forgotten")]
    wait_until(lambda: os.path.exists(trace) and last_reason(trace, ("mutex",)) >= 2, "two tasks that wait for locks")
    os.kill(program_of(collector.pid), signal.SIGKILL)  # a clean end would cancel the tasks
    _, err = collector.communicate(timeout=300)
    summary = json.loads([line for line in err.splitlines() if line.startswith("{")][0])
    equal(summary["lost"], 0, "lost")
    for s in stuck:
        s.close()
    status, out, err = tool("report", "--json", trace)
    equal(status in (0, 1), True, f"exit of report {status}: {err}")
    report = json.loads(out or err)
    # A task that waits for one of the two is listed as well, as information.
    sure = [f for f in report["findings"] if f["confidence"] in ("proven", "strong")]
    equal([f["detector"] for f in sure], ["deadlock"], "sure findings")
    contains(sure[0]["place"]["text"], "bank_server.py:23 Bank.transfer")
    at_exit = [f["place"]["text"] for f in report["findings"] if f["detector"] == "suspended-at-exit"]
    equal([any(line in text for text in at_exit) for line in ("bank_server.py:38 forgotten", "bank_server.py:43 consume")], [True, True],
          f"tasks that waited at the end: {at_exit}")


@test
def tasks_behave_as_without_tracing(dir):
    python = traced_python(dir)
    program = os.path.join(HERE, "task_manners.py")
    plain = popen(python, program).communicate(timeout=300)
    alone = popen(python, "-m", "corotracer", program).communicate(timeout=300)
    trace = os.path.join(dir, "trace.jsonl")
    status, out, err = tool("run", "--json", "-o", trace, "--", python, "-m", "corotracer", program)
    equal(alone[0], plain[0], "output with the package")
    equal(out, plain[0], "output under the tool")
    equal(status, 0, f"exit: {err}")
    summary = json.loads([line for line in err.splitlines() if line.startswith("{")][0])
    equal((summary["lost"], summary["garbage"]), (0, 0), "lost and garbage")
    names = names_in(trace)
    equal(any(n.endswith("child") for n in names), True, f"names {names}")
    if sys.version_info >= (3, 12):  # before, a task gets its name after it was created
        equal("explicit name" in names, True, f"names {names}")
    check_order(sorted((json.loads(line) for line in open(trace, encoding="utf-8")), key=lambda e: e["ts"]))


@test
def a_source_distribution_builds_without_the_checkout(dir):
    python, where = traced_python(dir), os.environ
    if FULL:
        install(python, "--target", os.path.join(dir, "target"), source_distribution(dir, python))
        where = dict(os.environ, PYTHONPATH=os.path.join(dir, "target"))
    p = popen(python, "-c", "import corotracer; print(corotracer.enabled())", env=where, cwd=dir)
    equal(p.communicate(timeout=300)[0], "False\n", "enabled() of the installed copy")


main()
