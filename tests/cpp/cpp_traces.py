# SPDX-License-Identifier: MIT
"""cpp_traces.py - the events of each coroutine in a trace, as a line of words that a test can compare.

Words, in order of time:
  S@place        suspended at the line that is marked "// @place" in the target's source
  S@place:io-read=7   for a reason, on a resource; of another coroutine, its name
  R              resumed;  R<name  with the waker
  done           ended, frame not freed yet;  gone  destroyed, "gone(suspended)" if it was suspended
  end            both at once
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from harness import *  # noqa: E402,F403

CPP_TARGET = os.environ.get("CPP_TARGET", "build/tests/cpp/cpp_target")


def marks():
    """(file, line) of every "// @name" in the sources."""
    found = {}
    for name in sorted(os.listdir(HERE)):
        if not name.endswith((".cpp", ".h")):
            continue
        with open(os.path.join(HERE, name), encoding="utf-8") as f:
            for nr, line in enumerate(f, 1):
                m = re.search(r"//\s*@(.+?)\s*(?:\\)?$", line)
                if m:
                    found[name, nr] = m.group(1)
    return found


MARKS = marks()


class Story:
    """One run: coroutines by name, each with its words, its parent and its create site."""

    def __init__(self, run):
        self.run = run
        self.sites = {s["id"]: s for s in run.sidecar if s["type"] == "site"}
        self.births = {b["probe_id"]: b for b in run.sidecar if b["type"] == "birth"}
        items = [(e["ts"], 1, e) for e in run.events]
        items += [(r["ts"], 0 if r["type"] == "wake" else 2, r) for r in run.sidecar if r["type"] in ("wake", "end", "destroy")]
        self.items = [i[2] for i in sorted(items, key=lambda i: (i[0], i[1]))]
        self.words_of = {}
        for item in self.items:
            self.words_of.setdefault(item["probe_id"], []).append(self.word(item))

    def name(self, id):
        return self.births[id].get("name", "?") if id in self.births else str(id)

    def place(self, id):
        site = self.sites[id]
        where = (os.path.basename(site["file"]), site["line"])
        return MARKS.get(where, "-")  # a coroutine is created at its first or at its last line

    def word(self, e):
        kind = e.get("type")
        if kind == "wake":
            return f"<{self.name(e['waker'])}" if e.get("waker") else "<"
        if kind in ("end", "destroy"):
            word = "gone" if kind == "destroy" else "end" if e.get("destroyed") else "done"
            how = [k for k in ("was_suspended", "cancelled") if e.get(k)]
            return word + (f"({','.join(how)})" if how else "")
        if e["is_active"]:
            return "R"
        word = "S" + (f"@{self.place(e['site'])}" if "site" in e else "")
        if "reason" in e:
            word += ":" + e["reason"]
        if "resource" in e:
            what = e["resource"]
            word += "=" + (self.name(what) if e.get("reason") == "join" and what in self.births else str(what))
        return word

    def all(self, name):
        """The words of every coroutine of that name, in order of creation."""
        return [" ".join(self.words_of.get(id, [])) for id in sorted(self.births) if self.name(id) == name]

    def one(self, name):
        stories = self.all(name)
        equal(len(stories), 1, f"coroutines named {name!r}")
        return stories[0]

    def parents(self, name):
        return [self.name(b["parent"]) if b.get("parent") else None
                for id, b in sorted(self.births.items()) if self.name(id) == name]

    def complete(self):
        """Nothing lost, every coroutine accounted for: created = ended + left."""
        s = self.run.summary
        equal((s["lost"], s["garbage"], s["others"]["lost"], s["status"]), (0, 0, 0, 0), "loss")
        equal(s["written"], len(self.run.events), "written and in the trace")
        ended = {i["probe_id"] for i in self.items if i.get("type") == "destroy" or i.get("destroyed")}
        alive = {r["probe_id"] for r in self.run.sidecar if r["type"] == "coroutine"}
        equal(set(self.births), ended | alive, "born = ended + alive")
        equal(ended & alive, set(), "ended and alive at once")
        check_order(self.run.events)


def story(dir, scenario, options=(), target=None, **kwargs):
    trace = os.path.join(dir, f"{scenario}.jsonl")
    status, out, err = tool("run", "--json", "-o", trace, *options, "--", target or CPP_TARGET, scenario, **kwargs)
    if status != 0:
        raise AssertionError(f"{scenario}: status {status}\n{out}{err}")
    s = Story(Run(status, out, err, trace))
    s.complete()
    return s
