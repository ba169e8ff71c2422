#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_crate.py - the crate itself: its own tests, its format, its documentation, old compilers, Miri."""
import glob
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
    """Among them the layout, which must equal that of the other languages; with COROTRACER_FULL=1 the examples in the documentation, each a program."""
    need_cargo()
    out = clean("test", "-p", "corotracer", *([] if os.environ.get("COROTRACER_FULL") == "1" else ["--lib", "--examples"]))
    passed = sum(int(n) for n in re.findall(r"(\d+) passed", out))
    assert passed >= 20, f"only {passed} tests ran:\n{out}"


@test
def no_lint_finds_anything(dir):
    need_tool("clippy")
    clean("clippy", "--all-targets", "--", "-D", "warnings")


@test
def no_lint_finds_anything_in_what_needs_crates(dir):
    need_tool("clippy")
    if os.environ.get("COROTRACER_FULL") != "1":
        raise Skip("only with COROTRACER_FULL=1")
    fetched("clippy", "--all-targets", "--release", "--", "-D", "warnings", root=everything())


@test
def all_of_it_is_formatted(dir):
    need_tool("fmt")
    for root, name in ((plain(), "sdk/rust"), (plain(), "tests/rust"), (everything(), "tests/rust/tokio"),
                       (everything(), "examples/rust"), (everything(), "tests/corpus/rust"), (whole(), "sdk/rust/tokio"),
                       (whole(), "tests/rust/whole_program")):
        manifest = os.path.join(root, name, "Cargo.toml")
        others = glob.glob(os.path.join(root, name, "src", "programs", "*.rs"))  # modules that a macro names
        status, out = cargo("fmt", "--check", "--manifest-path", manifest, "--", *others, root=root)
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
    equal([t["kind"] for t in package["targets"]], [["lib"], ["example"]], "targets")
    equal(package["rust_version"], "1.63", "the oldest compiler")


@test
def its_version_is_that_of_the_project(dir):
    def found(path, pattern):
        with open(os.path.join(TREE, path), encoding="utf-8") as f:
            return re.search(pattern, f.read(), re.M)[1]

    project = found("CMakeLists.txt", r"^project\(corotracer VERSION (\S+)")
    equal(found("sdk/rust/Cargo.toml", r'^version = "(.*)"'), project, "version in Cargo.toml")
    equal(found("sdk/rust/Cargo.lock", r'^name = "corotracer"\nversion = "(.*)"'), project, "version in Cargo.lock")


@test
def its_interface_is_all_in_the_program_that_must_compile(dir):
    """tests/rust/src/api_1_0.rs names every public item, with its types; rust/build compiles it."""
    with open(os.path.join(TREE, "tests/rust/src/api_1_0.rs"), encoding="utf-8") as f:
        used = set(re.findall(r"\w+", f.read()))
    folder = os.path.join(TREE, "sdk/rust/src")
    with open(os.path.join(folder, "lib.rs"), encoding="utf-8") as f:
        exported = re.findall(r"^pub use (\w+)::(?:\{([^}]*)\}|(\w+));", f.read(), re.M)
    names, methods = set(), set()
    for module, several, one in exported:
        names |= set(re.findall(r"\w+", several or one))
        with open(os.path.join(folder, module + ".rs"), encoding="utf-8") as f:
            methods |= set(re.findall(r"^    pub (?:const )?fn (\w+)", f.read(), re.M))
    assert len(names) >= 15 and len(methods) >= 15, f"found too few: {names} {methods}"
    equal((names | methods) - used, set(), "public, and not in api_1_0.rs")


@test
def it_can_be_published(dir):
    """All that cargo checks before an upload.  Without the registry: the package, built from its own archive."""
    need_cargo()
    env = {"CARGO_TARGET_DIR": os.path.join(BUILD, "target-package")}
    status, out = cargo("publish", "--dry-run", "-p", "corotracer", "--allow-dirty", root=plain(), env=env)
    if status != 0 and any(word in out for word in UNREACHABLE):
        out = clean("package", "-p", "corotracer", "--offline", "--allow-dirty", env=env)
    else:
        equal(status, 0, f"status of cargo publish --dry-run, which said\n{out}")
    warnings = [line for line in out.splitlines() if "warning" in line and "aborting upload due to dry run" not in line]
    equal(warnings, [], "warnings")
    listed = clean("package", "--list", "-p", "corotracer", "--offline", "--allow-dirty").split()
    equal({"LICENSE", "README.md", "src/lib.rs", "examples/own_executor.rs"} - set(listed), set(), "missing in the package")
    equal([name for name in listed if name.startswith("target")], [], "built files in the package")


def unpacked_compiler():
    """Debian's compiler of that version, unpacked in the build folder; it is not installed."""
    root = os.path.join(BUILD, "oldest")
    if not os.path.exists(os.path.join(root, "usr/bin/rustc")):
        if os.environ.get("COROTRACER_FULL") != "1" or not shutil.which("apt-get") or not shutil.which("dpkg"):
            raise Skip("no toolchain 1.63 here; with COROTRACER_FULL=1 Debian's is unpacked")
        os.makedirs(root, exist_ok=True)
        names = ["rustc", "libstd-rust-1.63", "libstd-rust-dev", "libllvm14"]
        got = subprocess.run(["apt-get", "download", "-qq", *names], cwd=root, capture_output=True, text=True, timeout=300)
        archives = [name for name in os.listdir(root) if name.endswith(".deb")]
        if got.returncode != 0 or not any(name.startswith("rustc_1.63.") for name in archives):
            raise Skip(f"Debian's rustc 1.63 cannot be fetched: {got.stderr.strip().splitlines()[-1:]}")
        for name in archives:
            subprocess.run(["dpkg", "-x", os.path.join(root, name), root], check=True)
            os.remove(os.path.join(root, name))
    return root


@test
def the_oldest_compiler_builds_it(dir):
    """Without a warning, and with Debian's compiler of that version as well as with one of rustup."""
    if need_cargo() == OLDEST:
        clean("check", "-p", "corotracer")
        return
    if subprocess.run(["cargo", "+1.63", "--version"], capture_output=True).returncode == 0:
        clean("+1.63", "check", "-p", "corotracer", env={"CARGO_TARGET_DIR": os.path.join(BUILD, "target-oldest")})
        return
    root = unpacked_compiler()
    libraries = os.path.join(root, f"usr/lib/{os.uname().machine}-linux-gnu")
    p = popen(os.path.join(root, "usr/bin/rustc"), "--sysroot", os.path.join(root, "usr"), "--edition", "2021",
              "--crate-type", "lib", "--crate-name", "corotracer", "--emit", "metadata", "--out-dir", dir, "-D", "warnings",
              os.path.join(TREE, "sdk/rust/src/lib.rs"), env=dict(os.environ, LD_LIBRARY_PATH=libraries),
              stderr=subprocess.STDOUT)
    out, _ = p.communicate(timeout=300)
    equal(p.returncode, 0, f"status of rustc {OLDEST[0]}.{OLDEST[1]}, which said\n{out}")


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
