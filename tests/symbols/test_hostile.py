# SPDX-License-Identifier: MIT
"""test_hostile.py - a hostile file at the path of a module in place of the program.

FAULTY_DW_LIB: a library that makes libdw end the process
"""
import os
import re
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/cli")
from harness import *  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FAULTY = os.environ["FAULTY_DW_LIB"]
ID = "0x0102030405060708090a0b0c0d0e0f1011121314"
PROGRAM = """
struct tally { long found, seen; };
static struct tally tallies[8];
int main(void) { for (int i = 0; i < 2000; i++) tallies[i % 8].seen += i; return tallies[3].found != 0; }
"""


def quick():
    """A hostile file must cost neither time nor memory."""
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def ask(*command, env=None):
    p = subprocess.run([TOOL, *command], capture_output=True, text=True, timeout=300, preexec_fn=quick,
                       env=dict(os.environ, **(env or {})))
    return p.returncode, p.stdout, p.stderr


def traced(dir):
    """A trace of accesses, and the path of its program."""
    source, program, trace = (os.path.join(dir, n) for n in ("p.c", "program", "t.cray"))
    with open(source, "w", encoding="ascii") as f:
        f.write(PROGRAM)
    status, _, err = tool("mem", "cc", "-g", "-O1", f"-Wl,--build-id={ID}", source, "-o", program)
    equal(status, 0, f"status of mem cc: {err}")
    status, _, err = tool("mem", "run", "-q", "-o", trace, "--", program)
    equal(status, 0, f"status of mem run: {err}")
    return trace, program


def commands(dir, trace):
    return (["mem", "stat", trace], ["mem", "sim", "--blame", trace], ["mem", "layout", trace],
            ["mem", "html", "-o", os.path.join(dir, "t.html"), trace])


def put(program, made):
    os.remove(program)
    shutil.copy(made, program)


def bomb():
    """A symbol of 466 bytes whose demangled form has 2^44."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def ref(k):
        return "S_" if k == 0 else "S" + (digits[(k - 1) // 36] if k > 36 else "") + digits[(k - 1) % 36] + "_"

    return "_Z1f1AIiiE" + "".join(f"S_I{ref(i)}{ref(i)}E" for i in range(1, 45))


def assembled(dir, name, text, *options):
    source, made = os.path.join(dir, name + ".s"), os.path.join(dir, name)
    with open(source, "w", encoding="ascii") as f:
        f.write(text)
    for line in (["as", source, "-o", made + ".o"], ["ld", "-shared", f"--build-id={ID}", made + ".o", "-o", made]):
        p = subprocess.run(line, capture_output=True, text=True)
        equal(p.returncode, 0, f"status of {line}: {p.stderr}")
    return made


def hostile(dir):
    name = bomb()
    yield "a symbol that grows", assembled(dir, "bomb", f"\t.text\n\t.globl {name}\n\t.type {name}, @function\n{name}:\n"
                                           f"\t.fill 131072, 1, 0x90\n\t.size {name}, 131072\n")
    with open(os.path.join(HERE, "deep.s"), encoding="ascii") as f:
        deep = f.read()
    for tag, number in (("namespace", "0x39"), ("function", "0x2e"), ("block", "0x0b"), ("struct", "0x13")):
        yield f"{tag}s a million deep", assembled(dir, "deep-" + tag, deep.replace("TAG", number))
    empty = os.path.join(dir, "empty")
    open(empty, "wb").close()
    yield "an empty file", empty


@test
def commands_end_well_with_any_file_at_a_modules_path(dir):
    trace, program = traced(dir)
    for what, made in hostile(dir):
        put(program, made)
        for command in commands(dir, trace):
            status, _, err = ask(*command)
            equal(status, 0, f"status of {command[1]} with {what}: {err[-500:]}")


def faulty(program):
    return {"LD_PRELOAD": FAULTY, "FAULTY_DW": program, "ASAN_OPTIONS": "verify_asan_link_order=0:handle_segv=0"}


@test
def a_fault_in_the_library_that_reads_costs_the_names_of_one_file(dir):
    trace, program = traced(dir)
    for command in commands(dir, trace)[1:]:
        status, whole, _ = ask(*command)
        equal(status, 0, f"status of {command[1]}")
        status, out, err = ask(*command, env=faulty(program))
        if "ASan runtime" in err:
            raise Skip("the tool is built with AddressSanitizer")
        equal(status, 0, f"status of {command[1]}: {err}")
        contains(err, f"cannot read the debug information of '{program}': the file is damaged")
        assert command[1] == "html" or out, "no output"
        if command[1] == "sim":
            number = re.search(r"([\d,]+) accesses", whole)
            assert not number or number.group(0) in out, (number.group(0), out[:500])


if __name__ == "__main__":
    main()
