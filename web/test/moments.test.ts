// SPDX-License-Identifier: MIT
// moments.test.ts - states at a moment against a replay of all events; trees, rings, stacks and wakes that are known.
import { test } from "node:test";
import assert from "node:assert/strict";
import type { Block } from "../src/data/blocks.ts";
import { Coros, F64, SLICE, U32 } from "../src/data/coros.ts";
import { EDGE } from "../src/worker/await_forest.ts";
import { Holds } from "../src/worker/holds.ts";
import { AT, coroAt } from "../src/worker/moment.ts";
import { Moments } from "../src/worker/moments.ts";
import { ALL } from "../src/worker/query.ts";
import { SliceIndexMaker } from "../src/worker/slice_index.ts";
import type { Store } from "../src/worker/store.ts";
import { windowSums, type WindowSum } from "../src/worker/window_sums.ts";
import type { Section } from "../src/data/columns.ts";

const [JOIN, MUTEX, TIMER] = [1, 2, 3];
const REASONS = ["unknown", "join", "mutex", "timer"];

interface TestSlice {
	coro: number;
	n: number;
	start: number;
	end: number;
	flags?: number;
	site?: number;
	reason?: number;
	res?: number;
	woken?: number;
	waker?: number;            // 1 + number
}

interface TestCoro {
	birth: number;
	end?: number;
	state: number;
	since?: number;
	resumes: number;
	parent?: number;           // 1 + number
	woken?: number;
	kind?: number;
}

function corosOf(list: TestCoro[]): Coros {
	const columns: Record<string, Float64Array | Uint32Array> = {};
	for (const name of F64) columns[name] = new Float64Array(list.length).fill(NaN);
	for (const name of U32) columns[name] = new Uint32Array(list.length);
	list.forEach((c, i) => {
		columns.nr[i] = i;
		columns.id_lo[i] = i + 1;
		columns.birth[i] = columns.first[i] = c.birth;
		columns.end[i] = c.end ?? NaN;
		columns.state[i] = c.state;
		columns.since[i] = c.since ?? NaN;
		columns.resumes[i] = columns.suspends[i] = c.resumes;
		columns.parent[i] = c.parent ?? 0;
		columns.kind[i] = c.kind ?? 0;
		columns.woken[i] = c.woken ?? NaN;
		columns.flags[i] = 4 | (c.woken !== undefined ? 32 : 0);
	});
	return Coros.fromSection({ rows: list.length, header: {}, columns });
}

function blockOf(slices: TestSlice[]): Block {
	const column = (f: (s: TestSlice) => number) => Uint32Array.from(slices, f);
	return {
		rows: slices.length, of: slices.length, start: Float64Array.from(slices, (s) => s.start), dur: Float64Array.from(slices, (s) => s.end - s.start),
		thread: column(() => 0), coro: column((s) => s.coro), flags: Uint8Array.from(slices, (s) => (s.flags ?? 0) | (s.res !== undefined ? SLICE.resource : 0)),
		site: column((s) => s.site ?? 0), reason: column((s) => s.reason ?? 0), resLo: column((s) => s.res ?? 0), resHi: column(() => 0),
		wake: Float64Array.from(slices, (s) => (s.woken === undefined ? 0 : s.start - s.woken + 1)), waker: column((s) => s.waker ?? 0), wakeThread: column((s) => (s.woken === undefined ? 0 : 1)),
		n: column((s) => s.n), cpu: null,
	};
}

// @size: slices of a block.
function storeOf(list: TestCoro[], slices: TestSlice[], { size = 1000, holds = null as Section | null, end = 10_000 } = {}): Store {
	slices = [...slices].sort((a, b) => a.start - b.start);
	const blocks: Block[] = [];
	for (let i = 0; i < slices.length; i += size) blocks.push(blockOf(slices.slice(i, i + size)));
	return {
		coros: corosOf(list), end, reasons: REASONS, hasHolds: holds !== null, index: async () => ({ rows: blocks.length, nr: blocks.map((b) => b.rows), of: blocks.map((b) => b.of) }),
		block: async (nr: number) => blocks[nr], columns: async () => {
			if (!holds) throw new Error("no such section");
			return holds;
		},
	} as unknown as Store;
}

// A small generator of numbers that is the same in every run.
function dice(seed: number): (n: number) => number {
	let x = seed;
	return (n) => {
		x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
		return Math.floor((x / 2 ** 32) * n);
	};
}

interface Ev {
	t: number;
	state: number;
}

// Coroutines with random states, as events and as slices.
function randomRun(seed: number): { list: TestCoro[]; slices: TestSlice[]; events: Ev[][] } {
	const roll = dice(seed);
	const list: TestCoro[] = [];
	const slices: TestSlice[] = [];
	const events: Ev[][] = [];
	for (let coro = 0; coro < 12; coro++) {
		let t = 1 + roll(500);
		const mine: Ev[] = [{ t, state: AT.fresh }];
		const birth = t;
		const nr = roll(9);
		let woken: number | undefined;
		for (let n = 0; n < nr; n++) {
			woken = undefined;
			t += 1 + roll(60);
			if (roll(3) > 0) {
				woken = t;
				mine.push({ t, state: AT.ready });
				t += 1 + roll(30);
			}
			const start = t;
			mine.push({ t, state: AT.running });
			t += 1 + roll(40);
			const last = n === nr - 1 && coro % 3 === 0;
			mine.push({ t, state: last ? AT.ended : AT.suspended });
			slices.push({ coro, n, start, end: t, woken, flags: last ? SLICE.ended : 0, site: 5, reason: TIMER });
		}
		const state = mine[mine.length - 1].state;
		list.push({ birth, end: state === AT.ended ? t : undefined, state, since: mine[mine.length - 1].t, resumes: nr });
		events.push(mine);
	}
	return { list, slices, events };
}

test("the state at every moment is that of a replay, with blocks of any size", async () => {
	for (const [seed, size] of [[1, 1000], [2, 3], [3, 1], [4, 17]]) {
		const { list, slices, events } = randomRun(seed);
		const store = storeOf(list, slices, { size });
		const index = await new SliceIndexMaker().make(store, () => {});
		assert.equal(index.nr, slices.length);
		for (let t = 0; t < 1200; t += 7) events.forEach((mine, row) => {
			const now = [...mine].reverse().find((e) => e.t <= t);
			const next = mine.find((e) => e.t > t);
			const a = coroAt(store, index, row, t);
			assert.equal(a.state, now?.state ?? AT.absent, `seed ${seed}, coroutine ${row}, time ${t}`);
			if (now) assert.equal(a.since, now.t);
			assert.equal(a.until, next?.t ?? NaN, `until, seed ${seed}, coroutine ${row}, time ${t}`);
		});
	}
});

// From event to event; the time before the first slice is no wait.
function replayWindow(mine: Ev[], from: number, to: number, sum: WindowSum): void {
	const first = mine.findIndex((e) => e.state === AT.running);
	if (first < 0) return;
	mine.slice(first).forEach((e, i, all) => {
		const ns = Math.max(0, Math.min(to, all[i + 1]?.t ?? to) - Math.max(from, e.t));
		if (e.state === AT.running) sum.ran += ns;
		if (e.state === AT.ready) sum.ready += ns;
		if (e.state === AT.suspended) sum.waited += ns;
	});
}

test("the sums of a window are those of a replay of its events, by group", async () => {
	for (const [seed, size] of [[1, 1000], [5, 2], [6, 17]]) {
		const { list, slices, events } = randomRun(seed);
		list.forEach((c, i) => (c.kind = i % 3));
		const store = storeOf(list, slices, { size, end: 1500 });
		const index = await new SliceIndexMaker().make(store, () => {});
		for (const [from, to] of [[0, 1500], [100, 101], [333, 900], [640, 700], [1400, 9999]]) {
			const want = [0, 1, 2].map(() => ({ ran: 0, ready: 0, waited: 0, unknown: 0 }));
			events.forEach((mine, row) => replayWindow(mine, from, Math.min(to, 1500), want[row % 3]));
			const { byKey } = await windowSums(store, index, { filter: ALL, order: { key: "first", down: false }, group: "kind", open: [], from, to });
			assert.deepEqual([0, 1, 2].map((key) => byKey.get(key)), want, `seed ${seed}, from ${from} to ${to}`);
		}
	}
});

test("a window without the slices of the file says so", async () => {
	const store = storeOf([{ birth: 0, state: 4, since: 900, resumes: 6 }], [{ coro: 0, n: 1, start: 300, end: 350 }, { coro: 0, n: 4, start: 800, end: 900 }], { end: 1000 });
	const index = await new SliceIndexMaker().make(store, () => {});
	const { byKey } = await windowSums(store, index, { filter: ALL, order: { key: "first", down: false }, group: "kind", open: [], from: 200, to: 950 });
	assert.deepEqual(byKey.get(0), { ran: 150, ready: 0, waited: 0, unknown: 100 + 450 + 50 });
});

test("blocks that overlap in time are put in order", async () => {
	const { list, slices, events } = randomRun(5);
	const store = storeOf(list, slices, { size: 1000 });
	const whole = await store.block(0);
	const rows = slices.sort((a, b) => a.start - b.start);
	const halves = [rows.filter((_, i) => i % 2 === 0), rows.filter((_, i) => i % 2 === 1)].map(blockOf);
	Object.assign(store, { index: async () => ({ rows: 2, nr: halves.map((b) => b.rows), of: [0, 0] }), block: async (nr: number) => halves[nr] });
	const index = await new SliceIndexMaker().make(store, () => {});
	assert.equal(index.nr, whole.rows);
	for (let t = 0; t < 1200; t += 31) events.forEach((mine, row) => {
		assert.equal(coroAt(store, index, row, t).state, [...mine].reverse().find((e) => e.t <= t)?.state ?? AT.absent);
	});
});

test("where slices were omitted no state is claimed", async () => {
	const list = [{ birth: 0, state: AT.suspended, since: 900, resumes: 6 }, { birth: 0, state: AT.suspended, since: 950, resumes: 9 }];
	const store = storeOf(list, [
		{ coro: 0, n: 1, start: 100, end: 110, site: 7 }, { coro: 0, n: 4, start: 500, end: 510, site: 7 }, { coro: 0, n: 5, start: 600, end: 900, site: 8 },
	]);
	const index = await new SliceIndexMaker().make(store, () => {});
	const told = [50, 105, 300, 505, 550, 700, 950].map((t) => coroAt(store, index, 0, t).state);
	assert.deepEqual(told, [AT.omitted, AT.running, AT.omitted, AT.running, AT.suspended, AT.running, AT.suspended]);
	assert.equal(coroAt(store, index, 1, 700).state, AT.omitted, "none of its slices is in the file");
});

// main joins a, which joins b, which waits for a timer; c was created by main. 4 and 5 join each other.
function joins(): Store {
	const list: TestCoro[] = [
		{ birth: 0, state: 4, since: 10, resumes: 1 }, { birth: 2, state: 4, since: 20, resumes: 1, parent: 1 }, { birth: 12, state: 4, since: 30, resumes: 1, parent: 2 },
		{ birth: 3, state: 4, since: 40, resumes: 1, parent: 1 }, { birth: 5, state: 4, since: 50, resumes: 1 }, { birth: 6, state: 4, since: 60, resumes: 1, parent: 5 },
	];
	const slice = (coro: number, end: number, reason: number, res?: number): TestSlice => ({ coro, n: 0, start: end - 2, end, reason, res, site: coro + 1 });
	return storeOf(list, [slice(0, 10, JOIN, 2), slice(1, 20, JOIN, 3), slice(2, 30, TIMER), slice(3, 40, TIMER), slice(4, 50, JOIN, 6), slice(5, 60, JOIN, 5)]);
}

const request = (t: number, more = {}) => ({ t, open: [], closed: [], most: 100, sel: 0, ...more });

test("a coroutine is below the one that awaits it, else below its creator; a ring is a ring", async () => {
	const m = new Moments(joins());
	const tree = await m.tree(request(100), null, () => {});
	assert.deepEqual(tree.lines.map((l) => [l.nr, l.depth, l.edge, l.ring]), [
		[4, 0, EDGE.root, 1], [5, 1, EDGE.awaited, 1], [0, 0, EDGE.root, 0], [1, 1, EDGE.awaited, 0], [2, 2, EDGE.awaited, 0], [3, 1, EDGE.created, 0],
	]);
	assert.deepEqual(tree.rings, [[4, 5]]);
	assert.equal(tree.alive, 6);
	// Before 60 coroutine 5 is not waiting yet, so there is no ring.
	const early = await m.tree(request(55), null, () => {});
	assert.deepEqual(early.rings, []);
	assert.deepEqual([early.before, early.after], [50, 58]);
});

test("closed lines stay closed, a selection keeps what is above it", async () => {
	const m = new Moments(joins());
	const closed = await m.tree(request(100, { closed: ["c0"] }), null, () => {});
	assert.deepEqual(closed.lines.map((l) => l.nr), [4, 5, 0]);
	const some = await m.tree(request(100), [2], () => {});
	assert.deepEqual(some.lines.map((l) => [l.nr, l.faint]), [[0, true], [1, true], [2, false]]);
	const few = await m.tree(request(100, { most: 2 }), null, () => {});
	assert.equal(few.lines.length + few.more >= 3, true);
});

test("the asynchronous stack: inwards, outwards, and at a ring", async () => {
	const m = new Moments(joins());
	const a = (await m.stack(1, 100, () => {}))!;
	assert.deepEqual([a.outer.map((l) => l.nr), a.me.nr, a.inner.map((l) => l.nr), a.ring], [[0], 1, [2], false]);
	const ring = (await m.stack(4, 100, () => {}))!;
	assert.deepEqual([ring.inner.map((l) => l.nr), ring.ring], [[5], true]);
	assert.deepEqual([a.before, a.after], [20, NaN]);
	assert.deepEqual((await m.stack(1, 20, () => {}))!.before, 18, "a state that begins now: the one before it");
	assert.equal(await m.stack(99, 100, () => {}), null);
});

test("a lock: who holds it is awaited, also in a ring and after its end", async () => {
	const section = (rows: number[][]): Section => ({
		rows: rows.length, header: {}, columns: Object.fromEntries(["coro", "pid", "res_lo", "res_hi", "from", "to"].map((name, i) => [name, Float64Array.from(rows, (r) => r[i])])),
	});
	const list: TestCoro[] = [{ birth: 0, state: 4, since: 50, resumes: 1 }, { birth: 0, state: 4, since: 60, resumes: 1 }, { birth: 0, state: 5, end: 40, since: 40, resumes: 1 }, { birth: 0, state: 4, since: 70, resumes: 1 }];
	const slices: TestSlice[] = [
		{ coro: 0, n: 0, start: 40, end: 50, reason: MUTEX, res: 700 }, { coro: 1, n: 0, start: 45, end: 60, reason: MUTEX, res: 800 },
		{ coro: 2, n: 0, start: 30, end: 40, flags: SLICE.ended }, { coro: 3, n: 0, start: 65, end: 70, reason: MUTEX, res: 900 },
	];
	const holds = section([[0, 0, 800, 0, 42, NaN], [1, 0, 700, 0, 46, NaN], [3, 0, 700, 0, 1, 20], [2, 0, 900, 0, 35, NaN]]);
	const m = new Moments(storeOf(list, slices, { holds }));
	const tree = await m.tree(request(100), null, () => {});
	assert.deepEqual(tree.rings, [[0, 1]]);
	assert.deepEqual(tree.lines.map((l) => [l.nr, l.depth, l.edge, l.state]), [[0, 0, EDGE.root, 4], [1, 1, EDGE.holder, 4], [3, 0, EDGE.root, 4], [2, 1, EDGE.holder, AT.ended]]);
	assert.deepEqual(new Holds(holds).holdersOf(0, 0, 700, 10), [3]);
	assert.deepEqual(new Holds(holds).holdersOf(0, 0, 700, 30), []);
});

test("leaves that are alike are one line; the chosen one is shown by itself", async () => {
	const list: TestCoro[] = [{ birth: 0, state: 4, since: 5, resumes: 1 }];
	const slices: TestSlice[] = [{ coro: 0, n: 0, start: 1, end: 5, reason: TIMER }];
	for (let i = 1; i <= 5000; i++) {
		list.push({ birth: 6, state: 4, since: 20 + i, resumes: 1, parent: 1 });
		slices.push({ coro: i, n: 0, start: 10, end: 20 + i, reason: TIMER, site: 3 });
	}
	const m = new Moments(storeOf(list, slices));
	const tree = await m.tree(request(9000), null, () => {});
	assert.deepEqual(tree.lines.map((l) => [l.nr, l.count, l.since]), [[0, 1, 5], [1, 5000, 21]]);
	const chosen = await m.tree(request(9000, { sel: 4322 }), null, () => {});
	assert.deepEqual(chosen.lines.map((l) => [l.nr, l.count]), [[0, 1], [4321, 1], [1, 4999]]);
	const open = await m.tree(request(9000, { open: [tree.lines[1].key] }), null, () => {});
	assert.deepEqual([open.lines.length, open.more], [100, 5002 - 100]);
});

test("many that wait for one lock are one line; its holder is below one of them", async () => {
	const waiters = 20;
	const list: TestCoro[] = [{ birth: 0, state: 4, since: 9, resumes: 1 }];
	const slices: TestSlice[] = [{ coro: 0, n: 0, start: 1, end: 9, reason: TIMER }];
	for (let i = 1; i <= waiters; i++) {
		list.push({ birth: 0, state: 4, since: 20 + i, resumes: 1 });
		slices.push({ coro: i, n: 0, start: 10, end: 20 + i, reason: MUTEX, res: 700, site: 3 });
	}
	const columns = { coro: [0], pid: [0], res_lo: [700], res_hi: [0], from: [2], to: [NaN] };
	const holds: Section = { rows: 1, header: { since: 15 }, columns: Object.fromEntries(Object.entries(columns).map(([k, v]) => [k, Float64Array.from(v)])) };
	const m = new Moments(storeOf(list, slices, { holds }));
	const tree = await m.tree(request(100), null, () => {});
	assert.deepEqual(tree.lines.map((l) => [l.nr, l.depth, l.count, l.needs]), [[1, 0, 1, [0]], [0, 1, 1, []], [2, 0, waiters - 1, [0]]]);
	const stack = (await m.stack(0, 100, () => {}))!;
	assert.deepEqual([stack.outer.length, stack.awaiters.length + stack.awaitersMore], [0, waiters]);
	assert.equal(tree.lines[0].needsOmitted, false);
});

test("wakes: backwards to the waker's slice, forwards to all that it woke", async () => {
	const list = [0, 1, 2].map(() => ({ birth: 0, state: 4, since: 400, resumes: 2 }));
	const slices: TestSlice[] = [
		{ coro: 0, n: 0, start: 10, end: 20 }, { coro: 1, n: 0, start: 30, end: 40 }, { coro: 2, n: 0, start: 50, end: 60 },
		{ coro: 0, n: 1, start: 100, end: 200, woken: 90 }, { coro: 1, n: 1, start: 220, end: 230, woken: 150, waker: 1 }, { coro: 2, n: 1, start: 210, end: 215, woken: 160, waker: 1 },
	];
	const m = new Moments(storeOf(list, slices, { size: 2 }));
	const w = await m.wakes(0, 120, () => {});
	assert.deepEqual([w.from, w.to, w.by], [100, 200, { nr: -1, thread: 0, at: 90, from: NaN, to: NaN }]);
	assert.deepEqual(w.woke.map((x) => [x.nr, x.at, x.from, x.to]), [[1, 150, 220, 230], [2, 160, 210, 215]]);
	const back = await m.wakes(1, 190, () => {});
	assert.deepEqual([back.from, back.by], [220, { nr: 0, thread: 0, at: 150, from: 100, to: 200 }], "while it waits: what ends the wait");
	assert.equal((await m.wakes(1, 35, () => {})).by, null);
});

test("a part is made again only where the trace grew", async () => {
	const { list, slices } = randomRun(6);
	const store = storeOf(list, slices, { size: 1 });
	const maker = new SliceIndexMaker();
	let reads = 0;
	const block = store.block.bind(store);
	store.block = (nr) => {
		reads++;
		return block(nr);
	};
	await maker.make(store, () => {});
	const all = reads;
	await maker.make(store, () => {});
	assert.equal(reads, all);
	const index = await store.index();
	store.index = async () => ({ ...index, rows: index.rows - 1, nr: Array.from(index.nr).slice(0, -1) }) as never;
	await maker.make(store, () => {});
	assert.ok(reads - all > 0 && reads - all <= 16);
});
