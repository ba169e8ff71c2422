# SPDX-License-Identifier: MIT
"""ask_engine.py - the current ClickHouse engine in this process: chdb, run by the tests with its own Python.

Reads a JSON object from stdin: "schema", statements; "inserts", statements; "questions", SQL by name.  Prints a JSON
object with the rows of each question, and how long it took.
"""
import json
import sys
import time

from chdb import session


def main():
    job = json.load(sys.stdin)
    engine = session.Session()
    engine.query("CREATE DATABASE corotracer")
    engine.query("USE corotracer")
    for sql in job["schema"] + job["inserts"]:
        engine.query(sql)
    answers = {}
    for key, sql in job["questions"].items():
        begin = time.monotonic()
        text = str(engine.query(sql + "\nSETTINGS output_format_json_quote_64bit_integers = 0", "JSON"))
        answers[key] = {"rows": json.loads(text)["data"], "seconds": time.monotonic() - begin}
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
