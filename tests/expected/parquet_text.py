# SPDX-License-Identifier: MIT
"""parquet_text.py - a Parquet file as text: fields of its Thrift structures by number, and the bytes of its pages."""
import ctypes
import ctypes.util
import struct

from varints import read_varint

MAGIC = b"PAR1"
DATA, DICTIONARY = 0, 2  # kinds of pages


class Thrift:
    """The compact protocol: {field: value}."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def varint(self):
        value, self.at = read_varint(self.data, self.at)
        return value

    def number(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def binary(self):
        size = self.varint()
        self.at += size
        data = self.data[self.at - size:self.at]
        return data.decode() if all(32 <= b < 127 for b in data) else data.hex()

    def list(self):
        head = self.data[self.at]
        self.at += 1
        size = head >> 4 if head >> 4 < 15 else self.varint()
        return [self.value(head & 15, is_element=True) for _ in range(size)]

    def value(self, type, is_element=False):
        if type in (1, 2):
            if is_element:
                type = self.data[self.at]
                self.at += 1
            return type == 1
        if type == 3:
            self.at += 1
            return self.data[self.at - 1]
        if type in (4, 5, 6):
            return self.number()
        if type == 8:
            return self.binary()
        if type == 9:
            return self.list()
        if type == 12:
            return self.struct()
        raise ValueError(f"type {type} of Thrift")

    def struct(self):
        fields, number = {}, 0
        while True:
            head = self.data[self.at]
            self.at += 1
            if not head:
                return fields
            number = number + (head >> 4) if head >> 4 else self.number()
            fields[number] = self.value(head & 15)


def decompress(data, size):
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(size + 1)
    got = zstd.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    if got != size:
        raise ValueError(f"a page of {got} bytes, not {size}")
    return out.raw[:size]


def pages(data, at, end):
    """A line per page; sizes after compression depend on the version of zstd."""
    while at < end:
        thrift = Thrift(data, at)
        head = thrift.struct()
        size = head.pop(3)
        head.pop(4, None)  # checksum of the compressed bytes
        yield f"page {head}: {decompress(data[thrift.at:thrift.at + size], head[2]).hex()}"
        at = thrift.at + size


def lines(data):
    size, = struct.unpack("<I", data[-8:-4])
    footer = Thrift(data, len(data) - 8 - size).struct()
    groups = footer.pop(4)
    out = [f"{data[:4].decode()} {data[-4:].decode()}", *(f"{number}: {value}" for number, value in footer.items() if number != 2),
           *(f"schema {entry}" for entry in footer[2])]
    for group in groups:
        columns = group.pop(1)
        out.append(f"group of {group[3]} rows")
        for column in columns:
            meta = column[3]
            start = min(meta[k] for k in (9, 11) if k in meta)
            places = {k: meta.pop(k) for k in (6, 7, 9, 11) if k in meta}  # sizes and places of the pages
            out.append(f"column {meta}, pages at {sorted(k for k in places)}")
            out += pages(data, start, start + places[7])
    return out
