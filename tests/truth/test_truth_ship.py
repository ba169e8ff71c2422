# SPDX-License-Identifier: MIT
"""test_truth_ship.py - the numbers of `run --ship` and `ship`, compared with what is in the receiver and in the whole trace."""
from compact_decoder import columns_of, events_of
from ship_receiver import EVENTS, Envelope, Head, blocks_of
from truth import *

LANES = os.environ["LANES_TARGET"]
KINDS = ("shipped", "spooled", "given_up", "left_out")


def receive(dir):
    """The envelopes with blocks in a directory."""
    found = []
    for folder, _, names in os.walk(dir):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                found.append(Envelope(f.read()))
    return [e for e in found if e.block]


def sums(blocks):
    heads = [Head(b) for b in blocks]
    return {"blocks": len(heads), "transitions": sum(h.transitions for h in heads), "others": sum(h.others for h in heads),
            "bytes": sum(map(len, blocks))}


def difference(a, b):
    return {key: a[key] - b[key] for key in a}


def coroutines_of(blocks):
    ids = set()
    for b in blocks:
        if b[4] == EVENTS:
            columns, items = int.from_bytes(b[6:8], "little"), int.from_bytes(b[64:68], "little")
            ids |= {e["probe_id"] for e in events_of(columns_of(b[80:], columns), items) if "kind" in e}
    return ids


@check
def ship_counts_what_arrived_and_what_did_not(n, trace, received, damaged=()):
    """@trace is whole, @received are the envelopes that arrived, @damaged numbers of blocks that cannot be read."""
    blocks = blocks_of(trace) if isinstance(trace, str) else trace
    normal = {e.number: e for e in received if e.number < 1 << 62}
    whole = [e.block for e in received if e.number >= 1 << 62]
    # A block's bytes count as it is in the trace; its events as they were sent.
    sent, original = sums([e.block for e in normal.values()]), sums([blocks[i] for i in normal])
    left = difference(original, sent)
    n.equal_all("shipped", dict(sent, bytes=original["bytes"]))
    n.equal_all("left_out", {"transitions": left["transitions"], "others": left["others"], "bytes": 0,
                             "blocks": sum(1 for i, e in normal.items() if sums([e.block])["transitions"] != sums([blocks[i]])["transitions"]
                                           or sums([e.block])["others"] != sums([blocks[i]])["others"])})
    n.equal_all("given_up", sums([blocks[i] for i in damaged]))
    n.equal_all("spooled", sums([b for i, b in blocks.items() if i not in normal and i not in damaged]))
    n.equal_all("whole", dict(sums(whole), bytes=0))
    n.equal("whole_coroutines", len(coroutines_of(whole)))
    n.equal("sample", next(iter(normal.values())).labels["sample"] if normal else 1)


def run_ship(dir, *options, program=(LANES, "turns", 50, 200000)):
    _, _, err = tool("run", "--json", "--ship", f"file:{dir}/out", "-o", dir + "/t.ct", "--host", "h", *options, "--", *program)
    return json.loads([line for line in err.splitlines() if line.startswith("{")][0])


@test
def numbers_of_a_run_that_arrived(dir):
    s = run_ship(dir)
    n = Numbers("run --ship", s["ship"])
    ship_counts_what_arrived_and_what_did_not(n, dir + "/t.ct", receive(dir + "/out"))
    n.done()
    equal(s["collected"], n["shipped.transitions"], "collected")
    # Some blocks cannot be read any more: the second time they are given up.
    blocks = blocks_of(dir + "/t.ct")
    damaged = max(i for i, b in blocks.items() if Head(b).type == EVENTS)
    with open(dir + "/t.ct", "r+b") as f:
        f.seek(f.read().index(blocks[damaged]) + 100)
        f.write(b"damage")
    n = Numbers("ship", output_of("ship", "--json", "--again", "--host", "h2", f"file:{dir}/out", dir + "/t.ct"))
    ship_counts_what_arrived_and_what_did_not(n, blocks, receive(dir + "/out/h2"), damaged=[damaged])
    n.done()


@test
def numbers_of_a_run_that_is_spooled(dir):
    os.mkdir(dir + "/out")
    with open(dir + "/out/h", "w", encoding="utf-8"):
        pass
    s = run_ship(dir, "--ship-wait", "0.2")
    n = Numbers("run --ship", s["ship"])
    ship_counts_what_arrived_and_what_did_not(n, dir + "/t.ct", [])
    n.done()
    equal(s["collected"], n["spooled.transitions"], "collected")


@test
def numbers_of_a_sample(dir):
    s = run_ship(dir, "--sample", "4", program=(os.environ["CORPUS_BUGGY"], "deadlock"))
    n = Numbers("run --ship", s["ship"])
    ship_counts_what_arrived_and_what_did_not(n, dir + "/t.ct", receive(dir + "/out"))
    n.done()
    equal(s["collected"], sum(n[f"{kind}.transitions"] for kind in KINDS), "collected")
    assert n["whole_coroutines"] > 0 and n["left_out.transitions"] > 0, n.output
    n = Numbers("ship", output_of("ship", "--json", "--again", "--sample", "4", f"file:{dir}/again", dir + "/t.ct"))
    ship_counts_what_arrived_and_what_did_not(n, dir + "/t.ct", receive(dir + "/again"))
    n.done()


if __name__ == "__main__":
    main()
