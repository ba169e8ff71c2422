# SPDX-License-Identifier: MIT
"""ask_checks.py - compare the rows of an answer with what Python computed from the same waits."""
import ask_data
from harness import equal

# A percentile of a t-digest is right within 1 % of the rank, and one value is up to 1 % of a small group.
RANK_ERROR = 0.02


def close(got, values, share, what, is_raw):
    """Is @got the percentile of @values?  Raw: by its rank.  From histograms: in the same step of two."""
    if is_raw:
        low, high = ask_data.rank_of(values, got)
        assert low - RANK_ERROR <= share <= high + RANK_ERROR, f"{what}: {got} has rank {low} to {high}, not {share}"
    else:
        true = ask_data.quantile(values, share)
        assert true / 2 < got + 1 and got < true * 2 + 1, f"{what}: {got}, and the true value is {true}"


def slowest(rows, waits, is_raw):
    want = ask_data.slowest(waits)
    keys = ("site", "waits", "max_ns", "total_ns")
    equal([{k: r[k] for k in keys} for r in rows], [{k: w[k] for k in keys} for w in want], "sites, counts and sums")
    for row in rows:
        values = ask_data.ended([w for w in waits if ask_data.name(w["site"]) == row["site"]])
        for share, key in ((0.5, "p50_ns"), (0.99, "p99_ns")):
            if values:
                close(row[key], values, share, f"{key} of {row['site']}", is_raw)
            else:
                equal(row[key], 0, f"{key} of {row['site']}")


def lost(rows, fleet):
    want = ask_data.lost(fleet)
    keys = ("overdue", "waits", "woken", "hosts", "of", "longest_ns", "site")
    equal([{k: r[k] for k in keys} for r in rows], [{k: w[k] for k in keys} for w in want], "waits without an end")
    # 303 by each build, on three hosts of forty.
    equal((rows[0]["overdue"], rows[0]["hosts"], rows[0]["of"]), (2 * 303, 3, 40), "the bug")
    assert rows[0]["most_on"] in ask_data.LOST_HOSTS, rows[0]["most_on"]


def latency(rows, waits, step, is_raw):
    import calendar
    import time
    want = ask_data.latency(waits, step)
    got = {(calendar.timegm(time.strptime(r["time_utc"], "%Y-%m-%d %H:%M:%S")), r["build"]): r for r in rows}
    equal(sorted(got), sorted(want), "intervals and builds")
    equal([r["time_utc"] for r in rows], sorted((r["time_utc"] for r in rows), reverse=True), "order: newest first")
    for key, values in want.items():
        equal(got[key]["resumes"], sum(weight for _, weight in values), f"resumes of {key}")
        equal(got[key]["max_ns"], max(value for value, _ in values), f"longest of {key}")
        for share, column in ((0.5, "p50_ns"), (0.99, "p99_ns")):
            close(got[key][column], values, share, f"{column} of {key}", is_raw)


def graph(rows, waits):
    want = {}
    for (site, wake_site), values in ask_data.graph(waits).items():
        want[ask_data.name(site), "(no site)" if wake_site == 0 else ask_data.name(wake_site)] = values
    got = {(r["site"], r["woken_at"]): r for r in rows}
    equal(sorted(got), sorted(want), "pairs of sites")
    for key, values in want.items():
        equal(got[key]["waits"], sum(weight for _, weight in values), f"waits of {key}")
        equal(got[key]["total_ns"], sum(v * weight for v, weight in values), f"sum of {key}")
        close(got[key]["p99_ns"], values, 0.99, f"p99 of {key}", True)


def compare(rows, waits, is_raw):
    want = ask_data.compare(waits)
    equal(sorted(r["site"] for r in rows), sorted(want), "sites")
    for row in rows:
        base, head = want[row["site"]]
        equal((row["base_waits"], row["waits"]), (len(base), len(head)), f"waits of {row['site']}")
        equal(row["verdict"], ask_data.VERDICTS.get(row["site"], "same"), f"verdict on {row['site']}: {row}")
        for values, prefix in ((base, "base_"), (head, "")):
            for share, column in ((0.5, "p50_ns"), (0.99, "p99_ns")):
                if values:
                    close(row[prefix + column], values, share, f"{prefix}{column} of {row['site']}", is_raw)


def coroutine(rows, fleet, wait):
    mine = sorted((w for w in fleet.waits if (w["run"], w["probe_id"]) == (wait["run"], wait["probe_id"])), key=lambda w: w["ts"])
    assert len(mine) > 1, "the test needs a coroutine with several waits"
    equal([(r["wait_ns"], r["ready_ns"], r["state"], r["site"], r["waker"]) for r in rows],
          [(w["wait_ns"], w["ready_ns"], w["state"], ask_data.name(w["site"]), w["waker"]) for w in mine], "waits")
    ran = [0] + [max(0, b["ts"] - a["ts"] - a["wait_ns"]) for a, b in zip(mine, mine[1:])]
    equal([r["ran_ns"] for r in rows], ran, "time between the waits")


def findings(rows, fleet):
    def numbers(r):
        return {k: r[k] for k in ("fingerprint", "confidence", "detector", "count", "hosts", "runs", "builds", "site")}
    equal([numbers(r) for r in rows],
          [dict(fingerprint="feed:1", confidence="strong", detector="lost-wakeup", count=6 * ask_data.LOST_EACH, hosts=3, runs=6,
                builds=["v1.0", "v1.1"], site=ask_data.name(ask_data.LOST_SITE)),
           dict(fingerprint="beef:1", confidence="suspect", detector="leak", count=5, hosts=1, runs=1, builds=["v1.0"],
                site=ask_data.name(12))], "findings")
    assert rows[0]["first_seen_utc"] < rows[0]["last_seen_utc"], "first and last time"


def account(row, fleet, service="api"):
    runs = [r for r in fleet.runs if r["service"] == service]
    equal({k: row[k] for k in ("runs", "hosts", "running", "transitions_lost", "transitions_given_up", "transitions_not_loaded", "incomplete")},
          dict(runs=len(runs), hosts=len({r["host"] for r in runs}), running=1, transitions_lost=20, transitions_given_up=500,
               transitions_not_loaded=0, incomplete=1), "account")
