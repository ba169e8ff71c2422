// SPDX-License-Identifier: MIT
// sums.test.ts - where the time of a range went, against sums made by hand.
import { test } from "node:test";
import assert from "node:assert/strict";
import type { Block } from "../src/data/blocks.ts";
import { histogramOf, mapRow, MAP_ROWS, quantile, stepFrom, stepOf, Steps, sumsOf } from "../src/worker/sums.ts";
import { lower } from "../src/data/histogram.ts";
import type { Store } from "../src/worker/store.ts";

// [coroutine, index among its slices, start, end, site at its end, reason, woken at (or 0)]
type Slice = [number, number, number, number, number, number, number];

function storeOf(slices: Slice[], coros: { kind: number; state: number; since: number; site: number; reason: number; resumes: number; end?: number; parent?: number }[], of = slices.length): Store {
	const column = (i: number) => Uint32Array.from(slices, (s) => s[i]);
	const block = {
		rows: slices.length, coro: column(0), n: column(1), start: Float64Array.from(slices, (s) => s[2]), dur: Float64Array.from(slices, (s) => s[3] - s[2]),
		site: column(4), reason: Uint8Array.from(slices, (s) => s[5]), wake: Float64Array.from(slices, (s) => (s[6] ? s[2] - s[6] + 1 : 0)), flags: new Uint8Array(slices.length),
	} as unknown as Block;
	const values = (f: (c: (typeof coros)[number], i: number) => number) => Float64Array.from(coros, f);
	return {
		end: 1000,
		index: async () => ({ rows: 1, nr: [slices.length], of: [of] }),
		block: async () => block,
		coros: {
			rows: coros.length, rowOf: (nr: number) => (nr < coros.length ? nr : -1),
			c: {
				nr: values((_, i) => i), kind: values((c) => c.kind), state: values((c) => c.state), since: values((c) => c.since), site: values((c) => c.site),
				reason: values((c) => c.reason), resumes: values((c) => c.resumes), birth: values(() => 0), first: values(() => 0), parent: values((c) => c.parent ?? 0), end: values((c) => c.end ?? NaN),
			},
		},
	} as unknown as Store;
}

const TWO = storeOf([
	[0, 0, 100, 200, 1, 3, 0], [1, 0, 200, 250, 2, 4, 0], [0, 1, 400, 450, 1, 3, 350], [0, 2, 600, 700, 2, 4, 0],
], [
	{ kind: 1, state: 4, since: 700, site: 2, reason: 4, resumes: 3 }, { kind: 2, state: 4, since: 250, site: 2, reason: 4, resumes: 1 },
]);
const sums = (from: number, to: number, more: { site?: number; rows?: Uint32Array } = {}, store = TWO) =>
	sumsOf(store, { rows: more.rows ?? null, from, to, site: more.site ?? -1, columns: 10 }, () => {});

test("the whole run", async () => {
	const s = await sums(0, 1000);
	assert.deepEqual([s.coros, s.running, s.ready, s.waiting, s.unknown], [2, 300, 50, 150 + 150 + 300 + 750, 0]);
	assert.deepEqual([s.slices.nr, s.waits.nr, s.readies.nr], [4, 2, 1]);
	assert.deepEqual(s.reasons, [{ reason: 4, waiting: 1050, nr: 0 }, { reason: 3, waiting: 300, nr: 2 }]);
	assert.deepEqual(s.sites.map((x) => [x.site, x.waiting, x.ready, x.waits.nr]), [[2, 1050, 0, 0], [1, 300, 50, 2]]);
	assert.equal(s.stacks.reduce((n, k) => n + k.running + k.ready + k.waiting, 0), 300 + 50 + 1350);
});

test("stacks begin with the creators", async () => {
	const coro = (kind: number, parent: number) => ({ kind, state: 4, since: 0, site: 1, reason: 3, resumes: 0, parent });
	// Of kinds 5, 6 in 5, 6 in 6 in 5, and two that claim to have created each other.
	const s = await sums(0, 1000, {}, storeOf([], [coro(5, 0), coro(6, 1), coro(6, 2), coro(7, 5), coro(8, 4)]));
	assert.deepEqual(s.stacks.map((k) => [k.kinds, k.waiting]).slice(0, 2), [[[5], 1000], [[6, 5], 2000]]);
	assert.equal(s.stacks.reduce((n, k) => n + k.waiting, 0), 5000);
});

test("a range has what is inside of it", async () => {
	const s = await sums(220, 420);
	assert.deepEqual([s.coros, s.running, s.ready, s.waiting], [2, 30 + 20, 50, 130 + 170]);
	assert.deepEqual([s.slices.nr, s.waits.nr], [1, 1]);
	assert.equal(s.waits.max, 200);
	const none = await sums(750, 760, { rows: Uint32Array.of(1) });
	assert.deepEqual([none.coros, none.waiting, none.running], [1, 10, 0]);
});

test("a site has its waits, and the slices that end there", async () => {
	const s = await sums(0, 1000, { site: 1 });
	assert.deepEqual([s.running, s.waiting, s.ready, s.sites.length], [150, 300, 50, 1]);
});

test("a coroutine that is destroyed while suspended waited until then", async () => {
	const store = storeOf([[0, 0, 100, 200, 3, 4, 0]], [{ kind: 1, state: 6, since: 450, site: 3, reason: 4, resumes: 1, end: 450 }]);
	const s = await sums(0, 1000, {}, store);
	assert.deepEqual([s.running, s.waiting, s.ready, s.waits.nr], [100, 250, 0, 0]);
	assert.deepEqual(s.sites.map((x) => [x.site, x.waiting]), [[3, 250]]);
	const never = storeOf([], [{ kind: 1, state: 6, since: 450, site: 0, reason: 0, resumes: 0, end: 450 }]);
	assert.equal((await sums(0, 1000, {}, never)).waiting, 0);
});

test("what was thinned out is not claimed", async () => {
	const store = storeOf([[0, 1, 300, 350, 1, 3, 0], [0, 4, 800, 900, 1, 3, 0]], [{ kind: 1, state: 4, since: 950, site: 1, reason: 3, resumes: 6 }], 6);
	const s = await sums(0, 1000, {}, store);
	assert.deepEqual([s.running, s.waiting, s.unknown, s.thinned], [150, 0, 300 + 450 + 100, true]);
});

test("maps: how many waits that ended in a column took so long", async () => {
	const s = await sums(0, 1000);
	assert.equal(s.waitMap[4 * MAP_ROWS + mapRow(200)], 1);
	assert.equal(s.waitMap[6 * MAP_ROWS + mapRow(150)], 1);
	assert.equal(s.readyMap[4 * MAP_ROWS + mapRow(50)], 1);
	assert.equal(s.waitMap.reduce((n, v) => n + v, 0), 2);
});

test("steps: quantiles are at most 1/32 too large, histograms have the bundle's form", () => {
	for (let ns = 0; ns < 1e12; ns = Math.ceil(ns * 1.07 + 1)) {
		const one = new Steps();
		one.add(ns);
		one.add(ns * 4);
		assert.ok(stepFrom(stepOf(ns)) <= ns, String(ns));
		const q = quantile(one, 0.5);
		assert.ok(q >= ns && q <= ns * (1 + 1 / 32) + 1, `${ns}: ${q}`);
		for (const [step] of histogramOf(one).steps) assert.ok([ns, 4 * ns].some((v) => lower(step) <= v && v < (step === 3 ? 4 : lower(step + 1))), `${ns}: ${step}`);
	}
});
