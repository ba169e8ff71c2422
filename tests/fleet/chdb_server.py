# SPDX-License-Identifier: MIT
"""chdb_server.py - the current ClickHouse engine (PyPI chdb) behind as much of its HTTP interface as corotracer uses.

usage: python chdb_server.py PORT DIRECTORY

Runs in an environment that has chdb.  Prints "ready".  Statements and blocks of rows are executed by the engine, one request at a
time.  A client may have several connections open: `corotracer load` stores findings over a second one while the first one is kept.
"""
import http.server
import os
import sys
import tempfile
import threading
import urllib.parse

from chdb import session

SESSION = session.Session(sys.argv[2])
ONE_REQUEST = threading.Lock()
PASSED_ON = ("insert_deduplication_token", "max_insert_block_size", "min_insert_block_size_rows", "min_insert_block_size_bytes",
             "async_insert", "skip_unavailable_shards")


def run(sql, format="TabSeparated"):
    return SESSION.query(sql, format).bytes()


def columns_of(path, format):
    lines = run(f"DESCRIBE TABLE file('{path}', '{format}')").decode().splitlines()
    return ", ".join("`" + line.split("\t")[0] + "`" for line in lines)


def insert(sql, body, settings):
    """INSERT INTO table FORMAT Native (rows of a trace) or JSONEachRow (findings), with the rows in a file."""
    _, _, table, _, format = sql.split()
    with tempfile.NamedTemporaryFile(dir=sys.argv[2], suffix=".rows") as f:
        f.write(body)
        f.flush()
        columns = columns_of(f.name, format)
        text = ", ".join(f"{name} = '{value}'" if name.endswith("token") else f"{name} = {value}" for name, value in settings)
        run(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM file('{f.name}', '{format}')" + (f" SETTINGS {text}" if text else ""))
    return b""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        settings = [(k, v) for k, v in query.items() if k in PASSED_ON]
        try:
            with ONE_REQUEST:
                if query.get("database"):
                    run(f"USE {query['database']}")
                if query.get("query"):
                    status, answer = 200, insert(query["query"], body, settings)
                else:
                    status, answer = 200, run(body.decode())
        except Exception as e:  # pylint: disable=broad-except
            status, answer = 500, str(e).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


os.makedirs(sys.argv[2], exist_ok=True)
SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
SERVER.serve_forever()
