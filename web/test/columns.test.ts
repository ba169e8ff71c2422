// SPDX-License-Identifier: MIT
// columns.test.ts - binary sections: read as written, refused when damaged, never more.
import { test } from "node:test";
import assert from "node:assert/strict";
import { DamagedError, readSection } from "../src/data/columns.ts";
import { BlockIndex, readBlock } from "../src/data/blocks.ts";
import { Lod } from "../src/data/lod.ts";
import { col, section } from "./make.ts";

test("every type is read as it was written", () => {
	const s = readSection("t", section([
		col("a", "u8", [0, 255]), col("b", "u16", [1, 65535]), col("c", "u32", [2, 4294967295]), col("d", "f64", [-0.5, NaN]),
		col("e", "v", [127, 2 ** 53 - 1]), col("f", "dv", [5, 5 + 2 ** 40]),
	], { base: 7 }));
	assert.equal(s.rows, 2);
	assert.equal(s.header.base, 7);
	assert.deepEqual([...s.columns.a], [0, 255]);
	assert.deepEqual([...s.columns.b], [1, 65535]);
	assert.deepEqual([...s.columns.c], [2, 4294967295]);
	assert.deepEqual([...s.columns.d], [-0.5, NaN]);
	assert.deepEqual([...s.columns.e], [127, 2 ** 53 - 1]);
	assert.deepEqual([...s.columns.f], [5, 5 + 2 ** 40]);
});

test("columns of types to come are left alone", () => {
	const bytes = section([col("a", "u8", [1])]);
	const text = new TextDecoder().decode(new Uint8Array(bytes, 4)).replace('"u8"', '"q9"');
	const out = new Uint8Array(bytes.slice(0));
	out.set(new TextEncoder().encode(text), 4);
	assert.deepEqual(readSection("t", out.buffer).columns, {});
});

// Cut anywhere, or with a byte changed anywhere, it is read or refused in words.
test("damage is an error in words, never anything else", () => {
	const good = new Uint8Array(section([
		col("start", "dv", [1, 300, 70000]), col("dur", "v", [1, 2, 3]), col("thread", "v", [0, 1, 0]), col("coro", "v", [0, 1, 2]), col("flags", "u8", [0, 1, 2]),
	], { base: 10, of: 3 }));
	let refused = 0;
	const attempt = (bytes: Uint8Array) => {
		try {
			const s = readSection("t", bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer);
			readBlock("t", s);
		} catch (e) {
			assert.ok(e instanceof DamagedError, String(e));
			refused++;
		}
	};
	for (let n = 0; n < good.length; n++) attempt(good.subarray(0, n));
	assert.ok(refused > good.length / 2);
	let seed = 12345;
	for (let round = 0; round < 20000; round++) {
		const bad = good.slice();
		for (let k = 0; k <= round % 3; k++) {
			seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
			bad[seed % bad.length] = seed >>> 24;
		}
		attempt(bad);
	}
});

test("an index finds the blocks of a time and of a coroutine", () => {
	const sets = new Array<number>(4).fill(0); // two blocks of 16 bits
	sets[0] = 1 << 3; // coroutine 3, and 19
	sets[3] = 1 << 1; // coroutine 9 in the second
	const index = new BlockIndex(readSection("index", section([
		col("from", "f64", [0, 100]), col("last", "f64", [90, 200]), col("to", "f64", [150, 250]), col("nr", "u32", [10, 10]), col("of", "u32", [10, 20]),
		col("coros", "u8", sets),
	], { bits: 16 }, 2)));
	assert.deepEqual(index.withCoro(3), [0]);
	assert.deepEqual(index.withCoro(19), [0]);
	assert.deepEqual(index.withCoro(9), [1]);
	assert.deepEqual(index.overlapping(120, 130), [0, 1]);
	assert.deepEqual(index.overlapping(160, 170), [1]);
	assert.deepEqual(index.overlapping(251, 300), []);
});

test("levels of detail: the finest that has no more than a bucket a pixel", () => {
	const lod = new Lod(readSection("lod", section([
		col("busy", "u8", [0, 255, 1, 128, 2, 3]), col("switches", "v", [0, 1, 2, 3, 4, 5]), col("coro", "v", [0, 1, 1, 1, 1, 1]),
	], { threads: 1, levels: [{ start: 0, width: 64, count: 4, row: 0 }, { start: 0, width: 128, count: 2, row: 4 }] })));
	assert.equal(lod.levelFor(10)!.width, 64);
	assert.equal(lod.levelFor(65)!.width, 128);
	assert.equal(lod.levelFor(1e9)!.width, 128);
	assert.equal(Lod.busyPart(255), 1);
	assert.equal(Lod.busyPart(0), 0);
	assert.ok(Lod.busyPart(1) > 0);
	assert.throws(() => new Lod(readSection("lod", section([
		col("busy", "u8", [0]), col("switches", "v", [0]), col("coro", "v", [0]),
	], { threads: 2, levels: [{ start: 0, width: 64, count: 1, row: 0 }] }))), DamagedError);
});
