# SPDX-License-Identifier: MIT
"""test_truth_guard.py - docs/numbers.md is complete, and the tests notice when it is not."""
import ast
import copy
import glob

import registry
from registry import parse_registry, rows_of, unproven_rows, unregistered
from truth import *

HERE = os.path.dirname(os.path.abspath(__file__))

# Commands with --json that print no number about a run, and why.
WITHOUT_NUMBERS = {
    "version": "the tool's own version",
    "generate": "the layout that a spec describes; nothing ran",
    "serve": "an address",
    "collect": "the summary of `run`",
    "mem dump": "the records themselves",
}


def functions_of(file):
    """Names of the functions of a test file that carry @check."""
    with open(os.path.join(HERE, file), encoding="utf-8") as f:
        tree = ast.parse(f.read())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)
            and any(isinstance(d, ast.Name) and d.id == "check" for d in node.decorator_list)}


def registry_text():
    with open(registry.REGISTRY, encoding="utf-8") as f:
        return f.read()


def commands():
    """Every command of the tool that has --json, as `corotracer help` names it."""
    def names(text):
        return re.findall(r"^  ([a-z][a-z+]*) {2,}\S", text, re.M)
    found = []
    for name in names(tool("help")[1]):
        for full in [f"mem {sub}" for sub in names(tool("help", "mem")[1])] if name == "mem" else [name]:
            if "--json" in tool(*full.split(), "--help")[1]:
                found.append(full)
    return found


def fails(action, words):
    try:
        action()
    except Wrong as why:
        contains(str(why), words)
        return
    raise AssertionError(f"nothing failed; expected: {words}")


# ---- the registry is complete -----------------------------------------------------------------


@test
def every_row_names_a_check_that_exists(dir):
    rows = parse_registry(registry_text())
    assert len(rows) > 100, f"{len(rows)} rows"
    checks = {file: functions_of(file) for file in {row.file for row in rows}}
    equal([str(row) for row in rows if row.check not in checks[row.file]], [], "rows whose check does not exist")
    equal([str(row) for row in rows if row.exactness not in ("exact", "bound", "identity")], [], "rows without exactness")


@test
def no_number_is_listed_twice(dir):
    seen = collections.Counter((row.command, row.path) for row in parse_registry(registry_text()))
    equal([key for key, nr in seen.items() if nr > 1], [], "numbers with two rows")


@test
def every_check_is_named_by_a_row(dir):
    named = {(row.file, row.check) for row in parse_registry(registry_text())}
    for path in glob.glob(os.path.join(HERE, "test_truth_*.py")):
        file = os.path.basename(path)
        equal(functions_of(file) - {check for f, check in named if f == file}, set(), f"checks of {file} without a row")


@test
def every_command_with_json_is_listed(dir):
    listed = {row.command for row in parse_registry(registry_text())}
    found = commands()
    assert "run" in found and "mem sim" in found, found
    equal(sorted(set(found) - listed - set(WITHOUT_NUMBERS)), [], "commands that docs/numbers.md does not know")


@test
def every_test_file_is_run(dir):
    with open(os.path.join(HERE, "CMakeLists.txt"), encoding="utf-8") as f:
        named = re.search(r"foreach\(name ([\w\s]+)\)", f.read())[1].split()
    files = {os.path.basename(path)[len("test_truth_"):-len(".py")] for path in glob.glob(os.path.join(HERE, "test_truth_*.py"))}
    equal(set(named), files, "test files in CMakeLists.txt")


# ---- the guard works ----------------------------------------------------------------------------


def some_output(dir):
    return TracedRun(dir).summary


@test
def a_new_number_without_a_row_fails(dir):
    output = some_output(dir)
    Numbers("run", output)
    more = copy.deepcopy(output)
    more["lanes"]["fake_count"] = 7
    fails(lambda: Numbers("run", more), "lanes.fake_count")
    more = copy.deepcopy(output)
    more["worst"] = [{"fake_ns": 1.5}]
    fails(lambda: Numbers("run", more), "worst[].fake_ns")


@test
def a_removed_row_fails(dir):
    output = some_output(dir)
    rows = [row for row in parse_registry(registry_text()) if (row.command, row.path) != ("run", "lanes.waits")]
    equal(unregistered("run", output, rows), ["lanes.waits"], "numbers without a row")


@test
def a_number_that_no_check_compares_fails(dir):
    n = Numbers("run", some_output(dir))
    for path in list(n.values):
        if path != "wakeups":
            n.equal(path, n[path])
    fails(n.done, "no check compares wakeups")


@test
def a_wrong_number_fails(dir):
    output = some_output(dir)
    output["lost"] += 1
    n = Numbers("run", output)
    fails(lambda: n.equal("lost", 0), "lost is 1, the independent value is 0")
    fails(lambda: n.within("lost", 2, 3), "the independent bounds are 2 to 3")


@test
def a_wrong_sentence_fails(dir):
    n = Numbers("report", {"findings": [{"evidence": ["it waited here 3 times before"]}]})
    n.says("findings[0].evidence[0]", "it waited here 3 times before")
    fails(lambda: n.says("findings[0].evidence[0]", "it waited here 4 times before"), "the independent sentence is")
    fails(lambda: n.says("findings[0].evidence[1]", ""), "no text at findings[0].evidence[1]")


@test
def a_row_whose_check_is_missing_or_never_compared_fails(dir):
    rows = list(rows_of("run").values())[:1]
    contains(unproven_rows("test_truth_run.py", rows, compared=set(), checks={})[0], "has no check named")
    contains(unproven_rows("test_truth_run.py", rows, compared=set(), checks={rows[0].check: None})[0], "never compared it")
    proof = {("run", rows[0].path, rows[0].check)}
    equal(unproven_rows("test_truth_run.py", rows, compared=proof, checks={rows[0].check: None}), [], "faults")


@test
def a_row_with_missing_cells_fails(dir):
    fails(lambda: parse_registry("## `run`\n| `written` | text | meaning |\n"), "3 cells, expected 5")


@test
def text_that_no_template_claims_fails(dir):
    text = Text("12 things\n3 more\n")
    text.line(r"^(\d+) things", 12)
    fails(text.done, "3 more")
    fails(lambda: Text("12 things").line(r"^(\d+) things", 13), "the independent values are ('13',)")


if __name__ == "__main__":
    main()
