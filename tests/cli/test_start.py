# SPDX-License-Identifier: MIT
"""test_start.py - the tool starts with few shared libraries and loads the others on first use."""
from harness import *

MAPPED_MAX = 14


def objects_mapped(*args):
    """The shared objects that the dynamic linker maps, the tool itself included."""
    env = dict(os.environ, LD_TRACE_LOADED_OBJECTS="1")
    done = subprocess.run([TOOL, *args], env=env, capture_output=True, text=True, timeout=300)
    return [line.split()[0] for line in done.stdout.splitlines() if line.strip()]


def tool_without(library, *args):
    env = dict(os.environ, LD_PRELOAD=os.environ["NO_LIBRARY_SO"], NO_LIBRARY=library)
    done = subprocess.run([TOOL, *args], env=env, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


@test
def few_shared_objects_are_mapped_at_the_start(dir):
    mapped = objects_mapped("version")
    assert 2 < len(mapped) <= MAPPED_MAX, f"{len(mapped)} objects: {mapped}"
    for library in ("libpq", "libmariadb", "libmicrohttpd", "libncurses", "libpfm", "libcurl"):
        assert not any(name.startswith(library) for name in mapped), f"{library} is mapped: {mapped}"


@test
def a_missing_library_is_an_error_that_names_the_package(dir):
    trace = os.path.join(dir, "trace.jsonl")
    equal(tool("run", "-q", "-o", trace, "--", TARGET, "events", 1, 4, 0)[0], 0, "status of run")
    cases = [
        ("libpq", "libpq5", ("export", "postgresql", "-i", trace)),
        ("libmariadb", "libmariadb3", ("export", "mysql", "-i", trace)),
        ("libmicrohttpd", "libmicrohttpd12", ("serve", trace)),
        ("libpfm", "libpfm4", ("attach", "-c", "list")),
        ("libcurl", "libcurl4", ("load", "--into", "clickhouse://127.0.0.1/x", trace)),
    ]
    for library, package, args in cases:
        status, _, err = tool_without(library, *args)
        equal(status, 1, f"status of {args[0]} without {library}: {err}")
        contains(err, f"cannot load {library}")
        contains(err, f"hint: install the package {package}")


@test
def commands_that_do_not_need_a_missing_library_work(dir):
    for library in ("libpq", "libmariadb", "libmicrohttpd", "libncursesw", "libpfm"):
        equal(tool_without(library, "version")[0], 0, f"status of version without {library}")


@test
def a_message_is_written_at_once(dir):
    """The program writes to the same terminal; and who reads a log must not find half an address."""
    read, write = os.pipe2(os.O_DIRECT)  # a read returns what one write wrote
    p = popen(TOOL, "info", "/none/\x1b\u00e9" + 100 * "x", stderr=write)
    os.close(write)
    first, second = (os.read(read, 65536).decode() for _ in range(2))
    os.close(read)
    p.communicate(timeout=300)
    equal((first[:17], first[-28:]), ("corotracer info: ", ": No such file or directory\n"), "the first write")
    equal((second[:6], second[-1]), ("hint: ", "\n"), "the second write")


if __name__ == "__main__":
    main()
