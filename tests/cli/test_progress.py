# SPDX-License-Identifier: MIT
"""test_progress.py - progress on a terminal, also after the program has ended; Ctrl-C at every stage."""
import pty
import re
import select
import threading
import time

from harness import *

LANES_TARGET = os.environ.get("LANES_TARGET", "build/tests/lanes_target")


class Terminal:
    """A command whose terminal is ours."""

    def __init__(self, *command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(str(command[0]), [str(word) for word in command])
        self.text = ""

    def read(self):
        """False at the end."""
        if not select.select([self.fd], [], [], 300)[0]:
            raise AssertionError("no output for 300 s: " + self.text[-500:])
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.text += data.decode("utf-8", "replace")
        return data

    def until(self, pattern):
        while not re.search(pattern, self.text):
            assert self.read(), f"it ended without '{pattern}': {self.text[-500:]}"

    def end(self):
        """Exit status, or a negative signal."""
        while self.read():
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def check_progress(text):
    """Percentages rise to 100, and the time to go falls."""
    shown = [int(n) for n in re.findall(r"(\d+) %", text)]
    to_go = [int(n) for n in re.findall(r"(\d+) s to go", text)]
    assert len(shown) > 3 and len(to_go) > 2, text[-2000:]
    equal(shown, sorted(shown), "percentages")
    equal(to_go, sorted(to_go, reverse=True), "seconds to go")
    equal(shown[-1], 100, "the last percentage")


class SlowPipe(threading.Thread):
    """Reads a pipe, as fast as it is told to."""

    def __init__(self, path, pause):
        super().__init__(daemon=True)
        os.mkfifo(path)
        self.path, self.pause, self.size = path, pause, 0
        self.start()

    def run(self):
        with open(self.path, "rb", buffering=0) as f:
            while True:
                data = f.read(1 << 20)
                if not data:
                    return
                self.size += data.count(b"\n")
                time.sleep(self.pause)


@test
def an_export_reaches_100_percent_and_its_end_comes_closer(dir):
    trace = dir + "/t.ct"
    equal(tool("run", "-q", "--on-full", "block", "-o", trace, "--", LANES_TARGET, "turns", 8, 1000000)[0], 0, "status of run")
    reader = SlowPipe(dir + "/pipe", 0.004)  # 46 MB of lines, 64 KiB at a time
    terminal = Terminal(TOOL, "export", "csv", "-i", trace, "-o", dir + "/pipe")
    equal(terminal.end(), 0, "status: " + terminal.text[-500:])
    reader.join(300)
    equal(reader.size, 1000001, "lines")
    check_progress(terminal.text)


@test
def so_does_a_run_after_the_end_of_its_program(dir):
    reader = SlowPipe(dir + "/pipe", 0.001)
    terminal = Terminal(TOOL, "run", "-o", dir + "/pipe", "--", LANES_TARGET, "stopped", 8, 2000000)
    equal(terminal.end(), 0, "status: " + terminal.text[-500:])
    reader.join(300)
    equal(reader.size, 2000000, "lines")
    check_progress(terminal.text)
    contains(terminal.text, "the program has ended; writing")
    contains(terminal.text, "lost: none of 2,000,000 written")


@test
def ctrl_c_ends_the_writing_of_what_is_left_and_nothing_is_uncounted(dir):
    reader = SlowPipe(dir + "/pipe", 0.003)
    terminal = Terminal(TOOL, "run", "-o", dir + "/pipe", "--", LANES_TARGET, "stopped", 8, 2000000)
    terminal.until("s to go")
    os.write(terminal.fd, b"\x03")
    terminal.end()
    reader.join(300)
    text = terminal.text.replace("\r", "")
    found = re.search(r"lost: ([\d,]+) of 2,000,000 written \([^)]*\), ([\d,]+) because a signal ended the writing", text)
    assert found, text[-1000:]
    lost, left_out = (int(n.replace(",", "")) for n in found.groups())
    equal((lost, lost + reader.size), (left_out, 2000000), "lost, and lines in the file")
    assert reader.size < 1500000, reader.size


@test
def ctrl_c_ends_an_export_that_writes_its_index(dir):
    """Between the last event and the end of the export, no item is read that could notice a signal."""
    trace = dir + "/t.ct"
    equal(tool("run", "-q", "--on-full", "block", "-o", trace, "--", LANES_TARGET, "turns", 8, 1500000)[0], 0, "status of run")
    terminal = Terminal(TOOL, "export", "sqlite", "-i", trace, "-o", dir + "/t.sqlite")
    terminal.until("100 %")
    os.write(terminal.fd, b"\x03")
    status = terminal.end()
    if status == 0:
        raise Skip("the export was complete before the signal came")
    equal((status, sorted(os.listdir(dir))), (-2, ["t.ct"]), "status and files")


if __name__ == "__main__":
    main()
