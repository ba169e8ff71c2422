// SPDX-License-Identifier: MIT
// blocks.ts - slices: a coroutine on a thread, from a resume to the event that ended it.

import { DamagedError, need, numberOf, type Column, type Section } from "./columns.ts";
import { readBlockCpu, type BlockCpu } from "./slice_cpu.ts";

export interface Block {
	rows: number;
	of: number;
	start: Float64Array;
	dur: ArrayLike<number>;
	thread: ArrayLike<number>;
	coro: ArrayLike<number>;
	flags: Uint8Array;
	site: ArrayLike<number>;
	reason: ArrayLike<number>;
	resLo: ArrayLike<number>;
	resHi: ArrayLike<number>;
	wake: ArrayLike<number>;
	waker: ArrayLike<number>;
	wakeThread: ArrayLike<number>;
	n: ArrayLike<number> | null;   // which of its coroutine's slices; null: not recorded
	cpu: BlockCpu | null;          // null: not recorded
}

const NEEDED = ["start", "dur", "thread", "coro", "flags"];

// 8 bytes a number where 4 or 2 are enough: the saved memory holds more blocks.
function narrow(column: Column | undefined, rows: number): ArrayLike<number> {
	return column ? Uint32Array.from(column) : new Uint32Array(rows);
}

export function readBlock(name: string, s: Section): Block {
	need(name, s, NEEDED);
	const base = numberOf(s, "base");
	const start = s.columns.start as Float64Array;
	if (!(start instanceof Float64Array) || !(s.columns.flags instanceof Uint8Array))
		throw new DamagedError(`section ${name} is damaged: a column has a type that it cannot have`);
	for (let i = 0; i < start.length; i++) start[i] += base;
	const c = s.columns;
	const zeros = new Uint8Array(s.rows);
	return {
		rows: s.rows, of: numberOf(s, "of", s.rows), start, dur: c.dur, flags: c.flags as Uint8Array,
		thread: narrow(c.thread, s.rows), coro: narrow(c.coro, s.rows), site: narrow(c.site, s.rows),
		reason: c.reason ?? zeros, resLo: c.res_lo ?? zeros, resHi: c.res_hi ?? zeros,
		wake: c.wake ?? zeros, waker: narrow(c.waker, s.rows), wakeThread: narrow(c.wake_thread, s.rows),
		n: c.n ? narrow(c.n, s.rows) : null, cpu: readBlockCpu(name, s),
	};
}

export class BlockIndex {
	readonly rows: number;
	readonly from: ArrayLike<number>;
	readonly last: ArrayLike<number>;
	readonly to: ArrayLike<number>;
	readonly nr: ArrayLike<number>;
	readonly of: ArrayLike<number>;
	private readonly bits: number;
	private readonly sets: Uint8Array;

	constructor(s: Section) {
		need("index", s, ["from", "last", "to", "nr", "of"]);
		this.rows = s.rows;
		this.from = s.columns.from;
		this.last = s.columns.last;
		this.to = s.columns.to;
		this.nr = s.columns.nr;
		this.of = s.columns.of;
		this.bits = numberOf(s, "bits");
		this.sets = (s.columns.coros as Uint8Array) ?? new Uint8Array(0);
		if (this.bits % 8 !== 0 || this.sets.length < (s.rows * this.bits) / 8)
			throw new DamagedError("section index is damaged: its sets are too short");
	}

	// May the block hold a slice of this coroutine?
	has(block: number, coro: number): boolean {
		if (this.bits === 0) return true;
		const bit = coro % this.bits;
		return (this.sets[(block * this.bits) / 8 + (bit >> 3)] & (1 << (bit & 7))) !== 0;
	}

	withCoro(coro: number): number[] {
		const out: number[] = [];
		for (let b = 0; b < this.rows; b++) if (this.has(b, coro)) out.push(b);
		return out;
	}

	overlapping(from: number, to: number): number[] {
		const out: number[] = [];
		for (let b = 0; b < this.rows; b++) if (this.nr[b] > 0 && this.from[b] <= to && this.to[b] >= from) out.push(b);
		return out;
	}
}
