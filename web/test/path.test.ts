// SPDX-License-Identifier: MIT
// path.test.ts - the critical path of a chain that is known.
import { test } from "node:test";
import assert from "node:assert/strict";
import type { Block } from "../src/data/blocks.ts";
import { pathTo } from "../src/worker/path.ts";
import type { Store } from "../src/worker/store.ts";

// [coroutine, index among its slices, start, end, woken at (NaN: not recorded), 1 + waker]
type Slice = [number, number, number, number, number, number];

function storeOf(slices: Slice[], of = slices.length): Store {
	slices.sort((a, b) => a[2] - b[2]);
	const column = (i: number) => Uint32Array.from(slices, (s) => s[i]);
	const zeros = () => new Uint32Array(slices.length);
	const block = {
		rows: slices.length, coro: column(0), n: column(1), start: Float64Array.from(slices, (s) => s[2]), dur: Float64Array.from(slices, (s) => s[3] - s[2]),
		wake: Float64Array.from(slices, (s) => (Number.isNaN(s[4]) ? 0 : s[2] - s[4] + 1)), waker: column(5), wakeThread: zeros(), thread: zeros(),
		site: Uint32Array.from(slices, (s) => s[0] + 10), reason: zeros(), resLo: zeros(), resHi: zeros(), flags: new Uint8Array(slices.length), cpu: null,
	} as unknown as Block;
	return { end: 1000, index: async () => ({ rows: 1, nr: [slices.length], of: [of], withCoro: () => [0] }), block: async () => block } as unknown as Store;
}

const told = async (store: Store, nr: number, at: number) =>
	(await pathTo(store, nr, at, () => {})).steps.map((s) => [s.nr, s.state, s.from, s.to]);

test("from wake to waker, without gaps", async () => {
	// 2 wakes 1 at 220, 1 wakes 0 at 330; 2 itself was not woken by a coroutine.
	const store = storeOf([[0, 0, 0, 50, NaN, 0], [0, 1, 340, 400, 330, 2], [1, 0, 60, 100, NaN, 0], [1, 1, 240, 350, 220, 3], [2, 0, 110, 120, NaN, 0], [2, 1, 200, 230, 190, 0]]);
	assert.deepEqual(await told(store, 0, 400), [
		[0, "running", 340, 400], [0, "ready", 330, 340], [1, "running", 240, 330], [1, "ready", 220, 240], [2, "running", 200, 220], [2, "ready", 190, 200],
		[2, "waiting", 120, 190], [2, "running", 110, 120],
	]);
});

test("two that wake each other end at the beginning", async () => {
	const slices: Slice[] = [];
	for (let i = 0; i < 50; i++) slices.push([i % 2, i >> 1, 10 * i, 10 * i + 8, i > 0 ? 10 * i - 5 : NaN, i > 0 ? 2 - (i % 2) : 0]);
	const steps = await told(storeOf(slices), 1, 498);
	assert.equal(steps[steps.length - 1][2], 0);
	steps.slice(1).forEach((s, i) => assert.equal(s[3], steps[i][2], `step ${i}`));
});

test("slices that are not in the file are not claimed", async () => {
	assert.deepEqual(await told(storeOf([[0, 0, 0, 50, NaN, 0], [0, 3, 300, 400, NaN, 0]], 4), 0, 400), [[0, "running", 300, 400], [0, "not known", 50, 300], [0, "running", 0, 50]]);
});
