// SPDX-License-Identifier: MIT
// memory_page.ts - the page of `mem html`: head, list of parts, one filter for all of them.
//
//   #view=layouts&type=3&q=conn      a part, the layout of a type, the filter

import { h, shown } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { formatRoute, parseRoute, viewHref, type Route } from "../base/route.ts";
import { headBar } from "../ui/head_bar.ts";
import { filterWords } from "../ui/sort_table.ts";
import { debounce } from "../ui/view.ts";
import { cachesPart, layoutsPart, sharedPart, sourceLinesPart, threadsPart, typesPart, type PagePart } from "./parts.ts";
import type { MemoryData } from "./types.ts";

function notes(d: MemoryData): string[] {
	const out: string[] = [];
	if (d.lost > 0 || d.lost_unknown)
		out.push(`${d.lost_unknown ? "More than " : ""}${fmt.count(d.lost)} accesses are missing in the trace: these are the figures of the others.`);
	if (d.left_out > 0) out.push(`${fmt.count(d.left_out)} accesses were left out on purpose.`);
	if (d.sampled) out.push("The trace is a sample: each access counts as those it stands for, and misses are over-estimated.");
	return [...out, ...d.problems];
}

export class MemoryPage {
	private readonly parts: PagePart[];
	private readonly links = new Map<string, HTMLElement>();
	private readonly main: HTMLElement;
	private readonly search: HTMLInputElement;
	private route: Route;

	constructor(root: HTMLElement, d: MemoryData) {
		this.parts = [cachesPart(d), typesPart(d), layoutsPart(d), sharedPart(d), sourceLinesPart(d), threadsPart(d)]
			.filter((p) => p !== null);
		this.search = h("input", { type: "search", aria: { label: "Filter by name, file or address" } });
		this.search.placeholder = "Filter";
		this.main = h("main", { id: "main", tabindex: -1 }, this.intro(d), ...this.parts.map((p) => p.el),
			h("p", { class: "muted" }, "Cost is misses weighted by what the next level takes, about as many cycles. Made by corotracer mem html."));
		this.main.classList.add("stack");
		root.replaceChildren(this.head(d), this.nav(), this.main);
		document.title = `${shown(d.title)} – cache misses`;
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

	private head(d: MemoryData): HTMLElement {
		const facts: [string, string][] = [["accesses", fmt.count(d.simulated)], ["threads", fmt.count(d.threads.length)],
			["lost", `${fmt.count(d.lost)}${d.lost_unknown ? " or more" : ""}`]];
		const loud = d.lost > 0 || d.lost_unknown;
		return headBar(h("h1", { title: d.title }, d.title), h("dl", { class: "facts" }, ...facts.map(([key, value]) =>
			h("div", { class: `fact ${key === "lost" ? (loud ? "loud" : "quiet") : ""}`, data: { fact: key } }, h("dt", null, key), h("dd", null, value)))));
	}

	private intro(d: MemoryData): HTMLElement {
		return h("div", { class: "intro" },
			h("h2", null, `Cache misses of ${d.title}`),
			d.command.length > 0 ? h("p", { class: "muted mono" }, d.command.join(" ")) : null,
			h("p", null, `${fmt.count(d.simulated)} accesses, simulated with caches of ${d.machine_from}, lines of ${d.machine.levels[0].line} bytes.`),
			...notes(d).map((text) => h("p", { class: "remark" }, text)));
	}

	private nav(): HTMLElement {
		for (const p of this.parts) this.links.set(p.view, h("a", { class: "tab", href: viewHref(p.view), data: { view: p.view } }, p.label));
		return h("nav", { class: "tabs", aria: { label: "Parts of the page" } }, ...this.links.values(), this.search);
	}

	private follow(): void {
		this.route = parseRoute(location.hash);
		const { view, params } = this.route;
		if (document.activeElement !== this.search) this.search.value = params.q ?? "";
		this.filter();
		const type = /^\d+$/.test(params.type ?? "") ? document.getElementById(`type-${params.type}`) : null;
		const target = type ?? this.parts.find((p) => p.view === view)?.el;
		target?.scrollIntoView({ block: "start" });
		type?.querySelector<HTMLElement>("h3")?.focus({ preventScroll: true });
		this.mark();
	}

	private setFilter(q: string): void {
		this.route = { ...this.route, params: { ...this.route.params, q } };
		history.replaceState(history.state, "", formatRoute(this.route));
		this.filter();
	}

	private filter(): void {
		const q = this.route.params.q ?? "";
		for (const p of this.parts) {
			p.filter(filterWords(q));
			this.links.get(p.view)!.setAttribute("href", viewHref(p.view, { q }));
		}
	}

	// The part at the top of the window is the current one.
	private mark(): void {
		const top = this.main.getBoundingClientRect().top + 60;
		const current = this.parts.filter((p) => p.el.getBoundingClientRect().top <= top).pop() ?? this.parts[0];
		for (const [view, el] of this.links) el.setAttribute("aria-current", String(view === current.view));
	}
}
