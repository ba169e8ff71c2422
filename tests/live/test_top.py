# SPDX-License-Identifier: MIT
"""test_top.py - corotracer top: in a terminal of tmux, and as one picture."""
import contextlib
import re
import shutil

from live import *
from screen import Screen


@contextlib.contextmanager
def screen(dir, **kwargs):
    if not shutil.which("tmux"):
        raise Skip("no tmux here")
    s = Screen(dir, **kwargs)
    try:
        yield s
    finally:
        s.close()


def stuck(dir, *options):
    """A program with a coroutine in every state, and its collector."""
    p = popen(TOOL, "run", "-q", *options, "-o", os.path.join(dir, "stuck.jsonl"), "--", FLIGHT_TARGET, "stuck", env=ENV)
    contains(p.stdout.readline(), "ready")
    return p


def top_json(p, *options):
    status, out, err = tool("top", "-p", p.pid, "--json", *options)
    equal((status, err), (0, ""), "status and stderr of top --json")
    return json.loads(out)


def region_of(p):
    return top_json(p)["region"]


@test
def processor_time_has_columns_if_it_is_measured(dir):
    p = stuck(dir, "--cpu")
    # The kernel's records of a slice come after its events.
    wait_until(lambda: all("cpu" in c or c["state"] in ("new", "running") for c in top_json(p)["coroutines"]),
               "processor time of every slice")
    measured = [c for c in top_json(p)["coroutines"] if "cpu" in c]
    assert measured and all(c["cpu"]["slices"] > 0 and c["cpu"]["on_ns"] > 0 for c in measured), measured
    with screen(dir, width=150) as s:
        s.run(TOOL, "top", "-p", p.pid)
        s.wait("ON CPU", "READY", "BLOCKED", "reader")
        s.keys("Enter")
        s.wait("on a processor", "blocked in the kernel")
        s.keys("q")


@test
def without_processor_time_there_is_no_word_of_it(dir):
    p = stuck(dir)
    assert not any("cpu" in c for c in top_json(p)["coroutines"])
    with screen(dir, width=150) as s:
        s.run(TOOL, "top", "-p", p.pid)
        text = s.wait("THREAD", "reader")
        assert "ON CPU" not in text and "BLOCKED" not in text, text
        s.keys("q")


# ---- one picture ---------------------------------------------------------------------


@test
def a_picture_tells_what_recover_tells(dir):
    p = stuck(dir)
    top = top_json(p)
    status, out, _ = tool("recover", "--json", top["region"])
    equal(status, 0, "status of recover")
    recover = json.loads(out)
    same = ("id", "name", "state", "since_ts", "woken_ts", "site", "birth_site", "reason", "resource", "parent", "birth_ts", "events", "dropped", "addr", "pid")
    by_id = {c["id"]: c for c in recover["coroutines"]}
    equal(sorted(c["id"] for c in top["coroutines"]), sorted(by_id), "coroutines")
    for c in top["coroutines"]:
        for key in same:
            got, wanted = c.get(key), by_id[c["id"]].get(key)
            if key.endswith("_ts") and got and wanted:  # two readings of the counter
                assert abs(got - wanted) < 1000000, (key, got, wanted)
            else:
                equal(got, wanted, f"{key} of {c['name']}")
    equal(top["states"], {"new": 1, "ready": 1, "running": 1, "suspended": 2, "ended": 0}, "states")
    equal({c["name"] for c in top["coroutines"] if c["ready"]}, {"woken"}, "ready ones")
    equal(top["collector_pid"], p.pid, "collector")
    equal((top["lost"], top["events"], top["births"], top["collector_answers"]), (0, 8, 6, True), "totals")
    running = [c for c in top["coroutines"] if c["state"] == "running"]
    equal([c["tid"] for c in running], [top["processes"][0]["pid"]], "thread of the one that runs")
    # The longest wait comes first.
    names = [c["name"] for c in top["coroutines"]]
    equal(names[:3], ["reader", "locker", "woken"], "order")


@test
def pictures_are_sorted_filtered_and_cut_as_asked(dir):
    p = stuck(dir)
    by_name = [c["name"] for c in top_json(p, "-s", "name")["coroutines"]]
    equal(by_name, sorted(by_name), "by name")
    ids = [c["id"] for c in top_json(p, "-s", "id")["coroutines"]]
    equal(ids, sorted(ids), "by id")
    for what in ("age", "rate", "site", "thread", "events"):
        equal(len(top_json(p, "-s", what)["coroutines"]), 5, f"coroutines by {what}")
    equal([c["name"] for c in top_json(p, "-f", "LOCK")["coroutines"]], ["locker"], "filtered by name")
    equal(len(top_json(p, "-f", "do_stuck")["coroutines"]), 2, "filtered by place")
    cut = top_json(p, "-n", 2)
    equal((len(cut["coroutines"]), cut["matching"]), (2, 5), "cut")
    status, out, _ = tool("top", "-p", p.pid, "--once", "-n", 2)
    contains(out, "3 more")
    contains(out, "reader")
    contains(tool("top", "--once", region_of(p))[1], "io-read, descriptor 7")


@test
def plain_stations_are_shown(dir):
    p = popen(TOOL, "run", "-q", "-o", os.path.join(dir, "t.jsonl"), "--", FLIGHT_TARGET, "stuck", env=dict(ENV, COROTRACER_NO_LANES="1"))
    contains(p.stdout.readline(), "ready")
    top = top_json(p)
    equal({c["name"]: c["state"] for c in top["coroutines"]}.get("locker"), "suspended", "a coroutine in a station")
    assert all("tid" in c for c in top["coroutines"] if c["state"] != "new"), top["coroutines"]


@test
def a_stopped_collector_keeps_nobody_waiting(dir):
    p = stuck(dir)
    region = region_of(p)
    os.kill(p.pid, signal.SIGSTOP)
    status, out, _ = tool("top", "--json", region)
    top = json.loads(out)
    equal((status, top["collector_answers"], len(top["coroutines"])), (0, False, 5), "a picture without its answer")
    os.kill(p.pid, signal.SIGCONT)


@test
def what_cannot_be_shown_is_told(dir):
    p = stuck(dir)
    status, out, err = tool("top", "-p", p.pid)
    equal((status, out), (2, ""), "status without a terminal")
    contains(err, "not a terminal")
    contains(err, "--once")
    status, _, err = tool("top", "--once", "-p", 1)
    equal(status, 1, "status for a pid that nobody has")
    contains(err, "no collector of yours has pid 1, or traces it")
    other = popen(TOOL, "run", "-q", "-o", os.path.join(dir, "b.jsonl"), "--", FLIGHT_TARGET, "stuck", env=ENV)
    contains(other.stdout.readline(), "ready")
    status, out, err = tool("top", "--once")
    equal((status, out), (1, ""), "status when there are several")
    contains(err, "collectors are running")
    contains(err, str(other.pid))
    contains(err, "hint: choose one with -p PID")
    for args, words_ in ((("-d", "0"), "-d"), (("-d", "x"), "-d"), (("-d", "nan"), "-d"), (("-s", "size"), "-s"), (("-f", "x" * 200), "-f"), (("a", "b"), "one region"),
                         (("-p", "1", "x"), "-p"), (("-o", "x"), "-o"), (("--once", "-n", "x"), "-n")):
        status, out, err = tool("top", *args)
        equal((status, out), (2, ""), f"status of {args}")
        contains(err, words_)
    for _ in range(5):
        status, out, err = tool("top", "--once", "--", "/nonexistent/program")
        equal((status, out), (1, ""), "status of a program that cannot be started")
        contains(err, "cannot run '/nonexistent/program'")
    region = region_of(p)
    p.kill()
    p.wait()
    status, _, err = tool("top", "--once", region)
    equal(status, 1, "status of a region that was left behind")
    contains(err, "the collector of region")
    contains(err, "corotracer recover")
    for bad in ("/nonexistent", os.path.join(dir, "stuck.jsonl"), "/dev/null"):
        status, _, err = tool("top", "--once", bad)
        equal(status, 1, f"status of {bad}")
    sweep(p)


# ---- the screen ------------------------------------------------------------------------


def rows(s):
    """The list on the screen: names of coroutines, from the top."""
    lines = s.lines()
    start = next(i for i, line in enumerate(lines) if "STATE" in line and "AGE" in line)
    return [line.split() for line in lines[start + 1:-2] if line.strip()]


def chosen(s):
    """The number of the coroutine in the reversed row, or None."""
    for line in s.lines(colors=True):
        words = re.sub(r"\x1b\[[0-9;]*m", "", line).split()
        if re.search(r"\x1b\[(\d+;)*7m", line) and words and words[0].isdigit():
            return words[0]
    return None


def show(s, p, *options):
    s.run(TOOL, "top", "-p", p.pid, "-d", "0.1", *options)
    s.wait("STATE", "? help")


@test
def the_list_shows_who_waits_the_longest(dir):
    p = stuck(dir)
    with screen(dir, width=120) as s:
        show(s, p)
        text = s.wait("flight_target stuck", "coroutines 5: 1 running, 1 ready, 2 suspended, 1 new, 0 ended", "lost 0", "threads 1")
        equal([r[0] for r in rows(s)], [str(c["id"]) for c in top_json(p)["coroutines"]], "ids")
        contains(text, "flight_target.c:52 do_stuck")
        contains(text, "io-read, descri")
        s.keys("n")
        s.wait("by name")
        equal(rows(s)[0][5], "a", "first by name")
        s.keys("n")
        s.wait("by name (reversed)")
        s.keys("N")
        s.wait("by id")
        equal([r[0] for r in rows(s)], ["1", "2", "3", "4", "6"], "by id")
        s.keys("3")
        s.wait("2 suspended (hidden)", "3 shown")
        s.keys("0")
        s.wait("5 shown", without=["(hidden)"])
        s.keys("q")
        s.wait("shell>", without=["STATE"])


@test
def more_than_a_screenful_is_shown_by_kind(dir):
    told = Told(dir, "-q")
    told.tell("begin lonely", "many 40")
    with screen(dir, width=120) as s:
        s.run(TOOL, "top", "-p", told.p.pid)
        text = s.wait("KIND", "kinds of", "lonely", "COUNT", "p99", "BUSY%")
        counts = [int(n.replace(",", "")) for n in re.findall(r"^(?:lonely|one of many) +([\d,]+) ", text, re.M)]
        equal(sorted(counts), [1, 40], "coroutines of each kind")
        s.keys("Enter")
        s.wait("how long those that wait have waited", "waits     p50", "% waiting, by looks", "####")
        s.keys("Escape")
        s.wait("KIND")
        s.keys("Tab")
        s.wait("sites of", "WHERE")
        s.keys("t")
        s.wait("STATE", without=["KIND"])
        s.keys("Tab")
        s.wait("KIND")
        s.keys("n")
        s.wait("by name")
        s.keys("End")
        s.keys("Right")
        s.wait("filter '", "STATE")
        s.keys("F10")
        s.wait("shell>", without=["STATE"])


@test
def locks_have_a_holder_and_joins_are_a_tree(dir):
    told = Told(dir, "-q")
    told.tell("begin owner", "begin a", "begin b", "begin child", "resume owner", "hold owner 4096", "suspend owner",
              "resume a", "want a 4096", "resume b", "want b 4096")
    with screen(dir, width=130) as s:
        s.run(TOOL, "top", "-p", told.p.pid, "-g", "resource")
        text = s.wait("WAITING FOR", "mutex, 0x1000", "HELD BY")
        row, = [line for line in text.split("\n") if "mutex, 0x1000" in line]
        equal(row.split()[2], "2", "waiters")
        contains(row, "1 owner, suspended")
        told.tell("resume owner", "join owner 4")
        s.keys("F5")
        text = s.wait("+>child")
        lines = [line for line in text.split("\n") if "owner" in line or "child" in line]
        assert "owner" in lines[0] and "+>child" in lines[1], lines
        s.keys("q")
        s.wait("shell>", without=["STATE"])


@test
def a_ring_is_a_warning_and_so_is_one_that_never_suspends(dir):
    told = Told(dir, "-q")
    told.tell("begin a", "begin b", "begin c", "resume a", "join a 2", "resume b", "join b 1", "resume c")
    with screen(dir, width=150) as s:
        show(s, told.p)
        s.wait("w: deadlock: 2 wait for each other in a ring: 'a' -> 'b' -> 'a'", "and more")
        s.keys("w")
        s.wait("never-yielded (suspected): 1 for", "3 c", "'corotracer report' on the trace decides", without=["blocking:"])
        s.keys("q")
        s.wait("shell>", without=["decides"])


def found_by_report(told, detector):
    """Ids of the coroutines that `report` names, of a trace that has ended."""
    status, out, err = tool("report", "--json", told.trace)
    assert status in (0, 1), (status, err)
    groups = [f for f in json.loads(out)["findings"] if f["detector"] == detector]
    return {c["probe_id"] for f in groups for c in f.get("coroutines", [f["example"]])}


@test
def who_is_passed_over_starves_and_who_runs_has_not_yielded_as_the_report_finds(dir):
    told = Told(dir, "-q")
    told.tell("begin starved", "begin busy", "wake starved", "wake busy", "resume busy")
    # Often enough to starve, too rarely for an order that serves the newest first; then it runs for long.
    for _ in range(15):
        told.tell("suspend busy", "wake busy", "resume busy")
    with screen(dir, width=150) as s:
        show(s, told.p)
        s.keys("w")
        s.wait("starvation: 1 for", "1 starved", "never-yielded (suspected): 1 for", "2 busy")
        s.keys("q")
        s.wait("shell>", without=["decides"])
    told.quit()
    told.p.wait(300)
    equal((found_by_report(told, "starvation"), found_by_report(told, "never-yielded")), ({1}, {2}), "the report")


@test
def who_is_ready_and_passed_over_by_none_does_not_starve_as_in_the_report(dir):
    told = Told(dir, "-q")
    told.tell("begin forgotten", "begin other", "wake forgotten")
    with screen(dir, width=150) as s:
        show(s, told.p)
        # Another finding shows that the warnings are those of a picture that is old enough.
        told.tell("resume other")
        s.keys("w")
        s.wait("never-yielded (suspected): 1 for", "2 other", without=["starvation"])
        s.keys("q")
        s.wait("shell>", without=["decides"])
    told.quit()
    told.p.wait(300)
    equal(found_by_report(told, "starvation"), set(), "the report")


@test
def a_ring_of_locks_is_a_warning_and_a_queue_is_none(dir):
    told = Told(dir, "-q")
    told.tell("begin a", "begin b", "begin c", "resume a", "hold a 7", "resume b", "hold b 8", "want a 8", "resume c", "want c 7")
    with screen(dir, width=150) as s:
        s.run(TOOL, "top", "-p", told.p.pid, "-d", "0.1", "-g", "resource")
        s.wait("HELD BY", "mutex, 0x7", "mutex, 0x8", without=["deadlock"])
        told.tell("want b 7")
        s.wait("w: deadlock: 2 wait for each other in a ring: 'a' -> 'b' -> 'a'")
        s.keys("q")
        s.wait("shell>", without=["deadlock"])


@test
def the_help_says_what_q_does_and_the_head_names_the_program(dir):
    told = Told(dir, "-q")
    told.tell("begin a")
    with screen(dir) as s:
        s.run(TOOL, "top", "-p", told.p.pid)
        s.wait("live_target  pid", without=["/live_target"])
        s.keys("?")
        s.wait("quit; the program goes on")
        s.keys("q")
        s.wait("shell>", without=["goes on"])
        s.run(TOOL, "top", "--", FLIGHT_TARGET, "stuck")
        s.wait("flight_target stuck")
        s.keys("F1")
        s.wait("quit, and end the program")
        s.keys("q")
        s.wait("shell>", without=["end the program"])


@test
def a_filter_is_typed(dir):
    p = stuck(dir)
    with screen(dir) as s:
        show(s, p)
        s.keys("/")
        s.wait("filter by name or place:")
        s.type("LOCQ")
        s.wait("none of the coroutines is shown", "LOCQ_")
        s.keys("BSpace")
        s.wait("LOC_", "locker", without=["runner"])
        s.keys("Enter")
        s.wait("1 shown", "filter 'LOC'")
        s.keys("Escape")
        s.wait("5 shown", "runner")
        s.keys("q")
        s.wait("shell>", without=["STATE"])


@test
def details_tell_all_of_one(dir):
    p = stuck(dir)
    with screen(dir, height=30) as s:
        show(s, p)
        s.keys("Down")
        s.keys("Enter")
        s.wait("coroutine 3  locker", "suspended for", "flight_target.c:56 do_stuck", "mutex, 0xabcdef00", "made by 1  runner", "last events still in memory", "birth")
        s.keys("Escape")
        s.wait("STATE")
        s.keys("End")
        s.keys("Enter")
        s.wait("coroutine 1  runner", "parent unknown")
        s.keys("Escape")
        s.keys("?")
        s.wait("Enter      details of one")
        s.keys("q")
        s.wait("shell>", without=["details of one"])


@test
def the_chosen_one_stays_chosen(dir):
    told = Told(dir, "-q")
    told.tell("begin a", "begin b", "begin c")
    with screen(dir) as s:
        show(s, told.p)
        s.keys("Down")
        wait_until(lambda: chosen(s) == "2", "the cursor at b")
        # b moves to the end of the list, and stays under the cursor.
        told.tell("resume b", "suspend b")
        wait_until(lambda: rows(s)[-1][0] == "2", "b at the end")
        s.keys("Enter")
        s.wait("coroutine 2  b")
        told.tell("end b")
        s.wait("coroutine 2 is gone")
        s.keys("Escape")
        s.wait("2 shown")
        s.keys("q")
        s.wait("shell>", without=["STATE"])
    told.quit()


@test
def arrows_are_known_in_both_forms(dir):
    p = stuck(dir)
    with screen(dir) as s:
        for form in ("[", "O"):
            show(s, p)
            s.type(f"\x1b{form}B")
            s.keys("Enter")
            s.wait("coroutine 3  locker")
            s.keys("q")
            s.wait("shell>", without=["locker"])


@test
def rates_and_pause(dir):
    told = Told(dir, "-q")
    told.tell("begin a")
    with screen(dir) as s:
        show(s, told.p)
        s.wait("events 0.0/s")
        told.tell("spin 100000")
        s.wait("spinner")
        s.keys("p")
        s.wait("[PAUSED]")
        told.tell("begin late")
        s.keys("P")
        s.wait("by rate")
        assert "late" not in s.text()
        s.keys("p")
        s.wait("late", without=["[PAUSED]"])
        s.keys("+")
        s.wait("every 0.2 s")
        s.keys("-")
        s.wait("every 0.1 s")
        s.keys("q")
        s.wait("shell>", without=["STATE"])
    told.quit()


@test
def it_fits_every_size(dir):
    p = stuck(dir)
    with screen(dir, width=200, height=50) as s:
        show(s, p)
        s.wait("a name of more than thirty-two b")
        for width, height in ((90, 20), (70, 10), (55, 8), (40, 6), (20, 5), (10, 3), (5, 2), (1, 1), (300, 100), (80, 24)):
            s.resize(width, height)
            if width >= 40 and height >= 6:
                s.wait("STATE", "lost 0", "reader" if width >= 52 else "flight_t")
            for line in s.lines():
                assert len(line) <= width, (width, line)
        s.wait("5 shown")
        s.keys("Enter")
        s.resize(60, 10)
        s.wait("coroutine 2  reader")
        for _ in range(40):
            s.keys("Down")
        s.wait("birth")
        s.keys("q")
        s.wait("shell>")


def check_restored(s, before, how):
    equal(s.state(), before[0], f"the terminal after {how}")
    equal(s.modes(), before[1], f"stty after {how}")


@test
def the_terminal_is_left_as_it_was(dir):
    p = stuck(dir)
    with screen(dir) as s:
        before = (s.state(), s.modes())
        assert before[1], "stty told nothing"
        for how in ("q", "C-c", signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            show(s, p)
            assert s.state() != before[0], "no screen of its own"
            if isinstance(how, str):
                s.keys(how)
            else:
                os.kill(pid_of_top(p), how)
            s.wait("shell>", without=["STATE"])
            check_restored(s, before, how)


def pid_of_top(p):
    """The pid of the top that shows this collector."""
    for pid in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{int(pid)}/cmdline", "rb") as f:
                argv = f.read().split(b"\0")
            if len(argv) > 3 and argv[0] == TOOL.encode() and argv[1:4] == [b"top", b"-p", str(p.pid).encode()]:
                return int(pid)
    raise AssertionError("no top is running")


@test
def it_is_stopped_and_goes_on(dir):
    p = stuck(dir)
    with screen(dir) as s:
        before = (s.state(), s.modes())
        show(s, p)
        s.keys("C-z")
        s.wait("Stopped", without=["? help"])
        check_restored(s, before, "^Z")
        s.run("fg")
        s.wait("STATE", "reader", "? help")
        s.keys("Down")
        s.keys("Enter")
        s.wait("coroutine 3  locker")
        s.keys("q")
        s.wait("shell>", without=["locker"])
        check_restored(s, before, "fg and q")


@test
def a_program_that_is_gone_stays_on_the_screen(dir):
    told = Told(dir, "-q")
    told.tell("begin alpha", "begin beta")
    with screen(dir) as s:
        before = (s.state(), s.modes())
        show(s, told.p)
        s.wait("alpha", "beta")
        os.kill(told.program(), signal.SIGKILL)
        told.p.wait(300)
        s.wait("[ENDED]", "the run is over", "alpha", "beta")
        s.keys("Enter")
        s.wait("coroutine 1  alpha")
        s.keys("q")
        s.wait("shell>", without=["alpha"])
        check_restored(s, before, "the end of the program")


@test
def names_do_nothing_to_the_terminal(dir):
    told = Told(dir, "-q")
    # An escape sequence, a newline, invalid UTF-8, a wide character, a combining one.
    told.tell("begin x%1b[31mred%07%0a", "begin y%ff%fe", "begin %e6%97%a5%e6%9c%ac", "begin e%cc%81z", "begin <script>")
    with screen(dir, env={"LC_ALL": "C.UTF-8"}) as s:
        show(s, told.p)
        s.wait("x?[31mred??", "y\ufffd", "日本", "<script>", "5 shown")
        s.keys("q")
        s.wait("shell>", without=["STATE"])
        told_lines = s.tmux("capture-pane", "-p", "-e")
        assert "\x1b[31m" not in told_lines, told_lines
    with screen(dir, env={"LC_ALL": "C"}) as s:
        show(s, told.p)
        text = s.wait("x?[31mred??", "y?", "<script>", "5 shown")
        assert all(ord(c) < 128 for c in text), text
        s.keys("q")
        s.wait("shell>", without=["STATE"])
    told.quit()


@test
def colour_only_where_it_is_wanted(dir):
    p = stuck(dir)
    color = re.compile("\x1b\\[[0-9;]*3[1-7][;m]")
    # A vt100 has no alternate screen: the picture stays.
    for env, wanted in (({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "vt100"}, False)):
        with screen(dir) as s:
            s.run("export", *(f"{k}={v}" for k, v in env.items()))
            show(s, p)
            s.wait("reader")
            equal(bool(color.search("\n".join(s.lines(colors=True)))), wanted, f"colour with {env}")
            s.keys("q")
            s.wait("shell>", without=["? help"])


@test
def a_terminal_that_can_do_nothing_is_told(dir):
    p = stuck(dir)
    with screen(dir) as s:
        for term in ("dumb", "no-such-terminal", ""):
            s.run("env", f"TERM={term}", TOOL, "top", "-p", p.pid)
            s.wait("cannot show a screen", "--once")
            s.run("clear")
            s.wait("shell>", without=["cannot show"])


@test
def a_program_is_started_and_ended(dir):
    trace, log = os.path.join(dir, "t.jsonl"), os.path.join(dir, "log")
    with screen(dir) as s:
        before = (s.state(), s.modes())
        s.run("env", f"ASAN_OPTIONS={ENV['ASAN_OPTIONS']}", TOOL, "top", "-d", "0.1", "-o", trace, "--log", log, "--", FLIGHT_TARGET, "stuck")
        s.wait("reader", "5 shown")
        with open(log, encoding="utf-8") as f:
            pid = int(re.search(r"ready (\d+)", f.read()).group(1))
        s.keys("q")
        s.wait("shell>", without=["STATE"])
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the program")
        check_restored(s, before, "a program of its own")
        equal(json.loads(tool("info", "--json", trace)[1])["events"], 8, "events in its trace")
        # A program that ends by itself leaves its picture and its status.
        s.run(TOOL, "top", "-d", "0.1", "--", "sh", "-c", "sleep 2; exit 5")
        s.wait("no coroutine is there")
        s.wait("[ENDED]")
        s.keys("q")
        s.wait("shell>", without=["ENDED"])
        s.type("echo status=$?")
        s.keys("Enter")
        s.wait("status=5")
        # Here a picture may have been shown, or not.
        for program, wanted in ((("sh", "-c", "exit 6"), "status=6"), (("/nonexistent/program",), "cannot run '/nonexistent/program'")):
            s.type(words(TOOL, "top", "--", *program) + "; echo status=$?")
            s.keys("Enter")
            s.wait_any("[ENDED]", wanted)
            if "[ENDED]" in s.text():
                s.keys("q")
            s.wait(wanted)


@test
def a_hundred_thousand_are_shown(dir):
    told = Told(dir, "-q", "-n", "100000")
    told.tell("many 100000", "begin needle")  # shown one by one
    with screen(dir) as s:
        show(s, told.p, "-g", "none")
        s.wait("coroutines 100,001:", "100,001 suspended")
        s.keys("/")
        s.type("needle")
        s.keys("Enter")
        s.wait("1 shown", "filter 'needle'")
        s.keys("Escape")
        s.keys("End")
        s.wait("needle", "100,001 shown")
        s.keys("q")
        s.wait("shell>", without=["STATE"])
    told.quit()


if __name__ == "__main__":
    main()
