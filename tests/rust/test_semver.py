# SPDX-License-Identifier: MIT
"""test_semver.py - the crate's interface is compatible with the first commit of its version, by cargo-semver-checks."""
import re
import shutil
import tarfile

from rust import *  # noqa: F403

CRATE = os.path.join(TREE, "sdk", "rust")


def git(*arguments):
    return subprocess.run(["git", "-C", TREE, *arguments], capture_output=True, text=True, timeout=300)


def checker():
    path = os.pathsep.join((os.environ["PATH"], os.path.expanduser("~/.cargo/bin")))
    place = os.environ.get("CARGO_SEMVER_CHECKS") or shutil.which("cargo-semver-checks", path=path)
    if not place:
        raise Skip("no cargo-semver-checks here; 'cargo install cargo-semver-checks --locked' installs it")
    return place


def baseline(dir):
    """The crate as of the first commit that has its version, below dir."""
    with open(os.path.join(CRATE, "Cargo.toml"), encoding="utf-8") as f:
        line = re.search(r'^version = ".*"$', f.read(), re.M).group(0)
    found = git("log", "--reverse", "--format=%H", "-S" + line, "--", "sdk/rust/Cargo.toml").stdout.split()
    if not found:
        raise Skip("git's history does not have the first commit of this version")
    archive = os.path.join(dir, "crate.tar")
    equal(git("archive", "-o", archive, found[0], "sdk/rust").returncode, 0, "status of git archive")
    with tarfile.open(archive) as f:
        f.extractall(dir)
    return os.path.join(dir, "sdk", "rust")


def check_release(dir, crate, old):
    env = dict(os.environ, CARGO_TARGET_DIR=os.path.join(dir, "target"))
    return subprocess.run([checker(), "semver-checks", "check-release", "--manifest-path", os.path.join(crate, "Cargo.toml"), "--baseline-root", old,
                           "--release-type", "minor", "--color", "never"], capture_output=True, text=True, timeout=1500, env=env)


@test
def the_interface_is_compatible(dir):
    checker()
    old, new = baseline(dir), os.path.join(dir, "new")  # a copy: nothing is written into the tree
    shutil.copytree(CRATE, new, ignore=shutil.ignore_patterns("target"))
    p = check_release(dir, new, old)
    equal(p.returncode, 0, p.stdout[-3000:] + p.stderr[-3000:])


@test
def a_function_that_is_gone_is_noticed(dir):
    """The test can fail: the same crate without one of its public functions."""
    checker()
    old, less = baseline(dir), os.path.join(dir, "less")
    shutil.copytree(CRATE, less, ignore=shutil.ignore_patterns("target"))
    path = os.path.join(less, "src", "lib.rs")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(re.sub(r"^pub (use|fn|mod) ", r"pub(crate) \1 ", text, count=1, flags=re.M))
    p = check_release(dir, less, old)
    assert p.returncode, "a missing item was not noticed"
    contains(p.stdout + p.stderr, "missing")


main()
