// SPDX-License-Identifier: MIT
// lanes.ts - the data of the timeline: for each visible lane its pieces, none much smaller than a
// pixel.

import type { Block, BlockIndex } from "../data/blocks.ts";
import { Lod, type Level } from "../data/lod.ts";
import { SLICE } from "../data/coros.ts";
import type { Store } from "./store.ts";

// omitted: slices of this time were thinned out of the file, so that its state is not known.
export const PIECE = { run: 0, wait: 1, ready: 2, busy: 3, omitted: 4 } as const;

export interface LaneRequest {
	by: "thread" | "coroutine";
	lanes: number[];           // threads by index, or numbers of coroutines
	from: number;
	to: number;
	step: number;              // ns per pixel
	maxBlocks: number;
}

// Pieces of lane i are those from first[i] to below first[i + 1], in order of time.
export interface Pieces {
	request: LaneRequest;
	exact: boolean;            // from slices; else from levels of detail or lives alone
	blocks: number;            // that a complete picture would need
	thinned: boolean;
	first: Uint32Array;
	x0: Float64Array;
	x1: Float64Array;
	type: Uint8Array;
	coro: Uint32Array;         // 1 + number; 0: several
	thread: Uint32Array;
	site: Uint32Array;
	reason: Uint8Array;
	flags: Uint8Array;
	count: Uint32Array;        // slices in it; none in a wait
	part: Float32Array;        // the busy share of it
	queued: Float64Array;      // ns in which the thread waited for a processor; NaN: not measured
	blocked: Float64Array;     // ns in the kernel
	call: Uint16Array;         // index in calls
	calls: string[];           // system calls; the first is ""
	// Waits that are wide enough to be seen: of piece i from awayFirst[i] to below awayFirst[i + 1].
	awayFirst: Uint32Array;
	awayX0: Float64Array;
	awayX1: Float64Array;
	awayBlocked: Uint8Array;
	// Wakes: from a thread (and perhaps a coroutine) at a time to the start of a slice.
	wakes: { at: number; to: number; fromThread: number; toThread: number; waker: number; coro: number }[];
}

interface Piece {
	x0: number; x1: number; type: number; coro: number; thread: number; site: number; reason: number;
	flags: number; count: number; busy: number; cpu?: PieceCpu;
}

interface PieceCpu {
	queued: number; blocked: number; call: string;
	waits: { x0: number; x1: number; isBlocked: number }[];
}

// Of slice @r; undefined: not measured.
function cpuOf(b: Block, r: number, step: number): PieceCpu | undefined {
	const c = b.cpu;
	if (!c || !(b.flags[r] & SLICE.measured)) return undefined;
	const out: PieceCpu = { queued: c.queued[r], blocked: c.blocked[r], call: c.calls[c.call[r] - 1] ?? "", waits: [] };
	for (let i = c.first[r]; i < c.first[r + 1]; i++) {
		const x0 = b.start[r] + c.after[i];
		if (c.ns[i] >= step / 2) out.waits.push({ x0, x1: x0 + c.ns[i], isBlocked: c.isBlocked[i] });
	}
	return out;
}

function joined(a: PieceCpu | undefined, b: PieceCpu | undefined): PieceCpu | undefined {
	return a && b ? { queued: a.queued + b.queued, blocked: a.blocked + b.blocked, call: "", waits: [] } : undefined;
}

const NO_CPU: PieceCpu = { queued: 0, blocked: 0, call: "", waits: [] };

const MAX_WAKES = 1500;
const MANY = 700; // slices in a lane

class Lane {
	readonly pieces: Piece[] = [];
	private readonly step: number;

	constructor(step: number) {
		this.step = step;
	}

	// Pieces that would share a pixel become one, which holds the share of it that was running.
	add(x0: number, x1: number, type: number, coro: number, thread: number, site: number, reason: number, flags: number, cpu?: PieceCpu): void {
		const last = this.pieces[this.pieces.length - 1];
		const [runs, busy] = type === PIECE.run ? [1, x1 - x0] : [0, 0];
		if (last && type !== PIECE.omitted && last.type !== PIECE.omitted &&
			x1 - x0 < this.step && last.x1 - last.x0 < this.step && x1 - last.x0 < this.step * 1.5) {
			last.cpu = joined(last.type === PIECE.wait || last.type === PIECE.ready ? NO_CPU : last.cpu, type === PIECE.run ? cpu : NO_CPU);
			last.type = PIECE.busy;
			last.count += runs;
			last.busy += busy;
			last.x1 = Math.max(last.x1, x1);
			if (last.coro !== coro) last.coro = 0;
			return;
		}
		this.pieces.push({ x0, x1, type, coro, thread, site, reason, flags, count: runs, busy, cpu });
	}
}

function pack(request: LaneRequest, lanes: Lane[], wakes: Pieces["wakes"], facts: { exact: boolean; blocks: number; thinned: boolean }): Pieces {
	const total = lanes.reduce((n, l) => n + l.pieces.length, 0);
	const waits = lanes.reduce((n, l) => l.pieces.reduce((m, p) => m + (p.cpu?.waits.length ?? 0), n), 0);
	const out: Pieces = {
		request, ...facts, first: new Uint32Array(lanes.length + 1), x0: new Float64Array(total), x1: new Float64Array(total),
		type: new Uint8Array(total), coro: new Uint32Array(total), thread: new Uint32Array(total), site: new Uint32Array(total),
		reason: new Uint8Array(total), flags: new Uint8Array(total), count: new Uint32Array(total),
		part: new Float32Array(total), wakes, queued: new Float64Array(total), blocked: new Float64Array(total), call: new Uint16Array(total),
		calls: [""], awayFirst: new Uint32Array(total + 1), awayX0: new Float64Array(waits), awayX1: new Float64Array(waits), awayBlocked: new Uint8Array(waits),
	};
	let [i, away] = [0, 0];
	lanes.forEach((lane, nr) => {
		out.first[nr] = i;
		for (const p of lane.pieces) {
			out.x0[i] = p.x0;
			out.x1[i] = p.x1;
			out.type[i] = p.type;
			out.coro[i] = p.coro;
			out.thread[i] = p.thread;
			out.site[i] = p.site;
			out.reason[i] = p.reason;
			out.flags[i] = p.flags;
			out.count[i] = p.count;
			out.part[i] = p.x1 > p.x0 ? Math.min(1, p.busy / (p.x1 - p.x0)) : 1;
			out.queued[i] = p.cpu?.queued ?? NaN;
			out.blocked[i] = p.cpu?.blocked ?? NaN;
			if (p.cpu?.call) out.call[i] = callIndex(out.calls, p.cpu.call);
			out.awayFirst[i] = away;
			for (const w of p.cpu?.waits ?? []) {
				out.awayX0[away] = w.x0;
				out.awayX1[away] = w.x1;
				out.awayBlocked[away++] = w.isBlocked;
			}
			i++;
		}
	});
	out.first[lanes.length] = i;
	out.awayFirst[total] = away;
	return out;
}

function callIndex(calls: string[], name: string): number {
	const at = calls.indexOf(name);
	return at >= 0 ? at : calls.push(name) - 1;
}

function wakeOf(b: Block, r: number): Pieces["wakes"][number] {
	return {
		at: b.start[r] - (b.wake[r] - 1), to: b.start[r], fromThread: b.wakeThread[r] - 1, toThread: b.thread[r],
		waker: b.waker[r], coro: b.coro[r] + 1,
	};
}

function fromLevel(lod: Lod, level: Level, q: LaneRequest, thread: number, lane: Lane): void {
	const begin = Math.max(0, Math.floor((q.from - level.start) / level.width));
	const end = Math.min(level.count, Math.ceil((q.to - level.start) / level.width));
	for (let b = begin; b < end; b++) {
		const row = level.row + thread * level.count + b;
		if (lod.busy[row] === 0) continue;
		const x0 = level.start + b * level.width;
		lane.pieces.push({
			x0, x1: x0 + level.width, type: PIECE.busy, coro: lod.coro[row], thread, site: 0, reason: 0, flags: 0,
			count: lod.switches[row], busy: Lod.busyPart(lod.busy[row]) * level.width,
		});
	}
}

// The estimated number of slices in the range, assuming even blocks.
function estimate(index: BlockIndex, blocks: number[], q: LaneRequest): number {
	return blocks.reduce((n, b) => {
		const span = Math.max(1, index.to[b] - index.from[b]);
		const part = (Math.min(q.to, index.to[b]) - Math.max(q.from, index.from[b])) / span;
		return n + index.of[b] * Math.max(0, Math.min(1, part));
	}, 0);
}

async function threadLanes(store: Store, q: LaneRequest): Promise<Pieces> {
	const index = await store.index();
	const lod = await store.lod();
	const blocks = index.overlapping(q.from, q.to);
	const lanes = q.lanes.map(() => new Lane(q.step));
	const thinned = blocks.some((b) => index.nr[b] < index.of[b]);
	const level = lod.levelFor(q.step);
	// Slices if they are few enough to be seen one by one, or if levels are too coarse for the
	// pixels.
	const crowded = estimate(index, blocks, q) > q.lanes.length * MANY;
	const fine = level !== null && level.width <= q.step * 3;
	if (level && (blocks.length > q.maxBlocks || (fine && (crowded || thinned)))) {
		q.lanes.forEach((thread, i) => fromLevel(lod, level, q, thread, lanes[i]));
		return pack(q, lanes, [], { exact: false, blocks: blocks.length, thinned });
	}
	const at = new Map(q.lanes.map((thread, i) => [thread, i]));
	const wakes: Pieces["wakes"] = [];
	for (const nr of blocks) {
		const b = await store.block(nr);
		for (let r = 0; r < b.rows; r++) {
			const x0 = b.start[r];
			const x1 = x0 + b.dur[r];
			if (x1 < q.from || x0 > q.to) continue;
			const lane = at.get(b.thread[r]);
			if (lane === undefined) continue;
			if (!(b.flags[r] & SLICE.headless))
				lanes[lane].add(x0, x1, PIECE.run, b.coro[r] + 1, b.thread[r], b.site[r], b.reason[r], b.flags[r], cpuOf(b, r, q.step));
			if (b.wake[r] > 0 && wakes.length <= MAX_WAKES) wakes.push(wakeOf(b, r));
		}
	}
	return pack(q, lanes, wakes.length > MAX_WAKES ? [] : wakes, { exact: true, blocks: blocks.length, thinned });
}

// The end of the last slice before the picture, so that its wait can be drawn from there.
interface Before {
	end: number;
	site: number;
	reason: number;
	over: boolean;
	n: number;                 // its index among the coroutine's slices; -1: unknown
}

const bornAt = (store: Store, row: number): number => (Number.isNaN(store.coros.c.birth[row]) ? store.coros.c.first[row] : store.coros.c.birth[row]);
const endOf = (store: Store, row: number): number => (Number.isNaN(store.coros.c.end[row]) ? store.end : store.coros.c.end[row]);

function addOmitted(lane: Lane, coro: number, from: number, to: number): void {
	if (to > from) lane.add(from, to, PIECE.omitted, coro + 1, 0, 0, 0, 0);
}

// The file has the slice before, so that the time between them is a wait.
function isNextOf(before: Before, b: Block, r: number, thinned: boolean): boolean {
	return b.n && before.n >= 0 ? b.n[r] === before.n + 1 : !thinned;
}

function addWait(lane: Lane, coro: number, before: Before, b: Block, r: number, thinned: boolean): void {
	const start = b.start[r];
	if (start < before.end || before.over) return;
	if (!isNextOf(before, b, r, thinned)) {
		addOmitted(lane, coro, before.end, start);
		return;
	}
	const woken = b.wake[r] > 0 ? Math.max(before.end, start - (b.wake[r] - 1)) : start;
	if (woken > before.end) lane.add(before.end, woken, PIECE.wait, coro + 1, 0, before.site, before.reason, 0);
	if (start > woken) lane.add(woken, start, PIECE.ready, coro + 1, 0, before.site, before.reason, 0);
}

// Its present state, after its last slice.
function addTail(store: Store, lane: Lane, coro: number, before: Before | null, thinned: boolean): void {
	const row = store.coros.rowOf(coro);
	if (row < 0) return;
	const c = store.coros.c;
	const state = c.state[row];
	const from = before ? before.end : bornAt(store, row);
	if (thinned && !before?.over && (before ? before.n + 1 : 0) < c.resumes[row]) {
		addOmitted(lane, coro, from, endOf(store, row));
		return;
	}
	if (state >= 5 || state === 3) return;
	if (state === 2) {
		const woken = Math.max(from, c.since[row]);
		if (before && woken > from) lane.add(from, woken, PIECE.wait, coro + 1, 0, c.site[row], c.reason[row], 0);
		lane.add(woken, store.end, PIECE.ready, coro + 1, 0, c.site[row], c.reason[row], 0);
	} else if (state === 4 || before) {
		lane.add(from, store.end, PIECE.wait, coro + 1, 0, c.site[row], c.reason[row], 0);
	}
}

function blocksWith(index: BlockIndex, lanes: number[], from: number, to: number): number[] {
	return index.overlapping(from, to).filter((b) => lanes.some((nr) => index.has(b, nr)));
}

// Alive before the picture begins, in a state that is not looked up: assumed to wait, as most do.
function alreadyThere(store: Store, nr: number, from: number): Before | null {
	const row = store.coros.rowOf(nr);
	if (row < 0 || !(store.coros.c.first[row] < from) || store.coros.c.end[row] < from) return null;
	return { end: from, site: 0, reason: 0, over: false, n: -1 };
}

// After the last visible slice, up to the edge of the picture or its end.
function addWaitUntil(store: Store, lane: Lane, nr: number, last: Before, edge: number, thinned: boolean): void {
	const row = store.coros.rowOf(nr);
	if (row < 0) return;
	const to = Math.min(edge, endOf(store, row));
	if (thinned) addOmitted(lane, nr, last.end, to);
	else lane.add(last.end, to, PIECE.wait, nr + 1, 0, last.site, last.reason, 0);
}

// Before its first slice in the file, if others were before it.
function addFirstOmitted(store: Store, lane: Lane, b: Block, r: number): void {
	const row = store.coros.rowOf(b.coro[r]);
	if (row >= 0 && b.n && b.n[r] > 0) addOmitted(lane, b.coro[r], bornAt(store, row), b.start[r]);
}

async function coroLanes(store: Store, q: LaneRequest): Promise<Pieces> {
	const index = await store.index();
	const lanes = q.lanes.map(() => new Lane(q.step));
	const at = new Map(q.lanes.map((nr, i) => [nr, i]));
	// A wait that began before the picture is in a block before it: all blocks that may hold it are
	// read, unless they are too many.
	let blocks = blocksWith(index, q.lanes, -Infinity, Infinity);
	const all = blocks.length <= q.maxBlocks;
	if (!all) blocks = blocksWith(index, q.lanes, q.from, q.to);
	const thinned = blocks.some((b) => index.nr[b] < index.of[b]);
	if (blocks.length > q.maxBlocks) return pack(q, lanes, [], { exact: false, blocks: blocks.length, thinned });
	const before: (Before | null)[] = q.lanes.map((nr) => (all ? null : alreadyThere(store, nr, q.from)));
	const wakes: Pieces["wakes"] = [];
	for (const nr of blocks) {
		const b = await store.block(nr);
		for (let r = 0; r < b.rows; r++) {
			const lane = at.get(b.coro[r]);
			if (lane === undefined) continue;
			const x0 = b.start[r];
			const x1 = x0 + b.dur[r];
			const last = before[lane];
			if (last && x0 >= q.from && last.end <= q.to) addWait(lanes[lane], b.coro[r], last, b, r, thinned);
			if (!last && x0 >= q.from && all) addFirstOmitted(store, lanes[lane], b, r);
			before[lane] = { end: x1, site: b.site[r], reason: b.reason[r], over: (b.flags[r] & SLICE.ended) !== 0, n: b.n ? b.n[r] : -1 };
			if (x1 < q.from || x0 > q.to) continue;
			if (!(b.flags[r] & SLICE.headless))
				lanes[lane].add(x0, x1, PIECE.run, b.coro[r] + 1, b.thread[r], b.site[r], b.reason[r], b.flags[r], cpuOf(b, r, q.step));
			if (b.wake[r] > 0 && wakes.length <= MAX_WAKES) wakes.push(wakeOf(b, r));
		}
	}
	q.lanes.forEach((nr, i) => {
		const last = before[i];
		if (last && last.end > q.to) return;
		if (all) addTail(store, lanes[i], nr, last, thinned);
		else if (last && !last.over) addWaitUntil(store, lanes[i], nr, last, q.to, thinned);
	});
	return pack(q, lanes, wakes.length > MAX_WAKES ? [] : wakes, { exact: true, blocks: blocks.length, thinned });
}

export function lanePieces(store: Store, q: LaneRequest): Promise<Pieces> {
	return q.by === "thread" ? threadLanes(store, q) : coroLanes(store, q);
}

export function transferables(p: Pieces): ArrayBuffer[] {
	return [p.first, p.x0, p.x1, p.type, p.coro, p.thread, p.site, p.reason, p.flags, p.count, p.part, p.queued, p.blocked, p.call,
		p.awayFirst, p.awayX0, p.awayX1, p.awayBlocked]
		.map((a) => a.buffer as ArrayBuffer);
}
