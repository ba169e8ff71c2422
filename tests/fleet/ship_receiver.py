# SPDX-License-Identifier: MIT
"""ship_receiver.py - read shipped blocks without the tool: envelopes in files, and in a stream of a NATS server.

Written from docs/fleet-ship.md and docs/compact-format.md.
"""
import base64
import glob
import json
import os
import socket
import struct
import threading
import zlib

MAGIC = b"\x89CTSHIP\n"
HEAD = struct.Struct("<8sHHIQIIII")
BLOCK = struct.Struct("<IBBHIIQQQIIQQIHHII")
FACTS, EVENTS = 1, 2


class Envelope:
    def __init__(self, data):
        magic, version, head_size, labels_size, self.number, self.part, self.parts, size, crc = HEAD.unpack_from(data)
        assert (magic, version, head_size) == (MAGIC, 1, 40), (magic, version, head_size)
        assert len(data) == 40 + labels_size + size, (len(data), labels_size, size)
        assert zlib.crc32(data[40:], zlib.crc32(data[:36])) == crc, "checksum of an envelope"
        self.labels = json.loads(data[40:40 + labels_size])
        self.block = data[40 + labels_size:]
        self.run = self.labels["run"]


class Head:
    """The head of a block, with its checksums checked."""

    def __init__(self, block):
        assert block[:4] == b"CTBK", block[:4]
        fields = BLOCK.unpack_from(block)
        self.type, self.size, self.number = fields[1], fields[4], fields[6]
        self.transitions, self.others = fields[9], fields[10]
        assert zlib.crc32(block[:76]) == fields[17], "checksum of a head"
        assert zlib.crc32(block[80:]) == fields[5], "checksum of a block"
        assert len(block) == 80 + self.size, (len(block), self.size)


class Shipped:
    """What arrived of one run: blocks by number, labels, and the account."""

    def __init__(self, envelopes):
        self.labels, self.final, self.blocks = None, None, {}
        parts = {}
        for e in envelopes:
            key = e.number, e.part
            assert key not in parts, f"block {e.number} arrived twice"
            parts[key] = e
            if "final" in e.labels:
                assert not e.block and self.final is None, "one account, without a block"
                self.final = e.labels["final"]
                assert e.number == self.final["blocks"], (e.number, self.final)
                continue
            assert self.labels in (None, e.labels), (self.labels, e.labels)
            self.labels = e.labels
        for e in parts.values():
            if e.part == 0 and e.block:
                self.blocks[e.number] = b"".join(parts[e.number, i].block for i in range(e.parts))
        self.heads = {n: Head(b) for n, b in self.blocks.items()}
        for n, h in self.heads.items():
            assert h.number == n, (h.number, n)

    def transitions(self):
        return sum(h.transitions for h in self.heads.values())

    def others(self):
        return sum(h.others for h in self.heads.values())

    def bytes(self):
        return sum(map(len, self.blocks.values()))


def by_run(envelopes):
    runs = {}
    for e in envelopes:
        runs.setdefault(e.run, []).append(e)
    return {run: Shipped(list_) for run, list_ in runs.items()}


def shipped_files(dir):
    envelopes = []
    for path in sorted(glob.glob(dir + "/*/*/*")):
        if path.endswith(".ctblock.part"): # being written
            continue
        assert path.endswith(".ctblock"), path
        with open(path, "rb") as f:
            e = Envelope(f.read())
        assert path.endswith(f"/{e.run}/{e.number:020}.ctblock"), (path, e.number)
        envelopes.append(e)
    return by_run(envelopes)


def blocks_of(path):
    """The blocks of a whole trace but its index, by number."""
    with open(path, "rb") as f:
        data = f.read()
    at, blocks = 32, {}
    while data[at:at + 4] == b"CTBK":
        size = 80 + struct.unpack_from("<I", data, at + 8)[0]
        head = Head(data[at:at + size])
        if head.type != 3:
            blocks[head.number] = data[at:at + size]
        at += size
    return blocks


class NatsClient:
    """A client of the NATS protocol: enough to ask JetStream's API."""

    def __init__(self, port, user=None, password=None):
        self.s = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.f = self.s.makefile("rb")
        options = {"verbose": False, "pedantic": False, "headers": True, "lang": "test", "version": "1"}
        if user:
            options.update(user=user, **{"pass": password})
        assert self.f.readline().startswith(b"INFO")
        self.s.sendall(b"CONNECT " + json.dumps(options).encode() + b"\r\nSUB inbox.* 1\r\nPING\r\n")
        assert self.f.readline().startswith(b"PONG")

    def close(self):
        self.f.close()
        self.s.close()

    def request(self, subject, body=b""):
        self.s.sendall(b"PUB %s inbox.1 %d\r\n%s\r\n" % (subject.encode(), len(body), body))
        while True:
            words = self.f.readline().split()
            if words[0] == b"PING":
                self.s.sendall(b"PONG\r\n")
            elif words[0] == b"MSG":
                return json.loads(self.f.read(int(words[-1]) + 2))
            elif words[0] == b"HMSG":
                self.f.read(int(words[-1]) + 2)
                return None
            else:
                raise AssertionError(words)

    def stream(self, name="COROTRACER"):
        """The messages: (subject, identity, data)."""
        info = self.request(f"$JS.API.STREAM.INFO.{name}")
        found = []
        if not info or "state" not in info:
            return found
        for seq in range(info["state"]["first_seq"], info["state"]["last_seq"] + 1):
            m = self.request(f"$JS.API.STREAM.MSG.GET.{name}", json.dumps({"seq": seq}).encode())["message"]
            header = base64.b64decode(m.get("hdrs", "")).decode()
            identity = [line.split(": ")[1] for line in header.split("\r\n") if line.startswith("Nats-Msg-Id")]
            found.append((m["subject"], identity[0], base64.b64decode(m["data"])))
        return found


def shipped_nats(port, user=None, password=None):
    client = NatsClient(port, user, password)
    envelopes = []
    for subject, identity, data in client.stream():
        e = Envelope(data)
        assert identity == f"{e.run}/{e.number}/{e.part}", (identity, e.run, e.number, e.part)
        assert subject.startswith("corotracer.blocks."), subject
        envelopes.append(e)
    client.close()
    return by_run(envelopes)


class Proxy:
    """Passes bytes between a port and a server, until stall() is called: then it holds all connections and passes nothing."""

    def __init__(self, to_port):
        self.to_port, self.go = to_port, threading.Event()
        self.go.set()
        self.passed = 0 # bytes to the server
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.to_port))
            except OSError:
                client.close()
                continue
            for a, b, counted in ((client, server, True), (server, client, False)):
                threading.Thread(target=self.pump, args=(a, b, counted), daemon=True).start()

    def pump(self, a, b, counted):
        try:
            while True:
                data = a.recv(65536)
                self.go.wait()
                if not data:
                    break
                b.sendall(data)
                if counted:
                    self.passed += len(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stall(self):
        self.go.clear()

    def resume(self):
        self.go.set()


__all__ = ["EVENTS", "FACTS", "Envelope", "Head", "NatsClient", "Proxy", "Shipped", "blocks_of", "by_run", "shipped_files", "shipped_nats"]
