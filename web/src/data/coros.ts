// SPDX-License-Identifier: MIT
// coros.ts - the coroutines, in columns that grow: the page and its worker each hold one.

import { need, type Section } from "./columns.ts";
import type { CoroDelta } from "./types.ts";

export const F64 = ["first", "birth", "end", "since", "waited", "ready", "ran", "longest", "woken", "cpu_measured", "cpu_queued", "cpu_blocked"] as const;
export const U32 = [
	"nr", "id_lo", "id_hi", "station", "pid", "name", "kind", "state", "suspends", "resumes", "migrations", "wakes",
	"threads", "longest_site", "site", "reason", "res_lo", "res_hi", "thread", "parent", "waker", "lost", "flags", "findings",
] as const;

export type FloatName = (typeof F64)[number];
export type IntName = (typeof U32)[number];
export type ColumnName = FloatName | IntName;

export const FLAG = { resource: 1, destroyed: 2, born: 4, endedSuspended: 8, cancelled: 16, woken: 32 } as const;
export const SLICE = { running: 1, headless: 2, ended: 4, cut: 8, resource: 16, measured: 32 } as const;

type Arrays = Record<FloatName, Float64Array> & Record<IntName, Uint32Array>;

const isFloat = (name: string): name is FloatName => (F64 as readonly string[]).includes(name);
const isInt = (name: string): name is IntName => (U32 as readonly string[]).includes(name);

function allocate(room: number): Arrays {
	const out: Partial<Record<ColumnName, Float64Array | Uint32Array>> = {};
	for (const name of F64) out[name] = new Float64Array(room);
	for (const name of U32) out[name] = new Uint32Array(room);
	return out as Arrays;
}

export function id64(hi: number, lo: number): bigint {
	return (BigInt(hi) << 32n) | BigInt(lo >>> 0);
}

export class Coros {
	rows = 0;
	c: Arrays = allocate(0);
	private rowByNr = new Map<number, number>();
	private dense = true; // row equals number
	private ids: Map<string, number> | null = null;

	static fromSection(s: Section): Coros {
		const t = new Coros();
		need("coros", s, ["nr", "id_lo", "id_hi", "state", "first"]);
		t.rows = s.rows;
		t.c = allocate(s.rows);
		for (const name of F64) {
			const from = s.columns[name];
			if (from) t.c[name].set(from.subarray(0, s.rows));
		}
		for (const name of U32) {
			const from = s.columns[name];
			if (from) t.c[name].set(from.subarray(0, s.rows));
		}
		t.reindex();
		return t;
	}

	private reindex(): void {
		const nr = this.c.nr;
		this.dense = true;
		for (let i = 0; i < this.rows && this.dense; i++) this.dense = nr[i] === i;
		this.rowByNr.clear();
		if (!this.dense) for (let i = 0; i < this.rows; i++) this.rowByNr.set(nr[i], i);
		this.ids = null;
	}

	// -1: it was omitted.
	rowOf(nr: number): number {
		if (this.dense) return nr < this.rows ? nr : -1;
		return this.rowByNr.get(nr) ?? -1;
	}

	id(row: number): string {
		const hi = this.c.id_hi[row];
		return hi === 0 ? String(this.c.id_lo[row]) : id64(hi, this.c.id_lo[row]).toString();
	}

	// If several have the same id (foreign traces), the first.
	rowOfId(id: string): number {
		if (!this.ids) {
			this.ids = new Map();
			for (let i = this.rows - 1; i >= 0; i--) this.ids.set(this.id(i), i);
		}
		return this.ids.get(id) ?? -1;
	}

	resource(row: number): string | null {
		if (!(this.c.flags[row] & FLAG.resource)) return null;
		return id64(this.c.res_hi[row], this.c.res_lo[row]).toString();
	}

	// Rows that are new or changed.
	apply(delta: CoroDelta): void {
		const nrAt = delta.columns.indexOf("nr");
		if (nrAt < 0) return;
		for (const values of delta.rows) {
			const nr = values[nrAt] ?? 0;
			const known = this.rowOf(nr);
			const row = known >= 0 ? known : this.add(nr);
			delta.columns.forEach((name, i) => {
				if (isFloat(name)) this.c[name][row] = values[i] ?? NaN;
				else if (isInt(name)) this.c[name][row] = values[i] ?? 0;
			});
			if (known < 0 && this.ids && !this.ids.has(this.id(row))) this.ids.set(this.id(row), row);
		}
	}

	private add(nr: number): number {
		const row = this.rows++;
		if (row >= this.c.nr.length) this.grow();
		this.c.nr[row] = nr;
		if (this.dense && nr !== row) {
			for (let i = 0; i < row; i++) this.rowByNr.set(i, i);
			this.dense = false;
		}
		if (!this.dense) this.rowByNr.set(nr, row);
		return row;
	}

	private grow(): void {
		const next = allocate(Math.max(1024, this.c.nr.length * 2));
		for (const name of F64) next[name].set(this.c[name]);
		for (const name of U32) next[name].set(this.c[name]);
		this.c = next;
	}

	// How long it has been in its state; NaN for a finished one.
	inState(row: number, now: number): number {
		return this.c.state[row] >= 5 ? NaN : Math.max(0, now - this.c.since[row]);
	}

	lifetime(row: number, now: number): number {
		const end = this.c.state[row] >= 5 && !Number.isNaN(this.c.end[row]) ? this.c.end[row] : now;
		const begin = Number.isNaN(this.c.birth[row]) ? this.c.first[row] : this.c.birth[row];
		return Math.max(0, end - begin);
	}
}
