# SPDX-License-Identifier: MIT
"""test_ages.py - ages of coroutines run to the end of the program, not to that of the collector.

The program prints the ages itself, at its last moment.  The collector is held up over that
moment, and for longer afterwards.  The time between the program's last clock reading and its exit
counts to the age: it is less than the time in which the test saw both.
"""
from harness import *

AGES = os.environ.get("AGES_TARGET", os.path.join(os.path.dirname(TARGET), "ages_target"))
EVENTS = 1500000 if os.environ.get("COROTRACER_FULL") == "1" else 200000
HELD_S = 1  # at least
# The counter is converted to clock time piecewise.
CLOCK_ERROR_S = 0.001


def printed(text):
    """By name: most and least."""
    return {" ".join(line.split()[:2]): [int(word) / 1e9 for word in line.split()[2:]]
            for line in text.splitlines() if line.startswith("left ")}


def compare(ages, wanted, late_s, what):
    equal(sorted(ages), sorted(wanted), what + ": coroutines")
    for name, age in ages.items():
        most, least = wanted[name]
        assert least - CLOCK_ERROR_S <= age <= most + CLOCK_ERROR_S + late_s, (what, name, age, wanted[name], late_s)


def check(trace, wanted, late_s):
    _, out, _ = tool("info", "--json", trace)
    info = json.loads(out)
    end_ts = info["sidecar"]["totals"]["end_ts"]
    compare({g["names_first"][0]: g["oldest_ns"] / 1e9 for g in info["sidecar"]["not_ended_by_place"]}, wanted, late_s, "info")
    compare({c["name"]: (end_ts - c["since_ts"]) / 1e9 for c in info["sidecar"]["not_ended_first"]}, wanted, late_s, "end_ts")
    _, out, _ = tool("report", "--json", trace)
    findings = [f for f in json.loads(out)["findings"] if f["detector"] == "suspended-at-exit"]
    compare({f["example"]["name"]: f["example"]["age_ns"] / 1e9 for f in findings}, wanted, late_s, "report")
    compare({f["example"]["name"]: f["oldest_ns"] / 1e9 for f in findings}, wanted, late_s, "report, oldest")


def hold_up(p, dir, ended):
    """Stop the collector before the program's end, and far longer than that takes.

    Returns the bounds of the program's last moments, and of the time after them, in seconds; None: it
    had ended before the collector was stopped.
    """
    before = time.monotonic()
    while not os.path.exists(dir + "/silent") and not ended():
        before = time.monotonic()
        time.sleep(0.01)
    p.send_signal(signal.SIGSTOP)
    had_ended = ended()
    wait_until(ended, "the program's end")
    late_s = time.monotonic() - before
    held_s = max(HELD_S, 2 * late_s)
    time.sleep(held_s)
    p.send_signal(signal.SIGCONT)
    return None if had_ended else (late_s, held_s)


def hold_up_in_time(dir, start, ended):
    """Start it, and hold it up; again with a longer silence if that came too late.  Returns what start() does, and the bounds."""
    for silence_ms in (300, 3000, 15000):
        for name in ("/silent", "/ended"):
            if os.path.exists(dir + name):
                os.unlink(dir + name)
        p, program = start(silence_ms)
        bounds = hold_up(p, dir, lambda: ended(program))
        if bounds:
            return p, program, bounds
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=300)
    raise AssertionError("the collector was never stopped before the program's end")


def run_held_up(dir, *options):
    def start(silence_ms):
        return popen(TOOL, "run", "--json", *options, "--", "sh", "-c",
                     words(AGES, EVENTS, silence_ms, dir + "/silent") + f"; echo > {dir}/ended"), None
    p, _, bounds = hold_up_in_time(dir, start, lambda _: os.path.exists(dir + "/ended"))
    return p, bounds


@test
def ages_are_those_that_the_program_prints_however_late_the_collector_is(dir):
    for output in ("t.jsonl", "t.ctf"):
        p, (late_s, held_s) = run_held_up(dir, "-o", f"{dir}/{output}")
        out, err = p.communicate(timeout=300)
        check(f"{dir}/{output}", printed(out), late_s)
        s = json.loads(err.splitlines()[-1])
        # The shell that is traced ends a little later than the file appears.
        assert s["collecting_ns"] - s["duration_ns"] >= held_s * 1e9 / 2, s


@test
def a_flight_recorder_ends_with_the_program_too(dir):
    p, (late_s, _) = run_held_up(dir, "--flight-recorder", "8M", "-o", dir + "/t.jsonl")
    out, _ = p.communicate(timeout=300)
    check(dir + "/t.jsonl", printed(out), late_s)


@test
def collecting_that_goes_on_does_not_make_coroutines_of_an_ended_program_older(dir):
    def start(silence_ms):
        p = popen(TOOL, "collect", "--json", "-o", dir + "/t.jsonl")
        env = dict(os.environ, **dict(word.split("=", 1) for word in p.stdout.readline().split()[1:]))
        return p, popen(AGES, EVENTS, silence_ms, dir + "/silent", env=env)

    p, program, (late_s, _) = hold_up_in_time(dir, start, lambda program: program.poll() is not None)
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=300)
    check(dir + "/t.jsonl", printed(program.stdout.read()), late_s)


@test
def a_program_that_goes_on_is_as_old_as_the_last_look_at_it(dir):
    p = popen(TOOL, "collect", "--json", "-o", dir + "/t.jsonl")
    env = dict(os.environ, **dict(word.split("=", 1) for word in p.stdout.readline().split()[1:]))
    popen(AGES, 10, 60000, env=env)
    before = time.monotonic()
    wait_until(lambda: os.path.exists(dir + "/t.jsonl") and os.path.getsize(dir + "/t.jsonl"), "events")
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=300)
    with open(dir + "/t.jsonl.meta", encoding="utf-8") as f:
        end = [json.loads(line) for line in f][-1]["end_ts"] / 1e9
    assert before + 1 <= end <= time.monotonic(), (before, end)


if __name__ == "__main__":
    main()
