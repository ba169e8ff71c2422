# SPDX-License-Identifier: MIT
"""venvs.py - a Python with packages of PyPI, installed once for all tests of a build."""
import fcntl
import os
import shutil
import subprocess
import sys

from harness import Skip


QUIETLY = ["install", "--quiet", "--disable-pip-version-check"]


def pip_install(python):
    """The command that installs packages for an interpreter of python_with()."""
    if os.path.exists(os.path.join(os.path.dirname(python), "pip")):
        return [python, "-m", "pip", *QUIETLY]
    return [sys.executable, "-m", "pip", "--python", python, *QUIETLY, "--no-compile"]


def install_packages(place, packages):
    python = place + "/bin/python"
    # The pip that is here, without compiling what mostly runs once: half the time.  Before version 22.3 pip
    # installs for its own interpreter only.
    for option in (["--without-pip"], []):
        p = subprocess.run([sys.executable, "-m", "venv", *option, place], capture_output=True, text=True, check=False)
        if p.returncode == 0:
            p = subprocess.run([*pip_install(python), *packages], capture_output=True, text=True, check=False)
        if p.returncode == 0:
            with open(place + "/ready", "w", encoding="ascii") as f:
                f.write("yes\n")
            return
        shutil.rmtree(place, ignore_errors=True)
    raise Skip(f"{' and '.join(packages)} cannot be installed: {p.stderr.strip()[-200:]}")


def python_with(place, *packages):
    """The interpreter, in a folder beside PLACE.  Of tests that run in parallel one installs, and the others wait."""
    place = "-".join([place, *packages])
    os.makedirs(os.path.dirname(os.path.abspath(place)), exist_ok=True)
    with open(place + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(place + "/ready"):
            install_packages(place, packages)
    return place + "/bin/python"
