# SPDX-License-Identifier: MIT
"""ask_store.py - the rows of ask_data.py in a store: the statements that make it, and the current engine.

chdb, the current engine, comes from PyPI into a folder of the build, once.
"""
import json
import os
import re
import subprocess

import ask_data
from harness import equal
from venvs import python_with

HERE = os.path.dirname(os.path.abspath(__file__))
SQL = os.path.join(HERE, "../../src/fleet/sql")
FLEET = ask_data.Fleet()
API = [w for w in FLEET.waits if w["service"] == "api"]


def statements(dialect):
    text = ""
    for step in (1, 2):
        with open(f"{SQL}/schema-{step}.{dialect}.sql", encoding="utf-8") as f:
            text += re.sub(r"--[^\n]*", "", f.read())
    return [s.strip() for s in text.split(";") if s.strip()]


def inserts(fleet, hosts=None):
    def of(rows):
        return [r for r in rows if hosts is None or r["host"] in hosts]
    got = [ask_data.insert("sites", ask_data.site_rows()), ask_data.ROLLUP, ask_data.insert("waits_10s", ask_data.mark_rows())]
    for table, rows in (("waits", fleet.waits), ("runs", fleet.runs), ("findings", fleet.findings)):
        if of(rows):
            got.insert(0, ask_data.insert(table, of(rows)))
    return got


def ask_current_engine(questions):
    """The rows of each question, by name."""
    job = {"schema": statements("current"), "inserts": inserts(FLEET), "questions": questions}
    p = subprocess.run([chdb_python(), HERE + "/ask_engine.py"], input=json.dumps(job), capture_output=True, text=True, check=False, timeout=300)
    equal(p.returncode, 0, p.stderr[-3000:])
    return json.loads(p.stdout)


def chdb_python():
    """A Python with the current engine."""
    return python_with(os.environ.get("FLEET_VENV", "build/tests/fleet/venv"), "chdb")
