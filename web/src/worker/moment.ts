// SPDX-License-Identifier: MIT
// moment.ts - the state of a coroutine at a moment, and what it waits for then.

import { FLAG, SLICE } from "../data/coros.ts";
import type { Holds } from "./holds.ts";
import type { SliceAt, SliceIndex } from "./slice_index.ts";
import type { Store } from "./store.ts";

// As in the bundle; omitted: its slices at that time are not in the file. absent: not created yet.
export const AT = { unknown: 0, fresh: 1, ready: 2, running: 3, suspended: 4, ended: 5, omitted: 6, absent: 7 } as const;

export interface CoroAt {
	state: number;             // AT
	since: number;             // NaN: not known
	until: number;             // the next change; NaN: none in the trace
	site: number;              // of the wait
	reason: number;
	resLo: number;
	resHi: number;
	hasResource: boolean;
	thread: number;            // running; -1 otherwise
	next: SliceAt | null;      // of a wait: the slice after it, if nothing is omitted between
}

// One shape for all: a hundred thousand of them are made for each moment.
function plainAt(state: number, since: number, until: number): CoroAt {
	return { state, since, until, site: 0, reason: 0, resLo: 0, resHi: 0, hasResource: false, thread: -1, next: null };
}

// A wait that began with the end of slice @s.
function waitAt(state: number, since: number, until: number, s: SliceAt, next: SliceAt | null): CoroAt {
	const { part, i } = s;
	return {
		state, since, until, site: part.site[i], reason: part.reason[i], resLo: part.resLo[i], resHi: part.resHi[i],
		hasResource: (part.flags[i] & SLICE.resource) !== 0, thread: -1, next,
	};
}

export const bornOf = (store: Store, row: number): number =>
	(Number.isNaN(store.coros.c.birth[row]) ? store.coros.c.first[row] : store.coros.c.birth[row]);

// Between slice @last (null: before the first one) and @next: waiting, then ready from the wake on.
function idle(from: number, state: number, last: SliceAt | null, next: SliceAt, t: number): CoroAt {
	const woken = next.part.wokenAt(next.i);
	const start = next.part.start[next.i];
	const turn = Number.isNaN(woken) ? start : Math.max(from, woken);
	const [now, since, until] = turn <= t ? [AT.ready, turn, start] : [state, from, turn];
	const out = last ? waitAt(now, since, until, last, next) : plainAt(now, since, until);
	out.next = next;
	return out;
}

// After its last slice in the file, as the table of coroutines has it.
function tail(store: Store, row: number, from: number, t: number, last: SliceAt): CoroAt {
	const c = store.coros.c;
	const until = c.end[row];
	if (c.state[row] === AT.running) return plainAt(AT.unknown, from, until);
	const woken = c.flags[row] & FLAG.woken ? Math.max(from, c.woken[row]) : NaN;
	if (woken <= t) return waitAt(AT.ready, woken, until, last, null);
	return waitAt(AT.suspended, from, Number.isNaN(woken) ? until : woken, last, null);
}

// A coroutine of which the trace tells only the last state.
function toldAt(store: Store, row: number): CoroAt {
	const c = store.coros.c;
	const state = c.state[row] === AT.ended ? AT.fresh : c.state[row];
	const out = plainAt(state, c.since[row], c.end[row]);
	if (state !== AT.suspended && state !== AT.ready) return out;
	return { ...out, site: c.site[row], reason: c.reason[row], resLo: c.res_lo[row], resHi: c.res_hi[row], hasResource: (c.flags[row] & FLAG.resource) !== 0 };
}

// No slice of it begins at @t or before.
function beforeAll(store: Store, index: SliceIndex, row: number, t: number): CoroAt {
	const c = store.coros.c;
	const born = bornOf(store, row);
	const next = index.behind(row, t);
	if (next) {
		const start = next.part.start[next.i];
		if (next.part.n[next.i] > 0) return plainAt(AT.omitted, born, start);
		if (next.part.flags[next.i] & SLICE.headless) return plainAt(AT.unknown, born, start);
		return idle(born, AT.fresh, null, next, t);
	}
	if (c.resumes[row] > 0 || c.suspends[row] > 0) return plainAt(AT.omitted, born, c.end[row]);
	return t < c.since[row] ? plainAt(AT.unknown, born, c.since[row]) : toldAt(store, row);
}

export function coroAt(store: Store, index: SliceIndex, row: number, t: number): CoroAt {
	const c = store.coros.c;
	const born = bornOf(store, row);
	if (t < born) return plainAt(AT.absent, NaN, born);
	if (c.state[row] >= AT.ended && t >= c.end[row]) return plainAt(AT.ended, c.end[row], NaN);
	const last = index.before(row, t);
	if (!last) return beforeAll(store, index, row, t);
	const { part, i } = last;
	const flags = part.flags[i];
	const end = flags & SLICE.running ? Infinity : part.end(i);
	if (t < end && !(flags & SLICE.headless)) {
		const out = plainAt(AT.running, part.start[i], end === Infinity ? NaN : end);
		out.thread = part.thread[i];
		return out;
	}
	if (flags & SLICE.ended) return plainAt(AT.ended, end, NaN);
	const next = index.behind(row, t);
	if (next) {
		if (next.part.n[next.i] !== part.n[i] + 1) return plainAt(AT.omitted, end, next.part.start[next.i]);
		return idle(end, AT.suspended, last, next, t);
	}
	if (part.n[i] + 1 < c.resumes[row]) return plainAt(AT.omitted, end, c.end[row]);
	return tail(store, row, end, t, last);
}

// What ends the wait: a coroutine that ends (join), or one that holds the lock.
export const NEED = { none: 0, join: 1, holder: 2 } as const;

export interface Needs {
	kind: number;              // NEED
	rows: number[];            // coroutines; empty: it is not known which
	omitted: boolean;          // others may have held the lock: holds of that time are not in the file
}

const NOTHING: Needs = { kind: NEED.none, rows: [], omitted: false };

export class NeedFinder {
	private readonly store: Store;
	private readonly holds: Holds;
	private readonly join: number;
	private readonly locks: ReadonlySet<number>;
	private readonly rowById = new Map<string, number>();

	constructor(store: Store, holds: Holds) {
		this.store = store;
		this.holds = holds;
		this.join = store.reasons.indexOf("join");
		this.locks = new Set(["mutex", "semaphore"].map((name) => store.reasons.indexOf(name)).filter((n) => n > 0));
	}

	// Of coroutine @row, which is @a at time @t.
	needs(row: number, a: CoroAt, t: number): Needs {
		if (a.state !== AT.suspended || !a.hasResource) return NOTHING;
		if (a.reason === this.join && this.join > 0) {
			const child = this.rowOfId(a.resHi, a.resLo);
			return { kind: NEED.join, rows: child >= 0 ? [child] : [], omitted: false };
		}
		if (!this.locks.has(a.reason)) return NOTHING;
		const holders = this.holds.holdersOf(this.store.coros.c.pid[row], a.resHi, a.resLo, t).map((nr) => this.store.coros.rowOf(nr)).filter((r) => r >= 0);
		return { kind: NEED.holder, rows: [...new Set(holders)], omitted: t < this.holds.since };
	}

	private rowOfId(hi: number, lo: number): number {
		const key = `${hi}:${lo}`;
		let row = this.rowById.get(key);
		if (row === undefined) this.rowById.set(key, (row = this.store.coros.rowOfId(((BigInt(hi) << 32n) | BigInt(lo)).toString())));
		return row;
	}
}
