# SPDX-License-Identifier: MIT
"""test_faults.py - invalid input and faults: a clear message, the right status, no damage to other processes."""
from harness import *


def in_own_mounts(script):
    """Root needs no user namespace for a private mount namespace."""
    flags = "-m" if os.geteuid() == 0 else "-rm"
    return subprocess.run(["unshare", flags, "sh", "-c", script], capture_output=True, text=True, check=False)


def refused(args, status, *texts, **kwargs):
    got, out, err = tool(*args, **kwargs)
    equal(got, status, f"status of {args}\n{err}")
    equal(out, "", "stdout")
    for text in texts:
        contains(err, text)
    assert "hint: " in err or status == 2, "no hint:\n" + err


@test
def a_number_of_stations_that_cannot_be_is_refused(dir):
    for n in ("0", "-1", "2097151", "99999999999999999999", "many", "", "12x"):
        refused(["run", "-n", n, "-o", dir + "/t", "--", "true"], 2, "for -n: expected an integer")
    refused(["-n", "0", "-cmd", "true", "-out", dir + "/t"], 2, "for -n: expected an integer")
    assert not os.path.exists(dir + "/t")


@test
def many_stations_work_and_a_place_that_is_not_there_is_refused(dir):
    refused(["run", "-n", "2097150", "--shm", "/proc/nowhere", "-o", dir + "/t", "--", "true"], 1, "/proc/nowhere")
    r = run(dir, "events", 1, 2, 0, options=["-n", 100000])
    equal(r.summary["collected"], 2, "collected")


@test
def a_region_larger_than_its_file_system_is_refused(dir):
    script = f"mount -t tmpfs -o size=1m none {dir} && exec {words(TOOL)} run -n 100000 --shm {dir}/r -o {dir}/t -- true"
    p = in_own_mounts(script)
    if "unshare:" in p.stderr or "mount:" in p.stderr:
        raise Skip("no user namespaces here: " + p.stderr.strip())
    equal(p.returncode, 1, "status")
    contains(p.stderr, "cannot reserve")
    contains(p.stderr, "fewer stations")


@test
def an_output_that_cannot_be_written_is_refused_before_the_program_runs(dir):
    ran = dir + "/ran"
    for path in (dir + "/no/such/folder/t", dir):
        got, _, err = tool("run", "-o", path, "--", "touch", ran)
        equal(got, 1, "status")
        contains(err, "cannot write the trace to")
        contains(err, "hint: ")
    assert not os.path.exists(ran), "the program ran"


@test
def a_full_disk_keeps_whole_lines_and_lets_the_program_finish(dir):
    # Only the trace and its sidecar are on the small file system, and fill it.
    script = (f"mkdir {dir}/small && mount -t tmpfs -o size=256k none {dir}/small && "
              f"{words(TOOL)} run --json -o {dir}/small/t -- "
              + words("sh", "-c", f"{words(TARGET)} events 10 4000 10; echo done > {dir}/done") +
              f"; echo status $? >&2; cp {dir}/small/t {dir}/copy; cp {dir}/small/t.meta {dir}/meta")
    p = in_own_mounts(script)
    if "unshare:" in p.stderr or "mount:" in p.stderr:
        raise Skip("no user namespaces here: " + p.stderr.strip())
    contains(p.stderr, "status 1")
    s = json.loads([line for line in p.stderr.splitlines() if line.startswith("{")][0])
    with open(dir + "/copy", encoding="ascii") as f:
        text = f.read()
    assert text.endswith("}\n"), "the last line is cut"
    lines = [json.loads(line) for line in text.splitlines()]
    equal(len(lines), s["collected"], "lines")
    equal(s["collected"] + s["lost"], 40000, "collected + lost")
    assert s["lost_output"] > 0 and "No space" in s["error"], s
    assert os.path.exists(dir + "/done"), "the program did not finish"
    with open(dir + "/meta", encoding="ascii") as f:
        totals = json.loads(f.readlines()[-1])
    equal((totals["type"], totals["collected"], totals["lost"]), ("totals", s["collected"], s["lost"]), "sidecar")


@test
def a_device_that_is_full_is_told(dir):
    r_status, _, err = tool("run", "-o", "/dev/full", "--", TARGET, "events", 1, 50, 0)
    equal(r_status, 1, "status")
    contains(err, "No space left")
    contains(err, "because the trace could not be written")


@test
def a_file_size_limit_is_told_and_lines_stay_whole(dir):
    p = subprocess.run(["bash", "-c", f"ulimit -f 300; exec {words(TOOL)} run --json -o {dir}/t -- {words(TARGET)} events 4 2000 10"],
                       capture_output=True, text=True, check=False)
    equal(p.returncode, 1, "status")
    s = json.loads([line for line in p.stderr.splitlines() if line.startswith("{")][0])
    with open(dir + "/t", encoding="ascii") as f:
        equal(len([json.loads(line) for line in f]), s["collected"], "lines")
    equal(s["written"], 8000, "written: the program went on")


@test
def a_command_that_is_not_there_is_told(dir):
    refused(["run", "-o", dir + "/t", "--", "no-such-program-here"], 127, "cannot run 'no-such-program-here'", "PATH")
    open(dir + "/plain", "w", encoding="ascii").close()
    refused(["run", "-o", dir + "/t", "--", dir + "/plain"], 126, "Permission denied", "chmod +x")
    refused(["run", "-o", dir + "/t"], 2, "no program to run")
    status, _, err = tool("run", "--json", "-o", dir + "/t", "--", "no-such-program-here")
    equal(status, 127, "status with --json")
    contains(json.loads(err)["error"], "cannot run 'no-such-program-here'")
    contains(json.loads(err)["hint"], "PATH")


@test
def paths_that_are_taken_are_refused_and_left_alone(dir):
    path = dir + "/taken"
    with open(path, "w", encoding="ascii") as f:
        f.write("precious")
    refused(["run", "--shm", path, "-o", dir + "/t", "--", "true"], 1, "another collector may be using it")
    refused(["run", "--sock", path, "-o", dir + "/t", "--", "true"], 1, "cannot listen at")
    os.symlink(path, dir + "/link")
    refused(["run", "--shm", dir + "/link", "-o", dir + "/t", "--", "true"], 1, "symbolic link")
    refused(["run", "--sock", dir + "/link", "-o", dir + "/t", "--", "true"], 1, "cannot listen at")
    os.symlink(dir + "/nowhere", dir + "/dangling")
    refused(["run", "--shm", dir + "/dangling", "-o", dir + "/t", "--", "true"], 1, "symbolic link")
    with open(path, encoding="ascii") as f:
        equal(f.read(), "precious", "the file that was there")
    assert not os.path.exists(dir + "/nowhere")


@test
def a_path_of_another_user_is_refused(dir):
    if os.geteuid() != 0:
        raise Skip("only root can make a file of another user's")
    path = dir + "/theirs"
    open(path, "w", encoding="ascii").close()
    os.chown(path, 65534, 65534)
    refused(["run", "--shm", path, "-o", dir + "/t", "--", "true"], 1, "belongs to user 65534")


@test
def a_socket_path_that_is_too_long_is_refused(dir):
    refused(["run", "--sock", dir + "/" + "x" * 120, "-o", dir + "/t", "--", "true"], 1, "bytes long", "shorter path")


@test
def two_collectors_on_the_same_paths_do_not_disturb_each_other(dir):
    shm, sock = dir + "/r", dir + "/s"
    p = popen(TOOL, "run", "--json", "--shm", shm, "--sock", sock, "-o", dir + "/a", "--", TARGET, "events", 2, 100, 2000)
    wait_until(lambda: os.path.exists(sock), "the first collector")
    refused(["run", "--shm", shm, "--sock", sock, "-o", dir + "/b", "--", "true"], 1, "another collector may be using it")
    refused(["run", "--sock", sock, "-o", dir + "/b", "--", "true"], 1, "another collector may be using it")
    _, err = p.communicate(timeout=300)
    equal(json.loads(err.splitlines()[-1])["collected"], 200, "collected by the first")
    assert not os.path.exists(shm) and not os.path.exists(sock), "left behind"


@test
def region_and_socket_are_private(dir):
    show = 'stat -c %a "$CTP_SHM_PATH" "$CTP_SOCK_PATH" "$(dirname "$CTP_SHM_PATH")"'
    _, out, _ = tool("run", "-o", dir + "/t", "--", "sh", "-c", show)
    equal(out.split(), ["600", "600", "700"], "modes")


@test
def a_connection_of_another_user_is_refused(dir):
    if os.geteuid() != 0:
        raise Skip("only root can become another user")
    knock = ("import os, socket\n"
             "s = socket.socket(socket.AF_UNIX)\n"
             "os.chmod(os.path.dirname(os.environ['CTP_SOCK_PATH']), 0o777)\n"
             "os.chmod(os.environ['CTP_SOCK_PATH'], 0o777)\n"
             "os.setuid(65534)\n"
             "s.connect(os.environ['CTP_SOCK_PATH'])\n"
             "s.settimeout(60)\n"
             "try:\n"
             "    s.recv(1)\n"  # until the collector has closed the connection
             "except OSError:\n"
             "    pass\n")
    _, _, err = tool("run", "--json", "-o", dir + "/t", "--", sys.executable, "-c", knock)
    s = json.loads(err.splitlines()[-1])
    equal((s["refused"], s["connected"]), (1, 0), "refused, connected")


@test
def random_bytes_all_over_the_region_are_survived_and_counted(dir):
    for seed, env in ((1, STATIONS_ONLY), (2, STATIONS_ONLY), (3, None), (4, None), (5, None)):
        r = run(dir, "scribble", seed, 300, options=["-n", 64, "--buffer", "1M"], env=env)
        equal(r.status, 0, "status")
        s = r.summary
        assert s["garbage"] > 0, s
        equal(s["collected"] + s["lost"], s["written"], "collected + lost")
        equal(len(r.events), s["collected"], "events in the file")
        # Some have only a create event left: their lives were overwritten.
        for c in [c for c in r.coroutines() if "written" in c]:
            equal(c["collected"] + c["lost"], c["written"], "collected + lost of one")
            assert c["written"] < 1 << 40, c
        equal(tool("info", r.trace)[0], 0, "status of info: the reader believes what the collector did")


@test
def a_wild_count_of_coroutines_is_not_believed(dir):
    r = run(dir, "wild-count")
    equal((r.summary["coroutines"], r.summary["collected"], r.summary["without_station"]), (4, 32, 0), "counts")
    equal(r.summary["wild_count"], True, "wild_count")


@test
def a_slot_left_half_written_is_counted_and_harms_nothing(dir):
    r = run(dir, "stuck-odd", env=STATIONS_ONLY)
    equal((r.summary["collected"], r.summary["unfinished"]), (5, 1), "collected, unfinished")


@test
def a_region_cut_short_under_us_is_survived_and_told(dir):
    r = run(dir, "truncate", options=["-n", 64])
    equal(r.status, 0, "status")
    equal(r.summary["region_shrunk"], True, "region_shrunk")
    equal(r.summary["collected"], 32, "collected before it")


@test
def commands_and_options_that_are_not_there_are_told(dir):
    refused(["frobnicate"], 2, "unknown command 'frobnicate'", "corotracer help")
    refused(["run", "--frobnicate"], 2, "unknown option '--frobnicate'")
    refused(["run", "-Z"], 2, "unknown option '-Z'")
    refused(["run", "-o"], 2, "no value after '-o'")
    refused(["run", "--quiet=1", "true"], 2, "no value is allowed for")
    refused(["collect", "word"], 2, "unexpected argument")
    refused(["help", "frobnicate"], 2, "unknown command")
    refused(["help", "mem", "frobnicate"], 2, "unknown command 'mem frobnicate'", "corotracer help mem")


@test
def a_mistyped_word_is_answered_with_the_nearest_one(dir):
    for words, meant in ((["repport"], "'report'"), (["ino"], "'info'"), (["snap"], "'snapshot'"), (["hlep"], "'help'"),
                         (["mem", "lyaout"], "'mem layout'"), (["report", "--fail-no", "all"], "'--fail-on'"),
                         (["run", "--jsn", "true"], "'--json'")):
        refused(words, 2, "unknown", f"did you mean {meant}?")
    for words in (["xyzzy"], ["r"], ["report", "--x"], ["a" * 5000], ["report", "--" + "j" * 5000]):
        status, _, err = tool(*words)
        equal(status, 2, f"status of {words[-1][:9]}")
        equal("did you mean" in err, False, f"a guess for {words[-1][:9]}")


@test
def text_that_does_not_arrive_is_a_failure(dir):
    for words in (["help"], ["help", "run"], ["version"], ["--completion"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            p = subprocess.run([TOOL, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=240, check=False)
        equal(p.returncode, 1, f"status of {words}")
        contains(p.stderr, "cannot write to standard output: ")


if __name__ == "__main__":
    main()
