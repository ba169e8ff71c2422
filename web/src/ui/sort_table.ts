// SPDX-License-Identifier: MIT
// sort_table.ts - a real table for up to some thousand rows: sorted by any column, filtered by words.

import { button, h, replace } from "../base/dom.ts";
import type { Cell } from "../base/csv.ts";
import { count } from "../base/format.ts";
import type { Sort } from "./grid.ts";
import { empty, tableBox } from "./parts.ts";
import type { Sheet } from "./save.ts";

export interface SortColumn<T> {
	key: string;               // also the head of the column in CSV
	label: string;
	title?: string;
	end?: boolean;             // a number: from the largest at first
	class?: string;
	value(row: T): Cell;       // what it is sorted by, and what CSV has
	show?(row: T): Node | string;
}

export interface SortTableOptions<T> {
	label: string;
	columns: readonly SortColumn<T>[];
	rows: readonly T[];
	sort?: Sort;               // without: in the order of the rows
	limit?: number;            // rows at first; a button shows the others
	empty: string;
}

// Every word of a filter occurs in the text.
export function matches(words: readonly string[], text: string): boolean {
	const low = text.toLowerCase();
	return words.every((w) => low.includes(w));
}

export function filterWords(text: string): string[] {
	return text.toLowerCase().split(/\s+/).filter((w) => w !== "");
}

function compare(a: Cell, b: Cell): number {
	if (a === b) return 0;
	if (a === null || a === undefined) return -1;
	if (b === null || b === undefined) return 1;
	if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b), "en", { numeric: true });
	return a < b ? -1 : 1;
}

export class SortTable<T> {
	readonly el: HTMLElement;
	private readonly o: SortTableOptions<T>;
	private sort: Sort | undefined;
	private words: readonly string[] = [];
	private showsAll = false;

	constructor(options: SortTableOptions<T>) {
		this.o = options;
		this.el = tableBox(options.label);
		this.sort = options.sort;
		this.draw();
	}

	// The number of rows that match.
	filter(words: readonly string[]): number {
		this.words = words;
		return this.draw();
	}

	sheet(name: string): Sheet {
		return {
			name, head: this.o.columns.map((c) => c.key),
			rows: this.visible().map((row) => this.o.columns.map((c) => c.value(row))),
		};
	}

	private visible(): T[] {
		const rows = this.o.rows.filter((row) => this.words.length === 0 ||
			matches(this.words, this.o.columns.map((c) => c.value(row) ?? "").join(" ")));
		const by = this.o.columns.find((c) => c.key === this.sort?.key);
		if (by) rows.sort((a, b) => compare(by.value(a), by.value(b)) * (this.sort!.down ? -1 : 1));
		return rows;
	}

	private head(c: SortColumn<T>): HTMLElement {
		const mine = this.sort?.key === c.key;
		const down = mine && this.sort!.down;
		const turn = () => {
			this.sort = { key: c.key, down: mine ? !down : c.end === true };
			this.draw();
			this.el.querySelector<HTMLElement>(`[data-sort="${c.key}"]`)?.focus();
		};
		const th = h("th", { class: c.end ? "end" : "", title: c.title, aria: { sort: mine ? (down ? "descending" : "ascending") : "none" } },
			h("button", { type: "button", class: "sort", data: { sort: c.key }, on: { click: turn } }, c.label,
				h("span", { class: "sort-mark", aria: { hidden: true } }, mine ? (down ? "▼" : "▲") : "")));
		th.setAttribute("scope", "col");
		return th;
	}

	private cell(c: SortColumn<T>, row: T): HTMLElement {
		const value = c.value(row);
		const text = value === null || value === undefined ? "" : typeof value === "number" ? count(value) : String(value);
		return h("td", { class: `${c.end ? "end nowrap" : ""} ${c.class ?? ""}` }, c.show ? c.show(row) : text);
	}

	private draw(): number {
		const rows = this.visible();
		if (rows.length === 0) {
			replace(this.el, empty(this.o.rows.length > 0 ? "Nothing here matches the filter." : this.o.empty));
			return 0;
		}
		const limit = this.showsAll ? rows.length : (this.o.limit ?? 200);
		const body = rows.slice(0, limit).map((row) => h("tr", null, ...this.o.columns.map((c) => this.cell(c, row))));
		replace(this.el, h("table", { class: "plain", aria: { label: this.o.label } },
			h("thead", null, h("tr", null, ...this.o.columns.map((c) => this.head(c)))), h("tbody", null, ...body)),
		rows.length > limit ? button(`Show all ${count(rows.length)}`, () => {
			this.showsAll = true;
			this.draw();
		}, { class: "button quiet" }) : null);
		return rows.length;
	}
}
