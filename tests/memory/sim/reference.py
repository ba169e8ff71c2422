# SPDX-License-Identifier: MIT
"""reference.py - the cache model a second time, slow and plain, to compare the engine with.

Nothing here is shared with the C code: sets are lists, the directory is a search of every cache, classes are
computed from lists of lines.  Both implement docs/memory-sim.md.
"""

MASK64 = (1 << 64) - 1


class Cache:
    """Lines of one cache: {set: [line, ...]} newest first, or by place for plru and random."""

    def __init__(self, level, seed):
        self.line, self.policy = level["line"], level["policy"]
        lines = level["size"] // self.line
        self.ways = lines if level["ways"] == "full" else level["ways"]
        self.nr_sets = lines // self.ways
        self.ordered = self.policy in ("lru", "fifo", "lifo")
        self.sets = {}
        self.trees = {}
        self.dirty, self.shared, self.prefetched = set(), set(), set()
        self.random = ((seed + 1) * 0x9E3779B97F4A7C15) & MASK64 or 1
        # classes
        self.shadow, self.shadow_size = {}, lines  # a dict keeps its order: oldest first
        self.seen, self.lost = set(), set()

    def places(self, line):
        return self.sets.setdefault(line % self.nr_sets, [] if self.ordered else [None] * self.ways)

    def has(self, line):
        return line in self.places(line)

    def lines(self):
        return {line for places in self.sets.values() for line in places if line is not None}

    def tree_use(self, line, way):
        """Every node on the path points away from it."""
        bits = self.trees.setdefault(line % self.nr_sets, {})
        low, high = 0, self.ways
        while high - low > 1:
            middle = (low + high) // 2
            bits[(low, high)] = "right" if way < middle else "left"
            low, high = (low, middle) if way < middle else (middle, high)

    def tree_victim(self, line):
        bits = self.trees.setdefault(line % self.nr_sets, {})
        low, high = 0, self.ways
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if bits.get((low, high), "left") == "right" else (low, middle)
        return low

    def use(self, line):
        places = self.places(line)
        if self.policy == "lru":
            places.remove(line)
            places.insert(0, line)
        elif self.policy == "plru":
            self.tree_use(line, places.index(line))

    def insert(self, line):
        """Returns the victim, or None."""
        places = self.places(line)
        victim = None
        if self.ordered:
            if len(places) == self.ways:
                victim = places.pop(0 if self.policy == "lifo" else -1)
            places.insert(0, line)
            return victim
        if None in places:
            way = places.index(None)
        elif self.policy == "plru":
            way = self.tree_victim(line)
        else:
            r = self.random
            r ^= (r << 13) & MASK64
            r ^= r >> 7
            r ^= (r << 17) & MASK64
            self.random = r
            way = (r >> 16) % self.ways
        victim, places[way] = places[way], line
        if self.policy == "plru":
            self.tree_use(line, way)
        return victim

    def remove(self, line):
        """Returns (dirty, prefetched)."""
        places = self.places(line)
        if self.ordered:
            places.remove(line)
        else:
            places[places.index(line)] = None
        flags = line in self.dirty, line in self.prefetched
        self.forget(line)
        return flags

    def forget(self, line):
        self.dirty.discard(line)
        self.shared.discard(line)
        self.prefetched.discard(line)

    def shadow_use(self, line):
        had = line in self.shadow
        if had:
            del self.shadow[line]
        elif len(self.shadow) == self.shadow_size:
            del self.shadow[next(iter(self.shadow))]
        self.shadow[line] = True
        return had


class Machine:
    def __init__(self, config):
        self.levels = config["levels"]
        self.n = len(self.levels)
        self.cores = config.get("cores", 0) or 256
        self.seed = config.get("seed", 0)
        self.page = config.get("page", 4096)
        self.tlbs = config.get("tlb", [])
        self.caches = {}
        self.core_of, self.used = {}, []
        self.tlb_caches = {}
        self.private = 0
        for level in self.levels:
            if self.cores == 1 or level["share"] == "all" or level["share"] >= self.cores:
                break
            self.private += 1
        names = ("hits", "misses", "cold", "capacity", "conflict", "coherence", "evictions", "write_backs",
                 "writes_through", "back_invalidations", "prefetches", "prefetches_useful", "prefetches_useless",
                 "read_misses", "write_misses")
        self.counts = [dict.fromkeys(names, 0) for _ in self.levels]
        self.tlb_counts = [{"hits": 0, "misses": 0} for _ in self.tlbs]
        self.total = dict.fromkeys(("memory_reads", "memory_writes", "invalidations", "upgrades", "interventions",
                                    "dirty_transfers", "false_sharing", "true_sharing", "straddles"), 0)
        self.asked = set()  # (core, line): it got the line, and its caches have not lost it since
        self.stale = {}    # (core, line): bytes that others wrote since it lost the line
        self.lost = {}     # the same: it lost the line, and has not requested it again
        self.pending = {}  # the same: missed it, and it looks like false sharing so far

    def cache(self, core, k):
        share = self.levels[k]["share"]
        index = 0 if share == "all" else core // share
        if (k, index) not in self.caches:
            self.caches[k, index] = Cache(self.levels[k], self.seed + k * 4096 + index)
        return self.caches[k, index]

    def path(self, core):
        return [self.cache(core, k) for k in range(self.n)]

    def at(self, k, line):
        return line * self.levels[0]["line"] // self.levels[k]["line"]

    # ---- evictions

    def write_back(self, core, start, line):
        for k in range(start, self.n):
            c = self.cache(core, k)
            if c.has(self.at(k, line)):
                if self.levels[k]["write"] == "back":
                    c.dirty.add(self.at(k, line))
                    return
                self.counts[k]["writes_through"] += 1
        self.total["memory_writes"] += 1

    def evict(self, core, k, victim, dirty, prefetched, shared):
        n = self.counts[k]
        n["evictions"] += 1
        n["prefetches_useless"] += prefetched
        ratio = self.levels[k]["line"] // self.levels[0]["line"]
        if k and self.levels[k]["inclusion"] == "inclusive":
            mine = self.cache(core, k)
            for other in self.used:
                if self.cache(other, k) is not mine:
                    continue
                for j in range(k):
                    c = self.cache(other, j)
                    first = victim * self.levels[k]["line"] // self.levels[j]["line"]
                    for line in range(first, first + self.levels[k]["line"] // self.levels[j]["line"]):
                        if c.has(line):
                            was_dirty, was_prefetched = c.remove(line)
                            self.left(line)
                            n["back_invalidations"] += 1
                            self.counts[j]["prefetches_useless"] += was_prefetched
                            dirty |= was_dirty
        self.left(victim)
        n["write_backs"] += dirty
        if k + 1 < self.n and self.levels[k + 1]["inclusion"] == "exclusive":
            self.fill(core, k + 1, victim, dirty, shared, False)
        elif dirty:
            self.write_back(core, k + 1, victim * ratio)

    def fill(self, core, k, line, dirty=False, shared=False, prefetched=False):
        c = self.cache(core, k)
        victim = None
        # Two cores may evict the same line: the second did not ask for what is there already.
        if not (self.levels[k]["inclusion"] == "exclusive" and c.has(line)):
            victim = c.insert(line)
            if k < self.private:
                self.asked.add((core, line))
        flags = victim in c.dirty, victim in c.prefetched, victim in c.shared
        if victim is not None:
            c.forget(victim)
        if dirty:
            c.dirty.add(line)
        if shared:
            c.shared.add(line)
        if prefetched:
            c.prefetched.add(line)
        if victim is not None:
            self.evict(core, k, victim, *flags)

    # ---- other cores

    def common(self, a, b):
        for k in range(self.n):
            if self.cache(a, k) is self.cache(b, k):
                return k
        return self.n

    def holds(self, core, line):
        return any(self.cache(core, k).has(line) for k in range(self.private))

    def left(self, line):
        for core in self.used:
            if not self.holds(core, line):
                self.asked.discard((core, line))

    def others(self, core, line):
        return [c for c in self.used if c != core and (c, line) in self.asked]

    def ask(self, core, line, write):
        """(another core had it, dirty, the shared level, levels at which others keep it)"""
        had, dirty, common, remain = False, False, None, set()
        for other in sorted(self.others(core, line)):
            meet = self.common(core, other)
            any_here = False
            for k in range(min(meet, self.private)):
                c = self.cache(other, k)
                if not c.has(line):
                    continue
                any_here = True
                if line in c.dirty:
                    dirty, common = True, meet
                if write:
                    _, prefetched = c.remove(line)
                    self.counts[k]["prefetches_useless"] += prefetched
                    c.lost.add(line)
                else:
                    self.counts[k]["write_backs"] += line in c.dirty
                    c.dirty.discard(line)
                    c.shared.add(line)
            had |= any_here
            if write and not self.holds(other, line):
                self.asked.discard((other, line))
            if any_here and write:
                self.total["invalidations"] += 1
                self.lost[other, line] = True
                self.stale[other, line] = set()
                self.pending.pop((other, line), None)
            if any_here and not write:
                remain.update(range(meet))
        return had, dirty, common, remain

    def sharing(self, core, line, touched, write, was_lost):
        key = (core, line)
        if was_lost and self.lost.get(key):
            needed = bool(self.stale[key] & touched)
            self.total["true_sharing" if needed else "false_sharing"] += 1
            self.lost[key] = False
            self.pending[key] = not needed
        elif self.pending.get(key) and self.stale[key] & touched:
            self.total["false_sharing"] -= 1
            self.total["true_sharing"] += 1
            self.pending[key] = False
        if write:
            for (other, at), lost in self.lost.items():
                if at == line and lost:
                    self.stale[other, at] |= touched

    # ---- the path of a line

    def classify(self, c, n, line, lost):
        in_shadow = c.shadow_use(line)
        if lost:
            n["coherence"] += 1
        elif in_shadow:
            n["conflict"] += 1
        elif line in c.seen:
            n["capacity"] += 1
        else:
            c.seen.add(line)
            n["cold"] += 1

    def line_use(self, core, line, write, touched):
        many = len(self.used) > 1 and self.private > 0
        found, fills, carries, needs = [], set(), write, True
        kept, moved_dirty, was_shared, was_lost = None, False, False, False
        prefetches = []
        for k in range(self.n):
            if not (needs or carries):
                break
            level, c, n, at = self.levels[k], self.cache(core, k), self.counts[k], self.at(k, line)
            exclusive = k > 0 and level["inclusion"] == "exclusive"
            if c.has(at):
                n["hits"] += 1
                c.shadow_use(at)
                c.use(at)
                if at in c.prefetched:
                    c.prefetched.discard(at)
                    n["prefetches_useful"] += 1
                    if level["prefetch"] == "tagged":
                        prefetches.append(k)
                was_shared |= k < self.private and at in c.shared
                if carries and level["write"] == "through":
                    n["writes_through"] += 1
                elif carries:
                    c.dirty.add(at)
                    kept, carries = k, False
                elif needs and exclusive:
                    moved_dirty, _ = c.remove(at)
                    self.left(line)
                needs = False
                found.append(k)
                continue
            n["misses"] += 1
            n["write_misses" if write else "read_misses"] += 1
            lost = many and k < self.private and at in c.lost
            c.lost.discard(at)
            was_lost |= lost
            self.classify(c, n, at, lost)
            if level["prefetch"] != "none":
                prefetches.append(k)
            if not exclusive and not (carries and not level["allocate"]):
                fills.add(k)
                if carries and level["write"] == "back":
                    kept, carries = k, False
                elif carries:
                    n["writes_through"] += 1
            elif carries:
                n["writes_through"] += 1
        had, dirty, common, remain = False, False, None, set()
        if many and (0 not in found or (write and was_shared)):
            had, dirty, common, remain = self.ask(core, line, write)
            self.total["upgrades"] += write and was_shared
            for k in range(self.private if was_shared else 0):
                c = self.cache(core, k)
                c.shared.discard(line)
                if k in remain and c.has(line):
                    c.shared.add(line)
        missing = any(k > max(found, default=-1) for k in fills)
        if fills and (dirty or (had and missing)):
            self.total["interventions"] += 1
            self.total["dirty_transfers"] += dirty
        elif missing:
            self.total["memory_reads"] += 1
        for k in sorted(fills, reverse=True):
            self.fill(core, k, self.at(k, line), kept == k or (moved_dirty and k == 0),
                      k < self.private and k in remain)
        if carries:
            self.total["memory_writes"] += 1
        if dirty and (not write or kept is None or kept >= common):
            self.write_back(core, common, line)
        if self.private and 0 not in found and self.holds(core, line):
            self.asked.add((core, line))
        if many:
            self.sharing(core, line, touched, write, was_lost)
        for k in sorted(prefetches):
            self.prefetch(core, k, line)

    def prefetch(self, core, k, line):
        size = self.levels[k]["line"]
        next = self.at(k, line) + 1
        first = next * size // self.levels[0]["line"]
        if next * size // self.page != (next - 1) * size // self.page or self.cache(core, k).has(next):
            return
        if self.private and self.others(core, first):
            return
        self.counts[k]["prefetches"] += 1
        dirty = False
        for j in range(k + 1, self.n):
            c = self.cache(core, j)
            if c.has(self.at(j, first)):
                c.use(self.at(j, first))
                if self.levels[j]["inclusion"] == "exclusive":
                    dirty, _ = c.remove(self.at(j, first))
                    self.left(first)
                break
        else:
            j = self.n
            self.total["memory_reads"] += 1
        for i in range(j - 1, k - 1, -1):
            if i == k:
                self.fill(core, k, next, dirty, False, True)
            elif self.levels[i]["inclusion"] != "exclusive":
                self.fill(core, i, self.at(i, first))

    # ---- accesses

    def tlb_use(self, core, page):
        caches = self.tlb_caches.setdefault(core, [
            Cache({"line": 1, "size": t["entries"], "ways": t["ways"], "policy": "lru"}, 0) for t in self.tlbs])
        for k, c in enumerate(caches):
            if c.has(page):
                self.tlb_counts[k]["hits"] += 1
                c.use(page)
                break
            self.tlb_counts[k]["misses"] += 1
        else:
            k = len(caches)
        for c in caches[:k]:
            c.insert(page)

    def access(self, thread, address, size, write):
        if thread not in self.core_of:
            self.core_of[thread] = len(self.core_of) % self.cores
        core = self.core_of[thread]
        if core not in self.used:
            self.used.append(core)
        if size == 0:
            return
        last = min(address + size - 1, MASK64)
        length = self.levels[0]["line"]
        if self.tlbs:
            for page in range(address // self.page, last // self.page + 1):
                self.tlb_use(core, page)
        self.total["straddles"] += address // length != last // length
        for line in range(address // length, last // length + 1):
            start = line * length
            grain = max(1, length // 64)
            touched = set(range((max(address, start) - start) // grain, (min(last, start + length - 1) - start) // grain + 1))
            self.line_use(core, line, write, touched)
