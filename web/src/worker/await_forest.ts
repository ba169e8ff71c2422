// SPDX-License-Identifier: MIT
// await_forest.ts - who awaits whom at a moment, as a forest: a coroutine is below the one that awaits it, else below
// the one that created it. Rings are found, and begin with their first coroutine.

import { AT, coroAt, NEED, type CoroAt, type NeedFinder, type Needs } from "./moment.ts";
import type { SliceIndex } from "./slice_index.ts";
import type { Store } from "./store.ts";

// Why a coroutine is below another one.
export const EDGE = { root: 0, awaited: 1, holder: 2, created: 3 } as const;

// Of a root: what is known of its creator.
export const ORIGIN = { none: 0, unknown: 1, over: 2, leftOut: 3 } as const;

export interface Forest {
	t: number;
	at: (CoroAt | null)[];     // by row; null: not there at that time
	needs: (Needs | null)[];   // null: it does not wait for a coroutine
	up: Int32Array;            // row; -1: a root
	edge: Uint8Array;
	ring: Uint32Array;         // 1 + number of its ring; 0: in none
	rings: number[][];         // rows, each waits for the next one, the last for the first
	kids: Map<number, number[]>;       // by row; -1: roots
	alive: number;
	before: number;            // the change of any coroutine before and after it; NaN: none
	after: number;
	counts: number[];          // by state
}

function visit(store: Store, index: SliceIndex, finder: NeedFinder, t: number, held: Set<number>): Forest {
	const rows = store.coros.rows;
	const f: Forest = {
		t, at: new Array<CoroAt | null>(rows).fill(null), needs: new Array<Needs | null>(rows).fill(null), up: new Int32Array(rows).fill(-1),
		edge: new Uint8Array(rows), ring: new Uint32Array(rows), rings: [], kids: new Map(), alive: 0, before: NaN, after: NaN, counts: new Array<number>(8).fill(0),
	};
	for (let row = 0; row < rows; row++) {
		const a = coroAt(store, index, row, t);
		f.counts[a.state]++;
		if (a.since < t && !(a.since <= f.before)) f.before = a.since;
		if (a.until > t && !(a.until >= f.after)) f.after = a.until;
		if (a.state === AT.absent || a.state === AT.ended) continue;
		f.alive++;
		f.at[row] = a;
		const needs = finder.needs(row, a, t);
		if (needs.kind === NEED.none) continue;
		f.needs[row] = needs;
		for (const other of needs.rows) held.add(other);
	}
	// One that has ended and still holds a lock, or that is joined too late, is shown, too.
	for (const row of held) f.at[row] ??= coroAt(store, index, row, t);
	return f;
}

// The one coroutine that @row waits for; -1: none, or any of several.
const onlyNeed = (f: Forest, row: number): number => (f.needs[row]?.rows.length === 1 ? f.needs[row]!.rows[0] : -1);

function findRings(f: Forest): void {
	const seen = new Uint32Array(f.up.length); // 1 + the walk that came here
	for (let row = 0; row < seen.length; row++) {
		const walk = row + 1;
		let r = row;
		while (r >= 0 && seen[r] === 0) {
			seen[r] = walk;
			r = onlyNeed(f, r);
		}
		if (r < 0 || seen[r] !== walk || f.ring[r] !== 0) continue;
		const ring: number[] = [];
		for (let k = r; ring.length === 0 || k !== r; k = onlyNeed(f, k)) ring.push(k);
		const begin = ring.indexOf(Math.min(...ring.slice(0, 10_000)));
		f.rings.push([...ring.slice(begin), ...ring.slice(0, begin)]);
		for (const k of ring) f.ring[k] = f.rings.length;
	}
}

// The root of a tree so far; paths become shorter on the way.
function rootOf(up: Int32Array, short: Int32Array, row: number): number {
	let r = row;
	while (up[r] >= 0) {
		const next = short[r] >= 0 ? short[r] : up[r];
		const over = up[next] >= 0 ? (short[next] >= 0 ? short[next] : up[next]) : next;
		short[r] = over;
		r = over;
	}
	return r;
}

function hang(f: Forest, short: Int32Array, row: number, below: number, edge: number): void {
	if (f.edge[row] !== EDGE.root || row === below || rootOf(f.up, short, below) === row) return;
	f.up[row] = below;
	f.edge[row] = edge;
}

function creatorOf(store: Store, row: number): number {
	const parent = store.coros.c.parent[row];
	return parent > 0 ? store.coros.rowOf(parent - 1) : -1;
}

export function originOf(store: Store, row: number): number {
	const parent = store.coros.c.parent[row];
	if (parent === 0) return store.coros.c.flags[row] & 4 ? ORIGIN.none : ORIGIN.unknown;
	return store.coros.rowOf(parent - 1) < 0 ? ORIGIN.leftOut : ORIGIN.over;
}

export function buildForest(store: Store, index: SliceIndex, finder: NeedFinder, t: number): Forest {
	const held = new Set<number>();
	const f = visit(store, index, finder, t, held);
	const short = new Int32Array(f.up.length).fill(-1);
	findRings(f);
	for (let row = 0; row < f.up.length; row++) {
		const needs = f.needs[row];
		for (const other of needs?.rows ?? []) hang(f, short, other, row, needs!.kind === NEED.join ? EDGE.awaited : EDGE.holder);
	}
	for (let row = 0; row < f.up.length; row++) {
		if (!f.at[row] || f.edge[row] !== EDGE.root || f.ring[row] !== 0) continue;
		const creator = creatorOf(store, row);
		if (creator >= 0 && f.at[creator]) hang(f, short, row, creator, EDGE.created);
	}
	for (let row = 0; row < f.up.length; row++) {
		if (!f.at[row]) continue;
		const list = f.kids.get(f.up[row]);
		if (list) list.push(row);
		else f.kids.set(f.up[row], [row]);
	}
	return f;
}
