# SPDX-License-Identifier: MIT
"""test_monitor.py - the numbers of monitor's table, against those of a recording of the same frames."""
import ctypes
import math
import re
from collections import Counter

from harness import *

ctypes.CDLL(None).unshare(0x08000000)  # shared memory of our own, where we may: CLONE_NEWIPC

SHOWN = os.environ["SHOWN"]
NR = 60000


def wait_for_attach(program, collector):
    def attached():
        assert collector.poll() is None, f"it ended: {collector.communicate()}"
        _, out, _ = tool("query", "-p", program.pid, "-l", "--json")
        return any(b.get("owner") == collector.pid and b["attached"] for b in json.loads(out)["buffers"])
    wait_until(attached, "a collector that is attached")


def collect(*args):
    """Run a collector over one run of the program; its standard output."""
    program = popen(SHOWN, NR, stdin=subprocess.PIPE)
    equal(program.stdout.readline(), "ready\n", "first words of the program")
    collector = popen(TOOL, *args, "-p", program.pid, "--size", 1 << 17)
    wait_for_attach(program, collector)
    program.stdin.write("go\n")
    program.stdin.flush()
    equal(program.stdout.readline(), "done\n", "last words of the program")
    collector.send_signal(signal.SIGINT)
    out, err = collector.communicate(timeout=300)
    equal(collector.returncode, 0, f"status of {args[0]} ({err})")
    assert "lost" not in err or '"lost":0' in err or " 0 lost" in err, err
    program.stdin.close()
    equal(program.wait(300), 0, "status of the program")
    return out


def recorded(dir):
    path = os.path.join(dir, "r.ppt")
    collect("attach", "-o", path, "--json")
    status, out, err = tool("decode", "-q", "-f", "jsonl", "--frame", "value", path, "-")
    equal(status, 0, f"status of decode ({err})")
    frames = [json.loads(line) for line in out.splitlines()]
    equal([f["n"] for f in frames], list(range(1, NR + 1)), "frames in the recording")
    return frames


def table():
    """The last table of a monitor: line by name."""
    out = collect("monitor", "--frame", "value", "-i", 1000)
    contains(out, " 0 lost")
    lines = {}
    for line in out.splitlines():
        if line.startswith("  "):
            name, _, rest = line.strip().partition(" ")
            lines[name] = rest.strip()
        elif line.startswith("value"):
            equal(int(re.search(r"([\d,]+) in all", line).group(1).replace(",", "")), NR, "frames in all")
    return lines


def exact(values, share):
    values = sorted(values)
    return values[max(math.ceil(share * len(values)), 1) - 1]


@test
def percentiles_are_within_one_percent_of_the_exact_ones(dir):
    frames, lines = recorded(dir), table()
    for name in ("n", "latency", "load", "balance"):
        values = [f[name] for f in frames]
        got = [float(x) for x in lines[name].split()]
        equal(len(got), 5, f"columns of {name}")
        wanted = [min(values), exact(values, 0.5), exact(values, 0.9), exact(values, 0.99), max(values)]
        print(f"# {name}: {got}, exactly {wanted}")
        for g, w, column in zip(got, wanted, ("least", "median", "90 %", "99 %", "most")):
            # Six digits are printed.
            bound = 1e-5 if column in ("least", "most") else 0.01
            assert abs(g - w) <= abs(w) * bound, f"{column} of {name}: {g}, exactly {w}"


@test
def enums_booleans_and_strings_have_the_share_of_each_value(dir):
    frames, lines = recorded(dir), table()
    for name, shown in (("hit", 6), ("method", 6), ("path", 6)):
        counts = Counter(str(f[name]).lower() if name == "hit" else str(f[name]) for f in frames)
        top = sorted(counts.items(), key=lambda c: (-c[1], c[0]))[:shown]
        rest = NR - sum(nr for _, nr in top)
        wanted = [f"{text} {100 * nr / NR:.1f} %" for text, nr in top]
        if rest:
            wanted.append(f"{len(counts) - len(top)} others {100 * rest / NR:.1f} %")
        equal(lines[name], ", ".join(wanted), f"shares of {name}")


@test
def a_table_that_cannot_be_written_is_an_error(dir):
    program = popen(SHOWN, NR, stdin=subprocess.PIPE)
    equal(program.stdout.readline(), "ready\n", "first words of the program")
    with open("/dev/full", "w", encoding="ascii") as full:
        monitor = popen(TOOL, "monitor", "-p", program.pid, "-i", 0.1, stdout=full)
        # It may end before anything is saved: it writes a table every 0.1 s.
        program.stdin.write("go\n")
        program.stdin.flush()
        _, err = monitor.communicate(timeout=300)
    equal(monitor.returncode, 1, f"status of monitor ({err})")
    contains(err, "No space left on device")
    program.stdin.close()
    equal(program.wait(300), 0, "status of the program")


if __name__ == "__main__":
    main()
