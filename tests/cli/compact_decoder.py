# SPDX-License-Identifier: MIT
"""compact_decoder.py - a reader of compact traces, written from docs/compact-format.md and from nothing else."""
import ctypes
import ctypes.util
import json
import struct
import zlib

KINDS = ["suspend", "resume", "birth", "wake", "end", "destroy", "close", "acquire", "release", "context"]
GAP = 15
OWN = (0, 1, 3, 7, 8)  # kinds with a last event per coroutine
MASK = (1 << 64) - 1
NONE = 0xFFFFFFFF
MEMBERS = ("addr", "site", "reason", "flags", "resource", "peer", "station", "pid")


def unzstd(data, size):
    lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    lib.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(size)
    assert lib.ZSTD_decompress(out, size, data, len(data)) == size
    return out.raw


class Column:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        assert self.at + size <= len(self.data)
        self.at += size
        return self.data[self.at - size:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 127) << shift
            shift += 7
            if b < 128:
                return value & MASK

    def signed(self):
        v = self.varint()
        return v >> 1 if v % 2 == 0 else -(v >> 1) - 1

    def line(self):
        end = self.data.index(b"\n", self.at)
        self.at, start = end + 1, self.at
        return self.data[start:end]


def columns_of(payload, nr):
    at, out = 12 * nr, {}
    for i in range(nr):
        ident, coding, _, raw, stored = struct.unpack_from("<BBHII", payload, 12 * i)
        data = payload[at:at + stored]
        out[ident] = unzstd(data, raw) if coding else data
        assert len(out[ident]) == raw
        at += stored
    assert at == len(payload)
    return out


def fixed(columns, ident, size):
    data = columns.get(ident, bytes(size))
    assert len(data) == size
    return data


class Coroutine:
    def __init__(self, ident):
        self.id, self.seq, self.run, self.seen, self.written, self.last = ident, 2, 0, 0, 0, {}


def events_of(columns, items):
    c = {i: Column(columns.get(i, b"")) for i in range(1, 27)}
    shape, high, miss = fixed(columns, 1, items), fixed(columns, 2, items), fixed(columns, 7, items)
    deltas = [fixed(columns, i, items) for i in (3, 4, 5)]
    kinds = [s & 15 for s in shape]
    wakes = kinds.count(3)
    rest = sum(1 for k, m in zip(kinds, miss) if k not in (3, GAP) and (k or m & 1))
    low, up = fixed(columns, 9, wakes + rest), fixed(columns, 10, wakes + rest)
    next_wake, next_rest = 0, wakes
    threads, running, coroutines = [], [], []
    kind_last = [dict.fromkeys(MEMBERS, 0) | {"station": NONE} for _ in range(16)]
    ts = last_id = 0

    def time(i):
        delta = deltas[0][i] | deltas[1][i] << 8 | deltas[2][i] << 16
        if delta == 0xFFFFFF:
            delta = struct.unpack("<Q", c[6].take(8))[0]
        return (ts + delta) & MASK

    for i, kind in enumerate(kinds):
        if kind == GAP:
            ts = time(i)
            yield json.loads(c[26].line())
            continue
        thread = shape[i] >> 4 | high[i] << 4
        if thread == len(threads):
            threads.append(c[11].varint())
            running.append(None)
        if kind == 0 and not miss[i] & 1:
            index = running[thread]
        elif kind == 3:
            index = low[next_wake] | up[next_wake] << 8
            next_wake += 1
        else:
            index = low[next_rest] | up[next_rest] << 8
            next_rest += 1
        if index == len(coroutines):
            last_id = (last_id + c[12].signed()) & MASK
            coroutines.append(Coroutine(last_id))
        co = coroutines[index]
        if kind == 1:
            running[thread] = index
        ts = time(i)
        seq = (co.seq + 2 if co.run == 8 else co.seq) if kind < 2 else 0
        if miss[i] & 4:
            seq = (seq + c[14].signed()) & MASK
        seen = co.seen & 0xFFFFFFFF if kind == 3 else 0
        if miss[i] & 64:
            seen = (seen + c[19].signed()) & 0xFFFFFFFF
        if kind < 2:
            co.run = co.run + 1 if seq == co.seq and co.run < 8 else 1
            co.seq = seq
            co.seen += 1
        elif kind == 3:
            co.seen = seen
        last = kind_last[kind]
        if kind in OWN:
            last = co.last.setdefault(kind, dict(last))
        if miss[i] & 2:
            last["addr"] = (last["addr"] + c[13].signed()) & MASK
        if miss[i] & 8:
            last["site"] = c[15].varint()
        if miss[i] & 16:
            last["reason"], last["flags"] = c[16].byte(), c[16].byte()
        if miss[i] & 32:
            last["resource"] = (last["resource"] + c[17].signed()) & MASK
        written, lost, name = co.written if kind > 1 else 0, 0, b""
        if miss[i] & 128:
            more = c[8].byte()
            if more & 1:
                last["peer"] = (last["peer"] + c[18].signed()) & MASK
            if more & 2:
                last["station"] = (c[20].varint() - 1) & 0xFFFFFFFF
            if more & 4:
                last["pid"] = c[21].varint()
            if more & 8:
                written = c[22].varint()
            if more & 16:
                lost = c[23].varint()
            if more & 32:
                name = c[25].take(c[24].varint())
        if miss[i]:
            kind_last[kind] = dict(last)
        if kind > 1:
            co.written = written
        if kind < len(KINDS):
            yield {"kind": KINDS[kind], "ts": ts, "probe_id": co.id, "tid": threads[thread], "seq": seq, "seen": seen,
                   "written": written, "lost": lost, "name": name.decode("utf-8", "replace"), **last}


def switches_of(columns, items):
    """Facts of the type switch."""
    threads, times, table, ts = [], Column(columns.get(12, b"")), Column(columns.get(13, b"")), 0
    planes = [None] + [fixed(columns, i, items) for i in range(1, 12)]

    def time(i, first):
        value = planes[first][i] | planes[first + 1][i] << 8 | planes[first + 2][i] << 16
        return struct.unpack("<Q", times.take(8))[0] if value == 0xFFFFFF else value

    for i in range(items):
        thread = planes[1][i] | planes[2][i] << 8
        if thread == len(threads):
            threads.append((table.varint(), table.varint()))
        ts = (ts + time(i, 6)) & MASK
        yield {"type": "switch", "pid": threads[thread][0], "tid": threads[thread][1], "from_ts": (ts - time(i, 9)) & MASK,
               "to_ts": ts, "cpu": planes[4][i] | planes[5][i] << 8, "state": ("blocked", "preempted", "ready")[planes[3][i]]}


def blocks_of(data):
    """(type, number of columns, payload, transitions and other events before it, and in it, times, items, its end) of each whole block."""
    magic, version, at = struct.unpack_from("<8sHH", data)
    assert magic == b"\x89CTRACE\n" and version == 1 and zlib.crc32(data[:28]) == struct.unpack_from("<I", data, 28)[0]
    while data[at:at + 4] == b"CTBK" and len(data) >= at + 80 + struct.unpack_from("<I", data.ljust(at + 80, b"\xff"), at + 8)[0]:
        (_, kind, _, columns, length, payload_crc, _, before, others_before, transitions, others, low, high,
         count) = struct.unpack_from("<4sBBHIIQQQIIQQI", data, at)
        assert zlib.crc32(data[at:at + 76]) == struct.unpack_from("<I", data, at + 76)[0]
        payload = data[at + 80:at + 80 + length]
        assert zlib.crc32(payload) == payload_crc
        at += 80 + length
        yield kind, columns, payload, (before, others_before), (transitions, others), (low, high), count, at


def facts_of(payload, columns):
    return [json.loads(line) for line in columns_of(payload, columns)[1].splitlines()]


def decode(data):
    """(facts, events and gaps, the rest) of the bytes of a file, block by block, without the index.  The rest of a file
    that was cut off is the part of its last block."""
    facts, items, nr_events, end = [], [], 0, struct.unpack_from("<H", data, 10)[0]
    for kind, columns, payload, before, own, (low, high), count, end in blocks_of(data):
        if kind == 1:
            facts += facts_of(payload, columns)
        elif kind == 2:
            block = list(events_of(columns_of(payload, columns), count))
            events = [e for e in block if "kind" in e]
            assert len(block) == count and len(events) == sum(own)
            assert nr_events == sum(before)
            assert all(low <= e["ts"] <= high for e in events)
            items += block
            nr_events += len(events)
        elif kind == 4:
            block = list(switches_of(columns_of(payload, columns), count))
            assert all(low <= s["from_ts"] and s["to_ts"] <= high for s in block)
            facts += block
    return facts, items, data[end:]


def count(data):
    """(facts, transitions, the rest) as decode() has them, from the heads of the blocks: their checksums are compared, and what
    each one says of those before it."""
    facts, sums, end = [], [0, 0], struct.unpack_from("<H", data, 10)[0]
    for kind, columns, payload, before, own, _, _, end in blocks_of(data):
        if kind == 1:
            facts += facts_of(payload, columns)
        elif kind == 2:
            assert list(before) == sums
            sums = [a + b for a, b in zip(sums, own)]
    return facts, sums[0], data[end:]


def index_of(data):
    """The entries of the index, with their sets of coroutines and sites."""
    magic, offset, blocks, _, crc = struct.unpack("<8sQQII", data[-32:])
    assert magic == b"\x89CTEND\r\n" and zlib.crc32(data[-32:-4]) == crc
    nr, length = struct.unpack_from("<H", data, offset + 6)[0], struct.unpack_from("<I", data, offset + 8)[0]
    columns = columns_of(data[offset + 80:offset + 80 + length], nr)
    sets, out = columns.get(2, b""), []

    def take_set(c):
        form = c.varint()
        if form == 1:
            low = c.varint()
            return range(low, low + c.varint() + 1)
        values, value = [], 0
        for _ in range(form // 2):
            value += c.varint()
            values.append(value)
        return values

    for at in range(0, len(columns[1]), 48):
        begin, low, high, size, items, transitions, others, where, kind, _, kinds = struct.unpack_from(
            "<QQQIIIIIBBH", columns[1], at)
        entry = {"offset": begin, "size": size, "type": kind, "min_ts": low, "max_ts": high, "items": items,
                 "events": transitions + others, "kinds": kinds}
        if where != NONE:
            c = Column(sets)
            c.at = where
            entry["coroutines"], entry["sites"] = take_set(c), take_set(c)
        out.append(entry)
    assert len(out) == blocks
    return out
