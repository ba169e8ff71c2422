#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_wrapper.py - `mem cc` in place of a compiler: by hand, in make, CMake and configure-like builds."""
import os
import re
import shutil
import subprocess

from rt import CLEAN, Skip, TOOL, alone, both_families, check, contains, each_compiler, each_family, equal, main, sizes, test

ONE = "int table[1000];\nvoid work(void);\nvoid work(void) { for (int i = 0; i < 1000; i++) table[i] = i; }\n"
MAIN = "void work(void);\nint main(void) { work(); return 0; }\n"


def mem(cc, *args, cwd, cxx=False, env=None, status=0):
    r = subprocess.run([TOOL, "mem", "c++" if cxx else "cc", f"--compiler={cc}", *args], cwd=cwd, text=True,
                       capture_output=True, env=dict(CLEAN, **(env or {})))
    if status is not None:
        equal(r.returncode, status, f"mem cc {args}: {r.stdout}{r.stderr}")
    return r


def sources(dir):
    for name, text in (("one.c", ONE), ("main.c", MAIN), ("one.cc", f'extern "C" {{\n{ONE}}}\n'),
                       ("main.cc", MAIN.replace("void work(void);", 'extern "C" void work(void);'))):
        with open(os.path.join(dir, name), "w", encoding="utf-8") as f:
            f.write(text)


def traces(program, dir, wanted=1000):
    trace = os.path.join(dir, "trace")
    alone(program, trace=trace)
    equal(sizes(check(trace)).get(4, (0, 0))[1], wanted, f"writes of {program}")
    os.unlink(trace)


def has_tsan(program):
    return "libtsan" in subprocess.run(["ldd", program], capture_output=True, text=True).stdout


@both_families
def every_shape_of_a_command_makes_a_traced_program(dir, cc, cxx):
    sources(dir)
    tmp = os.path.join(dir, "tmp")
    os.makedirs(tmp, exist_ok=True)
    private = {"TMPDIR": tmp}
    out = os.path.join(dir, "prog")
    # Compile and link at once, in either order, with a language and without.
    for command in (["one.c", "main.c", "-o", "prog", "-O1"], ["-oprog", "-O1", "main.c", "one.c", "-lm"],
                    ["-O1", "-x", "c", "one.c", "main.c", "-o", "prog"],
                    ["-O1", "-xc", "one.c", "-x", "none", "main.c", "-o", "prog"]):
        mem(cc, *command, cwd=dir, env=private)
        traces(out, dir)
    # In steps, through an archive and through a response file.
    mem(cc, "-O1", "-c", "one.c", "-o", "one.o", cwd=dir, env=private)
    mem(cc, "-O1", "-c", "main.c", cwd=dir, env=private)
    subprocess.run(["ar", "rcs", "libone.a", "one.o"], cwd=dir, check=True)
    mem(cc, "main.o", "-L.", "-lone", "-o", "prog", cwd=dir, env=private)
    traces(out, dir)
    with open(os.path.join(dir, "args"), "w", encoding="utf-8") as f:
        f.write('main.o\n"one.o" -o prog\n')
    mem(cc, "@args", cwd=dir, env=private)
    traces(out, dir)
    # Mixed: an object and a source.
    mem(cc, "-O1", "main.c", "one.o", "-o", "prog", cwd=dir, env=private)
    traces(out, dir)
    # Static, and C++.
    r = mem(cc, "-O1", "-static", "main.c", "one.c", "-o", "prog", cwd=dir, env=private)
    contains(r.stderr, "-static")
    traces(out, dir)
    mem(cxx, "-O1", "one.cc", "main.cc", "-o", "prog", cwd=dir, cxx=True, env=private)
    traces(out, dir)
    # No file is left.
    equal(os.listdir(tmp), [], "what is left in the temporary directory")


@both_families
def a_sanitizer_asked_for_at_linking_is_left_out_and_said(dir, cc, _cxx):
    sources(dir)
    r = mem(cc, "-O1", "-fsanitize=thread", "one.c", "main.c", "-o", "prog", cwd=dir)
    contains(r.stderr, "left out when linking")
    equal(has_tsan(os.path.join(dir, "prog")), False, "libtsan")
    traces(os.path.join(dir, "prog"), dir)
    with open(os.path.join(dir, "args"), "w", encoding="utf-8") as f:
        f.write("-O1 -fsanitize=thread one.c main.c -o prog\n")
    contains(mem(cc, "@args", cwd=dir).stderr, "left out when linking")
    equal(has_tsan(os.path.join(dir, "prog")), False, "libtsan")
    traces(os.path.join(dir, "prog"), dir)
    # Other sanitizers stay: an overflow is reported, if the compiler has their runtime here.  That of clang does not
    # start in a traced program.
    with open(os.path.join(dir, "over.c"), "w", encoding="utf-8") as f:
        f.write("int main(int argc, char **argv) { int x = 0x7fffffff; (void)argv; return (x + argc) == 0; }\n")
    plain = subprocess.run([cc, "-fsanitize=undefined", "over.c", "-o", "over"], cwd=dir, capture_output=True, text=True)
    if plain.returncode == 0:
        for words in (["-fsanitize=undefined"], ["-fsanitize=thread,undefined"]):
            mem(cc, *words, "over.c", "-o", "over", cwd=dir)
            if "clang" not in cc:
                contains(alone(os.path.join(dir, "over"), trace=os.path.join(dir, "over.trace")).stderr, "signed integer overflow")


@each_compiler
def optimisation_at_linking_does_not_lose_the_instrumentation(dir, cc, _cxx):
    sources(dir)
    mem(cc, "-O1", "-flto", "-c", "one.c", "main.c", cwd=dir)
    r = mem(cc, "-O1", "-flto", "one.o", "main.o", "-o", "prog", cwd=dir, status=None)
    if r.returncode != 0 and "plugin" in r.stderr:
        raise Skip(f"no linker plugin for {cc}")
    equal(r.returncode, 0, r.stderr)
    traces(os.path.join(dir, "prog"), dir)


HEAP = """#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct node { struct node *next; };
int main(int nr, char **)
{
	char *text = (char *)malloc(100), *copy = (char *)malloc(100);
	struct node *list = new node{ nullptr };

	for (int i = 0; i < 50; i++)
		list = new node{ list };
	memset(text, nr, 99 + nr);
	memcpy(copy, text, 99 + nr);
	_exit(copy[99] - (list ? 1 : 0));
}
"""


@both_families
def every_linker_brings_the_functions_that_record_the_heap_and_the_end(dir, _cc, cxx):
    """They stand in front of libc's and of the C++ library's; mold looks into archives after shared libraries."""
    linkers = [name for name in ("bfd", "lld", "mold") if shutil.which(f"ld.{name}")]
    trace, found = os.path.join(dir, "trace"), {}
    with open(os.path.join(dir, "heap.cc"), "w", encoding="utf-8") as f:
        f.write(HEAP)
    for linker in linkers:
        r = mem(cxx, "-O1", f"-fuse-ld={linker}", "heap.cc", "-o", "prog", cwd=dir, cxx=True, status=None)
        if r.returncode and "fuse-ld" in r.stderr:
            print(f"{cxx} does not know {linker}")  # gcc before 12.1
            continue
        equal(r.returncode, 0, r.stderr)
        alone(os.path.join(dir, "prog"), trace=trace)
        summary = subprocess.run([TOOL, "mem", "stat", trace], capture_output=True, text=True, check=True).stdout
        blocks = re.search(r"(\d+) blocks allocated", summary)
        assert blocks and int(blocks[1]) > 50, f"{cxx}, {linker}: {summary}"  # a compiler may leave one out
        found[linker] = blocks[1], sizes(check(trace))
        os.unlink(trace)
    equal(found, {linker: found["bfd"] for linker in found}, "blocks, and accesses by size")


@both_families
def what_only_asks_or_preprocesses_is_passed_on(dir, cc, _cxx):
    sources(dir)
    for question in (["--version"], ["-dumpmachine"], ["-print-file-name=libc.so"]):
        mine = mem(cc, *question, cwd=dir).stdout
        equal(mine, subprocess.run([cc, *question], capture_output=True, text=True).stdout, f"answer to {question}")
    contains(mem(cc, "-E", "one.c", cwd=dir).stdout, "table[i] = i")
    mem(cc, "-S", "-O1", "one.c", "-o", "one.s", cwd=dir)
    with open(os.path.join(dir, "one.s"), encoding="utf-8") as f:
        contains(f.read(), "__tsan_write4")
    # A program that does not compile fails as usual, with the message of the compiler.
    with open(os.path.join(dir, "bad.c"), "w", encoding="utf-8") as f:
        f.write("int main(void) { return nonsense; }\n")
    contains(mem(cc, "bad.c", "-o", "bad", cwd=dir, status=1).stderr, "nonsense")
    # Macros of the instrumentation are those of the compiler.
    with open(os.path.join(dir, "macro.c"), "w", encoding="utf-8") as f:
        f.write("#ifdef __has_feature\n#if __has_feature(thread_sanitizer)\n#define __SANITIZE_THREAD__ 1\n#endif\n#endif\n"
                "#ifdef __SANITIZE_THREAD__\nint traced;\n#endif\n")
    for goal in (["-E"], ["-E", "-save-temps"], ["-S", "-save-temps", "-o", "-"], ["-S", "-pipe", "-o", "-"]):
        contains(mem(cc, *goal, "macro.c", cwd=dir).stdout, "traced")
    # Files of dependencies are those that the compiler makes alone.
    made = []
    for command in ([cc], [TOOL, "mem", "cc", f"--compiler={cc}"]):
        place = os.path.join(dir, f"deps-{len(made)}-{cc}")
        os.mkdir(place)
        sources(place)
        subprocess.run([*command, "-O1", "-MMD", "main.c", "one.c", "-o", "prog"], cwd=place, check=True, env=CLEAN, capture_output=True)
        made.append(sorted(f for f in os.listdir(place) if f.endswith(".d")))
    equal(made[1], made[0], "files of dependencies")
    assert made[0], "the compiler made no file of dependencies, so nothing was tested"


@test
def options_take_both_forms(dir):
    """--NAME VALUE as the help has it, and --NAME=VALUE."""
    sources(dir)
    shown = [subprocess.run([TOOL, "mem", "cc", "--show", *options, "-c", "one.c"], cwd=dir, text=True, capture_output=True, check=True, env=CLEAN).stdout
             for options in (["--compiler=gcc", "--only=one.c"], ["--compiler", "gcc", "--only", "one.c"], ["--compiler=gcc", "--only=main.c"])]
    equal(shown[1], shown[0], "command")
    assert shown[2] != shown[0], "--only has no effect on the command, so nothing was tested"
    contains(subprocess.run([TOOL, "mem", "cc", "--compiler", "no-such-cc", "-c", "one.c"], cwd=dir, text=True, capture_output=True, env=CLEAN).stderr,
             "cannot find the compiler 'no-such-cc'")
    for command, words in (("cc", ["--compiler"]), ("c++", ["--compiler=gcc", "--show", "--only"])):
        r = subprocess.run([TOOL, "mem", command, *words], cwd=dir, text=True, capture_output=True, env=CLEAN)
        equal((r.returncode, r.stdout), (2, ""), f"status and output of {words}")
        contains(r.stderr, f"no value after '{words[-1]}'\nhint: see 'corotracer help mem {command}'")


LOOP = "float a[1024], b[1024];\nint main(void) { for (int i = 0; i < 1024; i++) a[i] += b[i]; return 0; }\n"
WIDE = "typedef float v8 __attribute__((vector_size(32)));\nv8 x[64], y[64];\nint main(void) { for (int i = 0; i < 64; i++) x[i] += y[i]; return 0; }\n"


def runs_avx2(options):
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return "-mavx2" in options and " avx2 " in f.read()


@each_compiler
def accesses_by_vectors_are_recorded_or_it_is_said_that_they_are_not(dir, cc, _cxx):
    if os.uname().machine != "x86_64":
        raise Skip("vectors of 32 bytes are those of x86")
    for name, text in (("loop.c", LOOP), ("wide.c", WIDE)):
        with open(os.path.join(dir, name), "w", encoding="utf-8") as f:
            f.write(text)
    trace = os.path.join(dir, "trace")
    # The compiler makes vectors of this loop, however large it would like them.
    for options in ((), ("-mavx2",), ("-march=x86-64-v4", "-mprefer-vector-width=512")):
        r = mem(cc, "-O3", *options, "-c", "loop.c", "-o", "loop.o", cwd=dir)
        equal(r.stderr, "", f"messages for {options}")
        mem(cc, "loop.o", "-o", "loop", cwd=dir)
        if options and not runs_avx2(options):
            continue
        alone(os.path.join(dir, "loop"), trace=trace)
        equal(sum(size * (reads + writes) for size, (reads, writes) in sizes(check(trace)).items()), 3 * 4096, f"bytes read and written, {options}")
        os.unlink(trace)
    r = mem(cc, "-O3", "-c", "wide.c", cwd=dir)
    equal("vectors of 32 and 64 bytes" in r.stderr and "wide.c" in r.stderr, cc.startswith("clang"), f"messages: {r.stderr}")


@each_family
def only_some_sources_are_instrumented(dir, cc, _cxx):
    sources(dir)
    os.makedirs(os.path.join(dir, "lib"), exist_ok=True)
    shutil.copy(os.path.join(dir, "one.c"), os.path.join(dir, "lib", "one.c"))
    for globs, wanted in ((("main.c",), 0), (("one.*",), 1000), (("main.c", "lib/*"), 1000), (("lib/one.c",), 1000)):
        only = [word for glob in globs for word in ("--only", glob)]
        for source in ("lib/one.c", "main.c"):
            equal(mem(cc, *only, "-c", source, "-o", os.path.basename(source) + ".o", cwd=dir).stderr, "", "messages")
        mem(cc, f"--only={globs[0]}", "one.c.o", "main.c.o", "-o", "app", cwd=dir)
        traces(os.path.join(dir, "app"), dir, wanted)
    # One command cannot treat its sources differently.
    r = mem(cc, "--only=one.c", "lib/one.c", "main.c", "-o", "app", cwd=dir)
    contains(r.stderr, "all of them are instrumented")
    traces(os.path.join(dir, "app"), dir)


@test
def a_compiler_that_is_not_there_is_said(dir):
    r = mem("no-such-compiler", "-c", "one.c", cwd=dir, status=1)
    contains(r.stderr, "cannot find the compiler 'no-such-compiler'")
    contains(r.stderr, "hint:")
    r = mem(TOOL, "-c", "one.c", cwd=dir, status=1)
    contains(r.stderr, "this command itself")
    r = mem("cc", "one.c", cwd=dir, status=1, env={"COROTRACER_LIBDIR": "/nonexistent"})
    contains(r.stderr, "libcacheray.a")
    r = mem("cc", "@nonexistent", cwd=dir, status=1)
    contains(r.stderr, "nonexistent")


@each_family
def make_and_cmake_use_it_as_their_compiler(dir, cc, cxx):
    sources(dir)
    env = dict(CLEAN, CC=f"{TOOL} mem cc", CXX=f"{TOOL} mem c++", COROTRACER_CC=cc, COROTRACER_CXX=cxx)
    if shutil.which("make"):
        with open(os.path.join(dir, "Makefile"), "w", encoding="utf-8") as f:
            f.write("prog: main.o one.o\n\t$(CC) $(LDFLAGS) -o $@ $^\n")
        subprocess.run(["make", "-B", "-e", "CFLAGS=-O1"], cwd=dir, env=env, check=True, capture_output=True)
        traces(os.path.join(dir, "prog"), dir)
    if not shutil.which("cmake"):
        raise Skip("no cmake")
    with open(os.path.join(dir, "CMakeLists.txt"), "w", encoding="utf-8") as f:
        f.write("cmake_minimum_required(VERSION 3.20)\nproject(p C CXX)\nadd_library(one SHARED one.c)\n"
                "add_executable(prog main.c)\ntarget_link_libraries(prog one)\n")
    build = os.path.join(dir, f"build-{cc}")
    subprocess.run(["cmake", "-S", dir, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O1"],
                   env=env, check=True, capture_output=True)
    r = subprocess.run(["cmake", "--build", build], env=env, capture_output=True, text=True)
    equal(r.returncode, 0, r.stdout + r.stderr)
    traces(os.path.join(build, "prog"), dir)


main()
