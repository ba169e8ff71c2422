// SPDX-License-Identifier: MIT
// part_page.ts - a page of parts below each other: head, list of parts, one filter for all of them.
//
//   #view=threads&q=conn      a part, the filter; a page may have more parameters

import { h, setText, shown } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { formatRoute, parseRoute, viewHref, type Route } from "../base/route.ts";
import { panel } from "./parts.ts";
import { filterWords, type SortTable } from "./sort_table.ts";
import { debounce } from "./view.ts";

export interface PagePart {
	view: string;
	label: string;             // in the list of parts
	el: HTMLElement;
	filter(words: readonly string[]): void;
}

export interface PartPageOptions {
	title: string;             // of the window
	head: HTMLElement;
	intro: HTMLElement;
	parts: readonly PagePart[];
	foot: string;
	filterLabel: string;
	// An element with an id, that the parameters of the address name; null: the part.
	target?(params: Route["params"]): HTMLElement | null;
}

// "3 of 20" if the filter hides some; otherwise @all.
export function shownOf(nr: number, of: number, all = ""): string {
	return nr < of ? `${fmt.count(nr)} of ${fmt.count(of)}` : all;
}

// A panel with one table of @nr rows; @all is its note when it shows all of them.
export function tablePart<T>(view: string, label: string, title: string, table: SortTable<T>, nr: number, name: string, all = ""): PagePart {
	const box = panel(title, { sheet: () => table.sheet(name) });
	box.el.id = view;
	box.body.append(table.el);
	const note = (rows: number) => setText(box.note, shownOf(rows, nr, all));
	note(nr);
	return { view, label, el: box.el, filter: (words) => note(table.filter(words)) };
}

export class PartPage {
	private readonly o: PartPageOptions;
	private readonly links = new Map<string, HTMLElement>();
	private readonly main: HTMLElement;
	private readonly search: HTMLInputElement;
	private route: Route;

	constructor(root: HTMLElement, options: PartPageOptions) {
		this.o = options;
		this.search = h("input", { type: "search", aria: { label: options.filterLabel } });
		this.search.placeholder = "Filter";
		this.main = h("main", { id: "main", class: "stack", tabindex: -1 }, options.intro, ...options.parts.map((p) => p.el),
			h("p", { class: "muted" }, options.foot));
		root.replaceChildren(options.head, this.nav(), this.main);
		document.title = shown(options.title);
		this.route = parseRoute(location.hash);
		this.search.addEventListener("input", debounce(120, () => this.setFilter(this.search.value)));
		this.main.addEventListener("scroll", () => this.mark(), { passive: true });
		addEventListener("hashchange", () => this.follow());
		document.querySelector(".skip")?.addEventListener("click", (ev) => {
			ev.preventDefault();
			this.main.focus();
		});
		this.follow();
	}

	private nav(): HTMLElement {
		for (const p of this.o.parts) this.links.set(p.view, h("a", { class: "tab", href: viewHref(p.view), data: { view: p.view } }, p.label));
		return h("nav", { class: "tabs", aria: { label: "Parts of the page" } }, ...this.links.values(), this.search);
	}

	private follow(): void {
		this.route = parseRoute(location.hash);
		const { view, params } = this.route;
		if (document.activeElement !== this.search) this.search.value = params.q ?? "";
		this.filter();
		const target = this.o.target?.(params) ?? null;
		(target ?? this.o.parts.find((p) => p.view === view)?.el)?.scrollIntoView({ block: "start" });
		target?.querySelector<HTMLElement>("[tabindex]")?.focus({ preventScroll: true });
		this.mark();
	}

	private setFilter(q: string): void {
		// The event of a new address comes later than the address.
		const route = parseRoute(location.hash);
		this.route = { ...route, params: { ...route.params, q } };
		history.replaceState(history.state, "", formatRoute(this.route));
		this.filter();
	}

	private filter(): void {
		const q = this.route.params.q ?? "";
		for (const p of this.o.parts) {
			p.filter(filterWords(q));
			this.links.get(p.view)!.setAttribute("href", viewHref(p.view, { q }));
		}
	}

	// The part at the top of the window is the current one.
	private mark(): void {
		const top = this.main.getBoundingClientRect().top + 60;
		const current = this.o.parts.filter((p) => p.el.getBoundingClientRect().top <= top).pop() ?? this.o.parts[0];
		for (const [view, el] of this.links) el.setAttribute("aria-current", String(view === current.view));
	}
}
