# SPDX-License-Identifier: MIT
"""test_help.py - help, manual and completion mention every command and option."""
import re
import shutil

from harness import *

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def top_commands():
    _, out, _ = tool("help")
    last = re.search(r"^(?:[\w ]+: [\w, ]+; )?about the tool: .*$", out, re.M).group(0)
    about = [name for part in last.split("; ") for name in part.split(": ")[1].split(", ")]
    return re.findall(r"^  (\w+) +\S", out, re.M) + about


def commands():
    """All commands, those of `mem` as "mem check"."""
    _, out, _ = tool("help", "mem")
    return top_commands() + ["mem " + name for name in re.findall(r"^  ([\w+]+) +\S", out.split("\n\n", 3)[2], re.M)]


def options(command):
    _, out, _ = tool("help", *command.split())
    rare = re.search(r"^  see man corotracer: (.*(?:\n {4}--.*)*)$", out, re.M)
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
def each_command_has_a_page_of_the_manual(dir):
    subprocess.run(["cmake", f"-DMANUAL={ROOT}/man/corotracer.1", f"-DOUT={dir}/man", "-P", ROOT + "/scripts/split-manual.cmake"], check=True)
    for command in commands():
        if command in ("mem", "mem c++"):
            continue  # a heading, and a form of mem cc
        with open(f"{dir}/man/corotracer-{command.replace(' ', '-')}.1", encoding="utf-8") as f:
            text = f.read()
        if "Options as for" not in text:
            for option in options(command):
                contains(text, option.replace("-", "\\-"))
    try:
        for page in sorted(os.listdir(dir + "/man")):
            p = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", f"{dir}/man/{page}"], capture_output=True, text=True, check=False)
            equal(p.stderr, "", f"warnings of man for {page}")
    except FileNotFoundError:
        raise Skip("no man(1) here") from None


# What the user has typed; some of what is offered; some of what is not.
TYPED = [
    (["ru"], ["run"], ["report"]),
    (["run", "--che"], ["--check"], ["--cpu"]),
    (["run", "--format", ""], ["jsonl", "ctf", "ct"], ["run", "or"]),
    (["run", "--format=c"], ["--format=ctf", "--format=ct"], ["--format=jsonl"]),
    (["report", "--fail-on", "leak,dea"], ["leak,deadlock"], ["leak,leak", "deadlock"]),
    (["run", "--check=lo"], ["--check=lost-wakeup"], ["--check=leak"]),
    (["why", "-p", str(os.getpid())[:-1]], [str(os.getpid())], ["run"]),
    (["export", ""], ["csv", "perfetto", "ct"], ["run", "--full"]),
    (["help", "me"], ["merge", "mem"], ["run"]),
    (["mem", "s"], ["stat", "sim"], ["run"]),
    (["mem", "sim", "--bl"], ["--blame"], ["--host"]),
    (["nosuch", "-"], [], ["--help"]),
]


def complete(*words):
    status, out, _ = tool("--complete", *words)
    equal(status, 0, f"status of --complete {words}")
    lines = out.splitlines()
    return [line.split("\t")[0] for line in lines[:-1]], lines[-1]


@test
def completion_offers_every_command_and_option(dir):
    assert set(top_commands()) <= set(complete("")[0]), complete("")
    for command in commands():
        if command != "mem":
            wanted = set(options(command))
            offered = set(complete(*command.split(), "-")[0])
            assert wanted <= offered, f"{command}: {wanted - offered} not offered"


@test
def completion_offers_values(dir):
    for words, some, others in TYPED:
        offered = complete(*words)[0]
        assert set(some) <= set(offered) and not set(others) & set(offered), f"{words}: {offered}"
    equal([complete(*words)[1] for words in (["report", ""], ["run", "-o", ""], ["run", "--format", ""], ["run", "-q", "--", "g"], ["run", "./a", "-x"])],
          [":files", ":files", ":none", ":program 3", ":program 1"], "what else fits")


def in_bash(words):
    line = " ".join(f"'{w}'" for w in words)
    return ["bash", "--norc", "-c", f"{tool('--completion', 'bash')[1]}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _corotracer; "
            'printf "%s\\n" "${COMPREPLY[@]}"']


def in_fish(words):
    return ["fish", "--no-config", "-c", f"{tool('--completion', 'fish')[1]}\ncomplete -C '{' '.join(words)}'"]


@test
def shells_show_what_is_offered(dir):
    os.symlink(TOOL, dir + "/corotracer")
    os.environ["PATH"] = dir + ":" + os.environ["PATH"]
    os.environ["HOME"] = dir
    for shell, command in (("bash", in_bash), ("fish", in_fish)):
        if not shutil.which(shell):
            print(f"no {shell} here")
            continue
        for words, some, others in TYPED:
            p = subprocess.run(command(["corotracer", *words]), capture_output=True, text=True, cwd=dir, timeout=240, check=True)
            offered = {line.split("\t")[0] for line in p.stdout.splitlines()}
            if shell == "bash" and "=" in words[-1]:  # it replaces only what is behind the '='
                some, others = ([w.split("=")[1] for w in list] for list in (some, others))
            assert set(some) <= offered and not set(others) & offered, f"{shell}: {words}: {p.stdout} {p.stderr}"
    # Interactive bash also splits the words there.
    p = subprocess.run(in_bash(["corotracer", "run", "--check", "=", "lo"]), capture_output=True, text=True, check=True)
    assert "lost-wakeup" in p.stdout.split(), p.stdout


@test
def zsh_shows_what_is_offered(dir):
    if not shutil.which("zsh"):
        raise Skip("no zsh here")
    os.symlink(TOOL, dir + "/corotracer")
    with open(dir + "/_corotracer", "w", encoding="utf-8") as f:
        f.write(tool("--completion", "zsh")[1])
    # A zsh in a pseudo-terminal: type, press the tabulator key, read the screen.
    script = (f"PATH={dir}:$PATH; fpath=({dir} $fpath); autoload -U compinit; compinit -u -d {dir}/dump; zmodload zsh/zpty; "
              f"zpty z 'zsh -f -i'; zpty -w z 'PS1=; PATH={dir}:$PATH; fpath=({dir} $fpath); autoload -U compinit; compinit -u -d {dir}/dump; zstyle \":completion:*\" list-prompt \"\"; LISTMAX=1000; stty columns 200; echo re''ady'; "
              "zpty -r z out '*ready*'; zpty -n -w z $'corotracer export per\\t'; zpty -r z out '*perfetto*'; print -r -- $out; zpty -d z")
    p = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, timeout=240, check=False)
    assert "perfetto" in p.stdout, (p.stdout, p.stderr)


if __name__ == "__main__":
    main()
