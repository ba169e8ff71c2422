// SPDX-License-Identifier: MIT
// layout_map.ts - a type as the cache lines of an element that begins one: which field is where, and how hot.

import type { Field } from "./types.ts";

export const HEATS = 6;
const ROWS_MAX = 64;           // lines of a type that are drawn
const FIELD_BIG = 8;           // of a longer field only the first lines are drawn

export interface Block {
	field: Field;
	from: number;              // in the line, 0 to 1
	width: number;
}

export interface MapRow {
	offset: number;
	blocks: Block[];
}

export interface LayoutMap {
	rows: MapRow[];
	hidden: number;            // lines that are not drawn
}

// 0: no misses; each step is twice the previous one, so that medium costs remain visible.
export function heat(cost: number, most: number): number {
	if (cost <= 0 || most <= 0) return 0;
	let step = HEATS;
	while (step > 1 && cost * 2 <= most / 2 ** (HEATS - step)) step--;
	return step;
}

// Of union members that overlap, only the most expensive is drawn.
function drawn(fields: readonly Field[]): Field[] {
	const placed = fields.filter((f) => f.offset !== undefined && (f.size ?? 0) > 0);
	return placed.filter((f, n) => !placed.some((other, i) => i !== n &&
		other.offset! < f.offset! + f.size! && f.offset! < other.offset! + other.size! &&
		(other.cost > f.cost || (other.cost === f.cost && i < n))));
}

export function layoutMap(bytes: number, line: number, fields: readonly Field[]): LayoutMap {
	const lines = Math.ceil(bytes / line);
	const rows = new Map<number, MapRow>(lines > 0 ? [[0, { offset: 0, blocks: [] }]] : []);
	for (const field of drawn(fields)) {
		const [start, end] = [field.offset!, field.offset! + field.size!];
		const first = Math.floor(start / line);
		const last = Math.min(Math.floor((end - 1) / line), first + FIELD_BIG - 1, lines - 1, ROWS_MAX - 1);
		for (let row = first; row <= last; row++) {
			const from = Math.max(start, row * line);
			const to = Math.min(end, (row + 1) * line);
			if (!rows.has(row)) rows.set(row, { offset: row * line, blocks: [] });
			rows.get(row)!.blocks.push({ field, from: from / line - row, width: (to - from) / line });
		}
	}
	const sorted = [...rows.values()].sort((a, b) => a.offset - b.offset);
	return { rows: sorted, hidden: lines - sorted.length };
}
