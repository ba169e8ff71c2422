// SPDX-License-Identifier: MIT
// grid.ts - a table of any length: only visible rows are elements.
//
// Rows are requested by number and must be available at once; slow work (sorting, filtering) happens
// before, elsewhere, and ends in setRows().

import { freshId, h, setText, shown } from "../base/dom.ts";
import { isPrinting, onTheme } from "../base/theme.ts";

export interface Column {
	key: string;
	label: string;
	title?: string;
	width: number;             // rem, minimum
	grow?: number;             // its share of the remaining width
	align?: "start" | "end";
	sortable?: boolean;
	mono?: boolean;
	// Fills the cell, which may have held another row before.
	render(cell: HTMLElement, row: number): void;
}

export interface Sort {
	key: string;
	down: boolean;
}

export interface GridOptions {
	label: string;
	columns: Column[];
	sort?: Sort;
	empty: string;
	rowHeight?: number;
	rowKey(row: number): string;              // stays with a row when its number changes
	onSort?(sort: Sort): void;
	onOpen?(row: number, newTab: boolean): void;
	onSelect?(row: number): void;
	rowClass?(row: number): string;
}

// Into a cell that may already hold the text; the title has the full text if the cell cuts it off.
export function putText(cell: HTMLElement, text: string, title = text): void {
	setText(cell, text);
	const full = title.length > 24 || title !== text ? shown(title) : "";
	if (cell.title !== full) cell.title = full;
}

const OVERSCAN = 6;
const ON_PAPER = 500;
const TALLEST = 8_000_000; // the largest height in pixels of an element in every browser

export class Grid {
	readonly el: HTMLElement;
	private readonly head: HTMLElement;
	private readonly body: HTMLElement;
	private readonly spacer: HTMLElement;
	private readonly none: HTMLElement;
	private readonly more = h("div", { class: "grid-more" });
	private readonly o: GridOptions;
	private readonly stem = freshId("grid");
	private readonly height: number;
	private pool: HTMLElement[] = [];
	private nr = 0;
	private current = -1;
	private currentKey = "";
	private scheduled = false;
	private readonly needed: number[];         // by column: pixels that a number in it takes
	private readonly longest: number[];        // characters of the longest number that was measured

	constructor(options: GridOptions) {
		this.o = options;
		this.height = options.rowHeight ?? 26;
		this.head = h("div", { class: "grid-head", role: "row", aria: { rowindex: 1 } });
		this.spacer = h("div", { class: "grid-spacer", role: "presentation" });
		this.none = h("div", { class: "empty", hidden: true });
		this.body = h("div", { class: "grid-body", role: "rowgroup" }, this.spacer);
		this.el = h("div", {
			class: "grid", role: "grid", tabindex: 0,
			aria: { label: options.label, colcount: options.columns.length, rowcount: 1 },
		}, this.head, this.body, this.none, this.more);
		this.needed = options.columns.map(() => 0);
		this.longest = options.columns.map(() => 0);
		this.setTracks();
		this.el.style.setProperty("--row", `${this.height}px`);
		this.makeHead();
		this.el.addEventListener("scroll", () => this.schedule(), { passive: true });
		this.el.addEventListener("keydown", (ev) => this.onKey(ev));
		this.body.addEventListener("click", (ev) => this.onClick(ev));
		new ResizeObserver(() => this.schedule()).observe(this.el);
		onTheme(() => this.el.isConnected && this.draw());
	}

	get rows(): number {
		return this.nr;
	}

	// The selected row stays selected at its new position; the scroll position stays.
	setRows(nr: number, findKey?: (key: string) => number): void {
		this.nr = nr;
		this.el.setAttribute("aria-rowcount", String(nr + 1));
		this.spacer.style.height = `${Math.min(nr * this.height, TALLEST)}px`;
		if (this.currentKey && findKey) this.current = findKey(this.currentKey);
		if (this.current >= nr) this.current = -1;
		this.none.hidden = nr > 0;
		setText(this.none, nr > 0 ? "" : this.o.empty);
		this.draw();
	}

	setEmpty(text: string): void {
		this.o.empty = text;
		if (this.nr === 0) setText(this.none, text);
	}

	setSort(sort: Sort): void {
		this.o.sort = sort;
		this.makeHead();
	}

	refresh(): void {
		this.draw();
	}

	scrollToTop(): void {
		this.el.scrollTop = 0;
	}

	select(row: number, reveal = true): void {
		this.current = row;
		this.currentKey = row >= 0 ? this.o.rowKey(row) : "";
		if (reveal && row >= 0) this.reveal(row);
		this.draw();
		if (row >= 0) this.o.onSelect?.(row);
	}

	get selected(): number {
		return this.current;
	}

	private makeHead(): void {
		this.head.replaceChildren(...this.o.columns.map((c, i) => this.headCell(c, i)));
	}

	private headCell(c: Column, i: number): HTMLElement {
		const sort = this.o.sort;
		const mine = sort !== undefined && sort.key === c.key;
		const cell = h("div", {
			class: `grid-cell grid-th ${c.align === "end" ? "end" : ""}`, role: "columnheader",
			title: c.title, aria: { colindex: i + 1 },
		});
		if (c.sortable === false || !this.o.onSort) {
			cell.textContent = c.label;
			return cell;
		}
		cell.setAttribute("aria-sort", mine ? (sort.down ? "descending" : "ascending") : "none");
		const mark = h("span", { class: "sort-mark", aria: { hidden: true } }, mine ? (sort.down ? "▼" : "▲") : "");
		const turn = () => this.o.onSort?.({ key: c.key, down: mine ? !sort.down : c.align === "end" });
		cell.append(h("button", { type: "button", class: "sort", data: { sort: c.key }, on: { click: turn } }, c.label, mark));
		return cell;
	}

	// With more rows than pixels, a pixel of the scroll bar stands for several rows.
	private get scale(): number {
		const full = this.nr * this.height;
		const view = this.viewHeight;
		return full > TALLEST ? (full - view) / (TALLEST - view) : 1;
	}

	private get viewHeight(): number {
		return Math.max(this.height, this.el.clientHeight - this.head.offsetHeight);
	}

	private get top(): number {
		return this.el.scrollTop * this.scale;
	}

	private reveal(row: number): void {
		const y = row * this.height;
		if (y < this.top) this.el.scrollTop = y / this.scale;
		else if (y + this.height > this.top + this.viewHeight)
			this.el.scrollTop = (y + this.height - this.viewHeight) / this.scale;
	}

	private schedule(): void {
		if (this.scheduled) return;
		this.scheduled = true;
		requestAnimationFrame(() => {
			this.scheduled = false;
			this.draw();
		});
	}

	private draw(): void {
		const paper = isPrinting();
		const first = paper ? 0 : Math.max(0, Math.floor(this.top / this.height) - OVERSCAN);
		const last = Math.min(this.nr, paper ? ON_PAPER : Math.ceil((this.top + this.viewHeight) / this.height) + OVERSCAN);
		setText(this.more, paper && this.nr > ON_PAPER ? `The first ${ON_PAPER} of ${this.nr}.` : "");
		const shift = this.el.scrollTop - this.top;
		while (this.pool.length < last - first) this.pool.push(this.makeRow());
		for (let i = 0; i < this.pool.length; i++) {
			const el = this.pool[i];
			const row = first + i;
			if (row >= last) {
				if (!el.hidden) el.hidden = true;
				continue;
			}
			el.hidden = false;
			this.fill(el, row, row * this.height + shift);
		}
		this.fitNumbers();
		if (this.current >= first && this.current < last)
			this.el.setAttribute("aria-activedescendant", `${this.stem}-${this.current}`);
		else this.el.removeAttribute("aria-activedescendant");
	}

	private setTracks(): void {
		const widths = this.o.columns.map((c, i) => `max(${c.width}rem, ${this.needed[i]}px)`);
		this.el.style.setProperty("--tracks", this.o.columns.map((c, i) => (c.grow ? `minmax(${widths[i]}, ${c.grow}fr)` : widths[i])).join(" "));
		this.el.style.setProperty("--least", `calc(${widths.join(" + ")})`);
	}

	// A number is never cut off: its column becomes wider. Only a longer one than before is measured.
	private fitNumbers(): void {
		let isWider = false;
		for (const row of this.pool) this.o.columns.forEach((c, i) => {
			const cell = row.children[i];
			const size = c.align === "end" && !row.hidden ? (cell.textContent?.length ?? 0) : 0;
			if (size <= this.longest[i] || cell.clientWidth === 0) return;
			this.longest[i] = size;
			if (cell.scrollWidth <= cell.clientWidth) return;
			this.needed[i] = Math.max(this.needed[i], cell.scrollWidth + 10);
			isWider = true;
		});
		if (isWider) this.setTracks();
	}

	private makeRow(): HTMLElement {
		const el = h("div", { class: "grid-row", role: "row" });
		this.o.columns.forEach((c, i) => {
			el.append(h("div", {
				class: `grid-cell ${c.align === "end" ? "end" : ""} ${c.mono ? "mono" : ""}`, role: "gridcell",
				aria: { colindex: i + 1 },
			}));
		});
		this.body.append(el);
		return el;
	}

	private fill(el: HTMLElement, row: number, y: number): void {
		el.id = `${this.stem}-${row}`;
		el.dataset.row = String(row);
		el.style.transform = `translateY(${y}px)`;
		el.setAttribute("aria-rowindex", String(row + 2));
		el.setAttribute("aria-selected", String(row === this.current));
		el.className = `grid-row ${this.o.rowClass?.(row) ?? ""}`;
		this.o.columns.forEach((c, i) => c.render(el.children[i] as HTMLElement, row));
	}

	private onClick(ev: MouseEvent): void {
		const target = ev.target as Element;
		const el = target.closest<HTMLElement>(".grid-row");
		if (!el || getSelection()?.type === "Range") return;
		const row = Number(el.dataset.row);
		this.select(row, false);
		if (!target.closest("a, button")) this.o.onOpen?.(row, ev.ctrlKey || ev.metaKey);
	}

	private onKey(ev: KeyboardEvent): void {
		if (ev.target !== this.el || ev.altKey) return;
		const page = Math.max(1, Math.floor(this.viewHeight / this.height) - 1);
		const moves: Record<string, number> = {
			ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity,
		};
		if (ev.key in moves && this.nr > 0) {
			const from = this.current < 0 ? (moves[ev.key] > 0 ? -1 : 0) : this.current;
			this.select(Math.max(0, Math.min(this.nr - 1, from + moves[ev.key])));
			ev.preventDefault();
		} else if (ev.key === "Enter" && this.current >= 0) {
			this.o.onOpen?.(this.current, ev.ctrlKey || ev.metaKey);
			ev.preventDefault();
		}
	}
}
