# SPDX-License-Identifier: MIT
"""test_filters.py - --site and --kind of the commands that judge coroutines: what they choose, against a scan in Python."""
import fnmatch
import itertools
import tempfile

from harness import *

CORPUS_BUGGY = os.environ.get("CORPUS_BUGGY", "build/tests/corpus/corpus_buggy")
SCENARIOS = ("deadlock/locks", "closed-under-waiter", "leak", "lost-wakeup/mutex")
OF_RESOURCES = ("close", "acquire", "release")
RECORDED = {}


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def export(kind, trace, output):
    status, _, err = tool("export", kind, "-q", "-i", trace, "-o", output)
    equal(status, 0, f"status of export {kind}: {err}")
    return output


def traces():
    """Runs of several programs with faults, merged, in every format: made once."""
    if not RECORDED:
        place = RECORDED["place"] = tempfile.TemporaryDirectory(prefix="corotracer-test-")
        running = [popen(TOOL, "run", "-q", "-o", f"{place.name}/{i}.ct", "--", CORPUS_BUGGY, name, stdout=subprocess.DEVNULL)
                   for i, name in enumerate(SCENARIOS)]
        for p in running:
            p.communicate(timeout=120)
        status, _, err = tool("merge", "-q", "-o", place.name + "/all.ct", *(f"{place.name}/{i}.ct" for i in range(len(SCENARIOS))))
        equal(status, 0, err)
        export("jsonl", place.name + "/all.ct", place.name + "/all.jsonl")
        export("ctf", place.name + "/all.ct", place.name + "/all.ctf")
    return [f"{RECORDED['place'].name}/all.{ending}" for ending in ("ct", "jsonl", "ctf")]


class Scan:
    """All events of a trace, and which coroutines a filter chooses."""

    def __init__(self, path):
        facts = lines_of(path + ".meta")
        self.events = [{**line, "kind": "resume" if line["is_active"] else "suspend"} for line in lines_of(path)]
        self.events += [{**line, "kind": line["type"]} for line in facts if "ts" in line and "tid" in line and line["type"] != "frame"]
        self.start = next(f["start_ts"] for f in facts if f["type"] == "run")
        self.sites = {f["id"]: f for f in facts if f["type"] == "site"}
        self.ids = {e["probe_id"] for e in self.events if e.get("probe_id")}

    def at(self, event, pattern):
        site = self.sites.get(event.get("site"))
        if not site:
            return False
        names = [site["function"], site["file"], f"{site['file']}:{site['line']}"]
        names += [name.rsplit("/", 1)[-1] for name in names[1:]]
        return any(fnmatch.fnmatchcase(name, pattern) for name in names)

    def choose(self, site=None, kinds=None, low=0, high=1 << 62):
        return {e["probe_id"] for e in self.events if e.get("probe_id") and self.start + low <= e["ts"] <= self.start + high
                and (not kinds or e["kind"] in kinds) and (not site or self.at(e, site))}


def options_of(site=None, kinds=None, low=None, high=None):
    options = ["--site", site] if site else []
    options += ["--kind", ",".join(kinds)] if kinds else []
    options += ["--from", f"{low}ns"] if low is not None else []
    return options + (["--to", f"{high}ns"] if high is not None else [])


FILTERS = [{"kinds": ["acquire"]}, {"kinds": ["close", "end"]}, {"site": "born_here"}, {"site": "*.c:*", "kinds": ["wake"]},
           {"site": "nowhere"}, {"site": "wait_here", "low": 0}]


def ids_of(finding):
    return {c["probe_id"] for c in finding["coroutines"]}


def report(trace, *options):
    status, out, err = tool("report", "--json", "--min-age", 10, *options, trace)
    equal(status, 0, f"status of report {options}: {err}")
    return json.loads(out)


def findings_of(whole, chosen):
    """The findings of @whole about coroutines of @chosen; a deadlock is about its whole ring."""
    for f in whole["findings"]:
        ids = ids_of(f) if f["detector"] == "deadlock" and ids_of(f) & chosen else ids_of(f) & chosen
        if ids:
            yield f["detector"], f.get("place") and f["place"]["text"], tuple(sorted(ids))


@test
def report_judges_the_chosen_coroutines_as_in_the_whole_trace(dir):
    scan, whole = Scan(traces()[1]), report(traces()[0])
    assert len(whole["findings"]) >= 4, whole["findings"]
    seen = 0
    for how, trace in itertools.product(FILTERS, traces()):
        chosen = scan.choose(**how)
        got = report(trace, *options_of(**how))
        wanted = sorted(findings_of(whole, chosen), key=str)
        if how.get("low") is None:
            equal(sorted(((f["detector"], f.get("place") and f["place"]["text"], tuple(sorted(ids_of(f)))) for f in got["findings"]), key=str),
                  wanted, f"findings with {how} in {trace}")
            seen += 0 < len(wanted) < len(whole["findings"])
        contains(got["notes"][0], f"Only {len(chosen):,} of {len(scan.ids):,} coroutines: ")
        for form in "--text", "--markdown":
            contains(tool("report", form, *options_of(**how), trace)[1], f"Only {len(chosen):,} of {len(scan.ids):,} coroutines")
    assert seen, "no filter left some of the findings out: nothing was tested"


@test
def html_has_rows_for_the_chosen_coroutines_only(dir):
    scan = Scan(traces()[1])
    for how, trace in itertools.product(FILTERS[:4], traces()):
        status, out, err = tool("html", "-q", "--json", "-o", dir + "/page.html", *options_of(**how), trace)
        equal(status, 0, f"status of html: {err}")
        equal(json.loads(out)["coroutines"], len(scan.choose(**how)), f"coroutines of the page with {how}")
        equal(tool("html", "-q", "-o", dir + "/page.html", "--coro", 1, *options_of(**how), trace)[0], 0, "status with --coro, too")


def without_others(trace, chosen, output):
    """A trace with the events of the chosen coroutines; what others do with resources is done by none."""
    def keeps(item):
        if item.get("type") == "coroutine":
            return item["probe_id"] in chosen
        if "ts" not in item or "tid" not in item or item["probe_id"] in chosen:
            return True
        if item.get("type") not in OF_RESOURCES:
            return False
        item["probe_id"] = 0
        return True

    for ending in "", ".meta":
        with open(output + ending, "w", encoding="utf-8") as out:
            for item in filter(keeps, lines_of(trace + ending)):
                out.write(json.dumps(item, separators=(",", ":")) + "\n")
    return output


@test
def diff_compares_the_chosen_coroutines_only(dir):
    path = f"{RECORDED['place'].name}/3.jsonl" if traces() else None
    export("jsonl", f"{RECORDED['place'].name}/3.ct", path)
    scan = Scan(path)
    for how in FILTERS[:4]:
        chosen = scan.choose(**how)
        cut = without_others(path, chosen, dir + "/cut.jsonl")
        said = []
        for names, options in ((path, path), options_of(**how)), ((cut, cut), ()):
            status, out, err = tool("diff", "--json", "--all", *options, *names)
            got = json.loads(out)
            notes = got.pop("notes")
            if options:
                equal(status, 0, f"status of diff: {err}")
                contains(notes[0], f"only {len(chosen):,} of {len(scan.ids):,} coroutines: ")
            said.append(json.dumps(got, sort_keys=True).replace(path, "TRACE").replace(cut, "TRACE"))
        equal(said[0], said[1], f"diff with {how}")


@test
def standard_input_cannot_be_read_twice(dir):
    with open(traces()[1], encoding="utf-8") as f:
        status, _, err = tool("report", "--site", "x", "-", stdin=f)
    equal(status, 1, "status")
    contains(err, "the trace is read twice")
    contains(err, "hint: save the trace to a file first")


main()
