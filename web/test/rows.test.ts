// SPDX-License-Identifier: MIT
// rows.test.ts - rows of the timeline: groups with sums, order by activity, pins.
import { test } from "node:test";
import assert from "node:assert/strict";
import type { Block } from "../src/data/blocks.ts";
import { ALL } from "../src/worker/query.ts";
import { groupOfLane, laneOfGroup, timelineRows, type RowRequest } from "../src/worker/rows.ts";
import type { Store } from "../src/worker/store.ts";
import { openGroups, toggledOpen } from "../src/ui/timeline/group_rows.ts";
import { rowWithId } from "../src/data/row_with_id.ts";
import { pinsOf, toggledPin } from "../src/ui/timeline/pinned_rows.ts";

// Coroutine i is of kind i % 3 and ran 10 + i ns; the slices of block b begin at 1000 * b.
function storeOf(nr: number, blocks: { coro: number; start: number; dur: number }[][]): Store {
	const each = (fn: (i: number) => number) => Float64Array.from({ length: nr }, (_, i) => fn(i));
	const c = new Proxy({
		nr: each((i) => i), kind: each((i) => i % 3), site: each((i) => i % 2), thread: each(() => 0), ran: each((i) => 10 + i), ready: each(() => 1), waited: each(() => 5),
		findings: each((i) => (i === 4 ? 1 : 0)), first: each(() => 0), end: each(() => NaN), state: each(() => 4), suspends: each((i) => i),
	} as Record<string, Float64Array>, { get: (t, key: string) => t[key] ?? new Float64Array(nr) });
	const made = blocks.map((slices) => ({
		rows: slices.length, start: Float64Array.from(slices, (s) => s.start), dur: Float64Array.from(slices, (s) => s.dur), coro: Uint32Array.from(slices, (s) => s.coro),
	}) as unknown as Block);
	return {
		end: 1e6, strings: [""], sites: { sites: [], kinds: [] }, coros: { rows: nr, c, rowOf: (n: number) => (n < nr ? n : -1), inState: () => 0, id: String },
		index: async () => ({
			overlapping: (from: number, to: number) => made.map((_, i) => i).filter((i) => 1000 * i <= to && 1000 * (i + 1) >= from),
			has: (b: number, coro: number) => blocks[b].some((s) => s.coro === coro),
		}),
		block: async (i: number) => made[i],
	} as unknown as Store;
}

const request = (change: Partial<RowRequest>): RowRequest => ({ filter: ALL, order: { key: "first", down: false }, group: "", open: [], from: 0, to: 1e6, ...change });

test("without groups: every coroutine once", async () => {
	const rows = await timelineRows(storeOf(7, []), request({}));
	assert.deepEqual([...rows.lanes], [0, 1, 2, 3, 4, 5, 6]);
	assert.deepEqual([rows.groups.length, rows.count, rows.active], [0, 7, -1]);
});

test("groups have sums, and rows if they are open", async () => {
	const store = storeOf(7, []);
	const rows = await timelineRows(store, request({ group: "kind", open: [1] }));
	assert.deepEqual(rows.groups.map((g) => [g.key, g.count, g.ran, g.ready, g.waited, g.found, g.isOpen]),
		[[0, 3, 39, 3, 12, 0, false], [1, 2, 25, 2, 8, 1, true], [2, 2, 27, 2, 8, 0, false]]);
	assert.deepEqual([...rows.lanes], [laneOfGroup(0), laneOfGroup(1), 1, 4, laneOfGroup(2)]);
	assert.equal(rows.groups.reduce((n, g) => n + g.count, 0), rows.count);
	const all = await timelineRows(store, request({ group: "site", open: "all", order: { key: "suspends", down: true } }));
	assert.deepEqual([...all.lanes], [laneOfGroup(0), 6, 4, 2, 0, laneOfGroup(1), 5, 3, 1]);
	assert.equal(groupOfLane(laneOfGroup(5)), 5);
});

test("active in the window: by the time that they run in it, the others behind", async () => {
	const store = storeOf(5, [[{ coro: 0, start: 0, dur: 900 }, { coro: 3, start: 100, dur: 0 }], [{ coro: 2, start: 1100, dur: 50 }, { coro: 4, start: 1200, dur: 500 }]]);
	const rows = async (from: number, to: number) => timelineRows(store, request({ order: { key: "active", down: true }, from, to }));
	assert.deepEqual([...(await rows(0, 999)).lanes], [0, 3, 1, 2, 4]);
	const second = await rows(1050, 1999);
	assert.deepEqual([...second.lanes], [4, 2, 0, 1, 3]);
	assert.deepEqual([second.active, second.exact], [2, true]);
	// A slice counts as far as it is in the window.
	assert.deepEqual([...(await rows(1100, 1201)).lanes].slice(0, 2), [2, 4]);
	const grouped = await timelineRows(store, request({ order: { key: "active", down: true }, from: 1050, to: 1999, group: "kind", open: [1] }));
	assert.deepEqual(grouped.groups.map((g) => [g.key, g.active]), [[1, 1], [2, 1], [0, 0]]);
});

test("a window of many blocks is judged by the blocks", async () => {
	const blocks = Array.from({ length: 30 }, (_, b) => [{ coro: b % 2, start: 1000 * b, dur: 1 }, { coro: 2, start: 1000 * b, dur: 1 }]);
	const rows = await timelineRows(storeOf(4, blocks), request({ order: { key: "active", down: true } }));
	assert.deepEqual([[...rows.lanes], rows.exact, rows.active], [[2, 0, 1, 3], false, 3]);
});

test("a hundred thousand coroutines", async () => {
	const rows = await timelineRows(storeOf(100_000, []), request({ group: "kind", open: "all" }));
	assert.equal(rows.lanes.length, 100_003);
	assert.equal(new Set(rows.lanes).size, 100_003);
});

test("the address: open groups and pins, hostile ones ignored", () => {
	assert.deepEqual(openGroups({ open: "3.17.x.-1.99999999999" }), [3, 17]);
	assert.equal(openGroups({ open: "all" }), "all");
	const group = (key: number, isOpen: boolean) => ({ key, isOpen, count: 0, ran: 0, ready: 0, waited: 0, unknown: 0, found: 0, active: -1 });
	assert.equal(toggledOpen([group(3, true), group(1, false), group(9, true)], 1), "1.3.9");
	assert.equal(toggledOpen([group(3, true), group(1, false)], 3), "");
	assert.deepEqual(pinsOf({ pin: "t0.c18446744073709551615.<b>.c.t1e9.t0" }), ["t0", "c18446744073709551615"]);
	assert.equal(toggledPin({ pin: "t0.c4" }, "c4"), "t0");
	assert.equal(toggledPin({}, "c4"), "c4");
});

test("a coroutine is found by its id of 64 bits", () => {
	const coros = { rows: 3, c: { id_lo: [7, 5, 0xffffffff], id_hi: [0, 2, 0xffffffff] } } as unknown as Parameters<typeof rowWithId>[0];
	assert.deepEqual(["7", "8589934597", "18446744073709551615", "5"].map((id) => rowWithId(coros, id)), [0, 1, 2, -1]);
});
