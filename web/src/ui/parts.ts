// SPDX-License-Identifier: MIT
// parts.ts - panels, short tables, legends and tips that the views use.

import { append, freshId, h } from "../base/dom.ts";
import { sheetButtons, type SheetMaker } from "./save.ts";
import type { Cell } from "../base/csv.ts";

export interface PanelOptions {
	note?: string | Node;
	sheet?: SheetMaker;
	tools?: Node[];
	class?: string;
}

export interface Panel {
	el: HTMLElement;
	body: HTMLElement;
	note: HTMLElement;
}

export function panel(title: string, o: PanelOptions = {}): Panel {
	const id = freshId("panel");
	const note = h("span", { class: "note" }, o.note ?? "");
	const body = h("div", { class: "panel-body" });
	const head = h("div", { class: "panel-head" }, h("h2", { id }, title), note);
	const tools = o.sheet ? sheetButtons(title.toLowerCase(), o.sheet) : h("span", { class: "panel-tools" });
	tools.prepend(...(o.tools ?? []));
	head.append(tools);
	const el = h("section", { class: `panel ${o.class ?? ""}`, aria: { labelledby: id } }, head, body);
	return { el, body, note };
}

export interface PlainColumn<T> {
	label: string;
	isBar?: boolean;           // of the column before it: the label is for screen readers only
	end?: boolean;
	class?: string;
	show(row: T): Node | string;
}

// A box whose content may be wider than itself can be scrolled by keys, too.
let resized: ResizeObserver | null = null;

function onResize(entries: readonly ResizeObserverEntry[]): void {
	for (const { target } of entries) {
		if (target.scrollWidth > target.clientWidth) target.setAttribute("tabindex", "0");
		else target.removeAttribute("tabindex");
	}
}

export function tableBox(label: string, ...children: Node[]): HTMLElement {
	const el = h("div", { class: "table-box", role: "group", aria: { label } }, ...children);
	resized ??= new ResizeObserver(onResize);
	resized.observe(el);
	return el;
}

export function plainTable<T>(label: string, columns: PlainColumn<T>[], rows: readonly T[]): HTMLElement {
	const head = h("tr", null, ...columns.map((c) => {
		const th = h("th", { class: c.end ? "end" : "" }, c.isBar ? h("span", { class: "sr" }, c.label) : c.label);
		th.setAttribute("scope", "col");
		return th;
	}));
	const body = rows.map((row) => h("tr", null, ...columns.map((c) =>
		h("td", { class: `${c.end ? "end nowrap" : ""} ${c.class ?? ""}` }, c.show(row)))));
	return tableBox(label, h("table", { class: "plain", aria: { label } }, h("thead", null, head), h("tbody", null, ...body)));
}

export function keyValues(pairs: readonly (readonly [string, Node | string | null])[]): HTMLElement {
	const list = h("dl", { class: "kv" });
	for (const [key, value] of pairs) {
		if (value !== null) append(list, [h("dt", null, key), h("dd", null, value)]);
	}
	return list;
}

// A share of a whole, 0 to 1.
export function bar(part: number, ink = ""): HTMLElement {
	const el = h("div", { class: `bar ${ink}` });
	if (part > 0) el.style.minWidth = "1px";
	el.style.width = `${(100 * Math.max(0, Math.min(1, part))).toFixed(1)}%`;
	return h("div", { class: "bar-track", aria: { hidden: true } }, el);
}

export function empty(text: string): HTMLElement {
	return h("p", { class: "empty" }, text);
}

export function sheetRows<T>(rows: readonly T[], pick: (row: T) => Cell[]): Cell[][] {
	return rows.map(pick);
}

// The box at the pointer. What moves the content below the pointer hides it: the wheel, scrolling, a key.
export class Tip {
	private readonly el = h("div", { class: "tip", hidden: true, role: "presentation" });

	constructor() {
		for (const what of ["wheel", "scroll", "keydown", "hashchange"]) addEventListener(what, () => this.hide(), { capture: true, passive: true });
	}

	show(x: number, y: number, title: string, pairs: readonly (readonly [string, string])[]): void {
		if (!this.el.isConnected) document.body.append(this.el);
		const list = h("dl", null);
		for (const [key, value] of pairs) list.append(h("dt", null, key), h("dd", null, value));
		this.el.replaceChildren(h("div", { class: "title" }, title), list);
		this.el.hidden = false;
		const { offsetWidth: w, offsetHeight: t } = this.el;
		this.el.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - w - 6))}px`;
		this.el.style.top = `${y + 18 + t > innerHeight ? Math.max(4, y - t - 10) : y + 18}px`;
	}

	hide(): void {
		this.el.hidden = true;
	}

	remove(): void {
		this.el.remove();
	}
}
