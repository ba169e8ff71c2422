# SPDX-License-Identifier: MIT
"""test_fault_servers.py - exports to a server: calls fail, and the server has everything once, or nothing."""
import gzip
import http.server
import threading

from fault_runs import *

SAMPLE = 12
LANES_TARGET = os.environ.get("LANES_TARGET", "build/tests/lanes_target")


def make_trace(dir, name="t.ct"):
    trace = os.path.join(dir, name)
    equal(tool("run", "-q", "-o", trace, "--", LANES_TARGET, "turns", 5, 200)[0], 0, "status of run")
    return trace


def explore(dir, command, *others):
    """Call sites of @others, which faults/files covers, do not count."""
    if not is_wanted(command.name):
        return
    for name, *args in others:
        Command(dir, name, *args, calls=ALL_CALLS).pass_over()
    wrong = command.explore()
    if wrong:
        raise AssertionError(f"{len(wrong)} faults:\n" + "\n".join(wrong[:100]))


class Stored(Command):
    """@clear empties the store before each run, @look says what is in it; a run that fails must leave one of @allowed."""

    def __init__(self, dir, name, clear, look, allowed, *args, **options):
        self.clear, self.look, self.allowed = clear, look, allowed
        super().__init__(dir, name, *args, same=lambda result: self.look(), calls=ALL_CALLS, sample=SAMPLE, **options)

    def fresh(self):
        super().fresh()
        self.clear()

    def judge(self, result, wanted, settings, shm):
        if result.status > 0 and result.seen not in (wanted.seen, *self.allowed):
            return f"half of it is in the store: {result.seen!r} instead of {wanted.seen!r}, status {result.status}, stderr {result.err[-400:]!r}"
        return super().judge(result, wanted, settings, shm)


# ---- a receiver of OTLP ------------------------------------------------------------------------------------


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps the requests that arrived completely."""

    def __init__(self):
        receiver, self.bodies = self, []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                size = int(self.headers["Content-Length"])
                body = self.rfile.read(size)
                if len(body) == size:
                    receiver.bodies.append(gzip.decompress(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # the command hung up


@test
def otlp(dir):
    trace, receiver = make_trace(dir), Receiver()
    command = Stored(dir, "otlp", receiver.bodies.clear, lambda: len(receiver.bodies), (0,), "export", "otlp", "-q", "--slower-than", "0",
                     "-i", trace, "-o", f"http://127.0.0.1:{receiver.server_port}")
    explore(dir, command, ("export otlp", "export", "otlp", "-q", "-i", trace, "-o", "x.otlp"))
    receiver.shutdown()


if __name__ == "__main__":
    main()
