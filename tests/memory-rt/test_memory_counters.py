#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_counters.py - bench/memory_counters.sh: simulated misses beside measured ones, or why there are none."""
import os
import subprocess

from rt import CLEAN, HERE, TOOL, equal, main, test


@test
def three_programs_have_measured_misses_or_a_reason(_dir):
    script = HERE.parent.parent / "bench" / "memory_counters.sh"
    r = subprocess.run([script, "--quick", "--build", os.path.dirname(TOOL)], capture_output=True, text=True, env=CLEAN, timeout=100)
    equal(r.returncode, 0, f"status ({r.stderr})")
    rows = [line.split() for line in r.stdout.splitlines() if line.startswith(("matmul", "quicksort", "hash"))]
    equal(len(rows), 9, f"rows:\n{r.stdout}")
    for row in rows:
        assert int(row[-3].replace(",", "")) > 0, f"nothing simulated: {row}"
    equal(all(row[-2] != "-" for row in rows), "not measured: cannot read hardware counters: " not in r.stdout, f"a reason, or counts:\n{r.stdout}")


main()
