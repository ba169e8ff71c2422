# SPDX-License-Identifier: MIT
"""test_mutate.py - scripts/mutate lists what tests do not notice, leaves the tree alone and continues where it stopped.

With an argument N: N mutants of the real tree, of which LEAST_PERCENT have to be killed.
"""
import hashlib
import pathlib
import tempfile

from harness import *

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MUTATE = os.path.join(ROOT, "scripts", "mutate")
LEAST_PERCENT = 80  # of those that change something that is seen; more with more tests for each: docs/mutants.md
SMALL = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.20)
project(small C)
set(CMAKE_BUILD_TYPE RelWithDebInfo)
enable_testing()
add_library(small STATIC src/strong.c src/weak.c)
target_include_directories(small PUBLIC src)
foreach(name strong weak)
	add_executable(test_${name} tests/test_${name}.c)
	target_link_libraries(test_${name} small)
	add_test(NAME unit/${name} COMMAND test_${name})
endforeach()
""",
    "src/small.h": "int strong_sum(const int *values, int nr);\nint weak_limit(int value, int most);\n",
    "src/strong.c": """#include "small.h"

int strong_sum(const int *values, int nr)
{
	int sum = 0, i = 0;

	while (i < nr) {
		sum += values[i];
		i++;
	}
	return sum - 0;
}
""",
    "src/weak.c": """#include "small.h"

int weak_limit(int value, int most)
{
	if (value > most)
		return most;
	return value;
}
""",
    "tests/test_strong.c": """#include "small.h"

int main(void)
{
	int values[] = { 1, 20, 300, 4000 };

	return strong_sum(values, 3) != 321 || strong_sum(values, 0) != 0;
}
""",
    # The planted hole: never asks for a value above the limit, nor for the limit.
    "tests/test_weak.c": """#include "small.h"

int main(void)
{
	return weak_limit(3, 10) != 3;
}
""",
}

INLINE = {
    "src/inline.h": """static inline void inline_add(int *sums, int value)
{
	sums[0] += value;
	sums[1] = value - 0;
}

static inline int inline_other(int value)
{
	return value * 2 + 1;
}
""",
    "src/small.h": SMALL["src/small.h"] + '#include "inline.h"\n',
    "tests/test_weak.c": """#include "small.h"

int sums[2];

int main(void)
{
	inline_add(sums, weak_limit(3, 10));
	return sums[0] != 3 || sums[1] != 3;
}
""",
}


def small_project(dir, files=SMALL):
    for name, text in files.items():
        path = pathlib.Path(dir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for command in (["cmake", "-G", "Ninja", "-S", dir, "-B", dir + "/build"], ["cmake", "--build", dir + "/build"]):
        subprocess.run(command, check=True, capture_output=True, timeout=300)


def state_of(dir):
    """The contents of every file."""
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(pathlib.Path(dir).rglob("*")) if p.is_file()}


def mutate(dir, *args):
    os.makedirs(dir + "/tmp", exist_ok=True)
    p = subprocess.run([MUTATE, *args], capture_output=True, text=True, check=False, timeout=300, env=dict(os.environ, TMPDIR=dir + "/tmp"))
    if p.returncode == 77:
        raise Skip(p.stdout.strip())
    equal(os.listdir(dir + "/tmp"), [], "files left behind")
    return p


def rows_of(path):
    rows = [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]
    return [r for r in rows if "name" in r]


@test
def survivors_are_those_that_a_weak_test_misses(dir):
    tree, results = dir + "/tree", dir + "/results"
    small_project(tree)
    before = state_of(tree)
    args = ["--root", tree, "--count", "1000", "--patience", "1", "--results", results]
    p = mutate(dir, *args, "--at-least", "95")
    equal(p.returncode, 1, f"status below 95 %: {p.stderr}")
    equal(state_of(tree), before, "the tree")
    rows = {(r["file"], r["line"], r["kind"]): r["result"] for r in rows_of(results)}
    equal({r for (file, _, _), r in rows.items() if file == "src/strong.c"} - {"killed", "equivalent", "invalid"}, set(), "results of the strong test")
    survived = [line for (file, line, _), r in rows.items() if r == "survived"]
    equal(set(survived) <= {5, 6} and len(survived) >= 1, True, f"lines of survivors {survived}")
    contains(p.stdout, f"src/weak.c:{survived[0]}: survived (")
    contains(p.stdout, "\n\t+ ")

    # Each result is known: nothing runs, and the answer is the same.
    again = mutate(dir, *args)
    equal((again.returncode, again.stderr, again.stdout), (0, "", p.stdout), "second call")

    # All of the survivors are listed as unseen, and one that is killed: it is told, and the others do not count.
    by_result = {result: [r["name"] for r in rows_of(results) if r["result"] == result] for result in ("survived", "killed")}
    unseen = pathlib.Path(tree, "scripts/mutation/unseen.txt")
    unseen.parent.mkdir(parents=True)
    unseen.write_text("# comment\n" + "".join(f"{n} src/weak.c\n- a\n+ b\n= why\n" for n in by_result["survived"] + by_result["killed"][:1]), encoding="utf-8")
    p = mutate(dir, *args, "--at-least", "100")
    equal(p.returncode, 0, f"status with a list: {p.stdout}")
    contains(p.stdout, f"killed, but scripts/mutation/unseen.txt lists {by_result['killed'][0]}\n")
    contains(p.stdout, f"{len(by_result['survived'])} of the survivors change nothing that is seen: 100.0 % of the others are killed\n")


@test
def every_unseen_mutant_is_one_of_the_tree(dir):
    """Where its line has changed, the reason has to be thought of again."""
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    from mutation import sites
    parts = pathlib.Path(ROOT, "scripts/mutation/unseen.txt").read_text(encoding="utf-8").split("\n\n")[1:]
    for part in parts:
        head, before, after, why = part.strip().splitlines()
        name, path = head.split()
        found = sites.named({path: pathlib.Path(ROOT, path).read_text(encoding="utf-8")}, {name})
        equal([("- " + m.before, "+ " + m.after) for m in found], [(before, after)], f"mutant {name} of {path}")
        assert why.startswith("= ") and len(why) > 10, f"no reason for {name} of {path}"


@test
def a_change_that_compiles_to_the_same_code_does_not_count(dir):
    tree, results = dir + "/tree", dir + "/results"
    small_project(tree)
    p = mutate(dir, "--root", tree, "--files", "src/strong.c", "--kinds", "arithmetic", "--patience", "1", "--results", results)
    equal(p.returncode, 0, f"status: {p.stderr}")
    equal([(r["line"], r["after"]) for r in rows_of(results) if r["result"] == "equivalent"], [(11, "return sum + 0;")], "equivalent mutants")
    contains(p.stdout, "2 mutants: 2 killed (100.0 %), 0 survived; not counted: 1 equivalent, 0 do not compile")


@test
def code_of_a_header_that_no_program_has_is_untested(dir):
    tree, results = dir + "/tree", dir + "/results"
    small_project(tree, SMALL | INLINE)
    args = ["--root", tree, "--files", "src/inline.h", "--kinds", "arithmetic", "--patience", "1"]
    p = mutate(dir, *args, "--results", results)
    expected = {"sums[0] += value;": "killed", "sums[1] = value - 0;": "equivalent", "return value * 2 + 1;": "untested"}
    equal({r["before"]: r["result"] for r in rows_of(results)}, expected, f"results: {p.stderr}")
    contains(p.stdout, "src/inline.h:9: untested (arithmetic)")

    # One program per mutant: the one that has the line, although the other's name comes first.
    mutate(dir, *args, "--programs", "1", "--results", dir + "/one")
    tests = {r["before"]: {t[0] for t in r["tests"]} for r in rows_of(dir + "/one")}
    equal(tests["sums[0] += value;"], {"unit/weak"}, "tests of a line")


@test
def a_map_names_the_tests_that_reach_a_line(dir):
    tree, map, results = dir + "/tree", dir + "/map", dir + "/results"
    small_project(tree)
    before = state_of(tree)
    p = mutate(dir, "--root", tree, "--make-map", "--map", map, "--patience", "5")
    equal((p.returncode, p.stdout), (0, "2 tests reach lines of 2 files\n"), f"the map: {p.stderr}")
    equal(state_of(tree), before, "the tree")
    lines = json.loads(pathlib.Path(map, "lines.json").read_text(encoding="utf-8"))
    tests_of = {key: [lines["tests"][i] for i in rows] for key, rows in lines["files"]["src/weak.c"].items()}
    equal(tests_of["1 return most;"], [], "tests that reach the value above the limit")
    equal(set(sum(tests_of.values(), [])), {"unit/weak"}, "tests of weak.c")

    # No test reaches the line: none runs.  Others meet the tests that do.
    p = mutate(dir, "--root", tree, "--map", map, "--count", "1000", "--patience", "1", "--results", results)
    rows = {(r["file"], r["line"]): r for r in rows_of(results)}
    equal(rows["src/weak.c", 6]["result"], "untested", f"a line that no test reaches: {p.stderr}")
    equal({t[0] for r in rows.values() for t in r["tests"]}, {"unit/strong", "unit/weak"}, "tests that ran")


@test
def a_module_of_the_tree_has_its_mutants_killed(dir):
    if not os.path.exists(ROOT + "/build/build.ninja"):
        raise Skip("no build folder")
    p = mutate(dir, "--files", "src/base/u64map.c", "--count", "4", "--scripts", "0", "--results", dir + "/results")
    equal(p.returncode, 0, f"status: {p.stderr}{p.stdout}")
    equal(len({r["name"] for r in rows_of(dir + "/results")}) >= 4, True, "mutants")


def main_full(count):
    """As a program, for hours: ./test.sh --full.  MUTATE_RESULTS names a file to continue from."""
    with tempfile.TemporaryDirectory() as dir:
        results = os.environ.get("MUTATE_RESULTS", dir + "/results")
        args = ["--count", count, "--jobs", str(os.cpu_count()), "--at-least", str(LEAST_PERCENT), "--results", results]
        return subprocess.run([MUTATE, *args], check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main_full(sys.argv[1]))
    main()
