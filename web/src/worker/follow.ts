// SPDX-License-Identifier: MIT
// follow.ts - from a slice to what woke it, and to the slices that it woke.

import { SLICE } from "../data/coros.ts";
import type { SliceAt, SliceIndex } from "./slice_index.ts";
import type { Store } from "./store.ts";

export interface WakeEnd {
	nr: number;                // the coroutine; -1: none (a thread, a poller)
	thread: number;            // -1: not recorded
	at: number;                // of the wake
	from: number;              // the slice of that coroutine; NaN: not in the file
	to: number;
}

export interface Wakes {
	from: number;              // the slice in question; NaN: none
	to: number;
	by: WakeEnd | null;        // what woke it; null: not recorded
	woke: WakeEnd[];           // at most WOKE_MOST, in order of time
	wokeMore: number;
}

const WOKE_MOST = 40;
const endOf = (store: Store, s: SliceAt): number => (s.part.flags[s.i] & SLICE.running ? store.end : s.part.end(s.i));

// The slice that is meant by a moment: the one that runs then, else the one that ends the wait, else the last one.
export function sliceFor(store: Store, index: SliceIndex, row: number, t: number): SliceAt | null {
	const last = index.before(row, t);
	if (last && t <= endOf(store, last) && !(last.part.flags[last.i] & SLICE.headless)) return last;
	return index.behind(row, t) ?? last;
}

function wakerEnd(store: Store, index: SliceIndex, s: SliceAt): WakeEnd | null {
	const at = s.part.wokenAt(s.i);
	if (Number.isNaN(at)) return null;
	const nr = s.part.waker[s.i] - 1;
	const row = nr >= 0 ? store.coros.rowOf(nr) : -1;
	const slice = row >= 0 ? index.before(row, at) : null;
	const isIn = slice !== null && endOf(store, slice) >= at;
	return { nr, thread: s.part.wakeThread[s.i] - 1, at, from: isIn ? slice.part.start[slice.i] : NaN, to: isIn ? endOf(store, slice) : NaN };
}

export function wakesAt(store: Store, index: SliceIndex, nr: number, t: number): Wakes {
	const row = store.coros.rowOf(nr);
	const s = row >= 0 ? sliceFor(store, index, row, t) : null;
	if (!s) return { from: NaN, to: NaN, by: null, woke: [], wokeMore: 0 };
	const [from, to] = [s.part.start[s.i], endOf(store, s)];
	const woke = index.wokenBy(row, store.coros, from, to);
	return {
		from, to, by: wakerEnd(store, index, s), wokeMore: Math.max(0, woke.length - WOKE_MOST),
		woke: woke.slice(0, WOKE_MOST).map((w) => ({
			nr: store.coros.c.nr[w.part.row[w.i]], thread: w.part.thread[w.i], at: w.part.wokenAt(w.i), from: w.part.start[w.i], to: endOf(store, w),
		})),
	};
}
