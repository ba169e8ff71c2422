#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_crate.py - the crate itself: its own tests, its format, its documentation, old compilers, Miri."""
import re

from rust import *


def clean(*args, root=None, **kwargs):
    """Cargo with the crate alone, which has no dependencies."""
    status, out = cargo(*args, root=root or plain(), **kwargs)
    equal(status, 0, f"status of cargo {' '.join(args)}, which said\n{out}")
    return out


def toolchain(name):
    """A toolchain that rustup has installed, or None."""
    need_cargo()
    if subprocess.run(["cargo", f"+{name}", "--version"], capture_output=True).returncode != 0:
        raise Skip(f"no toolchain {name} here")


@test
def its_own_tests(dir):
    """Among them the layout, which must equal that of the other languages, and the examples in the documentation."""
    need_cargo()
    out = clean("test", "-p", "corotracer")
    passed = sum(int(n) for n in re.findall(r"(\d+) passed", out))
    assert passed >= 20, f"only {passed} tests ran:\n{out}"


@test
def no_lint_finds_anything(dir):
    need_tool("clippy")
    clean("clippy", "--all-targets", "--", "-D", "warnings")


@test
def no_lint_finds_anything_in_what_needs_crates(dir):
    need_tool("clippy")
    for root in everything(), corpus():
        fetched("clippy", "--all-targets", "--release", "--", "-D", "warnings", root=root)


@test
def all_of_it_is_formatted(dir):
    need_tool("fmt")
    for root, name in ((plain(), "sdk/rust"), (plain(), "tests/rust"), (everything(), "tests/rust/tokio"),
                       (everything(), "examples/rust"), (corpus(), "tests/corpus/rust")):
        manifest = os.path.join(root, name, "Cargo.toml")
        status, out = cargo("fmt", "--check", "--manifest-path", manifest, root=root)
        equal(status, 0, f"differences in {name}:\n{out}")


@test
def its_documents_have_no_warnings(dir):
    need_cargo()
    if not shutil.which("rustdoc"):
        raise Skip("no rustdoc here")
    clean("doc", "--no-deps", "-p", "corotracer", env={"RUSTDOCFLAGS": "-D warnings"})


@test
def it_has_no_dependency_and_no_build_script(dir):
    need_cargo()
    meta = json.loads(clean("metadata", "--format-version", "1", "--no-deps", "--offline"))
    package, = [p for p in meta["packages"] if p["name"] == "corotracer"]
    equal(package["dependencies"], [], "dependencies")
    equal([t["kind"] for t in package["targets"]], [["lib"]], "targets")
    equal(package["rust_version"], "1.63", "the oldest compiler")


@test
def it_can_be_packaged(dir):
    need_cargo()
    out = clean("package", "-p", "corotracer", "--offline", "--allow-dirty",
                env={"CARGO_TARGET_DIR": os.path.join(BUILD, "target-package")})
    assert "warning" not in out.replace("warning: manifest has no documentation, homepage or repository", ""), out


@test
def the_oldest_compiler_builds_it(dir):
    if need_cargo() == OLDEST:
        clean("check", "-p", "corotracer")
        return
    toolchain("1.63")
    clean("+1.63", "check", "-p", "corotracer", env={"CARGO_TARGET_DIR": os.path.join(BUILD, "target-oldest")})


@test
def other_platforms_build_it_and_trace_nothing(dir):
    need_cargo()
    if not shutil.which("rustup"):
        raise Skip("no rustup here to say what is installed")
    have = subprocess.run(["rustup", "target", "list", "--installed"], capture_output=True, text=True).stdout.split()
    others = [t for t in have if not t.startswith(os.uname().machine + "-unknown-linux")]
    if not others:
        raise Skip("no other target installed")
    for target in others:
        clean("check", "-p", "corotracer", "--target", target)


@test
def miri_finds_nothing(dir):
    """Weak memory and data races: lanes, pools, lives, slots and wakers, each with a second thread."""
    toolchain("nightly")
    if subprocess.run(["cargo", "+nightly", "miri", "--version"], capture_output=True).returncode != 0:
        raise Skip("no Miri here")
    status, said = cargo("+nightly", "miri", "setup", root=plain())
    if status != 0:
        raise Skip(f"Miri cannot be set up: {said.strip().splitlines()[-1:]}")
    out = clean("+nightly", "miri", "test", "-p", "corotracer", "--lib",
                env={"CARGO_TARGET_DIR": os.path.join(BUILD, "target-miri")})
    assert int(re.search(r"(\d+) passed", out)[1]) >= 11, out


@test
def thread_sanitizer_finds_nothing_in_wakers(dir):
    """The wakers, where no Miri is installed.  The standard library and the test harness are not instrumented:
    what is reported of them alone does not count.  The other tests read as the collector does, which needs fences,
    and ThreadSanitizer does not know fences."""
    need_cargo()
    if os.environ.get("COROTRACER_FULL") != "1":
        raise Skip("only with COROTRACER_FULL=1")
    target = f"{os.uname().machine}-unknown-linux-gnu"
    status, out = cargo("test", "--target", target, "-p", "corotracer", "--lib", "--", "waker", "the_next_poll", root=plain(),
                        env={"CARGO_TARGET_DIR": os.path.join(BUILD, "target-tsan"), "RUSTC_BOOTSTRAP": "1",
                             "RUSTFLAGS": "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"})
    ran = re.search(r"(\d+) passed; (\d+) failed", out)
    if not ran:
        raise Skip(f"this compiler has no ThreadSanitizer: {out.strip().splitlines()[-1:]}")
    reports = [r for r in out.split("WARNING: ThreadSanitizer")[1:] if re.search(r"sdk/rust/src/(?!tests\.rs)", r)]
    equal((int(ran[1]) >= 5, ran[2], reports[:1]), (True, "0", []), f"passed, failed, races; status {status}")


main()
