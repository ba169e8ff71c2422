# SPDX-License-Identifier: MIT
"""debug_info.py - an ELF file with symbols and DWARF 4, made by hand: the same bytes with every compiler."""
import struct

# Codes of DWARF.
COMPILE_UNIT, BASE_TYPE, POINTER, STRUCT, MEMBER, ARRAY, SUBRANGE, SUBPROGRAM, VARIABLE, TYPEDEF = 0x11, 0x24, 0x0F, 0x13, 0x0D, 0x01, 0x21, 0x2E, 0x34, 0x16
NAME, SIZE, ENCODING, TYPE, LOCATION, OFFSET, UPPER, LOW, HIGH, LINES, LANGUAGE, FILE, LINE, DIRECTORY, PRODUCER = (
    0x03, 0x0B, 0x3E, 0x49, 0x02, 0x38, 0x2F, 0x11, 0x12, 0x10, 0x13, 0x3A, 0x3B, 0x1B, 0x25)
ADDRESS, DATA1, DATA8, STRING, REFERENCE, BLOCK, SECTION_OFFSET = 0x01, 0x0B, 0x07, 0x08, 0x13, 0x18, 0x17
FORMS = {NAME: STRING, SIZE: DATA1, ENCODING: DATA1, TYPE: REFERENCE, LOCATION: BLOCK, OFFSET: DATA1, UPPER: DATA1, LOW: ADDRESS, HIGH: DATA8,
         LINES: SECTION_OFFSET, LANGUAGE: DATA1, FILE: DATA1, LINE: DATA1, DIRECTORY: STRING, PRODUCER: STRING}
SIGNED, UNSIGNED, SIGNED_CHAR, FLOAT = 5, 7, 6, 4
C99 = 12


def uleb(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


class Entry:
    """@members: [(attribute, value)]; of TYPE the value is another entry."""

    def __init__(self, tag, members, children=()):
        self.tag, self.members, self.children, self.at = tag, members, children, 0

    def shape(self):
        return self.tag, bool(self.children), tuple(a for a, _ in self.members)


def encode_value(attribute, value):
    form = FORMS[attribute]
    if form == STRING:
        return value.encode() + b"\0"
    if form == REFERENCE:
        return struct.pack("<I", value.at)
    if form == BLOCK:
        return uleb(len(value)) + value
    return struct.pack({ADDRESS: "<Q", DATA1: "<B", DATA8: "<Q", SECTION_OFFSET: "<I"}[form], value)


class Unit:
    def __init__(self, root):
        self.root, self.shapes = root, []

    def encode(self, entry, at):
        """The bytes of an entry that begins at @at of the unit."""
        entry.at = at
        if entry.shape() not in self.shapes:
            self.shapes.append(entry.shape())
        data = uleb(self.shapes.index(entry.shape()) + 1) + b"".join(encode_value(a, v) for a, v in entry.members)
        for child in entry.children:
            data += self.encode(child, at + len(data))
        return data + (b"\0" if entry.children else b"")

    def info(self):
        self.encode(self.root, 11)  # the first time finds the places that the second time refers to
        body = struct.pack("<HIB", 4, 0, 8) + self.encode(self.root, 11)
        return struct.pack("<I", len(body)) + body

    def abbreviations(self):
        out = b""
        for i, (tag, has_children, attributes) in enumerate(self.shapes):
            out += uleb(i + 1) + uleb(tag) + bytes([has_children]) + b"".join(uleb(a) + uleb(FORMS[a]) for a in attributes) + b"\0\0"
        return out + b"\0"


def line_table(files, rows, end):
    """@rows: [(address, file, line)], files from 1 on."""
    head = struct.pack("<BBBBBB", 1, 1, 1, 251, 14, 10) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])
    head += b"src\0\0" + b"".join(f.encode() + b"\0\1\0\0" for f in files) + b"\0"
    code, line = b"", 1
    for address, file, number in rows:
        delta = number - line
        code += b"\0\x09\x02" + struct.pack("<Q", address) + b"\x04" + uleb(file) + b"\x03" + sleb(delta) + b"\x01"
        line = number
    code += b"\0\x09\x02" + struct.pack("<Q", end) + b"\0\1\1"
    body = struct.pack("<HI", 4, len(head)) + head + code
    return struct.pack("<I", len(body)) + body


def sleb(value):
    out = b""
    while not -64 <= value < 64:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value & 127])


def section(name, kind, flags, address, offset, size, link=0, info=0, entry=0):
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, address, offset, size, link, info, 8 if kind == 2 else 1, entry)


def symbol_table(symbols):
    """(symbols, names); @symbols: {name: (address, size, section, kind)}."""
    names, table = b"\0", bytes(24)
    for name, (address, size, where, kind) in symbols.items():
        table += struct.pack("<IBBHQQ", len(names), 0x10 | kind, 0, where, address, size)
        names += name.encode() + b"\0"
    return table, names


def elf(code, code_at, data_at, data_size, symbols, debug):
    """Sections: 1 .text, 2 .bss, then those of @debug ({name: bytes}), symbols, names."""
    table, names = symbol_table(symbols)
    parts = {**debug, ".symtab": table, ".strtab": names}
    titles, places = b"\0.text\0.bss\0", {}
    body = b""
    for name, data in parts.items():
        places[name] = (len(titles), code_at + len(code) + len(body), len(data))
        titles += name.encode() + b"\0"
        body += data + bytes(-len(data) % 8)
    titles += b".shstrtab\0"
    titles_at = code_at + len(code) + len(body)
    end = titles_at + len(titles) + 7 & ~7
    heads = bytes(64) + section(1, 1, 6, code_at, code_at, len(code)) + section(7, 8, 3, data_at, code_at + len(code), data_size)
    for i, name in enumerate(parts):
        kind = {".symtab": 2, ".strtab": 3}.get(name, 1)
        title, at, size = places[name]
        heads += section(title, kind, 0, 0, at, size, i + 4 if kind == 2 else 0, 1 if kind == 2 else 0, 24 if kind == 2 else 0)
    nr = len(parts) + 4
    heads += section(len(titles) - 10, 3, 0, 0, titles_at, len(titles))
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, code_at, 64, end, 0, 64, 56, 2, 64, nr, nr - 1)
    head += struct.pack("<IIQQQQQQ", 1, 5, code_at, code_at, code_at, len(code), len(code), 0x1000)
    head += struct.pack("<IIQQQQQQ", 1, 6, code_at + len(code), data_at, data_at, 0, data_size, 0x1000)
    return (head.ljust(code_at, b"\0") + code + body + titles).ljust(end, b"\0") + heads
