# SPDX-License-Identifier: MIT
"""test_json_file.py - --json=FILE: the same object as --json prints, in a file that is complete or absent."""
from harness import *

def same_object(a, b):
    """Two objects of the same command: the same keys, and the same values but for durations and names of files."""
    equal(sorted(a), sorted(b), "keys")
    for key in a:
        if isinstance(a[key], (int, bool)) and not key.endswith("_ns"):
            equal(a[key], b[key], key)


@test
def the_file_has_the_object_and_nothing_is_printed(dir):
    trace, other = dir + "/t.jsonl", dir + "/u.jsonl"
    for path in (trace, other):
        equal(tool("run", "-q", "-o", path, "--", TARGET, "events", 4, 50, 0)[0], 0, "status of run")
    # Commands, and where --json prints: 1 is standard output, 2 standard error.
    for command, where in ((["info", trace], 1), (["report", trace], 1), (["diff", trace, trace], 1), (["version"], 1),
                           (["export", "csv", "-i", trace, "-o", dir + "/t.csv"], 2), (["merge", trace, other, "-o", dir + "/m.ct"], 2),
                           (["query", trace, "SELECT count(*) AS n FROM events"], 1), (["html", trace, "-o", dir + "/t.html"], 1)):
        status, *printed = tool(*command, "--json")
        equal(status, 0, f"status of {command}: {printed}")
        file = f"{dir}/{command[0]}.json"
        got, out, err = tool(*command, "--json=" + file)
        equal((got, out), (status, ""), f"status and output of {command}: {err}")
        assert "{" not in err, err
        with open(file, encoding="utf-8") as f:
            same_object(json.loads(f.read()), json.loads([line for line in printed[where - 1].splitlines() if line.startswith("{")][0]))


@test
def a_run_has_it_whatever_ends_the_program(dir):
    for script, status in (("exit 3", 3), ("kill -TERM $$", -15)):
        file = dir + "/run.json"
        p = popen(TOOL, "run", "-o", dir + "/t.jsonl", "--json=" + file, "--", "sh", "-c", words(TARGET, "events", 2, 10, 0) + "; " + script)
        out, err = p.communicate(timeout=300)
        equal(p.returncode, status, "status: " + err)
        with open(file, encoding="utf-8") as f:
            equal(json.load(f)["written"], 20, "written")
        os.unlink(file)


@test
def a_file_that_cannot_be_written_is_an_error(dir):
    for path, reason in ((dir + "/none/x", "No such file or directory"), ("/dev/full", "No space left on device")):
        status, _, err = tool("version", "--json=" + path)
        equal(status, 1, "status")
        contains(err, f"cannot write '{path}': {reason}")
    status, _, err = tool("info", "--json=" + dir + "/x", dir + "/none.jsonl")
    equal((status, os.listdir(dir)), (1, []), "status and files of a command that fails: " + err)


@test
def a_dash_is_standard_output(dir):
    trace = dir + "/t.jsonl"
    equal(tool("run", "-q", "-o", trace, "--", TARGET, "events", 1, 5, 0)[0], 0, "status of run")
    status, out, _ = tool("export", "csv", "-i", trace, "-o", dir + "/t.csv", "--json=-")
    equal((status, json.loads(out)["rows"]), (0, 5), "status and rows")


if __name__ == "__main__":
    main()
