# SPDX-License-Identifier: MIT
"""late_proxy.py - between a loader and a ClickHouse server: one INSERT arrives late.

    proxy = LateProxy(server.http, "INSERT INTO waits ")
    ... a loader that uses proxy.port ...
    proxy.late_status, proxy.late_answer            # what the server said to the late INSERT

The first INSERT into `waits` gets no answer, and is delivered when a request comes that has the text @deliver_at: before it.
"""
import http.client
import http.server
import threading
import urllib.parse

TABLE = "INSERT INTO waits "


class LateProxy:
    def __init__(self, port, deliver_at):
        self.port_behind, self.deliver_at = port, deliver_at
        self.lock = threading.Lock()
        self.held = self.late_status = self.late_answer = None
        self.is_held = threading.Event()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                proxy.handle(self)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def pass_on(self, path, headers, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port_behind, timeout=120)
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        result = answer.status, answer.read()
        connection.close()
        return result

    def handle(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        names = {k: v for k, v in request.headers.items() if k.startswith(("X-", "Content-"))}
        statement = urllib.parse.unquote(request.path) + " " + ("" if "&query=" in request.path else body.decode())
        with self.lock:
            if TABLE in statement and not self.is_held.is_set():
                self.held = request.path, names, body
                self.is_held.set()
                request.close_connection = True
                return_late = True
            else:
                return_late = False
                if self.held and self.late_status is None and self.deliver_at in statement:
                    self.late_status, self.late_answer = self.pass_on(*self.held)
        if return_late:
            # The client gives up: it closes the connection.
            request.rfile.read(1)
            return
        status, answer = self.pass_on(request.path, names, body)
        try:
            request.send_response(status)
            request.send_header("Content-Length", str(len(answer)))
            request.end_headers()
            request.wfile.write(answer)
        except OSError:
            pass

    def close(self):
        self.server.shutdown()
        self.server.server_close()
