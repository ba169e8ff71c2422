// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";

import { frameMarks, indexFrames, typesText } from "../src/data/frame_marks.ts";
import { fieldsText, framesOf } from "../src/data/frames.ts";

const row = (id: string) => ({ ts: 1, id, tid: 2, frame: "f", buffer: "B", fields: "{}" });

test("a field that was not measured is not a number", () => {
	assert.equal(fieldsText('{"a":0,"b_delta[cycles]":null,"list":[1,2],"text":"x"}'), "a 0, b_delta[cycles] not measured, list [1,2], text x");
	assert.equal(fieldsText("no JSON"), "no JSON");
	assert.equal(fieldsText("{}"), "");
});

test("frames belong to one coroutine, by its whole id", () => {
	const all = { of: 4, lost: 0, frames: [row("1"), row("11"), row(""), row("1")] };
	assert.equal(framesOf(all, "1").length, 2);
	assert.equal(framesOf(all, "18446744073709551615").length, 0);
});

const saved = (ts: number, id: string, tid: number, frame = "f") => ({ ts, id, tid, frame, buffer: "B", fields: "{}" });

test("lanes of coroutines and threads have their frames in order of time", () => {
	const index = indexFrames({ of: 9, lost: 0, frames: [saved(30, "1", 7), saved(10, "1", 8), saved(20, "", 7)] });
	assert.deepEqual(index.byCoro.get("1")?.map((f) => f.ts), [10, 30]);
	assert.deepEqual(index.byThread.get("7")?.map((f) => f.ts), [20, 30]);
	assert.deepEqual([index.of, index.kept, index.byCoro.has("")], [9, 3, false]);
});

test("dense frames are one mark, and every frame in sight is in exactly one", () => {
	const rows = Array.from({ length: 1000 }, (_, i) => saved(i * 7 + (i % 3), "1", 1));
	for (const step of [1, 5, 100, 999, 1e6]) {
		const [from, to] = [1501, 4203];
		const marks = frameMarks(rows, from, to, step);
		const seen = marks.flatMap((m) => rows.slice(m.first, m.last + 1));
		const inSight = rows.filter((f) => f.ts >= from && f.ts <= to);
		assert.equal(new Set(seen).size, seen.length);
		assert.deepEqual(seen.filter((f) => f.ts >= from), inSight);
		for (const m of marks) assert.ok(rows[m.last].ts - rows[m.first].ts < 2 * step && m.at >= rows[m.first].ts && m.at <= rows[m.last].ts);
	}
	assert.deepEqual(frameMarks([], 0, 10, 1), []);
});

test("frames that are close are one mark, also on both sides of a step", () => {
	const rows = [995, 997, 1003, 1004, 1006, 1750].map((ts) => saved(ts, "1", 1));
	assert.deepEqual(frameMarks(rows, 0, 5000, 100), [{ at: 1000.5, first: 0, last: 4 }, { at: 1750, first: 5, last: 5 }]);
});

test("marks stay the same while the picture moves", () => {
	const rows = Array.from({ length: 200 }, (_, i) => saved(i * 13, "1", 1));
	const inner = (from: number, to: number) => frameMarks(rows, from, to, 100).filter((m) => m.at > 700 && m.at < 1500);
	assert.deepEqual(inner(100, 2000), inner(333, 2233));
});

test("types are counted, the most frequent first", () => {
	assert.equal(typesText([saved(1, "", 1, "note"), saved(2, "", 1, "step"), saved(3, "", 1, "step")]), "step 2, note 1");
});
