#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_release.py [PART...] - scripts/release: two runs in different places give the same bytes, and the right ones.

Without PARTs: the source archive and the list of components.
"""
import glob
import re
import sys
import tarfile
import tempfile

HERE = __file__.rsplit("/", 1)[0]
sys.path.insert(0, HERE + "/../cli")
from harness import *  # noqa: E402,F403

TREE = os.path.abspath(os.path.join(HERE, "..", ".."))
PARTS = sys.argv[1:] or ["source", "sbom"]
# What must not matter: place, time zone, language, umask.
PLACES = [("first", {"TZ": "Pacific/Auckland", "LC_ALL": "C"}, 0o077), ("second-longer-name", {"TZ": "UTC"}, 0o002)]
MADE = {}


def output_of(*command, **options):
    p = subprocess.run(command, capture_output=True, text=True, timeout=3000, stdin=subprocess.DEVNULL, **options)
    equal(p.returncode, 0, f"status of {' '.join(command)}, which said\n{p.stdout[-3000:]}{p.stderr[-3000:]}")
    return p.stdout


def make_release(dir, place, settings, mask):
    out, work = os.path.join(dir, place), os.path.join(dir, place + "-work")
    os.mkdir(work)
    env = dict(os.environ, TMPDIR=work, RELEASE_TOOL=os.path.abspath(TOOL), **settings)
    if os.environ.get("COROTRACER_FULL") != "1":
        env["RELEASE_LEVEL"] = "1"
    output_of(os.path.join(TREE, "scripts", "release"), out, *PARTS, env=env, preexec_fn=lambda: os.umask(mask))
    equal(os.listdir(work), [], "files left behind")
    return out


def contents(dir):
    """Relative path to bytes of every file."""
    found = {}
    for path in glob.glob(os.path.join(dir, "**"), recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as f:
                found[os.path.relpath(path, dir)] = f.read()
    return found


def released():
    """The files of a release, made once."""
    if not os.path.exists(os.path.join(TREE, ".git")):
        raise Skip("the tree is not a checkout")
    if not MADE:
        with tempfile.TemporaryDirectory(prefix="corotracer-test-release-") as dir:
            MADE["twice"] = [contents(make_release(dir, *place)) for place in PLACES]
    return MADE["twice"]


def unpacked(dir):
    for name, data in released()[0].items():
        path = os.path.join(dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)


def with_ending(ending):
    found = [name for name in released()[0] if name.endswith(ending)]
    assert found, f"no {ending} among {sorted(released()[0])}"
    return found


@test
def two_runs_give_the_same_bytes(dir):
    one, two = released()
    equal(sorted(one), sorted(two), "names")
    equal([name for name in one if one[name] != two[name]], [], "files that differ")


@test
def the_sums_are_those_of_the_files(dir):
    unpacked(dir)
    out = output_of("sha256sum", "--strict", "-c", "SHA256SUMS", cwd=dir)
    equal(out.count(": OK"), len(released()[0]) - 1, "files with a sum")


@test
def the_archive_has_the_files_of_the_commit(dir):
    unpacked(dir)
    name, = [n for n in with_ending(".tar.gz") if "/" not in n]
    root = name[:-len(".tar.gz")]
    with tarfile.open(os.path.join(dir, name)) as archive:
        members = [m for m in archive.getmembers() if not m.isdir()]
    listed = output_of("git", "-C", TREE, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")[:-1]
    equal(sorted(m.name for m in members), sorted(f"{root}/{n}" for n in listed), "files")
    time = int(output_of("git", "-C", TREE, "log", "-1", "--format=%ct"))
    equal({m.mtime for m in members}, {time}, "times")


@test
def the_components_are_those_of_the_link(dir):
    name, = with_ending(".spdx.json")
    document = json.loads(released()[0][name])
    ids = [e["SPDXID"] for e in document["packages"] + document["files"]] + [document["SPDXID"]]
    equal(len(ids), len(set(ids)), "different ids")
    for r in document["relationships"]:
        assert r["spdxElementId"] in ids and r["relatedSpdxElement"] in ids, f"unknown element in {r}"
    if "deb" not in PARTS:
        linked = set(re.findall(r"^\s+NEEDED\s+(\S+)", output_of("objdump", "-p", TOOL), re.M))
        equal({r["comment"] for r in document["relationships"] if r["relationshipType"] == "DYNAMIC_LINK"}, linked, "libraries")
    for p in document["packages"]:
        where = p.get("externalRefs", [{"referenceLocator": ""}])[0]["referenceLocator"]
        if where.startswith("pkg:deb/"):
            equal(p["versionInfo"], output_of("dpkg-query", "-W", "-f", "${Version}\n", p["name"]).split("\n")[0], f"version of {p['name']}")
    described = {f["fileName"][2:] for f in document["files"]}
    equal(described, set(released()[0]) - {name, "SHA256SUMS"}, "files that are described")


def text_of(*names):
    with open(os.path.join(TREE, *names), encoding="utf-8") as f:
        return f.read()


@test
def every_package_has_the_version_of_the_project(dir):
    version = re.search(r"project\(corotracer VERSION ([0-9.]+)", text_of("CMakeLists.txt")).group(1)
    port = json.loads(text_of("packaging", "vcpkg", "corotracer", "vcpkg.json"))
    equal(port["version"], version, "version of the port for vcpkg")
    equal(re.search(r"^Version:\s+(\S+)", text_of("packaging", "corotracer.spec"), re.M).group(1), version, "version for rpm")
    equal(re.match(r"corotracer \(([0-9.]+)", text_of("debian", "changelog")).group(1), version, "version for Debian")


@test
def options_of_the_port_are_options_of_the_project(dir):
    """CMake would accept a wrong name without effect."""
    used = set(re.findall(r"(?:-D|\s)(COROTRACER_[A-Z_]+)", text_of("packaging", "vcpkg", "corotracer", "portfile.cmake")))
    known = set(re.findall(r"^option\((\w+)", text_of("CMakeLists.txt"), re.M))
    assert used and used <= known, f"unknown: {used - known}"


@test
def an_existing_directory_is_left_alone(dir):
    p = subprocess.run([os.path.join(TREE, "scripts", "release"), dir, "source"], capture_output=True, text=True, timeout=60)
    equal(p.returncode, 1, "status")
    contains(p.stderr, "exists")
    equal(os.listdir(dir), [], "files in it")


def packages_of_rpm_have_what_those_of_debian_have(dir):
    unpacked(dir)
    files, packages = set(), with_ending(".rpm")
    for name in packages:
        files.update(output_of("rpm", "-qlp", os.path.join(dir, name)).split())
    for ending in ("/bin/corotracer", "/libcorotracer.so.0", "/libcacheray.a", "/corotracer.pc", "/corotracer/corotracer.h", "/cacheray.specs"):
        assert any(f.endswith(ending) for f in files), f"no {ending} in {sorted(packages)}"
    debian = set()
    for name in (n for n in released()[0] if n.endswith(".deb") and "dbgsym" not in n):
        debian.update(line.split()[5][1:] for line in output_of("dpkg-deb", "-c", os.path.join(dir, name)).splitlines()
                      if not line.startswith("d"))
    programs = {os.path.basename(f) for f in debian if "/doc/" not in f and "/lintian/" not in f}
    plain = {re.sub(r"\.gz$", "", os.path.basename(f)) for f in files}
    equal({p for p in programs if re.sub(r"\.gz$", "", p) not in plain}, set(), "files of Debian's packages that rpm's lack")


if "rpm" in PARTS:
    test(packages_of_rpm_have_what_those_of_debian_have)

main()
