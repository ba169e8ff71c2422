# SPDX-License-Identifier: MIT
"""test_fault_programs.py - calls fail inside the observed program: its own output and exit status do not change."""
from fault_runs import *

# What the SDK and the runtime call; the program's own write() and malloc() are in shared use, and a
# program whose own calls fail is not the subject.
SDK_CALLS = ("mmap", "open", "room", "thread", "fork")

ACCESSES = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	long *p = calloc(1000, sizeof(*p)), sum = 0;
	for (int i = 0; i < 1000; i++)
		sum += p[i * 7 % 1000] + i;
	printf("%ld\\n", sum);
	free(p);
	return 7;
}
"""


class Program(Command):
    """A traced program with faults in it, and none in the collector."""

    def __init__(self, dir, name, *args, **options):
        super().__init__(dir, name, *args, exe="!corotracer", **options)

    def judge(self, result, wanted, settings, shm):
        # `run` fails if the program succeeds and cannot connect.
        is_unconnected = (result.status, wanted.status) == (1, 0) and "did not connect" in result.err
        if (result.status != wanted.status and not is_unconnected) or result.out != wanted.out:
            return f"the program is changed: status {result.status}, {result.out[-300:]!r}, {result.err[-300:]!r}"
        return super().judge(result, wanted, settings, shm)


def explore_program(dir, name, *args, status=0, calls=SDK_CALLS):
    wrong = Program(dir, name, *args, statuses=(status,), same=lambda result: result.out).explore(calls)
    if wrong:
        raise AssertionError("\n".join(wrong[:40]))


@test
def a_program_with_lanes(dir):
    explore_program(dir, "run", "run", "-q", "-o", "t.jsonl", "--", TARGET, "then-exit", "3", "40", "5", status=5)


@test
def a_program_with_threads(dir):
    explore_program(dir, "run threads", "run", "-q", "-o", "t.jsonl", "--", os.environ["LANES_TARGET"], "threads", "3", "50", calls=("mmap", "open", "room"))


@test
def a_program_with_accesses(dir):
    source, app = os.path.join(dir, "app.c"), os.path.join(dir, "app")
    with open(source, "w", encoding="ascii") as f:
        f.write(ACCESSES)
    status, _, err = tool("mem", "cc", "-O1", "-g", "-o", app, source)
    equal(status, 0, "status of mem cc: " + err)
    explore_program(dir, "mem run", "mem", "run", "-q", "-o", "t.trace", "--", app, status=7)


if __name__ == "__main__":
    main()
