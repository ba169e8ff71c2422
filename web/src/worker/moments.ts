// SPDX-License-Identifier: MIT
// moments.ts - calls about one moment: the await tree, the asynchronous stack of a coroutine, the wakes of a slice; and sums from moment to moment.

import { buildForest, type Forest } from "./await_forest.ts";
import { wakesAt, type Wakes } from "./follow.ts";
import { Holds } from "./holds.ts";
import { AT, coroAt, NeedFinder } from "./moment.ts";
import type { RowRequest } from "./rows.ts";
import { SliceIndexMaker, type SliceIndex } from "./slice_index.ts";
import type { Store } from "./store.ts";
import { lineOf, treeLines, type TreeLine, type TreeRequest } from "./tree_lines.ts";
import { windowSums, type WindowSums } from "./window_sums.ts";

export interface TreeAnswer {
	t: number;
	lines: TreeLine[];
	more: number;              // lines that are not in the answer
	alive: number;
	counts: number[];          // coroutines by AT
	rings: number[][];         // numbers
	before: number;            // the change of any coroutine before and after it; NaN: none
	after: number;
}

export interface StackAnswer {
	t: number;
	me: TreeLine;
	outer: TreeLine[];         // who awaits it, who awaits that one, ...: the nearest first
	awaiters: TreeLine[];      // all that await it itself, if there are several
	awaitersMore: number;
	inner: TreeLine[];         // what it awaits, what that one awaits, ...
	ring: boolean;             // the last of inner awaits one that is here already
	cut: boolean;              // there is more than is in the answer
	before: number;            // its changes before and after @t; NaN: none
	after: number;
	wakes: Wakes;
}

const STACK_MOST = 200;
const AWAITERS_MOST = 20;

export class Moments {
	private readonly store: Store;
	private readonly maker = new SliceIndexMaker();
	private index: SliceIndex | null = null;
	private holds: Holds | null = null;
	private forest: Forest | null = null;

	constructor(store: Store) {
		this.store = store;
	}

	// The trace changed.
	forget(): void {
		[this.index, this.holds, this.forest] = [null, null, null];
	}

	private async ready(progress: (done: number, of: number) => void): Promise<SliceIndex> {
		this.index ??= await this.maker.make(this.store, progress);
		this.holds ??= new Holds(this.store.hasHolds ? await this.store.columns("holds") : null);
		return this.index;
	}

	private async forestAt(t: number, progress: (done: number, of: number) => void): Promise<Forest> {
		const index = await this.ready(progress);
		if (this.forest?.t !== t) this.forest = buildForest(this.store, index, new NeedFinder(this.store, this.holds!), t);
		return this.forest;
	}

	// @rows: the selected coroutines; null: all.
	async tree(q: TreeRequest, rows: ArrayLike<number> | null, progress: (done: number, of: number) => void): Promise<TreeAnswer> {
		const f = await this.forestAt(q.t, progress);
		const { lines, more } = treeLines(this.store, f, q, rows);
		const nrs = this.store.coros.c.nr;
		return { t: q.t, lines, more, alive: f.alive, counts: f.counts, rings: f.rings.map((ring) => ring.map((r) => nrs[r])), before: f.before, after: f.after };
	}

	// null: the coroutine is not in the file.
	async stack(nr: number, t: number, progress: (done: number, of: number) => void): Promise<StackAnswer | null> {
		const { store } = this;
		const f = await this.forestAt(t, progress);
		const index = this.index!;
		const row = store.coros.rowOf(nr);
		if (row < 0) return null;
		f.at[row] ??= coroAt(store, index, row, t);
		const line = (r: number) => lineOf(store, f, r);
		const awaiters = this.awaitersOf(f, row);
		const inner = this.innerOf(f, row);
		const outer = this.outerOf(f, row);
		const now = f.at[row];
		// A state that begins at @t: the change before it is the begin of the state before.
		const since = now.since < t ? now.since : coroAt(store, index, row, now.since - 1).since;
		return {
			t, me: line(row), outer: outer.rows.map(line), awaiters: awaiters.length > 1 ? awaiters.slice(0, AWAITERS_MOST).map(line) : [],
			awaitersMore: Math.max(0, awaiters.length - AWAITERS_MOST), inner: inner.rows.map(line), ring: inner.ring, cut: inner.cut || outer.cut,
			before: since, after: now.state === AT.absent || now.until > t ? now.until : NaN, wakes: wakesAt(store, index, nr, t),
		};
	}

	private awaitersOf(f: Forest, row: number): number[] {
		const out: number[] = [];
		f.needs.forEach((needs, r) => {
			if (needs?.rows.includes(row)) out.push(r);
		});
		return out;
	}

	private innerOf(f: Forest, row: number): { rows: number[]; ring: boolean; cut: boolean } {
		const rows: number[] = [];
		const seen = new Set([row]);
		for (let r = row; ;) {
			const next = f.needs[r]?.rows[0];
			if (next === undefined) return { rows, ring: false, cut: false };
			if (seen.has(next)) return { rows, ring: true, cut: false };
			if (rows.length >= STACK_MOST) return { rows, ring: false, cut: true };
			seen.add(next);
			rows.push(next);
			r = next;
		}
	}

	// Upwards as long as there is one awaiter.
	private outerOf(f: Forest, row: number): { rows: number[]; cut: boolean } {
		const above = new Map<number, number[]>();
		f.needs.forEach((needs, r) => {
			for (const other of needs?.rows ?? []) above.set(other, [...(above.get(other) ?? []), r].slice(0, 2));
		});
		const rows: number[] = [];
		const seen = new Set([row]);
		for (let r = row; ;) {
			const up = above.get(r) ?? [];
			if (up.length !== 1 || seen.has(up[0])) return { rows, cut: false };
			if (rows.length >= STACK_MOST) return { rows, cut: true };
			seen.add(up[0]);
			rows.push(up[0]);
			r = up[0];
		}
	}

	async windowSums(q: RowRequest, progress: (done: number, of: number) => void): Promise<WindowSums> {
		return windowSums(this.store, await this.ready(progress), q);
	}

	async wakes(nr: number, t: number, progress: (done: number, of: number) => void): Promise<Wakes> {
		return wakesAt(this.store, await this.ready(progress), nr, t);
	}
}
