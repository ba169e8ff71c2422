# SPDX-License-Identifier: MIT
"""Long waits: the time of a stop is not part of them, and the kernel says which descriptor is ready."""
from scripted import *

MS, S = 1_000_000, 1_000_000_000


def serve(script, id, name, start, rounds, fd=None, wait=2 * MS):
    """A coroutine that waits for short times, then without end."""
    wants = {"reason": "io-read", "resource": fd} if fd else {"reason": "channel-recv"}
    script.birth(start, id, name)
    for i in range(rounds):
        script.transition(start + i * wait + 1000, id, True)
        script.transition(start + i * wait + 2000, id, False, **wants)
    return start + rounds * wait


def sort_lines(script):
    script.lines.sort(key=lambda line: line["ts"])
    script.meta[3:] = sorted(script.meta[3:], key=lambda line: line.get("ts", 0))


def names_of(findings, detector):
    return sorted(c["name"] for f in findings if f["detector"] == detector for c in f["coroutines"])


def stopped(name, stop_line):
    """Idle for 1.3 s, of which the program was stopped for 1.2 s."""
    script = Script(name)
    end = serve(script, 1, "worker-1", S, 200, fd=20)
    serve(script, 2, "worker-2", S + 500_000, 200, fd=21)
    sort_lines(script)
    if stop_line:
        script.cpu(end + 20 * MS, end + 1220 * MS, "stopped", tid=0)
    return script.findings(end + 1300 * MS)


def check_stops():
    assert best_of(stopped("quiet", False), "lost-wakeup") == 1
    assert best_of(stopped("stop", True), "lost-wakeup") == -1


def check_stop_between():
    # The stop is in the middle; afterwards others run, and worker-1 was left behind before it.
    def run(name, stop_ns, stop_line):
        script = Script(name)
        end = serve(script, 1, "worker-1", S, 100)
        for i in range(30):
            ts = end + stop_ns + i * 9 * MS
            script.transition(ts, 2, True)
            script.transition(ts + 1000, 2, False, reason="timer")
        script.meta.append({"type": "birth", "ts": S, "probe_id": 2, "tid": 7, "pid": 7, "name": "ticker"})
        script.others += 1
        sort_lines(script)
        if stop_line:
            script.cpu(end + MS, end + stop_ns - MS, "stopped", tid=0)
        return names_of(script.findings(end + stop_ns + 30 * 9 * MS), "lost-wakeup")

    assert run("between-long", 600 * MS, False) == ["worker-1"]
    assert run("between-stopped", 600 * MS, True) == []


def among_idle(name, facts):
    """Ten connections that had 8 requests each; nothing runs afterwards."""
    script = Script(name)
    for i in range(10):
        end = serve(script, 1 + i, f"conn-{i}", S + i * 20 * MS, 8, fd=20 + i)
    sort_lines(script)
    for fact in facts:
        script.meta.append({"type": "descriptor", "pid": 7, **fact})
    return script, end + 2 * S


FACT = {"probe_id": 10, "from_ts": 2 * S, "to_ts": 2 * S + 200 * MS, "fd": 29, "unread": 32, "kind": "socket",
        "ready": "read", "watch": "edge"}
LOOK = {"probe_id": 0, "from_ts": 2 * S + 200 * MS, "to_ts": 2 * S + 200 * MS}


def check_descriptor():
    script, end = among_idle("all", [])
    assert len(names_of(script.findings(end), "lost-wakeup")) >= 9
    script, end = among_idle("ready", [FACT, LOOK])
    findings = script.findings(end)
    assert names_of(findings, "lost-wakeup") == ["conn-9"], brief_of(findings)
    assert not [f for f in findings if f["detector"] == "long-suspended"], brief_of(findings)
    found = next(f for f in findings if f["detector"] == "lost-wakeup")
    assert found["confidence"] == "strong" and "32 unread bytes" in found["seen"], brief_of(findings)
    assert any("edge" in line for line in found["evidence"]), found["evidence"]
    return script.path


def check_not_of_this_wait():
    # Of an earlier wait, of another descriptor, seen once: no evidence.
    for number, wrong in enumerate(({"from_ts": S}, {"fd": 28}, {"from_ts": 2 * S, "to_ts": 2 * S}, {"probe_id": 99})):
        script, end = among_idle(f"wrong-{number}", [{**FACT, **wrong}, LOOK])
        assert not strong_of(script.findings(end)), wrong


def check_unknown_words():
    script, end = among_idle("words", [{**FACT, "kind": "carrier", "ready": "sideways", "watch": "x" * 100}, LOOK])
    assert names_of(script.findings(end), "lost-wakeup") == ["conn-9"]


def check_other_forms(path):
    ctf, back = f"{SCRATCH.name}/facts.ctf", f"{SCRATCH.name}/facts.jsonl"
    for form, source, target in (("ctf", path, ctf), ("jsonl", ctf, back)):
        subprocess.run([TOOL, "export", form, "-i", source, "-o", target], check=True, timeout=300,
                       stdout=subprocess.DEVNULL)
    assert names_of(findings_of(ctf), "lost-wakeup") == ["conn-9"]
    with open(back + ".meta", encoding="utf-8") as f:
        facts = [item for item in map(json.loads, f) if item["type"] == "descriptor"]
    assert [{key: fact[key] for key in FACT} for fact in facts if fact["probe_id"]] == [FACT], facts
    assert [{key: fact[key] for key in LOOK} for fact in facts if not fact["probe_id"]] == [LOOK], facts


check_stops()
check_stop_between()
ready = check_descriptor()
check_not_of_this_wait()
check_unknown_words()
check_other_forms(ready)
