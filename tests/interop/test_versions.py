# SPDX-License-Identifier: MIT
"""test_versions.py - this tree and the one before version 1.0: program and tool of either, in all
four combinations; and files of the older tool in this one.  The older tree is in git's history.
"""
import shutil
import subprocess
import tempfile

from interop import *  # noqa: F403

SOURCE = os.path.abspath(os.environ.get("COROTRACER_SOURCE", "."))
OLD_COMMIT = "f623d63c~1"  # the last one before the names of files and functions changed
OPTIONS = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DWITH_WEB=OFF", "-DCOROTRACER_BUILD_TESTS=OFF", "-DCOROTRACER_BUILD_EXAMPLES=OFF"]
EVENTS = {"sdk_writer": 32 * 24, "coroutine": 2}


def command(*args, **kwargs):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1700, **kwargs)
    if done.returncode:
        raise AssertionError(f"{' '.join(args)}: exit {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


class Version:
    """A tree that is built and installed below its directory, with programs made against it."""

    def __init__(self, name, dir, commit):
        self.name, self.dir = name, os.path.join(dir, name)
        tree = os.path.join(self.dir, "tree")
        os.makedirs(tree)
        if commit:
            archive = os.path.join(self.dir, "tree.tar")
            command("git", "-C", SOURCE, "archive", "-o", archive, commit)
            command("tar", "xf", archive, "-C", tree)
        else:
            tree = SOURCE
        build, self.prefix = os.path.join(self.dir, "build"), os.path.join(self.dir, "usr")
        command("cmake", "-G", "Ninja", "-S", tree, "-B", build, f"-DCMAKE_INSTALL_PREFIX={self.prefix}", "-DCMAKE_INSTALL_LIBDIR=lib", *OPTIONS)
        command("cmake", "--build", build)
        command("cmake", "--install", build)
        self.tool = os.path.join(self.prefix, "bin", "corotracer")
        flags = ["-I", os.path.join(self.prefix, "include"), "-L", os.path.join(self.prefix, "lib"),
                 "-Wl,-rpath," + os.path.join(self.prefix, "lib")]
        sources = os.path.join(SOURCE, "tests")
        self.programs = {name: os.path.join(self.dir, name) for name in EVENTS}
        command("cc", "-D_GNU_SOURCE", os.path.join(sources, "interop", "sdk_writer.c"), *flags, "-lcorotracer", "-pthread",
                "-o", self.programs["sdk_writer"])
        command("c++", "-std=c++20", os.path.join(sources, "install", "cmake", "coroutine.cpp"), *flags, "-pthread",
                "-o", self.programs["coroutine"])

    def run(self, program, trace, *arguments):
        """Lines of the trace of another version's program under this one's tool."""
        command(self.tool, "run", "-n", "64", "-o", trace, "--", program, *arguments)
        with open(trace) as f:
            return [json.loads(line) for line in f]


def check_combination(tool_version, program_version, dir):
    for name, wanted in EVENTS.items():
        what = f"{name} of {program_version.name} under the tool of {tool_version.name}"
        trace = os.path.join(dir, f"{name}-{tool_version.name}-{program_version.name}.jsonl")
        arguments = GENTLE if name == "sdk_writer" else ()
        events = tool_version.run(program_version.programs[name], trace, *arguments)
        equal(len(events), wanted, f"events of {what}")
        check_order(sorted(events, key=lambda e: e["ts"]))


def check_memory_file(old, new, dir):
    """An access trace that the older compiler wrapper, runtime and collector wrote."""
    source = os.path.join(dir, "sum.c")
    with open(source, "w") as f:
        f.write("int main(void) { static volatile int a[4096]; for (int i = 0; i < 4096; i++) a[i]++; return 0; }\n")
    for maker, collector in ((old, old), (old, new), (new, old), (new, new)):
        program, trace = os.path.join(dir, "sum"), os.path.join(dir, f"{maker.name}-{collector.name}.cray")
        command(maker.tool, "mem", "cc", "-O1", "-g", source, "-o", program)
        command(collector.tool, "mem", "run", "-o", trace, "--", program)
        report = trace + ".json"
        command(new.tool, "mem", "sim", f"--json={report}", trace)
        with open(report, encoding="utf-8") as f:
            equal(json.load(f)["accesses"], 8192, f"accesses of {trace}")


@test
def versions(dir):
    if subprocess.run(["git", "-C", SOURCE, "cat-file", "-e", OLD_COMMIT], stderr=subprocess.DEVNULL).returncode:
        raise Skip("git's history does not have the older version")
    place = tempfile.mkdtemp(prefix="corotracer-versions.", dir="/var/tmp")
    try:
        old, new = Version("old", place, OLD_COMMIT), Version("new", place, None)
        for tool_version in (old, new):
            for program_version in (old, new):
                check_combination(tool_version, program_version, place)
        for name in EVENTS:
            trace = os.path.join(place, f"{name}-old-old.jsonl")
            status = subprocess.run([new.tool, "report", trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300).returncode
            equal(status in (0, 1), True, f"report of {trace}: exit {status}")
        check_memory_file(old, new, place)
    finally:
        shutil.rmtree(place)


main()
