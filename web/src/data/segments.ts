// SPDX-License-Identifier: MIT
// segments.ts - from the slices of a coroutine to its state at every moment; no state where slices
// were omitted.

import { SLICE } from "./coros.ts";
import { isNext, type Life } from "../worker/life.ts";

export const DOES = { fresh: 0, wait: 1, ready: 2, run: 3 } as const;
export const DOES_WORDS = ["new", "suspended", "ready", "running"] as const;

export interface Facts {
	birth: number;             // or the first event
	end: number;               // of the coroutine, or of the picture
	state: number;
	since: number;
}

export interface Segments {
	rows: number;
	t0: Float64Array;
	t1: Float64Array;
	does: Uint8Array;
	slice: Int32Array;         // of a run, itself; of a wait, the slice before it; -1: none
}

class Builder {
	readonly out: Segments;

	constructor(room: number) {
		this.out = {
			rows: 0, t0: new Float64Array(room), t1: new Float64Array(room), does: new Uint8Array(room), slice: new Int32Array(room),
		};
	}

	add(t0: number, t1: number, does: number, slice: number): void {
		if (!(t1 > t0)) return;
		const i = this.out.rows++;
		this.out.t0[i] = t0;
		this.out.t1[i] = t1;
		this.out.does[i] = does;
		this.out.slice[i] = slice;
	}

	// Not running, from @t0 to @t1; ready since @woken.
	idle(t0: number, t1: number, woken: number, does: number, slice: number): void {
		const turn = Number.isNaN(woken) ? t1 : Math.min(t1, Math.max(t0, woken));
		this.add(t0, turn, does, slice);
		this.add(turn, t1, DOES.ready, slice);
	}
}

export function segmentsOf(life: Life, f: Facts): Segments {
	const b = new Builder(life.rows * 3 + 3);
	let at = f.birth;
	for (let i = 0; i < life.rows; i++) {
		const start = life.start[i];
		const woken = Number.isNaN(life.wake[i]) ? NaN : start - life.wake[i];
		if (isNext(life, i)) b.idle(at, start, woken, i === 0 ? DOES.fresh : DOES.wait, i - 1);
		if (!(life.flags[i] & SLICE.headless)) b.add(start, start + life.dur[i], DOES.run, i);
		at = Math.max(at, start + life.dur[i]);
	}
	const last = life.rows - 1;
	if (f.state === 4) b.add(at, f.end, DOES.wait, last);
	else if (f.state === 2) b.idle(at, f.end, f.since, last < 0 ? DOES.fresh : DOES.wait, last);
	else if (f.state === 1) b.add(at, f.end, DOES.fresh, last);
	else if (f.state === 3 && last < 0) b.add(at, f.end, DOES.run, last);
	return b.out;
}

export function segmentAt(s: Segments, t: number): number {
	let [lo, hi] = [0, s.rows - 1];
	while (lo <= hi) {
		const mid = (lo + hi) >> 1;
		if (s.t1[mid] <= t) lo = mid + 1;
		else if (s.t0[mid] > t) hi = mid - 1;
		else return mid;
	}
	return -1;
}

// The first segment that ends after @t.
export function firstAfter(s: Segments, t: number): number {
	let [lo, hi] = [0, s.rows];
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (s.t1[mid] <= t) lo = mid + 1;
		else hi = mid;
	}
	return lo;
}
