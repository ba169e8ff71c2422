# SPDX-License-Identifier: MIT
"""test_truth_cpp.py - C++20 coroutines that count themselves, compared with `run` and `info`."""
from truth import *

PROGRAM_CPP = os.environ.get("TRUTH_PROGRAM_CPP", "")


class CppRun:
    """One traced run of program.cpp."""

    def __init__(self, dir, name, threads=2, coroutines=5, rounds=200, hold=30, options=(), load=False):
        if not PROGRAM_CPP:
            raise Skip("the C++ compiler has no coroutines")
        self.trace = os.path.join(dir, name)
        with with_load(load):
            status, _, err = tool("run", "--json", "-o", self.trace, *options, "--", PROGRAM_CPP, dir + "/truth", threads, coroutines,
                                  rounds, hold)
        self.returned = now_ns()
        equal(status, 0, f"status ({err})")
        self.summary = json.loads([line for line in err.splitlines() if line.startswith("{")][0])
        with open(dir + "/truth", encoding="utf-8") as f:
            self.truth = json.load(f)
        self.threads = self.truth["threads"]

    def sum(self, key):
        return sum(thread[key] for thread in self.threads)


def check_cpp(run):
    """The awaiter's counts, the trace and the two summaries."""
    trace, said = read_trace(run.trace), output_of("info", "--json", run.trace)
    held = collections.Counter(e["kind"] for e in trace.events)
    lost = run.summary["lost"]
    # A coroutine that starts at once has a create event, and no resume before its first suspend.
    started = run.sum("created")
    equal(run.summary["written"], run.sum("suspends") + run.sum("resumes"), "written")
    equal(run.summary["collected"], held["suspend"] + held["resume"], "collected")
    equal(lost, run.summary["written"] - run.summary["collected"], "lost")
    equal(run.summary["coroutines"], started, "coroutines")
    equal((said["events"], said["lost"], said["threads"]), (run.summary["collected"], lost, len(run.threads)), "info")
    equal(said["sidecar"]["not_ended"], started - run.sum("ended"), "coroutines that were left")
    for group in said["sidecar"]["not_ended_by_place"]:
        equal(group["coroutines"], len(run.threads), "coroutines that wait for ever")
        oldest = min(thread["last"][0] for thread in run.threads)
        assert run.truth["exit"] - oldest - LATE_NS <= group["oldest_ns"] <= run.returned - oldest, group
    if not lost:
        equal((held["suspend"], held["resume"]), (run.sum("suspends"), run.sum("resumes")), "suspends and resumes")
        equal((held["birth"], held["end"]), (started, run.sum("ended")), "births and ends")


@test
def a_quiet_run_of_cpp_coroutines_is_told_exactly(dir):
    for name in "t.jsonl", "t.ctf":
        check_cpp(CppRun(dir, name))


@test
def a_busy_run_of_cpp_coroutines_is_told_exactly(dir):
    check_cpp(CppRun(dir, "t.jsonl", threads=4, rounds=2000, load=True))


@test
def a_run_of_cpp_coroutines_with_a_small_buffer_is_told_exactly(dir):
    check_cpp(CppRun(dir, "t.jsonl", threads=3, rounds=30000, options=["--buffer", "1M"], load=True))


if __name__ == "__main__":
    main()
