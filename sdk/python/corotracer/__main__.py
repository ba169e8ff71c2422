# SPDX-License-Identifier: MIT
"""python -m corotracer [-m MODULE | PROGRAM] [ARGUMENT...] - run a program with its asyncio tasks traced."""
import runpy
import sys

from . import install

USAGE = """usage: corotracer run -o TRACE -- python -m corotracer [-m MODULE | PROGRAM] [ARGUMENT...]"""


def run_program(arguments):
    if arguments[0] == "-m":
        sys.argv[:] = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = arguments
        sys.path[0] = arguments[0].rpartition("/")[0]
        runpy.run_path(arguments[0], run_name="__main__")


if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help") or sys.argv[1:] == ["-m"]:
    print(USAGE, file=sys.stderr)
    sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
install()
run_program(sys.argv[1:])
