// SPDX-License-Identifier: MIT
// layout_map.test.ts - where fields are in the cache lines of a type, and how hot they are.
import { test } from "node:test";
import assert from "node:assert/strict";
import { heat, layoutMap } from "../src/memory/layout_map.ts";
import type { Field } from "../src/memory/types.ts";

const field = (name: string, offset: number | undefined, size: number | undefined, cost = 0): Field =>
	({ name, type: "int", offset, size, cost, reads: 0, writes: 0, misses: [], false_sharing: 0 });
const shape = (bytes: number, fields: Field[]) => {
	const map = layoutMap(bytes, 64, fields);
	return { hidden: map.hidden, rows: map.rows.map((r) => [r.offset, ...r.blocks.map((b) => `${b.field.name}@${64 * b.from}+${64 * b.width}`)]) };
};

test("a field that crosses a line is in both", () => {
	assert.deepEqual(shape(72, [field("a", 0, 4), field("b", 60, 8)]), { hidden: 0, rows: [[0, "a@0+4", "b@60+4"], [64, "b@0+4"]] });
});

test("a line without fields is counted, except the first; padding has no place", () => {
	assert.deepEqual(shape(256, [field("a", 192, 8), field("(padding)", undefined, undefined, 9)]), { hidden: 2, rows: [[0], [192, "a@0+8"]] });
	assert.deepEqual(shape(0, []), { hidden: 0, rows: [] });
});

test("of a long field and of a long type the first lines are drawn", () => {
	assert.equal(layoutMap(64 * 20, 64, [field("a", 0, 64 * 20)]).rows.length, 8);
	const many = Array.from({ length: 100 }, (_, i) => field(`f${i}`, i * 64, 8));
	const map = layoutMap(6400, 64, many);
	assert.deepEqual([map.rows.length, map.hidden], [64, 36]);
	assert.equal(layoutMap(2 ** 52, 64, [field("a", 0, 2 ** 52)]).rows.length, 8);
});

test("of overlapping members of a union the most expensive is drawn, of equal ones the first", () => {
	assert.deepEqual(shape(16, [field("i", 0, 4, 1), field("text", 0, 16, 5)]).rows, [[0, "text@0+16"]]);
	assert.deepEqual(shape(16, [field("i", 0, 4, 5), field("text", 0, 16, 5)]).rows, [[0, "i@0+4"]]);
	assert.deepEqual(shape(16, [field("none", 0, 0, 9), field("a", 0, 4)]).rows, [[0, "a@0+4"]]);
});

test("each step of heat is twice the previous one", () => {
	assert.deepEqual([0, 1, 2, 4, 8, 16, 17, 32, 33, 64].map((cost) => heat(cost, 64)), [0, 1, 1, 2, 3, 4, 5, 5, 6, 6]);
	assert.equal(heat(5, 0), 0);
});
