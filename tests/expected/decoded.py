# SPDX-License-Identifier: MIT
"""decoded.py - files as text, by readers that know nothing of the code under test."""
import base64
import gzip
import os
import pathlib
import re
import sqlite3
import struct
import zlib

import parquet_text
from varints import read_varint

COMPRESSED_PACKETS = 50  # field of a Perfetto packet
CTF_MAGIC = b"\xc1\x1f\xfc\xc1"


def protobuf_fields(data):
    """[(field, kind, value)], or None: these bytes are not a message."""
    out, at = [], 0
    try:
        while at < len(data):
            key, at = read_varint(data, at)
            field, kind = key >> 3, key & 7
            if kind == 0:
                value, at = read_varint(data, at)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
                value, = struct.unpack_from("<Q" if kind == 1 else "<I", data, at)
                at += size
            elif kind == 2:
                size, at = read_varint(data, at)
                value = data[at:at + size]
                at += size
            else:
                return None
            if at > len(data) or not 0 < field < 10000:
                return None
            out.append((field, kind, value))
    except (IndexError, struct.error):
        return None
    return out


def is_text(data):
    return all(32 <= byte < 127 for byte in data)


def protobuf(data, depth=0):
    """A line per field; of a message one line more per field in it."""
    lines = []
    for field, kind, value in protobuf_fields(data) or []:
        indent = "  " * depth + f"{field}: "
        if kind == 2 and field == COMPRESSED_PACKETS and value.startswith(b"\x78"):
            value = zlib.decompress(value)
        if kind != 2:
            lines.append(f"{indent}{value}")
        elif is_text(value) and (len(value) > 1 or not value):
            lines.append(indent + repr(value.decode()))
        elif protobuf_fields(value) is not None:
            lines += [indent + "{", *protobuf(value, depth + 1), "  " * depth + "}"]
        else:
            lines.append(indent + value.hex())
    return lines


def read(path):
    with open(path, "rb") as f:
        return f.read()


def of_sqlite(path):
    db = sqlite3.connect(path)
    db.text_factory = lambda data: data.decode(errors="replace")
    lines = list(db.iterdump())
    db.close()
    return lines


def without_uuids(data):
    """Packets of CTF have a random number after the magic."""
    parts = data.split(CTF_MAGIC)
    return CTF_MAGIC.join([parts[0], *(bytes(16) + part[16:] for part in parts[1:])])


def text_or_hex(data):
    try:
        return data.decode().splitlines()
    except UnicodeDecodeError:
        return [data[i:i + 32].hex() for i in range(0, len(data), 32)]


def of_page(data):
    """The data in an HTML page, section by section; the rest of the page is the same for all traces."""
    lines = []
    for name, text in re.findall(rb'<script type="application/octet-stream" id="([-a-z]+)">([^<]*)</script>', data):
        section = gzip.decompress(base64.b64decode(text))
        lines += [f"section {name.decode()}", *of_section(section)]
    return lines


def of_section(section):
    """Columns are long: their description and a checksum; tests/view compares the values."""
    try:
        return section.decode().splitlines()
    except UnicodeDecodeError:
        size, = struct.unpack_from("<I", section)
        return [section[4:4 + size].decode().rstrip(), f"{len(section)} bytes, checksum {zlib.crc32(section):08x}"]


def of_generated(path):
    """Of code that `generate` wrote only the lines that are not in its templates."""
    templates = pathlib.Path(__file__).resolve().parents[2].glob("src/frames/spec/template/*.in")
    known = {line for t in templates for line in t.read_text(encoding="utf-8").splitlines()}
    return [line for line in read(path).decode().splitlines() if line not in known]


def of_file(path):
    """The lines of a file."""
    if os.path.basename(path).startswith("ppt-"):
        return of_generated(path)
    data = without_uuids(read(path))
    if path.endswith(".html"):
        return of_page(data)
    if data.startswith(b"SQLite format 3"):
        return of_sqlite(path)
    if data.startswith(parquet_text.MAGIC):
        return parquet_text.lines(data)
    if data.startswith(b"\x1f\x8b"):
        return protobuf(gzip.decompress(data))
    if path.endswith((".pftrace", ".otlp")):
        return protobuf(data)
    return text_or_hex(data)


def of_folder(folder):
    """All files below a folder, by name."""
    lines = []
    for dir, folders, files in sorted(os.walk(folder)):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(dir, name)
            lines += [f"--- {os.path.relpath(path, folder)}", *of_file(path)]
    return lines
