# SPDX-License-Identifier: MIT
"""test_gates.py - each check of the tree's style fails when its rule is broken in a copy."""
import shutil

from harness import *

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def check(name, *args):
    p = subprocess.run([os.path.join(ROOT, "scripts", name), *args], capture_output=True, text=True, check=False, timeout=300)
    return p.returncode, p.stdout


def checkout(dir, files):
    """A git checkout of its own with these files."""
    subprocess.run(["git", "init", "-q", dir], check=True)
    for name, text in files.items():
        path = os.path.join(dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


@test
def check_words_fails_on_comments_and_messages_in_the_old_vocabulary(dir):
    plain = "/* a.c - counts events. */\nint a; /* never negative */\n"
    cases = [
        ({"src/a.c": plain}, 0),
        ({"src/a.c": plain + "/* Whoever reads it frees it. */\n"}, 1),
        ({"src/a.c": plain + 'const char *m = "nobody reads the file";\n'}, 1),
        ({"src/a.c": plain + 'const char *user = "nobody";\n'}, 0),
        ({"src/a.c": plain, "docs/a.md": "The trace is written anew.\n"}, 1),
        ({"scripts/a.sh": "#!/bin/sh\n# So often it is read.\ntrue\n"}, 1),
    ]
    for i, (files, wanted) in enumerate(cases):
        root = os.path.join(dir, str(i))
        checkout(root, files)
        status, out = check("check-words", "--root", root)
        equal(status, wanted, f"status for {files}: {out}")


@test
def file_tables_fail_when_the_document_or_a_first_line_is_stale(dir):
    head = "/* bytes.c - a growable buffer. */\n"
    root = os.path.join(dir, "tree")
    checkout(root, {"src/base/bytes.c": head, "docs/files.md": ""})
    equal(check("file-tables", "--check", root)[0], 1, "status with an empty document")
    equal(check("file-tables", root)[0], 0, "status of writing the document")
    equal(check("file-tables", "--check", root)[0], 0, "status with the document just written")
    with open(os.path.join(root, "src/base/bytes.c"), "w", encoding="utf-8") as f:
        f.write("/* a buffer */\n")
    equal(check("file-tables", "--check", root)[0], 1, "status with a file that does not say what it is for")


def copy_tree(dir, *folders):
    """A copy of these folders of the real tree."""
    for folder in folders:
        shutil.copytree(os.path.join(ROOT, folder), os.path.join(dir, folder))


def append(path, text):
    with open(path, "a", encoding="utf-8") as f:
        f.write(text)


@test
def check_layers_fails_on_an_include_that_points_upwards(dir):
    copy_tree(dir, "include", "sdk/c", "runtime", "src", "tool", "docs")
    equal(check("check-layers", "--root", dir)[0], 0, "status of the tree as it is")
    cases = [
        ("src/base/text.c", '#include "export/sink.h"\n'),
        ("src/memory/format/raw.c", '#include "memory/stat/strides.h"\n'),
        ("src/trace/event.c", '#include "collect/region.h"\n'),
        ("runtime/memory/pack.c", '#include "base/err.h"\n'),
        ("docs/architecture.md", "| `src/base` | again | trace |\n"),
    ]
    for name, text in cases:
        path = os.path.join(dir, name)
        shutil.copy(path, dir + "/kept")
        append(path, text)
        equal(check("check-layers", "--root", dir)[0], 1, f"status with {text!r} in {name}")
        shutil.copy(dir + "/kept", path)
    os.makedirs(dir + "/src/attic")
    append(dir + "/src/attic/old.c", "/* old.c - a folder without a row. */\n")
    equal(check("check-layers", "--root", dir)[0], 1, "status with a folder that has no row")


@test
def check_names_fails_on_names_that_are_not_unique(dir):
    unique = {"src/base/bytes.c": "/* bytes.c - a buffer. */\nstruct bytes {\n\tint n;\n};\n\nint bytes_add(int n)\n{\n\treturn n;\n}\n"}
    cases = [
        ({}, 0),
        ({"src/trace/bytes.c": "/* bytes.c - the same name. */\n"}, 1),
        ({"tests/unit/bytes.c": "/* bytes.c - the same name. */\n"}, 1),
        ({"src/trace/other.c": "static int bytes_add(int n)\n{\n\treturn n;\n}\n"}, 1),
        ({"src/trace/other.c": "struct bytes {\n\tlong n;\n};\n"}, 1),
        ({"src/trace/other.c": "static void take(void)\n{\n}\n"}, 1),
        ({"src/trace/other.c": "int main(void)\n{\n\treturn 0;\n}\n"}, 0),
    ]
    for i, (files, wanted) in enumerate(cases):
        root = os.path.join(dir, str(i))
        checkout(root, {**unique, **files})
        status, out = check("check-names", "--root", root)
        equal(status, wanted, f"status for {files}: {out}")


if __name__ == "__main__":
    main()
