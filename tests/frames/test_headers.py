# SPDX-License-Identifier: MIT
"""test_headers.py - C and C++ programs include a generated header, compile it without a warning and run."""
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from harness import TOOL, Skip, equal, main, test

FULL = os.environ.get("COROTRACER_FULL") == "1"
WARN = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wshadow"]
CLOCKS = ("timespec monotonic", "timespec thread_cputime", "timeval", "counter")
# A C header in a C++ program is the usual case of a C library.
C_STANDARDS = (("gcc", "c11"), ("gcc", "c17"), ("gcc", "gnu11"), ("clang", "c11"), ("clang", "c17"))
CPP_STANDARDS = (("g++", "c++17"), ("g++", "c++20"), ("clang++", "c++17"), ("clang++", "c++20"))

SPEC = """emit %s;
buffer B 64;
option time %s;
option runtime multithread %s;
enum method { get, put = -2147483648, other = 5 };
frame all {
	interval time took; interval counter work; counter now; time when;
	int8 a; uint16 b[3]; string c[5]; bool d; float e; double f[2]; enum method g;
	interval uint64 h;
}
frame little { int x; }
frame nothing { }
"""

C_PROGRAM = """#include "ppt-B.h"
int main(void)
{
	struct ppt_B_all f = { 0 };
	struct ppt_B_little l = { 0 };
	ppt_B_all_snapshot_took_start(&f);
	ppt_B_all_snapshot_work_start(&f);
	ppt_B_all_snapshot_now(&f);
	ppt_B_all_snapshot_when(&f);
	f.g = ppt_B_method_other;
	ppt_B_all_snapshot_work_end(&f);
	ppt_B_all_snapshot_took_end(&f);
	ppt_B_all_save(&f);
	ppt_B_little_save(&l);
	return ppt_B_attached();
}
"""

CPP_PROGRAM = """#include "ppt-B.hh"
int main()
{
	ppt::B::all f;
	ppt::B::little l;
	f.snapshot_took_start();
	f.snapshot_work_start();
	f.snapshot_now();
	f.snapshot_when();
	f.g = ppt::B::method::other;
	f.snapshot_work_end();
	f.snapshot_took_end();
	f.save();
	l.save();
	return ppt::B::attached();
}
"""


def run(folder, *args):
    p = subprocess.run(args, cwd=folder, capture_output=True, text=True, timeout=300)
    equal((p.returncode, p.stderr), (0, ""), " ".join(args))


def generate(folder, language, clock, threads):
    os.mkdir(folder)
    p = subprocess.run([TOOL, "generate", "-o", folder, "-"], input=SPEC % (language, clock, threads),
                       capture_output=True, text=True, timeout=300)
    equal(p.returncode, 0, p.stderr)


def in_pairs(jobs):
    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda job: job(), jobs):
            pass


def build(folder, compiler, std, main_file, source, name, shared):
    """The source with its own compiler, the program with that of the case; run it."""
    flags = [*WARN, *(["-DPPT_B_SHARED"] if shared else [])]
    own = {"g++": "gcc", "clang++": "clang"}.get(compiler, compiler) if source == "ppt-B.c" else compiler
    own_std = "c11" if source == "ppt-B.c" and "++" in compiler else std
    run(folder, own, f"-std={own_std}", *flags, "-c", source, "-o", f"{name}.own.o")
    run(folder, compiler, f"-std={std}", *flags, "-O1", "-c", main_file, "-o", f"{name}.o")
    run(folder, compiler, f"{name}.o", f"{name}.own.o", "-o", name, "-pthread")
    run(folder, os.path.join(folder, name))


def matrix(dir, language, standards, main_file, text, source):
    jobs = []
    for i, clock in enumerate(CLOCKS):
        folder = os.path.join(dir, str(i))
        generate(folder, language, clock, "true" if i % 2 else "false")
        with open(os.path.join(folder, main_file), "w", encoding="utf-8") as f:
            f.write(text)
        for k, (compiler, std) in enumerate(standards):
            # Alternating, so that every standard is tried with every compiler and one of the clocks, with
            # COROTRACER_FULL=1 two.
            if shutil.which(compiler) and (i + k) % (2 if FULL else 4) == 0:
                shared = (i + k) % 4 == 0 if FULL else k // 2 % 2 == 0
                jobs.append(lambda folder=folder, compiler=compiler, std=std, k=k, shared=shared: build(
                    folder, compiler, std, main_file, source, f"p{k}", shared))
    if not jobs:
        raise Skip("no compiler here")
    in_pairs(jobs)


@test
def a_c_header_compiles_in_c(dir):
    matrix(dir, "C", C_STANDARDS, "main.c", C_PROGRAM, "ppt-B.c")


@test
def a_c_header_compiles_in_cpp(dir):
    matrix(dir, "C", CPP_STANDARDS, "main.cpp", C_PROGRAM.replace("{ 0 }", "{}"), "ppt-B.c")


@test
def a_cpp_header_compiles_in_cpp(dir):
    matrix(dir, "C++", CPP_STANDARDS, "main.cpp", CPP_PROGRAM, "ppt-B.cc")


if __name__ == "__main__":
    main()
