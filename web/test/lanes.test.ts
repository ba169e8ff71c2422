// SPDX-License-Identifier: MIT
// lanes.test.ts - lanes of coroutines: waits where the file has the slices around them, nothing claimed
// where slices were thinned out.
import { test } from "node:test";
import assert from "node:assert/strict";
import type { Block } from "../src/data/blocks.ts";
import { lanePieces, PIECE } from "../src/worker/lanes.ts";
import type { Store } from "../src/worker/store.ts";

// Coroutine 0 was resumed @resumes times; of its slices of 10 ns every 100 ns those in @kept are in the file.
function storeOf(resumes: number, kept: number[], end = NaN): Store {
	const n = kept.length;
	const zeros = () => new Uint32Array(n);
	const block = {
		rows: n, start: Float64Array.from(kept, (k) => 100 * k), dur: new Float64Array(n).fill(10), coro: zeros(), thread: zeros(), site: zeros(),
		reason: new Uint8Array(n), flags: new Uint8Array(n), wake: new Float64Array(n), waker: zeros(), wakeThread: zeros(), n: Uint32Array.from(kept),
	} as unknown as Block;
	const column = (value: number) => Float64Array.of(value);
	return {
		end: 100 * resumes,
		index: async () => ({ nr: [n], of: [resumes], from: [0], to: [100 * resumes], overlapping: () => [0], has: () => true }),
		block: async () => block,
		coros: {
			rowOf: () => 0,
			c: { birth: column(0), first: column(0), end: column(end), since: column(0), state: [4], resumes: [resumes], site: [0], reason: [0] },
		},
	} as unknown as Store;
}

async function piecesOf(store: Store): Promise<[number, number, number][]> {
	const p = await lanePieces(store, { by: "coroutine", lanes: [0], from: 0, to: 1000, step: 0.1, maxBlocks: 9 });
	return Array.from(p.type, (type, i) => [type, p.x0[i], p.x1[i]]);
}

const { run, wait, omitted } = PIECE;

test("a complete file: slices and the waits between them", async () => {
	assert.deepEqual(await piecesOf(storeOf(3, [0, 1, 2])), [[run, 0, 10], [wait, 10, 100], [run, 100, 110], [wait, 110, 200], [run, 200, 210], [wait, 210, 300]]);
});

test("where slices were thinned out, no state is claimed", async () => {
	assert.deepEqual(await piecesOf(storeOf(6, [1, 2, 4])),
		[[omitted, 0, 100], [run, 100, 110], [wait, 110, 200], [run, 200, 210], [omitted, 210, 400], [run, 400, 410], [omitted, 410, 600]]);
	assert.deepEqual(await piecesOf(storeOf(6, [])), [[omitted, 0, 600]]);
});
