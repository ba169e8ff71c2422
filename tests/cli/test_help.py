# SPDX-License-Identifier: MIT
"""test_help.py - help, manual and completion mention every command and option."""
import re

from harness import *

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def top_commands():
    _, out, _ = tool("help")
    about = re.search(r"^about the tool: (.*)$", out, re.M).group(1).split(", ")
    return re.findall(r"^  (\w+) +\S", out, re.M) + about


def commands():
    """All commands, those of `mem` as "mem check"."""
    _, out, _ = tool("help", "mem")
    return top_commands() + ["mem " + name for name in re.findall(r"^  ([\w+]+) +\S", out.split("\n\n", 3)[2], re.M)]


def options(command):
    _, out, _ = tool("help", *command.split())
    rare = re.search(r"^  see man corotracer: (.*)$", out, re.M)
    return re.findall(r"^ +(?:-\w, )? *(--[\w-]+)", out, re.M) + re.findall(r"--[\w-]+", rare.group(1) if rare else "")


def manual():
    with open(os.path.join(ROOT, "man", "corotracer.1"), encoding="utf-8") as f:
        return f.read().replace("\\-", "-")


@test
def help_fits_a_screen(dir):
    for args in [["help"]] + [["help", *c.split()] for c in commands()]:
        status, out, err = tool(*args)
        equal((status, err), (0, ""), f"status and stderr of {args}")
        assert len(out.splitlines()) <= 24, f"{args} prints {len(out.splitlines())} lines"
        assert all(len(line) <= 100 for line in out.splitlines()), f"{args} is too wide"


@test
def the_usual_spellings_of_help_and_version_work(dir):
    for word in ("--help", "-h", "help"):
        equal(tool(word)[0], 0, f"status of {word}")
    for word in ("--version", "version"):
        contains(tool(word)[1], "corotracer ")
    for command in commands():
        if command != "help":
            equal(tool(*command.split(), "--help")[0], 0, f"status of {command} --help")
    status, out, _ = tool()
    equal(status, 2, "status without a command")
    contains(out, "usage: ")
    json.loads(tool("version", "--json")[1])


@test
def the_manual_tells_of_every_command_and_option(dir):
    text = manual()
    assert len(commands()) >= 5, commands()
    for command in commands():
        contains(text, f".SS corotracer {command}")
        for option in options(command):
            contains(text, option)


@test
def the_manual_is_well_formed(dir):
    try:
        p = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", os.path.join(ROOT, "man", "corotracer.1")],
                           capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Skip("no man(1) here") from None
    equal(p.stderr, "", "warnings of man")


@test
def completion_offers_every_command_and_option(dir):
    script = tool("--completion")[1]
    for words in (["corotracer", ""], *(["corotracer", *c.split(), "--"] for c in commands() if c != "mem")):
        line = " ".join(f"'{w}'" for w in words)
        p = subprocess.run(["bash", "-c", f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _corotracer; "
                            'printf "%s\\n" "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True)
        offered = set(p.stdout.split())
        wanted = set(top_commands()) if len(words) == 2 else set(options(" ".join(words[1:-1])))
        assert wanted <= offered, f"{words}: {wanted - offered} not offered"


if __name__ == "__main__":
    main()
