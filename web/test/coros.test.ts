// SPDX-License-Identifier: MIT
// coros.test.ts - coroutines: columns, deltas, filters, order; a life in segments, events and sums.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readSection } from "../src/data/columns.ts";
import { Coros, SLICE } from "../src/data/coros.ts";
import { eventsOf } from "../src/data/events.ts";
import { lower, rebin } from "../src/data/histogram.ts";
import { DOES, segmentAt, segmentsOf } from "../src/data/segments.ts";
import { Series } from "../src/data/series.ts";
import { waitsBySite, wakersOf } from "../src/data/summaries.ts";
import { Viewport, ticks, NARROWEST } from "../src/base/viewport.ts";
import { ALL, select, sort } from "../src/worker/query.ts";
import type { Life } from "../src/worker/life.ts";
import { col, section } from "./make.ts";

const HISTOGRAM = { nr: 0, max: 0, p50: 0, p90: 0, p99: 0, steps: [] };

function table(): Coros {
	return Coros.fromSection(readSection("coros", section([
		col("nr", "u32", [0, 1, 2, 3]), col("id_lo", "u32", [10, 11, 12, 5]), col("id_hi", "u32", [0, 0, 0, 1]), col("name", "u32", [1, 2, 0, 1]),
		col("state", "u8", [4, 3, 5, 2]), col("first", "f64", [0, 5, 7, 9]), col("birth", "f64", [0, NaN, 7, 9]), col("end", "f64", [NaN, NaN, 50, NaN]),
		col("since", "f64", [40, 90, 50, 95]), col("suspends", "u32", [3, 9, 1, 2]), col("site", "u32", [1, 2, 1, 0]), col("kind", "u32", [0, 0, 0, 0]),
		col("longest", "f64", [60, 1, NaN, 5]), col("findings", "u32", [2, 0, 0, 1]), col("parent", "u32", [0, 1, 1, 0]), col("flags", "u16", [0, 0, 0, 0]),
	])));
}

const NAMES = {
	strings: ["", "worker 10", "Worker 9"],
	sites: { sites: ["", "a.c:1 f", "b.c:2 g"].map((text) => ({ text, waits: HISTOGRAM, ready: HISTOGRAM, slices: HISTOGRAM, waiting: 0, oldest: [], findings: 0 })), kinds: [] },
};

const pick = (f: Partial<typeof ALL>) => [...select(table(), NAMES, { ...ALL, ...f }, 100)];

test("ids have 64 bits", () => {
	assert.equal(table().id(3), "4294967301");
	assert.equal(table().rowOfId("4294967301"), 3);
	assert.equal(table().rowOfId("99"), -1);
});

test("filters", () => {
	assert.deepEqual(pick({}), [0, 1, 2, 3]);
	assert.deepEqual(pick({ text: "WORKER" }), [0, 1, 3]);
	assert.deepEqual(pick({ text: "worker b.c" }), [1]);
	assert.deepEqual(pick({ text: "#12" }), [2]);
	assert.deepEqual(pick({ states: 1 << 4 }), [0]);
	assert.deepEqual(pick({ minInState: 50 }), [0]);
	assert.deepEqual(pick({ minSuspends: 3 }), [0, 1]);
	assert.deepEqual(pick({ findings: -1 }), [0, 3]);
	assert.deepEqual(pick({ findings: 1 }), [3]);
	assert.deepEqual(pick({ site: 1 }), [0, 2]);
	assert.deepEqual(pick({ parent: 0 }), [1, 2]);
	assert.deepEqual(pick({ from: 60 }), [0, 1, 3]);
	assert.deepEqual(pick({ to: 6 }), [0, 1]);
});

test("order: unknown last either way, names as people count", () => {
	const by = (key: string, down: boolean) => {
		const rows = Uint32Array.of(0, 1, 2, 3);
		sort(table(), NAMES, rows, { key, down }, 100);
		return [...rows];
	};
	assert.deepEqual(by("suspends", true), [1, 0, 3, 2]);
	assert.deepEqual(by("longest", true), [0, 3, 1, 2]);
	assert.deepEqual(by("longest", false), [1, 3, 0, 2]);
	assert.deepEqual(by("name", false), [1, 0, 3, 2]);
	assert.deepEqual(by("id", true), [3, 2, 1, 0]);
	assert.deepEqual(by("nonsense", false), [0, 1, 2, 3]);
});

test("deltas change rows and add rows", () => {
	const t = table();
	t.apply({ columns: ["nr", "state", "since", "unheard"], rows: [[1, 4, 99, 1], [4, 1, null, 1]] });
	assert.equal(t.rows, 5);
	assert.equal(t.c.state[1], 4);
	assert.equal(t.c.since[1], 99);
	assert.ok(Number.isNaN(t.c.since[4]));
	t.apply({ columns: ["nr", "state"], rows: [[70, 3], [2, 4]] });
	assert.equal(t.rowOf(70), 5);
	assert.equal(t.rowOf(2), 2);
	assert.equal(t.rowOf(6), -1);
});

test("series: a delta replaces the tail", () => {
	const s = new Series();
	const row = (n: number) => new Array<number>(13).fill(n);
	s.apply({ start: 0, width: 8, end: 20, from: 0, rows: [row(1), row(2), row(3)] });
	s.apply({ start: 0, width: 8, end: 30, from: 2, rows: [row(9), row(4)] });
	assert.deepEqual(s.c.alive, [1, 2, 9, 4]);
	assert.deepEqual([...s.times()], [0, 8, 16, 24]);
	assert.equal(s.rates("events")[3], (4 * 1e9) / 6);
});

function life(): Life {
	return {
		nr: 0, rows: 3, start: Float64Array.of(10, 30, 60), dur: Float64Array.of(5, 10, 4), thread: Uint32Array.of(0, 1, 1),
		flags: Uint8Array.of(0, SLICE.resource, 0), site: Uint32Array.of(1, 2, 1), reason: Uint8Array.of(0, 1, 0),
		resLo: Uint32Array.of(0, 7, 0), resHi: Uint32Array.of(0, 0, 0), wake: Float64Array.of(NaN, 6, 0), waker: Uint32Array.of(0, 3, 0),
		wakeThread: Uint32Array.of(0, 1, 1), n: Uint32Array.of(0, 1, 2), queued: Float64Array.of(NaN, 0, 1), blocked: Float64Array.of(NaN, 2, 0),
		thinned: false, truncated: false,
	};
}

test("a life has no gaps", () => {
	const s = segmentsOf(life(), { birth: 0, end: 100, state: 4, since: 64 });
	const got = Array.from({ length: s.rows }, (_, i) => [s.t0[i], s.t1[i], s.does[i]]);
	assert.deepEqual(got, [
		[0, 10, DOES.fresh], [10, 15, DOES.run], [15, 24, DOES.wait], [24, 30, DOES.ready], [30, 40, DOES.run], [40, 60, DOES.wait],
		[60, 64, DOES.run], [64, 100, DOES.wait],
	]);
	assert.equal(segmentAt(s, 25), 3);
	assert.equal(segmentAt(s, 100), -1);
});

test("where slices were left out, nothing is made up", () => {
	const thin = { ...life(), n: Uint32Array.of(4, 5, 9), thinned: true };
	const s = segmentsOf(thin, { birth: 0, end: 100, state: 4, since: 64 });
	assert.deepEqual(Array.from({ length: s.rows }, (_, i) => [s.t0[i], s.t1[i], s.does[i]]), [
		[10, 15, DOES.run], [15, 24, DOES.wait], [24, 30, DOES.ready], [30, 40, DOES.run], [60, 64, DOES.run], [64, 100, DOES.wait],
	]);
	assert.equal(segmentAt(s, 50), -1);
	assert.deepEqual(waitsBySite(thin, { coros: table(), now: 100 }, 0), [{ site: 1, count: 2, total: 51, longest: 36 }]);
});

test("waits by place, wakers, events", () => {
	const t = table();
	const waits = waitsBySite(life(), { coros: t, now: 100 }, 0);
	assert.deepEqual(waits, [{ site: 1, count: 2, total: 51, longest: 36 }, { site: 2, count: 1, total: 20, longest: 20 }]);
	assert.deepEqual(wakersOf(life()), [{ waker: 3, count: 1, delay: 6, longest: 6 }, { waker: 0, count: 1, delay: 0, longest: 0 }]);
	const events = eventsOf(life(), { coros: t, reason: (n) => (n ? "io-read" : "") }, 0).reverse();
	assert.deepEqual(events.map((e) => [e.ts, e.what]), [
		[10, "resume"], [15, "suspend"], [24, "wake"], [30, "resume"], [40, "suspend"], [60, "wake"], [60, "resume"], [64, "suspend"],
	]);
	assert.equal(events[4].why, "io-read 7");
	assert.equal(events[2].waker, 3);
});

test("histogram steps", () => {
	assert.deepEqual([0, 1, 3, 8, 9, 12].map(lower), [0, 1, 3, 4, 5, 8]);
	const bins = rebin({ ...HISTOGRAM, nr: 6, steps: [[1, 2], [40, 3], [400, 1]] }, 1, 1e6, 6);
	assert.equal(bins.reduce((a, b) => a + b), 6);
	assert.equal(bins[0], 2);
	assert.equal(bins[5], 1);
});

test("a viewport stays within the run, and under the pointer", () => {
	const v = new Viewport();
	v.setLimits(0, 1000);
	v.fit();
	assert.ok(v.isWhole);
	v.zoom(0.1, 500);
	assert.ok(Math.abs((500 - v.from) / v.span - 0.5) < 1e-9);
	v.pan(1e9);
	assert.equal(v.to, 1010);
	v.pan(-Infinity);
	assert.equal(v.from, -10);
	for (let i = 0; i < 100; i++) v.zoom(0.5, 100);
	assert.equal(v.span, NARROWEST);
	for (let i = 0; i < 100; i++) v.zoom(2, 100);
	assert.ok(v.isWhole);
	v.set(-5000, 5000);
	assert.ok(v.isWhole);
});

test("ticks are round, and not too many", () => {
	assert.deepEqual(ticks(0, 1000, 5), { step: 200, at: [0, 200, 400, 600, 800, 1000] });
	for (const [from, to] of [[0, 20], [1e9, 1e9 + 37], [0, 3e12]]) {
		const t = ticks(from, to, 10);
		assert.ok(t.at.length >= 2 && t.at.length <= 11, `${from} ${to}: ${t.at.length}`);
		assert.ok(t.at.every((x) => x % t.step === 0));
	}
});
