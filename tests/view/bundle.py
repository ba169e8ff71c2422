# SPDX-License-Identifier: MIT
"""bundle.py - read the bundle of a page, from docs/view-format.md only."""
import base64
import gzip
import json
import math
import re
import struct

SIZES = {"u8": ("B", 1), "u16": ("H", 2), "u32": ("I", 4), "f64": ("d", 8)}


def varints(data, count):
    out, value, shift = [], 0, 0
    for byte in data:
        if byte < 128 and not shift:
            out.append(byte)
            continue
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(value)
            value = shift = 0
    assert shift == 0 and len(out) == count, (len(out), count)
    return out


class Columns:
    """A binary section: .header, and a list per column."""

    def __init__(self, data):
        (size,) = struct.unpack_from("<I", data)
        assert (4 + size) % 8 == 0, "the columns are not at a multiple of 8"
        self.header = json.loads(data[4:4 + size])
        self.rows = self.header["rows"]
        self.columns = {}
        for c in self.header["columns"]:
            assert c["offset"] % 8 == 0, c
            start = 4 + size + c["offset"]
            raw = data[start:start + c["bytes"]]
            assert len(raw) == c["bytes"], f"column {c['name']} is cut"
            self.columns[c["name"]] = self.decode(c, raw)

    @staticmethod
    def decode(c, raw):
        if c["type"] in SIZES:
            letter, size = SIZES[c["type"]]
            assert len(raw) == size * c["count"], c
            return list(struct.unpack(f"<{c['count']}{letter}", raw))
        values = varints(raw, c["count"])
        if c["type"] == "dv":
            total = 0
            for i, v in enumerate(values):
                total += v
                values[i] = total
        return values

    def __getitem__(self, name):
        return self.columns[name]

    def row(self, i):
        return {name: values[i] for name, values in self.columns.items() if len(values) == self.rows}


JSON_SECTIONS = {"meta", "report", "sites", "strings", "frames"}


def decode(name, data):
    return json.loads(data) if name in JSON_SECTIONS else Columns(data)


class Bundle:
    """All sections of a page."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.html = f.read()
        self.raw, self.sections = {}, {}
        for id, text in re.findall(r'<script type="application/octet-stream" id="ct-([a-z0-9-]+)">([A-Za-z0-9+/=]*)</script>', self.html):
            name = re.sub(r"^slices-", "slices/", id)
            assert name not in self.raw, f"{name} is there twice"
            self.raw[name] = gzip.decompress(base64.b64decode(text, validate=True))
            self.sections[name] = decode(name, self.raw[name])
        assert "<!--corotracer-data-->" not in self.html

    def __getattr__(self, name):
        return self.sections[name]

    def slices(self):
        """All slices of all blocks, as dicts with times from the origin on."""
        out = []
        for n in range(self.sections["meta"]["blocks"]):
            block = self.sections[f"slices/{n}"]
            for i in range(block.rows):
                s = block.row(i)
                s["start"] += block.header["base"]
                s["block"] = n
                out.append(s)
        return out

    def coroutines(self):
        """Number to row."""
        c = self.sections["coros"]
        return {c["nr"][i]: c.row(i) for i in range(c.rows)}


def same_time(a, b):
    return (a is None or math.isnan(a)) == (b is None) and (b is None or a == b)
