# SPDX-License-Identifier: MIT
"""test_truth_load.py - the numbers of `load`, compared with the blocks that it read and with a real store."""
from fleet_servers import ClickHouse
from ship_receiver import Envelope, Head
from truth import *

LANES = os.environ["LANES_TARGET"]


def envelopes(dir):
    """The envelopes in a directory, by number."""
    found = {}
    for folder, _, names in os.walk(dir):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                e = Envelope(f.read())
            found[e.number] = e
    return found


def waits_of(trace):
    return int(tool("query", trace, "--csv", "SELECT count(*) FROM waits")[1].split()[-1])


@check
def load_counts_what_it_read_and_what_the_store_has(n, server, database, loaded, expected):
    """@loaded: envelopes that were to be loaded by this call; @expected: what is known otherwise."""
    heads = [Head(e.block) for e in loaded if e.block]
    n.equal("blocks", len(heads))
    n.equal("transitions", sum(h.transitions for h in heads))
    n.equal("others", sum(h.others for h in heads))
    n.equal("bytes", expected["bytes"])
    for key in ("waits", "runs", "complete_runs", "found", "duplicates", "repeated", "missing", "damaged", "unreadable", "waiting", "dropped"):
        n.equal(key, expected.get(key, 0))
    n.equal("inserts", expected["inserts"])
    n.equal("rows", expected["rows"])
    equal(server.value(f"SELECT count() FROM {database}.waits"), expected["stored"], "waits in the store")


class Listener:
    """Between loader and server: counts the INSERTs, their rows and their bytes as they pass."""

    def __init__(self, server):
        import http.server
        import threading
        import urllib.error
        import urllib.parse
        import urllib.request
        listener = self
        self.inserts = self.rows = self.bytes = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {k: v for k, v in self.headers.items() if k.startswith("X-ClickHouse")}
                request = urllib.request.Request(f"http://127.0.0.1:{server.http}{self.path}", body, headers)
                try:
                    with urllib.request.urlopen(request) as r:
                        status, answer = 200, r.read()
                except urllib.error.HTTPError as e:
                    status, answer = e.code, e.read()
                if "Native" in urllib.parse.unquote(self.path) and status == 200:
                    listener.note(body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def note(self, body):
        """The number of columns, then that of rows, seven bits to a byte."""
        at = rows = shift = 0
        while body[at] & 128:
            at += 1
        while True:
            at += 1
            rows |= (body[at] & 127) << shift
            shift += 7
            if not body[at] & 128:
                break
        self.inserts, self.rows, self.bytes = self.inserts + 1, self.rows + rows, self.bytes + len(body)

    def url(self, database):
        return f"clickhouse://127.0.0.1:{self.server.server_address[1]}/{database}"


def load(listener, database, dir, *args, state="state"):
    listener.inserts = listener.rows = listener.bytes = 0
    _, out, err = tool("load", "--json", "--into", listener.url(database), "--source", f"file:{dir}/out", "--state", f"{dir}/{state}", *args)
    try:
        return Numbers("load", json.loads(out)), {"inserts": listener.inserts, "rows": listener.rows, "bytes": listener.bytes}
    except ValueError:
        raise AssertionError(err) from None


@test
def numbers_of_a_load_and_of_the_same_again(dir):
    server = ClickHouse()
    listener = Listener(server)
    status, _, err = tool("run", "-q", "-o", dir + "/t.ct", "--ship", f"file:{dir}/out", "--host", "h", "--", LANES, "turns", "50", "150000")
    equal(status, 0, err)
    there, nr = envelopes(dir + "/out"), waits_of(dir + "/t.ct")
    n, seen = load(listener, "one", dir)
    load_counts_what_it_read_and_what_the_store_has(n, server, "one", there.values(),
                                                    dict(seen, waits=nr, runs=1, complete_runs=1, stored=nr))
    n.done()
    # With the same state nothing is read; with another one, everything is found.
    n, seen = load(listener, "one", dir)
    load_counts_what_it_read_and_what_the_store_has(n, server, "one", [], dict(seen, runs=1, complete_runs=1, stored=nr))
    n.done()
    n, seen = load(listener, "one", dir, state="other")
    # Waits and sums of each block of events, and of the account if waits were open.
    marks = server.value("SELECT uniq(mark) FROM one.waits_10s WHERE mark != ''")
    load_counts_what_it_read_and_what_the_store_has(n, server, "one", there.values(),
                                                    dict(seen, waits=nr, runs=1, complete_runs=1, found=2 * marks, stored=nr))
    n.done()
    # Without a block, and with one that is none.
    victim = max((k for k, e in there.items() if e.block), key=lambda k: Head(there[k].block).transitions)
    folder = next(root for root, _, files in os.walk(dir + "/out") if files)
    path = f"{folder}/{victim:020}.ctblock"
    os.remove(path)
    n, seen = load(listener, "two", dir, state="two")
    before = [e for k, e in there.items() if k < victim]
    stored = server.value("SELECT count() FROM two.waits")
    load_counts_what_it_read_and_what_the_store_has(n, server, "two", before, dict(seen, waits=stored, runs=1, waiting=len(there) - len(before) - 1,
                                                                                   stored=stored))
    n.done()
    with open(path, "wb") as f:
        f.write(b"nonsense")
    n, seen = load(listener, "three", dir, "--gap", "0", state="three")
    stored = server.value("SELECT count() FROM three.waits")
    rest = [e for k, e in there.items() if k != victim]
    load_counts_what_it_read_and_what_the_store_has(n, server, "three", rest, dict(seen, waits=stored, runs=1, complete_runs=1, missing=1, unreadable=1,
                                                                                   stored=stored))
    n.done()


if __name__ == "__main__":
    main()
