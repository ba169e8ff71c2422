# SPDX-License-Identifier: MIT
"""frame_inputs.py - recordings of frames with every type of member, and with marks."""
import json
import os
import pathlib
import struct

import recordings

HERE = pathlib.Path(__file__).resolve().parent
S = 10 ** 9
# Members by name: the format of a value, and a value for each of the frames.
VALUES = {
    "a": ("<i", -5, 2 ** 31 - 1, 0), "b": ("<i", 7, -2 ** 31, 0), "tiny": ("<b", -128, 127, 0), "byte": ("<B", 255, 1, 0), "half": ("<h", -3, 32767, 0),
    "odd": ("<3H", (1, 2, 65535), (0, 0, 0), (9, 8, 7)), "word": ("<I", 2 ** 32 - 1, 1, 0), "wide": ("<q", -2 ** 63, 2 ** 63 - 1, 0),
    "most": ("<Q", 2 ** 64 - 1, 1, 0), "f": ("<f", 0.5, -1e30, float("nan")), "d": ("<d", 0.1, float("inf"), -0.0), "yes": ("<?", True, False, True),
    "how": ("<i", 7, 8, 99), "text": ("<11s", b"plain", b"=1+1,\"q\"\n", b"elevenbytes"), "at": ("<qq", (5, 1), (5, 999999999), (0, 0)),
    "took_start": ("<qq", (5, 100), (5, 900000000), (0, 0)), "took_end": ("<qq", (5, 350), (6, 100), (0, 0)),
    "work_0_start": ("<Q", 10, 0, 5), "work_0_end": ("<Q", 25, 0, 4), "work_1_start": ("<Q", 1, 2, 3), "work_1_end": ("<Q", 4, 6, 8),
    "work_2_start": ("<Q", 0, 0, 0), "work_2_end": ("<Q", 0, 2 ** 63, 0), "depth_start": ("<i", 3, -3, 0), "depth_end": ("<i", 1, 3, 0),
    "i8_start": ("<b", -128, 1, 0), "i8_end": ("<b", 127, -1, 0), "u8_start": ("<B", 255, 1, 0), "u8_end": ("<B", 0, 3, 0),
    "i16_start": ("<h", -300, 1, 0), "i16_end": ("<h", 300, -1, 0), "u16_start": ("<H", 65535, 1, 0), "u16_end": ("<H", 0, 3, 0),
    "u32_start": ("<I", 2 ** 32 - 1, 1, 0), "u32_end": ("<I", 0, 2 ** 32 - 1, 0), "i64_start": ("<q", -2 ** 40, 1, 0), "i64_end": ("<q", 2 ** 40, -1, 0),
    "u64_start": ("<Q", 2 ** 64 - 1, 1, 0), "u64_end": ("<Q", 2 ** 64 - 2, 2 ** 63, 0), "ff_start": ("<f", 0.25, 1, 0), "ff_end": ("<f", 1, 0.5, 0),
    "dd_start": ("<d", 0.1, 1, 0), "dd_end": ("<d", 0.3, 0.5, float("nan")), "list": ("<2i", (-1, 2), (3, 4), (0, 0)),
    "reals": ("<2d", (0.5, -2.0), (1e300, 0.0), (0.0, 0.0)),
}


# With `option time counter`: readings of a counter that runs at 2 GHz.
TICKS = {"at": ("<Q", 8000000000, 9000000001, 0), "took_start": ("<Q", 8000000000, 8000000001, 0), "took_end": ("<Q", 8000000500, 9000000000, 0)}


def description(name):
    """Of every.spec, as the expected output of generate has it."""
    return json.loads((HERE / f"out/{name}.txt").read_text(encoding="utf-8").splitlines()[1])["description"]


def every_frame(layout, n, type, members):
    data = bytearray(layout[-1]["_lOffset"] + 4)
    for entry in layout:
        name, at = entry["_lName"], entry["_lOffset"]
        if name.startswith("__ppt_seqno"):
            struct.pack_into("<I", data, at, n)
        elif name == "__ppt_type":
            struct.pack_into("<I", data, at, type)
        elif name in members:
            format, *values = members[name]
            value = values[(n - 1) % 3]
            struct.pack_into(format, data, at, *(value if isinstance(value, tuple) else (value,)))
    return bytes(data)


def write_every(path, desc, members, **more):
    """Three frames of every type, and one of the other."""
    text = json.dumps({"frFormat": "1.0.0", "frDate": "2026-01-31", "frComment": "by hand", "frDeltaTime": 0, "frCounters": ["cycles", "misses", "x"],
                       "frJson": desc, **more}).encode()
    first, other = (f["_flLayout"] for f in desc["buffer"]["frames"])
    with open(path, "wb") as f:
        f.write(b"PPT1" + struct.pack(">I", len(text)) + text + b"".join(every_frame(first, n, 1, members) for n in (1, 2, 3)))
        f.write(every_frame(other, 4, 2, members))
    return path


def every(dir):
    return write_every(os.path.join(dir, "every.ppt"), description("generate-layout-json"), VALUES)


def ticks(dir):
    ours = {"format": 1, "pid": 77, "program": "/bin/ticker", "start_monotonic_ns": 4 * S, "start_realtime_ns": 1700000000 * S,
            "clock": {"ticks": 8000000000, "ns": 4 * S, "ns_per_tick": 0.5}}
    return write_every(os.path.join(dir, "ticks.ppt"), description("generate-ticks-json"), {**VALUES, **TICKS}, corotracer=ours)


def with_clock(dir, name):
    """Times of another clock, and when the recording began."""
    desc = description("generate-layout-json")
    desc["buffer"]["emit"]["_eTimeRep"] = {"tag": "ETimeSpec", "contents": "ETimeClock" + name.capitalize()}
    ours = {"format": 1, "pid": 78, "program": "/bin/clock", "start_monotonic_ns": 4 * S, "start_realtime_ns": 1700000000 * S}
    return write_every(os.path.join(dir, name + ".ppt"), desc, VALUES, corotracer=ours)


def gapped(dir):
    """Frames around a mark that says that some were lost."""
    path = os.path.join(dir, "gapped.ppt")
    with open(path, "wb") as f:
        f.write(recordings.header(recordings.FRAMES) + recordings.body(4) + recordings.mark(1, 7, 5) + recordings.body(3, 12))
    return path


def cut(dir):
    """The last frame is incomplete, and one before it is torn."""
    body = bytearray(recordings.body(6))
    body[2 * 52] ^= 0xFF
    path = os.path.join(dir, "half.ppt")
    with open(path, "wb") as f:
        f.write(recordings.header(recordings.FRAMES) + bytes(body[:-20]))
    return path


def short(dir):
    """Whole frames, and a part of one more."""
    path = os.path.join(dir, "short.ppt")
    with open(path, "wb") as f:
        f.write(recordings.header(recordings.FRAMES) + recordings.body(6)[:-20])
    return path
