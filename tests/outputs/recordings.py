# SPDX-License-Identifier: MIT
"""recordings.py - recordings of frames and raw memory traces, written byte by byte."""
import json
import struct

INT = {"tag": "PIntegral", "contents": ["PPInt", None]}
DOUBLE = {"tag": "PRational", "contents": ["PPDouble", None]}
TIME = {"tag": "PTime", "contents": None}


def member(name, type, interval=False):
    return {"fmName": name, "fmDifferential": interval, "fmType": type}


def entry(name, offset, size, type, kind):
    return {"_lName": name, "_lOffset": offset, "_lSize": size, "_lAlignment": size, "_lType": type, "_lKind": kind}


def plain(m, offset, size):
    return entry(m["fmName"], offset, size, m["fmType"], {"tag": "LKMember", "contents": [m, None]})


def ends(m, offset, size):
    return [entry(m["fmName"] + suffix, offset + i * size, size, m["fmType"],
                  {"tag": "LKMember", "contents": [m, {"tag": tag, "contents": [0, 1]}]})
            for i, (suffix, tag) in enumerate((("_start", "IntBegin"), ("_end", "IntEnd")))]


def layout(fields, types, size):
    head = [entry("__ppt_seqno", 0, 4, INT, {"tag": "LKSeqno", "contents": "FrontSeq"})]
    if types > 1:
        head.append(entry("__ppt_type", 4, 4, INT, {"tag": "LKTypeDescrim", "contents": types}))
    back = [entry("__ppt_seqno_back", size - 4, 4, INT, {"tag": "LKSeqno", "contents": "BackSeq"})]
    return head + fields + back


def frame(name, members, entries):
    return {"_flName": name, "_flLayout": entries,
            "_flFrame": {"_frameName": name, "_frameElements": [{"tag": "FMemberElem", "contents": m} for m in members]}}


def header(frames, clock="ETimeClockMonotonic", **more):
    desc = {"abi": "1.0.0", "frames": frames, "tags": [], "metadata": [],
            "emit": {"_eBuffer": {"ebName": "Hand", "ebMinElements": None}, "_eLanguage": "ELangCpp",
                     "_eTimeRep": {"tag": "ETimeSpec", "contents": clock},
                     "_eRuntime": {"erMultithread": True}, "_eTags": [], "_eOptions": []},
            "target": {"tDouble": 8, "tFloat": 4, "tInt": 4, "tTime": 16, "tCounter": 8, "tPadTo": 4, "tCounterCount": 3}}
    text = json.dumps({"frFormat": "1.0.0", "frDate": "now", "frComment": "", "frDeltaTime": 0,
                       "frCounters": [], "frJson": desc, **more}).encode()
    return b"PPT1" + struct.pack(">I", len(text)) + text


# "job": seqno, type, an interval of time "run", a double "load", seqno.
# "tick": seqno, type, a time "at", padding, an int "depth", seqno.
RUN, LOAD = member("run", TIME, True), member("load", DOUBLE)
AT, DEPTH = member("at", TIME), member("depth", INT)
PAD = entry("__ppt_endpad_28", 28, 20, INT, {"tag": "LKPadding", "contents": 20})
FRAMES = [frame("job", [RUN, LOAD], layout([*ends(RUN, 8, 16), plain(LOAD, 40, 8)], 2, 52)),
          frame("tick", [AT, DEPTH], layout([plain(AT, 8, 16), plain(DEPTH, 24, 4), PAD], 2, 52))]


def job(n, start_ns, end_ns, load):
    a, b = divmod(start_ns, 10**9), divmod(end_ns, 10**9)
    return struct.pack("<IIqqqqdI", n, 1, *a, *b, load, n)


def tick(n, at_ns, depth):
    return struct.pack("<IIqqi20xI", n, 2, *divmod(at_ns, 10**9), depth, n)


def mark(kind, a=0, b=0, c=0, d=0, time_ns=0):
    """A mark between frames, in as many records as it needs."""
    data = struct.pack("<4sIQQQQQ", b"CTMK", kind, time_ns, a, b, c, d)
    return b"".join(struct.pack("<II40sI", 0, 0, data[i:i + 40], 0xFFFFFFFF) for i in range(0, len(data), 40))


def body(nr, first=1, at_ns=5 * 10**9):
    """Frames with numbers from @first on: jobs, and every fourth a tick."""
    return b"".join(tick(n, at_ns + n * 1000, n % 50) if n % 4 == 0 else
                    job(n, at_ns + n * 1000, at_ns + n * 1000 + 700 + n % 7, n / 8)
                    for n in range(first, first + nr))


def recording(path, nr, **kwargs):
    with open(path, "wb") as f:
        f.write(header(FRAMES, **kwargs) + body(nr))
    return path


def accesses(nr, first=0):
    """Reads and writes of two threads, as raw records."""
    return b"".join(struct.pack("<BQBQ", n & 1, 0x10000 + n * 2654435761 % (1 << 30), 8, 7 + n % 2)
                    for n in range(first, first + nr))


def memory_trace(path, nr):
    with open(path, "wb") as f:
        f.write(accesses(nr))
    return path
