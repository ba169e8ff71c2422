# SPDX-License-Identifier: MIT
"""traces.py - traces to export, and the expected results."""
import json
import os

from harness import equal

MAX = 2**64 - 1
# Extreme values of every column.
LIMITS = [
    (0, 1, 0, 2, True, 1),
    (MAX, 2**31 - 1, MAX, MAX, False, MAX),
    (2**63, 7, 2**63, 2**63, True, 2**63 + 5),
    (2**63 - 1, 7, 2**63 - 1, 2**63 - 1, False, 2**63 - 1),
    (9999, 10000, 99999999, 100000000, True, 10**16),
    (10**19, 3, 0xDEADBEEF, 12, False, 10**19 + 1),
]


def line(probe_id, tid, addr, seq, is_active, ts, more=""):
    active = "true" if is_active else "false"
    return f'{{"probe_id":{probe_id},"tid":{tid},"addr":"0x{addr:016x}","seq":{seq},"is_active":{active},"ts":{ts}{more}}}\n'


def write(path, *lines):
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(lines))
    return path


def many(path, nr, coroutines=100):
    """A trace of nr events, written quickly."""
    with open(path, "w", encoding="ascii") as f:
        for start in range(0, nr, 10000):
            f.write("".join(line(i % coroutines + 1, 100 + i % 3, 0x7F0000000000 + i % 7 * 16, i // coroutines // 8 * 2 + 2,
                                 i % 2 == 0, 10**12 + i) for i in range(start, min(nr, start + 10000))))
    return path


def limits(dir):
    return write(os.path.join(dir, "limits.jsonl"), *(line(*row) for row in LIMITS))


def expected(path):
    """The rows of the first table, as text, from an independent reader of the JSON lines."""
    rows = []
    with open(path, encoding="utf-8") as f:
        for text in f:
            e = json.loads(text)
            rows.append((str(e["probe_id"]), str(e["tid"]), e["addr"], str(e["seq"]), "1" if e["is_active"] else "0", str(e["ts"])))
    return rows


# Names as a program may have them, and as a database must return them.
NAMES = {
    1: ("plain", "plain"),
    2: ("it's", "it's"),
    3: ('say "hi"', 'say "hi"'),
    4: ("back\\slash \\N \\. end\\", "back\\slash \\N \\. end\\"),
    5: ("tab\tnewline\nreturn\r", "tab\tnewline\nreturn\r"),
    6: ("'; DROP TABLE coro_trace_events; --", "'; DROP TABLE coro_trace_events; --"),
    7: ("gr\u00fcn \u7d05 \U0001f600", "gr\u00fcn \u7d05 \U0001f600"),
    8: ("zero\0inside", "zero\ufffdinside"),
    9: ("", None),
}


def named(dir):
    """A trace with a sidecar: creates, wakes, ends, sites, and names of all kinds."""
    path = os.path.join(dir, "named.jsonl")
    meta = [{"type": "run", "format": 1, "tool": "test", "command": ["x"], "pid": 5, "start_ts": 1, "start_realtime": 77, "hostname": "h",
             "arch": "x86_64", "stations": 1},
            {"type": "site", "id": 1, "file": "a'b\\c.c", "line": 10, "function": "f\"x\"", "pid": 5},
            {"type": "site", "id": 2, "file": "", "line": 4294967295, "function": "", "pid": 5}]
    lines = []
    for i, (name, _) in NAMES.items():
        birth = {"type": "birth", "ts": 100 + i, "probe_id": i, "tid": 50, "site": 1, "pid": 5}
        if i > 1:
            birth["parent"] = 1
        if name:
            birth["name"] = name
        meta.append(birth)
    lines.append(line(1, 50, 0, 2, True, 1000))
    lines.append(line(1, 50, 4096, 2, False, 1001, ',"site":2,"reason":"io-read","resource":0'))
    lines.append(line(2, 51, 4096, 2, False, 1002, f',"station":3,"reason":200,"resource":{MAX}'))
    meta.append({"type": "wake", "ts": 1003, "probe_id": 1, "tid": 51, "waker": 2, "site": 2, "seen": 2, "reason": "timer"})
    meta.append({"type": "end", "ts": 1004, "probe_id": 2, "tid": 51, "destroyed": True, "written": 9, "lost": 1})
    meta.append({"type": "coroutine", "station": None, "probe_id": 1, "pid": 5, "name": "plain", "birth_ts": 101, "dead": False,
                 "writer": "corotracer", "written": 2, "collected": 2, "lost": 0, "garbage": 0, "state": "suspended", "since_ts": 1001,
                 "site": 2, "reason": "io-read", "resource": 0})
    write(path, *lines)
    write(path + ".meta", *(json.dumps(m) + "\n" for m in meta))
    return path


def check_full(coroutines, details, sites):
    """What every database must hold for named(); all values as text, None for NULL."""
    names = {int(c["probe_id"]): c["name"] for c in coroutines}
    equal(names, {i: wanted for i, (_, wanted) in NAMES.items()}, "names")
    by_id = {c["probe_id"]: c for c in coroutines}
    first, second = by_id["1"], by_id["2"]
    equal([first[k] for k in ("run", "parent", "birth_ts", "birth_site", "end_ts", "state", "since_ts", "site", "reason", "resource", "written")],
          ["77", None, "101", "1", None, "suspended", "1001", "2", "io-read", "0", "2"], "the first")
    equal([second[k] for k in ("parent", "birth_ts", "end_ts", "destroy_ts", "state", "written", "lost")],
          ["1", "102", "1004", "1004", None, "9", "1"], "the second")
    kinds = [d["kind"] for d in details]
    equal({k: kinds.count(k) for k in kinds}, {"birth": 9, "suspend": 2, "wake": 1, "end": 1}, "kinds")
    wake = next(d for d in details if d["kind"] == "wake")
    equal([wake[k] for k in ("probe_id", "ts", "tid", "seq", "site", "reason", "peer")], ["1", "1003", "51", None, "2", "timer", "2"], "the wake")
    told = [d for d in details if d["kind"] == "suspend"]
    equal([told[0][k] for k in ("site", "reason", "resource", "station")], ["2", "io-read", "0", None], "the first suspend")
    equal([told[1][k] for k in ("site", "reason", "resource", "station")], [None, "200", str(MAX), "3"], "the second suspend")
    equal([(s["site"], s["file"], s["line"], s["function"]) for s in sites],
          [("1", "a'b\\c.c", "10", 'f"x"'), ("2", "", "4294967295", "")], "sites")


def as_text(rows):
    return [{k: None if v is None else str(v) for k, v in r.items()} for r in rows]
