# SPDX-License-Identifier: MIT
"""venvs.py - a Python with packages of PyPI, installed once for all tests of a build."""
import fcntl
import os
import shutil
import subprocess
import sys

from harness import Skip


def install_packages(place, packages):
    pip = [place + "/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", place], [*pip, *packages]):
        p = subprocess.run(command, capture_output=True, text=True, check=False)
        if p.returncode:
            shutil.rmtree(place, ignore_errors=True)
            raise Skip(f"{' and '.join(packages)} cannot be installed: {p.stderr.strip()[-200:]}")
    with open(place + "/ready", "w", encoding="ascii") as f:
        f.write("yes\n")


def python_with(place, *packages):
    """The interpreter, in a folder beside PLACE.  Of tests that run in parallel one installs, and the others wait."""
    place = "-".join([place, *packages])
    os.makedirs(os.path.dirname(os.path.abspath(place)), exist_ok=True)
    with open(place + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(place + "/ready"):
            install_packages(place, packages)
    return place + "/bin/python"
