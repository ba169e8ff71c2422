# SPDX-License-Identifier: MIT
"""test_html.py - `corotracer html` on unusual traces and arguments: hostile names, empty, too large.

MAKE_TRACE: makes traces of any size
"""
import pages
from pages import *

HOSTILE = ["</script><script>alert(1)</script>", "<!--corotracer-data-->", "\"quotes\" 'and' \\back\\slashes", "new\nline\ttab\x01",
           "\u202eright to left", "&lt;b&gt;", "]]>", "é\U0001f600", "x" * 5000]


@test
def names_of_the_program_stay_strings(dir):
    sidecar = [RUN_FACT, {"type": "site", "id": 1, "file": "</script>.c", "line": 3, "function": "<img src=x>", "pid": 7}]
    lines = []
    for i, name in enumerate(HOSTILE):
        sidecar.append({"type": "birth", "ts": 1000 + i, "probe_id": i + 1, "tid": 1, "pid": 7, "name": name})
        lines.append(transition(i + 1, 2000 + i, False, site=1))
    trace = write(dir, "</script><b>.jsonl".replace("/", "_"), lines, sidecar)
    bundle, _ = pages.page(dir, trace)
    names = [bundle.strings[row["name"]] for _, row in sorted(bundle.coroutines().items())]
    for got, wanted in zip(names, HOSTILE):
        assert got == wanted or (len(wanted) > 4096 and wanted.startswith(got)), (got, wanted)
    equal(bundle.sites["sites"][1]["function"], "<img src=x>", "function")
    equal(bundle.meta["run"]["command"], RUN_FACT["command"], "command")
    # Outside of the elements there is only the template, and no text of the trace.
    rest = re.sub(r"<script type=\"application/octet-stream\" id=\"ct-[a-z0-9-]+\">[A-Za-z0-9+/=]*</script>\n", "", bundle.html)
    equal(rest, "<!doctype html><title>t</title>\n\n<p>end</p>\n", "what else is in the page")


@test
def a_trace_of_nothing_is_a_page(dir):
    for name, lines, sidecar in (("empty.jsonl", [], None), ("none.jsonl", [], [RUN_FACT])):
        bundle = check(dir, write(dir, name, lines, sidecar))
        equal((bundle.coros.rows, bundle.series.rows, bundle.meta["blocks"]), (0, 0, 0), "rows")
        assert bundle.meta["notes"], "nobody says that the totals are missing"


@test
def a_trace_that_is_cut_is_a_page_that_says_so(dir):
    whole = trace_of(dir, "CORPUS_CLEAN", corpus("CORPUS_CLEAN")[0], "jsonl")
    with open(whole, "rb") as f, open(whole + ".meta", "rb") as m:
        lines, told = f.read(), m.read()
    cut = os.path.join(dir, "cut.jsonl")
    with open(cut, "wb") as f, open(cut + ".meta", "wb") as m:
        f.write(lines[:len(lines) // 2 + 7])
        m.write(told[:len(told) // 2 + 7])
    bundle, said = pages.page(dir, cut)
    equal(said["completeness"]["verdict"], "incomplete", "verdict")
    equal(bundle.meta["totals"]["lost"], None, "lost")
    contains(" ".join(bundle.meta["notes"]), "did not come to its end")
    assert bundle.meta["garbage"]["lines"] + bundle.meta["garbage"]["sidecar"] >= 1, bundle.meta["garbage"]
    equal(bundle.report, as_in_the_page(json.loads(tool("report", "--json", cut)[1])), "report")


@test
def numbers_are_exact_at_the_edges(dir):
    """64-bit ids, resources beyond 2^53, a long run: nothing is rounded."""
    top = 2 ** 64 - 1
    start = 2 ** 55 + 12345
    lines = [transition(top, start, True), transition(top, start + 1, False, site=1, reason="mutex", resource=top - 1),
             transition(2 ** 53 + 1, start + 2 ** 52, True), transition(2 ** 53 + 1, start + 2 ** 52 + 3, False)]
    bundle = check(dir, write(dir, "edges.jsonl", lines, [RUN_FACT]))
    rows = list(bundle.coroutines().values())
    equal([r["id_lo"] | r["id_hi"] << 32 for r in rows], [top, 2 ** 53 + 1], "ids")
    equal(bundle.meta["end"], 2 ** 52 + 3, "end")


@test
def what_is_missing_is_said_on_stderr(dir):
    template = os.path.join(dir, "t.html")
    with open(template, "w", encoding="ascii") as f:
        f.write("<!--corotracer-data-->")
    status, out, err = tool("html", "--page", template, "-o", os.path.join(dir, "p.html"), os.path.join(FIXTURES, "older-tool.jsonl"))
    equal((status, out), (0, ""), "status and stdout")
    contains(err, "24 events of 3 coroutines")
    contains(err, "garbage: 3 records")
    status, out, err = tool("html", "-q", "--page", template, "-o", os.path.join(dir, "p.html"), os.path.join(FIXTURES, "crlf.jsonl"))
    equal((status, out, err), (0, "", ""), "quiet")


@test
def standard_input_and_output_work(dir):
    template = os.path.join(dir, "t.html")
    with open(template, "w", encoding="ascii") as f:
        f.write("<!--corotracer-data-->")
    trace = os.path.join(FIXTURES, "crlf.jsonl")
    with open(trace, "rb") as f:
        done = subprocess.run([TOOL, "html", "--page", template, "-o", "-", "--json", "-"], stdin=f, capture_output=True, check=True)
    said = json.loads(done.stderr)
    equal((said["page"], said["bytes"]), ("-", len(done.stdout)), "page and size")
    piped = os.path.join(dir, "piped.html")
    with open(piped, "wb") as f:
        f.write(done.stdout)
    equal(tool("html", "--page", template, "-o", os.path.join(dir, "file.html"), trace)[0], 0, "status")
    a, b = Bundle(piped), Bundle(os.path.join(dir, "file.html"))
    equal({k: v for k, v in a.raw.items() if k not in ("meta", "report")}, {k: v for k, v in b.raw.items() if k not in ("meta", "report")}, "sections")
    status, _, err = tool("html", "-", stdin=subprocess.DEVNULL)
    equal(status, 2, "status without a name")
    contains(err, "-o FILE")


@test
def the_page_lies_beside_the_trace_and_is_whole_or_not_there(dir):
    template = os.path.join(dir, "t.html")
    with open(template, "w", encoding="ascii") as f:
        f.write("<!--corotracer-data-->")
    trace = trace_of(dir, "CORPUS_CLEAN", corpus("CORPUS_CLEAN")[0], "ctf")
    equal(tool("html", "--page", template, trace + "/")[0], 0, "status")
    Bundle(trace + ".html")
    before = set(os.listdir(dir))
    # An existing page stays when a new one cannot be made.
    with open(trace + ".html", "w", encoding="ascii") as f:
        f.write("old")
    equal(tool("html", "--page", template, "-o", trace + ".html", os.path.join(dir, "no-such-trace"))[0], 1, "status")
    equal(tool("html", "--page", os.path.join(FIXTURES, "README.md"), "-o", trace + ".html", trace)[0], 1, "status without a mark")
    with open(trace + ".html", encoding="ascii") as f:
        equal(f.read(), "old", "the page that was there")
    # Through a link the file behind it is written; a device must not be replaced.
    os.symlink(trace + ".html", os.path.join(dir, "link.html"))
    equal(tool("html", "--page", template, "-o", os.path.join(dir, "link.html"), trace)[0], 0, "status")
    assert os.path.islink(os.path.join(dir, "link.html"))
    Bundle(trace + ".html")
    equal(tool("html", "--page", template, "-o", "/dev/null", trace)[0], 0, "status")
    status, _, err = tool("html", "--page", template, "-o", "/dev/full", trace)
    equal(status, 1, "status of a full disk")
    contains(err, "No space left")
    equal(set(os.listdir(dir)), before | {"link.html"}, "what is left behind")


@test
def mistakes_get_a_hint(dir):
    trace = os.path.join(FIXTURES, "crlf.jsonl")
    for args, status, words in (
            ([], 2, "missing argument TRACE"), ([trace, trace], 2, "unexpected argument"), (["--max-size", "1", trace], 2, "max-size"),
            (["--page", "/nowhere", trace], 1, "cannot open '/nowhere'"), (["-o", "/nowhere/x.html", trace], 1, "/nowhere/x.html"),
            (["--page", os.path.join(FIXTURES, "README.md"), os.path.join(FIXTURES, "README.md")], 1, "is it a trace?")):
        got, out, err = tool("html", *args)
        equal((got, out), (status, ""), f"status and stdout of {args}: {err}")
        if args[:1] != ["-o"] or "without its pages" not in err:
            contains(err, words)


# ---- too much


def big(dir, events, coroutines, threads, name="big.ctf"):
    path = os.path.join(dir, name)
    subprocess.run([os.environ["MAKE_TRACE"], path, str(events), str(coroutines), str(threads)], check=True, stdout=subprocess.DEVNULL)
    return path


@test
def what_does_not_fit_is_left_out_by_rule_and_said(dir):
    trace = big(dir, 400_000, 2_000, 3)
    whole, _ = pages.page(dir, trace)
    equal(whole.meta["thinned"], [], "thinned out of the whole")
    all_slices = {(s["coro"], s["n"]): s for s in whole.slices()}
    thin, said = pages.page(dir, trace, "--max-size", "1280K")
    assert os.path.getsize(os.path.join(dir, "page.html")) <= 1280 * 1024
    equal(said["thinned"], thin.meta["thinned"], "thinned")
    equal([t["what"] for t in thin.meta["thinned"]], ["slices"], "what was thinned")
    t = thin.meta["thinned"][0]
    equal((t["kept"], t["of"]), (len(thin.slices()), len(all_slices)), "slices kept and in all")
    contains(t["text"], "slices are here")
    assert 0 < t["kept"] < t["of"]
    # The rest is complete; the present slices are the same; every coroutine has its last ones.
    for name in ("report", "series", "sites", "strings", "coros", "lod"):
        equal(thin.raw[name] == whole.raw[name], True, f"{name} is as it was")
    last = {}
    for s in thin.slices():
        wanted = dict(all_slices[(s["coro"], s["n"])], block=s["block"])
        equal(s, wanted, "a slice")
        last[s["coro"]] = max(last.get(s["coro"], 0), s["n"])
    everyone = {}
    for coro, n in all_slices:
        everyone[coro] = max(everyone.get(coro, 0), n)
    equal(last, everyone, "the last slice of each coroutine")
    (nr,) = re.findall(r"the last (\d+) of each", t["text"])
    kept = {(s["coro"], s["n"]) for s in thin.slices()}
    for coro, n in everyone.items():
        for k in range(max(0, n + 1 - int(nr)), n + 1):
            assert (coro, k) in kept, f"slice {k} of {n + 1} of coroutine {coro} is missing: {t['text']}"
    found = [row["nr"] for row in thin.coroutines().values() if row["findings"]]
    if "all of coroutines with findings" in t["text"]:
        assert all((coro, k) in kept for coro in found for k in range(everyone[coro] + 1)), "slices of coroutines with findings"
    index = thin.index
    kept_whole = [i for i in range(index.rows) if index["nr"][i] == index["of"][i]]
    assert kept_whole and len(kept_whole) < index.rows, (kept_whole, index.rows)
    assert index.rows - 1 in kept_whole, "the end of the run is not whole"


@test
def a_page_that_has_to_be_tiny_lists_the_remarkable(dir):
    trace = big(dir, 200_000, 20_000, 3)
    bundle, _ = pages.page(dir, trace, "--max-size", "1M")
    assert os.path.getsize(os.path.join(dir, "page.html")) <= 2 ** 20
    what = {t["what"]: t for t in bundle.meta["thinned"]}
    assert "slices" in what and "coroutines" in what, what
    kept, of = what["coroutines"]["kept"], what["coroutines"]["of"]
    equal((bundle.coros.rows, bundle.meta["coros"]), (kept, {"kept": kept, "of": of}), "rows")
    rows = list(bundle.coroutines().values())
    found = sum(bool(r["findings"]) for r in rows)
    whole, _ = pages.page(dir, trace)
    everyone = list(whole.coroutines().values())
    equal(found, min(kept, sum(bool(r["findings"]) for r in everyone)), "coroutines with findings")
    by_number = whole.coroutines()
    for r in rows[:200]:
        wanted = by_number[r["nr"]]
        equal([r[k] for k in ("id_lo", "suspends", "ran", "longest")], [wanted[k] for k in ("id_lo", "suspends", "ran", "longest")], "a row")


@test
def more_threads_than_lanes_share_one(dir):
    lines, n = [], 1500
    for i in range(n):
        for k, active in ((0, True), (500, False)):
            e = json.loads(transition(i + 1, 1_000_000 + 1000 * i + k, active))
            e["tid"] = 10_000 + i
            lines.append(json.dumps(e, separators=(",", ":")))
    bundle, _ = pages.page(dir, write(dir, "threads.jsonl", lines, [RUN_FACT]))
    equal((len(bundle.meta["threads"]), bundle.meta["threads_of"], bundle.lod.header["threads"]), (1024, n, 1025), "threads")
    equal([t["what"] for t in bundle.meta["thinned"]], ["threads"], "thinned")
    slices = bundle.slices()
    equal(sum(s["thread"] == 1024 for s in slices), n - 1024, "slices of the others")
    level = bundle.lod.header["levels"][-1]
    row = level["row"] + 1024 * level["count"]
    equal(sum(bundle.lod["switches"][row:row + level["count"]]), n - 1024, "switches of the others")


@test
def the_old_flags_work(dir):
    trace = os.path.join(dir, "trace.jsonl")
    write(dir, "trace.jsonl", [transition(1, 1000, True), transition(1, 2000, False)])
    status, out, err = tool("-html", "-out", trace)
    if "without its pages" in err:
        equal(status, 1, "status")
        contains(err, "hint: ")
        return
    equal((status, out), (0, ""), f"status and stdout: {err}")
    equal(Bundle(trace + ".html").meta["slices"]["of"], 1, "slices")


if __name__ == "__main__":
    main()
