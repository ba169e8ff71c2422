# SPDX-License-Identifier: MIT
"""test_frames_decode.py - recordings made by hand, byte by byte, in the format of the existing tool."""
import contextlib
import csv
import resource
import sqlite3
import struct

from frames_live import *

INT = {"tag": "PIntegral", "contents": ["PPInt", None]}
BYTE = {"tag": "PIntegral", "contents": ["PPByte", None]}
DOUBLE = {"tag": "PRational", "contents": ["PPDouble", None]}
FLOAT = {"tag": "PRational", "contents": ["PPFloat", None]}
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


def header(frames, delta=0, timeval=False, counters=()):
    rep = {"tag": "ETimeVal"} if timeval else {"tag": "ETimeSpec", "contents": "ETimeClockMonotonic"}
    desc = {"abi": "1.0.0", "frames": frames, "tags": [], "metadata": [],
            "emit": {"_eBuffer": {"ebName": "Hand", "ebMinElements": None}, "_eLanguage": "ELangCpp", "_eTimeRep": rep,
                     "_eRuntime": {"erMultithread": True}, "_eTags": [["k", "v"]], "_eOptions": []},
            "target": {"tDouble": 8, "tFloat": 4, "tInt": 4, "tTime": 16, "tCounter": 8, "tPadTo": 4, "tCounterCount": 3}}
    text = json.dumps({"frFormat": "1.0.0", "frDate": "now", "frComment": "", "frDeltaTime": delta,
                       "frCounters": list(counters), "frJson": desc}).encode()
    return b"PPT1" + struct.pack(">I", len(text)) + text


def write(dir, data, name="hand.ppt"):
    path = os.path.join(dir, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


# One frame type: seqno, a, f, x_start, x_end, seqno.
A, F, X = member("a", INT), member("f", FLOAT), member("x", INT, True)
ONE = [frame("one", [A, F, X], layout([plain(A, 4, 4), plain(F, 8, 4), *ends(X, 12, 4)], 1, 24))]


def one(n, a, f=0.0, x=(0, 0), back=None):
    return struct.pack("<Iifii" + "I", n, a, f, *x, n if back is None else back)


# Two: seqno, type, t (time), d or n, seqno.
T, D, N = member("t", TIME), member("d", DOUBLE), member("n", INT)
PAD = entry("__ppt_endpad_4", 28, 4, BYTE, {"tag": "LKPadding", "contents": 4})
TWO = [frame("real", [T, D], layout([plain(T, 8, 16), plain(D, 24, 8)], 2, 36)),
       frame("whole", [T, N], layout([plain(T, 8, 16), plain(N, 24, 4), PAD], 2, 36))]


def real(n, s, ns, d):
    return struct.pack("<IIqqdI", n, 1, s, ns, d, n)


def whole(n, s, ns, i, type=2):
    return struct.pack("<IiqqiiI", n, type, s, ns, i, 0, n)


def rows(dir, name):
    with open(os.path.join(dir, name + ".csv"), newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def decoded(dir, data, *options):
    path = write(dir, data)
    out = os.path.join(dir, "out")
    status, stdout, err = tool("decode", "--json", *options, path, out)
    equal((status, stdout), (0, ""), f"status and stdout ({err})")
    return out, json.loads(err.splitlines()[-1])


@test
def one_frame_type_with_negative_numbers_and_floats(dir):
    out, summary = decoded(dir, header(ONE) + one(1, -1, 0.1, (5, -7)) + one(2, 2**31 - 1, -2.5) + one(3, -2**31, 1e-7))
    got = rows(out, "one")
    equal(list(got[0]), ["ppt_seqno", "a", "f", "x_start", "x_end", "x_delta"], "columns")
    equal([(r["ppt_seqno"], r["a"], r["f"], r["x_delta"]) for r in got],
          [("1", "-1", "0.1", "-12"), ("2", "2147483647", "-2.5", "0"), ("3", "-2147483648", "1e-07", "0")], "rows")
    equal((summary["frames"], summary["sound"]), (3, True), "summary")


@test
def a_float_is_the_same_in_a_database_by_library_and_by_client(dir):
    path, found = write(dir, header(ONE) + one(1, -1, 0.1) + one(2, 7, float("inf")) + one(3, 0, float("nan"))), []
    for more in ([], ["--db-cli", "sqlite3"]):
        database = os.path.join(dir, f"floats{len(more)}.sqlite")
        equal(tool("export", "sqlite", "-q", "-i", path, "-o", database, *more)[0], 0, f"status with {more}")
        with contextlib.closing(sqlite3.connect(database)) as db:
            found.append(db.execute("SELECT a, f FROM one").fetchall())
    equal(found, [[(-1, struct.unpack("f", struct.pack("f", 0.1))[0]), (7, float("inf")), (0, None)]] * 2, "rows")


@test
def times_have_their_offset_and_times_not_taken_are_empty(dir):
    data = real(1, 10, 5, 0.5) + whole(2, 0, 0, -3) + real(3, -1, 999999999, float("nan"))
    out, summary = decoded(dir, header(TWO, delta=3600) + data)
    equal([(r["ppt_seqno"], r["t"], r["d"]) for r in rows(out, "real")],
          [("1", "3610000000005", "0.5"), ("3", "3599999999999", "nan")], "real")
    equal([(r["t"], r["n"]) for r in rows(out, "whole")], [("", "-3")], "whole")
    equal(summary["types"], {"real": 2, "whole": 1}, "types")
    out, _ = decoded(dir, header(TWO, timeval=True) + real(1, 10, 5, 1))
    equal(rows(out, "real")[0]["t"], "10000005000", "microseconds")
    status, out, _ = tool("decode", "-q", "-f", "jsonl", write(dir, header(TWO) + data), "-")
    equal([json.loads(line)["frame"] for line in out.splitlines()], ["real", "whole", "real"], "JSON lines")
    equal(json.loads(out.splitlines()[2])["d"], None, "not a number, in JSON")


@test
def what_is_torn_foreign_or_cut_is_counted_and_left_out(dir):
    data = (real(1, 1, 0, 1) + struct.pack("<IIqqdI", 2, 1, 0, 0, 0, 3) + whole(3, 1, 1, 1, type=0) + whole(4, 1, 1, 1, type=3)
            + whole(5, 1, 1, 1, type=-1) + whole(9, 1, 1, 7) + real(10, 1, 1, 1)[:17])
    out, summary = decoded(dir, header(TWO) + data)
    equal((summary["frames"], summary["torn"], summary["foreign"], summary["cut_bytes"]), (2, 1, 3, 17), "counts")
    equal((summary["lost"], summary["sound"]), (7, False), "missing numbers")
    equal(rows(out, "whole")[0]["n"], "7", "the good one")
    _, _, err = tool("decode", write(dir, header(TWO) + data), os.path.join(dir, "again"))
    for words in ("torn", "foreign", "lost", "cut"):
        contains(err, words)


@test
def numbers_of_32_bits_that_are_full_go_on(dir):
    data = b"".join(one(n & 0xFFFFFFFF, 0) for n in range(2**32 - 3, 2**32 + 4) if n != 2**32)
    out, summary = decoded(dir, header(ONE) + data)
    first = [int(r["ppt_seqno"]) for r in rows(out, "one")]
    equal([b - a for a, b in zip(first, first[1:])], [1, 1, 2, 1, 1], "steps")


@test
def files_that_are_no_recordings_are_refused(dir):
    good = header(ONE)
    for data, words in ((b"", "is not a recording"), (b"PPT", "is not a recording"), (b"PPT2" + good[4:], "is not a recording"),
                        (good[:50], "ends in the middle"), (b"PPT1" + struct.pack("<I", 300) + good[8:], "is not valid"),
                        (b"PPT1" + struct.pack(">I", 4) + b"{]}x", "not JSON"), (b"PPT1" + struct.pack(">I", 2) + b"{}", "does not describe")):
        status, out, err = tool("decode", write(dir, data), os.path.join(dir, "out"))
        equal((status, out), (1, ""), f"status ({err})")
        contains(err, words)
        assert not os.path.exists(os.path.join(dir, "out")), "a folder for nothing"
    status, _, err = tool("decode", os.path.join(dir, "nothing"))
    contains(err, "No such file")


@test
def standard_output_takes_one_type_at_a_time(dir):
    path = write(dir, header(TWO) + real(1, 1, 0, 1) + whole(2, 1, 0, 5))
    status, out, err = tool("decode", path, "-")
    equal((status, out), (1, ""), "status and stdout")
    contains(err, "--frame")
    status, out, err = tool("decode", "-q", "--frame", "whole", path, "-")
    equal((status, out), (0, "ppt_seqno,t,n\n2,1000000000,5\n"), "one type")
    status, _, err = tool("decode", "--frame", "none", path, "-")
    contains(err, "it has real, whole")
    with open(path, "rb") as f:
        p = subprocess.run([TOOL, "decode", "-q", "-f", "jsonl", "-", "-"], stdin=f, capture_output=True, check=True)
    equal(len(p.stdout.splitlines()), 2, "lines from a pipe")


@test
def lines_of_csv_end_with_lf_unless_crlf_is_asked_for(dir):
    path = write(dir, header(TWO) + whole(2, 1, 0, 5))
    for options, end in (([], b"\n"), (["--lf"], b"\n"), (["--crlf"], b"\r\n")):
        p = subprocess.run([TOOL, "decode", "-q", *options, "--frame", "whole", path, "-"], capture_output=True, check=True, timeout=300)
        equal(p.stdout, b"ppt_seqno,t,n" + end + b"2,1000000000,5" + end, f"CSV with {options}")
    # A shell reads the last column as a number.
    p = subprocess.run(f"{TOOL} decode -q --frame whole {path} - | awk -F, 'NR > 1 {{ print $3 + 1 \"|\" $3 \"|\" }}'",
                       shell=True, capture_output=True, text=True, check=True, timeout=300)
    equal(p.stdout, "6|5|\n", "the last column in awk")


@test
def counters_have_their_names_and_the_others_are_left_out(dir):
    counter = {"tag": "PCounter", "contents": [{"tag": "NotExpanded"}, None]}
    c = member("c", counter, True)
    entries = []
    for i in range(3):
        for k, (suffix, tag) in enumerate((("start", "IntBegin"), ("end", "IntEnd"))):
            type = {"tag": "PCounter", "contents": [{"tag": "Expanded", "contents": i}, None]}
            entries.append(entry(f"c_{i}_{suffix}", 4 + 16 * i + 8 * k + 4, 8, type,
                                 {"tag": "LKMember", "contents": [c, {"tag": tag, "contents": [i, 2]}]}))
    pad = entry("__pad_4", 4, 4, BYTE, {"tag": "LKPadding", "contents": 4})
    frames = [frame("count", [c], layout([pad, *entries], 1, 60))]
    data = struct.pack("<II6QI", 1, 0, 10, 25, 2**64 - 2, 4, 1, 2, 1)
    out, _ = decoded(dir, header(frames, counters=["cycles", "instructions"]) + data)
    equal(rows(out, "count"), [{
        "ppt_seqno": "1", "c_0_start[cycles]": "10", "c_0_end[cycles]": "25", "c_0_delta[cycles]": "15",
        "c_1_start[instructions]": str(2**64 - 2), "c_1_end[instructions]": "4", "c_1_delta[instructions]": "6"}], "the row")
    # Integers of a database are signed; larger values are stored as blobs of digits.
    database = os.path.join(dir, "count.sqlite")
    equal(tool("decode", "-q", "-f", "sqlite", os.path.join(dir, "hand.ppt"), database)[0], 0, "status")
    with contextlib.closing(sqlite3.connect(database)) as db:
        row, = db.execute("SELECT * FROM count").fetchall()
    equal([v.decode() if isinstance(v, bytes) else v for v in row], [1, 10, 25, 15, str(2**64 - 2), 4, 6], "the row in a database")
    # All ones: not measured.
    data = struct.pack("<II6QI", 1, 0, 2**64 - 1, 25, 7, 2**64 - 1, 1, 2, 1)
    out, _ = decoded(dir, header(frames, counters=["cycles", "instructions"]) + data)
    equal(list(rows(out, "count")[0].values()), ["1", "", "25", "", "7", "", ""], "a row that was not measured")


@test
def memory_does_not_grow_with_the_recording(dir):
    def peak(frames):
        body = b"".join(real(n, n, n, n / 3) for n in range(1, 1001))
        path = os.path.join(dir, "big.ppt")
        with open(path, "wb") as f:
            f.write(header(TWO))
            for _ in range(frames // 1000):
                f.write(body)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        p = subprocess.run(["python3", "-c", "import os,resource,subprocess,sys\n"
                            "subprocess.run(sys.argv[1:], check=True, stderr=subprocess.DEVNULL)\n"
                            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                            TOOL, "decode", path, os.path.join(dir, "big")], capture_output=True, text=True, check=True)
        del before
        return int(p.stdout)
    small, large = peak(10000), peak(1000000)
    print(f"# peak memory: {small} KiB for 10,000 frames, {large} KiB for 1,000,000")
    assert large < small + 8192, (small, large)


@test
def a_database_takes_names_that_it_has_or_cannot_tell_apart(dir):
    # Four types: seqno, type, a, A, seqno.
    a, b = member("a", INT), member("A", INT)
    names = ["Same", "same", "recording", "sqlite_stat"]
    frames = [frame(n, [a, b], layout([plain(a, 8, 4), plain(b, 12, 4)], 4, 20)) for n in names]
    path = write(dir, header(frames) + b"".join(struct.pack("<IIiiI", i, i, 10 * i, -i, i) for i in range(1, 5)))
    out = os.path.join(dir, "names.sqlite")
    status, _, err = tool("decode", "-f", "sqlite", path, out)
    equal(status, 0, f"status ({err})")
    with contextlib.closing(sqlite3.connect(out)) as db:
        got = {t: db.execute(f'SELECT * FROM "{t}"').fetchall()
               for (t,) in db.execute("SELECT name FROM sqlite_master WHERE name <> 'recording'")}
        columns = [c[1] for c in db.execute('PRAGMA table_info("same_2")')]
        equal(db.execute("SELECT value FROM recording WHERE key = 'buffer'").fetchall(), [("Hand",)], "our table")
    equal(got, {"Same": [(1, 10, -1)], "same_2": [(2, 20, -2)], "frame_recording": [(3, 30, -3)],
                "frame_sqlite_stat": [(4, 40, -4)]}, "tables")
    equal(columns, ["ppt_seqno", "a", "A_2"], "columns")


@test
def a_frame_too_wide_for_a_table_is_said_to_be(dir):
    members = [member(f"m{i}", INT) for i in range(2500)]
    frames = [frame("wide", members, layout([plain(m, 4 + 4 * i, 4) for i, m in enumerate(members)], 1, 10008))]
    path = write(dir, header(frames) + struct.pack("<I10000xI", 1, 1))
    status, _, err = tool("decode", "-f", "sqlite", path, os.path.join(dir, "wide.sqlite"))
    equal(status, 1, "status")
    contains(err, "has 2501 columns")
    contains(err, "--format jsonl")
    equal(tool("decode", path, os.path.join(dir, "wide"))[0], 0, "status of CSV")


@test
def what_is_no_number_is_on_no_track(dir):
    data = b"".join(real(i + 1, 1 + i, 0, d) for i, d in enumerate([1.5, float("nan"), float("inf"), 2.5]))
    path = write(dir, header(TWO) + data)
    equal(tool("export", "chrome", "-f", path)[0], 0, "status")
    with open(path + ".trace.json", encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    equal([e["args"]["value"] for e in events if e["ph"] == "C"], [1.5, 2.5], "values")


@test
def chrome_gets_slices_instants_and_counters(dir):
    path = write(dir, header(TWO) + real(1, 1, 500, 1.5) + whole(2, 0, 0, 5))
    status, _, err = tool("export", "chrome", "-f", path)
    equal(status, 0, f"status ({err})")
    with open(path + ".trace.json", encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    equal([e["ph"] for e in events], ["M", "i", "C"], "events")
    equal((events[1]["ts"], events[1]["args"]["d"], events[2]["args"]["value"]), (1000000.5, 1.5, 1.5), "values")
    contains(err, "without time")
    status, _, err = tool("export", "perfetto", write(dir, b"{}"))
    equal(status, 1, "status for something else")
    equal(tool("export", "nonsense", "-f", path)[0], 2, "status for a kind that is not there")


if __name__ == "__main__":
    main()
