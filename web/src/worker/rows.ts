// SPDX-License-Identifier: MIT
// rows.ts - the rows of the timeline: which coroutines, in which order, in which groups.
//
// A hundred thousand coroutines take a few milliseconds; only "active in the window" reads slices.

import type { Coros } from "../data/coros.ts";
import { select, sort, type CoroFilter, type CoroOrder } from "./query.ts";
import type { Store } from "./store.ts";

export type RowGrouping = "" | "kind" | "site" | "thread";

export interface RowRequest {
	filter: CoroFilter;
	order: CoroOrder;          // "active": those that run longest in the window first
	group: RowGrouping;
	open: number[] | "all";    // keys of the groups whose rows are wanted
	from: number;              // the window
	to: number;
}

export interface RowGroup {
	key: number;               // index of the kind, site or thread
	count: number;
	ran: number;               // ns of all of them in the whole run; group_sums.ts puts in those of a window
	ready: number;
	waited: number;            // without being ready
	unknown: number;           // ns of which the file has no slices
	found: number;             // coroutines with findings
	active: number;            // ran in the window; -1: not asked for
	isOpen: boolean;
}

export interface Rows {
	lanes: Float64Array;       // numbers of coroutines; below 0: the group of laneOfGroup()
	groups: RowGroup[];
	count: number;             // coroutines
	active: number;            // of these, ran in the window; -1: not asked for
	exact: boolean;            // from slices; else from the blocks that have slices of a coroutine
}

// Not -1: a reference "none" minus 1 must not be a group.
export const laneOfGroup = (group: number): number => -2 - group;
export const groupOfLane = (lane: number): number => -2 - lane;

const MOST_BLOCKS = 24;

interface Activity {
	byRow: Float64Array;       // ns in the window, or blocks; 0: none
	exact: boolean;
}

async function sumSlices(store: Store, blocks: readonly number[], from: number, to: number, out: Float64Array): Promise<void> {
	for (const nr of blocks) {
		const b = await store.block(nr);
		for (let r = 0; r < b.rows; r++) {
			const x0 = b.start[r];
			const x1 = x0 + b.dur[r];
			if (x1 < from || x0 > to) continue;
			const row = store.coros.rowOf(b.coro[r]);
			// Even a slice of 0 ns is activity.
			if (row >= 0) out[row] += Math.max(1, Math.min(x1, to) - Math.max(x0, from));
		}
	}
}

// How much each coroutine runs in the window.
async function activityIn(store: Store, from: number, to: number): Promise<Activity> {
	const index = await store.index();
	const blocks = index.overlapping(from, to);
	const byRow = new Float64Array(store.coros.rows);
	const exact = blocks.length <= MOST_BLOCKS;
	if (exact) {
		await sumSlices(store, blocks, from, to, byRow);
		return { byRow, exact };
	}
	const { nr } = store.coros.c;
	for (const b of blocks) {
		for (let row = 0; row < byRow.length; row++) if (index.has(b, nr[row])) byRow[row]++;
	}
	return { byRow, exact };
}

export function groupKeys(c: Coros["c"], by: RowGrouping): Uint32Array | Uint8Array | Uint16Array {
	return by === "kind" ? c.kind : by === "site" ? c.site : c.thread;
}

function addToGroup(g: RowGroup, c: Coros["c"], row: number, activity: Activity | null): void {
	g.count++;
	g.ran += c.ran[row] || 0;
	g.ready += c.ready[row] || 0;
	g.waited += (c.waited[row] || 0) - (c.ready[row] || 0);
	if (c.findings[row] !== 0) g.found++;
	if (activity && activity.byRow[row] > 0) g.active++;
}

// Rows by group, in the order of the rows.
function groupRows(c: Coros["c"], rows: Uint32Array, by: RowGrouping, activity: Activity | null): Map<number, { group: RowGroup; rows: number[] }> {
	const keys = groupKeys(c, by);
	const out = new Map<number, { group: RowGroup; rows: number[] }>();
	for (const row of rows) {
		const key = keys[row];
		let entry = out.get(key);
		if (!entry) {
			entry = { group: { key, count: 0, ran: 0, ready: 0, waited: 0, unknown: 0, found: 0, active: activity ? 0 : -1, isOpen: false }, rows: [] };
			out.set(key, entry);
		}
		addToGroup(entry.group, c, row, activity);
		entry.rows.push(row);
	}
	return out;
}

function layGroups(c: Coros["c"], rows: Uint32Array, q: RowRequest, activity: Activity | null): { lanes: Float64Array; groups: RowGroup[] } {
	const entries = [...groupRows(c, rows, q.group, activity).values()];
	entries.sort((a, b) => b.group.active - a.group.active || b.group.count - a.group.count || a.group.key - b.group.key);
	const open = q.open === "all" ? null : new Set(q.open);
	const lanes = new Float64Array(entries.length + rows.length);
	let nr = 0;
	entries.forEach((e, i) => {
		lanes[nr++] = laneOfGroup(i);
		e.group.isOpen = open === null || open.has(e.group.key);
		if (e.group.isOpen) for (const row of e.rows) lanes[nr++] = c.nr[row];
	});
	return { lanes: lanes.slice(0, nr), groups: entries.map((e) => e.group) };
}

function sortByActivity(rows: Uint32Array, { byRow }: Activity): void {
	rows.sort((a, b) => byRow[b] - byRow[a] || a - b);
}

export async function timelineRows(store: Store, q: RowRequest): Promise<Rows> {
	const { coros, end } = store;
	const activity = q.order.key === "active" ? await activityIn(store, q.from, q.to) : null;
	const rows = select(coros, store, q.filter, end);
	if (activity) sortByActivity(rows, activity);
	else sort(coros, store, rows, q.order, end);
	const active = activity ? rows.reduce((n, row) => n + (activity.byRow[row] > 0 ? 1 : 0), 0) : -1;
	const laid = q.group === "" ? { lanes: Float64Array.from(rows, (row) => coros.c.nr[row]), groups: [] } : layGroups(coros.c, rows, q, activity);
	return { ...laid, count: rows.length, active, exact: activity?.exact ?? true };
}
