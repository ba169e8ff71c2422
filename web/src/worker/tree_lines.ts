// SPDX-License-Identifier: MIT
// tree_lines.ts - the visible lines of an await forest: opened coroutines, and leaves that are alike as one line.

import { id64 } from "../data/coros.ts";
import { EDGE, ORIGIN, originOf, type Forest } from "./await_forest.ts";
import { NEED } from "./moment.ts";
import type { Store } from "./store.ts";

export interface TreeLine {
	key: string;               // stays with it at other times
	depth: number;
	nr: number;                // of a group: one of its coroutines
	count: number;             // 1; more: a group
	edge: number;              // EDGE
	origin: number;            // ORIGIN; of roots
	state: number;             // AT
	since: number;             // of a group: the oldest
	until: number;
	site: number;
	reason: number;
	resource: string | null;
	thread: number;
	needKind: number;          // NEED
	needs: number[];           // numbers of coroutines that it waits for, at most a few
	needsMore: number;
	needsOmitted: boolean;     // holders of that time are not in the file
	ring: number;              // 1 + number of the ring; 0: none
	kids: number;
	open: boolean;
	faint: boolean;            // not selected; above one that is
}

export interface TreeRequest {
	t: number;
	open: string[];            // opened and closed by hand
	closed: string[];
	most: number;              // lines
	sel: number;               // 1 + number of the chosen coroutine; 0: none
}

const ALIKE = 8;               // leaves like each other become one line from this number on
const AUTO = 80;               // lines that are opened without a request
const NEEDS = 3;

interface Item {
	key: string;
	rows: number[];            // one, or those of a group
	isGroup: boolean;
}

class Lister {
	readonly lines: TreeLine[] = [];
	more = 0;
	private readonly store: Store;
	private readonly f: Forest;
	private readonly q: TreeRequest;
	private readonly kept: Uint8Array | null;
	private readonly chosen: Uint8Array | null;
	private readonly lists = new Map<number, Item[]>();
	private readonly opened: Set<string>;
	private readonly closed: ReadonlySet<string>;
	private readonly sel: number;

	constructor(store: Store, f: Forest, q: TreeRequest, rows: ArrayLike<number> | null) {
		[this.store, this.f, this.q] = [store, f, q];
		this.opened = new Set(q.open);
		this.closed = new Set(q.closed);
		this.sel = q.sel > 0 ? store.coros.rowOf(q.sel - 1) : -1;
		this.chosen = rows ? new Uint8Array(f.up.length) : null;
		this.kept = rows ? new Uint8Array(f.up.length) : null;
		for (let i = 0; rows && i < rows.length; i++) this.keep(rows[i]);
		this.openTo(this.sel);
		this.openFirst();
		this.put(-1, 0);
	}

	// A selected coroutine, and all above it.
	private keep(row: number): void {
		if (!this.f.at[row]) return;
		this.chosen![row] = 1;
		for (let r = row; r >= 0 && this.kept![r] === 0; r = this.f.up[r]) this.kept![r] = 1;
	}

	private openTo(row: number): void {
		if (row < 0 || !this.f.at[row]) return;
		for (let r = this.f.up[row]; r >= 0; r = this.f.up[r]) if (!this.closed.has(this.keyOf(r))) this.opened.add(this.keyOf(r));
	}

	// Breadth first, as long as there is room.
	private openFirst(): void {
		let level = this.items(-1);
		let visible = level.length;
		while (level.length > 0 && visible < AUTO) {
			const next: Item[] = [];
			for (const item of level) {
				const kids = item.isGroup ? [] : this.items(item.rows[0]);
				if (kids.length === 0 || visible + kids.length > AUTO) continue;
				if (this.closed.has(item.key)) continue;
				this.opened.add(item.key);
				visible += kids.length;
				next.push(...kids);
			}
			level = next;
		}
	}

	private keyOf(row: number): string {
		return `c${this.store.coros.c.nr[row]}`;
	}

	// The items below @row.
	private items(row: number): Item[] {
		let list = this.lists.get(row);
		if (!list) this.lists.set(row, (list = this.makeItems(row)));
		return list;
	}

	private makeItems(up: number): Item[] {
		const rows = (this.f.kids.get(up) ?? []).filter((r) => !this.kept || this.kept[r] === 1);
		const single: Item[] = [];
		const alike = new Map<string, number[]>();
		for (const r of rows) {
			if (this.f.kids.has(r) || this.f.ring[r] > 0 || r === this.sel) {
				single.push({ key: this.keyOf(r), rows: [r], isGroup: false });
				continue;
			}
			const a = this.f.at[r]!;
			const needs = this.f.needs[r];
			const key = `${this.store.coros.c.kind[r]}.${a.state}.${a.site}.${a.reason}.${this.f.edge[r]}${needs ? `.${needs.rows[0] ?? ""}` : ""}`;
			const list = alike.get(key);
			if (list) list.push(r);
			else alike.set(key, [r]);
		}
		const groups: Item[] = [];
		for (const [key, list] of alike) {
			if (list.length >= ALIKE) groups.push({ key: `g${up < 0 ? "" : this.store.coros.c.nr[up]}.${key}`, rows: list, isGroup: true });
			else single.push(...list.map((r) => ({ key: this.keyOf(r), rows: [r], isGroup: false })));
		}
		const weight = (i: Item) => (this.f.ring[i.rows[0]] > 0 ? 0 : this.f.edge[i.rows[0]] === EDGE.created || this.f.edge[i.rows[0]] === EDGE.root ? 2 : 1);
		single.sort((a, b) => weight(a) - weight(b) || Number(this.f.kids.has(b.rows[0])) - Number(this.f.kids.has(a.rows[0])) || a.rows[0] - b.rows[0]);
		return [...single, ...groups.sort((a, b) => b.rows.length - a.rows.length)];
	}

	// Depth is bounded by the number of lines.
	private put(up: number, depth: number): void {
		const waiting: { item: Item; depth: number }[] = this.items(up).map((item) => ({ item, depth })).reverse();
		while (waiting.length > 0) {
			const { item, depth: d } = waiting.pop()!;
			const isOpen = this.opened.has(item.key);
			const kids = this.kidsOf(item);
			if (this.lines.length >= this.q.most) {
				this.more++;
				continue;
			}
			this.lines.push(this.line(item, d, kids, isOpen && kids > 0));
			if (!isOpen) continue;
			const below = item.isGroup ? item.rows.map((r) => ({ key: this.keyOf(r), rows: [r], isGroup: false })) : this.items(item.rows[0]);
			// A group may hold a hundred thousand: those beyond the last line are only counted.
			const room = Math.max(0, this.q.most - this.lines.length);
			this.more += Math.max(0, below.length - room);
			for (let i = Math.min(room, below.length) - 1; i >= 0; i--) waiting.push({ item: below[i], depth: d + 1 });
		}
	}

	private kidsOf(item: Item): number {
		return item.isGroup ? item.rows.length : this.items(item.rows[0]).length;
	}

	private line(item: Item, depth: number, kids: number, open: boolean): TreeLine {
		const out = lineOf(this.store, this.f, item.rows[0]);
		const oldest = item.isGroup ? item.rows.reduce((low, r) => Math.min(low, this.f.at[r]!.since), Infinity) : out.since;
		return {
			...out, key: item.key, depth, count: item.rows.length, since: oldest, kids, open, faint: this.chosen !== null && this.chosen[item.rows[0]] === 0,
			resource: item.isGroup ? null : out.resource, until: item.isGroup ? NaN : out.until,
		};
	}
}

// A coroutine by itself.
export function lineOf(store: Store, f: Forest, row: number): TreeLine {
	const a = f.at[row]!;
	const nrs = store.coros.c.nr;
	const needs = f.needs[row];
	return {
		key: `c${nrs[row]}`, depth: 0, nr: nrs[row], count: 1, edge: f.edge[row], origin: f.edge[row] === EDGE.root ? originOf(store, row) : ORIGIN.none,
		state: a.state, since: a.since, until: a.until, site: a.site, reason: a.reason, resource: a.hasResource ? id64(a.resHi, a.resLo).toString() : null,
		thread: a.thread, needKind: needs?.kind ?? NEED.none, needs: (needs?.rows ?? []).slice(0, NEEDS).map((r) => nrs[r]),
		needsMore: Math.max(0, (needs?.rows.length ?? 0) - NEEDS), needsOmitted: needs?.omitted ?? false, ring: f.ring[row], kids: f.kids.get(row)?.length ?? 0, open: false, faint: false,
	};
}

// @rows: the selected coroutines; null: all.
export function treeLines(store: Store, f: Forest, q: TreeRequest, rows: ArrayLike<number> | null): { lines: TreeLine[]; more: number } {
	return new Lister(store, f, q, rows);
}
