# SPDX-License-Identifier: MIT
"""test_follow.py - findings of a growing trace appear when they become true.

Each page of test_bundle.py also checks that all deltas add up to the final state.
"""
from view_live import *


@test
def findings_appear_when_they_become_true(dir):
    trace = trace_of(dir, "CORPUS_BUGGY", "lost-wakeup/timer", "jsonl")
    seen = [len(d["report"]["findings"]) for d in follow(trace, 10) if "report" in d]
    equal((seen[0], seen[-1]), (0, 1), "findings in the first look and in the last")
    equal(seen, sorted(seen), "findings over time")
    trace = trace_of(dir, "CORPUS_BUGGY", "closed-under-waiter/told", "ctf")
    told = [[f["detector"] for f in d["report"]["findings"]] for d in follow(trace, 1) if "report" in d]
    assert "closed-under-waiter" not in told[0] and "closed-under-waiter" in told[-2], told


@test
def a_program_that_has_stopped_is_seen_to(dir):
    """No more events arrive; only the passing time shows it."""
    trace = trace_of(dir, "CORPUS_CLEAN", corpus("CORPUS_CLEAN")[0], "jsonl")
    events = [e for e in open(trace, encoding="utf-8")]
    stopped = os.path.join(dir, "stopped.jsonl")
    with open(stopped, "w", encoding="utf-8") as f:
        f.writelines(events[:len(events) // 2])
    with open(trace + ".meta", encoding="utf-8") as f, open(stopped + ".meta", "w", encoding="utf-8") as to:
        last = json.loads(events[len(events) // 2 - 1])["ts"]
        for line in f:
            r = json.loads(line)
            if r["type"] in ("run", "site", "coroutine") or r.get("ts", last + 1) <= last:
                to.write(line)
    equal(follow(stopped, 1000000)[0]["report"]["findings"], [], "findings at once")
    deltas = follow(stopped, 1000000, 20_000_000_000)
    equal(len(deltas), 2, "looks")
    findings = deltas[0]["report"]["findings"]
    assert any(f["fault"] for f in findings), findings
    assert all(f["oldest_ns"] >= 20_000_000_000 for f in findings if f["fault"]), findings
    # The final state has no such time: the trace has no totals.
    assert deltas[0]["meta"]["end"] - deltas[1]["meta"]["end"] == 20_000_000_000


if __name__ == "__main__":
    main()
