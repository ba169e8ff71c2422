# SPDX-License-Identifier: MIT
"""test_truth_query.py - `query` with SQL: the rows, what was read, and the verdict, against another reader of the compact trace."""
from compact_decoder import index_of
from truth import *

TRACE_TOOL = os.environ.get("TRACE_TOOL", "build/tests/trace_tool")


@check
def query_counts_what_it_read(n, path, kinds):
    """Two scans: the facts when the query begins, then facts and events."""
    with open(path, "rb") as f:
        data = f.read()
    facts = [e for e in index_of(data) if e["type"] == 1]
    events = [e for e in index_of(data) if e["type"] == 2]
    n.equal_all("stats", {"rows": len(kinds), "scans": 2, "blocks": len(facts) + len(events),
                          "blocks_read": 2 * len(facts) + len(events),
                          "bytes": 2 * sum(e["size"] for e in facts) + sum(e["size"] for e in events)})
    for i, (_, count) in enumerate(sorted(kinds.items())):
        n.equal(f"rows[{i}].n", count)


@check
def query_compares_with_the_totals(n, kinds):
    transitions = kinds["suspend"] + kinds["resume"]
    others = sum(kinds.values()) - transitions
    n.equal_all("completeness", {"expected": transitions, "expected_others": others, "read": transitions, "read_others": others,
                                 "unreadable_files": 0})


@test
def query_of_a_trace_is_exact(dir):
    subprocess.run([TRACE_TOOL, "make", dir + "/t.ctf", "140000"], check=True)
    status, _, err = tool("export", "ct", "-q", "-i", dir + "/t.ctf", "-o", dir + "/t.ct")
    equal(status, 0, err)
    with open(dir + "/t.ct", "rb") as f:
        items = decode(f.read())[1]
    kinds = collections.Counter(i["kind"] for i in items if "kind" in i)
    status, out, err = tool("query", "--json", dir + "/t.ct", "SELECT kind, count(*) AS n FROM events GROUP BY kind ORDER BY kind")
    equal(status, 0, err)
    n = Numbers("query", json.loads(out))
    query_counts_what_it_read(n, dir + "/t.ct", kinds)
    query_compares_with_the_totals(n, kinds)
    n.done()


if __name__ == "__main__":
    main()
