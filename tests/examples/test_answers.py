# SPDX-License-Identifier: MIT
"""test_answers.py - Redis clients accept the servers as Redis, and the servers survive invalid clients."""
import pty
import random

from example_servers import *


@test
def redis_cli_gets_what_it_asks_for(dir):
    s = Server(dir)
    equal(s.cli("ping"), "PONG\n", "ping")
    equal(s.cli("ping", "you there"), "you there\n", "ping with a word")
    equal(s.cli("echo", "a b"), "a b\n", "echo")
    equal(s.cli("get", "x"), "\n", "get of nothing")
    equal(s.cli("set", "x", "41"), "OK\n", "set")
    equal(s.cli("incr", "x"), "42\n", "incr")
    equal(s.cli("get", "x"), "42\n", "get")
    equal(s.cli("exists", "x", "y", "x"), "2\n", "exists")
    equal(s.cli("del", "x", "y"), "1\n", "del")
    equal(s.cli("dbsize"), "0\n", "dbsize")
    contains(s.cli("nonsense", "a"), "ERR unknown command 'nonsense', with args beginning with: 'a'")
    s.end()


@test
def redis_cli_at_a_terminal_reads_the_table_of_commands(dir):
    needs("redis-cli")
    s = Server(dir)
    master, slave = pty.openpty()
    p = popen("redis-cli", "-p", s.port, stdin=slave, stdout=slave, stderr=slave,
              env=dict(os.environ, TERM="dumb", REDISCLI_HISTFILE="/dev/null"))
    os.close(slave)
    os.write(master, b"incrby n 7\nhelp incrby\nquit\n")
    seen = b""
    try:
        while True:
            seen += os.read(master, 4096)
    except OSError:  # the terminal ends with the client
        pass
    os.close(master)
    equal(p.wait(timeout=300), 0, "status of redis-cli")
    contains(seen.decode(), "(integer) 7")
    contains(seen.decode(), "adds to the number at a key")
    s.end()


@test
def redis_benchmark_finishes_its_tests(dir):
    s = Server(dir)
    equal(s.benchmark("-t", "ping,set,get,incr", "-n", "2000", "-c", "30"),
          ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR"], "tests with a rate")
    equal(s.benchmark("-t", "set,get", "-n", "2000", "-P", "32", "-d", "5000", "-c", "10"), ["SET", "GET"], "pipelined")
    c = s.connect()
    equal(c.ask("get", "counter:__rand_int__"), b"2000", "what INCR came to")
    s.end()


@test
def commands_that_come_at_once_are_answered_in_order(dir):
    s = Server(dir)
    c = s.connect()
    c.send(b"".join(bulk("echo", i) for i in range(10000)))
    for i in range(10000):
        equal(c.reply(), b"%d" % i, "reply")
    # The last of them in pieces, byte by byte.
    for byte in bulk("set", "k", "v") + b"get k\r\n" + bulk("del", "k"):
        c.send(bytes([byte]))
    equal([c.reply() for _ in range(3)], [b"OK", b"v", 1], "replies to pieces")
    s.end()


@test
def inline_commands_may_be_quoted(dir):
    s = Server(dir)
    c = s.connect()
    c.send(b"\r\n\r\nset 'a key' \"with\\x20\\\"quotes\\\"\"\r\nget 'a key'\nPING\r\n")
    equal([c.reply() for _ in range(3)], [b"OK", b'with "quotes"', b"PONG"], "replies")
    s.end()


@test
def wrong_use_is_told_and_the_client_stays(dir):
    s = Server(dir)
    c = s.connect()
    equal(c.ask("set", "text", "abc"), b"OK", "set")
    equal(c.error("incr", "text"), "ERR value is not an integer or out of range", "incr of a text")
    equal(c.ask("set", "big", 2**63 - 1), b"OK", "set")
    equal(c.error("incr", "big"), "ERR increment or decrement would overflow", "incr of the largest")
    equal(c.ask("get", "big"), b"%d" % (2**63 - 1), "which stays")
    equal(c.error("get"), "ERR wrong number of arguments for 'get' command", "get of nothing")
    equal(c.error("GET", "a", "b"), "ERR wrong number of arguments for 'get' command", "get of two")
    equal(c.error("ping", "a", "b"), "ERR wrong number of arguments for 'ping' command", "ping with two")
    equal(c.error("set", "a", "b", "ex", "10"), "ERR syntax error", "set that expires")
    equal(c.error("set", "a", "b", "nx", "xx"), "ERR syntax error", "set that cannot be")
    equal(c.error("select", "1"), "ERR DB index is out of range", "select")
    equal(c.error("a\r\nb"), "ERR unknown command 'a  b', with args beginning with: ", "two lines in one")
    equal(c.ask("set", "text", "new", "get"), b"abc", "set with get")
    equal(c.ask("set", "text", "new", "nx"), None, "set nx of what is there")
    equal(c.ask("set", "none", "new", "xx"), None, "set xx of what is not")
    equal(c.ask("config", "get", "save"), [b"save", b""], "config get")
    equal(c.ask("command", "count"), len(c.ask("command")), "command count")
    equal(len(c.ask("command", "docs")), 2 * c.ask("command", "count"), "command docs")
    contains(c.ask("info").decode(), "server_name:mini-redis")
    s.end()


@test
def what_nobody_understands_is_told_and_ends_the_connection(dir):
    s = Server(dir)
    for sent, error in ((b"*x\r\n", "invalid multibulk length"), (b"*1\r\n$-5\r\n", "invalid bulk length"),
                        (b"*1\r\n$99999999999\r\n", "invalid bulk length"), (b"*1\r\n?\r\n", "expected '$', got '?'"),
                        (b"*1\r\n$1\r\nabc", "expected an end of line after a bulk string"),
                        (b"echo 'a\r\n", "unbalanced quotes in request"),
                        (b"*2\r\n$4\r\nECHO\r\n$67108865\r\n", "invalid bulk length")):
        c = s.connect()
        c.send(bulk("ping") + sent)
        equal(c.reply(), b"PONG", "reply to what came before")
        equal(str(c.reply()), "ERR Protocol error: " + error, f"reply to {sent!r}")
        assert c.is_closed()
    c = s.connect()
    c.send(b"QUIT\r\nPING\r\n")
    equal(c.reply(), b"OK", "quit")
    assert c.is_closed()
    equal(s.connect().ask("ping"), b"PONG", "others")
    s.end()


@test
def large_values_go_in_and_come_out(dir):
    s = Server(dir)
    c = s.connect()
    value = random.Random(1).randbytes(8 << 20)
    equal(c.ask("set", "large", value), b"OK", "set")
    assert c.ask("get", "large") == value
    equal(c.ask("set", "small", "x"), b"OK", "set")
    s.end()


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:")) << 10


@test
def who_does_not_read_is_not_served_at_the_cost_of_others(dir):
    s = Server(dir)
    slow, other = s.connect(), s.connect()
    value = b"v" * (1 << 20)
    equal(other.ask("set", "v", value), b"OK", "set")
    before = resident(s.pid)
    slow.send(bulk("get", "v") * 200)
    for _ in range(100):
        equal(other.ask("ping"), b"PONG", "ping meanwhile")
    # Two hundred megabytes were requested.  A sanitizer keeps freed memory.
    grown = resident(s.pid) - before
    assert SANITIZED or grown < 64 << 20, f"{grown >> 20} MiB for a client that reads nothing"
    for _ in range(200):
        assert slow.reply() == value
    s.end()


@test
def garbage_of_any_kind_does_no_harm(dir):
    s = Server(dir)
    rng = random.Random(2)
    good = [bulk("set", "k", "v"), bulk("get", "k"), b"ping\r\n", b"*3\r\n$3\r\n", b"*1000000\r\n", b"$5\r\n"]
    for _ in range(300):
        data = bytearray(b"".join(rng.choice(good) for _ in range(rng.randrange(1, 6))))
        for _ in range(rng.randrange(8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        c = s.connect()
        c.send(bytes(data))
        c.reset() if rng.random() < 0.5 else c.close()
    c = s.connect()
    equal(c.ask("ping"), b"PONG", "ping afterwards")
    s.end()


@test
def it_survives_a_lack_of_descriptors(dir):
    limit = 40
    s = Server(dir, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    clients = [s.connect() for _ in range(2 * limit)]
    equal(clients[0].ask("ping"), b"PONG", "ping of the first")
    for c in clients:
        c.close()
    wait_until(lambda: len(s.sockets()) < 10, "descriptors given back")

    def answers():
        try:
            return s.connect().ask("ping") == b"PONG"
        except (OSError, AssertionError):
            return False  # one more connection that was refused
    wait_until(answers, "an answer to one who comes later")
    s.end()


@test
def a_signal_ends_it_whoever_is_there(dir):
    for sig in (signal.SIGTERM, signal.SIGINT):
        s = Server(dir)
        idle, slow = s.connect(), s.connect()
        equal(idle.ask("set", "v", b"v" * (1 << 20)), b"OK", "set")
        slow.send(bulk("get", "v") * 20)
        slow.socket.recv(1, socket.MSG_PEEK)
        contains(s.end(sig).out, "stopped; ")
        assert idle.is_closed()
        equal({r["ended"] for r in s.census().values()}, {True}, "all coroutines ended")


@test
def bad_options_are_told(dir):
    for args in (["--port", "x"], ["--port", "70000"], ["--nonsense"], ["word"]):
        p = popen(SERVER, *args, env=SANITIZERS)
        _, err = p.communicate(timeout=300)
        equal(p.returncode, 2, f"status with {args}")
        assert err
    s = Server(dir)
    p = popen(SERVER, "--port", s.port, env=SANITIZERS)
    _, err = p.communicate(timeout=300)
    equal(p.returncode, 1, "status with a port that is taken")
    contains(err, "cannot listen on that port: Address already in use")
    s.end()


main()
