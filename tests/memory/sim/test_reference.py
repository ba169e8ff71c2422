#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_reference.py - the engine compared with an independent reference, on random traces."""
import itertools
import os
import random

from simulate import equal, level, main, result, test
from reference import Machine

FULL = os.environ.get("COROTRACER_FULL") == "1"
ROUNDS = int(os.environ.get("SIM_ROUNDS", "5" if FULL else "1"))
NR = 1500 if FULL else 400  # accesses of most traces
MORE = 2000 if FULL else 700  # of those of larger caches

# Each run is a process, which starts slowly under a sanitizer: there every fifth machine is simulated.
# The inner axes have 2, 3 or 4 values: in steps of 5 all of them come up.
STEP = 5 if os.environ.get("SANITIZE") and ROUNDS == 1 else 1


def product(*axes):
    return list(itertools.product(*axes))[::STEP]


def trace(rng, nr, threads, lines, line=64):
    """Walks, jumps and a few hot lines; some accesses straddle."""
    out, at = [], [rng.randrange(lines) * line for _ in range(threads)]
    for _ in range(nr):
        t = rng.randrange(threads)
        kind = rng.random()
        if kind < 0.4:
            at[t] += rng.choice((4, 8, 64))
        elif kind < 0.7:
            at[t] = rng.randrange(lines) * line + rng.randrange(line)
        else:
            at[t] = rng.randrange(4) * line + 8 * t
        out.append((100 + t, 0x10000 + at[t] % (lines * line), rng.choice((1, 4, 8, 8, 16, 200)), rng.random() < 0.4))
    return out


def compare(dir, config, accesses, what):
    got = result(dir, config, accesses)
    ref = Machine(config)
    for a in accesses:
        ref.access(*a)
    for k, (mine, theirs) in enumerate(zip(ref.counts, got["levels"])):
        for key, value in mine.items():
            equal(theirs[key], value, f"{what}: level {k}: {key}")
    for mine, theirs in zip(ref.tlb_counts, got["tlb"]):
        equal((theirs["hits"], theirs["misses"]), (mine["hits"], mine["misses"]), f"{what}: TLB")
    told = dict(got["coherence"], memory_reads=got["memory"]["reads"], memory_writes=got["memory"]["writes"],
                straddles=got["straddles"])
    for key, value in ref.total.items():
        equal(told[key], value, f"{what}: {key}")
    equal(told["unknown_sharing"], 0, f"{what}: unknown")
    return got


@test
def every_policy_of_replacement_and_writing(dir):
    rng = random.Random(1)
    for policy, write, allocate, inclusion in product(
            ("lru", "plru", "fifo", "lifo", "random"), ("back", "through"), (True, False), ("non-inclusive", "inclusive")):
        config = {"levels": [level(1024, 4, policy=policy, write=write, allocate=allocate),
                             level(2048, 8, policy=policy, inclusion=inclusion, share="all",
                                   write=rng.choice(("back", "through")), allocate=rng.random() < 0.7)],
                  "cores": 1, "seed": rng.randrange(100)}
        for _ in range(ROUNDS):
            compare(dir, config, trace(rng, NR, 1, 100), f"{policy} {write} {allocate} {inclusion} {config}")


@test
def exclusive_levels(dir):
    rng = random.Random(2)
    for policy, third in product(("lru", "plru", "fifo", "lifo", "random"),
                                           ("non-inclusive", "inclusive", "exclusive", None)):
        levels = [level(512, 2, policy=policy), level(1024, 4, policy=policy, inclusion="exclusive")]
        if third:
            levels.append(level(4096, 8, policy=policy, inclusion=third))
        for cores in (1, 3):
            compare(dir, {"levels": levels, "cores": cores}, trace(rng, NR, 4, 120), f"{policy} {third} {cores}")


@test
def cores_of_their_own_and_shared_levels(dir):
    rng = random.Random(3)
    shares = ((1, "all"), (1, 1), (1, 2, "all"), (1, 2, 4), (2, "all"), (2, 4, "all"), ("all",), (1, 1, "all"))
    for i, (share, inclusion, write) in enumerate(product(shares, ("non-inclusive", "inclusive", "exclusive"), ("back", "through"))):
        levels = [level(512 << (2 * k), 4, share=s, inclusion=inclusion if k else "non-inclusive",
                        write=write if inclusion != "exclusive" else "back",
                        allocate=inclusion == "exclusive" or rng.random() < 0.8) for k, s in enumerate(share)]
        # Without COROTRACER_FULL=1 one number of cores and of lines, which alternate: with each way of sharing all four come up.
        # The traces are the same.
        for k, (cores, lines) in enumerate(itertools.product((2, 5), (12, 100))):
            accesses = trace(rng, 900, 6, lines)
            if FULL or k == (i + i // 6) % 4:
                compare(dir, {"levels": levels, "cores": cores}, accesses if FULL else accesses[:600], f"{share} {inclusion} {write} {cores} {lines}")


@test
def a_line_that_two_cores_evict_is_lost_by_the_one_that_asked_for_it(dir):
    """Cores 0 and 1 share the first cache.  Core 0 evicts a line of core 1 that the second one has already; core 4 writes to it."""
    levels = [level(512 << (2 * k), 4, share=s, inclusion="exclusive" if k else "non-inclusive") for k, s in enumerate((2, 4, "all"))]
    accesses = [(100, 0x100C0, 1, False), (102, 0x10044, 200, False), (103, 0x100D8, 8, False), (105, 0x11804, 16, True),
                (104, 0x11109, 8, True), (103, 0x10113, 4, True), (102, 0x10050, 200, False), (103, 0x104EC, 200, True),
                (100, 0x10BB2, 8, True), (103, 0x10D0B, 8, True), (103, 0x10098, 8, True), (100, 0x112A0, 1, False),
                (100, 0x10216, 4, False), (101, 0x1000C, 16, False), (104, 0x100E0, 200, True), (102, 0x10050, 200, True)]
    got = compare(dir, {"levels": levels, "cores": 5}, accesses, "a line of two cores")
    equal(got["coherence"]["true_sharing"], 3, "true sharing")


@test
def prefetch(dir):
    rng = random.Random(4)
    for first, second, inclusion, cores in product(("none", "next-line", "tagged"), ("none", "next-line", "tagged"),
                                                   ("non-inclusive", "inclusive", "exclusive"), (1, 2)):
        if inclusion == "exclusive" and second != "none":
            continue
        levels = [level(1024, 4, prefetch=first), level(4096, 8, prefetch=second, inclusion=inclusion, share="all")]
        got = compare(dir, {"levels": levels, "cores": cores}, trace(rng, NR, 2, 150), f"{first} {second} {inclusion}")
        if first != "none":
            assert got["levels"][0]["prefetches_useful"] > 0, got["levels"][0]


@test
def odd_numbers_of_sets_and_lines_of_different_length(dir):
    rng = random.Random(5)
    compare(dir, {"levels": [level(3 * 4 * 64, 4), level(5 * 3 * 64 * 4, 3, share="all")], "cores": 2},
            trace(rng, MORE, 2, 150), "3 and 20 sets")
    compare(dir, {"levels": [level(12 * 64, 12), level(20 * 64 * 7, 20, share="all")]}, trace(rng, MORE, 2, 250), "12, 20 ways")
    for inclusion in ("non-inclusive", "inclusive"):
        compare(dir, {"levels": [level(1024, 4, line=32), level(4096, 8, line=128, inclusion=inclusion, share="all")],
                      "cores": 1}, trace(rng, MORE, 2, 150), f"lines of 32 and 128, {inclusion}")
        compare(dir, {"levels": [level(512, 4), level(4096, 8, line=256, inclusion=inclusion, share="all")],
                      "cores": 3}, trace(rng, MORE, 3, 150), f"a shared level with longer lines, {inclusion}")
    compare(dir, {"levels": [level(8192, 4, line=256), level(32768, 8, line=256, share="all")], "cores": 3},
            trace(rng, MORE, 3, 60, 256), "lines of 256")


@test
def fully_associative_of_any_size(dir):
    rng = random.Random(6)
    for policy in ("lru", "fifo", "lifo", "random"):
        for lines in (1, 7, 64, 65, 100):
            compare(dir, {"levels": [level(lines * 64, "full", policy=policy)], "cores": 1},
                    trace(rng, MORE, 1, 130), f"{policy}, {lines} lines")
    for policy in ("lru", "fifo", "lifo"):
        compare(dir, {"levels": [level(80 * 64, "full", policy=policy), level(200 * 64, "full", policy=policy, share="all")]},
                trace(rng, MORE, 3, 250), f"{policy}, of three cores")


@test
def tlbs(dir):
    rng = random.Random(7)
    config = {"levels": [level(1024, 4)], "tlb": [{"entries": 4, "ways": 2}, {"entries": 16, "ways": "full"}], "page": 4096,
              "cores": 2}
    compare(dir, config, trace(rng, 4000, 3, 3000), "two TLBs")


@test
def the_whole_address_space(dir):
    rng = random.Random(8)
    ends = (0, 1, 63, (1 << 64) - 1, (1 << 64) - 64, 1 << 63, (1 << 63) - 1)
    accesses = [(1, rng.choice(ends), rng.choice((0, 1, 8, 255)), rng.random() < 0.5) for _ in range(300)]
    compare(dir, {"levels": [level(512, 2, line=32, prefetch="tagged"), level(2048, 4, line=32, share="all")], "cores": 1},
            accesses, "ends of memory")


if __name__ == "__main__":
    main()
