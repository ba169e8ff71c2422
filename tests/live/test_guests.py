# SPDX-License-Identifier: MIT
"""test_guests.py - clients without the secret do not block others; --open does not expose the secret."""
import socket
import stat
import textwrap

from live import *

SLOW = 500


def small_trace(dir):
    trace = os.path.join(dir, "t.jsonl")
    with open(trace, "w", encoding="ascii") as f:
        for i in range(100):
            f.write(f'{{"probe_id":{i % 9 + 1},"tid":7,"addr":"0x0000000000001000","seq":2,"is_active":{"true" if i % 2 else "false"},"ts":{1000 + i}}}\n')
    return trace


def connect(server):
    return socket.create_connection((server.host, server.port), timeout=300)


def is_closed(s):
    """Has the other side closed it?"""
    try:
        s.setblocking(False)
        while s.recv(65536):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def send(s, data):
    try:
        s.sendall(data)
    except OSError:
        pass


def end(server):
    server.p.send_signal(signal.SIGINT)
    _, err = server.p.communicate(timeout=300)
    equal(server.p.returncode, 0, f"status of serve: {err}")
    assert "Sanitizer" not in err, err


@test
def slow_strangers_do_not_lock_out_who_has_the_secret(dir):
    server = serve(small_trace(dir))
    kept = server.connect()  # has sent the secret before
    kept.request("GET", server.path + "api/meta")
    equal(kept.getresponse().read()[:1], b"{", "the first answer")
    slow = []
    for i in range(SLOW):
        s = connect(server)
        slow.append(s)
        # Nothing at all, or half a head.
        send(s, (b"", b"GET /", f"GET / HTTP/1.1\r\nHost: {server.netloc}\r\nX: ".encode())[i % 3])
    for round in range(3):
        client = server.connect(timeout=300)
        client.request("GET", server.path + "api/meta")
        equal(client.getresponse().status, 200, f"status in round {round}")
        client.close()
        for s in slow:  # each continues, a byte at a time
            s.setblocking(True)
            send(s, b"a")
    kept.request("GET", server.path + "api/meta")
    equal(kept.getresponse().status, 200, "status on the connection from before")
    gone = sum(is_closed(s) for s in slow)
    assert gone > SLOW / 2, f"only {gone} of {SLOW} were dropped"
    # The oldest are dropped first: some of the last may still be open, all of the first are closed.
    assert all(is_closed(s) for s in slow[:SLOW // 4]), "an old one is still there"
    for s in slow:
        s.close()
    kept.close()
    end(server)


@test
def a_head_has_to_come_within_its_time(dir):
    server = serve(small_trace(dir))
    s = connect(server)
    start, closed = time.monotonic(), False
    send(s, b"GET / HTTP/1.1\r\nX: ")
    while not closed and time.monotonic() - start < 60:
        time.sleep(0.2)  # never idle
        s.setblocking(True)
        send(s, b"x")
        closed = is_closed(s)
    assert closed, "a head that never ends is read for ever"
    s.close()
    equal(server.request("")[0], 200, "status of the page")
    end(server)


@test
def connections_that_have_shown_the_secret_outlive_strangers(dir):
    server = serve(small_trace(dir))
    kept = [server.connect() for _ in range(80)]  # more than clients without the secret may have
    for c in kept:
        c.request("GET", server.path + "api/meta")
        c.getresponse().read()
    slow = [connect(server) for _ in range(150)]
    for s in slow[::2]:  # answered, and kept open
        send(s, f"GET /x HTTP/1.1\r\nHost: {server.netloc}\r\n\r\n".encode())
    for c in kept:
        c.request("GET", server.path + "api/meta")
        equal(c.getresponse().read()[:1], b"{", "answer")
        c.close()
    for s in slow:
        s.close()
    end(server)


BROWSER = textwrap.dedent("""\
    #!/usr/bin/env python3
    import glob, json, os, re, sys, urllib.request
    said = {"argv": sys.argv}
    try:
        path = sys.argv[1].removeprefix("file://")
        said["modes"] = [oct(os.stat(p).st_mode & 0o777) for p in (path, os.path.dirname(path))]
        with open(path, encoding="utf-8") as f:
            said["page"] = f.read()
        url = re.search(r'url=(http://[^"]+)"', said["page"]).group(1)
        said["seen"] = []
        for name in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(name, "rb") as f:
                    if url.rstrip("/").rsplit("/", 1)[1].encode() in f.read():
                        said["seen"].append(name)
            except OSError:
                pass
        with urllib.request.urlopen(url, timeout=300) as r:
            said["status"], said["url"] = r.status, url
    except Exception as why:
        said["error"] = repr(why)
    with open(os.environ["SAID"] + ".new", "w", encoding="utf-8") as f:
        json.dump(said, f)
    os.rename(os.environ["SAID"] + ".new", os.environ["SAID"])
""")


def opened(dir, **more):
    """(server, what the browser said) of `serve --open`."""
    os.makedirs(dir + "/bin", exist_ok=True)
    with open(dir + "/bin/xdg-open", "w", encoding="utf-8") as f:
        f.write(BROWSER)
    os.chmod(dir + "/bin/xdg-open", 0o755)
    said = dir + "/said"
    env = dict(os.environ, PATH=dir + "/bin:" + os.environ["PATH"], SAID=said, **more)
    server = serve("--open", small_trace(dir), env=env)
    wait_until(lambda: os.path.exists(said), "what the browser says")
    with open(said, encoding="utf-8") as f:
        told = json.load(f)
    os.unlink(said)
    return server, told


@test
def the_browser_gets_the_secret_through_a_private_file(dir):
    private = dir + "/run"
    os.mkdir(private, 0o700)
    server, said = opened(dir, XDG_RUNTIME_DIR=private)
    assert "error" not in said, said
    token = server.path.strip("/")
    assert not any(token in word for word in said["argv"]), said["argv"]
    equal((said["seen"], said["status"], said["url"]), ([], 200, server.url), "who sees the secret, and what it opens")
    equal(said["modes"], ["0o600", "0o700"], "modes of the file and its folder")
    contains(said["argv"][1], private)
    wait_until(lambda: not os.listdir(private), "the file is removed when it was used")
    end(server)


@test
def without_a_runtime_directory_the_file_is_in_a_temporary_one_and_goes_with_the_server(dir):
    os.mkdir(dir + "/tmp")
    wide = dir + "/wide"  # not private: not used
    os.mkdir(wide)
    os.chmod(wide, 0o755)
    server, said = opened(dir, XDG_RUNTIME_DIR=wide, TMPDIR=dir + "/tmp")
    assert "error" not in said, said
    contains(said["argv"][1], dir + "/tmp/")
    equal(said["modes"], ["0o600", "0o700"], "modes of the file and its folder")
    end(server)
    equal((os.listdir(dir + "/tmp"), os.listdir(wide)), ([], []), "files that are left")


@test
def a_browser_that_does_nothing_leaves_nothing(dir):
    os.mkdir(dir + "/run", 0o700)
    os.mkdir(dir + "/bin")
    with open(dir + "/bin/xdg-open", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nexit 3\n")
    os.chmod(dir + "/bin/xdg-open", 0o755)
    server = serve("--open", small_trace(dir), env=dict(os.environ, PATH=dir + "/bin:" + os.environ["PATH"], XDG_RUNTIME_DIR=dir + "/run"))
    folder, = wait_until(lambda: os.listdir(dir + "/run"), "the private file")
    equal(stat.S_IMODE(os.stat(f"{dir}/run/{folder}").st_mode), 0o700, "mode of the folder")
    end(server)
    equal(os.listdir(dir + "/run"), [], "files that are left")


if __name__ == "__main__":
    main()
