// SPDX-License-Identifier: MIT
// window_sums.ts - the time that groups of coroutines ran, were ready and waited in a part of the run.

import { AT, coroAt } from "./moment.ts";
import { select } from "./query.ts";
import { groupKeys, type RowRequest } from "./rows.ts";
import type { SliceIndex } from "./slice_index.ts";
import type { Store } from "./store.ts";

export interface WindowSum {
	ran: number;               // ns in the window
	ready: number;
	waited: number;            // without being ready
	unknown: number;           // its slices of this time are not in the file
}

// By the key of the group, as in RowGroup.
export interface WindowSums {
	from: number;
	to: number;
	byKey: Map<number, WindowSum>;
}

const ROWS_AT_ONCE = 2000; // then other calls have their turn

function addTime(sum: WindowSum, state: number, ns: number): void {
	if (state === AT.running) sum.ran += ns;
	else if (state === AT.ready) sum.ready += ns;
	else if (state === AT.suspended) sum.waited += ns;
	else if (state === AT.omitted) sum.unknown += ns;
}

// From state to state. A wait begins with a suspend: the time before the first slice is none.
export function addWindow(store: Store, index: SliceIndex, row: number, from: number, to: number, sum: WindowSum): void {
	const first = index.behind(row, -Infinity);
	const isWhole = first !== null && first.part.n[first.i] === 0;
	const end = Math.min(to, store.end);
	for (let t = isWhole ? Math.max(from, first.part.start[first.i]) : from; t < end;) {
		const a = coroAt(store, index, row, t);
		const until = Number.isNaN(a.until) ? end : Math.min(end, a.until);
		if (!(until > t)) return;
		addTime(sum, a.state, until - t);
		t = until;
	}
}

export async function windowSums(store: Store, index: SliceIndex, q: RowRequest): Promise<WindowSums> {
	const { coros } = store;
	const rows = select(coros, store, q.filter, store.end);
	const keys = groupKeys(coros.c, q.group);
	const byKey = new Map<number, WindowSum>();
	for (let i = 0; i < rows.length; i++) {
		const key = keys[rows[i]];
		let sum = byKey.get(key);
		if (!sum) byKey.set(key, (sum = { ran: 0, ready: 0, waited: 0, unknown: 0 }));
		addWindow(store, index, rows[i], q.from, q.to, sum);
		if (i % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await new Promise((done) => setTimeout(done, 0));
	}
	return { from: q.from, to: q.to, byKey };
}
