// SPDX-License-Identifier: MIT
// tabs.ts - the views, and a tab for each opened coroutine.

import { h, setText, shown } from "../base/dom.ts";
import { coroHref, viewHref } from "../base/route.ts";

export interface BaseTab {
	view: string;
	label: string;
}

export const BASE_TABS: readonly BaseTab[] = [
	{ view: "overview", label: "Overview" },
	{ view: "findings", label: "Findings" },
	{ view: "coroutines", label: "Coroutines" },
	{ view: "timeline", label: "Timeline" },
	{ view: "awaits", label: "Await tree" },
	{ view: "sites", label: "Sites" },
	{ view: "time", label: "Time" },
	{ view: "notes", label: "Notes" },
];

export class Tabs {
	readonly el: HTMLElement;
	private readonly base = new Map<string, HTMLElement>();
	private readonly counts = new Map<string, HTMLElement>();
	private readonly opened = new Map<string, HTMLElement>();
	private readonly split: HTMLElement;
	private readonly onClose: (id: string) => void;

	constructor(onClose: (id: string) => void) {
		this.onClose = onClose;
		this.split = h("span", { class: "tab-split", hidden: true });
		this.el = h("nav", { class: "tabs", aria: { label: "Views" } });
		for (const { view, label } of BASE_TABS) {
			const count = h("span", { class: "n", hidden: true });
			const tab = h("a", {
				class: "tab", href: viewHref(view), id: `tab-${view}`, data: { view },
			}, label, count);
			this.base.set(view, tab);
			this.counts.set(view, count);
			this.el.append(tab);
		}
		this.el.append(this.split);
		this.el.addEventListener("keydown", (ev) => this.onKey(ev));
	}

	setCount(view: string, text: string): void {
		const el = this.counts.get(view)!;
		el.hidden = text === "";
		setText(el, text);
	}

	setHref(view: string, href: string): void {
		this.base.get(view)?.setAttribute("href", href);
	}

	go(view: string): void {
		this.base.get(view)?.click();
	}

	open(id: string, title: string): void {
		this.split.hidden = false;
		const known = this.opened.get(id);
		if (known) {
			setText(known.querySelector("span")!, title);
			known.firstElementChild!.setAttribute("title", shown(title));
			known.lastElementChild!.setAttribute("aria-label", `Close ${title}`);
			return;
		}
		const tab = h("a", {
			class: "tab", href: coroHref(id), title, data: { coro: id },
		}, h("span", null, title));
		const close = h("button", {
			type: "button", class: "tab-close", aria: { label: `Close ${title}` }, on: { click: () => this.onClose(id) },
		}, "×");
		const box = h("span", { class: "tab-box" }, tab, close);
		this.opened.set(id, box);
		this.el.append(box);
	}

	close(id: string): void {
		this.opened.get(id)?.remove();
		this.opened.delete(id);
		this.split.hidden = this.opened.size === 0;
	}

	select(view: string, coro: string | null): void {
		for (const tab of this.all()) {
			const mine = coro !== null ? tab.dataset.coro === coro : tab.dataset.view === view;
			if (mine) tab.setAttribute("aria-current", "page");
			else tab.removeAttribute("aria-current");
			if (mine) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
		}
	}

	private all(): HTMLElement[] {
		return [...this.el.querySelectorAll<HTMLElement>(".tab")];
	}

	private onKey(ev: KeyboardEvent): void {
		const all = this.all();
		const at = all.indexOf(document.activeElement as HTMLElement);
		if (at < 0) return;
		const moves: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 };
		if (ev.key in moves) {
			all[(moves[ev.key] + all.length) % all.length].focus();
			ev.preventDefault();
		} else if (ev.key === " ") {
			all[at].click();
			ev.preventDefault();
		} else if (ev.key === "Delete" && all[at].dataset.coro) {
			this.onClose(all[at].dataset.coro!);
			ev.preventDefault();
		}
	}
}
