# SPDX-License-Identifier: MIT
"""rust.py - build the Rust programs in the build folder, or skip with a reason.

The tree holds packages and no lock file: versions are pinned in the manifests.  They are built as
workspaces in the build folder, laid out like the tree (with links), so that source
paths are the same and nothing is written into the tree.  One of them needs only a compiler; the
other needs crates.
"""
import os
import shutil
import subprocess
import sys

TESTS = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(TESTS))
sys.path.insert(0, os.path.join(TREE, "tests", "cli"))
from harness import *  # noqa: E402,F403

BUILD = os.environ.get("RUST_BUILD", os.path.join(TREE, "build", "rust"))
PLAIN = ["sdk/rust", "tests/rust"]
# In one workspace, so that Tokio is compiled once: the features that the corpus uses include those of the others.
ALL = [*PLAIN, "tests/rust/tokio", "examples/rust", "tests/corpus/rust"]
WHOLE = [*PLAIN, "sdk/rust/tokio", "tests/rust/whole_program"]
OLDEST = (1, 63)
WORKSPACE = """[workspace]
members = [{members}]
resolver = "2"

[profile.release]
debug = 1
"""
# Programs that mostly sleep need no optimized code: optimizing takes half of their build.  Crates that are fetched have no lines that a
# report names: without their debug information the build and the reading of symbols are shorter.
PROFILES = {"all": """opt-level = 0

[profile.release.package."*"]
debug = false
codegen-units = 1

[profile.release.build-override]
codegen-units = 1
"""}


def stage(name, members):
    """A workspace of these members in the build folder: its directory."""
    root = os.path.join(BUILD, name)
    for member in members:
        link = os.path.join(root, member)
        if os.path.exists(link):  # or inside a folder that is linked
            continue
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(os.path.join(TREE, member), link)
    text = WORKSPACE.format(members=", ".join(f'"{m}"' for m in members)) + PROFILES.get(name, "")
    path = os.path.join(root, "Cargo.toml")
    if not os.path.exists(path) or open(path, encoding="ascii").read() != text:
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
    return root


def cargo(*args, root, env=None, timeout=600):
    """(status, output); with its own settings and target folder, not the caller's."""
    env = dict(os.environ, CARGO_TERM_COLOR="never", CARGO_NET_RETRY="1", CARGO_HTTP_TIMEOUT="20",
               **{"CARGO_TARGET_DIR": os.path.join(BUILD, "target"), **(env or {})})
    p = popen("cargo", *args, cwd=root, env=env, stderr=subprocess.STDOUT)
    out, _ = p.communicate(timeout=timeout)
    return p.returncode, out


def need_cargo():
    """Skip, with a reason, if Rust is missing or too old."""
    if not shutil.which("cargo") or not shutil.which("rustc"):
        raise Skip("no cargo here")
    said = subprocess.run(["rustc", "--version"], capture_output=True, text=True)
    if said.returncode != 0:
        raise Skip(f"rustc does not run: {said.stderr.strip().splitlines()[:1]}")
    version = tuple(int(n) for n in said.stdout.split()[1].split(".")[:2])
    if version < OLDEST:
        raise Skip(f"rustc {said.stdout.split()[1]} is older than {OLDEST[0]}.{OLDEST[1]}")
    return version


def need_tool(*args):
    """A component of the toolchain that may be missing."""
    need_cargo()
    if subprocess.run(["cargo", *args, "--version"], capture_output=True).returncode != 0:
        raise Skip(f"no cargo {' '.join(args)} here")


UNREACHABLE = ("failed to download", "failed to fetch", "Could not resolve host", "spurious network error",
               "failed to get `", "failed to load source", "download of", "Unable to update")


def fetched(*args, root, **kwargs):
    """Run cargo offline, and with the network only if that is not enough."""
    status, out = cargo(args[0], "--offline", *args[1:], root=root, **kwargs)
    if status != 0:
        status, out = cargo(*args, root=root, **kwargs)
    if status != 0 and any(word in out for word in UNREACHABLE) and "error[E" not in out:
        reason = next(line for line in out.splitlines() if any(word in line for word in UNREACHABLE))
        raise Skip(f"the crates it needs cannot be fetched: {reason.strip()}")
    equal(status, 0, f"status of cargo {' '.join(args)}, which said\n{out}")
    return out


def plain():
    return stage("plain", PLAIN)


def everything():
    return stage("all", ALL)


def whole():
    return stage("whole", WHOLE)


def program(name):
    """A program that rust/build has built."""
    path = os.path.join(BUILD, "target", "release", name)
    if not os.path.exists(path):
        raise Skip(f"{name} was not built: see rust/build")
    return path
