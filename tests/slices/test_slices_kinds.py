# SPDX-License-Identifier: MIT
"""Addresses that are not code are not places: coroutines of one kind are one group."""
from scripted import *

S = 1_000_000_000


def heap_waits(name, nr):
    """Coroutines that wait at addresses of their own: every tenth for ever, the others for a moment."""
    s, now = Script(name), 10 * S
    s.meta.append({"type": "module", "pid": 7, "start": 0x400000, "end": 0x500000, "offset": 0, "path": "/gone"})
    s.birth(now, nr + 1, "ticker")
    for id in range(1, nr + 1):
        s.other("birth", now, id, pid=7, site=1)
        s.transition(now + 1, id, True)
        s.transition(now + 2, id, False, addr=f"0x{0x7f0000000000 + id * 4096:016x}", site=0, reason="unknown")
        if id % 10 or id > nr - 10:
            s.transition(now + 1000, id, True)
            s.other("end", now + 2000, id, destroyed=True, written=3)
        # One with a place of its own, which the program reports.
        s.transition(now + 3000, nr + 1, True)
        s.transition(now + 4000, nr + 1, False)
        now += 100_000
    return s.findings(now + 20 * S)


def main():
    findings = heap_waits("many", 3000)
    stuck = [f for f in findings if f["detector"] != "leak" and f["kind"] != "ticker"]
    assert len(stuck) == 1 and stuck[0]["count"] == 299, brief_of(findings)
    # The line where they were created, said to be that.
    assert stuck[0]["place"]["line"] == 10 and stuck[0]["place"]["is_spawn"], stuck[0]["place"]
    # Their waits are compared with those of their kind.
    assert stuck[0]["detector"] == "lost-wakeup", brief_of(findings)


main()
