# SPDX-License-Identifier: MIT
"""ports.py - TCP ports for servers that cannot be started with port 0 and asked for their port.

A port that was free a moment ago may be taken before the server binds it: by a connection or a server whose port the kernel
chooses, or by another test.  So the port comes from below the kernel's range, and a socket with its number as its name holds it for
the life of this process.
"""
import random
import socket

LOWEST = 10000
HELD = []


def port_range():
    """The ports below those that the kernel chooses; all of them if there are few."""
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
            first = int(f.read().split()[0])
    except (OSError, ValueError):
        first = 32768
    return range(LOWEST, first if first >= LOWEST + 1000 else 65536)


def hold_port(port):
    """False if another test has the port.  The name is gone with this process, however it ends."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        s.bind(f"\0corotracer-test-port-{port}")
    except OSError:
        s.close()
        return False
    HELD.append(s)
    return True


def free_port():
    """A port on 127.0.0.1 that nothing listens on and no other test gets; each one is given once."""
    while True:
        port = random.choice(port_range())
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        if hold_port(port):
            return port
