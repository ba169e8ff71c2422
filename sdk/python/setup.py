# SPDX-License-Identifier: MIT
"""Build the extension from the C SDK: of the checkout, or of the copy in a source distribution."""
import os
import re
import shutil

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
COPY = os.path.join(HERE, "csdk")
ROOT = COPY if os.path.isdir(COPY) else os.path.join(HERE, "..", "..")
COPIED = ["include/corotracer", "sdk/c/corotracer.c", "CMakeLists.txt", "LICENSE"]


def project_version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as f:
        return re.search(r"project\(corotracer VERSION ([0-9.]+)", f.read()).group(1)


class BuildWithVersion(build_ext):
    """version.h is made by CMake elsewhere, and here in the directory of the build."""

    def run(self):
        place = os.path.join(self.build_temp, "generated")
        os.makedirs(os.path.join(place, "corotracer"), exist_ok=True)
        with open(os.path.join(ROOT, "include", "corotracer", "version.h.in"), encoding="utf-8") as f:
            text = f.read()
        major, minor, patch = project_version().split(".")
        for name, value in (("", project_version()), ("_MAJOR", major), ("_MINOR", minor), ("_PATCH", patch)):
            text = text.replace(f"@PROJECT_VERSION{name}@", value)
        with open(os.path.join(place, "corotracer", "version.h"), "w", encoding="utf-8") as f:
            f.write(text)
        self.include_dirs.append(place)
        super().run()


class SdistWithSources(sdist):
    """The C SDK goes into the distribution, so that it builds without the checkout."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in COPIED:
            source, target = os.path.join(ROOT, name), os.path.join(base_dir, "csdk", name)
            if os.path.isdir(source):
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy2(source, target)


setup(
    version=project_version(),
    cmdclass={"build_ext": BuildWithVersion, "sdist": SdistWithSources},
    ext_modules=[Extension(
        "corotracer._tasks",
        sources=["corotracer/_tasks.c", "corotracer/_places.c", "corotracer/_sdk.c"],
        depends=["corotracer/_places.h"],
        include_dirs=[os.path.join(ROOT, "include"), os.path.join(ROOT, "sdk", "c")],
        define_macros=[("_GNU_SOURCE", None)],
        extra_compile_args=["-std=gnu11", "-fvisibility=hidden"],
    )],
)
