# SPDX-License-Identifier: MIT
"""test_serve.py - the page of a finished trace from the server, and the answers to unauthorized clients."""
import random
import socket

from live import *
from bundle import Bundle, Columns  # noqa: E402 - found by way of live
from checks import as_in_the_page  # noqa: E402

SLOWNESS = 10 if os.environ.get("SANITIZE") and os.environ.get("COROTRACER_FULL") != "1" else 1


def churn(dir, n=3000):
    trace = os.path.join(dir, "t.jsonl")
    equal(tool("run", "-q", "-o", trace, "--", FLIGHT_TARGET, "churn", n, env=ENV)[0], 0, "status of run")
    return trace


def end(server):
    server.p.send_signal(signal.SIGINT)
    _, err = server.p.communicate(timeout=300)
    equal(server.p.returncode, 0, f"status of serve: {err}")
    return err


def still_serves(server):
    equal(server.request("")[0], 200, "status of the page")
    return server.json("meta")


@test
def the_sections_are_those_of_the_page_in_a_file(dir):
    for trace in (churn(dir, 40000 // SLOWNESS), os.path.join(FIXTURES, "garbage.jsonl")):
        template, page = os.path.join(dir, "template.html"), os.path.join(dir, "page.html")
        with open(template, "w", encoding="utf-8") as f:
            f.write("<!doctype html><!--corotracer-data-->")
        equal(tool("html", "-q", "--page", template, "-o", page, trace)[0], 0, "status of html")
        bundle, server = Bundle(page), serve(trace)
        assert len(bundle.raw) >= 8, bundle.raw.keys()
        for name, data in bundle.raw.items():
            equal(server.section(name) == data, True, f"section {name} of {trace} is the same")
        status, out, _ = tool("report", "--json", trace)
        equal(server.json("report"), as_in_the_page(json.loads(out)), "the report")
        end(server)


@test
def the_page_is_the_one_that_was_built_in(dir):
    trace, page = churn(dir), os.path.join(dir, "page.html")
    if tool("html", "-q", "-o", page, trace)[0] != 0:
        raise Skip("built without the page")
    with open(page, encoding="utf-8") as f:
        parts = re.sub(r'<script type="application/octet-stream".*</script>\n?', "\0", f.read(), flags=re.S).split("\0")
    server = serve(trace)
    body = server.request("")[2].decode()
    contains(body, parts[0][:2000])
    contains(body, "<!--corotracer-data-->")
    end(server)


@test
def a_ctf_trace_and_one_of_another_tool_are_served(dir):
    ctf = os.path.join(dir, "t.ctf")
    equal(tool("run", "-q", "-o", ctf, "--", FLIGHT_TARGET, "churn", 100, env=ENV)[0], 0, "status of run")
    for trace, coroutines in ((ctf, 101), (os.path.join(FIXTURES, "older-tool.jsonl"), None)):
        server = serve(trace)
        meta = still_serves(server)
        assert not meta["live"] and meta["ended"], meta
        if coroutines:
            equal(meta["totals"]["coroutines"], coroutines, "coroutines")
        end(server)


@test
def without_the_secret_there_is_nothing(dir):
    server = serve(churn(dir))
    token = server.path.strip("/")
    equal(len(token), 32, "length of the token")
    almost = token[:-1] + ("0" if token[-1] != "0" else "1")
    answers = set()
    for path in ("/", "/api/meta", f"/{almost}/", f"/{almost}/api/meta", f"/{token[:-1]}/", f"/{token.upper()}x/", "/" + "0" * 32 + "/", "/favicon.ico",
                 f"//{token}/", f"/x/{token}/", "/%00", f"/{token[:16]}%00{token[17:]}/"):
        status, headers, body = server.request(path)
        equal(status, 404, f"status of {path}")
        answers.add((body, tuple(sorted(h for h in headers.keys()))))
    equal(len(answers), 1, "different answers to those who do not know")
    equal(server.request(f"/{token}")[0], 308, "status without the slash")
    equal(server.request(f"/{token}")[1]["Location"], f"/{token}/", "where to")
    for path in ("nothing", "api/", "api/nothing", "api/slices/99999", "api/slices/x", "api/slices/-1", "api/../api/meta", "api/" + "x" * 300):
        equal(server.request(path)[0], 404, f"status of {path}")
    end(server)


@test
def two_servers_have_two_secrets(dir):
    trace = churn(dir)
    a, b = serve(trace), serve(trace)
    assert a.path != b.path and a.port != b.port
    equal(b.request(a.path)[0], 404, "status with the other's token")
    end(a)
    end(b)


@test
def only_its_own_name_is_answered(dir):
    server = serve(churn(dir))
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", f"127.0.0.1:{server.port + 1}", f"localhost.evil.example:{server.port}", "",
                 f"127.0.0.1.evil.example:{server.port}", ":", f":{server.port}", "x" * 5000, f"[::2]:{server.port}", f"192.168.1.1:{server.port}"):
        status, headers, body = server.request("api/meta", headers={"Host": host})
        assert status in (400, 403), (host[:40], status)
        assert b"coroutines" not in body
    for host in (f"127.0.0.1:{server.port}", f"localhost:{server.port}", f"LOCALHOST:{server.port}", f"[::1]:{server.port}"):
        equal(server.request("api/meta", headers={"Host": host})[0], 200, f"status for {host}")
    with socket.create_connection((server.host, server.port), timeout=300) as s:
        s.sendall(f"GET {server.path} HTTP/1.0\r\n\r\n".encode())
        contains(s.recv(4096).decode().split("\r\n")[0], " 403 ")
    end(server)


@test
def only_get_and_head_are_allowed(dir):
    server = serve(churn(dir))
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND", "BREW"):
        status, headers, _ = server.request("", method=method)
        equal((status, headers["Allow"]), (405, "GET, HEAD"), f"answer to {method}")
    status, headers, body = server.request("api/report", method="HEAD")
    equal((status, body), (200, b""), "HEAD")
    equal(server.request("api/live", method="HEAD")[0], 200, "HEAD of the stream")
    # A client that announces a body is answered before the body arrives.
    with socket.create_connection((server.host, server.port), timeout=300) as s:
        s.sendall(f"POST {server.path} HTTP/1.1\r\nHost: {server.netloc}\r\nContent-Length: 100000000000\r\n\r\n".encode())
        contains(s.recv(4096).decode().split("\r\n")[0], " 405 ")
    equal(server.request("api/meta", body=b"x" * 100000)[0], 200, "GET with a body")
    end(server)


@test
def every_answer_has_its_policy(dir):
    server = serve(churn(dir))
    for path in ("", "api/meta", "api/live", "nothing", "/nothing"):
        headers = server.request(path)[1]
        policy = headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "frame-ancestors 'none'"):
            contains(policy, part)
        assert "unsafe" not in policy and "*" not in policy, policy
        equal((headers["X-Content-Type-Options"], headers["Referrer-Policy"], headers["Cache-Control"]), ("nosniff", "no-referrer", "no-store"), path)
        assert not [h for h in headers if h.lower().startswith("access-control")], "CORS"
        assert not headers["Set-Cookie"] and not headers["Server"], headers
    end(server)


@test
def gzip_is_for_those_who_accept_it(dir):
    server = serve(churn(dir))
    for _ in range(2):
        status, headers, body = server.request("api/meta")
        equal((status, headers["Content-Encoding"]), (200, None), "plain")
        equal(json.loads(body), server.json("meta"), "meta")
    Columns(server.section("coros"))
    end(server)


def raw(server, data, half_close=True):
    """Send bytes, read until the other side closes or sends nothing for a moment."""
    with socket.create_connection((server.host, server.port), timeout=5) as s:
        try:
            s.sendall(data)
            if half_close:
                s.shutdown(socket.SHUT_WR)
            return s.recv(65536)
        except OSError:  # it did not wait for the rest
            return b""


@test
def requests_that_are_too_large_are_refused(dir):
    server = serve(churn(dir))
    host = f"Host: {server.netloc}\r\n"
    for data in (f"GET /{'a' * 100000} HTTP/1.1\r\n{host}\r\n",
                 f"GET {server.path}?{'a=b&' * 20000} HTTP/1.1\r\n{host}\r\n",
                 f"GET {server.path} HTTP/1.1\r\n{host}X: {'a' * 100000}\r\n\r\n",
                 f"GET {server.path} HTTP/1.1\r\n{host}" + "X: y\r\n" * 20000 + "\r\n"):
        got = raw(server, data.encode()).split(b"\r\n")[0]
        assert not got or re.match(rb"HTTP/1\.1 4(00|13|14|31) ", got), got
    still_serves(server)
    end(server)


@test
def junk_harms_nobody(dir):
    server = serve(churn(dir, 100))
    random.seed(7)
    good = f"GET {server.path}api/meta HTTP/1.1\r\nHost: {server.netloc}\r\n\r\n".encode()
    for i in range(250):
        kind = i % 5
        if kind == 0:
            data = random.randbytes(random.randrange(1, 3000))
        elif kind == 1:  # pipelined, with junk between
            data = good * 3 + random.randbytes(50) + good
        elif kind == 2:  # a valid one with one byte changed
            at = random.randrange(len(good))
            data = good[:at] + random.randbytes(1) + good[at + 1:]
        elif kind == 3:  # cut off
            data = good[:random.randrange(len(good))]
        else:
            data = good.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + random.randbytes(20))
        raw(server, data)
    still_serves(server)
    assert "Sanitizer" not in end(server)


@test
def slow_clients_keep_nobody_waiting(dir):
    coroutines = 20000 // SLOWNESS
    trace = churn(dir, coroutines)
    server = serve(trace)
    slow = []
    for i in range(200):
        s = socket.create_connection((server.host, server.port), timeout=300)
        slow.append(s)
        if i % 3 == 0:  # a request that never ends
            s.sendall(f"GET {server.path} HT".encode())
        elif i % 3 == 1:  # an answer that is never read
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(f"GET {server.path}api/coros HTTP/1.1\r\nHost: {server.netloc}\r\n\r\n".encode())
        else:  # and one that never ends, not read either
            s.sendall(f"GET {server.path}api/live HTTP/1.1\r\nHost: {server.netloc}\r\n\r\n".encode())
    for _ in range(20):
        equal(still_serves(server)["totals"]["coroutines"], coroutines + 1, "coroutines")
    for s in slow[::10]:
        s.sendall(b"x")
    equal(len(Columns(server.section("coros"))["nr"]), coroutines + 1, "rows")
    err = end(server)
    assert "Sanitizer" not in err, err
    for s in slow:
        s.close()


@test
def more_clients_than_there_is_room_for(dir):
    server = serve(churn(dir, 100))
    held = []
    try:
        for _ in range(700):
            held.append(socket.create_connection((server.host, server.port), timeout=10))
    except OSError:
        pass
    assert len(held) > 400, len(held)
    for s in held:
        s.close()
    wait_until(lambda: answers(server), "an answer when they are gone")
    end(server)


def answers(server):
    try:
        return server.request("api/meta")[0] == 200
    except OSError:
        return False


@test
def the_stream_of_a_finished_trace_ends(dir):
    server = serve(churn(dir, 100))
    tick = server.json("meta")["tick"]
    stream = Stream(server)
    wait_until(lambda: stream.closed, "the end of the stream")
    equal([d["tick"] for d in stream.deltas()], [tick], "ticks")
    equal(stream.events[-1].get("event"), "ended", "the last event")
    assert "id" in stream.events[1], stream.events[1].keys()
    # A client that is up to date only receives the end; so does a browser that reconnects.
    for stream in (Stream(server, tick), Stream(server, 0, {"Last-Event-ID": str(tick)}), Stream(server, tick, {})):
        wait_until(lambda: stream.closed, "the end of the stream")
        equal((stream.deltas(), stream.ended()), ([], True), "what it was told")
    # Ticks of another server, or invalid numbers, mean: everything.
    for since in (tick + 1000, "x", "-1", "99999999999999999999999999"):
        stream = Stream(server, since)
        wait_until(lambda: stream.closed, "the end of the stream")
        equal(len(stream.deltas()), 1, f"deltas since {since}")
    end(server)


@test
def the_url_is_printed_as_asked(dir):
    trace = churn(dir, 100)
    p = popen(TOOL, "serve", "--json", "-q", trace)
    told = json.loads(p.stdout.readline())
    equal((told["trace"], told["live"], told["port"]), (trace, False, urlsplit(told["url"]).port), "what it says")
    equal(Server(told["url"]).request("")[0], 200, "status")
    p.send_signal(signal.SIGTERM)
    _, err = p.communicate(timeout=300)
    equal((p.returncode, err), (0, ""), "status and stderr")


@test
def a_port_that_is_taken_is_told(dir):
    trace = churn(dir, 100)
    server = serve(trace)
    status, out, err = tool("serve", "--port", server.port, trace)
    equal((status, out), (1, ""), "status")
    contains(err, f"cannot serve at 127.0.0.1 port {server.port}: Address already in use")
    contains(err, "hint: ")
    marker = os.path.join(dir, "started")
    status, out, err = tool("run", f"--serve={server.port}", "-o", os.path.join(dir, "x.jsonl"), "--", "touch", marker)
    equal(status, 1, "status of run")
    contains(err, "Address already in use")
    assert not os.path.exists(marker) and not os.path.exists(os.path.join(dir, "x.jsonl")), "it was started"
    end(server)


@test
def another_address_is_warned_about(dir):
    trace = churn(dir, 100)
    server = serve("--bind", "0.0.0.0", trace)
    for host, status in ((f"127.0.0.1:{server.port}", 200), (f"10.1.2.3:{server.port}", 200), (f"localhost:{server.port}", 200),
                         (f"evil.example:{server.port}", 403)):
        equal(server.request("", headers={"Host": host})[0], status, f"status for {host}")
    contains(end(server), "warning: other machines can reach 0.0.0.0")
    server = serve("--bind", "127.0.0.2", trace)
    equal(server.host, "127.0.0.2", "address")
    equal(server.request("")[0], 200, "status")
    assert "warning" not in end(server)
    for bad in ("evil.example", "1.2.3.4.5", ""):
        status, _, err = tool("serve", "--bind", bad, trace)
        equal(status, 1, f"status for {bad!r}")
        contains(err, "is not an address")


@test
def what_cannot_be_served_is_told(dir):
    for args, status, words in (((), 2, "missing argument TRACE"), (("-",), 2, "a file"), (("a", "b"), 2, "unexpected argument"),
                                (("/nonexistent/t.jsonl",), 1, "cannot open"), (("--port", "0", "x"), 2, "--port"),
                                (("--port", "70000", "x"), 2, "--port")):
        got, out, err = tool("serve", *args)
        equal((got, out), (status, ""), f"status of serve {args}")
        contains(err, words)


@test
def ctrl_c_ends_it_while_streams_are_open(dir):
    told = Told(dir, "-q")
    told.tell("begin a")
    server = serve(told.trace)
    streams = [Stream(server) for _ in range(20)]
    wait_until(lambda: all(s.events for s in streams), "first events")
    assert "Sanitizer" not in end(server)
    wait_until(lambda: all(s.closed for s in streams), "the end of all streams")
    told.quit()
    equal(told.p.wait(300), 0, "status of run")


if __name__ == "__main__":
    main()
