# SPDX-License-Identifier: MIT
"""test_live.py - a page of a running program: run --serve, and serve of a trace that is being written."""
from live import *
from bundle import Bundle, Columns  # noqa: E402 - found by way of live
from checks import as_in_the_page  # noqa: E402


def names_on(server):
    """By name: the state of each coroutine, according to the sections."""
    coros = Columns(server.section("coros"))
    meta, strings = server.json("meta"), server.json("strings")  # last: there may be more by then
    return {strings[n]: meta["states"][s] for n, s in zip(coros["name"], coros["state"])}


def detectors(report):
    return {f["detector"] for f in report["findings"]}


def stays(told):
    return wait_until(lambda: "the page stays at" in told.said(), "the word that the page stays")


def let_go(told, status):
    """Ctrl-C, after the run; the exit status is that of the program."""
    told.p.send_signal(signal.SIGINT)
    equal(told.p.wait(300), status, f"status: {told.said()}")
    assert "Sanitizer" not in told.said(), told.said()


def gone(server):
    try:
        server.request("")
        return False
    except OSError:
        return True


def without_slices(report):
    """Without findings about long slices: the page judges a slice when it ends, and the processor times may arrive later."""
    slices = ("blocking", "never-yielded")
    return dict(report, findings=[f for f in report["findings"] if f["detector"] not in slices])


def check_final(server, trace):
    """At the end the page is that of the finished trace."""
    page = trace + ".html"
    with open(trace + ".template", "w", encoding="utf-8") as f:
        f.write("<!--corotracer-data-->")
    equal(tool("html", "-q", "--page", f.name, "-o", page, trace)[0], 0, "status of html")
    bundle = Bundle(page)
    for name, data in bundle.raw.items():
        got = server.section(name)
        if name == "meta":  # it was polled more than once
            equal(dict(json.loads(got), tick=0), dict(bundle.meta, tick=0), "meta")
        elif name == "report":
            equal(without_slices(json.loads(got)), without_slices(json.loads(data)), "the report")
        else:
            equal(got == data, True, f"section {name} is that of the finished trace")


@test
def a_run_is_seen_while_it_goes_on(dir):
    told = Told(dir, "--serve")
    server = Server(url_of(told))
    told.tell("begin first")
    wait_shown(told, server, "first")
    stream = Stream(server, server.json("meta")["tick"])
    told.tell("begin second", "resume first")
    wait_until(lambda: names_on(server) == {"first": "running", "second": "suspended"}, "both as they are")
    told.tell("suspend first", "end second")
    wait_until(lambda: names_on(server) == {"first": "suspended", "second": "ended"}, "both as they are")
    meta = server.json("meta")
    assert meta["live"] and not meta["ended"] and meta["run"]["exit_status"] is None, meta
    wait_until(lambda: any("second" in d["strings"]["add"] for d in stream.deltas()), "the second one in the stream")
    ticks = [d["tick"] for d in stream.deltas()]
    equal(ticks, sorted(set(ticks)), "ticks")
    told.quit(7)
    stays(told)
    wait_until(stream.ended, "the end in the stream")
    meta = server.json("meta")
    assert not meta["live"] and meta["ended"], meta
    equal(meta["run"]["exit_status"], 7, "exit status on the page")
    check_final(server, told.trace)
    let_go(told, 7)
    assert gone(server)


def wait_shown(told, server, name):
    """Until the page has the coroutine; if it never does, with what is known of the run and its server."""
    last = []

    def answers():
        try:
            last[:] = [names_on(server)]
            return name in last[0]
        except (OSError, AssertionError) as e:
            last[:] = [repr(e)]
            return False
    try:
        wait_until(answers, f"the coroutine {name} on the page")
    except AssertionError as e:
        size = os.path.getsize(told.trace) if os.path.exists(told.trace) else None
        raise AssertionError(f"{e}; the last answer was {last}, the run has {told.p.poll()} as status and {size} bytes of "
                             f"trace, and said {told.said()!r}") from e


@test
def a_stall_is_found_while_it_lasts_and_a_kill_is_told(dir):
    told = Told(dir, "--serve")
    server = Server(url_of(told))
    told.tell("begin waiter", "resume waiter", "await waiter 7", "close 7")
    stream = Stream(server)
    # It waits for a closed descriptor: after a while that is a finding, without any event.
    found = wait_until(lambda: [d for d in stream.deltas() if "report" in d and d["report"]["findings"]], "a finding in the stream")
    first = next(d for d in stream.deltas() if "report" in d)
    equal(first["report"]["findings"], [], "findings at the beginning")
    equal(detectors(server.json("report")), detectors(found[0]["report"]), "findings on the page")
    os.kill(told.program(), signal.SIGKILL)
    stays(told)
    wait_until(stream.ended, "the end in the stream")
    equal(server.json("meta")["run"]["signal"], 9, "signal on the page")
    equal(stream.deltas()[-1]["meta"]["run"]["signal"], 9, "signal in the stream")
    equal(without_slices(server.json("report")), without_slices(as_in_the_page(json.loads(tool("report", "--json", told.trace)[1]))),
          "the report in the end")
    check_final(server, told.trace)
    let_go(told, -9)


@test
def a_trace_that_another_collector_writes_is_followed(dir):
    told = Told(dir, "-q")
    told.tell("begin one")
    p = popen(TOOL, "serve", "--json", told.trace)
    said = json.loads(p.stdout.readline())
    equal(said["live"], True, "live")
    server = Server(said["url"])
    wait_until(lambda: names_on(server) == {"one": "suspended"}, "what was there before")
    told.tell("spin 200000", "begin two")
    wait_shown(told, server, "two")
    told.quit()
    equal(told.p.wait(300), 0, "status of run")
    wait_until(lambda: server.json("meta")["ended"], "the end")
    equal(server.json("meta")["totals"]["transitions"], 200004, "transitions")
    check_final(server, told.trace)
    p.send_signal(signal.SIGINT)
    contains(p.communicate(timeout=300)[1], "the trace is complete")
    equal(p.returncode, 0, "status of serve")


@test
def a_killed_collector_is_the_end_of_its_trace(dir):
    told = Told(dir, "-q")
    told.tell("begin one")
    server = serve(told.trace)
    wait_shown(told, server, "one")
    told.p.kill()
    told.p.wait()
    wait_until(lambda: server.json("meta")["ended"], "the end")
    equal(names_on(server), {"one": "suspended"}, "what it showed")
    sweep(told.p)


@test
def a_flood_arrives_whole(dir):
    told = Told(dir, "--serve")
    server = Server(url_of(told))
    streams = [Stream(server) for _ in range(5)]
    told.tell("many 5000", "spin 200000")
    told.quit()
    stays(told)
    wait_until(lambda: all(s.ended() for s in streams), "the end in all streams")
    for stream in streams:
        equal(stream.deltas()[-1]["meta"]["totals"]["transitions"], 210000, "transitions")
    check_final(server, told.trace)
    let_go(told, 0)


@test
def the_program_gets_no_descriptors_but_those_of_the_sdk(dir):
    with_page, without = os.path.join(dir, "with"), os.path.join(dir, "without")
    fds = []
    for place, options in ((with_page, ("--serve",)), (without, ("-q",))):
        os.mkdir(place)
        told = Told(place, *options)
        listed = told.tell("fds")
        fds.append({line.split()[2].split(":")[0] for line in listed if "/proc/" not in line and place not in line and "/region" not in line})
        equal(sum("socket" in line for line in listed), 2, "sockets: that of the SDK, and the door of inherit.h")
        equal(sum("/region" in line for line in listed), 1, "descriptors of the region")
        told.quit()
        if options == ("--serve",):
            stays(told)
            let_go(told, 0)
        else:
            told.p.wait(300)
    equal(fds[0], fds[1], "kinds of descriptors with the page and without")


@test
def who_is_asked_to_end_does_not_stay(dir):
    told = Told(dir, "--serve")
    server = Server(url_of(told))
    told.tell("begin one")
    wait_shown(told, server, "one")
    told.p.send_signal(signal.SIGTERM)
    equal(told.p.wait(300), -signal.SIGTERM, f"status: {told.said()}")
    assert gone(server) and "the page stays" not in told.said(), told.said()


@test
def the_page_goes_with_a_collector_that_is_killed(dir):
    told = Told(dir, "--serve")
    server = Server(url_of(told))
    told.tell("begin one")
    wait_shown(told, server, "one")
    told.p.kill()
    told.p.wait()
    wait_until(lambda: gone(server), "the end of the server")
    sweep(told.p)


@test
def a_server_that_dies_harms_neither_run_nor_trace(dir):
    told = Told(dir, "--serve")
    url = url_of(told)
    told.tell("begin one")
    wait_shown(told, Server(url), "one")
    with open(f"/proc/{told.p.pid}/task/{told.p.pid}/children", encoding="ascii") as f:
        children = [int(pid) for pid in f.read().split()]
    server = [pid for pid in children if os.getpgid(pid) == pid]
    equal(len(server), 1, f"children in a group of their own: {children}")
    os.kill(server[0], signal.SIGKILL)
    told.tell("begin two", "spin 1000")
    told.quit(3)
    equal(told.p.wait(300), 3, f"status: {told.said()}")
    equal(json.loads(tool("info", "--json", told.trace)[1])["events"], 1004, "events in the trace")


@test
def a_full_disk_is_told_on_the_page(dir):
    small = os.path.join(dir, "small")
    told = Told(dir, "--serve", trace="small/t.jsonl", before=words("mkdir", small) + " && " + words("mount", "-t", "tmpfs", "-o", "size=256k", "none", small))
    wait_until(lambda: "http:" in told.said() or told.p.poll() is not None, "the server")
    if told.p.poll() is not None:
        raise Skip("no user namespaces here: " + told.said().strip())
    server = Server(url_of(told))
    told.tell("begin one", "spin 20000", "begin two")
    told.quit()
    stays(told)
    wait_until(lambda: server.json("meta")["ended"], "the end")
    totals = server.json("meta")["totals"]
    assert 0 < totals["lost"] < 20004, totals
    equal(totals["transitions"] + totals["lost"], 20004, "there and lost")
    told.p.send_signal(signal.SIGINT)
    equal(told.p.wait(300), 1, "status: the trace is not whole")


@test
def what_cannot_be_followed_is_refused_before_anything_runs(dir):
    marker, fifo = os.path.join(dir, "started"), os.path.join(dir, "fifo")
    os.mkfifo(fifo)
    for options, words in ((("-o", "-"), "has to be a file"), (("-o", fifo), "has to be a file"), (("-o", "/dev/null"), "has to be a file"),
                           (("-o", os.path.join(dir, "t.ctf")), "CTF"), (("--format", "ctf", "-o", os.path.join(dir, "d")), "CTF"),
                           (("--flight-recorder", "1M"), "flight recorder")):
        status, out, err = tool("run", "--serve", *options, "--", "touch", marker, cwd=dir)
        equal((status, out), (2, ""), f"status of {options}")
        contains(err, words)
        contains(err, "hint: ")
    for bad in ("--serve=", "--serve=x", "--serve=0", "--serve=65536"):
        equal(tool("run", bad, "--", "touch", marker, cwd=dir)[0], 2, f"status of {bad}")
    # A program that cannot be run leaves no server and no trace.
    status, _, err = tool("run", "--serve", "-o", os.path.join(dir, "t.jsonl"), "--", "/nonexistent/program")
    equal(status, 127, "status")
    contains(err, "cannot run")
    assert not os.path.exists(marker) and not os.path.exists(os.path.join(dir, "t.jsonl"))


@test
def a_ctf_trace_that_is_being_written_is_refused(dir):
    trace = os.path.join(dir, "t.ctf")
    p = popen(TOOL, "run", "-q", "-o", trace, "--", LIVE_TARGET, stdin=subprocess.PIPE, env=ENV)
    wait_until(lambda: os.path.exists(os.path.join(trace, "metadata")), "the trace")
    status, out, err = tool("serve", trace)
    equal((status, out), (1, ""), "status")
    contains(err, "still being written")
    contains(err, "hint: ")
    p.stdin.close()
    p.wait(300)
    server = serve(trace)
    equal(server.request("")[0], 200, "status once it is finished")


@test
def a_server_that_is_behind_leaves_events_out_and_reads_them_at_the_end(dir):
    trace = os.path.join(dir, "load.ct")
    collector = popen(TOOL, "run", "-q", "-o", trace, "--", LIVE_LOAD, "500", "20000", "300", "1", env=ENV)
    wait_until(lambda: os.path.exists(trace), "the trace")
    server = serve(trace)
    stream = Stream(server)
    wait_until(lambda: any(d["meta"]["totals"]["transitions"] for d in stream.deltas()), "first events")
    # What is shown is not after the moment when it is shown.
    meta = server.json("meta")
    assert int(meta["origin"]) + meta["end"] <= time.monotonic_ns(), "an end in the future"
    assert meta["end"] <= meta["stream"]["clock"], "the clock is before the end"
    # Nothing is read for longer than the two seconds that it may be behind.
    os.kill(server.p.pid, signal.SIGSTOP)
    time.sleep(3)
    os.kill(server.p.pid, signal.SIGCONT)
    left = wait_until(lambda: next((d["meta"]["stream"] for d in stream.deltas() if d["meta"]["stream"] and d["meta"]["stream"]["left_out"]), None), "events left out")
    assert left["left_out"] > 0 and left["left_out_ns"] > 0, left
    os.kill(child_called(collector.pid, "live_load"), signal.SIGTERM)
    collector.wait(300)
    wait_until(stream.ended, "the end of the stream")
    assert any(d["meta"]["stream"] and d["meta"]["stream"]["rereads"] for d in stream.deltas()), "the trace is read once more"
    final = stream.deltas()[-1]["meta"]
    _, out, _ = tool("report", "--json", trace)
    equal((final["stream"], final["totals"]["transitions"]), (None, json.loads(out)["totals"]["transitions"]), "at the end")
    check_final(server, trace)


if __name__ == "__main__":
    main()
