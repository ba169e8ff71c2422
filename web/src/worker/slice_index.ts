// SPDX-License-Identifier: MIT
// slice_index.ts - all slices by coroutine and by waker: the slice of a moment is found by binary search, in time order.
//
// A part indexes some blocks. While a program runs only the last block grows, so only the last part is made again.

import type { Block } from "../data/blocks.ts";
import type { Coros } from "../data/coros.ts";
import type { Store } from "./store.ts";

const PART_BLOCKS = 16;
const WIDE = 0xffffffff;       // stands for a number that is in the map

// Numbers of 32 bits, and a map for the few that are larger.
class Narrow {
	private readonly low: Uint32Array;
	private readonly large = new Map<number, number>();

	constructor(room: number) {
		this.low = new Uint32Array(room);
	}

	put(i: number, value: number): void {
		this.low[i] = value < WIDE ? value : WIDE;
		if (value >= WIDE) this.large.set(i, value);
	}

	at(i: number): number {
		return this.low[i] === WIDE ? (this.large.get(i) ?? WIDE) : this.low[i];
	}
}

// Slices of coroutine row r are those from first[r] to below first[r + 1], by time.
export class SlicePart {
	readonly nr: number;
	readonly start: Float64Array;
	readonly thread: Uint16Array;
	readonly flags: Uint8Array;
	readonly site: Uint32Array;
	readonly reason: Uint8Array;
	readonly n: Uint32Array;
	readonly waker: Uint32Array;       // 1 + number
	readonly wakeThread: Uint16Array;  // 1 + index
	readonly row: Uint32Array;
	readonly resLo: Uint32Array;
	readonly resHi: Uint32Array;
	from = Infinity;                   // starts of the first and the last slice
	last = -Infinity;
	private readonly first: Uint32Array;
	private readonly dur: Narrow;
	private readonly wake: Narrow;
	private wokenFirst: Uint32Array | null = null;
	private woken = new Uint32Array(0);
	private readonly sorted = new Set<number>();

	constructor(blocks: readonly Block[], coros: Coros) {
		this.first = new Uint32Array(coros.rows + 1);
		for (const b of blocks) for (let i = 0; i < b.rows; i++) {
			const row = coros.rowOf(b.coro[i]);
			if (row >= 0) this.first[row + 1]++;
		}
		for (let r = 0; r < coros.rows; r++) this.first[r + 1] += this.first[r];
		const nr = (this.nr = this.first[coros.rows]);
		this.start = new Float64Array(nr);
		[this.dur, this.wake] = [new Narrow(nr), new Narrow(nr)];
		[this.thread, this.wakeThread] = [new Uint16Array(nr), new Uint16Array(nr)];
		[this.flags, this.reason] = [new Uint8Array(nr), new Uint8Array(nr)];
		[this.site, this.n, this.waker, this.row] = [new Uint32Array(nr), new Uint32Array(nr), new Uint32Array(nr), new Uint32Array(nr)];
		[this.resLo, this.resHi] = [new Uint32Array(nr), new Uint32Array(nr)];
		this.fill(blocks, coros);
	}

	// Blocks of a trace in disorder overlap: then all are ordered by time first.
	private fill(blocks: readonly Block[], coros: Coros): void {
		const next = this.first.slice();
		const order: [Block, number][] = [];
		let inOrder = true;
		let before = -Infinity;
		for (const b of blocks) for (let i = 0; i < b.rows && inOrder; i++) {
			inOrder = b.start[i] >= before;
			before = b.start[i];
		}
		if (!inOrder) {
			for (const b of blocks) for (let i = 0; i < b.rows; i++) order.push([b, i]);
			order.sort((x, y) => x[0].start[x[1]] - y[0].start[y[1]]);
			for (const [b, i] of order) this.put(b, i, coros, next);
			return;
		}
		for (const b of blocks) for (let i = 0; i < b.rows; i++) this.put(b, i, coros, next);
	}

	private put(b: Block, i: number, coros: Coros, next: Uint32Array): void {
		const row = coros.rowOf(b.coro[i]);
		if (row < 0) return;
		const at = next[row]++;
		this.start[at] = b.start[i];
		this.dur.put(at, b.dur[i]);
		this.wake.put(at, b.wake[i]);
		this.thread[at] = b.thread[i];
		this.flags[at] = b.flags[i];
		this.site[at] = b.site[i];
		this.reason[at] = b.reason[i];
		this.n[at] = b.n ? b.n[i] : at - this.first[row];
		this.waker[at] = b.waker[i];
		this.wakeThread[at] = b.wakeThread[i];
		this.row[at] = row;
		this.resLo[at] = b.resLo[i];
		this.resHi[at] = b.resHi[i];
		this.from = Math.min(this.from, b.start[i]);
		this.last = Math.max(this.last, b.start[i]);
	}

	end(i: number): number {
		return this.start[i] + this.dur.at(i);
	}

	// NaN: not recorded.
	wokenAt(i: number): number {
		const wake = this.wake.at(i);
		return wake > 0 ? this.start[i] - (wake - 1) : NaN;
	}

	// Of coroutine @row, the first slice that begins after @t; its range begins at @begin.
	private after(row: number, t: number): number {
		let [lo, hi] = [this.first[row], this.first[row + 1]];
		while (lo < hi) {
			const mid = (lo + hi) >> 1;
			if (this.start[mid] <= t) lo = mid + 1;
			else hi = mid;
		}
		return lo;
	}

	// -1: none.
	before(row: number, t: number): number {
		if (row + 1 >= this.first.length) return -1;
		const i = this.after(row, t) - 1;
		return i >= this.first[row] ? i : -1;
	}

	behind(row: number, t: number): number {
		if (row + 1 >= this.first.length) return -1;
		const i = this.after(row, t);
		return i < this.first[row + 1] ? i : -1;
	}

	// The slices that coroutine @row woke from @from to @to, by the time of the wake.
	wokenBy(row: number, coros: Coros, from: number, to: number): number[] {
		if (row + 1 >= this.first.length) return [];
		if (!this.wokenFirst) this.indexWakers(coros);
		const [begin, end] = [this.wokenFirst![row], this.wokenFirst![row + 1]];
		const mine = this.woken.subarray(begin, end);
		if (!this.sorted.has(row)) {
			mine.sort((a, b) => this.wokenAt(a) - this.wokenAt(b));
			this.sorted.add(row);
		}
		let [lo, hi] = [0, mine.length];
		while (lo < hi) {
			const mid = (lo + hi) >> 1;
			if (this.wokenAt(mine[mid]) < from) lo = mid + 1;
			else hi = mid;
		}
		const out: number[] = [];
		for (; lo < mine.length && this.wokenAt(mine[lo]) <= to; lo++) out.push(mine[lo]);
		return out;
	}

	private indexWakers(coros: Coros): void {
		const rows = this.first.length - 1;
		const first = new Uint32Array(rows + 1);
		const rowOf = (i: number) => {
			const row = this.waker[i] > 0 && this.wake.at(i) > 0 ? coros.rowOf(this.waker[i] - 1) : -1;
			return row < rows ? row : -1;
		};
		for (let i = 0; i < this.nr; i++) if (rowOf(i) >= 0) first[rowOf(i) + 1]++;
		for (let r = 0; r < rows; r++) first[r + 1] += first[r];
		const next = first.slice();
		this.woken = new Uint32Array(first[rows]);
		for (let i = 0; i < this.nr; i++) if (rowOf(i) >= 0) this.woken[next[rowOf(i)]++] = i;
		this.wokenFirst = first;
	}
}

export interface SliceAt {
	part: SlicePart;
	i: number;
}

export class SliceIndex {
	private readonly parts: SlicePart[];

	constructor(parts: SlicePart[]) {
		this.parts = parts;
	}

	get nr(): number {
		return this.parts.reduce((sum, p) => sum + p.nr, 0);
	}

	// The last slice of a coroutine that begins at @t or before; null: none.
	before(row: number, t: number): SliceAt | null {
		let found: SliceAt | null = null;
		for (let k = this.parts.length - 1; k >= 0; k--) {
			const part = this.parts[k];
			if (part.from > t || (found && found.part.start[found.i] >= part.last)) continue;
			const i = part.before(row, t);
			if (i >= 0 && (!found || part.start[i] > found.part.start[found.i])) found = { part, i };
		}
		return found;
	}

	// The first slice that begins after @t.
	behind(row: number, t: number): SliceAt | null {
		let found: SliceAt | null = null;
		for (const part of this.parts) {
			if (part.last <= t || (found && found.part.start[found.i] <= part.from)) continue;
			const i = part.behind(row, t);
			if (i >= 0 && (!found || part.start[i] < found.part.start[found.i])) found = { part, i };
		}
		return found;
	}

	// Which slices coroutine @row woke in a range of time, at most @most; the first ones.
	wokenBy(row: number, coros: Coros, from: number, to: number): SliceAt[] {
		const out: SliceAt[] = [];
		for (const part of this.parts) for (const i of part.wokenBy(row, coros, from, to)) out.push({ part, i });
		return out.sort((a, b) => a.part.wokenAt(a.i) - b.part.wokenAt(b.i));
	}
}

interface Kept {
	blocks: number;            // index of its first block
	nr: number;                // blocks
	rows: number;              // slices in these blocks, when it was made
	part: SlicePart;
}

// The parts that were made, and made again only where the trace grew.
export class SliceIndexMaker {
	private kept: Kept[] = [];
	private coros: Coros | null = null;

	async make(store: Store, progress: (done: number, of: number) => void): Promise<SliceIndex> {
		const index = await store.index();
		if (this.coros !== store.coros) this.kept = [];
		this.coros = store.coros;
		const parts: Kept[] = [];
		for (let b = 0; b < index.rows; b += PART_BLOCKS) {
			const nr = Math.min(PART_BLOCKS, index.rows - b);
			let rows = 0;
			for (let k = b; k < b + nr; k++) rows += index.nr[k];
			const known = this.kept[b / PART_BLOCKS];
			parts.push(known && known.nr === nr && known.rows === rows ? known : { blocks: b, nr, rows, part: await this.part(store, b, nr) });
			progress(b + nr, index.rows);
		}
		this.kept = parts;
		return new SliceIndex(parts.map((k) => k.part));
	}

	private async part(store: Store, from: number, nr: number): Promise<SlicePart> {
		const blocks: Block[] = [];
		const index = await store.index();
		for (let b = from; b < from + nr; b++) if (index.nr[b] > 0) blocks.push(await store.block(b));
		return new SlicePart(blocks, store.coros);
	}
}
