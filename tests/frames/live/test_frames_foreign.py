# SPDX-License-Identifier: MIT
"""test_frames_foreign.py - attach to clients of other implementations of the protocol."""
from frames_live import *


def check_frames(frames, lost=0):
    """Whole frames of existing_client.c, numbered consecutively except for lost ones."""
    numbers = [f["ppt_seqno"] for f in frames]
    equal(numbers, sorted(set(numbers)), "sequence numbers")
    missing = numbers[-1] - numbers[0] + 1 - len(numbers)
    assert missing <= lost, f"{missing} are missing, {lost} were counted"
    for f in frames:
        if f["frame"] == "work":
            n = f["id"]
            equal((f["code"], f["load"], f["took_duration"]), (-n, n * 0.5, 1000), "a frame")
        else:
            equal(f["f"], f["n"] * 0.25, "a tick")


@test
def slots_may_be_apart_as_the_layout_says_or_as_the_class_is_long(dir):
    for name in ("live_existing", "live_narrow"):
        p = start(name, 0, 100)
        a = attach(dir, p, "--count", 2000)
        equal(a.status, 0, f"status with {name} ({a.err})")
        equal((a.summary["recorded"], a.summary["lost"]), (2000, 0), f"recorded and lost of {name}")
        check_frames(decode(a.file)[0])
        p.kill()


@test
def a_client_that_uses_part_of_the_room_shows_its_stride_by_its_frames(dir):
    for name in ("live_wide_128", "live_narrow_128"):
        p = start(name, 0, 1000)
        a = attach(dir, p, "--count", 500)
        equal(a.status, 0, f"status with {name} ({a.err})")
        equal(a.summary["recorded"], 500, f"recorded of {name}")
        equal(a.summary["slots"], 128, "slots")
        # A ring of 128 slots is small on a busy machine.
        check_frames(decode(a.file)[0], a.summary["lost"])
        p.kill()


@test
def a_client_that_ends_between_two_looks_is_read(dir):
    for name in ("live_existing", "live_narrow", "live_wide_128", "live_narrow_128"):
        p = start(name, 100, 0)
        # It saves nothing before it is attached, then everything at once.
        a = attach(dir, p)
        equal(a.status, 0, f"status with {name} ({a.err})")
        equal((a.summary["recorded"], a.summary["lost"]), (100, 0), f"recorded and lost of {name}")
        check_frames(decode(a.file)[0])


@test
def a_client_that_does_not_say_where_its_frames_are_is_an_error(dir):
    p = start("live_mute", 0, 100)
    a = attach(dir, p, "--duration", 0.3)
    equal(a.status, 1, "status")
    contains(a.err, f"process {p.pid} mapped the ring and left data_block or data_block_sz of the control block 0")
    assert "saved no frame" not in a.err, a.err
    assert "none lost" not in a.err, a.err
    assert not os.path.exists(a.file), "a recording of nothing"
    status, _, err = tool("monitor", "-p", p.pid, "--duration", 0.3)
    equal(status, 1, "status of monitor")
    contains(err, "mapped the ring and left data_block")
    p.kill()


if __name__ == "__main__":
    main()
