# SPDX-License-Identifier: MIT
"""refused.py - command lines that a command refuses before it looks at any process, and those at the other side of each bound.

Those that are accepted end with the next thing that is missing: a program, a process or a region that does not exist.
"""

NO_PID = "4194304"  # the kernel gives smaller ones
GONE = ["--", "/nonexistent/program"]
LONG = "x" * 300


def options(command, *values, ending=()):
    """One line for each "--option value ..."."""
    return [[*command, *value.split(), *ending] for value in values]


def of_run():
    run = ["run", "-o", "{out}/t.jsonl"]
    return [
        *options(run, "--wobble", "-n", "-n 0", "-n 2097151", "-n x", "--duration 1", "--duration x", "--check=nothing", "--json=", "-o", "--shm=", "--sock=",
                 "--buffer 0", "--buffer 1", "--buffer 1X", "--buffer 99999999T", "--flight-recorder 1", "--flight-recorder x", "--on-full", "--on-full wait",
                 "--on-full block=", "--on-full block=x", "--on-full drop=1", "--format", "--format xml", "--serve=0", "--serve=65536", "--serve=x", "--sample 0",
                 "--spool-size 1", "--metrics x", "--metrics :70000", "--metrics-sites 0", "-p 0", "-p x", "-p 1073741825", "--counter x",
                 "--frames --flight-recorder 1M", "--suppressions /nonexistent/file --check", "--suppressions /nonexistent/file", "--ship http://host", "--ship nats:", "--ship file:",
                 f"--service {LONG} --ship file:x", f"--host {LONG} --ship file:x", f"--region {LONG} --ship file:x", f"--version-label {LONG} --ship file:x",
                 ending=GONE),
        *options(run, "-n 1", "--buffer 1M", "--flight-recorder 1M", "--on-full drop", "--on-full block", "--on-full block=1", "--format ct",
                 "--format ctf", "--format jsonl", ending=GONE),
        *options(["run"], "", "--", "-p", "-p 7 extra", f"-p {NO_PID} -- true", "-p 7 --mem", "--mem -o - -- true", "--check -o - -- true", "--serve -o - -- true",
                 "--flight-recorder 1M -o - -- true", "--wait-all", "-q -q", "--json -q", "--duration 1 -- true", "--ship file:x --check -- true",
                 "--ship file:x --serve -- true", "--metrics 1 -o - -- true", f"-p {NO_PID} --frames", f"-p {NO_PID}", "--no-such=1 -- true"),
        ["collect", "extra"], ["collect", "-p", "1"], ["collect", "-n", "0"], ["collect", "--shm", "/nonexistent/dir/r", "-o", "{out}/t"],
    ]


def of_frames():
    both = ["", "-p", "-p 0", "-p x", "-p 1073741825", "-p 1 extra", f"-p {NO_PID}", f"-p {NO_PID} -b x", f"-p {NO_PID} --size 1", f"-p {NO_PID} --size 2",
            f"-p {NO_PID} --size 1073741824", f"-p {NO_PID} --size 1073741825", f"-p {NO_PID} --count 0", f"-p {NO_PID} --count 1", f"-p {NO_PID} --duration 0",
            f"-p {NO_PID} --duration x", f"-p {NO_PID} --duration 0.001", f"-p {NO_PID} -c a,b,c,d", f"-p {NO_PID} -b ="]
    return [
        *options(["attach", "-o", "{out}/f.ppt"], *both, f"-p {NO_PID} -l", f"-p {NO_PID} --resize 1", f"-p {NO_PID} --resize 8", f"-p {NO_PID} -t x",
                 f"-p {NO_PID} -D /nonexistent/file", f"-p {NO_PID} -d text -D /nonexistent/file", f"-p {NO_PID} -t 25", f"-p {NO_PID} -t -24"),
        *options(["monitor"], *both, f"-p {NO_PID} -i 0", f"-p {NO_PID} -i x", f"-p {NO_PID} -i 0.01", f"-p {NO_PID} --frame x"),
    ]


def of_looks():
    sample = f"-p {NO_PID} --sample"
    return [
        *options(["top"], "--once -p 0", "--once -p x", "--once /nonexistent/region", "--once a b", "--once -p 7 region", "--once -s wrong",
                 "--once -g wrong", "--once -d 0", "--once -d x", "--once -n x", "--once -n -1", f"--once -f {LONG}", "--once -o t.jsonl", "--once --log x",
                 "--json /nonexistent/region", ""),
        *options(["why"], "", "-p", "-p 0", "-p 4194305", "-p x", "-p 4194304", "-p 7 extra", "core extra", "/nonexistent/core", "--hang 0 -- true", "--hang x -- true",
                 "--after x -- true", "--sample 0/s -p 7", "--sample x -p 7", f"--sample 10 -p {NO_PID}", "--sample 1001/s -p 7", "--duration 1 -p 7", "--format folded -p 7",
                 "-o x -p 7", f"{sample} 10/s -f wrong", f"{sample} 10/s -o x", f"{sample} 10/s --save x", f"{sample} 10/s --stacks", f"{sample} 10/s --duration 0",
                 f"{sample} 10/s", "--sample 10/s core", "--fail-on wrong -p 7", "--html - --json -p 7", "--html= -p 7", "--save= -p 7", "-- /nonexistent/program",
                 f"--hang 5 -p {NO_PID}", f"--after 5 -p {NO_PID}"),
        *options(["snapshot"], "-p 0", "-p x", "extra", "--shm=", "--shm /nonexistent/region", "-l extra"),
        *options(["recover"], "a b", "/nonexistent/region", "--join /nonexistent/region", "--join -o {out}/t /nonexistent/region", "--remove",
                 "--remove /nonexistent/region", "-o {out}/t", "--json /nonexistent/region", "{kinds}", "--remove {kinds}"),
        *options(["serve"], "", "--port 0 {kinds}", "--port 65536 {kinds}", "--port x {kinds}", "-", "a b", "/nonexistent/trace",
                 "--metrics x {kinds}", "--ship x {kinds}"),
    ]


def of_memory():
    run = ["mem", "run", "-o", "{out}/m"]
    ctl = ["mem", "ctl"]
    return [
        *options(run, "--format wrong", "--on-full wait", "--on-full drop", "--burst 1ms", "--burst 2ms/1ms", "--burst 1ms/1ms", "--burst 1s/3600s", "--burst 1s/3601s",
                 "--burst 0ms/1s", "--burst x/1s", "--max-size 65535", "--max-size 64K", "--buffer 262143", "--buffer 256K", "--buffer 1073741825",
                 "--level -1", "--level 20", "--level 19", "--packers 0", ending=GONE),
        *options(["mem", "run"], "", "-o - -- true", "-o= -- true", "--wobble -- true"),
        *options(ctl, "", "7", "x start", "0 start", f"{NO_PID} start", f"{NO_PID} stop", f"{NO_PID} wrong", f"{NO_PID} mark", f"{NO_PID} mark a b", f"{NO_PID} mark {LONG}",
                 f"{NO_PID} start extra", f"--for 0 {NO_PID} start", f"--for 1 {NO_PID} start", f"--for 86400001 {NO_PID} start", f"--for 10 {NO_PID} stop"),
        *options(["mem", "recover"], "", "a b c", "/nonexistent/dir", "/nonexistent/dir {out}/m"),
    ]


def completed():
    """What a shell offers after these words; the last one is being typed ("_": empty)."""
    lines = ["", "_", "re", "mem _", "mem s", "mem sim _", "mem sim --l", "run _", "run --", "run --on-full _", "run --on-full=", "run --format c", "run -o x ./p", "run -- a b",
             "run -o x -- a b", "report --fail-on _", "report --fail-on=dead", "info _", "info a b", "export _", "export c", "export csv _", "why --fail-on _",
             "nothing _", "help _", "help mem _", "serve --port _", "recover --", "mem cc _", "mem cc -c x", "top -- ./p -x"]
    return [["--complete", *(("" if word == "_" else word) for word in line.split())] for line in lines] + \
        [["--completion", "ksh"], ["why", "--", "true"], ["why", "--", "false"], ["why", "--json", "--", "true"]]


def told(program):
    """Runs of a program with a known story; the trace itself has times, and is not kept."""
    story = ["--", program, "child", "story"]
    run = ["run", "-o", "/dev/null"]
    return [[*run, *more, *story] for more in ([], ["-q"], ["--fail-on-loss"], ["--wait-all"], ["--no-inherit"], ["-n", "1"], ["--on-full", "drop"], ["--flight-recorder", "1M"])] + \
        [[*run, "--", program, "child", "killed"], [*run, "-q", "--fail-on-loss", "--", program, "child", "killed"], [*run, "--frames", *story],
         [*run, "--mem", *story], [*run, "--check", *story], ["-n", "1", "-cmd", "true"], ["-h"]]
