# SPDX-License-Identifier: MIT
"""memory_inputs.py - small memory traces, encoded from docs/memory-format.md and not by the code under test."""
import os
import struct

import debug_info as D

READ, WRITE, ATOMIC = 0, 1, 0x40
INFO, MODULES, THREADS, BLOCK, LOST, INDEX, END, STACKS = 1, 2, 3, 4, 5, 6, 7, 8


def make_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


TABLE = make_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def varint(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def zigzag(value):
    return varint(value * 2 if value >= 0 else -value * 2 - 1)


class Block:
    """Records of one thread: every address as a distance to the site's last one."""

    def __init__(self, thread, time_ns, order=0):
        self.thread, self.time_ns, self.order, self.first_order = thread, time_ns, order, order
        self.symbols = self.site_bytes = self.own = self.events = b""
        self.sites, self.names, self.nr_symbols, self.records, self.accesses, self.lost, self.left_out = {}, {}, 0, 0, 0, 0, 0
        self.event_pc = self.event_address = self.heap_pc = self.heap_address = self.last_pc = self.function = self.call = 0

    def access(self, pc, address, size=8, tag=READ, attributes=0):
        key = (pc, tag, size, attributes)
        if key not in self.sites:
            self.sites[key] = [len(self.sites), 0]
            self.site_bytes += zigzag(pc - self.last_pc) + bytes([tag, size, attributes])
            self.last_pc = pc
        site = self.sites[key]
        self.symbols += varint((site[0] + 2) << 2 | 2)
        self.own += zigzag(address - site[1])
        site[1] = address
        self.nr_symbols += 1
        self.records += 1
        self.accesses += 1

    def event(self, code, body, is_record=False):
        self.symbols += varint(1 << 2)
        self.nr_symbols += 1
        self.records += is_record
        self.events += bytes([code]) + varint(len(body)) + body

    def name(self, text):
        if text in self.names:
            return varint(self.names[text])
        self.names[text] = len(self.names) + 1
        return varint(0) + varint(len(text)) + text

    def place(self, pc, address):
        body = zigzag(pc - self.event_pc) + zigzag(address - self.event_address)
        self.event_pc, self.event_address = pc, address
        return body

    def stamp(self, order, time_ns):
        self.event(2, varint(order - self.order) + varint(time_ns - self.time_ns))
        self.order, self.time_ns = order, time_ns

    def add(self, ticket, pc, address, size, count, name):
        body = bytes([2]) + varint(ticket - self.order) + self.place(pc, address) + varint(size) + varint(count) + self.name(name)
        self.order = ticket
        self.event(3, body, True)

    def remove(self, ticket, pc, address):
        self.event(4, bytes([3]) + varint(ticket - self.order) + self.place(pc, address), True)
        self.order = ticket

    def mark(self, value, text):
        self.event(5, varint(value) + self.name(text))

    def gap(self, cause, count):
        self.event(6, varint(cause) + varint(count))
        self.lost += count if cause < 16 else 0
        self.left_out += count if cause >= 16 else 0

    def coroutine(self, id, how, text=b""):
        self.event(7, varint(id) + varint(how) + self.name(text))

    def heap(self, code, pc, address, rest=b""):
        self.event(code, b"\0" + zigzag(pc - self.heap_pc) + zigzag(address - self.heap_address) + rest)
        self.heap_pc, self.heap_address = pc, address

    def alloc(self, pc, address, size, stack=0):
        self.heap(8, pc, address, varint(size) + varint(stack))

    def free(self, pc, address):
        self.heap(9, pc, address)

    def enter(self, function, call):
        self.event(10, varint(0) + zigzag(function - self.function) + zigzag(call - self.call))
        self.function, self.call = function, call

    def leave(self, nr=1):
        self.event(11, varint(nr))

    def payload(self):
        streams = struct.pack("<8I", len(self.symbols), len(self.site_bytes), len(self.own), 0, len(self.events), len(self.sites), self.nr_symbols, 0)
        return streams + self.symbols + self.site_bytes + self.own + self.events

    def head(self, seq, first_ns):
        return struct.pack("<IIIIQQQQQQQQQ", self.thread, self.records, self.accesses, 256, self.first_order, self.order, first_ns, self.time_ns, self.lost,
                           self.left_out, seq, 0, 0)


class Container:
    def __init__(self):
        head = b"\x89CRT\r\n\x1a\n" + struct.pack("<HHIIHHQQQQI", 1, 2, 64, 0x01020304, 8, 0, 0, 10 ** 9, 1700000000 * 10 ** 9, 0, 0)
        self.data, self.number, self.entries, self.blocks = head + struct.pack("<I", crc32c(head)), 0, [], []
        self.seqs, self.lost, self.left_out = {}, 0, 0

    def chunk(self, type, stored, head=b""):
        at = len(self.data)
        start = b"\x8bCRchunk" + struct.pack("<HBBHHIIIII", type, 0, 0, len(head), 0, len(stored), len(stored), self.number, crc32c(stored), 0)
        self.data += start + struct.pack("<I", crc32c(start + head)) + head + stored
        self.number += 1
        return at

    def facts(self, *facts):
        self.chunk(INFO, b"".join(struct.pack("<HHI", key, 0, len(v)) + v for key, v in facts))

    def threads(self, *names):
        self.chunk(THREADS, b"".join(struct.pack("<IIQQQ", i, len(n), 500 + i, 10 ** 9, 0) + n for i, n in enumerate(names)))

    def module(self, path):
        self.chunk(MODULES, struct.pack("<QQQQQ32sBBHI", BIAS, BIAS + 0x1000, BIAS + 0x6000, 0, 10 ** 9, b"", 0, 0, len(path), 0) + path)

    def stack(self, number, *frames):
        self.chunk(STACKS, struct.pack("<II", number, len(frames)) + struct.pack(f"<{len(frames)}Q", *frames))

    def losses(self, thread, cause, count):
        self.chunk(LOST, struct.pack("<IIQ", thread, cause, count))
        self.lost += count

    def block(self, block, first_ns):
        seq = self.seqs.setdefault(block.thread, 0)
        self.seqs[block.thread] += 1
        at = self.chunk(BLOCK, block.payload(), block.head(seq, first_ns))
        self.entries.append(struct.pack("<QIIQQ", at, block.thread, block.records, block.first_order, first_ns))
        self.blocks.append(block)

    def write(self, path, status=0):
        index = self.chunk(INDEX, struct.pack("<QQ", 0, len(self.entries)) + b"".join(self.entries))
        end = self.chunk(END, struct.pack("<QQQQQQIIQ", len(self.blocks), sum(b.records for b in self.blocks), sum(b.accesses for b in self.blocks),
                                          self.lost + sum(b.lost for b in self.blocks), sum(b.left_out for b in self.blocks), 3 * 10 ** 9, status, 1, 0))
        foot = b"\x8dCRfoot\n" + struct.pack("<QQI", index, end, 0)
        with open(path, "wb") as f:
            f.write(self.data + foot + struct.pack("<I", crc32c(foot)))
        return path


# Functions of the program, at addresses of the file; it is mapped at BIAS.
BIAS = 0x400000
FUNCTIONS = {"main": 0x1300, "walk_all": 0x1200, "touch_counter": 0x1400, "make_nodes": 0x1100, "helper_loop": 0x2000}


TABLE_AT, TABLE_SIZE = 0x5000, 256  # a variable: struct counter table[4]
ROWS = [(0x1100, 1, 5), (0x1200, 1, 12), (0x1210, 1, 14), (0x1218, 1, 15), (0x1300, 1, 30), (0x1310, 1, 31), (0x1400, 2, 7), (0x1410, 2, 8), (0x1418, 2, 9),
        (0x2000, 2, 20), (0x2010, 2, 22), (0x2018, 2, 23)]


def types():
    """struct node { long key; struct node *next; int hits; char cold[8]; int flags; }, struct counter { long n; int last; }"""
    long = D.Entry(D.BASE_TYPE, [(D.NAME, "long int"), (D.SIZE, 8), (D.ENCODING, D.SIGNED)])
    int32 = D.Entry(D.BASE_TYPE, [(D.NAME, "int"), (D.SIZE, 4), (D.ENCODING, D.SIGNED)])
    char = D.Entry(D.BASE_TYPE, [(D.NAME, "char"), (D.SIZE, 1), (D.ENCODING, D.SIGNED_CHAR)])
    eight = D.Entry(D.ARRAY, [(D.TYPE, char)], [D.Entry(D.SUBRANGE, [(D.TYPE, long), (D.UPPER, 7)])])

    def member(name, type, offset):
        return D.Entry(D.MEMBER, [(D.NAME, name), (D.TYPE, type), (D.OFFSET, offset)])

    pointer = D.Entry(D.POINTER, [(D.SIZE, 8), (D.TYPE, long)])
    node = D.Entry(D.STRUCT, [(D.NAME, "node"), (D.SIZE, 32), (D.FILE, 1), (D.LINE, 3)],
                   [member("key", long, 0), member("next", pointer, 8), member("hits", int32, 16), member("cold", eight, 20), member("flags", int32, 28)])
    pointer.members[1] = (D.TYPE, node)
    counter = D.Entry(D.STRUCT, [(D.NAME, "counter"), (D.SIZE, 64), (D.FILE, 2), (D.LINE, 2)], [member("n", long, 0), member("last", int32, 8)])
    table = D.Entry(D.ARRAY, [(D.TYPE, counter)], [D.Entry(D.SUBRANGE, [(D.TYPE, long), (D.UPPER, 3)])])
    variable = D.Entry(D.VARIABLE, [(D.NAME, "table"), (D.TYPE, table), (D.FILE, 2), (D.LINE, 4), (D.LOCATION, b"\x03" + struct.pack("<Q", TABLE_AT))])
    return [long, int32, char, eight, pointer, node, counter, table, variable]


def program(path):
    """An ELF file with functions, lines, types and a variable."""
    functions = [D.Entry(D.SUBPROGRAM, [(D.NAME, name), (D.FILE, 2 if name in ("touch_counter", "helper_loop") else 1), (D.LINE, 5), (D.LOW, at), (D.HIGH, 0x100)])
                 for name, at in FUNCTIONS.items()]
    unit = D.Unit(D.Entry(D.COMPILE_UNIT, [(D.PRODUCER, "GNU C17 13.2"), (D.LANGUAGE, D.C99), (D.NAME, "src/walk.c"), (D.DIRECTORY, "."), (D.LOW, 0x1000),
                                           (D.HIGH, 0x2000), (D.LINES, 0)], types() + functions))
    os.makedirs(os.path.join(os.path.dirname(path), "src"), exist_ok=True)
    for name in ("walk.c", "counter.c"):
        with open(os.path.join(os.path.dirname(path), "src", name), "w", encoding="ascii") as f:
            f.writelines(f"line {n} of <{name}>;\n" for n in range(1, 41))
    info = unit.info()
    symbols = {**{name: (at, 0x100, 1, 2) for name, at in FUNCTIONS.items()}, "table": (TABLE_AT, TABLE_SIZE, 2, 1)}
    debug = {".debug_info": info, ".debug_abbrev": unit.abbreviations(), ".debug_line": D.line_table(["walk.c", "counter.c"], ROWS, 0x3000)}
    with open(path, "wb") as f:
        f.write(D.elf(b"\x90" * 0x2000, 0x1000, TABLE_AT, TABLE_SIZE, symbols, debug))
    return os.path.basename(path).encode()


def begin(dir, command=b"./walk\0007\0"):
    c, path = Container(), program(os.path.join(dir, "walk"))
    c.facts((1, struct.pack("<Q", 600)), (2, struct.pack("<Q", 599)), (3, path), (4, command), (5, b"/tmp"), (6, b"x86_64"),
            (7, b"runtime 0.9"), (8, b"level=0"), (9, b"a note"), (10, struct.pack("<Q", 64)), (11, struct.pack("<Q", 4096)))
    c.module(path)
    c.threads(b"main", b"helper")
    c.stack(1, 0x401100, 0x401200, 0x401300)
    return c


def main_block(rounds, stride):
    """Walks over an array of nodes, inside two functions and two coroutines."""
    b = Block(0, 10 ** 9)
    b.enter(0x401308, 0)
    b.alloc(0x401100, 0x600000, 64 * stride, 1)
    b.add(1, 0x401104, 0x600000, 32, 2 * stride, b"struct node")
    b.mark(1, b"begin")
    for n in range(rounds):
        if n == rounds // 2:
            b.stamp(3, 10 ** 9 + 4 * 10 ** 6)
            b.coroutine(7, 1, b"reader\0src/a.c\0read_all\00012")
        b.enter(0x401208, 0x401310)
        for i in range(24):
            b.access(0x401210, 0x600000 + i * stride, 8)
            b.access(0x401218, 0x600000 + i * stride + 16, 4, WRITE)
        b.access(0x401248, BIAS + TABLE_AT + 64 + 8, 4)
        b.access(0x401250, BIAS + TABLE_AT + n % 2 * 128, 8, WRITE)
        b.enter(0x401408, 0x401230)
        b.access(0x401410, 0x700000 + n * 64, 8, READ | ATOMIC)
        b.access(0x401418, 0x700004 + n * 4096, 4, WRITE, 1)
        b.leave(2)
    b.coroutine(0, 2)
    b.gap(1, 3)
    b.gap(17, 5)
    b.mark(2, b"end")
    b.stamp(3, 10 ** 9 + 5 * 10 ** 6)
    b.remove(4, 0x401120, 0x600000)
    b.free(0x401124, 0x600000)
    return b


def helper_block(rounds):
    b = Block(1, 10 ** 9 + 10 ** 6, 1)
    b.add(2, 0x402000, 0x700000, 64, 4, b"struct counter")
    for n in range(rounds):
        b.access(0x402010, 0x700000 + n % 4 * 64, 8, WRITE)
        b.access(0x402028, BIAS + TABLE_AT + 64, 8, WRITE)
        b.access(0x402030, BIAS + TABLE_AT, 8)
        b.access(0x402018, 0x600000 + n * 8, 1)
    b.remove(3, 0x402020, 0x700000)
    b.stamp(3, 10 ** 9 + 4 * 10 ** 6)
    return b


def container(dir, name="walk.cray", rounds=8, stride=64, has_end=True):
    c = begin(dir)
    c.block(main_block(rounds, stride), 10 ** 9)
    c.block(helper_block(rounds * 2), 10 ** 9 + 10 ** 6)
    c.losses(1, 2, 11)
    path = c.write(os.path.join(dir, name))
    if not has_end:
        with open(path, "r+b") as f:
            f.truncate(len(c.data) - 40)
    return path


def broken(dir):
    """Annotations that overlap and that were never added, and a damaged block."""
    c = begin(dir)
    b = Block(0, 10 ** 9)
    b.add(1, 0x401104, 0x600000, 32, 2, b"struct node")
    b.add(2, 0x401108, 0x600020, 32, 2, b"struct other")
    b.remove(3, 0x401110, 0x900000)
    b.access(0x401210, 0x600008, 8)
    c.block(b, 10 ** 9)
    damaged = Block(1, 10 ** 9 + 10)
    damaged.access(0x402010, 0x700000, 8, WRITE)
    c.block(damaged, 10 ** 9 + 10)
    at = len(c.data) - 3
    path = c.write(os.path.join(dir, "broken.cray"))
    with open(path, "r+b") as f:
        f.seek(at)
        f.write(b"\xff")
    return path


def raw(dir):
    """A raw trace: accesses of two threads around annotations."""
    data = b""
    for n in range(40):
        if n == 5:
            data += struct.pack("<BQQIII", 2, 0x10000, 7, 16, 4, 4) + b"node"
        if n == 30:
            data += struct.pack("<BQQ", 3, 0x10000, 7)
        data += struct.pack("<BQBQ", n & 1 | (0x40 if n % 7 == 0 else 0), 0x10000 + n * 8, 1 << n % 4, 7 + n % 2)
    path = os.path.join(dir, "raw.trace")
    with open(path, "wb") as f:
        f.write(data)
    return path
