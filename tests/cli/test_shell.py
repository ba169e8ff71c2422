# SPDX-License-Identifier: MIT
"""test_shell.py - the tool in pipelines and background jobs of a shell."""
from harness import *


def noisy(*target):
    """A shell command that prints before, during and after a traced program."""
    return "echo before; " + words(TARGET, *target) + " & for i in 1 2 3 4 5; do echo noise $i; done; wait; echo after"


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


@test
def a_trace_on_standard_output_has_no_line_of_the_program(dir):
    for output in ("-", "/dev/stdout"):
        status, out, err = tool("run", "-o", output, "--", "sh", "-c", noisy("events", 4, 5000, 0))
        equal(status, 0, "status")
        equal(len(lines_of(out)), 20000, f"lines with -o {output}")
        for word in ("before\n", "noise 5\n", "after\n"):
            contains(err, word)
        equal(err.count("the program's standard output goes to standard error"), 1, "messages")


@test
def quiet_leaves_out_the_message_and_the_programs_output_still_moves(dir):
    status, out, err = tool("run", "-q", "-o", "-", "--", "sh", "-c", noisy("events", 1, 3, 0))
    equal((status, len(lines_of(out))), (0, 3), "status, lines")
    assert "standard output goes" not in err, err
    contains(err, "after\n")


@test
def a_program_without_standard_error_does_not_write_into_the_trace(dir):
    p = subprocess.run(["sh", "-c", words(TOOL, "run", "-q", "-o", "-", "--", "sh", "-c",
                                          "echo noise; " + words(TARGET, "events", 1, 3, 0)) + " 2>&-"],
                       capture_output=True, text=True, check=False, timeout=300)
    equal(len(lines_of(p.stdout)), 3, "lines")


@test
def a_trace_in_a_file_leaves_the_programs_output_alone(dir):
    status, out, err = tool("run", "-o", dir + "/t", "--", "sh", "-c", "echo mine")
    equal((status, out), (0, "mine\n"), "status, standard output")
    assert "standard output goes" not in err, err


@test
def collect_with_the_trace_on_standard_output_prints_its_environment_on_standard_error(dir):
    p = popen(TOOL, "collect", "-q", "-o", "-")
    line = ""
    while not line.endswith("\n"):
        line += p.stderr.read(1)
    env = dict(os.environ, **dict(word.split("=", 1) for word in line.split()[1:]))
    subprocess.run([TARGET, "events", "2", "5", "0"], env=env, check=True)
    p.send_signal(signal.SIGTERM)
    out, _ = p.communicate(timeout=300)
    equal(len(lines_of(out)), 10, "lines")


def background(dir, sig):
    """A shell without job control ignores SIGINT in its background jobs."""
    script = (words(TOOL, "collect", "--json", "-o", dir + "/t") + f" > {dir}/env 2> {dir}/err & "
              f"while [ ! -s {dir}/env ]; do sleep 0.01; done; . {dir}/env; "
              + words(TARGET, "events", 1, 4, 0) + f"; kill -{sig} $!; wait $!; echo status $?")
    p = popen("sh", "-c", script)
    out, _ = p.communicate(timeout=300)
    contains(out, "status 0")
    with open(dir + "/err", encoding="utf-8") as f:
        equal(json.loads(f.read().splitlines()[-1])["collected"], 4, "collected")


@test
def an_interrupt_ends_a_collector_in_the_background_of_a_script(dir):
    background(dir, "INT")


@test
def a_program_in_the_background_keeps_its_ignored_interrupt(dir):
    p = popen("sh", "-c", words(TOOL, "run", "-q", "-o", dir + "/t", "--", "grep", "SigIgn", "/proc/self/status")
              + " & wait")
    out, _ = p.communicate(timeout=300)
    assert int(out.split()[1], 16) & 1 << (signal.SIGINT - 1), out


if __name__ == "__main__":
    main()
