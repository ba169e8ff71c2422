#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`corotracer why --locals` on programs that print the values of their variables."""
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import test_why as common
import test_why_tokio as tokio

TOOL = os.environ["COROTRACER"]
SECRETS = ("hunter2", "and-more")
RUST_SECRETS = ("Tr0ub4dor", "battery staple", "AAAAAAAA", "hexagon")
LOST = ("optimized out", "not in memory", "its suspend point is unknown")


class Target(common.Target):
    """Also collects the lines `local FUNCTION NUMBER NAME KIND TEXT`."""

    def __init__(self, path, quiet_s=0.06):
        self.expected, self.facts, self.locals = [], {}, []
        self.process = subprocess.Popen([path], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            words = line.split()
            if words[:1] == ["local"]:
                self.locals.append(words[1:])
            elif words[:1] == ["expect"]:
                self.expected.append((int(words[1]), words[2:]))
            elif words == ["ready"]:
                break
        self.wait_asleep(quiet_s)


def run(*args):
    common.wait_sleepers(args)
    r = subprocess.run([TOOL, "why", *args], capture_output=True, timeout=300, check=False)
    if r.returncode:
        common.fail("why %s: exit %d: %s" % (" ".join(args), r.returncode, r.stderr[-300:]))
    return r.stdout


def find_local(variables, path):
    """The variable "point.x" or "numbers.2"; of variables with the same name the innermost."""
    node, rest = None, variables
    for word in path.split("."):
        found = [v for v in rest if v.get("name") == word]
        if not found and word.isdigit() and int(word) < len(rest):
            found = [rest[int(word)]]
        if not found:
            return None
        node = found[-1]
        rest = node.get("members", node.get("elements", []))
    return node


def member_stacks(found):
    """Every member of every group: its stack of (function, variables)."""
    for group in found["groups"]:
        functions = [s["function"].split("::")[-1] for s in group["stack"]]
        if len(group["member_locals"]) != len(group["members"]):
            common.fail("%d members, %d with variables" % (len(group["members"]), len(group["member_locals"])))
        if [s["locals"] for s in group["member_locals"][0]["stack"]] != [s["locals"] for s in group["stack"]]:
            common.fail("the variables of the stack are not those of the first member")
        for member in group["member_locals"]:
            yield list(zip(functions, [s["locals"] for s in member["stack"]]))


def find_function(found, function, number):
    """The variables of the function, in the stack in which `number`, or what was made of it, has that value."""
    for stack in member_stacks(found):
        numbers = [find_local(variables, name) for _, variables in stack for name in ("number", "point.x", "inner.point.x")]
        known = [n["value"] for n in numbers if n and "value" in n]
        for name, variables in stack:
            if name == function and (number is None or not known or number in known):
                return variables
    return None


def same_value(value, text):
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and "." in text):
        return abs(float(value) - float(text)) < 1e-6
    return str(value) == text or (isinstance(value, bool) and str(value).lower() == text.lower())


def check_local(label, variables, name, kind, text):
    """True: shown and right; False: lost by the optimizer."""
    node = find_local(variables, name)
    if kind == "absent":
        if node:
            common.fail("%s: %s is shown, and out of scope: %s" % (label, name, node))
        return True
    parent = find_local(variables, name.split(".")[0])
    if node is None and parent is not None and parent.get("state") in LOST:
        return False
    if node is None:
        common.fail("%s: %s is not shown" % (label, name))
    elif kind == "set":
        if "value" in node or "state" not in node:
            common.fail("%s: %s is not set yet: %s" % (label, name, node))
    elif node.get("state") in LOST:
        return False
    elif kind not in node or not same_value(node[kind], text):
        common.fail("%s: %s %s is %s, expected %s" % (label, name, kind, node, text))
    return True


def check_locals(label, found, target, may_lose):
    """Every variable that the program printed.  @may_lose: the share that may be optimized out."""
    lost = []
    for function, number, name, kind, text in target.locals:
        variables = find_function(found, function, int(number))
        if variables is None:
            # A frame that the optimizer placed in another one is not found at all.
            if not may_lose:
                common.fail("%s: no variables of %s %s" % (label, function, number))
            continue
        if not check_local("%s, %s %s" % (label, function, number), variables, name, kind, text):
            lost.append(name)
    if len(lost) > may_lose * len(target.locals):
        common.fail("%s: %d of %d variables are lost: %s" % (label, len(lost), len(target.locals), lost))


def check_secret(label, output, secrets):
    """The text, and its bytes as numbers, are nowhere."""
    text = output.decode("utf-8")
    words = []
    for secret in secrets:
        for at in range(len(secret) - 3):
            for size in (4, 8):
                part = secret.encode()[at:at + size]
                if len(part) == size:
                    words += [str(int.from_bytes(part, "little")), "%x" % int.from_bytes(part, "little")]
    for word in (*secrets, *words):
        if word in text and re.search(r"(?<![0-9a-f])%s" % re.escape(word), text):
            common.fail("%s: '%s' is in the output" % (label, word))


def check_secrets(label, where, pid, secrets):
    page = os.path.join(where, "page.html")
    check_secret(label + ", text", run("-p", pid, "--locals", "--all"), secrets)
    check_secret(label + ", JSON", run("-p", pid, "--locals", "--json"), secrets)
    made = subprocess.run([TOOL, "why", "-p", pid, "--locals", "--html", page], capture_output=True, timeout=300, check=False)
    # A build without npm has no pages.
    if made.returncode == 0:
        with open(page, "rb") as f:
            data = gzip.decompress(base64.b64decode(re.search(rb'id="ct-data">([^<]*)<', f.read()).group(1)))
        check_secret(label + ", page", data, secrets)
        if b'"locals"' not in data:
            common.fail("%s: the page has no variables" % label)


def check_shown(label, pid):
    """With --show-values: the contents, and nothing that a terminal would obey."""
    text = run("-p", pid, "--show-values", "--all")
    if re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", text) or b"\xff" in text or "\u202e" in text.decode("utf-8"):
        common.fail("%s: control characters in the text" % label)
    found = json.loads(run("-p", pid, "--show-values", "--json"))
    variables = find_function(found, "secrets", None)
    for name in ("password", "pointer", "view", "lengthy", "characters", "array._M_elems", "bytes", "overlay.text"):
        node = find_local(variables, name)
        if not node or not str(node.get("value")).startswith("hunter2-and-more"):
            common.fail("%s: %s is %s" % (label, name, node))
    node = find_local(variables, "several")
    if not node or [e.get("value") for e in node.get("elements", [])] != ["hunter2-and-more"] * 2:
        common.fail("%s: several is %s" % (label, node))
    node = find_local(variables, "odd")
    if not node or not node["value"].startswith("\x1b[31m red \x07\ufffd\ufffd \u202e end\n"):
        common.fail("%s: odd is %s" % (label, node))


def check_damaged(label, found):
    variables = find_function(found, "damaged", None)
    for name in ("broken", "reversed"):
        if "state" not in (find_local(variables, name) or {}):
            common.fail("%s: %s is %s" % (label, name, find_local(variables, name)))
    for name, value in (("wild", "0x8"), ("endless", "0xfffffffffffffff0"), ("nowhere", "0x10"), ("unknown", 99)):
        node = find_local(variables, name) or {}
        if node.get("value") != value or node.get("unread", False) != (name != "unknown"):
            common.fail("%s: %s is %s" % (label, name, node))


def images(pid, where):
    """The process, a core file, and a saved file."""
    yield "live", ("-p", pid)
    if shutil.which("gcore"):
        subprocess.run(["gcore", "-o", os.path.join(where, "core"), pid], capture_output=True, timeout=300, check=False)
        if os.path.exists(os.path.join(where, "core." + pid)):
            yield "core", (os.path.join(where, "core." + pid),)
    saved = os.path.join(where, "saved.core")
    run("-p", pid, "--save", saved)
    yield "saved", (saved,)


def variants():
    """Compiler, flags, all kinds of images, and the share of variables that may be lost."""
    every = []
    for compiler in common.COMPILERS:
        for level in ("-O0", "-O2"):
            may_lose = 0.75 if compiler.startswith("clang") and level == "-O2" else 0
            every.append((compiler, [level, "-g"], compiler == "g++" and level == "-O2", may_lose))
    if common.FULL:
        return every + [(c, f + ["-gsplit-dwarf"], False, m) for c, f, _, m in every]
    chosen = (("g++", "-O2"), ("clang++", "-O0"),  # which save_programs has, too
              ("clang++-16", "-O2"), ("clang++-19", "-O0"))
    return [v for v in every if (v[0], v[1][0]) in chosen]


def test_cpp(work):
    lines = common.markers("locals.cpp")
    for compiler, flags, every_image, may_lose in variants():
        path = common.build(work, "locals", compiler, flags)
        if not path:
            continue
        label = "locals, %s %s" % (compiler, " ".join(flags))
        with Target(path) as target, tempfile.TemporaryDirectory() as where:
            pid = str(target.process.pid)
            for kind, image in images(pid, where) if every_image or common.FULL else [("live", ("-p", pid))]:
                found = json.loads(run(*image, "--locals", "--json"))
                if not may_lose:
                    common.check_stacks(label + ", " + kind, found, target, lines)
                    check_damaged(label + ", " + kind, found)
                check_locals(label + ", " + kind, found, target, may_lose)
            check_secrets(label, where, pid, SECRETS)
            if not may_lose:
                check_shown(label, pid)


def test_without_debug(work):
    """Without debug information there are no variables, and the output says so."""
    path = os.path.join(work, "stripped")
    subprocess.run(["objcopy", "--strip-debug", common.build(work, "locals", "g++", ["-O2", "-g"]), path], check=True)
    with Target(path) as target:
        text = run("-p", str(target.process.pid), "--locals").decode()
        if "variables unknown" not in text:
            common.fail("without -g: nothing says that variables are unknown: %s" % text[:600])


def test_running(work):
    """Variables that change while they are read: all of one moment, or none."""
    path = common.build(work, "twins", "g++", ["-O2", "-g"])
    shown = raced = 0
    with Target(path, quiet_s=None) as target:
        for _ in range(100 if common.FULL else 10):
            found = json.loads(run("-p", str(target.process.pid), "--locals", "--json"))
            raced += found["changed"] + found["running"]
            for group in found["groups"]:
                for stack in (s for m in group["member_locals"] for s in m["stack"]):
                    raced += "locals_problem" in stack
                    if not stack["locals"]:
                        continue
                    shown += 1
                    values = {find_local(stack["locals"], name)["value"] for name in ("first", "last")}
                    values |= {e["value"] for e in find_local(stack["locals"], "values")["elements"]}
                    if len(values) != 1:
                        common.fail("running: values of several moments: %s" % sorted(values))
    print("running: %d coroutines shown, %d ran while they were read" % (shown, raced))
    if not raced or not shown:
        common.fail("running: %d shown, %d ran: nothing is proven" % (shown, raced))


def test_rust(work):
    lines = {name: ("locals.rs", line) for name, (_, line) in
             common.markers(os.path.join("tokio", "src", "bin", "locals.rs")).items()}
    for debug, optimization in tokio.variants():
        path = tokio.build(work, debug, optimization)
        if not path:
            return
        label = "Rust, optimization %d" % optimization
        with Target(os.path.join(os.path.dirname(path), "locals"), tokio.QUIET_S) as target, tempfile.TemporaryDirectory() as where:
            pid = str(target.process.pid)
            # The functions have no numbers.
            target.locals = [[w[0], "12" if w[0] == "inner" else "0", *w[1:]] for w in target.locals]
            for kind, image in images(pid, where):
                found = json.loads(run(*image, "--locals", "--json"))
                common.check_stacks(label + ", " + kind, found, target, lines)
                for function, _, name, what, text in target.locals:
                    check_local("%s, %s, %s" % (label, kind, function), find_function(found, function, None) or [], name,
                                what, text)
            check_secrets(label, where, pid, RUST_SECRETS)
            shown = find_function(json.loads(run("-p", pid, "--show-values", "--json")), "inner", None)
            if find_local(shown, "password").get("value") != "Tr0ub4dor&3":
                common.fail("%s: password is %s" % (label, find_local(shown, "password")))


def main():
    if "g++" not in common.COMPILERS:
        print("no g++ here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        test_cpp(work)
        test_without_debug(work)
        test_running(work)
        if shutil.which("cargo"):
            test_rust(work)
    print("%d faults" % len(common.faults))
    return 1 if common.faults else 0


if __name__ == "__main__":
    sys.exit(main())
