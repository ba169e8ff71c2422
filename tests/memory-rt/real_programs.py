# SPDX-License-Identifier: MIT
"""real_programs.py - SQLite, zlib, Lua and Redis from Debian's source packages, built with `mem cc`.

Sources and programs are kept in the build folder (TEST_PROGRAMS) for the next run.  A program is built again if the compiler's
command, the runtime or a file of the test changes.  Without a network, and without sources from an earlier run, tests are skipped.
"""
import contextlib
import glob
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

from rt import CLEAN, HERE, PROGRAMS, Skip, TOOL

sys.path.insert(0, str(HERE.parent / "inspect"))
from programs import file_sum, locked_directory  # noqa: E402

REAL = PROGRAMS / "real"
INCLUDE = HERE.parent.parent / "include"
JOBS = str(os.cpu_count() or 1)
# Where a test adds an annotation to the sources: file, text, text after it.  The types have these names in DWARF.
TRUTH = {
    "sqlite3": [
        ("sqlite3.c", "  pPgHdr->pExtra = (void *)&pPgHdr[1];\n",
         '  TRUTH_ADD(pPage, sizeof(void *) * 7, 1, "PgHdr1");\n  TRUTH_ADD(pPgHdr, sizeof(PgHdr), 1, "PgHdr");\n'
         '  TRUTH_ADD(pPgHdr->pExtra, pCache->szExtra, 1, "MemPage");\n'),
    ],
    "lua5.4": [
        ("src/ltable.c", "  Table *t = gco2t(o);\n", '  TRUTH_ADD(t, sizeof(Table), 1, "Table");\n'),
        ("src/ltable.c", "    t->node = luaM_newvector(L, size, Node);\n", '    TRUTH_ADD(t->node, sizeof(Node), size, "Node");\n'),
        ("src/lstring.c", "  ts = gco2ts(o);\n  ts->hash = h;\n", '  TRUTH_ADD(ts, totalsize, 1, "TString");\n'),
    ],
    # Without chance, two runs of Redis make the same accesses.
    "redis": [
        ("src/server.c", "    srandom(time(NULL)^getpid()^tv.tv_usec);\n", "    srandom(1);\n"),
        ("src/server.c", "    getRandomBytes(hashseed,sizeof(hashseed));\n", "    memset(hashseed, 1, sizeof(hashseed));\n"),
        ("src/dict.c", "    entry = zmalloc(sizeof(*entry) + metasize);\n", '    TRUTH_ADD(entry, sizeof(*entry), 1, "dictEntry");\n'),
        ("src/object.c", "    robj *o = zmalloc(sizeof(*o));\n", '    TRUTH_ADD(o, sizeof(*o), 1, "robj");\n'),
        ("src/object.c", "    struct sdshdr8 *sh = (void*)(o+1);\n", '    TRUTH_ADD(o, sizeof(*o), 1, "robj");\n'),
        ("src/t_zset.c", "        zmalloc(sizeof(*zn)+level*sizeof(struct zskiplistLevel));\n",
         '    TRUTH_ADD(zn, sizeof(*zn)+level*sizeof(struct zskiplistLevel), 1, "zskiplistNode");\n'),
    ],
    "zlib": [
        ("deflate.c", "    s = (deflate_state *) ZALLOC(strm, 1, sizeof(deflate_state));\n",
         '    TRUTH_ADD(s, sizeof(*s), 1, "deflate_state");\n'),
        ("inflate.c", "            ZALLOC(strm, 1, sizeof(struct inflate_state));\n",
         '    TRUTH_ADD(state, sizeof(*state), 1, "struct inflate_state");\n'),
    ],
}


def run(*command, cwd, env=None):
    r = subprocess.run(command, cwd=cwd, env=dict(CLEAN, **(env or {})), text=True, timeout=1500,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if r.returncode != 0:
        raise AssertionError(f"{' '.join(command)} in {cwd}: status {r.returncode}\n{r.stdout[-3000:]}")
    return r.stdout


# ---- sources ---------------------------------------------------------------------------------


def source_lists(dir):
    """The distribution's own lists, for sources instead of binaries, in a place of our own."""
    parts = os.path.join(dir, "parts")
    os.makedirs(os.path.join(dir, "lists", "partial"), exist_ok=True)
    os.makedirs(parts, exist_ok=True)
    found = False
    for path in glob.glob("/etc/apt/sources.list.d/*.sources"):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if "debian" in text:
            with open(os.path.join(parts, "src.sources"), "w", encoding="utf-8") as f:
                f.write(re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.M))
            found = True
    if os.path.exists("/etc/apt/sources.list"):
        with open("/etc/apt/sources.list", encoding="utf-8") as f:
            lines = [line for line in f if line.startswith("deb ")]
        if lines:
            with open(os.path.join(parts, "src.list"), "w", encoding="utf-8") as f:
                f.writelines(line.replace("deb ", "deb-src ", 1) for line in lines)
            found = True
    if not found:
        raise Skip("no Debian package lists")
    return ["-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={parts}",
            "-o", f"Dir::State::lists={dir}/lists", "-o", "APT::Sandbox::User="]


def tarball_of(where, package):
    found = [t for t in glob.glob(os.path.join(where, f"{package}_*.orig.tar.*")) if not t.endswith(".asc")]
    return found[0] if found else None


def fetch_source(package):
    """The package's tarball, from an earlier run or from the distribution."""
    with locked_directory("real-sources") as where:
        if tarball_of(where, package):
            return tarball_of(where, package)
        if not shutil.which("apt-get"):
            raise Skip("no apt-get to fetch sources with")
        options = source_lists(where)
        lists = os.path.join(where, "lists")
        commands = [["source", "-qq", "--download-only", package]]
        if len(os.listdir(lists)) < 3:
            commands.insert(0, ["update", "-qq"])
        for command in commands:
            try:
                r = subprocess.run(["apt-get", *options, *command], cwd=where, capture_output=True, text=True,
                                   timeout=300, env=CLEAN)
            except subprocess.TimeoutExpired as e:
                raise Skip("the source packages do not come") from e
            if r.returncode != 0:
                shutil.rmtree(lists)
                raise Skip(f"no source packages: {r.stderr.strip().splitlines()[-1:]}")
        if not tarball_of(where, package):
            raise Skip(f"no sources of {package}")
        return tarball_of(where, package)


def unpack_source(package, out):
    os.makedirs(out)
    run("tar", "xf", fetch_source(package), "-C", out, "--strip-components=1", cwd=out)
    return out


def amalgamation():
    """A folder with SQLite as one C file."""
    tarball = fetch_source("sqlite3")
    with locked_directory("real-sqlite-source") as where:
        out = os.path.join(where, os.path.basename(tarball).split(".orig")[0])
        if not os.path.exists(os.path.join(out, "done")):
            if not shutil.which("tclsh"):
                raise Skip("SQLite's build needs tclsh")
            shutil.rmtree(out, ignore_errors=True)
            unpack_source("sqlite3", out)
            run("./configure", "--disable-tcl", cwd=out)
            run("make", "sqlite3.c", cwd=out)
            pathlib.Path(out, "done").touch()
        return out


# ---- programs --------------------------------------------------------------------------------


def wrapper(cc):
    return {"CC": f"{TOOL} mem cc", "CXX": f"{TOOL} mem c++", "COROTRACER_CC": cc[0], "COROTRACER_CXX": cc[1]}


@contextlib.contextmanager
def built_once(name, *words):
    """A folder to build in; (folder, True) if there is nothing to do.  The first of @words is the compiler."""
    runtime = sorted(glob.glob(os.path.join(os.path.dirname(TOOL), "lib", "libcacheray*")))
    files = [__file__, *runtime, *sorted(map(str, REAL.iterdir()))]
    command = "".join(run(TOOL, "mem", "cc", "--show", f"--compiler={cc}", "-c", "x.c", cwd="/") for cc in words[:1])
    key = hashlib.sha256("\0".join([*words, command, *(file_sum(f) or "" for f in files)]).encode()).hexdigest()[:16]
    kind = hashlib.sha256("\0".join(words).encode()).hexdigest()[:8]
    with locked_directory(f"real-{name}-{kind}") as where:
        out = os.path.join(where, key)
        done = os.path.join(out, "done")
        if not os.path.exists(done):  # what an earlier version made is of no use
            for left in os.listdir(where):
                if left != "lock":
                    shutil.rmtree(os.path.join(where, left), ignore_errors=True)
            os.makedirs(out)
            yield out, False
            pathlib.Path(done).touch()
        else:
            yield out, True


def add_truth(package, src):
    """Annotations behind the places of TRUTH, and the header in front of each file."""
    for file in {f for f, _, _ in TRUTH[package]}:
        path = os.path.join(src, file)
        with open(path, encoding="latin-1") as f:
            text = f.read()
        for name, after, insert in TRUTH[package]:
            if name != file:
                continue
            if text.count(after) != 1:
                raise AssertionError(f"{package} {file}: {text.count(after)} places for an annotation: {after}")
            text = text.replace(after, after + insert)
        with open(path, "w", encoding="latin-1") as f:
            f.write('#include "real_truth.h"\n' + text)


def compile_file(cc, source, out, *flags, cwd):
    run(TOOL, "mem", "cc", f"--compiler={cc[0]}", "-g", *flags, "-c", source, "-o", out, cwd=cwd)


def link_program(cc, out, *words, cwd):
    run(TOOL, "mem", "cc", f"--compiler={cc[0]}", "-g", *words, "-o", out, cwd=cwd)
    return out


def build_sqlite(cc, optimize="-O2", truth=False, flags=(), main="sqlite_queries.c"):
    """A program of this folder with SQLite inside."""
    source = amalgamation()
    with built_once("sqlite", cc[0], optimize, str(truth), main, *flags) as (where, ready):
        out = os.path.join(where, "program")
        if ready:
            return out
        shutil.copy(os.path.join(source, "sqlite3.c"), where)
        if truth:
            add_truth("sqlite3", where)
        common = [optimize, *flags, f"-I{source}", f"-I{REAL}", f"-I{INCLUDE}", "-DSQLITE_OMIT_LOAD_EXTENSION"]
        compile_file(cc, "sqlite3.c", "sqlite3.o", *common, cwd=where)
        compile_file(cc, str(REAL / main), "main.o", *common, cwd=where)
        return link_program(cc, out, *flags, "main.o", "sqlite3.o", "-lm", "-pthread", "-ldl", cwd=where)


def build_zlib(cc, optimize="-O2", truth=False, flags=()):
    fetch_source("zlib")
    with built_once("zlib", cc[0], optimize, str(truth), *flags) as (where, ready):
        out = os.path.join(where, "program")
        if ready:
            return out
        src = unpack_source("zlib", os.path.join(where, "zlib"))
        if truth:
            add_truth("zlib", src)
        names = ["adler32", "compress", "crc32", "deflate", "infback", "inffast", "inflate", "inftrees", "trees", "uncompr", "zutil"]
        sources = [f"{name}.c" for name in names]
        link_program(cc, out, optimize, *flags, f"-I{src}", f"-I{REAL}", f"-I{INCLUDE}", "-DHAVE_UNISTD_H", "-w",
                     str(REAL / "zlib_round.c"), *sources, cwd=src)
        return out


def edit_file(path, edits):
    """@edits: (old text, which occurs once; new text)."""
    with open(path, encoding="latin-1") as f:
        text = f.read()
    for old, new in edits:
        if text.count(old) != 1:
            raise AssertionError(f"{path}: {text.count(old)} times: {old}")
        text = text.replace(old, new)
    with open(path, "w", encoding="latin-1") as f:
        f.write(text)


def build_lua(cc, optimize="-O2", truth=False, flags=(), objects=()):
    """@objects: changes to lobject.h, as for edit_file()."""
    fetch_source("lua5.4")
    with built_once("lua", cc[0], optimize, str(truth), *flags, *(part for edit in objects for part in edit)) as (where, ready):
        out = os.path.join(where, "program")
        if ready:
            return out
        src = unpack_source("lua5.4", os.path.join(where, "lua"))
        if truth:
            add_truth("lua5.4", src)
        edit_file(os.path.join(src, "src", "lobject.h"), objects)
        sources = [s for s in sorted(glob.glob(os.path.join(src, "src", "*.c"))) if not s.endswith("/luac.c")]
        link_program(cc, out, optimize, *flags, f"-I{REAL}", f"-I{INCLUDE}", "-DLUA_USE_LINUX", "-Dluai_makeseed(...)=1", *sources, "-lm", "-ldl",
                     "-Wl,-E", cwd=src)
        return out


def build_redis(cc, optimize="-O2", truth=False):
    fetch_source("redis")
    with built_once("redis", cc[0], optimize, str(truth)) as (where, ready):
        src = os.path.join(where, "redis")
        out = os.path.join(src, "src", "redis-server")
        if ready:
            return out
        unpack_source("redis", src)
        if truth:
            add_truth("redis", src)
        run("make", "-C", "src", "-j", JOBS, "redis-server", "MALLOC=libc", f"OPTIMIZATION={optimize}", "USE_SYSTEMD=no",
            f"REDIS_CFLAGS=-g -I{REAL} -I{INCLUDE}", f"CC={TOOL} mem cc", cwd=src, env=wrapper(cc))
        return out
