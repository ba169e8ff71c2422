# SPDX-License-Identifier: MIT
"""redis_client.py - start a Redis server under `mem run` on a local socket, send it commands, end it."""
import os
import socket
import subprocess

from rt import CLEAN, TOOL, equal, wait_until


def encoded(*words):
    parts = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


class RedisServer:
    """With a unix socket in @dir; with the end of the block the server has ended and the trace is complete."""

    def __init__(self, dir, program, trace, env=None, save=""):
        self.path = os.path.join(dir, "redis.sock")
        self.log = open(os.path.join(dir, "redis.log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [TOOL, "mem", "run", "-o", trace, "--", program, "--port", "0", "--unixsocket", self.path, "--save", save,
             "--dir", dir, "--daemonize", "no"], stdout=self.log, stderr=subprocess.STDOUT, env=dict(CLEAN, **(env or {})))

    def __enter__(self):
        self.socket = wait_until(self.connected, "the server's socket", tries=12000)
        self.file = self.socket.makefile("rb")
        return self

    def connected(self):
        if self.process.poll() is not None:
            self.log.seek(0)
            raise AssertionError(f"the server ended: {self.log.read()[-2000:]}")
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(self.path)
            return s
        except OSError:
            s.close()
            return None

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.socket.sendall(encoded("SHUTDOWN", "NOSAVE"))
        else:
            self.process.terminate()
        status = self.process.wait(timeout=300)
        self.file.close()
        self.socket.close()
        self.log.seek(0)
        text = self.log.read()
        self.log.close()
        if kind is None:
            equal(status, 0, f"status of the server: {text[-2000:]}")

    def answer(self):
        line = self.file.readline()
        if line[:1] == b"$":
            return None if line[1:2] == b"-" else self.file.read(int(line[1:]) + 2)[:-2].decode()
        if line[:1] == b"*":
            return [self.answer() for _ in range(int(line[1:]))]
        if line[:1] == b"-":
            raise AssertionError(f"the server refused: {line}")
        return line[1:-2].decode()

    def ask(self, *commands):
        """The answers to commands, sent together."""
        answers = []
        for at in range(0, len(commands), 200):
            part = commands[at:at + 200]
            self.socket.sendall(b"".join(encoded(*c) for c in part))
            answers += [self.answer() for _ in part]
        return answers

    def wait_saved(self):
        wait_until(lambda: "rdb_bgsave_in_progress:0" in self.ask(("INFO", "persistence"))[0], "the end of the saving child",
                   tries=12000)

    def fill(self, n):
        """Strings, hashes, a sorted set and a list of @n (a prime) elements, with known answers."""
        self.ask(*[("SET", f"key:{i * 7919 % n}", f"value-{i}") for i in range(n)])
        got = self.ask(*[("GET", f"key:{i * 7919 % n}") for i in range(n)])
        equal(got, [f"value-{i}" for i in range(n)], "values")
        self.ask(*[("HSET", f"hash:{i % 50}", f"field:{i}", i) for i in range(n)])
        self.ask(*[("ZADD", "zset", i * 7919 % n, f"m{i}") for i in range(n)])
        self.ask(*[("RPUSH", "list", i) for i in range(n)])
        order = sorted(range(n), key=lambda i: i * 7919 % n)
        equal(self.ask(("ZRANGE", "zset", 0, 2), ("LLEN", "list"), ("DBSIZE",), ("HLEN", "hash:7")),
              [[f"m{i}" for i in order[:3]], str(n), str(n + 52), str(len(range(7, n, 50)))], "answers")
