# SPDX-License-Identifier: MIT
"""test_frames_quick.py - programs that save and end between two polls: every frame is recorded or counted as lost."""
from frames_live import *

# A program whose generated code is compiled for a library detaches at exit.
PROGRAMS = ("live_quick", "live_quick_pic")
RUNS = {"return": 10, "exit": 4, "_exit": 4, "kill": 4, "exec": 1}
ENDS = {"exec": "exec"}


def run_once(dir, program, how, frames, *options):
    p = start(program, how, frames)
    a = attach(dir, p, *options)
    p.kill()
    equal(a.status, 0, f"status of attach to a program that ends by {how} ({a.err})")
    equal(a.summary["end"], ENDS.get(how, "program ended"), f"what ended it ({how})")
    return a


@test
def all_frames_are_recorded_however_the_program_ends(dir):
    runs = [(program, how, i) for program in PROGRAMS for how, nr in RUNS.items() for i in range(nr)]
    for program, how, i in runs:
        a = run_once(dir, program, how, 1000, "--size", 2048)
        at = a.summary
        equal((at["issued"], at["recorded"], at["lost"]), (1000, 1000, 0),
              f"issued, recorded, lost ({program} {how}, run {i})")
        frames, summary = decode(a.file)
        equal([f["n"] for f in frames], list(range(1, 1001)), "the frames")
        equal(summary["ended"], True, "the last mark")


@test
def frames_that_did_not_fit_are_counted_as_lost(dir):
    for program, how in [(program, how) for program in PROGRAMS for how in RUNS if how != "exec"]:
        at = run_once(dir, program, how, 1000, "--size", 64).summary
        equal(at["issued"], 1000, f"issued ({how})")
        equal(at["recorded"] + at["lost"], 1000, f"recorded and lost ({how})")
        assert at["recorded"] >= 64, at


@test
def a_frame_of_the_last_destructor_is_recorded(dir):
    for _ in range(3):
        at = run_once(dir, "live_quick", "late", 100).summary
        equal((at["issued"], at["recorded"]), (101, 101), "issued and recorded")


@test
def a_frame_saved_after_code_for_libraries_let_go_is_no_failed_attach(dir):
    for _ in range(3):
        a = run_once(dir, "live_quick_pic", "late", 100)
        equal((a.summary["issued"], a.summary["recorded"]), (100, 100), "issued and recorded")


@test
def a_program_whose_main_thread_ends_is_recorded_to_its_end(dir):
    # Its memory cannot be read then, as that of a program that is about to end.
    for program in PROGRAMS:
        a = run_once(dir, program, "leader", 100)
        equal((a.summary["issued"], a.summary["recorded"]), (100, 100), "issued and recorded")
        assert "took the buffer over" not in a.err, a.err


@test
def a_program_that_executes_another_one_is_not_taken_over(dir):
    a = run_once(dir, "live_quick", "exec", 10)
    assert "took the buffer over" not in a.err, a.err


if __name__ == "__main__":
    main()
