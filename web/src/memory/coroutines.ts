// SPDX-License-Identifier: MIT
// coroutines.ts - misses by kind of coroutine, and by the await after which they happened.

import { h } from "../base/dom.ts";
import { tablePart, type PagePart } from "../ui/part_page.ts";
import { SortTable, type SortColumn } from "../ui/sort_table.ts";
import { BY_COST, costColumn, countColumns, mostOf, place, sharedColumn } from "./parts.ts";
import type { Await, Coroutine, MemoryData } from "./types.ts";

const OUTSIDE = "(outside of all coroutines)";

const kindColumn = <T extends { kind: string | null }>(): SortColumn<T> => ({
	key: "kind", label: "Kind of coroutine", class: "name", value: (r) => r.kind ?? OUTSIDE,
	show: (r) => (r.kind === null ? h("span", { class: "muted" }, OUTSIDE) : r.kind),
});

function sliceColumns<T extends Await>(d: MemoryData): SortColumn<T>[] {
	const last = d.levels.length - 1;
	const perSlice = (r: T) => (r.slices > 0 ? r.misses[last] / r.slices : null);
	return [
		{ key: "slices", label: "Slices", end: true, value: (r) => r.slices },
		...countColumns<T>(d),
		{
			key: "per_slice", label: `${d.levels[last].name} misses per slice`, end: true, value: perSlice,
			show: (r) => perSlice(r)?.toFixed(1) ?? "–",
		},
		sharedColumn<T>(),
		{ key: "allocated", label: "Bytes allocated", title: "Bytes of annotated blocks", end: true, value: (r) => r.allocated_bytes },
		costColumn<T>(d.cost),
	];
}

export function coroutinesPart(d: MemoryData): PagePart | null {
	if (d.coroutines.length === 0) return null;
	const table = new SortTable<Coroutine>({
		label: "Coroutines", rows: d.coroutines, sort: BY_COST, empty: "No coroutine ran.",
		columns: [kindColumn<Coroutine>(), ...sliceColumns<Coroutine>(d)],
	});
	return tablePart("coroutines", "Coroutines", "Which coroutines miss", table, d.coroutines.length, "coroutines",
		mostOf(d.coroutines.length, d.coroutines_of));
}

export function awaitsPart(d: MemoryData): PagePart | null {
	const rows = d.coroutines.flatMap((c) => c.awaits.map((a) => ({ ...a, kind: c.kind })));
	type Row = (typeof rows)[number];
	if (rows.length === 0) return null;
	const where = (r: Row) => (r.file === null ? "(no await before)" : place(r.file, r.line));
	const table = new SortTable<Row>({
		label: "Awaits", rows, sort: BY_COST, empty: "No coroutine ran.", columns: [
			{
				key: "await", label: "After the await at", class: "name", value: (r) => `${r.function ?? ""} ${where(r)}`.trim(),
				show: (r) => h("span", null, r.function ?? "", " ", h("span", { class: "muted mono" }, where(r))),
			},
			kindColumn<Row>(), ...sliceColumns<Row>(d),
		],
	});
	return tablePart("awaits", "Awaits", "After which await they miss", table, rows.length, "awaits");
}
