# SPDX-License-Identifier: MIT
"""test_truth_frames.py - `attach`, `decode`, `query` and `monitor`: a program that saves known frames, and the raw file."""
import struct

from truth import *

PROGRAM_WITH_FRAMES = os.environ.get("TRUTH_FRAMES", "build/tests/truth/truth_frames")
MARK_BACK = 0xFFFFFFFF
TICKET, LOSS, RESIZE, END = 1, 2, 3, 4
# A percentile of the monitor comes from a histogram: it is this close to the exact one.
PERCENTILE_ERROR = 0.02


def value_of(k):
    """Member v of frame k, as in frames.c."""
    return 1000 + (k * 7919 % 997) ** 3


# ---- a recording, decoded without the tool --------------------------------------------------------


class Recording:
    """The frames and marks of a recording, from its bytes."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        equal(data[:4], b"PPT1", "magic")
        size, = struct.unpack(">I", data[4:8])
        self.bytes, self.header = len(data), json.loads(data[8:8 + size])
        frames = self.header["frJson"]["frames"]
        self.layouts = [{entry["_lName"]: entry["_lOffset"] for entry in frame["_flLayout"]} for frame in frames]
        self.names = [frame["_flName"] for frame in frames]
        self.frame_size = max(offset for layout in self.layouts for offset in layout.values()) + 4
        body = data[8 + size:]
        self.cut_bytes = len(body) % self.frame_size
        self.frames, self.marks, self.torn = [], [], 0
        piece = b""
        for at in range(0, len(body) - self.cut_bytes, self.frame_size):
            piece = self.take(body[at:at + self.frame_size], piece)

    def take(self, record, piece):
        front, kind = struct.unpack_from("<II", record)
        back, = struct.unpack_from("<I", record, self.frame_size - 4)
        if (front, back, kind) == (0, MARK_BACK, 0):
            piece += record[8:-4]
            if len(piece) < 48:
                return piece
            magic, mark, _, a, b, c, d = struct.unpack_from("<IIQQQQQ", piece)
            equal(magic, 0x4B4D5443, "magic of a mark")
            self.marks.append((mark, a, b, c, d))
            return b""
        if front != back:
            self.torn += 1
        else:
            self.frames.append(self.frame(front, kind, record))
        return b""

    def frame(self, number, kind, record):
        at = self.layouts[kind - 1]
        frame = {"type": self.names[kind - 1], "number": number}
        for name, code in ("k", "<Q"), ("thread", "<I"), ("v", "<Q"), ("half", "<d"):
            if name in at:
                frame[name], = struct.unpack_from(code, record, at[name])
        if "took_start" in at:
            for end in "start", "end":
                s, ns = struct.unpack_from("<qq", record, at[f"took_{end}"])
                frame[end] = s * 10**9 + ns
        return frame

    def of(self, type):
        return [frame for frame in self.frames if frame["type"] == type]

    def sum_of(self, mark):
        return sum(m[1] for m in self.marks if m[0] == mark)

    @property
    def end(self):
        return next((m[1:] for m in self.marks if m[0] == END), None)


def wait_for_loop(pid):
    """The ring is offered before the collector is ready to see the end of the program: wait until it polls or sleeps."""
    def switches():
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            text = f.read()
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M)[1]), "State:\tS" in text

    first, (last, _), since = switches()[0], switches(), now_ns()

    def is_there():
        nonlocal last, since
        count, sleeps = switches()
        if count != last or not sleeps:
            last, since = count, now_ns()
        return count >= first + 3 or now_ns() - since > 200_000_000

    wait_until(is_there, "a collector that polls")


class Attached:
    """A program that saves @frames in each of @threads while a collector is attached to it, and ends."""

    def __init__(self, dir, threads=2, frames=4000, interval_ns=20000, options=(), stop=False, load=False, name="f.ppt",
                 json_summary=True):
        self.threads, self.per_thread, self.saved = threads, frames, threads * frames
        self.file = os.path.join(dir, name)
        self.program = popen(PROGRAM_WITH_FRAMES, threads, frames, interval_ns, stdin=subprocess.PIPE)
        equal(self.program.stdout.readline(), "ready\n", "first words of the program")
        self.began = now_ns()
        collector = popen(TOOL, "attach", "-p", self.program.pid, "-o", self.file, *(["--json"] if json_summary else []), *options)
        wait_until(self.is_attached, "a collector that is attached")
        wait_for_loop(collector.pid)
        with with_load(load):
            if stop:
                os.kill(collector.pid, signal.SIGSTOP)
            self.program.communicate("\n", timeout=300)
            if stop:
                os.kill(collector.pid, signal.SIGCONT)
            out, self.err = collector.communicate(timeout=300)
        self.ended = now_ns()
        self.status = collector.returncode
        self.collector_pid = collector.pid
        said = [line for line in self.err.splitlines() if line.startswith("{")]
        equal(len(said), int(json_summary), f"JSON objects in {self.err!r}, status {self.status}")
        self.summary = json.loads(said[0]) if said else None

    def is_attached(self):
        _, out, _ = tool("query", "-p", self.program.pid, "-l", "--json")
        return any(b.get("owner") and b["attached"] for b in json.loads(out)["buffers"])


# ---- attach ---------------------------------------------------------------------------------------------


def issued_by_program(a, recording):
    """Frames that the program saved since it mapped the ring.

    The first thread that saves maps it; the other threads save nothing until then.  From its first
    frame on every thread has all its frames in the ring; the program numbers them, from 1 on.
    """
    if a.threads == 1:
        return a.saved
    first, last = {}, {}
    for frame in recording.frames:
        first.setdefault(frame["thread"], frame["k"])
        last[frame["thread"]] = frame["k"]
    equal(set(last.values()), {a.per_thread}, "last frame of each thread")
    equal(min(first.values()), 1, "first frame of the thread that mapped the ring")
    issued = sum(a.per_thread - k + 1 for k in first.values())
    equal(max(frame["number"] for frame in recording.frames), issued, "highest number of a frame")
    return issued


@check
def attach_counts_every_frame_that_the_program_saved(n, a, recording):
    issued = issued_by_program(a, recording)
    n.equal("issued", issued)
    n.equal("recorded", len(recording.frames))
    n.equal("lost", issued - len(recording.frames))
    n.equal("dropped", 0)
    n.equal("pid", a.program.pid)


@check
def attach_knows_its_ring(n, a, slots):
    n.equal("slots", slots)
    n.equal("first_slots", slots)
    n.equal("resizes", 0)
    # The ring can be full, and the program can have saved more before the collector polls.
    n.within("fullest", 1, a.saved)
    n.within("polls", 1, (a.ended - a.began) // 1000)
    n.within("threads", 1, a.threads + 1)


@check
def attach_takes_the_time_that_passed_outside(n, a):
    n.within("ran_ns", 1, a.ended - a.began)
    n.within("stopped_ns", 0, a.ended - a.began)
    n.within("stops", 0, n["polls"])


def check_attach(a, slots):
    n, recording = Numbers("attach", a.summary), Recording(a.file)
    attach_counts_every_frame_that_the_program_saved(n, a, recording)
    attach_knows_its_ring(n, a, slots)
    attach_takes_the_time_that_passed_outside(n, a)
    n.done()
    check_contents(a, recording)
    return recording


def check_contents(a, recording):
    """Every frame is one that the program saved, each once; the end mark equals the summary."""
    seen = collections.Counter((frame["thread"], frame["k"]) for frame in recording.frames)
    equal(max(seen.values(), default=1), 1, "times that a frame is there")
    for frame in recording.frames:
        assert 1 <= frame["k"] <= a.per_thread, frame
        equal(frame["type"], "tick" if frame["k"] % 4 == 0 else "work", "type of a frame")
        if frame["type"] == "work":
            equal((frame["v"], frame["half"]), (value_of(frame["k"]), frame["k"] / 2), "members of a frame")
    issued = issued_by_program(a, recording)
    equal(recording.end[:3], (issued, len(recording.frames), issued - len(recording.frames)), "the end mark")


# ---- decode ---------------------------------------------------------------------------------------------


@check
def decode_counts_what_the_file_holds(n, recording, a):
    for name in recording.names:
        n.equal(f"types.{name}", len(recording.of(name)))
    n.equal_all("", {"frames": len(recording.frames), "torn": recording.torn, "foreign": 0,
                     "cut_bytes": recording.cut_bytes, "lost": issued_by_program(a, recording) - len(recording.frames),
                     "resizes": sum(m[0] == RESIZE for m in recording.marks), "bytes_in": recording.bytes})


@check
def decode_counts_gaps_in_the_numbers(n, recording):
    numbers = [frame["number"] for frame in recording.frames]
    late = sum(after < before for before, after in zip(numbers, numbers[1:]))
    missing = max(numbers, default=0) - min(numbers, default=1) + 1 - len(set(numbers))
    n.within("gaps", 0 if not missing else 1, max(missing, late))
    highest, above = 0, 0
    for number in numbers:
        above += number <= highest
        highest = max(highest, number)
    n.equal("out_of_order", above)


@check
def decode_counts_what_it_wrote(n, out):
    n.equal("bytes_out", sum(os.path.getsize(os.path.join(out, name)) for name in os.listdir(out)))


def check_decode(dir, a, recording, file=None):
    out = os.path.join(dir, "decoded")
    n = Numbers("decode", output_of("decode", "--json", file or a.file, out, stream="stderr"))
    decode_counts_what_the_file_holds(n, recording, a)
    decode_counts_gaps_in_the_numbers(n, recording)
    decode_counts_what_it_wrote(n, out)
    n.done()
    check_rows(out, recording)
    shutil.rmtree(out)


def check_rows(out, recording):
    """The rows of the CSV files, compared with the bytes of the frames."""
    import csv
    with open(os.path.join(out, "work.csv"), newline="", encoding="utf-8") as f:
        rows = [[r[name] for name in ("k", "v", "thread", "took_start", "took_end", "took_duration")] for r in csv.DictReader(f)]
    equal(rows, [[str(x) for x in (f["k"], f["v"], f["thread"], *interval_of(f))] for f in recording.of("work")], "rows")


def interval_of(f):
    """Start, end and duration; a thread that began before the attach has no start."""
    return (f["start"], f["end"], f["end"] - f["start"]) if f["start"] else ("", f["end"], "")


# ---- runs -----------------------------------------------------------------------------------------------


@test
def a_quiet_recording_is_counted_exactly(dir):
    a = Attached(dir, options=["--size", 4096])
    check_decode(dir, a, check_attach(a, 4096))


@test
def a_recording_of_a_busy_machine_is_counted_exactly(dir):
    a = Attached(dir, threads=3, load=True, interval_ns=50000, frames=3000, options=["--size", 4096])
    check_decode(dir, a, check_attach(a, 4096))


@test
def a_recording_with_loss_is_counted_exactly(dir):
    a = Attached(dir, threads=1, frames=40000, interval_ns=0, stop=True, options=["--size", 1024])
    recording = check_attach(a, 1024)
    assert len(recording.frames) < a.saved, "nothing was lost, so nothing was tested"
    check_decode(dir, a, recording)


@test
def a_program_that_saves_and_ends_at_once_is_counted_exactly(dir):
    for i in range(4):
        a = Attached(dir, threads=1, frames=1000, interval_ns=0, name=f"{i}.ppt")
        check_attach(a, a.summary["slots"])


@test
def a_cut_recording_is_counted_exactly(dir):
    a = Attached(dir, frames=500, options=["--size", 4096])
    with open(a.file, "rb") as f:
        data = f.read()
    cut = os.path.join(dir, "cut.ppt")
    with open(cut, "wb") as f:
        f.write(data[:-(Recording(a.file).frame_size * 20 + 7)])
    recording = Recording(cut)
    n = Numbers("decode", output_of("decode", "--json", cut, dir + "/out", stream="stderr", status=None))
    n.equal("frames", len(recording.frames))
    n.equal("cut_bytes", recording.cut_bytes)


@test
def the_text_of_attach_and_decode_has_the_same_numbers(dir):
    a = Attached(dir, threads=1, frames=20000, interval_ns=0, stop=True, options=["--size", 1024], json_summary=False)
    recording = Recording(a.file)
    lost = a.saved - len(recording.frames)
    text = Text(a.err)
    text.line(r": ([\d,]+) frames of 'Truth' in [\d.]+ \w+, some lost$", count_text(len(recording.frames)))
    text.line(r"^  ring +([\d,]+) slots, at most [\d,]+ waiting$", "1,024")
    text.line(r"^  program +process (\d+), ", a.program.pid)
    text.line(r"^  lost +([\d,]+) \((.+ %)\)$", count_text(lost), share_text(lost, a.saved))
    text.done()
    text = Text(tool("decode", a.file, dir + "/out")[2])
    text.line(r": ([\d,]+) frames \(([\d,]+) work, ([\d,]+) tick\)", count_text(len(recording.frames)),
              count_text(len(recording.of("work"))), count_text(len(recording.of("tick"))))
    text.line(r"lost +([\d,]+)", count_text(lost))
    text.done()


# ---- query ------------------------------------------------------------------------------------------------


@check
def query_knows_the_layout_of_the_generated_code(n, prefix):
    """The layout, by the rules of a compiler: each member at a multiple of its size, without overlap."""
    buffer = n.output["buffers"][0] if prefix else n.output
    n.equal(f"{prefix}frame_size", max(f["offset"] + f["size"] for frame in buffer["frames"] for f in frame["fields"]))
    n.within(f"{prefix}stride", buffer["frame_size"], buffer["frame_size"] + 64)
    for i, frame in enumerate(buffer["frames"]):
        n.equal(f"{prefix}frames[{i}].type", ["work", "tick"].index(frame["name"]) + 1)
        end = 0
        for k, field in enumerate(frame["fields"]):
            path = f"{prefix}frames[{i}].fields[{k}]"
            n.within(f"{path}.offset", end, buffer["frame_size"] - field["size"])
            sizes = {"uint64": 8, "uint32": 4, "double": 8, "time": 16}
            n.equal(f"{path}.size", sizes.get(field["type"], field["size"]))
            end = field["offset"] + field["size"]
        equal(end, buffer["frame_size"], f"end of the fields of {frame['name']}")


@check
def query_knows_process_and_owner(n, p, owner):
    n.equal("pid", p.pid)
    n.equal("buffers[0].owner", owner)


@check
def query_of_a_recording_repeats_its_header(n, a):
    n.equal("pid", a.program.pid)
    n.equal("time_offset_s", Recording(a.file).header["frDeltaTime"])


@test
def query_tells_a_process_and_a_recording_exactly(dir):
    a = Attached(dir, frames=50)
    n = Numbers("query", output_of("query", "--json", "-f", a.file))
    query_knows_the_layout_of_the_generated_code(n, "")
    query_of_a_recording_repeats_its_header(n, a)
    n.done()
    equal(n.output["frame_size"], Recording(a.file).frame_size, "size of a frame")
    p = popen(PROGRAM_WITH_FRAMES, 1, 1, 0, stdin=subprocess.PIPE)
    p.stdout.readline()
    n = Numbers("query", output_of("query", "--json", "-p", p.pid))
    query_knows_the_layout_of_the_generated_code(n, "buffers[0].")
    query_knows_process_and_owner(n, p, 0)
    n.done()
    p.communicate("\n", timeout=300)


# ---- monitor ----------------------------------------------------------------------------------------------


def monitored(options, threads, frames, interval_ns, load=False):
    """The output of a monitor of a program that saves known frames."""
    p = popen(PROGRAM_WITH_FRAMES, threads, frames, interval_ns, stdin=subprocess.PIPE)
    p.stdout.readline()
    monitor = popen(TOOL, "monitor", "-p", p.pid, *options)
    wait_until(lambda: any(b["attached"] for b in output_of("query", "-p", p.pid, "-l", "--json")["buffers"]), "a monitor")
    with with_load(load):
        p.communicate("\n", timeout=300)
        out, _ = monitor.communicate(timeout=300)
    return out


@check
def monitor_prints_frames_as_they_were_saved(n, frame):
    k = frame["k"]
    n.within("ppt_seqno", 1, 1 << 40)
    n.equal("k", k)
    n.within("thread", 0, 1)
    if frame["frame"] == "work":
        n.equal_all("", {"v": value_of(k), "half": k / 2, "took_duration": frame["took_end"] - frame["took_start"]})
        n.within("took_start", 1, frame["took_end"])
        n.within("took_end", frame["took_start"], now_ns())
    n.done()


@test
def monitor_prints_every_frame_exactly(dir):
    frames = [json.loads(line) for line in monitored(["--json"], 1, 400, 100000).splitlines()]
    equal([f["k"] for f in frames], list(range(1, 401)), "frames")
    for frame in frames:
        monitor_prints_frames_as_they_were_saved(Numbers("monitor", frame), frame)


def percentile(values, share):
    """The smallest value that this share of the values does not exceed."""
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def tables_of(out):
    """The tables of a monitor: per table {frame: (rate, total, {member: [least, median, 90 %, 99 %, most]})}."""
    tables, table, frame = [], None, None
    for line in out.splitlines():
        if " of process " in line:
            table, frame = {}, None
            tables.append(table)
        head = re.match(r"^(\w+) +([\d,]+)/s +([\d,]+) in all", line)
        if head:
            frame = table[head[1]] = (int(head[2].replace(",", "")), int(head[3].replace(",", "")), {})
        member = re.match(r"^  (\w+) +(.+)$", line)
        if member and frame:
            frame[2][member[1]] = [text_value(text) for text in re.split(r" {2,}", member[2].strip())]
    return tables


def text_value(text):
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "")) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}.get(unit, 1)


@test
def percentiles_of_the_monitor_are_those_of_the_frames(dir):
    """Frames of an interval are consecutive: least and most of k identify them, and v follows from k."""
    seen = 0
    for load in False, True:
        out = monitored(["-i", "0.5", "--size", "65536"], 1, 12000, 20000, load)
        total = 0
        for table in tables_of(out):
            if "work" not in table or not table["work"][2]:
                continue
            rate, in_all, members = table["work"]
            first, last = int(members["k"][0]), int(members["k"][4])
            values = [value_of(k) for k in range(first, last + 1) if k % 4]
            if len(values) < 1000:
                continue
            total, seen = in_all, seen + 1
            for got, share in zip(members["v"][1:4], (0.5, 0.9, 0.99)):
                wanted = percentile(values, share)
                assert abs(got - wanted) <= PERCENTILE_ERROR * wanted, f"{share} of {len(values)}: {got}, exactly {wanted}"
            equal((members["v"][0], round(members["v"][4] / max(values), 5)), (min(values), 1.0), "least and most")
        assert total <= 9000, f"{total} frames in all; the program saved 9000"
    assert seen >= 2, "no table had enough frames, so nothing was tested"


if __name__ == "__main__":
    main()
