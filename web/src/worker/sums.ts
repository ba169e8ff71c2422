// SPDX-License-Identifier: MIT
// sums.ts - where the time of a selection went: sums by state, reason, site and kind, and how long waits took over time.

import type { Block } from "../data/blocks.ts";
import { SLICE } from "../data/coros.ts";
import type { Histogram } from "../data/types.ts";
import type { Store } from "./store.ts";

export interface SumRequest {
	rows: Uint32Array | null;  // coroutines; null: all
	from: number;
	to: number;
	site: number;              // only waits there and slices that end there; -1: all
	columns: number;           // of the maps
}

// Of complete waits, ready times or slices that end in the range: SUB steps to each power of two.
export class Steps {
	nr = 0;
	max = 0;
	readonly steps = new Uint32Array(STEPS);

	add(ns: number): void {
		this.nr++;
		if (ns > this.max) this.max = ns;
		this.steps[stepOf(ns)]++;
	}
}

const SUB_BITS = 5;
const SUB = 2 ** SUB_BITS;
const POWERS = 48;             // up to 78 hours
const STEPS = SUB * POWERS;

export function stepOf(ns: number): number {
	if (ns < SUB) return Math.max(0, Math.floor(ns));
	let power = Math.min(POWERS - 1, Math.floor(Math.log2(ns)));
	if (2 ** power > ns) power--; // the logarithm may be rounded up
	return Math.min(STEPS - 1, SUB * power + (Math.floor(ns / 2 ** (power - SUB_BITS)) % SUB));
}

// The smallest value of a step.
export function stepFrom(step: number): number {
	return step < SUB ? step : (SUB + (step % SUB)) * 2 ** (Math.floor(step / SUB) - SUB_BITS);
}

// At least the value that the share @part of all do not exceed, and at most 1/32 more.
export function quantile(s: Pick<Steps, "nr" | "max" | "steps">, part: number): number {
	const rank = Math.max(1, Math.ceil(part * s.nr));
	for (let step = 0, below = 0; step < s.steps.length; step++) {
		below += s.steps[step];
		if (below >= rank) return Math.min(s.max, step < SUB ? step : stepFrom(nextStep(step)));
	}
	return s.max;
}

// Steps between SUB and the first power of two that has steps are not used.
const nextStep = (step: number): number => (step === SUB - 1 ? SUB * SUB_BITS : step + 1);

// The form of the bundle's histograms: four steps to each power of two.
export function histogramOf(s: Pick<Steps, "nr" | "max" | "steps">): Histogram {
	const steps = new Map<number, number>();
	s.steps.forEach((n, step) => {
		if (n === 0) return;
		const from = stepFrom(step);
		const power = from < 4 ? 0 : Math.floor(Math.log2(from));
		const at = from < 4 ? from : 4 * power + (Math.floor(from / 2 ** (power - 2)) % 4);
		steps.set(at, (steps.get(at) ?? 0) + n);
	});
	return { nr: s.nr, max: s.max, p50: quantile(s, 0.5), p90: quantile(s, 0.9), p99: quantile(s, 0.99), steps: [...steps] };
}

export interface SiteSum {
	site: number;
	waiting: number;           // ns in the range
	ready: number;
	waits: Steps;
	readies: Steps;
}

export interface StackSum {
	kinds: number[];           // its own, that of its creator, and so on
	site: number;              // 0: not known, or the slices' last
	reason: number;
	running: number;
	ready: number;
	waiting: number;
}

export interface Sums {
	from: number;
	to: number;
	coros: number;             // with some of this time
	running: number;           // ns
	ready: number;
	waiting: number;
	unknown: number;           // ns between slices of which some are not in this file
	slices: Steps;
	waits: Steps;
	readies: Steps;
	reasons: { reason: number; waiting: number; nr: number }[];
	sites: SiteSum[];          // longest time first
	stacks: StackSum[];
	waitMap: Uint32Array;      // columns x MAP_ROWS: how many waits that ended then took so long
	readyMap: Uint32Array;
	thinned: boolean;
}

export const MAP_ROWS = 44;    // four to each power of ten, from 1 ns

export function mapRow(ns: number): number {
	return ns < 1 ? 0 : Math.min(MAP_ROWS - 1, Math.floor(4 * Math.log10(ns)));
}

const both = (from: number, to: number, a: number, b: number): number => Math.max(0, Math.min(to, b) - Math.max(from, a));

const CHAIN_MOST = 12;

// Who created whom, by kinds: coroutines of one kind with creators of the same kinds share a chain.
class Chains {
	private readonly store: Store;
	private readonly known: Int32Array;                 // of each coroutine; -1: not yet
	private readonly all: { kind: number; above: number; depth: number }[] = [];
	private readonly byKey = new Map<number, number>();

	constructor(store: Store, numbers: number) {
		this.store = store;
		this.known = new Int32Array(numbers).fill(-1);
	}

	of(nr: number): number {
		if (this.known[nr] >= 0) return this.known[nr];
		// From the outermost creator that is not known yet.
		const path: number[] = [];
		let at = nr;
		for (; path.length < 1000 && at >= 0 && !(this.known[at] >= 0) && !path.includes(at); at = this.parentOf(at)) path.push(at);
		let above = at >= 0 && this.known[at] >= 0 ? this.known[at] : -1;
		for (const one of path.reverse()) this.known[one] = above = this.add(this.kindOf(one), above);
		return this.known[nr];
	}

	kinds(chain: number): number[] {
		const out: number[] = [];
		for (let at = chain; at >= 0; at = this.all[at].above) out.push(this.all[at].kind);
		return out;
	}

	private kindOf(nr: number): number {
		const row = this.store.coros.rowOf(nr);
		return row >= 0 ? this.store.coros.c.kind[row] : 0;
	}

	private parentOf(nr: number): number {
		const row = this.store.coros.rowOf(nr);
		return row >= 0 ? this.store.coros.c.parent[row] - 1 : -1;
	}

	// A kind that creates its own kind is there once; very long chains end.
	private add(kind: number, above: number): number {
		if (above >= 0 && (this.all[above].kind === kind || this.all[above].depth >= CHAIN_MOST)) return above;
		const key = (above + 1) * 2 ** 24 + kind;
		let at = this.byKey.get(key);
		if (at === undefined) {
			at = this.all.push({ kind, above, depth: above >= 0 ? this.all[above].depth + 1 : 0 }) - 1;
			this.byKey.set(key, at);
		}
		return at;
	}
}

class Summing {
	readonly out: Sums;
	private readonly q: SumRequest;
	private readonly store: Store;
	private readonly sites = new Map<number, SiteSum>();
	private readonly reasons = new Map<number, { reason: number; waiting: number; nr: number }>();
	private readonly stacks = new Map<number, StackSum>();
	private readonly seen: Uint8Array;
	private readonly chains: Chains;

	constructor(store: Store, q: SumRequest, numbers: number) {
		this.store = store;
		this.q = q;
		this.seen = new Uint8Array(numbers);
		this.chains = new Chains(store, numbers);
		const map = () => new Uint32Array(q.columns * MAP_ROWS);
		this.out = {
			from: q.from, to: q.to, coros: 0, running: 0, ready: 0, waiting: 0, unknown: 0, slices: new Steps(), waits: new Steps(), readies: new Steps(),
			reasons: [], sites: [], stacks: [], waitMap: map(), readyMap: map(), thinned: false,
		};
	}

	private isIn(at: number): boolean {
		return at >= this.q.from && at <= this.q.to;
	}

	private mark(map: Uint32Array, at: number, ns: number): void {
		const column = Math.min(this.q.columns - 1, Math.floor((at - this.q.from) / Math.max(1, this.q.to - this.q.from) * this.q.columns));
		map[column * MAP_ROWS + mapRow(ns)]++;
	}

	private touch(nr: number): void {
		if (this.seen[nr]) return;
		this.seen[nr] = 1;
		this.out.coros++;
	}

	private stack(nr: number, site: number, reason: number): StackSum {
		const chain = this.chains.of(nr);
		const key = (chain * 2 ** 20 + site) * 256 + reason;
		let s = this.stacks.get(key);
		if (!s) this.stacks.set(key, s = { kinds: this.chains.kinds(chain), site, reason, running: 0, ready: 0, waiting: 0 });
		return s;
	}

	private site(site: number): SiteSum {
		let s = this.sites.get(site);
		if (!s) this.sites.set(site, s = { site, waiting: 0, ready: 0, waits: new Steps(), readies: new Steps() });
		return s;
	}

	slice(nr: number, from: number, to: number, site: number, reason: number): void {
		if (this.q.site >= 0 && site !== this.q.site) return;
		const ns = both(from, to, this.q.from, this.q.to);
		if (ns <= 0 && !this.isIn(to)) return;
		this.touch(nr);
		this.out.running += ns;
		this.stack(nr, site, reason).running += ns;
		if (this.isIn(to)) this.out.slices.add(to - from);
	}

	// A wait from @from, woken at @woken, until the coroutine ran at @to; NaN: it has not run until @until.
	wait(nr: number, from: number, woken: number, to: number, site: number, reason: number, until = this.store.end): void {
		const { q, out } = this;
		if (q.site >= 0 && site !== q.site) return;
		const end = Number.isNaN(to) ? until : to;
		const waiting = both(from, Math.min(woken, end), q.from, q.to);
		const ready = both(woken, end, q.from, q.to);
		const ends = !Number.isNaN(to) && this.isIn(to);
		if (waiting + ready <= 0 && !ends) return;
		this.touch(nr);
		out.waiting += waiting;
		out.ready += ready;
		const [s, k] = [this.site(site), this.stack(nr, site, reason)];
		s.waiting += waiting;
		s.ready += ready;
		k.waiting += waiting;
		k.ready += ready;
		let r = this.reasons.get(reason);
		if (!r) this.reasons.set(reason, r = { reason, waiting: 0, nr: 0 });
		r.waiting += waiting;
		if (!ends) return;
		r.nr++;
		this.ended(s, to, to - from, woken < to ? to - woken : NaN);
	}

	private ended(s: SiteSum, at: number, ns: number, ready: number): void {
		this.out.waits.add(ns);
		s.waits.add(ns);
		this.mark(this.out.waitMap, at, ns);
		if (Number.isNaN(ready)) return;
		this.out.readies.add(ready);
		s.readies.add(ready);
		this.mark(this.out.readyMap, at, ready);
	}

	unknown(nr: number, from: number, to: number): void {
		const ns = both(from, to, this.q.from, this.q.to);
		if (ns <= 0 || this.q.site >= 0) return;
		this.touch(nr);
		this.out.unknown += ns;
	}

	finish(): Sums {
		const { out } = this;
		out.sites = [...this.sites.values()].sort((a, b) => b.waiting + b.ready - a.waiting - a.ready);
		out.reasons = [...this.reasons.values()].sort((a, b) => b.waiting - a.waiting);
		out.stacks = [...this.stacks.values()];
		return out;
	}
}

// The last slice of each coroutine so far.
class Last {
	readonly end: Float64Array;
	readonly n: Int32Array;
	readonly site: Uint32Array;
	readonly reason: Uint8Array;
	readonly over: Uint8Array;

	constructor(numbers: number) {
		this.end = new Float64Array(numbers).fill(NaN);
		this.n = new Int32Array(numbers).fill(-1);
		this.site = new Uint32Array(numbers);
		this.reason = new Uint8Array(numbers);
		this.over = new Uint8Array(numbers);
	}
}

function addSlice(sum: Summing, last: Last, b: Block, r: number, born: number): void {
	const nr = b.coro[r];
	const [from, to] = [b.start[r], b.start[r] + b.dur[r]];
	const n = b.n ? b.n[r] : last.n[nr] + 1;
	if (n !== last.n[nr] + 1) {
		sum.unknown(nr, Number.isNaN(last.end[nr]) ? born : last.end[nr], from);
	} else if (!Number.isNaN(last.end[nr]) && !last.over[nr] && from >= last.end[nr]) {
		const woken = b.wake[r] > 0 ? Math.max(last.end[nr], from - (b.wake[r] - 1)) : from;
		sum.wait(nr, last.end[nr], woken, from, last.site[nr], last.reason[nr]);
	}
	if (!(b.flags[r] & SLICE.headless)) sum.slice(nr, from, to, b.site[r], b.reason[r]);
	last.end[nr] = to;
	last.n[nr] = n;
	last.site[nr] = b.site[r];
	last.reason[nr] = b.reason[r];
	last.over[nr] = b.flags[r] & (SLICE.ended | SLICE.running) ? 1 : 0;
}

// What is after the last slice in the file.
function addTail(sum: Summing, last: Last, store: Store, row: number): void {
	const c = store.coros.c;
	const nr = c.nr[row];
	if (last.over[nr]) return;
	const state = c.state[row];
	const from = Number.isNaN(last.end[nr]) ? (Number.isNaN(c.birth[row]) ? c.first[row] : c.birth[row]) : last.end[nr];
	const end = state >= 5 && !Number.isNaN(c.end[row]) ? c.end[row] : store.end;
	if (last.n[nr] + 1 < c.resumes[row]) sum.unknown(nr, from, end);
	else if (state === 4) sum.wait(nr, from, Infinity, NaN, c.site[row], c.reason[row]);
	else if (state === 2) sum.wait(nr, from, Math.max(from, c.since[row]), NaN, c.site[row], c.reason[row]);
	else if (state >= 5 && last.n[nr] >= 0) sum.wait(nr, from, Infinity, NaN, last.site[nr], last.reason[nr], end); // destroyed while suspended
}

export async function sumsOf(store: Store, q: SumRequest, progress: (done: number, of: number) => void): Promise<Sums> {
	const index = await store.index();
	const { coros } = store;
	let numbers = 0;
	for (let row = 0; row < coros.rows; row++) numbers = Math.max(numbers, coros.c.nr[row] + 1);
	const isChosen = new Uint8Array(numbers);
	if (q.rows) for (const row of q.rows) isChosen[coros.c.nr[row]] = 1;
	else isChosen.fill(1);
	const sum = new Summing(store, q, numbers);
	const last = new Last(numbers);
	for (let nr = 0; nr < index.rows; nr++) {
		if (index.nr[nr] < index.of[nr]) sum.out.thinned = true;
		if (index.nr[nr] === 0) continue;
		const b = await store.block(nr);
		for (let r = 0; r < b.rows; r++) {
			if (!isChosen[b.coro[r]]) continue;
			const row = coros.rowOf(b.coro[r]);
			addSlice(sum, last, b, r, row < 0 ? b.start[r] : Number.isNaN(coros.c.birth[row]) ? coros.c.first[row] : coros.c.birth[row]);
		}
		progress(nr + 1, index.rows);
	}
	for (let row = 0; row < coros.rows; row++) if (isChosen[coros.c.nr[row]]) addTail(sum, last, store, row);
	return sum.finish();
}
