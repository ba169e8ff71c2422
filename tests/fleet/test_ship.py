# SPDX-License-Identifier: MIT
"""test_ship.py - blocks of a trace arrive once, or are counted as spooled or given up; nothing waits for the receiver."""
import glob
import shutil
import struct

from compact_decoder import columns_of, events_of
from harness import *
from ship_receiver import *
from ship_runs import *


WHOLE_FIRST = 1 << 62


def blocked_receiver(dir):
    """A file is where the directory of the host has to be: nothing can be written."""
    os.makedirs(dir + "/out", exist_ok=True)
    with open(dir + "/out/h1", "w", encoding="utf-8"):
        pass
    return f"file:{dir}/out"


def unblock_receiver(dir):
    os.unlink(dir + "/out/h1")


@test
def all_blocks_arrive_as_they_are_in_the_trace(dir):
    r = run_ship(dir, f"file:{dir}/out", "-o", dir + "/t.ct", "--service", "shop", "--region", "eu", "--version-label", "1.2", "--host", "h1")
    equal(r.status, 0, r.err)
    s = r.summary
    check_account(s)
    (run, got), = shipped_files(dir + "/out").items()
    equal(run, s["ship"]["run"], "run")
    equal(got.blocks, blocks_of(dir + "/t.ct"), "blocks")
    check_arrived(got, s["ship"]["shipped"], "by the summary")
    equal([got.labels[k] for k in ("service", "region", "version", "host", "sample")], ["shop", "eu", "1.2", "h1", 1], "labels")
    assert len(got.labels["build"]) >= 16, got.labels
    equal([got.final[k] for k in ("written", "collected", "lost", "blocks", "given_up_blocks", "ended")],
          [200000, 200000, 0, len(got.blocks), 0, True], "account")
    equal(got.final["others_collected"], s["others"]["collected"], "others in the account")
    # The second time there is nothing to do; as another run it arrives again.
    r, (again,) = ship(f"file:{dir}/out", dir + "/t.ct")
    equal((r.status, again["shipped"], again["finished"]), (0, s["ship"]["shipped"], True), "the second time")
    equal(len(shipped_files(dir + "/out")), 1, "runs after the second time")
    equal(ship("--again", f"file:{dir}/out", dir + "/t.ct")[0].status, 0, "ship --again")
    equal(len(shipped_files(dir + "/out")), 2, "runs after ship --again")


@test
def a_spool_disappears_when_all_has_arrived(dir):
    r = run_ship(dir, f"file:{dir}/out", "--host", "h1")
    equal((r.status, os.listdir(dir + "/state/corotracer/spool")), (0, []), "status and spool")
    check_account(r.summary)
    (got,) = shipped_files(dir + "/out").values()
    equal(got.transitions(), 200000, "transitions that the program wrote")
    equal(sorted(got.blocks), list(range(len(got.blocks))), "numbers of blocks")
    assert glob.glob(dir + "/out/h1/*"), os.listdir(dir + "/out")


@test
def what_a_receiver_refuses_is_spooled_and_sent_later(dir):
    r = run_ship(dir, blocked_receiver(dir), "--host", "h1", "--ship-wait", "0.5")
    equal(r.status, 0, r.err)
    s = r.summary
    check_account(s)
    equal((s["ship"]["shipped"]["blocks"], s["ship"]["spooled"]["transitions"]), (0, 200000), "shipped blocks and spooled transitions")
    contains(r.err, "cannot make directory")
    (spool,) = spools(dir)
    equal(s["ship"]["trace"], spool, "the spool in the summary")
    # Still away: exit status 1, and nothing is lost.
    r, (away,) = ship("--wait", "0.2", f"file:{dir}/out", spool)
    equal((r.status, away["spooled"]), (1, s["ship"]["spooled"]), "while the receiver is away")
    unblock_receiver(dir)
    r, (sent,) = ship("--remove", f"file:{dir}/out", spool)
    equal((r.status, sent["spooled"]["blocks"], sent["shipped"]), (0, 0, s["ship"]["spooled"]), r.err)
    (got,) = shipped_files(dir + "/out").values()
    check_arrived(got, sent["shipped"], "later")
    equal((got.final["written"], got.final["collected"], got.final["ended"]), (200000, 200000, True), "account")
    equal(os.listdir(dir + "/state/corotracer/spool"), [], "spool after --remove")


@test
def a_full_spool_gives_up_the_oldest_blocks_and_counts_them(dir):
    program = (LANES, "wander", 4, 2000, 5000000)
    r = run_ship(dir, blocked_receiver(dir), "--host", "h1", "--ship-wait", "0.5", "--spool-size", "1M", "--fail-on-loss", program=program)
    s = r.summary
    check_account(s)
    given, spooled = s["ship"]["given_up"], s["ship"]["spooled"]
    assert given["blocks"] > 0 and spooled["bytes"] <= 1 << 20, s["ship"]
    equal(r.status, 1, "--fail-on-loss")
    (spool,) = spools(dir)
    used = os.stat(spool).st_blocks * 512
    assert used <= (1 << 20) + (256 << 10), f"the spool has {used} bytes on the disk"
    unblock_receiver(dir)
    equal(ship(f"file:{dir}/out", spool)[0].status, 0, "ship")
    (got,) = shipped_files(dir + "/out").values()
    f = got.final
    equal((f["given_up_transitions"], f["given_up_others"], f["given_up_blocks"]), tuple(given[k] for k in ("transitions", "others", "blocks")),
          "given up, in the account")
    check_final(got)
    # The newest arrive, and no fact is missing: events refer to them.
    missing = sorted(set(range(f["blocks"])) - set(got.blocks))
    assert missing[-1] < max(n for n, h in got.heads.items() if h.type == EVENTS), missing
    assert 0 in got.blocks, sorted(got.blocks)


@test
def a_killed_shipper_goes_on_where_it_stopped(dir):
    r = run_ship(dir, blocked_receiver(dir), "--host", "h1", "--ship-wait", "0.2")
    (spool,) = spools(dir)
    unblock_receiver(dir)
    # Half of the blocks arrive: then a directory is where the next one has to be.
    run = state_of(spool)["labels"]["run"]
    os.makedirs(f"{dir}/out/h1/{run}/{3:020}.ctblock/x")
    r, (half,) = ship("--wait", "0.2", f"file:{dir}/out", spool)
    equal((r.status, half["shipped"]["blocks"]), (1, 3), r.err)
    shutil.rmtree(f"{dir}/out/h1/{run}/{3:020}.ctblock")
    os.unlink(f"{dir}/out/h1/{run}/{0:020}.ctblock") # it has arrived: it is not sent again
    r, (all_,) = ship(f"file:{dir}/out", spool)
    equal((r.status, all_["shipped"]["transitions"]), (0, 200000), r.err)
    (got,) = shipped_files(dir + "/out").values()
    assert 0 not in got.blocks and 3 in got.blocks, sorted(got.blocks)


@test
def a_spool_that_was_left_is_sent_by_the_next_run(dir):
    r = run_ship(dir, blocked_receiver(dir), "--host", "h1", "--ship-wait", "0.2")
    left = r.summary["ship"]["run"]
    r = run_ship(dir, f"file:{dir}/out", "--host", "h1", "--ship-wait", "0.2", program=(LANES, "wander", 4, 2000, 1000000))
    newer = r.summary["ship"]["run"]
    equal(len(spools(dir)), 2, "spools")
    unblock_receiver(dir)
    # Both do not fit: the oldest is given up, and accounts for it.
    p = start_ship(dir, f"file:{dir}/out", "--host", "h1", "--spool-size", "2M", program=(LANES, "endless", 5))

    def accounts():
        runs = shipped_files(dir + "/out")
        return {run for run, got in runs.items() if got.final} >= {left, newer} and runs
    runs = wait_until(accounts, "the accounts of both runs")
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=240)
    check_final(runs[left])
    check_final(runs[newer])
    equal((runs[left].final["written"], runs[newer].final["given_up_blocks"]), (200000, 0), "written, given up")
    wait_until(lambda: not spools(dir), "spools that are removed")


@test
def a_full_disk_loses_events_of_the_spool_and_counts_them(dir):
    if os.geteuid():
        raise Skip("only root may mount")
    command = words(TOOL, "run", "--json", "--ship", f"file:{dir}/out", "--spool", dir + "/small", "--host", "h1", "--", LANES, "turns", 1000, 2000000)
    p = popen("unshare", "-m", "sh", "-c", f"mkdir {dir}/small && mount -t tmpfs -o size=300k none {dir}/small && {command}")
    s = Run(0, *p.communicate(timeout=240), None).summary
    assert s["lost_output"] > 0, s
    check_account(s)
    (got,) = shipped_files(dir + "/out").values()
    check_arrived(got, s["ship"]["shipped"], "with a full disk")
    equal((got.final["written"], got.final["lost"]), (s["written"], s["lost"]), "account")
    equal(s["ship"]["finished"], True, "finished")


@test
def damaged_blocks_are_counted_as_given_up(dir):
    equal(popen(TOOL, "run", "-q", "-o", dir + "/t.ct", "--", LANES, "turns", 50, 500000).wait(timeout=240), 0, "run")
    blocks = blocks_of(dir + "/t.ct")
    number = max(n for n, b in blocks.items() if Head(b).type == EVENTS)
    with open(dir + "/t.ct", "r+b") as f:
        data = f.read()
        f.seek(data.index(blocks[number]) + 200)
        f.write(b"damage")
    r, (s,) = ship("--host", "h1", f"file:{dir}/out", dir + "/t.ct")
    equal((r.status, s["given_up"]["blocks"], s["given_up"]["transitions"]), (0, 1, Head(blocks[number]).transitions), r.err)
    (got,) = shipped_files(dir + "/out").values()
    equal(got.transitions() + got.final["given_up_transitions"], got.final["collected"], "account")


@test
def every_snapshot_of_a_flight_recorder_is_a_run(dir):
    p = popen(TOOL, "run", "--json", "--ship", f"file:{dir}/out", "--flight-recorder", "1M", "-o", dir + "/f.ct", "--", LANES, "endless", 20)
    equal(p.stderr.readline(), "ready\n", "the program")
    p.send_signal(signal.SIGUSR2)
    wait_until(lambda: shipped_files(dir + "/out"), "the first snapshot")
    p.send_signal(signal.SIGTERM)
    _, err = p.communicate(timeout=240)
    runs = shipped_files(dir + "/out")
    equal(len(runs), 2, err)
    for got in runs.values():
        equal(got.transitions(), got.final["collected"], "collected")
    s = Run(0, "", err, None).summary["ship"]
    equal(s["shipped"]["transitions"], sum(got.transitions() for got in runs.values()), "transitions of both")
    equal([f for f in os.listdir(dir) if "spool" in f], [], "files that are left")


@test
def serve_ships_the_trace_that_it_shows(dir):
    equal(popen(TOOL, "run", "-q", "-o", dir + "/t.ct", "--", LANES, "turns", 50, 100000).wait(timeout=240), 0, "run")
    p = popen(TOOL, "serve", "--json", "--ship", f"file:{dir}/out", dir + "/t.ct")
    p.stdout.readline()
    wait_until(lambda: any(got.final for got in shipped_files(dir + "/out").values()), "the account")
    p.send_signal(signal.SIGTERM)
    equal(p.wait(timeout=240), 0, "status")
    (got,) = shipped_files(dir + "/out").values()
    equal(got.blocks, blocks_of(dir + "/t.ct"), "blocks")


def splitmix64(x):
    mask = (1 << 64) - 1
    x = (x + 0x9e3779b97f4a7c15) & mask
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & mask
    x = (x ^ x >> 27) * 0x94d049bb133111eb & mask
    return x ^ x >> 31


def events_by_coroutine(blocks):
    """What a decoder that knows nothing of sampling reads from these blocks."""
    by_id = {}
    for block in blocks:
        if block[4] == EVENTS:
            columns, items = struct.unpack_from("<H", block, 6)[0], struct.unpack_from("<I", block, 64)[0]
            for event in events_of(columns_of(block[80:], columns), items):
                if "kind" in event:
                    by_id.setdefault(event["probe_id"], []).append(event)
    return by_id


@test
def a_sample_has_whole_lives_and_every_coroutine_with_a_finding(dir):
    r = run_ship(dir, f"file:{dir}/out", "-o", dir + "/t.ct", "--sample", "4", program=(os.environ["CORPUS_BUGGY"], "deadlock"))
    s = r.summary
    ship_ = s["ship"]
    equal(s["collected"], sum(ship_[part]["transitions"] for part in ("shipped", "spooled", "given_up", "left_out")), "collected transitions")
    every = events_by_coroutine(blocks_of(dir + "/t.ct").values())
    chosen = {i for i in every if splitmix64(i) % 4 == 0}
    assert 0 < len(chosen) < len(every), (len(chosen), len(every))
    envelopes = [e for run in glob.glob(dir + "/out/*/*/*") for e in [Envelope(open(run, "rb").read())]]
    normal = [e for e in envelopes if e.number < WHOLE_FIRST and e.block]
    whole = [e for e in envelopes if e.number >= WHOLE_FIRST]
    equal({e.labels["sample"] for e in normal}, {4}, "rate of the sample")
    equal({e.labels["sample"] for e in whole}, {1}, "rate of coroutines with findings")
    got = events_by_coroutine(e.block for e in sorted(normal, key=lambda e: e.number))
    equal(got, {i: every[i] for i in chosen}, "the sample")
    equal(sum(len(events) for events in got.values()), ship_["shipped"]["transitions"] + ship_["shipped"]["others"], "events of the sample")
    found = {c["probe_id"] for f in json.loads(tool("report", "--json", dir + "/t.ct")[1])["findings"]
             if f["fault"] for c in f["coroutines"]} - chosen
    got = events_by_coroutine(e.block for e in sorted(whole, key=lambda e: e.number))
    assert found and found <= set(got), (found, set(got))
    equal(got, {i: every[i] for i in got}, "coroutines with findings")
    equal((ship_["whole"]["blocks"], ship_["whole_coroutines"]), (len(whole), len(got)), "whole coroutines")
    (final,) = [e.labels["final"] for e in envelopes if "final" in e.labels]
    equal(final["left_out_transitions"], ship_["left_out"]["transitions"], "left out, in the account")
    equal(final["whole_blocks"], len(whole), "further blocks, in the account")


@test
def wrong_uses_are_refused_with_a_hint(dir):
    for args, text in (
            (["run", "--ship", "file:x", "-o", "t.jsonl", "--", "true"], "-o FILE.ct"),
            (["run", "--ship", "file:x", "-o", "-", "--", "true"], "-o FILE.ct"),
            (["run", "--ship", "file:x", "--check", "--", "true"], "-o FILE.ct"),
            (["run", "--ship", "kafka://u:secret@h", "--", "true"], "nats://HOST"),
            (["run", "--ship", "nats://u:secret@", "--", "true"], "nats://[USER"),
            (["run", "--ship", "file:", "--", "true"], "file:/"),
            (["run", "--ship", "file:x", "--flight-recorder", "1M", "--", "true"], "-o FILE.ct"),
            (["run", "--ship", "file:x", "--service", "s" * 300, "--", "true"], "at most"),
            (["ship", "file:x"], "FILE.ct"),
            (["ship"], "URL")):
        p = popen(TOOL, *args, cwd=dir)
        _, err = p.communicate(timeout=240)
        equal(p.returncode, 2, f"status of {args}: {err}")
        contains(err, text)
        assert "secret" not in err, err
    p = popen(TOOL, "ship", f"file:{dir}/out", "/dev/null")
    contains(p.communicate(timeout=240)[1], "not a compact trace")


@test
def a_signal_ends_a_wait_for_the_receiver(dir):
    trace = dir + "/t.ct"
    equal(run_ship(dir, f"file:{dir}/first", "-o", trace, "--host", "h1", program=(LANES, "wander", 4, 20, 10)).status, 0, "status of run")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        p = popen(TOOL, "ship", "--again", "--wait", "600", "--host", "h1", blocked_receiver(dir), trace)
        contains(p.stderr.readline(), "cannot")
        p.send_signal(number)
        _, err = p.communicate(timeout=20)
        equal(p.returncode, 1, f"status after {number}: {err}")
        contains(err, "still to be sent")


main()
