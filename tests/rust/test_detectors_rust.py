#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_detectors_rust.py - the report on futures with one bug each, and on correct ones: see tests/detectors."""
from rust import *


@test
def bugs_are_found_and_nothing_else(dir):
    need_cargo()
    corpus = os.path.join(TREE, "tests", "detectors", "test_detectors.py")
    p = subprocess.run([sys.executable, corpus, program("buggy"), program("clean")], capture_output=True, text=True, check=False)
    print(p.stdout)
    equal((p.returncode, p.stderr), (0, ""), "status, stderr")


main()
