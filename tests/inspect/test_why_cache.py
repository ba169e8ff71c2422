#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cache of `corotracer why`: the same results with and without it, whatever is in it."""
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time

import test_why as common

COROUTINES = 60  # of the generated program
GENERATED = """
task leaf{n}(int fd) {{ co_await parked{{fd}}; co_await parked{{fd + 1}}; }}
task root{n}(int fd) {{ co_await leaf{n}(fd); }}
"""
PROGRAM = """
#include <coroutine>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>
std::vector<std::coroutine_handle<>> handles;
struct parked {
    int fd;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> h) { handles.push_back(h); }
    void await_resume() {}
};
struct task {
    struct promise_type {
        std::coroutine_handle<> next;
        task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { abort(); }
    };
    std::coroutine_handle<promise_type> h;
    bool await_ready() { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> c) { h.promise().next = c; return h; }
    void await_resume() {}
};
"""


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Cache:
    """A cache of its own."""

    def __init__(self, work, name):
        self.base = os.path.join(work, "cache-" + name)
        self.dir = os.path.join(self.base, "corotracer")
        os.makedirs(self.base, mode=0o700)

    def environment(self):
        return dict(os.environ, XDG_CACHE_HOME=self.base)

    def entries(self):
        return sorted(os.listdir(self.dir)) if os.path.isdir(self.dir) else []

    def largest(self):
        """The entry of the program: libraries have small ones."""
        return max((os.path.join(self.dir, e) for e in self.entries()), key=lambda p: os.lstat(p).st_size)


def look(pid, env, *args):
    """Standard output, standard error, seconds of CPU."""
    common.wait_sleepers([str(pid)])
    before = cpu_s()
    r = subprocess.run([common.TOOL, "why", "--json", *args, "-p", str(pid)], capture_output=True, text=True, env=env,
                       timeout=300, check=False)
    if r.returncode:
        common.fail("why -p %d: exit %d: %s" % (pid, r.returncode, r.stderr))
    return r.stdout, r.stderr, cpu_s() - before


def check_equal(label, pid, env, *args, note=False, plain=None):
    """The look with the cache is that without, which may be known; returns its output."""
    plain = plain or look(pid, env, "--no-cache", *args)[0]
    kept, err, _ = look(pid, env, *args)
    if plain != kept:
        common.fail("%s: the cache changes the result:\n%s\n%s" % (label, plain[:800], kept[:800]))
    if ("in the cache" in err) != note:
        common.fail("%s: %s" % (label, "a note is missing" if note else "unexpected note: " + err))
    return plain


def test_same(path, work):
    cache = Cache(work, "same")
    env = cache.environment()
    with common.Target(path) as target:
        pid = target.process.pid
        plain = look(pid, env, "--no-cache")[0]
        if cache.entries():
            common.fail("--no-cache wrote %s" % cache.entries())
        for what in ("first", "second", "third"):
            check_equal(what + " look", pid, env, plain=plain)
        for name in cache.entries():
            mode = os.stat(os.path.join(cache.dir, name)).st_mode
            if stat.S_IMODE(mode) != 0o600 or not name.endswith(".index"):
                common.fail("%s has mode %o" % (name, mode))
        if not cache.entries() or stat.S_IMODE(os.stat(cache.dir).st_mode) != 0o700:
            common.fail("no entries, or a directory that others can read")


def spoil_bytes(entry, at):
    with open(entry, "r+b") as f:
        size = os.fstat(f.fileno()).st_size
        f.seek(at if at >= 0 else size + at)
        byte = f.read(1)
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte[0] ^ 0x55]))


def spoil_link(entry):
    os.rename(entry, entry + ".kept")
    os.symlink(entry + ".kept", entry)


def test_damage(path, work):
    cache = Cache(work, "damage")
    env = cache.environment()
    spoilers = {
        "magic": lambda e: spoil_bytes(e, 0),
        "size": lambda e: spoil_bytes(e, 9),
        "sum": lambda e: spoil_bytes(e, 17),
        "content": lambda e: spoil_bytes(e, -20),
        "cut": lambda e: os.truncate(e, os.stat(e).st_size // 2),
        "empty": lambda e: os.truncate(e, 0),
        "readable by others": lambda e: os.chmod(e, 0o644),
        "link": spoil_link,
    }
    with common.Target(path) as target:
        pid = target.process.pid
        plain = look(pid, env, "--no-cache")[0]
        look(pid, env)
        for name, spoil in spoilers.items():
            spoil(cache.largest())
            check_equal(name, pid, env, note=True, plain=plain)
            check_equal(name + ", replaced", pid, env, plain=plain)
            entry = cache.largest()
            if os.path.islink(entry) or os.stat(entry).st_size < 500:
                common.fail("%s: the entry was not replaced" % name)


def test_places(path, work):
    """No directory, or one of another user: works without."""
    nowhere = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    home = os.path.join(work, "home")
    os.makedirs(home, mode=0o700)
    foreign = Cache(work, "foreign")
    loose = Cache(work, "loose")
    os.chmod(loose.base, 0o777)
    file = os.path.join(work, "file")
    with open(file, "w", encoding="utf-8"):
        pass
    with common.Target(path) as target:
        pid = target.process.pid
        plain = look(pid, nowhere, "--no-cache")[0]
        for label, env in (("no home", nowhere), ("relative", dict(nowhere, XDG_CACHE_HOME="here", HOME="there")),
                           ("a file", dict(nowhere, XDG_CACHE_HOME=file)), ("missing", dict(nowhere, HOME=work + "/no")),
                           ("writable by others", loose.environment())):
            check_equal(label, pid, env, plain=plain)
            check_equal(label, pid, env, plain=plain)
        if loose.entries():
            common.fail("a cache in a directory that others can write to")
        check_equal("home", pid, dict(nowhere, HOME=home), plain=plain)
        if not os.listdir(os.path.join(home, ".cache", "corotracer")):
            common.fail("nothing in ~/.cache/corotracer")
        if os.geteuid() == 0:
            os.chown(foreign.base, 65534, 65534)
            check_equal("home of another user", pid, foreign.environment(), plain=plain)
            if foreign.entries():
                common.fail("root wrote into the cache of another user")


def test_old_entries(path, work):
    cache = Cache(work, "old")
    env = cache.environment()
    os.makedirs(cache.dir, mode=0o700)
    files = {"old.index": 200 << 20, "new.index": 100 << 20, "left.index.AbCdEf": 5, "other": 5}
    for age, (name, size) in enumerate(files.items()):
        file = os.path.join(cache.dir, name)
        with open(file, "wb") as f:
            f.truncate(size)
        os.utime(file, (time.time() - 100000 + age * 1000,) * 2)
    with common.Target(path) as target:
        look(target.process.pid, env)
    left = cache.entries()
    if "old.index" in left or "left.index.AbCdEf" in left or "new.index" not in left or "other" not in left:
        common.fail("after removing the oldest: %s" % left)


def test_no_build_id(work):
    path = common.build(work, "stacks", "g++", ["-g", "-static", "-Wl,--build-id=none"])
    cache = Cache(work, "no-id")
    if path:
        with common.Target(path) as target:
            check_equal("no build-id", target.process.pid, cache.environment())
        if cache.entries():
            common.fail("a file without a build-id is in the cache: %s" % cache.entries())


def test_split(work):
    """Split DWARF: the .dwo file comes and goes, and the cache must see it."""
    cache = Cache(work, "split")
    where = os.path.join(work, "split")
    os.makedirs(where)
    source = os.path.join(common.HERE, "stacks.cpp")
    r = subprocess.run(["g++", "-std=c++20", "-fcoroutines", "-g", "-gsplit-dwarf", "-c", source, "-o", "stacks.o"], cwd=where,
                       capture_output=True, check=False)
    if r.returncode or subprocess.run(["g++", "stacks.o", "-o", "stacks", "-pthread"], cwd=where, check=False).returncode:
        print("split DWARF: not built")
        return
    dwo = os.path.join(where, "stacks.dwo")
    with common.Target(os.path.join(where, "stacks")) as target:
        pid, env = target.process.pid, cache.environment()
        whole = check_equal("split", pid, env)
        os.rename(dwo, dwo + ".away")
        without = check_equal("split, .dwo missing", pid, env)
        check_equal("split, .dwo missing again", pid, env)
        os.rename(dwo + ".away", dwo)
        if check_equal("split, .dwo back", pid, env) != whole or without == whole:
            common.fail("split: the .dwo file makes no difference")


def test_debug_file(path, work):
    cache = Cache(work, "debug")
    where = os.path.join(work, "stripped")
    os.makedirs(os.path.join(where, "debug"))
    program = os.path.join(where, "program")
    debug = os.path.join(where, "debug", "program.debug")
    for cmd in (["objcopy", "--only-keep-debug", path, debug], ["strip", path, "-o", program]):
        if subprocess.run(cmd, check=False).returncode:
            return
    with common.Target(program) as target:
        pid, env = target.process.pid, cache.environment()
        for _ in range(2):
            bare = check_equal("stripped", pid, env)
            found = check_equal("debug file", pid, env, "--debug-dir", os.path.join(where, "debug"))
            if bare == found or '"function"' not in found:
                common.fail("the debug file makes no difference")
        shutil.copy(debug, debug + ".new")
        os.utime(debug + ".new", (1, 1))
        os.rename(debug + ".new", debug)
        before = cache.entries()
        check_equal("debug file, replaced", pid, env, "--debug-dir", os.path.join(where, "debug"))
        if cache.entries() == before:
            common.fail("another debug file has the same entry")


def test_speed(work):
    """The figure: CPU time of the first and of the second look."""
    nr = 1500 if common.FULL else COROUTINES
    source = os.path.join(work, "many.cpp")
    with open(source, "w", encoding="utf-8") as f:
        f.write(PROGRAM + "".join(GENERATED.format(n=n) for n in range(nr)) + "int main() {\n")
        f.writelines("    root%d(%d).h.resume();\n" % (n, n) for n in range(nr))
        f.write('    if (write(1, "ready\\n", 6) != 6) return 1;\n    pause();\n}\n')
    path = os.path.join(work, "many")
    subprocess.run(["g++", "-std=c++20", "-fcoroutines", "-g", source, "-o", path], check=True, timeout=600)
    cache = Cache(work, "speed")
    with common.Target(path) as target:
        pid, env = target.process.pid, cache.environment()
        first, _, first_s = look(pid, env)
        second, _, second_s = look(pid, env)
    if first != second:
        common.fail("many: the second look is not the first")
    print("%d coroutine functions: first look %.2f s, second %.2f s of CPU: %.1f times faster" %
          (2 * nr, first_s, second_s, first_s / second_s))
    if common.FULL and first_s < 10 * second_s:
        common.fail("the second look is only %.1f times faster" % (first_s / second_s))


def main():
    with tempfile.TemporaryDirectory() as work:
        path = common.build(work, "stacks", "g++", ["-O2", "-g"])
        if not path:
            return 77
        test_same(path, work)
        test_damage(path, work)
        test_places(path, work)
        test_old_entries(path, work)
        test_no_build_id(work)
        test_split(work)
        test_debug_file(path, work)
        test_speed(work)
    print("%d faults" % len(common.faults))
    return 1 if common.faults else 0


if __name__ == "__main__":
    sys.exit(main())
