# SPDX-License-Identifier: MIT
"""recorder.py - an HTTP server that keeps what it receives, and answers from a table."""
import gzip
import http.server
import re
import threading
import urllib.parse

import clickhouse_native
import decoded


HEADERS = ("Content-Type", "Content-Encoding", "X-ClickHouse-User", "X-ClickHouse-Key", "X-Test", "X-More")


def split_at_commas(text):
    """Parts between commas that are in no brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def column_lines(column):
    """Name and type as the server says them; a Nested column is one array per member."""
    column = " ".join(re.sub(r" (CODEC|ALIAS|DEFAULT|TTL)\b.*", "", column.strip(), flags=re.S).split())
    name, type = column.split(" ", 1)
    if not type.startswith("Nested("):
        return f"{name}\t{type}\n"
    members = [m.strip().split(" ", 1) for m in split_at_commas(type[7:-1])]
    return "".join(f"{name}.{member}\tArray({of})\n" for member, of in members)


def columns_of(text, requests):
    """What ClickHouse says of the columns of a table that an earlier request created."""
    table = re.search(r"table = '(\w+)'", text).group(1)
    for _, _, body in requests:
        made = re.match(r"CREATE TABLE IF NOT EXISTS (\w+) \((.*?)\n\) ENGINE", body.decode(errors="replace"), re.S)
        if made and made.group(1) == table:
            return "".join(column_lines(c) for c in split_at_commas(made.group(2)))
    return ""


class Recorder:
    """Answers @answers[word] if the request contains the word; the first that fits counts.  A status that is not 200: (status, text)."""

    def __init__(self, answers):
        self.answers, self.requests = answers, []
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                recorder.handle(self)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.port = self.server.server_address[1]

    def handle(self, request):
        body = self.read_body(request)
        self.requests.append((urllib.parse.unquote_plus(request.path), request.headers, body))
        text = (self.requests[-1][0] + "\n").encode() + body
        status, answer = next((a if isinstance(a, tuple) else (200, a) for word, a in self.answers if word.encode() in text), (200, ""))
        if callable(answer):
            answer = answer(text.decode(errors="replace"), self.requests)
        request.send_response(status)
        request.send_header("Content-Length", str(len(answer.encode())))
        request.end_headers()
        request.wfile.write(answer.encode())

    def read_body(self, request):
        if request.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while True:
                size = int(request.rfile.readline(), 16)
                body += request.rfile.read(size)
                request.rfile.readline()
                if not size:
                    return body
        return request.rfile.read(int(request.headers.get("Content-Length", 0)))

    def lines(self, most, skipped):
        """All requests as text, with at most @most lines of each body; without those that begin with one of @skipped."""
        out = []
        for path, headers, body in self.requests:
            if skipped and body.startswith(skipped):
                continue
            out.append(f"--- POST {path}")
            out += [f"{name}: {headers[name]}" for name in HEADERS if headers[name] and not skipped]
            lines = clickhouse_native.lines(body) if path.endswith("FORMAT Native") else self.body_lines(headers, body)
            out += lines[:most]
        return out

    def body_lines(self, headers, body):
        if headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        if headers["Content-Type"] == "application/x-protobuf":
            return decoded.protobuf(body)
        return decoded.text_or_hex(body)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
