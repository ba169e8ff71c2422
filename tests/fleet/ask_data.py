# SPDX-License-Identifier: MIT
"""ask_data.py - rows of a fleet whose answers are known, computed in Python.

40 hosts run two builds of the service `api`, three of them with a bug: 101 waits each at `queue.c:77 queue_pop`
never end.  A second service, `web`, is sampled 1 in 10.  The same seed gives the same rows, but for their times.
"""
import math
import random
import time

NS = 1_000_000_000
HALF = 1800  # seconds that each build ran
START = int(time.time()) // 600 * 600 - 3 * HALF  # seconds since 1970: tables drop rows that are too old
BUILDS = (("a1" * 20, "v1.0"), ("b2" * 20, "v1.1"))
SITES = {
    11: ("server.c", 10, "accept_loop"),
    12: ("server.c", 55, "read_request"),
    13: ("db.c", 120, "db_query"),
    14: ("queue.c", 77, "queue_pop"),
    15: ("cache.c", 31, "cache_get"),
    16: ("old.c", 9, "only_in_base"),
    17: ("new.c", 9, "only_in_head"),
    18: ("log'.c", 5, "it's \\ \"quoted\"\ttab"),
    (1 << 63) + 5: ("wake.c", 3, "wake_all"),
}
WAKE_SITE = (1 << 63) + 5
LOST_SITE = 14
LOST_HOSTS = ("host03", "host17", "host31")
LOST_EACH = 101
STATES = {"resumed": 0, "woken": 1, "open": 2, "closed": 3, "lost": 4}
REASONS = {"unknown": 0, "io-read": 1, "accept": 3, "mutex": 6, "channel-recv": 9}
# Typical wait in ns of each site, by build; None: not in that build.
TYPICAL = {12: (200_000, 200_000), 13: (1_000_000, 4_000_000), 14: (50_000, 50_000), 15: (30_000, 10_000),
           16: (10_000, None), 17: (None, 10_000), 18: (500_000, 500_000)}


def name(site):
    if site == 0:
        return "(unknown site)"
    if site not in SITES:
        return f"site {site:x}"
    file, line, function = SITES[site]
    return f"{file}:{line} {function}"


class Fleet:
    """Lists of dicts, one for each row of the tables `waits`, `runs` and `findings`."""

    def __init__(self, hosts=40, each=6, seed=20):
        self.random = random.Random(seed)
        self.waits, self.runs, self.findings = [], [], []
        for number in range(hosts):
            for which in range(2):
                self.add_run("api", f"host{number:02}", which, each)
        self.add_run("web", "host90", 0, each, sample=10)
        self.runs[0].update(given_up=500, lost=20, collected=self.runs[0]["collected"] + 500)
        self.runs[1].update(complete=0, written=0, collected=0)
        self.add_findings()

    def add_run(self, service, host, which, each, sample=1):
        build, version = BUILDS[which]
        begin = (START + which * HALF) * NS
        end = begin + HALF * NS
        run = f"{self.random.getrandbits(128):032x}"
        labels = dict(service=service, build=build, version=version, host=host, region="eu", run=run, sample=sample)
        first = len(self.waits)
        for site, typical in TYPICAL.items():
            if typical[which] is not None:
                for _ in range(each):
                    self.add_wait(labels, site, typical[which], begin, end)
        self.add_open(labels, 11, "accept", end - 100 * NS)
        if service == "api" and host in LOST_HOSTS:
            for number in range(LOST_EACH):
                self.add_open(labels, LOST_SITE, "channel-recv", begin + number * NS, "woken" if number % 10 == 0 else "open")
        nr = len(self.waits) - first
        self.runs.append(dict(labels, start_ts=begin, last_ts=end, blocks=3, blocks_total=3, blocks_missing=0, blocks_damaged=0,
                              transitions=2 * nr, others=nr, waits=nr, written=2 * nr, collected=2 * nr, lost=0, given_up=0,
                              given_up_others=0, complete=1, clock_offset_ns=0, updated=end))

    def add_wait(self, labels, site, typical, begin, end):
        wait = max(1, int(typical * math.exp(self.random.gauss(0, 0.8))))
        is_woken = self.random.random() < 0.8
        ready = max(1, min(wait, int(wait * 0.1 * math.exp(self.random.gauss(0, 0.5))))) if is_woken else 0
        self.waits.append(dict(labels, block=self.random.randrange(3), ts=self.random.randrange(begin, end - 30 * NS), site=site,
                               wake_site=self.random.choice((WAKE_SITE, 13)) if is_woken else 0, probe_id=self.random.randrange(1, 50),
                               waker=7 if is_woken else 0, reason="io-read", resource=site, wait_ns=wait, ready_ns=ready,
                               state="resumed" if self.random.random() < 0.97 else "closed"))
        if self.waits[-1]["state"] == "closed":
            self.waits[-1]["ready_ns"] = 0

    def add_open(self, labels, site, reason, ts, state="open"):
        self.waits.append(dict(labels, block=2, ts=ts, site=site, wake_site=WAKE_SITE if state == "woken" else 0,
                               probe_id=1000 + len(self.waits), waker=0, reason=reason, resource=0, wait_ns=0, ready_ns=0, state=state))

    def add_findings(self):
        def add(run, fingerprint, detector, confidence, count, place, ts):
            keys = ("service", "build", "version", "host", "region", "run")
            self.findings.append(dict({k: run[k] for k in keys}, ts=ts, fingerprint=fingerprint, detector=detector,
                                      confidence=confidence, title=detector, place=place, site=LOST_SITE, count=count,
                                      seen="not resumed for 1,700 s", example="{}"))
        for run in self.runs:
            if run["host"] in LOST_HOSTS and run["service"] == "api":
                add(run, "feed:1", "lost-wakeup", "strong", LOST_EACH, name(LOST_SITE), run["last_ts"])
        # The same report, stored twice.
        self.findings.append(dict(self.findings[0]))
        add(self.runs[8], "beef:1", "leak", "suspect", 5, name(12), self.runs[8]["last_ts"])

    # ---- the answers, from the rows ----------------------------------------------------

    def chosen(self, **labels):
        return [w for w in self.waits if all(w[k] == v for k, v in labels.items())]


def quantile(values, share):
    """The least value that is not below @share of all, each with its weight."""
    values = sorted(values)
    total, below = sum(weight for _, weight in values), 0
    for value, weight in values:
        below += weight
        if below >= share * total:
            return value
    return 0


def rank_of(values, value):
    """The shares of all that are below @value, and not above it."""
    total = sum(weight for _, weight in values)
    return sum(w for v, w in values if v < value) / total, sum(w for v, w in values if v <= value) / total


def ended(waits, key="wait_ns"):
    return [(w[key], w["sample"]) for w in waits if w["state"] in ("resumed", "closed")]


def slowest(waits):
    """By site: waits, p50, p99, longest, sum; in the order of the answer."""
    rows = []
    for site in sorted({w["site"] for w in waits}):
        here = [w for w in waits if w["site"] == site]
        values = ended(here)
        rows.append(dict(site=name(site), waits=sum(w["sample"] for w in here), p50_ns=quantile(values, 0.5), p99_ns=quantile(values, 0.99),
                         max_ns=max(w["wait_ns"] for w in here), total_ns=sum(w["wait_ns"] * w["sample"] for w in here), id=site))
    return sorted(rows, key=lambda r: (-r["total_ns"], r["id"]))


# ---- rows as text ----------------------------------------------------------------------

def escaped(value):
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def insert(table, rows):
    """An INSERT with the rows as tab-separated text."""
    columns = list(rows[0])
    lines = ["\t".join(escaped(row[c]) for c in columns) for row in rows]
    return f"INSERT INTO {table} ({', '.join(columns)}) FORMAT TabSeparated\n" + "\n".join(lines) + "\n"


def site_rows():
    return [dict(site=site, file=f, line=line, function=function) for site, (f, line, function) in SITES.items()]


def mark_rows():
    """Marks of blocks in the table of sums: they count nothing."""
    return [dict(service="api", build="", version="", site=0, reason="unknown", ts=START * NS, mark=f"run/{n}", marks=1) for n in range(3)]


# The sums of 10 s, as the loader makes them.
ROLLUP = """
INSERT INTO waits_10s (service, build, version, site, reason, ts, count, resumed, woken, open, closed, lost, readied,
    wait_ns, ready_ns, max_wait, max_ready, waitMap.bucket, waitMap.n, readyMap.bucket, readyMap.n)
SELECT service, build, version, site, reason, intDiv(ts, 10000000000) * 10000000000 AS begin,
    sum(sample), sum(sample * (state = 'resumed')), sum(sample * (state = 'woken')), sum(sample * (state = 'open')),
    sum(sample * (state = 'closed')), sum(sample * (state = 'lost')), sum(sample * (ready_ns > 0)),
    sum(sample * wait_ns), sum(sample * ready_ns), maxState(wait_ns), maxState(ready_ns),
    [toUInt8(if(wait_ns = 0, 0, floor(log2(wait_ns)) + 1))] AS wait_step, [sum(sample * (state IN ('resumed', 'closed')))],
    [toUInt8(if(ready_ns = 0, 0, floor(log2(ready_ns)) + 1))] AS ready_step, [sum(sample * (ready_ns > 0))]
FROM waits
GROUP BY service, build, version, site, reason, begin, wait_step, ready_step
"""


# ---- the answers -----------------------------------------------------------------------

def lost(fleet, service="api"):
    """By site: waits without an end, in the order of the answer; overdue ones have an unusual length."""
    ends = {r["run"]: r["last_ts"] for r in fleet.runs}
    all_hosts = len({r["host"] for r in fleet.runs if r["service"] == service})
    rows = []
    for site in sorted({w["site"] for w in fleet.waits if w["service"] == service}):
        here = [w for w in fleet.chosen(service=service, site=site)]
        opened = [w for w in here if w["state"] in ("open", "woken")]
        values = ended(here)
        usual = quantile(values, 0.99) if values else 0
        if opened:
            rows.append(dict(site=name(site), waits=len(opened), woken=sum(w["state"] == "woken" for w in opened),
                             hosts=len({w["host"] for w in opened}), of=all_hosts, usual=usual,
                             overdue=sum(ends[w["run"]] - w["ts"] > 10 * usual for w in opened) if usual else 0,
                             longest_ns=max(ends[w["run"]] - w["ts"] for w in opened)))
    return sorted(rows, key=lambda r: (-r["overdue"], -r["waits"]))


def latency(waits, step):
    """By time and build: values of ready_ns with their weights."""
    rows = {}
    for w in waits:
        if w["ready_ns"]:
            key = (w["ts"] // NS // step * step, w["version"])
            rows.setdefault(key, []).append((w["ready_ns"], w["sample"]))
    return rows


def graph(waits):
    """By site and waking site: values of wait_ns with their weights."""
    rows = {}
    for w in waits:
        if w["state"] == "resumed":
            rows.setdefault((w["site"], w["wake_site"]), []).append((w["wait_ns"], w["sample"]))
    return rows


def compare(waits):
    """By name of a site: the values of both builds."""
    rows = {}
    for w in waits:
        if w["state"] in ("resumed", "closed"):
            rows.setdefault(name(w["site"]), ([], []))[w["build"] == BUILDS[1][0]].append((w["wait_ns"], w["sample"]))
    return rows


VERDICTS = {name(13): "slower", name(15): "faster", name(16): "gone", name(17): "new"}  # all others: the same
