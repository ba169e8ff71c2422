#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_memory_install.py - the installed runtime: through the wrapper, pkg-config, and CMake's function."""
import os
import shlex
import shutil
import subprocess

from rt import CLEAN, Skip, TOOL, alone, check, equal, main, sizes, test

SOURCE = ("#include <cacheray.h>\n#include <string.h>\nint table[1000], other[1000];\n"
          "int main(int argc, char **argv) { for (int i = 0; i < 1000; i++) table[i] = argc;\n"
          "memcpy(other, table, (size_t)argc * 1000); cacheray_mark(1, argv[0]); return 0; }\n")


def installed(dir):
    prefix = os.path.join(dir, "usr")
    r = subprocess.run(["cmake", "--install", os.path.dirname(TOOL), "--prefix", prefix], capture_output=True, text=True)
    equal(r.returncode, 0, f"cmake --install: {r.stderr}")
    with open(os.path.join(dir, "app.c"), "w", encoding="utf-8") as f:
        f.write(SOURCE)
    return prefix


def traces(program, dir):
    trace = os.path.join(dir, "app.trace")
    alone(program, trace=trace)
    c = check(trace)
    equal(sizes(c)[4][1], 1000, "writes")
    equal(sizes(c)[64][0] >= 15, True, f"the memcpy is seen: {c['sizes']}")
    equal(c["marks"], 1, "marks")


@test
def the_wrapper_finds_what_was_installed_with_it(dir):
    prefix = installed(dir)
    program = os.path.join(dir, "app")
    r = subprocess.run([os.path.join(prefix, "bin", "corotracer"), "mem", "cc", "-O1", "app.c", "-o", program], cwd=dir,
                       env=CLEAN, capture_output=True, text=True)
    equal(r.returncode, 0, r.stderr)
    traces(program, dir)


@test
def pkg_config_tells_the_same(dir):
    if not shutil.which("pkg-config"):
        raise Skip("no pkg-config")
    prefix = installed(dir)
    env = dict(CLEAN, PKG_CONFIG_PATH=os.pathsep.join(
        os.path.join(root, "pkgconfig") for root, dirs, _ in os.walk(prefix) if "pkgconfig" in dirs))
    flags = {}
    for what in ("--cflags", "--libs"):
        r = subprocess.run(["pkg-config", what, "cacheray"], env=env, capture_output=True, text=True)
        equal(r.returncode, 0, r.stderr)
        flags[what] = shlex.split(r.stdout)
    subprocess.run(["cc", "-O1", "-c", "app.c", *flags["--cflags"]], cwd=dir, check=True)
    subprocess.run(["cc", "app.o", "-o", "app", *flags["--libs"]], cwd=dir, check=True)
    traces(os.path.join(dir, "app"), dir)


@test
def a_cmake_project_traces_one_of_its_targets(dir):
    prefix = installed(dir)
    with open(os.path.join(dir, "CMakeLists.txt"), "w", encoding="utf-8") as f:
        f.write("cmake_minimum_required(VERSION 3.20)\nproject(app C)\nfind_package(cacheray REQUIRED)\n"
                "add_executable(app app.c)\ntarget_compile_options(app PRIVATE -O1)\ncacheray_trace(app)\n")
    build = os.path.join(dir, "build")
    for command in (["cmake", "-S", dir, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"], ["cmake", "--build", build]):
        r = subprocess.run(command, env=CLEAN, capture_output=True, text=True)
        equal(r.returncode, 0, r.stdout + r.stderr)
    traces(os.path.join(build, "app"), dir)


main()
