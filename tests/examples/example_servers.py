# SPDX-License-Identifier: MIT
"""example_servers.py - the C++ example servers: start them, talk to them, end them, read their traces."""
import fcntl
import glob
import resource
import shutil
import socket
import struct
import termios

from harness import *

SERVER = os.environ.get("SERVER", "build/examples/cpp/mini-redis")
SOURCE = os.environ.get("SOURCE", ".")
NAME = os.path.basename(SERVER)
SANITIZED = bool(os.environ.get("SANITIZE"))

# A sanitizer report ends the server with a status of its own, so that no test overlooks it.
SANITIZERS = dict(os.environ, ASAN_OPTIONS="exitcode=99", TSAN_OPTIONS="exitcode=99:halt_on_error=1",
                  UBSAN_OPTIONS="print_stacktrace=1")


def needs(program):
    if not shutil.which(program):
        raise Skip(f"no {program} here (package redis-tools)")


class Server:
    """The server, under the tool if @traced.  Its files are in @dir."""

    def __init__(self, dir, *args, traced=False, options=(), **kwargs):
        self.trace = os.path.join(dir, "trace.jsonl")
        self.census_file = os.path.join(dir, "census")
        port_file = os.path.join(dir, "port")
        command = [SERVER, "--port", 0, "--port-file", port_file, "--census", self.census_file, *args]
        if traced:
            # The tests count events and need all of them: block instead of losing any.
            command = [TOOL, "run", "--json", "--on-full", "block", "-o", self.trace, *options, "--", *command]
        kwargs.setdefault("env", SANITIZERS)
        self.process = popen(*command, **kwargs)
        wait_until(lambda: os.path.exists(port_file) or self.process.poll() is not None, "a port")
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended: {self.process.communicate()}")
        with open(port_file, encoding="ascii") as f:
            self.port = int(f.read())
        os.unlink(port_file)
        self.pid = self.find_pid(traced)

    def find_pid(self, traced):
        if not traced:
            return self.process.pid
        tool = self.process.pid
        with open(f"/proc/{tool}/task/{tool}/children", encoding="ascii") as f:
            for pid in f.read().split():
                if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(SERVER):
                    return int(pid)
        raise AssertionError("the server is no child of the tool")

    def is_at_rest(self):
        """All threads sleep: all work for clients is done."""
        for task in glob.glob(f"/proc/{self.pid}/task/*/stat"):
            with open(task, encoding="ascii") as f:
                if f.read().rpartition(")")[2].split()[0] != "S":
                    return False
        return True

    def sockets(self):
        """Numbers of its descriptors that are sockets."""
        found = set()
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                if os.readlink(f"/proc/{self.pid}/fd/{fd}").startswith("socket:"):
                    found.add(int(fd))
            except FileNotFoundError:
                pass
        return found

    def end(self, signal=signal.SIGTERM, status=0):
        """Returns a Run, with the tool's summary and trace if there is one."""
        os.kill(self.pid, signal)
        out, err = self.process.communicate(timeout=300)
        run = Run(self.process.returncode, out, err, self.trace)
        equal(run.status, status, f"status of the server, which said {out!r} and {err!r}")
        return run

    def census(self):
        with open(self.census_file, encoding="utf-8") as f:
            return {r["name"]: r for r in map(json.loads, f)}

    def cli(self, *args, **kwargs):
        """What redis-cli prints."""
        needs("redis-cli")
        p = popen("redis-cli", "-p", self.port, *args, **kwargs)
        out, err = p.communicate(timeout=300)
        equal(p.returncode, 0, f"status of redis-cli, which said {err!r}")
        return out

    def benchmark(self, *args):
        """Run redis-benchmark to its end; returns the tests for which it prints a rate."""
        needs("redis-benchmark")
        p = popen("redis-benchmark", "-p", self.port, "--csv", *args)
        out, err = p.communicate(timeout=300)
        equal(p.returncode, 0, f"status of redis-benchmark, which said {err!r}")
        return [line.split(",")[0].strip('"') for line in out.splitlines()[1:]]

    def connect(self):
        return Client(self.port)


def bulk(*words):
    """A command, as an array of bulk strings."""
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Client:
    """A client that sends exactly the bytes that the test passes."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=300)
        self.file = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def reply(self):
        """One reply: bytes of a status or bulk string, int, None, list; errors as Exception."""
        line = self.file.readline()
        assert line.endswith(b"\r\n"), f"half a reply: {line!r}"
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest
        if kind == b"-":
            return Exception(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        assert kind == b"$", f"no reply: {line!r}"
        if int(rest) < 0:
            return None
        data = self.file.read(int(rest) + 2)
        assert data.endswith(b"\r\n")
        return data[:-2]

    def ask(self, *words):
        self.send(bulk(*words))
        return self.reply()

    def error(self, *words):
        """The text of the error that these words cause."""
        answer = self.ask(*words)
        assert isinstance(answer, Exception), f"no error: {answer!r}"
        return str(answer)

    def is_closed(self):
        return self.file.read() == b""

    def wait_until_nothing_comes(self):
        """All buffers on the way are full, and the other side waits for this client."""
        there, same = 0, 0
        while not there or same < 100:
            time.sleep(0.01)
            now = struct.unpack("i", fcntl.ioctl(self.socket, termios.FIONREAD, b"1234"))[0]
            there, same = now, same + 1 if now == there else 0

    def close(self):
        self.file.close()
        self.socket.close()

    def reset(self):
        """Close without a shutdown: the other side gets a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


def line_of(file, text):
    """The number of the only line of that source file with the text."""
    with open(os.path.join(SOURCE, file), encoding="utf-8") as f:
        lines = [number for number, line in enumerate(f, 1) if text in line]
    equal(len(lines), 1, f"lines of {file} with {text!r}")
    return lines[0]


def counts(run):
    """Suspends and resumes of each coroutine in the trace, by its name."""
    names = {r["probe_id"]: r["name"] for r in run.sidecar if r["type"] == "birth"}
    found = {name: [0, 0] for name in names.values()}
    for e in run.events:
        found[names[e["probe_id"]]][1 if e["is_active"] else 0] += 1
    return found


def check_counts(server, run):
    """The trace has exactly the coroutines that the server counted, with the same counts."""
    census = server.census()
    equal(run.summary["lost"], 0, "events lost")
    found = counts(run)
    equal(len([r for r in run.sidecar if r["type"] == "birth"]), len(found), "births, by different names")
    equal(found, {name: [r["suspends"], r["resumes"]] for name, r in census.items()}, "suspends and resumes")
    ended = {r["probe_id"] for r in run.sidecar if r["type"] in ("end", "destroy")}
    alive = {r["probe_id"] for r in run.sidecar if r["type"] == "coroutine" and not r["dead"]}
    equal(len(ended), sum(r["ended"] for r in census.values()), "coroutines that ended")
    equal(len(found), len(ended) + len(alive), "born is ended and alive")
    equal(ended & alive, set(), "both ended and alive")
    check_order(run.events)
    return census


def info(run):
    status, out, err = tool("info", "--json", run.trace)
    equal(status, 0, f"status of info, which said {err!r}")
    return json.loads(out)["sidecar"]
