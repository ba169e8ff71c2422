# SPDX-License-Identifier: MIT
"""test_frames_rounds.py - hundreds of attaches and detaches against four busy threads.

1,000 with COROTRACER_FULL=1, else 100.
"""
from frames_live import *

ROUNDS = int(os.environ.get("ROUNDS", "1000" if os.environ.get("COROTRACER_FULL") == "1" else "100"))


def rounds(dir, name, nr, interval):
    before = segments()
    # Its threads use the whole machine; nice keeps the collector from waiting behind them.
    p = start(name, 4, interval, prefix=("nice", "-n", "10"))
    total = lost = empty = 0
    for i in range(nr):
        # Sometimes ended by a count, sometimes by time; rings of all sizes.
        how = ("--count", 20 + i % 50) if i % 3 else ("--duration", 0.01)
        a = attach(dir, p, "--size", 16 << i % 9, *how)
        equal(a.status, 0, f"status of round {i} ({a.err})")
        at = a.summary
        if i % 10 == 0:
            frames, summary = decode(a.file)
            check_busy(frames)
            check_exact(frames, summary, at)
        else:
            status, _, err = tool("decode", "--json", "-f", "jsonl", a.file, "/dev/null")
            summary = json.loads(err.splitlines()[-1])
            equal((status, summary["torn"], summary["foreign"], summary["frames"], summary["lost"]),
                  (0, 0, 0, at["recorded"], at["lost"]), f"round {i}")
        assert p.poll() is None, f"the program died in round {i}: {p.returncode}"
        equal(at["stops"], 0, "stops")
        total += at["recorded"]
        lost += at["lost"]
        empty += not at["attached"]
    # The last process that detaches removes a segment: the program, at its next frame.
    wait_until(lambda: segments() == before, f"shared memory gone: {segments()} but {before} before")
    told = end(p)
    equal(told["stdin_open"], True, "standard input of the program")
    print(f"# {name}, a frame every {interval} ns: {nr} rounds, {total} frames, {lost} lost, {empty} rounds too short for one; "
          f"the program's slowest iteration of {told['saves']}: {told['slowest_ns'] / 1e6:.3f} ms")
    assert total > nr, total


@test
def many_attaches_and_detaches_do_not_harm_the_program(dir):
    rounds(dir, "live_busy", ROUNDS // 2, 0)
    rounds(dir, "live_fixed", ROUNDS // 2, 2000)


if __name__ == "__main__":
    main()
