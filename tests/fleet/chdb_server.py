# SPDX-License-Identifier: MIT
"""chdb_server.py - the current ClickHouse engine (PyPI chdb) behind as much of its HTTP interface as corotracer uses.

usage: python chdb_server.py PORT DIRECTORY

Runs in an environment that has chdb.  Prints "ready".  Statements and Native blocks are executed by the engine as they come.
"""
import http.server
import os
import sys
import tempfile
import urllib.parse

from chdb import session

SESSION = session.Session(sys.argv[2])
PASSED_ON = ("insert_deduplication_token", "max_insert_block_size", "min_insert_block_size_rows", "min_insert_block_size_bytes",
             "async_insert", "skip_unavailable_shards")


def run(sql, format="TabSeparated"):
    return SESSION.query(sql, format).bytes()


def columns_of(path):
    lines = run(f"DESCRIBE TABLE file('{path}', 'Native')").decode().splitlines()
    return ", ".join("`" + line.split("\t")[0] + "`" for line in lines)


def insert(sql, body, settings):
    """INSERT INTO table FORMAT Native, with the rows in a file."""
    with tempfile.NamedTemporaryFile(dir=sys.argv[2], suffix=".native") as f:
        f.write(body)
        f.flush()
        columns = columns_of(f.name)
        table = sql.split()[2]
        text = ", ".join(f"{name} = '{value}'" if name.endswith("token") else f"{name} = {value}" for name, value in settings)
        run(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM file('{f.name}', 'Native')" + (f" SETTINGS {text}" if text else ""))
    return b""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        settings = [(k, v) for k, v in query.items() if k in PASSED_ON]
        try:
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
SERVER = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
SERVER.serve_forever()
