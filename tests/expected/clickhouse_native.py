# SPDX-License-Identifier: MIT
"""clickhouse_native.py - a block of ClickHouse's Native format as text: a line per column."""
import struct

from varints import read_varint

NUMBERS = {"UInt8": "B", "UInt16": "H", "UInt32": "I", "UInt64": "Q", "Int8": "b", "Int16": "h", "Int32": "i", "Int64": "q", "DateTime": "I"}
TIMES = ("loaded", "updated")  # columns that have the time of the load


class Block:
    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value, self.at = read_varint(self.data, self.at)
        return value

    def text(self):
        size = self.varint()
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def numbers(self, code, nr):
        values = struct.unpack_from(f"<{nr}{code}", self.data, self.at)
        self.at += struct.calcsize(f"<{nr}{code}")
        return list(values)

    def words(self, nr):
        """LowCardinality: version, kind of the indexes, the dictionary, the indexes."""
        self.numbers("Q", 1)
        kind, size = self.numbers("Q", 2)
        words = [self.text() for _ in range(size)]
        self.numbers("Q", 1)
        return [words[i] for i in self.numbers("BHIQ"[kind & 255], nr)]

    def maxima(self, nr):
        return [self.numbers("Q", 1)[0] if self.numbers("B", 1)[0] else None for _ in range(nr)]

    def lists(self, type, nr):
        ends = self.numbers("Q", nr)
        values = self.column(type, ends[-1] if ends else 0)
        return [values[start:end] for start, end in zip([0, *ends], ends)]

    def column(self, type, nr):
        if type == "String":
            return [self.text() for _ in range(nr)]
        if type.startswith("LowCardinality("):
            return self.words(nr) if nr else []
        if type.startswith("Array("):
            return self.lists(type[6:-1], nr)
        if type.startswith("AggregateFunction("):
            return self.maxima(nr)
        return self.numbers("b" if type.startswith("Enum8") else NUMBERS[type], nr)

    def lines(self):
        out, (columns, rows) = [], (self.varint(), self.varint())
        for _ in range(columns):
            name, type = self.text(), self.text()
            values = self.column(type, rows)
            out.append(f"{name} {type.split('(')[0]}: {'TIME' if name in TIMES else values}")
        return out


def lines(data):
    out, block = [], Block(data)
    while block.at < len(data):
        out += block.lines()
    return out
