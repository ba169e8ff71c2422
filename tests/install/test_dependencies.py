#!/usr/bin/env python3
"""What CMake says about libraries: missing ones by name, purpose and package; optional ones can be left out.

docs/building.md has the same rows as scripts/dependencies.cmake."""
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.path.realpath(sys.argv[1])
ROW = re.compile(r'^ct_(need|may_use)\((.*)\)$', re.M)


def words_of(line):
    return [a or b for a, b in re.findall(r'"([^"]*)"|(\S+)', line)]


def rows():
    with open(os.path.join(SOURCE, "scripts/dependencies.cmake"), encoding="utf-8") as f:
        found = [(kind, words_of(line)) for kind, line in ROW.findall(f.read())]
    return [w for kind, w in found if kind == "need"], [w for kind, w in found if kind == "may_use"]


def configure(folder, *options, **environment):
    done = subprocess.run(["cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja", "-DCOROTRACER_BUILD_TESTS=OFF", "-DCOROTRACER_BUILD_EXAMPLES=OFF",
                           "-DWITH_WEB=OFF", *options], env={**os.environ, **environment}, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)


def expect(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def missing_ones_are_named(required, folder):
    status, said = configure(folder, PKG_CONFIG_LIBDIR="/nonexistent")
    expect(status, "configured without any library")
    for _, module, purpose, debian, fedora, arch in required:
        if not module.startswith("lib:"):
            expect(f"{module}: {purpose}" in said, f"{module} is not said to be missing: {said}")
            for package in (debian, fedora, arch):
                expect(f" {package} " in said, f"no package {package} for {module}: {said}")


def optional_ones_can_be_left_out(optional, folder):
    status, said = configure(folder, *(f"-D{row[0]}=OFF" for row in optional))
    expect(not status, f"not configured without the optional libraries: {said}")
    targets = subprocess.run(["ninja", "-C", folder, "-t", "targets", "all"], capture_output=True, text=True, timeout=300, check=True).stdout
    for loader in re.findall(r"^src/.*/(\w+)_loader\.c\.o:", targets, re.M):
        expect(loader == "libpfm", f"{loader} is built although everything optional is off")


def page_has_every_row(required, optional):
    with open(os.path.join(SOURCE, "docs/building.md"), encoding="utf-8") as f:
        page = f.read()
    for row in required:
        expect(re.search(rf"^\| `?{re.escape(row[1].removeprefix('lib:'))}`? .*\| {row[3]} \| {row[4]} \| {row[5]}", page, re.M), f"docs/building.md lacks {row}")
    for row in optional:
        expect(re.search(rf"^\| `{row[0]}` .*\| {row[4]} \| {row[5]} \| {row[6]}", page, re.M), f"docs/building.md lacks {row}")


def main():
    required, optional = rows()
    expect(len(required) > 5 and len(optional) > 4, "the rows of dependencies.cmake were not found")
    page_has_every_row(required, optional)
    with tempfile.TemporaryDirectory() as folder:
        missing_ones_are_named(required, os.path.join(folder, "missing"))
        optional_ones_can_be_left_out(optional, os.path.join(folder, "off"))


main()
