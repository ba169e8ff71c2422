# SPDX-License-Identifier: MIT
"""test_ages.py - ages of coroutines run to the end of the program, not to that of the collector.

The program prints the ages itself, at its last moment.  The collector is held up for HELD_S
seconds over that moment.  The time between the program's last clock reading and its exit
counts to the age: LATE_S bounds it, far below HELD_S and far above a busy machine's delays.
"""
from harness import *

AGES = os.environ.get("AGES_TARGET", os.path.join(os.path.dirname(TARGET), "ages_target"))
EVENTS = 1500000 if os.environ.get("COROTRACER_FULL") == "1" else 200000
HELD_S = 3
LATE_S = 1.5
# The counter is converted to clock time piecewise.
CLOCK_ERROR_S = 0.001


def printed(text):
    return {" ".join(line.split()[:2]): int(line.split()[2]) / 1e9
            for line in text.splitlines() if line.startswith("left ")}


def compare(ages, wanted, what):
    equal(sorted(ages), sorted(wanted), what + ": coroutines")
    for name, age in ages.items():
        assert wanted[name] - CLOCK_ERROR_S <= age <= wanted[name] + LATE_S, (what, name, age, wanted[name])


def check(trace, wanted):
    _, out, _ = tool("info", "--json", trace)
    info = json.loads(out)
    end_ts = info["sidecar"]["totals"]["end_ts"]
    compare({g["names_first"][0]: g["oldest_ns"] / 1e9 for g in info["sidecar"]["not_ended_by_place"]}, wanted, "info")
    compare({c["name"]: (end_ts - c["since_ts"]) / 1e9 for c in info["sidecar"]["not_ended_first"]}, wanted, "end_ts")
    _, out, _ = tool("report", "--json", trace)
    findings = [f for f in json.loads(out)["findings"] if f["detector"] == "suspended-at-exit"]
    compare({f["example"]["name"]: f["example"]["age_ns"] / 1e9 for f in findings}, wanted, "report")
    compare({f["example"]["name"]: f["oldest_ns"] / 1e9 for f in findings}, wanted, "report, oldest")


def hold_up(p, dir, ended):
    """Stop the collector before the program's end, and for HELD_S after it."""
    wait_until(lambda: os.path.exists(dir + "/silent"), "the program's last silence")
    p.send_signal(signal.SIGSTOP)
    wait_until(ended, "the program's end")
    time.sleep(HELD_S)
    p.send_signal(signal.SIGCONT)


def start(dir, *options):
    return popen(TOOL, "run", "--json", *options, "--", "sh", "-c",
                 words(AGES, EVENTS, 300, dir + "/silent") + f"; echo > {dir}/ended")


@test
def ages_are_those_that_the_program_prints_however_late_the_collector_is(dir):
    for output in ("t.jsonl", "t.ctf"):
        p = start(dir, "-o", f"{dir}/{output}")
        hold_up(p, dir, lambda: os.path.exists(dir + "/ended"))
        out, err = p.communicate(timeout=120)
        check(f"{dir}/{output}", printed(out))
        s = json.loads(err.splitlines()[-1])
        assert s["collecting_ns"] - s["duration_ns"] >= (HELD_S - LATE_S) * 1e9, s
        os.unlink(dir + "/silent")
        os.unlink(dir + "/ended")


@test
def a_flight_recorder_ends_with_the_program_too(dir):
    p = start(dir, "--flight-recorder", "8M", "-o", dir + "/t.jsonl")
    hold_up(p, dir, lambda: os.path.exists(dir + "/ended"))
    out, _ = p.communicate(timeout=120)
    check(dir + "/t.jsonl", printed(out))


@test
def collecting_that_goes_on_does_not_make_coroutines_of_an_ended_program_older(dir):
    p = popen(TOOL, "collect", "--json", "-o", dir + "/t.jsonl")
    env = dict(os.environ, **dict(word.split("=", 1) for word in p.stdout.readline().split()[1:]))
    program = popen(AGES, EVENTS, 300, dir + "/silent", env=env)
    hold_up(p, dir, lambda: program.poll() is not None)
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=120)
    check(dir + "/t.jsonl", printed(program.stdout.read()))


@test
def a_program_that_goes_on_is_as_old_as_the_last_look_at_it(dir):
    p = popen(TOOL, "collect", "--json", "-o", dir + "/t.jsonl")
    env = dict(os.environ, **dict(word.split("=", 1) for word in p.stdout.readline().split()[1:]))
    popen(AGES, 10, 60000, env=env)
    before = time.monotonic()
    wait_until(lambda: os.path.exists(dir + "/t.jsonl") and os.path.getsize(dir + "/t.jsonl"), "events")
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=120)
    with open(dir + "/t.jsonl.meta", encoding="utf-8") as f:
        end = [json.loads(line) for line in f][-1]["end_ts"] / 1e9
    assert before + 1 <= end <= time.monotonic(), (before, end)


if __name__ == "__main__":
    main()
