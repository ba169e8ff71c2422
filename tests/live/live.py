# SPDX-License-Identifier: MIT
"""live.py - programs that execute commands, servers, and a terminal to show them in.

LIVE_TARGET: the program that executes commands; FLIGHT_TARGET: one with stuck coroutines;
LIVE_LOAD: one with many coroutines and a given rate of events
"""
import gzip
import http.client
import re
import sys
import threading
from urllib.parse import urlsplit

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/cli")
sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/view")
from harness import *  # noqa: E402
from harness import STARTED, TESTS  # noqa: E402

LIVE_TARGET = os.environ.get("LIVE_TARGET", "build/tests/live/live_target")
LIVE_LOAD = os.environ.get("LIVE_LOAD", "build/tests/live/live_load")
FLIGHT_TARGET = os.environ.get("FLIGHT_TARGET", "build/tests/flight_target")
FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures")
# A coroutine that is never destroyed is also a leak; here that is intended.
ENV = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", ""))


def test(function):
    """As in the harness; but collectors are asked to end, so that they remove their regions."""
    def case(dir):
        try:
            function(dir)
        finally:
            end_gently()
    case.__name__ = function.__name__
    TESTS.append(case)
    return function


def end_gently():
    """Ends only processes that this case started, by pid; removes the region of a killed collector."""
    mine = list(STARTED)
    for p in mine:
        if p.poll() is None:
            p.send_signal(signal.SIGCONT)
            p.send_signal(signal.SIGTERM)
    for p in mine:
        try:
            p.wait(30)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
    killed = [p for p in mine if p.returncode == -signal.SIGKILL]
    if killed:
        sweep(*killed)


def child_called(pid, name):
    """The pid of the child with that name; None: there is none."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        pids = f.read().split()
    for child in pids:
        with open(f"/proc/{child}/comm", encoding="utf-8") as f:
            if f.read().strip() == name:
                return int(child)
    return None


class Told:
    """`corotracer run` of a program that executes commands."""

    def __init__(self, dir, *options, trace="trace.jsonl", before=""):
        """before: a shell command to run first, in a private mount namespace."""
        self.trace = os.path.join(dir, trace)
        self.log = os.path.join(dir, "stderr")
        run = [TOOL, "run", *options, "-o", self.trace, "--", LIVE_TARGET]
        if before:
            run = ["unshare", "-rm", "sh", "-c", f"{before} && exec {words(*run)}"]
        with open(self.log, "w", encoding="utf-8") as err:
            self.p = popen(*run, stdin=subprocess.PIPE, stderr=err, env=ENV)

    def said(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def tell(self, *lines):
        """Send commands, wait until they are done; returns the other output."""
        more = []
        for line in lines:
            self.p.stdin.write(line + "\n")
            self.p.stdin.flush()
            while (got := self.p.stdout.readline()) not in ("ok\n", ""):
                more.append(got)
            equal(got, "ok\n", f"answer to {line}")
        return more

    def quit(self, status=0):
        self.p.stdin.write(f"quit {status}\n")
        self.p.stdin.flush()

    def program(self):
        """Its pid."""
        return child_called(self.p.pid, "live_target")


class Server:
    """A client of the server at a URL."""

    def __init__(self, url):
        self.url = url
        at = urlsplit(url)
        self.host, self.port, self.path = at.hostname, at.port, at.path
        self.netloc = at.netloc

    def connect(self, timeout=300):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(self, path, method="GET", headers=None, **kwargs):
        """Status, headers, body; a path without a leading slash is below the token."""
        c = self.connect()
        try:
            c.request(method, path if path.startswith("/") else self.path + path, headers=headers or {}, **kwargs)
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def section(self, name):
        """A section, uncompressed."""
        status, headers, body = self.request("api/" + name, headers={"Accept-Encoding": "gzip"})
        equal((status, headers["Content-Encoding"]), (200, "gzip"), f"section {name}")
        return gzip.decompress(body)

    def json(self, name):
        return json.loads(self.section(name))


class Stream:
    """The events of api/live, collected by a thread."""

    def __init__(self, server, since=0, headers=None):
        self.c = server.connect()
        self.c.request("GET", f"{server.path}api/live?since={since}", headers=headers or {})
        self.r = self.c.getresponse()
        equal((self.r.status, self.r.headers["Content-Type"]), (200, "text/event-stream"), "answer of api/live")
        self.events, self.comments, self.closed = [], 0, False
        self.thread = threading.Thread(target=self.gather, daemon=True)
        self.thread.start()

    def gather(self):
        event = {}
        try:
            while line := self.r.readline().decode():
                line = line.rstrip("\n")
                if not line:
                    if event:
                        self.events.append(event)
                    event = {}
                elif line.startswith(":"):
                    self.comments += 1
                else:
                    key, _, value = line.partition(": ")
                    event[key] = value
        except (OSError, http.client.HTTPException):
            pass
        self.closed = True

    def deltas(self):
        return [json.loads(e["data"]) for e in list(self.events) if "data" in e and "event" not in e]

    def ended(self):
        return any(e.get("event") == "ended" for e in list(self.events))


def serve(*args, **kwargs):
    """A server of a trace, once it has printed its URL."""
    p = popen(TOOL, "serve", *args, **kwargs)
    url = p.stdout.readline().strip()
    if not url.startswith("http"):
        raise AssertionError(f"no URL but {url!r}: {p.communicate(timeout=300)}")
    server = Server(url)
    server.p = p
    return server


def url_of(told):
    """The URL of `run --serve`."""
    return wait_until(lambda: re.search(r"(http://\S+)\n", told.said()), "the URL").group(1)
