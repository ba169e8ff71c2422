# SPDX-License-Identifier: MIT
"""test_barriers.py - check-barriers rejects every single weakening of an ordered access (without COROTRACER_FULL=1 one
of twelve of each file, the first one at least).

The weakenings are found by a search of their own in a copy of the tree, not by the script's parser: an
access that the script does not know would pass, and this test fails then.
"""
import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import tempfile

from harness import *

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "scripts/check-barriers")
FOLDERS = ("include", "sdk", "runtime", "src", "tool")
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)

# What each pattern becomes, one mutant per replacement.
WEAKER = [
    (r"__ATOMIC_(?:ACQUIRE|RELEASE)\b", ["__ATOMIC_RELAXED"]),
    (r"__ATOMIC_(?:ACQ_REL|SEQ_CST)\b", ["__ATOMIC_RELAXED", "__ATOMIC_ACQUIRE", "__ATOMIC_RELEASE"]),
    (r"(?<![\w.])((?:ctp_)?(?:load|store|cas))_(?:acquire|release)(?=\()", [r"\1_relaxed"]),
    (r"(?<![\w.])(?:ctp_)?load_acquire(?=\()", ["*"]),
    (r"(?<![\w.])(?:ctp_)?fence_\w+\(\)", ["(void)0"]),
    (r"(?<![\w.])(ctp_)?fence_full\(\)", [r"\1fence_load_load()", r"\1fence_store_store()"]),
    (r"__atomic_(?:thread|signal)_fence\([^()]*\)", ["(void)0"]),
    (r"(?<=syscall\()SYS_membarrier(?!, MEMBARRIER_CMD_QUERY)", ["SYS_getpid"]),
    (r"(?<=SYS_membarrier, )MEMBARRIER_CMD_(?!QUERY)\w*", ["MEMBARRIER_CMD_QUERY"]),
    (r"(?<=number::MEMBARRIER as c_long, )MEMBARRIER_CMD_(?!QUERY)\w*", ["MEMBARRIER_CMD_QUERY"]),
    (r"(?<![\w])atomic_(load|store|compare_exchange_weak)\(([^()]*)\)", [r"atomic_\1_explicit(\2, memory_order_relaxed)"]),
    (r"Ordering::(?:Acquire|Release)\b", ["Ordering::Relaxed"]),
    (r"Ordering::(?:AcqRel|SeqCst)\b", ["Ordering::Relaxed", "Ordering::Acquire", "Ordering::Release"]),
]
# These are strings for the compiler: searched in the text without comments only.
WEAKER_ASSEMBLY = [
    (r'__asm__ volatile\("" ::: "memory"\)', ["(void)0", '__asm__ volatile("")']),
    (r'"(?:dmb ish\w*|mfence|lock cmpxchg16b[^"]*)"', ['""', '"nop"']),
    (r'"dmb ish"', ['"dmb ishst"', '"dmb ishld"']),
]
FULL = os.environ.get("COROTRACER_FULL") == "1"
# In every text that one of the patterns matches; most files have none of it.
ORDERED = re.compile(r"ATOMIC|MEMBARRIER|membarrier|atomic_|_acquire|_release|fence_|Ordering::|__asm__|dmb ish|mfence|cmpxchg16b")
PLAIN = re.compile(r"__atomic_(load|store)_n(?=\()")


def load_script():
    loader = importlib.machinery.SourceFileLoader("check_barriers", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_barriers", loader))
    loader.exec_module(module)
    return module


def copy_tree(dir):
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, pathlib.Path(dir) / folder)
    os.makedirs(dir + "/docs")
    shutil.copy(ROOT / "docs/barriers.md", dir + "/docs/barriers.md")
    return pathlib.Path(dir)


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".cpp", ".hpp", ".rs", ".in") and path.name != "tests.rs":
                yield str(path.relative_to(root)), path.read_text()


def blank(text, strings):
    """The text with spaces for comments, and for strings unless @strings."""
    keep = lambda m: strings and m.group().startswith('"')
    return COMMENT.sub(lambda m: m.group() if keep(m) else re.sub(r"[^\n]", " ", m.group()), text)


def plain_access(text, m):
    """The text with the built-in load or store as a plain one; None if it is relaxed already."""
    depth, commas, i = 0, [], m.end()
    while True:
        depth += (text[i] == "(") - (text[i] == ")")
        if text[i] == "," and depth == 1:
            commas.append(i)
        if depth == 0:
            break
        i += 1
    if "RELAXED" in text[commas[-1]:i]:
        return None
    value = f" = {text[commas[0] + 1:commas[-1]].strip()}" if m[1] == "store" else ""
    return text[:m.start()] + "*(" + text[m.end() + 1:commas[0]] + ")" + value + text[i + 1:]


def is_defined(code, m):
    """The match is the name of a macro or of a function that is defined there."""
    before = code[code.rfind("\n", 0, m.start()) + 1:m.start()]
    return re.search(r"#\s*define\s+$|\bfn $", before)


def weakenings(text):
    """[text of a mutant]"""
    if not ORDERED.search(text):
        return []
    code, bare, out = blank(text, False), blank(text, True), []
    for table, where in ((WEAKER, code), (WEAKER_ASSEMBLY, bare)):
        for pattern, replacements in table:
            for m in re.finditer(pattern, where):
                if not is_defined(where, m):
                    out += [text[:m.start()] + m.expand(r) + text[m.end():] for r in replacements]
    out += [plain for m in PLAIN.finditer(code) if (plain := plain_access(text, m))]
    return [mutant for mutant in out if mutant != text]


class Copy:
    """A copy of the tree; a test leaves it as it is."""
    kept = None

    def __init__(self):
        self.script = load_script()
        self.folder = tempfile.TemporaryDirectory(prefix="corotracer-barriers-")
        self.root = copy_tree(self.folder.name)
        self.tree, self.document = self.script.Tree(self.root), self.script.Document(self.root)
        equal(self.script.check(self.tree, self.document), [], "complaints about the tree as it is")

    def rejects(self, name, text):
        """The complaints with this text instead of the file's.  Only that file is read again."""
        if name == "docs/barriers.md":
            return self.script.check(self.tree, self.script.Document(self.root))
        tables = self.tree.texts, self.tree.found, self.tree.bad
        kept = [table[name] for table in tables]
        (self.root / name).write_text(text)
        self.tree.read(name)
        bad = self.script.check(self.tree, self.document)
        for table, value in zip(tables, kept):
            table[name] = value
        return bad


def the_copy():
    Copy.kept = Copy.kept or Copy()
    return Copy.kept


def first_difference(a, b):
    return next((i + 1 for i, (x, y) in enumerate(zip(a.split("\n"), b.split("\n"))) if x != y), 0)


def count_rejected(copy, mutants_of, what, least):
    nr, passed = 0, []
    for name, text in list(sources(copy.root)):
        mutants = mutants_of(text)
        for mutant in mutants:
            nr += 1
            if not copy.rejects(name, mutant):
                line = first_difference(text, mutant)
                passed.append(f"{name}:{line}: {mutant.split(chr(10))[line - 1].strip()}")
        if mutants:
            (copy.root / name).write_text(text)
    print(f"{nr - len(passed)} of {nr} {what} rejected")
    if passed or nr < least:
        raise AssertionError("\n".join(passed) or f"only {nr} {what} found")


@test
def every_weakening_of_an_ordered_access_is_rejected(dir):
    step = 1 if FULL else 12  # of each file

    count_rejected(the_copy(), lambda text: weakenings(text)[::step], "weakenings", 400 // step)


@test
def every_access_without_its_letter_is_rejected(dir):
    some = None if FULL else 1  # of each file

    def unlettered(text):
        letters = list(re.finditer(r"\((?:ctp|mem|ppt|tool)-[A-Z]\) pairs with", text))
        return [text[:m.start()] + "pairs with" + text[m.end():] for m in letters[:some]]

    count_rejected(the_copy(), unlettered, "accesses without a letter", 40 if FULL else 15)


def run_script(*args):
    p = subprocess.run([SCRIPT, *args], capture_output=True, text=True, check=False, timeout=300)
    return p.returncode, p.stdout


def replace(root, name, old, new):
    text = (root / name).read_text()
    contains(text, old)
    (root / name).write_text(text.replace(old, new, 1))


@test
def the_script_fails_on_new_accesses_unknown_letters_and_letters_without_a_partner(dir):
    cases = [
        ("tool/opts.c", "#include", "int x_load(int *p)\n{\n\treturn __atomic_load_n(p, __ATOMIC_ACQUIRE);\n}\n#include", "names no pair"),
        ("runtime/memory/recorder.c", "(mem-A) pairs with", "(mem-Z) pairs with", "no letter mem-Z"),
        ("runtime/memory/recorder.c", "(mem-A) pairs with", "(ctp-A) pairs with", "another protocol"),
        ("runtime/memory/recorder.c", "acquire of `sealed` in crw_take()", "acquire of `sealed` in crw_gone()", "does not exist"),
        ("docs/barriers.md", "| mem-A | release / acquire |", "| mem-A | full / acquire |", "no partner"),
        ("docs/barriers.md", "\n| ppt-T | release / acquire |", "\n| ppt-U | release / acquire |", "no letter ppt-T"),
    ]
    copy = the_copy()
    if FULL:  # style/barriers runs the script on the tree itself
        equal(run_script("--root", str(copy.root))[0], 0, "status of the tree as it is")
    for name, old, new, message in cases:
        kept = (copy.root / name).read_text()
        replace(copy.root, name, old, new)
        if name == "tool/opts.c":  # it has no accesses yet
            status, out = run_script("--root", str(copy.root))
            equal(status, 1, "status with a new access")
        else:
            out = "\n".join(copy.rejects(name, (copy.root / name).read_text()))
        contains(out, message)
        (copy.root / name).write_text(kept)


@test
def a_weaker_order_is_rejected_even_if_the_list_is_written_again(dir):
    """The last one: it changes the copy."""
    root = the_copy().root
    replace(root, "include/corotracer/slot.h", "ctp_store_release(&slot->seq, seq)", "ctp_store_relaxed(&slot->seq, seq)")
    replace(root, "sdk/rust/src/station.rs", "self.seq.store(seq, Ordering::Release)", "self.seq.store(seq, Ordering::Relaxed)")
    status, out = run_script("--write", "--root", str(root))
    equal(status, 1, "status after --write")
    contains(out, "ctp-B has no partner: no access is its side 'release'")


if __name__ == "__main__":
    main()
