# SPDX-License-Identifier: MIT
"""programs.py - programs of tests, built once for all tests; and a wait until a process sleeps.

Several tests look at the same programs.  A program is kept in the build folder (TEST_PROGRAMS), in a
directory named by its command; it is built again if the compiler or a file that it was made of has another content.
A lock makes tests that run in parallel wait for each other.  A test that changes a program changes a copy of it.
"""
import atexit
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

BUILD_S = 900  # for one program, on a loaded machine
ASLEEP_S = 30  # until a process sleeps, on a loaded machine
LOOK_S = 0.02


def programs_directory():
    """Without TEST_PROGRAMS: a directory of this process."""
    kept = os.environ.get("TEST_PROGRAMS")
    if not kept:
        kept = os.environ["TEST_PROGRAMS"] = tempfile.mkdtemp(prefix="corotracer-programs-")
        atexit.register(shutil.rmtree, kept, ignore_errors=True)
    return kept


@contextlib.contextmanager
def locked_directory(name):
    """A directory of the cache that no other test uses meanwhile."""
    where = os.path.join(programs_directory(), name)
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield where


def file_sum(path):
    try:
        with open(path, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()
    except OSError:
        return None


# ---- C and C++ -------------------------------------------------------------------------------


def is_current(record):
    """The files that the program was made of are the same; the record is written after the build."""
    try:
        with open(record, encoding="utf-8") as f:
            sums = json.load(f)
    except (OSError, ValueError):
        return False
    return all(file_sum(path) == known for path, known in sums.items())


def files_in_rule(path):
    """The files in a rule for make, as compilers write it."""
    with open(path, encoding="utf-8") as f:
        text = f.read().replace("\\\n", " ")
    return [word.replace("\\ ", " ") for word in re.findall(r"(?:\\ |\S)+", text.split(": ", 1)[1])]


def compile_program(name, command, inputs=()):
    """Path of the program that the command makes (without -o), or None and the reason on standard output.

    @inputs: files other than those that the preprocessor reads, for example libraries.
    """
    command = [os.path.normpath(word) if word.startswith("/") else word for word in command]
    key = hashlib.sha256("\0".join(command).encode()).hexdigest()[:16]
    with locked_directory("%s-%s" % (name, key)) as where:
        out, record, rule = (os.path.join(where, file) for file in (name, "record.json", "rule.d"))
        if os.path.exists(out) and is_current(record):
            return out
        for left in (record, out):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(left)
        since = time.monotonic()
        r = subprocess.run([*command, "-MD", "-MF", rule, "-o", out], cwd=where, capture_output=True, text=True,
                           timeout=BUILD_S, check=False)
        if r.returncode:
            print("not built:", " ".join(command), r.stderr[:400])
            return None
        compiler = os.path.realpath(shutil.which(command[0]))
        made_of = {os.path.join(where, path) for path in (compiler, *inputs, *files_in_rule(rule))}
        with open(record, "w", encoding="utf-8") as f:
            json.dump({path: file_sum(path) for path in made_of}, f)
        print("built in %.1f s: %s" % (time.monotonic() - since, " ".join(command)), flush=True)
        return out


# ---- Rust --------------------------------------------------------------------------------------


def write_if_changed(path, content):
    """Cargo builds again what has a new time."""
    if file_sum(path) == hashlib.sha256(content).hexdigest():
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content)


def copy_crate(source, where, edit):
    """The files of a crate; @edit(text) changes its manifest."""
    wanted = set()
    for folder, folders, files in os.walk(source):
        folders[:] = [f for f in folders if f != "target"]
        for file in files:
            path = os.path.relpath(os.path.join(folder, file), source)
            if path == "Cargo.lock":
                continue
            wanted.add(path)
            with open(os.path.join(source, path), "rb") as f:
                content = f.read()
            if edit and path == "Cargo.toml":
                content = edit(content.decode()).encode()
            write_if_changed(os.path.join(where, path), content)
    for folder, _, files in os.walk(where):
        for file in files:
            path = os.path.relpath(os.path.join(folder, file), where)
            if path not in wanted and path != "Cargo.lock":
                os.unlink(os.path.join(where, path))


def build_crate(label, source, edit=None, beside=None, **environment):
    """Directory of the programs of a crate, or None and the reason on standard output.

    @beside: the label of another one, with the same dependencies, which are then compiled once.
    """
    with locked_directory("cargo-" + label) as where:
        crate = os.path.join(where, "crate")
        target = os.path.join(programs_directory(), "cargo-" + (beside or label), "target")
        copy_crate(source, crate, edit)
        since = time.monotonic()
        for network in (["--offline"], []):
            try:
                r = subprocess.run(["cargo", "build", "--quiet", *network], cwd=crate, capture_output=True, text=True,
                                   timeout=BUILD_S, check=False, env=dict(os.environ, CARGO_TARGET_DIR=target, **environment))
            except subprocess.TimeoutExpired:
                print("not built: %s: not in %d s" % (label, BUILD_S))
                return None
            if not r.returncode:
                print("cargo: %s in %.1f s" % (label, time.monotonic() - since), flush=True)
                return os.path.join(target, "debug")
        print("not built:", label, r.stderr[-600:])
        return None


# ---- processes that sleep ------------------------------------------------------------------------


def thread_counts(pid):
    """State, processor time and context switches of every thread."""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/stat" % (pid, tid), encoding="utf-8", errors="replace") as f:
                words = f.read().rsplit(")", 1)[1].split()
            with open("/proc/%d/task/%s/status" % (pid, tid), encoding="utf-8", errors="replace") as f:
                switches = re.findall(r"ctxt_switches:\s+(\d+)", f.read())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        found[tid] = (words[0], words[11], words[12], *switches)
    return found


def wait_asleep(pid, quiet_s=0.06):
    """Until all threads sleep and none has run for @quiet_s.  True: they do, or the process has ended.

    A program says that it is ready before its threads sleep; under load, long before.
    """
    limit, before, since = time.monotonic() + ASLEEP_S, None, 0
    while time.monotonic() < limit:
        try:
            counts = thread_counts(pid)
        except (FileNotFoundError, ProcessLookupError):
            return True
        if counts != before or any(c[0] != "S" for c in counts.values()):
            before, since = counts, time.monotonic()
        elif time.monotonic() - since >= quiet_s:
            return True
        if all(c[0] == "Z" for c in counts.values()):
            return True
        time.sleep(LOOK_S)
    print("process %d did not sleep within %d s: %s" % (pid, ASLEEP_S, before), flush=True)
    return False
