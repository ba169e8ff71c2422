// SPDX-License-Identifier: MIT
// unsafe.test.ts - names of programs: what the page shows of them, and what a spreadsheet gets.
import assert from "node:assert/strict";
import test from "node:test";
import { toCsv } from "../src/base/csv.ts";
import { shown } from "../src/base/dom.ts";

test("what reorders or hides text is shown by its number", () => {
	assert.equal(shown("a\u202eb"), "a\\u202eb");
	assert.equal(shown("\u2066x\u2069\u200b\ufeff\u061c"), "\\u2066x\\u2069\\u200b\\ufeff\\u061c");
	assert.equal(shown("\x1b[2J\x9b"), "\\u001b[2J\\u009b");
	assert.equal(shown("\u{e0041}"), "\\ue0041");
	assert.equal(shown("gr\u00fcn \u7d05 \u{1f600} \u200d\u200c"), "gr\u00fcn \u7d05 \u{1f600} \u200d\u200c");
});

test("no cell is a formula, and each can be had as it was", () => {
	const names = ["=1", "+1", "-1", "@x", "\t=1", "\r=1", "'=1", "''-1", "plain", "it's", "'a'", "a=b"];
	const cells = names.map((n) => toCsv(["h"], [[n]]).slice(3, -2).replace(/^"|"$/g, "").replace(/""/g, '"'));
	for (const c of cells) assert.ok(!/^[=+\-@\t\r\n]/.test(c), c);
	assert.deepEqual(cells.map((c) => (/^'+[=+\-@\t\r\n]/.test(c) ? c.slice(1) : c)), names);
	assert.equal(toCsv(["n"], [[-5]]), "n\r\n-5\r\n");
});
